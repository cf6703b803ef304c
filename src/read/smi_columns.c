/* The list of telemetry quantities, and how a header and its cells are understood by it. */
#include "read/smi_columns.h"

#include <math.h>

#include "base/test.h"

#define MIB 1048576.0
#define ANY (SMI_AMD | SMI_ROCM | SMI_NV | SMI_DMON | SMI_OWN | SMI_DCGM)
enum { CLOCK_UNAVAILABLE = 65535 }; /* printed by some APUs for clocks they do not have */

static const smi_unit units[] = {
	{"%", SMI_PERCENT, 1},
	{"ratio", SMI_PERCENT, 100},
	{"W", SMI_WATTS, 1},
	{"mW", SMI_WATTS, 1e-3},
	{"MHz", SMI_MHZ, 1},
	{"GHz", SMI_MHZ, 1e3},
	{"kHz", SMI_MHZ, 1e-3},
	{"C", SMI_CELSIUS, 1},
	{"B", SMI_BYTES, 1},
	{"KiB", SMI_BYTES, 1024},
	{"MiB", SMI_BYTES, MIB},
	{"GiB", SMI_BYTES, 1024 * MIB},
	/* both vendors' tools divide by powers of 1024 whatever they call the result */
	{"KB", SMI_BYTES, 1024},
	{"MB", SMI_BYTES, MIB},
	{"GB", SMI_BYTES, 1024 * MIB},
	{"B/s", SMI_BYTES_PER_S, 1},
	{"KB/s", SMI_BYTES_PER_S, 1e3},
	{"MB/s", SMI_BYTES_PER_S, 1e6},
	{"GB/s", SMI_BYTES_PER_S, 1e9},
	{"Mb/s", SMI_BYTES_PER_S, 125e3},
	{"J", SMI_JOULES, 1},
	{"mJ", SMI_JOULES, 1e-3},
	{"uJ", SMI_JOULES, 1e-6},
	{"V", SMI_VOLTS, 1},
	{"mV", SMI_VOLTS, 1e-3},
	{"s", SMI_SECONDS, 1},
	{"ms", SMI_SECONDS, 1e-3},
	{"us", SMI_SECONDS, 1e-6},
	{"ns", SMI_SECONDS, 1e-9},
	{"errs", SMI_PLAIN, 1},
	{"bool", SMI_PLAIN, 1},
	{"RPM", SMI_PLAIN, 1},
};

/* A device has at most some TB of memory, some kW and some GHz: what lies outside was never in the
 * unit of its column. Within one dialect the first row that fits decides. */
static const smi_quantity quantities[] = {
	{"util_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "gfx_activity", 0, 0},
	  {SMI_AMD, "gfx", 0, 0},
	  {SMI_AMD, "gfx_util", 0, 0},
	  {SMI_AMD, "gfx_utilization", 0, 0},
	  {SMI_AMD, "gpu_use", 0, 0},
	  {SMI_AMD, "gfx %", 0, 0},
	  {SMI_ROCM, "GPU use", 0, 0},
	  {SMI_NV, "utilization.gpu", 0, 0},
	  {SMI_DMON, "sm", 0, 0},
	  {SMI_OWN, "util", 0, 0},
	  {SMI_DCGM, "GPUTL", 0, 0}}},
	{"temp_mem_c",
	 SMI_CELSIUS,
	 -50,
	 150,
	 {{SMI_AMD, "memory_temperature", 0, 0},
	  {SMI_AMD, "mem", 0, "hotspot|edge"},
	  {SMI_ROCM, "Temperature (Sensor memory)", 0, 0},
	  {SMI_NV, "temperature.memory", 0, 0},
	  {SMI_DMON, "mtemp", 0, 0},
	  {SMI_OWN, "temp_mem", 0, 0},
	  {SMI_DCGM, "MMTMP", 0, 0}}},
	{"mem_util_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "umc_activity", 0, 0},
	  {SMI_AMD, "mem", 0, "gfx|mem_clock|power_usage"},
	  {SMI_ROCM, "GPU Memory Read/Write Activity", 0, 0},
	  {SMI_ROCM, "GPU memory use", 0, 0},
	  {SMI_NV, "utilization.memory", 0, 0},
	  {SMI_DMON, "mem", 0, 0},
	  {SMI_OWN, "mem_util", 0, 0},
	  {SMI_DCGM, "MCUTL", 0, 0}}},
	{"mem_used_bytes",
	 SMI_BYTES,
	 0,
	 1e14,
	 {{SMI_AMD, "used_vram", "MB", 0},
	  {SMI_AMD, "vram_used", "MB", 0},
	  {SMI_AMD, "vram_used_mb", "MB", 0},
	  {SMI_AMD, "vram_used_gb", "GB", 0},
	  {SMI_AMD, "vram used", "MB", 0},
	  {SMI_AMD, "mem_used", "MB", 0},
	  {SMI_ROCM, "VRAM Total Used Memory", 0, 0},
	  {SMI_NV, "memory.used", "MiB", 0},
	  {SMI_DMON, "fb", "MB", 0},
	  {SMI_OWN, "mem_used", 0, 0},
	  {SMI_DCGM, "FBUSD", "MiB", 0}}},
	{"mem_total_bytes",
	 SMI_BYTES,
	 1,
	 1e14,
	 {{SMI_AMD, "total_vram", "MB", 0},
	  {SMI_AMD, "vram_total", "MB", 0},
	  {SMI_ROCM, "VRAM Total Memory", 0, 0},
	  {SMI_NV, "memory.total", "MiB", 0},
	  {SMI_OWN, "mem_total", 0, 0},
	  {SMI_DCGM, "FBTTL", "MiB", 0}}},
	{"mem_free_bytes",
	 SMI_BYTES,
	 0,
	 1e14,
	 {{SMI_AMD, "free_vram", "MB", 0},
	  {SMI_AMD, "vram_free", "MB", 0},
	  {SMI_NV, "memory.free", "MiB", 0},
	  {SMI_OWN, "mem_free", 0, 0},
	  {SMI_DCGM, "FBFRE", "MiB", 0}}},
	{"mem_used_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "vram_percent", 0, 0},
	  {SMI_ROCM, "GPU Memory Allocated (VRAM%)", 0, 0},
	  {SMI_OWN, "mem_used_share", 0, 0},
	  {SMI_DCGM, "FBUSP", "ratio", 0}}},
	{"power_watts",
	 SMI_WATTS,
	 0,
	 5000,
	 {{SMI_AMD, "socket_power", 0, 0},
	  {SMI_AMD, "current_socket_power", 0, 0},
	  {SMI_AMD, "average_socket_power", 0, 0},
	  {SMI_AMD, "power_usage", 0, 0},
	  {SMI_ROCM, "Average Graphics Package Power", 0, 0},
	  {SMI_ROCM, "Current Socket Graphics Package Power", 0, 0},
	  {SMI_NV, "power.draw", 0, 0},
	  {SMI_DMON, "pwr", 0, 0},
	  {SMI_OWN, "power", 0, 0},
	  {SMI_DCGM, "POWER", 0, 0}}},
	{"power_limit_watts",
	 SMI_WATTS,
	 0,
	 5000,
	 {{SMI_AMD, "max_power", 0, 0},
	  {SMI_AMD, "socket_power_limit", 0, 0},
	  {SMI_ROCM, "Max Graphics Package Power", 0, 0},
	  {SMI_NV, "power.limit", 0, 0},
	  {SMI_NV, "enforced.power.limit", 0, 0},
	  {SMI_OWN, "power_limit", 0, 0},
	  {SMI_DCGM, "EPLMT", 0, 0},
	  {SMI_DCGM, "PMLMT", 0, 0}}},
	{"clock_gfx_mhz",
	 SMI_MHZ,
	 0,
	 10000,
	 {{SMI_AMD, "gfx_clk", 0, 0},
	  {SMI_AMD, "gfx_clock", 0, 0},
	  {SMI_AMD, "gfx_0_clk", 0, 0},
	  {SMI_ROCM, "sclk clock speed:", 0, 0},
	  {SMI_NV, "clocks.current.sm", 0, 0},
	  {SMI_NV, "clocks.current.graphics", 0, 0},
	  {SMI_DMON, "pclk", 0, 0},
	  {SMI_OWN, "clock_gfx", 0, 0},
	  {SMI_DCGM, "SMCLK", 0, 0}}},
	{"clock_mem_mhz",
	 SMI_MHZ,
	 0,
	 30000,
	 {{SMI_AMD, "mem_clock", 0, 0},
	  {SMI_AMD, "mem_clk", 0, 0},
	  {SMI_AMD, "mem_0_clk", 0, 0},
	  {SMI_ROCM, "mclk clock speed:", 0, 0},
	  {SMI_NV, "clocks.current.memory", 0, 0},
	  {SMI_DMON, "mclk", 0, 0},
	  {SMI_OWN, "clock_mem", 0, 0},
	  {SMI_DCGM, "MMCLK", 0, 0}}},
	{"clock_encoder_mhz",
	 SMI_MHZ,
	 0,
	 10000,
	 {{SMI_AMD, "encoder_clock", 0, 0},
	  {SMI_AMD, "vclock", 0, 0},
	  {SMI_AMD, "vclk_0_clk", 0, 0},
	  {SMI_NV, "clocks.current.video", 0, 0},
	  {SMI_DCGM, "VICLK", 0, 0}}},
	{"clock_decoder_mhz",
	 SMI_MHZ,
	 0,
	 10000,
	 {{SMI_AMD, "decoder_clock", 0, 0},
	  {SMI_AMD, "dclock", 0, 0},
	  {SMI_AMD, "dclk_0_clk", 0, 0}}},
	{"temp_c",
	 SMI_CELSIUS,
	 -50,
	 150,
	 {{SMI_AMD, "edge", 0, 0},
	  {SMI_AMD, "edge_temperature", 0, 0},
	  {SMI_ROCM, "Temperature (Sensor edge)", 0, 0},
	  {SMI_NV, "temperature.gpu", 0, 0},
	  {SMI_DMON, "gtemp", 0, 0},
	  {SMI_DMON, "temp", 0, 0},
	  {SMI_OWN, "temp", 0, 0},
	  {SMI_DCGM, "TMPTR", 0, 0}}},
	{"temp_hotspot_c",
	 SMI_CELSIUS,
	 -50,
	 150,
	 {{SMI_AMD, "hotspot", 0, 0},
	  {SMI_AMD, "hotspot_temperature", 0, 0},
	  {SMI_ROCM, "Temperature (Sensor junction)", 0, 0},
	  {SMI_OWN, "temp_hotspot", 0, 0}}},
	{"throttle",
	 SMI_PLAIN,
	 0,
	 18446744073709551616.0,
	 {{SMI_AMD, "throttle_status", 0, 0},
	  {SMI_NV, "clocks_event_reasons.active", 0, 0},
	  {SMI_NV, "clocks_throttle_reasons.active", 0, 0},
	  {SMI_OWN, "throttle", 0, 0},
	  {SMI_DCGM, "DVCCTR", 0, 0}}},
	{"fan_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "usage", 0, "rpm|speed"},
	  {SMI_ROCM, "Fan speed", 0, 0},
	  {SMI_NV, "fan.speed", 0, 0},
	  {SMI_OWN, "fan", 0, 0},
	  {SMI_DCGM, "FANSP", 0, 0}}},
	{"encoder_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "encoder", 0, 0},
	  {SMI_NV, "utilization.encoder", 0, 0},
	  {SMI_DMON, "enc", 0, 0},
	  {SMI_DCGM, "ECUTL", 0, 0}}},
	{"decoder_pct",
	 SMI_PERCENT,
	 0,
	 100,
	 {{SMI_AMD, "decoder", 0, 0},
	  {SMI_NV, "utilization.decoder", 0, 0},
	  {SMI_DMON, "dec", 0, 0},
	  {SMI_DCGM, "DCUTL", 0, 0}}},
	{"ecc_corrected",
	 SMI_PLAIN,
	 0,
	 1e15,
	 {{SMI_AMD, "single_bit_ecc", 0, 0},
	  {SMI_AMD, "total_correctable_count", 0, 0},
	  {SMI_NV, "ecc.errors.corrected.volatile.total", 0, 0},
	  {SMI_DMON, "sbecc", 0, 0},
	  {SMI_OWN, "ecc_corrected", 0, 0},
	  {SMI_DCGM, "ESVTL", 0, 0}}},
	{"ecc_uncorrected",
	 SMI_PLAIN,
	 0,
	 1e15,
	 {{SMI_AMD, "double_bit_ecc", 0, 0},
	  {SMI_AMD, "total_uncorrectable_count", 0, 0},
	  {SMI_NV, "ecc.errors.uncorrected.volatile.total", 0, 0},
	  {SMI_DMON, "dbecc", 0, 0},
	  {SMI_OWN, "ecc_uncorrected", 0, 0},
	  {SMI_DCGM, "EDVTL", 0, 0}}},
	{"pcie_replays",
	 SMI_PLAIN,
	 0,
	 1e15,
	 {{SMI_AMD, "pcie_replay", 0, 0},
	  {SMI_DMON, "pci", 0, 0},
	  {SMI_OWN, "pcie_replays", 0, 0},
	  {SMI_DCGM, "RPCTR", 0, 0}}},
	{"pcie_bw_bytes_per_s",
	 SMI_BYTES_PER_S,
	 0,
	 1e12,
	 {{SMI_AMD, "pcie_bw", "Mb/s", 0},
	  {SMI_AMD, "current_bandwidth", "Mb/s", 0},
	  {SMI_OWN, "pcie_bw", 0, 0}}},
	{"pcie_rx_bytes_per_s",
	 SMI_BYTES_PER_S,
	 0,
	 1e12,
	 {{SMI_DMON, "rxpci", "MB/s", 0}, {SMI_OWN, "pcie_rx", 0, 0}, {SMI_DCGM, "PCIRX", 0, 0}}},
	{"pcie_tx_bytes_per_s",
	 SMI_BYTES_PER_S,
	 0,
	 1e12,
	 {{SMI_DMON, "txpci", "MB/s", 0}, {SMI_OWN, "pcie_tx", 0, 0}, {SMI_DCGM, "PCITX", 0, 0}}},
	{"xgmi_rx_bytes_per_s", SMI_BYTES_PER_S, 0, 1e13, {{SMI_OWN, "xgmi_rx", 0, 0}}},
	{"xgmi_tx_bytes_per_s", SMI_BYTES_PER_S, 0, 1e13, {{SMI_OWN, "xgmi_tx", 0, 0}}},
	{"nvlink_rx_bytes_per_s", SMI_BYTES_PER_S, 0, 1e13, {{SMI_DCGM, "NVLRX", 0, 0}}},
	{"nvlink_tx_bytes_per_s", SMI_BYTES_PER_S, 0, 1e13, {{SMI_DCGM, "NVLTX", 0, 0}}},
	{"gr_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "GRACT", "ratio", 0}}},
	{"sm_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "SMACT", "ratio", 0}}},
	{"sm_occupancy_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "SMOCC", "ratio", 0}}},
	{"tensor_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "TENSO", "ratio", 0}}},
	{"dram_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "DRAMA", "ratio", 0}}},
	{"fp64_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "FP64A", "ratio", 0}}},
	{"fp32_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "FP32A", "ratio", 0}}},
	{"fp16_active_pct", SMI_PERCENT, 0, 100, {{SMI_DCGM, "FP16A", "ratio", 0}}},
	{"energy_joules",
	 SMI_JOULES,
	 0,
	 1e15,
	 {{SMI_AMD, "total_energy_consumption", 0, 0},
	  {SMI_ROCM, "Accumulated Energy", "uJ", 0},
	  {SMI_OWN, "energy", 0, 0},
	  {SMI_DCGM, "TOTEC", "mJ", 0}}},
};

static const struct {
	unsigned dialects;
	const char *text;
	smi_role role;
} roles[] = {
	{SMI_AMD | SMI_DMON | SMI_OWN, "gpu", SMI_GPU},
	{SMI_DCGM, "entity", SMI_GPU},
	{SMI_NV, "index", SMI_GPU},
	{SMI_ROCM, "device", SMI_GPU},
	{SMI_AMD, "xcp", SMI_XCP},
	{SMI_DMON, "date", SMI_DATE},
	{SMI_DMON, "time", SMI_DAYTIME},
	{ANY, "timestamp", SMI_TIME},
	{SMI_OWN, "time", SMI_TIME},
	{SMI_NV, "uuid", SMI_ID},
	{SMI_NV, "gpu_uuid", SMI_ID},
	{SMI_NV, "pci.bus_id", SMI_ID},
	{SMI_NV, "gpu_bus_id", SMI_ID},
	{SMI_AMD, "rocm_version", SMI_VERSION},
	{SMI_NV, "name", SMI_LABEL},
	{SMI_NV, "gpu_name", SMI_LABEL},
	{SMI_NV, "serial", SMI_LABEL},
	{SMI_NV, "count", SMI_LABEL},
	{SMI_NV, "driver_version", SMI_LABEL},
	{SMI_NV, "vbios_version", SMI_LABEL},
	{SMI_NV, "pci.domain", SMI_LABEL},
	{SMI_NV, "pci.bus", SMI_LABEL},
	{SMI_NV, "pci.device", SMI_LABEL},
	{SMI_NV, "pci.device_id", SMI_LABEL},
	{SMI_NV, "pci.sub_device_id", SMI_LABEL},
	{ANY, "pid", SMI_PROCESS},
	{ANY, "process_id", SMI_PROCESS},
	{ANY, "process_name", SMI_PROCESS},
	{ANY, "process_info", SMI_PROCESS},
	{ANY, "process_list", SMI_PROCESS},
};

static const char *const nothings[] = {"",    "N/A", "NA",           "-", "None", "null",
				       "nan", "--",  "Not Supported"};

static const struct {
	const char *text;
	double value;
} words[] = {
	{"Active", 1},  {"Not Active", 0}, {"THROTTLED", 1}, {"UNTHROTTLED", 0},
	{"Enabled", 1}, {"Disabled", 0},   {"True", 1},      {"False", 0},
};

static bool same(assay_str a, const char *z)
{
	return assay_str_same(a, assay_str_of(z));
}

static const smi_unit *find_unit(assay_str text) /* NULL when unknown */
{
	size_t n = ASSAY_COUNT_OF(units);
	for (size_t i = 0; i < n; i++)
		if (assay_str_is(text, units[i].text))
			return &units[i];
	for (size_t i = 0; i < n; i++) /* only now: Mb/s is not MB/s */
		if (same(text, units[i].text))
			return &units[i];
	return NULL;
}

/* "power.draw [W]" and "GPU use (%)": the name without its unit. A bracket is always a unit, a
 * round one only when it holds a known unit. */
static assay_str split_unit(assay_str text, assay_str *unit)
{
	*unit = (assay_str){"", 0};
	if (text.n < 3)
		return text;
	char close = text.p[text.n - 1], open = close == ']' ? '[' : '(';
	if (close != ']' && close != ')')
		return text;
	size_t at = text.n - 1;
	while (at && text.p[at] != open)
		at--;
	assay_str inside = assay_str_trim((assay_str){text.p + at + 1, text.n - at - 2});
	if (!at || (open == '(' && !find_unit(inside)))
		return text;
	*unit = inside;
	return assay_str_trim((assay_str){text.p, at});
}

static bool has_name(const smi_columns *cols, assay_str name)
{
	for (size_t i = 0; i < cols->n; i++)
		if (assay_str_same(cols->p[i].name, name))
			return true;
	return false;
}

static bool has_any(const smi_columns *cols, const char *names)
{
	assay_str rest = assay_str_of(names);
	while (rest.n)
		if (has_name(cols, assay_str_cut(&rest, '|')))
			return true;
	return false;
}

static const smi_spelling *find_spelling(const smi_quantity *q, assay_str name, smi_dialect dialect,
					 const smi_columns *cols)
{
	for (const smi_spelling *s = q->spell; s < q->spell + SMI_SPELLINGS && s->text; s++)
		if ((s->dialects & dialect) && same(name, s->text) &&
		    (!s->needs || has_any(cols, s->needs)))
			return s;
	return NULL;
}

static bool already_taken(const smi_columns *cols, size_t before, const smi_quantity *q)
{
	for (size_t i = 0; i < before; i++)
		if (cols->p[i].quantity == q && cols->p[i].role == SMI_VALUE)
			return true;
	return false;
}

static smi_role role_of(assay_str name, smi_dialect dialect)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(roles); i++)
		if ((roles[i].dialects & dialect) && same(name, roles[i].text))
			return roles[i].role;
	return SMI_VALUE;
}

/* Which quantity column i is; a second column of a quantity keeps its own name. */
static void name_quantity(smi_columns *cols, size_t i, smi_dialect dialect, assay_str unit)
{
	smi_column *c = &cols->p[i];
	const char *bare = NULL;
	for (const smi_quantity *q = quantities; q < quantities + ASSAY_COUNT_OF(quantities); q++) {
		const smi_spelling *s = find_spelling(q, c->name, dialect, cols);
		if ((!s && !same(c->name, q->name)) || already_taken(cols, i, q))
			continue;
		c->quantity = q;
		bare = s ? s->unit : NULL;
		break;
	}
	c->unit = find_unit(unit.n ? unit : assay_str_of(bare));
	if (c->quantity && unit.n)
		c->wrong_unit = !c->unit || c->unit->kind != c->quantity->kind;
}

size_t smi_columns_plan(const smi_cells *header, const smi_cells *unit_row, smi_dialect dialect,
			smi_columns *out)
{
	out->n = 0;
	for (size_t i = 0; i < header->n; i++) {
		assay_str unit;
		assay_str name = split_unit(header->p[i], &unit);
		*assay_push(out) = (smi_column){
			.name = name, .text = header->p[i], .role = role_of(name, dialect)};
	}
	size_t known = 0;
	for (size_t i = 0; i < out->n; i++) {
		smi_column *c = &out->p[i];
		assay_str unit;
		split_unit(header->p[i], &unit);
		if (unit_row)
			unit = unit_row->p[i];
		for (size_t k = i + 1; k < out->n && c->role == SMI_VALUE; k++)
			if (assay_str_eq(c->text, out->p[k].text))
				c->role = SMI_REPEAT;
		if (c->role == SMI_TIME)
			c->unit = find_unit(unit);
		if (c->role != SMI_VALUE)
			continue;
		name_quantity(out, i, dialect, unit);
		known += c->quantity != NULL;
	}
	return known;
}

bool smi_columns_have(const smi_columns *cols, smi_role role)
{
	for (size_t i = 0; i < cols->n; i++)
		if (cols->p[i].role == role)
			return true;
	return false;
}

bool smi_is_card(assay_str text)
{
	return text.n > 4 && assay_str_starts(text, "card") && assay_is_digit(text.p[4]);
}

bool smi_cell_list(assay_str cell, assay_str *inside)
{
	if (cell.n < 2 || cell.p[0] != '[' || cell.p[cell.n - 1] != ']')
		return false;
	*inside = assay_str_trim((assay_str){cell.p + 1, cell.n - 2});
	return inside->n && strchr("0123456789-.'\"[", inside->p[0]);
}

static bool is_nothing(assay_str s)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(nothings); i++)
		if (same(s, nothings[i]))
			return true;
	/* [N/A], [Not Supported], [GPU requires reset], ...; N/A (Secondary die) */
	return s.p[0] == '[' || assay_str_starts(s, "N/A (");
}

static bool is_number_char(char c)
{
	return assay_is_digit(c) || c == '.' || c == '+' || c == '-';
}

/* "118.72 W": the number, and the rest behind it. */
static bool cut_number(assay_str s, double *v, assay_str *rest)
{
	uint64_t mask;
	if (s.n > 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x' && assay_str_u64(s, &mask)) {
		*v = (double)mask;
		*rest = (assay_str){"", 0};
		return true;
	}
	if (assay_str_f64(s, v) && isfinite(*v)) {
		*rest = (assay_str){"", 0};
		return true;
	}
	size_t n = 0;
	while (n < s.n && is_number_char(s.p[n]))
		n++;
	*rest = assay_str_trim((assay_str){s.p + n, s.n - n});
	return n && assay_str_f64((assay_str){s.p, n}, v);
}

static bool is_clock(const smi_column *col)
{
	if (col->quantity)
		return col->quantity->kind == SMI_MHZ;
	return assay_str_find_nocase(col->name, "clk") >= 0 ||
	       assay_str_find_nocase(col->name, "clock") >= 0;
}

static smi_got check_value(const smi_column *col, double v, const smi_unit *unit, double *out)
{
	const smi_quantity *q = col->quantity;
	if (v == CLOCK_UNAVAILABLE && is_clock(col))
		return SMI_GOT_NOTHING;
	if (!q) {
		*out = v;
		return SMI_GOT_VALUE;
	}
	v *= unit ? unit->scale : 1;
	if (col->wrong_unit || (unit && unit->kind != q->kind) || !(v >= q->min && v <= q->max))
		return SMI_GOT_BAD_UNIT;
	*out = v;
	return SMI_GOT_VALUE;
}

smi_got smi_cell_value(const smi_column *col, assay_str cell, double *out)
{
	assay_str s = assay_str_trim(cell), rest;
	if (s.n > 2 && s.p[0] == '(' && s.p[s.n - 1] == ')') /* rocm-smi clocks: (1700Mhz) */
		s = (assay_str){s.p + 1, s.n - 2};
	if (!s.n || is_nothing(s))
		return SMI_GOT_NOTHING;
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (same(s, words[i].text))
			return check_value(col, words[i].value, NULL, out);
	double v;
	if (!cut_number(s, &v, &rest))
		return col->quantity ? SMI_GOT_BAD : SMI_GOT_TEXT;
	if (!rest.n)
		return check_value(col, v, col->unit, out);
	const smi_unit *unit = find_unit(rest);
	if (!unit)
		return col->quantity ? SMI_GOT_BAD_UNIT : SMI_GOT_TEXT;
	return check_value(col, v, unit, out);
}

static smi_columns plan_of(const char *header, smi_dialect dialect)
{
	smi_cells cells = {0};
	smi_columns cols = {0};
	assay_str rest = assay_str_of(header);
	while (rest.n)
		*assay_push(&cells) = assay_str_trim(assay_str_cut(&rest, ','));
	smi_columns_plan(&cells, NULL, dialect, &cols);
	assay_vec_free(&cells);
	return cols;
}

static const char *name_at(const smi_columns *cols, size_t i)
{
	return cols->p[i].quantity ? cols->p[i].quantity->name : "";
}

TEST(usage_and_clocks_are_never_utilisation)
{
	smi_columns c = plan_of("gpu,usage,power_usage,gfx_clock,gfx_clk,gfx", SMI_AMD);
	CHECK(!strcmp(name_at(&c, 1), "") && !strcmp(name_at(&c, 2), "power_watts"));
	CHECK(!strcmp(name_at(&c, 3), "clock_gfx_mhz") && !strcmp(name_at(&c, 4), ""));
	CHECK(!strcmp(name_at(&c, 5), "util_pct"));
	assay_vec_free(&c);
	return 0;
}

TEST(colliding_amd_names_are_told_apart_by_their_neighbours)
{
	smi_columns metric =
		plan_of("gpu,gfx_activity,edge,hotspot,mem,speed,max,rpm,usage", SMI_AMD);
	CHECK(!strcmp(name_at(&metric, 4), "temp_mem_c") &&
	      !strcmp(name_at(&metric, 8), "fan_pct"));
	smi_columns monitor = plan_of("gpu,hotspot_temperature,gfx,mem,mem_clock", SMI_AMD);
	CHECK(!strcmp(name_at(&monitor, 3), "mem_util_pct"));
	assay_vec_free(&metric);
	assay_vec_free(&monitor);
	return 0;
}

TEST(a_repeated_name_counts_once_and_the_last_wins)
{
	smi_columns c = plan_of("gpu,gfx,edge,gfx", SMI_AMD);
	CHECK(c.p[1].role == SMI_REPEAT && !strcmp(name_at(&c, 3), "util_pct"));
	assay_vec_free(&c);
	return 0;
}

static smi_got one_cell(const char *header, smi_dialect dialect, const char *cell, double *v)
{
	smi_columns c = plan_of(header, dialect);
	smi_got got = smi_cell_value(&c.p[0], assay_str_of(cell), v);
	assay_vec_free(&c);
	return got;
}

TEST(units_come_from_the_cell_then_the_header_then_the_tool)
{
	double v;
	CHECK(one_cell("memory.used [MiB]", SMI_NV, "3223", &v) == SMI_GOT_VALUE &&
	      v == 3223 * MIB);
	CHECK(one_cell("memory.used [MiB]", SMI_NV, "2 GiB", &v) == SMI_GOT_VALUE &&
	      v == 2048 * MIB);
	CHECK(one_cell("vram_used", SMI_AMD, "283", &v) == SMI_GOT_VALUE && v == 283 * MIB);
	CHECK(one_cell("VRAM Total Memory (B)", SMI_ROCM, "5", &v) == SMI_GOT_VALUE && v == 5);
	CHECK(one_cell("power_usage", SMI_AMD, "N/A (Secondary die)", &v) == SMI_GOT_NOTHING);
	CHECK(one_cell("sclk clock speed:", SMI_ROCM, "(1700Mhz)", &v) == SMI_GOT_VALUE &&
	      v == 1700);
	CHECK(one_cell("pcie_bw", SMI_AMD, "8", &v) == SMI_GOT_VALUE && v == 1e6);
	CHECK(one_cell("power [mW]", SMI_OWN, "1500", &v) == SMI_GOT_VALUE && v == 1.5);
	return 0;
}

TEST(values_that_cannot_be_in_their_unit_are_refused)
{
	double v;
	CHECK(one_cell("gfx", SMI_AMD, "101", &v) == SMI_GOT_BAD_UNIT);
	CHECK(one_cell("gfx", SMI_AMD, "-1", &v) == SMI_GOT_BAD_UNIT);
	CHECK(one_cell("utilization.gpu [MHz]", SMI_NV, "50", &v) == SMI_GOT_BAD_UNIT);
	CHECK(one_cell("utilization.gpu [%]", SMI_NV, "50 W", &v) == SMI_GOT_BAD_UNIT);
	CHECK(one_cell("power_usage", SMI_AMD, "4294967295", &v) == SMI_GOT_BAD_UNIT);
	CHECK(one_cell("gfx", SMI_AMD, "busy", &v) == SMI_GOT_BAD);
	return 0;
}

TEST(every_spelling_of_nothing_is_nothing)
{
	static const char *const none[] = {"N/A",
					   "[N/A]",
					   "[Not Supported]",
					   "[Unknown Error]",
					   "  ",
					   "[GPU requires reset]",
					   "-",
					   "[Insufficient Permissions]",
					   " N/A  ",
					   "None",
					   "nan"};
	double v;
	for (size_t i = 0; i < ASSAY_COUNT_OF(none); i++)
		CHECK(one_cell("gfx", SMI_AMD, none[i], &v) == SMI_GOT_NOTHING);
	CHECK(one_cell("gfx_clk", SMI_AMD, "65535", &v) == SMI_GOT_NOTHING);
	CHECK(one_cell("socclk_0_clk", SMI_AMD, "65535", &v) == SMI_GOT_NOTHING);
	CHECK(one_cell("pviol", SMI_AMD, " 12  ", &v) == SMI_GOT_VALUE && v == 12);
	return 0;
}

TEST(masks_and_words_are_numbers)
{
	double v;
	CHECK(one_cell("clocks_event_reasons.active", SMI_NV, "0x0000000000000004", &v) ==
		      SMI_GOT_VALUE &&
	      v == 4);
	CHECK(one_cell("throttle_status", SMI_AMD, "UNTHROTTLED", &v) == SMI_GOT_VALUE && v == 0);
	CHECK(one_cell("clocks_event_reasons.sw_power_cap", SMI_NV, "Not Active", &v) ==
		      SMI_GOT_VALUE &&
	      v == 0);
	CHECK(one_cell("pstate", SMI_NV, "P0", &v) == SMI_GOT_TEXT);
	CHECK(one_cell("version", SMI_NV, "580.65.06", &v) == SMI_GOT_TEXT);
	return 0;
}

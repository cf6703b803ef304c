/* Telemetry that is no table: JSON of amd-smi (metric, monitor) and rocm-smi, XML of nvidia-smi -q.
 *
 * What a document says of one GPU becomes a header and a row, with the names that the same tool
 * gives its columns, and these lines are read as a table is (read/smi.c). */
#include <stdio.h>

#include "base/json.h"
#include "base/test.h"
#include "read/reader.h"
#include "read/smi_columns.h"
#include "read/smi_table.h"

enum {
	CELLS_MAX = 1000,
	CELL_TEXT = 256,  /* longer ones are no samples */
	LIST_TEXT = 4096, /* of all elements of a list */
	DEPTH_MAX = 8,
};

static const size_t whole = (size_t)1 << 40; /* asks for all of a text */

typedef assay_vec(char) chars;

typedef struct document {
	chars header, row; /* of the GPU being read, without line ends */
	chars last;        /* the header that was put last */
	chars text;        /* lines */
	size_t cells, at;  /* at: where the next line to hand out begins */
	assay_arena scratch;
} document;

/* ------------------------------------------------------------------ lines */

static void append(chars *v, assay_str s)
{
	assay_vec_reserve(v, v->n + s.n + 1);
	if (s.n)
		memcpy(v->p + v->n, s.p, s.n);
	v->n += s.n;
}

static assay_str text_of(const chars *v)
{
	return (assay_str){v->p, v->n};
}

/* As it can stand in a line of cells. */
static assay_str plain(document *d, assay_str s)
{
	char *copy = assay_dup(&d->scratch, s);
	for (size_t i = 0; i < s.n; i++)
		if (copy[i] == ',' || copy[i] == '"' || (unsigned char)copy[i] < ' ')
			copy[i] = ' ';
	return assay_str_trim((assay_str){copy, s.n});
}

static bool is_letter(char c)
{
	c |= 0x20;
	return c >= 'a' && c <= 'z';
}

/* Names that begin otherwise are rocm-smi's clock levels and topology. */
static void add_cell(document *d, assay_str name, assay_str value)
{
	if (!name.n || !is_letter(name.p[0]) || name.n > CELL_TEXT || d->cells == CELLS_MAX)
		return;
	if (d->cells++) {
		append(&d->header, ASSAY_S(","));
		append(&d->row, ASSAY_S(","));
	}
	append(&d->header, plain(d, name));
	append(&d->row, value);
}

static void end_gpu(document *d)
{
	bool same = assay_str_eq(text_of(&d->header), text_of(&d->last));
	if (d->cells > 1 && !same) {
		d->last.n = 0;
		append(&d->last, text_of(&d->header));
		append(&d->text, text_of(&d->header));
		append(&d->text, ASSAY_S("\n"));
	}
	if (d->cells > 1) {
		append(&d->text, text_of(&d->row));
		append(&d->text, ASSAY_S("\n"));
	}
	d->header.n = d->row.n = d->cells = 0;
	assay_arena_reset(&d->scratch);
}

static bool next_line(void *ctx, assay_str *line)
{
	document *d = ctx;
	if (d->at >= d->text.n)
		return false;
	const char *from = d->text.p + d->at;
	const char *end = memchr(from, '\n', d->text.n - d->at);
	size_t n = end ? (size_t)(end - from) : d->text.n - d->at;
	*line = (assay_str){from, n};
	d->at += n + 1;
	return true;
}

/* ------------------------------------------------------------------ JSON */

/* Text without its quotes; numbers and words as they stand. */
static assay_str scalar(document *d, assay_str raw)
{
	if (raw.n >= 2 && raw.p[0] == '"')
		raw = assay_json_unescape(&d->scratch, (assay_str){raw.p + 1, raw.n - 2});
	return plain(d, raw.n <= CELL_TEXT ? raw : ASSAY_S("N/A"));
}

/* {"value": 118, "unit": "W"}: true, and the two as one cell. */
static bool measure(document *d, assay_json j, assay_str *cell)
{
	assay_str key, raw, value = {0}, unit = {"", 0};
	assay_json_enter(&j, '{');
	for (; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		if (assay_str_is(key, "value") && raw.n && raw.p[0] != '{' && raw.p[0] != '[')
			value = scalar(d, raw);
		else if (assay_str_is(key, "unit"))
			unit = scalar(d, raw);
		else
			return false;
	}
	if (!value.p || !assay_json_ok(&j))
		return false;
	*cell = assay_str_of(
		assay_printf(&d->scratch, "%.*s %.*s", (int)value.n, value.p, (int)unit.n, unit.p));
	return true;
}

/* As Python prints it, which the table knows: "[3, N/A]". */
static assay_str list_cell(document *d, assay_json j)
{
	const char *text = "";
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) && strlen(text) < LIST_TEXT) {
		assay_json inside = j;
		assay_str raw, cell;
		char first = assay_json_peek(&j);
		if (!assay_json_skip(&j, &raw))
			break;
		if (first != '{' || !measure(d, inside, &cell))
			cell = first == '{' || first == '[' ? ASSAY_S("N/A") : scalar(d, raw);
		text = assay_printf(&d->scratch, "%s%s%.*s", text, *text ? ", " : "", (int)cell.n,
				    cell.p);
	}
	return assay_str_of(assay_printf(&d->scratch, "\"[%s]\"", text));
}

/* Go over a value: how it begins, and the way into it. 0: the text is no JSON there. */
static char take_value(assay_json *j, assay_json *inside, assay_str *raw)
{
	char first = assay_json_peek(j);
	*inside = *j;
	return assay_json_skip(j, raw) ? first : 0;
}

/* Members of a GPU's object. amd-smi groups them ("usage", "clock"); its tables leave the group out
 * and join what is deeper: clock, gfx_0, clk is gfx_0_clk. */
static void add_members(document *d, assay_json *j, assay_str prefix, int depth)
{
	assay_str key, raw, cell;
	assay_json_enter(j, '{');
	while (assay_json_member(j, &key)) {
		assay_json inside;
		char first = take_value(j, &inside, &raw);
		if (!first)
			return;
		assay_str name = assay_json_unescape(&d->scratch, key);
		if (prefix.n)
			name = assay_str_of(assay_printf(&d->scratch, "%.*s_%.*s", (int)prefix.n,
							 prefix.p, (int)name.n, name.p));
		if (first == '[')
			add_cell(d, name, list_cell(d, inside));
		else if (first != '{')
			add_cell(d, name, scalar(d, raw));
		else if (measure(d, inside, &cell))
			add_cell(d, name, cell);
		else if (depth < DEPTH_MAX)
			add_members(d, &inside, depth ? name : (assay_str){"", 0}, depth + 1);
	}
}

/* [{"gpu": 0, ...}, ...] */
static void add_gpus(document *d, assay_json *j)
{
	assay_str raw;
	assay_json_enter(j, '[');
	while (assay_json_element(j)) {
		assay_json inside;
		char first = take_value(j, &inside, &raw);
		if (!first)
			return;
		if (first != '{')
			continue;
		add_members(d, &inside, (assay_str){"", 0}, 0);
		end_gpu(d);
	}
}

/* {"gpu_data": [...]}, {"card0": {...}, "card1": {...}}, or one GPU's own. */
static void add_object(document *d, assay_json *j)
{
	assay_json own = *j;
	assay_str key, raw;
	bool any = false;
	assay_json_enter(j, '{');
	while (assay_json_member(j, &key)) {
		assay_json inside;
		char first = take_value(j, &inside, &raw);
		if (!first)
			return;
		if (first == '[' && assay_str_is(key, "gpu_data")) {
			add_gpus(d, &inside);
			any = true;
		} else if (first == '{' && smi_is_card(key)) {
			add_cell(d, ASSAY_S("device"), plain(d, key));
			add_members(d, &inside, (assay_str){"", 0}, 1);
			end_gpu(d);
			any = true;
		}
	}
	if (!any) {
		add_members(d, &own, (assay_str){"", 0}, 0);
		end_gpu(d);
	}
}

/* One document or, of a tool that goes on, one after the other; what is cut counts as bad. */
static void read_json(document *d, assay_part *part, assay_view v)
{
	assay_json j = assay_json_on(v.p, v.n);
	for (char c; (c = assay_json_peek(&j));) {
		const char *from = j.p;
		if (c == '[')
			add_gpus(d, &j);
		else if (c == '{')
			add_object(d, &j);
		else
			j.p++; /* a banner between documents */
		if (!assay_json_ok(&j) || j.p == from)
			break;
	}
	assay_count(part, ASSAY_ISSUE_bad_record, j.bad);
	assay_count(part, ASSAY_ISSUE_truncated, j.cut);
}

/* ------------------------------------------------------------------ XML */

/* Places below <gpu>, and the names that --query-gpu has for them or, where it has none, ours.
 * Layouts 10 to 13 of nvsmi_device.dtd. */
static const struct {
	const char *place, *name;
} places[] = {
	{"utilization/gpu_util", "utilization.gpu"},
	{"utilization/memory_util", "utilization.memory"},
	{"utilization/encoder_util", "utilization.encoder"},
	{"utilization/decoder_util", "utilization.decoder"},
	{"fb_memory_usage/total", "memory.total"},
	{"fb_memory_usage/used", "memory.used"},
	{"fb_memory_usage/free", "memory.free"},
	{"power_readings/power_draw", "power.draw"},
	{"power_readings/power_limit", "power.limit"},
	{"power_readings/enforced_power_limit", "enforced.power.limit"},
	{"gpu_power_readings/power_draw", "power.draw"},
	{"gpu_power_readings/instant_power_draw", "power.draw"},
	{"gpu_power_readings/current_power_limit", "power.limit"},
	{"clocks/sm_clock", "clocks.current.sm"},
	{"clocks/graphics_clock", "clocks.current.graphics"},
	{"clocks/mem_clock", "clocks.current.memory"},
	{"clocks/video_clock", "clocks.current.video"},
	{"temperature/gpu_temp", "temperature.gpu"},
	{"temperature/memory_temp", "temperature.memory"},
	{"fan_speed", "fan.speed"},
	{"pci/replay_counter", "pcie_replays"},
	{"pci/tx_util", "pcie_tx_bytes_per_s"},
	{"pci/rx_util", "pcie_rx_bytes_per_s"},
	{"uuid", "uuid"},
};

/* Why a clock is held back, in NVML's bits. */
static const struct {
	const char *reason;
	unsigned bit;
} reasons[] = {
	{"gpu_idle", 0},
	{"applications_clocks_setting", 1},
	{"sw_power_cap", 2},
	{"hw_slowdown", 3},
	{"sync_boost", 4},
	{"sw_thermal_slowdown", 5},
	{"hw_thermal_slowdown", 6},
	{"hw_power_brake_slowdown", 7},
	{"display_clocks_setting", 8},
};

typedef struct xml {
	document *d;
	char place[128]; /* below <gpu>, names between slashes */
	size_t used, depth, gpu_depth;
	char time[32];
	unsigned gpu, held; /* number of the GPU in the document; bits of reasons */
	bool in_gpu, has_reasons;
	bool seen[ASSAY_COUNT_OF(places)];
} xml;

/* "Fri Aug  4 11:44:30 2023" as the tables have it: 2023/08/04 11:44:30. */
static void take_time(xml *x, assay_str text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	assay_str part[5];
	size_t n = 0;
	for (assay_str rest = assay_str_trim(text); rest.n && n < 5;) {
		part[n] = assay_str_cut(&rest, ' ');
		n += part[n].n > 0;
		rest = assay_str_trim(rest);
	}
	x->time[0] = 0;
	if (n < 5 || part[1].n != 3 || part[2].n > 2 || part[3].n > 12 || part[4].n != 4)
		return;
	for (int m = 0; m < 12; m++)
		if (!memcmp(months + (size_t)m * 3, part[1].p, 3))
			snprintf(x->time, sizeof x->time, "%.4s/%02d/%s%.*s %.*s", part[4].p, m + 1,
				 part[2].n < 2 ? "0" : "", (int)part[2].n, part[2].p,
				 (int)part[3].n, part[3].p);
}

static void take_reason(xml *x, assay_str name, assay_str text)
{
	x->has_reasons = true;
	for (size_t i = 0; i < ASSAY_COUNT_OF(reasons); i++)
		if (assay_str_ends(name, reasons[i].reason) && assay_str_is(text, "Active"))
			x->held |= 1u << reasons[i].bit;
}

static void take_text(xml *x, assay_str text)
{
	assay_str place = {x->place, x->used};
	if (!x->in_gpu || !text.n)
		return;
	if (assay_str_starts(place, "clocks_event_reasons/") ||
	    assay_str_starts(place, "clocks_throttle_reasons/"))
		take_reason(x, place, text);
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++)
		if (assay_str_is(place, places[i].place) && !x->seen[i] && text.n <= CELL_TEXT) {
			x->seen[i] = true;
			add_cell(x->d, assay_str_of(places[i].name), plain(x->d, text));
		}
}

static void open_gpu(xml *x)
{
	document *d = x->d;
	memset(x->seen, 0, sizeof x->seen);
	x->in_gpu = true;
	x->has_reasons = false;
	x->held = 0;
	x->used = 0;
	x->gpu_depth = x->depth;
	add_cell(d, ASSAY_S("index"), assay_str_of(assay_printf(&d->scratch, "%u", x->gpu++)));
	if (x->time[0])
		add_cell(d, ASSAY_S("timestamp"), assay_str_of(x->time));
}

static void close_gpu(xml *x)
{
	document *d = x->d;
	if (x->has_reasons)
		add_cell(d, ASSAY_S("clocks_event_reasons.active"),
			 assay_str_of(assay_printf(&d->scratch, "0x%x", x->held)));
	end_gpu(d);
	x->in_gpu = false;
}

static void open_tag(xml *x, assay_str name)
{
	x->depth++;
	if (assay_str_is(name, "nvidia_smi_log")) {
		x->gpu = 0;
		x->time[0] = 0;
	} else if (!x->in_gpu && assay_str_is(name, "gpu")) {
		open_gpu(x);
	} else if (x->in_gpu && x->used + name.n + 1 < sizeof x->place) {
		if (x->used)
			x->place[x->used++] = '/';
		memcpy(x->place + x->used, name.p, name.n);
		x->used += name.n;
	}
}

static void close_tag(xml *x, assay_str name)
{
	if (x->in_gpu && assay_str_is(name, "gpu") && x->depth == x->gpu_depth)
		close_gpu(x);
	if (x->in_gpu && x->used >= name.n &&
	    !memcmp(x->place + x->used - name.n, name.p, name.n)) {
		x->used -= name.n;
		x->used -= x->used > 0; /* the slash */
	}
	x->depth -= x->depth > 0;
}

static void read_xml(document *d, assay_part *part, assay_view v)
{
	xml x = {.d = d};
	assay_str rest = {v.p, v.n}, tag = {"", 0};
	while (rest.n) {
		assay_str text = assay_str_trim(assay_str_cut(&rest, '<'));
		take_text(&x, text);
		if (!x.in_gpu && assay_str_is(tag, "timestamp"))
			take_time(&x, text);
		if (!rest.n)
			break;
		tag = assay_str_cut(&rest, '>');
		if (!tag.n || tag.p[0] == '!' || tag.p[0] == '?' || tag.p[tag.n - 1] == '/')
			continue;
		bool end = tag.p[0] == '/';
		if (end)
			tag = (assay_str){tag.p + 1, tag.n - 1};
		tag = assay_str_cut(&tag, ' ');
		(end ? close_tag : open_tag)(&x, tag);
		if (end)
			tag = (assay_str){"", 0};
	}
	assay_count(part, ASSAY_ISSUE_truncated, x.in_gpu);
}

/* ------------------------------------------------------------------ the file */

static bool is_xml(assay_str head)
{
	return assay_str_find(head, "<nvidia_smi_log") >= 0;
}

static bool is_json(assay_str head)
{
	static const char *const amd[] = {"\"gfx_activity\"", "\"socket_power\"",
					  "\"power_usage\"",  "\"hotspot_temperature\"",
					  "\"used_vram\"",    "\"gfx_clk\""};
	assay_str start = assay_str_trim(head);
	if (!start.n || (start.p[0] != '{' && start.p[0] != '['))
		return false;
	if (start.p[0] == '{' && assay_str_find(head, "\"card0\"") >= 0)
		return assay_str_find(head, " (%)\"") >= 0 || assay_str_find(head, " (C)\"") >= 0 ||
		       assay_str_find(head, " (W)\"") >= 0 || assay_str_find(head, " (B)\"") >= 0;
	if (assay_str_find(head, "\"gpu\"") < 0 || assay_str_find(head, "\"traceEvents\"") >= 0)
		return false;
	return assay_str_has_any(head, amd, ASSAY_COUNT_OF(amd));
}

static int document_sniff(assay_str head)
{
	return head.n && !memchr(head.p, 0, head.n) && (is_xml(head) || is_json(head)) ? 92 : 0;
}

static bool document_read(assay_run *run, assay_input *in, assay_err *err)
{
	document d = {0};
	assay_view v = assay_input_view(in, 0, whole);
	(is_xml((assay_str){v.p, v.n}) ? read_xml : read_json)(&d, &run->part, v);
	bool ok = assay_smi_read_lines(run, assay_input_path(in), next_line, &d, err);
	assay_vec_free(&d.header);
	assay_vec_free(&d.row);
	assay_vec_free(&d.last);
	assay_vec_free(&d.text);
	assay_arena_free(&d.scratch);
	return ok;
}

const assay_reader assay_reader_smi_document = {
	.name = "smi_document",
	.ends = {".json", ".xml"},
	.about = "telemetry as JSON of amd-smi and rocm-smi, as XML of nvidia-smi",
	.note = "telemetry",
	.page = "smi",
	.sniff = document_sniff,
	.read = document_read,
	.traits = ASSAY_TRAIT_TELEMETRY,
};

/* ------------------------------------------------------------------ tests */

static assay_run *read_z(const char *text)
{
	return document_sniff(assay_str_of(text)) > 0
		       ? assay_read_bytes(&assay_reader_smi_document, text, strlen(text))
		       : NULL;
}

/* The value of the last sample of that name; -1 when there is none. */
static double last_value(const assay_run *run, int64_t gpu, const char *name)
{
	const assay_counter_table *c = &run->part.t.counter;
	double v = -1;
	for (size_t i = 0; i < c->n; i++)
		if (run->part.t.track.pid[c->track[i]] == gpu &&
		    assay_str_is(assay_text(run, c->name[i]), name))
			v = c->value[i];
	return v;
}

#define IS(run, gpu, name, want) (last_value(run, gpu, name) == (double)(want))

TEST(json_of_amd_smi_is_read_as_its_tables_are)
{
	assay_run *run = read_z(
		"{\"gpu_data\": [{\"gpu\": 0, \"usage\": {\"gfx_activity\": {\"value\": 97, \"unit\": \"%\"},\n"
		"\"vcn_activity\": [{\"value\": 3, \"unit\": \"%\"}, \"N/A\"]},\n"
		"\"power\": {\"socket_power\": {\"value\": 239, \"unit\": \"W\"}, \"throttle_status\": \"N/A\"},\n"
		"\"clock\": {\"gfx_0\": {\"clk\": {\"value\": 2100, \"unit\": \"MHz\"}, \"deep_sleep\": \"DISABLED\"}},\n"
		"\"temperature\": {\"edge\": \"N/A\", \"hotspot\": {\"value\": 36, \"unit\": \"C\"},\n"
		"\"mem\": {\"value\": 41, \"unit\": \"C\"}},\n"
		"\"mem_usage\": {\"total_vram\": {\"value\": 4, \"unit\": \"MB\"}}},\n"
		"{\"gpu\": 1, \"usage\": \"N/A\", \"power\": {\"socket_power\": {\"value\": 90, \"unit\": \"W\"}}}]}");
	CHECK(run);
	CHECK(IS(run, 0, "util_pct", 97) && IS(run, 0, "power_watts", 239));
	CHECK(IS(run, 0, "clock_gfx_mhz", 2100) && IS(run, 0, "temp_hotspot_c", 36));
	CHECK(IS(run, 0, "temp_mem_c", 41) && IS(run, 0, "mem_total_bytes", 4 << 20));
	CHECK(IS(run, 0, "vcn_activity_0", 3) && IS(run, 1, "power_watts", 90));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_run_free(run);
	return 0;
}

TEST(json_of_amd_smi_that_goes_on_is_a_list_after_the_other)
{
	assay_run *run = read_z("[{\"timestamp\": 1700000000, \"gpu\": 0, \"power_usage\":\n"
				"{\"value\": 100, \"unit\": \"W\"}}]\n"
				"[{\"timestamp\": 1700000001, \"gpu\": 0, \"power_usage\":\n"
				"{\"value\": 110, \"unit\": \"W\"}}]\n[{\"timestamp\": 17");
	CHECK(run && run->part.t.counter.n == 2 && IS(run, 0, "power_watts", 110));
	CHECK_EQ(run->part.t.counter.ts[1], 1700000001000000000);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_truncated], 1);
	assay_run_free(run);
	return 0;
}

TEST(json_of_rocm_smi_has_an_object_a_card)
{
	assay_run *run = read_z(
		"{\"card0\": {\"Device ID\": \"0x738c\", \"Temperature (Sensor edge) (C)\": \"53.0\",\n"
		"\"sclk clock speed:\": \"(300Mhz)\", \"0\": \"16.0GT/s x16 *\", \"GPU use (%)\": \"12\",\n"
		"\"VRAM Total Used Memory (B)\": \"6750208\", \"(Topology) Numa Node\": \"1\"},\n"
		"\"card1\": {\"GPU use (%)\": \"83\", \"Card vendor\": \"A, B\"},\n"
		"\"system\": {\"Driver version\": \"6.3.6\"}}");
	CHECK(run && IS(run, 0, "util_pct", 12) && IS(run, 0, "temp_c", 53));
	CHECK(IS(run, 0, "clock_gfx_mhz", 300) && IS(run, 0, "mem_used_bytes", 6750208));
	CHECK(IS(run, 1, "util_pct", 83));
	assay_run_free(run);
	return 0;
}

TEST(xml_of_nvidia_smi_has_time_and_reasons_of_slow_clocks)
{
	assay_run *run = read_z(
		"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
		"<nvidia_smi_log>\n<timestamp>Fri Aug  4 11:44:30 2023</timestamp>\n"
		"<gpu id=\"00000000:01:00.0\"><uuid>GPU-1</uuid>\n"
		"<mig_devices><mig_device><fb_memory_usage><used>1 MiB</used></fb_memory_usage></mig_device></mig_devices>\n"
		"<pci><tx_util>4000 KB/s</tx_util></pci><fan_speed>N/A</fan_speed>\n"
		"<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>\n"
		"<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle></clocks_event_reasons>\n"
		"<fb_memory_usage><total>81920 MiB</total><used>50 MiB</used></fb_memory_usage>\n"
		"<utilization><gpu_util>7 %</gpu_util></utilization>\n"
		"<gpu_power_readings><power_draw>67.03 W</power_draw></gpu_power_readings>\n"
		"<clocks><sm_clock>1275 MHz</sm_clock></clocks><max_clocks><sm_clock>1410 MHz</sm_clock></max_clocks>\n"
		"</gpu><gpu id=\"2\"><utilization><gpu_util>9 %</gpu_util></utilization></gpu></nvidia_smi_log>\n");
	CHECK(run && IS(run, 0, "util_pct", 7) && IS(run, 1, "util_pct", 9));
	CHECK(IS(run, 0, "mem_used_bytes", 50 << 20) && IS(run, 0, "power_watts", 67.03));
	CHECK(IS(run, 0, "clock_gfx_mhz", 1275) && IS(run, 0, "throttle", 4));
	CHECK(IS(run, 0, "pcie_tx_bytes_per_s", 4e6));
	CHECK_EQ(run->part.t.counter.ts[0], 1691149470000000000);
	assay_run_free(run);
	return 0;
}

TEST(other_documents_are_not_taken)
{
	static const char *const others[] = {
		"",
		"{}",
		"[]",
		"{\"gpu\": 1}",
		"<gpu></gpu>",
		"{\"traceEvents\": [{\"gpu\": \"gfx_activity\"}]}",
		"gpu,gfx_activity\n0,5\n",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++)
		CHECK(!read_z(others[i]));
	return 0;
}

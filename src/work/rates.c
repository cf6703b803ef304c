/* The table of devices, and how one is recognised. */
#include "work/rates.h"

#include <assert.h>
#include <math.h>

#include "base/fmt.h"
#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "model/machine.h"

enum { FILE_MAX = 1 << 20 };

static const struct device {
	const char *name;
	assay_vendor vendor;
	const char *arch, *words;
	int32_t units;
	double memory_from, memory_to; /* GB */
	double clock;
	double peak[ASSAY_MATH_COUNT];
	double bandwidth, cache, best, links;
} devices[] = {
#define RATE(name, vendor, arch, words, units, from, to, clock, fp64, fp32, tf32, bf16, fp16, fp8, \
	     int8, fp4, bandwidth, cache, best, links)                                             \
	{name,                                                                                     \
	 ASSAY_VENDOR_##vendor,                                                                    \
	 arch,                                                                                     \
	 words,                                                                                    \
	 units,                                                                                    \
	 from,                                                                                     \
	 to,                                                                                       \
	 clock,                                                                                    \
	 {0, fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4},                                        \
	 bandwidth,                                                                                \
	 cache,                                                                                    \
	 best,                                                                                     \
	 links},
#include "work/rates.def"
#undef RATE
};
static_assert(ASSAY_MATH_FP64 == 1 && ASSAY_MATH_FP4 == 8, "rates.def has their order");

double assay_rates_narrow(const assay_rates *r, assay_math math)
{
	double int8 = r->peak[ASSAY_MATH_INT8], sums_fp16 = 0;
	if (math == ASSAY_MATH_FP16 || math == ASSAY_MATH_FP8)
		sums_fp16 = math == ASSAY_MATH_FP8 ? int8 : int8 / 2;
	return r->peak[math] > 0 ? fmax(r->peak[math], sums_fp16) : 0;
}

double assay_rates_fastest(assay_math math)
{
	const double tera = 1e12;
	double most = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(devices); i++)
		most = devices[i].peak[math] > most ? devices[i].peak[math] : most;
	return most * tera;
}

/* What the input says about a device. */
struct told {
	assay_str name, arch;
	assay_vendor vendor;
	int32_t units;
	double gb;
};

/* Memory of the input is a little less than what is sold; 0 when it does not say. */
static bool memory_fits(const struct device *d, double gb)
{
	return gb <= 0 || (gb >= d->memory_from * 0.9 && gb <= d->memory_to * 1.08);
}

/* HIP counts workgroup processors on Radeon, of two compute units each; HSA counts these. */
static int32_t units_of(const struct device *d, int32_t told)
{
	bool radeon = assay_str_starts(assay_str_of(d->arch), "gfx1");
	return radeon && told == d->units / 2 ? d->units : told;
}

/* Fewer units than the product has (MIG, an AMD partition). Whole ones are sold with a few units
 * less (GB300: 152 of 160), and the sheet's rates are theirs; the largest part has 98 of 108. */
static bool is_part(const struct device *d, int32_t told)
{
	const double whole = 0.94;
	int32_t units = units_of(d, told);
	return units > 0 && units < whole * d->units;
}

/* Parts have a part of the memory, too. */
static bool memory_may_be(const struct device *d, const struct told *t)
{
	return memory_fits(d, is_part(d, t->units) ? fmax(t->gb, d->memory_from) : t->gb);
}

/* As whole words: an L40 is no L4, a GB200 no B200. */
static bool has_words(assay_str name, const char *words)
{
	for (size_t from = 0; from < name.n;) {
		assay_str rest = {name.p + from, name.n - from};
		ptrdiff_t at = assay_str_find_nocase(rest, words);
		if (at < 0)
			return false;
		size_t begin = from + (size_t)at, end = begin + strlen(words);
		if ((!begin || !assay_is_letter_or_digit(name.p[begin - 1])) &&
		    (end == name.n || !assay_is_letter_or_digit(name.p[end])))
			return true;
		from = begin + 1;
	}
	return false;
}

/* An RTX 4080 SUPER is no RTX 4080, and neither is the one of a laptop. */
static bool is_variant(assay_str name, const char *words)
{
	static const char *const marks[] = {"Ti", "SUPER", "D", "Laptop", "Mobile", "Max-Q"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(marks); i++)
		if (has_words(name, marks[i]) && !has_words(assay_str_of(words), marks[i]))
			return true;
	return false;
}

/* Names may be of two products ("MI250X / MI250"): units tell them apart. How large a slice (MIG)
 * is, only its units say. */
static const struct device *by_name(const struct told *t)
{
	const struct device *found = NULL;
	if (t->units <= 0 && has_words(t->name, "MIG"))
		return NULL;
	for (size_t i = 0; t->name.n && i < ASSAY_COUNT_OF(devices); i++) {
		const struct device *d = &devices[i];
		if (!has_words(t->name, d->words) || is_variant(t->name, d->words) ||
		    !memory_may_be(d, t))
			continue;
		if (units_of(d, t->units) == d->units)
			return d;
		found = found ? found : d;
	}
	return found;
}

/* Without a name: several devices may have the same numbers. Rates of the slowest, and its name
 * says what else it may be. */
static const struct device *by_numbers(const struct told *t, const char **also)
{
	const struct device *found = NULL;
	*also = NULL;
	/* a name that says nothing; one that names another product is not overruled */
	if (t->name.n && assay_str_find_nocase(t->name, "graphics") < 0)
		return NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(devices); i++) {
		const struct device *d = &devices[i];
		if (units_of(d, t->units) != d->units || t->gb <= 0 || !memory_fits(d, t->gb) ||
		    t->vendor != d->vendor || (t->arch.n && !assay_str_starts(t->arch, d->arch)))
			continue;
		bool slower = found && d->peak[ASSAY_MATH_BF16] <= found->peak[ASSAY_MATH_BF16];
		if (found)
			*also = slower ? found->name : d->name;
		if (!found || slower)
			found = d;
	}
	return found;
}

static struct told told_of(const assay_run *run, uint32_t device_time)
{
	const assay_device_table *d = &run->part.t.device;
	const assay_device_time_table *of = &run->part.t.device_time;
	uint32_t i =
		assay_device_row(&run->part.t, of->source[device_time], of->device[device_time]);
	if (i == ASSAY_NO_ROW)
		return (struct told){.units = -1};
	return (struct told){.name = assay_text(run, d->name[i]),
			     .vendor = assay_device_vendor(run, i),
			     .arch = assay_text(run, d->arch[i]),
			     .units = d->units[i],
			     .gb = d->memory[i] > 0 ? (double)d->memory[i] / 1e9 : 0};
}

/* Boards for graphics clock as high as power and heat allow (an RTX 3090 at 1,950 of 1,695 MHz);
 * NVIDIA's others up to 1,980 of 1,830; AMD's rates are of the highest clock. */
static double faster_than_sheet(const struct device *d)
{
	static const char *const graphics[] = {"sm_75", "sm_86", "sm_89", "sm_12", "gfx1"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(graphics); i++)
		if (assay_str_starts(assay_str_of(d->arch), graphics[i]))
			return 1.25;
	return d->vendor == ASSAY_VENDOR_NVIDIA ? 1.1 : 1;
}

/* What share of the bandwidth a part has, nothing says. */
static void take_device(assay_rates *out, assay_run *run, const struct device *d, int32_t told)
{
	int32_t units = units_of(d, told);
	bool part = is_part(d, told);
	double share = part ? (double)units / d->units : 1;
	for (int m = 0; m < ASSAY_MATH_COUNT; m++)
		out->peak[m] = d->peak[m] * 1e12 * share;
	out->name = d->name;
	out->bandwidth = part ? 0 : d->bandwidth * 1e12;
	out->cache = d->cache * 1e6;
	out->clock = d->clock * 1e6;
	out->best = d->peak[ASSAY_MATH_BF16] > 0 ? d->best / d->peak[ASSAY_MATH_BF16] : 0;
	out->units = units > 0 ? units : d->units;
	out->faster = faster_than_sheet(d);
	out->links = d->links * 1e9;
	out->how = part ? assay_printf(&run->arena,
				       "peaks of %s, of which this part has %d of %d units",
				       d->name, units, d->units)
			: assay_printf(&run->arena, "peaks of %s", d->name);
}

/* Where a member of the file goes, and its unit. */
struct member {
	const char *name;
	double *to, unit;
	const char *of;
};

/* to is NULL for one that no rate is called. */
static struct member member_of(assay_rates *out, assay_str key)
{
	const struct member others[] = {{"bandwidth", &out->bandwidth, 1e12, "TB/s"},
					{"cache", &out->cache, 1e6, "MB"},
					{"clock", &out->clock, 1e6, "MHz"},
					{"links", &out->links, 1e9, "GB/s"},
					{"units", &out->units, 1, "units"}};
	for (int m = 1; m < ASSAY_MATH_COUNT; m++)
		if (assay_str_is(key, assay_math_name[m]))
			return (struct member){assay_math_name[m], &out->peak[m], 1e12, "TFLOP/s"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++)
		if (assay_str_is(key, others[i].name))
			return others[i];
	return (struct member){0};
}

static bool take_member(assay_rates *out, assay_run *run, const char *path, assay_str key,
			assay_json *j, assay_err *err)
{
	const double most = 1e6; /* of any unit: who writes more means another one */
	struct member m = member_of(out, key);
	double v;
	uint64_t at = (uint64_t)(j->p - j->base);
	assay_str text;
	const char *name = assay_fmt_safe(&run->arena, key);
	if (assay_str_is(key, "name") && assay_json_peek(j) == '"') {
		if (assay_json_text(j, &text))
			out->name = assay_dup(&run->arena, assay_json_unescape(&run->arena, text));
		return true;
	}
	if (!m.to)
		return assay_fail(
			err, ASSAY_FORMAT, at,
			"%s: %s is not a rate; rates are fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4, bandwidth, cache, clock, links and units",
			path, name);
	if (!assay_json_f64(j, &v) || !(v >= 0))
		return assay_fail(err, ASSAY_FORMAT, at, "%s: %s is not a number of 0 or more",
				  path, name);
	if (v > most)
		return assay_fail(err, ASSAY_FORMAT, at, "%s: %s is in %s, and no device has %g",
				  path, name, m.of, v);
	*m.to = v * m.unit;
	return true;
}

static bool take_file(assay_rates *out, assay_run *run, const char *path, assay_err *err)
{
	assay_input *in = assay_input_open(path, err);
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, FILE_MAX);
	assay_json j = assay_json_on(v.p, v.n);
	assay_json_enter(&j, '{');
	bool taken = true;
	for (assay_str key; taken && assay_json_member(&j, &key);)
		taken = take_member(out, run, path, key, &j, err);
	bool ok = taken && assay_json_ok(&j);
	if (taken && !ok)
		assay_fail(err, ASSAY_FORMAT, (uint64_t)(j.p - j.base),
			   "%s is not a JSON object of rates", path);
	assay_input_close(in);
	out->how = assay_printf(&run->arena, "rates given in %s", path);
	out->name = out->name ? out->name : "given";
	return ok;
}

bool assay_rates_find(assay_rates *out, assay_run *run, uint32_t device_time, const char *file,
		      assay_err *err)
{
	const char *also = NULL;
	*out = (assay_rates){.how = "the device is not known; --rates FILE gives its rates"};
	struct told told = told_of(run, device_time);
	const struct device *d = by_name(&told);
	if (!d)
		d = by_numbers(&told, &also);
	if (d)
		take_device(out, run, d, told.units);
	if (also)
		out->how = assay_printf(&run->arena, "peaks of %s; it may be a %s", d->name, also);
	return !file || take_file(out, run, file, err);
}

static const char *found_as(assay_run *run, const char *name, const char *vendor, const char *arch,
			    int units, double gb, assay_rates *out)
{
	assay_device_table *d = &run->part.t.device;
	d->n = run->part.t.device_time.n = 0;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_device);
	d->source[r] = 0;
	d->id[r] = 0;
	d->name[r] = assay_sid_of(run, name);
	d->vendor[r] = assay_sid_of(run, vendor);
	d->arch[r] = assay_sid_of(run, arch);
	d->units[r] = units;
	d->memory[r] = (int64_t)(gb * 1e9);
	r = assay_add(&run->part.t, ASSAY_T_device_time);
	run->part.t.device_time.source[r] = 0;
	run->part.t.device_time.device[r] = 0;
	return assay_rates_find(out, run, 0, NULL, NULL) && out->name ? out->name : "";
}

/* Names and sizes as traces have them. */
static const struct {
	const char *name, *vendor, *arch;
	int units;
	double gb;
	const char *want;
} known[] = {
	{"NVIDIA H100 80GB HBM3", "nvidia", "sm_90", 132, 85.0, "H100 SXM"},
	{"NVIDIA H100 PCIe", "nvidia", "sm_90", 114, 85.0, "H100 PCIe"},
	{"NVIDIA H100 NVL", "nvidia", "sm_90", 132, 100.0, "H100 NVL"},
	{"NVIDIA H200", "nvidia", "sm_90", 132, 150.1, "H200 SXM"},
	{"NVIDIA A100-PG509-200", "nvidia", "sm_80", 108, 42.5, "A100 40GB"},
	{"NVIDIA A100-SXM4-80GB", "nvidia", "sm_80", 108, 85.0, "A100 80GB SXM"},
	{"Tesla V100-SXM2-32GB", "nvidia", "sm_70", 80, 34.0, "V100 SXM2"},
	{"NVIDIA B200", "nvidia", "sm_100", 148, 191.5, "B200"},
	{"NVIDIA GB200", "nvidia", "sm_100", 148, 191.5, "GB200"},
	{"AMD Instinct MI300X VF", "amd", "gfx942", 304, 205.6, "MI300X"},
	{"AMD Instinct MI325X", "amd", "gfx942", 304, 274.8, "MI325X"},
	{"AMD Instinct MI250X", "amd", "gfx90a", 110, 68.7, "MI250X, one die"},
	{"NVIDIA L40", "nvidia", "sm_89", 142, 48.3, "L40"},
	{"NVIDIA L40S", "nvidia", "sm_89", 142, 48.3, "L40S"},
	{"NVIDIA L4", "nvidia", "sm_89", 58, 23.7, "L4"},
	{"NVIDIA L20", "nvidia", "sm_89", 92, 48.3, ""},
	{"NVIDIA A10", "nvidia", "sm_86", 72, 23.8, "A10"},
	{"NVIDIA A10G", "nvidia", "sm_86", 80, 23.8, "A10G"},
	{"NVIDIA A30", "nvidia", "sm_80", 56, 25.2, "A30"},
	{"NVIDIA A40", "nvidia", "sm_86", 84, 47.6, "A40"},
	{"NVIDIA RTX A6000", "nvidia", "sm_86", 84, 51.0, "RTX A6000"},
	{"NVIDIA A800-SXM4-80GB", "nvidia", "sm_80", 108, 85.0, "A800 80GB SXM"},
	{"NVIDIA A100 80GB PCIe", "nvidia", "sm_80", 108, 85.0, "A100 80GB PCIe"},
	{"NVIDIA A100-SXM4-40GB", "nvidia", "sm_80", 108, 42.4, "A100 40GB SXM"},
	{"NVIDIA A100-SXM-64GB", "nvidia", "sm_80", 124, 68.2, ""},
	{"NVIDIA H100", "nvidia", "sm_90", 132, 68.7, ""},
	{"NVIDIA H800", "nvidia", "sm_90", 132, 85.0, "H800 SXM"},
	{"NVIDIA H20", "nvidia", "sm_90", 78, 102.0, "H20"},
	{"NVIDIA GH200 480GB", "nvidia", "sm_90", 132, 102.0, "GH200 96GB"},
	{"NVIDIA GH200 144G HBM3e", "nvidia", "sm_90", 132, 150.0, "GH200 144GB"},
	{"NVIDIA B300 SXM6 AC", "nvidia", "sm_103", 148, 288.0, "B300"},
	{"NVIDIA GeForce RTX 3090", "nvidia", "sm_86", 82, 25.4, "RTX 3090"},
	{"NVIDIA GeForce RTX 3090 Ti", "nvidia", "sm_86", 84, 25.4, "RTX 3090 Ti"},
	{"NVIDIA GeForce RTX 3080 Laptop GPU", "nvidia", "sm_86", 48, 8.6, ""},
	{"NVIDIA GeForce RTX 4080 SUPER", "nvidia", "sm_89", 80, 17.1, "RTX 4080 SUPER"},
	{"NVIDIA GeForce RTX 4080", "nvidia", "sm_89", 76, 17.1, "RTX 4080"},
	{"NVIDIA GeForce RTX 4090 D", "nvidia", "sm_89", 114, 25.4, ""},
	{"NVIDIA GeForce RTX 2080 Ti", "nvidia", "sm_75", 68, 11.5, "RTX 2080 Ti"},
	{"NVIDIA RTX A5000", "nvidia", "sm_86", 64, 25.3, "RTX A5000"},
	{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "nvidia", "sm_120", 188, 101.9,
	 "RTX PRO 6000 Blackwell Workstation"},
	{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia", "sm_120", 188, 101.9,
	 "RTX PRO 6000 Blackwell Server"},
	{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "nvidia", "sm_120", 188, 101.9,
	 ""},
	{"NVIDIA A2", "nvidia", "sm_86", 10, 15.6, "A2"},
	{"NVIDIA GeForce RTX 3060", "nvidia", "sm_86", 28, 12.5, "RTX 3060 12GB"},
	{"NVIDIA GeForce RTX 3060", "nvidia", "sm_86", 28, 8.4, ""},
	{"NVIDIA GeForce RTX 3060 Ti", "nvidia", "sm_86", 38, 8.4, ""},
	{"NVIDIA GeForce RTX 3070", "nvidia", "sm_86", 46, 8.4, "RTX 3070"},
	{"NVIDIA GeForce RTX 4070", "nvidia", "sm_89", 46, 12.6, "RTX 4070"},
	{"NVIDIA GeForce RTX 4070 Ti", "nvidia", "sm_89", 60, 12.6, "RTX 4070 Ti"},
	{"NVIDIA GeForce RTX 4070 Ti SUPER", "nvidia", "sm_89", 66, 16.7, ""},
	{"NVIDIA GeForce RTX 5070", "nvidia", "sm_120", 48, 12.5, "RTX 5070"},
	{"NVIDIA GeForce RTX 5070 Laptop GPU", "nvidia", "sm_120", 36, 8.2, ""},
	{"AMD Radeon PRO W7900", "amd", "gfx1100", 48, 48.3, "PRO W7900"},
	{"NVIDIA GeForce RTX 4090", "nvidia", "sm_89", 128, 25.3, "RTX 4090"},
	{"NVIDIA GeForce RTX 5090", "nvidia", "sm_120", 170, 34.2, "RTX 5090"},
	{"NVIDIA RTX 6000 Ada Generation", "nvidia", "sm_89", 142, 51.0, "RTX 6000 Ada"},
	{"Tesla T4", "nvidia", "sm_75", 40, 15.8, "T4"},
	{"Tesla P100-PCIE-16GB", "nvidia", "sm_60", 56, 17.1, "P100 PCIe"},
	{"Tesla P100-PCIE-12GB", "nvidia", "sm_60", 56, 12.8, ""},
	{"Tesla V100S-PCIE-32GB", "nvidia", "sm_70", 80, 34.1, "V100S PCIe"},
	{"Tesla P100-SXM2-16GB", "nvidia", "sm_60", 56, 17.1, "P100 SXM2"},
	{"AMD Instinct MI100", "amd", "gfx908", 120, 34.3, "MI100"},
	{"AMD Instinct MI355X", "amd", "gfx950", 256, 309.2, "MI355X"},
	{"AMD Instinct MI300A", "amd", "gfx942", 228, 137.4, "MI300A"},
	{"AMD Instinct MI250X / MI250", "amd", "gfx90a", 110, 68.7, "MI250X, one die"},
	{"AMD Instinct MI250X / MI250", "amd", "gfx90a", 104, 68.7, "MI250, one die"},
	{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "nvidia", "sm_90", 16, 10.2, "H100 SXM"},
	{"NVIDIA H200 MIG 3g.71gb", "nvidia", "sm_90", 60, 75.0, "H200 SXM"},
	{"NVIDIA A100 80GB PCIe MIG 2g.20gb", "nvidia", "sm_80", 28, 21.0, "A100 80GB PCIe"},
	{"NVIDIA H200 MIG 1g.18gb", "nvidia", "sm_90", -1, 18.8, ""},
	{"NVIDIA H200 MIG 1g.18gb", "nvidia", "sm_90", -1, 0, ""},
	{"AMD Instinct MI308X", "amd", "gfx942", 80, 206.1, ""},
	{"AMD Radeon RX 7900 XTX", "amd", "gfx1100", 96, 25.8, "RX 7900 XTX"},
	{"AMD Radeon RX 9070 XT", "amd", "gfx1201", 32, 17.1, "RX 9070 XT"},
	{"AMD Radeon Graphics", "amd", "gfx1100", 48, 25.8, "RX 7900 XTX"},
	{"AMD Instinct MI210", "amd", "", 104, 68.7, "MI210"},
	{"", "amd", "gfx942", 304, 206.1, "MI300X"},
	{"", "nvidia", "sm_90", 132, 150.1, "H200 NVL"},
	{"AMD Radeon Graphics", "amd", "", 104, 68.7, "MI250, one die"},
	{"", "amd", "gfx950", 256, 309.2, "MI350X"},
	{"", "AMD", "gfx950", 256, 309.2, "MI350X"},
	{"", "", "gfx950", 256, 309.2, ""},
	{"NVIDIA GeForce RTX 3050", "nvidia", "sm_86", 20, 8.4, ""},
	{"", "amd", "", -1, 0, ""},
};

assay_math assay_rates_beside_fp32(const double peak[ASSAY_MATH_COUNT])
{
	static const uint8_t by_choice[] = {ASSAY_MATH_TF32, ASSAY_MATH_BF16, ASSAY_MATH_FP16};
	for (size_t i = 0; i < ASSAY_COUNT_OF(by_choice); i++)
		if (peak[by_choice[i]] > peak[ASSAY_MATH_FP32])
			return (assay_math)by_choice[i];
	return ASSAY_MATH_FP32;
}

TEST(where_there_is_no_tf32_a_half_type_is_cheaper_than_fp32)
{
	static const struct {
		const char *name;
		assay_math math;
	} cases[] = {{"V100 SXM2", ASSAY_MATH_FP16},
		     {"A100 80GB SXM", ASSAY_MATH_TF32},
		     {"RTX 3080", ASSAY_MATH_BF16}, /* its tf32 is as fast as fp32 */
		     {"MI210", ASSAY_MATH_BF16}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		for (size_t d = 0; d < ASSAY_COUNT_OF(devices); d++)
			if (!strcmp(devices[d].name, cases[i].name))
				CHECK_EQ(assay_rates_beside_fp32(devices[d].peak), cases[i].math);
	const double none[ASSAY_MATH_COUNT] = {0};
	CHECK_EQ(assay_rates_beside_fp32(none), ASSAY_MATH_FP32);
	return 0;
}

TEST(devices_are_known_by_name_or_by_numbers)
{
	assay_run *run = assay_run_new();
	assay_rates r;
	for (size_t i = 0; i < ASSAY_COUNT_OF(known); i++) {
		const char *got = found_as(run, known[i].name, known[i].vendor, known[i].arch,
					   known[i].units, known[i].gb, &r);
		if (strcmp(got, known[i].want)) {
			fprintf(stderr, "%s %d: %s\n", known[i].name, known[i].units, got);
			return 1;
		}
	}
	assay_run_free(run);
	return 0;
}

TEST(parts_of_a_device_have_their_share_and_doubt_is_said)
{
	assay_run *run = assay_run_new();
	assay_rates r;
	CHECK(!strcmp(found_as(run, "", "amd", "gfx950", 256, 309.2, &r), "MI350X"));
	CHECK(assay_str_find(assay_str_of(r.how), "MI355X") >= 0);
	run->part.t.device_time.device[0] = 2; /* behind two processors */
	CHECK(assay_rates_find(&r, run, 0, NULL, NULL) && r.name);
	found_as(run, "AMD Instinct MI300X", "amd", "gfx942", 76, 206.1, &r);
	CHECK(r.bandwidth == 0 && r.peak[ASSAY_MATH_BF16] == 1307.4e12 / 4);
	found_as(run, "AMD Instinct MI300X", "amd", "gfx942", 38, 25.8, &r);
	CHECK(r.bandwidth == 0 && r.peak[ASSAY_MATH_BF16] == 1307.4e12 / 8);
	found_as(run, "NVIDIA H200 MIG 1g.18gb", "nvidia", "sm_90", 16, 18.8, &r);
	CHECK(r.bandwidth == 0 && r.units == 16 && r.peak[ASSAY_MATH_BF16] < 0.13 * 989.4e12);
	found_as(run, "AMD Radeon RX 7900 XTX", "amd", "gfx1100", 48, 25.8, &r);
	CHECK(r.bandwidth == 0.96e12 && r.peak[ASSAY_MATH_BF16] == 122.8e12 && r.units == 96);
	found_as(run, "NVIDIA A100-SXM4-40GB MIG 7g.40gb", "nvidia", "sm_80", 98, 42.4, &r);
	CHECK(r.bandwidth == 0 && r.peak[ASSAY_MATH_BF16] < 312e12);
	found_as(run, "NVIDIA GB300", "nvidia", "sm_103", 152, 288, &r);
	CHECK(r.bandwidth == 8e12 && r.peak[ASSAY_MATH_BF16] == 2500e12 && r.units == 152);
	assay_run_free(run);
	return 0;
}

/* Peak = units x operations a clock x clock: the rows agree with the machines they are of. */
TEST(no_device_has_units_without_end)
{
	static const struct device radeon = {.arch = "gfx1100", .units = 96};
	CHECK(units_of(&radeon, 48) == 96 && units_of(&radeon, INT32_MAX) == INT32_MAX);
	return 0;
}

TEST(rates_are_what_units_and_clocks_make)
{
	static const struct {
		const char *name;
		double bf16_per_clock;
	} parts[] = {{"A100 40GB", 2048},  {"H100 SXM", 4096},
		     {"H200 SXM", 4096},   {"B200", 8192},
		     {"MI210", 1024},      {"MI250X, one die", 1024},
		     {"MI300X", 2048},     {"MI325X", 2048},
		     {"MI300A", 2048},     {"MI350X", 4096},
		     {"MI355X", 4096},     {"L4", 1024},
		     {"A10G", 512},        {"A30", 2048},
		     {"A40", 1024},        {"RTX A6000", 1024},
		     {"RTX 3080", 512},    {"RTX 3090", 512},
		     {"RTX 3090 Ti", 512}, {"RTX 4080", 512},
		     {"RTX 5080", 512},    {"L40", 512},
		     {"L40S", 1024},       {"RTX 6000 Ada", 1024},
		     {"H20", 1024},        {"MI100", 512},
		     {"RX 7900 XTX", 512}, {"RTX A5000", 1024},
		     {"RTX A4000", 1024},  {"RTX 4080 SUPER", 512},
		     {"RX 9070 XT", 1024}, {"RTX PRO 6000 Blackwell Workstation", 1024},
		     {"A2", 1024},         {"RTX 3060 12GB", 512},
		     {"RTX 3070", 512},    {"RTX 4070", 512},
		     {"RTX 4070 Ti", 512}, {"RTX 5070", 512},
		     {"PRO W7900", 512},   {"RTX PRO 6000 Blackwell Server", 1024}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(parts); i++)
		for (size_t d = 0; d < ASSAY_COUNT_OF(devices); d++) {
			double made = devices[d].units * parts[i].bf16_per_clock *
				      devices[d].clock * 1e-6;
			if (strcmp(devices[d].name, parts[i].name))
				continue;
			CHECK(made > devices[d].peak[ASSAY_MATH_BF16] * 0.9875 &&
			      made < devices[d].peak[ASSAY_MATH_BF16] * 1.0125);
		}
	return 0;
}

/* Matrix units do a power of two of operations a clock, in every row. */
TEST(matrix_rates_are_whole_numbers_of_units)
{
	for (size_t d = 0; d < ASSAY_COUNT_OF(devices); d++)
		for (int m = ASSAY_MATH_TF32; m <= ASSAY_MATH_FP8; m++) {
			double per_clock =
				devices[d].peak[m] * 1e6 / devices[d].units / devices[d].clock;
			if (per_clock > 0 &&
			    fabs(per_clock / exp2(round(log2(per_clock))) - 1) > 0.0125) {
				fprintf(stderr, "%s: %g\n", devices[d].name, per_clock);
				return 1;
			}
		}
	return 0;
}

static bool take_text(const char *json, assay_rates *out, assay_run *run, assay_err *err)
{
	const char *path = assay_test_path("rates.json");
	FILE *f = fopen(path, "w");
	bool written = f && fputs(json, f) >= 0;
	if (f)
		fclose(f);
	return written && take_file(out, run, path, err);
}

TEST(rates_of_a_file_win_and_what_is_no_rate_is_refused)
{
	static const char *const wrong[] = {
		"{\"bf61\": 1}", "{\"bf16\": \"fast\"}", "{\"bandwidth\": -1}", "{\"units\": null}",
		"[1]",           "{\"bf16\": 1",         "{\"bf16\": 989e12}"};
	assay_run *run = assay_run_new();
	assay_rates r = {.bandwidth = 7};
	assay_err err;
	r.peak[ASSAY_MATH_FP32] = 5;
	CHECK(take_text("{\"name\": \"mine\", \"bf16\": 2, \"cache\": 50, \"units\": 8}", &r, run,
			&err));
	CHECK(!strcmp(r.name, "mine") && r.peak[ASSAY_MATH_BF16] == 2e12 && r.cache == 50e6 &&
	      r.units == 8);
	CHECK(r.bandwidth == 7 && r.peak[ASSAY_MATH_FP32] == 5);
	for (size_t i = 0; i < ASSAY_COUNT_OF(wrong); i++)
		CHECK(!take_text(wrong[i], &r, run, &err));
	assay_run_free(run);
	return 0;
}

TEST(sums_in_fp16_are_as_fast_as_the_rate_of_int8_shows)
{
	assay_run *run = assay_run_new();
	assay_rates r;
	found_as(run, "NVIDIA GeForce RTX 4090", "nvidia", "sm_89", 128, 25.4, &r);
	CHECK(assay_rates_narrow(&r, ASSAY_MATH_FP16) == 330.3e12 &&
	      assay_rates_narrow(&r, ASSAY_MATH_FP8) == 660.6e12 &&
	      assay_rates_narrow(&r, ASSAY_MATH_BF16) == 165.2e12 && r.faster == 1.25);
	found_as(run, "NVIDIA H100 80GB HBM3", "nvidia", "sm_90", 132, 85, &r);
	CHECK(assay_rates_narrow(&r, ASSAY_MATH_FP16) < 1.001 * r.peak[ASSAY_MATH_FP16]);
	CHECK(r.faster == 1.1);
	found_as(run, "NVIDIA B300", "nvidia", "sm_103", 148, 288, &r);
	CHECK(assay_rates_narrow(&r, ASSAY_MATH_FP8) == r.peak[ASSAY_MATH_FP8]);
	assay_run_free(run);
	return 0;
}

/* What hardware counters measured wins over what shapes imply: by kernel, and by operator where its
 * kernels were counted. */
#include "work/counters.h"

#include <math.h>

#include "base/test.h"
#include "model/by_hand.h"
#include "names/kernels.h"
#include "work/compute.h"
#include "work/kernel_math.h"

enum { READ, WRITTEN, MOVED, MATRIX, VECTOR };

enum way {
#define WAY(id, quantity) WAY_##id,
#define COUNTER(way, name, factor, needed, math)
#include "work/counters.def"
#undef WAY
#undef COUNTER
	WAYS
};

static const uint8_t quantity_of[] = {
#define WAY(id, quantity) quantity,
#define COUNTER(way, name, factor, needed, math)
#include "work/counters.def"
#undef WAY
#undef COUNTER
};

static const struct {
	uint8_t way;
	const char *name;
	double factor;
	bool needed;
	assay_math math;
} counters[] = {
#define WAY(id, quantity)
#define COUNTER(way, name, factor, needed, math)                                                   \
	{WAY_##way, name, factor, needed, ASSAY_MATH_##math},
#include "work/counters.def"
#undef WAY
#undef COUNTER
};
enum { COUNTERS = ASSAY_COUNT_OF(counters) };

/* "TCC_HIT[3]" is a part of TCC_HIT. */
static assay_str without_part(assay_str name)
{
	if (!assay_str_ends(name, "]"))
		return name;
	size_t n = name.n - 1;
	n -= assay_digits_last((assay_str){name.p, n});
	return n && name.p[n - 1] == '[' ? (assay_str){name.p, n - 1} : name;
}

static int counter_of(assay_str name)
{
	name = without_part(name);
	for (int i = 0; i < COUNTERS; i++)
		if (assay_str_glob(assay_str_of(counters[i].name), name))
			return i;
	return -1;
}

/* MI350 does not count its requests of 128 bytes in TCC_BUBBLE, which these are made of: they tell
 * as little as half of what was read. */
static bool falls_short_on_gfx950(int way)
{
	return way == WAY_FETCH_SIZE || way == WAY_FETCHSIZE || way == WAY_MI300_READ ||
	       way == WAY_MI300_READ_PARTS;
}

/* Which counters a name stands for, in ways that the device can be believed in. */
struct names {
	assay_map first;    /* name -> 1 + counter, 0: none */
	int next[COUNTERS]; /* of the same name; COUNTERS: none */
	bool gfx950;
};

static void names_init(struct names *n, const assay_run *run)
{
	const assay_device_table *d = &run->part.t.device;
	*n = (struct names){0};
	for (int i = 0; i < COUNTERS; i++) {
		n->next[i] = i + 1;
		while (n->next[i] < COUNTERS && strcmp(counters[n->next[i]].name, counters[i].name))
			n->next[i]++;
	}
	for (uint32_t i = 0; i < d->n; i++)
		n->gfx950 |= assay_str_starts(assay_text(run, d->arch[i]), "gfx950");
}

/* Of a row; -1 for other counters, and for values that none can have. */
static int first_of(struct names *n, const assay_run *run, uint32_t row)
{
	const assay_pmc_table *p = &run->part.t.pmc;
	uint32_t *known = assay_map_at(&n->first, p->name[row]);
	if (*known == ASSAY_MAP_ABSENT)
		*known = (uint32_t)(1 + counter_of(assay_text(run, p->name[row])));
	return p->value[row] >= 0 && isfinite(p->value[row]) ? (int)*known - 1 : -1;
}

/* Launches of a graph share a correlation id, processes their numbers. */
struct launch {
	uint64_t corr;
	uint32_t dispatch, source;
};

static bool is_same(struct launch a, struct launch b)
{
	bool told = a.corr || a.dispatch != UINT32_MAX;
	return told && a.corr == b.corr && a.dispatch == b.dispatch && a.source == b.source;
}

/* Of a kernel or an operator, by counter. A launch may have several rows of one. */
struct tally {
	double sum[COUNTERS];
	uint64_t launches[COUNTERS];
	struct launch last[COUNTERS]; /* counted last */
};

static void add(struct tally *t, const struct names *n, int first, double value,
		struct launch launch)
{
	for (int i = first; i < COUNTERS; i = n->next[i]) {
		if (n->gfx950 && falls_short_on_gfx950(counters[i].way))
			continue;
		t->sum[i] += value * counters[i].factor;
		t->launches[i] += !t->launches[i] || !is_same(launch, t->last[i]);
		t->last[i] = launch;
	}
}

/* Of one launch in the mean, for counters of one way may be of different launches (rocprofv3 takes
 * them in turns); NaN when the way is not complete, or its parts are more than the whole. */
static double by_way(const struct tally *t, int way)
{
	double sum = 0;
	bool any = false;
	for (int i = 0; i < COUNTERS; i++) {
		if (counters[i].way != way)
			continue;
		if (counters[i].needed && !t->launches[i])
			return NAN;
		any |= t->launches[i] > 0;
		sum += t->launches[i] ? t->sum[i] / (double)t->launches[i] : 0;
	}
	return any && sum >= 0 ? sum : NAN;
}

static double quantity(const struct tally *t, int which)
{
	double best = NAN;
	for (int w = 0; w < WAYS; w++) {
		double found = quantity_of[w] == which ? by_way(t, w) : NAN;
		if (isnan(best) || (which == MATRIX && found > best))
			best = found;
	}
	return best;
}

/* Both directions, or neither: half of the traffic is no measure of it. */
static double bytes_of(const struct tally *t)
{
	double moved = quantity(t, MOVED);
	return isnan(moved) ? quantity(t, READ) + quantity(t, WRITTEN) : moved;
}

/* Where nothing ran on matrix units, or where those were not counted, vector units alone tell. */
static double flops_of(const struct tally *t)
{
	double matrix = quantity(t, MATRIX), vector = quantity(t, VECTOR);
	if (isnan(vector))
		return matrix > 0 ? matrix : NAN;
	return isnan(matrix) ? vector : matrix + vector;
}

static bool has_matrix(const struct tally *t)
{
	return quantity(t, MATRIX) > 0;
}

static assay_math math_of(const struct tally *t)
{
	int most = -1;
	for (int i = 0; i < COUNTERS; i++)
		if (counters[i].math && t->sum[i] > (most < 0 ? 0 : t->sum[most]))
			most = i;
	return most < 0 ? ASSAY_MATH_NONE : counters[most].math;
}

/* Kernels of matrix units whose units were not counted, or not in the kernel's type: what vector
 * units did beside them is not their work. */
static bool is_beside_matrix(assay_str kernel, assay_math by_name, const struct tally *t)
{
	if (has_matrix(t) || by_name == ASSAY_MATH_FP32 || by_name == ASSAY_MATH_FP64)
		return false;
	assay_family family = assay_family_of_name(kernel);
	return by_name != ASSAY_MATH_NONE || family == ASSAY_FAMILY_GEMM ||
	       family == ASSAY_FAMILY_ATTENTION || family == ASSAY_FAMILY_CONV;
}

/* Devices whose counters a driver cannot read say 0 of every kernel: that is no measure. */
static void forget_zeros(assay_counted *c, size_t n)
{
	bool flops = false, bytes = false;
	for (size_t k = 0; k < n; k++) {
		flops |= c[k].flops > 0;
		bytes |= c[k].bytes > 0;
	}
	for (size_t k = 0; k < n; k++) {
		c[k].flops = flops ? c[k].flops : NAN;
		c[k].bytes = bytes ? c[k].bytes : NAN;
	}
}

assay_counted *assay_counted_kernels(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	const assay_pmc_table *p = &t->pmc;
	assay_map kernels = {0};
	struct names names;
	if (!p->n)
		return NULL;
	names_init(&names, run);
	assay_arena scratch = {0};
	struct tally *of = assay_alloc(&scratch, (t->kernel.n + 1) * sizeof *of);
	assay_counted *out = assay_alloc(a, (t->kernel.n + 1) * sizeof *out);
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&kernels, t->kernel.name[k]) = k;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t k = assay_map_get(&kernels, p->kernel[i]);
		int counter = first_of(&names, run, i);
		if (counter >= 0 && k != ASSAY_MAP_ABSENT)
			add(&of[k], &names, counter, p->value[i],
			    (struct launch){p->corr[i], p->dispatch[i], p->source[i]});
	}
	for (uint32_t k = 0; k < t->kernel.n; k++) {
		assay_str name = assay_text(run, t->kernel.name[k]);
		assay_math by_name = assay_kernel_math(name);
		bool beside = is_beside_matrix(name, by_name, &of[k]);
		out[k] = (assay_counted){.flops = beside ? NAN : flops_of(&of[k]),
					 .bytes = bytes_of(&of[k]),
					 .math = by_name ? by_name : math_of(&of[k])};
	}
	forget_zeros(out, t->kernel.n);
	assay_map_free(&kernels);
	assay_map_free(&names.first);
	assay_arena_free(&scratch);
	return out;
}

/* Rows of gpu by correlation id. Ids are a process's own: those that two processes have are left
 * out, for a counter does not say whose it is. */
static void index_work(const assay_gpu_table *g, assay_map *work)
{
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->corr[i] || g->kind[i] != ASSAY_GPU_KERNEL)
			continue;
		uint32_t *slot = assay_map_at(work, g->corr[i]);
		*slot = *slot == ASSAY_MAP_ABSENT ? i : (uint32_t)g->n;
	}
}

/* Vector units alone say what a matrix operator computed only where it ran on them. */
static bool is_believed(const assay_op_shape_table *s, uint32_t shape, const struct tally *t,
			double flops)
{
	return has_matrix(t) || !assay_is_matrix(s->class[shape]) || isnan(s->flops[shape]) ||
	       flops * 2 >= s->flops[shape];
}

static void set_shape(assay_tables *t, uint32_t shape, const struct tally *of)
{
	assay_op_shape_table *s = &t->op_shape;
	double flops = flops_of(of), bytes = bytes_of(of);
	if (flops > 0 && is_believed(s, shape, of, flops))
		s->flops[shape] = flops;
	if (bytes > 0)
		s->bytes[shape] = bytes;
	/* one of the two alone is no work */
	if (isnan(s->flops[shape]) && bytes > 0)
		s->flops[shape] = 0;
	else if (isnan(s->bytes[shape]))
		s->flops[shape] = NAN;
}

/* Of what each row of pmc counted, the call, where all of its kernels were counted: parts of a call
 * are no measure of it. ASSAY_NO_ROW: none. */
static uint32_t *calls_of(const assay_run *run, struct names *names, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	const assay_pmc_table *p = &t->pmc;
	assay_map work = {0}, seen = {0}, counted = {0};
	uint32_t *kernels = assay_alloc(a, (t->op_call.n + 1) * sizeof *kernels);
	uint32_t *out = assay_alloc(a, (p->n + 1) * sizeof *out);
	index_work(&t->gpu, &work);
	for (uint32_t g = 0; g < t->gpu_op.n; g++)
		if (t->gpu_op.call[g] != ASSAY_NO_ROW && t->gpu.kind[g] == ASSAY_GPU_KERNEL)
			kernels[t->gpu_op.call[g]]++;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t g = p->corr[i] ? assay_map_get(&work, p->corr[i]) : ASSAY_MAP_ABSENT;
		int c = g < t->gpu_op.n ? first_of(names, run, i) : -1;
		out[i] = c < 0 ? ASSAY_NO_ROW : t->gpu_op.call[g];
		if (out[i] == ASSAY_NO_ROW)
			continue;
		uint32_t *first = assay_map_at(&seen, (uint64_t)g * COUNTERS + (uint64_t)c);
		uint32_t *n = assay_map_at(&counted, (uint64_t)out[i] * COUNTERS + (uint64_t)c);
		*n = (*n == ASSAY_MAP_ABSENT ? 0 : *n) + (*first == ASSAY_MAP_ABSENT);
		*first = 0;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		if (out[i] == ASSAY_NO_ROW)
			continue;
		uint64_t c = (uint64_t)first_of(names, run, i);
		if (assay_map_get(&counted, (uint64_t)out[i] * COUNTERS + c) < kernels[out[i]])
			out[i] = ASSAY_NO_ROW;
	}
	assay_map_free(&work);
	assay_map_free(&seen);
	assay_map_free(&counted);
	return out;
}

static void count_shapes(assay_run *run)
{
	assay_tables *t = &run->part.t;
	const assay_pmc_table *p = &t->pmc;
	struct names names;
	assay_arena scratch = {0};
	names_init(&names, run);
	struct tally *of = assay_alloc(&scratch, (t->op_shape.n + 1) * sizeof *of);
	bool *counted = assay_alloc(&scratch, t->op_shape.n + 1);
	const uint32_t *call = calls_of(run, &names, &scratch);
	for (uint32_t i = 0; i < p->n; i++) {
		if (call[i] == ASSAY_NO_ROW)
			continue;
		uint32_t shape = t->op_call.shape[call[i]];
		add(&of[shape], &names, first_of(&names, run, i), p->value[i],
		    (struct launch){.corr = call[i] + 1});
		counted[shape] = true;
	}
	for (uint32_t i = 0; i < t->op_shape.n; i++)
		if (counted[i])
			set_shape(t, i, &of[i]);
	assay_map_free(&names.first);
	assay_arena_free(&scratch);
}

void assay_counters(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	const assay_counted *c = assay_counted_kernels(run, &scratch);
	for (uint32_t k = 0; c && k < t->kernel.n; k++) {
		t->kernel.flops[k] = c[k].flops * (double)t->kernel.count[k];
		t->kernel.bytes[k] = c[k].bytes * (double)t->kernel.count[k];
	}
	if (c)
		count_shapes(run);
	assay_arena_free(&scratch);
}

struct hand_counter {
	const char *name;
	double value;
};

/* A run with two launches of a kernel, each with these counters, below one operator. */
static assay_run *run_with(const char *kernel, uint8_t class, const struct hand_counter *counter,
			   size_t n)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_op_shape), k = assay_add(t, ASSAY_T_kernel);
	t->op_shape.flops[s] = 1e6;
	t->op_shape.bytes[s] = 1;
	t->op_shape.class[s] = class;
	t->kernel.name[k] = assay_sid_of(run, kernel);
	t->kernel.count[k] = 2;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t g = assay_hand_gpu(run, kernel, i * 10, 5, ASSAY_NO_ROW),
			 c = assay_add(t, ASSAY_T_op_call), o = assay_add(t, ASSAY_T_gpu_op);
		t->gpu.corr[g] = i + 1;
		t->op_call.shape[c] = s;
		t->gpu_op.call[o] = c;
		for (size_t j = 0; j < n; j++) {
			uint32_t p = assay_add(t, ASSAY_T_pmc);
			t->pmc.corr[p] = i + 1;
			t->pmc.kernel[p] = t->kernel.name[k];
			t->pmc.name[p] = assay_sid_of(run, counter[j].name);
			t->pmc.value[p] = counter[j].value;
		}
	}
	assay_counters(run);
	return run;
}

/* Of one call of the operator, as far as counters say. */
static bool counts(const char *kernel, uint8_t class, const struct hand_counter *c, size_t n,
		   double flops, double bytes)
{
	assay_run *run = run_with(kernel, class, c, n);
	const assay_tables *t = &run->part.t;
	bool right = t->op_shape.flops[0] == (isnan(flops) ? 1e6 : flops) &&
		     t->op_shape.bytes[0] == (isnan(bytes) ? 1 : bytes) &&
		     (isnan(flops) || t->kernel.flops[0] == 2 * flops) &&
		     isnan(t->kernel.bytes[0]) == isnan(bytes) &&
		     (isnan(bytes) || t->kernel.bytes[0] == 2 * bytes);
	assay_run_free(run);
	return right;
}

TEST(counters_win_over_what_shapes_imply)
{
	static const char gemm[] = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64", copy[] = "k";
	const struct hand_counter derived[] = {
		{"FETCH_SIZE", 3}, {"WRITE_SIZE", 2}, {"SQ_WAVES", 9}};
	CHECK(counts(copy, ASSAY_WORK_MOVE, derived, 3, NAN, 5 * 1024));
	/* MI300X: 10 requests, of which 2 of 32 bytes and 3 of 128; 7 writes, of which 4 of 64 */
	const struct hand_counter raw[] = {{"TCC_EA0_RDREQ_sum", 10},
					   {"TCC_EA0_RDREQ_32B_sum", 2},
					   {"TCC_BUBBLE_sum", 3},
					   {"TCC_EA0_WRREQ_sum", 7},
					   {"TCC_EA0_WRREQ_64B_sum", 4},
					   {"SQ_INSTS_VALU_MFMA_MOPS_BF16", 100},
					   {"SQ_INSTS_VALU_MFMA_MOPS_F16", 0}};
	const double read = 2 * 32 + 3 * 128 + 5 * 64, written = 4 * 64 + 3 * 32;
	CHECK(counts(gemm, ASSAY_WORK_GEMM, raw, 7, 51200, read + written));
	/* MI200, whose requests have two sizes */
	const struct hand_counter old[] = {{"TCC_EA_RDREQ_sum", 10},
					   {"TCC_EA_RDREQ_32B_sum", 2},
					   {"TCC_EA_WRREQ_sum", 7},
					   {"TCC_EA_WRREQ_64B_sum", 4}};
	CHECK(counts(copy, ASSAY_WORK_MOVE, old, 4, NAN, 2 * 32 + 8 * 64 + written));
	/* the same by part of the device, and beside it the sum, which is no more of it */
	const struct hand_counter parts[] = {{"TCC_EA0_RDREQ[0]", 4},  {"TCC_EA0_RDREQ[15]", 6},
					     {"TCC_EA0_RDREQ_32B", 2}, {"TCC_BUBBLE", 1},
					     {"TCC_BUBBLE", 2},        {"TCC_EA0_WRREQ", 7},
					     {"TCC_EA0_WRREQ_64B", 4}, {"TCC_EA0_RDREQ_sum", 10}};
	CHECK(counts(copy, ASSAY_WORK_MOVE, parts, 8, NAN, read + written));
	/* RDNA 4 */
	const struct hand_counter rdna[] = {{"GL2C_EA_RDREQ_32B_sum", 1},
					    {"GL2C_EA_RDREQ_64B_sum", 2},
					    {"GL2C_EA_RDREQ_128B_sum", 3},
					    {"GL2C_EA_WRREQ_sum", 7},
					    {"GL2C_EA_WRREQ_64B_sum", 4}};
	CHECK(counts(copy, ASSAY_WORK_MOVE, rdna, 5, NAN, 32 + 128 + 384 + written));
	/* derived counters, all types and by type; raw ones of a type that had nothing to do */
	const struct hand_counter mfma[] = {
		{"SQ_INSTS_VALU_MFMA_MOPS_F16", 0}, {"MfmaFlopsBF16", 51200}, {"MfmaFlops", 51712}};
	CHECK(counts(gemm, ASSAY_WORK_GEMM, mfma, 3, 51712, NAN));
	CHECK(counts(gemm, ASSAY_WORK_GEMM, mfma, 2, 51200, NAN));
	/* the same bytes counted twice */
	const struct hand_counter both[] = {{"dram__bytes.sum", 100},
					    {"dram__bytes_read.sum", 60},
					    {"dram__bytes_write.sum", 40}};
	CHECK(counts(copy, ASSAY_WORK_MOVE, both, 3, NAN, 100));
	CHECK(counts(copy, ASSAY_WORK_MOVE, both + 1, 2, NAN, 100));
	return 0;
}

/* Copies of 8 MiB: requests as an MI300X and an MI350 counted them. On the latter TCC_BUBBLE is 0,
 * and what is made of it is not believed. */
TEST(requests_of_128_bytes_are_counted_by_other_counters_on_gfx950)
{
	const struct hand_counter mi300[] = {{"TCC_EA0_RDREQ_sum", 65775},
					     {"TCC_EA0_RDREQ_32B_sum", 0},
					     {"TCC_BUBBLE_sum", 65536},
					     {"TCC_EA0_WRREQ_sum", 131072},
					     {"TCC_EA0_WRREQ_64B_sum", 131072}};
	const struct hand_counter mi350[] = {
		{"TCC_EA0_RDREQ_sum", 65640},  {"TCC_EA0_RDREQ_32B_sum", 0},
		{"TCC_BUBBLE_sum", 0},         {"FETCH_SIZE", 4102.5},
		{"TCC_EA0_WRREQ_sum", 131072}, {"TCC_EA0_WRREQ_64B_sum", 131072},
		{"TCC_EA0_RDREQ_64B_sum", 0},  {"TCC_EA0_RDREQ_128B_sum", 65640}};
	CHECK(counts("k", ASSAY_WORK_MOVE, mi300, 5, NAN,
		     65536 * 128.0 + 239 * 64 + 131072 * 64.0));
	for (int all = 0; all < 2; all++) {
		assay_run *run = run_with("k", ASSAY_WORK_MOVE, mi350, all ? 8 : 6);
		uint32_t d = assay_add(&run->part.t, ASSAY_T_device);
		run->part.t.device.arch[d] = assay_sid_of(run, "gfx950");
		run->part.t.kernel.bytes[0] = 0;
		assay_counters(run);
		double bytes = run->part.t.kernel.bytes[0];
		CHECK(all ? bytes == 2 * (65640 * 128.0 + 131072 * 64.0) : isnan(bytes));
		assay_run_free(run);
	}
	return 0;
}

/* rocprofv3 takes groups of counters in turns: no launch has both. */
TEST(counters_of_different_launches_are_one_measure)
{
	const struct hand_counter both[] = {{"FETCH_SIZE", 3}, {"WRITE_SIZE", 2}};
	assay_run *run = run_with("k", ASSAY_WORK_MOVE, both, 2);
	assay_tables *t = &run->part.t;
	t->pmc.name[1] = t->pmc.name[2] = assay_sid_of(run, "SQ_WAVES");
	assay_counters(run);
	CHECK(t->kernel.bytes[0] == 2 * 5 * 1024);
	assay_run_free(run);
	return 0;
}

TEST(counters_that_are_half_of_a_measure_say_nothing)
{
	static const char gemm[] = "nvjet_tst_128x192_64x5_2x1_v_bz_TNT";
	const struct hand_counter read[] = {{"FETCH_SIZE", 3}};
	CHECK(counts("k", ASSAY_WORK_MOVE, read, 1, NAN, NAN));
	const struct hand_counter part[] = {{"TCC_EA0_RDREQ_sum", 10}, {"WRITE_SIZE", 2}};
	CHECK(counts("k", ASSAY_WORK_MOVE, part, 2, NAN, NAN));
	const struct hand_counter negative[] = {{"FETCH_SIZE", -3}, {"WRITE_SIZE", 2}};
	CHECK(counts("k", ASSAY_WORK_MOVE, negative, 2, NAN, NAN));
	const struct hand_counter endless[] = {{"FETCH_SIZE", 3}, {"WRITE_SIZE", INFINITY}};
	CHECK(counts("k", ASSAY_WORK_MOVE, endless, 2, NAN, NAN));
	const struct hand_counter more[] = {
		{"TCC_EA_RDREQ_sum", 1}, {"TCC_EA_RDREQ_32B_sum", 5}, {"WRITE_SIZE", 2}};
	CHECK(counts("k", ASSAY_WORK_MOVE, more, 3, NAN, NAN));
	const struct hand_counter dead[] = {{"FETCH_SIZE", 0}, {"WRITE_SIZE", 0}};
	CHECK(counts("k", ASSAY_WORK_MOVE, dead, 2, NAN, NAN));
	/* what vector units do beside a product of matrix units */
	const struct hand_counter cores[] = {
		{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 100},
		{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 10},
		{"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 1000},
		{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 0},
		{"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 3000},
		{"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 20000},
		{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 0},
		{"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 0},
		{"sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum", 4e6},
		{"sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_on.sum", 0}};
	CHECK(counts(gemm, ASSAY_WORK_GEMM, cores, 9, NAN, NAN));
	CHECK(counts(gemm, ASSAY_WORK_GEMM, cores, 11, 4e6 + 45211, NAN));
	CHECK(counts("k", ASSAY_WORK_ELEMENTWISE, cores, 9, 45211, NAN));
	/* a kernel may compute in a type that was not counted */
	CHECK(counts("k", ASSAY_WORK_ELEMENTWISE, cores, 3, NAN, NAN));
	return 0;
}

/* A name that tells the family but no type: its matrix units may have worked in one of those that
 * were not counted. */
TEST(vector_units_say_nothing_of_attention_whose_matrix_units_were_quiet)
{
	const struct hand_counter valu[] = {
		{"SQ_INSTS_VALU_FMA_F32", 5},      {"SQ_INSTS_VALU_ADD_F32", 3},
		{"SQ_INSTS_VALU_MUL_F32", 1},      {"SQ_INSTS_VALU_TRANS_F32", 1},
		{"SQ_INSTS_VALU_FMA_F16", 2},      {"SQ_INSTS_VALU_ADD_F16", 0},
		{"SQ_INSTS_VALU_MUL_F16", 0},      {"SQ_INSTS_VALU_TRANS_F16", 0},
		{"SQ_INSTS_VALU_FMA_F64", 10},     {"SQ_INSTS_VALU_ADD_F64", 0},
		{"SQ_INSTS_VALU_MUL_F64", 0},      {"SQ_INSTS_VALU_TRANS_F64", 0},
		{"SQ_INSTS_VALU_MFMA_MOPS_F16", 0}};
	const double vector = 17 * 128 + 5 * 64;
	CHECK(counts("k", ASSAY_WORK_ELEMENTWISE, valu, 13, vector, NAN));
	CHECK(counts("k", ASSAY_WORK_ELEMENTWISE, valu, 4, NAN, NAN));
	for (int i = 0; i < 2; i++) {
		assay_run *run = run_with(i ? "void fmha_fwd_kernel<Traits>(Args)" : "k",
					  ASSAY_WORK_ELEMENTWISE, valu, 13);
		CHECK(isnan(run->part.t.kernel.flops[0]) == (i == 1));
		assay_run_free(run);
	}
	return 0;
}

TEST(launches_of_a_graph_are_counted_one_by_one)
{
	const struct hand_counter both[] = {{"FETCH_SIZE", 3}, {"WRITE_SIZE", 2}};
	assay_run *run = run_with("k", ASSAY_WORK_MOVE, both, 2);
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < t->pmc.n; i++) {
		t->pmc.corr[i] = 7;
		t->pmc.dispatch[i] = i / 2;
	}
	assay_counters(run);
	CHECK(t->kernel.bytes[0] == 2 * 5 * 1024);
	assay_run_free(run);
	return 0;
}

TEST(counters_of_a_part_of_a_call_are_no_measure_of_it)
{
	const struct hand_counter both[] = {{"FETCH_SIZE", 3}, {"WRITE_SIZE", 2}};
	for (int all = 0; all < 2; all++) {
		assay_run *run = run_with("k", ASSAY_WORK_MOVE, both, 2);
		assay_tables *t = &run->part.t;
		t->op_shape.bytes[0] = 1;
		t->gpu_op.call[1] = t->gpu_op.call[0];
		for (uint32_t i = 2; i < t->pmc.n && !all; i++)
			t->pmc.name[i] = assay_sid_of(run, "SQ_WAVES");
		assay_counters(run);
		CHECK(t->op_shape.bytes[0] == (all ? 2 * 5 * 1024 : 1));
		assay_run_free(run);
	}
	return 0;
}

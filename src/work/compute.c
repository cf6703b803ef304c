/* Rooflines: how long the known work takes at least on this device, and what share of its peak the
 * run reached. */
#include "work/compute.h"

#include <math.h>

#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/serving.h"
#include "work/lone.h"
#include "work/ops.h"
#include "work/useful.h"

double assay_bound_of(const assay_rates *r, double flops, double bytes, uint8_t math,
		      uint8_t *bound)
{
	double compute = r->peak[math] > 0 ? flops / r->peak[math] : NAN,
	       memory = r->bandwidth > 0 ? bytes / r->bandwidth : NAN;
	*bound = ASSAY_BOUND_NONE;
	if (isnan(memory) || (isnan(compute) && flops > 0))
		return NAN;
	*bound = compute > memory ? ASSAY_BOUND_COMPUTE : ASSAY_BOUND_MEMORY;
	return 1e9 * (compute > memory ? compute : memory);
}

bool assay_shape_args(const assay_run *run, uint32_t shape, assay_arena *a, assay_op_args *out)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	if (!s->dims[shape])
		return false;
	const char *members =
		assay_printf(a, "\"Input Dims\": %s, \"Input type\": %s, \"Input Strides\": %s",
			     assay_z(run, s->dims[shape]),
			     s->types[shape] ? assay_z(run, s->types[shape]) : "[]",
			     s->strides[shape] ? assay_z(run, s->strides[shape]) : "[]");
	return assay_op_args_parse(out, a, assay_str_of(members));
}

static bool differ_in_strides(const assay_tensor *a, const assay_tensor *b)
{
	return a->stride && b->stride && a->rank == b->rank &&
	       memcmp(a->stride, b->stride, a->rank * sizeof *a->stride) != 0;
}

assay_copy_changes assay_shape_copy(const assay_run *run, uint32_t shape)
{
	assay_arena a = {0};
	assay_op_args args;
	assay_copy_changes changes = ASSAY_COPY_CHANGES_NOTHING;
	if (assay_str_is(assay_text(run, run->part.t.op_shape.name[shape]), "aten::copy_") &&
	    assay_shape_args(run, shape, &a, &args)) {
		const assay_tensor *to = assay_arg_tensor(&args, 0),
				   *from = assay_arg_tensor(&args, 1);
		if (to && from)
			changes = to->type != from->type        ? ASSAY_COPY_CHANGES_TYPE
				  : differ_in_strides(to, from) ? ASSAY_COPY_CHANGES_LAYOUT
								: ASSAY_COPY_CHANGES_NOTHING;
	}
	assay_arena_free(&a);
	return changes;
}

assay_product assay_shape_product(const assay_run *run, uint32_t shape, assay_arena *a)
{
	assay_op_args args;
	assay_product p = {.k = 0};
	if (!assay_shape_args(run, shape, a, &args))
		return p;
	for (int i = 0; i + 1 < (int)args.n && p.k <= 0; i++) {
		const assay_tensor *x = assay_arg_tensor(&args, i),
				   *y = assay_arg_tensor(&args, i + 1);
		if (!x || !y || x->rank < 2 || y->rank < 2 ||
		    x->dim[x->rank - 1] != y->dim[y->rank - 2])
			continue;
		p.k = (double)x->dim[x->rank - 1];
		p.m = (double)x->dim[x->rank - 2];
		p.n = (double)y->dim[y->rank - 1];
		p.batch = p.m * p.k > 0 ? assay_tensor_elements(x) / (p.m * p.k) : 0;
	}
	return p;
}

struct compute {
	assay_run *run;
	assay_tables *t;
	const assay_window *w;
	assay_rates rates;
	uint32_t roof;     /* row */
	bool *transformed; /* by row of op_shape; NULL until somebody asks */
	assay_map kernels; /* name to row of kernel */
};

/* Share of its bound that a shape must not be above. Of what is estimated, no attention kernel
 * reaches four fifths of the peak. */
static double most_believed(const struct compute *c, uint32_t shape)
{
	const assay_op_shape_table *s = &c->t->op_shape;
	const double counted = 1.02;
	bool guess = s->flags[shape] & ASSAY_OP_ESTIMATED;
	if (s->bound[shape] != ASSAY_BOUND_COMPUTE)
		return counted;
	return guess && s->class[shape] == ASSAY_WORK_ATTENTION
		       ? 0.8
		       : counted * fmax(1, c->rates.faster);
}

/* Fused attention of fp32 data makes each product of three in tf32 (CUTLASS's OpMultiplyAddFastF32,
 * from sm_80 on). */
static bool is_thrice_tf32(const struct compute *c, uint32_t shape)
{
	const assay_op_shape_table *s = &c->t->op_shape;
	uint32_t call = s->call[shape];
	if (s->class[shape] != ASSAY_WORK_ATTENTION || s->math[shape] != ASSAY_MATH_FP32 ||
	    call == ASSAY_NO_ROW || c->t->op_call.gpu[call] == ASSAY_NO_ROW)
		return false;
	assay_str name = assay_text(c->run, c->t->gpu.name[c->t->op_call.gpu[call]]);
	return assay_str_find(name, "fmha_cutlass") >= 0 && assay_str_find(name, "_f32_") >= 0 &&
	       assay_str_find(name, "_sm80") >= 0;
}

/* Operations a second of its type; 0: the device has none, or not known. */
static double peak_of(const struct compute *c, uint32_t shape)
{
	double peak = c->rates.peak[c->t->op_shape.math[shape]];
	return is_thrice_tf32(c, shape) ? fmax(peak, c->rates.peak[ASSAY_MATH_TF32] / 3) : peak;
}

static double bound_at(struct compute *c, uint32_t shape, double peak)
{
	assay_op_shape_table *s = &c->t->op_shape;
	double usual = c->rates.peak[s->math[shape]],
	       share = usual > 0 && peak > 0 ? usual / peak : 1;
	return assay_bound_of(&c->rates, s->flops[shape] * share, s->bytes[shape], s->math[shape],
			      &s->bound[shape]);
}

/* Winograd's convolutions multiply less than the products that are counted: a 3 x 3 filter on tiles
 * of 4 x 4 outputs takes 36 for 144. No library has larger tiles; MIOpen calls its own Sp3Asm. */
enum { FEWEST_PRODUCTS = 4 };

static bool is_transform(assay_str kernel)
{
	return assay_str_find_nocase(kernel, "winograd") >= 0 ||
	       assay_str_find(kernel, "Sp3AsmConv") >= 0;
}

static bool is_transformed(struct compute *c, uint32_t shape)
{
	const assay_tables *t = c->t;
	if (t->op_shape.class[shape] != ASSAY_WORK_CONV)
		return false;
	if (!c->transformed) {
		c->transformed = assay_alloc(&c->run->arena, t->op_shape.n);
		for (uint32_t g = 0; g < t->gpu_op.n; g++) {
			uint32_t call = t->gpu_op.call[g];
			if (call != ASSAY_NO_ROW && !c->transformed[t->op_call.shape[call]])
				c->transformed[t->op_call.shape[call]] =
					is_transform(assay_text(c->run, t->gpu.name[g]));
		}
	}
	return c->transformed[shape];
}

/* Work on a shape that is done faster than the device can is counted wrongly: better none. As much
 * as fits the last cache may come from there. Of an unknown device, no more than any can. */
static void set_bound(struct compute *c, uint32_t shape)
{
	assay_op_shape_table *s = &c->t->op_shape;
	double mean = (double)s->busy[shape] / (double)s->calls[shape];
	if (isnan(s->flops[shape]))
		return;
	double least = bound_at(c, shape, peak_of(c, shape)),
	       narrow = assay_rates_narrow(&c->rates, (assay_math)s->math[shape]);
	if (!isnan(least) && least > mean && s->bound[shape] == ASSAY_BOUND_MEMORY &&
	    1e9 * (s->bytes[shape] - c->rates.cache) <= c->rates.bandwidth * mean)
		least = mean;
	if (least > most_believed(c, shape) * mean && narrow > peak_of(c, shape))
		least = bound_at(c, shape, narrow);
	if (least > mean && is_transformed(c, shape))
		least = bound_at(c, shape, FEWEST_PRODUCTS * peak_of(c, shape));
	s->bound_ns[shape] = least;
	double fastest = assay_rates_fastest((assay_math)s->math[shape]);
	if (isnan(least) && fastest > 0)
		least = 1e9 * s->flops[shape] / fastest;
	if (least > most_believed(c, shape) * mean) {
		bool guessed = s->flags[shape] & ASSAY_OP_ESTIMATED;
		s->flags[shape] |= ASSAY_OP_OVER_PEAK;
		if (guessed)
			return;
		assay_warn(
			c->run, "work_over_peak",
			"%s takes %.1f us where the device needs %.1f us at least: its work is counted wrongly here and left out",
			assay_z(c->run, s->name[shape]), mean * 1e-3, least * 1e-3);
	}
}

static bool is_known(const struct compute *c, uint32_t shape)
{
	return !isnan(c->t->op_shape.flops[shape]) &&
	       !(c->t->op_shape.flags[shape] & ASSAY_OP_OVER_PEAK);
}

/* Every instant of the window's compute belongs to the work that began first. */
static void give_time(struct compute *c, const assay_order *order)
{
	const assay_gpu_table *g = &c->t->gpu;
	const assay_order_device *d = &order->device.p[c->w->device];
	int64_t end = c->w->from;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		uint32_t gpu = order->row[i];
		int64_t from = g->ts[gpu] > end ? g->ts[gpu] : end, to = assay_gpu_end(g, gpu);
		to = to < c->w->to ? to : c->w->to;
		if (order->classes[i] != ASSAY_CLASS_COMPUTE || to <= from)
			continue;
		if (c->t->gpu_op.call[gpu] != ASSAY_NO_ROW)
			c->t->op_call.owned[c->t->gpu_op.call[gpu]] += to - from;
		end = to;
	}
}

/* Sums over calls: operations and bytes, and how long the matrix work takes at peak. */
struct sums {
	uint64_t known;                                      /* calls */
	double flops, bytes, matrix, at_peak, at_peak_again; /* seconds; again: recomputed */
	/* Time of kernels, ns: matrix work by name, of this with known work, and all unknown work
	 * that may be matrix work. */
	double named, named_known, unknown;
	double of_math[ASSAY_MATH_COUNT]; /* matrix operations that were not recomputed */
};

static void add_call(const struct compute *c, struct sums *s, uint32_t call)
{
	uint32_t shape = c->t->op_call.shape[call];
	const assay_op_shape_table *o = &c->t->op_shape;
	if (!is_known(c, shape))
		return;
	s->known++;
	s->flops += o->flops[shape];
	s->bytes += o->bytes[shape];
	if (!assay_is_matrix(o->class[shape]))
		return;
	double peak = peak_of(c, shape), seconds = peak > 0 ? o->flops[shape] / peak : 0;
	s->matrix += o->flops[shape];
	if (c->t->op_call.flags[call] & ASSAY_OP_RECOMPUTED)
		s->at_peak_again += seconds;
	else {
		s->at_peak += seconds;
		s->of_math[o->math[shape]] += o->flops[shape];
	}
}

static bool is_matrix_kernel(uint8_t family)
{
	return family == ASSAY_FAMILY_GEMM || family == ASSAY_FAMILY_CONV ||
	       family == ASSAY_FAMILY_ATTENTION;
}

/* A kernel of the compute class. */
static void add_kernel(const struct compute *c, struct sums *s, uint32_t g)
{
	const assay_tables *t = c->t;
	uint32_t call = t->gpu_op.n ? t->gpu_op.call[g] : ASSAY_NO_ROW,
		 k = t->gpu.kind[g] == ASSAY_GPU_KERNEL ? assay_map_get(&c->kernels, t->gpu.name[g])
							: ASSAY_MAP_ABSENT;
	if (k == ASSAY_MAP_ABSENT || t->gpu.dur[g] <= 0)
		return;
	bool known = call != ASSAY_NO_ROW && is_known(c, t->op_call.shape[call]),
	     named = is_matrix_kernel(t->kernel.family[k]);
	double dur = (double)t->gpu.dur[g];
	s->named += named ? dur : 0;
	s->named_known += named && known ? dur : 0;
	s->unknown += !known && (named || t->kernel.family[k] == ASSAY_FAMILY_OTHER) ? dur : 0;
}

static struct sums sums_between(const struct compute *c, const assay_order *order, int64_t from,
				int64_t to)
{
	const assay_op_call_table *o = &c->t->op_call;
	const assay_order_device *d = &order->device.p[c->w->device];
	struct sums s = {0};
	for (uint32_t i = 0; i < o->n; i++)
		if (o->device[i] == c->w->device && o->start[i] >= from && o->start[i] < to)
			add_call(c, &s, i);
	for (size_t i = d->first; i < d->first + d->n; i++) {
		int64_t ts = c->t->gpu.ts[order->row[i]];
		if (order->classes[i] == ASSAY_CLASS_COMPUTE && ts >= from && ts < to)
			add_kernel(c, &s, order->row[i]);
	}
	return s;
}

/* Nothing known is not nothing computed. */
static bool says_something(const struct sums *s)
{
	return s->known && !(s->matrix == 0 && s->named > 0 && s->named_known == 0);
}

/* What is known of less than half of the matrix kernels' time is no share of the peak: the rest
 * decides. It stays a lower bound. */
static bool says_most(const struct sums *s)
{
	return says_something(s) && 2 * s->named_known >= s->named;
}

static double share_of(const struct compute *c, double seconds, int64_t length)
{
	return c->rates.name && length > 0 ? seconds / ((double)length * 1e-9) : NAN;
}

/* Shares of the peak: as they are where most of the matrix work is known, and what they are at
 * least and at most. */
struct shares {
	double mfu, hfu, least, most;
};

static struct shares shares_of(const struct compute *c, const struct sums *s, int64_t length)
{
	struct shares r = {NAN, NAN, NAN, NAN};
	if (!says_something(s))
		return r;
	r.least = share_of(c, s->at_peak, length);
	r.most = fmin(1, share_of(c, s->at_peak + s->unknown * 1e-9, length));
	if (isnan(r.least))
		r.most = NAN;
	if (says_most(s)) {
		r.mfu = r.least;
		r.hfu = share_of(c, s->at_peak + s->at_peak_again, length);
	}
	return r;
}

/* As those count who divide all operations by one peak. */
static void add_main_type(struct compute *c, const struct sums *s, double seconds)
{
	assay_roof_table *r = &c->t->roof;
	double all = 0;
	uint8_t main = ASSAY_MATH_NONE;
	for (uint8_t m = 0; m < ASSAY_MATH_COUNT; m++) {
		all += s->of_math[m];
		main = s->of_math[m] > s->of_math[main] ? m : main;
	}
	r->main_type[c->roof] = main;
	if (!isnan(r->mfu[c->roof]) && c->rates.peak[main] > 0)
		r->mfu_of_main_type[c->roof] = all / c->rates.peak[main] / seconds;
}

static void add_window(struct compute *c, const assay_order *order)
{
	assay_roof_table *r = &c->t->roof;
	int64_t length = assay_window_length(c->w);
	if (!c->t->op_shape.n || length <= 0)
		return;
	struct sums s = sums_between(c, order, c->w->from, c->w->to);
	struct shares of = shares_of(c, &s, length);
	r->mfu[c->roof] = of.mfu;
	r->hfu[c->roof] = of.hfu;
	r->mfu_least[c->roof] = of.least;
	r->mfu_most[c->roof] = of.most;
	add_main_type(c, &s, (double)length * 1e-9);
	if (s.named > 0)
		r->mfu_coverage[c->roof] = s.named_known / s.named;
	if (says_something(&s))
		r->flops_per_second[c->roof] = s.matrix / ((double)length * 1e-9);
	if (s.known)
		r->bytes_per_second[c->roof] = s.bytes / ((double)length * 1e-9);
}

/* Steps of the main device, by time. */
struct steps {
	const assay_step_time_table *s;
	const uint32_t *row;
	const int64_t *start;
	size_t n;
};

/* The last step that began before it, n when that was over. */
static size_t step_at(const struct steps *s, int64_t ts)
{
	size_t after = assay_count_until(s->start, sizeof *s->start, s->n, ts);
	return after && ts < s->start[after - 1] + s->s->span[s->row[after - 1]] ? after - 1 : s->n;
}

static void add_steps(struct compute *c, const assay_order *order)
{
	const assay_step_time_table *s = &c->t->step_time;
	const assay_op_call_table *o = &c->t->op_call;
	const assay_order_device *d = &order->device.p[c->w->device];
	assay_vec(uint32_t) rows = {0};
	for (uint32_t i = 0; i < s->n; i++) {
		assay_rest_behind(c->t, ASSAY_T_step_time, i);
		if (s->device[i] == c->w->device)
			*assay_push(&rows) = i;
	}
	assay_sort_rows(rows.p, rows.n, s->start);
	assay_arena scratch = {0};
	struct sums *sum = assay_alloc(&scratch, (rows.n + 1) * sizeof *sum);
	int64_t *start = assay_alloc(&scratch, (rows.n + 1) * sizeof *start);
	for (size_t i = 0; i < rows.n; i++)
		start[i] = s->start[rows.p[i]];
	/* The last sum is of what lies in no step. */
	struct steps steps = {s, rows.p, start, rows.n};
	for (uint32_t i = 0; i < o->n; i++)
		if (o->device[i] == c->w->device)
			add_call(c, &sum[step_at(&steps, o->start[i])], i);
	for (size_t i = d->first; i < d->first + d->n; i++)
		if (order->classes[i] == ASSAY_CLASS_COMPUTE)
			add_kernel(c, &sum[step_at(&steps, c->t->gpu.ts[order->row[i]])],
				   order->row[i]);
	for (size_t i = 0; i < rows.n; i++) {
		uint32_t r = assay_add(c->t, ASSAY_T_step_compute);
		struct shares of = shares_of(c, &sum[i], s->span[rows.p[i]]);
		c->t->step_compute.step[r] = rows.p[i];
		c->t->step_compute.flops[r] = sum[i].known ? sum[i].flops : NAN;
		c->t->step_compute.bytes[r] = sum[i].known ? sum[i].bytes : NAN;
		c->t->step_compute.mfu[r] = of.mfu;
		c->t->step_compute.hfu[r] = of.hfu;
	}
	assay_arena_free(&scratch);
	assay_vec_free(&rows);
}

/* How much of the kernels' time is work that is known. */
static void add_coverage(struct compute *c, const assay_order *order)
{
	const assay_tables *t = c->t;
	struct sums s = {0};
	double all = 0, known = 0;
	for (size_t i = 0; i < order->rows; i++) {
		uint32_t g = order->row[i], call = t->gpu_op.n ? t->gpu_op.call[g] : ASSAY_NO_ROW;
		if (order->classes[i] != ASSAY_CLASS_COMPUTE || t->gpu.dur[g] <= 0)
			continue;
		bool has = call != ASSAY_NO_ROW && is_known(c, t->op_call.shape[call]);
		all += (double)t->gpu.dur[g];
		known += has ? (double)t->gpu.dur[g] : 0;
		add_kernel(c, &s, g);
	}
	c->t->roof.coverage[c->roof] = all > 0 ? known / all : 0;
	c->t->roof.matrix_coverage[c->roof] = s.named > 0 ? s.named_known / s.named : NAN;
}

static void add_totals(struct compute *c)
{
	const assay_operator_table *o = &c->t->operator;
	double flops = NAN, bytes = NAN;
	for (uint32_t i = 0; i < o->n; i++) {
		if (isnan(o->flops[i]))
			continue;
		flops = (isnan(flops) ? 0 : flops) + o->flops[i];
		bytes = (isnan(bytes) ? 0 : bytes) + o->bytes[i];
	}
	c->t->roof.flops[c->roof] = flops;
	c->t->roof.bytes[c->roof] = bytes;
}

/* Median of the device's clock while it was busy, where telemetry has both. */
static double busy_clock(const assay_run *run)
{
	const assay_counter_table *n = &run->part.t.counter;
	assay_sid clock = assay_pool_find(&run->part.strings, ASSAY_S("clock_gfx_mhz")),
		  load = assay_pool_find(&run->part.strings, ASSAY_S("util_pct"));
	assay_vec(double) v = {0};
	assay_map busy = {0};
	for (size_t i = 0; clock && load && i < n->n; i++)
		if (n->name[i] == load && n->value[i] >= 50)
			*assay_map_at(&busy, (uint64_t)n->ts[i]) = 1;
	for (size_t i = 0; clock && load && i < n->n; i++)
		if (n->name[i] == clock && n->value[i] > 0 &&
		    assay_map_get(&busy, (uint64_t)n->ts[i]) != ASSAY_MAP_ABSENT)
			*assay_push(&v) = n->value[i];
	double median = v.n ? 1e6 * assay_median_mean(v.p, v.n) : 0;
	assay_vec_free(&v);
	assay_map_free(&busy);
	return median;
}

static void add_roof(struct compute *c)
{
	assay_roof_table *r = &c->t->roof;
	c->roof = assay_add(c->t, ASSAY_T_roof);
	double *const peaks[] = {r->fp64, r->fp32, r->tf32, r->bf16,
				 r->fp16, r->fp8,  r->int8, r->fp4};
	r->device[c->roof] = c->w->device;
	r->name[c->roof] = c->rates.name ? assay_sid_of(c->run, c->rates.name) : 0;
	r->how[c->roof] = assay_sid_of(c->run, c->rates.how);
	for (int m = 1; m < ASSAY_MATH_COUNT; m++)
		peaks[m - 1][c->roof] = c->rates.peak[m];
	r->bandwidth[c->roof] = c->rates.bandwidth;
	r->cache[c->roof] = c->rates.cache;
	r->links[c->roof] = c->rates.links;
	r->clock[c->roof] = c->rates.clock;
	r->measured_clock[c->roof] = busy_clock(c->run);
}

/* ------------------------------------------------------------------ serving */

struct mark_time {
	int64_t first, last, begin; /* begin: no earlier than that */
};

static uint32_t phase_row(assay_run *run, assay_phase phase)
{
	assay_sid name = assay_sid_of(run, assay_phase_name[phase]);
	assay_phase_table *p = &run->part.t.phase;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->name[i] == name)
			return i;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_phase);
	p->name[r] = name;
	return r;
}

/* Rows of step_time of the main device, by when their step begins on the host. */
static void index_steps(const struct compute *c, assay_map *steps)
{
	const assay_step_time_table *s = &c->t->step_time;
	for (uint32_t i = 0; i < s->n; i++) {
		assay_rest_behind(c->t, ASSAY_T_step_time, i);
		if (s->device[i] == c->w->device)
			*assay_map_at(steps, (uint64_t)c->t->step.ts[s->step[i]]) = i;
	}
}

/* Where the work of a mark's step begins on the device: behind what was left from before the
 * recording. */
static int64_t begin_of_step(const struct compute *c, const assay_map *steps, uint32_t mark)
{
	uint32_t i = assay_map_get(steps, (uint64_t)c->t->host.ts[mark]);
	if (i == ASSAY_MAP_ABSENT ||
	    c->t->step.name[c->t->step_time.step[i]] != c->t->host.name[mark])
		return INT64_MIN;
	return c->t->step_time.start[i];
}

/* Operator calls by the step mark they were launched in. */
static void add_phases(struct compute *c)
{
	const assay_op_call_table *o = &c->t->op_call;
	assay_phase_table *p = &c->t->phase;
	assay_map marks = {0}, steps = {0};
	assay_vec(struct mark_time) times = {0};
	assay_vec(uint32_t) row = {0};
	index_steps(c, &steps);
	for (uint32_t i = 0; i < o->n; i++) {
		assay_serving s;
		if (o->mark[i] == ASSAY_NO_ROW ||
		    !assay_serving_parse(assay_text(c->run, c->t->host.name[o->mark[i]]), &s) ||
		    !s.phase)
			continue;
		uint32_t *slot = assay_map_at(&marks, o->mark[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			uint32_t r = phase_row(c->run, s.phase);
			*slot = (uint32_t)times.n;
			*assay_push(&times) = (struct mark_time){
				INT64_MAX, INT64_MIN, begin_of_step(c, &steps, o->mark[i])};
			*assay_push(&row) = r;
			p->steps[r]++;
			p->requests[r] += s.requests;
			p->tokens[r] += s.tokens;
		}
		struct mark_time *t = &times.p[*slot];
		uint32_t r = row.p[*slot];
		struct sums sum = {0};
		add_call(c, &sum, i);
		p->busy[r] += o->busy[i];
		p->modelled[r] += is_known(c, o->shape[i]) ? o->busy[i] : 0;
		p->flops[r] += sum.flops;
		p->bytes[r] += sum.bytes;
		if (o->start[i] >= t->begin && o->start[i] < t->first)
			t->first = o->start[i];
		t->last = o->start[i] + o->busy[i] > t->last ? o->start[i] + o->busy[i] : t->last;
	}
	for (size_t i = 0; i < times.n; i++)
		if (times.p[i].first < times.p[i].last)
			p->span[row.p[i]] += times.p[i].last - times.p[i].first;
	assay_map_free(&steps);
	assay_map_free(&marks);
	assay_vec_free(&times);
	assay_vec_free(&row);
}

static bool begin(struct compute *c, const char *rates, assay_err *err)
{
	if (!assay_rates_find(&c->rates, c->run, c->w->device, rates, err))
		return false;
	add_roof(c);
	return true;
}

bool assay_roof(assay_run *run, const assay_window *w, const char *rates, assay_err *err)
{
	struct compute c = {.run = run, .t = &run->part.t, .w = w};
	return w->device == ASSAY_NO_ROW || begin(&c, rates, err);
}

bool assay_compute(assay_run *run, const assay_order *order, const assay_window *w,
		   const char *rates, assay_err *err)
{
	struct compute c = {.run = run, .t = &run->part.t, .w = w};
	if (w->device == ASSAY_NO_ROW)
		return true;
	if (!begin(&c, rates, err))
		return false;
	for (uint32_t i = 0; i < c.t->op_shape.n; i++)
		set_bound(&c, i);
	if (c.t->gpu_op.n)
		give_time(&c, order);
	assay_operators(run);
	add_totals(&c);
	for (uint32_t k = 0; k < c.t->kernel.n; k++)
		if (c.t->kernel.kind[k] == ASSAY_GPU_KERNEL)
			*assay_map_at(&c.kernels, c.t->kernel.name[k]) = k;
	add_coverage(&c, order);
	add_window(&c, order);
	assay_lone_kernels(run, order, &c.rates, w);
	if (c.t->op_shape.n) {
		add_steps(&c, order);
		add_phases(&c);
		assay_useful(run, &c.rates, w);
	}
	assay_map_free(&c.kernels);
	return true;
}

TEST(bounds_name_what_is_scarce)
{
	assay_rates r = {.bandwidth = 1e12};
	uint8_t bound;
	r.peak[ASSAY_MATH_BF16] = 100e12;
	CHECK(assay_bound_of(&r, 2e8, 1e6, ASSAY_MATH_BF16, &bound) == 2000 &&
	      bound == ASSAY_BOUND_COMPUTE);
	CHECK(assay_bound_of(&r, 1e6, 1e7, ASSAY_MATH_BF16, &bound) == 10000 &&
	      bound == ASSAY_BOUND_MEMORY);
	CHECK(isnan(assay_bound_of(&r, 1, 1, ASSAY_MATH_FP8, &bound)) && !bound);
	CHECK(assay_bound_of(&r, 0, 1e6, ASSAY_MATH_NONE, &bound) == 1000);
	return 0;
}

/* A window of 10 ms with 1 ms of work at the peak; most matrix kernels are known, or 3 of 7 ms. */
TEST(what_is_known_of_a_few_matrix_kernels_is_no_mfu)
{
	const struct compute c = {.rates = {.name = "x"}}, unknown = {.rates = {.name = NULL}};
	struct sums s = {.known = 1, .matrix = 1, .at_peak = 1e-3, .at_peak_again = 5e-4};
	s.named = 7e6, s.named_known = 4e6, s.unknown = 3e6;
	struct shares r = shares_of(&c, &s, 10000000);
	CHECK(fabs(r.mfu - 0.1) < 1e-9 && fabs(r.hfu - 0.15) < 1e-9 && r.least == r.mfu);
	CHECK(fabs(r.most - 0.4) < 1e-9);
	CHECK(isnan(shares_of(&unknown, &s, 10000000).most));
	s.named_known = 3e6, s.unknown = 12e6;
	r = shares_of(&c, &s, 10000000);
	CHECK(isnan(r.mfu) && isnan(r.hfu) && fabs(r.least - 0.1) < 1e-9 && r.most == 1);
	s = (struct sums){.known = 1}; /* nothing is matrix work */
	CHECK(shares_of(&c, &s, 10000000).mfu == 0);
	s.named = 1; /* it is, and nothing is known of it */
	CHECK(isnan(shares_of(&c, &s, 10000000).least));
	return 0;
}

/* 3e12 operations in tf32 and 1e12 in fp32, in 100 ms: most count all of them by the peak of
 * tf32. */
TEST(all_operations_over_the_peak_of_the_type_of_most)
{
	assay_run *run = assay_run_new();
	struct compute c = {.run = run, .t = &run->part.t};
	assay_roof_table *r = &run->part.t.roof;
	struct sums s = {.known = 1};
	assay_add(&run->part.t, ASSAY_T_roof);
	c.rates.peak[ASSAY_MATH_TF32] = 100e12;
	s.of_math[ASSAY_MATH_TF32] = 3e12;
	s.of_math[ASSAY_MATH_FP32] = 1e12;
	add_main_type(&c, &s, 0.1);
	CHECK(r->main_type[0] == ASSAY_MATH_TF32 && isnan(r->mfu_of_main_type[0]));
	r->mfu[0] = 0.8;
	add_main_type(&c, &s, 0.1);
	CHECK(fabs(r->mfu_of_main_type[0] - 0.4) < 1e-9);
	assay_run_free(run);
	return 0;
}

/* Two shapes of as much work in the same time, the first in tiles. */
TEST(convolutions_in_tiles_may_be_faster_than_their_products)
{
	static const char *const kernel[] = {"void cudnn::winograd_nonfused::data4x4<float>()",
					     "implicit_convolve_sgemm"};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	struct compute c = {.run = run, .t = t, .rates = {.bandwidth = 1e12}};
	c.rates.peak[ASSAY_MATH_FP32] = 1e13;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t shape = assay_add(t, ASSAY_T_op_shape),
			 call = assay_add(t, ASSAY_T_op_call);
		uint32_t g = assay_add(t, ASSAY_T_gpu), of = assay_add(t, ASSAY_T_gpu_op);
		t->gpu.name[g] = assay_sid_of(run, kernel[i]);
		t->gpu_op.call[of] = call;
		t->op_call.shape[call] = shape;
		t->op_shape.class[shape] = ASSAY_WORK_CONV;
		t->op_shape.math[shape] = ASSAY_MATH_FP32;
		t->op_shape.calls[shape] = 1;
		t->op_shape.busy[shape] = 400000;
		t->op_shape.flops[shape] = 1e10;
		t->op_shape.bytes[shape] = 1e6;
		set_bound(&c, shape);
	}
	CHECK(t->op_shape.bound_ns[0] == 250000 && !t->op_shape.flags[0]);
	CHECK(t->op_shape.flags[1] == ASSAY_OP_OVER_PEAK && t->warning.n == 1);
	assay_run_free(run);
	return 0;
}

/* One call of 1e9 operations by that kernel. */
static uint8_t flags_of(const assay_rates *rates, uint8_t class, uint8_t math, const char *kernel,
			int64_t ns, double *bound)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	struct compute c = {.run = run, .t = t, .rates = *rates};
	uint32_t shape = assay_add(t, ASSAY_T_op_shape), call = assay_add(t, ASSAY_T_op_call);
	t->op_call.shape[call] = shape;
	t->op_call.gpu[call] = assay_hand_gpu(run, kernel, 0, ns, ASSAY_NO_ROW);
	t->op_shape.call[shape] = call;
	t->op_shape.class[shape] = class;
	t->op_shape.math[shape] = math;
	t->op_shape.calls[shape] = 1;
	t->op_shape.busy[shape] = ns;
	t->op_shape.flops[shape] = 1e9;
	t->op_shape.bytes[shape] = 1;
	set_bound(&c, shape);
	*bound = t->op_shape.bound_ns[shape];
	uint8_t flags = t->op_shape.flags[shape];
	assay_run_free(run);
	return flags;
}

TEST(devices_may_be_faster_than_their_sheet_but_not_much)
{
	static const char product[] = "ampere_h16816gemm_128x128",
			  fused[] = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(...)";
	assay_rates r = {.name = "x", .bandwidth = 1e12, .faster = 1.25};
	double bound;
	r.peak[ASSAY_MATH_FP32] = r.peak[ASSAY_MATH_FP16] = r.peak[ASSAY_MATH_BF16] = 1e12;
	r.peak[ASSAY_MATH_TF32] = 12e12;
	r.peak[ASSAY_MATH_INT8] = 4e12; /* sums in fp16: fp16 at 2 */
	const uint8_t gemm = ASSAY_WORK_GEMM, attention = ASSAY_WORK_ATTENTION;
	CHECK(!flags_of(&r, gemm, ASSAY_MATH_BF16, product, 800000, &bound) && bound == 1e6);
	CHECK(flags_of(&r, gemm, ASSAY_MATH_BF16, product, 700000, &bound) == ASSAY_OP_OVER_PEAK);
	CHECK(!flags_of(&r, gemm, ASSAY_MATH_FP16, product, 500000, &bound) && bound == 5e5);
	CHECK(flags_of(&r, gemm, ASSAY_MATH_FP16, product, 350000, &bound) == ASSAY_OP_OVER_PEAK);
	CHECK(!flags_of(&r, attention, ASSAY_MATH_FP32, fused, 500000, &bound) && bound == 25e4);
	CHECK(flags_of(&r, attention, ASSAY_MATH_FP32, "sm70", 500000, &bound) ==
	      ASSAY_OP_OVER_PEAK);
	return 0;
}

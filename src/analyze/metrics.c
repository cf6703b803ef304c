/* The figures of a run. A number that was not measured is unknown, never zero. */
#include "analyze/analyze.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/op_args.h"
#include "analyze/window.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/median.h"
#include "base/test.h"
#include "model/by_hand.h"

static void add_metric(assay_run *run, const char *name, double value, assay_state state,
		       const char *how)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_metric);
	assay_metric_table *m = &run->part.t.metric;
	m->name[r] = assay_sid_of(run, name);
	if (isnan(value)) /* absent where it was computed */
		state = ASSAY_STATE_UNKNOWN;
	m->value[r] = state == ASSAY_STATE_UNKNOWN ? 0 : value;
	m->state[r] = (uint8_t)state;
	m->how[r] = assay_sid_of(run, how);
}

static void add_word(assay_run *run, const char *name, const char *text, assay_state state,
		     const char *how)
{
	add_metric(run, name, 0, state, how);
	assay_metric_table *m = &run->part.t.metric;
	m->text[m->n - 1] = assay_sid_of(run, text);
}

typedef assay_vec(double) times;

/* Lengths of the steps that count; returns how many others warm up. */
static size_t step_times(const assay_run *run, const assay_window *w, times *out)
{
	assay_step_rows rows = {0};
	assay_window_steps(run, w, &rows);
	for (size_t i = 0; i < rows.n; i++)
		*assay_push(out) = (double)run->part.t.step.dur[rows.p[i]];
	assay_vec_free(&rows);
	return w->warmup;
}

static const char *which_steps(assay_run *run, const char *what, size_t warmup)
{
	if (!warmup)
		return what;
	return assay_printf(&run->arena,
			    "%s, all but %zu at the start that took several times as long", what,
			    warmup);
}

/* A host that runs ahead is done with a step long before the device: its markers are then short,
 * and not what a step costs. */
static const char *device_behind(assay_run *run, const char *how, double median,
				 const assay_window *w)
{
	const double clearly = 1.1;
	char time[ASSAY_FMT];
	double on_device = w->device != ASSAY_NO_ROW && w->steps
				   ? (double)assay_window_length(w) / (double)w->steps
				   : 0;
	if (on_device <= clearly * median)
		return how;
	return assay_printf(&run->arena, "%s; the device takes %s a step (waste budget)", how,
			    assay_fmt_time(time, (int64_t)on_device));
}

/* Sorts them. */
static void length_metrics(assay_run *run, times *t, assay_state state, size_t warmup,
			   const assay_window *w)
{
	double median = assay_median_mean(t->p, t->n);
	const char *how = which_steps(run, "median length of the steps", warmup);
	add_metric(run, "step_seconds", median * 1e-9, state, device_behind(run, how, median, w));
	add_metric(run, "step_seconds_min", t->p[0] * 1e-9, state,
		   which_steps(run, "shortest step", warmup));
	add_metric(run, "step_seconds_max", t->p[t->n - 1] * 1e-9, state,
		   which_steps(run, "longest step", warmup));
}

/* A number in the file's own metadata, which may be written as text; NaN and infinity are none. */
static bool header_number(const assay_run *run, const char *key, double *value)
{
	assay_str text = assay_meta_get(run, key);
	if (text.n > 1 && *text.p == '"' && text.p[text.n - 1] == '"')
		text = assay_str_trim((assay_str){text.p + 1, text.n - 2});
	return assay_str_f64(text, value) && isfinite(*value);
}

static int64_t header_steps(const assay_run *run)
{
	double n;
	return header_number(run, "metadata.n_steps", &n) && n >= 1 && n < 1e9 ? (int64_t)n : 0;
}

static void step_metrics(assay_run *run, const assay_report_opts *opts, const assay_window *w)
{
	times t = {0};
	uint8_t origin = assay_window_origin(run, w);
	size_t warmup = step_times(run, w, &t);
	uint32_t dev = w->device;
	const assay_device_time_table *d = &run->part.t.device_time;
	double header;
	int64_t told = opts->steps ? opts->steps : t.n ? 0 : header_steps(run);
	int64_t steps = told ? told : (int64_t)(t.n + warmup);
	assay_state state =
		origin == ASSAY_STEP_REPEATED ? ASSAY_STATE_ESTIMATED : ASSAY_STATE_MEASURED;
	add_metric(run, "steps", (double)steps,
		   told  ? ASSAY_STATE_ESTIMATED
		   : t.n ? state
			 : ASSAY_STATE_UNKNOWN,
		   opts->steps ? "given with --steps"
		   : told      ? "the file's own metadata"
		   : t.n       ? assay_step_origin_name[origin]
			       : "no step markers, and kernels do not repeat");
	if (t.n) {
		length_metrics(run, &t, state, warmup, w);
	} else if (header_number(run, "metadata.step_time_seconds", &header) && header > 0) {
		add_metric(run, "step_seconds", header, ASSAY_STATE_ESTIMATED,
			   "the file's own metadata");
	} else if (opts->steps && dev != ASSAY_NO_ROW) {
		add_metric(run, "step_seconds", (double)d->span[dev] * 1e-9 / opts->steps,
			   ASSAY_STATE_ESTIMATED, "device span divided by --steps");
	} else {
		add_metric(run, "step_seconds", 0, ASSAY_STATE_UNKNOWN,
			   "no step markers; give --steps N, or record with them");
	}
	assay_vec_free(&t);
}

static void header_metric(assay_run *run, const char *name, const char *key, const char *hint)
{
	double v;
	bool known = header_number(run, key, &v);
	add_metric(run, name, known ? v : 0, known ? ASSAY_STATE_ESTIMATED : ASSAY_STATE_UNKNOWN,
		   known ? "the file's own metadata" : hint);
}

static const assay_roof_table *known_roof(const assay_run *run)
{
	const assay_roof_table *r = &run->part.t.roof;
	return r->n && !isnan(r->flops[0]) ? r : NULL;
}

/* Tokens that the model looked up: indices of the embedding with most rows, in the window. */
static bool embedded_tokens(const assay_run *run, const assay_window *w, double *tokens)
{
	const assay_tables *t = &run->part.t;
	assay_sid name = assay_pool_find(&run->part.strings, ASSAY_S("aten::embedding"));
	double most = 0;
	*tokens = 0;
	for (uint32_t i = 0; name && i < t->op_call.n; i++) {
		uint32_t shape = t->op_call.shape[i];
		assay_arena a = {0};
		if (t->op_shape.name[shape] != name || t->op_call.device[i] != w->device ||
		    t->op_call.start[i] < w->from || t->op_call.start[i] >= w->to ||
		    t->op_call.flags[i] & ASSAY_OP_RECOMPUTED)
			continue;
		assay_op_args args;
		const char *members = assay_printf(&a, "\"Input Dims\": %s, \"Input type\": %s",
						   assay_z(run, t->op_shape.dims[shape]),
						   assay_z(run, t->op_shape.types[shape]));
		bool parsed = assay_op_args_parse(&args, &a, assay_str_of(members));
		const assay_tensor *table = parsed ? assay_arg_tensor(&args, 0) : NULL,
				   *index = parsed ? assay_arg_tensor(&args, 1) : NULL;
		if (table && index && table->rank == 2 && (double)table->dim[0] >= most) {
			*tokens = (double)table->dim[0] > most ? 0 : *tokens;
			most = (double)table->dim[0];
			*tokens += assay_tensor_elements(index);
		}
		assay_arena_free(&a);
	}
	return *tokens > 0;
}

static void token_metric(assay_run *run, const assay_window *w)
{
	const assay_phase_table *p = &run->part.t.phase;
	double tokens = 0, seconds = (double)assay_window_length(w) * 1e-9;
	for (uint32_t i = 0; i < p->n; i++)
		tokens += p->tokens[i];
	if (tokens > 0 && seconds > 0)
		add_metric(run, "tokens_per_sec", tokens / seconds, ASSAY_STATE_MEASURED,
			   "tokens in the serving engine's step marks");
	else if (seconds > 0 && embedded_tokens(run, w, &tokens))
		add_metric(run, "tokens_per_sec", tokens / seconds, ASSAY_STATE_ESTIMATED,
			   "tokens looked up in the largest embedding");
	else
		header_metric(run, "tokens_per_sec", "metadata.tokens_per_sec",
			      "the input does not say how many tokens a step has");
}

/* Why there is no share of the peak. */
static const char *no_mfu(assay_run *run, const assay_roof_table *r)
{
	if (!r)
		return "no shapes of operators: record with record_shapes=True";
	if (isnan(r->mfu_least[0]))
		return assay_z(run, r->how[0]);
	return assay_printf(
		&run->arena,
		"between %.1f%% and %.1f%%: %.0f%% of the matrix kernels' time in the window has known work",
		100 * r->mfu_least[0], 100 * r->mfu_most[0], 100 * r->mfu_coverage[0]);
}

/* Shares of peak that were measured; the file's own word where no shapes were recorded. */
static void compute_metrics(assay_run *run)
{
	const assay_roof_table *r = known_roof(run);
	bool partly = r && assay_roof_is_partial(r);
	assay_state state = partly ? ASSAY_STATE_ESTIMATED : ASSAY_STATE_MEASURED;
	const char *least = partly ? "at least: " : "";
	if (r && !isnan(r->mfu[0])) {
		add_metric(
			run, "mfu_pct", 100 * r->mfu[0], state,
			assay_printf(
				&run->arena,
				"%soperators whose work is known (%.0f%% of compute time) over the window; %s",
				least, 100 * r->coverage[0], assay_z(run, r->how[0])));
		add_metric(run, "hfu_pct", 100 * r->hfu[0], state,
			   "the same with what was recomputed");
	} else {
		header_metric(run, "mfu_pct", "metadata.mfu_pct", no_mfu(run, r));
	}
	if (!r)
		return;
	add_metric(run, "compute_coverage_pct", 100 * r->coverage[0], ASSAY_STATE_MEASURED,
		   "compute time whose operations and bytes are known");
	add_metric(run, "tflops_per_sec", r->flops_per_second[0] * 1e-12, state,
		   assay_printf(&run->arena, "%smatrix operations over the window", least));
	add_metric(run, "tb_per_sec", r->bytes_per_second[0] * 1e-12,
		   assay_is_mostly_known(r->coverage[0]) ? ASSAY_STATE_MEASURED
							 : ASSAY_STATE_ESTIMATED,
		   assay_printf(&run->arena, "%scompulsory bytes over the window",
				assay_is_mostly_known(r->coverage[0]) ? "" : "at least: "));
	if (r->measured_clock[0] > 0 && r->clock[0] > 0 && !isnan(r->mfu[0]))
		add_metric(
			run, "mfu_at_clock_pct",
			100 * r->mfu[0] * r->clock[0] / r->measured_clock[0], ASSAY_STATE_MEASURED,
			assay_printf(
				&run->arena,
				"of the peak at the measured clock, %.0f MHz (rates are for %.0f)",
				r->measured_clock[0] * 1e-6, r->clock[0] * 1e-6));
}

static void utilisation(assay_run *run)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	double busy = 0, span = 0;
	for (size_t i = 0; i < d->n; i++) {
		busy += (double)d->busy[i];
		span += (double)d->span[i];
	}
	if (span > 0)
		add_metric(run, "gpu_util_pct", 100.0 * busy / span, ASSAY_STATE_MEASURED,
			   "time with work on the device over its span, all devices");
	else
		add_metric(run, "gpu_util_pct", 0, ASSAY_STATE_UNKNOWN, "no GPU work in the input");
}

/* Telemetry of one GPU, by what it did. */
struct watched {
	int64_t gpu;
	double sum;
	uint64_t n;
};
typedef assay_vec(struct watched) watched_gpus;

static double mean_of(const struct watched *g)
{
	return g->n ? g->sum / (double)g->n : 0;
}

static struct watched *gpu_of(watched_gpus *all, int64_t gpu)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].gpu == gpu)
			return &all->p[i];
	*assay_push(all) = (struct watched){.gpu = gpu};
	return &all->p[all->n - 1];
}

static int by_mean(const void *x, const void *y)
{
	const struct watched *a = x, *b = y;
	return assay_then(ASSAY_CMP(mean_of(b), mean_of(a)), ASSAY_CMP(a->gpu, b->gpu));
}

static void watch(const assay_run *run, const char *name, watched_gpus *all)
{
	const assay_tables *t = &run->part.t;
	assay_sid id = assay_pool_find(&run->part.strings, assay_str_of(name));
	for (size_t i = 0; i < t->counter.n; i++) {
		uint32_t track = t->counter.track[i];
		if (track == ASSAY_NO_ROW || t->track.kind[track] != ASSAY_TRACK_TELEMETRY)
			continue;
		struct watched *g = gpu_of(all, t->track.pid[track]);
		if (id && t->counter.name[i] == id) {
			g->sum += t->counter.value[i];
			g->n++;
		}
	}
}

/* A machine has more GPUs than a run uses, and numbers of devices change with what a program may
 * see: as many as have work in the trace are taken, the busiest ones, or those that hold most
 * memory. */
struct telemetry {
	watched_gpus used;
	size_t all;
	const char *from;
};

static struct telemetry used_gpus(assay_run *run)
{
	static const char *const by[] = {"util_pct", "mem_used_bytes"};
	struct telemetry t = {.from = "telemetry"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(by); i++) {
		t.used.n = 0;
		watch(run, by[i], &t.used);
		if (t.used.n && t.used.p[0].n)
			break;
	}
	size_t devices = run->part.t.device_time.n ? run->part.t.device_time.n : 1;
	t.all = t.used.n;
	if (t.all)
		qsort(t.used.p, t.all, sizeof *t.used.p, by_mean);
	if (t.all > devices) {
		t.used.n = devices;
		t.from = assay_printf(&run->arena, "telemetry, the %zu busiest of %zu GPUs",
				      devices, t.all);
	}
	return t;
}

static bool is_used(const struct telemetry *t, const assay_run *run, uint32_t track)
{
	if (track == ASSAY_NO_ROW || run->part.t.track.kind[track] != ASSAY_TRACK_TELEMETRY ||
	    t->used.n == t->all)
		return true;
	for (size_t i = 0; i < t->used.n; i++)
		if (t->used.p[i].gpu == run->part.t.track.pid[track])
			return true;
	return false;
}

/* Peak and mean of a telemetry series; the mean over samples, which come at a fixed rate. */
static bool series(const assay_run *run, const struct telemetry *of, const char *name, double *peak,
		   double *mean)
{
	const assay_counter_table *c = &run->part.t.counter;
	assay_sid id = assay_pool_find(&run->part.strings, assay_str_of(name));
	size_t n = 0;
	double sum = 0;
	*peak = 0;
	for (size_t i = 0; id && i < c->n; i++) {
		if (c->name[i] != id || !is_used(of, run, c->track[i]))
			continue;
		*peak = n++ && *peak > c->value[i] ? *peak : c->value[i];
		sum += c->value[i];
	}
	*mean = n ? sum / (double)n : 0;
	return n > 0;
}

double assay_telemetry_busy(assay_run *run, int64_t from, int64_t to, size_t *samples)
{
	const assay_counter_table *c = &run->part.t.counter;
	assay_sid id = assay_pool_find(&run->part.strings, ASSAY_S("util_pct"));
	struct telemetry of = used_gpus(run);
	double sum = 0;
	*samples = 0;
	for (size_t i = 0; id && i < c->n; i++)
		if (c->name[i] == id && c->ts[i] >= from && c->ts[i] < to &&
		    c->track[i] != ASSAY_NO_ROW &&
		    run->part.t.track.kind[c->track[i]] == ASSAY_TRACK_TELEMETRY &&
		    is_used(&of, run, c->track[i])) {
			sum += c->value[i];
			++*samples;
		}
	assay_vec_free(&of.used);
	return *samples ? sum / (double)*samples : 0;
}

/* The allocators' own accounts, when traces have memory events. */
static bool allocator_peak(const assay_run *run, int64_t *peak)
{
	const assay_source_table *s = &run->part.t.source;
	*peak = -1;
	for (size_t i = 0; i < s->n; i++)
		*peak = s->memory_peak[i] > *peak ? s->memory_peak[i] : *peak;
	return *peak >= 0;
}

enum { GB = 1 << 30 };

static void memory_metrics(assay_run *run)
{
	double peak, mean;
	int64_t alloc;
	struct telemetry of = used_gpus(run);
	if (series(run, &of, "mem_used_bytes", &peak, &mean)) {
		add_metric(run, "hbm_peak_gb", peak / GB, ASSAY_STATE_MEASURED, of.from);
		add_metric(run, "hbm_avg_gb", mean / GB, ASSAY_STATE_MEASURED, of.from);
	} else if (allocator_peak(run, &alloc)) {
		add_metric(run, "hbm_peak_gb", (double)alloc / GB, ASSAY_STATE_ESTIMATED,
			   "the framework's allocator; other users of the device are not in it");
		add_metric(run, "hbm_avg_gb", 0, ASSAY_STATE_UNKNOWN, "no telemetry");
	} else {
		add_metric(run, "hbm_peak_gb", 0, ASSAY_STATE_UNKNOWN, "no telemetry");
		add_metric(run, "hbm_avg_gb", 0, ASSAY_STATE_UNKNOWN, "no telemetry");
	}
	if (series(run, &of, "mem_total_bytes", &peak, &mean))
		add_metric(run, "hbm_total_gb", peak / GB, ASSAY_STATE_MEASURED, of.from);
	else if (run->part.t.device.n && run->part.t.device.memory[0] > 0)
		add_metric(run, "hbm_total_gb", (double)run->part.t.device.memory[0] / GB,
			   ASSAY_STATE_MEASURED, "device properties in the trace");
	else
		add_metric(run, "hbm_total_gb", 0, ASSAY_STATE_UNKNOWN,
			   "the input names no device");
	if (series(run, &of, "util_pct", &peak, &mean))
		add_metric(
			run, "smi_util_pct", mean, ASSAY_STATE_MEASURED,
			assay_printf(&run->arena,
				     "%s: share of time with any kernel, as the driver counts it",
				     of.from));
	if (series(run, &of, "power_watts", &peak, &mean))
		add_metric(run, "power_watts", mean, ASSAY_STATE_MEASURED, of.from);
	assay_vec_free(&of.used);
}

static bool has_name(const assay_run *run, const char *part)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	for (size_t i = 0; i < k->n; i++)
		if (k->family[i] == ASSAY_FAMILY_ATTENTION &&
		    assay_str_find_nocase(assay_text(run, k->name[i]), part) >= 0)
			return true;
	return false;
}

static bool is_amd(const assay_run *run)
{
	return run->part.t.device.n && assay_device_vendor(run, 0) == ASSAY_VENDOR_AMD;
}

/* Which attention ran: flash kernels (AOTriton's and CK's are of that kind too), another fused
 * kernel, or the operator without one. */
static void attention(assay_run *run)
{
	const assay_pool *s = &run->part.strings;
	bool math = assay_pool_find(s, ASSAY_S("aten::_scaled_dot_product_attention_math")) != 0;
	bool op = assay_pool_find(s, ASSAY_S("aten::scaled_dot_product_attention")) != 0;
	const char *flash = is_amd(run) ? "flash_rocm" : "flash";
	if (has_name(run, "flash") || has_name(run, "attn_fwd") ||
	    (is_amd(run) && has_name(run, "fmha")))
		add_word(run, "attention", flash, ASSAY_STATE_MEASURED,
			 "flash attention kernels ran");
	else if (has_name(run, ""))
		add_word(run, "attention", "sdpa", ASSAY_STATE_MEASURED,
			 "fused attention kernels ran");
	else if (math)
		add_word(run, "attention", "eager", ASSAY_STATE_MEASURED,
			 "the math fallback was called");
	else if (op)
		add_word(run, "attention", "sdpa", ASSAY_STATE_ESTIMATED,
			 "the operator was called");
	else
		add_word(run, "attention", "unknown", ASSAY_STATE_UNKNOWN,
			 "no attention operator or kernel was recognised");
}

/* CUDA writes 13.0 as 13000, HIP writes 6.4.43483 as 60443483. */
static const char *version_text(assay_arena *a, assay_str v)
{
	int64_t n;
	if (!assay_str_i64(v, &n) || n < 1000)
		return assay_dup(a, v);
	if (n < 10000000)
		return assay_printf(a, "%d.%d", (int)(n / 1000), (int)(n % 1000 / 10));
	return assay_printf(a, "%lld.%d.%d", (long long)(n / 10000000), (int)(n / 100000 % 100),
			    (int)(n % 100000));
}

/* Header values are JSON text: numbers as they are, strings in quotes. */
static void version(assay_run *run, const char *name, const char *const *keys)
{
	for (; *keys; keys++) {
		assay_str v = assay_meta_get(run, *keys);
		if (v.n > 2 && v.p[0] == '"')
			v = (assay_str){v.p + 1, v.n - 2};
		if (!v.n)
			continue;
		add_word(run, name, version_text(&run->arena, v), ASSAY_STATE_MEASURED,
			 assay_str_starts(assay_str_of(*keys), "env.") ? "env.json of the run"
								       : "the file's header");
		return;
	}
	add_word(run, name, "unknown", ASSAY_STATE_UNKNOWN, "the input does not say");
}

static void versions(assay_run *run)
{
	static const char *const torch[] = {"metadata.pytorch_version", "metadata.torch_version",
					    "pytorch_version",          "torch_version",
					    "env.pytorch_version",      NULL};
	static const char *const rocm[] = {"metadata.rocm_version", "rocm_version",
					   "hip_runtime_version",   "hip_version",
					   "env.hip_version",       NULL};
	static const char *const cuda[] = {"cuda_runtime_version", "metadata.cuda_version",
					   "env.cuda_version", NULL};
	version(run, "pytorch_version", torch);
	version(run, "rocm_version", rocm);
	version(run, "cuda_version", cuda);
}

void assay_metrics(assay_run *run, const assay_report_opts *opts, const assay_window *w)
{
	step_metrics(run, opts, w);
	token_metric(run, w);
	compute_metrics(run);
	utilisation(run);
	memory_metrics(run);
	attention(run);
	versions(run);
}

TEST(what_was_not_computed_is_unknown)
{
	assay_run *run = assay_run_new();
	add_metric(run, "m", NAN, ASSAY_STATE_ESTIMATED, "h");
	const assay_metric_table *m = &run->part.t.metric;
	CHECK(m->state[0] == ASSAY_STATE_UNKNOWN && m->value[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(unknown_stays_unknown)
{
	assay_run *run = assay_run_new();
	assay_metrics(run, &(assay_report_opts){0}, &(assay_window){.device = ASSAY_NO_ROW});
	static const char *const names[] = {"steps",     "step_seconds", "tokens_per_sec",
					    "mfu_pct",   "gpu_util_pct", "hbm_peak_gb",
					    "hbm_avg_gb"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++) {
		uint32_t r = assay_metric_find(run, names[i]);
		CHECK(r != ASSAY_NO_ROW && run->part.t.metric.state[r] == ASSAY_STATE_UNKNOWN);
	}
	assay_run_free(run);
	return 0;
}

TEST(header_figures_are_estimates)
{
	assay_run *run = assay_run_new();
	assay_meta_add(&run->part, "metadata.tokens_per_sec", ASSAY_S("142.5"));
	assay_metrics(run, &(assay_report_opts){.steps = 4},
		      &(assay_window){.device = ASSAY_NO_ROW});
	uint32_t r = assay_metric_find(run, "tokens_per_sec");
	CHECK(run->part.t.metric.value[r] == 142.5 &&
	      run->part.t.metric.state[r] == ASSAY_STATE_ESTIMATED);
	CHECK(run->part.t.metric.value[assay_metric_find(run, "steps")] == 4);
	assay_run_free(run);
	return 0;
}

TEST(header_figures_may_be_text_and_nan_is_none)
{
	assay_run *run = assay_run_new();
	assay_meta_add(&run->part, "metadata.tokens_per_sec", ASSAY_S("\"12345.5\""));
	assay_meta_add(&run->part, "metadata.mfu_pct", ASSAY_S("NaN"));
	assay_meta_add(&run->part, "metadata.step_time_seconds", ASSAY_S("\"inf\""));
	assay_meta_add(&run->part, "metadata.n_steps", ASSAY_S("\"4\""));
	assay_metrics(run, &(assay_report_opts){0}, &(assay_window){.device = ASSAY_NO_ROW});
	const assay_metric_table *m = &run->part.t.metric;
	CHECK(m->value[assay_metric_find(run, "tokens_per_sec")] == 12345.5);
	CHECK(m->state[assay_metric_find(run, "mfu_pct")] == ASSAY_STATE_UNKNOWN);
	CHECK(m->state[assay_metric_find(run, "step_seconds")] == ASSAY_STATE_UNKNOWN);
	CHECK(m->value[assay_metric_find(run, "steps")] == 4 &&
	      m->state[assay_metric_find(run, "steps")] == ASSAY_STATE_ESTIMATED);
	assay_run_free(run);
	return 0;
}

/* Six steps of 10 with work all along, behind one of 100. */
static void add_steps(assay_run *run)
{
	for (int i = 0; i < 7; i++) {
		int64_t from = i ? 100 + (i - 1) * 10 : 0, length = i ? 10 : 100;
		uint32_t s = assay_add(&run->part.t, ASSAY_T_step);
		run->part.t.step.source[s] = run->part.source;
		run->part.t.step.ts[s] = from;
		run->part.t.step.dur[s] = length + i;
		assay_hand_gpu(run, "c", from, length,
			       assay_hand_host(run, ASSAY_HOST_RUNTIME, "launch", from, 1));
	}
}

TEST(steps_that_warm_up_are_counted_and_not_in_the_step_time)
{
	assay_run *run = assay_run_new();
	assay_order order;
	add_steps(run);
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	assay_step_times(run, &order, NULL);
	assay_window w = assay_window_find(run, &order, 0);
	assay_metrics(run, &(assay_report_opts){0}, &w);
	const assay_metric_table *m = &run->part.t.metric;
	CHECK_EQ(w.warmup, 1);
	CHECK(m->value[assay_metric_find(run, "steps")] == 7);
	CHECK(m->value[assay_metric_find(run, "step_seconds")] == 13.5e-9);
	CHECK(m->value[assay_metric_find(run, "step_seconds_max")] == 16 * 1e-9);
	CHECK(assay_str_find(assay_text(run, m->how[assay_metric_find(run, "step_seconds")]),
			     "all but 1 at the start") >= 0);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

TEST(a_device_that_takes_longer_than_the_markers_is_told)
{
	assay_run *run = assay_run_new();
	const assay_window behind = {.device = 0,
				     .to = 2000000,
				     .steps = 2,
				     .warm = INT64_MIN,
				     .last = INT64_MAX},
			   level = {.device = 0,
				    .to = 2000,
				    .steps = 2,
				    .warm = INT64_MIN,
				    .last = INT64_MAX};
	assay_str told = assay_str_of(device_behind(run, "so", 1000, &behind));
	CHECK(assay_str_find(told, "the device takes 1.00 ms a step") >= 0);
	CHECK(!strcmp(device_behind(run, "so", 1000, &level), "so"));
	assay_run_free(run);
	return 0;
}

TEST(versions_of_both_runtimes_are_read_as_they_are_written)
{
	assay_arena a = {0};
	CHECK(!strcmp(version_text(&a, ASSAY_S("13000")), "13.0"));
	CHECK(!strcmp(version_text(&a, ASSAY_S("12040")), "12.4"));
	CHECK(!strcmp(version_text(&a, ASSAY_S("60443483")), "6.4.43483"));
	CHECK(!strcmp(version_text(&a, ASSAY_S("6.4.1")), "6.4.1"));
	assay_arena_free(&a);
	return 0;
}

static void hand_telemetry(assay_run *run, int64_t gpu, double util, double bytes)
{
	uint32_t track = assay_track(&run->part, ASSAY_TRACK_TELEMETRY, gpu, 0, 0, 0);
	const struct {
		const char *name;
		double value;
	} values[] = {{"util_pct", util}, {"mem_used_bytes", bytes}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(values); i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_counter);
		run->part.t.counter.track[r] = track;
		run->part.t.counter.name[r] = assay_sid_of(run, values[i].name);
		run->part.t.counter.value[r] = values[i].value;
	}
}

TEST(gpus_that_the_run_does_not_use_are_not_in_its_utilisation)
{
	assay_run *run = assay_run_new();
	hand_telemetry(run, 0, 0, 5);
	hand_telemetry(run, 3, 80, 70);
	hand_telemetry(run, 3, 90, 90);
	hand_telemetry(run, 0, 2, 5);
	double peak, mean;
	struct telemetry of = used_gpus(run);
	CHECK(of.all == 2 && of.used.n == 1 && of.used.p[0].gpu == 3);
	CHECK(series(run, &of, "util_pct", &peak, &mean) && mean == 85);
	CHECK(series(run, &of, "mem_used_bytes", &peak, &mean) && mean == 80 && peak == 90);
	CHECK(strstr(of.from, "1 busiest of 2"));
	assay_vec_free(&of.used);
	assay_run_free(run);
	return 0;
}

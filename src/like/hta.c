/* Holistic Trace Analysis's figures by its own rules: microseconds rounded inwards when the trace
 * has fractions, the last step left out when there are two or more, kernel types by name patterns,
 * all devices of a rank together. Variant "hta" obeys all of that; "all" counts every event to the
 * nanosecond, as one would without its loader. */
#include "like/like.h"

#include <math.h>
#include <stdlib.h>

#include "like/hta.h"
#include "analyze/order.h"
#include "base/compare.h"
#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"

enum kernel_type { COMMUNICATION, MEMORY, COMPUTATION, OTHER, TYPES };

/* Thresholds in microseconds. The first is documented as nanoseconds but compared with
 * microseconds. */
enum { KERNEL_WAIT_US = 30, RUNTIME_OUTLIER_US = 50, DELAY_OUTLIER_US = 100, QUEUE_MAX = 1024 };

static bool starts_with_any(assay_str name, const char *const *words)
{
	for (; *words; words++)
		if (assay_str_starts(name, *words))
			return true;
	return false;
}

static bool contains_any(assay_str name, const char *const *words)
{
	for (; *words; words++)
		if (assay_str_find(name, *words) >= 0)
			return true;
	return false;
}

bool assay_hta_comm_kernel(assay_str name)
{
	static const char *const comm[] = {"nccl", "hip", "hccl", NULL};
	return starts_with_any(name, comm) || assay_str_find(name, "ncclKernel") >= 0;
}

static enum kernel_type type_of(assay_str name)
{
	static const char *const memory[] = {"Memcpy",    "hipMemcpy", "Memset",
					     "hipMemset", "dma",       NULL};
	static const char *const other_start[] = {"Stream Wait Event",
						  "runFunction",
						  "job_exe",
						  "packet",
						  "pe_exe",
						  "cpum_exe_subgraph",
						  "hccl",
						  "collective_subgraph_execution",
						  NULL};
	static const char *const other_in[] = {"Memcpy", "Memset", "dma", "Sync", NULL};
	if (assay_hta_comm_kernel(name))
		return COMMUNICATION;
	if (starts_with_any(name, memory))
		return MEMORY;
	if (starts_with_any(name, other_start) || contains_any(name, other_in) ||
	    (assay_str_starts(name, "cuda") && assay_str_find(name, "LaunchKernel") >= 0))
		return OTHER;
	return COMPUTATION;
}

struct event {
	int64_t ts, end;        /* in units; end may precede ts after rounding */
	int64_t call, call_end; /* of the launch; INT64_MIN when it is not known */
	int64_t stream;
	uint32_t launch; /* row of host */
	uint32_t order;  /* in the file, for equal starts */
	uint8_t type;
	bool sync; /* a wait the recorder reported, no work */
};

typedef assay_vec(struct event) events;

/* What a variant does to a trace. */
struct rules {
	const char *variant;
	int64_t unit;   /* ns in a unit: 1000 after rounding, else 1 */
	int64_t before; /* launches at or after this are left out; INT64_MAX for none */
	bool sync_rows; /* waits and host spans with a stream count as GPU rows */
	int64_t first;  /* start of the file's first span, in units; INT64_MIN when there is none */
	uint32_t source;
};

/* Rounded inwards: starts up, ends down. */
int64_t assay_hta_round_up(int64_t ns, int64_t unit)
{
	int64_t q = ns / unit;
	return q + (ns % unit > 0);
}

int64_t assay_hta_round_down(int64_t ns, int64_t unit)
{
	int64_t q = ns / unit;
	return q - (ns % unit < 0);
}

static void set_launch(const assay_run *run, const struct rules *r, struct event *e, uint32_t host)
{
	const assay_host_table *h = &run->part.t.host;
	e->launch = host;
	e->call = e->call_end = INT64_MIN;
	if (host == ASSAY_NO_ROW)
		return;
	e->call = assay_hta_round_up(h->ts[host], r->unit);
	e->call_end = assay_hta_round_down(assay_host_end(h, host), r->unit);
}

/* Rule 4 of the loader: work stays when the call that launched it stays. */
static bool is_kept(const struct rules *r, const struct event *e)
{
	return r->before == INT64_MAX || (e->call != INT64_MIN && e->call < r->before);
}

static void add_work(const assay_run *run, const struct rules *r, events *out)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		if (assay_track_group(t, t->gpu.track[g]) != r->source)
			continue;
		struct event e = {.ts = assay_hta_round_up(t->gpu.ts[g], r->unit),
				  .end = assay_hta_round_down(assay_gpu_end(&t->gpu, g), r->unit),
				  .stream = t->track.tid[t->gpu.track[g]],
				  .type = (uint8_t)type_of(assay_text(run, t->gpu.name[g]))};
		set_launch(run, r, &e, t->launch.host[g]);
		e.order = (uint32_t)out->n;
		if (is_kept(r, &e))
			*assay_push(out) = e;
	}
}

/* Calls by correlation, for rows that launch has no entry for. */
static void index_calls(const assay_run *run, uint32_t source, assay_map *calls)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = assay_call_corr(t, h);
		if (corr && assay_track_group(t, t->host.track[h]) == source)
			*assay_map_at(calls, corr) = h;
	}
}

static void add_syncs(const assay_run *run, const struct rules *r, events *out)
{
	const assay_tables *t = &run->part.t;
	assay_map calls = {0};
	if (t->sync.n)
		index_calls(run, r->source, &calls);
	for (uint32_t i = 0; i < t->sync.n; i++) {
		uint32_t track = t->sync.track[i];
		if (t->sync.found[i] || assay_track_group(t, track) != r->source ||
		    t->track.tid[track] < 0)
			continue;
		int64_t end = t->sync.ts[i] + (t->sync.dur[i] > 0 ? t->sync.dur[i] : 0);
		struct event e = {.ts = assay_hta_round_up(t->sync.ts[i], r->unit),
				  .end = assay_hta_round_down(end, r->unit),
				  .stream = t->track.tid[track],
				  .type = OTHER,
				  .sync = true};
		set_launch(run, r, &e, assay_map_get(&calls, t->sync.corr[i]));
		e.order = (uint32_t)out->n;
		if (is_kept(r, &e))
			*assay_push(out) = e;
	}
	assay_map_free(&calls);
}

/* The number of a "stream" argument that a host span carries (Triton's operators do); -1
 * without. */
static int64_t stream_argument(assay_str args)
{
	ptrdiff_t at = assay_str_find(args, "\"stream\":");
	if (at < 0)
		return -1;
	assay_str rest = {args.p + at + 9, args.n - (size_t)at - 9};
	int64_t stream;
	return assay_str_i64(assay_str_trim(assay_str_cut(&rest, ',')), &stream) ? stream : -1;
}

/* What has a stream is of the GPU to it, wherever it ran; without a correlation it stays by the
 * rule for the CPU's rows. */
static void add_host_rows(const assay_run *run, const struct rules *r, events *out)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		int64_t stream =
			t->host.args[h] ? stream_argument(assay_text(run, t->host.args[h])) : -1;
		if (stream == -1 || t->host.dur[h] < 0 ||
		    assay_track_group(t, t->host.track[h]) != r->source)
			continue;
		struct event e = {
			.ts = assay_hta_round_up(t->host.ts[h], r->unit),
			.end = assay_hta_round_down(t->host.ts[h] + t->host.dur[h], r->unit),
			.stream = stream,
			.type = (uint8_t)type_of(assay_text(run, t->host.name[h])),
			.sync = true};
		set_launch(run, r, &e, ASSAY_NO_ROW);
		e.order = (uint32_t)out->n;
		if (e.ts < r->before)
			*assay_push(out) = e;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(x->order, y->order));
}

typedef struct {
	int64_t from, to;
} span;
typedef assay_vec(span) spans;

/* Touching intervals join; rounding can make an interval shorter than nothing, which is kept. */
static void unite(const events *e, int type, spans *out)
{
	int64_t end = 0;
	for (size_t i = 0; i < e->n; i++) {
		if (type != TYPES && e->p[i].type != type)
			continue;
		if (!out->n || e->p[i].ts > end) {
			end = out->n && end > e->p[i].end ? end : e->p[i].end;
			*assay_push(out) = (span){e->p[i].ts, e->p[i].end};
			continue;
		}
		end = e->p[i].end > end ? e->p[i].end : end;
		if (e->p[i].end > out->p[out->n - 1].to)
			out->p[out->n - 1].to = e->p[i].end;
	}
}

static int64_t length(const spans *s)
{
	int64_t sum = 0;
	for (size_t i = 0; i < s->n; i++)
		sum += s->p[i].to - s->p[i].from;
	return sum;
}

static int64_t common(const spans *a, const spans *b)
{
	int64_t sum = 0;
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		int64_t from = a->p[i].from > b->p[k].from ? a->p[i].from : b->p[k].from;
		int64_t to = a->p[i].to < b->p[k].to ? a->p[i].to : b->p[k].to;
		sum += to > from ? to - from : 0;
		if (a->p[i].to < b->p[k].to)
			i++;
		else
			k++;
	}
	return sum;
}

static double two_decimals(double v)
{
	return rint(v * 100) / 100;
}

static double to_us(const struct rules *r, int64_t units)
{
	return (double)(units * r->unit) / 1000;
}

static void add_breakdown(assay_run *run, const struct rules *r, const events *e)
{
	spans all = {0}, comp = {0}, comm = {0};
	unite(e, TYPES, &all);
	unite(e, COMPUTATION, &comp);
	unite(e, COMMUNICATION, &comm);
	int64_t time = all.p[all.n - 1].to - all.p[0].from, idle = time - length(&all),
		compute = length(&comp), rest = time - compute - idle;
	const struct {
		const char *us, *pct;
		int64_t units;
	} figures[] = {{"idle_time_us", "idle_time_pctg", idle},
		       {"compute_time_us", "compute_time_pctg", compute},
		       {"non_compute_time_us", "non_compute_time_pctg", rest}};
	const char *group = "temporal_breakdown";
	for (size_t i = 0; i < 3; i++) {
		assay_like_add(run, r->source, r->variant, group, figures[i].us,
			       to_us(r, figures[i].units));
		assay_like_add(run, r->source, r->variant, group, figures[i].pct,
			       time ? two_decimals(100 * (double)figures[i].units / (double)time)
				    : NAN);
	}
	assay_like_add(run, r->source, r->variant, group, "kernel_time_us", to_us(r, time));
	assay_like_add(run, r->source, r->variant, "comm_comp_overlap", "overlap_pctg",
		       length(&comm) ? two_decimals(100 * (double)common(&comm, &comp) /
						    (double)length(&comm))
				     : NAN);
	assay_vec_free(&all);
	assay_vec_free(&comp);
	assay_vec_free(&comm);
}

/* Distinct streams, rising. */
static void list_streams(const events *e, int64_t *list, size_t max, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < e->n; i++) {
		size_t k = 0;
		while (k < *n && list[k] != e->p[i].stream)
			k++;
		if (k == *n && *n < max)
			list[(*n)++] = e->p[i].stream;
	}
	assay_sort_i64(list, *n);
}

enum { HOST_WAIT, KERNEL_WAIT, OTHER_WAIT, WAITS };

/* Work without a launch is taken to be launched by the file's first span: its link is row 0. */
static int wait_kind(const struct rules *r, const struct event *e, int64_t prev_end)
{
	int64_t call = e->call == INT64_MIN ? r->first : e->call;
	if (call != INT64_MIN && call > prev_end)
		return HOST_WAIT;
	return (e->ts - prev_end) * r->unit < KERNEL_WAIT_US * 1000 ? KERNEL_WAIT : OTHER_WAIT;
}

/* The end of the row before, not the latest end: overlaps give negative waits, and they count. */
static void add_idle(assay_run *run, const struct rules *r, const events *e, int64_t stream)
{
	static const char *const names[WAITS][2] = {{"host_wait_us", "host_wait_ratio"},
						    {"kernel_wait_us", "kernel_wait_ratio"},
						    {"other_us", "other_ratio"}};
	int64_t wait[WAITS] = {0}, prev_end = 0, total = 0;
	size_t n = 0;
	for (size_t i = 0; i < e->n; i++) {
		if (e->p[i].stream != stream || e->p[i].sync)
			continue;
		if (n++) {
			wait[wait_kind(r, &e->p[i], prev_end)] += e->p[i].ts - prev_end;
			total += e->p[i].ts - prev_end;
		}
		prev_end = e->p[i].end;
	}
	if (!n)
		return;
	char group[48];
	snprintf(group, sizeof group, "idle_stream_%lld", (long long)stream);
	assay_like_add(run, r->source, r->variant, group, "events", (double)n);
	for (int k = 0; k < WAITS; k++) {
		assay_like_add(run, r->source, r->variant, group, names[k][0], to_us(r, wait[k]));
		assay_like_add(run, r->source, r->variant, group, names[k][1],
			       total ? (double)wait[k] / (double)total : NAN);
	}
}

/* Calls that put work in a queue; graph launches and hipModuleLaunchKernel are not among them. */
bool assay_hta_queue_call(assay_str name)
{
	static const char *const calls[] = {
		"cudaLaunchKernel", "cudaLaunchKernelExC",      "cuLaunchKernel",
		"cuLaunchKernelEx", "cudaMemcpyAsync",          "cudaMemsetAsync",
		"hipLaunchKernel",  "hipExtModuleLaunchKernel", "hipMemcpyAsync",
		"hipMemsetAsync",   "hipMemcpyWithStream"};
	return assay_str_is_any(name, calls, ASSAY_COUNT_OF(calls));
}

struct change {
	int64_t ts;
	int by;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(y->by, x->by));
}

static void add_queue(assay_run *run, const struct rules *r, const events *e, int64_t stream)
{
	assay_vec(struct change) c = {0};
	for (size_t i = 0; i < e->n; i++) {
		if (e->p[i].stream != stream || e->p[i].launch == ASSAY_NO_ROW ||
		    !assay_hta_queue_call(assay_text(run, run->part.t.host.name[e->p[i].launch])))
			continue;
		*assay_push(&c) = (struct change){e->p[i].call, 1};
		*assay_push(&c) = (struct change){e->p[i].ts, -1};
	}
	if (!c.n)
		return;
	qsort(c.p, c.n, sizeof *c.p, by_time);
	int64_t now = 0, most = INT64_MIN, least = INT64_MAX, sum = 0, full = 0;
	for (size_t i = 0; i < c.n; i++) {
		now += c.p[i].by;
		most = now > most ? now : most;
		least = now < least ? now : least;
		sum += now;
		if (now >= QUEUE_MAX && i + 1 < c.n)
			full += c.p[i + 1].ts - c.p[i].ts;
	}
	char group[48];
	snprintf(group, sizeof group, "queue_stream_%lld", (long long)stream);
	assay_like_add(run, r->source, r->variant, group, "changes", (double)c.n);
	assay_like_add(run, r->source, r->variant, group, "min", (double)least);
	assay_like_add(run, r->source, r->variant, group, "max", (double)most);
	assay_like_add(run, r->source, r->variant, group, "mean", (double)sum / (double)c.n);
	assay_like_add(run, r->source, r->variant, group, "time_blocked_us", to_us(r, full));
	assay_vec_free(&c);
}

/* Fewer than those of the queue: no driver calls, nothing of HIP. */
static bool is_launch_call(assay_str name)
{
	return assay_str_is(name, "cudaLaunchKernel") ||
	       assay_str_is(name, "cudaLaunchKernelExC") || assay_str_is(name, "cudaMemcpyAsync") ||
	       assay_str_is(name, "cudaMemsetAsync");
}

static void add_launches(assay_run *run, const struct rules *r, const events *e)
{
	assay_vec(double) delay = {0};
	double delays = 0, calls = 0, work = 0; /* of hostile traces too large for integers */
	uint64_t shorter = 0, slow_calls = 0, slow_launches = 0;
	for (size_t i = 0; i < e->n; i++) {
		const struct event *x = &e->p[i];
		if (x->call == INT64_MIN || x->sync ||
		    !is_launch_call(assay_text(run, run->part.t.host.name[x->launch])))
			continue;
		int64_t wait = x->ts > x->call_end ? x->ts - x->call_end : 0;
		*assay_push(&delay) = (double)wait;
		delays += (double)wait;
		calls += (double)(x->call_end - x->call);
		work += (double)(x->end - x->ts);
		shorter += x->end - x->ts < x->call_end - x->call &&
			   (x->call_end - x->call) * r->unit <= RUNTIME_OUTLIER_US * 1000;
		slow_calls += (x->call_end - x->call) * r->unit > RUNTIME_OUTLIER_US * 1000;
		slow_launches += wait * r->unit > DELAY_OUTLIER_US * 1000;
	}
	double us = (double)r->unit / 1000;
	const struct {
		const char *name;
		double value;
	} figures[] = {
		{"launches", (double)delay.n},
		{"cpu_duration_sum_us", calls * us},
		{"gpu_duration_sum_us", work * us},
		{"launch_delay_sum_us", delays * us},
		{"launch_delay_median_us",
		 delay.n ? assay_median_mean(delay.p, delay.n) * us : NAN},
		{"short_gpu_kernels", (double)shorter},
		{"runtime_outliers", (double)slow_calls},
		{"launch_delay_outliers", (double)slow_launches},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(figures); i++)
		assay_like_add(run, r->source, r->variant, "launch_stats", figures[i].name,
			       figures[i].value);
	assay_vec_free(&delay);
}

enum { STREAMS = 256 };

static void add_variant(assay_run *run, const struct rules *r)
{
	events e = {0};
	int64_t stream[STREAMS];
	size_t streams;
	add_work(run, r, &e);
	if (r->sync_rows) {
		add_syncs(run, r, &e);
		add_host_rows(run, r, &e);
	}
	if (e.n) {
		qsort(e.p, e.n, sizeof *e.p, by_start);
		assay_like_add(run, r->source, r->variant, "events", "gpu_rows", (double)e.n);
		add_breakdown(run, r, &e);
		list_streams(&e, stream, STREAMS, &streams);
		for (size_t i = 0; i < streams; i++)
			add_idle(run, r, &e, stream[i]);
		for (size_t i = 0; i < streams; i++)
			add_queue(run, r, &e, stream[i]);
		add_launches(run, r, &e);
	}
	assay_vec_free(&e);
}

/* A trace with a fraction of a microsecond anywhere is rounded. */
bool assay_hta_has_fractions(const assay_run *run, uint32_t source)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->host.n; i++)
		if (t->host.ts[i] % 1000 && assay_track_group(t, t->host.track[i]) == source)
			return true;
	for (size_t i = 0; i < t->gpu.n; i++)
		if (t->gpu.ts[i] % 1000 && assay_track_group(t, t->gpu.track[i]) == source)
			return true;
	return false;
}

/* The latest start of a step, with the names seen so far. */
struct steps {
	assay_sid first;
	bool several;
	int64_t last;
};

static void add_step(struct steps *s, assay_sid name, int64_t ts, int64_t unit)
{
	s->several |= s->first && name != s->first;
	s->first = s->first ? s->first : name;
	s->last = assay_hta_round_up(ts, unit) > s->last ? assay_hta_round_up(ts, unit) : s->last;
}

static bool is_step_name(assay_str name)
{
	return assay_str_starts(name, "ProfilerStep#") && name.n > 13 && name.p[13] >= '0' &&
	       name.p[13] <= '9';
}

/* Start of the last ProfilerStep when there are two or more names; INT64_MAX otherwise. The copies
 * on the GPU count: the work of the last step is left out from where the GPU began with it. */
int64_t assay_hta_last_step(const assay_run *run, uint32_t source, int64_t unit)
{
	const assay_tables *t = &run->part.t;
	struct steps s = {.last = INT64_MIN};
	for (size_t i = 0; i < t->step.n; i++)
		if (t->step.source[i] == source && t->step.origin[i] == ASSAY_STEP_MARKER)
			add_step(&s, t->step.name[i], t->step.ts[i], unit);
	for (size_t i = 0; i < t->mark.n; i++)
		if (t->mark.track[i] != ASSAY_NO_ROW &&
		    assay_track_group(t, t->mark.track[i]) == source &&
		    is_step_name(assay_text(run, t->mark.name[i])))
			add_step(&s, t->mark.name[i], t->mark.ts[i], unit);
	return s.several ? s.last : INT64_MAX;
}

static int64_t first_span(const assay_run *run, uint32_t source, int64_t unit)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++)
		if (assay_track_group(t, t->host.track[h]) == source)
			return assay_hta_round_up(t->host.ts[h], unit);
	return INT64_MIN;
}

void assay_like_hta(assay_run *run)
{
	for (uint32_t s = 0; s < run->part.t.source.n; s++) {
		int64_t unit = assay_hta_has_fractions(run, s) ? 1000 : 1;
		add_variant(run, &(struct rules){.variant = "hta",
						 .unit = unit,
						 .before = assay_hta_last_step(run, s, unit),
						 .sync_rows = true,
						 .first = first_span(run, s, unit),
						 .source = s});
		add_variant(run, &(struct rules){.variant = "all",
						 .unit = 1,
						 .before = INT64_MAX,
						 .first = INT64_MIN,
						 .source = s});
	}
}

TEST(kernel_types_follow_the_patterns_with_their_flaws)
{
	static const struct {
		const char *name;
		enum kernel_type type;
	} cases[] = {
		{"ncclDevKernel_Generic(ncclDevKernelArgs)", COMMUNICATION},
		{"hipblaslt_kernel", COMMUNICATION}, /* any compute kernel named hip... */
		{"void ncclKernel_AllReduce", COMMUNICATION},
		{"Memcpy DtoH (Device->Pageable)", MEMORY},
		{"Memset (Device)", MEMORY},
		{"rcclGenericKernel", COMPUTATION},
		{"multimem_all_reduce_kernel", COMPUTATION},
		{"my_dma_kernel", OTHER},
		{"Stream Wait Event", OTHER},
		{"Cijk_Ailk_Bljk", COMPUTATION},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(type_of(assay_str_of(cases[i].name)), cases[i].type);
	return 0;
}

TEST(rounding_goes_inwards)
{
	CHECK(assay_hta_round_up(1001, 1000) == 2 && assay_hta_round_up(2000, 1000) == 2 &&
	      assay_hta_round_up(-1, 1000) == 0);
	CHECK(assay_hta_round_down(1999, 1000) == 1 && assay_hta_round_down(-1, 1000) == -1);
	return 0;
}

TEST(unions_join_touching_events_and_keep_negative_ones)
{
	events e = {0};
	const int64_t at[][2] = {{0, 10}, {10, 20}, {25, 24}, {30, 40}, {35, 38}};
	for (size_t i = 0; i < 5; i++)
		*assay_push(&e) = (struct event){.ts = at[i][0], .end = at[i][1]};
	spans s = {0};
	unite(&e, TYPES, &s);
	CHECK(s.n == 3 && s.p[0].to == 20 && length(&s) == 20 - 1 + 10);
	assay_vec_free(&s);
	assay_vec_free(&e);
	return 0;
}

/* TraceLens's gpu_timeline: unions over all devices of a file, of those events only that an
 * arrow leads to from a call ("ac2g", what it prints), whose launch is known ("linked"), or all;
 * every union by the classes of names/kernels.def, which are TraceLens's. */
#include "like/like.h"

#include <math.h>

#include "analyze/order.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

void assay_like_add(assay_run *run, uint32_t source, const char *variant, const char *group,
		    const char *name, double value)
{
	assay_like_table *l = &run->part.t.like;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_like);
	l->source[r] = source;
	l->variant[r] = assay_sid_of(run, variant);
	l->group[r] = assay_sid_of(run, group);
	l->name[r] = assay_sid_of(run, name);
	l->value[r] = value;
}

/* Communication by three words, whatever else is known; copies and memsets as everywhere. */
static uint8_t class_of(const assay_run *run, uint32_t gpu, uint8_t native)
{
	static const char *const words[] = {"nccl", "rccl", "cross_device_reduce"};
	assay_str name = assay_text(run, run->part.t.gpu.name[gpu]);
	for (size_t i = 0; i < 3 && run->part.t.gpu.kind[gpu] == ASSAY_GPU_KERNEL; i++)
		if (assay_str_find_nocase(name, words[i]) >= 0)
			return ASSAY_CLASS_COMM;
	return native == ASSAY_CLASS_COMM ? ASSAY_CLASS_COMPUTE : native;
}

/* Rows of one source in time order, and the class of each: devices of order are merged. */
struct work {
	assay_vec(uint32_t) row;
	uint8_t *class; /* by row of gpu */
};

enum which { EVERY, LINKED, BY_ARROW };

static uint64_t arrow_key(uint32_t source, uint64_t id)
{
	return id ^ (uint64_t)source << 40;
}

/* Where arrows from calls to work begin. Kineto on AMD draws none for memsets. */
static void index_arrows(const assay_run *run, assay_map *starts)
{
	const assay_tables *t = &run->part.t;
	assay_sid cat = assay_pool_find(&run->part.strings, ASSAY_S("ac2g"));
	for (size_t i = 0; cat && i < t->flow.n; i++)
		if (t->flow.cat[i] == cat && t->flow.phase[i] == 's')
			*assay_map_at(starts, arrow_key(assay_track_group(t, t->flow.track[i]),
							t->flow.id[i])) = (uint32_t)i;
}

/* Its tree follows arrows; only the work of a graph is found by correlation. */
static bool is_wanted(const assay_run *run, const assay_map *starts, uint32_t source, uint32_t gpu,
		      enum which which)
{
	const assay_tables *t = &run->part.t;
	uint32_t call = t->launch.host[gpu];
	if (which == EVERY || call == ASSAY_NO_ROW)
		return which == EVERY;
	assay_str name = assay_text(run, t->host.name[call]);
	return which == LINKED || assay_str_is(name, "cudaGraphLaunch") ||
	       assay_str_is(name, "hipGraphLaunch") ||
	       assay_map_get(starts, arrow_key(source, t->gpu.corr[gpu])) != ASSAY_MAP_ABSENT;
}

static void collect(struct work *w, const assay_run *run, const assay_order *order, uint32_t source,
		    const assay_map *starts, enum which which)
{
	const assay_tables *t = &run->part.t;
	w->row.n = 0;
	for (size_t i = 0; i < order->rows; i++) {
		uint32_t g = order->row[i];
		if (assay_track_group(t, t->gpu.track[g]) != source ||
		    !is_wanted(run, starts, source, g, which))
			continue;
		w->class[g] = class_of(run, g, order->classes[i]);
		*assay_push(&w->row) = g;
	}
	if (w->row.n)
		assay_sort_rows(w->row.p, w->row.n, t->gpu.ts);
}

static void add_timeline(assay_run *run, uint32_t source, const char *variant, const struct work *w)
{
	const assay_gpu_table *gpu = &run->part.t.gpu;
	int64_t first = gpu->ts[w->row.p[0]], last = first;
	assay_cover s = assay_cover_from(first);
	for (size_t i = 0; i < w->row.n; i++) {
		uint32_t g = w->row.p[i];
		int64_t start = gpu->ts[g], end = assay_gpu_end(gpu, g);
		assay_cover_add(&s, w->class[g], start, end);
		last = end > last ? end : last;
	}
	int64_t total = last - first, busy = s.length[ASSAY_SET_ALL],
		both = s.length[ASSAY_SET_COMPUTE_COMM], compute = s.length[ASSAY_SET_COMPUTE];
	const struct {
		const char *name, *percent;
		int64_t ns;
	} figures[] = {
		{"computation_time_ms", "computation_time_pct", compute},
		{"exposed_comm_time_ms", "exposed_comm_time_pct", both - compute},
		{"exposed_memcpy_time_ms", "exposed_memcpy_time_pct", busy - both},
		{"busy_time_ms", "busy_time_pct", busy},
		{"idle_time_ms", "idle_time_pct", total - busy},
		{"total_time_ms", "total_time_pct", total},
		{"total_comm_time_ms", "total_comm_time_pct", s.length[ASSAY_SET_COMM]},
		{"total_memcpy_time_ms", "total_memcpy_time_pct", s.length[ASSAY_SET_COPY]},
	};
	assay_like_add(run, source, variant, "gpu_timeline", "events", (double)w->row.n);
	for (size_t i = 0; i < ASSAY_COUNT_OF(figures); i++) {
		assay_like_add(run, source, variant, "gpu_timeline", figures[i].name,
			       (double)figures[i].ns / 1e6);
		assay_like_add(run, source, variant, "gpu_timeline", figures[i].percent,
			       total ? 100 * (double)figures[i].ns / (double)total : NAN);
	}
}

void assay_like_tracelens(assay_run *run)
{
	assay_order order;
	assay_order_build(&order, run);
	struct work w = {.class = assay_pages_grow(NULL, order.rows + 1)};
	static const struct {
		enum which which;
		const char *name;
	} variants[] = {{BY_ARROW, "ac2g"}, {LINKED, "linked"}, {EVERY, "all"}};
	assay_map starts = {0};
	index_arrows(run, &starts);
	for (uint32_t s = 0; s < run->part.t.source.n; s++) {
		for (size_t v = 0; v < ASSAY_COUNT_OF(variants); v++) {
			collect(&w, run, &order, s, &starts, variants[v].which);
			if (w.row.n)
				add_timeline(run, s, variants[v].name, &w);
		}
		assay_like_tracelens_ops(run, s);
	}
	assay_map_free(&starts);
	assay_vec_free(&w.row);
	assay_pages_free(w.class);
	assay_order_free(&order);
}

static double figure_of(const assay_run *run, const char *variant, const char *group,
			const char *name)
{
	const assay_like_table *l = &run->part.t.like;
	for (size_t i = 0; i < l->n; i++)
		if (assay_str_is(assay_text(run, l->variant[i]), variant) &&
		    assay_str_is(assay_text(run, l->group[i]), group) &&
		    assay_str_is(assay_text(run, l->name[i]), name))
			return l->value[i];
	return NAN;
}

TEST(tracelens_counts_linked_work_of_all_devices_together)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	const struct {
		int device;
		int64_t ts, dur;
		bool linked;
	} work[] = {{0, 1000000, 1000000, false},
		    {0, 3000000, 1000000, true},
		    {1, 3500000, 2000000, true}};
	uint32_t k = assay_add(t, ASSAY_T_kernel), h = assay_add(t, ASSAY_T_host);
	t->kernel.class[k] = ASSAY_CLASS_COMPUTE;
	t->host.name[h] = assay_sid_of(run, "cudaLaunchKernel");
	uint32_t arrow = assay_add(t, ASSAY_T_flow);
	t->flow.cat[arrow] = assay_sid_of(run, "ac2g");
	t->flow.phase[arrow] = 's';
	t->flow.id[arrow] = 3; /* to the last work only */
	t->flow.track[arrow] = assay_thread_track(&run->part, 1, 1);
	for (int i = 0; i < 3; i++) {
		uint32_t g = assay_hand_gpu(run, "", work[i].ts, work[i].dur,
					    work[i].linked ? 0 : ASSAY_NO_ROW);
		t->gpu.corr[g] = (uint64_t)i + 1;
		t->gpu.track[g] = assay_stream_track(&run->part, work[i].device, 0);
	}
	assay_like_tracelens(run);
	CHECK(figure_of(run, "linked", "gpu_timeline", "total_time_ms") == 2.5);
	CHECK(figure_of(run, "linked", "gpu_timeline", "busy_time_ms") == 2.5);
	CHECK(figure_of(run, "ac2g", "gpu_timeline", "total_time_ms") == 2);
	CHECK(figure_of(run, "all", "gpu_timeline", "total_time_ms") == 4.5);
	CHECK(figure_of(run, "all", "gpu_timeline", "idle_time_ms") == 1);
	assay_run_free(run);
	return 0;
}

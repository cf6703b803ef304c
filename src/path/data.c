/* A loader that keeps up: nothing is waited for, but what the thread itself does to take a batch it
 * goes on doing. Calls that found their batch ready tell how long that is. */
#include "path/graph.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "path/worth.h"

/* One stretch of waiting for data on a thread. */
struct wait {
	uint32_t first, to; /* points */
	int64_t ns;
};

typedef assay_vec(struct wait) waits;

static waits find_waits(const assay_path_graph *g)
{
	waits w = {0};
	for (uint32_t p = 0; p < g->points; p++) {
		struct wait *last = w.n ? &w.p[w.n - 1] : NULL;
		if (g->cause[p] != ASSAY_WHY_HOST_DATA)
			continue;
		if (!last || last->to != p)
			*assay_push(&w) = (struct wait){p, p, 0};
		last = &w.p[w.n - 1];
		last->to = p + 1;
		last->ns += g->base.len[p];
	}
	return w;
}

/* Do other processes load, and the thread takes what they made? A loader of the thread itself does
 * all of it there, and elsewhere all of it would go. */
static bool others_load(const assay_run *run)
{
	static const char *const names[] = {"_MultiProcessingDataLoaderIter", "_try_get_data"};
	for (uint32_t i = 1; i < run->part.strings.str.n; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(names); k++)
			if (assay_str_find(assay_text(run, i), names[k]) >= 0)
				return true;
	return false;
}

/* Of the waits in [from, to): the middle one of those that are short beside the mean, if there are
 * some; else it is less than the shortest, and hardly more than half of what is usual. */
static assay_data_waits own_time(const assay_path_graph *g, const waits *w, int64_t from,
				 int64_t to)
{
	enum { SHORT = 3, SOME = 8 };
	assay_vec(int64_t) ns = {0};
	assay_data_waits told = {.calls = 0};
	int64_t sum = 0;
	for (size_t i = 0; i < w->n; i++) {
		if (g->measured.at[w->p[i].first] < from || g->measured.at[w->p[i].first] >= to)
			continue;
		*assay_push(&ns) = w->p[i].ns;
		sum += w->p[i].ns;
	}
	told.calls = ns.n;
	assay_sort_i64(ns.p, ns.n);
	size_t few = 0;
	while (few < ns.n && ns.p[few] * SHORT * (int64_t)ns.n < sum)
		few++;
	bool known = few > 1 && few * SOME >= ns.n;
	if (ns.n && others_load(g->run)) {
		int64_t half = ns.p[ns.n / 2] / 2;
		told.most = known ? ns.p[few / 2] : ns.p[0] < half ? ns.p[0] : half;
		told.least = known ? told.most : 0;
	}
	assay_vec_free(&ns);
	return told;
}

assay_data_waits assay_path_data_waits(const assay_path_graph *g, int64_t from, int64_t to)
{
	waits w = find_waits(g);
	assay_data_waits told = own_time(g, &w, from, to);
	assay_vec_free(&w);
	return told;
}

void assay_path_without_data_waits(const assay_path_graph *g, int64_t own, assay_path_changes *out)
{
	waits w = find_waits(g);
	for (size_t i = 0; i < w.n; i++) {
		const struct wait *one = &w.p[i];
		double left = one->ns > own ? (double)own / (double)one->ns : 1;
		for (uint32_t p = one->first; p < one->to; p++)
			assay_path_change_segment(g, out, p,
						  (int64_t)((double)g->base.len[p] * left));
	}
	assay_vec_free(&w);
}

enum { US = 1000 };

/* Steps that ask for a batch, which takes that long, and then launch a kernel of 50 us and wait
 * for it. */
static bool loaded(const char *name, const int64_t *wait, size_t n, assay_data_waits *told,
		   double share[2])
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	int64_t at = 0;
	assay_add(t, ASSAY_T_source);
	uint32_t kernel = assay_add(t, ASSAY_T_kernel);
	t->kernel.name[kernel] = assay_sid_of(run, "kernel");
	for (size_t i = 0; i < n; i++) {
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, name, at, wait[i] * US);
		at += wait[i] * US;
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", at, 5 * US);
		assay_hand_gpu(run, "kernel", at + 10 * US, 50 * US, call);
		assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaDeviceSynchronize", at + 5 * US,
				60 * US);
		at += 65 * US;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = t->track.pid[t->gpu.track[0]];
	assay_window window = {.device = 0, .from = 0, .to = at, .steps = n};
	assay_worth *w = assay_worth_open(run, &window);
	bool known = assay_worth_without_data_waits(w, told, share);
	assay_worth_close(w);
	assay_run_free(run);
	return known;
}

TEST(what_a_thread_does_with_a_batch_that_is_ready_stays)
{
	static const char workers[] =
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
			  itself[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
	static const int64_t now_and_then[] = {40, 40, 900, 38, 42, 900, 40, 40, 900},
			     always[] = {500, 480, 510, 505, 495, 490};
	assay_data_waits told;
	double share[2];
	CHECK(loaded(workers, now_and_then, ASSAY_COUNT_OF(now_and_then), &told, share));
	CHECK(told.least == 40 * US && told.most == 40 * US && told.calls == 9);
	CHECK(share[0] == share[1] && share[0] > 0.70 && share[0] < 0.75); /* 2,580 of 3,525 us */
	CHECK(loaded(workers, always, ASSAY_COUNT_OF(always), &told, share));
	CHECK(!told.least && told.most == 250 * US);
	CHECK(share[0] > 0.43 && share[0] < 0.45 && share[1] > 0.85);
	CHECK(loaded(itself, now_and_then, ASSAY_COUNT_OF(now_and_then), &told, share));
	CHECK(!told.most && share[0] == share[1] && share[1] > 0.82);
	CHECK(!loaded("forward", always, ASSAY_COUNT_OF(always), &told, share));
	return 0;
}

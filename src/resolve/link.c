/* Launch call to GPU work, by correlation id within one source. */
#include "resolve/resolve.h"

#include "base/test.h"
#include "model/columns.h"

static uint64_t call_key(const assay_tables *t, uint32_t track, uint64_t corr)
{
	return assay_corr_key(assay_track_group(t, track), corr);
}

/* A runtime call wins over the driver call it made. */
static bool wins(const void *tables, uint32_t h, uint32_t over)
{
	const uint8_t *kind = ((const assay_tables *)tables)->host.kind;
	return kind[h] == ASSAY_HOST_RUNTIME && kind[over] == ASSAY_HOST_DRIVER;
}

void assay_calls_index(const assay_tables *t, assay_index *calls)
{
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = assay_call_corr(t, h);
		if (corr)
			assay_index_add(calls, call_key(t, t->host.track[h], corr), h);
	}
	assay_index_close(calls, wins, t);
}

uint32_t assay_calls_find(const assay_tables *t, const assay_index *calls, uint32_t track,
			  uint64_t corr)
{
	return corr ? assay_index_find(calls, call_key(t, track, corr)) : ASSAY_NO_ROW;
}

/* What a flight recorder kept of a process, from one stretch that it did not keep to the next. */
typedef struct kept {
	uint32_t group;
	int64_t from;
	uint64_t first; /* lowest number of a call in it: work of a lower one was launched before */
} kept;
typedef assay_vec(kept) kept_list;

/* The last that begins before a time. */
static kept *kept_at(const kept_list *all, uint32_t group, int64_t time)
{
	kept *at = NULL;
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].group == group && all->p[i].from <= time &&
		    (!at || all->p[i].from > at->from))
			at = &all->p[i];
	return at;
}

static void find_kept(const assay_tables *t, kept_list *all)
{
	for (size_t i = 0; i < t->off.n; i++)
		if (t->off.why[i] == ASSAY_OFF_NOT_KEPT)
			*assay_push(all) = (kept){assay_group_of(t, t->off.source[i]),
						  t->off.ts[i] + t->off.dur[i], UINT64_MAX};
	for (uint32_t h = 0; all->n && h < t->host.n; h++) {
		uint64_t corr = assay_call_corr(t, h);
		kept *k = corr ? kept_at(all, assay_track_group(t, t->host.track[h]),
					 t->host.ts[h] + t->host.dur[h])
			       : NULL;
		if (k && corr < k->first)
			k->first = corr;
	}
}

static bool launched_before(const assay_tables *t, const kept_list *all, size_t g)
{
	const kept *k =
		kept_at(all, assay_track_group(t, t->gpu.track[g]), t->gpu.ts[g] + t->gpu.dur[g]);
	return k && t->gpu.corr[g] && t->gpu.corr[g] < k->first;
}

void assay_link_by(assay_run *run, const assay_index *calls)
{
	assay_tables *t = &run->part.t;
	kept_list all = {0};
	find_kept(t, &all);
	static_assert(ASSAY_COLUMNS_launch == 1, "it is set for each row");
	assay_reserve(t, ASSAY_T_launch, t->gpu.n);
	uint64_t strays[2] = {0};
	for (size_t g = 0; g < t->gpu.n; g++) {
		uint32_t host = assay_calls_find(t, calls, t->gpu.track[g], t->gpu.corr[g]);
		t->launch.host[g] = host;
		if (host == ASSAY_NO_ROW && !assay_moves_pages(run, (uint32_t)g))
			strays[launched_before(t, &all, g)]++;
	}
	t->launch.n = t->gpu.n;
	assay_count(&run->part, ASSAY_ISSUE_unlinked, strays[0]);
	assay_count(&run->part, ASSAY_ISSUE_launch_not_kept, strays[1]);
	assay_vec_free(&all);
}

void assay_link(assay_run *run)
{
	assay_index calls = {.mixed = false};
	assay_calls_index(&run->part.t, &calls);
	assay_link_by(run, &calls);
	assay_index_free(&calls);
}

static void add_call(assay_run *run, assay_host_kind kind, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t a = assay_add(t, ASSAY_T_api), h = assay_add(t, ASSAY_T_host);
	t->api.corr[a] = corr;
	t->host.kind[h] = (uint8_t)kind;
	t->host.detail[h] = a;
	t->host.track[h] = assay_thread_track(&run->part, 1, 1);
}

static void add_work(assay_run *run, uint64_t corr)
{
	uint32_t g = assay_add(&run->part.t, ASSAY_T_gpu);
	run->part.t.gpu.corr[g] = corr;
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, 0, 7);
}

TEST(work_launched_before_what_was_kept_is_no_stray)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t o = assay_add(t, ASSAY_T_off);
	t->off.source[o] = run->part.source;
	t->off.ts[o] = 0;
	t->off.dur[o] = 100;
	t->off.why[o] = ASSAY_OFF_NOT_KEPT;
	add_call(run, ASSAY_HOST_RUNTIME, 5);
	t->host.ts[0] = 120;
	add_work(run, 3);
	add_work(run, 7);
	t->gpu.ts[0] = t->gpu.ts[1] = 130;
	assay_link(run);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_launch_not_kept], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unlinked], 1);
	assay_run_free(run);
	return 0;
}

TEST(work_finds_its_call_and_strays_are_counted)
{
	assay_run *run = assay_run_new();
	add_call(run, ASSAY_HOST_DRIVER, 5);
	add_call(run, ASSAY_HOST_RUNTIME, 5);
	add_work(run, 5);
	add_work(run, 6);
	add_work(run, 0);
	assay_link(run);
	CHECK(run->part.t.launch.n == 3 && run->part.t.launch.host[0] == 1);
	CHECK(run->part.t.launch.host[1] == ASSAY_NO_ROW &&
	      run->part.t.launch.host[2] == ASSAY_NO_ROW);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_unlinked], 2);
	assay_run_free(run);
	return 0;
}

/* Launch call to GPU work, by correlation id within one source. */
#include "resolve/resolve.h"

#include "base/test.h"

static uint64_t call_key(const assay_tables *t, uint32_t track, uint64_t corr)
{
	return assay_corr_key(assay_track_group(t, track), corr);
}

/* First call of each correlation id; a runtime call wins over the driver call it made. */
void assay_calls_index(const assay_tables *t, assay_map *calls)
{
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint64_t corr = assay_call_corr(t, h);
		if (!corr)
			continue;
		uint32_t *slot = assay_map_at(calls, call_key(t, t->host.track[h], corr));
		if (*slot == ASSAY_MAP_ABSENT || (t->host.kind[h] == ASSAY_HOST_RUNTIME &&
						  t->host.kind[*slot] == ASSAY_HOST_DRIVER))
			*slot = h;
	}
}

uint32_t assay_calls_find(const assay_tables *t, const assay_map *calls, uint32_t track,
			  uint64_t corr)
{
	return corr ? assay_map_get(calls, call_key(t, track, corr)) : ASSAY_NO_ROW;
}

void assay_link(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_map calls = {0};
	assay_calls_index(t, &calls);
	assay_reserve(t, ASSAY_T_launch, t->gpu.n);
	uint64_t unlinked = 0;
	for (size_t g = 0; g < t->gpu.n; g++) {
		uint32_t host = assay_calls_find(t, &calls, t->gpu.track[g], t->gpu.corr[g]);
		t->launch.host[g] = host;
		unlinked += host == ASSAY_NO_ROW;
	}
	t->launch.n = t->gpu.n;
	assay_count(&run->part, ASSAY_ISSUE_unlinked, unlinked);
	assay_map_free(&calls);
}

_Static_assert(ASSAY_MAP_ABSENT == ASSAY_NO_ROW, "an absent call is no row");

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

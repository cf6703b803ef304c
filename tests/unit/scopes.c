/* Scopes, case by case: the requirements (R), the defects of others (D), and every kind of
 * range. */
#include "base/test.h"
#include "resolve/scopes.h"

/* A run with one source, times in ns. */
static assay_run *test_run(void)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	return run;
}

static uint32_t add_span(assay_run *run, assay_host_kind kind, int64_t tid, const char *name,
			 int64_t ts, int64_t dur)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host);
	t->host.kind[h] = (uint8_t)kind;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.track[h] = assay_thread_track(&run->part, 1, tid);
	t->host.ts[h] = ts;
	t->host.dur[h] = dur;
	t->host.detail[h] = assay_add(t, assay_host_detail[kind]);
	return h;
}

static uint32_t add_range(assay_run *run, int64_t tid, const char *name, int64_t ts, int64_t dur)
{
	return add_span(run, ASSAY_HOST_ANNOTATION, tid, name, ts, dur);
}

static uint32_t add_call(assay_run *run, int64_t tid, int64_t ts, uint64_t corr)
{
	uint32_t h = add_span(run, ASSAY_HOST_RUNTIME, tid, "launch", ts, 1);
	run->part.t.api.corr[run->part.t.host.detail[h]] = corr;
	return h;
}

static uint32_t add_work(assay_run *run, assay_gpu_kind kind, uint64_t corr)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu);
	t->gpu.kind[g] = (uint8_t)kind;
	t->gpu.corr[g] = corr;
	t->gpu.dur[g] = 5;
	t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
	return g;
}

static void give(assay_run *run, bool host, uint32_t row, int64_t id)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_given_scope);
	run->part.t.given_scope.host[r] = host;
	run->part.t.given_scope.row[r] = row;
	run->part.t.given_scope.id[r] = id;
}

static void give_link(assay_run *run, int64_t child, int64_t parent)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_given_link);
	run->part.t.given_link.source[r] = run->part.source;
	run->part.t.given_link.child[r] = child;
	run->part.t.given_link.parent[r] = parent;
}

/* "a/b/c" from the root to the scope of a GPU row. */
static const char *path_of(assay_run *run, uint32_t scope)
{
	const assay_scope_table *s = &run->part.t.scope;
	const char *path = "";
	for (; scope != ASSAY_NO_ROW; scope = s->up[scope])
		path = assay_printf(&run->arena, "%s%s%s", assay_z(run, s->name[scope]),
				    *path ? "/" : "", path);
	return path;
}

static bool work_is_in(assay_run *run, uint32_t g, const char *path)
{
	return !strcmp(path_of(run, run->part.t.gpu_scope.scope[g]), path);
}

TEST(nested_ranges_and_one_launch_fill_the_tree)
{
	assay_run *run = test_run();
	add_range(run, 1, "a", 0, 100);
	add_range(run, 1, "b", 10, 50);
	add_range(run, 1, "c", 20, 30);
	add_call(run, 1, 25, 9);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 9);
	assay_scopes(run, NULL);
	const assay_scope_table *s = &run->part.t.scope;
	CHECK(s->n == 3 && work_is_in(run, g, "a/b/c"));
	size_t linked = 0;
	for (size_t i = 0; i < s->n; i++)
		linked += s->parent[i] != 0;
	CHECK_EQ(linked, 2); /* depth - 1 */
	assay_run_free(run);
	return 0;
}

TEST(every_kind_of_event_carries_the_scope)
{
	assay_run *run = test_run();
	add_range(run, 1, "step", 0, 100);
	uint32_t call = add_call(run, 1, 10, 4), sync = add_call(run, 1, 20, 0);
	uint32_t work[] = {add_work(run, ASSAY_GPU_KERNEL, 4), add_work(run, ASSAY_GPU_MEMCPY, 4),
			   add_work(run, ASSAY_GPU_MEMSET, 4), add_work(run, ASSAY_GPU_KERNEL, 4)};
	run->part.t.gpu.graph_node[work[3]] = 17; /* a node of a graph launch */
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	for (int i = 0; i < 4; i++)
		CHECK(work_is_in(run, work[i], "step") &&
		      t->gpu_scope.how[work[i]] == ASSAY_SCOPE_HOW_LAUNCH);
	CHECK(t->host_scope.scope[call] == 0 && t->host_scope.scope[sync] == 0);
	assay_run_free(run);
	return 0;
}

TEST(no_scope_is_none_and_never_garbage)
{
	assay_run *run = test_run();
	add_range(run, 1, "step", 0, 10);
	uint32_t late = add_call(run, 1, 10, 4); /* the range ends where the call begins */
	add_call(run, 2, 5, 5);                  /* another thread */
	uint32_t a = add_work(run, ASSAY_GPU_KERNEL, 4), b = add_work(run, ASSAY_GPU_KERNEL, 5),
		 c = add_work(run, ASSAY_GPU_KERNEL, 6), d = add_work(run, ASSAY_GPU_KERNEL, 0);
	assay_scopes(run, NULL);
	const assay_gpu_scope_table *s = &run->part.t.gpu_scope;
	CHECK(run->part.t.host_scope.scope[late] == ASSAY_NO_ROW);
	CHECK(s->scope[a] == ASSAY_NO_ROW && s->scope[b] == ASSAY_NO_ROW);
	CHECK(s->scope[c] == ASSAY_NO_ROW && s->scope[d] == ASSAY_NO_ROW && !s->how[d]);
	assay_run_free(run);
	return 0;
}

TEST(the_same_program_has_the_same_scopes_on_both_vendors)
{
	static const char *const calls[] = {"cudaLaunchKernel", "hipLaunchKernel"};
	static const assay_host_kind ranges[] = {ASSAY_HOST_ANNOTATION, ASSAY_HOST_MARKER};
	for (int v = 0; v < 2; v++) {
		assay_run *run = test_run();
		add_span(run, ranges[v], 1, "fwd", 0, 50);
		uint32_t h = add_call(run, 1, 5, 1);
		run->part.t.host.name[h] = assay_sid_of(run, calls[v]);
		uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
		assay_scopes(run, NULL);
		CHECK(work_is_in(run, g, "fwd"));
		CHECK(run->part.t.scope.n == 1 && run->part.t.scope.id[0] == (1ll << 48 | 1));
		assay_run_free(run);
	}
	return 0;
}

TEST(two_invocations_are_two_scopes)
{
	assay_run *run = test_run();
	add_range(run, 1, "module", 0, 10);
	add_range(run, 1, "module", 10, 10);
	add_call(run, 1, 5, 1);
	add_call(run, 1, 15, 2);
	uint32_t a = add_work(run, ASSAY_GPU_KERNEL, 1), b = add_work(run, ASSAY_GPU_KERNEL, 2);
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK(t->scope.id[t->gpu_scope.scope[a]] != t->scope.id[t->gpu_scope.scope[b]]);
	CHECK(work_is_in(run, a, "module") && work_is_in(run, b, "module"));
	assay_run_free(run);
	return 0;
}

TEST(correlation_ids_beyond_32_bits_find_their_scope)
{
	assay_run *run = test_run();
	add_range(run, 1, "low", 0, 10);
	add_range(run, 1, "high", 10, 10);
	add_call(run, 1, 5, 7);
	add_call(run, 1, 15, 7 | 1ull << 32);
	uint32_t a = add_work(run, ASSAY_GPU_KERNEL, 7),
		 b = add_work(run, ASSAY_GPU_KERNEL, 7 | 1ull << 32);
	assay_scopes(run, NULL);
	CHECK(work_is_in(run, a, "low") && work_is_in(run, b, "high"));
	assay_run_free(run);
	return 0;
}

TEST(a_range_open_before_the_first_call_is_on_its_path)
{
	assay_run *run = test_run();
	add_range(run, 1, "outer", -1000, 5000); /* began before the clock did */
	add_call(run, 1, 0, 1);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
	assay_scopes(run, NULL);
	CHECK(work_is_in(run, g, "outer"));
	assay_run_free(run);
	return 0;
}

TEST(no_number_of_ranges_loses_a_scope)
{
	enum { MANY = 300000 };
	assay_run *run = test_run();
	add_range(run, 1, "all", 0, MANY * 10ll);
	for (int i = 0; i < MANY; i++) {
		add_range(run, 1, "one", i * 10ll, 9);
		add_call(run, 1, i * 10ll + 2, (uint64_t)i + 1);
		add_work(run, ASSAY_GPU_KERNEL, (uint64_t)i + 1);
	}
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->scope.n, MANY + 1);
	for (size_t g = 0; g < MANY; g++)
		CHECK(t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_LAUNCH);
	assay_run_free(run);
	return 0;
}

TEST(nodes_of_a_graph_have_the_scope_of_its_launch)
{
	assay_run *run = test_run();
	add_range(run, 1, "capture", 0, 10);
	add_range(run, 1, "replay", 20, 10);
	add_call(run, 1, 25, 3);
	uint32_t a = add_work(run, ASSAY_GPU_KERNEL, 3), b = add_work(run, ASSAY_GPU_KERNEL, 3);
	run->part.t.gpu.graph_node[a] = 1, run->part.t.gpu.graph_node[b] = 2;
	assay_scopes(run, NULL);
	CHECK(work_is_in(run, a, "replay") && work_is_in(run, b, "replay"));
	assay_run_free(run);
	return 0;
}

TEST(threads_and_sources_merge_without_collisions)
{
	assay_run *run = test_run();
	for (int source = 0; source < 2; source++) {
		if (source)
			run->part.source = assay_add(&run->part.t, ASSAY_T_source);
		for (int tid = 1; tid <= 3; tid++)
			for (int i = 0; i < 4; i++)
				add_range(run, tid, "r", i * 10, 10);
	}
	assay_scopes(run, NULL);
	const assay_scope_table *s = &run->part.t.scope;
	assay_map seen = {0};
	CHECK_EQ(s->n, 24);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t *slot = assay_map_at(&seen, (uint64_t)s->id[i]);
		CHECK(*slot == ASSAY_MAP_ABSENT && s->id[i] != 0);
		*slot = i;
	}
	CHECK(s->id[23] >> 48 == 6); /* one ordinal a thread that opened a range */
	assay_map_free(&seen);
	assay_run_free(run);
	return 0;
}

TEST(the_same_id_in_two_inputs_is_two_scopes)
{
	assay_run *run = test_run();
	uint32_t g[2];
	for (int source = 0; source < 2; source++) {
		if (source)
			run->part.source = assay_add(&run->part.t, ASSAY_T_source);
		g[source] = add_work(run, ASSAY_GPU_KERNEL, 1);
		give(run, false, g[source], 2);
		give_link(run, 2, source ? 5 : 1);
	}
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	uint32_t a = t->gpu_scope.scope[g[0]], b = t->gpu_scope.scope[g[1]];
	CHECK(a != b && t->scope.id[a] == 2 && t->scope.id[b] != 2);
	CHECK(t->scope.parent[a] == 1 && t->scope.parent[b] == 5);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_scope_conflict], 0);
	assay_run_free(run);
	return 0;
}

TEST(two_parents_are_counted_and_the_first_stays)
{
	assay_run *run = test_run();
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
	give(run, false, g, 3);
	give_link(run, 3, 2);
	give_link(run, 3, 2);
	give_link(run, 3, 1);
	assay_scopes(run, NULL);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_scope_conflict], 1);
	CHECK(run->part.t.scope.parent[run->part.t.gpu_scope.scope[g]] == 2);
	assay_run_free(run);
	return 0;
}

TEST(circles_of_given_ids_are_cut)
{
	assay_run *run = test_run();
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
	give(run, false, g, 10);
	give_link(run, 10, 20);
	give_link(run, 20, 10);
	give_link(run, 30, 30);
	assay_scopes(run, NULL);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_scope_cycle], 2);
	path_of(run, run->part.t.gpu_scope.scope[g]); /* comes to an end */
	assay_run_free(run);
	return 0;
}

TEST(given_ids_stay_and_hang_below_the_range_they_were_launched_in)
{
	assay_run *run = test_run();
	add_range(run, 1, "train", 0, 100);
	uint32_t call = add_call(run, 1, 10, 1), g = add_work(run, ASSAY_GPU_KERNEL, 1);
	give(run, true, call, -7);
	give(run, false, g, -7);
	give_link(run, -7, INT64_MIN);
	run->part.t.gpu.args[g] =
		assay_sid_of(run, "\"hlo_op\": \"fusion\", \"hlo_module\": \"jit_step\"");
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	uint32_t r = t->gpu_scope.scope[g];
	CHECK(t->scope.id[r] == -7 && t->scope.parent[r] == INT64_MIN);
	CHECK(t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_GIVEN && t->host_scope.scope[call] == r);
	CHECK(work_is_in(run, g, "train/jit_step/fusion"));
	CHECK(t->scope.parent[t->scope.up[r]] == 0); /* the given tree itself is not touched */
	assay_run_free(run);
	return 0;
}

TEST(ranges_that_carry_their_id_keep_it)
{
	assay_run *run = test_run();
	uint32_t a = add_range(run, 1, "a", 0, 100), b = add_range(run, 1, "b", 10, 50);
	uint32_t call = add_call(run, 1, 20, 1), g = add_work(run, ASSAY_GPU_KERNEL, 1);
	give(run, true, a, 100);
	give(run, true, b, 200);
	give(run, true, call, 200);
	give(run, false, g, 200);
	give_link(run, 200, 100);
	assay_scopes(run, NULL);
	CHECK(run->part.t.scope.n == 2 && work_is_in(run, g, "a/b"));
	CHECK(run->part.t.scope.id[run->part.t.gpu_scope.scope[g]] == 200);
	assay_run_free(run);
	return 0;
}

TEST(gradients_find_the_scope_of_their_forward_operator)
{
	assay_run *run = test_run();
	assay_tables *t = &run->part.t;
	add_range(run, 1, "layer1", 0, 100);
	uint32_t outer = add_span(run, ASSAY_HOST_OP, 1, "aten::linear", 10, 50);
	uint32_t inner = add_span(run, ASSAY_HOST_OP, 1, "aten::addmm", 20, 30);
	uint32_t grad = add_span(run, ASSAY_HOST_OP, 2, "AddmmBackward0", 200, 50);
	t->op.seq[t->host.detail[outer]] = t->op.seq[t->host.detail[inner]] = 12;
	t->op.seq[t->host.detail[grad]] = 12;
	t->op.fwd_thread[t->host.detail[grad]] = 1;
	add_span(run, ASSAY_HOST_OP, 2, "aten::mm", 205, 40);
	add_call(run, 2, 210, 8);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 8);
	assay_scopes(run, NULL);
	CHECK(t->gpu_scope.scope[g] == ASSAY_NO_ROW);
	CHECK(t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_FORWARD);
	CHECK(!strcmp(path_of(run, t->gpu_scope.forward[g]), "layer1"));
	assay_scopes(run, &(assay_scope_opts){.ops = true});
	CHECK(work_is_in(run, g, "AddmmBackward0/aten::mm"));
	CHECK(t->gpu_scope.how[g] == ASSAY_SCOPE_HOW_LAUNCH);
	CHECK(!strcmp(path_of(run, t->gpu_scope.forward[g]), "layer1/aten::linear/aten::addmm"));
	assay_run_free(run);
	return 0;
}

TEST(gradients_of_emit_nvtx_are_found_by_the_number_in_its_text)
{
	assay_run *run = test_run();
	add_span(run, ASSAY_HOST_MARKER, 1, "layer1", 0, 100);
	add_span(run, ASSAY_HOST_MARKER, 1, "aten::mm, seq = 12, op_id = 3", 10, 50);
	add_span(run, ASSAY_HOST_MARKER, 1, "aten::mm, seq = 13, op_id = 4", 70, 10);
	add_span(run, ASSAY_HOST_MARKER, 2, "MmBackward0, seq = 12, op_id = 9", 200, 50);
	add_call(run, 1, 20, 1);
	add_call(run, 2, 210, 2);
	uint32_t fwd = add_work(run, ASSAY_GPU_KERNEL, 1),
		 grad = add_work(run, ASSAY_GPU_KERNEL, 2);
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK(work_is_in(run, fwd, "layer1/aten::mm, seq = 12, op_id = 3"));
	CHECK(t->gpu_scope.forward[fwd] == ASSAY_NO_ROW);
	CHECK(work_is_in(run, grad, "MmBackward0, seq = 12, op_id = 9"));
	CHECK_EQ(t->gpu_scope.forward[grad], t->gpu_scope.scope[fwd]);
	assay_run_free(run);
	return 0;
}

TEST(python_functions_are_ranges_only_on_request)
{
	assay_run *run = test_run();
	add_span(run, ASSAY_HOST_PYTHON, 1, "f", 0, 10);
	assay_scopes(run, NULL);
	CHECK(run->part.t.scope.n == 0);
	assay_scopes(run, &(assay_scope_opts){.python = true});
	CHECK(run->part.t.scope.n == 1 && run->part.t.scope.kind[0] == ASSAY_SCOPE_KIND_PYTHON);
	assay_run_free(run);
	return 0;
}

TEST(unbalanced_ranges_keep_their_parent_and_are_counted)
{
	assay_run *run = test_run();
	add_range(run, 1, "a", 0, 100);
	add_range(run, 1, "b", 50, 100); /* popped after the one around it */
	add_call(run, 1, 120, 1);
	add_call(run, 1, 160, 2);
	uint32_t in = add_work(run, ASSAY_GPU_KERNEL, 1), out = add_work(run, ASSAY_GPU_KERNEL, 2);
	assay_scopes(run, NULL);
	CHECK(work_is_in(run, in, "a/b") && work_is_in(run, out, ""));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_scope_overlap], 1);
	CHECK(run->part.t.scope.flags[1] == ASSAY_SCOPE_OVERLAP);
	assay_run_free(run);
	return 0;
}

TEST(a_range_never_closed_lasts_to_the_end)
{
	assay_run *run = test_run();
	add_range(run, 1, "open", 10, -1);
	add_call(run, 1, 500, 1);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
	assay_scopes(run, NULL);
	CHECK(work_is_in(run, g, "open") && run->part.t.scope.flags[0] == ASSAY_SCOPE_OPEN);
	CHECK_EQ(run->part.t.scope.dur[0], 491);
	assay_run_free(run);
	return 0;
}

/* Whichever stands first in the input. */
TEST(a_range_never_closed_is_around_one_that_starts_with_it)
{
	for (int first = 0; first < 2; first++) {
		assay_run *run = test_run();
		add_range(run, 1, first ? "open" : "closed", 10, first ? -1 : 5);
		add_range(run, 1, first ? "closed" : "open", 10, first ? 5 : -1);
		add_call(run, 1, 500, 1);
		assay_scopes(run, NULL);
		const assay_scope_table *s = &run->part.t.scope;
		CHECK(s->n == 2 && s->up[0] == ASSAY_NO_ROW && s->up[1] == 0);
		CHECK(assay_str_is(assay_text(run, s->name[0]), "open"));
		assay_run_free(run);
	}
	return 0;
}

TEST(threads_beyond_the_ordinals_share_negative_ids)
{
	enum { THREADS = SCOPES_ORDINAL_MAX + 3 };
	assay_run *run = test_run();
	for (int i = 0; i < THREADS; i++)
		add_range(run, i, "r", 0, 10);
	assay_scopes(run, NULL);
	const assay_scope_table *s = &run->part.t.scope;
	CHECK(s->n == THREADS && s->id[SCOPES_ORDINAL_MAX - 1] > 0);
	CHECK(s->id[SCOPES_ORDINAL_MAX] == INT64_MIN &&
	      s->id[SCOPES_ORDINAL_MAX + 1] == INT64_MIN + 1);
	assay_run_free(run);
	return 0;
}

TEST(paths_of_65_levels_are_whole)
{
	enum { DEPTH = 65 };
	assay_run *run = test_run();
	for (int i = 0; i < DEPTH; i++)
		add_range(run, 1, "x", i, 1000 - 2 * i);
	add_call(run, 1, DEPTH, 1);
	uint32_t g = add_work(run, ASSAY_GPU_KERNEL, 1);
	assay_scopes(run, NULL);
	CHECK_EQ(strlen(path_of(run, run->part.t.gpu_scope.scope[g])), 2 * DEPTH - 1);
	assay_run_free(run);
	return 0;
}

static uint32_t add_sync(assay_run *run, uint64_t corr)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_sync);
	run->part.t.sync.corr[r] = corr;
	run->part.t.sync.track[r] = assay_stream_track(&run->part, 0, 7);
	return r;
}

static uint32_t add_alloc(assay_run *run, int64_t tid, int64_t ts, uint64_t corr)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_alloc);
	run->part.t.alloc.ts[r] = ts;
	run->part.t.alloc.corr[r] = corr;
	run->part.t.alloc.track[r] = assay_thread_track(&run->part, 1, tid);
	return r;
}

TEST(waits_and_events_have_the_scope_of_their_call)
{
	assay_run *run = test_run();
	add_range(run, 1, "step", 0, 100);
	add_range(run, 1, "sync", 10, 10);
	add_call(run, 1, 15, 4);
	add_call(run, 1, 200, 5);
	uint32_t in = add_sync(run, 4), out = add_sync(run, 5), lost = add_sync(run, 6);
	uint32_t e = assay_add(&run->part.t, ASSAY_T_event_record);
	run->part.t.event_record.corr[e] = 4;
	run->part.t.event_record.track[e] = assay_stream_track(&run->part, 0, 7);
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK(!strcmp(path_of(run, t->sync_scope.scope[in]), "step/sync"));
	CHECK(!strcmp(path_of(run, t->event_scope.scope[e]), "step/sync"));
	CHECK(t->sync_scope.scope[out] == ASSAY_NO_ROW &&
	      t->sync_scope.scope[lost] == ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

TEST(memory_has_the_scope_of_its_call_or_of_its_thread_then)
{
	assay_run *run = test_run();
	add_range(run, 1, "step", 10, 90);
	add_range(run, 1, "fwd", 20, 30);
	add_call(run, 1, 60, 4);
	uint32_t before = add_alloc(run, 1, 5, 0), at = add_alloc(run, 1, 20, 0);
	uint32_t inside = add_alloc(run, 1, 45, 0), behind = add_alloc(run, 1, 50, 0);
	uint32_t after = add_alloc(run, 1, 100, 0), other = add_alloc(run, 2, 45, 0);
	uint32_t by_call = add_alloc(run, 2, 200, 4);
	assay_scopes(run, NULL);
	const uint32_t *scope = run->part.t.alloc_scope.scope;
	CHECK(scope[before] == ASSAY_NO_ROW && scope[after] == ASSAY_NO_ROW);
	CHECK(scope[other] == ASSAY_NO_ROW);
	CHECK(!strcmp(path_of(run, scope[inside]), "step/fwd"));
	CHECK(!strcmp(path_of(run, scope[at]), "step/fwd"));
	CHECK(!strcmp(path_of(run, scope[behind]), "step"));
	CHECK(!strcmp(path_of(run, scope[by_call]), "step"));
	assay_run_free(run);
	return 0;
}

TEST(a_started_range_is_on_no_stack_and_parent_of_no_push)
{
	assay_run *run = test_run();
	add_range(run, 1, "step", 0, 100);
	add_span(run, ASSAY_HOST_PROCESS_RANGE, 1, "load", 10, 500);
	add_range(run, 1, "fwd", 20, 30);
	add_call(run, 1, 25, 1);  /* in fwd */
	add_call(run, 1, 60, 2);  /* in step, load open */
	add_call(run, 1, 200, 3); /* only load open */
	add_call(run, 1, 600, 4); /* nothing open */
	add_call(run, 2, 200, 5); /* another thread than the one that started it */
	uint32_t g[5];
	for (uint32_t i = 0; i < 5; i++)
		g[i] = add_work(run, ASSAY_GPU_KERNEL, i + 1);
	assay_scopes(run, NULL);
	const assay_tables *t = &run->part.t;
	CHECK(work_is_in(run, g[0], "step/fwd") && work_is_in(run, g[1], "step"));
	CHECK(work_is_in(run, g[2], "step/load")); /* its parent: what was open when it started */
	CHECK(t->gpu_scope.how[g[2]] == ASSAY_SCOPE_HOW_STARTED);
	CHECK(work_is_in(run, g[3], "") && work_is_in(run, g[4], ""));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_scope_overlap], 0); /* allowed to outlive it */
	assay_run_free(run);
	return 0;
}

TEST(started_ranges_overlap_and_the_last_started_stands)
{
	assay_run *run = test_run();
	add_span(run, ASSAY_HOST_PROCESS_RANGE, 1, "a", 0, 100);
	add_span(run, ASSAY_HOST_PROCESS_RANGE, 1, "b", 50, 100);
	add_span(run, ASSAY_HOST_PROCESS_RANGE, 1, "c", 60, 10);
	static const int64_t at[] = {10, 65, 80, 120, 160};
	static const char *const in[] = {"a", "c", "b", "b", ""};
	for (uint32_t i = 0; i < 5; i++) {
		add_call(run, 1, at[i], i + 1);
		add_work(run, ASSAY_GPU_KERNEL, i + 1);
	}
	assay_scopes(run, NULL);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(work_is_in(run, i, in[i]));
	CHECK(run->part.t.scope.parent[1] == 0);
	assay_run_free(run);
	return 0;
}

TEST(a_range_the_recording_ended_in_is_flagged)
{
	assay_run *run = test_run();
	uint32_t h = add_range(run, 1, "open", 10, 490);
	run->part.t.host.args[h] = assay_sid_of(run, "\"domain\": \"x\", \"open_end\": true");
	add_range(run, 1, "closed", 20, 10);
	assay_scopes(run, NULL);
	CHECK(run->part.t.scope.flags[0] == ASSAY_SCOPE_OPEN && !run->part.t.scope.flags[1]);
	assay_run_free(run);
	return 0;
}

/* A recorder that pauses drops work and calls, and keeps the ranges: they go on counting. */
TEST(ranges_across_a_pause_hold_the_work_of_both_sides)
{
	assay_run *run = test_run();
	add_range(run, 1, "epoch", 0, 1000);    /* opened before the pause, closed behind it */
	add_range(run, 1, "before", 100, 200);  /* closed in the pause */
	add_range(run, 1, "paused", 350, 50);   /* wholly inside */
	add_range(run, 1, "resumed", 450, 100); /* opened in the pause */
	static const int64_t at[] = {150, 290, 510, 900}; /* nothing recorded from 300 to 500 */
	static const char *const in[] = {"epoch/before", "epoch/before", "epoch/resumed", "epoch"};
	for (uint32_t i = 0; i < 4; i++) {
		add_call(run, 1, at[i], i + 1);
		add_work(run, ASSAY_GPU_KERNEL, i + 1);
	}
	assay_scopes(run, NULL);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(work_is_in(run, i, in[i]));
	assay_run_free(run);
	return 0;
}

/* Which range caused what. Every range instance on a thread is a scope with an id of its own; calls
 * lie inside scopes, and GPU work has the scope of the call that launched it.
 *
 * Ids are made as XLA makes them: 15 bits of thread ordinal (given at the thread's first range), 48
 * bits of counter; beyond 32767 threads all share the prefix 10 and one counter, and ids are
 * negative. Ids an input gives stay as they are unless two inputs give the same one. */
#include "resolve/scopes.h"

#include "base/sort.h"
#include "base/test.h"

enum { ORDINAL_MAX = 32767 };

/* ------------------------------------------------------------------ ids and rows */

int64_t scopes_unused_id(scopes *s, struct thread_ids *ids)
{
	for (;;) {
		if (ids->ordinal == 0)
			ids->ordinal = s->ordinal < ORDINAL_MAX ? ++s->ordinal : ORDINAL_MAX + 1;
		int64_t id = ids->ordinal > ORDINAL_MAX
				     ? (int64_t)(1ull << 63 | (uint64_t)s->shared++)
				     : ids->ordinal << SCOPES_ORDINAL_SHIFT | ++ids->counter;
		if (assay_map_get(&s->used, (uint64_t)id) == ASSAY_MAP_ABSENT)
			return id;
	}
}

uint32_t scopes_new(scopes *s, int64_t id, uint32_t source)
{
	uint32_t r = assay_add(s->t, ASSAY_T_scope);
	s->t->scope.id[r] = id;
	s->t->scope.source[r] = source;
	*assay_map_at(&s->used, (uint64_t)id) = r;
	*assay_push(&s->root) = r;
	return r;
}

/* The row at the top of what is linked so far. */
static uint32_t root_of(scopes *s, uint32_t r)
{
	while (s->root.p[r] != r) {
		s->root.p[r] = s->root.p[s->root.p[r]];
		r = s->root.p[r];
	}
	return r;
}

/* Put a root under a range; what would close a circle stays a root. */
static void put_under(scopes *s, uint32_t root, uint32_t up)
{
	if (up == ASSAY_NO_ROW || s->t->scope.up[root] != ASSAY_NO_ROW)
		return;
	uint32_t top = root_of(s, up);
	if (top == root) {
		assay_count(&s->run->part, ASSAY_ISSUE_scope_cycle, 1);
		return;
	}
	s->t->scope.up[root] = up;
	s->root.p[root] = top;
}

/* ------------------------------------------------------------------ one thread */

static int scope_kind(const scopes *s, uint32_t h)
{
	switch ((assay_host_kind)s->t->host.kind[h]) {
	case ASSAY_HOST_ANNOTATION:
		return ASSAY_SCOPE_KIND_ANNOTATION;
	case ASSAY_HOST_MARKER:
		return ASSAY_SCOPE_KIND_MARKER;
	case ASSAY_HOST_OP:
		return s->opts.ops ? ASSAY_SCOPE_KIND_OP : -1;
	case ASSAY_HOST_PYTHON:
		return s->opts.python ? ASSAY_SCOPE_KIND_PYTHON : -1;
	case ASSAY_HOST_RUNTIME:
	case ASSAY_HOST_DRIVER:
	case ASSAY_HOST_OVERHEAD:
	case ASSAY_HOST_INSTANT:
	case ASSAY_HOST_OTHER:
	case ASSAY_HOST_KIND_COUNT:
		break;
	}
	return -1;
}

static uint32_t open_scope(scopes *s, uint32_t h, int kind, int64_t end, const struct frame *top,
			   struct thread_ids *ids)
{
	assay_scope_table *t = &s->t->scope;
	uint32_t track = s->t->host.track[h], r = assay_map_get(&s->host_given, h);
	if (r == ASSAY_MAP_ABSENT || t->host[r] != ASSAY_NO_ROW)
		r = scopes_new(s, scopes_unused_id(s, ids), scopes_source(s, track));
	t->name[r] = s->t->host.name[h];
	t->track[r] = track;
	t->ts[r] = s->t->host.ts[h];
	t->dur[r] = end - t->ts[r];
	t->host[r] = h;
	t->kind[r] = (uint8_t)kind;
	if (s->t->host.dur[h] < 0)
		t->flags[r] |= ASSAY_SCOPE_OPEN;
	if (!top || top->scope == ASSAY_NO_ROW)
		return r;
	bool given = t->up[r] != ASSAY_NO_ROW;
	put_under(s, r, top->scope);
	if (!given && t->up[r] != ASSAY_NO_ROW)
		t->parent[r] = t->id[t->up[r]];
	if (end > top->scope_end) {
		t->flags[r] |= ASSAY_SCOPE_OVERLAP;
		assay_count(&s->run->part, ASSAY_ISSUE_scope_overlap, 1);
	}
	return r;
}

/* A call whose scope the input gave: the given tree hangs where the call was made. */
static uint32_t given_call(scopes *s, uint32_t r, uint32_t around)
{
	uint32_t root = root_of(s, r);
	if (s->t->scope.kind[root] == ASSAY_SCOPE_KIND_GIVEN && around != ASSAY_NO_ROW &&
	    root_of(s, around) != root)
		put_under(s, root, around);
	return r;
}

static void walk_row(scopes *s, uint32_t h, struct thread_ids *ids)
{
	const assay_host_table *host = &s->t->host;
	int64_t ts = host->ts[h], last = s->last.p[scopes_source(s, host->track[h])];
	while (s->stack.n && s->stack.p[s->stack.n - 1].end <= ts)
		s->stack.n--;
	const struct frame *top = s->stack.n ? &s->stack.p[s->stack.n - 1] : NULL;
	int kind = scope_kind(s, h);
	int64_t end = host->dur[h] >= 0 ? ts + host->dur[h] : last > ts ? last : ts;
	struct frame f = {end, top ? top->scope_end : INT64_MAX, top ? top->scope : ASSAY_NO_ROW,
			  top ? top->forward : ASSAY_NO_ROW};
	if (kind >= 0) {
		f.scope = open_scope(s, h, kind, end, top, ids);
		f.scope_end = end;
	}
	if (scopes_is_backward(s->t, h))
		f.forward = scopes_forward_of(s, h);
	s->t->host_scope.scope[h] = f.scope;
	s->call_forward.p[h] = f.forward;
	if (kind >= 0 || host->kind[h] == ASSAY_HOST_OP) {
		*assay_push(&s->stack) = f;
		return;
	}
	uint32_t given = assay_map_get(&s->host_given, h);
	if (given != ASSAY_MAP_ABSENT)
		s->t->host_scope.scope[h] = given_call(s, given, f.scope);
}

/* Rows of each thread by start; of those that start together the longest first. */
static void walk_threads(scopes *s)
{
	assay_tables *t = s->t;
	size_t n = t->host.n, bytes = n * sizeof(uint32_t);
	uint32_t *rows = assay_pages_grow(NULL, 0, bytes + 1);
	int64_t *shorter = assay_pages_grow(NULL, 0, n * sizeof *shorter + 1);
	assay_vec(size_t) first = {0};
	for (size_t i = 0; i <= t->track.n; i++)
		*assay_push(&first) = 0;
	for (size_t h = 0; h < n; h++) {
		first.p[t->host.track[h] + 1]++;
		shorter[h] = t->host.dur[h] < 0 ? INT64_MIN : -t->host.dur[h];
	}
	for (size_t i = 0; i < t->track.n; i++)
		first.p[i + 1] += first.p[i];
	assay_vec(size_t) next = {0};
	for (size_t i = 0; i < t->track.n; i++)
		*assay_push(&next) = first.p[i];
	for (uint32_t h = 0; h < n; h++)
		rows[next.p[t->host.track[h]]++] = h;
	for (size_t i = 0; i < t->track.n; i++) {
		uint32_t *row = rows + first.p[i];
		size_t many = first.p[i + 1] - first.p[i];
		struct thread_ids ids = {0};
		assay_sort_rows(row, many, shorter);
		assay_sort_rows(row, many, t->host.ts);
		s->stack.n = 0;
		for (size_t k = 0; k < many; k++)
			walk_row(s, row[k], &ids);
	}
	assay_vec_free(&next);
	assay_vec_free(&first);
	assay_pages_free(shorter, n * sizeof *shorter + 1);
	assay_pages_free(rows, bytes + 1);
}

static void find_ends(scopes *s)
{
	const assay_tables *t = s->t;
	for (size_t i = 0; i <= t->source.n; i++)
		*assay_push(&s->last) = INT64_MIN;
	for (size_t h = 0; h < t->host.n; h++) {
		int64_t end = t->host.ts[h] + (t->host.dur[h] > 0 ? t->host.dur[h] : 0);
		int64_t *last = &s->last.p[scopes_source(s, t->host.track[h])];
		*last = end > *last ? end : *last;
	}
	for (size_t g = 0; g < t->gpu.n; g++) {
		int64_t end = t->gpu.ts[g] + (t->gpu.dur[g] > 0 ? t->gpu.dur[g] : 0);
		int64_t *last = &s->last.p[scopes_source(s, t->gpu.track[g])];
		*last = end > *last ? end : *last;
	}
}

/* ------------------------------------------------------------------ GPU work */

static void scope_work(scopes *s, uint32_t g)
{
	assay_tables *t = s->t;
	uint32_t call = t->launch.host[g], around = ASSAY_NO_ROW, fwd = ASSAY_NO_ROW;
	if (call != ASSAY_NO_ROW) {
		around = t->host_scope.scope[call];
		fwd = s->call_forward.p[call];
	}
	uint32_t scope = around,
		 how = around == ASSAY_NO_ROW ? ASSAY_SCOPE_HOW_NONE : ASSAY_SCOPE_HOW_LAUNCH;
	if (s->gpu_given.n && s->gpu_given.p[g] != ASSAY_NO_ROW) {
		scope = given_call(s, s->gpu_given.p[g], around);
		how = ASSAY_SCOPE_HOW_GIVEN;
	}
	t->gpu_scope.scope[g] = scope;
	t->gpu_scope.forward[g] = fwd == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->host_scope.scope[fwd];
	if (how == ASSAY_SCOPE_HOW_NONE && t->gpu_scope.forward[g] != ASSAY_NO_ROW)
		how = ASSAY_SCOPE_HOW_FORWARD;
	t->gpu_scope.how[g] = (uint8_t)how;
}

/* ------------------------------------------------------------------ all of it */

static void fill_rows(scopes *s)
{
	assay_tables *t = s->t;
	assay_reserve(t, ASSAY_T_host_scope, t->host.n);
	t->host_scope.n = t->host.n;
	for (size_t h = 0; h < t->host.n; h++) {
		t->host_scope.scope[h] = ASSAY_NO_ROW;
		*assay_push(&s->call_forward) = ASSAY_NO_ROW;
	}
	assay_reserve(t, ASSAY_T_gpu_scope, t->gpu.n);
	t->gpu_scope.n = t->gpu.n;
}

static void free_all(scopes *s)
{
	for (size_t i = 0; i < s->given.n; i++)
		assay_map_free(&s->given.p[i]);
	assay_vec_free(&s->given);
	assay_map_free(&s->used);
	assay_map_free(&s->host_given);
	assay_map_free(&s->forward);
	assay_map_free(&s->forward_thread);
	assay_vec_free(&s->gpu_given);
	assay_vec_free(&s->root);
	assay_vec_free(&s->depth);
	assay_vec_free(&s->given_root);
	assay_vec_free(&s->last);
	assay_vec_free(&s->forward_track);
	assay_vec_free(&s->call_forward);
	assay_vec_free(&s->stack);
}

void assay_scopes(assay_run *run, const assay_scope_opts *opts)
{
	scopes s = {.run = run, .t = &run->part.t, .opts = opts ? *opts : (assay_scope_opts){0}};
	assay_tables *t = s.t;
	if (t->launch.n != t->gpu.n)
		assay_link(run);
	t->scope.n = 0;
	fill_rows(&s);
	scopes_take_given(&s);
	find_ends(&s);
	scopes_index_forward(&s);
	walk_threads(&s);
	scopes_name_given(&s);
	for (uint32_t g = 0; g < t->gpu.n; g++)
		scope_work(&s, g);
	free_all(&s);
}

/* ------------------------------------------------------------------ tests */

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

TEST(R1_nested_ranges_and_one_launch_fill_the_tree)
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

TEST(R3_every_kind_of_event_carries_the_scope)
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

TEST(R4_no_scope_is_none_and_never_garbage)
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

TEST(R16_the_same_program_has_the_same_scopes_on_both_vendors)
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

TEST(R17_two_invocations_are_two_scopes)
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

TEST(D1_correlation_ids_beyond_32_bits_find_their_scope)
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

TEST(D5_a_range_open_before_the_first_call_is_on_its_path)
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

TEST(D6_no_number_of_ranges_loses_a_scope)
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

TEST(D9_nodes_of_a_graph_have_the_scope_of_its_launch)
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

TEST(R13_threads_and_sources_merge_without_collisions)
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

TEST(D8_the_same_id_in_two_inputs_is_two_scopes)
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

TEST(R12_two_parents_are_counted_and_the_first_stays)
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

TEST(threads_beyond_the_ordinals_share_negative_ids)
{
	enum { THREADS = ORDINAL_MAX + 3 };
	assay_run *run = test_run();
	for (int i = 0; i < THREADS; i++)
		add_range(run, i, "r", 0, 10);
	assay_scopes(run, NULL);
	const assay_scope_table *s = &run->part.t.scope;
	CHECK(s->n == THREADS && s->id[ORDINAL_MAX - 1] > 0);
	CHECK(s->id[ORDINAL_MAX] == INT64_MIN && s->id[ORDINAL_MAX + 1] == INT64_MIN + 1);
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

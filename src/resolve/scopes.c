/* Which range caused what. Every range instance on a thread is a scope with an id of its own; calls
 * lie inside scopes, and GPU work has the scope of the call that launched it.
 *
 * Ids are made as XLA makes them: 15 bits of thread ordinal (given at the thread's first range), 48
 * bits of counter; beyond 32767 threads all share the prefix 10 and one counter, and ids are
 * negative. Ids an input gives stay as they are unless two inputs give the same one. */
#include "resolve/scopes.h"

#include "base/beside.h"
#include "base/group.h"
#include "base/sort.h"

/* ------------------------------------------------------------------ ids and rows */

int64_t scopes_unused_id(scopes *s, struct thread_ids *ids)
{
	for (;;) {
		if (ids->ordinal == 0)
			ids->ordinal = s->ordinal < SCOPES_ORDINAL_MAX ? ++s->ordinal
								       : SCOPES_ORDINAL_MAX + 1;
		int64_t id = ids->ordinal > SCOPES_ORDINAL_MAX
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
	case ASSAY_HOST_PROCESS_RANGE:
		return ASSAY_SCOPE_KIND_PROCESS_RANGE;
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

/* Did the recording end inside the range? Readers then close it there and say so. */
static bool is_open(scopes *s, uint32_t h)
{
	assay_sid args = s->t->host.args[h];
	if (s->t->host.dur[h] < 0 || !args)
		return s->t->host.dur[h] < 0;
	uint32_t *slot = assay_map_at(&s->open_args, args);
	if (*slot == ASSAY_MAP_ABSENT)
		*slot = assay_str_find(assay_text(s->run, args), "\"" ASSAY_OPEN_END "\"") >= 0;
	return *slot;
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
	if (is_open(s, h))
		t->flags[r] |= ASSAY_SCOPE_OPEN;
	if (!top || top->scope == ASSAY_NO_ROW)
		return r;
	bool given = t->up[r] != ASSAY_NO_ROW;
	put_under(s, r, top->scope);
	if (!given && t->up[r] != ASSAY_NO_ROW)
		t->parent[r] = t->id[t->up[r]];
	if (end > top->scope_end && kind != ASSAY_SCOPE_KIND_PROCESS_RANGE) {
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

static void close_until(scopes *s, int64_t ts)
{
	while (s->stack.n && s->stack.p[s->stack.n - 1].end <= ts)
		s->stack.n--;
	while (s->started.n && s->started.p[s->started.n - 1].end <= ts)
		s->started.n--;
}

uint32_t scopes_open_at(scopes *s, int64_t ts)
{
	close_until(s, ts);
	uint32_t scope = s->stack.n ? s->stack.p[s->stack.n - 1].scope : ASSAY_NO_ROW;
	if (scope == ASSAY_NO_ROW && s->started.n)
		scope = s->started.p[s->started.n - 1].scope;
	return scope;
}

uint8_t scopes_how(const scopes *s, uint32_t scope)
{
	if (scope == ASSAY_NO_ROW)
		return ASSAY_SCOPE_HOW_NONE;
	return s->t->scope.kind[scope] == ASSAY_SCOPE_KIND_PROCESS_RANGE ? ASSAY_SCOPE_HOW_STARTED
									 : ASSAY_SCOPE_HOW_LAUNCH;
}

static void walk_row(scopes *s, uint32_t h, struct thread_ids *ids)
{
	const assay_host_table *host = &s->t->host;
	int64_t ts = host->ts[h], last = s->last.p[scopes_source(s, host->track[h])];
	uint32_t around = scopes_open_at(s, ts);
	const struct frame *top = s->stack.n ? &s->stack.p[s->stack.n - 1] : NULL;
	int kind = scope_kind(s, h);
	int64_t end = host->dur[h] >= 0 ? ts + host->dur[h] : last > ts ? last : ts;
	struct frame f = {end, top ? top->scope_end : INT64_MAX, top ? top->scope : ASSAY_NO_ROW,
			  top ? top->forward : ASSAY_NO_ROW};
	if (kind >= 0) {
		f.scope = open_scope(s, h, kind, end, top, ids);
		f.scope_end = end;
	}
	if (scopes_is_backward(s, h))
		f.forward = scopes_forward_of(s, h);
	s->t->host_scope.scope[h] = kind >= 0 ? f.scope : around;
	s->t->host_scope.how[h] = kind >= 0 ? ASSAY_SCOPE_HOW_LAUNCH : scopes_how(s, around);
	s->call_forward.p[h] = f.forward;
	if (kind == ASSAY_SCOPE_KIND_PROCESS_RANGE) {
		*assay_push(&s->started) = (struct started){end, f.scope};
		return;
	}
	if (kind >= 0 || host->kind[h] == ASSAY_HOST_OP) {
		*assay_push(&s->stack) = f;
		return;
	}
	uint32_t given = assay_map_get(&s->host_given, h);
	if (given != ASSAY_MAP_ABSENT) {
		s->t->host_scope.scope[h] = given_call(s, given, around);
		s->t->host_scope.how[h] = ASSAY_SCOPE_HOW_GIVEN;
	}
}

static size_t rows_bytes(const scopes *s)
{
	return s->t->host.n * sizeof *s->rows + 1;
}

/* Lengths of rows, of those never closed the longest; NULL when the host's own will do. */
static int64_t *closed_lengths(const assay_host_table *host)
{
	size_t open = 0;
	while (open < host->n && host->dur[open] >= 0)
		open++;
	if (open == host->n)
		return NULL;
	int64_t *length = assay_pages_grow(NULL, host->n * sizeof *length);
	for (size_t h = 0; h < host->n; h++)
		length[h] = host->dur[h] < 0 ? INT64_MAX : host->dur[h];
	return length;
}

/* Rows of each thread by start; of those that start together the longest first. */
static void order_rows(scopes *s)
{
	assay_tables *t = s->t;
	s->rows = assay_pages_grow(NULL, rows_bytes(s));
	assay_vec_reserve(&s->first, t->track.n + 1);
	assay_group_rows_in(s->rows, s->first.p, t->host.n, t->host.track, s->thread, t->track.n);
	int64_t *length = closed_lengths(&t->host);
	for (size_t i = 0; i < t->track.n; i++)
		assay_sort_spans(s->rows + s->first.p[i], s->first.p[i + 1] - s->first.p[i],
				 t->host.ts, length ? length : t->host.dur);
	assay_pages_free(length);
}

static void walk_threads(scopes *s)
{
	const assay_tables *t = s->t;
	for (size_t i = 0; i < t->track.n; i++) {
		const uint32_t *row = s->rows + s->first.p[i];
		size_t many = s->first.p[i + 1] - s->first.p[i];
		struct thread_ids ids = {0};
		size_t alloc = s->alloc_first.p[i];
		s->stack.n = s->started.n = 0;
		for (size_t k = 0; k < many; k++) {
			scopes_allocs_until(s, (uint32_t)i, &alloc, t->host.ts[row[k]]);
			walk_row(s, row[k], &ids);
		}
		scopes_allocs_until(s, (uint32_t)i, &alloc, INT64_MAX);
	}
}

static void find_ends(scopes *s)
{
	const assay_tables *t = s->t;
	for (size_t i = 0; i <= t->source.n; i++)
		*assay_push(&s->last) = INT64_MIN;
	for (size_t h = 0; h < t->host.n; h++) {
		int64_t end = assay_host_end(&t->host, (uint32_t)h);
		int64_t *last = &s->last.p[scopes_source(s, t->host.track[h])];
		*last = end > *last ? end : *last;
	}
	for (size_t g = 0; g < t->gpu.n; g++) {
		int64_t end = assay_gpu_end(&t->gpu, (uint32_t)g);
		int64_t *last = &s->last.p[scopes_source(s, t->gpu.track[g])];
		*last = end > *last ? end : *last;
	}
}

/* ------------------------------------------------------------------ GPU work */

static void scope_work(scopes *s, uint32_t g)
{
	assay_tables *t = s->t;
	uint32_t call = t->launch.host[g], around = ASSAY_NO_ROW, fwd = ASSAY_NO_ROW;
	uint32_t inferred = ASSAY_NO_ROW;
	if (call != ASSAY_NO_ROW) {
		bool own = t->host_scope.how[call] != ASSAY_SCOPE_HOW_INFERRED;
		*(own ? &around : &inferred) = t->host_scope.scope[call];
		fwd = s->call_forward.p[call];
	}
	uint32_t scope = around, how = scopes_how(s, around);
	if (s->gpu_given.n && s->gpu_given.p[g] != ASSAY_NO_ROW) {
		scope = given_call(s, s->gpu_given.p[g], around);
		how = ASSAY_SCOPE_HOW_GIVEN;
	}
	uint32_t forward = fwd == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->host_scope.scope[fwd];
	if (forward != ASSAY_NO_ROW && t->host_scope.how[fwd] == ASSAY_SCOPE_HOW_INFERRED)
		forward = ASSAY_NO_ROW;
	if (how == ASSAY_SCOPE_HOW_NONE && inferred != ASSAY_NO_ROW) {
		how = ASSAY_SCOPE_HOW_INFERRED;
		scope = inferred;
	} else if (how == ASSAY_SCOPE_HOW_NONE && forward != ASSAY_NO_ROW) {
		how = ASSAY_SCOPE_HOW_FORWARD;
	}
	t->gpu_scope.scope[g] = scope;
	t->gpu_scope.forward[g] = forward;
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
		t->host_scope.how[h] = ASSAY_SCOPE_HOW_NONE;
		*assay_push(&s->call_forward) = ASSAY_NO_ROW;
	}
	assay_reserve(t, ASSAY_T_gpu_scope, t->gpu.n);
	t->gpu_scope.n = t->gpu.n;
	for (size_t g = 0; g < t->gpu.n; g++)
		t->gpu_scope.step[g] = ASSAY_NO_ROW;
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
	assay_pages_free(s->rows);
	assay_pages_free(s->thread);
	assay_vec_free(&s->first);
	assay_vec_free(&s->stack);
	assay_vec_free(&s->started);
	assay_vec_free(&s->alloc_rows);
	assay_vec_free(&s->alloc_first);
	assay_map_free(&s->open_args);
	assay_map_free(&s->marked);
	assay_vec_free(&s->marked_ops);
}

static void index_forward(void *arg)
{
	scopes_index_forward(arg);
}

void assay_scopes(assay_run *run, const assay_scope_opts *opts)
{
	scopes s = {.run = run, .t = &run->part.t, .opts = opts ? *opts : (assay_scope_opts){0}};
	assay_tables *t = s.t;
	run->scoped = !opts;
	static const assay_issue counted[] = {ASSAY_ISSUE_scope_conflict, ASSAY_ISSUE_scope_cycle,
					      ASSAY_ISSUE_scope_overlap};
	for (size_t i = 0; i < ASSAY_COUNT_OF(counted); i++)
		run->part.issues[counted[i]] = 0; /* of a call with other opts */
	if (t->launch.n != t->gpu.n)
		assay_link(run);
	t->scope.n = 0;
	fill_rows(&s);
	scopes_take_given(&s);
	assay_beside forward;
	assay_beside_start(&forward, assay_run_threads_for(run, t->host.n), index_forward, &s);
	find_ends(&s);
	scopes_index_allocs(&s);
	s.thread = assay_pages_grow(NULL, (t->track.n + 1) * sizeof *s.thread);
	assay_threads_of_lines(run, s.thread);
	order_rows(&s);
	assay_beside_join(&forward);
	walk_threads(&s);
	if (!s.opts.exact)
		scopes_hand_over(&s);
	scopes_name_given(&s);
	for (uint32_t g = 0; g < t->gpu.n; g++)
		scope_work(&s, g);
	scopes_of_graphs(&s);
	scopes_of_events(&s);
	free_all(&s);
}

/* Runs, parts, tracks, and the generic merge that lets threads parse on their own. */
#include "model/run.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/test.h"
#include "base/turns.h"
#include "model/kept_calls.h"
#include "model/sound.h"
#include "names/copies.h"

const assay_issue_info assay_issue_infos[ASSAY_ISSUE_COUNT] = {
#define ISSUE(id, severity, text) {#id, #severity, text},
#include "model/issue.def"
#undef ISSUE
};

static uint64_t track_key(uint32_t source, assay_track_kind kind, int64_t pid, int64_t tid,
			  assay_sid process, assay_sid name)
{
	/* two tracks with one key would be merged: 64 bits make that a chance of 1 in 10^13 for
	 * thousands of tracks, and assay_track() checks the columns anyway */
	struct {
		int64_t pid, tid;
		uint32_t source, kind, process, name;
	} k = {pid, tid, source, kind, pid < 0 ? process : 0, tid < 0 ? name : 0};
	return assay_hash(&k, sizeof k, 0);
}

static bool same_track(const assay_track_table *t, uint32_t r, uint32_t source,
		       assay_track_kind kind, int64_t pid, int64_t tid, assay_sid process,
		       assay_sid name)
{
	return t->source[r] == source && t->kind[r] == kind && t->pid[r] == pid &&
	       t->tid[r] == tid && (pid >= 0 || t->process[r] == process) &&
	       (tid >= 0 || t->name[r] == name);
}

uint32_t assay_track(assay_part *p, assay_track_kind kind, int64_t pid, int64_t tid,
		     assay_sid process, assay_sid name)
{
	assay_track_table *t = &p->t.track;
	assert(kind < ASSAY_TRACK_KIND_COUNT);
	uint64_t key = track_key(p->source, kind, pid, tid, process, name);
	uint32_t *slot;
	while (*(slot = assay_map_at(&p->tracks, key)) != ASSAY_MAP_ABSENT) {
		if (same_track(t, *slot, p->source, kind, pid, tid, process, name))
			return *slot;
		key++;
	}
	uint32_t r = *slot = assay_add(&p->t, ASSAY_T_track);
	t->source[r] = p->source;
	t->kind[r] = (uint8_t)kind;
	t->pid[r] = pid;
	t->tid[r] = tid;
	t->process[r] = process;
	t->name[r] = name;
	return r;
}

uint32_t assay_thread_track(assay_part *p, int64_t pid, int64_t tid)
{
	return assay_track(p, ASSAY_TRACK_THREAD, pid, tid, 0, 0);
}

uint32_t assay_stream_track(assay_part *p, int64_t device, int64_t stream)
{
	return assay_track(p, ASSAY_TRACK_STREAM, device, stream, 0, 0);
}

void assay_part_free(assay_part *p)
{
	assay_tables_free(&p->t);
	assay_pool_free(&p->strings);
	assay_map_free(&p->tracks);
}

static uint32_t move_row(const assay_moved *moved, assay_table_id to, uint32_t row)
{
	if (row == ASSAY_NO_ROW || to == ASSAY_T_NONE)
		return row;
	if (to == ASSAY_T_STRINGS) {
		assert(row < moved->sid.n);
		return moved->sid.p[row];
	}
	if (to == ASSAY_T_track) {
		assert(row < moved->track.n);
		return moved->track.p[row];
	}
	if (to == ASSAY_T_source && !moved->whole)
		return row;
	return row + (uint32_t)moved->base[to];
}

/* Bring moved up to date with the strings and tracks src gained since the last time. */
static void map_names(assay_part *dst, assay_part *src, assay_moved *moved)
{
	for (size_t i = moved->sid.n; i < src->strings.str.n; i++)
		*assay_push(&moved->sid) = assay_intern(&dst->strings, src->strings.str.p[i]);
	if (!moved->sid.n)
		*assay_push(&moved->sid) = 0;
	const assay_track_table *t = &src->t.track;
	uint32_t source = dst->source;
	for (size_t i = moved->track.n; i < t->n; i++) {
		dst->source = move_row(moved, ASSAY_T_source, t->source[i]);
		uint32_t r = assay_track(dst, t->kind[i], t->pid[i], t->tid[i],
					 moved->sid.p[t->process[i]], moved->sid.p[t->name[i]]);
		*assay_push(&moved->track) = r;
	}
	dst->source = source;
}

static void move_ids(uint32_t *to, const uint32_t *from, size_t n, const uint32_t *map)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] == ASSAY_NO_ROW ? ASSAY_NO_ROW : map[from[i]];
}

static void shift_rows(uint32_t *to, const uint32_t *from, size_t n, size_t base)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] == ASSAY_NO_ROW ? ASSAY_NO_ROW : from[i] + (uint32_t)base;
}

/* Apart from move_choices(), for every span of the host has one. */
static void move_details(uint32_t *to, const assay_host_table *h, const size_t *base)
{
	for (size_t i = 0; i < h->n; i++)
		to[i] = h->detail[i] == ASSAY_NO_ROW
				? ASSAY_NO_ROW
				: h->detail[i] + (uint32_t)base[assay_host_detail[h->kind[i]]];
}

static void move_choices(uint32_t *to, const uint32_t *from, const assay_tables *t,
			 const assay_table_info *info, const assay_col_info *col,
			 const assay_moved *moved)
{
	for (size_t i = 0; i < assay_rows(t, info); i++)
		to[i] = move_row(moved, col->kind->choose(t, info->id, i), from[i]);
}

static assay_table_head *head_of(assay_part *p, assay_table_id id)
{
	return assay_table_at(&p->t, &assay_table_infos[id]);
}

static void set_rows(assay_table_head *h, size_t n)
{
	h->used = h->used < h->n ? h->n : h->used;
	h->n = n;
	h->used = h->used < n ? n : h->used;
}

/* Tracks are merged by identity; the sources of a worker's part are the run's. */
static bool moves(assay_table_id id, const assay_moved *moved)
{
	return id != ASSAY_T_track && (id != ASSAY_T_source || moved->whole);
}

static void move_rows(uint32_t *to, const uint32_t *from, size_t n, assay_table_id refers,
		      const assay_moved *moved)
{
	if (refers == ASSAY_T_track)
		move_ids(to, from, n, moved->track.p);
	else if (refers != ASSAY_T_source || moved->whole)
		shift_rows(to, from, n, moved->base[refers]);
	else
		memcpy(to, from, n * sizeof *to);
}

static bool all_zero(const char *p, size_t bytes)
{
	return !*p && !memcmp(p, p + 1, bytes - 1);
}

static void fill_table(assay_part *dst, assay_part *src, assay_table_id id,
		       const assay_moved *moved)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t n = head_of(src, id)->n;
	for (size_t c = 0; n && c < info->cols; c++) {
		const assay_col_info *col = &info->col[c];
		if (col->spare && moved->lean && col->at != moved->but)
			continue;
		char *in = assay_values(&src->t, info, col);
		char *out = (char *)assay_values(&dst->t, info, col) + moved->base[id] * col->width;
		uint32_t *out_ids = (uint32_t *)(void *)out;
		const uint32_t *in_ids = (const uint32_t *)(void *)in;
		/* pages that nobody writes to cost nothing */
		if (moved->fresh[id] && !col->absent && col->kind->type != ASSAY_COL_row &&
		    all_zero(in, n * col->width)) {
			assay_assert_zero(out, n * col->width);
			continue;
		}
		if (col->kind->type == ASSAY_COL_sid)
			move_ids(out_ids, in_ids, n, moved->sid.p);
		else if (col->kind->type == ASSAY_COL_row)
			move_rows(out_ids, in_ids, n, col->kind->refers, moved);
		else if (id == ASSAY_T_host && col->kind->type == ASSAY_COL_choice)
			move_details(out_ids, &src->t.host, moved->base);
		else if (col->kind->type == ASSAY_COL_choice)
			move_choices(out_ids, in_ids, &src->t, info, col, moved);
		else
			memcpy(out, in, n * col->width);
	}
}

struct assay_gate {
	pthread_rwlock_t lock; /* read: filling; write: columns may move */
};

assay_gate *assay_gate_new(assay_arena *a)
{
	assay_gate *gate = assay_alloc(a, sizeof *gate);
	pthread_rwlock_init(&gate->lock, NULL);
	return gate;
}

void assay_gate_free(assay_gate *gate)
{
	pthread_rwlock_destroy(&gate->lock);
}

static void unlock_gate(void *gate)
{
	pthread_rwlock_unlock(&((assay_gate *)gate)->lock);
}

/* Growing moves columns: nobody may be filling then. */
static void reserve_all(assay_gate *gate, assay_part *dst, assay_part *src,
			const assay_moved *moved)
{
	bool room = true;
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		if (moves(id, moved) &&
		    head_of(dst, id)->cap - head_of(dst, id)->n < head_of(src, id)->n)
			room = false;
	if (room)
		return;
	assay_undo undo = {0};
	if (gate) {
		pthread_rwlock_wrlock(&gate->lock);
		assay_undo_add(&undo, unlock_gate, gate);
	}
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		if (moves(id, moved))
			assay_reserve(&dst->t, id, head_of(src, id)->n);
	assay_undo_drop(&undo);
	if (gate)
		unlock_gate(gate);
}

void assay_part_expect(assay_part *dst, const assay_part *first, uint64_t windows)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++) {
		size_t n = assay_rows(&first->t, &assay_table_infos[id]);
		uint64_t rows = n * (windows + 1);
		if (n && windows && id != ASSAY_T_track && rows < UINT32_MAX / 2)
			assay_reserve(&dst->t, id, (size_t)rows);
	}
}

void assay_part_claim(assay_gate *gate, assay_part *dst, assay_part *src, assay_moved *moved)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++) {
		moved->base[id] = head_of(dst, id)->n;
		moved->fresh[id] = head_of(dst, id)->used <= moved->base[id];
	}
	map_names(dst, src, moved);
	reserve_all(gate, dst, src, moved);
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		if (moves(id, moved))
			set_rows(head_of(dst, id), head_of(dst, id)->n + head_of(src, id)->n);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		dst->issues[i] += src->issues[i];
}

void assay_part_fill(assay_gate *gate, assay_part *dst, assay_part *src, assay_moved *moved)
{
	if (gate)
		pthread_rwlock_rdlock(&gate->lock);
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		if (moves(id, moved))
			fill_table(dst, src, id, moved);
	if (gate)
		pthread_rwlock_unlock(&gate->lock);
	assay_part_clear(src);
}

void assay_part_move(assay_part *dst, assay_part *src, assay_moved *moved)
{
	assay_part_claim(NULL, dst, src, moved);
	assay_part_fill(NULL, dst, src, moved);
}

void assay_part_clear(assay_part *src)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		if (id != ASSAY_T_track)
			set_rows(head_of(src, id), 0);
	memset(src->issues, 0, sizeof src->issues);
}

void assay_moved_free(assay_moved *moved)
{
	assay_vec_free(&moved->sid);
	assay_vec_free(&moved->track);
}

void assay_meta_add(assay_part *p, const char *key, assay_str value)
{
	uint32_t r = assay_add(&p->t, ASSAY_T_meta);
	p->t.meta.source[r] = p->source;
	p->t.meta.key[r] = assay_intern_z(&p->strings, key);
	p->t.meta.value[r] = assay_intern(&p->strings, value);
}

assay_str assay_meta_get(const assay_run *run, const char *key)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_sid id = assay_pool_find(&run->part.strings, assay_str_of(key));
	for (size_t i = 0; id && i < m->n; i++)
		if (m->key[i] == id)
			return assay_text(run, m->value[i]);
	return (assay_str){"", 0};
}

static uint32_t find_name(const assay_run *run, const assay_sid *names, size_t n, const char *name)
{
	assay_sid id = assay_pool_find(&run->part.strings, assay_str_of(name));
	for (uint32_t i = 0; id && i < n; i++)
		if (names[i] == id)
			return i;
	return ASSAY_NO_ROW;
}

uint32_t assay_metric_find(const assay_run *run, const char *name)
{
	return find_name(run, run->part.t.metric.name, run->part.t.metric.n, name);
}

uint32_t assay_metric_known(const assay_run *run, const char *name)
{
	uint32_t r = assay_metric_find(run, name);
	bool known = r != ASSAY_NO_ROW && run->part.t.metric.state[r] != ASSAY_STATE_UNKNOWN;
	return known ? r : ASSAY_NO_ROW;
}

uint32_t assay_budget_find(const assay_run *run, const char *name)
{
	return find_name(run, run->part.t.budget.name, run->part.t.budget.n, name);
}

void assay_warn(assay_run *run, const char *id, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	uint32_t r = assay_add(&run->part.t, ASSAY_T_warning);
	run->part.t.warning.id[r] = assay_sid_of(run, id);
	run->part.t.warning.text[r] = assay_sid_of(run, text);
}

static assay_run *new_run(assay_owner *owner)
{
	assay_arena a = {0};
	assay_run *run = assay_alloc(&a, sizeof *run);
	run->arena = a;
	run->owner = owner;
	run->part.source = ASSAY_NO_ROW;
	return run;
}

static assay_run *run_or_null(assay_owner *owner)
{
	assay_frame f;
	ASSAY_ENTER(&f, owner, NULL, NULL);
	assay_run *run = new_run(owner);
	assay_leave(&f);
	return run;
}

/* Inside a call all memory is of the run that the call is for. */
assay_run *assay_run_new(void)
{
	if (assay_is_inside())
		return new_run(NULL);
	assay_owner *owner = assay_owner_new();
	assay_run *run = owner ? run_or_null(owner) : NULL;
	if (!run)
		assay_owner_free(owner);
	return run;
}

void assay_run_reset(assay_run *run)
{
	assay_part_clear(&run->part);
	run->part.t.track.n = 0;
	assay_pool_free(&run->part.strings);
	assay_map_free(&run->part.tracks);
}

assay_run assay_run_view(const assay_run *run, assay_arena *a)
{
	const assay_pool *from = &run->part.strings;
	assay_run view = {.part.t = run->part.t, .in_full = run->in_full};
	assay_pool *to = &view.part.strings;
	to->str.n = from->str.n;
	to->str.p = assay_alloc(a, (from->str.n + 1) * sizeof *to->str.p);
	if (from->str.n)
		memcpy(to->str.p, from->str.p, from->str.n * sizeof *to->str.p);
	return view;
}

unsigned assay_run_threads(const assay_run *run)
{
	return run->threads ? run->threads : assay_threads();
}

unsigned assay_run_threads_for(const assay_run *run, size_t rows)
{
	enum { ROWS_WORTH_A_THREAD = 20000 };
	return rows < ROWS_WORTH_A_THREAD ? 1 : assay_run_threads(run);
}

void assay_run_hold(assay_run *run)
{
	atomic_fetch_add(&run->holds, 1);
}

bool assay_moves_pages(const assay_run *run, uint32_t gpu)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	return g->kind[gpu] == ASSAY_GPU_MEMCPY &&
	       assay_copy_is_migration(assay_text(run, g->name[gpu]));
}

assay_why assay_why_unlaunched(const assay_run *run, uint32_t gpu)
{
	return assay_moves_pages(run, gpu) ? ASSAY_WHY_MIGRATION : ASSAY_WHY_UNLINKED;
}

void assay_run_free(assay_run *run)
{
	if (!run || atomic_fetch_sub(&run->holds, 1) > 0)
		return;
	assay_owner *owner = run->owner;
	if (!owner || !assay_owner_is_lost(owner)) {
		assay_part_free(&run->part);
		assay_kept_calls_free(run->kept_calls);
		assay_arena a = run->arena; /* the run itself lives in it */
		assay_arena_free(&a);
	}
	assay_owner_free(owner);
}

TEST(tracks_are_made_once)
{
	assay_part p = {0};
	uint32_t a = assay_thread_track(&p, 1, 2), b = assay_stream_track(&p, 1, 2);
	CHECK(a != b && assay_thread_track(&p, 1, 2) == a && assay_stream_track(&p, 1, 2) == b);
	uint32_t c =
		assay_track(&p, ASSAY_TRACK_THREAD, -1, 2, assay_intern_z(&p.strings, "Spans"), 0);
	CHECK(c != a && p.t.track.n == 3);
	assay_part_free(&p);
	return 0;
}

TEST(moving_a_part_maps_strings_tracks_and_details)
{
	assay_part dst = {0}, src = {0};
	assay_moved moved = {0};
	assay_intern_z(&dst.strings, "already here");
	assay_thread_track(&dst, 9, 9);
	for (int round = 0; round < 3; round++) {
		uint32_t op = assay_add(&src.t, ASSAY_T_op), h = assay_add(&src.t, ASSAY_T_host);
		src.t.op.external[op] = (uint32_t)round;
		src.t.host.name[h] = assay_intern_z(&src.strings, round ? "mul" : "add");
		src.t.host.track[h] = assay_thread_track(&src, 1, round);
		src.t.host.kind[h] = ASSAY_HOST_OP;
		src.t.host.detail[h] = op;
		assay_count(&src, ASSAY_ISSUE_bad_record, 1);
		assay_part_move(&dst, &src, &moved);
		CHECK(src.t.host.n == 0 && src.t.track.n == (size_t)round + 1);
	}
	CHECK(dst.t.host.n == 3 && dst.issues[ASSAY_ISSUE_bad_record] == 3 && dst.t.track.n == 4);
	CHECK(assay_str_is(assay_pool_get(&dst.strings, dst.t.host.name[2]), "mul"));
	CHECK(dst.t.track.tid[dst.t.host.track[2]] == 2);
	CHECK(dst.t.op.external[dst.t.host.detail[2]] == 2);
	assay_part_free(&dst);
	assay_part_free(&src);
	assay_moved_free(&moved);
	return 0;
}

TEST(rows_that_are_expected_have_room_at_once)
{
	assay_part dst = {0}, first = {0};
	assay_add(&first.t, ASSAY_T_op);
	assay_part_expect(&dst, &first, 0); /* nobody knows how much comes */
	CHECK_EQ(dst.t.op.cap, 0);
	assay_part_expect(&dst, &first, 9999);
	CHECK(dst.t.op.cap >= 10000 && !dst.t.op.n && !dst.t.host.cap);
	assay_part_free(&dst);
	assay_part_free(&first);
	return 0;
}

/* Rows that are claimed where others were before do not have what those had. */
TEST(rows_in_place_of_others_are_zero_where_they_say_so)
{
	assay_part dst = {0}, src = {0};
	assay_moved moved = {0};
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t g = assay_add(&src.t, ASSAY_T_gpu);
		src.t.gpu.graph[g] = round == 1 ? 0 : 7;
		assay_part_move(&dst, &src, &moved);
		CHECK(dst.t.gpu.n == 1 && dst.t.gpu.graph[0] == (round == 1 ? 0 : 7));
		if (round == 1)
			dst.t.gpu.n = 0;
		else
			assay_part_clear(&dst);
	}
	assay_part_free(&dst);
	assay_part_free(&src);
	assay_moved_free(&moved);
	return 0;
}

TEST(spare_columns_stay_behind_where_nobody_asks_for_them)
{
	for (int lean = 0; lean < 2; lean++) {
		assay_part dst = {0}, src = {0};
		assay_moved moved = {.lean = lean};
		uint32_t op = assay_add(&src.t, ASSAY_T_op), g = assay_add(&src.t, ASSAY_T_gpu);
		src.t.op.external[op] = 7;
		src.t.op.ev_idx[op] = src.t.gpu.queue[g] = src.t.gpu.dispatch[g] = 5;
		moved.but = offsetof(assay_gpu_table, dispatch);
		assay_part_move(&dst, &src, &moved);
		CHECK(dst.t.op.n == 1 && dst.t.op.external[0] == 7);
		CHECK_EQ(dst.t.op.ev_idx[0], lean ? 0 : 5);
		CHECK_EQ(dst.t.gpu.queue[0], lean ? 0 : 5);
		CHECK_EQ(dst.t.gpu.dispatch[0], 5);
		assay_part_free(&dst);
		assay_part_free(&src);
		assay_moved_free(&moved);
	}
	return 0;
}

TEST(rows_of_other_tables_follow_them_when_runs_are_joined)
{
	assay_part dst = {0}, src = {0};
	assay_moved moved = {.whole = true};
	for (int i = 0; i < 4; i++)
		assay_add(&dst.t, ASSAY_T_source);
	assay_add(&src.t, ASSAY_T_source);
	src.t.source.group[0] = 0;
	assay_add(&dst.t, ASSAY_T_gpu);
	assay_add(&dst.t, ASSAY_T_gpu);
	assay_add(&dst.t, ASSAY_T_scope);
	assay_intern_z(&dst.strings, "already here");
	uint32_t scope = assay_add(&src.t, ASSAY_T_scope), edge = assay_add(&src.t, ASSAY_T_edge);
	uint32_t given = assay_add(&src.t, ASSAY_T_given_scope);
	uint32_t kept = assay_add(&src.t, ASSAY_T_kept);
	src.t.scope.source[scope] = 0;
	src.t.scope.up[scope] = 0;
	src.t.edge.from_gpu[edge] = 3;
	src.t.given_scope.row[given] = 5;
	src.t.kept.of[kept] = ASSAY_KEPT_NAME;
	src.t.kept.row[kept] = assay_intern_z(&src.strings, "an event");
	assay_part_move(&dst, &src, &moved);
	CHECK(dst.t.source.n == 5 && dst.t.source.group[4] == 4);
	CHECK(dst.t.scope.up[1] == 1 && dst.t.scope.source[1] == 4);
	CHECK(dst.t.edge.from_gpu[0] == 5 && dst.t.edge.to_gpu[0] == ASSAY_NO_ROW);
	CHECK_EQ(dst.t.given_scope.row[0], 7);
	CHECK(assay_str_is(assay_pool_get(&dst.strings, dst.t.kept.row[0]), "an event"));
	assay_part_free(&dst);
	assay_part_free(&src);
	assay_moved_free(&moved);
	return 0;
}

#include "model/append.h"

#include "base/group.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

/* in assay_split_rows.to: comes along, its place is not known yet */
static const uint32_t GOES = ASSAY_NO_ROW - 1;

/* ------------------------------------------------------------------ whose rows */

/* The row that a column leads to in a table that moves and stands in front of its own. */
static uint32_t leads_to(const assay_split *s, const assay_table_info *info,
			 const assay_col_info *col, size_t row, assay_table_id *table)
{
	const assay_col_kind *kind = col->kind;
	*table = kind->choose ? kind->choose(&s->from->t, info->id, row) : kind->refers;
	if (*table >= info->id || !s->of[*table].to)
		return ASSAY_NO_ROW;
	return ((const uint32_t *)assay_values(&s->from->t, info, col))[row];
}

/* The source whose leaving takes the row along, by the first reference that leads to one. */
static uint32_t home_of(const assay_split *s, uint32_t *const *home, const assay_table_info *info,
			size_t row)
{
	uint32_t source = ASSAY_NO_ROW, at;
	assay_table_id table;
	if (info->id == ASSAY_T_source)
		return (uint32_t)row;
	if (info->each != ASSAY_T_NONE)
		return home[info->each] ? home[info->each][row] : ASSAY_NO_ROW;
	for (size_t c = 0; c < info->cols && source == ASSAY_NO_ROW; c++)
		if ((at = leads_to(s, info, &info->col[c], row, &table)) != ASSAY_NO_ROW)
			source = home[table][at];
	return source;
}

/* A detail is of one span, and leads to no source itself. */
static void find_homes_of_details(const assay_split *s, uint32_t *const *home)
{
	const assay_host_table *h = &s->from->t.host;
	for (size_t i = 0; home[ASSAY_T_host] && i < h->n; i++) {
		uint32_t *detail = home[assay_host_detail[h->kind[i]]];
		if (detail && h->detail[i] != ASSAY_NO_ROW)
			detail[h->detail[i]] = home[ASSAY_T_host][i];
	}
}

/* Rows by home, rising; those of none behind the last source. */
static void sort_by_home(assay_split *s, assay_split_rows *of, uint32_t *home, size_t n)
{
	uint32_t none = (uint32_t)s->from->t.source.n;
	of->row = assay_alloc(&s->arena, (n + 1) * sizeof *of->row);
	of->first = assay_alloc(&s->arena, (none + 2) * sizeof *of->first);
	for (size_t i = 0; i < n; i++)
		home[i] = home[i] == ASSAY_NO_ROW ? none : home[i];
	assay_group_rows(of->row, of->first, NULL, n, home, none + 1);
}

static size_t rows_of(const assay_split *s, assay_table_id id)
{
	return assay_rows(&s->from->t, &assay_table_infos[id]);
}

void assay_split_make(assay_split *s, const assay_part *from, const assay_table_id *tables,
		      size_t n)
{
	assay_arena scratch = {0};
	uint32_t *home[ASSAY_T_COUNT] = {0};
	*s = (assay_split){.from = from, .n = tables ? n : ASSAY_T_COUNT};
	s->sid = assay_alloc(&s->arena, (from->strings.str.n + 1) * sizeof *s->sid);
	for (size_t i = 0; i < s->n; i++) {
		assay_table_id id = s->table[i] = tables ? tables[i] : (assay_table_id)i;
		size_t rows = rows_of(s, id);
		s->of[id].to = assay_alloc(&s->arena, (rows + 1) * sizeof *s->of[id].to);
		memset(s->of[id].to, 0xff, rows * sizeof *s->of[id].to); /* ASSAY_NO_ROW */
		home[id] = assay_alloc(&scratch, (rows + 1) * sizeof **home);
		for (size_t r = 0; r < rows; r++)
			home[id][r] = home_of(s, home, &assay_table_infos[id], r);
	}
	find_homes_of_details(s, home);
	for (size_t i = 0; i < s->n; i++)
		sort_by_home(s, &s->of[s->table[i]], home[s->table[i]], rows_of(s, s->table[i]));
	assay_arena_free(&scratch);
}

void assay_split_free(assay_split *s)
{
	for (size_t i = 0; i < s->n; i++)
		assay_vec_free(&s->of[s->table[i]].going);
	assay_vec_free(&s->used);
	assay_vec_free(&s->homes);
	assay_arena_free(&s->arena);
}

/* ------------------------------------------------------------------ which rows */

/* Is all there that the row refers to, besides its home? */
static bool comes(const assay_split *s, const assay_table_info *info, size_t row)
{
	assay_table_id table;
	if (info->each != ASSAY_T_NONE)
		return !s->of[info->each].to || s->of[info->each].to[row] != ASSAY_NO_ROW;
	for (size_t c = 0; c < info->cols; c++) {
		uint32_t at = leads_to(s, info, &info->col[c], row, &table);
		if (at != ASSAY_NO_ROW && s->of[table].to[at] == ASSAY_NO_ROW)
			return false;
	}
	return true;
}

static void take(assay_split_rows *of, uint32_t row)
{
	of->to[row] = GOES;
	*assay_push(&of->going) = row;
}

static void choose_rows(assay_split *s, assay_table_id id)
{
	assay_split_rows *of = &s->of[id];
	for (size_t k = 0; k < s->homes.n; k++)
		for (size_t i = of->first[s->homes.p[k]]; i < of->first[s->homes.p[k] + 1]; i++)
			if (comes(s, &assay_table_infos[id], of->row[i]))
				take(of, of->row[i]);
}

/* Rows that stand before what they refer to bring it along: of all calls of an operator with one
 * shape, which is one row, only the first is named there, and it may be of another rank. */
static void bring_along(assay_split *s, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	const assay_split_rows *of = &s->of[id];
	for (size_t c = 0; c < info->cols; c++) {
		assay_table_id table = info->col[c].kind->refers;
		if (table >= ASSAY_T_COUNT || table <= id || !s->of[table].to)
			continue;
		const uint32_t *at = assay_values(&s->from->t, info, &info->col[c]);
		for (size_t i = 0; i < of->going.n; i++) {
			uint32_t row = at[of->going.p[i]];
			if (row != ASSAY_NO_ROW && s->of[table].to[row] == ASSAY_NO_ROW)
				take(&s->of[table], row);
		}
	}
}

static void choose_all(assay_split *s, const bool *skip)
{
	s->homes.n = 0;
	for (size_t i = 0; i <= s->from->t.source.n; i++)
		if (!skip || i == s->from->t.source.n || !skip[i])
			*assay_push(&s->homes) = i;
	for (size_t i = 0; i < s->n; i++)
		choose_rows(s, s->table[i]);
	for (size_t i = 0; i < s->n; i++)
		bring_along(s, s->table[i]);
	for (size_t i = 0; i < s->n; i++)
		assay_sort_u32(s->of[s->table[i]].going.p, s->of[s->table[i]].going.n);
}

/* ------------------------------------------------------------------ their copies */

static assay_sid move_text(assay_split *s, assay_part *to, assay_sid id)
{
	if (id && !s->sid[id]) {
		s->sid[id] = assay_intern(&to->strings, assay_pool_get(&s->from->strings, id));
		*assay_push(&s->used) = id;
	}
	return s->sid[id];
}

static uint32_t moved_row(assay_split *s, assay_part *to, assay_table_id table, uint32_t row)
{
	if (table == ASSAY_T_STRINGS)
		return move_text(s, to, row);
	return row == ASSAY_NO_ROW || table == ASSAY_T_NONE || !s->of[table].to
		       ? ASSAY_NO_ROW
		       : s->of[table].to[row];
}

/* Tracks are found by what they are, so they are made as readers make them. */
static uint32_t place_track(assay_split *s, assay_part *to, size_t row)
{
	const assay_track_table *t = &s->from->t.track;
	uint32_t source = to->source;
	to->source = moved_row(s, to, ASSAY_T_source, t->source[row]);
	uint32_t track =
		assay_track(to, t->kind[row], t->pid[row], t->tid[row],
			    move_text(s, to, t->process[row]), move_text(s, to, t->name[row]));
	to->source = source;
	return track;
}

static void place_rows(assay_split *s, assay_part *to, assay_table_id id)
{
	assay_split_rows *of = &s->of[id];
	for (size_t i = 0; i < of->going.n; i++) {
		uint32_t row = of->going.p[i];
		of->to[row] = id == ASSAY_T_track ? place_track(s, to, row) : assay_add(&to->t, id);
	}
}

static void copy_value(assay_split *s, assay_part *to, const assay_table_info *info,
		       const assay_col_info *col, size_t row, char *out)
{
	const char *in = assay_values(&s->from->t, info, col);
	uint32_t *id = (uint32_t *)(void *)out;
	memcpy(out, in + row * col->width, col->width);
	if (col->kind->type == ASSAY_COL_sid)
		*id = move_text(s, to, *id);
	else if (col->kind->type == ASSAY_COL_row)
		*id = moved_row(s, to, col->kind->refers, *id);
	else if (col->kind->type == ASSAY_COL_choice)
		*id = moved_row(s, to, col->kind->choose(&s->from->t, info->id, row), *id);
}

static void fill_rows(assay_split *s, assay_part *to, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	const assay_split_rows *of = &s->of[id];
	for (size_t c = 0; id != ASSAY_T_track && c < info->cols; c++) {
		const assay_col_info *col = &info->col[c];
		char *out = assay_values(&to->t, info, col);
		for (size_t i = 0; i < of->going.n; i++) {
			uint32_t row = of->going.p[i];
			copy_value(s, to, info, col, row, out + of->to[row] * col->width);
		}
	}
}

/* The group's first file may be left out. */
static void set_groups(assay_source_table *s, size_t first)
{
	for (size_t r = first; r < s->n; r++)
		if (s->group[r] == ASSAY_NO_ROW)
			s->group[r] = (uint32_t)r;
}

/* As before the first append, at the price of what this one touched. */
static void forget(assay_split *s)
{
	for (size_t i = 0; i < s->n; i++) {
		assay_split_rows *of = &s->of[s->table[i]];
		for (size_t k = 0; k < of->going.n; k++)
			of->to[of->going.p[k]] = ASSAY_NO_ROW;
		of->going.n = 0;
	}
	for (size_t i = 0; i < s->used.n; i++)
		s->sid[s->used.p[i]] = 0;
	s->used.n = 0;
}

void assay_split_append(assay_split *s, assay_part *to, const bool *skip)
{
	size_t sources = to->t.source.n;
	choose_all(s, skip);
	for (size_t i = 0; i < s->n; i++)
		place_rows(s, to, s->table[i]);
	for (size_t i = 0; i < s->n; i++)
		fill_rows(s, to, s->table[i]);
	set_groups(&to->t.source, sources);
	forget(s);
}

void assay_rows_append(assay_part *to, const assay_part *from, const assay_table_id *tables,
		       size_t n, const bool *skip)
{
	assay_split s;
	assay_split_make(&s, from, tables, n);
	assay_split_append(&s, to, skip);
	assay_split_free(&s);
}

/* ------------------------------------------------------------------ all but a few sources */

/* Rows that stay neighbours: so many at most that those on disk may rest before the next ones. */
enum { NEIGHBOURS = 32 << 10 };
struct stretch {
	uint32_t first, n, to;
};

struct moving {
	const assay_part *from;
	assay_part *to;
	assay_vec(struct stretch) of[ASSAY_T_COUNT];
	assay_sid *sid; /* 0: not needed yet */
};

static void find_stretches(struct moving *m, assay_table_id id, const bool *skip)
{
	uint32_t n = (uint32_t)assay_rows(&m->from->t, &assay_table_infos[id]);
	uint32_t to = (uint32_t)assay_rows(&m->to->t, &assay_table_infos[id]);
	struct stretch *last = NULL;
	for (uint32_t row = 0; row < n; row++) {
		uint32_t source = assay_row_source(&m->from->t, id, row);
		if (source != ASSAY_NO_ROW && skip[source]) {
			last = NULL;
			continue;
		}
		if (!last || last->n == NEIGHBOURS) {
			last = assay_push(&m->of[id]);
			*last = (struct stretch){row, 0, to};
		}
		last->n++;
		to++;
	}
}

static uint32_t place_of(const struct moving *m, assay_table_id id, uint32_t row)
{
	size_t low = 0, high = id < ASSAY_T_COUNT && row != ASSAY_NO_ROW ? m->of[id].n : 0;
	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct stretch *s = &m->of[id].p[mid];
		if (row >= s->first && row - s->first < s->n)
			return s->to + (row - s->first);
		if (row < s->first)
			high = mid;
		else
			low = mid + 1;
	}
	return ASSAY_NO_ROW;
}

static uint32_t place_of_text(struct moving *m, assay_sid id)
{
	if (id && !m->sid[id])
		m->sid[id] = assay_intern(&m->to->strings, assay_pool_get(&m->from->strings, id));
	return m->sid[id];
}

static void move_column(struct moving *m, const assay_table_info *info, const assay_col_info *col)
{
	const assay_col_kind *kind = col->kind;
	char *out = assay_values(&m->to->t, info, col), *in = assay_values(&m->from->t, info, col);
	for (size_t i = 0; i < m->of[info->id].n; i++) {
		const struct stretch *s = &m->of[info->id].p[i];
		uint32_t *id = (uint32_t *)(void *)(out + s->to * col->width);
		memcpy(id, in + s->first * col->width, s->n * col->width);
		for (uint32_t k = 0; kind->type == ASSAY_COL_sid && k < s->n; k++)
			id[k] = place_of_text(m, id[k]);
		for (uint32_t k = 0; kind->type == ASSAY_COL_row && k < s->n; k++)
			id[k] = place_of(m, kind->refers, id[k]);
		for (uint32_t k = 0; kind->type == ASSAY_COL_choice && k < s->n; k++)
			id[k] = place_of(m, kind->choose(&m->from->t, info->id, s->first + k),
					 id[k]);
		assay_pages_rest(out, s->to * col->width, (s->to + s->n) * col->width);
		assay_pages_rest(in, s->first * col->width, (s->first + s->n) * col->width);
	}
}

static void move_table(struct moving *m, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	assay_table_head *h = assay_table_at(&m->to->t, info);
	size_t n = 0;
	for (size_t i = 0; i < m->of[id].n; i++)
		n += m->of[id].p[i].n;
	assay_table_to_disk(&m->to->t, id, n);
	assay_reserve(&m->to->t, id, n);
	for (size_t c = 0; n && c < info->cols; c++)
		move_column(m, info, &info->col[c]);
	h->n += n;
	h->used = h->n > h->used ? h->n : h->used;
}

void assay_rows_move(assay_part *to, assay_part *from, const assay_table_id *tables, size_t n,
		     const bool *skip)
{
	size_t sources = to->t.source.n;
	struct moving m = {.from = from, .to = to};
	m.sid = assay_pages_grow(NULL, (from->strings.str.n + 1) * sizeof *m.sid);
	for (size_t i = 0; i < n; i++) {
		find_stretches(&m, tables[i], skip);
		assay_tables_rest(&from->t);
	}
	for (size_t i = 0; i < n; i++) {
		move_table(&m, tables[i]);
		assay_table_free(&from->t, tables[i]);
	}
	set_groups(&to->t.source, sources);
	for (size_t i = 0; i < n; i++)
		assay_vec_free(&m.of[tables[i]]);
	assay_pages_free(m.sid);
}

/* Two processes, each with a call that launched a kernel. */
static void add_processes(assay_run *run)
{
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t s = assay_add(t, ASSAY_T_source), api = assay_add(t, ASSAY_T_api),
			 h = assay_add(t, ASSAY_T_host);
		t->source.group[s] = s;
		run->part.source = s;
		t->api.corr[api] = 10 + i;
		t->host.kind[h] = ASSAY_HOST_RUNTIME;
		t->host.detail[h] = api;
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
		t->host.name[h] = assay_sid_of(run, i ? "second" : "first");
		uint32_t g = assay_hand_gpu(run, "k", 100 * i, 10, h),
			 k = assay_add(t, ASSAY_T_kept);
		t->kept.source[k] = s;
		t->kept.of[k] = ASSAY_KEPT_GPU;
		t->kept.row[k] = g;
		uint32_t call = assay_add(t, ASSAY_T_op_call),
			 given = assay_add(t, ASSAY_T_given_scope);
		t->op_call.gpu[call] = g;
		t->op_call.shape[call] = 0;
		t->given_scope.row[given] = g;
	}
	uint32_t shape = assay_add(t, ASSAY_T_op_shape);
	t->op_shape.call[shape] = 0;
	assay_add(t, ASSAY_T_stat);
}

TEST(rows_of_a_process_come_with_all_they_refer_to_and_without_the_other)
{
	assay_run *from = assay_run_new(), *to = assay_run_new();
	add_processes(from);
	assay_rows_append(&to->part, &from->part, NULL, 0, (const bool[]){true, false});
	const assay_tables *t = &to->part.t;
	CHECK(t->source.n == 1 && t->source.group[0] == 0 && t->track.n == 2);
	CHECK(t->host.n == 1 && t->api.n == 1 && t->gpu.n == 1 && t->launch.n == 1);
	CHECK(t->api.corr[t->host.detail[0]] == 11 && t->launch.host[0] == 0);
	CHECK(t->gpu.ts[0] == 100 && t->kept.n == 1 && t->kept.row[0] == 0);
	CHECK(assay_str_is(assay_text(to, t->host.name[0]), "second") && t->stat.n == 1);
	CHECK(!assay_pool_find(&to->part.strings, ASSAY_S("first")));
	CHECK(t->op_call.n == 1 && t->op_call.shape[0] == 0 && t->op_shape.n == 1);
	CHECK(t->given_scope.n == 1 && t->given_scope.row[0] == 0);
	CHECK_EQ(t->op_shape.call[0], ASSAY_NO_ROW);
	assay_rows_append(&to->part, &from->part, NULL, 0, (const bool[]){false, true});
	CHECK(t->source.n == 2 && t->source.group[1] == 1 && t->track.source[t->gpu.track[1]] == 1);
	CHECK(t->api.corr[t->host.detail[1]] == 10 && t->kept.row[1] == 1);
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}

TEST(a_split_gives_every_process_its_rows_in_order_whatever_it_gave_before)
{
	assay_run *from = assay_run_new();
	add_processes(from);
	add_processes(from); /* behind the others, of a source of theirs each */
	from->part.t.host.track[3] = 0;
	static const bool skips[][4] = {
		{false, true, true, true}, {true, false, true, false}, {false, true, true, true}};
	static const char *const names[][2] = {
		{"first", "second"}, {"second", "first"}, {"first", "second"}};
	assay_split s;
	assay_split_make(&s, &from->part, NULL, 0);
	for (size_t i = 0; i < 3; i++) {
		assay_run *to = assay_run_new();
		const assay_tables *t = &to->part.t;
		assay_split_append(&s, &to->part, skips[i]);
		CHECK_EQ(t->source.n, i == 1 ? 2 : 1);
		CHECK_EQ(t->host.n, i == 1 ? 1 : 2);
		for (size_t h = 0; h < t->host.n; h++) {
			CHECK(assay_str_is(assay_text(to, t->host.name[h]), names[i][h]));
			CHECK_EQ(t->host.detail[h], h);
		}
		CHECK(!!assay_pool_find(&to->part.strings, ASSAY_S("first")) == (i != 1));
		CHECK_EQ(t->stat.n, 2);
		assay_run_free(to);
	}
	assay_split_free(&s);
	assay_run_free(from);
	return 0;
}

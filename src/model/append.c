#include "model/append.h"

#include "base/test.h"
#include "model/by_hand.h"

/* in moving.row: comes along, its place is not known yet */
static const uint32_t GOES = ASSAY_NO_ROW - 1;

struct moving {
	assay_part *to;
	const assay_part *from;
	const bool *skip;
	assay_arena scratch;
	assay_sid *sid;               /* 0: not needed yet */
	uint32_t *row[ASSAY_T_COUNT]; /* where rows went, ASSAY_NO_ROW: left out; NULL: not moved */
};

/* ------------------------------------------------------------------ which rows */

static bool stays_with(const struct moving *m, const assay_table_info *info,
		       const assay_col_info *col, size_t row)
{
	assay_table_id to = col->kind->refers;
	if (to == ASSAY_T_NONE || to == info->id || !m->row[to])
		return true;
	uint32_t at = ((const uint32_t *)assay_values(&m->from->t, info, col))[row];
	return at == ASSAY_NO_ROW || m->row[to][at] != ASSAY_NO_ROW;
}

static bool stays(const struct moving *m, const assay_table_info *info, size_t row)
{
	if (info->id == ASSAY_T_source)
		return !m->skip || !m->skip[row];
	if (info->each != ASSAY_T_NONE)
		return !m->row[info->each] || m->row[info->each][row] != ASSAY_NO_ROW;
	for (size_t c = 0; c < info->cols; c++)
		if (!stays_with(m, info, &info->col[c], row))
			return false;
	return true;
}

static void choose_rows(struct moving *m, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t n = assay_rows(&m->from->t, info);
	m->row[id] = assay_alloc(&m->scratch, (n + 1) * sizeof **m->row);
	for (size_t i = 0; i < n; i++)
		m->row[id][i] = stays(m, info, i) ? GOES : ASSAY_NO_ROW;
}

/* Rows that stand before what they refer to bring it along: of all calls of an operator with one
 * shape, which is one row, only the first is named there, and it may be of another rank. */
static void bring_along(const struct moving *m, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t n = assay_rows(&m->from->t, info);
	for (size_t c = 0; c < info->cols; c++) {
		assay_table_id to = info->col[c].kind->refers;
		const uint32_t *at = assay_values(&m->from->t, info, &info->col[c]);
		for (size_t i = 0; to != ASSAY_T_NONE && to > id && m->row[to] && i < n; i++)
			if (m->row[id][i] != ASSAY_NO_ROW && at[i] != ASSAY_NO_ROW)
				m->row[to][at[i]] = GOES;
	}
}

/* A detail is of one span, and leads to no source itself. */
static void leave_details(const struct moving *m)
{
	const assay_host_table *h = &m->from->t.host;
	for (size_t i = 0; m->row[ASSAY_T_host] && i < h->n; i++) {
		uint32_t *details = m->row[assay_host_detail[h->kind[i]]];
		if (m->row[ASSAY_T_host][i] == ASSAY_NO_ROW && h->detail[i] != ASSAY_NO_ROW &&
		    details)
			details[h->detail[i]] = ASSAY_NO_ROW;
	}
}

/* ------------------------------------------------------------------ their copies */

static assay_sid move_text(struct moving *m, assay_sid id)
{
	if (id && !m->sid[id])
		m->sid[id] = assay_intern(&m->to->strings, assay_pool_get(&m->from->strings, id));
	return m->sid[id];
}

static uint32_t moved_row(struct moving *m, assay_table_id table, uint32_t row)
{
	if (table == ASSAY_T_STRINGS)
		return move_text(m, row);
	return row == ASSAY_NO_ROW || table == ASSAY_T_NONE || !m->row[table] ? ASSAY_NO_ROW
									      : m->row[table][row];
}

/* Tracks are found by what they are, so they are made as readers make them. */
static void place_track(struct moving *m, size_t row)
{
	const assay_track_table *t = &m->from->t.track;
	uint32_t source = m->to->source;
	m->to->source = moved_row(m, ASSAY_T_source, t->source[row]);
	m->row[ASSAY_T_track][row] =
		assay_track(m->to, t->kind[row], t->pid[row], t->tid[row],
			    move_text(m, t->process[row]), move_text(m, t->name[row]));
	m->to->source = source;
}

static void place_rows(struct moving *m, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	for (size_t i = 0; i < assay_rows(&m->from->t, info); i++) {
		if (m->row[id][i] == ASSAY_NO_ROW)
			continue;
		if (id == ASSAY_T_track)
			place_track(m, i);
		else
			m->row[id][i] = assay_add(&m->to->t, id);
	}
}

static void copy_value(struct moving *m, const assay_table_info *info, const assay_col_info *col,
		       size_t row, char *out)
{
	const char *in = assay_values(&m->from->t, info, col);
	uint32_t *id = (uint32_t *)(void *)out;
	memcpy(out, in + row * col->width, col->width);
	if (col->kind->type == ASSAY_COL_sid)
		*id = move_text(m, *id);
	else if (col->kind->type == ASSAY_COL_row)
		*id = moved_row(m, col->kind->refers, *id);
	else if (col->kind->type == ASSAY_COL_choice)
		*id = moved_row(m, col->kind->choose(&m->from->t, info->id, row), *id);
}

static void fill_rows(struct moving *m, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t n = assay_rows(&m->from->t, info);
	for (size_t c = 0; id != ASSAY_T_track && c < info->cols; c++) {
		char *out = assay_values(&m->to->t, info, &info->col[c]);
		for (size_t i = 0; i < n; i++)
			if (m->row[id][i] != ASSAY_NO_ROW)
				copy_value(m, info, &info->col[c], i,
					   out + m->row[id][i] * info->col[c].width);
	}
}

/* The group's first file may be left out. */
static void set_groups(assay_source_table *s, size_t first)
{
	for (size_t r = first; r < s->n; r++)
		if (s->group[r] == ASSAY_NO_ROW)
			s->group[r] = (uint32_t)r;
}

void assay_rows_append(assay_part *to, const assay_part *from, const assay_table_id *tables,
		       size_t n, const bool *skip)
{
	struct moving m = {.to = to, .from = from, .skip = skip};
	size_t sources = to->t.source.n;
	m.sid = assay_alloc(&m.scratch, (from->strings.str.n + 1) * sizeof *m.sid);
	n = tables ? n : ASSAY_T_COUNT;
	for (size_t i = 0; i < n; i++)
		choose_rows(&m, tables ? tables[i] : (assay_table_id)i);
	leave_details(&m);
	for (size_t i = 0; i < n; i++)
		bring_along(&m, tables ? tables[i] : (assay_table_id)i);
	for (size_t i = 0; i < n; i++)
		place_rows(&m, tables ? tables[i] : (assay_table_id)i);
	for (size_t i = 0; i < n; i++)
		fill_rows(&m, tables ? tables[i] : (assay_table_id)i);
	set_groups(&to->t.source, sources);
	assay_arena_free(&m.scratch);
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
		uint32_t call = assay_add(t, ASSAY_T_op_call);
		t->op_call.gpu[call] = g;
		t->op_call.shape[call] = 0;
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
	CHECK_EQ(t->op_shape.call[0], ASSAY_NO_ROW);
	assay_rows_append(&to->part, &from->part, NULL, 0, (const bool[]){false, true});
	CHECK(t->source.n == 2 && t->source.group[1] == 1 && t->track.source[t->gpu.track[1]] == 1);
	CHECK(t->api.corr[t->host.detail[1]] == 10 && t->kept.row[1] == 1);
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}

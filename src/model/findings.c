#include "model/findings.h"

#include "base/test.h"

const assay_table_id assay_findings_kept[] = {
	ASSAY_T_source, ASSAY_T_meta,       ASSAY_T_device,    ASSAY_T_device_time,
	ASSAY_T_step,   ASSAY_T_idle_cause, ASSAY_T_step_time, ASSAY_T_call,
	ASSAY_T_kernel, ASSAY_T_warning,    ASSAY_T_ledger,    ASSAY_T_off,
};
const size_t assay_findings_kept_count = ASSAY_COUNT_OF(assay_findings_kept);

struct moving {
	assay_part *to;
	const assay_part *from;
	const bool *skip;
	assay_arena scratch;
	assay_sid *sid;               /* 0: not needed yet */
	uint32_t *row[ASSAY_T_COUNT]; /* where rows went, ASSAY_NO_ROW: left out; NULL: not kept */
};

static assay_sid move_text(struct moving *m, assay_sid id)
{
	if (id && !m->sid[id])
		m->sid[id] = assay_intern(&m->to->strings, assay_pool_get(&m->from->strings, id));
	return m->sid[id];
}

static uint32_t moved_row(const struct moving *m, assay_table_id table, uint32_t row)
{
	return row == ASSAY_NO_ROW || !m->row[table] ? ASSAY_NO_ROW : m->row[table][row];
}

static uint32_t copy_row(struct moving *m, assay_table_id id, size_t row)
{
	const assay_table_info *info = &assay_table_infos[id];
	uint32_t r = assay_add(&m->to->t, id);
	for (size_t c = 0; c < info->cols; c++) {
		const assay_col_info *col = &info->col[c];
		char *out = (char *)assay_values(&m->to->t, info, col) + r * col->width;
		const char *in = (const char *)assay_values(&m->from->t, info, col);
		uint32_t *id_out = (uint32_t *)(void *)out;
		memcpy(out, in + row * col->width, col->width);
		if (col->kind->type == ASSAY_COL_sid)
			*id_out = move_text(m, *id_out);
		else if (col->kind->type == ASSAY_COL_row)
			*id_out = moved_row(m, col->kind->refers, *id_out);
		else if (col->kind->type == ASSAY_COL_choice)
			*id_out = ASSAY_NO_ROW;
	}
	return r;
}

/* Rows of a rank that is left out are too, and rows that refer to them. */
static bool stays(const struct moving *m, assay_table_id id, size_t row)
{
	const assay_table_info *info = &assay_table_infos[id];
	if (id == ASSAY_T_source)
		return !m->skip || !m->skip[row];
	for (size_t c = 0; c < info->cols; c++) {
		assay_table_id to = info->col[c].kind->refers;
		if (to == ASSAY_T_NONE || !m->row[to])
			continue;
		uint32_t at =
			((const uint32_t *)assay_values(&m->from->t, info, &info->col[c]))[row];
		if (at != ASSAY_NO_ROW && m->row[to][at] == ASSAY_NO_ROW)
			return false;
	}
	return true;
}

static void move_table(struct moving *m, assay_table_id id)
{
	size_t n = assay_rows(&m->from->t, &assay_table_infos[id]);
	m->row[id] = assay_alloc(&m->scratch, (n + 1) * sizeof **m->row);
	for (size_t i = 0; i < n; i++) {
		m->row[id][i] = ASSAY_NO_ROW;
		if (stays(m, id, i))
			m->row[id][i] = copy_row(m, id, i);
	}
}

/* The group's first file may be left out, or be the file itself. */
static void set_groups(const struct moving *m, size_t first)
{
	assay_source_table *s = &m->to->t.source;
	for (size_t r = first; r < s->n; r++)
		if (s->group[r] == ASSAY_NO_ROW)
			s->group[r] = (uint32_t)r;
}

void assay_findings_append(assay_part *to, const assay_part *from, const bool *skip)
{
	struct moving m = {.to = to, .from = from, .skip = skip};
	size_t sources = to->t.source.n;
	m.sid = assay_alloc(&m.scratch, (from->strings.str.n + 1) * sizeof *m.sid);
	for (size_t i = 0; i < assay_findings_kept_count; i++)
		move_table(&m, assay_findings_kept[i]);
	set_groups(&m, sources);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		to->issues[i] += from->issues[i];
	assay_arena_free(&m.scratch);
}

/* Two ranks with a device, two causes of idle and a step each. */
static void add_ranks(assay_run *run)
{
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t s = assay_add(t, ASSAY_T_source), d = assay_add(t, ASSAY_T_device_time);
		t->source.rank[s] = (int32_t)i;
		t->source.group[s] = t->device_time.source[d] = s;
		for (int k = 0; k < 2; k++) {
			uint32_t c = assay_add(t, ASSAY_T_idle_cause);
			t->idle_cause.device[c] = d;
		}
		uint32_t step = assay_add(t, ASSAY_T_step), on = assay_add(t, ASSAY_T_step_time);
		t->step.source[step] = s;
		t->step.name[step] = assay_sid_of(run, i ? "second" : "first");
		t->step_time.step[on] = step;
		t->step_time.device[on] = d;
		uint32_t c = assay_add(t, ASSAY_T_call);
		t->call.source[c] = s;
		t->call.row[c] = 7;
	}
	assay_sid_of(run, "nobody's");
	assay_count(&run->part, ASSAY_ISSUE_bad_record, 3);
}

TEST(findings_keep_their_rows_together_when_a_rank_is_left_out)
{
	assay_run *from = assay_run_new(), *to = assay_run_new();
	add_ranks(to);
	add_ranks(from);
	assay_findings_append(&to->part, &from->part, (const bool[]){true, false});
	const assay_tables *t = &to->part.t;
	CHECK(t->source.n == 3 && t->source.rank[2] == 1 && t->source.group[2] == 2);
	CHECK(t->device_time.n == 3 && t->device_time.source[2] == 2);
	CHECK(t->idle_cause.n == 6 && t->idle_cause.device[5] == 2);
	CHECK(t->step_time.n == 3 && t->step_time.step[2] == 2 && t->step_time.device[2] == 2);
	CHECK(t->step.source[2] == 2 && assay_str_is(assay_text(to, t->step.name[2]), "second"));
	CHECK(t->call.n == 3 && t->call.row[2] == ASSAY_NO_ROW && t->call.row[1] == 7);
	CHECK_EQ(to->part.issues[ASSAY_ISSUE_bad_record], 6);
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}

TEST(only_strings_that_findings_use_come_along)
{
	assay_run *from = assay_run_new(), *to = assay_run_new();
	add_ranks(from);
	assay_findings_append(&to->part, &from->part, NULL);
	CHECK(assay_pool_find(&to->part.strings, ASSAY_S("second")));
	CHECK(!assay_pool_find(&to->part.strings, ASSAY_S("nobody's")));
	assay_run_free(from);
	assay_run_free(to);
	return 0;
}

#include "model/findings.h"

#include "base/test.h"

/* Where rows of `from` are in `to`; ASSAY_NO_ROW for those left out. */
struct moving {
	assay_part *to;
	const assay_part *from;
	const bool *skip;
	assay_arena scratch;
	assay_sid *sid; /* 0: not needed yet */
	uint32_t *source, *device, *step;
};

static assay_sid move_text(struct moving *m, assay_sid id)
{
	if (id && !m->sid[id])
		m->sid[id] = assay_intern(&m->to->strings, assay_pool_get(&m->from->strings, id));
	return m->sid[id];
}

static uint32_t copy_row(struct moving *m, assay_table_id id, size_t row)
{
	const assay_table_info *info = &assay_table_infos[id];
	uint32_t r = assay_add(&m->to->t, id);
	for (size_t c = 0; c < info->cols; c++) {
		size_t width = assay_col_width(info->col[c].type);
		char *out = (char *)assay_values(&m->to->t, info, &info->col[c]) + r * width;
		const char *in = (const char *)assay_values(&m->from->t, info, &info->col[c]);
		uint32_t *id_out = (uint32_t *)(void *)out;
		memcpy(out, in + row * width, width);
		if (info->col[c].type == ASSAY_COL_sid)
			*id_out = move_text(m, *id_out);
		else if (info->col[c].type == ASSAY_COL_source && *id_out != ASSAY_NO_ROW)
			*id_out = m->source[*id_out];
	}
	return r;
}

static bool wanted(const struct moving *m, uint32_t source)
{
	return source == ASSAY_NO_ROW || m->source[source] != ASSAY_NO_ROW;
}

static void move_sources(struct moving *m)
{
	const assay_source_table *s = &m->from->t.source;
	for (uint32_t i = 0; i < s->n; i++) {
		m->source[i] = ASSAY_NO_ROW;
		if (m->skip && m->skip[i])
			continue;
		uint32_t r = m->source[i] = copy_row(m, ASSAY_T_source, i);
		uint32_t group = s->group[i] < i ? m->source[s->group[i]] : r;
		m->to->t.source.group[r] = group == ASSAY_NO_ROW ? r : group;
	}
}

/* Rows of a table with a column `source`; moved[i] says where they went, NULL when nobody asks. */
static void move_rows(struct moving *m, assay_table_id id, const uint32_t *source, size_t n,
		      uint32_t *moved)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t r = wanted(m, source[i]) ? copy_row(m, id, i) : ASSAY_NO_ROW;
		if (moved)
			moved[i] = r;
	}
}

static void move_device_rows(struct moving *m)
{
	const assay_tables *t = &m->from->t;
	for (size_t i = 0; i < t->idle_cause.n; i++)
		if (m->device[t->idle_cause.device[i]] != ASSAY_NO_ROW) {
			uint32_t r = copy_row(m, ASSAY_T_idle_cause, i);
			m->to->t.idle_cause.device[r] = m->device[t->idle_cause.device[i]];
		}
	for (size_t i = 0; i < t->step_time.n; i++)
		if (m->device[t->step_time.device[i]] != ASSAY_NO_ROW) {
			uint32_t r = copy_row(m, ASSAY_T_step_time, i);
			m->to->t.step_time.device[r] = m->device[t->step_time.device[i]];
			m->to->t.step_time.step[r] = m->step[t->step_time.step[i]];
		}
}

void assay_findings_append(assay_part *to, const assay_part *from, const bool *skip)
{
	struct moving m = {.to = to, .from = from, .skip = skip};
	const assay_tables *t = &from->t;
	m.sid = assay_alloc(&m.scratch, (from->strings.str.n + 1) * sizeof *m.sid);
	m.source = assay_alloc(&m.scratch, (t->source.n + 1) * sizeof *m.source);
	m.device = assay_alloc(&m.scratch, (t->device_time.n + 1) * sizeof *m.device);
	m.step = assay_alloc(&m.scratch, (t->step.n + 1) * sizeof *m.step);
	uint32_t calls = (uint32_t)to->t.call.n;
	move_sources(&m);
	move_rows(&m, ASSAY_T_meta, t->meta.source, t->meta.n, NULL);
	move_rows(&m, ASSAY_T_device, t->device.source, t->device.n, NULL);
	move_rows(&m, ASSAY_T_device_time, t->device_time.source, t->device_time.n, m.device);
	move_rows(&m, ASSAY_T_step, t->step.source, t->step.n, m.step);
	move_rows(&m, ASSAY_T_call, t->call.source, t->call.n, NULL);
	for (size_t i = calls; i < to->t.call.n; i++)
		to->t.call.row[i] = ASSAY_NO_ROW;
	move_device_rows(&m);
	for (size_t i = 0; i < t->kernel.n; i++)
		copy_row(&m, ASSAY_T_kernel, i);
	for (size_t i = 0; i < t->warning.n; i++)
		copy_row(&m, ASSAY_T_warning, i);
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

#include "analyze/idle_lines.h"

#include "base/sort.h"

void assay_idle_lines_init(assay_idle_lines *l, assay_run *run)
{
	*l = (assay_idle_lines){.run = run, .first = run->part.t.idle_line.n};
}

uint32_t assay_culprit_call(const assay_tables *t, uint32_t sample)
{
	uint32_t who = sample == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->seen.culprit[sample];
	return who == ASSAY_NO_ROW ? ASSAY_NO_ROW : assay_own_call(t, t->sample.stack[who]);
}

uint64_t assay_line_key(const assay_tables *t, uint32_t stack)
{
	return stack == ASSAY_NO_ROW ? 0
				     : (uint64_t)(t->stack.code[stack] + 1) << 32 |
					       (uint32_t)t->stack.line[stack];
}

void assay_idle_lines_add(assay_idle_lines *l, uint32_t device, assay_why cause, uint32_t stack,
			  uint32_t sample, int64_t dur)
{
	assay_tables *t = &l->run->part.t;
	uint32_t own = assay_own_call(t, stack), culprit = assay_culprit_call(t, sample);
	if (own == ASSAY_NO_ROW)
		return;
	uint64_t key[3] = {(uint64_t)device << 8 | (uint64_t)cause, assay_line_key(t, own),
			   assay_line_key(t, culprit)};
	uint32_t *slot = assay_map_at(&l->rows, assay_hash(key, sizeof key, 0)), row = *slot;
	if (row == ASSAY_MAP_ABSENT) {
		row = *slot = assay_add(t, ASSAY_T_idle_line);
		t->idle_line.device[row] = device;
		t->idle_line.cause[row] = (uint8_t)cause;
		t->idle_line.stack[row] = own;
		t->idle_line.culprit[row] = culprit;
		t->idle_line.sample[row] = sample;
	}
	t->idle_line.dur[row] += dur;
	t->idle_line.stretches[row]++;
}

void assay_idle_lines_done(assay_idle_lines *l)
{
	assay_tables *t = &l->run->part.t;
	size_t n = t->idle_line.n - l->first;
	assay_arena a = {0};
	uint32_t *rows = assay_alloc(&a, (n + 1) * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)(l->first + i);
	assay_sort_rows_falling(rows, n, t->idle_line.dur);
	const assay_table_info *info = assay_table_find("idle_line");
	for (size_t c = 0; n && c < info->cols; c++) {
		size_t width = info->col[c].width;
		char *col = assay_values(t, info, &info->col[c]);
		char *sorted = assay_alloc(&a, (n + 1) * width);
		for (size_t i = 0; i < n; i++)
			memcpy(sorted + i * width, col + rows[i] * width, width);
		memcpy(col + l->first * width, sorted, n * width);
	}
	assay_arena_free(&a);
	assay_map_free(&l->rows);
}

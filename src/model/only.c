#include "model/only.h"

#include "base/assert.h"
#include "base/test.h"
#include "model/by_hand.h"

static void compact(assay_tables *t, const assay_table_info *info, const bool *keep, size_t n)
{
	assay_table_head *head = assay_table_at(t, info);
	size_t kept = 0;
	if (head->n < n) /* not filled yet */
		return;
	for (size_t i = 0; i < n; i++)
		if (keep[i]) {
			if (kept != i)
				assay_row_copy(t, info->id, kept, i);
			kept++;
		}
	head->n = kept;
}

/* Values of a column that are rows of the table. */
static void renumber(assay_tables *t, const assay_table_info *info, const assay_col_info *col,
		     assay_table_id table, const uint32_t *moved, size_t n)
{
	size_t rows = assay_rows(t, info);
	uint32_t *value = assay_values(t, info, col);
	if (col->kind->refers != table && !col->kind->choose)
		return;
	for (size_t i = 0; i < rows; i++)
		if (value[i] != ASSAY_NO_ROW &&
		    (!col->kind->choose || col->kind->choose(t, info->id, i) == table)) {
			assert(value[i] < n);
			value[i] = moved[value[i]];
		}
}

void assay_keep_rows(assay_tables *t, assay_table_id table, const bool *keep)
{
	size_t n = assay_rows(t, &assay_table_infos[table]), kept = 0;
	assay_arena scratch = {0};
	uint32_t *moved = assay_alloc(&scratch, (n + 1) * sizeof *moved);
	for (size_t i = 0; i < n; i++)
		moved[i] = keep[i] ? (uint32_t)kept++ : ASSAY_NO_ROW;
	for (int k = 0; kept < n && k < ASSAY_T_COUNT; k++) {
		const assay_table_info *info = &assay_table_infos[k];
		for (size_t c = 0; c < info->cols; c++)
			renumber(t, info, &info->col[c], table, moved, n);
	}
	for (int k = 0; kept < n && k < ASSAY_T_COUNT; k++)
		if (k == (int)table || assay_table_infos[k].each == table)
			compact(t, &assay_table_infos[k], keep, n);
	assay_arena_free(&scratch);
}

TEST(rows_that_go_take_their_own_with_them_and_leave_no_reference)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 4; i++) {
		assay_hand_gpu(run, "k", 100 * i, 10, i);
		uint32_t edge = assay_add(t, ASSAY_T_edge);
		t->edge.from_gpu[edge] = i;
	}
	assay_keep_rows(t, ASSAY_T_gpu, (const bool[]){false, true, false, true});
	CHECK(t->gpu.n == 2 && t->gpu.ts[0] == 100 && t->gpu.ts[1] == 300);
	CHECK(t->launch.n == 2 && t->launch.host[0] == 1 && t->launch.host[1] == 3);
	CHECK(t->edge.n == 4 && t->edge.from_gpu[0] == ASSAY_NO_ROW && t->edge.from_gpu[1] == 0);
	CHECK(t->edge.from_gpu[2] == ASSAY_NO_ROW && t->edge.from_gpu[3] == 1);
	assay_run_free(run);
	return 0;
}

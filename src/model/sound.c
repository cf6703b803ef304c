/* One pass over every column, by its type. */
#include "model/sound.h"

#include <inttypes.h>

#include "base/test.h"

/* How many values a reference may have: rows of a table, or strings. */
static uint64_t bound_of(const assay_part *p, assay_table_id refers)
{
	if (refers == ASSAY_T_STRINGS)
		return p->strings.str.n;
	return refers < ASSAY_T_COUNT ? assay_rows(&p->t, &assay_table_infos[refers]) : UINT64_MAX;
}

static uint64_t bound_at(const assay_part *p, const assay_table_info *info,
			 const assay_col_info *col, size_t row)
{
	const assay_col_kind *k = col->kind;
	if (k->choose)
		return bound_of(p, k->choose(&p->t, info->id, row));
	if (k->type == ASSAY_COL_sid)
		return bound_of(p, ASSAY_T_STRINGS);
	return k->words ? k->words : bound_of(p, k->refers);
}

static const char *column_fault(const assay_part *p, const assay_table_info *info,
				const assay_col_info *col, assay_arena *a)
{
	const void *values = assay_values(&p->t, info, col);
	size_t rows = values ? assay_rows(&p->t, info) : 0; /* let go when nobody needed it more */
	for (size_t row = 0; row < rows; row++) {
		uint64_t v = assay_bits(col, values, row), bound = bound_at(p, info, col, row);
		if (v >= bound && !assay_is_absent(col, v))
			return assay_printf(a, "%s.%s of row %zu is %" PRIu64 " of %" PRIu64,
					    info->name, col->name, row, v, bound);
	}
	return NULL;
}

static bool can_lead_nowhere(const assay_col_info *col)
{
	const assay_col_kind *k = col->kind;
	return k->choose || k->words || k->type == ASSAY_COL_sid || k->type == ASSAY_COL_row;
}

const char *assay_part_fault(const assay_part *p, assay_arena *a)
{
	for (int i = 0; i < ASSAY_T_COUNT; i++) {
		const assay_table_info *info = &assay_table_infos[i];
		size_t n = assay_rows(&p->t, info);
		uint64_t of = info->each == ASSAY_T_NONE ? n : bound_of(p, info->each);
		if (n && n != of)
			return assay_printf(a, "%s has %zu rows of %" PRIu64, info->name, n, of);
		for (size_t c = 0; c < info->cols; c++) {
			const char *fault = can_lead_nowhere(&info->col[c])
						    ? column_fault(p, info, &info->col[c], a)
						    : NULL;
			if (fault)
				return fault;
		}
	}
	return NULL;
}

#ifdef ASSAY_CHECKED
void assay_assert_sound(const assay_run *run, const char *stage)
{
	assay_arena scratch = {0};
	const char *fault = assay_part_fault(&run->part, &scratch);
	if (fault) {
		fprintf(stderr, "assay: after %s: %s\n", stage, fault);
		abort();
	}
	assay_arena_free(&scratch);
}

void assay_assert_zero(const char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i]) {
			fprintf(stderr, "assay: a row that was never used is not zero\n");
			abort();
		}
}
#endif

TEST(a_value_that_leads_nowhere_is_found_by_its_type)
{
	assay_arena a = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t source = assay_add(t, ASSAY_T_source), g = assay_add(t, ASSAY_T_gpu);
	uint32_t track = assay_stream_track(&run->part, 0, 7);
	t->gpu.track[g] = track;
	t->gpu.name[g] = assay_sid_of(run, "k");
	CHECK(!assay_part_fault(&run->part, &a));
	t->gpu.track[g] = track + 1;
	CHECK(!strcmp(assay_part_fault(&run->part, &a), "gpu.track of row 0 is 1 of 1"));
	t->gpu.track[g] = track;
	t->gpu.kind[g] = ASSAY_GPU_KIND_COUNT;
	CHECK(strstr(assay_part_fault(&run->part, &a), "gpu.kind of row 0"));
	t->gpu.kind[g] = ASSAY_GPU_KERNEL;
	t->source.path[source] = 1000000;
	CHECK(strstr(assay_part_fault(&run->part, &a), "source.path of row 0"));
	t->source.path[source] = 0;
	assay_add(t, ASSAY_T_launch);
	CHECK(!assay_part_fault(&run->part, &a));
	assay_add(t, ASSAY_T_launch);
	CHECK(!strcmp(assay_part_fault(&run->part, &a), "launch has 2 rows of 1"));
	assay_run_free(run);
	assay_arena_free(&a);
	return 0;
}

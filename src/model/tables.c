/* Column storage: one mapping a column, grown without copying. */
#include "model/tables.h"

#include <string.h>

#include "base/arena.h"
#include "base/test.h"

#define TABLE(t, doc) static const assay_col_info cols_##t[] = {
#define COL(t, type, c, unit, absent, doc)                                                         \
	{#c, unit, doc, ASSAY_COL_##type, offsetof(assay_##t##_table, c), (uint64_t)(absent)},
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "model/tables.def"
#undef TABLE
#undef COL
#undef END

const assay_table_info assay_table_infos[ASSAY_T_COUNT] = {
#define TABLE(t, doc)                                                                              \
	{#t, doc, offsetof(assay_tables, t), cols_##t, sizeof cols_##t / sizeof *cols_##t},
#define COL(t, type, c, unit, absent, doc)
#define END(t)
#include "model/tables.def"
#undef TABLE
#undef COL
#undef END
};

const assay_table_id assay_host_detail[ASSAY_HOST_KIND_COUNT] = {
#define X(id, name, table) ASSAY_T_##table,
	ASSAY_HOST_KINDS(X)
#undef X
};

#define NAMES(array, list, count)                                                                  \
	const char *const array[] = {list(X)};                                                     \
	_Static_assert(ASSAY_COUNT_OF(array) == count, "one name per " #array)
#define X(id, name) name,
NAMES(assay_gpu_kind_name, ASSAY_GPU_KINDS, ASSAY_GPU_KIND_COUNT);
NAMES(assay_track_kind_name, ASSAY_TRACK_KINDS, ASSAY_TRACK_KIND_COUNT);
NAMES(assay_state_name, ASSAY_STATES, ASSAY_STATE_COUNT);
NAMES(assay_class_name, ASSAY_CLASSES, ASSAY_CLASS_COUNT);
NAMES(assay_family_name, ASSAY_FAMILIES, ASSAY_FAMILY_COUNT);
NAMES(assay_wait_kind_name, ASSAY_WAIT_KINDS, ASSAY_WAIT_KIND_COUNT);
NAMES(assay_wait_class_name, ASSAY_WAIT_CLASSES, ASSAY_WAIT_CLASS_COUNT);
NAMES(assay_edge_kind_name, ASSAY_EDGE_KINDS, ASSAY_EDGE_KIND_COUNT);
NAMES(assay_scope_kind_name, ASSAY_SCOPE_KINDS, ASSAY_SCOPE_KIND_COUNT);
NAMES(assay_scope_how_name, ASSAY_SCOPE_HOWS, ASSAY_SCOPE_HOW_COUNT);
NAMES(assay_derived_row_name, ASSAY_DERIVED_ROWS, ASSAY_DERIVED_ROW_COUNT);
NAMES(assay_step_origin_name, ASSAY_STEP_ORIGINS, ASSAY_STEP_ORIGIN_COUNT);
NAMES(assay_queued_name, ASSAY_QUEUED_KINDS, ASSAY_QUEUED_COUNT);
NAMES(assay_late_name, ASSAY_LATES, ASSAY_LATE_COUNT);
NAMES(assay_code_kind_name, ASSAY_CODE_KINDS, ASSAY_CODE_KIND_COUNT);
NAMES(assay_thread_state_name, ASSAY_THREAD_STATES, ASSAY_THREAD_STATE_COUNT);
NAMES(assay_gil_state_name, ASSAY_GIL_STATES, ASSAY_GIL_STATE_COUNT);
#undef X
#define X(id, name, table) name,
NAMES(assay_host_kind_name, ASSAY_HOST_KINDS, ASSAY_HOST_KIND_COUNT);
NAMES(assay_why_name, ASSAY_WHYS, ASSAY_WHY_COUNT);
#undef X
#define X(id, name, text) text,
NAMES(assay_why_text, ASSAY_WHYS, ASSAY_WHY_COUNT);
#undef X

size_t assay_col_width(assay_col_type type)
{
	static const size_t width[] = {1, 2, 4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4};
	return width[type];
}

const assay_table_info *assay_table_find(const char *name)
{
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		if (!strcmp(assay_table_infos[i].name, name))
			return &assay_table_infos[i];
	return NULL;
}

static assay_table_head *table_head(assay_tables *t, assay_table_id id)
{
	return assay_table_at(t, &assay_table_infos[id]);
}

static void **column(assay_tables *t, assay_table_id id, size_t c)
{
	const assay_table_info *info = &assay_table_infos[id];
	return (void **)(void *)((char *)t + info->at + info->col[c].at);
}

void assay_reserve(assay_tables *t, assay_table_id id, size_t more)
{
	assay_table_head *h = table_head(t, id);
	if (h->cap - h->n >= more)
		return;
	size_t cap = h->cap ? h->cap * 2 : 4096;
	while (cap - h->n < more)
		cap *= 2;
	for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
		void **col = column(t, id, c);
		size_t width = assay_col_width(assay_table_infos[id].col[c].type);
		*col = assay_pages_grow(*col, h->cap * width, cap * width);
	}
	h->cap = cap;
}

uint32_t assay_add(assay_tables *t, assay_table_id id)
{
	assay_table_head *h = table_head(t, id);
	assay_reserve(t, id, 1);
	for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
		const assay_col_info *info = &assay_table_infos[id].col[c];
		size_t width = assay_col_width(info->type);
		/* little-endian: the low bytes of absent are the narrow value */
		memcpy((char *)*column(t, id, c) + h->n * width, &info->absent, width);
	}
	return (uint32_t)h->n++;
}

void assay_tables_free(assay_tables *t)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		for (size_t c = 0; c < assay_table_infos[id].cols; c++)
			assay_pages_free(
				*column(t, id, c),
				table_head(t, id)->cap *
					assay_col_width(assay_table_infos[id].col[c].type));
	*t = (assay_tables){0};
}

TEST(new_rows_are_absent_in_every_column)
{
	assay_tables t = {0};
	uint32_t r = assay_add(&t, ASSAY_T_gpu);
	CHECK(r == 0 && t.gpu.n == 1 && t.gpu.dur[0] == -1 && t.gpu.name[0] == 0);
	CHECK(t.gpu.track[0] == ASSAY_NO_ROW && t.gpu.regs[0] == 0xffff && t.gpu.bytes[0] == -1);
	for (int i = 0; i < 10000; i++)
		assay_add(&t, ASSAY_T_gpu);
	CHECK(t.gpu.n == 10001 && t.gpu.dur[10000] == -1 && t.host.n == 0);
	assay_tables_free(&t);
	return 0;
}

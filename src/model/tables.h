/* The tables of a run as structs of columns, made from tables.def.
 *
 * Rows are addressed by uint32_t index, never by pointer: a column moves when it grows. */
#ifndef ASSAY_MODEL_TABLES_H
#define ASSAY_MODEL_TABLES_H

#include <assay/assay.h>

#include "base/pool.h"
#include "model/kinds.h"

#define ASSAY_NO_ROW    UINT32_MAX
#define ASSAY_NO_HANDLE UINT64_MAX
enum { ASSAY_NO_STATUS = -0x7fffffff };

typedef uint8_t assay_col_u8;
typedef uint16_t assay_col_u16;
typedef uint32_t assay_col_u32;
typedef int32_t assay_col_i32;
typedef uint64_t assay_col_u64;
typedef int64_t assay_col_i64;
typedef double assay_col_f64;
typedef assay_sid assay_col_sid;
typedef uint32_t assay_col_track;
typedef uint32_t assay_col_source;
typedef uint32_t assay_col_detail;
typedef uint32_t assay_col_code;
typedef uint32_t assay_col_stack;

typedef enum assay_table_id {
#define TABLE(t, doc) ASSAY_T_##t,
#define COL(t, type, c, unit, absent, doc)
#define END(t)
#include "model/tables.def"
#undef TABLE
#undef COL
#undef END
	ASSAY_T_COUNT
} assay_table_id;

/* One struct a table: n rows, cap reserved, one array a column. */
#define TABLE(t, doc)                                                                              \
	typedef struct assay_##t##_table {                                                         \
		size_t n, cap;
#define COL(t, type, c, unit, absent, doc) assay_col_##type *c;
#define END(t)                                                                                     \
	}                                                                                          \
	assay_##t##_table;
#include "model/tables.def"
#undef TABLE
#undef COL
#undef END

typedef struct assay_tables {
#define TABLE(t, doc) assay_##t##_table t;
#define COL(t, type, c, unit, absent, doc)
#define END(t)
#include "model/tables.def"
#undef TABLE
#undef COL
#undef END
} assay_tables;

typedef enum assay_col_type {
	ASSAY_COL_u8,
	ASSAY_COL_u16,
	ASSAY_COL_u32,
	ASSAY_COL_i32,
	ASSAY_COL_u64,
	ASSAY_COL_i64,
	ASSAY_COL_f64,
	ASSAY_COL_sid,
	ASSAY_COL_track,
	ASSAY_COL_source,
	ASSAY_COL_detail,
	ASSAY_COL_code,
	ASSAY_COL_stack,
} assay_col_type;

typedef struct assay_col_info {
	const char *name, *unit, *doc;
	assay_col_type type;
	size_t at;       /* offset of the array pointer in the table struct */
	uint64_t absent; /* bits of the absent value */
} assay_col_info;

typedef struct assay_table_info {
	const char *name, *doc;
	size_t at; /* offset of the table in assay_tables */
	const assay_col_info *col;
	size_t cols;
} assay_table_info;

extern const assay_table_info assay_table_infos[ASSAY_T_COUNT];
size_t assay_col_width(assay_col_type type);

/* Table that host.detail points into, by assay_host_kind. */
extern const assay_table_id assay_host_detail[ASSAY_HOST_KIND_COUNT];

/* The table of that name; NULL when there is none. */
const assay_table_info *assay_table_find(const char *name);

/* A table known by its description only: every table struct starts with these two. */
typedef struct assay_table_head {
	size_t n, cap;
} assay_table_head;

static inline assay_table_head *assay_table_at(assay_tables *t, const assay_table_info *info)
{
	return (assay_table_head *)(void *)((char *)t + info->at);
}

static inline size_t assay_rows(const assay_tables *t, const assay_table_info *info)
{
	return ((const assay_table_head *)(const void *)((const char *)t + info->at))->n;
}

/* The column as an array of assay_rows() values. */
static inline void *assay_values(const assay_tables *t, const assay_table_info *info,
				 const assay_col_info *col)
{
	return *(void *const *)(const void *)((const char *)t + info->at + col->at);
}

/* Room for `more` rows behind the last one; contents undefined, n unchanged. */
void assay_reserve(assay_tables *t, assay_table_id table, size_t more);
/* One new row, every column absent; returns its number. */
uint32_t assay_add(assay_tables *t, assay_table_id table);
void assay_tables_free(assay_tables *t);

#endif

/* The tables of a run as structs of columns, made from tables.def.
 *
 * Rows are addressed by uint32_t index, never by pointer: a column moves when it grows. */
#ifndef ASSAY_MODEL_TABLES_H
#define ASSAY_MODEL_TABLES_H

#include <assay/assay.h>
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "model/kinds.h"

#define ASSAY_NO_ROW    UINT32_MAX
#define ASSAY_NO_HANDLE UINT64_MAX
enum { ASSAY_NO_STATUS = -0x7fffffff };

/* Of what a call returned. */
static inline bool assay_has_failed(int32_t status)
{
	return status != 0 && status != ASSAY_NO_STATUS;
}

typedef enum assay_table_id {
#define TABLE(t, doc) ASSAY_T_##t,
#include "model/tables.def"
	ASSAY_T_COUNT,
	ASSAY_T_NONE = ASSAY_T_COUNT,
	ASSAY_T_STRINGS, /* not a table: the run's strings */
} assay_table_id;

/* How values are stored and treated. X(id, C type, type in the public header, name in schemas) */
#define ASSAY_COL_TYPES(X)                                                                         \
	X(u8, uint8_t, U8, "u8")                                                                   \
	X(u16, uint16_t, U16, "u16")                                                               \
	X(u32, uint32_t, U32, "u32")                                                               \
	X(i32, int32_t, I32, "i32")                                                                \
	X(u64, uint64_t, U64, "u64")                                                               \
	X(i64, int64_t, I64, "i64")                                                                \
	X(f64, double, F64, "f64")                                                                 \
	X(sid, assay_sid, STRING, "string")                                                        \
	X(time, int64_t, I64, "time")                                                              \
	X(word, uint8_t, U8, "word")                                                               \
	X(row, uint32_t, ROW, "row")                                                               \
	X(choice, uint32_t, ROW, "row")

/* Lists of words that columns count in: assay_<id>_name of model/kinds.h. */
#define ASSAY_WORDS(X)                                                                             \
	X(proof)                                                                                   \
	X(loss_cause)                                                                              \
	X(off_cause)                                                                               \
	X(host_kind)                                                                               \
	X(gpu_kind)                                                                                \
	X(track_kind)                                                                              \
	X(state)                                                                                   \
	X(class)                                                                                   \
	X(family)                                                                                  \
	X(wait_kind)                                                                               \
	X(wait_class)                                                                              \
	X(wait_doubt)                                                                              \
	X(edge_kind)                                                                               \
	X(scope_kind)                                                                              \
	X(scope_how)                                                                               \
	X(derived_row)                                                                             \
	X(step_origin)                                                                             \
	X(memory_account)                                                                          \
	X(why)                                                                                     \
	X(queued)                                                                                  \
	X(late)                                                                                    \
	X(code_kind)                                                                               \
	X(thread_state)                                                                            \
	X(gil_state)                                                                               \
	X(call_kind)                                                                               \
	X(work_class)                                                                              \
	X(math)                                                                                    \
	X(bound)                                                                                   \
	X(advice)                                                                                  \
	X(doing)

/* Rows of a table that another column says; model/tables.c has a function for each. */
#define ASSAY_CHOICES(X)                                                                           \
	X(detail)                                                                                  \
	X(kept_row)                                                                                \
	X(work_row)

typedef enum assay_col_type {
#define X(id, c, public, name) ASSAY_COL_##id,
	ASSAY_COL_TYPES(X)
#undef X
		ASSAY_COL_TYPE_COUNT
} assay_col_type;

/* Everything that may stand as a type in tables.def. */
typedef enum assay_col_token {
#define X(id, c, public, name) ASSAY_TOKEN_##id,
	ASSAY_COL_TYPES(X)
#undef X
#define TABLE(t, doc) ASSAY_TOKEN_row_##t,
#include "model/tables.def"
#define X(id) ASSAY_TOKEN_##id,
		ASSAY_WORDS(X) ASSAY_CHOICES(X)
#undef X
			ASSAY_TOKEN_COUNT
} assay_col_token;

#define X(id, c, public, name) typedef c assay_col_##id;
ASSAY_COL_TYPES(X)
#undef X
#define TABLE(t, doc) typedef uint32_t assay_col_row_##t;
#include "model/tables.def"
#define X(id) typedef uint8_t assay_col_##id;
ASSAY_WORDS(X)
#undef X
#define X(id) typedef uint32_t assay_col_##id;
ASSAY_CHOICES(X)
#undef X

/* One struct a table: n rows, cap reserved, one array a column. All is zero behind the rows that
 * were ever used. */
#define TABLE(t, doc)                                                                              \
	typedef struct assay_##t##_table {                                                         \
		size_t n, cap, used;
#define COL(t, type, c, unit, absent, doc) assay_col_##type *c;
#ifdef ASSAY_SPARE_HIDDEN /* who may find it empty cannot read it */
#define SPARE(t, type, c, unit, absent, doc) struct assay_spare_column *c;
#endif
#define END(t)                                                                                     \
	}                                                                                          \
	assay_##t##_table;
#include "model/tables.def"

typedef struct assay_tables {
#define TABLE(t, doc) assay_##t##_table t;
#include "model/tables.def"
} assay_tables;

typedef struct assay_col_kind {
	assay_col_type type;
	assay_table_id refers; /* table that values are rows of, ASSAY_T_NONE */
	const char *const *word;
	size_t words;
	/* For values that are rows of different tables: whose, of a row of table `of`. */
	assay_table_id (*choose)(const assay_tables *t, assay_table_id of, size_t row);
} assay_col_kind;

typedef struct assay_col_info {
	const char *name, *unit, *doc;
	const assay_col_kind *kind;
	size_t width;    /* bytes of a value */
	size_t at;       /* offset of the array pointer in the table struct */
	uint64_t absent; /* bits of the absent value */
	bool spare;
} assay_col_info;

typedef struct assay_table_info {
	const char *name, *doc;
	assay_table_id id, each; /* each: one row for each row of that table; ASSAY_T_NONE */
	size_t at;               /* offset of the table in assay_tables */
	const assay_col_info *col;
	size_t cols;
} assay_table_info;

extern const char *const assay_col_type_name[ASSAY_COL_TYPE_COUNT];
extern const assay_type assay_col_public[ASSAY_COL_TYPE_COUNT];
extern const assay_table_info assay_table_infos[ASSAY_T_COUNT];
/* NULL for none. */
static inline const char *assay_table_name(assay_table_id id)
{
	return id < ASSAY_T_COUNT ? assay_table_infos[id].name : NULL;
}

/* Table that host.detail points into, by assay_host_kind. */
extern const assay_table_id assay_host_detail[ASSAY_HOST_KIND_COUNT];

/* The value's bits, widened without sign. */
static inline uint64_t assay_bits(const assay_col_info *col, const void *values, size_t row)
{
	const char *at = (const char *)values + row * col->width;
	ASSAY_ASSERT_CHECKED(values);
	uint64_t bits = 0;
	switch (col->width) { /* plain loads, where memcpy() of any size would be a call */
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&bits, at, 2);
		return bits;
	case 4:
		memcpy(&bits, at, 4);
		return bits;
	default:
		memcpy(&bits, at, 8);
		return bits;
	}
}

/* The absent value's bits, as assay_bits() gives them. */
static inline uint64_t assay_absent_bits(const assay_col_info *col)
{
	return col->width == 8 ? col->absent : col->absent & ((UINT64_C(1) << 8 * col->width) - 1);
}

/* Columns whose absent value is 0 have it as a value too; strings do not. */
static inline bool assay_is_absent(const assay_col_info *col, uint64_t bits)
{
	bool can_be = col->absent != 0 || col->kind->type == ASSAY_COL_sid;
	return can_be && bits == assay_absent_bits(col);
}

/* The table of that name; NULL when there is none. */
const assay_table_info *assay_table_find(const char *name);

/* A table known by its description only: every table struct starts with these. */
typedef struct assay_table_head {
	size_t n, cap, used;
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
/* Its columns that are large, or will be with `more` rows, go to files without a name, where there
 * is room, and only what is looked at takes memory until it rests. */
enum { ASSAY_LARGE_COLUMN = 64 << 10 };
void assay_table_to_disk(assay_tables *t, assay_table_id table, size_t more);
/* Room that was made for rows that did not come is given back. */
void assay_tables_fit(assay_tables *t);
/* Nothing of the tables that are there is looked at for a while. */
void assay_tables_rest(const assay_tables *t);
/* A walk over all rows of a table, the next of which is `row`: now and then those behind it rest,
 * so that the walk takes as much memory for many ranks as for few. */
enum { ASSAY_REST_ROWS = 8 << 10 };
void assay_rows_rest(const assay_tables *t, assay_table_id table, size_t row);
static inline void assay_rest_behind(const assay_tables *t, assay_table_id table, size_t row)
{
	if (row && row % ASSAY_REST_ROWS == 0)
		assay_rows_rest(t, table, row);
}
/* One new row, every column absent; returns its number. */
uint32_t assay_add(assay_tables *t, assay_table_id table);
/* One row over another of the same table. */
void assay_row_copy(assay_tables *t, assay_table_id table, size_t to, size_t from);
void assay_tables_free(assay_tables *t);
/* The rows of one table, behind those that are there. */
void assay_table_copy(assay_tables *to, const assay_tables *from, assay_table_id table);
void assay_table_free(assay_tables *t, assay_table_id table);

/* The source a row belongs to, by the first of its references that leads to one: its times are in
 * that source's clock. ASSAY_NO_ROW when none does. */
uint32_t assay_row_source(const assay_tables *t, assay_table_id table, size_t row);

#endif

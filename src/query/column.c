#include "query/column.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"

enum { BATCH = 1024 };

/* The rows that a hop leads to, in place. */
static void hop_rows(const assay_hop *hop, uint32_t *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t to = hop->to && row[i] != ASSAY_NO_ROW ? hop->to[row[i]] : row[i];
		row[i] = to < hop->rows ? to : ASSAY_NO_ROW;
	}
}

/* Inlined for each width, so that it is a plain load. */
static inline void add_values(const assay_reach *r, const uint32_t *row, size_t n, int64_t *sum,
			      bool *absent, size_t width)
{
	bool negative = r->col->kind->type == ASSAY_COL_i32;
	bool can_be_absent = assay_is_absent(r->col, assay_absent_bits(r->col));
	uint64_t none = assay_absent_bits(r->col);
	for (size_t i = 0; i < n; i++) {
		uint64_t bits = 0;
		if (row[i] == ASSAY_NO_ROW) {
			absent[i] = true;
			continue;
		}
		memcpy(&bits, (const char *)r->values + row[i] * width, width);
		absent[i] |= can_be_absent && bits == none;
		bits = negative ? (uint64_t)(int32_t)bits : bits;
		/* wraps instead of overflowing: damaged times may lie anywhere */
		sum[i] = (int64_t)((uint64_t)sum[i] + (r->minus ? 0 - bits : bits));
	}
}

static void add_term(const assay_reach *r, const uint32_t *row, size_t n, int64_t *sum,
		     bool *absent)
{
	uint32_t at[BATCH];
	memcpy(at, row, n * sizeof *at);
	for (size_t i = 0; i < r->hops; i++)
		hop_rows(&r->hop[i], at, n);
	switch (r->col->width) {
	case 1:
		add_values(r, at, n, sum, absent, 1);
		break;
	case 2:
		add_values(r, at, n, sum, absent, 2);
		break;
	case 4:
		add_values(r, at, n, sum, absent, 4);
		break;
	default:
		add_values(r, at, n, sum, absent, 8);
	}
}

static size_t batch_values(const assay_relation_col *col, const uint32_t *row, size_t n,
			   int64_t *value, bool *absent)
{
	size_t gone = 0;
	for (size_t i = 0; i < n; i++) {
		value[i] = col->terms ? col->plus : row[i];
		absent[i] = false;
	}
	for (size_t i = 0; i < col->terms; i++)
		add_term(&col->term[i], row, n, value, absent);
	for (size_t i = 0; i < n; i++) {
		gone += absent[i];
		value[i] = absent[i] ? 0 : value[i];
	}
	return gone;
}

size_t assay_column_values(const assay_relation_col *col, const uint32_t *row, size_t n,
			   int64_t *value, bool *absent)
{
	size_t gone = 0;
	for (size_t i = 0; i < n; i += BATCH)
		gone += batch_values(col, row + i, n - i < BATCH ? n - i : BATCH, value + i,
				     absent + i);
	return gone;
}

/* ---- orders ---- */

/* Bits of a real as a whole number that is ordered as it is; both zeros are one. */
static int64_t real_key(int64_t bits)
{
	return bits == INT64_MIN ? 0 : bits < 0 ? bits ^ INT64_MAX : bits;
}

typedef struct ranked {
	assay_str text;
	int64_t id;
} ranked;

static int by_text(const void *a, const void *b)
{
	return assay_str_cmp(((const ranked *)a)->text, ((const ranked *)b)->text);
}

static assay_str text_of(const assay_run *run, const assay_col_kind *kind, int64_t id)
{
	if (!kind->words)
		return assay_text(run, (assay_sid)id);
	return assay_str_of((size_t)id < kind->words ? kind->word[id] : "");
}

/* Numbers of texts become those of their places among all texts of the column. */
static void rank_texts(const assay_run *run, const assay_col_kind *kind, int64_t *value, size_t n)
{
	size_t ids = kind->words ? UINT8_MAX : run->part.strings.str.n;
	assay_arena a = {0};
	uint32_t *rank = assay_alloc(&a, (ids + 1) * sizeof *rank); /* 0: not met yet */
	assay_vec(ranked) met = {0};
	for (size_t i = 0; i < n; i++) {
		value[i] = (size_t)value[i] < ids ? value[i] : (int64_t)ids;
		if (rank[value[i]]++)
			continue;
		*assay_push(&met) = (ranked){text_of(run, kind, value[i]), value[i]};
	}
	if (met.n)
		qsort(met.p, met.n, sizeof *met.p, by_text);
	for (size_t i = 0, at = 0; i < met.n; i++) {
		at += i && by_text(&met.p[i - 1], &met.p[i]);
		rank[met.p[i].id] = (uint32_t)at;
	}
	for (size_t i = 0; i < n; i++)
		value[i] = rank[value[i]];
	assay_vec_free(&met);
	assay_arena_free(&a);
}

static void as_keys(const assay_run *run, const assay_relation_col *col, bool falling,
		    int64_t *value, size_t n)
{
	if (col->type == ASSAY_CELL_TEXT)
		rank_texts(run, col->term[0].col->kind, value, n);
	for (size_t i = 0; i < n; i++) {
		int64_t key = col->type == ASSAY_CELL_REAL ? real_key(value[i]) : value[i];
		value[i] = falling ? ~key : key;
	}
}

/* Those that are absent to the front, or to the end; else as they were. */
static void part_absent(uint32_t *at, size_t n, const bool *absent, bool to_end, uint32_t *spare)
{
	size_t kept = 0;
	for (int last = 0; last < 2; last++)
		for (size_t i = 0; i < n; i++)
			if (absent[at[i]] == (last == (int)to_end))
				spare[kept++] = at[i];
	memcpy(at, spare, n * sizeof *at);
}

void assay_column_sort(const assay_run *run, const assay_relation *view,
		       const assay_column_order *by, size_t columns, uint32_t *row, size_t n)
{
	assay_arena a = {0};
	uint32_t *at = assay_alloc(&a, (n + 1) * sizeof *at);
	uint32_t *spare = assay_alloc(&a, (n + 1) * sizeof *spare);
	int64_t *key = assay_alloc(&a, (n + 1) * sizeof *key);
	bool *absent = assay_alloc(&a, n + 1);
	for (size_t i = 0; i < n; i++)
		at[i] = (uint32_t)i;
	while (columns--) {
		const assay_relation_col *col = &view->col[by[columns].col];
		size_t gone = assay_column_values(col, row, n, key, absent);
		as_keys(run, col, by[columns].falling, key, n);
		assay_sort_rows(at, n, key);
		if (gone)
			part_absent(at, n, absent, by[columns].falling, spare);
	}
	memcpy(spare, row, n * sizeof *row);
	for (size_t i = 0; i < n; i++)
		row[i] = spare[at[i]];
	assay_arena_free(&a);
}

size_t assay_column_unique(const assay_relation *view, const assay_column_order *by, size_t columns,
			   uint32_t *row, size_t n)
{
	assay_arena a = {0};
	int64_t *value = assay_alloc(&a, (n + 1) * sizeof *value);
	bool *absent = assay_alloc(&a, n + 1), *other = assay_alloc(&a, n + 1);
	for (size_t c = 0; c < columns; c++) {
		assay_column_values(&view->col[by[c].col], row, n, value, absent);
		for (size_t i = 1; i < n; i++)
			other[i] |= value[i] != value[i - 1] || absent[i] != absent[i - 1];
	}
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!i || other[i])
			row[kept++] = row[i];
	assay_arena_free(&a);
	return kept;
}

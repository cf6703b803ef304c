/* Column storage: one mapping a column, grown without copying. */
#include "model/tables.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/owner.h"
#include "base/test.h"

static_assert(ASSAY_MAP_ABSENT == ASSAY_NO_ROW, "what a map does not have is no row");

const char *const assay_col_type_name[ASSAY_COL_TYPE_COUNT] = {
#define X(id, c, public, name) name,
	ASSAY_COL_TYPES(X)
#undef X
};

const assay_type assay_col_public[ASSAY_COL_TYPE_COUNT] = {
#define X(id, c, public, name) ASSAY_TYPE_##public,
	ASSAY_COL_TYPES(X)
#undef X
};

static assay_table_id choose_detail(const assay_tables *t, assay_table_id of, size_t row)
{
	assert(of == ASSAY_T_host && row < t->host.n);
	return assay_host_detail[t->host.kind[row]];
}

static assay_table_id choose_kept_row(const assay_tables *t, assay_table_id of, size_t row)
{
	static const assay_table_id table[ASSAY_KEPT_OF_COUNT] = {
		[ASSAY_KEPT_PLACE] = ASSAY_T_NONE,        [ASSAY_KEPT_HOST] = ASSAY_T_host,
		[ASSAY_KEPT_GPU] = ASSAY_T_gpu,           [ASSAY_KEPT_MARK] = ASSAY_T_mark,
		[ASSAY_KEPT_SYNC] = ASSAY_T_sync,         [ASSAY_KEPT_TRACK] = ASSAY_T_track,
		[ASSAY_KEPT_BAND] = ASSAY_T_track,        [ASSAY_KEPT_NAME] = ASSAY_T_STRINGS,
		[ASSAY_KEPT_STAT_NAME] = ASSAY_T_STRINGS, [ASSAY_KEPT_PLANE] = ASSAY_T_NONE,
	};
	assert(of == ASSAY_T_kept && row < t->kept.n);
	return table[t->kept.of[row]];
}

static assay_table_id choose_work_row(const assay_tables *t, assay_table_id of, size_t row)
{
	assert(of == ASSAY_T_call || of == ASSAY_T_given_scope);
	bool host = of == ASSAY_T_call ? t->call.on_host[row] : t->given_scope.host[row];
	return host ? ASSAY_T_host : ASSAY_T_gpu;
}

static const assay_col_kind kinds[ASSAY_TOKEN_COUNT] = {
#define X(id, c, public, name) [ASSAY_TOKEN_##id] = {ASSAY_COL_##id, .refers = ASSAY_T_NONE},
	ASSAY_COL_TYPES(X)
#undef X
#define TABLE(t, doc) [ASSAY_TOKEN_row_##t] = {ASSAY_COL_row, .refers = ASSAY_T_##t},
#include "model/tables.def"
#define X(id)                                                                                      \
	[ASSAY_TOKEN_##id] = {ASSAY_COL_word, ASSAY_T_NONE, .word = assay_##id##_name,             \
			      .words = ASSAY_COUNT_OF(assay_##id##_name)},
		ASSAY_WORDS(X)
#undef X
#define X(id) [ASSAY_TOKEN_##id] = {ASSAY_COL_choice, ASSAY_T_NONE, .choose = choose_##id},
			ASSAY_CHOICES(X)
#undef X
};

#define TABLE(t, doc)                        static const assay_col_info cols_##t[] = {
#define COL(t, type, c, unit, absent, doc)   COLUMN(t, type, c, unit, absent, doc, false)
#define SPARE(t, type, c, unit, absent, doc) COLUMN(t, type, c, unit, absent, doc, true)
#define COLUMN(t, type, c, unit, absent, doc, spare)                                               \
	{#c,                                                                                       \
	 unit,                                                                                     \
	 doc,                                                                                      \
	 &kinds[ASSAY_TOKEN_##type],                                                               \
	 sizeof(assay_col_##type),                                                                 \
	 offsetof(assay_##t##_table, c),                                                           \
	 (uint64_t)(absent),                                                                       \
	 spare},
#define END(t)                                                                                     \
	}                                                                                          \
	;
#include "model/tables.def"

const assay_table_info assay_table_infos[ASSAY_T_COUNT] = {
#define EACH(t, of, doc)                                                                           \
	{#t,                                                                                       \
	 doc,                                                                                      \
	 ASSAY_T_##t,                                                                              \
	 ASSAY_T_##of,                                                                             \
	 offsetof(assay_tables, t),                                                                \
	 cols_##t,                                                                                 \
	 sizeof cols_##t / sizeof *cols_##t},
#define TABLE(t, doc) EACH(t, NONE, doc)
#include "model/tables.def"
};

const assay_table_id assay_host_detail[ASSAY_HOST_KIND_COUNT] = {
#define X(id, name, table) ASSAY_T_##table,
	ASSAY_HOST_KINDS(X)
#undef X
};

#define NAMES(array, list, count)                                                                  \
	const char *const array[] = {list(X)};                                                     \
	static_assert(ASSAY_COUNT_OF(array) == count, "one name per " #array)
#define X(id, name) name,
NAMES(assay_gpu_kind_name, ASSAY_GPU_KINDS, ASSAY_GPU_KIND_COUNT);
NAMES(assay_track_kind_name, ASSAY_TRACK_KINDS, ASSAY_TRACK_KIND_COUNT);
NAMES(assay_state_name, ASSAY_STATES, ASSAY_STATE_COUNT);
NAMES(assay_math_name, ASSAY_MATHS, ASSAY_MATH_COUNT);
NAMES(assay_work_class_name, ASSAY_WORK_CLASSES, ASSAY_WORK_CLASS_COUNT);
NAMES(assay_advice_name, ASSAY_ADVICES, ASSAY_ADVICE_COUNT);
NAMES(assay_bound_name, ASSAY_BOUNDS, ASSAY_BOUND_COUNT);
NAMES(assay_wait_kind_name, ASSAY_WAIT_KINDS, ASSAY_WAIT_KIND_COUNT);
NAMES(assay_wait_class_name, ASSAY_WAIT_CLASSES, ASSAY_WAIT_CLASS_COUNT);
NAMES(assay_wait_doubt_name, ASSAY_WAIT_DOUBTS, ASSAY_WAIT_DOUBT_COUNT);
NAMES(assay_edge_kind_name, ASSAY_EDGE_KINDS, ASSAY_EDGE_KIND_COUNT);
NAMES(assay_scope_kind_name, ASSAY_SCOPE_KINDS, ASSAY_SCOPE_KIND_COUNT);
NAMES(assay_scope_how_name, ASSAY_SCOPE_HOWS, ASSAY_SCOPE_HOW_COUNT);
NAMES(assay_derived_row_name, ASSAY_DERIVED_ROWS, ASSAY_DERIVED_ROW_COUNT);
NAMES(assay_step_origin_name, ASSAY_STEP_ORIGINS, ASSAY_STEP_ORIGIN_COUNT);
NAMES(assay_memory_account_name, ASSAY_MEMORY_ACCOUNTS, ASSAY_MEMORY_ACCOUNT_COUNT);
NAMES(assay_queued_name, ASSAY_QUEUED_KINDS, ASSAY_QUEUED_COUNT);
NAMES(assay_late_name, ASSAY_LATES, ASSAY_LATE_COUNT);
NAMES(assay_code_kind_name, ASSAY_CODE_KINDS, ASSAY_CODE_KIND_COUNT);
NAMES(assay_thread_state_name, ASSAY_THREAD_STATES, ASSAY_THREAD_STATE_COUNT);
NAMES(assay_call_kind_name, ASSAY_CALL_KINDS, ASSAY_CALL_KIND_COUNT);
NAMES(assay_doing_name, ASSAY_DOINGS, ASSAY_DOING_COUNT);
NAMES(assay_gil_state_name, ASSAY_GIL_STATES, ASSAY_GIL_STATE_COUNT);
NAMES(assay_proof_name, ASSAY_PROOFS, ASSAY_PROOF_COUNT);
NAMES(assay_loss_cause_name, ASSAY_LOSS_CAUSES, ASSAY_LOSS_CAUSE_COUNT);
NAMES(assay_off_cause_name, ASSAY_OFF_CAUSES, ASSAY_OFF_CAUSE_COUNT);
#undef X
#define X(id, name, table) name,
NAMES(assay_host_kind_name, ASSAY_HOST_KINDS, ASSAY_HOST_KIND_COUNT);
#undef X

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

/* Rows: of most tables of a small trace, and of large ones. */
enum { FEW_ROWS = 32, MANY_ROWS = 4096 };

void assay_reserve(assay_tables *t, assay_table_id id, size_t more)
{
	assay_table_head *h = table_head(t, id);
	if (h->cap - h->n >= more)
		return;
	if (more >= ASSAY_NO_ROW - h->n)
		assay_give_up(ASSAY_LIMIT, "table %s has no room for more than %u rows",
			      assay_table_infos[id].name, ASSAY_NO_ROW - 1);
	size_t cap = !h->cap ? FEW_ROWS : h->cap < MANY_ROWS ? MANY_ROWS : h->cap * 2;
	/* Who asks for many at once knows how many come. A huge page that is only begun is all
	 * taken, so there is no more room than that. */
	if (cap - h->n < more)
		cap = (h->n + more + MANY_ROWS - 1) / MANY_ROWS * MANY_ROWS;
	for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
		void **col = column(t, id, c);
		size_t width = assay_table_infos[id].col[c].width;
		*col = assay_pages_grow(*col, cap * width);
	}
	h->cap = cap;
}

void assay_tables_fit(assay_tables *t)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++) {
		assay_table_head *h = table_head(t, id);
		if (!h->n || h->cap - h->n < MANY_ROWS)
			continue;
		for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
			void **col = column(t, id, c);
			size_t width = assay_table_infos[id].col[c].width;
			if (*col) /* it was not dropped */
				*col = assay_pages_grow(*col, h->n * width);
		}
		h->cap = h->n;
	}
}

void assay_table_to_disk(assay_tables *t, assay_table_id id, size_t more)
{
	const assay_table_head *h = table_head(t, id);
	size_t rows = h->n + more > h->cap ? h->n + more : h->cap;
	for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
		void **col = column(t, id, c);
		if (rows * assay_table_infos[id].col[c].width >= ASSAY_LARGE_COLUMN)
			*col = *col ? assay_pages_to_disk(*col) : assay_pages_on_disk(1);
	}
}

void assay_tables_rest(const assay_tables *t)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++) {
		const assay_table_info *info = &assay_table_infos[id];
		for (size_t c = 0; c < info->cols; c++)
			assay_pages_rest(assay_values(t, info, &info->col[c]), 0,
					 assay_rows(t, info) * info->col[c].width);
	}
}

void assay_rows_rest(const assay_tables *t, assay_table_id id, size_t row)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t from = row < ASSAY_REST_ROWS ? 0 : row - ASSAY_REST_ROWS;
	for (size_t c = 0; c < info->cols; c++) {
		size_t width = info->col[c].width;
		assay_pages_rest(assay_values(t, info, &info->col[c]), from * width, row * width);
	}
}

/* A function for each table, so that a row is a few stores: clear_<table>(t, row). */
#define TABLE(t, doc)                                                                              \
	static void clear_##t(assay_tables *all, size_t row)                                       \
	{                                                                                          \
		assay_##t##_table *table = &all->t;
/* little-endian: the low bytes of absent are the narrow value */
#define COL(t, type, c, unit, absent, doc)                                                         \
	memcpy(&table->c[row], &(const uint64_t){(uint64_t)(absent)}, sizeof table->c[row]);
#define END(t) }
#include "model/tables.def"

static void (*const clear_row[ASSAY_T_COUNT])(assay_tables *, size_t) = {
#define TABLE(t, doc) [ASSAY_T_##t] = clear_##t,
#include "model/tables.def"
};

uint32_t assay_add(assay_tables *t, assay_table_id id)
{
	assay_table_head *h = table_head(t, id);
	if (h->n == h->cap || h->n >= ASSAY_NO_ROW - 1)
		assay_reserve(t, id, 1);
	clear_row[id](t, h->n);
	h->used = h->n < h->used ? h->used : h->n + 1;
	return (uint32_t)h->n++;
}

void assay_row_copy(assay_tables *t, assay_table_id id, size_t to, size_t from)
{
	assert(to < table_head(t, id)->cap && from < table_head(t, id)->cap);
	for (size_t c = 0; to != from && c < assay_table_infos[id].cols; c++) {
		size_t width = assay_table_infos[id].col[c].width;
		char *values = *column(t, id, c);
		memcpy(values + to * width, values + from * width, width);
	}
}

/* Only tables in front are followed: what leads to a source stands behind it, and some refer to
 * each other in circles (scope.up, op_call and op_shape). */
uint32_t assay_row_source(const assay_tables *t, assay_table_id id, size_t row)
{
	const assay_table_info *info = &assay_table_infos[id];
	assert(row < assay_rows(t, info));
	if (id == ASSAY_T_source)
		return (uint32_t)row;
	if (info->each != ASSAY_T_NONE)
		return assay_row_source(t, info->each, row);
	for (size_t c = 0; c < info->cols; c++) {
		assay_table_id to = info->col[c].kind->refers;
		if (to >= id)
			continue;
		uint64_t at = assay_bits(&info->col[c], assay_values(t, info, &info->col[c]), row);
		uint32_t source = at < assay_rows(t, &assay_table_infos[to])
					  ? assay_row_source(t, to, at)
					  : ASSAY_NO_ROW;
		if (source != ASSAY_NO_ROW)
			return source;
	}
	return ASSAY_NO_ROW;
}

void assay_table_copy(assay_tables *to, const assay_tables *from, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	assay_table_head *h = table_head(to, id);
	size_t n = assay_rows(from, info);
	assay_reserve(to, id, n);
	for (size_t c = 0; n && c < info->cols; c++) {
		size_t width = info->col[c].width;
		char *values = *column(to, id, c);
		memcpy(values + h->n * width, assay_values(from, info, &info->col[c]), n * width);
	}
	h->n += n;
}

void assay_table_free(assay_tables *t, assay_table_id id)
{
	for (size_t c = 0; c < assay_table_infos[id].cols; c++) {
		assay_pages_free(*column(t, id, c));
		*column(t, id, c) = NULL;
	}
	*table_head(t, id) = (assay_table_head){0};
}

void assay_tables_free(assay_tables *t)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++)
		assay_table_free(t, id);
}

TEST(room_doubles_or_is_what_was_asked_for)
{
	assay_tables t = {0};
	assay_reserve(&t, ASSAY_T_gap_part, 1);
	CHECK_EQ(t.gap_part.cap, 32);
	assay_reserve(&t, ASSAY_T_gap_part, 1000001);
	CHECK(t.gap_part.cap > 1000000 && t.gap_part.cap < 1010000);
	size_t cap = t.gap_part.n = t.gap_part.cap;
	assay_reserve(&t, ASSAY_T_gap_part, 1);
	CHECK_EQ(t.gap_part.cap, 2 * cap);
	assay_tables_free(&t);
	return 0;
}

TEST(a_table_on_disk_keeps_its_rows_while_it_grows)
{
	enum { MANY = 100000 };
	assay_tables t = {0};
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t row = assay_add(&t, ASSAY_T_idle_cause);
		t.idle_cause.dur[row] = i;
		if (i == MANY / 2)
			assay_table_to_disk(&t, ASSAY_T_idle_cause, 0);
		if (i % 1000 == 0)
			assay_tables_rest(&t);
	}
	for (uint32_t i = 0; i < MANY; i++)
		CHECK(t.idle_cause.dur[i] == i && t.idle_cause.device[i] == ASSAY_NO_ROW);
	assay_tables_free(&t);
	return 0;
}

TEST(rows_that_a_walk_left_behind_are_there_for_the_next_one)
{
	enum { MANY = 5 * ASSAY_REST_ROWS / 2 };
	assay_tables t = {0};
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t row = assay_add(&t, ASSAY_T_idle_cause);
		t.idle_cause.dur[row] = i;
	}
	for (int on_disk = 0; on_disk < 2; on_disk++) {
		for (uint32_t i = 0; i < MANY; i++) {
			assay_rest_behind(&t, ASSAY_T_idle_cause, i);
			CHECK_EQ(t.idle_cause.dur[i], i);
		}
		assay_table_to_disk(&t, ASSAY_T_idle_cause, 0);
	}
	assay_tables_free(&t);
	return 0;
}

TEST(rows_of_one_table_are_copied_behind_others)
{
	assay_tables a = {0}, b = {0};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t row = assay_add(&b, ASSAY_T_track);
		b.track.tid[row] = i;
	}
	assay_add(&a, ASSAY_T_track);
	assay_table_copy(&a, &b, ASSAY_T_track);
	CHECK(a.track.n == 4 && a.track.tid[3] == 2 && a.track.source[1] == b.track.source[0]);
	assay_table_free(&a, ASSAY_T_track);
	CHECK(!a.track.n && !a.track.tid);
	assay_tables_free(&b);
	return 0;
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

TEST(a_row_is_of_the_source_that_its_references_lead_to)
{
	assay_tables t = {0};
	for (int i = 0; i < 3; i++)
		assay_add(&t, ASSAY_T_source);
	uint32_t device = assay_add(&t, ASSAY_T_device_time), gap = assay_add(&t, ASSAY_T_gap);
	uint32_t part = assay_add(&t, ASSAY_T_gap_part), scope = assay_add(&t, ASSAY_T_scope);
	uint32_t track = assay_add(&t, ASSAY_T_track), gpu = assay_add(&t, ASSAY_T_gpu);
	uint32_t launch = assay_add(&t, ASSAY_T_launch);
	t.device_time.source[device] = 2;
	t.gap.device[gap] = device;
	t.gap_part.gap[part] = gap;
	t.track.source[track] = 1;
	t.gpu.track[gpu] = track;
	t.scope.up[scope] = scope; /* a broken tree must not be followed for ever */
	CHECK_EQ(assay_row_source(&t, ASSAY_T_gap_part, part), 2);
	CHECK_EQ(assay_row_source(&t, ASSAY_T_launch, launch), 1);
	CHECK_EQ(assay_row_source(&t, ASSAY_T_scope, scope), ASSAY_NO_ROW);
	uint32_t call = assay_add(&t, ASSAY_T_op_call), shape = assay_add(&t, ASSAY_T_op_shape);
	t.op_call.shape[call] = shape; /* of work whose launch was not seen */
	t.op_shape.call[shape] = call;
	CHECK_EQ(assay_row_source(&t, ASSAY_T_op_call, call), ASSAY_NO_ROW);
	t.op_call.gpu[call] = gpu;
	CHECK_EQ(assay_row_source(&t, ASSAY_T_op_shape, shape), 1);
	assay_tables_free(&t);
	return 0;
}

TEST(row_references_and_words_say_how_they_are_absent)
{
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		for (size_t c = 0; c < assay_table_infos[i].cols; c++) {
			const assay_col_info *col = &assay_table_infos[i].col[c];
			bool row = assay_col_public[col->kind->type] == ASSAY_TYPE_ROW;
			CHECK(!row || col->absent == ASSAY_NO_ROW);
			CHECK(row || strncmp(col->doc, "row of", 6));
			CHECK(col->kind->type != ASSAY_COL_time || !strcmp(col->unit, "ns"));
			CHECK(col->kind->type != ASSAY_COL_word || col->kind->words > 1);
		}
	return 0;
}

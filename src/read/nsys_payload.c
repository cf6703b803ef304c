/* Structured payloads of NVTX (NCCL's arguments, for one): bytes in NVTX_EVENTS.binaryData, where
 * the export was asked for them, explained by NVTX_PAYLOAD_SCHEMA_ENTRIES. */
#include <stdlib.h>

#include "base/compare.h"
#include "base/test.h"
#include "read/nsys.h"

/* In front of the fields: domain, schema, size of the fields, size of all; 64 bits each (seen in
 * exports of 2026). */
enum { HEAD = 32, HEAD_SCHEMA = 8, HEAD_SIZE = 16 };

/* nvToolsExtPayload.h, compatibility 0x0104. */
enum { FLAGS_ELSEWHERE = 7 << 1, FLAGS_ARRAY = 7 << 4, FLAG_FIXED = 1 << 4 };
enum {
	TYPE_CSTRING = 75,
	TYPE_CSTRING_UTF8 = 76,
	TYPE_COUNT = 81,
	ENUM_SIZE = 4,
	ARRAY_MAX = 4096
};

typedef enum how { UNKNOWN, INTEGER, UNSIGNED, REAL } how;
static const struct {
	uint8_t how, size;
} types[TYPE_COUNT] = {
	[1] = {INTEGER, 1},   [2] = {UNSIGNED, 1},  [3] = {INTEGER, 2},   [4] = {UNSIGNED, 2},
	[5] = {INTEGER, 4},   [6] = {UNSIGNED, 4},  [7] = {INTEGER, 8},   [8] = {UNSIGNED, 8},
	[9] = {INTEGER, 8},   [10] = {UNSIGNED, 8}, [11] = {INTEGER, 1},  [12] = {UNSIGNED, 1},
	[13] = {INTEGER, 2},  [14] = {UNSIGNED, 2}, [15] = {INTEGER, 4},  [16] = {UNSIGNED, 4},
	[17] = {INTEGER, 8},  [18] = {UNSIGNED, 8}, [19] = {REAL, 4},     [20] = {REAL, 8},
	[22] = {UNSIGNED, 8}, [23] = {UNSIGNED, 8}, [24] = {UNSIGNED, 4}, [25] = {UNSIGNED, 1},
	[26] = {UNSIGNED, 2}, [27] = {UNSIGNED, 4}, [32] = {UNSIGNED, 1}, [43] = {REAL, 4},
	[44] = {REAL, 8},     [68] = {UNSIGNED, 4}, [69] = {UNSIGNED, 4}, [70] = {UNSIGNED, 8},
	[71] = {UNSIGNED, 4}, [72] = {UNSIGNED, 8}, [73] = {UNSIGNED, 4}, [74] = {UNSIGNED, 8},
	[80] = {UNSIGNED, 8},
};

static int by_place(const void *a, const void *b)
{
	const nsys_entry *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->domain, y->domain),
			  assay_then(ASSAY_CMP(x->schema, y->schema), ASSAY_CMP(x->idx, y->idx)));
}

static bool same_entry(const nsys_entry *x, const nsys_entry *y)
{
	return x->flags == y->flags && x->type == y->type && x->detail == y->detail &&
	       x->offset == y->offset && x->name == y->name;
}

/* Every process tells its schemas again: once is enough, unless they differ. */
static void join_entries(nsys *n)
{
	size_t kept = 0;
	if (n->entries.n)
		qsort(n->entries.p, n->entries.n, sizeof *n->entries.p, by_place);
	for (size_t i = 0; i < n->entries.n; i++) {
		nsys_entry *last = kept ? &n->entries.p[kept - 1] : NULL;
		if (last && !by_place(last, &n->entries.p[i]))
			last->unsure |= !same_entry(last, &n->entries.p[i]);
		else
			n->entries.p[kept++] = n->entries.p[i];
	}
	n->entries.n = kept;
}

void nsys_read_schemas(nsys *n)
{
	for (assay_db_select(n->db, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
			     ASSAY_DB_COLUMNS("domainId", "schemaId", "idx", "flags", "type",
					      "arrayOrUnionDetail", "offset", "name"));
	     assay_db_next(n->db);) {
		int64_t idx = assay_db_int(n->db, 2, 0);
		*assay_push(&n->entries) = (nsys_entry){
			.domain = assay_db_int(n->db, 0, 0),
			.schema = assay_db_int(n->db, 1, 0),
			.idx = idx,
			.flags = assay_db_int(n->db, 3, 0),
			.type = assay_db_int(n->db, 4, 0),
			.detail = assay_db_int(n->db, 5, 0),
			.offset = assay_db_int(n->db, 6, idx ? -1 : 0),
			.name = assay_intern(&n->part->strings, assay_db_text(n->db, 7)),
		};
	}
	join_entries(n);
	for (assay_db_select(n->db, "NVTX_PAYLOAD_ENUM_ENTRIES",
			     ASSAY_DB_COLUMNS("domainId", "schemaId", "value", "name"));
	     assay_db_next(n->db);)
		*assay_push(&n->enums) =
			(nsys_enum){assay_db_int(n->db, 0, 0), assay_db_int(n->db, 1, 0),
				    assay_db_int(n->db, 2, 0), ENUM_SIZE,
				    assay_intern(&n->part->strings, assay_db_text(n->db, 3))};
	for (assay_db_select(n->db, "NVTX_PAYLOAD_ENUMS",
			     ASSAY_DB_COLUMNS("domainId", "schemaId", "size"));
	     assay_db_next(n->db);)
		for (size_t i = 0; i < n->enums.n; i++)
			if (n->enums.p[i].domain == assay_db_int(n->db, 0, 0) &&
			    n->enums.p[i].schema == assay_db_int(n->db, 1, 0))
				n->enums.p[i].size = assay_db_int(n->db, 2, ENUM_SIZE);
}

/* ---- values */

static uint64_t load(const char *p, unsigned size)
{
	uint64_t v = 0;
	memcpy(&v, p, size);
	return v;
}

static int64_t load_signed(const char *p, unsigned size)
{
	unsigned shift = 64 - 8 * size;
	return (int64_t)(load(p, size) << shift) >> shift;
}

static void put_scalar(assay_jsonw *w, int64_t type, const char *p)
{
	float f;
	double d;
	unsigned size = types[type].size;
	if (types[type].how == UNSIGNED) {
		assay_jsonw_u64(w, NULL, load(p, size));
	} else if (types[type].how == INTEGER) {
		assay_jsonw_i64(w, NULL, load_signed(p, size));
	} else if (size == sizeof f) {
		memcpy(&f, p, sizeof f);
		assay_jsonw_f64(w, NULL, (double)f);
	} else {
		memcpy(&d, p, sizeof d);
		assay_jsonw_f64(w, NULL, d);
	}
}

static const nsys_enum *enum_of(const nsys *n, const nsys_entry *e)
{
	for (size_t i = 0; i < n->enums.n; i++)
		if (n->enums.p[i].domain == e->domain && n->enums.p[i].schema == e->type)
			return &n->enums.p[i];
	return NULL;
}

/* The word of a value, else its number. */
static void put_enum(nsys *n, assay_jsonw *w, const nsys_entry *e, const char *p, unsigned size)
{
	int64_t v = load_signed(p, size);
	for (size_t i = 0; i < n->enums.n; i++) {
		const nsys_enum *word = &n->enums.p[i];
		if (word->domain == e->domain && word->schema == e->type && word->value == v) {
			assay_jsonw_str(w, NULL, assay_pool_get(&n->part->strings, word->name));
			return;
		}
	}
	assay_jsonw_i64(w, NULL, v);
}

/* A field, its size, and how many of them: 0 when it cannot be read. */
typedef struct field {
	uint64_t at, size, count;
	bool text, word;
} field;

static field field_of(const nsys *n, const nsys_entry *e, uint64_t end)
{
	field f = {0};
	bool list = (e->flags & FLAGS_ARRAY) == FLAG_FIXED;
	const nsys_enum *words = enum_of(n, e);
	if (e->unsure || e->flags & FLAGS_ELSEWHERE || (e->flags & FLAGS_ARRAY && !list))
		return f;
	f.text = e->type == TYPE_CSTRING || e->type == TYPE_CSTRING_UTF8;
	f.word = words != NULL;
	if (f.text)
		f.size = 1;
	else if (words)
		f.size = words->size > 0 && words->size <= 8 ? (uint64_t)words->size : 0;
	else if (e->type > 0 && e->type < TYPE_COUNT)
		f.size = types[e->type].size;
	f.count = f.size && (list || f.text)
			  ? (e->detail > 0 && e->detail <= ARRAY_MAX ? (uint64_t)e->detail : 0)
			  : f.size > 0;
	f.at = e->offset >= 0 ? (uint64_t)e->offset
	       : f.size       ? (end + f.size - 1) / f.size * f.size
			      : 0;
	return f;
}

static void put_field(nsys *n, assay_jsonw *w, const nsys_entry *e, field f, const char *p)
{
	if (f.text) {
		assay_jsonw_str(w, NULL, (assay_str){p, strnlen(p, f.count)});
		return;
	}
	bool list = e->flags & FLAGS_ARRAY;
	if (list)
		assay_jsonw_open(w, NULL, '[');
	for (uint64_t i = 0; i < f.count; i++)
		if (f.word)
			put_enum(n, w, e, p + i * f.size, (unsigned)f.size);
		else
			put_scalar(w, e->type, p + i * f.size);
	if (list)
		assay_jsonw_close(w, ']');
}

/* The fields of a schema as members; false when one of them is not known. */
static bool put_fields(nsys *n, assay_jsonw *w, size_t first, assay_str fields)
{
	const nsys_entry *e = n->entries.p + first;
	uint64_t end = 0;
	bool all = true;
	for (size_t i = first; i < n->entries.n && e->domain == n->entries.p[first].domain &&
			       e->schema == n->entries.p[first].schema;
	     i++, e++) {
		field f = field_of(n, e, end);
		uint64_t size = f.size * f.count;
		if (!size || size > fields.n || f.at > fields.n - size) {
			all = false;
			continue;
		}
		assay_jsonw_key(w, assay_pool_get(&n->part->strings, e->name));
		put_field(n, w, e, f, fields.p + f.at);
		end = f.at + size;
	}
	return all;
}

static size_t find_schema(const nsys *n, uint64_t domain, uint64_t schema)
{
	size_t low = 0, high = n->entries.n;
	nsys_entry key = {.domain = (int64_t)domain, .schema = (int64_t)schema, .idx = INT64_MIN};
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (by_place(&n->entries.p[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	bool found = low < n->entries.n && n->entries.p[low].domain == key.domain &&
		     n->entries.p[low].schema == key.schema;
	return found ? low : SIZE_MAX;
}

static void put_hex(nsys *n, assay_jsonw *w, assay_str bytes)
{
	static const char digits[] = "0123456789abcdef";
	char *text = assay_alloc(&n->db->scratch, 2 * bytes.n);
	for (size_t i = 0; i < bytes.n; i++) {
		text[2 * i] = digits[(unsigned char)bytes.p[i] >> 4];
		text[2 * i + 1] = digits[bytes.p[i] & 15];
	}
	assay_jsonw_str(w, "payload_hex", (assay_str){text, 2 * bytes.n});
}

void nsys_put_payload(nsys *n, assay_jsonw *w, assay_str bytes)
{
	bool whole = false;
	uint64_t size = bytes.n >= HEAD ? load(bytes.p + HEAD_SIZE, 8) : UINT64_MAX;
	size_t first = size <= bytes.n - (bytes.n >= HEAD ? HEAD : 0)
			       ? find_schema(n, load(bytes.p, 8), load(bytes.p + HEAD_SCHEMA, 8))
			       : SIZE_MAX;
	if (first != SIZE_MAX) {
		assay_jsonw_open(w, "payload", '{');
		whole = put_fields(n, w, first, (assay_str){bytes.p + HEAD, (size_t)size});
		assay_jsonw_close(w, '}');
	}
	if (!whole)
		put_hex(n, w, bytes);
}

/* ---- tests */

static nsys_entry entry(int64_t idx, int64_t type, int64_t offset, assay_sid name)
{
	return (nsys_entry){
		.domain = 1, .schema = 7, .idx = idx, .type = type, .offset = offset, .name = name};
}

/* What a payload of schema 7 becomes; the caller owns the run. */
static const char *payload_of(assay_run *run, nsys *n, const char *fields, size_t size)
{
	char bytes[HEAD + 64] = {1, [8] = 7, [16] = (char)size, [24] = (char)(HEAD + size)};
	memcpy(bytes + HEAD, fields, size);
	n->part = &run->part;
	join_entries(n);
	nsys_put_payload(n, nsys_args_begin(n), (assay_str){bytes, HEAD + size});
	return assay_z(run, nsys_args_end(n));
}

TEST(payloads_are_read_by_their_schemas)
{
	static const char fields[] = "\x05\0\0\0\0\0\0\0\xff\xff\xff\xff\x02\0\0\0hi\0\0";
	assay_run *run = assay_run_new();
	assay_db db = {.run = run, .part = &run->part};
	nsys n = {.db = &db};
	assay_pool *pool = &run->part.strings;
	nsys_entry text = entry(3, TYPE_CSTRING, 16, assay_intern_z(pool, "word"));
	text.detail = 4;
	*assay_push(&n.entries) = entry(1, 5, -1, assay_intern_z(pool, "peer"));
	*assay_push(&n.entries) = entry(0, 18, 0, assay_intern_z(pool, "size"));
	*assay_push(&n.entries) = entry(2, 1 << 24, 12, assay_intern_z(pool, "op"));
	*assay_push(&n.entries) = text;
	*assay_push(&n.entries) = text; /* another process tells it again */
	*assay_push(&n.enums) = (nsys_enum){1, 1 << 24, 2, 4, assay_intern_z(pool, "Max")};
	CHECK(!strcmp(
		payload_of(run, &n, fields, sizeof fields - 1),
		"\"payload\": {\"size\": 5, \"peer\": -1, \"op\": \"Max\", \"word\": \"hi\"}"));
	assay_vec_free(&n.entries);
	assay_vec_free(&n.enums);
	assay_jsonw_free(&n.args);
	assay_arena_free(&db.scratch);
	assay_run_free(run);
	return 0;
}

TEST(payloads_that_are_not_understood_are_kept_as_bytes)
{
	assay_run *run = assay_run_new();
	assay_db db = {.run = run, .part = &run->part};
	nsys n = {.db = &db};
	assay_sid name = assay_intern_z(&run->part.strings, "far");
	*assay_push(&n.entries) = entry(0, 18, 4, name); /* beyond the end */
	const char *got = payload_of(run, &n, "\x01\x02\x03\x04", 4);
	CHECK(strstr(got, "\"payload\": {}") && strstr(got, "\"payload_hex\": \"01") &&
	      strstr(got, "01020304\""));
	*assay_push(&n.entries) = entry(0, 5, 0, name); /* two processes disagree */
	CHECK(strstr(payload_of(run, &n, "\x01\x02\x03\x04", 4), "\"payload\": {}"));
	n.entries.n = 0;
	CHECK(!strstr(payload_of(run, &n, "\x01\x02\x03\x04", 4), "\"payload\":"));
	assay_vec_free(&n.entries);
	assay_jsonw_free(&n.args);
	assay_arena_free(&db.scratch);
	assay_run_free(run);
	return 0;
}

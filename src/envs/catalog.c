#include "envs/catalog.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "names/vendors.h"

enum { FILE_MAX = 256 << 20, NAMED = 3, TAGS = 8 };

typedef struct kernel_file {
	assay_str name, digest; /* digest: "" when it was not read */
	int64_t size;
} kernel_file;

typedef struct database {
	assay_str library, path, content;
	assay_vec(kernel_file) files; /* by name */
} database;

typedef struct catalog {
	bool tried;
	assay_vec(database) databases;
} catalog;

const char *assay_env_catalog_path(assay_arena *a, const char *snapshot)
{
	assay_str s = assay_str_of(snapshot);
	size_t n = assay_str_ends(s, ".json") ? s.n - 5 : s.n;
	return assay_printf(a, "%.*s.catalog.json", (int)n, s.p);
}

static assay_str text_of(assay_arena *a, assay_str raw)
{
	return raw.n >= 2 && *raw.p == '"'
		       ? assay_json_unescape(a, (assay_str){raw.p + 1, raw.n - 2})
		       : (assay_str){"", 0};
}

static int by_name(const void *a, const void *b)
{
	const kernel_file *x = a, *y = b;
	return assay_str_cmp(x->name, y->name);
}

/* "name": [size, "sha256:..."] */
static bool read_files(assay_arena *a, assay_json *j, database *db)
{
	assay_str key, raw;
	if (!assay_json_enter(j, '{'))
		return false;
	while (assay_json_member(j, &key)) {
		kernel_file f = {.name = assay_json_unescape(a, key), .digest = {"", 0}};
		if (!assay_json_enter(j, '['))
			return false;
		for (int i = 0; assay_json_element(j) && assay_json_skip(j, &raw); i++)
			if (i == 0)
				assay_str_i64(raw, &f.size);
			else if (i == 1)
				f.digest = text_of(a, raw);
		*assay_push(&db->files) = f;
	}
	if (db->files.n)
		qsort(db->files.p, db->files.n, sizeof *db->files.p, by_name);
	return assay_json_ok(j);
}

static bool read_database(assay_arena *a, assay_json *j, database *db)
{
	assay_str key, raw;
	if (!assay_json_enter(j, '{'))
		return false;
	while (assay_json_member(j, &key)) {
		if (assay_str_is(key, "files") ? !read_files(a, j, db) : !assay_json_skip(j, &raw))
			return false;
		if (assay_str_is(key, "library"))
			db->library = text_of(a, raw);
		else if (assay_str_is(key, "path"))
			db->path = text_of(a, raw);
		else if (assay_str_is(key, "content_hash"))
			db->content = text_of(a, raw);
	}
	return assay_json_ok(j);
}

static bool read_databases(assay_arena *a, assay_str text, catalog *out)
{
	assay_json j = assay_json_on(text.p, text.n);
	assay_str key;
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key)) {
		if (!assay_str_is(key, "databases")) {
			assay_json_skip(&j, NULL);
			continue;
		}
		if (!assay_json_enter(&j, '['))
			return false;
		while (assay_json_element(&j)) {
			database db = {.library = {"", 0}, .path = {"", 0}, .content = {"", 0}};
			bool ok = read_database(a, &j, &db);
			*assay_push(&out->databases) = db;
			if (!ok)
				return false;
		}
	}
	return assay_json_ok(&j);
}

static void forget(catalog *c)
{
	for (size_t i = 0; i < c->databases.n; i++)
		assay_vec_free(&c->databases.p[i].files);
	assay_vec_free(&c->databases);
}

static void load(assay_env_set *set, size_t doc, catalog *out)
{
	out->tried = true;
	assay_input *in =
		assay_input_open(assay_env_catalog_path(&set->arena, set->docs.p[doc].file), NULL);
	if (!in)
		return;
	assay_view v = assay_input_view(in, 0, FILE_MAX);
	char *copy = assay_alloc(&set->arena, v.n + ASSAY_PAD);
	memcpy(copy, v.p, v.n);
	if (assay_input_damage(in) || v.n > FILE_MAX ||
	    !read_databases(&set->arena, (assay_str){copy, v.n}, out))
		forget(out);
	assay_input_close(in);
}

/* The database a row of a snapshot is about: by the folder the snapshot names, and whole. */
static const database *database_of(assay_env_set *set, size_t doc, const catalog *c,
				   const char *block, assay_str library)
{
	const assay_env_doc *d = &set->docs.p[doc];
	const char *path = assay_env_says(set, d, assay_printf(&set->arena, "%s.path", block));
	const char *content =
		assay_env_says(set, d, assay_printf(&set->arena, "%s.content_hash", block));
	for (size_t i = 0; i < c->databases.n; i++) {
		const database *db = &c->databases.p[i];
		if (assay_str_eq(db->library, library) && path && assay_str_is(db->path, path) &&
		    (!content || assay_str_is(db->content, content)))
			return db;
	}
	return NULL;
}

/* How often a word was seen; few words, so a list will do. */
typedef struct tally {
	assay_str word[TAGS];
	size_t count[TAGS], n, seen;
} tally;

static void count_word(tally *t, assay_str word)
{
	size_t i = 0;
	t->seen += word.n > 0;
	while (i < t->n && !assay_str_eq(t->word[i], word))
		i++;
	if (!word.n || i == TAGS)
		return;
	t->n = i == t->n ? t->n + 1 : t->n;
	t->word[i] = word;
	t->count[i]++;
}

/* Tensile names a GEMM's types by letters: Type_BB, Type_HS (half in, single out). */
static assay_str type_of(assay_str name)
{
	static const struct {
		const char *letters, *word;
	} types[] = {{"BB", "BF16"}, {"BS", "BF16"}, {"HH", "FP16"},         {"HS", "FP16"},
		     {"SS", "FP32"}, {"DD", "FP64"}, {"XS", "TF32"},         {"CC", "complex FP32"},
		     {"I8", "INT8"}, {"4x", "INT8"}, {"ZZ", "complex FP64"}, {"F8", "FP8"},
		     {"B8", "BF8"},  {"F4", "FP4"}};
	for (size_t i = 0; i + 7 <= name.n; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(types) && !memcmp(name.p + i, "Type_", 5);
		     k++)
			if (!memcmp(name.p + i + 5, types[k].letters, 2))
				return assay_str_of(types[k].word);
	return (assay_str){"", 0};
}

typedef struct changes {
	size_t differ, only_a, only_b, unknown, files;
	tally gpus, types;
	const char *named; /* the first few */
	size_t n_named;
} changes;

static void name_one(assay_arena *a, changes *c, const kernel_file *f, const char *mark)
{
	assay_str rest = f->name;
	count_word(&c->gpus, assay_gfx_in(&rest));
	count_word(&c->types, type_of(f->name));
	if (c->n_named++ < NAMED)
		c->named = assay_printf(a, "%s%s%s%s", c->named ? c->named : "",
					c->named ? ", " : "", mark, assay_fmt_safe(a, f->name));
}

static changes compare(assay_arena *a, const database *x, const database *y)
{
	changes c = {0};
	size_t i = 0, k = 0;
	for (; i < x->files.n || k < y->files.n; c.files++) {
		const kernel_file *p = &x->files.p[i], *q = &y->files.p[k];
		int order = i == x->files.n ? 1 : k == y->files.n ? -1 : by_name(p, q);
		i += order <= 0;
		k += order >= 0;
		if (order) {
			*(order < 0 ? &c.only_a : &c.only_b) += 1;
			name_one(a, &c, order < 0 ? p : q, order < 0 ? "-" : "+");
		} else if (p->size != q->size ||
			   (p->digest.n && q->digest.n && !assay_str_eq(p->digest, q->digest))) {
			c.differ++;
			name_one(a, &c, p, "");
		} else {
			c.unknown += !p->digest.n || !q->digest.n;
		}
	}
	return c;
}

/* ", all gfx942", or ", gfx942 (2), gfx90a (1)" */
static const char *tell_words(assay_arena *a, const tally *t, size_t of)
{
	const char *out = "";
	if (t->n == 1 && t->count[0] == of)
		return assay_printf(a, ", all %.*s", (int)t->word[0].n, t->word[0].p);
	for (size_t i = 0; i < t->n; i++)
		out = assay_printf(a, "%s, %.*s (%zu)", out, (int)t->word[i].n, t->word[i].p,
				   t->count[i]);
	return t->n == TAGS ? assay_printf(a, "%s and others", out) : out;
}

static const char *tell(assay_arena *a, assay_str library, const changes *c)
{
	char n[ASSAY_FMT], all[ASSAY_FMT];
	size_t changed = c->differ + c->only_a + c->only_b;
	if (!changed)
		return NULL;
	const char *text =
		assay_printf(a, "%.*s: %s of %s files differ", (int)library.n, library.p,
			     assay_fmt_count(n, changed), assay_fmt_count(all, c->files));
	if (c->only_a || c->only_b)
		text = assay_printf(a, "%s (%zu only on the first side, %zu only on the second)",
				    text, c->only_a, c->only_b);
	text = assay_printf(a, "%s%s%s: %s", text, tell_words(a, &c->gpus, changed),
			    tell_words(a, &c->types, changed), c->named);
	if (changed > NAMED)
		text = assay_printf(a, "%s and %zu more", text, changed - NAMED);
	return c->unknown ? assay_printf(a, "%s; %zu not read on a side", text, c->unknown) : text;
}

/* "assay.kernel_databases.LIBRARY" of any row about that database; NULL of other rows. */
static const char *block_of(assay_arena *a, const char *path, assay_str *library)
{
	const char *at = strstr(path, "kernel_databases."), *dot = strchr(path, '.');
	if (at) {
		at += strlen("kernel_databases.");
		*library = (assay_str){at, strcspn(at, ".")};
		return assay_dup(a, (assay_str){path, (size_t)(at - path) + library->n});
	}
	if (!dot || strcmp(dot, ".kernel_db_revision"))
		return NULL;
	*library = (assay_str){path, (size_t)(dot - path)};
	return assay_printf(a, "assay.kernel_databases.%.*s", (int)library->n, library->p);
}

static const catalog *catalog_of(assay_env_set *set, catalog *all, size_t doc)
{
	if (!all[doc].tried)
		load(set, doc, &all[doc]);
	return &all[doc];
}

/* The first snapshot that has, or has not, the row's first value. */
static size_t side(const assay_env_set *set, const assay_env_row *row, bool deviates)
{
	for (size_t i = 0; i < set->docs.n; i++)
		if (assay_env_cell(set, i, row->path_no) &&
		    assay_env_deviates(set, row, i) == deviates)
			return i;
	return SIZE_MAX;
}

static const char *tell_row(assay_env_set *set, const assay_env_row *row, catalog *all)
{
	assay_str library;
	const char *block = block_of(&set->arena, row->path, &library);
	size_t x = side(set, row, false), y = side(set, row, true);
	if (!block || x == SIZE_MAX || y == SIZE_MAX)
		return NULL;
	const database *a = database_of(set, x, catalog_of(set, all, x), block, library);
	const database *b = database_of(set, y, catalog_of(set, all, y), block, library);
	if (!a || !b)
		return NULL;
	changes c = compare(&set->arena, a, b);
	return tell(&set->arena, library, &c);
}

void assay_env_name_files(assay_env_set *set, assay_env_result *r)
{
	assay_vec(catalog) all = {0};
	assay_vec_reserve(&all, set->docs.n);
	memset(all.p, 0, set->docs.n * sizeof *all.p);
	for (size_t i = 0; i < r->rows.n; i++)
		r->rows.p[i].files = tell_row(set, &r->rows.p[i], all.p);
	for (size_t i = 0; i < set->docs.n; i++)
		forget(&all.p[i]);
	assay_vec_free(&all);
}

TEST(a_difference_of_databases_is_told_by_file_gpu_and_type)
{
	assay_arena a = {0};
	catalog x = {0}, y = {0};
	char one[512] =
		"{\"databases\":[{\"library\":\"hipblaslt\",\"path\":\"/p\",\"files\":{\"a_gfx942.dat\":[3,\"sha256:1\"],\"Type_BB_gfx942.co\":[4,\"sha256:2\"],\"same_gfx90a.co\":[5,null]}}]}";
	char two[512] =
		"{\"databases\":[{\"library\":\"hipblaslt\",\"path\":\"/p\",\"files\":{\"Type_BB_gfx942.co\":[4,\"sha256:9\"],\"a_gfx942.dat\":[3,\"sha256:1\"],\"same_gfx90a.co\":[5,\"sha256:1\"]}}]}";
	CHECK(read_databases(&a, assay_str_of(one), &x) &&
	      read_databases(&a, assay_str_of(two), &y));
	changes c = compare(&a, &x.databases.p[0], &y.databases.p[0]);
	const char *text = tell(&a, ASSAY_S("hipblaslt"), &c);
	CHECK(!strcmp(
		text,
		"hipblaslt: 1 of 3 files differ, all gfx942, all BF16: Type_BB_gfx942.co; 1 not read on a side"));
	forget(&x);
	forget(&y);
	assay_arena_free(&a);
	return 0;
}

TEST(a_catalog_cut_anywhere_is_refused)
{
	char text[256] =
		"{\"catalog_version\":1,\"databases\":[{\"library\":\"miopen\",\"files\":{\"a\":[3,\"sha256:1\",7],\"b\":[null]}}]}";
	size_t n = strlen(text);
	for (size_t cut = 0; cut <= n; cut++) {
		assay_arena a = {0};
		catalog c = {0};
		CHECK(read_databases(&a, (assay_str){text, cut}, &c) == (cut == n));
		forget(&c);
		assay_arena_free(&a);
	}
	return 0;
}

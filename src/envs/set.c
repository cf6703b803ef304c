/* Devices in lists are told by where they sit (bus, then UUID), never by position. */
#include "envs/set.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fmt.h"
#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "envs/rules.h"

enum { PATH_BYTES = 1024, DEPTH_MAX = 24, FILE_MAX = 256 << 20 };

struct flat {
	assay_env_set *set;
	assay_env_doc *doc;
	bool schema_10;
	char path[PATH_BYTES];
	size_t n;
};

/* Keys of schema 1.0 that 1.1 renamed. */
static const struct {
	const char *old, *now;
} renamed[] = {
	{".commit", ".rocm_release_tweak"},
	{".tensile_yaml_revision", ".kernel_db_revision"},
};

static uint32_t path_number(assay_env_set *set, assay_str path)
{
	assay_sid id = assay_intern(&set->pool, path);
	uint32_t *at = assay_map_at(&set->path_at, id);
	if (*at != ASSAY_MAP_ABSENT)
		return *at;
	*at = (uint32_t)set->paths.n;
	const char *text = assay_pool_get(&set->pool, id).p;
	assay_env_path p = {.id = id,
			    .component = UINT32_MAX,
			    .variable = strstr(text, "env_vars.") != NULL,
			    .commit = assay_env_is_commit(text)};
	*assay_push(&set->paths) = p;
	return *at;
}

static void put_at(assay_env_doc *doc, uint32_t path, assay_sid value)
{
	while (doc->value.n <= path)
		*assay_push(&doc->value) = 0;
	doc->value.p[path] = value;
}

static uint32_t put_value(struct flat *f, assay_sid value)
{
	assay_str path = {f->path, f->n};
	char buf[PATH_BYTES];
	/* only these blocks: aiter.commit of later versions is a real commit */
	bool math = assay_str_starts(path, "hipblaslt.") || assay_str_starts(path, "rocblas.") ||
		    assay_str_starts(path, "miopen.");
	for (size_t i = 0; f->schema_10 && math && i < ASSAY_COUNT_OF(renamed); i++)
		if (assay_str_ends(path, renamed[i].old)) {
			int n = snprintf(buf, sizeof buf, "%.*s%s",
					 (int)(path.n - strlen(renamed[i].old)), path.p,
					 renamed[i].now);
			path = (assay_str){buf, (size_t)n};
			break;
		}
	uint32_t at = path_number(f->set, path);
	put_at(f->doc, at, value);
	return at;
}

static assay_sid intern_value(assay_env_set *set, assay_str text)
{
	return assay_intern(&set->pool,
			    text.n ? text : ASSAY_S("\"\"")); /* "" is a value, not an absence */
}

static assay_str unquoted(struct flat *f, assay_str raw)
{
	return raw.n >= 2 && *raw.p == '"'
		       ? assay_json_unescape(&f->set->arena, (assay_str){raw.p + 1, raw.n - 2})
		       : raw;
}

static int by_text(const void *a, const void *b)
{
	return assay_str_cmp(*(const assay_str *)a, *(const assay_str *)b);
}

typedef assay_vec(assay_str) texts;

static assay_sid join_sorted(struct flat *f, texts *items)
{
	if (!items->n)
		return intern_value(f->set, ASSAY_S("(none)"));
	qsort(items->p, items->n, sizeof *items->p, by_text);
	assay_vec(char) text = {0};
	for (size_t i = 0; i < items->n; i++) {
		assay_str item = items->p[i];
		assay_vec_reserve(&text, text.n + item.n + 2);
		if (i) {
			memcpy(text.p + text.n, ", ", 2);
			text.n += 2;
		}
		if (item.n)
			memcpy(text.p + text.n, item.p, item.n);
		text.n += item.n;
	}
	assay_sid id = intern_value(f->set, (assay_str){text.p, text.n});
	assay_vec_free(&text);
	return id;
}

static bool flatten(struct flat *f, assay_json *j, int depth);

/* "00000000:4B:00.0" of NVML and "0000:4b:00.0" of /sys are one place. */
static void same_bus(char *key)
{
	size_t domain = strcspn(key, ":");
	for (char *p = key; *p; p++)
		*p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
	if (domain == 8 && !strncmp(key, "0000", 4))
		memmove(key, key + 4, strlen(key + 4) + 1);
}

/* What tells one element of a list from the others. */
static bool identity_of(struct flat *f, assay_str element, char *out, size_t cap)
{
	static const char *const keys[] = {"bus",       "pci_bus_id", "uuid",
					   "unique_id", "name",       "device"};
	for (size_t k = 0; k < ASSAY_COUNT_OF(keys); k++) {
		assay_json j = assay_json_on(element.p, element.n);
		assay_str key, v;
		if (!assay_json_enter(&j, '{'))
			return false;
		while (assay_json_member(&j, &key)) {
			bool hit = assay_str_is(key, keys[k]) && assay_json_peek(&j) == '"';
			if (!assay_json_skip(&j, &v))
				return false;
			v = hit ? unquoted(f, v) : (assay_str){"", 0};
			if (!v.n || v.n >= cap)
				continue;
			snprintf(out, cap, "%.*s", (int)v.n, v.p);
			same_bus(out);
			return true;
		}
	}
	return false;
}

/* ".KEY" at the end of the path; the second of one name (a partition of a card) is "KEY#2". */
static void append_element(struct flat *f, size_t base, assay_str element, size_t index)
{
	char key[160];
	if (!identity_of(f, element, key, sizeof key))
		snprintf(key, sizeof key, "%zu", index);
	for (int copy = 1; copy < 1000; copy++) {
		char tail[16] = "";
		if (copy > 1)
			snprintf(tail, sizeof tail, "#%d", copy);
		int n = snprintf(f->path + base, sizeof f->path - base, ".%s%s", key, tail);
		f->n = base + (size_t)n < sizeof f->path ? base + (size_t)n : base;
		uint32_t at = assay_env_path_of(f->set, (assay_str){f->path, f->n});
		if (at >= f->doc->value.n || !f->doc->value.p[at])
			break;
	}
	/* taken: the next of that name finds it */
	put_value(f, f->set->present_id);
}

/* A list of plain values is a set, told as one text. */
static bool flatten_array(struct flat *f, assay_json *j, int depth)
{
	texts items = {0};
	size_t base = f->n, index = 0;
	bool ok = assay_json_enter(j, '['), objects = false;
	while (ok && assay_json_element(j)) {
		assay_str raw;
		ok = assay_json_skip(j, &raw);
		if (!ok)
			break;
		if (*raw.p == '{' || *raw.p == '[') {
			assay_json sub = assay_json_on(raw.p, raw.n);
			objects = true;
			append_element(f, base, raw, index);
			ok = flatten(f, &sub, depth + 1);
			f->n = base;
		} else {
			*assay_push(&items) = unquoted(f, raw);
		}
		index++;
	}
	ok = ok && assay_json_ok(j);
	f->path[f->n] = 0;
	/* a list is whole: what it does not hold is not there */
	if (ok && (objects || !index))
		*assay_push(&f->doc->absent) = assay_printf(&f->set->arena, "%s.*", f->path);
	if (ok) {
		/* the number first: making a path may move the table */
		uint32_t at = objects ? path_number(f->set, (assay_str){f->path, f->n})
				      : put_value(f, join_sorted(f, &items));
		f->set->paths.p[at].list |= objects;
		f->set->paths.p[at].set |= !objects;
	}
	assay_vec_free(&items);
	return ok;
}

/* "assay.absent": what the writer knows not to be there. */
static bool read_absent(struct flat *f, assay_json *j)
{
	if (!assay_json_enter(j, '['))
		return false;
	while (assay_json_element(j)) {
		assay_str raw;
		if (!assay_json_skip(j, &raw))
			return false;
		*assay_push(&f->doc->absent) = assay_dup(&f->set->arena, unquoted(f, raw));
	}
	return assay_json_ok(j);
}

static bool flatten_member(struct flat *f, assay_json *j, int depth)
{
	char c = assay_json_peek(j);
	if (c == '[' && !strcmp(f->path, "assay.absent"))
		return read_absent(f, j);
	/* whole blocks nobody compares need not be walked */
	if (depth < 2 && (c == '{' || c == '[') && assay_env_is_ignored(f->path))
		return assay_json_skip(j, NULL);
	return flatten(f, j, depth + 1);
}

static bool flatten_object(struct flat *f, assay_json *j, int depth)
{
	size_t base = f->n;
	assay_str key;
	if (!assay_json_enter(j, '{'))
		return false;
	while (assay_json_member(j, &key)) {
		key = assay_json_unescape(&f->set->arena, key);
		if (base + key.n + 2 >= sizeof f->path) {
			assay_json_skip(j, NULL);
			continue;
		}
		f->n = base;
		if (base)
			f->path[f->n++] = '.';
		memcpy(f->path + f->n, key.p, key.n);
		f->n += key.n;
		f->path[f->n] = 0;
		if (!flatten_member(f, j, depth))
			return false;
	}
	f->n = base;
	return assay_json_ok(j);
}

static bool flatten(struct flat *f, assay_json *j, int depth)
{
	assay_str raw;
	char c = assay_json_peek(j);
	if (depth > DEPTH_MAX)
		return assay_json_skip(j, NULL);
	if (c == '{')
		return flatten_object(f, j, depth);
	if (c == '[')
		return flatten_array(f, j, depth);
	if (!assay_json_skip(j, &raw))
		return false;
	/* the one text the schema has no null for */
	bool none = assay_str_is(raw, "null") ||
		    (raw.n == 2 && *raw.p == '"' && !strcmp(f->path, "python_version"));
	put_value(f, none ? f->set->null_id : intern_value(f->set, unquoted(f, raw)));
	return true;
}

uint32_t assay_env_path_of(const assay_env_set *set, assay_str path)
{
	assay_sid id = assay_pool_find(&set->pool, path);
	return id ? assay_map_get(&set->path_at, id) : ASSAY_MAP_ABSENT;
}

const char *assay_env_path_text(const assay_env_set *set, uint32_t path)
{
	return assay_pool_get(&set->pool, set->paths.p[path].id).p;
}

const char *assay_env_value(const assay_env_set *set, assay_sid id)
{
	return id && id != set->null_id && id != set->absent_id ? assay_pool_get(&set->pool, id).p
								: NULL;
}

const char *assay_env_says(const assay_env_set *set, const assay_env_doc *doc, const char *path)
{
	uint32_t at = assay_env_path_of(set, assay_str_of(path));
	return at < doc->value.n ? assay_env_value(set, doc->value.p[at]) : NULL;
}

assay_sid assay_env_cell(const assay_env_set *set, size_t doc, uint32_t path)
{
	const assay_env_doc *d = &set->docs.p[doc];
	return path < d->value.n ? d->value.p[path] : 0;
}

/* "schema_version": "1.0" stands first, but any order is JSON. */
static bool is_schema_10(assay_str json)
{
	assay_json j = assay_json_on(json.p, json.n);
	assay_str key, v;
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &v))
		if (assay_str_is(key, "schema_version"))
			return assay_str_is(v, "\"1.0\"");
	return false;
}

/* Snapshots of our first release have no list of absences; these blocks were complete. */
static void old_absences(assay_env_set *set, assay_env_doc *doc)
{
	static const char *const lists[] = {"assay.python.packages.*", "assay.system_packages.*",
					    "assay.gpus.*"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(lists); i++)
		*assay_push(&doc->absent) = assay_dup(&set->arena, assay_str_of(lists[i]));
}

static void describe(assay_env_set *set, assay_env_doc *doc)
{
	doc->schema = assay_env_says(set, doc, "schema_version");
	const char *host = assay_env_says(set, doc, "assay.host.hostname");
	doc->host = host ? assay_fmt_safe(&set->arena, assay_str_of(host)) : NULL;
	doc->ours = assay_env_says(set, doc, "assay.version") != NULL;
	const char *variables = assay_env_says(set, doc, "assay.variables");
	doc->no_variables = variables && !strcmp(variables, "none");
	if (doc->ours && !doc->absent.n)
		old_absences(set, doc);
}

static void free_doc(assay_env_doc *doc)
{
	assay_vec_free(&doc->absent);
	assay_vec_free(&doc->value);
}

static void start_set(assay_env_set *set)
{
	if (set->null_id)
		return;
	set->null_id = assay_intern(&set->pool, ASSAY_S("\x01null"));
	set->absent_id = assay_intern(&set->pool, ASSAY_S("\x01"
							  "absent"));
	set->present_id = assay_intern(&set->pool, ASSAY_S("present"));
}

bool assay_env_set_add_text(assay_env_set *set, const char *name, assay_str json, assay_err *err)
{
	start_set(set);
	assay_env_doc doc = {.name = assay_fmt_safe(&set->arena, assay_str_of(name)),
			     .file = assay_dup(&set->arena, assay_str_of(name))};
	struct flat f = {.set = set, .doc = &doc, .schema_10 = is_schema_10(json)};
	assay_json j = assay_json_on(json.p, json.n);
	bool object = assay_json_peek(&j) == '{';
	bool ok = (object ? flatten(&f, &j, 0) : assay_json_skip(&j, NULL)) && !assay_json_peek(&j);
	if (ok && object)
		describe(set, &doc);
	if (doc.schema) {
		*assay_push(&set->docs) = doc;
		return true;
	}
	free_doc(&doc);
	return ok ? assay_fail(err, ASSAY_FORMAT, 0, "%s is not an environment snapshot: it %s",
			       name, object ? "has no schema_version" : "holds no JSON object")
		  : assay_fail(err, ASSAY_FORMAT, (uint64_t)(j.p - json.p), "%s is not valid JSON",
			       name);
}

/* Of a run directory, the snapshot in it. */
static const char *snapshot_of(assay_env_set *set, const char *path)
{
	struct stat st;
	size_t n = strlen(path);
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return path;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return assay_printf(&set->arena, "%.*s/env.json", (int)n, path);
}

bool assay_env_set_add(assay_env_set *set, const char *path, assay_err *err)
{
	const char *file = snapshot_of(set, path);
	assay_input *in = assay_input_open(file, err);
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, FILE_MAX);
	assay_str text = {v.p, v.n};
	bool ok;
	if (assay_input_damage(in))
		ok = assay_fail(err, ASSAY_IO, 0, "%s: %s", file, assay_input_damage(in));
	else if (v.n > FILE_MAX)
		ok = assay_fail(err, ASSAY_LIMIT, 0, "%s is too large for a snapshot", file);
	else
		ok = assay_env_set_add_text(set, file, text, err);
	assay_input_close(in);
	return ok;
}

void assay_env_set_free(assay_env_set *set)
{
	for (size_t i = 0; i < set->docs.n; i++)
		free_doc(&set->docs.p[i]);
	assay_vec_free(&set->docs);
	assay_vec_free(&set->paths);
	assay_map_free(&set->path_at);
	assay_pool_free(&set->pool);
	assay_arena_free(&set->arena);
}

typedef assay_vec(assay_str) elements;

/* Distinct keys of a list a snapshot has, in order: "0000:4b:00.0" of "assay.gpus.0000:4b:00.0". */
static void elements_of(const assay_env_set *set, const assay_env_doc *doc, const char *list,
			elements *out)
{
	size_t n = strlen(list);
	for (uint32_t p = 0; p < doc->value.n; p++) {
		assay_str path = assay_pool_get(&set->pool, set->paths.p[p].id);
		if (doc->value.p[p] == set->present_id && assay_str_starts(path, list))
			*assay_push(out) = (assay_str){path.p + n, path.n - n};
	}
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_text);
}

static bool share_one(const elements *a, const elements *b)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (assay_str_eq(a->p[i], b->p[k]))
				return true;
	return !a->n || !b->n;
}

/* Give the values under list+from to list+to. */
static void rename_element(assay_env_set *set, assay_env_doc *doc, const char *list, assay_str from,
			   assay_str to)
{
	size_t n = strlen(list), paths = doc->value.n;
	char buf[PATH_BYTES];
	for (uint32_t p = 0; p < paths; p++) {
		assay_str path = assay_pool_get(&set->pool, set->paths.p[p].id);
		if (!doc->value.p[p] || !assay_str_starts(path, list) || path.n < n + from.n ||
		    memcmp(path.p + n, from.p, from.n) ||
		    (path.n > n + from.n && path.p[n + from.n] != '.'))
			continue;
		int len = snprintf(buf, sizeof buf, "%s%.*s%.*s", list, (int)to.n, to.p,
				   (int)(path.n - n - from.n), path.p + n + from.n);
		if (len >= (int)sizeof buf)
			continue;
		assay_sid v = doc->value.p[p];
		doc->value.p[p] = 0;
		put_at(doc, path_number(set, (assay_str){buf, (size_t)len}), v);
	}
}

static const char *uuid_of(const assay_env_set *set, const assay_env_doc *doc, const char *list,
			   assay_str key)
{
	char path[PATH_BYTES];
	int n = snprintf(path, sizeof path, "%s%.*s.uuid", list, (int)key.n, key.p);
	return n < (int)sizeof path ? assay_env_says(set, doc, path) : NULL;
}

/* The element of a snapshot that is the same thing as one of another; its own key where none is. */
static assay_str same_thing(const assay_env_set *set, const char *list, const assay_env_doc *other,
			    const elements *there, const assay_env_doc *doc, assay_str key)
{
	const char *uuid = uuid_of(set, doc, list, key);
	for (size_t i = 0; uuid && i < there->n; i++) {
		const char *one = uuid_of(set, other, list, there->p[i]);
		if (one && !strcmp(one, uuid))
			return there->p[i];
	}
	return key;
}

/* On one machine a bus may be another card's after one is gone: the cards keep their numbers. */
static void match_moved(assay_env_set *set, const char *list, const assay_env_doc *other,
			const elements *there, assay_env_doc *doc, const elements *mine)
{
	assay_vec(assay_str) to = {0};
	for (size_t i = 0; i < mine->n; i++)
		*assay_push(&to) = same_thing(set, list, other, there, doc, mine->p[i]);
	/* by way of names that no card has, for they may change places */
	for (int away = 1; away >= 0; away--)
		for (size_t i = 0; i < mine->n; i++) {
			char name[24];
			int n = snprintf(name, sizeof name, "\x02%zu", i);
			assay_str between = {name, (size_t)n};
			if (!assay_str_eq(mine->p[i], to.p[i]))
				rename_element(set, doc, list, away ? mine->p[i] : between,
					       away ? between : to.p[i]);
		}
	assay_vec_free(&to);
}

static void mark_moved(assay_env_set *set)
{
	for (uint32_t p = 0; p < set->paths.n; p++) {
		set->paths.p[p].moved = true;
		for (size_t d = 0; d < set->docs.n; d++)
			set->paths.p[p].moved &= !assay_env_cell(set, d, p);
	}
}

/* A machine of another make has its GPUs in other places: then their order is all there is. */
static void match_devices(assay_env_set *set, const char *list)
{
	elements first = {0};
	const assay_env_doc *other = NULL;
	for (size_t d = 0; d < set->docs.n; d++) {
		assay_env_doc *doc = &set->docs.p[d];
		elements mine = {0};
		elements_of(set, doc, list, &mine);
		if (!first.n) {
			first = mine;
			other = doc;
			continue;
		}
		match_moved(set, list, other, &first, doc, &mine);
		mine.n = 0;
		elements_of(set, doc, list, &mine);
		if (!share_one(&first, &mine))
			for (size_t i = 0; i < mine.n && i < first.n; i++)
				rename_element(set, doc, list, mine.p[i], first.p[i]);
		assay_vec_free(&mine);
	}
	assay_vec_free(&first);
}

/* A pattern that ends in a star speaks of what is not listed, so of no key that is there. */
static bool covers(const char *pattern, const char *path, bool listed)
{
	size_t n = strlen(pattern);
	if (n && pattern[n - 1] == '*')
		return !listed && !strncmp(path, pattern, n - 1);
	return !strncmp(path, pattern, n) && (!path[n] || path[n] == '.');
}

static bool known_absent(const assay_env_doc *doc, const char *path, bool listed)
{
	for (size_t i = 0; i < doc->absent.n; i++)
		if (covers(doc->absent.p[i], path, listed))
			return true;
	return false;
}

/* null and missing keys become absent or unknown. */
static void settle_cell(assay_env_set *set, assay_env_doc *doc, uint32_t path)
{
	assay_sid *v = &doc->value.p[path];
	const assay_env_path *p = &set->paths.p[path];
	if (*v && *v != set->null_id)
		return;
	bool listed = *v == set->null_id, gone = false;
	if (p->component != UINT32_MAX) {
		assay_sid whole = doc->value.p[p->component];
		gone = whole == set->absent_id;
		listed |= whole == set->present_id;
	}
	if (p->variable && doc->no_variables)
		gone = false;
	else
		gone = gone || (p->variable && *v == set->null_id) ||
		       known_absent(doc, assay_env_path_text(set, path), listed);
	*v = gone ? set->absent_id : 0;
}

static bool is_known(const assay_env_set *set, assay_sid v)
{
	return v && v != set->null_id && v != set->absent_id;
}

/* Present when anything of it is known, absent when the snapshot says so. */
static void settle_components(assay_env_set *set, assay_env_doc *doc)
{
	for (uint32_t p = 0; p < set->paths.n; p++)
		if (is_known(set, doc->value.p[p]) && set->paths.p[p].component != UINT32_MAX)
			doc->value.p[set->paths.p[p].component] = set->present_id;
	for (uint32_t p = 0; p < set->paths.n; p++)
		if (set->paths.p[p].is_component && !is_known(set, doc->value.p[p]))
			doc->value.p[p] = known_absent(doc, assay_env_path_text(set, p), false)
						  ? set->absent_id
						  : 0;
}

static void add_components(assay_env_set *set)
{
	size_t paths = set->paths.n;
	for (uint32_t p = 0; p < paths; p++) {
		assay_str text = assay_pool_get(&set->pool, set->paths.p[p].id);
		size_t n = assay_env_component(text.p);
		if (!n || set->paths.p[p].moved)
			continue;
		uint32_t whole = path_number(set, (assay_str){text.p, n});
		set->paths.p[whole].is_component = true;
		if (whole != p)
			set->paths.p[p].component = whole;
		size_t outer = assay_env_outer(text.p);
		if (outer)
			set->paths.p[whole].component =
				path_number(set, (assay_str){text.p, outer});
	}
}

void assay_env_set_settle(assay_env_set *set)
{
	if (set->settled)
		return;
	set->settled = true;
	match_devices(set, "assay.gpus.");
	mark_moved(set);
	add_components(set);
	for (size_t d = 0; d < set->docs.n; d++) {
		assay_env_doc *doc = &set->docs.p[d];
		while (doc->value.n < set->paths.n)
			*assay_push(&doc->value) = 0;
		settle_components(set, doc);
		for (uint32_t p = 0; p < set->paths.n; p++)
			if (!set->paths.p[p].is_component)
				settle_cell(set, doc, p);
	}
}

static bool add(assay_env_set *set, const char *json)
{
	char buf[1024] = {0};
	strcpy(buf, json);
	return assay_env_set_add_text(set, "x", assay_str_of(buf), NULL);
}

TEST(devices_are_told_by_their_bus)
{
	assay_env_set set = {0};
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"00000000:4B:00.0\",\"ecc\":\"on\"},{\"bus\":\"0000:1a:00.0\"}]}}"));
	CHECK(!strcmp(assay_env_says(&set, &set.docs.p[0], "assay.gpus.0000:4b:00.0.ecc"), "on"));
	CHECK(assay_env_says(&set, &set.docs.p[0], "assay.gpus.0000:1a:00.0"));
	assay_env_set_free(&set);
	return 0;
}

TEST(devices_of_unlike_machines_are_matched_in_order)
{
	assay_env_set set = {0};
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:01:00.0\",\"ecc\":\"on\"}]}}"));
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:c1:00.0\",\"ecc\":\"off\"}]}}"));
	assay_env_set_settle(&set);
	CHECK(!strcmp(assay_env_says(&set, &set.docs.p[1], "assay.gpus.0000:01:00.0.ecc"), "off"));
	assay_env_set_free(&set);
	return 0;
}

TEST(cards_of_one_machine_are_told_by_their_uuid)
{
	assay_env_set set = {0};
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:05:00.0\",\"uuid\":\"A\",\"ecc\":\"a\"},{\"bus\":\"0000:06:00.0\",\"uuid\":\"B\",\"ecc\":\"b\"},{\"bus\":\"0000:07:00.0\",\"uuid\":\"C\",\"ecc\":\"c\"}]}}"));
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:05:00.0\",\"uuid\":\"C\",\"ecc\":\"c\"},{\"bus\":\"0000:06:00.0\",\"uuid\":\"A\",\"ecc\":\"a\"}]}}"));
	assay_env_set_settle(&set);
	assay_env_doc *d = &set.docs.p[1];
	CHECK(!strcmp(assay_env_says(&set, d, "assay.gpus.0000:05:00.0.ecc"), "a"));
	CHECK(!strcmp(assay_env_says(&set, d, "assay.gpus.0000:07:00.0.ecc"), "c"));
	CHECK(d->value.p[assay_env_path_of(&set, ASSAY_S("assay.gpus.0000:06:00.0"))] ==
	      set.absent_id);
	size_t cards = 0;
	for (uint32_t i = 0; i < set.paths.n; i++)
		cards += set.paths.p[i].is_component;
	CHECK_EQ(cards, 3); /* none is left under a name that it had in between */
	assay_env_set_free(&set);
	return 0;
}

TEST(a_snapshot_says_what_is_absent)
{
	assay_env_set set = {0};
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"hipblaslt\":{\"lib_hash\":null},\"rocm\":{\"version\":null},\"assay\":{\"version\":\"0\",\"absent\":[\"hipblaslt\",\"assay.nics.*\"],\"nics\":{}}}"));
	CHECK(add(
		&set,
		"{\"schema_version\":\"1.1\",\"hipblaslt\":{\"lib_hash\":\"x\"},\"rocm\":{\"version\":\"6\"},\"assay\":{\"version\":\"0\",\"nics\":{\"mlx5_0.rate\":\"400\"}}}"));
	assay_env_set_settle(&set);
	assay_env_doc *d = &set.docs.p[0];
	CHECK(d->value.p[assay_env_path_of(&set, ASSAY_S("hipblaslt.lib_hash"))] == set.absent_id);
	CHECK(d->value.p[assay_env_path_of(&set, ASSAY_S("hipblaslt"))] == set.absent_id);
	CHECK(d->value.p[assay_env_path_of(&set, ASSAY_S("assay.nics.mlx5_0"))] == set.absent_id);
	CHECK(!d->value.p[assay_env_path_of(&set, ASSAY_S("rocm.version"))]);
	assay_env_set_free(&set);
	return 0;
}

TEST(broken_snapshots_are_refused)
{
	assay_env_set set = {0};
	assay_err err = {0};
	CHECK(!add(&set, "{\"schema_version\":\"1.1\",") && !add(&set, ""));
	char none[256] = "{\"rocm\":{}}", list[256] = "[]";
	CHECK(!assay_env_set_add_text(&set, "n", assay_str_of(none), &err) &&
	      strstr(err.text, "schema_version"));
	CHECK(!assay_env_set_add_text(&set, "n", assay_str_of(list), &err) &&
	      strstr(err.text, "no JSON object"));
	assay_env_set_free(&set);
	return 0;
}

/* One row a path that differs; then rows are tied to the one they follow from. */
#include "envs/diff.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/compare.h"
#include "base/fmt.h"
#include "base/test.h"
#include "base/version.h"
#include "envs/catalog.h"

enum { PATH_BYTES = 1024 };
#define NONE ASSAY_ENV_NO_ROW

const char *const assay_env_kind_name[] = {
#define X(id, name, words) name,
	ASSAY_ENV_KIND_LIST(X)
#undef X
};

const char *const assay_env_kind_words[] = {
#define X(id, name, words) words,
	ASSAY_ENV_KIND_LIST(X)
#undef X
};

static bool all_hex(assay_str s)
{
	return assay_str_is_hex(s, 7, 64);
}

/* A commit cut to 8 digits is the same commit as its 40. */
static bool agrees(const assay_env_set *set, uint32_t path, assay_sid a, assay_sid b)
{
	if (a == b)
		return true;
	if (!set->paths.p[path].commit)
		return false;
	assay_str x = assay_pool_get(&set->pool, a), y = assay_pool_get(&set->pool, b);
	size_t n = x.n < y.n ? x.n : y.n;
	return x.n != y.n && all_hex(x) && all_hex(y) && !memcmp(x.p, y.p, n);
}

/* What a snapshot says, with all that counts as the row's a in one. */
static assay_sid said(const assay_env_set *set, const assay_env_row *row, size_t doc)
{
	assay_sid v = assay_env_cell(set, doc, row->path_no);
	return v && row->a && agrees(set, row->path_no, row->a, v) ? row->a : v;
}

bool assay_env_deviates(const assay_env_set *set, const assay_env_row *row, size_t doc)
{
	return said(set, row, doc) != row->a;
}

bool assay_env_identical(const assay_env_result *r, assay_env_group g)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.p[i].group == g)
			return false;
	return r->same[g] && !r->open[g];
}

const char *assay_env_doc_label(const assay_env_set *set, size_t doc)
{
	for (size_t i = 0; i < set->docs.n; i++) {
		const char *host = set->docs.p[i].host;
		if (!host ||
		    (i != doc && set->docs.p[doc].host && !strcmp(host, set->docs.p[doc].host)))
			return set->docs.p[doc].name;
	}
	return set->docs.p[doc].host;
}

assay_sid assay_env_majority(const assay_env_set *set, uint32_t path, bool *tie)
{
	assay_map count = {0};
	uint32_t best = 0;
	assay_sid value = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, path);
		if (!v)
			continue;
		uint32_t *n = assay_map_at(&count, v);
		*n = *n == ASSAY_MAP_ABSENT ? 1 : *n + 1;
	}
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, path);
		uint32_t n = v ? assay_map_get(&count, v) : 0;
		*tie = n > best ? false : *tie || (n && n == best && v != value);
		if (n > best) {
			best = n;
			value = v;
		}
	}
	assay_map_free(&count);
	return value;
}

static assay_env_kind kind_of(const assay_env_set *set, uint32_t path, assay_sid a, assay_sid b)
{
	if (!a || !b)
		return ASSAY_ENV_UNKNOWN;
	if (a == set->absent_id || b == set->absent_id)
		return set->paths.p[path].variable ? ASSAY_ENV_DIFFERENT
		       : b == set->absent_id       ? ASSAY_ENV_ABSENT
						   : ASSAY_ENV_ADDED;
	assay_str x = assay_pool_get(&set->pool, a), y = assay_pool_get(&set->pool, b);
	assay_str name = assay_str_of(assay_env_path_text(set, path));
	/* numbers of a VBIOS are hexadecimal, and tell boards apart before they tell age */
	if (!assay_version_like(x) || !assay_version_like(y) ||
	    assay_str_ends(name, ".vbios_version"))
		return ASSAY_ENV_DIFFERENT;
	int c = assay_version_cmp(x, y);
	return c < 0 ? ASSAY_ENV_NEWER : c > 0 ? ASSAY_ENV_OLDER : ASSAY_ENV_DIFFERENT;
}

static uint32_t sibling(const assay_env_set *set, const char *path, const char *last,
			const char *instead)
{
	char buf[PATH_BYTES];
	size_t n = strlen(path), m = strlen(last);
	if (n < m || strcmp(path + n - m, last))
		return NONE;
	int len = snprintf(buf, sizeof buf, "%.*s%s", (int)(n - m), path, instead);
	return assay_env_path_of(set, (assay_str){buf, (size_t)len});
}

static bool known(const assay_env_set *set, size_t doc, uint32_t path)
{
	assay_sid v = assay_env_cell(set, doc, path);
	return v && v != set->absent_id;
}

/* Digests of a file, and the version beside it. */
static const char *const digests[][2] = {{".lib_hash", ".package_version"},
					 {".lib_hash", ".version"},
					 {".sha256", ".version"},
					 {".bundled_lib_hash", ".bundled_version"}};

/* A digest that differs beside a version that does not. */
static bool rebuilt(const assay_env_set *set, const char *path, size_t a, size_t b)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(digests); i++) {
		uint32_t at = sibling(set, path, digests[i][0], digests[i][1]);
		if (at != NONE && known(set, a, at) &&
		    assay_env_cell(set, a, at) == assay_env_cell(set, b, at))
			return true;
	}
	return false;
}

/* The same library numbered by its header and by its package is no other version. */
static bool other_numbering(const assay_env_set *set, const char *path, size_t a, size_t b)
{
	char buf[PATH_BYTES];
	size_t n = strcspn(path, ".");
	if (strcmp(path + n, ".package_version"))
		return false;
	int len = snprintf(buf, sizeof buf, "assay.version_sources.%.*s", (int)n, path);
	uint32_t at = assay_env_path_of(set, (assay_str){buf, (size_t)len});
	return at != NONE && known(set, a, at) && known(set, b, at) &&
	       assay_env_cell(set, a, at) != assay_env_cell(set, b, at);
}

static bool hashed_unlike(const assay_env_set *set, size_t a, size_t b)
{
	const char *x = assay_env_says(set, &set->docs.p[a], "assay.hashed");
	const char *y = assay_env_says(set, &set->docs.p[b], "assay.hashed");
	return x && y && strcmp(x, y);
}

struct tally {
	bool differs, unknown;
	size_t base, odd; /* a snapshot that says a, and one that does not */
};

/* The field of the file that torch loads, beside that of the file a plain program gets; NONE for
 * any other path. */
static uint32_t of_torch(const assay_env_set *set, const char *path, const char *field)
{
	static const char head[] = "assay.libraries.";
	const char *plain = strncmp(path, head, sizeof head - 1) ? NULL : strstr(path, ".plain");
	char buf[PATH_BYTES];
	if (!plain || (plain[6] && plain[6] != '.'))
		return NONE;
	int n = snprintf(buf, sizeof buf, "%.*s.effective.%s", (int)(plain - path), path, field);
	return assay_env_path_of(set, (assay_str){buf, (size_t)n});
}

/* Torch is known to load the very file that a plain program gets. */
static bool is_torchs(const assay_env_set *set, const char *path, size_t doc)
{
	uint32_t torch = of_torch(set, path, "path");
	if (torch == NONE || !known(set, doc, torch))
		return false;
	const char *text = assay_env_path_text(set, torch);
	uint32_t plain = sibling(set, text, ".effective.path", ".plain.path");
	return plain != NONE && assay_env_cell(set, doc, plain) == assay_env_cell(set, doc, torch);
}

/* Size and build id say nothing more where both digests are known; which copies lie around matters
 * only where it is not known what torch loads. */
static bool is_detail(const assay_env_set *set, const char *path, size_t a, size_t b)
{
	static const char *const details[] = {".size", ".build_id", ".soname"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(details); i++) {
		uint32_t at = sibling(set, path, details[i], ".sha256");
		if (at != NONE && known(set, a, at) && known(set, b, at))
			return true;
	}
	if (strncmp(path, "assay.libraries.", 16))
		return false;
	if (is_torchs(set, path, a) && is_torchs(set, path, b))
		return true;
	if (!assay_str_ends(assay_str_of(path), ".builds"))
		return false;
	uint32_t at = sibling(set, path, ".builds", ".effective.size");
	/* words of copies hold digests where there are any */
	return hashed_unlike(set, a, b) || (at != NONE && (known(set, a, at) || known(set, b, at)));
}

/* What torch does not load matters to other programs, and less than what it does. */
static void place_plain(const assay_env_set *set, const struct tally *t, assay_env_row *row)
{
	uint32_t at = of_torch(set, row->path, "path");
	if (at == NONE || !(known(set, t->base, at) || known(set, t->odd, at)))
		return;
	row->group = ASSAY_ENV_HOST;
	row->why = "torch does not load it, programs without a search path of their own do";
}

/* Within a group: what is missing, then what differs, then what nobody can tell. */
static int rank(const assay_env_row *r)
{
	return assay_env_is_absence(r->kind) ? 0 : r->kind == ASSAY_ENV_UNKNOWN ? 2 : 1;
}

static int row_order(const void *a, const void *b)
{
	const assay_env_row *x = a, *y = b;
	return assay_then(assay_then(ASSAY_CMP(x->group, y->group), rank(x) - rank(y)),
			  strcmp(x->path, y->path));
}

static struct tally count_path(const assay_env_set *set, int baseline, assay_env_row *row)
{
	size_t first = baseline < 0 ? 0 : (size_t)baseline;
	struct tally t = {.base = first, .odd = first};
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, row->path_no);
		row->known += v != 0;
		if (v && row->a && agrees(set, row->path_no, row->a, v)) {
			row->agree++;
			t.base = row->agree == 1 && baseline < 0 ? i : t.base;
		} else if (v && row->a) {
			t.odd = t.differs ? t.odd : i;
			t.differs = true;
		} else if (v != row->a) {
			t.odd = t.differs || t.unknown ? t.odd : i;
			t.unknown = true;
		}
	}
	return t;
}

/* The same in every snapshot, and said by all. */
static bool all_say(const assay_env_set *set, uint32_t path)
{
	assay_sid first = assay_env_cell(set, 0, path);
	for (size_t i = 1; i < set->docs.n; i++)
		if (assay_env_cell(set, i, path) != first)
			return false;
	return first && first != set->absent_id;
}

/* Tells a machine from all others: what it is called, its present start, a card by the number that
 * its maker gives only once (serial numbers are left empty or alike by many). */
static bool names_machine(const char *path)
{
	assay_str p = assay_str_of(path);
	return assay_str_is(p, "assay.host.hostname") || assay_str_is(p, "assay.host.boot_id") ||
	       (assay_env_names_card(path) && !assay_str_ends(p, ".serial"));
}

static bool of_one_machine(const assay_env_set *set)
{
	bool same = false;
	for (uint32_t p = 0; p < set->paths.n && !same && set->docs.n > 1; p++)
		same = names_machine(assay_env_path_text(set, p)) && all_say(set, p);
	return same;
}

/* One path over all snapshots. */
static void compare_path(assay_env_set *set, uint32_t path, int baseline, bool one_machine,
			 assay_env_result *out)
{
	bool pair = set->docs.n == 2 && baseline < 0;
	bool component = set->paths.p[path].is_component;
	assay_env_row row = {
		.path = assay_fmt_safe(&set->arena, assay_str_of(assay_env_path_text(set, path))),
		.path_no = path,
		.cause_row = NONE};
	bool card = assay_env_names_card(row.path);
	if (set->paths.p[path].list || set->paths.p[path].moved || assay_env_is_ignored(row.path) ||
	    (card && !one_machine))
		return;
	row.a = pair || baseline >= 0
			? assay_env_cell(set, baseline < 0 ? 0 : (size_t)baseline, path)
			: assay_env_majority(set, path, &row.tie);
	struct tally t = count_path(set, baseline, &row);
	assay_env_classify(row.path, &row.group, &row.why);
	place_plain(set, &t, &row);
	if ((component || card) && !t.differs)
		return; /* each of its facts has a row */
	out->open[row.group] += row.known < set->docs.n;
	if (!t.differs && !t.unknown) {
		out->same[row.group] += row.known != 0;
		if (!row.known)
			*assay_push(&out->dark) = row.path;
		return;
	}
	if (is_detail(set, row.path, t.base, t.odd))
		return;
	row.b = assay_env_cell(set, t.odd, path);
	row.kind = kind_of(set, path, row.a, row.b);
	if (row.kind == ASSAY_ENV_DIFFERENT && rebuilt(set, row.path, t.base, t.odd))
		row.kind = ASSAY_ENV_REBUILT;
	if (t.differs && other_numbering(set, row.path, t.base, t.odd)) {
		row.kind = ASSAY_ENV_UNKNOWN;
		row.why = "a header's number and a package's number do not compare";
		t.differs = false;
	}
	if (t.differs)
		out->different++;
	else
		out->unknown++;
	*assay_push(&out->rows) = row;
}

/* Snapshots that say the same of the cause say the same of what follows from it. Otherwise a host
 * whose library alone was replaced would hide behind another host's other release. */
static bool determines(const assay_env_set *set, const assay_env_row *cause,
		       const assay_env_row *row)
{
	assay_map seen = {0};
	bool ok = true;
	for (size_t i = 0; i < set->docs.n && ok; i++) {
		assay_sid c = said(set, cause, i), v = said(set, row, i);
		uint32_t *first = assay_map_at(&seen, c);
		if (!v)
			continue;
		if (*first == ASSAY_MAP_ABSENT)
			*first = c ? v : row->a;
		ok = *first == v;
	}
	assay_map_free(&seen);
	return ok;
}

static void set_cause(const assay_env_set *set, assay_env_result *out, uint32_t row, uint32_t cause)
{
	assay_env_row *r = &out->rows.p[row];
	if (row == cause || r->cause || !determines(set, &out->rows.p[cause], r))
		return;
	/* never in a circle */
	for (uint32_t up = cause; up != NONE; up = out->rows.p[up].cause_row)
		if (up == row)
			return;
	r->cause = out->rows.p[cause].path;
	r->cause_row = cause;
}

/* Facts of a thing that is not there follow from its absence. */
static void fold_components(const assay_env_set *set, assay_env_result *out,
			    const assay_map *row_of)
{
	for (uint32_t i = 0; i < out->rows.n; i++) {
		uint32_t whole = set->paths.p[out->rows.p[i].path_no].component;
		uint32_t at = whole == NONE ? ASSAY_MAP_ABSENT : assay_map_get(row_of, whole);
		if (at != ASSAY_MAP_ABSENT)
			set_cause(set, out, i, at);
	}
}

/* The same snapshots on the same sides give the same number, whatever the values. */
static uint64_t split_of(const assay_env_set *set, const assay_env_row *row)
{
	assay_map seen = {0};
	uint64_t h = 0;
	uint32_t next = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		uint32_t *class = assay_map_at(&seen, said(set, row, i));
		if (*class == ASSAY_MAP_ABSENT)
			*class = next++;
		h = assay_hash(class, sizeof *class, h);
	}
	assay_map_free(&seen);
	return h;
}

/* A row of the fact at a path, if the same snapshots differ in both. */
static uint32_t row_beside(const assay_env_set *set, const assay_env_result *out,
			   const assay_map *row_of, uint32_t path, const assay_env_row *row)
{
	uint32_t at = path == NONE ? ASSAY_MAP_ABSENT : assay_map_get(row_of, path);
	if (at == ASSAY_MAP_ABSENT || !assay_env_is_difference(&out->rows.p[at]) ||
	    split_of(set, &out->rows.p[at]) != split_of(set, row))
		return NONE;
	return at;
}

/* The package that brought a library, by the first snapshot that names an owner. */
static uint32_t package_of(const assay_env_set *set, const char *path)
{
	static const char *const lists[][2] = {{"pip", "assay.python.packages."},
					       {"conda", "assay.python.conda."},
					       {"dpkg", "assay.system_packages."},
					       {"rpm", "assay.system_packages."},
					       {"pacman", "assay.system_packages."}};
	int n = (int)assay_env_component(path);
	for (size_t d = 0; d < set->docs.n; d++) {
		char buf[PATH_BYTES];
		snprintf(buf, sizeof buf, "%.*s.owner.manager", n, path);
		const char *manager = assay_env_says(set, &set->docs.p[d], buf);
		snprintf(buf, sizeof buf, "%.*s.owner.package", n, path);
		const char *package = assay_env_says(set, &set->docs.p[d], buf);
		for (size_t i = 0; manager && package && i < ASSAY_COUNT_OF(lists); i++) {
			if (strcmp(manager, lists[i][0]))
				continue;
			int len = snprintf(buf, sizeof buf, "%s%s", lists[i][1], package);
			return len < (int)sizeof buf
				       ? assay_env_path_of(set, (assay_str){buf, (size_t)len})
				       : NONE;
		}
	}
	return NONE;
}

/* A digest and a place follow from the version beside them, a library from the package it is of. */
static void fold_versions(const assay_env_set *set, assay_env_result *out, const assay_map *row_of)
{
	static const char *const places[][2] = {{".where", ".version"},
						{".rocm_release", ".version"}};
	for (uint32_t i = 0; i < out->rows.n; i++) {
		const assay_env_row *row = &out->rows.p[i];
		uint32_t at = NONE;
		for (size_t k = 0; k < ASSAY_COUNT_OF(digests) && at == NONE; k++)
			at = row_beside(set, out, row_of,
					sibling(set, row->path, digests[k][0], digests[k][1]), row);
		for (size_t k = 0; k < ASSAY_COUNT_OF(places) && at == NONE; k++)
			at = row_beside(set, out, row_of,
					sibling(set, row->path, places[k][0], places[k][1]), row);
		if (at == NONE && assay_env_outer(row->path))
			at = row_beside(set, out, row_of, package_of(set, row->path), row);
		if (at != NONE && assay_env_is_difference(row))
			set_cause(set, out, i, at);
	}
}

/* One file that is told of in several places: first of all as schema 1.1 does. */
static void fold_same_file(const assay_env_set *set, assay_env_result *out)
{
	for (uint32_t i = 0; i < out->rows.n; i++) {
		const assay_env_row *row = &out->rows.p[i];
		const char *a = assay_env_value(set, row->a), *b = assay_env_value(set, row->b);
		if (!a || !b || strncmp(a, "sha256:", 7) || strncmp(b, "sha256:", 7))
			continue;
		uint32_t first = NONE;
		for (uint32_t k = 0; k < out->rows.n; k++) {
			const assay_env_row *one = &out->rows.p[k];
			if (one->a != row->a || one->b != row->b ||
			    split_of(set, one) != split_of(set, row))
				continue;
			if (first == NONE || (!strncmp(out->rows.p[first].path, "assay.", 6) &&
					      strncmp(one->path, "assay.", 6)))
				first = k;
		}
		set_cause(set, out, i, first);
	}
}

static void find_causes(const assay_env_set *set, assay_env_result *out)
{
	size_t n;
	const assay_env_follows *rule = assay_env_follow_rules(&n);
	for (size_t e = 0; e < n; e++) {
		uint32_t cause = NONE;
		for (uint32_t i = 0; i < out->rows.n && cause == NONE; i++)
			if (assay_env_is_difference(&out->rows.p[i]) && !out->rows.p[i].cause &&
			    !fnmatch(rule[e].cause, out->rows.p[i].path, 0))
				cause = i;
		for (uint32_t i = 0; i < out->rows.n && cause == NONE; i++)
			if (assay_env_is_difference(&out->rows.p[i]) &&
			    !fnmatch(rule[e].cause, out->rows.p[i].path, 0))
				cause = i;
		for (uint32_t i = 0; cause != NONE && i < out->rows.n; i++)
			if (assay_env_is_difference(&out->rows.p[i]) &&
			    !fnmatch(rule[e].path, out->rows.p[i].path, 0))
				set_cause(set, out, i, cause);
	}
}

static void fold(const assay_env_set *set, assay_env_result *out)
{
	assay_map row_of = {0};
	for (uint32_t i = 0; i < out->rows.n; i++)
		*assay_map_at(&row_of, out->rows.p[i].path_no) = i;
	fold_components(set, out, &row_of);
	find_causes(set, out);
	fold_versions(set, out, &row_of);
	fold_same_file(set, out);
	assay_map_free(&row_of);
}

static void find_splits(const assay_env_set *set, assay_env_result *out)
{
	assay_map first = {0};
	for (uint32_t i = 0; i < out->rows.n; i++) {
		uint32_t *at = assay_map_at(&first, split_of(set, &out->rows.p[i]));
		if (*at == ASSAY_MAP_ABSENT)
			*at = i;
		out->rows.p[i].split = *at;
	}
	assay_map_free(&first);
}

struct signature {
	uint64_t hash;
	uint32_t doc, size; /* size of its cluster */
	uint32_t first;     /* first snapshot of it */
};

static int by_cluster(const void *a, const void *b)
{
	const struct signature *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->size, x->size),
			  assay_then(ASSAY_CMP(x->first, y->first), ASSAY_CMP(x->doc, y->doc)));
}

static void find_clusters(assay_env_set *set, assay_env_result *out)
{
	assay_map size = {0}, first = {0};
	uint32_t n = (uint32_t)set->docs.n;
	struct signature *s = assay_alloc(&set->arena, (n + 1) * sizeof *s);
	for (uint32_t d = 0; d < n; d++) {
		s[d].doc = d;
		for (size_t i = 0; i < out->rows.n; i++) {
			const assay_env_row *row = &out->rows.p[i];
			assay_sid v = said(set, row, d);
			if (assay_env_is_difference(row))
				s[d].hash = assay_hash(&v, sizeof v, s[d].hash);
		}
		uint32_t *count = assay_map_at(&size, s[d].hash);
		*count = *count == ASSAY_MAP_ABSENT ? 1 : *count + 1;
		uint32_t *at = assay_map_at(&first, s[d].hash);
		*at = *at == ASSAY_MAP_ABSENT ? d : *at;
	}
	for (uint32_t d = 0; d < n; d++) {
		s[d].size = assay_map_get(&size, s[d].hash);
		s[d].first = assay_map_get(&first, s[d].hash);
	}
	if (n)
		qsort(s, n, sizeof *s, by_cluster);
	for (uint32_t d = 0; d < n; d++) {
		*assay_push(&out->members) = s[d].doc;
		if (d && s[d].first == s[d - 1].first) {
			out->clusters.p[out->clusters.n - 1].n++;
			continue;
		}
		*assay_push(&out->clusters) = (assay_env_cluster){d, 1};
	}
	assay_map_free(&size);
	assay_map_free(&first);
}

void assay_env_compare(assay_env_set *set, int baseline, assay_env_result *out)
{
	assert(baseline < (int)set->docs.n);
	*out = (assay_env_result){0};
	assay_env_set_settle(set);
	bool one_machine = of_one_machine(set);
	for (uint32_t p = 0; p < set->paths.n; p++)
		compare_path(set, p, baseline, one_machine, out);
	if (out->rows.n)
		qsort(out->rows.p, out->rows.n, sizeof *out->rows.p, row_order);
	fold(set, out);
	find_splits(set, out);
	find_clusters(set, out);
	assay_env_name_files(set, out);
	out->sentence = assay_env_sentence(set, out);
}

void assay_env_result_free(assay_env_result *r)
{
	assay_vec_free(&r->rows);
	assay_vec_free(&r->dark);
	assay_vec_free(&r->clusters);
	assay_vec_free(&r->members);
}

static bool add(assay_env_set *set, const char *name, const char *json)
{
	char buf[1024] = {0};
	strcpy(buf, json);
	return assay_env_set_add_text(set, name, assay_str_of(buf), NULL);
}

TEST(groups_come_in_order_of_consequence)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(
		&set, "a",
		"{\"schema_version\":\"1.1\",\"captured_at\":\"x\",\"host\":{\"machine\":\"p\"},\"rocm\":{\"version\":\"5.9\",\"kmd_version\":\"6.1\"},\"env_vars\":{\"HSA_XNACK\":null}}"));
	CHECK(add(
		&set, "b",
		"{\"schema_version\":\"1.1\",\"captured_at\":\"y\",\"host\":{\"machine\":\"q\"},\"rocm\":{\"version\":\"5.10\",\"kmd_version\":\"6.2\"},\"env_vars\":{\"HSA_XNACK\":\"1\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK_EQ(r.rows.n, 4);
	CHECK(!strcmp(r.rows.p[0].path, "rocm.kmd_version") &&
	      !strcmp(r.rows.p[1].path, "rocm.version"));
	CHECK(r.rows.p[1].kind == ASSAY_ENV_NEWER &&
	      !strcmp(r.rows.p[2].path, "env_vars.HSA_XNACK"));
	CHECK(r.rows.p[2].kind == ASSAY_ENV_DIFFERENT && r.different == 4 && !r.unknown);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(unknown_on_one_side_is_not_different)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a", "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":null}}"));
	CHECK(add(&set, "b", "{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"6.4\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].kind == ASSAY_ENV_UNKNOWN && !r.different &&
	      r.unknown == 1);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(same_version_other_hash_is_a_rebuild)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(
		&set, "a",
		"{\"schema_version\":\"1.1\",\"rocblas\":{\"package_version\":\"5.0.2\",\"lib_hash\":\"sha256:aa\"}}"));
	CHECK(add(
		&set, "b",
		"{\"schema_version\":\"1.1\",\"rocblas\":{\"package_version\":\"5.0.2\",\"lib_hash\":\"sha256:bb\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].kind == ASSAY_ENV_REBUILT);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(schema_1_0_names_are_bridged_and_short_commits_match)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a",
		  "{\"schema_version\":\"1.0\",\"hipblaslt\":{\"commit\":\"d97cc0b2\"}}"));
	CHECK(add(
		&set, "b",
		"{\"schema_version\":\"1.17\",\"hipblaslt\":{\"rocm_release_tweak\":\"d97cc0b2aa\"}}"));
	assay_env_compare(&set, -1, &r);
	CHECK_EQ(r.rows.n, 0);
	CHECK_EQ(r.same[ASSAY_ENV_MATH], 1);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(the_odd_one_out_of_three_is_named)
{
	assay_env_set set = {0};
	assay_env_result r;
	for (int i = 0; i < 3; i++) {
		char buf[200];
		snprintf(
			buf, sizeof buf,
			"{\"schema_version\":\"1.1\",\"rocm\":{\"version\":\"%s\"},\"gpu_arch\":{\"gfx_targets\":[%s]}}",
			i == 1 ? "6.3" : "6.4", i == 2 ? "\"b\",\"a\"" : "\"a\",\"b\"");
		CHECK(add(&set, "x", buf));
	}
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n == 1 && r.rows.p[0].agree == 2 && r.rows.p[0].kind == ASSAY_ENV_OLDER);
	CHECK(!strcmp(assay_env_value(&set, r.rows.p[0].a), "6.4") &&
	      assay_env_cell(&set, 1, r.rows.p[0].path_no) == r.rows.p[0].b);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

/* Path of the first row, and the sentence, of two snapshots of our own. */
static int check_first(const char *a, const char *b, const char *path, assay_env_kind kind,
		       const char *words)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a", a) && add(&set, "b", b));
	assay_env_compare(&set, -1, &r);
	CHECK(r.rows.n && !strcmp(r.rows.p[0].path, path) && r.rows.p[0].kind == kind);
	CHECK(!words || strstr(r.sentence, words));
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

#define ENV(more) "{\"schema_version\":\"1.1\"," more "}"
TEST(an_absent_library_is_one_difference_and_comes_first)
{
	return check_first(
		ENV("\"rocm\":{\"kmd_version\":\"1.0\"},\"hipblaslt\":{\"lib_hash\":\"x\",\"package_version\":\"1.2\"},\"assay\":{\"version\":\"0\",\"absent\":[\"docker\"]}"),
		ENV("\"rocm\":{\"kmd_version\":\"1.0\"},\"hipblaslt\":{\"lib_hash\":null,\"package_version\":null},\"assay\":{\"version\":\"0\",\"absent\":[\"hipblaslt\"]}"),
		"hipblaslt", ASSAY_ENV_ABSENT, "b lacks hipBLASLt; 2 more differences follow");
}

TEST(seven_gpus_are_not_eight)
{
	return check_first(
		ENV("\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:01:00.0\"},{\"bus\":\"0000:02:00.0\",\"arch\":\"gfx942\"}]}"),
		ENV("\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:01:00.0\"}]}"),
		"assay.gpus.0000:02:00.0", ASSAY_ENV_ABSENT, "b lacks the GPU at 0000:02:00.0");
}

TEST(a_card_changed_in_its_slot_is_named)
{
	const char *path = "assay.gpus.0000:02:00.0.uuid";
	CHECK(!check_first(
		ENV("\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:01:00.0\",\"uuid\":\"A\"},{\"bus\":\"0000:02:00.0\",\"uuid\":\"B\"}]}"),
		ENV("\"assay\":{\"version\":\"0\",\"gpus\":[{\"bus\":\"0000:01:00.0\",\"uuid\":\"A\"},{\"bus\":\"0000:02:00.0\",\"uuid\":\"C\"}]}"),
		path, ASSAY_ENV_DIFFERENT, "the GPU at 0000:02:00.0"));
	return check_first(
		ENV("\"assay\":{\"version\":\"0\",\"host\":{\"hostname\":\"n\"},\"gpus\":[{\"bus\":\"0000:02:00.0\",\"uuid\":\"B\"}]}"),
		ENV("\"assay\":{\"version\":\"0\",\"host\":{\"hostname\":\"n\"},\"gpus\":[{\"bus\":\"0000:02:00.0\",\"uuid\":\"C\"}]}"),
		path, ASSAY_ENV_DIFFERENT, NULL);
}

TEST(cards_of_two_machines_are_two_cards)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a",
		  ENV("\"assay\":{\"version\":\"0\",\"host\":{\"hostname\":\"n\"},\"gpus\":[{\"bus\":\"0000:02:00.0\",\"uuid\":\"B\"}]}")) &&
	      add(&set, "b",
		  ENV("\"assay\":{\"version\":\"0\",\"host\":{\"hostname\":\"m\"},\"gpus\":[{\"bus\":\"0000:02:00.0\",\"uuid\":\"C\"}]}")));
	assay_env_compare(&set, -1, &r);
	CHECK(!r.rows.n && !strcmp(r.sentence, "identical"));
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

TEST(numbers_are_not_commits)
{
	return check_first(ENV("\"env_vars\":{\"NCCL_BUFFSIZE\":\"1048576\"}"),
			   ENV("\"env_vars\":{\"NCCL_BUFFSIZE\":\"10485760\"}"),
			   "env_vars.NCCL_BUFFSIZE", ASSAY_ENV_DIFFERENT, NULL);
}

TEST(a_vbios_is_another_one_not_an_older_one)
{
	return check_first(ENV("\"assay\":{\"gpus\":[{\"bus\":\"0000:01:00.0\",\"vbios_version\":"
			       "\"96.00.A5.00.1A\"}]}"),
			   ENV("\"assay\":{\"gpus\":[{\"bus\":\"0000:01:00.0\",\"vbios_version\":"
			       "\"96.00.A5.00.FF\"}]}"),
			   "assay.gpus.0000:01:00.0.vbios_version", ASSAY_ENV_DIFFERENT, NULL);
}

TEST(nothing_is_identical_while_something_is_unknown)
{
	assay_env_set set = {0};
	assay_env_result r;
	CHECK(add(&set, "a", ENV("\"rocm\":{\"version\":null},\"host\":{\"machine\":\"x\"}")) &&
	      add(&set, "b", ENV("\"rocm\":{\"version\":null},\"host\":{\"machine\":\"x\"}")));
	assay_env_compare(&set, -1, &r);
	CHECK(!r.rows.n && r.dark.n == 1 && strcmp(r.sentence, "identical"));
	CHECK(!assay_env_identical(&r, ASSAY_ENV_RUNTIME) &&
	      assay_env_identical(&r, ASSAY_ENV_HOST));
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

/* Four hosts: one has another release with its own library, one only another library. */
TEST(a_difference_follows_only_from_what_the_same_hosts_differ_in)
{
	static const char *const version[] = {"6.4", "6.4", "6.3", "6.4"},
				 *const hash[][4] = {
					 {"sha256:aa", "sha256:aa", "sha256:bb", "sha256:aa"},
					 {"sha256:aa", "sha256:aa", "sha256:bb", "sha256:cc"}};
	for (int replaced = 0; replaced < 2; replaced++) {
		assay_env_set set = {0};
		assay_env_result r;
		for (int i = 0; i < 4; i++) {
			char buf[200], name[2] = {(char)('a' + i), 0};
			snprintf(
				buf, sizeof buf,
				ENV("\"rocm\":{\"version\":\"%s\"},\"rocblas\":{\"lib_hash\":\"%s\"}"),
				version[i], hash[replaced][i]);
			CHECK(add(&set, name, buf));
		}
		assay_env_compare(&set, -1, &r);
		CHECK(r.rows.n == 2 && !strcmp(r.rows.p[1].path, "rocblas.lib_hash"));
		CHECK((r.rows.p[1].cause != NULL) == !replaced);
		assay_env_result_free(&r);
		assay_env_set_free(&set);
	}
	return 0;
}

TEST(hosts_fall_into_clusters)
{
	assay_env_set set = {0};
	assay_env_result r;
	for (int i = 0; i < 5; i++) {
		char buf[200], name[2] = {(char)('a' + i), 0};
		bool odd = i == 1 || i == 3;
		snprintf(buf, sizeof buf,
			 ENV("\"rocm\":{\"version\":\"%s\",\"kmd_version\":\"%s\"}"),
			 odd ? "6.3" : "6.4", odd ? "1" : "2");
		CHECK(add(&set, name, buf));
	}
	assay_env_compare(&set, -1, &r);
	CHECK(r.clusters.n == 2 && r.clusters.p[0].n == 3 && r.clusters.p[1].n == 2);
	CHECK(r.members.p[3] == 1 && r.members.p[4] == 3);
	CHECK(r.rows.n == 2 && r.rows.p[1].split == r.rows.p[0].split && !r.rows.p[0].tie);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

#undef ENV

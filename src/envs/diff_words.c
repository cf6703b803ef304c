/* What differs, in words: the cause of all in one sentence, and values so that people see where two
 * of them differ. */
#include <stdio.h>

#include "base/fmt.h"
#include "base/test.h"
#include "envs/catalog.h"
#include "envs/diff.h"

/* What everything else is read under: something missing before something other. */
static const assay_env_row *first_cause(const assay_env_result *out)
{
	const assay_env_row *best = NULL;
	for (size_t i = 0; i < out->rows.n; i++) {
		const assay_env_row *r = &out->rows.p[i];
		if (!assay_env_is_difference(r) || r->cause)
			continue;
		bool absence = assay_env_is_absence(r->kind) && r->group <= ASSAY_ENV_KERNELS;
		if (absence)
			return r;
		best = best ? best : r;
	}
	return best;
}

static const char *who(assay_env_set *set, const assay_env_row *row, size_t *n)
{
	enum { NAMED = 3 };
	const char *text = "";
	*n = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		if (!assay_env_deviates(set, row, i) || !assay_env_cell(set, i, row->path_no))
			continue;
		if ((*n)++ < NAMED)
			text = assay_printf(&set->arena, "%s%s%s", text, *text ? ", " : "",
					    assay_env_doc_label(set, i));
	}
	return *n > NAMED ? assay_printf(&set->arena, "%s and %zu more", text, *n - NAMED) : text;
}

/* Takes the first item off a list. */
static assay_str take_item(assay_str *list)
{
	ptrdiff_t at = assay_str_find(*list, ", ");
	assay_str one = {list->p, at < 0 ? list->n : (size_t)at};
	*list = at < 0 ? (assay_str){0} : (assay_str){list->p + at + 2, list->n - (size_t)at - 2};
	return one;
}

static bool has_item(assay_str list, assay_str item)
{
	while (list.n)
		if (assay_str_eq(take_item(&list), item))
			return true;
	return false;
}

/* Of a long list, what the other one has not. */
static const char *own_items(assay_env_set *set, assay_str mine, assay_str other)
{
	const char *text = "";
	size_t same = 0;
	while (mine.n) {
		assay_str one = take_item(&mine);
		if (has_item(other, one))
			same++;
		else if (strlen(text) < 60)
			text = assay_printf(&set->arena, "%s%s%.*s", text, *text ? ", " : "",
					    (int)one.n, one.p);
	}
	return assay_printf(&set->arena, "%s%s%zu alike", text, *text ? " and " : "", same);
}

/* 60 characters from a little before the first difference. */
static const char *around(assay_env_set *set, assay_str v, assay_str other)
{
	enum { WIDTH = 60, BEFORE = 20 };
	size_t at = 0;
	while (at < v.n && at < other.n && v.p[at] == other.p[at])
		at++;
	size_t from = at > BEFORE ? at - BEFORE : 0;
	if (from && v.n - from < WIDTH && v.n > WIDTH)
		from = v.n - WIDTH;
	while (from && ((unsigned char)v.p[from] & 0xc0) == 0x80)
		from--; /* not inside a character */
	size_t n = v.n - from < WIDTH ? v.n - from : WIDTH;
	while (from + n < v.n && ((unsigned char)v.p[from + n] & 0xc0) == 0x80)
		n++;
	return assay_printf(&set->arena, "%s%.*s%s", from ? "…" : "", (int)n, v.p + from,
			    from + n < v.n ? "…" : "");
}

const char *assay_env_shown(assay_env_set *set, const assay_env_row *row, assay_sid id)
{
	const char *raw = assay_env_value(set, id);
	const char *v = raw ? assay_fmt_safe(&set->arena, assay_str_of(raw)) : NULL;
	if (id == set->absent_id)
		return set->paths.p[row->path_no].variable      ? "(unset)"
		       : strstr(row->path, "packages.") != NULL ? "(not installed)"
								: "absent";
	if (!v)
		return "unknown";
	const char *colon = strstr(v, "sha256:");
	if (colon) /* the first digits are enough to see that they differ */
		return assay_printf(&set->arena, "%.*s%.8s…", (int)(colon - v + 7), v, colon + 7);
	if (strlen(v) <= 60)
		return v;
	const char *other = assay_env_value(set, id == row->a ? row->b : row->a);
	assay_str o = assay_str_of(other ? other : "");
	return set->paths.p[row->path_no].set && other ? own_items(set, assay_str_of(v), o)
						       : around(set, assay_str_of(v), o);
}

/* Another thing of the same kind that is missing in the same way. */
static bool is_sibling(const assay_env_row *root, const assay_env_row *row)
{
	const char *many, *family = assay_env_family(root->path, &many);
	return family && assay_env_is_absence(root->kind) && row->kind == root->kind &&
	       !row->cause && row->split == root->split &&
	       assay_env_family(row->path, &many) == family;
}

/* "hipBLASLt"; of several alike "3 GPUs (0000:02:00.0, ...)". */
static const char *named(assay_env_set *set, const assay_env_result *out, const assay_env_row *root)
{
	const char *many = "", *family = assay_env_family(root->path, &many), *list = "";
	size_t n = 0;
	for (size_t i = 0; family && i < out->rows.n; i++)
		if (is_sibling(root, &out->rows.p[i]))
			list = assay_printf(&set->arena, "%s%s%s", list, n++ ? ", " : "",
					    out->rows.p[i].path + strlen(family));
	return n > 1 ? assay_printf(&set->arena, "%zu %s (%s)", n, many, list)
		     : assay_env_name_of(&set->arena, root->path);
}

/* "b.json lacks hipBLASLt", or what it has instead. */
static const char *claim(assay_env_set *set, const assay_env_result *out, const assay_env_row *row)
{
	size_t n;
	const char *name = named(set, out, row), *them = who(set, row, &n);
	if (row->kind == ASSAY_ENV_ABSENT)
		return assay_printf(&set->arena, "%s %s %s", them, n > 1 ? "lack" : "lacks", name);
	if (row->kind == ASSAY_ENV_ADDED)
		return set->docs.n == 2 ? assay_printf(&set->arena, "%s lacks %s",
						       assay_env_doc_label(set, 0), name)
					: assay_printf(&set->arena, "only %s %s %s", them,
						       n > 1 ? "have" : "has", name);
	if (assay_env_names_card(row->path)) {
		assay_str card = {row->path, assay_env_component(row->path)};
		const char *place = assay_env_name_of(&set->arena, assay_dup(&set->arena, card));
		return assay_printf(&set->arena, "%s is another card on %s: %s, not %s", place,
				    them, assay_env_shown(set, row, row->b),
				    assay_env_shown(set, row, row->a));
	}
	if (row->files)
		return assay_printf(&set->arena, "kernels on %s are others: %s", them, row->files);
	return assay_printf(&set->arena, "%s is %s%s on %s, not %s", name,
			    assay_env_shown(set, row, row->b), assay_env_kind_words[row->kind],
			    them, assay_env_shown(set, row, row->a));
}

static uint32_t root_of(const assay_env_result *out, uint32_t row)
{
	while (out->rows.p[row].cause_row != ASSAY_ENV_NO_ROW)
		row = out->rows.p[row].cause_row;
	return row;
}

/* "; torch cannot load it" where the one that lacks a library has a program that needs it. */
static const char *consequence(assay_env_set *set, const assay_env_row *row)
{
	static const char *const programs[] = {"torch", "jax", "tensorflow", "vllm"};
	for (size_t d = 0; d < set->docs.n; d++) {
		if (assay_env_cell(set, d, row->path_no) != set->absent_id)
			continue;
		for (size_t i = 0; i < ASSAY_COUNT_OF(programs); i++) {
			char path[64];
			snprintf(path, sizeof path, "assay.effective.%s.unresolved", programs[i]);
			const char *missing = assay_env_says(set, &set->docs.p[d], path);
			if (missing && assay_str_find_nocase(assay_str_of(missing), row->path) >= 0)
				return assay_printf(&set->arena, "; %s cannot load it",
						    programs[i]);
		}
	}
	return "";
}

const char *assay_env_sentence(assay_env_set *set, const assay_env_result *out)
{
	const assay_env_row *root = first_cause(out);
	if (!root) {
		size_t open = out->unknown + out->dark.n;
		return open ? assay_printf(&set->arena,
					   "nothing that is known differs; %zu fact%s unknown",
					   open, open == 1 ? " is" : "s are")
			    : "identical";
	}
	uint32_t at = (uint32_t)(root - out->rows.p), follow = 0, others = 0;
	for (uint32_t i = 0; i < out->rows.n; i++) {
		if (i == at || !assay_env_is_difference(&out->rows.p[i]))
			continue;
		bool mine =
			is_sibling(root, &out->rows.p[root_of(out, i)]) || root_of(out, i) == at;
		follow += mine && out->rows.p[i].cause;
		others += !mine && !out->rows.p[i].cause;
	}
	const char *text =
		assay_printf(&set->arena, "%s%s", claim(set, out, root), consequence(set, root));
	if (follow)
		text = assay_printf(&set->arena, "%s; %u more difference%s from it", text, follow,
				    follow == 1 ? " follows" : "s follow");
	if (others)
		text = assay_printf(&set->arena, "%s; %u other%s", text, others,
				    others == 1 ? "" : "s");
	return text;
}

/* Facts that are those of a package's files. */
static bool is_of_files(const char *path)
{
	static const char *const ends[] = {".lib_hash",      ".sha256", ".package_version",
					   ".content_hash",  ".files",  ".kernel_db_revision",
					   ".filenames_hash"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ends); i++)
		if (assay_str_ends(assay_str_of(path), ends[i]))
			return true;
	return path[assay_env_component(path)] == 0;
}

/* By the package that the files are of where they are as they should be. */
static const char *reinstall(assay_env_set *set, const assay_env_row *row)
{
	static const char *const places[] = {"%.*s.owner", "assay.libraries.%.*s.effective.owner",
					     "assay.libraries.%.*s.plain.owner"};
	int n = (int)assay_env_component(row->path);
	size_t doc = 0;
	while (doc < set->docs.n && assay_env_deviates(set, row, doc))
		doc++;
	for (size_t i = 0; n && doc < set->docs.n && i < ASSAY_COUNT_OF(places); i++) {
		const char *said[3], *const names[] = {"manager", "package", "version"};
		const char *owner = assay_printf(&set->arena, places[i], n, row->path);
		for (size_t k = 0; k < ASSAY_COUNT_OF(names); k++)
			said[k] =
				assay_env_says(set, &set->docs.p[doc],
					       assay_printf(&set->arena, "%s.%s", owner, names[k]));
		if (said[0] && said[1] && said[2])
			return assay_env_reinstall(&set->arena, said[0], said[1], said[2]);
	}
	return NULL;
}

const char *assay_env_row_remedy(assay_env_set *set, const assay_env_row *row)
{
	const char *want = row->a ? assay_env_value(set, row->a) : NULL, *line = NULL;
	if (want && is_of_files(row->path))
		line = reinstall(set, row);
	if (!line && row->a)
		line = assay_env_remedy(&set->arena, row->path, want);
	return line;
}

TEST(long_values_show_where_they_differ)
{
	char a[400], b[400], path[200];
	assay_env_set set = {0};
	assay_env_result r;
	memset(path, 'x', 150);
	path[150] = 0;
	snprintf(a, sizeof a,
		 "{\"schema_version\":\"1.1\",\"env_vars\":{\"LD_LIBRARY_PATH\":\"/%s/one\"}}",
		 path);
	snprintf(b, sizeof b,
		 "{\"schema_version\":\"1.1\",\"env_vars\":{\"LD_LIBRARY_PATH\":\"/%s/two\"}}",
		 path);
	CHECK(assay_env_set_add_text(&set, "a", assay_str_of(a), NULL) &&
	      assay_env_set_add_text(&set, "b", assay_str_of(b), NULL));
	assay_env_compare(&set, -1, &r);
	CHECK(strstr(assay_env_shown(&set, &r.rows.p[0], r.rows.p[0].a), "/one") &&
	      strstr(assay_env_shown(&set, &r.rows.p[0], r.rows.p[0].b), "/two"));
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return 0;
}

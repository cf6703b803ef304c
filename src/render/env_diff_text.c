/* The comparison for people: the cause in one sentence, who is alike, then rows by group with what
 * follows from them folded in. */
#include "render/env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

enum { LISTED = 8, FOLDED = 6, NAMES_BYTES = 26 };

/* A fact of the thing the row is about: that it is missing with it says nothing more. */
static bool is_fact_of(const assay_env_row *whole, const assay_env_row *row)
{
	size_t n = strlen(whole->path);
	return !strncmp(row->path, whole->path, n) && row->path[n] == '.';
}

/* "follows: a, b and 3 more" under the row everything of it follows from. */
static void put_followers(const assay_env_result *r, uint32_t at)
{
	size_t n = 0;
	for (uint32_t i = 0; i < r->rows.n; i++) {
		uint32_t up = r->rows.p[i].cause_row;
		while (up != ASSAY_ENV_NO_ROW && up != at)
			up = r->rows.p[up].cause_row;
		if (up != at || r->rows.p[i].kind == ASSAY_ENV_UNKNOWN ||
		    is_fact_of(&r->rows.p[at], &r->rows.p[i]))
			continue;
		if (n < FOLDED)
			printf("%s%s", n ? ", " : "      follows from it: ", r->rows.p[i].path);
		n++;
	}
	if (n > FOLDED)
		printf(" and %zu more", n - FOLDED);
	if (n)
		printf("\n");
}

/* What to do to have the majority's value, or NULL. */
static const char *remedy(assay_env_set *set, const assay_env_row *row)
{
	const char *line = assay_env_row_remedy(set, row);
	return line ? assay_fmt_safe(&set->arena, assay_str_of(line)) : NULL;
}

static void put_remedy(assay_env_set *set, const assay_env_row *row)
{
	const char *line = remedy(set, row);
	if (line)
		printf("      to make them equal: %s\n", line);
}

static void pair_row(assay_env_set *set, const assay_env_row *row)
{
	printf("  %-44s %s -> %s%s\n", row->path, assay_env_shown(set, row, row->a),
	       assay_env_shown(set, row, row->b), assay_env_kind_words[row->kind]);
}

/* Who does not say what most say, by what they say. */
typedef struct voice {
	assay_sid value;
	uint32_t first, n; /* the first snapshot that says it, and how many do */
} voice;
typedef assay_vec(voice) voices;

static int more_say(const void *a, const void *b)
{
	const voice *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

/* The most frequent first. */
static voices voices_of(const assay_env_set *set, const assay_env_row *row)
{
	voices all = {0};
	assay_map at = {0};
	for (uint32_t i = 0; i < set->docs.n; i++) {
		if (!assay_env_deviates(set, row, i))
			continue;
		assay_sid v = assay_env_cell(set, i, row->path_no);
		uint32_t *slot = assay_map_at(&at, v);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)all.n;
			*assay_push(&all) = (voice){v, i, 0};
		}
		all.p[*slot].n++;
	}
	assay_map_free(&at);
	if (all.n > 1)
		qsort(all.p, all.n, sizeof *all.p, more_say);
	return all;
}

static const char *said(assay_env_set *set, const assay_env_row *row, assay_sid v)
{
	return assay_printf(&set->arena, "%s%s", assay_env_shown(set, row, v),
			    v == row->b ? assay_env_kind_words[row->kind] : "");
}

/* Their names, on a line each, or as many as fit on one and how many more there are. */
static void put_voice(assay_env_set *set, const assay_env_row *row, const voice *v, bool each)
{
	const char *value = said(set, row, v->value), *names = "";
	uint32_t named = 0;
	for (size_t i = v->first; named < v->n; i++) {
		if (assay_env_cell(set, i, row->path_no) != v->value)
			continue;
		const char *label = assay_env_doc_label(set, i);
		if (each)
			printf("      %-40s %s\n", label, value);
		else if (named && strlen(names) + strlen(label) > NAMES_BYTES)
			break;
		else
			names = assay_printf(&set->arena, "%s%s%s", names, named ? " " : "", label);
		named++;
	}
	if (named < v->n)
		names = assay_printf(&set->arena, "%s and %u more", names, v->n - named);
	if (!each)
		printf("      %-40s %s\n", names, value);
}

/* The majority, then what the others say. */
static void many_row(assay_env_set *set, const assay_env_row *row, const voices *others)
{
	printf("  %-44s %s in %u of %zu%s\n", row->path, assay_env_shown(set, row, row->a),
	       row->agree, set->docs.n, row->tie ? " (no majority)" : "");
	uint32_t all = 0, left = 0;
	for (size_t i = 0; i < others->n; i++)
		all += others->p[i].n;
	for (size_t i = 0; i < others->n; i++)
		if (i < LISTED)
			put_voice(set, row, &others->p[i], all <= LISTED);
		else
			left += others->p[i].n;
	if (left)
		printf("      and %u more with %zu other values\n", left, others->n - LISTED);
}

static bool is_told(const assay_env_row *row, const assay_env_telling *t)
{
	return !row->cause && (row->kind != ASSAY_ENV_UNKNOWN || t->unknown);
}

static void put_row(assay_env_set *set, const assay_env_result *r, uint32_t at,
		    const assay_env_telling *t)
{
	const assay_env_row *row = &r->rows.p[at];
	voices others = {0};
	if (set->docs.n > 2)
		others = voices_of(set, row);
	/* who it is was said at the first row with these sides */
	if (others.n == 1 && row->split != at && r->rows.p[row->split].kind != ASSAY_ENV_UNKNOWN &&
	    !r->rows.p[row->split].cause)
		printf("  %-44s %s, and %s on the same as %s\n", row->path,
		       assay_env_shown(set, row, row->a), assay_env_shown(set, row, row->b),
		       r->rows.p[row->split].path);
	else if (set->docs.n > 2)
		many_row(set, row, &others);
	else
		pair_row(set, row);
	assay_vec_free(&others);
	printf("      %s\n", row->why);
	if (row->files)
		printf("      %s\n", row->files);
	put_followers(r, at);
	if (t->explain)
		put_remedy(set, row);
}

static void put_groups(assay_env_set *set, const assay_env_result *r, const assay_env_telling *t)
{
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++) {
		bool open = false;
		for (uint32_t i = 0; i < r->rows.n; i++) {
			if ((int)r->rows.p[i].group != g || !is_told(&r->rows.p[i], t))
				continue;
			if (!open)
				printf("%s\n", assay_env_group_name[g]);
			open = true;
			put_row(set, r, i, t);
		}
	}
}

static void put_fold(const assay_env_result *r, const assay_env_telling *t)
{
	uint32_t same = 0, identical = 0, groups = 0;
	bool has_row[ASSAY_ENV_GROUPS] = {0};
	for (size_t i = 0; i < r->rows.n; i++)
		has_row[r->rows.p[i].group] = true;
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++) {
		same += r->same[g];
		identical += assay_env_identical(r, (assay_env_group)g);
		groups += has_row[g] || r->same[g] || r->open[g];
	}
	printf("\n%u different, %u same (%u of %u groups identical)", r->different, same, identical,
	       groups);
	if (r->unknown)
		printf(", %u unknown on one side", r->unknown);
	if (r->dark.n)
		printf(", %zu unknown to all", r->dark.n);
	printf("%s\n", r->unknown + r->dark.n && !t->unknown ? " (--unknown lists them)" : "");
	for (size_t i = 0; t->unknown && i < r->dark.n; i++)
		printf("%s%s", i ? ", " : "unknown to all: ", r->dark.p[i]);
	if (t->unknown && r->dark.n)
		printf("\n");
}

/* Hosts that are alike, the largest number first. */
static void put_clusters(const assay_env_set *set, const assay_env_result *r)
{
	for (size_t i = 0; i < r->clusters.n && r->clusters.n > 1; i++) {
		assay_env_cluster c = r->clusters.p[i];
		if (i == LISTED) {
			printf("  and %zu more kinds\n", r->clusters.n - i);
			break;
		}
		printf("  %u %s:", c.n, c.n == 1 ? "alone" : "alike");
		for (uint32_t k = 0; k < c.n && k < LISTED; k++)
			printf(" %s", assay_env_doc_label(set, r->members.p[c.first + k]));
		if (c.n > LISTED)
			printf(" and %u more", c.n - LISTED);
		printf("\n");
	}
	if (r->clusters.n > 1)
		printf("\n");
}

/* How often each snapshot is the odd one out: the machine to look at first. */
static void put_suspect(const assay_env_set *set, const assay_env_result *r)
{
	size_t worst = 0, most = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		size_t n = 0;
		for (size_t k = 0; k < r->rows.n; k++) {
			const assay_env_row *row = &r->rows.p[k];
			n += row->kind != ASSAY_ENV_UNKNOWN && !row->tie &&
			     assay_env_deviates(set, row, i);
		}
		if (n > most) {
			most = n;
			worst = i;
		}
	}
	if (most)
		printf("deviates most: %s (%zu of %u)\n", assay_env_doc_label(set, worst), most,
		       r->different);
}

static void put_title(const assay_env_set *set, const assay_env_telling *t)
{
	if (set->docs.n == 2)
		printf("%s -> %s", set->docs.p[0].name, set->docs.p[1].name);
	else
		printf("%zu snapshots against %s", set->docs.n,
		       t->baseline ? t->baseline : "the majority");
}

void assay_env_diff_text(assay_env_set *set, const assay_env_result *r, const assay_env_telling *t)
{
	put_title(set, t);
	printf("\n%s\n\n", r->sentence);
	if (set->docs.n > 2)
		put_clusters(set, r);
	put_groups(set, r, t);
	put_fold(r, t);
	if (set->docs.n > 2 && !t->baseline)
		put_suspect(set, r);
}

/* A bar would end the cell. */
static void put_cell(const char *text)
{
	printf("| ");
	for (; *text; text++)
		printf(*text == '|' ? "\\|" : *text == '\n' ? " " : "%c", *text);
	printf(" ");
}

/* What the others say, and how many say it where they do not agree. */
static const char *all_said(assay_env_set *set, const assay_env_row *row)
{
	voices others = voices_of(set, row);
	const char *text = "";
	for (size_t i = 0; i < others.n && i < LISTED; i++) {
		const char *one = said(set, row, others.p[i].value);
		text = others.n == 1 ? one
				     : assay_printf(&set->arena, "%s%s%s: %u", text, i ? ", " : "",
						    one, others.p[i].n);
	}
	if (others.n > LISTED)
		text = assay_printf(&set->arena, "%s and %zu more values", text, others.n - LISTED);
	assay_vec_free(&others);
	return text;
}

static void markdown_row(assay_env_set *set, const assay_env_row *row, bool pair,
			 const assay_env_telling *t)
{
	const char *line = t->explain ? remedy(set, row) : NULL;
	put_cell(assay_env_group_name[row->group]);
	put_cell(assay_printf(&set->arena, "`%s`", row->path));
	put_cell(assay_env_shown(set, row, row->a));
	put_cell(pair ? said(set, row, row->b) : all_said(set, row));
	if (!pair)
		put_cell(assay_printf(&set->arena, "%u of %zu", row->agree, set->docs.n));
	if (t->explain)
		put_cell(line ? line : "");
	printf("|\n");
}

void assay_env_diff_markdown(assay_env_set *set, const assay_env_result *r,
			     const assay_env_telling *t)
{
	bool pair = set->docs.n == 2;
	printf("**");
	put_title(set, t);
	printf("**\n\n%s\n\n", r->sentence);
	put_cell("group");
	put_cell("field");
	put_cell(pair ? assay_env_doc_label(set, 0) : "most");
	put_cell(pair ? assay_env_doc_label(set, 1) : "others");
	if (!pair)
		put_cell("agree");
	if (t->explain)
		put_cell("to make them equal");
	printf("|\n|---|---|---|---|%s%s\n", pair ? "" : "---|", t->explain ? "---|" : "");
	for (uint32_t i = 0; i < r->rows.n; i++)
		if (is_told(&r->rows.p[i], t))
			markdown_row(set, &r->rows.p[i], pair, t);
	put_fold(r, t);
}

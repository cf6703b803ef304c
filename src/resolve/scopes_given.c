/* Scope ids and trees that an input itself gave: their rows, their links, their names. */
#include "resolve/scopes.h"

#include "base/input.h"
#include "base/json.h"

enum { NAME_PARTS = 64 };

static uint32_t given_row(scopes *s, uint32_t source, int64_t id, struct thread_ids *spare)
{
	uint32_t *slot = assay_map_at(&s->given.p[source], (uint64_t)id);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	/* an id that another input uses too would join what does not belong together */
	if (assay_map_get(&s->used, (uint64_t)id) != ASSAY_MAP_ABSENT)
		id = scopes_unused_id(s, spare);
	uint32_t r = *slot = scopes_new(s, id, source);
	s->t->scope.flags[r] |= ASSAY_SCOPE_GIVEN;
	return r;
}

/* Threads of ours come behind every ordinal that an input used. */
static void skip_ordinals(scopes *s, int64_t id)
{
	int64_t ordinal = id >> SCOPES_ORDINAL_SHIFT;
	if (id > 0 && ordinal > s->ordinal)
		s->ordinal = ordinal;
}

static void given_links(scopes *s, struct thread_ids *spare)
{
	const assay_given_link_table *l = &s->t->given_link;
	for (size_t i = 0; i < l->n; i++) {
		uint32_t child = given_row(s, l->source[i], l->child[i], spare);
		uint32_t parent = given_row(s, l->source[i], l->parent[i], spare);
		uint32_t *up = &s->t->scope.up[child];
		if (*up == ASSAY_NO_ROW)
			*up = parent;
		else if (*up != parent)
			assay_count(&s->run->part, ASSAY_ISSUE_scope_conflict, 1);
	}
}

/* Depths, roots and parent ids of the given rows; each circle is cut once. */
static void check_links(scopes *s)
{
	enum { NEW, OPEN, DONE };
	assay_scope_table *t = &s->t->scope;
	assay_vec(uint8_t) state = {0};
	assay_vec(uint32_t) chain = {0};
	for (size_t i = 0; i < t->n; i++) {
		*assay_push(&state) = NEW;
		*assay_push(&s->depth) = 0;
		*assay_push(&s->given_root) = (uint32_t)i;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		chain.n = 0;
		for (uint32_t r = i; r != ASSAY_NO_ROW && state.p[r] == NEW; r = t->up[r]) {
			state.p[r] = OPEN;
			*assay_push(&chain) = r;
			if (t->up[r] != ASSAY_NO_ROW && state.p[t->up[r]] == OPEN) {
				assay_count(&s->run->part, ASSAY_ISSUE_scope_cycle, 1);
				t->up[r] = ASSAY_NO_ROW;
			}
		}
		while (chain.n) {
			uint32_t r = chain.p[--chain.n], up = t->up[r];
			state.p[r] = DONE;
			if (up == ASSAY_NO_ROW)
				continue;
			t->parent[r] = t->id[up];
			s->root.p[r] = s->root.p[up];
			s->given_root.p[r] = s->given_root.p[up];
			s->depth.p[r] = s->depth.p[up] + 1;
		}
	}
	assay_vec_free(&state);
	assay_vec_free(&chain);
}

void scopes_take_given(scopes *s)
{
	const assay_given_scope_table *g = &s->t->given_scope;
	const assay_given_link_table *l = &s->t->given_link;
	struct thread_ids spare = {0};
	for (size_t i = 0; i <= s->t->source.n; i++)
		*assay_push(&s->given) = (assay_map){0};
	for (size_t i = 0; i < l->n; i++) {
		skip_ordinals(s, l->child[i]);
		skip_ordinals(s, l->parent[i]);
	}
	for (size_t i = 0; i < g->n; i++)
		skip_ordinals(s, g->id[i]);
	given_links(s, &spare);
	for (size_t i = 0; g->n && i < s->t->gpu.n; i++)
		*assay_push(&s->gpu_given) = ASSAY_NO_ROW;
	for (size_t i = 0; i < g->n; i++) {
		if (g->row[i] == ASSAY_NO_ROW) /* of work that was left out */
			continue;
		uint32_t track =
			g->host[i] ? s->t->host.track[g->row[i]] : s->t->gpu.track[g->row[i]];
		uint32_t r = given_row(s, scopes_source(s, track), g->id[i], &spare);
		if (g->host[i])
			*assay_map_at(&s->host_given, g->row[i]) = r;
		else
			s->gpu_given.p[g->row[i]] = r;
	}
	check_links(s);
}

/* The text of a member of args, which are JSON members without braces. */
static assay_str arg_text(assay_arena *scratch, assay_str args, const char *key)
{
	assay_json j = assay_json_members(scratch, args);
	for (assay_str k, v; assay_json_member(&j, &k);) {
		if (assay_str_is(k, key) && assay_json_peek(&j) == '"')
			return assay_json_text(&j, &v) ? assay_json_unescape(scratch, v)
						       : (assay_str){"", 0};
		if (!assay_json_skip(&j, NULL))
			break;
	}
	return (assay_str){"", 0};
}

static size_t split_levels(assay_str path, assay_str *part)
{
	size_t n = 0;
	while (path.n && n < NAME_PARTS) {
		ptrdiff_t at = assay_str_find(path, "::");
		part[n++] = (assay_str){path.p, at < 0 ? path.n : (size_t)at};
		size_t used = at < 0 ? path.n : (size_t)at + 2;
		path = (assay_str){path.p + used, path.n - used};
	}
	return n;
}

static void name_scope(scopes *s, uint32_t r, assay_str name)
{
	if (!s->t->scope.name[r] && name.n)
		s->t->scope.name[r] = assay_intern(&s->run->part.strings, name);
}

/* Names of given scopes, from the first work of each: as many parts of hlo_op as ids in the path
 * name them one by one, also below a root named by hlo_module; else the two name leaf and root. */
static void name_path(scopes *s, uint32_t leaf, assay_sid args)
{
	assay_arena scratch = {0};
	assay_str part[NAME_PARTS], text = assay_text(s->run, args);
	assay_str op = arg_text(&scratch, text, "hlo_op");
	assay_str module = arg_text(&scratch, text, "hlo_module");
	size_t parts = split_levels(op, part), ids = s->depth.p[leaf] + 1;
	if (!parts || (parts != ids && parts + 1 != ids)) {
		name_scope(s, leaf, op.n ? op : module);
		parts = 0;
	}
	for (uint32_t r = leaf; parts; r = s->t->scope.up[r])
		name_scope(s, r, part[--parts]);
	name_scope(s, s->given_root.p[leaf], module);
	assay_arena_free(&scratch);
}

void scopes_name_given(scopes *s)
{
	for (size_t g = 0; g < s->gpu_given.n; g++) {
		uint32_t r = s->gpu_given.p[g];
		if (r != ASSAY_NO_ROW && r < s->depth.n && !s->t->scope.name[r])
			name_path(s, r, s->t->gpu.args[g]);
	}
}

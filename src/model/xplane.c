/* See xplane.h. */
#include "model/xplane.h"

#include "base/test.h"
#include "base/utf8.h"
#include "model/scope_tree.h"

const char *const xplane_number_name[] = {
	[XPLANE_RANK] = "assay_rank",
	[XPLANE_WORLD] = "assay_world",
	[XPLANE_ZEROS] = "assay_zeros",
};

const char *const xplane_stat_name[XPLANE_STAT_COUNT] = {
#define X(id, name) name,
	XPLANE_STATS_KNOWN(X)
#undef X
};

/* First and last of the ranges xprof keeps for itself, as 32-bit numbers. */
static const struct {
	int32_t first, last;
} derived_ids[] = {{-559038737, -559038730}, {-559038447, -559038348}};

static const char *const derived_names[] = {
	XPLANE_STEPS_LINE, "Launch Stats", "Framework Name Scope", "Framework Ops",
	"XLA Modules",     "XLA Ops",      "Async XLA Ops",        "Source code",
};

static bool name_is_derived(assay_str name)
{
	ptrdiff_t from = assay_str_find(name, " - from #");
	if (from >= 0)
		name.n = (size_t)from;
	return assay_str_is_any(name, derived_names, ASSAY_COUNT_OF(derived_names));
}

bool xplane_line_is_derived(int64_t id, assay_str name)
{
	int32_t low = (int32_t)(uint32_t)(uint64_t)id;
	for (size_t i = 0; i < ASSAY_COUNT_OF(derived_ids); i++)
		if (low >= derived_ids[i].first && low <= derived_ids[i].last)
			return true;
	return name_is_derived(name);
}

bool xplane_is_label(assay_str stat)
{
	static const char *const names[] = {"hlo_op",     "hlo_module", "tf_op",
					    "program_id", "flops",      "bytes_accessed"};
	return assay_str_is_any(stat, names, ASSAY_COUNT_OF(names));
}

void xplane_find_xla(const assay_run *run, bool *xla)
{
	const assay_tables *t = &run->part.t;
	memset(xla, 0, (t->source.n + 1) * sizeof *xla);
	for (size_t i = 0; i < t->gpu.n; i++) {
		uint32_t group = assay_track_group(t, t->gpu.track[i]);
		bool *of = &xla[group < t->source.n ? group : t->source.n];
		if (t->gpu.args[i] && !*of)
			*of = assay_str_find(assay_text(run, t->gpu.args[i]), "\"hlo_") >= 0;
	}
}

uint32_t xplane_scope_above(const assay_scope_table *s, uint32_t scope)
{
	return s->parent[scope] ? s->up[scope] : ASSAY_NO_ROW;
}

void xplane_add_clean(assay_protow *to, assay_str name, char slash)
{
	assay_arena a = {0};
	name = assay_utf8_repair(&a, name);
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (c == ':' && i + 1 < name.n && name.p[i + 1] == ':') {
			c = '.';
			i++;
		} else if ((c == '#' && i + 1 == name.n) || (slash && c == '/')) {
			c = '_';
		}
		*assay_push(&to->out) = c;
	}
	if (!name.n)
		assay_protow_raw(to, ASSAY_S("(no name)")); /* as many names as ids */
	assay_arena_free(&a);
}

void xplane_add_framework_name(assay_protow *to, const assay_run *run, uint32_t scope)
{
	const assay_scope_table *s = &run->part.t.scope;
	uint32_t path[XPLANE_PATH_MAX];
	size_t n = 0;
	/* a ring: of a deeper path the levels next to the root are left */
	for (; scope != ASSAY_NO_ROW; scope = xplane_scope_above(s, scope))
		path[n++ % XPLANE_PATH_MAX] = scope;
	if (!n)
		assay_protow_raw(to, ASSAY_S("no scope"));
	for (size_t i = n, last = n > XPLANE_PATH_MAX ? n - XPLANE_PATH_MAX : 0; i-- > last;) {
		assay_str name = assay_text(run, s->name[path[i % XPLANE_PATH_MAX]]);
		name.n = assay_scope_stem(name);
		size_t from = to->out.n;
		xplane_add_clean(to, name, '/');
		for (size_t k = from; k < to->out.n; k++)
			if (to->out.p[k] == ':') /* a type would follow it */
				to->out.p[k] = '.';
		assay_protow_raw(to, i > last ? ASSAY_S("/") : (assay_str){0});
	}
}

TEST(derived_lines_are_known_by_id_and_by_name)
{
	CHECK(xplane_line_is_derived(-559038737, ASSAY_S("x")));
	CHECK(xplane_line_is_derived(0x7deadbeef, ASSAY_S(""))); /* aliases after truncation */
	CHECK(xplane_line_is_derived(-559038400, ASSAY_S("")));
	CHECK(xplane_line_is_derived(1, ASSAY_S("XLA Modules - from #14")));
	CHECK(!xplane_line_is_derived(14, ASSAY_S("Stream #14(Compute)")));
	CHECK(!xplane_line_is_derived(-559038347, ASSAY_S("python3")));
	return 0;
}

/* See xplane.h. */
#include "model/xplane.h"

#include "base/test.h"

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
	for (size_t i = 0; i < ASSAY_COUNT_OF(derived_names); i++)
		if (assay_str_is(name, derived_names[i]))
			return true;
	return false;
}

bool xplane_line_is_derived(int64_t id, assay_str name)
{
	int32_t low = (int32_t)(uint32_t)(uint64_t)id;
	for (size_t i = 0; i < ASSAY_COUNT_OF(derived_ids); i++)
		if (low >= derived_ids[i].first && low <= derived_ids[i].last)
			return true;
	return name_is_derived(name);
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

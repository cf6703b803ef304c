#include "names/modes.h"

#include <assert.h>

#include "base/test.h"

static const struct {
	const char *what, *fix;
} modes[ASSAY_MODE_COUNT] = {
#define MODE(id, what, fix) {what, fix},
#include "names/modes.def"
};

static const struct {
	assay_mode mode;
	int64_t least; /* 0: no number switches it on */
	const char *name, *word;
} variables[] = {
#define VARIABLE(id, name, least, word) {ASSAY_MODE_##id, least, name, word},
#include "names/modes.def"
};

static const struct {
	assay_mode mode;
	const char *file, *function;
} frames[] = {
#define FRAME(id, file, function) {ASSAY_MODE_##id, file, function},
#include "names/modes.def"
};

static const struct {
	assay_mode mode;
	const char *text;
} names[] = {
#define NAME(id, text) {ASSAY_MODE_##id, text},
#include "names/modes.def"
};

const char *assay_mode_what(assay_mode mode)
{
	assert(mode < ASSAY_COUNT_OF(modes));
	return modes[mode].what;
}

const char *assay_mode_fix(assay_mode mode)
{
	assert(mode < ASSAY_COUNT_OF(modes));
	return modes[mode].fix;
}

static size_t find_variable(assay_str name)
{
	size_t i = 0;
	while (i < ASSAY_COUNT_OF(variables) && !assay_str_is(name, variables[i].name))
		i++;
	return i;
}

assay_mode assay_mode_of_variable(assay_str name)
{
	size_t i = find_variable(name);
	return i < ASSAY_COUNT_OF(variables) ? variables[i].mode : ASSAY_MODE_COUNT;
}

bool assay_mode_is_on(assay_str name, assay_str value)
{
	static const char *const yes[] = {"true", "yes", "on"};
	size_t i = find_variable(name);
	int64_t number = 0;
	if (i == ASSAY_COUNT_OF(variables))
		return false;
	for (size_t k = 0; k < ASSAY_COUNT_OF(yes); k++)
		number |= assay_str_same(value, assay_str_of(yes[k]));
	if (number || assay_str_i64(value, &number))
		return variables[i].least && number >= variables[i].least;
	return *variables[i].word && assay_str_same(value, assay_str_of(variables[i].word));
}

assay_mode assay_mode_of_frame(assay_str file, assay_str function)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(frames); i++)
		if (assay_str_ends(file, frames[i].file) &&
		    (!*frames[i].function || assay_str_is(function, frames[i].function)))
			return frames[i].mode;
	return ASSAY_MODE_COUNT;
}

assay_mode assay_mode_of_row(assay_str name)
{
	ptrdiff_t close = assay_str_find(name, "): ");
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		if (assay_str_is(name, names[i].text))
			return names[i].mode;
	if (close < 0)
		return ASSAY_MODE_COUNT;
	assay_str file = name, function = {name.p + close + 3, name.n - (size_t)close - 3};
	return assay_mode_of_frame(assay_str_cut(&file, '('), function);
}

TEST(modes_are_known_by_variables_and_functions)
{
	CHECK_EQ(assay_mode_of_variable(ASSAY_S("CUDA_LAUNCH_BLOCKING")), ASSAY_MODE_BLOCKING);
	CHECK_EQ(assay_mode_of_variable(ASSAY_S("HOME")), ASSAY_MODE_COUNT);
	CHECK(assay_mode_is_on(ASSAY_S("CUDA_LAUNCH_BLOCKING"), ASSAY_S("1")));
	CHECK(!assay_mode_is_on(ASSAY_S("CUDA_LAUNCH_BLOCKING"), ASSAY_S("0")));
	CHECK(!assay_mode_is_on(ASSAY_S("CUDA_LAUNCH_BLOCKING"), ASSAY_S("")));
	CHECK(assay_mode_is_on(ASSAY_S("JAX_DEBUG_NANS"), ASSAY_S("True")));
	CHECK(!assay_mode_is_on(ASSAY_S("AMD_LOG_LEVEL"), ASSAY_S("1")));
	CHECK(assay_mode_is_on(ASSAY_S("NCCL_DEBUG"), ASSAY_S("trace")));
	CHECK(!assay_mode_is_on(ASSAY_S("NCCL_DEBUG"), ASSAY_S("INFO")));
	CHECK(!assay_mode_is_on(ASSAY_S("NCCL_DEBUG"), ASSAY_S("5")));
	CHECK_EQ(assay_mode_of_frame(ASSAY_S("/v/site-packages/torch/fx/traceback.py"),
				     ASSAY_S("format_stack")),
		 ASSAY_MODE_ANOMALY);
	CHECK_EQ(assay_mode_of_frame(ASSAY_S("/usr/lib/python3.12/traceback.py"),
				     ASSAY_S("format_stack")),
		 ASSAY_MODE_COUNT);
	CHECK_EQ(assay_mode_of_row(ASSAY_S("torch/fx/traceback.py(220): format_stack")),
		 ASSAY_MODE_ANOMALY);
	CHECK_EQ(assay_mode_of_row(ASSAY_S("/usr/lib/python3.12/bdb.py(90): trace_dispatch")),
		 ASSAY_MODE_TRACING);
	CHECK_EQ(assay_mode_of_row(ASSAY_S("aten::_is_any_true")), ASSAY_MODE_ANOMALY);
	CHECK_EQ(assay_mode_of_row(ASSAY_S("aten::any")), ASSAY_MODE_COUNT);
	return 0;
}

#include "names/objects.h"

#include "base/arena.h"
#include "base/test.h"

enum { C, PYTHON };

static const struct {
	uint8_t meaning;
	const char *text;
} rows[] = {
#define OBJECT(meaning, text) {meaning, text},
#include "names/objects.def"
#undef OBJECT
};

static bool means(assay_str path, int meaning)
{
	size_t at = path.n;
	while (at && path.p[at - 1] != '/')
		at--;
	assay_str name = {path.p + at, path.n - at};
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (rows[i].meaning == meaning && assay_str_starts(name, rows[i].text))
			return true;
	return false;
}

bool assay_is_c_library(assay_str path)
{
	return means(path, C);
}

bool assay_is_python_object(assay_str path)
{
	return means(path, PYTHON);
}

TEST(objects_are_known_by_the_name_of_their_file)
{
	CHECK(assay_is_c_library(ASSAY_S("/lib/x86_64-linux-gnu/libc.so.6")));
	CHECK(assay_is_c_library(ASSAY_S("linux-vdso.so.1")));
	CHECK(!assay_is_c_library(ASSAY_S("/usr/lib/libcublas.so.13")));
	CHECK(!assay_is_c_library(ASSAY_S("/opt/libc.so.d/libm.so.6")));
	CHECK(assay_is_python_object(ASSAY_S("/usr/bin/python3.11")));
	CHECK(!assay_is_python_object(ASSAY_S("/x/libtorch_python.so")));
	CHECK(!assay_is_python_object(ASSAY_S("")));
	return 0;
}

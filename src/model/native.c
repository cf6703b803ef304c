#include "model/native.h"

#include "base/fmt.h"
#include "base/test.h"
#include "names/objects.h"

uint32_t assay_native_code(const assay_run *run, uint32_t sample)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = sample == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->sample.native[sample];
	if (code == ASSAY_NO_ROW || t->code.kind[code] != ASSAY_CODE_NATIVE)
		return ASSAY_NO_ROW;
	assay_str file = assay_text(run, t->code.file[code]);
	return assay_is_c_library(file) || assay_is_python_object(file) ? ASSAY_NO_ROW : code;
}

const char *assay_native_library(assay_arena *a, const assay_run *run, uint32_t code)
{
	return assay_fmt_safe(a, assay_str_file(assay_text(run, run->part.t.code.file[code])));
}

enum { LONGEST_NAME = 120 }; /* of templates of templates nobody reads all */

const char *assay_native_words(assay_arena *a, const assay_run *run, uint32_t code)
{
	assay_str function = assay_text(run, run->part.t.code.function[code]);
	const char *library = assay_native_library(a, run, code);
	if (!function.n)
		return library;
	const char *name = function.n > LONGEST_NAME ? assay_fmt_kernel(a, function, LONGEST_NAME)
						     : assay_fmt_safe(a, function);
	return assay_printf(a, "%s (%s)", library, name);
}

TEST(a_library_is_named_where_it_says_more_than_python_does)
{
	static const char long_name[] =
		"std::_Hashtable<std::pair<c10::Device, c10::ScalarType>, std::pair<std::vector<std::vector<std::optional<at::Tensor>, std::allocator<std::optional<at::Tensor> > > > > >::_M_insert_node(unsigned long)";
	static const struct {
		const char *file, *function, *words;
	} cases[] = {{"/opt/lib/libopenblas.so.0", "dgemm_", "libopenblas.so.0 (dgemm_)"},
		     {"/opt/lib/libx.so", NULL, "libx.so"},
		     {"/opt/lib/libx.so", long_name, "libx.so (std::_Hashtable::_M_insert_node)"},
		     {"/usr/bin/python3.11", "time_sleep", NULL},
		     {"/lib/libc.so.6", "read", NULL}};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint32_t code = assay_add(t, ASSAY_T_code), sample = assay_add(t, ASSAY_T_sample);
		t->code.kind[code] = ASSAY_CODE_NATIVE;
		t->code.file[code] = assay_sid_of(run, cases[i].file);
		t->code.function[code] =
			cases[i].function ? assay_sid_of(run, cases[i].function) : 0;
		t->sample.native[sample] = code;
		CHECK_EQ(assay_native_code(run, sample), cases[i].words ? code : ASSAY_NO_ROW);
		if (cases[i].words)
			CHECK(!strcmp(assay_native_words(&a, run, code), cases[i].words));
	}
	CHECK_EQ(assay_native_code(run, ASSAY_NO_ROW), ASSAY_NO_ROW);
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

/* Any bytes as the binary and text formats the environment probe reads; the first byte picks
 * one. */
#include <stddef.h>
#include <stdint.h>

#include "envs/diff.h"
#include "base/input.h"
#include "probe/elf.h"
#include "probe/git.h"
#include "probe/header.h"
#include "probe/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_elf(assay_str s)
{
	assay_elf e;
	assay_elf_mark marks[] = {{"2ck", 0}, {"7ck_tile", 0}};
	if (assay_elf_read(&e, s.p, s.n, NULL))
		assay_elf_count(&e, marks, 2);
	assay_elf_section(&e, ".rodata");
}

static void fuzz_ldcache(assay_str s)
{
	assay_ldcache_find(s, "libcuda.so.1");
}

static void fuzz_git(assay_str s)
{
	char hex[41];
	assay_git_index_link(s, "third_party/fbgemm", hex);
}

static void fuzz_header(assay_str s)
{
	assay_arena a = {0};
	assay_header_version(&a, s, "ROCBLAS_VERSION");
	assay_header_tweak(&a, s, "ROCBLAS_VERSION");
	assay_arena_free(&a);
}

static void fuzz_diff(assay_str s)
{
	assay_env_set set = {0};
	assay_env_result r = {0};
	assay_input *in = assay_input_memory(s.p, s.n);
	assay_view v = assay_input_view(in, 0, s.n);
	static char other[256] = "{\"schema_version\": \"1.1\", \"rocm\": {\"version\": \"6.4\"}}";
	if (assay_env_set_add_text(&set, "a", (assay_str){v.p, v.n}, NULL) &&
	    assay_env_set_add_text(&set, "b", assay_str_of(other), NULL))
		assay_env_compare(&set, -1, &r);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	assay_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(assay_str) = {fuzz_elf, fuzz_ldcache, fuzz_git, fuzz_header,
						     fuzz_diff};
	if (size)
		readers[data[0] % 5]((assay_str){(const char *)data + 1, size - 1});
	return 0;
}

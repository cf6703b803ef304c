#define _GNU_SOURCE /* realpath */
#include "cmd/recorders.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "cmd/say.h"

const record_recorder *const assay_recorders[ASSAY_RECORDERS] = {
	&assay_recorder_cuda,
	&assay_recorder_rocm,
};

/* Also where there is no /proc. */
static bool find_self(char exe[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", exe, PATH_MAX - 1);
	if (n > 0)
		exe[n] = 0;
	return n > 0 || realpath((const char *)getauxval(AT_EXECFN), exe);
}

/* Beside the program (build folder), or in ../lib/assay (installed). */
static const char *find_library(assay_arena *a, const char *name)
{
	static const char *const places[] = {"%s/%s", "%s/../lib/assay/%s"};
	char exe[PATH_MAX], path[PATH_MAX];
	if (!find_self(exe))
		return NULL;
	*strrchr(exe, '/') = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++)
		if (realpath(assay_printf(a, places[i], exe, name), path))
			return assay_printf(a, "%s", path);
	return NULL;
}

void assay_recorders_find(assay_arena *a, const char *path[ASSAY_RECORDERS])
{
	for (int i = 0; i < ASSAY_RECORDERS; i++)
		path[i] = find_library(a, assay_recorders[i]->library);
}

bool assay_recorders_any(const char *const path[ASSAY_RECORDERS])
{
	for (int i = 0; i < ASSAY_RECORDERS; i++)
		if (path[i])
			return true;
	return false;
}

void assay_variables_put(record_variables *v, const char *name, const char *value)
{
	size_t len = strlen(name);
	char *text = assay_printf(v->arena, "%s=%s", name, value);
	for (size_t i = 0; i < v->text.n; i++) {
		if (!strncmp(v->text.p[i], name, len) && v->text.p[i][len] == '=') {
			v->text.p[i] = text;
			return;
		}
	}
	*assay_push(&v->text) = text;
}

/* CUDA's driver loads a library that a variable names, and so does NVTX at its first call. */
static void enter_cuda(recording *r, const char *library, record_variables *v)
{
	const char *other = getenv("CUDA_INJECTION64_PATH");
	(void)r;
	if (other && *other && !getenv("ASSAY_RECORD"))
		assay_say("assay: replaces the tool in CUDA_INJECTION64_PATH (%s)", other);
	assay_variables_put(v, "CUDA_INJECTION64_PATH", library);
	assay_variables_put(v, "NVTX_INJECTION64_PATH", library);
}

const record_recorder assay_recorder_cuda = {
	.name = "cuda",
	.library = "libassay_cuda.so",
	.enter = enter_cuda,
};

TEST(a_variable_is_replaced_not_added_twice)
{
	assay_arena a = {0};
	record_variables v = {.arena = &a};
	assay_variables_put(&v, "PATH", "/bin");
	assay_variables_put(&v, "PATHS", "/a:/b");
	assay_variables_put(&v, "PATH", "/usr/bin");
	CHECK_EQ(v.text.n, 2);
	CHECK(!strcmp(v.text.p[0], "PATH=/usr/bin") && !strcmp(v.text.p[1], "PATHS=/a:/b"));
	assay_vec_free(&v.text);
	assay_arena_free(&a);
	return 0;
}

/* __cxa_demangle of the C++ runtime: linked in where the build has it (portable ones do), else by
 * dlopen, and names stay mangled on a machine without it. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/test.h"

typedef char *demangle_fn(const char *symbol, char *buffer, size_t *length, int *status);

__attribute__((weak)) demangle_fn __cxa_demangle;
static demangle_fn *demangler;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	demangler = __cxa_demangle;
	if (demangler)
		return;
	void *lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		lib = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);
	void *p = lib ? dlsym(lib, "__cxa_demangle") : NULL;
	memcpy(&demangler, &p, sizeof p);
}

assay_str assay_demangle(assay_arena *a, assay_str symbol)
{
	assay_str bare = symbol;
	if (assay_str_ends(bare, ".kd"))
		bare.n -= 3;
	if (bare.n < 3 || bare.p[0] != '_' || bare.p[1] != 'Z')
		return bare;
	pthread_once(&once, load);
	if (!demangler)
		return bare;
	int status = -1;
	char *text = demangler(assay_dup(a, bare), NULL, NULL, &status);
	if (!text || status)
		return bare;
	assay_str copy = assay_str_of(assay_dup(a, assay_str_of(text)));
	free(text);
	return copy;
}

TEST(mangled_names_become_readable)
{
	assay_arena a = {0};
	CHECK(assay_str_is(assay_demangle(&a, ASSAY_S("plain_kernel")), "plain_kernel"));
	CHECK(assay_str_is(assay_demangle(&a, ASSAY_S("plain.kd")), "plain"));
	CHECK(assay_str_is(assay_demangle(&a, ASSAY_S("_Zbad")), "_Zbad"));
	assay_str s = assay_demangle(&a, ASSAY_S("_Z3addPfS_i.kd"));
	int rc = assay_str_is(s, "add(float*, float*, int)") ? 0 : demangler ? 1 : 77;
	assay_arena_free(&a);
	return rc;
}

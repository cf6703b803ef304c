/* GNU's demangler: its text is what PyTorch writes, and LLVM's differs in lambdas. Portable builds
 * have libiberty's linked in, so that a report is the same on every machine; others use
 * __cxa_demangle of the machine's C++ runtime, which is the same code, and leave names mangled
 * where there is none. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/test.h"

enum {
	DMGL_PARAMS = 1,
	DMGL_TYPES = 16
}; /* libiberty's demangle.h; what __cxa_demangle asks for */

typedef char *demangle_fn(const char *symbol, char *buffer, size_t *length, int *status);

__attribute__((weak)) char *cplus_demangle_v3(const char *symbol, int options);
static demangle_fn *demangler;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* As __cxa_demangle. It does not tell bad names from lack of memory: -2 is a bad name. */
static char *linked_in(const char *symbol, char *buffer, size_t *length, int *status)
{
	(void)buffer;
	(void)length;
	char *text = cplus_demangle_v3(symbol, DMGL_PARAMS | DMGL_TYPES);
	*status = text ? 0 : -2;
	return text;
}

static void load(void)
{
	static const char *const runtimes[] = {"libstdc++.so.6", "libc++abi.so.1"};
	demangler = cplus_demangle_v3 ? linked_in : NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(runtimes) && !demangler; i++) {
		void *lib = dlopen(runtimes[i], RTLD_NOW | RTLD_LOCAL);
		void *p = lib ? dlsym(lib, "__cxa_demangle") : NULL;
		memcpy(&demangler, &p, sizeof p);
	}
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
	if (status == -1) /* of memory; -2: no such name */
		assay_oom(0);
	if (!text || status)
		return bare;
	assay_undo undo;
	assay_undo_add(&undo, free, text);
	assay_str copy = assay_str_of(assay_dup(a, assay_str_of(text)));
	assay_undo_drop(&undo);
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

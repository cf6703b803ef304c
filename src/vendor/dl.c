/* dlopen by table. */
#include "vendor/dl.h"

#include <dlfcn.h>
#include <string.h>

static bool bind_all(void *handle, const assay_symbol *table, size_t n, void *api)
{
	for (size_t i = 0; i < n; i++) {
		void *p = dlsym(handle, table[i].name);
		if (!p && table[i].required)
			return false;
		/* ISO C has no cast from object to function pointer; POSIX promises the copy works
		 */
		memcpy((char *)api + table[i].at, &p, sizeof p);
	}
	return true;
}

void *assay_dl_bind(const char *const *names, const assay_symbol *table, size_t n, void *api)
{
	for (; *names; names++) {
		void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
		if (handle && bind_all(handle, table, n, api))
			return handle;
		if (handle)
			dlclose(handle);
	}
	return NULL;
}

void assay_dl_close(void *handle)
{
	if (handle)
		dlclose(handle);
}

/* dlsym over a table. */
#include "vendor/dl.h"

#include <dlfcn.h>
#include <string.h>

const char *assay_dl_bind(void *lib, void *api, const assay_sym *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *p = NULL;
		for (size_t k = 0; !p && k < sizeof s->names / sizeof *s->names && s[i].names[k];
		     k++)
			p = dlsym(lib, s[i].names[k]);
		if (!p && s[i].must)
			return s[i].names[0];
		memcpy((char *)api + s[i].off, &p, sizeof p);
	}
	return NULL;
}

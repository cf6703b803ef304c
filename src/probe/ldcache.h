/* /etc/ld.so.cache: which file a soname leads to when nothing else says. */
#ifndef ASSAY_PROBE_LDCACHE_H
#define ASSAY_PROBE_LDCACHE_H

#include "base/str.h"

/* Path of a 64-bit library in the cache's bytes; empty when there is none. */
assay_str assay_ldcache_find(assay_str cache, const char *soname);
/* Every row: soname and path; false at the end. *at starts at 0. */
bool assay_ldcache_next(assay_str cache, size_t *at, assay_str *soname, assay_str *path);

#endif

/* Names of copies and memsets. */
#include "read/copy_name.h"

#include <stdio.h>

static const char *const copy_kinds[] = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					 "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const memory_kinds[] = {"Unknown",       "Pageable",       "Pinned",
					   "Device",        "Array",          "Managed",
					   "Device Static", "Managed Static", "Host"};

static const char *memory_name(unsigned kind)
{
	return memory_kinds[kind < ASSAY_COUNT_OF(memory_kinds) ? kind : 0];
}

static const char *copy_kind(unsigned kind)
{
	return copy_kinds[kind < ASSAY_COUNT_OF(copy_kinds) ? kind : 0];
}

assay_sid assay_copy_name(assay_pool *pool, unsigned kind, unsigned from, unsigned to)
{
	char text[80];
	int n = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", copy_kind(kind),
			 memory_name(from), memory_name(to));
	return assay_intern(pool, (assay_str){text, (size_t)n});
}

assay_sid assay_migration_name(assay_pool *pool, unsigned kind)
{
	char text[48];
	int n = snprintf(text, sizeof text, "Memcpy %s (Unified Memory)", copy_kind(kind));
	return assay_intern(pool, (assay_str){text, (size_t)n});
}

assay_sid assay_memset_name(assay_pool *pool, unsigned memory)
{
	char text[48];
	int n = snprintf(text, sizeof text, "Memset (%s)", memory_name(memory));
	return assay_intern(pool, (assay_str){text, (size_t)n});
}

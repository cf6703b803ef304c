/* Rules of a loaded object, for test_native.py to compare with another reader's. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

#include "record/native.h"
#include "record/py.h"

static assay_native_object object;

bool assay_py_safely(int pid, uintptr_t from, void *to, size_t n)
{
	(void)pid;
	if (!from)
		return false;
	memcpy(to, (const void *)from, n);
	return true;
}

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (!info->dlpi_name || !strstr(info->dlpi_name, data))
		return 0;
	object = (assay_native_object){.base = info->dlpi_addr, .serial = 1};
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			object.table = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	return 1;
}

/* The loaded object whose path holds the text. */
int rules_open(const char *name)
{
	return dl_iterate_phdr(find, (void *)name) && object.table;
}

/* What is known of n addresses of the file: six numbers each. */
void rules_at(const uint64_t *at, int n, int64_t *out)
{
	for (int i = 0; i < n; i++) {
		assay_native_rule r = assay_native_rule_at(&object, object.base + at[i]);
		int64_t row[] = {r.function ? (int64_t)(r.function - object.base) : -1,
				 r.from,
				 r.frame,
				 r.ret,
				 r.bp,
				 r.bp_at_bp};
		memcpy(out + 6 * i, row, sizeof row);
	}
}

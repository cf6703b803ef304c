/* Rules of a loaded object, for test_native.py to compare with another reader's. */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "record/native.h"
#include "record/py.h"

static assay_native_object object;
static uintptr_t segment_end;  /* of the mapping that the table lies in */
static uintptr_t copy, copy_n; /* its bytes from the table on; 0: the object's own are read */

bool assay_py_safely(int pid, uintptr_t from, void *to, size_t n)
{
	(void)pid;
	if (!from || (copy && (from < copy || from - copy > copy_n || copy_n - (from - copy) < n)))
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
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && object.table >= start &&
		    object.table < start + p->p_filesz)
			segment_end = start + p->p_filesz;
	}
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

static uint64_t random_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* The object's tables with n bytes changed, and many addresses looked up in them. Everything in the
 * tables is counted from its own place, so a copy is as good as they are. How many have a rule. */
int rules_damaged(uint64_t seed, int n, int looks)
{
	static assay_native_object other;
	int known = 0;
	size_t bytes = segment_end - object.table;
	unsigned char *p = malloc(bytes);
	if (!p)
		return -1;
	memcpy(p, (const void *)object.table, bytes);
	for (int i = 0; i < n; i++)
		p[random_number(&seed) % bytes] = (unsigned char)random_number(&seed);
	uint32_t entries;
	memcpy(&entries, (const void *)(object.table + 8), sizeof entries);
	other = (assay_native_object){.table = (uintptr_t)p, .serial = other.serial + 2};
	copy = (uintptr_t)p;
	copy_n = bytes;
	for (int i = 0; i < looks; i++) {
		int32_t begin;
		memcpy(&begin, p + 12 + 8 * (random_number(&seed) % entries), sizeof begin);
		uintptr_t pc = copy + (uintptr_t)(intptr_t)begin + random_number(&seed) % 64;
		known += assay_native_rule_at(&other, pc).from != ASSAY_NATIVE_LOST;
	}
	copy = 0;
	free(p);
	return known;
}

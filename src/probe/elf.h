/* What the loader and a symbol counter need of a 64-bit little-endian ELF file, read from its bytes
 * with every offset checked. Works on files without section headers. Format: the System V gABI. */
#ifndef ASSAY_PROBE_ELF_H
#define ASSAY_PROBE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/assay.h>

#include "base/str.h"

enum { ASSAY_ELF_NEEDED_MAX = 128 };

typedef struct assay_elf {
	const unsigned char *p; /* the file's bytes; everything below points into them */
	size_t n;
	struct assay_file_bytes *file; /* where they come from; NULL: all are there */
	uint16_t machine;
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shentsize, phentsize;
	bool dynamic; /* has a dynamic section that could be read */
	assay_str soname, rpath, runpath;
	assay_str needed[ASSAY_ELF_NEEDED_MAX];
	size_t n_needed, needed_lost; /* past the limit */
	assay_str build_id;           /* raw bytes */
	assay_str strtab;
	uint64_t symtab, syms; /* file offset of .dynsym and its entries; 0 when there is none */
} assay_elf;

/* False when it is no ELF file we can read, or its tables point outside of it. */
bool assay_elf_read(assay_elf *e, const void *bytes, size_t n, assay_err *err);
bool assay_elf_open(assay_elf *e, struct assay_file_bytes *w, assay_err *err);

/* Namespaces in mangled names: "2ck" counts symbols that name the namespace ck. */
typedef struct assay_elf_mark {
	const char *mangled;
	uint64_t count;
} assay_elf_mark;

/* Count the defined dynamic symbols each mark occurs in. False when there is no symbol table. */
bool assay_elf_count(const assay_elf *e, assay_elf_mark *marks, size_t n);

/* Functions that hold addresses of the file, of all its symbol tables: name[i] for at[i], which
 * rises; empty where no symbol does. Functions without a size end at once. */
void assay_elf_functions(const assay_elf *e, const uint64_t *at, size_t n, assay_str *name);

/* Bytes of a named section; empty when there is none (or no section headers). */
assay_str assay_elf_section(const assay_elf *e, const char *name);

#endif

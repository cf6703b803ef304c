/* ELF by hand: the three tables we need are smaller than a binding to a library that reads all of
 * it, and every read below is checked against the file's end. */
#include "probe/elf.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/test.h"
#include "probe/file_bytes.h"

enum { STRING_STEP = 256 };

/* Structures are copied out: offsets in a file need not be aligned. */
static void need(const assay_elf *e, uint64_t at, uint64_t n)
{
	if (e->file)
		assay_file_bytes_need(e->file, at, n);
}

static bool get(const assay_elf *e, uint64_t at, void *out, size_t size)
{
	if (at > e->n || e->n - at < size)
		return false;
	need(e, at, size);
	memcpy(out, e->p + at, size);
	return true;
}

static bool header(assay_elf *e, assay_err *err)
{
	Elf64_Ehdr h;
	if (!get(e, 0, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return assay_fail(err, ASSAY_FORMAT, 0, "not an ELF file");
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return assay_fail(err, ASSAY_FORMAT, 4, "not a 64-bit little-endian ELF file");
	e->machine = h.e_machine;
	e->phoff = h.e_phoff;
	e->phnum = h.e_phnum;
	e->phentsize = h.e_phentsize;
	e->shoff = h.e_shoff;
	e->shnum = h.e_shnum;
	e->shentsize = h.e_shentsize;
	if (e->phnum && (e->phentsize < sizeof(Elf64_Phdr) || e->phoff > e->n ||
			 (e->n - e->phoff) / e->phentsize < e->phnum))
		return assay_fail(err, ASSAY_FORMAT, e->phoff,
				  "program headers lie outside the file");
	/* section headers are optional: broken ones are no sections */
	if (e->shentsize < sizeof(Elf64_Shdr) || !e->shoff || e->shoff > e->n ||
	    (e->n - e->shoff) / e->shentsize < e->shnum)
		e->shnum = 0;
	return true;
}

static Elf64_Phdr program_header(const assay_elf *e, uint32_t i)
{
	Elf64_Phdr ph = {0};
	get(e, e->phoff + (uint64_t)i * e->phentsize, &ph, sizeof ph);
	return ph;
}

/* File offset of an address, with the bytes the file holds from there; false when no segment has
 * it. */
static bool offset_of(const assay_elf *e, uint64_t addr, uint64_t *at, uint64_t *left)
{
	for (uint32_t i = 0; i < e->phnum; i++) {
		Elf64_Phdr ph = program_header(e, i);
		if (ph.p_type != PT_LOAD || addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		uint64_t in = addr - ph.p_vaddr;
		if (ph.p_offset > e->n || in > e->n - ph.p_offset)
			return false;
		*at = ph.p_offset + in;
		*left = ph.p_filesz - in < e->n - *at ? ph.p_filesz - in : e->n - *at;
		return true;
	}
	return false;
}

/* NUL-terminated text in a string table; empty when it runs out of it. */
static assay_str string_in(const assay_elf *e, assay_str table, uint64_t at)
{
	if (at >= table.n)
		return (assay_str){"", 0};
	const char *p = table.p + at;
	uint64_t from = (uint64_t)((const unsigned char *)p - e->p);
	for (size_t n = STRING_STEP;; n *= 2) {
		size_t left = table.n - at, look = n < left ? n : left;
		need(e, from, look);
		const char *end = memchr(p, 0, look);
		if (end)
			return (assay_str){p, (size_t)(end - p)};
		if (look == left)
			return (assay_str){"", 0};
	}
}

static assay_str string_at(const assay_elf *e, uint64_t at)
{
	return string_in(e, e->strtab, at);
}

/* Symbols by the GNU hash table: the end of the chain of the highest bucket. */
static uint64_t gnu_hash_symbols(const assay_elf *e, uint64_t addr)
{
	uint64_t at, left;
	uint32_t h[4], high = 0, word;
	if (!offset_of(e, addr, &at, &left) || !get(e, at, h, sizeof h))
		return 0;
	uint64_t buckets = at + 16 + (uint64_t)h[2] * 8, chains = buckets + (uint64_t)h[0] * 4;
	for (uint32_t i = 0; i < h[0]; i++) {
		if (!get(e, buckets + (uint64_t)i * 4, &word, 4))
			return 0;
		high = word > high ? word : high;
	}
	if (high < h[1])
		return h[1];
	for (; get(e, chains + (uint64_t)(high - h[1]) * 4, &word, 4); high++)
		if (word & 1)
			return (uint64_t)high + 1;
	return 0;
}

static uint64_t sysv_hash_symbols(const assay_elf *e, uint64_t addr)
{
	uint64_t at, left;
	uint32_t h[2];
	return offset_of(e, addr, &at, &left) && get(e, at, h, sizeof h) ? h[1] : 0;
}

static bool section_header(const assay_elf *e, uint32_t i, Elf64_Shdr *sh)
{
	return i < e->shnum && get(e, e->shoff + (uint64_t)i * e->shentsize, sh, sizeof *sh);
}

static uint64_t section_symbols(const assay_elf *e)
{
	Elf64_Shdr sh;
	for (uint32_t i = 0; section_header(e, i, &sh); i++)
		if (sh.sh_type == SHT_DYNSYM && sh.sh_offset == e->symtab)
			return sh.sh_size / sizeof(Elf64_Sym);
	return 0;
}

struct dyn_tables {
	uint64_t strtab, strsz, symtab, gnu_hash, hash;
	uint64_t soname, rpath, runpath; /* string offsets + 1: 0 is absent */
	uint64_t needed[ASSAY_ELF_NEEDED_MAX];
};

static void take_tag(assay_elf *e, struct dyn_tables *t, const Elf64_Dyn *d)
{
	const struct {
		int64_t tag;
		uint64_t *to, add;
	} rows[] = {{DT_STRTAB, &t->strtab, 0}, {DT_STRSZ, &t->strsz, 0},
		    {DT_SYMTAB, &t->symtab, 0}, {DT_GNU_HASH, &t->gnu_hash, 0},
		    {DT_HASH, &t->hash, 0},     {DT_SONAME, &t->soname, 1},
		    {DT_RPATH, &t->rpath, 1},   {DT_RUNPATH, &t->runpath, 1}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (rows[i].tag == d->d_tag)
			*rows[i].to = d->d_un.d_val + rows[i].add;
	if (d->d_tag != DT_NEEDED)
		return;
	if (e->n_needed < ASSAY_ELF_NEEDED_MAX)
		t->needed[e->n_needed++] = d->d_un.d_val;
	else
		e->needed_lost++;
}

static void take_strings(assay_elf *e, const struct dyn_tables *t)
{
	for (size_t i = 0; i < e->n_needed; i++)
		e->needed[i] = string_at(e, t->needed[i]);
	if (t->soname)
		e->soname = string_at(e, t->soname - 1);
	if (t->rpath)
		e->rpath = string_at(e, t->rpath - 1);
	if (t->runpath)
		e->runpath = string_at(e, t->runpath - 1);
}

static void take_symbols(assay_elf *e, const struct dyn_tables *t)
{
	uint64_t left;
	if (!t->symtab || !offset_of(e, t->symtab, &e->symtab, &left))
		return;
	e->syms = section_symbols(e);
	if (!e->syms && t->hash)
		e->syms = sysv_hash_symbols(e, t->hash);
	if (!e->syms && t->gnu_hash)
		e->syms = gnu_hash_symbols(e, t->gnu_hash);
	uint64_t most = (e->n - e->symtab) / sizeof(Elf64_Sym);
	e->syms = e->syms < most ? e->syms : most;
}

static bool dynamic_section(assay_elf *e, const Elf64_Phdr *ph, assay_err *err)
{
	struct dyn_tables t = {0};
	Elf64_Dyn d;
	uint64_t end = ph->p_offset + ph->p_filesz, left;
	if (end < ph->p_offset || end > e->n)
		return assay_fail(err, ASSAY_FORMAT, ph->p_offset,
				  "dynamic section lies outside the file");
	for (uint64_t at = ph->p_offset; end - at >= sizeof d; at += sizeof d) {
		if (!get(e, at, &d, sizeof d) || d.d_tag == DT_NULL)
			break;
		take_tag(e, &t, &d);
	}
	uint64_t at;
	if (!t.strtab || !offset_of(e, t.strtab, &at, &left))
		return assay_fail(err, ASSAY_FORMAT, ph->p_offset,
				  "string table lies outside the file");
	e->strtab = (assay_str){(const char *)e->p + at, (size_t)(t.strsz < left ? t.strsz : left)};
	take_strings(e, &t);
	take_symbols(e, &t);
	e->dynamic = true;
	return true;
}

static void find_build_id(assay_elf *e, const Elf64_Phdr *ph)
{
	uint64_t at = ph->p_offset, end = at + ph->p_filesz;
	Elf64_Nhdr h;
	if (end < at || end > e->n)
		return;
	while (end - at >= sizeof h && get(e, at, &h, sizeof h)) {
		uint64_t name = at + sizeof h, desc = name + (((uint64_t)h.n_namesz + 3) & ~3ull);
		uint64_t next = desc + (((uint64_t)h.n_descsz + 3) & ~3ull);
		if (next > end)
			return;
		need(e, name, next - name);
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    !memcmp(e->p + name, "GNU", 4)) {
			e->build_id = (assay_str){(const char *)e->p + desc, h.n_descsz};
			return;
		}
		at = next;
	}
}

static bool read_tables(assay_elf *e, assay_err *err)
{
	if (!header(e, err))
		return false;
	for (uint32_t i = 0; i < e->phnum; i++) {
		Elf64_Phdr ph = program_header(e, i);
		if (ph.p_type == PT_NOTE && !e->build_id.n)
			find_build_id(e, &ph);
		if (ph.p_type == PT_DYNAMIC && !e->dynamic && !dynamic_section(e, &ph, err))
			return false;
	}
	return true;
}

bool assay_elf_read(assay_elf *e, const void *bytes, size_t n, assay_err *err)
{
	*e = (assay_elf){.p = bytes, .n = n};
	return read_tables(e, err);
}

bool assay_elf_open(assay_elf *e, assay_file_bytes *w, assay_err *err)
{
	*e = (assay_elf){.p = w->p, .n = w->n, .file = w};
	return read_tables(e, err);
}

/* "2ck" is the namespace ck only where no other digit stands before the length (12ck...). */
static bool has_mark(assay_str name, const char *mark)
{
	size_t n = strlen(mark);
	const char *p = name.p, *end = name.p + name.n;
	while ((size_t)(end - p) >= n && (p = memchr(p, mark[0], (size_t)(end - p) - n + 1))) {
		if (!memcmp(p, mark, n) && (p == name.p || p[-1] < '0' || p[-1] > '9'))
			return true;
		p++;
	}
	return false;
}

bool assay_elf_count(const assay_elf *e, assay_elf_mark *marks, size_t n)
{
	if (!e->syms || !e->strtab.n)
		return false;
	for (uint64_t i = 0; i < e->syms; i++) {
		Elf64_Sym s;
		if (!get(e, e->symtab + i * sizeof s, &s, sizeof s) || !s.st_shndx)
			continue;
		assay_str name = string_at(e, s.st_name);
		for (size_t m = 0; name.n && m < n; m++)
			marks[m].count += has_mark(name, marks[m].mangled);
	}
	return true;
}

/* ---- functions ---- */

/* A symbol table of the file. */
struct symbols {
	uint64_t at, n;
	assay_str strings;
};

static size_t first_from(const uint64_t *at, size_t n, uint64_t value)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (at[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first name found stays: tables are looked through from the fullest on. */
static void name_functions(const assay_elf *e, const struct symbols *t, const uint64_t *at,
			   size_t n, assay_str *name)
{
	for (uint64_t i = 0; i < t->n; i++) {
		Elf64_Sym s;
		if (!get(e, t->at + i * sizeof s, &s, sizeof s))
			return;
		unsigned kind = ELF64_ST_TYPE(s.st_info);
		if (!s.st_shndx || (kind != STT_FUNC && kind != STT_GNU_IFUNC))
			continue;
		for (size_t k = first_from(at, n, s.st_value);
		     k < n && at[k] - s.st_value < s.st_size; k++)
			if (!name[k].n)
				name[k] = string_in(e, t->strings, s.st_name);
	}
}

/* The table that only linkers and debuggers need; stripped files have none. */
static struct symbols full_table(const assay_elf *e)
{
	Elf64_Shdr sh, strings;
	for (uint32_t i = 0; section_header(e, i, &sh); i++) {
		if (sh.sh_type != SHT_SYMTAB || !section_header(e, sh.sh_link, &strings) ||
		    sh.sh_offset > e->n || sh.sh_size > e->n - sh.sh_offset ||
		    strings.sh_offset > e->n || strings.sh_size > e->n - strings.sh_offset)
			continue;
		return (struct symbols){sh.sh_offset,
					sh.sh_size / sizeof(Elf64_Sym),
					{(const char *)e->p + strings.sh_offset, strings.sh_size}};
	}
	return (struct symbols){0};
}

void assay_elf_functions(const assay_elf *e, const uint64_t *at, size_t n, assay_str *name)
{
	const struct symbols tables[] = {full_table(e), {e->symtab, e->syms, e->strtab}};
	for (size_t i = 0; i < n; i++)
		name[i] = (assay_str){"", 0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(tables); i++)
		if (tables[i].n)
			name_functions(e, &tables[i], at, n, name);
}

assay_str assay_elf_section(const assay_elf *e, const char *name)
{
	Elf64_Ehdr h;
	Elf64_Shdr names, sh;
	if (!get(e, 0, &h, sizeof h) || !section_header(e, h.e_shstrndx, &names))
		return (assay_str){"", 0};
	size_t want = strlen(name) + 1;
	for (uint32_t i = 0; section_header(e, i, &sh); i++) {
		uint64_t at = names.sh_offset + sh.sh_name;
		need(e, at, want);
		if (sh.sh_type == SHT_NOBITS || at > e->n || e->n - at < want ||
		    memcmp(e->p + at, name, want))
			continue;
		if (sh.sh_offset > e->n || sh.sh_size > e->n - sh.sh_offset)
			continue;
		need(e, sh.sh_offset, sh.sh_size);
		return (assay_str){(const char *)e->p + sh.sh_offset, (size_t)sh.sh_size};
	}
	return (assay_str){"", 0};
}

/* A shared object in memory: header, two program headers, dynamic section, symbols, strings,
 * hash. */
struct tiny {
	Elf64_Ehdr h;
	Elf64_Phdr ph[3];
	Elf64_Dyn dyn[8];
	Elf64_Sym sym[6];
	uint32_t hash[2];
	struct {
		Elf64_Nhdr h;
		char name[4];
		unsigned char id[4];
	} note;
	char str[160];
};

static const char tiny_names[] = "\0libx.so.1\0liby.so\0$ORIGIN\0_ZN2ck3fooEv\0_ZN7ck_tile3barEv\0"
				 "_ZN12ckxxxxxxxxxx1fEv\0_ZN8Callback1gEv\0";

static uint32_t tiny_name(const char *z)
{
	for (uint32_t i = 0; i < sizeof tiny_names; i++)
		if ((i == 0 || !tiny_names[i - 1]) && !strcmp(tiny_names + i, z))
			return i;
	return 0;
}

static struct tiny make_tiny(void)
{
	struct tiny t = {0};
	memcpy(t.h.e_ident, ELFMAG "\2\1\1", 7);
	t.h.e_phoff = offsetof(struct tiny, ph);
	t.h.e_phnum = 3;
	t.h.e_phentsize = sizeof *t.ph;
	t.ph[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof t, .p_vaddr = 0x1000};
	t.ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
			       .p_offset = offsetof(struct tiny, dyn),
			       .p_filesz = sizeof t.dyn};
	t.ph[2] = (Elf64_Phdr){.p_type = PT_NOTE,
			       .p_offset = offsetof(struct tiny, note),
			       .p_filesz = sizeof t.note};
	const Elf64_Dyn dyn[] = {{DT_STRTAB, {0x1000 + offsetof(struct tiny, str)}},
				 {DT_STRSZ, {sizeof tiny_names}},
				 {DT_SYMTAB, {0x1000 + offsetof(struct tiny, sym)}},
				 {DT_HASH, {0x1000 + offsetof(struct tiny, hash)}},
				 {DT_SONAME, {tiny_name("libx.so.1")}},
				 {DT_NEEDED, {tiny_name("liby.so")}},
				 {DT_RUNPATH, {tiny_name("$ORIGIN")}}};
	memcpy(t.dyn, dyn, sizeof dyn);
	const char *const names[] = {"",
				     "_ZN2ck3fooEv",
				     "_ZN7ck_tile3barEv",
				     "_ZN12ckxxxxxxxxxx1fEv",
				     "_ZN8Callback1gEv",
				     "_ZN2ck3fooEv"};
	for (size_t i = 0; i < 6; i++)
		t.sym[i] = (Elf64_Sym){.st_name = tiny_name(names[i]), .st_shndx = i == 5 ? 0 : 1};
	t.hash[1] = 6;
	t.note.h = (Elf64_Nhdr){4, 4, NT_GNU_BUILD_ID};
	memcpy(t.note.name, "GNU", 4);
	memcpy(t.note.id, "\xde\xad\xbe\xef", 4);
	memcpy(t.str, tiny_names, sizeof tiny_names);
	return t;
}

TEST(elf_tables_are_read_without_section_headers)
{
	static_assert(sizeof tiny_names <= sizeof((struct tiny *)0)->str, "names fit");
	struct tiny t = make_tiny();
	assay_elf e;
	assay_err err = {0};
	CHECK(assay_elf_read(&e, &t, sizeof t, &err) && e.dynamic);
	CHECK(assay_str_is(e.soname, "libx.so.1") && e.n_needed == 1);
	CHECK(assay_str_is(e.needed[0], "liby.so") && assay_str_is(e.runpath, "$ORIGIN"));
	CHECK(e.build_id.n == 4 && !memcmp(e.build_id.p, "\xde\xad\xbe\xef", 4) && !e.rpath.n);
	return 0;
}

TEST(namespaces_are_counted_exactly)
{
	struct tiny t = make_tiny();
	assay_elf e;
	assay_elf_mark marks[] = {{"2ck", 0}, {"7ck_tile", 0}};
	CHECK(assay_elf_read(&e, &t, sizeof t, NULL) && assay_elf_count(&e, marks, 2));
	CHECK_EQ(marks[0].count, 1); /* not 12ck..., not Callback::, not the undefined one */
	CHECK_EQ(marks[1].count, 1);
	return 0;
}

TEST(elf_cut_anywhere_is_refused_or_read_short)
{
	struct tiny t = make_tiny();
	unsigned char *heap = assay_vec_grow(NULL, &(size_t){0}, sizeof t, 1);
	for (size_t n = 0; n < sizeof t; n++) {
		assay_elf e;
		assay_elf_mark mark = {"2ck", 0};
		memcpy(heap + sizeof t - n, &t,
		       n); /* ends at the allocation's end, for the sanitizer */
		if (assay_elf_read(&e, heap + sizeof t - n, n, NULL))
			assay_elf_count(&e, &mark, 1);
		CHECK(n >= sizeof t.h || !assay_elf_read(&e, heap + sizeof t - n, n, NULL));
	}
	assay_vec_release(heap);
	return 0;
}

TEST(elf_with_any_byte_broken_is_survived)
{
	struct tiny t = make_tiny(), broken;
	for (size_t i = 0; i < sizeof t; i++)
		for (int v = 0; v < 3; v++) {
			assay_elf e;
			assay_elf_mark mark = {"2ck", 0};
			broken = t;
			((unsigned char *)&broken)[i] = (unsigned char)(v == 0   ? 0xff
									: v == 1 ? 0x80
										 : 0);
			if (assay_elf_read(&e, &broken, sizeof broken, NULL))
				assay_elf_count(&e, &mark, 1);
			assay_elf_section(&e, ".rodata");
		}
	return 0;
}

/* The relocations of loaded objects, searched and replaced. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "record/hook.h"

#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Relocations that hold the address of a function. */
#if defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#endif

enum { LATER = 1024 };

typedef struct object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *names;
	const char *file;
} object;

/* The parts of a dynamic section that we need. */
typedef struct dynamic {
	uintptr_t rela, plt;
	size_t rela_bytes, relative, plt_bytes;
} dynamic;

/* The page is not made read-only again: of an object that another thread is loading, the loader has
 * yet to write there, and protects it itself when it has. */
static void replace(void **slot, assay_any_fn *ours)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot, start = at & ~(page - 1);
	void *p;
	memcpy(&p, &ours, sizeof p);
	if (*slot == p || mprotect((void *)start, page, PROT_READ | PROT_WRITE) < 0)
		return;
	__atomic_store_n(slot, p, __ATOMIC_RELEASE);
}

/* Places whose name is looked up once the loader's lock is free: looking up takes another, which
 * whoever waits for the first may hold. */
static struct {
	void **slot;
	const char *name;
} later[LATER];
static size_t n_later;

static const assay_hook *hook_of(const assay_hooks *h, const char *name)
{
	for (size_t k = 0; k < h->n; k++)
		if (!strcmp(name, h->hook[k].name))
			return &h->hook[k];
	return NULL;
}

static void patch(const object *o, const ElfW(Rela) * r, size_t n, const assay_hooks *h,
		  bool marked)
{
	for (size_t i = 0; i < n; i++) {
		unsigned long type = ELF64_R_TYPE(r[i].r_info);
		if (type != JUMP_SLOT && type != GLOB_DAT)
			continue;
		const char *name = o->names + o->symbols[ELF64_R_SYM(r[i].r_info)].st_name;
		void **slot = (void **)(o->base + r[i].r_offset);
		const assay_hook *hook = hook_of(h, name);
		if (hook && (marked || !hook->marked_only)) {
			replace(slot, hook->ours);
		} else if (!hook && h->other && !strncmp(name, h->start, strlen(h->start)) &&
			   n_later < LATER) {
			later[n_later].slot = slot;
			later[n_later++].name = name;
		}
	}
}

static void patch_later(const assay_hooks *h)
{
	for (size_t i = 0; i < n_later; i++) {
		assay_any_fn *ours = h->other(later[i].name);
		if (ours)
			replace(later[i].slot, ours);
	}
	n_later = 0;
}

/* glibc keeps absolute addresses in a loaded dynamic section; other loaders offsets. */
static uintptr_t address(const object *o, ElfW(Addr) p)
{
	return p < o->base ? o->base + p : p;
}

static dynamic read_dynamic(object *o, const ElfW(Dyn) * d)
{
	dynamic t = {0};
	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o->symbols = (const ElfW(Sym) *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			o->names = (const char *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELA)
			t.rela = address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			t.rela_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELACOUNT)
			t.relative = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			t.plt = address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			t.plt_bytes = d->d_un.d_val;
	}
	return t;
}

static bool names_library(const object *o, const ElfW(Dyn) * d, const char *start)
{
	for (; start && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
		    !strncmp(o->names + d->d_un.d_val, start, strlen(start)))
			return true;
	return false;
}

static void patch_object(object *o, const ElfW(Dyn) * d, const assay_hooks *h)
{
	dynamic t = read_dynamic(o, d);
	if (!o->symbols || !o->names)
		return;
	assay_hook_object what = h->of(o->file, names_library(o, d, h->needs));
	if (what == ASSAY_HOOK_LEAVE)
		return;
	bool marked = what == ASSAY_HOOK_MARKED;
	patch(o, (const ElfW(Rela) *)t.plt, t.plt ? t.plt_bytes / sizeof(ElfW(Rela)) : 0, h,
	      marked);
	size_t n = t.rela ? t.rela_bytes / sizeof(ElfW(Rela)) : 0;
	if (t.relative < n) /* those stand first and name nothing */
		patch(o, (const ElfW(Rela) *)t.rela + t.relative, n - t.relative, h, marked);
}

static bool is_ours(const char *file)
{
	return !strncmp(file, "libassay", 8) || !strncmp(file, "linux-vdso", 10);
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	assay_hooks *h = ctx;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const ElfW(Dyn) *section = NULL;
	object o = {.base = info->dlpi_addr,
		    .file = slash             ? slash + 1
			    : info->dlpi_name ? info->dlpi_name
					      : ""};
	h->seen = info->dlpi_adds;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_DYNAMIC)
			section = (const ElfW(Dyn) *)(o.base + p->p_vaddr);
	}
	if (section && !is_ours(o.file))
		patch_object(&o, section, h);
	return 0;
}

static int anything_new(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	assay_hooks *h = ctx;
	return info->dlpi_adds != h->seen ? 1 : 2;
}

/* One at a time; a child of fork may find it taken by nobody, and goes on after a while. */
void assay_hook_install(assay_hooks *h)
{
	enum { TRIES = 10000 };
	static _Atomic int busy;
	for (int i = 0; atomic_exchange(&busy, 1) && i < TRIES; i++)
		sched_yield();
	if (dl_iterate_phdr(anything_new, h) == 1)
		dl_iterate_phdr(visit, h);
	patch_later(h);
	atomic_store(&busy, 0);
}

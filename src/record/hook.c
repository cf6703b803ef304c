/* The relocations of loaded objects, searched and replaced.
 *
 * Only while the loader is at rest. An object that another thread is loading is on the list before
 * it is relocated: a lazy slot then has the object's base added to whatever stands in it, and a
 * page that was made writable here is made read-only before the store. One that is being unloaded
 * is unmapped under the reader. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "record/hook.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/loader.h"

/* Relocations that hold the address of a function. */
#if defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#endif

typedef struct object {
	ElfW(Addr) base;
	const ElfW(Phdr) * part;
	size_t parts;
	const ElfW(Sym) * symbols;
	const char *names;
	const char *file;
	uintptr_t sealed, sealed_end; /* pages the loader made read-only after relocating */
} object;

/* The parts of a dynamic section that we need. */
typedef struct dynamic {
	uintptr_t rela, plt;
	size_t rela_bytes, relative, plt_bytes;
} dynamic;

/* ---- one object ---- */

/* Protection of the segment a slot lies in; 0: it is in none that is written to. */
static int protection(const object *o, uintptr_t at)
{
	for (size_t i = 0; i < o->parts; i++) {
		const ElfW(Phdr) *p = &o->part[i];
		uintptr_t start = o->base + p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_flags & PF_W && at >= start &&
		    at + sizeof(void *) <= start + p->p_memsz)
			return PROT_READ | PROT_WRITE | (p->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return 0;
}

static void replace(const object *o, void **slot, assay_any_fn *ours)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot, page = at & ~(bytes - 1);
	int open = protection(o, at);
	void *p;
	memcpy(&p, &ours, sizeof p);
	if (!open || at % sizeof p || *slot == p || mprotect((void *)page, bytes, open) < 0)
		return;
	__atomic_store_n(slot, p, __ATOMIC_RELEASE);
	if (page >= o->sealed && page < o->sealed_end)
		mprotect((void *)page, bytes, PROT_READ);
}

static const assay_hook *hook_of(const assay_hooks *h, const char *name)
{
	for (size_t k = 0; k < h->n; k++)
		if (!strcmp(name, h->hook[k].name))
			return &h->hook[k];
	return NULL;
}

static assay_any_fn *stand_in(const assay_hooks *h, const char *name, bool marked)
{
	const assay_hook *hook = hook_of(h, name);
	if (hook)
		return marked || !hook->marked_only ? hook->ours : NULL;
	return h->other && !strncmp(name, h->start, strlen(h->start)) ? h->other(name) : NULL;
}

static void patch(const object *o, const ElfW(Rela) * r, size_t n, const assay_hooks *h,
		  bool marked)
{
	for (size_t i = 0; i < n; i++) {
		unsigned long type = ELF64_R_TYPE(r[i].r_info);
		if (type != JUMP_SLOT && type != GLOB_DAT)
			continue;
		const char *name = o->names + o->symbols[ELF64_R_SYM(r[i].r_info)].st_name;
		assay_any_fn *ours = stand_in(h, name, marked);
		if (ours)
			replace(o, (void **)(o->base + r[i].r_offset), ours);
	}
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

/* ---- all of them ---- */

static bool is_ours(const char *file)
{
	return !strncmp(file, "libassay", 8) || !strncmp(file, "linux-vdso", 10);
}

/* Is it looked at for the first time? One too many to remember is looked at each time. */
static bool is_new(assay_hooks *h, const void *section)
{
	for (size_t i = 0; i < h->done_n; i++)
		if (h->done[i] == section)
			return false;
	if (h->done_n < ASSAY_HOOK_DONE)
		h->done[h->done_n++] = section;
	return true;
}

static object object_of(const struct dl_phdr_info *info)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	object o = {.base = info->dlpi_addr,
		    .part = info->dlpi_phdr,
		    .parts = info->dlpi_phnum,
		    .file = slash             ? slash + 1
			    : info->dlpi_name ? info->dlpi_name
					      : ""};
	uintptr_t whole = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	for (size_t i = 0; i < o.parts; i++) {
		const ElfW(Phdr) *p = &o.part[i];
		if (p->p_type != PT_GNU_RELRO)
			continue;
		o.sealed = (o.base + p->p_vaddr) & whole;
		o.sealed_end = (o.base + p->p_vaddr + p->p_memsz) & whole;
	}
	return o;
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	assay_hooks *h = ctx;
	object o = object_of(info);
	const ElfW(Dyn) *section = NULL;
	if (info->dlpi_subs != h->gone) { /* another object may be where one was */
		h->done_n = 0;
		h->gone = info->dlpi_subs;
	}
	__atomic_store_n(&h->seen, info->dlpi_adds, __ATOMIC_RELAXED);
	for (size_t i = 0; i < o.parts; i++)
		if (o.part[i].p_type == PT_DYNAMIC)
			section = (const ElfW(Dyn) *)(o.base + o.part[i].p_vaddr);
	if (section && !is_ours(o.file) && is_new(h, section))
		patch_object(&o, section, h);
	return 0;
}

static int anything_new(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	const assay_hooks *h = ctx;
	return info->dlpi_adds != __atomic_load_n(&h->seen, __ATOMIC_RELAXED) ? 1 : 2;
}

void assay_hook_install(assay_hooks *h)
{
	if (!assay_loader_enter())
		return;
	if (dl_iterate_phdr(anything_new, h) == 1)
		assay_loader_objects(visit, h);
	assay_loader_leave();
}

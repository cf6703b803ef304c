/* Loaded objects, copied out of the loader's list. Their memory may go at any time, so it is read
 * only where a read that fails is no harm. The list is copied by the recorder's ticking thread, for
 * that may have to wait while the program loads: then most of all the sampler must go on. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/loader.h"
#include "record/native.h"
#include "record/py.h"
#include "record/rt.h"

enum { OBJECTS = 4096, NOTES_MAX = 4, PATHS = 1 << 20, AGAIN_NS = 50000000 };

/* Where an object's notes are. */
typedef struct note_place {
	uintptr_t at;
	size_t n;
} note_place;

/* Two lists: the sampler's, and the next one, which is the ticking thread's until it is ready. */
typedef struct list {
	assay_native_object object[OBJECTS];
	note_place note[OBJECTS][NOTES_MAX];
	uint32_t n;
	char path[PATHS];
	size_t path_n;
} list;

static struct {
	list *of[2];
	_Atomic uint32_t now; /* the sampler's; it changes only while the next one is ready */
	_Atomic int wanted, ready;
	uint64_t loads, unloads; /* of the list that was made last */
	/* the sampler's: */
	uint32_t serial, changes;
	int64_t asked;
} objects;

static const char *keep_path(list *l, const char *path)
{
	size_t n = strlen(path) + 1;
	if (n > PATHS - l->path_n)
		return "";
	char *to = memcpy(l->path + l->path_n, path, n);
	l->path_n += n;
	return to;
}

/* A note of type GNU and kind build id in [at, at + n). */
static void find_build_id(assay_native_object *o, uintptr_t at, size_t n)
{
	enum { NOTES = 256 };
	unsigned char notes[NOTES];
	ElfW(Nhdr) h;
	n = n < NOTES ? n : NOTES;
	if (!n || !assay_py_safely(0, at, notes, n))
		return;
	for (size_t i = 0; i + sizeof h <= n;) {
		memcpy(&h, notes + i, sizeof h);
		size_t name = i + sizeof h, text = name + ((h.n_namesz + 3u) & ~3u);
		if (h.n_namesz > NOTES || h.n_descsz > NOTES || text + h.n_descsz > n)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && h.n_descsz <= ASSAY_NATIVE_BUILD_ID) {
			memcpy(o->build_id, notes + text, h.n_descsz);
			o->build_id_length = (uint8_t)h.n_descsz;
			return;
		}
		i = text + ((h.n_descsz + 3u) & ~3u);
	}
}

static void find_parts(assay_native_object *o, note_place *note, const struct dl_phdr_info *info)
{
	int found = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			o->begin = o->begin && o->begin < at ? o->begin : at;
			o->end = o->end > at + p->p_memsz ? o->end : at + p->p_memsz;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			o->table = at;
		} else if (p->p_type == PT_NOTE && found < NOTES_MAX) {
			note[found++] = (note_place){at, p->p_memsz};
		}
	}
}

/* The same object as before keeps its number. */
static uint32_t serial_of(const assay_native_object *o)
{
	const list *before = objects.of[!atomic_load(&objects.now)];
	for (uint32_t i = 0; i < before->n; i++) {
		const assay_native_object *x = &before->object[i];
		if (x->begin == o->begin && x->end == o->end && !strcmp(x->path, o->path))
			return x->serial;
	}
	return ++objects.serial;
}

/* The loader's lock is held here, and programs wait for it in dlopen() and when they throw: what
 * must not change meanwhile is copied, nothing else. */
static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	list *l = data;
	(void)size;
	objects.loads = info->dlpi_adds;
	objects.unloads = info->dlpi_subs;
	if (l->n == OBJECTS)
		return 1;
	assay_native_object o = {.base = info->dlpi_addr};
	memset(l->note[l->n], 0, sizeof l->note[l->n]);
	find_parts(&o, l->note[l->n], info);
	if (o.begin == o.end)
		return 0;
	o.path = keep_path(l, info->dlpi_name ? info->dlpi_name : "");
	l->object[l->n++] = o;
	return 0;
}

static void describe_objects(list *l)
{
	char own[1024];
	if (l->n && !*l->object[0].path) { /* the program itself comes first, without a name */
		ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
		own[n > 0 ? n : 0] = 0;
		l->object[0].path = keep_path(l, own);
	}
	for (uint32_t i = 0; i < l->n; i++) {
		for (int k = 0; k < NOTES_MAX && !l->object[i].build_id_length; k++)
			find_build_id(&l->object[i], l->note[i][k].at, l->note[i][k].n);
		l->object[i].serial = serial_of(&l->object[i]);
	}
}

/* Asks the first object only (loader.h). */
static int anything_new(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size, (void)data;
	return objects.loads != info->dlpi_adds || objects.unloads != info->dlpi_subs ? 1 : 2;
}

static bool make_lists(void)
{
	for (int i = 0; i < 2 && !objects.of[i]; i++) {
		void *p = mmap(NULL, sizeof(list), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return false;
		objects.of[i] = p;
	}
	return objects.of[0] && objects.of[1];
}

void assay_native_gather(void)
{
	if (!atomic_load(&objects.wanted) || atomic_load(&objects.ready) || !make_lists() ||
	    !assay_loader_enter())
		return;
	atomic_store(&objects.wanted, 0);
	list *l = objects.of[!atomic_load(&objects.now)];
	if (dl_iterate_phdr(anything_new, NULL) == 1) {
		l->n = 0;
		l->path_n = 0;
		assay_loader_objects(add_object, l);
		atomic_store(&objects.ready, 1);
	}
	assay_loader_leave();
}

void assay_native_ask(void)
{
	objects.asked = assay_rt_now();
	atomic_store(&objects.wanted, 1);
}

void assay_native_refresh(void)
{
	if (assay_rt_now() - objects.asked >= AGAIN_NS)
		assay_native_ask();
	if (!atomic_load(&objects.ready))
		return;
	uint32_t next = !atomic_load(&objects.now);
	atomic_store(&objects.now, next);
	describe_objects(objects.of[next]);
	objects.changes++;
	atomic_store(&objects.ready, 0);
}

assay_native_object *assay_native_object_at(uintptr_t pc)
{
	list *l = objects.changes ? objects.of[atomic_load(&objects.now)] : NULL;
	for (uint32_t i = 0; l && i < l->n; i++)
		if (pc >= l->object[i].begin && pc < l->object[i].end)
			return &l->object[i];
	return NULL;
}

uint32_t assay_native_changes(void)
{
	return objects.changes;
}

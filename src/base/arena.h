/* Memory: a bump arena for everything that dies together, and vectors for columns that grow. */
#ifndef ASSAY_BASE_ARENA_H
#define ASSAY_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <assay/assay.h>

#include "base/str.h"

typedef struct assay_arena {
	struct arena_block *head;
	size_t used; /* bytes handed out, for `assay info` */
} assay_arena;

/* Zeroed, 16-byte aligned; never NULL: whoever finds no memory leaves the call (base/owner.h). */
void *assay_alloc(assay_arena *a, size_t bytes);
char *assay_dup(assay_arena *a, assay_str s); /* NUL-terminated copy */
char *assay_printf(assay_arena *a, const char *fmt, ...) ASSAY_PRINTF(2, 3);
void assay_arena_free(assay_arena *a);
/* Forget everything handed out but keep a block for the next use: cheap enough for every record. */
void assay_arena_reset(assay_arena *a);

/* A growable array. Of large ones growth moves page tables, not bytes, and untouched capacity costs
 * no memory. */
void *assay_pages_grow(void *old, size_t new_bytes);
void assay_pages_free(void *p);
/* So many bytes, zeroed, in a file without a name below TMPDIR: only what is looked at takes
 * memory. NULL: there is no room for such a file. */
void *assay_pages_on_disk(size_t bytes);
/* The same bytes there; as they were where there is no room. They stay there when they grow. */
void *assay_pages_to_disk(void *p);
/* These bytes, if they are on disk, are not looked at again soon. */
void assay_pages_rest(void *p, size_t from, size_t to);
/* It may stay when all else of a run goes. */
void assay_pages_disown(void *p);

/* Typed growable array: assay_vec(uint32_t) v = {0}; *assay_push(&v) = 7; */
#define assay_vec(T)                                                                               \
	struct {                                                                                   \
		T *p;                                                                              \
		size_t n, cap;                                                                     \
	}
#define assay_vec_reserve(v, want)                                                                 \
	((want) <= (v)->cap                                                                        \
		 ? (void)0                                                                         \
		 : (void)((v)->p = assay_vec_grow((v)->p, &(v)->cap, (want), sizeof *(v)->p)))
/* Pointer to one new element; its contents are undefined. */
#define assay_push(v)     (assay_vec_reserve((v), (v)->n + 1), &(v)->p[(v)->n++])
#define assay_vec_free(v) (assay_vec_release((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

/* Memory that is given back is used again instead of going to the system and coming anew, page by
 * page: for programs that do one thing and end. */
void assay_keep_memory(void);

void *assay_vec_grow(void *p, size_t *cap, size_t want, size_t width);
void assay_vec_release(void *p);

#endif

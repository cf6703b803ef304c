/* Stacks into records: each distinct call of a thread is told once, in the ring of the thread that
 * writes. A table belongs to one thread and one ring. */
#ifndef ASSAY_RECORD_STACKS_H
#define ASSAY_RECORD_STACKS_H

#include "record/py.h"

typedef struct assay_stacks assay_stacks;

/* NULL when there is no memory. */
assay_stacks *assay_stacks_new(void);
void assay_stacks_free(assay_stacks *s);

/* Room for the next walk. */
assay_py_frame *assay_stacks_room(assay_stacks *s);
/* Id of the stack in that room, n calls; writes what is new of it. 0: none, or it could not be
 * told. get and pid: how its code is read. */
uint32_t assay_stacks_id(assay_stacks *s, const assay_py *py, assay_py_get *get, int pid,
			 uint32_t n, bool cut);
/* Id of a CODE that is no Python; written the first time. */
uint32_t assay_stacks_place(assay_stacks *s, uint16_t kind, const char *file, const char *name);

#endif

/* Stacks into records: each distinct call of a thread is told once, in the ring of the thread that
 * writes. A table belongs to one thread and one ring. */
#ifndef ASSAY_RECORD_STACKS_H
#define ASSAY_RECORD_STACKS_H

#include "record/native.h"
#include "record/py.h"

typedef struct assay_stacks assay_stacks;

/* NULL when there is no memory. */
assay_stacks *assay_stacks_new(void);
void assay_stacks_free(assay_stacks *s);

/* Room for the next walk, ASSAY_PY_DEPTH calls. */
assay_py_frame *assay_stacks_room(assay_stacks *s);
/* The calls of the last stack that was told, outermost first. */
const assay_py_frame *assay_stacks_last(const assay_stacks *s, uint32_t *n);
/* Id of the stack that is the first `kept` of these and the n calls in the room, innermost first;
 * writes what is new of it. 0: none, or it could not be told. cut: calls further out are missing.
 * get and pid: how its code is read. */
uint32_t assay_stacks_id(assay_stacks *s, const assay_py *py, assay_py_get *get, int pid,
			 uint32_t kept, uint32_t n, bool cut);
/* How many of the last stack's calls are the outermost of the n in the room. */
uint32_t assay_stacks_shared(const assay_stacks *s, uint32_t n);
/* Id of a CODE that is no Python; written the first time. */
uint32_t assay_stacks_place(assay_stacks *s, uint16_t kind, const char *file, const char *name);
/* Id of a stack of n native calls, innermost first; writes what is new of it. */
uint32_t assay_stacks_native(assay_stacks *s, const assay_native_call *call, uint32_t n);
/* What ran outside Python, as a stack, when a thread was last taken down at a Python stack, or
 * without one; 0: Python itself. False: it never was. */
bool assay_stacks_ran(const assay_stacks *s, uint32_t stack, uint32_t tid, uint32_t *native);
void assay_stacks_runs(assay_stacks *s, uint32_t stack, uint32_t tid, uint32_t native);

#endif

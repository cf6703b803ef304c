/* CPython from inside: whose thread this is, its stack, and what the stack's code is called, read
 * from memory without the interpreter's help. Layouts by version (py_layout.def); nothing is read
 * by plain loads before a layout was proved on a real stack with reads that cannot fault. */
#ifndef ASSAY_RECORD_PY_H
#define ASSAY_RECORD_PY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;

enum { ASSAY_PY_NONE = 0xffff, ASSAY_PY_TEXT = 1024, ASSAY_PY_DEPTH = 1024 };

typedef struct assay_py_layout {
#define FIELD(name, ...) uint16_t name;
#define PUBLISHED(name, ...)
#include "record/py_layout.def"
#undef FIELD
#undef PUBLISHED
} assay_py_layout;

/* The interpreter of this process. */
typedef struct assay_py {
	assay_py_layout at;
	uint32_t minor;    /* 9 for 3.9 */
	uintptr_t base;    /* where the file that holds the interpreter is mapped */
	uintptr_t moved;   /* how much further than ours it is, in another process */
	uintptr_t runtime; /* _PyRuntime */
	uintptr_t code_type, string_type;
	void *(*this_thread)(void);
	void *(*holder)(void); /* the thread's state if it holds the GIL; else NULL, or another's */
} assay_py;

/* A call on a stack. */
typedef struct assay_py_frame {
	uintptr_t code;
	uintptr_t at;    /* instruction; up to 3.10 code + its index */
	uint64_t mark;   /* tells the code from another one at the same address; top bit 0 */
	uintptr_t frame; /* where it lies; of the own thread's stack only */
} assay_py_frame;

/* Reads of memory: of the own thread's objects, or of what may be gone. */
typedef bool assay_py_get(int pid, uintptr_t from, void *to, size_t n);
bool assay_py_plain(int pid, uintptr_t from, void *to, size_t n);
bool assay_py_safely(int pid, uintptr_t from, void *to, size_t n);
/* Several pieces at once; false: some could not be read, or not in this way. */
bool assay_py_gather(int pid, const struct iovec *there, const struct iovec *here, int k);
/* Can memory be read without faulting at all, by this thread as it is filtered now? That of other
 * processes? */
bool assay_py_can_read(void);
bool assay_py_can_read_others(void);
/* For a thread whose descriptors are its own: it reads this process's memory through a pipe, as
 * quickly as by a system call made for it, which a filter may answer with death. */
void assay_py_keep_pipe(void);

/* py_find.c: the interpreter, proved on the caller's stack. NULL: why not, in `why`, and whether
 * asking again later may help. */
const assay_py *assay_py_find(const char **why, bool *later);

/* py_end.c: from now on the interpreter unmaps nothing while it ends and one of its threads walks.
 * As often as one likes, for libraries are loaded; one thread at a time. */
void assay_py_guard(const assay_py *py, bool (*walks)(void));

/* py_child.c: the interpreter of a child process; false: it has none of the same file. On the
 * sampler's thread. */
bool assay_py_of_child(const assay_py *own, int pid, assay_py *child);

/* py_walk.c: the main interpreter, 0 none. Up to 3.10 one that is started again lies elsewhere. */
uintptr_t assay_py_main(const assay_py *py, int pid);
/* Is the interpreter being taken down? */
bool assay_py_ends(const assay_py *py);
/* The caller's stack, by what is known of it: the calls of a walk before, outermost first, *kept
 * of them. Then *kept is how many of these are on the stack still, each at the same instruction of
 * the same code, and what is further in follows in `out`, innermost call first; how many. Both 0:
 * it is not in Python. *cut: there were more, further out; none are kept. */
uint32_t assay_py_walk(const assay_py *py, const assay_py_frame *known, uint32_t *kept,
		       assay_py_frame *out, bool *cut);
/* Another thread's, of this process or a child; -1 when it could not be read. One at a time:
 * first the proof, then the sampler. */
int assay_py_walk_of(const assay_py *py, int pid, uintptr_t ts, assay_py_frame *out, bool *cut);
/* The innermost frame of a thread state, 0 none, and the instruction it is at. */
bool assay_py_top(const assay_py *py, int pid, uintptr_t ts, uintptr_t *frame, uintptr_t *at);

/* py_code.c: UTF-8, not terminated; the length, at most ASSAY_PY_TEXT. */
size_t assay_py_text(const assay_py *py, assay_py_get *get, int pid, uintptr_t string, char *out);
/* 0: it has none, or it is not known. */
int32_t assay_py_line(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f);
/* Is it of a generator or coroutine, which only its caller keeps on a stack? */
bool assay_py_is_called(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f);
/* Is there a code object with file, name and a line for this instruction? */
bool assay_py_is_code(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f);

#endif

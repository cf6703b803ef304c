/* What the files of `assay hang` share. */
#ifndef ASSAY_CMD_HANG_H
#define ASSAY_CMD_HANG_H

#include "render/hang.h"

/* State, name and system call of a thread of a living process. */
void assay_hang_look(int64_t pid, assay_hang_thread *t);
/* Threads of a living process. */
size_t assay_hang_list(int64_t pid, int64_t *tids, size_t most);
/* The run directory that a living process records into; NULL: none. */
const char *assay_hang_run_of(assay_arena *a, int64_t pid);

#endif

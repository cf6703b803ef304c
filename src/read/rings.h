/* What processes have, or left, in memory for a run directory. */
#ifndef ASSAY_READ_RINGS_H
#define ASSAY_READ_RINGS_H

#include "base/arena.h"

/* The folder of rings that run.json in a folder names; NULL: none. */
const char *assay_run_rings(assay_arena *a, const char *dir);
/* How many processes that are gone left rings. */
uint64_t assay_run_left(const char *dir);
/* What lies in the rings of the capture at that path now, as chunks; -1 none. To be closed. */
int assay_capture_peek(const char *path);
/* Does the process of the capture at that path still record? */
bool assay_capture_alive(const char *path);

#endif

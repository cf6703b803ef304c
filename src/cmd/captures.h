/* The captures of a recording, where they lie. */
#ifndef ASSAY_CMD_CAPTURES_H
#define ASSAY_CMD_CAPTURES_H

#include "base/arena.h"

typedef assay_vec(const char *) assay_capture_list;

/* Adds those of a run directory and of the folders in it that are at most so many levels below; all
 * in the list are by name then. Texts are in the arena. */
void assay_captures_find(assay_arena *a, const char *dir, int below, assay_capture_list *out);

#endif

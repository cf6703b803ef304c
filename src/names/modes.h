/* Modes of programs and runtimes that help to find errors and cost time. */
#ifndef ASSAY_NAMES_MODES_H
#define ASSAY_NAMES_MODES_H

#include "base/str.h"

typedef enum assay_mode {
#define MODE(id, what, fix) ASSAY_MODE_##id,
#include "names/modes.def"
	ASSAY_MODE_COUNT /* none */
} assay_mode;

const char *assay_mode_what(assay_mode mode); /* "... takes 1 ms of every step" */
const char *assay_mode_fix(assay_mode mode);

/* The mode that a variable is for, and whether this value switches it on. */
assay_mode assay_mode_of_variable(assay_str name);
bool assay_mode_is_on(assay_str name, assay_str value);
/* The mode that a Python function runs in only. */
assay_mode assay_mode_of_frame(assay_str file, assay_str function);
/* The same of an operator, and of a frame as Kineto names it, "file(line): function". */
assay_mode assay_mode_of_row(assay_str name);

#endif

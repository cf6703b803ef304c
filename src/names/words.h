/* What the name of an operator, a range or a Python frame means. */
#ifndef ASSAY_NAMES_WORDS_H
#define ASSAY_NAMES_WORDS_H

#include "base/str.h"

typedef enum assay_word {
	ASSAY_WORD_NOTHING,
	ASSAY_WORD_DATA,
	ASSAY_WORD_STEP_MARKER,
	ASSAY_WORD_STEP,
	ASSAY_WORD_COMPILE,
	ASSAY_WORD_HOST_COMM,
	ASSAY_WORD_COMM,
	ASSAY_WORD_IMPORT,
	ASSAY_WORD_FILES,        /* reads or writes whole objects */
	ASSAY_WORD_CHILD,        /* another program, and waiting for it */
	ASSAY_WORD_DEVICE_VALUE, /* asked for on the host */
	ASSAY_WORD_HAND_OVER,    /* between threads or processes */
	ASSAY_WORD_EVENT_LOOP,   /* runs whatever is due, and waits in between */
	ASSAY_WORD_OPTIMIZER,    /* updates parameters */
	ASSAY_WORD_MODEL,        /* forward or backward */
	ASSAY_WORD_LIBRARY,      /* no code of the program itself */
} assay_word;

/* Of an operator or range. */
assay_word assay_word_of(assay_str name);
/* Of a Python frame as profilers name it, "torch/utils/data/dataloader.py(700): __next__", or of
 * the file alone. */
assay_word assay_word_of_frame(assay_str frame);
/* Of a Python function by its qualified name: OPTIMIZER or NOTHING. */
assay_word assay_word_of_function(assay_str function);
/* Is the file part of Python, of an installed package, or made by a compiler? */
bool assay_is_library_file(assay_str file);
/* Code that a program makes while it runs, or was given as text ("<string>", "<eval_with_key>.7"):
 * nobody can open it. */
bool assay_is_no_file(assay_str file);

/* What profilers write for a call whose name they do not know: CUPTI's and roctracer's words. */
bool assay_is_no_name(assay_str call);

/* "epoch 2 step 31 (warm)" -> 31, the last number in a name; -1 without one. */
int64_t assay_number_in(assay_str name);

#endif

/* Rows of code and stack, each once, and the stacks and looks of files that have no tables. */
#ifndef ASSAY_MODEL_STACKS_H
#define ASSAY_MODEL_STACKS_H

#include "base/json.h"
#include "base/jsonw.h"
#include "model/run.h"

typedef struct assay_stacks {
	assay_part *part;
	assay_map codes; /* what a row of code is -> the row */
	assay_map calls; /* caller, code and line -> row of stack */
} assay_stacks;

void assay_stacks_free(assay_stacks *s);
/* A function of this nature; offset -1 and line -1: unknown. */
uint32_t assay_stacks_code(assay_stacks *s, assay_code_kind kind, assay_sid file,
			   assay_sid function, int32_t line, int64_t offset);
/* A call of it; ASSAY_NO_ROW below a chain that no recorder writes. */
uint32_t assay_stacks_call(assay_stacks *s, uint32_t caller, uint32_t code, int32_t line);
/* What a native stack is "in": its innermost library beside the C library, which everybody goes
 * through; else its innermost call. */
uint32_t assay_stacks_library(const assay_part *p, uint32_t stack);

/* What a thread was seen doing in the system: "blocked: read", "waits for the GIL". */
const char *assay_look_name(assay_arena *a, const assay_run *run, uint32_t sample);

/* Chrome's "stackFrames", the form that stacks have in Chrome and XPlane files: members of an
 * object, by number. A row's number is one more than the row. */
void assay_frames_put(assay_jsonw *w, const assay_run *run);
/* "cat" of looks there. */
#define ASSAY_LOOK_CATEGORY "thread_look"
/* Beside a thread, so far above its number, Chrome files have a row of what it was seen doing. */
enum { ASSAY_LANE_ROW = 1000000000 };
/* What a row of sample says beside its thread, time and stacks, as members of an object. */
void assay_look_put(assay_jsonw *w, const assay_run *run, uint32_t sample);
/* Number of its stack outside Python, likewise. */
void assay_look_put_calls(assay_jsonw *w, const assay_run *run, uint32_t sample);
/* The same into a new row. */
uint32_t assay_look_take(assay_part *p, uint32_t track, assay_str members);

/* While a file is read, `stack` and `calls` of its rows hold the file's own numbers, and no rows of
 * stack are made; assay_file_stacks_end() makes them and sets the columns right. */
typedef struct assay_file_stacks {
	size_t api, sample; /* first rows of the file */
	assay_arena arena;
	assay_vec(assay_json) frames; /* in the objects that were met */
} assay_file_stacks;
enum { ASSAY_FILE_STACK_MAX = 1 << 30 }; /* greater numbers are none */

void assay_file_stacks_begin(assay_file_stacks *f, const assay_part *p);
/* Members of an object; copied. */
void assay_file_stacks_add(assay_file_stacks *f, assay_str members);
void assay_file_stacks_end(assay_file_stacks *f, assay_part *p);

#endif

/* The libraries that record inside a program, one a vendor, and how programs come to load them. */
#ifndef ASSAY_CMD_RECORDERS_H
#define ASSAY_CMD_RECORDERS_H

#include "base/arena.h"

typedef struct recording recording;

/* Variables of a command, NAME=VALUE each. */
typedef struct record_variables {
	assay_arena *arena;
	assay_vec(char *) text;
} record_variables;

void assay_variables_put(record_variables *v, const char *name, const char *value);

typedef struct record_recorder {
	const char *name;    /* in run.json */
	const char *library; /* a file beside the program */
	/* Put what brings the library into the command, where the vendor's own is there to load it;
	 * may leave a note in r. */
	void (*enter)(recording *r, const char *library, record_variables *v);
} record_recorder;

extern const record_recorder assay_recorder_cuda, assay_recorder_rocm;

enum { ASSAY_RECORDERS = 2 };
extern const record_recorder *const assay_recorders[ASSAY_RECORDERS];

/* Where each recorder's library is; NULL: it was not built. */
void assay_recorders_find(assay_arena *a, const char *path[ASSAY_RECORDERS]);
bool assay_recorders_any(const char *const path[ASSAY_RECORDERS]);

#endif

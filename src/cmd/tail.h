/* The last stretch of a capture that still grows: each byte of the file is read once, what is
 * older than the stretch is dropped but for what names things, and the rest is handed out as a
 * capture. */
#ifndef ASSAY_CMD_TAIL_H
#define ASSAY_CMD_TAIL_H

#include "base/arena.h"
#include "wire/keep_open.h"

typedef assay_vec(char) tail_bytes;

typedef struct assay_tail {
	const char *path;    /* owned by the caller */
	uint64_t read;       /* bytes of the file so far */
	tail_bytes names;    /* whole chunks of records that name things, of what was dropped */
	tail_bytes kept;     /* whole chunks */
	size_t first;        /* in kept: the oldest that is not dropped */
	int64_t since, last; /* when the file begins, and ends so far */
	int64_t cut;         /* up to where it was dropped; 0 nowhere */
	bool off;            /* recording was switched off there */
	bool damaged;        /* something is no chunk: nothing of the file is read any more */
	assay_vec(assay_keep_opens) opens; /* one: ranges that are open there */
} assay_tail;

/* What was written since; then chunks that are `most` older than the last one go, and of more than
 * so many bytes those that are `least` older. */
void assay_tail_read(assay_tail *t, int64_t least, int64_t most, size_t bytes);
/* A capture of it, with what lies in the process's rings; -1: none can be made. To be closed. */
int assay_tail_capture(assay_tail *t, int rings);
void assay_tail_free(assay_tail *t);

#endif

/* Records of one size, any number of them, in bounded memory: what does not fit goes to files
 * without a name (TMPDIR), sorted, and is merged as it is read, 256 files at a time. Where no file
 * can be made they stay in memory. */
#ifndef ASSAY_BASE_SPILL_H
#define ASSAY_BASE_SPILL_H

#include "base/arena.h"

typedef int assay_compare(const void *a, const void *b);

struct assay_spill_run {
	char *p;
	size_t bytes;
	bool on_disk;
};

typedef struct assay_spill {
	size_t width;
	assay_compare *compare; /* NULL: as they come. No two records should be equal to it */
	size_t in_memory;       /* bytes; 0: 4 MiB */
	size_t n;
	assay_vec(char) newest; /* not in a file */
	assay_vec(struct assay_spill_run) run;
	bool ended;
} assay_spill;

void assay_spill_push(assay_spill *s, const void *record);
/* No more come. */
void assay_spill_end(assay_spill *s);
void assay_spill_free(assay_spill *s);

/* Reading an ended one, in order; several may read at the same time. */
struct assay_spill_place {
	struct assay_spill_run of;
	size_t run;          /* its number */
	const char *p, *end; /* what is left of it */
	size_t rested;       /* bytes of it */
};

typedef struct assay_spill_reader {
	const assay_spill *of;
	assay_vec(struct assay_spill_place) place; /* a heap, the least record first */
	bool begun;
} assay_spill_reader;

void assay_spill_read(assay_spill_reader *r, const assay_spill *s);
/* The next record, there until the one after it is asked for; NULL: that was the last. */
const void *assay_spill_next(assay_spill_reader *r);
void assay_spill_leave(assay_spill_reader *r);

#endif

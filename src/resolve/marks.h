/* Facts with a place and a key, in order: what was last said of a place before a call. */
#ifndef ASSAY_RESOLVE_MARKS_H
#define ASSAY_RESOLVE_MARKS_H

#include "base/arena.h"

typedef struct assay_mark {
	uint64_t place, key;
	int64_t value, other;
} assay_mark;
typedef struct assay_marks {
	assay_vec(assay_mark) v;
} assay_marks;

/* Once all marks are there, before anything is looked up. */
void assay_marks_sort(assay_marks *m);
/* The last mark of the place with a smaller key, the first with a greater one; NULL. */
const assay_mark *assay_mark_before(const assay_marks *m, uint64_t place, uint64_t key);
const assay_mark *assay_mark_after(const assay_marks *m, uint64_t place, uint64_t key);

#endif

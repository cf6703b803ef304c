/* Times of rows that a reader made, held against each other. */
#ifndef ASSAY_READ_TIMES_H
#define ASSAY_READ_TIMES_H

#include "model/run.h"

/* Where the rows of a file begin, in tables whose rows have lengths. */
typedef struct assay_times_mark {
	size_t host, gpu, sync, sample;
} assay_times_mark;

assay_times_mark assay_times_now(const assay_tables *t);
/* Whatever a file says, all times of a table lie within two years, and its lengths fit into one sum
 * with room to spare, so that nobody who adds and multiplies them has to look. Rows that say
 * otherwise (a stamp never set, a clock gone wrong) are counted and kept with length 0. */
void assay_times_bound(assay_part *part, const assay_times_mark *from);

#endif

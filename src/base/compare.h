/* The order of two things by their numbers, for qsort(). */
#ifndef ASSAY_BASE_COMPARE_H
#define ASSAY_BASE_COMPARE_H

/* -1, 0 or 1, of any two numbers of one type; each is read twice. The other way round: y, x. */
#define ASSAY_CMP(x, y) (((x) > (y)) - ((x) < (y)))

/* The first comparison decides, and the next where it does not. */
static inline int assay_then(int first, int next)
{
	return first ? first : next;
}

#endif

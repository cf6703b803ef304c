/* Tables hold what tables.def says: references lead to rows, strings and words that are there. */
#ifndef ASSAY_MODEL_SOUND_H
#define ASSAY_MODEL_SOUND_H

#include "model/run.h"

/* The first value that does not, in words that live in a; NULL: every one does. */
const char *assay_part_fault(const assay_part *p, assay_arena *a);

/* In builds with sanitizers (ASSAY_CHECKED): after every stage, for it reads all there is. */
#ifdef ASSAY_CHECKED
void assay_assert_sound(const assay_run *run, const char *stage);
void assay_assert_zero(const char *p, size_t bytes);
#else
static inline void assay_assert_sound(const assay_run *run, const char *stage)
{
	(void)run;
	(void)stage;
}

static inline void assay_assert_zero(const char *p, size_t bytes)
{
	(void)p;
	(void)bytes;
}
#endif

#endif

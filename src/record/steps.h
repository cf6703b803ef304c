/* Steps of the program, as far as its ranges tell them: those that --steps-from names, else those
 * that are named like steps. Looked at only while somebody wants to know. */
#ifndef ASSAY_RECORD_STEPS_H
#define ASSAY_RECORD_STEPS_H

#include "record/chosen.h"

/* rt_steps.c */
bool assay_steps_watched(void);
bool assay_steps_named(const char *p, size_t n);
/* On the program's thread; begin returns the time, which end takes. */
int64_t assay_steps_begin(const char *p, size_t n);
void assay_steps_end(int64_t begun);

/* The step that a thread is in. */
typedef struct step_push {
	chosen_push range;
	int64_t begun;
} step_push;

static inline void step_on_push(step_push *s, const void *domain, const char *p, size_t n)
{
	if ((s->range.open || assay_steps_watched()) &&
	    chosen_on_push(&s->range, domain, !s->range.open && assay_steps_named(p, n)))
		s->begun = assay_steps_begin(p, n);
}

static inline void step_on_pop(step_push *s, const void *domain)
{
	if (chosen_on_pop(&s->range, domain))
		assay_steps_end(s->begun);
}

#endif

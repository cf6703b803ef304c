/* Which operator each launch belongs to. */
#ifndef ASSAY_WORK_OP_WALK_H
#define ASSAY_WORK_OP_WALK_H

#include "model/run.h"
#include "work/work.h"

/* Rules by string id, found once a name. */
typedef struct assay_rule_names {
	const assay_run *run;
	uint16_t *known; /* by string id: 0 not asked yet, 1 none, else 2 + number */
	size_t n;
	assay_vec(const assay_work_rule *) rules;
} assay_rule_names;

void assay_rule_names_init(assay_rule_names *r, const assay_run *run);
void assay_rule_names_free(assay_rule_names *r);
const assay_work_rule *assay_rule_of_sid(assay_rule_names *r, assay_sid name);

/* What stands around a launching call on its thread. */
typedef struct assay_op_place {
	uint32_t op;    /* row of host: outermost operator with a rule, else innermost operator */
	uint32_t mark;  /* row of host: innermost annotation, or ASSAY_NO_ROW */
	uint32_t steps; /* row of host: outermost step mark of a serving engine, or ASSAY_NO_ROW */
	uint32_t first; /* the first place of the operator, as an index */
	bool recomputed, backward;
} assay_op_place;

typedef struct assay_op_places {
	uint32_t *of_call; /* by row of api: 0 none, else 1 + index in place */
	assay_vec(assay_op_place) place;
} assay_op_places;

/* For these calls, which need not have launched work. */
void assay_op_places_of(assay_op_places *out, const assay_run *run, assay_rule_names *rules,
			const uint32_t *calls, size_t n);
/* For all calls that launched work. */
void assay_op_places_find(assay_op_places *out, const assay_run *run, assay_rule_names *rules);
void assay_op_places_free(assay_op_places *p);
/* Of a row of host; NULL: it is none of the calls. */
const assay_op_place *assay_op_place_of(const assay_op_places *p, const assay_tables *t,
					uint32_t host);

#endif

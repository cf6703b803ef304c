/* What names mean, each asked for once: rows are many, names are few. */
#ifndef ASSAY_MODEL_BY_NAME_H
#define ASSAY_MODEL_BY_NAME_H

#include "model/run.h"

typedef struct assay_by_name {
	const assay_run *run;
	unsigned (*means)(assay_str name); /* less than 255 */
	size_t names;                      /* there were at first: later ones are not asked for */
	uint8_t *known;                    /* by string id: 1 + what it means; 0: not asked */
} assay_by_name;

static inline assay_by_name assay_by_name_open(const assay_run *run, assay_arena *a,
					       unsigned (*means)(assay_str name))
{
	size_t n = run->part.strings.str.n;
	return (assay_by_name){run, means, n, assay_alloc(a, n + 1)};
}

static inline unsigned assay_by_name_ask(const assay_by_name *n, assay_sid name)
{
	ASSAY_ASSERT_CHECKED(name < n->names || !name);
	if (!n->known[name])
		n->known[name] = (uint8_t)(1 + n->means(assay_text(n->run, name)));
	return n->known[name] - 1u;
}

#endif

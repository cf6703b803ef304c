/* The comparison of environments, in the ways it is told. */
#ifndef ASSAY_CMD_ENV_DIFF_H
#define ASSAY_CMD_ENV_DIFF_H

#include "analyze/envdiff.h"

typedef struct assay_env_telling {
	const char *baseline; /* NULL: the majority */
	bool unknown, explain;
} assay_env_telling;

void assay_env_diff_text(assay_env_set *set, const assay_env_result *r, const assay_env_telling *t);
void assay_env_diff_markdown(assay_env_set *set, const assay_env_result *r,
			     const assay_env_telling *t);
void assay_env_diff_json(assay_env_set *set, const assay_env_result *r);

#endif

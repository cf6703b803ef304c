/* A snapshot of a machine, and the comparison of several, as they are told. */
#ifndef ASSAY_RENDER_ENV_H
#define ASSAY_RENDER_ENV_H

#include <stdio.h>

#include "base/jsonw.h"
#include "envs/check.h"
#include "envs/diff.h"
#include "probe/env.h"

/* About 18 labelled lines, one a block, and what is missing. path: where it is kept, NULL nowhere;
 * json: the whole of it, NULL not shown. */
void assay_env_text(FILE *out, const assay_env *env, const char *path, const char *json);

typedef struct assay_env_telling {
	const char *baseline; /* NULL: the majority */
	bool unknown, explain;
} assay_env_telling;

void assay_env_diff_text(assay_env_set *set, const assay_env_result *r, const assay_env_telling *t);
void assay_env_diff_markdown(assay_env_set *set, const assay_env_result *r,
			     const assay_env_telling *t);
void assay_env_diff_put(assay_jsonw *w, assay_env_set *set, const assay_env_result *r);

/* Violations, a line each; rules: the file they are of. */
void assay_env_check_text(FILE *out, const assay_env_set *set, const char *rules,
			  const assay_env_violations *v);
void assay_env_check_put(assay_jsonw *w, const assay_env_set *set, const assay_env_violations *v);

#endif

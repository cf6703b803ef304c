/* Expected facts of an environment: a line each, and what in a set of snapshots breaks them. */
#ifndef ASSAY_ENVS_CHECK_H
#define ASSAY_ENVS_CHECK_H

#include "envs/set.h"

typedef struct assay_env_rule {
	const char *path;  /* may hold * and ? */
	int op;            /* index in the table of operators */
	const char *value; /* NULL where the operator takes none */
	int compare;       /* how many of them there may be, by an operator and a number */
	int64_t count;
	uint32_t line;
} assay_env_rule;

typedef struct assay_env_rules {
	assay_arena arena;
	assay_vec(assay_env_rule) list;
} assay_env_rules;

typedef struct assay_env_violation {
	size_t doc; /* SIZE_MAX: of all snapshots together */
	uint32_t line;
	const char *text; /* from the set's arena */
} assay_env_violation;

typedef assay_vec(assay_env_violation) assay_env_violations;

/* False: *err names the line. name is for messages. */
bool assay_env_rules_parse(assay_env_rules *rules, const char *name, assay_str text,
			   assay_err *err);
void assay_env_rules_free(assay_env_rules *rules);

void assay_env_check(assay_env_set *set, const assay_env_rules *rules, assay_env_violations *out);

#endif

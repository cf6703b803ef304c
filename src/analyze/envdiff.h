/* Two or more environment snapshots side by side: what differs, most consequential first. Reads any
 * schema 1.x, ours and upstream's; keys it does not know are compared all the same. */
#ifndef ASSAY_ANALYZE_ENVDIFF_H
#define ASSAY_ANALYZE_ENVDIFF_H

#include <assay/assay.h>

#include "base/map.h"
#include "base/pool.h"

typedef enum assay_env_group {
	ASSAY_ENV_DRIVER,
	ASSAY_ENV_RUNTIME,
	ASSAY_ENV_MATH,
	ASSAY_ENV_FRAMEWORK,
	ASSAY_ENV_KERNELS,
	ASSAY_ENV_VARIABLES,
	ASSAY_ENV_HOST,
	ASSAY_ENV_OTHER,
	ASSAY_ENV_GROUPS
} assay_env_group;

const char *assay_env_group_name(assay_env_group g);

typedef struct assay_env_doc {
	const char *name; /* as given */
	const char *host; /* name of the machine, or NULL */
	const char *schema;
	bool ours; /* has the assay block: a package it does not list is not installed */
	assay_vec(assay_sid) value; /* by path number; 0: no such key, the null id: null */
} assay_env_doc;

typedef struct assay_env_set {
	assay_arena arena;
	assay_pool pool;
	assay_vec(assay_env_doc) docs;
	assay_vec(assay_sid) paths;
	assay_vec(uint8_t) path_kind; /* by path number: what null and no key mean there */
	assay_map path_at;            /* path id -> path number */
	assay_sid null_id;
} assay_env_set;

bool assay_env_set_add(assay_env_set *set, const char *file, assay_err *err);
bool assay_env_set_add_text(assay_env_set *set, const char *name, assay_str json, assay_err *err);
void assay_env_set_free(assay_env_set *set);

typedef enum assay_env_kind {
	ASSAY_ENV_DIFFERENT,
	ASSAY_ENV_NEWER, /* the second (or deviating) side is the newer version */
	ASSAY_ENV_OLDER,
	ASSAY_ENV_REBUILT, /* same version, different build */
	ASSAY_ENV_UNKNOWN, /* one side does not say */
} assay_env_kind;

typedef struct assay_env_row {
	const char *path, *why;
	assay_env_group group;
	assay_env_kind kind;
	assay_sid a, b; /* values; a is the majority's or the baseline's */
	uint32_t path_no;
	uint32_t known, agree; /* snapshots that say something, and those that say a */
	const char *cause;     /* path of a difference that explains this one, or NULL */
} assay_env_row;

typedef struct assay_env_result {
	assay_vec(assay_env_row) rows;   /* by group, then path; one a path */
	uint32_t same[ASSAY_ENV_GROUPS]; /* compared and equal */
	uint32_t different, unknown;
} assay_env_result;

/* With two snapshots a is the first; with more, the most frequent value, or the baseline's
 * (an index, -1 for none). */
void assay_env_compare(assay_env_set *set, int baseline, assay_env_result *out);
void assay_env_result_free(assay_env_result *r);

/* What a snapshot says: 0 when it is unknown; the null id when unset or not installed is what it
 * says. */
assay_sid assay_env_cell(const assay_env_set *set, size_t doc, uint32_t path_no);
const char *assay_env_kind_name(assay_env_kind kind);
/* Text of a value for people: cut where it is long, "(unset)" where the snapshot says so. */
const char *assay_env_shown(assay_env_set *set, const assay_env_row *row, assay_sid id);
/* Text of a value for people and JSON; NULL when it is unknown. */
const char *assay_env_value(const assay_env_set *set, assay_sid id);
/* Whether a snapshot's value counts as the same as a. */
bool assay_env_agrees(const assay_env_set *set, assay_sid a, assay_sid b);

#endif

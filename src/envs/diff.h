/* Two or more environment snapshots side by side: what differs, most consequential first, and what
 * it follows from. Keys this version does not know are compared all the same. */
#ifndef ASSAY_ENVS_DIFF_H
#define ASSAY_ENVS_DIFF_H

#include "envs/rules.h"
#include "envs/set.h"

#define ASSAY_ENV_KIND_LIST(X)                                                                     \
	X(DIFFERENT, "different", "")                                                              \
	X(NEWER, "newer", " (newer)") /* the second (or deviating) side is the newer version */    \
	X(OLDER, "older", " (older)")                                                              \
	X(REBUILT, "rebuilt", " (same version, different build)")                                  \
	X(ABSENT, "absent", "") /* there in a, known not to be there in b */                       \
	X(ADDED, "added", "")   /* the other way round */                                          \
	X(UNKNOWN, "unknown on one side", " (unknown on one side)")

typedef enum assay_env_kind {
#define X(id, name, words) ASSAY_ENV_##id,
	ASSAY_ENV_KIND_LIST(X)
#undef X
} assay_env_kind;

typedef struct assay_env_row {
	const char *path, *why;
	assay_env_group group;
	assay_env_kind kind;
	assay_sid a, b; /* values; a is the majority's or the baseline's */
	uint32_t path_no;
	uint32_t known, agree; /* snapshots that say something, and those that say a */
	bool tie;              /* another value is as frequent as a */
	const char *cause;     /* path of a difference that explains this one, or NULL */
	uint32_t cause_row;    /* its number in rows, ASSAY_ENV_NO_ROW when there is none */
	const char *files;     /* which files of a kernel database differ, or NULL */
	uint32_t split;        /* number of the first row that splits the snapshots like this one */
} assay_env_row;

#define ASSAY_ENV_NO_ROW UINT32_MAX

static inline bool assay_env_is_absence(assay_env_kind kind)
{
	return kind == ASSAY_ENV_ABSENT || kind == ASSAY_ENV_ADDED;
}

static inline bool assay_env_is_difference(const assay_env_row *row)
{
	return row->kind != ASSAY_ENV_UNKNOWN;
}

/* Snapshots that say the same wherever any differ. */
typedef struct assay_env_cluster {
	uint32_t first, n; /* into members */
} assay_env_cluster;

typedef struct assay_env_result {
	assay_vec(assay_env_row) rows;   /* by group, absences first, then by path; one a path */
	uint32_t same[ASSAY_ENV_GROUPS]; /* compared and equal */
	uint32_t open[ASSAY_ENV_GROUPS]; /* unknown to somebody: nobody can say identical */
	uint32_t different, unknown;     /* unknown: known to some, and nothing differs */
	assay_vec(const char *) dark;    /* paths that nobody knows */
	assay_vec(assay_env_cluster) clusters; /* largest first */
	assay_vec(uint32_t) members;
	const char *sentence; /* the cause first; from the set's arena */
} assay_env_result;

/* With two snapshots a is the first; with more, the most frequent value, or the baseline's
 * (an index, -1 for none). */
void assay_env_compare(assay_env_set *set, int baseline, assay_env_result *out);
void assay_env_result_free(assay_env_result *r);

bool assay_env_identical(const assay_env_result *r, assay_env_group g);
extern const char *const assay_env_kind_name[], *const assay_env_kind_words[];
/* Text of a value for people, cut so that both sides of the row show where they differ. */
const char *assay_env_shown(assay_env_set *set, const assay_env_row *row, assay_sid id);
/* The cause of all that differs, first; from the set's arena. */
const char *assay_env_sentence(assay_env_set *set, const assay_env_result *out);
/* Command or setting that gives a host the row's a; NULL when there is no single one. */
const char *assay_env_row_remedy(assay_env_set *set, const assay_env_row *row);
/* Whether a snapshot's value does not count as the same as the row's a. */
bool assay_env_deviates(const assay_env_set *set, const assay_env_row *row, size_t doc);
/* The most frequent known value, the earliest snapshot's among equals; 0: nobody knows one. */
assay_sid assay_env_majority(const assay_env_set *set, uint32_t path, bool *tie);
/* The host's name where every snapshot has its own, else the file's. */
const char *assay_env_doc_label(const assay_env_set *set, size_t doc);

#endif

/* Environment snapshots flattened to dotted paths, any schema 1.x, ours and upstream's. A cell is a
 * value, absent (looked for, and not there) or unknown. */
#ifndef ASSAY_ENVS_SET_H
#define ASSAY_ENVS_SET_H

#include <assay/assay.h>

#include "base/map.h"
#include "base/pool.h"

typedef struct assay_env_doc {
	const char *name; /* as given, made safe to print */
	const char *file; /* where it is, or its name when it is a text */
	const char *host; /* name of the machine, or NULL */
	const char *schema;
	bool ours;                      /* has the assay block */
	bool no_variables;              /* of an image: no process, so no variables */
	assay_vec(const char *) absent; /* what is known not to be there: paths, or "path.*" for all
					   that is not listed under path */
	assay_vec(assay_sid) value; /* by path number; 0 unknown, the set's absent_id, or a text */
} assay_env_doc;

typedef struct assay_env_path {
	assay_sid id;
	uint32_t component; /* path number of the thing it describes, UINT32_MAX when none */
	bool variable, set; /* a variable; a list told as sorted, joined text */
	bool commit;        /* may be cut short and still be the same */
	bool list;          /* holds objects somewhere: each of them is told by itself */
	bool moved;         /* of a thing that goes by another name now: nobody has it */
	bool is_component;
} assay_env_path;

typedef struct assay_env_set {
	assay_arena arena;
	assay_pool pool;
	assay_vec(assay_env_doc) docs;
	assay_vec(assay_env_path) paths;
	assay_map path_at; /* path id -> path number */
	assay_sid null_id, absent_id, present_id;
	bool settled;
} assay_env_set;

/* A snapshot's file, or a run directory with an env.json. */
bool assay_env_set_add(assay_env_set *set, const char *path, assay_err *err);
bool assay_env_set_add_text(assay_env_set *set, const char *name, assay_str json, assay_err *err);
void assay_env_set_free(assay_env_set *set);

/* Once all snapshots are in: matches devices of unlike machines, tells absent from unknown, and
 * adds one path for each thing that can be absent as a whole. */
void assay_env_set_settle(assay_env_set *set);

/* UINT32_MAX when no snapshot has the path. */
uint32_t assay_env_path_of(const assay_env_set *set, assay_str path);
const char *assay_env_path_text(const assay_env_set *set, uint32_t path);
assay_sid assay_env_cell(const assay_env_set *set, size_t doc, uint32_t path);
/* Text of a value; NULL when it is unknown or absent. */
const char *assay_env_value(const assay_env_set *set, assay_sid id);
/* What a snapshot says at a path, by its name; NULL when it says nothing. */
const char *assay_env_says(const assay_env_set *set, const assay_env_doc *doc, const char *path);

#endif

/* What a path is about: its group, why it matters, what it follows from, what would change it. */
#ifndef ASSAY_ENVS_RULES_H
#define ASSAY_ENVS_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define ASSAY_ENV_GROUP_LIST(X)                                                                    \
	X(DRIVER, "driver", "driver and firmware")                                                 \
	X(RUNTIME, "runtime", "runtime libraries")                                                 \
	X(MATH, "math", "math libraries")                                                          \
	X(FRAMEWORK, "framework", "framework build")                                               \
	X(KERNELS, "kernels", "kernel databases")                                                  \
	X(VARIABLES, "variables", "environment variables")                                         \
	X(HOST, "host", "host")                                                                    \
	X(OTHER, "other", "other")

/* Most consequential first. */
typedef enum assay_env_group {
#define X(id, word, name) ASSAY_ENV_##id,
	ASSAY_ENV_GROUP_LIST(X)
#undef X
		ASSAY_ENV_GROUPS
} assay_env_group;

extern const char *const assay_env_group_name[ASSAY_ENV_GROUPS];
extern const char *const assay_env_group_word[ASSAY_ENV_GROUPS]; /* one word, for options */

/* Never compared. */
bool assay_env_is_ignored(const char *path);
/* Tells one card of a make from another: of one machine only, for no two machines have the same. */
bool assay_env_names_card(const char *path);
/* Holds a commit, which may be cut short. */
bool assay_env_is_commit(const char *path);
void assay_env_classify(const char *path, assay_env_group *group, const char **why);

/* Bytes of the path that name the thing it describes ("hipblaslt", "assay.gpus.0000:4b:00.0"); 0
 * when it is a fact of its own. */
size_t assay_env_component(const char *path);
/* The name somebody gave, where a path ends in one (a package, a variable): it may hold dots, and
 * be that of any field. NULL for any other path. */
const char *assay_env_given_name(const char *path);
/* Bytes that name the whole, where that thing is a part of another: the copy of a library that
 * torch loads is a part of the library. Else 0. */
size_t assay_env_outer(const char *path);
/* What people call it: "hipBLASLt", "the GPU at 0000:4b:00.0", "mlx5_3". */
const char *assay_env_name_of(assay_arena *a, const char *path);

/* Things of which a machine has several: where their paths begin, and what many of them are called;
 * NULL for any other path. */
const char *assay_env_family(const char *path, const char **many);

/* A difference that follows from another one; both are patterns. */
typedef struct assay_env_follows {
	const char *path, *cause;
} assay_env_follows;
const assay_env_follows *assay_env_follow_rules(size_t *n);

/* Command or setting that gives a machine this value (NULL: that makes it go away); NULL when there
 * is no single one. */
const char *assay_env_remedy(assay_arena *a, const char *path, const char *value);
/* Command that brings back the files of a package; NULL: its manager is not known. */
const char *assay_env_reinstall(assay_arena *a, const char *manager, const char *package,
				const char *version);

#endif

/* X.catalog.json beside a snapshot X.json: every file of its kernel databases, so that a difference
 * can be told by file, GPU and number type. */
#ifndef ASSAY_ENVS_CATALOG_H
#define ASSAY_ENVS_CATALOG_H

#include "envs/diff.h"

const char *assay_env_catalog_path(assay_arena *a, const char *snapshot);

/* Rows about kernel databases say which files differ, where both snapshots have a catalog. A
 * catalog that does not belong to its snapshot, or is broken, is left out. */
void assay_env_name_files(assay_env_set *set, assay_env_result *r);

#endif

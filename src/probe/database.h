/* Kernel databases: the prebuilt code that decides which kernels really run, file by file. */
#ifndef ASSAY_PROBE_DATABASE_H
#define ASSAY_PROBE_DATABASE_H

#include "probe/probe.h"

typedef assay_vec(const char *) assay_member_names;

/* Names, sorted, of the files in dir with one of these suffixes, and of those in its gfx* folders
 * as "gfx942/file". */
assay_cause assay_database_members(assay_ctx *c, const char *dir, const char *const *suffix,
				   assay_member_names *out);

/* "filenames-sha256:" over the names joined by newlines; NULL when there are none. */
const char *assay_database_names_hash(assay_ctx *c, const assay_member_names *names);

/* Describes the database of a library in dir; its number in env->kdbs. */
size_t assay_database_add(assay_ctx *c, const char *library, const char *dir, const char *hash);

bool assay_database_has_arch(const assay_kdb *k, const char *arch);

#endif

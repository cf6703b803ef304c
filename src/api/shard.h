/* A job in shards: each is read by a program of its own, which leaves a file of findings; putting
 * those together says what one program would have said. */
#ifndef ASSAY_API_SHARD_H
#define ASSAY_API_SHARD_H

#include "api/job.h"

typedef struct assay_shard {
	size_t index, count; /* index from 0 */
} assay_shard;

/* Read one shard and write its file into dir, which is made where it is missing. *written (may be
 * NULL) is false when a file of the same shard of the same inputs is there already: it stays. run
 * has what is wrong with the files. opts: only what is asked of each process counts. */
bool assay_shard_write(assay_run *run, char *const *paths, size_t n, const assay_report_opts *opts,
		       assay_shard shard, const char *dir, bool *written, assay_err *err);

/* The path of a shard's file. */
const char *assay_shard_path(assay_arena *a, const char *dir, assay_shard shard);

/* What merging found beside the run. */
typedef struct assay_merged {
	char **operands; /* the inputs as the shards were given them, ending with NULL, in run's
			    arena */
	size_t n;
	size_t repeated; /* files of shards that another one has too: left out */
} assay_merged;

/* What assay_job_read() would have read, from the files of shards (a folder stands for those in
 * it), in any order. Shards that are missing are named in a warning. */
bool assay_shards_merge(assay_run *run, char *const *files, size_t n, const assay_report_opts *opts,
			assay_merged *merged, assay_err *err);

#endif

/* Shards of a job on the command line. */
#ifndef ASSAY_CMD_SHARD_H
#define ASSAY_CMD_SHARD_H

#include "api/shard.h"
#include "cmd/report_show.h"

/* "I/N", "auto" or "auto/N"; false with a message. */
bool assay_cmd_shard_of(const char *text, assay_shard *shard);
/* Read the shard and write its file, and say so unless quiet; returns an exit status. */
int assay_cmd_write_shard(char **operands, int n, const assay_report_opts *opts, assay_shard shard,
			  const char *dir, bool quiet);
/* Print the report of files of shards; returns an exit status. */
int assay_cmd_merge_shards(char **files, int n, int64_t steps, const char *rates,
			   const report_show *show);

#endif

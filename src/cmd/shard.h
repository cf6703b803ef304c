/* Shards of a job on the command line. */
#ifndef ASSAY_CMD_SHARD_H
#define ASSAY_CMD_SHARD_H

#include "api/shard.h"

/* "I/N", "auto" or "auto/N"; false with a message. */
bool assay_cmd_shard_of(const char *text, assay_shard *shard);
/* Read the shard and write its file; returns an exit status. */
int assay_cmd_write_shard(char **operands, int n, const assay_report_opts *opts, assay_shard shard,
			  const char *dir);

#endif

/* The file a shard of a job leaves (docs/formats/shard.md): a head, the findings of its processes
 * in order, and an end that says that it is whole. */
#ifndef ASSAY_API_SHARD_FILE_H
#define ASSAY_API_SHARD_FILE_H

#include "base/input.h"
#include "base/output.h"
#include "base/proto.h"
#include "read/reader.h"

enum { ASSAY_SHARD_VERSION = 2 };

typedef struct assay_shard_head {
	size_t shard, shards;
	assay_listing listing;
	const char *steps_from; /* NULL: not given */
	assay_vec(char *) operand;
	assay_str problems; /* of listing the files, packed findings */
} assay_shard_head;

/* One process; slices live until the next one is read. */
typedef struct assay_shard_process {
	uint64_t number;    /* in the job, from 0 */
	assay_str findings; /* packed; none when its files cannot be read, or are of no process */
	assay_str problems; /* packed: what is wrong with its files */
	assay_str left;     /* packed: files that are of no single process */
} assay_shard_process;

void assay_shard_put_head(FILE *out, const assay_shard_head *head);
void assay_shard_put_process(FILE *out, const assay_shard_process *p);
void assay_shard_put_end(FILE *out, size_t processes);
/* A list of paths as assay_shard_process.left has it, and one by one out of it. */
void assay_shard_add_left(assay_protow *w, const char *path);
bool assay_shard_next_left(assay_str *left, assay_str *path);

typedef struct assay_shard_file {
	assay_input *in;
	const char *path;
	uint64_t pos;
	size_t processes; /* read so far */
	bool ended;
	assay_arena arena;
	assay_shard_head head;
} assay_shard_file;

bool assay_shard_open(assay_shard_file *f, const char *path, assay_err *err);
/* The next process; false at the end, with f->ended, and when the file is not what it should be,
 * without. */
bool assay_shard_next(assay_shard_file *f, assay_shard_process *p, assay_err *err);
void assay_shard_close(assay_shard_file *f);

#endif

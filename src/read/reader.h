/* Readers: one const struct a format, chosen by content. */
#ifndef ASSAY_READ_READER_H
#define ASSAY_READ_READER_H

#include "base/input.h"
#include "model/run.h"

typedef struct assay_reader {
	const char *name;    /* word shown by `assay info` and taken by --format */
	const char *ends[4]; /* pieces that names of its files end in: ".json" */
	const char *about;   /* line in help and docs */
	/* How sure, 0..100, from the first bytes of the unpacked text (up to 64 KiB). */
	int (*sniff)(assay_str head);
	/* Read everything into run->part. run->part.source is this input's row already. Bad records
	 * are counted and skipped; false only when nothing of the input can be used. */
	bool (*read)(assay_run *run, assay_input *in, assay_err *err);
	/* Pieces of names that tell apart the files of a process, which share what stands before
	 * them; NULL ends them. NULL: a file is a process. */
	const char *const *parts;
	/* The files of a process say all there is to know about it: any number of processes may be
	 * read at the same time, each into a run of its own. */
	bool alone;
	/* File of the same folder that has facts which analyses of this one need; NULL */
	const char *beside;
	bool ranked; /* files of this format may carry their rank in their name */
	/* What the commands of these names can say of it, for the list of formats; NULL: it is no
	 * trace, and stands beside one. */
	const char *waits, *scopes;
	const char *note, *page; /* page of docs/formats */
	uint8_t traits;          /* ASSAY_TRAIT_ bits of its sources */
} assay_reader;

extern const assay_reader *const assay_readers[];
extern const size_t assay_reader_count;
extern const assay_reader assay_reader_chrome, assay_reader_rocprof_csv, assay_reader_rocprof_json,
	assay_reader_rocpd, assay_reader_nsys, assay_reader_nsys_csv, assay_reader_smi,
	assay_reader_capture, assay_reader_xplane, assay_reader_perfetto, assay_reader_run_json,
	assay_reader_env_json, assay_reader_smi_document;

/* Read a file, or every readable file below a directory. */
bool assay_read_path(assay_run *run, const char *path, assay_err *err);
/* Read several, at the same time where their formats allow it; the rows are those of reading one
 * after the other. A file that cannot be read is counted and named in a warning when another one
 * can; one that does not exist fails. */
bool assay_read_paths(assay_run *run, char *const *paths, size_t n, assay_err *err);
/* For jobs of so many ranks that their rows cannot all be kept: the files of each process are
 * read into a run of its own, which is forgotten after take() has had it. */
typedef struct assay_listing {
	size_t processes; /* of all shards together */
	size_t first, n;  /* those of this shard */
	uint64_t names;   /* equal when the files of all shards have the same names and order */
	uint64_t state;   /* equal when the files of this shard are as they were, too */
} assay_listing;
typedef struct assay_each {
	void *ctx;
	size_t more_than; /* fewer processes are read as assay_read_paths() does it */
	/* shards > 0: only one of so many equal runs of processes, which may be empty */
	size_t shard, shards;
	/* Before the first one; false: read nothing. NULL for nothing. */
	bool (*listed)(void *ctx, const assay_listing *l);
	bool with_beside; /* work() has the reader's file beside it, as sources of its own */
	/* On a worker, several at once; NULL for nothing. */
	void (*work)(void *ctx, assay_run *file);
	/* In order of the files, one at a time. */
	void (*take)(void *ctx, const assay_run *file);
	/* A file that is not of one process: not read. */
	void (*leave)(void *ctx, const char *path);
	/* After the last file of a process; what is wrong with its files has been said in the run.
	 * NULL for nothing. */
	void (*done)(void *ctx);
} assay_each;
bool assay_read_each(assay_run *run, char *const *paths, size_t n, const assay_each *each,
		     assay_err *err);
/* The part of a path that files of one process share; all of it for most formats. */
assay_str assay_process_stem(assay_str path);
/* A name without all that names of files end in, of whatever format and packing. */
assay_str assay_without_ends(assay_str name);
/* A new run with one source, these bytes, read by this reader; NULL when it fails. For tests. */
assay_run *assay_read_bytes(const assay_reader *reader, const void *p, size_t n);
/* Read an opened input with the reader its content asks for (closes nothing). */
bool assay_read_input(assay_run *run, assay_input *in, assay_err *err);
/* Its steps: the reader for this content (NULL after an error), a row of source, and reading. */
const assay_reader *assay_reader_choose(assay_input *in, assay_err *err);
uint32_t assay_add_source(assay_run *run, assay_input *in, const assay_reader *reader);
bool assay_read_source(assay_run *run, assay_input *in, const assay_reader *reader, uint32_t source,
		       assay_err *err);

#endif

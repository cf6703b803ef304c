/* Writers: one const struct a format, chosen by the name of the output. */
#ifndef ASSAY_WRITE_WRITER_H
#define ASSAY_WRITE_WRITER_H

#include <stdio.h>

#include "model/run.h"

/* What of a run is not in the file, as a list in words. */
typedef struct assay_left_out {
	assay_arena arena;
	const char *text; /* NULL: nothing was left out */
	struct assay_left_kind *kinds;
} assay_left_out;

/* Add "N what", unless N is 0; N of several files are summed. left may be NULL. */
/* Said of a file whose times are counted from another moment, which nothing tells. */
#define ASSAY_NEW_ORIGIN "origins of times, which are counted anew"
#define ASSAY_FACTS      "facts of headers"
void assay_leave_out(assay_left_out *left, uint64_t n, const char *what);

/* Whether the number of a thread is no process's business, and more than viewers have bits for. */
bool assay_thread_is_hash(const assay_run *run, uint32_t track);

/* What a format may have no place for. */
enum {
	ASSAY_LACKS_NO_NAME = 1 << 0, /* spans and work without a name */
	ASSAY_LACKS_MEMORY = 1 << 1,
	ASSAY_LACKS_PMC = 1 << 2,
	ASSAY_LACKS_STATS = 1 << 3,
	ASSAY_LACKS_ARROWS = 1 << 4,
	ASSAY_LACKS_STREAMS = 1 << 5,
	ASSAY_LACKS_SCOPE_IDS = 1 << 6,
	ASSAY_LACKS_PLANES = 1 << 7,
	ASSAY_LACKS_FACTS = 1 << 8,
	ASSAY_LACKS_MEMORY_ARGS = 1 << 9,
	ASSAY_LACKS_WAITS = 1 << 10,
	ASSAY_LACKS_MARKS = 1 << 11,
	ASSAY_LACKS_COUNTERS = 1 << 12,
	ASSAY_LACKS_OPERATOR_IDS = 1 << 13, /* sequence numbers and Python ids */
	ASSAY_LACKS_TOTALS = 1 << 14,       /* what an allocator held after each event */
	ASSAY_LACKS_SAMPLES = 1 << 15,
	ASSAY_LACKS_STACKS = 1 << 16,
	ASSAY_LACKS_LEDGER = 1 << 17,
	ASSAY_LACKS_HANDLES = 1 << 18, /* of streams and events, in the arguments of calls */
	ASSAY_LACKS_ERRORS = 1 << 19,
	ASSAY_LACKS_CALL_NUMBERS = 1 << 20,
	ASSAY_LACKS_PAUSES = 1 << 21,
	ASSAY_LACKS_UNENDED = 1 << 22,
	ASSAY_LACKS_RECORDS = 1 << 23,
	ASSAY_LACKS_UNNUMBERED = 1 << 24, /* threads without a number, or of such a process */
	ASSAY_LACKS_ZEROS = 1 << 25,      /* source.zeros */
	ASSAY_LACKS_BELOW_ZERO = 1 << 26, /* threads' numbers below zero: hashes, in XPlane */
	ASSAY_LACKS_HASHES = 1 << 27,     /* these, and XPlane's that are more than 32 bits */
	ASSAY_LACKS_NO_DEVICE = 1 << 28,  /* work on a device without a number */
	ASSAY_LACKS_NO_STREAM = 1 << 29,  /* on a stream without one */
	ASSAY_LACKS_WORLD = 1 << 30,      /* how many ranks a job has */
	/* what only recordings and vendors' databases say */
	ASSAY_LACKS_RECORDING =
		ASSAY_LACKS_LEDGER | ASSAY_LACKS_PAUSES | ASSAY_LACKS_UNENDED | ASSAY_LACKS_RECORDS,
	/* rocprofv3's own formats, as a database and as tables */
	ASSAY_LACKS_AS_ROCPROF =
		ASSAY_LACKS_ZEROS | ASSAY_LACKS_STATS | ASSAY_LACKS_ARROWS | ASSAY_LACKS_STREAMS |
		ASSAY_LACKS_SCOPE_IDS | ASSAY_LACKS_PLANES | ASSAY_LACKS_WAITS | ASSAY_LACKS_MARKS |
		ASSAY_LACKS_COUNTERS | ASSAY_LACKS_OPERATOR_IDS | ASSAY_LACKS_TOTALS |
		ASSAY_LACKS_SAMPLES | ASSAY_LACKS_STACKS | ASSAY_LACKS_HANDLES |
		ASSAY_LACKS_ERRORS | ASSAY_LACKS_CALL_NUMBERS | ASSAY_LACKS_RECORDING |
		ASSAY_LACKS_MEMORY_ARGS | ASSAY_LACKS_NO_DEVICE,
};

/* What must be known of a run before it is written or shown; each has what the ones before have,
 * but as it says. */
typedef enum assay_needs {
	ASSAY_NEEDS_LINKS,    /* launches and waits */
	ASSAY_NEEDS_ORDER,    /* kernels and steps: what happened, not yet why */
	ASSAY_NEEDS_STEPS,    /* idle time of steps, how ranks waited for each other */
	ASSAY_NEEDS_WORK,     /* what operators and kernels do, scopes; without idle time */
	ASSAY_NEEDS_DERIVED,  /* rows that assay_derive() makes; likewise */
	ASSAY_NEEDS_SOURCES,  /* all that is said of each source on its own */
	ASSAY_NEEDS_FINDINGS, /* every table */
} assay_needs;

typedef struct assay_writer {
	const char *name;    /* word taken by --to */
	const char *exts[4]; /* ends of file names, without packing: ".json" */
	const char *about;   /* line in help and docs */
	const char *back;    /* what of it reads back */
	const char *page;    /* page of docs/formats */
	unsigned lacks;      /* ASSAY_LACKS_ bits */
	/* Write an analyzed run, and add to `left` what turned out to have no room. false only when
	 * it cannot be written; ferror(out) is the caller's. Called by assay_write_run. */
	bool (*write)(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err);
	assay_needs needs;
	/* Into a folder, made when it is not there: the only way of some formats, of others for
	 * names of folders. */
	bool (*write_folder)(const assay_run *run, const char *folder, assay_left_out *left,
			     assay_err *err);
	/* Where its viewers look for files below a folder, with a slash; NULL: in it. */
	const char *(*place)(const assay_run *run, assay_arena *arena);
} assay_writer;

extern const assay_writer *const assay_writers[];
extern const size_t assay_writer_count;

/* Write a run and list what is left out, by nature of the format or for want of room. left starts
 * as zeros and may be NULL; its arena is the caller's to free. */
bool assay_write_run(const assay_writer *w, const assay_run *run, FILE *out, assay_left_out *left,
		     assay_err *err);
/* Is this output a folder: the format has no other, or the name ends in / or is one that is
 * there. */
bool assay_writes_folder(const assay_writer *w, const char *path);
bool assay_write_folder(const assay_writer *w, const assay_run *run, const char *folder,
			assay_left_out *left, assay_err *err);

extern const assay_writer assay_writer_chrome, assay_writer_perfetto, assay_writer_xplane,
	assay_writer_xplane_grouped, assay_writer_csv, assay_writer_sqlite, assay_writer_rocpd,
	assay_writer_rocprof_csv;

/* By the word of --to, and by the end of a file's name; NULL when there is none. */
const assay_writer *assay_writer_named(const char *name);
const assay_writer *assay_writer_for(const char *path);

#endif

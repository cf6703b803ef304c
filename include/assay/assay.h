/* assay: GPU-run forensics. The whole public C API.
 *
 * Ownership: everything a run hands out (strings, columns, text) lives as long as the run and dies
 * with assay_run_free(). Nothing else is freed by the caller. A run may be used by one thread at a
 * time; different runs are independent. The library never prints and never exits: a call that finds
 * no memory fails with ASSAY_LIMIT. Its run is not whole then, and good for assay_run_free() alone:
 * what was handed out before stays, every other call fails and says so. */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_VERSION "0.1.0"

#if defined(__GNUC__)
#define ASSAY_API          __attribute__((visibility("default")))
#define ASSAY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define ASSAY_API
#define ASSAY_PRINTF(f, a)
#endif

#define ASSAY_CODE_LIST(X)                                                                         \
	X(OK, "success")                                                                           \
	X(IO, "input/output error")                                                                \
	X(FORMAT, "malformed input")                                                               \
	X(UNKNOWN, "unknown format")                                                               \
	X(LIMIT, "limit reached")                                                                  \
	X(USAGE, "wrong usage")                                                                    \
	X(UNRELATED, "inputs of several runs")

typedef enum assay_code {
#define X(id, text) ASSAY_##id,
	ASSAY_CODE_LIST(X)
#undef X
		ASSAY_CODE_COUNT
} assay_code;

/* Why an operation could not be done. Every function takes a pointer to one, or NULL. */
typedef struct assay_err {
	assay_code code;
	uint64_t pos;   /* byte offset in the (decompressed) input, 0 when it has none */
	char text[496]; /* one sentence, without the offset */
} assay_err;

typedef struct assay_run assay_run;

ASSAY_API const char *assay_version(void);

ASSAY_API assay_run *assay_run_new(void);      /* NULL: no memory */
ASSAY_API void assay_run_free(assay_run *run); /* NULL is fine */

/* Read a file or directory in any known format; call again to add ranks or telemetry. Recordings of
 * several runs can be read into one and looked at, but not analyzed (ASSAY_UNRELATED). */
ASSAY_API bool assay_run_read(assay_run *run, const char *path, assay_err *err);

typedef struct assay_report_opts {
	size_t size;           /* sizeof(assay_report_opts) */
	int32_t steps;         /* 0: found in the trace */
	const char *precision; /* not used; kept for programs built with 0.1.0 */
	uint32_t top;          /* kernels listed; 0 means 20 */
	/* Which ranges are steps: "auto", "NVTX" or "roctx", and ":NAME" for those of one name.
	 * NULL: as the recording says, else auto. */
	const char *steps_from;
	const char *rates; /* file with the device's peak rates, or NULL: docs/rates.md */
	/* For assay_run_read_job(): ranks whose events are kept, such as "3,8-15", or "all". NULL:
	 * of jobs of more than 16 processes those worth a look, of others all. */
	const char *ranks;
	/* Only a part of the run: "5" or "5-7", numbers; each NULL for all. */
	const char *only_step, *only_stream, *only_device, *only_rank;
	/* Recording, or folder of them, made while graphs were captured: it tells the operators of
	 * their work. NULL: folders called capture_traces among the inputs. */
	const char *captures;
} assay_report_opts;

/* Link, classify and measure what has been read. Call once, after the last assay_run_read().
 * opts may be NULL. */
ASSAY_API bool assay_run_analyze(assay_run *run, const assay_report_opts *opts, assay_err *err);

/* Read and analyze at once, as `assay report` does it: of jobs of more than 16 processes, findings
 * are kept of all and events of a few, so that memory does not grow with the job. */
ASSAY_API bool assay_run_read_job(assay_run *run, const char *const *paths, size_t n,
				  const assay_report_opts *opts, assay_err *err);

/* What the commands print with --json, as NUL-terminated text; *len may be NULL. Queries start with
 * their own size; all other fields may be 0, and NULL stands for all of that. NULL is returned when
 * it cannot be done. All need an analyzed run, but for scopes. */
ASSAY_API const char *assay_run_report_json(assay_run *run, size_t *len);

typedef struct assay_waits_query {
	size_t size;
	const int64_t *stream, *thread; /* only waits of or for that stream, of that thread */
	int64_t min_ns;                 /* only waits that lost as much */
	size_t top;                     /* waits listed; 0: all */
	bool unresolved;                /* only those whose producer is not known */
	bool handles;                   /* resolved by event handles and order of calls alone */
	bool chains;                    /* with where the time of each was spent */
} assay_waits_query;
ASSAY_API const char *assay_run_waits_json(assay_run *run, const assay_waits_query *query,
					   size_t *len, assay_err *err);

/* Of a run that was read and not analyzed, it is what `assay scopes` prints, and the run cannot be
 * analyzed any more; of an analyzed one, steps found by repetition count as well. */
typedef struct assay_scopes_query {
	size_t size;
	const char *by; /* path, name, instance or forward (by path, gradients with their forward
			   operator); line, function, module, file (GPU work by what launched it)
			   or library (looks of the sampler); NULL: path */
	const int64_t *step; /* only what was launched in the step of this number */
	uint32_t depth, top; /* levels, children of each scope; 0: all */
	bool ops, python;    /* operators and Python functions are scopes too */
	bool exact;          /* infer nothing */
	bool timeline;       /* the rows that xprof derives, instead */
} assay_scopes_query;
ASSAY_API const char *assay_run_scopes_json(assay_run *run, const assay_scopes_query *query,
					    size_t *len, assay_err *err);

typedef struct assay_path_query {
	size_t size;
	const int64_t *step; /* NULL: the step of median length after the first */
	bool all;            /* the whole recording instead of a step */
	const char *const *what_if;
	size_t what_ifs;
	uint32_t top; /* rows of each table; 0: all */
} assay_path_query;
ASSAY_API const char *assay_run_path_json(assay_run *run, const assay_path_query *query,
					  size_t *len, assay_err *err);

/* Two analyzed runs. The text lives as long as `after`. *same (may be NULL): nothing differs beyond
 * noise. */
typedef struct assay_diff_query {
	size_t size;
	size_t top;         /* kernels listed; 0: all */
	const char *env[2]; /* snapshots to compare beside them; NULL: the one read with the run */
} assay_diff_query;
ASSAY_API const char *assay_run_diff_json(assay_run *before, assay_run *after,
					  const assay_diff_query *query, bool *same, size_t *len,
					  assay_err *err);

/* A snapshot of this machine's GPU software, or of an unpacked image's. The text lives as long as
 * `owner`, which may be a new run. */
typedef struct assay_env_query {
	size_t size;
	const char *root, *python; /* image; interpreter */
	const char **sites;        /* site-packages to look in first, NULL at the end */
	int32_t pid;               /* describe a running process */
	bool no_hash, quick, health, no_cache;
	int64_t health_ns;
} assay_env_query;
ASSAY_API const char *assay_env_json(assay_run *owner, const assay_env_query *query, size_t *len,
				     assay_err *err);

/* Snapshots, files or run directories, compared as `assay env diff` does: each against the
 * baseline, or against the majority. The text lives as long as `owner`. *same (may be NULL): no
 * fact is known to differ. */
typedef struct assay_env_diff_query {
	size_t size;
	const char *baseline; /* a snapshot more; NULL: the majority */
} assay_env_diff_query;
ASSAY_API const char *assay_env_diff_json(assay_run *owner, const char *const *paths, size_t n,
					  const assay_env_diff_query *query, bool *same,
					  size_t *len, assay_err *err);

/* Write an analyzed run to a file, or to a folder of tables, in the format that `format` or the end
 * of the name says. *left_out (may be NULL): what the format has no place for, as a list in words,
 * or NULL. */
typedef struct assay_convert_query {
	size_t size;
	const char *format; /* as of assay convert --to; NULL: by the name */
	bool hta;           /* give HIP calls their CUDA names */
	bool exact;         /* no scopes that are inferred */
} assay_convert_query;
ASSAY_API bool assay_run_convert(assay_run *run, const char *path, const assay_convert_query *query,
				 const char **left_out, assay_err *err);

/* Tables: the same names and columns that `assay info --schema` prints. */
typedef enum assay_type {
	ASSAY_TYPE_U8,
	ASSAY_TYPE_U16,
	ASSAY_TYPE_U32,
	ASSAY_TYPE_I32,
	ASSAY_TYPE_U64,
	ASSAY_TYPE_I64,
	ASSAY_TYPE_F64,
	ASSAY_TYPE_STRING, /* uint32_t for assay_string() */
	ASSAY_TYPE_ROW     /* uint32_t row of another table */
} assay_type;

/* What a column's values are, beyond how they are stored. */
typedef enum assay_kind {
	ASSAY_KIND_NUMBER,
	ASSAY_KIND_STRING,
	ASSAY_KIND_TIME, /* a moment, ns; add source.base of the row's source for ns since 1970 */
	ASSAY_KIND_WORD, /* index in words */
	ASSAY_KIND_ROW   /* row of `refers`; NULL: assay_value_table() says whose */
} assay_kind;

typedef struct assay_table_desc {
	size_t size; /* in: sizeof(assay_table_desc) */
	const char *name, *doc;
	const char *each; /* it has one row for each row of that table; NULL */
	size_t columns;
} assay_table_desc;

typedef struct assay_column_desc {
	size_t size; /* in: sizeof(assay_column_desc) */
	const char *name, *doc, *unit;
	assay_type type;
	assay_kind kind;
	size_t width;       /* bytes of a value */
	bool can_be_absent; /* a value whose bytes are those of absent was not in the input */
	uint64_t absent;    /* the value's bits, without sign; strings: 0 */
	const char *refers; /* table */
	const char *const *words;
	size_t word_count;
} assay_column_desc;

/* Every table from 0 on, and its columns in their order; false behind the last. They are the same
 * for every run. */
ASSAY_API bool assay_table_describe(size_t table, assay_table_desc *out);
ASSAY_API bool assay_column_describe(size_t table, size_t column, assay_column_desc *out);
/* The table that a value of a column of kind ROW is a row of; NULL when it is none. */
ASSAY_API const char *assay_value_table(const assay_run *run, const char *table, const char *column,
					size_t row);

ASSAY_API size_t assay_table_rows(const assay_run *run, const char *table);
/* The column as a plain array of assay_table_rows() values; NULL when there is no such column. */
ASSAY_API const void *assay_table_column(const assay_run *run, const char *table,
					 const char *column, assay_type *type);
ASSAY_API const char *assay_string(const assay_run *run, uint32_t id);

/* The same tables, and views that join them (docs/sql.md), as an Arrow C stream: one batch, numbers
 * not copied. The stream and all it hands out keep the run's memory, also after assay_run_free();
 * nothing may be read into the run afterwards. Needs assay_run_analyze(). */
struct ArrowArrayStream;
ASSAY_API bool assay_run_arrow(assay_run *run, const char *table, struct ArrowArrayStream *out,
			       assay_err *err);
/* The rows of one SQL statement over them. */
ASSAY_API bool assay_run_sql(assay_run *run, const char *statement, struct ArrowArrayStream *out,
			     assay_err *err);
/* For Python's capsules, so that no callback is Python's own: a stream for assay_run_arrow() and
 * assay_run_sql() (NULL: no memory), and the destructor of the capsule it is put into. */
ASSAY_API struct ArrowArrayStream *assay_stream_new(void);
ASSAY_API void assay_stream_free(struct ArrowArrayStream *stream);
ASSAY_API void assay_stream_free_capsule(void *capsule);
/* Names of tables and views, one after the other; NULL behind the last. */
ASSAY_API const char *assay_relation_name(size_t at);

/* How often a countable data problem was met ("truncated", "bad_number", ...). */
ASSAY_API uint64_t assay_issue_count(const assay_run *run, const char *id);

typedef struct assay_issue_desc {
	size_t size;                      /* in: sizeof(assay_issue_desc) */
	const char *id, *severity, *text; /* severity: info, warn or error */
} assay_issue_desc;
ASSAY_API bool assay_issue_describe(size_t issue, assay_issue_desc *out);

#ifdef __cplusplus
}
#endif
#endif

/* assay: GPU-run forensics. The whole public C API.
 *
 * Ownership: everything a run hands out (strings, columns, text) lives as long as the run and dies
 * with assay_run_free(). Nothing else is freed by the caller. A run may be used by one thread at a
 * time; different runs are independent. The library never prints and never exits. */
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
	X(USAGE, "wrong usage")

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

ASSAY_API assay_run *assay_run_new(void);
ASSAY_API void assay_run_free(assay_run *run); /* NULL is fine */

/* Read a file or directory in any known format; call again to add ranks or telemetry. */
ASSAY_API bool assay_run_read(assay_run *run, const char *path, assay_err *err);

typedef struct assay_report_opts {
	size_t size;           /* sizeof(assay_report_opts) */
	int32_t steps;         /* 0: found in the trace */
	const char *precision; /* fp32, fp16, bf16, fp8, or NULL; no figure uses it yet */
	uint32_t top;          /* kernels listed; 0 means 20 */
	/* Which ranges are steps: "auto", "NVTX" or "roctx", and ":NAME" for those of one name.
	 * NULL: as the recording says, else auto. */
	const char *steps_from;
	const char *rates; /* file with the device's peak rates, or NULL: docs/rates.md */
} assay_report_opts;

/* Link, classify and measure what has been read. Call once, after the last assay_run_read().
 * opts may be NULL. */
ASSAY_API bool assay_run_analyze(assay_run *run, const assay_report_opts *opts, assay_err *err);

/* The report as JSON text (NUL-terminated; *len may be NULL). Needs assay_run_analyze(). */
ASSAY_API const char *assay_run_report_json(assay_run *run, size_t *len);

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
 * assay_run_sql(), and the destructor of the capsule it is put into. */
ASSAY_API struct ArrowArrayStream *assay_stream_new(void);
ASSAY_API void assay_stream_free(struct ArrowArrayStream *stream);
ASSAY_API void assay_stream_free_capsule(void *capsule);
/* Names of tables and views, one after the other; NULL behind the last. */
ASSAY_API const char *assay_relation_name(size_t at);

/* How often a countable data problem was met ("truncated", "bad_number", ...; see docs/issues.md).
 */
ASSAY_API uint64_t assay_issue_count(const assay_run *run, const char *id);

#ifdef __cplusplus
}
#endif
#endif

/* What stands between the queries of the public header and the commands that print text. */
#ifndef ASSAY_API_QUERY_H
#define ASSAY_API_QUERY_H

#include "analyze/scopes.h"
#include "envs/set.h"
#include "model/path.h"
#include "render/scopes.h"
#include "write/writer.h"

/* A copy of a caller's options that has all fields of ours: out is zeroed, given may be NULL or be
 * shorter. Both start with their size; 0 stands for all. */
void assay_take_opts(void *out, size_t size, const void *given);

/* assay_run_analyze() for this writer alone: what it does not write is not found. */
bool assay_run_prepare(assay_run *run, const assay_writer *writer, assay_err *err);

/* Waits resolved again by event handles and order of calls alone. */
void assay_waits_by_handles(assay_run *run);

/* Finds scopes, and with query->timeline derived rows. */
bool assay_scopes_find(assay_run *run, const assay_scopes_query *query, assay_err *err);
typedef struct assay_scopes_made {
	assay_scope_times times;
	assay_arena arena;
	assay_scope_view view; /* of the two above */
} assay_scopes_made;
void assay_scopes_make(const assay_run *run, const assay_scopes_query *query,
		       assay_scopes_made *made);
void assay_scopes_made_free(assay_scopes_made *made);
/* Of a run whose scopes and steps are known, by path. */
void assay_scopes_by_path_json(assay_jsonw *w, const assay_run *run);

/* Free out in either case. */
bool assay_path_query_find(assay_run *run, const assay_path_query *query, assay_path *out,
			   assay_err *err);

/* The snapshots of a comparison, the baseline (NULL: none) first. */
bool assay_env_diff_read(assay_env_set *set, const char *baseline, const char *const *paths,
			 size_t n, assay_err *err);

/* An analyzed run gets what the writer needs, and is written as a file. left starts as zeros; its
 * arena is the caller's to free. */
void assay_convert_prepare(assay_run *run, const assay_writer *writer,
			   const assay_convert_query *query);
bool assay_convert_write(const assay_run *run, const assay_writer *writer, const char *path,
			 assay_left_out *left, assay_err *err);
/* Both, into a file or a folder. */
bool assay_convert(assay_run *run, const assay_writer *writer, const char *path,
		   const assay_convert_query *query, assay_left_out *left, assay_err *err);

#endif

/* Analysis in two halves, and jobs of more ranks than memory has room for. */
#ifndef ASSAY_API_JOB_H
#define ASSAY_API_JOB_H

#include "analyze/order.h"
#include "model/run.h"
#include "path/worth.h"
#include "work/op_walk.h"
#include "write/writer.h"

/* Options as callers gave them, checked. */
bool assay_opts_take(assay_report_opts *opts, const assay_report_opts *given, assay_err *err);

/* Whether a list of ranks such as "3,8-15" or "all" is one. */
bool assay_ranks_valid(const char *list);

/* What the first half of the analysis leaves to the second. */
typedef struct assay_halfway {
	assay_order order;
	assay_op_places places; /* of operators; none when only the first half was wanted */
	bool worked;            /* what operators do is known */
	assay_window window;    /* without its causes; where there is worth */
	assay_worth *worth;     /* the graph is being made; NULL: not yet */
	const char *there;      /* of what a part was chosen from; NULL: all is looked at */
} assay_halfway;
void assay_halfway_free(assay_halfway *h);

/* What can be said of each source on its own. needs: of the second half, where it follows with no
 * more rows than there are. */
void assay_analyze_sources(assay_run *run, const assay_report_opts *opts, assay_needs needs,
			   assay_halfway *out);
/* What is said of all of them together, as far as it is needed. */
bool assay_analyze_rest(assay_run *run, const assay_report_opts *opts, assay_needs needs,
			assay_halfway *half, assay_err *err);
/* Both halves. */
bool assay_run_analyze_for(assay_run *run, const assay_report_opts *given, assay_needs needs,
			   assay_err *err);

enum { ASSAY_RANKS_IN_FULL = 16 };
/* A job whose processes come one after the other, each as its findings. */
typedef struct assay_job {
	assay_report_opts opts;
	assay_needs needs;
	assay_run *found; /* findings of all processes so far */
	size_t kernels;   /* rows of kernel when they were folded last */
	size_t taken;     /* processes */
	assay_arena arena;
	assay_vec(char *) left; /* files that are of no single process: read in full */
	bool calls_apart;       /* as assay_run has it */
	bool used;              /* there was a process or a file */
} assay_job;
bool assay_job_start(assay_job *j, const assay_report_opts *given, assay_needs needs,
		     assay_err *err);
void assay_job_take(assay_job *j, const assay_part *findings);
void assay_job_leave(assay_job *j, const char *path);
/* run: what is wrong with the files was said there, and nothing else. */
bool assay_job_finish(assay_job *j, assay_run *run, assay_err *err);
void assay_job_free(assay_job *j); /* also one that did not start */
/* What is kept of an analyzed process: all but the notes beside its files. */
void assay_job_keep(assay_part *to, const assay_run *file);
void assay_job_analyze(const assay_report_opts *opts, assay_run *file);
/* No warnings, nothing counted. */
void assay_forget_problems(assay_part *part);

/* Read and analyze into a new run. Of more than ASSAY_RANKS_IN_FULL files, findings are kept of all
 * (model/findings.h) and events only of those that the report shows: the first one, the one with
 * most work, the one that others waited for most and the one that waited most. run->in_full says
 * how many; their sources come first. opts->ranks: of any number of files, events of these. */
bool assay_job_read(assay_run *run, char *const *paths, size_t n, const assay_report_opts *opts,
		    assay_needs needs, assay_err *err);

/* The same events without what is found: the run can be analyzed, or not. *ranks: of the whole
 * job. */
bool assay_job_read_events(assay_run *run, char *const *paths, size_t n,
			   const assay_report_opts *opts, size_t *ranks, assay_err *err);
/* Processes that have a rank, among the first sources. */
size_t assay_ranks_of(const assay_run *run, size_t sources);

#endif

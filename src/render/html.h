/* The report as one self-contained page. */
#ifndef ASSAY_RENDER_HTML_H
#define ASSAY_RENDER_HTML_H

#include "base/err.h"
#include "base/str.h"
#include "model/diff.h"
#include "model/path.h"
#include "model/run.h"

typedef struct assay_html_size {
	uint64_t page, events,
		packed; /* bytes: of the file, of the event data plain and deflated */
	uint64_t spans; /* events on the timeline, each one of them */
} assay_html_size;

/* A JSON file that lay beside the traces of a run directory. */
typedef struct assay_html_note {
	const char *path;
	bool env; /* env.json, else run.json */
	assay_str json;
} assay_html_note;

/* An analyzed run and what lay beside it. */
typedef struct assay_html_run {
	const assay_run *run;
	const assay_html_note *note;
	size_t notes;
	assay_str scopes;       /* what assay_scopes_json() says of it */
	const assay_path *path; /* NULL: there is none */
} assay_html_run;

/* Write the page of one run, or of two and how they differ (diff NULL with one). */
bool assay_html_write(const assay_html_run *runs, size_t n, const assay_diff *diff,
		      const char *path, assay_html_size *size, assay_err *err);

#endif

/* The report as one self-contained page. */
#ifndef ASSAY_RENDER_HTML_H
#define ASSAY_RENDER_HTML_H

#include "base/err.h"
#include "model/run.h"

typedef struct assay_html_size {
	uint64_t page, events,
		packed; /* bytes: of the file, of the event data plain and deflated */
	uint64_t spans; /* events on the timeline, each one of them */
} assay_html_size;

/* Write the page of an analysed run to path. */
bool assay_report_html(const assay_run *run, const char *path, assay_html_size *size,
		       assay_err *err);

#endif

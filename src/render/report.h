/* The report, from the tables of findings only. */
#ifndef ASSAY_RENDER_REPORT_H
#define ASSAY_RENDER_REPORT_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/diff.h"
#include "model/run.h"

typedef struct assay_text_opts {
	uint32_t top;   /* rows of tables; 0: what each has by default */
	uint32_t width; /* columns */
	bool colour, full_names;
	bool verbose; /* all parts behind the first screen */
} assay_text_opts;

/* Version of the JSON report: grows when a member changes its meaning, not when one is added. */
enum { ASSAY_REPORT_SCHEMA = 2 };
void assay_report_json(assay_jsonw *w, const assay_run *run);
/* Counts of the data problems met, by id. */
void assay_issues_json(assay_jsonw *w, const char *key, const assay_run *run);
/* Of our own captures: a line for each kind and cause of loss, and one when it is proved that there
 * is none (true). */
bool assay_ledger_text(FILE *out, const char *indent, const assay_run *run);
/* What recording took of the recorded programs; nothing when nobody tells. */
void assay_cost_text(FILE *out, const char *indent, const assay_run *run);
void assay_ledger_json(assay_jsonw *w, const char *key, const assay_run *run);
/* For the page: of a job of many ranks without steps and ranks, which the page has as tables. */
void assay_report_page_json(assay_jsonw *w, const assay_run *run);
/* The first screen, and the parts behind it. */
void assay_report_text(FILE *out, const assay_run *run, const assay_text_opts *opts);
struct assay_printout;
typedef struct assay_section {
	const char *name, *about;
	void (*print)(struct assay_printout *p);
} assay_section;
extern const assay_section assay_sections[];
extern const size_t assay_section_count;
/* NULL: none is called that. */
const assay_section *assay_section_find(assay_str name);
void assay_report_section(FILE *out, const assay_run *run, const assay_section *section,
			  const assay_text_opts *opts);

/* Figures as another tool defines them: needs the like table. */
void assay_like_json(assay_jsonw *w, const assay_run *run, const char *tool);
void assay_like_text(FILE *out, const assay_run *run, const char *tool);

/* Two runs side by side; top kernels, 0 = 20. */
/* A kernel's name for a table: without arguments, but with what its template does, at most width
 * columns. Mangled names are demangled, name spaces left out where there is no room. */
const char *assay_kernel_label(assay_arena *a, assay_str name, size_t width);
/* The same for many names: no two are alike. Where they would be, they end with what tells the
 * names apart, or at last a number. ASSAY_ANY_ROOM: names in full. */
#define ASSAY_ANY_ROOM SIZE_MAX
const char **assay_labels_apart(assay_arena *a, const assay_str *name, size_t n, size_t room);

/* top: kernels listed at most. */
void assay_diff_json(assay_jsonw *w, const assay_diff *d, size_t top);
void assay_diff_text(FILE *out, const assay_diff *d, size_t top);
/* For issues and pull requests. */
void assay_diff_markdown(FILE *out, const assay_diff *d, size_t top);
void assay_report_markdown(FILE *out, const assay_run *run, const assay_text_opts *opts);
/* Text in which nothing is markup. */
const char *assay_markdown(assay_arena *a, const char *text);

/* Rows of the kernel table of kind KERNEL, most total time first (ties: first seen first). The
 * array lives in a. */
const uint32_t *assay_kernels_by_time(const assay_run *run, assay_arena *a, size_t *n);
/* Sum of all kernels' durations. */
int64_t assay_kernel_total(const assay_run *run);

#endif

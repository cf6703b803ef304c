/* Printing an analyzed run as report and merge do, with the options both have for it. */
#ifndef ASSAY_CMD_REPORT_SHOW_H
#define ASSAY_CMD_REPORT_SHOW_H

#include "cmd/cmd.h"

typedef struct report_show {
	int64_t top;
	const char *html;
	assay_opt_list section;
	bool json, markdown, no_pager, verbose, full_names;
} report_show;

/* Rows of an option table; args: its argument struct, which has a report_show named show. */
#define REPORT_SHOW_OPTS(args)                                                                                                                                                                         \
	{"top",                                                                                                                                                                                        \
	 'n',                                                                                                                                                                                          \
	 ASSAY_OPT_TOP,                                                                                                                                                                                \
	 "N",                                                                                                                                                                                          \
	 "Rows of each table (default 20; 0: all).",                                                                                                                                                   \
	 offsetof(args, show.top)},                                                                                                                                                                    \
		{"verbose",                                                                                                                                                                            \
		 'v',                                                                                                                                                                                  \
		 ASSAY_OPT_FLAG,                                                                                                                                                                       \
		 NULL,                                                                                                                                                                                 \
		 "Print every section behind the first screen.",                                                                                                                                       \
		 offsetof(args, show.verbose)},                                                                                                                                                        \
		{"section",                                                                                                                                                                            \
		 0,                                                                                                                                                                                    \
		 ASSAY_OPT_LIST,                                                                                                                                                                       \
		 "NAME,...",                                                                                                                                                                           \
		 "Print these sections only: inputs, devices, findings, steps, ranks, invocations, figures, budget, idle, ops, kernels, copies, memory, calls, counters, summaries, overhead, trust.", \
		 offsetof(args, show.section)},                                                                                                                                                        \
		{"full-names",                                                                                                                                                                         \
		 0,                                                                                                                                                                                    \
		 ASSAY_OPT_FLAG,                                                                                                                                                                       \
		 NULL,                                                                                                                                                                                 \
		 "Print names whole, however wide lines become.",                                                                                                                                      \
		 offsetof(args, show.full_names)},                                                                                                                                                     \
		{"html",                                                                                                                                                                               \
		 0,                                                                                                                                                                                    \
		 ASSAY_OPT_TEXT,                                                                                                                                                                       \
		 "FILE",                                                                                                                                                                               \
		 "Write one self-contained page with a timeline instead of text; - is standard output.",                                                                                               \
		 offsetof(args, show.html)},                                                                                                                                                           \
		{"json",                                                                                                                                                                               \
		 'j',                                                                                                                                                                                  \
		 ASSAY_OPT_FLAG,                                                                                                                                                                       \
		 NULL,                                                                                                                                                                                 \
		 "Write JSON for programs.",                                                                                                                                                           \
		 offsetof(args, show.json)},                                                                                                                                                           \
		{"markdown",                                                                                                                                                                           \
		 0,                                                                                                                                                                                    \
		 ASSAY_OPT_FLAG,                                                                                                                                                                       \
		 NULL,                                                                                                                                                                                 \
		 "Write Markdown for an issue or pull request.",                                                                                                                                       \
		 offsetof(args, show.markdown)},                                                                                                                                                       \
	{                                                                                                                                                                                              \
		"no-pager", 0, ASSAY_OPT_FLAG, NULL,                                                                                                                                                   \
			"Do not page what is written to a terminal (ASSAY_PAGER, PAGER, less).",                                                                                                       \
			offsetof(args, show.no_pager)                                                                                                                                                  \
	}

/* Whether the options go together, with a message when they do not. */
bool report_show_fits(const char *cmd, const report_show *s);
/* Print it, or write the page, and free the run. operands: its inputs, ending with NULL. Returns an
 * exit status. */
int report_show_run(const report_show *s, assay_run *run, char **operands);

#endif

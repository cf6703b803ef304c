/* Printing an analyzed run as report and merge do, with the options both have for it. */
#ifndef ASSAY_CMD_REPORT_SHOW_H
#define ASSAY_CMD_REPORT_SHOW_H

#include "cmd/cmd.h"

/* A member `show` of the arguments of the commands that have the options of report_show.def. */
typedef struct report_show {
	int64_t top;
	const char *html;
	assay_opt_list section;
	bool json, markdown, no_pager, verbose, full_names;
} report_show;

/* Whether the options go together, with a message when they do not. */
bool report_show_fits(const char *cmd, const report_show *s);
/* Print it, or write the page, and free the run. operands: its inputs, ending with NULL. Returns an
 * exit status. */
int report_show_run(const report_show *s, assay_run *run, char **operands);

#endif

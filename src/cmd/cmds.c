/* The command table, apart from main() so that the tests can walk it. */
#include "cmd/cmd.h"

const assay_cmd *const assay_cmds[] = {
	&assay_cmd_report,
	&assay_cmd_info,
	&assay_cmd_scopes,
	&assay_cmd_help,
};
const size_t assay_cmd_count = ASSAY_COUNT_OF(assay_cmds);

#include "cmd/cmd.h"
static int run(const void *a, char **o, int n)
{
	(void)a;
	(void)o;
	(void)n;
	return 1;
}
const assay_cmd assay_cmd_info = {.name = "info",
				  .args = "INPUT...",
				  .about = "What is in it",
				  .run = run,
				  .max_operands = -1};

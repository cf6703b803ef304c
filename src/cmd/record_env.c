/* Where `assay record` takes the machine's identity. */
#include "cmd/record.h"

void assay_record_env(const char *dir)
{
	(void)dir;
}

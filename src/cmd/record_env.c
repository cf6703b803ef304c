/* Where `assay record` takes the machine's identity. */
#include "cmd/record.h"

#include <stdio.h>

#include "cmd/env.h"

void assay_record_env(const char *dir)
{
	char path[4096];
	assay_err err = {0};
	snprintf(path, sizeof path, "%s/env.json", dir);
	if (!assay_env_save(path, &err)) /* the run is worth recording all the same */
		fprintf(stderr, "assay: no environment snapshot: %s\n", err.text);
}

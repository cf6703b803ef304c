/* Shared by `assay env` and `assay record`. */
#ifndef ASSAY_CMD_ENV_H
#define ASSAY_CMD_ENV_H

#include <stdio.h>

#include "base/err.h"
#include "probe/env.h"

/* Take a snapshot, of which opts has how, and write it to path; without its digests first, when
 * they take a while. */
bool assay_env_save(const char *path, assay_env_opts *opts, assay_err *err);

#endif

/* Shared by `assay env` and `assay record`. */
#ifndef ASSAY_CMD_ENV_H
#define ASSAY_CMD_ENV_H

#include <stdio.h>

#include "base/err.h"
#include "probe/env.h"

/* Take a snapshot with the usual options and write it to path. */
bool assay_env_save(const char *path, assay_err *err);

#endif

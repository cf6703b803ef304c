/* Shared by `assay env` and `assay env diff`. */
#ifndef ASSAY_CMD_ENV_H
#define ASSAY_CMD_ENV_H

#include <stdio.h>

#include "base/err.h"
#include "probe/env.h"

/* About 18 labelled lines, one a block. */
void assay_env_summary(const assay_env *env, FILE *out);

/* Take a snapshot with the usual options and write it to path. */
bool assay_env_save(const char *path, assay_err *err);

#endif

/* Shared by `assay env` and `assay env diff`. */
#ifndef ASSAY_CMD_ENV_H
#define ASSAY_CMD_ENV_H

#include <stdio.h>

#include "probe/env.h"

/* About 18 labelled lines, one a block. */
void assay_env_summary(const assay_env *env, FILE *out);

#endif

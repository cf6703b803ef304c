/* The rank of a process by the variables of launchers that its recorder kept as facts
 * `env.NAME`. */
#ifndef ASSAY_READ_RANK_ENV_H
#define ASSAY_READ_RANK_ENV_H

#include "model/run.h"

/* Sets rank and world of the part's source where they are known. */
void assay_rank_from_env(assay_part *p);
/* Whether a launcher tells a process its place in this variable. */
bool assay_is_rank_variable(assay_str name);

#endif

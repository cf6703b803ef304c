/* Which variables are recorded, and what of them never is. */
#ifndef ASSAY_PROBE_VARIABLES_H
#define ASSAY_PROBE_VARIABLES_H

#include "probe/probe.h"

/* Every variable that is a secret becomes "(hidden)", before any probe can see it. */
void assay_ctx_hide_secrets(assay_ctx *c);
/* Add those that only their prefix names, sorted, after the listed ones. */
void assay_ctx_prefixed_vars(assay_ctx *c);

#endif

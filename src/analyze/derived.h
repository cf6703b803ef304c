/* The rows xprof derives from GPU work, made natively: steps, modules, operators, name scopes. */
#ifndef ASSAY_ANALYZE_DERIVED_H
#define ASSAY_ANALYZE_DERIVED_H

#include "model/run.h"

/* Fills derived. Needs steps and assay_scopes(). */
void assay_derive(assay_run *run);

#endif

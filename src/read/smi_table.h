/* Telemetry tables, whatever their lines come from. */
#ifndef ASSAY_READ_SMI_TABLE_H
#define ASSAY_READ_SMI_TABLE_H

#include "base/input.h"
#include "model/run.h"

/* Lines of a table into rows of counter; false when there is no telemetry in them. */
bool assay_smi_read_lines(assay_run *run, const char *path,
			  bool (*next)(void *ctx, assay_str *line), void *ctx, assay_err *err);

#endif

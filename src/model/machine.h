/* The machine a process ran on, where its input says so. */
#ifndef ASSAY_MODEL_MACHINE_H
#define ASSAY_MODEL_MACHINE_H

#include "model/run.h"

/* The machine that a row of meta names, or nothing. */
assay_str assay_machine_in_fact(const assay_run *run, size_t meta);
/* torch's tensorboard handler calls its files HOST_PID.TIME.pt.trace.json. */
assay_str assay_machine_in_path(assay_str path);
/* Of the source that stands for a process; nothing when it is not known. */
assay_str assay_machine_of(const assay_run *run, uint32_t group);

#endif

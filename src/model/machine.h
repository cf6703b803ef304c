/* The machine a process ran on, where its input says so. */
#ifndef ASSAY_MODEL_MACHINE_H
#define ASSAY_MODEL_MACHINE_H

#include "model/run.h"

/* The machine that a row of meta names, or nothing. */
assay_str assay_machine_in_fact(const assay_run *run, size_t meta);
/* torch's tensorboard handler calls its files HOST_PID.TIME.pt.trace.json. */
assay_str assay_machine_in_path(assay_str path);
/* Programs name their traces as they like: is the number behind it one of the process's own, as far
 * as its threads are known? */
bool assay_machine_is_told_by_path(const assay_run *run, uint32_t group);
/* Of the source that stands for a process; nothing when it is not known. */
assay_str assay_machine_of(const assay_run *run, uint32_t group);

/* Row of device of a process's GPU of that number; ASSAY_NO_ROW. AMD's tracer numbers GPUs behind
 * the processors, headers count them from 0: where all devices of the header are alike, any of them
 * will do. process: the source that stands for its files. */
uint32_t assay_device_row(const assay_tables *t, uint32_t process, int64_t number);

/* Do two rows of device_time tell of one GPU, used by two processes? Ranks have one each, whatever
 * its number, and of unknown machines nobody knows. */
bool assay_same_gpu(const assay_run *run, uint32_t a, uint32_t b);
/* GPUs that rows of device_time tell of. */
size_t assay_gpus(const assay_run *run);

#endif

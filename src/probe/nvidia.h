/* NVML is started before the other probes and asked after them. */
#ifndef ASSAY_PROBE_NVIDIA_H
#define ASSAY_PROBE_NVIDIA_H

#include "probe/probe.h"

void assay_nvml_start(assay_ctx *c);

#endif

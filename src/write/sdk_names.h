/* What rocprofiler-sdk calls things, for the formats of its tools. */
#ifndef ASSAY_WRITE_SDK_NAMES_H
#define ASSAY_WRITE_SDK_NAMES_H

#include "model/run.h"

/* The domain of a call, by its name: HIP_RUNTIME_API_EXT, ...; CUDA_RUNTIME_API and
 * CUDA_DRIVER_API, which the SDK has not, for NVIDIA's. AMD's summaries group by the part before
 * the first _. */
const char *assay_sdk_domain(const assay_run *run, uint32_t host);

#endif

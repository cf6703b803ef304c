/* A thread that samples every GPU of the machine into a CSV file while something else runs. */
#ifndef ASSAY_PROBE_TELEMETRY_H
#define ASSAY_PROBE_TELEMETRY_H

#include <stdint.h>

#include <assay/assay.h>

typedef struct assay_sampler assay_sampler;

typedef struct assay_sampled {
	const char *from; /* "NVML", "AMD SMI", "sysfs", or NULL: no GPU to sample, no file made */
	uint32_t devices;
	uint64_t rows;
} assay_sampled;

/* root: where /sys is looked for, "" for the machine itself. Never NULL; a machine without a GPU
 * gives a sampler that does nothing. */
assay_sampler *assay_sampler_start(const char *csv, const char *root, int64_t period_ns);
/* Take a last sample, end the thread, free. */
assay_sampled assay_sampler_stop(assay_sampler *s);

#endif

/* What the telemetry sampler uses of NVML. Every function returns 0 for success; none of these
 * structs changed since NVML 2. */
#ifndef ASSAY_VENDOR_NVML_TELEMETRY_H
#define ASSAY_VENDOR_NVML_TELEMETRY_H

#include <assert.h>
#include <stdint.h>

typedef struct nvml_device *nvml_handle;

typedef struct nvml_utilization {
	unsigned gpu, memory; /* percent */
} nvml_utilization;

typedef struct nvml_memory {
	uint64_t total, free, used; /* bytes */
} nvml_memory;
static_assert(sizeof(nvml_memory) == 24, "nvmlMemory_t");

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };

typedef struct nvml_lib {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned index, nvml_handle *h);
	/* each of these may be NULL */
	int (*utilization)(nvml_handle h, nvml_utilization *u);
	int (*memory)(nvml_handle h, nvml_memory *m);
	int (*power)(nvml_handle h, unsigned *milliwatts);
	int (*clock)(nvml_handle h, int type, unsigned *mhz);
	int (*temperature)(nvml_handle h, int sensor, unsigned *celsius);
	int (*throttle)(nvml_handle h, unsigned long long *reasons);
	int (*energy)(nvml_handle h, unsigned long long *millijoules);
	int (*pcie)(nvml_handle h, int counter, unsigned *kilobytes_per_s); /* takes 20 ms */
} nvml_lib;

#define NVML_SYMBOLS(X)                                                                            \
	X(init, true, "nvmlInit_v2", "nvmlInit")                                                   \
	X(shutdown, true, "nvmlShutdown", NULL)                                                    \
	X(count, true, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                              \
	X(handle, true, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")             \
	X(utilization, false, "nvmlDeviceGetUtilizationRates", NULL)                               \
	X(memory, false, "nvmlDeviceGetMemoryInfo", NULL)                                          \
	X(power, false, "nvmlDeviceGetPowerUsage", NULL)                                           \
	X(clock, false, "nvmlDeviceGetClockInfo", NULL)                                            \
	X(temperature, false, "nvmlDeviceGetTemperature", NULL)                                    \
	X(throttle, false, "nvmlDeviceGetCurrentClocksEventReasons",                               \
	  "nvmlDeviceGetCurrentClocksThrottleReasons")                                             \
	X(energy, false, "nvmlDeviceGetTotalEnergyConsumption", NULL)                              \
	X(pcie, false, "nvmlDeviceGetPcieThroughput", NULL)

#endif

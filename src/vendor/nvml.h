/* The part of NVML's C API we call, declared from its public reference manual (libnvidia-ml.so.1).
 * Every function returns 0 for success; none of these structs changed since NVML 2. */
#ifndef ASSAY_VENDOR_NVML_H
#define ASSAY_VENDOR_NVML_H

#include <assert.h>
#include <stdint.h>

#include "vendor/dl.h"

typedef struct assay_nvml_handle *assay_nvml_device;

enum { ASSAY_NVML_TEXT = 96 };
enum { ASSAY_NVML_CLOCK_SM = 1, ASSAY_NVML_CLOCK_MEM = 2 };
enum { ASSAY_NVML_PCIE_TX = 0, ASSAY_NVML_PCIE_RX = 1 };

typedef struct assay_nvml_pci {
	char bus_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
} assay_nvml_pci;

typedef struct assay_nvml_memory {
	uint64_t total, free, used; /* bytes */
} assay_nvml_memory;
static_assert(sizeof(assay_nvml_memory) == 24, "nvmlMemory_t");

typedef struct assay_nvml_utilization {
	unsigned gpu, memory; /* percent */
} assay_nvml_utilization;

typedef struct assay_nvml_fabric {
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state; /* 0 none, 1 not started, 2 in progress, 3 complete */
} assay_nvml_fabric;
static_assert(sizeof(assay_nvml_fabric) == 28, "nvmlGpuFabricInfo_t");

/* X(member, parameters, must, symbol, older symbol). Members without must may be NULL. */
#define ASSAY_NVML(X)                                                                              \
	X(init, (void), true, "nvmlInit_v2", "nvmlInit")                                           \
	X(shutdown, (void), true, "nvmlShutdown", NULL)                                            \
	X(driver_version, (char *, unsigned), false, "nvmlSystemGetDriverVersion", NULL)           \
	X(nvml_version, (char *, unsigned), false, "nvmlSystemGetNVMLVersion", NULL)               \
	X(cuda_version, (int *), false, "nvmlSystemGetCudaDriverVersion_v2", NULL)                 \
	X(count, (unsigned *), true, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                \
	X(by_index, (unsigned, assay_nvml_device *), true, "nvmlDeviceGetHandleByIndex_v2",        \
	  "nvmlDeviceGetHandleByIndex")                                                            \
	X(name, (assay_nvml_device, char *, unsigned), false, "nvmlDeviceGetName", NULL)           \
	X(uuid, (assay_nvml_device, char *, unsigned), false, "nvmlDeviceGetUUID", NULL)           \
	X(serial, (assay_nvml_device, char *, unsigned), false, "nvmlDeviceGetSerial", NULL)       \
	X(vbios, (assay_nvml_device, char *, unsigned), false, "nvmlDeviceGetVbiosVersion", NULL)  \
	X(compute_capability, (assay_nvml_device, int *, int *), false,                            \
	  "nvmlDeviceGetCudaComputeCapability", NULL)                                              \
	X(mig, (assay_nvml_device, unsigned *, unsigned *), false, "nvmlDeviceGetMigMode", NULL)   \
	X(mig_most, (assay_nvml_device, unsigned *), false, "nvmlDeviceGetMaxMigDeviceCount",      \
	  NULL)                                                                                    \
	X(mig_device, (assay_nvml_device, unsigned, assay_nvml_device *), false,                   \
	  "nvmlDeviceGetMigDeviceHandleByIndex", NULL)                                             \
	X(ecc, (assay_nvml_device, int *, int *), false, "nvmlDeviceGetEccMode", NULL)             \
	X(persistence, (assay_nvml_device, int *), false, "nvmlDeviceGetPersistenceMode", NULL)    \
	X(compute_mode, (assay_nvml_device, int *), false, "nvmlDeviceGetComputeMode", NULL)       \
	X(memory, (assay_nvml_device, assay_nvml_memory *), false, "nvmlDeviceGetMemoryInfo",      \
	  NULL)                                                                                    \
	X(power_limit, (assay_nvml_device, unsigned *), false,                                     \
	  "nvmlDeviceGetPowerManagementLimit", NULL)                                               \
	X(pci, (assay_nvml_device, assay_nvml_pci *), false, "nvmlDeviceGetPciInfo_v3", NULL)      \
	X(link_width, (assay_nvml_device, unsigned *), false, "nvmlDeviceGetCurrPcieLinkWidth",    \
	  NULL)                                                                                    \
	X(utilization, (assay_nvml_device, assay_nvml_utilization *), false,                       \
	  "nvmlDeviceGetUtilizationRates", NULL)                                                   \
	X(power, (assay_nvml_device, unsigned *milliwatts), false, "nvmlDeviceGetPowerUsage",      \
	  NULL)                                                                                    \
	X(clock, (assay_nvml_device, int type, unsigned *mhz), false, "nvmlDeviceGetClockInfo",    \
	  NULL)                                                                                    \
	X(temperature, (assay_nvml_device, int sensor, unsigned *celsius), false,                  \
	  "nvmlDeviceGetTemperature", NULL)                                                        \
	X(throttle, (assay_nvml_device, unsigned long long *reasons), false,                       \
	  "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")   \
	X(energy, (assay_nvml_device, unsigned long long *millijoules), false,                     \
	  "nvmlDeviceGetTotalEnergyConsumption", NULL)                                             \
	X(max_clock, (assay_nvml_device, int type, unsigned *mhz), false,                          \
	  "nvmlDeviceGetMaxClockInfo", NULL)                                                       \
	X(application_clock, (assay_nvml_device, int type, unsigned *mhz), false,                  \
	  "nvmlDeviceGetApplicationsClock", NULL)                                                  \
	X(default_power_limit, (assay_nvml_device, unsigned *milliwatts), false,                   \
	  "nvmlDeviceGetPowerManagementDefaultLimit", NULL)                                        \
	X(pcie_max_generation, (assay_nvml_device, unsigned *), false,                             \
	  "nvmlDeviceGetMaxPcieLinkGeneration", NULL)                                              \
	X(pcie_max_width, (assay_nvml_device, unsigned *), false, "nvmlDeviceGetMaxPcieLinkWidth", \
	  NULL)                                                                                    \
	X(pcie_generation, (assay_nvml_device, unsigned *), false,                                 \
	  "nvmlDeviceGetCurrPcieLinkGeneration", NULL)                                             \
	X(ecc_errors, (assay_nvml_device, int uncorrected, int aggregate, unsigned long long *),   \
	  false, "nvmlDeviceGetTotalEccErrors", NULL)                                              \
	X(remapped_rows, (assay_nvml_device, unsigned *, unsigned *, unsigned *, unsigned *),      \
	  false, "nvmlDeviceGetRemappedRows", NULL)                                                \
	X(nvlink_state, (assay_nvml_device, unsigned link, int *active), false,                    \
	  "nvmlDeviceGetNvLinkState", NULL)                                                        \
	X(nvlink_version, (assay_nvml_device, unsigned link, unsigned *), false,                   \
	  "nvmlDeviceGetNvLinkVersion", NULL)                                                      \
	X(gsp_mode, (assay_nvml_device, unsigned *on, unsigned *by_default), false,                \
	  "nvmlDeviceGetGspFirmwareMode", NULL)                                                    \
	X(gsp_version, (assay_nvml_device, char *), false, "nvmlDeviceGetGspFirmwareVersion",      \
	  NULL)                                                                                    \
	X(fabric, (assay_nvml_device, assay_nvml_fabric *), false, "nvmlDeviceGetGpuFabricInfo",   \
	  NULL)                                                                                    \
	/* takes 20 ms */                                                                          \
	X(pcie, (assay_nvml_device, int counter, unsigned *kilobytes_per_s), false,                \
	  "nvmlDeviceGetPcieThroughput", NULL)

typedef struct assay_nvml {
#define X(member, parameters, must, symbol, older) int(*member) parameters;
	ASSAY_NVML(X)
#undef X
} assay_nvml;

#define X(member, parameters, must, symbol, older)                                                 \
	{{symbol, older}, offsetof(assay_nvml, member), must},
static const assay_sym assay_nvml_symbols[] = {ASSAY_NVML(X)};
#undef X

/* Fill api from an opened libnvidia-ml; false when a function we need is missing. */
static inline bool assay_nvml_bind(void *lib, assay_nvml *api)
{
	return !assay_dl_bind(lib, api, assay_nvml_symbols,
			      sizeof assay_nvml_symbols / sizeof *assay_nvml_symbols);
}

#endif

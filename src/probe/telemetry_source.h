/* Where samples come from: one const struct a library or file system, tried in the order of the
 * table in telemetry.c. */
#ifndef ASSAY_PROBE_TELEMETRY_SOURCE_H
#define ASSAY_PROBE_TELEMETRY_SOURCE_H

#include <stdint.h>

#include "base/arena.h"

/* X(column, header, decimals); columns and units are those of docs/formats/smi.md */
#define ASSAY_GPU_COLUMNS(X)                                                                       \
	X(UTIL, "util [%]", 0)                                                                     \
	X(MEM_UTIL, "mem_util [%]", 0)                                                             \
	X(MEM_USED, "mem_used [B]", 0)                                                             \
	X(MEM_TOTAL, "mem_total [B]", 0)                                                           \
	X(POWER, "power [W]", 3)                                                                   \
	X(CLOCK_GFX, "clock_gfx [MHz]", 0)                                                         \
	X(CLOCK_MEM, "clock_mem [MHz]", 0)                                                         \
	X(TEMP, "temp [C]", 0)                                                                     \
	X(TEMP_HOTSPOT, "temp_hotspot [C]", 0)                                                     \
	X(TEMP_MEM, "temp_mem [C]", 0)                                                             \
	X(THROTTLE, "throttle", 0)                                                                 \
	X(PCIE_TX, "pcie_tx [B/s]", 0)                                                             \
	X(PCIE_RX, "pcie_rx [B/s]", 0)                                                             \
	X(ENERGY, "energy [J]", 3)                                                                 \
	X(XGMI_TX, "xgmi_tx [B/s]", 0)                                                             \
	X(XGMI_RX, "xgmi_rx [B/s]", 0)

enum assay_gpu_column {
#define X(id, header, decimals) COL_##id,
	ASSAY_GPU_COLUMNS(X)
#undef X
		COL_COUNT
};

enum { ASSAY_GPUS_MAX = 64 };

typedef struct assay_gpu_source {
	const char *name;
	/* State in the arena, or NULL: not on this machine. root as for assay_sampler_start(). */
	void *(*open)(assay_arena *arena, const char *root, uint32_t *devices);
	/* Fill what is known of v[COL_COUNT], all NaN before; time in ns. */
	void (*sample)(void *state, uint32_t device, int64_t time, double *v);
	void (*close)(void *state); /* may be NULL */
} assay_gpu_source;

extern const assay_gpu_source assay_source_nvml, assay_source_amdsmi, assay_source_sysfs;

#endif

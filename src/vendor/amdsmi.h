/* The part of AMD SMI's C API we call (libamd_smi.so of ROCm 6.0 and newer), checked against its
 * headers by `make abi-check AMDSMI_INCLUDE=DIR`. Every function returns 0 for success.
 *
 * Most structs of this library change from release to release (amdsmi_power_info_t has had three
 * layouts), but amdsmi_gpu_metrics_t only grows: what follows is its beginning, the same in all. */
#ifndef ASSAY_VENDOR_AMDSMI_H
#define ASSAY_VENDOR_AMDSMI_H

#include <assert.h>
#include <stdint.h>

#include "vendor/dl.h"

enum {
	ASSAY_AMDSMI_GPUS = 2,     /* for init */
	ASSAY_AMDSMI_TYPE_GPU = 1, /* of a processor */
	ASSAY_AMDSMI_VRAM = 0,     /* of memory */
	ASSAY_AMDSMI_XGMI_LINKS = 8,
	ASSAY_AMDSMI_XCDS = 8,
};

/* A value that the GPU does not tell has all bits set. */
typedef struct assay_amdsmi_metrics {
	uint32_t header;
	uint16_t temperature_edge, temperature_hotspot, temperature_mem; /* Celsius */
	uint16_t temperature_vrgfx, temperature_vrsoc, temperature_vrmem;
	uint16_t average_gfx_activity, average_umc_activity, average_mm_activity; /* percent */
	uint16_t average_socket_power;                                            /* watts */
	uint64_t energy_accumulator;                                              /* 2^-16 J */
	uint64_t system_clock_counter;
	uint16_t average_clocks[7];
	uint16_t current_gfxclk, current_socclk, current_uclk; /* MHz */
	uint16_t current_other[4];
	uint32_t throttle_status; /* bits differ between GPUs */
	uint16_t current_fan_speed, pcie_link_width, pcie_link_speed, pad1;
	uint32_t gfx_activity_acc, mem_activity_acc;
	uint16_t temperature_hbm[4];
	uint64_t firmware_timestamp;
	uint16_t voltage_soc, voltage_gfx, voltage_mem, pad2;
	uint64_t indep_throttle_status; /* ASSAY_AMDSMI_THROTTLED_* and more */
	uint16_t current_socket_power;  /* watts */
	uint16_t vcn_activity[4], pad3;
	uint32_t gfxclk_lock_status;
	uint16_t xgmi_link_width, xgmi_link_speed;
	uint32_t pad4;
	/* GB/s in one place of the vendor's documents, MB/s and Mb/s in others: not used */
	uint64_t pcie_bandwidth_acc, pcie_bandwidth_inst;
	uint64_t pcie_l0_to_recov_count_acc, pcie_replay_count_acc, pcie_replay_rover_count_acc;
	uint64_t xgmi_read_data_acc[ASSAY_AMDSMI_XGMI_LINKS];  /* KB */
	uint64_t xgmi_write_data_acc[ASSAY_AMDSMI_XGMI_LINKS]; /* KB */
	uint16_t current_gfxclks[ASSAY_AMDSMI_XCDS];
	uint16_t current_clks[12];
	/* ROCm 6.0 ends here, 6.1 and 6.2 after the next three */
	uint16_t jpeg_activity[32];
	uint32_t pcie_nak_sent_count_acc, pcie_nak_rcvd_count_acc;
	/* time spent slowed down, in ticks of the counter */
	uint64_t accumulation_counter;
	uint64_t prochot_residency_acc, ppt_residency_acc, socket_thm_residency_acc,
		vr_thm_residency_acc, hbm_thm_residency_acc;
} assay_amdsmi_metrics;
static_assert(offsetof(assay_amdsmi_metrics, indep_throttle_status) == 112, "metrics");
static_assert(offsetof(assay_amdsmi_metrics, current_gfxclks) == 312, "metrics");
static_assert(sizeof(assay_amdsmi_metrics) == 472, "metrics");

/* What the library may write: 4,544 bytes in ROCm 7.0, and growing. */
typedef union assay_amdsmi_room {
	assay_amdsmi_metrics metrics;
	uint8_t bytes[65536];
} assay_amdsmi_room;

/* Bits of indep_throttle_status, numbered by the amdgpu driver (SMU_THROTTLER_*). */
enum {
	ASSAY_AMDSMI_THROTTLED_POWER = 0,
	ASSAY_AMDSMI_THROTTLED_HOT_GPU = 32,
	ASSAY_AMDSMI_THROTTLED_HOT_MEM = 34,
	ASSAY_AMDSMI_THROTTLED_HOT_VR = 38,
	ASSAY_AMDSMI_THROTTLED_PROCHOT = 47,
};

typedef void *assay_amdsmi_handle;

/* X(member, parameters, must, symbol) */
#define ASSAY_AMDSMI(X)                                                                            \
	X(init, (uint64_t flags), true, amdsmi_init)                                               \
	X(shut_down, (void), true, amdsmi_shut_down)                                               \
	X(sockets, (uint32_t * n, assay_amdsmi_handle *), true, amdsmi_get_socket_handles)         \
	X(processors, (assay_amdsmi_handle socket, uint32_t * n, assay_amdsmi_handle *), true,     \
	  amdsmi_get_processor_handles)                                                            \
	X(type, (assay_amdsmi_handle, int *), true, amdsmi_get_processor_type)                     \
	X(metrics, (assay_amdsmi_handle, void *), false, amdsmi_get_gpu_metrics_info)              \
	X(memory_total, (assay_amdsmi_handle, int kind, uint64_t *bytes), false,                   \
	  amdsmi_get_gpu_memory_total)                                                             \
	X(memory_used, (assay_amdsmi_handle, int kind, uint64_t *bytes), false,                    \
	  amdsmi_get_gpu_memory_usage)

typedef struct assay_amdsmi {
#define X(member, parameters, must, symbol) int(*member) parameters;
	ASSAY_AMDSMI(X)
#undef X
} assay_amdsmi;

#define X(member, parameters, must, symbol) {{#symbol}, offsetof(assay_amdsmi, member), must},
static const assay_sym assay_amdsmi_symbols[] = {ASSAY_AMDSMI(X)};
#undef X

/* Fill api from an opened libamd_smi; false when a function we need is missing. */
static inline bool assay_amdsmi_bind(void *lib, assay_amdsmi *api)
{
	return !assay_dl_bind(lib, api, assay_amdsmi_symbols,
			      sizeof assay_amdsmi_symbols / sizeof *assay_amdsmi_symbols);
}

#endif

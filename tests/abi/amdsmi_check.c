/* Compiled, never run: our declarations of AMD SMI beside its own header. usage: make abi-check
 * AMDSMI_INCLUDE=DIR */
#include <amd_smi/amdsmi.h>

#include "vendor/amdsmi.h"

#define SAME(field)                                                                                \
	static_assert(offsetof(amdsmi_gpu_metrics_t, field) ==                                     \
			      offsetof(assay_amdsmi_metrics, field),                               \
		      #field);                                                                     \
	static_assert(sizeof(((amdsmi_gpu_metrics_t *)0)->field) ==                                \
			      sizeof(((assay_amdsmi_metrics *)0)->field),                          \
		      #field " size");
SAME(temperature_edge)
SAME(temperature_hotspot)
SAME(temperature_mem)
SAME(average_gfx_activity)
SAME(average_umc_activity)
SAME(average_socket_power)
SAME(energy_accumulator)
SAME(current_gfxclk)
SAME(current_uclk)
SAME(throttle_status)
SAME(indep_throttle_status)
SAME(current_socket_power)
SAME(xgmi_read_data_acc)
SAME(xgmi_write_data_acc)
SAME(current_gfxclks)
/* 24.7 is ROCm 6.3 */
#if AMDSMI_LIB_VERSION_YEAR > 24 || (AMDSMI_LIB_VERSION_YEAR == 24 && AMDSMI_LIB_VERSION_MAJOR >= 7)
SAME(accumulation_counter)
SAME(prochot_residency_acc)
SAME(ppt_residency_acc)
SAME(socket_thm_residency_acc)
SAME(vr_thm_residency_acc)
SAME(hbm_thm_residency_acc)
#endif
static_assert(sizeof(amdsmi_gpu_metrics_t) <= sizeof(assay_amdsmi_room), "room");

static_assert((int)AMDSMI_INIT_AMD_GPUS == ASSAY_AMDSMI_GPUS, "init flag");
static_assert((int)AMDSMI_MEM_TYPE_VRAM == ASSAY_AMDSMI_VRAM, "memory");
static_assert(AMDSMI_STATUS_SUCCESS == 0, "status");
static_assert(sizeof(amdsmi_status_t) == sizeof(int), "status");
static_assert(sizeof(processor_type_t) == sizeof(int), "processor type");
static_assert(sizeof(amdsmi_memory_type_t) == sizeof(int), "memory type");
static_assert(AMDSMI_MAX_NUM_XGMI_LINKS == ASSAY_AMDSMI_XGMI_LINKS, "links");
static_assert(AMDSMI_MAX_NUM_GFX_CLKS == ASSAY_AMDSMI_XCDS, "clocks");
/* the names changed in 24.6, the numbers did not */
#if AMDSMI_LIB_VERSION_YEAR > 24 || (AMDSMI_LIB_VERSION_YEAR == 24 && AMDSMI_LIB_VERSION_MAJOR >= 6)
static_assert((int)AMDSMI_PROCESSOR_TYPE_AMD_GPU == ASSAY_AMDSMI_TYPE_GPU, "type");
#else
static_assert((int)AMD_GPU == ASSAY_AMDSMI_TYPE_GPU, "type");
#endif

/* Signatures: assignments the compiler accepts without a cast. */
int assay_abi_checked(void);
int assay_abi_checked(void)
{
	amdsmi_status_t (*init)(uint64_t) = amdsmi_init;
	amdsmi_status_t (*shut_down)(void) = amdsmi_shut_down;
	amdsmi_status_t (*sockets)(uint32_t *, void **) = amdsmi_get_socket_handles;
	amdsmi_status_t (*processors)(void *, uint32_t *, void **) = amdsmi_get_processor_handles;
	amdsmi_status_t (*type)(void *, processor_type_t *) = amdsmi_get_processor_type;
	amdsmi_status_t (*metrics)(void *, amdsmi_gpu_metrics_t *) = amdsmi_get_gpu_metrics_info;
	amdsmi_status_t (*total)(void *, amdsmi_memory_type_t, uint64_t *) =
		amdsmi_get_gpu_memory_total;
	amdsmi_status_t (*used)(void *, amdsmi_memory_type_t, uint64_t *) =
		amdsmi_get_gpu_memory_usage;
	return init && shut_down && sockets && processors && type && metrics && total && used;
}

/* A libamd_smi.so with two GPUs on two sockets and a CPU between them, for machines that have none.
 * GPU 0 is like an MI300: clocks of parts, counters instead of a throttle word; GPU 1 like a Navi.
 * FAKE_AMDSMI=BYTES is the size of the metrics that this release writes: 352 as ROCm 6.0, 424
 * as 6.2, 1832 as 6.3, 4544 as 7.0. FAKE_AMDSMI=fail makes the start fail. */
#include <stdlib.h>
#include <string.h>

#include "vendor/amdsmi.h"

#define EXPORT __attribute__((visibility("default")))

enum { CPU = 2, REFUSED = 34, NOT_SUPPORTED = 2 };

static char sockets[2], processors[2][2];

#define FN(name, args, body)                                                                       \
	EXPORT int name args;                                                                      \
	EXPORT int name args                                                                       \
	{                                                                                          \
		body;                                                                              \
		return 0;                                                                          \
	}

static const char *release(void)
{
	const char *v = getenv("FAKE_AMDSMI");
	return v ? v : "4544";
}

static int gpu_of(assay_amdsmi_handle h)
{
	return h == &processors[1][1];
}

FN(amdsmi_init, (uint64_t flags), if (flags != 2 || !strcmp(release(), "fail")) return REFUSED)
FN(amdsmi_shut_down, (void), )
FN(amdsmi_get_socket_handles, (uint32_t * n, assay_amdsmi_handle *h), *n = 2; h[0] = &sockets[0];
   h[1] = &sockets[1])
FN(amdsmi_get_processor_type, (assay_amdsmi_handle h, int *type),
   *type = h == &processors[1][0] ? CPU : ASSAY_AMDSMI_TYPE_GPU)
FN(amdsmi_get_gpu_memory_total, (assay_amdsmi_handle h, int kind, uint64_t *bytes),
   if (kind != ASSAY_AMDSMI_VRAM) return NOT_SUPPORTED;
   *bytes = gpu_of(h) ? 1 << 30 : 206141652992)
FN(amdsmi_get_gpu_memory_usage, (assay_amdsmi_handle h, int kind, uint64_t *bytes),
   if (kind != ASSAY_AMDSMI_VRAM || gpu_of(h)) return NOT_SUPPORTED;
   *bytes = 1048576)

EXPORT int amdsmi_get_processor_handles(assay_amdsmi_handle socket, uint32_t *n,
					assay_amdsmi_handle *h);
EXPORT int amdsmi_get_processor_handles(assay_amdsmi_handle socket, uint32_t *n,
					assay_amdsmi_handle *h)
{
	int second = socket == &sockets[1];
	*n = second ? 2 : 1;
	h[0] = &processors[second][0];
	if (second)
		h[1] = &processors[1][1];
	return 0;
}

static void be_mi300(assay_amdsmi_metrics *m)
{
	static uint64_t calls;
	calls++;
	m->temperature_hotspot = 61;
	m->temperature_mem = 50;
	m->average_gfx_activity = 97;
	m->average_umc_activity = 41;
	m->energy_accumulator = 65536 * 1000;
	m->current_uclk = 1300;
	m->current_socket_power = 746;
	for (int i = 0; i < ASSAY_AMDSMI_XCDS; i++)
		m->current_gfxclks[i] = (uint16_t)(2100 - 10 * (i & 1));
	for (int i = 0; i < ASSAY_AMDSMI_XGMI_LINKS - 1; i++) {
		m->xgmi_read_data_acc[i] = 1000 * calls;
		m->xgmi_write_data_acc[i] = 5;
	}
	m->prochot_residency_acc = m->socket_thm_residency_acc = m->vr_thm_residency_acc = 3;
	m->hbm_thm_residency_acc = 0;
	m->ppt_residency_acc = 7 * calls;
}

static void be_navi(assay_amdsmi_metrics *m)
{
	m->temperature_edge = 44;
	m->temperature_hotspot = 48;
	m->average_gfx_activity = 3;
	m->average_socket_power = 25;
	m->current_gfxclk = 500;
	m->current_uclk = 96;
	m->indep_throttle_status = 1ull << 36;
}

EXPORT int amdsmi_get_gpu_metrics_info(assay_amdsmi_handle h, void *out);
EXPORT int amdsmi_get_gpu_metrics_info(assay_amdsmi_handle h, void *out)
{
	static assay_amdsmi_room room;
	memset(&room, 0xff, sizeof room);
	if (gpu_of(h))
		be_navi(&room.metrics);
	else
		be_mi300(&room.metrics);
	memcpy(out, &room, (size_t)atoi(release()));
	return 0;
}

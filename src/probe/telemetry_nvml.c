/* Samples by NVML. */
#include <dlfcn.h>

#include "probe/telemetry_source.h"
#include "vendor/nvml.h"

enum { PCIE_DEVICES_MAX = 2 };

typedef struct nvml_state {
	void *so;
	assay_nvml api;
	assay_nvml_device handle[ASSAY_GPUS_MAX];
	uint32_t devices;
} nvml_state;

static void close_nvml(void *state)
{
	nvml_state *s = state;
	if (s->api.shutdown)
		s->api.shutdown();
	dlclose(s->so);
}

static bool find_devices(nvml_state *s)
{
	unsigned n = 0;
	if (!assay_nvml_bind(s->so, &s->api) || s->api.init() || s->api.count(&n))
		return false;
	for (unsigned i = 0; i < n && s->devices < ASSAY_GPUS_MAX; i++)
		if (s->api.by_index(i, &s->handle[s->devices]) == 0)
			s->devices++;
	return s->devices > 0;
}

static void *open_nvml(assay_arena *arena, const char *root, uint32_t *devices)
{
	void *so = *root ? NULL : dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return NULL;
	nvml_state *s = assay_alloc(arena, sizeof *s);
	s->so = so;
	if (!find_devices(s)) {
		close_nvml(s);
		return NULL;
	}
	*devices = s->devices;
	return s;
}

static void sample_nvml(void *state, uint32_t i, int64_t time, double *v)
{
	(void)time;
	const nvml_state *s = state;
	const assay_nvml *n = &s->api;
	assay_nvml_device h = s->handle[i];
	assay_nvml_utilization u;
	assay_nvml_memory m;
	unsigned x;
	unsigned long long w;
	if (n->utilization && !n->utilization(h, &u)) {
		v[COL_UTIL] = u.gpu;
		v[COL_MEM_UTIL] = u.memory;
	}
	if (n->memory && !n->memory(h, &m)) {
		v[COL_MEM_USED] = (double)m.used;
		v[COL_MEM_TOTAL] = (double)m.total;
	}
	if (n->power && !n->power(h, &x))
		v[COL_POWER] = x / 1e3;
	if (n->clock && !n->clock(h, ASSAY_NVML_CLOCK_SM, &x))
		v[COL_CLOCK_GFX] = x;
	if (n->clock && !n->clock(h, ASSAY_NVML_CLOCK_MEM, &x))
		v[COL_CLOCK_MEM] = x;
	if (n->temperature && !n->temperature(h, 0, &x))
		v[COL_TEMP] = x;
	if (n->throttle && !n->throttle(h, &w))
		v[COL_THROTTLE] = (double)w;
	if (n->energy && !n->energy(h, &w))
		v[COL_ENERGY] = (double)w / 1e3;
	if (s->devices > PCIE_DEVICES_MAX) /* 40 ms a device: more would outlast the period */
		return;
	if (n->pcie && !n->pcie(h, ASSAY_NVML_PCIE_TX, &x))
		v[COL_PCIE_TX] = x * 1e3;
	if (n->pcie && !n->pcie(h, ASSAY_NVML_PCIE_RX, &x))
		v[COL_PCIE_RX] = x * 1e3;
}

const assay_gpu_source assay_source_nvml = {
	.name = "NVML",
	.open = open_nvml,
	.sample = sample_nvml,
	.close = close_nvml,
};

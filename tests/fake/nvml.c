/* NVML of a machine with two GPUs that never change. */
#include "vendor/nvml_telemetry.h"

#define API __attribute__((visibility("default")))

struct nvml_device {
	unsigned index;
};
static struct nvml_device devices[2] = {{0}, {1}};

API int nvmlInit_v2(void)
{
	return 0;
}
API int nvmlShutdown(void)
{
	return 0;
}
API int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_handle *h)
{
	*h = &devices[i];
	return i > 1;
}
API int nvmlDeviceGetUtilizationRates(nvml_handle h, nvml_utilization *u)
{
	*u = (nvml_utilization){50 + h->index, 20};
	return 0;
}
API int nvmlDeviceGetMemoryInfo(nvml_handle h, nvml_memory *m)
{
	*m = (nvml_memory){1000000, 1000000 - h->index, h->index};
	return 0;
}
API int nvmlDeviceGetPowerUsage(nvml_handle h, unsigned *mw)
{
	*mw = 123456;
	return (int)h->index; /* the second one does not say */
}

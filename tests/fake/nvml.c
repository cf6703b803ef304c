/* A libnvidia-ml.so.1 with two GPUs, for machines that have none. FAKE_NVML=fail makes the start
 * fail, FAKE_NVML=hang makes it never return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vendor/nvml.h"

#define EXPORT __attribute__((visibility("default")))

static int is(const char *word)
{
	const char *v = getenv("FAKE_NVML");
	return v && !strcmp(v, word);
}

static int put(char *out, unsigned n, const char *text)
{
	snprintf(out, n, "%s", text);
	return 0;
}

static long index_of(assay_nvml_device d)
{
	return (char *)d - (char *)0 - 1;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	while (is("hang"))
		sleep(1);
	return is("fail") ? 9 : 0;
}

#define FN(name, args, body)                                                                       \
	EXPORT int name args;                                                                      \
	EXPORT int name args                                                                       \
	{                                                                                          \
		body;                                                                              \
		return 0;                                                                          \
	}

FN(nvmlShutdown, (void), )
FN(nvmlSystemGetDriverVersion, (char *o, unsigned n), put(o, n, "580.159.04"))
FN(nvmlSystemGetNVMLVersion, (char *o, unsigned n), put(o, n, "13.580.159.04"))
FN(nvmlSystemGetCudaDriverVersion_v2, (int *v), *v = 13000)
FN(nvmlDeviceGetCount_v2, (unsigned *n), *n = 2)
FN(nvmlDeviceGetHandleByIndex_v2, (unsigned i, assay_nvml_device *d),
   *d = (assay_nvml_device)((char *)0 + i + 1))
/* the second one has instances of MIG with the numbers 1 and 3 */
enum { INSTANCE = 100 };
static const char *const names[] = {"NVIDIA H200", "NVIDIA B200"};
FN(nvmlDeviceGetName, (assay_nvml_device d, char *o, unsigned n),
   put(o, n,
       index_of(d) < INSTANCE        ? names[index_of(d)]
       : index_of(d) == INSTANCE + 1 ? "NVIDIA B200 MIG 1g.23gb"
				     : "NVIDIA B200 MIG 3g.90gb"))
FN(nvmlDeviceGetUUID, (assay_nvml_device d, char *o, unsigned n),
   snprintf(o, n, "%s-%ld", index_of(d) < INSTANCE ? "GPU" : "MIG", index_of(d) % INSTANCE))
FN(nvmlDeviceGetMaxMigDeviceCount, (assay_nvml_device d, unsigned *n), (void)d; *n = 7)
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(assay_nvml_device d, unsigned i,
					       assay_nvml_device *o);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(assay_nvml_device d, unsigned i,
					       assay_nvml_device *o)
{
	*o = (assay_nvml_device)((char *)0 + INSTANCE + i + 1);
	return index_of(d) == 1 && (i == 1 || i == 3) ? 0 : 6;
}
FN(nvmlDeviceGetCudaComputeCapability, (assay_nvml_device d, int *a, int *b),
   *a = index_of(d) ? 10 : 9;
   *b = 0)
FN(nvmlDeviceGetMigMode, (assay_nvml_device d, unsigned *a, unsigned *b),
   *a = (unsigned)index_of(d);
   *b = 0)
FN(nvmlDeviceGetEccMode, (assay_nvml_device d, int *a, int *b), (void)d; *a = 1; *b = 1)
FN(nvmlDeviceGetPersistenceMode, (assay_nvml_device d, int *a), (void)d; *a = 0)
FN(nvmlDeviceGetMemoryInfo, (assay_nvml_device d, assay_nvml_memory *m), (void)d;
   m->total = 143771ull << 20; m->used = (uint64_t)index_of(d))
FN(nvmlDeviceGetPowerManagementLimit, (assay_nvml_device d, unsigned *v), (void)d; *v = 700000)
FN(nvmlDeviceGetUtilizationRates, (assay_nvml_device d, assay_nvml_utilization *u),
   *u = ((assay_nvml_utilization){50 + (unsigned)index_of(d), 20}))

/* the second one does not say */
EXPORT int nvmlDeviceGetPowerUsage(assay_nvml_device d, unsigned *mw);
EXPORT int nvmlDeviceGetPowerUsage(assay_nvml_device d, unsigned *mw)
{
	*mw = 123456;
	return (int)index_of(d);
}

FN(nvmlDeviceGetMaxClockInfo, (assay_nvml_device d, int type, unsigned *v), (void)d;
   *v = type == ASSAY_NVML_CLOCK_SM ? 1980 : 3201)
FN(nvmlDeviceGetNvLinkState, (assay_nvml_device d, unsigned link, int *up), (void)d;
   *up = link < 17)
FN(nvmlDeviceGetGspFirmwareVersion, (assay_nvml_device d, char *o), (void)d;
   put(o, 64, "580.159.04"))
FN(nvmlDeviceGetTotalEccErrors,
   (assay_nvml_device d, int uncorrected, int aggregate, unsigned long long *v), (void)d;
   *v = (unsigned)(uncorrected * 10 + aggregate))

/* the second one's rows cannot be remapped */
EXPORT int nvmlDeviceGetRemappedRows(assay_nvml_device d, unsigned *a, unsigned *b, unsigned *c,
				     unsigned *e);
EXPORT int nvmlDeviceGetRemappedRows(assay_nvml_device d, unsigned *a, unsigned *b, unsigned *c,
				     unsigned *e)
{
	*a = 1;
	*b = 2;
	*c = *e = 0;
	return index_of(d) ? 3 : 0;
}

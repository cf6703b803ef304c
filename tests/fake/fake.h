/* Between the fake driver and the fake CUPTI. */
#ifndef ASSAY_FAKE_H
#define ASSAY_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_KERNEL = 1, FAKE_COPY, FAKE_RECORD, FAKE_WAIT, FAKE_SYNC, FAKE_VALUE, FAKE_PEER };

typedef struct fake_work {
	int kind;
	uint32_t stream, event, graph;
	const char *name;
	uint64_t bytes;
	bool hangs;            /* never ends */
	unsigned ms;           /* so long after the call it ends */
	unsigned late_ms;      /* so long after the call it starts */
	const void *arguments; /* of the call, as the vendor lays them out; NULL: handles */
	bool loads;            /* the call first makes one of its own number: a library is loaded */
	bool stays;            /* the call itself does not come back */
	uint32_t takes_us;     /* it takes so long */
	uint64_t address;      /* of a value */
} fake_work;

/* cbids of the real CUPTI 13.0 */
enum {
	FAKE_cuDriverGetVersion = 2,
	FAKE_cuEventRecord = 119,
	FAKE_cuMemcpyHtoDAsync = 279,
	FAKE_cuLaunchKernel = 307,
	FAKE_cuStreamWaitValue32 = 659,
	FAKE_cuLibraryLoadData = 663,
	FAKE_cuStreamWriteValue64 = 665,
	FAKE_cuStreamBatchMemOp = 667,
	FAKE_cudaGetDevice = 17,
	FAKE_cudaMemcpyAsync = 41,
	FAKE_cudaStreamSynchronize = 131,
	FAKE_cudaEventRecord = 135,
	FAKE_cudaStreamWaitEvent = 147,
	FAKE_cudaDeviceSynchronize = 165,
	FAKE_cudaLaunchKernel = 211,
	FAKE_cudaGraphLaunch = 311,
	FAKE_cudaGraphAddEventRecordNode = 362,
	FAKE_cudaSignalExternalSemaphores = 393,
	FAKE_cudaLaunchKernelExC = 430,
	FAKE_cudaGraphInstantiate = 443,
	FAKE_cudaGraphAddChildGraphNode = 269,
	FAKE_cudaGraphExecEventRecordNodeSetEvent = 366,
	FAKE_cudaMalloc = 20,
	FAKE_cudaMallocAsync = 396,
	FAKE_cudaFreeAsync = 398,
};

/* Handles of the program; stream 7 is the null stream. */
static inline uint64_t fake_stream(uint32_t id)
{
	return id == 7 ? 0 : 0x1000 + id;
}
static inline uint64_t fake_event(uint32_t id)
{
	return 0x50000 + id * 0x40;
}

static inline const char *fake_call_name(int domain, uint32_t cbid)
{
	static const struct {
		int domain;
		uint32_t cbid;
		const char *name;
	} calls[] = {
		{1, FAKE_cuDriverGetVersion, "cuDriverGetVersion"},
		{1, FAKE_cuEventRecord, "cuEventRecord"},
		{1, FAKE_cuLaunchKernel, "cuLaunchKernel"},
		{1, FAKE_cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"},
		{1, FAKE_cuLibraryLoadData, "cuLibraryLoadData"},
		{1, FAKE_cuStreamWaitValue32, "cuStreamWaitValue32_v2"},
		{1, FAKE_cuStreamWriteValue64, "cuStreamWriteValue64_v2"},
		{1, FAKE_cuStreamBatchMemOp, "cuStreamBatchMemOp_v2"},
		{2, FAKE_cudaStreamSynchronize, "cudaStreamSynchronize_v3020"},
		{2, FAKE_cudaGetDevice, "cudaGetDevice_v3020"},
		{2, FAKE_cudaMemcpyAsync, "cudaMemcpyAsync_v3020"},
		{2, FAKE_cudaEventRecord, "cudaEventRecord_v3020"},
		{2, FAKE_cudaStreamWaitEvent, "cudaStreamWaitEvent_v3020"},
		{2, FAKE_cudaDeviceSynchronize, "cudaDeviceSynchronize_v3020"},
		{2, FAKE_cudaLaunchKernel, "cudaLaunchKernel_v7000"},
		{2, FAKE_cudaGraphLaunch, "cudaGraphLaunch_v10000"},
		{2, FAKE_cudaGraphAddEventRecordNode, "cudaGraphAddEventRecordNode_v11010"},
		{2, FAKE_cudaSignalExternalSemaphores, "cudaSignalExternalSemaphoresAsync_v11020"},
		{2, FAKE_cudaLaunchKernelExC, "cudaLaunchKernelExC_v11060"},
		{2, FAKE_cudaGraphInstantiate, "cudaGraphInstantiate_v12000"},
		{2, FAKE_cudaGraphAddChildGraphNode, "cudaGraphAddChildGraphNode_v10000"},
		{2, FAKE_cudaGraphExecEventRecordNodeSetEvent,
		 "cudaGraphExecEventRecordNodeSetEvent_v11010"},
		{2, FAKE_cudaMalloc, "cudaMalloc_v3020"},
		{2, FAKE_cudaMallocAsync, "cudaMallocAsync_v11020"},
		{2, FAKE_cudaFreeAsync, "cudaFreeAsync_v11020"},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].domain == domain && calls[i].cbid == cbid)
			return calls[i].name;
	return NULL;
}

#endif

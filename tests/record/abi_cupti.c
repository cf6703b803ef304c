/* Compiled, never run: our declarations beside the vendor's own headers. Records that a release
 * numbered anew are compared in every numbering the headers carry; CUPTI_API_VERSION says since
 * when (18: CUDA 12.0, 20: 12.2, 21: 12.3, 22: 12.4, 23: 12.5, 24: 12.6, 26: 12.8, 130001: 13.0).
 * usage: make abi-check CUPTI_INCLUDE=DIR */
#include <cuda_runtime_api.h>
#include <cupti.h>

#include "vendor/cupti.h"

#define FIELD(theirs, their_field, ours, our_field)                                                \
	static_assert(offsetof(theirs, their_field) == offsetof(ours, our_field),                  \
		      #theirs "." #their_field);                                                   \
	static_assert(sizeof(((theirs *)0)->their_field) == sizeof(((ours *)0)->our_field),        \
		      #theirs "." #their_field " size");
#define SAME(theirs, ours, field) FIELD(theirs, field, ours, field)
/* SAME() for each of up to 27 fields. */
#define ALIKE(theirs, ours, ...) AGAIN(EACH(theirs, ours, __VA_ARGS__))
#define EACH(theirs, ours, field, ...)                                                             \
	SAME(theirs, ours, field) __VA_OPT__(NEXT NOTHING()(theirs, ours, __VA_ARGS__))
#define NEXT() EACH
#define NOTHING
#define AGAIN(...)   AGAIN3(AGAIN3(AGAIN3(__VA_ARGS__)))
#define AGAIN3(...)  AGAIN9(AGAIN9(AGAIN9(__VA_ARGS__)))
#define AGAIN9(...)  AGAIN27(AGAIN27(AGAIN27(__VA_ARGS__)))
#define AGAIN27(...) __VA_ARGS__

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_kernel, kind, registersPerThread, start, end, completed, deviceId,     \
	      contextId, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ,                    \
	      staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, correlationId,        \
	      gridId, name, queued, submitted, graphNodeId, graphId)
#if CUPTI_API_VERSION >= 130001
FIELDS(CUpti_ActivityKernel10)
#endif
FIELDS(CUpti_ActivityKernel9)
FIELDS(CUpti_ActivityKernel8)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_memcpy, kind, copyKind, srcKind, dstKind, flags, bytes, start, end,    \
	      deviceId, contextId, streamId, correlationId, graphNodeId, graphId)
#if CUPTI_API_VERSION >= 26
FIELDS(CUpti_ActivityMemcpy6)
#endif
FIELDS(CUpti_ActivityMemcpy5)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_memcpy_peer, kind, copyKind, srcKind, dstKind, flags, bytes, start,    \
	      end, deviceId, contextId, streamId, srcDeviceId, dstDeviceId, correlationId,         \
	      graphNodeId, graphId)
FIELDS(CUpti_ActivityMemcpyPtoP4)
FIELDS(CUpti_ActivityMemcpyPtoP3)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_memset, kind, value, bytes, start, end, deviceId, contextId, streamId, \
	      correlationId, flags, memoryKind, graphNodeId, graphId)
FIELDS(CUpti_ActivityMemset4)
FIELDS(CUpti_ActivityMemset3)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_api_record, kind, cbid, start, end, processId, threadId,               \
	      correlationId, returnValue)
FIELDS(CUpti_ActivityAPI)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_sync, kind, type, start, end, correlationId, contextId, streamId,      \
	      cudaEventId, cudaEventSyncId, returnValue)
#if CUPTI_API_VERSION >= 26
FIELDS(CUpti_ActivitySynchronization2)
#endif
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_sync, kind, type, start, end, correlationId, contextId, streamId,      \
	      cudaEventId)
FIELDS(CUpti_ActivitySynchronization)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_event, kind, correlationId, contextId, streamId, eventId, deviceId,    \
	      deviceTimestamp, cudaEventSyncId)
#if CUPTI_API_VERSION >= 26
FIELDS(CUpti_ActivityCudaEvent2)
#endif
#undef FIELDS

#define FIELDS(theirs) ALIKE(theirs, cupti_event, kind, correlationId, contextId, streamId, eventId)
FIELDS(CUpti_ActivityCudaEvent)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_device, kind, globalMemorySize, numThreadsPerWarp, numMultiprocessors, \
	      computeCapabilityMajor, computeCapabilityMinor, id, uuid, name)
#if CUPTI_API_VERSION >= 20
FIELDS(CUpti_ActivityDevice5)
#endif
FIELDS(CUpti_ActivityDevice4)
#undef FIELDS

#define FIELDS(theirs) ALIKE(theirs, cupti_context, kind, contextId, deviceId, nullStreamId)
#if CUPTI_API_VERSION >= 23
FIELDS(CUpti_ActivityContext3)
#endif
FIELDS(CUpti_ActivityContext)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_stream, kind, contextId, streamId, priority, flag, correlationId)
FIELDS(CUpti_ActivityStream)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_memory, kind, memoryOperationType, memoryKind, correlationId, address, \
	      bytes, timestamp, deviceId, contextId, streamId, name)                               \
	FIELD(theirs, memoryPoolConfig.address, cupti_memory, poolAddress)
#if CUPTI_API_VERSION >= 24
FIELDS(CUpti_ActivityMemory4)
#endif
FIELDS(CUpti_ActivityMemory3)
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_overhead, kind, overheadKind, objectKind, start, end, correlationId)   \
	FIELD(theirs, objectId.pt.threadId, cupti_overhead, threadId)
#if CUPTI_API_VERSION >= 22
FIELDS(CUpti_ActivityOverhead3)
#endif
#if CUPTI_API_VERSION >= 21
FIELDS(CUpti_ActivityOverhead2)
#endif
#undef FIELDS

#define FIELDS(theirs)                                                                             \
	ALIKE(theirs, cupti_graph, kind, correlationId, start, end, deviceId, graphId, contextId,  \
	      streamId)
#if CUPTI_API_VERSION >= 21
FIELDS(CUpti_ActivityGraphTrace2)
#endif
FIELDS(CUpti_ActivityGraphTrace)
#undef FIELDS

#define X(id, number) static_assert(CUPTI_ACTIVITY_KIND_##id == number, #id);
CUPTI_KINDS(X)
#undef X
static_assert((int)CUPTI_ERROR_MAX_LIMIT_REACHED == CUPTI_MAX_LIMIT, "end of a buffer");
static_assert((int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == CUPTI_MULTIPLE_SUBSCRIBERS,
	      "subscriber");
static_assert((int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == CUPTI_FLUSH_FORCED, "flush");
static_assert((int)CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM == CUPTI_THREAD_ID_SYSTEM, "thread id");
static_assert((int)CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == CUPTI_ATTR_ZEROED_OUT_BUFFER,
	      "attribute");
#if CUPTI_API_VERSION >= 21
static_assert((int)CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == CUPTI_ATTR_PER_THREAD_BUFFER,
	      "attribute");
#endif
static_assert((int)CUPTI_CB_DOMAIN_DRIVER_API == CUPTI_DOMAIN_DRIVER, "domain");
static_assert((int)CUPTI_CB_DOMAIN_RUNTIME_API == CUPTI_DOMAIN_RUNTIME, "domain");
static_assert((int)CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion == CUPTI_DRIVER_GET_VERSION,
	      "sentinel");
static_assert((int)CUPTI_ACTIVITY_OBJECT_THREAD == CUPTI_OBJECT_THREAD, "object kind");

/* Signatures: an assignment the compiler accepts without a cast, but for enums, which are ints to
 * us. */
static_assert(sizeof(CUptiResult) == sizeof(cupti_result), "result");
static_assert(sizeof(CUpti_ActivityKind) == sizeof(int), "enum");
static_assert(sizeof(CUpti_CallbackId) == sizeof(uint32_t), "callback id");
static CUpti_BuffersCallbackRequestFunc check_request(cupti_request_fn *f)
{
	return f;
}
static CUpti_BuffersCallbackCompleteFunc check_complete(void (*f)(CUcontext, uint32_t, uint8_t *,
								  size_t, size_t))
{
	return f;
}
int assay_abi_checked(void);
int assay_abi_checked(void)
{
	CUptiResult (*version)(uint32_t *) = cuptiGetVersion;
	CUptiResult (*flush)(uint32_t) = cuptiActivityFlushAll;
	CUptiResult (*dropped)(CUcontext, uint32_t, size_t *) = cuptiActivityGetNumDroppedRecords;
	CUptiResult (*runtime)(CUpti_CallbackId, uint8_t) = NULL;
	CUptiResult (*driver)(CUpti_CallbackId, uint8_t) = NULL;
	CUptiResult (*sync)(uint8_t) = NULL;
#if CUPTI_API_VERSION >= 23
	runtime = cuptiActivityEnableRuntimeApi;
	driver = cuptiActivityEnableDriverApi;
#endif
#if CUPTI_API_VERSION >= 26
	sync = cuptiActivityEnableAllSyncRecords;
#endif
	CUptiResult (*time)(CUpti_TimestampCallbackFunc) = cuptiActivityRegisterTimestampCallback;
	CUptiResult (*unsubscribe)(CUpti_SubscriberHandle) = cuptiUnsubscribe;
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) =
		cuptiSubscribe;
	return subscribe && unsubscribe && version && flush && dropped && runtime && driver &&
	       sync && time && !!check_request(0) + !!check_complete(0);
}

/* ---- callbacks: cuda_callback.c reads arguments by their places ---- */

SAME(CUpti_CallbackData, cupti_call, callbackSite)
SAME(CUpti_CallbackData, cupti_call, functionParams)
SAME(CUpti_CallbackData, cupti_call, functionReturnValue)
SAME(CUpti_CallbackData, cupti_call, context)
SAME(CUpti_CallbackData, cupti_call, contextUid)
SAME(CUpti_CallbackData, cupti_call, correlationId)
SAME(CUpti_ResourceData, cupti_resource, context)
FIELD(CUpti_ResourceData, resourceHandle.stream, cupti_resource, resourceHandle)
static_assert((int)CUPTI_STREAM_CREATED == CUPTI_CBID_RESOURCE_STREAM_CREATED &&
		      (int)CUPTI_STREAM_DESTROYED == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING &&
		      (int)CUPTI_DOMAIN_RESOURCE == CUPTI_CB_DOMAIN_RESOURCE &&
		      (int)CUPTI_ENTER == CUPTI_API_ENTER && (int)CUPTI_EXIT == CUPTI_API_EXIT,
	      "callbacks");

#define PLACE(call, member, at) PLACE_IN(call, member, at)
#define PLACE_IN(call, member, at)                                                                 \
	static_assert(offsetof(call##_params, member) == (at), #call "." #member);
PLACE(cudaEventRecord_v3020, event, 0)
PLACE(cudaEventRecord_v3020, stream, 8)
PLACE(cudaEventRecordWithFlags_v11010, stream, 8)
PLACE(cudaStreamWaitEvent_v3020, stream, 0)
PLACE(cudaStreamWaitEvent_v3020, event, 8)
PLACE(cudaEventSynchronize_v3020, event, 0)
PLACE(cudaEventQuery_v3020, event, 0)
PLACE(cudaStreamSynchronize_v3020, stream, 0)
PLACE(cudaStreamQuery_v3020, stream, 0)
PLACE(cudaEventCreate_v3020, event, 0)
PLACE(cudaEventCreateWithFlags_v3020, event, 0)
PLACE(cudaEventDestroy_v3020, event, 0)
PLACE(cudaStreamCreate_v3020, pStream, 0)
PLACE(cudaStreamCreateWithFlags_v5000, flags, 8)
PLACE(cudaStreamCreateWithPriority_v5050, flags, 8)
PLACE(cudaStreamDestroy_v5050, stream, 0)
PLACE(cudaStreamBeginCapture_v10000, stream, 0)
PLACE(cudaStreamEndCapture_v10000, stream, 0)
PLACE(cudaLaunchHostFunc_v10000, stream, 0)
PLACE(cudaStreamAddCallback_v5000, stream, 0)
PLACE(cudaIpcGetEventHandle_v4010, handle, 0)
PLACE(cudaIpcGetEventHandle_v4010, event, 8)
PLACE(cudaIpcOpenEventHandle_v4010, event, 0)
PLACE(cudaIpcOpenEventHandle_v4010, handle, 8)
PLACE(cuEventRecord, hEvent, 0)
PLACE(cuEventRecord, hStream, 8)
PLACE(cuStreamWaitEvent, hStream, 0)
PLACE(cuStreamWaitEvent, hEvent, 8)
PLACE(cuEventSynchronize, hEvent, 0)
PLACE(cuEventQuery, hEvent, 0)
PLACE(cuStreamSynchronize, hStream, 0)
PLACE(cuStreamQuery, hStream, 0)
PLACE(cuEventCreate, phEvent, 0)
PLACE(cuEventDestroy_v2, hEvent, 0)
PLACE(cuStreamCreate, phStream, 0)
PLACE(cuStreamCreateWithPriority, flags, 8)
PLACE(cuStreamDestroy_v2, hStream, 0)
PLACE(cuStreamBeginCapture_v2, hStream, 0)
PLACE(cuStreamEndCapture, hStream, 0)
PLACE(cuLaunchHostFunc, hStream, 0)
PLACE(cuStreamAddCallback, hStream, 0)
PLACE(cuStreamWaitValue32_v2, addr, 8)
PLACE(cuStreamWaitValue32_v2, value, 16)
PLACE(cuStreamWaitValue64_v2, value, 16)
PLACE(cuStreamWriteValue32_v2, addr, 8)
PLACE(cuStreamWriteValue32_v2, value, 16)
PLACE(cuStreamWaitValue32_v2, flags, 20)
PLACE(cuStreamWaitValue64_v2, flags, 24)
PLACE(cuStreamWriteValue32_v2, flags, 20)
PLACE(cuStreamWriteValue64_v2, flags, 24)
PLACE(cuStreamBatchMemOp_v2, stream, 0)
PLACE(cuStreamBatchMemOp_v2, count, 8)
PLACE(cuStreamBatchMemOp_v2, paramArray, 16)
PLACE(cudaEventRecordWithFlags_v11010, flags, 16)
PLACE(cudaStreamWaitEvent_v3020, flags, 16)
PLACE(cuEventRecordWithFlags, flags, 16)
PLACE(cuStreamWaitEvent, Flags, 16)
PLACE(cudaStreamEndCapture_v10000, pGraph, 8)
PLACE(cuStreamEndCapture, phGraph, 8)
PLACE(cudaGraphAddEventRecordNode_v11010, graph, 8)
PLACE(cudaGraphAddEventRecordNode_v11010, event, 32)
PLACE(cudaGraphAddEventWaitNode_v11010, event, 32)
PLACE(cuGraphAddEventRecordNode, event, 32)
PLACE(cuGraphAddEventWaitNode, hGraph, 8)
PLACE(cudaGraphAddChildGraphNode_v10000, graph, 8)
PLACE(cudaGraphAddChildGraphNode_v10000, childGraph, 32)
PLACE(cudaGraphExecEventRecordNodeSetEvent_v11010, event, 16)
PLACE(cudaGraphExecEventWaitNodeSetEvent_v11010, hNode, 8)
PLACE(cudaGraphExecUpdate_v10020, hGraph, 8)
PLACE(cudaMallocAsync_v11020, hStream, 16)
PLACE(cudaMallocFromPoolAsync_v11020, stream, 24)
PLACE(cudaFreeAsync_v11020, hStream, 8)
PLACE(cuMemAllocAsync, hStream, 16)
PLACE(cuMemAllocFromPoolAsync, hStream, 24)
PLACE(cuMemFreeAsync, hStream, 8)
PLACE(cudaGraphInstantiate_v12000, pGraphExec, 0)
PLACE(cudaGraphInstantiate_v12000, graph, 8)
PLACE(cudaGraphInstantiateWithFlags_v11040, graph, 8)
PLACE(cudaGraphInstantiateWithParams_v12000, graph, 8)
PLACE(cuGraphInstantiateWithFlags, hGraph, 8)
PLACE(cudaGraphLaunch_v10000, graphExec, 0)
PLACE(cudaGraphLaunch_v10000, stream, 8)
PLACE(cuGraphLaunch, hStream, 8)
PLACE(cudaLaunchKernelExC_v11060, config, 0)
PLACE(cuLaunchKernelEx, config, 0)
#if CUPTI_API_VERSION >= 130001
#define SIGNAL cudaSignalExternalSemaphoresAsync_v11020
#define WAIT   cudaWaitExternalSemaphoresAsync_v11020
#else
#define SIGNAL cudaSignalExternalSemaphoresAsync_v2_v11020
#define WAIT   cudaWaitExternalSemaphoresAsync_v2_v11020
#endif
PLACE(SIGNAL, extSemArray, 0)
PLACE(SIGNAL, paramsArray, 8)
PLACE(SIGNAL, numExtSems, 16)
PLACE(SIGNAL, stream, 24)
PLACE(WAIT, stream, 24)
PLACE(cuSignalExternalSemaphoresAsync, stream, 24)
PLACE(cuIpcGetEventHandle, pHandle, 0)
PLACE(cuIpcGetEventHandle, event, 8)
PLACE(cuIpcOpenEventHandle, phEvent, 0)
PLACE(cuIpcOpenEventHandle, handle, 8)

static_assert(sizeof(CUstreamBatchMemOpParams) == sizeof(cupti_word), "words");
FIELD(CUstreamBatchMemOpParams, waitValue.address, cupti_word, address)
FIELD(CUstreamBatchMemOpParams, waitValue.value64, cupti_word, value)
FIELD(CUstreamBatchMemOpParams, waitValue.flags, cupti_word, flags)
static_assert((int)CUPTI_WORD_WAIT_32 == CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
		      (int)CUPTI_WORD_WRITE_32 == CU_STREAM_MEM_OP_WRITE_VALUE_32 &&
		      (int)CUPTI_WORD_WAIT_64 == CU_STREAM_MEM_OP_WAIT_VALUE_64 &&
		      (int)CUPTI_WORD_WRITE_64 == CU_STREAM_MEM_OP_WRITE_VALUE_64,
	      "kinds of words");
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) == CUPTI_FENCE_BYTES &&
		      sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) == CUPTI_FENCE_BYTES &&
		      !offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.fence.value) &&
		      !offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.fence.value),
	      "semaphores");
static_assert(sizeof(CUlaunchConfig) == sizeof(cupti_launch_config) &&
		      sizeof(CUlaunchAttribute) == sizeof(cupti_launch_attribute),
	      "launches");
FIELD(CUlaunchConfig, hStream, cupti_launch_config, stream)
FIELD(CUlaunchConfig, attrs, cupti_launch_config, attributes)
FIELD(CUlaunchConfig, numAttrs, cupti_launch_config, n)
FIELD(CUlaunchAttribute, value.programmaticEvent.event, cupti_launch_attribute, event)
static_assert((int)CUPTI_LAUNCH_PROGRAMMATIC_EVENT == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
		      (int)CUPTI_LAUNCH_COMPLETION_EVENT ==
			      CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
	      "events of launches");
FIELD(cudaLaunchConfig_t, stream, cupti_launch_config, stream)
FIELD(cudaLaunchConfig_t, attrs, cupti_launch_config, attributes)
FIELD(cudaLaunchConfig_t, numAttrs, cupti_launch_config, n)

/* What we use of CUPTI, in our own words: fields by name and place, checked against the headers of
 * CUDA 12.0 to 13.4 (`make abi-check CUPTI_INCLUDE=DIR`). Vendors append fields and number the
 * structs; we read prefixes, so one declaration serves 12.x and 13.x. */
#ifndef ASSAY_VENDOR_CUPTI_H
#define ASSAY_VENDOR_CUPTI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef int cupti_result;

enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_MAX_LIMIT = 12, /* end of a buffer */
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_FLUSH_FORCED = 1,
	CUPTI_THREAD_ID_SYSTEM = 1,
	CUPTI_ATTR_ZEROED_OUT_BUFFER = 5,
	CUPTI_ATTR_PER_THREAD_BUFFER = 9,
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_STREAM_CREATED = 3, /* callback ids of that domain */
	CUPTI_STREAM_DESTROYED = 4,
	CUPTI_ENTER = 0,
	CUPTI_EXIT = 1,
	CUPTI_DRIVER_GET_VERSION = 2, /* callback id of cuDriverGetVersion */
	CUPTI_OBJECT_THREAD = 2,
	CUPTI_CBID_MAX = 2000, /* above every callback id of 13.x */
};

/* X(NAME, number) */
#define CUPTI_KINDS(X)                                                                             \
	X(MEMCPY, 1)                                                                               \
	X(MEMSET, 2)                                                                               \
	X(DRIVER, 4)                                                                               \
	X(RUNTIME, 5)                                                                              \
	X(DEVICE, 8)                                                                               \
	X(CONTEXT, 9)                                                                              \
	X(CONCURRENT_KERNEL, 10)                                                                   \
	X(OVERHEAD, 17)                                                                            \
	X(MEMCPY2, 22)                                                                             \
	X(CUDA_EVENT, 36)                                                                          \
	X(STREAM, 37)                                                                              \
	X(SYNCHRONIZATION, 38)                                                                     \
	X(MEMORY2, 49)                                                                             \
	X(GRAPH_TRACE, 51)
enum cupti_kind {
#define X(id, number) CUPTI_##id = number,
	CUPTI_KINDS(X)
#undef X
};

#define CUPTI_PACKED __attribute__((__packed__, __aligned__(8)))

typedef struct CUPTI_PACKED cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registersPerThread;
	uint32_t partitioned[2];
	uint64_t start, end, completed;
	uint32_t deviceId, contextId, streamId;
	int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
	int32_t staticSharedMemory, dynamicSharedMemory;
	uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
	int64_t gridId;
	const char *name;
	void *reserved0;
	uint64_t queued, submitted;
	uint8_t launch[4];
	uint32_t sharedMemoryExecuted;
	uint64_t graphNodeId;
	uint32_t shmemLimitConfig, graphId;
} cupti_kernel;

typedef struct CUPTI_PACKED cupti_memcpy {
	uint32_t kind;
	uint8_t copyKind, srcKind, dstKind, flags;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
} cupti_memcpy;

typedef struct CUPTI_PACKED cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copyKind, srcKind, dstKind, flags;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId;
	uint32_t srcDeviceId, srcContextId, dstDeviceId, dstContextId, correlationId;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
} cupti_memcpy_peer;

typedef struct CUPTI_PACKED cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId;
	uint16_t flags, memoryKind;
	uint32_t pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
} cupti_memset;

typedef struct CUPTI_PACKED cupti_api_record {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t processId, threadId, correlationId, returnValue;
} cupti_api_record;

/* cudaEventSyncId and returnValue since 12.8 */
typedef struct CUPTI_PACKED cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlationId, contextId, streamId, cudaEventId;
	uint64_t cudaEventSyncId;
	uint32_t returnValue, pad;
} cupti_sync;

/* deviceId and what follows since 12.8 */
typedef struct CUPTI_PACKED cupti_event {
	uint32_t kind, correlationId, contextId, streamId, eventId, pad;
	uint32_t deviceId, pad2;
	void *reserved0;
	uint64_t deviceTimestamp, cudaEventSyncId;
} cupti_event;

typedef struct CUPTI_PACKED cupti_device {
	uint32_t kind, flags;
	uint64_t globalMemoryBandwidth, globalMemorySize;
	uint32_t constantMemorySize, l2CacheSize, numThreadsPerWarp, coreClockRate,
		numMemcpyEngines, numMultiprocessors, limits[14], computeCapabilityMajor,
		computeCapabilityMinor, id, eccEnabled;
	uint8_t uuid[16];
	const char *name;
} cupti_device;

typedef struct CUPTI_PACKED cupti_context {
	uint32_t kind, contextId, deviceId;
	uint16_t computeApiKind, nullStreamId;
} cupti_context;

typedef struct CUPTI_PACKED cupti_stream {
	uint32_t kind, contextId, streamId, priority, flag, correlationId;
} cupti_stream;

typedef struct CUPTI_PACKED cupti_memory {
	uint32_t kind, memoryOperationType, memoryKind, correlationId;
	uint64_t address, bytes, timestamp, PC;
	uint32_t processId, deviceId, contextId, streamId;
	const char *name;
	uint32_t isAsync, pad1;
	uint32_t poolType, pad2;
	uint64_t poolAddress;
} cupti_memory;

typedef struct CUPTI_PACKED cupti_overhead {
	uint32_t kind, overheadKind, objectKind, processId, threadId, pad;
	uint64_t start, end;
	uint32_t correlationId, reserved0;
} cupti_overhead;

typedef struct cupti_graph {
	uint32_t kind, correlationId;
	uint64_t start, end;
	uint32_t deviceId, graphId, contextId, streamId;
} cupti_graph;

/* What a callback gets of a call. */
typedef struct cupti_call {
	int callbackSite;
	const char *functionName;
	const void *functionParams; /* its arguments, one after the other, aligned as in C */
	const void *functionReturnValue;
	const char *symbolName;
	void *context;
	uint32_t contextUid;
	uint64_t *correlationData;
	uint32_t correlationId;
} cupti_call;

typedef struct cupti_resource {
	void *context, *resourceHandle, *resourceDescriptor;
} cupti_resource;

/* What one entry of cuStreamBatchMemOp does. */
enum {
	CUPTI_WORD_WAIT_32 = 1,
	CUPTI_WORD_WRITE_32 = 2,
	CUPTI_WORD_WAIT_64 = 4,
	CUPTI_WORD_WRITE_64 = 5,
	CUPTI_WORD_KINDS,
};
typedef struct cupti_word {
	uint32_t kind;
	uint64_t address;
	uint64_t value; /* the lower half of it for 32 bits */
	uint32_t flags;
	uint64_t alias, pad;
} cupti_word;

/* Of an external semaphore's parameters, whose first eight bytes are the value. */
enum { CUPTI_FENCE_BYTES = 144 };

/* cudaLaunchConfig_t and CUlaunchConfig, as far as they agree. */
enum { CUPTI_LAUNCH_PROGRAMMATIC_EVENT = 7, CUPTI_LAUNCH_COMPLETION_EVENT = 12 };
typedef struct cupti_launch_attribute {
	uint32_t id;
	uint64_t event;
	char rest[56];
} cupti_launch_attribute;
typedef struct cupti_launch_config {
	char sizes[32];
	void *stream;
	const cupti_launch_attribute *attributes;
	uint32_t n;
} cupti_launch_config;

static_assert(offsetof(cupti_kernel, correlationId) == 92, "CUpti_ActivityKernel10");
static_assert(offsetof(cupti_kernel, name) == 104, "CUpti_ActivityKernel10");
static_assert(offsetof(cupti_kernel, graphNodeId) == 144, "CUpti_ActivityKernel10");
static_assert(offsetof(cupti_kernel, graphId) == 156, "CUpti_ActivityKernel10");
static_assert(offsetof(cupti_memcpy, graphNodeId) == 64, "CUpti_ActivityMemcpy6");
static_assert(offsetof(cupti_memset, graphNodeId) == 64, "CUpti_ActivityMemset4");
static_assert(sizeof(cupti_api_record) == 40, "CUpti_ActivityAPI");
static_assert(sizeof(cupti_sync) == 56, "CUpti_ActivitySynchronization2");
static_assert(sizeof(cupti_event) == 56, "CUpti_ActivityCudaEvent2");
static_assert(sizeof(cupti_stream) == 24, "CUpti_ActivityStream");

typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid);
typedef uint64_t cupti_time_fn(void);
typedef void cupti_callback_fn(void *data, int domain, uint32_t cbid, const void *info);

typedef struct cupti_lib {
	cupti_result (*get_version)(uint32_t *version);
	cupti_result (*enable)(int kind);
	cupti_result (*enable_and_dump)(int kind); /* may be NULL: 11.8 and older */
	cupti_result (*disable)(int kind);
	cupti_result (*register_callbacks)(cupti_request_fn *request, cupti_complete_fn *complete);
	cupti_result (*next_record)(uint8_t *buffer, size_t valid, void **record);
	cupti_result (*dropped)(void *context, uint32_t stream, size_t *n);
	cupti_result (*flush_all)(uint32_t flag);
	cupti_result (*callback_name)(int domain, uint32_t cbid, const char **name);
	/* each of these may be NULL: calls one by one since 12.5, all_sync since 12.8 */
	cupti_result (*enable_runtime_api)(uint32_t cbid, uint8_t on);
	cupti_result (*enable_driver_api)(uint32_t cbid, uint8_t on);
	cupti_result (*enable_all_sync)(uint8_t on);
	cupti_result (*set_attribute)(int attribute, size_t *size, void *value);
	cupti_result (*set_thread_id_type)(int type);
	cupti_result (*register_time)(cupti_time_fn *fn);
	cupti_result (*subscribe)(void **subscriber, cupti_callback_fn *callback, void *data);
	cupti_result (*unsubscribe)(void *subscriber);
	cupti_result (*enable_callback)(uint32_t on, void *subscriber, int domain, uint32_t cbid);
	cupti_result (*enable_domain)(uint32_t on, void *subscriber, int domain);
	cupti_result (*enable_all_domains)(uint32_t on, void *subscriber);
	cupti_result (*callback_state)(uint32_t *on, void *subscriber, int domain, uint32_t cbid);
	cupti_result (*get_stream_id)(void *context, void *stream, uint8_t per_thread,
				      uint32_t *id);
	cupti_result (*get_context_id)(void *context, uint32_t *id);
} cupti_lib;

#define CUPTI_SYMBOLS(X)                                                                           \
	X(get_version, true, "cuptiGetVersion")                                                    \
	X(enable, true, "cuptiActivityEnable")                                                     \
	X(enable_and_dump, false, "cuptiActivityEnableAndDump")                                    \
	X(disable, true, "cuptiActivityDisable")                                                   \
	X(register_callbacks, true, "cuptiActivityRegisterCallbacks")                              \
	X(next_record, true, "cuptiActivityGetNextRecord")                                         \
	X(dropped, true, "cuptiActivityGetNumDroppedRecords")                                      \
	X(flush_all, true, "cuptiActivityFlushAll")                                                \
	X(callback_name, true, "cuptiGetCallbackName")                                             \
	X(enable_runtime_api, false, "cuptiActivityEnableRuntimeApi")                              \
	X(enable_driver_api, false, "cuptiActivityEnableDriverApi")                                \
	X(enable_all_sync, false, "cuptiActivityEnableAllSyncRecords")                             \
	X(set_attribute, false, "cuptiActivitySetAttribute")                                       \
	X(set_thread_id_type, false, "cuptiSetThreadIdType")                                       \
	X(register_time, false, "cuptiActivityRegisterTimestampCallback")                          \
	X(subscribe, false, "cuptiSubscribe")                                                      \
	X(unsubscribe, false, "cuptiUnsubscribe")                                                  \
	X(enable_callback, false, "cuptiEnableCallback")                                           \
	X(enable_domain, false, "cuptiEnableDomain")                                               \
	X(enable_all_domains, false, "cuptiEnableAllDomains")                                      \
	X(callback_state, false, "cuptiGetCallbackState")                                          \
	X(get_stream_id, false, "cuptiGetStreamIdEx")                                              \
	X(get_context_id, false, "cuptiGetContextId")

#endif

/* Kinds and operations of rocprofiler-sdk by version: their names and numbers, and the functions
 * that tell them. */
#ifndef ASSAY_FAKE_ROCPROF_NAMES_H
#define ASSAY_FAKE_ROCPROF_NAMES_H

#include <stdint.h>
#include <string.h>

#include "vendor/rocprof.h"

#define API __attribute__((visibility("default")))

enum {
	NOT_FOUND = 2,
	RUNTIME = 5,
	COMPILER = 6,
	MARKER = 7,
	NAMING = 9,
	CODE = 10,
	RCCL = 14,
	STREAM = 20,
	RANGE = 21,
	GRAPH = 22,
	ENQUEUE = 1, /* operations of a kernel */
	COMPLETE = 2,
};

static struct {
	uint32_t version, shift; /* numbers are so much higher than usual */
} numbers;

typedef struct named {
	int number;
	uint32_t from, until; /* versions that have it */
	const char *name;
} named;

static const named callback_kinds[] = {
	{1, 0, -1u, "HSA_CORE_API"},
	{RUNTIME, 0, -1u, "HIP_RUNTIME_API"},
	{COMPILER, 0, -1u, "HIP_COMPILER_API"},
	{MARKER, 0, -1u, "MARKER_CORE_API"},
	{8, 0, -1u, "MARKER_CONTROL_API"},
	{NAMING, 0, -1u, "MARKER_NAME_API"},
	{CODE, 0, -1u, "CODE_OBJECT"},
	{11, 0, -1u, "SCRATCH_MEMORY"},
	{12, 0, -1u, "KERNEL_DISPATCH"},
	{13, 0, -1u, "MEMORY_COPY"},
	{RCCL, 500, -1u, "RCCL_API"},
	{16, 600, -1u, "MEMORY_ALLOCATION"},
	{STREAM, 10000, -1u, "HIP_STREAM"},
	{RANGE, 10000, -1u, "MARKER_CORE_RANGE_API"},
	{GRAPH, 10300, -1u, "HIP_GRAPH"},
	{25, 10300, -1u, "HIP_EVENT"},
	{0, 0, 0, NULL},
};
enum { B_COPY = 10, B_KERNEL = 11, B_EVENT = 36 };
static const named buffer_kinds[] = {
	{B_COPY, 0, -1u, "MEMORY_COPY"},
	{B_KERNEL, 0, -1u, "KERNEL_DISPATCH"},
	{12, 0, 9999, "PAGE_MIGRATION"},
	{13, 0, 9999, "SCRATCH_MEMORY"},
	{14, 0, 9999, "CORRELATION_ID_RETIREMENT"},
	{17, 600, 9999, "MEMORY_ALLOCATION"},
	{12, 10000, -1u, "SCRATCH_MEMORY"},
	{13, 10000, -1u, "CORRELATION_ID_RETIREMENT"},
	{16, 10000, -1u, "MEMORY_ALLOCATION"},
	{B_EVENT, 10300, -1u, "HIP_EVENT"},
	{0, 0, 0, NULL},
};

/* Operation numbers of ROCm 6.2 to 7.0. */
static const named runtime_ops[] = {
	{66, 0, -1u, "hipDeviceSynchronize"},
	{76, 0, -1u, "hipEventCreate"},
	{78, 0, -1u, "hipEventDestroy"},
	{80, 0, -1u, "hipEventQuery"},
	{81, 0, -1u, "hipEventRecord"},
	{82, 0, -1u, "hipEventSynchronize"},
	{84, 0, -1u, "hipExtLaunchKernel"},
	{90, 0, -1u, "hipFree"},
	{100, 0, -1u, "hipGetLastError"},
	{159, 0, -1u, "hipGraphInstantiate"},
	{166, 0, -1u, "hipGraphLaunch"},
	{214, 0, -1u, "hipLaunchKernel"},
	{215, 0, -1u, "hipMalloc"},
	{259, 0, -1u, "hipMemcpy"},
	{268, 0, -1u, "hipMemcpyAsync"},
	{270, 0, -1u, "hipMemcpyAnew3DAsync"}, /* a call nobody heard of, with a stream */
	{327, 0, -1u, "hipSetDevice"},
	{333, 0, -1u, "hipStreamBeginCapture"},
	{334, 0, -1u, "hipStreamCreate"},
	{336, 0, -1u, "hipStreamCreateWithPriority"},
	{337, 0, -1u, "hipStreamDestroy"},
	{338, 0, -1u, "hipStreamEndCapture"},
	{346, 0, -1u, "hipStreamSynchronize"},
	{348, 0, -1u, "hipStreamWaitEvent"},
	{349, 0, -1u, "hipStreamWaitValue32"},
	{350, 0, -1u, "hipStreamWaitValue64"},
	{351, 0, -1u, "hipStreamWriteValue32"},
	{352, 0, -1u, "hipStreamWriteValue64"},
	{419, 0, -1u, "hipLaunchKernel_spt"},
	{462, 500, -1u, "hipStreamBatchMemOp"},
	{474, 10000, -1u, "hipLaunchKernelExC"},
	{487, 10100, -1u, "hipMemcpyBatchAsync"},
	{0, 0, 0, NULL},
};
static const named compiler_ops[] = {{0, 0, -1u, "__hipPopCallConfiguration"},
				     {1, 0, -1u, "__hipPushCallConfiguration"},
				     {2, 0, -1u, "__hipRegisterFatBinary"},
				     {0, 0, 0, NULL}};
static const named rccl_ops[] = {{1, 0, -1u, "ncclAllReduce"},
				 {13, 0, -1u, "ncclGroupStart"},
				 {14, 0, -1u, "ncclGroupEnd"},
				 {15, 0, -1u, "ncclGetVersion"},
				 {0, 0, 0, NULL}};
static const named marker_ops[] = {{0, 0, -1u, "roctxMarkA"},
				   {1, 0, -1u, "roctxRangePushA"},
				   {2, 0, -1u, "roctxRangePop"},
				   {3, 0, -1u, "roctxRangeStartA"},
				   {4, 0, -1u, "roctxRangeStop"},
				   {5, 0, -1u, "roctxGetThreadId"},
				   {0, 0, 0, NULL}};
static const named range_ops[] = {{0, 0, -1u, "roctxMarkA"},
				  {1, 0, -1u, "roctxThreadRangeA"},
				  {2, 0, -1u, "roctxProcessRangeA"},
				  {3, 0, -1u, "roctxGetThreadId"},
				  {0, 0, 0, NULL}};
static const named naming_ops[] = {{0, 0, -1u, "roctxNameOsThread"}, {0, 0, 0, NULL}};
static const named code_ops[] = {{1, 0, -1u, "CODE_OBJECT_LOAD"},
				 {2, 0, -1u, "CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER"},
				 {3, 600, -1u, "CODE_OBJECT_HOST_KERNEL_SYMBOL_REGISTER"},
				 {0, 0, 0, NULL}};
static const named stream_ops[] = {{1, 0, -1u, "HIP_STREAM_CREATE"},
				   {2, 0, -1u, "HIP_STREAM_DESTROY"},
				   {3, 0, -1u, "HIP_STREAM_SET"},
				   {0, 0, 0, NULL}};
static const named graph_ops[] = {{1, 0, -1u, "HIP_GRAPH_EXEC_CREATE"},
				  {2, 0, -1u, "HIP_GRAPH_EXEC_DESTROY"},
				  {3, 0, -1u, "HIP_GRAPH_EXEC_LAUNCH"},
				  {0, 0, 0, NULL}};
static const named copy_ops[] = {{1, 0, -1u, "MEMORY_COPY_HOST_TO_HOST"},
				 {2, 0, -1u, "MEMORY_COPY_HOST_TO_DEVICE"},
				 {3, 0, -1u, "MEMORY_COPY_DEVICE_TO_HOST"},
				 {4, 0, -1u, "MEMORY_COPY_DEVICE_TO_DEVICE"},
				 {0, 0, 0, NULL}};
static const named kernel_ops[] = {{ENQUEUE, 0, -1u, "KERNEL_DISPATCH_ENQUEUE"},
				   {COMPLETE, 0, -1u, "KERNEL_DISPATCH_COMPLETE"},
				   {0, 0, 0, NULL}};
static const named memory_ops[] = {{1, 0, -1u, "MEMORY_ALLOCATION_ALLOCATE"},
				   {2, 0, -1u, "MEMORY_ALLOCATION_VMEM_ALLOCATE"},
				   {3, 0, -1u, "MEMORY_ALLOCATION_FREE"},
				   {4, 0, -1u, "MEMORY_ALLOCATION_VMEM_FREE"},
				   {0, 0, 0, NULL}};
static const named scratch_ops[] = {{1, 0, -1u, "SCRATCH_MEMORY_ALLOC"},
				    {2, 0, -1u, "SCRATCH_MEMORY_FREE"},
				    {3, 0, -1u, "SCRATCH_MEMORY_ASYNC_RECLAIM"},
				    {0, 0, 0, NULL}};
static const named event_ops[] = {
	{1, 0, -1u, "HIP_EVENT_RECORD"}, {2, 0, -1u, "HIP_EVENT_WAIT"}, {0, 0, 0, NULL}};
static const named no_ops[] = {{0, 0, 0, NULL}};

static const struct {
	const char *kind;
	const named *ops;
} operations[] = {
	{"HIP_RUNTIME_API", runtime_ops}, {"HIP_COMPILER_API", compiler_ops},
	{"MARKER_CORE_API", marker_ops},  {"MARKER_CORE_RANGE_API", range_ops},
	{"MARKER_NAME_API", naming_ops},  {"CODE_OBJECT", code_ops},
	{"HIP_STREAM", stream_ops},       {"HIP_GRAPH", graph_ops},
	{"MEMORY_COPY", copy_ops},        {"MEMORY_ALLOCATION", memory_ops},
	{"SCRATCH_MEMORY", scratch_ops},  {"HIP_EVENT", event_ops},
	{"KERNEL_DISPATCH", kernel_ops},  {"RCCL_API", rccl_ops},
};

static int here(const named *n)
{
	return numbers.version >= n->from && numbers.version <= n->until;
}

static const char *name_in(const named *list, int number)
{
	for (; list->name; list++)
		if (here(list) && list->number + (int)numbers.shift == number)
			return list->name;
	return NULL;
}

static int number_in(const named *list, const char *name)
{
	for (; list->name; list++)
		if (here(list) && !strcmp(list->name, name))
			return list->number + (int)numbers.shift;
	return -1;
}

static const named *ops_of(const char *kind)
{
	for (size_t i = 0; kind && i < sizeof operations / sizeof *operations; i++)
		if (!strcmp(operations[i].kind, kind))
			return operations[i].ops;
	return no_ops;
}

static int give_name(const char *name, const char **out, uint64_t *length)
{
	if (!name)
		return NOT_FOUND;
	*out = name;
	if (length)
		*length = strlen(name);
	return 0;
}

static int each_kind(const named *list, rocprof_kind_fn *fn, void *data)
{
	for (; list->name; list++)
		if (here(list))
			fn(list->number + (int)numbers.shift, data);
	return 0;
}

static int each_op(const named *kinds, int kind, rocprof_operation_fn *fn, void *data)
{
	for (const named *o = ops_of(name_in(kinds, kind)); o->name; o++)
		if (here(o))
			fn(kind, o->number + (int)numbers.shift, data);
	return 0;
}

API int rocprofiler_iterate_callback_tracing_kinds(rocprof_kind_fn *fn, void *data)
{
	return each_kind(callback_kinds, fn, data);
}
API int rocprofiler_iterate_buffer_tracing_kinds(rocprof_kind_fn *fn, void *data)
{
	return each_kind(buffer_kinds, fn, data);
}
API int rocprofiler_iterate_callback_tracing_kind_operations(int kind, rocprof_operation_fn *fn,
							     void *data)
{
	return each_op(callback_kinds, kind, fn, data);
}
API int rocprofiler_iterate_buffer_tracing_kind_operations(int kind, rocprof_operation_fn *fn,
							   void *data)
{
	return each_op(buffer_kinds, kind, fn, data);
}
API int rocprofiler_query_callback_tracing_kind_name(int kind, const char **name, uint64_t *n)
{
	return give_name(name_in(callback_kinds, kind), name, n);
}
API int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *n)
{
	return give_name(name_in(buffer_kinds, kind), name, n);
}
API int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int32_t op,
							       const char **name, uint64_t *n)
{
	return give_name(name_in(ops_of(name_in(callback_kinds, kind)), op), name, n);
}
API int rocprofiler_query_buffer_tracing_kind_operation_name(int kind, int32_t op,
							     const char **name, uint64_t *n)
{
	return give_name(name_in(ops_of(name_in(buffer_kinds, kind)), op), name, n);
}

enum { REQUEST_EVENT = 17 };
API int rocprofiler_query_external_correlation_id_request_kind_name(int kind, const char **name,
								    uint64_t *n)
{
	static const named list[] = {{10, 10000, -1u, "MEMORY_COPY"},
				     {11, 10000, -1u, "KERNEL_DISPATCH"},
				     {12, 10000, -1u, "SCRATCH_MEMORY"},
				     {REQUEST_EVENT, 10300, -1u, "HIP_EVENT"},
				     {0, 0, 0, NULL}};
	return give_name(name_in(list, kind + (int)numbers.shift), name, n);
}

#endif

/* Our own declarations of rocprofiler-sdk, ABI 0.x (ROCm 6.2 to 6.4) and 1.x (ROCm 7 on), as far as
 * the recorder uses it. `make abi-check ROCM_INCLUDE=DIR` compiles them beside the real headers.
 *
 * The one change that broke the ABI is the correlation id, 16 bytes in 0.x and 24 in 1.x. Numbers
 * of kinds and operations move between versions: they are looked up by name and not declared here.
 */
#ifndef ASSAY_VENDOR_ROCPROF_H
#define ASSAY_VENDOR_ROCPROF_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROCPROF_OK = 0,
	ROCPROF_ABI_1 = 10000, /* version argument of 1.0.0: 10000 major + 100 minor + patch */
	ROCPROF_0_6 = 600,     /* scratch records changed, kernel symbols grew, allocations came */
	/* 1.0 throws into programs that use hipStreamPerThread once HIP_STREAM is asked for */
	ROCPROF_STREAMS_SAFE = 10100,
	ROCPROF_ENTER = 1,
	ROCPROF_EXIT = 2,
	ROCPROF_LOSSLESS = 2,
	ROCPROF_TRACING = 1, /* category of a buffer record */
	ROCPROF_AGENT_VERSION = 1,
	ROCPROF_AGENT_GPU = 2,
	ROCPROF_REQUEST_COPY = 10, /* kinds of external correlation requests, stable */
	ROCPROF_REQUEST_KERNEL = 11,
	ROCPROF_REQUEST_SCRATCH = 12,
};

/* Where the driver tells its devices; without it 0.x throws when it is asked for agents. */
#define ROCPROF_TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

/* Operations: the numbers of 0.4 to 1.0, for an SDK that does not name them. */
enum {
	ROCPROF_CODE_LOAD = 1,
	ROCPROF_CODE_KERNEL_SYMBOL = 2,
	ROCPROF_KERNEL_COMPLETE = 2,
	ROCPROF_COPY_H2H = 1,
	ROCPROF_COPY_H2D = 2,
	ROCPROF_COPY_D2H = 3,
	ROCPROF_COPY_D2D = 4,
	ROCPROF_MEMORY_ALLOC = 1,
	ROCPROF_MEMORY_VMEM_ALLOC = 2,
	ROCPROF_MEMORY_FREE = 3,
	ROCPROF_MEMORY_VMEM_FREE = 4,
	ROCPROF_SCRATCH_ALLOC = 1,
	ROCPROF_SCRATCH_FREE = 2,
	ROCPROF_SCRATCH_RECLAIM = 3,
	ROCPROF_STREAM_SET = 3,
	ROCPROF_GRAPH_EXEC_LAUNCH = 3,
};

/* ---- entry ---- */

typedef struct rocprof_client_0 {
	const char *name;
	uint32_t handle;
} rocprof_client_0;
typedef struct rocprof_client_1 {
	size_t size;
	const char *name;
	uint32_t handle;
} rocprof_client_1;

/* Takes the client by value: two registers in 0.x, the stack in 1.x. */
typedef void rocprof_finalize_0(rocprof_client_0 client);
typedef void rocprof_finalize_1(rocprof_client_1 client);
typedef int rocprof_initialize_fn(void (*finalize)(void), void *tool_data);

typedef struct rocprof_configure_result {
	size_t size;
	rocprof_initialize_fn *initialize;
	void (*finalize)(void *tool_data);
	void *tool_data;
} rocprof_configure_result;

/* ---- callbacks ---- */

typedef union rocprof_user {
	uint64_t value;
	void *ptr;
} rocprof_user;

typedef struct rocprof_corr_0 {
	uint64_t internal, external;
} rocprof_corr_0;
typedef struct rocprof_corr_1 {
	uint64_t internal, external, ancestor;
} rocprof_corr_1;

typedef struct rocprof_callback_0 {
	uint64_t context, thread;
	rocprof_corr_0 corr;
	int32_t kind, operation, phase;
	void *payload;
} rocprof_callback_0;
typedef struct rocprof_callback_1 {
	uint64_t context, thread;
	rocprof_corr_1 corr;
	int32_t kind, operation, phase;
	void *payload;
} rocprof_callback_1;

typedef void rocprof_callback_fn_0(rocprof_callback_0 record, rocprof_user *user, void *arg);
typedef void rocprof_callback_fn_1(rocprof_callback_1 record, rocprof_user *user, void *arg);

/* Payloads. */

typedef struct rocprof_code_object {
	uint64_t size, id, agent, hsa_agent;
	const char *uri;
	uint64_t load_base, load_size;
	int64_t load_delta;
	int32_t storage;
	uint64_t memory_base, memory_size;
} rocprof_code_object;

/* The last two are there from 0.6 on. */
typedef struct rocprof_kernel_symbol {
	uint64_t size, kernel, code_object;
	const char *name;
	uint64_t object;
	uint32_t kernarg_size, kernarg_alignment;
	uint32_t group_size, private_size;
	uint32_t sgprs, vgprs, accum_vgprs;
	int64_t entry_offset;
	uint64_t address;
} rocprof_kernel_symbol;
enum { ROCPROF_KERNEL_SYMBOL_SHORT = offsetof(rocprof_kernel_symbol, entry_offset) };

typedef struct rocprof_hip_stream {
	uint64_t size, id, handle;
} rocprof_hip_stream;

/* 1.3 on; read in the source, not compiled against. */
typedef struct rocprof_hip_graph {
	uint64_t size, id, handle;
} rocprof_hip_graph;

/* Arguments follow the size; the result is the last ROCPROF_HIP_RESULT bytes, the union of
 * arguments may grow. */
typedef struct rocprof_hip_call {
	uint64_t size;
	unsigned char args[];
} rocprof_hip_call;
enum { ROCPROF_HIP_RESULT = 24, ROCPROF_HIP_ARGS_MIN = 88 };
enum { ROCPROF_RCCL_RESULT = 8 }; /* RCCL's calls are laid out the same way */

typedef struct rocprof_marker_call {
	uint64_t size;
	union {
		const char *message;
		uint64_t id;
		uint64_t words[2];
	} args;
	uint64_t result; /* of roctxRangeStartA: the id */
} rocprof_marker_call;

/* ---- buffers ---- */

typedef struct rocprof_header {
	uint32_t category, kind;
	void *payload;
} rocprof_header;

typedef void rocprof_buffer_fn(uint64_t context, uint64_t buffer, rocprof_header **headers,
			       size_t n, void *data, uint64_t dropped);

/* Start of every buffer record. */
typedef struct rocprof_record {
	uint64_t size;
	int32_t kind, operation;
} rocprof_record;

typedef struct rocprof_dispatch {
	uint64_t size, agent, queue, kernel, dispatch;
	uint32_t private_size, group_size;
	uint32_t workgroup[3], grid[3]; /* grid in work-items */
	uint8_t reserved[56];
} rocprof_dispatch;

typedef struct rocprof_kernel_record {
	rocprof_record rec;
	rocprof_corr_0 corr;
	uint64_t thread, start, end;
	rocprof_dispatch dispatch;
} rocprof_kernel_record;

/* 1.x has two addresses more at the end. */
typedef struct rocprof_copy_record {
	rocprof_record rec;
	rocprof_corr_0 corr;
	uint64_t thread, start, end, to_agent, from_agent, bytes;
	uint64_t to_address, from_address;
} rocprof_copy_record;
enum { ROCPROF_COPY_SHORT = offsetof(rocprof_copy_record, to_address) };

typedef struct rocprof_memory_record_0 {
	rocprof_record rec;
	rocprof_corr_0 corr;
	uint64_t thread, start, end, agent, address, bytes;
} rocprof_memory_record_0;
typedef struct rocprof_memory_record_1 {
	rocprof_record rec;
	rocprof_corr_1 corr;
	uint64_t thread, start, end, agent, address, bytes;
} rocprof_memory_record_1;

typedef struct rocprof_scratch_record_04 {
	rocprof_record rec;
	uint64_t agent, queue, thread, start, end;
	rocprof_corr_0 corr;
	uint32_t flags;
} rocprof_scratch_record_04;
typedef struct rocprof_scratch_record_06 {
	rocprof_record rec;
	rocprof_corr_0 corr;
	uint64_t agent, queue, thread, start, end;
	uint32_t flags;
} rocprof_scratch_record_06;
/* The size came after 1.0. */
typedef struct rocprof_scratch_record_1 {
	rocprof_record rec;
	rocprof_corr_1 corr;
	uint64_t agent, queue, thread, start, end;
	uint32_t flags;
	uint64_t bytes;
} rocprof_scratch_record_1;
enum { ROCPROF_SCRATCH_SHORT = offsetof(rocprof_scratch_record_1, bytes) };

/* After 1.3; read in the source, not compiled against. */
typedef struct rocprof_event_record {
	rocprof_record rec;
	rocprof_corr_0 corr;
	uint64_t thread, start, end, agent, queue, event, source_queue;
} rocprof_event_record;

/* ---- agents ---- */

/* As 0.4 has it; pointers and numbers that nobody here reads are words. */
typedef struct rocprof_agent {
	uint64_t size, id;
	uint32_t type, cpu_cores;
	uint32_t simds, words_28[5];
	uint32_t max_waves, lds_kb, words_56[2];
	uint32_t wavefront, xccs, cus, arrays;
	uint32_t words_80[5], gfx_target;
	uint16_t vendor_id, device_id;
	uint32_t location, domain, render_minor;
	uint32_t words_120[14];
	uint64_t local_memory, hive, gpu_id;
	uint64_t words_200[6];
	const char *name, *vendor_name, *product_name, *model_name;
	uint32_t node;
	int32_t logical_node, logical_of_type, reserved;
} rocprof_agent;
enum { ROCPROF_AGENT_UUID = 296 }; /* 8 bytes in structs of 304, 16 in those of 312 */

typedef int rocprof_agents_fn(int version, const void **agents, size_t n, void *data);

/* ---- functions: X(field, required, name, type) ---- */

typedef int rocprof_kind_fn(int kind, void *data);
typedef int rocprof_operation_fn(int kind, int32_t operation, void *data);
typedef int rocprof_request_fn(uint64_t thread, uint64_t context, int kind, int32_t operation,
			       uint64_t corr, rocprof_user *out, void *data);

#define ROCPROF_SYMBOLS(X)                                                                         \
	X(create_context, 1, "rocprofiler_create_context", int (*)(uint64_t *))                    \
	X(start_context, 1, "rocprofiler_start_context", int (*)(uint64_t))                        \
	X(stop_context, 0, "rocprofiler_stop_context", int (*)(uint64_t))                          \
	X(context_is_valid, 0, "rocprofiler_context_is_valid", int (*)(uint64_t, int *))           \
	X(create_buffer, 1, "rocprofiler_create_buffer",                                           \
	  int (*)(uint64_t, size_t, size_t, int, rocprof_buffer_fn *, void *, uint64_t *))         \
	X(flush_buffer, 1, "rocprofiler_flush_buffer", int (*)(uint64_t))                          \
	X(create_thread, 0, "rocprofiler_create_callback_thread", int (*)(uint64_t *))             \
	X(assign_thread, 0, "rocprofiler_assign_callback_thread", int (*)(uint64_t, uint64_t))     \
	X(configure_callback, 1, "rocprofiler_configure_callback_tracing_service",                 \
	  int (*)(uint64_t, int, const int32_t *, size_t, void (*)(void), void *))                 \
	X(configure_buffer, 1, "rocprofiler_configure_buffer_tracing_service",                     \
	  int (*)(uint64_t, int, const int32_t *, size_t, uint64_t))                               \
	X(configure_request, 0, "rocprofiler_configure_external_correlation_id_request_service",   \
	  int (*)(uint64_t, const int *, size_t, rocprof_request_fn *, void *))                    \
	X(callback_kinds, 1, "rocprofiler_iterate_callback_tracing_kinds",                         \
	  int (*)(rocprof_kind_fn *, void *))                                                      \
	X(callback_operations, 1, "rocprofiler_iterate_callback_tracing_kind_operations",          \
	  int (*)(int, rocprof_operation_fn *, void *))                                            \
	X(callback_kind_name, 1, "rocprofiler_query_callback_tracing_kind_name",                   \
	  int (*)(int, const char **, uint64_t *))                                                 \
	X(callback_operation_name, 1, "rocprofiler_query_callback_tracing_kind_operation_name",    \
	  int (*)(int, int32_t, const char **, uint64_t *))                                        \
	X(buffer_kinds, 1, "rocprofiler_iterate_buffer_tracing_kinds",                             \
	  int (*)(rocprof_kind_fn *, void *))                                                      \
	X(buffer_operations, 0, "rocprofiler_iterate_buffer_tracing_kind_operations",              \
	  int (*)(int, rocprof_operation_fn *, void *))                                            \
	X(buffer_kind_name, 1, "rocprofiler_query_buffer_tracing_kind_name",                       \
	  int (*)(int, const char **, uint64_t *))                                                 \
	X(buffer_operation_name, 0, "rocprofiler_query_buffer_tracing_kind_operation_name",        \
	  int (*)(int, int32_t, const char **, uint64_t *))                                        \
	X(request_name, 0, "rocprofiler_query_external_correlation_id_request_kind_name",          \
	  int (*)(int, const char **, uint64_t *))                                                 \
	X(agents, 0, "rocprofiler_query_available_agents",                                         \
	  int (*)(int, rocprof_agents_fn *, size_t, void *))                                       \
	X(timestamp, 0, "rocprofiler_get_timestamp", int (*)(uint64_t *))

#define X(field, must, name, type) typedef __typeof__(type) rocprof_do_##field;
ROCPROF_SYMBOLS(X)
#undef X

typedef struct rocprof_lib {
#define X(field, must, name, type) rocprof_do_##field field;
	ROCPROF_SYMBOLS(X)
#undef X
} rocprof_lib;

/* ---- HIP calls: see rocprof_hip.def ---- */

enum {
	ROCPROF_LAUNCH = 1,       /* puts one kernel, or one a device, into a stream */
	ROCPROF_GRAPH = 2,        /* launches a graph */
	ROCPROF_CREATE = 4,       /* makes a stream */
	ROCPROF_DESTROY = 8,      /* destroys one */
	ROCPROF_SPT = 16,         /* no stream means the thread's own */
	ROCPROF_NULL_STREAM = 32, /* runs on the default stream */
	ROCPROF_MAKES_GRAPH = 64, /* makes an executable graph */
	ROCPROF_ORDERS = 128, /* makes, records, awaits or destroys an event or a stream, or picks a
				 device */
};
enum {
	ROCPROF_ROLE_STREAM,
	ROCPROF_ROLE_STREAM_OUT,
	ROCPROF_ROLE_EVENT,
	ROCPROF_ROLE_EVENT_OUT,
	ROCPROF_ROLE_ARG0,
	ROCPROF_ROLE_ARG0_OUT,
	ROCPROF_ROLE_ARG1,
	ROCPROF_ROLE_CONFIG,
	ROCPROF_ROLE_HASH,
	ROCPROF_ROLE_HASH_OUT,
	ROCPROF_ROLE_MASK,
	ROCPROF_ROLE_WORDS,
	ROCPROF_ROLE_SEMAPHORES,
	ROCPROF_ROLE_FENCES,
	ROCPROF_ROLES
};
enum {
	ROCPROF_CONFIG_STREAM = 32, /* where the stream lies in a launch configuration */
	ROCPROF_IPC_HANDLE = 64,
	ROCPROF_FENCE_BYTES = 144, /* of a semaphore's parameters: its value is the first */
	ROCPROF_STREAM_LEGACY = 1,
	ROCPROF_STREAM_PER_THREAD = 2,
};

/* What one entry of hipStreamBatchMemOp does; the numbers are CUDA's, too. */
enum {
	ROCPROF_WORD_WAIT_32 = 1,
	ROCPROF_WORD_WRITE_32 = 2,
	ROCPROF_WORD_WAIT_64 = 4,
	ROCPROF_WORD_WRITE_64 = 5,
	ROCPROF_WORD_KINDS,
	ROCPROF_WORD_WHEN = 3, /* of its flags: how a wait compares */
};
typedef struct rocprof_word {
	uint32_t kind;
	uint64_t address;
	uint64_t value; /* the lower half of it for 32 bits */
	uint32_t flags;
	uint64_t alias, pad;
} rocprof_word;

/* ---- sizes and places, x86_64, as measured on 0.4, 0.5, 0.6, 1.0 and 1.0 of August 2025 ---- */

#define ROCPROF_AT(type, member, at) static_assert(offsetof(type, member) == at, #type "." #member)
#define ROCPROF_SIZE(type, n)        static_assert(sizeof(type) == n, #type)

ROCPROF_SIZE(rocprof_client_0, 16);
ROCPROF_AT(rocprof_client_0, handle, 8);
ROCPROF_SIZE(rocprof_client_1, 24);
ROCPROF_AT(rocprof_client_1, name, 8);
ROCPROF_AT(rocprof_client_1, handle, 16);
ROCPROF_SIZE(rocprof_configure_result, 32);
ROCPROF_AT(rocprof_configure_result, initialize, 8);
ROCPROF_AT(rocprof_configure_result, finalize, 16);
ROCPROF_AT(rocprof_configure_result, tool_data, 24);
ROCPROF_SIZE(rocprof_corr_0, 16);
ROCPROF_SIZE(rocprof_corr_1, 24);
ROCPROF_SIZE(rocprof_callback_0, 56);
ROCPROF_AT(rocprof_callback_0, kind, 32);
ROCPROF_AT(rocprof_callback_0, operation, 36);
ROCPROF_AT(rocprof_callback_0, phase, 40);
ROCPROF_AT(rocprof_callback_0, payload, 48);
ROCPROF_SIZE(rocprof_callback_1, 64);
ROCPROF_AT(rocprof_callback_1, kind, 40);
ROCPROF_AT(rocprof_callback_1, operation, 44);
ROCPROF_AT(rocprof_callback_1, phase, 48);
ROCPROF_AT(rocprof_callback_1, payload, 56);
ROCPROF_SIZE(rocprof_code_object, 88);
ROCPROF_AT(rocprof_code_object, uri, 32);
ROCPROF_AT(rocprof_code_object, storage, 64);
ROCPROF_AT(rocprof_code_object, memory_base, 72);
ROCPROF_SIZE(rocprof_kernel_symbol, 88);
ROCPROF_AT(rocprof_kernel_symbol, name, 24);
ROCPROF_AT(rocprof_kernel_symbol, group_size, 48);
ROCPROF_AT(rocprof_kernel_symbol, sgprs, 56);
ROCPROF_AT(rocprof_kernel_symbol, accum_vgprs, 64);
ROCPROF_AT(rocprof_kernel_symbol, entry_offset, 72);
ROCPROF_SIZE(rocprof_hip_stream, 24);
ROCPROF_SIZE(rocprof_hip_graph, 24);
ROCPROF_SIZE(rocprof_marker_call, 32);
ROCPROF_AT(rocprof_marker_call, result, 24);
ROCPROF_SIZE(rocprof_header, 16);
ROCPROF_SIZE(rocprof_record, 16);
ROCPROF_SIZE(rocprof_dispatch, 128);
ROCPROF_AT(rocprof_dispatch, private_size, 40);
ROCPROF_AT(rocprof_dispatch, workgroup, 48);
ROCPROF_AT(rocprof_dispatch, grid, 60);
ROCPROF_SIZE(rocprof_kernel_record, 184);
ROCPROF_AT(rocprof_kernel_record, start, 40);
ROCPROF_AT(rocprof_kernel_record, dispatch, 56);
ROCPROF_SIZE(rocprof_copy_record, 96);
ROCPROF_AT(rocprof_copy_record, to_agent, 56);
ROCPROF_AT(rocprof_copy_record, bytes, 72);
ROCPROF_SIZE(rocprof_memory_record_0, 80);
ROCPROF_AT(rocprof_memory_record_0, agent, 56);
ROCPROF_SIZE(rocprof_memory_record_1, 88);
ROCPROF_AT(rocprof_memory_record_1, agent, 64);
ROCPROF_SIZE(rocprof_scratch_record_04, 80);
ROCPROF_AT(rocprof_scratch_record_04, flags, 72);
ROCPROF_SIZE(rocprof_scratch_record_06, 80);
ROCPROF_AT(rocprof_scratch_record_06, agent, 32);
ROCPROF_SIZE(rocprof_scratch_record_1, 96);
ROCPROF_AT(rocprof_scratch_record_1, agent, 40);
ROCPROF_AT(rocprof_scratch_record_1, flags, 80);
ROCPROF_SIZE(rocprof_event_record, 88);
ROCPROF_AT(rocprof_event_record, event, 72);
ROCPROF_SIZE(rocprof_word, 48);
ROCPROF_AT(rocprof_word, address, 8);
ROCPROF_AT(rocprof_word, value, 16);
ROCPROF_AT(rocprof_word, flags, 24);
ROCPROF_SIZE(rocprof_agent, 296);
ROCPROF_AT(rocprof_agent, lds_kb, 52);
ROCPROF_AT(rocprof_agent, wavefront, 64);
ROCPROF_AT(rocprof_agent, gfx_target, 100);
ROCPROF_AT(rocprof_agent, location, 108);
ROCPROF_AT(rocprof_agent, local_memory, 176);
ROCPROF_AT(rocprof_agent, gpu_id, 192);
ROCPROF_AT(rocprof_agent, name, 248);
ROCPROF_AT(rocprof_agent, product_name, 264);
ROCPROF_AT(rocprof_agent, node, 280);
ROCPROF_AT(rocprof_agent, logical_of_type, 288);

#endif

/* Compiled, never run: our declarations beside AMD's own headers, of whichever version they are.
 * usage: make abi-check ROCM_INCLUDE=DIR  (DIR holds rocprofiler-sdk/, hip/ and hsa/) */
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#include "vendor/rocprof.h"

#define FIELD_AS(theirs, their_field, ours, our_field)                                             \
	static_assert(offsetof(theirs, their_field) == offsetof(ours, our_field),                  \
		      #theirs "." #their_field);                                                   \
	static_assert(sizeof(((theirs *)0)->their_field) == sizeof(((ours *)0)->our_field),        \
		      #theirs "." #their_field " size");
#define WHOLE(theirs, ours)  static_assert(sizeof(theirs) == sizeof(ours), #theirs);
#define NUMBER(theirs, ours) static_assert((int)(theirs) == (int)(ours), #theirs);

#ifdef ROCPROFILER_SDK_VERSION
enum { VERSION = ROCPROFILER_SDK_VERSION };
#define ONE  (ROCPROFILER_SDK_VERSION >= 10000)
#define FIVE (ROCPROFILER_SDK_VERSION >= 500)
#define SIX  (ROCPROFILER_SDK_VERSION >= 600)
#else
enum { VERSION = ROCPROFILER_VERSION };
#define ONE  (ROCPROFILER_VERSION >= 10000)
#define FIVE (ROCPROFILER_VERSION >= 500)
#define SIX  (ROCPROFILER_VERSION >= 600)
#endif

#if ONE
#define BY_ABI(name) name##_1
#else
#define BY_ABI(name) name##_0
#endif

/* ---- entry ---- */

WHOLE(rocprofiler_tool_configure_result_t, rocprof_configure_result)
FIELD_AS(rocprofiler_tool_configure_result_t, size, rocprof_configure_result, size)
FIELD_AS(rocprofiler_tool_configure_result_t, initialize, rocprof_configure_result, initialize)
FIELD_AS(rocprofiler_tool_configure_result_t, finalize, rocprof_configure_result, finalize)
FIELD_AS(rocprofiler_tool_configure_result_t, tool_data, rocprof_configure_result, tool_data)
WHOLE(rocprofiler_client_id_t, BY_ABI(rocprof_client))
FIELD_AS(rocprofiler_client_id_t, name, BY_ABI(rocprof_client), name)
FIELD_AS(rocprofiler_client_id_t, handle, BY_ABI(rocprof_client), handle)

/* ---- callbacks ---- */

WHOLE(rocprofiler_user_data_t, rocprof_user)
WHOLE(rocprofiler_correlation_id_t, BY_ABI(rocprof_corr))
FIELD_AS(rocprofiler_correlation_id_t, internal, BY_ABI(rocprof_corr), internal)
FIELD_AS(rocprofiler_correlation_id_t, external, BY_ABI(rocprof_corr), external)
#define CALLBACK BY_ABI(rocprof_callback)
WHOLE(rocprofiler_callback_tracing_record_t, CALLBACK)
FIELD_AS(rocprofiler_callback_tracing_record_t, context_id, CALLBACK, context)
FIELD_AS(rocprofiler_callback_tracing_record_t, thread_id, CALLBACK, thread)
FIELD_AS(rocprofiler_callback_tracing_record_t, correlation_id, CALLBACK, corr)
FIELD_AS(rocprofiler_callback_tracing_record_t, kind, CALLBACK, kind)
FIELD_AS(rocprofiler_callback_tracing_record_t, operation, CALLBACK, operation)
FIELD_AS(rocprofiler_callback_tracing_record_t, phase, CALLBACK, phase)
FIELD_AS(rocprofiler_callback_tracing_record_t, payload, CALLBACK, payload)
NUMBER(ROCPROFILER_CALLBACK_PHASE_ENTER, ROCPROF_ENTER)
NUMBER(ROCPROFILER_CALLBACK_PHASE_EXIT, ROCPROF_EXIT)

typedef rocprofiler_callback_tracing_code_object_load_data_t code_object;
WHOLE(code_object, rocprof_code_object)
FIELD_AS(code_object, size, rocprof_code_object, size)
FIELD_AS(code_object, code_object_id, rocprof_code_object, id)
FIELD_AS(code_object, hsa_agent, rocprof_code_object, hsa_agent)
FIELD_AS(code_object, uri, rocprof_code_object, uri)
FIELD_AS(code_object, load_base, rocprof_code_object, load_base)
FIELD_AS(code_object, load_size, rocprof_code_object, load_size)
FIELD_AS(code_object, load_delta, rocprof_code_object, load_delta)
FIELD_AS(code_object, storage_type, rocprof_code_object, storage)
FIELD_AS(code_object, memory_base, rocprof_code_object, memory_base)
FIELD_AS(code_object, memory_size, rocprof_code_object, memory_size)
#if ONE
FIELD_AS(code_object, agent_id, rocprof_code_object, agent)
#else
FIELD_AS(code_object, rocp_agent, rocprof_code_object, agent)
#endif
NUMBER(ROCPROFILER_CODE_OBJECT_LOAD, ROCPROF_CODE_LOAD)
NUMBER(ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER, ROCPROF_CODE_KERNEL_SYMBOL)

typedef rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t symbol;
FIELD_AS(symbol, size, rocprof_kernel_symbol, size)
FIELD_AS(symbol, kernel_id, rocprof_kernel_symbol, kernel)
FIELD_AS(symbol, code_object_id, rocprof_kernel_symbol, code_object)
FIELD_AS(symbol, kernel_name, rocprof_kernel_symbol, name)
FIELD_AS(symbol, kernel_object, rocprof_kernel_symbol, object)
FIELD_AS(symbol, kernarg_segment_size, rocprof_kernel_symbol, kernarg_size)
FIELD_AS(symbol, kernarg_segment_alignment, rocprof_kernel_symbol, kernarg_alignment)
FIELD_AS(symbol, group_segment_size, rocprof_kernel_symbol, group_size)
FIELD_AS(symbol, private_segment_size, rocprof_kernel_symbol, private_size)
FIELD_AS(symbol, sgpr_count, rocprof_kernel_symbol, sgprs)
FIELD_AS(symbol, arch_vgpr_count, rocprof_kernel_symbol, vgprs)
FIELD_AS(symbol, accum_vgpr_count, rocprof_kernel_symbol, accum_vgprs)
#if SIX
WHOLE(symbol, rocprof_kernel_symbol)
FIELD_AS(symbol, kernel_code_entry_byte_offset, rocprof_kernel_symbol, entry_offset)
FIELD_AS(symbol, kernel_address, rocprof_kernel_symbol, address)
#else
static_assert(sizeof(symbol) == ROCPROF_KERNEL_SYMBOL_SHORT, "kernel symbol before 0.6");
#endif

typedef rocprofiler_callback_tracing_hip_api_data_t hip_data;
static_assert(offsetof(hip_data, args) == offsetof(rocprof_hip_call, args), "HIP arguments");
static_assert(sizeof(rocprofiler_hip_api_retval_t) == ROCPROF_HIP_RESULT, "HIP result");
static_assert(sizeof(hip_data) - offsetof(hip_data, retval) == ROCPROF_HIP_RESULT, "result last");
static_assert(sizeof(rocprofiler_hip_api_args_t) >= ROCPROF_HIP_ARGS_MIN, "HIP arguments size");
static_assert(offsetof(rocprofiler_hip_api_retval_t, hipError_t_retval) == 0, "HIP status");

typedef rocprofiler_callback_tracing_marker_api_data_t marker;
WHOLE(marker, rocprof_marker_call)
FIELD_AS(marker, args, rocprof_marker_call, args)
FIELD_AS(marker, retval, rocprof_marker_call, result)
FIELD_AS(marker, args.roctxMarkA.message, rocprof_marker_call, args.message)
FIELD_AS(marker, args.roctxRangePushA.message, rocprof_marker_call, args.message)
FIELD_AS(marker, args.roctxRangeStartA.message, rocprof_marker_call, args.message)
FIELD_AS(marker, args.roctxRangeStop.id, rocprof_marker_call, args.id)
FIELD_AS(marker, args.roctxNameOsThread.name, rocprof_marker_call, args.message)
FIELD_AS(marker, retval.roctx_range_id_t_retval, rocprof_marker_call, result)

#if ONE
typedef rocprofiler_callback_tracing_hip_stream_data_t hip_stream;
WHOLE(hip_stream, rocprof_hip_stream)
FIELD_AS(hip_stream, stream_id, rocprof_hip_stream, id)
FIELD_AS(hip_stream, stream_value, rocprof_hip_stream, handle)
NUMBER(ROCPROFILER_HIP_STREAM_SET, ROCPROF_STREAM_SET)
#endif

/* ---- HIP calls ---- */

/* HIP's headers may be newer than the SDK, which then lacks the newest functions: the last step of
 * HIP's table that each version knows. */
#if ONE && ROCPROFILER_SDK_VERSION > 10000
#define LAST_STEP 9999
#elif ONE
#define LAST_STEP 13
#elif SIX
#define LAST_STEP 8
#elif FIVE
#define LAST_STEP 6
#else
#define LAST_STEP 4
#endif
#if HIP_RUNTIME_API_TABLE_STEP_VERSION < LAST_STEP
#define ROCPROF_HIP_STEP HIP_RUNTIME_API_TABLE_STEP_VERSION
#else
#define ROCPROF_HIP_STEP LAST_STEP
#endif
#define CALL(name, flags) static_assert(ROCPROFILER_HIP_RUNTIME_API_ID_##name >= 0, #name);
#define FIELD(name, role, member, at, bytes)                                                       \
	static_assert(offsetof(rocprofiler_hip_api_args_t, name.member) == at, #name "." #member); \
	static_assert(sizeof(((rocprofiler_hip_api_args_t *)0)->name.member) == bytes,             \
		      #name "." #member " size");
#include "vendor/rocprof_hip.def"
#undef CALL
#undef FIELD
#if FIVE
#define CALL(name, flags) static_assert(ROCPROFILER_RCCL_API_ID_##name >= 0, #name);
#define FIELD(name, role, member, at, bytes)                                                       \
	static_assert(offsetof(rocprofiler_rccl_api_args_t, name.member) == at, #name "." #member);
#include "vendor/rocprof_rccl.def"
static_assert(sizeof(rocprofiler_rccl_api_retval_t) == ROCPROF_RCCL_RESULT, "result of RCCL");
#endif
#if ROCPROF_HIP_STEP >= 7
#define WORD(member, ours)                                                                         \
	static_assert(offsetof(hipStreamBatchMemOpParams, waitValue.member) ==                     \
			      offsetof(rocprof_word, ours),                                        \
		      "wait for a word: " #member);                                                \
	static_assert(offsetof(hipStreamBatchMemOpParams, writeValue.member) ==                    \
			      offsetof(rocprof_word, ours),                                        \
		      "write of a word: " #member);
WORD(address, address)
WORD(value64, value)
WORD(flags, flags)
WHOLE(hipStreamBatchMemOpParams, rocprof_word)
NUMBER(hipStreamMemOpWaitValue32, ROCPROF_WORD_WAIT_32)
NUMBER(hipStreamMemOpWriteValue32, ROCPROF_WORD_WRITE_32)
NUMBER(hipStreamMemOpWaitValue64, ROCPROF_WORD_WAIT_64)
NUMBER(hipStreamMemOpWriteValue64, ROCPROF_WORD_WRITE_64)
#endif
#if ROCPROF_HIP_STEP >= 11
static_assert(offsetof(hipLaunchConfig_t, stream) == ROCPROF_CONFIG_STREAM, "launch config");
static_assert(offsetof(HIP_LAUNCH_CONFIG, hStream) == ROCPROF_CONFIG_STREAM, "driver config");
#endif
static_assert(sizeof(hipIpcEventHandle_t) == ROCPROF_IPC_HANDLE, "event between processes");
static_assert(hipStreamNonBlocking == 1, "flag of streams");

/* ---- buffers ---- */

WHOLE(rocprofiler_record_header_t, rocprof_header)
FIELD_AS(rocprofiler_record_header_t, category, rocprof_header, category)
FIELD_AS(rocprofiler_record_header_t, kind, rocprof_header, kind)
FIELD_AS(rocprofiler_record_header_t, payload, rocprof_header, payload)
NUMBER(ROCPROFILER_BUFFER_CATEGORY_TRACING, ROCPROF_TRACING)
NUMBER(ROCPROFILER_BUFFER_POLICY_LOSSLESS, ROCPROF_LOSSLESS)

#define HEAD(theirs, ours)                                                                         \
	FIELD_AS(theirs, size, ours, rec.size)                                                     \
	FIELD_AS(theirs, kind, ours, rec.kind)                                                     \
	FIELD_AS(theirs, operation, ours, rec.operation)                                           \
	FIELD_AS(theirs, correlation_id, ours, corr)                                               \
	FIELD_AS(theirs, thread_id, ours, thread)                                                  \
	FIELD_AS(theirs, start_timestamp, ours, start)                                             \
	FIELD_AS(theirs, end_timestamp, ours, end)

typedef rocprofiler_buffer_tracing_kernel_dispatch_record_t kernel_record;
static_assert(sizeof(kernel_record) >= sizeof(rocprof_kernel_record), "kernel record");
HEAD(kernel_record, rocprof_kernel_record)
FIELD_AS(kernel_record, dispatch_info, rocprof_kernel_record, dispatch)
typedef rocprofiler_kernel_dispatch_info_t dispatch;
WHOLE(dispatch, rocprof_dispatch)
FIELD_AS(dispatch, agent_id, rocprof_dispatch, agent)
FIELD_AS(dispatch, queue_id, rocprof_dispatch, queue)
FIELD_AS(dispatch, kernel_id, rocprof_dispatch, kernel)
FIELD_AS(dispatch, dispatch_id, rocprof_dispatch, dispatch)
FIELD_AS(dispatch, private_segment_size, rocprof_dispatch, private_size)
FIELD_AS(dispatch, group_segment_size, rocprof_dispatch, group_size)
FIELD_AS(dispatch, workgroup_size, rocprof_dispatch, workgroup)
FIELD_AS(dispatch, grid_size, rocprof_dispatch, grid)

typedef rocprofiler_buffer_tracing_memory_copy_record_t copy_record;
HEAD(copy_record, rocprof_copy_record)
FIELD_AS(copy_record, dst_agent_id, rocprof_copy_record, to_agent)
FIELD_AS(copy_record, src_agent_id, rocprof_copy_record, from_agent)
FIELD_AS(copy_record, bytes, rocprof_copy_record, bytes)
NUMBER(ROCPROFILER_MEMORY_COPY_HOST_TO_HOST, ROCPROF_COPY_H2H)
NUMBER(ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE, ROCPROF_COPY_H2D)
NUMBER(ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST, ROCPROF_COPY_D2H)
NUMBER(ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE, ROCPROF_COPY_D2D)
#if ONE
WHOLE(copy_record, rocprof_copy_record)
FIELD_AS(copy_record, dst_address, rocprof_copy_record, to_address)
FIELD_AS(copy_record, src_address, rocprof_copy_record, from_address)
#else
static_assert(sizeof(copy_record) == ROCPROF_COPY_SHORT, "copy record before 1.0");
#endif

#if SIX
typedef rocprofiler_buffer_tracing_memory_allocation_record_t memory_record;
#define MEMORY BY_ABI(rocprof_memory_record)
WHOLE(memory_record, MEMORY)
HEAD(memory_record, MEMORY)
FIELD_AS(memory_record, agent_id, MEMORY, agent)
FIELD_AS(memory_record, address, MEMORY, address)
FIELD_AS(memory_record, allocation_size, MEMORY, bytes)
NUMBER(ROCPROFILER_MEMORY_ALLOCATION_ALLOCATE, ROCPROF_MEMORY_ALLOC)
NUMBER(ROCPROFILER_MEMORY_ALLOCATION_VMEM_ALLOCATE, ROCPROF_MEMORY_VMEM_ALLOC)
NUMBER(ROCPROFILER_MEMORY_ALLOCATION_FREE, ROCPROF_MEMORY_FREE)
NUMBER(ROCPROFILER_MEMORY_ALLOCATION_VMEM_FREE, ROCPROF_MEMORY_VMEM_FREE)
#endif

typedef rocprofiler_buffer_tracing_scratch_memory_record_t scratch_record;
#if ONE
#define SCRATCH rocprof_scratch_record_1
static_assert(sizeof(scratch_record) == sizeof(SCRATCH) ||
		      sizeof(scratch_record) == ROCPROF_SCRATCH_SHORT,
	      "scratch record");
#elif SIX
#define SCRATCH rocprof_scratch_record_06
WHOLE(scratch_record, SCRATCH)
#else
#define SCRATCH rocprof_scratch_record_04
WHOLE(scratch_record, SCRATCH)
#endif
HEAD(scratch_record, SCRATCH)
FIELD_AS(scratch_record, agent_id, SCRATCH, agent)
FIELD_AS(scratch_record, queue_id, SCRATCH, queue)
FIELD_AS(scratch_record, flags, SCRATCH, flags)
NUMBER(ROCPROFILER_SCRATCH_MEMORY_ALLOC, ROCPROF_SCRATCH_ALLOC)
NUMBER(ROCPROFILER_SCRATCH_MEMORY_FREE, ROCPROF_SCRATCH_FREE)
NUMBER(ROCPROFILER_SCRATCH_MEMORY_ASYNC_RECLAIM, ROCPROF_SCRATCH_RECLAIM)

/* ---- agents ---- */

typedef rocprofiler_agent_v0_t agent;
static_assert(sizeof(agent) >= sizeof(rocprof_agent), "agent");
FIELD_AS(agent, size, rocprof_agent, size)
FIELD_AS(agent, id, rocprof_agent, id)
FIELD_AS(agent, type, rocprof_agent, type)
FIELD_AS(agent, cpu_cores_count, rocprof_agent, cpu_cores)
FIELD_AS(agent, simd_count, rocprof_agent, simds)
FIELD_AS(agent, lds_size_in_kb, rocprof_agent, lds_kb)
FIELD_AS(agent, wave_front_size, rocprof_agent, wavefront)
FIELD_AS(agent, num_xcc, rocprof_agent, xccs)
FIELD_AS(agent, cu_count, rocprof_agent, cus)
FIELD_AS(agent, gfx_target_version, rocprof_agent, gfx_target)
FIELD_AS(agent, vendor_id, rocprof_agent, vendor_id)
FIELD_AS(agent, device_id, rocprof_agent, device_id)
FIELD_AS(agent, location_id, rocprof_agent, location)
FIELD_AS(agent, domain, rocprof_agent, domain)
FIELD_AS(agent, drm_render_minor, rocprof_agent, render_minor)
FIELD_AS(agent, local_mem_size, rocprof_agent, local_memory)
FIELD_AS(agent, hive_id, rocprof_agent, hive)
FIELD_AS(agent, gpu_id, rocprof_agent, gpu_id)
FIELD_AS(agent, name, rocprof_agent, name)
FIELD_AS(agent, vendor_name, rocprof_agent, vendor_name)
FIELD_AS(agent, product_name, rocprof_agent, product_name)
FIELD_AS(agent, model_name, rocprof_agent, model_name)
FIELD_AS(agent, node_id, rocprof_agent, node)
FIELD_AS(agent, logical_node_id, rocprof_agent, logical_node)
FIELD_AS(agent, logical_node_type_id, rocprof_agent, logical_of_type)
#if SIX
static_assert(offsetof(agent, uuid) == ROCPROF_AGENT_UUID, "agent's uuid");
#endif
NUMBER(ROCPROFILER_AGENT_TYPE_GPU, ROCPROF_AGENT_GPU)
NUMBER(ROCPROFILER_AGENT_INFO_VERSION_0, ROCPROF_AGENT_VERSION)
NUMBER(ROCPROFILER_STATUS_SUCCESS, ROCPROF_OK)
NUMBER(ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_COPY, ROCPROF_REQUEST_COPY)
NUMBER(ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH, ROCPROF_REQUEST_KERNEL)
NUMBER(ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_SCRATCH_MEMORY, ROCPROF_REQUEST_SCRATCH)

/* ---- functions: number and class of arguments. Ids are structs of one word, passed as that word;
 * enums are ints. ---- */

WHOLE(rocprofiler_context_id_t, uint64_t)
WHOLE(rocprofiler_buffer_id_t, uint64_t)
WHOLE(rocprofiler_callback_thread_t, uint64_t)
WHOLE(rocprofiler_thread_id_t, uint64_t)
WHOLE(rocprofiler_status_t, int)
WHOLE(rocprofiler_buffer_policy_t, int)
WHOLE(rocprofiler_callback_tracing_kind_t, int)
WHOLE(rocprofiler_buffer_tracing_kind_t, int)
WHOLE(rocprofiler_tracing_operation_t, int32_t)
WHOLE(rocprofiler_agent_version_t, int)
WHOLE(rocprofiler_external_correlation_id_request_kind_t, int)

/* A call through the vendor's prototype with our arguments: the compiler counts and types them. */
static inline void signatures(rocprofiler_callback_tracing_cb_t on_call,
			      rocprofiler_buffer_tracing_cb_t on_buffer,
			      rocprofiler_external_correlation_id_request_cb_t on_request,
			      rocprofiler_query_available_agents_cb_t on_agents,
			      rocprofiler_callback_tracing_kind_cb_t on_callback_kind,
			      rocprofiler_callback_tracing_kind_operation_cb_t on_callback_op,
			      rocprofiler_buffer_tracing_kind_cb_t on_buffer_kind,
			      rocprofiler_buffer_tracing_kind_operation_cb_t on_buffer_op)
{
	rocprofiler_context_id_t context = {0};
	rocprofiler_buffer_id_t buffer = {0};
	rocprofiler_callback_thread_t thread = {0};
	rocprofiler_tracing_operation_t *ops = NULL;
	rocprofiler_external_correlation_id_request_kind_t *requests = NULL;
	const char *name = NULL;
	uint64_t length = 0;
	int valid = 0;
	rocprofiler_status_t s[] =
	{ rocprofiler_create_context(&context),
	  rocprofiler_start_context(context),
	  rocprofiler_stop_context(context),
	  rocprofiler_context_is_valid(context, &valid),
	  rocprofiler_create_buffer(context, (size_t)0, (size_t)0,
				    ROCPROFILER_BUFFER_POLICY_LOSSLESS, on_buffer, NULL, &buffer),
	  rocprofiler_flush_buffer(buffer),
	  rocprofiler_create_callback_thread(&thread),
	  rocprofiler_assign_callback_thread(buffer, thread),
	  rocprofiler_configure_callback_tracing_service(
		  context, (rocprofiler_callback_tracing_kind_t)0, ops, (size_t)0, on_call, NULL),
	  rocprofiler_configure_buffer_tracing_service(
		  context, (rocprofiler_buffer_tracing_kind_t)0, ops, (size_t)0, buffer),
	  rocprofiler_configure_external_correlation_id_request_service(
		  context, requests, (size_t)0, on_request, NULL),
	  rocprofiler_iterate_callback_tracing_kinds(on_callback_kind, NULL),
	  rocprofiler_iterate_callback_tracing_kind_operations(
		  (rocprofiler_callback_tracing_kind_t)0, on_callback_op, NULL),
	  rocprofiler_query_callback_tracing_kind_name((rocprofiler_callback_tracing_kind_t)0,
						       &name, &length),
	  rocprofiler_query_callback_tracing_kind_operation_name(
		  (rocprofiler_callback_tracing_kind_t)0, 0, &name, &length),
	  rocprofiler_iterate_buffer_tracing_kinds(on_buffer_kind, NULL),
	  rocprofiler_iterate_buffer_tracing_kind_operations((rocprofiler_buffer_tracing_kind_t)0,
							     on_buffer_op, NULL),
	  rocprofiler_query_buffer_tracing_kind_name((rocprofiler_buffer_tracing_kind_t)0, &name,
						     &length),
	  rocprofiler_query_buffer_tracing_kind_operation_name((rocprofiler_buffer_tracing_kind_t)0,
							       0, &name, &length),
	  rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_0, on_agents, (size_t)0,
					     NULL),
	  rocprofiler_get_timestamp(&length),
#if ONE
	  rocprofiler_query_external_correlation_id_request_kind_name(
		  (rocprofiler_external_correlation_id_request_kind_t)0, &name, &length),
#endif
	};
	(void)s;
}

/* Callbacks we hand over, called with what the vendor would pass. */
static inline void callbacks(rocprofiler_callback_tracing_cb_t on_call,
			     rocprofiler_buffer_tracing_cb_t on_buffer,
			     rocprofiler_external_correlation_id_request_cb_t on_request,
			     rocprofiler_query_available_agents_cb_t on_agents,
			     rocprofiler_client_finalize_t finalize)
{
	rocprofiler_callback_tracing_record_t record = {0};
	rocprofiler_user_data_t user = {0};
	rocprofiler_record_header_t **headers = NULL;
	const void **agents = NULL;
	rocprofiler_client_id_t client = {0};
	on_call(record, &user, NULL);
	on_buffer(record.context_id, (rocprofiler_buffer_id_t){0}, headers, (size_t)0, NULL,
		  (uint64_t)0);
	(void)on_request((rocprofiler_thread_id_t)0, record.context_id,
			 (rocprofiler_external_correlation_id_request_kind_t)0, 0, (uint64_t)0,
			 &user, NULL);
	(void)on_agents(ROCPROFILER_AGENT_INFO_VERSION_0, agents, (size_t)0, NULL);
	finalize(client);
}

int main(void)
{
	rocprofiler_tool_configure_result_t *(*configure)(uint32_t, const char *, uint32_t,
							  rocprofiler_client_id_t *) =
		rocprofiler_configure;
	(void)configure;
	(void)signatures;
	(void)callbacks;
	return VERSION < 0;
}

/* Which calls order work, by name. CUDA runtime, CUDA driver and HIP share one table: prefix and
 * suffix of the name are taken off first. */
#include "resolve/waits_calls.h"

#include "base/test.h"

static const struct {
	const char *stem;
	assay_call call;
} calls[] = {
	{"EventRecord", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"EventRecordWithFlags", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"EventRecordExternal", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"ExtLaunchKernel", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"ExtModuleLaunchKernel", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"HccModuleLaunchKernel", {ASSAY_OP_RECORD, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"StreamWaitEvent", {ASSAY_OP_WAIT, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"EventSynchronize", {ASSAY_OP_EVENT_SYNC, 0, ASSAY_CALL_EVENT}},
	{"StreamSynchronize", {ASSAY_OP_STREAM_SYNC, 0, ASSAY_CALL_STREAM}},
	{"DeviceSynchronize", {ASSAY_OP_DEVICE_SYNC, 0, 0}},
	{"CtxSynchronize", {ASSAY_OP_DEVICE_SYNC, 0, 0}},
	{"ThreadSynchronize", {ASSAY_OP_DEVICE_SYNC, 0, 0}},
	{"DeviceReset", {ASSAY_OP_DEVICE_SYNC, 0, 0}},
	{"EventQuery", {ASSAY_OP_EVENT_QUERY, 0, ASSAY_CALL_EVENT}},
	{"StreamQuery", {ASSAY_OP_STREAM_QUERY, 0, ASSAY_CALL_STREAM}},
	{"EventCreate", {ASSAY_OP_CREATE, 0, ASSAY_CALL_EVENT}},
	{"EventCreateWithFlags", {ASSAY_OP_CREATE, 0, ASSAY_CALL_EVENT}},
	{"EventDestroy", {ASSAY_OP_DESTROY, 0, ASSAY_CALL_EVENT}},
	{"StreamCreate", {ASSAY_OP_STREAM_CREATE, 0, ASSAY_CALL_STREAM}},
	{"StreamCreateWithFlags",
	 {ASSAY_OP_STREAM_CREATE, 0, ASSAY_CALL_STREAM | ASSAY_CALL_FLAGS}},
	{"StreamCreateWithPriority",
	 {ASSAY_OP_STREAM_CREATE, 0, ASSAY_CALL_STREAM | ASSAY_CALL_FLAGS}},
	{"StreamDestroy", {ASSAY_OP_STREAM_DESTROY, 0, ASSAY_CALL_STREAM}},
	{"StreamBeginCapture", {ASSAY_OP_CAPTURE_BEGIN, 0, ASSAY_CALL_STREAM}},
	{"StreamBeginCaptureToGraph", {ASSAY_OP_CAPTURE_BEGIN, 0, ASSAY_CALL_STREAM}},
	{"StreamEndCapture", {ASSAY_OP_CAPTURE_END, 0, ASSAY_CALL_STREAM}},
	{"LaunchHostFunc", {ASSAY_OP_HOST_FUNC, 0, ASSAY_CALL_STREAM}},
	{"StreamAddCallback", {ASSAY_OP_HOST_FUNC, 0, ASSAY_CALL_STREAM}},
	{"StreamWaitValue32", {ASSAY_OP_WAIT_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"StreamWaitValue64", {ASSAY_OP_WAIT_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"StreamWriteValue32", {ASSAY_OP_WRITE_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"StreamWriteValue64", {ASSAY_OP_WRITE_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"SignalExternalSemaphoresAsync",
	 {ASSAY_OP_WRITE_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"WaitExternalSemaphoresAsync",
	 {ASSAY_OP_WAIT_VALUE, 0, ASSAY_CALL_EVENT | ASSAY_CALL_STREAM}},
	{"SetDevice", {ASSAY_OP_CHOOSE_DEVICE, 0, 0}},
	{"IpcGetEventHandle", {ASSAY_OP_IPC_EXPORT, 0, ASSAY_CALL_EVENT}},
	{"IpcOpenEventHandle", {ASSAY_OP_IPC_OPEN, 0, ASSAY_CALL_EVENT}},
	/* device to host always waits; other directions may return early, time tells */
	{"Memcpy", {ASSAY_OP_COPY, 0, ASSAY_CALL_SYNC_COPY}},
	{"Memcpy2D", {ASSAY_OP_COPY, 0, ASSAY_CALL_SYNC_COPY}},
	{"Memcpy3D", {ASSAY_OP_COPY, 0, ASSAY_CALL_SYNC_COPY}},
	{"MemcpyDtoH", {ASSAY_OP_COPY, ASSAY_REC_MUST_BLOCK, 0}},
	{"MemcpyHtoD", {ASSAY_OP_COPY, 0, 0}},
	{"MemcpyDtoD", {ASSAY_OP_COPY, 0, 0}},
	{"MemcpyFromSymbol", {ASSAY_OP_COPY, 0, ASSAY_CALL_SYNC_COPY}},
	{"MemcpyToSymbol", {ASSAY_OP_COPY, 0, 0}},
	{"MemcpyAsync", {ASSAY_OP_COPY, 0, ASSAY_CALL_ASYNC_COPY}},
	{"MemcpyWithStream", {ASSAY_OP_COPY, 0, ASSAY_CALL_SYNC_COPY}},
	{"Memcpy2DAsync", {ASSAY_OP_COPY, 0, ASSAY_CALL_ASYNC_COPY}},
	{"Memcpy3DAsync", {ASSAY_OP_COPY, 0, ASSAY_CALL_ASYNC_COPY}},
	{"MemcpyDtoHAsync", {ASSAY_OP_COPY, 0, ASSAY_CALL_ASYNC_COPY}},
	{"MemcpyHtoDAsync", {ASSAY_OP_COPY, 0, ASSAY_CALL_ASYNC_COPY}},
	{"MemcpyPeer", {ASSAY_OP_COPY, 0, 0}},
	{"Memset", {ASSAY_OP_COPY, 0, 0}},
	{"Free", {ASSAY_OP_DRAIN, 0, 0}},
	{"MemFree", {ASSAY_OP_DRAIN, 0, 0}},
	{"FreeHost", {ASSAY_OP_DRAIN, 0, 0}},
	{"HostFree", {ASSAY_OP_DRAIN, 0, 0}},
	{"Malloc", {ASSAY_OP_DRAIN, 0, 0}},
	{"MallocHost", {ASSAY_OP_DRAIN, 0, 0}},
	{"HostMalloc", {ASSAY_OP_DRAIN, 0, 0}},
	{"HostAlloc", {ASSAY_OP_DRAIN, 0, 0}},
	{"ModuleLoad", {ASSAY_OP_DRAIN, 0, 0}},
	{"ModuleUnload", {ASSAY_OP_DRAIN, 0, 0}},
};

/* _spt, _ptsz and _ptds: built for per-thread default streams. */
static assay_str without_suffix(assay_str s, bool *per_thread)
{
	static const char *const own[] = {"_spt", "_ptsz", "_ptds"};
	*per_thread = false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(own); i++)
		if (assay_str_ends(s, own[i])) {
			s.n -= strlen(own[i]);
			*per_thread = true;
		}
	for (const char *p = s.p + s.n; p > s.p + 2; p--)
		if (p[-1] == 'v' && p[-2] == '_') { /* _v2, _v3020 */
			s.n = (size_t)(p - 2 - s.p);
			break;
		} else if (p[-1] < '0' || p[-1] > '9') {
			break;
		}
	return s;
}

assay_call assay_call_of(assay_str name)
{
	static const char *const prefix[] = {"cuda", "hip", "cu"};
	assay_call none = {ASSAY_OP_COUNT, 0, 0};
	bool per_thread;
	assay_str s = without_suffix(name, &per_thread);
	for (size_t i = 0; i < ASSAY_COUNT_OF(prefix); i++) {
		size_t n = strlen(prefix[i]);
		if (!assay_str_starts(s, prefix[i]))
			continue;
		assay_str stem = {s.p + n, s.n - n};
		for (size_t k = 0; k < ASSAY_COUNT_OF(calls); k++) {
			if (!assay_str_is(stem, calls[k].stem))
				continue;
			assay_call c = calls[k].call;
			c.flags |= per_thread ? ASSAY_REC_PER_THREAD : 0;
			return c;
		}
	}
	return none;
}

/* What follows one of the memories that are never paged out, or NULL. */
static const char *after_fixed_memory(const char *p, const char *end)
{
	static const char *const fixed[] = {"Pinned", "Device", "Array"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(fixed); i++) {
		size_t n = strlen(fixed[i]);
		if ((size_t)(end - p) > n && !memcmp(p, fixed[i], n))
			return p + n;
	}
	return NULL;
}

bool assay_copy_may_block(assay_str name)
{
	ptrdiff_t open = assay_str_find(name, "("), arrow = assay_str_find(name, " -> ");
	const char *end = name.p + name.n;
	if (open < 0 || arrow < open)
		return true;
	const char *from = after_fixed_memory(name.p + open + 1, end);
	const char *to = after_fixed_memory(name.p + arrow + 4, end);
	return from != name.p + arrow || !to || *to != ')';
}

TEST(asynchronous_copies_block_for_paged_memory_only)
{
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pinned -> Device)")));
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy DtoD (Device -> Device)")));
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy PtoP (Device -> Array)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pageable -> Device)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy DtoH (Device -> Pageable)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Host -> Device)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pinned -> Device")));
	CHECK(assay_copy_may_block(ASSAY_S("CopyDeviceToHost")));
	return 0;
}

TEST(T38_every_spelling_of_a_record_is_a_record)
{
	static const char *const names[] = {
		"hipEventRecord",          "hipEventRecord_spt",   "hipEventRecordWithFlags",
		"cudaEventRecord",         "cudaEventRecord_ptsz", "cudaEventRecordWithFlags_ptsz",
		"cudaEventRecordExternal", "cuEventRecord_v2",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		CHECK_EQ(assay_call_of(assay_str_of(names[i])).op, ASSAY_OP_RECORD);
	CHECK(assay_call_of(ASSAY_S("hipEventRecord_spt")).flags & ASSAY_REC_PER_THREAD);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaEventRecorder")).op, ASSAY_OP_COUNT);
	CHECK_EQ(assay_call_of(ASSAY_S("EventRecord")).op, ASSAY_OP_COUNT);
	return 0;
}

TEST(T17_every_kind_of_row_has_an_operation)
{
	static const struct {
		const char *name;
		int op;
	} want[] = {
		{"hipStreamWaitEvent", ASSAY_OP_WAIT},
		{"hipStreamWaitEvent_spt", ASSAY_OP_WAIT},
		{"hipEventSynchronize", ASSAY_OP_EVENT_SYNC},
		{"cudaStreamSynchronize", ASSAY_OP_STREAM_SYNC},
		{"hipDeviceSynchronize", ASSAY_OP_DEVICE_SYNC},
		{"cudaEventCreateWithFlags", ASSAY_OP_CREATE},
		{"cuStreamDestroy_v2", ASSAY_OP_STREAM_DESTROY},
		{"hipMemcpy", ASSAY_OP_COPY},
		{"cuMemcpyDtoHAsync_v2", ASSAY_OP_COPY},
		{"cudaFree", ASSAY_OP_DRAIN},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(want); i++)
		CHECK_EQ(assay_call_of(assay_str_of(want[i].name)).op, want[i].op);
	return 0;
}

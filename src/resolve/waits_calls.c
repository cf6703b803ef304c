/* Which calls order work: the rows of names/calls.def in the sweep's words. */
#include "resolve/waits_calls.h"

#include "base/test.h"
#include "names/calls.h"

static const uint8_t op_of[ASSAY_DOES_COUNT] = {
	[ASSAY_DOES_OTHER] = ASSAY_OP_COUNT,
	[ASSAY_DOES_LAUNCH] = ASSAY_OP_COUNT,
	[ASSAY_DOES_GRAPH] = ASSAY_OP_LAUNCH_GRAPH,
	[ASSAY_DOES_MAKE_GRAPH] = ASSAY_OP_MAKE_GRAPH,
	[ASSAY_DOES_GRAPH_RECORD] = ASSAY_OP_GRAPH_RECORD,
	[ASSAY_DOES_GRAPH_WAIT] = ASSAY_OP_GRAPH_WAIT,
	[ASSAY_DOES_GRAPH_CHILD] = ASSAY_OP_GRAPH_CHILD,
	[ASSAY_DOES_GRAPH_SET_RECORD] = ASSAY_OP_GRAPH_SET_RECORD,
	[ASSAY_DOES_GRAPH_SET_WAIT] = ASSAY_OP_GRAPH_SET_WAIT,
	[ASSAY_DOES_RECORD] = ASSAY_OP_RECORD,
	[ASSAY_DOES_WAIT] = ASSAY_OP_WAIT,
	[ASSAY_DOES_EVENT_SYNC] = ASSAY_OP_EVENT_SYNC,
	[ASSAY_DOES_STREAM_SYNC] = ASSAY_OP_STREAM_SYNC,
	[ASSAY_DOES_DEVICE_SYNC] = ASSAY_OP_DEVICE_SYNC,
	[ASSAY_DOES_BLOCK] = ASSAY_OP_COUNT,
	[ASSAY_DOES_EVENT_QUERY] = ASSAY_OP_EVENT_QUERY,
	[ASSAY_DOES_STREAM_QUERY] = ASSAY_OP_STREAM_QUERY,
	[ASSAY_DOES_CREATE] = ASSAY_OP_CREATE,
	[ASSAY_DOES_DESTROY] = ASSAY_OP_DESTROY,
	[ASSAY_DOES_STREAM_CREATE] = ASSAY_OP_STREAM_CREATE,
	[ASSAY_DOES_STREAM_DESTROY] = ASSAY_OP_STREAM_DESTROY,
	[ASSAY_DOES_CAPTURE_BEGIN] = ASSAY_OP_CAPTURE_BEGIN,
	[ASSAY_DOES_CAPTURE_END] = ASSAY_OP_CAPTURE_END,
	[ASSAY_DOES_HOST_FUNC] = ASSAY_OP_HOST_FUNC,
	[ASSAY_DOES_WAIT_VALUE] = ASSAY_OP_WAIT_VALUE,
	[ASSAY_DOES_WRITE_VALUE] = ASSAY_OP_WRITE_VALUE,
	[ASSAY_DOES_GRAPH_HIDES] = ASSAY_OP_GRAPH_HIDES,
	[ASSAY_DOES_IN_STREAM] = ASSAY_OP_UNSEEN,
	[ASSAY_DOES_MEMORY_WORDS] = ASSAY_OP_UNSEEN,
	[ASSAY_DOES_CHOOSE_DEVICE] = ASSAY_OP_CHOOSE_DEVICE,
	[ASSAY_DOES_IPC_EXPORT] = ASSAY_OP_IPC_EXPORT,
	[ASSAY_DOES_IPC_OPEN] = ASSAY_OP_IPC_OPEN,
	[ASSAY_DOES_COPY] = ASSAY_OP_COPY,
	[ASSAY_DOES_MEMSET] = ASSAY_OP_COPY,
	[ASSAY_DOES_PREFETCH] = ASSAY_OP_UNSEEN,
	[ASSAY_DOES_ALLOC] = ASSAY_OP_DRAIN,
	[ASSAY_DOES_FREE] = ASSAY_OP_DRAIN,
	[ASSAY_DOES_LOAD] = ASSAY_OP_DRAIN,
};

assay_call assay_call_of(assay_str name)
{
	assay_call_meaning m = assay_call_meaning_of(name.p, name.n);
	uint32_t own = m.per_thread ? ASSAY_REC_PER_THREAD : 0;
	assay_call c = {op_of[m.does], m.takes, own};
	bool may_hold = c.op == ASSAY_OP_COPY || c.op == ASSAY_OP_DRAIN;
	bool moves = m.does == ASSAY_DOES_COPY || m.does == ASSAY_DOES_MEMSET;
	bool queues = moves && !assay_str_starts(name, "hsa");
	if (m.async && (m.does == ASSAY_DOES_ALLOC || m.does == ASSAY_DOES_FREE))
		return (assay_call){m.does == ASSAY_DOES_FREE ? ASSAY_OP_POOL_FREE
							      : ASSAY_OP_POOL_ALLOC,
				    ASSAY_CALL_STREAM, own};
	if (may_hold && m.blocks == ASSAY_BLOCKS_NEVER)
		return (assay_call){ASSAY_OP_COUNT, queues ? ASSAY_CALL_QUEUES : 0,
				    own | (m.does == ASSAY_DOES_MEMSET ? ASSAY_REC_FILL : 0)};
	c.takes |= queues ? ASSAY_CALL_QUEUES : 0;
	if (m.does == ASSAY_DOES_LAUNCH && assay_str_ends(name, "MultiDevice"))
		c.flags |= ASSAY_REC_TOGETHER;
	c.flags |= m.does == ASSAY_DOES_MEMSET ? ASSAY_REC_FILL : 0;
	if (m.does == ASSAY_DOES_COPY && m.blocks == ASSAY_BLOCKS_DEVICE &&
	    assay_str_find(name, "Peer") >= 0)
		c.flags |= ASSAY_REC_EVERYWHERE;
	/* events of nodes, and of attributes, that no call tells of */
	if (m.does == ASSAY_DOES_GRAPH ||
	    (m.does == ASSAY_DOES_LAUNCH && assay_str_find(name, "KernelEx") >= 0))
		c.flags |= ASSAY_REC_MAY_RECORD;
	if (c.op == ASSAY_OP_COPY && m.blocks == ASSAY_BLOCKS_ALWAYS)
		c.flags |= ASSAY_REC_MUST_BLOCK;
	c.takes |= m.blocks == ASSAY_BLOCKS_BACK    ? ASSAY_CALL_SYNC_COPY
		   : m.blocks == ASSAY_BLOCKS_PAGED ? ASSAY_CALL_ASYNC_COPY
						    : 0;
	return c;
}

TEST(a_copy_should_be_among_the_work_whether_or_not_its_call_waits)
{
	static const struct {
		const char *name;
		bool queues;
	} calls[] = {
		{"cudaMemcpy", true},
		{"hipMemcpyAsync", true},
		{"cuMemcpyDtoH_v2", true},
		{"hipMemcpyWithStream", true},
		{"cudaMemset", true},
		{"hipMemsetD32Async", true},
		{"hsa_amd_memory_async_copy", false},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(calls); i++)
		CHECK_EQ((assay_call_of(assay_str_of(calls[i].name)).takes & ASSAY_CALL_QUEUES) !=
				 0,
			 calls[i].queues);
	return 0;
}

TEST(pools_copies_and_launches_are_told_by_their_names)
{
	CHECK_EQ(assay_call_of(ASSAY_S("hipFreeAsync")).op, ASSAY_OP_POOL_FREE);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaMallocAsync")).op, ASSAY_OP_POOL_ALLOC);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaMallocFromPoolAsync")).op, ASSAY_OP_POOL_ALLOC);
	CHECK_EQ(assay_call_of(ASSAY_S("hipFree")).op, ASSAY_OP_DRAIN);
	CHECK(assay_call_of(ASSAY_S("cudaLaunchKernelExC")).flags & ASSAY_REC_MAY_RECORD);
	CHECK(assay_call_of(ASSAY_S("hipGraphLaunch")).flags & ASSAY_REC_MAY_RECORD);
	CHECK(!(assay_call_of(ASSAY_S("cudaLaunchKernel")).flags & ASSAY_REC_MAY_RECORD));
	uint32_t how = ASSAY_CALL_SYNC_COPY | ASSAY_CALL_ASYNC_COPY;
	CHECK_EQ(assay_call_of(ASSAY_S("cudaMemcpy")).takes & how, ASSAY_CALL_SYNC_COPY);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaMemcpyAsync")).takes & how, ASSAY_CALL_ASYNC_COPY);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaMemset")).takes & how, 0);
	return 0;
}

TEST(every_spelling_of_a_record_is_a_record)
{
	static const char *const names[] = {
		"hipEventRecord",          "hipEventRecord_spt",   "hipEventRecordWithFlags",
		"cudaEventRecord",         "cudaEventRecord_ptsz", "cudaEventRecordWithFlags_ptsz",
		"cudaEventRecordExternal", "cuEventRecord_v2",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		CHECK_EQ(assay_call_of(assay_str_of(names[i])).op, ASSAY_OP_RECORD);
	CHECK(assay_call_of(ASSAY_S("hipEventRecord_spt")).flags & ASSAY_REC_PER_THREAD);
	CHECK(assay_call_of(ASSAY_S("hipMemsetAsync_spt")).flags & ASSAY_REC_PER_THREAD);
	CHECK(assay_call_of(ASSAY_S("hipLaunchCooperativeKernelMultiDevice")).flags &
	      ASSAY_REC_TOGETHER);
	CHECK_EQ(assay_call_of(ASSAY_S("hipLaunchCooperativeKernel")).flags, 0);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaLaunchKernelExC")).flags, ASSAY_REC_MAY_RECORD);
	CHECK_EQ(assay_call_of(ASSAY_S("cuGraphLaunch")).flags, ASSAY_REC_MAY_RECORD);
	CHECK_EQ(assay_call_of(ASSAY_S("cudaEventRecorder")).op, ASSAY_OP_COUNT);
	CHECK_EQ(assay_call_of(ASSAY_S("EventRecord")).op, ASSAY_OP_COUNT);
	return 0;
}

TEST(every_kind_of_row_has_an_operation)
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

/* What idle time calls a wait stands in the same rows, in another column. */
TEST(every_call_that_waits_for_the_resolver_waits_for_idle_time)
{
	static const char *const stems[] = {
#define CALL(stem, does, blocks, takes) stem,
#include "names/calls.def"
#undef CALL
	};
	size_t waits = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(stems); i++) {
		char name[96];
		int n = snprintf(name, sizeof name, "cuda%.*s", (int)strcspn(stems[i], "*"),
				 stems[i]);
		assay_call c = assay_call_of((assay_str){name, (size_t)n});
		bool wait = c.op == ASSAY_OP_EVENT_SYNC || c.op == ASSAY_OP_STREAM_SYNC ||
			    c.op == ASSAY_OP_DEVICE_SYNC || c.flags & ASSAY_REC_MUST_BLOCK;
		CHECK(!wait || assay_call_is_wait(assay_call_meaning_of(name, (size_t)n)));
		waits += wait;
	}
	CHECK(waits > 5);
	return 0;
}

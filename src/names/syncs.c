#include "names/syncs.h"

#include "base/test.h"
#include "names/calls.h"

const char *const assay_sync_name[ASSAY_SYNC_COUNT] = {
#define X(id, name, does) name,
	ASSAY_SYNCS(X)
#undef X
};

assay_sync assay_sync_of(assay_str name)
{
	for (int i = 0; i < ASSAY_SYNC_COUNT; i++)
		if (assay_str_is(name, assay_sync_name[i]))
			return (assay_sync)i;
	return ASSAY_SYNC_UNKNOWN;
}

assay_sync assay_sync_of_call(assay_str call)
{
	static const uint8_t of[ASSAY_DOES_COUNT] = {
#define X(id, name, does) [ASSAY_DOES_##does] = ASSAY_SYNC_##id,
		ASSAY_SYNCS(X)
#undef X
	};
	return of[assay_call_meaning_of(call.p, call.n).does];
}

TEST(waits_have_one_name_whoever_tells_of_them)
{
	CHECK_EQ(assay_sync_of(ASSAY_S("Stream Wait Event")), ASSAY_SYNC_STREAM_WAIT);
	CHECK_EQ(assay_sync_of(ASSAY_S("Stream Wait")), ASSAY_SYNC_UNKNOWN);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cudaStreamWaitEvent_v3020")), ASSAY_SYNC_STREAM_WAIT);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("hipEventSynchronize")), ASSAY_SYNC_EVENT);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cuStreamSynchronize_ptsz")), ASSAY_SYNC_STREAM);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cuCtxSynchronize")), ASSAY_SYNC_CONTEXT);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cudaThreadSynchronize_v3020")), ASSAY_SYNC_CONTEXT);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cudaEventQuery_v3020")), ASSAY_SYNC_UNKNOWN);
	CHECK_EQ(assay_sync_of_call(ASSAY_S("cudaMemcpy_v3020")), ASSAY_SYNC_UNKNOWN);
	return 0;
}

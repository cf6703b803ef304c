/* Any bytes as a program of XLA (HloProto) in a profile with a launched graph: its instructions,
 * their work, and what the graph's work is made of. */
#include <math.h>
#include <stdlib.h>

#include "base/proto.h"
#include "model/by_hand.h"
#include "read/reader.h"
#include "work/captures.h"

enum { SPACE_PLANE = 1, PLANE_NAME = 2, PLANE_EVENTS = 4, PLANE_STATS = 5, KEY = 1, VALUE = 2 };
enum { EVENT_ID = 1, EVENT_NAME = 2, EVENT_STATS = 5, STAT_ID = 1, STAT_NAME = 2, STAT_BYTES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_entry(assay_protow *plane, uint32_t field, assay_protow *value)
{
	size_t entry = assay_protow_open(plane, field);
	assay_protow_varint(plane, KEY, 1);
	assay_protow_message(plane, VALUE, value);
	assay_protow_close(plane, entry);
}

/* A profile whose plane of metadata has the program. */
static assay_protow profile_of(assay_str program)
{
	assay_protow space = {0}, plane = {0}, value = {0};
	assay_protow_string(&plane, PLANE_NAME, ASSAY_S("/host:metadata"));
	assay_protow_varint(&value, STAT_ID, 1);
	assay_protow_string(&value, STAT_NAME, ASSAY_S("Hlo Proto"));
	put_entry(&plane, PLANE_STATS, &value);
	assay_protow_varint(&value, EVENT_ID, 1);
	assay_protow_string(&value, EVENT_NAME, ASSAY_S("jit_step(1)"));
	size_t stat = assay_protow_open(&value, EVENT_STATS);
	assay_protow_varint(&value, STAT_ID, 1);
	assay_protow_bytes(&value, STAT_BYTES, program);
	assay_protow_close(&value, stat);
	put_entry(&plane, PLANE_EVENTS, &value);
	assay_protow_message(&space, SPACE_PLANE, &plane);
	assay_protow_free(&value);
	assay_protow_free(&plane);
	return space;
}

/* Not known (NaN), or a number. */
static void check_work(const assay_run *run)
{
	const assay_captured_table *t = &run->part.t.captured;
	for (size_t i = 0; i < t->n; i++)
		if (isinf(t->flops[i]) || isinf(t->bytes[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_protow space = profile_of((assay_str){(const char *)data, size});
	assay_run *run = assay_read_bytes(&assay_reader_xplane, space.out.p, space.out.n);
	uint32_t launch =
		assay_hand_host(run, ASSAY_HOST_DRIVER, "cuGraphLaunch (CudaGraph:48)", 0, 1);
	assay_hand_gpu(run, "sm90_gemm", 10, 5, launch);
	assay_hand_gpu(run, "loop_multiply_fusion", 20, 5, launch);
	assay_captures c = {0};
	assay_captures_take_programs(&c, run);
	assay_captures_give(&c, run);
	assay_captures_free(&c);
	check_work(run);
	assay_run_free(run);
	assay_protow_free(&space);
	return 0;
}

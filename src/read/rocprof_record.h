/* One record of a rocprofv3 results.json: the numbers of every kind of record, by slot. */
#ifndef ASSAY_READ_ROCPROF_RECORD_H
#define ASSAY_READ_ROCPROF_RECORD_H

#include "base/input.h"
#include "base/json.h"

typedef enum assay_rocprof_slot {
	SLOT_SIZE, /* of the record in the profiler's memory */
	SLOT_KIND,
	SLOT_OPERATION,
	SLOT_THREAD,
	SLOT_INTERNAL,
	SLOT_EXTERNAL,
	SLOT_START,
	SLOT_END,
	SLOT_AGENT,
	SLOT_QUEUE,
	SLOT_STREAM,
	SLOT_KERNEL,
	SLOT_DISPATCH,
	SLOT_PRIVATE,
	SLOT_GROUP,
	SLOT_BLOCK_X,
	SLOT_BLOCK_Y,
	SLOT_BLOCK_Z,
	SLOT_GRID_X,
	SLOT_GRID_Y,
	SLOT_GRID_Z,
	SLOT_DST_AGENT,
	SLOT_SRC_AGENT,
	SLOT_BYTES,
	SLOT_ADDRESS,
	SLOT_GRAPH,
	SLOT_GRAPH_NODE,
	SLOT_EVENT,
	SLOT_SOURCE_QUEUE,
	SLOT_COUNT,
	SLOT_ARGS = SLOT_COUNT, /* raw text from here on */
	SLOT_RETVAL,
	SLOT_RECORDS,
	SLOT_END_RAW,
} assay_rocprof_slot;

typedef struct assay_rocprof_record {
	uint64_t v[SLOT_COUNT];
	assay_str raw[SLOT_END_RAW - SLOT_ARGS]; /* JSON text, lives as long as the text parsed */
	uint64_t seen;                           /* bit per slot */
	uint32_t bad_numbers;
} assay_rocprof_record;

static inline bool assay_rocprof_has(const assay_rocprof_record *r, assay_rocprof_slot slot)
{
	return r->seen >> slot & 1;
}

static inline uint64_t assay_rocprof_get(const assay_rocprof_record *r, assay_rocprof_slot slot,
					 uint64_t absent)
{
	return assay_rocprof_has(r, slot) ? r->v[slot] : absent;
}

static inline assay_str assay_rocprof_raw(const assay_rocprof_record *r, assay_rocprof_slot slot)
{
	return r->raw[slot - SLOT_ARGS];
}

/* Fit for assay_json_stream_take(). ctx is the record, cleared first; false when it is no object.
 */
bool assay_rocprof_record_parse(assay_json *j, void *ctx);

/* A number, or an object that wraps one: {"handle": 7}. False when it is neither. */
bool assay_rocprof_number(assay_json *j, uint64_t *out);

#endif

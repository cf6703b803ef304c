/* One record of a rocprofv3 results.json: the numbers of every kind of record, by slot. */
#ifndef ASSAY_READ_ROCPROF_RECORD_H
#define ASSAY_READ_ROCPROF_RECORD_H

#include "base/assert.h"
#include "base/cpu.h"
#include "base/input.h"
#include "base/json.h"

typedef enum assay_rocprof_slot {
	ASSAY_SLOT_SIZE, /* of the record in the profiler's memory */
	ASSAY_SLOT_KIND,
	ASSAY_SLOT_OPERATION,
	ASSAY_SLOT_THREAD,
	ASSAY_SLOT_INTERNAL,
	ASSAY_SLOT_EXTERNAL,
	ASSAY_SLOT_START,
	ASSAY_SLOT_END,
	ASSAY_SLOT_AGENT,
	ASSAY_SLOT_QUEUE,
	ASSAY_SLOT_STREAM,
	ASSAY_SLOT_KERNEL,
	ASSAY_SLOT_DISPATCH,
	ASSAY_SLOT_PRIVATE,
	ASSAY_SLOT_GROUP,
	ASSAY_SLOT_BLOCK_X,
	ASSAY_SLOT_BLOCK_Y,
	ASSAY_SLOT_BLOCK_Z,
	ASSAY_SLOT_GRID_X,
	ASSAY_SLOT_GRID_Y,
	ASSAY_SLOT_GRID_Z,
	ASSAY_SLOT_DST_AGENT,
	ASSAY_SLOT_SRC_AGENT,
	ASSAY_SLOT_BYTES,
	ASSAY_SLOT_ADDRESS,
	ASSAY_SLOT_GRAPH,
	ASSAY_SLOT_GRAPH_NODE,
	ASSAY_SLOT_EVENT,
	ASSAY_SLOT_SOURCE_QUEUE,
	ASSAY_SLOT_COUNT,
	ASSAY_SLOT_ARGS = ASSAY_SLOT_COUNT, /* raw text from here on */
	ASSAY_SLOT_RETVAL,
	ASSAY_SLOT_RECORDS,
	ASSAY_SLOT_END_RAW,
} assay_rocprof_slot;

typedef struct assay_rocprof_record {
	uint64_t v[ASSAY_SLOT_COUNT];
	assay_str raw[ASSAY_SLOT_END_RAW -
		      ASSAY_SLOT_ARGS]; /* JSON text, lives as long as the text parsed */
	uint64_t seen;                  /* bit per slot */
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
	ASSAY_ASSERT_CHECKED(slot >= ASSAY_SLOT_ARGS);
	return r->raw[slot - ASSAY_SLOT_ARGS];
}

/* Fit for assay_json_stream_take(). ctx is the record, cleared first; false when it is no
 * object. */
typedef bool assay_rocprof_parser(assay_json *j, void *ctx);
#define X(isa) assay_rocprof_parser assay_rocprof_record_parse_##isa;
ASSAY_ISAS(X)
#undef X
assay_rocprof_parser *assay_rocprof_record_parser(void);

/* A number, or an object that wraps one: {"handle": 7}. False when it is neither. */
static inline bool assay_rocprof_number(assay_json *j, uint64_t *out)
{
	static const char handle[] = "{\"handle\":";
	enum { HANDLE = sizeof handle - 1 };
	if (assay_json_peek(j) != '{')
		return assay_json_u64(j, out);
	if (j->end - j->p > HANDLE && !memcmp(j->p, handle, HANDLE)) {
		const assay_json before = *j;
		j->p += HANDLE;
		if (assay_json_u64(j, out) && j->p < j->end && *j->p == '}') {
			j->p++;
			return true;
		}
		*j = before;
	}
	bool got = false;
	assay_str key;
	for (assay_json_enter(j, '{'); assay_json_member(j, &key);) {
		if (assay_str_is(key, "handle") || assay_str_is(key, "value"))
			got |= assay_json_u64(j, out);
		else
			assay_json_skip(j, NULL);
	}
	return got;
}

#endif

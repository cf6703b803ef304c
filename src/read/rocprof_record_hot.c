/* Records differ by version and kind only in which members they have, so one table reads them all.
 * Compiled once per instruction set: finding quotes and brackets is most of the work.
 *
 * A writer puts members in the order of the table, without white space: the text of the next key is
 * compared as a whole, and only where something else stands is the key looked for. */
#include "read/rocprof_record.h"

enum { TEXT_MAX = 24 }; /* bytes of the longest key with what stands around it */

typedef struct field {
	assay_str key;
	char text[TEXT_MAX + 1 + 8]; /* as a writer puts it: ,"key": */
	assay_rocprof_slot slot;
	const struct field *inside; /* members of an object whose numbers have slots */
} field;

#define KEY(text) {text, sizeof text - 1}, ",\"" text "\":"
#define LAST                                                                                       \
	{                                                                                          \
		{NULL, 0}, "", ASSAY_SLOT_END_RAW, NULL                                            \
	}

static const field correlation[] = {{KEY("internal"), ASSAY_SLOT_INTERNAL, NULL},
				    {KEY("external"), ASSAY_SLOT_EXTERNAL, NULL},
				    LAST};
static const field block[] = {{KEY("x"), ASSAY_SLOT_BLOCK_X, NULL},
			      {KEY("y"), ASSAY_SLOT_BLOCK_Y, NULL},
			      {KEY("z"), ASSAY_SLOT_BLOCK_Z, NULL},
			      LAST};
static const field grid[] = {{KEY("x"), ASSAY_SLOT_GRID_X, NULL},
			     {KEY("y"), ASSAY_SLOT_GRID_Y, NULL},
			     {KEY("z"), ASSAY_SLOT_GRID_Z, NULL},
			     LAST};
static const field dispatch_info[] = {{KEY("size"), ASSAY_SLOT_SIZE, NULL},
				      {KEY("agent_id"), ASSAY_SLOT_AGENT, NULL},
				      {KEY("queue_id"), ASSAY_SLOT_QUEUE, NULL},
				      {KEY("kernel_id"), ASSAY_SLOT_KERNEL, NULL},
				      {KEY("dispatch_id"), ASSAY_SLOT_DISPATCH, NULL},
				      {KEY("private_segment_size"), ASSAY_SLOT_PRIVATE, NULL},
				      {KEY("group_segment_size"), ASSAY_SLOT_GROUP, NULL},
				      {KEY("workgroup_size"), ASSAY_SLOT_COUNT, block},
				      {KEY("grid_size"), ASSAY_SLOT_COUNT, grid},
				      LAST};
static const field dispatch_data[] = {{KEY("correlation_id"), ASSAY_SLOT_COUNT, correlation},
				      {KEY("start_timestamp"), ASSAY_SLOT_START, NULL},
				      {KEY("end_timestamp"), ASSAY_SLOT_END, NULL},
				      {KEY("dispatch_info"), ASSAY_SLOT_COUNT, dispatch_info},
				      LAST};
static const field record[] = {{KEY("size"), ASSAY_SLOT_SIZE, NULL},
			       {KEY("kind"), ASSAY_SLOT_KIND, NULL},
			       {KEY("operation"), ASSAY_SLOT_OPERATION, NULL},
			       {KEY("thread_id"), ASSAY_SLOT_THREAD, NULL},
			       {KEY("correlation_id"), ASSAY_SLOT_COUNT, correlation},
			       {KEY("start_timestamp"), ASSAY_SLOT_START, NULL},
			       {KEY("end_timestamp"), ASSAY_SLOT_END, NULL},
			       {KEY("dispatch_info"), ASSAY_SLOT_COUNT, dispatch_info},
			       {KEY("dispatch_data"), ASSAY_SLOT_COUNT, dispatch_data},
			       {KEY("records"), ASSAY_SLOT_RECORDS, NULL},
			       {KEY("agent_id"), ASSAY_SLOT_AGENT, NULL},
			       {KEY("queue_id"), ASSAY_SLOT_QUEUE, NULL},
			       {KEY("stream_id"), ASSAY_SLOT_STREAM, NULL},
			       {KEY("dst_agent_id"), ASSAY_SLOT_DST_AGENT, NULL},
			       {KEY("src_agent_id"), ASSAY_SLOT_SRC_AGENT, NULL},
			       {KEY("bytes"), ASSAY_SLOT_BYTES, NULL},
			       {KEY("address"), ASSAY_SLOT_ADDRESS, NULL},
			       {KEY("allocation_size"), ASSAY_SLOT_BYTES, NULL},
			       {KEY("graph_exec_id"), ASSAY_SLOT_GRAPH, NULL},
			       {KEY("graph_node_id"), ASSAY_SLOT_GRAPH_NODE, NULL},
			       {KEY("hip_event_handle"), ASSAY_SLOT_EVENT, NULL},
			       {KEY("source_queue_id"), ASSAY_SLOT_SOURCE_QUEUE, NULL},
			       {KEY("args"), ASSAY_SLOT_ARGS, NULL},
			       {KEY("retval"), ASSAY_SLOT_RETVAL, NULL},
			       LAST};

/* Members come in the order of the table more often than not: look on from the last hit first. */
static const field *find(const field *all, const field *from, assay_str key)
{
	for (const field *f = from; f->key.p; f++)
		if (assay_str_eq(f->key, key))
			return f;
	for (const field *f = all; f < from; f++)
		if (assay_str_eq(f->key, key))
			return f;
	return NULL;
}

static void read_value(assay_json *j, assay_rocprof_record *r, assay_rocprof_slot slot)
{
	if (slot >= ASSAY_SLOT_ARGS) {
		if (assay_json_skip(j, &r->raw[slot - ASSAY_SLOT_ARGS]))
			r->seen |= 1ull << slot;
	} else if (assay_json_peek(j) == 'n') {
		assay_json_skip(j, NULL); /* null */
	} else if (assay_rocprof_number(j, &r->v[slot])) {
		r->seen |= 1ull << slot;
	} else {
		r->bad_numbers++;
	}
}

/* Whether the first n bytes are the same, of TEXT_MAX that are readable at both. */
static inline bool same_text(const char *a, const char *b, size_t n)
{
	static const char ones[2 * TEXT_MAX] =
		"\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377";
	uint64_t differ = 0, x, y, mask;
	for (size_t i = 0; i < TEXT_MAX; i += sizeof x) {
		memcpy(&x, a + i, sizeof x);
		memcpy(&y, b + i, sizeof y);
		memcpy(&mask, ones + TEXT_MAX - n + i, sizeof mask);
		differ |= (x ^ y) & mask;
	}
	return !differ;
}

/* Step over `,"key":` when just that stands here, as the writer puts it. */
static bool guessed(assay_json *j, const field *f)
{
	size_t n = f->key.n + 4 - j->fresh;
	if (!f->key.n || !assay_json_ok(j) || (size_t)(j->end - j->p) <= n ||
	    !same_text(j->p, f->text + j->fresh, n))
		return false;
	j->p += n;
	j->fresh = false;
	return true;
}

static void read_members(assay_json *j, assay_rocprof_record *r, const field *fields)
{
	assay_str key;
	const field *from = fields;
	assay_json_enter(j, '{');
	for (bool sure; (sure = guessed(j, from)) || assay_json_member(j, &key);) {
		const field *f = sure ? from : find(fields, from, key);
		if (f)
			from = f + 1;
		if (!f || (f->inside && assay_json_peek(j) != '{'))
			assay_json_skip(j, NULL);
		else if (f->inside)
			read_members(j, r, f->inside);
		else
			read_value(j, r, f->slot);
	}
}

bool ASSAY_ISA_NAME(assay_rocprof_record_parse)(assay_json *j, void *ctx)
{
	assay_rocprof_record *r = ctx;
	r->seen = 0;
	r->bad_numbers = 0;
	memset(r->raw, 0, sizeof r->raw);
	char c = assay_json_peek(j);
	if (c != '{')
		return c ? false : json_fail(j);
	read_members(j, r, record);
	return true;
}

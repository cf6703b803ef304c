/* Facts of the XPlane format that its reader and its writer share. docs/formats/xplane.md */
#ifndef ASSAY_MODEL_XPLANE_H
#define ASSAY_MODEL_XPLANE_H

#include "base/json.h"
#include "base/proto.h"
#include "model/run.h"

/* Field numbers, package tensorflow.profiler. */
enum { XSPACE_PLANES = 1, XSPACE_ERRORS, XSPACE_WARNINGS, XSPACE_HOSTNAMES };
enum {
	XPLANE_ID = 1,
	XPLANE_NAME,
	XPLANE_LINES,
	XPLANE_EVENT_META,
	XPLANE_STAT_META,
	XPLANE_STATS
};
enum {
	XLINE_ID = 1,
	XLINE_NAME,
	XLINE_TIMESTAMP_NS,
	XLINE_EVENTS,
	XLINE_DURATION_PS = 9,
	XLINE_DISPLAY_ID,
	XLINE_DISPLAY_NAME
};
enum { XEVENT_META = 1, XEVENT_OFFSET_PS, XEVENT_DURATION_PS, XEVENT_STATS, XEVENT_OCCURRENCES };
enum { XSTAT_META = 1, XSTAT_DOUBLE, XSTAT_UINT64, XSTAT_INT64, XSTAT_STR, XSTAT_BYTES, XSTAT_REF };
/* A list, an object or a word of JSON as a text that events refer to has a space in front: a text
 * that looks like one has none. */
enum { XSTAT_JSON_MARK = ' ' };
static inline bool xstat_is_json(assay_str text)
{
	if (text.n <= 2 || text.p[0] != XSTAT_JSON_MARK)
		return false;
	assay_str value = {text.p + 1, text.n - 1};
	return value.p[0] == '[' || value.p[0] == '{' || assay_json_is_word(value);
}
enum {
	XMETA_ID = 1,
	XMETA_NAME,
	XMETA_BYTES, /* of an event's; a stat's description */
	XMETA_DISPLAY_NAME,
	XMETA_STATS,
	XMETA_CHILD_ID
};
enum { XENTRY_KEY = 1, XENTRY_VALUE };

/* Event stats that have a column, or decide what an event is. X(id, name) */
#define XPLANE_STATS_KNOWN(X)                                                                      \
	X(CORR, "correlation_id")                                                                  \
	X(SCOPE, "scope_range_id")                                                                 \
	X(KERNEL, "kernel_details")                                                                \
	X(MEMCPY, "memcpy_details")                                                                \
	X(MEMSET, "Memset_details")                                                                \
	X(ALLOC, "memalloc_details")                                                               \
	X(FREE, "MemFree_details")                                                                 \
	X(RESIDENCY, "MemoryResidency_details")                                                    \
	X(GRAPH, "cuda_graph_id")                                                                  \
	X(NODE, "cuda_graph_node_id")                                                              \
	X(EXEC, "cuda_graph_exec_id")                                                              \
	X(CONTEXT, "context_id")                                                                   \
	X(DEVICE, "device_id")                                                                     \
	X(STEP_NUM, "step_num")                                                                    \
	X(ROOT, "_r")                                                                              \
	X(SOURCE, "_src")                                                                          \
	X(PRODUCER, "_pt")                                                                         \
	X(CONSUMER, "_ct")                                                                         \
	X(CAT, "cat")                                                                              \
	X(EXTERNAL, "External id")                                                                 \
	X(SEQ, "Sequence number")                                                                  \
	X(FWD_THREAD, "Fwd thread id")                                                             \
	X(EV_IDX, "Ev Idx")                                                                        \
	X(PY_ID, "Python id")                                                                      \
	X(PY_PARENT, "Python parent id")                                                           \
	X(CBID, "cbid")                                                                            \
	X(QUEUE, "queue")                                                                          \
	X(DISPATCH, "dispatch")                                                                    \
	X(STREAM, "stream")                                                                        \
	X(WAIT_STREAM, "wait_stream")                                                              \
	X(WAIT_EVENT, "wait_event")                                                                \
	X(RECORD_CORR, "record_correlation_id")                                                    \
	X(SYNC_ID, "sync_id")                                                                      \
	X(STATUS, "status")                                                                        \
	X(PROCESS, "process")                                                                      \
	X(THREAD, "thread")                                                                        \
	X(CALL_CORR, "call_correlation_id")                                                        \
	X(OPERATION, "operation")                                                                  \
	X(ALLOCATOR, "allocator_name")                                                             \
	X(ADDRESS, "addr")                                                                         \
	X(BYTES, "allocation_bytes")                                                               \
	X(TOTAL, "bytes_allocated")                                                                \
	X(COMPUTED, "bytes_computed")                                                              \
	X(AVAILABLE, "bytes_available")                                                            \
	X(RESERVED, "reserved_bytes")                                                              \
	X(PEAK, "peak_bytes_in_use")                                                               \
	X(REGION, "region_type")                                                                   \
	X(HLO_RECORDED, "hlo_op_recorded")                                                         \
	X(INFERRED, "scope_inferred")                                                              \
	X(CLASS, "resolve_class")                                                                  \
	X(FOUND, "assay_found")                                                                    \
	X(MADE, "assay_made")                                                                      \
	X(STEP_ORIGIN, "step_origin")                                                              \
	X(STACK, "assay_stack")                                                                    \
	X(LOOK, "assay_look")

typedef enum xplane_stat {
#define X(id, name) XPLANE_##id,
	XPLANE_STATS_KNOWN(X)
#undef X
		XPLANE_STAT_COUNT
} xplane_stat;

extern const char *const xplane_stat_name[XPLANE_STAT_COUNT];

/* The stats that say which operator an event is of, and what that one does. An event with
 * MADE has none of its own behind it: our writer made those. */
bool xplane_is_label(assay_str stat);
/* By source, and one behind the last: XLA wrote the file, its events say which operator they are
 * of. */
void xplane_find_xla(const assay_run *run, bool *xla);

/* Levels of a path of scopes; what lies deeper counts in the last one. */
enum { XPLANE_PATH_MAX = 64 };
/* The scope around it by the ids that a trace carries, as xprof follows them. */
uint32_t xplane_scope_above(const assay_scope_table *s, uint32_t scope);
/* A scope's name as part of a path: "::" separates levels and a '#' at the end would open a
 * metadata block, and neither can be escaped. slash: '/' separates too. */
void xplane_add_clean(assay_protow *to, assay_str name, char slash);
/* "train/forward/linear", which is what frameworks call an operator; numbers of instances are left
 * out. ASSAY_NO_ROW: "no scope". */
void xplane_add_framework_name(assay_protow *to, const assay_run *run, uint32_t scope);

/* xprof keeps these line ids for rows it derives itself; ids are compared as 32-bit numbers. */
bool xplane_line_is_derived(int64_t id, assay_str name);

#define XPLANE_HOST       "/host:CPU"
#define XPLANE_GPU        "/device:GPU:"
#define XPLANE_SCOPE_TREE "/host:__ScopeRangeCallStack__"
#define XPLANE_TASK       "Task Environment"
#define XPLANE_METADATA   "/host:metadata" /* HLO modules */
/* Ours: rows of a device that are no work, where no viewer counts them as work. The number of the
 * device follows. */
#define XPLANE_BESIDE       "/device:CUSTOM:assay "
#define XPLANE_COUNTER_LINE "_counters_"
/* Ours: what other formats say of themselves, a stat each. Viewers know no such plane. */
#define XPLANE_FACTS "/assay:facts"
/* Of further inputs, " <input>" follows. These are no facts of headers, but numbers of source. */
enum { XPLANE_RANK, XPLANE_WORLD, XPLANE_ZEROS, XPLANE_NUMBERS };
extern const char *const xplane_number_name[XPLANE_NUMBERS];
/* Nor is this: the rows of device, of which only those with work have a plane, a list of [id,
 * memory, units, warp, name, vendor, arch]. */
#define XPLANE_DEVICES "assay_devices"
/* Nor this: the rows of stream, a list of objects (model/streams.h); times as those of events. */
#define XPLANE_STREAMS "assay_streams"
/* Stats of planes that hold rows of several inputs: the input of a plane, where it is not the
 * first; the number it gives the device, where the plane has another; of the host, threads that are
 * not what their line says: a list of [number of the line, input, process, thread]. */
#define XPLANE_INPUT      "assay_input"
#define XPLANE_DEVICE_ID  "assay_device"
#define XPLANE_THREADS    "assay_threads"
#define XPLANE_STEPS_LINE "Steps"

/* Stat of an AMD GPU's plane, whose gpu_device_name is the architecture: what it is sold as. */
#define XPLANE_PRODUCT "assay_product"

/* Stat "cat" of events on such a plane. */
#define XPLANE_CAT_SYNC "sync"
#define XPLANE_CAT_MARK "gpu_user_annotation"

/* The plane of looks at host threads (ASSAY_LOOK_CATEGORY), and its stat with all stacks. */
#define XPLANE_LOOKS XPLANE_BESIDE "looks"
/* xprof shows such planes of one number as one, and has numbers up to this: those of no device
 * count down from it. */
enum { XPLANE_BESIDE_LAST = 199 };
#define XPLANE_FRAMES "stackFrames"
/* End of the name of a line beside a thread: what it was seen doing, made of the looks. */
#define XPLANE_LANE "/seen"

/* The same on a thread: a step that no range marks, and no range itself. */
#define XPLANE_CAT_STEP "step"

/* And memory, in events whose names xprof's memory profile looks for. */
#define XPLANE_CAT_ALLOC  "memory"
#define XPLANE_ALLOCATED  "MemoryAllocation"
#define XPLANE_FREED      "MemoryDeallocation"
#define XPLANE_GPU_MEMORY "GPU_" /* the number of the device follows */

/* In kept.bytes other metadata is named, for ids are given out anew: a stat has the name, as bytes,
 * where its id stands in a file, and in front of its other fields; a child of an event's metadata
 * is its name, as bytes. */

/* Start of warnings in a file that its writer, not its recorder, gives. */
#define XPLANE_OUR_WARNING "assay: "

/* kept.place of what belongs to the file as a whole. */
#define XPLANE_KEPT_SPACE "(file)"

#endif

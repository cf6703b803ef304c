/* The parts of the Perfetto writer, shared between its files only. */
#ifndef ASSAY_WRITE_PERFETTO_H
#define ASSAY_WRITE_PERFETTO_H

#include "base/map.h"
#include "base/proto.h"
#include "model/perfetto.h"
#include "model/grid.h"
#include "write/sources.h"
#include "write/writer.h"

/* Things drawn on one line: rows of a table. */
typedef enum {
	ON_HOST,
	ON_GPU,
	ON_SYNC,
	ON_MARK,
	ON_ARRIVAL,
	ON_WAIT,
	ON_HOST_WAIT,
	ON_LOOK
} item_table;

typedef struct item {
	uint32_t track; /* row of track */
	uint8_t table;
	uint32_t row; /* ARRIVAL: of edge; WAIT, HOST_WAIT: of wait; LOOK: of sample */
	int64_t ts, end;
} item;

/* Annotations as bytes, in perfetto.args. */
typedef struct perfetto_args {
	size_t at, n;
} perfetto_args;

/* Arguments that many events have, as annotations of one sequence. */
typedef struct perfetto_made_args {
	assay_sid args;
	uint32_t sequence, batch;
	perfetto_args made;
} perfetto_made_args;
enum { PERFETTO_MADE_ARGS = 1024 };

/* An event that waits to be written, or the beginning or end of a long line of them. */
typedef struct perfetto_event {
	uint64_t uuid; /* of its track; 0: the line's */
	uint64_t time; /* since the last of the line by the line's clock; by another since 1970 */
	uint32_t row, sequence, category, name, stack; /* the last three: numbers in the sequence */
	uint8_t table, type;
	uint8_t clock; /* that the packet must name; of a beginning, the line's */
	perfetto_args args;
} perfetto_event;
enum { PERFETTO_LINE_BEGIN = 0x80, PERFETTO_LINE_END }; /* types of our own */

/* What one track is told in a row. A long one has a clock that counts from event to event, and its
 * track is its sequence's default. */
typedef struct perfetto_line {
	uint64_t uuid, last;
	uint32_t source;
	uint8_t clock; /* 0: none */
} perfetto_line;

/* Events that are written together; what their sequences must know first stands in perfetto.w. */
typedef assay_vec(perfetto_event) perfetto_batch;

/* Annotations that have a column. */
#define PERFETTO_KEYS(X)                                                                           \
	X(CORRELATION, "correlation")                                                              \
	X(EXTERNAL, "External id")                                                                 \
	X(SEQUENCE, "Sequence number")                                                             \
	X(FWD_THREAD, "Fwd thread id")                                                             \
	X(EV_IDX, "Ev Idx")                                                                        \
	X(CBID, "cbid")                                                                            \
	X(PYTHON, "Python id")                                                                     \
	X(PYTHON_PARENT, "Python parent id")                                                       \
	X(CONTEXT, "context")                                                                      \
	X(BYTES, "bytes")                                                                          \
	X(GRID, "grid")                                                                            \
	X(BLOCK, "block")                                                                          \
	X(REGS, "registers per thread")                                                            \
	X(ACC_REGS, "accumulation registers per thread")                                           \
	X(SCALAR_REGS, "scalar registers per thread")                                              \
	X(SHARED, "shared memory")                                                                 \
	X(SCRATCH, "scratch memory")                                                               \
	X(QUEUE, "queue")                                                                          \
	X(DISPATCH, "dispatch")                                                                    \
	X(GRAPH, "graph id")                                                                       \
	X(GRAPH_NODE, "graph node id")                                                             \
	X(WAIT_STREAM, "wait_on_stream")                                                           \
	X(WAIT_EVENT, "wait_on_cuda_event_id")                                                     \
	X(WAIT_RECORD, "wait_on_cuda_event_record_corr_id")                                        \
	X(STATUS, "status")                                                                        \
	X(CUDA_STREAM, "cuda_stream")                                                              \
	X(CUDA_EVENT, "cuda_event")                                                                \
	X(HIP_STREAM, "hip_stream")                                                                \
	X(HIP_EVENT, "hip_event")                                                                  \
	X(FLAGS, "flags")                                                                          \
	X(SYNC, "sync_id")                                                                         \
	X(DERIVED, "assay_derived")                                                                \
	X(FOUND, "assay_found")                                                                    \
	X(CLASS, "resolve_class")                                                                  \
	X(PRODUCER, "producer")                                                                    \
	X(PRODUCER_CORRELATION, "producer_correlation")

typedef enum perfetto_key {
#define X(id, text) PF_KEY_##id,
	PERFETTO_KEYS(X)
#undef X
		PF_KEY_COUNT
} perfetto_key;

/* The number of a text by where it lies. */
typedef struct perfetto_named {
	const char *p;
	uint32_t sequence, field, iid;
} perfetto_named;
enum { PERFETTO_NAMED = 1024 };

typedef struct perfetto {
	const assay_run *run;
	const assay_tables *t;
	FILE *out;
	assay_protow w;
	struct { /* columns of items, in pages */
		uint32_t *track, *row;
		int64_t *ts, *end;
		uint8_t *table;
		size_t n;
	} items;
	assay_vec(item) arrivals;
	assay_arena scratch;
	assay_arena one;                  /* what one event needs */
	assay_source_places at;           /* clock and process ids of each source */
	uint32_t *first_gpu, *next_gpu;   /* launches: by row of host, chained by row of gpu */
	uint32_t *first_edge, *next_edge; /* by row of gpu they leave */
	uint32_t *into_gpu, *next_into;   /* by row of gpu they enter */
	assay_map event_calls;            /* rows by source and correlation id */
	assay_map named;                  /* what a sequence has interned -> its number there */
	assay_protow interned;            /* by the packet being written */
	perfetto_made_args *made;         /* PERFETTO_MADE_ARGS */
	perfetto_named *lasting;          /* PERFETTO_NAMED */
	uint32_t *keys;                   /* PF_KEY_COUNT for each sequence, 0: not told yet */
	perfetto_batch now;               /* not written yet */
	perfetto_line line;               /* the last of them are on */
	uint8_t *clocks;                  /* by sequence: how many of its clocks are in use */
	assay_map texts;                  /* of arguments, by hash: met once */
	bool fresh;                       /* an argument of the event was such a text */
	assay_protow args;                /* of these events */
	assay_vec(uint32_t) frames;       /* of one stack */
	uint32_t batch;                   /* of events */
	struct perfetto_crew *crew;
	uint32_t *place; /* by track: among all of them, by number */
	assay_grids grids;
	int64_t moved;     /* what is added to all times: there are none before 0 */
	int32_t *writer;   /* by sequence: a process of it; 0 when its first packet is written */
	uint32_t sequence; /* of the packet being written: row of source of its process, and 1 */
	bool many;         /* several processes, which names must tell apart */
} perfetto;

/* perfetto_packet.c: a packet of a source's sequence, with what it interned. */
size_t perfetto_open_packet(perfetto *p, uint32_t source);
void perfetto_close_packet(perfetto *p, size_t packet);
uint32_t perfetto_sequence_of(const perfetto *p, uint32_t source);
void perfetto_flush(perfetto *p);
void perfetto_flush_some(perfetto *p); /* when there is much */
/* Nanoseconds since 1970 where they are known, so that inputs line up. */
uint64_t perfetto_absolute(const perfetto *p, uint32_t source, int64_t ts);
/* The packet that tells the sequence what was interned, if anything was. */
void perfetto_tell_interned(perfetto *p, uint32_t source);
/* The number that stands in the sequence for what has this hash; *is_new: it is to be told. */
uint32_t perfetto_number(perfetto *p, uint32_t field, uint64_t hash, bool *is_new);
/* The same for a text; the packet tells it the first time. */
uint32_t perfetto_intern(perfetto *p, uint32_t field, assay_str text);
/* The same for constants and strings of the run, which stay as and where they are. */
uint32_t perfetto_intern_lasting(perfetto *p, uint32_t field, assay_str text);
/* Perfetto merges processes of one number: those of further inputs get numbers of their own. */
int32_t perfetto_process_number(const perfetto *p, uint32_t track);
/* Of a thread without a number, one that no other has. */
int64_t perfetto_thread_number(const perfetto *p, uint32_t track);

/* perfetto_notes.c: what rows of these tables say. */
void perfetto_note_host(perfetto *p, uint32_t row, perfetto_args args);
void perfetto_note_gpu(perfetto *p, uint32_t row, perfetto_args args);
void perfetto_note_sync(perfetto *p, uint32_t row, perfetto_args args);
void perfetto_note_mark(perfetto *p, uint32_t row, perfetto_args args);
void perfetto_note_wait(perfetto *p, uint32_t row);
/* Arguments that have no column, JSON members as text, as annotations. */
perfetto_args perfetto_make_args(perfetto *p, assay_sid args);
/* JSON members as text, likewise. */
perfetto_args perfetto_make_text_args(perfetto *p, assay_str members);
void perfetto_note_args(perfetto *p, perfetto_args args);
/* Numbers of the keys above: room for them, and those of the sequence if it has none yet. */
void perfetto_start_keys(perfetto *p);
void perfetto_tell_keys(perfetto *p);

/* perfetto.c: the line of a lane; its descriptor is written the first time. */
uint64_t perfetto_lane_track(perfetto *p, const item *it, unsigned lane, assay_map *seen);

/* perfetto_slices.c: rows that last, with arrows between them. */
void perfetto_put_slices(perfetto *p, assay_map *seen);

/* perfetto_samples.c: number of a stack of Python and of the calls below it, 0 for none; what
 * thread did in the system, as the look `sample` saw it, as one more call. */
uint32_t perfetto_stack(perfetto *p, uint32_t stack, uint32_t calls, uint32_t sample);
void perfetto_put_samples(perfetto *p);

#endif

/* The wait resolver's core: calls in order of their keys go in, waits with their producers and
 * ordering edges come out. It knows nothing of files or tables, so one sweep serves recordings with
 * the vendor's own join ids, recordings with handles only, and rows other profilers wrote.
 *
 * O(1) a record (O(streams of the device) for calls that wait for a whole device); memory is
 * bounded by live events and streams, never by the length of the recording. */
#ifndef ASSAY_RESOLVE_SWEEP_H
#define ASSAY_RESOLVE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tables.h"

/* In the order in which records of one call are taken. */
typedef enum assay_sweep_op {
	ASSAY_OP_WAIT_INSIDE, /* a graph waits for an event when it is launched */
	ASSAY_OP_LAUNCH,      /* GPU work: enter and exit are its start and end on the device */
	ASSAY_OP_UNSEEN,      /* work put into a stream that was not recorded */
	ASSAY_OP_RECORD,      /* an event put into a stream */
	ASSAY_OP_WAIT,        /* a stream waits for an event */
	ASSAY_OP_EVENT_SYNC,  /* the thread waits for an event, a stream, a device */
	ASSAY_OP_STREAM_SYNC,
	ASSAY_OP_DEVICE_SYNC,
	ASSAY_OP_EVENT_QUERY,
	ASSAY_OP_STREAM_QUERY,
	ASSAY_OP_CREATE, /* arg: time from which on calls after this one may have been lost */
	ASSAY_OP_DESTROY,
	ASSAY_OP_STREAM_CREATE,
	ASSAY_OP_STREAM_DESTROY,
	ASSAY_OP_CAPTURE_BEGIN,
	ASSAY_OP_CAPTURE_END,
	ASSAY_OP_COPY,        /* a copy call that may have waited for its own copy */
	ASSAY_OP_DRAIN,       /* a call that may wait for the device: free, module unload */
	ASSAY_OP_HOST_FUNC,   /* a host function put into a stream */
	ASSAY_OP_WRITE_VALUE, /* event = address or semaphore, arg = value */
	ASSAY_OP_WAIT_VALUE,
	ASSAY_OP_IPC_EXPORT, /* arg = a number both processes know */
	ASSAY_OP_IPC_OPEN,
	ASSAY_OP_UNKNOWN_SYNC, /* a wait of a kind nobody named */
	ASSAY_OP_IN_GRAPH,     /* an event is recorded by some graph, whenever that is launched */
	ASSAY_OP_COMMAND,   /* in a stream, over with what is before it; nobody is known to wait for
			       it */
	ASSAY_OP_POOL_FREE, /* memory given back to a pool, and taken from one, in the order of a */
	ASSAY_OP_POOL_ALLOC, /* stream; the stream is ASSAY_NO_HANDLE when the call does not say */
	/* never pushed: their effect is in other records */
	ASSAY_OP_CHOOSE_DEVICE,
	ASSAY_OP_LAUNCH_GRAPH, /* a graph is launched, made executable, given an event */
	ASSAY_OP_MAKE_GRAPH,
	ASSAY_OP_GRAPH_RECORD,
	ASSAY_OP_GRAPH_WAIT,
	ASSAY_OP_GRAPH_CHILD,
	ASSAY_OP_GRAPH_SET_RECORD, /* a node gets another event */
	ASSAY_OP_GRAPH_SET_WAIT,
	ASSAY_OP_GRAPH_HIDES, /* its launches may end with what nobody records */
	ASSAY_OP_GAP,         /* records of events up to this key may be missing */
	ASSAY_OP_DARK,        /* nothing was recorded for a while, up to this key */
	ASSAY_OP_COUNT
} assay_sweep_op;

enum {
	ASSAY_REC_FAILED = 1,        /* the call returned an error; queries: not ready */
	ASSAY_REC_PER_THREAD = 2,    /* a null stream means the thread's own default stream */
	ASSAY_REC_NONBLOCKING = 4,   /* STREAM_CREATE */
	ASSAY_REC_LEGACY = 8,        /* the stream is its device's default stream */
	ASSAY_REC_AT_START = 16,     /* RECORD: done when the launch of the same key starts */
	ASSAY_REC_OUTSIDE = 32,      /* RECORD: its row is not in the recording's window;
				      * CAPTURE_BEGIN: its end is not, or was lost */
	ASSAY_REC_MUST_BLOCK = 64,   /* COPY: a form that always waits */
	ASSAY_REC_NUMBERED = 256,    /* event is the recorder's number plus one */
	ASSAY_REC_EXTERNAL = 128,    /* RECORD, in a capture: a node of the graph, later */
	ASSAY_REC_GUESSED = 512,     /* the device, or stream, was chosen among several */
	ASSAY_REC_HALF = 1024,       /* WAIT_VALUE: 32 bits */
	ASSAY_REC_WHEN = 2048,       /* WAIT_VALUE: times assay_value_when, two bits */
	ASSAY_REC_TOGETHER = 8192,   /* LAUNCH: one of several of its key, in streams of other
				      * devices: they start behind all of these streams' work, and all
				      * that follows goes behind all of them */
	ASSAY_REC_ANY_ORDER = 16384, /* LAUNCH: it may run beside what was put into the stream
				      * before, and be over first */
	ASSAY_REC_WINDOW = 32768,    /* its recording may have begun after the program */
	ASSAY_REC_INSIDE = 1 << 16,  /* RECORD: by a graph or a kernel, nobody knows when in it */
	ASSAY_REC_MAY_RECORD = 1 << 17, /* LAUNCH, UNSEEN: of a graph or with attributes that may
					 * record events */
	ASSAY_REC_WHOLE = 1 << 18,      /* no call up to this one was lost; not of LAUNCH */
	ASSAY_REC_RACED =
		1 << 19, /* another thread put something into the stream at the same time */
	ASSAY_REC_BESIDE_GRAPH = 1 << 20, /* WAIT, WAIT_INSIDE, EVENT_SYNC: another thread launched
					     what may record events */
	ASSAY_REC_BARRIER = 1 << 21, /* RECORD: it left a barrier in a queue; WAIT, EVENT_SYNC: the
				      * hint is what a barrier says; without one, a record that is
				      * not known */
	ASSAY_REC_PERHAPS = 1 << 22, /* LEGACY, but only its number speaks for it */
	ASSAY_REC_BESIDE_RECORD =
		1 << 23, /* WAIT, EVENT_SYNC: another thread records its event meanwhile */
	ASSAY_REC_BESIDE_FREE = 1 << 25, /* POOL_ALLOC: another thread gives memory back meanwhile
					  */
	ASSAY_REC_FILL = 1 << 27,        /* COPY: of memory with a value, often of no bytes */
	ASSAY_REC_BRANCH = 1 << 28, /* LAUNCH: a piece of a graph whose launch names no stream */
	ASSAY_REC_EVERYWHERE = 1 << 26, /* COPY: in turn with all streams of its devices */
	ASSAY_REC_AGAIN = 1 << 24,      /* RECORD: one that a number tells, by the event's handle */
};

/* When a wait for a value is over; CUDA's and HIP's numbers. */
typedef enum assay_value_when {
	ASSAY_VALUE_AT_LEAST, /* counted round */
	ASSAY_VALUE_EQUAL,
	ASSAY_VALUE_AND,
	ASSAY_VALUE_NOR,
} assay_value_when;

/* ns: a call that waits for nothing is over by then. */
enum { ASSAY_SWEEP_BARE = 20000 };

typedef struct assay_sweep_rec {
	uint64_t key; /* order of calls in a process, unwrapped: assay_keys_at() */
	int64_t enter, exit;
	uint64_t event;  /* handle or number; 0 is the null handle; LAUNCH: end of the call */
	uint64_t stream; /* handle as given; ASSAY_NO_HANDLE when the call has none */
	uint64_t arg;    /* sync id of events, 0 none; see the ops; LAUNCH: time of the call or 0;
			  * DEVICE_SYNC: ns by which devices' clocks may be ahead; COPY: behind */
	uint32_t scope;  /* one process in one session: nothing resolves across */
	uint32_t thread; /* row of track */
	uint32_t track;  /* stream as a row of track, where known; else ASSAY_NO_ROW */
	uint32_t hint;   /* producer stream as another source names it, row of track; WAIT_VALUE:
			  * number of the sink's mask */
	uint32_t row;    /* LAUNCH: of gpu; else of host; handed back in the output */
	int32_t device;  /* of the stream or call; -1 unknown */
	uint32_t flags;
	uint8_t op;
	uint8_t said; /* of waits for events and streams: class the file gives, plus one; 0 none */
} assay_sweep_rec;

typedef struct assay_sweep_stream {
	uint64_t handle;
	uint32_t track;
	uint32_t uid; /* one a lifetime: two streams at one address differ; 0 is none */
	int32_t device;
} assay_sweep_stream;

typedef struct assay_sweep_wait {
	assay_sweep_rec rec;
	assay_sweep_stream consumer, producer;
	uint64_t record_key, other_key;
	uint32_t record_row;   /* of host */
	uint32_t producer_row; /* of gpu */
	int64_t producer_end;
	int64_t delayed, slack; /* host waits; stream waits get theirs when they land */
	uint8_t kind, class, satisfied, flags;
	uint8_t doubts; /* the sweep's: which of them count */
	uint8_t why;    /* assay_wait_doubt: it is not exact */
} assay_sweep_wait;

/* What became known later of a wait that went out before. */
typedef struct assay_sweep_news {
	enum { ASSAY_NEWS_LANDED, ASSAY_NEWS_AMBIGUOUS, ASSAY_NEWS_FOUND } what;
	uint32_t consumer_row;  /* LANDED: first work behind the wait */
	int64_t delayed, slack; /* LANDED */
	int64_t late;           /* LANDED: from when nothing known held the work up to its start */
	bool times;             /* LANDED: it started before the producer ended */
	uint64_t record_key;    /* AMBIGUOUS: the other record; FOUND: the record */
	uint32_t record_row, producer_row;
	assay_sweep_stream producer;
} assay_sweep_news;

typedef struct assay_sweep_edge {
	uint32_t kind, from_row, to_row, host_row, wait;
} assay_sweep_edge;

typedef struct assay_sweep_sink {
	void *ctx;
	uint32_t (*wait)(void *ctx, const assay_sweep_wait *w); /* returns a number for news */
	void (*news)(void *ctx, uint32_t wait, const assay_sweep_news *n);
	void (*edge)(void *ctx, const assay_sweep_edge *e);
	const uint64_t *masks; /* bits of words that waits for values look at */
} assay_sweep_sink;

typedef struct assay_sweep assay_sweep;

/* ns by which the clocks of host and device may disagree as a rule, and by which those of devices
 * are known to be behind. */
typedef struct assay_sweep_clocks {
	int64_t usual, behind;
} assay_sweep_clocks;

assay_sweep *assay_sweep_new(const assay_sweep_sink *sink, assay_sweep_clocks clocks);
/* The next record; keys of one scope must rise (equal ones in the order of ops). */
void assay_sweep_push(assay_sweep *s, const assay_sweep_rec *r);
/* After the last record: events of other processes. */
void assay_sweep_end(assay_sweep *s);
size_t assay_sweep_bytes(const assay_sweep *s);       /* memory held now */
uint64_t assay_sweep_rerecords(const assay_sweep *s); /* see issue event_rerecord */
void assay_sweep_free(assay_sweep *s);

/* Order for assay_sweep_push(): rows[i] numbers recs. Linear time. */
void assay_sweep_sort(const assay_sweep_rec *recs, uint32_t *rows, size_t n);

#endif

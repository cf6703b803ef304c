/* What a call of a GPU runtime does, by its name. For recorders too: nothing but the C library. */
#ifndef ASSAY_NAMES_CALLS_H
#define ASSAY_NAMES_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(id) */
#define ASSAY_CALL_DOES(X)                                                                         \
	X(OTHER)                                                                                   \
	X(LAUNCH)                                                                                  \
	X(GRAPH)                                                                                   \
	X(MAKE_GRAPH)                                                                              \
	X(RECORD)                                                                                  \
	X(WAIT)                                                                                    \
	X(EVENT_SYNC)                                                                              \
	X(STREAM_SYNC)                                                                             \
	X(DEVICE_SYNC)                                                                             \
	X(BLOCK) /* waits for work that the call does not name */                                  \
	X(EVENT_QUERY)                                                                             \
	X(STREAM_QUERY)                                                                            \
	X(CREATE)                                                                                  \
	X(DESTROY)                                                                                 \
	X(STREAM_CREATE)                                                                           \
	X(STREAM_DESTROY)                                                                          \
	X(CAPTURE_BEGIN)                                                                           \
	X(CAPTURE_END)                                                                             \
	X(HOST_FUNC)                                                                               \
	X(WAIT_VALUE)                                                                              \
	X(WRITE_VALUE)                                                                             \
	X(GRAPH_RECORD) /* adds an event to a graph */                                             \
	X(GRAPH_WAIT)                                                                              \
	X(GRAPH_CHILD)      /* adds a graph to a graph */                                          \
	X(GRAPH_SET_RECORD) /* gives an event of a graph's another one's place */                  \
	X(GRAPH_SET_WAIT)                                                                          \
	X(GRAPH_HIDES) /* adds what no profiler shows as work, or may do so */                     \
	X(IN_STREAM)   /* puts that into a stream */                                               \
	X(MEMORY_WORDS)                                                                            \
	X(CHOOSE_DEVICE)                                                                           \
	X(IPC_EXPORT)                                                                              \
	X(IPC_OPEN)                                                                                \
	X(COPY)                                                                                    \
	X(MEMSET)                                                                                  \
	X(PREFETCH)                                                                                \
	X(ALLOC)                                                                                   \
	X(FREE)                                                                                    \
	X(LOAD)

typedef enum assay_call_does {
#define X(id) ASSAY_DOES_##id,
	ASSAY_CALL_DOES(X)
#undef X
		ASSAY_DOES_COUNT
} assay_call_does;

typedef enum assay_call_blocks {
	ASSAY_BLOCKS_NEVER,
	ASSAY_BLOCKS_DEVICE,
	ASSAY_BLOCKS_MAYBE,
	ASSAY_BLOCKS_PAGED,
	ASSAY_BLOCKS_BACK,
	ASSAY_BLOCKS_ALWAYS,
} assay_call_blocks;

enum {
	ASSAY_TAKES_EVENT = 1,    /* takes or makes an event, address or semaphore */
	ASSAY_TAKES_STREAM = 2,   /* takes or makes a stream */
	ASSAY_TAKES_FLAGS = 4,    /* its further argument holds creation flags */
	ASSAY_TAKES_LAUNCHES = 8, /* GPU work begins with it */
	ASSAY_TAKES_HALF = 64,    /* values of 32 bits */
};

typedef struct assay_call_meaning {
	uint8_t does, blocks, takes;
	bool async;
	bool per_thread; /* no stream means the thread's own */
} assay_call_meaning;

/* A name may end in a version (_v2, _ptsz_v7000) as the vendor's callbacks spell it. */
assay_call_meaning assay_call_meaning_of(const char *name, size_t n);

/* Synchronizes, or copies in a form that waits for its copy: the thread stands still. Calls that
 * may have waited (PAGED, MAYBE) are told by their times alone. */
static inline bool assay_call_is_wait(assay_call_meaning m)
{
	return m.blocks >= ASSAY_BLOCKS_BACK;
}

/* The name without prefix and suffixes, in name itself: where it starts and how long it is. */
size_t assay_call_stem(const char **name, size_t n, bool *per_thread, bool *async);

#endif

/* Where a process stands still: what its streams have before them, and what each waits for. */
#ifndef ASSAY_MODEL_HANG_H
#define ASSAY_MODEL_HANG_H

#include "model/run.h"

/* X(ID, name) */
#define ASSAY_HANG_ITEMS(X)                                                                        \
	X(LAUNCH, "launch")                                                                        \
	X(RECORD, "event record")                                                                  \
	X(WAIT, "event wait")                                                                      \
	X(WAIT_VALUE, "value wait")                                                                \
	X(WRITE_VALUE, "value write")                                                              \
	X(HOST_FUNC, "host function")
typedef enum assay_hang_kind {
#define X(id, name) ASSAY_HANG_##id,
	ASSAY_HANG_ITEMS(X)
#undef X
		ASSAY_HANG_ITEM_COUNT
} assay_hang_kind;

/* A call that put something into a stream. */
typedef struct assay_hang_item {
	assay_hang_kind kind;
	int64_t ts;
	uint64_t stream; /* handle; UINT64_MAX unknown */
	uint64_t event;  /* or the address of a value */
	uint64_t corr;
	assay_sid call, kernel;
	uint32_t track;  /* thread that called */
	uint32_t record; /* item that recorded the event it waits for; UINT32_MAX none */
	bool done;
} assay_hang_item;

/* A stream that has something before it. */
typedef struct assay_hang_stream {
	uint64_t handle;
	int64_t id;         /* number as GPU work has it, -1 unknown */
	size_t queued;      /* items not done */
	uint32_t head;      /* item it stands at */
	uint32_t waits_for; /* item that must happen first: a record, a write; UINT32_MAX none known
			     */
	uint32_t on;        /* stream of that item; UINT32_MAX none */
	bool in_cycle;
	int64_t done_until; /* launches up to this moment are known to have ended; INT64_MIN none */
} assay_hang_stream;

typedef struct assay_hang {
	assay_vec(assay_hang_item) item; /* in the order of their calls */
	assay_vec(assay_hang_stream) stream;
	/* launches of collectives, whose work ended or not, in their order */
	assay_vec(assay_hang_item) collective;
} assay_hang;

#endif

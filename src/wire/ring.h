/* Rings in shared memory: one file a process, one ring a thread and one for the records that the
 * recorder itself makes. The thread that owns a ring is its only producer; the recorder's writing
 * thread is its only consumer while the process lives, and `assay record` after it died. The file
 * is private to one version of assay: it is no format. */
#ifndef ASSAY_WIRE_RING_H
#define ASSAY_WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "wire/wire.h"

enum {
	ASSAY_RING_MAX = 1024, /* rings of threads of a process at one time */
	ASSAY_RING_NONE = 0,   /* no memory yet */
	ASSAY_RING_READY = 1,  /* empty, for the next thread */
	ASSAY_RING_LIVE = 2,
	ASSAY_RING_CLOSED = 3,          /* its thread is gone; ready again once drained */
	ASSAY_RING_BULK = 4 << 20,      /* bytes of the recorder's own ring */
	ASSAY_RING_BYTES_MAX = 1 << 24, /* a whole ring fits into a chunk */
	ASSAY_RING_KINDS = 64,          /* types of records that are counted */
	ASSAY_RING_CAUSES = 11,         /* ASSAY_WIRE_LOST_... that recorders count by type */
};
#define ASSAY_RING_MAGIC 0x35474e4952595341u /* "ASYRING5" */

/* The call that a thread is in; start 0: none. Written by the producer, start last. */
typedef struct assay_ring_call {
	_Atomic int64_t start;
	uint64_t corr;
	uint64_t stream, event; /* as of assay_wire_api */
	uint32_t function;
	uint16_t domain, given;
	uint64_t arg;
	uint64_t pad[2];
} assay_ring_call;

/* Positions count bytes since the ring was made; the place in the data is position & (ring_bytes -
 * 1). */
typedef struct assay_ring {
	_Atomic uint32_t state;
	uint32_t tid, id; /* id: 1, 2, ... of this process, never used again; tid 0: the recorder */
	uint32_t reserved;
	_Atomic uint64_t head; /* written by the producer: end of the published records */
	_Atomic uint64_t lost; /* records dropped in the gap that is open now */
	_Atomic int64_t lost_first, lost_last;
	uint64_t pad[2];
	_Alignas(64) _Atomic uint64_t
		tail;             /* written by the consumer: everything before is in the file */
	_Atomic uint64_t writing; /* what tail becomes once the write under way is done */
	uint64_t pad2[6];
	assay_ring_call call;
} assay_ring;
static_assert(sizeof(assay_ring) == 192, "a ring's head is three cache lines");

/* Start of the file; then the data of the recorder's own ring, then that of the threads' rings. */
typedef struct assay_ring_file {
	uint64_t magic;
	uint32_t pid, ring_bytes; /* a power of two */
	_Atomic uint32_t used;    /* rings that have memory: none beyond */
	_Atomic uint32_t seq;     /* next chunk's number */
	_Atomic uint32_t failed;  /* writes of chunks that failed: disk full, ... */
	_Atomic uint32_t left;    /* ASSAY_WIRE_LEFT_...: how the process is about to end */
	_Atomic uint32_t whole;   /* then: the vendor has handed everything over */
	_Atomic uint32_t obeyed;  /* last order of the control page that was carried out */
	_Atomic uint32_t records; /* 1: recording is switched on */
	/* A flight recorder's chunks (wire/keep.h): bytes of their room, 0 none; positions in it.
	 */
	_Atomic uint32_t keep_off; /* recording was switched off where they begin */
	uint64_t keep_bytes;
	_Atomic uint64_t keep_head, keep_tail;
	_Atomic int64_t keep_since; /* all before is in the capture, or was not kept either */
	_Atomic int64_t
		keep_cut;     /* what was recorded from keep_since to here is gone; 0: nothing */
	_Atomic int64_t step; /* one more than the number of the last step that began, 0 none */
	uint64_t pad[4];
	_Atomic uint64_t written[ASSAY_RING_KINDS]; /* records in the file, by type */
	_Atomic uint64_t dropped[ASSAY_RING_CAUSES][ASSAY_RING_KINDS];
	assay_ring bulk;
	assay_ring ring[ASSAY_RING_MAX];
} assay_ring_file;
static_assert(offsetof(assay_ring_file, written) == 128 &&
		      offsetof(assay_ring_file, ring) - offsetof(assay_ring_file, bulk) == 192,
	      "layout");
static_assert((int)ASSAY_WIRE_TYPE_COUNT <= (int)ASSAY_RING_KINDS, "every type is counted");
/* Data starts on a page. */
enum { ASSAY_RING_DATA = (sizeof(assay_ring_file) + 4095) & ~4095 };

/* Where ring i's data starts in the file, and of ASSAY_RING_MAX where all of them end; the
 * recorder's own is at ASSAY_RING_DATA. */
static inline uint64_t assay_ring_at(uint32_t i, uint32_t ring_bytes)
{
	ASSAY_ASSERT_CHECKED(i <= ASSAY_RING_MAX);
	return (uint64_t)ASSAY_RING_DATA + ASSAY_RING_BULK + (uint64_t)i * ring_bytes;
}

/* Bytes that a record of n takes at a position: in one piece, behind padding where the ring's end
 * is too near. */
static inline size_t assay_ring_need(uint32_t ring_bytes, uint64_t head, size_t n)
{
	size_t at = head & (ring_bytes - 1);
	ASSAY_ASSERT_CHECKED(!(ring_bytes & (ring_bytes - 1)) && at % ASSAY_WIRE_ALIGN == 0);
	return at + n > ring_bytes ? ring_bytes - at + n : n;
}

/* The place of a record for which there is room, its head written, padding in front of it; *head is
 * moved behind it. */
assay_wire_rec *assay_ring_place(char *data, uint32_t ring_bytes, uint64_t *head, uint16_t type,
				 size_t n);

/* Copy the records of a ring from tail to `end` (a position published by head), in order, into `to`
 * (at least ring_bytes long); padding is left out. Returns the bytes copied; *next is what tail
 * must become once they are safe. Stops at a record that makes no sense. */
size_t assay_ring_take(const assay_ring *r, const char *data, uint32_t ring_bytes, uint64_t end,
		       char *to, uint64_t *next);

/* Records of the file's counts; returns how many. */
enum { ASSAY_RING_TALLIES = ASSAY_RING_KINDS * ASSAY_RING_CAUSES };
size_t assay_ring_tally(const assay_ring_file *f, assay_wire_tally out[ASSAY_RING_TALLIES]);
/* Count the n bytes of records as written. */
void assay_ring_count(assay_ring_file *f, const char *records, size_t n);
/* All that was dropped for a cause. */
uint64_t assay_ring_dropped(const assay_ring_file *f, uint32_t cause);

/* The process that records holds a lock on its file until it dies or executes another program;
 * taking the lock proves that it is gone. False while somebody else holds it. */
bool assay_ring_own(int fd);
/* Does somebody hold it? */
bool assay_ring_alive(int fd);

#endif

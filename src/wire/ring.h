/* Rings in shared memory: one file a process, one ring a thread. The thread that owns a ring is its
 * only producer; the process's recorder thread is its only consumer while the process lives, and
 * `assay record` after it died. The file is private to one version of assay: it is no format. */
#ifndef ASSAY_WIRE_RING_H
#define ASSAY_WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

enum {
	ASSAY_RING_MAX = 1024, /* rings of a process at one time */
	ASSAY_RING_FREE = 0,
	ASSAY_RING_LIVE = 1,
	ASSAY_RING_CLOSED = 2, /* its thread is gone; free once drained */
};
#define ASSAY_RING_MAGIC 0x31474e4952595341u /* "ASYRING1" */

/* Positions count bytes since the ring was made; the place in the data is position & (ring_bytes -
 * 1). */
typedef struct assay_ring {
	_Atomic uint32_t state;
	uint32_t tid, id; /* id: 1, 2, ... of this process, never used again */
	uint32_t reserved;
	_Atomic uint64_t head; /* written by the producer: end of the published records */
	_Atomic uint64_t lost; /* records dropped in the gap that is open now */
	_Atomic int64_t lost_first, lost_last;
	uint64_t pad[2];
	_Alignas(64) _Atomic uint64_t
		tail;             /* written by the consumer: everything before is in the file */
	_Atomic uint64_t writing; /* what tail becomes once the write under way is done */
	uint64_t pad2[6];
} assay_ring;
static_assert(sizeof(assay_ring) == 128, "a ring's head is two cache lines");

/* Start of the file. Ring i's data is at sizeof(assay_ring_file) + i * ring_bytes. */
typedef struct assay_ring_file {
	uint64_t magic;
	uint32_t pid, ring_bytes; /* a power of two */
	_Atomic uint32_t used;    /* rings ever made at one time: none beyond */
	_Atomic uint32_t seq;     /* next chunk's number */
	_Atomic uint64_t orphans; /* records of threads that got no ring */
	_Atomic uint32_t failed;  /* chunks that could not be written: disk full, ... */
	uint32_t reserved;
	uint64_t pad[3];
	char capture[960]; /* path of the .asy file the rings drain into */
	assay_ring ring[ASSAY_RING_MAX];
} assay_ring_file;
static_assert(sizeof(assay_ring_file) % 4096 != 1 && offsetof(assay_ring_file, ring) == 1024,
	      "layout");
/* Data starts on a page. */
enum { ASSAY_RING_DATA = (sizeof(assay_ring_file) + 4095) & ~4095 };

/* Copy the records of a ring from tail to `end` (a position published by head), in order, into `to`
 * (at least ring_bytes long); padding is left out. Returns the bytes copied; *next is what tail
 * must become once they are safe. Stops at a record that makes no sense. */
size_t assay_ring_take(const assay_ring *r, const char *data, uint32_t ring_bytes, uint64_t end,
		       char *to, uint64_t *next);

/* The process that records holds a lock on its file until it dies or executes another program;
 * taking the lock proves that it is gone. False while somebody else holds it. */
bool assay_ring_own(int fd);

typedef struct assay_salvaged {
	uint64_t records; /* appended */
	uint32_t failed;  /* chunks that could not be written, by the process or now */
} assay_salvaged;

/* After the process died: append what its rings still hold to its capture and remove the file.
 * Returns false when the file is no ring file or the process still lives. */
bool assay_ring_salvage(const char *path, assay_salvaged *out);

#endif

/* Where a flight recorder keeps its chunks until somebody wants them: room in the ring file behind
 * all rings, used round and round. Chunks stand there as they would in the capture, one behind the
 * other; positions count bytes since the room was made, and a chunk goes on at the room's start
 * where its end is too near. The recorder's writer owns it, and whoever salvages after its death.
 */
#ifndef ASSAY_WIRE_KEEP_H
#define ASSAY_WIRE_KEEP_H

#include "wire/ring.h"

#define ASSAY_KEEP_MOST (1ull << 40) /* bytes; more is no sensible room */

static inline uint64_t assay_keep_at(const assay_ring_file *f)
{
	return assay_ring_at(ASSAY_RING_MAX, f->ring_bytes);
}

/* Bytes at a position; false: not all of them could be. */
bool assay_keep_write(int fd, const assay_ring_file *f, uint64_t pos, const void *p, size_t n);
/* The head of the chunk at a position. */
bool assay_keep_peek(int fd, const assay_ring_file *f, uint64_t pos, assay_wire_chunk *c);
/* The whole chunk at a position, its payload into `to` of so much room; false: there is none. */
bool assay_keep_read(int fd, const assay_ring_file *f, uint64_t pos, assay_wire_chunk *c, char *to,
		     size_t room);
/* Give the memory of what lies between two positions back, where the file system can. */
void assay_keep_release(int fd, const assay_ring_file *f, uint64_t from, uint64_t to);

/* Is it told once, and needed by what is told later? CODE and STACK: by what their ring tells. */
bool assay_keep_names(const assay_wire_rec *rec);
/* Are these whole records? */
bool assay_keep_sound(const char *p, size_t n);

/* What stands in the capture for the stretch that was not kept: how many records, none or two (one
 * when recording was switched off at its end). */
size_t assay_keep_gap(const assay_ring_file *f, assay_wire_switch out[2]);

#endif

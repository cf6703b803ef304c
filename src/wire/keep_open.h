/* Ranges that are open where a flight recorder's chunks begin: their starts are too old to be kept,
 * but what is kept lies in them. They stand in the ring file behind the room for chunks, so that
 * they survive the process, and go into the capture behind the gap, each in a chunk of its ring. */
#ifndef ASSAY_WIRE_KEEP_OPEN_H
#define ASSAY_WIRE_KEEP_OPEN_H

#include "wire/keep.h"

enum { ASSAY_KEEP_OPEN_MAX = 1023, ASSAY_KEEP_OPEN_TEXT = 192 };

typedef struct assay_keep_open {
	uint32_t ring, tid;
	uint32_t told, reserved; /* told: its start is in the capture */
	assay_wire_range range;
	char text[ASSAY_KEEP_OPEN_TEXT]; /* of range.length bytes, when its name is 0; longer is cut
					  */
} assay_keep_open;
static_assert(sizeof(assay_keep_open) == 256, "layout");

typedef struct assay_keep_opens {
	uint64_t sum;      /* of what follows */
	uint32_t n, turns; /* turns: how often they were told */
	uint32_t full;     /* there were too many: none are told any more */
	uint32_t reserved;
	uint64_t pad[29];
	assay_keep_open open[ASSAY_KEEP_OPEN_MAX];
} assay_keep_opens;
static_assert(sizeof(assay_keep_opens) == 256 * (ASSAY_KEEP_OPEN_MAX + 1), "layout");

/* A chunk leaves what is kept: into the capture (told), or for good. */
void assay_keep_pass(assay_keep_opens *o, const assay_wire_chunk *c, const char *payload,
		     bool told);
/* A thread's are gone with it, but for those that end by their id. */
void assay_keep_forget(assay_keep_opens *o, uint32_t ring);

/* The chunk that tells the i-th, its record in `out`; returns the record's bytes. since: where the
 * gap begins; what is older was told before, or is not in the capture's time. */
size_t assay_keep_tell(const assay_keep_opens *o, uint32_t i, int64_t since, assay_wire_chunk *c,
		       char out[sizeof(assay_keep_open)]);
/* Each was told: count those whose start was not. */
void assay_keep_told(assay_keep_opens *o, assay_ring_file *f);

/* In the ring file. load: none when what is there makes no sense. */
bool assay_keep_save(int fd, const assay_ring_file *f, assay_keep_opens *o);
void assay_keep_load(int fd, const assay_ring_file *f, assay_keep_opens *o);

#endif

/* Making a record for the sweep: of which call, in which stream, on which device. */
#ifndef ASSAY_RESOLVE_WAITS_REC_H
#define ASSAY_RESOLVE_WAITS_REC_H

#include "resolve/waits.h"
#include "resolve/waits_places.h"

assay_sweep_rec *waits_rec_add(waits *w, assay_sweep_op op, uint32_t source, uint64_t corr,
			       int64_t ts);
void waits_rec_fail(assay_sweep_rec *r, int32_t status);
/* The host call behind a record, when it was recorded: its times, thread and process. */
void waits_rec_attach(waits *w, assay_sweep_rec *r, uint32_t h);
/* The stream of that track. */
void waits_rec_in(waits *w, assay_sweep_rec *r, uint32_t track);
/* An event that a graph or a kernel records: nobody knows when in it. Of a graph at its end, most
 * likely. */
void waits_rec_doubt_inside(const waits *w, assay_sweep_rec *r);
/* A wait of which nothing but its kind and length is known. */
void waits_rec_blind(assay_sweep_rec *r);
/* What our writer knew of a wait. Of one for nothing that is known there is no more to find; others
 * are held against it when they have been resolved. */
void waits_rec_hear(waits *w, assay_sweep_rec *r, const waits_args *a);

/* Streams, devices and what the thread works on; d: where it works, if that is known. */
void waits_rec_place(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
		     const waits_args *a);
void waits_rec_place_on(waits *w, assay_sweep_rec *r, uint32_t source, assay_call call,
			const waits_args *a, waits_device d);

/* All that arguments say of a call, but where; NULL: it orders nothing after all. */
assay_sweep_rec *waits_rec_call(waits *w, uint32_t source, assay_call call, uint32_t h,
				const waits_args *a);
/* An event that is done when the work of this call starts. */
assay_sweep_rec *waits_rec_start(waits *w, uint32_t source, assay_call starts, uint32_t h,
				 const waits_args *a);
/* Something else that a call does in its stream: null means the same stream for both. */
assay_call waits_part_of(assay_call whole, assay_sweep_op op);

static inline bool waits_orders(assay_call call)
{
	return call.op < ASSAY_OP_CHOOSE_DEVICE;
}

/* A row says more about a call than the call does. */
enum { WAITS_TOLD = 1, WAITS_TOLD_BY_NUMBER };
void waits_tell(waits *w, uint32_t source, uint64_t corr);

/* waits_rows.c */
void waits_add_event_records(waits *w);
void waits_add_event_rows(waits *w);
void waits_add_syncs(waits *w);

/* waits_named.c: calls that nothing told of yet, launches whose work was not recorded, and events
 * that graphs may record. */
void waits_add_named_calls(waits *w);
void waits_add_unseen_work(waits *w);
void waits_add_graph_doubts(waits *w);

#endif

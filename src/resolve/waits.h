/* What the parts of the wait resolver share. */
#ifndef ASSAY_RESOLVE_WAITS_H
#define ASSAY_RESOLVE_WAITS_H

#include "base/assert.h"
#include "base/index.h"
#include "model/run.h"
#include "resolve/keys.h"
#include "resolve/marks.h"
#include "resolve/waits_args.h"
#include "resolve/waits_calls.h"
#include "resolve/waits_clocks.h"

/* A device of a source. */
struct waits_gpu {
	uint32_t source;
	int32_t device;
};

/* a handle seen with two streams */
#define WAITS_SEVERAL (ASSAY_NO_ROW - 1)

typedef struct waits {
	assay_run *run;
	assay_tables *t;
	bool handles_only;
	bool given;        /* calls say how sure their waits are */
	bool *asks;        /* by source: it has more than work, and may say that something waited */
	bool *has_calls;   /* by source: calls with handles were recorded */
	bool *has_records; /* by source: sync ids lead to rows of event_record */
	assay_vec(assay_sweep_rec) recs;
	assay_vec(uint32_t) call_rows; /* of host: all calls, in the order of the table */
	assay_vec(uint8_t) said;       /* by row of wait: its class is the file's */
	assay_vec(int32_t) called_on;  /* by row of wait: device of the call, or -1 */
	assay_vec(uint64_t) masks;     /* of waits for values */
	assay_keys *keys;              /* by source */
	uint32_t *source_scope;        /* by source: scope of work whose call is not known */
	int32_t *only_device;          /* by source: its one device, or -1 */
	size_t sources;
	assay_map scopes;   /* source and process -> scope */
	assay_index calls;  /* source and correlation id -> row of host */
	assay_index gpus;   /* the same -> row of gpu */
	assay_map told;     /* the same -> 1: a sync or record row says more than the call */
	assay_map handles;  /* source and stream handle -> row of track, or WAITS_SEVERAL */
	assay_map legacy;   /* source and device -> row of track: its default stream */
	assay_map invented; /* rows of track that only a guess put on their device */
	assay_map perhaps;  /* the same: what may be it, where none is known */
	assay_map homes;   /* row of gpu -> row of track: the stream it is in, if shown elsewhere */
	assay_map made_on; /* source and stream handle -> device it was made on, or WAITS_SEVERAL */
	assay_map recorded; /* source and correlation id -> row of track: an event row told it */
	assay_marks
		chosen; /* thread -> device as the program numbers it, by calls that choose one */
	assay_map ordinals;   /* source and such a number -> device, or WAITS_SEVERAL */
	assay_marks moments;  /* source -> smallest key of the calls from some times on */
	assay_marks dark;     /* source -> recording was off before the calls with greater keys */
	assay_marks launched; /* thread -> device of its launches, where there are several */
	assay_marks work;     /* stream, device -> start of work, latest end up to it; the same */
	assay_marks numbered; /* source and number of a stream -> rows of track */
	assay_marks bound;    /* source and handle -> row of track, by launches */
	assay_marks made;     /* the same, by the time the stream was made; its end, or 0 */
	assay_marks barred;   /* source, event and queue, or any -> record barrier */
	assay_map barriers;   /* source and key of a call -> row of barrier */
	assay_vec(struct waits_gpu) devices;
	uint32_t *listed;   /* by source: devices that its recording lists */
	bool *tells_device; /* by source: calls that choose a device are in it */
	bool *tells_launch; /* by source: which events launches record by an attribute */
	bool *is_hip;       /* by source */
	bool *from_start;   /* by source: nothing shows that the program had begun before */
	int64_t *whole;     /* by source: until then it is known to hold every call */
	uint64_t *unbroken; /* by source: its calls up to this key are known to be all */
	assay_marks holes;  /* source -> time of the call with that key; the next one was lost */
	assay_call *call;   /* by string id */
	waits_clocks clocks;
	assay_arena scratch;
	assay_arena parsed; /* arguments of the row at hand */
	waits_known_args args;
} waits;

static inline uint32_t waits_host_source(const waits *w, uint32_t h)
{
	ASSAY_ASSERT_CHECKED(h < w->t->host.n);
	return assay_track_group(w->t, w->t->host.track[h]);
}

/* May the call record an event that no call tells of? */
static inline bool waits_may_record(const waits *w, uint32_t h)
{
	assay_call call = w->call[w->t->host.name[h]];
	uint32_t source = waits_host_source(w, h);
	bool told =
		call.op != ASSAY_OP_LAUNCH_GRAPH && source < w->sources && w->tells_launch[source];
	return call.flags & ASSAY_REC_MAY_RECORD && !told;
}

static inline bool waits_may_ask(const waits *w, uint32_t source)
{
	return source >= w->sources || w->asks[source];
}

/* Order of calls within a source. */
uint64_t waits_key_at(const waits *w, uint32_t source, int64_t ts, uint64_t corr);
uint64_t waits_host_key(const waits *w, uint32_t h);

/* Times in the order of keys. */
static inline uint64_t waits_key_of_time(int64_t ts)
{
	return (uint64_t)ts + (1ull << 63);
}

/* One process in one input. */
uint32_t waits_scope_of_thread(waits *w, uint32_t track);

/* waits_whole.c: up to where recordings are known to hold every call. */
void waits_find_whole(waits *w);
bool waits_is_whole(const waits *w, uint32_t source, int64_t until);
/* Until when no call after the one with this key was lost. */
int64_t waits_whole_after(const waits *w, uint32_t source, uint64_t key);
/* From there on some stream stands behind something, and the call does not say which. */
void waits_whole_until(waits *w, uint32_t source, int64_t until);

/* waits_records.c: what all tables know of calls and work, for the sweep. Needs the indices. */
void waits_add_records(waits *w);

/* waits_weigh.c: is the end of each wait explained by what it is said to have waited for? */
void waits_weigh(waits *w);

#endif

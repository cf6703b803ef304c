/* Private to the sweep: live events, streams and devices, and the table that finds them. */
#ifndef ASSAY_RESOLVE_SWEEP_STATE_H
#define ASSAY_RESOLVE_SWEEP_STATE_H

#include "base/assert.h"
#include "resolve/sweep.h"

/* Exact-match hash table with deletion; a and b are the key. */
typedef struct sweep_slot {
	uint64_t a;
	uint32_t b, c;
	uint32_t val; /* ASSAY_NO_ROW: free */
} sweep_slot;
typedef struct sweep_table {
	sweep_slot *slot;
	size_t slots, n;
} sweep_table;

uint32_t sweep_find(const sweep_table *t, uint64_t a, uint32_t b, uint32_t c);
void sweep_set(sweep_table *t, uint64_t a, uint32_t b, uint32_t c, uint32_t val);

/* GPU work; of several pieces with one key, the one that ends last. */
typedef struct sweep_work {
	uint64_t key;
	int64_t start, end;
	uint32_t row;  /* ASSAY_NO_ROW: none */
	uint8_t doubt; /* SWEEP_DOUBT_*: a wait for it is likely at best */
	uint8_t why;   /* assay_wait_doubt: the first of these */
} sweep_work;

enum {
	SWEEP_DOUBT_LINK = 1,    /* a link on the way is not exact */
	SWEEP_DOUBT_DEFAULT = 2, /* unless the rules of the default stream hold; for that stream
				  * itself it makes no difference */
	SWEEP_DOUBT_OVER = 4,    /* LINK, but all of it was over when the device was waited for */
	SWEEP_DOUBT_ANY = SWEEP_DOUBT_LINK | SWEEP_DOUBT_DEFAULT | SWEEP_DOUBT_OVER,
};

/* Of several works that a record stands behind, how many are kept beside the latest: what waits for
 * the event waits for each of them, and the latest may be another one when work takes less time. */
enum { SWEEP_ALSO = 3 };

/* An event record as later waits need it. */
typedef struct sweep_record {
	uint64_t key, arg;
	int64_t enter, exit;
	sweep_work work;                   /* what the event stands behind */
	uint32_t also[SWEEP_ALSO], n_also; /* rows of gpu */
	assay_sweep_stream stream;
	uint32_t scope, row, thread, flags;
	bool raced; /* another thread recorded the event at the same time: who was last? */
} sweep_record;

enum { SWEEP_TABLES = 11, SWEEP_RECENT = 4, SWEEP_PENDING_MAX = 256, SWEEP_SYNC_IDS = 4096 };

typedef struct sweep_event {
	sweep_record last, prev;
	uint32_t records; /* of this incarnation, up to 2 */
	bool created, captured;
	bool in_graph;       /* launches of graphs may record it */
	bool old;            /* made before recording was off: it may have been given away then */
	int64_t until;       /* when the last of its record calls returned */
	uint32_t capture_of; /* stream whose capture recorded it */
	uint64_t capture, captured_at;
	uint64_t ipc; /* exported or opened as this; 0 where no call says */
	bool opened, exported;
	uint64_t born;    /* key of creation */
	int64_t complete; /* until then no call since its creation was lost */
	/* waits that a record still to come may overlap */
	struct {
		int64_t exit;
		uint32_t wait, thread;
	} recent[SWEEP_RECENT];
	uint32_t n_recent;
	/* memory words: waits for a value that was not written yet */
	struct {
		uint64_t arg, mask;
		uint32_t wait, flags;
	} open[SWEEP_RECENT];
	uint32_t n_open;
} sweep_event;

typedef struct sweep_stream {
	assay_sweep_stream id;
	uint32_t device;       /* row of devices */
	uint32_t next, prev;   /* on the same device */
	uint32_t newer, older; /* the same, by moved: a call that did something to it */
	uint64_t moved;
	bool settled;     /* waited for with all of the device, and nothing since; so are all that
			     follow */
	sweep_work last;  /* its own: the last to end of those that run beside each other */
	uint64_t launch;  /* key of its last */
	sweep_work tail;  /* the latest of last and of what its waits since then wait for */
	uint64_t changed; /* key of the call that changed tail */
	int64_t before;   /* end of what came before last */
	uint64_t legacy_seen, legacy_joined, synced;
	uint64_t recorded; /* last record behind work: another stream may wait for it unseen */
	uint64_t in_front; /* last record that its device's default stream waits for */
	uint32_t pending, pending_last, pendings;
	uint64_t capture;    /* number of the capture it is in, 0 none */
	bool may_capture;    /* it did when recording went off, or it was not seen to end */
	uint32_t capture_of; /* stream that began it */
	bool legacy, blocking;
	bool perhaps; /* legacy, or no more than the others: what the rules say is doubtful */
	bool unsure;  /* whether it is blocking is not known, and no work of it says it is not */
	uint64_t slot_a;
	uint32_t slot_b, slot_c;
} sweep_stream;

typedef struct sweep_device {
	uint32_t scope;
	uint32_t first;     /* stream; those that are settled come last */
	sweep_work settled; /* the latest of theirs, and where */
	assay_sweep_stream settled_in;
	uint32_t legacy; /* stream, once seen */
	/* Streams by their last change, so that the default stream looks only at those that changed
	 * since it did. Marks are calls: of its last work that all of them were over before; of its
	 * last command, whose tail has all that it stands behind; of its last wait by a thread, for
	 * blocking streams and for all that may be. */
	uint32_t newest;
	uint64_t launched, joined, waited, waited_all;
	struct { /* by sweep_fan: the latest of all up to a mark, nothing of it in doubt; 0 none */
		uint64_t mark;
		sweep_work work;
		assay_sweep_stream in;
	} kept[3];
	uint64_t last_mark;
	uint32_t joined_row; /* latest work at that command, and where */
	assay_sweep_stream joined_in;
	/* The latest of streams that are gone, and where; fresh: nobody waited for it yet. Does the
	 * default stream wait for what runs in one? No interface says. */
	sweep_work orphan, orphan_blocking;
	assay_sweep_stream orphan_in, orphan_blocking_in;
	bool fresh_orphan;
	int64_t orphan_over; /* who begins from then on finds nothing running in blocking ones */
	int64_t unseen;      /* until then work that was not recorded may run on it */
	bool early;          /* so may work from before the recording */
	int64_t drained;     /* when the last wait for all of it was over */
	sweep_work some;     /* what a command may have made its default stream stand behind */
	sweep_work doubted;  /* of streams that are not known yet: none, and why not certainly so */
} sweep_device;

/* A wait, or host function, in front of the next work of a stream. */
typedef struct sweep_pending {
	uint32_t next, wait, edge, from_row, host_row;
	bool also; /* one more edge of the wait before it */
	int64_t from_end, issued;
} sweep_pending;

/* A stream of a launch on several devices: its kernel there, and what stood before it. */
typedef struct sweep_member {
	uint32_t stream, row;
	sweep_work before;
} sweep_member;

/* A process shares events with others: those that its calls name, or nobody knows which. */
enum { SWEEP_SHARES_KNOWN = 1, SWEEP_SHARES_SOME };

/* Records of events that other processes may wait for. */
typedef struct sweep_shared {
	uint64_t token;
	sweep_record rec;
} sweep_shared;
typedef struct sweep_foreign {
	uint64_t token;
	int64_t enter;
	uint32_t wait, scope;
} sweep_foreign;

/* One of the process's streams was destroyed, nobody knows which. */
typedef struct sweep_gone {
	uint64_t key;
	int64_t at;
} sweep_gone;

/* Launches of a process that may have recorded events. */
typedef struct sweep_graphs {
	uint64_t key;  /* of the last */
	int64_t until; /* when the last of the calls returned */
} sweep_graphs;

struct assay_sweep {
	assay_sweep_sink sink;
	int64_t tolerance, behind;
	union { /* all of them, and each */
		sweep_table table[SWEEP_TABLES];
		struct {
			sweep_table by_event, by_stream, by_device, gaps, unseen, graphs, pools;
			sweep_table sharers; /* processes that share events with others */
			sweep_table doubted; /* sweep_doubt_all(), and why */
			sweep_table dark;    /* processes of which recording was off */
			sweep_table blind;   /* in which a stream waits, nobody knows which */
		};
	};
	assay_vec(sweep_event) event;
	assay_vec(sweep_stream) stream;
	assay_vec(sweep_device) device;
	assay_vec(sweep_pending) pending;
	assay_vec(uint64_t) gap;
	assay_vec(sweep_graphs) graph; /* by process */
	assay_vec(
		sweep_work) freed; /* the latest that pools may make an allocation wait for, too */
	uint32_t free_event, free_stream, free_pending; /* heads of lists, ASSAY_NO_ROW none */
	sweep_record *by_sync; /* newest record of each sync id, by its low bits */
	assay_vec(sweep_shared) shared;
	assay_vec(sweep_foreign) foreign;
	assay_vec(sweep_gone) gone; /* of the process at hand */
	uint32_t gone_scope;
	assay_vec(sweep_member) member; /* of the joint launch at hand */
	uint64_t member_key;
	uint32_t member_scope;
	uint32_t uids;
	int64_t at; /* when the call at hand began */
	uint64_t captures, rerecords;
};
static_assert(offsetof(struct assay_sweep, blind) ==
		      offsetof(struct assay_sweep, table[SWEEP_TABLES - 1]),
	      "blind is the last of the tables");

extern const sweep_work sweep_no_work;
extern const assay_sweep_stream sweep_no_stream;

/* The stream a record names, made at first sight; ASSAY_NO_ROW when it names none. */
uint32_t sweep_stream_of(assay_sweep *s, const assay_sweep_rec *r);
void sweep_stream_drop(assay_sweep *s, uint32_t stream);
/* The stream that was last called by this handle, whatever it is found by, or ASSAY_NO_ROW. */
uint32_t sweep_stream_named(const assay_sweep *s, uint64_t handle, uint32_t scope);
uint32_t sweep_device_of(assay_sweep *s, const assay_sweep_rec *r);
/* The event's row, or ASSAY_NO_ROW; space 0 events, 1 memory words. */
uint32_t sweep_event_find(const assay_sweep *s, const assay_sweep_rec *r, uint32_t space);
uint32_t sweep_event_make(assay_sweep *s, const assay_sweep_rec *r, uint32_t space);
void sweep_event_drop(assay_sweep *s, const assay_sweep_rec *r);
bool sweep_capturing(const assay_sweep *s, uint32_t stream);
void sweep_pending_add(assay_sweep *s, uint32_t stream, const sweep_pending *p);
/* May work of the process run then that was not recorded? Not after a wait for its device. */
bool sweep_has_unseen(const assay_sweep *s, uint32_t scope, int64_t at);
/* Something entered one of the process's streams, nobody knows which: what they stand behind is not
 * certain before their next work. */
void sweep_doubt_all(assay_sweep *s, uint32_t scope, assay_wait_doubt why);
/* Work, or a function of the host, that was not recorded may run on any of its devices until they
 * are waited for. */
void sweep_all_unseen(assay_sweep *s, uint32_t scope, assay_wait_doubt why);
/* May work from before the recording still run on one of the process's devices? */
bool sweep_has_early(const assay_sweep *s, const assay_sweep_rec *r);
/* Until the first wait for all of the device is over, as far as the record can tell. */
static inline bool sweep_is_early(const sweep_device *d, const assay_sweep_rec *r)
{
	return d->early || (r->flags & ASSAY_REC_WINDOW && r->enter < d->drained);
}
/* A launch that may record events of which no call tells. */
void sweep_may_record(assay_sweep *s, const assay_sweep_rec *r);
/* What everything put into the stream so far waits for; the default stream waits for every blocking
 * stream. */
sweep_work sweep_tail(const assay_sweep *s, uint32_t stream);
/* A command that is no work enters the stream, or one that nobody knows: the rules of the default
 * stream hold for it too. */
void sweep_enter(assay_sweep *s, uint32_t stream, const assay_sweep_rec *r);
/* It enters one of the process's streams, nobody knows which, perhaps a default stream. */
void sweep_enter_some(assay_sweep *s, const assay_sweep_rec *r);
/* The stream goes on only behind that work. */
void sweep_stand_behind(assay_sweep *s, uint32_t stream, sweep_work w, uint64_t key);
void sweep_relink(assay_sweep *s, uint32_t stream, uint64_t key);
/* The call changes what the stream stands behind, or the doubts about it. Among those that changed
 * after every mark the order is of no account; at streams of unknown device all devices look, each
 * with marks of its own. */
static inline void sweep_move(assay_sweep *s, uint32_t stream, uint64_t key)
{
	ASSAY_ASSERT_CHECKED(stream < s->stream.n);
	const sweep_stream *p = &s->stream.p[stream];
	if (p->moved < s->device.p[p->device].last_mark || p->id.device < 0)
		sweep_relink(s, stream, key);
}
/* A mark for this call; keys begin at 0, so do marks. */
static inline uint64_t sweep_mark(sweep_device *d, uint64_t key)
{
	assert(key < UINT64_MAX);
	return d->last_mark = key + 1;
}
/* Has it changed since the mark? It and all that are older have not, otherwise. */
static inline bool sweep_moved(const assay_sweep *s, uint32_t stream, uint64_t mark)
{
	ASSAY_ASSERT_CHECKED(stream == ASSAY_NO_ROW || stream < s->stream.n);
	return stream != ASSAY_NO_ROW && s->stream.p[stream].moved >= mark;
}
/* A default stream is another one, or doubts came to streams without a call of theirs. */
void sweep_forget_marks(sweep_device *d);
/* A stream is gone, or it is now known whether the default stream waits for it. */
void sweep_forget_kept(sweep_device *d);

static inline void sweep_put_edge(assay_sweep *s, uint32_t kind, uint32_t from, uint32_t to,
				  uint32_t host, uint32_t wait)
{
	s->sink.edge(s->sink.ctx, &(assay_sweep_edge){kind, from, to, host, wait});
}

/* The later one; doubts about either stay. */
static inline void sweep_doubt(sweep_work *w, uint8_t doubt, assay_wait_doubt why)
{
	w->why = w->doubt ? w->why : (uint8_t)why;
	w->doubt |= doubt;
}

/* The default stream is said to wait for work of another. A call that was lost may have ended that
 * one, while the work ran: nobody knows then. own: what the default stream has itself. */
static inline void sweep_doubt_end(const assay_sweep *s, const assay_sweep_rec *r,
				   const sweep_work *own, sweep_work *w)
{
	if (!(r->flags & ASSAY_REC_WHOLE) && w->row != own->row && w->row != ASSAY_NO_ROW &&
	    w->end > r->enter - s->behind)
		sweep_doubt(w, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_LOSSES);
}

static inline sweep_work sweep_latest(sweep_work a, sweep_work b)
{
	bool first = b.row == ASSAY_NO_ROW || (a.row != ASSAY_NO_ROW && a.end >= b.end);
	sweep_work w = first ? a : b;
	w.why = a.doubt ? a.why : b.why;
	w.doubt = a.doubt | b.doubt;
	return w;
}

static inline bool sweep_later(sweep_work a, sweep_work b)
{
	return a.row != ASSAY_NO_ROW && (b.row == ASSAY_NO_ROW || a.end > b.end);
}

static inline bool sweep_may_end_later(const sweep_work *a, const sweep_work *b)
{
	return a->doubt || sweep_later(*a, *b);
}

static inline int64_t sweep_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t sweep_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Does the value end the wait? mask: the bits of it that count. */
bool sweep_value_fits(uint64_t value, uint64_t wanted, uint64_t mask, uint32_t flags);
static inline uint64_t sweep_mask(const assay_sweep *s, uint32_t number)
{
	return number == ASSAY_NO_ROW ? UINT64_MAX : s->sink.masks[number];
}

/* The stream, which is in the list of its device, becomes the first of it, and is not settled. */
void sweep_stream_first(assay_sweep *s, uint32_t stream);

/* sweep_fans.c: which streams of a device a call waits for. */
typedef enum { SWEEP_ALL_STREAMS, SWEEP_BLOCKING_STREAMS, SWEEP_UNSURE_STREAMS } sweep_fan;
/* The latest that they stand behind; of: in which stream, unless there is none. */
sweep_work sweep_fan_work(const assay_sweep *s, uint32_t device, sweep_fan which,
			  assay_sweep_stream *of);
/* A thread waits for the default stream: what is known now need not be looked for again. */
void sweep_fan_keep(assay_sweep *s, uint32_t device, uint64_t key);
void sweep_fan_edges(assay_sweep *s, uint32_t device, sweep_fan which, uint32_t kind,
		     const assay_sweep_rec *r, uint32_t wait, const sweep_work *work);
/* All of the device's streams were waited for; newer: for work that ended after all that was waited
 * for before, and certainly so. */
void sweep_fan_drain(assay_sweep *s, uint32_t device, const assay_sweep_rec *r, bool newer);

/* What may still run in blocking streams that are gone, for the call at hand: a wait of another
 * thread for the device tells only those that begin after it. */
static inline sweep_work sweep_orphan(const assay_sweep *s, const sweep_device *d)
{
	return s->at < d->orphan_over ? d->orphan_blocking : sweep_no_work;
}

/* What a record does. sweep_waits.c: */
typedef void sweep_op(assay_sweep *s, const assay_sweep_rec *r);
sweep_op sweep_wait, sweep_wait_value, sweep_event_sync, sweep_stream_sync, sweep_device_sync,
	sweep_unknown_sync, sweep_event_query, sweep_stream_query, sweep_copy, sweep_drain,
	sweep_host_func, sweep_unseen, sweep_pool_free, sweep_pool_alloc;

#endif

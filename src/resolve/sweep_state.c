/* Live events, streams and devices of the sweep. Rows are reused, so memory follows what is
 * alive. */
#include "resolve/sweep_state.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/test.h"

const sweep_work sweep_no_work = {.row = ASSAY_NO_ROW};
const assay_sweep_stream sweep_no_stream = {ASSAY_NO_HANDLE, ASSAY_NO_ROW, 0, -1};

static inline size_t home(uint64_t a, uint32_t b, uint32_t c, size_t mask)
{
	uint64_t h = (a ^ (uint64_t)b << 32 ^ (uint64_t)c << 17) * 0xD6E8FEB86659FD93u;
	h ^= h >> 32;
	h *= 0x9E3779B97F4A7C15u;
	return (size_t)(h >> 20) & mask;
}

static inline size_t probe(const sweep_table *t, uint64_t a, uint32_t b, uint32_t c)
{
	assert(t->n < t->slots); /* a free slot ends the search */
	size_t mask = t->slots - 1, i = home(a, b, c, mask);
	while (t->slot[i].val != ASSAY_NO_ROW &&
	       (t->slot[i].a != a || t->slot[i].b != b || t->slot[i].c != c))
		i = (i + 1) & mask;
	return i;
}

uint32_t sweep_find(const sweep_table *t, uint64_t a, uint32_t b, uint32_t c)
{
	return t->slots ? t->slot[probe(t, a, b, c)].val : ASSAY_NO_ROW;
}

static void grow(sweep_table *t)
{
	sweep_table old = *t;
	size_t cap = 0;
	t->slots = old.slots ? old.slots * 2 : 64;
	t->slot = assay_vec_grow(NULL, &cap, t->slots, sizeof *t->slot);
	memset(t->slot, 0xff, t->slots * sizeof *t->slot);
	for (size_t i = 0; i < old.slots; i++)
		if (old.slot[i].val != ASSAY_NO_ROW)
			t->slot[probe(t, old.slot[i].a, old.slot[i].b, old.slot[i].c)] =
				old.slot[i];
	assay_vec_release(old.slot);
}

void sweep_set(sweep_table *t, uint64_t a, uint32_t b, uint32_t c, uint32_t val)
{
	if (t->n * 2 >= t->slots)
		grow(t);
	size_t i = probe(t, a, b, c);
	t->n += t->slot[i].val == ASSAY_NO_ROW;
	t->slot[i] = (sweep_slot){a, b, c, val};
}

/* Close the hole: entries behind it that would no longer be found move up. */
static void remove_slot(sweep_table *t, uint64_t a, uint32_t b, uint32_t c)
{
	if (!t->slots)
		return;
	size_t mask = t->slots - 1, hole = probe(t, a, b, c);
	if (t->slot[hole].val == ASSAY_NO_ROW)
		return;
	t->n--;
	for (size_t i = (hole + 1) & mask; t->slot[i].val != ASSAY_NO_ROW; i = (i + 1) & mask) {
		size_t want = home(t->slot[i].a, t->slot[i].b, t->slot[i].c, mask);
		if (((i - want) & mask) < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->slot[hole].val = ASSAY_NO_ROW;
}

uint32_t sweep_device_of(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t d = sweep_find(&s->by_device, (uint32_t)r->device, r->scope, 0);
	if (d != ASSAY_NO_ROW)
		return d;
	bool seen = sweep_find(&s->unseen, r->scope, 0, 0) == ASSAY_NO_ROW;
	d = (uint32_t)s->device.n;
	*assay_push(&s->device) = (sweep_device){.scope = r->scope,
						 .first = ASSAY_NO_ROW,
						 .legacy = ASSAY_NO_ROW,
						 .newest = ASSAY_NO_ROW,
						 .joined_row = ASSAY_NO_ROW,
						 .joined_in = sweep_no_stream,
						 .settled = sweep_no_work,
						 .settled_in = sweep_no_stream,
						 .orphan = sweep_no_work,
						 .orphan_blocking = sweep_no_work,
						 .orphan_in = sweep_no_stream,
						 .orphan_blocking_in = sweep_no_stream,
						 .orphan_over = INT64_MAX,
						 .drained = INT64_MIN,
						 .some = sweep_no_work,
						 .doubted = sweep_no_work,
						 .unseen = seen ? INT64_MIN : INT64_MAX,
						 .early = r->flags & ASSAY_REC_WINDOW};
	sweep_set(&s->by_device, (uint32_t)r->device, r->scope, 0, d);
	uint32_t why = sweep_find(&s->doubted, r->scope, 0, 0);
	if (why != ASSAY_NO_ROW)
		sweep_doubt(&s->device.p[d].doubted, SWEEP_DOUBT_LINK, (assay_wait_doubt)why);
	return d;
}

bool sweep_has_early(const assay_sweep *s, const assay_sweep_rec *r)
{
	for (size_t d = 0; r->flags & ASSAY_REC_WINDOW && d < s->device.n; d++)
		if (s->device.p[d].scope == r->scope && sweep_is_early(&s->device.p[d], r))
			return true;
	return false;
}

/* What a stream is found by. Streams known by their row are that row, whatever the handle; null and
 * 1 are the device's default stream, 2 (or null in per-thread calls) the thread's own. */
struct stream_key {
	uint64_t a;
	uint32_t b, c;
	bool legacy, per_thread;
};

static struct stream_key key_of(const assay_sweep_rec *r)
{
	bool null = r->stream <= 1;
	bool per_thread = r->stream == 2 || (r->stream == 0 && r->flags & ASSAY_REC_PER_THREAD);
	if (r->track != ASSAY_NO_ROW)
		return (struct stream_key){r->track, r->scope, 1, false, false};
	if (per_thread)
		return (struct stream_key){2 | (uint64_t)(uint32_t)r->device << 32, r->scope,
					   r->thread ^ 0x80000000u, false, true};
	if (null)
		return (struct stream_key){(uint64_t)(uint32_t)r->device << 32, r->scope, 2, true,
					   false};
	return (struct stream_key){r->stream, r->scope, 0, false, false};
}

static uint32_t new_stream(assay_sweep *s)
{
	uint32_t st = s->free_stream;
	if (st != ASSAY_NO_ROW) {
		s->free_stream = s->stream.p[st].next;
		return st;
	}
	(void)assay_push(&s->stream);
	return (uint32_t)s->stream.n - 1;
}

bool sweep_has_unseen(const assay_sweep *s, uint32_t scope, int64_t at)
{
	if (!s->unseen.n || sweep_find(&s->unseen, scope, 0, 0) == ASSAY_NO_ROW)
		return false;
	for (size_t d = 0; d < s->device.n; d++)
		if (s->device.p[d].scope == scope && at < s->device.p[d].unseen)
			return true;
	return false;
}

void sweep_doubt_all(assay_sweep *s, uint32_t scope, assay_wait_doubt why)
{
	sweep_set(&s->doubted, scope, 0, 0, why);
	for (size_t d = 0; d < s->device.n; d++) {
		if (s->device.p[d].scope != scope)
			continue;
		sweep_doubt(&s->device.p[d].doubted, SWEEP_DOUBT_LINK, why);
		for (uint32_t i = s->device.p[d].first; i != ASSAY_NO_ROW;
		     i = s->stream.p[i].next) {
			sweep_doubt(&s->stream.p[i].tail, SWEEP_DOUBT_LINK, why);
			s->stream.p[i].settled = false;
		}
		sweep_forget_marks(&s->device.p[d]);
	}
}

void sweep_all_unseen(assay_sweep *s, uint32_t scope, assay_wait_doubt why)
{
	sweep_set(&s->unseen, scope, 0, 0, 1);
	for (size_t d = 0; d < s->device.n; d++)
		if (s->device.p[d].scope == scope)
			s->device.p[d].unseen = INT64_MAX;
	sweep_doubt_all(s, scope, why);
}

void sweep_may_record(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t i = sweep_find(&s->graphs, r->scope, 0, 0);
	if (i == ASSAY_NO_ROW) {
		i = (uint32_t)s->graph.n;
		sweep_set(&s->graphs, r->scope, 0, 0, i);
		*assay_push(&s->graph) = (sweep_graphs){0, INT64_MIN};
	}
	int64_t returned = r->op == ASSAY_OP_LAUNCH ? (int64_t)r->event : r->exit;
	s->graph.p[i].key = r->key;
	s->graph.p[i].until = sweep_max(s->graph.p[i].until, returned);
}

static void link_first(assay_sweep *s, uint32_t st)
{
	sweep_device *d = &s->device.p[s->stream.p[st].device];
	s->stream.p[st].next = d->first;
	s->stream.p[st].prev = ASSAY_NO_ROW;
	s->stream.p[st].settled = false;
	if (d->first != ASSAY_NO_ROW)
		s->stream.p[d->first].prev = st;
	d->first = st;
}

static void unlink_stream(assay_sweep *s, uint32_t st)
{
	const sweep_stream *p = &s->stream.p[st];
	if (p->prev == ASSAY_NO_ROW)
		s->device.p[p->device].first = p->next;
	else
		s->stream.p[p->prev].next = p->next;
	if (p->next != ASSAY_NO_ROW)
		s->stream.p[p->next].prev = p->prev;
}

static void link_newest(assay_sweep *s, uint32_t st)
{
	sweep_device *d = &s->device.p[s->stream.p[st].device];
	s->stream.p[st].older = d->newest;
	s->stream.p[st].newer = ASSAY_NO_ROW;
	if (d->newest != ASSAY_NO_ROW)
		s->stream.p[d->newest].newer = st;
	d->newest = st;
}

static void unlink_age(assay_sweep *s, uint32_t st)
{
	const sweep_stream *p = &s->stream.p[st];
	if (p->newer == ASSAY_NO_ROW)
		s->device.p[p->device].newest = p->older;
	else
		s->stream.p[p->newer].older = p->older;
	if (p->older != ASSAY_NO_ROW)
		s->stream.p[p->older].newer = p->newer;
}

void sweep_relink(assay_sweep *s, uint32_t st, uint64_t key)
{
	s->stream.p[st].moved = key + 1;
	unlink_age(s, st);
	link_newest(s, st);
}

void sweep_forget_kept(sweep_device *d)
{
	d->kept[SWEEP_BLOCKING_STREAMS].mark = d->kept[SWEEP_UNSURE_STREAMS].mark = 0;
}

void sweep_forget_marks(sweep_device *d)
{
	sweep_forget_kept(d);
	d->launched = d->joined = d->waited = d->waited_all = 0;
}

void sweep_stream_first(assay_sweep *s, uint32_t st)
{
	unlink_stream(s, st);
	link_first(s, st);
}

enum { BY_NAME = 3 };

static void name_stream(assay_sweep *s, uint32_t st, uint64_t handle, uint32_t scope)
{
	s->stream.p[st].id.handle = handle;
	if (handle > 2 && handle != ASSAY_NO_HANDLE)
		sweep_set(&s->by_stream, handle, scope, BY_NAME, st);
}

uint32_t sweep_stream_named(const assay_sweep *s, uint64_t handle, uint32_t scope)
{
	return sweep_find(&s->by_stream, handle, scope, BY_NAME);
}

uint32_t sweep_stream_of(assay_sweep *s, const assay_sweep_rec *r)
{
	if (r->track == ASSAY_NO_ROW && r->stream == ASSAY_NO_HANDLE)
		return ASSAY_NO_ROW;
	struct stream_key k = key_of(r);
	uint32_t st = sweep_find(&s->by_stream, k.a, k.b, k.c);
	if (st != ASSAY_NO_ROW) {
		if (s->stream.p[st].id.handle == ASSAY_NO_HANDLE) /* work came first */
			name_stream(s, st, r->stream, r->scope);
		if (s->stream.p[st].settled)
			sweep_stream_first(s, st);
		return st;
	}
	uint32_t d = sweep_device_of(s, r);
	bool legacy = k.legacy || r->flags & ASSAY_REC_LEGACY;
	st = new_stream(s);
	sweep_stream *p = &s->stream.p[st];
	*p = (sweep_stream){
		.id = {r->stream, r->track, ++s->uids, r->device},
		.device = d,
		.last = sweep_no_work,
		.tail = s->device.p[d].doubted,
		.before = INT64_MIN,
		.pending = ASSAY_NO_ROW,
		.pending_last = ASSAY_NO_ROW,
		.capture_of = ASSAY_NO_ROW,
		.legacy = legacy,
		.perhaps = legacy && r->flags & ASSAY_REC_PERHAPS,
		.blocking = k.per_thread,
		.unsure = !k.per_thread && !legacy,
		.moved = r->key + 1,
		.slot_a = k.a,
		.slot_b = k.b,
		.slot_c = k.c,
	};
	link_first(s, st);
	link_newest(s, st);
	if (s->device.p[d].early)
		sweep_doubt(&p->tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_EARLY);
	if (sweep_has_unseen(s, r->scope, r->enter))
		sweep_doubt(&p->tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_UNSEEN);
	if (!legacy && sweep_may_end_later(&s->device.p[d].some, &p->tail))
		sweep_doubt(&p->tail, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_DEFAULT);
	if (legacy) {
		s->device.p[d].legacy = st;
		sweep_forget_marks(&s->device.p[d]);
	}
	sweep_set(&s->by_stream, k.a, k.b, k.c, st);
	name_stream(s, st, r->stream, r->scope);
	return st;
}

/* Destroying is deferred: the work goes on, and a wait for the device waits for it. */
void sweep_stream_drop(assay_sweep *s, uint32_t st)
{
	sweep_stream *p = &s->stream.p[st];
	sweep_device *d = &s->device.p[p->device];
	if (sweep_later(p->tail, d->orphan)) {
		d->orphan_in = p->id;
		d->fresh_orphan = p->changed > p->synced;
	}
	d->orphan = sweep_latest(d->orphan, p->tail);
	if (p->blocking || p->unsure) {
		d->orphan_blocking = sweep_orphan(s, d);
		d->orphan_over = INT64_MAX;
		if (sweep_later(p->tail, d->orphan_blocking))
			d->orphan_blocking_in = p->id;
		d->orphan_blocking = sweep_latest(d->orphan_blocking, p->tail);
	}
	if (d->legacy == st) {
		d->legacy = ASSAY_NO_ROW;
		sweep_forget_marks(d);
	}
	while (p->pending != ASSAY_NO_ROW) {
		uint32_t next = s->pending.p[p->pending].next;
		s->pending.p[p->pending].next = s->free_pending;
		s->free_pending = p->pending;
		p->pending = next;
	}
	sweep_forget_kept(d);
	unlink_stream(s, st);
	unlink_age(s, st);
	remove_slot(&s->by_stream, p->slot_a, p->slot_b, p->slot_c);
	if (sweep_stream_named(s, p->id.handle, d->scope) == st)
		remove_slot(&s->by_stream, p->id.handle, d->scope, BY_NAME);
	p->next = s->free_stream;
	p->capture = 0;
	s->free_stream = st;
}

uint32_t sweep_event_find(const assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	return sweep_find(&s->by_event, r->event, r->scope, space);
}

uint32_t sweep_event_make(assay_sweep *s, const assay_sweep_rec *r, uint32_t space)
{
	uint32_t e = sweep_event_find(s, r, space);
	if (e != ASSAY_NO_ROW)
		return e;
	e = s->free_event;
	if (e != ASSAY_NO_ROW) {
		s->free_event = s->event.p[e].capture_of;
	} else {
		e = (uint32_t)s->event.n;
		(void)assay_push(&s->event);
	}
	s->event.p[e] = (sweep_event){.capture_of = ASSAY_NO_ROW};
	sweep_set(&s->by_event, r->event, r->scope, space, e);
	return e;
}

void sweep_event_drop(assay_sweep *s, const assay_sweep_rec *r)
{
	uint32_t e = sweep_event_find(s, r, 0);
	if (e == ASSAY_NO_ROW)
		return;
	remove_slot(&s->by_event, r->event, r->scope, 0);
	s->event.p[e].capture_of = s->free_event;
	s->free_event = e;
}

/* A stream is in the capture it began or joined for as long as the stream that began it is. */
bool sweep_capturing(const assay_sweep *s, uint32_t st)
{
	if (st == ASSAY_NO_ROW || !s->stream.p[st].capture)
		return false;
	const sweep_stream *origin = &s->stream.p[s->stream.p[st].capture_of];
	return origin->capture == s->stream.p[st].capture;
}

void sweep_pending_add(assay_sweep *s, uint32_t st, const sweep_pending *p)
{
	uint32_t n = s->free_pending;
	if (n != ASSAY_NO_ROW) {
		s->free_pending = s->pending.p[n].next;
	} else {
		n = (uint32_t)s->pending.n;
		(void)assay_push(&s->pending);
	}
	s->pending.p[n] = *p;
	s->pending.p[n].next = ASSAY_NO_ROW;
	sweep_stream *to = &s->stream.p[st];
	if (to->pending == ASSAY_NO_ROW)
		to->pending = n;
	else
		s->pending.p[to->pending_last].next = n;
	to->pending_last = n;
	if (++to->pendings <= SWEEP_PENDING_MAX)
		return;
	/* a stream on which nothing ever runs: the oldest stays without work behind it */
	uint32_t first = to->pending;
	to->pending = s->pending.p[first].next;
	s->pending.p[first].next = s->free_pending;
	s->free_pending = first;
	to->pendings--;
}

/* What streams stand behind that may be blocking: those of which it is not known, and all whose
 * device is not. */
static sweep_work unsure_work(const assay_sweep *s, uint32_t device)
{
	const sweep_device *d = &s->device.p[device];
	uint32_t unplaced = sweep_find(&s->by_device, (uint64_t)(uint32_t)-1, d->scope, 0);
	sweep_work w = sweep_orphan(s, d);
	for (uint32_t i = d->newest; sweep_moved(s, i, d->joined); i = s->stream.p[i].older)
		if (s->stream.p[i].unsure)
			w = sweep_latest(w, s->stream.p[i].tail);
	for (uint32_t i = unplaced == ASSAY_NO_ROW ? unplaced : s->device.p[unplaced].newest;
	     sweep_moved(s, i, d->joined); i = s->stream.p[i].older)
		if (s->stream.p[i].blocking || s->stream.p[i].unsure)
			w = sweep_latest(w, s->stream.p[i].tail);
	return w;
}

/* of: the stream to name */
static sweep_work tail_of_default(const assay_sweep *s, uint32_t st, assay_sweep_stream *of)
{
	uint32_t device = s->stream.p[st].device;
	sweep_work w = sweep_fan_work(s, device, SWEEP_BLOCKING_STREAMS, of);
	sweep_work other = unsure_work(s, device);
	if (other.doubt & (SWEEP_DOUBT_LINK | SWEEP_DOUBT_OVER) || sweep_later(other, w))
		sweep_doubt(&w, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_DEFAULT);
	return w;
}

sweep_work sweep_tail(const assay_sweep *s, uint32_t st)
{
	assay_sweep_stream of;
	if (st == ASSAY_NO_ROW)
		return sweep_no_work;
	return s->stream.p[st].legacy ? tail_of_default(s, st, &of) : s->stream.p[st].tail;
}

void sweep_stand_behind(assay_sweep *s, uint32_t st, sweep_work w, uint64_t key)
{
	sweep_stream *p = &s->stream.p[st];
	p->tail = sweep_latest(p->tail, w);
	p->changed = key;
	sweep_move(s, st, key);
}

static void enter_default(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	sweep_stream *p = &s->stream.p[st];
	sweep_device *d = &s->device.p[p->device];
	sweep_work own = p->tail;
	p->tail = tail_of_default(s, st, &d->joined_in);
	sweep_doubt_end(s, r, &own, &p->tail);
	p->changed = r->key;
	sweep_move(s, st, r->key);
	d->joined_row = p->tail.row;
	d->joined = sweep_mark(d, r->key);
}

void sweep_enter(assay_sweep *s, uint32_t st, const assay_sweep_rec *r)
{
	if (st == ASSAY_NO_ROW) {
		sweep_enter_some(s, r);
		return;
	}
	sweep_stream *p = &s->stream.p[st];
	uint32_t legacy = s->device.p[p->device].legacy;
	if (p->legacy) {
		enter_default(s, st, r);
	} else if (legacy != ASSAY_NO_ROW && s->stream.p[legacy].changed > p->legacy_joined) {
		bool doubtful = p->unsure || (p->blocking && s->stream.p[legacy].perhaps);
		if (doubtful && sweep_may_end_later(&s->stream.p[legacy].tail, &p->tail))
			sweep_doubt(&p->tail, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_DEFAULT);
		if (p->blocking)
			sweep_stand_behind(s, st, s->stream.p[legacy].tail, r->key);
		p->legacy_joined = r->key;
	}
	bool behind_some = p->blocking || p->unsure;
	if (p->id.device < 0 && behind_some && !p->legacy) /* behind whose default stream? */
		sweep_doubt(&p->tail, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_EMPTY);
	if (r->flags & ASSAY_REC_RACED)
		sweep_doubt(&p->tail, SWEEP_DOUBT_LINK, ASSAY_WAIT_BY_RACE);
	sweep_move(s, st, r->key);
}

/* Streams that may be blocking stand behind one another now, or do not. raced: behind what another
 * thread put into one of them at the same time, too. */
static void enter_some(assay_sweep *s, sweep_device *d, bool raced)
{
	sweep_work latest = sweep_no_work;
	for (uint32_t i = d->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		const sweep_stream *p = &s->stream.p[i];
		if (p->unsure || p->blocking || p->legacy)
			latest = sweep_latest(latest, p->tail);
	}
	if (raced)
		sweep_doubt(&latest, SWEEP_DOUBT_DEFAULT, ASSAY_WAIT_BY_RACE);
	d->some = latest; /* for streams that are not known yet */
	for (uint32_t i = d->first; i != ASSAY_NO_ROW; i = s->stream.p[i].next) {
		sweep_stream *p = &s->stream.p[i];
		if ((p->unsure || p->blocking) && sweep_may_end_later(&latest, &p->tail))
			sweep_doubt(&p->tail, SWEEP_DOUBT_DEFAULT,
				    raced ? ASSAY_WAIT_BY_RACE : ASSAY_WAIT_BY_DEFAULT);
	}
	sweep_forget_marks(d);
}

void sweep_enter_some(assay_sweep *s, const assay_sweep_rec *r)
{
	for (size_t d = 0; d < s->device.n; d++)
		if (s->device.p[d].scope == r->scope)
			enter_some(s, &s->device.p[d], r->flags & ASSAY_REC_RACED);
}

TEST(table_forgets_what_is_removed_and_nothing_else)
{
	sweep_table t = {0};
	for (uint32_t i = 0; i < 3000; i++)
		sweep_set(&t, i * 64, i % 3, 0, i);
	for (uint32_t i = 0; i < 3000; i += 2)
		remove_slot(&t, i * 64, i % 3, 0);
	for (uint32_t i = 0; i < 3000; i++)
		CHECK_EQ(sweep_find(&t, i * 64, i % 3, 0), i % 2 ? i : ASSAY_NO_ROW);
	CHECK_EQ(t.n, 1500);
	CHECK(sweep_find(&t, 64, 0, 0) == ASSAY_NO_ROW);
	assay_vec_release(t.slot);
	return 0;
}

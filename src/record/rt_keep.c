/* The flight recorder: what the writer takes from the rings stays in memory (wire/keep.h), the
 * oldest gives way to the newest, and goes into the capture when somebody wants it. What names
 * things, and is told only once, is moved into the capture before it is dropped. All of it on the
 * writer's thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/rt_state.h"
#include "wire/keep_open.h"

enum {
	RELEASE = 1 << 20, /* bytes that are given back at once */
	ENDED = 4096,      /* rings of threads that ended, remembered */
	SLOW_MAX = 16,     /* times that it is written out for slow steps, ... */
	SLOW_ROOMS = 4,    /* ... which is no more than so many times all that is kept */
	HANGS_MAX = 4,     /* the same for what hangs */
	NAMES_POS = 4, /* in the position of a chunk: only the names of the one that was there */
};

static struct {
	char *chunk, *names; /* payloads on their way */
	assay_keep_opens *opens;
	size_t room;       /* of each */
	uint64_t released; /* memory before is given back */
	struct {
		uint32_t ring;
		uint64_t pos; /* none of its chunks lie behind */
	} ended[ENDED];
	uint32_t ended_n;
	uint32_t slow, hangs; /* how often it was written out for each */
	uint64_t slow_bytes;  /* written for slow steps */
	bool for_slow;        /* the next time is for one */
	bool limited;         /* a slow step came that was one too many */
	int64_t last_look, due,
		hanging; /* due: a slow step is told then; hanging: since when, told */
	char why[96];
} keep;

/* The program got on: time goes by for what is kept. In one that stands still nothing gets old. */
static const bool gets_on[ASSAY_WIRE_TYPE_COUNT] = {
	[ASSAY_WIRE_API] = true,  [ASSAY_WIRE_KERNEL] = true,  [ASSAY_WIRE_COPY] = true,
	[ASSAY_WIRE_SET] = true,  [ASSAY_WIRE_GRAPH] = true,   [ASSAY_WIRE_RANGE] = true,
	[ASSAY_WIRE_SYNC] = true, [ASSAY_WIRE_PRODUCT] = true, [ASSAY_WIRE_BARRIER] = true,
};

bool assay_keep_on(void)
{
	return rt.file && rt.file->keep_bytes;
}

bool assay_keep_begin(void)
{
	assay_ring_file *f = rt.file;
	size_t room = rt.conf.ring_bytes > ASSAY_RING_BULK ? rt.conf.ring_bytes : ASSAY_RING_BULK;
	if (!rt.conf.keep_bytes)
		return true;
	keep.room = room;
	keep.chunk = keep.chunk ? keep.chunk : malloc(room);
	keep.names = keep.names ? keep.names : malloc(room);
	keep.opens = keep.opens ? keep.opens : malloc(sizeof *keep.opens);
	if (!keep.chunk || !keep.names || !keep.opens)
		return false;
	memset(keep.opens, 0, sizeof *keep.opens);
	keep.released = keep.ended_n = keep.slow = keep.hangs = 0;
	keep.last_look = keep.due = keep.hanging = 0;
	keep.slow_bytes = 0;
	keep.for_slow = keep.limited = false;
	uint64_t bytes = (uint64_t)rt.conf.keep_bytes,
		 least = 2 * (room + sizeof(assay_wire_chunk));
	f->keep_bytes = bytes > least ? bytes & ~4095ull : least & ~4095ull;
	atomic_store(&f->keep_since, assay_rt_now());
	return true;
}

void assay_keep_ring_ended(uint32_t ring)
{
	if (!assay_keep_on())
		return;
	uint32_t i = keep.ended_n++ % ENDED;
	keep.ended[i].ring = ring;
	keep.ended[i].pos = atomic_load(&rt.file->keep_head);
}

/* Will anything that is kept from a position on name the codes of this ring? */
static bool is_needed(uint32_t ring, uint64_t pos)
{
	uint32_t used = atomic_load(&rt.file->used), n = keep.ended_n;
	for (uint32_t i = 0; i < used; i++)
		if (rt.file->ring[i].id == ring)
			return true;
	for (uint32_t i = n; i-- > (n > ENDED ? n - ENDED : 0);)
		if (keep.ended[i % ENDED].ring == ring)
			return keep.ended[i % ENDED].pos > pos;
	return n > ENDED;
}

static bool is_name(const assay_wire_rec *rec, bool codes)
{
	bool code = rec->type == ASSAY_WIRE_CODE || rec->type == ASSAY_WIRE_STACK;
	return assay_keep_names(rec) && (codes || !code);
}

/* The names among the n bytes at keep.chunk, into keep.names. */
static size_t sift(size_t n, bool codes)
{
	size_t out = 0;
	for (size_t at = 0; at < n;) {
		const assay_wire_rec *rec = (const void *)(keep.chunk + at);
		if (is_name(rec, codes)) {
			memcpy(keep.names + out, rec, rec->bytes);
			out += rec->bytes;
		}
		at += rec->bytes;
	}
	return out;
}

static void note_switch(const assay_wire_rec *rec)
{
	const assay_wire_switch *s = (const void *)rec;
	if (rec->type == ASSAY_WIRE_SWITCH && rec->bytes >= sizeof *s)
		atomic_store(&rt.file->keep_off, !s->on);
}

static void count_dropped(size_t n, bool codes)
{
	for (size_t at = 0; at < n;) {
		const assay_wire_rec *rec = (const void *)(keep.chunk + at);
		uint32_t kind = rec->type % ASSAY_RING_KINDS;
		note_switch(rec);
		at += rec->bytes;
		if (is_name(rec, codes))
			continue;
		atomic_fetch_sub(&rt.file->written[kind], 1);
		atomic_fetch_add(&rt.file->dropped[ASSAY_WIRE_NOT_KEPT][kind], 1);
	}
}

/* What newer chunks were written over meanwhile is theirs. */
static void release(size_t least)
{
	uint64_t tail = atomic_load(&rt.file->keep_tail);
	uint64_t head = atomic_load(&rt.file->keep_head), room = rt.file->keep_bytes;
	if (tail - keep.released < least)
		return;
	if (head > room && head - room > keep.released)
		keep.released = head - room;
	assay_keep_release(assay_rt_ring_fd(), rt.file, keep.released, tail);
	keep.released = tail;
}

/* Ranges that are open behind a chunk that is on its way out, which reaches to `next`. */
static void pass_ranges(const assay_wire_chunk *c, uint64_t next, bool told)
{
	uint32_t before = keep.opens->n;
	bool any = false;
	for (size_t at = 0; at < c->bytes && !any;) {
		const assay_wire_rec *rec = (const void *)(keep.chunk + at);
		any = rec->type == ASSAY_WIRE_RANGE;
		at += rec->bytes;
	}
	if (any)
		assay_keep_pass(keep.opens, c, keep.chunk, told);
	if (before && c->ring && !is_needed(c->ring, next))
		assay_keep_forget(keep.opens, c->ring);
	if (any || keep.opens->n != before)
		assay_keep_save(assay_rt_ring_fd(), rt.file, keep.opens);
}

/* The oldest chunk goes; false: its names cannot be saved. */
static bool drop_oldest(void)
{
	assay_ring_file *f = rt.file;
	uint64_t pos = atomic_load(&f->keep_tail);
	assay_wire_chunk c;
	if (!assay_keep_read(assay_rt_ring_fd(), f, pos, &c, keep.chunk, keep.room)) {
		atomic_fetch_add(&f->failed,
				 1); /* somebody wrote over it: what follows is not found */
		atomic_store(&f->keep_cut, assay_rt_now());
		atomic_store(&f->keep_tail, atomic_load(&f->keep_head));
		return true;
	}
	uint64_t next = pos + sizeof c + c.bytes;
	bool codes = is_needed(c.ring, next);
	size_t names = sift(c.bytes, codes), whole = c.bytes;
	assay_wire_chunk dropped = c;
	c.pos |= NAMES_POS;
	if (names && !assay_rt_append(&c, keep.names, names))
		return false;
	atomic_store(&f->keep_cut, c.time);
	count_dropped(whole, codes);
	pass_ranges(&dropped, next, false);
	atomic_store(&f->keep_tail, next);
	release(RELEASE);
	return true;
}

static bool drop_older_than(int64_t time)
{
	assay_ring_file *f = rt.file;
	assay_wire_chunk c;
	for (;;) {
		uint64_t pos = atomic_load(&f->keep_tail);
		if (pos == atomic_load(&f->keep_head))
			return true;
		if (!assay_keep_peek(assay_rt_ring_fd(), f, pos, &c) || c.time < time) {
			if (!drop_oldest())
				return false;
			continue;
		}
		return true;
	}
}

static bool any_gets_on(const char *payload, size_t n)
{
	for (size_t at = 0; at < n;) {
		const assay_wire_rec *rec = (const void *)(payload + at);
		if (rec->type < ASSAY_WIRE_TYPE_COUNT && gets_on[rec->type])
			return true;
		at += rec->bytes;
	}
	return false;
}

static uint64_t used(void)
{
	return atomic_load(&rt.file->keep_head) - atomic_load(&rt.file->keep_tail);
}

static bool write_kept(const assay_wire_chunk *c, const char *payload)
{
	uint64_t head = atomic_load(&rt.file->keep_head);
	int fd = assay_rt_ring_fd();
	return assay_keep_write(fd, rt.file, head, c, sizeof *c) &&
	       assay_keep_write(fd, rt.file, head + sizeof *c, payload, c->bytes);
}

bool assay_keep_put(assay_wire_chunk *c, const char *payload, size_t n)
{
	assay_ring_file *f = rt.file;
	size_t need = sizeof *c + n;
	assay_wire_seal(c, payload, n);
	if (rt.conf.keep_ns && any_gets_on(payload, n) &&
	    !drop_older_than(c->time - rt.conf.keep_ns))
		return false;
	while (used() + need > f->keep_bytes)
		if (!drop_oldest())
			return false;
	while (!write_kept(c, payload)) { /* no space: less is kept */
		if (!used() || !drop_oldest())
			return false;
		release(0);
	}
	atomic_fetch_add(&f->keep_head, need);
	return true;
}

/* What the kept stretch lies in, behind the gap that begins at `since`. */
static bool tell_opens(int64_t since)
{
	for (uint32_t i = 0; i < keep.opens->n; i++) {
		_Alignas(8) char record[sizeof(assay_keep_open)];
		assay_wire_chunk c = {.time = assay_rt_now(), .pid = rt.file->pid};
		size_t n = assay_keep_tell(keep.opens, i, since, &c, record);
		if (!assay_rt_append(&c, record, n))
			return false;
	}
	assay_keep_told(keep.opens, rt.file);
	assay_keep_save(assay_rt_ring_fd(), rt.file, keep.opens);
	return true;
}

static bool tell_gap(void)
{
	assay_wire_switch gap[2];
	assay_wire_chunk c = {.time = assay_rt_now(), .pid = rt.file->pid};
	size_t n = assay_keep_gap(rt.file, gap) * sizeof *gap;
	if (n && (!assay_rt_append(&c, gap, n) || !tell_opens(gap[0].time)))
		return false;
	assay_ring_count(rt.file, (const char *)gap, n);
	atomic_store(&rt.file->keep_cut, 0);
	return true;
}

static void note_switches(size_t n)
{
	for (size_t at = 0; at < n;
	     at += ((const assay_wire_rec *)(const void *)(keep.chunk + at))->bytes)
		note_switch((const void *)(keep.chunk + at));
}

bool assay_keep_write_out(void)
{
	assay_ring_file *f = rt.file;
	if (!assay_keep_on())
		return true;
	if (keep.for_slow)
		keep.slow_bytes += used();
	keep.for_slow = false;
	if (!tell_gap())
		return false;
	while (used()) {
		assay_wire_chunk c;
		uint64_t pos = atomic_load(&f->keep_tail);
		if (!assay_keep_read(assay_rt_ring_fd(), f, pos, &c, keep.chunk, keep.room)) {
			drop_oldest();
			break;
		}
		size_t n = c.bytes;
		if (!assay_rt_append(&c, keep.chunk, n))
			return false;
		note_switches(n);
		pass_ranges(&c, pos + sizeof c + n, true);
		atomic_store(&f->keep_tail, pos + sizeof c + n);
		atomic_store(&f->keep_since, c.time);
	}
	release(1);
	return true;
}

/* ---- without being asked ---- */

/* When the oldest call began that a thread is still in; 0: none. */
static int64_t oldest_call(void)
{
	int64_t oldest = 0;
	uint32_t n = atomic_load(&rt.file->used);
	for (uint32_t i = 0; i < n; i++) {
		const assay_ring *r = &rt.file->ring[i];
		int64_t start = atomic_load(&r->call.start);
		if (atomic_load(&r->state) == ASSAY_RING_LIVE && start &&
		    (!oldest || start < oldest))
			oldest = start;
	}
	return oldest;
}

/* GPU work of a slow step is handed over a moment after its end. */
static bool slow_step(int64_t now)
{
	int64_t median, ns = assay_steps_slow(&median);
	if (ns) {
		snprintf(keep.why, sizeof keep.why, "slow step: %lld ms, the median is %lld ms",
			 (long long)(ns / 1000000), (long long)(median / 1000000));
		keep.due = keep.due ? keep.due : now + (int64_t)rt.conf.flush_ms * 1000000;
		return false;
	}
	bool is_due = keep.due && now >= keep.due;
	if (is_due)
		keep.due = 0;
	return is_due;
}

/* A thread that does not come back from a call, or a step that does not end; each is told once. */
static bool hangs(int64_t now)
{
	int64_t limit = (int64_t)rt.conf.hang_ms * 1000000;
	int64_t call = oldest_call(), step = assay_steps_open(now);
	int64_t since = call && now - call > limit ? call : step && now - step > limit ? step : 0;
	if (!since || since == keep.hanging)
		return false;
	keep.hanging = since;
	snprintf(keep.why, sizeof keep.why, "hangs: %s takes longer than %u ms",
		 since == call ? "a call" : "a step", rt.conf.hang_ms);
	return true;
}

/* Once: the report says that not every slow step is in the file. */
static void tell_limit(void)
{
	char text[128];
	if (keep.limited)
		return;
	snprintf(text, sizeof text, "%u times, %llu MB: later ones had nothing written", keep.slow,
		 (unsigned long long)(keep.slow_bytes >> 20));
	assay_rt_tell_fact("keep.limit", text);
	keep.limited = true;
}

static bool is_too_much(void)
{
	return keep.slow >= SLOW_MAX || keep.slow_bytes >= SLOW_ROOMS * rt.file->keep_bytes;
}

const char *assay_keep_look(void)
{
	int64_t now = assay_rt_now(), apart = rt.conf.keep_ns ? rt.conf.keep_ns : 10000000000;
	if (!assay_keep_on())
		return NULL;
	bool slow = slow_step(now), still = hangs(now) && keep.hangs < HANGS_MAX;
	bool early = keep.last_look && now - keep.last_look < apart;
	if (!still && slow && !early && is_too_much())
		tell_limit();
	keep.for_slow = !still && slow && !early && !keep.limited;
	if (!still && !keep.for_slow)
		return NULL;
	keep.slow += keep.for_slow;
	keep.hangs += still;
	keep.last_look = now;
	return keep.why;
}

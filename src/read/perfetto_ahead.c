/* Packets by several threads. Between two packets that say what numbers mean, those with an event
 * of the usual form need nothing of each other until they become rows: windows of them are taken
 * apart at the same time (base/pump.h), and the first reader makes the rows in order, as it does
 * alone. What tells of tracks, clocks and defaults changes nothing until then: it is kept as it is
 * for its turn. Any other packet ends this and is left to the first, so rows do not depend on the
 * number of threads.
 *
 * A reader ahead has strings of its own. Numbers of sequences stand for strings of the run, whose
 * texts it has as they were when this began: the run's pool grows meanwhile. */
#include "base/limits.h"
#include "base/pump.h"
#include "base/test.h"
#include "read/perfetto.h"
#include "read/reader.h"

enum {
	WINDOW = 128 << 10,
	/* of JSON; a window that asks for more is left to the first */
	ALLOWANCE = 32 * WINDOW / ASSAY_PUMP_SHRINK,
	STRINGS_MAX = 1 << 16, /* that are kept from window to window */
};

typedef struct parsed {
	uint32_t sequence, clock;
	uint64_t time;
	uint32_t args; /* in args; ASSAY_NO_ROW: none */
	uint32_t kept; /* bytes of a packet in kept, when it is no event */
	perfetto_event event;
} parsed;

typedef struct worker {
	perfetto x;
	assay_part part;
	assay_vec(parsed) parsed;
	assay_vec(perfetto_args) args;
	assay_vec(char) kept;      /* packets that wait for their turn, one after the other */
	assay_vec(assay_sid) ours; /* by string of its own: that of the run, 0: not asked for yet */
	uint64_t start, end;       /* of the packets, in the file; equal: none */
} worker;

struct perfetto_crew {
	perfetto *first;
	worker *worker[ASSAY_THREADS_MAX];
	unsigned threads;
	assay_vec(assay_str) texts; /* what the workers' point to */
};

perfetto_crew *perfetto_crew_new(perfetto *first, unsigned threads, assay_arena *a)
{
	perfetto_crew *c = assay_alloc(a, sizeof *c);
	c->first = first;
	c->threads = threads < ASSAY_THREADS_MAX ? threads : ASSAY_THREADS_MAX;
	for (unsigned i = 0; i < c->threads; i++) {
		c->worker[i] = assay_alloc(a, sizeof(worker));
		c->worker[i]->x.part = &c->worker[i]->part;
		c->worker[i]->x.ahead = true;
	}
	return c;
}

static void forget_strings(worker *w)
{
	assay_pool_free(&w->part.strings);
	w->part.strings = (assay_pool){0};
	w->ours.n = 0;
	for (size_t i = 0; i < PF_MEMBERS; i++)
		w->x.members[i].state = 0;
}

void perfetto_crew_free(perfetto_crew *c)
{
	for (unsigned i = 0; i < c->threads; i++) {
		worker *w = c->worker[i];
		w->x.sequences.p = NULL; /* the first reader's */
		w->x.sequences.n = w->x.sequences.cap = 0;
		w->x.sequence_of = (assay_map){0};
		perfetto_free(&w->x);
		assay_part_free(&w->part);
		assay_vec_free(&w->parsed);
		assay_vec_free(&w->args);
		assay_vec_free(&w->kept);
		assay_vec_free(&w->ours);
	}
	assay_vec_free(&c->texts);
}

/* ------------------------------------------------------------------ taking apart */

/* Where a few packets seem to follow each other. */
static bool is_chain(assay_str text)
{
	enum { LINKS = 6 };
	assay_proto c = assay_proto_on(text);
	int n = 0;
	for (assay_field f; n < LINKS && assay_proto_next(&c, &f); n++)
		if (f.number != PF_TRACE_PACKET || f.wire != ASSAY_WIRE_BYTES)
			return false;
	return n == LINKS || (c.cut && n);
}

static size_t align(void *ctx, const char *text, size_t n)
{
	enum { TAG = PF_TRACE_PACKET << 3 | ASSAY_WIRE_BYTES };
	(void)ctx;
	for (const char *at = text; (at = memchr(at, TAG, n - (size_t)(at - text))); at++)
		if (is_chain((assay_str){at, n - (size_t)(at - text)}))
			return (size_t)(at - text);
	return n;
}

static bool can_wait(const perfetto *x)
{
	enum { LONGEST = 4096 };
	for (size_t i = 0; i < x->fields.n; i++) {
		uint32_t field = x->fields.p[i].number;
		if ((field != PF_PACKET_DEFAULTS && field != PF_PACKET_CLOCKS &&
		     field != PF_PACKET_TRACK) ||
		    x->fields.p[i].bytes.n > LONGEST)
			return false;
	}
	return x->fields.n;
}

static void keep(worker *w, assay_str message)
{
	*assay_push(&w->parsed) = (parsed){.kept = (uint32_t)message.n};
	assay_vec_reserve(&w->kept, w->kept.n + message.n + ASSAY_PAD);
	memcpy(w->kept.p + w->kept.n, message.p, message.n);
	w->kept.n += message.n;
}

/* False for packets of any other form. */
static bool parse_packet(worker *w, assay_str message)
{
	perfetto *x = &w->x;
	perfetto_header h;
	x->odd = false;
	if (!perfetto_header_read(x, message, &h) || h.cleared || h.dropped ||
	    h.flags & PF_STATE_CLEARED)
		return false;
	bool waits = can_wait(x);
	if (!waits && (x->fields.n != 1 || !h.has_time || x->fields.p[0].number != PF_PACKET_EVENT))
		return false;
	uint32_t sequence = assay_map_get(&x->sequence_of, h.sequence);
	const perfetto_sequence *s =
		sequence == ASSAY_MAP_ABSENT ? NULL : &x->sequences.p[sequence];
	if (!s || (h.pid > 0 && s->writer != h.pid) || (h.flags & PF_STATE_NEEDED && !s->begun))
		return false;
	if (waits) {
		keep(w, message);
		return true;
	}
	parsed *p = assay_push(&w->parsed);
	perfetto_args *a = assay_push(&w->args);
	p->sequence = sequence;
	p->kept = 0;
	p->clock = h.clock;
	p->time = h.time;
	if (!perfetto_event_parse(x, sequence, x->fields.p[0].bytes, &p->event, a)) {
		w->parsed.n--;
		w->args.n--;
		return false;
	}
	p->args = (uint32_t)w->args.n - 1;
	if (!a->has && !a->rest) {
		p->args = ASSAY_NO_ROW;
		w->args.n--;
	}
	return true;
}

static assay_pump_status parse(void *ctx, unsigned n, assay_view v, size_t limit, uint64_t pos,
			       size_t *used)
{
	worker *w = ((perfetto_crew *)ctx)->worker[n];
	assay_proto c = assay_proto_on((assay_str){v.p, v.n});
	if (w->start == w->end)
		w->start = w->end = pos;
	for (*used = 0; *used < limit;) {
		assay_field f;
		if (!assay_proto_next(&c, &f))
			return c.bad || v.end ? ASSAY_PUMP_END : ASSAY_PUMP_MORE;
		if (f.number != PF_TRACE_PACKET || f.wire != ASSAY_WIRE_BYTES ||
		    !parse_packet(w, f.bytes))
			return ASSAY_PUMP_END;
		*used += f.whole.n;
		w->end += f.whole.n;
	}
	return ASSAY_PUMP_LIMIT;
}

/* ------------------------------------------------------------------ making rows */

static void discard(void *ctx, unsigned n)
{
	worker *w = ((perfetto_crew *)ctx)->worker[n];
	if (w->part.strings.str.n > STRINGS_MAX)
		forget_strings(w);
	w->parsed.n = w->args.n = w->kept.n = 0;
	w->start = w->end = 0;
	w->x.args_left = ALLOWANCE;
	w->part.issues[ASSAY_ISSUE_wide_value] = 0;
}

static assay_sid our_string(const perfetto_crew *c, worker *w, assay_sid own)
{
	while (w->ours.n <= own)
		*assay_push(&w->ours) = 0;
	if (own && !w->ours.p[own])
		w->ours.p[own] = assay_intern(&c->first->part->strings,
					      assay_pool_get(&w->part.strings, own));
	return w->ours.p[own];
}

static void place(const perfetto_crew *c, worker *w, parsed *e)
{
	static const perfetto_args none = {0};
	perfetto *x = c->first;
	perfetto_packet p = {.sequence = e->sequence};
	perfetto_args *a = e->args == ASSAY_NO_ROW ? NULL : &w->args.p[e->args];
	p.has_ts = perfetto_time(x, e->sequence, e->clock, e->time, &p.ts);
	assay_count(x->part, ASSAY_ISSUE_wide_value, !p.has_ts);
	if (e->event.own_name)
		e->event.name = our_string(c, w, e->event.name);
	if (a && p.has_ts)
		a->rest = our_string(c, w, a->rest);
	perfetto_event_place(x, &p, &e->event, a ? a : &none);
}

/* The first reader knows what the file may still ask for. */
static void commit(void *ctx, unsigned n)
{
	perfetto_crew *c = ctx;
	worker *w = c->worker[n];
	perfetto *x = c->first;
	uint64_t bytes = w->end - w->start, asked = ALLOWANCE - w->x.args_left;
	if (w->part.issues[ASSAY_ISSUE_wide_value] || asked > x->args_left) {
		assay_view v = assay_input_view(x->in, w->start, (size_t)bytes);
		v.n = (size_t)bytes;
		perfetto_view_read(x, v, SIZE_MAX, &(size_t){0});
	} else {
		x->args_left += ASSAY_LIMIT_ARGS_RATIO * bytes - asked;
		size_t kept = 0;
		for (size_t i = 0; i < w->parsed.n; kept += w->parsed.p[i++].kept)
			if (w->parsed.p[i].kept)
				perfetto_packet_read(
					x, (assay_str){w->kept.p + kept, w->parsed.p[i].kept});
			else
				place(c, w, &w->parsed.p[i]);
	}
	discard(c, n);
	perfetto_tell_progress(x);
}

static void take_texts(perfetto_crew *c)
{
	const assay_pool *pool = &c->first->part->strings;
	c->texts.n = 0;
	assay_vec_reserve(&c->texts, pool->str.n + 1);
	for (assay_sid i = 0; i < pool->str.n; i++)
		c->texts.p[c->texts.n++] = assay_pool_get(pool, i);
}

static void begin(perfetto_crew *c, unsigned n)
{
	worker *w = c->worker[n];
	const perfetto *x = c->first;
	w->x.sequences.p = x->sequences.p;
	w->x.sequences.n = x->sequences.n;
	w->x.sequence_of = x->sequence_of;
	w->x.named = x->named;
	w->x.notes_named = x->notes_named;
	w->x.texts = c->texts.p;
	w->x.texts_n = c->texts.n;
	discard(c, n);
}

uint64_t perfetto_read_ahead(perfetto_crew *c, uint64_t pos)
{
	take_texts(c);
	for (unsigned i = 0; i < c->threads; i++)
		begin(c, i);
	return assay_pump_run(&(assay_pump){.in = c->first->in,
					    .start = pos,
					    .threads = c->threads,
					    .window = WINDOW,
					    .ctx = c,
					    .align = align,
					    .parse = parse,
					    .commit = commit,
					    .discard = discard});
}

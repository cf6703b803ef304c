/* Clocks of Perfetto traces: each packet may have its own, snapshots tell how they go together. */
#include "read/perfetto.h"

#include "base/sort.h"

enum {
	CLOCKS_MAX = 32,    /* of a snapshot: pairs are kept, so their number is squared */
	COUNTING_MAX = 128, /* of a sequence: twice those it has of its own */
};

/* Clocks below 64 and from 128 on are the whole trace's, the others of one sequence. */
static uint64_t key_of(uint32_t sequence, uint32_t clock)
{
	bool own = clock >= PF_SEQUENCE_CLOCKS && clock < PF_TRACE_CLOCKS;
	return own ? (uint64_t)(sequence + 1) << 32 | clock : clock;
}

static uint64_t pair_key(uint64_t from, uint64_t to)
{
	uint64_t k[2] = {from, to};
	return assay_hash(k, sizeof k, 0);
}

static perfetto_pair *pair_of(const perfetto_clocks *c, uint64_t from, uint64_t to)
{
	uint32_t i = assay_map_get(&c->pair_of, pair_key(from, to));
	return i == ASSAY_MAP_ABSENT ? NULL : &c->pairs.p[i];
}

static void add_pair(perfetto_clocks *c, uint64_t from, uint64_t at, uint64_t to, uint64_t is)
{
	uint32_t *i = assay_map_at(&c->pair_of, pair_key(from, to));
	if (*i == ASSAY_MAP_ABSENT) {
		uint32_t *first = assay_map_at(&c->first_of, from);
		*i = (uint32_t)c->pairs.n;
		*assay_push(&c->pairs) = (perfetto_pair){.to = to, .next = *first};
		*first = *i;
	}
	perfetto_pair *p = &c->pairs.p[*i];
	if (p->at.n && at < p->at.p[p->at.n - 1])
		return; /* a clock that goes back tells nothing */
	*assay_push(&p->at) = at;
	*assay_push(&p->is) = is;
}

typedef struct reading {
	uint32_t id;
	bool incremental;
	uint64_t time, unit;
} reading;

static reading read_clock(assay_str message)
{
	reading r = {.unit = 1};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_VARINT)
			continue;
		if (f.number == PF_CLOCK_ID)
			r.id = (uint32_t)f.value;
		else if (f.number == PF_CLOCK_TIME)
			r.time = f.value;
		else if (f.number == PF_CLOCK_INCREMENTAL)
			r.incremental = f.value;
		else if (f.number == PF_CLOCK_UNIT && f.value)
			r.unit = f.value;
	}
	return r;
}

static perfetto_counting *counting(perfetto *x, uint32_t sequence, uint32_t id)
{
	perfetto_sequence *s = &x->sequences.p[sequence];
	if (s->clock_asked < s->clocks.n && s->clocks.p[s->clock_asked].id == id)
		return &s->clocks.p[s->clock_asked];
	for (size_t i = 0; i < s->clocks.n; i++)
		if (s->clocks.p[i].id == id)
			return &s->clocks.p[s->clock_asked = i];
	return NULL;
}

static void note_counting(perfetto *x, uint32_t sequence, const reading *r)
{
	perfetto_counting *c = counting(x, sequence, r->id);
	if (!c) {
		if (r->unit == 1 && !r->incremental)
			return;
		if (x->sequences.p[sequence].clocks.n == COUNTING_MAX) {
			assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
			return;
		}
		c = assay_push(&x->sequences.p[sequence].clocks);
		c->pair = 0;
	}
	*c = (perfetto_counting){r->id, r->incremental, r->unit, r->time * r->unit, c->pair};
}

void perfetto_snapshot(perfetto *x, uint32_t sequence, assay_str message)
{
	reading list[CLOCKS_MAX];
	size_t n = 0;
	uint32_t primary = PF_BOOTTIME;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_CLOCKS_PRIMARY && f.wire == ASSAY_WIRE_VARINT)
			primary = (uint32_t)f.value;
		if (f.number != PF_CLOCKS_CLOCK || f.wire != ASSAY_WIRE_BYTES)
			continue;
		if (n == CLOCKS_MAX) {
			assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
			break;
		}
		list[n] = read_clock(f.bytes);
		note_counting(x, sequence, &list[n++]);
	}
	if (!x->clocks.chosen && n) {
		x->clocks.trace = primary;
		x->clocks.chosen = true;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (i != k)
				add_pair(&x->clocks, key_of(sequence, list[i].id),
					 list[i].time * list[i].unit, key_of(sequence, list[k].id),
					 list[k].time * list[k].unit);
}

/* By the latest snapshot before it, or the first. */
static uint64_t convert(const perfetto_pair *p, uint64_t t)
{
	size_t i = p->at.n - 1;
	if (t < p->at.p[i]) {
		i = assay_count_until((const int64_t *)(const void *)p->at.p, sizeof *p->at.p,
				      p->at.n, (int64_t)t);
		i -= i > 0;
	}
	return t - p->at.p[i] + p->is.p[i];
}

/* Over one clock between at most: snapshots hold all clocks of a machine, so that is enough for a
 * sequence's own clock, the machine's and the trace's. */
static bool lead(const perfetto_clocks *c, uint64_t from, uint64_t to, uint64_t *t)
{
	const perfetto_pair *p = pair_of(c, from, to);
	if (p) {
		*t = convert(p, *t);
		return true;
	}
	for (uint32_t i = assay_map_get(&c->first_of, from); i != ASSAY_MAP_ABSENT;
	     i = c->pairs.p[i].next) {
		const perfetto_pair *next = pair_of(c, c->pairs.p[i].to, to);
		if (!next)
			continue;
		*t = convert(next, convert(&c->pairs.p[i], *t));
		return true;
	}
	return false;
}

/* Of a sequence's clocks the one that counts on is moved by every packet that uses it. */
static uint64_t advance(perfetto_counting *c, uint64_t value)
{
	uint64_t t = value * c->unit;
	if (c->incremental)
		t = c->last += t;
	return t;
}

/* From a clock to that of rows. What leads there from one that counts is asked for once. */
static bool to_rows(perfetto *x, uint32_t sequence, uint32_t clock, perfetto_counting *counts,
		    uint64_t *t)
{
	uint64_t from = key_of(sequence, clock), to = key_of(sequence, x->clocks.trace);
	if (counts && counts->pair) {
		*t = convert(&x->clocks.pairs.p[counts->pair - 1], *t);
		return true;
	}
	const perfetto_pair *p = counts ? pair_of(&x->clocks, from, to) : NULL;
	if (p)
		counts->pair = (uint32_t)(p - x->clocks.pairs.p) + 1;
	return lead(&x->clocks, from, to, t) || clock < PF_SEQUENCE_CLOCKS;
}

bool perfetto_time(perfetto *x, uint32_t sequence, uint32_t clock, uint64_t value, int64_t *out)
{
	const int64_t most = 1ll << 61; /* sums and differences of a few must fit */
	if (!clock)
		clock = x->sequences.p[sequence].clock;
	perfetto_counting *c = clock ? counting(x, sequence, clock) : NULL;
	uint64_t t = c ? advance(c, value) : value;
	if (!clock)
		clock = x->clocks.chosen ? x->clocks.trace : PF_BOOTTIME;
	if (!x->clocks.chosen) { /* without snapshots there is one clock, whatever it is */
		x->clocks.trace = clock;
		x->clocks.chosen = true;
	}
	if (clock != x->clocks.trace && !to_rows(x, sequence, clock, c, &t))
		return false;
	*out = (int64_t)t;
	return *out >= -most && *out <= most;
}

bool perfetto_epoch(const perfetto *x, int64_t *base)
{
	const int64_t since_2001 = 1000000000000000000; /* no machine is up for so long */
	const perfetto_pair *p = pair_of(&x->clocks, x->clocks.trace, PF_REALTIME);
	*base = 0;
	if (x->clocks.trace == PF_REALTIME)
		return true;
	if (p && p->at.n) {
		*base = (int64_t)(p->is.p[0] - p->at.p[0]);
		return true;
	}
	return x->last > since_2001;
}

void perfetto_clocks_free(perfetto_clocks *c)
{
	for (size_t i = 0; i < c->pairs.n; i++) {
		assay_vec_free(&c->pairs.p[i].at);
		assay_vec_free(&c->pairs.p[i].is);
	}
	assay_vec_free(&c->pairs);
	assay_map_free(&c->pair_of);
	assay_map_free(&c->first_of);
}

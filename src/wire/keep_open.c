#include "wire/keep_open.h"

#include <string.h>
#include <unistd.h>

#define TOLD_AGAIN (1ull << 63) /* in the position of a chunk: of no record of its ring */

/* What a record ends, of its thread and domain the last; o->n: nothing. */
static uint32_t ended_by(const assay_keep_opens *o, uint32_t ring, const assay_wire_range *g)
{
	uint16_t begins =
		g->op == ASSAY_WIRE_RANGE_POP ? ASSAY_WIRE_RANGE_PUSH : ASSAY_WIRE_RANGE_START;
	for (uint32_t i = o->n; i-- > 0;) {
		const assay_keep_open *at = &o->open[i];
		bool same = begins == ASSAY_WIRE_RANGE_START
				    ? at->range.id == g->id
				    : at->ring == ring && at->range.domain == g->domain &&
					      at->range.rec.thread == g->rec.thread;
		if (at->range.op == begins && same)
			return i;
	}
	return o->n;
}

static void take_out(assay_keep_opens *o, uint32_t i)
{
	ASSAY_ASSERT_CHECKED(i < o->n);
	o->n--;
	memmove(&o->open[i], &o->open[i + 1], (o->n - i) * sizeof *o->open);
}

static void put_in(assay_keep_opens *o, const assay_wire_chunk *c, const assay_wire_rec *rec,
		   bool told)
{
	if (o->n == ASSAY_KEEP_OPEN_MAX) { /* the next end would be of another one */
		o->full = 1;
		o->n = 0;
		return;
	}
	assay_keep_open *at = &o->open[o->n++];
	ASSAY_ASSERT_CHECKED(rec->bytes >= sizeof at->range);
	size_t text = rec->bytes - sizeof at->range;
	memset(at, 0, sizeof *at);
	at->ring = c->ring;
	at->tid = c->tid;
	at->told = told;
	memcpy(&at->range, rec, sizeof at->range);
	text = at->range.name ? 0 : text < at->range.length ? text : at->range.length;
	at->range.length = (uint16_t)(text < ASSAY_KEEP_OPEN_TEXT ? text : ASSAY_KEEP_OPEN_TEXT);
	memcpy(at->text, (const char *)rec + sizeof at->range, at->range.length);
}

void assay_keep_pass(assay_keep_opens *o, const assay_wire_chunk *c, const char *payload, bool told)
{
	for (size_t at = 0; at < c->bytes && !o->full;) {
		const assay_wire_rec *rec = (const void *)(payload + at);
		at += rec->bytes;
		assay_wire_range g;
		if (rec->type != ASSAY_WIRE_RANGE || rec->bytes < sizeof g)
			continue;
		memcpy(&g, rec, sizeof g);
		if (g.op == ASSAY_WIRE_RANGE_PUSH || g.op == ASSAY_WIRE_RANGE_START) {
			put_in(o, c, rec, told);
		} else if (g.op == ASSAY_WIRE_RANGE_POP || g.op == ASSAY_WIRE_RANGE_END) {
			uint32_t i = ended_by(o, c->ring, &g);
			if (i < o->n)
				take_out(o, i);
		}
	}
}

void assay_keep_forget(assay_keep_opens *o, uint32_t ring)
{
	for (uint32_t i = o->n; i-- > 0;)
		if (o->open[i].ring == ring && o->open[i].range.op == ASSAY_WIRE_RANGE_PUSH)
			take_out(o, i);
}

size_t assay_keep_tell(const assay_keep_opens *o, uint32_t i, int64_t since, assay_wire_chunk *c,
		       char out[sizeof(assay_keep_open)])
{
	ASSAY_ASSERT_CHECKED(i < o->n);
	const assay_keep_open *at = &o->open[i];
	assay_wire_range g = at->range;
	size_t n = assay_wire_round(sizeof g + g.length);
	g.rec.bytes = (uint16_t)n;
	g.time = g.time > since ? g.time : since;
	memset(out, 0, n);
	memcpy(out, &g, sizeof g);
	memcpy(out + sizeof g, at->text, g.length);
	c->ring = at->ring;
	c->tid = at->tid;
	c->pos = TOLD_AGAIN | (uint64_t)o->turns << 20 | i;
	return n;
}

void assay_keep_told(assay_keep_opens *o, assay_ring_file *f)
{
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->open[i].told)
			continue;
		o->open[i].told = 1;
		atomic_fetch_add(&f->written[ASSAY_WIRE_RANGE], 1);
		atomic_fetch_sub(&f->dropped[ASSAY_WIRE_NOT_KEPT][ASSAY_WIRE_RANGE], 1);
	}
	o->turns++;
}

static off_t place(const assay_ring_file *f)
{
	return (off_t)(assay_keep_at(f) + f->keep_bytes);
}

static size_t bytes_of(const assay_keep_opens *o)
{
	return offsetof(assay_keep_opens, open) + o->n * sizeof *o->open;
}

static uint64_t sum_of(const assay_keep_opens *o)
{
	return assay_wire_sum((const char *)o + sizeof o->sum, bytes_of(o) - sizeof o->sum);
}

bool assay_keep_save(int fd, const assay_ring_file *f, assay_keep_opens *o)
{
	o->sum = sum_of(o);
	return pwrite(fd, o, bytes_of(o), place(f)) == (ssize_t)bytes_of(o);
}

static bool makes_sense(const assay_keep_opens *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->open[i].range.rec.type != ASSAY_WIRE_RANGE ||
		    o->open[i].range.length > ASSAY_KEEP_OPEN_TEXT)
			return false;
	return true;
}

void assay_keep_load(int fd, const assay_ring_file *f, assay_keep_opens *o)
{
	ssize_t n = pread(fd, o, sizeof *o, place(f));
	if (n < (ssize_t)offsetof(assay_keep_opens, open) || o->n > ASSAY_KEEP_OPEN_MAX ||
	    n < (ssize_t)bytes_of(o) || o->sum != sum_of(o) || !makes_sense(o))
		o->n = o->turns = 0;
}

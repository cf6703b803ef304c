/* For tests of the sweep: calls as a program makes them, and what came out. */
#ifndef ASSAY_TESTS_WAITS_PROGRAM_H
#define ASSAY_TESTS_WAITS_PROGRAM_H

#include "resolve/sweep.h"

enum { A = 0xa0, B = 0xb0, S1 = 0x1000, S2 = 0x2000, S3 = 0x3000, MAX = 64 };

/* A program under test: calls as they are delivered, and what came out. */
typedef struct program {
	assay_sweep_rec rec[MAX];
	uint32_t n;
	assay_sweep_wait wait[MAX];
	assay_sweep_news landed[MAX];
	uint32_t waits;
	assay_sweep_edge edge[MAX];
	uint32_t edges;
	uint64_t rerecords;
} program;

static inline assay_sweep_rec *call(program *p, assay_sweep_op op, uint64_t key)
{
	assay_sweep_rec *r = &p->rec[p->n++];
	*r = (assay_sweep_rec){.key = key,
			       .enter = (int64_t)key * 10,
			       .exit = (int64_t)key * 10 + 5,
			       .stream = ASSAY_NO_HANDLE,
			       .scope = 1,
			       .thread = 1,
			       .track = ASSAY_NO_ROW,
			       .hint = ASSAY_NO_ROW,
			       .row = (uint32_t)key,
			       .device = 0,
			       .op = (uint8_t)op};
	return r;
}

static inline assay_sweep_rec *on(program *p, assay_sweep_op op, uint64_t key, uint64_t stream)
{
	assay_sweep_rec *r = call(p, op, key);
	r->stream = stream;
	return r;
}

static inline assay_sweep_rec *record(program *p, uint64_t key, uint64_t event, uint64_t stream)
{
	assay_sweep_rec *r = on(p, ASSAY_OP_RECORD, key, stream);
	r->event = event;
	return r;
}

static inline assay_sweep_rec *wait(program *p, uint64_t key, uint64_t stream, uint64_t event)
{
	assay_sweep_rec *r = on(p, ASSAY_OP_WAIT, key, stream);
	r->event = event;
	return r;
}

static inline assay_sweep_rec *event_call(program *p, assay_sweep_op op, uint64_t key,
					  uint64_t event)
{
	assay_sweep_rec *r = call(p, op, key);
	r->event = event;
	r->arg = op == ASSAY_OP_CREATE ? INT64_MAX : 0; /* nothing was lost */
	return r;
}

/* Work on the device from start to end. */
static inline assay_sweep_rec *work(program *p, uint64_t key, uint64_t stream, int64_t start,
				    int64_t end)
{
	assay_sweep_rec *r = on(p, ASSAY_OP_LAUNCH, key, stream);
	r->enter = start;
	r->exit = end;
	return r;
}

static inline uint32_t take_wait(void *ctx, const assay_sweep_wait *w)
{
	program *p = ctx;
	p->wait[p->waits] = *w;
	return p->waits++;
}

static inline void take_news(void *ctx, uint32_t i, const assay_sweep_news *n)
{
	program *p = ctx;
	if (n->what == ASSAY_NEWS_LANDED) {
		p->landed[i] = *n;
	} else {
		bool ipc = n->what == ASSAY_NEWS_FOUND;
		p->wait[i].class = ipc ? ASSAY_WAIT_IS_LIKELY : ASSAY_WAIT_IS_AMBIGUOUS;
		*(ipc ? &p->wait[i].record_key : &p->wait[i].other_key) = n->record_key;
	}
}

static inline void take_edge(void *ctx, const assay_sweep_edge *e)
{
	program *p = ctx;
	p->edge[p->edges++] = *e;
}

static inline void run(program *p)
{
	uint32_t rows[MAX];
	for (uint32_t i = 0; i < p->n; i++)
		rows[i] = i;
	assay_sweep_sort(p->rec, rows, p->n);
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){p, take_wait, take_news, take_edge, NULL},
				(assay_sweep_clocks){0});
	for (uint32_t i = 0; i < p->n; i++)
		assay_sweep_push(s, &p->rec[rows[i]]);
	assay_sweep_end(s);
	p->rerecords = assay_sweep_rerecords(s);
	assay_sweep_free(s);
}

static inline bool is(const program *p, uint32_t i, assay_wait_class class, uint64_t record)
{
	return i < p->waits && p->wait[i].class == class && p->wait[i].record_key == record;
}

#endif

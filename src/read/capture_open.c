/* What had not ended: calls that threads are in, and launches whose work did not come. */
#include "names/calls.h"
#include "read/capture.h"

void assay_capture_symbol(capture *c, const any_record *r)
{
	*assay_map_at(&c->symbols, r->symbol.number) = assay_capture_kernel_name(c, r->symbol.name);
}

static assay_sid kernel_of(const capture *c, uint16_t given, uint64_t symbol)
{
	uint32_t sid =
		given & ASSAY_WIRE_LAUNCHES ? assay_map_get(&c->symbols, symbol) : ASSAY_MAP_ABSENT;
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

void assay_capture_open(capture *c, const any_record *r)
{
	const assay_wire_open *o = &r->open;
	assay_open_call_table *t = &c->part->t.open_call;
	uint32_t track = assay_capture_thread(c, &o->rec);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_open_call);
	t->ts[row] = o->start;
	t->name[row] = assay_capture_function(c, o->domain, o->function);
	t->track[row] = track;
	t->corr[row] = o->corr;
	t->stream[row] = o->given & ASSAY_WIRE_GIVES_STREAM ? o->stream : UINT64_MAX;
	t->event[row] = o->given & ASSAY_WIRE_GIVES_EVENT ? o->event : UINT64_MAX;
	t->kernel[row] = kernel_of(c, o->given, o->event);
	assay_capture_seen(c, o->start);
}

void assay_capture_launch(capture *c, const assay_wire_api *a, uint32_t host)
{
	assay_str name = assay_pool_get(&c->part->strings, c->part->t.host.name[host]);
	bool given = c->record.n >= ASSAY_WIRE_API_LAUNCH && a->given & ASSAY_WIRE_GIVES_STREAM;
	if (!(assay_call_meaning_of(name.p, name.n).takes & ASSAY_TAKES_LAUNCHES))
		return;
	*assay_push(&c->launched) =
		(launched){.corr = a->corr,
			   .stream = given ? a->stream : UINT64_MAX,
			   .symbol = given && a->given & ASSAY_WIRE_LAUNCHES ? a->event : 0,
			   .host = host};
}

static void add_queued(capture *c, const launched *l, bool done)
{
	assay_tables *t = &c->part->t;
	uint32_t row = assay_add(t, ASSAY_T_queued);
	t->queued.ts[row] = t->host.ts[l->host];
	t->queued.host[row] = l->host;
	t->queued.corr[row] = l->corr;
	t->queued.stream[row] = l->stream;
	t->queued.kernel[row] = l->symbol ? kernel_of(c, ASSAY_WIRE_LAUNCHES, l->symbol) : 0;
	t->queued.done[row] = done;
}

/* A stream works in order: what was launched before something that ended has ended, whether or not
 * its record came. */
void assay_capture_queue(capture *c)
{
	assay_map done = {0}, last = {0}; /* corr -> 1; stream -> its last launch that ended */
	for (size_t i = c->first_gpu; i < c->part->t.gpu.n; i++)
		*assay_map_at(&done, c->part->t.gpu.corr[i]) = 1;
	for (size_t i = 0; i < c->launched.n; i++) {
		const launched *l = &c->launched.p[i];
		if (assay_map_get(&done, l->corr) == ASSAY_MAP_ABSENT)
			continue;
		uint32_t *slot = assay_map_at(&last, l->stream);
		const int64_t *ts = c->part->t.host.ts;
		if (*slot == ASSAY_MAP_ABSENT || ts[l->host] >= ts[c->launched.p[*slot].host])
			*slot = (uint32_t)i;
	}
	for (size_t i = 0; i < c->launched.n; i++) {
		const launched *l = &c->launched.p[i];
		const int64_t *ts = c->part->t.host.ts;
		uint32_t end = assay_map_get(&last, l->stream);
		if (end == ASSAY_MAP_ABSENT || ts[l->host] > ts[c->launched.p[end].host])
			add_queued(c, l, false);
		else if (end == i)
			add_queued(c, l, true);
	}
	assay_map_free(&done);
	assay_map_free(&last);
}

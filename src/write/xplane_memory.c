/* Memory taken and given back, as xprof's memory profile wants it: events of these names on the
 * host's plane, each with what is held after it. */
#include "base/compare.h"
#include "base/num.h"
#include "model/machine.h"
#include "write/xplane.h"

#include <inttypes.h>
#include <stdlib.h>

struct memory {
	int64_t device; /* number of the plane, or the input's own where it has none; -1 the host */
	int64_t thread, ts, held, peak;
	int64_t capacity; /* of the device; not above 0: not known */
	uint32_t row;
	bool computed; /* held: the input does not say it */
};
typedef assay_vec(struct memory) memory_list;

static int by_time(const void *a, const void *b)
{
	const struct memory *x = a, *y = b;
	return assay_then(
		ASSAY_CMP(x->device, y->device),
		assay_then(ASSAY_CMP(x->ts, y->ts),
			   assay_then(ASSAY_CMP(x->thread, y->thread), ASSAY_CMP(x->row, y->row))));
}

static int by_line(const void *a, const void *b)
{
	const struct memory *x = a, *y = b;
	return assay_then(
		assay_then(ASSAY_CMP(x->device, y->device), ASSAY_CMP(x->thread, y->thread)),
		by_time(a, b));
}

static int64_t device_number(const xplane_writer *w, uint32_t track, int32_t device)
{
	uint32_t k = device < 0 ? ASSAY_MAP_ABSENT
				: xplane_device_at(w, xplane_source(w, track), device);
	return k == ASSAY_MAP_ABSENT ? device : w->devices.p[k].number;
}

static void collect(const xplane_writer *w, memory_list *all)
{
	const assay_alloc_table *t = &w->t->alloc;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t track = t->track[i];
		*assay_push(all) = (struct memory){
			.device = device_number(w, track, t->device[i]),
			.thread = track == ASSAY_NO_ROW ? XPLANE_NO_THREAD : w->thread.p[track],
			.ts = xplane_time(w, track, t->ts[i]),
			.row = i,
		};
	}
	if (all->n)
		qsort(all->p, all->n, sizeof *all->p, by_time);
}

static int64_t capacity_of(const assay_tables *t, uint32_t alloc)
{
	uint32_t track = t->alloc.track[alloc];
	uint32_t device =
		t->alloc.device[alloc] < 0 || track == ASSAY_NO_ROW
			? ASSAY_NO_ROW
			: assay_device_row(t, assay_track_group(t, track), t->alloc.device[alloc]);
	return device == ASSAY_NO_ROW ? 0 : t->device.memory[device];
}

/* What one device holds after each event. Where the allocator does not say it, from the least that
 * must have been held before: what is given back and was never taken was there already. */
static void find_held(const assay_tables *tables, struct memory *m, size_t n)
{
	const assay_alloc_table *t = &tables->alloc;
	int64_t capacity = capacity_of(tables, m->row);
	bool told = true;
	int64_t held = 0, least = 0, peak = 0;
	for (size_t i = 0; i < n; i++) {
		told &= t->total[m[i].row] >= 0;
		held = assay_wrap_add(held, t->bytes[m[i].row]);
		least = held < least ? held : least;
	}
	held = assay_wrap_add(0, -least);
	for (size_t i = 0; i < n; i++) {
		held = told ? t->total[m[i].row] : assay_wrap_add(held, t->bytes[m[i].row]);
		peak = held > peak ? held : peak;
		m[i].held = held;
		m[i].peak = peak;
		m[i].computed = !told;
		m[i].capacity = capacity;
	}
}

/* xprof's capacity is what is held and what is available: of an allocator its reserve, of calls
 * that take memory of the device that of the device. */
static void put_held(xplane_out *p, const assay_alloc_table *t, const struct memory *m)
{
	int64_t reserved = t->reserved[m->row];
	bool fits = reserved >= m->held && !m->computed;
	xplane_put_i64(p, "bytes_allocated", m->held);
	if (m->computed)
		xplane_put_i64(p, "bytes_computed", 1);
	if (fits)
		xplane_put_i64(p, "bytes_available", reserved - m->held);
	else if (m->computed && m->capacity > m->held)
		xplane_put_i64(p, "bytes_available", m->capacity - m->held);
	if (!fits && reserved != -1)
		xplane_put_i64(p, "reserved_bytes", reserved);
	xplane_put_i64(p, "peak_bytes_in_use", m->peak);
}

/* Whose it is: not as tf_op, for xprof takes every event of a thread that has one for an operator
 * on the host. */
static void put_owner(xplane_writer *w, xplane_out *p, uint32_t scope, uint8_t how)
{
	if (!xplane_put_scope(w, p, scope, how))
		return;
	assay_protow path = {0};
	xplane_add_framework_name(&path, w->run, scope);
	xplane_put_ref(p, "region_type", assay_protow_data(&path));
	assay_protow_free(&path);
}

static void put_event(xplane_writer *w, xplane_out *p, const struct memory *m)
{
	const assay_alloc_table *t = &w->t->alloc;
	uint32_t i = m->row, track = t->track[i];
	int64_t bytes = t->bytes[i];
	char name[32];
	xplane_put_ref(p, "cat", ASSAY_S(XPLANE_CAT_ALLOC));
	/* not as correlation_id: only launches have one here */
	if (t->corr[i])
		xplane_put_u64(p, "call_correlation_id", xplane_corr(w, track, t->corr[i]));
	if (i < w->t->alloc_scope.n)
		put_owner(w, p, w->t->alloc_scope.scope[i], w->t->alloc_scope.how[i]);
	if (t->name[i])
		xplane_put_ref(p, "operation", assay_text(w->run, t->name[i]));
	xplane_put_thread(w, p, track);
	int n = m->device < 0
			? snprintf(name, sizeof name, "host")
			: snprintf(name, sizeof name, XPLANE_GPU_MEMORY "%" PRId64, m->device);
	xplane_put_ref(p, "allocator_name", (assay_str){name, (size_t)n});
	xplane_put_i64(p, "addr", (int64_t)t->addr[i]); /* xprof reads the signed slot only */
	xplane_put_i64(p, "allocation_bytes", bytes < 0 ? assay_wrap_add(0, -bytes) : bytes);
	put_held(p, t, m);
	if (t->ev_idx[i] != UINT32_MAX)
		xplane_put_i64(p, "Ev Idx", t->ev_idx[i]);
	xplane_put_args(p, w->run, t->args[i]);
	xplane_end_event(p, bytes < 0 ? ASSAY_S(XPLANE_FREED) : ASSAY_S(XPLANE_ALLOCATED), m->ts,
			 0);
}

static const char *line_name(xplane_writer *w, const struct memory *m)
{
	if (m->device < 0)
		return assay_printf(&w->scratch, "Memory, thread %" PRId64, m->thread);
	return assay_printf(&w->scratch, "Memory of GPU %" PRId64 ", thread %" PRId64, m->device,
			    m->thread);
}

void xplane_put_memory(xplane_writer *w, xplane_out *p, xplane_next_line *next, void *ctx)
{
	memory_list all = {0};
	collect(w, &all);
	for (size_t i = 0, n; i < all.n; i += n) {
		for (n = 1; i + n < all.n && all.p[i + n].device == all.p[i].device;)
			n++;
		find_held(w->t, all.p + i, n);
	}
	if (all.n)
		qsort(all.p, all.n, sizeof *all.p, by_line);
	for (size_t i = 0; i < all.n; i++) {
		const struct memory *m = &all.p[i];
		put_event(w, p, m);
		if (i + 1 == all.n || m[1].device != m->device || m[1].thread != m->thread)
			xplane_end_line(p, next(ctx), 0, assay_str_of(line_name(w, m)));
	}
	assay_vec_free(&all);
}

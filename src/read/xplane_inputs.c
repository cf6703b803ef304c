/* Several inputs that our writer put into one file: each is a source of its own again. */
#include "base/json.h"
#include "model/streams.h"
#include "read/rocprof.h"
#include "read/xplane.h"

/* Numbers are given in the order in which a reader meets them: another one is none of ours. */
static uint32_t source_of(xplane *x, int64_t input)
{
	xplane_inputs *in = x->inputs;
	if (!input)
		return in->first;
	if (input < 0 || input > (int64_t)in->further.n + 1) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return in->first;
	}
	if (input > (int64_t)in->further.n) {
		uint32_t now = x->part->source;
		assay_rocprof_next_source(x->part, in->first);
		*assay_push(&in->further) = x->part->source;
		x->part->source = now;
	}
	return in->further.p[input - 1];
}

void xplane_input_stat(xplane *x, assay_str stat)
{
	const xplane_stat_meta *meta;
	xplane_value v;
	bool more;
	if (!xplane_value_read(x->plane, stat, &meta, &v, &more) || v.field != XSTAT_INT64)
		return;
	if (assay_str_is(meta->name, XPLANE_INPUT))
		x->part->source = source_of(x, v.num);
	else if (assay_str_is(meta->name, XPLANE_DEVICE_ID) && v.num >= 0 && v.num <= INT32_MAX)
		x->plane->id = v.num;
}

/* A list of so many numbers, and behind them texts; what there is else is passed over. */
static bool read_list(assay_json *j, int64_t *number, size_t numbers, assay_str *text, size_t texts)
{
	assay_str raw;
	size_t n = 0;
	if (!assay_json_enter(j, '['))
		return false;
	for (; assay_json_element(j) && assay_json_skip(j, &raw); n++) {
		if (n < numbers && !assay_str_i64(raw, &number[n]))
			return false;
		if (n >= numbers && n < numbers + texts && raw.n >= 2)
			text[n - numbers] = (assay_str){raw.p + 1, raw.n - 2};
	}
	return n >= numbers + texts;
}

void xplane_threads_stat(xplane *x, assay_str list)
{
	xplane_inputs *in = x->inputs;
	assay_json j = assay_json_copy(&in->arena, list);
	int64_t number[4];
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) && read_list(&j, number, ASSAY_COUNT_OF(number), NULL, 0)) {
		*assay_map_at(&in->thread_at, (uint64_t)number[0]) = (uint32_t)in->threads.n;
		*assay_push(&in->threads) =
			(xplane_thread){source_of(x, number[1]), number[2], number[3]};
	}
}

static int32_t small(int64_t v)
{
	return v >= 0 && v <= INT32_MAX ? (int32_t)v : -1;
}

/* That of its plane, or a new one. */
static uint32_t device_row(xplane *x, int32_t id)
{
	assay_device_table *d = &x->part->t.device;
	uint32_t r = 0;
	while (r < d->n && (d->source[r] != x->part->source || d->id[r] != id))
		r++;
	if (r < d->n)
		return r;
	r = assay_add(&x->part->t, ASSAY_T_device);
	d->source[r] = x->part->source;
	d->id[r] = id;
	return r;
}

void xplane_devices_stat(xplane *x, assay_str list)
{
	assay_arena *a = &x->inputs->arena;
	assay_device_table *d = &x->part->t.device;
	assay_pool *strings = &x->part->strings;
	assay_json j = assay_json_copy(a, list);
	int64_t n[4];
	assay_str text[3];
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) &&
	       read_list(&j, n, ASSAY_COUNT_OF(n), text, ASSAY_COUNT_OF(text))) {
		uint32_t r = device_row(x, small(n[0]));
		d->memory[r] = n[1] >= 0 ? n[1] : -1;
		d->units[r] = small(n[2]);
		d->warp[r] = small(n[3]);
		d->name[r] = assay_intern(strings, assay_json_unescape(a, text[0]));
		d->vendor[r] = assay_intern(strings, assay_json_unescape(a, text[1]));
		d->arch[r] = assay_intern(strings, assay_json_unescape(a, text[2]));
	}
}

void xplane_streams_stat(xplane *x, assay_str list)
{
	assay_json j = assay_json_copy(&x->inputs->arena, list);
	assay_json_enter(&j, '[');
	while (assay_json_element(&j) && assay_json_enter(&j, '{'))
		assay_stream_take(x->part, &j);
}

xplane_thread xplane_thread_of(const xplane *x, int64_t pid, int64_t number)
{
	const xplane_inputs *in = x->inputs;
	uint32_t i =
		in->threads.n ? assay_map_get(&in->thread_at, (uint64_t)number) : ASSAY_MAP_ABSENT;
	return i == ASSAY_MAP_ABSENT ? (xplane_thread){in->first, pid, number} : in->threads.p[i];
}

/* Whose a link is, when either end is of an input already; then both are. */
static void place_link(assay_given_link_table *l, size_t i, assay_map *of)
{
	uint32_t *child = assay_map_at(of, (uint64_t)l->child[i]), source = *child;
	if (source == ASSAY_MAP_ABSENT)
		source = *child = assay_map_get(of, (uint64_t)l->parent[i]);
	if (source == ASSAY_MAP_ABSENT)
		return;
	l->source[i] = source;
	*assay_map_at(of, (uint64_t)l->parent[i]) = source;
}

/* The tree has no room for whose a scope is: its events tell, and what is around it and inside it
 * is of the same input. A scope stands in front of those around it. */
static void divide_tree(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_given_link_table *l = &run->part.t.given_link;
	assay_map of = {0};
	for (size_t i = 0; i < t->given_scope.n; i++) {
		uint32_t row = t->given_scope.row[i];
		uint32_t track = t->given_scope.host[i] ? t->host.track[row] : t->gpu.track[row];
		*assay_map_at(&of, (uint64_t)t->given_scope.id[i]) = t->track.source[track];
	}
	for (size_t i = 0; i < l->n; i++)
		place_link(l, i, &of);
	for (size_t i = l->n; i-- > 0;)
		place_link(l, i, &of);
	assay_map_free(&of);
}

void xplane_inputs_end(assay_run *run, xplane_inputs *in)
{
	assay_source_table *s = &run->part.t.source;
	for (size_t i = 0; i < in->further.n; i++) { /* on the clock of the first */
		s->base[in->further.p[i]] = s->base[in->first];
		s->epoch[in->further.p[i]] = s->epoch[in->first];
	}
	if (in->further.n)
		divide_tree(run);
	assay_vec_free(&in->further);
	assay_vec_free(&in->threads);
	assay_map_free(&in->thread_at);
	assay_arena_free(&in->arena);
}

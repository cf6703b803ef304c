/* Counting sort by device, then a stable sort by start. */
#include "analyze/order.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/group.h"
#include "base/sort.h"
#include "base/test.h"

static int by_key(const void *a, const void *b)
{
	const assay_order_device *x = a, *y = b;
	return ASSAY_CMP(x->key, y->key);
}

static uint64_t device_key(const assay_tables *t, uint32_t track)
{
	/* the flipped bit keeps the order of signed numbers: -1 (unknown) comes before 0 */
	return (uint64_t)assay_track_group(t, track) << 32 |
	       ((uint32_t)t->track.pid[track] ^ 0x80000000u);
}

/* Device of each stream with work, as an index in order->device. */
static uint32_t *devices_of_tracks(assay_order *order, const assay_tables *t, assay_arena *scratch)
{
	assay_map known = {0};
	uint32_t *of_track = assay_alloc(scratch, (t->track.n + 1) * sizeof *of_track);
	memset(of_track, 0xff, t->track.n * sizeof *of_track);
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		uint32_t track = t->gpu.track[i];
		if (of_track[track] == ASSAY_NO_ROW) {
			uint64_t key = device_key(t, track);
			uint32_t *slot = assay_map_at(&known, key);
			if (*slot == ASSAY_MAP_ABSENT) {
				*slot = (uint32_t)order->device.n;
				*assay_push(&order->device) = (assay_order_device){.key = key};
			}
			of_track[track] = *slot;
		}
	}
	assay_map_free(&known);
	return of_track;
}

static void place_rows(assay_order *order, const assay_tables *t)
{
	assay_arena scratch = {0};
	const uint32_t *of_track = devices_of_tracks(order, t, &scratch);
	size_t *first = assay_alloc(&scratch, (order->device.n + 1) * sizeof *first);
	assay_group_rows_in(order->row, first, t->gpu.n, t->gpu.track, of_track, order->device.n);
	assert(first[order->device.n] == t->gpu.n); /* all work is of a device */
	for (size_t d = 0; d < order->device.n; d++) {
		order->device.p[d].first = first[d];
		order->device.p[d].n = first[d + 1] - first[d];
	}
	assay_arena_free(&scratch);
}

static void place_classes(assay_order *order, const assay_tables *t)
{
	assay_map by_name = {0};
	for (uint32_t k = 0; k < t->kernel.n; k++)
		*assay_map_at(&by_name, (uint64_t)t->kernel.kind[k] << 32 | t->kernel.name[k]) = k;
	for (size_t i = 0; i < order->rows; i++) {
		uint32_t g = order->row[i];
		uint64_t key = (uint64_t)t->gpu.kind[g] << 32 | t->gpu.name[g];
		uint32_t k = assay_map_get(&by_name, key);
		assert(k < t->kernel.n);
		order->classes[i] = t->kernel.class[k];
	}
	assay_map_free(&by_name);
}

void assay_order_build(assay_order *order, const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	*order = (assay_order){.rows = t->gpu.n};
	if (!t->gpu.n)
		return;
	order->row = assay_pages_grow(NULL, t->gpu.n * sizeof *order->row);
	order->classes = assay_pages_grow(NULL, t->gpu.n);
	place_rows(order, t);
	qsort(order->device.p, order->device.n, sizeof *order->device.p, by_key);
	for (size_t d = 0; d < order->device.n; d++)
		assay_sort_rows(order->row + order->device.p[d].first, order->device.p[d].n,
				t->gpu.ts);
	place_classes(order, t);
	assay_offs_find(&order->offs, t);
}

void assay_order_free(assay_order *order)
{
	if (order->rows) {
		assay_pages_free(order->row);
		assay_pages_free(order->classes);
	}
	assay_vec_free(&order->device);
	assay_offs_free(&order->offs);
	*order = (assay_order){0};
}

/* Which unions an event of a class belongs to. */
static const uint8_t member_of[ASSAY_CLASS_COUNT] = {
	[ASSAY_CLASS_COMPUTE] =
		1 << ASSAY_SET_ALL | 1 << ASSAY_SET_COMPUTE_COMM | 1 << ASSAY_SET_COMPUTE,
	[ASSAY_CLASS_COMM] = 1 << ASSAY_SET_ALL | 1 << ASSAY_SET_COMPUTE_COMM | 1 << ASSAY_SET_COMM,
	[ASSAY_CLASS_COPY] = 1 << ASSAY_SET_ALL | 1 << ASSAY_SET_COPY,
};

assay_cover assay_cover_from(int64_t start)
{
	assay_cover s = {0};
	for (int set = 0; set < ASSAY_SETS; set++)
		s.end[set] = start;
	return s;
}

uint32_t assay_order_group(const assay_order_device *d)
{
	return (uint32_t)(d->key >> 32);
}

assay_cover assay_cover_of(const assay_order *order, const assay_order_device *d, int64_t start)
{
	assay_cover s = assay_cover_from(start);
	s.offs = order->offs.v.n ? &order->offs : NULL;
	s.group = assay_order_group(d);
	return s;
}

static void add_gap(assay_cover *s, int64_t from, int64_t to)
{
	if (s->offs && assay_offs_touch(s->offs, s->group, from, to))
		s->off += to - from;
	else
		s->gaps++;
}

void assay_cover_add(assay_cover *s, assay_class of, int64_t start, int64_t end)
{
	if (start > s->end[ASSAY_SET_ALL])
		add_gap(s, s->end[ASSAY_SET_ALL], start);
	s->sum += end - start;
	for (int set = 0; set < ASSAY_SETS; set++) {
		if (!(member_of[of] >> set & 1) || end <= s->end[set])
			continue;
		s->length[set] += end - (start > s->end[set] ? start : s->end[set]);
		s->end[set] = end;
	}
}

TEST(unknown_devices_come_first_and_sources_stay_apart)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const int device[] = {3, -1, 3}, source[] = {0, 0, 1}, want[] = {1, 0, 2};
	uint32_t k = assay_add(t, ASSAY_T_kernel);
	t->kernel.class[k] = ASSAY_CLASS_COMM;
	for (int i = 0; i < 3; i++) {
		run->part.source = (uint32_t)source[i];
		uint32_t g = assay_add(t, ASSAY_T_gpu);
		t->gpu.track[g] = assay_stream_track(&run->part, device[i], 0);
	}
	assay_order o;
	assay_order_build(&o, run);
	CHECK_EQ(o.device.n, 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(o.row[o.device.p[i].first], want[i]);
	CHECK(o.classes[0] == ASSAY_CLASS_COMM);
	assay_order_free(&o);
	assay_run_free(run);
	return 0;
}

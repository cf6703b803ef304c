/* The exact split of a device's time. Work of one device, sorted by start, is swept once; the
 * length of a union grows by what each event adds behind its running end. Nested sets then give the
 * parts: compute, compute+comm, everything. All integers, so the parts sum to the span by
 * construction. */
#include "analyze/analyze.h"

#include <assert.h>
#include <string.h>

#include "base/test.h"
#include "model/by_hand.h"

/* Start, end and links of a device's work. */
static assay_cover cover_device(assay_run *run, const assay_order *order,
				const assay_order_device *dev, uint32_t d)
{
	assay_tables *t = &run->part.t;
	assay_device_time_table *out = &t->device_time;
	const uint32_t *row = order->row + dev->first;
	int64_t first = t->gpu.ts[row[0]], last = first;
	assay_cover s = assay_cover_of(order, dev, first);
	for (size_t i = 0; i < dev->n; i++) {
		int64_t end = assay_gpu_end(&t->gpu, row[i]);
		assay_cover_add(&s, order->classes[dev->first + i], t->gpu.ts[row[i]], end);
		last = end > last ? end : last;
		out->linked[d] +=
			t->launch.host[row[i]] != ASSAY_NO_ROW || assay_moves_pages(run, row[i]);
	}
	out->events[d] = dev->n;
	out->start[d] = first;
	out->off[d] = s.off;
	out->span[d] = last - first - s.off;
	return s;
}

static void add_device(assay_run *run, const assay_order *order, const assay_order_device *dev)
{
	assay_tables *t = &run->part.t;
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	assay_device_time_table *out = &t->device_time;
	uint32_t track = t->gpu.track[order->row[dev->first]];
	out->source[d] = assay_track_group(t, track);
	out->device[d] = (int32_t)t->track.pid[track];
	assay_cover s = cover_device(run, order, dev, d);
	out->busy[d] = s.length[ASSAY_SET_ALL];
	out->idle[d] = out->span[d] - out->busy[d];
	out->gaps[d] = s.gaps;
	out->compute[d] = s.length[ASSAY_SET_COMPUTE];
	out->exposed_comm[d] = s.length[ASSAY_SET_COMPUTE_COMM] - s.length[ASSAY_SET_COMPUTE];
	out->exposed_copy[d] = s.length[ASSAY_SET_ALL] - s.length[ASSAY_SET_COMPUTE_COMM];
	out->total_comm[d] = s.length[ASSAY_SET_COMM];
	out->total_copy[d] = s.length[ASSAY_SET_COPY];
	out->sum[d] = s.sum;
	assert(out->compute[d] + out->exposed_comm[d] + out->exposed_copy[d] + out->idle[d] ==
	       out->span[d]);
}

void assay_partition(assay_run *run, const assay_order *order)
{
	for (size_t i = 0; i < order->device.n; i++)
		add_device(run, order, &order->device.p[i]);
}

const char *assay_device_words(assay_run *run, uint32_t row)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	const assay_source_table *s = &run->part.t.source;
	int32_t rank = d->source[row] < s->n ? s->rank[d->source[row]] : -1;
	const char *name = d->device[row] < 0
				   ? "unnamed device"
				   : assay_printf(&run->arena, "device %d", d->device[row]);
	return rank < 0 ? name : assay_printf(&run->arena, "%s of rank %d", name, rank);
}

static void add_work(assay_run *run, int device, const char *name, int64_t ts, int64_t dur)
{
	uint32_t g = assay_hand_gpu(run, name, ts, dur, ASSAY_NO_ROW);
	run->part.t.gpu.track[g] = assay_stream_track(&run->part, device, 0);
}

static void partition(assay_run *run)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_order_free(&order);
}

TEST(devices_are_apart_and_parts_sum_to_the_span)
{
	assay_run *run = assay_run_new();
	add_work(run, 1, "c", 100, 50); /* 100-150 */
	add_work(run, 0, "c", 0, 10);
	add_work(run, 1, "nccl", 140, 30);         /* exposed 150-170 */
	add_work(run, 1, "MEMORY_COPY_", 160, 20); /* exposed 170-180 */
	add_work(run, 1, "c", 180, 5);             /* touches: no gap */
	add_work(run, 1, "c", 200, 10);            /* gap 185-200 */
	partition(run);
	const assay_device_time_table *d = &run->part.t.device_time;
	CHECK(d->n == 2 && d->device[0] == 0 && d->device[1] == 1 && d->idle[0] == 0);
	CHECK_EQ(d->span[1], 110);
	CHECK_EQ(d->compute[1], 65);
	CHECK_EQ(d->exposed_comm[1], 20);
	CHECK_EQ(d->exposed_copy[1], 10);
	CHECK_EQ(d->idle[1], 15);
	CHECK_EQ(d->gaps[1], 1);
	CHECK_EQ(d->total_comm[1], 30);
	CHECK_EQ(d->sum[1], 115);
	assay_run_free(run);
	return 0;
}

/* The same lengths by marking every nanosecond of a small random timeline. */
TEST(sweep_agrees_with_counting_nanoseconds)
{
	enum { SPAN = 300 };
	uint64_t x = 88172645463325252u;
	for (int round = 0; round < 300; round++) {
		assay_run *run = assay_run_new();
		uint8_t at[SPAN + 64] = {0};
		int64_t first = SPAN, last = 0;
		for (int i = 0; i < 1 + round % 17; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			int64_t ts = (int64_t)(x % SPAN), dur = (int64_t)(x >> 20 & 31);
			int c = (int)((x >> 40) % 3);
			add_work(run, 0, c == 0 ? "c" : c == 1 ? "nccl" : "MEMORY_COPY_", ts, dur);
			for (int64_t k = ts; k < ts + dur; k++)
				at[k] |= (uint8_t)(1 << c);
			first = ts < first ? ts : first;
			last = ts + dur > last ? ts + dur : last;
		}
		int64_t want[4] = {0}; /* compute, comm, copy, idle */
		for (int64_t k = first; k < last; k++)
			want[at[k] & 1 ? 0 : at[k] & 2 ? 1 : at[k] & 4 ? 2 : 3]++;
		partition(run);
		const assay_device_time_table *d = &run->part.t.device_time;
		CHECK_EQ(d->compute[0], want[0]);
		CHECK_EQ(d->exposed_comm[0], want[1]);
		CHECK_EQ(d->exposed_copy[0], want[2]);
		CHECK_EQ(d->idle[0], want[3]);
		assay_run_free(run);
	}
	return 0;
}

TEST(work_with_a_call_is_counted_and_what_was_switched_off_is_not_idle)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_source), call = assay_hand_host(run, 0, "launch", 0, 1);
	t->source.rank[s] = 3;
	run->part.source = s;
	assay_hand_gpu(run, "c", 0, 10, call);
	assay_hand_gpu(run, "c", 20, 10, ASSAY_NO_ROW);
	assay_hand_gpu(run, "c", 100, 10, call);
	uint32_t off = assay_add(t, ASSAY_T_off);
	t->off.source[off] = s;
	t->off.ts[off] = 40;
	t->off.dur[off] = 50;
	partition(run);
	const assay_device_time_table *d = &t->device_time;
	CHECK(d->n == 1 && d->linked[0] == 2 && d->events[0] == 3);
	/* of the gap from 30 to 100 nothing is known */
	CHECK(d->span[0] == 110 - 70 && d->off[0] == 70 && d->idle[0] == 10);
	CHECK(!strcmp(assay_device_words(run, 0), "device 0 of rank 3"));
	t->source.rank[s] = -1;
	CHECK(!strcmp(assay_device_words(run, 0), "device 0"));
	t->device_time.device[0] = -1;
	CHECK(!strcmp(assay_device_words(run, 0), "unnamed device"));
	assay_run_free(run);
	return 0;
}

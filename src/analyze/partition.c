/* The exact split of a device's time. Work of one device, sorted by start, is swept once; the
 * length of a union grows by what each event adds behind its running end. Nested sets then give the
 * parts: compute, compute+comm, everything. All integers, so the parts sum to the span by
 * construction. */
#include "analyze/analyze.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/test.h"

enum { ALL, COMPUTE_COMM, COMPUTE, COMM, COPY, SETS };

/* Which unions an event of a class belongs to. */
static const uint8_t member_of[ASSAY_CLASS_COUNT] = {
	[ASSAY_CLASS_COMPUTE] = 1 << ALL | 1 << COMPUTE_COMM | 1 << COMPUTE,
	[ASSAY_CLASS_COMM] = 1 << ALL | 1 << COMPUTE_COMM | 1 << COMM,
	[ASSAY_CLASS_COPY] = 1 << ALL | 1 << COPY,
};

struct sweep {
	int64_t end[SETS], length[SETS];
	uint64_t gaps;
	int64_t sum;
};

static void sweep_event(struct sweep *s, assay_class class, int64_t start, int64_t dur)
{
	int64_t end = start + dur;
	s->gaps += start > s->end[ALL];
	s->sum += dur;
	for (int set = 0; set < SETS; set++) {
		if (!(member_of[class] >> set & 1) || end <= s->end[set])
			continue;
		s->length[set] += end - (start > s->end[set] ? start : s->end[set]);
		s->end[set] = end;
	}
}

/* Class of every GPU name, by kind and string id, from the kernel table. */
struct classes {
	assay_map by_name;
	const assay_kernel_table *k;
};

static assay_class class_of(const struct classes *c, const assay_gpu_table *g, uint32_t row)
{
	uint32_t r = assay_map_get(&c->by_name, (uint64_t)g->kind[row] << 32 | g->name[row]);
	return (assay_class)c->k->class[r];
}

static void add_device(assay_run *run, const uint32_t *row, size_t n, const struct classes *classes)
{
	assay_tables *t = &run->part.t;
	const assay_gpu_table *g = &t->gpu;
	struct sweep s = {0};
	uint64_t linked = 0;
	int64_t first = g->ts[row[0]], last = first;
	for (int set = 0; set < SETS; set++)
		s.end[set] = INT64_MIN;
	s.end[ALL] = first;
	for (size_t i = 0; i < n; i++) {
		int64_t dur = g->dur[row[i]] > 0 ? g->dur[row[i]] : 0;
		sweep_event(&s, class_of(classes, g, row[i]), g->ts[row[i]], dur);
		last = g->ts[row[i]] + dur > last ? g->ts[row[i]] + dur : last;
		linked += t->launch.host[row[i]] != ASSAY_NO_ROW;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	assay_device_time_table *out = &t->device_time;
	uint32_t track = g->track[row[0]];
	out->source[d] = assay_group_of(t, t->track.source[track]);
	out->device[d] = (int32_t)t->track.pid[track];
	out->events[d] = n;
	out->linked[d] = linked;
	out->start[d] = first;
	out->span[d] = last - first;
	out->busy[d] = s.length[ALL];
	out->idle[d] = out->span[d] - out->busy[d];
	out->gaps[d] = s.gaps;
	out->compute[d] = s.length[COMPUTE];
	out->exposed_comm[d] = s.length[COMPUTE_COMM] - s.length[COMPUTE];
	out->exposed_copy[d] = s.length[ALL] - s.length[COMPUTE_COMM];
	out->total_comm[d] = s.length[COMM];
	out->total_copy[d] = s.length[COPY];
	out->sum[d] = s.sum;
	assert(out->compute[d] + out->exposed_comm[d] + out->exposed_copy[d] + out->idle[d] ==
	       out->span[d]);
}

/* Devices in order of source, then number. */
struct group {
	uint64_t key;
	size_t first, n; /* in the list of rows */
};

static int by_key(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->key < y->key ? -1 : x->key > y->key;
}

static uint64_t device_key(const assay_tables *t, uint32_t row)
{
	uint32_t track = t->gpu.track[row];
	/* devices -1 (unknown) and 0 differ: the bias keeps the order of signed numbers */
	return (uint64_t)assay_group_of(t, t->track.source[track]) << 32 |
	       ((uint32_t)t->track.pid[track] ^ 1u << 31);
}

typedef assay_vec(struct group) groups;

/* Rows of each device in time order, one after the other in *rows. */
static void group_rows(const assay_tables *t, uint32_t *rows, groups *out)
{
	assay_map of_track = {0};
	assay_vec(uint32_t) group_of = {0};
	for (uint32_t i = 0; i < t->track.n; i++)
		*assay_push(&group_of) = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		uint32_t *known = &group_of.p[t->gpu.track[i]];
		if (*known == ASSAY_NO_ROW) {
			uint64_t key = device_key(t, i);
			uint32_t *slot = assay_map_at(&of_track, key);
			if (*slot == ASSAY_MAP_ABSENT) {
				*slot = (uint32_t)out->n;
				*assay_push(out) = (struct group){.key = key};
			}
			*known = *slot;
		}
		out->p[*known].n++;
	}
	for (size_t i = 0, first = 0; i < out->n; first += out->p[i++].n)
		out->p[i].first = first;
	assay_vec(size_t) next = {0};
	for (size_t i = 0; i < out->n; i++)
		*assay_push(&next) = out->p[i].first;
	for (uint32_t i = 0; i < t->gpu.n; i++)
		rows[next.p[group_of.p[t->gpu.track[i]]]++] = i;
	assay_vec_free(&next);
	assay_vec_free(&group_of);
	assay_map_free(&of_track);
}

void assay_partition(assay_run *run)
{
	assay_tables *t = &run->part.t;
	if (!t->gpu.n)
		return;
	struct classes classes = {.k = &t->kernel};
	for (uint32_t i = 0; i < t->kernel.n; i++)
		*assay_map_at(&classes.by_name,
			      (uint64_t)t->kernel.kind[i] << 32 | t->kernel.name[i]) = i;
	size_t bytes = t->gpu.n * sizeof(uint32_t);
	uint32_t *rows = assay_pages_grow(NULL, 0, bytes);
	groups devices = {0};
	group_rows(t, rows, &devices);
	qsort(devices.p, devices.n, sizeof *devices.p, by_key);
	for (size_t i = 0; i < devices.n; i++) {
		uint32_t *first = rows + devices.p[i].first;
		assay_sort_rows(first, devices.p[i].n, t->gpu.ts);
		add_device(run, first, devices.p[i].n, &classes);
	}
	assay_vec_free(&devices);
	assay_pages_free(rows, bytes);
	assay_map_free(&classes.by_name);
}

static void add_work(assay_run *run, int device, const char *name, int64_t ts, int64_t dur)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_gpu);
	run->part.t.gpu.name[r] = assay_sid_of(run, name);
	run->part.t.gpu.track[r] = assay_stream_track(&run->part, device, 0);
	run->part.t.gpu.ts[r] = ts;
	run->part.t.gpu.dur[r] = dur;
	r = assay_add(&run->part.t, ASSAY_T_launch);
}

static assay_family test_family(assay_str name)
{
	(void)name;
	return ASSAY_FAMILY_OTHER;
}

static assay_class test_class(assay_str name)
{
	return name.p[0] == 'm'   ? ASSAY_CLASS_COMM
	       : name.p[0] == 'p' ? ASSAY_CLASS_COPY
				  : ASSAY_CLASS_COMPUTE;
}

TEST(devices_are_apart_and_parts_sum_to_the_span)
{
	assay_run *run = assay_run_new();
	add_work(run, 1, "c", 100, 50); /* 100-150 */
	add_work(run, 0, "c", 0, 10);
	add_work(run, 1, "m", 140, 30); /* exposed 150-170 */
	add_work(run, 1, "p", 160, 20); /* exposed 170-180 */
	add_work(run, 1, "c", 180, 5);  /* touches: no gap */
	add_work(run, 1, "c", 200, 10); /* gap 185-200 */
	assay_kernels(run, test_family, test_class);
	assay_partition(run);
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
			add_work(run, 0, c == 0 ? "c" : c == 1 ? "m" : "p", ts, dur);
			for (int64_t k = ts; k < ts + dur; k++)
				at[k] |= (uint8_t)(1 << c);
			first = ts < first ? ts : first;
			last = ts + dur > last ? ts + dur : last;
		}
		int64_t want[4] = {0}; /* compute, comm, copy, idle */
		for (int64_t k = first; k < last; k++)
			want[at[k] & 1 ? 0 : at[k] & 2 ? 1 : at[k] & 4 ? 2 : 3]++;
		assay_kernels(run, test_family, test_class);
		assay_partition(run);
		const assay_device_time_table *d = &run->part.t.device_time;
		CHECK_EQ(d->compute[0], want[0]);
		CHECK_EQ(d->exposed_comm[0], want[1]);
		CHECK_EQ(d->exposed_copy[0], want[2]);
		CHECK_EQ(d->idle[0], want[3]);
		assay_run_free(run);
	}
	return 0;
}

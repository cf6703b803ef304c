/* Memory of devices over time: what was held when, the peak, and who held it then. The allocator's
 * own totals where a trace has them, else the allocations that were recorded added up; and what
 * telemetry saw, which has other users of the device in it. */
#include "analyze/memory.h"

#include "base/sort.h"
#include "base/test.h"

enum { POINTS = 240 };

struct account {
	uint32_t source;
	int32_t device;
	assay_vec(uint32_t) row; /* of alloc or counter, in order of time */
};

struct accounts {
	assay_run *run;
	assay_vec(struct account) of;
	assay_map known; /* source and device -> index */
};

static struct account *account_of(struct accounts *a, uint32_t source, int32_t device)
{
	uint32_t *slot = assay_map_at(&a->known, (uint64_t)source << 32 | (uint32_t)device);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)a->of.n;
		*assay_push(&a->of) = (struct account){.source = source, .device = device};
	}
	return &a->of.p[*slot];
}

static void accounts_free(struct accounts *a)
{
	for (size_t i = 0; i < a->of.n; i++)
		assay_vec_free(&a->of.p[i].row);
	assay_vec_free(&a->of);
	assay_map_free(&a->known);
}

/* What is held after each row, and what is known of it. */
struct curve {
	const int64_t *ts;
	assay_vec(int64_t) held;
	int64_t before, reserved;
	uint64_t takes, gives;
	size_t peak; /* where it is highest */
};

static void find_peak(struct curve *c)
{
	for (size_t i = 0; i < c->held.n; i++)
		c->peak = c->held.p[i] > c->held.p[c->peak] ? i : c->peak;
}

/* Blocks that are given back and were never taken were there before: at least so much. */
static void add_up(struct curve *c, const assay_alloc_table *t, const struct account *a)
{
	int64_t held = 0, least = 0;
	for (size_t i = 0; i < a->row.n; i++) {
		held += t->bytes[a->row.p[i]];
		least = held < least ? held : least;
		*assay_push(&c->held) = held;
	}
	for (size_t i = 0; i < a->row.n; i++)
		c->held.p[i] -= least;
	c->before = -least;
}

static bool has_totals(const assay_alloc_table *t, const struct account *a)
{
	for (size_t i = 0; i < a->row.n; i++)
		if (t->total[a->row.p[i]] < 0)
			return false;
	return true;
}

static void take_totals(struct curve *c, const assay_alloc_table *t, const struct account *a)
{
	for (size_t i = 0; i < a->row.n; i++) {
		uint32_t r = a->row.p[i];
		*assay_push(&c->held) = t->total[r];
		c->reserved = t->reserved[r] > c->reserved ? t->reserved[r] : c->reserved;
	}
	int64_t before = t->total[a->row.p[0]] - t->bytes[a->row.p[0]];
	c->before = before > 0 ? before : 0;
}

/* The highest of each of POINTS equal stretches of time. */
static void add_points(assay_run *run, const struct curve *c, const struct account *a, uint32_t row)
{
	assay_tables *t = &run->part.t;
	int64_t first = c->ts[a->row.p[0]], last = c->ts[a->row.p[a->row.n - 1]];
	int64_t stretch = (last - first) / POINTS + 1;
	for (size_t i = 0, n; i < a->row.n; i += n) {
		int64_t number = (c->ts[a->row.p[i]] - first) / stretch;
		size_t high = i;
		for (n = 1;
		     i + n < a->row.n && (c->ts[a->row.p[i + n]] - first) / stretch == number; n++)
			high = c->held.p[i + n] > c->held.p[high] ? i + n : high;
		uint32_t p = assay_add(t, ASSAY_T_memory_point);
		t->memory_point.memory[p] = row;
		t->memory_point.ts[p] = c->ts[a->row.p[high]];
		t->memory_point.held[p] = c->held.p[high];
	}
}

static uint32_t add_memory(assay_run *run, const struct curve *c, const struct account *a,
			   assay_memory_account how)
{
	assay_memory_held_table *m = &run->part.t.memory_held;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_memory_held);
	m->source[r] = a->source;
	m->device[r] = a->device;
	m->account[r] = (uint8_t)how;
	m->peak[r] = c->held.p[c->peak];
	m->peak_ts[r] = c->ts[a->row.p[c->peak]];
	m->reserved[r] = c->reserved;
	m->before[r] = c->before;
	m->after[r] = c->held.p[c->held.n - 1];
	m->takes[r] = c->takes;
	m->gives[r] = c->gives;
	add_points(run, c, a, r);
	return r;
}

/* Blocks that were taken and not given back when the account was at its peak. */
static void add_holders(assay_run *run, const struct curve *c, const struct account *a,
			uint32_t row)
{
	const assay_alloc_table *t = &run->part.t.alloc;
	assay_map at = {0};
	assay_vec(uint32_t) block = {0};
	for (size_t i = 0; i <= c->peak; i++) {
		uint32_t r = a->row.p[i], *slot = assay_map_at(&at, t->addr[r]);
		if (*slot != ASSAY_MAP_ABSENT)
			block.p[*slot] = ASSAY_NO_ROW;
		*slot = ASSAY_MAP_ABSENT;
		if (t->bytes[r] <= 0)
			continue;
		*slot = (uint32_t)block.n;
		*assay_push(&block) = r;
	}
	size_t n = 0;
	for (size_t i = 0; i < block.n; i++)
		if (block.p[i] != ASSAY_NO_ROW)
			block.p[n++] = block.p[i];
	assay_memory_holders(run, row, block.p, n);
	assay_vec_free(&block);
	assay_map_free(&at);
}

static void tell_allocations(assay_run *run, const struct account *a)
{
	const assay_alloc_table *t = &run->part.t.alloc;
	struct curve c = {.ts = t->ts, .before = -1, .reserved = -1};
	bool totals = has_totals(t, a);
	if (totals)
		take_totals(&c, t, a);
	else
		add_up(&c, t, a);
	for (size_t i = 0; i < a->row.n; i++) {
		c.takes += t->bytes[a->row.p[i]] > 0;
		c.gives += t->bytes[a->row.p[i]] < 0;
	}
	find_peak(&c);
	uint32_t row = add_memory(run, &c, a, totals ? ASSAY_MEMORY_ALLOCATOR : ASSAY_MEMORY_ADDED);
	add_holders(run, &c, a, row);
	int64_t most = c.reserved >= 0 ? c.reserved : c.held.p[c.peak];
	if (totals && most > run->part.t.source.memory_peak[a->source])
		run->part.t.source.memory_peak[a->source] = most;
	assay_vec_free(&c.held);
}

/* Rows of no thread are of the first process: formats that have none are of one process. */
static void find_allocations(struct accounts *a, const uint32_t *row, size_t n)
{
	const assay_tables *t = &a->run->part.t;
	for (size_t i = 0; i < n; i++) {
		uint32_t track = t->alloc.track[row[i]];
		uint32_t source = track < t->track.n ? assay_track_group(t, track) : 0;
		if (t->alloc.device[row[i]] >= 0 && t->alloc.bytes[row[i]] && source < t->source.n)
			*assay_push(&account_of(a, source, t->alloc.device[row[i]])->row) = row[i];
	}
}

static void tell_telemetry(assay_run *run, const struct account *a)
{
	const assay_counter_table *t = &run->part.t.counter;
	struct curve c = {.ts = t->ts, .before = -1, .reserved = -1};
	for (size_t i = 0; i < a->row.n; i++) {
		double v = t->value[a->row.p[i]];
		*assay_push(&c.held) = v > 0 && v < 1e18 ? (int64_t)v : 0;
	}
	find_peak(&c);
	add_memory(run, &c, a, ASSAY_MEMORY_TELEMETRY);
	assay_vec_free(&c.held);
}

static void find_telemetry(struct accounts *a, const uint32_t *row, size_t n)
{
	const assay_tables *t = &a->run->part.t;
	assay_sid used = assay_pool_find(&a->run->part.strings, ASSAY_S("mem_used_bytes"));
	for (size_t i = 0; used && i < n; i++) {
		uint32_t track = t->counter.track[row[i]];
		if (t->counter.name[row[i]] == used && track < t->track.n)
			*assay_push(
				&account_of(a, t->track.source[track], (int32_t)t->track.pid[track])
					 ->row) = row[i];
	}
}

/* The rows of a table in order of time, told account by account. */
static void tell(assay_run *run, const int64_t *ts, size_t n,
		 void (*find)(struct accounts *a, const uint32_t *row, size_t n),
		 void (*one)(assay_run *run, const struct account *a))
{
	struct accounts a = {.run = run};
	assay_arena scratch = {0};
	uint32_t *row = assay_alloc(&scratch, (n + 1) * sizeof *row);
	for (uint32_t i = 0; i < n; i++)
		row[i] = i;
	assay_sort_rows(row, n, ts);
	find(&a, row, n);
	for (size_t i = 0; i < a.of.n; i++)
		one(run, &a.of.p[i]);
	accounts_free(&a);
	assay_arena_free(&scratch);
}

void assay_memory(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	if (t->alloc.n)
		tell(run, t->alloc.ts, t->alloc.n, find_allocations, tell_allocations);
	if (t->counter.n)
		tell(run, t->counter.ts, t->counter.n, find_telemetry, tell_telemetry);
}

static void add_alloc(assay_run *run, int64_t ts, uint64_t addr, int64_t bytes, int64_t total)
{
	assay_alloc_table *a = &run->part.t.alloc;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_alloc);
	a->ts[r] = ts;
	a->addr[r] = addr;
	a->bytes[r] = bytes;
	a->total[r] = total;
	a->device[r] = 1;
}

TEST(allocations_add_up_from_what_was_there_before)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_add(&run->part.t, ASSAY_T_source);
	add_alloc(run, 50, 3, 60, -1); /* not in order of time */
	add_alloc(run, 10, 1, 100, -1);
	add_alloc(run, 20, 9, -30, -1);
	add_alloc(run, 30, 1, -100, -1);
	add_alloc(run, 40, 2, 40, -1);
	add_alloc(run, 60, 2, -40, -1);
	uint32_t row = assay_add(&run->part.t, ASSAY_T_alloc);
	run->part.t.alloc.device[row] = -1; /* of the host */
	assay_memory(run);
	CHECK_EQ(t->memory_held.n, 1);
	CHECK(t->memory_held.before[0] == 30 && t->memory_held.peak[0] == 130 &&
	      t->memory_held.peak_ts[0] == 10);
	CHECK(t->memory_held.after[0] == 60 && t->memory_held.takes[0] == 3 &&
	      t->memory_held.gives[0] == 3);
	CHECK(t->memory_held.account[0] == ASSAY_MEMORY_ADDED && t->memory_held.device[0] == 1);
	CHECK_EQ(t->memory_point.n, 6);
	CHECK(t->memory_holder.n == 1 && t->memory_holder.bytes[0] == 100);
	CHECK_EQ(t->source.memory_peak[0], -1);
	assay_run_free(run);
	return 0;
}

TEST(an_allocator_that_says_its_total_is_believed)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	assay_add(&run->part.t, ASSAY_T_source);
	add_alloc(run, 10, 1, 100, 1100);
	add_alloc(run, 20, 2, 50, 1150);
	add_alloc(run, 30, 1, -100, 1050);
	run->part.t.alloc.reserved[1] = 4096;
	assay_memory(run);
	CHECK(t->memory_held.before[0] == 1000 && t->memory_held.peak[0] == 1150 &&
	      t->memory_held.after[0] == 1050);
	CHECK(t->memory_held.account[0] == ASSAY_MEMORY_ALLOCATOR &&
	      t->memory_held.reserved[0] == 4096);
	CHECK_EQ(t->source.memory_peak[0], 4096);
	assay_run_free(run);
	return 0;
}

TEST(of_many_allocations_240_points_are_kept_and_the_peak_is_one)
{
	enum { MANY = 5000 };
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	bool there = false;
	assay_add(&run->part.t, ASSAY_T_source);
	for (int i = 0; i < MANY; i++)
		add_alloc(run, i * 7, (uint64_t)i + 1, i == 3333 ? 1000 : i > 3333 ? -1 : 1, -1);
	assay_memory(run);
	CHECK(t->memory_point.n <= POINTS && t->memory_point.n > POINTS / 2);
	for (size_t i = 0; i < t->memory_point.n; i++)
		there |= t->memory_point.held[i] == t->memory_held.peak[0] &&
			 t->memory_point.ts[i] == t->memory_held.peak_ts[0];
	CHECK(there && t->memory_held.peak[0] == 4333 && t->memory_held.peak_ts[0] == 3333 * 7);
	assay_run_free(run);
	return 0;
}

/* Ranks of one job: the same collective is found on all of them, which tells the distance of their
 * clocks, who came last, and how much of a collective's time was transfer. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "analyze/rank_calls.h"
#include "base/num.h"
#include "base/test.h"
#include "model/by_hand.h"

static int64_t shortest(const assay_rank_call *c, size_t n)
{
	int64_t least = INT64_MAX;
	for (size_t i = 0; i < n; i++)
		least = c[i].end - c[i].ts < least ? c[i].end - c[i].ts : least;
	return least;
}

static size_t latest(const assay_rank_call *c, size_t n)
{
	size_t last = 0;
	for (size_t i = 1; i < n; i++)
		last = c[i].ts > c[last].ts ? i : last;
	return last;
}

static void add_to(int64_t *sum, int64_t v)
{
	*sum = assay_wrap_add(*sum, v);
}

/* How uncertain the distance of two ranks' clocks is. */
static int64_t clock_doubt(const assay_rank_table *r, uint32_t a, uint32_t b)
{
	int64_t x = r->spread[a] > 0 ? r->spread[a] : 0, y = r->spread[b] > 0 ? r->spread[b] : 0;
	return 3 * (x > y ? x : y);
}

/* From one arrival to the last one. Clocks that were set are as sure as the ends they were set
 * by: less than that is no wait that we know of. Clocks as they were recorded are taken at their
 * word. */
static int64_t wait_for(const assay_rank_table *r, const assay_rank_call *own,
			const assay_rank_call *last)
{
	int64_t wait = last->ts - own->ts;
	bool moved = r->offset[own->rank] != r->offset[last->rank];
	return !moved || wait > clock_doubt(r, own->rank, last->rank) ? wait : 0;
}

static void add_waits(assay_tables *t, const assay_rank_call *c, size_t n)
{
	assay_rank_table *r = &t->rank;
	const assay_rank_call *last = &c[latest(c, n)];
	int64_t least = shortest(c, n), caused = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t wait = wait_for(r, &c[i], last);
		r->matched[c[i].rank]++;
		add_to(&r->waited[c[i].rank], wait);
		add_to(&r->transfer[c[i].rank], least);
		add_to(&r->skew[c[i].rank], c[i].end - c[i].ts - least);
		add_to(&caused, wait);
		if (wait > 0 && c[i].row != ASSAY_NO_ROW) {
			t->call.last[c[i].row] = r->rank[last->rank];
			t->call.waited[c[i].row] = wait;
		}
	}
	r->last[last->rank] += caused > 0;
	add_to(&r->caused[last->rank], caused);
}

/* Traffic on the wire over the message, for n ranks. */
static double bus_factor(assay_str name, int32_t n)
{
	if (n < 2)
		return 0;
	if (assay_str_find_nocase(name, "allreduce") >= 0 ||
	    assay_str_find_nocase(name, "all_reduce") >= 0)
		return 2.0 * (n - 1) / n;
	if (assay_str_find_nocase(name, "gather") >= 0 ||
	    assay_str_find_nocase(name, "scatter") >= 0 ||
	    assay_str_find_nocase(name, "all_to_all") >= 0 ||
	    assay_str_find_nocase(name, "alltoall") >= 0)
		return (double)(n - 1) / n;
	return 1;
}

static uint32_t collective_row(assay_run *run, assay_map *rows, const assay_comm_kind *kind)
{
	const int64_t same[4] = {kind->name, kind->group, kind->bytes, kind->size};
	assay_collective_table *t = &run->part.t.collective;
	uint32_t *slot = assay_map_at(rows, assay_hash(same, sizeof same, 3));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = assay_add(&run->part.t, ASSAY_T_collective);
		t->name[*slot] = kind->name;
		t->group[*slot] = kind->group;
		t->bytes[*slot] = kind->bytes;
		t->size[*slot] = kind->size;
	}
	return *slot;
}

/* latency and skew are sums until finish_collectives(). */
static void add_collective(const assay_matching *m, assay_map *rows, const assay_rank_call *c,
			   size_t n)
{
	uint32_t r = collective_row(m->run, rows, assay_call_comm(m, c));
	assay_collective_table *t = &m->run->part.t.collective;
	t->count[r]++;
	t->latency[r] += (double)shortest(c, n);
	if (n < 2)
		return;
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < n; i++)
		first = c[i].ts < first ? c[i].ts : first;
	int64_t skew = c[latest(c, n)].ts - first;
	t->matched[r]++;
	t->skew[r] += (double)skew;
	t->max_skew[r] = skew > t->max_skew[r] ? skew : t->max_skew[r];
}

static void finish_collectives(assay_run *run)
{
	assay_collective_table *t = &run->part.t.collective;
	for (size_t i = 0; i < t->n; i++) {
		t->latency[i] /= (double)t->count[i];
		if (t->matched[i])
			t->skew[i] /= (double)t->matched[i];
		if (t->bytes[i] > 0 && t->latency[i] > 0)
			t->algo_bw[i] = (double)t->bytes[i] / (1 << 30) / (t->latency[i] * 1e-9);
		t->bus_bw[i] = t->algo_bw[i] * bus_factor(assay_text(run, t->name[i]), t->size[i]);
	}
}

/* Who kept a collective waiting, by its row on the rank that waited. */
struct late {
	uint32_t call; /* row */
	int32_t last;  /* rank */
	int64_t time;
};

struct lates {
	assay_map by_row;
	assay_vec(struct late) late;
};

static uint64_t row_key(bool on_host, uint32_t row)
{
	return (uint64_t)on_host << 32 | row;
}

static void find_late(const assay_tables *t, const assay_rank_call *c, size_t n, struct lates *out)
{
	const assay_rank_call *last = &c[latest(c, n)];
	for (size_t i = 0; i < n; i++) {
		uint32_t call = c[i].row;
		int64_t time = last->ts - c[i].ts;
		if (call == ASSAY_NO_ROW || t->call.row[call] == ASSAY_NO_ROW ||
		    time <= clock_doubt(&t->rank, c[i].rank, last->rank))
			continue;
		*assay_map_at(&out->by_row, row_key(t->call.on_host[call], t->call.row[call])) =
			(uint32_t)out->late.n;
		*assay_push(&out->late) = (struct late){call, t->rank.rank[last->rank], time};
	}
}

/* The part of a gap in which a collective on the host waited for the late rank. */
static int64_t late_inside(const assay_tables *t, uint32_t gap, const struct late *l)
{
	int64_t own = t->call.ts[l->call], from = t->gap.ts[gap];
	int64_t to = from + t->gap.dur[gap], until = own + l->time;
	from = own > from ? own : from;
	to = until < to ? until : to;
	return to > from ? to - from : 0;
}

static uint32_t late_of(const assay_map *by_row, bool on_host, uint32_t row)
{
	return row == ASSAY_NO_ROW ? ASSAY_MAP_ABSENT
				   : assay_map_get(by_row, row_key(on_host, row));
}

/* Gaps that waited for a collective which another rank came late to: queued ones for a kernel,
 * others for a range of the launching thread. */
static void name_late_ranks(assay_tables *t, const struct lates *found)
{
	assay_gap_table *g = &t->gap;
	for (uint32_t i = 0; i < g->n && found->late.n; i++) {
		uint32_t queued = late_of(&found->by_row, false, g->behind[i]);
		uint32_t at = queued == ASSAY_MAP_ABSENT
				      ? late_of(&found->by_row, true, g->during[i])
				      : queued;
		if (at == ASSAY_MAP_ABSENT)
			continue;
		const struct late *l = &found->late.p[at];
		g->late[i] = queued == ASSAY_MAP_ABSENT ? late_inside(t, i, l) : l->time;
		if (g->late[i])
			g->late_rank[i] = l->last;
		if (g->late[i] && queued != ASSAY_MAP_ABSENT)
			g->queued[i] = ASSAY_QUEUED_OTHER_RANK;
	}
}

static void warn_unmatched(const assay_matching *m)
{
	if (m->crowded)
		assay_warn(
			m->run, "crowded_group",
			"%llu collectives are called by more ranks than their group has: groups share a name and cannot be told apart; who waited in them is not said",
			(unsigned long long)m->crowded);
	if (m->mismatched)
		assay_warn(
			m->run, "unmatched_calls",
			"%llu of %zu calls of collectives do not end with those at their place on other ranks: the recordings leave calls out; who waited in them is not said",
			(unsigned long long)m->mismatched, m->call.n);
}

static uint32_t rank_step_row(const assay_matching *m, assay_map *rows, uint32_t rank, int64_t step)
{
	const uint64_t of[2] = {rank, (uint64_t)step};
	uint32_t *slot = assay_map_at(rows, assay_hash(of, sizeof of, 5));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = assay_add(&m->run->part.t, ASSAY_T_rank_step);
		m->run->part.t.rank_step.rank[*slot] = rank;
		m->run->part.t.rank_step.step[*slot] = step;
	}
	return *slot;
}

static void add_if_known(int64_t *sum, int64_t v)
{
	*sum = *sum < 0 ? 0 : *sum;
	add_to(sum, v);
}

/* How late each rank came to a collective of a step: from the first arrival to its own. */
static void add_lateness(const assay_matching *m, assay_map *rows, const assay_rank_call *c,
			 size_t n)
{
	const assay_rank_call *first = c;
	for (size_t i = 1; i < n; i++)
		first = c[i].ts < first->ts ? &c[i] : first;
	for (size_t i = 0; i < n; i++) {
		if (c[i].step < 0)
			continue;
		uint32_t row = rank_step_row(m, rows, c[i].rank, c[i].step);
		add_if_known(&m->run->part.t.rank_step.late[row],
			     wait_for(&m->run->part.t.rank, first, &c[i]));
	}
}

/* Steps of ranks that have a number, with what their devices say of them. */
static void add_rank_steps(const assay_matching *m, assay_map *rows)
{
	assay_tables *t = &m->run->part.t;
	for (uint32_t i = 0; i < t->step.n; i++) {
		uint32_t rank = assay_map_get(&m->rank_of, assay_group_of(t, t->step.source[i]));
		if (rank == ASSAY_MAP_ABSENT || t->step.number[i] < 0)
			continue;
		uint32_t row = rank_step_row(m, rows, rank, t->step.number[i]);
		t->rank_step.dur[row] = t->step.dur[i];
	}
	for (uint32_t i = 0; i < t->step_time.n; i++) {
		uint32_t step = t->step_time.step[i];
		uint32_t rank = step < t->step.n
					? assay_map_get(&m->rank_of,
							assay_group_of(t, t->step.source[step]))
					: ASSAY_MAP_ABSENT;
		if (rank == ASSAY_MAP_ABSENT || t->step.number[step] < 0)
			continue;
		uint32_t row = rank_step_row(m, rows, rank, t->step.number[step]);
		add_if_known(&t->rank_step.exposed_comm[row], t->step_time.exposed_comm[i]);
	}
}

/* What is said of collectives and of who waits in them. steps: NULL where nobody asks for
 * rank_step. */
static void sum_matches(const assay_matching *m, assay_map *steps, struct lates *late)
{
	assay_map rows = {0};
	assay_match it;
	assay_matches_read(&it, m, true);
	while (assay_matches_next(&it)) {
		if (it.n > 1) {
			add_waits(&m->run->part.t, it.call.p, it.n);
			if (steps)
				add_lateness(m, steps, it.call.p, it.n);
			find_late(&m->run->part.t, it.call.p, it.n, late);
		}
		add_collective(m, &rows, it.call.p, it.n);
	}
	assay_matches_leave(&it);
	if (m->mismatched) {
		assay_matches_read(&it, m, true);
		while (assay_matches_next(&it))
			for (size_t i = it.n; i < it.call.n; i++)
				add_collective(m, &rows, &it.call.p[i], 1);
		assay_matches_leave(&it);
	}
	finish_collectives(m->run);
	assay_map_free(&rows);
}

void assay_ranks(assay_run *run)
{
	assay_matching m;
	assay_map steps = {0};
	struct lates late = {0};
	assay_matching_make(&m, run);
	assay_rank_clocks(&m);
	assay_matching_part(&m);
	if (m.mismatched)
		assay_rank_clocks(&m);
	sum_matches(&m, run->lean ? NULL : &steps, &late);
	if (!run->lean)
		add_rank_steps(&m, &steps);
	name_late_ranks(&run->part.t, &late);
	warn_unmatched(&m);
	assay_late_causes(run, m.kinds.kind.n && m.kinds.kind.p[0].on_host);
	assay_map_free(&steps);
	assay_map_free(&late.by_row);
	assay_vec_free(&late.late);
	assay_matching_free(&m);
}

TEST(traffic_on_the_wire_follows_from_the_collective)
{
	CHECK(bus_factor(ASSAY_S("allreduce"), 8) == 1.75);
	CHECK(bus_factor(ASSAY_S("_allgather_base"), 4) == 0.75);
	return 0;
}

/* Rank r runs collectives at the given starts, all ending at the same true time; its clock is
 * `ahead` of the truth. */
static void add_rank(assay_run *run, const int64_t *starts, const int64_t *ends, int n,
		     int64_t ahead)
{
	assay_tables *t = &run->part.t;
	uint32_t source = assay_add(t, ASSAY_T_source);
	run->part.source = source;
	t->source.rank[source] = (int32_t)source;
	for (int i = 0; i < n; i++) {
		uint32_t g = assay_hand_gpu(run, "nccl", starts[i] + ahead, ends[i] - starts[i],
					    ASSAY_NO_ROW);
		t->gpu.args[g] = assay_sid_of(
			run,
			"\"Collective name\": \"allreduce\", \"In msg nelems\": 1000, \"dtype\": \"Float\", \"Group size\": 2, \"Process Group Name\": \"0\"");
	}
}

static void run_all(assay_run *run)
{
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_calls(run, &order);
	assay_ranks(run);
	assay_order_free(&order);
}

TEST(clocks_are_set_right_and_the_late_rank_is_found)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000, 3000, 4000};
	add_rank(run, (const int64_t[]){100, 1100, 2100, 3900}, ends, 4, 0);
	add_rank(run, (const int64_t[]){800, 1800, 2800, 3800}, ends, 4, 500000);
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_calls(run, &order);
	assay_ranks(run);
	const assay_rank_table *r = &run->part.t.rank;
	CHECK(r->n == 2 && r->offset[1] == 500000 && r->spread[1] == 0);
	CHECK(r->matched[0] == 4 && r->last[0] == 1 && r->last[1] == 3);
	CHECK_EQ(r->waited[0], 2100);
	CHECK_EQ(r->caused[1], 2100);
	CHECK_EQ(r->waited[1], 100);
	CHECK_EQ(r->transfer[0], 200 + 200 + 200 + 100);
	CHECK_EQ(r->skew[0], 700 * 3);
	const assay_collective_table *c = &run->part.t.collective;
	CHECK(c->n == 1 && c->count[0] == 4 && c->matched[0] == 4 && c->bytes[0] == 4000);
	CHECK(c->latency[0] == 175 && c->max_skew[0] == 700 && c->skew[0] == 550);
	CHECK(c->bus_bw[0] == c->algo_bw[0] && c->algo_bw[0] > 0);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

static void set_group(assay_run *run, uint32_t source, const char *name, int size)
{
	const assay_tables *t = &run->part.t;
	for (size_t g = 0; g < t->gpu.n; g++)
		if (t->track.source[t->gpu.track[g]] == source)
			t->gpu.args[g] = assay_sid_of(
				run,
				assay_printf(
					&run->arena,
					"\"Collective name\": \"allreduce\", \"Group size\": %d, \"Process Group Name\": \"%s\"",
					size, name));
}

/* The second rank's recording misses the first collective: what follows in the step is matched with
 * the wrong ones. */
TEST(calls_that_do_not_end_together_are_not_matched)
{
	assay_run *run = assay_run_new();
	const int64_t ms = 1000000;
	add_rank(run, (const int64_t[]){1 * ms, 11 * ms, 31 * ms},
		 (const int64_t[]){3 * ms, 13 * ms, 33 * ms}, 3, 0);
	add_rank(run, (const int64_t[]){12 * ms, 32 * ms}, (const int64_t[]){13 * ms, 33 * ms}, 2,
		 0);
	add_rank(run, (const int64_t[]){1 * ms, 11 * ms, 31 * ms},
		 (const int64_t[]){3 * ms, 13 * ms, 33 * ms}, 3, 0);
	for (uint32_t i = 0; i < 3; i++)
		set_group(run, i, "a", 3);
	run_all(run);
	const assay_rank_table *r = &run->part.t.rank;
	CHECK(r->matched[0] == 3 && r->matched[1] == 0 && r->matched[2] == 3);
	CHECK(r->caused[1] == 0 && r->waited[0] == 0);
	CHECK(run->part.t.warning.n == 1);
	CHECK(assay_str_starts(assay_text(run, run->part.t.warning.text[0]), "2 of 8 "));
	assay_run_free(run);
	return 0;
}

/* Ranks 0 and 1 share a group, 2 and 3 another: nothing joins their clocks. Rank 1 is 5 ms ahead,
 * rank 3 is 7 ms behind rank 2. */
TEST(clocks_of_groups_without_the_first_rank_are_set_too)
{
	assay_run *run = assay_run_new();
	const int64_t ms = 1000000, ends[] = {3 * ms, 13 * ms, 23 * ms};
	const int64_t early[] = {1 * ms, 11 * ms, 21 * ms}, late[] = {2 * ms, 12 * ms, 22 * ms};
	add_rank(run, early, ends, 3, 0);
	add_rank(run, late, ends, 3, 5 * ms);
	add_rank(run, early, ends, 3, 0);
	add_rank(run, late, ends, 3, -7 * ms);
	for (uint32_t i = 0; i < 4; i++)
		set_group(run, i, i < 2 ? "a" : "b", 2);
	run_all(run);
	const assay_rank_table *r = &run->part.t.rank;
	CHECK(r->offset[1] == 5 * ms && r->offset[2] == 0 && r->offset[3] == -7 * ms);
	CHECK(r->caused[1] == 3 * ms && r->caused[3] == 3 * ms && r->waited[2] == 3 * ms);
	assay_run_free(run);
	return 0;
}

/* Two pairs of ranks that call their groups the same. */
TEST(groups_that_share_a_name_are_refused)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000, 3000};
	for (int i = 0; i < 4; i++)
		add_rank(run, (const int64_t[]){100 + i, 1100 + i, 2100 + i}, ends, 3, 0);
	run_all(run);
	CHECK(run->part.t.rank.matched[0] == 0 && run->part.t.rank.caused[3] == 0);
	CHECK(run->part.t.warning.n == 1);
	assay_run_free(run);
	return 0;
}

/* A gap behind the collective of rank 0 in row 0, 50 long. */
TEST(a_gap_behind_a_collective_names_the_rank_that_came_late)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000, 3000};
	add_rank(run, (const int64_t[]){100, 1100, 2100}, ends, 3, 0);
	add_rank(run, (const int64_t[]){800, 1099, 2100}, ends, 3, 500000);
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_gap_table *g = &run->part.t.gap;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_gap);
		g->cause[r] = ASSAY_WHY_QUEUED;
		g->queued[r] = ASSAY_QUEUED_STREAM_WAIT;
		g->behind[r] = i;
		g->dur[r] = 50;
	}
	assay_calls(run, &order);
	assay_ranks(run);
	CHECK(g->queued[0] == ASSAY_QUEUED_OTHER_RANK && g->late_rank[0] == 1 && g->late[0] == 700);
	CHECK(g->queued[1] == ASSAY_QUEUED_STREAM_WAIT && g->late_rank[1] == -1); /* it was last */
	CHECK(g->queued[2] == ASSAY_QUEUED_STREAM_WAIT && g->late[2] == 0);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

/* Rank 0 enters gloo at 100, rank 1 at 400; both leave at 1000. */
TEST(a_gap_inside_a_host_collective_counts_only_the_wait_for_the_late_rank)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (int r = 0; r < 2; r++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		run->part.source = assay_add(t, ASSAY_T_source);
		t->source.rank[r] = r;
		t->host.kind[h] = ASSAY_HOST_ANNOTATION;
		t->host.name[h] = assay_sid_of(run, "gloo:all_reduce");
		t->host.ts[h] = r ? 400 : 100;
		t->host.dur[h] = 1000 - t->host.ts[h];
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
	}
	const int64_t from[] = {50, 300, 500}; /* all end at 900 */
	for (int i = 0; i < 3; i++) {
		uint32_t g = assay_add(t, ASSAY_T_gap);
		t->gap.cause[g] = ASSAY_WHY_HOST_UNTRACED;
		t->gap.during[g] = 0;
		t->gap.ts[g] = from[i];
		t->gap.dur[g] = 900 - from[i];
	}
	assay_order order;
	assay_order_build(&order, run);
	assay_calls(run, &order);
	assay_ranks(run);
	CHECK_EQ(t->gap.late[0], 300);
	CHECK_EQ(t->gap.late[1], 100);
	CHECK(t->gap.late[2] == 0 && t->gap.late_rank[2] == -1 && t->gap.late_rank[0] == 1);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

TEST(lateness_of_a_step_counts_from_the_first_arrival)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000};
	add_rank(run, (const int64_t[]){100, 1100}, ends, 2, 0);
	add_rank(run, (const int64_t[]){800, 1150}, ends, 2, 0);
	assay_tables *t = &run->part.t;
	for (uint32_t source = 0; source < 2; source++) {
		uint32_t step = assay_add(t, ASSAY_T_step);
		t->step.source[step] = source;
		t->step.number[step] = 7;
		t->step.dur[step] = 2000;
	}
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_calls(run, &order);
	for (size_t i = 0; i < t->call.n; i++)
		t->call.step[i] = 7;
	assay_ranks(run);
	const assay_rank_step_table *s = &t->rank_step;
	CHECK_EQ(s->n, 2);
	for (size_t i = 0; i < s->n; i++) {
		CHECK(s->step[i] == 7 && s->dur[i] == 2000 && s->exposed_comm[i] == -1);
		CHECK_EQ(s->late[i], t->rank.source[s->rank[i]] ? 700 + 50 : 0);
	}
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

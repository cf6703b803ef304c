/* See hand_off.h. */
#include "model/hand_off.h"

#include "base/assert.h"
#include "base/sort.h"
#include "base/test.h"

static const int64_t shortest = 20 * 1000;
/* Threads that take turns overlap in less than this part of the time of the quieter one. */
enum { TURNS_PART = 50 };
/* Ends that may move for a span before sorting is cheaper. */
enum { MOVES_EACH = 4 };

void assay_seen_work(assay_seen *t, int64_t from, int64_t to)
{
	assay_burst *last = t->burst.n ? &t->burst.p[t->burst.n - 1] : NULL;
	assert(!last || from >= last->from);
	if (!last || from > last->to) {
		*assay_push(&t->burst) = (assay_burst){from, to};
		t->active += to - from;
	} else if (to > last->to) {
		t->active += to - last->to;
		last->to = to;
	}
}

/* A row shows its start and its end. */
static void start_signs(assay_instants *out, size_t rows)
{
	out->n = 0;
	assay_vec_reserve(out, 2 * rows);
}

static inline void add_sign(assay_instants *out, int64_t at)
{
	ASSAY_ASSERT_CHECKED(!out->n || out->p[out->n - 1] <= at);
	if (!out->n || out->p[out->n - 1] != at)
		out->p[out->n++] = at;
}

/* The earliest end on top. How many had to move for it: none where spans nest. */
static size_t push_end(assay_instants *ends, int64_t end)
{
	size_t top = ends->n, at = top;
	*assay_push(ends) = end;
	for (; at && ends->p[at - 1] < end; at--)
		ends->p[at] = ends->p[at - 1];
	ends->p[at] = end;
	return top - at;
}

/* One pass, since the spans of a thread nest but for a few; false where too many cross. */
static bool signs_by_stack(const assay_host_table *host, const uint32_t *row, size_t n,
			   int64_t until, assay_instants *out)
{
	assay_instants ends = {0};
	size_t moves = 0;
	start_signs(out, n);
	for (size_t i = 0; i < n && host->ts[row[i]] <= until && moves <= MOVES_EACH * n; i++) {
		int64_t ts = host->ts[row[i]], dur = host->dur[row[i]];
		while (ends.n && ends.p[ends.n - 1] <= ts)
			add_sign(out, ends.p[--ends.n]);
		add_sign(out, ts);
		if (dur > 0 && ts + dur <= until)
			moves += push_end(&ends, ts + dur);
	}
	while (ends.n)
		add_sign(out, ends.p[--ends.n]);
	assay_vec_free(&ends);
	return moves <= MOVES_EACH * n;
}

static void signs_by_sorting(const assay_host_table *host, const uint32_t *row, size_t n,
			     int64_t until, assay_instants *out)
{
	assay_instants all = {0};
	assay_vec(uint32_t) order = {0};
	start_signs(out, n);
	for (size_t i = 0; i < n && host->ts[row[i]] <= until; i++) {
		int64_t ts = host->ts[row[i]], dur = host->dur[row[i]];
		*assay_push(&all) = ts;
		if (dur > 0 && ts + dur <= until)
			*assay_push(&all) = ts + dur;
	}
	assay_vec_reserve(&order, all.n);
	for (uint32_t i = 0; i < all.n; i++)
		*assay_push(&order) = i;
	if (all.n)
		assay_sort_rows(order.p, all.n, all.p);
	for (size_t i = 0; i < all.n; i++)
		add_sign(out, all.p[order.p[i]]);
	assay_vec_free(&order);
	assay_vec_free(&all);
}

void assay_seen_signs(const assay_host_table *host, const uint32_t *row, size_t n, int64_t until,
		      assay_instants *out)
{
	if (!signs_by_stack(host, row, n, until, out))
		signs_by_sorting(host, row, n, until, out);
}

static int64_t overlap_of(const assay_seen *a, const assay_seen *b)
{
	int64_t sum = 0;
	for (size_t i = 0, k = 0; i < a->burst.n && k < b->burst.n;) {
		const assay_burst *x = &a->burst.p[i], *y = &b->burst.p[k];
		int64_t from = x->from > y->from ? x->from : y->from;
		int64_t to = x->to < y->to ? x->to : y->to;
		sum += to > from ? to - from : 0;
		if (x->to < y->to)
			i++;
		else
			k++;
	}
	return sum;
}

bool assay_take_turns(const assay_seen *a, const assay_seen *b)
{
	int64_t least = a->active < b->active ? a->active : b->active;
	return least && overlap_of(a, b) <= least / TURNS_PART;
}

/* Signs up to an instant. */
static size_t signs_until(const assay_seen *t, int64_t ts)
{
	return assay_count_until(t->sign, sizeof *t->sign, t->signs, ts);
}

/* The edge of a range between two bursts: the waiter was back for a moment. */
static bool shows_between(const assay_seen *waiter, const assay_burst *one, const assay_burst *two)
{
	size_t n = signs_until(waiter, two->from);
	return n && waiter->sign[n - 1] >= one->to;
}

/* What the waiter shows last before the bursts, and first after them, may be the edge of a range
 * inside its silence. */
static void add(const assay_seen *waiter, const assay_seen *worker, size_t low, size_t high,
		assay_hand_offs *out)
{
	int64_t from = worker->burst.p[low].from, to = worker->burst.p[high - 1].to;
	if (to - from < shortest)
		return;
	size_t before = signs_until(waiter, from), after = signs_until(waiter, to);
	assay_hand_off h = {low,          high, from, to, before ? before - 1 : ASSAY_NO_SIGN,
			    ASSAY_NO_SIGN};
	if (after && waiter->sign[after - 1] == to)
		h.back = after - 1;
	else if (after && after < waiter->signs)
		h.back = after;
	*assay_push(out) = h;
}

void assay_hand_offs_find(const assay_seen *waiter, const assay_seen *worker, assay_hand_offs *out)
{
	const assay_burst *b = worker->burst.p;
	size_t n = worker->burst.n;
	for (size_t i = 0, k = 0; i <= waiter->burst.n && k < n; i++) {
		const assay_burst *before = i ? &waiter->burst.p[i - 1] : NULL;
		const assay_burst *after = i < waiter->burst.n ? &waiter->burst.p[i] : NULL;
		while (k < n && before && b[k].from < before->to)
			k++;
		size_t low = k;
		while (k < n && (!after || b[k].to <= after->from))
			k++;
		for (size_t high = low + 1; high <= k; high++)
			if (high == k || shows_between(waiter, &b[high - 1], &b[high])) {
				add(waiter, worker, low, high, out);
				low = high;
			}
	}
}

TEST(stretches_that_touch_or_nest_are_one_burst)
{
	assay_seen t = {.signs = 0};
	assay_seen_work(&t, 0, 10);
	assay_seen_work(&t, 2, 5);
	assay_seen_work(&t, 10, 12);
	assay_seen_work(&t, 13, 14);
	CHECK(t.burst.n == 2 && t.burst.p[0].to == 12 && t.active == 13);
	assay_vec_free(&t.burst);
	return 0;
}

TEST(signs_are_the_same_by_stack_and_by_sorting)
{
	int64_t ts[400], dur[400];
	uint32_t row[400];
	assay_host_table host = {.n = 400, .ts = ts, .dur = dur};
	for (uint32_t step = 1, seed = 1; step < 40; step++) {
		assay_instants stack = {0}, sorted = {0}, signs = {0};
		for (uint32_t i = 0; i < 400; i++) {
			seed = seed * 1664525 + 1013904223;
			row[i] = i;
			ts[i] = i * 10 / step;
			dur[i] = seed >> 24;
		}
		signs_by_sorting(&host, row, 400, 900, &sorted);
		assay_seen_signs(&host, row, 400, 900, &signs);
		if (signs_by_stack(&host, row, 400, 900, &stack))
			CHECK(stack.n == sorted.n &&
			      !memcmp(stack.p, sorted.p, sorted.n * sizeof *sorted.p));
		CHECK(signs.n == sorted.n &&
		      !memcmp(signs.p, sorted.p, sorted.n * sizeof *sorted.p));
		assay_vec_free(&stack);
		assay_vec_free(&sorted);
		assay_vec_free(&signs);
	}
	return 0;
}

TEST(threads_side_by_side_do_not_take_turns)
{
	assay_seen a = {.signs = 0}, b = {.signs = 0}, c = {.signs = 0};
	assay_seen_work(&a, 0, 1000);
	assay_seen_work(&b, 990, 1490); /* 2 % of its 500 */
	assay_seen_work(&c, 989, 1489);
	CHECK(assay_take_turns(&a, &b) && assay_take_turns(&b, &a));
	CHECK(!assay_take_turns(&a, &c) && !assay_take_turns(&a, &(assay_seen){.signs = 0}));
	assay_vec_free(&a.burst);
	assay_vec_free(&b.burst);
	assay_vec_free(&c.burst);
	return 0;
}

TEST(a_silence_is_cut_where_the_waiter_shows)
{
	static const int64_t sign[] = {0, 1000, 60000, 200000, 201000};
	assay_seen a = {.sign = sign, .signs = 5}, b = {.signs = 0};
	assay_hand_offs found = {0};
	assay_seen_work(&a, 0, 1000);
	assay_seen_work(&a, 200000, 201000);
	assay_seen_work(&b, 2000, 3000);
	assay_seen_work(&b, 50000, 51000);
	assay_seen_work(&b, 70000, 80000); /* too short to be more than chance */
	assay_seen_work(&b, 199000, 200500);
	assay_hand_offs_find(&a, &b, &found);
	CHECK_EQ(found.n, 1);
	CHECK(found.p[0].low == 0 && found.p[0].high == 2);
	CHECK(found.p[0].leave == 1 && found.p[0].back == 2);
	assay_vec_free(&found);
	assay_vec_free(&a.burst);
	assay_vec_free(&b.burst);
	return 0;
}

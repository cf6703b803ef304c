#include "base/spill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/test.h"

enum {
	IN_MEMORY = 4 << 20,
	FAN_IN = 64,
	REST_AFTER = 64 << 10, /* so much of each of 64 files may be in memory */
};

static size_t room(const assay_spill *s)
{
	size_t bytes = s->in_memory ? s->in_memory : IN_MEMORY;
	return bytes < s->width ? s->width : bytes / s->width * s->width;
}

static void sort_newest(assay_spill *s)
{
	if (s->compare && s->newest.n)
		qsort(s->newest.p, s->newest.n / s->width, s->width, s->compare);
}

static char *new_pages(size_t bytes, bool *on_disk)
{
	char *p = assay_pages_on_disk(bytes);
	*on_disk = p;
	return p ? p : assay_pages_grow(NULL, bytes);
}

static void put_away(assay_spill *s)
{
	bool on_disk;
	char *p = new_pages(s->newest.n, &on_disk);
	sort_newest(s);
	for (size_t at = 0, n; at < s->newest.n; at += n) {
		n = s->newest.n - at < REST_AFTER ? s->newest.n - at : REST_AFTER;
		memcpy(p + at, s->newest.p + at, n);
		if (on_disk)
			assay_pages_rest(p, at, at + n);
	}
	*assay_push(&s->run) = (struct assay_spill_run){p, s->newest.n, on_disk};
	s->newest.n = 0;
}

void assay_spill_push(assay_spill *s, const void *record)
{
	assert(!s->ended);
	if (s->newest.n + s->width > room(s))
		put_away(s);
	assay_vec_reserve(&s->newest, s->newest.n + s->width);
	memcpy(s->newest.p + s->newest.n, record, s->width);
	s->newest.n += s->width;
	s->n++;
}

void assay_spill_free(assay_spill *s)
{
	for (size_t i = 0; i < s->run.n; i++)
		assay_pages_free(s->run.p[i].p);
	assay_vec_free(&s->run);
	assay_vec_free(&s->newest);
	s->n = 0;
	s->ended = false;
}

/* ------------------------------------------------------------------ reading */

typedef struct assay_spill_place place;

/* The older of two equal ones comes first. Unsorted ones come file by file. */
static bool before(const assay_spill_reader *r, const place *a, const place *b)
{
	int order = r->of->compare ? r->of->compare(a->p, b->p) : 0;
	return order ? order < 0 : a->run < b->run;
}

static void sink(assay_spill_reader *r, size_t i)
{
	place *p = r->place.p, one = p[i];
	for (size_t k; (k = 2 * i + 1) < r->place.n; i = k) {
		k += k + 1 < r->place.n && before(r, &p[k + 1], &p[k]);
		if (!before(r, &p[k], &one))
			break;
		p[i] = p[k];
	}
	p[i] = one;
}

static void add_place(assay_spill_reader *r, const struct assay_spill_run *run, size_t number)
{
	if (run->bytes)
		*assay_push(&r->place) =
			(place){.of = *run, .run = number, .p = run->p, .end = run->p + run->bytes};
}

static void open_runs(assay_spill_reader *r, const assay_spill *s, size_t first, size_t n)
{
	*r = (assay_spill_reader){.of = s};
	for (size_t i = first; i < first + n; i++)
		add_place(r, &s->run.p[i], i);
}

static void make_heap(assay_spill_reader *r)
{
	for (size_t i = r->place.n / 2; i-- > 0;)
		sink(r, i);
}

void assay_spill_read(assay_spill_reader *r, const assay_spill *s)
{
	assert(s->ended);
	open_runs(r, s, 0, s->run.n);
	add_place(r, &(struct assay_spill_run){s->newest.p, s->newest.n, false}, s->run.n);
	make_heap(r);
}

static void let_rest(place *p)
{
	size_t done = (size_t)(p->p - p->of.p);
	if (!p->of.on_disk || (done - p->rested < REST_AFTER && p->p < p->end))
		return;
	assay_pages_rest(p->of.p, p->rested, done);
	p->rested = done;
}

/* The record that was given last is done. */
static void go_on(assay_spill_reader *r)
{
	place *top = &r->place.p[0];
	top->p += r->of->width;
	let_rest(top);
	if (top->p == top->end)
		*top = r->place.p[--r->place.n];
	if (r->place.n)
		sink(r, 0);
}

const void *assay_spill_next(assay_spill_reader *r)
{
	if (r->begun && r->place.n)
		go_on(r);
	r->begun = true;
	return r->place.n ? r->place.p[0].p : NULL;
}

void assay_spill_leave(assay_spill_reader *r)
{
	for (size_t i = 0; i < r->place.n; i++)
		if (r->place.p[i].of.on_disk)
			assay_pages_rest(r->place.p[i].of.p, r->place.p[i].rested,
					 r->place.p[i].of.bytes);
	assay_vec_free(&r->place);
}

/* ------------------------------------------------------------------ stages */

static struct assay_spill_run merge_runs(assay_spill *s, size_t first, size_t n)
{
	struct assay_spill_run out = {0};
	assay_spill_reader r;
	size_t at = 0, rested = 0;
	for (size_t i = first; i < first + n; i++)
		out.bytes += s->run.p[i].bytes;
	out.p = new_pages(out.bytes, &out.on_disk);
	open_runs(&r, s, first, n);
	make_heap(&r);
	for (const void *record; (record = assay_spill_next(&r)); at += s->width) {
		memcpy(out.p + at, record, s->width);
		if (out.on_disk && at - rested >= REST_AFTER) {
			assay_pages_rest(out.p, rested, at);
			rested = at;
		}
	}
	if (out.on_disk)
		assay_pages_rest(out.p, rested, out.bytes);
	assay_spill_leave(&r);
	for (size_t i = first; i < first + n; i++)
		assay_pages_free(s->run.p[i].p);
	return out;
}

void assay_spill_end(assay_spill *s)
{
	if (s->run.n && s->newest.n)
		put_away(s); /* several may be there at the same time: none keeps its buffer */
	sort_newest(s);
	if (!s->newest.n)
		assay_vec_free(&s->newest);
	while (s->compare && s->run.n > FAN_IN) {
		size_t kept = 0;
		for (size_t i = 0, n; i < s->run.n; i += n) {
			n = s->run.n - i < FAN_IN ? s->run.n - i : FAN_IN;
			s->run.p[kept++] = merge_runs(s, i, n);
		}
		s->run.n = kept;
	}
	s->ended = true;
}

struct test_record {
	uint64_t key, number;
};

static int by_key(const void *a, const void *b)
{
	const struct test_record *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->key, y->key), ASSAY_CMP(x->number, y->number));
}

static void push_some(assay_spill *s, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		assay_spill_push(s, &(struct test_record){i * 7919 % 1009, i});
	assay_spill_end(s);
}

static int check_sorted(const assay_spill *s, uint64_t n)
{
	assay_spill_reader r;
	struct test_record last = {0};
	const struct test_record *one;
	uint64_t seen = 0, sum = 0;
	assay_spill_read(&r, s);
	for (; (one = assay_spill_next(&r)); seen++) {
		CHECK(!seen || by_key(&last, one) < 0);
		last = *one;
		sum += one->number;
	}
	CHECK(!assay_spill_next(&r));
	assay_spill_leave(&r);
	CHECK_EQ(seen, n);
	CHECK_EQ(sum, n * (n - 1) / 2);
	return 0;
}

/* Ten records a file: 70 files are two stages. */
TEST(records_are_sorted_however_many_files_they_take)
{
	static const uint64_t counts[] = {1, 9, 10, 11, 639, 650, 2559, 2570, 3005};
	for (size_t i = 0; i < ASSAY_COUNT_OF(counts); i++) {
		assay_spill s = {
			.width = sizeof(struct test_record), .compare = by_key, .in_memory = 160};
		push_some(&s, counts[i]);
		CHECK(s.n == counts[i] && s.run.n <= FAN_IN);
		for (int again = 0; again < 2; again++)
			if (check_sorted(&s, counts[i]))
				return 1;
		assay_spill_free(&s);
	}
	return 0;
}

TEST(records_that_are_not_sorted_come_as_they_were_given)
{
	assay_spill s = {.width = sizeof(struct test_record), .in_memory = 160};
	assay_spill_reader r;
	const struct test_record *one;
	push_some(&s, 995);
	assay_spill_read(&r, &s);
	for (uint64_t i = 0; i < 995; i++)
		CHECK((one = assay_spill_next(&r)) && one->number == i);
	CHECK(!assay_spill_next(&r));
	assay_spill_leave(&r);
	assay_spill_free(&s);
	return 0;
}

TEST(without_room_for_files_records_stay_in_memory)
{
	assay_arena a = {0};
	const char *before = getenv("TMPDIR");
	char *kept = before ? assay_dup(&a, assay_str_of(before)) : NULL;
	setenv("TMPDIR", "/dev/null/nowhere", 1);
	assay_spill s = {.width = sizeof(struct test_record), .compare = by_key, .in_memory = 160};
	push_some(&s, 3005);
	int failed = check_sorted(&s, 3005);
	CHECK(!s.run.p[0].on_disk);
	assay_spill_free(&s);
	kept ? setenv("TMPDIR", kept, 1) : unsetenv("TMPDIR");
	assay_arena_free(&a);
	return failed;
}

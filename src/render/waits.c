/* Every wait, and the work on the other stream it waited for. */
#include "render/waits.h"

#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "render/wait_chains.h"

enum { NAME_WIDTH = 60 };

/* Chosen rows of the wait table, most time lost first. */
typedef struct chosen {
	uint32_t *row;
	size_t n;
} chosen;

/* A thread loses the time of its call, a stream the time its next work started later. */
static int64_t time_lost(const assay_wait_table *w, uint32_t i)
{
	int64_t t = w->blocked[i] >= 0 ? w->blocked[i] : w->delayed[i];
	return t > 0 ? t : 0;
}

static bool is_resolved(const assay_wait_table *w, uint32_t i)
{
	return w->class[i] <= ASSAY_WAIT_IS_AMBIGUOUS;
}

static bool track_is(const assay_run *run, uint32_t track, int64_t id)
{
	return track != ASSAY_NO_ROW && run->part.t.track.tid[track] == id;
}

static bool wanted(const assay_run *run, const assay_waits_query *q, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	if (q->unresolved && is_resolved(w, i))
		return false;
	if (q->stream && !track_is(run, w->consumer[i], *q->stream) &&
	    !track_is(run, w->producer[i], *q->stream))
		return false;
	if (q->thread && !track_is(run, w->thread[i], *q->thread))
		return false;
	return time_lost(w, i) >= q->min_ns;
}

static chosen choose(assay_run *run, const assay_waits_query *q)
{
	const assay_wait_table *w = &run->part.t.wait;
	chosen c = {assay_alloc(&run->arena, (w->n + 1) * sizeof *c.row), 0};
	int64_t *lost = assay_alloc(&run->arena, (w->n + 1) * sizeof *lost);
	for (uint32_t i = 0; i < w->n; i++) {
		lost[i] = time_lost(w, i);
		if (wanted(run, q, i))
			c.row[c.n++] = i;
	}
	assay_sort_rows_falling(c.row, c.n, lost);
	return c;
}

/* ------------------------------------------------------------------ summary */

typedef struct summary {
	uint64_t waits, all, resolved, by_class[ASSAY_WAIT_CLASS_COUNT];
	uint64_t by_doubt[ASSAY_WAIT_DOUBT_COUNT];
	int64_t blocked, delayed, unexplained, by_reason[ASSAY_WAIT_CLASS_COUNT];
} summary;

/* Several waits in front of one work delay it once: the longest counts. */
static int64_t total_delayed(const assay_wait_table *w, const chosen *c)
{
	assay_map longest = {0}; /* work -> row of wait */
	int64_t total = 0;
	for (size_t k = 0; k < c->n; k++) {
		uint32_t i = c->row[k];
		if (w->blocked[i] >= 0 || w->delayed[i] <= 0 || w->consumer_gpu[i] == ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&longest, w->consumer_gpu[i]);
		if (*slot == ASSAY_MAP_ABSENT) { /* the first is the longest: rows are sorted */
			*slot = i;
			total += w->delayed[i];
		}
	}
	assay_map_free(&longest);
	return total;
}

static summary sum_up(const assay_run *run, const chosen *c)
{
	const assay_wait_table *w = &run->part.t.wait;
	summary s = {.waits = c->n, .all = w->n, .delayed = total_delayed(w, c)};
	for (size_t k = 0; k < c->n; k++) {
		uint32_t i = c->row[k];
		s.resolved += is_resolved(w, i);
		s.by_class[w->class[i]]++;
		s.by_doubt[w->doubt[i]]++;
		s.blocked += w->blocked[i] > 0 ? w->blocked[i] : 0;
		if (w->blocked[i] >= 0 && w->unexplained[i] > 0) {
			s.unexplained += w->unexplained[i];
			s.by_reason[w->class[i]] += w->unexplained[i];
		}
	}
	return s;
}

/* ------------------------------------------------------------------ text */

static void print_handle(FILE *out, const char *what, uint64_t v)
{
	if (v > UINT16_MAX)
		fprintf(out, "%s 0x%" PRIx64, what, v);
	else
		fprintf(out, "%s %" PRIu64, what, v);
}

static void print_stream(FILE *out, const assay_run *run, uint32_t track, uint64_t handle)
{
	const assay_track_table *t = &run->part.t.track;
	if (track != ASSAY_NO_ROW)
		fprintf(out, "stream %" PRId64, t->tid[track]);
	else if (handle == 0 || handle == 1)
		fprintf(out, "the default stream");
	else if (handle != ASSAY_NO_HANDLE)
		print_handle(out, "stream", handle);
	else
		fprintf(out, "an unknown stream");
}

static const char *call_name(assay_run *run, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	if (w->host[i] == ASSAY_NO_ROW)
		return assay_wait_kind_name[w->kind[i]];
	assay_str name = assay_text(run, run->part.t.host.name[w->host[i]]);
	return assay_fmt_safe(&run->arena, name);
}

static void print_consumer(FILE *out, assay_run *run, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	bool is_stream = w->consumer[i] != ASSAY_NO_ROW || w->consumer_handle[i] != ASSAY_NO_HANDLE;
	if (is_stream)
		print_stream(out, run, w->consumer[i], w->consumer_handle[i]);
	else if (w->thread[i] != ASSAY_NO_ROW)
		fprintf(out, "thread %" PRId64, run->part.t.track.tid[w->thread[i]]);
	else
		fprintf(out, "unknown thread");
	fprintf(out, " in %s", call_name(run, i));
}

/* Why nothing is known, in words. */
static const char *const reasons[ASSAY_WAIT_CLASS_COUNT] = {
	[ASSAY_WAIT_IS_NEVER_RECORDED] = "never recorded: it waited for nothing",
	[ASSAY_WAIT_IS_BEFORE_TRACE] = "recorded before the trace began",
	[ASSAY_WAIT_IS_LOST] = "the recording does not say",
	[ASSAY_WAIT_IS_CAPTURED] = "part of a graph capture",
	[ASSAY_WAIT_IS_FAILED_CALL] = "the call failed",
};

static const char *work_name(assay_run *run, uint32_t gpu)
{
	assay_str name = assay_text(run, run->part.t.gpu.name[gpu]);
	if (run->part.t.gpu.kind[gpu] != ASSAY_GPU_KERNEL)
		return assay_fmt_safe(&run->arena, name);
	return assay_fmt_kernel(&run->arena, name, NAME_WIDTH);
}

static void print_producer(FILE *out, assay_run *run, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	bool by_event = w->event[i] != ASSAY_NO_HANDLE;
	if (by_event)
		print_handle(out, "event", w->event[i]);
	if (reasons[w->class[i]]) {
		fprintf(out, "%s%s", by_event ? ": " : "", reasons[w->class[i]]);
		return;
	}
	if (by_event)
		fprintf(out, " recorded on ");
	if (w->kind[i] != ASSAY_WAIT_DEVICE_SYNC || w->producer[i] != ASSAY_NO_ROW)
		print_stream(out, run, w->producer[i], w->producer_handle[i]);
	else
		fprintf(out, "the device");
	if (w->producer_gpu[i] != ASSAY_NO_ROW)
		fprintf(out, " after %s%s",
			run->part.t.gpu.kind[w->producer_gpu[i]] == ASSAY_GPU_KERNEL ? "kernel "
										     : "",
			work_name(run, w->producer_gpu[i]));
}

/* Steps by source and start. */
typedef struct steps {
	const assay_step_table *t;
	uint32_t *row;
	int64_t *until; /* by place in row: the latest end of its source up to there */
} steps;

static steps order_steps(assay_run *run)
{
	const assay_step_table *t = &run->part.t.step;
	steps s = {t, assay_alloc(&run->arena, (t->n + 1) * sizeof *s.row),
		   assay_alloc(&run->arena, (t->n + 1) * sizeof *s.until)};
	int64_t *source = assay_alloc(&run->arena, (t->n + 1) * sizeof *source);
	for (uint32_t i = 0; i < t->n; i++) {
		s.row[i] = i;
		source[i] = t->source[i];
	}
	assay_sort_rows(s.row, t->n, t->ts);
	assay_sort_rows(s.row, t->n, source);
	for (size_t k = 0; k < t->n; k++) {
		uint32_t i = s.row[k];
		int64_t end = t->ts[i] + t->dur[i];
		bool first = !k || t->source[s.row[k - 1]] != t->source[i];
		s.until[k] = first || s.until[k - 1] < end ? end : s.until[k - 1];
	}
	return s;
}

/* Number of the step that was on, of several the one that began last; -1: none. */
static int64_t step_at(const steps *s, uint32_t source, int64_t ts)
{
	size_t low = 0, high = s->t->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		uint32_t i = s->row[mid];
		bool before =
			s->t->source[i] != source ? s->t->source[i] < source : s->t->ts[i] <= ts;
		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low && s->t->source[s->row[low - 1]] == source && s->until[low - 1] > ts; low--) {
		uint32_t i = s->row[low - 1];
		if (ts < s->t->ts[i] + s->t->dur[i])
			return s->t->number[i];
	}
	return -1;
}

static uint32_t source_of(const assay_run *run, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	uint32_t track = w->thread[i] != ASSAY_NO_ROW ? w->thread[i] : w->consumer[i];
	track = track != ASSAY_NO_ROW ? track : w->producer[i];
	return track != ASSAY_NO_ROW ? run->part.t.track.source[track] : ASSAY_NO_ROW;
}

/* What stands in front of the next item of a list. */
static const char *take(const char **sep)
{
	const char *now = *sep;
	*sep = ", ";
	return now;
}

/* How sure a resolved wait is, and what keeps it from being exact, in the words that JSON has. */
static void print_doubt(FILE *out, const assay_wait_table *w, uint32_t i)
{
	fprintf(out, "%s", assay_wait_class_name[w->class[i]]);
	if (!w->doubt[i] || w->doubt[i] == ASSAY_WAIT_BY_LEFT) /* how much is said already */
		return;
	fprintf(out, ": ");
	for (const char *p = assay_wait_doubt_name[w->doubt[i]]; *p; p++)
		fputc(*p == '_' ? ' ' : *p, out);
}

/* A call that makes a stream wait returns within some microseconds. */
enum { LONG_CALL = 20000 };

static void print_notes(FILE *out, assay_run *run, const steps *on, uint32_t i)
{
	const assay_wait_table *w = &run->part.t.wait;
	uint32_t source = source_of(run, i);
	bool known = source < run->part.t.source.n;
	int64_t step = step_at(on, source, w->ts[i]);
	const char *sep = " (";
	char buf[ASSAY_FMT];
	if (known && run->part.t.source.rank[source] >= 0)
		fprintf(out, "%srank %d", take(&sep), run->part.t.source.rank[source]);
	if (step >= 0)
		fprintf(out, "%sstep %" PRId64, take(&sep), step);
	if (w->blocked[i] < 0 && w->dur[i] >= LONG_CALL)
		fprintf(out, "%s%s in the call", take(&sep), assay_fmt_time(buf, w->dur[i]));
	if (w->satisfied[i] == 1)
		fprintf(out, "%salready done", take(&sep));
	if (w->flags[i] & ASSAY_WAIT_SAME_STREAM)
		fprintf(out, "%ssame stream", take(&sep));
	if (w->unexplained[i] > 0)
		fprintf(out, "%s%s unexplained", take(&sep),
			assay_fmt_time(buf, w->unexplained[i]));
	if (is_resolved(w, i) && w->class[i] != ASSAY_WAIT_IS_EXACT) {
		fprintf(out, "%s", take(&sep));
		print_doubt(out, w, i);
	}
	if (*sep == ',')
		fprintf(out, ")");
}

static void print_summary(FILE *out, const summary *s)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	fprintf(out, "%s", assay_fmt_count(a, s->waits));
	if (s->waits != s->all)
		fprintf(out, " of %s", assay_fmt_count(a, s->all));
	fprintf(out, " wait%s, %s resolved (", s->all == 1 ? "" : "s",
		assay_fmt_count(b, s->resolved));
	const char *sep = "";
	for (int c = 0; c < ASSAY_WAIT_CLASS_COUNT; c++)
		if (s->by_class[c])
			fprintf(out, "%s%s %s", take(&sep), assay_fmt_count(a, s->by_class[c]),
				assay_wait_class_name[c]);
	fprintf(out, "%s)", *sep ? "" : "none");
	fprintf(out, ", %s host time blocked", assay_fmt_time(a, s->blocked));
	if (s->unexplained)
		fprintf(out, " (%s of it unexplained)", assay_fmt_time(a, s->unexplained));
	fprintf(out, ", %s stream time delayed\n", assay_fmt_time(a, s->delayed));
}

void assay_waits_text(FILE *out, assay_run *run, const assay_waits_query *q)
{
	const assay_wait_table *w = &run->part.t.wait;
	chosen c = choose(run, q);
	summary s = sum_up(run, &c);
	size_t top = q->top ? q->top : 20;
	steps on = order_steps(run);
	assay_chain_index chains;
	assay_chain_index_make(&chains, run);
	for (size_t k = 0; k < c.n && k < top; k++) {
		char buf[ASSAY_FMT];
		uint32_t i = c.row[k];
		fprintf(out, "%10s  ", assay_fmt_time(buf, time_lost(w, i)));
		print_consumer(out, run, i);
		fprintf(out, " <- ");
		print_producer(out, run, i);
		print_notes(out, run, &on, i);
		fprintf(out, "\n");
		if (q->chains)
			assay_chain_text(out, run, &chains, i);
	}
	if (c.n > top)
		fprintf(out, "%10s  %zu more (--top N shows them)\n", "...", c.n - top);
	assay_chain_index_free(&chains);
	print_summary(out, &s);
	assay_collective_waits_text(out, run, top);
}

/* ------------------------------------------------------------------ JSON */

/* Ids above 2^53 are text: a reader that takes numbers as doubles would change them. */
static void put_id(assay_jsonw *j, const char *key, uint64_t id)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, id);
	if (!id)
		assay_jsonw_null(j, key);
	else if (id <= 1ull << 53)
		assay_jsonw_u64(j, key, id);
	else
		assay_jsonw_z(j, key, text);
}

static void put_track(assay_jsonw *j, const assay_run *run, const char *key, uint32_t track)
{
	bool known = track != ASSAY_NO_ROW;
	assay_jsonw_i64_if(j, key, known, known ? run->part.t.track.tid[track] : 0);
}

static void put_ns(assay_jsonw *j, const char *key, int64_t v, int64_t absent)
{
	assay_jsonw_i64_if(j, key, v != absent, v);
}

/* chains: NULL when nobody asked. */
static void put_wait(assay_jsonw *j, assay_run *run, uint32_t i, const steps *on,
		     const assay_chain_index *chains)
{
	const assay_tables *t = &run->part.t;
	const assay_wait_table *w = &t->wait;
	uint32_t gpu = w->producer_gpu[i], source = source_of(run, i);
	assay_jsonw_open_flat(j, NULL, '{');
	assay_jsonw_z(j, "kind", assay_wait_kind_name[w->kind[i]]);
	put_id(j, "correlation", w->corr[i]);
	put_track(j, run, "thread", w->thread[i]);
	put_track(j, run, "consumer_stream", w->consumer[i]);
	put_track(j, run, "producer_stream", w->producer[i]);
	put_id(j, "record_correlation", w->record_corr[i]);
	if (gpu == ASSAY_NO_ROW)
		assay_jsonw_null(j, "producer_kernel");
	else
		assay_jsonw_str(j, "producer_kernel", assay_text(run, t->gpu.name[gpu]));
	assay_jsonw_z(j, "class", assay_wait_class_name[w->class[i]]);
	put_ns(j, "blocked_ns", w->blocked[i], -1);
	put_ns(j, "delayed_ns", w->delayed[i], -1);
	put_ns(j, "slack_ns", w->slack[i], -INT64_MAX);
	if (w->satisfied[i] == 255)
		assay_jsonw_null(j, "satisfied");
	else
		assay_jsonw_bool(j, "satisfied", w->satisfied[i]);
	assay_jsonw_hex(j, "event", w->event[i]);
	assay_jsonw_hex(j, "consumer_handle", w->consumer_handle[i]);
	assay_jsonw_hex(j, "producer_handle", w->producer_handle[i]);
	put_ns(j, "producer_device", w->producer_device[i], -1);
	put_id(j, "other_correlation", w->other_corr[i]);
	assay_jsonw_i64(j, "ts_ns", w->ts[i]);
	put_ns(j, "rank", source < t->source.n ? t->source.rank[source] : -1, -1);
	put_ns(j, "step", step_at(on, source, w->ts[i]), -1);
	put_ns(j, "unexplained_ns", w->unexplained[i], -1);
	put_ns(j, "call_ns", w->dur[i], -1);
	put_id(j, "producer_correlation", gpu == ASSAY_NO_ROW ? 0 : t->gpu.corr[gpu]);
	assay_jsonw_z(j, "doubt", w->doubt[i] ? assay_wait_doubt_name[w->doubt[i]] : NULL);
	if (chains)
		assay_chain_json(j, run, chains, i);
	assay_jsonw_close(j, '}');
}

void assay_waits_json(assay_jsonw *j, assay_run *run, const assay_waits_query *q)
{
	chosen c = choose(run, q);
	summary s = sum_up(run, &c);
	steps on = order_steps(run);
	assay_chain_index chains;
	assay_chain_index_make(&chains, run);
	assay_jsonw_open(j, NULL, '{');
	assay_jsonw_open(j, "waits", '[');
	for (size_t k = 0; k < c.n && (!q->top || k < q->top); k++)
		put_wait(j, run, c.row[k], &on, q->chains ? &chains : NULL);
	assay_jsonw_close(j, ']');
	assay_chain_index_free(&chains);
	assay_jsonw_open(j, "summary", '{');
	assay_jsonw_u64(j, "waits", s.waits);
	assay_jsonw_u64(j, "all_waits", s.all);
	assay_jsonw_u64(j, "resolved", s.resolved);
	assay_jsonw_open_flat(j, "by_class", '{');
	for (int k = 0; k < ASSAY_WAIT_CLASS_COUNT; k++)
		assay_jsonw_u64(j, assay_wait_class_name[k], s.by_class[k]);
	assay_jsonw_close(j, '}');
	assay_jsonw_i64(j, "blocked_ns", s.blocked);
	assay_jsonw_i64(j, "delayed_ns", s.delayed);
	assay_jsonw_i64(j, "unexplained_ns", s.unexplained);
	assay_jsonw_open_flat(j, "unexplained_by_class", '{');
	for (int k = 0; k < ASSAY_WAIT_CLASS_COUNT; k++)
		assay_jsonw_i64(j, assay_wait_class_name[k], s.by_reason[k]);
	assay_jsonw_close(j, '}');
	assay_jsonw_open_flat(j, "by_doubt", '{');
	for (int k = ASSAY_WAIT_BY_NONE + 1; k < ASSAY_WAIT_DOUBT_COUNT; k++)
		if (s.by_doubt[k])
			assay_jsonw_u64(j, assay_wait_doubt_name[k], s.by_doubt[k]);
	assay_jsonw_close(j, '}');
	assay_jsonw_u64(j, "edges", run->part.t.edge.n);
	assay_jsonw_close(j, '}');
	if (run->part.t.rank.n > 1)
		assay_collective_waits_json(j, run, q->top);
	assay_jsonw_close(j, '}');
}

TEST(ids_above_2_to_53_are_text)
{
	assay_jsonw j = {.compact = true};
	assay_jsonw_open(&j, NULL, '{');
	put_id(&j, "a", 1ull << 53);
	put_id(&j, "b", (1ull << 53) + 1);
	put_id(&j, "c", 0);
	assay_jsonw_close(&j, '}');
	CHECK(!strcmp(assay_jsonw_text(&j).p,
		      "{\"a\": 9007199254740992, \"b\": \"9007199254740993\", \"c\": null}"));
	assay_jsonw_free(&j);
	return 0;
}

TEST(ids_above_2_to_31_are_never_negative)
{
	assay_jsonw j = {.compact = true};
	put_id(&j, NULL, 0xFFFFFFF0u);
	CHECK(!strcmp(assay_jsonw_text(&j).p, "4294967280"));
	assay_jsonw_free(&j);
	return 0;
}

TEST(a_wait_is_in_the_step_of_its_source_that_was_on)
{
	assay_run *run = assay_run_new();
	static const struct {
		uint32_t source;
		int64_t ts, dur, number;
	} of[] = {{1, 0, 100, 7}, {0, 200, 100, 2}, {0, 0, 500, 1}, {0, 600, 10, 3}};
	for (size_t k = 0; k < ASSAY_COUNT_OF(of); k++) {
		uint32_t i = assay_add(&run->part.t, ASSAY_T_step);
		run->part.t.step.source[i] = of[k].source;
		run->part.t.step.ts[i] = of[k].ts;
		run->part.t.step.dur[i] = of[k].dur;
		run->part.t.step.number[i] = of[k].number;
	}
	steps s = order_steps(run);
	CHECK(step_at(&s, 0, 0) == 1 && step_at(&s, 0, 250) == 2 && step_at(&s, 0, 300) == 1);
	CHECK(step_at(&s, 0, 500) == -1 && step_at(&s, 0, 600) == 3 && step_at(&s, 0, 610) == -1);
	CHECK(step_at(&s, 1, 99) == 7 && step_at(&s, 1, 100) == -1 && step_at(&s, 2, 50) == -1);
	assay_run_free(run);
	return 0;
}

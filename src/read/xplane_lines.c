/* The lines of a plane. Their events are divided among threads: tasks of about XPLANE_WINDOW bytes,
 * each a few lines or a part of a long one, are read into parts of their own and handed over in
 * order, so that any number of threads gives the same rows.
 *
 * Where a task ends is known when it is fetched, and the next begins there. What a line says of
 * itself stands in front of its events where recorders write the fields in order; of others all
 * events are passed over first.
 *
 * What a file may ask for (args_left) goes down from task to task; a thread does not know what
 * those before it will leave. It reads with an allowance that few tasks exceed, and one that does,
 * or for which less is left, is read again in its turn. */
#include <stdlib.h>

#include <zstd.h>

#include "base/test.h"
#include "base/turns.h"
#include "read/reader.h"
#include "read/xplane.h"

enum { ALLOWANCE_PER_BYTE = 32 };

typedef struct planned_line {
	xplane_line line;
	xplane_place left; /* of its message, for tasks to come */
	bool known;        /* line has all that the message says */
} planned_line;

struct xplane_crew {
	xplane *first;
	xplane *worker[ASSAY_THREADS_MAX]; /* made when there is work for them */
	assay_moved moved[ASSAY_THREADS_MAX];
	unsigned threads;
	assay_gate *gate;
	assay_arena *arena; /* of the crew */
	assay_arena texts;  /* of lines of this plane */
	assay_vec(planned_line) lines;
	uint64_t bytes;    /* of them */
	size_t next;       /* line that the next task begins in */
	assay_protow late; /* what that one had behind events so far */
};

xplane_crew *xplane_crew_new(xplane *first, unsigned threads, assay_arena *a)
{
	xplane_crew *c = assay_alloc(a, sizeof *c);
	c->first = first;
	c->threads = threads < ASSAY_THREADS_MAX ? threads : ASSAY_THREADS_MAX;
	c->arena = a;
	return c;
}

void xplane_crew_free(xplane_crew *c)
{
	for (unsigned i = 0; i < c->threads && c->worker[i]; i++) {
		assay_part_free(c->worker[i]->part);
		assay_moved_free(&c->moved[i]);
		xplane_free(c->worker[i]);
	}
	if (c->gate)
		assay_gate_free(c->gate);
	assay_arena_free(&c->texts);
	assay_vec_free(&c->lines);
	assay_protow_free(&c->late);
}

/* ------------------------------------------------------------------ what there is to do */

static assay_str keep_text(xplane_crew *c, assay_str s)
{
	return (assay_str){assay_dup(&c->texts, s), s.n};
}

static bool is_event(const xplane_field *f)
{
	return f->f.number == XLINE_EVENTS && f->f.wire == ASSAY_WIRE_BYTES;
}

static bool is_rest(const xplane_field *f)
{
	return f->f.number > XLINE_EVENTS || f->f.number == XLINE_TIMESTAMP_NS;
}

static void take_fact(xplane_crew *c, const xplane_field *f, xplane_line *line)
{
	xplane *x = c->first;
	bool text = f->f.wire == ASSAY_WIRE_BYTES, number = f->f.wire == ASSAY_WIRE_VARINT;
	if (f->f.number == XLINE_ID && number)
		line->id = assay_field_i64(&f->f);
	else if (f->f.number == XLINE_TIMESTAMP_NS && number)
		line->ts = assay_field_i64(&f->f);
	else if (f->f.number == XLINE_NAME && text)
		line->name = keep_text(c, xplane_place_bytes(x->text, &x->window, f->body));
	else if (f->f.number == XLINE_DISPLAY_NAME && text)
		line->display = keep_text(c, xplane_place_bytes(x->text, &x->window, f->body));
	if (is_rest(f))
		assay_protow_raw(&x->rest, xplane_place_bytes(x->text, &x->window, f->whole));
}

/* What a line has beside events: all of it; or what stands in front of them, which is then not
 * left, when that has a name. */
static bool know_line(xplane_crew *c, xplane_place *left, xplane_line *line)
{
	xplane *x = c->first;
	xplane_walk k = xplane_walk_on(x->text, &x->window, *left);
	bool known = true;
	x->rest.out.n = 0;
	for (xplane_field f; known && xplane_walk_next(&k, &f);) {
		if (!is_event(&f)) {
			take_fact(c, &f, line);
		} else if (line->name.n) {
			*left = (xplane_place){f.whole.at, k.end - f.whole.at};
			known = false;
		} else {
			x->window.ahead = XPLANE_WINDOW; /* there is much to come */
		}
	}
	x->window.ahead = XPLANE_PEEK;
	line->rest = keep_text(c, assay_protow_data(&x->rest));
	return known;
}

static void plan_line(xplane_crew *c, xplane_place left)
{
	xplane_line line = {.name = {"", 0}, .display = {"", 0}, .track = ASSAY_NO_ROW};
	bool known = know_line(c, &left, &line);
	if (!xplane_line_begin(c->first, &line))
		return; /* nothing that rows do not say */
	*assay_push(&c->lines) = (planned_line){line, left, known};
	c->bytes += left.n;
}

static void plan_lines(xplane_crew *c)
{
	xplane *x = c->first;
	assay_proto p = assay_proto_on(x->plane->message);
	assay_field f;
	c->lines.n = c->next = c->late.out.n = 0;
	c->bytes = 0;
	assay_arena_reset(&c->texts);
	for (size_t i = 0; i < x->plane->lines.n; i++)
		plan_line(c, x->plane->lines.p[i]);
	while (assay_proto_next(&p, &f))
		if (f.number > XPLANE_STATS)
			xplane_keep(x, x->plane->place, ASSAY_KEPT_PLANE, ASSAY_NO_ROW, f.whole);
}

/* ------------------------------------------------------------------ tasks */

/* A line may still say behind its events what no row depends on. */
static bool take_late(xplane_crew *c, xplane *x, const planned_line *l, const xplane_field *f)
{
	if (is_event(f) || l->known)
		return true;
	if (f->f.number > XLINE_EVENTS)
		assay_protow_raw(&c->late, xplane_place_bytes(x->text, &x->window, f->whole));
	return f->f.number > XLINE_EVENTS;
}

/* Fields of the line that are fetched or, if the task has none yet, can be; false when they are not
 * all that are left. */
static bool take_fields(xplane_crew *c, xplane *x, xplane_walk *k, bool *bad)
{
	const planned_line *l = &c->lines.p[c->next];
	bool empty = !x->segments.n;
	for (xplane_field f;; empty = false) {
		uint64_t left = k->end - k->at, at = k->at;
		xplane_place head = {at, left < ASSAY_PROTO_HEAD ? left : ASSAY_PROTO_HEAD};
		if (!empty && (x->task_bytes + (at - l->left.at) >= XPLANE_WINDOW ||
			       !xplane_is_fetched(x->text, &x->window, head)))
			return !left;
		if (!xplane_walk_next(k, &f)) {
			*bad |= k->bad;
			return true;
		}
		if (empty) {
			xplane_place_bytes(x->text, &x->window, f.whole);
		} else if (!xplane_is_fetched(x->text, &x->window, f.whole)) {
			k->at = at;
			return false;
		}
		*bad |= !take_late(c, x, l, &f);
	}
}

static void end_line(xplane_crew *c, xplane_segment *s)
{
	assay_str front = s->line.rest, late = assay_protow_data(&c->late);
	if (late.n) {
		char *all = assay_alloc(&c->texts, front.n + late.n);
		memcpy(all, front.p, front.n);
		memcpy(all + front.n, late.p, late.n);
		s->line.rest = (assay_str){all, front.n + late.n};
	}
	c->late.out.n = 0;
	c->next++;
}

/* What comes next of the line; false when more of it is left. */
static bool take_segment(xplane_crew *c, xplane *x)
{
	planned_line *l = &c->lines.p[c->next];
	xplane_walk k = xplane_walk_on(x->text, &x->window, l->left);
	bool bad = false, last = take_fields(c, x, &k, &bad);
	uint64_t n = k.at - l->left.at;
	if (!last && !n)
		return false;
	xplane_segment *s = assay_push(&x->segments);
	*s = (xplane_segment){l->line, {l->left.at, n}, last, bad};
	x->task_bytes += n;
	l->left = (xplane_place){k.at, l->left.n - n};
	if (last)
		end_line(c, s);
	return last;
}

static bool fill_task_of(xplane_crew *c, xplane *x)
{
	x->segments.n = 0;
	x->task_bytes = 0;
	while (c->next < c->lines.n && take_segment(c, x))
		;
	return x->segments.n > 0;
}

static bool begin_task(void *ctx, unsigned worker, uint64_t k)
{
	xplane_crew *c = ctx;
	(void)k;
	return fill_task_of(c, c->worker[worker]);
}

/* ------------------------------------------------------------------ doing it */

static void add_aggregate(xplane *x, const xplane_line *line, const xplane_event *ev)
{
	uint32_t r = assay_add(&x->part->t, ASSAY_T_stat);
	x->part->t.stat.domain[r] = assay_intern(&x->part->strings, line->name);
	x->part->t.stat.name[r] = ev->name;
	x->part->t.stat.calls[r] = ev->occurrences;
	x->part->t.stat.total[r] = ev->dur;
	x->part->t.stat.source[r] = x->part->source;
}

/* Fields a line has beyond its events and what its track says. */
static void keep_line(xplane *x, const xplane_line *line)
{
	if (line->band) /* also without a rest: it tells that the thread has this line */
		xplane_keep(x, line->name, ASSAY_KEPT_BAND, line->track, line->rest);
	else if (line->rest.n && line->track != ASSAY_NO_ROW &&
		 !xplane_line_is_derived(line->id, line->name)) /* made anew */
		xplane_keep(x, x->plane->place, ASSAY_KEPT_TRACK, line->track, line->rest);
}

static void read_segment(xplane *x, const xplane_segment *s)
{
	xplane_line line = s->line;
	xplane_sink *sink = xplane_line_begin(x, &line); /* its track in this reader's part */
	assay_proto c = assay_proto_on(xplane_place_bytes(x->text, &x->window, s->events));
	xplane_event ev = {0};
	for (assay_field f; assay_proto_next_padded(&c, &f);) {
		if (f.number != XLINE_EVENTS || f.wire != ASSAY_WIRE_BYTES)
			continue;
		x->events++;
		if (!xplane_event_read(x, &line, f.bytes, &ev))
			continue;
		if (ev.aggregate)
			add_aggregate(x, &line, &ev);
		else
			sink(x, &line, &ev);
	}
	assay_count(x->part, ASSAY_ISSUE_bad_record, s->bad);
	if (s->last)
		keep_line(x, &line);
}

static void read_task(xplane *x)
{
	for (size_t i = 0; i < x->segments.n; i++)
		read_segment(x, &x->segments.p[i]);
}

static void do_task(void *ctx, unsigned worker, uint64_t k)
{
	xplane_crew *c = ctx;
	xplane *x = c->worker[worker];
	(void)k;
	x->events = x->derived_steps.n = 0;
	x->refused = x->marked_steps = false;
	x->args_left = ALLOWANCE_PER_BYTE * x->task_bytes;
	read_task(x);
}

/* What the worker has read goes to the first; the rows themselves follow in fill_task(). */
static void claim_task(xplane_crew *c, unsigned worker, uint64_t used)
{
	xplane *to = c->first, *x = c->worker[worker];
	assay_part_claim(c->gate, to->part, x->part, &c->moved[worker]);
	for (size_t i = 0; i < x->derived_steps.n; i++) {
		xplane_step *s = assay_push(&to->derived_steps);
		*s = x->derived_steps.p[i];
		s->name = c->moved[worker].sid.p[s->name];
	}
	to->events += x->events;
	to->marked_steps |= x->marked_steps;
	to->args_left -= used;
}

static bool hand_over_task(void *ctx, unsigned worker, uint64_t k)
{
	xplane_crew *c = ctx;
	xplane *to = c->first, *x = c->worker[worker];
	uint64_t used = ALLOWANCE_PER_BYTE * x->task_bytes - x->args_left;
	(void)k;
	if (x->refused || used > to->args_left) {
		assay_part_clear(x->part);
		x->events = x->derived_steps.n = 0;
		x->args_left = to->args_left;
		read_task(x);
		used = to->args_left - x->args_left;
	}
	claim_task(c, worker, used);
	return true;
}

static void fill_task(void *ctx, unsigned worker, uint64_t k)
{
	xplane_crew *c = ctx;
	(void)k;
	assay_part_fill(c->gate, c->first->part, c->worker[worker]->part, &c->moved[worker]);
}

static void call_workers(xplane_crew *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!c->worker[i]) {
			c->worker[i] = assay_alloc(c->arena, sizeof(xplane));
			c->worker[i]->part = assay_alloc(c->arena, sizeof(assay_part));
			c->worker[i]->inputs = c->first->inputs;
			c->worker[i]->window.ahead = XPLANE_WINDOW;
		}
		c->worker[i]->part->source = c->first->part->source;
		c->worker[i]->plane = c->first->plane;
		c->worker[i]->text = c->first->text;
		c->worker[i]->names.n = 0;
	}
	if (!c->gate)
		c->gate = assay_gate_new(c->arena);
}

void xplane_lines_read(xplane_crew *c)
{
	xplane *x = c->first;
	plan_lines(c);
	x->names.n = 0;
	uint64_t tasks = c->bytes / XPLANE_WINDOW + 1;
	unsigned n = c->threads < tasks ? c->threads : (unsigned)tasks;
	if (n < 2) {
		x->window.ahead = XPLANE_WINDOW;
		while (fill_task_of(c, x))
			read_task(x);
		x->window.ahead = XPLANE_PEEK;
		return;
	}
	call_workers(c, n);
	assay_turns_run(&(assay_turns){.tasks = UINT64_MAX,
				       .threads = n,
				       .ctx = c,
				       .begin = begin_task,
				       .work = do_task,
				       .hand_over = hand_over_task,
				       .after = fill_task});
}

/* ------------------------------------------------------------------ tests */

/* What a line says in front of its events, and behind them. */
static void make_front(assay_protow *line, uint64_t id)
{
	assay_protow_varint(line, XLINE_ID, id);
	assay_protow_text(line, XLINE_NAME, ASSAY_S("worker"));
	assay_protow_varint(line, XLINE_TIMESTAMP_NS, 1000 + id);
}

/* A line of many events with arguments, some of which repeat, and many short lines. ordered: fields
 * stand as recorders write them. */
static void make_lines(assay_protow *space, bool ordered)
{
	assay_protow plane = {0}, line = {0}, event = {0}, stat = {0}, entry = {0}, value = {0};
	static const char *const names[] = {"", "arg", "correlation_id", "step_num", "_r"};
	for (uint64_t id = 1; id < ASSAY_COUNT_OF(names); id++) {
		assay_protow_text(&value, XMETA_NAME, assay_str_of(names[id]));
		assay_protow_varint(&entry, XENTRY_KEY, id);
		assay_protow_message(&entry, XENTRY_VALUE, &value);
		assay_protow_message(&plane, XPLANE_STAT_META, &entry);
		assay_protow_text(&value, XMETA_NAME, assay_str_of(id == 1 ? "hipFree" : "f"));
		assay_protow_varint(&entry, XENTRY_KEY, id);
		assay_protow_message(&entry, XENTRY_VALUE, &value);
		assay_protow_message(&plane, XPLANE_EVENT_META, &entry);
	}
	for (uint64_t i = 0; i < 60000; i++) {
		assay_protow_varint(&event, XEVENT_META, 1 + i % 5); /* 5 has no name */
		assay_protow_varint(&event, XEVENT_OFFSET_PS, i * 1000000);
		assay_protow_varint(&event, XEVENT_DURATION_PS, i % 97 * 1000);
		for (uint64_t s = 1; s < 4 + i % 2; s++) {
			assay_protow_varint(&stat, XSTAT_META, s);
			assay_protow_varint(&stat, XSTAT_INT64, s == 1 ? i % 300 : i);
			assay_protow_message(&event, XEVENT_STATS, &stat);
		}
		if (i % 1000 == 0) /* a field that nobody knows */
			assay_protow_text(&event, 99, ASSAY_S("new"));
		if (!line.out.n && ordered)
			make_front(&line, i);
		assay_protow_message(&line, XLINE_EVENTS, &event);
		if (i < 40000 ? i == 39999 : i % 7 == 0 || i == 59999) {
			if (!ordered)
				make_front(&line, i);
			assay_protow_text(&line, XLINE_DISPLAY_NAME, ASSAY_S("shown"));
			assay_protow_message(&plane, XPLANE_LINES, &line);
		}
	}
	assay_protow_text(&plane, XPLANE_NAME, ASSAY_S(XPLANE_HOST));
	assay_protow_message(space, XSPACE_PLANES, &plane);
	assay_protow *const all[] = {&plane, &line, &event, &stat, &entry, &value};
	for (size_t i = 0; i < ASSAY_COUNT_OF(all); i++)
		assay_protow_free(all[i]);
}

/* What the rows say; ids of strings may differ. */
static uint64_t sum_of(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t sum = 0;
	for (size_t i = 0; i < t->host.n; i++) {
		assay_str name = assay_text(run, t->host.name[i]);
		assay_str args = assay_text(run, t->host.args[i]);
		int64_t v[] = {t->host.ts[i], t->host.dur[i], t->host.kind[i], t->host.detail[i],
			       t->track.tid[t->host.track[i]]};
		sum = assay_hash(v, sizeof v, sum);
		sum = assay_hash(name.p, name.n, assay_hash(args.p, args.n, sum));
	}
	for (size_t i = 0; i < t->kept.n; i++) {
		assay_str bytes = assay_text(run, t->kept.bytes[i]);
		sum = assay_hash(bytes.p, bytes.n, sum + t->kept.row[i]);
	}
	sum = assay_hash(t->step.ts, t->step.n * sizeof *t->step.ts, sum);
	return assay_hash(run->part.issues, sizeof run->part.issues, sum);
}

static uint64_t read_sum(assay_str space, const char *threads)
{
	setenv("ASSAY_THREADS", threads, 1);
	assay_run *run = assay_read_bytes(&assay_reader_xplane, space.p, space.n);
	bool all = run->part.t.host.n == 60000 && run->part.t.kept.n >= 60;
	for (size_t i = 0; all && i < run->part.t.kept.n; i++)
		if (run->part.t.kept.of[i] == ASSAY_KEPT_TRACK)
			all = assay_str_ends(assay_text(run, run->part.t.kept.bytes[i]), "shown");
	uint64_t sum = all ? sum_of(run) : 0;
	assay_run_free(run);
	unsetenv("ASSAY_THREADS");
	return sum;
}

/* Fetched piece by piece, and packed: held as a whole. */
TEST(lines_read_the_same_with_any_number_of_threads)
{
	static const char *const threads[] = {"2", "7"};
	for (int ordered = 0; ordered < 2; ordered++) {
		assay_protow space = {0};
		make_lines(&space, ordered);
		assay_str plain = assay_protow_data(&space);
		assay_vec(char) packed = {0};
		assay_vec_reserve(&packed, ZSTD_compressBound(plain.n));
		packed.n = ZSTD_compress(packed.p, packed.cap, plain.p, plain.n, 1);
		uint64_t first = read_sum(plain, "1");
		CHECK(first && !ZSTD_isError(packed.n));
		for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
			CHECK_EQ(read_sum(plain, threads[i]), first);
			CHECK_EQ(read_sum((assay_str){packed.p, packed.n}, threads[i]), first);
		}
		assay_vec_free(&packed);
		assay_protow_free(&space);
	}
	return 0;
}

/* An event larger than what is fetched at a time, between others, and a line that says too late
 * what it is. */
TEST(long_events_and_late_facts_are_read)
{
	enum { LONG = 2 * XPLANE_WINDOW + 1000 };
	assay_protow space = {0}, plane = {0}, line = {0}, event = {0}, stat = {0};
	assay_vec(char) text = {0};
	assay_vec_reserve(&text, LONG);
	memset(text.p, 'x', LONG);
	make_front(&line, 5);
	for (uint64_t i = 0; i < 300; i++) {
		assay_protow_varint(&event, XEVENT_OFFSET_PS, i * 1000);
		assay_protow_varint(&stat, XSTAT_META, 1);
		assay_protow_text(&stat, XSTAT_STR, (assay_str){text.p, i % 100 == 50 ? LONG : 9});
		assay_protow_message(&event, XEVENT_STATS, &stat);
		assay_protow_message(&line, XLINE_EVENTS, &event);
	}
	assay_protow_varint(&line, XLINE_ID, 6);
	assay_protow_message(&plane, XPLANE_LINES, &line);
	assay_protow_text(&plane, XPLANE_NAME, ASSAY_S(XPLANE_HOST));
	assay_protow_message(&space, XSPACE_PLANES, &plane);
	assay_run *run = assay_read_bytes(&assay_reader_xplane, space.out.p, space.out.n);
	const assay_tables *t = &run->part.t;
	CHECK(t->host.n == 300 && t->host.ts[299] == 1005 + 299);
	CHECK_EQ(t->track.tid[t->host.track[0]], 5);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_record], 1);
	assay_run_free(run);
	assay_protow *const all[] = {&space, &plane, &line, &event, &stat};
	for (size_t i = 0; i < ASSAY_COUNT_OF(all); i++)
		assay_protow_free(all[i]);
	assay_vec_free(&text);
	return 0;
}

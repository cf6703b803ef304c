/* The lines of a plane. Their events are divided among threads: tasks of about TASK_BYTES, each a
 * few lines or a part of a long one, are read into parts of their own and handed over in order, so
 * that any number of threads gives the same rows.
 *
 * What a file may ask for (args_left) goes down from task to task; a thread does not know what
 * those before it will leave. It reads with an allowance that few tasks exceed, and one that does,
 * or for which less is left, is read again in its turn. */
#include <stdlib.h>

#include "base/test.h"
#include "base/turns.h"
#include "read/reader.h"
#include "read/xplane.h"

enum { TASK_BYTES = 256 << 10, ALLOWANCE_PER_BYTE = 32 };

/* Events of one line, whole. */
typedef struct segment {
	uint32_t line;
	assay_str events;
	bool last; /* of its line */
} segment;

/* Segments of a task: those behind the last task's, up to here. */
typedef struct task {
	size_t end, bytes;
} task;

struct xplane_crew {
	xplane *first;
	xplane *worker[ASSAY_THREADS_MAX]; /* made when there is work for them */
	assay_moved moved[ASSAY_THREADS_MAX];
	unsigned threads;
	assay_gate *gate;
	assay_arena *arena; /* of the crew */
	assay_arena rests;  /* of lines of this plane */
	assay_vec(xplane_line) lines;
	assay_vec(segment) segments;
	assay_vec(task) tasks;
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
	assay_arena_free(&c->rests);
	assay_vec_free(&c->lines);
	assay_vec_free(&c->segments);
	assay_vec_free(&c->tasks);
}

/* ------------------------------------------------------------------ what there is to do */

static void add_segment(xplane_crew *c, const uint8_t *from, const uint8_t *to, bool last)
{
	size_t n = (size_t)(to - from);
	*assay_push(&c->segments) =
		(segment){(uint32_t)c->lines.n - 1, {(const char *)from, n}, last};
	if (!c->tasks.n || c->tasks.p[c->tasks.n - 1].bytes >= TASK_BYTES)
		*assay_push(&c->tasks) = (task){0};
	task *t = &c->tasks.p[c->tasks.n - 1];
	t->bytes += n;
	t->end = c->segments.n;
}

/* Segments of a line's message, and what it has beside events. */
static void walk_line(xplane_crew *c, assay_str message, xplane_line *line)
{
	assay_proto p = assay_proto_on(message);
	const uint8_t *from = p.p;
	xplane *x = c->first;
	x->rest.out.n = 0;
	for (assay_field f; assay_proto_next_padded(&p, &f);) {
		if (f.number == XLINE_EVENTS && f.wire == ASSAY_WIRE_BYTES) {
			if (p.p - from >= TASK_BYTES) {
				add_segment(c, from, p.p, false);
				from = p.p;
			}
			continue;
		}
		if (f.number == XLINE_ID && f.wire == ASSAY_WIRE_VARINT)
			line->id = assay_field_i64(&f);
		else if (f.number == XLINE_TIMESTAMP_NS && f.wire == ASSAY_WIRE_VARINT)
			line->ts = assay_field_i64(&f);
		else if (f.number == XLINE_NAME && f.wire == ASSAY_WIRE_BYTES)
			line->name = f.bytes;
		else if (f.number == XLINE_DISPLAY_NAME && f.wire == ASSAY_WIRE_BYTES)
			line->display = f.bytes;
		if (f.number > XLINE_EVENTS || f.number == XLINE_TIMESTAMP_NS)
			assay_protow_raw(&x->rest, f.whole);
	}
	add_segment(c, from, p.p, true);
	assay_str rest = assay_protow_data(&x->rest);
	line->rest = (assay_str){assay_dup(&c->rests, rest), rest.n};
	if (p.bad)
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
}

static void plan_line(xplane_crew *c, assay_str message)
{
	size_t segments = c->segments.n, tasks = c->tasks.n;
	task open = tasks ? c->tasks.p[tasks - 1] : (task){0};
	uint64_t bad = c->first->part->issues[ASSAY_ISSUE_bad_record];
	xplane_line line = {.name = {"", 0}, .display = {"", 0}, .track = ASSAY_NO_ROW};
	c->lines.n++;
	walk_line(c, message, &line);
	c->lines.n--;
	if (xplane_line_begin(c->first, &line)) {
		*assay_push(&c->lines) = line;
		return;
	}
	c->segments.n = segments; /* nothing that rows do not say */
	c->tasks.n = tasks;
	if (tasks)
		c->tasks.p[tasks - 1] = open;
	c->first->part->issues[ASSAY_ISSUE_bad_record] = bad;
}

static void plan_lines(xplane_crew *c)
{
	xplane *x = c->first;
	assay_proto p = assay_proto_on(x->plane->message);
	assay_field f;
	c->lines.n = c->segments.n = c->tasks.n = 0;
	assay_arena_reset(&c->rests);
	while (assay_proto_next_padded(&p, &f)) {
		if (f.number == XPLANE_LINES && f.wire == ASSAY_WIRE_BYTES)
			plan_line(c, f.bytes);
		else if (f.number > XPLANE_STATS)
			xplane_keep(x, x->plane->place, ASSAY_KEPT_PLANE, ASSAY_NO_ROW, f.whole);
	}
	if (p.cut && f.number == XPLANE_LINES && f.wire == ASSAY_WIRE_BYTES)
		plan_line(c, f.bytes); /* the whole events in front of the cut */
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

static void read_segment(xplane *x, xplane_line line, const segment *s)
{
	xplane_sink *sink = xplane_line_begin(x, &line); /* its track in this reader's part */
	assay_proto c = assay_proto_on(s->events);
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
	if (s->last)
		keep_line(x, &line);
}

static void read_task(xplane_crew *c, xplane *x, uint64_t k)
{
	for (size_t i = k ? c->tasks.p[k - 1].end : 0; i < c->tasks.p[k].end; i++)
		read_segment(x, c->lines.p[c->segments.p[i].line], &c->segments.p[i]);
}

static void do_task(void *ctx, unsigned worker, uint64_t k)
{
	xplane_crew *c = ctx;
	xplane *x = c->worker[worker];
	x->events = x->derived_steps.n = 0;
	x->refused = x->marked_steps = false;
	x->args_left = ALLOWANCE_PER_BYTE * (uint64_t)c->tasks.p[k].bytes;
	read_task(c, x, k);
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
	uint64_t used = ALLOWANCE_PER_BYTE * (uint64_t)c->tasks.p[k].bytes - x->args_left;
	if (x->refused || used > to->args_left) {
		assay_part_clear(x->part);
		x->events = x->derived_steps.n = 0;
		x->args_left = to->args_left;
		read_task(c, x, k);
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
			c->worker[i]->part->source = c->first->part->source;
		}
		c->worker[i]->plane = c->first->plane;
		c->worker[i]->names.n = 0;
	}
	if (!c->gate)
		c->gate = assay_gate_new(c->arena);
}

void xplane_lines_read(xplane_crew *c)
{
	plan_lines(c);
	c->first->names.n = 0;
	unsigned n = c->threads < c->tasks.n ? c->threads : (unsigned)c->tasks.n;
	if (n < 2) {
		for (size_t k = 0; k < c->tasks.n; k++)
			read_task(c, c->first, k);
		return;
	}
	call_workers(c, n);
	assay_turns_run(&(assay_turns){.tasks = c->tasks.n,
				       .threads = n,
				       .ctx = c,
				       .work = do_task,
				       .hand_over = hand_over_task,
				       .after = fill_task});
}

/* ------------------------------------------------------------------ tests */

/* A line of many events with arguments, some of which repeat, and many short lines. */
static void make_lines(assay_protow *space)
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
		assay_protow_message(&line, XLINE_EVENTS, &event);
		if (i < 40000 ? i == 39999 : i % 7 == 0 || i == 59999) {
			assay_protow_varint(&line, XLINE_ID, i);
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

TEST(lines_read_the_same_with_any_number_of_threads)
{
	static const char *const threads[] = {"1", "2", "3", "7"};
	assay_protow space = {0};
	make_lines(&space);
	uint64_t first = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		setenv("ASSAY_THREADS", threads[i], 1);
		assay_run *run = assay_read_bytes(&assay_reader_xplane, space.out.p, space.out.n);
		CHECK(run->part.t.host.n == 60000 && run->part.t.kept.n >= 60);
		first = i ? first : sum_of(run);
		CHECK_EQ(sum_of(run), first);
		assay_run_free(run);
	}
	unsetenv("ASSAY_THREADS");
	assay_protow_free(&space);
	return 0;
}

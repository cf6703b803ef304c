/* What only all events of a Chrome trace tell: which end is of which begin, and how tracks are
 * called. */
#include "read/chrome.h"

#include <stdlib.h>

#include "base/compare.h"

/* Rows of raw that pair with each other come next to each other, in time order. */
struct pair_key {
	uint64_t line; /* thread, or category and id of an async event */
	int64_t ts;
	uint32_t row;
};

static int by_line_and_time(const void *a, const void *b)
{
	const struct pair_key *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->line, y->line),
			  assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(x->row, y->row)));
}

typedef assay_vec(uint32_t) rows;

enum { ENDS_LOST = 256 }; /* begins looked through for the one an end names */

/* Arguments of a range that has no end, with a member that says so in front. */
static assay_str open_args(assay_arena *scratch, assay_str args)
{
	assay_str rest =
		args.n > 1 && args.p[0] == '{' ? (assay_str){args.p + 1, args.n - 1} : ASSAY_S("}");
	bool more = assay_str_trim(rest).n > 1;
	return assay_str_of(assay_printf(scratch, "{\"" ASSAY_OPEN_END "\": true%s%.*s",
					 more ? ", " : "", (int)rest.n, rest.p));
}

/* The span of a begin row, through the same path as a complete event. */
static void add_pair(chrome *c, chrome_worker *w, uint32_t begin, int64_t end_ts, bool open)
{
	const assay_raw_table *raw = &c->run->part.t.raw;
	const assay_pool *strings = &c->run->part.strings;
	assay_str args = assay_pool_get(strings, raw->args[begin]);
	if (open)
		args = open_args(&w->scratch, args);
	chrome_event ev = {.pid.num = -1, .tid.num = -1};
	if (args.n) { /* parse the arguments again, as the only member of an event */
		static const char head[] = "{\"args\":";
		size_t n = sizeof head - 1 + args.n + 1;
		char *text = assay_alloc(&w->scratch, n + ASSAY_PAD);
		memcpy(text, head, sizeof head - 1);
		memcpy(text + sizeof head - 1, args.p, args.n);
		text[n - 1] = '}';
		assay_json j = assay_json_on(text, n);
		if (!c->parse(c, w, &j, &ev))
			ev = (chrome_event){.pid.num = -1, .tid.num = -1};
	}
	assay_str cat = assay_pool_get(strings, raw->cat[begin]);
	char *padded = assay_alloc(&w->scratch, cat.n + ASSAY_PAD);
	memcpy(padded, cat.p, cat.n);
	ev.cat = (assay_str){padded, cat.n};
	ev.cat_id = chrome_word_find(&c->cats, padded, cat.n);
	ev.name = assay_pool_get(strings, raw->name[begin]);
	const assay_track_table *t = &c->run->part.t.track;
	uint32_t track = raw->track[begin];
	ev.pid = (chrome_ident){t->pid[track], assay_pool_get(strings, t->process[track])};
	ev.tid = (chrome_ident){t->tid[track], assay_pool_get(strings, t->name[track])};
	ev.ts = raw->ts[begin];
	ev.dur = end_ts - ev.ts;
	ev.has_ts = ev.has_dur = true;
	chrome_add_span(w, &ev);
	assay_arena_free(&w->scratch);
}

/* An end closes the last begin of its name that is open, or of any name when it has none. Begins
 * above that one lost their ends (a profiler that paused) and end with it. */
static void close_pair(chrome *c, chrome_worker *w, uint32_t end, rows *open)
{
	const assay_raw_table *raw = &c->run->part.t.raw;
	size_t i = open->n, least = i > ENDS_LOST ? i - ENDS_LOST : 0;
	while (i > least && raw->phase[end] == 'E' && raw->name[end] &&
	       raw->name[open->p[i - 1]] != raw->name[end])
		i--;
	if (i == least) {
		assay_count(&w->part, ASSAY_ISSUE_unmatched_end, 1);
		return;
	}
	assay_count(&w->part, ASSAY_ISSUE_unmatched_begin, open->n - i);
	for (; open->n >= i; open->n--)
		add_pair(c, w, open->p[open->n - 1], raw->ts[end], open->n > i);
}

static void see_end(const chrome *c, uint32_t track, int64_t ts, int64_t dur, int64_t *last)
{
	int64_t end;
	if (c->run->part.t.track.source[track] == c->run->part.source &&
	    !__builtin_add_overflow(ts, dur > 0 ? dur : 0, &end) && end > *last)
		*last = end;
}

/* When the recording ended, as far as this file tells. */
static int64_t last_time(const chrome *c)
{
	const assay_tables *t = &c->run->part.t;
	int64_t last = INT64_MIN;
	for (size_t i = 0; i < t->host.n; i++)
		see_end(c, t->host.track[i], t->host.ts[i], t->host.dur[i], &last);
	for (size_t i = 0; i < t->gpu.n; i++)
		see_end(c, t->gpu.track[i], t->gpu.ts[i], t->gpu.dur[i], &last);
	for (size_t i = 0; i < t->raw.n; i++)
		if (t->raw.phase[i] != 'M' && t->raw.ts[i] > last)
			last = t->raw.ts[i];
	return last;
}

/* One thread's or one async id's rows. */
static void pair_line(chrome *c, chrome_worker *w, const struct pair_key *k, size_t n, rows *open)
{
	const assay_raw_table *raw = &c->run->part.t.raw;
	open->n = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t r = k[i].row;
		char phase = (char)raw->phase[r];
		if (phase == 'n')
			add_pair(c, w, r, raw->ts[r], false);
		else if (phase == 'B' || phase == 'b')
			*assay_push(open) = r;
		else
			close_pair(c, w, r, open);
	}
	assay_count(&w->part, ASSAY_ISSUE_unmatched_begin, open->n);
	if (open->n && c->last_time == INT64_MIN)
		c->last_time = last_time(c);
	while (open->n) {
		uint32_t r = open->p[--open->n];
		add_pair(c, w, r, c->last_time > raw->ts[r] ? c->last_time : raw->ts[r], true);
	}
}

/* Ids that are words are names already; one that is not there may have a name. */
static void name_track(chrome *c, uint32_t r)
{
	assay_part *p = &c->run->part;
	assay_str what = assay_pool_get(&p->strings, p->t.raw.name[r]);
	assay_track_table *t = &p->t.track;
	uint32_t track = p->t.raw.track[r];
	if (assay_str_is(what, "thread_name") && (t->tid[track] >= 0 || !t->name[track]))
		t->name[track] = p->t.raw.args[r];
	if (!assay_str_is(what, "process_name") || (t->pid[track] < 0 && t->process[track]))
		return;
	for (size_t i = 0; i < t->n; i++) /* a process name is every thread's */
		if (t->pid[i] == t->pid[track] && t->source[i] == t->source[track] &&
		    t->kind[i] == ASSAY_TRACK_THREAD && (t->pid[i] >= 0 || !t->process[i]))
			t->process[i] = p->t.raw.args[r];
}

void chrome_finish(chrome *c)
{
	assay_raw_table *raw = &c->run->part.t.raw;
	assay_vec(struct pair_key) keys = {0};
	rows open = {0};
	chrome_worker *w = &c->worker[0];
	c->last_time = INT64_MIN;
	for (uint32_t r = 0; r < raw->n; r++) {
		bool async = raw->phase[r] == 'b' || raw->phase[r] == 'e' || raw->phase[r] == 'n';
		uint64_t line = async ? 1ull << 63 | (uint64_t)raw->cat[r] << 32 | raw->id[r]
				      : raw->track[r];
		if (raw->phase[r] == 'M')
			name_track(c, r);
		else
			*assay_push(&keys) = (struct pair_key){line, raw->ts[r], r};
	}
	if (keys.n)
		qsort(keys.p, keys.n, sizeof *keys.p, by_line_and_time);
	for (size_t i = 0, n; i < keys.n; i += n) {
		for (n = 1; i + n < keys.n && keys.p[i + n].line == keys.p[i].line;)
			n++;
		pair_line(c, w, keys.p + i, n, &open);
	}
	raw->n = 0;
	assay_vec_free(&keys);
	assay_vec_free(&open);
	assay_part_move(&c->run->part, &w->part, &w->moved);
}

/* Profiles of JAX on AMD have a thread on two lines: its calls under the thread's number, XLA's
 * spans under a number of XLA's own. They are one thread when every call lies in a span, and every
 * call that names its operator in a span of that name. */
#include "resolve/scopes.h"

#include "base/test.h"

/* A line of calls, or of spans. */
struct line {
	uint32_t track, match; /* index of the line it belongs to, ASSAY_NO_ROW: none, or several */
	bool calls;
};
typedef assay_vec(struct line) line_list;

/* False when it has both, or neither. */
static bool is_line(const scopes *s, uint32_t track, struct line *out)
{
	const assay_host_table *h = &s->t->host;
	size_t calls = 0, ranges = 0, from = s->first.p[track], n = s->first.p[track + 1] - from;
	for (size_t i = 0; i < n; i++) {
		uint8_t kind = h->kind[s->rows[from + i]];
		calls += assay_is_call(kind);
		ranges += kind == ASSAY_HOST_ANNOTATION;
	}
	*out = (struct line){track, ASSAY_NO_ROW, calls != 0};
	return calls ? calls == n : ranges != 0;
}

/* "hlo_op" among the arguments; empty when not there. */
static assay_str operator_of(const scopes *s, uint32_t h)
{
	static const char key[] = "\"hlo_op\": \"";
	assay_str args = assay_text(s->run, s->t->host.args[h]);
	ptrdiff_t at = assay_str_find(args, key);
	if (at < 0)
		return (assay_str){"", 0};
	assay_str rest = {args.p + at + sizeof key - 1, args.n - (size_t)at - (sizeof key - 1)};
	return assay_str_cut(&rest, '"');
}

static bool lies_in(const scopes *s, uint32_t call, const uint32_t *open, size_t n)
{
	const assay_host_table *h = &s->t->host;
	assay_str name = operator_of(s, call);
	int64_t end = assay_host_end(h, call);
	while (n-- > 0)
		if (h->ts[open[n]] + h->dur[open[n]] >= end &&
		    (!name.n || assay_str_eq(assay_text(s->run, h->name[open[n]]), name)))
			return true;
	return false;
}

/* Do all calls of one line lie in spans of the other? Both are sorted by start. */
static bool fits(const scopes *s, uint32_t calls, uint32_t spans)
{
	const assay_host_table *h = &s->t->host;
	assay_vec(uint32_t) open = {0};
	size_t next = s->first.p[spans], last = s->first.p[spans + 1];
	bool all = true;
	for (size_t i = s->first.p[calls]; all && i < s->first.p[calls + 1]; i++) {
		uint32_t call = s->rows[i];
		for (; next < last && h->ts[s->rows[next]] <= h->ts[call]; next++) {
			uint32_t row = s->rows[next];
			while (open.n &&
			       h->ts[open.p[open.n - 1]] + h->dur[open.p[open.n - 1]] <= h->ts[row])
				open.n--;
			*assay_push(&open) = row;
		}
		while (open.n &&
		       h->ts[open.p[open.n - 1]] + h->dur[open.p[open.n - 1]] < h->ts[call])
			open.n--;
		all = lies_in(s, call, open.p, open.n);
	}
	assay_vec_free(&open);
	return all;
}

/* A line that could belong to two belongs to none. */
static void match(const scopes *s, line_list *lines)
{
	enum { MANY = 512 };
	for (uint32_t a = 0; lines->n <= MANY && a < lines->n; a++) {
		uint32_t found = 0, with = ASSAY_NO_ROW;
		for (uint32_t b = 0; lines->p[a].calls && b < lines->n; b++)
			if (!lines->p[b].calls && fits(s, lines->p[a].track, lines->p[b].track)) {
				found++;
				with = b;
			}
		if (found == 1)
			lines->p[a].match = with;
	}
	assay_vec(uint32_t) taken = {0};
	for (size_t i = 0; i < lines->n; i++)
		*assay_push(&taken) = 0;
	for (size_t i = 0; i < lines->n; i++)
		if (lines->p[i].match != ASSAY_NO_ROW)
			taken.p[lines->p[i].match]++;
	for (size_t i = 0; i < lines->n; i++)
		if (lines->p[i].match != ASSAY_NO_ROW && taken.p[lines->p[i].match] > 1)
			lines->p[i].match = ASSAY_NO_ROW;
	assay_vec_free(&taken);
}

bool scopes_join_lines(scopes *s)
{
	const assay_tables *t = s->t;
	bool any = false;
	for (uint32_t source = 0; source < t->source.n; source++) {
		line_list lines = {0};
		struct line l;
		for (uint32_t i = 0; i < t->track.n; i++)
			if (t->track.kind[i] == ASSAY_TRACK_THREAD &&
			    scopes_source(s, i) == source &&
			    assay_has_trait(s->run, source, ASSAY_TRAIT_PLANES) &&
			    is_line(s, i, &l))
				*assay_push(&lines) = l;
		match(s, &lines);
		for (size_t i = 0; i < lines.n; i++) {
			if (lines.p[i].match == ASSAY_NO_ROW)
				continue;
			s->thread.p[lines.p[i].track] = lines.p[lines.p[i].match].track;
			any = true;
		}
		assay_vec_free(&lines);
	}
	return any;
}

/* ------------------------------------------------------------------ tests */

enum { API = 583 }; /* the thread of the calls */

static uint32_t add_span(assay_run *run, assay_host_kind kind, int64_t tid, const char *name,
			 int64_t ts, int64_t dur, const char *args)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host);
	t->host.kind[h] = (uint8_t)kind;
	t->host.track[h] = assay_thread_track(&run->part, 1, tid);
	t->host.name[h] = assay_sid_of(run, name);
	t->host.ts[h] = ts;
	t->host.dur[h] = dur;
	t->host.args[h] = assay_sid_of(run, args);
	if (assay_is_call(t->host.kind[h]))
		t->host.detail[h] = assay_add(t, ASSAY_T_api);
	return h;
}

/* Two threads that run operators at the same time; which operator a call of ours is of. */
static assay_run *two_threads(const char *of)
{
	assay_run *run = assay_run_new();
	uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
	run->part.t.source.traits[s] = ASSAY_TRAIT_PLANES;
	run->part.source = s;
	add_span(run, ASSAY_HOST_ANNOTATION, -5, "fusion", 0, 100, "");
	add_span(run, ASSAY_HOST_ANNOTATION, -6, "conv", 0, 100, "");
	add_span(run, ASSAY_HOST_RUNTIME, API, "hipModuleLaunchKernel", 10, 5, of);
	assay_scopes(run, NULL);
	return run;
}

static const char *scope_of_call(const assay_run *run)
{
	uint32_t scope = run->part.t.host_scope.scope[2];
	return scope == ASSAY_NO_ROW ? "" : assay_z(run, run->part.t.scope.name[scope]);
}

TEST(calls_join_the_spans_that_name_their_operator_and_nothing_when_two_do)
{
	static const struct {
		const char *args, *scope;
	} cases[] = {
		{"\"hlo_op\": \"fusion\"", "fusion"},
		{"\"hlo_op\": \"conv\"", "conv"},
		{"\"hlo_op\": \"other\"", ""},
		{"", ""}, /* it lies in both */
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = two_threads(cases[i].args);
		CHECK(!strcmp(scope_of_call(run), cases[i].scope));
		assay_run_free(run);
	}
	return 0;
}

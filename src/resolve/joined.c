/* Profiles of JAX on AMD have a thread on two lines: its calls under the thread's number, XLA's
 * spans under a number of XLA's own. They are one thread when every call lies in a span, and every
 * call that names its operator in a span of that name. Reports put its calls on the line of its
 * spans, as profiles of NVIDIA's have them, so that whoever asks what a thread did sees both;
 * writers keep the lines. */
#include "base/sort.h"
#include "base/test.h"
#include "resolve/resolve.h"

/* A line of calls, or of spans. */
struct line {
	uint32_t track, match; /* index of the line it belongs to, ASSAY_NO_ROW: none, or several */
	bool calls;
	uint32_t *row; /* of host, by start; longest first */
	size_t n;
};
typedef assay_vec(struct line) line_list;

/* Lines of one source with their rows; what has neither calls nor ranges, or both, is none. */
static void take_lines(const assay_tables *t, uint32_t source, assay_arena *a, line_list *lines)
{
	const assay_host_table *h = &t->host;
	size_t *rows = assay_alloc(a, (t->track.n + 1) * sizeof *rows);
	size_t *calls = assay_alloc(a, (t->track.n + 1) * sizeof *calls);
	size_t *ranges = assay_alloc(a, (t->track.n + 1) * sizeof *ranges);
	uint32_t *line = assay_alloc(a, (t->track.n + 1) * sizeof *line);
	for (size_t i = 0; i < h->n; i++) {
		rows[h->track[i]]++;
		calls[h->track[i]] += assay_is_call(h->kind[i]);
		ranges[h->track[i]] += h->kind[i] == ASSAY_HOST_ANNOTATION;
	}
	for (uint32_t i = 0; i < t->track.n; i++) {
		bool mine = t->track.kind[i] == ASSAY_TRACK_THREAD && t->track.source[i] == source;
		bool one = calls[i] ? calls[i] == rows[i] : ranges[i] != 0;
		line[i] = mine && one ? (uint32_t)lines->n : ASSAY_NO_ROW;
		if (mine && one)
			*assay_push(lines) = (struct line){
				.track = i,
				.match = ASSAY_NO_ROW,
				.calls = calls[i] != 0,
				.row = assay_alloc(a, rows[i] * sizeof *lines->p->row)};
	}
	for (uint32_t i = 0; i < h->n; i++)
		if (line[h->track[i]] != ASSAY_NO_ROW) {
			struct line *l = &lines->p[line[h->track[i]]];
			l->row[l->n++] = i;
		}
	for (size_t i = 0; i < lines->n; i++)
		assay_sort_spans(lines->p[i].row, lines->p[i].n, h->ts, h->dur);
}

/* "hlo_op" among the arguments; empty when not there. */
static assay_str operator_of(const assay_run *run, uint32_t h)
{
	static const char key[] = "\"hlo_op\": \"";
	const uint32_t *args = run->part.t.host.args;
	assay_str text = args ? assay_text(run, args[h]) : (assay_str){"", 0};
	ptrdiff_t at = assay_str_find(text, key);
	if (at < 0)
		return (assay_str){"", 0};
	assay_str rest = {text.p + at + sizeof key - 1, text.n - (size_t)at - (sizeof key - 1)};
	return assay_str_cut(&rest, '"');
}

static bool lies_in(const assay_run *run, uint32_t call, const uint32_t *open, size_t n)
{
	const assay_host_table *h = &run->part.t.host;
	assay_str name = operator_of(run, call);
	int64_t end = assay_host_end(h, call);
	while (n-- > 0)
		if (h->ts[open[n]] + h->dur[open[n]] >= end &&
		    (!name.n || assay_str_eq(assay_text(run, h->name[open[n]]), name)))
			return true;
	return false;
}

/* Do all calls of one line lie in spans of the other? */
static bool fits(const assay_run *run, const struct line *calls, const struct line *spans)
{
	const assay_host_table *h = &run->part.t.host;
	assay_vec(uint32_t) open = {0};
	size_t next = 0;
	bool all = true;
	for (size_t i = 0; all && i < calls->n; i++) {
		uint32_t call = calls->row[i];
		for (; next < spans->n && h->ts[spans->row[next]] <= h->ts[call]; next++) {
			uint32_t row = spans->row[next];
			while (open.n &&
			       h->ts[open.p[open.n - 1]] + h->dur[open.p[open.n - 1]] <= h->ts[row])
				open.n--;
			*assay_push(&open) = row;
		}
		while (open.n &&
		       h->ts[open.p[open.n - 1]] + h->dur[open.p[open.n - 1]] < h->ts[call])
			open.n--;
		all = lies_in(run, call, open.p, open.n);
	}
	assay_vec_free(&open);
	return all;
}

/* A line that could belong to two belongs to none. */
static void match(const assay_run *run, line_list *lines)
{
	enum { MANY = 512 };
	for (uint32_t a = 0; lines->n <= MANY && a < lines->n; a++) {
		uint32_t found = 0, with = ASSAY_NO_ROW;
		for (uint32_t b = 0; lines->p[a].calls && b < lines->n; b++)
			if (!lines->p[b].calls && fits(run, &lines->p[a], &lines->p[b])) {
				found++;
				with = b;
			}
		if (found == 1)
			lines->p[a].match = with;
	}
}

static bool is_taken_twice(const line_list *lines, uint32_t match)
{
	size_t taken = 0;
	for (size_t i = 0; i < lines->n; i++)
		taken += lines->p[i].match == match;
	return taken > 1;
}

bool assay_threads_of_lines(const assay_run *run, uint32_t *thread)
{
	const assay_tables *t = &run->part.t;
	bool any = false;
	for (uint32_t i = 0; i < t->track.n; i++)
		thread[i] = i;
	for (uint32_t source = 0; source < t->source.n; source++) {
		line_list lines = {0};
		assay_arena a = {0};
		if (!assay_has_trait(run, source, ASSAY_TRAIT_PLANES))
			continue;
		take_lines(t, source, &a, &lines);
		match(run, &lines);
		for (size_t i = 0; i < lines.n; i++) {
			const struct line *l = &lines.p[i];
			if (l->match == ASSAY_NO_ROW || is_taken_twice(&lines, l->match))
				continue;
			thread[l->track] = lines.p[l->match].track;
			any = true;
		}
		assay_vec_free(&lines);
		assay_arena_free(&a);
	}
	return any;
}

void assay_join_lines(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_arena a = {0};
	uint32_t *thread = assay_alloc(&a, (t->track.n + 1) * sizeof *thread);
	if (assay_threads_of_lines(run, thread))
		for (size_t h = 0; h < t->host.n; h++)
			t->host.track[h] = thread[t->host.track[h]];
	assay_arena_free(&a);
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

TEST(who_asks_what_a_thread_did_sees_calls_and_spans_on_one_line)
{
	assay_run *run = two_threads("\"hlo_op\": \"conv\"");
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->track[2] != h->track[1]); /* scopes move nothing */
	assay_join_lines(run);
	CHECK_EQ(h->track[2], h->track[1]);
	assay_run_free(run);
	return 0;
}

/* A line with a, b and c in b; another one whose only span is over early. Calls that end so long
 * after they began: their scopes. */
static const char *scopes_of_calls(int64_t dur)
{
	static const int64_t starts[] = {5, 32, 50};
	assay_run *run = assay_run_new();
	uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
	run->part.t.source.traits[s] = ASSAY_TRAIT_PLANES;
	run->part.source = s;
	add_span(run, ASSAY_HOST_ANNOTATION, -5, "a", 0, 20, "");
	add_span(run, ASSAY_HOST_ANNOTATION, -5, "b", 20, 40, "");
	add_span(run, ASSAY_HOST_ANNOTATION, -5, "c", 30, 10, "");
	add_span(run, ASSAY_HOST_ANNOTATION, -6, "d", 0, 40, "");
	uint32_t first = (uint32_t)run->part.t.host.n;
	for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++)
		add_span(run, ASSAY_HOST_RUNTIME, API, "hipModuleLaunchKernel", starts[i], dur, "");
	assay_scopes(run, NULL);
	static char names[4];
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(starts); i++) {
		uint32_t scope = run->part.t.host_scope.scope[first + i];
		names[i] =
			scope == ASSAY_NO_ROW ? '-' : *assay_z(run, run->part.t.scope.name[scope]);
	}
	assay_run_free(run);
	return names;
}

TEST(each_call_of_a_line_joins_what_is_open_at_its_time)
{
	CHECK(!strcmp(scopes_of_calls(5), "acb"));
	CHECK(!strcmp(scopes_of_calls(10), "acb")); /* the second is over after c, and lies in b */
	CHECK(!strcmp(scopes_of_calls(11), "---")); /* the last one is over after b */
	return 0;
}

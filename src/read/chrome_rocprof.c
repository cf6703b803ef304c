/* results.json of rocprof (the first one, of ROCm up to 6): events without a category whose
 * arguments are the columns of its tables. Times in nanoseconds, devices and streams stand
 * there; which call started what is told by arrows alone (ROCm/rocprofiler, bin/tblextr.py,
 * sqlitedb.py). */
#include <stdlib.h>

#include "base/compare.h"
#include "base/json.h"
#include "base/test.h"
#include "names/calls.h"
#include "read/chrome.h"
#include "read/reader.h"

/* Columns with a place in our tables. X(key, field) */
#define ROCPROF_COLUMNS(X)                                                                         \
	X("BeginNs", begin)                                                                        \
	X("EndNs", end)                                                                            \
	X("dev-id", device)                                                                        \
	X("stream-id", stream)                                                                     \
	X("pid", pid)                                                                              \
	X("tid", tid)

static int64_t *column_of(chrome_rocprof *row, assay_str key)
{
#define X(name, field)                                                                             \
	if (assay_str_is(key, name))                                                               \
		return &row->field;
	ROCPROF_COLUMNS(X)
#undef X
	return NULL;
}

/* Said elsewhere in the row, or nothing. */
static bool is_repeated(assay_str key, assay_str value)
{
	return assay_str_is(key, "Name") || assay_str_is(key, "DurationNs") || !value.n;
}

bool chrome_rocprof_row(const chrome_event *ev, chrome_rocprof *row)
{
	*row = (chrome_rocprof){
		.begin = -1, .end = -1, .device = -1, .stream = -1, .pid = -1, .tid = -1};
	if (ev->cat.n || assay_str_find(ev->args, "\"BeginNs\"") < 0)
		return false;
	assay_json j = assay_json_on(ev->args.p, ev->args.n);
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_text(&j, &value);) {
		int64_t *field = column_of(row, key);
		if (field)
			assay_str_i64(value, field);
		else if (!is_repeated(key, value) && row->kept_n < CHROME_ROCPROF_KEPT)
			row->kept[row->kept_n++] =
				(assay_str){key.p - 1, (size_t)(value.p + value.n + 1 - key.p) + 1};
	}
	return row->begin >= 0 && row->end >= row->begin;
}

/* ------------------------------------------------------------------ arrows to launches */

typedef struct arrow {
	int64_t from, to; /* us */
	int64_t thread, stream;
	uint64_t id;
} arrow;

/* Rows of a thread or stream in order of time. */
typedef struct line_row {
	int64_t line, ts, end; /* ts and end in us */
	uint32_t row;
} line_row;

typedef assay_vec(line_row) line_rows;

typedef struct linker {
	assay_run *run;
	line_rows calls, work;
	uint64_t last_id; /* arrow before this one */
	size_t last_call; /* its call, in calls */
} linker;

static int by_line_and_start(const void *a, const void *b)
{
	const line_row *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->line, y->line),
			  assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(x->row, y->row)));
}

static int by_id(const void *a, const void *b)
{
	const arrow *x = a, *y = b;
	return ASSAY_CMP(x->id, y->id);
}

/* First row of the line that starts at ts or later. */
static size_t lower(const line_rows *v, int64_t line, int64_t ts)
{
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const line_row *r = &v->p[mid];
		if (r->line < line || (r->line == line && r->ts < ts))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool fits(const linker *l, const line_row *call, uint8_t work)
{
	assay_str name = assay_text(l->run, l->run->part.t.host.name[call->row]);
	assay_call_meaning m = assay_call_meaning_of(name.p, name.n);
	switch (work) {
	case ASSAY_GPU_MEMCPY:
		return m.does == ASSAY_DOES_COPY || m.does == ASSAY_DOES_PREFETCH;
	case ASSAY_GPU_MEMSET:
		return m.does == ASSAY_DOES_MEMSET;
	default:
		return m.does == ASSAY_DOES_LAUNCH || m.does == ASSAY_DOES_GRAPH;
	}
}

/* An arrow leaves the middle of its call, unless the work began before that: then it leaves where
 * it ends, and the call is the next one that does such work. Arrows have the order of calls. */
static size_t call_of(const linker *l, const arrow *a, uint8_t work)
{
	size_t i = lower(&l->calls, a->thread, a->from + 1);
	bool moved = a->from == a->to;
	if (!moved && i && l->calls.p[i - 1].line == a->thread && l->calls.p[i - 1].end >= a->from)
		return i - 1;
	bool follows = l->last_call < l->calls.n && a->id == l->last_id + 1 &&
		       l->calls.p[l->last_call].line == a->thread;
	i = follows ? l->last_call + 1 : lower(&l->calls, a->thread, a->from);
	while (i < l->calls.n && l->calls.p[i].line == a->thread && !fits(l, &l->calls.p[i], work))
		i++;
	return i < l->calls.n && l->calls.p[i].line == a->thread ? i : l->calls.n;
}

static void link_arrow(linker *l, const arrow *a)
{
	assay_tables *t = &l->run->part.t;
	size_t w = lower(&l->work, a->stream, a->to);
	while (w < l->work.n && l->work.p[w].line == a->stream && l->work.p[w].ts == a->to &&
	       t->gpu.corr[l->work.p[w].row] != CHROME_ROCPROF_CORR)
		w++;
	if (w == l->work.n || l->work.p[w].line != a->stream || l->work.p[w].ts != a->to)
		return;
	uint32_t g = l->work.p[w].row;
	size_t c = call_of(l, a, t->gpu.kind[g]);
	l->last_id = a->id;
	l->last_call = c;
	if (c == l->calls.n)
		return;
	uint64_t *corr = &t->api.corr[t->host.detail[l->calls.p[c].row]];
	if (!*corr)
		*corr = a->id + 1;
	t->gpu.corr[g] = *corr;
}

static line_row line_row_of(const assay_tables *t, uint32_t track, int64_t ts, int64_t dur,
			    size_t row)
{
	return (line_row){t->track.tid[track], ts / 1000, (ts + dur) / 1000, (uint32_t)row};
}

static void gather_work(linker *l, size_t first)
{
	const assay_tables *t = &l->run->part.t;
	const assay_gpu_table *g = &t->gpu;
	for (size_t i = first; i < g->n; i++)
		if (g->corr[i] == CHROME_ROCPROF_CORR)
			*assay_push(&l->work) = line_row_of(t, g->track[i], g->ts[i], g->dur[i], i);
}

static void gather_calls(linker *l, size_t first)
{
	const assay_tables *t = &l->run->part.t;
	const assay_host_table *h = &t->host;
	for (size_t i = first; i < h->n; i++)
		if (h->kind[i] == ASSAY_HOST_RUNTIME)
			*assay_push(&l->calls) =
				line_row_of(t, h->track[i], h->ts[i], h->dur[i], i);
}

static void sort_lines(line_rows *v)
{
	if (v->n)
		qsort(v->p, v->n, sizeof *v->p, by_line_and_start);
}

/* Both ends of an arrow stand next to each other. */
static void link_flows(linker *l, size_t first_flow)
{
	const assay_tables *t = &l->run->part.t;
	const assay_flow_table *f = &t->flow;
	assay_vec(arrow) arrows = {0};
	for (size_t i = first_flow; i + 1 < f->n; i++)
		if (f->phase[i] == 's' && f->phase[i + 1] != 's' && f->id[i] == f->id[i + 1])
			*assay_push(&arrows) = (arrow){f->ts[i] / 1000, f->ts[i + 1] / 1000,
						       t->track.tid[f->track[i]],
						       t->track.tid[f->track[i + 1]], f->id[i]};
	if (arrows.n)
		qsort(arrows.p, arrows.n, sizeof *arrows.p, by_id);
	l->last_call = l->calls.n;
	for (size_t i = 0; i < arrows.n; i++)
		link_arrow(l, &arrows.p[i]);
	assay_vec_free(&arrows);
}

void chrome_link_rocprof(assay_run *run, size_t first_host, size_t first_gpu, size_t first_flow)
{
	linker l = {.run = run};
	assay_gpu_table *g = &run->part.t.gpu;
	gather_work(&l, first_gpu);
	if (l.work.n) {
		gather_calls(&l, first_host);
		sort_lines(&l.work);
		sort_lines(&l.calls);
		link_flows(&l, first_flow);
	}
	for (size_t i = 0; i < l.work.n; i++)
		if (g->corr[l.work.p[i].row] == CHROME_ROCPROF_CORR) {
			g->corr[l.work.p[i].row] = 0;
			assay_count(&run->part, ASSAY_ISSUE_zero_correlation, 1);
		}
	assay_vec_free(&l.calls);
	assay_vec_free(&l.work);
}

#define CALL(name, begin, end)                                                                     \
	",{\"ph\":\"X\",\"name\":\"" name                                                          \
	"\",\"pid\":\"2\",\"tid\":\"70\",\"ts\":\"1\",\"dur\":\"1\",\n \"args\":{\n"               \
	" \"BeginNs\":\"" begin "\",\"EndNs\":\"" end                                              \
	"\",\"pid\":\"77\",\"tid\":\"70\",\"Name\":\"" name                                        \
	"\",\"args\":\"( size(4))\",\"Data\":\"\",\"DurationNs\":\"9\"\n  }\n}\n"
#define WORK(name, pid, stream, begin, end)                                                        \
	",{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":\"" pid "\",\"tid\":\"" stream               \
	"\",\"ts\":\"1\",\"dur\":\"1\",\n \"args\":{\n \"BeginNs\":\"" begin "\",\"EndNs\":\"" end \
	"\",\"dev-id\":\"4\",\"queue-id\":\"3\",\"Name\":\"" name                                  \
	"\",\"pid\":\"77\",\"tid\":\"70\",\"stream-id\":\"" stream                                 \
	"\",\"Data\":\"\",\"DurationNs\":\"9\"}}\n"
#define ARROW(id, from, pid, stream, to)                                                           \
	",{\"ts\":" from ",\"ph\":\"s\",\"cat\":\"DataFlow\",\"id\":" id                           \
	",\"pid\":2,\"tid\":70,\"name\":\"dep\"}\n"                                                \
	",{\"ts\":" to ",\"ph\":\"t\",\"cat\":\"DataFlow\",\"id\":" id ",\"pid\":" pid             \
	",\"tid\":" stream ",\"name\":\"dep\"}\n"

TEST(rows_of_the_first_rocprof_are_calls_and_work)
{
	/* clang-format off */
	static const char text[] =
		"{ \"traceEvents\":[{}\n"
		",{\"args\":{\"name\":\"CPU HIP API\"},\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"sort_index\":0}\n"
		WORK("CopyHostToDevice", "1", "0", "100250", "200300")
		WORK("CopyHostToDevice", "1", "0", "210000", "220000")
		WORK("k(int)", "10", "1", "500123", "600456")
		CALL("hipMemcpy", "50000", "205000")
		CALL("hipMemcpy", "206000", "230000")
		CALL("hipLaunchKernel", "300000", "302000")
		CALL("a range", "290000", "700000")
		ARROW("0", "77", "1", "0", "100")
		ARROW("1", "210", "1", "0", "210")
		ARROW("5", "301", "10", "1", "500")
		"]}";
	/* clang-format on */
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	const assay_tables *t = &run->part.t;
	const assay_gpu_table *g = &t->gpu;
	CHECK(g->n == 3 && t->host.n == 4 && g->ts[2] == 500123 && g->dur[2] == 100333);
	CHECK(g->kind[0] == ASSAY_GPU_MEMCPY && g->kind[2] == ASSAY_GPU_KERNEL);
	CHECK(t->track.pid[g->track[2]] == 4 && t->track.tid[g->track[2]] == 1);
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->host.kind[3] == ASSAY_HOST_MARKER);
	CHECK(t->track.pid[t->host.track[0]] == 77 && t->track.tid[t->host.track[0]] == 70);
	CHECK(assay_str_is(assay_text(run, t->host.args[0]), "\"args\":\"( size(4))\""));
	for (int i = 0; i < 3;
	     i++) /* the second copy's arrow was moved into the first one's call */
		CHECK(g->corr[i] && g->corr[i] == t->api.corr[t->host.detail[i]]);
	CHECK(g->corr[0] != g->corr[1] && !run->part.issues[ASSAY_ISSUE_zero_correlation]);
	assay_run_free(run);
	return 0;
}

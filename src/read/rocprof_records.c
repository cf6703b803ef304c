/* Records of results.json by several threads. Writers put them one behind the other as ,{...}:
 * where they stand like that, windows of the text are parsed at the same time (base/pump.h), and
 * what they say becomes rows in order. Whatever else stands there ends this and is left to the
 * cursor, so that rows and complaints do not depend on the number of threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/pump.h"
#include "base/test.h"
#include "read/reader.h"
#include "read/rocprof_process.h"

enum {
	RECORDS_MAX = 1 << 14, /* of a window: what is shorter than any writer's is not held */
};

typedef struct worker {
	_Alignas(128) assay_vec(assay_rocprof_record) records; /* no line of another worker's */
	assay_vec(char) raw; /* texts of the records, one behind the other */
	uint32_t odd;
} worker;

typedef struct crew {
	assay_rocprof_process *p;
	assay_rocprof_parser *parse;
	assay_rocprof_take *take;
	assay_str buffer;
	worker worker[ASSAY_THREADS_MAX];
} crew;

/* Every record begins with its size; what is inside of one and does too stands behind a key. */
static size_t align(void *ctx, const char *text, size_t n)
{
	(void)ctx;
	ptrdiff_t at = assay_str_find((assay_str){text, n}, "},{\"size\":");
	return at < 0 ? n : (size_t)at + 1;
}

static void keep_raw(worker *w, const assay_rocprof_record *r)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(r->raw); i++) {
		if (!r->raw[i].n)
			continue;
		assay_vec_reserve(&w->raw, w->raw.n + r->raw[i].n + ASSAY_PAD);
		memcpy(w->raw.p + w->raw.n, r->raw[i].p, r->raw[i].n);
		w->raw.n += r->raw[i].n;
	}
}

static assay_pump_status parse(void *ctx, unsigned n, assay_view v, size_t limit, uint64_t pos,
			       size_t *used)
{
	crew *c = ctx;
	worker *w = &c->worker[n];
	(void)pos;
	for (*used = 0; *used < limit;) {
		const char *at = v.p + *used;
		if (v.n - *used < 2)
			return ASSAY_PUMP_MORE;
		if (at[0] != ',' || at[1] != '{' || w->records.n == RECORDS_MAX)
			return ASSAY_PUMP_END;
		assay_json j = assay_json_on(at + 1, v.n - *used - 1);
		assay_rocprof_record *r = assay_push(&w->records);
		if (!c->parse(&j, r) || !assay_json_ok(&j)) {
			w->records.n--;
			return j.cut ? ASSAY_PUMP_MORE : ASSAY_PUMP_END;
		}
		keep_raw(w, r);
		w->odd |= j.odd;
		*used = (size_t)(j.p - v.p);
	}
	return ASSAY_PUMP_LIMIT;
}

static void discard(void *ctx, unsigned n)
{
	worker *w = &((crew *)ctx)->worker[n];
	w->records.n = w->raw.n = w->odd = 0;
}

static void commit(void *ctx, unsigned n)
{
	crew *c = ctx;
	worker *w = &c->worker[n];
	const assay_run *run = c->p->run;
	char *text = w->raw.p;
	for (size_t k = 0; k < w->records.n; k++) {
		assay_rocprof_record *r = &w->records.p[k];
		for (size_t i = 0; i < ASSAY_COUNT_OF(r->raw); i++)
			if (r->raw[i].n) {
				r->raw[i].p = text;
				text += r->raw[i].n;
			}
		assay_rocprof_add(c->p, c->take, r, c->buffer);
	}
	c->p->s->j.odd |= w->odd;
	discard(c, n);
	if (run->progress)
		run->progress(run->progress_ctx, assay_input_path(c->p->s->in),
			      assay_input_file_pos(c->p->s->in),
			      assay_input_file_bytes(c->p->s->in));
}

void assay_rocprof_read_ahead(assay_rocprof_process *p, assay_rocprof_take *take, assay_str buffer)
{
	unsigned threads = assay_run_threads(p->run);
	if (threads < 2 || p->s->j.end - p->s->j.p < 2 || memcmp(p->s->j.p, ",{", 2) != 0)
		return;
	crew c = {.p = p, .parse = assay_rocprof_record_parser(), .take = take, .buffer = buffer};
	uint64_t end = assay_pump_run(&(assay_pump){.in = p->s->in,
						    .start = assay_json_stream_pos(p->s),
						    .threads = threads,
						    .ctx = &c,
						    .align = align,
						    .parse = parse,
						    .commit = commit,
						    .discard = discard});
	assay_json_stream_go(p->s, end);
	for (unsigned i = 0; i < ASSAY_THREADS_MAX; i++) {
		assay_vec_free(&c.worker[i].records);
		assay_vec_free(&c.worker[i].raw);
	}
}

/* ---- tests ---- */

#define PUT(text, ...) ((text)->n += (size_t)snprintf((text)->p + (text)->n, 400, __VA_ARGS__))

typedef assay_vec(char) test_text;

/* Kernels and calls as the writer has them, and now and then what it never writes. */
static void make_records(test_text *t, int records)
{
	static const char *const odd[] = {"17", "{\"size\":\"x\",\"kind\":null}", " {}",
					  "{\"a\" 1}", "{\"kind\":01}"};
	assay_vec_reserve(t, (size_t)records * 400 + 4096);
	PUT(t, "{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{\"kernel_dispatch\":[");
	for (int i = 0; i < records; i++) {
		if (i % 3001 == 2999)
			PUT(t, "%s,", odd[i / 3001 % ASSAY_COUNT_OF(odd)]);
		PUT(t,
		    "{\"size\":184,\"kind\":11,\"thread_id\":%d,\"correlation_id\":{\"internal\":%d,\"external\":0},\"start_timestamp\":%d,\"end_timestamp\":%d,\"dispatch_info\":{\"size\":72,\"agent_id\":{\"handle\":%d},\"kernel_id\":%d}},",
		    i % 7, i, 1000 + i * 10, 1005 + i * 10 + i % 5, i % 3, i % 90);
	}
	t->n--;
	PUT(t, "],\"hip_api\":[");
	for (int i = 0; i < records; i++)
		PUT(t,
		    "{\"size\":1,\"kind\":1,\"operation\":%d,\"start_timestamp\":%d,\"end_timestamp\":%d,\"args\":[{\"size\":1,\"name\":\"n\",\"value\":\"%d\"},{\"size\":2,\"name\":\"m\",\"value\":{\"size\":3}}],\"retval\":%d},",
		    i % 30, 1 + i, 2 + i, i % 300, i % 2);
	t->n--;
	PUT(t, "]}}]}");
}

static uint64_t sum_of(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t sum = t->source.records[0];
	for (size_t i = 0; i < t->gpu.n; i++) {
		assay_str name = assay_text(run, t->gpu.name[i]);
		int64_t v[] = {t->gpu.ts[i], t->gpu.dur[i], (int64_t)t->gpu.corr[i],
			       t->track.pid[t->gpu.track[i]]};
		sum = assay_hash(v, sizeof v, assay_hash(name.p, name.n, sum));
	}
	for (size_t i = 0; i < t->host.n; i++) {
		assay_str args = assay_text(run, t->host.args[i]);
		int64_t v[] = {t->host.ts[i], t->host.dur[i], t->host.name[i]};
		sum = assay_hash(v, sizeof v, assay_hash(args.p, args.n, sum));
	}
	return assay_hash(run->part.issues, sizeof run->part.issues, sum);
}

TEST(records_of_results_json_read_the_same_with_any_number_of_threads)
{
	enum { RECORDS = 20000 };
	static const char *const threads[] = {"1", "2", "3", "7"};
	test_text text = {0};
	make_records(&text, RECORDS);
	uint64_t first = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(threads); i++) {
		setenv("ASSAY_THREADS", threads[i], 1);
		assay_run *run = assay_read_bytes(&assay_reader_rocprof_json, text.p, text.n);
		CHECK_EQ(run->part.t.gpu.n, RECORDS);
		CHECK_EQ(run->part.t.host.n, RECORDS);
		CHECK(run->part.issues[ASSAY_ISSUE_bad_record] > 0);
		first = i ? first : sum_of(run);
		CHECK_EQ(sum_of(run), first);
		assay_run_free(run);
	}
	unsetenv("ASSAY_THREADS");
	assay_vec_free(&text);
	return 0;
}

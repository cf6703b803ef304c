/* Writers give the same bytes with any number of threads; no code of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "write/csv.h"
#include "write/writer.h"

#ifdef ASSAY_TEST

enum { ROWS = 20000 };

/* Paths that rows of both kinds share, met in different orders. */
static void add_scopes(assay_run *run)
{
	enum { SCOPES = 100, DEPTH = 10 };
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < SCOPES; i++) {
		uint32_t s = assay_add(t, ASSAY_T_scope);
		t->scope.id[s] = i + 1;
		t->scope.parent[s] = i % DEPTH ? i : 0;
		t->scope.up[s] = i % DEPTH ? s - 1 : ASSAY_NO_ROW;
		t->scope.name[s] = assay_sid_of(run, "scope");
		t->scope.host[s] = ASSAY_NO_ROW;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host_scope), g = assay_add(t, ASSAY_T_gpu_scope);
		t->host_scope.scope[h] = i * 7 % SCOPES;
		t->gpu_scope.scope[g] = i * 13 % SCOPES;
	}
}

/* Several blocks of every table that is written in blocks. */
static assay_run *many_rows(void)
{
	assay_run *run = assay_run_new();
	assay_part *p = &run->part;
	assay_tables *t = &p->t;
	char args[64];
	p->source = assay_add(t, ASSAY_T_source);
	assay_sid name = assay_sid_of(run, "aten::mul"), flow = assay_sid_of(run, "fwdbwd");
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host), g = assay_add(t, ASSAY_T_gpu);
		uint32_t f = assay_add(t, ASSAY_T_flow), c = assay_add(t, ASSAY_T_counter);
		/* every third is JSON that must be mended */
		snprintf(args, sizeof args, i % 3 ? "\"size\": %u" : "\"size\": NaN%u", i % 100);
		t->host.ts[h] = t->flow.ts[f] = t->counter.ts[c] = 1000 * (int64_t)i;
		t->host.dur[h] = 700;
		t->host.name[h] = name;
		t->host.kind[h] = ASSAY_HOST_OP;
		t->host.detail[h] = assay_add(t, ASSAY_T_op);
		t->op.ev_idx[t->host.detail[h]] = i;
		t->host.args[h] = t->gpu.args[g] = assay_sid_of(run, args);
		t->host.track[h] = t->flow.track[f] = assay_thread_track(p, 9, i % 5);
		t->gpu.ts[g] = 1000 * (int64_t)i + 100;
		t->gpu.dur[g] = 500;
		t->gpu.name[g] = name;
		t->gpu.track[g] = t->counter.track[c] = assay_stream_track(p, 0, i % 3);
		t->flow.cat[f] = t->counter.name[c] = flow;
		t->flow.phase[f] = i % 2 ? 'f' : 's';
		t->flow.id[f] = i / 2;
		t->counter.value[c] = i / 8.0;
	}
	add_scopes(run);
	return run;
}

/* Without a writer: a table as CSV. */
static char *write_with(const assay_run *run, const assay_writer *w, const char *threads, size_t *n)
{
	assay_err err = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, n);
	setenv("ASSAY_THREADS", threads, 1);
	bool ok = out && (!w || assay_write_run(w, run, out, NULL, &err));
	if (out && !w)
		assay_csv_table(run, ASSAY_T_host, out);
	unsetenv("ASSAY_THREADS");
	if (out)
		fclose(out);
	if (ok)
		return text;
	free(text);
	return NULL;
}

TEST(any_number_of_threads_writes_the_same_bytes)
{
	static const assay_writer *const writers[] = {&assay_writer_chrome, &assay_writer_perfetto,
						      &assay_writer_xplane, &assay_writer_rocpd,
						      NULL};
	static const char *const threads[] = {"3", "16"};
	assay_run *run = many_rows();
	for (size_t i = 0; i < ASSAY_COUNT_OF(writers); i++) {
		size_t n, m;
		char *one = write_with(run, writers[i], "1", &n);
		CHECK(one && n > ROWS * 30);
		for (size_t k = 0; k < ASSAY_COUNT_OF(threads); k++) {
			char *more = write_with(run, writers[i], threads[k], &m);
			CHECK(more && n == m && !memcmp(one, more, n));
			free(more);
		}
		free(one);
	}
	assay_run_free(run);
	return 0;
}

#endif

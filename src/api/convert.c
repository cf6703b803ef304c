/* A run in another format: what the writer needs first, then the writer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/captures.h"
#include "analyze/derived.h"
#include "api/query.h"
#include "base/output.h"
#include "base/test.h"
#include "read/reader.h"
#include "resolve/resolve.h"

/* ------------------------------------------------------------------ HTA's names */

/* HTA finds calls by their CUDA names. The names HIP has for itself, and the rule for the rest: hip
 * becomes cuda. */
static const struct {
	const char *hip, *cuda;
} aliases[] = {
	{"hipModuleLaunchKernel", "cudaLaunchKernel"},
	{"hipExtModuleLaunchKernel", "cudaLaunchKernel"},
	{"hipHccModuleLaunchKernel", "cudaLaunchKernel"},
	{"hipExtLaunchKernel", "cudaLaunchKernel"},
	{"hipMemcpyWithStream", "cudaMemcpyAsync"},
	{"hipMemcpyDtoHAsync", "cudaMemcpyAsync"},
	{"hipMemcpyHtoDAsync", "cudaMemcpyAsync"},
	{"hipMemcpyDtoDAsync", "cudaMemcpyAsync"},
	{"hipHostMalloc", "cudaHostAlloc"},
	{"hipHostFree", "cudaFreeHost"},
};

static const char *cuda_name(assay_arena *a, assay_str name)
{
	if (assay_str_ends(name, "_spt"))
		name.n -= 4;
	for (size_t i = 0; i < ASSAY_COUNT_OF(aliases); i++)
		if (assay_str_is(name, aliases[i].hip))
			return aliases[i].cuda;
	return assay_printf(a, "cuda%.*s", (int)(name.n - 3), name.p + 3);
}

static void add_member(assay_run *run, uint32_t h, assay_str name)
{
	assay_host_table *t = &run->part.t.host;
	assay_str args = assay_text(run, t->args[h]);
	t->args[h] = assay_sid_of(run, assay_printf(&run->arena, "%.*s%s\"hip_name\": \"%.*s\"",
						    (int)args.n, args.p, args.n ? ", " : "",
						    (int)name.n, name.p));
}

static void alias_for_hta(assay_run *run)
{
	assay_host_table *t = &run->part.t.host;
	for (uint32_t h = 0; h < t->n; h++) {
		assay_str name = assay_text(run, t->name[h]);
		if (t->kind[h] != ASSAY_HOST_RUNTIME || !assay_str_starts(name, "hip"))
			continue;
		const char *alias = cuda_name(&run->arena, name);
		add_member(run, h, name);
		t->name[h] = assay_sid_of(run, alias);
	}
}

/* ------------------------------------------------------------------ writing */

bool assay_convert_write(const assay_run *run, const assay_writer *w, const char *path,
			 assay_left_out *left, assay_err *err)
{
	assay_output *o = assay_output_open(path, err);
	if (!o)
		return false;
	if (assay_write_run(w, run, assay_output_file(o), left, err))
		return assay_output_close(o, err);
	assay_output_drop(o);
	return false;
}

void assay_convert_prepare(assay_run *run, const assay_writer *w, const assay_convert_query *q)
{
	if (w->needs >= ASSAY_NEEDS_WORK)
		assay_scopes(run, &(assay_scope_opts){.exact = q->exact});
	if (q->exact)
		run->part.t.gpu_captured.n = 0; /* inferred, too */
	else if (w->needs >= ASSAY_NEEDS_WORK)
		assay_explain_programs(run);
	if (w->needs >= ASSAY_NEEDS_DERIVED)
		assay_derive(run);
	run->for_hta = q->hta;
	if (q->hta)
		alias_for_hta(run);
}

bool assay_convert(assay_run *run, const assay_writer *w, const char *path,
		   const assay_convert_query *q, assay_left_out *left, assay_err *err)
{
	assay_convert_prepare(run, w, q);
	return assay_writes_folder(w, path) ? assay_write_folder(w, run, path, left, err)
					    : assay_convert_write(run, w, path, left, err);
}

static bool convert(assay_run *run, const char *path, const assay_convert_query *given,
		    const char **left_out, assay_err *err)
{
	assay_convert_query q;
	assay_left_out left = {0};
	assay_take_opts(&q, sizeof q, given);
	const assay_writer *w = q.format ? assay_writer_named(q.format) : assay_writer_for(path);
	if (!run->analyzed)
		return assay_fail(err, ASSAY_USAGE, 0, "the run was not analyzed yet");
	if (!w)
		return assay_fail(err, ASSAY_USAGE, 0,
				  "neither the name %s nor '%s' says which format to write", path,
				  q.format ? q.format : "");
	bool ok = assay_convert(run, w, path, &q, &left, err);
	if (left_out)
		*left_out = left.text ? assay_dup(&run->arena, assay_str_of(left.text)) : NULL;
	assay_arena_free(&left.arena);
	return ok;
}

bool assay_run_convert(assay_run *run, const char *path, const assay_convert_query *query,
		       const char **left_out, assay_err *err)
{
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = convert(run, path, query, left_out, err);
	assay_leave(&f);
	return ok;
}

TEST(hta_finds_hip_calls_by_cuda_names)
{
	assay_arena a = {0};
	CHECK(!strcmp(cuda_name(&a, ASSAY_S("hipEventRecord")), "cudaEventRecord"));
	CHECK(!strcmp(cuda_name(&a, ASSAY_S("hipStreamWaitEvent_spt")), "cudaStreamWaitEvent"));
	CHECK(!strcmp(cuda_name(&a, ASSAY_S("hipExtModuleLaunchKernel")), "cudaLaunchKernel"));
	assay_arena_free(&a);
	return 0;
}

/* Write a run and read it back. */

/* ------------------------------------------------------------------ tests */

static assay_run *again(const assay_run *run, const char *path)
{
	assay_err err = {0};
	if (!assay_convert_write(run, &assay_writer_chrome, path, NULL, &err))
		return NULL;
	assay_run *back = assay_run_new();
	bool ok = assay_read_path(back, path, &err);
	unlink(path);
	if (ok)
		return back;
	fprintf(stderr, "%s\n", err.text);
	assay_run_free(back);
	return NULL;
}

/* Rows of tracks are numbered as they are met, so tracks compare by what they are. Streams without
 * a name gain one. */
static bool same_track(const assay_run *a, uint32_t x, const assay_run *b, uint32_t y)
{
	const assay_track_table *t = &a->part.t.track, *u = &b->part.t.track;
	if (x == ASSAY_NO_ROW || y == ASSAY_NO_ROW)
		return x == y;
	return t->kind[x] == u->kind[y] && t->pid[x] == u->pid[y] && t->tid[x] == u->tid[y] &&
	       assay_str_eq(assay_text(a, t->process[x]), assay_text(b, u->process[y])) &&
	       (!t->name[x] || assay_str_eq(assay_text(a, t->name[x]), assay_text(b, u->name[y])));
}

/* Calls of HIP gain the fields of their waits behind what they had. */
static bool same_text(const assay_run *a, uint32_t x, const assay_run *b, uint32_t y, bool gains)
{
	assay_str s = assay_text(a, x), t = assay_text(b, y);
	if (gains && t.n > s.n && assay_str_find(t, "\"hip_sync_kind\"") >= 0)
		t.n = s.n;
	return assay_str_eq(s, t);
}

static bool same_cell(const assay_run *a, const void *p, const assay_run *b, const void *q,
		      const assay_col_info *col, size_t row)
{
	const uint32_t *x = p, *y = q;
	size_t width = col->width;
	if (col->kind->type == ASSAY_COL_sid)
		return same_text(a, x[row], b, y[row], !strcmp(col->name, "args"));
	if (col->kind->refers == ASSAY_T_track)
		return same_track(a, x[row], b, y[row]);
	return !memcmp((const char *)p + row * width, (const char *)q + row * width, width);
}

static bool same_table(const assay_run *a, const assay_run *b, assay_table_id id)
{
	const assay_table_info *info = &assay_table_infos[id];
	size_t n = assay_rows(&a->part.t, info), m = assay_rows(&b->part.t, info);
	if (n != m) {
		fprintf(stderr, "%s has %zu rows, then %zu\n", info->name, n, m);
		return false;
	}
	for (size_t c = 0; c < info->cols; c++)
		for (size_t row = 0; row < n; row++) {
			const void *x = assay_values(&a->part.t, info, &info->col[c]);
			const void *y = assay_values(&b->part.t, info, &info->col[c]);
			if (same_cell(a, x, b, y, &info->col[c], row))
				continue;
			fprintf(stderr, "%s.%s differs in row %zu\n", info->name, info->col[c].name,
				row);
			if (info->col[c].kind->type == ASSAY_COL_sid)
				fprintf(stderr, "  %s\n  %s\n",
					assay_z(a, ((const uint32_t *)x)[row]),
					assay_z(b, ((const uint32_t *)y)[row]));
			return false;
		}
	return true;
}

static const assay_table_id read_tables[] = {
	ASSAY_T_meta,  ASSAY_T_device,  ASSAY_T_host,  ASSAY_T_op,   ASSAY_T_api,
	ASSAY_T_frame, ASSAY_T_other,   ASSAY_T_gpu,   ASSAY_T_sync, ASSAY_T_mark,
	ASSAY_T_flow,  ASSAY_T_counter, ASSAY_T_alloc, ASSAY_T_raw,  ASSAY_T_stream,
};

static bool survives(const char *path)
{
	assay_err err = {0};
	assay_run *run = assay_run_new(), *back = NULL;
	bool same = assay_read_path(run, path, &err) && assay_run_analyze(run, NULL, &err);
	if (same)
		back = again(run, assay_test_path("again.json.gz"));
	same = same && back;
	for (size_t i = 0; same && i < ASSAY_COUNT_OF(read_tables); i++) {
		bool made = read_tables[i] == ASSAY_T_flow && !run->part.t.flow.n;
		same = made || same_table(run, back, read_tables[i]);
	}
	if (!same)
		fprintf(stderr, "%s %s\n", path, err.text);
	assay_run_free(run);
	assay_run_free(back);
	return same;
}

TEST(a_trace_written_and_read_again_is_the_same)
{
	if (access("demo/train.json.gz", R_OK))
		return 77;
	CHECK(survives("demo/train.json.gz"));
	return 0;
}

TEST(traces_of_the_corpus_written_and_read_again_are_the_same)
{
	static const char *const files[] = {
		"hta/critical_path/alexnet.json.gz",
		"hta/critical_path/simple_add.json.gz",
		"hta/critical_path/cuda_event_sync.json.gz",
		"hta/critical_path/cuda_event_sync_multi_stream.json.gz",
		"hta/nccl_data.json.gz",
		"hta/sampled_rank-1.json.gz",
		"hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
		"hta/cpu_only.json.gz",
		"hta/df_index_resolver.json.gz",
		"h200/ddp_rank0.json.gz",
		"tracelens/mi300/resnet_act_checkpoint.json.gz",
		"tracelens/mi300/qwen1.5-0.5b.json.gz",
		"tracelens/h100/qwen1.5-0.5b.json.gz",
		"tracelens/mi210/gpu_only_trace.json.gz",
		"tracelens/torch_compile_triton.json.gz",
		"tracelens/vllm_decode_graph.json.gz",
	};
	const char *corpus = getenv("ASSAY_CORPUS") ? getenv("ASSAY_CORPUS") : "../shared/data";
	assay_arena a = {0};
	if (access(corpus, R_OK))
		return 77;
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++)
		CHECK(survives(assay_printf(&a, "%s/%s", corpus, files[i])));
	assay_arena_free(&a);
	return 0;
}

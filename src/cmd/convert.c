/* assay convert: from any format we read to any format we write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/derived.h"
#include "base/output.h"
#include "base/test.h"
#include "cmd/cmd.h"
#include "read/reader.h"
#include "write/csv.h"
#include "resolve/resolve.h"
#include "write/writer.h"

struct convert_args {
	const char *to;
	bool hta, exact;
};

/* ------------------------------------------------------------------ choosing a writer */

static const assay_writer *writer_named(const char *name)
{
	for (size_t i = 0; i < assay_writer_count; i++)
		if (!strcmp(assay_writers[i]->name, name))
			return assay_writers[i];
	return NULL;
}

static const assay_writer *writer_for(const char *path)
{
	assay_str s = assay_str_of(path);
	if (assay_str_ends(s, ".gz"))
		s.n -= 3;
	else if (assay_str_ends(s, ".zst"))
		s.n -= 4;
	for (size_t i = 0; i < assay_writer_count; i++)
		for (size_t k = 0; k < 4 && assay_writers[i]->exts[k]; k++)
			if (assay_str_ends(s, assay_writers[i]->exts[k]))
				return assay_writers[i];
	return NULL;
}

/* Tables go into a folder, one file each. */
static bool wants_tables(const struct convert_args *a, const char *path)
{
	return a->to ? !strcmp(a->to, "csv") : assay_str_ends(assay_str_of(path), "/");
}

static void list_writers(void)
{
	for (size_t i = 0; i < assay_writer_count; i++) {
		const assay_writer *w = assay_writers[i];
		fprintf(stderr, "  --to %-15s %-20s %s\n", w->name, w->exts[0] ? w->exts[0] : "",
			w->about);
	}
	fprintf(stderr, "  --to %-15s %-20s %s\n", "csv", "folder/",
		"every table as comma-separated values, one file each");
}

static const assay_writer *choose_writer(const struct convert_args *a, const char *path)
{
	const assay_writer *w = a->to ? writer_named(a->to) : writer_for(path);
	if (w)
		return w;
	if (a->to)
		fprintf(stderr, "assay convert: no format is called '%s'; there are:\n", a->to);
	else
		fprintf(stderr,
			"assay convert: the name %s does not say which format to write; use --to, "
			"or one of these ends (.gz and .zst compress):\n",
			path);
	list_writers();
	return NULL;
}

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

/* ------------------------------------------------------------------ command */

static bool write_run(const assay_run *run, const assay_writer *w, const char *path,
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

static const char *table_path(assay_arena *a, const char *folder, assay_table_id id)
{
	return assay_printf(a, "%s/%s.csv", folder, assay_table_infos[id].name);
}

static const char *columns_path(assay_arena *a, const char *folder)
{
	return assay_printf(a, "%s/columns.csv", folder);
}

static bool tables_hit_input(const assay_run *run, const char *folder)
{
	assay_arena a = {0};
	bool hit = assay_cmd_is_input(run, "convert", folder) ||
		   assay_cmd_is_input(run, "convert", columns_path(&a, folder));
	for (assay_table_id id = 0; !hit && id < ASSAY_T_COUNT; id++)
		hit = assay_cmd_is_input(run, "convert", table_path(&a, folder, id));
	assay_arena_free(&a);
	return hit;
}

/* One file of the folder: a table, or what all columns are when there is none. */
static bool write_csv(const assay_run *run, assay_table_id id, const char *path, assay_err *err)
{
	assay_output *o = assay_output_open(path, err);
	if (!o)
		return false;
	if (id == ASSAY_T_NONE)
		assay_csv_columns(assay_output_file(o));
	else
		assay_csv_table(run, id, assay_output_file(o));
	return assay_output_close(o, err);
}

static bool write_tables(const assay_run *run, const char *folder, assay_err *err)
{
	assay_arena a = {0};
	bool ok = mkdir(folder, 0777) == 0 || errno == EEXIST ||
		  assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", folder, strerror(errno));
	ok = ok && write_csv(run, ASSAY_T_NONE, columns_path(&a, folder), err);
	for (assay_table_id id = 0; ok && id < ASSAY_T_COUNT; id++)
		if (assay_rows(&run->part.t, &assay_table_infos[id]))
			ok = write_csv(run, id, table_path(&a, folder, id), err);
	assay_arena_free(&a);
	return ok;
}

/* Ranks keep rows of their own in viewers, but a file has one rank, and its steps are all of one.
 */
static void say_joined(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_map seen = {0};
	for (size_t i = 0; i < t->gpu.n; i++)
		*assay_map_at(&seen, assay_group_of(t, t->track.source[t->gpu.track[i]])) = 1;
	if (seen.n > 1)
		fprintf(stderr,
			"assay: %zu traces go into one file; tools that take a file for a rank "
			"take them for one\n",
			(size_t)seen.n);
	assay_map_free(&seen);
}

static bool write_and_tell(const assay_run *run, const assay_writer *w, const char *out,
			   assay_err *err)
{
	assay_left_out left = {0};
	bool ok = write_run(run, w, out, &left, err);
	if (ok && left.text)
		fprintf(stderr, "assay: not written, for %s has no place for it: %s\n", w->name,
			left.text);
	if (ok)
		say_joined(run);
	assay_arena_free(&left.arena);
	return ok;
}

static int convert_run(const void *args, char **operands, int n)
{
	const struct convert_args *a = args;
	const char *out = operands[n - 1];
	bool tables = wants_tables(a, out);
	const assay_writer *w = tables ? NULL : choose_writer(a, out);
	if (!w && !tables)
		return ASSAY_EXIT_USAGE;
	if (tables && !strcmp(out, "-")) {
		fprintf(stderr, "assay convert: tables go into a folder, not to standard output\n");
		return ASSAY_EXIT_USAGE;
	}
	assay_run *run = assay_cmd_analyse(operands, n - 1);
	if (!run)
		return ASSAY_EXIT_FAIL;
	if (tables ? tables_hit_input(run, out) : assay_cmd_is_input(run, "convert", out)) {
		assay_run_free(run);
		return ASSAY_EXIT_USAGE;
	}
	assay_scopes(run, &(assay_scope_opts){.exact = a->exact});
	if (tables || w == &assay_writer_xplane_grouped)
		assay_derive(run);
	if (a->hta)
		alias_for_hta(run);
	assay_err err = {0};
	bool ok = tables ? write_tables(run, out, &err) : write_and_tell(run, w, out, &err);
	if (!ok)
		assay_cmd_error(&err);
	assay_run_free(run);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt convert_opts[] = {
	{"to", 0, ASSAY_OPT_TEXT, "FORMAT",
	 "Format to write when OUT's name does not say it: chrome, perfetto, xplane, "
	 "xplane-grouped or csv.",
	 offsetof(struct convert_args, to)},
	{"hta", 0, ASSAY_OPT_FLAG, NULL,
	 "Give HIP calls their CUDA names, by which HTA finds them.",
	 offsetof(struct convert_args, hta)},
	{"exact", 0, ASSAY_OPT_FLAG, NULL,
	 "Write no scopes that are inferred (see scopes --exact).",
	 offsetof(struct convert_args, exact)},
};

static const assay_example convert_examples[] = {
	{"assay convert demo/train.json.gz /tmp/assay-example.json.gz",
	 "the same trace with waits resolved, arrows and rows of their own"},
	{"assay convert demo/train.json.gz /tmp/assay-example.pftrace", "for ui.perfetto.dev"},
	{"assay convert demo/train.json.gz /tmp/assay-example.xplane.pb",
	 "for <logdir>/plugins/profile/<run>/ of xprof"},
	{"assay convert --to csv demo/train.json.gz /tmp/assay-example", "for a spreadsheet"},
	{"assay convert --to chrome demo/train.json.gz -", "to standard output"},
};

const assay_cmd assay_cmd_convert = {
	.name = "convert",
	.args = "INPUT... OUT",
	.about = "Write a run in another format",
	.details =
		"Reads INPUTs in any format assay knows and writes them as OUT: Chrome/Kineto "
		"JSON (.json) for\n"
		"Perfetto, HTA and TraceLens, Perfetto's own format (.pftrace), XPlane "
		"(.xplane.pb) for xprof and\n"
		"TensorBoard, or tables as CSV, one file each, in the folder OUT (a name that ends "
		"in /, or --to csv).\n"
		"A name that ends in .gz or .zst is compressed; - is standard output and needs "
		"--to.\n"
		"\n"
		"XPlane comes in two modes: --to xplane leaves steps, arrows and derived rows to "
		"xprof, --to\n"
		"xplane-grouped (.grouped.xplane.pb) writes them, and xprof shows them as they "
		"are.\n"
		"\n"
		"Everything that was read is written, times exact to the nanosecond; what the "
		"format has no place\n"
		"for is named on standard error. Added are the waits as assay resolves them: "
		"cuda_sync rows on rows\n"
		"of their own, arrows from the work waited for (category stream_dep), and the "
		"fields of HIP waits.\n"
		"\n"
		"OUT appears whole or not at all: it gets its name when everything is written.",
	ASSAY_OPTS(convert_opts),
	ASSAY_EXAMPLES(convert_examples),
	.args_size = sizeof(struct convert_args),
	.min_operands = 2,
	.max_operands = -1,
	.run = convert_run,
};

/* ------------------------------------------------------------------ tests */

TEST(the_end_of_the_name_chooses_the_format)
{
	CHECK(writer_for("a/b.json") == &assay_writer_chrome);
	CHECK(writer_for("b.json.gz") == &assay_writer_chrome);
	CHECK(writer_for("b.json.zst") == &assay_writer_chrome);
	CHECK(!writer_for("b.txt") && !writer_for("b.gz") && !writer_for("-"));
	CHECK(writer_named("chrome") && !writer_named("nothing"));
	return 0;
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
static assay_run *again(const assay_run *run, const char *path)
{
	assay_err err = {0};
	if (!write_run(run, &assay_writer_chrome, path, NULL, &err))
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
		back = again(run, "/tmp/assay-convert-test.json.gz");
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

/* Tests of the XPlane reader and writer together; no code of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/derived.h"
#include "analyze/scopes.h"
#include "base/input.h"
#include "base/proto.h"
#include "base/test.h"
#include "model/xplane.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

#ifdef ASSAY_TEST

static void resolve_all(assay_run *run)
{
	assay_link(run);
	assay_find_steps(run, NULL);
	assay_scopes(run, NULL);
	assay_derive(run);
}

static assay_run *load(const char *path)
{
	assay_run *run = assay_run_new();
	if (assay_read_path(run, path, NULL)) {
		resolve_all(run);
		return run;
	}
	assay_run_free(run);
	return NULL;
}

/* The run as a file and back. */
static assay_run *through(const assay_run *run, const assay_writer *writer)
{
	char *bytes = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&bytes, &n);
	assay_err err = {0};
	bool ok = writer->write(run, f, &err);
	fclose(f);
	assay_input *in = assay_input_memory(bytes, n);
	assay_run *back = assay_run_new();
	ok = ok && assay_read_input(back, in, &err);
	assay_input_close(in);
	free(bytes);
	resolve_all(back);
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	return back;
}

static assay_run *through_file(const assay_run *run)
{
	return through(run, &assay_writer_xplane);
}

/* A number for a table's contents that does not depend on the order of rows: text instead of string
 * ids, stream numbers instead of track rows, times from the first GPU event. */
typedef struct sum {
	size_t n;
	uint64_t add;
} sum;

static bool listed(const char *list, const char *word)
{
	assay_str rest = assay_str_of(list);
	while (rest.n)
		if (assay_str_is(assay_str_cut(&rest, ' '), word))
			return true;
	return false;
}

static uint64_t row_hash(const assay_run *run, assay_table_id id, size_t row, int64_t start,
			 const char *skip)
{
	const assay_table_info *info = &assay_table_infos[id];
	uint64_t h = 0;
	for (size_t c = 0; c < info->cols; c++) {
		const char *at = (const char *)&run->part.t + info->at + info->col[c].at;
		const char *col = *(char *const *)(const void *)at;
		size_t width = assay_col_width(info->col[c].type);
		uint64_t v = 0;
		if (listed(skip, info->col[c].name) || info->col[c].type == ASSAY_COL_source)
			continue;
		memcpy(&v, col + row * width, width);
		if (!strcmp(info->col[c].name, "ts"))
			v -= (uint64_t)start;
		assay_str s = {(const char *)&v, sizeof v};
		if (info->col[c].type == ASSAY_COL_sid)
			s = assay_text(run, (assay_sid)v);
		else if (info->col[c].type == ASSAY_COL_track)
			s = (assay_str){(const char *)&run->part.t.track.tid[v], 8};
		else if (info->col[c].type == ASSAY_COL_detail)
			v = row_hash(run, assay_host_detail[run->part.t.host.kind[row]], v, start,
				     skip);
		h = assay_hash(s.p, s.n, h + c);
	}
	return h;
}

static sum table_sum(const assay_run *run, const char *table, const char *skip)
{
	assay_table_id id = 0;
	while (strcmp(assay_table_infos[id].name, table))
		id++;
	int64_t start = INT64_MAX;
	for (size_t g = 0; g < run->part.t.gpu.n; g++)
		start = run->part.t.gpu.ts[g] < start ? run->part.t.gpu.ts[g] : start;
	sum s = {assay_rows(&run->part.t, &assay_table_infos[id]), 0};
	for (size_t r = 0; r < s.n; r++)
		s.add += row_hash(run, id, r, start, skip);
	return s;
}

static bool same(const assay_run *a, const assay_run *b, const char *table, const char *skip)
{
	sum x = table_sum(a, table, skip), y = table_sum(b, table, skip);
	if (x.n == y.n && x.add == y.add)
		return true;
	fprintf(stderr, "%s: %zu rows and %zu rows, or contents differ\n", table, x.n, y.n);
	return false;
}

/* Work in scopes, path by path. */
static bool same_scopes(const assay_run *a, const assay_run *b)
{
	assay_scope_times x, y;
	assay_scope_times_of(a, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &x);
	assay_scope_times_of(b, ASSAY_SCOPES_BY_PATH, ASSAY_SCOPES_ALL_STEPS, &y);
	uint64_t sums[2] = {0};
	for (int k = 0; k < 2; k++) {
		const assay_scope_times *t = k ? &y : &x;
		for (size_t i = 0; i < t->node.n; i++) {
			const assay_scope_node *n = &t->node.p[i];
			int64_t v[] = {n->depth,    (int64_t)n->count, (int64_t)n->work,
				       n->host,     n->gpu_busy,       n->gpu_sum,
				       n->gpu_self, n->gpu_grad};
			assay_str name = assay_text(k ? b : a, n->name);
			sums[k] += assay_hash(v, sizeof v, assay_hash(name.p, name.n, 0));
		}
	}
	bool ok = x.node.n == y.node.n && sums[0] == sums[1] && x.work_none == y.work_none;
	if (!ok)
		fprintf(stderr, "scopes differ: %zu and %zu nodes\n", x.node.n, y.node.n);
	assay_scope_times_free(&x);
	assay_scope_times_free(&y);
	return ok;
}

TEST(xplane_to_xplane_keeps_everything)
{
	static const char *const files[] = {"tests/xplane/jax.xplane.pb.gz",
					    "../shared/data/tracelens/mi300/jax_conv.xplane.pb"};
	for (int i = 0; i < 2; i++) {
		assay_run *a = load(files[i]);
		if (!a)
			return i ? 0 : 77; /* the second is not bundled */
		assay_run *b = through_file(a);
		CHECK(same(a, b, "gpu", "") && same(a, b, "host", "") && same(a, b, "step", ""));
		CHECK(same(a, b, "device", "") && same(a, b, "kept", "row") &&
		      same(a, b, "meta", ""));
		/* where the file gave no scope ids, ours are written */
		CHECK(i || (same(a, b, "given_link", "") && same(a, b, "given_scope", "row")));
		CHECK(same(a, b, "mark", "") && same_scopes(a, b));
		assay_run_free(a);
		assay_run_free(b);
	}
	return 0;
}

TEST(what_is_inferred_is_so_again_when_it_is_read_back)
{
	assay_run *a = load("demo/run");
	if (!a)
		return 77;
	assay_run *b = through_file(a);
	uint64_t inferred[2] = {0};
	for (int k = 0; k < 2; k++) {
		const assay_gpu_scope_table *s = &(k ? b : a)->part.t.gpu_scope;
		for (size_t g = 0; g < s->n; g++)
			inferred[k] += s->how[g] == ASSAY_SCOPE_HOW_INFERRED;
	}
	CHECK(inferred[0] == 4070 && inferred[1] == 4070 && same_scopes(a, b));
	assay_run_free(a);
	assay_run_free(b);
	return 0;
}

TEST(chrome_to_xplane_keeps_what_both_can_say)
{
	assay_run *a = load("demo/train.json.gz");
	if (!a)
		return 77;
	assay_run *b = through_file(a), *c = through_file(b);
	CHECK(same(a, b, "gpu", "args") && same(a, b, "step", "ts") && same_scopes(a, b));
	CHECK(same(a, b, "host", "args track cat")); /* cat: kinds go by assay's names */
	CHECK(same(a, b, "device", "warp"));
	CHECK(a->part.t.sync.n && same(a, b, "sync", "args"));
	CHECK(a->part.t.mark.n && same(a, b, "mark", "args"));
	CHECK(same(b, c, "sync", "") && same(b, c, "mark", ""));
	/* what a file says about itself does not change by going round again */
	CHECK(same(b, c, "gpu", "") && same(b, c, "host", "") && same(b, c, "scope", "up host"));
	CHECK(same(b, c, "given_scope", "row") && same(b, c, "given_link", "") &&
	      same_scopes(b, c));
	assay_run_free(a);
	assay_run_free(b);
	assay_run_free(c);
	return 0;
}

/* The two modes differ in what they add, not in what they hold. */
TEST(grouped_files_read_back_like_raw_ones)
{
	static const char *const files[] = {"demo/train.json.gz", "tests/xplane/jax.xplane.pb.gz"};
	for (int i = 0; i < 2; i++) {
		assay_run *a = load(files[i]);
		if (!a)
			return 77;
		assay_run *b = through(a, &assay_writer_xplane);
		assay_run *c = through(a, &assay_writer_xplane_grouped);
		CHECK(same(b, c, "gpu", "args") && same(b, c, "host", "args"));
		CHECK(same(b, c, "sync", "args") && same(b, c, "step", ""));
		CHECK(same(b, c, "derived", "track scope") && same_scopes(b, c));
		CHECK(same(b, c, "given_scope", "row") && same(b, c, "given_link", ""));
		assay_run_free(a);
		assay_run_free(b);
		assay_run_free(c);
	}
	return 0;
}

static void add_message(assay_protow *to, uint32_t field, assay_protow *inner, const char *unknown)
{
	assay_protow_text(inner, 77, assay_str_of(unknown));
	assay_protow_message(to, field, inner);
}

/* A plane with one event and a field nobody knows in everything it is made of. */
static void add_plane(assay_protow *space, const char *name, const char *line_name)
{
	assay_protow plane = {0}, line = {0}, event = {0}, entry = {0}, meta = {0}, stat = {0};
	assay_protow_text(&plane, XPLANE_NAME, assay_str_of(name));
	assay_protow_varint(&event, XEVENT_META, 1);
	assay_protow_varint(&event, XEVENT_DURATION_PS, 5000);
	assay_protow_varint(&stat, XSTAT_META, 1);
	assay_protow_varint(&stat, XSTAT_UINT64, 9);
	assay_protow_message(&event, XEVENT_STATS, &stat);
	add_message(&line, XLINE_EVENTS, &event, "in event");
	assay_protow_varint(&line, XLINE_ID, 7);
	assay_protow_text(&line, XLINE_NAME, assay_str_of(line_name));
	assay_protow_text(&line, XLINE_DISPLAY_NAME, ASSAY_S("shown"));
	add_message(&plane, XPLANE_LINES, &line, "in line");
	for (uint32_t kind = XPLANE_EVENT_META; kind <= XPLANE_STAT_META; kind++) {
		assay_protow_varint(&meta, XMETA_ID, 1);
		assay_protow_text(&meta, XMETA_NAME,
				  kind == XPLANE_STAT_META ? ASSAY_S("correlation_id")
							   : ASSAY_S("work"));
		assay_protow_text(&meta, XMETA_BYTES, ASSAY_S("described"));
		assay_protow_varint(&entry, XENTRY_KEY, 1);
		add_message(&entry, XENTRY_VALUE, &meta, "in metadata");
		assay_protow_message(&plane, kind, &entry);
	}
	add_message(space, XSPACE_PLANES, &plane, "in plane");
	assay_protow *all[] = {&plane, &line, &event, &entry, &meta, &stat};
	for (size_t i = 0; i < 6; i++)
		assay_protow_free(all[i]);
}

TEST(fields_nobody_knows_survive_wherever_they_stand)
{
	assay_protow space = {0};
	add_plane(&space, "/device:GPU:0", "Stream #7(Compute)");
	add_plane(&space, "/host:CPU", "Host Threads/7");
	assay_protow_text(&space, 77, ASSAY_S("in file"));
	assay_run *a = assay_run_new();
	assay_str bytes = assay_protow_data(&space);
	assay_input *in = assay_input_memory(bytes.p, bytes.n);
	CHECK(assay_read_input(a, in, NULL));
	assay_input_close(in);
	resolve_all(a);
	const assay_writer *const modes[] = {&assay_writer_xplane, &assay_writer_xplane_grouped};
	for (int i = 0; i < 2; i++) {
		assay_run *b = through(a, modes[i]);
		/* two planes: event, line, two of metadata, plane; and the file */
		CHECK_EQ(a->part.t.kept.n, 2 * 5 + 1);
		CHECK(same(a, b, "kept", i ? "row bytes" : "row"));
		assay_run_free(b);
	}
	assay_run_free(a);
	assay_protow_free(&space);
	return 0;
}

static void *convert(void *arg)
{
	assay_run *a = load(arg), *b = a ? through_file(a) : NULL;
	bool ok = b && same(a, b, "gpu", "args");
	assay_run_free(a);
	assay_run_free(b);
	return ok ? arg : NULL;
}

/* Nothing is shared between runs: the thread sanitizer has something to look at. */
TEST(R6_threads_with_runs_of_their_own_share_nothing)
{
	static char path[] = "tests/xplane/jax.xplane.pb.gz";
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread[i], NULL, convert, path));
	void *ok[2];
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], &ok[i]);
	CHECK(ok[0] && ok[1]);
	return 0;
}

#endif

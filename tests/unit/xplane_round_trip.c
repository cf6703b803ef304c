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
	bool ok = assay_write_run(writer, run, f, NULL, &err);
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
		size_t width = info->col[c].width;
		const assay_col_kind *kind = info->col[c].kind;
		uint64_t v = 0;
		if (listed(skip, info->col[c].name) || kind->refers == ASSAY_T_source)
			continue;
		memcpy(&v, col + row * width, width);
		if (kind->type == ASSAY_COL_time)
			v -= (uint64_t)start;
		assay_str s = {(const char *)&v, sizeof v};
		if (kind->type == ASSAY_COL_sid)
			s = assay_text(run, (assay_sid)v);
		else if (kind->refers == ASSAY_T_track && v != ASSAY_NO_ROW)
			s = (assay_str){(const char *)&run->part.t.track.tid[v], 8};
		else if (id == ASSAY_T_host && kind->type == ASSAY_COL_choice)
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

/* Lists are told from texts that look like them, in whichever way either is written. */
TEST(lists_are_written_once_and_texts_that_look_like_them_stay_texts)
{
	enum { ROWS = 1000 };
	static const char *const args[] = {
		"\"Input Dims\": [[32, 1024, 4096], [1024, 4096], [4096]], \"o\": {\"a\": [1]}",
		"\"ranks\": \"[0, 1]\", \"spaced\": \" [0, 1]\", \"open\": \" {\"",
	};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		t->host.ts[h] = 10 * (int64_t)i;
		t->host.dur[h] = 5;
		t->host.name[h] = assay_sid_of(run, "aten::mul");
		t->host.args[h] = assay_sid_of(run, args[i % 2]);
		t->host.track[h] = assay_thread_track(&run->part, 9, 9);
	}
	char *bytes = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&bytes, &n);
	CHECK(f && assay_write_run(&assay_writer_xplane, run, f, NULL, NULL));
	fclose(f);
	free(bytes);
	CHECK(n < ROWS * 50);
	assay_run *back = through_file(run);
	CHECK_EQ(back->part.t.host.n, ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		CHECK(assay_str_is(assay_text(back, back->part.t.host.args[i]), args[i % 2]));
	assay_run_free(back);
	assay_run_free(run);
	return 0;
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
	CHECK(inferred[0] == 1922 && inferred[1] == 1922 && same_scopes(a, b));
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

/* A recorder's wait that joins its record by a sync id, which no XPlane file has rows for. */
static void add_recorded_wait(assay_run *run)
{
	static const char *const calls[] = {"cudaEventRecord", "cudaStreamWaitEvent"};
	assay_tables *t = &run->part.t;
	run->part.source = 0;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		t->host.ts[h] = 1000000 + 100 * i;
		t->host.dur[h] = 10;
		t->host.name[h] = assay_sid_of(run, calls[i]);
		t->host.kind[h] = ASSAY_HOST_RUNTIME;
		t->host.track[h] = t->host.track[0];
		t->host.detail[h] = assay_add(t, ASSAY_T_api);
		t->api.corr[t->host.detail[h]] = 9000 + i;
	}
	uint32_t r = assay_add(t, ASSAY_T_event_record), w = assay_add(t, ASSAY_T_sync);
	t->event_record.track[r] = assay_stream_track(&run->part, 0, 3);
	t->event_record.corr[r] = 9000;
	t->event_record.event[r] = (uint64_t)(t->sync.event[w] = 7);
	t->event_record.sync_id[r] = t->sync.sync_id[w] = 77;
	t->sync.ts[w] = 1000100;
	t->sync.dur[w] = 10;
	t->sync.name[w] = assay_sid_of(run, "Stream Wait Event");
	t->sync.track[w] = assay_stream_track(&run->part, 0, 4);
	t->sync.corr[w] = 9001;
	t->sync.record_corr[w] = 9000;
}

TEST(waits_stay_as_sure_as_they_were)
{
	static const char unlike[] = "ts host record_host producer_gpu consumer_gpu "
				     "consumer_handle producer_handle unexplained doubt";
	assay_run *a = assay_run_new();
	if (!assay_read_path(a, "tests/cases/waits/hip-fields/in.json", NULL)) {
		assay_run_free(a);
		return 77;
	}
	add_recorded_wait(a);
	resolve_all(a);
	assay_waits(a);
	size_t seen[ASSAY_WAIT_CLASS_COUNT] = {0};
	for (size_t i = 0; i < a->part.t.wait.n; i++)
		seen[a->part.t.wait.class[i]]++;
	CHECK(seen[ASSAY_WAIT_IS_LIKELY] == 1 && seen[ASSAY_WAIT_IS_EXACT] == 3);
	CHECK_EQ(seen[ASSAY_WAIT_IS_BEFORE_TRACE], 1);
	assay_run *b = through_file(a);
	assay_waits(b);
	CHECK(same(a, b, "wait", unlike));
	assay_run *c = through_file(b);
	assay_waits(c);
	CHECK(same(b, c, "wait", unlike) && same(b, c, "sync", ""));
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

/* A stat with a value that rows hold, or with bytes, which they do not. */
static void add_stat(assay_protow *to, uint32_t field, uint64_t id, const char *unknown)
{
	assay_protow stat = {0};
	assay_protow_varint(&stat, XSTAT_META, id);
	if (id == 1)
		assay_protow_varint(&stat, XSTAT_UINT64, 9);
	else
		assay_protow_bytes(&stat, XSTAT_BYTES, (assay_str){"\0\xff", 2});
	add_message(to, field, &stat, unknown);
	assay_protow_free(&stat);
}

/* Metadata 1 and 2; the first is the event's, and has the second for a child. */
static void add_metas(assay_protow *plane, uint32_t kind, const char *const name[2])
{
	assay_protow entry = {0}, meta = {0};
	for (uint64_t id = 1; id <= 2; id++) {
		assay_protow_varint(&meta, XMETA_ID, id);
		assay_protow_text(&meta, XMETA_NAME, assay_str_of(name[id - 1]));
		assay_protow_text(&meta, XMETA_BYTES, ASSAY_S("described"));
		if (kind == XPLANE_EVENT_META && id == 1) {
			add_stat(&meta, XMETA_STATS, 2, "in stat of metadata");
			assay_protow_bytes(&meta, XMETA_CHILD_ID, (assay_str){"\x02\x01", 2});
			assay_protow_varint(&meta, XMETA_CHILD_ID, 2);
		}
		assay_protow_varint(&entry, XENTRY_KEY, id);
		add_message(&entry, XENTRY_VALUE, &meta, "in metadata");
		assay_protow_message(plane, kind, &entry);
	}
	assay_protow_free(&entry);
	assay_protow_free(&meta);
}

/* A plane with one event and a field nobody knows in everything it is made of. */
static void add_plane(assay_protow *space, const char *name, const char *line_name)
{
	static const char *const events[] = {"work", "part of work"}, *const stats[] = {
									      "correlation_id",
									      "blob"};
	assay_protow plane = {0}, line = {0}, event = {0};
	assay_protow_text(&plane, XPLANE_NAME, assay_str_of(name));
	assay_protow_varint(&event, XEVENT_META, 1);
	assay_protow_varint(&event, XEVENT_DURATION_PS, 5000);
	add_stat(&event, XEVENT_STATS, 1, "in stat");
	add_stat(&event, XEVENT_STATS, 2, "in stat of bytes");
	add_message(&line, XLINE_EVENTS, &event, "in event");
	assay_protow_varint(&line, XLINE_ID, 7);
	assay_protow_text(&line, XLINE_NAME, assay_str_of(line_name));
	assay_protow_text(&line, XLINE_DISPLAY_NAME, ASSAY_S("shown"));
	add_message(&plane, XPLANE_LINES, &line, "in line");
	add_metas(&plane, XPLANE_EVENT_META, events);
	add_metas(&plane, XPLANE_STAT_META, stats);
	add_stat(&plane, XPLANE_STATS, 1, "in stat of plane");
	add_message(space, XSPACE_PLANES, &plane, "in plane");
	assay_protow_free(&plane);
	assay_protow_free(&line);
	assay_protow_free(&event);
}

/* Read and resolved; NULL when it cannot be read. */
static assay_run *read_space(const assay_protow *space)
{
	assay_run *run = assay_run_new();
	assay_str bytes = assay_protow_data(space);
	assay_input *in = assay_input_memory(bytes.p, bytes.n);
	bool ok = assay_read_input(run, in, NULL);
	assay_input_close(in);
	if (ok) {
		resolve_all(run);
		return run;
	}
	assay_run_free(run);
	return NULL;
}

TEST(fields_nobody_knows_survive_wherever_they_stand)
{
	assay_protow space = {0};
	add_plane(&space, "/device:GPU:0", "Stream #7(Compute)");
	add_plane(&space, "/host:CPU", "Host Threads/7");
	assay_protow_text(&space, 77, ASSAY_S("in file"));
	assay_run *a = read_space(&space);
	CHECK(a);
	const assay_writer *const modes[] = {&assay_writer_xplane, &assay_writer_xplane_grouped};
	for (int i = 0; i < 2; i++) {
		assay_run *b = through(a, modes[i]);
		/* two planes: event, line, four of metadata, plane, its stat; and the file */
		CHECK_EQ(a->part.t.kept.n, 2 * 8 + 1);
		CHECK(same(a, b, "kept", i ? "row bytes" : "row"));
		assay_run_free(b);
	}
	assay_run_free(a);
	assay_protow_free(&space);
	return 0;
}

/* Two stats, and no line. */
static void add_idle_plane(assay_protow *space, const char *name)
{
	static const char *const events[] = {"a", "b"}, *const stats[] = {"core_count", "blob"};
	assay_protow plane = {0};
	assay_protow_text(&plane, XPLANE_NAME, assay_str_of(name));
	add_metas(&plane, XPLANE_EVENT_META, events);
	add_metas(&plane, XPLANE_STAT_META, stats);
	add_stat(&plane, XPLANE_STATS, 1, "");
	add_stat(&plane, XPLANE_STATS, 2, "");
	assay_protow_message(space, XSPACE_PLANES, &plane);
	assay_protow_free(&plane);
}

TEST(planes_without_lines_stay)
{
	assay_protow space = {0};
	add_plane(&space, "/device:GPU:1", "Stream #7(Compute)");
	add_idle_plane(&space, "/device:GPU:0");
	add_idle_plane(&space, "/host:CPU");
	assay_run *a = read_space(&space);
	CHECK(a);
	assay_run *b = through_file(a);
	CHECK(a->part.t.device.n == 2 && same(a, b, "device", "") && same(a, b, "meta", ""));
	CHECK(same(a, b, "kept", "row"));
	assay_run_free(a);
	assay_run_free(b);
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
TEST(threads_with_runs_of_their_own_share_nothing)
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

/* rocmProfileData's .rpd: calls (rocpd_api), device work (rocpd_op), and the pairs of both. */
#include <stdio.h>

#include "base/jsonw.h"
#include "base/test.h"
#include "read/db.h"
#include "read/rocprof.h"

typedef struct launch {
	uint32_t grid[3], shared, scratch;
	uint16_t block[3];
	assay_sid stream;
	int64_t bytes;
} launch;

typedef struct rpd {
	assay_db *db;
	assay_part *part;
	assay_db_ids string, op_call, call_launch;
	assay_vec(int64_t) calls; /* api ids that op_call points to */
	assay_vec(launch) launches;
	assay_jsonw args;
} rpd;

bool assay_rocpd_is_rpd(const assay_db *db)
{
	return assay_db_exists(db, "rocpd_op") && !assay_db_exists(db, "rocpd_info_process");
}

static int64_t num(rpd *x, int column)
{
	return assay_db_int(x->db, column, -1);
}

static uint32_t u32_at(rpd *x, int column, uint32_t absent)
{
	int64_t v = num(x, column);
	return v < 0 ? absent : assay_rocprof_u32(x->part, (uint64_t)v, absent);
}

static assay_sid string_of(rpd *x, int column)
{
	uint32_t sid = assay_db_ids_get(&x->string, num(x, column));
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* The first two columns: start and end. */
static bool read_span(rpd *x, int64_t *ts, int64_t *dur)
{
	*ts = assay_db_int(x->db, 0, 0);
	return assay_rocprof_length(x->part, *ts, assay_db_int(x->db, 1, 0), dur);
}

static assay_sid one_arg(rpd *x, const char *key, assay_sid value)
{
	assay_jsonw *w = &x->args;
	if (!value)
		return 0;
	w->out.n = 0;
	w->comma = false;
	w->compact = true;
	assay_jsonw_str(w, key, assay_pool_get(&x->part->strings, value));
	return assay_intern(&x->part->strings, (assay_str){w->out.p, w->out.n});
}

static void read_strings(rpd *x)
{
	assay_db_select(x->db, "rocpd_metadata", ASSAY_DB_COLUMNS("tag", "value"));
	while (assay_db_next(x->db)) {
		char key[128];
		assay_str tag = assay_db_text(x->db, 0);
		snprintf(key, sizeof key, "rpd.%.*s", tag.n < 100 ? (int)tag.n : 100, tag.p);
		assay_meta_add(x->part, key, assay_db_text(x->db, 1));
	}
	assay_db_select(x->db, "rocpd_string", ASSAY_DB_COLUMNS("id", "string"));
	while (assay_db_next(x->db))
		assay_db_ids_set(&x->string, num(x, 0),
				 assay_intern(&x->part->strings, assay_db_text(x->db, 1)));
}

static void read_pairs(rpd *x)
{
	assay_db_select(x->db, "rocpd_api_ops", ASSAY_DB_COLUMNS("api_id", "op_id"));
	while (assay_db_next(x->db)) {
		assay_db_ids_set(&x->op_call, num(x, 1), (uint32_t)x->calls.n);
		*assay_push(&x->calls) = num(x, 0);
	}
}

static launch *new_launch(rpd *x, int64_t call)
{
	assay_db_ids_set(&x->call_launch, call, (uint32_t)x->launches.n);
	launch *l = assay_push(&x->launches);
	*l = (launch){.shared = UINT32_MAX, .scratch = UINT32_MAX, .bytes = -1};
	return l;
}

static void read_launches(rpd *x)
{
	assay_db_select(x->db, "rocpd_kernelapi",
			ASSAY_DB_COLUMNS("api_ptr_id", "stream", "gridX", "gridY", "gridZ",
					 "workgroupX", "workgroupY", "workgroupZ",
					 "groupSegmentSize", "privateSegmentSize"));
	while (assay_db_next(x->db)) {
		launch *l = new_launch(x, num(x, 0));
		l->stream = assay_intern(&x->part->strings, assay_db_text(x->db, 1));
		for (int i = 0; i < 3; i++) {
			l->grid[i] = u32_at(x, 2 + i, 0);
			l->block[i] = assay_rocprof_u16(x->part, u32_at(x, 5 + i, 0), 0);
		}
		l->shared = u32_at(x, 8, UINT32_MAX);
		l->scratch = u32_at(x, 9, UINT32_MAX);
	}
	assay_db_select(x->db, "rocpd_copyapi", ASSAY_DB_COLUMNS("api_ptr_id", "stream", "size"));
	while (assay_db_next(x->db)) {
		launch *l = new_launch(x, num(x, 0));
		l->stream = assay_intern(&x->part->strings, assay_db_text(x->db, 1));
		l->bytes = num(x, 2);
	}
}

static void read_calls(rpd *x)
{
	assay_sid marker = assay_intern_z(&x->part->strings, "UserMarker");
	assay_db_select(
		x->db, "rocpd_api",
		ASSAY_DB_COLUMNS("start", "end", "id", "pid", "tid", "apiName_id", "args_id"));
	while (assay_db_next(x->db)) {
		int64_t ts, dur, id = num(x, 2);
		if (!read_span(x, &ts, &dur))
			continue;
		assay_sid name = string_of(x, 5), args = string_of(x, 6);
		assay_str domain = assay_pool_get(&x->part->strings, name);
		bool marks = name && name == marker;
		assay_host_kind kind = marks ? ASSAY_HOST_MARKER : assay_rocprof_host_kind(domain);
		uint32_t h = assay_rocprof_host(x->part, kind, id > 0 ? (uint64_t)id : 0, 0,
						ASSAY_S("rpd"));
		assay_host_table *t = &x->part->t.host;
		t->ts[h] = ts;
		t->dur[h] = dur;
		t->name[h] = marks && args ? args : name;
		t->track[h] = assay_thread_track(x->part, num(x, 3), num(x, 4));
		t->args[h] = marks ? 0 : one_arg(x, "args", args);
	}
}

/* -1 for what is no work: barriers, markers, tasks without a name. Kernels of graphs are tasks. */
static int kind_of_op(assay_str type, bool named)
{
	static const struct {
		const char *part;
		assay_gpu_kind kind;
	} kinds[] = {{"kernel", ASSAY_GPU_KERNEL},
		     {"copy", ASSAY_GPU_MEMCPY},
		     {"fill", ASSAY_GPU_MEMSET},
		     {"memset", ASSAY_GPU_MEMSET}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(kinds); i++)
		if (assay_str_find_nocase(type, kinds[i].part) >= 0)
			return kinds[i].kind;
	return named && assay_str_is(type, "Task") ? ASSAY_GPU_KERNEL : -1;
}

static void set_launch(rpd *x, uint32_t g, const launch *l)
{
	assay_gpu_table *t = &x->part->t.gpu;
	t->grid_x[g] = l->grid[0];
	t->grid_y[g] = l->grid[1];
	t->grid_z[g] = l->grid[2];
	t->block_x[g] = l->block[0];
	t->block_y[g] = l->block[1];
	t->block_z[g] = l->block[2];
	t->shared[g] = l->shared;
	t->scratch[g] = l->scratch;
	t->bytes[g] = l->bytes;
	t->args[g] = one_arg(x, "stream", l->stream);
}

static void add_work(rpd *x, assay_gpu_kind kind, int64_t ts, int64_t dur, assay_sid name,
		     uint32_t track)
{
	assay_gpu_table *t = &x->part->t.gpu;
	uint32_t g = assay_add(&x->part->t, ASSAY_T_gpu);
	uint32_t pair = assay_db_ids_get(&x->op_call, num(x, 2));
	int64_t call = pair == ASSAY_MAP_ABSENT ? -1 : x->calls.p[pair];
	uint32_t l = call < 0 ? ASSAY_MAP_ABSENT : assay_db_ids_get(&x->call_launch, call);
	t->kind[g] = (uint8_t)kind;
	t->ts[g] = ts;
	t->dur[g] = dur;
	t->name[g] = name;
	t->track[g] = track;
	t->corr[g] = call > 0 ? (uint64_t)call : 0;
	t->queue[g] = u32_at(x, 4, UINT32_MAX);
	t->dispatch[g] = u32_at(x, 5, UINT32_MAX);
	if (l != ASSAY_MAP_ABSENT)
		set_launch(x, g, &x->launches.p[l]);
	if (!name)
		assay_count(x->part, ASSAY_ISSUE_no_name, 1);
}

static bool is_marker(assay_str type)
{
	return assay_str_is(type, "UserMarker");
}

/* rocm-trace-lite's ranges: on device -1, of no thread that is told. */
static void add_marker(rpd *x, int64_t ts, int64_t dur, assay_sid name)
{
	uint32_t h = assay_rocprof_host(x->part, ASSAY_HOST_MARKER, 0, 0, ASSAY_S("rpd"));
	assay_host_table *t = &x->part->t.host;
	t->ts[h] = ts;
	t->dur[h] = dur;
	t->name[h] = name;
	t->track[h] = assay_thread_track(x->part, 0, 0);
}

static void read_ops(rpd *x)
{
	assay_db_select(x->db, "rocpd_op",
			ASSAY_DB_COLUMNS("start", "end", "id", "gpuId", "queueId", "sequenceId",
					 "description_id", "opType_id"));
	while (assay_db_next(x->db)) {
		int64_t ts, dur;
		if (!read_span(x, &ts, &dur))
			continue;
		assay_sid name = string_of(x, 6), type = string_of(x, 7);
		bool named = assay_pool_get(&x->part->strings, name).n > 0;
		int kind = kind_of_op(assay_pool_get(&x->part->strings, type), named);
		if (is_marker(assay_pool_get(&x->part->strings, type))) {
			add_marker(x, ts, dur, name ? name : type);
			continue;
		}
		uint32_t track = assay_stream_track(x->part, num(x, 3), num(x, 4));
		if (kind >= 0) {
			add_work(x, (assay_gpu_kind)kind, ts, dur, name ? name : type, track);
			continue;
		}
		uint32_t m = assay_add(&x->part->t, ASSAY_T_mark);
		x->part->t.mark.ts[m] = ts;
		x->part->t.mark.dur[m] = dur;
		x->part->t.mark.name[m] = name ? name : type;
		x->part->t.mark.track[m] = track;
	}
}

static void read_monitors(rpd *x)
{
	assay_db_select(
		x->db, "rocpd_monitor",
		ASSAY_DB_COLUMNS("start", "deviceType", "deviceId", "monitorType", "value"));
	while (assay_db_next(x->db)) {
		double value;
		assay_str text = assay_db_text(x->db, 4); /* the column is text in some versions */
		if (!assay_str_f64(text, &value)) {
			assay_count(x->part, ASSAY_ISSUE_bad_number, 1);
			continue;
		}
		assay_counter_table *t = &x->part->t.counter;
		uint32_t r = assay_add(&x->part->t, ASSAY_T_counter);
		assay_sid process = assay_intern(&x->part->strings, assay_db_text(x->db, 1));
		t->ts[r] = assay_db_int(x->db, 0, 0);
		t->name[r] = assay_intern(&x->part->strings, assay_db_text(x->db, 3));
		t->track[r] =
			assay_track(x->part, ASSAY_TRACK_TELEMETRY, num(x, 2), -1, process, 0);
		t->value[r] = value;
	}
}

bool assay_rocpd_read_rpd(assay_db *db)
{
	rpd x = {.db = db, .part = db->part};
	read_strings(&x);
	read_pairs(&x);
	read_launches(&x);
	read_calls(&x);
	read_ops(&x);
	read_monitors(&x);
	assay_db_ids_free(&x.string);
	assay_db_ids_free(&x.op_call);
	assay_db_ids_free(&x.call_launch);
	assay_vec_free(&x.calls);
	assay_vec_free(&x.launches);
	assay_jsonw_free(&x.args);
	return true;
}

TEST(kinds_of_rpd_ops_are_told_by_their_names)
{
	CHECK_EQ(kind_of_op(ASSAY_S("KernelExecution"), true), ASSAY_GPU_KERNEL);
	CHECK_EQ(kind_of_op(ASSAY_S("CopyDeviceToHost"), false), ASSAY_GPU_MEMCPY);
	CHECK_EQ(kind_of_op(ASSAY_S("FillBuffer"), false), ASSAY_GPU_MEMSET);
	CHECK_EQ(kind_of_op(ASSAY_S("Barrier"), false), -1);
	CHECK_EQ(kind_of_op(ASSAY_S("Task"), true), ASSAY_GPU_KERNEL);
	CHECK_EQ(kind_of_op(ASSAY_S("Task"), false), -1);
	return 0;
}

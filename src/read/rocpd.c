/* rocprofv3's SQLite database (rocpd), schema 3. Tables of one process end in _<uuid>; the views
 * with the plain names only gather them, and are read where there is nothing else. Ids count per
 * process, so each is read on its own, and names are joined here: SQL joins cost several times the
 * rest. Kernels belong to API calls by event.stack_id; event.correlation_id is the external id. */
#include "read/databases.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "read/frees.h"
#include "read/rocpd_rows.h"
#include "read/rocprof.h"

enum { INSTANCES_MAX = 1024 };

/* ---- rows ---- */

static bool span_at(assay_rocpd_instance *x, int column, int64_t *ts, int64_t *dur)
{
	*ts = assay_rocpd_time(x, column);
	return assay_rocprof_length(x->part, *ts, assay_rocpd_time(x, column + 1), dur);
}

/* The thread of a row: columns `pid` and `tid`, or its track. */
static uint32_t thread_at(assay_rocpd_instance *x, int pid, int tid, int track)
{
	if (assay_rocpd_num(x, tid) >= 0)
		return assay_rocpd_thread(x, assay_rocpd_num(x, pid), assay_rocpd_num(x, tid));
	assay_rocpd_place place = assay_rocpd_place_at(x, track);
	return assay_rocpd_thread(x, place.process, place.thread);
}

static void read_regions(assay_rocpd_instance *x)
{
	assay_rocpd_start(x, "rocpd_region",
			  ASSAY_DB_COLUMNS(ASSAY_ROCPD_SPAN(x), "pid", "tid", "name_id", "event_id",
					   "track_id"));
	assay_sid last = 0; /* category, of that kind */
	assay_host_kind of_last = assay_rocprof_host_kind((assay_str){"", 0});
	while (assay_rocpd_row(x)) {
		int64_t ts, dur;
		if (!span_at(x, 0, &ts, &dur))
			continue;
		assay_rocpd_event *e = assay_rocpd_event_at(x, 5);
		assay_sid name = assay_rocpd_string(x, 4), own = e->category ? e->category : name;
		assay_str category = assay_pool_get(&x->part->strings, own);
		if (own != last)
			of_last = assay_rocprof_host_kind(category);
		last = own;
		assay_host_kind kind = of_last;
		if (kind == ASSAY_HOST_MARKER)
			kind = assay_rocprof_marker_kind(assay_pool_get(&x->part->strings, name));
		uint32_t h = assay_rocprof_host(x->part, kind, e->stack, e->external, category);
		assay_host_table *t = &x->part->t.host;
		t->ts[h] = ts;
		t->dur[h] = dur;
		t->name[h] = e->message ? e->message : name;
		t->track[h] = thread_at(x, 2, 3, 6);
		e->host = h;
	}
}

static uint32_t stream_track(assay_rocpd_instance *x, int64_t device, int64_t stream, int64_t queue)
{
	uint32_t track = assay_stream_track(x->part, device, stream >= 0 ? stream : queue);
	uint32_t name = stream >= 0 ? assay_db_ids_get(&x->stream, stream) : ASSAY_MAP_ABSENT;
	if (name != ASSAY_MAP_ABSENT && name)
		x->part->t.track.name[track] = name;
	return track;
}

static uint32_t u32_at(assay_rocpd_instance *x, int column, uint32_t absent)
{
	int64_t v = assay_rocpd_num(x, column);
	return v < 0 ? absent : assay_rocprof_u32(x->part, (uint64_t)v, absent);
}

static uint16_t u16_at(assay_rocpd_instance *x, int column)
{
	int64_t v = assay_rocpd_num(x, column);
	return v < 0 ? 0 : assay_rocprof_u16(x->part, (uint64_t)v, 0);
}

/* Columns that kernels and copies share, from `column` on. */
#define GPU_COLUMNS(x)                                                                             \
	ASSAY_ROCPD_SPAN(x), "queue_id", "stream_id", "event_id", "graph_exec_id",                 \
		"graph_node_id", "extdata", "track_id", "region_name_id"
enum {
	GPU_START,
	GPU_END,
	GPU_QUEUE,
	GPU_STREAM,
	GPU_EVENT,
	GPU_GRAPH,
	GPU_NODE,
	GPU_EXTDATA,
	GPU_TRACK,
	GPU_REGION,
	GPU_MORE
};

enum { NO_SIZE = -2 };

/* Columns of later versions, and arguments without one, as our writer keeps them. */
static void read_extdata(assay_rocpd_instance *x, uint32_t g)
{
	assay_gpu_table *t = &x->part->t.gpu;
	assay_json j = assay_rocpd_json(x, GPU_EXTDATA);
	assay_str key, raw;
	x->args.out.n = 0;
	x->args.comma = false;
	x->args.compact = true;
	if (assay_json_peek(&j) != '{')
		return;
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		uint64_t v;
		bool number = assay_str_u64(raw, &v);
		if (number && assay_str_is(key, "graph_exec_id")) {
			t->graph[g] = assay_rocprof_u32(x->part, v, 0);
		} else if (number && assay_str_is(key, "graph_node_id")) {
			t->graph_node[g] = v;
		} else if (number && assay_str_is(key, "context")) {
			t->context[g] = assay_rocprof_u32(x->part, v, UINT32_MAX);
		} else if (assay_str_is(key, "size") && assay_str_is(raw, "null")) {
			t->bytes[g] = NO_SIZE;
		} else if (number && t->kind[g] == ASSAY_GPU_KERNEL && v <= INT64_MAX &&
			   assay_str_is(key, "size")) {
			t->bytes[g] = (int64_t)v;
		} else {
			assay_jsonw_key(&x->args, assay_json_unescape(&x->db->scratch, key));
			if (!assay_jsonw_copy_known(&x->args, raw, &x->db->scratch, &x->forms))
				assay_jsonw_null(&x->args, NULL);
		}
	}
	t->args[g] = assay_intern(&x->part->strings, (assay_str){x->args.out.p, x->args.out.n});
	x->args.out.n = 0;
	x->args.comma = false;
}

/* Queue, stream and agent of a row that has no column for them are those of its track. */
static assay_rocpd_place gpu_place(assay_rocpd_instance *x)
{
	assay_rocpd_place place = assay_rocpd_place_at(x, GPU_TRACK);
	if (assay_rocpd_num(x, GPU_QUEUE) >= 0)
		place.queue = assay_rocpd_num(x, GPU_QUEUE);
	if (assay_rocpd_num(x, GPU_STREAM) >= 0)
		place.stream = assay_rocpd_num(x, GPU_STREAM);
	return place;
}

/* rocprofv3 --kernel-rename: the range around the launch, where it was asked for. */
static void set_region(assay_rocpd_instance *x, uint32_t g)
{
	assay_gpu_table *t = &x->part->t.gpu;
	assay_sid region = assay_rocpd_string(x, GPU_REGION);
	if (!region || region == t->name[g])
		return;
	assay_jsonw *w = &x->args;
	w->compact = true;
	if (t->args[g])
		assay_jsonw_raw(w, NULL, assay_pool_get(&x->part->strings, t->args[g]));
	assay_jsonw_str(w, "region", assay_pool_get(&x->part->strings, region));
	t->args[g] = assay_intern(&x->part->strings, (assay_str){w->out.p, w->out.n});
	w->out.n = 0;
	w->comma = false;
}

static uint32_t add_gpu(assay_rocpd_instance *x, assay_gpu_kind kind)
{
	int64_t ts, dur, node = assay_rocpd_num(x, GPU_NODE);
	if (!span_at(x, GPU_START, &ts, &dur))
		return ASSAY_NO_ROW;
	assay_rocpd_event *e = assay_rocpd_event_at(x, GPU_EVENT);
	assay_gpu_table *t = &x->part->t.gpu;
	uint32_t g = assay_add(&x->part->t, ASSAY_T_gpu);
	t->kind[g] = (uint8_t)kind;
	t->ts[g] = ts;
	t->dur[g] = dur;
	t->corr[g] = e->stack;
	t->external[g] = assay_rocprof_u32(x->part, e->external, 0);
	int64_t queue = gpu_place(x).queue;
	t->queue[g] =
		queue < 0 ? UINT32_MAX : assay_rocprof_u32(x->part, (uint64_t)queue, UINT32_MAX);
	t->graph[g] = u32_at(x, GPU_GRAPH, 0);
	t->graph_node[g] = node > 0 ? (uint64_t)node : 0;
	if (assay_db_text(x->db, GPU_EXTDATA).n > 2)
		read_extdata(x, g);
	e->gpu = g;
	return g;
}

static void set_symbol(assay_rocpd_instance *x, uint32_t g, int64_t kernel)
{
	assay_gpu_table *t = &x->part->t.gpu;
	uint32_t i = assay_db_ids_get(&x->symbol, kernel);
	const assay_rocpd_symbol *s = i == ASSAY_MAP_ABSENT ? NULL : &x->symbols.p[i];
	if (!s || !s->name)
		assay_count(x->part, ASSAY_ISSUE_no_name, 1);
	if (!s)
		return;
	t->name[g] = s->name;
	t->regs[g] = s->regs;
	t->acc_regs[g] = s->acc_regs;
	t->scalar_regs[g] = s->scalar_regs;
}

/* The file counts work-items; rows of devices whose tools count blocks have blocks. */
static void grid_to_blocks(assay_gpu_table *t, uint32_t g)
{
	uint32_t *grid[] = {&t->grid_x[g], &t->grid_y[g], &t->grid_z[g]};
	const uint32_t block[] = {t->block_x[g], t->block_y[g], t->block_z[g]};
	for (int i = 0; i < 3; i++)
		if (block[i])
			*grid[i] = (uint32_t)(((uint64_t)*grid[i] + block[i] - 1) / block[i]);
}

static void read_kernels(assay_rocpd_instance *x)
{
	enum { AGENT = GPU_MORE, KERNEL, DISPATCH, PRIVATE, GROUP, WX, WY, WZ, GX, GY, GZ };
	assay_rocpd_start(x, "rocpd_kernel_dispatch",
			  ASSAY_DB_COLUMNS(GPU_COLUMNS(x), "agent_id", "kernel_id", "dispatch_id",
					   "private_segment_size", "group_segment_size",
					   "workgroup_size_x", "workgroup_size_y",
					   "workgroup_size_z", "grid_size_x", "grid_size_y",
					   "grid_size_z"));
	while (assay_rocpd_row(x)) {
		uint32_t g = add_gpu(x, ASSAY_GPU_KERNEL);
		if (g == ASSAY_NO_ROW)
			continue;
		assay_gpu_table *t = &x->part->t.gpu;
		assay_rocpd_place place = gpu_place(x);
		if (assay_rocpd_num(x, AGENT) >= 0)
			place.agent = assay_rocpd_num(x, AGENT);
		assay_rocpd_agent agent = assay_rocpd_agent_of(x, place.agent);
		t->track[g] = stream_track(x, agent.number, place.stream, place.queue);
		t->dispatch[g] = u32_at(x, DISPATCH, UINT32_MAX);
		t->scratch[g] = u32_at(x, PRIVATE, UINT32_MAX);
		t->shared[g] = u32_at(x, GROUP, UINT32_MAX);
		t->block_x[g] = u16_at(x, WX);
		t->block_y[g] = u16_at(x, WY);
		t->block_z[g] = u16_at(x, WZ);
		t->grid_x[g] = u32_at(x, GX, 0);
		t->grid_y[g] = u32_at(x, GY, 0);
		t->grid_z[g] = u32_at(x, GZ, 0);
		if (agent.blocks)
			grid_to_blocks(t, g);
		set_symbol(x, g, assay_rocpd_num(x, KERNEL));
		set_region(x, g);
	}
}

static void read_copies(assay_rocpd_instance *x)
{
	enum { NAME = GPU_MORE, DST, SRC, SIZE };
	assay_rocpd_start(x, "rocpd_memory_copy",
			  ASSAY_DB_COLUMNS(GPU_COLUMNS(x), "name_id", "dst_agent_id",
					   "src_agent_id", "size"));
	while (assay_rocpd_row(x)) {
		uint32_t g = add_gpu(x, ASSAY_GPU_MEMCPY);
		if (g == ASSAY_NO_ROW)
			continue;
		assay_gpu_table *t = &x->part->t.gpu;
		assay_rocpd_agent dst = assay_rocpd_agent_of(x, assay_rocpd_num(x, DST)),
				  src = assay_rocpd_agent_of(x, assay_rocpd_num(x, SRC));
		int64_t device = !dst.gpu && src.gpu ? src.number : dst.number;
		assay_rocpd_place place = gpu_place(x);
		t->track[g] = stream_track(x, device, place.stream, place.queue);
		t->name[g] = assay_rocpd_string(x, NAME);
		if (assay_str_is(assay_pool_get(&x->part->strings,
						assay_rocpd_event_at(x, GPU_EVENT)->category),
				 "MEMORY_SET"))
			t->kind[g] = ASSAY_GPU_MEMSET;
		bool known = t->bytes[g] != NO_SIZE && assay_rocpd_num(x, SIZE) >= 0;
		t->bytes[g] = known ? assay_rocpd_num(x, SIZE) : -1;
	}
}

static void read_allocations(assay_rocpd_instance *x)
{
	size_t first = x->part->t.alloc.n;
	assay_rocpd_start(x, "rocpd_memory_allocate",
			  ASSAY_DB_COLUMNS(ASSAY_ROCPD_SPAN(x), "pid", "tid", "agent_id", "type",
					   "level", "address", "size", "event_id", "track_id"));
	while (assay_rocpd_row(x)) {
		int64_t ts, dur, size = assay_rocpd_num(x, 8);
		if (!span_at(x, 0, &ts, &dur))
			continue;
		assay_alloc_table *t = &x->part->t.alloc;
		uint32_t r = assay_add(&x->part->t, ASSAY_T_alloc);
		char name[72];
		assay_str type = assay_db_text(x->db, 5), level = assay_db_text(x->db, 6);
		snprintf(name, sizeof name, "%.*s %.*s", type.n < 32 ? (int)type.n : 32, type.p,
			 level.n < 32 ? (int)level.n : 32, level.p);
		bool takes = !assay_str_is(type, "FREE") && !assay_str_is(type, "RECLAIM");
		int64_t agent = assay_rocpd_num(x, 4);
		assay_rocpd_agent a = assay_rocpd_agent_of(
			x, agent >= 0 ? agent : assay_rocpd_place_at(x, 10).agent);
		t->ts[r] = ts;
		t->track[r] = thread_at(x, 2, 3, 10);
		t->addr[r] = assay_rocpd_num(x, 7) > 0 ? (uint64_t)assay_rocpd_num(x, 7) : 0;
		t->bytes[r] = size < 0 ? 0 : takes ? size : -size;
		t->device[r] = a.gpu && a.number <= INT32_MAX ? (int32_t)a.number : -1;
		t->corr[r] = assay_rocpd_event_at(x, 9)->stack;
		t->name[r] = assay_intern_z(&x->part->strings, name);
	}
	assay_pair_frees(&x->part->t.alloc, first);
}

static void read_barriers(assay_rocpd_instance *x)
{
	assay_rocpd_start(x, "rocpd_hip_event",
			  ASSAY_DB_COLUMNS(ASSAY_ROCPD_SPAN(x), "name_id", "agent_id", "queue_id",
					   "stream_id", "event_id", "hip_event_handle",
					   "source_queue_id", "operation"));
	while (assay_rocpd_row(x)) {
		int64_t ts, dur, queue = assay_rocpd_num(x, 4), event = assay_rocpd_num(x, 7);
		if (!span_at(x, 0, &ts, &dur))
			continue;
		assay_sid name = assay_rocpd_string(x, 2);
		int64_t device = assay_rocpd_agent_of(x, assay_rocpd_num(x, 3)).number;
		name = name ? name : assay_rocpd_intern(x, 9);
		assay_rocprof_add_barrier(
			x->part,
			&(assay_rocprof_barrier){
				.ts = ts,
				.dur = dur,
				.event = event > 0 ? (uint64_t)event : 0,
				.queue = queue,
				.source_queue = assay_rocpd_num(x, 8),
				.corr = assay_rocpd_event_at(x, 6)->stack,
				.name = name,
				.track = stream_track(x, device, assay_rocpd_num(x, 5), queue),
				.waits = assay_rocprof_is_wait(
					assay_pool_get(&x->part->strings, name)),
			});
	}
}

/* ---- instances ---- */

static void read_instance(assay_db *db, const char *suffix)
{
	assay_rocpd_instance x = {.db = db, .part = db->part, .suffix = suffix};
	assay_rocpd_args args;
	size_t first = x.part->t.gpu.n;
	assay_rocpd_args_begin(&args, &x);
	assay_rocpd_names_read(&x);
	read_regions(&x);
	read_kernels(&x);
	read_copies(&x);
	assay_rocpd_read_graphs(&x, first);
	read_allocations(&x);
	assay_rocpd_read_counters(&x);
	read_barriers(&x);
	assay_rocpd_args_end(&args, &x);
	assay_rocpd_names_free(&x);
}

/* A process: tables of its own, named with a suffix, or rows of its own in shared ones. */
typedef struct process {
	const char *suffix, *guid; /* guid NULL: the tables are its own */
} process;
typedef assay_vec(process) processes;

static bool known_guid(const processes *list, assay_str guid)
{
	for (size_t i = 0; i < list->n; i++)
		if (assay_str_is(guid, list->p[i].guid))
			return true;
	return false;
}

/* Without suffixes: the processes that share the tables, or views that gather others, told apart by
 * guid. */
static void find_guids(assay_db *db, processes *out)
{
	if (!assay_db_select(db, "rocpd_info_process", ASSAY_DB_COLUMNS("guid")))
		return;
	while (assay_db_next(db) && out->n < INSTANCES_MAX) {
		assay_str guid = assay_db_text(db, 0);
		if (!known_guid(out, guid))
			*assay_push(out) = (process){"", assay_dup(&db->scratch, guid)};
	}
	if (out->n > 1)
		return;
	out->n = 0;
	*assay_push(out) = (process){"", NULL};
}

static void find_processes(assay_db *db, processes *out)
{
	static const char first[] = "rocpd_info_process_";
	for (size_t i = 0; i < db->names.n && out->n < INSTANCES_MAX; i++)
		if (assay_str_starts(db->names.p[i], first))
			*assay_push(out) = (process){db->names.p[i].p + strlen(first) - 1, NULL};
	if (!out->n)
		find_guids(db, out);
}

static uint64_t events(const assay_tables *t)
{
	return t->host.n + t->gpu.n + t->alloc.n + t->pmc.n + t->sync.n + t->mark.n + t->counter.n;
}

static void read_process(assay_db *db, const process *p)
{
	uint64_t before = events(&db->part->t);
	db->guid = p->guid;
	read_instance(db, p->suffix);
	db->part->t.source.records[db->part->source] += events(&db->part->t) - before;
}

static bool is_dull(assay_str table)
{
	return assay_str_starts(table, "rocpd_info_");
}

static bool is_rocpd(const assay_db *db)
{
	for (size_t i = 0; i < db->names.n; i++)
		if (assay_str_starts(db->names.p[i], "rocpd_info_process"))
			return true;
	return false;
}

static bool rocpd_read(assay_db *db)
{
	processes found = {0};
	uint32_t first = db->part->source;
	find_processes(db, &found);
	for (size_t i = 0; i < found.n; i++) {
		if (i)
			assay_rocprof_next_source(db->part, first);
		read_process(db, &found.p[i]);
	}
	db->part->source = first;
	db->guid = NULL;
	assay_db_tell_unread(db, is_dull, NULL, 0);
	bool any = found.n > 0;
	assay_vec_free(&found);
	return any;
}

/* The names of tables are usually on the first pages. Without them reading decides. */
static int rocpd_sniff(assay_str head)
{
	if (!assay_is_sqlite(head))
		return 0;
	return assay_str_find(head, "rocpd_") >= 0 ? 98 : 40;
}

const assay_reader assay_reader_rocpd = {
	.name = "rocpd",
	.ends = {".db", ".rocpd", ".rpd"},
	.about = "rocprofv3, rocprof and rocmProfileData SQLite databases",
	.waits = "yes",
	.scopes = "ranges",
	.note = "schemas 3 and 4, .rpd, results.db of rocprof",
	.page = "rocpd",
	.sniff = rocpd_sniff,
	.read = assay_database_read,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_ROCTX | ASSAY_TRAIT_FROM_START,
};

const assay_database assay_database_rocpd = {&assay_reader_rocpd, is_rocpd, rocpd_read};
const assay_database assay_database_first = {&assay_reader_rocpd, assay_rocpd_is_first,
					     assay_rocpd_read_first};
const assay_database assay_database_rpd = {&assay_reader_rocpd, assay_rocpd_is_rpd,
					   assay_rocpd_read_rpd};

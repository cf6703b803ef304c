/* rocprofv3's SQLite database (rocpd), schema 3. Tables of one process end in _<uuid>; the views
 * with the plain names only gather them, and are read where there is nothing else. Ids count per
 * process, so each is read on its own, and names are joined here: SQL joins cost several times the
 * rest. Kernels belong to API calls by event.stack_id; event.correlation_id is the external id. */
#include "read/databases.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
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

/* ---- tests ---- */

/* Tables of the published schema; columns that came with 3.0.2 to 3.0.5 are behind %s. */
static const char *const schema[] = {
	"rocpd_metadata%s(id INTEGER PRIMARY KEY, tag TEXT, value TEXT)",
	"rocpd_string%s(id INTEGER PRIMARY KEY, guid TEXT, string TEXT)",
	"rocpd_info_node%s(id INTEGER PRIMARY KEY, guid TEXT, hash, machine_id, hostname TEXT)",
	"rocpd_info_process%s(id INTEGER PRIMARY KEY, guid TEXT, nid, ppid, pid, init, fini, start, \"end\", command, environment, extdata)",
	"rocpd_info_thread%s(id INTEGER PRIMARY KEY, guid TEXT, nid, ppid, pid, tid, name)",
	"rocpd_info_agent%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, type, absolute_index, logical_index, name, product_name, extdata)",
	"rocpd_info_stream%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, name)",
	"rocpd_info_pmc%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, agent_id, name, symbol)",
	"rocpd_info_kernel_symbol%s(id INTEGER PRIMARY KEY, guid TEXT, kernel_name, display_name, sgpr_count, arch_vgpr_count, accum_vgpr_count)",
	"rocpd_track%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, name_id)",
	"rocpd_event%s(id INTEGER PRIMARY KEY, guid TEXT, category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata)",
	"rocpd_arg%s(id INTEGER PRIMARY KEY, guid TEXT, event_id, position, type, name, value)",
	"rocpd_pmc_event%s(id INTEGER PRIMARY KEY, guid TEXT, event_id, pmc_id, value REAL)",
	"rocpd_region%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", name_id, event_id)",
	"rocpd_sample%s(id INTEGER PRIMARY KEY, guid TEXT, track_id, timestamp, event_id)",
	"rocpd_memory_allocate%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, type, level, start, \"end\", address, size, event_id)",
	NULL};
static const char *const schema_300[] = {
	"rocpd_kernel_dispatch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, "
	"kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size, "
	"group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, "
	"grid_size_y, grid_size_z, region_name_id, event_id)",
	"rocpd_memory_copy%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", "
	"name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, queue_id, stream_id, "
	"event_id)",
	NULL};
static const char *const schema_305[] = {
	"rocpd_kernel_dispatch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, "
	"kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size, "
	"group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, "
	"grid_size_y, grid_size_z, region_name_id, event_id, graph_exec_id, graph_node_id)",
	"rocpd_memory_copy%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, start, \"end\", "
	"name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, queue_id, stream_id, "
	"event_id, graph_exec_id, graph_node_id)",
	"rocpd_hip_event%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, queue_id, start, \"end\", name_id, hip_event_handle, source_queue_id, event_id)",
	"rocpd_graph_launch%s(id INTEGER PRIMARY KEY, guid TEXT, nid, pid, tid, agent_id, queue_id, start, \"end\", graph_exec_id, kernel_dispatch_count, event_id)",
	NULL};

static const char *const rows[] = {
	"rocpd_metadata%s VALUES(1,'schema_version','3.0.x')",
	"rocpd_string%s VALUES(1,'g','HIP_RUNTIME_API_EXT'),(2,'g','hipLaunchKernel'),"
	"(3,'g','KERNEL_DISPATCH'),(4,'g','MARKER_CORE_RANGE_API'),(5,'g','roctxThreadRangeA'),"
	"(6,'g','MEMORY_COPY_HOST_TO_DEVICE'),(7,'g','HIP_EVENT_WAIT')",
	"rocpd_info_node%s VALUES(1,'g',0,'m','host1')",
	"rocpd_info_process%s(id,guid,nid,pid,command) VALUES(77,'g',1,77,'train')",
	"rocpd_info_thread%s VALUES(78,'g',1,1,77,78,'main')",
	"rocpd_info_agent%s VALUES(0,'g',1,77,'CPU',0,0,'EPYC','EPYC','{}'),(2,'g',1,77,'GPU',2,2,'gfx942','AMD Instinct MI300X','{\"cu_count\":304,\"wave_front_size\":64,\"local_mem_size\":0,\"mem_banks\":[{\"heap_type\":1,\"size_in_bytes\":206141652992}]}')",
	"rocpd_info_stream%s VALUES(0,'g',1,77,'default stream'),(3,'g',1,77,'Stream 3')",
	"rocpd_info_pmc%s(id,guid,name) VALUES(1,'g','SQ_WAVES')",
	"rocpd_info_kernel_symbol%s VALUES(7,'g','_Z3addv.kd','add()',32,8,4)",
	"rocpd_track%s VALUES(1,'g',1,77,78,7)",
	"rocpd_event%s(id,guid,category_id,stack_id,parent_stack_id,correlation_id,extdata) VALUES"
	"(1,'g',1,4,4,0,'{}'),(2,'g',3,4,4,9,'{}'),(3,'g',4,5,5,0,'{\"message\":\"step "
	"\\\"1\\\"\"}'),"
	"(4,'g',6,6,6,0,'{}'),(5,'g',4,8,8,0,'{\"message\":\"mark\"}')",
	"rocpd_arg%s VALUES(1,'g',1,0,'hipStream_t','stream','0x0'),(2,'g',1,1,'int','n','5')",
	"rocpd_pmc_event%s(id,guid,event_id,pmc_id,value) VALUES(1,'g',2,1,12.5)",
	"rocpd_region%s VALUES(4,'g',1,77,78,900,950,2,1),(5,'g',1,77,78,880,990,5,3),(6,'g',1,77,78,'x',990,5,3)",
	"rocpd_sample%s VALUES(1,'g',1,1000,5)",
	"rocpd_memory_allocate%s VALUES(1,'g',1,77,78,2,'ALLOC','REAL',10,11,4660,256,NULL),(2,'g',1,77,78,NULL,'FREE','REAL',20,21,4660,0,NULL)",
	"rocpd_kernel_dispatch%s(id,guid,nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,"
	"stream_id,start,\"end\",private_segment_size,group_segment_size,workgroup_size_x,"
	"workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,event_id) "
	"VALUES(1,'g',1,77,78,2,7,1,1,3,1000,1500,16,32,64,1,1,640,1,1,2)",
	"rocpd_memory_copy%s(id,guid,nid,pid,tid,start,\"end\",name_id,dst_agent_id,src_agent_id,size,queue_id,stream_id,event_id) VALUES(1,'g',1,77,78,1600,1700,6,2,0,4096,1,3,4)",
	NULL};
static const char *const rows_305[] = {"rocpd_hip_event%s VALUES(1,'g',1,77,78,2,1,30,35,7,55,4,1)",
				       NULL};

static bool run_all(sqlite3 *sql, const char *verb, const char *const list[], const char *suffix)
{
	bool ok = true;
	for (; *list && ok; list++) {
		char *inner = sqlite3_mprintf(*list, suffix);
		char *text = sqlite3_mprintf("%s %s", verb, inner);
		ok = sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK;
		sqlite3_free(text);
		sqlite3_free(inner);
	}
	return ok;
}

static bool fill(sqlite3 *sql, const char *suffix, bool newest)
{
	return run_all(sql, "CREATE TABLE", schema, suffix) &&
	       run_all(sql, "CREATE TABLE", newest ? schema_305 : schema_300, suffix) &&
	       run_all(sql, "INSERT INTO", rows, suffix) &&
	       (!newest || run_all(sql, "INSERT INTO", rows_305, suffix));
}

static sqlite3 *open_db(const char *path)
{
	sqlite3 *sql = NULL;
	sqlite3_open(path, &sql);
	return sql;
}

static assay_run *read_db(const char *path, bool *ok, assay_err *err)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_open(path, err);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = in && assay_database_read(run, in, err);
	assay_input_close(in);
	return run;
}

static int check_rows(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	CHECK(t->gpu.n == 2 && t->host.n == 3 && t->alloc.n == 2 && t->pmc.n == 1);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "add()"));
	CHECK(t->gpu.ts[0] == 1000 && t->gpu.dur[0] == 500 && t->gpu.corr[0] == 4);
	CHECK(t->gpu.external[0] == 9 && t->gpu.regs[0] == 8 && t->gpu.scalar_regs[0] == 32);
	CHECK(t->gpu.grid_x[0] == 640 && t->gpu.block_x[0] == 64 && t->gpu.shared[0] == 32);
	CHECK_EQ(t->track.pid[t->gpu.track[0]], 2);
	CHECK_EQ(t->track.tid[t->gpu.track[0]], 3);
	CHECK(!strcmp(assay_z(run, t->track.name[t->gpu.track[0]]), "Stream 3"));
	CHECK(t->gpu.kind[1] == ASSAY_GPU_MEMCPY && t->gpu.bytes[1] == 4096);
	CHECK(t->gpu.track[1] == t->gpu.track[0]);
	CHECK(t->host.kind[0] == ASSAY_HOST_RUNTIME && t->api.corr[t->host.detail[0]] == 4);
	CHECK(!strcmp(assay_z(run, t->host.args[0]), "\"stream\": \"0x0\",\"n\": \"5\""));
	CHECK(t->host.kind[1] == ASSAY_HOST_MARKER);
	CHECK(!strcmp(assay_z(run, t->host.name[1]), "step \"1\""));
	CHECK(!strcmp(assay_z(run, t->host.name[2]), "mark") && t->host.dur[2] == 0);
	CHECK(t->track.pid[t->host.track[0]] == 77 && t->track.tid[t->host.track[0]] == 78);
	CHECK(t->alloc.bytes[0] == 256 && t->alloc.bytes[1] == -256 && t->alloc.device[1] == 2);
	CHECK(t->pmc.value[0] == 12.5 && t->pmc.dispatch[0] == 1 && t->pmc.corr[0] == 4);
	CHECK(t->device.n == 1 && t->device.id[0] == 2 && t->device.units[0] == 304);
	CHECK_EQ(t->device.memory[0], 206141652992); /* local_mem_size is 0 in real files */
	CHECK(assay_str_is(assay_meta_get(run, "node.hostname"), "host1"));
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_number], 1);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_no_duration], 1);
	return 0;
}

TEST(rocpd_3_0_0_is_read)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_0199_abc", false));
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	CHECK(ok && !check_rows(run));
	CHECK(run->part.t.gpu.graph[0] == 0 && run->part.t.barrier.n == 0);
	assay_run_free(run);
	return 0;
}

TEST(rocpd_3_0_5_is_read_with_its_new_columns)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_0199_abc", true));
	sqlite3_exec(sql,
		     "UPDATE rocpd_kernel_dispatch_0199_abc SET graph_exec_id=8, graph_node_id=2",
		     NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && !check_rows(run));
	CHECK(t->gpu.graph[0] == 8 && t->gpu.graph_node[0] == 2);
	CHECK(t->barrier.n == 1 && t->barrier.event[0] == 55 && t->barrier.waits[0] == 1);
	CHECK(t->barrier.corr[0] == 4 && t->track.tid[t->mark.track[t->barrier.mark[0]]] == 1);
	assay_run_free(run);
	return 0;
}

/* Event 2 is of the call that launched the kernel, event 3 of one that no other work is of. */
TEST(launches_of_graphs_are_work_where_their_kernels_are_not_there)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	sqlite3_exec(
		sql,
		"INSERT INTO rocpd_graph_launch_a VALUES(1,'g',1,77,78,2,1,1000,1500,5,1,2),(2,'g',1,77,78,2,1,1800,1890,6,12,3)",
		NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_gpu_table *t = &run->part.t.gpu;
	CHECK(ok && t->n == 3 && !strcmp(assay_z(run, t->name[2]), "graph launch"));
	CHECK(t->ts[2] == 1800 && t->dur[2] == 90 && t->corr[2] == 5 && t->graph[2] == 6);
	CHECK_EQ(run->part.t.track.pid[t->track[2]], 2);
	CHECK(!strcmp(assay_z(run, t->args[2]), "\"kernels\": 12"));
	CHECK(assay_meta_get(run, "unread").n == 0);
	assay_run_free(run);
	return 0;
}

TEST(merged_rocpd_databases_keep_their_processes_apart)
{
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", false) && fill(sql, "_b", true));
	sqlite3_exec(
		sql,
		"UPDATE rocpd_string_b SET string='other' WHERE id=2;CREATE VIEW rocpd_string AS SELECT * FROM rocpd_string_a UNION ALL SELECT * FROM rocpd_string_b",
		NULL, NULL, NULL);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->source.n == 2 && t->gpu.n == 4 && t->host.n == 6);
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "hipLaunchKernel"));
	CHECK(!strcmp(assay_z(run, t->host.name[3]), "other"));
	CHECK(t->track.source[t->gpu.track[2]] == 1 && run->part.source == 0);
	assay_run_free(run);
	return 0;
}

/* Run sql for each table rocpd_NAME_a; @ stands for rocpd_NAME. Returns how many there were. */
static int for_tables(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *list = NULL;
	char *all[64];
	int n = 0;
	sqlite3_prepare_v2(
		db,
		"SELECT replace(?1, '@', substr(name, 1, length(name) - 2)) FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_*_a'",
		-1, &list, NULL);
	sqlite3_bind_text(list, 1, sql, -1, NULL);
	while (n < 64 && sqlite3_step(list) == SQLITE_ROW)
		all[n++] = sqlite3_mprintf("%s", sqlite3_column_text(list, 0));
	sqlite3_finalize(list);
	for (int i = 0; i < n; i++) {
		sqlite3_exec(db, all[i], NULL, NULL, NULL); /* some tables have no guid */
		sqlite3_free(all[i]);
	}
	return n;
}

static assay_run *read_variant(const char *statements, bool *ok)
{
	const char *path = assay_test_path("made.db");
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	bool made = fill(sql, "_a", false) && fill(sql, "_b", false);
	sqlite3_exec(sql, "UPDATE rocpd_string_b SET string='other' WHERE id=2", NULL, NULL, NULL);
	for_tables(sql, "UPDATE @_b SET guid = 'h'");
	for_tables(sql, statements);
	made &= for_tables(sql, "") == 0;
	sqlite3_close(sql);
	assay_run *run = read_db(path, ok, &err);
	unlink(path);
	*ok &= made;
	return run;
}

static const char views_of_one[] =
	"DROP TABLE @_b; ALTER TABLE @_a RENAME TO \"t-@\";CREATE VIEW @ AS SELECT * FROM \"t-@\"";
static const char views_of_two[] =
	"ALTER TABLE @_a RENAME TO \"t-@\"; ALTER TABLE @_b RENAME TO \"u-@\";CREATE VIEW @ AS SELECT * FROM \"t-@\" UNION ALL SELECT * FROM \"u-@\"";
static const char tables_of_two[] =
	"CREATE TABLE @ AS SELECT * FROM @_a UNION ALL SELECT * FROM @_b;DROP TABLE @_a; DROP TABLE @_b";

TEST(a_database_that_shows_only_views_is_read_through_them)
{
	bool ok;
	assay_run *run = read_variant(views_of_one, &ok);
	CHECK(ok && run->part.t.source.n == 1 && !check_rows(run));
	CHECK_EQ(run->part.t.source.records[0], 8);
	assay_run_free(run);
	return 0;
}

TEST(processes_that_share_tables_are_told_apart_by_guid)
{
	static const char *const variants[] = {views_of_two, tables_of_two};
	for (size_t i = 0; i < ASSAY_COUNT_OF(variants); i++) {
		bool ok;
		assay_run *run = read_variant(variants[i], &ok);
		const assay_tables *t = &run->part.t;
		CHECK(ok && t->source.n == 2 && t->gpu.n == 4 && t->host.n == 6);
		CHECK(!strcmp(assay_z(run, t->host.name[0]), "hipLaunchKernel"));
		CHECK(!strcmp(assay_z(run, t->host.name[3]), "other"));
		CHECK(t->track.source[t->gpu.track[2]] == 1 && run->part.source == 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_log_beside_the_database_is_read_and_nothing_is_written)
{
	const char *path = assay_test_path("made.db"), *wal = assay_test_path("made.db-wal");
	const char *shm = assay_test_path("made.db-shm");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	sqlite3_exec(sql, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0", NULL, NULL, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	CHECK(fill(sql, "_a", false));
	sqlite3_close(sql);
	CHECK(access(wal, F_OK) == 0);
	unlink(shm);
	assay_run *run = read_db(path, &ok, &err);
	CHECK(ok && !check_rows(run));
	CHECK(access(shm, F_OK) != 0 && access(wal, F_OK) == 0);
	assay_run_free(run);
	unlink(path);
	unlink(wal);
	return 0;
}

static size_t slurp(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(out, 1, size, f) : 0;
	if (f)
		fclose(f);
	return n;
}

static assay_run *read_image(const char *image, size_t n, bool *ok)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(image, n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = assay_database_read(run, in, NULL);
	assay_input_close(in);
	return run;
}

TEST(databases_in_memory_cut_or_corrupt_never_crash)
{
	enum { SIZE = 1 << 20 };
	static char image[SIZE], broken[SIZE];
	const char *path = assay_test_path("made.db");
	bool ok;
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	sqlite3_close(sql);
	size_t n = slurp(path, image, SIZE);
	unlink(path);
	CHECK(n > 4096 && n < SIZE);
	assay_run *run = read_image(image, n, &ok);
	CHECK(ok && !check_rows(run));
	assay_run_free(run);
	for (size_t cut = 0; cut < n; cut += 1499) {
		run = read_image(image, cut, &ok);
		CHECK(!ok || run->part.issues[ASSAY_ISSUE_truncated] == 1);
		CHECK(cut < n / 5 * 4 + 1499 || (ok && run->part.t.host.n == 3));
		assay_run_free(run);
	}
	for (uint32_t seed = 1; seed < 300; seed++) {
		memcpy(broken, image, n);
		for (uint32_t i = 0, r = seed; i < 1 + seed % 50; i++) {
			r = r * 1664525 + 1013904223;
			broken[100 + (r >> 4) % (n - 100)] = (char)(r >> 24);
		}
		assay_run_free(read_image(broken, n, &ok));
	}
	return 0;
}

/* Calls of which each has two arguments, and rows that no honest file has. */
static const char many_calls[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO rocpd_event_a(id,guid,category_id,stack_id,extdata) SELECT 100 + i, 'g', 1, i, '{}' FROM n;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO rocpd_region_a SELECT 100 + i,'g',1,77,78,1000 + i,1001 + i,2,100 + i FROM n WHERE i % 7;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) INSERT INTO rocpd_arg_a SELECT 100 + i,'g',101 + i / 2,i % 2,CASE i % 3 WHEN 0 THEN 'json' ELSE 'int' END,'n' || i % 2,CASE i % 5 WHEN 0 THEN '[1, {]' ELSE i % 90 END FROM n;"
	"INSERT INTO rocpd_arg_a VALUES(9000,'g',120,0,'int','again','1'),(9001,'g',NULL,0,'int','a','1'),(9002,'g','x',0,'int','b','2'),(9003,'g',1e300,0,'int','c','3')";

static uint64_t sum_of_args(const char *image, size_t n, const char *threads)
{
	bool ok;
	setenv("ASSAY_THREADS", threads, 1);
	assay_run *run = read_image(image, n, &ok);
	unsetenv("ASSAY_THREADS");
	uint64_t sum = assay_hash(run->part.issues, sizeof run->part.issues, ok);
	for (size_t i = 0; i < run->part.t.host.n; i++) {
		assay_str args = assay_text(run, run->part.t.host.args[i]);
		sum = assay_hash(args.p, args.n, sum + run->part.t.host.args[i]);
	}
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		sum = sum * 31 + run->part.t.warning.text[i];
	assay_run_free(run);
	return sum;
}

TEST(arguments_of_calls_are_the_same_read_beside_other_tables_and_in_turn)
{
	enum { SIZE = 4 << 20 };
	static char image[SIZE];
	const char *path = assay_test_path("made.db");
	sqlite3 *sql = open_db(path);
	CHECK(fill(sql, "_a", true));
	CHECK(sqlite3_exec(sql, many_calls, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(sql);
	size_t n = slurp(path, image, SIZE);
	unlink(path);
	CHECK(n > 100000 && n < SIZE);
	for (size_t cut = n; cut > n / 3; cut -= n / 9) {
		uint64_t one = sum_of_args(image, cut, "1");
		CHECK_EQ(sum_of_args(image, cut, "2"), one);
		CHECK_EQ(sum_of_args(image, cut, "5"), one);
	}
	return 0;
}

TEST(other_databases_are_refused_in_words)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{"CREATE TABLE x(a)", "without rocpd tables"},
		{"CREATE VIEW rocpd_info_process AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS id FROM n",
		 "without rocpd tables"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		const char *path = assay_test_path("made.db");
		bool ok;
		assay_err err = {0};
		sqlite3 *sql = open_db(path);
		sqlite3_exec(sql, cases[i].sql, NULL, NULL, NULL);
		sqlite3_close(sql);
		assay_run *run = read_db(path, &ok, &err);
		unlink(path);
		CHECK(!ok && err.code == ASSAY_UNKNOWN && strstr(err.text, cases[i].says));
		assay_run_free(run);
	}
	return 0;
}

TEST(rpd_is_read)
{
	static const char text[] =
		"CREATE TABLE rocpd_metadata(id, tag, value);"
		"CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);"
		"CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid, tid, start, \"end\", "
		"apiName_id, "
		"args_id);"
		"CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, "
		"completionSignal, start, \"end\", description_id, opType_id);"
		"CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id, op_id);"
		"CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream, gridX, "
		"gridY, gridZ,"
		"workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, "
		"kernelName_id);"
		"CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType, deviceId, "
		"monitorType, "
		"start, \"end\", value);"
		"INSERT INTO rocpd_metadata VALUES(1,'schema_version','2');"
		"INSERT INTO rocpd_string "
		"VALUES(1,'hipLaunchKernel'),(2,'KernelExecution'),(3,'mul'),"
		"(4,'UserMarker'),(5,'fwd'),(6,'Barrier'),(7,'');"
		"INSERT INTO rocpd_api VALUES(10,1,2,100,110,1,7),(11,1,2,90,200,4,5);"
		"INSERT INTO rocpd_op VALUES(20,0,1,5,'',120,150,3,2),(21,0,1,6,'',160,161,7,6);"
		"INSERT INTO rocpd_api_ops VALUES(1,10,20);"
		"INSERT INTO rocpd_kernelapi VALUES(10,'0x5',8,1,1,64,1,1,0,0,3);"
		"INSERT INTO rocpd_monitor VALUES(1,'gpu',0,'sclk',100,110,'1700')";
	const char *path = assay_test_path("made.db");
	bool ok;
	assay_err err = {0};
	sqlite3 *sql = open_db(path);
	CHECK(sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(sql);
	assay_run *run = read_db(path, &ok, &err);
	unlink(path);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->gpu.n == 1 && t->host.n == 2 && t->mark.n == 1 && t->counter.n == 1);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "mul") && t->gpu.corr[0] == 10);
	CHECK(t->gpu.grid_x[0] == 8 && t->gpu.block_x[0] == 64 && t->gpu.dispatch[0] == 5);
	CHECK(!strcmp(assay_z(run, t->gpu.args[0]), "\"stream\": \"0x5\""));
	CHECK(t->host.kind[1] == ASSAY_HOST_MARKER &&
	      !strcmp(assay_z(run, t->host.name[1]), "fwd"));
	CHECK(t->api.corr[t->host.detail[0]] == 10 && t->counter.value[0] == 1700);
	assay_run_free(run);
	return 0;
}

TEST(rocpd_is_known_by_magic_and_table_names)
{
	CHECK(rocpd_sniff((assay_str){"SQLite format 3\0....rocpd_string", 32}) > 90);
	CHECK(rocpd_sniff((assay_str){"SQLite format 3\0.....", 20}) > 0);
	CHECK(rocpd_sniff(ASSAY_S("SQLite format 2 rocpd_")) == 0);
	return 0;
}

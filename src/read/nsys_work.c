/* GPU work of an nsys export, the calls behind it, and what orders it. */
#include "base/fmt.h"
#include "names/syncs.h"
#include "read/copy_name.h"
#include "read/nsys.h"
#include "read/rocprof.h"

/* Columns that all device activity has, in this order. */
#define WORK_COLUMNS                                                                               \
	"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",         \
		"graphNodeId"
enum { START, END, DEVICE, CONTEXT, STREAM, CORR, PID, NODE, MORE };

static uint32_t u32_at(nsys *n, int column, uint32_t absent)
{
	int64_t v = nsys_number(n, column, -1);
	return v < 0 ? absent : assay_rocprof_u32(n->part, (uint64_t)v, absent);
}

static uint16_t u16_at(nsys *n, int column, uint16_t absent)
{
	int64_t v = nsys_number(n, column, -1);
	return v < 0 ? absent : assay_rocprof_u16(n->part, (uint64_t)v, absent);
}

/* The process of all calls, for exports cut down to tables whose work does not say its own; 0 when
 * work says it, or calls are of several. */
static int64_t only_process(nsys *n)
{
	int64_t pid, only = 0;
	bool told = assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_KERNEL",
				    ASSAY_DB_COLUMNS("globalPid")) &&
		    assay_db_next(n->db) && assay_db_i64(n->db, 0, &pid);
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_RUNTIME", ASSAY_DB_COLUMNS("globalTid"));
	     !told && assay_db_next(n->db);) {
		pid = assay_db_int(n->db, 0, 0);
		if (only && only >> 24 != pid >> 24)
			return 0;
		only = pid;
	}
	return only;
}

/* Devices that have a context lie beside the contexts, whose numbers have 32 bits. */
static uint64_t device_key(const nsys *n, int64_t device)
{
	return nsys_corr_key(n, 1ull << 32 | (uint32_t)device);
}

static void learn_context(nsys *n, uint64_t context, int64_t device)
{
	uint32_t *slot = assay_map_at(&n->device_of, nsys_corr_key(n, context));
	if (*slot == (uint32_t)device)
		return;
	*slot = (uint32_t)device;
	*assay_map_at(&n->device_of, device_key(n, device)) = 1;
}

/* A row of gpu from the shared columns; ASSAY_NO_ROW when it has no time. */
static uint32_t add_work(nsys *n, assay_gpu_kind kind)
{
	int64_t ts, dur, device = nsys_number(n, DEVICE, -1);
	if (!nsys_span(n, START, &ts, &dur))
		return ASSAY_NO_ROW;
	nsys_process(n, assay_db_int(n->db, PID, n->only), true);
	uint32_t track = assay_stream_track(n->part, device, nsys_number(n, STREAM, -1));
	uint32_t g = assay_add(&n->part->t, ASSAY_T_gpu);
	assay_gpu_table *t = &n->part->t.gpu;
	t->kind[g] = (uint8_t)kind;
	t->ts[g] = ts;
	t->dur[g] = dur < 0 ? 0 : dur;
	t->track[g] = track;
	t->corr[g] = (uint64_t)nsys_number(n, CORR, 0);
	t->context[g] = u32_at(n, CONTEXT, UINT32_MAX);
	t->graph_node[g] = (uint64_t)nsys_number(n, NODE, 0);
	if (device >= 0 && t->context[g] != UINT32_MAX)
		learn_context(n, t->context[g], device);
	return g;
}

static uint32_t sum_or_absent(uint32_t a, uint32_t b)
{
	return a == UINT32_MAX || b == UINT32_MAX ? UINT32_MAX : a + b;
}

static void read_kernels(nsys *n)
{
	enum {
		NAME = MORE,
		SHORT,
		MANGLED,
		REGS,
		GX,
		GY,
		GZ,
		BX,
		BY,
		BZ,
		STATIC,
		DYNAMIC,
		LOCAL,
		GRAPH
	};
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_KERNEL",
			     ASSAY_DB_COLUMNS(WORK_COLUMNS, "demangledName", "shortName",
					      "mangledName", "registersPerThread", "gridX", "gridY",
					      "gridZ", "blockX", "blockY", "blockZ",
					      "staticSharedMemory", "dynamicSharedMemory",
					      "localMemoryPerThread", "graphId"));
	     assay_db_next(n->db);) {
		uint32_t g = add_work(n, ASSAY_GPU_KERNEL);
		assay_gpu_table *t = &n->part->t.gpu;
		if (g == ASSAY_NO_ROW)
			continue;
		assay_sid name = nsys_string(n, NAME);
		name = name ? name : nsys_string(n, SHORT);
		name = name ? name : nsys_string(n, MANGLED);
		if (!name)
			assay_count(n->part, ASSAY_ISSUE_no_name, 1);
		t->name[g] = name ? name : nsys_name(n, NAME);
		t->regs[g] = u16_at(n, REGS, UINT16_MAX);
		t->grid_x[g] = u32_at(n, GX, 0);
		t->grid_y[g] = u32_at(n, GY, 0);
		t->grid_z[g] = u32_at(n, GZ, 0);
		t->block_x[g] = u16_at(n, BX, 0);
		t->block_y[g] = u16_at(n, BY, 0);
		t->block_z[g] = u16_at(n, BZ, 0);
		t->shared[g] = sum_or_absent(u32_at(n, STATIC, UINT32_MAX),
					     u32_at(n, DYNAMIC, UINT32_MAX));
		t->scratch[g] = u32_at(n, LOCAL, UINT32_MAX);
		t->graph[g] = u32_at(n, GRAPH, 0);
	}
}

/* nsys counts kinds of memory from 0 and has unknown last; CUPTI has unknown first. */
static unsigned memory_kind(nsys *n, int column)
{
	int64_t kind = assay_db_int(n->db, column, 7);
	return kind >= 0 && kind < 7 ? (unsigned)kind + 1 : 0;
}

/* Kinds 11 to 13 are migrations of managed memory. */
static assay_sid copy_name(nsys *n, int64_t kind, unsigned from, unsigned to)
{
	static const unsigned unified[] = {1, 2, 8};
	assay_pool *pool = &n->part->strings;
	return kind >= 11 && kind <= 13
		       ? assay_migration_name(pool, unified[kind - 11])
		       : assay_copy_name(pool, kind > 0 ? (unsigned)kind : 0, from, to);
}

static void read_copies(nsys *n)
{
	enum { BYTES = MORE, KIND, FROM, TO };
	for (assay_db_select(
		     n->db, "CUPTI_ACTIVITY_KIND_MEMCPY",
		     ASSAY_DB_COLUMNS(WORK_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind"));
	     assay_db_next(n->db);) {
		uint32_t g = add_work(n, ASSAY_GPU_MEMCPY);
		if (g == ASSAY_NO_ROW)
			continue;
		n->part->t.gpu.bytes[g] = assay_db_int(n->db, BYTES, -1);
		n->part->t.gpu.name[g] = copy_name(n, assay_db_int(n->db, KIND, 0),
						   memory_kind(n, FROM), memory_kind(n, TO));
	}
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_MEMSET",
			     ASSAY_DB_COLUMNS(WORK_COLUMNS, "bytes", "memKind"));
	     assay_db_next(n->db);) {
		uint32_t g = add_work(n, ASSAY_GPU_MEMSET);
		if (g == ASSAY_NO_ROW)
			continue;
		n->part->t.gpu.bytes[g] = assay_db_int(n->db, MORE, -1);
		n->part->t.gpu.name[g] =
			assay_memset_name(&n->part->strings, memory_kind(n, MORE + 1));
	}
}

/* Exports of whole graphs have no rows of their nodes. */
static void read_graphs(nsys *n)
{
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
			     ASSAY_DB_COLUMNS(WORK_COLUMNS, "graphId", "graphExecId"));
	     assay_db_next(n->db);) {
		int64_t exec;
		uint32_t g = add_work(n, ASSAY_GPU_KERNEL);
		if (g == ASSAY_NO_ROW)
			continue;
		n->part->t.gpu.name[g] = assay_intern_z(&n->part->strings, "graph launch");
		n->part->t.gpu.graph[g] = u32_at(n, MORE, 0);
		nsys_args_begin(n);
		if (assay_db_i64(n->db, MORE + 1, &exec))
			assay_jsonw_i64(&n->args, "graphExecId", exec);
		n->part->t.gpu.args[g] = nsys_args_end(n);
	}
}

/* ---- calls ---- */

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel of API version 7000; "_v2" belongs to a name. */
static assay_sid call_name(nsys *n, int column)
{
	assay_sid sid = nsys_name(n, column);
	assay_str s = assay_pool_get(&n->part->strings, sid);
	size_t digits = assay_digits_last(s);
	bool version = digits >= 4 && s.n > digits + 2 && s.p[s.n - digits - 1] == 'v' &&
		       s.p[s.n - digits - 2] == '_';
	return version ? assay_intern(&n->part->strings, (assay_str){s.p, s.n - digits - 2}) : sid;
}

static void read_calls(nsys *n, const assay_db_ids *chains)
{
	enum { CLASS = 2, TID, CALL_CORR, NAME, STATUS, CHAIN };
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_RUNTIME",
			     ASSAY_DB_COLUMNS("start", "end", "eventClass", "globalTid",
					      "correlationId", "nameId", "returnValue",
					      "callchainId"));
	     assay_db_next(n->db);) {
		int64_t ts, dur, kind = assay_db_int(n->db, CLASS, 0);
		/* class 67 of old exports repeats calls to carry a backtrace */
		if ((kind != 0 && kind != 1) || !nsys_span(n, START, &ts, &dur))
			continue;
		int64_t tid = assay_db_int(n->db, TID, 0);
		nsys_process(n, tid, true);
		uint64_t corr = (uint64_t)nsys_number(n, CALL_CORR, 0);
		uint32_t track = nsys_thread(n, tid);
		uint32_t h =
			assay_rocprof_host(n->part, kind ? ASSAY_HOST_DRIVER : ASSAY_HOST_RUNTIME,
					   corr, 0, (assay_str){0});
		uint32_t stack = assay_db_ids_get(chains, assay_db_int(n->db, CHAIN, -1));
		assay_host_table *t = &n->part->t.host;
		assay_api_table *api = &n->part->t.api;
		t->ts[h] = ts;
		t->dur[h] = dur;
		t->track[h] = track;
		t->name[h] = call_name(n, NAME);
		api->status[t->detail[h]] = (int32_t)assay_db_int(n->db, STATUS, ASSAY_NO_STATUS);
		if (stack != ASSAY_MAP_ABSENT)
			api->stack[t->detail[h]] = stack;
		if (corr)
			*assay_map_at(&n->call_of, nsys_corr_key(n, corr)) = h;
	}
}

/* ---- what orders work ---- */

/* syncType means different things in different versions: the call's name decides. NULL for a
 * synchronous copy or allocation, whose call is the wait itself. */
static const char *sync_name(const nsys *n, uint64_t corr, int64_t type)
{
	uint32_t h = assay_map_get(&n->call_of, nsys_corr_key(n, corr));
	if (h == ASSAY_MAP_ABSENT)
		return assay_sync_name[type > 0 && type < ASSAY_SYNC_COUNT ? type : 0];
	assay_sync sync =
		assay_sync_of_call(assay_pool_get(&n->part->strings, n->part->t.host.name[h]));
	return sync == ASSAY_SYNC_UNKNOWN ? NULL : assay_sync_name[sync];
}

/* Contexts without work have a device, too. */
static void read_contexts(nsys *n)
{
	for (assay_db_select(n->db, "TARGET_INFO_CUDA_CONTEXT_INFO",
			     ASSAY_DB_COLUMNS("processId", "vmId", "contextId", "deviceId"));
	     assay_db_next(n->db);) {
		int64_t context = assay_db_int(n->db, 2, -1), device = nsys_number(n, 3, -1);
		if (!nsys_process(n, nsys_global_pid(n, 0, 1), false) || device < 0)
			continue;
		learn_context(n, (uint64_t)context, device);
	}
}

/* deviceId of waits is 0 for contexts of other devices too: a process has one of each, so that it
 * is not this one's when another context is. */
static int64_t context_device(const nsys *n, uint32_t context, int64_t told)
{
	uint32_t known = assay_map_get(&n->device_of, nsys_corr_key(n, context));
	if (known != ASSAY_MAP_ABSENT)
		return known;
	return assay_map_get(&n->device_of, device_key(n, told)) == ASSAY_MAP_ABSENT ? told : -1;
}

static void read_event_records(nsys *n, assay_map *by_sync)
{
	enum { RDEVICE, RCONTEXT, RSTREAM, RCORR, RPID, REVENT, RSYNC, RTIME };
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
			     ASSAY_DB_COLUMNS("deviceId", "contextId", "streamId", "correlationId",
					      "globalPid", "eventId", "eventSyncId", "timestamp"));
	     assay_db_next(n->db);) {
		nsys_process(n, assay_db_int(n->db, RPID, 0), true);
		uint32_t context = u32_at(n, RCONTEXT, UINT32_MAX);
		int64_t device = context_device(n, context, nsys_number(n, RDEVICE, -1));
		uint32_t track = assay_stream_track(n->part, device, nsys_number(n, RSTREAM, -1));
		uint32_t r = assay_add(&n->part->t, ASSAY_T_event_record);
		assay_event_record_table *e = &n->part->t.event_record;
		e->track[r] = track;
		e->context[r] = context;
		e->corr[r] = (uint64_t)nsys_number(n, RCORR, 0);
		e->event[r] = (uint64_t)nsys_number(n, REVENT, 0);
		e->sync_id[r] = (uint64_t)nsys_number(n, RSYNC, 0);
		e->ts[r] = assay_db_int(n->db, RTIME, 0);
		if (e->sync_id[r])
			*assay_map_at(by_sync, nsys_corr_key(n, e->sync_id[r])) = r;
	}
}

static void read_syncs(nsys *n, const assay_map *by_sync)
{
	enum { SDEVICE = 2, SCONTEXT, SSTREAM, SCORR, SPID, STYPE, SEVENT, SSYNC };
	for (assay_db_select(n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
			     ASSAY_DB_COLUMNS("start", "end", "deviceId", "contextId", "streamId",
					      "correlationId", "globalPid", "syncType", "eventId",
					      "eventSyncId"));
	     assay_db_next(n->db);) {
		int64_t ts, dur;
		if (!nsys_span(n, START, &ts, &dur))
			continue;
		nsys_process(n, assay_db_int(n->db, SPID, 0), true);
		uint64_t corr = (uint64_t)nsys_number(n, SCORR, 0);
		const char *name = sync_name(n, corr, assay_db_int(n->db, STYPE, 0));
		if (!name)
			continue;
		uint32_t context = u32_at(n, SCONTEXT, UINT32_MAX);
		int64_t device = context_device(n, context, nsys_number(n, SDEVICE, -1));
		uint32_t track = assay_stream_track(n->part, device, nsys_number(n, SSTREAM, -1));
		uint32_t r = assay_add(&n->part->t, ASSAY_T_sync);
		assay_sync_table *t = &n->part->t.sync;
		const assay_event_record_table *e = &n->part->t.event_record;
		t->ts[r] = ts;
		t->dur[r] = dur;
		t->name[r] = assay_intern_z(&n->part->strings, name);
		t->track[r] = track;
		t->corr[r] = corr;
		t->context[r] = context;
		t->event[r] = nsys_number(n, SEVENT, -1);
		t->sync_id[r] = (uint64_t)nsys_number(n, SSYNC, 0);
		uint32_t record = t->sync_id[r]
					  ? assay_map_get(by_sync, nsys_corr_key(n, t->sync_id[r]))
					  : ASSAY_MAP_ABSENT;
		if (record == ASSAY_MAP_ABSENT)
			continue;
		t->record_corr[r] = (int64_t)e->corr[record];
		t->wait_stream[r] = n->part->t.track.tid[e->track[record]];
	}
}

void nsys_read_work(nsys *n)
{
	assay_db_ids chains = {0};
	assay_map by_sync = {0};
	nsys_read_chains(n, "CUDA_CALLCHAINS", &chains, NULL);
	n->only = only_process(n);
	read_kernels(n);
	read_copies(n);
	read_graphs(n);
	read_calls(n, &chains);
	read_contexts(n);
	read_event_records(n, &by_sync);
	read_syncs(n, &by_sync);
	assay_db_ids_free(&chains);
	assay_map_free(&by_sync);
}

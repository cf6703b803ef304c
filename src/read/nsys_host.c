/* What an nsys export says of the host: ranges, threads, system calls, overhead, samples,
 * memory. */
#include "read/nsys.h"
#include "read/rocprof.h"

/* ---- stacks ---- */

/* "[Unknown]" of "[Unknown]": no symbol. */
static uint32_t code_row(nsys *n, assay_sid function, assay_sid file)
{
	bool python = assay_str_ends(assay_pool_get(&n->part->strings, file), ".py");
	return assay_stacks_code(&n->stacks, python ? ASSAY_CODE_PYTHON : ASSAY_CODE_NATIVE, file,
				 function == file ? 0 : function, -1, -1);
}

enum { FRAMES_MAX = 2048 };
typedef assay_vec(uint32_t) frame_list;

/* Frames come innermost first. With a place for `calls`, those outside Python go there; libraries
 * between two functions of Python are the interpreter's own. */
static void end_chain(nsys *n, int64_t id, frame_list *frames, assay_db_ids *chains,
		      assay_db_ids *calls)
{
	uint32_t stack = ASSAY_NO_ROW, outside = ASSAY_NO_ROW;
	for (size_t i = frames->n; i-- > 0;) {
		bool python = n->part->t.code.kind[frames->p[i]] == ASSAY_CODE_PYTHON;
		uint32_t *chain = calls && !python ? &outside : &stack;
		*chain = assay_stacks_call(&n->stacks, *chain, frames->p[i], -1);
		if (python)
			outside = ASSAY_NO_ROW;
	}
	if (stack != ASSAY_NO_ROW && id >= 0)
		assay_db_ids_set(chains, id, stack);
	if (outside != ASSAY_NO_ROW && id >= 0)
		assay_db_ids_set(calls, id, outside);
	frames->n = 0;
}

void nsys_read_chains(nsys *n, const char *table, assay_db_ids *chains, assay_db_ids *calls)
{
	frame_list frames = {0};
	int64_t id = -1;
	for (assay_db_select(n->db, table, ASSAY_DB_COLUMNS("id", "symbol", "module"));
	     assay_db_next(n->db);) {
		int64_t next = assay_db_int(n->db, 0, -1);
		if (next != id)
			end_chain(n, id, &frames, chains, calls);
		id = next;
		if (frames.n < FRAMES_MAX)
			*assay_push(&frames) = code_row(n, nsys_string(n, 1), nsys_string(n, 2));
	}
	end_chain(n, id, &frames, chains, calls);
	assay_vec_free(&frames);
}

bool nsys_taken(nsys *n, int64_t global)
{
	bool taken = nsys_process(n, global, n->any);
	n->passed += !taken;
	return taken;
}

/* cpuCycles 1 is a sample of time; other rows carry the stack of a scheduling event. */
static void read_samples(nsys *n)
{
	assay_db_ids chains = {0}, calls = {0};
	nsys_read_chains(n, "SAMPLING_CALLCHAINS", &chains, &calls);
	for (assay_db_select(n->db, "COMPOSITE_EVENTS",
			     ASSAY_DB_COLUMNS("id", "start", "globalTid", "cpuCycles"));
	     assay_db_next(n->db);) {
		int64_t ts, tid = assay_db_int(n->db, 2, 0);
		if (assay_db_int(n->db, 3, 0) == 0 || !assay_db_i64(n->db, 1, &ts) ||
		    !nsys_taken(n, tid))
			continue;
		uint32_t track = nsys_thread(n, tid);
		int64_t chain = assay_db_int(n->db, 0, -1);
		uint32_t stack = assay_db_ids_get(&chains, chain);
		uint32_t outside = assay_db_ids_get(&calls, chain);
		uint32_t r = assay_add(&n->part->t, ASSAY_T_sample);
		assay_sample_table *s = &n->part->t.sample;
		s->ts[r] = ts;
		s->dur[r] = 0;
		s->track[r] = track;
		s->count[r] = 1;
		s->state[r] = ASSAY_THREAD_RUNNING;
		if (stack != ASSAY_MAP_ABSENT)
			s->stack[r] = stack;
		if (outside != ASSAY_MAP_ABSENT)
			s->calls[r] = outside;
		s->native[r] = assay_stacks_library(n->part, s->calls[r]);
	}
	assay_db_ids_free(&chains);
	assay_db_ids_free(&calls);
}

/* ---- NVTX ---- */

enum {
	NVTX_CATEGORY = 33,
	NVTX_MARK = 34,
	NVTX_THREAD = 39,
	NVTX_PUSH = 59,
	NVTX_START = 60,
	NVTX_DOMAIN = 75
};
enum { N_START, N_END, N_TYPE, N_TEXT, N_TID, N_TEXT_ID, N_DOMAIN, N_CATEGORY, N_VALUE };
enum { N_INTS = 4, N_FLOATS = 2, N_JSON = N_VALUE + N_INTS + N_FLOATS, N_JSON_ID, N_BINARY };
#define NVTX_COLUMNS                                                                               \
	ASSAY_DB_COLUMNS("start", "end", "eventType", "text", "globalTid", "textId", "domainId",   \
			 "category", "int64Value", "uint64Value", "int32Value", "uint32Value",     \
			 "doubleValue", "floatValue", "jsonText", "jsonTextId", "binaryData")

static assay_sid nvtx_name(nsys *n)
{
	assay_str text = assay_db_text(n->db, N_TEXT);
	return text.n ? assay_intern(&n->part->strings, text) : nsys_name(n, N_TEXT_ID);
}

/* Domains and categories are numbered by process; category 0 stands for the domain itself. */
static uint64_t domain_key(int64_t global, int64_t domain, int64_t category)
{
	uint64_t key[] = {(uint64_t)global >> 24, (uint64_t)domain, (uint64_t)category};
	return assay_hash(key, sizeof key, 0);
}

/* They are told of once a process, maybe after their ranges. */
static void read_domains(nsys *n)
{
	for (assay_db_select(n->db, "NVTX_EVENTS", NVTX_COLUMNS); assay_db_next(n->db);) {
		int64_t type = assay_db_int(n->db, N_TYPE, 0);
		int64_t category = type == NVTX_CATEGORY ? assay_db_int(n->db, N_CATEGORY, 0) : 0;
		if (type == NVTX_DOMAIN || category)
			*assay_map_at(&n->domain_of, domain_key(assay_db_int(n->db, N_TID, 0),
								assay_db_int(n->db, N_DOMAIN, 0),
								category)) = nvtx_name(n);
	}
}

static void put_named(nsys *n, assay_jsonw *w, const char *key, int64_t tid, int64_t category)
{
	int64_t domain = assay_db_int(n->db, N_DOMAIN, 0);
	if (!domain && !category)
		return;
	uint32_t name = assay_map_get(&n->domain_of, domain_key(tid, domain, category));
	if (name != ASSAY_MAP_ABSENT && name)
		assay_jsonw_str(w, key, assay_pool_get(&n->part->strings, name));
}

/* A value stands in the column of its type. */
static void put_payload(nsys *n, assay_jsonw *w)
{
	int64_t v;
	double d;
	for (int i = 0; i < N_INTS; i++)
		if (assay_db_i64(n->db, N_VALUE + i, &v)) {
			assay_jsonw_i64(w, "payload", v);
			return;
		}
	for (int i = N_INTS; i < N_INTS + N_FLOATS; i++)
		if (assay_db_f64(n->db, N_VALUE + i, &d)) {
			assay_jsonw_f64(w, "payload", d);
			return;
		}
}

/* Text of structured payloads, where the export was asked for it. */
static void put_json(nsys *n, assay_jsonw *w)
{
	assay_str text = assay_db_text(n->db, N_JSON);
	if (!text.n)
		text = assay_pool_get(&n->part->strings, nsys_string(n, N_JSON_ID));
	if (text.n)
		assay_jsonw_str(w, "json", text);
}

static assay_sid nvtx_args(nsys *n, int64_t tid)
{
	assay_jsonw *w = nsys_args_begin(n);
	int64_t category = assay_db_int(n->db, N_CATEGORY, 0);
	put_named(n, w, "domain", tid, 0);
	if (category)
		put_named(n, w, "category", tid, category);
	put_payload(n, w);
	put_json(n, w);
	assay_str binary = assay_db_text(n->db, N_BINARY);
	if (binary.n)
		nsys_put_payload(n, w, binary);
	return nsys_args_end(n);
}

static void read_nvtx(nsys *n)
{
	read_domains(n);
	nsys_read_schemas(n);
	for (assay_db_select(n->db, "NVTX_EVENTS", NVTX_COLUMNS); assay_db_next(n->db);) {
		int64_t ts, dur, tid = assay_db_int(n->db, N_TID, 0);
		int64_t type = assay_db_int(n->db, N_TYPE, 0);
		bool thread = type == NVTX_THREAD;
		if (!thread && type != NVTX_MARK && type != NVTX_PUSH && type != NVTX_START)
			continue;
		nsys_process(n, tid, true);
		uint32_t track = nsys_thread(n, tid);
		assay_sid name = nvtx_name(n);
		if (thread) {
			n->part->t.track.name[track] = name;
			continue;
		}
		if (!nsys_span(n, N_START, &ts, &dur))
			continue;
		uint32_t h = assay_rocprof_host(
			n->part, type == NVTX_START ? ASSAY_HOST_PROCESS_RANGE : ASSAY_HOST_MARKER,
			0, 0, (assay_str){0});
		assay_host_table *t = &n->part->t.host;
		t->ts[h] = ts;
		t->dur[h] = type == NVTX_MARK ? 0 : dur; /* -1: never closed */
		t->name[h] = name;
		t->track[h] = track;
		t->args[h] = nvtx_args(n, tid);
	}
}

/* ---- threads, system calls, overhead ---- */

static void read_names(nsys *n)
{
	for (assay_db_select(n->db, "ThreadNames", ASSAY_DB_COLUMNS("nameId", "globalTid"));
	     assay_db_next(n->db);) {
		int64_t tid = assay_db_int(n->db, 1, 0);
		if (nsys_process(n, tid, false)) {
			uint32_t track = nsys_thread(n, tid);
			if (!n->part->t.track.name[track])
				n->part->t.track.name[track] = nsys_string(n, 0);
		}
	}
	for (assay_db_select(n->db, "PROCESSES", ASSAY_DB_COLUMNS("globalPid", "name"));
	     assay_db_next(n->db);) {
		assay_sid name = 0;
		if (!nsys_process(n, assay_db_int(n->db, 0, 0), false))
			continue;
		name = assay_intern(&n->part->strings, assay_db_text(n->db, 1));
		assay_track_table *t = &n->part->t.track;
		for (size_t i = 0; i < t->n; i++)
			if (t->source[i] == n->part->source && t->kind[i] == ASSAY_TRACK_THREAD)
				t->process[i] = name;
	}
}

/* Tables of spans with a start, an end, a thread and a name by id; numbers of theirs that are told
 * as arguments. */
enum { SPAN_ARGS = 6, SPAN_FIRST_ARG = 4 };
typedef struct span_table {
	const char *table, *name;
	assay_host_kind kind;
	const char *category;
	const char *args[SPAN_ARGS];
} span_table;

static const span_table spans[] = {
	{"OSRT_API", "nameId", ASSAY_HOST_OTHER, "osrt", {0}},
	{"CUPTI_ACTIVITY_KIND_OVERHEAD", "nameId", ASSAY_HOST_OVERHEAD, "overhead", {0}},
	{"PROFILER_OVERHEAD", "nameId", ASSAY_HOST_OVERHEAD, "overhead", {0}},
	{"CUPTI_ACTIVITY_KIND_JIT", "nameId", ASSAY_HOST_OTHER, "jit", {0}},
	{"CUBLAS_EVENTS", "nameId", ASSAY_HOST_OTHER, "cublas", {0}},
	{"CUDNN_EVENTS", "nameId", ASSAY_HOST_OTHER, "cudnn", {0}},
	{"CUDA_GRAPH_NODE_EVENTS",
	 "nameId",
	 ASSAY_HOST_OTHER,
	 "cuda_graph",
	 {"graphNodeId", "originalGraphNodeId"}},
	{"CUDA_GRAPH_EVENTS",
	 "nameId",
	 ASSAY_HOST_OTHER,
	 "cuda_graph",
	 {"graphId", "originalGraphId", "graphExecId", "graphNodeId", "originalGraphNodeId"}},
	{"MPI_P2P_EVENTS",
	 "textId",
	 ASSAY_HOST_OTHER,
	 "mpi",
	 {"commHandle", "tag", "remoteRank", "size", "requestHandle"}},
	{"MPI_COLLECTIVES_EVENTS",
	 "textId",
	 ASSAY_HOST_OTHER,
	 "mpi",
	 {"commHandle", "rootRank", "size", "recvSize", "requestHandle"}},
	{"MPI_START_WAIT_EVENTS", "textId", ASSAY_HOST_OTHER, "mpi", {"requestHandle"}},
	{"MPI_OTHER_EVENTS", "textId", ASSAY_HOST_OTHER, "mpi", {0}},
	{"UCP_SUBMIT_EVENTS",
	 "textId",
	 ASSAY_HOST_OTHER,
	 "ucx",
	 {"bufferAddr", "packedSize", "peerWorkerUid", "tag"}},
	{"UCP_PROGRESS_EVENTS",
	 "textId",
	 ASSAY_HOST_OTHER,
	 "ucx",
	 {"bufferAddr", "packedSize", "peerWorkerUid", "tag"}},
	{"UCP_EVENTS", "textId", ASSAY_HOST_OTHER, "ucx", {0}},
	{"OPENACC_LAUNCH_EVENTS", "nameId", ASSAY_HOST_OTHER, "openacc", {0}},
	{"OPENACC_DATA_EVENTS", "nameId", ASSAY_HOST_OTHER, "openacc", {0}},
	{"OPENACC_OTHER_EVENTS", "nameId", ASSAY_HOST_OTHER, "openacc", {0}},
};

static assay_sid span_args(nsys *n, const span_table *s)
{
	int64_t v;
	nsys_args_begin(n);
	for (int i = 0; i < SPAN_ARGS && s->args[i]; i++)
		if (assay_db_i64(n->db, SPAN_FIRST_ARG + i, &v))
			assay_jsonw_i64(&n->args, s->args[i], v);
	return nsys_args_end(n);
}

static void read_spans(nsys *n, const span_table *s)
{
	const char *columns[SPAN_FIRST_ARG + SPAN_ARGS] = {"start", "end", "globalTid", s->name};
	int count = SPAN_FIRST_ARG;
	for (int i = 0; i < SPAN_ARGS && s->args[i]; i++)
		columns[count++] = s->args[i];
	for (assay_db_select(n->db, s->table, columns, count); assay_db_next(n->db);) {
		int64_t ts, dur, tid = assay_db_int(n->db, 2, 0);
		if (!nsys_taken(n, tid) || !nsys_span(n, 0, &ts, &dur))
			continue;
		uint32_t track = nsys_thread(n, tid);
		uint32_t h = assay_rocprof_host(n->part, s->kind, 0, 0, assay_str_of(s->category));
		assay_host_table *t = &n->part->t.host;
		t->ts[h] = ts;
		t->dur[h] = dur;
		t->track[h] = track;
		t->name[h] = nsys_name(n, 3);
		t->args[h] = span_args(n, s);
	}
}

/* ---- memory ---- */

static void read_memory(nsys *n)
{
	for (assay_db_select(n->db, "CUDA_GPU_MEMORY_USAGE_EVENTS",
			     ASSAY_DB_COLUMNS("start", "globalPid", "deviceId", "address", "bytes",
					      "memoryOperationType", "correlationId", "memKind"));
	     assay_db_next(n->db);) {
		int64_t ts, pid = assay_db_int(n->db, 1, 0), bytes = assay_db_int(n->db, 4, 0);
		int64_t kind = assay_db_int(n->db, 7, 2);
		if (!assay_db_i64(n->db, 0, &ts))
			continue;
		nsys_process(n, pid, true);
		uint32_t track = nsys_thread(n, pid);
		uint32_t r = assay_add(&n->part->t, ASSAY_T_alloc);
		assay_alloc_table *a = &n->part->t.alloc;
		bool gives_back = assay_db_int(n->db, 5, 0) == 1;
		a->ts[r] = ts;
		a->track[r] = track;
		a->addr[r] = (uint64_t)assay_db_int(n->db, 3, 0);
		a->bytes[r] = gives_back ? -bytes : bytes;
		a->device[r] = kind == 0 || kind == 1 ? -1 : (int32_t)nsys_number(n, 2, -1);
		a->corr[r] = (uint64_t)nsys_number(n, 6, 0);
	}
}

void nsys_read_host(nsys *n)
{
	read_nvtx(n);
	n->any = !n->used;
	for (size_t i = 0; i < ASSAY_COUNT_OF(spans); i++)
		read_spans(n, &spans[i]);
	read_samples(n);
	nsys_read_sched(n);
	read_memory(n);
	nsys_read_metrics(n);
	read_names(n);
}

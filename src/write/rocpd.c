/* A rocpd database (schema 3.0.0) as rocprofv3 writes it from ROCm 7 on, one set of tables for each
 * process. docs/formats/rocpd.md; what AMD's tools want of it: every row has its event, thread and
 * agents, and region_name_id is 1, the empty string, where there is nothing. */
#include "write/rocpd_process.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/sqlite.h"
#include "base/test.h"
#include "names/copies.h"
#include "model/grid.h"
#include "write/sdk_names.h"
#include "write/sources.h"
#include "write/writer.h"

static int64_t string_id(rocpd *o, assay_str s)
{
	size_t before = o->strings.str.n;
	int64_t id = (int64_t)assay_intern(&o->strings, s) + 1;
	if (s.n && o->strings.str.n != before) {
		SET_TEXT(o, string, string, s);
		rocpd_put(&o->db, ROCPD_T_string, id);
	}
	return id;
}

static int64_t when(const rocpd *o, uint32_t track, int64_t ts)
{
	uint32_t source = track == ASSAY_NO_ROW ? o->group : o->t->track.source[track];
	return assay_source_absolute(o->at, source, ts) + o->shift;
}

static void put_metadata(rocpd *o, bool epoch)
{
	const struct {
		const char *tag, *value;
	} facts[] = {{"schema_version", "3"},
		     {"uuid", o->db.suffix},
		     {"guid", o->db.guid},
		     {"assay.epoch", epoch ? "1" : "0"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++) {
		SET_TEXT(o, metadata, tag, assay_str_of(facts[i].tag));
		SET_TEXT(o, metadata, value, assay_str_of(facts[i].value));
		rocpd_put(&o->db, ROCPD_T_metadata, rocpd_next(o, ROCPD_T_metadata));
	}
}

/* ------------------------------------------------------------------ events */

/* extdata: JSON, or "" for nothing. */
static int64_t put_event(rocpd *o, const char *category, uint64_t stack, uint64_t parent,
			 uint64_t external, assay_str extdata)
{
	SET(o, event, category_id, string_id(o, assay_str_of(category)));
	SET(o, event, stack_id, (int64_t)stack);
	SET(o, event, parent_stack_id, (int64_t)parent);
	SET(o, event, correlation_id, (int64_t)external);
	SET_TEXT(o, event, extdata, extdata);
	int64_t id = rocpd_next(o, ROCPD_T_event);
	rocpd_put(&o->db, ROCPD_T_event, id);
	return id;
}

/* Members of JSON text, one row each; the type says which values are text. */
static void put_args(rocpd *o, int64_t event, assay_sid args)
{
	assay_str text = assay_text(o->run, args);
	if (!text.n)
		return;
	assay_arena_reset(&o->scratch);
	assay_json j = assay_json_members(&o->scratch, text);
	int64_t position = 0;
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		bool string = raw.n >= 2 && raw.p[0] == '"';
		if (string)
			raw = assay_json_unescape(&o->scratch, (assay_str){raw.p + 1, raw.n - 2});
		SET(o, arg, event_id, event);
		SET(o, arg, position, position++);
		SET_TEXT(o, arg, type, assay_str_of(string ? "string" : "json"));
		SET_TEXT(o, arg, name, assay_json_unescape(&o->scratch, key));
		SET_TEXT(o, arg, value, raw);
		rocpd_put(&o->db, ROCPD_T_arg, rocpd_next(o, ROCPD_T_arg));
	}
}

static const char *host_category(const rocpd *o, uint32_t h)
{
	static const char *const fixed[ASSAY_HOST_KIND_COUNT] = {
		[ASSAY_HOST_OP] = "FRAMEWORK_OPERATOR",
		[ASSAY_HOST_ANNOTATION] = "FRAMEWORK_ANNOTATION",
		[ASSAY_HOST_PYTHON] = "PYTHON_FUNCTION",
		[ASSAY_HOST_OVERHEAD] = "PROFILER_OVERHEAD",
		[ASSAY_HOST_MARKER] = "MARKER_CORE_RANGE_API",
		[ASSAY_HOST_PROCESS_RANGE] = "MARKER_CORE_RANGE_API"};
	const assay_host_table *t = &o->t->host;
	if (assay_is_call(t->kind[h]))
		return assay_sdk_domain(o->run, h);
	if (fixed[t->kind[h]])
		return fixed[t->kind[h]];
	const char *cat =
		t->detail[h] == ASSAY_NO_ROW ? "" : assay_z(o->run, o->t->other.cat[t->detail[h]]);
	return *cat ? cat : "OTHER";
}

static assay_str message_of(rocpd *o, assay_sid name)
{
	o->json.out.n = 0;
	o->json.comma = false;
	o->json.compact = true;
	assay_jsonw_open(&o->json, NULL, '{');
	assay_jsonw_str(&o->json, "message", assay_text(o->run, name));
	assay_jsonw_close(&o->json, '}');
	return assay_jsonw_text(&o->json);
}

static int64_t host_event(rocpd *o, uint32_t h)
{
	const assay_tables *t = o->t;
	uint8_t kind = t->host.kind[h];
	assay_table_id table = assay_host_detail[kind];
	uint32_t d = t->host.detail[h];
	uint64_t corr = 0, external = 0;
	if (d != ASSAY_NO_ROW && table == ASSAY_T_api) {
		corr = t->api.corr[d];
		external = t->api.external[d];
	} else if (d != ASSAY_NO_ROW && table == ASSAY_T_op) {
		external = t->op.external[d];
	}
	bool marker = kind == ASSAY_HOST_MARKER || kind == ASSAY_HOST_PROCESS_RANGE;
	assay_str message = marker || kind == ASSAY_HOST_INSTANT ? message_of(o, t->host.name[h])
								 : (assay_str){"", 0};
	int64_t event = put_event(o, host_category(o, h), corr, 0, external, message);
	put_args(o, event, t->host.args[h]);
	return event;
}

/* An instant is a sample of a track that has its name. */
static void put_instant(rocpd *o, uint32_t h)
{
	const assay_host_table *t = &o->t->host;
	uint64_t key[2] = {t->track[h], t->name[h]};
	uint32_t *track = assay_map_at(&o->track_of, assay_hash(key, sizeof key, 0));
	if (*track == ASSAY_MAP_ABSENT) {
		*track = (uint32_t)rocpd_next(o, ROCPD_T_track);
		int64_t thread = rocpd_thread_id(o, t->track[h]);
		SET(o, track, nid, o->node);
		SET(o, track, pid, rocpd_process_id(o, o->t->track.pid[t->track[h]]));
		SET(o, track, tid, thread);
		SET(o, track, name_id, string_id(o, assay_text(o->run, t->name[h])));
		rocpd_put(&o->db, ROCPD_T_track, *track);
	}
	int64_t id = *track, event = host_event(o, h);
	SET(o, sample, track_id, id);
	SET(o, sample, timestamp, when(o, t->track[h], t->ts[h]));
	SET(o, sample, event_id, event);
	rocpd_put(&o->db, ROCPD_T_sample, rocpd_next(o, ROCPD_T_sample));
}

static void put_host(rocpd *o, uint32_t h)
{
	const assay_host_table *t = &o->t->host;
	if (t->kind[h] == ASSAY_HOST_INSTANT) {
		put_instant(o, h);
		return;
	}
	int64_t start = when(o, t->track[h], t->ts[h]);
	int64_t thread = rocpd_thread_id(o, t->track[h]);
	int64_t process = rocpd_process_id(o, o->t->track.pid[t->track[h]]);
	int64_t event = host_event(o, h);
	/* readers tell ranges that end by id by the function that makes them */
	assay_str name = t->kind[h] == ASSAY_HOST_PROCESS_RANGE ? ASSAY_S("roctxProcessRangeA")
								: assay_text(o->run, t->name[h]);
	SET(o, region, nid, o->node);
	SET(o, region, pid, process);
	SET(o, region, tid, thread);
	SET(o, region, start, start);
	SET(o, region, end, start + (t->dur[h] > 0 ? t->dur[h] : 0));
	SET(o, region, name_id, string_id(o, name));
	SET(o, region, event_id, event);
	rocpd_put(&o->db, ROCPD_T_region, rocpd_next(o, ROCPD_T_region));
}

/* ------------------------------------------------------------------ device work */

/* The number is the id; -1 where the input has none. */
static int64_t queue_id(rocpd *o, uint32_t queue)
{
	int64_t id = queue == UINT32_MAX ? -1 : (int64_t)queue;
	uint32_t *known = assay_map_at(&o->queue_of, (uint64_t)id);
	if (*known != ASSAY_MAP_ABSENT)
		return id;
	*known = 1;
	SET(o, info_queue, nid, o->node);
	SET(o, info_queue, pid, o->process);
	SET_TEXT(o, info_queue, name,
		 assay_str_of(id < 0   ? "No queue"
			      : id > 0 ? assay_printf(&o->scratch, "Queue %" PRId64, id)
				       : "Default Queue"));
	rocpd_put(&o->db, ROCPD_T_info_queue, id);
	return id;
}

static int64_t stream_id(rocpd *o, uint32_t track)
{
	int64_t id = o->t->track.tid[track] < 0 ? -1 : o->t->track.tid[track];
	uint32_t *known = assay_map_at(&o->stream_of, (uint64_t)id);
	if (*known != ASSAY_MAP_ABSENT)
		return id;
	*known = 1;
	assay_str name = assay_text(o->run, o->t->track.name[track]);
	const char *made = id < 0   ? "No stream"
			   : id > 0 ? assay_printf(&o->scratch, "Stream %" PRId64, id)
				    : "Default Stream";
	SET(o, info_stream, nid, o->node);
	SET(o, info_stream, pid, o->process);
	SET_TEXT(o, info_stream, name, name.n ? name : assay_str_of(made));
	rocpd_put(&o->db, ROCPD_T_info_stream, id);
	return id;
}

static void set_regs(rocpd *o, int column, uint16_t v)
{
	if (v != UINT16_MAX)
		rocpd_set_i64(&o->db, ROCPD_T_info_kernel_symbol, column, v);
}

static int64_t symbol_id(rocpd *o, uint32_t g)
{
	const assay_gpu_table *t = &o->t->gpu;
	uint64_t key[4] = {t->name[g], t->regs[g], t->acc_regs[g], t->scalar_regs[g]};
	assay_str name = assay_text(o->run, t->name[g]);
	uint32_t *known = assay_map_at(&o->symbol_of, assay_hash(key, sizeof key, 0));
	if (*known != ASSAY_MAP_ABSENT)
		return *known;
	*known = (uint32_t)rocpd_next(o, ROCPD_T_info_kernel_symbol);
	SET(o, info_kernel_symbol, nid, o->node);
	SET(o, info_kernel_symbol, pid, o->process);
	SET(o, info_kernel_symbol, code_object_id, o->code);
	SET_TEXT(o, info_kernel_symbol, kernel_name, name);
	SET_TEXT(o, info_kernel_symbol, display_name, name);
	set_regs(o, ROCPD_info_kernel_symbol_arch_vgpr_count, t->regs[g]);
	set_regs(o, ROCPD_info_kernel_symbol_accum_vgpr_count, t->acc_regs[g]);
	set_regs(o, ROCPD_info_kernel_symbol_sgpr_count, t->scalar_regs[g]);
	rocpd_put(&o->db, ROCPD_T_info_kernel_symbol, *known);
	return *known;
}

/* Thread of the call that launched it. */
static int64_t launch_thread(rocpd *o, uint32_t g)
{
	const assay_tables *t = o->t;
	uint32_t h = t->launch.n == t->gpu.n ? t->launch.host[g] : ASSAY_NO_ROW;
	return h != ASSAY_NO_ROW && rocpd_is_mine(o, t->host.track[h])
		       ? rocpd_thread_id(o, t->host.track[h])
		       : o->thread;
}

/* Columns of later versions, and arguments that have none. */
static assay_str work_extdata(rocpd *o, uint32_t g)
{
	const assay_gpu_table *t = &o->t->gpu;
	assay_str args = assay_text(o->run, t->args[g]);
	bool kernel = t->kind[g] == ASSAY_GPU_KERNEL, sized = t->bytes[g] >= 0;
	bool plain =
		!t->graph[g] && !t->graph_node[g] && t->context[g] == UINT32_MAX && kernel != sized;
	if (plain && !args.n)
		return args;
	o->json.out.n = 0;
	o->json.comma = false;
	o->json.compact = true;
	assay_jsonw_open(&o->json, NULL, '{');
	if (t->graph[g])
		assay_jsonw_u64(&o->json, "graph_exec_id", t->graph[g]);
	if (t->graph_node[g])
		assay_jsonw_u64(&o->json, "graph_node_id", t->graph_node[g]);
	if (t->context[g] != UINT32_MAX)
		assay_jsonw_u64(&o->json, "context", t->context[g]);
	if (kernel && sized)
		assay_jsonw_i64(&o->json, "size", t->bytes[g]);
	if (!kernel && !sized) /* the column has to have a number */
		assay_jsonw_null(&o->json, "size");
	assay_arena_reset(&o->scratch);
	assay_json j = assay_json_members(&o->scratch, args);
	for (assay_str key, raw;
	     args.n && assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		assay_jsonw_key(&o->json, assay_json_unescape(&o->scratch, key));
		if (!assay_jsonw_copy(&o->json, raw, &o->scratch))
			assay_jsonw_null(&o->json, NULL);
	}
	assay_jsonw_close(&o->json, '}');
	return assay_jsonw_text(&o->json);
}

static void put_kernel(rocpd *o, uint32_t g, int64_t start, int64_t end, int64_t event)
{
	const assay_gpu_table *t = &o->t->gpu;
	uint32_t grid[3];
	int64_t thread = launch_thread(o, g), kernel = symbol_id(o, g);
	int64_t queue = queue_id(o, t->queue[g]), stream = stream_id(o, t->track[g]);
	assay_grid_items(o->grids, g, grid);
	SET(o, kernel_dispatch, nid, o->node);
	SET(o, kernel_dispatch, pid, o->process);
	SET(o, kernel_dispatch, tid, thread);
	SET(o, kernel_dispatch, agent_id, rocpd_device_of(o, g));
	SET(o, kernel_dispatch, kernel_id, kernel);
	SET(o, kernel_dispatch, dispatch_id,
	    t->dispatch[g] == UINT32_MAX ? -1 : (int64_t)t->dispatch[g]);
	SET(o, kernel_dispatch, queue_id, queue);
	SET(o, kernel_dispatch, stream_id, stream);
	SET(o, kernel_dispatch, start, start);
	SET(o, kernel_dispatch, end, end);
	if (t->scratch[g] != UINT32_MAX)
		SET(o, kernel_dispatch, private_segment_size, t->scratch[g]);
	if (t->shared[g] != UINT32_MAX)
		SET(o, kernel_dispatch, group_segment_size, t->shared[g]);
	SET(o, kernel_dispatch, workgroup_size_x, t->block_x[g]);
	SET(o, kernel_dispatch, workgroup_size_y, t->block_y[g]);
	SET(o, kernel_dispatch, workgroup_size_z, t->block_z[g]);
	SET(o, kernel_dispatch, grid_size_x, grid[0]);
	SET(o, kernel_dispatch, grid_size_y, grid[1]);
	SET(o, kernel_dispatch, grid_size_z, grid[2]);
	SET(o, kernel_dispatch, region_name_id, 1);
	SET(o, kernel_dispatch, event_id, event);
	SET_TEXT(o, kernel_dispatch, extdata, work_extdata(o, g));
	rocpd_put(&o->db, ROCPD_T_kernel_dispatch, rocpd_next(o, ROCPD_T_kernel_dispatch));
	uint64_t key[2] = {t->corr[g], t->dispatch[g]};
	*assay_map_at(&o->event_of_dispatch, assay_hash(key, sizeof key, 0)) = (uint32_t)event;
}

/* Memsets too: the format has nothing else for them. */
static void put_copy(rocpd *o, uint32_t g, int64_t start, int64_t end, int64_t event)
{
	const assay_gpu_table *t = &o->t->gpu;
	assay_str name = assay_text(o->run, t->name[g]);
	bool copy = t->kind[g] == ASSAY_GPU_MEMCPY;
	assay_copy_way way = copy ? assay_copy_way_of(name) : ASSAY_COPY_ELSEWHERE;
	int64_t thread = launch_thread(o, g), device = rocpd_device_of(o, g);
	int64_t queue = queue_id(o, t->queue[g]), stream = stream_id(o, t->track[g]);
	SET(o, memory_copy, nid, o->node);
	SET(o, memory_copy, pid, o->process);
	SET(o, memory_copy, tid, thread);
	SET(o, memory_copy, start, start);
	SET(o, memory_copy, end, end);
	SET(o, memory_copy, name_id, string_id(o, name));
	SET(o, memory_copy, dst_agent_id, assay_copy_to_host(way) ? o->cpu : device);
	SET(o, memory_copy, src_agent_id, assay_copy_from_host(way) ? o->cpu : device);
	SET(o, memory_copy, size, t->bytes[g] < 0 ? 0 : t->bytes[g]);
	SET(o, memory_copy, queue_id, queue);
	SET(o, memory_copy, stream_id, stream);
	SET(o, memory_copy, region_name_id, 1);
	SET(o, memory_copy, event_id, event);
	SET_TEXT(o, memory_copy, extdata, work_extdata(o, g));
	rocpd_put(&o->db, ROCPD_T_memory_copy, rocpd_next(o, ROCPD_T_memory_copy));
}

static void put_gpu(rocpd *o, uint32_t g)
{
	const assay_gpu_table *t = &o->t->gpu;
	bool kernel = t->kind[g] == ASSAY_GPU_KERNEL;
	int64_t start = when(o, t->track[g], t->ts[g]);
	int64_t end = start + (t->dur[g] > 0 ? t->dur[g] : 0);
	const char *category = kernel                           ? "KERNEL_DISPATCH"
			       : t->kind[g] == ASSAY_GPU_MEMCPY ? "MEMORY_COPY"
								: "MEMORY_SET";
	int64_t event =
		put_event(o, category, t->corr[g], t->corr[g], t->external[g], (assay_str){"", 0});
	(kernel ? put_kernel : put_copy)(o, g, start, end, event);
}

/* ------------------------------------------------------------------ memory and counters */

typedef struct word_of {
	const char *part, *word;
} word_of;

/* What the first part that stands in the name is called; the last of them is "". */
static const char *word_in(assay_str name, const word_of *words)
{
	while (*words->part && assay_str_find(name, words->part) < 0)
		words++;
	return words->word;
}

static void put_alloc(rocpd *o, uint32_t r)
{
	const assay_alloc_table *t = &o->t->alloc;
	static const word_of levels[] = {
		{"SCRATCH", "SCRATCH"}, {"VIRTUAL", "VIRTUAL"}, {"VMEM", "VIRTUAL"}, {"", "REAL"}};
	static const word_of types[] = {
		{"RECLAIM", "RECLAIM"}, {"REALLOC", "REALLOC"}, {"FREE", "FREE"}, {"", NULL}};
	assay_str name = assay_text(o->run, t->name[r]);
	const char *level = word_in(name, levels), *type = word_in(name, types);
	if (!type)
		type = t->bytes[r] < 0 ? "FREE" : "ALLOC";
	bool known = t->track[r] != ASSAY_NO_ROW;
	int64_t at = when(o, t->track[r], t->ts[r]);
	int64_t thread = known ? rocpd_thread_id(o, t->track[r]) : o->thread;
	int64_t process = known ? rocpd_process_id(o, o->t->track.pid[t->track[r]]) : o->process;
	int64_t event =
		put_event(o, !strcmp(level, "SCRATCH") ? "SCRATCH_MEMORY" : "MEMORY_ALLOCATION",
			  t->corr[r], 0, 0, (assay_str){"", 0});
	SET(o, memory_allocate, nid, o->node);
	SET(o, memory_allocate, pid, process);
	SET(o, memory_allocate, tid, thread);
	SET(o, memory_allocate, agent_id, t->device[r] < 0 ? o->cpu : t->device[r]);
	SET_TEXT(o, memory_allocate, type, assay_str_of(type));
	SET_TEXT(o, memory_allocate, level, assay_str_of(level));
	SET(o, memory_allocate, start, at);
	SET(o, memory_allocate, end, at);
	SET(o, memory_allocate, address, (int64_t)t->addr[r]);
	SET(o, memory_allocate, size, t->bytes[r] < 0 ? -t->bytes[r] : t->bytes[r]);
	SET(o, memory_allocate, event_id, event);
	rocpd_put(&o->db, ROCPD_T_memory_allocate, rocpd_next(o, ROCPD_T_memory_allocate));
}

static int64_t counter_id(rocpd *o, assay_sid name)
{
	uint32_t *known = assay_map_at(&o->counter_of, name);
	if (*known != ASSAY_MAP_ABSENT)
		return *known;
	*known = (uint32_t)rocpd_next(o, ROCPD_T_info_pmc);
	SET(o, info_pmc, nid, o->node);
	SET(o, info_pmc, pid, o->process);
	SET_TEXT(o, info_pmc, target_arch, ASSAY_S("GPU"));
	SET_TEXT(o, info_pmc, name, assay_text(o->run, name));
	SET_TEXT(o, info_pmc, symbol, assay_text(o->run, name));
	SET_TEXT(o, info_pmc, value_type, ASSAY_S("ABS"));
	rocpd_put(&o->db, ROCPD_T_info_pmc, *known);
	return *known;
}

/* False: it is of another process, or its kernel is not here. */
static bool put_pmc(rocpd *o, uint32_t r)
{
	const assay_pmc_table *t = &o->t->pmc;
	if (t->source[r] < o->t->source.n && assay_group_of(o->t, t->source[r]) != o->group)
		return false;
	uint64_t key[2] = {t->corr[r], t->dispatch[r]};
	uint32_t event = assay_map_get(&o->event_of_dispatch, assay_hash(key, sizeof key, 0));
	if (event == ASSAY_MAP_ABSENT || !t->name[r])
		return false;
	int64_t counter = counter_id(o, t->name[r]);
	SET(o, pmc_event, event_id, event);
	SET(o, pmc_event, pmc_id, counter);
	rocpd_set_f64(&o->db, ROCPD_T_pmc_event, ROCPD_pmc_event_value, t->value[r]);
	rocpd_put(&o->db, ROCPD_T_pmc_event, rocpd_next(o, ROCPD_T_pmc_event));
	return true;
}

/* ------------------------------------------------------------------ processes */

static void put_code_object(rocpd *o)
{
	o->code = 1;
	SET(o, info_code_object, nid, o->node);
	SET(o, info_code_object, pid, o->process);
	rocpd_put(&o->db, ROCPD_T_info_code_object, o->code);
}

static void put_rows(rocpd *o, uint8_t *placed)
{
	const assay_tables *t = o->t;
	for (uint32_t i = 0; i < t->host.n; i++)
		if (rocpd_is_mine(o, t->host.track[i]))
			put_host(o, i);
	for (uint32_t i = 0; i < t->gpu.n; i++)
		if (rocpd_is_mine(o, t->gpu.track[i]))
			put_gpu(o, i);
	for (uint32_t i = 0; i < t->alloc.n; i++)
		if (rocpd_is_my_alloc(o, i))
			put_alloc(o, i);
	for (uint32_t i = 0; i < t->pmc.n; i++)
		placed[i] = placed[i] || put_pmc(o, i);
}

static void free_process(rocpd *o)
{
	assay_map *maps[] = {&o->process_of,        &o->thread_of,   &o->queue_of, &o->stream_of,
			     &o->symbol_of,         &o->counter_of,  &o->track_of, &o->agent_of,
			     &o->event_of_dispatch, &o->used_threads};
	for (size_t i = 0; i < ASSAY_COUNT_OF(maps); i++)
		assay_map_free(maps[i]);
	assay_vec_free(&o->threads);
	assay_pool_free(&o->strings);
	assay_jsonw_free(&o->json);
	assay_arena_free(&o->scratch);
	rocpd_tables_close(&o->db);
}

static void see_time(const rocpd *o, const uint32_t *track, const int64_t *ts, size_t n,
		     int64_t *least)
{
	for (size_t i = 0; i < n; i++)
		if (rocpd_is_mine(o, track[i])) {
			int64_t at =
				assay_source_absolute(o->at, o->t->track.source[track[i]], ts[i]);
			*least = at < *least ? at : *least;
		}
}

static int64_t first_time(const rocpd *o)
{
	const assay_tables *t = o->t;
	int64_t least = INT64_MAX;
	see_time(o, t->host.track, t->host.ts, t->host.n, &least);
	see_time(o, t->gpu.track, t->gpu.ts, t->gpu.n, &least);
	see_time(o, t->alloc.track, t->alloc.ts, t->alloc.n, &least);
	return least;
}

/* "" has to be bound: text that is not set is NULL. */
static void put_empty_string(rocpd *o)
{
	sqlite3_bind_text(o->db.insert[ROCPD_T_string], ROCPD_string_string, "", 0, SQLITE_STATIC);
	rocpd_put(&o->db, ROCPD_T_string, 1);
}

typedef assay_vec(const char *) suffixes;

/* The tables of one input's process; none when it has no rows that the format has a place for. */
static bool put_process(rocpd *o, rocpd_file *file, suffixes *made, uint8_t *placed,
			assay_arena *arena)
{
	int64_t start = first_time(o);
	if (start == INT64_MAX)
		return true;
	if (!rocpd_tables_open(&o->db, file, rocpd_guid(o->run, o->group, start + o->shift, arena),
			       arena))
		return false;
	o->first = !made->n;
	*assay_push(made) = o->db.suffix;
	put_empty_string(o);
	put_metadata(o, o->t->source.epoch[o->group] && !o->shift);
	rocpd_put_who(o);
	put_code_object(o);
	put_rows(o, placed);
	return !o->db.failed;
}

static uint64_t count_zeros(const uint8_t *p, size_t n)
{
	uint64_t zeros = 0;
	for (size_t i = 0; i < n; i++)
		zeros += !p[i];
	return zeros;
}

/* Some clocks begin at 0 or before; then all times of the file are later by as much. Counts the
 * processes that have rows. */
static int64_t shift_of(const assay_run *run, const assay_source_places *at, int *processes)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < run->part.t.source.n; i++) {
		int64_t first =
			first_time(&(rocpd){.run = run, .t = &run->part.t, .at = at, .group = i});
		least = first < least ? first : least;
		*processes += first != INT64_MAX && assay_group_of(&run->part.t, i) == i;
	}
	return least > 0 ? 0 : 1000000 - least;
}

/* Each process has tables of its own, and each table that is made costs SQLite a look at all
 * others; a view joins those of all processes. */
static bool can_join(const assay_run *run, sqlite3 *db, int processes, assay_err *err)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < run->part.t.source.n; i++)
		bytes += run->part.t.source.text_bytes[i];
	uint64_t few = ASSAY_LIMIT_ROCPD + bytes / ASSAY_LIMIT_ROCPD_BYTES;
	int most = sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, -1);
	if (few < (uint64_t)most)
		most = (int)few;
	return processes <= most ||
	       assay_fail(
		       err, ASSAY_LIMIT, 0,
		       "a rocpd database has tables for each process, and joins at most %d of an input of this size: there are %d",
		       most, processes);
}

static bool put_all(const assay_run *run, rocpd_file *file, assay_left_out *left,
		    assay_arena *arena, assay_err *err)
{
	const assay_tables *t = &run->part.t;
	assay_source_places at;
	assay_source_places_find(&at, run, arena);
	assay_grids grids = assay_grids_of(run, arena);
	uint8_t *placed = assay_alloc(arena, t->pmc.n + 1);
	suffixes made = {0};
	int processes = 0;
	int64_t shift = shift_of(run, &at, &processes);
	bool ok = can_join(run, file->db, processes, err);
	for (uint32_t i = 0; i < t->source.n && ok; i++) {
		rocpd o = {
			.run = run, .t = t, .at = &at, .grids = &grids, .group = i, .shift = shift};
		if (assay_group_of(t, i) != i)
			continue;
		ok = put_process(&o, file, &made, placed, arena);
		free_process(&o);
	}
	if (ok && !made.n)
		ok = assay_fail(
			err, ASSAY_UNKNOWN, 0,
			"there is nothing to write: a rocpd database needs calls or GPU work");
	ok = ok && rocpd_views_make(file->db, made.p, made.n, arena);
	assay_leave_out(left, shift != 0, ASSAY_NEW_ORIGIN);
	assay_leave_out(left, rocpd_facts_without_place(run), ASSAY_FACTS);
	assay_leave_out(left, count_zeros(placed, t->pmc.n),
			"hardware counter values without their kernel");
	assay_vec_free(&made);
	return ok;
}

static bool rocpd_write(const assay_run *run, FILE *out, assay_left_out *left, assay_err *err)
{
	static const char start[] = "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; BEGIN";
	assay_arena arena = {0};
	rocpd_file f = {0};
	assay_undo undo;
	bool ok = sqlite3_open(":memory:", &f.db) == SQLITE_OK;
	assay_sqlite_guard(&undo, f.db);
	ok = ok && !sqlite3_exec(f.db, start, NULL, NULL, NULL) &&
	     put_all(run, &f, left, &arena, err) && rocpd_file_write(&f, out, &arena);
	int code = sqlite3_errcode(f.db);
	bool forgotten = code == SQLITE_OK || code == SQLITE_DONE; /* by calls after the failure */
	if (!ok && !err->text[0])
		assay_fail(err, ASSAY_LIMIT, 0, "the database cannot be made: %s",
			   forgotten ? "out of memory" : sqlite3_errmsg(f.db));
	assay_undo_drop(&undo);
	sqlite3_close(f.db);
	rocpd_file_free(&f);
	assay_arena_free(&arena);
	return ok;
}

const assay_writer assay_writer_rocpd = {
	.name = "rocpd",
	.exts = {".rocpd.db", ".rocpd"},
	.about = "rocpd database as rocprofv3 writes it: AMD's rocpd tools",
	.back = "calls, ranges, operators, work, memory, hardware counters",
	.page = "rocpd",
	.write = rocpd_write,
	.lacks = ASSAY_LACKS_AS_ROCPROF | ASSAY_LACKS_UNNUMBERED,
};

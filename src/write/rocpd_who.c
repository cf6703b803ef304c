/* Whose the rows of a rocpd database are: the machine, processes, threads and devices. */
#include <inttypes.h>

#include "model/machine.h"
#include "write/rocpd_process.h"

static assay_str fact(const rocpd *o, const char *key)
{
	return rocpd_fact(o->run, o->group, key);
}

static void put_node(rocpd *o)
{
	static const struct {
		const char *key;
		int column;
	} facts[] = {{"node.system_name", ROCPD_info_node_system_name},
		     {"node.hostname", ROCPD_info_node_hostname},
		     {"node.release", ROCPD_info_node_release},
		     {"node.version", ROCPD_info_node_version},
		     {"node.hardware_name", ROCPD_info_node_hardware_name}};
	assay_str machine = fact(o, "node.machine_id");
	if (!machine.n)
		machine = fact(o, "node.hostname");
	if (!machine.n)
		machine = ASSAY_S("unknown");
	uint64_t hash = assay_hash(machine.p, machine.n, 0) >> 1;
	o->node = (int64_t)(hash & UINT32_MAX);
	SET(o, info_node, hash, (int64_t)hash);
	SET_TEXT(o, info_node, machine_id, machine);
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++)
		rocpd_set_text(&o->db, ROCPD_T_info_node, facts[i].column, fact(o, facts[i].key));
	rocpd_put(&o->db, ROCPD_T_info_node, o->node);
}

/* Its number is its id. Processes without one get one that no other has. */
int64_t rocpd_process_id(rocpd *o, int64_t pid)
{
	static const struct {
		const char *key;
		int column;
	} times[] = {{"process.init", ROCPD_info_process_init},
		     {"process.fini", ROCPD_info_process_fini},
		     {"process.start", ROCPD_info_process_start},
		     {"process.end", ROCPD_info_process_end}};
	uint32_t *known = assay_map_at(&o->process_of, (uint64_t)pid);
	int64_t at, ppid, id = pid >= 0 ? pid : INT32_MAX - (int64_t)o->process_of.n;
	if (*known != ASSAY_MAP_ABSENT)
		return id;
	*known = 1;
	SET(o, info_process, nid, o->node);
	SET(o, info_process, pid, id);
	if (assay_str_i64(fact(o, "process.ppid"), &ppid))
		SET(o, info_process, ppid, ppid);
	SET_TEXT(o, info_process, command, fact(o, "process.command"));
	SET_TEXT(o, info_process, environment, rocpd_environment(o->run, o->group, &o->scratch));
	for (size_t i = 0; i < ASSAY_COUNT_OF(times); i++)
		if (assay_str_i64(fact(o, times[i].key), &at))
			rocpd_set_i64(&o->db, ROCPD_T_info_process, times[i].column, at + o->shift);
	rocpd_put(&o->db, ROCPD_T_info_process, id);
	return id;
}

/* Thread numbers of several processes may meet; then the later one has another id. */
int64_t rocpd_thread_id(rocpd *o, uint32_t track)
{
	const assay_track_table *t = &o->t->track;
	uint32_t *known = assay_map_at(&o->thread_of, track);
	if (*known != ASSAY_MAP_ABSENT)
		return o->threads.p[*known];
	*known = (uint32_t)o->threads.n;
	int64_t tid = t->tid[track] >= 0 ? t->tid[track] : INT32_MAX - (int64_t)track, id = tid;
	while (assay_map_get(&o->used_threads, (uint64_t)id) != ASSAY_MAP_ABSENT)
		id++;
	*assay_map_at(&o->used_threads, (uint64_t)id) = 1;
	*assay_push(&o->threads) = id;
	int64_t process = rocpd_process_id(o, t->pid[track]);
	SET(o, info_thread, nid, o->node);
	SET(o, info_thread, pid, process);
	SET(o, info_thread, tid, tid);
	SET_TEXT(o, info_thread, name, assay_text(o->run, t->name[track]));
	rocpd_put(&o->db, ROCPD_T_info_thread, id);
	return id;
}

/* Device work is of some process and thread, even where none is known. */
static void put_first_thread(rocpd *o)
{
	const assay_track_table *t = &o->t->track;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->kind[i] == ASSAY_TRACK_THREAD && t->pid[i] >= 0 && rocpd_is_mine(o, i)) {
			o->thread = rocpd_thread_id(o, i);
			o->process = rocpd_process_id(o, t->pid[i]);
			return;
		}
	int64_t pid;
	o->process = rocpd_process_id(o, assay_str_i64(fact(o, "process.pid"), &pid) ? pid : 0);
	o->thread = o->process;
	*assay_map_at(&o->used_threads, (uint64_t)o->thread) = 1;
	SET(o, info_thread, nid, o->node);
	SET(o, info_thread, pid, o->process);
	SET(o, info_thread, tid, o->thread);
	rocpd_put(&o->db, ROCPD_T_info_thread, o->thread);
}

/* The C++ tools of AMD take extdata for a whole agent of theirs, or nothing: facts of a GPU that
 * have no column stand in metadata. */
static void put_agent_facts(rocpd *o, int64_t id, uint32_t d)
{
	const assay_device_table *t = &o->t->device;
	o->json.out.n = 0;
	o->json.comma = false;
	o->json.compact = true;
	assay_jsonw_open(&o->json, NULL, '{');
	if (t->units[d] > 0)
		assay_jsonw_i64(&o->json, "cu_count", t->units[d]);
	if (t->warp[d] > 0)
		assay_jsonw_i64(&o->json, "wave_front_size", t->warp[d]);
	if (t->memory[d] > 0)
		assay_jsonw_i64(&o->json, "local_mem_size", t->memory[d]);
	assay_jsonw_close(&o->json, '}');
	const char *tag = assay_printf(&o->scratch, "assay.agent.%" PRId64, id);
	SET_TEXT(o, metadata, tag, assay_str_of(tag));
	SET_TEXT(o, metadata, value, assay_jsonw_text(&o->json));
	rocpd_put(&o->db, ROCPD_T_metadata, rocpd_next(o, ROCPD_T_metadata));
}

static void put_agent(rocpd *o, int64_t id, bool gpu, assay_str name, assay_str product,
		      const char *vendor)
{
	*assay_map_at(&o->agent_of, (uint64_t)id) = 1;
	SET(o, info_agent, nid, o->node);
	SET(o, info_agent, pid, o->process);
	SET_TEXT(o, info_agent, type, assay_str_of(gpu ? "GPU" : "CPU"));
	SET(o, info_agent, absolute_index, id);
	SET(o, info_agent, logical_index, id);
	SET(o, info_agent, type_index, gpu ? id : 0);
	SET_TEXT(o, info_agent, name, name);
	SET_TEXT(o, info_agent, vendor_name, assay_str_of(vendor));
	SET_TEXT(o, info_agent, product_name, product);
	SET_TEXT(o, info_agent, user_name, product);
	rocpd_put(&o->db, ROCPD_T_info_agent, id);
}

int64_t rocpd_device_of(const rocpd *o, uint32_t g)
{
	int64_t device = o->t->track.pid[o->t->gpu.track[g]];
	return device < 0 ? 0 : device;
}

/* Formats that only AMD has need not say so. */
static const char *unknown_vendor(const rocpd *o)
{
	return assay_has_trait(o->run, o->group, ASSAY_TRAIT_ROCTX) ? "AMD" : "unknown";
}

/* row: of device, what is known of it; ASSAY_NO_ROW: nothing. */
static void put_gpu_agent(rocpd *o, int64_t id, uint32_t row)
{
	const assay_device_table *d = &o->t->device;
	if (row == ASSAY_NO_ROW) {
		put_agent(o, id, true, ASSAY_S("unknown"), ASSAY_S("unknown"), unknown_vendor(o));
		return;
	}
	assay_vendor v = assay_device_vendor(o->run, row);
	put_agent(o, id, true, assay_text(o->run, d->arch[row]), assay_text(o->run, d->name[row]),
		  v ? assay_vendor_title[v] : "unknown");
	put_agent_facts(o, id, row);
}

static void put_known_gpu(rocpd *o, int64_t id, int64_t *most)
{
	if (id < 0 || assay_map_get(&o->agent_of, (uint64_t)id) != ASSAY_MAP_ABSENT)
		return;
	put_gpu_agent(o, id, assay_device_row(o->t, o->group, id));
	*most = id > *most ? id : *most;
}

/* GPUs that the input tells of, then those it only has work or memory of, then the host. */
static void put_agents(rocpd *o)
{
	const assay_tables *t = o->t;
	int64_t most = -1;
	for (uint32_t i = 0; i < t->device.n; i++)
		if (assay_group_of(t, t->device.source[i]) == o->group)
			put_known_gpu(o, t->device.id[i], &most);
	for (uint32_t i = 0; i < t->gpu.n; i++)
		if (rocpd_is_mine(o, t->gpu.track[i]))
			put_known_gpu(o, rocpd_device_of(o, i), &most);
	for (uint32_t i = 0; i < t->alloc.n; i++)
		if (rocpd_is_my_alloc(o, i))
			put_known_gpu(o, t->alloc.device[i], &most);
	for (o->cpu = 0; assay_map_get(&o->agent_of, (uint64_t)o->cpu) != ASSAY_MAP_ABSENT;)
		o->cpu = most < INT64_MAX ? ++most : o->cpu + 1;
	put_agent(o, o->cpu, false, ASSAY_S("host"), ASSAY_S("host"), "CPU");
}

void rocpd_put_who(rocpd *o)
{
	put_node(o);
	put_first_thread(o);
	put_agents(o);
}

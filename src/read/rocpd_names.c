/* Names in rocpd are ids into other tables. SQL joins cost several times the rest of reading, so
 * the tables are read once, into arrays, and joined here. */
#include "read/rocpd_names.h"

#include <stdio.h>

#include "base/json.h"
#include "read/rank_env.h"
#include "read/rocprof.h"

enum { DEVICES_MAX = 4096 };

bool assay_rocpd_start(assay_rocpd_instance *x, const char *base, const char *const columns[],
		       int n)
{
	const char *table = assay_printf(&x->db->scratch, "%s%s", base, x->suffix);
	return assay_db_select(x->db, table, columns, n);
}

bool assay_rocpd_row(assay_rocpd_instance *x)
{
	return assay_db_next(x->db);
}

int64_t assay_rocpd_num(assay_rocpd_instance *x, int column)
{
	return assay_db_int(x->db, column, -1);
}

assay_sid assay_rocpd_intern(assay_rocpd_instance *x, int column)
{
	return assay_intern(&x->part->strings, assay_db_text(x->db, column));
}

assay_sid assay_rocpd_string(assay_rocpd_instance *x, int column)
{
	int64_t id;
	uint32_t sid = ASSAY_MAP_ABSENT;
	if (assay_db_i64(x->db, column, &id))
		sid = assay_db_ids_get(&x->string, id);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

int64_t assay_rocpd_time(assay_rocpd_instance *x, int column)
{
	int64_t value = assay_db_int(x->db, column, 0);
	if (!x->own_times)
		return value;
	uint32_t i = assay_db_ids_get(&x->time, value);
	return i == ASSAY_MAP_ABSENT ? 0 : x->times.p[i];
}

assay_rocpd_place assay_rocpd_place_at(assay_rocpd_instance *x, int track)
{
	uint32_t i = assay_db_ids_get(&x->track, assay_rocpd_num(x, track));
	return i == ASSAY_MAP_ABSENT ? (assay_rocpd_place){-1, -1, -1, -1, -1, 0} : x->tracks.p[i];
}

assay_rocpd_agent assay_rocpd_agent_of(const assay_rocpd_instance *x, int64_t id)
{
	uint32_t i = assay_db_ids_get(&x->agent, id);
	return i == ASSAY_MAP_ABSENT ? (assay_rocpd_agent){id, false, false} : x->agents.p[i];
}

/* ---- tables that explain ids ---- */

static void read_metadata(assay_rocpd_instance *x)
{
	char key[128];
	for (assay_rocpd_start(x, "rocpd_metadata", ASSAY_DB_COLUMNS("tag", "value"));
	     assay_rocpd_row(x);) {
		assay_str tag = assay_db_text(x->db, 0);
		snprintf(key, sizeof key, "rocpd.%.*s", tag.n < 100 ? (int)tag.n : 100, tag.p);
		assay_meta_add(x->part, key, assay_db_text(x->db, 1));
	}
}

static void add_row_meta(assay_rocpd_instance *x, const char *prefix, const char *const columns[],
			 int n)
{
	char key[64];
	for (int i = 0; i < n; i++) {
		assay_str value = assay_db_text(x->db, i);
		snprintf(key, sizeof key, "%s.%s", prefix, columns[i]);
		if (value.n)
			assay_meta_add(x->part, key, value);
	}
}

static void read_nodes(assay_rocpd_instance *x)
{
	static const char *const columns[] = {"hostname", "system_name",   "release",
					      "version",  "hardware_name", "machine_id"};
	enum { N = ASSAY_COUNT_OF(columns) };
	for (assay_rocpd_start(x, "rocpd_info_node", columns, N); assay_rocpd_row(x);)
		add_row_meta(x, "node", columns, N);
}

/* Only what tells the rank is kept: environments hold what is nobody's business. */
static void read_environment(assay_rocpd_instance *x, int column)
{
	assay_json j = assay_rocpd_json(x, column);
	assay_str key, raw;
	char fact[64];
	if (assay_json_peek(&j) != '{')
		return;
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);) {
		if (assay_json_peek(&j) != '"' || !assay_is_rank_variable(key)) {
			assay_json_skip(&j, NULL);
		} else if (assay_json_text(&j, &raw)) {
			snprintf(fact, sizeof fact, "env.%.*s", (int)key.n, key.p);
			assay_meta_add(x->part, fact, assay_json_unescape(&x->db->scratch, raw));
		}
	}
}

static void read_processes(assay_rocpd_instance *x)
{
	static const char *const columns[] = {"pid",   "ppid", "command", "init",       "fini",
					      "start", "end",  "id",      "environment"};
	enum { N = ASSAY_COUNT_OF(columns), ID = N - 2, ENVIRONMENT = N - 1 };
	for (assay_rocpd_start(x, "rocpd_info_process", columns, N); assay_rocpd_row(x);) {
		add_row_meta(x, "process", columns, ID);
		read_environment(x, ENVIRONMENT);
		assay_db_ids_set(&x->process, assay_rocpd_num(x, ID), (uint32_t)x->pids.n);
		*assay_push(&x->pids) = assay_rocpd_num(x, 0);
	}
	assay_rank_from_env(x->part);
}

static int64_t pid_of(const assay_rocpd_instance *x, int64_t id)
{
	uint32_t i = assay_db_ids_get(&x->process, id);
	return i == ASSAY_MAP_ABSENT || x->pids.p[i] < 0 ? id : x->pids.p[i];
}

static void read_threads(assay_rocpd_instance *x)
{
	for (assay_rocpd_start(x, "rocpd_info_thread",
			       ASSAY_DB_COLUMNS("id", "pid", "tid", "name"));
	     assay_rocpd_row(x);) {
		assay_db_ids_set(&x->thread, assay_rocpd_num(x, 0), (uint32_t)x->threads.n);
		*assay_push(&x->threads) =
			(assay_rocpd_thread_info){pid_of(x, assay_rocpd_num(x, 1)),
						  assay_rocpd_num(x, 2), assay_rocpd_intern(x, 3)};
	}
}

static uint32_t find_thread(assay_rocpd_instance *x, int64_t process, int64_t id)
{
	uint32_t i = assay_db_ids_get(&x->thread, id);
	const assay_rocpd_thread_info *t = i == ASSAY_MAP_ABSENT ? NULL : &x->threads.p[i];
	uint32_t track =
		assay_thread_track(x->part, process >= 0 || !t ? pid_of(x, process) : t->pid,
				   t && t->tid >= 0 ? t->tid : id);
	if (t && t->name)
		x->part->t.track.name[track] = t->name;
	return track;
}

uint32_t assay_rocpd_thread(assay_rocpd_instance *x, int64_t process, int64_t id)
{
	if (!x->last_thread.known || x->last_thread.process != process || x->last_thread.id != id) {
		x->last_thread.track = find_thread(x, process, id);
		x->last_thread.process = process;
		x->last_thread.id = id;
		x->last_thread.known = true;
	}
	return x->last_thread.track;
}

assay_json assay_rocpd_json(assay_rocpd_instance *x, int column)
{
	assay_str text = assay_db_text(x->db, column);
	assay_vec_reserve(&x->json, text.n + ASSAY_PAD);
	memcpy(x->json.p, text.p, text.n);
	memset(x->json.p + text.n, 0, ASSAY_PAD);
	return assay_json_on(x->json.p, text.n);
}

/* The agent as rocprofiler-sdk describes it: agent.extdata, or what our writer has in metadata. */
static void read_device_details(assay_rocpd_instance *x, uint32_t device, int column)
{
	assay_json j = assay_rocpd_json(x, column);
	assay_device_table *t = &x->part->t.device;
	assay_str key;
	uint64_t banks = 0;
	int64_t v;
	if (assay_json_peek(&j) != '{')
		return;
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);) {
		bool units = assay_str_is(key, "cu_count"),
		     warp = assay_str_is(key, "wave_front_size");
		bool memory = assay_str_is(key, "local_mem_size");
		if (assay_str_is(key, "mem_banks") && assay_json_peek(&j) == '[')
			banks = assay_rocprof_banks(&j);
		else if (!units && !warp && !memory)
			assay_json_skip(&j, NULL);
		else if (!assay_json_i64(&j, &v) || v <= 0)
			continue;
		else if (memory)
			t->memory[device] = v;
		else if (v <= INT32_MAX)
			*(units ? &t->units[device] : &t->warp[device]) = (int32_t)v;
	}
	if (t->memory[device] < 0 && banks && banks <= INT64_MAX)
		t->memory[device] = (int64_t)banks;
}

static int64_t first_known(assay_rocpd_instance *x, int from, int n)
{
	for (int i = from; i < from + n; i++)
		if (assay_rocpd_num(x, i) >= 0)
			return assay_rocpd_num(x, i);
	return -1;
}

/* A GPU's number is its place among the GPUs, as HIP and amd-smi count; agents count processors
 * before them. */
static void read_agents(assay_rocpd_instance *x)
{
	enum { TYPE, TYPE_INDEX, ABSOLUTE_INDEX, ID, NAME, PRODUCT, EXTDATA, VENDOR, GENERIC };
	uint32_t devices = 0;
	assay_rocpd_start(x, "rocpd_info_agent",
			  ASSAY_DB_COLUMNS("type", "type_index", "absolute_index", "id", "name",
					   "product_name", "extdata", "vendor_name",
					   "generic_name"));
	while (assay_rocpd_row(x)) {
		int64_t id = assay_rocpd_num(x, ID);
		assay_str maker = assay_db_text(x->db, VENDOR);
		assay_vendor vendor = maker.n ? assay_vendor_of(maker) : ASSAY_VENDOR_AMD;
		bool gpu = assay_str_is(assay_db_text(x->db, TYPE), "GPU");
		assay_rocpd_agent a = {gpu ? first_known(x, TYPE_INDEX, 3)
					   : first_known(x, ABSOLUTE_INDEX, 2),
				       gpu, vendor && vendor != ASSAY_VENDOR_AMD};
		assay_db_ids_set(&x->agent, id, (uint32_t)x->agents.n);
		*assay_push(&x->agents) = a;
		if (!a.gpu || devices++ >= DEVICES_MAX)
			continue;
		uint32_t d = assay_rocprof_device(x->part, a.number);
		assay_sid name = assay_rocpd_intern(x, NAME);
		assay_sid arch = assay_rocpd_intern(x, GENERIC); /* schema 4; name is anybody's */
		assay_sid product = assay_rocpd_intern(x, PRODUCT);
		x->part->t.device.arch[d] = arch ? arch : name;
		x->part->t.device.name[d] = product ? product : name;
		x->part->t.device.vendor[d] =
			assay_intern_z(&x->part->strings, assay_vendor_name[vendor]);
		read_device_details(x, d, EXTDATA);
	}
}

/* What our writer knows of GPUs and of the clock. */
static void read_our_metadata(assay_rocpd_instance *x)
{
	static const char agent[] = "assay.agent.";
	for (assay_rocpd_start(x, "rocpd_metadata", ASSAY_DB_COLUMNS("tag", "value"));
	     assay_rocpd_row(x);) {
		assay_str tag = assay_db_text(x->db, 0);
		int64_t id;
		if (assay_str_is(tag, "assay.epoch") && x->part->source != ASSAY_NO_ROW)
			x->part->t.source.epoch[x->part->source] =
				assay_str_is(assay_db_text(x->db, 1), "1");
		if (!assay_str_starts(tag, agent))
			continue;
		tag = (assay_str){tag.p + strlen(agent), tag.n - strlen(agent)};
		const assay_device_table *d = &x->part->t.device;
		for (uint32_t i = 0; assay_str_i64(tag, &id) && i < d->n; i++)
			if (d->source[i] == x->part->source && d->id[i] == id)
				read_device_details(x, i, 1);
	}
}

static void read_symbols(assay_rocpd_instance *x)
{
	assay_rocpd_start(x, "rocpd_info_kernel_symbol",
			  ASSAY_DB_COLUMNS("id", "display_name", "kernel_name", "arch_vgpr_count",
					   "accum_vgpr_count", "sgpr_count"));
	while (assay_rocpd_row(x)) {
		assay_sid name = assay_rocpd_intern(x, 1);
		assay_rocpd_symbol s = {name ? name : assay_rocpd_intern(x, 2), UINT16_MAX,
					UINT16_MAX, UINT16_MAX};
		uint16_t *regs[] = {&s.regs, &s.acc_regs, &s.scalar_regs};
		for (int i = 0; i < 3; i++)
			if (assay_rocpd_num(x, 3 + i) >= 0)
				*regs[i] = assay_rocprof_u16(
					x->part, (uint64_t)assay_rocpd_num(x, 3 + i), UINT16_MAX);
		assay_db_ids_set(&x->symbol, assay_rocpd_num(x, 0), (uint32_t)x->symbols.n);
		*assay_push(&x->symbols) = s;
	}
}

static void read_names(assay_rocpd_instance *x, const char *table, assay_db_ids *ids,
		       const char *column)
{
	for (assay_rocpd_start(x, table, ASSAY_DB_COLUMNS("id", column)); assay_rocpd_row(x);)
		assay_db_ids_set(ids, assay_rocpd_num(x, 0), assay_rocpd_intern(x, 1));
}

static void read_tracks(assay_rocpd_instance *x)
{
	assay_rocpd_start(x, "rocpd_track",
			  ASSAY_DB_COLUMNS("id", "pid", "tid", "agent_id", "queue_id", "stream_id",
					   "name_id"));
	while (assay_rocpd_row(x)) {
		assay_db_ids_set(&x->track, assay_rocpd_num(x, 0), (uint32_t)x->tracks.n);
		*assay_push(&x->tracks) = (assay_rocpd_place){
			assay_rocpd_num(x, 1), assay_rocpd_num(x, 2), assay_rocpd_num(x, 3),
			assay_rocpd_num(x, 4), assay_rocpd_num(x, 5), assay_rocpd_string(x, 6)};
	}
}

static void read_counters(assay_rocpd_instance *x)
{
	for (assay_rocpd_start(x, "rocpd_info_pmc", ASSAY_DB_COLUMNS("id", "name", "agent_id"));
	     assay_rocpd_row(x);) {
		assay_db_ids_set(&x->pmc, assay_rocpd_num(x, 0), (uint32_t)x->pmcs.n);
		*assay_push(&x->pmcs) =
			(assay_rocpd_pmc){assay_rocpd_intern(x, 1), assay_rocpd_num(x, 2)};
	}
}

static void read_times(assay_rocpd_instance *x)
{
	const char *table = assay_printf(&x->db->scratch, "rocpd_timestamp%s", x->suffix);
	x->own_times = assay_db_exists(x->db, table);
	for (assay_rocpd_start(x, "rocpd_timestamp", ASSAY_DB_COLUMNS("id", "value"));
	     assay_rocpd_row(x);) {
		assay_db_ids_set(&x->time, assay_rocpd_num(x, 0), (uint32_t)x->times.n);
		*assay_push(&x->times) = assay_db_int(x->db, 1, 0);
	}
}

static void read_categories(assay_rocpd_instance *x)
{
	const char *table = assay_printf(&x->db->scratch, "rocpd_info_category%s", x->suffix);
	x->own_categories = assay_db_exists(x->db, table);
	read_names(x, "rocpd_info_category", &x->category, "name");
}

static assay_sid category_at(assay_rocpd_instance *x, int column)
{
	if (!x->own_categories)
		return assay_rocpd_string(x, column);
	uint32_t sid = assay_db_ids_get(&x->category, assay_rocpd_num(x, column));
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* The text of {"message": text}. */
static assay_sid message_of(assay_rocpd_instance *x, int column)
{
	assay_json j = assay_rocpd_json(x, column);
	assay_str key, raw;
	assay_sid text = 0;
	if (assay_json_peek(&j) != '{')
		return 0;
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);) {
		if (!assay_str_is(key, "message") || assay_json_peek(&j) != '"')
			assay_json_skip(&j, NULL);
		else if (assay_json_text(&j, &raw))
			text = assay_intern(&x->part->strings,
					    assay_json_unescape(&x->db->scratch, raw));
	}
	return text;
}

static void read_events(assay_rocpd_instance *x)
{
	assay_rocpd_start(
		x, "rocpd_event",
		ASSAY_DB_COLUMNS("id", "category_id", "stack_id", "correlation_id", "extdata"));
	assay_sid last = 0;
	bool marker = false;
	while (assay_rocpd_row(x)) {
		int64_t stack = assay_rocpd_num(x, 2), external = assay_rocpd_num(x, 3);
		assay_rocpd_event e = {stack > 0 ? (uint64_t)stack : 0,
				       external > 0 ? (uint64_t)external : 0,
				       category_at(x, 1),
				       0,
				       ASSAY_NO_ROW,
				       ASSAY_NO_ROW,
				       ASSAY_NO_ROW};
		if (e.category != last) {
			last = e.category;
			marker = assay_rocprof_host_kind(assay_pool_get(&x->part->strings, last)) ==
				 ASSAY_HOST_MARKER;
		}
		if (marker || !e.category)
			e.message = message_of(x, 4);
		assay_db_ids_set(&x->event, assay_rocpd_num(x, 0), (uint32_t)x->events.n);
		*assay_push(&x->events) = e;
	}
}

assay_rocpd_event *assay_rocpd_event_at(assay_rocpd_instance *x, int column)
{
	static const assay_rocpd_event none = {
		.host = ASSAY_NO_ROW, .gpu = ASSAY_NO_ROW, .sample = ASSAY_NO_ROW};
	int64_t id;
	uint32_t i = ASSAY_MAP_ABSENT;
	if (assay_db_i64(x->db, column, &id))
		i = assay_db_ids_get(&x->event, id);
	if (i != ASSAY_MAP_ABSENT)
		return &x->events.p[i];
	assay_vec_reserve(&x->events, x->events.n + 1); /* a spare one behind the last */
	x->events.p[x->events.n] = none;
	return &x->events.p[x->events.n];
}

void assay_rocpd_names_free(assay_rocpd_instance *x)
{
	assay_db_ids *ids[] = {&x->string, &x->category, &x->process, &x->thread,
			       &x->agent,  &x->symbol,   &x->stream,  &x->pmc,
			       &x->track,  &x->event,    &x->time,    &x->sample};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ids); i++)
		assay_db_ids_free(ids[i]);
	assay_vec_free(&x->pids);
	assay_vec_free(&x->times);
	assay_vec_free(&x->pmcs);
	assay_vec_free(&x->samples);
	assay_vec_free(&x->threads);
	assay_vec_free(&x->tracks);
	assay_vec_free(&x->agents);
	assay_vec_free(&x->symbols);
	assay_vec_free(&x->events);
	assay_vec_free(&x->json);
	assay_jsonw_free(&x->args);
	assay_json_forms_free(&x->forms);
}

void assay_rocpd_names_read(assay_rocpd_instance *x)
{
	read_metadata(x);
	read_names(x, "rocpd_string", &x->string, "string");
	read_nodes(x);
	read_processes(x);
	read_threads(x);
	read_agents(x);
	read_our_metadata(x);
	read_symbols(x);
	read_names(x, "rocpd_info_stream", &x->stream, "name");
	read_counters(x);
	read_tracks(x);
	read_times(x);
	read_categories(x);
	read_events(x);
}

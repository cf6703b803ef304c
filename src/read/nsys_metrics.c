/* Counters of an nsys export: metrics of GPUs and of network cards. They are of no process. */
#include "read/nsys.h"

#include "base/json.h"

static void add_counter(nsys *n, uint32_t track, int64_t ts, assay_sid name, double value)
{
	uint32_t r = assay_add(&n->part->t, ASSAY_T_counter);
	n->part->t.counter.ts[r] = ts;
	n->part->t.counter.track[r] = track;
	n->part->t.counter.name[r] = name;
	n->part->t.counter.value[r] = value;
}

/* ---- GPUs ---- */

/* Times of samples: NULL where the export could not place them beside the others. */
static bool sample_time(nsys *n, int placed, int raw, int64_t *ts)
{
	return assay_db_i64(n->db, placed, ts) || assay_db_i64(n->db, raw, ts);
}

/* The low byte of a type is the GPU. */
static uint32_t gpu_track(nsys *n, int64_t type)
{
	return assay_track(n->part, ASSAY_TRACK_TELEMETRY, type & 0xff, -1, 0, 0);
}

static uint64_t metric_key(int64_t list, int64_t place)
{
	int64_t key[] = {list, place};
	return assay_hash(key, sizeof key, 0);
}

static bool read_table(nsys *n)
{
	assay_map name_of = {0};
	bool any = false;
	for (assay_db_select(n->db, "TARGET_INFO_GPU_METRICS",
			     ASSAY_DB_COLUMNS("typeId", "metricId", "metricName"));
	     assay_db_next(n->db);)
		*assay_map_at(&name_of,
			      metric_key(assay_db_int(n->db, 0, 0), assay_db_int(n->db, 1, 0))) =
			assay_intern(&n->part->strings, assay_db_text(n->db, 2));
	for (assay_db_select(
		     n->db, "GPU_METRICS",
		     ASSAY_DB_COLUMNS("timestamp", "rawTimestamp", "typeId", "metricId", "value"));
	     assay_db_next(n->db);) {
		double value;
		int64_t ts, type = assay_db_int(n->db, 2, 0);
		any = true;
		if (!sample_time(n, 0, 1, &ts) || !assay_db_f64(n->db, 4, &value))
			continue;
		uint32_t name =
			assay_map_get(&name_of, metric_key(type, assay_db_int(n->db, 3, 0)));
		add_counter(n, gpu_track(n, type), ts, name == ASSAY_MAP_ABSENT ? 0 : name, value);
	}
	assay_map_free(&name_of);
	return any;
}

/* Before there was a table for them (2022 and earlier) metrics were events of a source of their
 * own, an object of names and values each: {"SM Active": "12", "GR Active": "40"}. */

static assay_json json_at(nsys *n, int column)
{
	assay_str text = assay_db_text(n->db, column);
	char *copy = assay_alloc(&n->db->scratch, text.n + ASSAY_PAD);
	memcpy(copy, text.p, text.n);
	return assay_json_on(copy, text.n);
}

static bool is_named(nsys *n, int column, const char *name)
{
	assay_json j = json_at(n, column);
	assay_str key, text;
	bool is = false;
	if (assay_json_peek(&j) != '{')
		return false;
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);)
		if (assay_str_is(key, "Name") && assay_json_peek(&j) == '"')
			is = assay_json_text(&j, &text) && assay_str_is(text, name);
		else if (!assay_json_skip(&j, NULL))
			break;
	return is;
}

/* Types of events that are samples of GPUs. */
static void find_types(nsys *n, assay_map *types)
{
	assay_map sources = {0};
	for (assay_db_select(n->db, "GENERIC_EVENT_SOURCES", ASSAY_DB_COLUMNS("sourceId", "data"));
	     assay_db_next(n->db);)
		if (is_named(n, 1, "GpuMetrics"))
			*assay_map_at(&sources, (uint64_t)assay_db_int(n->db, 0, 0)) = 1;
	for (assay_db_select(n->db, "GENERIC_EVENT_TYPES", ASSAY_DB_COLUMNS("typeId", "sourceId"));
	     assay_db_next(n->db);)
		if (assay_map_get(&sources, (uint64_t)assay_db_int(n->db, 1, 0)) !=
		    ASSAY_MAP_ABSENT)
			*assay_map_at(types, (uint64_t)assay_db_int(n->db, 0, 0)) = 1;
	assay_map_free(&sources);
}

static void read_event(nsys *n, int64_t type, int64_t ts)
{
	assay_json j = json_at(n, 3);
	assay_str key, raw;
	double value;
	if (assay_json_peek(&j) != '{') {
		assay_count(n->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	for (assay_json_enter(&j, '{'); assay_json_member(&j, &key);) {
		bool ok = assay_json_peek(&j) == '"' ? assay_json_text(&j, &raw)
						     : assay_json_skip(&j, &raw);
		if (!ok)
			break;
		if (assay_str_f64(raw, &value))
			add_counter(n, gpu_track(n, type), ts,
				    assay_intern(&n->part->strings,
						 assay_json_unescape(&n->db->scratch, key)),
				    value);
	}
}

static void read_events(nsys *n)
{
	assay_map types = {0};
	find_types(n, &types);
	if (types.n)
		for (assay_db_select(
			     n->db, "GENERIC_EVENTS",
			     ASSAY_DB_COLUMNS("timestamp", "rawTimestamp", "typeId", "data"));
		     assay_db_next(n->db);) {
			int64_t ts, type = assay_db_int(n->db, 2, 0);
			if (assay_map_get(&types, (uint64_t)type) == ASSAY_MAP_ABSENT)
				n->others++;
			else if (sample_time(n, 0, 1, &ts))
				read_event(n, type, ts);
		}
	assay_map_free(&types);
}

/* ---- network cards ---- */

typedef struct nic_names {
	assay_map metric; /* list and place -> name */
	assay_map nic;    /* number in NIC_ID_MAP -> name */
	assay_map global; /* and in NET_NIC_METRIC */
} nic_names;

static void read_nic_names(nsys *n, nic_names *names)
{
	for (assay_db_select(n->db, "TARGET_INFO_NETWORK_METRICS",
			     ASSAY_DB_COLUMNS("metricsListId", "metricsIdx", "name"));
	     assay_db_next(n->db);)
		*assay_map_at(&names->metric,
			      metric_key(assay_db_int(n->db, 0, -1), assay_db_int(n->db, 1, -1))) =
			assay_intern(&n->part->strings, assay_db_text(n->db, 2));
	for (assay_db_select(n->db, "TARGET_INFO_NIC_INFO", ASSAY_DB_COLUMNS("nicId", "name"));
	     assay_db_next(n->db);)
		*assay_map_at(&names->nic, (uint64_t)assay_db_int(n->db, 0, -1)) =
			assay_intern(&n->part->strings, assay_db_text(n->db, 1));
	for (assay_db_select(n->db, "NIC_ID_MAP", ASSAY_DB_COLUMNS("nicId", "globalId"));
	     assay_db_next(n->db);) {
		uint32_t name = assay_map_get(&names->nic, (uint64_t)assay_db_int(n->db, 0, -1));
		if (name != ASSAY_MAP_ABSENT)
			*assay_map_at(&names->global, (uint64_t)assay_db_int(n->db, 1, 0)) = name;
	}
}

/* "mlx5_0 port 1 IB: Bytes sent" */
static assay_sid nic_counter_name(nsys *n, const nic_names *names, int64_t global, int64_t port,
				  uint64_t metric)
{
	uint32_t nic = assay_map_get(&names->global, (uint64_t)global);
	uint32_t what = assay_map_get(&names->metric, metric);
	const char *of = nic == ASSAY_MAP_ABSENT ? "NIC" : assay_pool_get(&n->part->strings, nic).p;
	const char *text =
		what == ASSAY_MAP_ABSENT ? "" : assay_pool_get(&n->part->strings, what).p;
	return assay_intern_z(&n->part->strings, assay_printf(&n->db->scratch, "%s port %lld %s",
							      of, (long long)port, text));
}

/* What a network card counted from start to end: at the start, of no device. */
static void read_nics(nsys *n)
{
	nic_names names = {0};
	assay_map made = {0};
	read_nic_names(n, &names);
	uint32_t track = ASSAY_NO_ROW;
	for (assay_db_select(n->db, "NET_NIC_METRIC",
			     ASSAY_DB_COLUMNS("start", "globalId", "portId", "metricsListId",
					      "metricsIdx", "value"));
	     assay_db_next(n->db);) {
		int64_t ts, global = assay_db_int(n->db, 1, 0), port = assay_db_int(n->db, 2, 0);
		uint64_t metric =
			metric_key(assay_db_int(n->db, 3, -1), assay_db_int(n->db, 4, -1));
		double value;
		if (!assay_db_i64(n->db, 0, &ts) || !assay_db_f64(n->db, 5, &value))
			continue;
		uint64_t key[] = {(uint64_t)global, (uint64_t)port, metric};
		uint32_t *name = assay_map_at(&made, assay_hash(key, sizeof key, 0));
		if (*name == ASSAY_MAP_ABSENT)
			*name = nic_counter_name(n, &names, global, port, metric);
		if (track == ASSAY_NO_ROW)
			track = assay_track(n->part, ASSAY_TRACK_TELEMETRY, -1, -1, 0, 0);
		add_counter(n, track, ts, *name, value);
	}
	assay_map_free(&made);
	assay_map_free(&names.metric);
	assay_map_free(&names.nic);
	assay_map_free(&names.global);
}

void nsys_read_metrics(nsys *n)
{
	n->part->source = n->first;
	if (!read_table(n))
		read_events(n);
	read_nics(n);
}

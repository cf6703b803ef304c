/* Nsight Systems' SQLite export (`nsys export --type sqlite`). The vendor changes its schema at
 * will: tables may be missing, columns go by name, names by id. One export holds many processes;
 * each one with GPU work becomes a source of its own, since correlation ids count per process. */
#include "base/sqlite.h"
#include "read/nsys.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "base/test.h"
#include "read/databases.h"
#include "read/rocprof.h"

/* ---- what the tables share ---- */

bool nsys_span(nsys *n, int column, int64_t *ts, int64_t *dur)
{
	int64_t end;
	*dur = -1;
	if (!assay_db_i64(n->db, column, ts)) {
		assay_count(n->part, ASSAY_ISSUE_no_duration, 1);
		return false;
	}
	if (!assay_db_i64(n->db, column + 1, &end))
		return true;
	if (end < *ts) {
		assay_count(n->part, ASSAY_ISSUE_negative_duration, 1);
		end = *ts;
	}
	*dur = assay_wrap_sub(end, *ts);
	return true;
}

int64_t nsys_number(nsys *n, int column, int64_t absent)
{
	int64_t v = assay_db_int(n->db, column, absent);
	return v == UINT32_MAX ? absent : v;
}

assay_sid nsys_string(nsys *n, int column)
{
	int64_t id = assay_db_int(n->db, column, -1);
	uint32_t sid = id < 0 ? ASSAY_MAP_ABSENT : assay_db_ids_get(&n->strings, id);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

assay_sid nsys_name(nsys *n, int column)
{
	assay_sid known = nsys_string(n, column);
	int64_t id = assay_db_int(n->db, column, -1);
	if (known || id < 0)
		return known;
	return assay_intern_z(&n->part->strings,
			      assay_printf(&n->db->scratch, "string %lld", (long long)id));
}

uint64_t nsys_corr_key(const nsys *n, uint64_t corr)
{
	return assay_corr_key(n->part->source, corr);
}

static void take_source(nsys *n)
{
	if (n->used)
		assay_rocprof_next_source(n->part, n->first);
	else
		n->part->source = n->first;
	n->used = true;
	if (n->part->source == ASSAY_NO_ROW)
		return;
	n->part->t.source.base[n->part->source] = n->base;
	n->part->t.source.epoch[n->part->source] = n->epoch;
}

int64_t nsys_global_pid(nsys *n, int pid, int vm)
{
	return (int64_t)((uint64_t)assay_db_int(n->db, vm, 1) << 48 |
			 (uint64_t)assay_db_int(n->db, pid, -1) << 24);
}

bool nsys_process(nsys *n, int64_t global, bool make)
{
	uint64_t key = (uint64_t)global >> 24; /* hardware, VM and process; the thread is below */
	uint32_t known = assay_map_get(&n->source_of, key);
	if (known != ASSAY_MAP_ABSENT) {
		n->part->source = known;
		return true;
	}
	if (!make)
		return false;
	take_source(n);
	*assay_map_at(&n->source_of, key) = n->part->source;
	return true;
}

uint32_t nsys_thread(nsys *n, int64_t global_tid)
{
	return assay_thread_track(n->part, global_tid >> 24 & 0xffffff, global_tid & 0xffffff);
}

assay_jsonw *nsys_args_begin(nsys *n)
{
	n->args.compact = true;
	n->args.comma = false;
	n->args.out.n = 0;
	return &n->args;
}

assay_sid nsys_args_end(nsys *n)
{
	return assay_intern(&n->part->strings, (assay_str){n->args.out.p, n->args.out.n});
}

/* ---- the file ---- */

static void read_strings(nsys *n)
{
	for (assay_db_select(n->db, "StringIds", ASSAY_DB_COLUMNS("id", "value"));
	     assay_db_next(n->db);)
		assay_db_ids_set(&n->strings, assay_db_int(n->db, 0, -1),
				 assay_intern(&n->part->strings, assay_db_text(n->db, 1)));
}

#define SHIFT_MAX ((int64_t)1 << 61)

/* Facts as name and value under a prefix. False: no such table. */
static bool read_facts(nsys *n, const char *table, const char *key, const char *prefix)
{
	bool found = assay_db_select(n->db, table, ASSAY_DB_COLUMNS(key, "value"));
	while (found && assay_db_next(n->db)) {
		const char *name = assay_dup(&n->db->scratch, assay_db_text(n->db, 0));
		const char *full = assay_printf(&n->db->scratch, "%s.%s", prefix, name);
		assay_str value = assay_db_text(n->db, 1);
		assay_meta_add(n->part, full, value);
		int64_t shift;
		if (!strcmp(name, "EXPORT_PARAM_TIME_NORMALIZE") && assay_str_is(value, "true"))
			n->epoch = true; /* times are of 1970 already */
		if (assay_str_ends(assay_str_of(name), "_TIME_SHIFT") &&
		    assay_str_i64(value, &shift) && shift > -SHIFT_MAX && shift < SHIFT_MAX)
			n->shift += shift;
	}
	return found;
}

/* Time 0 is the start of the capture. */
static void read_clock(nsys *n)
{
	bool normalized = n->epoch;
	if (assay_db_select(n->db, "TARGET_INFO_SESSION_START_TIME",
			    ASSAY_DB_COLUMNS("utcEpochNs")) &&
	    assay_db_next(n->db) && !normalized)
		n->epoch = assay_db_i64(n->db, 0, &n->base) && n->base > 0 &&
			   !__builtin_sub_overflow(n->base, n->shift, &n->base);
	if (!n->epoch)
		n->base = 0;
	if (n->first != ASSAY_NO_ROW) {
		n->part->t.source.base[n->first] = n->base;
		n->part->t.source.epoch[n->first] = n->epoch;
	}
}

enum { SEVERITY_WARNING = 2, SEVERITY_ERROR = 3 }; /* 1 is information, 4 verbose */

/* "No OpenGL events collected. Does the process use OpenGL?": nothing was lost. */
static bool is_unused(assay_str text)
{
	return assay_str_starts(text, "No ") && assay_str_find(text, " events collected") > 0 &&
	       !assay_str_starts(text, "No CUDA ");
}

static void tell(nsys *n, assay_str text)
{
	char *line = assay_dup(&n->db->scratch, text);
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r' || *p == '\t')
			*p = ' ';
	assay_warn(n->db->run, "nsys", "nsys says: %.400s", line);
}

/* The only place that tells of dropped events; each process says it again. Errors first: a report
 * shows the first few. */
static void read_diagnostics(nsys *n)
{
	assay_map told = {0};
	for (int64_t severity = SEVERITY_ERROR; severity >= SEVERITY_WARNING; severity--)
		for (assay_db_select(n->db, "DIAGNOSTIC_EVENT",
				     ASSAY_DB_COLUMNS("severity", "text"));
		     assay_db_next(n->db);) {
			assay_str text = assay_db_text(n->db, 1);
			if (assay_db_int(n->db, 0, 0) != severity || is_unused(text))
				continue;
			uint32_t *slot = assay_map_at(&told, assay_hash(text.p, text.n, 0));
			if (*slot == ASSAY_MAP_ABSENT)
				tell(n, text);
			*slot = 1;
		}
	assay_map_free(&told);
}

static void add_device(nsys *n, int64_t number)
{
	uint32_t r = assay_rocprof_device(n->part, number);
	assay_device_table *d = &n->part->t.device;
	char arch[32];
	int64_t major = assay_db_int(n->db, 5, -1), minor = assay_db_int(n->db, 6, 0);
	d->vendor[r] = assay_intern_z(&n->part->strings, assay_vendor_name[ASSAY_VENDOR_NVIDIA]);
	d->name[r] = assay_intern(&n->part->strings, assay_db_text(n->db, 1));
	d->memory[r] = assay_db_int(n->db, 2, -1);
	d->units[r] = (int32_t)assay_db_int(n->db, 3, -1);
	d->warp[r] = (int32_t)assay_db_int(n->db, 4, -1);
	if (major > 0) {
		snprintf(arch, sizeof arch, "sm_%d%d", (int)major, (int)minor);
		d->arch[r] = assay_intern_z(&n->part->strings, arch);
	}
}

/* Activity rows number devices as their process does; TARGET_INFO_CUDA_DEVICE, where it is, says
 * which GPU that is. Without it cuDevice does. */
typedef struct device_number {
	int64_t pid, cuda, gpu;
} device_number;

static void add_devices_of(nsys *n, int64_t pid, const device_number *list, size_t count)
{
	for (assay_db_select(n->db, "TARGET_INFO_GPU",
			     ASSAY_DB_COLUMNS("id", "name", "totalMemory", "smCount",
					      "threadsPerWarp", "computeMajor", "computeMinor",
					      "cuDevice"));
	     assay_db_next(n->db);) {
		int64_t id = assay_db_int(n->db, 0, -1), number = assay_db_int(n->db, 7, id);
		bool mapped = false, mine = false;
		for (size_t i = 0; i < count; i++) {
			mapped |= list[i].pid == pid;
			if (list[i].pid == pid && list[i].gpu == id) {
				number = list[i].cuda;
				mine = true;
			}
		}
		if (mine || !mapped)
			add_device(n, number);
	}
}

static uint64_t device_key(uint32_t source, int64_t id)
{
	const int64_t key[] = {source, id};
	return assay_hash(key, sizeof key, 0);
}

/* Devices that only work tells of: of them the maker is known. */
static void add_devices_of_work(nsys *n)
{
	assay_tables *t = &n->part->t;
	assay_map known = {0};
	for (uint32_t d = 0; d < t->device.n; d++)
		*assay_map_at(&known, device_key(t->device.source[d], t->device.id[d])) = d;
	for (uint32_t i = 0; i < t->track.n; i++) {
		int64_t id = t->track.pid[i];
		if (t->track.kind[i] != ASSAY_TRACK_STREAM || id < 0 || id > INT32_MAX ||
		    assay_map_get(&known, device_key(n->first, id)) != ASSAY_MAP_ABSENT)
			continue;
		uint32_t *slot = assay_map_at(&known, device_key(t->track.source[i], id));
		if (*slot != ASSAY_MAP_ABSENT)
			continue;
		uint32_t d = *slot = assay_add(t, ASSAY_T_device);
		t->device.source[d] = t->track.source[i];
		t->device.id[d] = (int32_t)id;
		t->device.vendor[d] =
			assay_intern_z(&n->part->strings, assay_vendor_name[ASSAY_VENDOR_NVIDIA]);
	}
	assay_map_free(&known);
}

static void read_devices(nsys *n)
{
	assay_vec(device_number) list = {0};
	for (assay_db_select(n->db, "TARGET_INFO_CUDA_DEVICE",
			     ASSAY_DB_COLUMNS("pid", "cudaId", "gpuId"));
	     assay_db_next(n->db);)
		*assay_push(&list) =
			(device_number){assay_db_int(n->db, 0, -1), assay_db_int(n->db, 1, -1),
					assay_db_int(n->db, 2, -1)};
	assay_vec(int64_t) pids = {0};
	for (assay_db_select(n->db, "PROCESSES", ASSAY_DB_COLUMNS("globalPid"));
	     assay_db_next(n->db);)
		*assay_push(&pids) = assay_db_int(n->db, 0, 0);
	bool any = false;
	for (size_t i = 0; i < pids.n; i++)
		if (nsys_process(n, pids.p[i], false)) {
			add_devices_of(n, pids.p[i] >> 24 & 0xffffff, list.p, list.n);
			any = true;
		}
	n->part->source = n->first;
	if (!any)
		add_devices_of(n, -1, list.p, list.n);
	add_devices_of_work(n);
	assay_vec_free(&list);
	assay_vec_free(&pids);
}

static uint32_t add_stream(nsys *n, int64_t id, int64_t context)
{
	uint32_t device = assay_map_get(&n->device_of, nsys_corr_key(n, (uint64_t)context));
	uint32_t r = assay_add(&n->part->t, ASSAY_T_stream);
	assay_stream_table *s = &n->part->t.stream;
	s->source[r] = n->part->source;
	s->id[r] = id;
	s->context[r] = (uint32_t)context;
	s->device[r] = device == ASSAY_MAP_ABSENT ? -1 : (int32_t)device;
	return r;
}

/* Streams as contexts made them. Flag 3 is the null stream, 2 one that does not wait for it. */
static void read_streams(nsys *n)
{
	for (assay_db_select(n->db, "TARGET_INFO_CUDA_STREAM",
			     ASSAY_DB_COLUMNS("streamId", "processId", "contextId", "priority",
					      "flag", "vmId"));
	     assay_db_next(n->db);) {
		int64_t flag = assay_db_int(n->db, 4, 0);
		if (!nsys_process(n, nsys_global_pid(n, 1, 5), false))
			continue;
		uint32_t r = add_stream(n, assay_db_int(n->db, 0, -1), assay_db_int(n->db, 2, -1));
		n->part->t.stream.priority[r] = (int32_t)assay_db_int(n->db, 3, 0);
		n->part->t.stream.flags[r] = flag == 3   ? ASSAY_STREAM_DEFAULT
					     : flag == 2 ? ASSAY_STREAM_NONBLOCKING
							 : 0;
	}
	for (assay_db_select(n->db, "TARGET_INFO_CUDA_CONTEXT_INFO",
			     ASSAY_DB_COLUMNS("nullStreamId", "processId", "contextId", "vmId",
					      "isGreenContext"));
	     assay_db_next(n->db);) {
		int64_t id = nsys_number(n, 0, 0);
		if (id <= 0 || assay_db_int(n->db, 4, 0) ||
		    !nsys_process(n, nsys_global_pid(n, 1, 3), false))
			continue;
		uint32_t r = add_stream(n, id, assay_db_int(n->db, 2, -1));
		n->part->t.stream.flags[r] = ASSAY_STREAM_DEFAULT;
	}
}

static void read_ranks(nsys *n)
{
	for (assay_db_select(n->db, "MPI_RANKS", ASSAY_DB_COLUMNS("globalTid", "rank"));
	     assay_db_next(n->db);)
		if (nsys_process(n, assay_db_int(n->db, 0, 0), false) &&
		    n->part->source != ASSAY_NO_ROW)
			n->part->t.source.rank[n->part->source] =
				(int32_t)assay_db_int(n->db, 1, -1);
}

static bool is_export(const assay_db *db)
{
	if (assay_db_exists(db, "StringTable") && !assay_db_exists(db, "StringIds"))
		return false; /* nvprof's, with the same names for other tables */
	for (size_t i = 0; i < db->names.n; i++)
		if (assay_str_starts(db->names.p[i], "CUPTI_ACTIVITY_KIND_") ||
		    assay_str_is(db->names.p[i], "NVTX_EVENTS") ||
		    assay_str_is(db->names.p[i], "META_DATA_EXPORT") ||
		    assay_str_is(db->names.p[i], "EXPORT_META_DATA"))
			return true;
	return false;
}

/* Tables that explain others, or have nothing to do with the program's time. */
static bool is_dull(assay_str table)
{
	static const char *const starts[] = {"ENUM_",
					     "TARGET_INFO_",
					     "META_DATA_",
					     "ANALYSIS_",
					     "EXPORT_",
					     "NVTX_PAYLOAD_",
					     "ProcessStreams",
					     "MPI_COMM",
					     "UnwindMethod",
					     "NIC_ID_MAP",
					     "GENERIC_EVENT_SOURCES",
					     "GENERIC_EVENT_TYPE"};
	return assay_str_starts_any(table, starts, ASSAY_COUNT_OF(starts));
}

static void read_all(nsys *n)
{
	read_strings(n);
	if (!read_facts(n, "META_DATA_EXPORT", "name", "nsys"))
		read_facts(n, "EXPORT_META_DATA", "name", "nsys");
	read_facts(n, "META_DATA_CAPTURE", "name", "nsys.capture");
	read_clock(n);
	read_diagnostics(n);
	nsys_read_work(n);
	nsys_read_host(n);
	read_devices(n);
	read_streams(n);
	read_ranks(n);
	n->part->source = n->first;
	assay_db_tell_unread(n->db, is_dull,
			     (assay_db_passed[]){{n->others, "GENERIC_EVENTS"},
						 {n->passed, "of processes without GPU work"}},
			     2);
}

/* A process is what its threads and streams tell of. */
static void count_records(nsys *n)
{
	static const assay_table_id kinds[] = {ASSAY_T_host,         ASSAY_T_gpu,   ASSAY_T_sync,
					       ASSAY_T_event_record, ASSAY_T_alloc, ASSAY_T_counter,
					       ASSAY_T_sample};
	const assay_tables *t = &n->part->t;
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds); k++)
		for (size_t i = 0; i < assay_rows(t, &assay_table_infos[kinds[k]]); i++) {
			uint32_t source = assay_row_source(t, kinds[k], i);
			if (source < t->source.n)
				t->source.records[source]++;
		}
}

static bool nsys_read(assay_db *db)
{
	nsys n = {.db = db,
		  .part = db->part,
		  .stacks = {.part = db->part},
		  .first = db->part->source};
	read_all(&n);
	count_records(&n);
	assay_db_ids_free(&n.strings);
	assay_map_free(&n.source_of);
	assay_map_free(&n.call_of);
	assay_map_free(&n.device_of);
	assay_map_free(&n.domain_of);
	assay_stacks_free(&n.stacks);
	assay_jsonw_free(&n.args);
	assay_vec_free(&n.entries);
	assay_vec_free(&n.enums);
	return true;
}

/* Names of tables are on the first pages of every export seen (12 files, versions 2.9 to 3.25), and
 * need not be. */
static int nsys_sniff(assay_str head)
{
	if (!assay_is_sqlite(head))
		return 0;
	return assay_str_find(head, "StringIds") >= 0 && assay_str_find(head, "TARGET_INFO_") >= 0
		       ? 98
		       : 30;
}

const assay_reader assay_reader_nsys = {
	.name = "nsys",
	.ends = {".sqlite"},
	.about = "Nsight Systems SQLite exports",
	.waits = "yes",
	.scopes = "NVTX",
	.note = "`.nsys-rep` must be exported first",
	.page = "nsys",
	.sniff = nsys_sniff,
	.read = assay_database_read,
	.alone = true,
	.ranked = true,
};

const assay_database assay_database_nsys = {&assay_reader_nsys, is_export, nsys_read};

/* ---- tests */

/* Types and columns as exports of version 3.13 and later have them. */
static const char *const made =
	"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	"CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);"
	"CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, "
	"cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, [end] INTEGER, deviceId INTEGER, "
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
	"demangledName INTEGER, gridX INTEGER, blockX INTEGER, staticSharedMemory INTEGER, "
	"dynamicSharedMemory INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, [end] INTEGER, deviceId INTEGER, "
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes "
	"INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, [end] INTEGER, eventClass "
	"INTEGER, "
	"globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, "
	"callchainId INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, [end] INTEGER, deviceId "
	"INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
	"syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId INTEGER, contextId INTEGER, streamId "
	"INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);"
	"CREATE TABLE CUDA_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER, stackDepth "
	"INTEGER);"
	"CREATE TABLE NVTX_EVENTS(start INTEGER, [end] INTEGER, eventType INTEGER, rangeId "
	"INTEGER, "
	"text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
	"INSERT INTO StringIds "
	"VALUES(1,'gemm<float>'),(2,'cudaLaunchKernel_v7000'),(3,'cudaStreamSynchronize_v3020'),(4,"
	"'step 1'),(5,'main'),(6,'train.py'),(7,'cudaStreamWaitEvent_v3020');"
	"INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.25.0');"
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);"
	"INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA H100',85000000000,132,0,9,0);"
	/* processes 100 and 200 of VM 1: (1<<48)+(pid<<24) */
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
	"VALUES(1000,1500,1,5,7,42,281476654432256,1,10,128,16,32),(2000,2500,0,1,7,42,"
	"281478332153856,1,1,1,0,0);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY "
	"VALUES(1600,1700,1,5,7,43,281476654432256,4096,1,0,2);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
	"VALUES(900,950,0,281476654432357,42,2,0,1),(1710,1800,0,281476654432357,44,3,0,NULL),(1,2,"
	"67,281476654432357,42,2,0,1),(1900,1910,0,281478332153957,42,2,0,NULL),(1920,1930,0,"
	"281476654432357,45,7,0,NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
	"VALUES(1715,1790,0,5,7,44,281476654432256,2,4294967295,4294967295),(1921,1922,0,5,8,45,"
	"281476654432256,1,3,77);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(1,5,7,46,281476654432256,3,77);"
	"INSERT INTO CUDA_CALLCHAINS VALUES(1,1,NULL,0),(1,5,6,1);"
	"INSERT INTO NVTX_EVENTS "
	"VALUES(-50,5000,59,NULL,NULL,281476654432357,NULL,4,0),(10,NULL,59,NULL,'open',"
	"281476654432357,NULL,NULL,0),(5,90,60,9,'async',281476654432357,281476654432358,NULL,0);";

static assay_run *read_made(const char *more, bool *ok, assay_err *err)
{
	const char *path = assay_test_path("export.sqlite");
	*ok = assay_sqlite_by_hand(path, made) && assay_sqlite_by_hand(path, more);
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_open(path, err);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	*ok = *ok && in && assay_database_read(run, in, err);
	assay_input_close(in);
	unlink(path);
	return run;
}

TEST(an_export_keeps_processes_names_and_waits)
{
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made("", &ok, &err);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->source.n == 2 && t->gpu.n == 3 && t->sync.n == 2);
	CHECK(!strcmp(assay_z(run, t->gpu.name[0]), "gemm<float>") && t->gpu.dur[0] == 500);
	CHECK(t->gpu.shared[0] == 48 && t->gpu.grid_x[0] == 10 && t->gpu.corr[0] == 42);
	CHECK(t->track.source[t->gpu.track[0]] != t->track.source[t->gpu.track[1]]);
	size_t calls = 0;
	for (size_t i = 0; i < t->host.n; i++)
		calls += t->host.kind[i] == ASSAY_HOST_RUNTIME;
	CHECK_EQ(calls, 4); /* class 67 is no call */
	CHECK(!strcmp(assay_z(run, t->host.name[0]), "cudaLaunchKernel"));
	CHECK(t->track.pid[t->host.track[0]] == 100 && t->track.tid[t->host.track[0]] == 101);
	CHECK(!strcmp(assay_z(run, t->sync.name[0]), "Stream Sync")); /* not what syncType says */
	CHECK(!strcmp(assay_z(run, t->sync.name[1]), "Stream Wait Event"));
	CHECK(t->sync.sync_id[1] == 77 && t->sync.record_corr[1] == 46 && t->sync.event[0] == -1);
	CHECK_EQ(t->track.pid[t->sync.track[0]], 1); /* the context's device, not deviceId */
	CHECK(t->source.base[0] == 1700000000000000000 && t->source.epoch[1] == 1);
	assay_run_free(run);
	return 0;
}

TEST(an_export_keeps_ranges_stacks_and_devices)
{
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made("", &ok, &err);
	const assay_tables *t = &run->part.t;
	uint32_t range = 0;
	while (range < t->host.n && strcmp(assay_z(run, t->host.name[range]), "step 1"))
		range++;
	CHECK(ok && range < t->host.n && t->host.ts[range] == -50 && t->host.dur[range] == 5050);
	CHECK(t->host.kind[range] == ASSAY_HOST_MARKER);
	CHECK(t->host.dur[range + 1] == -1 && t->host.kind[range + 2] == ASSAY_HOST_PROCESS_RANGE);
	uint32_t stack = t->api.stack[t->host.detail[0]];
	CHECK(stack < t->stack.n && t->stack.depth[stack] == 2);
	CHECK(!strcmp(assay_z(run, t->code.function[t->stack.code[stack]]), "gemm<float>"));
	uint32_t caller = t->stack.caller[stack];
	CHECK(!strcmp(assay_z(run, t->code.file[t->stack.code[caller]]), "train.py"));
	CHECK(t->device.n >= 1 && t->device.units[0] == 132);
	assay_run_free(run);
	return 0;
}

TEST(tables_that_are_missing_or_odd_do_not_matter)
{
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made(
		"DROP TABLE StringIds; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, [end]) VALUES('x', 5), (9, 3);",
		&ok, &err);
	CHECK(ok && run->part.t.gpu.n >= 2);
	CHECK(!strcmp(assay_z(run, run->part.t.gpu.name[0]), "string 1"));
	CHECK(run->part.issues[ASSAY_ISSUE_no_duration] + run->part.issues[ASSAY_ISSUE_bad_number]);
	assay_run_free(run);
	return 0;
}

TEST(work_that_does_not_say_its_process_is_of_the_only_one)
{
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made(
		"DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid > 281478332153856;ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid;",
		&ok, &err);
	const assay_tables *t = &run->part.t;
	CHECK(ok && t->source.n == 1);
	CHECK(t->track.source[t->gpu.track[0]] == t->track.source[t->host.track[0]]);
	assay_run_free(run);
	return 0;
}

/* Rows come by thread in order of time; 281476654432357 is thread 101 of process 100. */
TEST(turns_of_threads_last_from_one_row_of_the_scheduler_to_the_next)
{
	static const char rows[] =
		"CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER, isSchedIn INTEGER, "
		"globalTid INTEGER, threadState INTEGER, threadBlock INTEGER);"
		"INSERT INTO SCHED_EVENTS VALUES(100,0,1,281476654432357,0,NULL),"
		"(150,0,0,281476654432357,0,NULL),(400,1,1,281476654432357,0,NULL),"
		"(410,1,0,281476654432357,0,44),(430,1,1,281476654432357,0,NULL),"
		"(440,1,1,281476654432357,0,NULL),(450,1,0,281476654432357,2,7),"
		"(500,1,1,281476654432357,0,NULL),(1,0,1,281479000000001,0,NULL);";
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made(rows, &ok, &err);
	const assay_sample_table *s = &run->part.t.sample;
	static const struct {
		int64_t ts, dur, cpu, delay;
		assay_thread_state state;
		assay_call_kind kind;
	} want[] = {
		{100, 50, 50, 0, ASSAY_THREAD_RUNNING, ASSAY_CALL_NONE},
		{150, 250, 0, -1, ASSAY_THREAD_OFF, ASSAY_CALL_NONE}, /* no reason is told */
		{400, 10, 10, 0, ASSAY_THREAD_RUNNING, ASSAY_CALL_NONE},
		{410, 20, 0, 20, ASSAY_THREAD_READY, ASSAY_CALL_NONE},
		{440, 10, 10, 0, ASSAY_THREAD_RUNNING, ASSAY_CALL_NONE}, /* 430: end was lost */
		{450, 50, 0, 0, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},
	};
	CHECK(ok);
	CHECK_EQ(s->n, ASSAY_COUNT_OF(want));
	for (size_t i = 0; i < s->n; i++) {
		CHECK(s->ts[i] == want[i].ts && s->dur[i] == want[i].dur);
		CHECK(s->cpu[i] == want[i].cpu && s->delay[i] == want[i].delay);
		CHECK(s->state[i] == want[i].state && s->kind[i] == want[i].kind);
		CHECK(s->flags[i] == ASSAY_SAMPLE_TURN && s->count[i] == 0);
	}
	assay_str unread = assay_meta_get(run, "unread");
	CHECK(assay_str_eq(unread, ASSAY_S("of processes without GPU work (1 rows)")));
	assay_run_free(run);
	return 0;
}

/* GENERIC_EVENTS hold anybody's events; a process-wide lock's are nobody's to read. */
static const char metrics_as_events[] =
	"CREATE TABLE GENERIC_EVENT_SOURCES(sourceId INTEGER, data TEXT);"
	"CREATE TABLE GENERIC_EVENT_TYPES(typeId INTEGER, sourceId INTEGER, data TEXT);"
	"CREATE TABLE GENERIC_EVENTS(rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, "
	"data TEXT);"
	"INSERT INTO GENERIC_EVENT_SOURCES VALUES(7,'{\"Source\":{},\"Name\":\"GpuMetrics\"}'),"
	"(8,'{\"Name\":\"FTrace\"}');"
	"INSERT INTO GENERIC_EVENT_TYPES VALUES(72057594037927937,7,'{}'),(5,8,'{}');"
	"INSERT INTO GENERIC_EVENTS VALUES(900,1000,72057594037927937,"
	"'{\"SM Active\":\"12\",\"GR Active\":40.5}'),"
	"(1900,NULL,72057594037927937,'{\"SM Active\":\"x\",\"GR Active\":41}'),(3,3,5,'{\"a\":1}');";

TEST(metrics_of_gpus_that_stand_among_other_events_are_read)
{
	bool ok;
	assay_err err = {0};
	assay_run *run = read_made(metrics_as_events, &ok, &err);
	const assay_tables *t = &run->part.t;
	CHECK(ok);
	CHECK_EQ(t->counter.n, 3);
	CHECK(t->counter.ts[0] == 1000 && t->counter.value[0] == 12);
	CHECK(!strcmp(assay_z(run, t->counter.name[1]), "GR Active"));
	CHECK(t->counter.value[1] == 40.5 && t->counter.ts[2] == 1900);
	CHECK_EQ(t->track.pid[t->counter.track[0]], 1); /* the type's low byte */
	CHECK(assay_str_eq(assay_meta_get(run, "unread"), ASSAY_S("GENERIC_EVENTS (1 rows)")));
	assay_run_free(run);
	return 0;
}

TEST(metrics_with_a_table_of_their_own_are_not_read_twice)
{
	bool ok;
	assay_err err = {0};
	assay_arena a = {0};
	assay_run *run = read_made(
		assay_printf(&a, "%s%s", metrics_as_events,
			     "CREATE TABLE GPU_METRICS(rawTimestamp INTEGER, timestamp INTEGER, "
			     "typeId INTEGER, metricId INTEGER, value INTEGER);"
			     "INSERT INTO GPU_METRICS VALUES(900,NULL,72057594037927937,0,12);"),
		&ok, &err);
	CHECK(ok && run->part.t.counter.n == 1 && run->part.t.counter.ts[0] == 900);
	CHECK(assay_str_eq(assay_meta_get(run, "unread"), ASSAY_S("GENERIC_EVENTS (3 rows)")));
	assay_run_free(run);
	assay_arena_free(&a);
	return 0;
}

/* Tables as rocprofv3 writes them with --output-format csv: a file for each kind of row, called
 * after the process. docs/formats/rocprof_csv.md */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/csvw.h"
#include "base/test.h"
#include "names/copies.h"
#include "write/folder.h"
#include "model/grid.h"
#include "write/sdk_names.h"
#include "write/sources.h"
#include "write/writer.h"

enum { FLUSH = 1 << 16 };

/* Files of a process, in the order they are made: X(id, end of the name, header). Headers are those
 * of real files, byte for byte. */
#define API_HEADER                                                                                 \
	"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\""
#define FILES(X)                                                                                                                                        \
	X(KERNELS, "kernel_trace",                                                                                                                      \
	  "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","                                                             \
	  "\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\","                                                                       \
	  "\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\","                                                                       \
	  "\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\","                                                              \
	  "\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"")                                                                       \
	X(COPIES, "memory_copy_trace",                                                                                                                  \
	  "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"") \
	X(MEMORY, "memory_allocation_trace",                                                                                                            \
	  "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"")               \
	X(HIP, "hip_api_trace", API_HEADER)                                                                                                             \
	X(HSA, "hsa_api_trace", API_HEADER)                                                                                                             \
	X(RCCL, "rccl_api_trace", API_HEADER)                                                                                                           \
	X(CUDA, "cuda_api_trace", API_HEADER)                                                                                                           \
	X(MARKER, "marker_api_trace", API_HEADER)                                                                                                       \
	X(COUNTERS, "counter_collection",                                                                                                               \
	  "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","                                                                \
	  "\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\","                                                               \
	  "\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\","                                                                    \
	  "\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\","                                                                      \
	  "\"End_Timestamp\"")                                                                                                                          \
	X(AGENTS, "agent_info",                                                                                                                         \
	  "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Wave_Front_Size\",\"Local_Mem_Size\",\"Gfx_Target_Version\",\"Name\",\"Vendor_Name\",\"Product_Name\"")

typedef enum file_id {
#define X(id, name, header) FILE_##id,
	FILES(X)
#undef X
		FILE_COUNT
} file_id;

static const struct {
	const char *name, *header;
} files[FILE_COUNT] = {
#define X(id, name, header) [FILE_##id] = {name, header},
	FILES(X)
#undef X
};

typedef struct writer {
	const assay_run *run;
	const assay_tables *t;
	assay_source_places at;
	assay_grids grids;
	assay_folder folder;
	assay_arena scratch;
	assay_err *err;
	uint32_t group;
	int64_t shift; /* makes all times positive: 0 is a stamp never set */
	const char *prefix;
	int64_t host_agent;
	FILE *out[FILE_COUNT];
	assay_csvw line;
	bool fresh;             /* no cell of the line yet */
	assay_map kernel_id;    /* name -> number */
	assay_map kernel_of;    /* correlation and dispatch -> row of gpu */
	uint8_t *placed, *kept; /* by row of pmc; of alloc */
	bool failed;
} writer;

/* ------------------------------------------------------------------ cells */

static void next_cell(writer *w)
{
	if (!w->fresh)
		*assay_push(&w->line) = ',';
	w->fresh = false;
}

static void put_i64(writer *w, int64_t v)
{
	char digits[ASSAY_DIGITS_MAX + 1];
	next_cell(w);
	assay_csvw_bytes(&w->line,
			 (assay_str){digits, (size_t)(assay_put_i64(digits, v) - digits)});
}

/* Empty when it is the absent value. */
static void put_known(writer *w, uint64_t v, uint64_t absent)
{
	if (v == absent)
		next_cell(w);
	else
		put_i64(w, (int64_t)v);
}

static void put_text(writer *w, assay_str s)
{
	next_cell(w);
	assay_csvw_quoted(&w->line, s);
}

static void put_agent(writer *w, int64_t agent)
{
	char text[32];
	snprintf(text, sizeof text, "Agent %" PRId64, agent);
	put_text(w, assay_str_of(text));
}

/* The file is made with its first row. */
static void end_row(writer *w, file_id id)
{
	if (!w->out[id] && !w->failed) {
		w->out[id] = assay_folder_file(
			&w->folder,
			assay_printf(&w->scratch, "%s_%s.csv", w->prefix, files[id].name), w->err);
		w->failed = !w->out[id];
		if (w->out[id])
			fprintf(w->out[id], "%s\n", files[id].header);
	}
	*assay_push(&w->line) = '\n';
	if (w->out[id])
		fwrite(w->line.p, 1, w->line.n, w->out[id]);
	w->line.n = 0;
	w->fresh = true;
}

static int64_t when(const writer *w, uint32_t track, int64_t ts)
{
	uint32_t source = track == ASSAY_NO_ROW ? w->group : w->t->track.source[track];
	return assay_source_absolute(&w->at, source, ts) + w->shift;
}

static void put_span(writer *w, uint32_t track, int64_t ts, int64_t dur)
{
	int64_t start = when(w, track, ts);
	put_i64(w, start);
	put_i64(w, start + (dur > 0 ? dur : 0));
}

static bool is_mine(const writer *w, uint32_t track)
{
	return track != ASSAY_NO_ROW && assay_track_group(w->t, track) == w->group;
}

/* ------------------------------------------------------------------ rows */

static int64_t launch_thread(const writer *w, uint32_t g)
{
	const assay_tables *t = w->t;
	uint32_t h = t->launch.n == t->gpu.n ? t->launch.host[g] : ASSAY_NO_ROW;
	return h == ASSAY_NO_ROW ? -1 : t->track.tid[t->host.track[h]];
}

static uint32_t kernel_number(writer *w, assay_sid name)
{
	uint32_t *id = assay_map_at(&w->kernel_id, name);
	if (*id == ASSAY_MAP_ABSENT)
		*id = (uint32_t)w->kernel_id.n;
	return *id;
}

static void put_registers(writer *w, uint32_t g)
{
	const assay_gpu_table *t = &w->t->gpu;
	put_known(w, t->shared[g], UINT32_MAX);
	put_known(w, t->scratch[g], UINT32_MAX);
	put_known(w, t->regs[g], UINT16_MAX);
	put_known(w, t->acc_regs[g], UINT16_MAX);
	put_known(w, t->scalar_regs[g], UINT16_MAX);
}

static void put_kernel(writer *w, uint32_t g)
{
	const assay_gpu_table *t = &w->t->gpu;
	uint32_t track = t->track[g], grid[3];
	assay_grid_items(&w->grids, g, grid);
	put_text(w, ASSAY_S("KERNEL_DISPATCH"));
	put_agent(w, w->t->track.pid[track] < 0 ? 0 : w->t->track.pid[track]);
	put_known(w, t->queue[g], UINT32_MAX);
	put_known(w, (uint64_t)w->t->track.tid[track], UINT64_MAX);
	put_known(w, (uint64_t)launch_thread(w, g), UINT64_MAX);
	put_known(w, t->dispatch[g], UINT32_MAX);
	put_i64(w, kernel_number(w, t->name[g]));
	put_text(w, assay_text(w->run, t->name[g]));
	put_i64(w, (int64_t)t->corr[g]);
	put_span(w, track, t->ts[g], t->dur[g]);
	put_registers(w, g);
	put_i64(w, t->block_x[g]);
	put_i64(w, t->block_y[g]);
	put_i64(w, t->block_z[g]);
	for (int i = 0; i < 3; i++)
		put_i64(w, grid[i]);
	end_row(w, FILE_KERNELS);
	uint64_t key[2] = {t->corr[g], t->dispatch[g]};
	*assay_map_at(&w->kernel_of, assay_hash(key, sizeof key, 0)) = g;
}

static void put_copy(writer *w, uint32_t g)
{
	const assay_gpu_table *t = &w->t->gpu;
	uint32_t track = t->track[g];
	assay_str name = assay_text(w->run, t->name[g]);
	bool set = t->kind[g] == ASSAY_GPU_MEMSET;
	assay_copy_way way = set ? ASSAY_COPY_ELSEWHERE : assay_copy_way_of(name);
	int64_t device = w->t->track.pid[track] < 0 ? 0 : w->t->track.pid[track];
	put_text(w, set ? ASSAY_S("MEMORY_SET") : ASSAY_S("MEMORY_COPY"));
	put_text(w, name);
	put_known(w, (uint64_t)w->t->track.tid[track], UINT64_MAX);
	put_agent(w, assay_copy_from_host(way) ? w->host_agent : device);
	put_agent(w, assay_copy_to_host(way) ? w->host_agent : device);
	put_i64(w, (int64_t)t->corr[g]);
	put_span(w, track, t->ts[g], t->dur[g]);
	end_row(w, FILE_COPIES);
}

static void put_alloc(writer *w, uint32_t r)
{
	const assay_alloc_table *t = &w->t->alloc;
	assay_str name = assay_text(w->run, t->name[r]);
	char address[32];
	bool sdk =
		assay_str_starts(name, "MEMORY_ALLOCATION_") || assay_str_starts(name, "SCRATCH_");
	snprintf(address, sizeof address, "0x%016" PRIx64, t->addr[r]);
	put_text(w, ASSAY_S("MEMORY_ALLOCATION"));
	put_text(w, sdk               ? name
		    : t->bytes[r] < 0 ? ASSAY_S("MEMORY_ALLOCATION_FREE")
				      : ASSAY_S("MEMORY_ALLOCATION_ALLOCATE"));
	put_agent(w, t->device[r] < 0 ? w->host_agent : t->device[r]);
	put_i64(w, t->bytes[r] < 0 ? -t->bytes[r] : t->bytes[r]);
	put_text(w, assay_str_of(address));
	put_i64(w, (int64_t)t->corr[r]);
	put_span(w, t->track[r], t->ts[r], 0);
	end_row(w, FILE_MEMORY);
}

static file_id file_of_domain(const char *domain)
{
	static const struct {
		const char *start;
		file_id file;
	} of[] = {{"HIP", FILE_HIP}, {"HSA", FILE_HSA}, {"RCCL", FILE_RCCL}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		if (!strncmp(domain, of[i].start, strlen(of[i].start)))
			return of[i].file;
	return FILE_CUDA;
}

/* Annotations of frameworks are ranges that the program made, as markers are. */
static bool is_marker(uint8_t kind)
{
	return assay_is_thread_range(kind) || kind == ASSAY_HOST_PROCESS_RANGE;
}

static void put_host(writer *w, uint32_t h)
{
	const assay_host_table *t = &w->t->host;
	uint32_t track = t->track[h], d = t->detail[h];
	bool marker = is_marker(t->kind[h]), api = assay_host_detail[t->kind[h]] == ASSAY_T_api;
	if (!marker && !assay_is_call(t->kind[h]))
		return;
	const char *domain = marker ? "MARKER_CORE_RANGE_API" : assay_sdk_domain(w->run, h);
	put_text(w, assay_str_of(domain));
	put_text(w, assay_text(w->run, t->name[h]));
	put_known(w, (uint64_t)w->t->track.pid[track], UINT64_MAX);
	put_known(w, (uint64_t)w->t->track.tid[track], UINT64_MAX);
	put_i64(w, api && d != ASSAY_NO_ROW ? (int64_t)w->t->api.corr[d] : 0);
	put_span(w, track, t->ts[h], t->dur[h]);
	end_row(w, marker ? FILE_MARKER : file_of_domain(domain));
}

static uint64_t product(uint64_t a, uint64_t b, uint64_t c)
{
	return a * (b ? b : 1) * (c ? c : 1);
}

static void put_counter(writer *w, uint32_t r)
{
	const assay_pmc_table *t = &w->t->pmc;
	const assay_gpu_table *k = &w->t->gpu;
	uint64_t key[2] = {t->corr[r], t->dispatch[r]};
	uint32_t g = assay_map_get(&w->kernel_of, assay_hash(key, sizeof key, 0)), grid[3];
	char value[40];
	if (g == ASSAY_MAP_ABSENT || w->placed[r] ||
	    (t->source[r] != ASSAY_NO_ROW && assay_group_of(w->t, t->source[r]) != w->group))
		return;
	w->placed[r] = 1;
	assay_grid_items(&w->grids, g, grid);
	snprintf(value, sizeof value, "%.6f", t->value[r]);
	put_i64(w, (int64_t)t->corr[r]);
	put_known(w, t->dispatch[r], UINT32_MAX);
	put_agent(w, w->t->track.pid[k->track[g]]);
	put_known(w, k->queue[g], UINT32_MAX);
	next_cell(w);
	put_known(w, (uint64_t)launch_thread(w, g), UINT64_MAX);
	put_i64(w, (int64_t)product(grid[0], grid[1], grid[2]));
	put_i64(w, kernel_number(w, k->name[g]));
	put_text(w, assay_text(w->run, k->name[g]));
	put_i64(w, (int64_t)product(k->block_x[g], k->block_y[g], k->block_z[g]));
	put_registers(w, g);
	put_text(w, assay_text(w->run, t->name[r]));
	next_cell(w);
	assay_csvw_bytes(&w->line, assay_str_of(value));
	put_span(w, k->track[g], k->ts[g], k->dur[g]);
	end_row(w, FILE_COUNTERS);
}

/* gfx942 is 90402: two digits each for minor and step, the rest for major; hexadecimal letters. */
static void put_gfx(writer *w, assay_str arch)
{
	int64_t part[3];
	next_cell(w);
	if (!assay_gfx_parts(arch, part))
		return;
	char text[64];
	snprintf(text, sizeof text, "%" PRId64 "%02" PRId64 "%02" PRId64, part[0], part[1],
		 part[2]);
	assay_csvw_bytes(&w->line, assay_str_of(text));
}

static void put_device(writer *w, uint32_t i)
{
	const assay_device_table *d = &w->t->device;
	assay_str arch = assay_text(w->run, d->arch[i]);
	put_i64(w, d->id[i]);
	put_i64(w, d->id[i]);
	put_text(w, ASSAY_S("GPU"));
	put_known(w, (uint64_t)d->units[i], (uint64_t)-1);
	put_known(w, (uint64_t)d->warp[i], (uint64_t)-1);
	put_known(w, (uint64_t)d->memory[i], (uint64_t)-1);
	put_gfx(w, arch);
	put_text(w, arch);
	put_text(w, assay_str_of(assay_vendor_title[assay_device_vendor(w->run, i)]));
	put_text(w, assay_text(w->run, d->name[i]));
	end_row(w, FILE_AGENTS);
}

/* What copies come from and go to beside GPUs. */
static void put_processor(writer *w)
{
	put_i64(w, w->host_agent);
	put_i64(w, w->host_agent);
	put_text(w, ASSAY_S("CPU"));
	for (int i = 0; i < 4; i++)
		put_i64(w, 0);
	for (int i = 0; i < 3; i++)
		put_text(w, ASSAY_S("CPU"));
	end_row(w, FILE_AGENTS);
}

/* ------------------------------------------------------------------ processes */

/* The process's number, as rocprofv3 calls its files, behind the rank where there is one. */
static const char *prefix_of(writer *w, assay_map *used)
{
	const assay_track_table *t = &w->t->track;
	int32_t rank = w->t->source.rank[w->group];
	int64_t pid = 0;
	for (uint32_t i = (uint32_t)t->n; i-- > 0;)
		if (t->kind[i] == ASSAY_TRACK_THREAD && t->pid[i] >= 0 && is_mine(w, i))
			pid = t->pid[i];
	const char *prefix = rank < 0 ? assay_printf(&w->scratch, "%" PRId64, pid)
				      : assay_printf(&w->scratch, "rank%d_%" PRId64, rank, pid);
	uint32_t *known = assay_map_at(used, assay_hash(prefix, strlen(prefix), 0));
	if (*known == ASSAY_MAP_ABSENT) {
		*known = 1;
		return prefix;
	}
	return assay_printf(&w->scratch, "%s-%u", prefix, ++*known);
}

static void put_process(writer *w)
{
	const assay_tables *t = w->t;
	for (uint32_t i = 0; i < t->gpu.n; i++)
		if (is_mine(w, t->gpu.track[i]))
			(t->gpu.kind[i] == ASSAY_GPU_KERNEL ? put_kernel : put_copy)(w, i);
	for (uint32_t i = 0; i < t->host.n; i++)
		if (is_mine(w, t->host.track[i]))
			put_host(w, i);
	for (uint32_t i = 0; i < t->alloc.n; i++)
		if (!w->kept[i] &&
		    (t->alloc.track[i] == ASSAY_NO_ROW || is_mine(w, t->alloc.track[i]))) {
			put_alloc(w, i);
			w->kept[i] = 1;
		}
	for (uint32_t i = 0; i < t->pmc.n; i++)
		put_counter(w, i);
	for (uint32_t i = 0; i < t->device.n; i++)
		if (assay_group_of(t, t->device.source[i]) == w->group)
			put_device(w, i);
	put_processor(w);
}

static bool has_rows(const writer *w, const uint32_t *track, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_mine(w, track[i]))
			return true;
	return false;
}

static void put_group(writer *w, uint32_t group, assay_map *used)
{
	w->group = group;
	if (!has_rows(w, w->t->gpu.track, w->t->gpu.n) &&
	    !has_rows(w, w->t->host.track, w->t->host.n))
		return;
	memset(w->out, 0, sizeof w->out);
	assay_map_free(&w->kernel_of);
	w->prefix = prefix_of(w, used);
	put_process(w);
}

/* Some clocks begin at 0 or before. */
static int64_t shift_of(writer *w)
{
	const assay_tables *t = w->t;
	int64_t least = INT64_MAX;
	for (size_t i = 0; i < t->gpu.n; i++)
		least = when(w, t->gpu.track[i], t->gpu.ts[i]) < least
				? when(w, t->gpu.track[i], t->gpu.ts[i])
				: least;
	for (size_t i = 0; i < t->host.n; i++)
		least = when(w, t->host.track[i], t->host.ts[i]) < least
				? when(w, t->host.track[i], t->host.ts[i])
				: least;
	return least > 0 ? 0 : 1000000 - least;
}

/* A number that no GPU has. */
static int64_t host_agent_of(const assay_tables *t)
{
	int64_t most = -1;
	for (size_t i = 0; i < t->track.n; i++)
		if (t->track.kind[i] == ASSAY_TRACK_STREAM && t->track.pid[i] > most)
			most = t->track.pid[i];
	for (size_t i = 0; i < t->device.n; i++)
		most = t->device.id[i] > most ? t->device.id[i] : most;
	for (size_t i = 0; i < t->alloc.n; i++)
		most = t->alloc.device[i] > most ? t->alloc.device[i] : most;
	return most < INT64_MAX ? most + 1 : 0;
}

static void leave_out(const writer *w, assay_left_out *left)
{
	const assay_tables *t = w->t;
	uint64_t spans = 0, ranges = 0, args = 0, ids = 0, sizes = 0, counters = 0, contexts = 0,
		 graphs = 0, queues = 0, threads = 0;
	for (size_t i = 0; i < t->host.n; i++) {
		bool written = is_marker(t->host.kind[i]) || assay_is_call(t->host.kind[i]);
		spans += !written;
		ranges += t->host.kind[i] == ASSAY_HOST_PROCESS_RANGE;
		args += written && t->host.args[i];
	}
	for (size_t i = 0; i < t->gpu.n; i++) {
		args += t->gpu.args[i] != 0;
		ids += t->gpu.external[i] != 0;
		sizes += t->gpu.bytes[i] >= 0;
		contexts += t->gpu.context[i] != UINT32_MAX;
		graphs += t->gpu.graph[i] || t->gpu.graph_node[i];
		queues += t->gpu.kind[i] != ASSAY_GPU_KERNEL && t->gpu.queue[i] != UINT32_MAX;
	}
	for (size_t i = 0; i < t->api.n; i++)
		ids += t->api.external[i] != 0;
	for (size_t i = 0; i < t->alloc.n; i++)
		threads +=
			t->alloc.track[i] != ASSAY_NO_ROW && t->track.tid[t->alloc.track[i]] >= 0;
	for (size_t i = 0; i < t->pmc.n; i++)
		counters += !w->placed[i];
	uint64_t makers = 0;
	for (size_t i = 0; i < t->device.n; i++)
		makers += assay_device_vendor(w->run, i) != ASSAY_VENDOR_AMD;
	assay_leave_out(left, w->shift != 0, ASSAY_NEW_ORIGIN);
	assay_leave_out(left, makers, "makers of GPUs: the tables are of AMD's");
	assay_leave_out(left, spans, "host spans that are neither calls nor ranges");
	assay_leave_out(left, ranges, "ranges' ends by id, which end as ranges of a thread");
	assay_leave_out(left, args, "rows' arguments");
	assay_leave_out(left, ids, "External ids");
	assay_leave_out(left, sizes, "sizes of GPU work");
	assay_leave_out(left, contexts, "contexts of GPU work");
	assay_leave_out(left, graphs, "graphs that GPU work is of");
	assay_leave_out(left, queues, "queues of copies");
	assay_leave_out(left, threads, "threads of memory events");
	assay_leave_out(left, counters, "hardware counter values without their kernel");
}

static bool rocprof_csv_write(const assay_run *run, const char *folder, assay_left_out *left,
			      assay_err *err)
{
	writer w = {.run = run, .t = &run->part.t, .err = err, .fresh = true};
	assay_map used = {0};
	if (!assay_folder_open(&w.folder, run, folder, err))
		return false;
	assay_source_places_find(&w.at, run, &w.scratch);
	w.grids = assay_grids_of(run, &w.scratch);
	w.placed = assay_alloc(&w.scratch, w.t->pmc.n + 1);
	w.kept = assay_alloc(&w.scratch, w.t->alloc.n + 1);
	w.shift = shift_of(&w);
	w.host_agent = host_agent_of(w.t);
	for (uint32_t i = 0; i < w.t->source.n && !w.failed; i++)
		if (assay_group_of(w.t, i) == i)
			put_group(&w, i, &used);
	leave_out(&w, left);
	bool any = w.folder.made.n || w.failed ||
		   assay_fail(err, ASSAY_UNKNOWN, 0,
			      "there is nothing to write: these tables are of calls and GPU work");
	bool ok = assay_folder_close(&w.folder, any && !w.failed, err);
	assay_map_free(&used);
	assay_map_free(&w.kernel_id);
	assay_map_free(&w.kernel_of);
	assay_vec_free(&w.line);
	assay_arena_free(&w.scratch);
	return ok;
}

const assay_writer assay_writer_rocprof_csv = {
	.name = "rocprof-csv",
	.exts = {".rocprof/", ".rocprof"},
	.about = "CSV tables as rocprofv3 writes them, one file a kind of row",
	.back = "calls, ranges, work, memory, hardware counters of AMD devices",
	.page = "rocprof_csv",
	.write_folder = rocprof_csv_write,
	.lacks = ASSAY_LACKS_AS_ROCPROF | ASSAY_LACKS_FACTS | ASSAY_LACKS_BELOW_ZERO |
		 ASSAY_LACKS_WORLD,
};

TEST(architectures_are_numbers_as_rocprofv3_writes_them)
{
	static const char *const pairs[][2] = {
		{"gfx942", "90402"}, {"gfx90a", "90010"}, {"gfx1100", "110000"}, {"sm_90", ""}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++) {
		writer w = {.fresh = true};
		put_gfx(&w, assay_str_of(pairs[i][0]));
		CHECK(assay_str_is((assay_str){w.line.p, w.line.n}, pairs[i][1]));
		assay_vec_free(&w.line);
	}
	return 0;
}

TEST(a_folder_without_rows_is_not_made)
{
	assay_run *run = assay_run_new();
	assay_err err = {0};
	const char *folder = assay_test_path("folder");
	CHECK(!rocprof_csv_write(run, folder, NULL, &err) && access(folder, F_OK));
	CHECK(strstr(err.text, "nothing to write"));
	assay_run_free(run);
	return 0;
}

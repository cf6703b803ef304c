/* CSV files of rocprofv3 (ROCm 6.2 to 7.x, and what rocpd converts to), rocprof v1 and v2, and
 * other tables of kernels. docs/formats/rocprof_csv.md tells which column goes where. */
#include "read/rocprof_csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "read/frees.h"
#include "read/reader.h"

enum { HEAD = 64 << 10 };

/* Which summary a stats file is, by its name: 123_hip_api_stats.csv is hip_api_stats. */
static const char *stats_name(assay_arena *a, const char *path)
{
	static const char *const starts[] = {"kernel", "hip",       "hsa",     "marker",  "memory_",
					     "rccl",   "rocdecode", "rocjpeg", "scratch", "domain"};
	assay_str base = assay_str_of(assay_file_name(path));
	ptrdiff_t dot = assay_str_find(base, ".csv");
	if (dot >= 0)
		base.n = (size_t)dot;
	size_t from = base.n;
	for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++) {
		ptrdiff_t at = assay_str_find(base, starts[i]);
		if (at >= 0 && (size_t)at < from)
			from = (size_t)at;
	}
	if (from < base.n)
		base = (assay_str){base.p + from, base.n - from};
	return assay_dup(a, base);
}

typedef CSV_ROWS((*rows_fn));

static rows_fn rows_for(assay_isa isa)
{
#define X(isa) assay_csv_rows_##isa,
	static const rows_fn rows[] = { ASSAY_ISAS(X) };
#undef X
	return rows[isa];
}

struct csv_read {
	assay_run *run;
	assay_input *in;
	csv_plan plan;
	rows_fn rows;
	csv_worker *workers;
	assay_gate *gate;
	uint64_t records;
	assay_map dispatches; /* kernels of counter rows, kept already */
	uint64_t windows;     /* about as many as the first are to come; 0 when nobody knows */
};

static void worker_start(struct csv_read *job, csv_worker *w)
{
	*w = (csv_worker){.plan = &job->plan};
	w->moved.lean = job->run->lean;
	w->moved.but = offsetof(assay_gpu_table, dispatch); /* drop_counter_kernels() */
	w->part.source = job->run->part.source;
	memcpy(w->v, assay_csv_absent, sizeof w->v);
	for (size_t i = 0; i < CSV_TRACKS; i++)
		w->tracks[i].track = ASSAY_NO_ROW;
}

static void worker_stop(csv_worker *w)
{
	assay_part_free(&w->part);
	assay_moved_free(&w->moved);
	assay_vec_free(&w->plain);
}

static size_t csv_align(void *ctx, const char *text, size_t n)
{
	(void)ctx;
	const char *line = memchr(text, '\n', n);
	return line ? (size_t)(line - text) + 1 : n;
}

static assay_pump_status csv_parse(void *ctx, unsigned worker, assay_view text, size_t limit,
				   uint64_t pos, size_t *used)
{
	struct csv_read *job = ctx;
	(void)pos;
	job->workers[worker].parsed = true;
	return job->rows(&job->workers[worker], text, limit, used);
}

/* Rows of one dispatch carry the same kernel, once per counter. */
static void drop_repeats(assay_map *kept, assay_tables *t)
{
	assay_gpu_table *g = &t->gpu;
	size_t n = 0;
	for (size_t r = 0; r < g->n; r++) {
		uint64_t key[] = {(uint64_t)g->ts[r], (uint64_t)g->dur[r], g->dispatch[r],
				  g->corr[r]};
		uint32_t *slot = assay_map_at(kept, assay_hash(key, sizeof key, 0));
		if (*slot != ASSAY_MAP_ABSENT)
			continue;
		*slot = 0;
		assay_row_copy(t, ASSAY_T_gpu, n++, r);
	}
	g->n = n;
}

static bool is_counter_file(const assay_run *run, uint32_t source)
{
	const assay_meta_table *m = &run->part.t.meta;
	for (size_t i = 0; i < m->n; i++)
		if (m->source[i] == source &&
		    assay_str_is(assay_text(run, m->key[i]), "rocprof_csv"))
			return assay_str_is(assay_text(run, m->value[i]), "counter_collection");
	return false;
}

/* A pass recorded with both kernel trace and counters has every kernel in two files: keep the
 * trace's, which has more columns. Dispatch numbers are unique in a process. */
static void drop_counter_kernels(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint32_t group = assay_group_of(t, run->part.source);
	assay_vec(uint8_t) role = {0}; /* by source: 0 another process, 1 trace, 2 counters */
	bool found[3] = {false};
	for (uint32_t i = 0; i < t->source.n; i++) {
		bool ours = assay_group_of(t, i) == group;
		uint8_t is = !ours ? 0 : is_counter_file(run, i) ? 2 : 1;
		*assay_push(&role) = is;
		found[is] = true;
	}
	assay_map traced = {0};
	size_t n = 0;
	for (int pass = 1; pass <= 2 && found[1] && found[2]; pass++)
		for (size_t r = 0; r < t->gpu.n; r++) {
			uint64_t key[] = {t->gpu.dispatch[r], t->gpu.corr[r]};
			uint64_t hash = assay_hash(key, sizeof key, 0);
			bool kernel = t->gpu.kind[r] == ASSAY_GPU_KERNEL;
			uint32_t track = t->gpu.track[r];
			uint32_t source =
				track < t->track.n ? t->track.source[track] : ASSAY_NO_ROW;
			uint8_t is = source < role.n ? role.p[source] : 0;
			if (pass == 1 && kernel && is == 1)
				*assay_map_at(&traced, hash) = 0;
			bool known = assay_map_get(&traced, hash) != ASSAY_MAP_ABSENT;
			if (pass == 2 && !(kernel && is == 2 && known))
				assay_row_copy(t, ASSAY_T_gpu, n++, r);
		}
	if (found[1] && found[2])
		t->gpu.n = n;
	assay_map_free(&traced);
	assay_vec_free(&role);
}

static void csv_commit(void *ctx, unsigned worker)
{
	struct csv_read *job = ctx;
	csv_worker *w = &job->workers[worker];
	if (job->plan.kind->put == assay_csv_put_counter)
		drop_repeats(&job->dispatches, &w->part.t);
	assay_part_expect(&job->run->part, &w->part, job->windows);
	job->windows = 0;
	assay_part_claim(job->gate, &job->run->part, &w->part, &w->moved);
	job->records += w->rows;
	w->rows = 0;
	w->parsed = false;
	if (job->run->progress)
		job->run->progress(job->run->progress_ctx, assay_input_path(job->in),
				   assay_input_file_pos(job->in), assay_input_file_bytes(job->in));
}

static void csv_fill(void *ctx, unsigned worker)
{
	struct csv_read *job = ctx;
	csv_worker *w = &job->workers[worker];
	assay_part_fill(job->gate, &job->run->part, &w->part, &w->moved);
}

/* Names and tracks of a window that was no window must not reach the run: start afresh. */
static void csv_discard(void *ctx, unsigned worker)
{
	struct csv_read *job = ctx;
	csv_worker *w = &job->workers[worker];
	if (!w->parsed)
		return;
	worker_stop(w);
	worker_start(job, w);
}

static uint64_t thread_key(const assay_track_table *t, uint32_t track)
{
	const int64_t key[] = {t->pid[track], t->tid[track]};
	return assay_hash(key, sizeof key, 0);
}

/* Calls, ranges and allocations of a thread come in a file each, and are one thread: ranges hold
 * the calls made in them. Rows of this file go to the thread as another file of the process has
 * it. */
static void share_threads(assay_run *run, size_t first_host, size_t first_alloc)
{
	assay_tables *t = &run->part.t;
	uint32_t group = assay_group_of(t, run->part.source);
	assay_arena scratch = {0};
	assay_map known = {0};
	uint32_t *to = assay_alloc(&scratch, (t->track.n + 1) * sizeof *to);
	for (uint32_t i = 0; i < t->track.n; i++) {
		to[i] = i;
		if (t->track.kind[i] != ASSAY_TRACK_THREAD || assay_track_group(t, i) != group)
			continue;
		uint32_t *slot = assay_map_at(&known, thread_key(&t->track, i));
		*slot = *slot == ASSAY_MAP_ABSENT ? i : *slot;
		if (t->track.pid[*slot] == t->track.pid[i] &&
		    t->track.tid[*slot] == t->track.tid[i])
			to[i] = *slot;
	}
	for (size_t i = first_host; i < t->host.n; i++)
		t->host.track[i] = to[t->host.track[i]];
	for (size_t i = first_alloc; i < t->alloc.n; i++)
		if (t->alloc.track[i] != ASSAY_NO_ROW)
			t->alloc.track[i] = to[t->alloc.track[i]];
	assay_map_free(&known);
	assay_arena_free(&scratch);
}

/* Memory of agents that the process's agent_info, read before, calls processors is the host's. */
static void find_host_memory(assay_run *run, size_t first)
{
	assay_tables *t = &run->part.t;
	assay_map cpus = {0};
	int64_t agent;
	for (size_t i = 0; i < t->meta.n; i++)
		if (assay_str_is(assay_text(run, t->meta.key[i]), assay_csv_cpu_agent) &&
		    assay_group_of(t, t->meta.source[i]) == assay_group_of(t, run->part.source) &&
		    assay_str_i64(assay_text(run, t->meta.value[i]), &agent))
			*assay_map_at(&cpus, (uint64_t)agent) = 1;
	for (size_t i = first; i < t->alloc.n && cpus.n; i++)
		if (assay_map_get(&cpus, (uint64_t)t->alloc.device[i]) != ASSAY_MAP_ABSENT)
			t->alloc.device[i] = -1;
	assay_map_free(&cpus);
}

static void finish(struct csv_read *job, size_t first_host, size_t first_alloc, size_t first_stat)
{
	if (job->plan.kind->put == assay_csv_put_length)
		assay_csv_join_stats(&job->run->part.t.stat, first_stat);
	if (assay_group_of(&job->run->part.t, job->run->part.source) != job->run->part.source)
		share_threads(job->run, first_host, first_alloc);
	job->run->part.t.source.records[job->run->part.source] = job->records;
	if (job->run->part.t.gpu.n && (job->plan.kind->put == assay_csv_put_kernel ||
				       job->plan.kind->put == assay_csv_put_counter))
		drop_counter_kernels(job->run);
	find_host_memory(job->run, first_alloc);
	if (job->plan.kind->put == assay_csv_put_alloc && job->plan.has[CSV_ADDRESS])
		assay_pair_frees(&job->run->part.t.alloc, first_alloc);
	if (job->plan.kind->put == assay_csv_put_sample) {
		char text[24];
		snprintf(text, sizeof text, "%llu", (unsigned long long)job->records);
		assay_meta_add(&job->run->part, "pc_samples", assay_str_of(text));
	}
}

static void read_rows(struct csv_read *job, csv_how how, size_t after, assay_arena *scratch)
{
	assay_run *run = job->run;
	csv_plan *plan = &job->plan;
	const char *header = plan->header.p;
	plan->header.p = assay_dup(scratch, plan->header);
	for (size_t i = 0; i < plan->cols; i++)
		if (plan->name[i].n)
			plan->name[i].p = plan->header.p + (plan->name[i].p - header);
	plan->about = stats_name(scratch, assay_input_path(job->in));
	job->gate = assay_gate_new(scratch);
	job->workers = assay_alloc(scratch, how.threads * sizeof *job->workers);
	for (unsigned i = 0; i < how.threads; i++)
		worker_start(job, &job->workers[i]);
	assay_meta_add(&run->part, "rocprof_csv", assay_str_of(plan->kind->name));
	if (!strcmp(assay_input_packing(job->in), "plain"))
		job->windows = assay_input_file_bytes(job->in) / how.window;
	size_t first_host = run->part.t.host.n, first_alloc = run->part.t.alloc.n;
	size_t first_stat = run->part.t.stat.n;
	assay_pump_run(&(assay_pump){.in = job->in,
				     .start = after,
				     .threads = how.threads,
				     .window = how.window,
				     .ctx = job,
				     .align = csv_align,
				     .parse = csv_parse,
				     .commit = csv_commit,
				     .fill = csv_fill,
				     .discard = csv_discard});
	finish(job, first_host, first_alloc, first_stat);
	for (unsigned i = 0; i < how.threads; i++)
		worker_stop(&job->workers[i]);
	assay_map_free(&job->dispatches);
	assay_gate_free(job->gate);
}

/* Where they do not, rows would have to be cut at what may stand inside a cell, too. */
static bool ends_lines(const assay_input *in, assay_view v, size_t header, assay_err *err)
{
	const char *cr = memchr(v.p, '\r', header);
	return !cr || cr + 1 == v.p + v.n || cr[1] == '\n' ||
	       assay_fail(err, ASSAY_FORMAT, (uint64_t)(cr - v.p),
			  "%s ends its lines with CR alone: write LF for it (tr '\\r' '\\n')",
			  assay_input_path(in));
}

bool assay_csv_read_as(assay_run *run, assay_input *in, csv_how how, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, HEAD);
	assay_arena scratch = {0};
	struct csv_read *job = assay_alloc(&scratch, sizeof *job);
	job->run = run;
	job->in = in;
	job->rows = rows_for(how.isa);
	size_t after;
	bool ok = assay_csv_plan((assay_str){v.p, v.n < HEAD ? v.n : HEAD}, &job->plan, &after) ||
		  assay_fail(err, ASSAY_FORMAT, 0, "%s has no header of a rocprof table",
			     assay_input_path(in));
	ok = ok && ends_lines(in, v, after, err);
	if (ok)
		read_rows(job, how, after, &scratch);
	assay_arena_free(&scratch);
	return ok;
}

static bool csv_read(assay_run *run, assay_input *in, assay_err *err)
{
	return assay_csv_read_as(run, in, (csv_how){assay_threads(), CSV_WINDOW, assay_cpu_isa()},
				 err);
}

/* rocprofv3 writes one file a kind: 1234_kernel_trace.csv, 1234_hip_api_trace.csv, ... The part
 * before the kind names the process. */
static const char *const parts[] = {"_kernel_trace.csv",
				    "_memory_copy_trace.csv",
				    "_memory_allocation_trace.csv",
				    "_scratch_memory_trace.csv",
				    "_marker_api_trace.csv",
				    "_hip_api_trace.csv",
				    "_hip_runtime_trace.csv",
				    "_hip_compile_trace.csv",
				    "_hsa_api_trace.csv",
				    "_hsa_core_api_trace.csv",
				    "_rccl_api_trace.csv",
				    "_cuda_api_trace.csv",
				    "_rocdecode_api_trace.csv",
				    "_rocjpeg_api_trace.csv",
				    "_counter_collection.csv",
				    "_agent_info.csv",
				    NULL};

const assay_reader assay_reader_rocprof_csv = {
	.name = "rocprof_csv",
	.ends = {".csv"},
	.about = "CSV tables of rocprofv3 and rocprof, and other tables of kernels",
	.waits = "calls only",
	.scopes = "ranges",
	.note = "calls have no arguments",
	.page = "rocprof_csv",
	.sniff = assay_csv_sniff,
	.read = csv_read,
	.parts = parts,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_ROCTX | ASSAY_TRAIT_FROM_START,
};

TEST(summaries_are_known_by_the_name_of_their_file)
{
	assay_arena a = {0};
	CHECK(!strcmp(stats_name(&a, "x/123_hip_api_stats.csv"), "hip_api_stats"));
	CHECK(!strcmp(stats_name(&a, "summary.csv"), "summary"));
	assay_arena_free(&a);
	return 0;
}

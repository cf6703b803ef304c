/* The report as JSON. The names below are a promise to scripts: add, never rename. */
#include "render/report.h"

#include <math.h>

#include "base/sort.h"
#include "render/ops.h"
#include "render/place.h"
#include "render/printout.h"

static const assay_metric_table *metrics(const assay_run *run)
{
	return &run->part.t.metric;
}

/* The value, or null when it is unknown: zero and unknown must not look the same. */
static void put_metric(assay_jsonw *w, const char *key, const assay_run *run, const char *metric)
{
	uint32_t r = assay_metric_known(run, metric);
	assay_jsonw_f64(w, key, r == ASSAY_NO_ROW ? NAN : metrics(run)->value[r]);
}

static void put_word(assay_jsonw *w, const char *key, const assay_run *run, const char *metric)
{
	uint32_t r = assay_metric_find(run, metric);
	assay_jsonw_str(w, key,
			r == ASSAY_NO_ROW ? ASSAY_S("unknown")
					  : assay_text(run, metrics(run)->text[r]));
}

int64_t assay_kernel_total(const assay_run *run)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	int64_t total = 0;
	for (size_t i = 0; i < k->n; i++)
		total += k->kind[i] == ASSAY_GPU_KERNEL ? k->total[i] : 0;
	return total;
}

const uint32_t *assay_kernels_by_time(const assay_run *run, assay_arena *a, size_t *n)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	uint32_t *rows = assay_alloc(a, k->n * sizeof *rows);
	*n = 0;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->kind[i] == ASSAY_GPU_KERNEL)
			rows[(*n)++] = i;
	assay_sort_rows_falling(rows, *n, k->total);
	return rows;
}

enum { RUN_METRICS_TOP = 5 };

static void put_run_metrics(assay_jsonw *w, const assay_run *run, assay_arena *scratch)
{
	uint32_t steps = assay_metric_known(run, "steps");
	assay_jsonw_open(w, "run_metrics", '{');
	assay_jsonw_i64_if(w, "steps", steps != ASSAY_NO_ROW,
			   steps == ASSAY_NO_ROW ? 0 : (int64_t)metrics(run)->value[steps]);
	put_metric(w, "step_time_seconds", run, "step_seconds");
	static const char *const plain[] = {"tokens_per_sec", "mfu_pct",      "hbm_peak_gb",
					    "hbm_avg_gb",     "hbm_total_gb", "gpu_util_pct",
					    "smi_util_pct"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(plain); i++)
		put_metric(w, plain[i], run, plain[i]);
	put_metric(w, "hbm_peak_gib", run, "hbm_peak_gb"); /* what they hold is GiB */
	put_metric(w, "hbm_avg_gib", run, "hbm_avg_gb");
	put_metric(w, "hbm_total_gib", run, "hbm_total_gb");
	size_t n;
	const uint32_t *rows = assay_kernels_by_time(run, scratch, &n);
	double total = (double)assay_kernel_total(run);
	assay_jsonw_open(w, "top_kernels", '[');
	for (size_t i = 0; i < n && i < RUN_METRICS_TOP; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, run->part.t.kernel.name[rows[i]]));
		assay_jsonw_f64(w, "pct_time",
				100 * (double)run->part.t.kernel.total[rows[i]] / total);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	put_word(w, "attention_kernel_loaded", run, "attention");
	assay_waste_json(w, run);
	assay_jsonw_open(w, "warnings", '[');
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		assay_jsonw_str(w, NULL, assay_text(run, run->part.t.warning.text[i]));
	assay_jsonw_close(w, ']');
	put_word(w, "rocm_version", run, "rocm_version");
	put_word(w, "cuda_version", run, "cuda_version");
	put_word(w, "pytorch_version", run, "pytorch_version");
	assay_jsonw_z(w, "runner_kind", "live");
	assay_jsonw_close(w, '}');
}

/* Runs of ranks that are not here, as [first, last]. */
static void put_missing(assay_jsonw *w, const assay_map *here, int32_t world)
{
	assay_jsonw_open_flat(w, "missing", '[');
	for (int32_t r = 0, from; r < world; r++) {
		if (assay_map_get(here, (uint64_t)r) != ASSAY_MAP_ABSENT)
			continue;
		for (from = r;
		     r + 1 < world && assay_map_get(here, (uint64_t)r + 1) == ASSAY_MAP_ABSENT;)
			r++;
		assay_jsonw_open_flat(w, NULL, '[');
		assay_jsonw_i64(w, NULL, from);
		assay_jsonw_i64(w, NULL, r);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, ']');
}

/* How much of the job this is: ranks as the recordings number them, and their number as these say
 * it. */
static void put_job(assay_jsonw *w, const assay_run *run)
{
	enum { RANKS_MAX = 1 << 24 }; /* more is no number of ranks, whatever a header says */
	const assay_source_table *s = &run->part.t.source;
	assay_map here = {0};
	int32_t world = -1;
	for (size_t i = 0; i < s->n; i++) {
		world = s->world[i] > world && s->world[i] <= RANKS_MAX ? s->world[i] : world;
		if (s->rank[i] >= 0)
			*assay_map_at(&here, (uint64_t)s->rank[i]) = 1;
	}
	assay_jsonw_open_flat(w, "job", '{');
	assay_jsonw_u64(w, "ranks", here.n);
	assay_jsonw_i64_if(w, "world", world >= 0, world);
	put_missing(w, &here, world);
	assay_jsonw_close(w, '}');
	assay_map_free(&here);
}

static void put_counts(assay_jsonw *w, const assay_run *run)
{
	uint64_t of_kind[ASSAY_GPU_KIND_COUNT] = {0}, events = 0;
	for (size_t i = 0; i < run->part.t.kernel.n; i++)
		of_kind[run->part.t.kernel.kind[i]] += run->part.t.kernel.count[i];
	for (size_t i = 0; i < run->part.t.source.n; i++)
		events += run->part.t.source.records[i];
	assay_jsonw_open_flat(w, "counts", '{');
	assay_jsonw_u64(w, "events", events);
	assay_jsonw_u64(w, "kernels", of_kind[ASSAY_GPU_KERNEL]);
	assay_jsonw_u64(w, "copies", of_kind[ASSAY_GPU_MEMCPY]);
	assay_jsonw_u64(w, "memsets", of_kind[ASSAY_GPU_MEMSET]);
	assay_jsonw_close(w, '}');
}

static void put_devices(assay_jsonw *w, const assay_run *run, assay_arena *scratch)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	const assay_source_table *s = &run->part.t.source;
	assay_idle_index idle = assay_idle_index_of(run, scratch);
	assay_jsonw_open(w, "devices", '[');
	for (size_t i = 0; i < d->n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_i64(w, "device", d->device[i]);
		int32_t rank = d->source[i] < s->n ? s->rank[d->source[i]] : -1;
		assay_jsonw_i64_if(w, "rank", rank >= 0, rank);
		assay_jsonw_u64(w, "source", d->source[i]);
		assay_jsonw_u64(w, "events", d->events[i]);
		assay_jsonw_u64(w, "linked", d->linked[i]);
		assay_jsonw_i64(w, "start_ns", d->start[i]);
		assay_jsonw_i64(w, "span_ns", d->span[i]);
		if (d->off[i])
			assay_jsonw_i64(w, "off_ns", d->off[i]);
		assay_jsonw_i64(w, "busy_ns", d->busy[i]);
		assay_jsonw_i64(w, "idle_ns", d->idle[i]);
		assay_jsonw_u64(w, "gaps", d->gaps[i]);
		assay_jsonw_i64(w, "compute_ns", d->compute[i]);
		assay_jsonw_i64(w, "exposed_comm_ns", d->exposed_comm[i]);
		assay_jsonw_i64(w, "exposed_copy_ns", d->exposed_copy[i]);
		assay_jsonw_i64(w, "total_comm_ns", d->total_comm[i]);
		assay_jsonw_i64(w, "total_copy_ns", d->total_copy[i]);
		assay_jsonw_i64(w, "sum_ns", d->sum[i]);
		assay_idle_json(w, run, &idle, (uint32_t)i);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_kernels(assay_jsonw *w, const assay_run *run, assay_arena *scratch)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	size_t n;
	const uint32_t *rows = assay_kernels_by_time(run, scratch, &n);
	double total = (double)assay_kernel_total(run);
	assay_jsonw_open(w, "top_kernels", '[');
	for (size_t i = 0; i < n && i < run->report_top; i++) {
		uint32_t r = rows[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, k->name[r]));
		assay_jsonw_u64(w, "count", k->count[r]);
		assay_jsonw_i64(w, "total_ns", k->total[r]);
		assay_jsonw_f64(w, "pct", total > 0 ? 100 * (double)k->total[r] / total : 0);
		assay_jsonw_i64(w, "min_ns", k->min[r]);
		assay_jsonw_i64(w, "max_ns", k->max[r]);
		assay_jsonw_i64_if(w, "median_ns", !run->in_full, k->median[r]);
		assay_jsonw_z(w, "family", assay_family_name[k->family[r]]);
		assay_jsonw_z(w, "class", assay_class_name[k->class[r]]);
		assay_jsonw_f64(w, "counted_flops", k->flops[r]);
		assay_jsonw_f64(w, "counted_bytes", k->bytes[r]);
		if (k->line[r] != ASSAY_NO_ROW)
			assay_place_json(w, "where", run,
					 run->part.t.kernel_line.stack[k->line[r]]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_families(assay_jsonw *w, const assay_run *run)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	double total = (double)assay_kernel_total(run);
	int64_t family[ASSAY_FAMILY_COUNT] = {0};
	uint64_t count[ASSAY_FAMILY_COUNT] = {0};
	for (size_t i = 0; i < k->n; i++) {
		bool kernel = k->kind[i] == ASSAY_GPU_KERNEL;
		family[k->family[i]] += kernel ? k->total[i] : 0;
		count[k->family[i]] += kernel ? k->count[i] : 0;
	}
	assay_jsonw_open(w, "kernel_families", '[');
	for (int f = 0; f < ASSAY_FAMILY_COUNT; f++) {
		if (!count[f])
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "family", assay_family_name[f]);
		assay_jsonw_u64(w, "count", count[f]);
		assay_jsonw_i64(w, "total_ns", family[f]);
		assay_jsonw_f64(w, "pct", total > 0 ? 100 * (double)family[f] / total : 0);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* Every figure with where it comes from. */
static void put_provenance(assay_jsonw *w, const assay_run *run)
{
	const assay_metric_table *m = metrics(run);
	assay_jsonw_open(w, "metrics", '[');
	for (size_t i = 0; i < m->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, m->name[i]));
		if (m->state[i] == ASSAY_STATE_UNKNOWN)
			assay_jsonw_null(w, "value");
		else if (m->text[i])
			assay_jsonw_str(w, "value", assay_text(run, m->text[i]));
		else
			assay_jsonw_f64(w, "value", m->value[i]);
		assay_jsonw_z(w, "state", assay_state_name[m->state[i]]);
		assay_jsonw_str(w, "how", assay_text(run, m->how[i]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_issues(assay_jsonw *w, const assay_run *run)
{
	assay_jsonw_open(w, "issues", '[');
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++) {
		if (!run->part.issues[i])
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "id", assay_issue_infos[i].id);
		assay_jsonw_u64(w, "count", run->part.issues[i]);
		assay_jsonw_z(w, "severity", assay_issue_infos[i].severity);
		assay_jsonw_z(w, "text", assay_issue_infos[i].text);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_issues_json(assay_jsonw *w, const char *key, const assay_run *run)
{
	assay_jsonw_open(w, key, '{');
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (run->part.issues[i])
			assay_jsonw_u64(w, assay_issue_infos[i].id, run->part.issues[i]);
	assay_jsonw_close(w, '}');
}

static void put_inputs(assay_jsonw *w, const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	assay_jsonw_open(w, "inputs", '[');
	for (size_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "path", assay_text(run, s->path[i]));
		assay_jsonw_str(w, "format", assay_text(run, s->format[i]));
		assay_jsonw_u64(w, "bytes", s->file_bytes[i]);
		assay_jsonw_u64(w, "records", s->records[i]);
		if (s->rank[i] >= 0)
			assay_jsonw_i64(w, "rank", s->rank[i]);
		if (run->in_full)
			assay_jsonw_bool(w, "in_full", i < run->in_full);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* steps: also what has a row for each step of each rank. */
static void put_report(assay_jsonw *w, const assay_run *run, bool steps)
{
	assay_arena scratch = {0};
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "assay", ASSAY_VERSION);
	assay_jsonw_u64(w, "schema", ASSAY_REPORT_SCHEMA);
	put_inputs(w, run);
	put_run_metrics(w, run, &scratch);
	put_job(w, run);
	put_counts(w, run);
	put_devices(w, run, &scratch);
	assay_tables_rest(&run->part.t);
	assay_budget_json(w, run);
	assay_steady_json(w, run);
	assay_findings_json(w, run);
	assay_verdicts_json(w, run);
	assay_gaps_json(w, run);
	assay_idle_lines_json(w, run);
	if (steps)
		assay_steps_json(w, run);
	assay_derived_json(w, run);
	if (steps)
		assay_ranks_json(w, run);
	assay_tables_rest(&run->part.t);
	put_kernels(w, run, &scratch);
	put_families(w, run);
	assay_copies_json(w, run);
	assay_memory_json(w, run);
	assay_host_calls_json(w, run);
	assay_counters_json(w, run);
	assay_summaries_json(w, run);
	assay_ops_json(w, run);
	put_provenance(w, run);
	put_issues(w, run);
	assay_jsonw_close(w, '}');
	assay_arena_free(&scratch);
}

void assay_report_json(assay_jsonw *w, const assay_run *run)
{
	put_report(w, run, true);
}

void assay_report_page_json(assay_jsonw *w, const assay_run *run)
{
	put_report(w, run, !run->in_full);
}

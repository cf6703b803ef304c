/* The public API, put together from the modules. */
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/compute.h"
#include "analyze/derived.h"
#include "api/job.h"
#include "model/run.h"
#include "read/reader.h"
#include "render/report.h"
#include "resolve/resolve.h"

const char *assay_version(void)
{
	return ASSAY_VERSION;
}

bool assay_run_read(assay_run *run, const char *path, assay_err *err)
{
	return assay_read_path(run, path, err);
}

/* Modules and operators of XLA are what its profiles are about. Of other runs only who asks for
 * them pays for scopes. */
static void derive_xla(assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!assay_has_trait(run, i, ASSAY_TRAIT_PLANES))
			continue;
		assay_scopes(run, NULL);
		assay_derive(run);
		return;
	}
}

bool assay_opts_take(assay_report_opts *opts, const assay_report_opts *given, assay_err *err)
{
	assay_step_choice steps;
	*opts = (assay_report_opts){0};
	if (given) /* callers built against an older header know fewer fields */
		memcpy(opts, given,
		       given->size && given->size < sizeof *opts ? given->size : sizeof *opts);
	if (opts->steps_from && !assay_step_choice_of(assay_str_of(opts->steps_from), &steps))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "steps come from auto, NVTX or roctx, and :NAME, not from '%s'",
				  opts->steps_from);
	return true;
}

void assay_analyze_sources(assay_run *run, const assay_report_opts *opts, assay_order *order)
{
	assay_step_choice steps;
	bool chosen =
		opts->steps_from && assay_step_choice_of(assay_str_of(opts->steps_from), &steps);
	assay_bound_times(run);
	assay_link(run);
	assay_waits(run);
	assay_find_steps(run, chosen ? &steps : NULL);
	assay_kernels(run);
	assay_kernels_by_op(run);
	assay_order_build(order, run);
	assay_partition(run, order);
	assay_gaps(run, order);
	assay_repeated_steps(run, order);
	assay_step_times(run, order);
	assay_calls(run, order);
	assay_count_overlaps(run, order);
	assay_memory_peaks(run);
}

bool assay_analyze_job(assay_run *run, const assay_report_opts *opts, const assay_order *order,
		       assay_err *err)
{
	run->report_top = opts->top ? opts->top : 20;
	assay_ranks(run);
	assay_window window = assay_window_find(run, order, opts->steps);
	assay_ops(run, order);
	if (!assay_compute(run, order, &window, opts->rates, err))
		return false;
	assay_metrics(run, opts, &window);
	assay_checks(run);
	assay_budget(run, &window);
	assay_verdicts(run, &window);
	derive_xla(run);
	return true;
}

bool assay_run_analyze(assay_run *run, const assay_report_opts *given, assay_err *err)
{
	assay_report_opts opts;
	assay_order order;
	if (!assay_opts_take(&opts, given, err))
		return false;
	if (run->analyzed)
		return assay_fail(err, ASSAY_USAGE, 0, "the run was analysed already");
	run->analyzed = true;
	assay_analyze_sources(run, &opts, &order);
	bool ok = assay_analyze_job(run, &opts, &order, err);
	assay_order_free(&order);
	return ok;
}

const char *assay_run_report_json(assay_run *run, size_t *len)
{
	assay_jsonw w = {0};
	assay_report_json(&w, run);
	assay_str text = assay_jsonw_text(&w);
	run->report = assay_dup(&run->arena, text);
	if (len)
		*len = text.n;
	assay_jsonw_free(&w);
	return run->report;
}

size_t assay_table_rows(const assay_run *run, const char *table)
{
	const assay_table_info *info = assay_table_find(table);
	return info ? assay_rows(&run->part.t, info) : 0;
}

const void *assay_table_column(const assay_run *run, const char *table, const char *column,
			       assay_type *type)
{
	const assay_table_info *info = assay_table_find(table);
	for (size_t c = 0; info && c < info->cols; c++) {
		if (strcmp(info->col[c].name, column))
			continue;
		if (type)
			*type = assay_col_public[info->col[c].kind->type];
		return assay_values(&run->part.t, info, &info->col[c]);
	}
	return NULL;
}

const char *assay_string(const assay_run *run, uint32_t id)
{
	return assay_z(run, id);
}

uint64_t assay_issue_count(const assay_run *run, const char *id)
{
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (!strcmp(assay_issue_infos[i].id, id))
			return run->part.issues[i];
	return 0;
}

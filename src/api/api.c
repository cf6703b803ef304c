/* The public API, put together from the modules. */
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/derived.h"
#include "analyze/kin.h"
#include "analyze/memory.h"
#include "analyze/only.h"
#include "api/captures.h"
#include "api/job.h"
#include "api/query.h"
#include "base/arena.h"
#include "base/beside.h"
#include "find/finding.h"
#include "find/holes.h"
#include "model/run.h"
#include "model/sound.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "work/compute.h"
#include "work/counters.h"
#include "work/ops.h"

const char *assay_version(void)
{
	return ASSAY_VERSION;
}

bool assay_run_read(assay_run *run, const char *path, assay_err *err)
{
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = assay_read_path(run, path, err);
	assay_leave(&f);
	return ok;
}

/* Modules and operators of XLA are what its profiles are about. Of other runs only who asks for
 * them pays for scopes. */
static void derive_xla(assay_run *run)
{
	if (!assay_any_has_trait(run, ASSAY_TRAIT_PLANES))
		return;
	assay_scopes(run, NULL);
	assay_derive(run);
}

bool assay_opts_take(assay_report_opts *opts, const assay_report_opts *given, assay_err *err)
{
	assay_step_choice steps;
	assay_only only;
	assay_take_opts(opts, sizeof *opts, given);
	if (!assay_only_parse(&only, opts->only_step, opts->only_stream, opts->only_device,
			      opts->only_rank, err))
		return false;
	if (opts->steps_from && !assay_step_choice_of(assay_str_of(opts->steps_from), &steps))
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"steps come from auto, NVTX or roctx, and :NAME, or from NAME, not from '%s'",
			opts->steps_from);
	if (opts->ranks && !assay_ranks_valid(opts->ranks))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "ranks are numbers such as 3,8-15, or all, not '%s'",
				  opts->ranks);
	return true;
}

/* What assay_opts_take() has looked at. */
static assay_only only_of(const assay_report_opts *opts)
{
	assay_only only;
	assay_err err;
	assay_only_parse(&only, opts->only_step, opts->only_stream, opts->only_device,
			 opts->only_rank, &err);
	return only;
}

/* Kernels with the devices' work in order, and the places of operators, are found while another
 * thread looks for waits. That one adds waits, edges and tracks to the run, and no strings. */
struct beside_waits {
	assay_run *run;
	assay_run view; /* with tracks of its own */
	assay_halfway *out;
	assay_beside kernels, places, scopes;
	bool walks, shows; /* shows: the ranges around work */
};

static void find_kernels(void *arg)
{
	struct beside_waits *b = arg;
	assay_kernels(&b->view);
	assay_kernels_by_op(&b->view);
	assay_order_build(&b->out->order, &b->view);
	assay_partition(&b->view, &b->out->order);
}

static void find_places(void *arg)
{
	struct beside_waits *b = arg;
	assay_rule_names rules;
	assay_rule_names_init(&rules, &b->view);
	assay_op_places_find(&b->out->places, &b->view, &rules);
	assay_rule_names_free(&rules);
}

static void find_scopes(void *arg)
{
	struct beside_waits *b = arg;
	assay_scopes(&b->view, NULL);
}

static void take_scopes(assay_run *run, const assay_run *found)
{
	assay_tables *t = &run->part.t;
	const assay_tables *from = &found->part.t;
	t->scope = from->scope;
	t->host_scope = from->host_scope;
	t->gpu_scope = from->gpu_scope;
	t->sync_scope = from->sync_scope;
	t->event_scope = from->event_scope;
	t->alloc_scope = from->alloc_scope;
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		run->part.issues[i] += found->part.issues[i];
	run->scoped = true;
}

/* Names of scopes that the input gives are strings that it may not have. */
static void beside_start(struct beside_waits *b, assay_run *run, assay_halfway *out,
			 assay_needs needs)
{
	const assay_tables *t = &run->part.t;
	unsigned threads = assay_run_threads_for(run, t->gpu.n);
	*b = (struct beside_waits){.run = run,
				   .out = out,
				   .walks = needs >= ASSAY_NEEDS_WORK,
				   .shows = needs == ASSAY_NEEDS_ORDER && !t->given_scope.n};
	b->view.threads = run->threads;
	b->view.part.t = *t;
	b->view.part.strings = run->part.strings;
	b->view.part.t.track = (assay_track_table){0};
	assay_table_copy(&b->view.part.t, t, ASSAY_T_track);
	assay_beside_start(&b->kernels, threads, find_kernels, b);
	if (b->walks)
		assay_beside_start(&b->places, threads, find_places, b);
	if (b->shows)
		assay_beside_start(&b->scopes, threads, find_scopes, b);
}

static void beside_join(struct beside_waits *b)
{
	assay_tables *t = &b->run->part.t, *found = &b->view.part.t;
	assay_beside_join(&b->kernels);
	if (b->walks)
		assay_beside_join(&b->places);
	if (b->shows) {
		assay_beside_join(&b->scopes);
		take_scopes(b->run, &b->view);
	}
	t->kernel = found->kernel;
	t->device_time = found->device_time;
	assay_table_free(found, ASSAY_T_track);
}

void assay_halfway_free(assay_halfway *h)
{
	assay_order_free(&h->order);
	assay_op_places_free(&h->places);
	if (h->worth)
		assay_worth_close(h->worth);
}

/* The graph of what-ifs needs the window's bounds alone, and takes long: it is made beside all that
 * comes from here on. */
static void start_worth(assay_run *run, const assay_report_opts *opts, assay_halfway *half)
{
	half->window = assay_window_bounds(run, &half->order, opts->steps);
	half->worth = assay_worth_open(run, &half->window);
}

static bool needs_idle_time(assay_needs needs)
{
	return needs >= ASSAY_NEEDS_STEPS && needs != ASSAY_NEEDS_WORK &&
	       needs != ASSAY_NEEDS_DERIVED;
}

/* Numbers and arguments of operators have told what they can when their work is known; only scopes
 * and writers ask for them again. A sixth of all memory of a report may be theirs. */
static bool drops_numbers(const assay_run *run)
{
	return run->lean && !assay_any_has_trait(run, ASSAY_TRAIT_PLANES);
}

static void drop_before_work(assay_op_table *op)
{
	assay_pages_free(op->external);
	assay_pages_free(op->fwd_thread);
	op->external = NULL;
	op->fwd_thread = NULL;
}

static void drop_behind_work(assay_op_table *op, assay_host_table *host)
{
	assay_pages_free(op->seq);
	assay_pages_free(host->args);
	op->seq = NULL;
	host->args = NULL;
}

/* What operators do. */
static bool find_work(assay_run *run, const assay_report_opts *opts, assay_halfway *half,
		      assay_err *err)
{
	if (half->worked)
		return true;
	if (!assay_explain_graphs(run, opts->captures, err))
		return false;
	assay_ops(run, &half->order, &half->places);
	assay_op_places_free(&half->places);
	if (drops_numbers(run))
		drop_behind_work(&run->part.t.op, &run->part.t.host);
	half->worked = true;
	return true;
}

/* gaps: NULL when nobody needs them. */
static void explain_time(assay_run *run, const assay_report_opts *opts, assay_needs needs,
			 const int64_t *since, assay_gap_search *gaps, assay_halfway *half)
{
	const assay_order *order = &half->order;
	assay_step_times(run, order, since);
	assay_calls(run, order);
	if (needs > ASSAY_NEEDS_STEPS && drops_numbers(run))
		drop_before_work(&run->part.t.op);
	if (needs == ASSAY_NEEDS_FINDINGS) {
		assay_err later; /* who needs the work meets it again */
		start_worth(run, opts, half);
		find_work(run, opts, half, &later);
	}
	if (gaps)
		assay_gaps_end(gaps, run);
	if (gaps)
		assay_memory(run);
}

void assay_analyze_sources(assay_run *run, const assay_report_opts *opts, assay_needs needs,
			   assay_halfway *out)
{
	assay_step_choice steps;
	bool chosen =
		opts->steps_from && assay_step_choice_of(assay_str_of(opts->steps_from), &steps);
	assay_only only = only_of(opts);
	assay_arena scratch = {0};
	const int64_t *since = NULL;
	const assay_order *order = &out->order;
	struct beside_waits beside;
	assay_gap_search *gaps = NULL;
	bool all = !assay_only_any(&only), idle = needs_idle_time(needs);
	assay_index calls = {.mixed = false};
	*out = (assay_halfway){.order = {0}};
	if (idle)
		assay_join_lines(run);
	assay_calls_index(&run->part.t, &calls);
	assay_link_by(run, &calls);
	if (all)
		beside_start(&beside, run, out, needs);
	assay_waits_with(run, &(assay_waits_opts){.calls = &calls});
	assay_index_free(&calls);
	if (all)
		beside_join(&beside);
	assay_doings(run);
	if (all && idle)
		gaps = assay_gaps_start(run, order);
	assay_find_steps(run, chosen ? &steps : NULL);
	if (!all) {
		since = assay_only_keep(run, &only, &scratch, &out->there);
		beside_start(&beside, run, out, needs);
		beside_join(&beside);
		gaps = idle ? assay_gaps_start(run, order) : NULL;
	}
	assay_kernel_lines(run);
	assay_loop_layers(run, order);
	assay_repeated_steps(run, order);
	assay_count_disorder(run, order);
	if (needs >= ASSAY_NEEDS_STEPS)
		explain_time(run, opts, needs, since, gaps, out);
	assay_arena_free(&scratch);
}

/* Says that the report is of a part; false: there is nothing in it. */
static bool tell_part(assay_run *run, const assay_report_opts *opts, const char *there,
		      assay_err *err)
{
	assay_only only = only_of(opts);
	if (!assay_only_any(&only))
		return true;
	const char *words = assay_only_words(&only, &run->arena);
	if (!run->part.t.device_time.n)
		return assay_fail(err, ASSAY_USAGE, 0, "the input has no GPU work in %s; it has %s",
				  words, there ? there : "none");
	assay_warn(run, "only", "all that follows is of %s alone", words);
	return true;
}

/* How far operators are from what the device can do, and the run's figures, are found beside the
 * first findings. */
struct beside_findings {
	assay_run *run;
	const assay_report_opts *opts;
	const assay_halfway *half;
	assay_err *err;
	bool ok;
};

static void find_figures(void *arg)
{
	struct beside_findings *b = arg;
	const assay_window *window = &b->half->window;
	assay_counters(b->run);
	b->ok = assay_compute(b->run, &b->half->order, window, b->opts->rates, b->err);
	if (!b->ok)
		return;
	assay_metrics(b->run, b->opts, window);
	assay_checks(b->run);
	assay_budget(b->run, window);
	assay_steady(b->run, window);
}

static bool find_worth_changing(assay_run *run, const assay_report_opts *opts, assay_halfway *half,
				assay_hole_search *holes, assay_err *err)
{
	struct beside_findings b = {.run = run, .opts = opts, .half = half, .err = err};
	assay_beside figures;
	assay_finding_search *s =
		assay_findings_start(run, &half->window, &half->order, half->worth, holes);
	assay_beside_start(&figures, assay_run_threads_for(run, run->part.t.gpu.n), find_figures,
			   &b);
	assay_findings_first(s);
	assay_beside_join(&figures);
	assay_findings_end(s, b.ok ? run : NULL);
	return b.ok;
}

static bool analyze_job(assay_run *run, const assay_report_opts *opts, assay_halfway *half,
			assay_err *err)
{
	assay_window *window = &half->window;
	assay_hole_search holes;
	run->report_top = opts->top ? opts->top : 20;
	if (!tell_part(run, opts, half->there, err))
		return false;
	assay_ranks(run);
	assay_tables_rest(&run->part.t);
	if (!half->worth)
		start_worth(run, opts, half);
	assay_window_add_causes(run, &half->order, window);
	assay_tables_rest(&run->part.t);
	assay_hole_search_start(&holes, run, window);
	bool ok = find_work(run, opts, half, err) &&
		  find_worth_changing(run, opts, half, &holes, err);
	assay_hole_search_end(&holes);
	if (!ok)
		return false;
	assay_self_check(run, window);
	assay_tables_rest(&run->part.t);
	derive_xla(run);
	return true;
}

/* The part of it that writers of profiles write. */
static bool prepare_job(assay_run *run, const assay_report_opts *opts, assay_halfway *half,
			assay_err *err)
{
	assay_ranks(run);
	assay_window window = assay_window_bounds(run, &half->order, opts->steps);
	if (!find_work(run, opts, half, err) || !assay_roof(run, &window, opts->rates, err))
		return false;
	derive_xla(run);
	return true;
}

bool assay_analyze_rest(assay_run *run, const assay_report_opts *opts, assay_needs needs,
			assay_halfway *half, assay_err *err)
{
	if (needs == ASSAY_NEEDS_STEPS)
		assay_ranks(run);
	if (needs <= ASSAY_NEEDS_STEPS)
		return true;
	return (needs == ASSAY_NEEDS_FINDINGS ? analyze_job : prepare_job)(run, opts, half, err);
}

bool assay_run_analyze_for(assay_run *run, const assay_report_opts *given, assay_needs needs,
			   assay_err *err)
{
	assay_report_opts opts;
	assay_halfway half;
	if (!assay_opts_take(&opts, given, err))
		return false;
	if (run->analyzed)
		return assay_fail(err, ASSAY_USAGE, 0, "the run has already been analyzed");
	run->analyzed = true;
	assay_tables_fit(&run->part.t);
	assay_bound_times(run);
	if (!assay_kin_check(run, false, err))
		return false;
	if (needs == ASSAY_NEEDS_LINKS) {
		assay_link(run);
		assay_waits(run);
		return true;
	}
	assay_analyze_sources(run, &opts, needs, &half);
	bool ok = assay_analyze_rest(run, &opts, needs, &half, err);
	assay_halfway_free(&half);
	assay_assert_sound(run, "the analysis");
	return ok;
}

bool assay_run_prepare(assay_run *run, const assay_writer *writer, assay_err *err)
{
	return assay_run_analyze_for(run, NULL, writer->needs, err);
}

bool assay_run_analyze(assay_run *run, const assay_report_opts *given, assay_err *err)
{
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = assay_run_analyze_for(run, given, ASSAY_NEEDS_FINDINGS, err);
	assay_leave(&f);
	return ok;
}

bool assay_run_read_job(assay_run *run, const char *const *paths, size_t n,
			const assay_report_opts *opts, assay_err *err)
{
	char *const *files = (char *const *)(uintptr_t)paths; /* never written to */
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = assay_job_read(run, files, n, opts, ASSAY_NEEDS_FINDINGS, err);
	assay_leave(&f);
	return ok;
}

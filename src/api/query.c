/* What the commands print with --json, for programs that link the library. */
#include "api/query.h"

#include <string.h>

#include "analyze/analyze.h"
#include "api/job.h"
#include "diff/diff.h"
#include "envs/diff.h"
#include "path/path.h"
#include "probe/probe.h"
#include "render/env.h"
#include "render/path.h"
#include "render/places.h"
#include "render/report.h"
#include "render/waits.h"
#include "resolve/resolve.h"

void assay_take_opts(void *out, size_t size, const void *given)
{
	size_t known = given ? *(const size_t *)given : 0;
	memset(out, 0, size);
	if (given)
		memcpy(out, given, known && known < size ? known : size);
}

/* The finished text, kept by the run. */
static const char *keep(assay_run *run, assay_jsonw *w, size_t *len)
{
	assay_str text = assay_jsonw_text(w);
	const char *kept = assay_dup(&run->arena, text);
	if (len)
		*len = text.n;
	assay_jsonw_free(w);
	return kept;
}

static bool is_analyzed(const assay_run *run, assay_err *err)
{
	return run->analyzed || assay_fail(err, ASSAY_USAGE, 0, "the run was not analyzed yet");
}

static const char *report_json(assay_run *run, size_t *len)
{
	assay_jsonw w = {0};
	assay_report_json(&w, run);
	return keep(run, &w, len);
}

void assay_waits_by_handles(assay_run *run)
{
	run->part.t.wait.n = run->part.t.edge.n = 0;
	assay_waits_with(run, &(assay_waits_opts){.handles_only = true});
}

static const char *waits_json(assay_run *run, const assay_waits_query *given, size_t *len,
			      assay_err *err)
{
	assay_waits_query q;
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	if (!is_analyzed(run, err))
		return NULL;
	if (q.handles)
		assay_waits_by_handles(run);
	if (q.chains)
		assay_wait_chains(run);
	assay_waits_json(&w, run, &q);
	return keep(run, &w, len);
}

static const char *scopes_json(assay_run *run, const assay_scopes_query *given, size_t *len,
			       assay_err *err)
{
	assay_scopes_query q;
	assay_scopes_made made;
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	if (!assay_scopes_find(run, &q, err))
		return NULL;
	if (q.timeline || assay_is_place(q.by)) {
		if (q.timeline)
			assay_timeline_json(&w, run);
		else
			assay_places_json(&w, run, q.by);
		return keep(run, &w, len);
	}
	assay_scopes_make(run, &q, &made);
	assay_scopes_json(&w, run, &made.view);
	assay_scopes_made_free(&made);
	return keep(run, &w, len);
}

bool assay_path_query_find(assay_run *run, const assay_path_query *q, assay_path *out,
			   assay_err *err)
{
	assay_path_opts opts = {.step = q->all    ? ASSAY_PATH_ALL
					: q->step ? *q->step
						  : ASSAY_PATH_MEDIAN,
				.what_if = q->what_if,
				.what_ifs = q->what_ifs};
	*out = (assay_path){0};
	if (!is_analyzed(run, err))
		return false;
	if (!run->scoped)
		assay_scopes(run, NULL);
	return assay_path_find(run, &opts, out, err);
}

static const char *path_json(assay_run *run, const assay_path_query *given, size_t *len,
			     assay_err *err)
{
	assay_path_query q;
	assay_path path;
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	bool ok = assay_path_query_find(run, &q, &path, err);
	if (ok)
		assay_path_json(&w, run, &path, q.top);
	assay_path_free(&path);
	return ok ? keep(run, &w, len) : NULL;
}

static const char *diff_json(assay_run *before, assay_run *after, const assay_diff_query *given,
			     bool *same, size_t *len, assay_err *err)
{
	assay_diff_query q;
	assay_diff d;
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	if (!is_analyzed(before, err) || !is_analyzed(after, err))
		return NULL;
	assay_diff_runs(&d, before, after, q.env);
	assay_diff_json(&w, &d, q.top ? q.top : SIZE_MAX);
	if (same)
		*same = d.same;
	assay_diff_free(&d);
	return keep(after, &w, len);
}

static const char *env_json(assay_run *owner, const assay_env_query *given, size_t *len,
			    assay_err *err)
{
	assay_env_query q;
	assay_env env;
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	const assay_env_opts opts = {.size = sizeof opts,
				     .root = q.root,
				     .python = q.python,
				     .pid = (pid_t)q.pid,
				     .sites = q.sites,
				     .no_hash = q.no_hash,
				     .quick = q.quick,
				     .health = q.health,
				     .no_cache = q.no_cache,
				     .health_ns = q.health_ns};
	bool ok = assay_env_probe(&env, &opts, err);
	if (ok)
		assay_env_write(&env, &w);
	assay_env_free(&env);
	return ok ? keep(owner, &w, len) : NULL;
}

bool assay_env_diff_read(assay_env_set *set, const char *baseline, const char *const *paths,
			 size_t n, assay_err *err)
{
	if (n + (baseline != NULL) < 2)
		return assay_fail(err, ASSAY_USAGE, 0, "two snapshots are needed");
	bool ok = !baseline || assay_env_set_add(set, baseline, err);
	for (size_t i = 0; ok && i < n; i++)
		ok = assay_env_set_add(set, paths[i], err);
	return ok;
}

static const char *env_diff_json(assay_run *owner, const char *const *paths, size_t n,
				 const assay_env_diff_query *given, bool *same, size_t *len,
				 assay_err *err)
{
	assay_env_diff_query q;
	assay_env_set set = {0};
	assay_env_result r = {0};
	assay_jsonw w = {0};
	assay_take_opts(&q, sizeof q, given);
	bool ok = assay_env_diff_read(&set, q.baseline, paths, n, err);
	if (ok) {
		assay_env_compare(&set, q.baseline ? 0 : -1, &r);
		assay_env_diff_put(&w, &set, &r);
	}
	if (ok && same)
		*same = !r.different;
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return ok ? keep(owner, &w, len) : NULL;
}

/* Return what is asked for, in a frame of its owner: here, for whoever runs out of memory comes
 * back to this function. */
#define ANSWER(of, err, asked)                                                                     \
	assay_frame f;                                                                             \
	ASSAY_ENTER(&f, (of)->owner, err, NULL);                                                   \
	const char *text = asked;                                                                  \
	assay_leave(&f);                                                                           \
	return text

const char *assay_run_report_json(assay_run *run, size_t *len)
{
	ANSWER(run, NULL, report_json(run, len));
}

const char *assay_run_waits_json(assay_run *run, const assay_waits_query *given, size_t *len,
				 assay_err *err)
{
	ANSWER(run, err, waits_json(run, given, len, err));
}

const char *assay_run_scopes_json(assay_run *run, const assay_scopes_query *given, size_t *len,
				  assay_err *err)
{
	ANSWER(run, err, scopes_json(run, given, len, err));
}

const char *assay_run_path_json(assay_run *run, const assay_path_query *given, size_t *len,
				assay_err *err)
{
	ANSWER(run, err, path_json(run, given, len, err));
}

const char *assay_run_diff_json(assay_run *before, assay_run *after, const assay_diff_query *given,
				bool *same, size_t *len, assay_err *err)
{
	ANSWER(after, err, diff_json(before, after, given, same, len, err));
}

const char *assay_env_json(assay_run *owner, const assay_env_query *given, size_t *len,
			   assay_err *err)
{
	ANSWER(owner, err, env_json(owner, given, len, err));
}

const char *assay_env_diff_json(assay_run *owner, const char *const *paths, size_t n,
				const assay_env_diff_query *given, bool *same, size_t *len,
				assay_err *err)
{
	ANSWER(owner, err, env_diff_json(owner, paths, n, given, same, len, err));
}

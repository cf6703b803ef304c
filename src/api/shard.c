#include "api/shard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/shard_file.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/folders.h"
#include "base/test.h"
#include "model/findings.h"
#include "model/findings_pack.h"

struct writing {
	assay_report_opts opts;
	assay_run *run, *said; /* said: problems of processes that are written already */
	assay_shard_head head;
	const char *path;
	assay_output *out;
	assay_part found; /* findings of the process at hand */
	bool any;         /* there are some */
	assay_protow left;
	size_t done;
	bool whole; /* the file is there already */
	assay_err *err;
};

const char *assay_shard_path(assay_arena *a, const char *dir, assay_shard shard)
{
	size_t n = strlen(dir);
	bool slash = n && dir[n - 1] == '/';
	return assay_printf(a, "%s%sshard-%05zu-of-%05zu.asf", dir, slash ? "" : "/", shard.index,
			    shard.count);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether the file is whole and of the same inputs, which may have been recorded anew. */
static bool is_there(const struct writing *w)
{
	assay_shard_file f;
	assay_shard_process p;
	struct stat st;
	if (stat(w->path, &st) || !assay_shard_open(&f, w->path, NULL))
		return false;
	bool same = f.head.listing.state == w->head.listing.state &&
		    same_text(f.head.steps_from, w->head.steps_from);
	while (same && assay_shard_next(&f, &p, NULL))
		;
	same = same && f.ended;
	assay_shard_close(&f);
	return same;
}

static void analyze_process(void *ctx, assay_run *file)
{
	assay_job_analyze(&((const struct writing *)ctx)->opts, file);
}

static void take_process(void *ctx, const assay_run *file)
{
	struct writing *w = ctx;
	w->any = true;
	assay_job_keep(&w->found, file);
}

static void leave_file(void *ctx, const char *path)
{
	assay_shard_add_left(&((struct writing *)ctx)->left, path);
}

static bool has_problems(const assay_part *p)
{
	bool any = p->t.warning.n;
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		any |= p->issues[i] != 0;
	return any;
}

/* What was said in the run since the last time; it is kept for the end. */
static void pack_problems(struct writing *w, assay_protow *out)
{
	assay_part one = {0};
	if (!has_problems(&w->run->part))
		return;
	assay_findings_append(&one, &w->run->part, NULL);
	assay_findings_pack(out, &one);
	assay_findings_append(&w->said->part, &one, NULL);
	assay_forget_problems(&w->run->part);
	assay_part_free(&one);
}

static bool begin_file(void *ctx, const assay_listing *l)
{
	struct writing *w = ctx;
	assay_protow problems = {0};
	w->head.listing = *l;
	w->whole = is_there(w);
	w->out = w->whole ? NULL : assay_output_open(w->path, w->err);
	if (w->out) {
		pack_problems(w, &problems);
		w->head.problems = assay_protow_data(&problems);
		assay_shard_put_head(assay_output_file(w->out), &w->head);
		w->head.problems = (assay_str){0};
	}
	assay_protow_free(&problems);
	return w->out;
}

static void write_process(void *ctx)
{
	struct writing *w = ctx;
	assay_protow found = {0}, problems = {0};
	if (w->any)
		assay_findings_pack(&found, &w->found);
	pack_problems(w, &problems);
	const assay_shard_process p = {.number = w->head.listing.first + w->done++,
				       .findings = assay_protow_data(&found),
				       .problems = assay_protow_data(&problems),
				       .left = assay_protow_data(&w->left)};
	assay_shard_put_process(assay_output_file(w->out), &p);
	assay_part_free(&w->found);
	w->found = (assay_part){0};
	w->any = false;
	w->left.out.n = 0;
	assay_protow_free(&found);
	assay_protow_free(&problems);
}

static bool end_file(struct writing *w, bool ok, assay_err *err)
{
	if (!w->out)
		return ok && w->whole;
	if (!ok) {
		assay_output_drop(w->out);
		return false;
	}
	assay_shard_put_end(assay_output_file(w->out), w->done);
	assay_findings_append(&w->run->part, &w->said->part, NULL);
	return assay_output_close(w->out, err);
}

static bool prepare(struct writing *w, char *const *paths, size_t n, const char *dir,
		    assay_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(paths[i], "-"))
			return assay_fail(err, ASSAY_USAGE, 0,
					  "standard input cannot be read in shards");
		*assay_push(&w->head.operand) = paths[i];
	}
	if (!assay_make_folders(dir, 0777, NULL))
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", dir, strerror(errno));
	return true;
}

bool assay_shard_write(assay_run *run, char *const *paths, size_t n, const assay_report_opts *opts,
		       assay_shard shard, const char *dir, bool *written, assay_err *err)
{
	assert(shard.index < shard.count);
	assay_arena scratch = {0};
	assay_err failed = {0};
	struct writing w = {.run = run,
			    .said = assay_run_new(),
			    .head = {.shard = shard.index, .shards = shard.count},
			    .path = assay_shard_path(&scratch, dir, shard),
			    .err = &failed};
	const assay_each each = {.ctx = &w,
				 .shard = shard.index,
				 .shards = shard.count,
				 .with_beside = true,
				 .listed = begin_file,
				 .work = analyze_process,
				 .take = take_process,
				 .leave = leave_file,
				 .done = write_process};
	bool ok = assay_opts_take(&w.opts, opts, &failed);
	w.head.steps_from = w.opts.steps_from;
	ok = ok && prepare(&w, paths, n, dir, &failed) &&
	     assay_read_each(run, paths, n, &each, &failed);
	ok = end_file(&w, ok && !failed.code, &failed);
	if (!ok && err)
		*err = failed;
	if (written)
		*written = ok && !w.whole;
	assay_run_free(w.said);
	assay_part_free(&w.found);
	assay_protow_free(&w.left);
	assay_vec_free(&w.head.operand);
	assay_arena_free(&scratch);
	return ok;
}

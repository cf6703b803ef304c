/* Files of shards put together: their processes in the order of the job, so that every row and
 * every string gets the number it would have in one program. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/shard.h"
#include "api/shard_file.h"
#include "base/compare.h"
#include "base/err.h"
#include "base/test.h"
#include "model/findings.h"
#include "model/findings_pack.h"

struct merging {
	assay_run *run;
	assay_arena arena;
	assay_vec(assay_shard_file) file; /* their heads; inputs are open one at a time */
	assay_job job;
	assay_merged out;
};

static bool is_shard_name(const char *name)
{
	return name[0] != '.' && assay_str_find(assay_str_of(name), ".asf") > 0;
}

static bool add_file(struct merging *m, const char *path, assay_err *err)
{
	assay_shard_file f;
	if (!assay_shard_open(&f, assay_dup(&m->arena, assay_str_of(path)), err))
		return false;
	assay_input_close(f.in);
	f.in = NULL;
	*assay_push(&m->file) = f;
	return true;
}

static bool add_operand(struct merging *m, const char *path, assay_err *err)
{
	struct stat st;
	DIR *d = !stat(path, &st) && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	size_t before = m->file.n;
	bool ok = true;
	assay_undo undo;
	if (!d)
		return add_file(m, path, err);
	assay_undo_dir(&undo, d);
	for (struct dirent *e; ok && (e = readdir(d));)
		ok = !is_shard_name(e->d_name) ||
		     add_file(m, assay_printf(&m->arena, "%s/%s", path, e->d_name), err);
	assay_undo_drop(&undo);
	closedir(d);
	if (ok && m->file.n == before)
		return assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no shard of a report", path);
	return ok;
}

static int by_shard(const void *a, const void *b)
{
	const assay_shard_file *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->head.shard, y->head.shard), strcmp(x->path, y->path));
}

static bool are_of_one_job(const assay_shard_file *a, const assay_shard_file *b, assay_err *err)
{
	const assay_shard_head *x = &a->head, *y = &b->head;
	bool same_steps = x->steps_from && y->steps_from ? !strcmp(x->steps_from, y->steps_from)
							 : x->steps_from == y->steps_from;
	if (x->shards != y->shards)
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"%s is one of %zu shards, %s one of %zu: merge those of one division",
			a->path, x->shards, b->path, y->shards);
	if (x->listing.names != y->listing.names || x->listing.processes != y->listing.processes ||
	    !same_steps)
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"%s and %s are of different jobs, or files came and went while the shards were read",
			a->path, b->path);
	return true;
}

static bool are_twins(const assay_shard_file *a, const assay_shard_file *b, assay_err *err)
{
	return a->head.listing.state == b->head.listing.state ||
	       assay_fail(
		       err, ASSAY_USAGE, 0,
		       "%s and %s are the same shard, but its files changed in between: remove the older one",
		       a->path, b->path);
}

/* In order, each once. */
static bool sort_shards(struct merging *m, assay_err *err)
{
	size_t kept = 0;
	qsort(m->file.p, m->file.n, sizeof *m->file.p, by_shard);
	for (size_t i = 0; i < m->file.n; i++) {
		if (i && !are_of_one_job(&m->file.p[0], &m->file.p[i], err))
			return false;
		if (kept && m->file.p[kept - 1].head.shard == m->file.p[i].head.shard) {
			if (!are_twins(&m->file.p[kept - 1], &m->file.p[i], err))
				return false;
			m->out.repeated++;
			assay_shard_close(&m->file.p[i]);
			m->file.p[i] = (assay_shard_file){0};
			continue;
		}
		assay_shard_file one = m->file.p[i];
		m->file.p[i] = (assay_shard_file){0};
		m->file.p[kept++] = one;
	}
	m->file.n = kept;
	return true;
}

static bool say_problems(struct merging *m, assay_str packed, assay_err *err)
{
	assay_part one = {0};
	bool ok = assay_findings_unpack(&one, packed, err);
	if (ok)
		assay_findings_append(&m->run->part, &one, NULL);
	assay_part_free(&one);
	return ok;
}

static bool take_process(struct merging *m, const assay_shard_process *p, assay_err *err)
{
	assay_part found = {0};
	assay_str left = p->left;
	bool ok = assay_findings_unpack(&found, p->findings, err);
	if (ok && p->findings.n)
		assay_job_take(&m->job, &found);
	assay_part_free(&found);
	for (assay_str path; ok && assay_shard_next_left(&left, &path);)
		assay_job_leave(&m->job, assay_dup(&m->arena, path));
	return ok && say_problems(m, p->problems, err);
}

static bool take_shard(struct merging *m, const char *path, assay_err *err)
{
	assay_shard_file f;
	assay_shard_process p;
	assay_err why = {0};
	if (!assay_shard_open(&f, path, err))
		return false;
	bool ok = true;
	while (ok && assay_shard_next(&f, &p, err))
		ok = take_process(m, &p, &why);
	if (!ok)
		assay_fail(err, why.code, f.pos, "%s: %s", path, why.text);
	ok = ok && f.ended;
	assay_shard_close(&f);
	return ok;
}

/* Runs of numbers: "3, 7-9". */
static const char *missing_shards(struct merging *m, size_t *n)
{
	enum { NAMED = 8 };
	size_t shards = m->file.p[0].head.shards, next = 0, runs = 0;
	char *text = assay_printf(&m->arena, "%s", "");
	*n = shards - m->file.n;
	for (size_t i = 0; i <= m->file.n; i++) {
		size_t here = i < m->file.n ? m->file.p[i].head.shard : shards;
		if (here > next && runs++ < NAMED) {
			text = assay_printf(&m->arena, "%s%s%zu", text, *text ? ", " : "", next);
			if (here - next > 1)
				text = assay_printf(&m->arena, "%s-%zu", text, here - 1);
		}
		next = here + 1;
	}
	return runs > NAMED ? assay_printf(&m->arena, "%s, ...", text) : text;
}

static void warn_missing(struct merging *m)
{
	size_t n;
	const char *which = missing_shards(m, &n);
	if (n)
		assay_warn(m->run, "missing_shard",
			   "%zu of %zu shards %s missing (%s): their ranks are not in the report",
			   n, m->file.p[0].head.shards, n == 1 ? "is" : "are", which);
}

static void keep_operands(struct merging *m)
{
	const assay_shard_head *h = &m->file.p[0].head;
	m->out.n = h->operand.n;
	m->out.operands = assay_alloc(&m->run->arena, (h->operand.n + 1) * sizeof(char *));
	for (size_t i = 0; i < h->operand.n; i++)
		m->out.operands[i] = assay_dup(&m->run->arena, assay_str_of(h->operand.p[i]));
}

static bool merge_many(struct merging *m, const assay_report_opts *opts, assay_err *err)
{
	bool ok = assay_job_start(&m->job, opts, ASSAY_NEEDS_FINDINGS, err) &&
		  say_problems(m, m->file.p[0].head.problems, err);
	m->job.calls_apart = true; /* a report is what shards are merged for */
	for (size_t i = 0; ok && i < m->file.n; i++)
		ok = take_shard(m, m->file.p[i].path, err);
	if (ok && !m->job.used)
		ok = assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no file that assay can read",
				m->out.operands[0]);
	if (ok) {
		warn_missing(m);
		ok = assay_job_finish(&m->job, m->run, err);
	}
	m->run->analyzed = true;
	assay_job_free(&m->job);
	return ok;
}

bool assay_shards_merge(assay_run *run, char *const *files, size_t n,
			const assay_report_opts *given, assay_merged *merged, assay_err *err)
{
	struct merging m = {.run = run};
	bool ok = n > 0;
	for (size_t i = 0; ok && i < n; i++)
		ok = add_operand(&m, files[i], err);
	ok = ok && sort_shards(&m, err);
	if (ok) {
		assay_report_opts opts = given ? *given : (assay_report_opts){.size = sizeof opts};
		const assay_shard_head *h = &m.file.p[0].head;
		opts.steps_from = h->steps_from;
		keep_operands(&m);
		ok = h->listing.processes > ASSAY_RANKS_IN_FULL
			     ? merge_many(&m, &opts, err)
			     : assay_job_read(run, m.out.operands, m.out.n, &opts,
					      ASSAY_NEEDS_FINDINGS, err);
	}
	*merged = m.out;
	for (size_t i = 0; i < m.file.n; i++)
		assay_shard_close(&m.file.p[i]);
	assay_vec_free(&m.file);
	assay_arena_free(&m.arena);
	return ok;
}

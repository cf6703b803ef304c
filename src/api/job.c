/* Jobs of thousands of ranks: every rank is read, analyzed on its own and forgotten but for its
 * findings; then the few that are worth looking at are read once more and kept. */
#include "api/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "analyze/kin.h"
#include "base/err.h"
#include "base/test.h"
#include "model/findings.h"
#include "model/kept_calls.h"
#include "read/reader.h"

enum { KEPT_MAX = 4 };

void assay_job_analyze(const assay_report_opts *opts, assay_run *file)
{
	assay_halfway half;
	assay_bound_times(file);
	assay_analyze_sources(file, opts, ASSAY_NEEDS_STEPS, &half);
	assay_halfway_free(&half);
}

void assay_job_keep(assay_part *to, const assay_run *file)
{
	const assay_source_table *s = &file->part.t.source;
	assay_arena scratch = {0};
	bool *beside = assay_alloc(&scratch, s->n + 1); /* come for themselves */
	for (uint32_t i = 0; i < s->n; i++)
		beside[i] = assay_has_trait(file, i, ASSAY_TRAIT_NOTE);
	assay_findings_append(to, &file->part, beside);
	assay_arena_free(&scratch);
}

bool assay_job_start(assay_job *j, const assay_report_opts *given, assay_needs needs,
		     assay_err *err)
{
	*j = (assay_job){.needs = needs, .found = assay_run_new()};
	return assay_opts_take(&j->opts, given, err);
}

/* What is printed of every rank waits for its turn on disk. */
static void put_away(assay_job *j)
{
	for (size_t i = 0; i < assay_findings_kept_count; i++)
		assay_table_to_disk(&j->found->part.t, assay_findings_kept[i], 0);
	assay_tables_rest(&j->found->part.t);
}

/* Thousands of ranks have the same kernels, and collectives that are looked at only side by
 * side. */
static void fold_findings(assay_job *j)
{
	enum { SOME = 4096, SOME_PROCESSES = 128 };
	j->used = true;
	if (j->calls_apart)
		assay_calls_keep(j->found);
	if (++j->taken % SOME_PROCESSES == 0)
		put_away(j);
	if (j->found->part.t.kernel.n < 2 * j->kernels + SOME)
		return;
	assay_kernels_fold(j->found, 0);
	j->kernels = j->found->part.t.kernel.n;
}

void assay_job_take(assay_job *j, const assay_part *findings)
{
	assay_findings_append(&j->found->part, findings, NULL);
	fold_findings(j);
}

void assay_job_leave(assay_job *j, const char *path)
{
	j->used = true;
	*assay_push(&j->left) = assay_dup(&j->arena, assay_str_of(path));
}

void assay_job_free(assay_job *j)
{
	assay_run_free(j->found);
	assay_vec_free(&j->left);
	assay_arena_free(&j->arena);
}

static void analyze_file(void *ctx, assay_run *file)
{
	assay_job_analyze(&((const assay_job *)ctx)->opts, file);
}

static void keep_findings(void *ctx, const assay_run *file)
{
	assay_job *j = ctx;
	assay_job_keep(&j->found->part, file);
	fold_findings(j);
}

static void leave_file(void *ctx, const char *path)
{
	assay_job_leave(ctx, path);
}

/* The source whose rank has most of something; the first one when nobody has any. */
static uint32_t most(const assay_rank_table *r, const int64_t *of)
{
	size_t best = 0;
	for (size_t i = 1; i < r->n; i++)
		best = of[i] > of[best] ? i : best;
	return r->n ? r->source[best] : 0;
}

/* A process may be several files, and a file may have several processes. */
static void choose_process(const assay_tables *t, uint32_t source, bool *in_full)
{
	for (uint32_t i = 0; i < t->source.n; i++)
		in_full[i] |= assay_group_of(t, i) == assay_group_of(t, source) ||
			      t->source.path[i] == t->source.path[source];
}

static bool take_range(assay_str *rest, int64_t *from, int64_t *to)
{
	assay_str last = assay_str_cut(rest, ','), first = assay_str_cut(&last, '-');
	bool ok = assay_str_i64(first, from) && *from >= 0;
	*to = *from;
	return ok && (!last.p || !last.n || (assay_str_i64(last, to) && *to >= *from));
}

static bool is_all(const char *list)
{
	return !strcmp(list, "all");
}

bool assay_ranks_valid(const char *list)
{
	assay_str rest = assay_str_of(list);
	int64_t from, to;
	bool ok = rest.n;
	while (ok && rest.n && !is_all(list))
		ok = take_range(&rest, &from, &to);
	return ok;
}

static bool is_listed(const char *list, int32_t rank)
{
	assay_str rest = assay_str_of(list);
	int64_t from, to;
	while (rest.n && take_range(&rest, &from, &to))
		if (rank >= from && rank <= to)
			return true;
	return false;
}

static bool choose_listed(const assay_run *found, const char *list, bool *in_full, assay_err *err)
{
	const assay_tables *t = &found->part.t;
	bool any = false;
	for (uint32_t i = 0; i < t->source.n; i++)
		if (is_listed(list, t->source.rank[i])) {
			any = true;
			choose_process(t, i, in_full);
		}
	return any || assay_fail(err, ASSAY_USAGE, 0, "none of the ranks %s is in the job", list);
}

static void choose_ranks(assay_run *found, bool *in_full)
{
	const assay_tables *t = &found->part.t;
	uint32_t device = assay_main_device(found);
	size_t warnings = t->warning.n;
	found->lean = true; /* only who waited for whom is asked for, not in which step */
	assay_ranks(found);
	found->part.t.warning.n = warnings; /* they come again */
	const uint32_t chosen[KEPT_MAX] = {
		0, device == ASSAY_NO_ROW ? 0 : t->device_time.source[device],
		most(&t->rank, t->rank.caused), most(&t->rank, t->rank.waited)};
	for (size_t i = 0; i < KEPT_MAX && t->source.n; i++)
		choose_process(t, chosen[i], in_full);
	/* found once more, of all that is then known */
	static const assay_table_id done[] = {ASSAY_T_rank, ASSAY_T_rank_step, ASSAY_T_collective};
	for (size_t i = 0; i < ASSAY_COUNT_OF(done); i++)
		assay_table_free(&found->part.t, done[i]);
}

static bool choose(const assay_job *j, bool *in_full, assay_err *err)
{
	if (j->opts.ranks)
		return choose_listed(j->found, j->opts.ranks, in_full, err);
	choose_ranks(j->found, in_full);
	return true;
}

void assay_forget_problems(assay_part *part)
{
	part->t.warning.n = 0;
	memset(part->issues, 0, sizeof part->issues);
}

/* A second time is wanted: no pipes. */
static bool is_file(const char *path, uint64_t *bytes, assay_err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot open %s: %s", path, strerror(errno));
	*bytes = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) || assay_fail(err, ASSAY_IO, 0, "%s is not a file", path);
}

static bool are_files(char *const *paths, size_t n, assay_err *err)
{
	uint64_t bytes;
	for (size_t i = 0; i < n; i++)
		if (!is_file(paths[i], &bytes, err))
			return false;
	return true;
}

/* The chosen ranks once more, with all their rows. */
static bool read_chosen(assay_job *j, assay_run *run, const bool *in_full, uint64_t *changed,
			assay_err *err)
{
	const assay_source_table *s = &j->found->part.t.source;
	char **paths = assay_alloc(&j->arena, (s->n + 1) * sizeof *paths);
	uint64_t bytes;
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (!in_full[i] || (i && s->path[i] == s->path[i - 1]))
			continue;
		paths[n] = assay_dup(&j->arena, assay_text(j->found, s->path[i]));
		if (!is_file(paths[n++], &bytes, err))
			return false;
		*changed += bytes != s->file_bytes[i];
	}
	return are_files(j->left.p, j->left.n, err) && (!n || assay_read_paths(run, paths, n, err));
}

/* What was counted and said about them is among the findings already. */
static bool read_in_full(assay_job *j, assay_run *run, const bool *in_full, assay_err *err)
{
	uint64_t changed = 0;
	if (!read_chosen(j, run, in_full, &changed, err))
		return false;
	assay_forget_problems(&run->part);
	assay_count(&run->part, ASSAY_ISSUE_changed_file, changed);
	bool ok = !j->left.n || assay_read_paths(run, j->left.p, j->left.n, err);
	run->in_full = (uint32_t)run->part.t.source.n;
	return ok;
}

static bool tells_part(const assay_report_opts *o)
{
	return o->only_step || o->only_stream || o->only_device || o->only_rank;
}

bool assay_job_finish(assay_job *j, assay_run *run, assay_err *err)
{
	uint64_t issues[ASSAY_ISSUE_COUNT];
	bool *in_full = assay_alloc(&j->arena, j->found->part.t.source.n + 1);
	assay_halfway half;
	assay_findings_append(&j->found->part, &run->part, NULL); /* files that cannot be read */
	assay_forget_problems(&run->part);
	assay_kernels_fold(j->found, 0);
	put_away(j);
	if (!assay_kin_check(j->found, tells_part(&j->opts), err) || !choose(j, in_full, err))
		return false;
	assay_tables_rest(&j->found->part.t);
	if (!read_in_full(j, run, in_full, err))
		return false;
	memcpy(issues, run->part.issues, sizeof issues);
	assay_bound_times(run);
	/* rows of the other ranks come before findings are looked for */
	assay_needs first = j->needs < ASSAY_NEEDS_SOURCES ? j->needs : ASSAY_NEEDS_SOURCES;
	assay_analyze_sources(run, &j->opts, first, &half);
	memcpy(run->part.issues, issues, sizeof issues);
	size_t kernels = run->part.t.kernel.n;
	if (j->calls_apart)
		assay_kept_calls_move(run, j->found, in_full, (uint32_t)run->part.t.source.n);
	assay_findings_move(&run->part, &j->found->part, in_full);
	assay_run_free(j->found); /* a job of many ranks is not held twice */
	j->found = NULL;
	assay_kernels_fold(run, kernels);
	assay_tables_rest(&run->part.t);
	bool ok = assay_analyze_rest(run, &j->opts, j->needs, &half, err);
	assay_halfway_free(&half);
	return ok;
}

static bool read_findings(assay_job *j, assay_run *run, char *const *paths, size_t n,
			  const assay_report_opts *given, assay_needs needs, assay_err *err)
{
	if (!assay_job_start(j, given, needs, err))
		return false;
	j->calls_apart = run->calls_apart;
	const char *ranks = j->opts.ranks;
	const assay_each each = {.ctx = j,
				 .more_than = !ranks          ? ASSAY_RANKS_IN_FULL
					      : is_all(ranks) ? SIZE_MAX
							      : 0,
				 .with_beside = true,
				 .work = analyze_file,
				 .take = keep_findings,
				 .leave = leave_file};
	return assay_read_each(run, paths, n, &each, err);
}

bool assay_job_read(assay_run *run, char *const *paths, size_t n, const assay_report_opts *given,
		    assay_needs needs, assay_err *err)
{
	assay_job j;
	bool ok = read_findings(&j, run, paths, n, given, needs, err);
	if (ok && j.used)
		ok = assay_job_finish(&j, run, err);
	else if (ok)
		ok = assay_run_analyze_for(run, &j.opts, needs, err);
	run->analyzed = true;
	assay_job_free(&j);
	return ok;
}

size_t assay_ranks_of(const assay_run *run, size_t sources)
{
	const assay_tables *t = &run->part.t;
	size_t n = 0;
	for (uint32_t i = 0; i < t->source.n && i < sources; i++)
		n += assay_group_of(t, i) == i && t->source.rank[i] >= 0;
	return n;
}

bool assay_job_read_events(assay_run *run, char *const *paths, size_t n,
			   const assay_report_opts *given, size_t *ranks, assay_err *err)
{
	assay_job j;
	uint64_t changed = 0;
	bool ok = read_findings(&j, run, paths, n, given, ASSAY_NEEDS_LINKS, err),
	     some = ok && j.used;
	if (some) {
		bool *in_full = assay_alloc(&j.arena, j.found->part.t.source.n + 1);
		ok = choose(&j, in_full, err) && read_chosen(&j, run, in_full, &changed, err);
		assay_count(&run->part, ASSAY_ISSUE_changed_file, changed);
	}
	*ranks = assay_ranks_of(some ? j.found : run, SIZE_MAX);
	assay_job_free(&j);
	return ok;
}

TEST(ranks_are_listed_by_number_and_range)
{
	CHECK(assay_ranks_valid("3") && assay_ranks_valid("0,8-15,4000") &&
	      assay_ranks_valid("all"));
	CHECK(!assay_ranks_valid("") && !assay_ranks_valid("x") && !assay_ranks_valid("5-3") &&
	      !assay_ranks_valid("-3") && !assay_ranks_valid("1,,2") &&
	      !assay_ranks_valid("1-2-3"));
	CHECK(is_listed("0,8-15", 8) && is_listed("0,8-15", 15) && is_listed("0,8-15", 0));
	CHECK(!is_listed("0,8-15", 16) && !is_listed("0,8-15", -1));
	return 0;
}

enum { TEST_RANKS = 20 };

/* Ranks with three collectives and a kernel each; the last one comes late. */
static char *write_job(assay_arena *a)
{
	char *dir = assay_printf(a, "%s", assay_test_path("job"));
	if (mkdir(dir, 0700))
		return NULL;
	for (int r = 0; r < TEST_RANKS; r++) {
		FILE *f = fopen(assay_printf(a, "%s/rank%d.json", dir, r), "w");
		if (!f)
			return NULL;
		fprintf(f,
			"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, \"traceEvents\": [\n",
			r, TEST_RANKS);
		for (int i = 0; i < 3; i++) {
			int late = r == TEST_RANKS - 1 ? 400 : r,
			    ts = i * 1000 + late + r % 3 * 7000;
			fprintf(f,
				"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"stream\": 7}},\n",
				r % 4, ts - late, late + 1);
			fprintf(f,
				"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel\", "
				"\"pid\": 0, \"tid\": 9, \"ts\": %d, \"dur\": %d, \"args\": "
				"{\"stream\": 9, \"Collective name\": \"allreduce\", "
				"\"Group size\": %d, \"Process Group Name\": \"0\"}},\n",
				ts, 500 - late, TEST_RANKS);
		}
		fputs("{}]}", f);
		fclose(f);
	}
	return dir;
}

static uint32_t row_of_rank(const assay_run *run, int32_t rank)
{
	const assay_rank_table *r = &run->part.t.rank;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->rank[i] == rank)
			return i;
	return ASSAY_NO_ROW;
}

/* Columns of rank that are the same however the job was read: clocks are told apart. */
static bool same_rank(const assay_run *x, const assay_run *y, int32_t rank)
{
	const assay_rank_table *a = &x->part.t.rank, *b = &y->part.t.rank;
	uint32_t i = row_of_rank(x, rank), k = row_of_rank(y, rank);
	return i != ASSAY_NO_ROW && k != ASSAY_NO_ROW && a->offset[i] == b->offset[k] &&
	       a->spread[i] == b->spread[k] && a->waited[i] == b->waited[k] &&
	       a->caused[i] == b->caused[k] && a->matched[i] == b->matched[k] &&
	       a->last[i] == b->last[k] && a->transfer[i] == b->transfer[k] &&
	       a->skew[i] == b->skew[k] && a->why[i] == b->why[k] && a->excess[i] == b->excess[k];
}

static int check_brief(char *dir, bool calls_apart)
{
	assay_run *full = assay_run_new(), *brief = assay_run_new();
	brief->calls_apart = calls_apart;
	CHECK(assay_read_paths(full, &dir, 1, NULL) && assay_run_analyze(full, NULL, NULL));
	CHECK(assay_job_read(brief, &dir, 1, NULL, ASSAY_NEEDS_FINDINGS, NULL));
	const assay_tables *f = &full->part.t, *b = &brief->part.t;
	CHECK(full->in_full == 0 && brief->in_full == 2 && b->gpu.n == 2 * 6);
	CHECK(b->source.rank[0] == 0 && b->source.rank[1] == TEST_RANKS - 1);
	CHECK(f->source.n == TEST_RANKS && b->source.n == TEST_RANKS);
	CHECK(f->rank.n == TEST_RANKS && b->rank.n == TEST_RANKS);
	for (int32_t r = 0; r < TEST_RANKS; r++)
		CHECK(same_rank(full, brief, r));
	CHECK(f->device_time.n == b->device_time.n && f->idle_cause.n == b->idle_cause.n);
	CHECK(f->collective.n == 1 && b->collective.n == 1);
	CHECK(f->collective.latency[0] == b->collective.latency[0]);
	CHECK(f->kernel.n == 5 && b->kernel.n == 5 && f->warning.n == b->warning.n);
	CHECK(!memcmp(full->part.issues, brief->part.issues, sizeof full->part.issues));
	CHECK_EQ(f->rank.caused[row_of_rank(full, TEST_RANKS - 1)],
		 b->rank.caused[row_of_rank(brief, TEST_RANKS - 1)]);
	CHECK(b->rank.last[row_of_rank(brief, TEST_RANKS - 1)] == 3);
	CHECK_EQ(b->call.n, 3 * (calls_apart ? brief->in_full : TEST_RANKS));
	assay_run_free(full);
	assay_run_free(brief);
	return 0;
}

/* Also for the thread sanitizer. */
TEST(findings_by_threads_are_those_of_reading_all_in_full)
{
	assay_arena a = {0};
	char *dir = write_job(&a);
	CHECK(dir);
	int failed = check_brief(dir, false) || check_brief(dir, true);
	assay_arena_free(&a);
	return failed;
}

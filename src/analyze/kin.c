/* Which inputs belong together: ranks of one job, processes of one run, files of one process. Two
 * recordings that nothing joins are two runs. docs/analysis.md has the rules. */
#include "analyze/kin.h"

#include "base/err.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

static const int64_t second = 1000000000;
/* Ranks of a job that are recorded further apart have no collective in common. */
static const double far_apart = 3600e9;
/* A clock that shows less began with the recording, and meets that of any other recording. */
static const int64_t old_clock = 60 * (int64_t)1000000000;

struct process {
	uint32_t source; /* first of its files */
	uint32_t job;
	int64_t first, last; /* first > last: no times */
	bool gpu, host;
};

struct kin {
	const assay_run *run;
	bool part;
	assay_vec(struct process) process;
	uint32_t *of_source; /* process + 1; 0: none yet */
	size_t jobs;
};

static assay_str folder_of(const struct kin *k, uint32_t source)
{
	return assay_str_folder(assay_text(k->run, k->run->part.t.source.path[source]));
}

static bool shares_path(const struct kin *k, uint32_t a, uint32_t b)
{
	return k->run->part.t.source.path[a] == k->run->part.t.source.path[b];
}

static bool shares_folder(const struct kin *k, uint32_t a, uint32_t b)
{
	return assay_str_eq(folder_of(k, a), folder_of(k, b));
}

/* Files that `assay record` wrote into one run directory, or processes in one file. */
static bool of_one_recording(const struct kin *k, uint32_t a, uint32_t b)
{
	return shares_path(k, a, b) ||
	       (assay_has_trait(k->run, a, ASSAY_TRAIT_FOLDER) &&
		assay_has_trait(k->run, b, ASSAY_TRAIT_FOLDER) && shares_folder(k, a, b));
}

static struct process *process_of(struct kin *k, uint32_t source)
{
	uint32_t group = assay_group_of(&k->run->part.t, source);
	if (!k->of_source[group]) {
		uint32_t job = (uint32_t)k->process.n;
		*assay_push(&k->process) = (struct process){
			.source = group, .job = job, .first = INT64_MAX, .last = INT64_MIN};
		k->of_source[group] = job + 1;
	}
	return &k->process.p[k->of_source[group] - 1];
}

static void widen(struct process *p, int64_t from, int64_t to)
{
	p->first = from < p->first ? from : p->first;
	p->last = to > p->last ? to : p->last;
}

/* Telemetry and notes have neither work nor spans: they go with whatever they are given with. */
static void find_processes(struct kin *k)
{
	const assay_tables *t = &k->run->part.t;
	for (size_t i = 0; i < t->device_time.n; i++) {
		struct process *p = process_of(k, t->device_time.source[i]);
		p->gpu = p->host = true;
		widen(p, t->device_time.start[i],
		      t->device_time.start[i] + t->device_time.span[i] + t->device_time.off[i]);
	}
	if (k->process.n)
		return;
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		struct process *p = process_of(k, t->track.source[t->gpu.track[i]]);
		p->gpu = true;
		widen(p, t->gpu.ts[i], assay_gpu_end(&t->gpu, i));
	}
	for (uint32_t i = 0; i < t->host.n; i++) {
		struct process *p = process_of(k, t->track.source[t->host.track[i]]);
		p->host = true;
		widen(p, t->host.ts[i], assay_host_end(&t->host, i));
	}
}

/* Both say when they were. */
static bool comparable(const struct kin *k, const struct process *a, const struct process *b)
{
	const assay_source_table *s = &k->run->part.t.source;
	return !k->part && a->first <= a->last && b->first <= b->last &&
	       s->epoch[a->source] == s->epoch[b->source] &&
	       (s->epoch[a->source] || (a->first > old_clock && b->first > old_clock));
}

/* What to add to b's times for a's clock. */
static int64_t shift(const struct kin *k, const struct process *a, const struct process *b)
{
	const assay_source_table *s = &k->run->part.t.source;
	return s->epoch[a->source] ? s->base[b->source] - s->base[a->source] : 0;
}

/* ns from the end of one to the start of the other; below 0 they overlap. Sums of three times may
 * not fit 64 bits. */
static double apart(const struct kin *k, const struct process *a, const struct process *b)
{
	double move = (double)shift(k, a, b);
	double behind = (double)b->first + move - (double)a->last;
	double ahead = (double)a->first - (double)b->last - move;
	return behind > ahead ? behind : ahead;
}

static const char *words_of(assay_arena *arena, double ns)
{
	double hours = ns / far_apart;
	return hours < 48 ? assay_printf(arena, "%.0f hours", hours)
			  : assay_printf(arena, "%.0f days", hours / 24);
}

/* What says that two processes are of different jobs; NULL when nothing does. */
static const char *what_parts(const struct kin *k, const struct process *a, const struct process *b,
			      assay_arena *arena)
{
	const assay_source_table *s = &k->run->part.t.source;
	int32_t world = s->world[a->source], other = s->world[b->source];
	if (of_one_recording(k, a->source, b->source))
		return NULL;
	if (world >= 0 && other >= 0 && world != other)
		return assay_printf(arena, "one is of %d ranks, the other of %d", world, other);
	if (comparable(k, a, b) && apart(k, a, b) > far_apart)
		return assay_printf(arena, "they were recorded %s apart",
				    words_of(arena, apart(k, a, b)));
	return NULL;
}

/* The kernels of a program from one tool, what its host did from another. */
static bool complement(const struct kin *k, const struct process *a, const struct process *b)
{
	return shares_folder(k, a->source, b->source) && a->gpu != b->gpu && a->host != b->host;
}

static bool are_joined(const struct kin *k, const struct process *a, const struct process *b)
{
	const assay_source_table *s = &k->run->part.t.source;
	int32_t rank = s->rank[a->source], other = s->rank[b->source];
	return of_one_recording(k, a->source, b->source) ||
	       (rank >= 0 && other >= 0 && rank != other) ||
	       (comparable(k, a, b) && apart(k, a, b) < 0) || complement(k, a, b) || k->part;
}

/* The process becomes one of the job, and the job it was of with it. */
static void join(struct kin *k, uint32_t process, uint32_t job)
{
	struct process *p = k->process.p;
	uint32_t from = p[process].job;
	p[process].job = job;
	for (size_t i = 0; from != process && i < k->process.n; i++)
		p[i].job = p[i].job == from ? job : p[i].job;
	k->jobs--;
}

/* The first process of a job stands for all of it, with the times of all of it. */
static void widen_job(const struct kin *k, struct process *job, const struct process *p)
{
	if (comparable(k, job, p))
		widen(job, p->first + shift(k, job, p), p->last + shift(k, job, p));
}

static void find_jobs(struct kin *k)
{
	assay_arena scratch = {0};
	struct process *p = k->process.p;
	for (uint32_t i = 0; i < k->process.n; i++) {
		size_t left = k->jobs++;
		for (uint32_t j = 0; left && j < i; j++) {
			bool stands = p[j].job == j;
			left -= stands;
			if (!stands || p[i].job == j || !are_joined(k, &p[j], &p[i]) ||
			    what_parts(k, &p[j], &p[i], &scratch))
				continue;
			widen_job(k, &p[j], &p[i]);
			join(k, i, j);
		}
	}
	assay_arena_free(&scratch);
}

static const char *name_of(const struct kin *k, uint32_t source)
{
	return assay_z(k->run, k->run->part.t.source.path[source]);
}

/* Two recordings of one rank are two runs of it, or it was recorded twice. */
static bool check_ranks(struct kin *k, assay_err *err)
{
	const assay_source_table *s = &k->run->part.t.source;
	assay_map seen = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && i < k->process.n; i++) {
		uint32_t source = k->process.p[i].source;
		if (s->rank[source] < 0 || !k->process.p[i].gpu)
			continue;
		uint32_t *slot = assay_map_at(&seen, (uint32_t)s->rank[source]);
		*slot = *slot == ASSAY_MAP_ABSENT ? source : *slot;
		ok = *slot == source || of_one_recording(k, *slot, source) ||
		     assay_fail(
			     err, ASSAY_UNRELATED, 0,
			     "%s and %s both are rank %d: two recordings, not one job; report each, or compare them with assay diff; one made while graphs were captured belongs to --captures",
			     name_of(k, *slot), name_of(k, source), s->rank[source]);
	}
	assay_map_free(&seen);
	return ok;
}

static bool refuse(const struct kin *k, assay_err *err)
{
	enum { NAMED = 3 };
	assay_arena scratch = {0};
	const struct process *first = k->process.p, *other = first;
	const char *names = "", *why;
	size_t named = 0;
	for (uint32_t i = 0; i < k->process.n; i++) {
		const struct process *p = &k->process.p[i];
		if (p->job != i)
			continue;
		other = other == first ? p : other;
		if (named++ < NAMED)
			names = assay_printf(&scratch, "%s%s%s", names, *names ? ", " : "",
					     name_of(k, p->source));
	}
	why = what_parts(k, first, other, &scratch);
	if (!why)
		why = comparable(k, first, other)
			      ? "no ranks join them, and their times do not meet"
			      : "neither ranks nor clocks say that they belong together";
	assay_fail(
		err, ASSAY_UNRELATED, 0,
		"these are %zu runs, not one job: %s%s (%s); report each, or compare two with assay diff",
		k->jobs, names, k->jobs > NAMED ? ", ..." : "", why);
	assay_arena_free(&scratch);
	return false;
}

/* Recordings: telemetry and notes go with any. */
static bool has_several(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	size_t n = 0;
	for (uint32_t i = 0; i < t->source.n; i++)
		n += assay_group_of(t, i) == i &&
		     !assay_has_trait(run, i, ASSAY_TRAIT_TELEMETRY | ASSAY_TRAIT_NOTE);
	return n > 1;
}

bool assay_kin_check(const assay_run *run, bool part, assay_err *err)
{
	struct kin k = {.run = run, .part = part};
	assay_arena scratch = {0};
	if (!has_several(run))
		return true;
	k.of_source = assay_alloc(&scratch, run->part.t.source.n * sizeof *k.of_source);
	find_processes(&k);
	find_jobs(&k);
	bool ok = check_ranks(&k, err) && (k.jobs < 2 || refuse(&k, err));
	assay_vec_free(&k.process);
	assay_arena_free(&scratch);
	return ok;
}

/* A recording of its own with one kernel of a second; at: seconds after 1970, 0 for its own
 * clock. */
static void add_recording(assay_run *run, const char *path, int32_t rank, int64_t at)
{
	assay_tables *t = &run->part.t;
	uint32_t s = run->part.source = assay_add(t, ASSAY_T_source);
	t->source.path[s] = assay_sid_of(run, path);
	t->source.group[s] = s;
	t->source.rank[s] = rank;
	t->source.epoch[s] = at > 0;
	t->source.base[s] = at * second - 100;
	assay_hand_gpu(run, "k", 100, second, ASSAY_NO_ROW);
}

static bool refused(assay_run *run, const char *words)
{
	assay_err err = {0};
	bool no = !assay_kin_check(run, false, &err) && strstr(err.text, words);
	assay_run_free(run);
	return no;
}

static bool accepted(assay_run *run)
{
	assay_err err = {0};
	bool yes = assay_kin_check(run, false, &err);
	assay_run_free(run);
	return yes;
}

TEST(ranks_of_one_job_belong_together)
{
	assay_run *run = assay_run_new();
	add_recording(run, "a", 0, 1000);
	add_recording(run, "b", 1, 1005);
	CHECK(accepted(run));
	run = assay_run_new();
	add_recording(run, "a", 0, 1000);
	add_recording(run, "b", 1, 1000);
	run->part.t.source.world[0] = 2;
	run->part.t.source.world[1] = 128;
	CHECK(refused(run, "one is of 2 ranks, the other of 128"));
	run = assay_run_new();
	add_recording(run, "a", 0, 1000);
	add_recording(run, "b", 1, 1000 + 5 * 3600);
	CHECK(refused(run, "2 runs, not one job: a, b (they were recorded 5 hours apart)"));
	return 0;
}

TEST(one_rank_twice_is_two_runs)
{
	assay_run *run = assay_run_new();
	add_recording(run, "x/a", 0, 1000);
	add_recording(run, "x/b", 0, 1000);
	CHECK(refused(run, "x/a and x/b both are rank 0"));
	run = assay_run_new();
	add_recording(run, "x/a", 0, 1000);
	add_recording(run, "x/b", 0, 1000);
	run->part.t.source.traits[0] = run->part.t.source.traits[1] = ASSAY_TRAIT_FOLDER;
	CHECK(accepted(run));
	return 0;
}

TEST(recordings_without_ranks_belong_together_when_their_times_meet)
{
	assay_run *run = assay_run_new();
	add_recording(run, "a", -1, 1000);
	add_recording(run, "b", -1, 1002);
	CHECK(refused(run, "their times do not meet"));
	run = assay_run_new();
	add_recording(run, "a", -1, 1000);
	add_recording(run, "c", -1, 1000);
	add_recording(run, "b", -1, 1000);
	run->part.t.gpu.dur[2] = 3 * second;
	CHECK(accepted(run));
	run = assay_run_new(); /* clocks that began with the recording */
	add_recording(run, "a", -1, 0);
	add_recording(run, "b", -1, 0);
	CHECK(refused(run, "neither ranks nor clocks"));
	return 0;
}

TEST(a_recording_joins_two_that_do_not_meet)
{
	assay_run *run = assay_run_new();
	add_recording(run, "a", -1, 1000);
	add_recording(run, "c", -1, 1002);
	add_recording(run, "b", -1, 1000);
	run->part.t.gpu.dur[2] = 3 * second;
	CHECK(accepted(run));
	return 0;
}

TEST(telemetry_goes_with_what_it_is_given_with)
{
	assay_run *run = assay_run_new();
	add_recording(run, "a", -1, 1000);
	uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
	run->part.t.source.traits[s] = ASSAY_TRAIT_TELEMETRY;
	CHECK(accepted(run));
	return 0;
}

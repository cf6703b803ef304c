/* Steps of compiled programs: XLA puts a range around each execution of one. The program that most
 * launches lie in is the step, from the begin of one execution to that of the next. What runs while
 * one is compiled are trials of its parts. Where every step compiles its program anew, as a lambda
 * that is made in the loop, the programs have numbers of their own and one name. */
#include "resolve/resolve.h"

#include "base/group.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"

enum { FEWEST = 3 };

/* Ranges of a recording begin so; in XLA's own profiles an execution's thunks are an operator of
 * the host whose name ends so. */
static const char executes[] = "XlaModule:#", compiles[] = "XlaCompile:#",
		  thunks[] = ":XLA GPU module";

typedef assay_vec(uint32_t) ranges;

static bool is_wanted(assay_str name, uint8_t kind, const char *start)
{
	return kind == ASSAY_HOST_OP ? start == executes && assay_str_ends(name, thunks)
				     : assay_is_range(kind) && assay_str_starts(name, start);
}

/* Ranges of all processes whose names begin so, by time. */
static void find_ranges(const assay_run *run, const char *start, ranges *out)
{
	const assay_host_table *h = &run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->dur[i] > 0 && is_wanted(assay_text(run, h->name[i]), h->kind[i], start))
			*assay_push(out) = i;
	if (out->n)
		assay_sort_rows(out->p, out->n, h->ts);
}

/* Those of one process; of ranges within ranges of a thread the outer ones. */
static void choose_outer(const assay_tables *t, const ranges *all, uint32_t group, ranges *out)
{
	assay_arena scratch = {0};
	int64_t *end = assay_alloc(&scratch, (t->track.n + 1) * sizeof *end);
	for (size_t i = 0; i < t->track.n; i++)
		end[i] = INT64_MIN;
	for (size_t i = 0; i < all->n; i++) {
		uint32_t row = all->p[i], track = t->host.track[row];
		if (assay_track_group(t, track) != group || t->host.ts[row] < end[track])
			continue;
		end[track] = assay_host_end(&t->host, row);
		*assay_push(out) = row;
	}
	assay_arena_free(&scratch);
}

/* Drops the executions that begin while something is compiled. */
static void drop_trials(const assay_tables *t, const ranges *compiled, ranges *executions)
{
	const assay_host_table *h = &t->host;
	size_t kept = 0, c = 0;
	for (size_t i = 0; i < executions->n; i++) {
		int64_t at = h->ts[executions->p[i]];
		while (c < compiled->n && assay_host_end(h, compiled->p[c]) <= at)
			c++;
		if (c == compiled->n || h->ts[compiled->p[c]] > at)
			executions->p[kept++] = executions->p[i];
	}
	executions->n = kept;
}

/* By place: what each execution is one of, its program or all of the same name. */
static assay_sid *programs_of(assay_run *run, const ranges *e, bool by_name, assay_arena *a)
{
	assay_sid *program = assay_alloc(a, (e->n + 1) * sizeof *program);
	for (size_t i = 0; i < e->n; i++) {
		program[i] = run->part.t.host.name[e->p[i]];
		assay_str name = assay_text(run, program[i]);
		ptrdiff_t number = by_name ? assay_str_find(name, ",program_id=") : -1;
		if (number > 0)
			program[i] = assay_intern(&run->part.strings,
						  (assay_str){name.p, (size_t)number});
	}
	return program;
}

/* By place: launches inside each execution, on its thread. */
static uint64_t *count_launches(const assay_tables *t, uint32_t group, const ranges *e,
				assay_arena *a)
{
	uint64_t *n = assay_alloc(a, (e->n + 1) * sizeof *n);
	size_t *first = assay_alloc(a, (t->track.n + 1) * sizeof *first);
	uint32_t *track = assay_alloc(a, (e->n + 1) * sizeof *track);
	uint32_t *place = assay_alloc(a, (e->n + 1) * sizeof *place);
	int64_t *at = assay_alloc(a, (e->n + 1) * sizeof *at);
	for (size_t i = 0; i < e->n; i++)
		track[i] = t->host.track[e->p[i]];
	assay_group_rows(place, first, NULL, e->n, track, t->track.n);
	for (size_t i = 0; i < e->n; i++)
		at[i] = t->host.ts[e->p[place[i]]];
	for (uint32_t g = 0; g < t->launch.n; g++) {
		uint32_t call = t->launch.host[g];
		if (call == ASSAY_NO_ROW || assay_track_group(t, t->host.track[call]) != group)
			continue;
		size_t from = first[t->host.track[call]], to = first[t->host.track[call] + 1];
		size_t k = assay_count_until(at + from, sizeof *at, to - from, t->host.ts[call]);
		if (k && t->host.ts[call] < assay_host_end(&t->host, e->p[place[from + k - 1]]))
			n[place[from + k - 1]]++;
	}
	return n;
}

struct program {
	assay_sid name;
	size_t first; /* execution */
	uint64_t launches, times;
};

/* The program with most launches, where more than half of those from its first execution on are
 * its; 0: there is none. */
static assay_sid leading_program(const assay_sid *program, const uint64_t *launches, size_t n)
{
	assay_map known = {0};
	assay_vec(struct program) programs = {0};
	struct program best = {.name = 0};
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t *slot = assay_map_at(&known, program[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)programs.n;
			*assay_push(&programs) = (struct program){.name = program[i], .first = i};
		}
		programs.p[*slot].launches += launches[i];
		programs.p[*slot].times++;
	}
	for (size_t i = 0; i < programs.n; i++)
		best = programs.p[i].launches > best.launches ? programs.p[i] : best;
	for (size_t i = best.first; i < n; i++)
		all += launches[i];
	assay_map_free(&known);
	assay_vec_free(&programs);
	return best.times >= FEWEST && best.launches * 2 > all ? best.name : 0;
}

/* Where each device has a thread that executes the program for it, one thread's are enough: that of
 * most executions. ASSAY_NO_ROW: there are no two such threads. */
static uint32_t one_of_threads(const assay_tables *t, const ranges *e, const assay_sid *program,
			       assay_sid leading)
{
	assay_arena scratch = {0};
	size_t *times = assay_alloc(&scratch, (t->track.n + 1) * sizeof *times), threads = 0;
	uint32_t best = ASSAY_NO_ROW;
	for (size_t i = 0; i < e->n; i++)
		times[t->host.track[e->p[i]]] += program[i] == leading;
	for (uint32_t k = 0; k < t->track.n; k++) {
		threads += times[k] >= FEWEST;
		best = times[k] && (best == ASSAY_NO_ROW || times[k] > times[best]) ? k : best;
	}
	assay_arena_free(&scratch);
	return threads > 1 ? best : ASSAY_NO_ROW;
}

static void add_steps(assay_run *run, uint32_t group, const ranges *e, const assay_sid *program,
		      assay_sid leading)
{
	const assay_host_table *h = &run->part.t.host;
	uint32_t before = ASSAY_NO_ROW, thread = one_of_threads(&run->part.t, e, program, leading);
	for (size_t i = 0; i < e->n; i++) {
		if (program[i] != leading ||
		    (thread != ASSAY_NO_ROW && h->track[e->p[i]] != thread))
			continue;
		if (before != ASSAY_NO_ROW)
			assay_step_add(run, group, h->ts[before], h->ts[e->p[i]], ASSAY_STEP_NEXT,
				       leading, ASSAY_STEP_PROGRAM);
		before = e->p[i];
	}
	assay_step_add(run, group, h->ts[before], assay_host_end(h, before), ASSAY_STEP_NEXT,
		       leading, ASSAY_STEP_PROGRAM);
}

static void steps_of_process(assay_run *run, uint32_t group, const ranges *e)
{
	assay_arena scratch = {0};
	uint64_t *launches = count_launches(&run->part.t, group, e, &scratch);
	assay_sid leading = 0;
	for (int by_name = 0; e->n >= FEWEST && !leading && by_name < 2; by_name++) {
		assay_sid *program = programs_of(run, e, by_name, &scratch);
		leading = leading_program(program, launches, e->n);
		if (leading)
			add_steps(run, group, e, program, leading);
	}
	assay_arena_free(&scratch);
}

void assay_program_steps(assay_run *run)
{
	assay_tables *t = &run->part.t;
	ranges executed = {0}, compiled = {0};
	find_ranges(run, executes, &executed);
	if (executed.n)
		find_ranges(run, compiles, &compiled);
	for (uint32_t group = 0; executed.n && group < t->source.n; group++) {
		ranges e = {0}, c = {0};
		if (assay_group_of(t, group) != group)
			continue;
		choose_outer(t, &compiled, group, &c);
		choose_outer(t, &executed, group, &e);
		drop_trials(t, &c, &e);
		steps_of_process(run, group, &e);
		assay_vec_free(&e);
		assay_vec_free(&c);
	}
	assay_vec_free(&executed);
	assay_vec_free(&compiled);
}

/* Ten small programs make what the large one needs; that is executed n times, with so many launches
 * each, beside a small one of three. */
static assay_run *programs(int n, int launches)
{
	assay_run *run = assay_run_new();
	int64_t at = 0;
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	for (int i = 0; i < 10; i++, at += 100) {
		assay_hand_host(run, ASSAY_HOST_MARKER, "XlaModule:#hlo_module=jit_zeros#", at, 90);
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cuLaunchKernel", at + 5, 2);
		assay_hand_gpu(run, "zeros", at + 10, 5, call);
	}
	for (int i = 0; i < n; i++, at += 1000) {
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "XlaModule:#hlo_module=jit_f#", at,
				400);
		assay_hand_host(run, ASSAY_HOST_MARKER, "XlaModule:#hlo_module=inner#", at + 1, 9);
		assay_hand_host(run, ASSAY_HOST_MARKER, "XlaModule:#hlo_module=jit_add#", at + 500,
				90);
		for (int k = 0; k < launches + 3; k++) {
			int64_t ts = at + (k < launches ? 20 + k : 510 + k);
			uint32_t call =
				assay_hand_host(run, ASSAY_HOST_RUNTIME, "cuLaunchKernel", ts, 1);
			assay_hand_gpu(run, "kernel", ts + 3, 1, call);
		}
	}
	assay_program_steps(run);
	return run;
}

TEST(executions_of_the_program_with_most_launches_are_steps)
{
	assay_run *run = programs(4, 20);
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 4);
	CHECK(s->ts[0] == 1000 && s->dur[0] == 1000 && s->ts[3] == 4000 && s->dur[3] == 400);
	CHECK(s->origin[0] == ASSAY_STEP_PROGRAM && s->number[3] == 3);
	assay_run_free(run);
	run = programs(4, 3); /* neither has more than half */
	CHECK_EQ(run->part.t.step.n, 0);
	assay_run_free(run);
	run = programs(2, 20);
	CHECK_EQ(run->part.t.step.n, 0);
	assay_run_free(run);
	return 0;
}

/* Every step compiles its program, for which parts of it are tried, and executes it. */
TEST(programs_compiled_in_every_step_are_steps_and_their_trials_are_none)
{
	assay_run *run = assay_run_new();
	char name[64];
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	for (int64_t i = 0, at = 0; i < 4; i++, at += 1000) {
		assay_hand_host(run, ASSAY_HOST_MARKER, "XlaCompile:#module=jit_f#", at, 800);
		for (int64_t k = 0; k < 20; k++) {
			assay_hand_host(run, ASSAY_HOST_MARKER, "XlaModule:#hlo_module=gemm#",
					at + 10 + 20 * k, 15);
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cuLaunchKernel",
							at + 12 + 20 * k, 1);
			assay_hand_gpu(run, "gemm", at + 14 + 20 * k, 5, call);
		}
		snprintf(name, sizeof name, "XlaModule:#hlo_module=jit_f,program_id=%d#", (int)i);
		assay_hand_host(run, ASSAY_HOST_MARKER, name, at + 850, 100);
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cuLaunchKernel", at + 860, 2);
		assay_hand_gpu(run, "f", at + 870, 50, call);
	}
	assay_program_steps(run);
	const assay_step_table *s = &run->part.t.step;
	CHECK_EQ(s->n, 4);
	CHECK(s->ts[0] == 850 && s->dur[0] == 1000 && s->dur[3] == 100);
	CHECK(assay_str_is(assay_text(run, s->name[0]), "XlaModule:#hlo_module=jit_f"));
	assay_run_free(run);
	return 0;
}

/* A profile of XLA's own: for each of two devices a thread executes the program three times, and
 * once in a while at times that do not overlap. */
TEST(executions_of_several_devices_are_counted_on_one_thread)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (int64_t i = 0, at = 0; i < 4; i++, at += 1000)
		for (int64_t k = 0; k < 2; k++) {
			int64_t ts = at + 300 * k * (i == 1);
			uint32_t e = assay_hand_host(run, ASSAY_HOST_OP, "jit_f:XLA GPU module", ts,
						     200);
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME,
							"hipModuleLaunchKernel", ts + 5, 1);
			t->host.track[e] = t->host.track[call] =
				assay_thread_track(&run->part, 1, 10 + k);
			assay_hand_gpu(run, "f", ts + 8, 50, call);
		}
	assay_program_steps(run);
	CHECK_EQ(t->step.n, 4);
	CHECK(t->step.ts[1] == 1000 && t->step.dur[1] == 1000 && t->step.dur[3] == 200);
	assay_run_free(run);
	return 0;
}

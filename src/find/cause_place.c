#include "find/cause_place.h"

#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/native.h"
#include "names/copies.h"
#include "names/words.h"

static bool inside(const assay_gap_table *g, uint32_t gap, uint32_t device, int64_t from,
		   int64_t to)
{
	return g->device[gap] == device && g->ts[gap] >= from && g->ts[gap] + g->dur[gap] <= to;
}

/* The place that a part of a gap belongs to: the line of the launching thread, and of who keeps
 * it. */
static assay_cause_place place_of(const assay_tables *t, size_t part)
{
	const assay_gap_part_table *p = &t->gap_part;
	return (assay_cause_place){assay_own_call(t, p->stack[part]),
				   assay_culprit_call(t, p->sample[part]), p->sample[part], 0};
}

static uint64_t place_key(const assay_tables *t, const assay_cause_place *at)
{
	uint64_t key[2] = {assay_line_key(t, at->stack), assay_line_key(t, at->culprit)};
	return assay_hash(key, sizeof key, 0);
}

/* Gaps of a device within [from, to], and the cause of parts of them. */
struct search {
	uint32_t device;
	int64_t from, to;
	assay_why cause;
};

static bool is_looked_for(const assay_tables *t, const struct search *s, size_t part)
{
	const assay_gap_part_table *p = &t->gap_part;
	return p->cause[part] == s->cause && p->stack[part] != ASSAY_NO_ROW &&
	       inside(&t->gap, p->gap[part], s->device, s->from, s->to);
}

/* Of all samples of the place, one in the library that most of the time was spent in. */
static uint32_t usual_sample(const assay_run *run, const struct search *s,
			     const assay_cause_place *place)
{
	const assay_tables *t = &run->part.t;
	const assay_gap_part_table *p = &t->gap_part;
	assay_arena a = {0};
	uint64_t here = place_key(t, place);
	int64_t *time = assay_alloc(&a, (run->part.strings.str.n + 1) * sizeof *time), most = 0;
	uint32_t best = place->sample;
	for (size_t i = 0; i < p->n; i++) {
		if (!is_looked_for(t, s, i))
			continue;
		assay_cause_place at = place_of(t, i);
		uint32_t code = assay_native_code(run, at.sample);
		if (code == ASSAY_NO_ROW || place_key(t, &at) != here)
			continue;
		assay_sid library = t->code.file[code];
		time[library] += p->dur[i];
		if (time[library] > most) {
			most = time[library];
			best = at.sample;
		}
	}
	assay_arena_free(&a);
	return best;
}

/* Others are looked at now and then only: who is waited for in a third of a line's time was so in
 * the rest where nobody was seen. */
static assay_cause_place with_culprit(const assay_tables *t, const assay_cause_place *of,
				      const assay_cause_place *p, size_t n)
{
	assay_cause_place best = *of;
	int64_t most = of->time / 2;
	for (size_t i = 0; i < n && of->culprit == ASSAY_NO_ROW; i++)
		if (p[i].culprit != ASSAY_NO_ROW && p[i].time > most &&
		    assay_line_key(t, p[i].stack) == assay_line_key(t, of->stack)) {
			best = p[i];
			most = best.time;
		}
	return best;
}

/* The longest; a line of the program itself stands before one that is up to four times as long and
 * all in libraries, as the compiled backward pass on its own thread is. */
static assay_cause_place foremost(const assay_tables *t, const assay_cause_place *p, size_t n)
{
	assay_cause_place best = {.stack = ASSAY_NO_ROW}, own = best;
	for (size_t i = 0; i < n; i++) {
		best = p[i].time > best.time ? p[i] : best;
		if (t->stack.own[p[i].stack] != ASSAY_NO_ROW && p[i].time > own.time)
			own = p[i];
	}
	return own.time * 4 >= best.time ? own : best;
}

assay_cause_place assay_cause_place_find(const assay_run *run, uint32_t device, int64_t from,
					 int64_t to, assay_why cause)
{
	const assay_tables *t = &run->part.t;
	const assay_gap_part_table *p = &t->gap_part;
	assay_map known = {0};
	assay_vec(assay_cause_place) sum = {0};
	const struct search s = {device, from, to, cause};
	for (size_t i = 0; i < p->n; i++) {
		if (!is_looked_for(t, &s, i))
			continue;
		assay_cause_place at = place_of(t, i);
		uint32_t *slot = assay_map_at(&known, place_key(t, &at));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) = at;
		}
		sum.p[*slot].time += p->dur[i];
	}
	assay_cause_place best = foremost(t, sum.p, sum.n);
	if (best.stack != ASSAY_NO_ROW)
		best = with_culprit(t, &best, sum.p, sum.n);
	assay_vec_free(&sum);
	assay_map_free(&known);
	if (best.stack != ASSAY_NO_ROW)
		best.sample = usual_sample(run, &s, &best);
	return best;
}

static bool has_file(const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	return !assay_is_no_file(assay_text(run, t->code.file[t->stack.code[stack]]));
}

uint32_t assay_cause_place_home(const assay_run *run, const assay_cause_place *p)
{
	bool culprit = p->culprit != ASSAY_NO_ROW &&
		       (has_file(run, p->culprit) || !has_file(run, p->stack));
	return culprit ? p->culprit : p->stack;
}

static const char *line_words(assay_arena *a, const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	return assay_fmt_place(a, assay_text(run, t->code.file[code]), t->stack.line[stack],
			       assay_text(run, t->code.function[code]));
}

const char *assay_cause_place_words(assay_arena *a, const assay_run *run,
				    const assay_cause_place *p)
{
	const assay_tables *t = &run->part.t;
	if (p->stack == ASSAY_NO_ROW)
		return NULL;
	const char *text =
		assay_printf(a, "the launching thread is at %s", line_words(a, run, p->stack));
	if (p->culprit != ASSAY_NO_ROW) {
		uint32_t track = t->sample.track[t->seen.culprit[p->sample]];
		bool child = t->track.pid[track] == t->track.tid[track];
		text = assay_printf(a, "%s; meanwhile %s %lld is at %s", text,
				    child ? "process" : "thread", (long long)t->track.tid[track],
				    line_words(a, run, p->culprit));
	}
	uint32_t library = assay_native_code(run, p->sample);
	if (library != ASSAY_NO_ROW)
		text = assay_printf(a, "%s; in %s", text, assay_native_words(a, run, library));
	if (p->sample != ASSAY_NO_ROW && t->sample.file[p->sample])
		text = assay_printf(a, "%s; about %s", text,
				    assay_fmt_safe(a, assay_text(run, t->sample.file[p->sample])));
	return text;
}

const char *assay_cause_inner_words(assay_arena *a, const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	uint32_t own = assay_own_call(t, stack);
	if (stack == ASSAY_NO_ROW || stack == own)
		return NULL;
	while (t->stack.caller[stack] != own && t->stack.caller[stack] != ASSAY_NO_ROW)
		stack = t->stack.caller[stack];
	uint32_t code = t->stack.code[stack];
	return assay_printf(a, "in %s of %s",
			    assay_fmt_safe(a, assay_text(run, t->code.function[code])),
			    assay_fmt_safe(a, assay_text(run, t->code.file[code])));
}

assay_cpu_time assay_cpu_time_of(const assay_run *run, const assay_window *w, uint32_t track)
{
	const assay_sample_table *s = &run->part.t.sample;
	assay_cpu_time sum = {0};
	for (size_t i = 0; i < s->n; i++) {
		if (s->track[i] != track || s->ts[i] < w->from || s->ts[i] >= w->to)
			continue;
		sum.cpu += s->cpu[i] > 0 ? s->cpu[i] : 0;
		sum.delay += s->delay[i] > 0 ? s->delay[i] : 0;
	}
	return sum;
}

/* ------------------------------------------------------------------ all that is done there */

void assay_place_stacks(const assay_tables *t, uint32_t own, const assay_place_time *of, bool *is)
{
	const assay_stack_table *s = &t->stack;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t at = assay_own_call(t, i), up = s->caller[i];
		is[i] = s->code[at] == s->code[own] &&
			(of->function || s->line[at] == s->line[own]);
		is[i] |= of->inner && up != ASSAY_NO_ROW && is[up]; /* a row before this one */
	}
}

/* Work of the window that was launched there; the share of all kernels' time. All of it, where most
 * of it is gradients, which other threads launch: nobody does without backward(). */
static double launched_there(const assay_run *run, const assay_window *w, const bool *is,
			     assay_place_time *out)
{
	const assay_tables *t = &run->part.t;
	int64_t all = 0, mine = 0;
	uint64_t gradients = 0;
	out->work = out->sent = 0;
	out->kernels = out->copies = out->bytes = 0;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		if (t->gpu.ts[g] < w->from || t->gpu.ts[g] >= w->to)
			continue;
		bool kernel = t->gpu.kind[g] == ASSAY_GPU_KERNEL;
		bool copy = t->gpu.kind[g] == ASSAY_GPU_MEMCPY;
		int64_t dur = t->gpu.dur[g] > 0 ? t->gpu.dur[g] : 0;
		uint32_t stack = assay_call_stack(t, t->launch.host[g]);
		all += kernel ? dur : 0;
		if (stack == ASSAY_NO_ROW || !is[stack])
			continue;
		mine += kernel ? dur : 0;
		out->kernels += kernel;
		gradients += kernel && t->api.lent[t->host.detail[t->launch.host[g]]];
		out->copies += copy;
		out->bytes += copy && t->gpu.bytes[g] > 0 ? (uint64_t)t->gpu.bytes[g] : 0;
		out->work += dur;
		if (copy &&
		    assay_copy_from_host(assay_copy_way_of(assay_text(run, t->gpu.name[g]))))
			out->sent += dur;
	}
	if (gradients * 2 > out->kernels)
		return 1;
	return all ? (double)mine / (double)all : 0;
}

static const double few = 0.25; /* of the kernels' time */

static bool can_go(const assay_run *run, const assay_window *w, uint32_t own, bool *is,
		   assay_place_time *out)
{
	assay_place_stacks(&run->part.t, own, out, is);
	return launched_there(run, w, is, out) <= few;
}

/* The largest that the program can do without: the function with what it calls, the function
 * itself, its line. */
static bool choose_extent(const assay_run *run, const assay_window *w, uint32_t own, bool *is,
			  assay_place_time *out)
{
	for (int less = 0; less < 3; less++) {
		*out = (assay_place_time){.function = less < 2, .inner = less < 1};
		if (can_go(run, w, own, is, out))
			return true;
	}
	return false;
}

static void sum_idle(const assay_tables *t, const assay_window *w, const bool *is,
		     assay_place_time *out)
{
	const assay_gap_part_table *p = &t->gap_part;
	for (size_t i = 0; i < p->n; i++)
		if (p->cause[i] >= ASSAY_WHY_LAUNCH_CALL && p->stack[i] != ASSAY_NO_ROW &&
		    inside(&t->gap, p->gap[i], w->device, w->from, w->to) && is[p->stack[i]]) {
			out->idle += p->dur[i];
			out->comm += p->cause[i] == ASSAY_WHY_HOST_COMM ? p->dur[i] : 0;
		}
}

typedef bool extent_of(const assay_run *run, const assay_window *w, uint32_t own, bool *is,
		       assay_place_time *out);

static bool time_of(const assay_run *run, const assay_window *w, uint32_t own, extent_of *choose,
		    assay_place_time *out)
{
	assay_arena scratch = {0};
	bool *is = assay_alloc(&scratch, run->part.t.stack.n + 1);
	bool found = choose(run, w, own, is, out);
	if (found)
		sum_idle(&run->part.t, w, is, out);
	assay_arena_free(&scratch);
	return found;
}

bool assay_place_time_of(const assay_run *run, const assay_window *w, uint32_t own,
			 assay_place_time *out)
{
	return time_of(run, w, own, choose_extent, out);
}

bool assay_place_call_time_of(const assay_run *run, const assay_window *w, uint32_t own,
			      assay_place_time *out)
{
	*out = (assay_place_time){.inner = true};
	return time_of(run, w, own, can_go, out);
}

/* Does an own function call a library that calls the place? */
static bool calls_by_library(const assay_tables *t, uint32_t own, uint32_t code)
{
	bool library = false;
	for (uint32_t s = t->stack.caller[own]; s != ASSAY_NO_ROW; s = t->stack.caller[s]) {
		if (library && t->stack.code[s] == code)
			return true;
		library |= t->stack.own[s] != s;
	}
	return false;
}

double assay_place_share(const assay_run *run, const assay_window *w, assay_why cause, uint32_t own)
{
	const assay_tables *t = &run->part.t;
	const assay_idle_line_table *l = &t->idle_line;
	int64_t all = 0, library = 0;
	for (size_t i = 0; i < l->n; i++) {
		uint32_t at = assay_own_call(t, l->stack[i]);
		if (l->device[i] != w->device || l->cause[i] != cause || at == ASSAY_NO_ROW)
			continue;
		all += l->dur[i];
		if (t->stack.code[at] != t->stack.code[own] &&
		    calls_by_library(t, own, t->stack.code[at]))
			library += l->dur[i];
	}
	return all ? 1 - (double)library / (double)all : 1;
}

static uint32_t hand_call(assay_run *run, uint32_t caller, const char *function, bool own)
{
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, caller, NULL, function);
	t->code.own[t->stack.code[stack]] = own;
	t->stack.own[stack] = own ? stack : caller;
	return stack;
}

static void hand_line(assay_run *run, uint32_t stack, int64_t dur)
{
	assay_idle_line_table *l = &run->part.t.idle_line;
	uint32_t row = assay_add(&run->part.t, ASSAY_T_idle_line);
	l->device[row] = 0;
	l->cause[row] = ASSAY_WHY_HOST_DATA;
	l->stack[row] = stack;
	l->dur[row] = dur;
}

TEST(what_a_library_does_around_a_place_is_no_part_of_it)
{
	assay_run *run = assay_run_new();
	assay_window w = {.device = 0};
	uint32_t train = hand_call(run, ASSAY_NO_ROW, "train", true);
	uint32_t next = hand_call(run, train, "DataLoader.__next__", false);
	uint32_t item = hand_call(run, next, "Photos.__getitem__", true);
	uint32_t crop = hand_call(run, item, "crop", true);
	hand_line(run, crop, 500);
	hand_line(run, item, 300);
	hand_line(run, train, 200); /* the loader collates */
	CHECK(assay_place_share(run, &w, ASSAY_WHY_HOST_DATA, crop) == 0.8);
	CHECK(assay_place_share(run, &w, ASSAY_WHY_HOST_DATA, item) == 0.8);
	CHECK(assay_place_share(run, &w, ASSAY_WHY_HOST_DATA, train) == 1);
	uint32_t load = hand_call(run, train, "load", true); /* no library between them */
	CHECK(assay_place_share(run, &w, ASSAY_WHY_HOST_DATA, load) == 1);
	assay_run_free(run);
	return 0;
}

TEST(a_line_of_the_program_stands_before_a_longer_one_in_libraries)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	uint32_t train = hand_call(run, ASSAY_NO_ROW, "train", true);
	uint32_t launcher = hand_call(run, ASSAY_NO_ROW, "launcher", false);
	assay_cause_place p[] = {{.stack = launcher, .time = 400}, {.stack = train, .time = 100}};
	CHECK_EQ(foremost(t, p, 2).stack, train);
	p[0].time = 401;
	CHECK_EQ(foremost(t, p, 2).stack, launcher);
	CHECK_EQ(foremost(t, p, 1).stack, launcher);
	CHECK_EQ(foremost(t, p, 0).stack, ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

TEST(who_is_waited_for_now_and_then_is_so_where_nobody_looked)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	uint32_t train = hand_call(run, ASSAY_NO_ROW, "train", true),
		 other = hand_call(run, ASSAY_NO_ROW, "other", true),
		 decode = hand_call(run, ASSAY_NO_ROW, "decode", true);
	const assay_cause_place alone = {train, ASSAY_NO_ROW, ASSAY_NO_ROW, 200};
	assay_cause_place p[] = {alone, {train, decode, 5, 101}, {other, decode, 6, 150}};
	CHECK_EQ(with_culprit(t, &alone, p, 3).culprit, decode);
	CHECK_EQ(with_culprit(t, &alone, p, 3).sample, 5);
	p[1].time = 100;
	CHECK_EQ(with_culprit(t, &alone, p, 3).culprit, ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

TEST(nobody_does_without_the_line_of_backward)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.device = 0, .to = 1000};
	assay_place_time there;
	uint32_t train = hand_call(run, ASSAY_NO_ROW, "train", true),
		 forward = hand_call(run, ASSAY_NO_ROW, "forward", true);
	for (int i = 0; i < 2; i++) {
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", i, 1);
		t->api.stack[t->host.detail[call]] = i ? forward : train;
		assay_hand_gpu(run, "kernel", 100 * i, i ? 90 : 10, call);
	}
	CHECK(assay_place_time_of(run, &w, train, &there)); /* a tenth of the work */
	t->api.lent[0] = 1;
	CHECK(!assay_place_time_of(run, &w, train, &there));
	assay_run_free(run);
	return 0;
}

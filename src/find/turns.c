/* Threads that take turns: several go through one function, and all but one stand at a line of it,
 * where a lock is taken, while that one does what the device waits for. Other waits for locks look
 * different: for work, in a queue's or a condition's own code; for the GIL, anywhere. */
#include "analyze/analyze.h"
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"

static const char id[] = "taking_turns";
static const double least = 0.05;  /* of the time, to speak of it */
static const double waiting = 0.5; /* threads, on average */

/* At a line of a function of the program. */
struct turn_wait {
	int64_t pid, time; /* ns of the window, of all threads */
	uint32_t stack;
};

struct turn_search {
	const assay_tables *t;
	const assay_find_ctx *c;
	assay_map lines; /* process and line -> turn_wait */
	assay_vec(struct turn_wait) wait;
	bool *inside; /* by row of stack: in the function, and past its lock */
};

static int64_t in_window(const assay_window *w, int64_t from, int64_t dur)
{
	int64_t to = from + dur < w->to ? from + dur : w->to;
	from = from > w->from ? from : w->from;
	return to > from ? to - from : 0;
}

static void see_sample(struct turn_search *s, uint32_t i)
{
	const assay_sample_table *p = &s->t->sample;
	uint32_t stack = p->stack[i];
	int64_t time = in_window(s->c->w, p->ts[i], p->dur[i]);
	if (s->t->seen.doing[i] != ASSAY_DOING_LOCK || stack == ASSAY_NO_ROW || !time ||
	    !s->t->code.own[s->t->stack.code[stack]])
		return;
	int64_t pid = s->t->track.pid[p->track[i]];
	uint64_t key[3] = {(uint64_t)pid, s->t->stack.code[stack],
			   (uint64_t)s->t->stack.line[stack]};
	uint32_t *slot = assay_map_at(&s->lines, assay_hash(key, sizeof key, 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->wait.n;
		*assay_push(&s->wait) = (struct turn_wait){pid, 0, stack};
	}
	s->wait.p[*slot].time += time;
}

static const struct turn_wait *most_waited(struct turn_search *s)
{
	const struct turn_wait *most = NULL;
	for (uint32_t i = 0; i < s->t->seen.n; i++)
		see_sample(s, i);
	for (size_t i = 0; i < s->wait.n; i++)
		most = !most || s->wait.p[i].time > most->time ? &s->wait.p[i] : most;
	return most;
}

/* Of a gap's parts, those in which its launching thread is inside: callers come before. */
static int64_t idle_inside(const struct turn_search *s, const struct turn_wait *wait)
{
	const assay_stack_table *k = &s->t->stack;
	const assay_gap_part_table *p = &s->t->gap_part;
	int64_t sum = 0;
	for (uint32_t i = 0; i < k->n; i++)
		s->inside[i] = k->code[i] == k->code[wait->stack]
				       ? k->line[i] != k->line[wait->stack]
				       : k->caller[i] < i && s->inside[k->caller[i]];
	for (size_t i = 0; i < p->n; i++) {
		uint32_t launch = s->t->gap.launch[p->gap[i]];
		if (p->cause[i] >= ASSAY_WHY_LAUNCH_CALL && p->stack[i] != ASSAY_NO_ROW &&
		    launch != ASSAY_NO_ROW && s->inside[p->stack[i]] &&
		    s->t->track.pid[s->t->host.track[launch]] == wait->pid &&
		    assay_gap_in_window(&s->t->gap, s->c->w, p->gap[i]))
			sum += p->dur[i];
	}
	return sum;
}

/* What the host does at that place is done by one at a time because of the lock. */
static void put_under(const assay_run *run, const assay_find_ctx *c, const struct turn_wait *wait)
{
	assay_where at = {.file = NULL};
	assay_where_in_stack(run, wait->stack, &at);
	for (assay_found *f = NULL; (f = assay_found_next(c, f));)
		if (!f->follows && !strncmp(f->id, "host_", strlen("host_")) && f->where.function &&
		    at.function && !strcmp(f->where.function, at.function))
			f->follows = id;
}

/* With the lock held for less the requests overlap: at best as many at a time as there are threads,
 * and not faster than without any wait for them. */
static void tell(const assay_run *run, const assay_find_ctx *c, const struct turn_wait *wait,
		 double threads, int64_t cost)
{
	double shared = (double)c->whole * threads / (1 + threads);
	int64_t saved = shared < (double)cost ? (int64_t)shared : cost;
	assay_found f = {
		.id = id,
		.cause = "host_lock",
		.total = cost,
		.saved = saved > 0 ? saved : 1,
		.confidence = 0.7,
		.fix = "the lock around what is shared alone (the call of the model), so that the rest of a request runs beside the others; a queue to one thread that launches"};
	f.text = assay_printf(
		c->scratch,
		"threads wait for their turn at a lock while its holder works on the host and the GPU waits: %s",
		assay_share_words(c, cost));
	assay_where_in_stack(run, wait->stack, &f.where);
	f.fact[0] = assay_printf(
		c->scratch, "on average %.1f threads stand at that line, where the lock is taken",
		threads);
	put_under(run, c, wait);
	assay_finding_add(c, &f);
}

static void find_turns(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !run->part.t.seen.n)
		return;
	struct turn_search s = {.t = &run->part.t,
				.c = c,
				.inside = assay_alloc(c->scratch, run->part.t.stack.n + 1)};
	const struct turn_wait *wait = most_waited(&s);
	double threads = wait ? (double)wait->time / (double)c->whole : 0;
	int64_t cost = threads >= waiting ? idle_inside(&s, wait) : 0;
	if (cost > 0 && (double)cost >= least * (double)c->whole)
		tell(run, c, wait, threads, cost);
	assay_map_free(&s.lines);
	assay_vec_free(&s.wait);
}

const assay_finder assay_find_turns = {.id = id, .find = find_turns};

/* What is saved of a millisecond in which a thread is at line `works` of a function for 900 us,
 * which the device waits for, and two others at line 33 of it or of another one. */
static int64_t saved_by_turns(int32_t works, bool same_function, assay_doing doing)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.device = 0, .to = 1000000};
	assay_find_ctx c = {
		.w = &w, .scratch = &scratch, .list = &list, .whole = 1000000, .now = 1000000};
	uint32_t own[] = {assay_hand_stack(run, ASSAY_NO_ROW, "server.py", "handle"),
			  assay_hand_stack(run, ASSAY_NO_ROW, "server.py",
					   same_function ? "handle" : "worker")};
	t->stack.code[own[1]] = same_function ? t->stack.code[own[0]] : t->stack.code[own[1]];
	t->stack.line[own[0]] = works;
	t->stack.line[own[1]] = 33;
	for (size_t i = 0; i < ASSAY_COUNT_OF(own); i++)
		t->code.own[t->stack.code[own[i]]] = 1;
	uint32_t inner = assay_hand_stack(run, own[0], "zlib.py", "decompress");
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_NATIVE, 0, 900000);
	t->gap.launch[gap] = assay_hand_call(run, inner, "cudaMemcpyAsync", 900000, 1000);
	t->gap_part.stack[t->gap_part.n - 1] = inner;
	for (int i = 0; i < 2; i++) {
		uint32_t look = assay_add(t, ASSAY_T_sample);
		if (t->seen.n <= look)
			assay_add(t, ASSAY_T_seen);
		t->sample.dur[look] = 1000000;
		t->sample.track[look] = t->host.track[t->gap.launch[gap]];
		t->sample.stack[look] = own[1];
		t->seen.doing[look] = (uint8_t)doing;
	}
	find_turns(run, &c);
	int64_t saved = list.found.n ? list.found.p[0].saved : 0;
	if (list.found.n && list.found.p[0].where.line != 33)
		saved = -1;
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return saved;
}

TEST(threads_at_the_lock_of_a_function_that_another_is_in_take_turns)
{
	CHECK_EQ(saved_by_turns(34, true, ASSAY_DOING_LOCK), 666666);
	CHECK_EQ(saved_by_turns(33, true, ASSAY_DOING_LOCK), 0);  /* all wait for something else */
	CHECK_EQ(saved_by_turns(34, false, ASSAY_DOING_LOCK), 0); /* for work */
	CHECK_EQ(saved_by_turns(34, true, ASSAY_DOING_GIL), 0);
	return 0;
}

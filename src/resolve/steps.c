/* Steps from what marks them: ProfilerStep on a host thread, else ranges that are named like steps,
 * else the step line that XLA draws on a device. The copies that newer Kineto puts on the GPU are
 * not steps: they span what the device did, often microseconds. */
#include "resolve/resolve.h"

#include "base/test.h"

static const char marker[] = "ProfilerStep";

/* A range is step-like when its name is one of these, but for case, digits and separators. */
static const char *const step_words[] = {
	"step",      "iteration",    "iter",     "trainstep",     "trainingstep", "trainiteration",
	"trainiter", "trainingiter", "train",    "decode",        "decodestep",   "batch",
	"stepnum",   "globalstep",   "evalstep", "inferencestep",
};

/* The name without digits, separators and case, in buf. */
static assay_str plain_name(assay_str name, char buf[32])
{
	size_t n = 0;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (c >= 'A' && c <= 'Z')
			c = (char)(c + 'a' - 'A');
		if ((c >= '0' && c <= '9') || strchr(" _-#:=.*()[]/", c))
			continue;
		if (n == 31)
			return (assay_str){0};
		buf[n++] = c;
	}
	return (assay_str){buf, n};
}

static bool step_like(assay_str name)
{
	char buf[32];
	assay_str plain = plain_name(name, buf);
	for (size_t i = 0; i < sizeof step_words / sizeof *step_words; i++)
		if (assay_str_is(plain, step_words[i]))
			return true;
	return false;
}

/* The last number in the name, or -1. */
static int64_t number_in(assay_str name)
{
	size_t end = name.n;
	while (end && (name.p[end - 1] < '0' || name.p[end - 1] > '9'))
		end--;
	size_t at = end;
	while (at && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	int64_t n;
	return assay_str_i64((assay_str){name.p + at, end - at}, &n) ? n : -1;
}

enum { PLAIN, MARKER_NAME, STEP_NAME };

/* What each interned name is: one look per name, not per row. */
static uint8_t *name_kinds(assay_run *run, assay_arena *scratch)
{
	size_t n = run->part.strings.str.n;
	uint8_t *is = assay_alloc(scratch, n + 1);
	for (uint32_t i = 1; i < n; i++) {
		assay_str name = assay_text(run, i);
		is[i] = assay_str_starts(name, marker) ? MARKER_NAME
			: step_like(name)              ? STEP_NAME
						       : PLAIN;
	}
	return is;
}

static void add_step(assay_run *run, uint32_t source, int64_t ts, int64_t dur, assay_sid name,
		     assay_step_origin origin)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_step);
	t->step.source[s] = source;
	t->step.ts[s] = ts;
	t->step.dur[s] = dur;
	t->step.name[s] = name;
	t->step.number[s] = number_in(assay_text(run, name));
	t->step.origin[s] = (uint8_t)origin;
}

static bool is_range(uint8_t kind)
{
	return kind == ASSAY_HOST_ANNOTATION || kind == ASSAY_HOST_MARKER ||
	       kind == ASSAY_HOST_PROCESS_RANGE || kind == ASSAY_HOST_OTHER;
}

static void add_host_steps(assay_run *run, const uint8_t *is, uint8_t wanted)
{
	const assay_host_table *h = &run->part.t.host;
	for (uint32_t i = 0; i < h->n; i++) {
		if (is[h->name[i]] != wanted || h->kind[i] == ASSAY_HOST_INSTANT)
			continue;
		if (wanted == STEP_NAME && (!is_range(h->kind[i]) || h->dur[i] <= 0))
			continue;
		add_step(run, assay_group_of(&run->part.t, run->part.t.track.source[h->track[i]]),
			 h->ts[i], h->dur[i], h->name[i],
			 wanted == STEP_NAME ? ASSAY_STEP_RANGE : ASSAY_STEP_MARKER);
	}
}

/* Ranges named like steps that overlap (batches inside a step) do not say which one is meant:
 * keep the outermost of each source. */
static void drop_inner_steps(assay_step_table *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n; i++) {
		bool inner = false;
		for (size_t k = 0; k < s->n && !inner; k++)
			inner = k != i && s->source[k] == s->source[i] && s->ts[k] <= s->ts[i] &&
				s->ts[k] + s->dur[k] >= s->ts[i] + s->dur[i] &&
				(s->dur[k] > s->dur[i] || k < i);
		if (inner)
			continue;
		s->source[kept] = s->source[i];
		s->ts[kept] = s->ts[i];
		s->dur[kept] = s->dur[i];
		s->number[kept] = s->number[i];
		s->name[kept] = s->name[i];
		s->origin[kept++] = s->origin[i];
	}
	s->n = kept;
}

static void add_device_steps(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_sid line = assay_pool_find(&run->part.strings, ASSAY_S("Steps"));
	for (size_t i = 0; line && i < t->mark.n; i++)
		if (t->track.name[t->mark.track[i]] == line)
			add_step(run, assay_group_of(t, t->track.source[t->mark.track[i]]),
				 t->mark.ts[i], t->mark.dur[i], t->mark.name[i], ASSAY_STEP_DEVICE);
}

enum { MANY = 4096 }; /* step-like ranges; more than these are something else */

void assay_find_steps(assay_run *run)
{
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	const uint8_t *is = name_kinds(run, &scratch);
	add_host_steps(run, is, MARKER_NAME);
	if (!t->step.n)
		add_host_steps(run, is, STEP_NAME);
	if (t->step.n && t->step.origin[0] == ASSAY_STEP_RANGE && t->step.n <= MANY)
		drop_inner_steps(&t->step);
	if (t->step.n > MANY && t->step.origin[0] == ASSAY_STEP_RANGE)
		t->step.n = 0;
	if (t->step.n && t->step.n < 2 && t->step.origin[0] == ASSAY_STEP_RANGE)
		t->step.n = 0; /* one range is the whole run, not a step of it */
	if (!t->step.n)
		add_device_steps(run);
	assay_arena_free(&scratch);
}

TEST(steps_carry_their_number)
{
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep#17")), 17);
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep*")), -1);
	CHECK_EQ(number_in(ASSAY_S("ProfilerStep#")), -1);
	CHECK_EQ(number_in(ASSAY_S("epoch 2 step 31 (warm)")), 31);
	return 0;
}

TEST(step_like_names_are_whole_names)
{
	CHECK(step_like(ASSAY_S("step 12")) && step_like(ASSAY_S("Train_Step#3")));
	CHECK(step_like(ASSAY_S("iteration: 7")) && step_like(ASSAY_S("step")));
	CHECK(!step_like(ASSAY_S("Optimizer.step#AdamW.step")) && !step_like(ASSAY_S("stepper")));
	CHECK(!step_like(ASSAY_S("forward")) && !step_like(ASSAY_S("")));
	return 0;
}

static void add_range(assay_run *run, assay_host_kind kind, const char *name, int64_t ts,
		      int64_t dur)
{
	assay_tables *t = &run->part.t;
	uint32_t h = assay_add(t, ASSAY_T_host);
	t->host.kind[h] = (uint8_t)kind;
	t->host.name[h] = assay_sid_of(run, name);
	t->host.ts[h] = ts;
	t->host.dur[h] = dur;
	t->host.track[h] = assay_thread_track(&run->part, 1, 1);
}

TEST(markers_win_and_inner_ranges_are_no_steps)
{
	assay_run *run = assay_run_new();
	add_range(run, ASSAY_HOST_MARKER, "step 1", 0, 100);
	add_range(run, ASSAY_HOST_MARKER, "batch 0", 10, 20);
	add_range(run, ASSAY_HOST_MARKER, "step 2", 100, 100);
	add_range(run, ASSAY_HOST_OP, "step 3", 200, 100); /* an operator is no range */
	assay_find_steps(run);
	CHECK_EQ(run->part.t.step.n, 2);
	CHECK(run->part.t.step.number[1] == 2 && run->part.t.step.origin[1] == ASSAY_STEP_RANGE);
	run->part.t.step.n = 0;
	add_range(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#9", 300, 10);
	assay_find_steps(run);
	CHECK(run->part.t.step.n == 1 && run->part.t.step.origin[0] == ASSAY_STEP_MARKER);
	assay_run_free(run);
	return 0;
}

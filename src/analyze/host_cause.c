/* The table of names and kinds, and a stack for each cause. */
#include "analyze/host_cause.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/calls.h"
#include "names/words.h"

enum { NO_CAUSE = ASSAY_WHY_COUNT };

static const uint8_t cause_of_kind[ASSAY_HOST_KIND_COUNT] = {
	[ASSAY_HOST_OP] = ASSAY_WHY_HOST_OP,
	[ASSAY_HOST_ANNOTATION] = ASSAY_WHY_HOST_UNTRACED, /* a name for time, not work */
	[ASSAY_HOST_RUNTIME] = ASSAY_WHY_HOST_RUNTIME,
	[ASSAY_HOST_DRIVER] = ASSAY_WHY_HOST_RUNTIME,
	[ASSAY_HOST_PYTHON] = ASSAY_WHY_HOST_PYTHON,
	[ASSAY_HOST_OVERHEAD] = NO_CAUSE,
	[ASSAY_HOST_INSTANT] = NO_CAUSE,
	[ASSAY_HOST_MARKER] = ASSAY_WHY_HOST_UNTRACED,
	[ASSAY_HOST_OTHER] = NO_CAUSE,
	[ASSAY_HOST_PROCESS_RANGE] = NO_CAUSE,
};

/* What is asked of a name depends on the kind of its row. */
enum { AS_CALL, AS_RANGE, AS_FRAME, AS_NOTHING };
static const uint8_t read_as[ASSAY_HOST_KIND_COUNT] = {
	[ASSAY_HOST_OP] = AS_RANGE,        [ASSAY_HOST_ANNOTATION] = AS_RANGE,
	[ASSAY_HOST_RUNTIME] = AS_CALL,    [ASSAY_HOST_DRIVER] = AS_CALL,
	[ASSAY_HOST_PYTHON] = AS_FRAME,    [ASSAY_HOST_OVERHEAD] = AS_NOTHING,
	[ASSAY_HOST_INSTANT] = AS_NOTHING, [ASSAY_HOST_MARKER] = AS_RANGE,
	[ASSAY_HOST_OTHER] = AS_NOTHING,   [ASSAY_HOST_PROCESS_RANGE] = AS_NOTHING,
};

/* Ranges that PyTorch's emit_nvtx puts around operators: "aten::mm, seq = 5, op_id = 9". */
static bool is_operator(assay_str name)
{
	return assay_str_starts(name, "aten::") || assay_str_find(name, ", op_id = ") >= 0;
}

/* The cause that a name gives its row, whatever its kind; NO_CAUSE: none. */
static uint8_t name_cause(assay_str name, int as)
{
	if (as == AS_CALL)
		return assay_call_is_wait(assay_call_meaning_of(name.p, name.n))
			       ? ASSAY_WHY_HOST_SYNC
			       : NO_CAUSE;
	assay_word word = as == AS_RANGE ? assay_word_of(name) : assay_word_of_frame(name);
	return word == ASSAY_WORD_DATA                        ? ASSAY_WHY_HOST_DATA
	       : word == ASSAY_WORD_DEVICE_VALUE              ? ASSAY_WHY_HOST_SYNC
	       : word == ASSAY_WORD_COMPILE && as == AS_RANGE ? ASSAY_WHY_HOST_COMPILE
	       : as == AS_RANGE && is_operator(name)          ? ASSAY_WHY_HOST_OP
							      : NO_CAUSE;
}

static uint8_t row_cause(assay_host_causes *c, uint32_t h)
{
	const assay_host_table *host = &c->run->part.t.host;
	uint8_t kind = host->kind[h];
	int as = read_as[kind];
	if (as == AS_NOTHING)
		return cause_of_kind[kind];
	uint8_t *known = &c->of_name[(size_t)host->name[h] * AS_NOTHING + (size_t)as];
	if (!*known)
		*known = (uint8_t)(name_cause(assay_text(c->run, host->name[h]), as) + 1);
	return *known == NO_CAUSE + 1 ? cause_of_kind[kind] : (uint8_t)(*known - 1);
}

assay_why assay_host_row_cause(const assay_run *run, uint32_t host)
{
	const assay_host_table *h = &run->part.t.host;
	uint8_t kind = h->kind[host], cause = NO_CAUSE;
	if (read_as[kind] != AS_NOTHING)
		cause = name_cause(assay_text(run, h->name[host]), read_as[kind]);
	cause = cause == NO_CAUSE ? cause_of_kind[kind] : cause;
	return cause == NO_CAUSE ? ASSAY_WHY_HOST_UNTRACED : (assay_why)cause;
}

/* Calls that may wait did so when the resolver found what they waited for. */
static void mark_waits(assay_host_causes *c)
{
	const assay_wait_table *w = &c->run->part.t.wait;
	for (size_t i = 0; i < w->n; i++)
		if (w->host[i] != ASSAY_NO_ROW && w->consumer[i] == ASSAY_NO_ROW &&
		    c->cause[w->host[i]] == ASSAY_WHY_HOST_RUNTIME && w->delayed[i] > 0)
			c->cause[w->host[i]] = ASSAY_WHY_HOST_SYNC;
}

/* Rows lie on a stack for each cause; the lower is asked first. They are in the order of causes,
 * but that operators inside a compilation are part of it. */
enum {
	OP_LEVEL = ASSAY_WHY_HOST_OP - ASSAY_HOST_CAUSE_FIRST,
	COMPILE_LEVEL = ASSAY_WHY_HOST_COMPILE - ASSAY_HOST_CAUSE_FIRST,
};

static int level_of(int cause)
{
	int level = cause - ASSAY_HOST_CAUSE_FIRST;
	return level == COMPILE_LEVEL                       ? OP_LEVEL
	       : level >= OP_LEVEL && level < COMPILE_LEVEL ? level + 1
							    : level;
}

static assay_why cause_at(int level)
{
	int k = level == OP_LEVEL                            ? COMPILE_LEVEL
		: level > OP_LEVEL && level <= COMPILE_LEVEL ? level - 1
							     : level;
	return (assay_why)(ASSAY_HOST_CAUSE_FIRST + k);
}

/* The innermost row of a cause after those that have ended by `now` are gone; NULL: none. */
static const assay_open_row *open_row(assay_lane *lane, int k, int64_t now)
{
	size_t n = lane->open[k].n;
	while (n && lane->open[k].p[n - 1].end <= now)
		n--;
	lane->open[k].n = n;
	return n ? &lane->open[k].p[n - 1] : NULL;
}

/* Rows that have begun by `now`, and not ended, go on the stack of their cause; on top is the
 * innermost one. */
static void lane_begin(const assay_host_causes *c, assay_lane *lane, int64_t now)
{
	const assay_host_table *host = &c->run->part.t.host;
	for (; lane->next < lane->n && host->ts[lane->row[lane->next]] <= now; lane->next++) {
		uint32_t h = lane->row[lane->next];
		int64_t end = assay_host_end(host, h);
		if (end <= now)
			continue;
		int k = level_of(c->cause[h]);
		open_row(lane, k, now);
		*assay_push(&lane->open[k]) = (assay_open_row){end, h};
		lane->live |= 1U << k;
	}
}

assay_why assay_lane_at(const assay_host_causes *c, assay_lane *lane, int64_t now, uint32_t *row,
			int64_t *until)
{
	const assay_host_table *host = &c->run->part.t.host;
	lane_begin(c, lane, now);
	*row = ASSAY_NO_ROW;
	*until = lane->next < lane->n ? host->ts[lane->row[lane->next]] : INT64_MAX;
	for (; lane->live; lane->live &= lane->live - 1) {
		int k = __builtin_ctz(lane->live);
		const assay_open_row *open = open_row(lane, k, now);
		if (!open)
			continue;
		*row = open->row;
		*until = open->end < *until ? open->end : *until;
		return cause_at(k);
	}
	return ASSAY_WHY_HOST_UNTRACED;
}

assay_lane *assay_lane_fork(const assay_lane *lane, assay_arena *a)
{
	assay_lane *own = assay_alloc(a, sizeof *own);
	own->row = lane->row;
	own->n = lane->n;
	return own;
}

void assay_lane_free(assay_lane *lane)
{
	for (int k = 0; lane && k < ASSAY_HOST_CAUSE_COUNT; k++)
		assay_vec_free(&lane->open[k]);
}

void assay_lane_rewind(assay_lane *lane)
{
	lane->next = 0;
	lane->live = 0;
	for (int k = 0; k < ASSAY_HOST_CAUSE_COUNT; k++)
		lane->open[k].n = 0;
}

void assay_host_causes_init(assay_host_causes *c, const assay_run *run)
{
	*c = (assay_host_causes){.run = run, .since = INT64_MIN, .until = INT64_MAX};
	c->of_track = assay_alloc(&c->scratch, (run->part.t.track.n + 1) * sizeof *c->of_track);
}

void assay_host_causes_want(assay_host_causes *c, uint32_t track)
{
	if (!c->of_track[track])
		c->of_track[track] = assay_alloc(&c->scratch, sizeof **c->of_track);
}

/* Two passes over host: count, then place. */
void assay_host_causes_fill(assay_host_causes *c)
{
	const assay_tables *t = &c->run->part.t;
	c->of_name = assay_alloc(&c->scratch, (c->run->part.strings.str.n + 1) * AS_NOTHING);
	c->cause = assay_alloc(&c->scratch, t->host.n + 1);
	for (uint32_t h = 0; h < t->host.n; h++) {
		assay_lane *lane = c->of_track[t->host.track[h]];
		bool out = !lane || t->host.ts[h] > c->until ||
			   (c->since != INT64_MIN && assay_host_end(&t->host, h) < c->since);
		c->cause[h] = out ? NO_CAUSE : row_cause(c, h);
		if (c->cause[h] != NO_CAUSE)
			lane->n++;
	}
	mark_waits(c);
	for (size_t i = 0; i < t->track.n; i++)
		if (c->of_track[i])
			c->of_track[i]->row = assay_alloc(&c->scratch, (c->of_track[i]->n + 1) *
									       sizeof(uint32_t));
	for (uint32_t h = 0; h < t->host.n; h++)
		if (c->cause[h] != NO_CAUSE) {
			assay_lane *lane = c->of_track[t->host.track[h]];
			lane->row[lane->next++] = h;
		}
	for (size_t i = 0; i < t->track.n; i++)
		if (c->of_track[i]) {
			assay_sort_rows(c->of_track[i]->row, c->of_track[i]->n, t->host.ts);
			assay_lane_rewind(c->of_track[i]);
		}
}

void assay_host_causes_free(assay_host_causes *c)
{
	for (size_t i = 0; i < c->run->part.t.track.n; i++)
		assay_lane_free(c->of_track[i]);
	assay_arena_free(&c->scratch);
}

TEST(ranges_around_operators_are_work_and_others_a_name_for_time)
{
	static const struct {
		const char *name;
		uint8_t cause;
	} of[] = {
		{"aten::addmm, seq = 5, op_id = 9", ASSAY_WHY_HOST_OP},
		{"autograd::engine::evaluate_function: MulBackward0, op_id = 4", ASSAY_WHY_HOST_OP},
		{"forward", ASSAY_WHY_HOST_UNTRACED},
		{"DataLoader.next", ASSAY_WHY_HOST_DATA},
	};
	assay_run *run = assay_run_new();
	assay_host_causes c;
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		assay_hand_host(run, ASSAY_HOST_MARKER, of[i].name, (int64_t)i * 10, 5);
	assay_host_causes_init(&c, run);
	assay_host_causes_want(&c, run->part.t.host.track[0]);
	assay_host_causes_fill(&c);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		CHECK_EQ(c.cause[i], of[i].cause);
	assay_host_causes_free(&c);
	assay_run_free(run);
	return 0;
}

TEST(operators_inside_a_compilation_are_part_of_it)
{
	static const struct {
		int64_t at;
		uint8_t cause;
	} of[] = {{5, ASSAY_WHY_HOST_OP},
		  {15, ASSAY_WHY_HOST_COMPILE},
		  {25, ASSAY_WHY_HOST_COMPILE},
		  {45, ASSAY_WHY_HOST_OP}};
	assay_run *run = assay_run_new();
	assay_host_causes c;
	uint32_t row;
	int64_t until;
	assay_hand_host(run, ASSAY_HOST_OP, "Torch-Compiled Region: 0/1", 0, 50);
	assay_hand_host(run, ASSAY_HOST_OP, "build_guards (dynamo_timed)", 10, 30);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::empty", 20, 10);
	assay_host_causes_init(&c, run);
	assay_host_causes_want(&c, run->part.t.host.track[0]);
	assay_host_causes_fill(&c);
	assay_lane *lane = c.of_track[run->part.t.host.track[0]];
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		CHECK_EQ(assay_lane_at(&c, lane, of[i].at, &row, &until), of[i].cause);
	assay_host_causes_free(&c);
	assay_run_free(run);
	return 0;
}

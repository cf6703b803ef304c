#include "find/idle_sync.h"

#include "analyze/idle_lines.h"
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/blocking.h"
#include "find/own_frames.h"
#include "names/copies.h"
#include "path/graph.h"

bool assay_idle_weigh_drained(const assay_find_ctx *c, assay_idle_cost *cost)
{
	double share;
	int64_t *now = &cost->total[ASSAY_WHY_HOST_SYNC], most = cost->total[ASSAY_IDLE_DRAINED];
	if (most <= *now || !cost->steady[ASSAY_IDLE_DRAINED] ||
	    !assay_find_without(c, "host_sync=0", &share))
		return false;
	int64_t saved = (int64_t)(share * (double)c->whole);
	saved = saved < most ? saved : most;
	if (saved <= *now)
		return false;
	*now = saved;
	cost->steps[ASSAY_WHY_HOST_SYNC] = cost->steps[ASSAY_IDLE_DRAINED];
	cost->steady[ASSAY_WHY_HOST_SYNC] = true;
	return true;
}

uint32_t assay_idle_drained_where(const assay_run *run, const assay_find_ctx *c,
				  const assay_idle_cost *cost, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	assay_idle_tally tally = {0};
	char count[ASSAY_FMT];
	for (size_t i = 0; i < t->gap.n; i++) {
		uint32_t row = t->gap.opened[i];
		if (row == ASSAY_NO_ROW || !assay_gap_in_window(&t->gap, c->w, i))
			continue;
		uint32_t own = assay_own_call(t, assay_call_stack(t, row));
		uint32_t frame = assay_own_frame_of(run, c, row);
		uint64_t key[3] = {t->host.name[row], assay_line_key(t, own),
				   frame == ASSAY_NO_ROW ? 0 : t->host.name[frame]};
		assay_idle_name one = {t->host.name[row], row, t->gap.dur[i]};
		assay_idle_tally_add(&tally, assay_hash(key, sizeof key, 0), one);
	}
	assay_idle_name best = assay_idle_tally_end(&tally);
	if (!best.name)
		return ASSAY_NO_ROW;
	uint32_t own = assay_own_call(t, assay_call_stack(t, best.row));
	f->where = assay_idle_where(run, c->scratch, &best);
	assay_own_line_of(run, c, best.row, &f->where);
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(run, own, &f->where);
	f->fact[0] = assay_printf(c->scratch, "%s gaps begin while the host waits in %s",
				  assay_fmt_count(count, cost->gaps[ASSAY_IDLE_DRAINED]),
				  assay_idle_spell(run, c->scratch, best.name));
	return own;
}

bool assay_idle_is_short_of_launches(const assay_find_ctx *c, const assay_idle_cost *cost,
				     int cause)
{
	enum { OFTEN = 16 }; /* pieces of work */
	bool of_launching = cause == ASSAY_WHY_LAUNCH_CALL || cause == ASSAY_WHY_LAUNCH_LATENCY ||
			    (assay_why_is_host(cause) && cause != ASSAY_WHY_HOST_SYNC);
	return of_launching && cost->steady[ASSAY_IDLE_DRAINED] &&
	       cost->gaps[ASSAY_IDLE_DRAINED] * OFTEN >= assay_window_events(c->w) &&
	       assay_idle_is_short(cost, cause);
}

bool assay_idle_reads_back_much(const assay_run *run, const assay_find_ctx *c,
				const assay_idle_cost *cost)
{
	assay_gone_operators told;
	double share;
	return c->steps && cost->steady[ASSAY_IDLE_DRAINED] && !run->part.t.stack.n && c->worth &&
	       assay_worth_without_operators(c->worth, ASSAY_OPERATORS_READ, &told, &share) &&
	       share >= assay_sync_holds_back;
}

/* The finding is about these operators, or calls that only wait, from now on. */
static void tell_read_backs(const assay_run *run, const assay_find_ctx *c,
			    const assay_gone_operators *told, assay_found *f)
{
	char count[ASSAY_FMT], time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t steps = (uint64_t)each.steps;
	f->total = f->saved;
	f->dense = assay_blocking_is_dense(&(assay_blocking){.all = told->waits}, c->w);
	f->text = assay_printf(
		c->scratch,
		told->only_waits
			? "calls that only wait for the device take %s: the host launches late"
			: "operators that read values back take %s: the host waits for them and launches late",
		assay_share_words(c, f->saved));
	f->fix = told->only_waits ? assay_timer_fix : f->fix;
	f->where.op = assay_dup(c->scratch, assay_text(run, told->name));
	assay_found_add_fact(
		f,
		assay_printf(
			c->scratch,
			told->only_waits
				? "%s calls%s wait, %s for longest: they, and the way to them and back, take %s%s"
				: "%s operators%s read values back, %s for longest: all that they do, and what only makes the values, takes %s%s",
			assay_fmt_count(count, (told->times + steps / 2) / steps), each.words,
			assay_fmt_safe(c->scratch, assay_text(run, told->name)),
			assay_fmt_time(time, f->saved / each.steps), each.words));
}

static void weigh_reads(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	assay_gone_operators told;
	double share;
	assay_per_step each = assay_per_step_of(c, false);
	char time[ASSAY_FMT];
	if (f->once || !c->worth ||
	    !assay_worth_without_operators(c->worth, ASSAY_OPERATORS_READ, &told, &share))
		return;
	int64_t saved = (int64_t)(share * (double)c->whole);
	if (saved <= f->total || saved <= f->saved)
		return;
	f->saved = saved;
	f->replayed = true;
	if (f->where.file)
		assay_found_add_fact(
			f,
			assay_printf(
				c->scratch,
				"without them, and what only makes the values they read, %s%s less",
				assay_fmt_time(time, saved / each.steps), each.words));
	else
		tell_read_backs(run, c, &told, f);
}

static const char rounds_fix[] =
	"one operator for all rounds (batched tensors, torch._foreach_*, or a kernel for it such as torchvision.ops.nms), so that no round asks the device; at least read once behind the loop";

/* Rounds that each do little and read a value could be one call for all of them; without the reads
 * alone their launches remain. */
static void weigh_rounds(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	assay_gone_operators told;
	double share;
	char count[ASSAY_FMT], time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t steps = (uint64_t)each.steps;
	int64_t reads = f->saved > f->total ? f->saved : f->total;
	if (f->once || !c->worth ||
	    !assay_worth_without_operators(c->worth, ASSAY_OPERATORS_ROUNDS_READ, &told, &share))
		return;
	int64_t saved = (int64_t)(share * (double)c->whole);
	if (saved / 6 * 5 <= reads)
		return;
	f->least = reads;
	f->saved = f->most = saved;
	f->replayed = true;
	f->fix = rounds_fix;
	assay_fmt_count(count, (told.times + steps / 2) / steps);
	if (f->where.file) {
		assay_found_add_fact(
			f, assay_printf(c->scratch,
					"%s rounds%s of a loop each read a value: they take %s%s",
					count, each.words, assay_fmt_time(time, saved / each.steps),
					each.words));
		return;
	}
	f->total = saved;
	f->where.op = assay_dup(c->scratch, assay_text(run, told.name));
	f->text = assay_printf(c->scratch,
			       "a loop that reads a value back in each of %s rounds%s takes %s",
			       count, each.words, assay_share_words(c, saved));
}

void assay_idle_weigh_read_backs(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	weigh_reads(run, c, f);
	weigh_rounds(run, c, f);
}

/* A place that waits again and again for copies of little, and launches next to nothing else. */
static bool call_small_copies(const assay_find_ctx *c, const assay_place_time *there,
			      assay_found *f)
{
	assay_per_step each = assay_per_step_of(c, false);
	uint64_t steps = (uint64_t)each.steps;
	char count[ASSAY_FMT], bytes[ASSAY_FMT];
	if (there->kernels * ASSAY_MANY_COPIES > there->copies ||
	    there->copies < ASSAY_MANY_COPIES * steps ||
	    there->bytes >= there->copies * (uint64_t)ASSAY_SMALL_COPY)
		return false;
	f->cause = "small_copies";
	f->fix = assay_small_copies_fix;
	assay_found_add_fact(f,
			     assay_printf(c->scratch, "%s copies%s from there, of %s in the mean",
					  assay_fmt_count(count, there->copies / steps), each.words,
					  assay_fmt_bytes(bytes, there->bytes / there->copies)));
	return true;
}

void assay_idle_sync_tell(const assay_run *run, const assay_find_ctx *c, bool drained,
			  assay_idle_named *n)
{
	bool small = drained && n->leads && call_small_copies(c, &n->there, &n->found);
	if (small || n->at == ASSAY_NO_ROW || n->found.follows)
		return;
	n->leads &= !assay_blocking_tell(run, c, n->at, &n->found);
	if (n->leads)
		weigh_rounds(run, c, &n->found);
	else
		assay_idle_weigh_read_backs(run, c, &n->found);
}

TEST(launches_are_short_where_the_device_drains_often_and_waits_for_them_briefly)
{
	static const struct {
		int cause;
		bool steady;
		uint64_t drained, events;
		int64_t mean;
		bool is;
	} cases[] = {{ASSAY_WHY_LAUNCH_CALL, true, 10, 160, 50000, true},
		     {ASSAY_WHY_LAUNCH_LATENCY, true, 10, 160, 50000, true},
		     {ASSAY_WHY_HOST_PYTHON, true, 10, 160, 50000, true},
		     {ASSAY_WHY_HOST_SYNC, true, 10, 160, 50000, false},
		     {ASSAY_WHY_QUEUED, true, 10, 160, 50000, false},
		     {ASSAY_WHY_LAUNCH_CALL, false, 10, 160, 50000, false},
		     {ASSAY_WHY_LAUNCH_CALL, true, 10, 161, 50000, false},
		     {ASSAY_WHY_LAUNCH_CALL, true, 10, 160, ASSAY_SHORT_GAP, false}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_window w = {.events = {cases[i].events}};
		assay_find_ctx c = {.w = &w};
		assay_idle_cost cost = {.steady[ASSAY_IDLE_DRAINED] = cases[i].steady,
					.gaps[ASSAY_IDLE_DRAINED] = cases[i].drained};
		cost.gaps[cases[i].cause] = 4;
		cost.total[cases[i].cause] = 4 * cases[i].mean;
		CHECK_EQ(assay_idle_is_short_of_launches(&c, &cost, cases[i].cause), cases[i].is);
	}
	return 0;
}

TEST(many_copies_of_little_and_next_to_nothing_else_are_small_copies)
{
	assay_arena scratch = {0};
	assay_find_ctx c = {.steps = 10, .scratch = &scratch};
	static const struct {
		uint64_t kernels, copies, bytes;
		bool small;
	} cases[] = {{0, 1800, 1800 << 14, true},
		     {10, 1800, 1800 << 14, true}, /* what puts them together */
		     {300, 1800, 1800 << 14, false},
		     {0, 70, 70 << 14, false},
		     {0, 1800, 1800ull << 20, false}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_place_time there = {.kernels = cases[i].kernels,
					  .copies = cases[i].copies,
					  .bytes = cases[i].bytes};
		assay_found f = {.fix = "usual"};
		CHECK_EQ(call_small_copies(&c, &there, &f), cases[i].small);
		CHECK_EQ(f.fix == assay_small_copies_fix, cases[i].small);
	}
	assay_arena_free(&scratch);
	return 0;
}

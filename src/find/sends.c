/* Little that is sent to the device, bit by bit. Of recordings without stacks: with them the line
 * that does it is known, and what it waits for is a finding there. */
#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "find/finding.h"
#include "find/own_frames.h"
#include "names/copies.h"
#include "path/graph.h"

const char assay_small_copies_fix[] =
	"one copy for all of them: pack what belongs together, from pinned memory, with non_blocking=True";

static const double least = 0.05; /* of the time */

/* What the device does and waits for with such copies. */
struct sends {
	int64_t gap[ASSAY_WHY_COUNT],
		gaps;   /* ns of gaps that end with one, by cause; of all causes */
	int64_t copies; /* ns of themselves */
	uint32_t first; /* row of gpu */
};

static bool is_small_send(const assay_run *run, uint32_t gpu)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	return g->kind[gpu] == ASSAY_GPU_MEMCPY && g->bytes[gpu] < ASSAY_SMALL_COPY &&
	       assay_copy_from_host(assay_copy_way_of(assay_text(run, g->name[gpu])));
}

static struct sends sum_sends(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	struct sends s = {.first = ASSAY_NO_ROW};
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		if (t->gpu.ts[i] < c->w->from || t->gpu.ts[i] >= c->w->to || !is_small_send(run, i))
			continue;
		s.copies += t->gpu.dur[i];
		s.first = s.first == ASSAY_NO_ROW ? i : s.first;
	}
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (!assay_gap_in_window(&t->gap, c->w, gap) ||
		    !is_small_send(run, t->gap.gpu[gap]))
			continue;
		s.gap[t->gap_part.cause[i]] += t->gap_part.dur[i];
		s.gaps += t->gap_part.dur[i];
	}
	return s;
}

/* Is a finding about little but these copies? */
static bool is_of_sends(const assay_find_ctx *c, const struct sends *s, const assay_found *f)
{
	if (!strcmp(f->id, "launch_bound"))
		return s->gaps * 2 > f->total;
	if (!strcmp(f->id, "exposed_copy"))
		return s->copies * 2 > c->w->copy;
	for (int k = 0; k < ASSAY_WHY_COUNT; k++)
		if (!strcmp(f->id, assay_why_name[k]))
			return s->gap[k] * 2 > c->w->cause[k];
	return false;
}

static void tell_sends(const assay_run *run, const assay_find_ctx *c,
		       const assay_gone_operators *told, int64_t saved)
{
	char count[ASSAY_FMT], bytes[ASSAY_FMT];
	struct sends s = sum_sends(run, c);
	assay_per_step each = assay_per_step_of(c, false);
	assay_found f = {.id = "small_copies",
			 .cause = "small_copies",
			 .fix = assay_small_copies_fix,
			 .total = saved,
			 .saved = saved,
			 .replayed = true,
			 .confidence = 0.8};
	f.text =
		assay_printf(c->scratch, "copies to the device of little each, one by one, take %s",
			     assay_share_words(c, saved));
	f.where.op = assay_dup(c->scratch, assay_text(run, told->name));
	if (c->frames && s.first != ASSAY_NO_ROW)
		assay_own_line_of_work(run, c, s.first, &f.where);
	f.fact[0] =
		assay_printf(c->scratch, "%s copies%s, of %s in the mean",
			     assay_fmt_count(count, told->times / (uint64_t)each.steps), each.words,
			     assay_fmt_bytes(bytes, (double)told->bytes / (double)told->times));
	for (assay_found *other = NULL; (other = assay_found_next(c, other));)
		if (!other->follows && is_of_sends(c, &s, other))
			other->follows = f.id;
	assay_finding_add(c, &f);
}

static void find_sends(const assay_run *run, const assay_find_ctx *c)
{
	assay_gone_operators told;
	double share;
	if (!c->steps || !c->worth || run->part.t.stack.n ||
	    !assay_worth_without_operators(c->worth, ASSAY_OPERATORS_SEND_BIT, &told, &share) ||
	    share < least || told.times < ASSAY_MANY_COPIES * c->steps)
		return;
	/* one copy stays */
	double gone = 1 - (double)c->steps / (double)told.times;
	tell_sends(run, c, &told, (int64_t)(gone * share * (double)c->whole));
}

const assay_finder assay_find_sends = {.id = "sends", .find = find_sends};

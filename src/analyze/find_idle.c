/* Why the device waits, cause by cause: what each costs, whether every step pays it, and where. */
#include <stdlib.h>

#include "analyze/blocking.h"
#include "analyze/cause_place.h"
#include "analyze/detour.h"
#include "analyze/finding.h"
#include "analyze/first_shapes.h"
#include "analyze/idle_lines.h"
#include "analyze/idle_named.h"
#include "analyze/idle_where.h"
#include "analyze/lock_turns.h"
#include "analyze/own_frames.h"
#include "analyze/path_graph.h"
#include "analyze/unnamed.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/native.h"
#include "names/calls.h"
#include "names/words.h"

/* Unrecorded time under a range that is a collective of a host backend is known after all. */
static const char host_collective_phrase[] = "while a collective runs on the host";
static const char host_collective_advice[] =
	"use the GPU's own backend (nccl, rccl); look for the rank that comes late";

static const char first_use_phrase[] =
	"while the runtime sets itself up (first use of a library or of code)";

/* ------------------------------------------------------------------ steps */

/* Ends of the steady steps on the device: a step reaches from the end of the one before it. */
static size_t step_ends(const assay_run *run, const assay_find_ctx *c, int64_t **out)
{
	const assay_step_time_table *t = &run->part.t.step_time;
	int64_t *end = assay_alloc(c->scratch, (t->n + 1) * sizeof *end);
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		int64_t to = t->start[i] + t->span[i];
		if (t->device[i] == c->w->device && to > c->w->from && to <= c->w->to)
			end[n++] = to;
	}
	assay_sort_i64(end, n);
	*out = end;
	return n;
}

/* The causes, and gaps that began while the host stood in a blocking call: whole, whatever came
 * behind the call. */
enum { DRAINED = ASSAY_WHY_COUNT, KINDS };

struct idle {
	int64_t total[KINDS];
	uint64_t gaps[KINDS];
	size_t steps[KINDS]; /* that have a fair part of it: a fifth of the mean */
	bool steady[KINDS];  /* half of the steps do */
};

static void count_steps(const assay_find_ctx *c, size_t n, int64_t (*sum)[KINDS], struct idle *idle)
{
	for (int k = 0; k < KINDS; k++) {
		for (size_t i = 0; i < n; i++)
			idle->steps[k] += sum[i][k] * 5 * (int64_t)n > idle->total[k];
		idle->steady[k] = c->steps && idle->steps[k] * 2 >= n;
	}
}

static void measure(const assay_run *run, const assay_find_ctx *c, struct idle *idle)
{
	const assay_tables *t = &run->part.t;
	int64_t *end;
	size_t n = step_ends(run, c, &end), step = 0;
	int64_t(*sum)[KINDS] = assay_alloc(c->scratch, (n + 1) * sizeof *sum);
	uint32_t last = ASSAY_NO_ROW;
	*idle = (struct idle){.total = {0}};
	memcpy(idle->total, c->w->cause, sizeof c->w->cause);
	memcpy(idle->gaps, c->w->gaps, sizeof c->w->gaps);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (!assay_gap_in_window(&t->gap, c->w, gap))
			continue;
		while (step < n && t->gap.ts[gap] >= end[step])
			step++;
		sum[step][t->gap_part.cause[i]] += t->gap_part.dur[i];
		if (t->gap.opened[gap] == ASSAY_NO_ROW)
			continue;
		sum[step][DRAINED] += t->gap_part.dur[i];
		idle->total[DRAINED] += t->gap_part.dur[i];
		idle->gaps[DRAINED] += gap != last;
		last = gap;
	}
	count_steps(c, n, sum, idle);
}

/* ------------------------------------------------------------------ one cause */

static double explained(const assay_find_ctx *c)
{
	int64_t dark = c->w->cause[ASSAY_WHY_UNLINKED] + c->w->suspicious;
	return c->w->idle ? 1 - (double)dark / (double)c->w->idle : 1;
}

/* What the host was in; a call that the recording does not name is told so. */
static const char *spell_name(const assay_run *run, const assay_find_ctx *c, assay_sid name)
{
	assay_str text = assay_text(run, name);
	return assay_is_no_name(text) ? "calls that the recording does not name"
				      : assay_fmt_safe(c->scratch, text);
}

static void add_facts(const assay_run *run, const assay_find_ctx *c, int cause,
		      const assay_idle_name *in, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	char count[ASSAY_FMT], longest[ASSAY_FMT], time[ASSAY_FMT];
	uint32_t gap = c->w->longest[cause];
	int64_t steps = c->steps && !f->once ? (int64_t)c->steps : 1;
	if (gap != ASSAY_NO_ROW)
		assay_found_add_fact(
			f,
			assay_printf(c->scratch, "%s gap%s, the longest %s before %s",
				     assay_fmt_count(count, c->w->gaps[cause]),
				     c->w->gaps[cause] == 1 ? "" : "s",
				     assay_fmt_time(longest, c->w->longest_part[cause]),
				     assay_fmt_kernel(c->scratch,
						      assay_text(run, t->gpu.name[t->gap.gpu[gap]]),
						      60)));
	if (in->name)
		assay_found_add_fact(f, assay_printf(c->scratch, "%s in %s (%s%s)",
						     in->time * 2 > f->total ? "mostly" : "longest",
						     spell_name(run, c, in->name),
						     assay_fmt_time(time, in->time / steps),
						     steps > 1 ? " a step" : ""));
}

/* Who is waited for may wait itself, for a processor: then that is the cause. */
static void look_at_culprit(const assay_run *run, const assay_find_ctx *c,
			    const assay_cause_place *at, int cause, assay_found *f)
{
	enum { MOSTLY = 2 }; /* times as long as it runs */
	const assay_tables *t = &run->part.t;
	char cpu[ASSAY_FMT], delay[ASSAY_FMT];
	if (at->culprit == ASSAY_NO_ROW || cause == ASSAY_WHY_HOST_CPU_WAIT)
		return;
	assay_cpu_time of =
		assay_cpu_time_of(run, c->w, t->sample.track[t->seen.culprit[at->sample]]);
	if (of.delay <= MOSTLY * of.cpu || of.delay * 4 < f->total)
		return;
	f->cause = assay_why_name[ASSAY_WHY_HOST_CPU_WAIT];
	f->text = assay_printf(c->scratch, "%s: the one it waits for has no processor", f->text);
	f->fix = assay_why_advice(ASSAY_WHY_HOST_CPU_WAIT, c->framework, c->vendor);
	assay_found_add_fact(
		f, assay_printf(c->scratch, "that one ran for %s and was ready to run for %s",
				assay_fmt_time(cpu, of.cpu), assay_fmt_time(delay, of.delay)));
}

/* The program's own line, where calls have stacks: that of who is waited for, else of the launching
 * thread. */
static uint32_t add_place(const assay_run *run, const assay_find_ctx *c, int cause, assay_found *f)
{
	assay_cause_place at =
		assay_cause_place_find(run, c->w->device, c->w->from, c->w->to, (assay_why)cause);
	if (at.stack == ASSAY_NO_ROW)
		return ASSAY_NO_ROW;
	assay_where_in_stack(run, assay_cause_place_home(run, &at), &f->where);
	assay_found_add_fact(f, assay_cause_place_words(c->scratch, run, &at));
	look_at_culprit(run, c, &at, cause, f);
	uint32_t library = assay_native_code(run, at.sample);
	if (library != ASSAY_NO_ROW &&
	    (cause == ASSAY_WHY_HOST_NATIVE || cause == ASSAY_WHY_HOST_COMPILE))
		f->text = assay_printf(c->scratch, "%s: %s", f->text,
				       assay_native_library(c->scratch, run, library));
	return at.stack;
}

/* The blocking call that most time of gaps began in, with its line. */
static uint32_t drained_where(const assay_run *run, const assay_find_ctx *c,
			      const struct idle *idle, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	assay_idle_tally tally = {0};
	char count[ASSAY_FMT];
	for (size_t i = 0; i < t->gap.n; i++) {
		uint32_t row = t->gap.opened[i];
		if (row == ASSAY_NO_ROW || !assay_gap_in_window(&t->gap, c->w, i))
			continue;
		uint32_t own = assay_own_call(t, assay_call_stack(t, row));
		uint64_t key[2] = {t->host.name[row], assay_line_key(t, own)};
		assay_idle_name one = {t->host.name[row], row, t->gap.dur[i]};
		assay_idle_tally_add(&tally, assay_hash(key, sizeof key, 0), one);
	}
	assay_idle_name best = assay_idle_tally_end(&tally);
	if (!best.name)
		return ASSAY_NO_ROW;
	uint32_t own = assay_own_call(t, assay_call_stack(t, best.row));
	f->where = assay_idle_where(run, c->scratch, &best);
	if (own != ASSAY_NO_ROW)
		assay_where_in_stack(run, own, &f->where);
	f->fact[0] = assay_printf(c->scratch, "%s gaps begin while the host waits in %s",
				  assay_fmt_count(count, idle->gaps[DRAINED]),
				  spell_name(run, c, best.name));
	return own;
}

/* Blocking calls cost more than what of gaps lies in them: behind a call the device waits until the
 * host has launched again, and without the call it would have done so before. How much of that is
 * the call's fault a replay tells. */
static bool weigh_drained(const assay_find_ctx *c, struct idle *idle)
{
	double share;
	if (idle->total[DRAINED] <= idle->total[ASSAY_WHY_HOST_SYNC] || !idle->steady[DRAINED] ||
	    !assay_find_without(c, "host_sync=0", &share))
		return false;
	int64_t saved = (int64_t)(share * (double)c->whole);
	saved = saved < idle->total[DRAINED] ? saved : idle->total[DRAINED];
	if (saved <= idle->total[ASSAY_WHY_HOST_SYNC])
		return false;
	idle->total[ASSAY_WHY_HOST_SYNC] = saved;
	idle->steps[ASSAY_WHY_HOST_SYNC] = idle->steps[DRAINED];
	idle->steady[ASSAY_WHY_HOST_SYNC] = true;
	return true;
}

/* Where the device runs out of work behind a blocking call again and again, the host is never ahead
 * of it, and every short stretch between two launches shows: the calls are to blame. */
static bool short_of_launches(const assay_find_ctx *c, const struct idle *idle, int cause)
{
	enum { OFTEN = 16 }; /* pieces of work */
	bool of_launching = cause == ASSAY_WHY_LAUNCH_CALL || cause == ASSAY_WHY_LAUNCH_LATENCY ||
			    (assay_why_is_host(cause) && cause != ASSAY_WHY_HOST_SYNC);
	return of_launching && idle->steady[DRAINED] &&
	       idle->gaps[DRAINED] * OFTEN >= assay_window_events(c->w) &&
	       idle->total[cause] < (int64_t)idle->gaps[cause] * ASSAY_SHORT_GAP;
}

static const char *cost_words(const assay_find_ctx *c, const struct idle *idle, int cause)
{
	char part[ASSAY_FMT];
	if (!c->steps || idle->steady[cause])
		return assay_share_words(c, idle->total[cause]);
	return assay_printf(c->scratch, "%s in %zu of %llu steps",
			    assay_fmt_time(part, idle->total[cause]), idle->steps[cause],
			    (unsigned long long)c->steps);
}

/* Functions of C that traces name inside Python frames say what the thread waited for. */
static assay_why finer_cause(assay_str frame)
{
	static const struct {
		const char *word;
		assay_why cause;
	} words[] = {
		{"<built-in function sleep", ASSAY_WHY_HOST_SLEEP},
		{"_thread.lock", ASSAY_WHY_HOST_LOCK},
		{"_thread.RLock", ASSAY_WHY_HOST_LOCK},
		{"of _io.", ASSAY_WHY_HOST_IO},
		{"'_io.", ASSAY_WHY_HOST_IO},
		{"_socket.socket", ASSAY_WHY_HOST_IO},
		{"<built-in function collect", ASSAY_WHY_HOST_GC},
	};
	for (size_t i = 0; assay_str_starts(frame, "<") && i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_find(frame, words[i].word) >= 0)
			return words[i].cause;
	return ASSAY_WHY_HOST_PYTHON;
}

/* Is most of a cause in calls in which the runtime sets itself up? */
static bool is_first_use(const assay_run *run, const assay_find_ctx *c, int cause)
{
	const assay_gap_part_table *p = &run->part.t.gap_part;
	int64_t all = 0, first = 0;
	for (size_t i = 0; cause == ASSAY_WHY_HOST_RUNTIME && i < p->n; i++) {
		if (p->cause[i] != cause || !assay_gap_in_window(&run->part.t.gap, c->w, p->gap[i]))
			continue;
		all += p->dur[i];
		first += p->longest[i] >= ASSAY_FIRST_USE ? p->longest[i] : 0;
	}
	return first * 2 > all;
}

/* Calls that launch take long where code is loaded, else there are many of them. */
static assay_why advised_as(const assay_run *run, const assay_find_ctx *c, const struct idle *idle,
			    int cause)
{
	if (cause == ASSAY_WHY_LAUNCH_CALL &&
	    idle->total[cause] < (int64_t)idle->gaps[cause] * ASSAY_SHORT_GAP)
		return ASSAY_WHY_LAUNCH_LATENCY;
	return is_first_use(run, c, cause) ? ASSAY_WHY_LAUNCH_CALL : (assay_why)cause;
}

/* A place that waits again and again for copies of little. */
static void call_small_copies(const assay_find_ctx *c, const assay_place_time *there,
			      assay_found *f)
{
	enum { MANY = 8, SMALL = 256 << 10 }; /* in a step; bytes */
	uint64_t steps = c->steps ? c->steps : 1;
	char count[ASSAY_FMT], bytes[ASSAY_FMT];
	if (there->kernels || there->copies < MANY * steps ||
	    there->bytes >= there->copies * (uint64_t)SMALL)
		return;
	f->cause = "small_copies";
	f->fix =
		"one copy for all of them: pack what belongs together, from pinned memory, with non_blocking=True";
	assay_found_add_fact(f,
			     assay_printf(c->scratch, "%s copies%s from there, of %s in the mean",
					  assay_fmt_count(count, there->copies / steps),
					  c->steps ? " a step" : "",
					  assay_fmt_bytes(bytes, there->bytes / there->copies)));
}

/* Where no stack says which line waits, operators are the places: without those that read values
 * back, what makes the values goes, too, and the host runs ahead. */
static void weigh_read_backs(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	assay_read_backs told;
	double share;
	char count[ASSAY_FMT], time[ASSAY_FMT];
	int64_t steps = c->steps && !f->once ? (int64_t)c->steps : 1;
	if (f->once || !c->worth || !assay_worth_without_read_backs(c->worth, &told, &share))
		return;
	int64_t saved = (int64_t)(share * (double)c->whole);
	if (saved <= f->total || saved <= f->saved)
		return;
	f->saved = saved;
	f->replayed = true;
	if (f->where.file) {
		assay_found_add_fact(
			f, assay_printf(c->scratch,
					"without them, and what only makes the values they read, "
					"%s%s less",
					assay_fmt_time(time, saved / steps),
					steps > 1 ? " a step" : ""));
		return;
	}
	f->total = saved;
	f->dense = assay_blocking_is_dense(&(assay_blocking){.all = told.waits}, c->w);
	f->text = assay_printf(
		c->scratch,
		told.only_waits
			? "calls that only wait for the device take %s: the host launches late"
			: "operators that read values back take %s: the host waits for them and launches late",
		assay_share_words(c, saved));
	f->fix = told.only_waits ? assay_timer_fix : f->fix;
	f->where.op = assay_dup(c->scratch, assay_text(run, told.name));
	assay_found_add_fact(
		f,
		assay_printf(
			c->scratch,
			told.only_waits
				? "%s calls%s wait, %s for longest: they, and the way to them and back, take %s%s"
				: "%s operators%s read values back, %s for longest: all that they do, and what "
				  "only makes the values, takes %s%s",
			assay_fmt_count(count,
					(told.times + (uint64_t)steps / 2) / (uint64_t)steps),
			steps > 1 ? " a step" : "",
			assay_fmt_safe(c->scratch, assay_text(run, told.name)),
			assay_fmt_time(time, saved / steps), steps > 1 ? " a step" : ""));
}

/* A device needs a microsecond or two from one kernel to the next: nothing is wrong there, and it
 * is spoken of where kernels are so short that it becomes much. */
static const char usual_distance_phrase[] = "from one kernel to the next, as devices do";

static bool is_usual_distance(const assay_find_ctx *c, const struct idle *idle, int cause)
{
	enum {
		USUAL = 2500,
		WITHOUT_LONG = 4000,
		LONG = 20000
	}; /* ns: in the mean, and one of them */
	int64_t gaps = (int64_t)idle->gaps[cause];
	bool even = c->w->longest_part[cause] < LONG;
	return cause == ASSAY_WHY_QUEUED &&
	       idle->total[cause] < gaps * (even ? WITHOUT_LONG : USUAL);
}

static const char loads_code_advice[] =
	"code is loaded in every step: kernels or plans made anew for sizes that change (FFTs, compiled or tuned kernels); few sizes (pad, or sort into buckets), and keep what was made";

/* Taking memory waits for the device too, and the first call of all sets up the context; code that
 * every step loads is made for it. */
static const char *advice_of_call(const assay_find_ctx *c, const assay_found *f, int cause)
{
	assay_str op = assay_str_of(f->where.op ? f->where.op : "");
	assay_call_does does = assay_call_meaning_of(op.p, op.n).does;
	if (cause == ASSAY_WHY_HOST_RUNTIME && does == ASSAY_DOES_LOAD && c->steps && !f->once)
		return loads_code_advice;
	if (cause == ASSAY_WHY_HOST_SYNC && (does == ASSAY_DOES_ALLOC || does == ASSAY_DOES_FREE))
		return assay_why_advice(ASSAY_WHY_HOST_RUNTIME, c->framework, c->vendor);
	return f->fix;
}

/* Makes it a finding of another cause; gives the phrase of that. */
static const char *seems(const assay_find_ctx *c, assay_why likely, assay_found *f)
{
	f->cause = assay_why_name[likely];
	f->fix = assay_why_advice(likely, c->framework, c->vendor);
	f->confidence = 0.5 * explained(c);
	return assay_printf(c->scratch, "%s, it seems", assay_why_rows[likely].phrase);
}

/* Operators that stand still wherever they are. */
static const char *look_at_stalls(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	const char *because = f->where.file ? NULL : assay_lock_turns(run, c);
	if (!because)
		return NULL;
	f->where = (assay_where){0};
	assay_found_add_fact(f, because);
	return seems(c, ASSAY_WHY_HOST_GIL, f);
}

/* What nobody recorded may be told all the same, by its lengths and neighbours. A range with a
 * small part of it is not where it happens. Gives what stands behind the phrase; what remains in
 * the dark stands behind causes that are known. */
static const char *look_at_unnamed(const assay_run *run, const assay_find_ctx *c,
				   const assay_idle_name *in, const char **phrase, assay_found *f)
{
	if (f->where.file)
		return "";
	assay_unnamed seen = assay_unnamed_look(run, c);
	bool named = in->time * 4 > f->total;
	if (!named)
		f->where = (assay_where){0};
	assay_found_add_fact(f, seen.because);
	f->during = seen.span;
	f->spans = seen.spans;
	for (size_t i = 0; i < seen.spans; i++)
		f->saved += seen.span[i].to - seen.span[i].from;
	f->saved = f->saved > f->total ? f->saved : 0;
	if (seen.likely == ASSAY_WHY_HOST_UNTRACED) {
		f->order_by = seen.one_place ? 0 : f->total / 4 + 1;
	} else {
		*phrase = seems(c, seen.likely, f);
	}
	return named || !seen.place ? "" : assay_printf(c->scratch, ", %s", seen.place);
}

/* A loader of the process itself does more than call the data set, and goes on doing it when that
 * is quick; all of it goes where other processes load. */
static void weigh_loader(const assay_run *run, const assay_find_ctx *c, uint32_t at, assay_found *f)
{
	char time[ASSAY_FMT];
	double share = 0, mine = assay_place_share(run, c->w, ASSAY_WHY_HOST_DATA, at);
	int64_t all = assay_find_without(c, f->what_if, &share)
			      ? (int64_t)(share * (double)c->whole)
			      : f->total;
	int64_t steps = c->steps && !f->once ? (int64_t)c->steps : 1;
	if (mine > 0.97 || all <= 0)
		return;
	f->saved = (int64_t)(mine * (double)all);
	f->most = all;
	assay_found_add_fact(f, assay_printf(c->scratch,
					     "%s%s of it in the loader itself, beside that place",
					     assay_fmt_time(time, (all - f->saved) / steps),
					     steps > 1 ? " a step" : ""));
}

/* The operator around a row that is in no other; ASSAY_NO_ROW: none is. */
static uint32_t outermost_operator(const assay_host_table *h, uint32_t row)
{
	uint32_t best = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->kind[i] == ASSAY_HOST_OP && h->track[i] == h->track[row] &&
		    h->ts[i] <= h->ts[row] && assay_host_end(h, i) >= assay_host_end(h, row) &&
		    (best == ASSAY_NO_ROW || h->ts[i] < h->ts[best] ||
		     (h->ts[i] == h->ts[best] && h->dur[i] > h->dur[best])))
			best = i;
	return best;
}

static const char on_host_advice[] =
	"operators compute on the host: give them tensors that are on the device, do it once before the loop, or have loader workers do it";
static const char pinning_advice[] =
	"memory is pinned anew in every step: pin once and keep the buffer, or have the DataLoader do it ahead (pin_memory=True)";

/* Operators that take long by themselves do not launch but compute, as on tensors of the host. */
static bool compute_on_host(const assay_run *run, const assay_find_ctx *c, int64_t total)
{
	enum { LONG = 10 * ASSAY_SHORT_GAP };
	const assay_gap_part_table *p = &run->part.t.gap_part;
	int64_t sum = 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->cause[i] == ASSAY_WHY_HOST_OP && p->dur[i] >= LONG &&
		    assay_gap_in_window(&run->part.t.gap, c->w, p->gap[i]))
			sum += p->dur[i];
	return sum * 3 > total * 2;
}

static void look_at_operators(const assay_run *run, const assay_find_ctx *c,
			      const assay_idle_name *in, assay_found *f)
{
	const assay_host_table *h = &run->part.t.host;
	/* what happens once is first use */
	if (!in->name || !c->steps || f->once || !compute_on_host(run, c, f->total))
		return;
	uint32_t outer = in->time * 2 > f->total ? outermost_operator(h, in->row) : ASSAY_NO_ROW;
	bool pins = outer != ASSAY_NO_ROW &&
		    assay_str_find(assay_text(run, h->name[outer]), "pin_memory") >= 0;
	f->fix = pins ? pinning_advice : on_host_advice;
	if (pins)
		f->where.op = assay_dup(c->scratch, assay_text(run, h->name[outer]));
	if (outer != ASSAY_NO_ROW && h->name[outer] != in->name)
		assay_found_add_fact(
			f,
			assay_printf(c->scratch, "called by %s",
				     assay_fmt_safe(c->scratch, assay_text(run, h->name[outer]))));
}

/* The way of the host through libraries may say more than the cause does, or another one. */
static void tell_detour(const assay_run *run, const assay_find_ctx *c, const struct idle *idle,
			int cause, assay_found *f)
{
	assay_detour way = assay_detour_of(run, c->w, (assay_why)cause);
	if (!way.says)
		return;
	f->fix = way.fix;
	assay_found_add_fact(f, way.says);
	if (way.as == ASSAY_WHY_COUNT)
		return;
	f->cause = assay_why_name[way.as];
	f->text = assay_printf(c->scratch, "the GPU waits %s: %s", cost_words(c, idle, cause),
			       way.says);
}

static assay_idle_named name_cause(const assay_run *run, const assay_find_ctx *c,
				   const struct idle *idle, int cause, bool drained)
{
	const assay_why_row *row = &assay_why_rows[cause];
	assay_idle_name in = assay_idle_name_of(run, c->w, cause);
	assay_found f = {
		.id = row->name,
		.cause = row->name,
		.fix = assay_why_advice(advised_as(run, c, idle, cause), c->framework, c->vendor),
		.where = assay_idle_where(run, c->scratch, &in),
		.total = idle->total[cause],
		.once = c->steps && !idle->steady[cause],
		.confidence = row->certainty * explained(c)};
	assay_idle_line_where(run, c->w, cause, &f.where);
	if (!f.where.file)
		assay_own_line_of_cause(run, c, cause, in.name, &f.where);
	if (cause == ASSAY_WHY_HOST_PYTHON && in.time * 2 > f.total) {
		row = &assay_why_rows[finer_cause(assay_text(run, in.name))];
		f.cause = row->name;
		f.fix = assay_why_advice((assay_why)(row - assay_why_rows), c->framework,
					 c->vendor);
	}
	const char *phrase = is_first_use(run, c, cause) ? first_use_phrase : row->phrase;
	if (is_usual_distance(c, idle, cause)) {
		phrase = usual_distance_phrase;
		f.fix = assay_why_advice(ASSAY_WHY_LAUNCH_LATENCY, c->framework, c->vendor);
	}
	if (cause == ASSAY_WHY_HOST_UNTRACED && in.name &&
	    assay_word_of(assay_text(run, in.name)) == ASSAY_WORD_HOST_COMM) {
		phrase = host_collective_phrase;
		f.fix = host_collective_advice;
		f.confidence = 0.8 * explained(c);
	}
	const char *behind = "";
	if (cause == ASSAY_WHY_HOST_UNTRACED && phrase == row->phrase)
		behind = look_at_unnamed(run, c, &in, &phrase, &f);
	const char *stalls = cause == ASSAY_WHY_HOST_OP ? look_at_stalls(run, c, &f) : NULL;
	phrase = stalls ? stalls : phrase;
	f.text = assay_printf(c->scratch, "the GPU waits %s %s%s", cost_words(c, idle, cause),
			      phrase, behind);
	/* time that samples tell has no dependencies to replay */
	if (!run->part.t.sample.n || cause <= ASSAY_WHY_HOST_OP)
		f.what_if = assay_printf(c->scratch, "%s=0", assay_why_name[cause]);
	f.capped = cause != ASSAY_WHY_HOST_SYNC && cause != ASSAY_WHY_HOST_DATA &&
		   cause != ASSAY_WHY_HOST_RUNTIME;
	f.has_gap = c->w->longest[cause] != ASSAY_NO_ROW;
	f.gap = c->w->longest[cause];
	if (cause == ASSAY_WHY_QUEUED && assay_stalled_part(run, c) * 2 > f.total)
		f.follows = "contention";
	if (short_of_launches(c, idle, cause))
		f.follows = assay_why_name[ASSAY_WHY_HOST_SYNC];
	if ((cause == ASSAY_WHY_HOST_SYNC || cause == ASSAY_WHY_HOST_RUNTIME) &&
	    assay_alloc_part(run, c, (assay_why)cause) * 2 > f.total)
		f.follows = "allocation";
	assay_idle_named n = {.cause = cause, .at = ASSAY_NO_ROW};
	if (drained) {
		f.saved = f.total;
		f.replayed = true;
		n.at = drained_where(run, c, idle, &f);
	} else {
		add_facts(run, c, cause, &in, &f);
		n.at = add_place(run, c, cause, &f);
		if (cause == ASSAY_WHY_HOST_DATA && n.at != ASSAY_NO_ROW)
			weigh_loader(run, c, n.at, &f);
	}
	f.fix = advice_of_call(c, &f, cause);
	if (cause == ASSAY_WHY_HOST_SYNC && n.at == ASSAY_NO_ROW && !f.follows)
		weigh_read_backs(run, c, &f);
	if (cause == ASSAY_WHY_HOST_OP && !stalls) {
		look_at_operators(run, c, &in, &f);
		assay_first_shapes_tell(run, c, &f);
	}
	tell_detour(run, c, idle, cause, &f);
	n.found = f;
	assay_idle_named_look(run, c, &n);
	if (drained && n.leads)
		call_small_copies(c, &n.there, &n.found);
	if (cause == ASSAY_WHY_HOST_SYNC && n.at != ASSAY_NO_ROW && !n.found.follows) {
		n.leads &= !assay_blocking_tell(run, c, n.at, &n.found);
		if (!n.leads)
			weigh_read_backs(run, c, &n.found);
	}
	return n;
}

/* Work whose launch was back for a millisecond and more without beginning. */
static void add_not_started(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	uint32_t gap = c->w->longest[ASSAY_WHY_LAUNCH_LATENCY];
	char longest[ASSAY_FMT];
	assay_found f = {
		.id = "not_started",
		.cause = assay_why_name[ASSAY_WHY_LAUNCH_LATENCY],
		.total = c->w->suspicious,
		.confidence = 0.5,
		.follows = "contention",
		.fix = "look for another process on the GPU, for work queued before the recording began, and for a device that was asleep: record from the start, with telemetry"};
	f.text = assay_printf(c->scratch,
			      "submitted work does not start for %s although the GPU is idle",
			      assay_share_words(c, f.total));
	f.has_gap = gap != ASSAY_NO_ROW;
	f.gap = gap;
	if (f.has_gap)
		f.fact[0] = assay_printf(
			c->scratch, "the longest lasts %s, before %s",
			assay_fmt_time(longest, c->w->longest_part[ASSAY_WHY_LAUNCH_LATENCY]),
			assay_fmt_kernel(c->scratch, assay_text(run, t->gpu.name[t->gap.gpu[gap]]),
					 60));
	assay_finding_add(c, &f);
}

/* Idle time of a tenth of the whole and more is always spoken of, however many causes share it. */
static double least_idle(const assay_find_ctx *c)
{
	double least = assay_worth_saying * (double)c->whole;
	double shared = (double)c->w->idle / ASSAY_WHY_COUNT;
	return (double)c->w->idle > 0.1 * (double)c->whole && shared < least ? shared : least;
}

/* A host that is late anyway hides what blocking calls cost: without them it would not be. */
static bool reads_back_much(const assay_run *run, const assay_find_ctx *c, const struct idle *idle,
			    int cause)
{
	assay_read_backs told;
	double share;
	return cause == ASSAY_WHY_HOST_SYNC && c->steps && idle->steady[DRAINED] &&
	       !run->part.t.stack.n && c->worth &&
	       assay_worth_without_read_backs(c->worth, &told, &share) &&
	       share >= assay_sync_holds_back;
}

static bool is_worth_saying(const assay_find_ctx *c, const struct idle *idle, int cause)
{
	bool much = c->w->idle > c->whole / 10 && idle->total[cause] > c->w->idle / 4;
	return cause != ASSAY_WHY_UNLINKED && (double)idle->total[cause] >= least_idle(c) &&
	       (much || !is_usual_distance(c, idle, cause));
}

static void find_idle(assay_run *run, const assay_find_ctx *c)
{
	struct idle idle;
	assay_idle_named all[ASSAY_WHY_COUNT];
	size_t n = 0;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	measure(run, c, &idle);
	idle.total[ASSAY_WHY_LAUNCH_LATENCY] -= c->w->suspicious;
	bool drained = weigh_drained(c, &idle);
	for (int cause = 0; cause < ASSAY_WHY_COUNT; cause++)
		if (is_worth_saying(c, &idle, cause) || reads_back_much(run, c, &idle, cause))
			all[n++] = name_cause(run, c, &idle, cause,
					      drained && cause == ASSAY_WHY_HOST_SYNC);
	assay_idle_gather(run, c, all, n);
	for (size_t i = 0; i < n; i++)
		assay_finding_add(c, &all[i].found);
	if ((double)c->w->suspicious >= least_idle(c))
		add_not_started(run, c);
}

const assay_finder assay_find_idle = {"idle", find_idle};

TEST(the_usual_distance_between_kernels_is_nothing_to_change)
{
	assay_window w = {.device = 0, .to = 1000000, .idle = 60000};
	assay_find_ctx c = {.w = &w, .whole = 1000000};
	struct idle idle = {.total = {[ASSAY_WHY_QUEUED] = 50000}};
	idle.gaps[ASSAY_WHY_QUEUED] = 25;
	w.longest_part[ASSAY_WHY_QUEUED] = 30000;
	CHECK(!is_worth_saying(&c, &idle, ASSAY_WHY_QUEUED));
	w.idle = 110000; /* short kernels, and much of the time goes between them */
	CHECK(is_worth_saying(&c, &idle, ASSAY_WHY_QUEUED));
	w.idle = 60000;
	idle.gaps[ASSAY_WHY_QUEUED] = 15; /* one of them is long */
	CHECK(is_worth_saying(&c, &idle, ASSAY_WHY_QUEUED));
	w.longest_part[ASSAY_WHY_QUEUED] = 8000;
	CHECK(!is_worth_saying(&c, &idle, ASSAY_WHY_QUEUED));
	idle.gaps[ASSAY_WHY_QUEUED] = 5;
	CHECK(is_worth_saying(&c, &idle, ASSAY_WHY_QUEUED));
	return 0;
}

/* ------------------------------------------------------------------ not recorded */

/* What a better recording would tell. */
static void find_missing(assay_run *run, const assay_find_ctx *c)
{
	const assay_window *w = c->w;
	if (w->device == ASSAY_NO_ROW) {
		assay_finding_add(
			c,
			&(assay_found){
				.id = "record_gpu",
				.text = "the input holds no GPU work, so nothing can be said",
				.fix = "record GPU activity (activities CUDA; rocprofv3 --kernel-trace; assay record)",
				.total = -1,
				.fact = {"no kernels, copies or memsets"}});
		return;
	}
	int64_t dark = w->cause[ASSAY_WHY_UNLINKED];
	bool all_dark = dark * 2 > w->idle && (double)w->idle > 0.1 * (double)c->whole;
	if ((double)dark > 0.05 * (double)c->whole || all_dark)
		assay_finding_add(
			c,
			&(assay_found){
				.id = "record_launches",
				.cause = assay_why_name[ASSAY_WHY_UNLINKED],
				.text = assay_printf(
					c->scratch,
					"%s the GPU is idle for a reason that was not recorded",
					assay_share_words(c, dark)),
				.fix = assay_why_advice(ASSAY_WHY_UNLINKED, c->framework,
							c->vendor),
				.total = dark,
				.order_by = dark / 4 + 1,
				.confidence = assay_why_rows[ASSAY_WHY_UNLINKED].certainty,
				.has_gap = w->longest[ASSAY_WHY_UNLINKED] != ASSAY_NO_ROW,
				.gap = w->longest[ASSAY_WHY_UNLINKED],
				.fact = {
					"gaps that end with work whose launch is not in the recording"}});
	assay_idle_name in = assay_idle_name_of(run, c->w, ASSAY_WHY_HOST_UNTRACED);
	bool comm = in.name && assay_word_of(assay_text(run, in.name)) == ASSAY_WORD_HOST_COMM;
	if ((double)w->cause[ASSAY_WHY_HOST_UNTRACED] > 0.05 * (double)c->whole && !comm)
		assay_finding_add(
			c,
			&(assay_found){
				.id = "record_stacks",
				.text = "part of the host's time has no name in this recording",
				.fix = c->framework == ASSAY_FRAMEWORK_JAX
					       ? "record with stacks (assay record; jax.profiler with python_tracer_level=1) or ranges (jax.profiler.TraceAnnotation)"
					       : "record with stacks (assay record; with_stack=True) or ranges (NVTX, roctx)",
				.total = -1,
				.fact = {"gaps in which the launching thread shows nothing"}});
	if (!w->steps)
		assay_finding_add(
			c,
			&(assay_found){
				.id = "record_steps",
				.text = "the recording marks no steps",
				.fix = "call profiler.step(), put a range around each step, or give --steps N",
				.total = -1,
				.fact = {"no step markers, and kernels do not repeat"}});
}

const assay_finder assay_find_missing = {"missing", find_missing};

TEST(code_that_every_step_loads_is_made_for_sizes_that_change)
{
	assay_find_ctx c = {.steps = 10};
	assay_found f = {.fix = "usual", .where.op = "cuModuleLoadData"};
	CHECK(advice_of_call(&c, &f, ASSAY_WHY_HOST_RUNTIME) == loads_code_advice);
	CHECK(advice_of_call(&c, &f, ASSAY_WHY_HOST_SYNC) == f.fix);
	f.once = true;
	CHECK(advice_of_call(&c, &f, ASSAY_WHY_HOST_RUNTIME) == f.fix);
	f.where.op = "cudaMalloc";
	CHECK(advice_of_call(&c, &f, ASSAY_WHY_HOST_SYNC) != f.fix);
	CHECK(advice_of_call(&c, &f, ASSAY_WHY_HOST_RUNTIME) == f.fix);
	return 0;
}

TEST(who_waits_for_one_without_a_processor_waits_for_a_processor)
{
	assay_arena scratch = {0};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000, .idle = 900};
	assay_find_ctx c = {.w = &w, .whole = 1000, .scratch = &scratch};
	uint32_t mine = assay_add(t, ASSAY_T_sample), worker = assay_add(t, ASSAY_T_sample);
	assay_add(t, ASSAY_T_seen);
	assay_add(t, ASSAY_T_seen);
	t->sample.track[worker] = 1;
	t->seen.culprit[mine] = worker;
	assay_cause_place at = {.culprit = 0, .sample = mine};
	assay_found data = {.id = "host_data", .cause = "host_data", .text = "", .total = 600};
	t->sample.cpu[worker] = 200;
	t->sample.delay[worker] = 400;
	look_at_culprit(run, &c, &at, ASSAY_WHY_HOST_DATA, &data);
	CHECK(!strcmp(data.cause, "host_data")); /* it runs for a third */
	t->sample.delay[worker] = 401;
	look_at_culprit(run, &c, &at, ASSAY_WHY_HOST_DATA, &data);
	CHECK(!strcmp(data.cause, "host_cpu_wait") && data.fact[0]);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

#include "find/idle_tell.h"

#include <assert.h>

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/detour.h"
#include "find/first_shapes.h"
#include "find/frame_time.h"
#include "find/idle_sync.h"
#include "find/lock_turns.h"
#include "find/own_frames.h"
#include "find/unnamed.h"
#include "model/by_hand.h"
#include "model/native.h"
#include "names/calls.h"
#include "names/copies.h"
#include "names/words.h"

struct telling {
	const assay_run *run;
	const assay_find_ctx *c;
	const assay_idle_cost *cost;
	assay_why cause;    /* as it was measured; f.cause may know better */
	assay_idle_name in; /* what the host was in */
	bool stalls;        /* operators stand still wherever they are */
	bool first_use;     /* calls in which the runtime sets itself up */
	uint32_t at;        /* own call; ASSAY_NO_ROW */
	assay_sid library;  /* Python frame of a library with most of it; 0: none */
	unsigned way;       /* of frames through libraries, or assay_detours */
	bool computes;      /* operators work on the host itself */
	bool starved;       /* who is waited for has no processor */
	assay_found f;
};

/* ------------------------------------------------------------------ why */

static double explained(const assay_find_ctx *c)
{
	int64_t dark = c->w->cause[ASSAY_WHY_UNLINKED] + c->w->suspicious;
	return c->w->idle ? 1 - (double)dark / (double)c->w->idle : 1;
}

/* It is of another cause; gives the phrase of that. */
static const char *call_it(struct telling *s, assay_why cause)
{
	assert(cause < ASSAY_WHY_COUNT);
	s->f.cause = assay_why_name[cause];
	s->f.fix = assay_why_advice(cause, s->c->framework, s->c->vendor);
	return assay_why_rows[cause].phrase;
}

static const char *seems(struct telling *s, assay_why likely, const char *phrase)
{
	const char *usual = call_it(s, likely);
	s->f.confidence = 0.5 * explained(s->c);
	return assay_printf(s->c->scratch, "%s, it seems", phrase ? phrase : usual);
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
		{"_queue.SimpleQueue", ASSAY_WHY_HOST_LOCK},
		{"_multiprocessing.SemLock", ASSAY_WHY_HOST_LOCK},
		{"<built-in function waitpid", ASSAY_WHY_HOST_CHILD},
		{"of _io.", ASSAY_WHY_HOST_IO},
		{"'_io.", ASSAY_WHY_HOST_IO},
		{"_socket.socket", ASSAY_WHY_HOST_IO},
		{" of socket object", ASSAY_WHY_HOST_IO},
		{" of _ssl.", ASSAY_WHY_HOST_IO},
		{" of sqlite3.", ASSAY_WHY_HOST_IO},
		{"PyTorchFileWriter", ASSAY_WHY_HOST_IO},
		{"PyTorchFileReader", ASSAY_WHY_HOST_IO},
		{"<built-in function open>", ASSAY_WHY_HOST_IO},
		{"<built-in function read>", ASSAY_WHY_HOST_IO},
		{"<built-in function write>", ASSAY_WHY_HOST_IO},
		{"<built-in function fsync>", ASSAY_WHY_HOST_IO},
		{"<built-in function fromfile>", ASSAY_WHY_HOST_IO},
		{"of select.", ASSAY_WHY_HOST_IO},
		{"<built-in function select", ASSAY_WHY_HOST_IO},
		{"<built-in function collect", ASSAY_WHY_HOST_GC},
	};
	for (size_t i = 0; assay_str_starts(frame, "<") && i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_find(frame, words[i].word) >= 0)
			return words[i].cause;
	return ASSAY_WHY_HOST_PYTHON;
}

static bool is_of_memory(assay_str call)
{
	assay_call_does does = assay_call_meaning_of(call.p, call.n).does;
	return does == ASSAY_DOES_ALLOC || does == ASSAY_DOES_FREE;
}

/* A call that takes too long for what it does: of those that wait, only one that takes or gives
 * back memory is known to. */
static bool sets_up(const assay_run *run, size_t part)
{
	const assay_gap_part_table *p = &run->part.t.gap_part;
	uint32_t call = p->during[part];
	return p->longest[part] >= ASSAY_FIRST_USE && call != ASSAY_NO_ROW &&
	       (p->cause[part] == ASSAY_WHY_HOST_RUNTIME ||
		is_of_memory(assay_text(run, run->part.t.host.name[call])));
}

/* Is most of it in calls in which the runtime sets itself up? */
static bool is_first_use(const struct telling *s)
{
	const assay_gap_part_table *p = &s->run->part.t.gap_part;
	int64_t all = 0, first = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->cause[i] != s->cause ||
		    !assay_gap_in_window(&s->run->part.t.gap, s->c->w, p->gap[i]))
			continue;
		all += p->dur[i];
		first += sets_up(s->run, i) ? p->longest[i] : 0;
	}
	return first * 2 > all;
}

/* What nobody recorded may be told all the same, by its lengths and neighbours. A range with a
 * small part of it is not where it happens. What remains in the dark stands behind causes that are
 * known. */
static const char *look_at_unnamed(struct telling *s)
{
	assay_found *f = &s->f;
	const char *phrase = assay_why_rows[ASSAY_WHY_HOST_UNTRACED].phrase;
	if (f->where.file)
		return phrase;
	assay_unnamed seen = assay_unnamed_look(s->run, s->c);
	bool named = s->in.time * 4 > f->total;
	if (!named)
		f->where = (assay_where){0};
	assay_found_add_fact(f, seen.because);
	f->during = seen.span;
	f->spans = seen.spans;
	for (size_t i = 0; i < seen.spans; i++)
		f->saved += seen.span[i].to - seen.span[i].from;
	f->saved = f->saved > f->total ? f->saved : 0;
	if (seen.likely != ASSAY_WHY_HOST_UNTRACED)
		phrase = seems(s, seen.likely, seen.phrase);
	else
		f->order_by = seen.one_place ? 0 : f->total / 4 + 1;
	f->fix = seen.fix ? seen.fix : f->fix;
	return named || !seen.place ? phrase
				    : assay_printf(s->c->scratch, "%s, %s", phrase, seen.place);
}

/* Unrecorded time under a range that is a collective of a host backend is known after all. */
static const char *look_at_untraced(struct telling *s)
{
	if (!s->in.name || assay_word_of(assay_text(s->run, s->in.name)) != ASSAY_WORD_HOST_COMM)
		return look_at_unnamed(s);
	s->f.fix = "use the GPU's own backend (nccl, rccl); look for the rank that comes late";
	s->f.confidence = 0.8 * explained(s->c);
	return "while a collective runs on the host";
}

static const char *look_at_stalls(struct telling *s)
{
	const char *because = s->f.where.file ? NULL : assay_lock_turns(s->run, s->c);
	s->stalls = because != NULL;
	if (!because)
		return assay_why_rows[ASSAY_WHY_HOST_OP].phrase;
	s->f.where = (assay_where){0};
	assay_found_add_fact(&s->f, because);
	return seems(s, ASSAY_WHY_HOST_GIL, NULL);
}

/* Is most of it in calls that copy memory of the host which is not pinned? */
static bool copies_pageable(const struct telling *s)
{
	const assay_tables *t = &s->run->part.t;
	int64_t all = 0, copies = 0;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (t->gap_part.cause[i] != s->cause || !assay_gap_in_window(&t->gap, s->c->w, gap))
			continue;
		all += t->gap_part.dur[i];
		if (t->gpu.kind[t->gap.gpu[gap]] != ASSAY_GPU_MEMCPY)
			continue;
		assay_str name = assay_text(s->run, t->gpu.name[t->gap.gpu[gap]]);
		assay_copy_way way = assay_copy_way_of(name);
		bool of_host = way == ASSAY_COPY_TO_DEVICE || way == ASSAY_COPY_TO_HOST;
		if (of_host && assay_str_find(name, "Pinned") < 0)
			copies += t->gap_part.dur[i];
	}
	return copies * 2 > all;
}

/* Calls take long where code is loaded, else they are many; but those that copy pageable memory
 * bring it to a buffer of the driver first. */
static const char *look_at_launches(struct telling *s, const char *phrase)
{
	if (copies_pageable(s)) {
		s->f.fix =
			"pinned memory, so that the call need not move the bytes itself (pin_memory=True with non_blocking=True; cudaHostAlloc, hipHostMalloc); fewer, larger copies";
		return "inside the calls that copy";
	}
	if (assay_idle_is_short(s->cost, s->cause))
		s->f.fix =
			assay_why_advice(ASSAY_WHY_LAUNCH_LATENCY, s->c->framework, s->c->vendor);
	return phrase;
}

/* Finds out more than the cause, with what to do about that; gives the phrase. */
static const char *look_closer(struct telling *s)
{
	const char *phrase = call_it(s, s->cause);
	switch ((int)s->cause) {
	case ASSAY_WHY_HOST_PYTHON:
		return s->in.time * 2 > s->f.total
			       ? call_it(s, finer_cause(assay_text(s->run, s->in.name)))
			       : phrase;
	case ASSAY_WHY_HOST_UNTRACED:
		return look_at_untraced(s);
	case ASSAY_WHY_HOST_OP:
		return look_at_stalls(s);
	case ASSAY_WHY_HOST_SYNC:
	case ASSAY_WHY_HOST_RUNTIME:
		s->first_use = is_first_use(s);
		if (!s->first_use)
			return phrase;
		s->f.fix = assay_why_advice(ASSAY_WHY_LAUNCH_CALL, s->c->framework, s->c->vendor);
		return "while the runtime sets itself up (first use of a library or of code)";
	case ASSAY_WHY_LAUNCH_CALL:
		return look_at_launches(s, phrase);
	case ASSAY_WHY_QUEUED:
		if (!assay_idle_is_usual(s->c, s->cost, s->cause))
			return phrase;
		s->f.fix =
			assay_why_advice(ASSAY_WHY_LAUNCH_LATENCY, s->c->framework, s->c->vendor);
		return "from one kernel to the next, as devices do";
	default:
		return phrase;
	}
}

/* The finding that this is a consequence of, where there is one. */
static const char *follows(const struct telling *s)
{
	bool by_runtime = s->cause == ASSAY_WHY_HOST_SYNC || s->cause == ASSAY_WHY_HOST_RUNTIME;
	if (by_runtime && assay_alloc_part(s->run, s->c, s->cause) * 2 > s->f.total)
		return "allocation";
	if (assay_idle_is_short_of_launches(s->c, s->cost, s->cause))
		return assay_why_name[ASSAY_WHY_HOST_SYNC];
	return s->cause == ASSAY_WHY_QUEUED && assay_stalled_part(s->run, s->c) * 2 > s->f.total
		       ? "contention"
		       : NULL;
}

/* Time that samples tell has no dependencies to replay. So has waiting for values of the device in
 * libraries that make no call of the runtime for it. */
static bool is_told_by_samples(const struct telling *s)
{
	const assay_gap_part_table *p = &s->run->part.t.gap_part;
	int64_t all = 0, by_samples = 0;
	if (!s->run->part.t.sample.n || s->cause > ASSAY_WHY_HOST_OP)
		return s->run->part.t.sample.n > 0;
	for (size_t i = 0; s->cause == ASSAY_WHY_HOST_SYNC && i < p->n; i++) {
		if (p->cause[i] != s->cause ||
		    !assay_gap_in_window(&s->run->part.t.gap, s->c->w, p->gap[i]))
			continue;
		all += p->dur[i];
		by_samples += p->sample[i] != ASSAY_NO_ROW ? p->dur[i] : 0;
	}
	return by_samples * 2 > all;
}

/* A library that has most of the host's own work is where it is spent; what only waits is told by
 * its cause. */
static const char *name_library(const struct telling *s, const char *phrase)
{
	bool works = s->f.cause == assay_why_name[ASSAY_WHY_HOST_PYTHON] ||
		     s->f.cause == assay_why_name[ASSAY_WHY_HOST_DATA];
	if (!works || !s->library)
		return phrase;
	return assay_printf(s->c->scratch, "%s, %s in %s", phrase,
			    s->in.time * 2 > s->f.total ? "mostly" : "much of it",
			    assay_frame_spell(s->c->scratch, assay_text(s->run, s->library)));
}

static void say_why(struct telling *s)
{
	const assay_find_ctx *c = s->c;
	const char *phrase = name_library(s, look_closer(s));
	s->f.text = assay_printf(c->scratch, "the GPU waits %s %s",
				 assay_idle_cost_words(c, s->cost, s->cause), phrase);
	if (!is_told_by_samples(s)) {
		s->f.what_if = assay_printf(c->scratch, "%s=0", assay_why_name[s->cause]);
		if (s->cause == ASSAY_WHY_HOST_DATA)
			assay_idle_weigh_data(c, &s->f);
	}
	s->f.capped = s->cause != ASSAY_WHY_HOST_SYNC && s->cause != ASSAY_WHY_HOST_DATA &&
		      s->cause != ASSAY_WHY_HOST_RUNTIME;
	s->f.has_gap = c->w->longest[s->cause] != ASSAY_NO_ROW;
	s->f.gap = c->w->longest[s->cause];
	s->f.follows = follows(s);
}

/* ------------------------------------------------------------------ where */

static void add_facts(struct telling *s)
{
	const assay_find_ctx *c = s->c;
	const assay_tables *t = &s->run->part.t;
	char count[ASSAY_FMT], longest[ASSAY_FMT], time[ASSAY_FMT];
	assay_per_step each = assay_per_step_of(c, s->f.once);
	uint64_t gaps = c->w->gaps[s->cause];
	if (s->f.has_gap)
		assay_found_add_fact(
			&s->f,
			assay_printf(c->scratch, "%s gap%s, the longest %s before %s",
				     assay_fmt_count(count, gaps), gaps == 1 ? "" : "s",
				     assay_fmt_time(longest, c->w->longest_part[s->cause]),
				     assay_fmt_kernel(
					     c->scratch,
					     assay_text(s->run, t->gpu.name[t->gap.gpu[s->f.gap]]),
					     60)));
	if (s->in.name)
		assay_found_add_fact(
			&s->f,
			assay_printf(c->scratch, "%s in %s (%s%s)",
				     s->in.time * 2 > s->f.total ? "mostly" : "longest stretches",
				     assay_idle_spell(s->run, c->scratch, s->in.name),
				     assay_fmt_time(time, s->in.time / each.steps), each.words));
}

/* With a processor of its own, who is waited for would do the same in the time that it ran for; all
 * of the waiting goes where others do their part meanwhile. */
static void weigh_starved(struct telling *s, assay_cpu_time of)
{
	assay_found *f = &s->f;
	double share, kept = (double)of.delay / (double)(of.cpu + of.delay);
	bool replays = f->what_if && !f->once && assay_find_without(s->c, f->what_if, &share);
	int64_t all = f->saved  ? f->saved
		      : replays ? (int64_t)(share * (double)s->c->whole)
				: f->total;
	f->most = all;
	f->least = f->least > 0 ? (int64_t)(kept * (double)f->least) + 1 : 0;
	f->saved = (int64_t)(kept * (double)all) + 1;
	f->what_if = NULL;
}

/* Who is waited for may wait itself, for a processor: then that is the cause. */
static void look_at_culprit(struct telling *s, const assay_cause_place *at)
{
	enum { MOSTLY = 2 }; /* times as long as it runs */
	const assay_tables *t = &s->run->part.t;
	char cpu[ASSAY_FMT], delay[ASSAY_FMT];
	if (at->culprit == ASSAY_NO_ROW || s->cause == ASSAY_WHY_HOST_CPU_WAIT)
		return;
	assay_cpu_time of =
		assay_cpu_time_of(s->run, s->c->w, t->sample.track[t->seen.culprit[at->sample]]);
	if (of.delay <= MOSTLY * of.cpu || of.delay * 4 < s->f.total)
		return;
	call_it(s, ASSAY_WHY_HOST_CPU_WAIT);
	s->starved = true;
	weigh_starved(s, of);
	s->f.text =
		assay_printf(s->c->scratch, "%s: the one it waits for has no processor", s->f.text);
	assay_found_add_fact(&s->f, assay_printf(s->c->scratch,
						 "that one ran for %s and was ready to run for %s",
						 assay_fmt_time(cpu, of.cpu),
						 assay_fmt_time(delay, of.delay)));
}

/* The program's own line, where calls have stacks: that of who is waited for, else of the launching
 * thread. */
static void add_place(struct telling *s)
{
	assay_found *f = &s->f;
	const assay_window *w = s->c->w;
	assay_cause_place at = assay_cause_place_find(s->run, w->device, w->from, w->to, s->cause);
	s->at = at.stack;
	if (at.stack == ASSAY_NO_ROW)
		return;
	assay_where_in_stack(s->run, assay_cause_place_home(s->run, &at), &f->where);
	assay_found_add_fact(f, assay_cause_place_words(s->c->scratch, s->run, &at));
	look_at_culprit(s, &at);
	uint32_t library = assay_native_code(s->run, at.sample);
	if (library != ASSAY_NO_ROW &&
	    (s->cause == ASSAY_WHY_HOST_NATIVE || s->cause == ASSAY_WHY_HOST_COMPILE))
		f->text = assay_printf(s->c->scratch, "%s: %s", f->text,
				       assay_native_library(s->c->scratch, s->run, library));
}

/* ------------------------------------------------------------------ what to do */

/* A loader of the process itself does more than call the data set, and goes on doing it when that
 * is quick; all of it goes where other processes load. */
static void weigh_loader(struct telling *s)
{
	char time[ASSAY_FMT];
	assay_found *f = &s->f;
	double share = 0, mine = assay_place_share(s->run, s->c->w, ASSAY_WHY_HOST_DATA, s->at);
	int64_t all = assay_find_without(s->c, f->what_if, &share)
			      ? (int64_t)(share * (double)s->c->whole)
			      : f->total;
	assay_per_step each = assay_per_step_of(s->c, f->once);
	if (mine > 0.97 || all <= 0)
		return;
	f->saved = (int64_t)(mine * (double)all);
	f->most = all;
	assay_found_add_fact(
		f, assay_printf(s->c->scratch, "%s%s of it in the loader itself, beside that place",
				assay_fmt_time(time, (all - f->saved) / each.steps), each.words));
}

static const char loads_code_advice[] =
	"code is loaded in every step: kernels or plans made anew for sizes that change (FFTs, compiled or tuned kernels); few sizes (pad, or sort into buckets), and keep what was made";

/* Taking memory waits for the device too, and the first call of all sets up the context; code that
 * every step loads is made for it. */
static const char *advice_of_call(const assay_find_ctx *c, const assay_found *f, assay_why cause)
{
	assay_str op = assay_str_of(f->where.op ? f->where.op : "");
	bool loads = assay_call_meaning_of(op.p, op.n).does == ASSAY_DOES_LOAD;
	if (cause == ASSAY_WHY_HOST_RUNTIME && loads && c->steps && !f->once)
		return loads_code_advice;
	if (cause == ASSAY_WHY_HOST_SYNC && is_of_memory(op))
		return assay_why_advice(ASSAY_WHY_HOST_RUNTIME, c->framework, c->vendor);
	return f->fix;
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

/* Operators that take long by themselves do not launch but compute, as on tensors of the host. */
static bool compute_on_host(const struct telling *s)
{
	enum { LONG = 10 * ASSAY_SHORT_GAP };
	const assay_gap_part_table *p = &s->run->part.t.gap_part;
	int64_t all = 0, sum = 0; /* the wait for the first work of all is in no gap */
	for (size_t i = 0; i < p->n; i++) {
		if (p->cause[i] != ASSAY_WHY_HOST_OP ||
		    !assay_gap_in_window(&s->run->part.t.gap, s->c->w, p->gap[i]))
			continue;
		all += p->dur[i];
		sum += p->dur[i] >= LONG ? p->dur[i] : 0;
	}
	return sum * 3 > all * 2;
}

static void look_at_operators(struct telling *s)
{
	const assay_host_table *h = &s->run->part.t.host;
	assay_found *f = &s->f;
	/* what happens once is first use */
	if (!s->in.name || !s->c->steps || f->once || !compute_on_host(s))
		return;
	s->computes = true;
	uint32_t outer =
		s->in.time * 2 > f->total ? outermost_operator(h, s->in.row) : ASSAY_NO_ROW;
	assay_str name = assay_text(s->run, outer != ASSAY_NO_ROW ? h->name[outer] : 0);
	bool pins = assay_str_find(name, "pin_memory") >= 0;
	f->fix =
		pins ? "memory is pinned anew in every step: pin once and keep the buffer, or have the DataLoader do it ahead (pin_memory=True)"
		     : "operators compute on the host: give them tensors that are on the device, do it once before the loop, or have loader workers do it";
	if (pins)
		f->where.op = assay_dup(s->c->scratch, name);
	if (outer != ASSAY_NO_ROW && h->name[outer] != s->in.name)
		assay_found_add_fact(f, assay_printf(s->c->scratch, "called by %s",
						     assay_fmt_safe(s->c->scratch, name)));
}

/* The way of the host through libraries may say more than the cause does, or another one. It says
 * nothing of a thread that may not run there. */
static void tell_detour(struct telling *s)
{
	if (s->starved || s->cause == ASSAY_WHY_HOST_CPU_WAIT || s->cause == ASSAY_WHY_HOST_GIL)
		return;
	assay_detour way = assay_detour_of(s->run, s->c->w, s->cause);
	if (!way.says && s->way < assay_detours)
		way = assay_detour_number((uint8_t)s->way);
	if (!way.says)
		return;
	s->f.fix = way.fix;
	assay_found_add_fact(&s->f, way.says);
	if (way.as == ASSAY_WHY_COUNT)
		return;
	s->f.cause = assay_why_name[way.as];
	s->f.text = assay_printf(s->c->scratch, "the GPU waits %s: %s",
				 assay_idle_cost_words(s->c, s->cost, s->cause), way.says);
}

static void say_what_to_do(struct telling *s)
{
	if (s->cause != ASSAY_WHY_HOST_SYNC || !s->first_use)
		s->f.fix = advice_of_call(s->c, &s->f, s->cause);
	if (s->cause == ASSAY_WHY_HOST_SYNC && s->at == ASSAY_NO_ROW && !s->f.follows)
		assay_idle_weigh_read_backs(s->run, s->c, &s->f);
	if (s->cause == ASSAY_WHY_HOST_OP && !s->stalls) {
		look_at_operators(s);
		assay_first_shapes_tell(s->run, s->c, &s->f);
	}
	tell_detour(s);
}

/* Where a trace has Python frames, the row that gave the cause is one around the work, or one of
 * many in it: its time is shared out over all frames. */
static void look_at_frames(struct telling *s)
{
	const assay_run *run = s->run;
	assay_where *where = &s->f.where;
	bool frame = s->in.name && run->part.t.host.kind[s->in.row] == ASSAY_HOST_PYTHON;
	if (!frame && s->cause != ASSAY_WHY_HOST_DATA)
		return;
	assay_frame_time of = assay_frame_time_of(run, s->c->w, s->cause);
	s->way = of.way;
	if (frame)
		*where = (assay_where){0}; /* of one frame, which may have little */
	if (of.own.time * 2 > of.all)
		assay_frame_where(s->c->scratch, assay_text(run, of.own.name), where);
	assay_str deepest = assay_text(run, of.deepest.name);
	bool works = of.deepest.name && finer_cause(deepest) == ASSAY_WHY_HOST_PYTHON;
	if (frame || works)
		s->in = of.deepest;
	s->library = works && !assay_is_own_frame(deepest) ? of.deepest.name : 0;
}

/* One of many operators that take little each is not the place. */
static bool is_spread(const struct telling *s)
{
	enum { FEW = 10 };
	return s->cause == ASSAY_WHY_HOST_OP && !s->f.once && s->in.time * FEW < s->f.total;
}

assay_idle_named assay_idle_tell(const assay_run *run, const assay_find_ctx *c,
				 const assay_idle_cost *cost, assay_why cause, bool drained)
{
	struct telling s = {.run = run, .c = c, .cost = cost, .cause = cause, .way = assay_detours};
	s.in = assay_idle_name_of(run, c->w, cause);
	s.f = (assay_found){.id = assay_why_name[cause],
			    .where = assay_idle_where(run, c->scratch, &s.in),
			    .total = cost->total[cause],
			    .once = c->steps && !cost->steady[cause],
			    .confidence = assay_why_rows[cause].certainty * explained(c)};
	if (is_spread(&s))
		s.f.where = (assay_where){0};
	look_at_frames(&s);
	assay_idle_line_where(run, c->w, cause, &s.f.where);
	if (!s.f.where.file)
		assay_own_line_of_cause(run, c, cause, s.in.name, &s.f.where);
	say_why(&s);
	if (drained) {
		s.f.saved = s.f.total;
		s.f.replayed = true;
		s.at = assay_idle_drained_where(run, c, cost, &s.f);
	} else {
		add_facts(&s);
		add_place(&s);
	}
	if (cause == ASSAY_WHY_HOST_DATA && s.at != ASSAY_NO_ROW && !s.starved)
		weigh_loader(&s);
	say_what_to_do(&s);
	assay_idle_named n = {.found = s.f,
			      .cause = cause,
			      .at = s.at,
			      .drained = drained,
			      .computes = s.computes};
	assay_idle_named_look(run, c, &n);
	if (cause == ASSAY_WHY_HOST_SYNC)
		assay_idle_sync_tell(run, c, drained, &n);
	return n;
}

TEST(functions_of_c_inside_python_say_what_a_thread_waited_for)
{
	static const struct {
		const char *frame;
		assay_why cause;
	} cases[] = {
		{"<built-in method recv_into of socket object at 0x7f40>", ASSAY_WHY_HOST_IO},
		{"<built-in method read of _ssl._SSLSocket object at 0x7f40>", ASSAY_WHY_HOST_IO},
		{"<built-in method write_record of torch._C.PyTorchFileWriter object at 0x7f>",
		 ASSAY_WHY_HOST_IO},
		{"<built-in method get of _queue.SimpleQueue object at 0x7f>", ASSAY_WHY_HOST_LOCK},
		{"<built-in function waitpid>", ASSAY_WHY_HOST_CHILD},
		{"<built-in function sleep>", ASSAY_WHY_HOST_SLEEP},
		{"<built-in function readinto_my_way>", ASSAY_WHY_HOST_PYTHON},
		{"socket.py(700): of socket object", ASSAY_WHY_HOST_PYTHON},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(finer_cause(assay_str_of(cases[i].frame)), cases[i].cause);
	return 0;
}

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

/* Two gaps of 3 ms; the first work of all is waited for as well, which is in no gap. */
TEST(the_wait_for_the_first_work_says_nothing_of_what_operators_do)
{
	enum { MS = 1000000 };
	assay_run *run = assay_run_new();
	assay_window w = {.to = 100 * MS};
	assay_find_ctx c = {.w = &w};
	struct telling s = {.run = run, .c = &c, .cause = ASSAY_WHY_HOST_OP};
	s.f.total = 20 * MS;
	for (int i = 0; i < 2; i++)
		assay_hand_gap(run, ASSAY_WHY_HOST_OP, 10 * MS * i, 3 * MS);
	CHECK(compute_on_host(&s));
	for (int i = 0; i < 40; i++) /* and half as much in short ones */
		assay_hand_gap(run, ASSAY_WHY_HOST_OP, 20 * MS + i * MS, MS / 10);
	CHECK(!compute_on_host(&s));
	assay_run_free(run);
	return 0;
}

TEST(waits_for_values_that_no_call_shows_are_not_replayed)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w};
	struct telling s = {.run = run, .c = &c, .cause = ASSAY_WHY_HOST_SYNC};
	uint32_t gap = assay_add(t, ASSAY_T_gap), sample = assay_add(t, ASSAY_T_sample);
	t->gap.device[gap] = 0;
	t->gap.dur[gap] = 100;
	for (int i = 0; i < 2; i++) {
		uint32_t part = assay_add(t, ASSAY_T_gap_part);
		t->gap_part.gap[part] = gap;
		t->gap_part.cause[part] = ASSAY_WHY_HOST_SYNC;
		t->gap_part.dur[part] = i ? 60 : 40;
		t->gap_part.sample[part] = i ? sample : ASSAY_NO_ROW;
		CHECK_EQ(is_told_by_samples(&s), i == 1);
	}
	assay_run_free(run);
	return 0;
}

TEST(time_inside_calls_that_copy_pageable_memory_asks_for_pinned)
{
	static const struct {
		const char *work;
		int64_t time; /* before it; 49 before a kernel */
		bool copies;
	} cases[] = {
		{"Memcpy HtoD (Pageable -> Device)", 51, true},
		{"Memcpy DtoH (Device -> Host)", 51, true},
		{"Memcpy HtoD (Pageable -> Device)", 49, false},
		{"Memcpy HtoD (Pinned -> Device)", 51, false},
		{"Memcpy DtoD (Device -> Device)", 51, false},
		{"gemm", 51, false},
	};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.to = 1000};
	assay_find_ctx c = {.w = &w};
	assay_idle_cost cost = {.total[ASSAY_WHY_LAUNCH_CALL] = 100};
	uint32_t gap[2];
	for (int i = 0; i < 2; i++) {
		gap[i] = assay_hand_gap(run, ASSAY_WHY_LAUNCH_CALL, 100 * i, 49);
		t->gap.gpu[gap[i]] = assay_hand_gpu(run, "gemm", 100 * i + 90, 5, ASSAY_NO_ROW);
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		struct telling s = {.run = run, .c = &c, .cost = &cost};
		s.cause = ASSAY_WHY_LAUNCH_CALL;
		s.f.total = 49 + cases[i].time;
		t->gap_part.dur[1] = cases[i].time;
		t->gpu.name[t->gap.gpu[gap[1]]] = assay_sid_of(run, cases[i].work);
		t->gpu.kind[t->gap.gpu[gap[1]]] =
			*cases[i].work == 'M' ? ASSAY_GPU_MEMCPY : ASSAY_GPU_KERNEL;
		const char *phrase = look_closer(&s);
		CHECK_EQ(strstr(phrase, "copy") != NULL, cases[i].copies);
		CHECK_EQ(strstr(s.f.fix, "pinned") != NULL, cases[i].copies);
	}
	assay_run_free(run);
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
	struct telling s = {.run = run, .c = &c, .cause = ASSAY_WHY_HOST_DATA};
	s.f = (assay_found){.id = "host_data", .cause = "host_data", .text = "", .total = 600};
	t->sample.cpu[worker] = 200;
	t->sample.delay[worker] = 400;
	look_at_culprit(&s, &at);
	CHECK(!strcmp(s.f.cause, "host_data")); /* it runs for a third */
	t->sample.delay[worker] = 401;
	look_at_culprit(&s, &at);
	CHECK(!strcmp(s.f.cause, "host_cpu_wait") && s.f.fact[0]);
	CHECK(s.f.saved == 401 && s.f.most == 600); /* the 200 that it runs for stay, or not */
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

TEST(one_of_many_operators_that_take_little_is_not_the_place)
{
	struct telling s = {.cause = ASSAY_WHY_HOST_OP, .in.time = 9, .f.total = 100};
	CHECK(is_spread(&s));
	s.in.time = 10;
	CHECK(!is_spread(&s));
	s.in.time = 1;
	s.f.once = true; /* in one gap that is all there is */
	CHECK(!is_spread(&s));
	s.f.once = false;
	s.cause = ASSAY_WHY_HOST_PYTHON;
	CHECK(!is_spread(&s));
	return 0;
}

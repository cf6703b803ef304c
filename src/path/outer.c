#include "path/outer.h"

#include "analyze/analyze.h"
#include "analyze/idle_lines.h"
#include "base/median.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/calls.h"
#include "names/copies.h"
#include "path/worth.h"

struct assay_path_launches {
	assay_map at;      /* call -> launched */
	uint32_t *of_work; /* the same by work; ASSAY_MAP_ABSENT: no call is known */
	assay_vec(assay_launched) launched;
	int64_t kernels; /* ns of all kernels */
};

struct search {
	const assay_path_graph *g;
	const struct assay_path_launches *launches;
	unsigned *gone; /* by launched: pieces of work that are not to be launched; NULL: none */
	assay_outers *out;
};

static void add_launched(assay_launched *to, const assay_launched *from)
{
	to->kernels += from->kernels;
	to->bytes += from->bytes;
	to->count += from->count;
	to->product |= from->product;
	to->reduces |= from->reduces;
	to->sends |= from->sends;
	to->brings |= from->brings;
}

static assay_launched look_at_work(const assay_path_graph *g, uint32_t work)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t gpu = g->gpu[work];
	uint8_t family = t->kernel.family[g->kernel[work]];
	bool kernel = t->gpu.kind[gpu] == ASSAY_GPU_KERNEL,
	     copy = t->gpu.kind[gpu] == ASSAY_GPU_MEMCPY;
	assay_copy_way way = copy ? assay_copy_way_of(assay_text(g->run, t->gpu.name[gpu]))
				  : ASSAY_COPY_ELSEWHERE;
	return (assay_launched){.kernels = kernel ? g->base.dur[work] : 0,
				.bytes = copy ? t->gpu.bytes[gpu] : 0,
				.count = 1,
				.product = kernel && (family == ASSAY_FAMILY_GEMM ||
						      family == ASSAY_FAMILY_CONV ||
						      family == ASSAY_FAMILY_ATTENTION),
				.reduces = kernel && family == ASSAY_FAMILY_REDUCTION,
				.sends = copy && assay_copy_from_host(way),
				.brings = copy && assay_copy_to_host(way)};
}

void assay_path_find_launches(assay_path_graph *g)
{
	struct assay_path_launches *l = assay_alloc(&g->arena, sizeof *l);
	l->of_work = assay_alloc(&g->arena, (g->work + 1) * sizeof *l->of_work);
	for (uint32_t i = 0; i < g->work; i++) {
		uint32_t call = g->run->part.t.launch.host[g->gpu[i]];
		assay_launched one = look_at_work(g, i);
		l->kernels += one.kernels;
		l->of_work[i] = ASSAY_MAP_ABSENT;
		if (call == ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&l->at, call);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)l->launched.n;
			*assay_push(&l->launched) = (assay_launched){0};
		}
		l->of_work[i] = *slot;
		add_launched(&l->launched.p[*slot], &one);
	}
	g->launches = l;
}

void assay_path_launches_free(assay_path_graph *g)
{
	if (!g->launches)
		return;
	assay_map_free(&g->launches->at);
	assay_vec_free(&g->launches->launched);
}

/* goes: by row of gpu. */
static unsigned *count_gone(const assay_path_graph *g, const bool *goes, assay_arena *a)
{
	const struct assay_path_launches *l = g->launches;
	unsigned *gone = assay_alloc(a, (l->launched.n + 1) * sizeof *gone);
	for (uint32_t i = 0; i < g->work; i++)
		if (goes[g->gpu[i]] && l->of_work[i] != ASSAY_MAP_ABSENT)
			gone[l->of_work[i]]++;
	return gone;
}

/* Only calls launch. */
static uint32_t launched_by(const struct search *s, uint32_t row, bool call)
{
	return call ? assay_map_get(&s->launches->at, row) : ASSAY_MAP_ABSENT;
}

/* What waits for a copy to the host is one with it. */
static assay_outer *begin_call(struct search *s, uint32_t thread, uint32_t row, size_t first)
{
	const assay_tables *t = &s->g->run->part.t;
	uint32_t stack = assay_call_stack(t, row);
	assay_outer *last = s->out->op.n > first ? &s->out->op.p[s->out->op.n - 1] : NULL;
	uint64_t line = assay_line_key(t, assay_own_call(t, stack));
	bool near = last && last->line == line && t->host.ts[row] - last->to <= ASSAY_OUTER_APART;
	bool waits = s->g->causes.cause[row] == ASSAY_WHY_HOST_SYNC;
	if (near && waits && last->what.brings && !last->blocks) {
		last->to = assay_host_end(&t->host, row);
		return last;
	}
	int64_t from = near ? last->to : t->host.ts[row];
	*assay_push(&s->out->op) = (assay_outer){.row = row,
						 .thread = thread,
						 .from = from,
						 .to = assay_host_end(&t->host, row),
						 .line = line};
	return &s->out->op.p[s->out->op.n - 1];
}

/* Between two operators, in the middle; 0: there are too few. */
static int64_t usual_way(const struct search *s, size_t first)
{
	enum { FEW = 8 };
	assay_vec(int64_t) way = {0};
	for (size_t i = first + 1; i < s->out->op.n; i++) {
		const assay_outer *a = &s->out->op.p[i - 1], *b = &s->out->op.p[i];
		if (!a->bare && !b->bare && a->thread == b->thread &&
		    b->from - a->to <= ASSAY_OUTER_APART)
			*assay_push(&way) = b->from - a->to;
	}
	int64_t usual = way.n < FEW ? 0 : assay_median_lower(way.p, way.n);
	assay_vec_free(&way);
	return usual;
}

static int64_t at_most(int64_t ns, int64_t most)
{
	return ns < most ? ns : most;
}

/* The program goes to a call that only waits and away from it: without the call one way of the
 * usual length is left. What is longer than two of those is there for something else, and between
 * two such calls what is longer than one. */
static void take_ways(struct search *s, size_t first)
{
	int64_t usual = usual_way(s, first);
	for (size_t i = first; i < s->out->op.n; i++) {
		assay_outer *o = &s->out->op.p[i];
		bool behind =
			i > first && o[-1].bare && o[-1].after == s->g->run->part.t.host.ts[o->row];
		bool before = i + 1 < s->out->op.n && o[1].bare && o[1].from == o->after;
		if (!o->bare || !usual) {
			o->blocks &= !o->bare;
			continue;
		}
		int64_t in = behind ? 0 : at_most(o->from - o->before, 2 * usual);
		int64_t out = at_most(o->after - o->to, before ? usual : 2 * usual);
		int64_t goes = in + out - (behind ? 0 : usual);
		out = at_most(out, goes);
		o->to += out > 0 ? out : 0;
		o->from -= goes > out ? goes - out : 0;
	}
}

/* A call that waits for a stream or a device, and nothing before it brought a value; one that takes
 * long waits for what is needed. */
static bool is_bare_wait(const struct search *s, uint32_t row, size_t first)
{
	const assay_path_graph *g = s->g;
	if (g->causes.cause[row] != ASSAY_WHY_HOST_SYNC ||
	    g->run->part.t.host.dur[row] > ASSAY_OUTER_APART)
		return false;
	assay_str name = assay_text(g->run, g->run->part.t.host.name[row]);
	assay_call_does does = assay_call_meaning_of(name.p, name.n).does;
	return (does == ASSAY_DOES_STREAM_SYNC || does == ASSAY_DOES_DEVICE_SYNC) &&
	       !(s->out->op.n > first && s->out->op.p[s->out->op.n - 1].what.brings);
}

/* Where the last of a thread's operators and calls ended; and whether the last of those found has
 * yet to hear where the next begins. */
struct rows_so_far {
	int64_t end;
	bool asks;
};

static void tell_next(struct search *s, struct rows_so_far *r, int64_t begins)
{
	assay_outer *last = r->asks ? &s->out->op.p[s->out->op.n - 1] : NULL;
	if (!last || begins < last->to)
		return;
	last->after = begins;
	r->asks = false;
}

static assay_outer *begin_bare(struct search *s, struct rows_so_far *r, uint32_t thread,
			       uint32_t row)
{
	const assay_host_table *h = &s->g->run->part.t.host;
	int64_t from = h->ts[row], to = assay_host_end(h, row);
	*assay_push(&s->out->op) = (assay_outer){.row = row,
						 .thread = thread,
						 .from = from,
						 .to = to,
						 .before = r->end < from ? r->end : from,
						 .after = to,
						 .bare = true};
	r->asks = true;
	return &s->out->op.p[s->out->op.n - 1];
}

/* A launch that nothing is around, with the way to it from what the thread did before. */
static assay_outer *begin_launch(struct search *s, const struct rows_so_far *r, uint32_t thread,
				 uint32_t row)
{
	const assay_host_table *h = &s->g->run->part.t.host;
	int64_t ts = h->ts[row];
	bool near = r->end < ts && ts - r->end <= ASSAY_OUTER_APART;
	*assay_push(&s->out->op) = (assay_outer){.row = row,
						 .thread = thread,
						 .from = near ? r->end : ts,
						 .to = assay_host_end(h, row)};
	return &s->out->op.p[s->out->op.n - 1];
}

/* Memory that is taken or given back waits for the device, too, and brings no value. */
static bool waits_for_value(const assay_path_graph *g, uint32_t row)
{
	if (g->causes.cause[row] != ASSAY_WHY_HOST_SYNC)
		return false;
	assay_str name = assay_text(g->run, g->run->part.t.host.name[row]);
	assay_call_does does = assay_call_meaning_of(name.p, name.n).does;
	return does != ASSAY_DOES_ALLOC && does != ASSAY_DOES_FREE;
}

static void find_operators(struct search *s, uint32_t thread)
{
	const assay_path_graph *g = s->g;
	const assay_host_table *h = &g->run->part.t.host;
	const assay_lane *lane = g->causes.of_track[g->thread.p[thread].track];
	size_t before = s->out->op.n;
	struct rows_so_far rows = {.end = lane->n ? h->ts[lane->row[0]] : 0};
	for (size_t i = 0; i < lane->n; i++) {
		uint32_t row = lane->row[i], at;
		assay_outer *in = s->out->op.n > before ? &s->out->op.p[s->out->op.n - 1] : NULL;
		in = in && h->ts[row] < in->to ? in : NULL;
		bool call = assay_is_call(h->kind[row]),
		     counts = h->kind[row] == ASSAY_HOST_OP || call;
		if (counts)
			tell_next(s, &rows, h->ts[row]);
		if (h->kind[row] == ASSAY_HOST_OP && !in)
			*assay_push(&s->out->op) = (assay_outer){.row = row,
								 .thread = thread,
								 .from = h->ts[row],
								 .to = assay_host_end(h, row)};
		else if (!in && assay_call_stack(&g->run->part.t, row) != ASSAY_NO_ROW)
			in = begin_call(s, thread, row, before);
		else if (!in && is_bare_wait(s, row, before))
			in = begin_bare(s, &rows, thread, row);
		else if (!in && s->gone && launched_by(s, row, call) != ASSAY_MAP_ABSENT)
			in = begin_launch(s, &rows, thread, row);
		if (counts && assay_host_end(h, row) > rows.end)
			rows.end = assay_host_end(h, row);
		if (!in)
			continue;
		bool waits = waits_for_value(g, row);
		in->blocks |= waits;
		in->waits += waits;
		in->behind = waits ? 0 : in->behind;
		at = launched_by(s, row, call);
		if (at == ASSAY_MAP_ABSENT)
			continue;
		add_launched(&in->what, &s->launches->launched.p[at]);
		in->what.gone += s->gone ? s->gone[at] : 0;
		in->behind += in->blocks && s->launches->launched.p[at].kernels;
	}
	take_ways(s, before);
}

/* Where a program waits now and then, the call has its place there; where few pieces of work lie
 * from one to the next, it times or looks. */
static void leave_rare_waits(struct search *s)
{
	size_t bare = 0;
	for (size_t i = 0; i < s->out->op.n; i++)
		bare += s->out->op.p[i].bare;
	for (size_t i = 0; bare * ASSAY_DENSE_WORK < s->g->work && i < s->out->op.n; i++)
		s->out->op.p[i].blocks &= !s->out->op.p[i].bare;
}

void assay_outers_find(assay_outers *out, const assay_path_graph *g, const bool *goes)
{
	assay_arena scratch = {0};
	struct search s = {.g = g, .launches = g->launches, .out = out};
	*out = (assay_outers){.g = g, .kernels = g->launches->kernels};
	if (goes)
		s.gone = count_gone(g, goes, &scratch);
	for (uint32_t i = 0; i < g->thread.n; i++)
		find_operators(&s, i);
	leave_rare_waits(&s);
	out->way = usual_way(&s, 0);
	assay_arena_free(&scratch);
}

void assay_outers_free(assay_outers *s)
{
	assay_vec_free(&s->op);
}

int64_t assay_outers_usual(const assay_outers *s)
{
	assay_vec(int64_t) dur = {0};
	for (size_t i = 0; i < s->op.n; i++) {
		const assay_outer *o = &s->op.p[i];
		if (!o->blocks && !o->bare && o->what.count == 1)
			*assay_push(&dur) = o->to - o->from;
	}
	int64_t usual = dur.n ? assay_median_lower(dur.p, dur.n) : 0;
	assay_vec_free(&dur);
	return usual;
}

/* ------------------------------------------------------------------ without some */

/* Python between two that go does nothing but call them. */
static bool is_joined(const assay_outer *a, const assay_outer *b)
{
	return a->goes && b->goes && !a->bare && !b->bare && a->thread == b->thread &&
	       b->from - a->to <= ASSAY_OUTER_APART;
}

/* What remains of a segment without the time between two instants. */
static int64_t left_of(const assay_path_graph *g, uint32_t point, int64_t from, int64_t to)
{
	int64_t begin = g->measured.at[point], end = g->measured.at[point + 1];
	int64_t before = from > begin ? from - begin : 0, after = end > to ? end - to : 0;
	return before + after < g->base.len[point] ? before + after : g->base.len[point];
}

/* Where one of several that follow each other goes, so does one of the ways between them. */
static int64_t end_of_gone(const assay_outers *s, size_t i)
{
	const assay_outer *o = &s->op.p[i], *next = i + 1 < s->op.n ? o + 1 : NULL;
	if (o->keeps || o->bare || !next || next->bare || next->thread != o->thread ||
	    next->from < o->to || next->from - o->to > ASSAY_OUTER_APART)
		return o->to - o->keeps;
	return is_joined(o, next) ? next->from : o->to + at_most(next->from - o->to, s->way);
}

static void drop_segments(const assay_outers *s, bool *gone, assay_path_changes *out)
{
	const assay_path_graph *g = s->g;
	for (size_t i = 0; i < s->op.n; i++) {
		const assay_outer *o = &s->op.p[i];
		if (!o->goes)
			continue;
		int64_t to = end_of_gone(s, i);
		const assay_path_thread *t = &g->thread.p[o->thread];
		uint32_t p = assay_path_point_at(g, t->track, o->from);
		for (; p != ASSAY_DEP_NONE && p < t->first + t->n - 1 && g->measured.at[p] < to;
		     p++) {
			gone[p] |= g->measured.at[p] >= o->from;
			assay_path_change_segment(g, out, p, left_of(g, p, o->from, to));
		}
	}
}

/* By work: is what launches it gone? Between two such pieces of work a stream does not pause. */
static void find_gone_work(const assay_path_graph *g, const bool *gone, bool *work)
{
	for (uint32_t i = 0; i < g->deps; i++)
		if (g->dep[i].kind == ASSAY_DEP_LAUNCH && gone[g->dep[i].from])
			work[g->dep[i].to - g->points] = true;
}

/* ns of a piece of work that goes. */
static int64_t rest_of(const assay_outers *s, uint32_t work)
{
	int64_t dur = s->g->base.dur[work];
	return s->stays && dur > s->stays ? dur - s->stays : 0;
}

static void drop_deps(const assay_outers *s, const bool *gone, const bool *work,
		      assay_path_changes *out)
{
	const assay_path_graph *g = s->g;
	for (uint32_t i = 0; i < g->deps; i++) {
		const assay_path_dep *d = &g->dep[i];
		if (d->kind == ASSAY_DEP_LAUNCH && gone[d->from]) {
			uint32_t at = d->to - g->points;
			*assay_push(&out->dur) = (assay_path_change){at, rest_of(s, at)};
			*assay_push(&out->lag) = (assay_path_change){i, 0};
		} else if (d->kind == ASSAY_DEP_STREAM && work[d->to - g->points]) {
			*assay_push(&out->lag) = (assay_path_change){i, 0};
		} else if (d->kind == ASSAY_DEP_SYNC && d->to && gone[d->to - 1] &&
			   g->base.lag[i] != ASSAY_DEP_DROPPED) {
			*assay_push(&out->lag) = (assay_path_change){i, ASSAY_DEP_DROPPED};
		}
	}
}

void assay_outers_drop(const assay_outers *s, assay_path_changes *out)
{
	assay_arena scratch = {0};
	bool *gone = assay_alloc(&scratch, s->g->points + 1);
	bool *work = assay_alloc(&scratch, s->g->work + 1);
	drop_segments(s, gone, out);
	find_gone_work(s->g, gone, work);
	drop_deps(s, gone, work, out);
	assay_arena_free(&scratch);
}

/* An operator of which some launches go takes less by their share. */
static void shrink(const assay_outers *s, const assay_outer *o, assay_path_changes *out)
{
	const assay_path_graph *g = s->g;
	const assay_path_thread *t = &g->thread.p[o->thread];
	double left = 1 - (double)o->what.gone / (double)o->what.count;
	uint32_t p = assay_path_point_at(g, t->track, o->from);
	for (; p != ASSAY_DEP_NONE && p < t->first + t->n - 1 && g->measured.at[p] < o->to; p++)
		if (g->measured.at[p] >= o->from)
			assay_path_change_segment(g, out, p,
						  (int64_t)((double)g->base.len[p] * left));
}

static void change_work(const assay_path_graph *g, const bool *goes, const int64_t *dur,
			assay_path_changes *out)
{
	for (uint32_t i = 0; i < g->work; i++) {
		if (dur[g->gpu[i]] >= 0)
			*assay_push(&out->dur) = (assay_path_change){i, dur[g->gpu[i]]};
	}
	for (uint32_t i = 0; i < g->deps; i++) {
		const assay_path_dep *d = &g->dep[i];
		if ((d->kind == ASSAY_DEP_LAUNCH || d->kind == ASSAY_DEP_STREAM) &&
		    goes[g->gpu[d->to - g->points]])
			*assay_push(&out->lag) = (assay_path_change){i, 0};
	}
}

/* With what the host does for them; false where that is not known of most. */
static bool drop_launches(const assay_path_graph *g, const bool *goes, uint64_t all,
			  assay_path_changes *out)
{
	assay_outers s;
	assay_arena scratch = {0};
	uint64_t known = 0;
	assay_outers_find(&s, g, goes);
	for (size_t i = 0; i < s.op.n; i++)
		known += s.op.p[i].what.gone;
	bool most = known * 10 >= all * 9;
	for (size_t i = 0; most && i < s.op.n; i++) {
		assay_outer *o = &s.op.p[i];
		o->goes = o->what.count && o->what.gone == o->what.count && !o->blocks;
		if (!o->goes && o->what.gone)
			shrink(&s, o, out);
	}
	if (most)
		drop_segments(&s, assay_alloc(&scratch, g->points + 1), out);
	assay_outers_free(&s);
	assay_arena_free(&scratch);
	return most;
}

bool assay_path_without_launches(const assay_path_graph *g, const bool *goes, const int64_t *dur,
				 assay_path_changes *out)
{
	uint64_t all = 0;
	for (uint32_t i = 0; i < g->work; i++)
		all += goes[g->gpu[i]];
	if (all && !drop_launches(g, goes, all, out))
		return false;
	change_work(g, goes, dur, out);
	return true;
}

enum { US = 1000, TURN = 20 * US };

/* Operators of 15 us, 5 us apart, each with a kernel of 2 us; two launches in every other one.
 * Share of the time that goes with all kernels of a name; -1: it is not known. */
static double without(const char *name, bool operators)
{
	enum { N = 60 };
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	assay_add(t, ASSAY_T_source);
	for (int i = 0; i < N; i++) {
		int64_t at = i * TURN;
		if (operators)
			assay_hand_host(run, ASSAY_HOST_OP, "aten::add", at, 15 * US);
		for (int k = 0; k < 1 + i % 2; k++) {
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
							at + (3 + 6 * k) * US, 4 * US);
			assay_hand_gpu(run, i % 2 ? k ? "last" : "first" : "one",
				       at + (8 + 5 * k) * US, 2 * US, call);
		}
	}
	bool *goes = assay_alloc(&scratch, t->gpu.n + 1);
	int64_t *dur = assay_alloc(&scratch, (t->gpu.n + 1) * sizeof *dur);
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		goes[i] = assay_str_is(assay_text(run, t->gpu.name[i]), name);
		dur[i] = goes[i] ? 0 : -1;
	}
	uint32_t d = assay_add(t, ASSAY_T_device_time);
	t->device_time.source[d] = t->track.source[t->gpu.track[0]];
	t->device_time.device[d] = t->track.pid[t->gpu.track[0]];
	assay_kernels(run);
	assay_window window = {.device = 0, .from = 0, .to = N * TURN, .steps = N};
	assay_worth *w = assay_worth_open(run, &window);
	double share = -1;
	if (!assay_worth_without_launches(w, goes, dur, &share))
		share = -1;
	assay_worth_close(w);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return share;
}

TEST(what_is_launched_no_more_goes_with_its_operators)
{
	double one = without("one", true), first = without("first", true);
	CHECK(one > 0.48 && one < 0.52); /* every other turn */
	CHECK(first > 0.5 * 7.5 / 20 - 0.02 && first < 0.5 * 7.5 / 20 + 0.02); /* half of one */
	CHECK_EQ(without("none", true), 0);
	one = without("one", false); /* to its call from the one before, 14 of 40 us */
	CHECK(one > 0.33 && one < 0.37);
	return 0;
}

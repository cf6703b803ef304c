/* A program without operators of a kind: those, and calls, that wait for the device to read a value
 * back, and what only makes the values; or those that send little each. */
#include "analyze/path_graph.h"

#include "analyze/idle_lines.h"
#include "base/median.h"
#include "names/calls.h"
#include "names/copies.h"

/* What a call launched. */
struct launched {
	int64_t kernels, bytes;               /* ns; of copies */
	unsigned count, gone;                 /* gone: of them, what is not to be launched */
	bool product, reduces, sends, brings; /* brings: copies to the host */
};

/* An operator that is in no other; of recordings with stacks a call outside operators, with the way
 * to it from the last call of the same line; of others a call outside that waits. */
struct outer {
	uint32_t row, thread;
	int64_t from, to;
	int64_t before,
		after; /* of such a call: the end of the row before, the begin of the next */
	struct launched what;
	uint64_t line;           /* of a call with a stack; 0: it is none */
	unsigned waits;          /* calls that block */
	bool blocks, goes, bare; /* bare: outside of operators, and nothing says where */
};

struct search {
	const assay_path_graph *g;
	assay_map at; /* call -> launched */
	assay_vec(struct launched) launched;
	assay_vec(struct outer) op;
};

static void add_launched(struct launched *to, const struct launched *from)
{
	to->kernels += from->kernels;
	to->bytes += from->bytes;
	to->count += from->count;
	to->product |= from->product;
	to->reduces |= from->reduces;
	to->sends |= from->sends;
	to->brings |= from->brings;
}

static struct launched look_at_work(const assay_path_graph *g, uint32_t work)
{
	const assay_tables *t = &g->run->part.t;
	uint32_t gpu = g->gpu[work];
	uint8_t family = t->kernel.family[g->kernel[work]];
	bool kernel = t->gpu.kind[gpu] == ASSAY_GPU_KERNEL,
	     copy = t->gpu.kind[gpu] == ASSAY_GPU_MEMCPY;
	assay_copy_way way = copy ? assay_copy_way_of(assay_text(g->run, t->gpu.name[gpu]))
				  : ASSAY_COPY_ELSEWHERE;
	return (struct launched){.kernels = kernel ? g->base.dur[work] : 0,
				 .bytes = copy ? t->gpu.bytes[gpu] : 0,
				 .count = 1,
				 .product = kernel && (family == ASSAY_FAMILY_GEMM ||
						       family == ASSAY_FAMILY_CONV ||
						       family == ASSAY_FAMILY_ATTENTION),
				 .reduces = kernel && family == ASSAY_FAMILY_REDUCTION,
				 .sends = copy && assay_copy_from_host(way),
				 .brings = copy && assay_copy_to_host(way)};
}

static int64_t gather_launched(struct search *s)
{
	int64_t all = 0;
	for (uint32_t i = 0; i < s->g->work; i++) {
		uint32_t call = s->g->run->part.t.launch.host[s->g->gpu[i]];
		struct launched one = look_at_work(s->g, i);
		all += one.kernels;
		if (call == ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&s->at, call);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)s->launched.n;
			*assay_push(&s->launched) = (struct launched){0};
		}
		add_launched(&s->launched.p[*slot], &one);
	}
	return all;
}

enum { APART = 100 * 1000 }; /* ns in which Python does nothing but call */

/* What waits for a copy to the host is one with it. */
static struct outer *begin_call(struct search *s, uint32_t thread, uint32_t row, size_t first)
{
	const assay_tables *t = &s->g->run->part.t;
	uint32_t stack = assay_call_stack(t, row);
	struct outer *last = s->op.n > first ? &s->op.p[s->op.n - 1] : NULL;
	uint64_t line = assay_line_key(t, assay_own_call(t, stack));
	bool near = last && last->line == line && t->host.ts[row] - last->to <= APART;
	bool waits = s->g->causes.cause[row] == ASSAY_WHY_HOST_SYNC;
	if (near && waits && last->what.brings && !last->blocks) {
		last->to = assay_host_end(&t->host, row);
		return last;
	}
	int64_t from = near ? last->to : t->host.ts[row];
	*assay_push(&s->op) = (struct outer){.row = row,
					     .thread = thread,
					     .from = from,
					     .to = assay_host_end(&t->host, row),
					     .line = line};
	return &s->op.p[s->op.n - 1];
}

/* Between two operators, in the middle; 0: there are too few. */
static int64_t usual_way(const struct search *s, size_t first)
{
	enum { FEW = 8 };
	assay_vec(int64_t) way = {0};
	for (size_t i = first + 1; i < s->op.n; i++) {
		const struct outer *a = &s->op.p[i - 1], *b = &s->op.p[i];
		if (!a->bare && !b->bare && b->from - a->to <= APART)
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
	for (size_t i = first; i < s->op.n; i++) {
		struct outer *o = &s->op.p[i];
		bool behind =
			i > first && o[-1].bare && o[-1].after == s->g->run->part.t.host.ts[o->row];
		bool before = i + 1 < s->op.n && o[1].bare && o[1].from == o->after;
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
	assay_str name = assay_text(g->run, g->run->part.t.host.name[row]);
	assay_call_does does = assay_call_meaning_of(name.p, name.n).does;
	return g->causes.cause[row] == ASSAY_WHY_HOST_SYNC &&
	       g->run->part.t.host.dur[row] <= APART &&
	       (does == ASSAY_DOES_STREAM_SYNC || does == ASSAY_DOES_DEVICE_SYNC) &&
	       !(s->op.n > first && s->op.p[s->op.n - 1].what.brings);
}

/* Where the last of a thread's operators and calls ended; and whether the last of those found has
 * yet to hear where the next begins. */
struct rows_so_far {
	int64_t end;
	bool asks;
};

static void tell_next(struct search *s, struct rows_so_far *r, int64_t begins)
{
	struct outer *last = r->asks ? &s->op.p[s->op.n - 1] : NULL;
	if (!last || begins < last->to)
		return;
	last->after = begins;
	r->asks = false;
}

static struct outer *begin_bare(struct search *s, struct rows_so_far *r, uint32_t thread,
				uint32_t row)
{
	const assay_host_table *h = &s->g->run->part.t.host;
	int64_t from = h->ts[row], to = assay_host_end(h, row);
	*assay_push(&s->op) = (struct outer){.row = row,
					     .thread = thread,
					     .from = from,
					     .to = to,
					     .before = r->end < from ? r->end : from,
					     .after = to,
					     .bare = true};
	r->asks = true;
	return &s->op.p[s->op.n - 1];
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
	size_t before = s->op.n;
	struct rows_so_far rows = {.end = lane->n ? h->ts[lane->row[0]] : 0};
	for (size_t i = 0; i < lane->n; i++) {
		uint32_t row = lane->row[i], at;
		struct outer *in = s->op.n > before ? &s->op.p[s->op.n - 1] : NULL;
		in = in && h->ts[row] < in->to ? in : NULL;
		bool counts = h->kind[row] == ASSAY_HOST_OP || assay_is_call(h->kind[row]);
		if (counts)
			tell_next(s, &rows, h->ts[row]);
		if (h->kind[row] == ASSAY_HOST_OP && !in)
			*assay_push(&s->op) = (struct outer){.row = row,
							     .thread = thread,
							     .from = h->ts[row],
							     .to = assay_host_end(h, row)};
		else if (!in && assay_call_stack(&g->run->part.t, row) != ASSAY_NO_ROW)
			in = begin_call(s, thread, row, before);
		else if (!in && is_bare_wait(s, row, before))
			in = begin_bare(s, &rows, thread, row);
		if (counts && assay_host_end(h, row) > rows.end)
			rows.end = assay_host_end(h, row);
		if (!in)
			continue;
		bool waits = waits_for_value(g, row);
		in->blocks |= waits;
		in->waits += waits;
		at = assay_map_get(&s->at, row);
		if (at != ASSAY_MAP_ABSENT)
			add_launched(&in->what, &s->launched.p[at]);
	}
	take_ways(s, before);
}

/* Where a program waits now and then, the call has its place there; where few pieces of work lie
 * from one to the next, it times or looks. */
static void leave_rare_waits(struct search *s)
{
	size_t bare = 0;
	for (size_t i = 0; i < s->op.n; i++)
		bare += s->op.p[i].bare;
	for (size_t i = 0; bare * ASSAY_DENSE_WORK < s->g->work && i < s->op.n; i++)
		s->op.p[i].blocks &= !s->op.p[i].bare;
}

/* What does more than find a value is needed for that. */
static bool reads_back(const struct outer *o)
{
	enum { MUCH = 16 }; /* pieces of work */
	return o->blocks && !o->what.product && !o->what.sends && o->what.count <= MUCH;
}

/* A value that is made of much and then read serves nothing else: few operators that end in a
 * reduction, between two that read back. */
static void mark_makers(const struct search *s, size_t reader)
{
	enum { MAKERS = 3 };
	size_t first = reader, makers = 0;
	bool reduced = false;
	while (first > 0 && s->op.p[first - 1].thread == s->op.p[reader].thread) {
		const struct outer *o = &s->op.p[first - 1];
		if (o->blocks)
			break;
		makers += o->what.count > 0;
		reduced |= makers == 1 && o->what.reduces;
		if (o->what.product || o->what.sends || makers > MAKERS || (makers && !reduced))
			return;
		first--;
	}
	if (!first || !s->op.p[first - 1].goes || s->op.p[first - 1].bare)
		return;
	for (size_t i = first; i < reader; i++)
		s->op.p[i].goes = true;
}

/* Several of these could be one copy; a large one goes as fast as the bus does. */
static bool sends_a_bit(const struct outer *o)
{
	return o->what.sends && !o->what.brings && !o->what.kernels && !o->line && !o->bare &&
	       o->what.bytes < o->what.count * (int64_t)ASSAY_SMALL_COPY;
}

static int64_t mark_operators(struct search *s, assay_operators_kind kind)
{
	int64_t kernels = 0;
	for (size_t i = 0; i < s->op.n; i++)
		s->op.p[i].goes = kind == ASSAY_OPERATORS_READ ? reads_back(&s->op.p[i])
							       : sends_a_bit(&s->op.p[i]);
	for (size_t i = 0; kind == ASSAY_OPERATORS_READ && i < s->op.n; i++)
		if (s->op.p[i].goes && s->op.p[i].blocks && !s->op.p[i].bare)
			mark_makers(s, i);
	for (size_t i = 0; i < s->op.n; i++)
		kernels += s->op.p[i].goes ? s->op.p[i].what.kernels : 0;
	return kernels;
}

/* Python between two that go does nothing but call them. */
static bool is_joined(const struct outer *a, const struct outer *b)
{
	return a->goes && b->goes && !a->bare && !b->bare && a->thread == b->thread &&
	       b->from - a->to <= APART;
}

/* What remains of a segment without the time between two instants. */
static int64_t left_of(const assay_path_graph *g, uint32_t point, int64_t from, int64_t to)
{
	int64_t begin = g->measured.at[point], end = g->measured.at[point + 1];
	int64_t before = from > begin ? from - begin : 0, after = end > to ? end - to : 0;
	return before + after < g->base.len[point] ? before + after : g->base.len[point];
}

static void drop_segments(const struct search *s, bool *gone, assay_path_changes *out)
{
	const assay_path_graph *g = s->g;
	for (size_t i = 0; i < s->op.n; i++) {
		const struct outer *o = &s->op.p[i];
		if (!o->goes)
			continue;
		bool joined = i + 1 < s->op.n && is_joined(o, &s->op.p[i + 1]);
		int64_t to = joined ? s->op.p[i + 1].from : o->to;
		const assay_path_thread *t = &g->thread.p[o->thread];
		uint32_t p = assay_path_point_at(g, t->track, o->from);
		for (; p != ASSAY_DEP_NONE && p < t->first + t->n - 1 && g->measured.at[p] < to;
		     p++) {
			gone[p] |= g->measured.at[p] >= o->from;
			assay_path_change_segment(g, out, p, left_of(g, p, o->from, to));
		}
	}
}

static void drop_deps(const assay_path_graph *g, const bool *gone, assay_path_changes *out)
{
	for (uint32_t i = 0; i < g->deps; i++) {
		const assay_path_dep *d = &g->dep[i];
		if (d->kind == ASSAY_DEP_LAUNCH && gone[d->from]) {
			*assay_push(&out->dur) = (assay_path_change){d->to - g->points, 0};
			*assay_push(&out->lag) = (assay_path_change){i, 0};
		} else if (d->kind == ASSAY_DEP_SYNC && d->to && gone[d->to - 1] &&
			   g->base.lag[i] != ASSAY_DEP_DROPPED) {
			*assay_push(&out->lag) = (assay_path_change){i, ASSAY_DEP_DROPPED};
		}
	}
}

/* The operator that does it for longest; gradients are a consequence of what others did. */
static assay_gone_operators tell(const struct search *s, assay_operators_kind kind, int64_t from,
				 int64_t to)
{
	const assay_host_table *h = &s->g->run->part.t.host;
	assay_gone_operators told = {.name = 0};
	assay_map names = {0};
	assay_vec(int64_t) sum = {0};
	for (size_t i = 0; i < s->op.n; i++) {
		const struct outer *o = &s->op.p[i];
		bool maker = kind == ASSAY_OPERATORS_READ && !o->blocks;
		if (!o->goes || maker || o->from < from || o->from >= to)
			continue;
		assay_sid name = h->name[o->row];
		uint32_t *slot = assay_map_at(&names, name);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) = 0;
		}
		bool gradient = assay_str_starts(assay_text(s->g->run, name), "autograd::");
		int64_t ns = sum.p[*slot] += gradient ? 1 : o->to - o->from;
		told.name = ns > told.most ? name : told.name;
		told.only_waits = ns > told.most ? o->bare : told.only_waits;
		told.most = ns > told.most ? ns : told.most;
		told.times++;
		told.waits += o->waits;
		told.bytes += o->what.bytes;
	}
	assay_map_free(&names);
	assay_vec_free(&sum);
	return told;
}

assay_gone_operators assay_path_without_operators(const assay_path_graph *g,
						  assay_operators_kind kind, int64_t from,
						  int64_t to, assay_path_changes *out)
{
	static const double most = 0.5; /* of the kernels' time */
	struct search s = {.g = g};
	assay_arena scratch = {0};
	assay_gone_operators told = {.name = 0};
	int64_t all = gather_launched(&s);
	for (uint32_t i = 0; i < g->thread.n; i++)
		find_operators(&s, i);
	leave_rare_waits(&s);
	if ((double)mark_operators(&s, kind) <= most * (double)all)
		told = tell(&s, kind, from, to);
	if (told.times) {
		bool *gone = assay_alloc(&scratch, g->points + 1);
		drop_segments(&s, gone, out);
		drop_deps(g, gone, out);
	}
	assay_arena_free(&scratch);
	assay_map_free(&s.at);
	assay_vec_free(&s.launched);
	assay_vec_free(&s.op);
	return told;
}

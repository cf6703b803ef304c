#include "find/unnamed.h"

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/holes.h"
#include "find/lock_turns.h"
#include "find/meanwhile.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/calls.h"
#include "names/copies.h"
#include "names/words.h"

static const int64_t MS = 1000 * 1000;

enum {
	FEW = 5,            /* stretches that say nothing of a rule */
	LONG = 1000 * 1000, /* ns of a stretch whose length says something */
	MUCH = 64 << 10,    /* bytes: more than a number that is read back */
	SOME = 256,         /* bytes: more than a number that is sent, as a rate or a seed */
	TENSORS = 8,        /* copies one behind the other: a model's state, not a result */
};

/* Stretches between the same two names. */
struct place {
	uint32_t hole; /* the longest */
	uint64_t times;
	int64_t idle;
};

struct look {
	const assay_run *run;
	const assay_find_ctx *c;
	assay_holes holes;
	uint32_t *at; /* by hole, its place */
	assay_vec(struct place) places;
	const struct place *main; /* with most time */
	int64_t idle;
};

/* ------------------------------------------------------------------ places */

static void find_places(struct look *l)
{
	assay_map known = {0};
	for (uint32_t i = 0; i < l->holes.n; i++) {
		const assay_hole *h = &l->holes.p[i];
		uint64_t key = assay_name_without_numbers(l->run, h->before, 1);
		key = assay_name_without_numbers(l->run, h->after, key);
		uint32_t *slot = assay_map_at(&known, key);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)l->places.n;
			*assay_push(&l->places) = (struct place){.hole = i};
		}
		struct place *p = &l->places.p[*slot];
		l->at[i] = *slot;
		p->times++;
		p->idle += h->idle;
		p->hole = h->idle > l->holes.p[p->hole].idle ? i : p->hole;
		l->idle += h->idle;
	}
	for (size_t i = 0; i < l->places.n; i++)
		if (!l->main || l->places.p[i].idle > l->main->idle)
			l->main = &l->places.p[i];
	assay_map_free(&known);
}

/* NULL where no place has a fair part of all such time. */
static const char *place_words(const struct look *l)
{
	const assay_host_table *t = &l->run->part.t.host;
	int64_t all = l->c->w->cause[ASSAY_WHY_HOST_UNTRACED];
	if (!l->main || l->main->idle * 10 < all)
		return NULL;
	const assay_hole *h = &l->holes.p[l->main->hole];
	assay_arena *a = l->c->scratch;
	return assay_printf(a, "%s between %s and %s",
			    l->main->idle * 2 > all ? "most of it" : "the longest time",
			    assay_fmt_safe(a, assay_text(l->run, t->name[h->before])),
			    assay_fmt_safe(a, assay_text(l->run, t->name[h->after])));
}

/* ------------------------------------------------------------------ what tells */

static bool tells_lock(const struct look *l, assay_unnamed *out)
{
	const char *because = assay_lock_turns(l->run, l->c);
	if (!because)
		return false;
	out->likely = ASSAY_WHY_HOST_GIL;
	out->place = NULL;
	out->because = because;
	return true;
}

static unsigned is_exchange(assay_str name)
{
	return assay_word_of(name) == ASSAY_WORD_HOST_COMM;
}

/* When threads of a host backend exchange tensors, of the same process, by begin. */
static size_t find_exchanges(const struct look *l, assay_span **out)
{
	const assay_tables *t = &l->run->part.t;
	assay_by_name exchanges = assay_by_name_open(l->run, l->c->scratch, is_exchange);
	assay_vec(uint32_t) rows = {0};
	uint32_t process = assay_track_group(t, t->host.track[l->holes.p[l->main->hole].before]);
	for (uint32_t i = 0; i < t->host.n; i++)
		if (assay_by_name_ask(&exchanges, t->host.name[i]) &&
		    assay_track_group(t, t->host.track[i]) == process)
			*assay_push(&rows) = i;
	assay_sort_rows(rows.p, rows.n, t->host.ts);
	assay_span *span = assay_alloc(l->c->scratch, (rows.n + 1) * sizeof *span);
	for (size_t i = 0; i < rows.n; i++)
		span[i] = (assay_span){t->host.ts[rows.p[i]], assay_host_end(&t->host, rows.p[i])};
	size_t n = rows.n;
	assay_vec_free(&rows);
	*out = span;
	return n;
}

/* ns of a stretch until the last of those that began in it, or just before, is over. */
static int64_t exchanged(const assay_span *span, size_t n, const assay_hole *h)
{
	int64_t end = h->from;
	size_t i = assay_count_until(&span->from, sizeof *span, n, h->to);
	for (; i > 0 && span[i - 1].to > h->from; i--)
		end = span[i - 1].to > end ? span[i - 1].to : end;
	return (end < h->to ? end : h->to) - h->from;
}

/* A thread that gave tensors to a host backend waits until other threads have exchanged them. */
static bool tells_collective(const struct look *l, assay_unnamed *out)
{
	assay_span *span;
	size_t n = find_exchanges(l, &span);
	int64_t sum = 0;
	for (size_t i = 0; n && i < l->holes.n; i++) {
		const assay_hole *h = &l->holes.p[i];
		sum += exchanged(span, n, h) * 3 > (h->to - h->from) * 2 ? h->idle : 0;
	}
	if (sum * 3 <= l->idle * 2)
		return false;
	out->likely = ASSAY_WHY_HOST_COMM;
	out->because =
		"nothing is recorded there, but meanwhile other threads exchange tensors over the host (gloo, MPI): it waits for that, and for the rank that comes last";
	return true;
}

/* Work is given to the thread that launches by another one, which is in something meanwhile. */
static bool tells_other_thread(const struct look *l, assay_unnamed *out)
{
	const assay_tables *t = &l->run->part.t;
	assay_arena *a = l->c->scratch;
	assay_meanwhile m = assay_meanwhile_find(l->run, &l->holes);
	if (m.row == ASSAY_NO_ROW)
		return false;
	assay_str thread = assay_text(l->run, t->track.name[t->host.track[m.row]]);
	out->likely = m.cause;
	out->place = NULL;
	out->phrase = assay_printf(
		a, "while %s is in %s",
		thread.n ? assay_printf(a, "another thread (%s)", assay_fmt_safe(a, thread))
			 : "another thread",
		assay_idle_spell(l->run, a, t->host.name[m.row]));
	out->because =
		"nothing is recorded on the thread that launches, but as long as that lasts, and then it goes on: it is given its work by the other";
	return true;
}

/* Lengths of the main place, rising; how many. */
static size_t lengths_of_main(const struct look *l, int64_t *v)
{
	size_t n = 0;
	for (size_t i = 0; i < l->holes.n; i++)
		if (&l->places.p[l->at[i]] == l->main)
			v[n++] = l->holes.p[i].to - l->holes.p[i].from;
	assay_sort_i64(v, n);
	return n;
}

static bool asks_whether_done(const assay_run *run, uint32_t row)
{
	assay_str name = assay_text(run, run->part.t.host.name[row]);
	assay_call_does does = assay_call_meaning_of(name.p, name.n).does;
	return does == ASSAY_DOES_EVENT_QUERY || does == ASSAY_DOES_STREAM_QUERY;
}

/* Who asks an event or a stream again and again rests in between. */
static bool tells_polling(const struct look *l, assay_unnamed *out)
{
	const assay_hole *h = &l->holes.p[l->main->hole];
	if (!asks_whether_done(l->run, h->before) || !asks_whether_done(l->run, h->after) ||
	    l->main->times < 2 || l->main->idle * 2 < l->idle)
		return false;
	out->likely = ASSAY_WHY_HOST_SLEEP;
	out->because =
		"nothing is recorded there, but before and behind it the host asks whether work is done: it polls, and rests in between (event.synchronize() waits no longer than needed)";
	return true;
}

/* What people ask of a timer: whole milliseconds, and fewer digits of what is longer. */
static int64_t round_time_below(int64_t ns)
{
	static const struct {
		int64_t below, step;
	} steps[] = {{2 * MS, MS / 2}, {20 * MS, MS}, {100 * MS, 5 * MS}, {1000 * MS, 50 * MS}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(steps); i++)
		if (ns < steps[i].below)
			return ns / steps[i].step * steps[i].step;
	return ns / (500 * MS) * 500 * MS;
}

/* A timer ends a sleep a little late, whatever its length: by what the system allows itself and by
 * what Python does around it. */
static bool is_timed(int64_t shortest, int64_t longest)
{
	enum { LATE = 300 * 1000, JITTER = 200 * 1000, PERCENT = 3 };
	int64_t asked = round_time_below(shortest);
	return longest - shortest <= JITTER && (longest - shortest) * 100 <= longest * PERCENT &&
	       shortest - asked <= LATE && shortest - asked <= asked / 10;
}

/* Code may take the same time again and again; a timer ends shortly after a round time. Eight of
 * ten stretches have to. */
static bool tells_timer(const struct look *l, assay_unnamed *out)
{
	char low[ASSAY_FMT], high[ASSAY_FMT];
	int64_t *v = assay_alloc(l->c->scratch, (l->holes.n + 1) * sizeof *v);
	size_t n = lengths_of_main(l, v), tenth = n / 10 ? n / 10 : n > FEW;
	if (n < FEW || l->main->idle * 2 < l->idle || v[n / 2] < LONG)
		return false;
	int64_t from = v[tenth], to = v[n - 1 - tenth];
	if (!is_timed(from, to))
		return false;
	out->likely = ASSAY_WHY_HOST_SLEEP;
	out->because = assay_printf(
		l->c->scratch,
		"nothing is recorded there, but it lasts %s to %s each time, as what a timer ends",
		assay_fmt_time(low, from), assay_fmt_time(high, to));
	return true;
}

/* From one end of a stretch of the main place to the next, rising; how many. */
static size_t rounds_of_main(const struct look *l, int64_t *v)
{
	size_t n = 0;
	uint32_t last = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < l->holes.n; i++) {
		if (&l->places.p[l->at[i]] != l->main)
			continue;
		if (last != ASSAY_NO_ROW && l->holes.p[i].to > l->holes.p[last].to)
			v[n++] = l->holes.p[i].to - l->holes.p[last].to;
		last = i;
	}
	assay_sort_i64(v, n);
	return n;
}

/* Rounds that last a round time, or a little longer where each rest is a little late. */
static bool is_pace(int64_t shortest, int64_t usual, int64_t longest)
{
	enum { EARLY = 100 * 1000, LATE = 300 * 1000, JITTER = 200 * 1000, PERCENT = 3 };
	int64_t asked = round_time_below(usual + EARLY);
	return longest - shortest <= JITTER && (longest - shortest) * 100 <= longest * PERCENT &&
	       usual - asked <= LATE && usual - asked <= asked / 10;
}

/* Who keeps a pace rests as long as the work left over: rounds last a round time, and what is done
 * between the rests does not. */
static bool tells_pace(const struct look *l, assay_unnamed *out)
{
	char time[ASSAY_FMT];
	int64_t *rests = assay_alloc(l->c->scratch, (l->holes.n + 1) * sizeof *rests);
	int64_t *rounds = assay_alloc(l->c->scratch, (l->holes.n + 1) * sizeof *rounds);
	size_t n = rounds_of_main(l, rounds), some = lengths_of_main(l, rests), tenth = n / 10;
	if (n < FEW || l->main->idle * 2 < l->idle || rounds[n / 2] < LONG)
		return false;
	tenth = tenth ? tenth : n > FEW;
	int64_t even = rounds[n - 1 - tenth] - rounds[tenth];
	if (!is_pace(rounds[tenth], rounds[n / 2], rounds[n - 1 - tenth]) ||
	    rests[some - 1 - tenth] - rests[tenth] < 2 * even)
		return false;
	out->likely = ASSAY_WHY_HOST_SLEEP;
	out->because = assay_printf(
		l->c->scratch,
		"nothing is recorded there, but it ends every %s, however long the work before it took: the program keeps a pace",
		assay_fmt_time(time, rounds[n / 2]));
	return true;
}

/* How long a loader takes for the batch that it is asked for last before some time. */
static int64_t last_batch_before(const struct look *l, assay_sid name, int64_t time)
{
	const assay_host_table *h = &l->run->part.t.host;
	int64_t last = INT64_MIN, dur = 0;
	for (size_t i = 0; i < h->n; i++)
		if (h->name[i] == name && h->ts[i] < time && h->ts[i] > last) {
			last = h->ts[i];
			dur = h->dur[i];
		}
	return dur;
}

/* A loader whose processes do not outlive an epoch ends them when it has no batch left, which takes
 * some time, and starts others before it is asked for the next one. */
static bool tells_workers(const struct look *l, assay_unnamed *out)
{
	enum { ENDED = 5 * 1000 * 1000 }; /* ns: nobody else takes so long to say that it is over */
	const assay_host_table *t = &l->run->part.t.host;
	const assay_hole *h = &l->holes.p[l->main->hole];
	assay_sid name = t->name[h->after];
	if (assay_str_find(assay_text(l->run, name), "_MultiProcessingDataLoaderIter") < 0 ||
	    h->idle < LONG || l->main->idle * 2 < l->idle ||
	    last_batch_before(l, name, h->from) < ENDED || t->dur[h->after] < ENDED)
		return false;
	out->likely = ASSAY_WHY_HOST_DATA;
	out->phrase = "while a loader starts its workers anew";
	out->fix = "persistent_workers=True, or one loader for all epochs";
	out->because =
		"nothing is recorded there, but before it the loader takes long to end, and behind it long for a first batch, as where its processes are started";
	return true;
}

/* Where in the order of a device's work the one stands that ended when a gap began, plus one; 0:
 * not found among the last to begin. */
static size_t place_before(const struct look *l, const assay_order_device *d, uint32_t gap)
{
	enum { LAST = 64 };
	const assay_tables *t = &l->run->part.t;
	const uint32_t *row = l->c->order->row + d->first;
	size_t n = assay_rows_until(row, d->n, t->gpu.ts, t->gap.ts[gap]);
	for (size_t i = n; i > 0 && i + LAST > n; i--)
		if (assay_gpu_end(&t->gpu, row[i - 1]) == t->gap.ts[gap])
			return i;
	return 0;
}

static bool is_copy(const assay_run *run, uint32_t gpu, assay_copy_way way)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	return g->kind[gpu] == ASSAY_GPU_MEMCPY &&
	       assay_copy_way_of(assay_text(run, g->name[gpu])) == way;
}

/* A copy of more than a number. */
static bool is_large_copy(const assay_run *run, uint32_t gpu, assay_copy_way way)
{
	return run->part.t.gpu.bytes[gpu] >= MUCH && is_copy(run, gpu, way);
}

/* Copies to the host, one behind the other, that end when a gap begins; 0: only numbers. */
static size_t copies_before(const struct look *l, uint32_t gap)
{
	const assay_order *o = l->c->order;
	if (!o || l->c->w->device >= o->device.n)
		return 0;
	const assay_order_device *d = &o->device.p[l->c->w->device];
	const uint32_t *row = o->row + d->first;
	size_t end = place_before(l, d, gap), n = 0;
	bool large = false;
	for (; n < end && n < TENSORS && is_copy(l->run, row[end - 1 - n], ASSAY_COPY_TO_HOST); n++)
		large |= is_large_copy(l->run, row[end - 1 - n], ASSAY_COPY_TO_HOST);
	return large ? n : 0;
}

/* What comes before a range that means input is something else. */
static bool is_input(const assay_run *run, uint32_t row)
{
	return assay_word_of(assay_text(run, run->part.t.host.name[row])) == ASSAY_WORD_DATA;
}

/* Where a step is over: what comes then and is sent to the device is the next batch. */
static bool ends_step(const assay_run *run, uint32_t row)
{
	return assay_str_starts(assay_text(run, run->part.t.host.name[row]), "Optimizer.");
}

/* ns in stretches beside copies, by what lies on their other side. */
struct beside {
	int64_t in, out;      /* before copies to the device, beside copies to the host */
	int64_t round, back;  /* between both: as much comes back, or a little */
	size_t row;           /* most copies to the host one behind the other, up to TENSORS */
	int64_t bytes;        /* to the device, the largest */
	uint64_t amid, apart; /* of two at the main place before copies to the device, one behind
				 the other: how often no gradient is computed between them, and
				 how often one is */
};

static unsigned is_node(assay_str operator)
{
	return assay_str_starts(operator, "autograd::engine::");
}

/* When nodes of the backward pass begin, rising. */
static size_t find_backward(const struct look *l, int64_t **out)
{
	const assay_host_table *h = &l->run->part.t.host;
	assay_by_name nodes = assay_by_name_open(l->run, l->c->scratch, is_node);
	int64_t *at = assay_alloc(l->c->scratch, (h->n + 1) * sizeof *at);
	size_t n = 0;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->kind[i] == ASSAY_HOST_OP && assay_by_name_ask(&nodes, h->name[i]))
			at[n++] = h->ts[i];
	assay_sort_i64(at, n);
	*out = at;
	return n;
}

/* A batch is read once for each forward and backward pass; what comes again and again before
 * gradients are computed is part of the forward pass. */
static void look_amid(const struct look *l, const bool *in, struct beside *b)
{
	int64_t *backward;
	size_t n = find_backward(l, &backward), last = SIZE_MAX;
	for (size_t i = 0; n && i < l->holes.n; i++) {
		if (!in[i])
			continue;
		size_t passed = assay_count_until(backward, sizeof *backward, n, l->holes.p[i].to);
		if (last != SIZE_MAX)
			*(passed == last ? &b->amid : &b->apart) += 1;
		last = passed;
	}
}

static struct beside look_beside(const struct look *l)
{
	const assay_tables *t = &l->run->part.t;
	struct beside b = {0};
	bool *is_in = assay_alloc(l->c->scratch, l->holes.n + 1);
	for (size_t i = 0; i < l->holes.n; i++) {
		const assay_hole *h = &l->holes.p[i];
		uint32_t next = t->gap.gpu[h->gap];
		size_t row = copies_before(l, h->gap);
		int64_t sent = is_copy(l->run, next, ASSAY_COPY_TO_DEVICE) ? t->gpu.bytes[next] : 0;
		bool in = sent >= (ends_step(l->run, h->before) ? SOME : MUCH) &&
			  !is_input(l->run, h->after);
		bool out = row || is_large_copy(l->run, next, ASSAY_COPY_TO_HOST);
		*(in && out         ? &b.round
		  : in              ? &b.in
		  : out && sent > 0 ? &b.back
				    : &b.out) += in || out ? h->idle : 0;
		b.row = row > b.row ? row : b.row;
		b.bytes = in && t->gpu.bytes[next] > b.bytes ? t->gpu.bytes[next] : b.bytes;
		is_in[i] = in && !out && &l->places.p[l->at[i]] == l->main;
	}
	look_amid(l, is_in, &b);
	return b;
}

/* Where states are written: from the end of the work before a row of copies to the begin of the
 * work behind it. */
static void find_spans(const struct look *l, assay_unnamed *out)
{
	const assay_gpu_table *g = &l->run->part.t.gpu;
	const assay_order_device *d = &l->c->order->device.p[l->c->w->device];
	const uint32_t *row = l->c->order->row + d->first;
	assay_span *span = assay_alloc(l->c->scratch, (d->n / TENSORS + 1) * sizeof *span);
	int64_t end = l->c->w->from;
	for (size_t i = 0, n; i < d->n; i += n ? n : 1) {
		for (n = 0; i + n < d->n && is_copy(l->run, row[i + n], ASSAY_COPY_TO_HOST); n++)
			;
		bool in_window = g->ts[row[i]] >= l->c->w->from && i + n < d->n &&
				 g->ts[row[i + n]] <= l->c->w->to;
		if (n >= TENSORS && in_window && g->ts[row[i + n]] > end)
			span[out->spans++] = (assay_span){end, g->ts[row[i + n]]};
		for (size_t k = i; k < i + (n ? n : 1); k++)
			end = assay_gpu_end(g, row[k]) > end ? assay_gpu_end(g, row[k]) : end;
	}
	out->span = span;
}

static bool tells_copies(const struct look *l, assay_unnamed *out)
{
	struct beside b = look_beside(l);
	char text[ASSAY_FMT];
	if (b.in * 3 > l->idle * 2 && b.amid > b.apart) {
		out->likely = ASSAY_WHY_HOST_NATIVE;
		out->because = assay_printf(
			l->c->scratch,
			"nothing is recorded there, but it comes several times in a forward pass and then up to %s are copied to the device: the host makes what the model needs there",
			assay_fmt_bytes(text, (uint64_t)b.bytes));
		return true;
	}
	if (b.in * 3 > l->idle * 2) {
		out->likely = ASSAY_WHY_HOST_DATA;
		out->phrase = "while the host makes or fetches input";
		out->fix =
			"if it is input: make it in other processes, some batches ahead (a loader with workers); record with stacks to see what else is done between two steps (assay record does)";
		out->because = assay_printf(
			l->c->scratch,
			"nothing is recorded there, but then up to %s are copied to the device: input is read or made",
			assay_fmt_bytes(text, (uint64_t)b.bytes));
		return true;
	}
	if (b.round * 3 > l->idle * 2) {
		out->likely = ASSAY_WHY_HOST_NATIVE;
		out->because =
			"nothing is recorded there, but it lies between a copy to the host and one back: the host computes with what it was given";
		return true;
	}
	if (b.back * 3 > l->idle * 2) {
		out->likely = ASSAY_WHY_HOST_PYTHON;
		out->because =
			"nothing is recorded there, but it lies between a copy to the host and a little that is sent back: the program decides with what it was given";
		return true;
	}
	if ((b.out + b.back) * 3 <= l->idle * 2)
		return false;
	out->likely = b.row == TENSORS ? ASSAY_WHY_HOST_IO : ASSAY_WHY_HOST_UNTRACED;
	out->because =
		b.row == TENSORS
			? "nothing is recorded there, but it lies beside rows of copies to the host: a model's state is written, as to a checkpoint"
			: "it lies beside copies to the host: what was copied is written or computed with";
	if (b.row == TENSORS)
		find_spans(l, out);
	return true;
}

/* Many places, none of them with much. */
static bool tells_interruptions(const struct look *l, assay_unnamed *out)
{
	if (l->places.n < FEW || l->main->idle * 4 > l->idle)
		return false;
	out->place = NULL;
	out->because = assay_printf(
		l->c->scratch,
		"it is at %zu places, so that something interrupts the thread: garbage collection, Python's lock, another process on its processor",
		l->places.n);
	return true;
}

/* The first that says yes is believed. */
static bool (*const rules[])(const struct look *, assay_unnamed *) = {
	tells_lock,    tells_collective, tells_other_thread, tells_polling,       tells_timer,
	tells_workers, tells_pace,       tells_copies,       tells_interruptions,
};

assay_unnamed assay_unnamed_look(const assay_run *run, const assay_find_ctx *c)
{
	assay_unnamed out = {.likely = ASSAY_WHY_HOST_UNTRACED};
	struct look l = {.run = run, .c = c};
	assay_holes own = {0};
	if (!c->holes)
		assay_holes_find(run, c->w, &own);
	l.holes = c->holes ? *assay_hole_search_found(c->holes) : own;
	l.at = assay_alloc(c->scratch, (l.holes.n + 1) * sizeof *l.at);
	find_places(&l);
	out.place = place_words(&l);
	out.one_place = l.main && l.main->idle * 2 > c->w->cause[ASSAY_WHY_HOST_UNTRACED];
	/* most of it must be in stretches that were looked at */
	bool whole = l.main && l.idle * 2 > c->w->cause[ASSAY_WHY_HOST_UNTRACED];
	for (size_t i = 0; whole && i < ASSAY_COUNT_OF(rules) && !rules[i](&l, &out); i++)
		;
	assay_vec_free(&own);
	assay_vec_free(&l.places);
	return out;
}

/* ------------------------------------------------------------------ tests */

struct told {
	assay_arena scratch;
	assay_run *run;
	assay_window w;
	assay_find_ctx c;
	assay_order order;
	uint32_t row[64];
	assay_order_device device;
	int64_t now;
};

static void told_open(struct told *x)
{
	*x = (struct told){.run = assay_run_new(), .w = {.device = 0, .to = 10000 * MS}, .now = MS};
	x->order.row = x->row;
	x->order.device.p = &x->device;
	x->order.device.n = 1;
	x->c = (assay_find_ctx){.w = &x->w, .order = &x->order, .scratch = &x->scratch};
}

static void told_close(struct told *x)
{
	assay_run_free(x->run);
	assay_arena_free(&x->scratch);
}

static void add_work(struct told *x, const char *name, int64_t bytes, int64_t ts, uint32_t launch)
{
	uint32_t g = assay_hand_gpu(x->run, name, ts, 1000, launch);
	x->run->part.t.gpu.kind[g] = bytes ? ASSAY_GPU_MEMCPY : ASSAY_GPU_KERNEL;
	x->run->part.t.gpu.bytes[g] = bytes;
	x->row[x->device.n++] = g;
}

/* Nothing for so long behind one row, until the next launches. */
static void add_hole(struct told *x, const char *before, int64_t length, const char *launch,
		     const char *work, int64_t bytes)
{
	assay_tables *t = &x->run->part.t;
	assay_hand_host(x->run, ASSAY_HOST_OP, before, x->now, 1000);
	int64_t from = x->now + 1000, to = from + length;
	uint32_t call = assay_hand_host(x->run, ASSAY_HOST_RUNTIME, launch, to, 1000);
	uint32_t gap = assay_hand_gap(x->run, ASSAY_WHY_HOST_UNTRACED, from, length + 1000);
	add_work(x, work, bytes, to + 1000, call);
	t->gap.gpu[gap] = (uint32_t)t->gpu.n - 1;
	t->gap.launch[gap] = call;
	t->gap_part.dur[gap] = length;
	x->w.cause[ASSAY_WHY_HOST_UNTRACED] += length;
	x->now = to + 2000;
}

/* Three waits between a copy to the host and one back, in which another thread does something for
 * so long. */
static assay_why likely_beside(assay_host_kind kind, const char *name, int64_t dur)
{
	struct told x;
	told_open(&x);
	for (int i = 0; i < 3; i++) {
		int64_t from = x.now;
		add_work(&x, "Memcpy DtoH (Device -> Pageable)", MUCH, x.now, ASSAY_NO_ROW);
		add_hole(&x, "c10d::allreduce_", 9 * MS + i * MS, "cudaMemcpyAsync",
			 "Memcpy HtoD (Pageable -> Device)", MUCH);
		uint32_t h = assay_hand_host(x.run, kind, name, from + 1000, dur);
		x.run->part.t.host.track[h] = assay_thread_track(&x.run->part, 1, 2);
	}
	assay_why likely = assay_unnamed_look(x.run, &x.c).likely;
	told_close(&x);
	return likely;
}

TEST(who_waits_while_other_threads_exchange_tensors_waits_for_them)
{
	static const char exchange[] = "gloo:all_reduce";
	CHECK_EQ(likely_beside(ASSAY_HOST_ANNOTATION, exchange, 10 * MS), ASSAY_WHY_HOST_COMM);
	CHECK(likely_beside(ASSAY_HOST_ANNOTATION, exchange, 5 * MS) != ASSAY_WHY_HOST_COMM);
	CHECK(likely_beside(ASSAY_HOST_ANNOTATION, "sampler", 10 * MS) != ASSAY_WHY_HOST_COMM);
	return 0;
}

TEST(who_shows_nothing_waits_for_the_thread_that_is_in_something_as_long)
{
	static const char wait[] = "$api.py:3154 block_until_ready";
	CHECK_EQ(likely_beside(ASSAY_HOST_PYTHON, wait, 8 * MS), ASSAY_WHY_HOST_SYNC);
	CHECK_EQ(likely_beside(ASSAY_HOST_PYTHON, "$run.py:7 sample", 8 * MS),
		 ASSAY_WHY_HOST_PYTHON);
	CHECK_EQ(likely_beside(ASSAY_HOST_PYTHON, wait, 5 * MS), ASSAY_WHY_HOST_NATIVE);
	CHECK_EQ(likely_beside(ASSAY_HOST_PYTHON, wait, 90 * MS), ASSAY_WHY_HOST_NATIVE);
	return 0;
}

TEST(stretches_of_one_length_are_ended_by_a_timer)
{
	static const int64_t lengths[][6] = {
		{6110000, 6120000, 6105000, 6140000, 6180000, 9000000},
		{6110000, 6900000, 6105000, 6540000, 7375000, 9000000},
		{24110000, 24120000, 24105000, 24140000, 24175000, 29000000}, /* what it takes */
	};
	for (size_t k = 0; k < ASSAY_COUNT_OF(lengths); k++) {
		struct told x;
		told_open(&x);
		for (size_t i = 0; i < ASSAY_COUNT_OF(lengths[k]); i++)
			add_hole(&x, i % 2 ? "step 7" : "step 8", lengths[k][i], "launch", "gemm",
				 0);
		assay_unnamed u = assay_unnamed_look(x.run, &x.c);
		CHECK_EQ(u.likely, k ? ASSAY_WHY_HOST_UNTRACED : ASSAY_WHY_HOST_SLEEP);
		CHECK(u.place && !strcmp(u.place, "most of it between step 7 and launch"));
		CHECK(k ? !u.because
			: u.because && strstr(u.because, "6.11 ms to 6.18 ms") != NULL);
		told_close(&x);
	}
	return 0;
}

TEST(a_timer_ends_shortly_after_a_round_time)
{
	static const int64_t times[][2] = {{4150000, 4000000},   {1499999, 1000000},
					   {1500000, 1500000},   {24000000, 20000000},
					   {14100000, 14000000}, {149000000, 100000000},
					   {999999, 500000},     {2600000000, 2500000000}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(times); i++)
		CHECK_EQ(round_time_below(times[i][0]), times[i][1]);
	CHECK(is_timed(4150000, 4180000) && is_timed(100060000, 100250000));
	CHECK(!is_timed(4150000, 4300000)); /* 3 % */
	CHECK(!is_timed(100060000, 100270000) && !is_timed(24000000, 24010000));
	CHECK(!is_timed(1200000, 1210000));
	return 0;
}

TEST(rounds_of_a_round_time_are_a_pace_where_the_rests_differ)
{
	static const int64_t rests[] = {6, 3, 8, 5, 7, 4, 9};
	for (int k = 0; k < 2; k++) {
		struct told x;
		told_open(&x);
		for (size_t i = 0; i < ASSAY_COUNT_OF(rests); i++) {
			x.now += (11 - rests[i]) * MS + (k ? rests[i] * MS / 5 : 0);
			add_hole(&x, "add", rests[i] * MS, "launch", "gemm", 0);
		}
		assay_unnamed u = assay_unnamed_look(x.run, &x.c);
		CHECK_EQ(u.likely, k ? ASSAY_WHY_HOST_UNTRACED : ASSAY_WHY_HOST_SLEEP);
		told_close(&x);
	}
	CHECK(is_pace(9980000, 10000000, 10100000) && is_pace(10110000, 10130000, 10250000));
	CHECK(!is_pace(10440000, 10500000, 10560000) && !is_pace(9500000, 10000000, 10500000));
	return 0;
}

TEST(a_loader_that_takes_long_to_end_starts_its_workers_anew)
{
	static const char next[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
	for (int k = 0; k < 2; k++) {
		struct told x;
		told_open(&x);
		assay_hand_host(x.run, ASSAY_HOST_ANNOTATION, next, x.now, (k ? 25 : 1) * MS);
		x.now += 26 * MS;
		add_hole(&x, "aten::item", 40 * MS, next, "gemm", 0);
		x.run->part.t.host.dur[x.run->part.t.host.n - 1] = 20 * MS;
		assay_unnamed u = assay_unnamed_look(x.run, &x.c);
		CHECK_EQ(u.likely, k ? ASSAY_WHY_HOST_DATA : ASSAY_WHY_HOST_UNTRACED);
		CHECK(!k || strstr(u.fix, "persistent_workers"));
		told_close(&x);
	}
	return 0;
}

TEST(what_comes_before_a_range_of_input_is_something_else)
{
	for (int k = 0; k < 2; k++) {
		struct told x;
		told_open(&x);
		for (int i = 0; i < 3; i++)
			add_hole(&x, "add", (10 + 7 * i) * MS, k ? "load_batch" : "launch",
				 "Memcpy HtoD (Pageable -> Device)", MUCH);
		CHECK_EQ(assay_unnamed_look(x.run, &x.c).likely,
			 k ? ASSAY_WHY_HOST_UNTRACED : ASSAY_WHY_HOST_DATA);
		told_close(&x);
	}
	return 0;
}

TEST(who_asks_again_and_again_polls)
{
	static const int64_t odd[] = {5310000, 5900000, 5105000, 8540000, 5375000, 9000000};
	for (int k = 0; k < 2; k++) {
		struct told x;
		told_open(&x);
		for (size_t i = 0; i < ASSAY_COUNT_OF(odd); i++)
			add_hole(&x, k ? "aten::add" : "cudaEventQuery", odd[i], "cudaEventQuery",
				 "gemm", 0);
		CHECK_EQ(assay_unnamed_look(x.run, &x.c).likely,
			 k ? ASSAY_WHY_HOST_UNTRACED : ASSAY_WHY_HOST_SLEEP);
		told_close(&x);
	}
	return 0;
}

TEST(turns_of_the_interpreter_at_several_places_are_its_lock)
{
	static const char *const places[] = {"add", "mul", "view"};
	for (int k = 0; k < 2; k++) {
		struct told x;
		told_open(&x);
		for (int i = 0; i < 12; i++)
			add_hole(&x, places[i % 3], (i % 4 ? 1 : 3) * 5150000 + i * 300000 * k,
				 "launch", "gemm", 0);
		assay_unnamed u = assay_unnamed_look(x.run, &x.c);
		CHECK_EQ(u.likely, k ? ASSAY_WHY_HOST_UNTRACED : ASSAY_WHY_HOST_GIL);
		told_close(&x);
	}
	return 0;
}

TEST(copies_beside_a_stretch_tell_input_and_checkpoints)
{
	static const char update[] = "Optimizer.zero_grad#SGD.zero_grad";
	static const struct {
		int64_t in, out;
		int copies;
		assay_why likely;
		const char *before;
	} cases[] = {
		{1 << 20, 0, 0, ASSAY_WHY_HOST_DATA, "copy_"},
		{4, 0, 0, ASSAY_WHY_HOST_UNTRACED, "copy_"},
		{32 << 10, 0, 0, ASSAY_WHY_HOST_UNTRACED, "copy_"},
		{32 << 10, 0, 0, ASSAY_WHY_HOST_DATA, update}, /* tokens of the next batch */
		{4, 0, 0, ASSAY_WHY_HOST_UNTRACED, update},    /* a rate */
		{0, 1 << 20, TENSORS, ASSAY_WHY_HOST_IO, "copy_"},
		{0, 1 << 20, 2, ASSAY_WHY_HOST_UNTRACED, "copy_"}, /* a result */
		{0, 4, TENSORS, ASSAY_WHY_HOST_UNTRACED, "copy_"}, /* numbers that are read back */
		{1 << 20, 1 << 20, 1, ASSAY_WHY_HOST_NATIVE, "copy_"},
		{32, 1 << 20, 1, ASSAY_WHY_HOST_PYTHON, "copy_"}, /* which beams go on */
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		struct told x;
		told_open(&x);
		for (int k = 0; k < 3; k++) {
			for (int n = cases[i].copies; n > 0; n--) /* the last ends with the row */
				add_work(&x, "Memcpy DtoH (Device -> Pageable)", cases[i].out,
					 x.now - 1000 * (n - 1), ASSAY_NO_ROW);
			add_hole(&x, cases[i].before, (10 + 7 * k) * MS, "launch",
				 cases[i].in ? "Memcpy HtoD (Pageable -> Device)" : "gemm",
				 cases[i].in);
		}
		assay_unnamed u = assay_unnamed_look(x.run, &x.c);
		CHECK_EQ(u.likely, cases[i].likely);
		CHECK_EQ(u.spans, u.likely == ASSAY_WHY_HOST_IO ? 3 : 0);
		for (size_t k = 0; k < u.spans; k++) /* all of it, not the last stretch alone */
			CHECK(u.span[k].to - u.span[k].from >= (int64_t)(10 + 7 * k) * MS);
		told_close(&x);
	}
	return 0;
}

TEST(input_is_read_once_for_each_pass_and_not_amid_one)
{
	for (int amid = 0; amid < 2; amid++) {
		struct told x;
		told_open(&x);
		for (int i = 0; i < 9; i++) {
			if (i % 3 == 2 || !amid)
				assay_hand_host(x.run, ASSAY_HOST_OP,
						"autograd::engine::evaluate_function: Mul", x.now++,
						1);
			add_hole(&x, "aten::linear", (10 + 7 * (i % 3)) * MS, "launch",
				 "Memcpy HtoD (Pageable -> Device)", 1 << 20);
		}
		CHECK_EQ(assay_unnamed_look(x.run, &x.c).likely,
			 amid ? ASSAY_WHY_HOST_NATIVE : ASSAY_WHY_HOST_DATA);
		told_close(&x);
	}
	return 0;
}

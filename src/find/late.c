/* A rank that others wait for in collectives of the host, as samples of both show it: what it does
 * while they wait. */
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"
#include "model/by_hand.h"

static const double worth_a_look = 0.05; /* of the window */

/* Idle time of one device while its host waits for one process at one line. */
struct held_up {
	uint32_t device; /* row of device_time */
	uint32_t source; /* of the process waited for */
	uint32_t own;    /* own call of it */
	int64_t time;    /* there */
	int64_t all;     /* wherever that process is */
};

typedef assay_vec(struct held_up) held_ups;

/* Process of a recording; -1: it has no threads. */
static int64_t pid_of(const assay_tables *t, uint32_t source)
{
	for (size_t i = 0; i < t->track.n; i++)
		if (t->track.source[i] == source && t->track.kind[i] == ASSAY_TRACK_THREAD)
			return t->track.pid[i];
	return -1;
}

/* The recording of a thread's own process: who starts another one samples it, too. pid: by row of
 * device_time. */
static uint32_t home_of(const assay_tables *t, const int64_t *pid, uint32_t track)
{
	for (size_t i = 0; i < t->device_time.n; i++)
		if (pid[i] == t->track.pid[track])
			return t->device_time.source[i];
	return t->track.source[track];
}

static void add(held_ups *all, assay_map *known, const assay_tables *t, const int64_t *pid,
		size_t part)
{
	uint32_t seen = t->gap_part.sample[part];
	uint32_t culprit = seen == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->seen.culprit[seen];
	if (culprit == ASSAY_NO_ROW)
		return;
	struct held_up x = {.device = t->gap.device[t->gap_part.gap[part]],
			    .source = home_of(t, pid, t->sample.track[culprit]),
			    .own = assay_own_call(t, t->sample.stack[culprit])};
	uint32_t code = x.own == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->stack.code[x.own];
	uint64_t key[4] = {x.device, x.source};
	if (code != ASSAY_NO_ROW)
		key[2] = t->code.file[code], key[3] = t->code.function[code];
	uint32_t *slot = assay_map_at(known, assay_hash(key, sizeof key, 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)all->n;
		*assay_push(all) = x;
	}
	all->p[*slot].time += t->gap_part.dur[part];
}

/* Most of what any one device waits for any one process, and where that is. Not every wait has a
 * sample that shows whom for: those without are shared as the others are. */
static struct held_up worst(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	held_ups all = {0};
	assay_map known = {0};
	struct held_up best = {.own = ASSAY_NO_ROW};
	int64_t *waited = assay_alloc(c->scratch, (t->device_time.n + 1) * sizeof *waited);
	int64_t *pid = assay_alloc(c->scratch, (t->device_time.n + 1) * sizeof *pid);
	for (size_t i = 0; i < t->device_time.n; i++)
		pid[i] = pid_of(t, t->device_time.source[i]);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (t->gap_part.cause[i] == ASSAY_WHY_HOST_COMM && t->gap.ts[gap] >= c->w->from &&
		    t->gap.ts[gap] + t->gap.dur[gap] <= c->w->to) {
			add(&all, &known, t, pid, i);
			waited[t->gap.device[gap]] += t->gap_part.dur[i];
		}
	}
	for (size_t i = 0; i < all.n; i++)
		best = all.p[i].time > best.time ? all.p[i] : best;
	int64_t for_it = 0, for_any = 0;
	for (size_t i = 0; i < all.n; i++) {
		bool same = all.p[i].device == best.device;
		for_any += same ? all.p[i].time : 0;
		for_it += same && all.p[i].source == best.source ? all.p[i].time : 0;
	}
	best.all =
		for_any ? (int64_t)((double)waited[best.device] * (double)for_it / (double)for_any)
			: 0;
	assay_vec_free(&all);
	assay_map_free(&known);
	return best;
}

static bool same_function(const assay_tables *t, uint32_t a, uint32_t b)
{
	uint32_t x = t->stack.code[a], y = t->stack.code[b];
	return t->code.file[x] == t->code.file[y] && t->code.function[x] == t->code.function[y];
}

/* How much longer the devices of the late process wait for that function than the one that is held
 * up. */
static int64_t longer_there(const assay_run *run, const assay_find_ctx *c, const struct held_up *at)
{
	const assay_tables *t = &run->part.t;
	int64_t late = 0, own = 0;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i], device = t->gap.device[gap];
		uint32_t call = assay_own_call(t, t->gap_part.stack[i]);
		if (call == ASSAY_NO_ROW || t->gap.ts[gap] < c->w->from ||
		    t->gap.ts[gap] + t->gap.dur[gap] > c->w->to || !same_function(t, call, at->own))
			continue;
		late += t->device_time.source[device] == at->source ? t->gap_part.dur[i] : 0;
		own += device == at->device ? t->gap_part.dur[i] : 0;
	}
	return late - own;
}

/* Without what it does longer, the late process is as early by so much in all that it does behind
 * it. */
static int64_t saved_without(const assay_run *run, const assay_find_ctx *c,
			     const struct held_up *at)
{
	int64_t longer = longer_there(run, c, at);
	longer = longer > at->time ? longer : at->time;
	return longer < at->all ? longer : at->all;
}

static const char *rank_words(const assay_run *run, assay_arena *a, uint32_t source)
{
	const assay_source_table *s = &run->part.t.source;
	if (s->rank[source] >= 0)
		return assay_printf(a, "rank %d", s->rank[source]);
	int64_t pid = pid_of(&run->part.t, source);
	if (pid >= 0)
		return assay_printf(a, "process %lld", (long long)pid);
	return assay_printf(a, "the process of %s",
			    assay_fmt_safe(a, assay_text(run, s->path[source])));
}

/* That the late rank's own device waits for the same function, and that others wait at all, follows
 * from it. */
static void put_under(const assay_find_ctx *c, const assay_found *late)
{
	for (assay_found *f = NULL; (f = assay_found_next(c, f));) {
		bool there = f->where.file && f->where.function &&
			     !strcmp(f->where.file, late->where.file) &&
			     !strcmp(f->where.function, late->where.function);
		if (there || !strcmp(f->id, assay_why_name[ASSAY_WHY_HOST_COMM]))
			f->follows = late->id;
	}
}

static void find_late(const assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !run->part.t.sample.n)
		return;
	struct held_up at = worst(run, c);
	if ((double)at.time < worth_a_look * (double)c->whole || at.own == ASSAY_NO_ROW)
		return;
	const assay_tables *t = &run->part.t;
	assay_found f = {
		.id = "late_rank",
		.total = at.all,
		.saved = saved_without(run, c, &at),
		.confidence = 0.85,
		.fix = "give that rank less of it, do it ahead in another thread or process, or wait later (asynchronous collectives)"};
	const char *late = rank_words(run, c->scratch, at.source);
	f.where.has_rank = t->source.rank[at.source] >= 0;
	f.where.rank = t->source.rank[at.source];
	assay_where_in_stack(run, at.own, &f.where);
	f.text = assay_printf(c->scratch, "%s waits %s in collectives for %s",
			      rank_words(run, c->scratch, t->device_time.source[at.device]),
			      assay_share_words(c, at.all), late);
	f.fact[0] = assay_printf(c->scratch, "meanwhile %s is at %s", late,
				 assay_fmt_place(c->scratch, assay_str_of(f.where.file),
						 f.where.line, assay_str_of(f.where.function)));
	put_under(c, &f);
	assay_finding_add(c, &f);
}

const assay_finder assay_find_late = {.id = "late", .find = find_late};

static uint32_t hand_track(assay_run *run, uint32_t source, int64_t pid)
{
	assay_tables *t = &run->part.t;
	uint32_t track = assay_add(t, ASSAY_T_track);
	t->track.source[track] = source;
	t->track.kind[track] = ASSAY_TRACK_THREAD;
	t->track.pid[track] = pid;
	return track;
}

/* Where the launching thread is at a line, or waits for who is sampled on a track at one. */
static void hand_wait(assay_run *run, uint32_t device, int64_t dur, uint32_t stack, uint32_t track)
{
	assay_tables *t = &run->part.t;
	uint32_t gap =
		assay_hand_gap(run, device ? ASSAY_WHY_HOST_NATIVE : ASSAY_WHY_HOST_COMM, 0, dur);
	t->gap.device[gap] = device;
	if (device)
		t->gap_part.stack[gap] = stack;
	if (track == ASSAY_NO_ROW)
		return;
	uint32_t waits = assay_add(t, ASSAY_T_sample), works = assay_add(t, ASSAY_T_sample);
	assay_add(t, ASSAY_T_seen);
	assay_add(t, ASSAY_T_seen);
	t->gap_part.sample[gap] = waits;
	t->seen.culprit[waits] = works;
	t->sample.track[works] = track;
	t->sample.stack[works] = stack;
}

/* The late process is sampled by itself and by the one that started it; one wait has no sample. */
TEST(a_late_process_is_one_whoever_sampled_it)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	struct assay_found_list list = {.found = {0}};
	assay_window w = {.device = 0, .to = 1000};
	assay_find_ctx c = {
		.w = &w, .whole = 1000, .now = 1000, .list = &list, .scratch = &scratch};
	hand_track(run, 0, 71);
	uint32_t own = hand_track(run, 1, 72), child = hand_track(run, 0, 72);
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", "pack");
	for (uint32_t i = 0; i < 2; i++) {
		assay_add(t, ASSAY_T_source);
		assay_add(t, ASSAY_T_device_time);
		t->device_time.source[i] = i;
		t->source.rank[i] = -1;
	}
	hand_wait(run, 0, 100, stack, own);
	hand_wait(run, 0, 50, stack, child);
	hand_wait(run, 0, 30, stack, ASSAY_NO_ROW);
	hand_wait(run, 1, 170, stack, ASSAY_NO_ROW);
	find_late(run, &c);
	CHECK_EQ(list.found.n, 1);
	const assay_found *f = &list.found.p[0];
	CHECK(f->total == 180 && f->saved == 170 && !strcmp(f->where.function, "pack"));
	CHECK(strstr(f->text, "process 71 waits") && strstr(f->text, "for process 72"));
	assay_vec_free(&list.found);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

/* A rank that others wait for in collectives of the host, as samples of both show it: what it does
 * while they wait. */
#include "analyze/finding.h"
#include "analyze/idle_lines.h"
#include "base/fmt.h"

static const double worth_a_look = 0.05; /* of the window */

/* Idle time of one device while its host waits for one process at one line. */
struct held_up {
	uint32_t device; /* row of device_time */
	uint32_t source; /* of the process waited for */
	uint32_t own;    /* own call of it */
	int64_t time;
};

typedef assay_vec(struct held_up) held_ups;

static void add(held_ups *all, assay_map *known, const assay_tables *t, size_t part)
{
	uint32_t seen = t->gap_part.sample[part];
	uint32_t culprit = seen == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->seen.culprit[seen];
	if (culprit == ASSAY_NO_ROW)
		return;
	struct held_up x = {.device = t->gap.device[t->gap_part.gap[part]],
			    .source = t->track.source[t->sample.track[culprit]],
			    .own = assay_own_call(t, t->sample.stack[culprit])};
	uint32_t function = x.own == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->stack.code[x.own];
	uint64_t key[3] = {x.device, x.source, function};
	uint32_t *slot = assay_map_at(known, assay_hash(key, sizeof key, 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)all->n;
		*assay_push(all) = x;
	}
	all->p[*slot].time += t->gap_part.dur[part];
}

/* Most of what any one device waits for any one process, and where that is. */
static struct held_up worst(const assay_run *run, const assay_find_ctx *c)
{
	const assay_tables *t = &run->part.t;
	held_ups all = {0};
	assay_map known = {0};
	struct held_up best = {.own = ASSAY_NO_ROW};
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (t->gap_part.cause[i] == ASSAY_WHY_HOST_COMM && t->gap.ts[gap] >= c->w->from &&
		    t->gap.ts[gap] + t->gap.dur[gap] <= c->w->to)
			add(&all, &known, t, i);
	}
	for (size_t i = 0; i < all.n; i++)
		best = all.p[i].time > best.time ? all.p[i] : best;
	assay_vec_free(&all);
	assay_map_free(&known);
	return best;
}

static const char *rank_words(const assay_run *run, assay_arena *a, uint32_t source)
{
	const assay_source_table *s = &run->part.t.source;
	if (s->rank[source] >= 0)
		return assay_printf(a, "rank %d", s->rank[source]);
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

static void find_late(assay_run *run, const assay_find_ctx *c)
{
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || !run->part.t.sample.n)
		return;
	struct held_up at = worst(run, c);
	if ((double)at.time < worth_a_look * (double)c->whole || at.own == ASSAY_NO_ROW)
		return;
	const assay_tables *t = &run->part.t;
	assay_found f = {
		.id = "late_rank",
		.total = at.time,
		.saved = at.time,
		.confidence = 0.85,
		.fix = "give that rank less of it, do it ahead in another thread or process, or wait later (asynchronous collectives)"};
	const char *late = rank_words(run, c->scratch, at.source);
	f.where.has_rank = t->source.rank[at.source] >= 0;
	f.where.rank = t->source.rank[at.source];
	assay_where_in_stack(run, at.own, &f.where);
	f.text = assay_printf(c->scratch, "%s waits %s in collectives for %s",
			      rank_words(run, c->scratch, t->device_time.source[at.device]),
			      assay_share_words(c, at.time), late);
	f.fact[0] = assay_printf(c->scratch, "meanwhile %s is at %s:%d %s", late, f.where.file,
				 f.where.line, f.where.function);
	put_under(c, &f);
	assay_finding_add(c, &f);
}

const assay_finder assay_find_late = {"late", find_late};

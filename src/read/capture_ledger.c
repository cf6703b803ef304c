/* What a capture must hold, by its recorder's own counts, and what it does hold. */
#include <string.h>

#include "base/sort.h"
#include "names/calls.h"
#include "read/capture.h"

/* One row a kind of records that people count. */
static const char *const kind_names[ASSAY_WIRE_TYPE_COUNT] = {
	[ASSAY_WIRE_API] = "calls",       [ASSAY_WIRE_KERNEL] = "kernels",
	[ASSAY_WIRE_COPY] = "copies",     [ASSAY_WIRE_SET] = "memsets",
	[ASSAY_WIRE_SYNC] = "waits",      [ASSAY_WIRE_EVENT] = "events",
	[ASSAY_WIRE_GRAPH] = "graphs",    [ASSAY_WIRE_MEMORY] = "allocations",
	[ASSAY_WIRE_RANGE] = "ranges",    [ASSAY_WIRE_OVERHEAD] = "overheads",
	[ASSAY_WIRE_SCRATCH] = "scratch", [ASSAY_WIRE_BARRIER] = "barriers",
	[ASSAY_WIRE_STACK] = "stacks",    [ASSAY_WIRE_SAMPLE] = "samples",
};

static assay_sid kind_sid(capture *c, uint32_t kind)
{
	const char *name = kind < ASSAY_WIRE_TYPE_COUNT ? kind_names[kind] : NULL;
	return assay_intern_z(&c->part->strings, name ? name : "other");
}

static uint32_t add_row(capture *c, assay_sid kind, assay_loss_cause cause)
{
	assay_ledger_table *t = &c->part->t.ledger;
	uint32_t row = assay_add(&c->part->t, ASSAY_T_ledger);
	t->source[row] = c->part->source;
	t->kind[row] = kind;
	t->cause[row] = (uint8_t)cause;
	return row;
}

/* A cause without a kind: the vendor's own count, or a takeover. */
void assay_capture_loss(capture *c, uint32_t why, uint64_t count, int64_t first)
{
	uint32_t row = add_row(c, 0, why < ASSAY_LOSS_MISSING ? why : ASSAY_LOSS_VENDOR);
	c->part->t.ledger.dropped[row] = count;
	c->part->t.ledger.first[row] = first;
	c->lost = true;
}

void assay_capture_tally(capture *c, const any_record *r)
{
	const assay_wire_tally *y = &r->tally;
	if (y->kind >= ASSAY_WIRE_TYPE_COUNT || y->cause >= ASSAY_LOSS_MISSING)
		return;
	c->told = true;
	c->tally[y->cause][y->kind] = y->count;
}

void assay_capture_death(capture *c, const any_record *r)
{
	c->dead = true;
	c->whole = r->death.whole == 1;
	c->left = r->death.how;
}

void assay_capture_end_off(capture *c, int64_t time)
{
	assay_off_table *t = &c->part->t.off;
	if (c->off != ASSAY_NO_ROW && time > t->ts[c->off])
		t->dur[c->off] = time - t->ts[c->off];
	c->off = ASSAY_NO_ROW;
}

void assay_capture_switch(capture *c, const any_record *r)
{
	assay_off_table *t = &c->part->t.off;
	assay_capture_seen(c, r->flip.time);
	if (!r->flip.on && r->flip.why == ASSAY_WIRE_OFF_NOT_KEPT)
		assay_capture_cut_ranges(c, r->flip.time);
	if (r->flip.on) {
		if (c->off != ASSAY_NO_ROW && t->why[c->off] == ASSAY_OFF_NOT_KEPT)
			c->kept_from = r->flip.time;
		assay_capture_end_off(c, r->flip.time);
	} else if (c->off == ASSAY_NO_ROW) {
		c->switched |= r->flip.why != ASSAY_WIRE_OFF_STILL;
		c->off = assay_add(&c->part->t, ASSAY_T_off);
		t->source[c->off] = c->part->source;
		t->ts[c->off] = r->flip.time;
		t->why[c->off] = (uint8_t)(r->flip.why < ASSAY_OFF_CAUSE_COUNT ? r->flip.why
									       : ASSAY_OFF_ASKED);
	}
}

/* Counts of a kind, and what is missing of it. */
static void put_kind(capture *c, uint32_t kind)
{
	assay_ledger_table *t = &c->part->t.ledger;
	uint64_t made = c->tally[0][kind], read = c->counts[kind];
	if (made || (read && kind_names[kind])) {
		uint32_t row = add_row(c, kind_sid(c, kind), ASSAY_LOSS_NONE);
		t->made[row] = c->told ? made : read;
		t->read[row] = read;
	}
	if (made > read) {
		uint32_t row = add_row(c, kind_sid(c, kind), ASSAY_LOSS_MISSING);
		t->dropped[row] = made - read;
		assay_count(c->part, ASSAY_ISSUE_lost_in_file, made - read);
		c->lost = true;
	}
	for (uint32_t cause = 1; cause < ASSAY_LOSS_MISSING; cause++) {
		if (!c->tally[cause][kind])
			continue;
		uint32_t row = add_row(c, kind_sid(c, kind), (assay_loss_cause)cause);
		t->dropped[row] = c->tally[cause][kind];
		c->lost |= cause != ASSAY_LOSS_NOT_KEPT && cause != ASSAY_LOSS_ENDED;
		c->went_on |= cause == ASSAY_LOSS_ENDED;
		if (cause == ASSAY_LOSS_ENDED)
			assay_count(c->part, ASSAY_ISSUE_after_end, c->tally[cause][kind]);
	}
}

/* Does the call put work on a device? */
static bool starts_work(assay_str name)
{
	return assay_str_find(name, "LaunchHostFunc") < 0 &&
	       (assay_str_find(name, "Launch") >= 0 || assay_str_find(name, "Memcpy") >= 0 ||
		assay_str_find(name, "Memset") >= 0);
}

typedef struct graph_seen {
	uint64_t last; /* launch that has work here: a graph does not run beside itself */
	uint32_t most; /* pieces of work that one launch of it had */
} graph_seen;

/* What came of the GPU's work before the end. */
typedef struct arrived {
	assay_map pieces; /* correlation id -> how many pieces */
	assay_map graph_of;
	assay_vec(graph_seen) graphs; /* those told node by node */
} arrived;

static void see_node(arrived *a, uint32_t graph, uint64_t corr)
{
	uint32_t *row = assay_map_at(&a->graph_of, graph);
	if (*row == ASSAY_MAP_ABSENT) {
		*row = (uint32_t)a->graphs.n;
		*assay_push(&a->graphs) = (graph_seen){.last = corr};
	}
	graph_seen *g = &a->graphs.p[*row];
	uint32_t pieces = assay_map_get(&a->pieces, corr);
	g->most = pieces > g->most ? pieces : g->most;
	g->last = corr > g->last ? corr : g->last;
}

static arrived see_work(const capture *c)
{
	const assay_gpu_table *gpu = &c->part->t.gpu;
	arrived a = {0};
	for (size_t i = c->first_gpu; i < gpu->n; i++) {
		uint32_t *n = assay_map_at(&a.pieces, gpu->corr[i]);
		*n = *n == ASSAY_MAP_ABSENT ? 1 : *n + 1;
	}
	for (size_t i = c->first_gpu; i < gpu->n; i++)
		if (gpu->graph_node[i])
			see_node(&a, gpu->graph[i], gpu->corr[i]);
	return a;
}

static void free_arrived(arrived *a)
{
	assay_map_free(&a->pieces);
	assay_map_free(&a->graph_of);
	assay_vec_free(&a->graphs);
}

/* Of the last launch of each graph some nodes may have come, and others not. */
static uint64_t nodes_behind(const arrived *a, uint32_t *largest)
{
	uint64_t n = 0;
	for (size_t i = 0; i < a->graphs.n; i++) {
		const graph_seen *g = &a->graphs.p[i];
		n += g->most - assay_map_get(&a->pieces, g->last);
		*largest = g->most > *largest ? g->most : *largest;
	}
	return n;
}

/* Calls that were not told may have launched work, but for those whose work is there. */
static uint64_t untold_launches(const capture *c, uint64_t uncalled)
{
	uint64_t untold = 0;
	for (uint32_t cause = 1; cause < ASSAY_LOSS_MISSING; cause++)
		untold += cause == ASSAY_LOSS_NOT_KEPT ? 0 : c->tally[cause][ASSAY_WIRE_API];
	return untold > uncalled ? untold - uncalled : 0;
}

/* What was launched and did not come. */
typedef struct missing {
	uint64_t n;
	uint32_t largest; /* pieces of work that a graph may have */
	int64_t first;
} missing;

static void miss(missing *m, int64_t time, assay_str name)
{
	m->first = time < m->first ? time : m->first;
	m->n += assay_str_find(name, "GraphLaunch") >= 0 ? m->largest : 1;
}

static bool has_work(const arrived *a, uint64_t corr)
{
	return assay_map_get(&a->pieces, corr) != ASSAY_MAP_ABSENT;
}

/* Calls whose work did not come; returns how many have theirs. */
static uint64_t miss_calls(const capture *c, const arrived *a, missing *m)
{
	const assay_tables *t = &c->part->t;
	uint64_t called = 0;
	for (size_t i = c->first_host; i < t->host.n; i++) {
		uint32_t api = assay_is_call(t->host.kind[i]) ? t->host.detail[i] : ASSAY_NO_ROW;
		bool came = api != ASSAY_NO_ROW && has_work(a, t->api.corr[api]);
		called += came;
		assay_str name = assay_pool_get(&c->part->strings, t->host.name[i]);
		if (api != ASSAY_NO_ROW && !came && !t->api.status[api] && starts_work(name))
			miss(m, t->host.ts[i], name);
	}
	return called;
}

/* Threads that were inside a call at the end: it may have put its work on the device already. One
 * that had just ended is counted twice. */
static void miss_open_calls(const capture *c, const arrived *a, missing *m)
{
	const assay_open_call_table *t = &c->part->t.open_call;
	for (size_t i = c->first_open_call; i < t->n; i++) {
		assay_str name = assay_pool_get(&c->part->strings, t->name[i]);
		if (starts_work(name) && !has_work(a, t->corr[i]))
			miss(m, t->ts[i], name);
	}
}

/* The most that a sudden end can have cost: launches whose work did not come, those that were
 * captured into a graph among them. */
static uint64_t count_unknown(capture *c, int64_t *first)
{
	arrived a = see_work(c);
	missing m = {.largest = 1, .first = INT64_MAX};
	m.n = nodes_behind(&a, &m.largest);
	uint64_t called = miss_calls(c, &a, &m);
	miss_open_calls(c, &a, &m);
	m.n += untold_launches(c, a.pieces.n > called ? a.pieces.n - called : 0);
	*first = m.first == INT64_MAX ? 0 : m.first;
	free_arrived(&a);
	return m.n;
}

static void put_missing(capture *c, assay_loss_cause cause, uint64_t n, int64_t first)
{
	uint32_t row = add_row(c, assay_intern_z(&c->part->strings, "GPU work"), cause);
	c->part->t.ledger.unknown[row] = n;
	c->part->t.ledger.first[row] = first;
}

/* It was killed, or did not say how it went: how much of the GPU's work may be missing. Without
 * the word of who took the rings over, more may lie in them than anything here tells. */
static void put_unknown(capture *c)
{
	int64_t first = 0;
	uint64_t n = count_unknown(c, &first);
	put_missing(c,
		    !c->dead                          ? ASSAY_LOSS_UNTOLD
		    : c->left == ASSAY_WIRE_LEFT_EXEC ? ASSAY_LOSS_EXEC
						      : ASSAY_LOSS_KILLED,
		    n, first);
	assay_count(c->part, ASSAY_ISSUE_unknown_work, n);
}

/* ---- launches without work, of a process that ended in order ---- */

/* Calls that matter here, by what they do. */
typedef struct calls {
	const capture *c;
	assay_map does; /* sid of a name -> assay_call_does */
} calls;

/* A kernel always comes of a launch; copies and memsets may be of no bytes. */
static assay_call_does does_of(calls *s, size_t host)
{
	const assay_host_table *h = &s->c->part->t.host;
	if (!assay_is_call(h->kind[host]) || h->detail[host] == ASSAY_NO_ROW)
		return ASSAY_DOES_OTHER;
	uint32_t *does = assay_map_at(&s->does, h->name[host]);
	if (*does == ASSAY_MAP_ABSENT) {
		assay_str name = assay_pool_get(&s->c->part->strings, h->name[host]);
		assay_call_meaning m = assay_call_meaning_of(name.p, name.n);
		bool records = m.does == ASSAY_DOES_RECORD && m.takes & ASSAY_TAKES_LAUNCHES;
		*does = records ? ASSAY_DOES_LAUNCH : m.does;
	}
	return (assay_call_does)*does;
}

static bool launched_kernel(calls *s, size_t host)
{
	const assay_tables *t = &s->c->part->t;
	return does_of(s, host) == ASSAY_DOES_LAUNCH && !t->api.status[t->host.detail[host]];
}

static uint64_t mixed(uint64_t corr)
{
	uint64_t x = corr * 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	return x * x;
}

/* Launches and kernels have the same numbers, each as often: then nothing needs to be looked up. */
static bool launches_have_work(calls *s)
{
	const assay_tables *t = &s->c->part->t;
	uint64_t n = 0, sum = 0;
	for (size_t i = s->c->first_host; i < t->host.n; i++)
		if (launched_kernel(s, i)) {
			n++;
			sum += mixed(t->api.corr[t->host.detail[i]]);
		}
	for (size_t i = s->c->first_gpu; i < t->gpu.n; i++)
		if (t->gpu.kind[i] == ASSAY_GPU_KERNEL && !t->gpu.graph_node[i]) {
			n--;
			sum -= mixed(t->gpu.corr[i]);
		}
	return !n && !sum;
}

/* While any stream is being captured, launches go into a graph: the moments between which that is
 * so, and so on. */
typedef assay_vec(int64_t) moments;

static moments moments_of(calls *s, assay_call_does does)
{
	const assay_tables *t = &s->c->part->t;
	moments at = {0};
	for (size_t i = s->c->first_host; i < t->host.n; i++)
		if (does_of(s, i) == does && !t->api.status[t->host.detail[i]])
			*assay_push(&at) = t->host.ts[i] + t->host.dur[i];
	assay_sort_i64(at.p, at.n);
	return at;
}

static moments captured(calls *s)
{
	moments begin = moments_of(s, ASSAY_DOES_CAPTURE_BEGIN), at = {0};
	moments end = moments_of(s, ASSAY_DOES_CAPTURE_END);
	uint32_t open = 0;
	for (size_t i = 0, k = 0; i < begin.n || (open && k < end.n);) {
		bool begins = i < begin.n && (k == end.n || begin.p[i] <= end.p[k]);
		int64_t ts = begins ? begin.p[i++] : end.p[k++];
		uint32_t before = open;
		open = begins ? open + 1 : open ? open - 1 : 0;
		if (!before != !open)
			*assay_push(&at) = ts;
	}
	assay_vec_free(&begin);
	assay_vec_free(&end);
	return at;
}

static bool is_captured(const moments *at, int64_t ts)
{
	size_t passed = 0;
	while (passed < at->n && at->p[passed] <= ts)
		passed++;
	return passed % 2;
}

static missing miss_kernels(calls *s)
{
	const assay_tables *t = &s->c->part->t;
	arrived a = see_work(s->c);
	moments at = captured(s);
	missing m = {.largest = 1, .first = INT64_MAX};
	for (size_t i = s->c->first_host; i < t->host.n; i++)
		if (launched_kernel(s, i) && !has_work(&a, t->api.corr[t->host.detail[i]]) &&
		    !is_captured(&at, t->host.ts[i]))
			miss(&m, t->host.ts[i], (assay_str){"", 0});
	assay_vec_free(&at);
	free_arrived(&a);
	return m;
}

/* The vendor's library counts what it drops, but not what it never had: after fork, or taken away
 * by a tool we do not see. Stretches that were not recorded have launches without work. */
static bool lacks_work(capture *c)
{
	calls s = {.c = c};
	missing m = {0};
	if (!c->switched && !launches_have_work(&s))
		m = miss_kernels(&s);
	assay_map_free(&s.does);
	if (!m.n)
		return false;
	put_missing(c, ASSAY_LOSS_NO_WORK, m.n, m.first);
	assay_count(c->part, ASSAY_ISSUE_no_work, m.n);
	return true;
}

void assay_capture_settle(capture *c)
{
	for (uint32_t kind = 0; kind < ASSAY_WIRE_TYPE_COUNT; kind++)
		put_kind(c, kind);
	bool open = !c->ended && !(c->dead && c->whole);
	if (open)
		put_unknown(c);
	else if (c->told && !c->lost)
		open = lacks_work(c);
	assay_proof proof = c->lost || c->went_on ? ASSAY_PROOF_LOST
			    : open                ? ASSAY_PROOF_OPEN
			    : c->told             ? ASSAY_PROOF_WHOLE
						  : ASSAY_PROOF_NONE;
	c->part->t.source.proof[c->part->source] = (uint8_t)proof;
}

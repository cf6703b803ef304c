/* Scopes across threads. A thread that launches work outside any range of its own (autograd's, for
 * one) does so for a thread that waits for it inside a range. No recording says so; it is inferred
 * where all of this holds (docs/scopes.md):
 *
 * 1. Both are threads of one process, and take turns in the recording as a whole: they are in calls
 *    and operators at the same time for 2 % of the time of the quieter one or less.
 * 2. The waiter shows nothing (no call, operator, Python function, edge of a range) from the start
 *    of the worker's burst of calls and operators to its end, 20 us later or more.
 * 3. A range of the waiter is open then, and no call or operator of it.
 * 4. The waiter is silent because of the burst, which fills at least half of the silence.
 * 5. The worker is there because of the silence: it stops before and after it. Of the gaps inside
 *    the burst no more than one in ten is as long as the gap before it, or the gap after it.
 * 6. The worker always works like this: nine in ten of its calls and operators (each run of them
 *    counts once) lie in bursts that fulfil 2, 4 and 5, for one waiter or another.
 * 7. No other thread qualifies as the waiter of any part of the burst. */
#include "base/sort.h"
#include "base/turns.h"
#include "model/hand_off.h"
#include "resolve/scopes.h"

/* A process in which more threads than this have ranges is left as it is. */
enum { WAITERS_MAX = 16 };
/* One in so many may be otherwise. */
enum { FEW = 10 };

enum { WAITER = 1, WORKER = 2 };

struct party {
	uint32_t track, process;
	uint8_t role;
	assay_seen seen;
	assay_instants sign;
	assay_vec(uint32_t) open; /* by sign of a waiter: its innermost range from there on */
};

/* A burst of a worker, and the range it belongs to. */
struct loan {
	int64_t from, to;
	uint32_t scope;
	bool disputed;
};

typedef struct handing {
	scopes *s;
	assay_vec(uint8_t) role;       /* by track */
	assay_vec(struct party) party; /* of processes that have both, workers and waiters */
	assay_vec(struct loan) loan;   /* of the worker at hand */
	assay_hand_offs found;
	assay_vec(uint8_t) fit; /* by burst of the worker at hand */
} handing;

static bool is_nested_range(const scopes *s, uint32_t scope)
{
	const assay_scope_table *c = &s->t->scope;
	return c->host[scope] != ASSAY_NO_ROW && c->dur[scope] >= 0 &&
	       c->kind[scope] != ASSAY_SCOPE_KIND_PROCESS_RANGE &&
	       c->kind[scope] != ASSAY_SCOPE_KIND_OP;
}

/* ------------------------------------------------------------------ who may wait for whom */

/* Only threads that launched work count as workers: one that polls events launches none. */
static bool give_roles(handing *x)
{
	const assay_tables *t = x->s->t;
	uint8_t all = 0;
	for (size_t i = 0; i < t->track.n; i++)
		*assay_push(&x->role) = 0;
	for (size_t g = 0; g < t->gpu.n; g++) {
		uint32_t call = t->launch.host[g];
		if (call != ASSAY_NO_ROW && t->host_scope.scope[call] == ASSAY_NO_ROW)
			x->role.p[t->host.track[call]] |= WORKER;
	}
	for (uint32_t r = 0; r < t->scope.n; r++)
		if (is_nested_range(x->s, r))
			x->role.p[t->scope.track[r]] |= WAITER;
	for (size_t i = 0; i < t->track.n; i++)
		all |= x->role.p[i];
	return all == (WAITER | WORKER);
}

static uint64_t process_key(const assay_tables *t, uint32_t track)
{
	uint64_t key[3] = {assay_group_of(t, t->track.source[track]), (uint64_t)t->track.pid[track],
			   t->track.process[track]};
	return assay_hash(key, sizeof key, 0);
}

static void find_parties(handing *x)
{
	const assay_tables *t = x->s->t;
	assay_map number = {0};
	assay_vec(uint32_t) waiters = {0}; /* by process */
	for (uint32_t i = 0; i < t->track.n; i++) {
		if (!x->role.p[i])
			continue;
		uint32_t *slot = assay_map_at(&number, process_key(t, i));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)waiters.n;
			*assay_push(&waiters) = 0;
		}
		waiters.p[*slot] += (x->role.p[i] & WAITER) != 0;
		*assay_push(&x->party) =
			(struct party){.track = i, .process = *slot, .role = x->role.p[i]};
	}
	size_t kept = 0;
	for (size_t i = 0; i < x->party.n; i++) {
		uint32_t n = waiters.p[x->party.p[i].process];
		if (n && n <= WAITERS_MAX)
			x->party.p[kept++] = x->party.p[i];
	}
	x->party.n = kept;
	assay_vec_free(&waiters);
	assay_map_free(&number);
}

/* ------------------------------------------------------------------ what a thread shows */

/* The recorder's own work says nothing about the thread, nor does where a started range ends. */
static bool shows(uint8_t kind)
{
	return kind != ASSAY_HOST_OVERHEAD && kind != ASSAY_HOST_PROCESS_RANGE;
}

static bool is_work(uint8_t kind)
{
	return assay_is_call(kind) || kind == ASSAY_HOST_OP;
}

/* The innermost range after each sign, as scopes_open_at() would say. */
static void find_open(const scopes *s, struct party *p, const uint32_t *row, size_t n)
{
	const assay_tables *t = s->t;
	assay_vec(uint32_t) stack = {0};
	size_t next = 0;
	assay_vec_reserve(&p->open, p->sign.n);
	for (size_t i = 0; i < p->sign.n; i++) {
		for (; next < n && t->host.ts[row[next]] <= p->sign.p[i]; next++) {
			uint32_t scope = t->host_scope.scope[row[next]];
			if (scope != ASSAY_NO_ROW && t->scope.host[scope] == row[next] &&
			    is_nested_range(s, scope))
				*assay_push(&stack) = scope;
		}
		while (stack.n &&
		       t->scope.ts[stack.p[stack.n - 1]] + t->scope.dur[stack.p[stack.n - 1]] <=
			       p->sign.p[i])
			stack.n--;
		p->open.p[p->open.n++] = stack.n ? stack.p[stack.n - 1] : ASSAY_NO_ROW;
	}
	assay_vec_free(&stack);
}

static void look_at(const scopes *s, struct party *p)
{
	const assay_host_table *h = &s->t->host;
	const uint32_t *row = s->rows + s->first.p[p->track];
	size_t n = s->first.p[p->track + 1] - s->first.p[p->track];
	assay_vec(uint32_t) shown = {0};
	assay_vec_reserve(&shown, n);
	for (size_t i = 0; i < n; i++) {
		if (is_work(h->kind[row[i]]))
			assay_seen_work(&p->seen, h->ts[row[i]], assay_host_end(h, row[i]));
		if (p->role & WAITER && shows(h->kind[row[i]]))
			shown.p[shown.n++] = row[i];
	}
	if (p->role & WAITER) {
		assay_seen_signs(h, shown.p, shown.n, INT64_MAX, &p->sign);
		find_open(s, p, row, n);
	}
	p->seen.sign = p->sign.p;
	p->seen.signs = p->sign.n;
	assay_vec_free(&shown);
}

/* ------------------------------------------------------------------ loans */

/* Rule 5, of one side. */
static bool is_stop(const assay_burst *b, const assay_hand_off *h, int64_t gap)
{
	size_t as_long = 0;
	for (size_t i = h->low + 1; i < h->high; i++)
		as_long += b[i].from - b[i - 1].to >= gap;
	return as_long * FEW <= h->high - h->low - 1;
}

/* Rules 2, 4 and 5. Where the recording begins or ends, nothing speaks against them. */
static bool fits(const struct party *waiter, const struct party *worker, const assay_hand_off *h)
{
	const assay_burst *b = worker->seen.burst.p;
	if (h->leave == ASSAY_NO_SIGN || h->back == ASSAY_NO_SIGN)
		return true;
	int64_t silence = waiter->sign.p[h->back] - waiter->sign.p[h->leave];
	return h->back == h->leave + 1 && silence / 2 <= h->to - h->from &&
	       (!h->low || is_stop(b, h, h->from - b[h->low - 1].to)) &&
	       (h->high == worker->seen.burst.n || is_stop(b, h, b[h->high].from - h->to));
}

static void find_loans_of(handing *x, const struct party *waiter, const struct party *worker)
{
	x->found.n = 0;
	assay_hand_offs_find(&waiter->seen, &worker->seen, &x->found);
	for (size_t i = 0; i < x->found.n; i++) {
		const assay_hand_off *h = &x->found.p[i];
		if (!fits(waiter, worker, h))
			continue;
		for (size_t k = h->low; k < h->high; k++)
			x->fit.p[k] = 1;
		uint32_t scope = h->leave == ASSAY_NO_SIGN || h->back == ASSAY_NO_SIGN
					 ? ASSAY_NO_ROW
					 : waiter->open.p[h->leave];
		if (scope != ASSAY_NO_ROW)
			*assay_push(&x->loan) = (struct loan){h->from, h->to, scope, false};
	}
}

static void find_loans(handing *x, const struct party *worker)
{
	size_t fit = 0, n = worker->seen.burst.n;
	x->loan.n = x->fit.n = 0;
	for (size_t i = 0; i < n; i++)
		*assay_push(&x->fit) = 0;
	for (size_t i = 0; i < x->party.n; i++) {
		const struct party *w = &x->party.p[i];
		if (w != worker && w->process == worker->process && w->role & WAITER &&
		    assay_take_turns(&w->seen, &worker->seen))
			find_loans_of(x, w, worker);
	}
	for (size_t i = 0; i < n; i++)
		fit += x->fit.p[i];
	if ((n - fit) * FEW > n)
		x->loan.n = 0; /* rule 6 */
}

/* By start, and rule 7: those that overlap are disputed. */
static void settle_loans(handing *x)
{
	size_t n = x->loan.n;
	assay_vec(uint32_t) order = {0};
	assay_vec(int64_t) from = {0};
	assay_vec(struct loan) sorted = {0};
	for (uint32_t i = 0; i < n; i++) {
		*assay_push(&order) = i;
		*assay_push(&from) = x->loan.p[i].from;
	}
	assay_sort_rows(order.p, n, from.p);
	for (size_t i = 0, longest = 0; i < n; i++) {
		*assay_push(&sorted) = x->loan.p[order.p[i]];
		if (i && sorted.p[i].from < sorted.p[longest].to)
			sorted.p[i].disputed = sorted.p[longest].disputed = true;
		if (sorted.p[i].to > sorted.p[longest].to)
			longest = i;
	}
	for (size_t i = 0; i < n; i++)
		x->loan.p[i] = sorted.p[i];
	assay_vec_free(&sorted);
	assay_vec_free(&from);
	assay_vec_free(&order);
}

static void pay_out(scopes *s, const struct party *worker, const struct loan *loan, size_t *row,
		    size_t *alloc)
{
	assay_tables *t = s->t;
	if (loan->disputed)
		return;
	for (; *row < s->first.p[worker->track + 1]; ++*row) {
		uint32_t h = s->rows[*row];
		if (t->host.ts[h] > loan->to)
			break;
		if (t->host.ts[h] < loan->from || assay_host_end(&t->host, h) > loan->to ||
		    t->host_scope.scope[h] != ASSAY_NO_ROW)
			continue;
		t->host_scope.scope[h] = loan->scope;
		t->host_scope.how[h] = ASSAY_SCOPE_HOW_INFERRED;
	}
	scopes_allocs_handed(s, worker->track, alloc, loan->from, loan->to, loan->scope);
}

static void look_at_party(void *handing_over, unsigned worker, uint64_t i)
{
	const handing *x = handing_over;
	(void)worker;
	look_at(x->s, &x->party.p[i]);
}

static void look_at_parties(handing *x)
{
	unsigned threads = assay_run_threads_for(x->s->run, x->s->t->host.n);
	assay_turns_run(&(assay_turns){
		.tasks = x->party.n, .threads = threads, .ctx = x, .work = look_at_party});
}

void scopes_hand_over(scopes *s)
{
	handing x = {.s = s};
	if (give_roles(&x))
		find_parties(&x);
	look_at_parties(&x);
	for (size_t i = 0; i < x.party.n; i++) {
		const struct party *worker = &x.party.p[i];
		size_t row = s->first.p[worker->track], alloc = s->alloc_first.p[worker->track];
		if (!(worker->role & WORKER))
			continue;
		find_loans(&x, worker);
		if (x.loan.n)
			settle_loans(&x);
		for (size_t k = 0; k < x.loan.n; k++)
			pay_out(s, worker, &x.loan.p[k], &row, &alloc);
	}
	for (size_t i = 0; i < x.party.n; i++) {
		assay_vec_free(&x.party.p[i].seen.burst);
		assay_vec_free(&x.party.p[i].sign);
		assay_vec_free(&x.party.p[i].open);
	}
	assay_vec_free(&x.role);
	assay_vec_free(&x.party);
	assay_vec_free(&x.loan);
	assay_vec_free(&x.found);
	assay_vec_free(&x.fit);
}

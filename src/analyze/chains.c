/* Why a wait lasted, from its end back to its start: the work it waited for, what that work had
 * to wait for before it could start, and so on, to work or to a thread that was late with its
 * launch. */
#include "analyze/analyze.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

/* Waits that are followed, stretches of one and of all, nanoseconds that clocks may disagree. */
enum { LONGEST = 1000, DEPTH = 16384, ROWS = 1 << 18, CLOCKS = 10000 };

typedef struct chains {
	assay_run *run;
	assay_tables *t;
	uint32_t *before;            /* by row of gpu: the work before it in its stream */
	uint32_t *edge;              /* by row of gpu: an edge that leads to it */
	uint32_t *next;              /* by row of edge: another one to the same work */
	uint32_t *ended;             /* rows of wait of threads, by thread and end */
	assay_vec(uint32_t) threads; /* rows of chain with a launch: what did the thread do? */
	size_t n_ended;
	assay_arena scratch;
} chains;

static uint32_t *new_rows(chains *c, size_t n)
{
	uint32_t *rows = assay_alloc(&c->scratch, (n + 1) * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		rows[i] = ASSAY_NO_ROW;
	return rows;
}

/* Rows in order of one column, and of another within it. */
static void sort_by(chains *c, uint32_t *rows, size_t n, const int64_t *inner,
		    const uint32_t *outer, size_t all)
{
	int64_t *key = assay_alloc(&c->scratch, (all + 1) * sizeof *key);
	for (size_t i = 0; i < all; i++)
		key[i] = outer[i];
	assay_sort_rows(rows, n, inner);
	assay_sort_rows(rows, n, key);
}

static void index_work(chains *c)
{
	const assay_gpu_table *g = &c->t->gpu;
	uint32_t *rows = new_rows(c, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		rows[i] = i;
	sort_by(c, rows, g->n, g->ts, g->track, g->n);
	c->before = new_rows(c, g->n);
	for (size_t i = 1; i < g->n; i++)
		if (g->track[rows[i]] == g->track[rows[i - 1]])
			c->before[rows[i]] = rows[i - 1];
	c->edge = new_rows(c, g->n);
	c->next = new_rows(c, c->t->edge.n);
	for (uint32_t e = 0; e < c->t->edge.n; e++) {
		uint32_t to = c->t->edge.to_gpu[e];
		if (to == ASSAY_NO_ROW || c->t->edge.from_gpu[e] == ASSAY_NO_ROW)
			continue;
		c->next[e] = c->edge[to];
		c->edge[to] = e;
	}
}

static int64_t wait_end(const assay_wait_table *w, uint32_t i)
{
	return w->ts[i] + (w->dur[i] > 0 ? w->dur[i] : 0);
}

static void index_waits(chains *c)
{
	const assay_wait_table *w = &c->t->wait;
	int64_t *end = assay_alloc(&c->scratch, (w->n + 1) * sizeof *end);
	c->ended = new_rows(c, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		end[i] = wait_end(w, i);
		if (w->thread[i] != ASSAY_NO_ROW && w->blocked[i] > 0 &&
		    w->producer_gpu[i] != ASSAY_NO_ROW)
			c->ended[c->n_ended++] = i;
	}
	sort_by(c, c->ended, c->n_ended, end, w->thread, w->n);
}

/* The last wait of the thread that was over by then. */
static uint32_t wait_before(const chains *c, uint32_t thread, int64_t at)
{
	const assay_wait_table *w = &c->t->wait;
	size_t low = 0, high = c->n_ended;
	while (low < high) {
		size_t mid = (low + high) / 2;
		uint32_t i = c->ended[mid];
		bool before = w->thread[i] != thread ? w->thread[i] < thread : wait_end(w, i) <= at;
		low = before ? mid + 1 : low;
		high = before ? high : mid;
	}
	return low && w->thread[c->ended[low - 1]] == thread ? c->ended[low - 1] : ASSAY_NO_ROW;
}

/* What ended last of all that the work had to wait for on its device; ASSAY_NO_ROW. */
static uint32_t held_by(const chains *c, uint32_t gpu)
{
	const assay_gpu_table *g = &c->t->gpu;
	int64_t start = g->ts[gpu] + CLOCKS;
	uint32_t best = c->before[gpu];
	if (best != ASSAY_NO_ROW && assay_gpu_end(g, best) > start)
		best = ASSAY_NO_ROW;
	for (uint32_t e = c->edge[gpu]; e != ASSAY_NO_ROW; e = c->next[e]) {
		uint32_t from = c->t->edge.from_gpu[e];
		int64_t end = assay_gpu_end(g, from);
		if (end <= start && from != gpu &&
		    (best == ASSAY_NO_ROW || end > assay_gpu_end(g, best)))
			best = from;
	}
	return best;
}

static uint32_t put(chains *c, uint32_t wait, int64_t from, int64_t to)
{
	uint32_t i = assay_add(c->t, ASSAY_T_chain);
	c->t->chain.wait[i] = wait;
	c->t->chain.ts[i] = from;
	c->t->chain.dur[i] = to - from;
	return i;
}

/* A place on the way back: up to `until`, work `gpu` or nothing. */
typedef struct stretch {
	uint32_t gpu;
	int64_t until;
} stretch;

/* The thread had not launched it: since its own last wait, if that lies within. */
static stretch back_to_thread(chains *c, uint32_t wait, uint32_t gpu, int64_t since, int64_t start)
{
	const assay_wait_table *w = &c->t->wait;
	uint32_t call = c->t->launch.host[gpu], thread = c->t->host.track[call];
	uint32_t own = wait_before(c, thread, c->t->host.ts[call]);
	bool inside = own != ASSAY_NO_ROW && own != wait && wait_end(w, own) > since &&
		      w->blocked[own] > 0;
	int64_t from = inside ? wait_end(w, own) : since;
	uint32_t i = put(c, wait, from, start);
	c->t->chain.launch[i] = call;
	*assay_push(&c->threads) = i;
	return inside ? (stretch){w->producer_gpu[own], from} : (stretch){ASSAY_NO_ROW, since};
}

/* From where the stretch of the work began, which is its start, or the end of a wait whose clock
 * is behind. */
static stretch back_from(chains *c, uint32_t wait, uint32_t gpu, int64_t since, int64_t start)
{
	uint32_t held = held_by(c, gpu), call = c->t->launch.host[gpu];
	int64_t free = held == ASSAY_NO_ROW ? since : assay_gpu_end(&c->t->gpu, held);
	if (call != ASSAY_NO_ROW && c->t->host.ts[call] > (free > since ? free : since))
		return back_to_thread(c, wait, gpu, since, start);
	if (free > since)
		return (stretch){held, start};
	put(c, wait, since, start);
	return (stretch){ASSAY_NO_ROW, since};
}

static void follow(chains *c, uint32_t wait)
{
	const assay_wait_table *w = &c->t->wait;
	const assay_gpu_table *g = &c->t->gpu;
	uint32_t gpu = w->producer_gpu[wait];
	bool thread = w->blocked[wait] >= 0;
	int64_t end = assay_gpu_end(g, gpu);
	int64_t until = thread && wait_end(w, wait) < end ? wait_end(w, wait) : end;
	int64_t since = thread ? w->ts[wait] : end - w->delayed[wait];
	for (int depth = 0; depth < DEPTH && gpu != ASSAY_NO_ROW && until > since; depth++) {
		int64_t start = g->ts[gpu] > since ? g->ts[gpu] : since;
		start = start < until ? start : until;
		end = assay_gpu_end(g, gpu);
		if (end <= since)
			break;
		if (until - end > CLOCKS) { /* the device was late, or somebody else's */
			put(c, wait, end, until);
			until = end;
		}
		if (start < until) {
			uint32_t i = put(c, wait, start, until);
			c->t->chain.gpu[i] = gpu;
		}
		if (start <= since)
			break;
		stretch back = back_from(c, wait, gpu, since, start);
		gpu = back.gpu;
		until = back.until;
	}
}

/* ------------------------------------------------------------------ what the threads did */

static int64_t middle(const chains *c, uint32_t i)
{
	return c->t->chain.ts[i] + c->t->chain.dur[i] / 2;
}

/* The innermost row of the thread around the middle of each stretch, in one pass. */
static void name_threads(chains *c)
{
	assay_chain_table *t = &c->t->chain;
	const assay_host_table *h = &c->t->host;
	int64_t *at = assay_alloc(&c->scratch, (t->n + 1) * sizeof *at);
	uint32_t *thread = new_rows(c, t->n);
	for (size_t k = 0; k < c->threads.n; k++) {
		uint32_t i = c->threads.p[k];
		at[i] = middle(c, i);
		thread[i] = h->track[t->launch[i]];
	}
	sort_by(c, c->threads.p, c->threads.n, at, thread, t->n);
	for (uint32_t r = 0; r < h->n && c->threads.n; r++) {
		size_t low = 0, high = c->threads.n;
		while (low < high) {
			size_t mid = (low + high) / 2;
			uint32_t i = c->threads.p[mid];
			bool before = thread[i] != h->track[r] ? thread[i] < h->track[r]
							       : at[i] < h->ts[r];
			low = before ? mid + 1 : low;
			high = before ? high : mid;
		}
		for (; low < c->threads.n; low++) {
			uint32_t i = c->threads.p[low];
			if (thread[i] != h->track[r] || at[i] >= assay_host_end(h, r))
				break;
			if (t->host[i] == ASSAY_NO_ROW || h->ts[r] >= h->ts[t->host[i]])
				t->host[i] = r;
		}
	}
}

static int64_t time_lost(const assay_wait_table *w, uint32_t i)
{
	int64_t t = w->blocked[i] >= 0 ? w->blocked[i] : w->delayed[i];
	return w->producer_gpu[i] == ASSAY_NO_ROW ? 0 : t;
}

void assay_wait_chains(assay_run *run)
{
	chains c = {.run = run, .t = &run->part.t};
	const assay_wait_table *w = &c.t->wait;
	uint32_t *rows = new_rows(&c, w->n);
	int64_t *lost = assay_alloc(&c.scratch, (w->n + 1) * sizeof *lost);
	size_t n = 0;
	c.t->chain.n = 0;
	index_work(&c);
	index_waits(&c);
	for (uint32_t i = 0; i < w->n; i++) {
		lost[i] = time_lost(w, i);
		if (lost[i] > 0)
			rows[n++] = i;
	}
	assay_sort_rows_falling(rows, n, lost);
	for (size_t k = 0; k < n && k < LONGEST && c.t->chain.n < ROWS; k++)
		follow(&c, rows[k]);
	name_threads(&c);
	assay_vec_free(&c.threads);
	assay_arena_free(&c.scratch);
}

/* A wait of thread 1 from 0 to 1000 us for kernel b, which thread 2 launched at 600 us, after an
 * operator of 400 us; kernel a, before it, ended at 150 us. */
TEST(a_wait_leads_back_to_the_thread_that_launched_late)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	uint32_t op = assay_hand_host(run, ASSAY_HOST_OP, "aten::load", 180000, 400000);
	uint32_t launch =
		assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 600000, 5000);
	t->host.track[op] = t->host.track[launch] = assay_thread_track(&run->part, 1, 2);
	static const int64_t starts[] = {-50000, 610000}, ends[] = {150000, 995000};
	for (uint32_t g = 0; g < 2; g++) {
		CHECK_EQ(assay_add(t, ASSAY_T_gpu), g);
		t->gpu.ts[g] = starts[g];
		t->gpu.dur[g] = ends[g] - starts[g];
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
		CHECK_EQ(assay_add(t, ASSAY_T_launch), g);
		t->launch.host[g] = g ? launch : ASSAY_NO_ROW;
	}
	CHECK_EQ(assay_add(t, ASSAY_T_wait), 0);
	t->wait.ts[0] = 0;
	t->wait.dur[0] = t->wait.blocked[0] = 1000000;
	t->wait.thread[0] = assay_thread_track(&run->part, 1, 1);
	t->wait.producer_gpu[0] = 1;
	assay_wait_chains(run);
	CHECK_EQ(t->chain.n, 2);
	CHECK(t->chain.gpu[0] == 1 && t->chain.dur[0] == 385000);
	CHECK(t->chain.host[1] == op && t->chain.launch[1] == launch && t->chain.ts[1] == 0);
	CHECK_EQ(t->chain.dur[1], 610000);
	assay_run_free(run);
	return 0;
}

/* n kernels of 1 us, one right after the other, and a wait of a thread for the last of them. */
static assay_run *wait_behind(uint32_t n, int64_t wait_end)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	for (uint32_t i = 0; i < n; i++)
		assay_hand_gpu(run, "k", i * 1000, 1000, ASSAY_NO_ROW);
	assay_add(t, ASSAY_T_wait);
	t->wait.dur[0] = t->wait.blocked[0] = wait_end;
	t->wait.thread[0] = assay_thread_track(&run->part, 1, 1);
	t->wait.producer_gpu[0] = n - 1;
	assay_wait_chains(run);
	return run;
}

TEST(a_wait_behind_a_thousand_kernels_is_followed_to_its_start)
{
	assay_run *run = wait_behind(1000, 1000 * 1000);
	const assay_chain_table *c = &run->part.t.chain;
	CHECK(c->n == 1000 && c->ts[999] == 0 && c->gpu[999] == 0);
	assay_run_free(run);
	return 0;
}

TEST(a_wait_whose_clock_is_behind_the_device_is_followed)
{
	assay_run *run = wait_behind(10, 8500);
	const assay_chain_table *c = &run->part.t.chain;
	CHECK(c->n == 9 && c->gpu[0] == 8 && c->dur[0] == 500 && c->ts[8] == 0);
	assay_run_free(run);
	return 0;
}

/* How CUDA graphs are traced: by the work of their nodes, each launch as a whole, or as a whole
 * with the nodes of some launches.
 *
 * CUPTI (13.0) dies in the launch of a graph as a whole that was made while such tracing was off.
 * So it is on before the program can make a graph, also while nothing is recorded, and goes off
 * only for a moment, in which nodes are told: when no graph is being made and none was just made,
 * and for as long as calls are seen. A graph that is made in that moment all the same can not be
 * launched as a whole any more: from then on nodes are told of all launches. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "record/cuda_share.h"

enum {
	ONE_IN = 32,        /* launches, of which the nodes are told of one */
	LOOKS_MAX = 5,      /* that a moment without a launch lasts */
	LOOK_NS = 18000000, /* at least between two looks: switching is not cheap */
};
#define QUIET_NS  1000000000ll /* since a graph was made */
#define UNSEEN_NS 5000000000ll /* since calls are seen: one may have been in the making before */

/* With --graph-nodes auto, of so many launches a second the nodes of one in so many. */
static const struct {
	double launches;
	uint32_t one_in;
} shares[] = {{50, 2}, {200, 4}, {1000, 16}};

static struct {
	const cupti_lib *cupti;
	/* by the callbacks */
	_Atomic uint32_t launched, made;
	_Atomic int32_t making;
	_Atomic int64_t last_made;
	_Atomic int traced; /* as a whole: from the start, but for moments */
	/* who switches; under the lock: */
	pthread_mutex_t lock;
	bool begins;   /* the program has not gone on yet */
	bool sampled;  /* there are to be moments in which nodes are told */
	bool seen;     /* calls are seen, and so are graphs that are made, ... */
	int64_t since; /* ... since then; 0: since the start */
	bool open;     /* nodes are told */
	bool stuck;    /* and will be until the end */
	uint32_t made_before, opened_at, closed_at, need, looks;
	int64_t closed, looked;
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool assay_graphs_traced(void)
{
	return atomic_load(&graphs.traced);
}

static void tell(const char *key, const char *value)
{
	if (!assay_rt_bulk_open())
		return;
	assay_rt_meta(key, value);
	assay_rt_bulk_close();
}

void assay_graphs_begin(const cupti_lib *c)
{
	const assay_rt_config *conf = assay_rt_conf();
	bool sample = conf->sample_nodes || conf->auto_nodes;
	if ((!conf->no_nodes && !sample) || !assay_cuda_prepare())
		return;
	graphs.cupti = c;
	graphs.begins = true;
	graphs.sampled = sample && !conf->no_api && !conf->no_driver; /* else made unseen */
	graphs.need = 1;
	c->enable(CUPTI_GRAPH_TRACE);
	atomic_store(&graphs.traced, 1);
	tell("graph_nodes", graphs.sampled ? "sample" : "none");
}

void assay_graphs_begun(void)
{
	graphs.begins = false;
}

void assay_graphs_forked(void)
{
	pthread_mutex_init(&graphs.lock, NULL);
	atomic_store(&graphs.traced, 0);
	graphs.sampled = false;
}

/* ---- on the program's threads ---- */

void assay_graphs_enter(uint8_t what)
{
	if (what == ASSAY_GRAPH_MADE) {
		atomic_fetch_add(&graphs.making, 1);
		atomic_fetch_add(&graphs.made, 1);
	} else {
		atomic_fetch_add_explicit(&graphs.launched, 1, memory_order_relaxed);
	}
}

void assay_graphs_leave(uint8_t what)
{
	if (what != ASSAY_GRAPH_MADE)
		return;
	atomic_store(&graphs.last_made, assay_rt_now());
	atomic_fetch_sub(&graphs.making, 1);
}

/* ---- moments, under the lock ---- */

/* What is made after this looked is met when the moment closes. */
static bool may_open(int64_t now)
{
	graphs.made_before = atomic_load(&graphs.made);
	return atomic_load(&graphs.launched) - graphs.closed_at >= graphs.need &&
	       !atomic_load(&graphs.making) && now - atomic_load(&graphs.last_made) > QUIET_NS &&
	       (!graphs.since || now - graphs.since > UNSEEN_NS);
}

static void open_moment(void)
{
	graphs.opened_at = atomic_load(&graphs.launched);
	graphs.looks = 0;
	graphs.open = true;
	graphs.cupti->disable(CUPTI_GRAPH_TRACE);
}

/* Launches until the next moment, after one with so many. */
static uint32_t next_need(uint32_t told, int64_t now)
{
	uint32_t one_in = ONE_IN;
	double seconds = (double)(now - graphs.closed) / 1e9;
	double rate = (atomic_load(&graphs.launched) - graphs.closed_at) / seconds;
	for (size_t i = sizeof shares / sizeof *shares; assay_rt_conf()->auto_nodes && i-- > 0;)
		if (rate < shares[i].launches)
			one_in = shares[i].one_in;
	return told ? told * (one_in - 1) : 1;
}

static void close_moment(int64_t now)
{
	if (atomic_load(&graphs.made) != graphs.made_before) {
		graphs.stuck = true;
		tell("graph_nodes.all", "a graph was made while nodes were recorded");
		return;
	}
	graphs.cupti->enable(CUPTI_GRAPH_TRACE);
	graphs.open = false;
	uint32_t launched = atomic_load(&graphs.launched);
	graphs.need = next_need(launched - graphs.opened_at, now);
	graphs.closed_at = launched;
	graphs.closed = now;
}

void assay_graphs_seen(bool seen)
{
	pthread_mutex_lock(&graphs.lock);
	if (graphs.sampled && seen != graphs.seen) {
		if (graphs.open && !graphs.stuck)
			close_moment(assay_rt_now());
		graphs.since = graphs.begins ? 0 : assay_rt_now();
		graphs.seen = seen;
		atomic_store(&graphs.making, 0); /* ends are not seen without callbacks */
	}
	pthread_mutex_unlock(&graphs.lock);
}

void assay_graphs_tick(void)
{
	pthread_mutex_lock(&graphs.lock);
	int64_t now = assay_rt_now();
	bool goes_on =
		graphs.sampled && graphs.seen && !graphs.stuck && now - graphs.looked >= LOOK_NS;
	if (goes_on)
		graphs.looked = now;
	if (goes_on && !graphs.open && may_open(now))
		open_moment();
	else if (goes_on && graphs.open &&
		 (atomic_load(&graphs.launched) != graphs.opened_at || ++graphs.looks == LOOKS_MAX))
		close_moment(now);
	pthread_mutex_unlock(&graphs.lock);
}

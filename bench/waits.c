/* Resolver speed: a synthetic stream of calls, made block by block, through the sweep.
 * usage: waits [MILLIONS [EVENTS [STREAMS]]] ; making the records is timed apart and taken off. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "resolve/sweep.h"

enum { BLOCK = 4096 };

struct out {
	uint64_t waits, resolved, edges, landed;
};

static uint32_t take_wait(void *ctx, const assay_sweep_wait *w)
{
	struct out *o = ctx;
	o->resolved += w->class <= ASSAY_WAIT_IS_AMBIGUOUS;
	return (uint32_t)o->waits++;
}

static void take_news(void *ctx, uint32_t wait, const assay_sweep_news *n)
{
	struct out *o = ctx;
	(void)wait;
	o->landed += n->what == ASSAY_NEWS_LANDED;
}

static void take_edge(void *ctx, const assay_sweep_edge *e)
{
	struct out *o = ctx;
	(void)e;
	o->edges++;
}

struct source {
	uint64_t random, key, events, streams;
};

/* Of ten calls: five launches, two records, two stream waits, one of everything else. */
static void make_block(struct source *s, assay_sweep_rec *r)
{
	for (int i = 0; i < BLOCK; i++, s->key++) {
		s->random ^= s->random << 13;
		s->random ^= s->random >> 7;
		s->random ^= s->random << 17;
		uint64_t x = s->random, event = 0x7f0000000000u + (x >> 8) % s->events * 64;
		static const uint8_t ops[16] = {
			ASSAY_OP_LAUNCH, ASSAY_OP_LAUNCH, ASSAY_OP_LAUNCH,     ASSAY_OP_LAUNCH,
			ASSAY_OP_LAUNCH, ASSAY_OP_LAUNCH, ASSAY_OP_LAUNCH,     ASSAY_OP_LAUNCH,
			ASSAY_OP_RECORD, ASSAY_OP_RECORD, ASSAY_OP_RECORD,     ASSAY_OP_WAIT,
			ASSAY_OP_WAIT,   ASSAY_OP_WAIT,   ASSAY_OP_EVENT_SYNC, ASSAY_OP_CREATE,
		};
		uint8_t op = ops[x & 15];
		if (op == ASSAY_OP_CREATE && x >> 63)
			op = ASSAY_OP_DESTROY;
		int64_t t = (int64_t)s->key * 100;
		r[i] = (assay_sweep_rec){.key = s->key,
					 .enter = t,
					 .exit = t + 80,
					 .event = event,
					 .stream = 0x5000 + (x >> 40) % s->streams * 256,
					 .scope = 1,
					 .thread = (uint32_t)(x >> 60),
					 .track = ASSAY_NO_ROW,
					 .hint = ASSAY_NO_ROW,
					 .row = (uint32_t)s->key,
					 .device = 0,
					 .op = op};
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long rss_mb(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return use.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
	uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 50) * 1000000;
	struct source src = {88172645463325252u, 1, argc > 2 ? strtoull(argv[2], NULL, 10) : 1000,
			     argc > 3 ? strtoull(argv[3], NULL, 10) : 32};
	static assay_sweep_rec block[BLOCK];
	struct out o = {0};
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){&o, take_wait, take_news, take_edge, NULL},
				(assay_sweep_clocks){0});
	double sweep = 0;
	size_t early = 0;
	for (uint64_t done = 0; done < n; done += BLOCK) {
		make_block(&src, block);
		double t = now();
		for (int i = 0; i < BLOCK; i++)
			assay_sweep_push(s, &block[i]);
		sweep += now() - t;
		if (done <= n / 10)
			early = assay_sweep_bytes(s);
	}
	printf("%llu records, %llu events, %llu streams: %.2f s, %.1f M records/s\n",
	       (unsigned long long)n, (unsigned long long)src.events,
	       (unsigned long long)src.streams, sweep, (double)n / sweep / 1e6);
	printf("%llu waits, %.2f%% resolved, %llu landed, %llu edges\n",
	       (unsigned long long)o.waits, 100.0 * (double)o.resolved / (double)o.waits,
	       (unsigned long long)o.landed, (unsigned long long)o.edges);
	printf("resolver memory %zu kB after a tenth, %zu kB at the end; process %ld MB\n",
	       early / 1024, assay_sweep_bytes(s) / 1024, rss_mb());
	assay_sweep_free(s);
	return 0;
}

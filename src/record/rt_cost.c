/* What recording takes of the program: the time in callbacks of every so many calls, as a
 * histogram, and what the writer used. Told as facts at the end. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "record/rt_state.h"

enum { BUCKETS = 32 }; /* bucket i: less than 2^i ns, and not in one before; the last: all others */

static struct {
	_Atomic uint64_t n, sum, max, bucket[BUCKETS];
	int64_t writer_ns; /* of writers that ended for a while */
	long writer_faults;
} cost;

static uint32_t bucket_of(uint64_t ns)
{
	uint32_t bits = ns ? 64 - (uint32_t)__builtin_clzll(ns) : 0;
	return bits < BUCKETS ? bits : BUCKETS - 1;
}

void assay_rt_cost(int64_t ns)
{
	uint64_t v = ns > 0 ? (uint64_t)ns : 0;
	uint64_t max = atomic_load_explicit(&cost.max, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost.n, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost.sum, v, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost.bucket[bucket_of(v)], 1, memory_order_relaxed);
	while (v > max && !atomic_compare_exchange_weak(&cost.max, &max, v))
		;
}

void assay_rt_forget_cost(void)
{
	for (int i = 0; i < BUCKETS; i++)
		atomic_store(&cost.bucket[i], 0);
	atomic_store(&cost.n, 0);
	atomic_store(&cost.sum, 0);
	atomic_store(&cost.max, 0);
	cost.writer_ns = cost.writer_faults = 0;
}

bool assay_rt_keep_cost(void)
{
	struct rusage own;
	if (getrusage(RUSAGE_THREAD, &own))
		return false;
	int64_t us = ((int64_t)own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000 +
		     own.ru_utime.tv_usec + own.ru_stime.tv_usec;
	cost.writer_ns += us * 1000;
	cost.writer_faults += own.ru_minflt + own.ru_majflt;
	return true;
}

static void tell_callbacks(void)
{
	char text[1024];
	int n = snprintf(text, sizeof text,
			 "{\"every\":%d,\"looked_at\":%" PRIu64 ",\"sum\":%" PRIu64
			 ",\"max\":%" PRIu64 ",\"log2\":[",
			 ASSAY_COST_EVERY, atomic_load(&cost.n), atomic_load(&cost.sum),
			 atomic_load(&cost.max));
	for (int i = 0; i < BUCKETS; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRIu64, i ? "," : "",
			      atomic_load(&cost.bucket[i]));
	snprintf(text + n, sizeof text - (size_t)n, "]}");
	assay_rt_meta("cost.callback_ns", text);
}

void assay_rt_tell_cost(void)
{
	char text[160];
	if (atomic_load(&cost.n))
		tell_callbacks();
	if (!assay_rt_keep_cost())
		return;
	snprintf(text, sizeof text,
		 "{\"cpu_ns\":%" PRId64 ",\"page_faults\":%ld,\"bytes\":%" PRIu64 "}",
		 cost.writer_ns, cost.writer_faults, rt.capture_bytes);
	assay_rt_meta("cost.writer", text);
}

/* A program with a profiler of its own, as torch.profiler is one: calls CUPTI through its own
 * linkage, starts late, stops early, and counts what it gets. usage: shared [clock | quiet |
 * hasty]: with a clock of its own; without a subscription; finalizes without a flush. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vendor/cupti.h"

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);
int fake_launch_slow(unsigned stream, const char *name, unsigned ms);
int fake_record(unsigned event, unsigned stream);
int fake_get_device(void);
cupti_result cuptiActivityRegisterCallbacks(cupti_request_fn *, cupti_complete_fn *);
cupti_result cuptiActivityEnable(int kind);
cupti_result cuptiActivityDisable(int kind);
cupti_result cuptiActivityFlushAll(uint32_t flag);
cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
cupti_result cuptiSubscribe(void **subscriber, cupti_callback_fn *callback, void *data);
cupti_result cuptiFinalize(void);
cupti_result cuptiActivityRegisterTimestampCallback(cupti_time_fn *fn);

static unsigned kernels, calls, others, unknown_buffers;
static uint8_t *mine[64];
static size_t buffers;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 16;
	*max = 0;
	*buffer = mine[buffers++] = aligned_alloc(8, *size);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	int known = 0;
	for (size_t i = 0; i < buffers; i++)
		known |= mine[i] == buffer;
	unknown_buffers += !known;
	for (void *r = NULL; cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK;) {
		uint32_t kind;
		memcpy(&kind, r, sizeof kind);
		kernels += kind == CUPTI_CONCURRENT_KERNEL;
		calls += kind == CUPTI_RUNTIME;
		others += kind != CUPTI_CONCURRENT_KERNEL && kind != CUPTI_RUNTIME;
	}
}

static int64_t boot_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* As a cycle counter: its own start, and 2.1 a nanosecond. */
static uint64_t ticks(void)
{
	static int64_t first;
	first = first ? first : boot_ns();
	return 1000 + (uint64_t)(boot_ns() - first) * 21 / 10;
}

static void work(int n)
{
	for (int i = 0; i < n; i++) {
		fake_get_device();
		fake_launch(7, "kernel");
		fake_record(1, 7);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	bool clock = !strcmp(how, "clock"), quiet = !strcmp(how, "quiet"),
	     hasty = !strcmp(how, "hasty");
	void *subscriber;
	cuInit(0);
	work(10);
	usleep(50000);
	if (!quiet && cuptiSubscribe(&subscriber, NULL, NULL) != CUPTI_OK)
		puts("cannot subscribe");
	cuptiActivityRegisterCallbacks(request, complete);
	if (clock) {
		work(1); /* not flushed yet */
		cuptiActivityRegisterTimestampCallback(ticks);
	}
	int64_t session = boot_ns();
	cuptiActivityEnable(CUPTI_CONCURRENT_KERNEL);
	cuptiActivityEnable(CUPTI_RUNTIME);
	work(20);
	usleep(50000);
	work(20);
	if (!*how) /* still running when the session ends: a forced flush must not tear it */
		fake_launch_slow(7, "slow", 10);
	cuptiActivityDisable(CUPTI_CONCURRENT_KERNEL);
	cuptiActivityDisable(CUPTI_RUNTIME);
	if (!hasty)
		cuptiActivityFlushAll(1);
	int64_t stop = boot_ns();
	if (!quiet)
		cuptiFinalize();
	if (hasty)
		cuptiActivityFlushAll(1);
	if (!quiet && !hasty && cuptiSubscribe(&subscriber, NULL, NULL) != CUPTI_OK)
		puts("cannot subscribe again");
	work(30);
	printf("kernels %u calls %u others %u unknown %u\nfrom %lld to %lld\n", kernels, calls,
	       others, unknown_buffers, (long long)session, (long long)stop);
	return 0;
}

/* What parts.py cannot do in Python: buffers for CUPTI, a callback that does about as much as ours,
 * and a thread that has CUPTI hand over what is done. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POOL = 64, ENTER = 0 };

static _Atomic uint64_t bytes, calls, requests;
static size_t buffer_bytes = 256 << 10;
static _Atomic(uint8_t *) pool[POOL]; /* zeroed, of buffer_bytes */

uint64_t parts_count(int what)
{
	_Atomic uint64_t *counts[] = {&bytes, &calls, &requests};
	return atomic_exchange(counts[what], 0);
}

/* Only while nothing is attached. */
void parts_buffers(size_t n)
{
	for (int i = 0; i < POOL && n != buffer_bytes; i++)
		free(atomic_exchange(&pool[i], NULL));
	buffer_bytes = n;
}

void parts_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint8_t *p = NULL;
	for (int i = 0; i < POOL && !p; i++)
		p = atomic_exchange(&pool[i], NULL);
	requests++;
	*size = buffer_bytes;
	*max_records = 0;
	*buffer = p ? p : calloc(1, buffer_bytes);
}

void parts_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	bytes += valid;
	memset(buffer, 0, valid < buffer_bytes ? valid : buffer_bytes);
	for (int i = 0; i < POOL; i++) {
		uint8_t *none = NULL;
		if (atomic_compare_exchange_strong(&pool[i], &none, buffer))
			return;
	}
	free(buffer);
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void parts_callback(void *data, int domain, uint32_t cbid, const int *site)
{
	static __thread int64_t start[8];
	static __thread int64_t row[3];
	(void)data;
	if (*site == ENTER) {
		start[domain] = now();
		return;
	}
	row[0] = start[domain];
	row[1] = now();
	row[2] = cbid;
	atomic_fetch_add_explicit(&calls, row[1] >= row[0], memory_order_relaxed);
}

static struct {
	int (*flush)(uint32_t flag);
	pthread_t thread;
	_Atomic int ms; /* 0: end */
} flusher;

static void *flush_again_and_again(void *unused)
{
	for (int ms; (ms = flusher.ms);) {
		struct timespec pause = {.tv_nsec = ms * 1000000l};
		nanosleep(&pause, NULL);
		flusher.flush(0);
	}
	return unused;
}

/* Every so many ms; 0: no more. */
void parts_flush(int (*flush)(uint32_t), int ms)
{
	int before = atomic_exchange(&flusher.ms, ms);
	flusher.flush = flush;
	if (ms && !before)
		pthread_create(&flusher.thread, NULL, flush_again_and_again, NULL);
	else if (!ms && before)
		pthread_join(flusher.thread, NULL);
}

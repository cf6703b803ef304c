/* What parts.py cannot do in Python: buffers for CUPTI, and a callback that does about as much as
 * ours. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { BUFFER = 256 << 10, ENTER = 0 };

static _Atomic uint64_t bytes, calls;

uint64_t parts_count(int what)
{
	return atomic_exchange(what ? &calls : &bytes, 0);
}

void parts_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = BUFFER;
	*max_records = 0;
	*buffer = calloc(1, BUFFER);
}

void parts_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	bytes += valid;
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
	calls += row[1] >= row[0];
}

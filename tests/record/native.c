/* Functions to be found on native stacks: blocked or computing at the end of a chain of calls, with
 * frames of every kind that compilers make. */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
static volatile uint64_t sink;
typedef void work(double seconds);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

KEPT void native_sleep(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&t, NULL);
	sink++;
}

KEPT void native_read(double seconds)
{
	char c;
	sink += (uint64_t)read((int)seconds, &c, 1);
}

KEPT void native_spin(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * sink;
	sink++;
}

/* A frame whose size only the base pointer knows. */
KEPT void native_alloca(work *f, double seconds, int n)
{
	char *room = alloca((size_t)n);
	memset(room, 1, (size_t)n);
	f(seconds);
	sink += (uint64_t)room[n / 2];
}

/* A frame that is aligned to more than the stack is. */
KEPT void native_aligned(work *f, double seconds, int n)
{
	_Alignas(64) char room[256];
	memset(room, n, sizeof room);
	native_alloca(f, seconds, n);
	sink += (uint64_t)room[n % 256];
}

KEPT void native_outer(work *f, double seconds)
{
	native_aligned(f, seconds, 300 + (int)(sink & 1));
	sink++;
}

void call_sleep(double seconds)
{
	native_outer(native_sleep, seconds);
}

void call_read(double descriptor)
{
	native_outer(native_read, descriptor);
}

void call_spin(double seconds)
{
	native_outer(native_spin, seconds);
}

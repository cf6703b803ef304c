/* A GPU program that stands still on purpose. usage: hang_program HOW */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);
int fake_launch_forever(unsigned stream, const char *name);
int fake_record(unsigned event, unsigned stream);
int fake_wait(unsigned stream, unsigned event);
int fake_value(unsigned stream, unsigned long address, int write);
int fake_stream_sync_forever(unsigned stream);

static const char all_reduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/* Stream 13 waits for an event that stream 14 reaches only behind work without an end. */
static void wait_for_event(void)
{
	fake_launch_forever(14, "_Z4spinl");
	fake_record(5, 14);
	fake_wait(13, 5);
	fake_launch_forever(13, "consumer");
	fake_stream_sync_forever(13);
}

/* Each of two streams waits for a value that the other writes afterwards. */
static void wait_in_a_circle(void)
{
	fake_value(13, 0xa000, 0);
	fake_value(13, 0xb000, 1);
	fake_value(14, 0xb000, 0);
	fake_value(14, 0xa000, 1);
	fake_stream_sync_forever(13);
}

static void wait_for_the_other_rank(void)
{
	for (int i = 0; i < 3; i++)
		fake_launch(13, all_reduce);
	if (atoi(getenv("RANK")) == 1)
		for (;;)
			pause();
	fake_launch_forever(13, all_reduce);
	fake_stream_sync_forever(13);
}

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;

static void *lock_both(void *first)
{
	size_t i = (size_t)first;
	fake_launch(13, "work");
	pthread_mutex_lock(&locks[i]);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&locks[1 - i]);
	return NULL;
}

static void wait_for_locks(void)
{
	pthread_t other;
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&other, NULL, lock_both, (void *)1);
	lock_both((void *)0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *how;
		void (*hang)(void);
	} ways[] = {{"event", wait_for_event},
		    {"circle", wait_in_a_circle},
		    {"rank", wait_for_the_other_rank},
		    {"locks", wait_for_locks}};
	cuInit(0);
	for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].how))
			ways[i].hang();
	return 0;
}

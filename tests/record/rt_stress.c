/* Drives the runtime hard, alone: threads that come and go, small rings, ranges, bulk records.
 * usage: ASSAY_RECORD=... rt_stress THREADS RECORDS HOW, where HOW is how to end: return, _exit,
 * kill, abort, exec PROGRAM, fork, gone (threads end first). Prints the number of records it
 * committed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/rt.h"

static long records;
static _Atomic long done, refused;
static _Atomic int errno_changed;

static void one_record(long i)
{
	char text[32];
	int n = snprintf(text, sizeof text, "range %ld", i % 50);
	errno = 4711;
	assay_wire_range *g = assay_rt_begin(ASSAY_WIRE_RANGE, sizeof *g + (size_t)n);
	if (g) {
		g->time = assay_rt_now();
		g->id = (uint64_t)i;
		g->name = g->domain = g->category = g->color = g->reserved = 0;
		g->op = ASSAY_WIRE_RANGE_MARK;
		g->length = (uint16_t)n;
		memcpy(g + 1, text, (size_t)n);
		assay_rt_commit();
		done++;
	} else {
		refused++;
	}
	if (errno != 4711)
		errno_changed = 1;
}

static void *work(void *arg)
{
	(void)arg;
	for (long i = 0; i < records; i++)
		one_record(i);
	return NULL;
}

static void tick(void)
{
	if (!assay_rt_bulk_open())
		return;
	assay_rt_meta("tick", "tock");
	assay_rt_bulk_close();
}

static const assay_rt_hooks hooks = {.name = "stress", .tick_ms = 10, .tick = tick};

static void run_threads(int n)
{
	pthread_t t[64];
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void report(void)
{
	printf("%d committed %ld refused %ld errno %s\n", (int)getpid(), done, refused,
	       errno_changed ? "changed" : "kept");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]);
	const char *how = argv[3];
	records = atol(argv[2]);
	if (!assay_rt_start(&hooks))
		fprintf(stderr, "recording is off\n");
	if (argc > 4 && !strcmp(how, "gone"))
		for (int i = 0; i < atoi(argv[4]); i++)
			run_threads(threads);
	run_threads(threads);
	work(NULL);
	if (!strcmp(how, "fork")) {
		pid_t child = fork();
		if (child == 0) {
			done = refused = 0;
			run_threads(threads);
			report();
			exit(0);
		}
		waitpid(child, NULL, 0);
		work(NULL);
	}
	report();
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exec"))
		execv(argv[4], argv + 4);
	return 0;
}

/* A program that forks while another of its threads holds a lock of the recorder, once for each of
 * COUNT locks, and whose children use the GPU. usage: held cuda|hip fork|bare COUNT SECONDS
 * Prints what became of children that did not end well; they have SECONDS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocprof.h"

typedef int lock_fn(pthread_mutex_t *);
typedef int timed_lock_fn(pthread_mutex_t *, const struct timespec *);

enum { LOCKS = 64 };
static const pthread_mutex_t *tried[LOCKS];
static size_t tried_n;
static _Atomic int wanted; /* a lock that was not tried yet */
static sem_t held, go;

static void *find(void *lib, const char *name)
{
	void *p = dlsym(lib, name);
	if (!p) {
		printf("no %s\n", name);
		_exit(1);
	}
	return p;
}

static int is_new(const pthread_mutex_t *m)
{
	for (size_t i = 0; i < tried_n; i++)
		if (tried[i] == m)
			return 0;
	return 1;
}

/* Only the thread that turns wanted to 0 goes on from there, so the list is its own. */
static void hold(const pthread_mutex_t *m, void *caller)
{
	Dl_info in;
	int yes = 1;
	if (!wanted || syscall(SYS_gettid) == getpid() || !dladdr(caller, &in) ||
	    !strstr(in.dli_fname, "libassay_") || !is_new(m) ||
	    !atomic_compare_exchange_strong(&wanted, &yes, 0))
		return;
	tried[tried_n++] = m;
	sem_post(&held);
	sem_wait(&go);
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	static lock_fn *real;
	if (!real)
		*(void **)&real = find(RTLD_NEXT, "pthread_mutex_lock");
	int rc = real(m);
	hold(m, __builtin_return_address(0));
	return rc;
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	static timed_lock_fn *real;
	if (!real)
		*(void **)&real = find(RTLD_NEXT, "pthread_mutex_timedlock");
	int rc = real(m, t);
	if (!rc)
		hold(m, __builtin_return_address(0));
	return rc;
}

/* ---- work ---- */

static int (*launch)(uint32_t, const char *);
static fake_call_fn *hip;

static void use_cuda(void)
{
	launch(7, "kernel");
}

/* A stream comes, has work and goes. */
static void use_hip(void)
{
	uint64_t handle = 0x7f0000001000, *out = &handle;
	struct {
		void *function;
		uint32_t blocks[3], threads[3];
		void *args;
		size_t shared;
		uint64_t stream;
	} a = {.stream = handle};
	fake_work w = {.kind = FAKE_KERNEL, .kernel = 1, .agent = FAKE_GPU0};
	hip(&(fake_call){.function = "hipStreamCreate", .args = &out, .bytes = sizeof out});
	hip(&(fake_call){.function = "hipLaunchKernel",
			 .args = &a,
			 .bytes = sizeof a,
			 .stream = &handle,
			 .work = &w,
			 .works = 1});
	hip(&(fake_call){.function = "hipStreamDestroy", .args = &handle, .bytes = sizeof handle});
}

static void start_cuda(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned);
	*(void **)&init = find(lib, "cuInit");
	*(void **)&launch = find(lib, "fake_launch");
	init(0);
}

static void start_hip(void)
{
	void *lib = dlopen("librocprofiler-sdk.so", RTLD_NOW);
	void (*start)(void);
	*(void **)&start = find(lib, "fake_start");
	*(void **)&hip = find(lib, "fake_hip");
	start();
}

static const struct vendor {
	const char *name;
	void (*start)(void), (*use)(void);
} vendors[] = {{"cuda", start_cuda, use_cuda}, {"hip", start_hip, use_hip}};

static void *work(void *vendor)
{
	const struct vendor *v = vendor;
	do
		v->use();
	while (wanted);
	return NULL;
}

static void fork_once(const struct vendor *v, int bare, unsigned seconds)
{
	pid_t child = bare ? (pid_t)syscall(SYS_fork) : fork();
	if (child == 0) {
		alarm(seconds);
		v->use();
		exit(0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	if (status)
		printf("lock %zu: the child ended with %d\n", tried_n, status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	const struct vendor *v = &vendors[!strcmp(argv[1], "hip")];
	sem_init(&held, 0, 0);
	sem_init(&go, 0, 0);
	v->start();
	v->use();
	while (tried_n < strtoul(argv[3], NULL, 10)) {
		pthread_t t;
		wanted = 1;
		if (pthread_create(&t, NULL, work, (void *)(uintptr_t)v))
			return 1;
		sem_wait(&held);
		fork_once(v, !strcmp(argv[2], "bare"), (unsigned)atoi(argv[4]));
		sem_post(&go);
		pthread_join(t, NULL);
	}
	return 0;
}

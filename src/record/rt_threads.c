/* Threads of the recorder's own. A process whose first thread called pthread_exit() ends with its
 * last one, and ours must not be that: when no other is left, the process is ended as the C library
 * would have done it, or with the end of its first thread where that was another. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/rt_state.h"

static struct {
	_Atomic uint32_t living;  /* of ours; never more than there are */
	_Atomic uint32_t started; /* of ours; those that are about to run, too */
	_Atomic uint32_t alone;   /* nobody else is left */
	int how;                  /* then: the first thread's end, as waitpid() has it */
	sigset_t mask;            /* of the program's thread that started the first of ours */
} threads;

/* The program's signals are none of our threads'; and what our own writes raise (SIGXFSZ) stays
 * with us. Faults are not kept back: blocked, they would end the program without the word that its
 * own handler has for them. */
static void block_signals(sigset_t *old)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

static void *run_counted(void *arg)
{
	void *(*run)(void *);
	memcpy(&run, &arg, sizeof run);
	atomic_fetch_add(&threads.living, 1);
	void *result = run(NULL);
	atomic_fetch_sub(&threads.living, 1);
	atomic_fetch_sub(&threads.started, 1);
	return result;
}

/* Nobody joins our threads: they say when they are done. */
bool assay_rt_thread(void *(*run)(void *))
{
	enum {
		STACK = 1 << 19
	}; /* a program may have made the default as small as it is allowed */
	pthread_t t;
	pthread_attr_t detached;
	size_t bytes = 0;
	void *arg;
	memcpy(&arg, &run, sizeof arg);
	if (pthread_attr_init(&detached))
		return false;
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_getstacksize(&detached, &bytes);
	if (bytes < STACK)
		pthread_attr_setstacksize(&detached, STACK);
	sigset_t old;
	block_signals(&old);
	if (!atomic_load(&threads.living))
		threads.mask = old;
	atomic_fetch_add(&threads.started, 1);
	int rc = pthread_create(&t, &detached, run_counted, arg);
	if (rc)
		atomic_fetch_sub(&threads.started, 1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
	return rc == 0;
}

void assay_threads_forked(void)
{
	atomic_store(&threads.living, 0);
	atomic_store(&threads.started, 0);
	atomic_store(&threads.alone, 0);
}

/* By the links of the folder that has one for each: no file is opened. 0 unknown. */
static uint32_t number_of_threads(void)
{
	struct stat st;
	return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 0;
}

int assay_threads_of_others(void)
{
	uint32_t all = number_of_threads(), ours = atomic_load(&threads.started) + 1;
	return !all ? -1 : all > ours ? (int)(all - ours) : 0;
}

bool assay_threads_none(int64_t ns)
{
	const struct timespec pause = {0, 50000};
	int64_t end = assay_rt_now() + ns;
	while (number_of_threads() != 1 && assay_rt_now() < end)
		nanosleep(&pause, NULL);
	return number_of_threads() == 1;
}

static const char *field_of(const char *state, int number)
{
	const char *p = state;
	for (int field = 3; p && field < number; field++)
		p = strchr(p + 1, ' ');
	return p;
}

/* State, number of threads and end, as the kernel tells them of the process's first thread: fields
 * 3, 20 and 52 of stat, behind the name, which may hold anything. */
static bool first_has_ended(uint32_t *number, int *how)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] != 'Z')
		return false;
	const char *threads_field = field_of(p + 1, 20), *end_field = field_of(p + 1, 52);
	*number = threads_field ? (uint32_t)strtoul(threads_field, NULL, 10) : 0;
	*how = end_field ? atoi(end_field) : 0;
	return threads_field != NULL;
}

bool assay_threads_look(void)
{
	uint32_t living = atomic_load(&threads.living), all;
	if (!first_has_ended(&all, &threads.how) || all != living + 1 ||
	    living != atomic_load(&threads.living))
		return false;
	atomic_store(&threads.alone, 1);
	return true;
}

bool assay_threads_alone(void)
{
	return atomic_load(&threads.alone);
}

/* Without exit handlers. */
static _Noreturn void end_as(int how)
{
	assay_rt_leave();
	if (WIFSIGNALED(how)) { /* a filter of system calls ended that thread alone */
		sigset_t all;
		sigfillset(&all);
		signal(WTERMSIG(how), SIG_DFL);
		raise(WTERMSIG(how));
		pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	}
	_exit(WEXITSTATUS(how)); /* by the system call: the C library knows nothing of it */
}

void assay_threads_end_process(void)
{
	if (threads.how)
		end_as(threads.how);
	pthread_sigmask(SIG_SETMASK, &threads.mask, NULL);
	exit(EXIT_SUCCESS);
}

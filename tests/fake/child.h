/* A fake's lock in children, included where in_child() frees it and drops what it guards: fork()
 * runs that, while the bare system call tells nobody. GPUs do not live on in either child. */
#ifndef FAKE_CHILD_H
#define FAKE_CHILD_H

#include <pthread.h>
#include <unistd.h>

static void in_child(void);
static _Atomic pid_t process; /* that the lock is of */

static void be_child(void)
{
	in_child();
	process = getpid();
}

__attribute__((constructor)) static void bear_forks(void)
{
	process = getpid();
	pthread_atfork(NULL, NULL, be_child);
}

static void take(pthread_mutex_t *lock)
{
	if (process != getpid())
		be_child();
	pthread_mutex_lock(lock);
}

#endif

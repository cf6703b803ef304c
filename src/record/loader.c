#include "record/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

static _Atomic int inside, forks;

bool assay_loader_enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&forks))
		return true;
	atomic_fetch_sub(&inside, 1);
	return false;
}

void assay_loader_leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

/* Not for ever: a thread of ours may wait there for one that loads, which may be the one that
 * forks. */
void assay_loader_before_fork(void)
{
	enum { TRIES = 20000 };
	const struct timespec pause = {0, 100000};
	int saved = errno;
	atomic_fetch_add(&forks, 1);
	for (int i = 0; atomic_load(&inside) && i < TRIES; i++)
		nanosleep(&pause, NULL);
	errno = saved;
}

void assay_loader_in_parent(void)
{
	atomic_fetch_sub(&forks, 1);
}

void assay_loader_in_child(void)
{
	atomic_store(&inside, 0);
	atomic_store(&forks, 0);
}

#define _GNU_SOURCE /* syscall */
#include "wire/control.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/clock.h"

void assay_control_wait(assay_control *c, uint32_t seen, int64_t ns)
{
	struct timespec t = assay_timespec_of(ns);
	int saved = errno;
	syscall(SYS_futex, &c->order, FUTEX_WAIT, seen, &t, NULL, 0);
	errno = saved;
}

void assay_control_wake(assay_control *c)
{
	int saved = errno;
	syscall(SYS_futex, &c->order, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	errno = saved;
}

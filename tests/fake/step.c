/* Preloaded: the wall clock is set forward by STEP_S seconds as soon as STEP_FILE is there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, id, t);
	if (id == CLOCK_REALTIME && access(getenv("STEP_FILE"), F_OK) == 0)
		t->tv_sec += atol(getenv("STEP_S"));
	return rc;
}

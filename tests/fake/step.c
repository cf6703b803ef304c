/* Preloaded: the wall clock is set forward by STEP_S seconds, 150 ms after it was first asked. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
	static _Atomic long long first;
	struct timespec up;
	int rc = (int)syscall(SYS_clock_gettime, id, t);
	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &up);
	long long now = (long long)up.tv_sec * 1000 + up.tv_nsec / 1000000, none = 0;
	__atomic_compare_exchange_n(&first, &none, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (id == CLOCK_REALTIME && now - first > 150)
		t->tv_sec += atol(getenv("STEP_S"));
	return rc;
}

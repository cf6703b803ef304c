/* A program whose launches are interrupted by launches, as a signal's handler may make them,
 * wherever the recorder reads its clock: there the fakes hold no lock of theirs. usage: interrupted
 * N */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);

static __thread int launching, interrupting;

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id == CLOCK_BOOTTIME && launching && !interrupting) {
		interrupting = 1;
		fake_launch(7, "inside");
		interrupting = 0;
	}
	return (int)syscall(SYS_clock_gettime, id, t);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	cuInit(0);
	launching = 1;
	for (int i = 0; i < n; i++)
		fake_launch(13, "outside");
	launching = 0;
	return 0;
}

/* A program whose threads go on launching while it ends, by the way that is asked for, and which
 * counts in a file how many launches have come back. usage: goes_on HOW FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);

enum { THREADS = 3, AT_FIRST = 50, IN_A_ROW = 20 };
static _Atomic uint64_t *launched;

static void launch(int n)
{
	for (int i = 0; i < n; i++) {
		fake_launch(7, "kernel");
		++*launched;
	}
}

static void *launch_on(void *unused)
{
	(void)unused;
	for (;;) {
		launch(IN_A_ROW);
		usleep(700);
	}
	return NULL;
}

static void launch_at_exit(void)
{
	launch(IN_A_ROW);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	char *const program[] = {"true", NULL};
	int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	launched = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool alone = !strcmp(how, "atexit");
	if (alone) /* before the recorder, so after it when the program ends */
		atexit(launch_at_exit);
	cuInit(0);
	launch(AT_FIRST);
	for (int i = 0; i < THREADS && !alone; i++) {
		pthread_t t;
		pthread_create(&t, NULL, launch_on, NULL);
	}
	while (!alone && *launched < AT_FIRST + THREADS * IN_A_ROW)
		usleep(100);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "exec"))
		execv("/bin/true", program);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	return 0;
}

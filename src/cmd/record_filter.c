/* Filters of system calls that this process is under already, as every process of a container is:
 * the recorder's libraries may do there what we find out to do no harm. Under filters that come
 * later, which nobody can ask what they do, they do nothing unusual (src/record/proc.h). */
#define _GNU_SOURCE /* unshare, process_vm_readv */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/record.h"

#ifndef SYS_close_range
enum { SYS_close_range = 436 };
#endif

/* The kernel tells since 5.9; 0: none, or unknown. */
static uint32_t count_filters(void)
{
	static const char name[] = "Seccomp_filters:";
	char line[256];
	uint32_t n = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, sizeof name - 1))
			n = (uint32_t)strtoul(line + sizeof name - 1, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* What the recorder's own threads do that few programs do, in a process that may die of it. An
 * error is as good an answer as any. */
static _Noreturn void do_all(void)
{
	enum { UNSHARE = 2 };
	const struct rlimit none = {0, 0};
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
					.size = sizeof event,
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1,
					.exclude_hv = 1};
	char from = 0, to;
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSYS, SIG_DFL);
	syscall(SYS_close_range, 0u, ~0u, UNSHARE);
	unshare(CLONE_FILES);
	process_vm_readv(getpid(), &(struct iovec){&to, 1}, 1, &(struct iovec){&from, 1}, 1, 0);
	syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	_exit(0);
}

uint32_t assay_record_filters(void)
{
	uint32_t n = count_filters();
	int status = 1;
	pid_t pid = n ? fork() : -1;
	if (pid == 0)
		do_all();
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? n : 0;
}

/* Threads of a living process, as the system shows them. */
#define _GNU_SOURCE /* process_vm_readv */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/hang.h"

static size_t read_file(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	for (ssize_t got = 1; fd >= 0 && got > 0 && n<size - 1; n += got> 0 ? (size_t)got : 0)
		got = read(fd, to + n, size - 1 - n);
	if (fd >= 0)
		close(fd);
	to[n] = 0;
	return n;
}

/* The first line. */
static bool read_line(int64_t pid, int64_t tid, const char *file, char *to, size_t size)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%lld/task/%lld/%s", (long long)pid, (long long)tid,
		 file);
	size_t n = read_file(path, to, size);
	to[strcspn(to, "\n")] = 0;
	return n > 0;
}

/* Calls that threads stand still in; others by their number. */
static const struct {
	long number;
	const char *name;
} system_calls[] = {
	{SYS_futex, "futex"},
	{SYS_read, "read"},
	{SYS_write, "write"},
	{SYS_ppoll, "poll"},
	{SYS_pselect6, "select"},
	{SYS_epoll_pwait, "epoll_wait"},
	{SYS_ioctl, "ioctl"},
	{SYS_recvfrom, "recvfrom"},
	{SYS_recvmsg, "recvmsg"},
	{SYS_sendto, "sendto"},
	{SYS_accept4, "accept"},
	{SYS_wait4, "wait4"},
	{SYS_nanosleep, "nanosleep"},
	{SYS_clock_nanosleep, "nanosleep"},
	{SYS_fsync, "fsync"},
#ifdef SYS_poll
	{SYS_poll, "poll"},
	{SYS_select, "select"},
	{SYS_epoll_wait, "epoll_wait"},
	{SYS_pause, "pause"},
#endif
};

static void name_call(long number, char *to, size_t size)
{
	snprintf(to, size, "system call %ld", number);
	for (size_t i = 0; i < ASSAY_COUNT_OF(system_calls); i++)
		if (system_calls[i].number == number)
			snprintf(to, size, "%s", system_calls[i].name);
}

/* The owner that the C library writes behind the word it waits at (pthread_mutex_t: lock, count,
 * owner); only a thread of the process is believed. */
static int64_t holder_of(int64_t pid, uint64_t futex)
{
	enum { OWNER_AT = 8 };
	int owner = 0;
	char path[64];
	struct iovec here = {&owner, sizeof owner},
		     there = {(void *)(uintptr_t)(futex + OWNER_AT), sizeof owner};
	if (process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof owner ||
	    owner <= 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%lld/task/%d", (long long)pid, owner);
	return access(path, F_OK) == 0 ? owner : 0;
}

static void see_call(int64_t pid, assay_hang_thread *t)
{
	char text[256];
	unsigned long long first = 0;
	long number = -1;
	if (!read_line(pid, t->tid, "syscall", text, sizeof text)) {
		if (read_line(pid, t->tid, "wchan", text, sizeof text) && strcmp(text, "0") != 0)
			snprintf(t->in, sizeof t->in, "%.60s", text);
		return;
	}
	if (sscanf(text, "%ld 0x%llx", &number, &first) != 2 || number < 0)
		return;
	name_call(number, t->in, sizeof t->in);
	int64_t holder = number == SYS_futex ? holder_of(pid, first) : 0;
	t->holder = holder == t->tid ? 0 : holder;
}

void assay_hang_look(int64_t pid, assay_hang_thread *t)
{
	char text[512];
	if (read_line(pid, t->tid, "comm", text, sizeof text))
		snprintf(t->name, sizeof t->name, "%.31s", text);
	const char *state =
		read_line(pid, t->tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
	t->state = state && state[1] ? state[2] : 0;
	see_call(pid, t);
}

size_t assay_hang_list(int64_t pid, int64_t *tids, size_t most)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
	DIR *d = opendir(path);
	size_t n = 0;
	for (struct dirent *e; d && n < most && (e = readdir(d));)
		if (e->d_name[0] != '.')
			tids[n++] = strtoll(e->d_name, NULL, 10);
	if (d)
		closedir(d);
	return n;
}

/* A path of the recorder's variable, whose odd characters are written %xx. */
static char *unescape(assay_arena *a, const char *p)
{
	char *out = assay_alloc(a, strlen(p) + 1), *to = out;
	for (; *p && *p != ';'; p++) {
		unsigned code;
		if (*p == '%' && sscanf(p + 1, "%2x", &code) == 1) {
			*to++ = (char)code;
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	return out;
}

const char *assay_hang_run_of(assay_arena *a, int64_t pid)
{
	enum { ENVIRONMENT_MAX = 1 << 20 };
	char path[64], *text = assay_alloc(a, ENVIRONMENT_MAX);
	snprintf(path, sizeof path, "/proc/%lld/environ", (long long)pid);
	size_t n = read_file(path, text, ENVIRONMENT_MAX);
	for (const char *p = text; p < text + n; p += strlen(p) + 1) {
		const char *dir = !strncmp(p, "ASSAY_RECORD=", 13) ? strstr(p, ";dir=") : NULL;
		if (dir)
			return unescape(a, dir + 5);
	}
	return NULL;
}

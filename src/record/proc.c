#define _GNU_SOURCE /* SYS_ */
#include "record/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/py.h"
#include "record/rt.h"
#include "wire/clock.h"
#include "wire/wire.h"

/* A system call: its kind, and whether its first argument is a descriptor. */
typedef struct call_row {
	uint16_t number;
	uint8_t kind, fd;
} call_row;

static const call_row calls[] = {
	{SYS_read, ASSAY_WIRE_CALL_READ, 1},
	{SYS_pread64, ASSAY_WIRE_CALL_READ, 1},
	{SYS_readv, ASSAY_WIRE_CALL_READ, 1},
	{SYS_preadv, ASSAY_WIRE_CALL_READ, 1},
	{SYS_preadv2, ASSAY_WIRE_CALL_READ, 1},
	{SYS_sendfile, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_copy_file_range, ASSAY_WIRE_CALL_READ, 1},
	{SYS_readahead, ASSAY_WIRE_CALL_READ, 1},
	{SYS_write, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_pwrite64, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_writev, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_pwritev, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_pwritev2, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_fsync, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_fdatasync, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_sync_file_range, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_fallocate, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_ftruncate, ASSAY_WIRE_CALL_WRITE, 1},
	{SYS_sync, ASSAY_WIRE_CALL_WRITE, 0},
	{SYS_msync, ASSAY_WIRE_CALL_WRITE, 0},
	{SYS_openat, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_newfstatat, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_statx, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_getdents64, ASSAY_WIRE_CALL_OPEN, 1},
	{SYS_close, ASSAY_WIRE_CALL_OPEN, 1},
	{SYS_renameat2, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_unlinkat, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_recvfrom, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_recvmsg, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_recvmmsg, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_sendto, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_sendmsg, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_sendmmsg, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_connect, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_accept, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_accept4, ASSAY_WIRE_CALL_SOCKET, 1},
	{SYS_ppoll, ASSAY_WIRE_CALL_POLL, 0},
	{SYS_pselect6, ASSAY_WIRE_CALL_POLL, 0},
	{SYS_epoll_pwait, ASSAY_WIRE_CALL_POLL, 0},
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, ASSAY_WIRE_CALL_POLL, 0},
#endif
	{SYS_futex, ASSAY_WIRE_CALL_LOCK, 0},
	{SYS_flock, ASSAY_WIRE_CALL_LOCK, 1},
	{SYS_nanosleep, ASSAY_WIRE_CALL_SLEEP, 0},
	{SYS_clock_nanosleep, ASSAY_WIRE_CALL_SLEEP, 0},
	{SYS_sched_yield, ASSAY_WIRE_CALL_SLEEP, 0},
	{SYS_wait4, ASSAY_WIRE_CALL_CHILD, 0},
	{SYS_waitid, ASSAY_WIRE_CALL_CHILD, 0},
	{SYS_mmap, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_munmap, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_mremap, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_mprotect, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_madvise, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_brk, ASSAY_WIRE_CALL_MEMORY, 0},
	{SYS_ioctl, ASSAY_WIRE_CALL_DEVICE, 1},
	{SYS_io_getevents, ASSAY_WIRE_CALL_READ, 0},
#ifdef __x86_64__ /* the ones newer machines are made without */
	{SYS_open, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_stat, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_lstat, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_access, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_readlink, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_rename, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_unlink, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_mkdir, ASSAY_WIRE_CALL_OPEN, 0},
	{SYS_poll, ASSAY_WIRE_CALL_POLL, 0},
	{SYS_select, ASSAY_WIRE_CALL_POLL, 0},
	{SYS_epoll_wait, ASSAY_WIRE_CALL_POLL, 0},
	{SYS_pause, ASSAY_WIRE_CALL_SLEEP, 0},
#endif
};

static const call_row *row_of(int32_t number)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* A small file; -1, or its length, terminated. By the system's own calls: a thread with a table of
 * descriptors of its own has numbers that other threads have, too, which checkers of races, who
 * stand in for the C library's, do not know. */
static ssize_t read_file(char *out, size_t size, int pid, uint32_t tid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%u/%s", pid ? pid : getpid(), tid, name);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = syscall(SYS_read, fd, out, size - 1);
	syscall(SYS_close, fd);
	out[n > 0 ? n : 0] = 0;
	return n;
}

/* Where the system does not tell calls: its one letter. */
static bool by_letter(int pid, uint32_t tid, assay_proc_thread *t)
{
	char text[512];
	const char *end =
		read_file(text, sizeof text, pid, tid, "stat") > 0 ? strrchr(text, ')') : NULL;
	if (!end || !end[1])
		return false;
	t->state = end[2] == 'R'   ? ASSAY_WIRE_THREAD_RUNNING
		   : end[2] == 'D' ? ASSAY_WIRE_THREAD_FAULT
				   : ASSAY_WIRE_THREAD_BLOCKED;
	return end[2] != 'Z' && end[2] != 'X';
}

/* select and poll without descriptors are how some programs sleep. */
static bool waits_for_nothing(const assay_proc_thread *t)
{
#ifdef __x86_64__
	if ((t->call == SYS_select && !t->arg[0]) || (t->call == SYS_poll && !t->arg[1]))
		return true;
#endif
	return (t->call == SYS_pselect6 && !t->arg[0]) || (t->call == SYS_ppoll && !t->arg[1]);
}

bool assay_proc_look(int pid, uint32_t tid, assay_proc_thread *t)
{
	char text[256], *p = text;
	*t = (assay_proc_thread){.call = -1};
	if (read_file(text, sizeof text, pid, tid, "syscall") <= 0)
		return by_letter(pid, tid, t);
	if (!strncmp(text, "running", 7)) {
		t->state = ASSAY_WIRE_THREAD_RUNNING;
		return true;
	}
	long number = strtol(p, &p, 10);
	for (int i = 0; number >= 0 && i < 6; i++)
		t->arg[i] = strtoull(p, &p, 16);
	t->sp = strtoull(p, &p, 16);
	t->pc = strtoull(p, &p, 16);
	t->state = number < 0 ? ASSAY_WIRE_THREAD_FAULT : ASSAY_WIRE_THREAD_BLOCKED;
	if (number < 0)
		return true;
	const call_row *row = row_of((int32_t)number);
	t->call = (int32_t)number;
	t->kind = row ? row->kind : ASSAY_WIRE_CALL_OTHER;
	if (waits_for_nothing(t))
		t->kind = ASSAY_WIRE_CALL_SLEEP;
	return true;
}

int assay_proc_descriptor(int pid, const assay_proc_thread *t)
{
	const call_row *row = row_of(t->call);
	int fd = -1;
	if (row && row->fd)
		return (int)t->arg[0];
#ifdef __x86_64__
	if (t->call == SYS_poll && t->arg[1] == 1 &&
	    !assay_py_safely(pid, t->arg[0], &fd, sizeof fd))
		fd = -1;
#endif
	if (t->call == SYS_ppoll && t->arg[1] == 1 &&
	    !assay_py_safely(pid, t->arg[0], &fd, sizeof fd))
		fd = -1;
	return fd;
}

/* Calls with a timeout: the argument, and what it is. */
static const struct {
	int32_t number;
	uint8_t arg;
	enum { MILLISECONDS, TIMESPEC, TIMEVAL } as;
} timed[] = {
	{SYS_epoll_pwait, 3, MILLISECONDS}, {SYS_ppoll, 2, TIMESPEC},
	{SYS_pselect6, 4, TIMESPEC},
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, 3, TIMESPEC},
#endif
#ifdef __x86_64__
	{SYS_epoll_wait, 3, MILLISECONDS},  {SYS_poll, 2, MILLISECONDS},
	{SYS_select, 4, TIMEVAL},
#endif
};

int64_t assay_proc_timeout(int pid, const assay_proc_thread *t)
{
	size_t i = 0, n = sizeof timed / sizeof *timed;
	int64_t time[2]; /* seconds, and what is left of one */
	while (i < n && timed[i].number != t->call)
		i++;
	if (i == n)
		return -1;
	uint64_t arg = t->arg[timed[i].arg];
	if (timed[i].as == MILLISECONDS)
		return (int32_t)arg < 0 ? -1 : (int64_t)(int32_t)arg * 1000000;
	if (!arg || !assay_py_safely(pid, arg, time, sizeof time) || time[0] < 0 ||
	    time[0] > INT32_MAX)
		return -1;
	return time[0] * 1000000000 + time[1] * (timed[i].as == TIMESPEC ? 1 : 1000);
}

bool assay_proc_file(int pid, int fd, char *out, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid ? pid : getpid(), fd);
	ssize_t n = readlink(path, out, size - 1);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

bool assay_proc_times(int pid, uint32_t tid, int64_t *cpu, int64_t *delay)
{
	char text[96], *p = text;
	if (read_file(text, sizeof text, pid, tid, "schedstat") <= 0 || !strncmp(text, "0 0 0", 5))
		return false;
	*cpu = strtoll(p, &p, 10);
	*delay = strtoll(p, &p, 10);
	return true;
}

int64_t assay_proc_bytes(int pid, uint32_t tid)
{
	char text[256];
	const char *in, *out;
	if (read_file(text, sizeof text, pid, tid, "io") <= 0 || !(in = strstr(text, "rchar:")) ||
	    !(out = strstr(text, "wchar:")))
		return -1;
	return strtoll(in + 6, NULL, 10) + strtoll(out + 6, NULL, 10);
}

bool assay_proc_is_filtered(uint32_t tid)
{
	static const char mode[] = "\nSeccomp:\t", filters[] = "\nSeccomp_filters:\t";
	char text[4096];
	const char *p =
		read_file(text, sizeof text, 0, tid, "status") > 0 ? strstr(text, mode) : NULL;
	if (p && p[sizeof mode - 1] == '0')
		return false;
	p = p ? strstr(p, filters) : NULL; /* since Linux 5.9 */
	uint32_t n = p ? (uint32_t)strtoul(p + sizeof filters - 1, NULL, 10) : 0;
	return !n || n != assay_rt_conf()->filters; /* none is ever taken off */
}

int64_t assay_proc_cpu(int pid, uint32_t tid)
{
	enum { SCHED = 2, OF_THREAD = 4 };
	clockid_t id = pid ? (clockid_t)(~(unsigned)pid << 3 | SCHED)
			   : (clockid_t)(~tid << 3 | SCHED | OF_THREAD);
	return assay_clock(id);
}

size_t assay_proc_children(int pid, uint32_t tid, int *out, size_t max)
{
	char text[1024], *p = text;
	size_t n = 0;
	if (read_file(text, sizeof text, pid, tid, "children") <= 0)
		return 0;
	while (n < max && *p) {
		char *end;
		long child = strtol(p, &end, 10);
		if (end == p)
			break;
		out[n++] = (int)child;
		p = end;
	}
	return n;
}

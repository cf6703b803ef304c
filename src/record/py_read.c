/* Reads of memory that may not be there: an error instead of a fault, and no signal handler. */
#define _GNU_SOURCE /* process_vm_readv, pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/py.h"

bool assay_py_plain(int pid, uintptr_t from, void *to, size_t n)
{
	(void)pid;
	memcpy(to, (const void *)from, n);
	return true;
}

static bool by_syscall(int pid, uintptr_t from, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)from, n};
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* A pipe refuses what cannot be read, and no filter of system calls refuses a pipe. Own memory. */
static bool by_pipe(uintptr_t from, void *to, size_t n)
{
	enum { PIECE = 4096 };
	int ends[2];
	bool ok = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
	if (!ok)
		return false;
	for (size_t done = 0; ok && done < n;) {
		size_t piece = n - done < PIECE ? n - done : PIECE;
		ok = write(ends[1], (const char *)from + done, piece) == (ssize_t)piece &&
		     read(ends[0], (char *)to + done, piece) == (ssize_t)piece;
		done += piece;
	}
	close(ends[0]);
	close(ends[1]);
	return ok;
}

enum { UNKNOWN, SYSCALL, PIPE };

static int way(void)
{
	static _Atomic int known = UNKNOWN;
	int w = atomic_load_explicit(&known, memory_order_relaxed);
	if (w == UNKNOWN) {
		uint64_t probe = 0x5eed, got = 0;
		w = by_syscall(getpid(), (uintptr_t)&probe, &got, sizeof got) && got == probe
			    ? SYSCALL
			    : PIPE;
		atomic_store_explicit(&known, w, memory_order_relaxed);
	}
	return w;
}

bool assay_py_safely(int pid, uintptr_t from, void *to, size_t n)
{
	int saved = errno;
	bool own = !pid || pid == getpid();
	bool ok = from && (way() == SYSCALL ? by_syscall(own ? getpid() : pid, from, to, n)
					    : own && by_pipe(from, to, n));
	errno = saved;
	return ok;
}

bool assay_py_can_read(void)
{
	uint64_t probe = 0x5eed, got = 0;
	return assay_py_safely(0, (uintptr_t)&probe, &got, sizeof got) && got == probe;
}

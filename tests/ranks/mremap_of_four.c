/* libc's mremap() as UCX 1.13 replaces it in programs that use MPI: the fifth argument, where
 * to, is lost. Preloaded by test_mpi.py. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mremap(void *from, size_t bytes, size_t new_bytes, int flags);

void *mremap(void *from, size_t bytes, size_t new_bytes, int flags)
{
	return (void *)syscall(SYS_mremap, from, bytes, new_bytes, flags, NULL);
}

/* Preloaded: threads named NO_MEMORY get none; the file NO_MEMORY_TOLD says that one was
 * refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);

static bool refused(void)
{
	char name[16] = "";
	const char *who = getenv("NO_MEMORY"), *told = getenv("NO_MEMORY_TOLD");
	if (!who || !told || prctl(PR_GET_NAME, name) || strcmp(name, who))
		return false;
	close(open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	errno = ENOMEM;
	return true;
}

void *malloc(size_t n)
{
	return refused() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	return refused() ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	return refused() ? NULL : __libc_realloc(p, n);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	return refused() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

void *mremap(void *old, size_t before, size_t after, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	return refused() ? MAP_FAILED : (void *)syscall(SYS_mremap, old, before, after, flags, to);
}

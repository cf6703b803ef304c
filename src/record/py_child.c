/* The interpreter of another process. In a forked child it is where ours is; in a child that runs
 * the same program, or another one with the same libpython (multiprocessing's spawn and
 * forkserver), it is as far from where that file is mapped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/py.h"

enum { LINE = 1200 };

/* Lines of a file, one after the other. */
typedef struct lines {
	int fd;
	char piece[4096];
	size_t next, have;
} lines;

/* False at the end. A longer line is cut. */
static bool next_line(lines *l, char *to)
{
	for (size_t n = 0;;) {
		if (l->next == l->have) {
			ssize_t got = read(l->fd, l->piece, sizeof l->piece);
			if (got <= 0)
				return false;
			l->next = 0;
			l->have = (size_t)got;
		}
		char c = l->piece[l->next++];
		to[n] = 0;
		if (c == '\n')
			return true;
		if (n < LINE - 1)
			to[n++] = c;
	}
}

/* A mapping of the begin of a file: "start-end mode offset device inode path". */
typedef struct begin {
	uintptr_t start;
	char *file; /* from the device on; NULL: not of the begin of a file */
} begin;

static begin read_begin(char *line)
{
	char *p = line;
	begin b = {.start = strtoull(p, &p, 16)};
	char *mode = strchr(p, ' '), *offset = mode ? strchr(mode + 1, ' ') : NULL;
	if (offset && strtoull(offset, &p, 16) == 0 && strchr(p, '/'))
		b.file = p;
	return b;
}

/* Where the file is mapped in the process, 0 nowhere; with *file "" the file that is mapped at
 * `at`. */
static uintptr_t find_file(int pid, char *file, uintptr_t at)
{
	static lines l; /* the sampler's */
	char path[64], line[LINE];
	uintptr_t found = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	l = (lines){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	while (l.fd >= 0 && !found && next_line(&l, line)) {
		begin b = read_begin(line);
		if (!b.file || (*file ? strcmp(b.file, file) != 0 : b.start != at))
			continue;
		strcpy(file, b.file);
		found = b.start;
	}
	if (l.fd >= 0)
		close(l.fd);
	return found;
}

bool assay_py_of_child(const assay_py *own, int pid, assay_py *child)
{
	static char file[LINE]; /* of our interpreter */
	uintptr_t base = 0;
	if (*file || find_file((int)getpid(), file, own->base))
		base = find_file(pid, file, 0);
	if (!base)
		return false;
	*child = *own;
	child->moved = base - own->base;
	child->base = base;
	child->runtime += child->moved;
	child->code_type += child->moved;
	child->string_type += child->moved;
	return assay_py_main(child, pid);
}

/* Reads beyond a block of memory, which is all there, in a program that a checker of memory
 * watches: stacks and names are read by whole pieces. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "record/py.h"

int main(void)
{
	enum { BLOCK = 100, MORE = 64 };
	static char got[BLOCK + MORE];
	char *p = malloc(BLOCK);
	struct iovec here = {got, sizeof got}, there = {p, sizeof got};
	assay_py_keep_pipe();
	bool read = assay_py_safely(0, (uintptr_t)p, got, sizeof got);
	printf("read %d gathered %d\n", read, assay_py_gather(0, &there, &here, 1));
	free(p);
	return 0;
}

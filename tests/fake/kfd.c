/* Preloaded: the driver's list of devices is there (FAKE_KFD=0: it is not), whatever the machine
 * has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vendor/rocprof.h"

__attribute__((visibility("default"))) int access(const char *path, int mode)
{
	const char *here = getenv("FAKE_KFD");
	if (!strcmp(path, ROCPROF_TOPOLOGY))
		return here && !strcmp(here, "0") ? -1 : 0;
	return faccessat(AT_FDCWD, path, mode, 0);
}

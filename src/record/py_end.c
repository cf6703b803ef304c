/* The end of the interpreter. It says that it has begun and then frees the states of all other
 * threads: from 3.11 on the frames of one that is in a call without the GIL are unmapped under its
 * eyes. What they refer to stays, since nobody drops the references. So whoever reads frames says
 * so, and the interpreter's own unmapping waits for that. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "record/hook.h"
#include "record/loader.h"
#include "record/py.h"

static struct {
	const assay_py *py;
	bool (*walks)(void);
	int (*munmap)(void *, size_t);
} end;

/* The end was announced locks ago, so whoever walks since then knows. A walk takes microseconds;
 * one whose thread does not get a processor for this long is given up. */
static int our_munmap(void *at, size_t bytes)
{
	enum { TRIES = 100000 };
	for (int i = 0; assay_py_ends(end.py) && end.walks() && i < TRIES; i++)
		sched_yield();
	return end.munmap(at, bytes);
}

static const assay_hook hook[] = {{"munmap", (assay_any_fn *)our_munmap, false}};

/* The executable has no name here. */
static assay_hook_object interpreter_only(const char *file, bool unused)
{
	(void)unused;
	return !*file || !strncmp(file, "libpython3", 10) ? ASSAY_HOOK_TAKE : ASSAY_HOOK_LEAVE;
}

void assay_py_guard(const assay_py *py, bool (*walks)(void))
{
	static assay_hooks hooks = {.hook = hook, .n = 1, .of = interpreter_only};
	if (!end.munmap && assay_loader_enter()) {
		void *real = dlsym(RTLD_DEFAULT, "munmap");
		end.py = py;
		end.walks = walks;
		memcpy(&end.munmap, &real, sizeof real);
		assay_loader_leave();
	}
	if (end.munmap)
		assay_hook_install(&hooks);
}

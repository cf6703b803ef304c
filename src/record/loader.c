#define _GNU_SOURCE /* dl_iterate_phdr, dladdr1 */
#include "record/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static _Atomic int inside, forks;

bool assay_loader_enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&forks))
		return true;
	atomic_fetch_sub(&inside, 1);
	return false;
}

void assay_loader_leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

/* Not for ever: a thread of ours may wait there for one that loads, which may be the one that
 * forks. */
void assay_loader_before_fork(void)
{
	enum { TRIES = 20000 };
	const struct timespec pause = {0, 100000};
	int saved = errno;
	atomic_fetch_add(&forks, 1);
	for (int i = 0; atomic_load(&inside) && i < TRIES; i++)
		nanosleep(&pause, NULL);
	errno = saved;
}

void assay_loader_in_parent(void)
{
	atomic_fetch_sub(&forks, 1);
}

void assay_loader_in_child(void)
{
	atomic_store(&inside, 0);
	atomic_store(&forks, 0);
}

/* ---- at rest ---- */

typedef struct turn {
	assay_loader_visit *visit;
	void *ctx;
	int result;
} turn;

/* volatile: dlsym is declared to call nothing of ours. */
static __thread turn *volatile wanted;

typedef void nothing_fn(void);

static void nothing(void)
{
}

/* The loader keeps its lock while it asks the resolver of an indirect function for an address; this
 * function is there for nothing else. */
__attribute__((used)) static nothing_fn *with_the_loader_at_rest(void)
{
	if (wanted)
		wanted->result = dl_iterate_phdr(wanted->visit, wanted->ctx);
	return nothing;
}

__attribute__((visibility("default"), ifunc("with_the_loader_at_rest"))) void
assay_loader_turn(void);

/* Of this library, whatever other one has the name, too. */
static void take_turn(void)
{
	Dl_info info;
	struct link_map *own = NULL;
	void *here, *map = NULL;
	nothing_fn *fn = nothing;
	memcpy(&here, &fn, sizeof here);
	if (dladdr1(here, &info, &map, RTLD_DL_LINKMAP) && (own = map))
		dlsym(own, "assay_loader_turn");
}

int assay_loader_objects(assay_loader_visit *visit, void *ctx)
{
	turn *outer = wanted, own = {visit, ctx, 0};
	wanted = &own;
	take_turn();
	wanted = outer;
	dlerror(); /* of a name that is not there: none of the program's business */
	return own.result;
}

/* What reading the calling thread's Python stack takes, measured inside the interpreter: the
 * recorder's own walk and table of stacks, with a ring that takes everything. Loaded by walk.py. */
#define _GNU_SOURCE /* gettid */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/proc.h"
#include "record/py.h"
#include "record/rt.h"
#include "record/stacks.h"

static _Alignas(8) char record[1 << 16];

uint64_t assay_rt_place(void)
{
	return 1;
}

void *assay_rt_begin(assay_wire_type type, size_t n)
{
	(void)type;
	return n <= sizeof record ? record : NULL;
}

void assay_rt_commit(void)
{
}

uint32_t assay_rt_tid(void)
{
	return (uint32_t)gettid();
}

bool assay_proc_is_filtered(uint32_t tid)
{
	(void)tid;
	return false;
}

static const assay_py *py;
static assay_stacks *stacks;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* NULL, or why there are no stacks. */
const char *walk_find(void)
{
	const char *why = NULL;
	bool later;
	py = assay_py_find(&why, &later);
	stacks = stacks ? stacks : assay_stacks_new();
	return py && stacks ? NULL : why ? why : "no memory";
}

static uint32_t walk(bool with_id)
{
	bool cut;
	uint32_t kept;
	const assay_py_frame *known = assay_stacks_last(stacks, &kept);
	uint32_t n = assay_py_walk(py, known, &kept, assay_stacks_room(stacks), &cut);
	if (with_id)
		assay_stacks_id(stacks, py, assay_py_plain, 0, kept, n, cut);
	return kept + n;
}

/* ns of one of n walks, in the quickest of many rounds: whatever else the machine does only
 * adds. */
static double quickest(int n, bool with_id, uint32_t *depth)
{
	enum { A_ROUND = 50 };
	int64_t best = INT64_MAX;
	for (int i = 0; i < n; i += A_ROUND) {
		int64_t start = now();
		for (int k = 0; k < A_ROUND; k++)
			*depth = walk(with_id);
		int64_t took = now() - start;
		best = took < best ? took : best;
	}
	return (double)best / A_ROUND;
}

/* Calls of the caller's stack; what a walk of it takes, when nothing is known of it, and with its
 * id, when it is as it was. */
uint32_t walk_times(int n, double *anew, double *with_id)
{
	uint32_t depth = 0;
	*anew = quickest(n, false, &depth);
	*with_id = quickest(n, true, &depth);
	return depth;
}

/* One walk with its id, in ns: between two of them the program does what it likes. */
int64_t walk_once(void)
{
	int64_t start = now();
	walk(true);
	return now() - start;
}

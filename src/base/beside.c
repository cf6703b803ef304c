#include "base/beside.h"

#include "base/test.h"

static void wait_for(void *arg)
{
	assay_beside *b = arg;
	assay_undo_drop(&b->undo);
	assay_thread_join(&b->thread);
	b->runs = false;
}

void assay_beside_start(assay_beside *b, unsigned threads, void (*work)(void *arg), void *arg)
{
	*b = (assay_beside){.work = work, .arg = arg};
	b->runs = threads > 1 && assay_thread_start(&b->thread, work, arg);
	if (b->runs)
		assay_undo_add(&b->undo, wait_for, b);
}

void assay_beside_join(assay_beside *b)
{
	if (b->done)
		return;
	if (b->runs) {
		wait_for(b);
		assay_thread_fail_as(&b->thread);
	} else {
		b->work(b->arg);
	}
	b->done = true;
}

void assay_beside_drop(assay_beside *b)
{
	if (b->runs)
		wait_for(b);
	b->done = true;
}

static void count(void *arg)
{
	++*(int *)arg;
}

TEST(work_beside_is_done_once_and_only_when_wanted)
{
	for (unsigned threads = 1; threads < 3; threads++) {
		assay_beside b;
		int times = 0;
		assay_beside_start(&b, threads, count, &times);
		assay_beside_join(&b);
		assay_beside_join(&b);
		CHECK_EQ(times, 1);
		assay_beside_start(&b, threads, count, &times);
		assay_beside_drop(&b);
		assay_beside_join(&b);
		CHECK_EQ(times, threads > 1 ? 2 : 1);
	}
	return 0;
}

/* Registers and the begin of the stack of a thread that runs, taken down by the kernel's perf
 * events when it has used so much processor time: for user code of the own process an ordinary user
 * may ask for that, unless the system was told otherwise. Each moment is asked for, so that a
 * thread nobody looks at is not interrupted. Descriptors are in the table of the calling thread,
 * which is the recorder's own. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/native.h"
#include "record/proc.h"
#include "record/rt.h"

#ifdef __x86_64__
enum { PAGE = 4096, DATA = 2 * PAGE, DUMP = 4096, RECORD_MAX = DUMP + 256 };
enum { WATCHES_MAX = 64, SHARE = 8 }; /* threads; of the memory that may be locked, one part */
enum { BP_BIT = 6, SP_BIT = 7, IP_BIT = 8 }; /* of perf's own numbers: in this order they come */

static bool refused; /* it will not be permitted to the next thread either */
static uint32_t watches;

/* The rings count as locked memory of the user. What the program may lock itself (io_uring, RDMA)
 * is measured against the same limit, so most of it stays free. */
static bool has_room(void)
{
	struct rlimit lock;
	if (watches == WATCHES_MAX || getrlimit(RLIMIT_MEMLOCK, &lock))
		return false;
	return lock.rlim_cur == RLIM_INFINITY ||
	       (watches + 1) * (rlim_t)(PAGE + DATA) <= lock.rlim_cur / SHARE;
}

static void close_watch(assay_native_watch *w)
{
	syscall(SYS_close, w->fd); /* see proc.c */
	*w = (assay_native_watch){0};
}

void assay_native_watch_begin(assay_native_watch *w, uint32_t tid, int64_t every)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof a,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = (uint64_t)every / 2, /* before the next look */
		.disabled = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1 << BP_BIT | 1 << SP_BIT | 1 << IP_BIT,
		.sample_stack_user = DUMP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
	*w = (assay_native_watch){0};
	/* a filter that knows nothing of perf events may end the program for the question */
	if (refused || !has_room() || assay_proc_is_filtered(assay_rt_tid()))
		return;
	w->fd = (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (w->fd <= 0) {
		refused = errno != ESRCH && errno != EMFILE;
		w->fd = 0;
		return;
	}
	w->ring = mmap(NULL, PAGE + DATA, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (w->ring == MAP_FAILED) {
		close_watch(w);
		return;
	}
	watches++;
}

/* Once, when the thread has run for as long as was said. */
void assay_native_watch_ask(assay_native_watch *w)
{
	if (w->fd && !w->asked)
		w->asked = ioctl(w->fd, PERF_EVENT_IOC_REFRESH, 1) == 0;
}

void assay_native_watch_end(assay_native_watch *w)
{
	if (!w->fd)
		return;
	munmap(w->ring, PAGE + DATA);
	close_watch(w);
	watches--;
}

/* n bytes at a position of the ring, which goes round. */
static void copy_out(const assay_native_watch *w, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)w->ring + PAGE;
	size_t in = at % DATA, first = DATA - in < n ? DATA - in : n;
	memcpy(to, data + in, first);
	memcpy((char *)to + first, data, n - first);
}

/* A sample: time, then how registers are told and three of them, then the stack: its size as asked
 * for, the bytes, and how many of them are meant. */
static uint32_t read_sample(const char *p, size_t n, int64_t since, uintptr_t stop,
			    assay_native_call *out)
{
	uint64_t v[6], meant;
	size_t fixed = sizeof(struct perf_event_header) + sizeof v;
	if (n < fixed)
		return 0;
	memcpy(v, p + sizeof(struct perf_event_header), sizeof v);
	if ((int64_t)v[0] < since || v[1] != PERF_SAMPLE_REGS_ABI_64 || v[5] > n - fixed ||
	    n - fixed - v[5] < sizeof meant)
		return 0;
	memcpy(&meant, p + fixed + v[5], sizeof meant);
	assay_native_regs regs = {.bp = v[2], .sp = v[3], .pc = v[4], .has_bp = true};
	return assay_native_walk(&regs, p + fixed, meant < v[5] ? meant : v[5], stop, out);
}

uint32_t assay_native_watch_calls(assay_native_watch *w, int64_t since, uintptr_t stop,
				  assay_native_call *out)
{
	static char record[RECORD_MAX];
	if (!w->asked)
		return 0;
	struct perf_event_mmap_page *page = w->ring;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = page->data_tail, last = head;
	struct perf_event_header h = {0}, found = {0};
	for (; at + sizeof h <= head; at += h.size) {
		copy_out(w, at, &h, sizeof h);
		if (h.size < sizeof h || at + h.size > head)
			break;
		if (h.type == PERF_RECORD_SAMPLE && h.size <= RECORD_MAX)
			last = at, found = h;
	}
	if (found.size)
		copy_out(w, last, record, found.size);
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	w->asked = !found.size;
	return found.size ? read_sample(record, found.size, since, stop, out) : 0;
}
#else
void assay_native_watch_begin(assay_native_watch *w, uint32_t tid, int64_t every)
{
	(void)tid;
	(void)every;
	*w = (assay_native_watch){0};
}

void assay_native_watch_end(assay_native_watch *w)
{
	(void)w;
}

void assay_native_watch_ask(assay_native_watch *w)
{
	(void)w;
}

uint32_t assay_native_watch_calls(assay_native_watch *w, int64_t since, uintptr_t stop,
				  assay_native_call *out)
{
	(void)w;
	(void)since;
	(void)stop;
	(void)out;
	return 0;
}
#endif

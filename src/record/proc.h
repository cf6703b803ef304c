/* What the system says of a thread, from /proc. Nothing is kept open in the program's process. */
#ifndef ASSAY_RECORD_PROC_H
#define ASSAY_RECORD_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_proc_thread {
	uint8_t state, kind; /* of the capture format */
	int32_t call;        /* number of the system call, -1 none */
	uint64_t arg[6];
	uint64_t sp, pc; /* 0 unknown */
} assay_proc_thread;

/* False: the thread is gone. */
bool assay_proc_look(int pid, uint32_t tid, assay_proc_thread *t);
/* The descriptor its call is about; -1 none. */
int assay_proc_descriptor(int pid, const assay_proc_thread *t);
/* ns after which a call for one of many descriptors ends by itself; -1 never, or unknown. */
int64_t assay_proc_timeout(int pid, const assay_proc_thread *t);
/* What a descriptor leads to; false: unknown. */
bool assay_proc_file(int pid, int fd, char *out, size_t size);
/* ns on a processor and in the run queue so far; false: the system does not say. */
bool assay_proc_times(int pid, uint32_t tid, int64_t *cpu, int64_t *delay);
/* The same processor time by a clock, without the lag of a tick; other processes: of all threads.
 * -1 unknown. */
int64_t assay_proc_cpu(int pid, uint32_t tid);
/* Bytes read and written so far, from the page cache too; -1 unknown. */
int64_t assay_proc_bytes(int pid, uint32_t tid);
/* Are the thread's system calls filtered (seccomp) in a way that `assay record` has not tried, or
 * is that unknown? Then whatever a program hardly does may be answered with its death. */
bool assay_proc_is_filtered(uint32_t tid);
/* Child processes that the thread made. */
size_t assay_proc_children(int pid, uint32_t tid, int *out, size_t max);

#endif

/* Between the fake rocprofiler-sdk and the programs that play HIP on it. */
#ifndef ASSAY_FAKE_ROCPROF_H
#define ASSAY_FAKE_ROCPROF_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_KERNEL = 1, FAKE_COPY, FAKE_MEMORY, FAKE_SCRATCH, FAKE_EVENT };
enum { FAKE_CPU = 7001, FAKE_GPU0 = 9000, FAKE_GPU1 = 9001 }; /* agents */

/* Work a call causes. */
typedef struct fake_work {
	int kind, operation;
	uint64_t kernel, agent, from_agent, bytes, address, event;
} fake_work;

/* One HIP call: its arguments as they lie in the union, its result, and the work it causes. stream:
 * where the call has a stream argument, else NULL. */
typedef struct fake_call {
	const char *function;
	const void *args;
	size_t bytes;
	const uint64_t *stream, *graph;
	int status;
	const fake_work *work;
	size_t works;
} fake_call;

/* Each is found with dlsym. */
typedef void fake_start_fn(void);
typedef void fake_call_fn(const fake_call *c);
typedef uint64_t fake_range_fn(int op, const char *text, uint64_t id);
typedef void fake_deliver_fn(void); /* all work is done: into the buffer */
typedef int fake_holds_fn(void);    /* whether records wait for a flush */
enum { FAKE_PUSH = 1, FAKE_POP, FAKE_START, FAKE_STOP, FAKE_MARK, FAKE_NAME_THREAD };

#endif

/* The capture format, as bytes: what recorders write inside the recorded program and
 * src/read/capture.c reads back. docs/formats/capture.md is the prose. Depends on nothing but the C
 * library.
 *
 * A capture is a sequence of chunks, nothing before, between or after them. A chunk is a header of
 * 64 bytes and a payload of records; each record starts with its type and size, so that a reader
 * steps over types it does not know. All integers are little-endian; times are nanoseconds of
 * CLOCK_BOOTTIME. */
#ifndef ASSAY_WIRE_WIRE_H
#define ASSAY_WIRE_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the capture format is little-endian and written without conversion"
#endif

#define ASSAY_WIRE_MAGIC 0x43595341u /* "ASYC" */
enum {
	ASSAY_WIRE_MAJOR = 1, /* another one cannot be read */
	ASSAY_WIRE_MINOR =
		8, /* a newer one has more record types, or more fields at the end of a record */
	ASSAY_WIRE_ALIGN = 8, /* of every record */
	ASSAY_WIRE_RECORD_MAX = 65528,
	ASSAY_WIRE_CHUNK_MAX = 1 << 24,
};
#define ASSAY_WIRE_NONE UINT32_MAX /* absent 32-bit id: stream, event, context, device */

typedef struct assay_wire_chunk {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t header_bytes; /* sizeof this, or more in a newer minor version */
	uint32_t bytes;        /* payload */
	uint64_t sum;          /* assay_wire_sum of the payload */
	uint32_t ring;         /* 1, 2, ...: a thread's ring; 0: records the recorder itself made */
	uint32_t tid;          /* thread of the ring */
	uint64_t pos;          /* bytes that went through the ring before this payload */
	int64_t time;          /* when it was written */
	uint32_t pid;
	uint32_t seq;        /* 0, 1, ... in the file, so that a missing chunk is seen */
	uint64_t header_sum; /* assay_wire_sum of the 56 bytes before */
} assay_wire_chunk;
static_assert(sizeof(assay_wire_chunk) == 64, "chunk header");
static_assert(offsetof(assay_wire_chunk, header_sum) == 56, "chunk header sum");

/* X(TYPE, number, struct or nothing) in docs/formats/capture.md order; numbers are never used
 * again. */
#define ASSAY_WIRE_TYPES(X)                                                                        \
	X(PAD, 0)                                                                                  \
	X(STRING, 1)                                                                               \
	X(PROCESS, 2)                                                                              \
	X(CLOCK, 3)                                                                                \
	X(META, 4)                                                                                 \
	X(DEVICE, 5)                                                                               \
	X(CONTEXT, 6)                                                                              \
	X(STREAM, 7)                                                                               \
	X(THREAD, 8)                                                                               \
	X(API, 9)                                                                                  \
	X(API_NAME, 10)                                                                            \
	X(KERNEL, 11)                                                                              \
	X(COPY, 12)                                                                                \
	X(SET, 13)                                                                                 \
	X(SYNC, 14)                                                                                \
	X(EVENT, 15)                                                                               \
	X(MEMORY, 16)                                                                              \
	X(GRAPH, 17)                                                                               \
	X(OVERHEAD, 18)                                                                            \
	X(RANGE, 19)                                                                               \
	X(LOST, 20)                                                                                \
	X(END, 21)                                                                                 \
	X(SCRATCH, 22)                                                                             \
	X(BARRIER, 23)                                                                             \
	X(CODE, 24)                                                                                \
	X(STACK, 25)                                                                               \
	X(SAMPLE, 26)                                                                              \
	X(TALLY, 27)                                                                               \
	X(DEATH, 28)                                                                               \
	X(PRODUCT, 29)                                                                             \
	X(SWITCH, 30)                                                                              \
	X(OPEN, 31)                                                                                \
	X(SYMBOL, 32)                                                                              \
	X(FUNCTION, 33)

typedef enum assay_wire_type {
#define X(id, number) ASSAY_WIRE_##id = number,
	ASSAY_WIRE_TYPES(X)
#undef X
		ASSAY_WIRE_TYPE_COUNT
} assay_wire_type;

/* Head of every record. */
typedef struct assay_wire_rec {
	uint16_t type;
	uint16_t bytes;  /* whole record, a multiple of 8 */
	uint32_t thread; /* OS thread it belongs to; 0: the thread of the chunk */
} assay_wire_rec;
static_assert(sizeof(assay_wire_rec) == 8, "record head");

/* String ids: 1, 2, ... of this capture, 0 none. A STRING comes before, or in the same chunk as,
 * the first record that uses its id. Text follows the struct, not terminated. */
typedef struct assay_wire_string {
	assay_wire_rec rec;
	uint32_t id, length;
} assay_wire_string;

/* First record of a capture. */
typedef struct assay_wire_process {
	assay_wire_rec rec;
	uint32_t pid, ppid;
	int64_t start;              /* of recording */
	int64_t real;               /* CLOCK_REALTIME at the same moment */
	uint32_t recorder, version; /* strings: "cuda" or "rocm"; of assay */
	uint32_t host, command;     /* strings */
} assay_wire_process;

/* The two clocks at one moment; now and then. */
typedef struct assay_wire_clock {
	assay_wire_rec rec;
	int64_t boot, real;
} assay_wire_clock;

typedef struct assay_wire_meta {
	assay_wire_rec rec;
	uint32_t key, value; /* strings */
} assay_wire_meta;

typedef struct assay_wire_device {
	assay_wire_rec rec;
	uint32_t id, vendor; /* number that work records use; string "nvidia" or "amd" */
	uint32_t name, arch; /* strings */
	uint64_t memory;     /* bytes */
	uint32_t units, warp;
	uint8_t uuid[16];
} assay_wire_device;

typedef struct assay_wire_context {
	assay_wire_rec rec;
	uint32_t id, device;
	uint32_t null_stream, reserved;
} assay_wire_context;

typedef struct assay_wire_stream {
	assay_wire_rec rec;
	uint64_t handle; /* the program's pointer, 0 when unknown */
	uint32_t id, context;
	uint32_t device, flags; /* flags: 1 default stream, 2 non-blocking, 4 per-thread default */
	int32_t priority;
	uint32_t corr;              /* of the call that made it */
	int64_t created, destroyed; /* 0 unknown */
} assay_wire_stream;

typedef struct assay_wire_thread {
	assay_wire_rec rec;
	uint32_t name, reserved;
} assay_wire_thread;

enum {
	ASSAY_WIRE_DRIVER = 1,
	ASSAY_WIRE_RUNTIME = 2,
	ASSAY_WIRE_COMPILER = 3,
	ASSAY_WIRE_COLLECTIVES = 4, /* NCCL, RCCL */
	ASSAY_WIRE_BLAS = 5,        /* functions of a PRODUCT */
};

/* A call. What follows status is written only by recorders that see arguments (rec.bytes tells). */
typedef struct assay_wire_api {
	assay_wire_rec rec;
	int64_t start, end;
	uint64_t corr;
	uint32_t function; /* number within the domain, named by an API_NAME */
	uint16_t domain;
	uint16_t given; /* since 1.1: which handles the call takes, so that 0 is one of them */
	int32_t status;
	uint32_t stack;         /* since 1.3: id of a STACK of the same ring, 0 none */
	uint64_t stream, event; /* handles */
	uint64_t arg[2];
	uint32_t context, stream_id; /* since 1.2: where the call works; stream_id NONE unknown */
} assay_wire_api;
enum {
	ASSAY_WIRE_GIVES_STREAM = 1,
	ASSAY_WIRE_GIVES_EVENT = 2,
	ASSAY_WIRE_ORDERS = 4,  /* makes, records, awaits or destroys an event or a stream */
	ASSAY_WIRE_GIVEN = 8,   /* the other bits are meant; never set by 1.0 */
	ASSAY_WIRE_PLACED = 16, /* context and stream_id are meant */
	ASSAY_WIRE_PART = 32,   /* one of the things that the call with this corr does at once */
	ASSAY_WIRE_LAUNCHES =
		64, /* since 1.5: stream is where to, event a number that a SYMBOL names */
};
enum {
	ASSAY_WIRE_API_SHORT = offsetof(assay_wire_api, stream),
	ASSAY_WIRE_API_LAUNCH = offsetof(assay_wire_api, arg),   /* 1.5 */
	ASSAY_WIRE_API_ARGS = offsetof(assay_wire_api, context), /* 1.0 and 1.1 */
};

typedef struct assay_wire_api_name {
	assay_wire_rec rec;
	uint32_t function;
	uint16_t domain, reserved;
	uint32_t name, reserved2;
} assay_wire_api_name;

/* Where work ran; shared start of KERNEL, COPY and SET. */
typedef struct assay_wire_work {
	assay_wire_rec rec;
	int64_t start, end;
	uint64_t corr;
	uint64_t graph_node;
	uint32_t graph, device, context, stream;
} assay_wire_work;

typedef struct assay_wire_kernel {
	assay_wire_work work;
	uint32_t name;
	uint32_t grid[3]; /* blocks; work-items when vendor is amd */
	uint16_t block[3];
	uint16_t regs;                                 /* of a thread, 0xffff unknown */
	uint32_t shared_static, shared_dynamic, local; /* bytes; NONE unknown */
	uint32_t queue, dispatch;                      /* NONE unknown */
	uint16_t acc_regs, scalar_regs;                /* 0xffff unknown */
	uint32_t reserved;
	int64_t queued, submitted; /* 0 unknown */
} assay_wire_kernel;

/* Copy kinds are CUPTI's numbers, which rocprofiler's map into: src/read/capture_work.c
 * names them. */
typedef struct assay_wire_copy {
	assay_wire_work work;
	uint64_t size;                 /* bytes */
	uint8_t kind, from, to, flags; /* from, to: memory kinds; flags 1: asynchronous */
	uint32_t from_device, to_device, reserved;
} assay_wire_copy;

typedef struct assay_wire_set {
	assay_wire_work work;
	uint64_t size;
	uint32_t value;
	uint8_t memory, flags;
	uint16_t reserved;
} assay_wire_set;

enum {
	ASSAY_WIRE_SYNC_UNKNOWN,
	ASSAY_WIRE_SYNC_EVENT,       /* host waits for an event */
	ASSAY_WIRE_SYNC_STREAM_WAIT, /* a stream waits for an event */
	ASSAY_WIRE_SYNC_STREAM,      /* host waits for a stream */
	ASSAY_WIRE_SYNC_CONTEXT,     /* host waits for the device */
};

/* A wait as the vendor reports it. */
typedef struct assay_wire_sync {
	assay_wire_rec rec;
	int64_t start, end;
	uint64_t corr;
	uint64_t event;   /* UINT64_MAX none */
	uint64_t sync_id; /* of the EVENT it waits for, 0 unknown */
	uint32_t kind, context, stream;
	int32_t status;
} assay_wire_sync;

/* An event put into a stream. */
typedef struct assay_wire_event {
	assay_wire_rec rec;
	uint64_t corr;
	uint64_t event;
	uint64_t sync_id;    /* one number a recording of the event, 0 unknown */
	int64_t device_time; /* 0 unknown */
	uint32_t device, context, stream, reserved;
} assay_wire_event;

enum { ASSAY_WIRE_ALLOC = 1, ASSAY_WIRE_FREE = 2 };

typedef struct assay_wire_memory {
	assay_wire_rec rec;
	int64_t time;
	uint64_t address, size, corr;
	uint32_t device, context, stream;
	uint8_t op, kind; /* kind: vendor's memory kind */
	uint16_t reserved;
	uint64_t pool; /* address of the pool, 0 none */
} assay_wire_memory;

/* A graph launch as a whole, where nodes are not recorded. */
typedef struct assay_wire_graph {
	assay_wire_work work;
} assay_wire_graph;

/* Time the vendor's own profiling took. */
typedef struct assay_wire_overhead {
	assay_wire_rec rec;
	int64_t start, end;
	uint32_t name, corr;
} assay_wire_overhead;

enum {
	ASSAY_WIRE_RANGE_PUSH = 1,
	ASSAY_WIRE_RANGE_POP,
	ASSAY_WIRE_RANGE_START, /* ends by id, on any thread */
	ASSAY_WIRE_RANGE_END,
	ASSAY_WIRE_RANGE_MARK,
};

/* NVTX and roctx. When name is 0 and the record is longer than this struct, the text follows. */
typedef struct assay_wire_range {
	assay_wire_rec rec;
	int64_t time;
	uint64_t id;
	uint32_t name, domain; /* strings */
	uint16_t op, length;   /* length of the text that follows */
	uint32_t category;
	uint32_t color, reserved;
} assay_wire_range;

/* A call for a matrix product, C[m,n] = A[m,k] B[k,n], `batch` times. Types and compute are the
 * library's own numbers; sizes 0: it did not say. */
typedef struct assay_wire_product {
	assay_wire_rec rec;
	int64_t start, end;
	uint64_t m, n, k;
	uint32_t batch, function; /* named by an API_NAME of domain BLAS */
	uint16_t type_a, type_b, type_c, compute;
	int32_t status;
	uint8_t library, trans_a, trans_b, reserved;
} assay_wire_product;
enum { /* libraries */
       ASSAY_WIRE_CUBLASLT,
       ASSAY_WIRE_CUBLAS,
       ASSAY_WIRE_HIPBLASLT,
       ASSAY_WIRE_HIPBLAS,
       ASSAY_WIRE_ROCBLAS,
};

enum {
	ASSAY_WIRE_LOST_RING = 1,   /* a thread's ring was full */
	ASSAY_WIRE_LOST_VENDOR,     /* the vendor's library dropped records */
	ASSAY_WIRE_LOST_TAKEN,      /* another profiler took the vendor's library over */
	ASSAY_WIRE_LOST_THREAD,     /* no ring could be made for a thread */
	ASSAY_WIRE_LOST_INCOMPLETE, /* GPU work that had not ended when recording did */
	ASSAY_WIRE_LOST_DAMAGED,    /* the program wrote over a ring; the count is of places */
	ASSAY_WIRE_LOST_SAMPLES,    /* more threads than are looked at */
	ASSAY_WIRE_LOST_STALLED,    /* the file could not be written as fast as records came */
	ASSAY_WIRE_NOT_KEPT, /* since 1.6, in a TALLY only: older than what was to be kept, no loss
			      */
	ASSAY_WIRE_LOST_ENDED, /* since 1.8, in a TALLY only: a thread went on when the recording
				  had ended */
};

typedef struct assay_wire_lost {
	assay_wire_rec rec;
	uint64_t count;
	int64_t first, last; /* 0 unknown */
	uint32_t why, text;  /* text: string, 0 none */
} assay_wire_lost;

/* Last record of a recording that ended in order. */
typedef struct assay_wire_end {
	assay_wire_rec rec;
	int64_t time, real;
} assay_wire_end;

enum { ASSAY_WIRE_SCRATCH_ALLOC = 1, ASSAY_WIRE_SCRATCH_FREE, ASSAY_WIRE_SCRATCH_RECLAIM };

/* Since 1.1. The vendor's runtime made room for kernels that spill registers, and a queue stood
 * still meanwhile. */
typedef struct assay_wire_scratch {
	assay_wire_rec rec;
	int64_t start, end;
	uint64_t corr, size; /* size: bytes, 0 unknown */
	uint32_t device, queue, flags, op;
} assay_wire_scratch;

enum { ASSAY_WIRE_BARRIER_RECORD = 1, ASSAY_WIRE_BARRIER_WAIT };

/* Since 1.1. An event recorded or waited for, as the device itself saw it. */
typedef struct assay_wire_barrier {
	assay_wire_work work;
	uint64_t event; /* the program's handle */
	uint32_t queue, source_queue, op, reserved;
} assay_wire_barrier;

enum {
	ASSAY_WIRE_CODE_PYTHON = 1, /* a function: its file, qualified name and first line */
	ASSAY_WIRE_CODE_NATIVE,     /* since 1.7 "+" and where in a library, " " and its build id */
	ASSAY_WIRE_CODE_FILE,       /* what a descriptor leads to */
};

/* Since 1.3. Ids of CODE and of STACK are 1, 2, ... of the ring they came through, 0 none; each
 * stands before its first use in the same ring. The texts follow the struct: file, then name. */
typedef struct assay_wire_code {
	assay_wire_rec rec;
	uint32_t id;
	int32_t line; /* 0 unknown */
	uint16_t kind, file_length, name_length, reserved;
} assay_wire_code;

/* Since 1.3. A call, and the stack of its caller. */
typedef struct assay_wire_stack {
	assay_wire_rec rec;
	uint32_t id, caller; /* caller: STACK, 0 for the outermost call */
	uint32_t code;
	int32_t line; /* being executed; 0 unknown */
} assay_wire_stack;

enum {
	ASSAY_WIRE_THREAD_UNKNOWN,
	ASSAY_WIRE_THREAD_RUNNING, /* on a processor */
	ASSAY_WIRE_THREAD_BLOCKED, /* in a system call */
	ASSAY_WIRE_THREAD_FAULT,   /* in a page fault */
	ASSAY_WIRE_THREAD_READY,   /* to run, and no processor has time for it */
};
enum { ASSAY_WIRE_GIL_UNKNOWN, ASSAY_WIRE_GIL_FREE, ASSAY_WIRE_GIL_HOLDS, ASSAY_WIRE_GIL_WAITS };
/* Kinds of system calls, whose numbers differ between machines. */
enum {
	ASSAY_WIRE_CALL_NONE,
	ASSAY_WIRE_CALL_READ,   /* from a descriptor */
	ASSAY_WIRE_CALL_WRITE,  /* to one; also its way to the disk */
	ASSAY_WIRE_CALL_OPEN,   /* by path: open, stat, list */
	ASSAY_WIRE_CALL_SOCKET, /* receive, send, connect, accept */
	ASSAY_WIRE_CALL_POLL,   /* for one of many descriptors */
	ASSAY_WIRE_CALL_LOCK,
	ASSAY_WIRE_CALL_SLEEP,  /* also a POLL that its timeout ended */
	ASSAY_WIRE_CALL_CHILD,  /* for a child process */
	ASSAY_WIRE_CALL_MEMORY, /* maps, unmaps */
	ASSAY_WIRE_CALL_DEVICE, /* ioctl */
	ASSAY_WIRE_CALL_OTHER,
};
enum {
	ASSAY_WIRE_SAMPLE_GC = 1,       /* it collects garbage */
	ASSAY_WIRE_SAMPLE_MOVING = 2,   /* it ran on while its stack was read */
	ASSAY_WIRE_SAMPLE_BESIDE = 4,   /* sampled for what another thread may wait for */
	ASSAY_WIRE_SAMPLE_NO_STACK = 8, /* its stack could not be read: 0 is not "no Python" */
	ASSAY_WIRE_SAMPLE_IO = 16,      /* it read or wrote much since the look before */
	ASSAY_WIRE_SAMPLE_CALL = 32,    /* since 1.5: inside a call that takes long */
};

/* Since 1.3. What a thread was seen doing, from the first to the last look that saw the same. */
typedef struct assay_wire_sample {
	assay_wire_rec rec;
	int64_t start, end;
	int64_t cpu, delay; /* ns on a processor and in the run queue until its next sample; -1 */
	uint32_t count;     /* looks */
	uint32_t stack;
	uint32_t file;        /* CODE behind the call's descriptor */
	uint32_t native;      /* since 1.7: STACK outside Python, up to the interpreter */
	uint32_t pid, holder; /* of a child process, 0 own; thread that holds the GIL, 0 unknown */
	int32_t call;         /* number of the system call; -1 none */
	uint8_t state, gil, flags;
	uint8_t kind; /* of the system call */
} assay_wire_sample;

/* Since 1.4. How many records of a kind the capture holds (cause 0), or how many of them were
 * dropped for a cause (ASSAY_WIRE_LOST_...). Told at the end, by the recorder or by `assay record`
 * after its death; of LOST, END, TALLY and DEATH nothing is told. */
typedef struct assay_wire_tally {
	assay_wire_rec rec;
	uint16_t kind, cause; /* kind: ASSAY_WIRE_... */
	uint32_t reserved;
	uint64_t count;
} assay_wire_tally;

enum {
	ASSAY_WIRE_LEFT_KILLED, /* or in another way that nobody announced */
	ASSAY_WIRE_LEFT_EXEC,
	ASSAY_WIRE_LEFT_ENDED, /* in order: there is an END */
};

/* Since 1.4. The process ended without an END; `assay record` took what its rings held. */
typedef struct assay_wire_death {
	assay_wire_rec rec;
	int64_t time; /* when it was noticed */
	uint32_t how;
	uint32_t whole; /* 1: the vendor had handed everything over */
} assay_wire_death;

enum {                          /* why recording is off */
       ASSAY_WIRE_OFF_ASKED,    /* somebody said so meanwhile */
       ASSAY_WIRE_OFF_START,    /* it was to start so */
       ASSAY_WIRE_OFF_TIME,     /* the time to record had not come, or was over */
       ASSAY_WIRE_OFF_NOT_KEPT, /* since 1.6: it was recorded, and only the last stretch kept */
       ASSAY_WIRE_OFF_STILL,    /* since 1.8: nothing of the process ran (stopped, asleep) */
};

/* Since 1.5. Recording was switched: what happened until the next of these was not to be seen. */
typedef struct assay_wire_switch {
	assay_wire_rec rec;
	int64_t time;
	uint32_t on, why;
} assay_wire_switch;

static_assert(sizeof(assay_wire_switch) == 24, "layout");
/* Since 1.5. A call that its thread was in when the process died, or when it was looked at. */
typedef struct assay_wire_open {
	assay_wire_rec rec;
	int64_t start;
	uint64_t corr;
	uint64_t stream, event; /* as of API */
	uint32_t function;
	uint16_t domain, given;
	uint64_t arg;
} assay_wire_open;

/* Since 1.5. The kernel behind a number that launches carry. */
typedef struct assay_wire_symbol {
	assay_wire_rec rec;
	uint64_t number;
	uint32_t name, reserved; /* string */
} assay_wire_symbol;

/* Since 1.7. What the symbol table of a library calls a CODE of kind NATIVE; `assay record` looks
 * it up when the process has ended. The texts follow: file and name of the CODE, then the symbol.
 */
typedef struct assay_wire_function {
	assay_wire_rec rec;
	uint16_t file_length, name_length, symbol_length, reserved;
} assay_wire_function;

static_assert(sizeof(assay_wire_function) == 16, "layout");
static_assert(sizeof(assay_wire_open) == 56, "layout");
static_assert(sizeof(assay_wire_symbol) == 24, "layout");
static_assert(sizeof(assay_wire_tally) == 24, "layout");
static_assert(sizeof(assay_wire_death) == 24, "layout");
static_assert(sizeof(assay_wire_string) == 16, "layout");
static_assert(sizeof(assay_wire_process) == 48, "layout");
static_assert(sizeof(assay_wire_clock) == 24, "layout");
static_assert(sizeof(assay_wire_meta) == 16, "layout");
static_assert(sizeof(assay_wire_device) == 56, "layout");
static_assert(sizeof(assay_wire_context) == 24, "layout");
static_assert(sizeof(assay_wire_stream) == 56, "layout");
static_assert(sizeof(assay_wire_thread) == 16, "layout");
static_assert(sizeof(assay_wire_api) == 88 && ASSAY_WIRE_API_SHORT == 48, "layout");
static_assert(sizeof(assay_wire_api_name) == 24, "layout");
static_assert(sizeof(assay_wire_work) == 56, "layout");
static_assert(sizeof(assay_wire_kernel) == 128, "layout");
static_assert(sizeof(assay_wire_copy) == 80, "layout");
static_assert(sizeof(assay_wire_set) == 72, "layout");
static_assert(sizeof(assay_wire_sync) == 64, "layout");
static_assert(sizeof(assay_wire_event) == 56, "layout");
static_assert(sizeof(assay_wire_memory) == 64, "layout");
static_assert(sizeof(assay_wire_overhead) == 32, "layout");
static_assert(sizeof(assay_wire_range) == 48, "layout");
static_assert(sizeof(assay_wire_lost) == 40, "layout");
static_assert(sizeof(assay_wire_end) == 24, "layout");
static_assert(sizeof(assay_wire_scratch) == 56, "layout");
static_assert(sizeof(assay_wire_barrier) == 80, "layout");
static_assert(sizeof(assay_wire_code) == 24, "layout");
static_assert(sizeof(assay_wire_stack) == 24, "layout");
static_assert(sizeof(assay_wire_sample) == 72, "layout");

static inline size_t assay_wire_round(size_t n)
{
	return (n + ASSAY_WIRE_ALIGN - 1) & ~(size_t)(ASSAY_WIRE_ALIGN - 1);
}

/* 64-bit checksum: words of 8 bytes, mixed by multiply and shift; the tail padded with zeros and
 * the length mixed in. */
uint64_t assay_wire_sum(const void *p, size_t n);
/* Fill in magic, version, sizes and both sums of a header whose other fields are set. */
void assay_wire_seal(assay_wire_chunk *c, const void *payload, size_t n);
/* NULL, or what is wrong with the header at p (n bytes there). The payload is not looked at. */
const char *assay_wire_check(const void *p, size_t n);

#endif

/* Small enumerations of the model, each from one list. */
#ifndef ASSAY_MODEL_KINDS_H
#define ASSAY_MODEL_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cause.h"
#include "names/kernels.h"

/* X(id, name, detail table) */
#define ASSAY_HOST_KINDS(X)                                                                        \
	X(OP, "cpu_op", op)                                                                        \
	X(ANNOTATION, "user_annotation", op)                                                       \
	X(RUNTIME, "runtime", api)                                                                 \
	X(DRIVER, "driver", api)                                                                   \
	X(PYTHON, "python_function", frame)                                                        \
	X(OVERHEAD, "overhead", other)                                                             \
	X(INSTANT, "instant", other)                                                               \
	X(MARKER, "marker", api)                                                                   \
	X(OTHER, "other", other)                                                                   \
	X(PROCESS_RANGE, "process_range", api) /* started and stopped by id: nests in nothing */

/* X(id, name) */
#define ASSAY_GPU_KINDS(X)                                                                         \
	X(KERNEL, "kernel")                                                                        \
	X(MEMCPY, "memcpy")                                                                        \
	X(MEMSET, "memset")

#define ASSAY_TRACK_KINDS(X)                                                                       \
	X(THREAD, "thread")                                                                        \
	X(STREAM, "stream")                                                                        \
	X(TELEMETRY, "telemetry")

#define ASSAY_STATES(X)                                                                            \
	X(UNKNOWN, "unknown")                                                                      \
	X(ESTIMATED, "estimated")                                                                  \
	X(MEASURED, "measured")

/* What matrix units compute in. */
#define ASSAY_MATHS(X)                                                                             \
	X(NONE, "unknown")                                                                         \
	X(FP64, "fp64")                                                                            \
	X(FP32, "fp32")                                                                            \
	X(TF32, "tf32")                                                                            \
	X(BF16, "bf16")                                                                            \
	X(FP16, "fp16")                                                                            \
	X(FP8, "fp8")                                                                              \
	X(INT8, "int8")                                                                            \
	X(FP4, "fp4")

/* Kinds of modelled work: what is compared with each other. */
#define ASSAY_WORK_CLASSES(X)                                                                      \
	X(NONE, "none")                                                                            \
	X(GEMM, "gemm")                                                                            \
	X(CONV, "convolution")                                                                     \
	X(ATTENTION, "attention")                                                                  \
	X(MOE, "moe")                                                                              \
	X(NORM, "norm")                                                                            \
	X(SOFTMAX, "softmax")                                                                      \
	X(EMBEDDING, "embedding")                                                                  \
	X(ELEMENTWISE, "elementwise")                                                              \
	X(REDUCTION, "reduction")                                                                  \
	X(POOL, "pool")                                                                            \
	X(OPTIMIZER, "optimizer")                                                                  \
	X(MOVE, "move") /* copies, concatenations, gathers */

/* What compute could do without, by the id of the finding. X(id, name) */
#define ASSAY_ADVICES(X)                                                                           \
	X(FP32, "fp32_matmul")                                                                     \
	X(FP64, "fp64_matmul")                                                                     \
	X(EAGER, "eager_attention")                                                                \
	X(MASK, "attention_masks")                                                                 \
	X(CHAIN, "unfused_chain")                                                                  \
	X(SHAPE, "gemm_shape")                                                                     \
	X(TAIL, "wave_tail")                                                                       \
	X(SLOW, "slow_kernels")                                                                    \
	X(CASTS, "cast_storm")                                                                     \
	X(LAYOUT, "layout_copies")                                                                 \
	X(BUCKETS, "bucket_copies")                                                                \
	X(OPTIMIZER, "optimizer_unfused")

/* What keeps a call from being faster. */
#define ASSAY_BOUNDS(X)                                                                            \
	X(NONE, "unknown")                                                                         \
	X(COMPUTE, "compute")                                                                      \
	X(MEMORY, "memory")

#define ASSAY_WAIT_KINDS(X)                                                                        \
	X(UNKNOWN, "unknown")                                                                      \
	X(STREAM_WAIT, "stream_wait_event")                                                        \
	X(EVENT_SYNC, "event_synchronize")                                                         \
	X(STREAM_SYNC, "stream_synchronize")                                                       \
	X(DEVICE_SYNC, "device_synchronize")                                                       \
	X(COPY, "blocking_copy")                                                                   \
	X(DRAIN, "drain")                                                                          \
	X(VALUE, "stream_wait_value")

/* How well the producer of a wait is known; docs/waits.md. */
#define ASSAY_WAIT_CLASSES(X)                                                                      \
	X(EXACT, "exact")                                                                          \
	X(LIKELY, "likely")                                                                        \
	X(AMBIGUOUS, "ambiguous")                                                                  \
	X(NEVER_RECORDED, "never_recorded")                                                        \
	X(BEFORE_TRACE, "before_trace")                                                            \
	X(LOST, "lost")                                                                            \
	X(CAPTURED, "captured")                                                                    \
	X(FAILED_CALL, "failed_call")                                                              \
	X(UNEXPLAINED, "unexplained")

/* Why a wait is not exact: the first that was found. */
#define ASSAY_WAIT_DOUBTS(X)                                                                       \
	X(NONE, "none")                                                                            \
	X(ORDER, "order_of_calls")                                                                 \
	X(PLACE, "guessed_place")                                                                  \
	X(DEFAULT, "default_stream")                                                               \
	X(UNSEEN, "unseen_work")                                                                   \
	X(HOST_FUNC, "host_function")                                                              \
	X(POOL, "memory_pool")                                                                     \
	X(PROCESS, "other_process")                                                                \
	X(WORD, "memory_word")                                                                     \
	X(GRAPH, "graph_events")                                                                   \
	X(BEHIND, "behind_unknown")                                                                \
	X(OFF, "recording_off")                                                                    \
	X(EARLY, "began_late")                                                                     \
	X(LOSSES, "uncounted_losses")                                                              \
	X(EMPTY, "empty_stream")                                                                   \
	X(RACE, "calls_at_once")                                                                   \
	X(SEVERAL, "several_fit")                                                                  \
	X(TIME, "told_by_time")                                                                    \
	X(CLOCKS, "clocks_disagree")                                                               \
	X(LEFT, "time_left_over")                                                                  \
	X(BARRIER, "late_barrier")                                                                 \
	X(FILE, "told_by_file")

#define ASSAY_EDGE_KINDS(X)                                                                        \
	X(STREAM_WAIT, "stream_wait_event")                                                        \
	X(EVENT_SYNC, "event_synchronize")                                                         \
	X(STREAM_SYNC, "stream_synchronize")                                                       \
	X(DEVICE_SYNC, "device_synchronize")                                                       \
	X(LEGACY, "legacy_stream")                                                                 \
	X(COPY, "blocking_copy")                                                                   \
	X(HOST_FUNC, "host_function")                                                              \
	X(QUERY, "query")                                                                          \
	X(DRAIN, "drain")                                                                          \
	X(VALUE, "stream_wait_value")                                                              \
	X(TOGETHER, "joint_launch")

enum { /* stream.flags */
       ASSAY_STREAM_DEFAULT = 1,
       ASSAY_STREAM_NONBLOCKING = 2,
       ASSAY_STREAM_PER_THREAD = 4,
};

enum {
	ASSAY_WAIT_SAME_STREAM = 1,
	ASSAY_WAIT_OUTSIDE = 2,
	ASSAY_WAIT_IPC = 4,
	ASSAY_WAIT_TIMES = 8,
	ASSAY_WAIT_CONFLICT = 16,
	ASSAY_WAIT_UNSEEN = 32,
	ASSAY_WAIT_EARLY = 64,
	ASSAY_WAIT_RACED = 128,
};
/* What opened a scope. */
#define ASSAY_SCOPE_KINDS(X)                                                                       \
	X(GIVEN, "given")                                                                          \
	X(ANNOTATION, "annotation")                                                                \
	X(MARKER, "marker")                                                                        \
	X(OP, "operator")                                                                          \
	X(PYTHON, "python")                                                                        \
	X(PROCESS_RANGE, "process_range")

/* How GPU work got its scope. */
#define ASSAY_SCOPE_HOWS(X)                                                                        \
	X(NONE, "none")                                                                            \
	X(LAUNCH, "launched inside it")                                                            \
	X(GIVEN, "the input says so")                                                              \
	X(FORWARD, "gradient of an operator inside it")                                            \
	X(STARTED, "launched by the thread that started it, outside all other ranges")             \
	X(INFERRED, "launched by another thread while its own waited; inferred")                   \
	X(NODE, "of a graph, whose node was made inside it")

/* Rows of the timeline derived from GPU work, by the names viewers use. */
#define ASSAY_DERIVED_ROWS(X)                                                                      \
	X(STEPS, "Steps")                                                                          \
	X(MODULES, "XLA Modules")                                                                  \
	X(OPS, "XLA Ops")                                                                          \
	X(NAME_SCOPE, "Framework Name Scope")                                                      \
	X(FRAMEWORK_OPS, "Framework Ops")                                                          \
	X(GRAPHS, "Command Buffers")

typedef enum assay_derived_row {
#define X(id, name) ASSAY_DERIVED_##id,
	ASSAY_DERIVED_ROWS(X)
#undef X
		ASSAY_DERIVED_ROW_COUNT
} assay_derived_row;

/* What a piece in kept belongs to: the place, or a row of a table. */
typedef enum assay_kept_of {
	ASSAY_KEPT_PLACE,
	ASSAY_KEPT_HOST,
	ASSAY_KEPT_GPU,
	ASSAY_KEPT_MARK,
	ASSAY_KEPT_SYNC,
	ASSAY_KEPT_TRACK,
	ASSAY_KEPT_BAND,      /* a second line of that track; place is its name */
	ASSAY_KEPT_NAME,      /* row is the string id of an event's name */
	ASSAY_KEPT_STAT_NAME, /* the same for a stat's */
	ASSAY_KEPT_PLANE,     /* fields of a plane whose rows are in tables */
	ASSAY_KEPT_OF_COUNT
} assay_kept_of;

/* Kinds of rows that may each say 0 of what means none: bits of source.zeros, by kind of work, then
 * operators and annotations. */
typedef enum assay_zeros { ASSAY_ZEROS_OP = 3, ASSAY_ZEROS_ANNOTATION, ASSAY_ZEROS } assay_zeros;
#define ASSAY_ZEROS_GPU_KEY  "queued"
#define ASSAY_ZEROS_HOST_KEY "Record function id"

/* What a format says of itself, for those who must not know formats: bits of source.traits. */
enum {
	ASSAY_TRAIT_TELEMETRY = 1, /* samples of devices, on a clock of their own */
	ASSAY_TRAIT_NOTE = 2,      /* facts about a run; no events */
	ASSAY_TRAIT_PLANES = 4,  /* XLA's planes: times since the session began, facts of planes */
	ASSAY_TRAIT_ROCTX = 8,   /* ranges of programs were made with roctx */
	ASSAY_TRAIT_BLOCKS = 16, /* grids are in blocks on every vendor's devices */
	ASSAY_TRAIT_FOLDER =
		32, /* captures: a folder of them is one run, and each says what it lost */
	ASSAY_TRAIT_SNAPSHOT = 64,    /* of the software of a machine */
	ASSAY_TRAIT_FROM_START = 128, /* recorded since the process began, but for what off says */
};

/* Member of host.args: the recording ended inside the range, and the row ends with it. */
#define ASSAY_OPEN_END "open_end"

/* Of calls of operators and of their shapes. */
enum assay_op_flag {
	ASSAY_OP_RECOMPUTED = 1, /* a forward operator run again for its gradient */
	ASSAY_OP_ACROSS_BUS = 2, /* copies between host and device: not the device's memory */
	ASSAY_OP_GRAPH = 4,      /* launched as part of a graph: no arguments describe it */
	ASSAY_OP_ESTIMATED = 8,  /* part of its work is a guess */
	ASSAY_OP_OVER_PEAK = 16, /* faster than the device can be: its model is wrong here */
	ASSAY_OP_BACKWARD = 32,
	ASSAY_OP_EAGER = 64,   /* between the products of an attention that is not fused */
	ASSAY_OP_SCORES = 128, /* one of these products */
};

enum { ASSAY_SCOPE_OPEN = 1, ASSAY_SCOPE_OVERLAP = 2, ASSAY_SCOPE_GIVEN = 4 };

typedef enum assay_scope_kind {
#define X(id, name) ASSAY_SCOPE_KIND_##id,
	ASSAY_SCOPE_KINDS(X)
#undef X
		ASSAY_SCOPE_KIND_COUNT
} assay_scope_kind;

typedef enum assay_scope_how {
#define X(id, name) ASSAY_SCOPE_HOW_##id,
	ASSAY_SCOPE_HOWS(X)
#undef X
		ASSAY_SCOPE_HOW_COUNT
} assay_scope_how;

/* What says that a stretch of time is a step. */
#define ASSAY_STEP_ORIGINS(X)                                                                      \
	X(MARKER, "ProfilerStep markers on the host")                                              \
	X(RANGE, "ranges named like steps")                                                        \
	X(DEVICE, "the step line of the device")                                                   \
	X(REPEATED, "detected from the repetition of kernels")                                     \
	X(ANNOTATION, "step annotations in the profile")                                           \
	X(CHOSEN, "ranges chosen with --steps-from")                                               \
	X(LOOP, "the loop in the Python stacks of the launching thread")                           \
	X(SERVING, "step marks of the serving engine")                                             \
	X(OPTIMIZER, "updates of the optimizer")                                                   \
	X(BATCH, "batches taken from the data loader")                                             \
	X(PROGRAM, "executions of the compiled program that launches most")

/* Who says how much memory is held. */
#define ASSAY_MEMORY_ACCOUNTS(X)                                                                   \
	X(ALLOCATOR, "the framework's allocator")                                                  \
	X(ADDED, "allocations, added up")                                                          \
	X(TELEMETRY, "telemetry")

/* What queued work waited for. */
#define ASSAY_QUEUED_KINDS(X)                                                                      \
	X(OTHER, "queued_other")                                                                   \
	X(STREAM_WAIT, "queued_stream_wait")                                                       \
	X(COPY, "queued_copy")                                                                     \
	X(OTHER_RANK, "queued_other_rank")

/* Numbers of the capture format. */
#define ASSAY_CODE_KINDS(X)                                                                        \
	X(UNKNOWN, "unknown")                                                                      \
	X(PYTHON, "python")                                                                        \
	X(NATIVE, "native")                                                                        \
	X(FILE, "file")

/* What the system says of a thread; numbers of the capture format. */
#define ASSAY_THREAD_STATES(X)                                                                     \
	X(UNKNOWN, "unknown")                                                                      \
	X(RUNNING, "running")                                                                      \
	X(BLOCKED, "blocked")                                                                      \
	X(FAULT, "page_fault")                                                                     \
	X(READY, "ready")                                                                          \
	X(OFF, "off_processor")

/* Is every record there that the recorder made? Proved: it ended in order, and its counts agree
 * with what was read. */
#define ASSAY_PROOFS(X)                                                                            \
	X(NONE, "not_told")                                                                        \
	X(WHOLE, "proved")                                                                         \
	X(OPEN, "unknown")                                                                         \
	X(LOST, "lost")

/* Why records are missing; the first ones are numbers of the capture format. */
#define ASSAY_LOSS_CAUSES(X)                                                                       \
	X(NONE, "none")                                                                            \
	X(RING, "ring_full")                                                                       \
	X(VENDOR, "vendor_dropped")                                                                \
	X(TAKEN, "profiler_took_over")                                                             \
	X(THREAD, "no_ring_for_thread")                                                            \
	X(INCOMPLETE, "work_not_ended")                                                            \
	X(DAMAGED, "ring_overwritten")                                                             \
	X(SAMPLES, "too_many_threads")                                                             \
	X(STALLED, "disk_too_slow")                                                                \
	X(NOT_KEPT, "not_kept")                                                                    \
	X(ENDED, "recording_ended")                                                                \
	X(MISSING, "not_in_file")                                                                  \
	X(KILLED, "killed_before_flush")                                                           \
	X(EXEC, "exec_before_flush")                                                               \
	X(UNTOLD, "end_not_in_file")                                                               \
	X(NO_WORK, "no_work_of_launch")

/* Why recording was off; numbers of the capture format. */
#define ASSAY_OFF_CAUSES(X)                                                                        \
	X(ASKED, "asked")                                                                          \
	X(START, "started_paused")                                                                 \
	X(TIME, "not_the_time")                                                                    \
	X(NOT_KEPT, "not_kept")                                                                    \
	X(STILL, "stood_still")

/* A thread and Python's global lock; numbers of the capture format. */
#define ASSAY_GIL_STATES(X)                                                                        \
	X(UNKNOWN, "unknown")                                                                      \
	X(FREE, "without")                                                                         \
	X(HOLDS, "holds")                                                                          \
	X(WAITS, "waits")

/* Kinds of system calls; numbers of the capture format. */
#define ASSAY_CALL_KINDS(X)                                                                        \
	X(NONE, "none")                                                                            \
	X(READ, "read")                                                                            \
	X(WRITE, "write")                                                                          \
	X(OPEN, "open")                                                                            \
	X(SOCKET, "socket")                                                                        \
	X(POLL, "poll")                                                                            \
	X(LOCK, "lock")                                                                            \
	X(SLEEP, "sleep")                                                                          \
	X(CHILD, "child")                                                                          \
	X(MEMORY, "memory")                                                                        \
	X(DEVICE, "device")                                                                        \
	X(OTHER, "other")

/* What a sampled thread did; resolve/doings.c. */
#define ASSAY_DOINGS(X)                                                                            \
	X(UNKNOWN, "unknown")                                                                      \
	X(GIL, "gil")                                                                              \
	X(CPU_WAIT, "cpu_wait")                                                                    \
	X(GC, "gc")                                                                                \
	X(COMPILE, "compile")                                                                      \
	X(IMPORT, "import")                                                                        \
	X(DATA, "data")                                                                            \
	X(IO, "io")                                                                                \
	X(SLEEP, "sleep")                                                                          \
	X(LOCK, "lock")                                                                            \
	X(CHILD, "child")                                                                          \
	X(COMM, "comm")                                                                            \
	X(SYNC, "sync")                                                                            \
	X(DRIVER, "driver")                                                                        \
	X(PYTHON, "python")                                                                        \
	X(NATIVE, "native")

/* Of sample.flags; bits of the capture format, but for the last. */
enum {
	ASSAY_SAMPLE_GC = 1,
	ASSAY_SAMPLE_MOVING = 2,
	ASSAY_SAMPLE_BESIDE = 4,
	ASSAY_SAMPLE_NO_STACK = 8,
	ASSAY_SAMPLE_IO = 16,
	ASSAY_SAMPLE_CALL = 32,
	ASSAY_SAMPLE_TURN = 64, /* no look: the scheduler says so, from ts to ts + dur */
};

typedef enum assay_step_origin {
#define X(id, name) ASSAY_STEP_##id,
	ASSAY_STEP_ORIGINS(X)
#undef X
		ASSAY_STEP_ORIGIN_COUNT
} assay_step_origin;

typedef enum assay_memory_account {
#define X(id, name) ASSAY_MEMORY_##id,
	ASSAY_MEMORY_ACCOUNTS(X)
#undef X
		ASSAY_MEMORY_ACCOUNT_COUNT
} assay_memory_account;

typedef enum assay_queued {
#define X(id, name) ASSAY_QUEUED_##id,
	ASSAY_QUEUED_KINDS(X)
#undef X
		ASSAY_QUEUED_COUNT
} assay_queued;

typedef enum assay_code_kind {
#define X(id, name) ASSAY_CODE_##id,
	ASSAY_CODE_KINDS(X)
#undef X
		ASSAY_CODE_KIND_COUNT
} assay_code_kind;

typedef enum assay_thread_state {
#define X(id, name) ASSAY_THREAD_##id,
	ASSAY_THREAD_STATES(X)
#undef X
		ASSAY_THREAD_STATE_COUNT
} assay_thread_state;

typedef enum assay_call_kind {
#define X(id, name) ASSAY_CALL_##id,
	ASSAY_CALL_KINDS(X)
#undef X
		ASSAY_CALL_KIND_COUNT
} assay_call_kind;

typedef enum assay_doing {
#define X(id, name) ASSAY_DOING_##id,
	ASSAY_DOINGS(X)
#undef X
		ASSAY_DOING_COUNT
} assay_doing;

typedef enum assay_gil_state {
#define X(id, name) ASSAY_GIL_##id,
	ASSAY_GIL_STATES(X)
#undef X
		ASSAY_GIL_STATE_COUNT
} assay_gil_state;

typedef enum assay_proof {
#define X(id, name) ASSAY_PROOF_##id,
	ASSAY_PROOFS(X)
#undef X
		ASSAY_PROOF_COUNT
} assay_proof;

typedef enum assay_loss_cause {
#define X(id, name) ASSAY_LOSS_##id,
	ASSAY_LOSS_CAUSES(X)
#undef X
		ASSAY_LOSS_CAUSE_COUNT
} assay_loss_cause;

typedef enum assay_off_cause {
#define X(id, name) ASSAY_OFF_##id,
	ASSAY_OFF_CAUSES(X)
#undef X
		ASSAY_OFF_CAUSE_COUNT
} assay_off_cause;

typedef enum assay_host_kind {
#define X(id, name, table) ASSAY_HOST_##id,
	ASSAY_HOST_KINDS(X)
#undef X
		ASSAY_HOST_KIND_COUNT
} assay_host_kind;

typedef enum assay_gpu_kind {
#define X(id, name) ASSAY_GPU_##id,
	ASSAY_GPU_KINDS(X)
#undef X
		ASSAY_GPU_KIND_COUNT
} assay_gpu_kind;

typedef enum assay_track_kind {
#define X(id, name) ASSAY_TRACK_##id,
	ASSAY_TRACK_KINDS(X)
#undef X
		ASSAY_TRACK_KIND_COUNT
} assay_track_kind;

typedef enum assay_state {
#define X(id, name) ASSAY_STATE_##id,
	ASSAY_STATES(X)
#undef X
		ASSAY_STATE_COUNT
} assay_state;

typedef enum assay_math {
#define X(id, name) ASSAY_MATH_##id,
	ASSAY_MATHS(X)
#undef X
		ASSAY_MATH_COUNT
} assay_math;

typedef enum assay_work_class {
#define X(id, name) ASSAY_WORK_##id,
	ASSAY_WORK_CLASSES(X)
#undef X
		ASSAY_WORK_CLASS_COUNT
} assay_work_class;

typedef enum assay_advice_kind {
#define X(id, name) ASSAY_ADVICE_##id,
	ASSAY_ADVICES(X)
#undef X
		ASSAY_ADVICE_COUNT
} assay_advice_kind;

typedef enum assay_bound {
#define X(id, name) ASSAY_BOUND_##id,
	ASSAY_BOUNDS(X)
#undef X
		ASSAY_BOUND_COUNT
} assay_bound;

typedef enum assay_wait_kind {
#define X(id, name) ASSAY_WAIT_##id,
	ASSAY_WAIT_KINDS(X)
#undef X
		ASSAY_WAIT_KIND_COUNT
} assay_wait_kind;

typedef enum assay_wait_class {
#define X(id, name) ASSAY_WAIT_IS_##id,
	ASSAY_WAIT_CLASSES(X)
#undef X
		ASSAY_WAIT_CLASS_COUNT
} assay_wait_class;
enum { ASSAY_NO_CLASS = 255 };

typedef enum assay_wait_doubt {
#define X(id, name) ASSAY_WAIT_BY_##id,
	ASSAY_WAIT_DOUBTS(X)
#undef X
		ASSAY_WAIT_DOUBT_COUNT
} assay_wait_doubt;

typedef enum assay_edge_kind {
#define X(id, name) ASSAY_EDGE_##id,
	ASSAY_EDGE_KINDS(X)
#undef X
		ASSAY_EDGE_KIND_COUNT
} assay_edge_kind;

extern const char *const assay_host_kind_name[ASSAY_HOST_KIND_COUNT];
extern const char *const assay_gpu_kind_name[ASSAY_GPU_KIND_COUNT];
extern const char *const assay_track_kind_name[ASSAY_TRACK_KIND_COUNT];
extern const char *const assay_state_name[ASSAY_STATE_COUNT];
extern const char *const assay_math_name[ASSAY_MATH_COUNT];
extern const char *const assay_work_class_name[ASSAY_WORK_CLASS_COUNT];
extern const char *const assay_advice_name[ASSAY_ADVICE_COUNT];
extern const char *const assay_bound_name[ASSAY_BOUND_COUNT];
extern const char *const assay_wait_kind_name[ASSAY_WAIT_KIND_COUNT];
extern const char *const assay_wait_class_name[ASSAY_WAIT_CLASS_COUNT];
extern const char *const assay_wait_doubt_name[ASSAY_WAIT_DOUBT_COUNT];
extern const char *const assay_edge_kind_name[ASSAY_EDGE_KIND_COUNT];
extern const char *const assay_scope_kind_name[ASSAY_SCOPE_KIND_COUNT];
extern const char *const assay_scope_how_name[ASSAY_SCOPE_HOW_COUNT];
extern const char *const assay_derived_row_name[ASSAY_DERIVED_ROW_COUNT];

extern const char *const assay_step_origin_name[ASSAY_STEP_ORIGIN_COUNT];
extern const char *const assay_memory_account_name[ASSAY_MEMORY_ACCOUNT_COUNT];
extern const char *const assay_queued_name[ASSAY_QUEUED_COUNT];
extern const char *const assay_late_name[ASSAY_LATE_COUNT];
extern const char *const assay_code_kind_name[ASSAY_CODE_KIND_COUNT];
extern const char *const assay_thread_state_name[ASSAY_THREAD_STATE_COUNT];
extern const char *const assay_call_kind_name[ASSAY_CALL_KIND_COUNT];
extern const char *const assay_doing_name[ASSAY_DOING_COUNT];
extern const char *const assay_gil_state_name[ASSAY_GIL_STATE_COUNT];
extern const char *const assay_proof_name[ASSAY_PROOF_COUNT];
extern const char *const assay_loss_cause_name[ASSAY_LOSS_CAUSE_COUNT];
extern const char *const assay_off_cause_name[ASSAY_OFF_CAUSE_COUNT];

/* Of a row of host: a call of the vendor's API. */
static inline bool assay_is_call(uint8_t host_kind)
{
	return host_kind == ASSAY_HOST_RUNTIME || host_kind == ASSAY_HOST_DRIVER;
}

/* A range that a thread, or its framework, opened and closed itself: it nests with its calls. */
static inline bool assay_is_thread_range(uint8_t host_kind)
{
	return host_kind == ASSAY_HOST_ANNOTATION || host_kind == ASSAY_HOST_MARKER;
}

/* A name that somebody gave to the time, whatever is called in it: ranges of threads, those that
 * may end on another one, and spans of formats that do not say what they are. */
static inline bool assay_is_range(uint8_t host_kind)
{
	return assay_is_thread_range(host_kind) || host_kind == ASSAY_HOST_PROCESS_RANGE ||
	       host_kind == ASSAY_HOST_OTHER;
}

#endif

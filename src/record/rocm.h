/* The AMD recorder's own parts, shared between its files only. */
#ifndef ASSAY_RECORD_ROCM_H
#define ASSAY_RECORD_ROCM_H

#include "record/rt.h"
#include "vendor/rocprof.h"

/* Kinds of callbacks and of buffer records, and operations, by name: their numbers move. */
typedef enum rocm_kind {
	ROCM_RUNTIME,
	ROCM_COMPILER,
	ROCM_RCCL, /* 0.5 on */
	ROCM_MARKER,
	ROCM_NAMING,
	ROCM_CODE,
	ROCM_STREAM,
	ROCM_GRAPH,
	ROCM_CALLBACKS,
	ROCM_KERNEL = ROCM_CALLBACKS,
	ROCM_COPY,
	ROCM_MEMORY,
	ROCM_SCRATCH,
	ROCM_EVENT,
	ROCM_KINDS
} rocm_kind;

typedef enum rocm_op {
	ROCM_OP_CODE_LOAD,
	ROCM_OP_KERNEL_SYMBOL,
	ROCM_OP_STREAM_SET,
	ROCM_OP_GRAPH_LAUNCH,
	ROCM_OP_KERNEL_DONE,
	ROCM_OP_H2H,
	ROCM_OP_H2D,
	ROCM_OP_D2H,
	ROCM_OP_D2D,
	ROCM_OP_ALLOC,
	ROCM_OP_VMEM_ALLOC,
	ROCM_OP_FREE,
	ROCM_OP_VMEM_FREE,
	ROCM_OP_SCRATCH_ALLOC,
	ROCM_OP_SCRATCH_FREE,
	ROCM_OP_SCRATCH_RECLAIM,
	ROCM_OP_EVENT_RECORD,
	ROCM_OP_EVENT_WAIT,
	ROCM_OPS
} rocm_op;

typedef struct rocm_names {
	int32_t kind[ROCM_KINDS]; /* -1: the SDK has none of that name */
	int32_t op[ROCM_OPS];
} rocm_names;
extern rocm_names assay_rocm_names;
void assay_rocm_resolve(const rocprof_lib *lib);
const char *assay_rocm_kind_name(rocm_kind kind);

/* Numbers and names of a callback kind's operations, one at a time. */
typedef void rocm_each_op(int32_t operation, const char *name, void *data);
void assay_rocm_each(const rocprof_lib *lib, int32_t kind, rocm_each_op *each, void *data);

/* A callback of either ABI. */
typedef struct rocm_call {
	uint64_t corr;
	uint32_t thread;
	int32_t operation, phase;
	const void *payload;
} rocm_call;

/* ---- HIP calls (rocm_calls.c) ---- */

enum { ROCM_CALLS_MAX = 1024 };

/* Operations worth a row. Bulk must be open: names are written. */
size_t assay_rocm_choose(const rocprof_lib *lib, rocm_kind kind, int32_t *ops);
/* Does the operation make or destroy a stream or a graph? */
bool assay_rocm_keeps_handles(rocm_kind kind, int32_t operation);
void assay_rocm_on_runtime(const rocm_call *c, rocprof_user *user);
void assay_rocm_on_compiler(const rocm_call *c, rocprof_user *user);
void assay_rocm_on_rccl(const rocm_call *c, rocprof_user *user);
void assay_rocm_on_stream(const rocm_call *c, rocprof_user *user);
void assay_rocm_on_graph(const rocm_call *c, rocprof_user *user);

/* What a kernel or copy carries in its external correlation id from the thread that launched it. */
typedef struct rocm_origin {
	uint32_t stream; /* NONE unknown */
	uint32_t graph, node;
	bool wanted; /* launched inside what is to be recorded */
} rocm_origin;
rocm_origin assay_rocm_unpack(uint64_t external);
int assay_rocm_request(uint64_t thread, uint64_t context, int kind, int32_t operation,
		       uint64_t corr, rocprof_user *out, void *data);

/* ---- handles with lifetimes (rocm_handles.c) ---- */

/* Number of the stream that lives at this address now; 0 the default stream. */
uint32_t assay_rocm_stream(uint64_t handle);
/* The calling thread's own default stream. */
uint32_t assay_rocm_own_stream(void);
void assay_rocm_stream_made(uint64_t handle, uint32_t flags, int32_t priority, uint64_t corr,
			    int64_t time);
void assay_rocm_stream_gone(uint64_t handle, int64_t time);
/* Number of the executable graph that lives at this address now, 1 or more. */
uint32_t assay_rocm_graph(uint64_t handle);
void assay_rocm_graph_gone(uint64_t handle);

/* Work of that stream was on that device, own: which is the stream's. Its row is written the first
 * time. Returns the device the stream belongs to, as far as is known. Bulk must be open. */
uint32_t assay_rocm_stream_on(uint32_t id, uint32_t device, bool own);
/* Rows of streams that never had work. Bulk must be open. */
void assay_rocm_streams_left(void);
/* In a forked child: the parent's are not ours. */
void assay_rocm_handles_forked(void);

/* ---- markers (rocm_mark.c) ---- */

void assay_rocm_choose_marks(const rocprof_lib *lib, rocm_kind kind);
void assay_rocm_on_marker(const rocm_call *c, rocprof_user *user);
void assay_rocm_on_naming(const rocm_call *c, rocprof_user *user);

/* ---- records (rocm_convert.c) ---- */

/* Agents into DEVICE records. Bulk must be open. */
void assay_rocm_agents(const rocprof_lib *lib);
/* Compare the SDK's clock with ours. Bulk must be open. */
void assay_rocm_clock(const rocprof_lib *lib);
void assay_rocm_on_code(const rocm_call *c, rocprof_user *user);
/* Buffer records into ours. Bulk must be open. */
void assay_rocm_convert(uint32_t version, rocprof_header **headers, size_t n);

#endif

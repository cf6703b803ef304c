/* Kinds and operations by name. Operations the SDK does not name keep the numbers they had in every
 * version so far. */
#include <string.h>

#include "record/rocm.h"

rocm_names assay_rocm_names;

static const char *const kind_names[ROCM_KINDS] = {
	[ROCM_RUNTIME] = "HIP_RUNTIME_API",
	[ROCM_COMPILER] = "HIP_COMPILER_API",
	[ROCM_RCCL] = "RCCL_API",
	[ROCM_MARKER] = "MARKER_CORE_API",
	[ROCM_NAMING] = "MARKER_NAME_API",
	[ROCM_CODE] = "CODE_OBJECT",
	[ROCM_STREAM] = "HIP_STREAM",
	[ROCM_GRAPH] = "HIP_GRAPH",
	[ROCM_KERNEL] = "KERNEL_DISPATCH",
	[ROCM_COPY] = "MEMORY_COPY",
	[ROCM_MEMORY] = "MEMORY_ALLOCATION",
	[ROCM_SCRATCH] = "SCRATCH_MEMORY",
	[ROCM_EVENT] = "HIP_EVENT",
};

/* Names are met by their end: the part before repeats the kind, not always in the same way. */
static const struct {
	rocm_kind kind;
	int32_t number;
	const char *end, *not_end;
} op_names[ROCM_OPS] = {
	[ROCM_OP_CODE_LOAD] = {ROCM_CODE, ROCPROF_CODE_LOAD, "_LOAD", NULL},
	[ROCM_OP_KERNEL_SYMBOL] = {ROCM_CODE, ROCPROF_CODE_KERNEL_SYMBOL,
				   "_DEVICE_KERNEL_SYMBOL_REGISTER", NULL},
	[ROCM_OP_STREAM_SET] = {ROCM_STREAM, ROCPROF_STREAM_SET, "_SET", NULL},
	[ROCM_OP_GRAPH_LAUNCH] = {ROCM_GRAPH, ROCPROF_GRAPH_EXEC_LAUNCH, "_LAUNCH", NULL},
	[ROCM_OP_KERNEL_DONE] = {ROCM_KERNEL, ROCPROF_KERNEL_COMPLETE, "_COMPLETE", NULL},
	[ROCM_OP_H2H] = {ROCM_COPY, ROCPROF_COPY_H2H, "HOST_TO_HOST", NULL},
	[ROCM_OP_H2D] = {ROCM_COPY, ROCPROF_COPY_H2D, "HOST_TO_DEVICE", NULL},
	[ROCM_OP_D2H] = {ROCM_COPY, ROCPROF_COPY_D2H, "DEVICE_TO_HOST", NULL},
	[ROCM_OP_D2D] = {ROCM_COPY, ROCPROF_COPY_D2D, "DEVICE_TO_DEVICE", NULL},
	[ROCM_OP_ALLOC] = {ROCM_MEMORY, ROCPROF_MEMORY_ALLOC, "_ALLOCATE", "VMEM_ALLOCATE"},
	[ROCM_OP_VMEM_ALLOC] = {ROCM_MEMORY, ROCPROF_MEMORY_VMEM_ALLOC, "VMEM_ALLOCATE", NULL},
	[ROCM_OP_FREE] = {ROCM_MEMORY, ROCPROF_MEMORY_FREE, "_FREE", "VMEM_FREE"},
	[ROCM_OP_VMEM_FREE] = {ROCM_MEMORY, ROCPROF_MEMORY_VMEM_FREE, "VMEM_FREE", NULL},
	[ROCM_OP_SCRATCH_ALLOC] = {ROCM_SCRATCH, ROCPROF_SCRATCH_ALLOC, "_ALLOC", NULL},
	[ROCM_OP_SCRATCH_FREE] = {ROCM_SCRATCH, ROCPROF_SCRATCH_FREE, "_FREE", NULL},
	[ROCM_OP_SCRATCH_RECLAIM] = {ROCM_SCRATCH, ROCPROF_SCRATCH_RECLAIM, "_RECLAIM", NULL},
	[ROCM_OP_EVENT_RECORD] = {ROCM_EVENT, -1, "_RECORD", NULL},
	[ROCM_OP_EVENT_WAIT] = {ROCM_EVENT, -1, "_WAIT", NULL},
};

const char *assay_rocm_kind_name(rocm_kind kind)
{
	return kind_names[kind];
}

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

typedef struct kind_search {
	const rocprof_lib *lib;
	rocm_kind first, last;
} kind_search;

static int meet_kind(int kind, void *data)
{
	const kind_search *s = data;
	const char *name = NULL;
	uint64_t length = 0;
	int rc = s->first == ROCM_RUNTIME ? s->lib->callback_kind_name(kind, &name, &length)
					  : s->lib->buffer_kind_name(kind, &name, &length);
	for (int i = (int)s->first; rc == ROCPROF_OK && name && i < (int)s->last; i++)
		if (!strcmp(name, kind_names[i]))
			assay_rocm_names.kind[i] = kind;
	return 0;
}

typedef struct op_search {
	const rocprof_lib *lib;
	rocm_kind kind;
} op_search;

static int meet_op(int kind, int32_t operation, void *data)
{
	const op_search *s = data;
	const char *name = NULL;
	uint64_t length = 0;
	int rc = s->kind < ROCM_CALLBACKS
			 ? s->lib->callback_operation_name(kind, operation, &name, &length)
			 : s->lib->buffer_operation_name(kind, operation, &name, &length);
	for (int i = 0; rc == ROCPROF_OK && name && i < ROCM_OPS; i++)
		if (op_names[i].kind == s->kind && ends(name, op_names[i].end) &&
		    !(op_names[i].not_end && ends(name, op_names[i].not_end)))
			assay_rocm_names.op[i] = operation;
	return 0;
}

void assay_rocm_resolve(const rocprof_lib *lib)
{
	rocm_names *n = &assay_rocm_names;
	for (int i = 0; i < ROCM_KINDS; i++)
		n->kind[i] = -1;
	for (int i = 0; i < ROCM_OPS; i++)
		n->op[i] = op_names[i].number;
	lib->callback_kinds(meet_kind, &(kind_search){lib, ROCM_RUNTIME, ROCM_CALLBACKS});
	lib->buffer_kinds(meet_kind, &(kind_search){lib, ROCM_CALLBACKS, ROCM_KINDS});
	for (rocm_kind k = ROCM_CODE; k < ROCM_KINDS; k++) {
		op_search s = {lib, k};
		if (n->kind[k] < 0)
			continue;
		if (k < ROCM_CALLBACKS)
			lib->callback_operations(n->kind[k], meet_op, &s);
		else if (lib->buffer_operations && lib->buffer_operation_name)
			lib->buffer_operations(n->kind[k], meet_op, &s);
	}
}

typedef struct each {
	const rocprof_lib *lib;
	rocm_each_op *each;
	void *data;
} each;

static int call_each(int kind, int32_t operation, void *data)
{
	const each *e = data;
	const char *name = NULL;
	uint64_t length = 0;
	if (e->lib->callback_operation_name(kind, operation, &name, &length) == ROCPROF_OK && name)
		e->each(operation, name, e->data);
	return 0;
}

void assay_rocm_each(const rocprof_lib *lib, int32_t kind, rocm_each_op *each_op, void *data)
{
	lib->callback_operations(kind, call_each, &(each){lib, each_op, data});
}

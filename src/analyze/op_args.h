/* What a framework operator was called with, from the four lists its trace event carries. */
#ifndef ASSAY_ANALYZE_OP_ARGS_H
#define ASSAY_ANALYZE_OP_ARGS_H

#include "base/arena.h"
#include "model/kinds.h"

typedef enum assay_dtype {
	ASSAY_DTYPE_NONE,
#define DTYPE(id, number, bits, kind, math, name, old) ASSAY_DTYPE_##id,
#include "analyze/dtype.def"
#undef DTYPE
	ASSAY_DTYPE_COUNT
} assay_dtype;

double assay_dtype_bytes(assay_dtype type); /* of one element; 0 when the type is not known */
assay_math assay_dtype_math(assay_dtype type);
/* In the order in which they give way to each other. */
typedef enum assay_dtype_kind {
	ASSAY_DTYPE_IS_BOOL,
	ASSAY_DTYPE_IS_INTEGER,
	ASSAY_DTYPE_IS_REAL,
	ASSAY_DTYPE_IS_COMPLEX
} assay_dtype_kind;
assay_dtype_kind assay_dtype_kind_of(assay_dtype type);
/* What an operation on both makes. */
assay_dtype assay_dtype_promote(assay_dtype a, assay_dtype b);
assay_dtype assay_dtype_numbered(int64_t number); /* torch's ScalarType */

typedef struct assay_tensor {
	const int64_t *dim, *stride; /* stride NULL: not recorded */
	uint32_t rank;
	assay_dtype type;
} assay_tensor;

typedef enum assay_arg_kind {
	ASSAY_ARG_NONE,    /* undefined tensor, or something that is not described */
	ASSAY_ARG_TENSOR,  /* one tensor */
	ASSAY_ARG_TENSORS, /* a list; of more than 30 the dims are not written: none are here */
	ASSAY_ARG_VALUE,   /* a number, a list of numbers, a flag: text */
} assay_arg_kind;

typedef struct assay_arg {
	assay_arg_kind kind;
	const assay_tensor *tensor;
	size_t n;        /* tensors */
	assay_str value; /* as written, without quotes */
} assay_arg;

typedef struct assay_op_args {
	assay_arg *arg;
	size_t n;
	assay_str dims, types, strides, values; /* JSON as written; empty when not recorded */
} assay_op_args;

/* From the members of host.args; false when shapes were not recorded. Everything lives in a. */
bool assay_op_args_parse(assay_op_args *out, assay_arena *a, assay_str members);

/* Is there a number, list or flag in words? None is in older recordings. */
bool assay_arg_has_value(const assay_op_args *args, int i);

/* The tensor at index i, NULL when there is none there (i may be -1). */
const assay_tensor *assay_arg_tensor(const assay_op_args *args, int i);
bool assay_arg_number(const assay_op_args *args, int i, double *out);
bool assay_arg_flag(const assay_op_args *args, int i, bool otherwise);
/* The n-th of a list "[True, False]". */
bool assay_arg_flag_of(const assay_op_args *args, int i, int n, bool otherwise);
/* Up to max numbers of a list "[1, 1]"; returns how many, 0 when it is none. */
size_t assay_arg_numbers(const assay_op_args *args, int i, int64_t *out, size_t max);

double assay_tensor_elements(const assay_tensor *t);
/* Bytes that reading all of it once touches: an expanded dimension (stride 0) counts once. */
double assay_tensor_bytes(const assay_tensor *t);

#endif

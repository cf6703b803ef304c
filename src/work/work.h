/* How much work a call of an operator is: operations and compulsory bytes, from its arguments. */
#ifndef ASSAY_WORK_WORK_H
#define ASSAY_WORK_WORK_H

#include "analyze/op_args.h"
#include "base/assert.h"

typedef struct assay_work {
	double flops;   /* a multiply-add is two */
	double bytes;   /* every operand once, as if caches were perfect */
	double written; /* of these, its result; 0 where no formula says */
	assay_math math;
	bool estimated; /* part of it is a guess: lengths of sequences that the trace does not say
			 */
} assay_work;

/* What the arguments do not say. */
typedef struct assay_work_hint {
	double list_bytes;            /* size of an element of tensor lists; 0: not known */
	double list_elements;         /* of one list at most, by the kernels' grids; 0: not known */
	double rows_taken;            /* by index, by the kernel's grid; 0: not known */
	double elements_taken;        /* the same, at most */
	bool serving;                 /* the sums below are known, from the engine's step mark */
	bool decode;                  /* it is a step that only generates */
	double queries_by_keys, keys; /* sum over requests of query x key length; of key lengths */
} assay_work_hint;

typedef struct assay_work_rule assay_work_rule;
/* false when the arguments do not fit. */
typedef bool assay_work_fn(const assay_work_rule *rule, const assay_op_args *args,
			   const assay_work_hint *hint, assay_work *out);

struct assay_work_rule {
	const char *name; /* of the operator; a star at the end stands for any rest */
	uint8_t class;    /* assay_work_class */
	assay_work_fn *formula;
	unsigned flags;
	uint8_t n;     /* of at */
	int8_t at[16]; /* where the formula's arguments are; -1: nowhere */
};

/* The rule for operators of that name; NULL when there is none: unknown or composite. */
const assay_work_rule *assay_work_rule_of(assay_str name);
bool assay_work_of(const assay_work_rule *rule, const assay_op_args *args,
		   const assay_work_hint *hint, assay_work *out);

/* Layouts and variants, the flags of rules. */
enum {
	WORK_B_IS_NK = 1,   /* the second matrix is [N, K] */
	WORK_SEQ_FIRST = 2, /* [B, S, H, D] instead of [B, H, S, D] */
	WORK_PACKED = 4,    /* [T, H, D], sequences one behind the other */
	WORK_BACKWARD = 8,
	WORK_BOTTOM_RIGHT = 16, /* causal masks end at the last key, not begin at the first */
	WORK_TRANSPOSED = 32,
	WORK_MAKES_BOOL = 64,
	WORK_KEEPS_STATS =
		128, /* also writes what the backward pass needs: statistics, a mask, indices */
	WORK_PAGED = 256, /* keys and values are a cache; its length is not theirs */
	WORK_MAKES_INDEX = 512,
	WORK_MAKES_REAL = 1024,    /* of integers, too */
	WORK_WIDENS = 2048,        /* makes 64-bit integers of integers */
	WORK_MAKES_INT32 = 4096,   /* of 8-bit integers */
	WORK_MASK_FIRST = 8192,    /* the first input's type does not count */
	WORK_COPIES = 16384,       /* what stays as it is is copied into the result */
	WORK_MAKES_HALF = 1 << 15, /* of narrower types */
	WORK_PACKS_2 = 1 << 16, /* an element of the weights holds two values, whatever its type */
	WORK_BOTH_PACK_2 = 1 << 17,  /* those of both matrices */
	WORK_A_IS_KM = 1 << 18,      /* the first matrix is [K, M] */
	WORK_COLUMN_MAJOR = 1 << 19, /* dims of a matrix are those of its transpose */
	WORK_OF_FORWARD = 1 << 20,   /* arguments are those of the forward operator */
	WORK_YIELDS = 1 << 21,       /* operators inside that have a rule are counted instead */
	WORK_MAY_DESCALE = 1 << 22,  /* three factors may stand behind the values */
	WORK_OF_DECODE = 1 << 23,    /* counted in steps that only generate */
	WORK_MAKES_PARTS = 1 << 24,  /* real numbers of complex ones */
	WORK_OF_GROUPS = 1 << 25,    /* weights of several groups stand one behind the other */
};

assay_work_fn assay_work_gemm, assay_work_flagged_gemm, assay_work_grouped, assay_work_packed4,
	assay_work_template, assay_work_linear, assay_work_convolution,
	assay_work_convolution_backward, assay_work_attention, assay_work_serving, assay_work_touch,
	assay_work_pointwise, assay_work_reduce, assay_work_softmax, assay_work_lists,
	assay_work_concat, assay_work_embedding, assay_work_gather, assay_work_resize,
	assay_work_sorted, assay_work_norm, assay_work_pool, assay_work_triton, assay_work_moe,
	assay_work_quantized, assay_work_mlp, assay_work_rnn, assay_work_put, assay_work_indexed,
	assay_work_latent, assay_work_bag, assay_work_bag_backward, assay_work_tables,
	assay_work_rowwise, assay_work_padded, assay_work_sampled, assay_work_halves,
	assay_work_fourier, assay_work_folded, assay_work_sized, assay_work_fp4;

/* Pairs of a query and a key that it sees, of one head; left: how many keys before its own a query
 * sees at most, below 0 all. */
double assay_causal_pairs(double queries, double keys, bool bottom_right, double left);

/* Index of the formula's i-th argument, -1 when the operator has none. */
static inline int assay_work_at(const assay_work_rule *rule, int i)
{
	ASSAY_ASSERT_CHECKED(i >= 0);
	return i < rule->n ? rule->at[i] : -1;
}

/* Bytes of an optional tensor; 0 when it is not there. */
static inline double assay_work_bytes(const assay_op_args *args, int i)
{
	const assay_tensor *t = assay_arg_tensor(args, i);
	return t ? assay_tensor_bytes(t) : 0;
}

#endif

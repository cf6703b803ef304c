/* Programs of XLA as profiles hold them (HloProto): their instructions, and how much work each is.
 * Field numbers: xla/service/hlo.proto, xla/xla_data.proto. */
#ifndef ASSAY_WORK_HLO_H
#define ASSAY_WORK_HLO_H

#include "base/jsonw.h"
#include "base/map.h"
#include "work/work.h"

typedef struct assay_hlo_instruction {
	assay_str name, opcode, metadata;
	assay_str shape;            /* of its first result */
	double bytes, room;         /* of all results; of these, room that it works in */
	assay_str target, config;   /* of custom calls */
	assay_str dot, convolution; /* numbers of dimensions */
	uint64_t id, called;        /* called: id of the computation of a fusion */
	uint32_t operand, operands; /* first in assay_hlo.operand, and how many */
	bool scheduled;             /* met in a schedule, where each stands once */
} assay_hlo_instruction;

typedef struct assay_hlo_computation {
	uint64_t id, root;
	uint32_t first, end; /* instructions */
	bool summed;
	assay_work inside; /* as the insides of a fusion */
	uint8_t class;
} assay_hlo_computation;

typedef struct assay_hlo {
	uint64_t id, entry;
	assay_vec(assay_hlo_instruction) instruction;
	assay_vec(assay_hlo_computation) computation;
	assay_vec(uint64_t) operand; /* ids of instructions */
	assay_map by_id, computation_by_id;
	assay_arena scratch;
	size_t described; /* operands that assay_hlo_write_args() may still describe */
} assay_hlo;

void assay_hlo_read(assay_hlo *h, assay_str module);
void assay_hlo_free(assay_hlo *h);

/* What the framework calls it: the operator it was made of, or its name. */
assay_str assay_hlo_op_name(const assay_hlo_instruction *i);
/* false: nothing is known of it, or it is no work of the device. class: assay_work_class. */
bool assay_hlo_work(assay_hlo *h, uint32_t instruction, assay_work *out, uint8_t *class);
/* Dims and types of its operands, as operators of other frameworks have them. */
void assay_hlo_write_args(assay_hlo *h, uint32_t instruction, assay_jsonw *w);

#endif

/* The instruction of a program whose work runs outside of graphs: XLA names both in the arguments
 * of the work. */
#include "work/op_instructions.h"

#include "base/json.h"

static uint64_t instruction_key(uint64_t module, assay_str name)
{
	return assay_hash(name.p, name.n, module);
}

void assay_instructions_index(assay_instructions *x, const assay_run *run)
{
	const assay_captured_table *c = &run->part.t.captured;
	*x = (assay_instructions){.run = run};
	for (uint32_t i = 0; i < c->n; i++)
		if (c->program[i])
			*assay_map_at(&x->by_name,
				      instruction_key(c->module[i],
						      assay_text(x->run, c->instruction[i]))) = i;
}

static uint32_t find(assay_instructions *x, assay_sid args)
{
	assay_str op = {0};
	int64_t program = -1;
	assay_arena_reset(&x->scratch);
	assay_json j = assay_json_members(&x->scratch, assay_text(x->run, args));
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);) {
		if (assay_str_is(key, "hlo_op") && value.n > 2)
			op = assay_json_unescape(&x->scratch,
						 (assay_str){value.p + 1, value.n - 2});
		else if (assay_str_is(key, "program_id"))
			assay_str_i64(value, &program);
	}
	return op.n && program >= 0
		       ? assay_map_get(&x->by_name, instruction_key((uint64_t)program, op))
		       : ASSAY_NO_ROW;
}

uint32_t assay_instruction_of(assay_instructions *x, uint32_t gpu)
{
	assay_sid args = x->run->part.t.gpu.args[gpu];
	if (!x->by_name.n || !args)
		return ASSAY_NO_ROW;
	uint32_t *known = assay_map_at(&x->of_args, args);
	if (*known == ASSAY_MAP_ABSENT)
		*known = 1 + find(x, args);
	return *known - 1;
}

void assay_instructions_free(assay_instructions *x)
{
	assay_map_free(&x->by_name);
	assay_map_free(&x->of_args);
	assay_arena_free(&x->scratch);
}

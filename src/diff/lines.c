/* A program's lines in two runs: the work they launch, and the time that the device waits while the
 * launching thread is at them. */
#include "diff/lines.h"

#include "base/test.h"
#include "model/by_hand.h"

/* Lines are counted from the first one of their function: what is edited above it moves nothing. */
static assay_name_sum *line_sum(assay_names *s, const assay_run *run, uint32_t stack,
				assay_arena *arena)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	uint64_t key = (uint64_t)code << 32 | (uint32_t)t->stack.line[stack];
	assay_name_sum *sum = assay_names_find(s, key);
	if (sum)
		return sum;
	assay_str file = assay_str_file(assay_text(run, t->code.file[code]));
	assay_str function = assay_text(run, t->code.function[code]);
	int32_t line = t->stack.line[stack], first = t->code.line[code];
	const char *same = assay_printf(arena, "%.*s %.*s %d", (int)file.n, file.p, (int)function.n,
					function.p, first > 0 ? line - first : line);
	const char *name = assay_printf(arena, "%.*s:%d %.*s", (int)file.n, file.p, line,
					(int)function.n, function.p);
	return assay_names_put(s, key, same, name);
}

void assay_diff_line(assay_names *s, const assay_run *run, uint32_t stack, uint32_t step,
		     int64_t ns, assay_arena *arena)
{
	uint32_t own = assay_own_call(&run->part.t, stack);
	if (own != ASSAY_NO_ROW)
		assay_name_sum_add(line_sum(s, run, own, arena), step, ns);
}

TEST(a_line_is_the_same_when_its_function_moves)
{
	assay_run *run[2];
	assay_names names[2] = {0};
	assay_arena arena = {0};
	assay_deltas out = {0};
	for (int i = 0; i < 2; i++) {
		run[i] = assay_run_new();
		assay_tables *t = &run[i]->part.t;
		uint32_t stack = assay_hand_stack(run[i], ASSAY_NO_ROW,
						  i ? "/b/train.py" : "/a/train.py", "step");
		t->code.line[t->stack.code[stack]] = 10 + 5 * i;
		t->stack.line[stack] = 12 + 5 * i;
		assay_diff_line(&names[i], run[i], stack, 0, 100 + i, &arena);
		assay_diff_line(&names[i], run[i], ASSAY_NO_ROW, 0, 7, &arena);
		assay_names_end(&names[i], 1);
	}
	assay_names_diff(&out, &names[0], &names[1], (const uint64_t[2]){1, 1});
	CHECK(out.n == 1 && out.p[0].a == 100 && out.p[0].b == 101);
	CHECK(!strcmp(out.p[0].name, "train.py:17 step"));
	for (int i = 0; i < 2; i++) {
		assay_names_free(&names[i]);
		assay_run_free(run[i]);
	}
	assay_vec_free(&out);
	assay_arena_free(&arena);
	return 0;
}

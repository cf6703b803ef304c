#include "render/place.h"

#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

static void put_members(assay_jsonw *w, const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	assay_jsonw_str(w, "file", assay_text(run, t->code.file[code]));
	assay_jsonw_i64_if(w, "line", t->stack.line[stack] > 0, t->stack.line[stack]);
	assay_jsonw_str(w, "function", assay_text(run, t->code.function[code]));
}

void assay_place_json(assay_jsonw *w, const char *key, const assay_run *run, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW) {
		assay_jsonw_null(w, key);
		return;
	}
	assay_jsonw_open_flat(w, key, '{');
	put_members(w, run, stack);
	assay_jsonw_close(w, '}');
}

void assay_stack_json(assay_jsonw *w, const char *key, const assay_run *run, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW) {
		assay_jsonw_null(w, key);
		return;
	}
	assay_jsonw_open_flat(w, key, '[');
	for (; stack != ASSAY_NO_ROW; stack = run->part.t.stack.caller[stack])
		assay_place_json(w, NULL, run, stack);
	assay_jsonw_close(w, ']');
}

const char *assay_place_text(assay_arena *a, const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	if (stack == ASSAY_NO_ROW)
		return "";
	uint32_t code = t->stack.code[stack];
	return assay_fmt_place(a, assay_str_file(assay_text(run, t->code.file[code])),
			       t->stack.line[stack], assay_text(run, t->code.function[code]));
}

TEST(a_place_is_shown_without_folders)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena a = {0};
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, "/home/me/train.py", "Net.forward");
	t->stack.line[stack] = 12;
	CHECK(!strcmp(assay_place_text(&a, run, stack), "train.py:12 Net.forward"));
	CHECK(!strcmp(assay_place_text(&a, run, ASSAY_NO_ROW), ""));
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

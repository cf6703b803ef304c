#include "model/scope_tree.h"

#include <string.h>

#include "base/test.h"

bool assay_scope_tree_add(assay_scope_tree *t, int64_t child, int64_t parent)
{
	uint32_t *slot = assay_map_at(&t->at, (uint64_t)child);
	if (*slot != ASSAY_MAP_ABSENT)
		return false;
	*slot = (uint32_t)t->child.n;
	*assay_push(&t->child) = child;
	*assay_push(&t->parent) = parent;
	return true;
}

void assay_scope_tree_free(assay_scope_tree *t)
{
	assay_vec_free(&t->child);
	assay_vec_free(&t->parent);
	assay_map_free(&t->at);
	*t = (assay_scope_tree){0};
}

/* Words before a number that counts invocations; other numbers tell things apart. */
static bool is_counted(assay_str name)
{
	static const char *const words[] = {"step", "iteration", "iter", "batch", "epoch"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++) {
		size_t n = strlen(words[i]);
		if (name.n < n)
			continue;
		assay_str last = {name.p + name.n - n, n};
		char before = name.n > n ? name.p[name.n - n - 1] : ' ';
		if (assay_str_same(last, assay_str_of(words[i])) && !assay_is_letter(before))
			return true;
	}
	return false;
}

/* PyTorch's emit_nvtx: "aten::mul, seq = 12, op_id = 34, sizes = [[2], []]". */
static size_t operator_name(assay_str name)
{
	static const char *const numbers[] = {", seq = ", ", op_id = "};
	const char *at = name.p, *end = name.p + name.n;
	for (; (at = memchr(at, ',', (size_t)(end - at))); at++)
		for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++)
			if (assay_str_starts((assay_str){at, (size_t)(end - at)}, numbers[i]))
				return (size_t)(at - name.p);
	return name.n;
}

size_t assay_scope_stem(assay_str name)
{
	if (!name.n)
		return 0;
	size_t of_operator = operator_name(name);
	if (of_operator && of_operator < name.n)
		return of_operator;
	size_t n = name.n - assay_digits_last(name);
	if (n == name.n || n < 2)
		return name.n;
	char c = name.p[n - 1];
	if (c == '#' || ((c == ' ' || c == '_') && is_counted((assay_str){name.p, n - 1})))
		return n - 1;
	return name.n;
}

TEST(the_first_parent_of_a_scope_stays)
{
	assay_scope_tree t = {0};
	CHECK(assay_scope_tree_add(&t, 3, 2) && assay_scope_tree_add(&t, -5, INT64_MIN));
	CHECK(!assay_scope_tree_add(&t, 3, 2) && !assay_scope_tree_add(&t, 3, 9));
	CHECK(t.child.n == 2 && t.parent.p[0] == 2 && t.parent.p[1] == INT64_MIN);
	assay_scope_tree_free(&t);
	CHECK(!t.child.n && assay_scope_tree_add(&t, 3, 9));
	assay_scope_tree_free(&t);
	return 0;
}

TEST(names_lose_the_number_of_an_instance)
{
	static const struct {
		const char *name, *stem;
	} cases[] = {{"ProfilerStep#7", "ProfilerStep"},
		     {"step 12", "step"},
		     {"Train_Step_3", "Train_Step"},
		     {"layer 3", "layer 3"},
		     {"footstep 3", "footstep 3"},
		     {"aten::mul, op_id = 322567", "aten::mul"},
		     {"MulBackward0, seq = 1, op_id = 2, sizes = [[2, 3]]", "MulBackward0"},
		     {"f(int, int)", "f(int, int)"},
		     {", seq = 1", ", seq = 1"},
		     {"#7", "#7"},
		     {"7", "7"},
		     {"", ""}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(assay_scope_stem(assay_str_of(cases[i].name)), strlen(cases[i].stem));
	return 0;
}

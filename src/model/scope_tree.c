/* See scope_tree.h. */
#include "model/scope_tree.h"

#include <string.h>

#include "base/test.h"

bool assay_scope_tree_add(assay_scope_tree *t, int64_t child, int64_t parent)
{
	uint32_t *slot = assay_map_at(&t->at, (uint64_t)child);
	if (*slot != ASSAY_MAP_ABSENT) {
		t->conflicts += t->parent.p[*slot] != parent;
		return false;
	}
	*slot = (uint32_t)t->child.n;
	*assay_push(&t->child) = child;
	*assay_push(&t->parent) = parent;
	return true;
}

void assay_scope_tree_add_path(assay_scope_tree *t, const int64_t *id, size_t n)
{
	while (n > 1 && assay_scope_tree_add(t, id[n - 1], id[n - 2]))
		n--;
}

int64_t assay_scope_tree_parent(const assay_scope_tree *t, int64_t id)
{
	uint32_t i = assay_map_get(&t->at, (uint64_t)id);
	return i == ASSAY_MAP_ABSENT ? 0 : t->parent.p[i];
}

assay_scope_tree assay_scope_tree_take(assay_scope_tree *t)
{
	assay_scope_tree taken = *t;
	*t = (assay_scope_tree){0};
	return taken;
}

void assay_scope_tree_merge(assay_scope_tree *into, const assay_scope_tree *from)
{
	for (size_t i = 0; i < from->child.n; i++)
		assay_scope_tree_add(into, from->child.p[i], from->parent.p[i]);
	into->conflicts += from->conflicts;
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
		if (assay_str_same(last, assay_str_of(words[i])) &&
		    !((before | 32) >= 'a' && (before | 32) <= 'z'))
			return true;
	}
	return false;
}

size_t assay_scope_stem(assay_str name)
{
	size_t n = name.n - assay_digits_last(name);
	if (n == name.n || n < 2)
		return name.n;
	char c = name.p[n - 1];
	if (c == '#' || ((c == ' ' || c == '_') && is_counted((assay_str){name.p, n - 1})))
		return n - 1;
	return name.n;
}

TEST(a_path_gives_every_adjacent_pair)
{
	assay_scope_tree t = {0};
	assay_scope_tree_add_path(&t, (int64_t[]){1, 2, 3}, 3);
	CHECK(t.child.n == 2);
	CHECK(assay_scope_tree_parent(&t, 3) == 2 && assay_scope_tree_parent(&t, 2) == 1);
	CHECK(assay_scope_tree_parent(&t, 1) == 0);
	assay_scope_tree_free(&t);
	return 0;
}

TEST(known_children_end_the_walk_and_conflicts_are_counted)
{
	assay_scope_tree t = {0};
	assay_scope_tree_add_path(&t, (int64_t[]){1, 2, 3}, 3);
	/* the walk stops at 3, so the wrong 9 in front of it is never looked at */
	assay_scope_tree_add_path(&t, (int64_t[]){9, 2, 3, 4}, 4);
	CHECK(assay_scope_tree_parent(&t, 2) == 1 && assay_scope_tree_parent(&t, 4) == 3);
	CHECK(t.conflicts == 0);
	assay_scope_tree_add_path(&t, (int64_t[]){1, 5, 3}, 3);
	CHECK(t.conflicts == 1 && assay_scope_tree_parent(&t, 3) == 2);
	assay_scope_tree_free(&t);
	return 0;
}

TEST(trees_take_every_kind_of_path)
{
	assay_scope_tree t = {0};
	assay_scope_tree_add_path(&t, NULL, 0);
	assay_scope_tree_add_path(&t, (int64_t[]){7}, 1);
	CHECK(t.child.n == 0); /* empty and single paths have no pair */
	assay_scope_tree_add_path(&t, (int64_t[]){1, 2, 3}, 3);
	assay_scope_tree_add_path(&t, (int64_t[]){1, 2, 4}, 3); /* shared prefix, sibling */
	assay_scope_tree_add_path(&t, (int64_t[]){1, 2, 4}, 3); /* repeated */
	CHECK(t.child.n == 3 && assay_scope_tree_parent(&t, 4) == 2);
	CHECK(assay_scope_tree_parent(&t, 99) == 0); /* lookup miss */
	assay_scope_tree_add_path(&t, (int64_t[]){INT64_MIN, -5}, 2);
	CHECK(assay_scope_tree_parent(&t, -5) == INT64_MIN); /* negative ids are ids */
	assay_scope_tree other = {0};
	assay_scope_tree_add_path(&other, (int64_t[]){1, 2, 8}, 3);
	assay_scope_tree_merge(&t, &other);
	CHECK(assay_scope_tree_parent(&t, 8) == 2 && t.child.n == 5 && t.conflicts == 0);
	assay_scope_tree_free(&other);
	assay_scope_tree_free(&t);
	CHECK(t.child.n == 0 && assay_scope_tree_parent(&t, 8) == 0);
	return 0;
}

TEST(taking_twice_gives_nothing_and_nothing_leaks)
{
	assay_scope_tree t = {0};
	assay_scope_tree_add(&t, 2, 1);
	assay_scope_tree first = assay_scope_tree_take(&t), second = assay_scope_tree_take(&t);
	CHECK(first.child.n == 1 && second.child.n == 0);
	assay_scope_tree_add(&t, 3, 1); /* the next session */
	CHECK(t.child.n == 1 && assay_scope_tree_parent(&t, 2) == 0);
	assay_scope_tree_free(&first);
	assay_scope_tree_free(&t);
	return 0;
}

TEST(deep_paths_and_shared_prefixes_cost_only_new_nodes)
{
	enum { DEPTH = 65, LAUNCHES = 1000000 };
	assay_scope_tree t = {0};
	int64_t path[DEPTH];
	for (int i = 0; i < DEPTH; i++)
		path[i] = i + 1;
	for (int i = 0; i < LAUNCHES; i++) {
		path[DEPTH - 1] = 1000 + i;
		assay_scope_tree_add_path(&t, path, DEPTH);
	}
	CHECK_EQ(t.child.n, DEPTH - 2 + LAUNCHES);
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
		     {"#7", "#7"},
		     {"7", "7"},
		     {"", ""}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK_EQ(assay_scope_stem(assay_str_of(cases[i].name)), strlen(cases[i].stem));
	return 0;
}

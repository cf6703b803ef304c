/* The child -> parent tree of scope ids, for every vendor and every format (R10).
 *
 * Not shared between threads: one owner fills it, take hands it over whole. */
#ifndef ASSAY_MODEL_SCOPE_TREE_H
#define ASSAY_MODEL_SCOPE_TREE_H

#include "base/arena.h"
#include "base/map.h"

typedef struct assay_scope_tree {
	assay_vec(int64_t) child; /* in order of insertion; roots are never children */
	assay_vec(int64_t) parent;
	assay_map at;       /* child -> index */
	uint64_t conflicts; /* children offered a second, different parent */
} assay_scope_tree;

/* The first parent stays. False when the child was there already. */
bool assay_scope_tree_add(assay_scope_tree *t, int64_t child, int64_t parent);
/* A complete path from the root to the leaf. Walks from the leaf and stops at the first child that
 * is known: paths are complete and a parent never changes, so all its ancestors are known too. The
 * cost is the number of new nodes, not the length of the path. */
void assay_scope_tree_add_path(assay_scope_tree *t, const int64_t *root_to_leaf, size_t n);
int64_t assay_scope_tree_parent(const assay_scope_tree *t, int64_t id); /* 0: root or unknown */
/* Everything in t, which is empty after it. */
assay_scope_tree assay_scope_tree_take(assay_scope_tree *t);
void assay_scope_tree_merge(assay_scope_tree *into, const assay_scope_tree *from);
void assay_scope_tree_free(assay_scope_tree *t); /* empty and usable again */

/* Length of a range's name without the number of one instance: "ProfilerStep#7", "step 7". */
size_t assay_scope_stem(assay_str name);

#endif

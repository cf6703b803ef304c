/* The child -> parent tree of scope ids, and the names of scopes. */
#ifndef ASSAY_MODEL_SCOPE_TREE_H
#define ASSAY_MODEL_SCOPE_TREE_H

#include "base/arena.h"
#include "base/map.h"

typedef struct assay_scope_tree {
	assay_vec(int64_t) child; /* in order of insertion; roots are never children */
	assay_vec(int64_t) parent;
	assay_map at; /* child -> index */
} assay_scope_tree;

/* The first parent stays. False when the child was there already: then its ancestors are known,
 * too, and a walk from a leaf to its root may stop. */
bool assay_scope_tree_add(assay_scope_tree *t, int64_t child, int64_t parent);
void assay_scope_tree_free(assay_scope_tree *t); /* empty and usable again */

/* Length of a range's name without the number of one instance: "ProfilerStep#7", "step 7",
 * "aten::mul, op_id = 7". */
size_t assay_scope_stem(assay_str name);

#endif

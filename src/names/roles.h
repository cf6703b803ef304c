/* What a kernel does to its data, by its name. */
#ifndef ASSAY_NAMES_ROLES_H
#define ASSAY_NAMES_ROLES_H

#include "base/str.h"

typedef enum assay_role {
	ASSAY_ROLE_NONE,         /* nothing that is judged by its name */
	ASSAY_ROLE_SOFTMAX,      /* over rows, forward or backward; none of a loss */
	ASSAY_ROLE_EXP,          /* a piece of one */
	ASSAY_ROLE_MASK,         /* makes or applies one */
	ASSAY_ROLE_TRUTH,        /* truth values, of others or of a comparison */
	ASSAY_ROLE_CAST,         /* a copy from one type to another */
	ASSAY_ROLE_LAYOUT,       /* a copy from one layout to another */
	ASSAY_ROLE_FUSED_UPDATE, /* an optimizer's whole step for a list of tensors */
	ASSAY_ROLE_LIST_UPDATE,  /* one operation for a list of tensors */
	ASSAY_ROLE_TABLE_SUMS,   /* gradients of rows, added up in one of the whole table */
	ASSAY_ROLE_LOOK_UP,      /* rows of a table */
	ASSAY_ROLE_ONES,         /* one value into places of a tensor, as one_hot does */
	ASSAY_ROLE_FILL,         /* one value into all of it */
	ASSAY_ROLE_JOIN,         /* several tensors into one, or one with an edge around it */
	ASSAY_ROLE_COPY,         /* as it is */
	ASSAY_ROLE_GATHER,       /* elements at indices */
} assay_role;

assay_role assay_role_of_kernel(assay_str name);

#endif

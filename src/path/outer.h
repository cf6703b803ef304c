/* What the host's threads do one by one: operators that are in no other, and calls outside of them,
 * with what each launches and waits for. Who looks for some that a program could do without marks
 * them; then the rest of the program is what changes. */
#ifndef ASSAY_PATH_OUTER_H
#define ASSAY_PATH_OUTER_H

#include "path/graph.h"

/* What a call launched, or all calls of an operator. */
typedef struct assay_launched {
	int64_t kernels, bytes;               /* ns; of copies */
	unsigned count, gone;                 /* gone: of them, what is not to be launched */
	bool product, reduces, sends, brings; /* brings: copies to the host */
} assay_launched;

/* An operator that is in no other; of recordings with stacks a call outside operators, with the way
 * to it from the last call of the same line; of others a call outside that waits. */
typedef struct assay_outer {
	uint32_t row, thread;
	int64_t from, to;
	int64_t before,
		after; /* of such a call: the end of the row before, the begin of the next */
	assay_launched what;
	uint64_t line;           /* of a call with a stack; 0: it is none */
	unsigned waits;          /* calls that block */
	unsigned behind;         /* kernels that are launched behind such a call */
	int64_t keeps;           /* ns of its end that stay when it goes */
	bool blocks, goes, bare; /* bare: outside of operators, and nothing says where */
} assay_outer;

typedef struct assay_outers {
	const assay_path_graph *g;
	assay_vec(assay_outer) op; /* thread by thread, in order */
	int64_t kernels;           /* ns of all kernels */
	int64_t way;               /* ns from one operator to the next, as most are */
	int64_t stays; /* what of a kernel is beyond this stays when it goes, ns; 0: nothing */
} assay_outers;

/* ns in which Python does nothing but call. */
enum { ASSAY_OUTER_APART = 100 * 1000 };

/* goes: by row of gpu; NULL: none is known to. */
void assay_outers_find(assay_outers *s, const assay_path_graph *g, const bool *goes);
void assay_outers_free(assay_outers *s);

/* ns that an operator with one kernel takes that waits for nothing; 0: there is none. */
int64_t assay_outers_usual(const assay_outers *s);

/* What changes without those that go. */
void assay_outers_drop(const assay_outers *s, assay_path_changes *out);

/* Marks rounds that would be one: the same little work again and again, with a value read back in
 * each, or only launched. The first one of each loop stays, and what the kernels of the others need
 * for their data. */
void assay_outers_mark_rounds(assay_outers *s, bool read);

#endif

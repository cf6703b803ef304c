/* Memory-bound work that follows each other on one stream: one kernel could do all of it. */
#ifndef ASSAY_WORK_FUSIBLE_H
#define ASSAY_WORK_FUSIBLE_H

#include "model/run.h"

/* What fusing does to a piece of work. */
typedef struct assay_fused {
	bool goes;         /* into the longest of its chain */
	float least, most; /* of what all that go take, the shares that are saved for sure and at
			      best */
	uint32_t piece;    /* 1 + the place of the piece before it of the same operation; 0: none */
} assay_fused;

/* Beside what it writes, by the layout of what it reads. */
typedef enum assay_reads {
	ASSAY_READS_AS_MUCH,
	ASSAY_READS_ANY,  /* is not told */
	ASSAY_READS_LESS, /* probably: operands by strides, or none */
} assay_reads;

typedef struct assay_link {
	assay_sid name;
	int64_t ns;
	bool reduces, casts;
	assay_reads reads;
} assay_link;

enum { ASSAY_CHAIN_MOST = 32 };

/* The chain that a stream is at. No two names in a row are in it twice: that is a loop over
 * tensors, each with a chain of its own. */
typedef struct assay_fusible {
	uint32_t at[ASSAY_CHAIN_MOST]; /* places */
	assay_link link[ASSAY_CHAIN_MOST];
	size_t n;
} assay_fusible;

/* A piece of work and its place, a number of the caller's; fused: by place. */
void assay_fusible_add(assay_fusible *c, assay_fused *fused, uint32_t place, assay_link link);
/* Something that cannot be fused came, or nothing more; taken: it may read any tensor of the chain.
 */
void assay_fusible_end(assay_fusible *c, assay_fused *fused, bool taken);

#endif

/* Read one large text with several threads, record by record, in order.
 *
 * The text is cut into windows at nominal offsets. Each worker guesses the first record of its
 * window (align), parses into memory of its own (parse), and hands over in file order (commit). A
 * window whose guess is not where the window before really ended is parsed again from the right
 * place, so a wrong guess costs time, never truth. With one thread nothing is guessed. */
#ifndef ASSAY_BASE_PUMP_H
#define ASSAY_BASE_PUMP_H

#include "base/input.h"
#include "base/turns.h"

/* Windows are this many times smaller in builds for fuzzing, whose inputs are. */
#ifndef ASSAY_PUMP_SHRINK
#define ASSAY_PUMP_SHRINK 1
#endif

typedef enum assay_pump_status {
	ASSAY_PUMP_LIMIT, /* the next record starts at or after the limit */
	ASSAY_PUMP_MORE,  /* the text ends inside a record */
	ASSAY_PUMP_END,   /* the list of records is over */
} assay_pump_status;

typedef struct assay_pump {
	assay_input *in;
	uint64_t start;   /* position of the first record */
	unsigned threads; /* 0 or 1: the calling thread alone */
	size_t window;    /* bytes; 0 = 1 MiB */
	void *ctx;
	/* Where the first record at or after text[0] seems to start; n when there is none. */
	size_t (*align)(void *ctx, const char *text, size_t n);
	/* Parse the records that start before limit; *used is where the next one starts (or the
	 * list ended). text is at pos in the input. Called again with more text after
	 * ASSAY_PUMP_MORE. */
	assay_pump_status (*parse)(void *ctx, unsigned worker, assay_view text, size_t limit,
				   uint64_t pos, size_t *used);
	void (*commit)(void *ctx, unsigned worker); /* in file order, one at a time */
	void (*fill)(void *ctx,
		     unsigned worker); /* after commit, at the same time as others; or NULL */
	void (*discard)(void *ctx, unsigned worker); /* forget what parse gathered since */
} assay_pump;

/* Returns the position after the last record: just past the list, or where the text ended. */
uint64_t assay_pump_run(const assay_pump *pump);

#endif

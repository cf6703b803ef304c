/* What the argument text of a call says: handles, values, a device, what it returned. */
#ifndef ASSAY_RESOLVE_WAITS_ARGS_H
#define ASSAY_RESOLVE_WAITS_ARGS_H

#include "model/run.h"

typedef struct waits_args {
	uint64_t stream, event, start_event; /* 0 when not given: see has */
	uint64_t value, flags;
	uint64_t masked; /* bits of a word that do not count */
	int64_t device;  /* -1 not given */
	int32_t status;  /* ASSAY_NO_STATUS not given */
	bool has_stream, has_event;
	/* what our writer knew of the wait, and with it the correlation id of the work */
	uint8_t said, doubt; /* assay_wait_class plus one, 0 not given; assay_wait_doubt */
	uint64_t awaited;    /* 0 none */
} waits_args;

/* Launches repeat their arguments word for word: what was read of some texts, by their id. */
typedef struct waits_known_args {
	struct waits_known {
		assay_sid text; /* 0: none yet */
		waits_args args;
	} * known;
	assay_arena arena, scratch;
} waits_known_args;

waits_args waits_args_of(waits_known_args *k, const assay_run *run, assay_sid text);
void waits_known_args_free(waits_known_args *k);

#endif

/* Waits as rows beside their streams, in the words of CUPTI: what recordings with sync rows have,
 * made for those that have only the calls. */
#ifndef ASSAY_WRITE_WAIT_ROWS_H
#define ASSAY_WRITE_WAIT_ROWS_H

#include "model/run.h"

typedef struct assay_wait_row {
	uint32_t wait;          /* row of wait */
	uint32_t track;         /* of that stream; ASSAY_NO_ROW none */
	int64_t device, stream; /* stream waited for or waiting; -1 none */
} assay_wait_row;
typedef assay_vec(assay_wait_row) assay_wait_rows;

/* CUPTI's word for a kind of wait; NULL when it has none. */
const char *assay_wait_row_name(uint8_t kind);
/* Number of a stream; -1 for no track and for tracks of no stream. */
int64_t assay_wait_stream(const assay_tables *t, uint32_t track);
/* Rows of wait by the source and correlation id of their call (assay_corr_key). */
void assay_waits_by_call(const assay_tables *t, assay_map *out);
/* The same for rows of event_call. */
void assay_event_calls_by_call(const assay_tables *t, assay_map *out);
/* What a call of event_call was given and its own arguments do not say: from it a reader resolves
 * waits again. Returns how many there are. */
typedef struct assay_call_arg {
	const char *key;
	uint64_t value;
	bool handle;
} assay_call_arg;
enum { ASSAY_CALL_ARGS = 5 };
size_t assay_call_args(const assay_run *run, uint32_t host, uint32_t event_call,
		       assay_call_arg out[ASSAY_CALL_ARGS]);
/* Waits that no sync row tells of, where more is known than that they were. */
void assay_wait_rows_find(const assay_run *run, assay_wait_rows *out);

#endif

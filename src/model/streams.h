/* Rows of stream as members of JSON objects, for formats that have no place of their own. */
#ifndef ASSAY_MODEL_STREAMS_H
#define ASSAY_MODEL_STREAMS_H

#include "base/json.h"
#include "base/jsonw.h"
#include "model/run.h"

/* Handle, flags and lifetime of a stream by the number that GPU rows use. Of its two times, 0 is
 * unknown; they are the caller's because its file may count from elsewhere. */
void assay_stream_put(assay_jsonw *w, const assay_run *run, uint32_t row, int64_t created,
		      int64_t destroyed);
/* The same into a new row, of the part's source: the members that j stands before. */
uint32_t assay_stream_take(assay_part *p, assay_json *j);

#endif

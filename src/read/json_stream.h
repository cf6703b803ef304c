/* A JSON document of any size as a stream of values: the cursor of base/json over a moving window.
 *
 * A value is tried in the text at hand; when the window ends inside it, the window grows and the
 * value is tried again. Text before the value is given back, so memory follows the largest single
 * value. */
#ifndef ASSAY_READ_JSON_STREAM_H
#define ASSAY_READ_JSON_STREAM_H

#include "base/input.h"
#include "base/json.h"
#include "model/run.h"

typedef struct assay_json_stream {
	assay_run *run; /* for progress */
	assay_input *in;
	assay_json j;
	uint64_t pos; /* of j.base in the input */
	size_t window;
	bool end; /* the text ends where the window ends */
} assay_json_stream;

void assay_json_stream_open(assay_json_stream *s, assay_run *run, assay_input *in);

static inline uint64_t assay_json_stream_pos(const assay_json_stream *s)
{
	return s->pos + (uint64_t)(s->j.p - s->j.base);
}

/* To a position at or behind the cursor, inside the same container. */
void assay_json_stream_go(assay_json_stream *s, uint64_t pos);

/* As their namesakes of base/json.h. Slices live until the next call. */
char assay_json_stream_peek(assay_json_stream *s);
bool assay_json_stream_enter(assay_json_stream *s, char bracket);
bool assay_json_stream_element(assay_json_stream *s);
bool assay_json_stream_member(assay_json_stream *s, assay_str *key);
/* Whether another object follows the one that was read, as in files that were joined. Other text
 * is counted and told of. */
bool assay_json_stream_again(assay_json_stream *s);
/* Step over a value without ever holding a large one. */
bool assay_json_stream_skip(assay_json_stream *s);

/* Read the next value with parse, which may run several times, so it must only fill ctx. False when
 * parse found the value unusable: it was stepped over, or the stream is over (assay_json_ok). */
bool assay_json_stream_take(assay_json_stream *s, bool (*parse)(assay_json *j, void *ctx),
			    void *ctx);

#endif

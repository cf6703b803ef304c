/* What is in an input, and the schema of the tables, for people and for programs. */
#ifndef ASSAY_RENDER_INFO_H
#define ASSAY_RENDER_INFO_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/run.h"

typedef struct assay_time_range {
	int64_t first, last;
} assay_time_range;

typedef struct assay_stream_use {
	uint32_t source;
	int64_t device, stream;
	uint64_t events;
	int64_t busy;
} assay_stream_use;

/* What is said about inputs, so that of many files one at a time need be held. */
typedef struct assay_contents {
	assay_run *run; /* sources, headers, devices and problems; of few files all rows */
	uint64_t rows[ASSAY_T_COUNT];
	assay_time_range work, counters; /* of telemetry, which may run on another clock, apart */
	assay_vec(assay_stream_use) stream;
	bool many; /* more files than were held at once */
} assay_contents;

void assay_contents_text(FILE *out, const assay_contents *c);
void assay_contents_json(assay_jsonw *w, const assay_contents *c);

void assay_schema_text(FILE *out);
void assay_schema_json(assay_jsonw *w);

#endif

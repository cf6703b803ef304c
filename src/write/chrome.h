/* Private to the Chrome/Kineto writer. */
#ifndef ASSAY_WRITE_CHROME_H
#define ASSAY_WRITE_CHROME_H

#include <stdatomic.h>

#include "base/jsonw.h"
#include "base/map.h"
#include "model/grid.h"
#include "write/lanes.h"
#include "write/sources.h"
#include "write/writer.h"

typedef struct chrome_out {
	const assay_run *run;
	const assay_tables *t;
	FILE *out; /* NULL: all stays in w */
	assay_jsonw w;
	assay_grids grids;
	assay_arena scratch;
	assay_vec(char) padded; /* arguments of one row with room behind them */
	_Atomic uint8_t *sound; /* by string: CHROME_SOUND and so on of those that are arguments */
	assay_source_places at; /* clock and process ids of each source */
	int64_t base;           /* ns since 1970 that times are counted from; 0 when unknown */
	assay_map wait_of_call; /* source and correlation id -> row of wait */
	assay_map event_calls;  /* the same -> row of event_call */
	assay_lanes lanes;      /* what threads were seen doing */
	int64_t *tid;           /* by track; Perfetto and HTA have 32 bits for it */
	uint8_t *lane;          /* by row of gpu: which row of its stream it is on */
	assay_map moved;        /* track and start of work that is not on the first */
} chrome_out;

/* Are arguments JSON that a strict reader takes? 0: nobody has looked yet. */
enum { CHROME_SOUND = 1, CHROME_UNSOUND };

enum {
	CHROME_SYNC_ROW = 1000000, /* row of a stream's waits, as Kineto has it */
};

/* chrome_overlaps.c: c->lane and c->moved; the row that work, or an arrow to it, is on; names. */
void chrome_find_overlaps(chrome_out *c, assay_arena *arena);
unsigned chrome_moved(const chrome_out *c, uint32_t track, int64_t ts);
int64_t chrome_stream_row(int64_t stream, unsigned lane);
void chrome_name_overlaps(chrome_out *c);

void chrome_put_header(chrome_out *c);
void chrome_put_metadata(chrome_out *c);
/* chrome_lanes.c: rows of what threads were seen doing, their names, and one of their spans. */
void chrome_name_lanes(chrome_out *c);
void chrome_put_lane_span(chrome_out *c, uint32_t i);
/* A look at a thread. */
void chrome_put_look(chrome_out *c, uint32_t sample);
/* "sf": the number that a row of stack has in stackFrames. */
void chrome_put_stack(chrome_out *c, uint32_t stack);
/* What "sf" leads to; behind the events, for readers that look at the head of a file. */
void chrome_put_stacks(chrome_out *c);
/* A row of flow; then arrows that no input had. */
void chrome_put_flow(chrome_out *c, uint32_t row);
void chrome_put_made_flows(chrome_out *c);
void chrome_put_syncs(chrome_out *c);
/* HIP fields of the ROCm design on the row of a call that records or waits. */
void chrome_put_hip_fields(chrome_out *c, uint32_t host);
void chrome_put_call_fields(chrome_out *c, uint32_t host);
void chrome_put_verdict(chrome_out *c, uint32_t host);

/* One event up to its args; close it with chrome_end(). dur < 0: none. */
void chrome_begin(chrome_out *c, char phase, assay_str cat, assay_str name);
/* Its process and thread, as far as it has them. */
void chrome_ids(chrome_out *c, uint32_t track);
void chrome_at(chrome_out *c, uint32_t track, int64_t ts);
void chrome_place(chrome_out *c, uint32_t source, int64_t pid, int64_t tid);
/* On the clock of the file. */
int64_t chrome_shifted(const chrome_out *c, uint32_t source, int64_t ts);
void chrome_time(chrome_out *c, const char *key, int64_t ns);
void chrome_end(chrome_out *c);
/* JSON members as read; made valid where they are not. */
void chrome_members(chrome_out *c, assay_sid args);
/* Ids above 2^53 as text: a reader that takes numbers as doubles would change them. */
void chrome_id(chrome_out *c, const char *key, uint64_t id);

/* Correlation ids of several inputs do not meet in the file; 0 stays none. */
uint64_t chrome_corr(const chrome_out *c, uint32_t source, uint64_t corr);

uint32_t chrome_wait_of(const chrome_out *c, uint32_t source, uint64_t corr);
uint32_t chrome_event_call_of(const chrome_out *c, uint32_t source, uint64_t corr);

#endif

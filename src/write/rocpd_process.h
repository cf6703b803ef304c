/* Private to the rocpd writer: one process being written. */
#ifndef ASSAY_WRITE_ROCPD_PROCESS_H
#define ASSAY_WRITE_ROCPD_PROCESS_H

#include "base/jsonw.h"
#include "base/map.h"
#include "model/grid.h"
#include "write/rocpd.h"
#include "write/sources.h"

/* Sets a column of the table that `put` is about to fill. */
#define SET(o, table, column, v)                                                                   \
	rocpd_set_i64(&(o)->db, ROCPD_T_##table, ROCPD_##table##_##column, v)
#define SET_TEXT(o, table, column, s)                                                              \
	rocpd_set_text(&(o)->db, ROCPD_T_##table, ROCPD_##table##_##column, s)

typedef struct rocpd {
	const assay_run *run;
	const assay_tables *t;
	const assay_source_places *at;
	const assay_grids *grids;
	rocpd_tables db;
	uint32_t group;
	bool first;            /* of the file: it has the rows that say no process */
	int64_t shift;         /* makes all times positive: AMD's tools take 0 for none */
	int64_t node, process; /* ids of the machine and of the process of device work */
	int64_t cpu;           /* id of the agent that is not a GPU */
	int64_t code;          /* id of the code object of all kernels */
	int64_t thread;        /* id of the first thread */
	assay_pool strings;    /* number + 1 is the id; "" is 1 */
	assay_map process_of;  /* number of a process -> its id */
	assay_map thread_of;   /* row of track -> id in threads */
	assay_map queue_of, stream_of, symbol_of, counter_of, track_of, agent_of;
	assay_map event_of_dispatch; /* correlation and dispatch -> event */
	assay_vec(int64_t) threads;
	assay_map used_threads;
	int64_t rows[ROCPD_TABLE_COUNT]; /* ids given out */
	assay_arena scratch;
	assay_jsonw json;
} rocpd;

/* The id of a new row. */
static inline int64_t rocpd_next(rocpd *o, rocpd_table table)
{
	return ++o->rows[table];
}

static inline bool rocpd_is_mine(const rocpd *o, uint32_t track)
{
	return track != ASSAY_NO_ROW && assay_track_group(o->t, track) == o->group;
}

static inline bool rocpd_is_my_alloc(const rocpd *o, uint32_t r)
{
	uint32_t track = o->t->alloc.track[r];
	return track == ASSAY_NO_ROW ? o->first : rocpd_is_mine(o, track);
}

/* rocpd_who.c: the machine, the process, its first thread and its devices; ids of what rows are of,
 * told when first asked for. */
void rocpd_put_who(rocpd *o);
int64_t rocpd_process_id(rocpd *o, int64_t pid);
int64_t rocpd_thread_id(rocpd *o, uint32_t track);
int64_t rocpd_device_of(const rocpd *o, uint32_t gpu);

#endif

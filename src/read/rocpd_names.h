/* One process of a rocpd database while it is read: what its ids mean. */
#ifndef ASSAY_READ_ROCPD_NAMES_H
#define ASSAY_READ_ROCPD_NAMES_H

#include "base/json.h"
#include "base/jsonw.h"
#include "read/db.h"

typedef struct assay_rocpd_event {
	uint64_t stack, external;
	assay_sid category, message;
	uint32_t host, gpu, sample; /* rows it belongs to, and a place in samples */
} assay_rocpd_event;

typedef struct assay_rocpd_agent {
	int64_t number;
	bool gpu;
	bool blocks; /* its maker's tools count grids in blocks */
} assay_rocpd_agent;

typedef struct assay_rocpd_symbol {
	assay_sid name;
	uint16_t regs, acc_regs, scalar_regs;
} assay_rocpd_symbol;

typedef struct assay_rocpd_thread_info {
	int64_t pid, tid;
	assay_sid name;
} assay_rocpd_thread_info;

/* Where rows are, which from schema 4 on only tracks say; before, tracks are those of samples. -1:
 * it does not say. */
typedef struct assay_rocpd_place {
	int64_t process, thread, agent, queue, stream;
	assay_sid name;
} assay_rocpd_place;

/* A hardware counter, or a value that is sampled. */
typedef struct assay_rocpd_pmc {
	assay_sid name;
	int64_t agent;
} assay_rocpd_pmc;

/* A moment in a track: an instant, or that of counter values. */
typedef struct assay_rocpd_sample {
	int64_t ts;
	assay_rocpd_place place;
	uint32_t event; /* in events; ASSAY_MAP_ABSENT */
	assay_sid name;
	bool counts; /* it has counter values */
} assay_rocpd_sample;

typedef struct assay_rocpd_instance {
	assay_db *db;
	assay_part *part;
	const char *suffix;
	/* Schema 4 keeps the text of categories in a table of its own, and some drafts of it
	 * times. */
	assay_db_ids string, category, process, thread, agent, symbol, stream, pmc, track, event,
		time, sample;
	bool own_categories, own_times;
	assay_vec(int64_t) pids, times;
	assay_vec(assay_rocpd_thread_info) threads;
	struct {
		int64_t process, id;
		uint32_t track;
		bool known;
	} last_thread; /* calls of a thread come in a row */
	assay_vec(assay_rocpd_place) tracks;
	assay_vec(assay_rocpd_pmc) pmcs;
	assay_vec(assay_rocpd_sample) samples;
	assay_vec(assay_rocpd_agent) agents;
	assay_vec(assay_rocpd_symbol) symbols;
	assay_vec(assay_rocpd_event) events;
	assay_vec(char) json; /* a cell with the padding that parsing needs */
	assay_jsonw args;
	assay_json_forms forms;
} assay_rocpd_instance;

/* Read the tables that explain ids; and give back what they took. */
void assay_rocpd_names_read(assay_rocpd_instance *x);
void assay_rocpd_names_free(assay_rocpd_instance *x);

/* Start on a table of this process, and step through its rows. */
bool assay_rocpd_start(assay_rocpd_instance *x, const char *base, const char *const columns[],
		       int n);
bool assay_rocpd_row(assay_rocpd_instance *x);

/* Values of the current row: a number (-1 when absent), text, and what an id in it stands for. */
int64_t assay_rocpd_num(assay_rocpd_instance *x, int column);
assay_sid assay_rocpd_intern(assay_rocpd_instance *x, int column);
assay_sid assay_rocpd_string(assay_rocpd_instance *x, int column);
/* The text of a cell as JSON, until the next one. */
assay_json assay_rocpd_json(assay_rocpd_instance *x, int column);
/* Never NULL: rows without an event share a spare one. Valid until the next call. */
assay_rocpd_event *assay_rocpd_event_at(assay_rocpd_instance *x, int column);

/* A moment: the cell, or what the id in it stands for. The columns are called so. */
int64_t assay_rocpd_time(assay_rocpd_instance *x, int column);
#define ASSAY_ROCPD_SPAN(x) (x)->own_times ? "start_id" : "start", (x)->own_times ? "end_id" : "end"

/* Where the row is, by the column with its track. */
assay_rocpd_place assay_rocpd_place_at(assay_rocpd_instance *x, int track);
assay_rocpd_agent assay_rocpd_agent_of(const assay_rocpd_instance *x, int64_t id);

uint32_t assay_rocpd_thread(assay_rocpd_instance *x, int64_t process, int64_t id); /* its track */

#endif

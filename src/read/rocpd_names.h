/* One process of a rocpd database while it is read: what its ids mean. */
#ifndef ASSAY_READ_ROCPD_NAMES_H
#define ASSAY_READ_ROCPD_NAMES_H

#include "base/json.h"
#include "base/jsonw.h"
#include "read/db.h"

typedef struct assay_rocpd_event {
	uint64_t stack, external;
	assay_sid category, message;
	uint32_t host, gpu; /* rows it belongs to */
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

typedef struct assay_rocpd_instance {
	assay_db *db;
	assay_part *part;
	const char *suffix;
	assay_db_ids string, process, thread, agent, symbol, stream, pmc, track, event;
	assay_vec(int64_t) pids;
	assay_vec(assay_rocpd_thread_info) threads, tracks;
	assay_vec(assay_rocpd_agent) agents;
	assay_vec(assay_rocpd_symbol) symbols;
	assay_vec(assay_rocpd_event) events;
	assay_vec(char) json; /* a cell with the padding that parsing needs */
	assay_jsonw args;
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

uint32_t assay_rocpd_thread(assay_rocpd_instance *x, int64_t process, int64_t id); /* its track */

#endif

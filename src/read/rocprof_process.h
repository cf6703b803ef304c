/* A process of results.json while it is read: rows already in the run's tables, and what is needed
 * to put names in place of the numbers they hold.
 *
 * Records name kernels, functions, agents and threads by number, and the tables that explain the
 * numbers may stand before or after the records. So a row first gets the index of a `pending` entry
 * in place of its name, track or device; every distinct entry is explained once, when the process
 * is over. Memory grows with the events kept, never with the text. */
#ifndef ASSAY_READ_ROCPROF_PROCESS_H
#define ASSAY_READ_ROCPROF_PROCESS_H

#include "base/jsonw.h"
#include "read/json_stream.h"
#include "read/rocprof.h"
#include "read/rocprof_record.h"

typedef enum assay_rocprof_pending_kind {
	ASSAY_PENDING_OP,      /* a: kind, b: operation -> name */
	ASSAY_PENDING_KERNEL,  /* a: kernel id -> name, symbol */
	ASSAY_PENDING_COUNTER, /* a: counter id -> name */
	ASSAY_PENDING_THREAD,  /* a: thread -> track */
	ASSAY_PENDING_STREAM,  /* a: agent, b: stream or queue -> track */
	ASSAY_PENDING_COPY,    /* a: agent copied to, b: stream, c: agent copied from -> track */
	ASSAY_PENDING_DEVICE,  /* a: agent -> device number */
} assay_rocprof_pending_kind;

typedef struct assay_rocprof_pending {
	uint64_t a, b, c;
	assay_rocprof_pending_kind kind;
	uint32_t value;  /* string, track or device, once explained */
	uint32_t symbol; /* of kernels */
} assay_rocprof_pending;

typedef struct assay_rocprof_agent {
	uint64_t handle, node, ordinal, type, units, warp, memory, banks;
	assay_str name, product;
} assay_rocprof_agent;

typedef struct assay_rocprof_symbol {
	assay_str name;
	uint16_t regs, acc_regs, scalar_regs;
} assay_rocprof_symbol;

typedef struct assay_rocprof_operations {
	assay_str kind;
	uint32_t first, n; /* in process.op_names */
} assay_rocprof_operations;

typedef struct assay_rocprof_process {
	assay_run *run;
	assay_part *part;
	assay_json_stream *s;
	assay_arena scratch;
	assay_jsonw args;
	uint64_t pid;
	bool has_pid;
	assay_vec(assay_rocprof_pending) pendings;
	assay_map pending_at;
	assay_vec(assay_rocprof_agent) agents;
	assay_map agent_at; /* handle -> agents */
	assay_vec(assay_rocprof_symbol) symbols;
	assay_map symbol_at; /* kernel id -> symbols */
	assay_vec(assay_rocprof_operations) kinds;
	assay_vec(assay_str) op_names;
	assay_map counter_names; /* counter id -> string */
	assay_map marker_texts;  /* correlation id -> string */
	assay_vec(assay_rocprof_barrier) barriers;
	size_t host, gpu, alloc, pmc; /* first rows of this process */
} assay_rocprof_process;

/* Text of a string, escapes resolved, kept until the process is over. */
assay_str assay_rocprof_text(assay_rocprof_process *p, assay_str raw);
uint32_t assay_rocprof_pend(assay_rocprof_process *p, assay_rocprof_pending_kind kind, uint64_t a,
			    uint64_t b, uint64_t c);
void assay_rocprof_meta_number(assay_rocprof_process *p, const char *key, uint64_t n);
/* Step over an array; how many elements it has. */
uint64_t assay_rocprof_skip_records(assay_rocprof_process *p);

/* The sections of a process; the cursor stands before the value of the right kind. */
void assay_rocprof_read_buffers(assay_rocprof_process *p);
void assay_rocprof_read_metadata(assay_rocprof_process *p);
void assay_rocprof_read_agents(assay_rocprof_process *p);
void assay_rocprof_read_counters(assay_rocprof_process *p);
void assay_rocprof_read_strings(assay_rocprof_process *p);
void assay_rocprof_read_code_objects(assay_rocprof_process *p);
void assay_rocprof_read_symbols(assay_rocprof_process *p);

/* What a buffer's records become. */
typedef void assay_rocprof_take(assay_rocprof_process *p, const assay_rocprof_record *r,
				assay_str buffer);
void assay_rocprof_add(assay_rocprof_process *p, assay_rocprof_take *take,
		       const assay_rocprof_record *r, assay_str buffer);
/* Behind a record: those that follow, as far as several threads can read them. */
void assay_rocprof_read_ahead(assay_rocprof_process *p, assay_rocprof_take *take, assay_str buffer);

/* Names, tracks and devices in place of pending entries, in every row of the process. */
void assay_rocprof_explain(assay_rocprof_process *p);

#endif

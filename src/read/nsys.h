/* Private to the reader of Nsight Systems' SQLite exports: one file, its processes and its
 * names. */
#ifndef ASSAY_READ_NSYS_H
#define ASSAY_READ_NSYS_H

#include "base/jsonw.h"
#include "model/stacks.h"
#include "read/db.h"

/* A field of a payload: NVTX_PAYLOAD_SCHEMA_ENTRIES. */
typedef struct nsys_entry {
	int64_t domain, schema, idx, flags, type, detail,
		offset; /* offset -1: behind the one before */
	assay_sid name;
	bool unsure; /* processes disagree, and rows do not say whose they are */
} nsys_entry;

/* A value of an enumeration: NVTX_PAYLOAD_ENUM_ENTRIES, and its size. */
typedef struct nsys_enum {
	int64_t domain, schema, value, size;
	assay_sid name;
} nsys_enum;

typedef struct nsys {
	assay_db *db;
	assay_part *part;
	uint32_t first;  /* row of source that the file is */
	bool used;       /* the first process has taken that row */
	bool any;        /* no process has GPU work, calls or ranges: all are taken */
	uint64_t passed; /* rows of processes that are not taken */
	uint64_t others; /* events of GENERIC_EVENTS that nobody reads */
	int64_t base;    /* nanoseconds since 1970 of time 0 */
	int64_t shift;   /* that the export added to all times */
	bool epoch;
	int64_t only;         /* globalTid of work that does not say whose it is; 0: none */
	assay_db_ids strings; /* StringIds: id -> string */
	assay_map source_of;  /* globalPid >> 24 -> row of source */
	assay_map call_of;    /* source and correlation id -> row of host */
	assay_map device_of;  /* source and context -> device */
	assay_map domain_of;  /* process, NVTX domain, category -> name */
	assay_stacks stacks;
	assay_jsonw args;              /* arguments in the making */
	assay_vec(nsys_entry) entries; /* of payloads' schemas, in order */
	assay_vec(nsys_enum) enums;    /* and of their enumerations */
} nsys;

/* Times of exports may be negative: "Profiling has started." is 0. */
bool nsys_span(nsys *n, int column, int64_t *ts, int64_t *dur);
/* The process of a globalPid or globalTid becomes the part's source. False: it has no GPU work and
 * none was asked to be made. */
bool nsys_process(nsys *n, int64_t global, bool make);
/* A globalPid of its parts. */
int64_t nsys_global_pid(nsys *n, int pid, int vm);
uint32_t nsys_thread(nsys *n, int64_t global_tid);
assay_sid nsys_string(nsys *n, int column); /* 0: StringIds has no such id, or is not there */
assay_sid nsys_name(nsys *n, int column);   /* then its number; 0: no id */
uint64_t nsys_corr_key(const nsys *n, uint64_t corr);
/* Numbers that mean "none" there: NULL and 2^32 - 1. */
int64_t nsys_number(nsys *n, int column, int64_t absent);

/* Arguments of a row: an object without its braces. */
assay_jsonw *nsys_args_begin(nsys *n);
assay_sid nsys_args_end(nsys *n);

/* nsys_payload.c: what structured payloads consist of; one of them, as a member. */
void nsys_read_schemas(nsys *n);
void nsys_put_payload(nsys *n, assay_jsonw *w, assay_str bytes);

/* nsys_work.c: kernels, copies, memsets, graphs, calls, waits, events. */
void nsys_read_work(nsys *n);
/* nsys_host.c: NVTX, names of threads, operating system calls, overhead, memory, samples. */
void nsys_read_host(nsys *n);
/* Of processes without GPU work nothing is read, unless there are no others. */
bool nsys_taken(nsys *n, int64_t global);
void nsys_read_sched(nsys *n);
void nsys_read_metrics(nsys *n);
/* Stacks of a table of call chains: chain id -> row of stack; those outside Python -> calls, unless
 * that is NULL. */
void nsys_read_chains(nsys *n, const char *table, assay_db_ids *chains, assay_db_ids *calls);

#endif

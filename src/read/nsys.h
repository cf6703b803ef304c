/* Private to the reader of Nsight Systems' SQLite exports: one file, its processes and its names.
 */
#ifndef ASSAY_READ_NSYS_H
#define ASSAY_READ_NSYS_H

#include "base/jsonw.h"
#include "model/stacks.h"
#include "read/db.h"

typedef struct nsys {
	assay_db *db;
	assay_part *part;
	uint32_t first; /* row of source that the file is */
	bool used;      /* the first process has taken that row */
	int64_t base;   /* nanoseconds since 1970 of time 0 */
	int64_t shift;  /* that the export added to all times */
	bool epoch;
	int64_t only;         /* globalTid of work that does not say whose it is; 0: none */
	assay_db_ids strings; /* StringIds: id -> string */
	assay_map source_of;  /* globalPid >> 24 -> row of source */
	assay_map call_of;    /* source and correlation id -> row of host */
	assay_map device_of;  /* source and context -> device, from kernels */
	assay_map domain_of;  /* process, NVTX domain, category -> name */
	assay_stacks stacks;
	assay_jsonw args; /* arguments in the making */
} nsys;

/* Times of exports may be negative: "Profiling has started." is 0. */
bool nsys_span(nsys *n, int column, int64_t *ts, int64_t *dur);
/* The process of a globalPid or globalTid becomes the part's source. False: it has no GPU work and
 * none was asked to be made. */
bool nsys_process(nsys *n, int64_t global, bool make);
uint32_t nsys_thread(nsys *n, int64_t global_tid);
assay_sid nsys_string(nsys *n, int column); /* 0: StringIds has no such id, or is not there */
assay_sid nsys_name(nsys *n, int column);   /* then its number; 0: no id */
uint64_t nsys_corr_key(const nsys *n, uint64_t corr);
/* Numbers that mean "none" there: NULL and 2^32 - 1. */
int64_t nsys_number(nsys *n, int column, int64_t absent);

/* nsys_work.c: kernels, copies, memsets, graphs, calls, waits, events. */
void nsys_read_work(nsys *n);
/* nsys_host.c: NVTX, names of threads, operating system calls, overhead, metrics, memory, samples.
 */
void nsys_read_host(nsys *n);
/* Stacks of a table of call chains: chain id -> row of stack. */
void nsys_read_chains(nsys *n, const char *table, assay_db_ids *chains);

#endif

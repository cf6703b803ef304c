/* Private to the reader of captures: its state, and what its files share. */
#ifndef ASSAY_READ_CAPTURE_H
#define ASSAY_READ_CAPTURE_H

#include "base/map.h"
#include "read/reader.h"
#include "wire/wire.h"

/* A range that is open: pushes of one thread and domain form a stack through `below`. */
typedef struct open_range {
	int64_t ts;
	assay_sid name, args;
	uint32_t track, below;
} open_range;

/* A call of event_call works on a stream whose device is known when all contexts are. */
typedef struct placed_call {
	uint32_t row, context, stream;
} placed_call;

typedef struct capture {
	assay_run *run;
	assay_part *part;
	assay_arena scratch;
	int64_t pid;
	bool ended, started;
	uint32_t tid; /* of the chunk being read */
	uint32_t next_seq;
	assay_map strings;     /* wire id -> sid */
	assay_map kernels;     /* wire id -> sid of the demangled name */
	assay_map functions;   /* domain << 32 | number -> sid */
	assay_map contexts;    /* context -> device */
	assay_map streams;     /* context, device and number -> row of stream */
	assay_map chunks;      /* ring and position of a chunk -> 1 */
	assay_map stacks;      /* thread and domain -> top of stack in open */
	assay_map spans;       /* range id -> row in open */
	assay_map domain_args; /* domain sid -> sid of its args */
	assay_map by_sync;     /* sync id -> row of event_record */
	assay_vec(open_range) open;
	assay_vec(placed_call) placed;
	uint32_t last_context; /* of GPU work */
	int64_t last_time;
	uint32_t first_sync, first_stream; /* rows of this capture start here */
} capture;

/* A zero-padded copy of a record. */
typedef union capture_record {
	assay_wire_rec rec;
	assay_wire_string string;
	assay_wire_process process;
	assay_wire_meta meta;
	assay_wire_device device;
	assay_wire_context context;
	assay_wire_stream stream;
	assay_wire_thread thread;
	assay_wire_api api;
	assay_wire_api_name api_name;
	assay_wire_work work;
	assay_wire_kernel kernel;
	assay_wire_copy copy;
	assay_wire_set set;
	assay_wire_sync sync;
	assay_wire_event event;
	assay_wire_memory memory;
	assay_wire_overhead overhead;
	assay_wire_range range;
	assay_wire_scratch scratch;
	assay_wire_barrier barrier;
	assay_wire_lost lost;
	assay_wire_end end;
} capture_record;

assay_sid assay_capture_text(const capture *c, uint32_t id);
uint32_t assay_capture_stream(capture *c, uint32_t device, uint32_t stream);
/* end - start; what cannot be is counted and 0. */
int64_t assay_capture_length(capture *c, int64_t start, int64_t end);
/* The recording reached that time. */
void assay_capture_seen(capture *c, int64_t time);

/* capture_gpu.c: whole is the record as it stands. */
typedef void capture_read_fn(capture *c, const capture_record *r, assay_str whole);
capture_read_fn assay_capture_kernel, assay_capture_copy, assay_capture_set, assay_capture_graph;

#endif

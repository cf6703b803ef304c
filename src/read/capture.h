/* What the parts of the capture reader share. */
#ifndef ASSAY_READ_CAPTURE_H
#define ASSAY_READ_CAPTURE_H

#include "model/run.h"
#include "model/stacks.h"
#include "wire/wire.h"

/* A range that is open: pushes of one thread and domain form a stack through `below`. */
typedef struct open_range {
	int64_t ts;
	assay_sid name, domain;
	uint32_t track, below;
	uint32_t ring;
	assay_host_kind kind;
} open_range;

/* A thread, as far as its ring tells: OS threads are numbered anew when one is gone. */
typedef struct ring_seen {
	uint32_t tid;
	int64_t last; /* time of its last record */
} ring_seen;

/* A call of event_call works on a stream whose device is known when all contexts are. */
typedef struct placed_call {
	uint32_t row, context, stream;
} placed_call;

/* A launch, as far as it is not known to have become work. */
typedef struct launched {
	uint64_t corr, stream, symbol;
	uint32_t host;
} launched;

typedef struct capture {
	assay_run *run;
	assay_part *part;
	assay_arena scratch;
	int64_t pid;
	bool ended, started;
	uint32_t tid, ring; /* of the chunk being read */
	uint32_t next_seq;
	assay_str record;    /* being read, as it stands in the file */
	assay_map strings;   /* wire id -> sid */
	assay_map kernels;   /* wire id -> sid of the demangled name */
	assay_map functions; /* domain << 32 | number -> sid */
	assay_map contexts;  /* context -> device */
	assay_map streams;   /* context, device and number -> row of stream */
	assay_map chunks;    /* ring and position of a chunk -> 1 */
	assay_map stacks;    /* thread and domain -> top of stack in open */
	assay_map spans;     /* range id -> row in open */
	assay_map rings;     /* ring -> row in ring */
	assay_map last_ring; /* OS thread -> its newest ring */
	assay_map by_sync;   /* sync id -> row of event_record */
	assay_map code_of;   /* ring << 32 | id -> row of code */
	assay_map stack_of;  /* ring << 32 | id -> row of stack */
	assay_map codes;     /* kind, texts and line -> row of code: rings share them */
	assay_map symbols;   /* number -> sid of the kernel's name */
	assay_stacks shared; /* rows of stack: rings share them */
	assay_vec(open_range) open;
	assay_vec(ring_seen) ring_of;
	assay_vec(placed_call) placed;
	assay_vec(launched) launched; /* kept when the run asks for open ends */
	uint32_t last_context;        /* of GPU work */
	int64_t last_time;
	uint32_t first_sync, first_stream, first_alloc; /* rows of this capture start here */
	uint32_t first_gpu, first_host, first_open_call;
	uint64_t counts[ASSAY_WIRE_TYPE_COUNT];                    /* records read */
	uint64_t tally[ASSAY_LOSS_MISSING][ASSAY_WIRE_TYPE_COUNT]; /* as its recorder tells */
	uint32_t left;                                             /* ASSAY_WIRE_LEFT_... */
	bool told, dead, whole, lost;
	bool went_on;      /* threads did when recording had ended */
	bool cut;          /* a stretch of it was not kept: ranges begin and end there unseen */
	int64_t kept_from; /* then: where the last such stretch ends */
	bool switched;     /* recording was off at some time, whatever ran then */
	int64_t clock_offset, clock_at; /* of the last CLOCK */
	uint32_t off;                   /* row of off that is open, ASSAY_NO_ROW: recording is on */
} capture;

typedef union any_record {
	assay_wire_rec rec;
	assay_wire_string string;
	assay_wire_tally tally;
	assay_wire_clock clock;
	assay_wire_death death;
	assay_wire_switch flip;
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
	assay_wire_code code;
	assay_wire_stack stack;
	assay_wire_sample sample;
	assay_wire_product product;
	assay_wire_open open;
	assay_wire_symbol symbol;
	assay_wire_function function;
	assay_wire_lost lost;
	assay_wire_end end;
} any_record;

/* A reader of records: takes a copy of the struct, zero where the record is shorter. */
typedef void assay_capture_reader(capture *c, const any_record *r);

/* capture_rows.c */
void assay_capture_records(capture *c, assay_str payload);
assay_sid assay_capture_text(const capture *c, uint32_t id);
assay_sid assay_capture_kernel_name(capture *c, uint32_t id); /* demangled */
uint32_t assay_capture_thread(capture *c, const assay_wire_rec *rec);
/* By the variables that the recorder kept. */
void assay_capture_seen(capture *c, int64_t time);
assay_sid assay_capture_function(capture *c, uint16_t domain, uint32_t function);
int64_t assay_capture_length(capture *c, int64_t start, int64_t end);
uint32_t assay_capture_host(capture *c, assay_host_kind kind, int64_t start, int64_t end,
			    assay_sid name, uint32_t track);

/* capture_work.c: GPU work; then what can be joined only when all is read. */
assay_capture_reader assay_capture_kernel, assay_capture_copy, assay_capture_set,
	assay_capture_graph, assay_capture_sync, assay_capture_event, assay_capture_barrier;
void assay_capture_join(capture *c);

/* capture_open.c: what had not ended. */
assay_capture_reader assay_capture_open, assay_capture_symbol, assay_capture_native_name;
void assay_capture_launch(capture *c, const assay_wire_api *a, uint32_t host);
void assay_capture_queue(capture *c);

/* capture_blas.c */
assay_capture_reader assay_capture_product;

/* capture_stacks.c; stack: row of the id in the ring being read. */
assay_capture_reader assay_capture_code, assay_capture_stack, assay_capture_sample;
uint32_t assay_capture_stack_row(const capture *c, uint32_t id);

/* capture_ledger.c: counts that a recorder tells, and at the end whether they agree. */
void assay_capture_tally(capture *c, const any_record *r);
void assay_capture_death(capture *c, const any_record *r);
void assay_capture_loss(capture *c, uint32_t why, uint64_t count, int64_t first);
void assay_capture_settle(capture *c);
/* Recording was switched; at the end it may still be off. */
assay_capture_reader assay_capture_switch;
void assay_capture_end_off(capture *c, int64_t time);

/* capture_ranges.c: a RANGE record; a chunk of a ring not met before; what is open at the end. */
assay_capture_reader assay_capture_range;
void assay_capture_ring(capture *c);
void assay_capture_end_ranges(capture *c);
/* What follows was not kept from this time on. */
void assay_capture_cut_ranges(capture *c, int64_t time);

#endif

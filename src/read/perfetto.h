/* Private to the Perfetto reader: what packets share, one event, tracks and clocks. */
#ifndef ASSAY_READ_PERFETTO_H
#define ASSAY_READ_PERFETTO_H

#include "base/assert.h"
#include "base/input.h"
#include "base/jsonw.h"
#include "base/pack.h"
#include "base/proto.h"
#include "model/perfetto.h"
#include "model/run.h"
#include "model/stacks.h"

/* A clock that counts from where a packet sequence last stood. */
typedef struct perfetto_counting {
	uint32_t id;
	bool incremental;
	uint64_t unit; /* nanoseconds */
	uint64_t last;
	uint32_t pair; /* 1 + that of it and the clock of rows; 0: not asked for yet, or none */
} perfetto_counting;

/* Kinds of interned values, and what the number in the map is. */
typedef enum perfetto_interned {
	PF_IS_CATEGORY, /* string */
	PF_IS_NAME,
	PF_IS_KEY,
	PF_IS_TEXT,
	PF_IS_STAGE,
	PF_IS_ARG_NAME,
	PF_IS_FUNCTION,
	PF_IS_PATH,
	PF_IS_SOURCE,
	PF_IS_CONTEXT, /* process */
	PF_IS_KERNEL,  /* index in perfetto.kernels */
	PF_IS_MAPPING, /* in mappings */
	PF_IS_FRAME,   /* in frames */
	PF_IS_STACK,   /* in known_stacks */
} perfetto_interned;

typedef assay_vec(uint64_t) perfetto_numbers;

/* What one writer of packets has said so far. */
typedef struct perfetto_sequence {
	assay_map interned; /* kind and iid -> number */
	assay_vec(perfetto_counting) clocks;
	size_t clock_asked;        /* which of them last */
	perfetto_numbers extra[2]; /* counter tracks whose values ride on events */
	uint64_t track;            /* of events that name none */
	bool has_track, begun;     /* begun: its state was cleared once */
	uint32_t clock;            /* of packets that name none; 0: the trace's */
	int64_t writer;            /* process it says it is written by; -1 */
	int64_t pid, tid;          /* process and thread it tells of; -1 */
	bool many;                 /* it tells of several processes */
	int64_t reference_us;      /* of times in microseconds, as old Chrome has them */
} perfetto_sequence;

/* Two clocks seen at the same moment, as often as they were. */
typedef struct perfetto_pair {
	uint64_t to;   /* key */
	uint32_t next; /* of the same first clock */
	assay_vec(uint64_t) at, is;
} perfetto_pair;

typedef struct perfetto_clocks {
	assay_vec(perfetto_pair) pairs;
	assay_map pair_of, first_of; /* from, to -> index; from -> index of its newest */
	uint32_t trace;              /* the clock of rows */
	bool chosen;                 /* a snapshot or an event has said which */
} perfetto_clocks;

typedef struct perfetto_track {
	uint64_t uuid, parent;
	uint32_t sequence;
	int64_t pid, tid; /* -1: not said */
	assay_sid name, process, thread;
	bool counter, incremental;
	double unit, sum;
	int64_t device, stream; /* by its names, or by who made it; -1 */
	uint32_t source;        /* when all packets are read: row of source */
	uint32_t ours;          /* and of track, ASSAY_NO_ROW until it is made */
	uint32_t open;          /* newest begin without an end, while they are paired */
	int64_t last;           /* of its begins and ends */
} perfetto_track;

/* Begins and ends wait for the last packet: those of a track may come out of order. Columns. */
typedef struct perfetto_ends {
	assay_vec(int64_t) ts;
	assay_vec(uint32_t) track, row, args;
	assay_vec(uint8_t) table; /* of the row that begins, or END_OF_SLICE */
	bool unordered;           /* those of some track do */
} perfetto_ends;
enum { PF_NO_TABLE = 254, PF_END_OF_SLICE = 255 };

/* Where device work belongs, until tracks are known: one for each row of gpu, sync and mark. */
typedef struct perfetto_place {
	uint32_t track;
	int64_t device, stream; /* -1: as the track says */
} perfetto_place;
typedef assay_vec(perfetto_place) perfetto_places;

/* Annotations with a column; the names they have are in perfetto_args.c. */
typedef enum perfetto_arg {
	PF_CORR,
	PF_EXTERNAL,
	PF_EV_IDX,
	PF_SEQ,
	PF_FWD_THREAD,
	PF_PY_ID,
	PF_PY_PARENT,
	PF_CBID,
	PF_STREAM,
	PF_DEVICE,
	PF_CONTEXT,
	PF_QUEUE,
	PF_DISPATCH,
	PF_GRID,       /* blocks */
	PF_GRID_ITEMS, /* work-items */
	PF_BLOCK,
	PF_REGS,
	PF_ACC_REGS,
	PF_SCALAR_REGS,
	PF_SHARED,
	PF_SCRATCH,
	PF_BYTES,
	PF_GRAPH,
	PF_GRAPH_NODE,
	PF_WAIT_STREAM,
	PF_RECORD_CORR,
	PF_EVENT,
	PF_SYNC_ID,
	PF_STATUS,
	PF_TIMES, /* says again when the slice is */
	PF_FOUND,
	PF_DERIVED, /* the row is our writer's, made of others */
	PF_ARG_COUNT
} perfetto_arg;

typedef struct perfetto_args {
	uint64_t has; /* bit per perfetto_arg */
	int64_t num[PF_ARG_COUNT];
	uint32_t grid[3], block[3];
	assay_sid rest; /* what has no column, as JSON members */
} perfetto_args;

typedef struct perfetto_kernel {
	assay_sid name, arch;
	assay_vec(char) args; /* its own, packed as PF_LAUNCH_ARGS fields */
} perfetto_kernel;

typedef struct perfetto_mapping {
	assay_sid path;
	uint64_t start; /* where in the file it begins; 0 unknown */
} perfetto_mapping;

typedef struct perfetto_frame {
	assay_code_kind kind;
	assay_sid file, function;
	int32_t line, first_line; /* -1 unknown */
	int64_t offset;           /* -1 unknown */
} perfetto_frame;

/* Rows of stack: Python's, and the libraries below its innermost function. */
typedef struct perfetto_stack {
	uint32_t python, calls;
} perfetto_stack;

/* A stack as it was told; its rows are made when something has it. */
typedef struct perfetto_known_stack {
	uint32_t first, n; /* in stack_frames, outermost first */
	bool split_made, whole_made;
	perfetto_stack split;
	uint32_t whole; /* row of stack */
} perfetto_known_stack;

typedef struct perfetto_sample {
	int64_t ts;
	uint32_t track;
	uint32_t stack; /* in known_stacks; ASSAY_NO_ROW */
	uint8_t state;
} perfetto_sample;

/* A slice of our writer's that is a row of sample. */
typedef struct perfetto_look {
	int64_t ts, dur;
	uint32_t track;
	assay_sid members;
	uint32_t stack; /* likewise */
} perfetto_look;

/* What a number stood for when it was last asked. */
typedef struct perfetto_asked {
	uint64_t iid, state; /* state: of named, and 1; 0: never asked */
	uint32_t sequence, value;
	perfetto_interned kind;
} perfetto_asked;
enum { PF_ASKED = 1024 };

/* Annotations without a column by their bytes, and the members they became: the same few come again
 * and again. */
typedef struct perfetto_members {
	uint64_t hash, state;
	uint32_t sequence;
	assay_sid args;
	uint64_t cost;       /* what perfetto_afford() was asked for */
	size_t count, first; /* how many there are, and bytes of the first: the same places */
	assay_vec(char) raw;
} perfetto_members;
enum { PF_MEMBERS = 1024 };

typedef struct perfetto {
	assay_run *run;
	assay_part *part;
	assay_input *in;
	assay_vec(perfetto_sequence) sequences;
	assay_map sequence_of;
	assay_vec(perfetto_track) tracks;
	assay_map track_of;
	uint32_t recent; /* the track that was asked for last */
	perfetto_clocks clocks;
	perfetto_ends ends;
	perfetto_places gpu, sync, mark;
	assay_vec(uint32_t) device_sequence; /* for each row of device, who told of it */
	assay_vec(uint32_t) stream_tracks;   /* for each row of stream, where it was told */
	assay_vec(perfetto_kernel) kernels;
	assay_stacks stacks;
	assay_vec(perfetto_mapping) mappings;
	assay_vec(perfetto_frame) frames;
	assay_vec(perfetto_known_stack) known_stacks;
	assay_vec(uint32_t) stack_frames; /* in frames */
	assay_vec(perfetto_sample) samples;
	assay_vec(perfetto_look) looks;
	assay_vec(assay_str) notes; /* annotations of the event being read */
	assay_vec(assay_str) shown; /* those of them that have no column */
	assay_vec(char) raw;        /* and their bytes, with lengths */
	perfetto_asked asked[PF_ASKED];
	perfetto_members members[PF_MEMBERS];
	uint64_t named, notes_named; /* how often a number got a meaning, and one of annotations */
	perfetto_numbers value[2], value_track[2]; /* its values that ride on it: integers, f64 */
	assay_vec(uint8_t) arg_of, category_of;    /* by string id: 1 + number, 0 not looked up */
	assay_map counter_name, named_process;     /* GPU and counter id; pid -> string */
	assay_map named_thread;                    /* pid and tid -> string */
	assay_jsonw json;
	assay_json_forms forms;
	assay_arena scratch;
	assay_vec(assay_field) fields; /* messages of the packet being read */
	assay_blob unpacked;
	uint64_t unpacked_bytes;
	bool inside; /* a packed packet */
	uint64_t
		args_left; /* bytes of JSON still allowed: interned text lets a file ask for much */
	size_t first[ASSAY_T_COUNT]; /* rows that were there before */
	uint64_t events;
	uint64_t other;              /* packets of other data sources */
	uint64_t ftrace;             /* of these, the kernel's own events */
	assay_jsonw chrome;          /* events of Chrome in packets, as JSON */
	assay_vec(char) chrome_text; /* the same that are JSON there */
	int64_t last;                /* end of the latest row */
	/* Of a reader ahead (perfetto_ahead.c), whose part has its own strings: texts of the run's,
	 * and whether it met what only the first reader can read. */
	const assay_str *texts;
	size_t texts_n;
	bool ahead, odd;
} perfetto;

/* The text of a string that a sequence has a number for. */
static inline assay_str perfetto_text(const perfetto *x, assay_sid sid)
{
	if (!x->ahead)
		return assay_pool_get(&x->part->strings, sid);
	return sid < x->texts_n ? x->texts[sid] : (assay_str){"", 0};
}

/* True for a reader ahead, which gives up the packet. */
static inline bool perfetto_is_beyond(perfetto *x)
{
	return x->odd |= x->ahead;
}

/* One packet's frame. */
typedef struct perfetto_packet {
	uint32_t sequence; /* index */
	int64_t ts;        /* on the clock of rows */
	bool has_ts;
} perfetto_packet;

/* Fields of a packet that are no messages. */
typedef struct perfetto_header {
	uint64_t sequence, time, flags;
	uint32_t clock;
	int64_t pid;
	bool has_time, cleared, dropped;
} perfetto_header;

/* One event. */
typedef struct perfetto_event {
	int64_t ts, dur; /* dur -1: its end is another event */
	unsigned type;
	uint32_t track;
	assay_sid name, cat;
	unsigned category; /* of perfetto_category_of() */
	bool has_track, has_value;
	bool timed;    /* by its packet or itself */
	bool own_name; /* not one that its sequence has a number for */
	uint64_t uuid, flow;
	double value;
	assay_str legacy;
	uint32_t stack; /* in known_stacks; ASSAY_NO_ROW */
} perfetto_event;

/* perfetto.c */
void perfetto_free(perfetto *x); /* but for its part */
void perfetto_tell_progress(const perfetto *x);
/* Its messages go to x->fields; false when it is none. */
bool perfetto_header_read(perfetto *x, assay_str message, perfetto_header *out);
void perfetto_packet_read(perfetto *x, assay_str message);
/* At most so many whole packets of the view, and what they take. False: what follows is no packet,
 * or is cut. */
bool perfetto_view_read(perfetto *x, assay_view v, size_t most, size_t *used);
/* What a sequence calls by this number from here on. */
void perfetto_set_interned(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid,
			   uint32_t value);

/* perfetto_clock.c */
void perfetto_snapshot(perfetto *x, uint32_t sequence, assay_str message);
/* A packet's time on the clock of rows; false when nothing leads there. */
bool perfetto_time(perfetto *x, uint32_t sequence, uint32_t clock, uint64_t value, int64_t *out);
/* Nanoseconds to add to times of rows for those since 1970; false when they are not known. */
bool perfetto_epoch(const perfetto *x, int64_t *base);
void perfetto_clocks_free(perfetto_clocks *c);

/* perfetto_track.c */
uint32_t perfetto_track_at(perfetto *x, uint64_t uuid, uint32_t sequence);
void perfetto_describe_track(perfetto *x, uint32_t sequence, assay_str message);
void perfetto_describe_tree(perfetto *x, assay_str message);
void perfetto_see_process(perfetto *x, uint32_t sequence, int64_t pid);
/* The row of track of the thread that a track is of, or stands below; sets the part's source. */
uint32_t perfetto_thread_of(perfetto *x, uint32_t track);
/* When every packet is read: slices get their ends, rows their tracks and sources. */
void perfetto_finish(perfetto *x);

/* perfetto_args.c */
uint32_t perfetto_interned_look(perfetto *x, perfetto_asked *a, uint32_t sequence,
				perfetto_interned kind, uint64_t iid);
/* The number that stands for iid in the sequence, ASSAY_MAP_ABSENT: none. */
static inline uint32_t perfetto_interned_get(perfetto *x, uint32_t sequence, perfetto_interned kind,
					     uint64_t iid)
{
	ASSAY_ASSERT_CHECKED(sequence < x->sequences.n);
	perfetto_asked *a = &x->asked[(iid + ((uint64_t)kind << 7) + sequence) % PF_ASKED];
	bool same = a->iid == iid && a->state == x->named + 1 && a->sequence == sequence &&
		    a->kind == kind;
	return same ? a->value : perfetto_interned_look(x, a, sequence, kind, iid);
}
/* Takes apart the annotations; those outside `places` (bits) stay text. */
void perfetto_args_read(perfetto *x, uint32_t sequence, uint64_t places, perfetto_args *out);
/* The same for the typed arguments of kernels and launches. */
void perfetto_launch_arg(perfetto *x, uint32_t sequence, assay_str message, perfetto_args *out);
void perfetto_args_begin(perfetto *x, perfetto_args *out);
void perfetto_args_end(perfetto *x, perfetto_args *out);
/* JSON members of two texts as one. */
assay_sid perfetto_join_args(perfetto *x, assay_sid a, assay_sid b);
bool perfetto_afford(perfetto *x, size_t n);

/* perfetto_chrome.c: a bundle of Chrome's events; the rows of all of them, after the last
 * packet. */
void perfetto_chrome_read(perfetto *x, assay_str bundle);
void perfetto_chrome_finish(perfetto *x);

/* perfetto_event.c */
/* Numbers of a repeated field, which is one field or many. */
void perfetto_numbers_add(perfetto_numbers *to, const assay_field *f, bool fixed);
void perfetto_event_read(perfetto *x, const perfetto_packet *p, assay_str message);
/* The same in two steps, for events of the usual form: by a reader ahead, false for others; and by
 * the first, when the time is known. */
bool perfetto_event_parse(perfetto *x, uint32_t sequence, assay_str message, perfetto_event *e,
			  perfetto_args *a);
void perfetto_event_place(perfetto *x, const perfetto_packet *p, perfetto_event *e,
			  const perfetto_args *a);
/* The thread, or with tid -1 the process, of what names no track. */
uint32_t perfetto_thread_track(perfetto *x, uint32_t sequence, int64_t pid, int64_t tid);
/* Microseconds since the sequence's last such time, as old Chrome has them; false: out of range. */
bool perfetto_old_time(perfetto *x, uint32_t sequence, int64_t delta_us, int64_t *ts);

/* perfetto_rows.c: what a category's slices become, by its name. */
enum { PF_UNKNOWN_CATEGORY = 255 };
unsigned perfetto_category_of(perfetto *x, assay_sid cat);
/* The annotations of what becomes a row, or ends one. */
void perfetto_event_args(perfetto *x, uint32_t sequence, const perfetto_event *e, perfetto_args *a);
void perfetto_add_event(perfetto *x, perfetto_event *e, const perfetto_args *a);
/* Values that ride on an event, one for each track that it or its sequence lists. */
void perfetto_add_values(perfetto *x, uint32_t sequence, const perfetto_event *e);
/* A row of gpu from its arguments; times and kind are the caller's. */
uint32_t perfetto_add_gpu(perfetto *x, uint32_t track, const perfetto_args *a);

/* perfetto_ahead.c: packets from pos on, by several threads, as long as they are events of the
 * usual form. Returns where the next one is. */
typedef struct perfetto_crew perfetto_crew;
perfetto_crew *perfetto_crew_new(perfetto *first, unsigned threads, assay_arena *a);
void perfetto_crew_free(perfetto_crew *c);
uint64_t perfetto_read_ahead(perfetto_crew *c, uint64_t pos);

/* perfetto_stacks.c */
void perfetto_stacks_interned(perfetto *x, uint32_t sequence, assay_str message);
/* Which of known_stacks a number is, or one that is written out; and their rows. */
uint32_t perfetto_stack_of(perfetto *x, uint32_t sequence, uint64_t iid);
uint32_t perfetto_stack_inline(perfetto *x, assay_str message);
uint32_t perfetto_stack_whole(perfetto *x, uint32_t stack);
void perfetto_sample_read(perfetto *x, const perfetto_packet *p, assay_str message);
void perfetto_streamed_read(perfetto *x, const perfetto_packet *p, assay_str message);
void perfetto_place_samples(perfetto *x);
void perfetto_stacks_free(perfetto *x);

/* perfetto_gpu.c: render stages, counters and facts of GPUs. */
void perfetto_stage_read(perfetto *x, const perfetto_packet *p, assay_str message);
void perfetto_counters_read(perfetto *x, const perfetto_packet *p, assay_str message);
void perfetto_counter_names(perfetto *x, int64_t gpu, assay_str descriptor);
void perfetto_info_read(perfetto *x, uint32_t sequence, assay_str message);

static inline bool perfetto_has(const perfetto_args *a, perfetto_arg i)
{
	return a->has >> i & 1;
}

static inline int64_t perfetto_arg_or(const perfetto_args *a, perfetto_arg i, int64_t absent)
{
	return perfetto_has(a, i) ? a->num[i] : absent;
}

#endif

/* What the parts of the XPlane reader share: one plane at a time, its metadata, one event. */
#ifndef ASSAY_READ_XPLANE_H
#define ASSAY_READ_XPLANE_H

#include "base/assert.h"
#include "base/jsonw.h"
#include "base/pump.h"
#include "base/proto.h"
#include "model/run.h"
#include "model/stacks.h"
#include "model/xplane.h"

/* Bytes of the file. */
typedef struct xplane_place {
	uint64_t at, n;
} xplane_place;

typedef struct xplane_value {
	uint32_t field; /* XSTAT_DOUBLE ... XSTAT_REF; 0: not there */
	uint32_t ref;   /* of REF: index of the text in the plane's stats; else ASSAY_NO_ROW */
	union {
		int64_t num; /* of INT64 and UINT64 */
		double real; /* of DOUBLE */
	};
	assay_str text; /* of STR, BYTES and REF */
} xplane_value;

/* One event with its stats taken apart. All zero before the first one is read into it. */
typedef struct xplane_event {
	assay_sid name;
	int64_t ts, dur; /* ns on the file's clock */
	uint64_t occurrences;
	bool aggregate; /* occurrences instead of a time */
	bool runtime;   /* see xplane_event_meta */
	uint64_t seen;  /* bits of the stats that are there */
	xplane_value stat[XPLANE_STAT_COUNT];
	const bool *column; /* by xplane_stat: has a column in what the event seems to be so far */
	assay_sid args;     /* stats without a column, as JSON members */
	assay_str rest; /* fields the format had not when this was written: see xplane.h of model */
} xplane_event;

static inline int64_t xplane_number(const xplane_event *ev, xplane_stat s, int64_t absent)
{
	ASSAY_ASSERT_CHECKED(s < XPLANE_STAT_COUNT);
	const xplane_value *v = &ev->stat[s];
	return v->field == XSTAT_INT64 || v->field == XSTAT_UINT64 ? v->num : absent;
}

/* What the name is, as the name of a stat and as the text that a REF refers to. */
typedef struct xplane_stat_meta {
	assay_str name;
	int8_t known;     /* xplane_stat, or -1 */
	int8_t host_kind; /* assay_host_kind, or -1 */
	bool label;       /* xplane_is_label() */
} xplane_stat_meta;

/* A stat in its message, with and without its tag and length. */
typedef struct xplane_stat_at {
	assay_str whole, bytes;
} xplane_stat_at;

typedef struct xplane_event_meta {
	assay_str name;
	uint32_t first, stats; /* in meta_stats of the plane */
	bool runtime;          /* on a host plane: the name is one that runtimes give their spans */
} xplane_event_meta;

typedef struct xplane_step {
	int64_t ts, dur, device;
	assay_sid name;
	uint32_t source;
} xplane_step;

/* Indices by id. Ids are small numbers in most files; a list serves those. */
typedef struct xplane_ids {
	assay_vec(uint32_t) low;
	assay_map high;
} xplane_ids;
enum { XPLANE_LOW_IDS = 1 << 16 };

static inline uint32_t xplane_index(const xplane_ids *ids, uint64_t id)
{
	if (id < XPLANE_LOW_IDS)
		return id < ids->low.n ? ids->low.p[id] : ASSAY_MAP_ABSENT;
	return assay_map_get(&ids->high, id);
}

/* One plane; slices point into the message. Threads that read its events share it. */
typedef struct xplane_plane {
	assay_vec(char) fields;        /* all but the lines */
	assay_vec(xplane_place) lines; /* messages; what is there of the last where the file ends */
	assay_str name, message;       /* message: the fields */
	assay_str place;               /* the name its writer gives the plane */
	int64_t id, pid;               /* pid: of the process the plane says it is from, or -1 */
	assay_vec(xplane_stat_meta) stats;
	xplane_ids stat_at; /* index in stats */
	assay_vec(xplane_event_meta) events;
	xplane_ids event_at;
	assay_vec(xplane_stat_at) meta_stats;
	uint32_t number;      /* in the file */
	int64_t major, minor; /* compute capability, -1 when not said */
	assay_sid product;
	bool amd, device, host, beside; /* beside: XPLANE_BESIDE */
	char renamed[64];               /* name, where the plane's input gave another */
} xplane_plane;

typedef struct xplane_line {
	int64_t id, ts;
	assay_str name, display;
	uint32_t track;
	bool band;      /* a line beside the thread's own */
	assay_str rest; /* fields beyond its events and what its track says */
} xplane_line;

/* Events of one line, whole, for one reader. */
typedef struct xplane_segment {
	xplane_line line;
	xplane_place events;
	bool last; /* of its line */
	bool bad;  /* the line goes on with what is no field, or what should stand in front */
} xplane_segment;

/* xplane_text.c: what a reader can see of the file; shared by its threads. */
typedef struct xplane_text {
	assay_input *in;
	const char *held; /* the text between from and end; NULL: it is fetched when asked for */
	uint64_t from, end;
} xplane_text;

/* What one thread has fetched of it. */
typedef struct xplane_window {
	uint64_t at;
	assay_vec(char) bytes;
	size_t ahead; /* fetched at a time */
} xplane_window;
/* Of threads that read events. Names and heads of lines stand between long stretches of others. */
enum {
	XPLANE_WINDOW = (256 << 10) / ASSAY_PUMP_SHRINK,
	XPLANE_PEEK = (16 << 10) / ASSAY_PUMP_SHRINK
};

typedef struct xplane_walk {
	const xplane_text *text;
	xplane_window *window;
	uint64_t at, end;
	bool bad, cut; /* as those of assay_proto */
} xplane_walk;

typedef struct xplane_field {
	assay_field f; /* bytes: what is in the window of them; value: how many there are */
	xplane_place whole, body;
} xplane_field;

/* The field at pos and all behind it, as far as that can be seen; false at the end of the file. */
bool xplane_text_from(xplane_text *t, assay_input *in, uint64_t pos);
/* At least so many bytes, fewer at the end, and ASSAY_PAD that may be loaded. Until the next call
 * with this window. */
assay_str xplane_bytes(const xplane_text *t, xplane_window *w, uint64_t pos, size_t want);
assay_str xplane_place_bytes(const xplane_text *t, xplane_window *w, xplane_place p);
/* Whether that would fetch nothing. */
bool xplane_is_fetched(const xplane_text *t, const xplane_window *w, xplane_place p);
/* Fields of a message, as assay_proto_next_padded() has them. */
xplane_walk xplane_walk_on(const xplane_text *t, xplane_window *w, xplane_place of);
bool xplane_walk_next(xplane_walk *k, xplane_field *f);

/* A value of JSON text, and behind it what was written for it. */
typedef struct xplane_seen {
	uint64_t hash;
	size_t raw;
	assay_vec(char) text;
} xplane_seen;
enum { XPLANE_SEEN = 512 };

/* A stat that becomes a JSON member of its event. */
typedef struct xplane_shown {
	const xplane_stat_meta *meta;
	xplane_value value;
} xplane_shown;

/* The members of an event by the bytes of their stats: the same few come again and again. */
typedef struct xplane_members {
	uint64_t hash;
	uint32_t plane; /* ids mean something in one plane only */
	assay_sid args;
	uint64_t cost; /* what xplane_afford() was asked for */
	assay_vec(char) raw;
} xplane_members;
enum { XPLANE_MEMBERS = 2048 };

/* What kernel_details says, by the index of its text; and the last arguments it was added to. */
typedef struct xplane_kernel {
	uint32_t plane, ref;
	uint32_t grid[3], shared, scratch, dynamic;
	uint16_t block[3], regs, acc_regs, scalar_regs;
	uint32_t wide;    /* values that fit no column */
	double occupancy; /* percent; 0: not said */
	assay_sid args, with_details;
} xplane_kernel;
enum { XPLANE_KERNELS = 512 };

/* What our writer says of the inputs of a file; threads share it. */
typedef struct xplane_thread {
	uint32_t source;
	int64_t pid, tid;
} xplane_thread;
typedef struct xplane_inputs {
	uint32_t first;              /* source */
	assay_vec(uint32_t) further; /* by input, from 1 on: its source */
	assay_vec(xplane_thread) threads;
	assay_map thread_at; /* number of a line -> index in threads */
	assay_arena arena;
} xplane_inputs;

/* What reads events. Each thread has one, with a part of its own; the first has the run's. */
typedef struct xplane {
	assay_part *part;
	xplane_plane *plane;
	const xplane_text *text;
	xplane_window window;
	assay_jsonw args;
	xplane_seen seen[XPLANE_SEEN];
	assay_arena scratch; /* for one value */
	assay_protow rest,
		stat_rest; /* of the event being read: of fields, and behind it of stats */
	assay_vec(xplane_shown) shown; /* members of the event being read */
	assay_vec(assay_str) runs;     /* their bytes in the file */
	assay_vec(assay_sid) names;    /* of the plane's events; 0: not asked for yet */
	xplane_members members[XPLANE_MEMBERS];
	xplane_kernel kernels[XPLANE_KERNELS];
	uint64_t args_left; /* bytes of JSON still allowed: refs let a small file ask for much */
	bool refused;       /* more were asked for */
	uint64_t events;
	assay_vec(xplane_segment) segments; /* of the task being read */
	uint64_t task_bytes;
	assay_vec(xplane_step) derived_steps; /* used when no host thread marked any */
	bool marked_steps;
	assay_file_stacks *stacks; /* of the first one only */
	xplane_inputs *inputs;
} xplane;

/* xplane_number() of a column of 32 bits: what does not fit is counted and absent. */
uint32_t xplane_u32(xplane *x, const xplane_event *ev, xplane_stat s, uint32_t absent);

/* xplane.c: a piece for the writer; row numbers what `of` says. */
void xplane_keep(xplane *x, assay_str place, assay_kept_of of, uint32_t row, assay_str bytes);

/* xplane_event.c */
/* more: the stat has fields that no row holds, see xplane_stat_rest(). */
bool xplane_value_read(const xplane_plane *p, assay_str stat, const xplane_stat_meta **meta,
		       xplane_value *out, bool *more);
/* A reader of events, all zero but for its part, gives its memory back. */
void xplane_free(xplane *x);
bool xplane_event_read(xplane *x, const xplane_line *line, assay_str message, xplane_event *ev);
/* What of a stat with more no row holds, for the writer; counted when it asks for too much. */
void xplane_stat_rest(xplane *x, assay_protow *to, uint32_t field, assay_str name, assay_str stat);
/* Takes n bytes off what the file may still ask for; counted when that is too much. */
bool xplane_afford(xplane *x, size_t n);
/* Empties scratch first. */
void xplane_value_json(assay_jsonw *w, const xplane_value *v, assay_arena *scratch);

/* xplane_lines.c: the lines of the plane, by so many threads of which x is one. */
typedef struct xplane_crew xplane_crew;
xplane_crew *xplane_crew_new(xplane *first, unsigned threads, assay_arena *a);
void xplane_crew_free(xplane_crew *c);
void xplane_lines_read(xplane_crew *c);

/* xplane_rows.c */
bool xplane_name_is_runtime(assay_str name);
int8_t xplane_host_kind(assay_str name);         /* -1: none */
uint32_t xplane_context(const xplane_event *ev); /* UINT32_MAX: none */
typedef void xplane_sink(xplane *x, const xplane_line *line, const xplane_event *ev);
void xplane_on_counters(xplane *x, const xplane_line *line, const xplane_event *ev);
xplane_sink *xplane_line_begin(xplane *x, xplane_line *line);
void xplane_device_end(xplane *x, size_t first_gpu_row);
void xplane_steps_end(xplane *x);

/* xplane_inputs.c. A stat of a plane: whose it is, and its device's number there. */
void xplane_input_stat(xplane *x, assay_str stat);
/* Lists: threads that are not what their line says, devices and streams of an input. */
void xplane_threads_stat(xplane *x, assay_str list);
void xplane_devices_stat(xplane *x, assay_str list);
void xplane_streams_stat(xplane *x, assay_str list);
/* Whose line or event of this number it is; pid: what the plane says. */
xplane_thread xplane_thread_of(const xplane *x, int64_t pid, int64_t number);
void xplane_inputs_end(assay_run *run, xplane_inputs *in);

/* xplane_beside.c: what our writer put beside the devices, and memory that it put on threads. */
void xplane_add_memory(xplane *x, const xplane_event *ev);
xplane_sink *xplane_beside_begin(xplane *x, xplane_line *line);

#endif

/* What the parts of the XPlane writer share: a plane being built, and the run's clock. */
#ifndef ASSAY_WRITE_XPLANE_H
#define ASSAY_WRITE_XPLANE_H

#include "base/jsonw.h"
#include "base/proto.h"
#include "model/run.h"
#include "model/scope_tree.h"
#include "model/xplane.h"
#include "model/grid.h"
#include "write/sources.h"
#include "write/writer.h"

/* The id of a text that many events name, by where the text lies. */
typedef struct xplane_named {
	const char *p;
	size_t n;
	assay_sid id;
} xplane_named;
enum { XPLANE_NAMED = 512 };

/* Arguments that many events have, as stats of this plane. */
typedef struct xplane_made_args {
	assay_sid args;
	assay_vec(char) bytes;
	assay_vec(uint32_t) ids, ends; /* of each stat; where its bytes end */
} xplane_made_args;
enum { XPLANE_MADE_ARGS = 1024 };

/* A line of a plane: what stands in front of its events, them, and what stands behind. */
typedef struct xplane_line_piece {
	size_t front, back; /* bytes in heads, one after the other */
	size_t events;      /* bytes behind those of the line before */
} xplane_line_piece;

/* A plane in pieces, in the order the file has them. Metadata ids are the names' ids in the pools:
 * they start at 1 and every name has one. */
typedef struct xplane_out {
	const struct xplane_writer *w; /* with place: metadata an input had there; NULL: none */
	assay_sid place;
	assay_str event_rest, line_rest; /* fields to write back with the next one */
	char *events;                    /* of all lines */
	size_t events_n, events_room, line_from;
	assay_vec(xplane_line_piece) lines;
	assay_protow heads;
	assay_protow event_meta, stat_meta, stats;
	assay_protow event, stat, meta, entry; /* being built */
	assay_pool event_names, stat_names;
	assay_arena scratch;       /* for the arguments of one row */
	assay_jsonw text;          /* of one list */
	assay_vec(uint32_t) stamp; /* by stat id: last event that had it */
	xplane_named event_named[XPLANE_NAMED], stat_named[XPLANE_NAMED];
	xplane_named constant[XPLANE_NAMED]; /* names of stats that stand in the program */
	xplane_made_args *made;              /* XPLANE_MADE_ARGS of them, from the first on */
	assay_arena made_arena;
	uint32_t event_count;
	bool making;  /* stats of the event from here on are made here, and the next says so */
	int64_t base; /* the least that lines so far count from */
} xplane_out;

/* So many events are to come: room for them costs nothing before it is used. */
void xplane_expect(xplane_out *p, size_t events);
uint64_t xplane_stat_id(xplane_out *p, assay_str name);
uint64_t xplane_event_id(xplane_out *p, assay_str name);
/* xprof makes these anew unless every plane has them; some and not others would be neither of the
 * two modes it knows. The rest is in kernel_details. */
bool xplane_left_out(assay_str stat);
/* Stats of the event being built; a second one of the same name is dropped. Names are constants,
 * but for those of put_f64. */
void xplane_put_u64(xplane_out *p, const char *name, uint64_t v);
void xplane_put_i64(xplane_out *p, const char *name, int64_t v);
void xplane_put_f64(xplane_out *p, const char *name, double v);
void xplane_put_ref(xplane_out *p, const char *name, assay_str text);
void xplane_put_word(xplane_out *p, const char *name, const char *word); /* a constant, too */
void xplane_put_str(xplane_out *p, const char *name, assay_str text);
/* Members of a JSON object (args of a row), each as a stat. Stats that read back as such members
 * and are made here stand behind them, so that they keep their place when written again. */
void xplane_put_args(xplane_out *p, const assay_run *run, assay_sid args);
/* Stats behind this are no arguments when the event is read, but made again when it is written. */
void xplane_make_stats(xplane_out *p);
/* The event's name and time, behind its stats; at is from the line's start. */
void xplane_end_event(xplane_out *p, assay_str name, int64_t at_ns, int64_t dur_ns);
/* The same by the number that xplane_event_id() gave the name. */
void xplane_end_event_as(xplane_out *p, uint64_t name, int64_t at_ns, int64_t dur_ns);
void xplane_end_line(xplane_out *p, int64_t id, int64_t ts_ns, assay_str name);
/* The same with a place among the viewer's rows. */
void xplane_end_line_at(xplane_out *p, int64_t id, int64_t display, int64_t ts_ns, assay_str name);
/* A stat of the plane itself, from JSON text. */
void xplane_plane_stat(xplane_out *p, assay_str name, assay_str json);
/* The same of any text, as text. */
void xplane_plane_text(xplane_out *p, assay_str name, assay_str text);
void xplane_end_plane(xplane_out *p, FILE *out, int64_t id, assay_str name, assay_str more);

typedef struct xplane_device {
	uint32_t source;
	int64_t id, number; /* as the input calls it; of its plane */
} xplane_device;

/* A path of scopes, as an instruction of a program: xplane_hlo.c. */
typedef struct xplane_op {
	uint32_t up; /* index in ops, ASSAY_NO_ROW for the program's first */
	uint32_t program, depth;
	uint32_t scope; /* one that has the path */
	assay_str name; /* unique in the program */
	assay_str path; /* names from the first on; empty: not asked for yet */
} xplane_op;

/* What arguments say of a kernel; many have the same. */
typedef struct xplane_kernel_args {
	assay_sid args;
	bool known, labelled;
	char occupancy[32]; /* percent; empty: not said */
	double dynamic;
} xplane_kernel_args;
enum { XPLANE_KERNEL_ARGS = 256 };

/* What all work of a path of scopes does, as far as it is known. */
typedef struct xplane_cost {
	double flops, bytes;
	uint64_t events;
} xplane_cost;

typedef struct xplane_told_thread {
	int64_t line;
	uint32_t input;
	int64_t pid, tid;
} xplane_told_thread;
enum { XPLANE_NO_THREAD = -1 };

typedef struct xplane_writer {
	const assay_run *run, *job; /* job: the run that this one is a part of, or itself */
	const assay_tables *t;
	FILE *out;
	assay_grids grids;
	xplane_kernel_args kernel_args[XPLANE_KERNEL_ARGS]; /* by id of the arguments */
	assay_arena scratch;
	assay_vec(int64_t) shift; /* by source: added to a time gives ns since the session began */
	assay_vec(bool)
		given; /* by source: it has scope ids of its own, and only those are written */
	assay_vec(bool) is_xplane;
	assay_vec(bool) xla; /* by source: operators of XLA's own */
	bool has_hlo;        /* an input has HLO modules, and ours would not be found beside them */
	assay_vec(xplane_op) ops;
	assay_vec(uint32_t) op_of; /* by scope: index in ops */
	assay_map op_at;           /* hash of up and stem -> index in ops */
	assay_map op_names;        /* hash of program and name -> next number for it */
	uint32_t programs;
	assay_vec(xplane_cost) costs;
	assay_vec(uint32_t) cost_of; /* by scope: index in costs */
	assay_map cost_at;           /* path of scopes -> index in costs */
	assay_source_places at;      /* one clock, and correlation ids that do not meet */
	int64_t start, stop;         /* ns since 1970, 0 when unknown */
	int64_t near_from,
		near_to;       /* times of telemetry that is written, on the clock of at.first */
	bool moved;            /* times are not as the input had them */
	bool grouped;          /* group ids, flows and derived lines are ours */
	uint32_t *derived;     /* rows of derived by track, made when first needed */
	size_t *derived_first; /* by track, and one behind the last: where its rows begin */
	assay_vec(uint32_t) counted; /* by track of counters: index of the device they are of */
	uint64_t samples;            /* of counters, written or no numbers */
	size_t bare_streams;         /* that lack derived rows, for want of line ids */
	assay_map kept[ASSAY_KEPT_OF_COUNT]; /* row, or xplane_kept_key, -> row of kept */
	assay_map kept_at;                   /* kind and place -> first row of kept */
	assay_vec(uint32_t) kept_next;       /* by row of kept: the next of its kind and place */
	assay_scope_tree tree;
	assay_vec(uint32_t) device_of; /* by row of host: number of the plane its work is on */
	assay_map wait_at;             /* source and correlation id -> row of wait */
	assay_map event_calls;         /* the same -> row of event_call */
	assay_map steps;               /* source, time and name of a step -> row */
	uint64_t step_names;           /* a bit for each name one has, by its id */
	assay_vec(bool) in_tree;       /* by scope: its path is noted */
	assay_vec(bool) step_done;
	assay_vec(xplane_device) devices;
	assay_map device_at; /* source and device -> index in devices */
	assay_map stream_at; /* source, device and stream -> row of track */
	assay_vec(int64_t)
		line_of; /* by track, once devices are written: number of a stream's line */
	assay_vec(uint32_t) input; /* by source: number among the inputs, 0 the first */
	uint32_t inputs;           /* beside the first */
	int64_t process;           /* that the host's plane names, or -1 */
	assay_vec(int64_t) thread; /* by track: number of a thread's line, or XPLANE_NO_THREAD */
	assay_vec(xplane_told_thread) told; /* threads that are not what their line says */
} xplane_writer;

uint32_t xplane_source(const xplane_writer *w, uint32_t track);
int64_t xplane_time(const xplane_writer *w, uint32_t track, int64_t ts);
/* What times of a line count from: what it was in the input (rest: xplane_rest), else the session's
 * start. xprof compares times of a device's lines without looking at what they count from. */
int64_t xplane_line_base(const xplane_writer *w, uint32_t track, assay_str rest);
uint64_t xplane_corr(const xplane_writer *w, uint32_t track, uint64_t corr);
/* Do the arguments of a row have a member of that name. */
bool xplane_has_arg(const xplane_writer *w, assay_sid args, const char *key);
/* The text of a member among the arguments of a row; empty when it is not there. */
assay_str xplane_arg_text(xplane_writer *w, assay_sid args, const char *key);
/* The number it is; false when it is not there. */
bool xplane_arg_number(const xplane_writer *w, assay_sid args, const char *key, double *out);
/* The id to write for a scope, its path noted for the tree; 0 when none. */
int64_t xplane_scope(xplane_writer *w, uint32_t scope);
/* The same, written to an event, with how it got it (assay_scope_how). */
int64_t xplane_put_scope(xplane_writer *w, xplane_out *p, uint32_t scope, uint8_t how);
/* Place in devices of one that a source numbers so, and of a track; ASSAY_MAP_ABSENT: it has
 * none. */
uint32_t xplane_device_at(const xplane_writer *w, uint32_t source, int64_t id);
uint32_t xplane_device_of(const xplane_writer *w, uint32_t track);
/* Number of the line that a stream has; the stream's own when it has none. */
int64_t xplane_line_of(const xplane_writer *w, uint32_t source, int64_t device, int64_t stream);
uint64_t xplane_step_key(uint32_t source, int64_t ts, assay_sid name);
static inline uint64_t xplane_step_bit(assay_sid name)
{
	return (uint64_t)1 << name % 64;
}
/* The step that stands in w->steps for those of this one's name and start. */
uint32_t xplane_step_named(const xplane_writer *w, uint32_t step);

/* What an input had in a plane of this name, for xplane_end_plane. */
assay_str xplane_kept(xplane_writer *w, uint32_t source, const char *place);
/* First of the kept rows of a place, in order; the next is in kept_next. ASSAY_NO_ROW at the
 * end. */
uint32_t xplane_kept_first(const xplane_writer *w, assay_kept_of of, assay_sid place);

/* Fields an input had in a row, or in the metadata of a name or the line of a thread; empty when
 * none. */
assay_str xplane_rest(const xplane_writer *w, assay_kept_of of, uint64_t key);
/* The key of names (row is the name's id) and of a thread's further lines (row is the track). */
uint64_t xplane_kept_key(assay_sid place, uint32_t row);
/* Did the input have the mark on a plane beside the device's? */
bool xplane_is_beside(const xplane_writer *w, uint32_t mark);

/* xplane_rest.c: kept bytes behind what `to` holds; stats are fields of that number, and join those
 * that are there. */
void xplane_put_rest(xplane_out *p, assay_protow *to, uint32_t stats, assay_str rest);
/* Metadata of everything that has an id, and of what an input had more to say about. */
void xplane_put_metas(xplane_out *p);

/* job: what run is a part of; session: when the file's time begins, ns since 1970, 0 for its first
 * event. */
bool xplane_write_file(const assay_run *run, const assay_run *job, FILE *out, bool grouped,
		       int64_t session, assay_left_out *left, assay_err *err);
/* xplane_tree.c: one file for each process, and where it stands. */
const char *xplane_place(const assay_run *run, assay_arena *arena);
bool xplane_write_tree(const assay_run *run, const char *folder, bool grouped, assay_left_out *left,
		       assay_err *err);

/* xplane_counters.c. Index of the device that a track of telemetry is of, or ASSAY_NO_ROW. */
uint32_t xplane_counted_device(const xplane_writer *w, uint32_t track);
/* Is the sample a number of a device of the trace, and near its events? */
bool xplane_is_written(const xplane_writer *w, uint32_t counter);
/* The line on the device's own plane that an XPlane file had. */
void xplane_put_counters(xplane_writer *w, xplane_out *p, uint32_t device);
/* Does the sample stand there? Else it is beside, for xprof counts samples as events of the device,
 * and stretches steps and idle time by them. */
bool xplane_is_on_device(const xplane_writer *w, uint32_t counter);
/* The value as a stat of the event being built, and what both are called. */
void xplane_put_sample(xplane_writer *w, xplane_out *p, uint32_t counter);
const char *xplane_sample_name(const xplane_writer *w, uint32_t counter);

void xplane_write_devices(xplane_writer *w);
/* All of the host's plane but its end. Of w, it changes what xplane_write_file() gives it for its
 * own, and step_done. */
void xplane_make_host(xplane_writer *w, xplane_out *out);
/* xplane_inputs.c. Numbers of inputs and threads, once devices have theirs. */
void xplane_set_inputs(xplane_writer *w);
uint32_t xplane_input_of(const xplane_writer *w, uint32_t source);
/* The thread of the event being built, as its line would say it. */
void xplane_put_thread(const xplane_writer *w, xplane_out *p, uint32_t track);
/* As stats of a plane: threads that are not what their line says; the plane's input, and the number
 * it gives the device. */
void xplane_put_threads(xplane_writer *w, xplane_out *p);
void xplane_put_input(xplane_writer *w, xplane_out *p, uint32_t input, int64_t id, int64_t number);
/* What each input says of itself. */
void xplane_write_facts(xplane_writer *w, assay_left_out *left);

/* xplane_memory.c: lines of the host's plane. next: a free number for a line. */
typedef int64_t xplane_next_line(void *ctx);
void xplane_put_memory(xplane_writer *w, xplane_out *p, xplane_next_line *next, void *ctx);

/* xplane_beside.c: what is no work, on planes that no viewer counts as work. */
void xplane_write_beside(xplane_writer *w);

/* xplane_looks.c: looks at threads and all stacks, on such a plane too; and, on the host's plane,
 * lines of what threads were seen doing. */
void xplane_write_looks(xplane_writer *w);
void xplane_put_lanes(xplane_writer *w, xplane_out *p, xplane_next_line *next, void *ctx);

/* xplane_hlo.c: scopes as operators. */
uint32_t xplane_op_of(xplane_writer *w, uint32_t scope);
assay_str xplane_module_name(xplane_writer *w, uint32_t op);
/* What operators do, by path of scopes. Before the first label. */
void xplane_sum_costs(xplane_writer *w);
/* Which operator work is of that has no such stats: that of its scope. */
void xplane_put_labels(xplane_writer *w, xplane_out *p, uint32_t source, uint32_t scope);
/* The modules of all operators used. */
void xplane_write_hlo(xplane_writer *w);

/* xplane_group.c: what xprof would add to a file that is not grouped. */
typedef struct xplane_stream {
	uint32_t track;
	int64_t line;
	bool compute, marks;
	size_t events;
} xplane_stream;
enum { XPLANE_FLOW_IN = 1, XPLANE_FLOW_OUT = 2, XPLANE_ROWS_A_STREAM = 7 };
/* Group id and flow of the event being built. */
void xplane_put_group(const xplane_writer *w, xplane_out *p, uint32_t step);
void xplane_put_flow(const xplane_writer *w, xplane_out *p, uint64_t corr, int direction);
/* Every plane of a grouped file names the stat, whether or not an event has it. */
void xplane_name_group(const xplane_writer *w, xplane_out *p);
void xplane_write_derived(xplane_writer *w, xplane_out *p, const xplane_stream *stream, size_t n,
			  uint32_t device);
/* A plane as an input had it, with the group's name in its metadata. */
void xplane_write_named(const xplane_writer *w, assay_str plane);
/* Row of step of a row of host or gpu, or ASSAY_NO_ROW. */
uint32_t xplane_host_step(const xplane_writer *w, uint32_t host);

#endif

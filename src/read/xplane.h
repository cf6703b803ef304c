/* What the parts of the XPlane reader share: one plane at a time, its metadata, one event. */
#ifndef ASSAY_READ_XPLANE_H
#define ASSAY_READ_XPLANE_H

#include "base/jsonw.h"
#include "base/proto.h"
#include "model/run.h"
#include "model/xplane.h"

typedef struct xplane_value {
	uint32_t field; /* XSTAT_DOUBLE ... XSTAT_REF; 0: not there */
	bool more;      /* the stat has fields that no row holds: see xplane_stat_rest */
	int64_t num;    /* of INT64 and UINT64 */
	double real;
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
	assay_sid args; /* stats without a column, as JSON members */
	assay_str rest; /* fields the format had not when this was written: see xplane.h of model */
} xplane_event;

typedef struct xplane_stat_meta {
	assay_str name;
	int known; /* xplane_stat, or -1 */
} xplane_stat_meta;

typedef struct xplane_event_meta {
	assay_sid name;
	assay_str message; /* when it has stats of its own; else empty */
	bool runtime;      /* on a host plane: the name is one that runtimes give their spans */
} xplane_event_meta;

typedef struct xplane_step {
	int64_t ts, dur, device;
	assay_sid name;
} xplane_step;

/* One plane; slices point into the input. */
typedef struct xplane_plane {
	assay_str name, message;
	assay_sid place; /* the name its writer gives the plane */
	int64_t id, pid; /* pid: of the process the plane says it is from, or -1 */
	assay_vec(xplane_stat_meta) stats;
	assay_map stat_at; /* id -> index in stats */
	assay_vec(xplane_event_meta) events;
	assay_map event_at;
	int64_t major, minor;           /* compute capability, -1 when not said */
	bool amd, device, host, beside; /* beside: XPLANE_BESIDE */
	bool cut;                       /* the file ends inside the plane */
} xplane_plane;

typedef struct xplane_line {
	int64_t id, ts;
	assay_str name, display;
	uint32_t track;
	bool band; /* a line beside the thread's own */
} xplane_line;

/* A value of JSON text, and behind it what was written for it. */
typedef struct xplane_seen {
	uint64_t hash;
	size_t raw;
	assay_vec(char) text;
} xplane_seen;
enum { XPLANE_SEEN = 512 };

typedef struct xplane {
	assay_run *run;
	assay_part *part;
	xplane_plane plane;
	assay_jsonw args;
	xplane_seen seen[XPLANE_SEEN];
	assay_arena scratch; /* for one value */
	assay_protow rest;   /* of the event being read */
	uint64_t args_left;  /* bytes of JSON still allowed: refs let a small file ask for much */
	uint64_t events;
	assay_vec(xplane_step) derived_steps; /* used when no host thread marked any */
	bool marked_steps;
} xplane;

/* xplane.c: a piece for the writer; row numbers what `of` says. */
void xplane_keep(xplane *x, assay_sid place, assay_kept_of of, uint32_t row, assay_str bytes);

/* xplane_event.c */
bool xplane_value_read(const xplane_plane *p, assay_str stat, const xplane_stat_meta **meta,
		       xplane_value *out);
bool xplane_event_read(xplane *x, const xplane_line *line, assay_str message, xplane_event *ev);
/* What of a stat with `more` no row holds, for the writer; counted when it asks for too much. */
void xplane_stat_rest(xplane *x, assay_protow *to, uint32_t field, assay_str name, assay_str stat);
/* Takes n bytes off what the file may still ask for; counted when that is too much. */
bool xplane_afford(xplane *x, size_t n);
/* Empties scratch first. */
void xplane_value_json(assay_jsonw *w, const xplane_value *v, assay_arena *scratch);

/* xplane_rows.c */
bool xplane_name_is_runtime(assay_str name);
typedef void xplane_sink(xplane *x, const xplane_line *line, const xplane_event *ev);
void xplane_on_counters(xplane *x, const xplane_line *line, const xplane_event *ev);
xplane_sink *xplane_line_begin(xplane *x, xplane_line *line);
void xplane_device_end(xplane *x, size_t first_gpu_row);
void xplane_steps_end(xplane *x);

/* xplane_beside.c: what our writer put beside the devices, and memory that it put on threads. */
void xplane_add_memory(xplane *x, const xplane_event *ev);
xplane_sink *xplane_beside_begin(xplane *x, xplane_line *line);

#endif

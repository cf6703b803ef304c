/* What the parts of the XPlane writer share: a plane being built, and the run's clock. */
#ifndef ASSAY_WRITE_XPLANE_H
#define ASSAY_WRITE_XPLANE_H

#include "base/proto.h"
#include "model/run.h"
#include "model/scope_tree.h"
#include "model/xplane.h"
#include "write/writer.h"

/* A plane in pieces, in the order the file has them. Metadata ids are the names' ids in the pools:
 * they start at 1 and every name has one. */
typedef struct xplane_out {
	assay_protow lines, event_meta, stat_meta, stats;
	assay_protow line, event, stat, meta, entry; /* being built */
	assay_pool event_names, stat_names;
	uint32_t event_metas, stat_metas; /* written so far */
	assay_vec(uint32_t) stamp;        /* by stat id: last event that had it */
	uint32_t events;
} xplane_out;

uint64_t xplane_stat_id(xplane_out *p, assay_str name);
/* Stats of the event being built; a second one of the same name is dropped. */
void xplane_put_u64(xplane_out *p, const char *name, uint64_t v);
void xplane_put_i64(xplane_out *p, const char *name, int64_t v);
void xplane_put_f64(xplane_out *p, const char *name, double v);
void xplane_put_ref(xplane_out *p, const char *name, assay_str text);
void xplane_put_str(xplane_out *p, const char *name, assay_str text);
/* Members of a JSON object (args of a row), each as a stat. */
void xplane_put_args(xplane_out *p, assay_str args);
/* The event's name and time, behind its stats; at is from the line's start. */
void xplane_end_event(xplane_out *p, assay_str name, int64_t at_ns, int64_t dur_ns);
void xplane_end_line(xplane_out *p, int64_t id, int64_t ts_ns, assay_str name);
/* A stat of the plane itself, from JSON text. */
void xplane_plane_stat(xplane_out *p, assay_str name, assay_str json);
void xplane_end_plane(xplane_out *p, FILE *out, int64_t id, assay_str name, assay_str more);
void xplane_out_free(xplane_out *p);

typedef struct xplane_writer {
	const assay_run *run;
	const assay_tables *t;
	FILE *out;
	assay_arena scratch;
	assay_vec(int64_t) shift; /* by source: added to a time gives ns since the session began */
	assay_vec(bool)
		given; /* by source: it has scope ids of its own, and only those are written */
	assay_vec(bool) is_xplane;
	assay_vec(uint64_t) corr_add; /* by source: makes correlation ids unique in the file */
	int64_t start, stop;          /* ns since 1970, 0 when unknown */
	bool moved;                   /* times are not as the input had them */
	assay_scope_tree tree;
	assay_vec(uint32_t) device_of; /* by row of host: number of the plane its work is on */
	assay_map steps;               /* source, time and name of a step -> row */
	assay_vec(bool) step_done;
	assay_vec(int64_t) device_number; /* by device: of its plane */
	assay_map device_at;              /* source and device -> index in device_number */
} xplane_writer;

uint32_t xplane_source(const xplane_writer *w, uint32_t track);
int64_t xplane_time(const xplane_writer *w, uint32_t track, int64_t ts);
uint64_t xplane_corr(const xplane_writer *w, uint32_t track, uint64_t corr);
/* Do the arguments of a row have a member of that name. */
bool xplane_has_arg(const xplane_writer *w, assay_sid args, const char *key);
/* The id to write for a scope, its path noted for the tree; 0 when none. */
int64_t xplane_scope(xplane_writer *w, uint32_t scope);
uint64_t xplane_device_key(const xplane_writer *w, uint32_t track);
uint64_t xplane_step_key(uint32_t source, int64_t ts, assay_sid name);

/* Raw fields an input had in a plane of this name. */
assay_str xplane_kept(xplane_writer *w, uint32_t source, const char *place);

void xplane_write_devices(xplane_writer *w);
void xplane_write_host(xplane_writer *w);

#endif

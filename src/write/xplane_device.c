/* Planes of GPUs: streams, counters, properties. */
#include "base/compare.h"
#include "write/xplane.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/json.h"
#include "base/group.h"
#include "base/sort.h"
#include "model/machine.h"
#include "names/copies.h"

enum { TYPE_KINDS = 8 };

static const struct {
	const char *type, *from, *to;
} copies[ASSAY_COPY_WAYS] = {
	[ASSAY_COPY_TO_DEVICE] = {"MemcpyH2D", "host", "device"},
	[ASSAY_COPY_TO_HOST] = {"MemcpyD2H", "device", "host"},
	[ASSAY_COPY_ON_DEVICE] = {"MemcpyD2D", "device", "device"},
	[ASSAY_COPY_ON_HOST] = {"MemcpyH2H", "host", "host"},
	[ASSAY_COPY_BETWEEN] = {"MemcpyP2P", "device", "device"},
	[ASSAY_COPY_ELSEWHERE] = {"MemcpyOther", "unknown", "unknown"},
};

static const char *type_of(const xplane_writer *w, uint32_t g)
{
	const assay_gpu_table *t = &w->t->gpu;
	if (t->kind[g] == ASSAY_GPU_KERNEL)
		return "Compute";
	if (t->kind[g] == ASSAY_GPU_MEMSET)
		return "Memset";
	return copies[assay_copy_way_of(assay_text(w->run, t->name[g]))].type;
}

/* A number among the arguments of a row; false when it is not there. */
bool xplane_arg_number(const xplane_writer *w, assay_sid args, const char *key, double *out)
{
	assay_str s = assay_text(w->run, args);
	ptrdiff_t at = assay_str_find(s, key);
	if (at < 1 || s.p[at - 1] != '"')
		return false;
	size_t from = (size_t)at + strlen(key);
	assay_str rest = {s.p + from, s.n - from};
	if (!assay_str_starts(rest, "\":"))
		return false;
	rest = (assay_str){rest.p + 2, rest.n - 2};
	return assay_str_f64(assay_str_trim(assay_str_cut(&rest, ',')), out);
}

struct text {
	char buf[512]; /* longer than all the details there are */
	size_t n;
};

static void add_text(struct text *t, const char *text)
{
	size_t n = strlen(text);
	memcpy(t->buf + t->n, text, n);
	t->n += n;
}

/* The key with its colon, and what stands before it. */
static void add_number(struct text *t, const char *key, int64_t v)
{
	add_text(t, key);
	t->n = (size_t)(assay_put_i64(t->buf + t->n, v) - t->buf);
}

static void add_three(struct text *t, const char *key, uint32_t x, uint32_t y, uint32_t z)
{
	add_number(t, key, x);
	add_number(t, ",", y);
	add_number(t, ",", z);
}

static const xplane_kernel_args *kernel_args(xplane_writer *w, assay_sid args)
{
	xplane_kernel_args *k = &w->kernel_args[args % XPLANE_KERNEL_ARGS];
	if (k->known && k->args == args)
		return k;
	double occupancy;
	*k = (xplane_kernel_args){.args = args, .known = true};
	if (xplane_arg_number(w, args, "occ_pct", &occupancy) ||
	    xplane_arg_number(w, args, "theoretical_occupancy_pct", &occupancy) ||
	    xplane_arg_number(w, args, "est. achieved occupancy %", &occupancy))
		snprintf(k->occupancy, sizeof k->occupancy, "%.6g", occupancy);
	xplane_arg_number(w, args, "dynamic_shared", &k->dynamic);
	k->labelled = xplane_has_arg(w, args, "hlo_op") || xplane_has_arg(w, args, "hlo_module") ||
		      xplane_has_arg(w, args, "tf_op");
	return k;
}

/* What is not known is not said: readers take a missing key for 0, ours for unknown. */
static void put_kernel(xplane_writer *w, xplane_out *p, uint32_t g, bool amd)
{
	const assay_gpu_table *t = &w->t->gpu;
	const xplane_kernel_args *args = kernel_args(w, t->args[g]);
	uint32_t shared = t->shared[g] == UINT32_MAX ? 0 : t->shared[g];
	uint32_t dyn = args->dynamic > 0 && args->dynamic <= shared ? (uint32_t)args->dynamic : 0;
	uint32_t grid[3], items[3];
	assay_grid_blocks(&w->grids, g, grid);
	struct text d;
	d.n = 0;
	if (t->regs[g] != UINT16_MAX) {
		add_number(&d, "regs:", t->regs[g]);
		add_text(&d, " ");
	}
	if (t->shared[g] != UINT32_MAX) {
		add_number(&d, "static_shared:", shared - dyn);
		add_number(&d, " dynamic_shared:", dyn);
		add_text(&d, " ");
	}
	add_three(&d, "grid:", grid[0], grid[1], grid[2]);
	add_three(&d, " block:", t->block_x[g], t->block_y[g], t->block_z[g]);
	if (*args->occupancy) {
		add_text(&d, " occ_pct:");
		add_text(&d, args->occupancy);
	}
	if (amd) {
		assay_grid_items(&w->grids, g, items);
		add_three(&d, " work_items:", items[0], items[1], items[2]);
	}
	if (amd && t->shared[g] != UINT32_MAX)
		add_number(&d, " group_mem:", shared);
	if (t->scratch[g] != UINT32_MAX)
		add_number(&d, " private_mem:", t->scratch[g]);
	if (t->acc_regs[g] != UINT16_MAX)
		add_number(&d, " acc_regs:", t->acc_regs[g]);
	if (t->scalar_regs[g] != UINT16_MAX)
		add_number(&d, " scalar_regs:", t->scalar_regs[g]);
	xplane_put_ref(p, "kernel_details", (assay_str){d.buf, d.n});
}

static void put_memory(xplane_writer *w, xplane_out *p, uint32_t g, int64_t device)
{
	const assay_gpu_table *t = &w->t->gpu;
	int64_t bytes = t->bytes[g];
	struct text d;
	d.n = 0;
	if (t->kind[g] == ASSAY_GPU_MEMSET) {
		add_text(&d, "kind:device");
		if (bytes >= 0)
			add_number(&d, " num_bytes:", bytes);
		add_text(&d, " async:1");
		xplane_put_ref(p, "Memset_details", (assay_str){d.buf, d.n});
		return;
	}
	size_t k = assay_copy_way_of(assay_text(w->run, t->name[g]));
	add_text(&d, "kind_src:");
	add_text(&d, copies[k].from);
	add_text(&d, " kind_dst:");
	add_text(&d, copies[k].to);
	if (bytes >= 0)
		add_number(&d, " size:", bytes);
	add_number(&d, " dest:", device);
	add_text(&d, " async:1");
	xplane_put_ref(p, "memcpy_details", (assay_str){d.buf, d.n});
}

/* ------------------------------------------------------------------ one stream */

struct device {
	const xplane_device *of;
	uint32_t source;
	int64_t id, number; /* as the input calls it; of its plane */
	uint32_t row;       /* of device; ASSAY_NO_ROW */
	bool amd;
	assay_map lines; /* low halves of line ids in use */
};

/* Work is never without a name. */
static assay_str work_name(const xplane_writer *w, uint32_t g)
{
	assay_str name = assay_text(w->run, w->t->gpu.name[g]);
	return name.n ? name : assay_str_of(type_of(w, g));
}

/* Of work that a command buffer replays: which instruction it is, for xprof looks that up in the
 * program and knows nothing of buffers; and before it what the recorder said. */
static void put_instruction(xplane_writer *w, xplane_out *p, uint32_t g)
{
	const assay_tables *t = w->t;
	uint32_t op = g < t->gpu_captured.n ? t->gpu_captured.op[g] : ASSAY_NO_ROW;
	if (op == ASSAY_NO_ROW || !t->captured.program[op])
		return;
	assay_str buffer = xplane_arg_text(w, t->gpu.args[g], "hlo_op");
	if (!buffer.n)
		return;
	xplane_put_ref(p, "hlo_op_recorded", buffer);
	xplane_put_ref(p, "hlo_op", xplane_arg_text(w, t->captured.args[op], "hlo_op"));
}

static void put_work(xplane_writer *w, xplane_out *p, const struct device *d, uint32_t g,
		     int64_t line_ts)
{
	const assay_gpu_table *t = &w->t->gpu;
	if (t->corr[g])
		xplane_put_u64(p, "correlation_id", xplane_corr(w, t->track[g], t->corr[g]));
	if (t->corr[g] && w->t->launch.n == t->n && w->t->launch.host[g] != ASSAY_NO_ROW)
		xplane_put_flow(w, p, xplane_corr(w, t->track[g], t->corr[g]), XPLANE_FLOW_IN);
	xplane_put_group(w, p, g < w->t->gpu_scope.n ? w->t->gpu_scope.step[g] : ASSAY_NO_ROW);
	uint32_t scope = g < w->t->gpu_scope.n ? w->t->gpu_scope.scope[g] : ASSAY_NO_ROW;
	int64_t id =
		xplane_put_scope(w, p, scope, g < w->t->gpu_scope.n ? w->t->gpu_scope.how[g] : 0);
	if (t->context[g] != UINT32_MAX) {
		char context[2 + ASSAY_DIGITS_MAX] = "$$";
		const char *end = assay_put_u64(context + 2, t->context[g]);
		xplane_put_str(p, "context_id", (assay_str){context, (size_t)(end - context)});
	}
	if (t->graph[g])
		xplane_put_u64(p, "cuda_graph_id", t->graph[g]);
	if (t->graph_node[g])
		xplane_put_u64(p, "cuda_graph_node_id", t->graph_node[g]);
	if (t->kind[g] == ASSAY_GPU_KERNEL)
		put_kernel(w, p, g, d->amd);
	if (t->external[g])
		xplane_put_i64(p, "External id", t->external[g]);
	if (t->queue[g] != UINT32_MAX)
		xplane_put_i64(p, "queue", t->queue[g]);
	if (t->dispatch[g] != UINT32_MAX)
		xplane_put_i64(p, "dispatch", t->dispatch[g]);
	put_instruction(w, p, g);
	xplane_put_args(p, w->run, t->args[g]);
	xplane_make_stats(p);
	if (t->kind[g] != ASSAY_GPU_KERNEL)
		put_memory(w, p, g, d->number);
	/* not as scope_range_id: gradients run long after the range, and would stretch it */
	int64_t forward = g < w->t->gpu_scope.n ? xplane_scope(w, w->t->gpu_scope.forward[g]) : 0;
	if (forward)
		xplane_put_i64(p, "forward_scope_range_id", forward);
	if (!kernel_args(w, t->args[g])->labelled)
		xplane_put_labels(w, p, d->source, id ? scope : ASSAY_NO_ROW);
	p->event_rest = xplane_rest(w, ASSAY_KEPT_GPU, g);
	xplane_end_event(p, work_name(w, g), xplane_time(w, t->track[g], t->ts[g]) - line_ts,
			 t->dur[g] > 0 ? t->dur[g] : 0);
}

/* Numbers of streams stay where they can; handles and taken ones get the next free number. */
static int64_t line_id(struct device *d, int64_t stream)
{
	int64_t id = stream;
	int64_t next = 0;
	while (id < 0 || id > INT32_MAX || xplane_line_is_derived(id, ASSAY_S("")) ||
	       assay_map_get(&d->lines, (uint64_t)id) != ASSAY_MAP_ABSENT)
		id = next++;
	*assay_map_at(&d->lines, (uint64_t)id) = 1;
	return id;
}

static assay_str line_name(xplane_writer *w, int64_t id, const uint32_t *row, size_t n)
{
	const char *types[TYPE_KINDS];
	size_t many = 0;
	char *text = assay_printf(&w->scratch, "Stream #%" PRId64, id);
	for (size_t i = 0; i < n; i++) {
		const char *type = type_of(w, row[i]);
		size_t k = 0;
		while (k < many && strcmp(types[k], type))
			k++;
		if (k < many || many == TYPE_KINDS)
			continue;
		types[many] = type;
		text = assay_printf(&w->scratch, "%s%s%s", text, many++ ? "," : "(", type);
	}
	return assay_str_of(many ? assay_printf(&w->scratch, "%s)", text) : text);
}

/* A row of gpu or of mark on a stream. */
struct on_stream {
	int64_t ts, dur; /* dur at least 0 */
	uint32_t row;
	bool mark;
};
typedef assay_vec(struct on_stream) stream_rows;

static int by_start(const void *a, const void *b)
{
	const struct on_stream *x = a, *y = b;
	return assay_then(assay_then(ASSAY_CMP(x->ts, y->ts), ASSAY_CMP(y->dur, x->dur)),
			  assay_then(ASSAY_CMP(x->mark, y->mark), ASSAY_CMP(x->row, y->row)));
}

/* Marks of a recorder on a stream's own line, that are no rows xprof derives: allocations and the
 * like. */
static bool is_mark_on(const xplane_writer *w, uint32_t mark, uint32_t track)
{
	return w->t->mark.track[mark] == track && !xplane_is_beside(w, mark);
}

static bool takes_marks(const xplane_writer *w, uint32_t track)
{
	return w->is_xplane.p[xplane_source(w, track)] &&
	       !xplane_line_is_derived(w->t->track.tid[track],
				       assay_text(w->run, w->t->track.name[track]));
}

static bool has_marks(const xplane_writer *w, uint32_t track)
{
	if (takes_marks(w, track))
		for (uint32_t i = 0; i < w->t->mark.n; i++)
			if (is_mark_on(w, i, track))
				return true;
	return false;
}

static void put_mark(xplane_writer *w, xplane_out *p, uint32_t mark, int64_t line_ts)
{
	const assay_mark_table *m = &w->t->mark;
	xplane_put_args(p, w->run, m->args[mark]);
	assay_str name = assay_text(w->run, m->name[mark]);
	p->event_rest = xplane_rest(w, ASSAY_KEPT_MARK, mark);
	xplane_end_event(p, name.n ? name : ASSAY_S("(no name)"),
			 xplane_time(w, m->track[mark], m->ts[mark]) - line_ts,
			 m->dur[mark] > 0 ? m->dur[mark] : 0);
}

/* row: the stream's work by start, of those that start together the longest first. */
static void collect_rows(const xplane_writer *w, const xplane_stream *s, const uint32_t *row,
			 stream_rows *all)
{
	const assay_gpu_table *g = &w->t->gpu;
	const assay_mark_table *m = &w->t->mark;
	for (size_t i = 0; i < s->events; i++)
		*assay_push(all) = (struct on_stream){g->ts[row[i]], g->dur[row[i]], row[i], false};
	if (!s->marks)
		return;
	for (size_t i = 0; i < all->n; i++)
		all->p[i].dur = all->p[i].dur > 0 ? all->p[i].dur : 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (is_mark_on(w, i, s->track))
			*assay_push(all) = (struct on_stream){
				m->ts[i], m->dur[i] > 0 ? m->dur[i] : 0, i, true};
	qsort(all->p, all->n, sizeof *all->p, by_start);
}

/* display: the place of its line among the viewer's rows, 0 for the viewer's choice. */
static void put_stream(xplane_writer *w, xplane_out *p, const struct device *d,
		       const xplane_stream *s, int64_t display, const uint32_t *row)
{
	stream_rows all = {0};
	collect_rows(w, s, row, &all);
	p->line_rest = xplane_rest(w, ASSAY_KEPT_TRACK, s->track);
	int64_t ts = xplane_line_base(w, s->track, p->line_rest);
	xplane_expect(p, all.n);
	p->base = ts < p->base ? ts : p->base;
	for (size_t i = 0; i < all.n; i++) {
		if (all.p[i].mark)
			put_mark(w, p, all.p[i].row, ts);
		else
			put_work(w, p, d, all.p[i].row, ts);
	}
	xplane_end_line_at(p, s->line, display, ts, line_name(w, s->line, row, s->events));
	assay_vec_free(&all);
}

/* ------------------------------------------------------------------ properties */

static void stat_text(xplane_out *p, const char *name, assay_str text)
{
	assay_jsonw json = {.compact = true};
	assay_jsonw_str(&json, NULL, text);
	if (text.n)
		xplane_plane_stat(p, assay_str_of(name), assay_jsonw_text(&json));
	assay_jsonw_free(&json);
}

static void stat_number(xplane_out *p, const char *name, int64_t v, assay_arena *a)
{
	if (v >= 0)
		xplane_plane_stat(p, assay_str_of(name),
				  assay_str_of(assay_printf(a, "%" PRId64, v)));
}

/* "sm_90" is 9 and 0, "gfx942" 9 and 4. */
static void capability(assay_str arch, int64_t *major, int64_t *minor)
{
	int64_t v, gfx[3];
	*major = *minor = -1;
	if (assay_str_starts(arch, "sm_") &&
	    assay_str_i64((assay_str){arch.p + 3, arch.n - 3}, &v) && v >= 0)
		*major = v / 10, *minor = v % 10;
	else if (assay_gfx_parts(arch, gfx))
		*major = gfx[0], *minor = gfx[1];
}

static void stat_real(xplane_out *p, const char *name, double v)
{
	assay_jsonw json = {.compact = true};
	assay_jsonw_f64(&json, NULL, v);
	if (v > 0)
		xplane_plane_stat(p, assay_str_of(name), assay_jsonw_text(&json));
	assay_jsonw_free(&json);
}

/* Row of device of the one whose peaks are known, in the job; ASSAY_NO_ROW. */
static uint32_t rated_device(const assay_tables *t)
{
	uint32_t of = t->roof.n ? t->roof.device[0] : ASSAY_NO_ROW;
	return of < t->device_time.n
		       ? assay_device_row(t, t->device_time.source[of], t->device_time.device[of])
		       : ASSAY_NO_ROW;
}

/* What xprof's roofline wants to know, of devices of the same name as the one that assay rated. Its
 * one peak is that of products in 16 bits, as in its own tables. */
static void put_peaks(xplane_writer *w, xplane_out *p, uint32_t device)
{
	const assay_tables *t = &w->job->part.t;
	const assay_roof_table *r = &t->roof;
	uint32_t rated = rated_device(t);
	if (rated == ASSAY_NO_ROW || !assay_str_eq(assay_text(w->job, t->device.name[rated]),
						   assay_text(w->run, w->t->device.name[device])))
		return;
	double peak = r->bf16[0] > 0 ? r->bf16[0] : r->fp16[0] > 0 ? r->fp16[0] : r->fp32[0];
	if (r->clock[0] > 0)
		stat_number(p, "clock_rate", (int64_t)(r->clock[0] / 1e3), &w->scratch);
	if (r->bandwidth[0] > 0)
		stat_number(p, "memory_bandwidth", (int64_t)r->bandwidth[0], &w->scratch);
	stat_real(p, "peak_teraflops_per_second", peak / 1e12);
	stat_real(p, "peak_hbm_bw_gigabytes_per_second", r->bandwidth[0] / 1e9);
}

static void put_device_row(xplane_writer *w, xplane_out *p, uint32_t r)
{
	const assay_device_table *d = &w->t->device;
	assay_vendor vendor = assay_device_vendor(w->run, r);
	assay_str arch = assay_text(w->run, d->arch[r]);
	int64_t major, minor;
	capability(arch, &major, &minor);
	/* exactly these words: xprof compares them */
	stat_text(p, "device_vendor", assay_str_of(assay_vendor_title[vendor]));
	/* xprof's tables of peaks know AMD parts by their gfx name */
	stat_text(p, "gpu_device_name",
		  vendor == ASSAY_VENDOR_AMD && arch.n ? arch : assay_text(w->run, d->name[r]));
	if (vendor == ASSAY_VENDOR_AMD && arch.n)
		stat_text(p, XPLANE_PRODUCT, assay_text(w->run, d->name[r]));
	stat_number(p, "core_count", d->units[r], &w->scratch);
	stat_number(p, "warp_size", d->warp[r], &w->scratch);
	stat_number(p, "memory_size", d->memory[r], &w->scratch);
	stat_number(p, "compute_cap_major", major, &w->scratch);
	stat_number(p, "compute_cap_minor", minor, &w->scratch);
	put_peaks(w, p, r);
}

/* Stats the plane had in the file it came from, or what the device table knows. */
static void put_properties(xplane_writer *w, xplane_out *p, const struct device *d)
{
	const assay_meta_table *m = &w->t->meta;
	const char *prefix = assay_printf(&w->scratch, XPLANE_GPU "%" PRId64 ".", d->id);
	size_t n = strlen(prefix), found = 0;
	for (size_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(w->run, m->key[i]);
		if (m->source[i] != d->source || !assay_str_starts(key, prefix))
			continue;
		xplane_plane_stat(p, (assay_str){key.p + n, key.n - n},
				  assay_text(w->run, m->value[i]));
		found++;
	}
	if (!found && d->row != ASSAY_NO_ROW)
		put_device_row(w, p, d->row);
}

/* ------------------------------------------------------------------ all devices */

static int by_line(const void *a, const void *b)
{
	const xplane_stream *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->line, y->line), ASSAY_CMP(x->track, y->track));
}

/* As xprof puts them: those with kernels first, then those with more events. */
static int by_weight(const void *a, const void *b)
{
	const xplane_stream *x = a, *y = b;
	return assay_then(
		assay_then(ASSAY_CMP(y->compute, x->compute), ASSAY_CMP(y->events, x->events)),
		by_line(a, b));
}

typedef assay_vec(xplane_stream) stream_list;

/* Rows of gpu by stream, and streams by device (place in devices). */
struct work {
	uint32_t *row, *track;
	size_t *first, *first_track; /* one entry a stream, a device, and one behind the last */
};

/* Streams that have a line, with the numbers of their lines. */
static void find_streams(xplane_writer *w, struct device *d, const struct work *work,
			 stream_list *streams)
{
	const assay_track_table *t = &w->t->track;
	const size_t *first = work->first, *own = work->first_track + (d->of - w->devices.p);
	for (size_t n = own[0]; n < own[1]; n++) {
		uint32_t i = work->track[n];
		xplane_stream s = {
			.track = i, .line = t->tid[i], .events = first[i + 1] - first[i]};
		s.marks = has_marks(w, i);
		for (size_t k = first[i]; k < first[i + 1] && !s.compute; k++)
			s.compute = w->t->gpu.kind[work->row[k]] == ASSAY_GPU_KERNEL;
		if (s.events || s.marks)
			*assay_push(streams) = s;
	}
	if (!streams->n)
		return;
	qsort(streams->p, streams->n, sizeof *streams->p, by_line);
	for (size_t i = 0; i < streams->n; i++) {
		xplane_stream *s = &streams->p[i];
		s->line = line_id(d, t->tid[s->track]);
		w->line_of.p[s->track] = s->line;
	}
	qsort(streams->p, streams->n, sizeof *streams->p, w->grouped ? by_weight : by_line);
}

static void put_device(xplane_writer *w, struct device *d, const struct work *work)
{
	const char *place = assay_printf(&w->scratch, XPLANE_GPU "%" PRId64, d->id);
	xplane_out p = {.w = w,
			.base = INT64_MAX,
			.place = assay_pool_find(&w->run->part.strings, assay_str_of(place))};
	stream_list streams = {0};
	find_streams(w, d, work, &streams);
	for (size_t i = 0; i < streams.n; i++)
		put_stream(w, &p, d, &streams.p[i],
			   w->grouped ? (int64_t)i * XPLANE_ROWS_A_STREAM + 1 : 0,
			   work->row + work->first[streams.p[i].track]);
	if (w->grouped)
		xplane_write_derived(w, &p, streams.p, streams.n, (uint32_t)d->number);
	xplane_name_group(w, &p);
	xplane_put_counters(w, &p, (uint32_t)(d->of - w->devices.p));
	put_properties(w, &p, d);
	xplane_put_input(w, &p, xplane_input_of(w, d->source), d->id, d->number);
	const char *name = assay_printf(&w->scratch, XPLANE_GPU "%" PRId64, d->number);
	xplane_end_plane(&p, w->out, d->number, assay_str_of(name),
			 xplane_kept(w, d->source, place));
	assay_vec_free(&streams);
	assay_map_free(&d->lines);
}

static struct work group_work(xplane_writer *w)
{
	const assay_gpu_table *g = &w->t->gpu;
	size_t tracks = w->t->track.n, devices = w->devices.n;
	struct work out = {
		.row = assay_pages_grow(NULL, g->n * sizeof *out.row + 1),
		.first = assay_alloc(&w->scratch, (tracks + 1) * sizeof *out.first),
		.track = assay_alloc(&w->scratch, (tracks + 1) * sizeof *out.track),
		.first_track = assay_alloc(&w->scratch, (devices + 1) * sizeof *out.first_track)};
	uint32_t *device = assay_alloc(&w->scratch, (tracks + 1) * sizeof *device);
	for (uint32_t i = 0; i < tracks; i++)
		device[i] = w->t->track.kind[i] == ASSAY_TRACK_STREAM ? xplane_device_of(w, i)
								      : ASSAY_MAP_ABSENT;
	assay_group_rows(out.track, out.first_track, NULL, tracks, device, devices);
	assay_group_rows(out.row, out.first, NULL, g->n, g->track, tracks);
	for (size_t i = 0; i < tracks; i++)
		assay_sort_spans(out.row + out.first[i], out.first[i + 1] - out.first[i], g->ts,
				 g->dur);
	return out;
}

void xplane_write_devices(xplane_writer *w)
{
	const assay_tables *t = w->t;
	struct work work = group_work(w);
	w->grids = assay_grids_of(w->run, &w->scratch);
	for (uint32_t i = 0; i < t->track.n; i++)
		*assay_push(&w->line_of) = t->track.tid[i];
	for (size_t i = 0; i < w->devices.n; i++) {
		const xplane_device *of = &w->devices.p[i];
		struct device d = {.of = of,
				   .source = of->source,
				   .id = of->id,
				   .number = of->number,
				   .row = assay_device_row(t, of->source, of->id)};
		d.amd = d.row != ASSAY_NO_ROW &&
			assay_device_vendor(w->run, d.row) == ASSAY_VENDOR_AMD;
		put_device(w, &d, &work);
	}
	assay_pages_free(work.row);
}

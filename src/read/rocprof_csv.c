/* CSV files of rocprofv3 (ROCm 6.2 to 7.x, and what rocpd converts to), rocprof v1 and v2, and other
 * tables of kernels. docs/formats/rocprof_csv.md tells which column goes where. */
#include "read/rocprof_csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "read/reader.h"

enum { HEAD = 64 << 10, WINDOW = 2 << 20, SURE = 95, UNSURE = 25 };

typedef enum column_of { ANY, EVENTS, AGENTS } column_of;

/* Column names as the versions write them, folded: lower case, '-' and ' ' as '_'. */
static const struct {
	const char *name;
	csv_field field;
	column_of of;
} columns[] = {
	{"kernel_name", CSV_NAME, ANY},
	{"kernelname", CSV_NAME, ANY},
	{"function", CSV_NAME, ANY},
	{"direction", CSV_NAME, ANY},
	{"operation", CSV_NAME, ANY},
	{"name", CSV_NAME, ANY},
	{"domain", CSV_DOMAIN, EVENTS},
	{"counter_name", CSV_COUNTER, ANY},
	{"counter_value", CSV_VALUE, ANY},
	{"process_id", CSV_PROCESS, ANY},
	{"pid", CSV_PROCESS, ANY},
	{"thread_id", CSV_THREAD, ANY},
	{"tid", CSV_THREAD, ANY},
	{"agent_id", CSV_AGENT, ANY},
	{"gpu_id", CSV_AGENT, EVENTS},
	{"logical_node_id", CSV_AGENT, AGENTS},
	{"source_agent_id", CSV_SOURCE_AGENT, ANY},
	{"destination_agent_id", CSV_TARGET_AGENT, ANY},
	{"queue_id", CSV_QUEUE, ANY},
	{"stream_id", CSV_STREAM, ANY},
	{"dispatch_id", CSV_DISPATCH, ANY},
	{"index", CSV_DISPATCH, ANY},
	{"kernel_id", CSV_KERNEL_ID, ANY},
	{"correlation_id", CSV_CORR, ANY},
	{"start_timestamp", CSV_START, ANY},
	{"end_timestamp", CSV_END, ANY},
	{"beginns", CSV_START, ANY},
	{"endns", CSV_END, ANY},
	{"durationns", CSV_DURATION, ANY},
	{"lds_block_size", CSV_SHARED, ANY},
	{"group_segment_size", CSV_SHARED, ANY},
	{"lds", CSV_SHARED, ANY},
	{"scratch_size", CSV_SCRATCH, ANY},
	{"private_segment_size", CSV_SCRATCH, ANY},
	{"scr", CSV_SCRATCH, ANY},
	{"vgpr_count", CSV_REGS, ANY},
	{"arch_vgpr", CSV_REGS, ANY},
	{"vgpr", CSV_REGS, ANY},
	{"accum_vgpr_count", CSV_ACC_REGS, ANY},
	{"accum_vgpr", CSV_ACC_REGS, ANY},
	{"sgpr_count", CSV_SCALAR_REGS, ANY},
	{"sgpr", CSV_SCALAR_REGS, ANY},
	{"workgroup_size_x", CSV_BLOCK_X, ANY},
	{"workgroup_size_y", CSV_BLOCK_Y, ANY},
	{"workgroup_size_z", CSV_BLOCK_Z, ANY},
	{"workgroup_size", CSV_BLOCK_X, ANY},
	{"wgr", CSV_BLOCK_X, ANY},
	{"grid_size_x", CSV_GRID_X, ANY},
	{"grid_size_y", CSV_GRID_Y, ANY},
	{"grid_size_z", CSV_GRID_Z, ANY},
	{"grid_size", CSV_GRID_X, ANY},
	{"grd", CSV_GRID_X, ANY},
	{"allocation_size", CSV_SIZE, ANY},
	{"address", CSV_ADDRESS, ANY},
	{"calls", CSV_CALLS, ANY},
	{"totaldurationns", CSV_TOTAL, ANY},
	{"minns", CSV_MIN, ANY},
	{"maxns", CSV_MAX, ANY},
	{"agent_type", CSV_AGENT_TYPE, AGENTS},
	{"product_name", CSV_PRODUCT, AGENTS},
	{"cu_count", CSV_UNITS, AGENTS},
	{"wave_front_size", CSV_WAVE, AGENTS},
	{"gfx_target_version", CSV_GFX, AGENTS},
	{"local_mem_size", CSV_MEMORY, AGENTS},
};

#define SPAN {CSV_START, CSV_END}

/* The first kind whose columns are all there is it. */
static const csv_kind kinds[] = {
	{"counter_collection", {"counter_name", "counter_value", "start_timestamp", "end_timestamp"},
	 SPAN, assay_csv_put_counter},
	{"counter_collection", {"counter_name", "counter_value", "kernel_name"}, {0},
	 assay_csv_put_counter},
	{"agent_info", {"agent_type", "gfx_target_version"}, {0}, assay_csv_put_device},
	{"pc_sampling", {"sample_timestamp", "exec_mask"}, {0}, assay_csv_put_sample},
	{"memory_copy", {"direction", "source_agent_id", "start_timestamp", "end_timestamp"}, SPAN,
	 assay_csv_put_copy},
	{"memory_allocation", {"operation", "allocation_size", "address", "start_timestamp"},
	 {CSV_START}, assay_csv_put_alloc},
	{"scratch_memory", {"operation", "alloc_flags", "start_timestamp"}, {CSV_START},
	 assay_csv_put_alloc},
	{"api", {"domain", "function", "start_timestamp", "end_timestamp"}, SPAN, assay_csv_put_call},
	{"stats", {"name", "calls", "totaldurationns"}, {0}, assay_csv_put_stat},
	{"kernel_trace", {"kernel_name", "start_timestamp", "end_timestamp"}, SPAN,
	 assay_csv_put_kernel},
	{"kernel_trace", {"kernelname", "beginns", "endns"}, SPAN, assay_csv_put_kernel},
};

/* Tables of unknown origin, by the names in pick_column(). */
static const csv_kind other_kernels = {"kernels", {0}, SPAN, assay_csv_put_kernel};
static const csv_kind other_lengths = {"kernels", {0}, {CSV_START, CSV_DURATION}, assay_csv_put_kernel};

static const uint8_t field_type[CSV_FIELD_COUNT] = {
#define X(id, type, absent) CSV_AS_##type,
	CSV_FIELDS(X)
#undef X
};

static char fold(char c)
{
	if (c == '-' || c == ' ')
		return '_';
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool folds_to(assay_str cell, const char *name)
{
	cell = assay_str_trim(cell);
	for (size_t i = 0; i < cell.n; i++)
		if (!name[i] || fold(cell.p[i]) != name[i])
			return false;
	return !name[cell.n];
}

static bool has_column(const csv_cells *head, const char *name)
{
	for (size_t i = 0; i < head->n; i++)
		if (folds_to(head->cell[i], name))
			return true;
	return false;
}

static const csv_kind *find_kind(const csv_cells *head)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		size_t has = 0;
		while (has < 4 && kinds[k].needs[has] && has_column(head, kinds[k].needs[has]))
			has++;
		if (has == 4 || !kinds[k].needs[has])
			return &kinds[k];
	}
	return NULL;
}

static csv_field column_field(assay_str cell, column_of of)
{
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if ((columns[i].of == ANY || columns[i].of == of) && folds_to(cell, columns[i].name))
			return columns[i].field;
	return CSV_NONE;
}

/* Every word of name, split at '_' and ' ', is in the cell, letters of any case. */
static bool has_words(assay_str cell, assay_str name)
{
	while (name.n) {
		size_t n = 0;
		while (n < name.n && name.p[n] != '_' && name.p[n] != ' ')
			n++;
		char word[32];
		snprintf(word, sizeof word, "%.*s", (int)n, name.p);
		if (assay_str_find_nocase(cell, word) < 0)
			return false;
		n += n < name.n;
		name = (assay_str){name.p + n, name.n - n};
	}
	return true;
}

/* Column of the first name that a tier finds; a tier is tried with all names before the next:
 * exact, letters of any case (the last such column), all words in it (the first such column). */
static size_t pick_column(const csv_cells *head, const char *const *names)
{
	for (const char *const *z = names; *z; z++)
		for (size_t i = 0; i < head->n; i++)
			if (assay_str_is(head->cell[i], *z))
				return i;
	for (const char *const *z = names; *z; z++)
		for (size_t i = head->n; i-- > 0;)
			if (assay_str_same(head->cell[i], assay_str_of(*z)))
				return i;
	for (const char *const *z = names; *z; z++)
		for (size_t i = 0; i < head->n; i++)
			if (has_words(head->cell[i], assay_str_of(*z)))
				return i;
	return CSV_COLS_MAX;
}

static const struct {
	csv_field field;
	const char *names[5];
} picks[] = {
	{CSV_NAME, {"KernelName", "Kernel_Name", "kernel_name", "Name"}},
	{CSV_START, {"BeginNs", "start_ns", "BeginNS", "Start"}},
	{CSV_END, {"EndNs", "end_ns", "EndNS", "End"}},
	{CSV_DURATION, {"DurationNs", "duration_ns", "Duration"}},
};

/* Kernels with a name, a start, and an end or a length. Summaries and telemetry are no kernels. */
static const csv_kind *pick_columns(const csv_cells *head, csv_plan *plan)
{
	if (has_column(head, "calls") || has_column(head, "count") || has_column(head, "gpu") ||
	    has_column(head, "device"))
		return NULL;
	for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
		size_t col = pick_column(head, picks[i].names);
		if (col < CSV_COLS_MAX && plan->field[col] == CSV_NONE) {
			plan->field[col] = (uint8_t)picks[i].field;
			plan->has[picks[i].field] = true;
		}
	}
	if (!plan->has[CSV_NAME] || !plan->has[CSV_START])
		return NULL;
	if (plan->has[CSV_END])
		return &other_kernels;
	return plan->has[CSV_DURATION] ? &other_lengths : NULL;
}

/* Columns with names of rocprof; of two that mean the same the first is taken. */
static void map_columns(const csv_cells *head, csv_plan *plan)
{
	column_of of = plan->kind && plan->kind->put == assay_csv_put_device ? AGENTS : EVENTS;
	for (size_t i = 0; i < head->n; i++) {
		csv_field f = column_field(head->cell[i], of);
		if (f == CSV_NONE || plan->has[f] || plan->field[i] != CSV_NONE)
			continue;
		plan->field[i] = (uint8_t)f;
		plan->has[f] = true;
	}
}

/* A name found through Kernel_Id needs that cell first, and a cell behind the name. */
static bool id_comes_first(const csv_plan *plan)
{
	size_t id = 0, name = 0;
	for (size_t i = 0; i < plan->cols; i++) {
		if (plan->field[i] == CSV_KERNEL_ID)
			id = i;
		if (plan->field[i] == CSV_NAME)
			name = i;
	}
	return plan->has[CSV_KERNEL_ID] && id < name && name + 1 < plan->cols;
}

/* From the header at the start of text; *after is behind its line. */
static bool make_plan(assay_str text, csv_plan *plan, size_t *after)
{
	*plan = (csv_plan){0};
	const char *p = text.p, *end = text.p + text.n;
	if (text.n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (p < end && (*p == '\n' || *p == '\r'))
		p++;
	csv_cells head;
	if (p == end || !assay_csv_split_line((assay_str){p, (size_t)(end - p)}, &head))
		return false;
	plan->cols = head.n;
	plan->kind = find_kind(&head);
	if (!plan->kind)
		plan->kind = pick_columns(&head, plan);
	if (!plan->kind)
		return false;
	map_columns(&head, plan);
	for (size_t i = 0; i < plan->cols; i++)
		plan->type[i] = field_type[plan->field[i]];
	plan->stream = plan->has[CSV_STREAM] ? CSV_STREAM : CSV_QUEUE;
	plan->has_kernel_id = id_comes_first(plan);
	plan->kernels_only = plan->kind->put == assay_csv_put_kernel && plan->has[CSV_END];
	*after = (size_t)(head.next - text.p);
	plan->header = assay_str_trim((assay_str){p, (size_t)(head.next - p)});
	return true;
}

/* A table of unknown origin is believed when its first row has whole numbers for times. */
static bool first_row_fits(const csv_plan *plan, assay_str rest)
{
	csv_cells row;
	if (!rest.n || !assay_csv_split_line(rest, &row) || row.n != plan->cols)
		return false;
	for (size_t i = 0; i < plan->cols; i++) {
		uint64_t ns;
		bool time = plan->field[i] == plan->kind->times[0] ||
			    plan->field[i] == plan->kind->times[1];
		if (time && !assay_str_u64(assay_str_trim(row.cell[i]), &ns))
			return false;
	}
	return true;
}

static int csv_sniff(assay_str head)
{
	csv_plan plan;
	size_t after;
	if (!make_plan(head, &plan, &after))
		return 0;
	if (plan.kind != &other_kernels && plan.kind != &other_lengths)
		return SURE;
	return first_row_fits(&plan, (assay_str){head.p + after, head.n - after}) ? UNSURE : 0;
}

/* Which summary a stats file is, by its name: 123_hip_api_stats.csv is hip_api_stats. */
static const char *stats_name(assay_arena *a, const char *path)
{
	static const char *const starts[] = {"kernel", "hip",	    "hsa",	 "marker",  "memory_",
					     "rccl",   "rocdecode", "rocjpeg",	 "scratch", "domain"};
	const char *slash = strrchr(path, '/');
	assay_str base = assay_str_of(slash ? slash + 1 : path);
	ptrdiff_t dot = assay_str_find(base, ".csv");
	if (dot >= 0)
		base.n = (size_t)dot;
	size_t from = base.n;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		ptrdiff_t at = assay_str_find(base, starts[i]);
		if (at >= 0 && (size_t)at < from)
			from = (size_t)at;
	}
	if (from < base.n)
		base = (assay_str){base.p + from, base.n - from};
	return assay_dup(a, base);
}

typedef CSV_ROWS((*rows_fn));

static rows_fn rows_for(assay_isa isa)
{
	static const rows_fn rows[ASSAY_ISA_COUNT] = {
		[ASSAY_ISA_SCALAR] = assay_csv_rows_scalar,
#ifdef ASSAY_X86 /* the other twins exist there only */
		[ASSAY_ISA_AVX2] = assay_csv_rows_avx2,
		[ASSAY_ISA_AVX512] = assay_csv_rows_avx512,
#endif
	};
	return rows[isa] ? rows[isa] : assay_csv_rows_scalar;
}

/* How to read; tests vary it. */
typedef struct csv_how {
	unsigned threads;
	size_t window;
	assay_isa isa;
} csv_how;

struct csv_read {
	assay_run *run;
	assay_input *in;
	csv_plan plan;
	rows_fn rows;
	csv_worker *workers;
	uint64_t samples;
	assay_map dispatches; /* kernels of counter rows, kept already */
};

static void worker_start(struct csv_read *job, csv_worker *w)
{
	*w = (csv_worker){.plan = &job->plan};
	w->part.source = job->run->part.source;
	memcpy(w->v, assay_csv_absent, sizeof w->v);
	for (size_t i = 0; i < CSV_TRACKS; i++)
		w->tracks[i].track = ASSAY_NO_ROW;
}

static void worker_stop(csv_worker *w)
{
	assay_part_free(&w->part);
	assay_moved_free(&w->moved);
	assay_vec_free(&w->plain);
}

static size_t csv_align(void *ctx, const char *text, size_t n)
{
	(void)ctx;
	const char *line = memchr(text, '\n', n);
	return line ? (size_t)(line - text) + 1 : n;
}

static assay_pump_status csv_parse(void *ctx, unsigned worker, assay_view text, size_t limit,
				   uint64_t pos, size_t *used)
{
	struct csv_read *job = ctx;
	(void)pos;
	return job->rows(&job->workers[worker], text, limit, used);
}

/* Rows of one dispatch carry the same kernel, once per counter. */
static void drop_repeats(assay_map *kept, assay_gpu_table *g)
{
	const assay_table_info *info = &assay_table_infos[ASSAY_T_gpu];
	size_t n = 0;
	for (size_t r = 0; r < g->n; r++) {
		uint64_t key[] = {(uint64_t)g->ts[r], (uint64_t)g->dur[r], g->dispatch[r], g->corr[r]};
		uint32_t *slot = assay_map_at(kept, assay_hash(key, sizeof key, 0));
		if (*slot != ASSAY_MAP_ABSENT)
			continue;
		*slot = 0;
		for (size_t c = 0; c < info->cols && n < r; c++) {
			size_t width = assay_col_width(info->col[c].type);
			char *col = *(char **)(void *)((char *)g + info->col[c].at);
			memcpy(col + n * width, col + r * width, width);
		}
		n++;
	}
	g->n = n;
}

static void csv_commit(void *ctx, unsigned worker)
{
	struct csv_read *job = ctx;
	csv_worker *w = &job->workers[worker];
	if (job->plan.kind->put == assay_csv_put_counter)
		drop_repeats(&job->dispatches, &w->part.t.gpu);
	assay_part_move(&job->run->part, &w->part, &w->moved);
	job->samples += w->samples;
	w->samples = 0;
	if (job->run->progress)
		job->run->progress(job->run->progress_ctx, assay_input_path(job->in),
				   assay_input_file_pos(job->in), assay_input_file_bytes(job->in));
}

/* Names and tracks of a window that was no window must not reach the run: start afresh. */
static void csv_discard(void *ctx, unsigned worker)
{
	struct csv_read *job = ctx;
	csv_worker *w = &job->workers[worker];
	if (!w->part.strings.str.n && !w->part.t.track.n && !w->samples) {
		assay_part_clear(&w->part);
		return;
	}
	worker_stop(w);
	worker_start(job, w);
}

struct timed_row {
	int64_t ts;
	uint32_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct timed_row *x = a, *y = b;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* A free names the address only: give it the size and device of the allocation before it. */
static void pair_frees(assay_alloc_table *t, size_t from)
{
	assay_vec(struct timed_row) rows = {0};
	assay_map live = {0};
	for (size_t r = from; r < t->n; r++)
		if (t->addr[r])
			*assay_push(&rows) = (struct timed_row){t->ts[r], (uint32_t)r};
	if (rows.n)
		qsort(rows.p, rows.n, sizeof *rows.p, by_time);
	for (size_t i = 0; i < rows.n; i++) {
		uint32_t r = rows.p[i].row, *slot = assay_map_at(&live, t->addr[r]);
		if (t->bytes[r] > 0) {
			*slot = r;
		} else if (*slot == ASSAY_MAP_ABSENT || t->bytes[*slot] <= 0) {
			*slot = r; /* a free of what was taken before the recording */
		} else {
			t->bytes[r] = -t->bytes[*slot];
			t->device[r] = t->device[*slot];
			*slot = r;
		}
	}
	assay_vec_free(&rows);
	assay_map_free(&live);
}

static void finish(struct csv_read *job, size_t first_alloc)
{
	if (job->plan.kind->put == assay_csv_put_alloc && job->plan.has[CSV_ADDRESS])
		pair_frees(&job->run->part.t.alloc, first_alloc);
	if (job->plan.kind->put == assay_csv_put_sample) {
		char text[24];
		snprintf(text, sizeof text, "%llu", (unsigned long long)job->samples);
		assay_meta_add(&job->run->part, "pc_samples", assay_str_of(text));
	}
}

static bool read_as(assay_run *run, assay_input *in, csv_how how, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, HEAD);
	struct csv_read job = {.run = run, .in = in, .rows = rows_for(how.isa)};
	size_t after;
	if (!make_plan((assay_str){v.p, v.n < HEAD ? v.n : HEAD}, &job.plan, &after))
		return assay_fail(err, ASSAY_FORMAT, 0, "%s has no header of a rocprof table",
				  assay_input_path(in));
	assay_arena scratch = {0};
	job.plan.header.p = assay_dup(&scratch, job.plan.header);
	job.plan.about = stats_name(&scratch, assay_input_path(in));
	job.workers = assay_alloc(&scratch, how.threads * sizeof *job.workers);
	for (unsigned i = 0; i < how.threads; i++)
		worker_start(&job, &job.workers[i]);
	assay_meta_add(&run->part, "rocprof_csv", assay_str_of(job.plan.kind->name));
	size_t first_alloc = run->part.t.alloc.n;
	assay_pump_run(&(assay_pump){.in = in,
				     .start = after,
				     .threads = how.threads,
				     .window = how.window,
				     .ctx = &job,
				     .align = csv_align,
				     .parse = csv_parse,
				     .commit = csv_commit,
				     .discard = csv_discard});
	finish(&job, first_alloc);
	for (unsigned i = 0; i < how.threads; i++)
		worker_stop(&job.workers[i]);
	assay_map_free(&job.dispatches);
	assay_arena_free(&scratch);
	return true;
}

static bool csv_read(assay_run *run, assay_input *in, assay_err *err)
{
	return read_as(run, in, (csv_how){assay_threads(), WINDOW, assay_cpu_isa()}, err);
}

const assay_reader assay_reader_rocprof_csv = {
	.name = "rocprof_csv",
	.about = "CSV tables of rocprofv3 and rocprof, and other tables of kernels",
	.sniff = csv_sniff,
	.read = csv_read,
};

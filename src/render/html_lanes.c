/* Spans of the page: every event in a lane where it overlaps no other, lanes one behind the other,
 * each in time order. Host spans nest by depth; GPU work takes the first lane that is free. */
#include "render/html_page.h"

#include <assert.h>

#include "base/group.h"
#include "base/sort.h"
#include "base/test.h"

/* More at once come from damaged files; they are cut to what is left of the last lane. */
enum { MAX_LANES = 400 };
/* Equal starts looked through for their order; more of them only cost lanes. */
enum { TIES = 64 };

/* A table of spans, whichever it is. */
struct spans {
	const int64_t *ts, *dur;
	const uint32_t *track;
	size_t n;
	const assay_sid *name, *args; /* NULL: none */
	const uint8_t *kind;          /* counted from first_kind; NULL: the lanes' */
	uint32_t kinds;               /* a bit for each kind that is taken; 0: all */
	uint8_t first_kind, lane_kind;
	bool nests;
};

static int64_t length_of(const struct spans *s, uint32_t row)
{
	int64_t end, dur = s->dur[row] > 0 ? s->dur[row] : 0;
	return __builtin_add_overflow(s->ts[row], dur, &end) ? 0 : dur;
}

/* By start; of equal starts the longest first, so that it becomes the parent. */
static void sort_by_start(const struct spans *s, uint32_t *row)
{
	assay_sort_rows(row, s->n, s->ts);
	for (size_t i = 1; i < s->n; i++) {
		uint32_t moving = row[i];
		size_t j = i;
		for (; j && i - j < TIES && s->ts[row[j - 1]] == s->ts[moving] &&
		       length_of(s, row[j - 1]) < length_of(s, moving);
		     j--)
			row[j] = row[j - 1];
		row[j] = moving;
	}
}

/* Rows of one track after the other, order kept; first[track] is where they start. */
static uint32_t *by_track(assay_page *p, const struct spans *s, const uint32_t *row, size_t *first)
{
	size_t tracks = p->run->part.t.track.n;
	uint32_t *out = assay_alloc(&p->scratch, s->n * sizeof *out);
	assay_group_rows(out, first, row, s->n, s->track, tracks);
	return out;
}

/* The lane that nested spans leave to one: below the innermost that holds all of it. Spans that
 * only overlap are not inside each other, as operations of a device that start early. */
static uint32_t below_holder(const int64_t *end, uint32_t used, int64_t stop)
{
	while (used && end[used - 1] < stop)
		used--;
	return used;
}

/* Depth of each of n rows of a track; returns how many lanes they take. */
static uint32_t assign(const struct spans *s, const uint32_t *row, size_t n, uint16_t *depth)
{
	int64_t end[MAX_LANES];
	uint32_t used = 0, most = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t start = s->ts[row[i]], stop = start + length_of(s, row[i]);
		while (s->nests && used && end[used - 1] <= start)
			used--;
		uint32_t d = s->nests ? below_holder(end, used, stop) : 0;
		while (d < used && end[d] > start)
			d++;
		if (d == used)
			d = used < MAX_LANES ? used++ : MAX_LANES - 1;
		/* only the last lane may be taken already */
		end[d] = d == MAX_LANES - 1 && i && used == MAX_LANES && end[d] > stop ? end[d]
										       : stop;
		depth[i] = (uint16_t)d;
		most = used > most ? used : most;
	}
	return most;
}

/* Append the lanes of one track and the order of its rows to the page's. */
static void add_track(assay_page *p, const struct spans *s, uint32_t track, const uint32_t *row,
		      size_t n, uint16_t *depth, uint32_t *order)
{
	uint32_t lanes = assign(s, row, n, depth);
	size_t next[MAX_LANES + 1] = {0};
	for (size_t i = 0; i < n; i++)
		next[depth[i] + 1]++;
	for (uint32_t d = 0; d < lanes; d++) {
		if (next[d + 1])
			*assay_push(&p->lanes) = (page_lane){.track = track,
							     .depth = d,
							     .spans = (uint32_t)next[d + 1],
							     .kind = s->lane_kind};
		next[d + 1] += next[d];
	}
	for (size_t i = 0; i < n; i++)
		order[next[depth[i]]++] = row[i];
}

struct ordered {
	struct spans spans;
	uint32_t *row; /* in page order */
	size_t n, lane, lanes;
};

static struct ordered add_spans(assay_page *p, struct spans s)
{
	struct ordered o = {.spans = s, .lane = p->lanes.n};
	if (!s.n)
		return o;
	size_t tracks = p->run->part.t.track.n;
	size_t *first = assay_alloc(&p->scratch, (tracks + 1) * sizeof *first);
	uint32_t *row = assay_alloc(&p->scratch, s.n * sizeof *row), taken = 0;
	for (uint32_t i = 0; i < s.n; i++)
		if (!s.kinds || s.kinds >> s.kind[i] & 1)
			row[taken++] = i;
	s.n = taken;
	sort_by_start(&s, row);
	row = by_track(p, &s, row, first);
	uint16_t *depth = assay_alloc(&p->scratch, s.n * sizeof *depth);
	o.row = assay_alloc(&p->scratch, s.n * sizeof *o.row);
	for (uint32_t t = 0; t < tracks; t++)
		if (first[t + 1] > first[t])
			add_track(p, &s, t, row + first[t], first[t + 1] - first[t],
				  depth + first[t], o.row + first[t]);
	o.n = first[tracks];
	o.lanes = p->lanes.n - o.lane;
	return o;
}

static void number_spans(assay_page *p, const struct ordered *o, uint32_t *span_of)
{
	for (size_t i = 0; i < o->n; i++)
		if (span_of)
			span_of[o->row[i]] = (uint32_t)(p->spans + i);
	p->spans += o->n;
}

/* Distance from the end of the span before it in the lane, and length. */
static void put_times(assay_page *p, const struct ordered *all, size_t n)
{
	const assay_tables *t = &p->run->part.t;
	page_column gap = assay_column_begin(p, "span.gap", "plain");
	assay_vec(int64_t) dur = {0}; /* one column is written at a time */
	for (size_t a = 0; a < n; a++) {
		const struct ordered *o = &all[a];
		for (size_t l = 0, i = 0; l < o->lanes; l++) {
			int64_t end = 0;
			const page_lane *lane = &p->lanes.p[o->lane + l];
			uint32_t source = t->track.source[lane->track];
			for (uint32_t k = 0; k < lane->spans; k++, i++) {
				assert(i < o->n);
				uint32_t row = o->row[i];
				int64_t start = assay_page_time(p, source, o->spans.ts[row]);
				int64_t stop, d = length_of(&o->spans, row);
				if (__builtin_add_overflow(start, d, &stop))
					stop = start, d = 0;
				if (start < end) { /* too many at once: keep what is left */
					p->clipped += start != stop;
					start = end;
					stop = stop > end ? stop : end;
					d = stop - start;
				}
				assay_column_u64(&gap, (uint64_t)(start - end));
				*assay_push(&dur) = d;
				end = stop;
			}
		}
	}
	assay_column_end(&gap);
	page_column length = assay_column_begin(p, "span.dur", "plain");
	for (size_t i = 0; i < dur.n; i++)
		assay_column_u64(&length, (uint64_t)dur.p[i]);
	assay_column_end(&length);
	assay_vec_free(&dur);
}

/* Arguments are carried while they are few: many runs repeat them, some give each event its own. */
enum { ARGS_MAX = 2 << 20 };

static bool args_fit(const assay_page *p, const struct ordered *all, size_t n)
{
	assay_map seen = {0};
	size_t bytes = 0;
	for (const struct ordered *o = all; o < all + n; o++) {
		for (size_t i = 0; o->spans.args && i < o->n && bytes <= ARGS_MAX; i++) {
			assay_sid sid = o->spans.args[o->row[i]];
			uint32_t *slot = assay_map_at(&seen, sid);
			if (*slot == ASSAY_MAP_ABSENT) {
				*slot = 1;
				bytes += assay_text(p->run, sid).n;
			}
		}
	}
	assay_map_free(&seen);
	return bytes <= ARGS_MAX;
}

static void put_args(assay_page *p, const struct ordered *all, size_t n)
{
	if (!args_fit(p, all, n))
		return;
	page_column c = assay_column_begin(p, "span.args", "plain");
	for (const struct ordered *o = all; o < all + n; o++)
		for (size_t i = 0; i < o->n; i++)
			assay_column_u64(&c, o->spans.args
						     ? assay_page_text(p, o->spans.args[o->row[i]])
						     : 0);
	assay_column_end(&c);
}

static void put_names(assay_page *p, const struct ordered *all, size_t n)
{
	page_column name = assay_column_begin(p, "span.name", "plain");
	for (const struct ordered *o = all; o < all + n; o++)
		for (size_t i = 0; i < o->n; i++)
			assay_column_u64(
				&name,
				o->spans.name ? assay_page_text(p, o->spans.name[o->row[i]]) : 0);
	assay_column_end(&name);
	page_column kind = assay_column_begin(p, "span.kind", "plain");
	for (const struct ordered *o = all; o < all + n; o++)
		for (size_t i = 0; i < o->n; i++)
			assay_column_u64(&kind, o->spans.kind ? o->spans.first_kind +
									o->spans.kind[o->row[i]]
							      : o->spans.lane_kind);
	assay_column_end(&kind);
}

static void put_lanes(assay_page *p)
{
#define X(column, value)                                                                           \
	{                                                                                          \
		page_column c = assay_column_begin(p, "lane." #column, "plain");                   \
		for (size_t i = 0; i < p->lanes.n; i++)                                            \
			assay_column_u64(&c, p->lanes.p[i].value);                                 \
		assay_column_end(&c);                                                              \
	}
	X(track, track)
	X(depth, depth)
	X(spans, spans)
	X(kind, kind)
#undef X
}

/* Row of stack of the call that launched GPU work, or -1. */
static int64_t stack_of_launch(const assay_tables *t, uint32_t gpu)
{
	uint32_t host = gpu < t->launch.n ? t->launch.host[gpu] : ASSAY_NO_ROW;
	uint32_t call = host < t->host.n && assay_is_call(t->host.kind[host]) ? t->host.detail[host]
									      : ASSAY_NO_ROW;
	uint32_t stack = call < t->api.n ? t->api.stack[call] : ASSAY_NO_ROW;
	return stack == ASSAY_NO_ROW ? -1 : (int64_t)stack;
}

/* What the details of a selected kernel show, and the call that launched it. */
static void put_gpu_details(assay_page *p)
{
	const assay_tables *t = &p->run->part.t;
	const assay_gpu_table *g = &t->gpu;
	page_column launch = assay_column_begin(p, "gpu.launch", "delta");
	for (size_t i = 0; i < p->gpu_spans; i++) {
		uint32_t row = p->gpu_row[i];
		uint32_t host = row < t->launch.n ? t->launch.host[row] : ASSAY_NO_ROW;
		assay_column_i64(&launch, host < t->host.n ? (int64_t)p->host_span[host] : -1);
	}
	assay_column_end(&launch);
	page_column stack = assay_column_begin(p, "gpu.stack", "delta");
	for (size_t i = 0; t->stack.n && i < p->gpu_spans; i++)
		assay_column_i64(&stack, stack_of_launch(t, p->gpu_row[i]));
	assay_column_end(&stack);
#define X(column, value)                                                                           \
	{                                                                                          \
		page_column c = assay_column_begin(p, "gpu." #column, "delta");                    \
		for (size_t i = 0; i < p->gpu_spans; i++)                                          \
			assay_column_i64(&c, (int64_t)(value)[p->gpu_row[i]]);                     \
		assay_column_end(&c);                                                              \
	}
	X(corr, g->corr)
	X(bytes, g->bytes)
	X(grid_x, g->grid_x)
	X(grid_y, g->grid_y)
	X(grid_z, g->grid_z)
	X(block_x, g->block_x)
	X(block_y, g->block_y)
	X(block_z, g->block_z)
	X(regs, g->regs)
	X(shared, g->shared)
	X(graph, g->graph)
#undef X
}

static uint32_t *no_rows(assay_page *p, size_t n)
{
	uint32_t *out = assay_alloc(&p->scratch, (n + 1) * sizeof *out);
	memset(out, 0xff, n * sizeof *out);
	return out;
}

/* Idle gaps stand on the first stream of their device. */
static struct spans gap_spans(assay_page *p)
{
	const assay_tables *t = &p->run->part.t;
	const assay_gap_table *g = &t->gap;
	uint32_t *track_of = no_rows(p, t->device_time.n), *track = no_rows(p, g->n);
	for (uint32_t i = 0; g->n && i < t->track.n; i++)
		for (size_t d = 0; t->track.kind[i] == ASSAY_TRACK_STREAM && d < t->device_time.n;
		     d++)
			if (track_of[d] == ASSAY_NO_ROW &&
			    t->track.pid[i] == t->device_time.device[d] &&
			    assay_track_group(t, i) == t->device_time.source[d])
				track_of[d] = i;
	for (size_t i = 0; i < g->n; i++)
		if (g->device[i] < t->device_time.n)
			track[i] = track_of[g->device[i]];
	return (struct spans){
		.ts = g->ts, .dur = g->dur, .track = track, .n = g->n, .lane_kind = PAGE_GAP};
}

/* For each span of a gap lane, the row of gap. */
static void put_gap_rows(assay_page *p, const struct ordered *o)
{
	page_column c = assay_column_begin(p, "gap_span.gap", "delta");
	for (size_t i = 0; i < o->n; i++)
		assay_column_i64(&c, o->row[i]);
	assay_column_end(&c);
}

static struct spans band_spans(const page_bands *b, int lane_kind)
{
	return (struct spans){.ts = b->ts.p,
			      .dur = b->dur.p,
			      .track = b->track.p,
			      .n = b->ts.n,
			      .name = b->name.p,
			      .kind = b->kind.p,
			      .first_kind = (uint8_t)lane_kind,
			      .lane_kind = (uint8_t)lane_kind,
			      .nests = true};
}

#define SPANS_OF(table)                                                                            \
	.ts = (table).ts, .dur = (table).dur, .track = (table).track, .n = (table).n,              \
	.name = (table).name, .args = (table).args

/* Ranges, Python frames and all other spans of a thread have lanes of their own: readers switch
 * them. */
enum {
	RANGE_KINDS = 1u << ASSAY_HOST_ANNOTATION | 1u << ASSAY_HOST_MARKER |
		      1u << ASSAY_HOST_PROCESS_RANGE,
	FRAME_KINDS = 1u << ASSAY_HOST_PYTHON,
	CALL_KINDS = ((1u << ASSAY_HOST_KIND_COUNT) - 1) & ~(RANGE_KINDS | FRAME_KINDS),
};

static struct spans host_spans(const assay_host_table *h, uint32_t kinds, assay_host_kind lanes)
{
	return (struct spans){SPANS_OF(*h),
			      .kind = h->kind,
			      .kinds = kinds,
			      .first_kind = PAGE_HOST,
			      .lane_kind = (uint8_t)(PAGE_HOST + lanes),
			      .nests = true};
}

void assay_page_lanes(assay_page *p)
{
	const assay_tables *t = &p->run->part.t;
	enum { GPU, MARK, BAND, SYNC, RANGE, CALL, FRAME, DERIVED };
	enum { GAP = DERIVED + ASSAY_DERIVED_ROW_COUNT, TABLES };
	page_bands bands = {0}, rows[ASSAY_DERIVED_ROW_COUNT] = {0};
	assay_page_scope_bands(p, &bands);
	struct spans spans[TABLES] = {
		[GPU] = {SPANS_OF(t->gpu), .kind = t->gpu.kind, .first_kind = PAGE_GPU,
			 .lane_kind = PAGE_GPU},
		[MARK] = {SPANS_OF(t->mark), .lane_kind = PAGE_MARK, .nests = true},
		[BAND] = band_spans(&bands, PAGE_MARK),
		[SYNC] = {SPANS_OF(t->sync), .lane_kind = PAGE_SYNC},
		[RANGE] = host_spans(&t->host, RANGE_KINDS, ASSAY_HOST_ANNOTATION),
		[CALL] = host_spans(&t->host, CALL_KINDS, ASSAY_HOST_OP),
		[FRAME] = host_spans(&t->host, FRAME_KINDS, ASSAY_HOST_PYTHON),
		[GAP] = gap_spans(p),
	};
	for (int i = 0; i < ASSAY_DERIVED_ROW_COUNT; i++) {
		assay_page_derived(p, (assay_derived_row)i, &rows[i]);
		spans[DERIVED + i] = band_spans(&rows[i], PAGE_DERIVED + i);
	}
	p->gpu_span = no_rows(p, t->gpu.n);
	p->host_span = no_rows(p, t->host.n);
	uint32_t *const span_of[TABLES] = {[GPU] = p->gpu_span,
					   [RANGE] = p->host_span,
					   [CALL] = p->host_span,
					   [FRAME] = p->host_span};
	struct ordered all[TABLES];
	for (int i = 0; i < TABLES; i++) {
		all[i] = add_spans(p, spans[i]);
		if (i == GAP)
			p->first_gap = p->spans;
		number_spans(p, &all[i], span_of[i]);
	}
	p->gpu_row = all[GPU].row;
	p->gpu_spans = all[GPU].n;
	put_lanes(p);
	put_times(p, all, TABLES);
	put_names(p, all, TABLES);
	put_args(p, all, TABLES);
	put_gpu_details(p);
	put_gap_rows(p, &all[GAP]);
	assay_page_bands_free(&bands);
	for (int i = 0; i < ASSAY_DERIVED_ROW_COUNT; i++)
		assay_page_bands_free(&rows[i]);
}

/* Telemetry is there as a counter already. */
static bool is_series(const assay_memory_held_table *m, size_t row)
{
	return m->account[row] != ASSAY_MEMORY_TELEMETRY;
}

/* Points of one row of memory stand together, in time order. */
static void put_memory_times(assay_page *p, assay_jsonw *series, page_column *time)
{
	const assay_memory_held_table *m = &p->run->part.t.memory_held;
	const assay_memory_point_table *at = &p->run->part.t.memory_point;
	for (size_t i = 0, k = 0; i < m->n; i++) {
		size_t before = time->n;
		for (; k < at->n && at->memory[k] == i; k++)
			if (is_series(m, i))
				assay_column_i64(time, assay_page_time(p, m->source[i], at->ts[k]));
		if (!is_series(m, i))
			continue;
		assay_jsonw_open_flat(series, NULL, '{');
		assay_jsonw_i64(series, "track", -1);
		assay_jsonw_i64(series, "device", m->device[i]);
		assay_jsonw_z(series, "name", "held_bytes");
		assay_jsonw_u64(series, "first", before);
		assay_jsonw_u64(series, "n", time->n - before);
		assay_jsonw_close(series, '}');
	}
}

static void put_memory_values(assay_page *p, page_column *value)
{
	const assay_tables *t = &p->run->part.t;
	for (size_t i = 0; i < t->memory_point.n; i++)
		if (is_series(&t->memory_held, t->memory_point.memory[i]))
			assay_column_f64(value, (double)t->memory_point.held[i]);
}

/* Samples of one counter of one track stand together, in time order. */
void assay_page_samples(assay_page *p, assay_jsonw *series)
{
	const assay_counter_table *c = &p->run->part.t.counter;
	const assay_track_table *track = &p->run->part.t.track;
	assay_map of = {0};
	assay_vec(uint32_t) list = {0}; /* first row of each series */
	uint32_t *row = assay_alloc(&p->scratch, (c->n + 1) * sizeof *row),
		 *next = no_rows(p, c->n), *tail = no_rows(p, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		row[i] = i;
	assay_sort_rows(row, c->n, c->ts);
	for (size_t i = 0; i < c->n; i++) {
		uint32_t r = row[i];
		uint32_t *slot = assay_map_at(&of, (uint64_t)c->track[r] << 32 | c->name[r]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)list.n;
			*assay_push(&list) = r;
		} else {
			next[tail[*slot]] = r;
		}
		tail[*slot] = r;
	}
	page_column time = assay_column_begin(p, "sample.time", "delta");
	assay_jsonw_open(series, "series", '[');
	for (size_t i = 0; i < list.n; i++) {
		uint32_t r = list.p[i], tr = c->track[r];
		uint32_t source = tr < track->n ? track->source[tr] : ASSAY_NO_ROW;
		size_t before = time.n;
		for (; r != ASSAY_NO_ROW; r = next[r])
			assay_column_i64(&time, assay_page_time(p, source, c->ts[r]));
		assay_jsonw_open_flat(series, NULL, '{');
		assay_jsonw_i64(series, "track", tr < track->n ? (int64_t)tr : -1);
		assay_jsonw_str(series, "name", assay_text(p->run, c->name[list.p[i]]));
		assay_jsonw_u64(series, "first", before);
		assay_jsonw_u64(series, "n", time.n - before);
		assay_jsonw_close(series, '}');
	}
	put_memory_times(p, series, &time);
	assay_jsonw_close(series, ']');
	assay_column_end(&time);
	page_column value = assay_column_begin(p, "sample.value", "f64");
	for (size_t i = 0; i < list.n; i++)
		for (uint32_t r = list.p[i]; r != ASSAY_NO_ROW; r = next[r])
			assay_column_f64(&value, c->value[r]);
	put_memory_values(p, &value);
	assay_column_end(&value);
	assay_vec_free(&list);
	assay_map_free(&of);
}

TEST(overlapping_work_takes_another_lane)
{
	const int64_t ts[] = {0, 5, 12, 12}, dur[] = {10, 15, 2, 3};
	const uint32_t row[] = {0, 1, 2, 3};
	uint16_t depth[4];
	struct spans s = {.ts = ts, .dur = dur, .n = 4};
	CHECK_EQ(assign(&s, row, 4, depth), 3);
	CHECK(depth[0] == 0 && depth[1] == 1 && depth[2] == 0 && depth[3] == 2);
	s.nests = true; /* 12 still lies inside the span from 5 to 20 */
	CHECK_EQ(assign(&s, row, 4, depth), 4);
	CHECK(depth[1] == 1 && depth[2] == 2 && depth[3] == 3);
	return 0;
}

TEST(spans_that_overlap_in_a_chain_are_no_stairs)
{
	const int64_t ts[] = {0, 10, 19, 21, 28, 37, 46}, dur[] = {100, 10, 10, 5, 10, 10, 10};
	const uint32_t row[] = {0, 1, 2, 3, 4, 5, 6};
	const uint16_t want[] = {0, 1, 2, 3, 1, 2, 1};
	uint16_t depth[7];
	struct spans s = {.ts = ts, .dur = dur, .n = 7, .nests = true};
	CHECK_EQ(assign(&s, row, 7, depth), 4);
	CHECK(!memcmp(depth, want, sizeof want));
	return 0;
}

TEST(kinds_of_host_spans_are_in_one_set_of_lanes_each)
{
	CHECK_EQ(RANGE_KINDS | FRAME_KINDS | CALL_KINDS, (1u << ASSAY_HOST_KIND_COUNT) - 1);
	CHECK(!(RANGE_KINDS & FRAME_KINDS) && !(CALL_KINDS & (RANGE_KINDS | FRAME_KINDS)));
	return 0;
}

TEST(equal_starts_put_the_longest_first)
{
	const int64_t ts[] = {7, 7, 3, 7}, dur[] = {1, 9, 1, 4};
	uint32_t row[] = {0, 1, 2, 3};
	sort_by_start(&(struct spans){.ts = ts, .dur = dur, .n = 4}, row);
	CHECK(row[0] == 2 && row[1] == 1 && row[2] == 3 && row[3] == 0);
	return 0;
}

/* Rows beside a stream's. Work on a stream may overlap (kernels of a graph, of several hardware
 * queues), and viewers draw what nests: Perfetto drops a span that ends after the one around it.
 * Such work has a row of its own below; which stream it is of stands in its arguments. */
#include "write/chrome.h"

#include "base/group.h"
#include "base/num.h"
#include "base/sort.h"
#include "base/test.h"

enum {
	LANES = 8,             /* what overlaps more is drawn on the last one */
	LANE_STEP = 100000000, /* between rows of a stream; below those of threads that were seen */
	DEEPEST = 64,          /* spans around one another */
};

typedef struct nest {
	int64_t end[DEEPEST]; /* of what is open, outermost first */
	unsigned open;
} nest;

static bool fits(nest *l, int64_t ts, int64_t end)
{
	while (l->open && l->end[l->open - 1] <= ts)
		l->open--;
	if (l->open == DEEPEST || (l->open && l->end[l->open - 1] < end))
		return false;
	l->end[l->open++] = end;
	return true;
}

static uint64_t moved_key(uint32_t track, int64_t ts)
{
	int64_t key[] = {track, ts};
	return assay_hash(key, sizeof key, 0);
}

static void place(chrome_out *c, uint32_t g, nest *lanes)
{
	const assay_gpu_table *t = &c->t->gpu;
	int64_t ts = t->ts[g], end = assay_gpu_end(t, g);
	uint8_t k = 0;
	while (k < LANES - 1 && !fits(&lanes[k], ts, end))
		k++;
	c->lane[g] = k;
	if (k)
		*assay_map_at(&c->moved, moved_key(t->track[g], ts)) = k;
}

void chrome_find_overlaps(chrome_out *c, assay_arena *arena)
{
	const assay_gpu_table *t = &c->t->gpu;
	size_t tracks = c->t->track.n;
	uint32_t *row = assay_alloc(arena, (t->n + 1) * sizeof *row);
	size_t *first = assay_alloc(arena, (tracks + 1) * sizeof *first);
	nest *lanes = assay_alloc(arena, LANES * sizeof *lanes);
	c->lane = assay_alloc(arena, t->n + 1);
	assay_group_rows(row, first, NULL, t->n, t->track, tracks);
	for (size_t k = 0; k < tracks; k++) {
		assay_sort_spans(row + first[k], first[k + 1] - first[k], t->ts, t->dur);
		for (int l = 0; l < LANES; l++)
			lanes[l].open = 0;
		for (size_t i = first[k]; i < first[k + 1]; i++)
			place(c, row[i], lanes);
	}
}

unsigned chrome_moved(const chrome_out *c, uint32_t track, int64_t ts)
{
	uint32_t k = assay_map_get(&c->moved, moved_key(track, ts));
	return k == ASSAY_MAP_ABSENT ? 0 : k;
}

/* A stream that is not a number has its row at its absolute value, as Kineto does. */
int64_t chrome_stream_row(int64_t stream, unsigned lane)
{
	int64_t row = stream < 0 ? assay_wrap_sub(0, stream) : stream;
	return lane ? row % LANE_STEP + (int64_t)lane * LANE_STEP : row;
}

void chrome_name_overlaps(chrome_out *c)
{
	const assay_gpu_table *t = &c->t->gpu;
	const assay_track_table *k = &c->t->track;
	assay_map named = {0};
	for (uint32_t g = 0; g < t->n; g++) {
		uint32_t track = t->track[g];
		if (!c->lane[g])
			continue;
		uint32_t *slot = assay_map_at(&named, moved_key(track, c->lane[g]));
		if (*slot != ASSAY_MAP_ABSENT)
			continue;
		*slot = 1;
		chrome_begin(c, 'M', (assay_str){0}, ASSAY_S("thread_name"));
		chrome_place(c, k->source[track], k->pid[track],
			     chrome_stream_row(k->tid[track], c->lane[g]));
		assay_jsonw_open(&c->w, "args", '{');
		assay_jsonw_z(&c->w, "name",
			      assay_printf(&c->scratch, "stream %lld (%u)",
					   (long long)k->tid[track], c->lane[g] + 1u));
		assay_jsonw_u64(&c->w, "assay_derived", 1);
		assay_jsonw_close(&c->w, '}');
		chrome_end(c);
	}
	assay_map_free(&named);
}

TEST(streams_of_any_number_have_a_row)
{
	CHECK(chrome_stream_row(-7, 0) == 7 && chrome_stream_row(7, 2) == 7 + 2 * LANE_STEP);
	CHECK(chrome_stream_row(INT64_MIN, 0) == INT64_MIN);
	return 0;
}

TEST(spans_that_cross_do_not_fit_and_those_that_nest_do)
{
	nest l = {.open = 0};
	CHECK(fits(&l, 0, 10) && fits(&l, 2, 10) && fits(&l, 3, 4));
	CHECK(!fits(&l, 5, 11) && fits(&l, 10, 11) && l.open == 1);
	CHECK_EQ(chrome_stream_row(-7, 0), 7);
	CHECK_EQ(chrome_stream_row(14, 2), 200000014);
	return 0;
}

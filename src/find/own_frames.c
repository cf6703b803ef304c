#include "find/own_frames.h"

#include "analyze/idle_where.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/by_name.h"

/* Frames of one thread, by start. */
struct lane {
	uint32_t *row, *around; /* row of host; the frame it lies in, by place, or ASSAY_NO_ROW */
	size_t n;
};

struct assay_own_frames {
	const assay_run *run;
	struct lane *of_track;
};

/* Rows of the program's own frames; out has room for all. */
static size_t own_rows(const assay_run *run, uint32_t *out)
{
	const assay_host_table *h = &run->part.t.host;
	assay_arena scratch = {0};
	assay_by_name own = assay_by_name_open(run, &scratch, assay_is_own_frame);
	size_t n = 0;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->kind[i] == ASSAY_HOST_PYTHON && assay_by_name_ask(&own, h->name[i]))
			out[n++] = i;
	assay_arena_free(&scratch);
	return n;
}

static void nest(const assay_host_table *h, struct lane *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t up = i ? i - 1 : ASSAY_NO_ROW;
		while (up != ASSAY_NO_ROW &&
		       assay_host_end(h, l->row[up]) < assay_host_end(h, l->row[i]))
			up = l->around[up];
		l->around[i] = up;
	}
}

const assay_own_frames *assay_own_frames_find(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	if (!t->frame.n)
		return NULL;
	uint32_t *row = assay_alloc(a, (t->host.n + 1) * sizeof *row);
	size_t n = own_rows(run, row);
	if (!n)
		return NULL;
	assay_own_frames *f = assay_alloc(a, sizeof *f);
	*f = (assay_own_frames){run, assay_alloc(a, (t->track.n + 1) * sizeof *f->of_track)};
	assay_sort_rows(row, n, t->host.ts);
	for (size_t i = 0; i < n; i++)
		f->of_track[t->host.track[row[i]]].n++;
	for (size_t i = 0; i < t->track.n; i++) {
		struct lane *l = &f->of_track[i];
		l->row = assay_alloc(a, (l->n + 1) * sizeof *l->row);
		l->around = assay_alloc(a, (l->n + 1) * sizeof *l->around);
		l->n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct lane *l = &f->of_track[t->host.track[row[i]]];
		l->row[l->n++] = row[i];
	}
	for (size_t i = 0; i < t->track.n; i++)
		nest(&t->host, &f->of_track[i]);
	return f;
}

/* Row of host; ASSAY_NO_ROW when there is none. */
static uint32_t frame_at(const assay_own_frames *f, uint32_t track, int64_t now)
{
	const assay_host_table *h = &f->run->part.t.host;
	const struct lane *l = &f->of_track[track];
	size_t begun = assay_rows_until(l->row, l->n, h->ts, now);
	uint32_t at = begun ? (uint32_t)begun - 1 : ASSAY_NO_ROW;
	while (at != ASSAY_NO_ROW && assay_host_end(h, l->row[at]) < now)
		at = l->around[at];
	return at == ASSAY_NO_ROW ? ASSAY_NO_ROW : l->row[at];
}

uint32_t assay_own_frame_of(const assay_run *run, const assay_find_ctx *c, uint32_t host)
{
	const assay_host_table *h = &run->part.t.host;
	return c->frames ? frame_at(c->frames, h->track[host], h->ts[host]) : ASSAY_NO_ROW;
}

bool assay_own_line_of_cause(const assay_run *run, const assay_find_ctx *c, int cause,
			     assay_sid name, assay_where *where)
{
	const assay_tables *t = &run->part.t;
	assay_idle_tally tally = {0};
	int64_t all = 0;
	if (!c->frames)
		return false;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t row = t->gap_part.during[i];
		if (t->gap_part.cause[i] != cause || row == ASSAY_NO_ROW ||
		    t->host.name[row] != name ||
		    !assay_gap_in_window(&t->gap, c->w, t->gap_part.gap[i]))
			continue;
		uint32_t own = assay_own_frame_of(run, c, row);
		all += t->gap_part.longest[i];
		if (own == ASSAY_NO_ROW)
			continue;
		assay_idle_name one = {t->host.name[own], own, t->gap_part.longest[i]};
		assay_idle_tally_add(&tally, one.name, one);
	}
	assay_idle_name best = assay_idle_tally_end(&tally);
	return best.time * 2 > all &&
	       assay_frame_where(c->scratch, assay_text(run, best.name), where);
}

bool assay_own_line_of(const assay_run *run, const assay_find_ctx *c, uint32_t host,
		       assay_where *where)
{
	uint32_t own = assay_own_frame_of(run, c, host);
	return own != ASSAY_NO_ROW &&
	       assay_frame_where(c->scratch, assay_text(run, run->part.t.host.name[own]), where);
}

bool assay_own_line_of_work(const assay_run *run, const assay_find_ctx *c, uint32_t gpu,
			    assay_where *where)
{
	uint32_t call = run->part.t.launch.host[gpu];
	return call != ASSAY_NO_ROW && assay_own_line_of(run, c, call, where);
}

TEST(the_innermost_frame_of_the_program_is_where_a_thread_is)
{
	assay_run *run = assay_run_new();
	assay_arena a = {0};
	assay_tables *t = &run->part.t;
	CHECK(!assay_own_frames_find(run, &a));
	assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(10): main", 0, 100);
	uint32_t step = assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(20): step", 10, 50);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "torch/nn/modules/linear.py(1): forward", 12, 20);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(30): helper", 40, 5);
	CHECK(!assay_own_frames_find(run, &a)); /* frames without their table */
	assay_add(t, ASSAY_T_frame);
	const assay_own_frames *f = assay_own_frames_find(run, &a);
	uint32_t track = t->host.track[0];
	CHECK(f && frame_at(f, track, 15) == step);
	CHECK(frame_at(f, track, 42) == 3 && frame_at(f, track, 50) == step);
	CHECK(frame_at(f, track, 70) == 0);
	CHECK_EQ(frame_at(f, track, 200), ASSAY_NO_ROW);
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

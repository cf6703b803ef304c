/* A part of a gap has no place of its own in the gap: its time is shared out over the frames of
 * its cause that the launching thread was in from the beginning of the gap to the launch that
 * ends it. */
#include "find/frame_time.h"

#include "analyze/host_cause.h"
#include "base/group.h"
#include "base/sort.h"
#include "base/test.h"
#include "find/detour.h"
#include "model/by_hand.h"
#include "model/by_name.h"

/* What a cause has of a gap, on the thread that ends the gap. */
struct piece {
	uint32_t track;
	int64_t from, to, dur;
};

/* Others of these by their places; what a frame says of its cause holds for those inside it. */
struct frame {
	uint32_t row, depth;
	uint32_t up; /* the one it lies in; ASSAY_NO_ROW: none */
	uint32_t
		own; /* the innermost one of the program itself, from here outwards; ASSAY_NO_ROW */
	assay_why cause;
	unsigned way; /* through libraries: the innermost, from here outwards; assay_detours */
	int64_t time; /* of the cause, in this frame and in no other inside it */
};

struct share {
	uint32_t frame;
	int64_t time;
};

struct sweep {
	const assay_run *run;
	assay_why cause;
	assay_arena scratch;
	assay_by_name is_own, way;
	assay_vec(struct piece) pieces; /* by time, for gaps of a device follow each other */
	struct piece *piece;            /* the same by thread, then time */
	size_t *first;                  /* of a track: where its pieces begin there */
	assay_vec(struct frame) frames; /* those around others first */
	uint32_t open;                  /* the innermost frame at hand; ASSAY_NO_ROW */
	assay_vec(struct share) shares; /* of the piece at hand */
	int64_t all;
};

static void add_piece(struct sweep *s, uint32_t gpu, int64_t from, int64_t dur)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t launch = t->launch.host[gpu];
	if (launch != ASSAY_NO_ROW && t->host.ts[launch] > from && dur > 0)
		*assay_push(&s->pieces) =
			(struct piece){t->host.track[launch], from, t->host.ts[launch], dur};
}

static void find_pieces(struct sweep *s, const assay_window *w, int cause)
{
	const assay_tables *t = &s->run->part.t;
	if (w->lead[cause] > 0)
		add_piece(s, w->lead_gpu, w->from, w->lead[cause]);
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if (t->gap_part.cause[i] == cause && assay_gap_in_window(&t->gap, w, gap))
			add_piece(s, t->gap.gpu[gap], t->gap.ts[gap], t->gap_part.dur[i]);
	}
}

/* Those of a thread beside each other. */
static void group_pieces(struct sweep *s)
{
	size_t n = s->pieces.n, tracks = s->run->part.t.track.n;
	uint32_t *track = assay_alloc(&s->scratch, (n + 1) * sizeof *track);
	uint32_t *row = assay_alloc(&s->scratch, (n + 1) * sizeof *row);
	s->piece = assay_alloc(&s->scratch, (n + 1) * sizeof *s->piece);
	s->first = assay_alloc(&s->scratch, (tracks + 1) * sizeof *s->first);
	for (size_t i = 0; i < n; i++)
		track[i] = s->pieces.p[i].track;
	assay_group_rows(row, s->first, NULL, n, track, tracks);
	for (size_t i = 0; i < n; i++)
		s->piece[i] = s->pieces.p[row[i]];
}

static bool touches_a_piece(const struct sweep *s, uint32_t row)
{
	const assay_host_table *h = &s->run->part.t.host;
	size_t first = s->first[h->track[row]], n = s->first[h->track[row] + 1] - first;
	const struct piece *p = s->piece + first;
	size_t i = assay_count_until(&p->to, sizeof *p, n, h->ts[row]);
	return i < n && p[i].from < assay_host_end(h, row);
}

static int64_t end_of(const struct sweep *s, uint32_t frame)
{
	return assay_host_end(&s->run->part.t.host, s->frames.p[frame].row);
}

static void close_frames(struct sweep *s, int64_t now)
{
	while (s->open != ASSAY_NO_ROW && end_of(s, s->open) <= now)
		s->open = s->frames.p[s->open].up;
}

static void open_frame(struct sweep *s, uint32_t row)
{
	const assay_host_table *h = &s->run->part.t.host;
	struct frame f = {.row = row,
			  .up = s->open,
			  .own = ASSAY_NO_ROW,
			  .cause = ASSAY_WHY_HOST_PYTHON,
			  .way = assay_by_name_ask(&s->way, h->name[row])};
	uint32_t place = (uint32_t)s->frames.n;
	if (s->open != ASSAY_NO_ROW) {
		const struct frame *up = &s->frames.p[s->open];
		f.depth = up->depth + 1;
		f.own = up->own;
		f.cause = up->cause;
		f.way = assay_detour_inside(up->way, f.way);
	}
	if (assay_by_name_ask(&s->is_own, h->name[row]))
		f.own = place;
	if (f.cause == ASSAY_WHY_HOST_PYTHON)
		f.cause = assay_host_row_cause(s->run, row);
	*assay_push(&s->frames) = f;
	s->open = place;
}

/* Opens and closes what does so up to now; gives the next row. */
static size_t go_to(struct sweep *s, const uint32_t *row, size_t next, size_t n, int64_t now)
{
	const int64_t *ts = s->run->part.t.host.ts;
	for (; next < n && ts[row[next]] <= now; next++) {
		close_frames(s, ts[row[next]]);
		open_frame(s, row[next]);
	}
	close_frames(s, now);
	return next;
}

static void share_out(struct sweep *s, const struct piece *p)
{
	int64_t inside = 0;
	for (size_t i = 0; i < s->shares.n; i++)
		inside += s->shares.p[i].time;
	for (size_t i = 0; i < s->shares.n; i++) {
		double part = (double)s->shares.p[i].time / (double)inside;
		int64_t time = (int64_t)(part * (double)p->dur);
		s->frames.p[s->shares.p[i].frame].time += time;
		s->all += time;
	}
	s->shares.n = 0;
}

/* Rows of one thread, by start, against its pieces. */
static void sweep_track(struct sweep *s, uint32_t track, const uint32_t *row, size_t n)
{
	const int64_t *ts = s->run->part.t.host.ts;
	size_t next = 0;
	s->open = ASSAY_NO_ROW;
	for (size_t i = s->first[track]; i < s->first[track + 1]; i++) {
		const struct piece *p = &s->piece[i];
		for (int64_t now = p->from; now < p->to;) {
			next = go_to(s, row, next, n, now);
			int64_t until = next < n && ts[row[next]] < p->to ? ts[row[next]] : p->to;
			if (s->open != ASSAY_NO_ROW) {
				until = end_of(s, s->open) < until ? end_of(s, s->open) : until;
				if (s->frames.p[s->open].cause == s->cause)
					*assay_push(&s->shares) =
						(struct share){s->open, until - now};
			}
			now = until;
		}
		share_out(s, p);
	}
}

static void sweep_frames(struct sweep *s)
{
	const assay_tables *t = &s->run->part.t;
	uint32_t *row = assay_alloc(&s->scratch, (t->host.n + 1) * sizeof *row);
	uint32_t *by_track = assay_alloc(&s->scratch, (t->host.n + 1) * sizeof *by_track);
	size_t *first = assay_alloc(&s->scratch, (t->track.n + 1) * sizeof *first), n = 0;
	group_pieces(s);
	for (uint32_t i = 0; i < t->host.n; i++)
		if (t->host.kind[i] == ASSAY_HOST_PYTHON && touches_a_piece(s, i))
			row[n++] = i;
	assay_sort_spans(row, n, t->host.ts, t->host.dur);
	assay_group_rows(by_track, first, row, n, t->host.track, t->track.n);
	for (uint32_t k = 0; k < t->track.n; k++)
		if (first[k] < first[k + 1])
			sweep_track(s, k, by_track + first[k], first[k + 1] - first[k]);
}

static assay_idle_name own_of(const struct sweep *s)
{
	const assay_sid *name = s->run->part.t.host.name;
	assay_idle_tally tally = {0};
	for (size_t i = 0; i < s->frames.n; i++) {
		const struct frame *f = &s->frames.p[i];
		if (!f->time || f->own == ASSAY_NO_ROW)
			continue;
		uint32_t row = s->frames.p[f->own].row;
		assay_idle_tally_add(&tally, name[row], (assay_idle_name){name[row], row, f->time});
	}
	return assay_idle_tally_end(&tally);
}

static unsigned way_of(struct sweep *s)
{
	int64_t *time = assay_alloc(&s->scratch, (assay_detours + 1u) * sizeof *time);
	unsigned best = assay_detours;
	for (size_t i = 0; i < s->frames.n; i++)
		time[s->frames.p[i].way] += s->frames.p[i].time;
	for (unsigned k = 0; k < assay_detours; k++)
		if (assay_detour_says(k) && assay_detour_has_enough(time[k], s->all) &&
		    (best == assay_detours || time[k] > time[best]))
			best = k;
	return best;
}

/* Frames get what those inside them have. */
static void add_up(struct sweep *s)
{
	for (size_t i = s->frames.n; i-- > 0;)
		if (s->frames.p[i].up != ASSAY_NO_ROW)
			s->frames.p[s->frames.p[i].up].time += s->frames.p[i].time;
}

/* Places of frames with time, those of a depth after those above them. first[d]: where depth d
 * begins; gives how many depths there are. */
static size_t by_depth(struct sweep *s, uint32_t **place, size_t **first)
{
	size_t depths = 0;
	for (size_t i = 0; i < s->frames.n; i++)
		if (s->frames.p[i].time && s->frames.p[i].depth >= depths)
			depths = s->frames.p[i].depth + 1;
	*place = assay_alloc(&s->scratch, (s->frames.n + 1) * sizeof **place);
	*first = assay_alloc(&s->scratch, (depths + 2) * sizeof **first);
	size_t *next = *first + 1;
	for (size_t i = 0; i < s->frames.n; i++)
		if (s->frames.p[i].time)
			next[s->frames.p[i].depth + 1]++;
	for (size_t d = 0; d < depths; d++)
		next[d + 1] += next[d];
	for (size_t i = 0; i < s->frames.n; i++)
		if (s->frames.p[i].time)
			(*place)[next[s->frames.p[i].depth]++] = (uint32_t)i;
	return depths;
}

/* Calls a function that it was given, and says nothing of what is done. */
static bool only_calls(assay_str frame)
{
	static const char *const files[] = {"torch/nn/modules/module.py(", "contextlib.py(",
					    "functools.py(", "torch/utils/_contextlib.py("};
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++)
		if (assay_str_starts(frame, files[i]))
			return true;
	return false;
}

/* Down the calls, as long as one name has much of the time. */
static assay_idle_name deepest_of(struct sweep *s)
{
	const assay_sid *name = s->run->part.t.host.name;
	uint32_t *place;
	size_t *first, depths;
	add_up(s);
	depths = by_depth(s, &place, &first);
	bool *on_the_way = assay_alloc(&s->scratch, s->frames.n + 1);
	assay_idle_name found = {0};
	for (size_t d = 0; d < depths; d++) {
		assay_idle_tally tally = {0};
		for (size_t i = first[d]; i < first[d + 1]; i++) {
			const struct frame *f = &s->frames.p[place[i]];
			if (f->up == ASSAY_NO_ROW || on_the_way[f->up])
				assay_idle_tally_add(
					&tally, name[f->row],
					(assay_idle_name){name[f->row], f->row, f->time});
		}
		assay_idle_name best = assay_idle_tally_end(&tally);
		if (best.time * 5 <= s->all * 2)
			break;
		for (size_t i = first[d]; i < first[d + 1]; i++) {
			const struct frame *f = &s->frames.p[place[i]];
			on_the_way[place[i]] = name[f->row] == best.name &&
					       (f->up == ASSAY_NO_ROW || on_the_way[f->up]);
		}
		if (!only_calls(assay_text(s->run, best.name)))
			found = best;
	}
	return found;
}

assay_frame_time assay_frame_time_of(const assay_run *run, const assay_window *w, int cause)
{
	struct sweep s = {.run = run, .cause = (assay_why)cause};
	s.is_own = assay_by_name_open(run, &s.scratch, assay_is_own_frame);
	s.way = assay_by_name_open(run, &s.scratch, assay_detour_of_frame);
	find_pieces(&s, w, cause);
	if (s.pieces.n && run->part.t.frame.n)
		sweep_frames(&s);
	assay_frame_time out = {.all = s.all, .own = own_of(&s), .way = way_of(&s)};
	out.deepest = deepest_of(&s);
	assay_vec_free(&s.pieces);
	assay_vec_free(&s.frames);
	assay_vec_free(&s.shares);
	assay_arena_free(&s.scratch);
	return out;
}

TEST(time_of_a_cause_is_shared_out_over_the_frames_of_its_gap)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_window w = {.from = 0, .to = 1000};
	assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(1): main", 0, 1000);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "torch/utils/data/_utils/fetch.py(25): fetch", 100,
			100);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "mydata.py(9): sharpen", 110, 80);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "<built-in method correlate>", 110, 60);
	uint32_t launch = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 200, 10);
	uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_DATA, 50, 170);
	t->gap.gpu[gap] = assay_hand_gpu(run, "k", 220, 5, launch);
	assay_frame_time f = assay_frame_time_of(run, &w, ASSAY_WHY_HOST_DATA);
	CHECK_EQ(f.all, 0); /* frames without their table */
	assay_add(t, ASSAY_T_frame);
	f = assay_frame_time_of(run, &w, ASSAY_WHY_HOST_DATA);
	CHECK(f.all > 165 && f.all <= 170);
	CHECK(assay_str_is(assay_text(run, f.own.name), "mydata.py(9): sharpen"));
	CHECK_EQ(f.own.time, 170 * 60 / 100 + 170 * 20 / 100);
	CHECK(assay_str_is(assay_text(run, f.deepest.name), "<built-in method correlate>"));
	CHECK_EQ(f.deepest.time, 170 * 60 / 100);
	CHECK_EQ(f.way, assay_detours);
	CHECK_EQ(assay_frame_time_of(run, &w, ASSAY_WHY_HOST_PYTHON).all, 0);
	t->gap_part.cause[gap] = ASSAY_WHY_HOST_PYTHON; /* what is not in the loader */
	f = assay_frame_time_of(run, &w, ASSAY_WHY_HOST_PYTHON);
	CHECK(assay_str_is(assay_text(run, f.deepest.name), "train.py(1): main"));
	assay_run_free(run);
	return 0;
}

TEST(a_way_through_libraries_has_a_third_of_the_time_or_says_nothing)
{
	for (int64_t print = 30; print <= 60; print += 30) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		assay_window w = {.from = 0, .to = 1000};
		assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(1): main", 0, 1000);
		assay_hand_host(run, ASSAY_HOST_PYTHON, "torch/_tensor_str.py(700): _str", 60,
				print);
		assay_hand_host(run, ASSAY_HOST_PYTHON, "torch/_tensor.py(1): tolist", 61,
				print - 2);
		uint32_t launch =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", 200, 10);
		uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_PYTHON, 50, 150);
		t->gap.gpu[gap] = assay_hand_gpu(run, "k", 220, 5, launch);
		assay_add(t, ASSAY_T_frame);
		assay_frame_time f = assay_frame_time_of(run, &w, ASSAY_WHY_HOST_PYTHON);
		CHECK_EQ(f.way < assay_detours, print == 60);
		assay_run_free(run);
	}
	return 0;
}

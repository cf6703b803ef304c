/* Looks at host threads with their stacks, and lines that show both as spans. */
#include <inttypes.h>

#include "base/sort.h"
#include "model/stacks.h"
#include "write/lanes.h"
#include "write/xplane.h"

/* Without its brackets: what looks like an object is not written in place. */
static assay_str members_of(assay_jsonw *object)
{
	assay_str text = assay_jsonw_text(object);
	return (assay_str){text.p + 1, text.n - 2};
}

static void put_frames(xplane_writer *w, xplane_out *p)
{
	assay_jsonw text = {.compact = true};
	assay_jsonw_open(&text, NULL, '{');
	assay_frames_put(&text, w->run);
	assay_jsonw_close(&text, '}');
	xplane_plane_text(p, ASSAY_S(XPLANE_FRAMES), members_of(&text));
	assay_jsonw_free(&text);
}

static void put_look(xplane_writer *w, xplane_out *p, assay_jsonw *text, uint32_t row)
{
	const assay_sample_table *s = &w->t->sample;
	uint32_t track = s->track[row];
	text->out.n = 0;
	text->comma = false;
	assay_jsonw_open(text, NULL, '{');
	assay_look_put(text, w->run, row);
	assay_look_put_calls(text, w->run, row);
	assay_jsonw_close(text, '}');
	xplane_put_ref(p, "cat", ASSAY_S(ASSAY_LOOK_CATEGORY));
	xplane_put_str(p, xplane_stat_name[XPLANE_LOOK], members_of(text));
	if (s->stack[row] != ASSAY_NO_ROW)
		xplane_put_i64(p, xplane_stat_name[XPLANE_STACK], (int64_t)s->stack[row] + 1);
	xplane_put_thread(w, p, track);
	xplane_end_event(p, assay_str_of(assay_look_name(&w->scratch, w->run, row)),
			 xplane_time(w, track, s->ts[row]), s->dur[row] > 0 ? s->dur[row] : 0);
}

/* Rows of sample by thread, then time. */
static uint32_t *ordered_looks(const assay_sample_table *s)
{
	uint32_t *row = assay_pages_grow(NULL, s->n * sizeof *row + 1);
	int64_t *thread = assay_pages_grow(NULL, s->n * sizeof *thread + 1);
	for (uint32_t i = 0; i < s->n; i++) {
		row[i] = i;
		thread[i] = s->track[i];
	}
	assay_sort_rows(row, s->n, s->ts);
	assay_sort_rows(row, s->n, thread);
	assay_pages_free(thread);
	return row;
}

void xplane_write_looks(xplane_writer *w)
{
	const assay_sample_table *s = &w->t->sample;
	const assay_track_table *t = &w->t->track;
	if (!w->t->stack.n && !s->n)
		return;
	xplane_out p = {.w = w};
	assay_jsonw text = {.compact = true};
	uint32_t *row = ordered_looks(s);
	int64_t line = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t track = s->track[row[i]];
		put_look(w, &p, &text, row[i]);
		if (i + 1 < s->n && s->track[row[i + 1]] == track)
			continue;
		const char *name = assay_printf(
			&w->scratch, "looks at process %" PRId64 ", thread %" PRId64 " %s",
			t->pid[track], t->tid[track], assay_text(w->run, t->name[track]).p);
		xplane_end_line(&p, ++line, 0, assay_str_of(name));
	}
	put_frames(w, &p);
	xplane_name_group(w, &p);
	xplane_end_plane(&p, w->out, XPLANE_BESIDE_LAST, ASSAY_S(XPLANE_LOOKS), (assay_str){0});
	assay_jsonw_free(&text);
	assay_pages_free(row);
}

/* "$train.py:12 step", as Python tracers of this format call functions; the line is where the
 * function begins. */
static const char *span_name(xplane_writer *w, const assay_lane_span *s)
{
	const assay_tables *t = w->t;
	uint32_t code = s->stack == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->stack.code[s->stack];
	if (code == ASSAY_NO_ROW || t->code.kind[code] != ASSAY_CODE_PYTHON)
		return assay_lane_name(&w->scratch, w->run, s);
	assay_str file = assay_text(w->run, t->code.file[code]);
	size_t folder = assay_str_folder(file).n;
	assay_str function = assay_text(w->run, t->code.function[code]);
	return assay_printf(&w->scratch, "$%.*s:%d %.*s", (int)(file.n - folder), file.p + folder,
			    t->code.line[code], (int)function.n, function.p);
}

void xplane_put_lanes(xplane_writer *w, xplane_out *p, xplane_next_line *next, void *ctx)
{
	assay_lanes lanes = {0};
	assay_lanes_make(w->run, &lanes);
	for (size_t i = 0; i < lanes.n; i++) {
		const assay_lane_span *s = &lanes.p[i];
		xplane_end_event(p, assay_str_of(span_name(w, s)), xplane_time(w, s->track, s->ts),
				 s->dur);
		if (i + 1 < lanes.n && s[1].track == s->track)
			continue;
		const char *name = assay_printf(&w->scratch, "Host Threads/%" PRId64 XPLANE_LANE,
						w->thread.p[s->track]);
		xplane_end_line(p, next(ctx), 0, assay_str_of(name));
	}
	assay_vec_free(&lanes);
}

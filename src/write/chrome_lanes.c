/* Stacks, looks at threads, and rows that show both as spans. */
#include "write/chrome.h"

#include "model/stacks.h"

void chrome_put_stack(chrome_out *c, uint32_t stack)
{
	if (stack != ASSAY_NO_ROW)
		assay_jsonw_u64(&c->w, "sf", (uint64_t)stack + 1);
}

void chrome_put_stacks(chrome_out *c)
{
	if (!c->t->stack.n)
		return;
	assay_jsonw_open(&c->w, "stackFrames", '{');
	assay_frames_put(&c->w, c->run);
	assay_jsonw_close(&c->w, '}');
}

void chrome_put_look(chrome_out *c, uint32_t i)
{
	const assay_sample_table *s = &c->t->sample;
	chrome_begin(c, 'P', ASSAY_S(ASSAY_LOOK_CATEGORY),
		     assay_str_of(assay_look_name(&c->scratch, c->run, i)));
	chrome_at(c, s->track[i], s->ts[i]);
	chrome_put_stack(c, s->stack[i]);
	assay_jsonw_open(&c->w, "args", '{');
	assay_look_put(&c->w, c->run, i);
	assay_look_put_calls(&c->w, c->run, i);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
	assay_arena_reset(&c->scratch);
}

/* Threads that have only a name have no row beside theirs. */
static bool has_row(const chrome_out *c, uint32_t track)
{
	return c->t->track.pid[track] >= 0 && c->tid[track] >= 0;
}

static void put_row(chrome_out *c, uint32_t track)
{
	const assay_track_table *t = &c->t->track;
	chrome_place(c, t->source[track], t->pid[track], c->tid[track] + ASSAY_LANE_ROW);
}

static void name_lane(chrome_out *c, uint32_t track)
{
	assay_str name = assay_text(c->run, c->t->track.name[track]);
	const char *text =
		name.n ? assay_printf(&c->scratch, "%.*s (seen)", (int)name.n, name.p) : "(seen)";
	chrome_begin(c, 'M', (assay_str){0}, ASSAY_S("thread_name"));
	put_row(c, track);
	assay_jsonw_open(&c->w, "args", '{');
	assay_jsonw_z(&c->w, "name", text);
	assay_jsonw_u64(&c->w, "assay_derived", 1);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
	assay_arena_reset(&c->scratch);
}

void chrome_name_lanes(chrome_out *c)
{
	const assay_lane_span *s = c->lanes.p;
	for (size_t i = 0; i < c->lanes.n; i++)
		if ((!i || s[i].track != s[i - 1].track) && has_row(c, s[i].track))
			name_lane(c, s[i].track);
}

void chrome_put_lane_span(chrome_out *c, uint32_t i)
{
	const assay_lane_span *s = &c->lanes.p[i];
	bool python = s->stack != ASSAY_NO_ROW &&
		      c->t->code.kind[c->t->stack.code[s->stack]] == ASSAY_CODE_PYTHON;
	if (!has_row(c, s->track))
		return;
	chrome_begin(c, 'X', python ? ASSAY_S("python_function") : ASSAY_S("thread_state"),
		     assay_str_of(assay_lane_name(&c->scratch, c->run, s)));
	put_row(c, s->track);
	chrome_time(c, "ts", chrome_shifted(c, c->t->track.source[s->track], s->ts));
	chrome_time(c, "dur", s->dur);
	assay_jsonw_open(&c->w, "args", '{');
	if (python) {
		assay_jsonw_u64(&c->w, "Python id", i);
		if (s->parent != ASSAY_NO_ROW)
			assay_jsonw_u64(&c->w, "Python parent id", s->parent);
	} else if (s->stack == ASSAY_NO_ROW && c->t->sample.file[s->sample]) {
		assay_jsonw_str(&c->w, "file", assay_text(c->run, c->t->sample.file[s->sample]));
	}
	assay_jsonw_u64(&c->w, "assay_derived", 1);
	assay_jsonw_close(&c->w, '}');
	chrome_end(c);
	assay_arena_reset(&c->scratch);
}

/* Stacks and samples of Perfetto traces: frames of interned data, stacks of events, what perf and
 * Chrome sampled, and the looks at threads that our writer puts on lines of their own.
 *
 * Samples wait for the last packet, as slices do: whose thread they are of is known then. */
#include "read/perfetto.h"

#include "base/test.h"

static assay_sid interned_text(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid)
{
	uint32_t sid = iid ? perfetto_interned_get(x, sequence, kind, iid) : ASSAY_MAP_ABSENT;
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* ------------------------------------------------------------------ interned data */

/* A part of a file; its path may be given in pieces. */
static void read_mapping(perfetto *x, uint32_t sequence, assay_str message)
{
	perfetto_mapping m = {0};
	perfetto_numbers path = {0};
	uint64_t iid = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_MAPPING_IID)
			iid = f.value;
		else if (f.number == PF_MAPPING_START)
			m.start = f.value;
		else if (f.number == PF_MAPPING_PATH)
			perfetto_numbers_add(&path, &f, false);
	}
	if (path.n == 1)
		m.path = interned_text(x, sequence, PF_IS_PATH, path.p[0]);
	assay_arena_reset(&x->scratch);
	const char *text = "";
	for (size_t i = 0; path.n > 1 && i < path.n; i++) {
		assay_sid piece = interned_text(x, sequence, PF_IS_PATH, path.p[i]);
		assay_str s = assay_pool_get(&x->part->strings, piece);
		if (!perfetto_afford(x, strlen(text) + s.n))
			break;
		text = assay_printf(&x->scratch, "%s/%s", text, s.p);
	}
	if (path.n > 1)
		m.path = assay_intern_z(&x->part->strings, text);
	assay_vec_free(&path);
	perfetto_set_interned(x, sequence, PF_IS_MAPPING, iid, (uint32_t)x->mappings.n);
	*assay_push(&x->mappings) = m;
}

/* What a frame says, before it is a row. */
typedef struct frame {
	uint64_t iid, pc, kind;
	assay_sid function, source;
	assay_str kind_text;
	perfetto_mapping mapping;
	int32_t line; /* -1 unknown */
} frame;

static frame frame_parts(perfetto *x, uint32_t sequence, assay_str message)
{
	frame r = {.line = -1};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		uint32_t mapping;
		switch (f.number) {
		case PF_FRAME_IID:
			r.iid = f.value;
			break;
		case PF_FRAME_FUNCTION:
			r.function = interned_text(x, sequence, PF_IS_FUNCTION, f.value);
			break;
		case PF_FRAME_MAPPING:
			mapping = perfetto_interned_get(x, sequence, PF_IS_MAPPING, f.value);
			if (mapping != ASSAY_MAP_ABSENT)
				r.mapping = x->mappings.p[mapping];
			break;
		case PF_FRAME_PC:
			r.pc = f.value;
			break;
		case PF_FRAME_SOURCE:
			r.source = interned_text(x, sequence, PF_IS_SOURCE, f.value);
			break;
		case PF_FRAME_LINE:
			r.line = f.value && f.value <= INT32_MAX ? (int32_t)f.value : -1;
			break;
		case PF_FRAME_KIND:
			r.kind = f.value;
			break;
		case PF_FRAME_KIND_TEXT:
			r.kind_text = f.bytes;
			break;
		default:
			break;
		}
	}
	return r;
}

/* Where nothing says what code it is, its file does. */
static assay_code_kind kind_by_file(const perfetto *x, assay_sid file)
{
	return assay_str_ends(assay_pool_get(&x->part->strings, file), ".py") ? ASSAY_CODE_PYTHON
									      : ASSAY_CODE_NATIVE;
}

static assay_code_kind kind_of(const perfetto *x, const frame *f, assay_sid file)
{
	for (uint8_t i = 0; f->kind_text.n && i < ASSAY_CODE_KIND_COUNT; i++)
		if (assay_str_is(f->kind_text, assay_code_kind_name[i]))
			return i;
	return f->kind == PF_KIND_INTERPRETED ? ASSAY_CODE_PYTHON
	       : f->kind                      ? ASSAY_CODE_NATIVE
					      : kind_by_file(x, file);
}

/* A mapping that begins where the frame is, is a function of a library; one of Python begins at its
 * first line. Otherwise only the file and the name are known. */
static void read_frame(perfetto *x, uint32_t sequence, assay_str message)
{
	frame f = frame_parts(x, sequence, message);
	assay_sid file = f.source ? f.source : f.mapping.path;
	assay_code_kind kind = kind_of(x, &f, file);
	bool python = kind == ASSAY_CODE_PYTHON;
	int32_t first = python && f.mapping.start && f.mapping.start <= INT32_MAX
				? (int32_t)f.mapping.start
				: -1;
	int64_t offset = !python && f.mapping.start == f.pc && f.pc && f.pc <= INT64_MAX
				 ? (int64_t)f.pc
				 : -1;
	if (!python && f.mapping.path)
		file = f.mapping.path;
	*assay_push(&x->frames) = (perfetto_frame){
		kind, file, f.function == file ? 0 : f.function, f.line, first, offset};
	perfetto_set_interned(x, sequence, PF_IS_FRAME, f.iid, (uint32_t)x->frames.n - 1);
}

static void read_stack(perfetto *x, uint32_t sequence, assay_str message)
{
	perfetto_known_stack s = {.first = (uint32_t)x->stack_frames.n};
	perfetto_numbers frames = {0};
	uint64_t iid = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_STACK_IID)
			iid = f.value;
		else if (f.number == PF_STACK_FRAMES)
			perfetto_numbers_add(&frames, &f, false);
	}
	for (size_t i = 0; i < frames.n; i++) {
		uint32_t at = perfetto_interned_get(x, sequence, PF_IS_FRAME, frames.p[i]);
		assay_count(x->part, ASSAY_ISSUE_bad_record, at == ASSAY_MAP_ABSENT);
		if (at != ASSAY_MAP_ABSENT)
			*assay_push(&x->stack_frames) = at;
	}
	assay_vec_free(&frames);
	s.n = (uint32_t)x->stack_frames.n - s.first;
	perfetto_set_interned(x, sequence, PF_IS_STACK, iid, (uint32_t)x->known_stacks.n);
	*assay_push(&x->known_stacks) = s;
}

/* What they refer to may stand behind them in the same message: one pass for each kind. */
void perfetto_stacks_interned(perfetto *x, uint32_t sequence, assay_str message)
{
	static const struct {
		uint32_t field;
		void (*read)(perfetto *x, uint32_t sequence, assay_str message);
	} kinds[] = {{PF_INTERNED_MAPPING, read_mapping},
		     {PF_INTERNED_FRAME, read_frame},
		     {PF_INTERNED_STACK, read_stack}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(kinds); i++) {
		assay_proto c = assay_proto_on(message);
		for (assay_field f; assay_proto_next(&c, &f);)
			if (f.number == kinds[i].field && f.wire == ASSAY_WIRE_BYTES)
				kinds[i].read(x, sequence, f.bytes);
	}
}

/* ------------------------------------------------------------------ rows of stacks */

static void add_call(perfetto *x, uint32_t *chain, const perfetto_frame *f)
{
	uint32_t code = assay_stacks_code(&x->stacks, f->kind, f->file, f->function, f->first_line,
					  f->offset);
	uint32_t row = assay_stacks_call(&x->stacks, *chain, code, f->line);
	assay_count(x->part, ASSAY_ISSUE_bad_record, row == ASSAY_NO_ROW);
	if (row != ASSAY_NO_ROW)
		*chain = row;
}

static const perfetto_frame *frame_at(const perfetto *x, const perfetto_known_stack *s, uint32_t i)
{
	return &x->frames.p[x->stack_frames.p[s->first + i]];
}

uint32_t perfetto_stack_of(perfetto *x, uint32_t sequence, uint64_t iid)
{
	uint32_t at = perfetto_interned_get(x, sequence, PF_IS_STACK, iid);
	assay_count(x->part, ASSAY_ISSUE_bad_record, at == ASSAY_MAP_ABSENT);
	return at;
}

/* Libraries between two functions of Python are the interpreter's own. */
static perfetto_stack split_stack(perfetto *x, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW)
		return (perfetto_stack){ASSAY_NO_ROW, ASSAY_NO_ROW};
	perfetto_known_stack *s = &x->known_stacks.p[stack];
	if (s->split_made)
		return s->split;
	s->split_made = true;
	s->split = (perfetto_stack){ASSAY_NO_ROW, ASSAY_NO_ROW};
	for (uint32_t i = 0; i < s->n; i++) {
		const perfetto_frame *f = frame_at(x, s, i);
		bool python = f->kind == ASSAY_CODE_PYTHON;
		if (python)
			s->split.calls = ASSAY_NO_ROW;
		add_call(x, python ? &s->split.python : &s->split.calls, f);
	}
	return s->split;
}

uint32_t perfetto_stack_whole(perfetto *x, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW)
		return ASSAY_NO_ROW;
	perfetto_known_stack *s = &x->known_stacks.p[stack];
	if (s->whole_made)
		return s->whole;
	s->whole_made = true;
	s->whole = ASSAY_NO_ROW;
	for (uint32_t i = 0; i < s->n; i++)
		add_call(x, &s->whole, frame_at(x, s, i));
	return s->whole;
}

static perfetto_frame inline_frame(perfetto *x, assay_str message)
{
	assay_pool *strings = &x->part->strings;
	perfetto_frame r = {.line = -1, .first_line = -1, .offset = -1};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_INLINE_LINE && f.value && f.value <= INT32_MAX)
			r.line = (int32_t)f.value;
		else if (f.number == PF_INLINE_FILE && f.wire == ASSAY_WIRE_BYTES)
			r.file = assay_intern(strings, f.bytes);
		else if (f.number == PF_INLINE_FUNCTION && f.wire == ASSAY_WIRE_BYTES)
			r.function = assay_intern(strings, f.bytes);
	}
	r.kind = kind_by_file(x, r.file);
	return r;
}

/* Frames written out in the event itself, outermost first. */
uint32_t perfetto_stack_inline(perfetto *x, assay_str message)
{
	perfetto_known_stack s = {.first = (uint32_t)x->stack_frames.n};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number != PF_INLINE_FRAME || f.wire != ASSAY_WIRE_BYTES)
			continue;
		*assay_push(&x->stack_frames) = (uint32_t)x->frames.n;
		*assay_push(&x->frames) = inline_frame(x, f.bytes);
		s.n++;
	}
	*assay_push(&x->known_stacks) = s;
	return (uint32_t)x->known_stacks.n - 1;
}

/* ------------------------------------------------------------------ samples */

/* A counter of perf overflowed: the thread was running. Packets that tell of lost samples have no
 * stack. */
void perfetto_sample_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	enum { LOST = 17, SKIPPED = 18 };
	perfetto_sample s = {.ts = p->ts, .stack = ASSAY_NO_ROW};
	int64_t pid = -1, tid = -1;
	uint64_t lost = 0;
	bool has_stack = false;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_SAMPLE_PID) {
			pid = (uint32_t)f.value;
		} else if (f.number == PF_SAMPLE_TID) {
			tid = (uint32_t)f.value;
		} else if (f.number == PF_SAMPLE_STACK) {
			s.stack = perfetto_stack_of(x, p->sequence, f.value);
			has_stack = true;
		} else if (f.number == PF_SAMPLE_MODE && f.value) {
			s.state = ASSAY_THREAD_RUNNING;
		} else if (f.number == LOST || f.number == SKIPPED) {
			lost += f.number == LOST ? f.value : 1;
		}
	}
	assay_count(x->part, ASSAY_ISSUE_lost_records, lost);
	if (!has_stack || !p->has_ts || lost)
		return;
	x->events++;
	s.track = perfetto_thread_track(x, p->sequence, pid, tid);
	*assay_push(&x->samples) = s;
}

/* Chrome's: stacks of the sequence's thread, each so much later than the one before. */
void perfetto_streamed_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	const perfetto_sequence *q = &x->sequences.p[p->sequence];
	perfetto_numbers stack = {0}, delta = {0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_STREAMED_STACK)
			perfetto_numbers_add(&stack, &f, false);
		else if (f.number == PF_STREAMED_DELTA_US)
			perfetto_numbers_add(&delta, &f, false);
	}
	uint32_t track = perfetto_thread_track(x, p->sequence, q->pid, q->tid);
	for (size_t i = 0; i < stack.n && i < delta.n; i++) {
		perfetto_sample s = {.stack = perfetto_stack_of(x, p->sequence, stack.p[i]),
				     .track = track};
		if (!perfetto_old_time(x, p->sequence, (int64_t)delta.p[i], &s.ts))
			break;
		x->events++;
		*assay_push(&x->samples) = s;
	}
	assay_vec_free(&stack);
	assay_vec_free(&delta);
}

/* ------------------------------------------------------------------ rows */

static void set_stacks(perfetto *x, uint32_t row, perfetto_stack s)
{
	assay_sample_table *t = &x->part->t.sample;
	t->stack[row] = s.python;
	t->calls[row] = s.calls;
	t->native[row] = assay_stacks_library(x->part, s.calls);
}

static void add_looks(perfetto *x, assay_map *looked_at)
{
	assay_sample_table *t = &x->part->t.sample;
	for (size_t i = 0; i < x->looks.n; i++) {
		const perfetto_look *l = &x->looks.p[i];
		uint32_t track = perfetto_thread_of(x, l->track);
		assay_str members = assay_pool_get(&x->part->strings, l->members);
		uint32_t row = assay_look_take(x->part, track, members);
		t->ts[row] = l->ts;
		if (t->dur[row] < 0)
			t->dur[row] = l->dur;
		set_stacks(x, row, split_stack(x, l->stack));
		*assay_map_at(looked_at, track) = 1;
	}
}

/* Samples of a thread that has looks are those looks again, one by one. */
void perfetto_place_samples(perfetto *x)
{
	assay_sample_table *t = &x->part->t.sample;
	assay_map looked_at = {0};
	uint32_t first = x->part->source;
	add_looks(x, &looked_at);
	for (size_t i = 0; i < x->samples.n; i++) {
		const perfetto_sample *s = &x->samples.p[i];
		uint32_t track = perfetto_thread_of(x, s->track);
		if (assay_map_get(&looked_at, track) != ASSAY_MAP_ABSENT)
			continue;
		uint32_t row = assay_add(&x->part->t, ASSAY_T_sample);
		t->ts[row] = s->ts;
		t->dur[row] = 0;
		t->track[row] = track;
		t->count[row] = 1;
		t->state[row] = s->state;
		set_stacks(x, row, split_stack(x, s->stack));
	}
	x->part->source = first;
	assay_map_free(&looked_at);
}

void perfetto_stacks_free(perfetto *x)
{
	assay_stacks_free(&x->stacks);
	assay_vec_free(&x->mappings);
	assay_vec_free(&x->frames);
	assay_vec_free(&x->known_stacks);
	assay_vec_free(&x->stack_frames);
	assay_vec_free(&x->samples);
	assay_vec_free(&x->looks);
}

/* Stacks, and samples of host threads as perf samples, of which Perfetto makes flame graphs. A look
 * is a sample; of looks that saw the same only the first and the last time are known, the others
 * stand evenly between. Below its Python code are the functions of libraries that it was in, and as
 * one more call what it was doing in the system.
 *
 * A mapping of Perfetto's is a part of a file that begins somewhere: here a function. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "model/by_hand.h"
#include "model/stacks.h"
#include "write/perfetto.h"

/* What a frame of Perfetto's says. */
typedef struct told {
	assay_str function, file;
	uint64_t pc;    /* Python: the line that was executed; native: as start */
	uint64_t start; /* where its mapping begins: first line of the function, or its offset */
	uint32_t line;
	assay_code_kind kind;
	bool system;
} told;

static uint32_t put_mapping(perfetto *p, const told *f)
{
	uint64_t key[2] = {assay_hash(f->file.p, f->file.n, 0), f->start};
	bool is_new;
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_MAPPING, assay_hash(key, sizeof key, 0), &is_new);
	if (!is_new)
		return iid;
	uint32_t path = perfetto_intern(p, PF_INTERNED_PATH, f->file);
	size_t m = assay_protow_open(&p->interned, PF_INTERNED_MAPPING);
	assay_protow_varint(&p->interned, PF_MAPPING_IID, iid);
	assay_protow_nonzero(&p->interned, PF_MAPPING_START, f->start);
	assay_protow_varint(&p->interned, PF_MAPPING_PATH, path);
	assay_protow_close(&p->interned, m);
	return iid;
}

static void put_kind(perfetto *p, const told *f)
{
	if (f->system || f->kind == ASSAY_CODE_PYTHON || f->kind == ASSAY_CODE_NATIVE)
		assay_protow_varint(&p->interned, PF_FRAME_KIND,
				    f->system                      ? PF_KIND_KERNEL
				    : f->kind == ASSAY_CODE_PYTHON ? PF_KIND_INTERPRETED
								   : PF_KIND_NATIVE);
	else
		assay_protow_string(&p->interned, PF_FRAME_KIND_TEXT,
				    assay_str_of(assay_code_kind_name[f->kind]));
}

static void put_frame(perfetto *p, uint32_t iid, const told *f)
{
	uint32_t name = perfetto_intern(p, PF_INTERNED_FUNCTION, f->function);
	uint32_t source = perfetto_intern(p, PF_INTERNED_SOURCE, f->file);
	uint32_t mapping = put_mapping(p, f);
	size_t frame = assay_protow_open(&p->interned, PF_INTERNED_FRAME);
	assay_protow_varint(&p->interned, PF_FRAME_IID, iid);
	assay_protow_varint(&p->interned, PF_FRAME_FUNCTION, name);
	assay_protow_varint(&p->interned, PF_FRAME_MAPPING, mapping);
	assay_protow_varint(&p->interned, PF_FRAME_PC, f->pc);
	assay_protow_varint(&p->interned, PF_FRAME_SOURCE, source);
	assay_protow_nonzero(&p->interned, PF_FRAME_LINE, f->line);
	put_kind(p, f);
	assay_protow_close(&p->interned, frame);
}

/* A function without a symbol is called as its library. */
static uint32_t call_frame(perfetto *p, uint32_t row)
{
	const assay_tables *t = p->t;
	uint32_t code = t->stack.code[row];
	uint64_t key[2] = {code, (uint64_t)t->stack.line[row]};
	bool is_new;
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_FRAME, assay_hash(key, sizeof key, 0), &is_new);
	if (!is_new)
		return iid;
	assay_str function = assay_text(p->run, t->code.function[code]);
	told f = {.file = assay_text(p->run, t->code.file[code]), .kind = t->code.kind[code]};
	bool native = t->code.offset[code] >= 0;
	f.function = function.n ? function : f.file;
	f.line = t->stack.line[row] > 0 ? (uint32_t)t->stack.line[row] : 0;
	f.start = native                   ? (uint64_t)t->code.offset[code]
		  : t->code.line[code] > 0 ? (uint64_t)t->code.line[code]
					   : 0;
	f.pc = native ? f.start : f.line;
	put_frame(p, iid, &f);
	return iid;
}

/* What the thread did in the system. */
static uint32_t system_frame(perfetto *p, uint32_t sample, assay_str text)
{
	assay_sid file = p->t->sample.file[sample];
	uint64_t key[2] = {assay_hash(text.p, text.n, 1), file};
	bool is_new;
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_FRAME, assay_hash(key, sizeof key, 1), &is_new);
	if (is_new)
		put_frame(p, iid,
			  &(told){.function = text,
				  .file = file ? assay_text(p->run, file) : ASSAY_S("(system)"),
				  .system = true});
	return iid;
}

static void add_frames(perfetto *p, uint32_t stack)
{
	for (; stack != ASSAY_NO_ROW; stack = p->t->stack.caller[stack])
		*assay_push(&p->frames) = call_frame(p, stack);
}

uint32_t perfetto_stack(perfetto *p, uint32_t stack, uint32_t calls, uint32_t sample)
{
	assay_str text = {"", 0};
	if (sample != ASSAY_NO_ROW)
		text = assay_str_of(assay_look_name(&p->scratch, p->run, sample));
	else if (stack == ASSAY_NO_ROW && calls == ASSAY_NO_ROW)
		return 0;
	uint64_t key[4] = {stack, calls, assay_hash(text.p, text.n, 0),
			   text.n ? p->t->sample.file[sample] : 0};
	bool is_new;
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_STACK, assay_hash(key, sizeof key, 0), &is_new);
	if (!is_new)
		return iid;
	p->frames.n = 0;
	if (text.n)
		*assay_push(&p->frames) = system_frame(p, sample, text);
	add_frames(p, calls);
	add_frames(p, stack);
	size_t message = assay_protow_open(&p->interned, PF_INTERNED_STACK);
	assay_protow_varint(&p->interned, PF_STACK_IID, iid);
	for (size_t n = p->frames.n; n-- > 0;)
		assay_protow_varint(&p->interned, PF_STACK_FRAMES, p->frames.p[n]);
	assay_protow_close(&p->interned, message);
	return iid;
}

static void put_look(perfetto *p, uint32_t row, int64_t ts)
{
	uint32_t track = p->t->sample.track[row], source = p->t->track.source[track];
	size_t packet = perfetto_open_packet(p, source);
	assay_protow_varint(&p->w, PF_PACKET_TIMESTAMP, perfetto_absolute(p, source, ts));
	uint32_t stack = perfetto_stack(p, p->t->sample.stack[row], p->t->sample.calls[row], row);
	size_t sample = assay_protow_open(&p->w, PF_PACKET_SAMPLE);
	assay_protow_varint(&p->w, PF_SAMPLE_PID, (uint64_t)perfetto_process_number(p, track));
	assay_protow_varint(&p->w, PF_SAMPLE_TID, (uint64_t)perfetto_thread_number(p, track));
	assay_protow_varint(&p->w, PF_SAMPLE_STACK, stack);
	assay_protow_varint(&p->w, PF_SAMPLE_MODE, PF_USER_MODE);
	assay_protow_close(&p->w, sample);
	perfetto_close_packet(p, packet);
	perfetto_flush_some(p);
}

/* No recorder looks more often at what it tells in one row. */
enum { LOOKS_MAX = 4096 };

static int64_t look_time(int64_t ts, int64_t dur, uint32_t i, uint32_t n)
{
	int64_t step = i ? dur / (n - 1) * i : 0;
	return ts > INT64_MAX - step ? INT64_MAX : ts + step;
}

void perfetto_put_samples(perfetto *p)
{
	const assay_sample_table *s = &p->t->sample;
	for (uint32_t row = 0; row < s->n; row++) {
		int64_t dur = s->dur[row] > 0 ? s->dur[row] : 0;
		uint32_t n = s->count[row] < LOOKS_MAX ? s->count[row] : LOOKS_MAX;
		for (uint32_t i = 0; i < n; i++)
			put_look(p, row, look_time(s->ts[row], dur, i, n));
	}
}

/* ------------------------------------------------------------------ tests */

static uint32_t add_call(assay_run *run, uint32_t caller, const char *function, int32_t line)
{
	uint32_t row = assay_hand_stack(run, caller, "train.py", function);
	run->part.t.stack.line[row] = line;
	return row;
}

static uint32_t add_sample(assay_run *run, uint32_t stack, int64_t ts, int64_t dur, uint32_t count)
{
	assay_sample_table *s = &run->part.t.sample;
	uint32_t row = assay_add(&run->part.t, ASSAY_T_sample);
	s->ts[row] = ts;
	s->dur[row] = dur;
	s->count[row] = count;
	s->track[row] = assay_thread_track(&run->part, 3, 4);
	s->stack[row] = stack;
	s->state[row] = ASSAY_THREAD_BLOCKED;
	s->kind[row] = ASSAY_CALL_SLEEP;
	return row;
}

typedef struct looks {
	uint32_t n;
	uint64_t last, stack; /* time and stack of the last one */
	uint32_t frames;      /* of all stacks that are told */
} looks;

static bool next_field(assay_proto *at, uint32_t number, assay_field *f)
{
	while (assay_proto_next(at, f))
		if (f->number == number)
			return true;
	return false;
}

static uint64_t value_of(assay_str message, uint32_t number)
{
	assay_proto at = assay_proto_on(message);
	assay_field f;
	return next_field(&at, number, &f) ? f.value : 0;
}

static looks read_looks(assay_str text)
{
	assay_proto at = assay_proto_on(text);
	assay_field packet, f, stack, frame;
	looks l = {0};
	while (next_field(&at, PF_TRACE_PACKET, &packet)) {
		assay_proto in = assay_proto_on(packet.bytes);
		if (!next_field(&in, PF_PACKET_SAMPLE, &f))
			continue;
		l.n++;
		l.last = value_of(packet.bytes, PF_PACKET_TIMESTAMP);
		l.stack = value_of(f.bytes, PF_SAMPLE_STACK);
		in = assay_proto_on(packet.bytes);
		while (next_field(&in, PF_PACKET_INTERNED, &f))
			for (assay_proto i = assay_proto_on(f.bytes);
			     next_field(&i, PF_INTERNED_STACK, &stack);)
				for (assay_proto k = assay_proto_on(stack.bytes);
				     next_field(&k, PF_STACK_FRAMES, &frame);)
					l.frames++;
	}
	return l;
}

TEST(looks_are_samples_with_the_stack_they_saw_told_once)
{
	assay_run *run = assay_run_new();
	char *text = NULL;
	size_t n = 0;
	uint32_t source = assay_add(&run->part.t, ASSAY_T_source);
	run->part.source = source;
	uint32_t inner = add_call(run, add_call(run, ASSAY_NO_ROW, "main", 9), "step", 5);
	add_sample(run, inner, 1000, 300, 4);
	uint32_t last = add_sample(run, inner, 2000, 0, 1);
	run->part.t.sample.calls[last] = add_call(run, ASSAY_NO_ROW, "dgemm", -1);
	FILE *out = open_memstream(&text, &n);
	bool ok = out && assay_writer_perfetto.write(run, out, NULL, NULL);
	if (out)
		fclose(out);
	CHECK(ok);
	looks l = read_looks((assay_str){text, n});
	CHECK_EQ(l.n, 5);
	CHECK_EQ(l.last, 2000);
	CHECK_EQ(l.frames, 3 + 4); /* main, step, and the sleep below them; the same with dgemm */
	CHECK(assay_str_find((assay_str){text, n}, "dgemm") >= 0);
	CHECK(l.stack && assay_str_find((assay_str){text, n}, "blocked: sleep") >= 0);
	free(text);
	assay_run_free(run);
	return 0;
}

TEST(a_row_of_absurdly_many_looks_is_bounded)
{
	assay_run *run = assay_run_new();
	char *text = NULL;
	size_t n = 0;
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	add_sample(run, ASSAY_NO_ROW, INT64_MAX - 5, INT64_MAX, UINT32_MAX);
	FILE *out = open_memstream(&text, &n);
	bool ok = out && assay_writer_perfetto.write(run, out, NULL, NULL);
	if (out)
		fclose(out);
	CHECK(ok);
	CHECK_EQ(read_looks((assay_str){text, n}).n, LOOKS_MAX);
	free(text);
	assay_run_free(run);
	return 0;
}

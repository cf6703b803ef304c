/* Samples of host threads as perf samples, of which Perfetto makes flame graphs. A look is a
 * sample; of looks that saw the same only the first and the last time are known, the others stand
 * evenly between. Below its Python code are the functions of libraries that it was in, and as one
 * more call what it was doing in the system. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "model/stacks.h"
#include "write/perfetto.h"

/* A frame that is made of texts; its number. */
static uint32_t put_frame(perfetto *p, assay_str function, assay_str file, int32_t line)
{
	uint64_t key[3] = {assay_hash(function.p, function.n, 0), assay_hash(file.p, file.n, 0),
			   (uint64_t)line};
	bool new_file, is_new;
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_FRAME, assay_hash(key, sizeof key, 0), &is_new);
	if (!is_new)
		return iid;
	uint32_t name = perfetto_intern(p, PF_INTERNED_FUNCTION, function);
	uint32_t source = perfetto_intern(p, PF_INTERNED_SOURCE, file);
	uint32_t path = perfetto_intern(p, PF_INTERNED_PATH, file);
	uint32_t mapping = perfetto_number(p, PF_INTERNED_MAPPING, key[1], &new_file);
	if (new_file) {
		size_t m = assay_protow_open(&p->interned, PF_INTERNED_MAPPING);
		assay_protow_varint(&p->interned, PF_MAPPING_IID, mapping);
		assay_protow_varint(&p->interned, PF_MAPPING_PATH, path);
		assay_protow_close(&p->interned, m);
	}
	size_t frame = assay_protow_open(&p->interned, PF_INTERNED_FRAME);
	assay_protow_varint(&p->interned, PF_FRAME_IID, iid);
	assay_protow_varint(&p->interned, PF_FRAME_FUNCTION, name);
	assay_protow_varint(&p->interned, PF_FRAME_MAPPING, mapping);
	assay_protow_varint(&p->interned, PF_FRAME_PC, line > 0 ? (uint64_t)line : 0);
	assay_protow_varint(&p->interned, PF_FRAME_SOURCE, source);
	assay_protow_nonzero(&p->interned, PF_FRAME_LINE, line > 0 ? (uint64_t)line : 0);
	assay_protow_close(&p->interned, frame);
	return iid;
}

/* At most `room` calls of a stack, innermost first; how many. A function without a symbol is called
 * as its library. */
static uint32_t put_calls(perfetto *p, uint32_t stack, uint32_t *frame, uint32_t room)
{
	const assay_tables *t = p->t;
	uint32_t n = 0;
	for (; stack != ASSAY_NO_ROW && n < room; stack = t->stack.caller[stack]) {
		uint32_t code = t->stack.code[stack];
		assay_str file = assay_text(p->run, t->code.file[code]);
		assay_str function = assay_text(p->run, t->code.function[code]);
		frame[n++] = put_frame(p, function.n ? function : file, file, t->stack.line[stack]);
	}
	return n;
}

/* The frames of a sample, outermost first. */
static uint32_t put_stack(perfetto *p, uint32_t row)
{
	enum { FRAMES = 1100 };
	const assay_tables *t = p->t;
	uint32_t frame[FRAMES], n = 0;
	bool is_new;
	const char *text = assay_look_name(&p->scratch, p->run, row);
	uint64_t key[4] = {t->sample.stack[row], t->sample.calls[row],
			   assay_hash(text, strlen(text), 0), t->sample.file[row]};
	uint32_t iid =
		perfetto_number(p, PF_INTERNED_STACK, assay_hash(key, sizeof key, 0), &is_new);
	if (!is_new)
		return iid;
	assay_sid file = t->sample.file[row];
	frame[n++] = put_frame(p, assay_str_of(text),
			       file ? assay_text(p->run, file) : assay_str_of("(system)"), 0);
	n += put_calls(p, t->sample.calls[row], frame + n, FRAMES - n);
	n += put_calls(p, t->sample.stack[row], frame + n, FRAMES - n);
	size_t stack = assay_protow_open(&p->interned, PF_INTERNED_STACK);
	assay_protow_varint(&p->interned, PF_STACK_IID, iid);
	while (n--)
		assay_protow_varint(&p->interned, PF_STACK_FRAMES, frame[n]);
	assay_protow_close(&p->interned, stack);
	return iid;
}

static void put_look(perfetto *p, uint32_t row, int64_t ts)
{
	uint32_t track = p->t->sample.track[row], source = p->t->track.source[track];
	size_t packet = perfetto_open_packet(p, source);
	assay_protow_varint(&p->w, PF_PACKET_TIMESTAMP, perfetto_absolute(p, source, ts));
	uint32_t stack = put_stack(p, row);
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
	assay_tables *t = &run->part.t;
	uint32_t code = assay_add(t, ASSAY_T_code), row = assay_add(t, ASSAY_T_stack);
	t->code.file[code] = assay_sid_of(run, "train.py");
	t->code.function[code] = assay_sid_of(run, function);
	t->stack.caller[row] = caller;
	t->stack.code[row] = code;
	t->stack.line[row] = line;
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

#include "model/stacks.h"

#include "base/test.h"
#include "names/objects.h"
#include "names/words.h"

enum { DEPTH_MAX = 2048 }; /* a chain longer than this no recorder writes */

void assay_stacks_free(assay_stacks *s)
{
	assay_map_free(&s->codes);
	assay_map_free(&s->calls);
}

uint32_t assay_stacks_code(assay_stacks *s, assay_code_kind kind, assay_sid file,
			   assay_sid function, int32_t line, int64_t offset)
{
	assay_code_table *t = &s->part->t.code;
	uint64_t key[4] = {kind, (uint64_t)file << 32 | function, (uint64_t)line, (uint64_t)offset};
	uint32_t *slot = assay_map_at(&s->codes, assay_hash(key, sizeof key, 0));
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	uint32_t row = *slot = assay_add(&s->part->t, ASSAY_T_code);
	t->kind[row] = (uint8_t)kind;
	t->file[row] = file;
	t->function[row] = function;
	t->line[row] = line;
	t->offset[row] = offset;
	t->own[row] = kind == ASSAY_CODE_PYTHON && file &&
		      !assay_is_library_file(assay_pool_get(&s->part->strings, file));
	return row;
}

/* Code that a library made and runs, Triton's launchers for one, has a name in angle brackets, as
 * the program of `python -c` has. */
static bool made_by_library(const assay_part *p, uint32_t caller, uint32_t code)
{
	const assay_tables *t = &p->t;
	return caller != ASSAY_NO_ROW && !t->code.own[t->stack.code[caller]] &&
	       assay_is_no_file(assay_pool_get(&p->strings, t->code.file[code]));
}

static bool is_own(const assay_part *p, uint32_t caller, uint32_t code)
{
	return p->t.code.own[code] && !made_by_library(p, caller, code);
}

uint32_t assay_stacks_call(assay_stacks *s, uint32_t caller, uint32_t code, int32_t line)
{
	assay_stack_table *t = &s->part->t.stack;
	uint32_t key[3] = {caller, code, (uint32_t)line};
	uint16_t depth = caller == ASSAY_NO_ROW ? 1 : (uint16_t)(t->depth[caller] + 1);
	if (depth > DEPTH_MAX)
		return ASSAY_NO_ROW;
	uint32_t *slot = assay_map_at(&s->calls, assay_hash(key, sizeof key, 0));
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	uint32_t row = *slot = assay_add(&s->part->t, ASSAY_T_stack);
	t->caller[row] = caller;
	t->code[row] = code;
	t->line[row] = line > 0 ? line : -1;
	t->depth[row] = depth;
	t->own[row] = is_own(s->part, caller, code) ? row
		      : caller == ASSAY_NO_ROW      ? ASSAY_NO_ROW
						    : t->own[caller];
	return row;
}

uint32_t assay_stacks_library(const assay_part *p, uint32_t stack)
{
	const assay_tables *t = &p->t;
	for (uint32_t s = stack; s != ASSAY_NO_ROW; s = t->stack.caller[s]) {
		uint32_t code = t->stack.code[s];
		if (!assay_is_c_library(assay_pool_get(&p->strings, t->code.file[code])))
			return code;
	}
	return stack == ASSAY_NO_ROW ? ASSAY_NO_ROW : t->stack.code[stack];
}

const char *assay_look_name(assay_arena *a, const assay_run *run, uint32_t sample)
{
	const assay_sample_table *s = &run->part.t.sample;
	if (s->gil[sample] == ASSAY_GIL_WAITS)
		return "waits for the GIL";
	const char *state = assay_thread_state_name[s->state[sample]];
	return s->kind[sample]
		       ? assay_printf(a, "%s: %s", state, assay_call_kind_name[s->kind[sample]])
		       : state;
}

/* ------------------------------------------------------------------ written */

/* A function without a symbol is called as its library. */
static void put_frame(assay_jsonw *w, const assay_run *run, uint32_t stack)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack], caller = t->stack.caller[stack];
	assay_str file = assay_text(run, t->code.file[code]);
	assay_str function = assay_text(run, t->code.function[code]);
	assay_jsonw_str(w, "category", file);
	assay_jsonw_str(w, "name", function.n ? function : file);
	if (caller != ASSAY_NO_ROW)
		assay_jsonw_u64(w, "parent", (uint64_t)caller + 1);
	if (t->stack.line[stack] > 0)
		assay_jsonw_i64(w, "line", t->stack.line[stack]);
	if (t->code.line[code] > 0)
		assay_jsonw_i64(w, "first_line", t->code.line[code]);
	if (t->code.offset[code] >= 0)
		assay_jsonw_i64(w, "offset", t->code.offset[code]);
	if (t->code.kind[code] != ASSAY_CODE_PYTHON)
		assay_jsonw_z(w, "kind", assay_code_kind_name[t->code.kind[code]]);
}

void assay_frames_put(assay_jsonw *w, const assay_run *run)
{
	char key[ASSAY_DIGITS_MAX];
	for (uint32_t i = 0; i < run->part.t.stack.n; i++) {
		assay_jsonw_key(w, (assay_str){key, (size_t)(assay_put_u64(key, i + 1) - key)});
		assay_jsonw_open_flat(w, NULL, '{');
		put_frame(w, run, i);
		assay_jsonw_close(w, '}');
	}
}

/* Columns of sample that are numbers, and those that are words: X(key, column, absent) and
 * X(key, column, names, count). */
#define NUMBERS(X)                                                                                 \
	X("looks", count, 0)                                                                       \
	X("length_ns", dur, -1)                                                                    \
	X("call_number", call, -1)                                                                 \
	X("cpu_ns", cpu, -1)                                                                       \
	X("delay_ns", delay, -1)                                                                   \
	X("flags", flags, 0)
#define WORDS(X)                                                                                   \
	X("state", state, assay_thread_state_name, ASSAY_THREAD_STATE_COUNT)                       \
	X("call", kind, assay_call_kind_name, ASSAY_CALL_KIND_COUNT)                               \
	X("gil", gil, assay_gil_state_name, ASSAY_GIL_STATE_COUNT)

void assay_look_put(assay_jsonw *w, const assay_run *run, uint32_t row)
{
	const assay_sample_table *s = &run->part.t.sample;
#define X(key, column, absent)                                                                     \
	if (s->column[row] != (absent))                                                            \
		assay_jsonw_i64(w, key, s->column[row]);
	NUMBERS(X)
#undef X
#define X(key, column, names, count)                                                               \
	if (s->column[row])                                                                        \
		assay_jsonw_z(w, key, names[s->column[row]]);
	WORDS(X)
#undef X
	if (s->file[row])
		assay_jsonw_str(w, "file", assay_text(run, s->file[row]));
	if (s->holder[row] != ASSAY_NO_ROW)
		assay_jsonw_i64(w, "holder", run->part.t.track.tid[s->holder[row]]);
}

void assay_look_put_calls(assay_jsonw *w, const assay_run *run, uint32_t row)
{
	uint32_t calls = run->part.t.sample.calls[row];
	if (calls != ASSAY_NO_ROW)
		assay_jsonw_u64(w, "calls", (uint64_t)calls + 1);
}

/* ------------------------------------------------------------------ read */

/* Index of a word, 0 when it is none. */
static uint8_t word_of(assay_str word, const char *const *names, uint8_t count)
{
	for (uint8_t i = 0; i < count; i++)
		if (assay_str_is(word, names[i]))
			return i;
	return 0;
}

static uint32_t file_stack(int64_t number)
{
	return number > 0 && number <= ASSAY_FILE_STACK_MAX ? (uint32_t)number : ASSAY_NO_ROW;
}

static void take_number(assay_part *p, uint32_t row, assay_str key, int64_t v)
{
	assay_sample_table *s = &p->t.sample;
	if (assay_str_is(key, "looks"))
		s->count[row] = v > 0 && v <= UINT32_MAX ? (uint32_t)v : 1;
	else if (assay_str_is(key, "length_ns"))
		s->dur[row] = v >= 0 && v <= 1ll << 61 ? v : -1;
	else if (assay_str_is(key, "call_number"))
		s->call[row] = v >= 0 && v <= INT32_MAX ? (int32_t)v : -1;
	else if (assay_str_is(key, "cpu_ns"))
		s->cpu[row] = v < 0 ? -1 : v;
	else if (assay_str_is(key, "delay_ns"))
		s->delay[row] = v < 0 ? -1 : v;
	else if (assay_str_is(key, "flags"))
		s->flags[row] = v >= 0 && v <= UINT8_MAX ? (uint8_t)v : 0;
	else if (assay_str_is(key, "calls"))
		s->calls[row] = file_stack(v);
	else if (assay_str_is(key, "holder") && v >= 0)
		s->holder[row] = assay_thread_track(p, p->t.track.pid[s->track[row]], v);
}

static void take_text(assay_part *p, uint32_t row, assay_str key, assay_str text)
{
	assay_sample_table *s = &p->t.sample;
#define X(word, column, names, count)                                                              \
	if (assay_str_is(key, word))                                                               \
		s->column[row] = word_of(text, names, count);
	WORDS(X)
#undef X
	if (assay_str_is(key, "file"))
		s->file[row] = assay_intern(&p->strings, text);
}

uint32_t assay_look_take(assay_part *p, uint32_t track, assay_str members)
{
	uint32_t row = assay_add(&p->t, ASSAY_T_sample);
	assay_arena scratch = {0};
	assay_json j = assay_json_members(&scratch, members.n ? members : ASSAY_S(""));
	assay_str key, text;
	int64_t v;
	p->t.sample.track[row] = track;
	p->t.sample.count[row] = 1;
	while (assay_json_member(&j, &key)) {
		if (assay_json_peek(&j) != '"') {
			if (assay_json_i64(&j, &v))
				take_number(p, row, key, v);
		} else if (assay_json_text(&j, &text)) {
			take_text(p, row, key, assay_json_unescape(&scratch, text));
		}
	}
	assay_arena_free(&scratch);
	if (p->t.sample.flags[row] & ASSAY_SAMPLE_TURN)
		p->t.sample.count[row] = 0;
	return row;
}

void assay_file_stacks_begin(assay_file_stacks *f, const assay_part *p)
{
	*f = (assay_file_stacks){.api = p->t.api.n, .sample = p->t.sample.n};
}

void assay_file_stacks_add(assay_file_stacks *f, assay_str members)
{
	*assay_push(&f->frames) = assay_json_members(&f->arena, members);
}

/* One frame as it was read; texts are of the file. */
typedef struct frame {
	uint64_t parent; /* hash of its number as text; 0 none */
	assay_str name, file;
	int64_t line, first_line, offset;
	uint8_t kind;
} frame;

static uint64_t number_key(assay_str number)
{
	return assay_hash(number.p, number.n, 1) | 1;
}

static void take_member(assay_json *j, assay_str key, frame *f, assay_arena *scratch)
{
	assay_str raw, text;
	if (!assay_json_skip(j, &raw))
		return;
	bool quoted = raw.n >= 2 && raw.p[0] == '"';
	text = quoted ? (assay_str){raw.p + 1, raw.n - 2} : raw;
	if (assay_str_is(key, "parent"))
		f->parent = number_key(text);
	else if (assay_str_is(key, "line"))
		(void)assay_str_i64(text, &f->line);
	else if (assay_str_is(key, "first_line"))
		(void)assay_str_i64(text, &f->first_line);
	else if (assay_str_is(key, "offset"))
		(void)assay_str_i64(text, &f->offset);
	else if (quoted && assay_str_is(key, "name"))
		f->name = assay_json_unescape(scratch, text);
	else if (quoted && assay_str_is(key, "category"))
		f->file = assay_json_unescape(scratch, text);
	else if (quoted && assay_str_is(key, "kind"))
		f->kind = word_of(text, assay_code_kind_name, ASSAY_CODE_KIND_COUNT);
}

static int32_t line_number(int64_t v)
{
	return v > 0 && v <= INT32_MAX ? (int32_t)v : -1;
}

/* A frame stands behind its caller; one whose caller is not known begins a stack. */
static uint32_t add_frame(assay_stacks *s, const assay_map *rows, const frame *f)
{
	assay_pool *strings = &s->part->strings;
	uint32_t caller = f->parent ? assay_map_get(rows, f->parent) : ASSAY_MAP_ABSENT;
	assay_count(s->part, ASSAY_ISSUE_bad_record, f->parent && caller == ASSAY_MAP_ABSENT);
	assay_sid function = assay_str_eq(f->name, f->file) ? 0 : assay_intern(strings, f->name);
	uint32_t code =
		assay_stacks_code(s, f->kind, assay_intern(strings, f->file), function,
				  line_number(f->first_line), f->offset >= 0 ? f->offset : -1);
	return assay_stacks_call(s, caller == ASSAY_MAP_ABSENT ? ASSAY_NO_ROW : caller, code,
				 line_number(f->line));
}

static void add_frames(assay_stacks *s, assay_map *rows, assay_json j)
{
	assay_arena scratch = {0};
	assay_str number, key;
	while (assay_json_member(&j, &number)) {
		frame f = {.line = -1, .first_line = -1, .offset = -1, .kind = ASSAY_CODE_PYTHON};
		if (!assay_json_enter(&j, '{'))
			break;
		while (assay_json_member(&j, &key))
			take_member(&j, key, &f, &scratch);
		if (!assay_json_ok(&j))
			break;
		uint32_t row = add_frame(s, rows, &f);
		assay_count(s->part, ASSAY_ISSUE_bad_record, row == ASSAY_NO_ROW);
		if (row != ASSAY_NO_ROW)
			*assay_map_at(rows, number_key(number)) = row;
		assay_arena_reset(&scratch);
	}
	assay_count(s->part, ASSAY_ISSUE_bad_record, !assay_json_ok(&j));
	assay_arena_free(&scratch);
}

/* `base`: what handing over rows has added to the file's numbers. */
static void set_right(assay_part *p, uint32_t *column, size_t base, const assay_map *rows)
{
	char text[ASSAY_DIGITS_MAX];
	if (*column == ASSAY_NO_ROW)
		return;
	size_t n = (size_t)(assay_put_u64(text, *column - base) - text);
	*column = assay_map_get(rows, number_key((assay_str){text, n}));
	assay_count(p, ASSAY_ISSUE_bad_record, *column == ASSAY_MAP_ABSENT);
}

void assay_file_stacks_end(assay_file_stacks *f, assay_part *p)
{
	assay_map rows = {0};
	assay_stacks s = {.part = p};
	size_t base = p->t.stack.n;
	for (size_t i = 0; i < f->frames.n; i++)
		add_frames(&s, &rows, f->frames.p[i]);
	for (size_t i = f->api; i < p->t.api.n; i++)
		set_right(p, &p->t.api.stack[i], base, &rows);
	for (size_t i = f->sample; i < p->t.sample.n; i++) {
		set_right(p, &p->t.sample.stack[i], base, &rows);
		set_right(p, &p->t.sample.calls[i], base, &rows);
		p->t.sample.native[i] = assay_stacks_library(p, p->t.sample.calls[i]);
	}
	assay_map_free(&rows);
	assay_stacks_free(&s);
	assay_vec_free(&f->frames);
	assay_arena_free(&f->arena);
}

/* ------------------------------------------------------------------ tests */

/* main -> step -> (in libx.so) -> read(), seen once; a row of sample. */
static uint32_t add_look(assay_run *run)
{
	assay_stacks s = {.part = &run->part};
	assay_tables *t = &run->part.t;
	assay_sid file = assay_sid_of(run, "/home/me/train \"1\".py");
	uint32_t outer = assay_stacks_call(
		&s, ASSAY_NO_ROW,
		assay_stacks_code(&s, ASSAY_CODE_PYTHON, file, assay_sid_of(run, "main"), 3, -1),
		9);
	uint32_t inner = assay_stacks_call(
		&s, outer,
		assay_stacks_code(&s, ASSAY_CODE_PYTHON, file, assay_sid_of(run, "step"), 20, -1),
		25);
	uint32_t library = assay_stacks_call(&s, ASSAY_NO_ROW,
					     assay_stacks_code(&s, ASSAY_CODE_NATIVE,
							       assay_sid_of(run, "/opt/libx.so"), 0,
							       -1, 0x1a2b),
					     -1);
	uint32_t calls = assay_stacks_call(&s, library,
					   assay_stacks_code(&s, ASSAY_CODE_NATIVE,
							     assay_sid_of(run, "/lib/libc.so.6"),
							     assay_sid_of(run, "read"), -1, 64),
					   -1);
	uint32_t row = assay_add(t, ASSAY_T_sample);
	t->sample.track[row] = assay_thread_track(&run->part, 3, 4);
	t->sample.ts[row] = 1000;
	t->sample.dur[row] = 300;
	t->sample.stack[row] = inner;
	t->sample.calls[row] = calls;
	t->sample.native[row] = assay_stacks_library(&run->part, calls);
	t->sample.file[row] = assay_sid_of(run, "/data/x.bin");
	t->sample.kind[row] = ASSAY_CALL_READ;
	t->sample.call[row] = 0;
	t->sample.cpu[row] = 0;
	t->sample.holder[row] = assay_thread_track(&run->part, 3, 5);
	t->sample.count[row] = 4;
	t->sample.state[row] = ASSAY_THREAD_BLOCKED;
	t->sample.gil[row] = ASSAY_GIL_FREE;
	t->sample.flags[row] = 4;
	assay_stacks_free(&s);
	return row;
}

static bool same_stack(const assay_run *a, uint32_t x, const assay_run *b, uint32_t y)
{
	const assay_tables *t = &a->part.t, *u = &b->part.t;
	while (x != ASSAY_NO_ROW && y != ASSAY_NO_ROW) {
		uint32_t p = t->stack.code[x], q = u->stack.code[y];
		if (t->stack.line[x] != u->stack.line[y] || t->code.kind[p] != u->code.kind[q] ||
		    t->code.line[p] != u->code.line[q] || t->code.offset[p] != u->code.offset[q] ||
		    t->code.own[p] != u->code.own[q] || t->stack.depth[x] != u->stack.depth[y] ||
		    !assay_str_eq(assay_text(a, t->code.file[p]), assay_text(b, u->code.file[q])) ||
		    !assay_str_eq(assay_text(a, t->code.function[p]),
				  assay_text(b, u->code.function[q])))
			return false;
		x = t->stack.caller[x];
		y = u->stack.caller[y];
	}
	return x == y;
}

TEST(a_look_that_was_written_reads_back_the_same)
{
	assay_run *run = assay_run_new(), *back = assay_run_new();
	uint32_t row = add_look(run);
	assay_jsonw frames = {0}, look = {0};
	assay_file_stacks f;
	assay_frames_put(&frames, run);
	assay_look_put(&look, run, row);
	assay_look_put_calls(&look, run, row);
	assay_file_stacks_begin(&f, &back->part);
	assay_file_stacks_add(&f, assay_jsonw_text(&frames));
	uint32_t got = assay_look_take(&back->part, assay_thread_track(&back->part, 3, 4),
				       assay_jsonw_text(&look));
	assay_sample_table *s = &run->part.t.sample, *r = &back->part.t.sample;
	r->stack[got] = s->stack[row] + 1;
	assay_file_stacks_end(&f, &back->part);
	CHECK(same_stack(run, s->stack[row], back, r->stack[got]));
	CHECK(same_stack(run, s->calls[row], back, r->calls[got]));
	CHECK(r->native[got] != ASSAY_NO_ROW &&
	      !strcmp(assay_z(back, back->part.t.code.file[r->native[got]]), "/opt/libx.so"));
	CHECK(!strcmp(assay_z(back, r->file[got]), "/data/x.bin"));
	CHECK(r->kind[got] == ASSAY_CALL_READ && r->call[got] == 0 && r->dur[got] == 300);
	CHECK(r->cpu[got] == 0 && r->delay[got] == -1 && r->count[got] == 4);
	CHECK(r->state[got] == ASSAY_THREAD_BLOCKED && r->gil[got] == ASSAY_GIL_FREE);
	CHECK(r->flags[got] == 4 && back->part.t.track.tid[r->holder[got]] == 5);
	CHECK_EQ(back->part.issues[ASSAY_ISSUE_bad_record], 0);
	assay_jsonw_free(&frames);
	assay_jsonw_free(&look);
	assay_run_free(run);
	assay_run_free(back);
	return 0;
}

TEST(what_the_scheduler_told_reads_back_without_looks)
{
	assay_run *run = assay_run_new();
	uint32_t got = assay_look_take(
		&run->part, assay_thread_track(&run->part, 3, 4),
		ASSAY_S("\"flags\": 64, \"length_ns\": 9, \"state\": \"off_processor\""));
	const assay_sample_table *s = &run->part.t.sample;
	CHECK(s->flags[got] == ASSAY_SAMPLE_TURN && s->count[got] == 0 && s->dur[got] == 9);
	CHECK_EQ(s->state[got], ASSAY_THREAD_OFF);
	assay_run_free(run);
	return 0;
}

TEST(frames_of_other_tools_and_wrong_ones_are_taken_as_far_as_they_go)
{
	static const char *const texts[] = {
		"\"a\": {\"name\": \"main\"}, \"b\": {\"name\": \"f\", \"parent\": \"a\"}",
		"\"1\": {\"name\": \"x\", \"parent\": 1}, \"2\": {\"parent\": 9}",
		"\"1\": {\"line\": 99999999999999999999, \"offset\": -5}, \"2\": 7",
		"\"1\": {\"name\"",
		"[]",
		"{",
	};
	static const size_t rows[] = {2, 2, 1, 0, 0, 0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++) {
		assay_run *run = assay_run_new();
		assay_file_stacks f;
		assay_file_stacks_begin(&f, &run->part);
		assay_file_stacks_add(&f, assay_str_of(texts[i]));
		uint32_t api = assay_add(&run->part.t, ASSAY_T_api);
		run->part.t.api.stack[api] = 77;
		assay_file_stacks_end(&f, &run->part);
		CHECK_EQ(run->part.t.stack.n, rows[i]);
		CHECK_EQ(run->part.t.api.stack[api], ASSAY_NO_ROW);
		assay_run_free(run);
	}
	return 0;
}

TEST(code_that_a_library_made_is_not_the_programs_own)
{
	assay_part p = {0};
	assay_stacks s = {.part = &p};
	struct {
		const char *file;
		uint32_t stack;
	} called[] = {{"<string>", 0}, /* python -c */
		      {"/usr/lib/python3/dist-packages/triton/runtime/jit.py", 0},
		      {"<string>", 0},
		      {"train.py", 0}};
	uint32_t caller = ASSAY_NO_ROW;
	for (size_t i = 0; i < ASSAY_COUNT_OF(called); i++) {
		assay_sid file = assay_intern(&p.strings, assay_str_of(called[i].file));
		uint32_t code = assay_stacks_code(&s, ASSAY_CODE_PYTHON, file, file, 1, -1);
		caller = called[i].stack = assay_stacks_call(&s, caller, code, (int32_t)i + 1);
	}
	CHECK_EQ(p.t.stack.own[called[0].stack], called[0].stack);
	CHECK_EQ(p.t.stack.own[called[2].stack], called[0].stack);
	CHECK_EQ(p.t.stack.own[called[3].stack], called[3].stack);
	assay_stacks_free(&s);
	assay_part_free(&p);
	return 0;
}

/* Stacks and samples of a capture. Every ring numbers its own; here they become rows that all
 * share, so that equal stacks of two threads are one row. */
#include "read/capture.h"

#include "base/demangle.h"
#include "names/words.h"

static uint64_t in_ring(const capture *c, uint32_t id)
{
	return (uint64_t)c->ring << 32 | id;
}

static uint32_t row_of(const capture *c, const assay_map *map, uint32_t id)
{
	uint32_t row = id ? assay_map_get(map, in_ring(c, id)) : ASSAY_MAP_ABSENT;
	return row == ASSAY_MAP_ABSENT ? ASSAY_NO_ROW : row;
}

uint32_t assay_capture_stack_row(const capture *c, uint32_t id)
{
	return row_of(c, &c->stack_of, id);
}

/* The texts behind a CODE, cut where the record ends. */
static assay_str text_at(const capture *c, size_t at, size_t n)
{
	size_t room = c->record.n > at ? c->record.n - at : 0;
	return (assay_str){c->record.p + (room ? at : 0), n < room ? n : room};
}

/* Row of what a CODE tells, by its texts; ABSENT in a new slot. */
static uint32_t *code_slot(capture *c, uint32_t kind, assay_str file, assay_str name, int32_t line)
{
	assay_pool *strings = &c->part->strings;
	uint32_t key[4] = {kind, assay_intern(strings, file), assay_intern(strings, name),
			   (uint32_t)line};
	return assay_map_at(&c->codes, assay_hash(key, sizeof key, 0));
}

/* "+1a2b BUILD_ID": where in the library. */
static int64_t native_offset(assay_str name)
{
	uint64_t v = 0;
	size_t i = 1;
	for (; i < name.n && name.p[i] != ' ' && v >> 58 == 0; i++) {
		int digit = assay_hex_digit(name.p[i]);
		if (digit < 0)
			return -1;
		v = v << 4 | (unsigned)digit;
	}
	return name.n > 1 && name.p[0] == '+' && i > 1 ? (int64_t)v : -1;
}

void assay_capture_code(capture *c, const any_record *r)
{
	const assay_wire_code *w = &r->code;
	size_t at = sizeof *w;
	assay_str file = text_at(c, at, w->file_length);
	assay_str name = text_at(c, at + w->file_length, w->name_length);
	uint32_t kind = w->kind < ASSAY_CODE_KIND_COUNT ? w->kind : ASSAY_CODE_UNKNOWN;
	uint32_t *slot = code_slot(c, kind, file, name, w->line), row = *slot;
	if (row == ASSAY_MAP_ABSENT) {
		assay_code_table *t = &c->part->t.code;
		row = *slot = assay_add(&c->part->t, ASSAY_T_code);
		t->kind[row] = (uint8_t)kind;
		t->file[row] = assay_intern(&c->part->strings, file);
		t->offset[row] = kind == ASSAY_CODE_NATIVE ? native_offset(name) : -1;
		if (t->offset[row] < 0)
			t->function[row] = assay_intern(&c->part->strings, name);
		t->line[row] = w->line > 0 ? w->line : -1;
		t->own[row] =
			kind == ASSAY_CODE_PYTHON && t->file[row] && !assay_is_library_file(file);
	}
	*assay_map_at(&c->code_of, in_ring(c, w->id)) = row;
}

/* Told behind the CODE that it names. */
void assay_capture_native_name(capture *c, const any_record *r)
{
	const assay_wire_function *w = &r->function;
	size_t at = sizeof *w, name_at = at + w->file_length, symbol_at = name_at + w->name_length;
	uint32_t row = *code_slot(c, ASSAY_CODE_NATIVE, text_at(c, at, w->file_length),
				  text_at(c, name_at, w->name_length), 0);
	assay_str symbol = text_at(c, symbol_at, w->symbol_length);
	if (row == ASSAY_MAP_ABSENT)
		assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
	else
		c->part->t.code.function[row] =
			assay_intern(&c->part->strings, assay_demangle(&c->scratch, symbol));
}

/* A caller that is not known was in a chunk that is lost: the stack begins below it. */
void assay_capture_stack(capture *c, const any_record *r)
{
	const assay_wire_stack *w = &r->stack;
	uint32_t caller = row_of(c, &c->stack_of, w->caller);
	uint32_t code = row_of(c, &c->code_of, w->code), row = ASSAY_NO_ROW;
	if (code != ASSAY_NO_ROW && (!w->caller || caller != ASSAY_NO_ROW))
		row = assay_stacks_call(&c->shared, caller, code, w->line);
	if (row == ASSAY_NO_ROW)
		assay_count(c->part, ASSAY_ISSUE_bad_record, 1);
	else
		*assay_map_at(&c->stack_of, in_ring(c, w->id)) = row;
}

static int64_t or_unknown(int64_t ns)
{
	return ns < 0 ? -1 : ns;
}

void assay_capture_sample(capture *c, const any_record *r)
{
	const assay_wire_sample *w = &r->sample;
	assay_sample_table *t = &c->part->t.sample;
	int64_t pid = w->pid ? w->pid : c->pid;
	uint32_t file = row_of(c, &c->code_of, w->file);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_sample);
	t->ts[row] = w->start;
	t->dur[row] = assay_capture_length(c, w->start, w->end);
	t->track[row] = assay_thread_track(c->part, pid, w->rec.thread);
	t->stack[row] = assay_capture_stack_row(c, w->stack);
	t->calls[row] = assay_capture_stack_row(c, w->native);
	t->native[row] = assay_stacks_library(c->part, t->calls[row]);
	t->file[row] = file == ASSAY_NO_ROW ? 0 : c->part->t.code.file[file];
	t->kind[row] = w->kind < ASSAY_CALL_KIND_COUNT ? w->kind : ASSAY_CALL_OTHER;
	t->call[row] = w->call < 0 ? -1 : w->call;
	t->cpu[row] = or_unknown(w->cpu);
	t->delay[row] = or_unknown(w->delay);
	if (w->holder)
		t->holder[row] = assay_thread_track(c->part, pid, w->holder);
	t->count[row] = w->count;
	t->state[row] = w->state < ASSAY_THREAD_STATE_COUNT ? w->state : ASSAY_THREAD_UNKNOWN;
	t->gil[row] = w->gil < ASSAY_GIL_STATE_COUNT ? w->gil : ASSAY_GIL_UNKNOWN;
	t->flags[row] = w->flags;
	assay_capture_seen(c, w->end);
}

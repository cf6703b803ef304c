/* A thread's stacks. The last stack is kept: most calls differ from the one before in their
 * innermost calls only, and what agrees needs no search. */
#include "record/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "record/rt.h"

enum { FIRST_SLOTS = 1 << 12, MOST_SLOTS = 1 << 22 };

/* What a slot's key is made of. A call: id of its caller, instruction, mark. */
#define CODE_SPACE   UINT32_MAX       /* caller of codes: address, mark */
#define PLACE_SPACE  (UINT32_MAX - 1) /* caller of places: hashes of the texts */
#define RUNS_SPACE   (UINT32_MAX - 2) /* caller of what runs there: stack, or thread; id + 1 */
#define LINE_SPACE   (1ull << 63)     /* mark of calls by line: code << 32 | line */
#define NATIVE_SPACE (1ull << 62)     /* mark of native calls, with the object's number */

typedef struct slot {
	uint64_t a, b;
	uint32_t caller;
	uint32_t id; /* 0: the slot is free */
} slot;

struct assay_stacks {
	uint64_t place; /* ring that what is here was told in */
	uint32_t last_code, last_stack;
	uint32_t slots, used;
	slot *slot;
	uint32_t n; /* calls of the last stack, outermost first */
	assay_py_frame frame[ASSAY_PY_DEPTH];
	uint32_t id[ASSAY_PY_DEPTH];
	assay_py_frame room[ASSAY_PY_DEPTH];
};

static void *pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

assay_stacks *assay_stacks_new(void)
{
	assay_stacks *s = pages(sizeof *s);
	if (!s)
		return NULL;
	s->slots = FIRST_SLOTS;
	s->slot = pages(FIRST_SLOTS * sizeof *s->slot);
	if (s->slot)
		return s;
	munmap(s, sizeof *s);
	return NULL;
}

void assay_stacks_free(assay_stacks *s)
{
	if (!s)
		return;
	munmap(s->slot, s->slots * sizeof *s->slot);
	munmap(s, sizeof *s);
}

assay_py_frame *assay_stacks_room(assay_stacks *s)
{
	return s->room;
}

const assay_py_frame *assay_stacks_last(const assay_stacks *s, uint32_t *n)
{
	*n = s->n;
	return s->frame;
}

/* ---- the table ---- */

static inline uint32_t place_of(uint32_t caller, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0xff51afd7ed558ccdu ^ (uint64_t)caller << 17) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static slot *find(const assay_stacks *s, uint32_t caller, uint64_t a, uint64_t b)
{
	uint32_t i = place_of(caller, a, b) & (s->slots - 1);
	for (;; i = (i + 1) & (s->slots - 1)) {
		slot *at = &s->slot[i];
		if (!at->id || (at->a == a && at->b == b && at->caller == caller))
			return at;
	}
}

static bool grow(assay_stacks *s)
{
	uint32_t before = s->slots;
	slot *old = s->slot, *wider = before < MOST_SLOTS ? pages(before * 2 * sizeof *old) : NULL;
	if (!wider)
		return false;
	s->slot = wider;
	s->slots = before * 2;
	for (uint32_t i = 0; i < before; i++)
		if (old[i].id)
			*find(s, old[i].caller, old[i].a, old[i].b) = old[i];
	munmap(old, before * sizeof *old);
	return true;
}

/* False when the table is full for good. */
static bool put(assay_stacks *s, uint32_t caller, uint64_t a, uint64_t b, uint32_t id)
{
	if (s->used * 2 >= s->slots && !grow(s))
		return false;
	*find(s, caller, a, b) = (slot){a, b, caller, id};
	s->used++;
	return true;
}

/* Another ring knows nothing of what was told. */
static bool enter_ring(assay_stacks *s)
{
	uint64_t place = assay_rt_place();
	if (s->place == place || !place)
		return place != 0;
	memset(s->slot, 0, s->slots * sizeof *s->slot);
	s->used = s->last_code = s->last_stack = s->n = 0;
	s->place = place;
	return true;
}

/* ---- records ---- */

static uint32_t write_code(assay_stacks *s, assay_wire_code head, const char *file,
			   const char *name)
{
	size_t n = sizeof head + head.file_length + head.name_length;
	assay_wire_code *w = assay_rt_begin(ASSAY_WIRE_CODE, n);
	if (!w)
		return 0;
	head.rec = w->rec;
	head.id = ++s->last_code;
	*w = head;
	memcpy(w + 1, file, head.file_length);
	memcpy((char *)(w + 1) + head.file_length, name, head.name_length);
	assay_rt_commit();
	return head.id;
}

/* How code is read, and which. */
typedef struct source {
	const assay_py *py;
	assay_py_get *get;
	int pid;
	const assay_py_frame *f;
} source;

static uint32_t code_id(assay_stacks *s, const source *src)
{
	const slot *known = find(s, CODE_SPACE, src->f->code, src->f->mark);
	if (known->id)
		return known->id;
	char file[ASSAY_PY_TEXT], name[ASSAY_PY_TEXT];
	const assay_py_layout *at = &src->py->at;
	uintptr_t file_text, name_text;
	assay_wire_code head = {.kind = ASSAY_WIRE_CODE_PYTHON};
	uintptr_t code = src->f->code;
	if (!src->get(src->pid, code + at->code_file, &file_text, sizeof file_text) ||
	    !src->get(src->pid, code + at->code_name, &name_text, sizeof name_text) ||
	    !src->get(src->pid, code + at->code_line, &head.line, sizeof head.line))
		return 0;
	head.file_length = (uint16_t)assay_py_text(src->py, src->get, src->pid, file_text, file);
	head.name_length = (uint16_t)assay_py_text(src->py, src->get, src->pid, name_text, name);
	uint32_t id = write_code(s, head, file, name);
	return id && put(s, CODE_SPACE, code, src->f->mark, id) ? id : 0;
}

/* A call at an instruction not met before: perhaps its line was. */
static uint32_t new_call(assay_stacks *s, uint32_t caller, const source *src)
{
	uint32_t code = code_id(s, src);
	if (!code)
		return 0;
	int32_t line = assay_py_line(src->py, src->get, src->pid, src->f);
	uint64_t by_line = (uint64_t)code << 32 | (uint32_t)line;
	uint32_t id = find(s, caller, by_line, LINE_SPACE)->id;
	if (!id) {
		assay_wire_stack *w = assay_rt_begin(ASSAY_WIRE_STACK, sizeof *w);
		if (!w)
			return 0;
		id = ++s->last_stack;
		*w = (assay_wire_stack){w->rec, id, caller, code, line};
		assay_rt_commit();
		if (!put(s, caller, by_line, LINE_SPACE, id))
			return 0;
	}
	return put(s, caller, src->f->at, src->f->mark, id) ? id : 0;
}

uint32_t assay_stacks_place(assay_stacks *s, uint16_t kind, const char *file, const char *name)
{
	uint64_t a = kind, b = 0;
	if (!enter_ring(s))
		return 0;
	for (const char *p = file; *p; p++)
		a = (a ^ (unsigned char)*p) * 0x100000001b3u;
	for (const char *p = name; *p; p++)
		b = (b ^ (unsigned char)*p) * 0x100000001b3u;
	const slot *known = find(s, PLACE_SPACE, a, b);
	if (known->id)
		return known->id;
	size_t file_length = strnlen(file, ASSAY_PY_TEXT), length = strnlen(name, ASSAY_PY_TEXT);
	assay_wire_code head = {.kind = kind,
				.file_length = (uint16_t)file_length,
				.name_length = (uint16_t)length};
	uint32_t id = write_code(s, head, file, name);
	return id && put(s, PLACE_SPACE, a, b, id) ? id : 0;
}

/* A call without a line. */
static uint32_t write_call(assay_stacks *s, uint32_t caller, uint32_t code)
{
	assay_wire_stack *w = code ? assay_rt_begin(ASSAY_WIRE_STACK, sizeof *w) : NULL;
	if (!w)
		return 0;
	uint32_t id = ++s->last_stack;
	*w = (assay_wire_stack){w->rec, id, caller, code, 0};
	assay_rt_commit();
	return id;
}

static uint32_t outer_calls(assay_stacks *s)
{
	uint32_t code = assay_stacks_place(s, ASSAY_WIRE_CODE_PYTHON, "", "(more calls)");
	uint64_t by_line = (uint64_t)code << 32;
	uint32_t id = find(s, 0, by_line, LINE_SPACE)->id;
	if (id || !code)
		return id;
	id = write_call(s, 0, code);
	return id && put(s, 0, by_line, LINE_SPACE, id) ? id : 0;
}

/* A native function has the library's path, and "+" with where it begins in it and the library's
 * build id, which `assay record` looks up in the library's tables at the end. */
static uint32_t native_code(assay_stacks *s, const assay_native_call *c)
{
	const assay_native_object *o = c->object;
	char name[24 + 2 * ASSAY_NATIVE_BUILD_ID];
	int n = snprintf(name, sizeof name, "+%" PRIxPTR, c->function - o->base);
	for (int i = 0; i < o->build_id_length; i++)
		n += snprintf(name + n, sizeof name - (size_t)n, i ? "%02x" : " %02x",
			      o->build_id[i]);
	return assay_stacks_place(s, ASSAY_WIRE_CODE_NATIVE, o->path, name);
}

uint32_t assay_stacks_native(assay_stacks *s, const assay_native_call *call, uint32_t n)
{
	uint32_t caller = 0;
	if (!enter_ring(s))
		return 0;
	while (n-- > 0) {
		uint64_t mark = NATIVE_SPACE | call[n].object->serial;
		uint32_t id = find(s, caller, call[n].function, mark)->id;
		if (!id) {
			id = write_call(s, caller, native_code(s, &call[n]));
			if (!id || !put(s, caller, call[n].function, mark, id))
				return 0;
		}
		caller = id;
	}
	return caller;
}

/* The stack that a thread is at; of one without, the thread. */
static slot *runs_at(const assay_stacks *s, uint32_t stack, uint32_t tid)
{
	return find(s, RUNS_SPACE, stack, stack ? 0 : tid);
}

bool assay_stacks_ran(const assay_stacks *s, uint32_t stack, uint32_t tid, uint32_t *native)
{
	const slot *at = runs_at(s, stack, tid);
	*native = at->id ? at->id - 1 : 0;
	return at->id != 0;
}

void assay_stacks_runs(assay_stacks *s, uint32_t stack, uint32_t tid, uint32_t native)
{
	slot *at = runs_at(s, stack, tid);
	if (at->id)
		at->id = native + 1;
	else
		put(s, RUNS_SPACE, stack, stack ? 0 : tid, native + 1);
}

static inline bool same_call(const assay_py_frame *x, const assay_py_frame *y)
{
	return x->at == y->at && x->mark == y->mark;
}

uint32_t assay_stacks_shared(const assay_stacks *s, uint32_t n)
{
	uint32_t least = n < s->n ? n : s->n, same = 0;
	while (same < least && same_call(&s->room[n - 1 - same], &s->frame[same]))
		same++;
	return same;
}

/* The id of a call; 0: it could not be told. */
static uint32_t call_id(assay_stacks *s, uint32_t caller, const source *src)
{
	uint32_t known = find(s, caller, src->f->at, src->f->mark)->id;
	return known ? known : new_call(s, caller, src);
}

uint32_t assay_stacks_id(assay_stacks *s, const assay_py *py, assay_py_get *get, int pid,
			 uint32_t kept, uint32_t n, bool cut)
{
	uint64_t place = s->place;
	if (!enter_ring(s) || (kept && s->place != place))
		return 0; /* what was kept is of another ring */
	uint32_t caller = kept ? s->id[kept - 1] : cut ? outer_calls(s) : 0;
	s->n = kept;
	for (uint32_t i = n; i-- > 0;) {
		source src = {py, get, pid, &s->room[i]};
		if (!(caller = call_id(s, caller, &src)))
			return 0; /* what was told so far stays to be compared with */
		s->frame[s->n] = s->room[i];
		s->id[s->n++] = caller;
	}
	if (cut)
		s->n = 0;
	return caller;
}

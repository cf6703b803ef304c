/* roctx: push, pop, start and stop are calls. The text is only in the callback, never in buffer
 * records. From 1.0 on the SDK also tells a range as one: not used, since the end of such a range
 * takes whatever its thread began last off the SDK's list of calls being made, and writes errors
 * into the program's output when that is another one. */
#include <string.h>

#include "record/rocm.h"
#include "record/steps.h"
#include "record/unseen.h"

enum { TEXT_MAX = 1024, MARKS_MAX = 16 };

typedef enum mark_op { NOTHING, MARK, PUSH, POP, START, STOP } mark_op;

static struct {
	uint8_t op[MARKS_MAX]; /* by operation of the kind that is subscribed */
	int32_t name_thread;
} marks = {.name_thread = -1};

static chosen_ids chosen_started;
static __thread chosen_push chosen;
static __thread step_push step;
static __thread unseen not_told;

static const struct {
	const char *name;
	mark_op op;
} ops[] = {
	{"roctxMarkA", MARK},        {"roctxRangePushA", PUSH}, {"roctxRangePop", POP},
	{"roctxRangeStartA", START}, {"roctxRangeStop", STOP},
};

static void choose_one(int32_t operation, const char *name, void *data)
{
	const rocm_kind *kind = data;
	if (*kind == ROCM_NAMING && !strcmp(name, "roctxNameOsThread"))
		marks.name_thread = operation;
	for (size_t i = 0; *kind != ROCM_NAMING && i < sizeof ops / sizeof *ops; i++)
		if (operation >= 0 && operation < MARKS_MAX && !strcmp(name, ops[i].name))
			marks.op[operation] = (uint8_t)ops[i].op;
}

void assay_rocm_choose_marks(const rocprof_lib *lib, rocm_kind kind)
{
	assay_rocm_each(lib, assay_rocm_names.kind[kind], choose_one, &kind);
}

static void put(uint16_t op, const char *text, uint64_t id, int64_t time)
{
	size_t n = text ? strlen(text) : 0;
	if (n > TEXT_MAX)
		n = TEXT_MAX;
	assay_wire_range *g = assay_rt_begin(ASSAY_WIRE_RANGE, sizeof *g + n);
	if (!g)
		return;
	memset((char *)g + sizeof g->rec, 0, sizeof *g - sizeof g->rec);
	g->time = time;
	g->id = id;
	g->op = op;
	g->length = (uint16_t)n;
	if (n)
		memcpy(g + 1, text, n);
	assay_rt_commit();
}

static bool is_chosen(const char *text)
{
	return assay_rt_ranged() && text && !strcmp(text, assay_rt_conf()->range);
}

static void push(const char *text)
{
	if (chosen_on_push(&chosen, NULL, is_chosen(text)))
		assay_rt_range(1);
	step_on_push(&step, NULL, text, text ? strlen(text) : 0);
	if (unseen_push(&not_told, NULL, assay_rt_recording()))
		put(ASSAY_WIRE_RANGE_PUSH, text, 0, assay_rt_now());
}

static void pop(void)
{
	if (unseen_pop(&not_told, NULL))
		put(ASSAY_WIRE_RANGE_POP, NULL, 0, assay_rt_now());
	if (chosen_on_pop(&chosen, NULL))
		assay_rt_range(-1);
	step_on_pop(&step, NULL);
}

/* Ids are the SDK's own: these are told whether recording is on or not, so that every end has its
 * start. */
static void start(const char *text, uint64_t id, int64_t time)
{
	chosen_on_start(chosen_started, id, is_chosen(text));
	put(ASSAY_WIRE_RANGE_START, text, id, time);
}

static void stop(uint64_t id)
{
	put(ASSAY_WIRE_RANGE_END, NULL, id, assay_rt_now());
	chosen_on_stop(chosen_started, id);
}

static void mark(const char *text)
{
	if (assay_rt_recording())
		put(ASSAY_WIRE_RANGE_MARK, text, 0, assay_rt_now());
}

static mark_op op_of(int32_t operation)
{
	return operation >= 0 && operation < MARKS_MAX ? (mark_op)marks.op[operation] : NOTHING;
}

/* The id of a started range is known only when the call returns. */
void assay_rocm_on_marker(const rocm_call *c, rocprof_user *user)
{
	const rocprof_marker_call *m = c->payload;
	mark_op op = op_of(c->operation);
	if (!m)
		return;
	if (c->phase == ROCPROF_EXIT && op == START)
		start(m->args.message, m->result, (int64_t)user->value);
	if (c->phase != ROCPROF_ENTER)
		return;
	if (op == MARK)
		mark(m->args.message);
	else if (op == PUSH)
		push(m->args.message);
	else if (op == POP)
		pop();
	else if (op == START)
		user->value = (uint64_t)assay_rt_now();
	else if (op == STOP)
		stop(m->args.id);
}

void assay_rocm_on_naming(const rocm_call *c, rocprof_user *user)
{
	(void)user;
	const rocprof_marker_call *m = c->payload;
	if (!m || c->phase != ROCPROF_ENTER || c->operation != marks.name_thread ||
	    !m->args.message || !assay_rt_bulk_open())
		return;
	uint32_t sid = assay_rt_string(m->args.message);
	assay_wire_thread *t = assay_rt_bulk(ASSAY_WIRE_THREAD, sizeof *t);
	t->rec.thread = assay_rt_tid();
	t->name = sid;
	assay_rt_bulk_close();
}

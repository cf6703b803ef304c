#include "find/detour.h"

#include <assert.h>

#include "analyze/idle_where.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/words.h"

static const struct row {
	assay_why cause; /* ASSAY_WHY_COUNT: any */
	const char *path;
	const char *function; /* its last words; "": any */
	enum { NEEDED, GOES, OWN, LOADER, SHARER, PIPE } work;
	assay_detour way;
} rows[] = {
#define DETOUR_AS(cause, path, function, work, as, says, fix)                                      \
	{ASSAY_WHY_##cause, path, function, work, {says, fix, ASSAY_WHY_##as}},
#define DETOUR_IN(cause, path, function, work, says, fix)                                          \
	{ASSAY_WHY_##cause, path, function, work, {says, fix, ASSAY_WHY_COUNT}},
#define DETOUR(cause, path, work, says, fix) DETOUR_IN(cause, path, "", work, says, fix)
#include "find/detours.def"
#undef DETOUR
#undef DETOUR_IN
#undef DETOUR_AS
};

enum { ROWS = ASSAY_COUNT_OF(rows), NONE = ROWS };

const uint8_t assay_detours = ROWS;

bool assay_detour_goes(uint8_t way)
{
	assert(way < ROWS);
	return rows[way].work == GOES;
}

assay_detour assay_detour_number(uint8_t way)
{
	assert(way < ROWS);
	return rows[way].way;
}

static bool lies_in(assay_str file, const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 0; i + n <= file.n; i++)
		if ((!i || file.p[i - 1] == '/') && !memcmp(file.p + i, path, n))
			return true;
	return false;
}

/* Names outside Python have their arguments behind them. */
static bool is_called(assay_str function, const char *name)
{
	int64_t at = assay_str_find(function, name);
	size_t end = (size_t)at + strlen(name);
	return assay_str_ends(function, name) ||
	       (*name && at >= 0 && end < function.n && function.p[end] == '(');
}

static uint8_t row_of(assay_str file, assay_str function, assay_why cause)
{
	uint8_t r = 0;
	while (r < ROWS && ((rows[r].cause != ASSAY_WHY_COUNT && rows[r].cause != cause) ||
			    !is_called(function, rows[r].function) || !lies_in(file, rows[r].path)))
		r++;
	return r;
}

unsigned assay_detour_of_frame(assay_str frame)
{
	ptrdiff_t open = assay_str_find(frame, "("), close = assay_str_find(frame, "): ");
	if (open <= 0 || close < open)
		return NONE;
	assay_str function = {frame.p + close + 3, frame.n - (size_t)close - 3};
	return row_of((assay_str){frame.p, (size_t)open}, function, ASSAY_WHY_COUNT);
}

bool assay_detour_has_enough(int64_t time, int64_t all)
{
	enum { PART = 3 };
	return time > 0 && time * PART >= all;
}

uint8_t assay_detour_by_checkpoints(void)
{
	return row_of(ASSAY_S("torch/utils/checkpoint.py"), ASSAY_S("unpack_hook"),
		      ASSAY_WHY_COUNT);
}

/* A frame's own way inside that of its caller. A loader's workers are other processes, and memory
 * is shared by asking them for it: that there is a pipe is nothing to be cured. */
static uint8_t inside(uint8_t caller, uint8_t own)
{
	bool known = caller != NONE && own != NONE && rows[own].work == PIPE &&
		     (rows[caller].work == LOADER || rows[caller].work == SHARER);
	return own == NONE || known ? caller : own;
}

unsigned assay_detour_inside(unsigned caller, unsigned own)
{
	return inside((uint8_t)caller, (uint8_t)own);
}

bool assay_detour_says(unsigned way)
{
	return way < ROWS && rows[way].way.says;
}

const uint8_t *assay_detours_of_stacks(const assay_run *run, assay_why cause, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	uint8_t *code = assay_alloc(a, t->code.n + 1), *stack = assay_alloc(a, t->stack.n + 1);
	for (uint32_t i = 0; i < t->code.n; i++)
		code[i] = row_of(assay_text(run, t->code.file[i]),
				 assay_text(run, t->code.function[i]), cause);
	for (uint32_t s = 0; s < t->stack.n; s++) { /* callers come before */
		uint32_t caller = t->stack.caller[s];
		stack[s] = inside(caller < s ? stack[caller] : NONE, code[t->stack.code[s]]);
	}
	return stack;
}

/* Stacks outside Python are cut where they are deep; such a one does not tell who has it
 * compiled. */
static bool is_cut(const assay_run *run, uint32_t calls)
{
	const assay_tables *t = &run->part.t;
	if (calls == ASSAY_NO_ROW)
		return false;
	while (t->stack.caller[calls] != ASSAY_NO_ROW)
		calls = t->stack.caller[calls];
	assay_str file = assay_text(run, t->code.file[t->stack.code[calls]]);
	return assay_word_of_frame(file) == ASSAY_WORD_COMPILE;
}

assay_detour assay_detour_of(const assay_run *run, const assay_window *w, assay_why cause)
{
	const assay_tables *t = &run->part.t;
	const assay_gap_part_table *p = &t->gap_part;
	assay_arena scratch = {0};
	int64_t time[ROWS + 1] = {0}, all = 0;
	uint8_t best = NONE;
	if (!t->stack.n)
		return (assay_detour){.as = ASSAY_WHY_COUNT};
	const uint8_t *of = assay_detours_of_stacks(run, cause, &scratch);
	for (size_t i = 0; i < p->n; i++) {
		uint32_t sample = p->sample[i], stack = p->stack[i];
		if (p->cause[i] != cause || !assay_gap_in_window(&t->gap, w, p->gap[i]))
			continue;
		uint32_t calls = sample == ASSAY_NO_ROW ? sample : t->sample.calls[sample];
		uint8_t way = stack == ASSAY_NO_ROW ? NONE : of[stack];
		way = way == NONE && calls != ASSAY_NO_ROW ? of[calls] : way;
		if (way == NONE && cause == ASSAY_WHY_HOST_COMPILE && is_cut(run, calls))
			continue;
		way = assay_detour_says(way) ? way : NONE;
		all += p->dur[i];
		time[way] += p->dur[i];
		best = way != NONE && (best == NONE || time[way] > time[best]) ? way : best;
	}
	assay_arena_free(&scratch);
	return best != NONE && assay_detour_has_enough(time[best], all)
		       ? rows[best].way
		       : (assay_detour){.as = ASSAY_WHY_COUNT};
}

static void add_part(assay_run *run, assay_why cause, int64_t dur, uint32_t stack, uint32_t calls)
{
	assay_tables *t = &run->part.t;
	uint32_t gap = assay_hand_gap(run, cause, 0, dur), sample = assay_add(t, ASSAY_T_sample);
	t->sample.calls[sample] = calls;
	t->gap_part.stack[gap] = stack;
	t->gap_part.sample[gap] = sample;
}

TEST(a_way_through_a_library_that_has_a_cure_is_told_by_its_files)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000};
	uint32_t main = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", NULL);
	uint32_t text = assay_hand_stack(run, main, "/v/site-packages/torch/_tensor_str.py", NULL);
	uint32_t inner = assay_hand_stack(run, text, "/v/site-packages/torch/_ops.py", NULL);
	uint32_t mine = assay_hand_stack(run, main, "my_torch/_tensor_str.py", NULL);
	add_part(run, ASSAY_WHY_HOST_PYTHON, 60, main, ASSAY_NO_ROW);
	add_part(run, ASSAY_WHY_HOST_PYTHON, 20, mine, ASSAY_NO_ROW);
	CHECK(!assay_detour_of(run, &w, ASSAY_WHY_HOST_PYTHON).says);
	add_part(run, ASSAY_WHY_HOST_PYTHON, 45, inner, ASSAY_NO_ROW);
	CHECK(!strcmp(assay_detour_of(run, &w, ASSAY_WHY_HOST_PYTHON).says,
		      "a tensor is made into text"));
	CHECK(!assay_detour_of(run, &w, ASSAY_WHY_HOST_SYNC).says);
	assay_run_free(run);
	return 0;
}

TEST(libraries_of_input_and_logging_have_cures_of_their_own)
{
	static const struct {
		const char *file, *function, *says; /* NULL: nothing */
	} cases[] = {
		{"/usr/lib/python3.12/logging/__init__.py", "Logger.info", "messages are logged"},
		{"/v/site-packages/pynvml.py", "nvmlInit", "the driver is asked"},
		{"/v/site-packages/PIL/Image.py", "Image.resize", "images are decoded"},
		{"/usr/lib/python3.12/copy.py", "deepcopy", "objects are copied"},
		{"/usr/lib/python3.12/copy.py", "copy", NULL},
		{"/usr/lib/python3.12/asyncio/base_events.py", "BaseEventLoop.run_forever", NULL},
		{"/home/me/mylogging/__init__.py", "info", NULL},
		{"/home/me/train.py", "deepcopy", NULL},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint8_t r = row_of(assay_str_of(cases[i].file), assay_str_of(cases[i].function),
				   ASSAY_WHY_COUNT);
		CHECK_EQ(r != NONE, cases[i].says != NULL);
		if (r != NONE)
			CHECK(assay_str_starts(assay_str_of(rows[r].way.says), cases[i].says));
	}
	return 0;
}

TEST(frames_of_a_trace_lead_through_libraries_too)
{
	unsigned image = assay_detour_of_frame(
		ASSAY_S("transformers/models/vit/image_processing_vit.py(17): preprocess"));
	CHECK(image < assay_detours &&
	      assay_str_starts(assay_str_of(rows[image].way.says), "images are changed"));
	CHECK(assay_detour_of_frame(ASSAY_S("torch/_tensor_str.py(700): _str")) < assay_detours);
	CHECK_EQ(assay_detour_of_frame(ASSAY_S("train.py(3): main")), assay_detours);
	CHECK_EQ(assay_detour_of_frame(ASSAY_S("copy.py(61): copy")), assay_detours);
	CHECK(assay_detour_of_frame(ASSAY_S("copy.py(128): deepcopy")) < assay_detours);
	CHECK_EQ(assay_detour_of_frame(ASSAY_S("<built-in method item of Tensor>")), assay_detours);
	return 0;
}

/* What the ways of these frames, the outer ones first, come to. */
static const char *said_of(const char *const *frame, size_t n)
{
	unsigned way = NONE;
	for (size_t i = 0; i < n; i++)
		way = assay_detour_inside(way, assay_detour_of_frame(assay_str_of(frame[i])));
	return assay_detour_says(way) ? rows[way].way.says : "";
}

TEST(what_is_around_a_loader_or_a_process_says_nothing_of_what_is_done_there)
{
	static const char *const
		bar[] = {"tqdm/std.py(1181): __iter__",
			 "torch/utils/data/dataloader.py(630): __next__",
			 "multiprocessing/queues.py(113): get"},
		*const photo[] = {"tqdm/std.py(1181): __iter__",
				  "torch/utils/data/_utils/fetch.py(52): fetch",
				  "photos.py(9): __getitem__", "PIL/Image.py(2215): resize"},
		*const child[] = {"multiprocessing/popen_fork.py(66): _launch",
				  "multiprocessing/process.py(314): _bootstrap",
				  "multiprocessing/process.py(108): run", "train.py(3): main"},
		*const start[] = {"train.py(3): main", "multiprocessing/process.py(121): start",
				  "multiprocessing/popen_fork.py(66): _launch"},
		*const queue[] = {"train.py(3): main", "multiprocessing/queues.py(113): get"},
		*const shared[] = {"torch/utils/data/dataloader.py(630): __next__",
				   "multiprocessing/queues.py(113): get",
				   "torch/multiprocessing/reductions.py(570): rebuild_storage_fd",
				   "multiprocessing/connection.py(502): Client",
				   "multiprocessing/resource_sharer.py(57): detach",
				   "multiprocessing/connection.py(502): Client",
				   "multiprocessing/connection.py(216): recv_bytes"};
	CHECK(!*said_of(bar, 2) && !*said_of(bar, 3));
	CHECK(assay_str_starts(assay_str_of(said_of(photo, 4)), "images are"));
	CHECK(!*said_of(photo, 3));
	CHECK(!*said_of(child, 4));
	CHECK(assay_str_starts(assay_str_of(said_of(start, 3)), "processes are started"));
	CHECK(assay_str_starts(assay_str_of(said_of(queue, 2)), "a batch comes"));
	CHECK(!*said_of(shared, 4));
	CHECK(assay_str_starts(assay_str_of(said_of(shared, 7)), "each tensor of a batch"));
	return 0;
}

TEST(an_event_loop_waits_for_time_or_for_others)
{
	static const assay_why causes[] = {ASSAY_WHY_HOST_SLEEP, ASSAY_WHY_HOST_LOCK};
	static const char *const words[] = {"timer", "request"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(causes); i++) {
		uint8_t r = row_of(ASSAY_S("/usr/lib/python3.12/asyncio/base_events.py"),
				   ASSAY_S("BaseEventLoop._run_once"), causes[i]);
		CHECK(r != NONE && strstr(rows[r].way.says, words[i]));
	}
	return 0;
}

TEST(functions_outside_python_are_known_by_the_name_before_their_arguments)
{
	CHECK(is_called(ASSAY_S("at::native::_pin_memory(at::Tensor const&)"), "pin_memory"));
	CHECK(is_called(ASSAY_S("Queue.get"), "get") && is_called(ASSAY_S("Queue.get"), ""));
	CHECK(!is_called(ASSAY_S("at::native::is_pinned(at::Tensor const&)"), "pin_memory"));
	CHECK(!is_called(ASSAY_S("Queue.get_nowait"), "get"));
	return 0;
}

/* What is taken out of another process's queue is input; what is put there is not. */
TEST(a_batch_from_another_process_is_input)
{
	for (int put = 0; put < 2; put++) {
		assay_run *run = assay_run_new();
		assay_window w = {.to = 1000};
		uint32_t main = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", NULL);
		uint32_t queue = assay_hand_stack(
			run, main, "/usr/lib/python3.12/multiprocessing/queues.py", NULL);
		run->part.t.code.function[run->part.t.stack.code[queue]] =
			assay_sid_of(run, put ? "Queue.put" : "Queue.get");
		add_part(run, ASSAY_WHY_HOST_PYTHON, 60, queue, ASSAY_NO_ROW);
		assay_detour way = assay_detour_of(run, &w, ASSAY_WHY_HOST_PYTHON);
		CHECK(way.says);
		CHECK_EQ(way.as, put ? ASSAY_WHY_COUNT : ASSAY_WHY_HOST_DATA);
		assay_run_free(run);
	}
	return 0;
}

/* Most stacks of a compiler end in it. */
TEST(who_has_code_compiled_is_told_by_the_stacks_that_reach_him)
{
	assay_run *run = assay_run_new();
	assay_window w = {.to = 1000};
	uint32_t main = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", NULL);
	uint32_t cudnn = assay_hand_stack(run, ASSAY_NO_ROW, "/v/libcudnn_graph.so.9", NULL),
		 reached = assay_hand_stack(run, cudnn, "/v/libnvrtc.so.13", NULL),
		 cut = assay_hand_stack(run, ASSAY_NO_ROW, "/v/libnvrtc.so.13", NULL);
	add_part(run, ASSAY_WHY_HOST_COMPILE, 900, main, cut);
	CHECK(!assay_detour_of(run, &w, ASSAY_WHY_HOST_COMPILE).says);
	add_part(run, ASSAY_WHY_HOST_COMPILE, 30, main, reached);
	add_part(run, ASSAY_WHY_HOST_COMPILE, 10, main, ASSAY_NO_ROW);
	CHECK(assay_str_starts(assay_str_of(assay_detour_of(run, &w, ASSAY_WHY_HOST_COMPILE).fix),
			       "few shapes"));
	add_part(run, ASSAY_WHY_HOST_NATIVE, 30, main, cudnn);
	CHECK(!assay_detour_of(run, &w, ASSAY_WHY_HOST_NATIVE).says); /* as every convolution is */
	assay_run_free(run);
	return 0;
}

/* A block is called through the same file on its way forward and when it is computed once more; in
 * the older kind of checkpoint its gradients are, too. */
TEST(what_is_computed_once_more_is_told_by_the_function)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	static const char file[] = "/v/site-packages/torch/utils/checkpoint.py";
	uint32_t main = assay_hand_stack(run, ASSAY_NO_ROW, "train.py", NULL),
		 forward = assay_hand_stack(run, main, file, NULL);
	uint32_t hook = assay_hand_stack(run, ASSAY_NO_ROW, file, NULL),
		 again = assay_hand_stack(run, hook, "train.py", NULL);
	uint32_t older = assay_hand_stack(run, ASSAY_NO_ROW, file, NULL);
	uint32_t engine =
		assay_hand_stack(run, older, "/v/site-packages/torch/autograd/graph.py", NULL);
	uint32_t gradient = assay_hand_stack(run, engine, "my/function.py", NULL);
	t->code.function[t->stack.code[forward]] = assay_sid_of(run, "checkpoint");
	t->code.function[t->stack.code[hook]] = assay_sid_of(run, "init.<locals>.unpack_hook");
	t->code.function[t->stack.code[older]] = assay_sid_of(run, "CheckpointFunction.backward");
	t->code.function[t->stack.code[engine]] = assay_sid_of(run, "_engine_run_backward");
	const uint8_t *of = assay_detours_of_stacks(run, ASSAY_WHY_COUNT, &scratch);
	CHECK(of[main] == NONE && of[forward] == NONE);
	CHECK(assay_detour_goes(of[again]) && assay_detour_goes(of[older]));
	CHECK(!assay_detour_goes(of[gradient]));
	assay_window w = {.to = 1000};
	add_part(run, ASSAY_WHY_HOST_PYTHON, 60, gradient, ASSAY_NO_ROW);
	CHECK(!assay_detour_of(run, &w, ASSAY_WHY_HOST_PYTHON).says);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}

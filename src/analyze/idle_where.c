#include "analyze/idle_where.h"

#include "base/chars.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/words.h"

bool assay_gap_in_window(const assay_gap_table *g, const assay_window *w, size_t gap)
{
	return g->device[gap] == w->device && g->ts[gap] >= w->from &&
	       g->ts[gap] + g->dur[gap] <= w->to;
}

void assay_idle_tally_add(assay_idle_tally *t, uint64_t key, assay_idle_name one)
{
	uint32_t *slot = assay_map_at(&t->known, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)t->sum.n;
		*assay_push(&t->sum) = (assay_idle_name){.name = one.name, .row = one.row};
	}
	assay_idle_name *sum = &t->sum.p[*slot];
	sum->time += one.time;
	if (sum->time > t->best.time)
		t->best = *sum;
}

assay_idle_name assay_idle_tally_end(assay_idle_tally *t)
{
	assay_vec_free(&t->sum);
	assay_map_free(&t->known);
	return t->best;
}

/* PyTorch's emit_nvtx writes "aten::mm, seq = 7, op_id = 9": what all calls of an operator
 * share. */
static assay_str range_name(assay_str name)
{
	static const char *const numbers[] = {", seq = ", ", op_id = "};
	for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++) {
		ptrdiff_t at = assay_str_find(name, numbers[i]);
		name.n = at > 0 ? (size_t)at : name.n;
	}
	return name;
}

static uint64_t name_key(const assay_run *run, uint32_t row)
{
	const assay_host_table *h = &run->part.t.host;
	if (!assay_is_thread_range(h->kind[row]))
		return h->name[row];
	assay_str name = range_name(assay_text(run, h->name[row]));
	return assay_hash(name.p, name.n, 1);
}

/* The longest stretch of each gap counts, by name. */
assay_idle_name assay_idle_name_of(const assay_run *run, const assay_window *w, int cause)
{
	const assay_tables *t = &run->part.t;
	assay_idle_tally tally = {0};
	if (w->lead[cause] > 0 && w->lead_row[cause] != ASSAY_NO_ROW) {
		assay_idle_name one = {t->host.name[w->lead_row[cause]], w->lead_row[cause],
				       w->lead[cause]};
		assay_idle_tally_add(&tally, name_key(run, one.row), one);
	}
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t row = t->gap_part.during[i];
		if (t->gap_part.cause[i] != cause || row == ASSAY_NO_ROW ||
		    !assay_gap_in_window(&t->gap, w, t->gap_part.gap[i]))
			continue;
		assay_idle_name one = {t->host.name[row], row, t->gap_part.longest[i]};
		assay_idle_tally_add(&tally, name_key(run, row), one);
	}
	return assay_idle_tally_end(&tally);
}

uint64_t assay_name_without_numbers(const assay_run *run, uint32_t host, uint64_t seed)
{
	assay_str name = assay_text(run, run->part.t.host.name[host]);
	for (size_t i = 0; i < name.n; i++)
		if (!assay_is_digit(name.p[i]))
			seed = assay_hash(&name.p[i], 1, seed);
	return seed;
}

const char *assay_idle_spell(const assay_run *run, assay_arena *a, assay_sid name)
{
	assay_str text = assay_text(run, name);
	return assay_is_no_name(text) ? "calls that the recording does not name"
				      : assay_fmt_safe(a, text);
}

bool assay_frame_where(assay_arena *a, assay_str name, assay_where *where)
{
	ptrdiff_t open = assay_str_find(name, "("), close = assay_str_find(name, "): ");
	int64_t line;
	if (open <= 0 || close < open ||
	    !assay_str_i64((assay_str){name.p + open + 1, (size_t)(close - open - 1)}, &line))
		return false;
	where->file = assay_dup(a, (assay_str){name.p, (size_t)open});
	where->line = (int32_t)line;
	where->function = assay_dup(a, (assay_str){name.p + close + 3, name.n - (size_t)close - 3});
	return !assay_is_library_file(assay_str_of(where->file));
}

unsigned assay_is_own_frame(assay_str name)
{
	assay_arena a = {0};
	assay_where where = {0};
	bool own = assay_frame_where(&a, name, &where);
	assay_arena_free(&a);
	return own;
}

/* The part between two words; all of nothing where one is missing. */
static assay_str between(assay_str text, const char *before, const char *after)
{
	if (!assay_str_starts(text, before))
		return (assay_str){0};
	size_t skip = strlen(before);
	text = (assay_str){text.p + skip, text.n - skip};
	ptrdiff_t end = assay_str_find(text, after);
	return end > 0 ? (assay_str){text.p, (size_t)end} : (assay_str){0};
}

const char *assay_frame_spell(assay_arena *a, assay_str name)
{
	assay_where where = {0};
	assay_frame_where(a, name, &where);
	if (where.file)
		return assay_printf(a, "%s (%s)", where.function, where.file);
	assay_str function = between(name, "<built-in function ", ">");
	assay_str method = between(name, "<built-in method ", " of ");
	if (function.n)
		return assay_fmt_safe(a, function);
	if (!method.n)
		return assay_fmt_safe(a, name);
	size_t of = strlen("<built-in method ") + method.n;
	assay_str type = between((assay_str){name.p + of, name.n - of}, " of ", " object at ");
	return type.n ? assay_printf(a, "%s.%s", assay_fmt_safe(a, type), assay_fmt_safe(a, method))
		      : assay_fmt_safe(a, method);
}

/* XLA's profiler calls a launch by its kernel. */
static bool is_kernel_name(const assay_run *run, assay_sid name)
{
	const assay_kernel_table *k = &run->part.t.kernel;
	for (size_t i = 0; i < k->n; i++)
		if (k->name[i] == name)
			return true;
	return false;
}

static bool is_step_name(assay_str name)
{
	assay_word word = assay_word_of(name);
	return word == ASSAY_WORD_STEP || word == ASSAY_WORD_STEP_MARKER;
}

/* The innermost operator or range around a row on its thread that is no step; the row itself
 * without one. */
static uint32_t around(const assay_run *run, uint32_t row)
{
	const assay_host_table *h = &run->part.t.host;
	uint32_t best = row;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->track[i] == h->track[row] && !assay_is_call(h->kind[i]) &&
		    h->kind[i] != ASSAY_HOST_PYTHON && h->ts[i] <= h->ts[row] &&
		    assay_host_end(h, i) >= assay_host_end(h, row) &&
		    (best == row || h->dur[i] < h->dur[best]) &&
		    !is_step_name(assay_text(run, h->name[i])))
			best = i;
	return best;
}

assay_where assay_idle_where(const assay_run *run, assay_arena *a, const assay_idle_name *in)
{
	assay_where where = {0};
	if (!in->name)
		return where;
	bool call = assay_is_call(run->part.t.host.kind[in->row]);
	bool nameless = call && assay_is_no_name(assay_text(run, in->name));
	bool launch = call && (nameless || is_kernel_name(run, in->name));
	uint32_t row = launch ? around(run, in->row) : in->row;
	if (nameless && row == in->row)
		return where;
	uint8_t kind = run->part.t.host.kind[row];
	const char *text = assay_dup(a, assay_text(run, run->part.t.host.name[row]));
	if (kind == ASSAY_HOST_OP || assay_is_call(kind))
		where.op = text;
	else
		where.range = assay_dup(a, range_name(assay_str_of(text)));
	return where;
}

void assay_idle_line_where(const assay_run *run, const assay_window *w, int cause,
			   assay_where *where)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->idle_line.n; i++) { /* longest first */
		uint32_t stack = t->idle_line.culprit[i] != ASSAY_NO_ROW ? t->idle_line.culprit[i]
									 : t->idle_line.stack[i];
		if (t->idle_line.device[i] != w->device || t->idle_line.cause[i] != cause ||
		    stack == ASSAY_NO_ROW)
			continue;
		assay_where_in_stack(run, stack, where);
		return;
	}
}

TEST(a_launch_that_is_called_like_its_kernel_is_told_by_what_is_around_it)
{
	assay_run *run = assay_run_new();
	assay_arena a = {0};
	assay_hand_host(run, ASSAY_HOST_OP, "jit_step", 0, 100);
	assay_hand_host(run, ASSAY_HOST_OP, "command_buffer::update", 10, 50);
	assay_hand_host(run, ASSAY_HOST_OP, "another", 70, 10);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "gemm_kernel", 20, 5);
	uint32_t k = assay_add(&run->part.t, ASSAY_T_kernel);
	assay_idle_name in = {run->part.t.host.name[call], call, 5};
	CHECK(!strcmp(assay_idle_where(run, &a, &in).op, "gemm_kernel"));
	run->part.t.kernel.name[k] = run->part.t.host.name[call];
	CHECK(!strcmp(assay_idle_where(run, &a, &in).op, "command_buffer::update"));
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

TEST(a_call_without_a_name_is_no_place)
{
	assay_run *run = assay_run_new();
	assay_arena a = {0};
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#3", 0, 100);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "INVALID", 20, 5);
	assay_idle_name in = {run->part.t.host.name[call], call, 5};
	assay_where where = assay_idle_where(run, &a, &in);
	CHECK(!where.op && !where.range);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::empty", 10, 50);
	CHECK(!strcmp(assay_idle_where(run, &a, &in).op, "aten::empty"));
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

TEST(ranges_of_emit_nvtx_go_by_their_operator)
{
	assay_str name = range_name(ASSAY_S("aten::addmm, seq = 47595, op_id = 999269"));
	CHECK(assay_str_is(name, "aten::addmm"));
	CHECK(assay_str_is(range_name(ASSAY_S("forward, layer 3")), "forward, layer 3"));
	return 0;
}

TEST(frames_are_spelled_as_people_would)
{
	static const char *const as[][2] = {
		{"scipy/ndimage/_interpolation.py(739): zoom",
		 "zoom (scipy/ndimage/_interpolation.py)"},
		{"<built-in function array>", "array"},
		{"<built-in method to of Tensor object at 0x7f8869bd3340>", "Tensor.to"},
		{"<built-in method acquire>", "<built-in method acquire>"},
		{"nn.Module: Linear_0", "nn.Module: Linear_0"},
	};
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(as); i++)
		CHECK(!strcmp(assay_frame_spell(&a, assay_str_of(as[i][0])), as[i][1]));
	assay_arena_free(&a);
	return 0;
}

TEST(the_line_of_a_cause_is_the_longest_of_its_device_that_has_one)
{
	static const struct {
		uint32_t device;
		int cause;
		bool stack, culprit;
	} lines[] = {
		{1, ASSAY_WHY_HOST_PYTHON, true, false},  {0, ASSAY_WHY_HOST_DATA, true, false},
		{0, ASSAY_WHY_HOST_PYTHON, false, false}, {0, ASSAY_WHY_HOST_PYTHON, true, true},
		{0, ASSAY_WHY_HOST_PYTHON, true, false},  {0, ASSAY_WHY_HOST_OP, true, false}};
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (size_t i = 0; i < ASSAY_COUNT_OF(lines); i++) {
		char name[] = {'l', (char)('0' + i), 0}, by[] = {'c', (char)('0' + i), 0};
		uint32_t r = assay_add(t, ASSAY_T_idle_line);
		t->idle_line.device[r] = lines[i].device;
		t->idle_line.cause[r] = (uint8_t)lines[i].cause;
		if (lines[i].stack)
			t->idle_line.stack[r] = assay_hand_stack(run, ASSAY_NO_ROW, "a.py", name);
		if (lines[i].culprit)
			t->idle_line.culprit[r] = assay_hand_stack(run, ASSAY_NO_ROW, "a.py", by);
	}
	static const struct {
		int cause;
		const char *function;
	} told[] = {{ASSAY_WHY_HOST_PYTHON, "c3"},
		    {ASSAY_WHY_HOST_DATA, "l1"},
		    {ASSAY_WHY_HOST_OP, "l5"},
		    {ASSAY_WHY_QUEUED, NULL}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(told); i++) {
		assay_where where = {0};
		assay_idle_line_where(run, &(assay_window){.device = 0}, told[i].cause, &where);
		CHECK(told[i].function ? where.function && !strcmp(where.function, told[i].function)
				       : !where.function);
	}
	assay_run_free(run);
	return 0;
}

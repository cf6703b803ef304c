/* See places.h. */
#include "render/places.h"

#include "base/fmt.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/native.h"
#include "render/place.h"

static const char *const words[] = {"line", "function", "module", "file", "library"};
enum { BY_LINE, BY_FUNCTION, BY_MODULE, BY_FILE, BY_LIBRARY, BY_NOTHING };

/* One place with all that is of it. */
typedef struct place {
	uint32_t row;   /* one of them: of stack, of a library of code */
	uint64_t count; /* launches, of a library looks */
	int64_t weight; /* ns of GPU work, of a library looks at threads that were not blocked */
} place;

typedef struct places {
	const assay_run *run;
	int by;
	assay_vec(place) list;
	assay_map known;
	uint32_t *order; /* most first */
	place whole;     /* with what has no place */
	assay_arena arena;
} places;

static int by_of(const char *word)
{
	int by = 0;
	while (by < BY_NOTHING && (!word || strcmp(word, words[by])))
		by++;
	return by;
}

bool assay_is_place(const char *by)
{
	return by_of(by) != BY_NOTHING;
}

/* The folder of a file is its module: what is imported together. */
static assay_str module_of(assay_str file)
{
	assay_str folder = assay_str_folder(file);
	return folder.n ? (assay_str){folder.p, folder.n - 1} : file;
}

static uint64_t key_of(const places *x, uint32_t stack)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t code = t->stack.code[stack];
	assay_str file = assay_text(x->run, t->code.file[code]);
	if (x->by == BY_MODULE)
		file = module_of(file);
	uint64_t h = assay_hash(file.p, file.n, 0);
	if (x->by == BY_FUNCTION)
		h = assay_hash(&t->code.function[code], sizeof t->code.function[code], h);
	if (x->by == BY_LINE)
		h = assay_hash(&t->stack.line[stack], sizeof t->stack.line[stack], h);
	return h;
}

static void add(places *x, uint64_t key, uint32_t row, uint64_t count, int64_t weight)
{
	uint32_t *slot = assay_map_at(&x->known, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)x->list.n;
		*assay_push(&x->list) = (place){.row = row};
	}
	x->list.p[*slot].count += count;
	x->list.p[*slot].weight += weight;
}

static void add_launches(places *x)
{
	const assay_kernel_line_table *l = &x->run->part.t.kernel_line;
	const assay_kernel_table *k = &x->run->part.t.kernel;
	for (size_t i = 0; i < l->n; i++)
		add(x, key_of(x, l->stack[i]), l->stack[i], l->count[i], l->total[i]);
	for (size_t i = 0; i < k->n; i++)
		x->whole.weight += k->total[i];
}

/* By file and function: one function may be several rows of code. */
static void add_looks(places *x)
{
	const assay_tables *t = &x->run->part.t;
	for (size_t i = 0; i < t->sample.n; i++) {
		uint32_t code = t->sample.native[i], looks = t->sample.count[i];
		uint32_t running = t->sample.state[i] == ASSAY_THREAD_BLOCKED ? 0 : looks;
		x->whole.count += looks;
		x->whole.weight += running;
		if (code != ASSAY_NO_ROW)
			add(x, (uint64_t)t->code.file[code] << 32 | t->code.function[code], code,
			    looks, running);
	}
}

static places find(const assay_run *run, const char *by)
{
	places x = {.run = run, .by = by_of(by)};
	(x.by == BY_LIBRARY ? add_looks : add_launches)(&x);
	size_t n = x.list.n;
	int64_t *weight = assay_alloc(&x.arena, (n + 1) * sizeof *weight);
	x.order = assay_alloc(&x.arena, (n + 1) * sizeof *x.order);
	for (uint32_t i = 0; i < n; i++)
		x.order[i] = i, weight[i] = x.list.p[i].weight;
	assay_sort_rows_falling(x.order, n, weight);
	return x;
}

static void forget(places *x)
{
	assay_vec_free(&x->list);
	assay_map_free(&x->known);
	assay_arena_free(&x->arena);
}

static const char *library_name(places *x, uint32_t code)
{
	enum { FUNCTION_WIDTH = 48 };
	assay_str function = assay_text(x->run, x->run->part.t.code.function[code]);
	const char *library = assay_native_library(&x->arena, x->run, code);
	return function.n ? assay_printf(&x->arena, "%s (%s)", library,
					 assay_fmt_kernel(&x->arena, function, FUNCTION_WIDTH))
			  : library;
}

static const char *name_of(places *x, uint32_t row)
{
	const assay_tables *t = &x->run->part.t;
	assay_arena *a = &x->arena;
	if (x->by == BY_LIBRARY)
		return library_name(x, row);
	uint32_t code = t->stack.code[row];
	assay_str file = assay_text(x->run, t->code.file[code]);
	const char *function = assay_fmt_safe(a, assay_text(x->run, t->code.function[code]));
	if (x->by == BY_LINE)
		return assay_fmt_place(a, file, t->stack.line[row],
				       assay_text(x->run, t->code.function[code]));
	if (x->by == BY_FUNCTION)
		return assay_printf(a, "%s %s", assay_fmt_safe(a, file), function);
	return assay_fmt_safe(a, x->by == BY_MODULE ? module_of(file) : file);
}

static void print_place(FILE *out, places *x, const place *p)
{
	char weight[ASSAY_FMT], count[ASSAY_FMT];
	bool looks = x->by == BY_LIBRARY;
	double share = x->whole.weight ? 100 * (double)p->weight / (double)x->whole.weight : 0.0;
	fprintf(out, "  %10s %5.1f%% %9s  %s\n",
		looks ? assay_fmt_count(weight, (uint64_t)p->weight)
		      : assay_fmt_time(weight, p->weight),
		share, assay_fmt_count(count, p->count - (looks ? (uint64_t)p->weight : 0)),
		name_of(x, p->row));
}

void assay_places_text(FILE *out, const assay_run *run, const char *by, size_t top)
{
	places x = find(run, by);
	size_t n = x.list.n;
	bool looks = x.by == BY_LIBRARY;
	if (n)
		fprintf(out, "  %10s %6s %9s  %s\n", looks ? "running" : "GPU sum", "share",
			looks ? "waiting" : "launches", looks ? "library (function)" : by);
	else
		fputs(looks ? "no sample has a library (assay record takes them where the system allows it)\n"
			    : "no call has a Python stack (assay record keeps them)\n",
		      out);
	for (size_t i = 0; i < n && (i < top || !top); i++)
		print_place(out, &x, &x.list.p[x.order[i]]);
	if (top && n > top)
		fprintf(out, "  ... %zu more (--top N shows them)\n", n - top);
	forget(&x);
}

static void put_place(assay_jsonw *w, const places *x, const place *p)
{
	const assay_code_table *c = &x->run->part.t.code;
	assay_jsonw_open_flat(w, NULL, '{');
	if (x->by == BY_LIBRARY) {
		assay_jsonw_str(w, "library", assay_text(x->run, c->file[p->row]));
		assay_jsonw_str(w, "function", assay_text(x->run, c->function[p->row]));
		assay_jsonw_u64(w, "looks", p->count);
		assay_jsonw_i64(w, "running_looks", p->weight);
	} else {
		assay_place_json(w, "where", x->run, p->row);
		assay_jsonw_u64(w, "launches", p->count);
		assay_jsonw_i64(w, "gpu_sum_ns", p->weight);
	}
	assay_jsonw_close(w, '}');
}

void assay_places_json(assay_jsonw *w, const assay_run *run, const char *by)
{
	places x = find(run, by);
	assay_jsonw_open(w, NULL, '{');
	if (x.by == BY_LIBRARY)
		assay_jsonw_u64(w, "looks", x.whole.count);
	assay_jsonw_i64(w, x.by == BY_LIBRARY ? "running_looks" : "gpu_sum_ns", x.whole.weight);
	assay_jsonw_open(w, x.by == BY_LIBRARY ? "libraries" : "places", '[');
	for (size_t i = 0; i < x.list.n; i++)
		put_place(w, &x, &x.list.p[x.order[i]]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
	forget(&x);
}

TEST(looks_join_by_function_and_those_that_ran_come_first)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	static const struct {
		const char *function;
		uint32_t looks;
		uint8_t state;
	} seen[] = {{"waits", 9, ASSAY_THREAD_BLOCKED},
		    {"works", 2, ASSAY_THREAD_RUNNING},
		    {"works", 3, ASSAY_THREAD_RUNNING}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(seen); i++) {
		uint32_t code = assay_add(t, ASSAY_T_code), s = assay_add(t, ASSAY_T_sample);
		t->code.file[code] = assay_sid_of(run, "/usr/lib/libx.so");
		t->code.function[code] = assay_sid_of(run, seen[i].function);
		t->sample.native[s] = code;
		t->sample.count[s] = seen[i].looks;
		t->sample.state[s] = seen[i].state;
	}
	uint32_t nowhere = assay_add(t, ASSAY_T_sample);
	t->sample.count[nowhere] = 1;
	places x = find(run, "library");
	CHECK(x.list.n == 2 && x.whole.count == 15 && x.whole.weight == 6);
	const place *first = &x.list.p[x.order[0]], *last = &x.list.p[x.order[1]];
	CHECK(!strcmp(name_of(&x, first->row), "libx.so (works)") && first->weight == 5);
	CHECK(last->count == 9 && last->weight == 0);
	CHECK(!assay_is_place("path") && !assay_is_place(NULL) && assay_is_place("module"));
	forget(&x);
	assay_run_free(run);
	return 0;
}

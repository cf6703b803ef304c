/* assay scopes --by library: what threads were seen doing outside Python, by function of a library,
 * those that ran before those that waited. */
#include <stdio.h>

#include "base/fmt.h"
#include "base/jsonw.h"
#include "base/sort.h"
#include "cmd/scopes_lines.h"
#include "model/native.h"

typedef struct group {
	uint32_t code;          /* one of them */
	int64_t looks, running; /* running: of a thread that was not blocked */
} group;

/* Looks by file and function: one function may be several rows of code. */
static size_t gather(const assay_run *run, assay_arena *a, group **out, group *all)
{
	const assay_tables *t = &run->part.t;
	group *g = assay_alloc(a, (t->code.n + 1) * sizeof *g);
	assay_map known = {0};
	size_t n = 0;
	for (size_t i = 0; i < t->sample.n; i++) {
		uint32_t code = t->sample.native[i], looks = t->sample.count[i];
		uint32_t running = t->sample.state[i] == ASSAY_THREAD_BLOCKED ? 0 : looks;
		all->looks += looks;
		all->running += running;
		if (code == ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&known, (uint64_t)t->code.file[code] << 32 |
							      t->code.function[code]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)n;
			g[n++] = (group){.code = code};
		}
		g[*slot].looks += looks;
		g[*slot].running += running;
	}
	assay_map_free(&known);
	*out = g;
	return n;
}

static void print_json(const assay_run *run, const group *g, const uint32_t *rows, size_t n,
		       const group *all)
{
	const assay_code_table *c = &run->part.t.code;
	assay_jsonw w = {0};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_i64(&w, "looks", all->looks);
	assay_jsonw_i64(&w, "running_looks", all->running);
	assay_jsonw_open(&w, "libraries", '[');
	for (size_t i = 0; i < n; i++) {
		const group *x = &g[rows[i]];
		assay_jsonw_open_flat(&w, NULL, '{');
		assay_jsonw_str(&w, "library", assay_text(run, c->file[x->code]));
		assay_jsonw_str(&w, "function", assay_text(run, c->function[x->code]));
		assay_jsonw_i64(&w, "looks", x->looks);
		assay_jsonw_i64(&w, "running_looks", x->running);
		assay_jsonw_close(&w, '}');
	}
	assay_scopes_print_list(&w);
}

static void print_text(const assay_run *run, const group *g, const uint32_t *rows, size_t n,
		       size_t top, const group *all)
{
	assay_arena a = {0};
	enum { FUNCTION_WIDTH = 48 };
	char running[ASSAY_FMT], waiting[ASSAY_FMT];
	if (!n) {
		puts("no sample has a library (assay record takes them where the system allows it)");
		return;
	}
	printf("  %9s %6s %9s  %s\n", "running", "share", "waiting", "library (function)");
	for (size_t i = 0; i < n && i < top; i++) {
		const group *x = &g[rows[i]];
		assay_str function = assay_text(run, run->part.t.code.function[x->code]);
		printf("  %9s %5.1f%% %9s  %s", assay_fmt_count(running, (uint64_t)x->running),
		       100 * (double)x->running / (double)(all->running ? all->running : 1),
		       assay_fmt_count(waiting, (uint64_t)(x->looks - x->running)),
		       assay_native_library(&a, run, x->code));
		if (function.n)
			printf(" (%s)", assay_fmt_kernel(&a, function, FUNCTION_WIDTH));
		putchar('\n');
	}
	if (n > top)
		printf("  ... %zu more (--top N shows them)\n", n - top);
	assay_arena_free(&a);
}

void assay_scopes_libraries(const assay_run *run, size_t top, bool json)
{
	assay_arena a = {0};
	group *g, all = {0};
	size_t n = gather(run, &a, &g, &all);
	uint32_t *rows = assay_alloc(&a, (n + 1) * sizeof *rows);
	int64_t *running = assay_alloc(&a, (n + 1) * sizeof *running);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = i, running[i] = g[i].running;
	assay_sort_rows_falling(rows, n, running);
	if (json)
		print_json(run, g, rows, n, &all);
	else
		print_text(run, g, rows, n, top, &all);
	assay_arena_free(&a);
}

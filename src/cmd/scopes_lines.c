/* assay scopes --by line|function|module|file: GPU work by the place in the program that launched
 * it. */
#include "cmd/scopes_lines.h"

#include <stdio.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "render/place.h"

static const char *const words[] = {"line", "function", "module", "file"};
enum { BY_LINE, BY_FUNCTION, BY_MODULE, BY_FILE };

/* All kernels launched from one place. */
typedef struct group {
	uint32_t stack; /* one of them */
	uint64_t count;
	int64_t total;
} group;

static int by_of(const char *word)
{
	for (size_t i = 0; word && i < ASSAY_COUNT_OF(words); i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	return -1;
}

bool assay_scopes_by_line(const char *by)
{
	return by_of(by) >= 0;
}

/* The folder of a file is its module: what is imported together. */
static assay_str module_of(assay_str file)
{
	for (size_t i = file.n; i-- > 0;)
		if (file.p[i] == '/')
			return (assay_str){file.p, i};
	return file;
}

static uint64_t key_of(const assay_run *run, uint32_t stack, int by)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	assay_str file = assay_text(run, t->code.file[code]);
	if (by == BY_MODULE)
		file = module_of(file);
	uint64_t h = assay_hash(file.p, file.n, 0);
	if (by == BY_FUNCTION)
		h = assay_hash(&t->code.function[code], sizeof t->code.function[code], h);
	if (by == BY_LINE)
		h = assay_hash(&t->stack.line[stack], sizeof t->stack.line[stack], h);
	return h;
}

static const char *name_of(assay_arena *a, const assay_run *run, uint32_t stack, int by)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	assay_str file = assay_text(run, t->code.file[code]);
	if (by == BY_LINE)
		return assay_printf(a, "%s:%d %s", assay_fmt_safe(a, file),
				    t->stack.line[stack] > 0 ? t->stack.line[stack] : 0,
				    assay_fmt_safe(a, assay_text(run, t->code.function[code])));
	if (by == BY_FUNCTION)
		return assay_printf(a, "%s %s", assay_fmt_safe(a, file),
				    assay_fmt_safe(a, assay_text(run, t->code.function[code])));
	return assay_fmt_safe(a, by == BY_MODULE ? module_of(file) : file);
}

static size_t gather(const assay_run *run, int by, assay_arena *a, group **out)
{
	const assay_kernel_line_table *l = &run->part.t.kernel_line;
	group *g = assay_alloc(a, (l->n + 1) * sizeof *g);
	assay_map known = {0};
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		uint32_t *slot = assay_map_at(&known, key_of(run, l->stack[i], by));
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)n;
			g[n++] = (group){.stack = l->stack[i]};
		}
		g[*slot].count += l->count[i];
		g[*slot].total += l->total[i];
	}
	assay_map_free(&known);
	*out = g;
	return n;
}

void assay_scopes_print_list(assay_jsonw *w)
{
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
	assay_str text = assay_jsonw_text(w);
	fwrite(text.p, 1, text.n, stdout);
	assay_jsonw_free(w);
}

static void print_json(const assay_run *run, const group *g, const uint32_t *rows, size_t n,
		       int64_t all)
{
	assay_jsonw w = {0};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_i64(&w, "gpu_sum_ns", all);
	assay_jsonw_open(&w, "places", '[');
	for (size_t i = 0; i < n; i++) {
		const group *x = &g[rows[i]];
		assay_jsonw_open_flat(&w, NULL, '{');
		assay_place_json(&w, "where", run, x->stack);
		assay_jsonw_u64(&w, "launches", x->count);
		assay_jsonw_i64(&w, "gpu_sum_ns", x->total);
		assay_jsonw_close(&w, '}');
	}
	assay_scopes_print_list(&w);
}

void assay_scopes_lines(assay_run *run, const char *word, size_t top, bool json)
{
	assay_arena a = {0};
	group *g;
	int by = by_of(word);
	int64_t all = 0;
	char time[ASSAY_FMT], count[ASSAY_FMT];
	assay_kernels(run);
	assay_kernel_lines(run);
	size_t n = gather(run, by, &a, &g);
	uint32_t *rows = assay_alloc(&a, (n + 1) * sizeof *rows);
	int64_t *total = assay_alloc(&a, (n + 1) * sizeof *total);
	for (size_t i = 0; i < run->part.t.kernel.n; i++)
		all += run->part.t.kernel.total[i];
	for (uint32_t i = 0; i < n; i++)
		rows[i] = i, total[i] = g[i].total;
	assay_sort_rows_falling(rows, n, total);
	if (json) {
		print_json(run, g, rows, n, all);
	} else if (!n) {
		puts("no call has a Python stack (assay record keeps them)");
	} else {
		printf("  %10s %6s %9s  %s\n", "GPU sum", "share", "launches", word);
		for (size_t i = 0; i < n && i < top; i++)
			printf("  %10s %5.1f%% %9s  %s\n", assay_fmt_time(time, g[rows[i]].total),
			       all ? 100 * (double)g[rows[i]].total / (double)all : 0.0,
			       assay_fmt_count(count, g[rows[i]].count),
			       name_of(&a, run, g[rows[i]].stack, by));
		if (n > top)
			printf("  ... %zu more (--top N shows them)\n", n - top);
	}
	assay_arena_free(&a);
}

/* assay scopes --by library: what threads were seen doing outside Python, by function of a library.
 */
#include <stdio.h>

#include "base/fmt.h"
#include "base/jsonw.h"
#include "base/sort.h"
#include "cmd/scopes_lines.h"
#include "model/native.h"

typedef struct group {
	uint32_t code; /* one of them */
	int64_t looks;
} group;

/* Looks by file and function: one function may be several rows of code. */
static size_t gather(const assay_run *run, assay_arena *a, group **out, int64_t *all)
{
	const assay_tables *t = &run->part.t;
	group *g = assay_alloc(a, (t->code.n + 1) * sizeof *g);
	assay_map known = {0};
	size_t n = 0;
	for (size_t i = 0; i < t->sample.n; i++) {
		uint32_t code = t->sample.native[i];
		*all += t->sample.count[i];
		if (code == ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&known, (uint64_t)t->code.file[code] << 32 |
							      t->code.function[code]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)n;
			g[n++] = (group){.code = code};
		}
		g[*slot].looks += t->sample.count[i];
	}
	assay_map_free(&known);
	*out = g;
	return n;
}

static void print_json(const assay_run *run, const group *g, const uint32_t *rows, size_t n,
		       int64_t all)
{
	const assay_code_table *c = &run->part.t.code;
	assay_jsonw w = {0};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_i64(&w, "looks", all);
	assay_jsonw_open(&w, "libraries", '[');
	for (size_t i = 0; i < n; i++) {
		const group *x = &g[rows[i]];
		assay_jsonw_open_flat(&w, NULL, '{');
		assay_jsonw_str(&w, "library", assay_text(run, c->file[x->code]));
		assay_jsonw_str(&w, "function", assay_text(run, c->function[x->code]));
		assay_jsonw_i64(&w, "looks", x->looks);
		assay_jsonw_close(&w, '}');
	}
	assay_scopes_print_list(&w);
}

static void print_text(const assay_run *run, const group *g, const uint32_t *rows, size_t n,
		       size_t top, int64_t all)
{
	assay_arena a = {0};
	char count[ASSAY_FMT];
	if (!n) {
		puts("no sample tells a library (assay record takes them where the system allows it)");
		return;
	}
	printf("  %9s %6s  %s\n", "looks", "share", "library (function)");
	for (size_t i = 0; i < n && i < top; i++) {
		const group *x = &g[rows[i]];
		printf("  %9s %5.1f%%  %s\n", assay_fmt_count(count, (uint64_t)x->looks),
		       100 * (double)x->looks / (double)all, assay_native_words(&a, run, x->code));
	}
	if (n > top)
		printf("  ... %zu more (--top N shows them)\n", n - top);
	assay_arena_free(&a);
}

void assay_scopes_libraries(const assay_run *run, size_t top, bool json)
{
	assay_arena a = {0};
	group *g;
	int64_t all = 0;
	size_t n = gather(run, &a, &g, &all);
	uint32_t *rows = assay_alloc(&a, (n + 1) * sizeof *rows);
	int64_t *looks = assay_alloc(&a, (n + 1) * sizeof *looks);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = i, looks[i] = g[i].looks;
	assay_sort_rows_falling(rows, n, looks);
	if (json)
		print_json(run, g, rows, n, all);
	else
		print_text(run, g, rows, n, top, all);
	assay_arena_free(&a);
}

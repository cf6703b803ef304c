/* Kernels in the report: families, and a table in which no two have the same name. */
#include <stdlib.h>

#include "base/demangle.h"
#include "base/fmt.h"
#include "base/test.h"
#include "render/printout.h"
#include "render/report.h"

enum { TOP = 20, TOP_OF_MANY = 8, EXCERPT = 24, WIDE = 100 };

static void print_families(assay_printout *p, const uint32_t *rows, size_t n, int64_t total)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	int64_t time[ASSAY_FAMILY_COUNT] = {0};
	bool shown[ASSAY_FAMILY_COUNT] = {false};
	const char *text = "by family:";
	for (size_t i = 0; i < n; i++)
		time[k->family[rows[i]]] += k->total[rows[i]];
	for (int round = 0; round < ASSAY_FAMILY_COUNT; round++) {
		int best = -1;
		for (int f = 0; f < ASSAY_FAMILY_COUNT; f++)
			if (!shown[f] && time[f] && (best < 0 || time[f] > time[best]))
				best = f;
		if (best < 0)
			break;
		shown[best] = true;
		text = assay_printf(&p->scratch, "%s %s %.1f%%", text, assay_family_name[best],
				    assay_percent(time[best], total));
	}
	assay_print_sentence(p, text);
}

static const char *full_name(assay_arena *a, assay_str name)
{
	return assay_fmt_safe(a, assay_demangle(a, name));
}

/* Where two names begin to differ, at the start of that word or a few letters before. */
static size_t parting(const char *a, const char *b)
{
	size_t differ = 0;
	while (a[differ] && a[differ] == b[differ])
		differ++;
	if (a[differ] == b[differ])
		return 0; /* they do not */
	size_t at = differ;
	while (at && !strchr("<(, :", a[at - 1]))
		at--;
	if (differ - at <= EXCERPT / 2)
		return at;
	for (at = differ - 4; at && ((unsigned char)a[at] & 0xc0) == 0x80;)
		at--; /* to where its character begins */
	return at;
}

/* Up to the bracket that closes what was open before: of "4>(int)" one letter. */
static size_t within_brackets(const char *text)
{
	size_t n = 0;
	for (int open = 0; text[n]; n++) {
		open += strchr("<(", text[n]) ? 1 : strchr(">)", text[n]) ? -1 : 0;
		if (open < 0)
			break;
	}
	return n;
}

/* "[4, float]": what stands in this name where it parts from another of the same label. */
static const char *apart(assay_arena *a, const char *label, const char *name, size_t at,
			 size_t room)
{
	size_t inside = within_brackets(name + at);
	const char *what = assay_printf(a, "%.*s", (int)inside, name + at);
	what = assay_cut(a, inside ? what : name + at, EXCERPT);
	size_t used = assay_columns(what) + 3;
	return assay_printf(a, "%s [%s]", assay_cut(a, label, room > used + 8 ? room - used : 8),
			    what);
}

/* A name whose label others may have. */
typedef struct namesake {
	const char *label, *name;
	uint32_t i;
} namesake;

static int by_label(const void *a, const void *b)
{
	const namesake *x = a, *y = b;
	int order = strcmp(x->label, y->label);
	return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const namesake *)a)->name, ((const namesake *)b)->name);
}

/* Where each name of a label parts from the last of the others: among sorted names that is one
 * beside it. at[i] stays 0 where it has the label alone. */
static void part_namesakes(assay_arena *a, const assay_str *name, namesake *of, size_t n,
			   size_t *at)
{
	for (size_t k = 0; k < n; k++)
		of[k].name = full_name(a, name[of[k].i]);
	qsort(of, n, sizeof *of, by_name);
	for (size_t first = 0, end, before = 0; first < n; before = first, first = end) {
		for (end = first + 1; end < n && !by_name(&of[first], &of[end]);)
			end++; /* of one name */
		size_t left = first ? parting(of[first].name, of[before].name) : 0;
		size_t right = end < n ? parting(of[first].name, of[end].name) : 0;
		for (size_t k = first; k < end; k++)
			at[of[k].i] = left > right ? left : right;
	}
}

static const size_t *find_partings(assay_arena *a, const assay_str *name, const char *const *label,
				   size_t n)
{
	namesake *of = assay_alloc(a, (n + 1) * sizeof *of);
	size_t *at = assay_alloc(a, (n + 1) * sizeof *at);
	for (size_t i = 0; i < n; i++)
		of[i] = (namesake){label[i], NULL, (uint32_t)i};
	qsort(of, n, sizeof *of, by_label);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && !strcmp(of[first].label, of[end].label);)
			end++;
		if (end - first > 1)
			part_namesakes(a, name, of + first, end - first, at);
	}
	return at;
}

static uint64_t label_key(const char *label)
{
	return assay_hash(label, strlen(label), 0);
}

const char **assay_labels_apart(assay_arena *a, const assay_str *name, size_t n, size_t room)
{
	const char **plain = assay_alloc(a, (n + 1) * sizeof *plain);
	const char **label = assay_alloc(a, (n + 1) * sizeof *label);
	assay_map taken = {0}, numbers = {0}; /* by label; how often a number was its end */
	bool in_full = room == ASSAY_ANY_ROOM;
	for (size_t i = 0; i < n; i++)
		plain[i] = in_full ? full_name(a, name[i]) : assay_kernel_label(a, name[i], room);
	const size_t *at = in_full ? NULL : find_partings(a, name, plain, n);
	for (uint32_t i = 0; i < n; i++) {
		label[i] = at && at[i] ? apart(a, plain[i], full_name(a, name[i]), at[i], room)
				       : plain[i];
		uint32_t *last = assay_map_at(&numbers, label_key(plain[i]));
		*last = *last == ASSAY_MAP_ABSENT ? 1 : *last;
		while (assay_map_get(&taken, label_key(label[i])) != ASSAY_MAP_ABSENT)
			label[i] = assay_printf(a, "%s #%u", assay_cut(a, plain[i], room - 4),
						++*last);
		*assay_map_at(&taken, label_key(label[i])) = i;
	}
	assay_map_free(&numbers);
	assay_map_free(&taken);
	return label;
}

const char **assay_kernel_labels(assay_printout *p, const uint32_t *rows, size_t n, size_t room)
{
	assay_str *name = assay_alloc(&p->scratch, (n + 1) * sizeof *name);
	for (size_t i = 0; i < n; i++)
		name[i] = assay_text(p->run, p->run->part.t.kernel.name[rows[i]]);
	return assay_labels_apart(&p->scratch, name, n, p->full_names ? ASSAY_ANY_ROOM : room);
}

void assay_kernels_text(assay_printout *p)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	size_t n;
	const uint32_t *rows = assay_kernels_by_time(p->run, &p->scratch, &n);
	int64_t total = assay_kernel_total(p->run);
	bool many = p->run->part.t.rank.n > ASSAY_PRINT_FEW;
	size_t top = p->top ? p->top : many ? TOP_OF_MANY : TOP;
	char t[4][ASSAY_FMT], c[ASSAY_FMT];
	if (!n)
		return;
	assay_print_heading(p, "Kernels");
	print_families(p, rows, n, total);
	bool wide = p->width >= WIDE || p->full_names;
	fprintf(p->out, "  %8s %6s %7s %8s %8s%s  %s\n", "total", "share", "count", "median",
		wide ? "least" : "most", wide ? "     most" : "", "name");
	top = top < n ? top : n;
	const char **label = assay_kernel_labels(p, rows, top, assay_room(p, wide ? 54 : 45));
	for (size_t i = 0; i < top; i++) {
		uint32_t r = rows[i];
		fprintf(p->out, "  %8s %5.1f%% %7s %8s ", assay_fmt_time(t[0], k->total[r]),
			assay_percent(k->total[r], total), assay_fmt_count(c, k->count[r]),
			p->run->in_full ? "-" : assay_fmt_time(t[1], k->median[r]));
		if (wide)
			fprintf(p->out, "%8s ", assay_fmt_time(t[2], k->min[r]));
		fprintf(p->out, "%8s  %s\n", assay_fmt_time(t[3], k->max[r]), label[i]);
	}
	if (n > top)
		fprintf(p->out, "  ... %zu more kernels (--top N shows them)\n", n - top);
}

TEST(kernels_of_one_label_are_told_apart)
{
	static const char *const names[] = {"void k<float, 4>(int)", "void k<float, 8>(int)",
					    "other", "void k<float, 8>(int)"};
	assay_run *run = assay_run_new();
	assay_printout p = {.run = run, .width = 80};
	uint32_t rows[ASSAY_COUNT_OF(names)];
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(names); i++) {
		rows[i] = assay_add(&run->part.t, ASSAY_T_kernel);
		run->part.t.kernel.name[rows[i]] = assay_sid_of(run, names[i]);
	}
	const char **label = assay_kernel_labels(&p, rows, ASSAY_COUNT_OF(names), 40);
	CHECK(!strcmp(label[0], "k [4]") && !strcmp(label[1], "k [8]"));
	CHECK(!strcmp(label[2], "other") && !strcmp(label[3], "k #2"));
	assay_arena_free(&p.scratch);
	assay_run_free(run);
	return 0;
}

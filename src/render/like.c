/* Figures as another tool defines them, from the like table. */
#include <math.h>

#include "base/fmt.h"
#include "render/report.h"

/* Rows come sorted by source, variant and group: every change closes and opens an object. */
static bool same(const assay_like_table *l, size_t a, size_t b, int level)
{
	return l->source[a] == l->source[b] && (level < 1 || l->variant[a] == l->variant[b]) &&
	       (level < 2 || l->group[a] == l->group[b]);
}

static void open_levels(assay_jsonw *w, const assay_run *run, size_t i, int from)
{
	const assay_like_table *l = &run->part.t.like;
	if (from < 1) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_u64(w, "source", l->source[i]);
		int32_t rank = run->part.t.source.rank[l->source[i]];
		assay_jsonw_i64_if(w, "rank", rank >= 0, rank);
	}
	if (from < 2)
		assay_jsonw_open(w, assay_z(run, l->variant[i]), '{');
	assay_jsonw_open_flat(w, assay_z(run, l->group[i]), '{');
}

static int changed_level(const assay_like_table *l, size_t a, size_t b)
{
	int level = 0;
	while (level < 3 && same(l, a, b, level))
		level++;
	return level;
}

void assay_like_json(assay_jsonw *w, const assay_run *run, const char *tool)
{
	const assay_like_table *l = &run->part.t.like;
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "like", tool);
	assay_jsonw_open(w, "ranks", '[');
	for (size_t i = 0; i < l->n; i++) {
		int level = i ? changed_level(l, i - 1, i) : 0;
		for (int k = 3; i && k > level; k--)
			assay_jsonw_close(w, '}');
		if (level < 3)
			open_levels(w, run, i, level);
		assay_jsonw_f64(w, assay_z(run, l->name[i]), l->value[i]);
	}
	for (int k = 0; l->n && k < 3; k++)
		assay_jsonw_close(w, '}');
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

void assay_like_text(FILE *out, const assay_run *run, const char *tool)
{
	const assay_like_table *l = &run->part.t.like;
	assay_arena scratch = {0};
	fprintf(out, "Figures as %s defines them\n", tool);
	for (size_t i = 0; i < l->n; i++) {
		int level = i ? changed_level(l, i - 1, i) : 0;
		assay_arena_reset(&scratch);
		if (level < 2)
			fprintf(out, "\nsource %u, events: %s\n", l->source[i],
				assay_fmt_safe(&scratch, assay_text(run, l->variant[i])));
		if (level < 3)
			fprintf(out, "  %s\n",
				assay_fmt_safe(&scratch, assay_text(run, l->group[i])));
		const char *name = assay_fmt_safe(&scratch, assay_text(run, l->name[i]));
		if (isnan(l->value[i]))
			fprintf(out, "    %-28s unknown\n", name);
		else
			fprintf(out, "    %-28s %.10g\n", name, l->value[i]);
	}
	if (!l->n)
		fprintf(out, "no GPU work in this input\n");
	assay_arena_free(&scratch);
}

/* The first screen as Markdown, for issues and pull requests. */
#include "base/fmt.h"
#include "render/ops.h"
#include "render/printout.h"
#include "render/report.h"

static void put_parts(assay_printout *p)
{
	const assay_budget_table *b = &p->run->part.t.budget;
	uint32_t total = assay_budget_find(p->run, "total");
	char t[ASSAY_FMT];
	if (total == ASSAY_NO_ROW)
		return;
	fprintf(p->out, "\n| of a step | time | share |\n|---|---:|---:|\n");
	for (uint32_t i = 0; i < b->n; i++)
		if (!b->part_of[i] && b->total[i] > 0)
			fprintf(p->out, "| %s | %s | %.1f%% |\n",
				assay_markdown(&p->scratch, assay_z(p->run, b->name[i])),
				assay_fmt_time(t, (int64_t)(b->value[i] + 0.5)),
				assay_percent(b->total[i], b->total[total]));
}

static void put_labelled(assay_printout *p, const char *label, const char *text)
{
	if (*text)
		fprintf(p->out, "<br>%s: %s", label, assay_markdown(&p->scratch, text));
}

static void put_findings(assay_printout *p)
{
	enum { FINDINGS = 3 };
	const assay_finding_table *f = &p->run->part.t.finding;
	uint32_t row[FINDINGS];
	size_t n = assay_findings_to_show(p->run, row, FINDINGS);
	for (size_t k = 0; k < n; k++) {
		uint32_t i = row[k];
		fprintf(p->out, "%s%zu. **%s**", k ? "" : "\n", k + 1,
			assay_markdown(
				&p->scratch,
				assay_fmt_safe(&p->scratch, assay_text(p->run, f->text[i]))));
		put_labelled(p, "worth", assay_finding_worth(p, i));
		put_labelled(p, "at", assay_finding_where(p, i));
		put_labelled(p, "fix", assay_z(p->run, f->fix[i]));
		fputc('\n', p->out);
	}
}

static void put_kernels(assay_printout *p, size_t top)
{
	const assay_kernel_table *k = &p->run->part.t.kernel;
	size_t n;
	const uint32_t *row = assay_kernels_by_time(p->run, &p->scratch, &n);
	int64_t all = assay_kernel_total(p->run);
	char t[ASSAY_FMT], m[ASSAY_FMT], c[ASSAY_FMT];
	n = n < top ? n : top;
	const char **label = assay_kernel_labels(p, row, n, 80);
	if (n)
		fprintf(p->out, "\n"
				"| kernel | time | share | count | median |\n"
				"|---|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < n; i++)
		fprintf(p->out, "| %s | %s | %.1f%% | %s | %s |\n",
			assay_markdown(&p->scratch, label[i]), assay_fmt_time(t, k->total[row[i]]),
			assay_percent(k->total[row[i]], all), assay_fmt_count(c, k->count[row[i]]),
			assay_fmt_time(m, k->median[row[i]]));
}

void assay_report_markdown(FILE *out, const assay_run *run, const assay_text_opts *opts)
{
	enum { TOP = 10 };
	assay_printout p = {.out = out, .run = run, .width = 200};
	const assay_trust t = assay_trust_of(run);
	const assay_source_table *s = &run->part.t.source;
	fprintf(out, "### %s%s\n",
		s->n ? assay_markdown(&p.scratch,
				      assay_fmt_safe(&p.scratch, assay_text(run, s->path[0])))
		     : "nothing",
		s->n > 1 ? " and others" : "");
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		fprintf(out, "\n> %s\n",
			assay_markdown(
				&p.scratch,
				assay_fmt_safe(&p.scratch,
					       assay_text(run, run->part.t.warning.text[i]))));
	put_parts(&p);
	put_findings(&p);
	put_kernels(&p, opts->top ? opts->top : TOP);
	fprintf(out, "\n%llu GPU events, %.1f%% linked to their launch; data problems: %llu.\n",
		(unsigned long long)t.events, assay_percent((int64_t)t.linked, (int64_t)t.events),
		(unsigned long long)t.problems);
	assay_arena_free(&p.scratch);
}

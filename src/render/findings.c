/* Findings and the older view of them. */
#include <math.h>

#include "base/fmt.h"
#include "render/printout.h"
#include "render/report.h"

static void put_time(assay_jsonw *w, const char *key, int64_t ns)
{
	assay_jsonw_i64_if(w, key, ns >= 0, ns);
}

static void put_where(assay_jsonw *w, const assay_run *run, size_t i)
{
	const assay_finding_table *f = &run->part.t.finding;
	assay_jsonw_open_flat(w, "where", '{');
	assay_jsonw_z(w, "file", assay_z_if(run, f->file[i]));
	put_time(w, "line", f->line[i]);
	assay_jsonw_z(w, "function", assay_z_if(run, f->function[i]));
	assay_jsonw_z(w, "range", assay_z_if(run, f->range[i]));
	assay_jsonw_z(w, "op", assay_z_if(run, f->op[i]));
	assay_jsonw_z(w, "kernel", assay_z_if(run, f->kernel[i]));
	put_time(w, "rank", f->rank[i]);
	assay_jsonw_z(w, "host", assay_z_if(run, f->host[i]));
	assay_jsonw_close(w, '}');
}

void assay_steady_json(assay_jsonw *w, const assay_run *run)
{
	const assay_steady_table *s = &run->part.t.steady;
	if (!s->n) {
		assay_jsonw_null(w, "steady_step");
		return;
	}
	assay_jsonw_open_flat(w, "steady_step", '{');
	assay_jsonw_i64(w, "ns", s->ns[0]);
	assay_jsonw_u64(w, "steps", s->steps[0]);
	bool marked = s->steps[0] && run->part.t.step.n;
	assay_jsonw_z(w, "from",
		      marked        ? assay_step_origin_name[s->origin[0]]
		      : s->steps[0] ? "the number of steps that was given"
				    : "the whole recording: no steps known");
	assay_jsonw_i64(w, "start_up_ns", s->start_up[0]);
	assay_jsonw_i64(w, "warm_up_ns", s->warm_up[0]);
	assay_jsonw_u64(w, "warm_up_steps", s->warm_up_steps[0]);
	assay_jsonw_u64(w, "other_work_steps", s->other_work_steps[0]);
	assay_jsonw_i64(w, "other_work_ns", s->other_work[0]);
	assay_jsonw_i64(w, "tail_ns", s->tail[0]);
	assay_jsonw_close(w, '}');
}

void assay_findings_json(assay_jsonw *w, const assay_run *run)
{
	const assay_finding_table *f = &run->part.t.finding;
	const assay_evidence_table *e = &run->part.t.evidence;
	size_t fact = 0;
	assay_jsonw_open(w, "findings", '[');
	for (size_t i = 0; i < f->n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_str(w, "id", assay_text(run, f->id[i]));
		assay_jsonw_str(w, "cause", assay_text(run, f->cause[i]));
		assay_jsonw_str(w, "text", assay_text(run, f->text[i]));
		put_where(w, run, i);
		assay_jsonw_bool(w, "steady", f->steady[i]);
		put_time(w, "cost_ns", f->cost[i]);
		assay_jsonw_open_flat(w, "worth", '{');
		put_time(w, "now_ns", f->now[i]);
		put_time(w, "after_ns", f->after[i]);
		put_time(w, "after_least_ns", f->after_least[i]);
		put_time(w, "after_most_ns", f->after_most[i]);
		assay_jsonw_bool(w, "replayed", f->replayed[i]);
		assay_jsonw_close(w, '}');
		assay_jsonw_str(w, "fix", assay_text(run, f->fix[i]));
		assay_jsonw_open(w, "evidence", '[');
		for (; fact < e->n && e->finding[fact] == i; fact++)
			assay_jsonw_str(w, NULL, assay_text(run, e->text[fact]));
		assay_jsonw_close(w, ']');
		assay_jsonw_f64(w, "confidence", f->confidence[i]);
		assay_jsonw_i64_if(w, "under", f->under[i] != ASSAY_NO_ROW, f->under[i]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_verdicts_json(assay_jsonw *w, const assay_run *run)
{
	const assay_verdict_table *v = &run->part.t.verdict;
	assay_jsonw_open(w, "verdicts", '[');
	for (size_t i = 0; i < v->n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_str(w, "id", assay_text(run, v->id[i]));
		assay_jsonw_str(w, "text", assay_text(run, v->text[i]));
		assay_jsonw_str(w, "advice", assay_text(run, v->advice[i]));
		assay_jsonw_str(w, "evidence", assay_text(run, v->evidence[i]));
		assay_jsonw_f64(w, "seconds_per_step", v->seconds[i] < 0 ? NAN : v->seconds[i]);
		assay_jsonw_f64(w, "share", v->share[i]);
		assay_jsonw_f64(w, "confidence", v->confidence[i]);
		assay_put_gap(w, run, v->gap[i]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* " (9.8 ms to 14.1 ms)" where bounds are known, " at best" where only that one is. */
static const char *bounds_words(assay_printout *p, size_t i)
{
	const assay_finding_table *f = &p->run->part.t.finding;
	char least[ASSAY_FMT], most[ASSAY_FMT];
	if (f->after_least[i] < 0)
		return "";
	if (f->after_most[i] < 0)
		return " at best";
	assay_fmt_time(least, f->after_least[i]);
	assay_fmt_time(most, f->after_most[i]);
	return strcmp(least, most) ? assay_printf(&p->scratch, " (%s to %s)", least, most) : "";
}

/* Known to be worth less than a hundredth of what it is part of, as short kernels of a device that
 * waits for its host. */
static bool is_worthless(const assay_finding_table *f, size_t i)
{
	return f->now[i] > 0 && f->after[i] >= 0 && (f->now[i] - f->after[i]) * 100 < f->now[i];
}

size_t assay_findings_to_show(const assay_run *run, uint32_t *rows, size_t most)
{
	const assay_finding_table *f = &run->part.t.finding;
	size_t n = 0;
	for (uint32_t i = 0; i < f->n && n < most; i++)
		if (f->under[i] == ASSAY_NO_ROW && !(n && is_worthless(f, i)))
			rows[n++] = i;
	return n;
}

const char *assay_finding_worth(assay_printout *p, size_t i)
{
	const assay_finding_table *f = &p->run->part.t.finding;
	char now[ASSAY_FMT], after[ASSAY_FMT];
	const char *per = f->steady[i] ? " a step" : " in all";
	if (f->now[i] >= 0 && f->after[i] >= 0 && f->after[i] < f->now[i])
		return assay_printf(&p->scratch, "%s -> ~%s%s%s", assay_fmt_time(now, f->now[i]),
				    assay_fmt_time(after, f->after[i]), per, bounds_words(p, i));
	if (f->cost[i] < 0)
		return "";
	return assay_printf(&p->scratch,
			    f->replayed[i]
				    ? "takes %s%s, but the rest would not end sooner without it"
				    : "takes %s%s",
			    assay_fmt_time(now, f->cost[i]), per);
}

enum { NAME_WIDTH = 64 };

/* Adds a word and a name to a list. */
static const char *and_text(assay_printout *p, const char *list, const char *word, const char *name)
{
	return assay_printf(&p->scratch, "%s%s%s%s%s", list, *list ? ", " : "", word,
			    *word ? " " : "", name);
}

/* The same of what people or libraries called so, when there is such a name. */
static const char *and_name(assay_printout *p, const char *list, const char *word, assay_sid name)
{
	const char *text = assay_fmt_safe(&p->scratch, assay_text(p->run, name));
	return name ? and_text(p, list, word, assay_cut(&p->scratch, text, NAME_WIDTH)) : list;
}

/* Of what a compiler did. */
static const char *and_kernel(assay_printout *p, const char *list, const char *word, assay_sid name)
{
	assay_str text = assay_text(p->run, name);
	return name ? and_text(p, list, word, assay_kernel_label(&p->scratch, text, NAME_WIDTH))
		    : list;
}

/* The end of a long path says more than its beginning; JSON has all of it. */
static assay_str path_end(assay_str path)
{
	enum { PATH_WIDTH = 24 };
	size_t from = path.n;
	for (size_t i = path.n; i-- > 0 && (path.n - i <= PATH_WIDTH || from == path.n);)
		from = path.p[i] == '/' ? i + 1 : from;
	return path.n > PATH_WIDTH && from < path.n ? (assay_str){path.p + from, path.n - from}
						    : path;
}

const char *assay_finding_where(assay_printout *p, size_t i)
{
	const assay_finding_table *f = &p->run->part.t.finding;
	assay_str file = path_end(assay_text(p->run, f->file[i]));
	const char *text = assay_fmt_safe(&p->scratch, file);
	if (file.n && f->line[i] > 0)
		text = assay_printf(&p->scratch, "%s:%d", text, f->line[i]);
	text = and_name(p, text, "in", f->function[i]);
	text = and_name(p, text, "range", f->range[i]);
	text = and_kernel(p, text, "", f->op[i]);
	text = and_kernel(p, text, "kernel", f->kernel[i]);
	if (f->rank[i] >= 0)
		text = assay_printf(&p->scratch, "%s%srank %d", text, *text ? ", " : "",
				    f->rank[i]);
	return and_name(p, text, "host", f->host[i]);
}

/* All facts of a finding in one sentence. */
static const char *evidence_text(assay_printout *p, size_t finding)
{
	const assay_evidence_table *e = &p->run->part.t.evidence;
	const char *text = "";
	for (size_t i = 0; i < e->n; i++)
		if (e->finding[i] == finding)
			text = assay_printf(
				&p->scratch, "%s%s%s", text, *text ? "; " : "",
				assay_fmt_safe(&p->scratch, assay_text(p->run, e->text[i])));
	return text;
}

static void print_labelled(assay_printout *p, const char *label, const char *text)
{
	if (!*text)
		return;
	fprintf(p->out, "     %-6s ", label);
	assay_print_flow(p, 12, text);
}

void assay_findings_text(assay_printout *p)
{
	const assay_finding_table *f = &p->run->part.t.finding;
	if (f->n)
		assay_print_heading(p, "Findings");
	for (size_t i = 0; i < f->n; i++) {
		fprintf(p->out, "  %zu. ", i + 1);
		assay_print_flow(p, 5, assay_fmt_safe(&p->scratch, assay_text(p->run, f->text[i])));
		if (f->under[i] != ASSAY_NO_ROW)
			print_labelled(
				p, "part",
				assay_printf(&p->scratch, "follows from %u", f->under[i] + 1));
		print_labelled(p, "worth:", assay_finding_worth(p, i));
		print_labelled(p, "where:", assay_finding_where(p, i));
		print_labelled(p, "fix:", assay_z(p->run, f->fix[i]));
		const char *seen = evidence_text(p, i);
		if (f->cost[i] >= 0)
			seen = assay_printf(&p->scratch, "%s%sconfidence %.0f%%", seen,
					    *seen ? "; " : "", 100 * f->confidence[i]);
		print_labelled(p, "seen:", seen);
	}
}

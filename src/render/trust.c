/* What the figures of a report rest on: what was read, what was lost, what is not known. */
#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "base/map.h"
#include "render/printout.h"
#include "render/report.h"

void assay_warnings_text(assay_printout *p, const char *before)
{
	const assay_run *run = p->run;
	enum { LISTED = 3 };
	const assay_warning_table *w = &run->part.t.warning;
	assay_arena scratch = {0};
	assay_map seen = {0};
	assay_vec(uint32_t) count = {0};
	for (size_t i = 0; i < w->n; i++) {
		uint32_t *slot = assay_map_at(&seen, w->id[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)count.n;
			*assay_push(&count) = 0;
		}
		if (count.p[*slot]++ < LISTED) {
			fputs(before, p->out);
			assay_print_flow(p, strlen(before),
					 assay_fmt_safe(&scratch, assay_text(run, w->text[i])));
		}
	}
	for (size_t i = 0; i < w->n; i++) {
		uint32_t *n = &count.p[assay_map_get(&seen, w->id[i])];
		if (*n > LISTED)
			fprintf(p->out, "%s%u more like this (%s; --json has them)\n", before,
				*n - LISTED, assay_z(run, w->id[i]));
		*n = 0;
	}
	assay_vec_free(&count);
	assay_map_free(&seen);
	assay_arena_free(&scratch);
}

static void sum_offs(const assay_off_table *t, assay_trust *sum)
{
	for (size_t i = 0; i < t->n;) {
		assay_trust of = {0};
		size_t first = i;
		for (; i < t->n && t->source[i] == t->source[first]; i++) {
			int64_t *sort = t->why[i] == ASSAY_OFF_NOT_KEPT ? &of.unkept
					: t->why[i] == ASSAY_OFF_STILL  ? &of.still
									: &of.off;
			of.offs += sort == &of.off;
			*sort += t->dur[i];
		}
		if (!sum->offs || of.off > sum->off) {
			sum->offs = of.offs;
			sum->off = of.off;
		}
		sum->unkept = of.unkept > sum->unkept ? of.unkept : sum->unkept;
		sum->still = of.still > sum->still ? of.still : sum->still;
	}
}

assay_trust assay_trust_of(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	const assay_idle_cause_table *c = &t->idle_cause;
	assay_trust sum = {.warnings = t->warning.n};
	for (size_t i = 0; i < t->source.n; i++)
		sum.records += t->source.records[i];
	for (size_t i = 0; i < t->device_time.n; i++) {
		sum.events += t->device_time.events[i];
		sum.linked += t->device_time.linked[i];
	}
	for (size_t i = 0; i < c->n; i++) {
		assay_rest_behind(t, ASSAY_T_idle_cause, i);
		sum.idle += (double)c->dur[i];
		sum.unknown +=
			(double)(c->cause[i] == ASSAY_WHY_UNLINKED ? c->dur[i] : c->suspicious[i]);
	}
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (strcmp(assay_issue_infos[i].severity, "info"))
			sum.problems += run->part.issues[i];
		else
			sum.notes += run->part.issues[i];
	sum_offs(&t->off, &sum);
	for (size_t i = 0; i < t->ledger.n; i++)
		if (t->ledger.cause[i] == ASSAY_LOSS_NOT_KEPT)
			sum.not_kept += t->ledger.dropped[i];
	return sum;
}

static bool contradicts(const assay_run *run)
{
	const assay_warning_table *w = &run->part.t.warning;
	for (size_t i = 0; i < w->n; i++)
		if (assay_str_is(assay_text(run, w->id[i]), "contradiction"))
			return true;
	return false;
}

/* Launches of graphs, told as a whole and by their nodes. */
static void count_graphs(const assay_gpu_table *g, uint64_t *whole, uint64_t *by_nodes)
{
	assay_map seen = {0};
	*whole = *by_nodes = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->graph[i])
			continue;
		uint32_t *launch = assay_map_at(&seen, g->corr[i]);
		*whole += !g->graph_node[i];
		*by_nodes += g->graph_node[i] && *launch == ASSAY_MAP_ABSENT;
		*launch = g->graph_node[i] ? 0 : *launch;
	}
	assay_map_free(&seen);
}

static void print_graphs(assay_printout *p)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	assay_str how = assay_meta_get(p->run, "graph_nodes");
	const char *text =
		"CUDA graphs were recorded as a whole (--graph-nodes none): what runs inside them is not known";
	uint64_t whole, by_nodes;
	if (assay_str_is(how, "sample")) {
		count_graphs(&p->run->part.t.gpu, &whole, &by_nodes);
		text = assay_printf(
			&p->scratch,
			"CUDA graphs: of %s launches the nodes were recorded for %s (--graph-nodes), the others as a whole: kernels inside graphs stand for a share of them%s",
			assay_fmt_count(a, whole + by_nodes), assay_fmt_count(b, by_nodes),
			assay_meta_get(p->run, "graph_nodes.all").n
				? "; from a graph on that was made while nodes were recorded, all of them"
				: "");
	} else if (!assay_str_is(how, "none")) {
		return;
	}
	assay_print_sentence(p, text);
}

static void print_read(assay_printout *p, const assay_trust *t)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	const char *linked =
		t->events ? assay_printf(&p->scratch, ", %.1f%% with the call that launched it",
					 assay_percent((int64_t)t->linked, (int64_t)t->events))
			  : "";
	assay_print_sentence(p, assay_printf(&p->scratch, "%s records read, %s of them GPU work%s",
					     assay_fmt_count(a, t->records),
					     assay_fmt_count(b, t->events), linked));
	if (t->idle > 0)
		fprintf(p->out, "  %.1f%% of idle time has a known cause\n",
			100 * (t->idle - t->unknown) / t->idle);
}

static void print_off(assay_printout *p, const assay_trust *t)
{
	char a[ASSAY_FMT];
	if (t->offs)
		assay_print_sentence(
			p,
			assay_printf(
				&p->scratch,
				"recording was switched off %s, %s in all: what happened then is unknown, and no time in this report",
				t->offs == 1
					? "once"
					: assay_printf(&p->scratch, "%" PRIu32 " times", t->offs),
				assay_fmt_time(a, t->off)));
	if (t->still)
		assay_print_sentence(
			p,
			assay_printf(
				&p->scratch,
				"the program stood still for %s (stopped by a signal, in a frozen container, on a machine that slept or was paused): no time in this report",
				assay_fmt_time(a, t->still)));
}

static void print_kept(assay_printout *p, const assay_trust *t)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	assay_str limit = assay_meta_get(p->run, "keep.limit");
	if (t->unkept)
		assay_print_sentence(
			p,
			assay_printf(
				&p->scratch,
				"a flight recorder: %s were not kept (%s records): neither lost nor idle, and no time in this report",
				assay_fmt_time(a, t->unkept), assay_fmt_count(b, t->not_kept)));
	if (limit.n)
		assay_print_sentence(
			p, assay_printf(&p->scratch,
					"slow steps had the flight recorder written out %.*s",
					(int)limit.n, limit.p));
}

static void print_issues(assay_printout *p, const assay_trust *t)
{
	char n[ASSAY_FMT];
	assay_warnings_text(p, "  warning: ");
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (p->run->part.issues[i]) {
			fprintf(p->out, "  %-5s %9s  ", assay_issue_infos[i].severity,
				assay_fmt_count(n, p->run->part.issues[i]));
			assay_print_flow(p, 19, assay_issue_infos[i].text);
		}
	if (!t->problems && !t->notes)
		fprintf(p->out, "  no data problems met\n");
}

void assay_trust_text(assay_printout *p)
{
	const assay_trust t = assay_trust_of(p->run);
	assay_print_heading(p, "Trust");
	print_read(p, &t);
	print_off(p, &t);
	print_graphs(p);
	print_kept(p, &t);
	print_issues(p, &t);
	if (t.events && !contradicts(p->run))
		fprintf(p->out, "  the sums of this report agree with each other\n");
	assay_ledger_text(p->out, "  ", p->run);
}

/* The first screen: what ran, where a step's time goes, why, what to change, how far to trust it,
 * what to ask next. At most 24 lines, whatever the run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/sort.h"
#include "model/machine.h"
#include "render/ops.h"
#include "render/printout.h"
#include "render/report.h"

/* Fixed: run, bar and its legend, next. Top: operators or kernels. */
enum { LINES = 24, FIXED = 4, LEAST_TOP = 2, MOST_TOP = 6, FINDINGS = 3, TITLE = 8, LABEL = 10 };

/* "Step    ", then text that is cut at the last column. */
static void print_line(assay_printout *p, const char *title, const char *text)
{
	fprintf(p->out, p->colour ? "\033[1m%-*s\033[0m%s\n" : "%-*s%s\n", TITLE, title, text);
}

/* The folder that all inputs lie in, when there are several; its length in the first path. */
static size_t common_folder(const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	assay_str first = assay_text(run, s->path[0]);
	size_t same = first.n;
	for (size_t i = 1; i < s->n; i++) {
		assay_str path = assay_text(run, s->path[i]);
		size_t k = 0;
		while (k < same && k < path.n && path.p[k] == first.p[k])
			k++;
		same = k;
	}
	while (same && first.p[same - 1] != '/')
		same--;
	return same;
}

/* A file with several processes is several sources in a row. */
static size_t count_files(const assay_source_table *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += !i || s->path[i] != s->path[i - 1];
	return n;
}

static const char *inputs_text(assay_printout *p)
{
	const assay_source_table *s = &p->run->part.t.source;
	size_t files = count_files(s);
	char n[ASSAY_FMT];
	if (!files)
		return "nothing";
	assay_str path = assay_text(p->run, s->path[0]);
	if (files == 1)
		return assay_str_is(path, "-") ? "a pipe" : assay_fmt_safe(&p->scratch, path);
	size_t folder = common_folder(p->run);
	if (folder)
		path.n = folder;
	return assay_printf(&p->scratch, folder ? "%s (%s files)" : "%s and others, %s files",
			    assay_fmt_safe(&p->scratch, path), assay_fmt_count(n, files));
}

static const char *gpus_text(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	const char *name = NULL;
	bool mixed = false;
	for (size_t i = 0; i < t->device.n; i++) {
		const char *this = assay_z(p->run, t->device.name[i]);
		if (!*this)
			continue;
		mixed |= name && strcmp(name, this);
		name = this;
	}
	name = name ? assay_fmt_safe(&p->scratch, assay_str_of(name)) : NULL;
	size_t gpus = assay_gpus(p->run);
	if (gpus > 1)
		return assay_printf(&p->scratch, ", %zu %s%s", gpus, name ? name : "GPUs",
				    mixed ? " and others" : "");
	return name ? assay_printf(&p->scratch, ", %s", name) : "";
}

/* ", CUDA 13.0", or nothing when it is not known. */
static const char *version_text(assay_printout *p, const char *label, const char *metric)
{
	uint32_t r = assay_metric_known(p->run, metric);
	if (r == ASSAY_NO_ROW || !p->run->part.t.metric.text[r])
		return "";
	return assay_printf(
		&p->scratch, ", %s %s", label,
		assay_fmt_safe(&p->scratch, assay_text(p->run, p->run->part.t.metric.text[r])));
}

/* Of a long path the end. */
static const char *cut_front(assay_printout *p, const char *text, size_t room)
{
	size_t n = strlen(text);
	if (n <= room || room < 4)
		return text;
	text += n - (room - 3);
	while ((*text & 0xc0) == 0x80) /* inside a letter of UTF-8 */
		text++;
	return assay_printf(&p->scratch, "...%s", text);
}

static void print_run(assay_printout *p)
{
	const char *of = assay_printf(&p->scratch, "%s%s%s%s", gpus_text(p),
				      version_text(p, "PyTorch", "pytorch_version"),
				      version_text(p, "CUDA", "cuda_version"),
				      version_text(p, "ROCm", "rocm_version"));
	size_t room = p->full_names ? SIZE_MAX : assay_room(p, TITLE + strlen(of));
	print_line(p, "Run",
		   assay_printf(&p->scratch, "%s%s", cut_front(p, inputs_text(p), room), of));
}

/* ", start-up 5.4 s", when there is any. */
static const char *and_time(assay_printout *p, const char *text, const char *what, int64_t ns)
{
	char t[ASSAY_FMT];
	if (ns <= 0)
		return text;
	return assay_printf(&p->scratch, "%s%s %s %s", text, *text ? "," : "; left out:", what,
			    assay_fmt_time(t, ns));
}

/* How many steps count, what says so, and what is not of them. */
static const char *steps_text(assay_printout *p)
{
	const assay_steady_table *s = &p->run->part.t.steady;
	if (!s->n || !s->steps[0])
		return "none known: everything is per recording";
	const char *left = and_time(p, "", "start-up", s->start_up[0]);
	left = and_time(
		p, left,
		assay_printf(&p->scratch, "%llu warm-up", (unsigned long long)s->warm_up_steps[0]),
		s->warm_up[0]);
	left = and_time(p, left,
			assay_printf(&p->scratch,
				     "%llu step%s with other work (evaluation?) and what they part",
				     (unsigned long long)s->other_work_steps[0],
				     s->other_work_steps[0] == 1 ? "" : "s"),
			s->other_work[0]);
	left = and_time(p, left, "tail", s->tail[0]);
	return assay_printf(&p->scratch, "%llu (%s%s)%s", (unsigned long long)s->steps[0],
			    p->run->part.t.step.n ? assay_step_origin_name[s->origin[0]]
						  : "the number that was given",
			    assay_phases_text(p), left);
}

static void print_words(assay_printout *p, const char *title, const char *text)
{
	fprintf(p->out, p->colour ? "\033[1m%-*s\033[0m" : "%-*s", TITLE, title);
	assay_print_flow(p, TITLE, text);
}

static bool is_urgent(const assay_run *run, size_t warning)
{
	static const char *const urgent[] = {
		"missing_shard", "missing_rank",     "ranks_differ",
		"broken_file",   "unrelated_inputs", "left_rings",
		"debug_mode",    "device_failed",    "unfinished_folder"};
	for (size_t k = 0; k < ASSAY_COUNT_OF(urgent); k++)
		if (assay_str_is(assay_text(run, run->part.t.warning.id[warning]), urgent[k]))
			return true;
	return false;
}

/* Of several devices the same may be said; here the first is enough. */
static bool is_said_before(const assay_warning_table *w, size_t warning)
{
	for (size_t i = 0; i < warning; i++)
		if (w->id[i] == w->id[warning])
			return true;
	return false;
}

/* Warnings come before any figure, first those of ranks that are missing or differ. Lines taken. */
static size_t print_alarms(assay_printout *p)
{
	enum { ALARMS = 2, ALARM_LINES = 3 };
	const assay_warning_table *w = &p->run->part.t.warning;
	size_t shown = 0, lines = 0;
	for (int urgent = 1; urgent >= 0; urgent--)
		for (size_t i = 0; i < w->n && shown < ALARMS; i++) {
			const char *text =
				assay_fmt_safe(&p->scratch, assay_text(p->run, w->text[i]));
			size_t takes = assay_flow_lines(p, TITLE, text);
			if (is_urgent(p->run, i) != urgent || is_said_before(w, i) ||
			    lines + takes > ALARM_LINES)
				continue;
			fprintf(p->out, p->colour ? "\033[1;33m%-*s\033[0m" : "%-*s", TITLE,
				"Warning");
			assay_print_flow(p, TITLE, text);
			shown++;
			lines += takes;
		}
	return lines;
}

/* A step's parts from the waste budget, so that bar, budget and findings are of one window. */
static void print_split(assay_printout *p)
{
	const assay_budget_table *b = &p->run->part.t.budget;
	static const char *const part[] = {"useful_gpu", "comm_excess", "exposed_copy"};
	static const char *const name[] = {"compute #", "exposed comm =", "exposed copy +",
					   "idle ."};
	uint32_t total = assay_budget_find(p->run, "total");
	char t[ASSAY_FMT];
	if (total == ASSAY_NO_ROW)
		return;
	int64_t of[4] = {0}, whole = b->total[total];
	of[3] = whole;
	for (int i = 0; i < 3; i++) {
		of[i] = b->total[assay_budget_find(p->run, part[i])];
		of[3] -= of[i];
	}
	bool steps = assay_metric_known(p->run, "steps") != ASSAY_NO_ROW;
	fprintf(p->out, p->colour ? "\033[1m%-*s\033[0m%9s " : "%-*s%9s ", TITLE,
		steps ? "Step" : "Time", assay_fmt_time(t, (int64_t)(b->value[total] + 0.5)));
	assay_print_bar(p, of, whole, (int)p->width - TITLE - 10);
	const char *text = "";
	for (int i = 0; i < 4; i++)
		text = assay_printf(&p->scratch, "%s%s%s %.1f%%", text, i ? ", " : "", name[i],
				    assay_percent(of[i], whole));
	print_line(p, "", text);
}

/* What the device waits for in a step, in the words of "the GPU waits for ...". */
static const struct {
	const char *bucket, *words;
} whys[] = {
	{"data_wait", "input data"},
	{"host_gap", "the host that launches"},
	{"device_wait", "queued work"},
	{"unexplained", "unknown causes"},
};

static const char *why_text(assay_printout *p)
{
	const assay_budget_table *b = &p->run->part.t.budget;
	uint32_t total = assay_budget_find(p->run, "total"), order[ASSAY_COUNT_OF(whys)], n = 0;
	int64_t time[ASSAY_COUNT_OF(whys)];
	const char *text = "the GPU waits for";
	for (uint32_t i = 0; total != ASSAY_NO_ROW && i < ASSAY_COUNT_OF(whys); i++) {
		uint32_t row = assay_budget_find(p->run, whys[i].bucket);
		time[i] = row == ASSAY_NO_ROW ? 0 : b->total[row];
		if (time[i] > 0 && assay_percent(time[i], b->total[total]) >= 0.05)
			order[n++] = i;
	}
	assay_sort_rows_falling(order, n, time);
	for (uint32_t i = 0; i < n; i++)
		text = assay_printf(&p->scratch, "%s%s %s %.1f%%", text, i ? "," : "",
				    whys[order[i]].words,
				    assay_percent(time[order[i]], b->total[total]));
	return n ? text : "the GPU never waits";
}

/* A finding on the screen: the sentence, worth and place, what to do. */
struct shown {
	const char *text, *label, *worth, *fix; /* worth may be "" */
	size_t least, full; /* lines, with worth and fix cut to one each and whole */
	bool whole;
};

static struct shown show(assay_printout *p, size_t i)
{
	const assay_finding_table *f = &p->run->part.t.finding;
	const char *worth = assay_finding_worth(p, i), *where = assay_finding_where(p, i);
	struct shown s = {.text = assay_fmt_safe(&p->scratch, assay_text(p->run, f->text[i])),
			  .fix = assay_z(p->run, f->fix[i])};
	s.worth =
		assay_printf(&p->scratch, "%s%s%s", worth, *worth && *where ? "; at " : "", where);
	s.label = *worth ? "worth:" : "at:";
	size_t text = assay_flow_lines(p, 3, s.text);
	s.least = text + (*s.worth ? 1 : 0) + 1;
	s.full = text + (*s.worth ? assay_flow_lines(p, LABEL, s.worth) : 0) +
		 assay_flow_lines(p, LABEL, s.fix);
	return s;
}

static void print_labelled(assay_printout *p, const char *label, const char *text, bool whole)
{
	fprintf(p->out, "   %-*s", LABEL - 3, label);
	if (whole)
		assay_print_flow(p, LABEL, text);
	else
		fprintf(p->out, "%s\n", text);
}

static void print_shown(assay_printout *p, const struct shown *s, size_t number)
{
	fprintf(p->out, "%zu. ", number);
	assay_print_flow(p, 3, s->text);
	if (*s->worth)
		print_labelled(p, s->label, s->worth, s->whole);
	print_labelled(p, "fix:", s->fix, s->whole);
}

/* As many findings as there is room for beside the whole first one, then whole ones. How many lines
 * they took. */
static size_t print_findings(assay_printout *p, size_t room)
{
	uint32_t row[FINDINGS];
	struct shown shown[FINDINGS];
	size_t used = 0, n = 0, most = assay_findings_to_show(p->run, row, FINDINGS);
	for (; n < most; n++) {
		shown[n] = show(p, row[n]);
		shown[n].whole = !n && shown[n].full <= room;
		size_t lines = shown[n].whole ? shown[n].full : shown[n].least;
		if (used + lines > room)
			break;
		used += lines;
	}
	for (size_t i = 0; i < n; i++) {
		if (!shown[i].whole && used - shown[i].least + shown[i].full <= room) {
			shown[i].whole = true;
			used += shown[i].full - shown[i].least;
		}
		print_shown(p, &shown[i], i + 1);
	}
	return used;
}

/* "aten::mm 23.1%", the operators with most GPU time, or kernels where none are known. */
static void print_top(assay_printout *p, size_t lines)
{
	const assay_operator_table *o = &p->run->part.t.operator;
	char t[ASSAY_FMT], c[ASSAY_FMT];
	size_t n;
	if (o->n) {
		const uint32_t *row = assay_ops_by_time(p->run, &p->scratch);
		int64_t all = assay_ops_time(p->run);
		for (size_t i = 0; i < o->n && i < lines; i++)
			print_line(p, i ? "" : "Ops",
				   assay_printf(&p->scratch, "%9s %5.1f%% %7s x  %s%s",
						assay_fmt_time(t, o->busy[row[i]]),
						assay_percent(o->busy[row[i]], all),
						assay_fmt_count(c, o->calls[row[i]]),
						assay_fmt_safe(&p->scratch,
							       assay_text(p->run, o->name[row[i]])),
						p->run->in_full && !i
							? " (of the ranks with events)"
							: ""));
		return;
	}
	const assay_kernel_table *k = &p->run->part.t.kernel;
	const uint32_t *row = assay_kernels_by_time(p->run, &p->scratch, &n);
	n = n < lines ? n : lines;
	const char **label = assay_kernel_labels(p, row, n, assay_room(p, TITLE + 29));
	int64_t all = assay_kernel_total(p->run);
	for (size_t i = 0; i < n; i++)
		print_line(p, i ? "" : "Kernels",
			   assay_printf(&p->scratch, "%9s %5.1f%% %7s x  %s",
					assay_fmt_time(t, k->total[row[i]]),
					assay_percent(k->total[row[i]], all),
					assay_fmt_count(c, k->count[row[i]]), label[i]));
}

/* "70% of compute known; MFU 16.5%, ...": NULL when nothing is. */
static const char *work_text(assay_printout *p)
{
	const assay_roof_table *r = &p->run->part.t.roof;
	if (!r->n || !(r->coverage[0] > 0))
		return NULL;
	const char *rates = assay_ops_rates(p->run, &p->scratch);
	return assay_printf(&p->scratch, "%.*f%% of compute known%s%s", r->coverage[0] < 0.1,
			    100 * r->coverage[0], rates ? "; " : "", rates ? rates : "");
}

/* Share of the idle time that the lines above tell of whose cause is known; NaN without any. */
static double explained_share(const assay_run *run)
{
	const assay_budget_table *b = &run->part.t.budget;
	uint32_t unknown = assay_budget_find(run, "unexplained");
	double idle = 0;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(whys); i++) {
		uint32_t row = assay_budget_find(run, whys[i].bucket);
		idle += row == ASSAY_NO_ROW || b->total[row] < 0 ? 0 : (double)b->total[row];
	}
	return idle > 0 && unknown != ASSAY_NO_ROW ? (idle - (double)b->total[unknown]) / idle
						   : NAN;
}

/* Most of a good deal of idle time has no known cause. */
static bool is_dark(const assay_run *run, double explained)
{
	const assay_budget_table *b = &run->part.t.budget;
	uint32_t total = assay_budget_find(run, "total");
	uint32_t unknown = assay_budget_find(run, "unexplained");
	return explained < 0.5 && total != ASSAY_NO_ROW &&
	       (double)b->total[unknown] > 0.05 * (double)b->total[total];
}

/* All of Trust in some words. */
static const char *trust_text(assay_printout *p)
{
	const assay_trust t = assay_trust_of(p->run);
	char b[ASSAY_FMT], c[ASSAY_FMT];
	const char *text = assay_printf(&p->scratch, "%s GPU event%s", assay_fmt_count(b, t.events),
					t.events == 1 ? "" : "s");
	if (t.events)
		text = assay_printf(&p->scratch, "%s, %.1f%% linked", text,
				    assay_percent((int64_t)t.linked, (int64_t)t.events));
	double explained = explained_share(p->run);
	if (!isnan(explained))
		text = assay_printf(&p->scratch, "%s, %.1f%% of idle explained", text,
				    100 * explained);
	if (t.offs)
		text = assay_printf(&p->scratch, "%s; recording off for %s", text,
				    assay_fmt_time(b, t.off));
	if (t.still)
		text = assay_printf(&p->scratch, "%s; stood still for %s", text,
				    assay_fmt_time(b, t.still));
	if (t.unkept)
		text = assay_printf(&p->scratch, "%s; %s before were not kept", text,
				    assay_fmt_time(b, t.unkept));
	if (t.problems)
		text = assay_printf(&p->scratch, "%s; problems: %s", text,
				    assay_fmt_count(c, t.problems));
	if (t.warnings)
		text = assay_printf(&p->scratch, "%s; warnings: %zu", text, t.warnings);
	if (is_dark(p->run, explained))
		return assay_printf(&p->scratch, "%s; why the GPU idles is mostly not known", text);
	return t.problems || t.warnings ? text : assay_printf(&p->scratch, "%s; no problems", text);
}

static bool metric_is_known(const assay_run *run, const char *metric, double *value)
{
	uint32_t r = assay_metric_find(run, metric);
	bool known = r != ASSAY_NO_ROW && run->part.t.metric.state[r] != ASSAY_STATE_UNKNOWN;
	*value = known ? run->part.t.metric.value[r] : 0;
	return known;
}

/* "GPU busy 1.1 % (smi), power 112 W, memory peak 3.15 GiB of 140 GiB"; NULL without telemetry. */
static const char *telemetry_text(assay_printout *p)
{
	static const struct {
		const char *metric, *fmt;
	} told[] = {{"smi_util_pct", "GPU busy %.1f %% (smi)"},
		    {"power_watts", "power %.0f W"},
		    {"hbm_peak_gb", "memory peak %.2f GiB"}};
	const char *text = NULL;
	double value;
	for (size_t i = 0; i < ASSAY_COUNT_OF(told); i++)
		if (metric_is_known(p->run, told[i].metric, &value)) {
			const char *one = assay_printf(&p->scratch, told[i].fmt, value);
			text = text ? assay_printf(&p->scratch, "%s, %s", text, one) : one;
		}
	if (text && metric_is_known(p->run, "hbm_total_gb", &value))
		text = assay_printf(&p->scratch, "%s of %.0f GiB", text, value);
	return text;
}

/* What can be said without any. */
static void print_no_work(assay_printout *p)
{
	const char *telemetry = telemetry_text(p);
	print_alarms(p);
	print_line(p, "",
		   p->run->part.t.stat.n ? "no times of GPU work in this input, sums only"
		   : p->run->part.t.pmc.n
			   ? "no times of GPU work in this input, counters only: --section counters"
			   : "no GPU work in this input");
	assay_summaries_text(p);
	if (telemetry)
		print_words(p, "Devices", telemetry);
}

void assay_first_screen(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	const char *trust = trust_text(p);
	print_run(p);
	if (!t->device_time.n) {
		print_no_work(p);
		print_words(p, "Trust", trust);
		return;
	}
	const char *steps = steps_text(p), *why = why_text(p);
	const char *copies = assay_copies_line(p, assay_room(p, TITLE)), *work = work_text(p);
	print_words(p, "Steps", steps);
	size_t taken = FIXED + print_alarms(p) + (copies ? 1 : 0) +
		       (work ? assay_flow_lines(p, TITLE, work) : 0) +
		       assay_flow_lines(p, TITLE, steps) + assay_flow_lines(p, TITLE, why) +
		       assay_flow_lines(p, TITLE, trust);
	size_t left = taken + LEAST_TOP < LINES ? LINES - taken : LEAST_TOP; /* narrow terminals */
	print_split(p);
	print_words(p, "Why", why);
	left -= print_findings(p, left - LEAST_TOP);
	const char *unknown = left > LEAST_TOP ? assay_ops_unknown(p->run) : NULL;
	left -= unknown != NULL;
	print_top(p, left < MOST_TOP ? left : MOST_TOP);
	if (work)
		print_words(p, "Work", work);
	else if (unknown)
		print_line(p, "Work", assay_printf(&p->scratch, "unknown: %s", unknown));
	if (copies)
		print_line(p, "Copies", copies);
	print_words(p, "Trust", trust);
	print_line(p, "Next",
		   "assay report -v, --section NAME,... or --html FILE; assay waits, path");
}

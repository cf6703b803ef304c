/* The report on a terminal: the first screen, then parts by name. */
#include "render/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/sort.h"
#include "render/ops.h"
#include "render/printout.h"

enum { WIDTH = 80, COLUMNS = 5 };

void assay_print_heading(assay_printout *p, const char *text)
{
	fprintf(p->out, p->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* Two processes without ranks may use one device, or call theirs by the same number. */
static bool has_namesake(const assay_device_time_table *t, uint32_t d)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (i != d && t->device[i] == t->device[d] && t->source[i] != t->source[d])
			return true;
	return false;
}

static int64_t process_of(const assay_tables *t, uint32_t source)
{
	for (uint32_t i = 0; i < t->track.n; i++)
		if (t->track.source[i] == source && t->track.kind[i] == ASSAY_TRACK_THREAD)
			return t->track.pid[i];
	return -1;
}

const char *assay_device_label(assay_printout *p, uint32_t d)
{
	const assay_device_time_table *t = &p->run->part.t.device_time;
	const assay_source_table *s = &p->run->part.t.source;
	int32_t rank = t->source[d] < s->n ? s->rank[t->source[d]] : -1;
	if (t->device[d] < 0)
		return "unnamed";
	if (rank >= 0)
		return assay_printf(&p->scratch, "%d (rank %d)", t->device[d], rank);
	int64_t pid = has_namesake(t, d) ? process_of(&p->run->part.t, t->source[d]) : -1;
	if (pid >= 0)
		return assay_printf(&p->scratch, "%d (pid %" PRId64 ")", t->device[d], pid);
	return assay_printf(&p->scratch, "%d", t->device[d]);
}

size_t assay_print_devices(const assay_printout *p)
{
	const assay_device_time_table *d = &p->run->part.t.device_time;
	size_t n = d->n;
	if (n <= ASSAY_PRINT_FEW)
		return n;
	for (n = 0; n < ASSAY_PRINT_FEW && (!p->run->in_full || d->source[n] < p->run->in_full);)
		n++;
	return n;
}

assay_spread assay_spread_of(int64_t *v, size_t n)
{
	if (!n)
		return (assay_spread){0};
	assay_sort_i64(v, n);
	return (assay_spread){v[0], v[n / 2], v[n - 1]};
}

static void print_input(assay_printout *p, size_t i)
{
	const assay_source_table *s = &p->run->part.t.source;
	char size[ASSAY_FMT], text[ASSAY_FMT], records[ASSAY_FMT];
	fprintf(p->out, "  %s  %s", assay_fmt_safe(&p->scratch, assay_text(p->run, s->path[i])),
		assay_z(p->run, s->format[i]));
	if (s->file_bytes[i])
		fprintf(p->out, ", %s", assay_fmt_bytes(size, s->file_bytes[i]));
	else /* a pipe has no size */
		fprintf(p->out, ", a pipe");
	if (s->text_bytes[i] != s->file_bytes[i])
		fprintf(p->out, s->file_bytes[i] ? " (%s unpacked)" : " of %s",
			assay_fmt_bytes(text, s->text_bytes[i]));
	fprintf(p->out, ", %s records", assay_fmt_count(records, s->records[i]));
	if (s->rank[i] >= 0)
		fprintf(p->out, ", rank %d", s->rank[i]);
	if (s->world[i] > 0)
		fprintf(p->out, " of %d", s->world[i]);
	fprintf(p->out, "\n");
}

static void print_all_inputs(assay_printout *p)
{
	const assay_source_table *s = &p->run->part.t.source;
	char size[ASSAY_FMT], text[ASSAY_FMT], records[ASSAY_FMT], files[ASSAY_FMT];
	uint64_t bytes = 0, unpacked = 0, all = 0;
	for (size_t i = 0; i < s->n; i++) {
		bytes += s->file_bytes[i];
		unpacked += s->text_bytes[i];
		all += s->records[i];
	}
	fprintf(p->out, "  %s files, %s (%s unpacked), %s records", assay_fmt_count(files, s->n),
		assay_fmt_bytes(size, bytes), assay_fmt_bytes(text, unpacked),
		assay_fmt_count(records, all));
	fprintf(p->out, p->run->in_full ? "; findings are about all of them, events of these:\n"
					: "; the first of them:\n");
}

static void print_inputs(assay_printout *p)
{
	size_t n = p->run->part.t.source.n;
	assay_print_heading(p, "Inputs");
	if (n > ASSAY_PRINT_FEW) {
		print_all_inputs(p);
		n = p->run->in_full && p->run->in_full < ASSAY_PRINT_FEW ? p->run->in_full
									 : ASSAY_PRINT_FEW;
	}
	for (size_t i = 0; i < n; i++)
		print_input(p, i);
}

/* One character a share of the span: # compute, = communication, + copy, . idle. */
void assay_print_bar(assay_printout *p, const int64_t part[4], int64_t span, int width)
{
	static const char mark[4] = {'#', '=', '+', '.'};
	static const char *const colour[4] = {"\033[32m", "\033[35m", "\033[33m", "\033[90m"};
	int64_t sum = 0;
	int drawn = 0;
	for (int i = 0; i < 4; i++) {
		sum += part[i];
		int to = span > 0 ? (int)((double)sum / (double)span * width + 0.5) : 0;
		if (p->colour && to > drawn)
			fputs(colour[i], p->out);
		for (; drawn < to; drawn++)
			fputc(mark[i], p->out);
	}
	fputs(p->colour ? "\033[0m\n" : "\n", p->out);
}

static void print_device(assay_printout *p, size_t i)
{
	const assay_device_time_table *d = &p->run->part.t.device_time;
	const int64_t part[4] = {d->compute[i], d->exposed_comm[i], d->exposed_copy[i], d->idle[i]};
	char t[ASSAY_FMT];
	fprintf(p->out, "  %-11s %8s", assay_device_label(p, (uint32_t)i),
		assay_fmt_time(t, d->span[i]));
	for (int k = 0; k < 4; k++)
		fprintf(p->out, " %8s %3.0f%%", assay_fmt_time(t, part[k]),
			assay_percent(part[k], d->span[i]));
	fprintf(p->out, "\n  %-11s ", "");
	assay_print_bar(p, part, d->span[i], (int)p->width - 15);
}

/* Each column for itself: the device with least compute is not the one with least idle time. */
static void print_device_spread(assay_printout *p)
{
	const assay_device_time_table *d = &p->run->part.t.device_time;
	const int64_t *const column[COLUMNS] = {d->span, d->compute, d->exposed_comm,
						d->exposed_copy, d->idle};
	static const char *const label[] = {"least", "median", "most"};
	assay_spread spread[COLUMNS];
	int64_t *v = assay_alloc(&p->scratch, d->n * sizeof *v);
	char t[ASSAY_FMT];
	for (size_t c = 0; c < COLUMNS; c++) {
		memcpy(v, column[c], d->n * sizeof *v);
		spread[c] = assay_spread_of(v, d->n);
	}
	fprintf(p->out, "  all %s devices, each column for itself\n", assay_fmt_count(t, d->n));
	for (int k = 0; k < 3; k++) {
		fprintf(p->out, "  %-11s", label[k]);
		for (size_t c = 0; c < COLUMNS; c++) {
			const int64_t of[] = {spread[c].least, spread[c].median, spread[c].most};
			static const int width[COLUMNS] = {9, 9, 14, 14, 14};
			fprintf(p->out, "%*s", width[c], assay_fmt_time(t, of[k]));
		}
		fprintf(p->out, "\n");
	}
}

static void print_devices(assay_printout *p)
{
	const assay_device_time_table *d = &p->run->part.t.device_time;
	assay_print_heading(p, "Where the time went");
	if (!d->n) {
		fprintf(p->out, "  no GPU work in this input\n");
		return;
	}
	fprintf(p->out, "  %-11s %8s %13s %13s %13s %13s\n", "device", "span", "compute #",
		"exp. comm =", "exp. copy +", "idle .");
	size_t shown = assay_print_devices(p);
	for (size_t i = 0; i < shown; i++)
		print_device(p, i);
	if (shown < d->n)
		print_device_spread(p);
}

/* Figures in the order people ask for them: metric, label, unit (NULL: a time), factor. */
static const struct figure {
	const char *metric, *label, *unit;
	double scale;
} figures[] = {
	{"steps", "steps", "", 1},
	{"step_seconds", "step time", NULL, 1e9},
	{"tokens_per_sec", "tokens", "/s", 1},
	{"mfu_pct", "MFU", "%", 1},
	{"hfu_pct", "HFU", "%", 1},
	{"mfu_at_clock_pct", "MFU at clock", "%", 1},
	{"tflops_per_sec", "compute", "TFLOP/s", 1},
	{"tb_per_sec", "memory traffic", "TB/s", 1},
	{"gpu_util_pct", "GPU busy", "%", 1},
	{"smi_util_pct", "GPU busy (smi)", "%", 1},
	{"power_watts", "power", "W", 1},
	{"hbm_peak_gb", "memory peak", "GiB", 1},
	{"hbm_avg_gb", "memory mean", "GiB", 1},
	{"hbm_total_gb", "memory size", "GiB", 1},
	{"attention", "attention", "", 0},
	{"pytorch_version", "PyTorch", "", 0},
	{"cuda_version", "CUDA", "", 0},
	{"rocm_version", "ROCm", "", 0},
};

static void print_figures(assay_printout *p)
{
	const assay_metric_table *m = &p->run->part.t.metric;
	assay_print_heading(p, "Run");
	for (size_t i = 0; i < ASSAY_COUNT_OF(figures); i++) {
		const struct figure *f = &figures[i];
		uint32_t r = assay_metric_find(p->run, f->metric);
		char value[64] = "unknown", time[ASSAY_FMT];
		if (r == ASSAY_NO_ROW)
			continue;
		bool known = m->state[r] != ASSAY_STATE_UNKNOWN;
		if (known && m->text[r])
			snprintf(value, sizeof value, "%s", assay_z(p->run, m->text[r]));
		else if (known && !f->unit)
			snprintf(value, sizeof value, "%s",
				 assay_fmt_time(time, (int64_t)(m->value[r] * f->scale + 0.5)));
		else if (known)
			snprintf(value, sizeof value,
				 f->scale == 1 && m->value[r] == (double)(int64_t)m->value[r]
					 ? "%.0f %s"
					 : "%.2f %s",
				 m->value[r] * f->scale, f->unit);
		fprintf(p->out, "  %-16s %-16s ", f->label, value);
		assay_print_flow(
			p, 36,
			assay_printf(&p->scratch, "%s%s",
				     m->state[r] == ASSAY_STATE_ESTIMATED ? "estimate: " : "",
				     assay_z(p->run, m->how[r])));
	}
}

/* In the order in which -v prints them. */
const assay_section assay_sections[] = {
	{"inputs", "the files, their formats and sizes", print_inputs},
	{"devices", "where the time of every device went", print_devices},
	{"findings", "everything worth changing, with evidence", assay_findings_text},
	{"steps", "steps and what devices did in them", assay_steps_text},
	{"ranks", "who waits for whom, and the collectives", assay_ranks_text},
	{"invocations", "modules and operators of XLA profiles", assay_derived_text},
	{"figures", "figures of the run and where they come from", print_figures},
	{"budget", "where a step's time goes, as buckets of waste", assay_budget_text},
	{"idle", "why devices were idle, and the longest gaps", assay_idle_text},
	{"ops", "framework operators, their shapes and bounds", assay_ops_text},
	{"kernels", "kernels and families", assay_kernels_text},
	{"copies", "copies: direction, size, bandwidth", assay_copies_text},
	{"memory", "memory of devices over time, and who holds it", assay_memory_text},
	{"calls", "calls of the GPU runtime", assay_host_calls_text},
	{"counters", "hardware counters by kernel", assay_counters_text},
	{"summaries", "sums that the recorder itself made", assay_summaries_text},
	{"overhead", "what recording itself took", assay_overhead_text},
	{"trust", "what was read, lost and linked", assay_trust_text},
};
const size_t assay_section_count = ASSAY_COUNT_OF(assay_sections);

const assay_section *assay_section_find(assay_str name)
{
	for (size_t i = 0; i < assay_section_count; i++)
		if (assay_str_is(name, assay_sections[i].name))
			return &assay_sections[i];
	return NULL;
}

/* How many bytes it printed. */
static size_t print_fitted(FILE *out, const assay_run *run, const assay_text_opts *opts,
			   void (*print)(assay_printout *p))
{
	char *text = NULL;
	size_t n = 0;
	assay_printout p = {.out = open_memstream(&text, &n),
			    .run = run,
			    .colour = opts->colour,
			    .full_names = opts->full_names,
			    .width = opts->width ? opts->width : WIDTH,
			    .top = opts->top};
	if (!p.out)
		assay_oom(0);
	print(&p);
	if (fclose(p.out))
		assay_oom(n);
	assay_lines_put(out, text, n, opts->full_names ? SIZE_MAX : p.width);
	free(text);
	assay_arena_free(&p.scratch);
	return n;
}

void assay_report_section(FILE *out, const assay_run *run, const assay_section *section,
			  const assay_text_opts *opts)
{
	if (!print_fitted(out, run, opts, section->print))
		fprintf(out, "nothing in this input for %s: %s\n", section->name, section->about);
}

void assay_report_text(FILE *out, const assay_run *run, const assay_text_opts *opts)
{
	print_fitted(out, run, opts, assay_first_screen);
	for (size_t i = 0; opts->verbose && i < assay_section_count; i++)
		print_fitted(out, run, opts, assay_sections[i].print);
}

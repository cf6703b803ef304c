/* Idle time by the lines of the program where the launching thread was. */
#include "render/printout.h"

#include "base/fmt.h"
#include "model/native.h"
#include "render/place.h"

enum { TOP_JSON = 50, LINES_OF_CAUSE = 3 };

void assay_idle_lines_json(assay_jsonw *w, const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	const assay_idle_line_table *l = &t->idle_line;
	if (!l->n)
		return;
	assay_jsonw_open(w, "idle_lines", '[');
	for (size_t i = 0; i < l->n && i < TOP_JSON; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "device", t->device_time.device[l->device[i]]);
		assay_jsonw_z(w, "cause", assay_why_name[l->cause[i]]);
		assay_jsonw_i64(w, "dur_ns", l->dur[i]);
		assay_jsonw_u64(w, "stretches", l->stretches[i]);
		assay_place_json(w, "where", run, l->stack[i]);
		if (l->culprit[i] != ASSAY_NO_ROW)
			assay_place_json(w, "waits_for", run, l->culprit[i]);
		uint32_t library = assay_native_code(run, l->sample[i]);
		if (library != ASSAY_NO_ROW) {
			assay_jsonw_str(w, "library", assay_text(run, t->code.file[library]));
			assay_jsonw_str(w, "symbol", assay_text(run, t->code.function[library]));
		}
		if (l->sample[i] != ASSAY_NO_ROW && t->sample.file[l->sample[i]])
			assay_jsonw_str(w, "path", assay_text(run, t->sample.file[l->sample[i]]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* "at train.py:12 step", and what it waits for there. */
static void print_line(assay_printout *p, size_t i)
{
	const assay_tables *t = &p->run->part.t;
	const assay_idle_line_table *l = &t->idle_line;
	uint32_t sample = l->sample[i];
	char time[ASSAY_FMT];
	fprintf(p->out, "  %10s         at %s", assay_fmt_time(time, l->dur[i]),
		assay_place_text(&p->scratch, p->run, l->stack[i]));
	uint32_t library = assay_native_code(p->run, sample);
	if (library != ASSAY_NO_ROW)
		fprintf(p->out, ", in %s", assay_native_words(&p->scratch, p->run, library));
	if (sample != ASSAY_NO_ROW && t->sample.file[sample])
		fprintf(p->out, ", %s", assay_z(p->run, t->sample.file[sample]));
	if (l->culprit[i] != ASSAY_NO_ROW)
		fprintf(p->out, ", while another is at %s",
			assay_place_text(&p->scratch, p->run, l->culprit[i]));
	fputc('\n', p->out);
}

void assay_idle_lines_text(assay_printout *p, uint32_t device, assay_why cause)
{
	const assay_tables *t = &p->run->part.t;
	const assay_idle_line_table *l = &t->idle_line;
	int shown = 0;
	for (size_t i = 0; i < l->n && shown < LINES_OF_CAUSE; i++) {
		/* lines that matter little say little */
		if (l->device[i] != device || l->cause[i] != cause ||
		    l->dur[i] * 50 < t->device_time.idle[device])
			continue;
		print_line(p, i);
		shown++;
	}
}

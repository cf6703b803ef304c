/* The waste budget. */
#include <math.h>

#include "base/fmt.h"
#include "render/printout.h"

/* Seconds per step, or null: zero and unknown must not look the same. */
static void put_seconds(assay_jsonw *w, const assay_run *run, const char *name)
{
	const assay_budget_table *b = &run->part.t.budget;
	uint32_t r = assay_budget_find(run, name);
	bool known = r != ASSAY_NO_ROW && b->total[r] >= 0;
	assay_jsonw_f64(w, name, known ? b->value[r] * 1e-9 : NAN);
}

/* Memory headroom is capacity: it is in GiB in the full budget, never seconds here. */
void assay_waste_json(assay_jsonw *w, const assay_run *run)
{
	static const char *const names[] = {
		"useful_gpu",  "data_wait",   "host_gap",        "comm_excess",    "exposed_copy",
		"device_wait", "unexplained", "memory_headroom", "precision_path", "kernel_shape",
		"at_bound",    "unfused",     "compute_rest",    "unmodelled",     "total"};
	const assay_budget_table *b = &run->part.t.budget;
	assay_jsonw_open(w, "waste_budget", '{');
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		put_seconds(w, run, names[i]);
	uint32_t total = assay_budget_find(run, "total"),
		 useful = assay_budget_find(run, "useful_gpu");
	uint32_t headroom = assay_budget_find(run, "memory_headroom");
	bool known = headroom != ASSAY_NO_ROW && b->state[headroom] != ASSAY_STATE_UNKNOWN;
	assay_jsonw_f64(w, "memory_headroom_gib", known ? b->value[headroom] : NAN);
	assay_jsonw_f64(w, "recoverable",
			total == ASSAY_NO_ROW ? NAN : (b->value[total] - b->value[useful]) * 1e-9);
	assay_jsonw_close(w, '}');
}

void assay_put_gap(assay_jsonw *w, const assay_run *run, uint32_t gap)
{
	const assay_gap_table *g = &run->part.t.gap;
	if (gap == ASSAY_NO_ROW) {
		assay_jsonw_null(w, "longest_gap");
		return;
	}
	assay_jsonw_open_flat(w, "longest_gap", '{');
	assay_jsonw_i64(w, "start_ns", g->ts[gap]);
	assay_jsonw_i64(w, "dur_ns", g->dur[gap]);
	assay_jsonw_str(w, "ended_by", assay_text(run, run->part.t.gpu.name[g->gpu[gap]]));
	assay_jsonw_close(w, '}');
}

void assay_budget_json(assay_jsonw *w, const assay_run *run)
{
	const assay_budget_table *b = &run->part.t.budget;
	assay_jsonw_open(w, "budget", '[');
	for (size_t i = 0; i < b->n; i++) {
		bool known = b->state[i] != ASSAY_STATE_UNKNOWN;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "bucket", assay_text(run, b->name[i]));
		assay_jsonw_f64(w, "per_step", known ? b->value[i] : NAN);
		assay_jsonw_str(w, "unit", assay_text(run, b->unit[i]));
		assay_jsonw_i64_if(w, "total_ns", b->total[i] >= 0, b->total[i]);
		assay_jsonw_u64(w, "evidence", b->evidence[i]);
		assay_put_gap(w, run, b->gap[i]);
		assay_jsonw_f64(w, "coverage", b->coverage[i]);
		assay_jsonw_z(w, "state", assay_state_name[b->state[i]]);
		assay_jsonw_str(w, "how", assay_text(run, b->how[i]));
		assay_jsonw_z(w, "part_of", assay_z_if(run, b->part_of[i]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void print_bucket(assay_printout *p, uint32_t r, int64_t window)
{
	const assay_budget_table *b = &p->run->part.t.budget;
	char time[ASSAY_FMT];
	fprintf(p->out, "  %s%-*s ", b->part_of[r] ? "  " : "", b->part_of[r] ? 14 : 16,
		assay_z(p->run, b->name[r]));
	if (b->state[r] == ASSAY_STATE_UNKNOWN)
		fprintf(p->out, "%10s %7s", "unknown", "");
	else if (b->total[r] < 0)
		fprintf(p->out, "%6.1f %s %7s", b->value[r], assay_z(p->run, b->unit[r]), "");
	else
		fprintf(p->out, "%10s %6.1f%%", assay_fmt_time(time, (int64_t)(b->value[r] + 0.5)),
			assay_percent(b->total[r], window));
	bool part = b->state[r] != ASSAY_STATE_UNKNOWN && b->coverage[r] < 0.995;
	const char *covered = assay_printf(&p->scratch, "%.0f%% covered: ", 100 * b->coverage[r]);
	fputs("  ", p->out);
	assay_print_flow(
		p, 39,
		assay_printf(&p->scratch, "%s%s", part ? covered : "", assay_z(p->run, b->how[r])));
}

void assay_budget_text(assay_printout *p)
{
	const assay_budget_table *b = &p->run->part.t.budget;
	uint32_t total = assay_budget_find(p->run, "total");
	if (total == ASSAY_NO_ROW)
		return;
	assay_print_heading(p, "Waste budget");
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->part_of[i])
			continue;
		print_bucket(p, i, b->total[total]);
		for (uint32_t k = 0; k < b->n; k++)
			if (b->part_of[k] == b->name[i])
				print_bucket(p, k, b->total[total]);
	}
}

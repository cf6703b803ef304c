/* Ranks: who waits for whom, the steps of each, and the collectives between them. */
#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "render/printout.h"

enum { TOP = 10, HEAT_STEPS = 12, HEAT_RANKS = 16, NAME_WIDTH = 40 };

static void put_rank(assay_jsonw *w, const assay_rank_table *r, size_t i)
{
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_u64(w, "source", r->source[i]);
	assay_jsonw_i64(w, "rank", r->rank[i]);
	assay_jsonw_i64(w, "clock_offset_ns", r->offset[i]);
	assay_jsonw_i64_if(w, "clock_spread_ns", r->spread[i] >= 0, r->spread[i]);
	assay_jsonw_u64(w, "collectives", r->matched[i]);
	assay_jsonw_u64(w, "arrived_last", r->last[i]);
	assay_jsonw_i64(w, "waited_ns", r->waited[i]);
	assay_jsonw_i64(w, "wait_caused_ns", r->caused[i]);
	assay_jsonw_i64(w, "transfer_ns", r->transfer[i]);
	assay_jsonw_i64(w, "skew_ns", r->skew[i]);
	assay_jsonw_close(w, '}');
}

static void put_collective(assay_jsonw *w, const assay_run *run, size_t i)
{
	const assay_collective_table *c = &run->part.t.collective;
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_str(w, "name", assay_text(run, c->name[i]));
	assay_jsonw_str(w, "group", assay_text(run, c->group[i]));
	assay_jsonw_i64_if(w, "ranks", c->size[i] > 0, c->size[i]);
	assay_jsonw_i64_if(w, "bytes", c->bytes[i] > 0, c->bytes[i]);
	assay_jsonw_u64(w, "count", c->count[i]);
	assay_jsonw_u64(w, "matched", c->matched[i]);
	assay_jsonw_f64(w, "latency_ns", c->latency[i]);
	assay_jsonw_f64(w, "skew_ns", c->skew[i]);
	assay_jsonw_i64(w, "max_skew_ns", c->max_skew[i]);
	assay_jsonw_f64(w, "algo_gib_s", c->algo_bw[i] > 0 ? c->algo_bw[i] : NAN);
	assay_jsonw_f64(w, "bus_gib_s", c->bus_bw[i] > 0 ? c->bus_bw[i] : NAN);
	assay_jsonw_close(w, '}');
}

/* Rows of collective, the one that takes most time first. */
struct heavy {
	double time;
	uint32_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static const struct heavy *heaviest(const assay_run *run, assay_arena *a)
{
	const assay_collective_table *c = &run->part.t.collective;
	struct heavy *all = assay_alloc(a, (c->n + 1) * sizeof *all);
	for (uint32_t i = 0; i < c->n; i++)
		all[i] = (struct heavy){c->latency[i] * (double)c->count[i], i};
	qsort(all, c->n, sizeof *all, by_time);
	return all;
}

static int64_t step_length(const assay_run *run, uint32_t source, int64_t number)
{
	const assay_step_table *s = &run->part.t.step;
	for (size_t i = 0; i < s->n; i++)
		if (s->source[i] == source && s->number[i] == number)
			return s->dur[i];
	return -1;
}

/* Step by rank: one row a step of the first rank, null where a rank does not have it. */
static void put_heat(assay_jsonw *w, const assay_run *run)
{
	const assay_rank_table *r = &run->part.t.rank;
	const assay_step_table *s = &run->part.t.step;
	assay_jsonw_open(w, "rank_steps", '[');
	for (size_t i = 0; r->n > 1 && i < s->n; i++) {
		if (s->source[i] != r->source[0])
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "step", s->number[i]);
		assay_jsonw_open_flat(w, "dur_ns", '[');
		for (size_t k = 0; k < r->n; k++) {
			int64_t length = step_length(run, r->source[k], s->number[i]);
			assay_jsonw_i64_if(w, NULL, length >= 0, length);
		}
		assay_jsonw_close(w, ']');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_ranks_json(assay_jsonw *w, const assay_run *run)
{
	assay_arena scratch = {0};
	const struct heavy *row = heaviest(run, &scratch);
	assay_jsonw_open(w, "ranks", '[');
	for (size_t i = 0; i < run->part.t.rank.n; i++)
		put_rank(w, &run->part.t.rank, i);
	assay_jsonw_close(w, ']');
	put_heat(w, run);
	assay_jsonw_open(w, "collectives", '[');
	for (size_t i = 0; i < run->part.t.collective.n; i++)
		put_collective(w, run, row[i].row);
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

static void print_rank_rows(assay_printout *p)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	char waited[ASSAY_FMT], caused[ASSAY_FMT], offset[ASSAY_FMT];
	fprintf(p->out, "  %6s %12s %13s %10s %12s %12s\n", "rank", "collectives", "arrived last",
		"waited", "wait caused", "clock");
	for (size_t i = 0; i < r->n; i++)
		fprintf(p->out, "  %6d %12llu %12.0f%% %10s %12s %12s\n", r->rank[i],
			(unsigned long long)r->matched[i],
			assay_percent((int64_t)r->last[i], (int64_t)r->matched[i]),
			assay_fmt_time(waited, r->waited[i]), assay_fmt_time(caused, r->caused[i]),
			assay_fmt_time(offset, r->offset[i]));
}

/* A rank's step is marked when it is the longest of all and stands out. */
static void print_heat_line(assay_printout *p, int64_t number)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	int64_t length[HEAT_RANKS], most = 0, least = INT64_MAX;
	char t[ASSAY_FMT];
	size_t n = r->n < HEAT_RANKS ? r->n : HEAT_RANKS;
	for (size_t k = 0; k < n; k++) {
		length[k] = step_length(p->run, r->source[k], number);
		most = length[k] > most ? length[k] : most;
		least = length[k] >= 0 && length[k] < least ? length[k] : least;
	}
	bool stands_out = least != INT64_MAX && most - least > least / 50;
	fprintf(p->out, "  %6lld", (long long)number);
	for (size_t k = 0; k < n; k++)
		fprintf(p->out, " %c%9s", stands_out && length[k] == most ? '*' : ' ',
			length[k] < 0 ? "-" : assay_fmt_time(t, length[k]));
	fprintf(p->out, "\n");
}

/* One line a step, one column a rank. */
static void print_heat(assay_printout *p)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	const assay_step_table *s = &p->run->part.t.step;
	size_t steps = 0;
	fprintf(p->out, "  step time by rank (* longest, by more than 2%%)\n  %6s", "step");
	for (size_t k = 0; k < r->n && k < HEAT_RANKS; k++)
		fprintf(p->out, " %10d", r->rank[k]);
	fprintf(p->out, "\n");
	for (size_t i = 0; i < s->n; i++)
		if (s->source[i] == r->source[0] && steps++ < HEAT_STEPS)
			print_heat_line(p, s->number[i]);
	if (steps > HEAT_STEPS || r->n > HEAT_RANKS)
		fprintf(p->out, "  ... %zu steps of %zu ranks in all (--json has them)\n", steps,
			r->n);
}

static const char *bandwidth(char buf[ASSAY_FMT], double gib)
{
	if (gib <= 0)
		return "-";
	snprintf(buf, ASSAY_FMT, "%.1f", gib);
	return buf;
}

static void print_collective(assay_printout *p, uint32_t i)
{
	const assay_collective_table *c = &p->run->part.t.collective;
	char bytes[ASSAY_FMT], time[ASSAY_FMT], skew[ASSAY_FMT], algo[ASSAY_FMT], bus[ASSAY_FMT];
	char ranks[ASSAY_FMT];
	snprintf(ranks, sizeof ranks, "%d", c->size[i]);
	fprintf(p->out, "  %-*s %-10s %5s %8s %6llu %10s %10s %10s %10s\n", NAME_WIDTH,
		assay_fmt_kernel(&p->scratch, assay_text(p->run, c->name[i]), NAME_WIDTH),
		assay_fmt_kernel(&p->scratch, assay_text(p->run, c->group[i]), 10),
		c->size[i] > 0 ? ranks : "-",
		c->bytes[i] < 0 ? "-" : assay_fmt_bytes(bytes, (uint64_t)c->bytes[i]),
		(unsigned long long)c->count[i], assay_fmt_time(time, (int64_t)c->latency[i]),
		c->matched[i] ? assay_fmt_time(skew, (int64_t)c->skew[i]) : "-",
		bandwidth(algo, c->algo_bw[i]), bandwidth(bus, c->bus_bw[i]));
}

static void print_collectives(assay_printout *p)
{
	const assay_collective_table *c = &p->run->part.t.collective;
	const struct heavy *row = heaviest(p->run, &p->scratch);
	fprintf(p->out, "  %-*s %-10s %5s %8s %6s %10s %10s %10s %10s\n", NAME_WIDTH, "collective",
		"group", "ranks", "size", "calls", "latency", "skew", "GiB/s algo", "GiB/s bus");
	for (size_t i = 0; i < c->n && i < TOP; i++)
		print_collective(p, row[i].row);
	if (c->n > TOP)
		fprintf(p->out, "  ... %zu more (--json has them)\n", c->n - TOP);
}

void assay_ranks_text(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	if (t->rank.n < 2 && !t->collective.n)
		return;
	assay_print_heading(p, t->rank.n < 2 ? "Collectives" : "Ranks");
	if (t->rank.n > 1) {
		print_rank_rows(p);
		if (t->step.n)
			print_heat(p);
	}
	print_collectives(p);
}

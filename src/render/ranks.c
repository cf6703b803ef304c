/* Ranks: who waits for whom, the steps of each, and the collectives between them. Of many ranks the
 * text has the worst ones, their machines and how all are spread; JSON has them all. */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/group.h"
#include "base/sort.h"
#include "render/printout.h"

enum {
	TOP = 10,
	TOP_HOSTS = 5,
	TOP_OF_MANY = 5,
	HEAT_STEPS = 12,
	HEAT_RANKS = ASSAY_PRINT_FEW,
};

static void put_rank(assay_jsonw *w, const assay_run *run, size_t i)
{
	const assay_rank_table *r = &run->part.t.rank;
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_u64(w, "source", r->source[i]);
	assay_jsonw_i64(w, "rank", r->rank[i]);
	assay_jsonw_z(w, "host", assay_z_if(run, r->host[i]));
	assay_jsonw_i64(w, "clock_offset_ns", r->offset[i]);
	assay_jsonw_i64_if(w, "clock_spread_ns", r->spread[i] >= 0, r->spread[i]);
	assay_jsonw_u64(w, "collectives", r->matched[i]);
	assay_jsonw_u64(w, "arrived_last", r->last[i]);
	assay_jsonw_i64(w, "waited_ns", r->waited[i]);
	assay_jsonw_i64(w, "wait_caused_ns", r->caused[i]);
	assay_jsonw_i64(w, "transfer_ns", r->transfer[i]);
	assay_jsonw_i64(w, "skew_ns", r->skew[i]);
	assay_jsonw_i64(w, "lost_by_each_ns", r->lost[i]);
	assay_jsonw_z(w, "late_by", assay_late_name[r->why[i]]);
	assay_jsonw_i64(w, "late_by_ns", r->excess[i]);
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
	return assay_then(ASSAY_CMP(y->time, x->time), ASSAY_CMP(x->row, y->row));
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

/* Rows of step by source, then by number. */
struct step_index {
	uint32_t *row;
	size_t *first; /* by source, and the end: index in row */
};

static struct step_index index_steps(const assay_run *run, assay_arena *a)
{
	const assay_step_table *s = &run->part.t.step;
	size_t sources = run->part.t.source.n;
	struct step_index x = {assay_alloc(a, (s->n + 1) * sizeof *x.row),
			       assay_alloc(a, (sources + 1) * sizeof *x.first)};
	assay_group_rows(x.row, x.first, NULL, s->n, s->source, sources);
	for (size_t i = 0; i < sources; i++)
		assay_sort_rows(x.row + x.first[i], x.first[i + 1] - x.first[i], s->number);
	return x;
}

/* Of several with that number the first one's. */
static int64_t step_length(const assay_run *run, const struct step_index *x, uint32_t source,
			   int64_t number)
{
	const assay_step_table *s = &run->part.t.step;
	const uint32_t *row = x->row + x->first[source];
	size_t n = x->first[source + 1] - x->first[source];
	size_t at = number == INT64_MIN ? 0 : assay_rows_until(row, n, s->number, number - 1);
	return at < n && s->number[row[at]] == number ? s->dur[row[at]] : -1;
}

/* Step by rank: one row a step of the first rank, null where a rank does not have it. */
static void put_heat(assay_jsonw *w, const assay_run *run, assay_arena *scratch)
{
	const assay_rank_table *r = &run->part.t.rank;
	const assay_step_table *s = &run->part.t.step;
	struct step_index steps = index_steps(run, scratch);
	assay_jsonw_open(w, "rank_steps", '[');
	for (size_t i = 0; r->n > 1 && i < s->n; i++) {
		if (s->source[i] != r->source[0])
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "step", s->number[i]);
		assay_jsonw_open_flat(w, "dur_ns", '[');
		for (size_t k = 0; k < r->n; k++) {
			int64_t length = step_length(run, &steps, r->source[k], s->number[i]);
			assay_jsonw_i64_if(w, NULL, length >= 0, length);
		}
		assay_jsonw_close(w, ']');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* Ranks of one machine. */
struct host {
	assay_sid name;
	uint32_t ranks;
	uint64_t last;
	int64_t waited, caused;
};
typedef assay_vec(struct host) hosts;

static int by_caused(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->caused, x->caused), ASSAY_CMP(x->name, y->name));
}

/* Most waiting caused first; none when the machines are not known. */
static void sum_hosts(const assay_run *run, hosts *out)
{
	const assay_rank_table *r = &run->part.t.rank;
	assay_map at = {0};
	for (size_t i = 0; i < r->n; i++) {
		if (!r->host[i])
			continue;
		uint32_t *slot = assay_map_at(&at, r->host[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)out->n;
			*assay_push(out) = (struct host){.name = r->host[i]};
		}
		struct host *h = &out->p[*slot];
		h->ranks++;
		h->last += r->last[i];
		h->waited += r->waited[i];
		h->caused += r->caused[i];
	}
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_caused);
	assay_map_free(&at);
}

static void put_hosts(assay_jsonw *w, const assay_run *run)
{
	hosts h = {0};
	sum_hosts(run, &h);
	assay_jsonw_open(w, "hosts", '[');
	for (size_t i = 0; i < h.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "host", assay_text(run, h.p[i].name));
		assay_jsonw_u64(w, "ranks", h.p[i].ranks);
		assay_jsonw_u64(w, "arrived_last", h.p[i].last);
		assay_jsonw_i64(w, "waited_ns", h.p[i].waited);
		assay_jsonw_i64(w, "wait_caused_ns", h.p[i].caused);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_vec_free(&h);
}

void assay_ranks_json(assay_jsonw *w, const assay_run *run)
{
	assay_arena scratch = {0};
	const struct heavy *row = heaviest(run, &scratch);
	assay_jsonw_open(w, "ranks", '[');
	for (size_t i = 0; i < run->part.t.rank.n; i++)
		put_rank(w, run, i);
	assay_jsonw_close(w, ']');
	put_hosts(w, run);
	put_heat(w, run, &scratch);
	assay_jsonw_open(w, "collectives", '[');
	for (size_t i = 0; i < run->part.t.collective.n; i++)
		put_collective(w, run, row[i].row);
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

static const char *late_text(assay_printout *p, size_t i)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	char t[ASSAY_FMT];
	if (!r->excess[i])
		return r->why[i] ? assay_late_name[r->why[i]] : "";
	return assay_printf(&p->scratch, "%s +%s", assay_late_name[r->why[i]],
			    assay_fmt_time(t, r->excess[i]));
}

static const char *rank_text(assay_printout *p, size_t i)
{
	int32_t rank = p->run->part.t.rank.rank[i];
	return rank < 0 ? "-" : assay_printf(&p->scratch, "%d", rank);
}

static void print_rank_row(assay_printout *p, size_t i)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	char waited[ASSAY_FMT], caused[ASSAY_FMT], offset[ASSAY_FMT];
	const char *late = late_text(p, i);
	fprintf(p->out, "  %6s %8llu %5.0f%% %8s %8s %8s", rank_text(p, i),
		(unsigned long long)r->matched[i],
		assay_percent((int64_t)r->last[i], (int64_t)r->matched[i]),
		assay_fmt_time(waited, r->waited[i]), assay_fmt_time(caused, r->caused[i]),
		assay_fmt_time(offset, r->offset[i]));
	if (r->host[i])
		fprintf(p->out, "  %-18s %s\n", late,
			assay_fmt_safe(&p->scratch, assay_text(p->run, r->host[i])));
	else
		fprintf(p->out, "%s%s\n", *late ? "  " : "", late);
}

/* All of a few ranks in their order; of many those that others waited for most. */
static void print_rank_rows(assay_printout *p)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	uint32_t *row = assay_alloc(&p->scratch, (r->n + 1) * sizeof *row);
	bool many = r->n > ASSAY_PRINT_FEW;
	size_t listed = 0;
	for (uint32_t i = 0; i < r->n; i++)
		row[i] = i;
	if (many)
		assay_sort_rows_falling(row, r->n, r->caused);
	fprintf(p->out, "  %6s %8s %6s %8s %8s %8s  %s\n", "rank", "calls", "last", "waited",
		"caused", "clock", r->n && r->host[0] ? "late by            host" : "late by");
	for (; listed < r->n && (!many || (listed < TOP && r->caused[row[listed]])); listed++)
		print_rank_row(p, row[listed]);
	if (listed < r->n)
		fprintf(p->out, "  ... %zu more ranks that cause less (--json has them)\n",
			r->n - listed);
}

static void print_spread(assay_printout *p, const char *what, const int64_t *column)
{
	size_t n = p->run->part.t.rank.n;
	int64_t *v = assay_alloc(&p->scratch, (n + 1) * sizeof *v);
	char least[ASSAY_FMT], median[ASSAY_FMT], most[ASSAY_FMT];
	memcpy(v, column, n * sizeof *v);
	assay_spread s = assay_spread_of(v, n);
	fprintf(p->out, "  %-22s least %s, median %s, most %s\n", what,
		assay_fmt_time(least, s.least), assay_fmt_time(median, s.median),
		assay_fmt_time(most, s.most));
}

static void print_hosts(assay_printout *p)
{
	hosts h = {0};
	char waited[ASSAY_FMT], caused[ASSAY_FMT];
	sum_hosts(p->run, &h);
	if (h.n > 1)
		fprintf(p->out, "  %-24s %6s %13s %10s %12s\n", "host", "ranks", "arrived last",
			"waited", "wait caused");
	for (size_t i = 0; h.n > 1 && i < h.n && i < TOP_HOSTS && h.p[i].caused; i++)
		fprintf(p->out, "  %-24s %6u %13llu %10s %12s\n",
			assay_fmt_safe(&p->scratch, assay_text(p->run, h.p[i].name)), h.p[i].ranks,
			(unsigned long long)h.p[i].last, assay_fmt_time(waited, h.p[i].waited),
			assay_fmt_time(caused, h.p[i].caused));
	if (h.n > TOP_HOSTS)
		fprintf(p->out, "  ... %zu hosts in all (--json has them)\n", h.n);
	assay_vec_free(&h);
}

/* A rank's step is marked when it is the longest of all and stands out. */
static void print_heat_line(assay_printout *p, const struct step_index *steps, int64_t number)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	int64_t length[HEAT_RANKS], most = 0, least = INT64_MAX;
	char t[ASSAY_FMT];
	size_t n = r->n < HEAT_RANKS ? r->n : HEAT_RANKS;
	for (size_t k = 0; k < n; k++) {
		length[k] = step_length(p->run, steps, r->source[k], number);
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

/* Of many ranks: how long a step took on all of them, and where it took longest. */
static void print_spread_line(assay_printout *p, const struct step_index *steps, int64_t number)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	int64_t *v = assay_alloc(&p->scratch, (r->n + 1) * sizeof *v), most = -1;
	char a[ASSAY_FMT], b[ASSAY_FMT], c[ASSAY_FMT];
	size_t n = 0, longest = 0;
	for (size_t k = 0; k < r->n; k++) {
		int64_t length = step_length(p->run, steps, r->source[k], number);
		if (length < 0)
			continue;
		longest = length > most ? k : longest;
		most = length > most ? length : most;
		v[n++] = length;
	}
	assay_spread s = assay_spread_of(v, n);
	fprintf(p->out, "  %6lld %10s %10s %10s  rank %d, of %zu\n", (long long)number,
		assay_fmt_time(a, s.least), assay_fmt_time(b, s.median), assay_fmt_time(c, s.most),
		r->rank[longest], n);
}

/* One line a step; one column a rank, unless there are many. */
static void print_heat(assay_printout *p)
{
	const assay_rank_table *r = &p->run->part.t.rank;
	const assay_step_table *s = &p->run->part.t.step;
	bool many = r->n > ASSAY_PRINT_FEW || 8 + 11 * r->n > p->width;
	size_t listed = 0, most = many ? TOP_OF_MANY : HEAT_STEPS;
	struct step_index steps = index_steps(p->run, &p->scratch);
	fprintf(p->out,
		many ? "  step time over ranks\n  %6s"
		     : "  step time by rank (* longest, by more than 2%%)\n  %6s",
		"step");
	if (many)
		fprintf(p->out, " %10s %10s %10s  longest on", "least", "median", "most");
	for (size_t k = 0; !many && k < r->n; k++)
		fprintf(p->out, " %10s", rank_text(p, k));
	fprintf(p->out, "\n");
	for (size_t i = 0; i < s->n; i++)
		if (s->source[i] == r->source[0] && listed++ < most)
			(many ? print_spread_line : print_heat_line)(p, &steps, s->number[i]);
	if (listed > most)
		fprintf(p->out, "  ... %zu steps of %zu ranks in all (--json has them)\n", listed,
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
	fprintf(p->out, "  %8s %6llu %8s %8s %6s %6s %5s %-8s %s\n",
		c->bytes[i] < 0 ? "-" : assay_fmt_bytes(bytes, (uint64_t)c->bytes[i]),
		(unsigned long long)c->count[i], assay_fmt_time(time, (int64_t)c->latency[i]),
		c->matched[i] ? assay_fmt_time(skew, (int64_t)c->skew[i]) : "-",
		bandwidth(algo, c->algo_bw[i]), bandwidth(bus, c->bus_bw[i]),
		c->size[i] > 0 ? ranks : "-",
		assay_fmt_kernel(&p->scratch, assay_text(p->run, c->group[i]), 8),
		assay_fmt_kernel(&p->scratch, assay_text(p->run, c->name[i]), assay_room(p, 65)));
}

static void print_collectives(assay_printout *p)
{
	const assay_collective_table *c = &p->run->part.t.collective;
	const struct heavy *row = heaviest(p->run, &p->scratch);
	fprintf(p->out, "  GiB/s: by the message, and on the bus\n");
	fprintf(p->out, "  %8s %6s %8s %8s %6s %6s %5s %-8s %s\n", "size", "calls", "latency",
		"skew", "GiB/s", "bus", "ranks", "group", "collective");
	size_t most = p->run->part.t.rank.n > ASSAY_PRINT_FEW ? TOP_OF_MANY : TOP;
	for (size_t i = 0; i < c->n && i < most; i++)
		print_collective(p, row[i].row);
	if (c->n > most)
		fprintf(p->out, "  ... %zu more (--json has them)\n", c->n - most);
}

void assay_ranks_text(assay_printout *p)
{
	const assay_tables *t = &p->run->part.t;
	if (t->rank.n < 2 && !t->collective.n)
		return;
	assay_print_heading(p, t->rank.n < 2 ? "Collectives" : "Ranks");
	if (t->rank.n > ASSAY_PRINT_FEW) {
		print_spread(p, "waited for other ranks", t->rank.waited);
		print_spread(p, "made others wait", t->rank.caused);
		print_spread(p, "clocks apart", t->rank.offset);
	}
	if (t->rank.n > 1) {
		print_rank_rows(p);
		print_hosts(p);
		if (t->step.n)
			print_heat(p);
	}
	print_collectives(p);
}

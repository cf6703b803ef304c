/* Copies and memsets: direction, kind of host memory, size and bandwidth. */
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/copies.h"
#include "render/printout.h"

enum { TOP = 20 };

/* All copies of one name; bytes and the time of those whose bytes are known. */
typedef struct copy_sum {
	assay_sid name;
	uint8_t kind;
	uint64_t count, bytes;
	int64_t total, sized;
} copy_sum;
typedef assay_vec(copy_sum) copy_sums;

static int by_total(const void *a, const void *b)
{
	const copy_sum *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->total, x->total), ASSAY_CMP(x->name, y->name));
}

static void add_copy(copy_sum *s, const assay_gpu_table *g, size_t i)
{
	int64_t dur = g->dur[i] > 0 ? g->dur[i] : 0;
	s->count++;
	s->total += dur;
	if (g->bytes[i] < 0)
		return;
	s->bytes += (uint64_t)g->bytes[i];
	s->sized += dur;
}

/* Most time first. */
static copy_sums sum_copies(const assay_run *run)
{
	const assay_gpu_table *g = &run->part.t.gpu;
	copy_sums out = {0};
	assay_map at = {0};
	for (size_t i = 0; i < g->n; i++) {
		if (g->kind[i] == ASSAY_GPU_KERNEL)
			continue;
		uint32_t *slot = assay_map_at(&at, (uint64_t)g->kind[i] << 32 | g->name[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)out.n;
			*assay_push(&out) = (copy_sum){.name = g->name[i], .kind = g->kind[i]};
		}
		add_copy(&out.p[*slot], g, i);
	}
	if (out.n)
		qsort(out.p, out.n, sizeof *out.p, by_total);
	assay_map_free(&at);
	return out;
}

/* The host side of a copy, as its name says it. */
static const char *host_memory(assay_str name)
{
	return assay_str_find(name, "ageable") >= 0 ? "pageable"
	       : assay_str_find(name, "inned") >= 0 ? "pinned"
						    : NULL;
}

static double per_second(const copy_sum *s)
{
	return s->sized > 0 && s->bytes ? (double)s->bytes / (double)s->sized * 1e9 : 0;
}

static const char *rate_text(assay_printout *p, const copy_sum *s)
{
	double rate = per_second(s);
	char t[ASSAY_FMT];
	return rate > 0 ? assay_printf(&p->scratch, "%s/s", assay_fmt_bytes(t, rate)) : "-";
}

void assay_copies_text(assay_printout *p)
{
	copy_sums s = sum_copies(p->run);
	size_t top = p->top ? p->top : TOP;
	char t[ASSAY_FMT], c[ASSAY_FMT], b[ASSAY_FMT];
	if (!s.n)
		return;
	assay_print_heading(p, p->run->in_full ? "Copies, of the ranks with events" : "Copies");
	fprintf(p->out, "  %9s %8s %9s %11s %-9s %s\n", "total", "count", "bytes", "bandwidth",
		"host side", "name");
	for (size_t i = 0; i < s.n && i < top; i++) {
		const copy_sum *x = &s.p[i];
		const char *host = host_memory(assay_text(p->run, x->name));
		fprintf(p->out, "  %9s %8s %9s %11s %-9s %s\n", assay_fmt_time(t, x->total),
			assay_fmt_count(c, x->count),
			x->sized || x->bytes ? assay_fmt_bytes(b, x->bytes) : "-", rate_text(p, x),
			host ? host : "-",
			assay_cut(&p->scratch,
				  assay_fmt_safe(&p->scratch, assay_text(p->run, x->name)),
				  assay_room(p, 53)));
	}
	if (s.n > top)
		fprintf(p->out, "  ... %zu more (--top N shows them)\n", s.n - top);
	assay_vec_free(&s);
}

const char *assay_copies_line(assay_printout *p, size_t room)
{
	enum { NAMED = 3 };
	copy_sums s = sum_copies(p->run);
	const char *text = NULL;
	char t[ASSAY_FMT], b[ASSAY_FMT];
	size_t named = 0;
	for (size_t i = 0; i < s.n && named < NAMED; i++) {
		const copy_sum *x = &s.p[i];
		if (x->kind != ASSAY_GPU_MEMCPY)
			continue;
		named++;
		const char *name =
			assay_copy_way_short(assay_copy_way_of(assay_text(p->run, x->name)));
		if (!name)
			name = assay_fmt_safe(&p->scratch, assay_text(p->run, x->name));
		name = strncmp(name, "Memcpy ", 7) ? name : name + 7;
		int direction = (int)strcspn(name, " (");
		const char *host = host_memory(assay_text(p->run, x->name));
		const char *more = assay_printf(&p->scratch, "%s%s%.*s%s%s %s", text ? text : "",
						text ? "; " : "", direction, name, host ? " " : "",
						host ? host : "", assay_fmt_time(t, x->total));
		if (per_second(x) > 0)
			more = assay_printf(&p->scratch, "%s, %s at %s", more,
					    assay_fmt_bytes(b, x->bytes), rate_text(p, x));
		if (text && strlen(more) > room)
			break;
		text = more;
	}
	assay_vec_free(&s);
	return text;
}

void assay_copies_json(assay_jsonw *w, const assay_run *run)
{
	copy_sums s = sum_copies(run);
	assay_jsonw_open(w, "copies", '[');
	for (size_t i = 0; i < s.n; i++) {
		const copy_sum *x = &s.p[i];
		double rate = per_second(x);
		bool rated = rate > 0 && rate < 0x1p63; /* no file is believed that it is more */
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, x->name));
		assay_jsonw_z(w, "kind", assay_gpu_kind_name[x->kind]);
		assay_jsonw_z(w, "direction",
			      x->kind == ASSAY_GPU_MEMCPY ? assay_copy_way_short(assay_copy_way_of(
								    assay_text(run, x->name)))
							  : NULL);
		assay_jsonw_z(w, "host_memory", host_memory(assay_text(run, x->name)));
		assay_jsonw_u64(w, "count", x->count);
		assay_jsonw_i64(w, "total_ns", x->total);
		assay_jsonw_i64_if(w, "bytes", x->sized || x->bytes, (int64_t)x->bytes);
		assay_jsonw_i64_if(w, "bytes_per_second", rated, rated ? (int64_t)rate : 0);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_vec_free(&s);
}

TEST(a_rate_beyond_all_numbers_is_not_told)
{
	static const struct {
		int64_t bytes;
		const char *told;
	} cases[] = {{4096, "\"bytes_per_second\": 4096000000000"},
		     {INT64_MAX, "\"bytes_per_second\": null"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		uint32_t g = assay_hand_gpu(run, "Memcpy HtoD", 0, 1, ASSAY_NO_ROW);
		run->part.t.gpu.kind[g] = ASSAY_GPU_MEMCPY;
		run->part.t.gpu.bytes[g] = cases[i].bytes;
		assay_jsonw w = {0};
		assay_jsonw_open(&w, NULL, '{');
		assay_copies_json(&w, run);
		assay_jsonw_close(&w, '}');
		CHECK(strstr(assay_jsonw_text(&w).p, cases[i].told));
		assay_jsonw_free(&w);
		assay_run_free(run);
	}
	return 0;
}

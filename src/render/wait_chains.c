#include "render/wait_chains.h"

#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "base/num.h"
#include "base/sort.h"
#include "render/place.h"

enum { NAME_WIDTH = 60, FEW = 12 };

void assay_chain_index_make(assay_chain_index *x, const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	*x = (assay_chain_index){0};
	for (uint32_t i = (uint32_t)t->chain.n; i-- > 0;)
		*assay_map_at(&x->first, t->chain.wait[i]) = i;
	for (uint32_t i = 0; i < t->call.n; i++)
		if (!t->call.on_host[i] && t->call.row[i] != ASSAY_NO_ROW)
			*assay_map_at(&x->call, t->call.row[i]) = i;
}

void assay_chain_index_free(assay_chain_index *x)
{
	assay_map_free(&x->first);
	assay_map_free(&x->call);
}

/* Rows of chain of a wait: [first, end). */
static uint32_t chain_of(const assay_run *run, const assay_chain_index *x, uint32_t wait,
			 uint32_t *end)
{
	const assay_chain_table *c = &run->part.t.chain;
	uint32_t first = assay_map_get(&x->first, wait);
	if (first == ASSAY_MAP_ABSENT)
		return *end = 0;
	for (*end = first; *end < c->n && c->wait[*end] == wait;)
		++*end;
	return first;
}

static int32_t rank_of(const assay_run *run, uint32_t source)
{
	return source < run->part.t.source.n ? run->part.t.source.rank[source] : -1;
}

uint32_t assay_chain_late_call(const assay_run *run, const assay_chain_index *x, uint32_t gpu)
{
	uint32_t call = gpu == ASSAY_NO_ROW ? ASSAY_NO_ROW : assay_map_get(&x->call, gpu);
	return call < run->part.t.call.n && run->part.t.call.waited[call] > 0 ? call : ASSAY_NO_ROW;
}

static const char *kernel_text(assay_arena *a, const assay_run *run, uint32_t gpu)
{
	assay_str name = assay_text(run, run->part.t.gpu.name[gpu]);
	return run->part.t.gpu.kind[gpu] == ASSAY_GPU_KERNEL ? assay_fmt_kernel(a, name, NAME_WIDTH)
							     : assay_fmt_safe(a, name);
}

static const char *host_text(assay_arena *a, const assay_run *run, uint32_t host)
{
	return assay_fmt_safe(a, assay_text(run, run->part.t.host.name[host]));
}

static uint32_t stack_of(const assay_run *run, uint32_t host)
{
	const assay_tables *t = &run->part.t;
	return assay_is_call(t->host.kind[host]) ? t->api.stack[t->host.detail[host]]
						 : ASSAY_NO_ROW;
}

static const char *thread_text(assay_arena *a, assay_run *run, uint32_t i)
{
	const assay_tables *t = &run->part.t;
	uint32_t launch = t->chain.launch[i], host = t->chain.host[i];
	const char *place = assay_place_text(a, run, stack_of(run, launch));
	return assay_printf(a, "thread %" PRId64 " in %s before it called %s%s%s",
			    t->track.tid[t->host.track[launch]],
			    host == ASSAY_NO_ROW ? "code that was not recorded"
						 : host_text(a, run, host),
			    host_text(a, run, launch), *place ? " at " : "", place);
}

static const char *work_text(assay_arena *a, assay_run *run, const assay_chain_index *x,
			     uint32_t gpu)
{
	const assay_tables *t = &run->part.t;
	uint32_t late = assay_chain_late_call(run, x, gpu);
	char buf[ASSAY_FMT];
	const char *text = assay_printf(a, "%s%s on stream %" PRId64,
					t->gpu.kind[gpu] == ASSAY_GPU_KERNEL ? "kernel " : "",
					kernel_text(a, run, gpu), t->track.tid[t->gpu.track[gpu]]);
	return late == ASSAY_NO_ROW ? text
				    : assay_printf(a, "%s, %s of it for rank %d, which came last",
						   text, assay_fmt_time(buf, t->call.waited[late]),
						   t->call.last[late]);
}

static const char *stretch_text(assay_arena *a, assay_run *run, const assay_chain_index *x,
				uint32_t i)
{
	const assay_chain_table *c = &run->part.t.chain;
	if (c->launch[i] != ASSAY_NO_ROW)
		return thread_text(a, run, i);
	return c->gpu[i] != ASSAY_NO_ROW ? work_text(a, run, x, c->gpu[i])
					 : "nothing that was recorded";
}

static void print_stretch(FILE *out, int64_t time, uint64_t times, const char *text)
{
	char a[ASSAY_FMT], b[ASSAY_FMT];
	fprintf(out, "%12s%10s  ", "", assay_fmt_time(a, time));
	if (times > 1)
		fprintf(out, "%s x ", assay_fmt_count(b, times));
	fprintf(out, "%s\n", text);
}

/* Many stretches: those that read the same are one line, and the longest lines are printed. */
static void print_longest(FILE *out, assay_arena *a, assay_run *run, const assay_chain_index *x,
			  uint32_t first, uint32_t end)
{
	size_t n = 0, all = end - first;
	const char **text = assay_alloc(a, all * sizeof *text);
	int64_t *time = assay_alloc(a, all * sizeof *time), rest = 0;
	uint32_t *times = assay_alloc(a, all * sizeof *times), shown = 0;
	uint32_t *row = assay_alloc(a, all * sizeof *row);
	assay_map seen = {0};
	for (uint32_t i = first; i < end; i++) {
		const char *line = stretch_text(a, run, x, i);
		uint32_t *at = assay_map_at(&seen, assay_hash(line, strlen(line), 0));
		if (*at == ASSAY_MAP_ABSENT) {
			*at = row[n] = (uint32_t)n;
			text[n++] = line;
		}
		time[*at] += run->part.t.chain.dur[i];
		rest += run->part.t.chain.dur[i];
		times[*at]++;
	}
	assay_map_free(&seen);
	assay_sort_rows_falling(row, n, time);
	for (size_t k = 0; k < n && k < FEW; k++) {
		print_stretch(out, time[row[k]], times[row[k]], text[row[k]]);
		rest -= time[row[k]];
		shown += times[row[k]];
	}
	if (n > FEW) {
		char buf[ASSAY_FMT];
		print_stretch(out, rest, 1,
			      assay_printf(a, "%s others", assay_fmt_count(buf, all - shown)));
	}
}

void assay_chain_text(FILE *out, assay_run *run, const assay_chain_index *x, uint32_t wait)
{
	const assay_chain_table *c = &run->part.t.chain;
	assay_arena scratch = {0};
	uint32_t end, first = chain_of(run, x, wait, &end);
	int64_t rest = end > first ? run->part.t.wait.delayed[wait] : 0;
	if (end - first > FEW)
		print_longest(out, &scratch, run, x, first, end);
	for (uint32_t i = first; i < end; i++) {
		if (end - first <= FEW)
			print_stretch(out, c->dur[i], 1, stretch_text(&scratch, run, x, i));
		rest -= c->dur[i];
	}
	if (rest > 0)
		print_stretch(out, rest, 1, "before that, not followed");
	assay_arena_free(&scratch);
}

static void put_name(assay_jsonw *j, const char *key, const assay_run *run, uint32_t host)
{
	if (host == ASSAY_NO_ROW)
		assay_jsonw_null(j, key);
	else
		assay_jsonw_str(j, key, assay_text(run, run->part.t.host.name[host]));
}

void assay_chain_json(assay_jsonw *j, assay_run *run, const assay_chain_index *x, uint32_t wait)
{
	const assay_tables *t = &run->part.t;
	uint32_t end;
	assay_jsonw_open(j, "chain", '[');
	for (uint32_t i = chain_of(run, x, wait, &end); i < end; i++) {
		uint32_t gpu = t->chain.gpu[i], launch = t->chain.launch[i];
		uint32_t late = assay_chain_late_call(run, x, gpu);
		bool thread = launch != ASSAY_NO_ROW, work = gpu != ASSAY_NO_ROW;
		assay_jsonw_open_flat(j, NULL, '{');
		assay_jsonw_z(j, "what", thread ? "thread" : work ? "work" : "unknown");
		assay_jsonw_i64(j, "ts_ns", t->chain.ts[i]);
		assay_jsonw_i64(j, "dur_ns", t->chain.dur[i]);
		if (work)
			assay_jsonw_str(j, "kernel", assay_text(run, t->gpu.name[gpu]));
		if (work)
			assay_jsonw_i64(j, "stream", t->track.tid[t->gpu.track[gpu]]);
		if (thread) {
			assay_jsonw_i64(j, "thread", t->track.tid[t->host.track[launch]]);
			put_name(j, "doing", run, t->chain.host[i]);
			put_name(j, "launch", run, launch);
			assay_place_json(j, "place", run, stack_of(run, launch));
		}
		if (late != ASSAY_NO_ROW) {
			assay_jsonw_i64(j, "last_rank", t->call.last[late]);
			assay_jsonw_i64(j, "waited_ns", t->call.waited[late]);
		}
		assay_jsonw_close(j, '}');
	}
	assay_jsonw_close(j, ']');
}

/* ------------------------------------------------------------------ collectives */

static uint32_t *late_calls(assay_run *run, size_t *n)
{
	const assay_call_table *c = &run->part.t.call;
	uint32_t *rows = assay_alloc(&run->arena, (c->n + 1) * sizeof *rows);
	*n = 0;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->waited[i] > 0)
			rows[(*n)++] = i;
	assay_sort_rows_falling(rows, *n, c->waited);
	return rows;
}

static void sum_ranks(const assay_run *run, int64_t *waited, int64_t *transfer)
{
	const assay_rank_table *r = &run->part.t.rank;
	*waited = *transfer = 0;
	for (size_t i = 0; i < r->n; i++) {
		*waited = assay_wrap_add(*waited, r->waited[i]);
		*transfer = assay_wrap_add(*transfer, r->transfer[i]);
	}
}

void assay_collective_waits_text(FILE *out, assay_run *run, size_t top)
{
	const assay_call_table *c = &run->part.t.call;
	char a[ASSAY_FMT], b[ASSAY_FMT];
	size_t n;
	const uint32_t *rows = late_calls(run, &n);
	int64_t waited, transfer;
	if (!n)
		return;
	sum_ranks(run, &waited, &transfer);
	fprintf(out, "\nIn collectives ranks waited %s for one another, and %s for the transfer:\n",
		assay_fmt_time(a, waited), assay_fmt_time(b, transfer));
	for (size_t k = 0; k < n && k < top; k++) {
		uint32_t i = rows[k];
		fprintf(out, "%10s  rank %d in %s <- rank %d came last",
			assay_fmt_time(a, c->waited[i]), rank_of(run, c->source[i]),
			assay_fmt_safe(&run->arena, assay_text(run, c->name[i])), c->last[i]);
		if (c->step[i] >= 0)
			fprintf(out, " (step %" PRId64 ")", c->step[i]);
		fprintf(out, "\n");
	}
	if (n > top)
		fprintf(out, "%10s  %zu more (--top N shows them)\n", "...", n - top);
}

void assay_collective_waits_json(assay_jsonw *j, assay_run *run, size_t top)
{
	const assay_call_table *c = &run->part.t.call;
	size_t n;
	const uint32_t *rows = late_calls(run, &n);
	int64_t waited, transfer;
	sum_ranks(run, &waited, &transfer);
	assay_jsonw_open(j, "collectives", '{');
	assay_jsonw_i64(j, "waited_ns", waited);
	assay_jsonw_i64(j, "transfer_ns", transfer);
	assay_jsonw_open(j, "waits", '[');
	for (size_t k = 0; k < n && (!top || k < top); k++) {
		uint32_t i = rows[k];
		assay_jsonw_open_flat(j, NULL, '{');
		assay_jsonw_str(j, "name", assay_text(run, c->name[i]));
		assay_jsonw_str(j, "group", assay_text(run, c->group[i]));
		assay_jsonw_i64(j, "rank", rank_of(run, c->source[i]));
		assay_jsonw_i64(j, "last_rank", c->last[i]);
		assay_jsonw_i64(j, "waited_ns", c->waited[i]);
		assay_jsonw_i64(j, "dur_ns", c->dur[i]);
		assay_jsonw_i64_if(j, "step", c->step[i] >= 0, c->step[i]);
		assay_jsonw_i64(j, "ts_ns", c->ts[i]);
		assay_jsonw_close(j, '}');
	}
	assay_jsonw_close(j, ']');
	assay_jsonw_close(j, '}');
}

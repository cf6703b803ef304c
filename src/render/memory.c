/* Memory of devices over time, its peak, and who holds it then. */
#include "base/fmt.h"
#include "base/sort.h"
#include "render/place.h"
#include "render/printout.h"

enum { TOP = 10, TITLE = 12 };

/* Rows of memory_holder of one row of memory, most bytes first. */
static uint32_t *holders_of(const assay_run *run, uint32_t memory, assay_arena *a, size_t *n)
{
	const assay_memory_holder_table *h = &run->part.t.memory_holder;
	uint32_t *row = assay_alloc(a, (h->n + 1) * sizeof *row);
	*n = 0;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->memory[i] == memory)
			row[(*n)++] = i;
	assay_sort_rows_falling(row, *n, h->bytes);
	return row;
}

/* Blocks whose taking was not recorded: of before, or of an allocator that keeps other books. */
static int64_t unknown_holders(const assay_run *run, uint32_t memory)
{
	const assay_tables *t = &run->part.t;
	int64_t left = t->memory_held.peak[memory];
	for (size_t i = 0; i < t->memory_holder.n; i++)
		left -= t->memory_holder.memory[i] == memory ? t->memory_holder.bytes[i] : 0;
	return t->memory_held.account[memory] != ASSAY_MEMORY_TELEMETRY && left > 0 ? left : 0;
}

/* "aten::linear at train.py:12 forward, in range step". */
static const char *holder_words(assay_printout *p, uint32_t row)
{
	const assay_memory_holder_table *h = &p->run->part.t.memory_holder;
	const char *op = assay_fmt_safe(&p->scratch, assay_text(p->run, h->op[row]));
	const char *file =
		assay_fmt_safe(&p->scratch, assay_str_file(assay_text(p->run, h->file[row])));
	const char *words = *op ? op : "not known";
	if (*file)
		words = assay_printf(&p->scratch, "%s%s%s", op, *op ? " at " : "",
				     assay_fmt_place(&p->scratch, assay_str_of(file), h->line[row],
						     assay_text(p->run, h->function[row])));
	if (h->range[row])
		words = assay_printf(
			&p->scratch, "%s, in %s", words,
			assay_fmt_safe(&p->scratch, assay_text(p->run, h->range[row])));
	return words;
}

static void print_holder(assay_printout *p, uint32_t memory, int64_t bytes, uint64_t blocks,
			 const char *words)
{
	char b[ASSAY_FMT], n[ASSAY_FMT];
	fprintf(p->out, "  %9s %5.1f%% %9s  %s\n", assay_fmt_bytes(b, (uint64_t)bytes),
		assay_percent(bytes, p->run->part.t.memory_held.peak[memory]),
		blocks ? assay_fmt_count(n, blocks) : "",
		assay_cut(&p->scratch, words, assay_room(p, 30)));
}

static void print_holders(assay_printout *p, uint32_t memory)
{
	const assay_memory_holder_table *h = &p->run->part.t.memory_holder;
	size_t n, top = p->top ? p->top : TOP;
	const uint32_t *row = holders_of(p->run, memory, &p->scratch, &n);
	int64_t unknown = unknown_holders(p->run, memory);
	if (n || unknown)
		fprintf(p->out, "  %9s %6s %9s  %s\n", "at peak", "", "blocks", "taken by");
	if (unknown)
		print_holder(p, memory, unknown, 0, "(before the recording)");
	for (size_t i = 0; i < n && i < top; i++)
		print_holder(p, memory, h->bytes[row[i]], h->blocks[row[i]],
			     holder_words(p, row[i]));
	if (n > top)
		fprintf(p->out, "  ... %zu more (--top N shows them)\n", n - top);
}

/* One character a stretch of time, darker when more is held, which lasts until the next point. */
static void print_curve(assay_printout *p, uint32_t memory)
{
	static const char shade[] = " .:-=+*#%@";
	const assay_memory_point_table *m = &p->run->part.t.memory_point;
	int64_t peak = p->run->part.t.memory_held.peak[memory], from = 0, to = 0, held = 0;
	size_t columns = p->width - TITLE - 2, first = 0, n = 0;
	for (size_t i = 0; i < m->n; i++)
		if (m->memory[i] == memory) {
			first = n++ ? first : i;
			to = m->ts[i];
		}
	if (n < 2 || peak <= 0)
		return;
	from = m->ts[first];
	fprintf(p->out, "  over time ");
	for (size_t c = 0, i = first; c < columns; c++) {
		double until =
			(double)from + (double)(to - from) * (double)(c + 1) / (double)columns;
		int64_t high = -1;
		for (; i < first + n && (double)m->ts[i] <= until; i++)
			high = m->held[i] > high ? m->held[i] : high, held = m->held[i];
		high = high < 0 ? held : high;
		fputc(shade[(int)((double)high / (double)peak * 9)], p->out);
	}
	fputc('\n', p->out);
}

static void print_one(assay_printout *p, uint32_t r)
{
	const assay_memory_held_table *m = &p->run->part.t.memory_held;
	const assay_source_table *s = &p->run->part.t.source;
	char b[ASSAY_FMT];
	const char *whose = s->rank[m->source[r]] >= 0
				    ? assay_printf(&p->scratch, " (rank %d)", s->rank[m->source[r]])
				    : "";
	char number[16];
	snprintf(number, sizeof number, m->device[r] < 0 ? "?" : "%d", m->device[r]);
	fprintf(p->out, "  device %s%s: peak %s by %s\n", number, whose,
		assay_fmt_bytes(b, (uint64_t)m->peak[r]), assay_memory_account_name[m->account[r]]);
	fprintf(p->out, "  %s at the end", assay_fmt_bytes(b, (uint64_t)m->after[r]));
	if (m->before[r] > 0)
		fprintf(p->out, ", %s before the recording",
			assay_fmt_bytes(b, (uint64_t)m->before[r]));
	if (m->reserved[r] > 0)
		fprintf(p->out, ", up to %s reserved",
			assay_fmt_bytes(b, (uint64_t)m->reserved[r]));
	fputc('\n', p->out);
	print_curve(p, r);
	print_holders(p, r);
}

void assay_memory_text(assay_printout *p)
{
	const assay_memory_held_table *m = &p->run->part.t.memory_held;
	if (m->n)
		assay_print_heading(p, "Memory of devices");
	for (uint32_t i = 0; i < m->n; i++)
		print_one(p, i);
}

static void put_holders(assay_jsonw *w, const assay_run *run, uint32_t memory)
{
	const assay_memory_holder_table *h = &run->part.t.memory_holder;
	assay_arena scratch = {0};
	size_t n;
	const uint32_t *row = holders_of(run, memory, &scratch, &n);
	assay_jsonw_open(w, "holders", '[');
	for (size_t i = 0; i < n && i < run->report_top; i++) {
		uint32_t r = row[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "bytes", h->bytes[r]);
		assay_jsonw_u64(w, "blocks", h->blocks[r]);
		assay_jsonw_z(w, "op", assay_z_if(run, h->op[r]));
		assay_jsonw_z(w, "range", assay_z_if(run, h->range[r]));
		assay_jsonw_z(w, "file", assay_z_if(run, h->file[r]));
		assay_jsonw_i64_if(w, "line", h->file[r], h->line[r]);
		assay_jsonw_z(w, "function", assay_z_if(run, h->function[r]));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

static void put_points(assay_jsonw *w, const assay_run *run, uint32_t memory)
{
	const assay_memory_point_table *m = &run->part.t.memory_point;
	assay_jsonw_open_flat(w, "points", '[');
	for (size_t i = 0; i < m->n; i++) {
		if (m->memory[i] != memory)
			continue;
		assay_jsonw_open_flat(w, NULL, '[');
		assay_jsonw_i64(w, NULL, m->ts[i]);
		assay_jsonw_i64(w, NULL, m->held[i]);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, ']');
}

void assay_memory_json(assay_jsonw *w, const assay_run *run)
{
	const assay_memory_held_table *m = &run->part.t.memory_held;
	const assay_source_table *s = &run->part.t.source;
	assay_jsonw_open(w, "memory", '[');
	for (uint32_t i = 0; i < m->n; i++) {
		bool telemetry = m->account[i] == ASSAY_MEMORY_TELEMETRY;
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_i64(w, "device", m->device[i]);
		assay_jsonw_i64_if(w, "rank", s->rank[m->source[i]] >= 0, s->rank[m->source[i]]);
		assay_jsonw_z(w, "from", assay_memory_account_name[m->account[i]]);
		assay_jsonw_i64(w, "peak_bytes", m->peak[i]);
		assay_jsonw_i64(w, "peak_ts_ns", m->peak_ts[i]);
		assay_jsonw_i64_if(w, "reserved_bytes", m->reserved[i] >= 0, m->reserved[i]);
		assay_jsonw_i64_if(w, "before_bytes", m->before[i] >= 0, m->before[i]);
		assay_jsonw_i64(w, "after_bytes", m->after[i]);
		assay_jsonw_i64_if(w, "takes", !telemetry, (int64_t)m->takes[i]);
		assay_jsonw_i64_if(w, "gives", !telemetry, (int64_t)m->gives[i]);
		assay_jsonw_i64_if(w, "unknown_holders_bytes", !telemetry, unknown_holders(run, i));
		put_holders(w, run, i);
		put_points(w, run, i);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

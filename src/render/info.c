/* What is in an input: files, time, devices and streams, rows, and what was lost. */
#include "render/info.h"

#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "base/map.h"
#include "base/test.h"
#include "render/printout.h"
#include "render/report.h"

static const assay_time_range *time_range(const assay_contents *y)
{
	const assay_time_range *r = y->work.first <= y->work.last ? &y->work : &y->counters;
	return r->first <= r->last ? r : NULL;
}

/* Rows of meta by source, as lists: first[source], then next[row]. */
struct facts {
	uint32_t *first, *next;
};

static struct facts list_facts(const assay_run *run, assay_arena *a)
{
	const assay_meta_table *m = &run->part.t.meta;
	size_t sources = run->part.t.source.n;
	struct facts f = {.first = assay_alloc(a, (sources + 1) * sizeof *f.first),
			  .next = assay_alloc(a, (m->n + 1) * sizeof *f.next)};
	memset(f.first, 0xff, (sources + 1) * sizeof *f.first);
	for (size_t i = m->n; i-- > 0;) {
		uint32_t *head = &f.first[m->source[i] < sources ? m->source[i] : sources];
		f.next[i] = *head;
		*head = (uint32_t)i;
	}
	return f;
}

static assay_str fact_of(const assay_run *run, struct facts f, size_t source, const char *key)
{
	const assay_meta_table *m = &run->part.t.meta;
	for (uint32_t i = f.first[source]; i != ASSAY_NO_ROW; i = f.next[i])
		if (assay_str_is(assay_text(run, m->key[i]), key))
			return assay_text(run, m->value[i]);
	return (assay_str){0};
}

static void print_source(FILE *out, const assay_run *run, size_t i, struct facts facts,
			 assay_arena *a)
{
	const assay_source_table *s = &run->part.t.source;
	char x[ASSAY_FMT], y[ASSAY_FMT], z[ASSAY_FMT];
	fprintf(out, "%s\n", assay_fmt_safe(a, assay_text(run, s->path[i])));
	bool pipe = !s->file_bytes[i];
	fprintf(out, "  format %s, %s, %s%s, %s of text, %s records\n", assay_z(run, s->format[i]),
		assay_z(run, s->packing[i]),
		pipe ? "from a pipe" : assay_fmt_bytes(x, s->file_bytes[i]), pipe ? "" : " on disk",
		assay_fmt_bytes(y, s->text_bytes[i]), assay_fmt_count(z, s->records[i]));
	if (s->rank[i] >= 0)
		fprintf(out, "  rank %d%s\n", s->rank[i],
			s->world[i] > 0 ? assay_printf(a, " of %d", s->world[i]) : "");
	assay_str unread = fact_of(run, facts, i, "unread");
	if (unread.n)
		fprintf(out, "  tables that are not read: %s\n", assay_fmt_safe(a, unread));
}

static void print_sources(FILE *out, const assay_contents *t, assay_arena *a)
{
	enum { LISTED = 3 };
	const assay_source_table *s = &t->run->part.t.source;
	char w[ASSAY_FMT], x[ASSAY_FMT], y[ASSAY_FMT], z[ASSAY_FMT];
	uint64_t bytes = 0, text = 0, records = 0;
	struct facts facts = list_facts(t->run, a);
	for (size_t i = 0; i < s->n && (!t->many || i < LISTED); i++)
		print_source(out, t->run, i, facts, a);
	if (!t->many || s->n <= LISTED)
		return;
	for (size_t i = 0; i < s->n; i++) {
		bytes += s->file_bytes[i];
		text += s->text_bytes[i];
		records += s->records[i];
	}
	fprintf(out, "... %s files in all (--json has them): %s on disk, %s of text, %s records\n",
		assay_fmt_count(w, s->n), assay_fmt_bytes(x, bytes), assay_fmt_bytes(y, text),
		assay_fmt_count(z, records));
}

/* A line and how often it would be said: ranks of a job have the same devices and streams. */
struct line {
	const char *text;
	uint64_t times;
	assay_stream_use use;
};
typedef assay_vec(struct line) lines;

static struct line *line_of(lines *all, assay_map *seen, bool fold, const char *text)
{
	uint32_t *slot = assay_map_at(seen, fold ? assay_hash(text, strlen(text), 1) : all->n);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)all->n;
		*assay_push(all) = (struct line){.text = text};
	}
	struct line *l = &all->p[*slot];
	l->times++;
	return l;
}

static const char *times_text(char buf[ASSAY_FMT + 16], uint64_t times)
{
	char n[ASSAY_FMT];
	buf[0] = 0;
	if (times > 1)
		snprintf(buf, ASSAY_FMT + 16, ", in %s files", assay_fmt_count(n, times));
	return buf;
}

/* Whose it is; ranks of a job of many are said together. */
static const char *rank_text(const assay_contents *t, uint32_t source, assay_arena *a)
{
	const assay_source_table *s = &t->run->part.t.source;
	int32_t rank = !t->many && source < s->n ? s->rank[source] : -1;
	return rank < 0 ? "" : assay_printf(a, " of rank %d", rank);
}

static const char *device_text(const assay_contents *t, size_t i, assay_arena *a)
{
	const assay_device_table *d = &t->run->part.t.device;
	char x[ASSAY_FMT];
	bool arch = d->arch[i] != 0, memory = d->memory[i] >= 0;
	assay_str name = d->name[i] ? assay_text(t->run, d->name[i]) : ASSAY_S("unnamed");
	return assay_printf(a, "device %d%s: %s%s%s%s%s", d->id[i], rank_text(t, d->source[i], a),
			    assay_fmt_safe(a, name), arch ? ", " : "",
			    arch ? assay_z(t->run, d->arch[i]) : "", memory ? ", " : "",
			    memory ? assay_fmt_bytes(x, (uint64_t)d->memory[i]) : "");
}

static void print_devices(FILE *out, const assay_contents *t, assay_arena *a)
{
	lines devices = {0}, streams = {0};
	assay_map seen_devices = {0}, seen_streams = {0};
	char x[ASSAY_FMT], y[ASSAY_FMT], times[ASSAY_FMT + 16];
	for (size_t i = 0; i < t->run->part.t.device.n; i++)
		line_of(&devices, &seen_devices, t->many, device_text(t, i, a));
	for (size_t i = 0; i < t->stream.n; i++) {
		const assay_stream_use *u = &t->stream.p[i];
		struct line *l = line_of(
			&streams, &seen_streams, t->many,
			assay_printf(a, "stream %" PRId64 " of %s%s", u->stream,
				     u->device < 0 ? "an unnamed device"
						   : assay_printf(a, "device %" PRId64, u->device),
				     rank_text(t, u->source, a)));
		l->use.events += u->events;
		l->use.busy += u->busy;
	}
	for (size_t i = 0; i < devices.n; i++)
		fprintf(out, "  %s%s\n", devices.p[i].text, times_text(times, devices.p[i].times));
	for (size_t i = 0; i < streams.n; i++)
		fprintf(out, "  %s: %s events, %s%s\n", streams.p[i].text,
			assay_fmt_count(x, streams.p[i].use.events),
			assay_fmt_time(y, streams.p[i].use.busy),
			times_text(times, streams.p[i].times));
	assay_vec_free(&devices);
	assay_vec_free(&streams);
	assay_map_free(&seen_devices);
	assay_map_free(&seen_streams);
}

static void print_problems(FILE *out, const assay_run *run)
{
	char x[ASSAY_FMT];
	bool any = run->part.t.warning.n > 0;
	fprintf(out, "\nlosses and oddities\n");
	any |= assay_ledger_text(out, "  ", run);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++) {
		if (!run->part.issues[i])
			continue;
		any = true;
		fprintf(out, "  %-18s %-5s %9s  %s\n", assay_issue_infos[i].id,
			assay_issue_infos[i].severity, assay_fmt_count(x, run->part.issues[i]),
			assay_issue_infos[i].text);
	}
	assay_printout p = {.out = out, .run = run, .width = UINT16_MAX};
	assay_warnings_text(&p, "  ");
	assay_arena_free(&p.scratch);
	if (!any)
		fprintf(out, "  none\n");
}

/* Times of a damaged input lie as far apart as numbers do. */
static int64_t length_of(const assay_time_range *time)
{
	int64_t n;
	return __builtin_sub_overflow(time->last, time->first, &n) ? INT64_MAX : n;
}

void assay_contents_text(FILE *out, const assay_contents *t)
{
	assay_arena a = {0};
	char x[ASSAY_FMT];
	const assay_time_range *time = time_range(t);
	print_sources(out, t, &a);
	if (time)
		fprintf(out, "\ntime: %" PRId64 " to %" PRId64 " ns (%s)\n", time->first,
			time->last, assay_fmt_time(x, length_of(time)));
	fprintf(out, "\ndevices and streams\n");
	print_devices(out, t, &a);
	assay_cost_text(out, "  ", t->run);
	fprintf(out, "\ntables\n");
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		if (t->rows[i])
			fprintf(out, "  %-12s %12s rows  %s\n", assay_table_infos[i].name,
				assay_fmt_count(x, t->rows[i]), assay_table_infos[i].doc);
	print_problems(out, t->run);
	assay_arena_free(&a);
}

static void put_fact(assay_jsonw *w, const assay_run *run, size_t row)
{
	assay_jsonw_key(w, assay_text(run, run->part.t.meta.key[row]));
	assay_jsonw_str(w, NULL, assay_text(run, run->part.t.meta.value[row]));
}

/* Each key once: the value of the first input that has it. Inputs have their own. */
static void put_all_facts(assay_jsonw *w, const assay_run *run)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_map seen = {0};
	assay_jsonw_open(w, "meta", '{');
	for (size_t i = 0; i < m->n; i++) {
		uint32_t *slot = assay_map_at(&seen, m->key[i]);
		if (*slot == ASSAY_MAP_ABSENT)
			put_fact(w, run, i);
		*slot = 1;
	}
	assay_jsonw_close(w, '}');
	assay_map_free(&seen);
}

static void put_sources(assay_jsonw *w, const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	assay_arena scratch = {0};
	struct facts facts = list_facts(run, &scratch);
	assay_jsonw_open(w, "inputs", '[');
	for (size_t i = 0; i < s->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "path", assay_text(run, s->path[i]));
		assay_jsonw_str(w, "format", assay_text(run, s->format[i]));
		assay_jsonw_str(w, "packing", assay_text(run, s->packing[i]));
		assay_jsonw_u64(w, "file_bytes", s->file_bytes[i]);
		assay_jsonw_u64(w, "text_bytes", s->text_bytes[i]);
		assay_jsonw_u64(w, "records", s->records[i]);
		if (s->rank[i] >= 0) {
			assay_jsonw_i64(w, "rank", s->rank[i]);
			assay_jsonw_i64_if(w, "world", s->world[i] > 0, s->world[i]);
		}
		assay_jsonw_open_flat(w, "meta", '{');
		for (uint32_t k = facts.first[i]; k != ASSAY_NO_ROW; k = facts.next[k])
			put_fact(w, run, k);
		assay_jsonw_close(w, '}');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&scratch);
}

/* Numbers of devices and streams mean something within a file only. */
static void put_owner(assay_jsonw *w, const assay_run *run, uint32_t source)
{
	const assay_source_table *s = &run->part.t.source;
	if (source >= s->n)
		return;
	assay_jsonw_u64(w, "source", source);
	if (s->rank[source] >= 0)
		assay_jsonw_i64(w, "rank", s->rank[source]);
}

static void put_devices(assay_jsonw *w, const assay_run *run)
{
	const assay_device_table *d = &run->part.t.device;
	assay_jsonw_open(w, "devices", '[');
	for (size_t i = 0; i < d->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		put_owner(w, run, d->source[i]);
		assay_jsonw_i64(w, "device", d->id[i]);
		assay_jsonw_str(w, "name", assay_text(run, d->name[i]));
		assay_jsonw_z(w, "arch", assay_z_if(run, d->arch[i]));
		assay_jsonw_i64_if(w, "memory_bytes", d->memory[i] >= 0, d->memory[i]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_streams(assay_jsonw *w, const assay_contents *t)
{
	assay_jsonw_open(w, "streams", '[');
	for (size_t i = 0; i < t->stream.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		put_owner(w, t->run, t->stream.p[i].source);
		assay_jsonw_i64(w, "device", t->stream.p[i].device);
		assay_jsonw_i64(w, "stream", t->stream.p[i].stream);
		assay_jsonw_u64(w, "events", t->stream.p[i].events);
		assay_jsonw_i64(w, "busy_ns", t->stream.p[i].busy);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_contents_json(assay_jsonw *w, const assay_contents *t)
{
	const assay_run *run = t->run;
	const assay_time_range *time = time_range(t);
	assay_jsonw_open(w, NULL, '{');
	put_sources(w, run);
	if (time) {
		assay_jsonw_i64(w, "first_ns", time->first);
		assay_jsonw_i64(w, "last_ns", time->last);
	}
	put_devices(w, run);
	put_streams(w, t);
	assay_jsonw_open(w, "tables", '{');
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		assay_jsonw_u64(w, assay_table_infos[i].name, t->rows[i]);
	assay_jsonw_close(w, '}');
	put_all_facts(w, run);
	assay_issues_json(w, "issues", run);
	if (run->part.t.ledger.n)
		assay_ledger_json(w, "ledger", run);
	assay_jsonw_open(w, "warnings", '[');
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		assay_jsonw_str(w, NULL, assay_text(run, run->part.t.warning.text[i]));
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

TEST(a_device_without_a_name_is_said_to_have_none)
{
	assay_run *run = assay_run_new();
	assay_contents t = {.run = run};
	uint32_t d = assay_add(&run->part.t, ASSAY_T_device);
	run->part.t.device.id[d] = 3;
	CHECK(!strcmp(device_text(&t, d, &run->arena), "device 3: unnamed"));
	run->part.t.device.memory[d] = 206000000000;
	CHECK(!strcmp(device_text(&t, d, &run->arena), "device 3: unnamed, 206 GB"));
	assay_run_free(run);
	return 0;
}

TEST(times_as_far_apart_as_numbers_have_a_length)
{
	CHECK_EQ(length_of(&(assay_time_range){.first = -1, .last = INT64_MAX}), INT64_MAX);
	CHECK_EQ(length_of(&(assay_time_range){.first = INT64_MIN, .last = 0}), INT64_MAX);
	CHECK_EQ(length_of(&(assay_time_range){.first = -3, .last = 4}), 7);
	return 0;
}

/* assay info: what is in an input, what was lost, and the schema of our tables. */
#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "model/findings.h"
#include "read/reader.h"
#include "render/printout.h"
#include "render/report.h"

struct info_args {
	bool json, schema;
};

static const char *table_name(assay_table_id id)
{
	return id < ASSAY_T_COUNT ? assay_table_infos[id].name : NULL;
}

static void print_column(const assay_col_info *col)
{
	const char *refers = table_name(col->kind->refers);
	char type[32];
	snprintf(type, sizeof type, "%s%s%s", assay_col_type_name[col->kind->type],
		 refers ? " of " : "", refers ? refers : "");
	printf("  %-15s %-18s %-5s %s", col->name, type, col->unit, col->doc);
	for (size_t i = 0; i < col->kind->words; i++)
		printf("%s%zu %s", i ? ", " : " (", i, col->kind->word[i]);
	printf("%s\n", col->kind->words ? ")" : "");
}

static void print_schema(void)
{
	for (size_t t = 0; t < ASSAY_T_COUNT; t++) {
		const assay_table_info *info = &assay_table_infos[t];
		printf("%s%s: %s\n", t ? "\n" : "", info->name, info->doc);
		for (size_t c = 0; c < info->cols; c++)
			print_column(&info->col[c]);
	}
}

static void put_column(assay_jsonw *w, const assay_col_info *col)
{
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_z(w, "name", col->name);
	assay_jsonw_z(w, "type", assay_col_type_name[col->kind->type]);
	if (col->kind->refers != ASSAY_T_NONE)
		assay_jsonw_z(w, "refers", table_name(col->kind->refers));
	assay_jsonw_z(w, "unit", *col->unit ? col->unit : NULL);
	assay_jsonw_z(w, "doc", col->doc);
	if (col->kind->words) {
		assay_jsonw_open(w, "words", '[');
		for (size_t i = 0; i < col->kind->words; i++)
			assay_jsonw_z(w, NULL, col->kind->word[i]);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, '}');
}

static void put_table(assay_jsonw *w, const assay_table_info *info)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "name", info->name);
	assay_jsonw_z(w, "doc", info->doc);
	if (info->each != ASSAY_T_NONE)
		assay_jsonw_z(w, "each", table_name(info->each));
	assay_jsonw_open(w, "columns", '[');
	for (size_t c = 0; c < info->cols; c++)
		put_column(w, &info->col[c]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void print_schema_json(void)
{
	assay_jsonw w = {0};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_open(&w, "tables", '[');
	for (size_t t = 0; t < ASSAY_T_COUNT; t++)
		put_table(&w, &assay_table_infos[t]);
	assay_jsonw_close(&w, ']');
	assay_jsonw_close(&w, '}');
	assay_cmd_put_json(&w);
}

struct range {
	int64_t first, last;
};

struct stream_use {
	uint32_t source;
	int64_t device, stream;
	uint64_t events;
	int64_t busy;
};

/* What is said about an input, so that of many files one at a time need be held. */
struct tally {
	assay_run *run; /* sources, headers, devices and problems; of few files all rows */
	uint64_t rows[ASSAY_T_COUNT];
	struct range work, counters; /* of telemetry, which may run on another clock, apart */
	assay_vec(struct stream_use) stream;
	assay_vec(char *) left; /* files that are read together */
	assay_arena arena;
	bool many;
};

static void extend(struct range *r, int64_t from, int64_t dur)
{
	int64_t to = from + (dur > 0 ? dur : 0);
	r->first = from < r->first ? from : r->first;
	r->last = to > r->last ? to : r->last;
}

/* Events and summed time of each track that GPU rows use. */
static void tally_streams(struct tally *y, const assay_tables *t)
{
	assay_arena scratch = {0};
	struct stream_use *use = assay_alloc(&scratch, (t->track.n + 1) * sizeof *use);
	for (size_t i = 0; i < t->gpu.n; i++) {
		use[t->gpu.track[i]].events++;
		use[t->gpu.track[i]].busy += t->gpu.dur[i] > 0 ? t->gpu.dur[i] : 0;
	}
	for (size_t i = 0; i < t->track.n; i++) {
		use[i].source = (y->many ? (uint32_t)y->run->part.t.source.n : 0) +
				assay_track_group(t, (uint32_t)i);
		use[i].device = t->track.pid[i];
		use[i].stream = t->track.tid[i];
		if (use[i].events)
			*assay_push(&y->stream) = use[i];
	}
	assay_arena_free(&scratch);
}

static void tally_rows(struct tally *y, const assay_tables *t)
{
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		y->rows[i] += assay_rows(t, &assay_table_infos[i]);
	for (size_t i = 0; i < t->host.n; i++)
		extend(&y->work, t->host.ts[i], t->host.dur[i]);
	for (size_t i = 0; i < t->gpu.n; i++)
		extend(&y->work, t->gpu.ts[i], t->gpu.dur[i]);
	for (size_t i = 0; i < t->counter.n; i++)
		extend(&y->counters, t->counter.ts[i], 0);
	tally_streams(y, t);
}

static void take_file(void *ctx, const assay_run *file)
{
	struct tally *y = ctx;
	y->many = true;
	tally_rows(y, &file->part.t);
	assay_findings_append(&y->run->part, &file->part, NULL);
}

static void leave_file(void *ctx, const char *path)
{
	struct tally *y = ctx;
	y->many = true;
	*assay_push(&y->left) = assay_dup(&y->arena, assay_str_of(path));
}

static bool read_left(struct tally *y)
{
	assay_run *rest = y->left.n ? assay_cmd_read(y->left.p, (int)y->left.n) : NULL;
	if (!rest)
		return !y->left.n;
	take_file(y, rest);
	assay_run_free(rest);
	return true;
}

static bool tally_inputs(struct tally *y, char **operands, int n)
{
	enum { FEW = 16 };
	const assay_each each = {
		.ctx = y, .more_than = FEW, .take = take_file, .leave = leave_file};
	y->work = y->counters = (struct range){INT64_MAX, INT64_MIN};
	y->run = assay_run_new();
	assay_run *read = assay_cmd_read_each(operands, n, &each);
	if (!read)
		return false;
	if (y->many) { /* all it has are files that cannot be read */
		assay_findings_append(&y->run->part, &read->part, NULL);
		assay_run_free(read);
		return read_left(y);
	}
	assay_run_free(y->run);
	y->run = read;
	tally_rows(y, &read->part.t);
	return true;
}

static const struct range *time_range(const struct tally *y)
{
	const struct range *r = y->work.first <= y->work.last ? &y->work : &y->counters;
	return r->first <= r->last ? r : NULL;
}

static assay_str fact_of(const assay_run *run, size_t source, const char *key)
{
	const assay_meta_table *m = &run->part.t.meta;
	for (size_t i = 0; i < m->n; i++)
		if (m->source[i] == source && assay_str_is(assay_text(run, m->key[i]), key))
			return assay_text(run, m->value[i]);
	return (assay_str){0};
}

static void print_source(const assay_run *run, size_t i, assay_arena *a)
{
	const assay_source_table *s = &run->part.t.source;
	char x[ASSAY_FMT], y[ASSAY_FMT], z[ASSAY_FMT];
	printf("%s\n", assay_fmt_safe(a, assay_text(run, s->path[i])));
	bool pipe = !s->file_bytes[i];
	printf("  format %s, %s, %s%s, %s of text, %s records\n", assay_z(run, s->format[i]),
	       assay_z(run, s->packing[i]),
	       pipe ? "from a pipe" : assay_fmt_bytes(x, s->file_bytes[i]), pipe ? "" : " on disk",
	       assay_fmt_bytes(y, s->text_bytes[i]), assay_fmt_count(z, s->records[i]));
	if (s->rank[i] >= 0)
		printf("  rank %d%s\n", s->rank[i],
		       s->world[i] > 0 ? assay_printf(a, " of %d", s->world[i]) : "");
	assay_str unread = fact_of(run, i, "unread");
	if (unread.n)
		printf("  tables that are not read: %s\n", assay_fmt_safe(a, unread));
}

static void print_sources(const struct tally *t, assay_arena *a)
{
	enum { LISTED = 3 };
	const assay_source_table *s = &t->run->part.t.source;
	char w[ASSAY_FMT], x[ASSAY_FMT], y[ASSAY_FMT], z[ASSAY_FMT];
	uint64_t bytes = 0, text = 0, records = 0;
	for (size_t i = 0; i < s->n && (!t->many || i < LISTED); i++)
		print_source(t->run, i, a);
	if (!t->many || s->n <= LISTED)
		return;
	for (size_t i = 0; i < s->n; i++) {
		bytes += s->file_bytes[i];
		text += s->text_bytes[i];
		records += s->records[i];
	}
	printf("... %s files in all (--json has them): %s on disk, %s of text, %s records\n",
	       assay_fmt_count(w, s->n), assay_fmt_bytes(x, bytes), assay_fmt_bytes(y, text),
	       assay_fmt_count(z, records));
}

/* A line and how often it would be said: ranks of a job have the same devices and streams. */
struct line {
	const char *text;
	uint64_t times;
	struct stream_use use;
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
static const char *rank_text(const struct tally *t, uint32_t source, assay_arena *a)
{
	const assay_source_table *s = &t->run->part.t.source;
	int32_t rank = !t->many && source < s->n ? s->rank[source] : -1;
	return rank < 0 ? "" : assay_printf(a, " of rank %d", rank);
}

static const char *device_text(const struct tally *t, size_t i, assay_arena *a)
{
	const assay_device_table *d = &t->run->part.t.device;
	char x[ASSAY_FMT];
	bool arch = d->arch[i] != 0, memory = d->memory[i] >= 0;
	return assay_printf(a, "device %d%s: %s%s%s%s%s", d->id[i], rank_text(t, d->source[i], a),
			    assay_fmt_safe(a, assay_text(t->run, d->name[i])), arch ? ", " : "",
			    arch ? assay_z(t->run, d->arch[i]) : "", memory ? ", " : "",
			    memory ? assay_fmt_bytes(x, (uint64_t)d->memory[i]) : "");
}

static void print_devices(const struct tally *t, assay_arena *a)
{
	lines devices = {0}, streams = {0};
	assay_map seen_devices = {0}, seen_streams = {0};
	char x[ASSAY_FMT], y[ASSAY_FMT], times[ASSAY_FMT + 16];
	for (size_t i = 0; i < t->run->part.t.device.n; i++)
		line_of(&devices, &seen_devices, t->many, device_text(t, i, a));
	for (size_t i = 0; i < t->stream.n; i++) {
		const struct stream_use *u = &t->stream.p[i];
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
		printf("  %s%s\n", devices.p[i].text, times_text(times, devices.p[i].times));
	for (size_t i = 0; i < streams.n; i++)
		printf("  %s: %s events, %s%s\n", streams.p[i].text,
		       assay_fmt_count(x, streams.p[i].use.events),
		       assay_fmt_time(y, streams.p[i].use.busy),
		       times_text(times, streams.p[i].times));
	assay_vec_free(&devices);
	assay_vec_free(&streams);
	assay_map_free(&seen_devices);
	assay_map_free(&seen_streams);
}

static void print_problems(const assay_run *run)
{
	char x[ASSAY_FMT];
	bool any = run->part.t.warning.n > 0;
	printf("\nlosses and oddities\n");
	any |= assay_ledger_text(stdout, "  ", run);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++) {
		if (!run->part.issues[i])
			continue;
		any = true;
		printf("  %-18s %-5s %9s  %s\n", assay_issue_infos[i].id,
		       assay_issue_infos[i].severity, assay_fmt_count(x, run->part.issues[i]),
		       assay_issue_infos[i].text);
	}
	assay_printout p = {.out = stdout, .run = run, .width = UINT16_MAX};
	assay_warnings_text(&p, "  ");
	assay_arena_free(&p.scratch);
	if (!any)
		printf("  none\n");
}

static void print_text(const struct tally *t)
{
	assay_arena a = {0};
	char x[ASSAY_FMT];
	const struct range *time = time_range(t);
	print_sources(t, &a);
	if (time)
		printf("\ntime: %" PRId64 " to %" PRId64 " ns (%s)\n", time->first, time->last,
		       assay_fmt_time(x, time->last - time->first));
	printf("\ndevices and streams\n");
	print_devices(t, &a);
	assay_cost_text(stdout, "  ", t->run);
	printf("\ntables\n");
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		if (t->rows[i])
			printf("  %-12s %12s rows  %s\n", assay_table_infos[i].name,
			       assay_fmt_count(x, t->rows[i]), assay_table_infos[i].doc);
	print_problems(t->run);
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

/* Rows of meta by source, as lists: first[source], then next[row]. */
static void list_facts(const assay_run *run, assay_arena *a, uint32_t **first, uint32_t **next)
{
	const assay_meta_table *m = &run->part.t.meta;
	size_t sources = run->part.t.source.n;
	*first = assay_alloc(a, (sources + 1) * sizeof **first);
	*next = assay_alloc(a, (m->n + 1) * sizeof **next);
	memset(*first, 0xff, (sources + 1) * sizeof **first);
	for (size_t i = m->n; i-- > 0;) {
		uint32_t *head = *first + (m->source[i] < sources ? m->source[i] : sources);
		(*next)[i] = *head;
		*head = (uint32_t)i;
	}
}

static void put_sources(assay_jsonw *w, const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	assay_arena scratch = {0};
	uint32_t *first, *next;
	list_facts(run, &scratch, &first, &next);
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
		for (uint32_t k = first[i]; k != ASSAY_NO_ROW; k = next[k])
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
		assay_jsonw_z(w, "arch", d->arch[i] ? assay_z(run, d->arch[i]) : NULL);
		if (d->memory[i] >= 0)
			assay_jsonw_i64(w, "memory_bytes", d->memory[i]);
		else
			assay_jsonw_null(w, "memory_bytes");
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_streams(assay_jsonw *w, const struct tally *t)
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

static void print_json(const struct tally *t)
{
	assay_jsonw w = {0};
	const assay_run *run = t->run;
	const struct range *time = time_range(t);
	assay_jsonw_open(&w, NULL, '{');
	put_sources(&w, run);
	if (time) {
		assay_jsonw_i64(&w, "first_ns", time->first);
		assay_jsonw_i64(&w, "last_ns", time->last);
	}
	put_devices(&w, run);
	put_streams(&w, t);
	assay_jsonw_open(&w, "tables", '{');
	for (size_t i = 0; i < ASSAY_T_COUNT; i++)
		assay_jsonw_u64(&w, assay_table_infos[i].name, t->rows[i]);
	assay_jsonw_close(&w, '}');
	put_all_facts(&w, run);
	assay_issues_json(&w, "issues", run);
	if (run->part.t.ledger.n)
		assay_ledger_json(&w, "ledger", run);
	assay_jsonw_open(&w, "warnings", '[');
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		assay_jsonw_str(&w, NULL, assay_text(run, run->part.t.warning.text[i]));
	assay_jsonw_close(&w, ']');
	assay_jsonw_close(&w, '}');
	assay_cmd_put_json(&w);
}

static int info_run(const void *args, char **operands, int n)
{
	const struct info_args *a = args;
	if (a->schema && n) {
		fprintf(stderr,
			"assay info: --schema is of no input; what is in one comes without\n");
		return ASSAY_EXIT_USAGE;
	}
	if (a->schema) {
		(a->json ? print_schema_json : print_schema)();
		return ASSAY_EXIT_OK;
	}
	if (!n) {
		fprintf(stderr, "assay info: expected INPUT... or --schema\n");
		return ASSAY_EXIT_USAGE;
	}
	struct tally t = {0};
	bool ok = tally_inputs(&t, operands, n);
	if (ok)
		(a->json ? print_json : print_text)(&t);
	assay_run_free(t.run);
	assay_vec_free(&t.stream);
	assay_vec_free(&t.left);
	assay_arena_free(&t.arena);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt info_opts[] = {
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct info_args, json)},
	{"schema", 0, ASSAY_OPT_FLAG, NULL, "Print every table and column of the model.",
	 offsetof(struct info_args, schema)},
};

static const assay_example info_examples[] = {
	{"assay info demo/train.json.gz", "formats, counts, time range, devices, streams, losses"},
	{"assay info --schema", "the tables that every input is read into"},
};

const assay_cmd assay_cmd_info = {
	.name = "info",
	.args = "[INPUT...]",
	.about = "Show what is in an input and what was lost",
	.details =
		"Says which reader took each file, how many records it has, the time range, devices, streams, the\n"
		"rows of every table, and every data problem met while reading.",
	ASSAY_OPTS(info_opts),
	ASSAY_EXAMPLES(info_examples),
	.args_size = sizeof(struct info_args),
	.max_operands = -1,
	.run = info_run,
};

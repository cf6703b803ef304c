/* assay info: what is in an input, what was lost, and the schema of our tables. */
#include <inttypes.h>

#include "base/fmt.h"
#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "render/report.h"

struct info_args {
	bool json, schema;
};

static const char *const type_name[] = {"u8",  "u16",    "u32",   "i32",    "u64",   "i64",
					"f64", "string", "track", "source", "detail"};

static void print_schema(void)
{
	for (size_t t = 0; t < ASSAY_T_COUNT; t++) {
		const assay_table_info *info = &assay_table_infos[t];
		printf("%s%s: %s\n", t ? "\n" : "", info->name, info->doc);
		for (size_t c = 0; c < info->cols; c++)
			printf("  %-14s %-7s %-3s %s\n", info->col[c].name,
			       type_name[info->col[c].type], info->col[c].unit, info->col[c].doc);
	}
}

static void put_table(assay_jsonw *w, const assay_table_info *info)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "name", info->name);
	assay_jsonw_z(w, "doc", info->doc);
	assay_jsonw_open(w, "columns", '[');
	for (size_t c = 0; c < info->cols; c++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "name", info->col[c].name);
		assay_jsonw_z(w, "type", type_name[info->col[c].type]);
		assay_jsonw_z(w, "unit", *info->col[c].unit ? info->col[c].unit : NULL);
		assay_jsonw_z(w, "doc", info->col[c].doc);
		assay_jsonw_close(w, '}');
	}
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
	puts(assay_jsonw_text(&w).p);
	assay_jsonw_free(&w);
}

/* First start and last end; of telemetry, which may run on another clock, only when there is
 * nothing else. */
static bool time_range(const assay_run *run, int64_t *first, int64_t *last)
{
	const assay_tables *t = &run->part.t;
	*first = INT64_MAX;
	*last = INT64_MIN;
#define RANGE(table, length)                                                                       \
	for (size_t i = 0; i < t->table.n; i++) {                                                  \
		int64_t from = t->table.ts[i], to = from + (length);                               \
		*first = from < *first ? from : *first;                                            \
		*last = to > *last ? to : *last;                                                   \
	}
	RANGE(host, t->host.dur[i] > 0 ? t->host.dur[i] : 0)
	RANGE(gpu, t->gpu.dur[i] > 0 ? t->gpu.dur[i] : 0)
	if (*first <= *last)
		return true;
	RANGE(counter, 0)
#undef RANGE
	return *first <= *last;
}

struct stream_use {
	uint64_t events;
	int64_t busy;
};

/* Events and summed time of each track that GPU rows use. */
static struct stream_use *stream_uses(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	struct stream_use *use = assay_alloc(a, (t->track.n + 1) * sizeof *use);
	for (size_t i = 0; i < t->gpu.n; i++) {
		use[t->gpu.track[i]].events++;
		use[t->gpu.track[i]].busy += t->gpu.dur[i] > 0 ? t->gpu.dur[i] : 0;
	}
	return use;
}

static void print_sources(const assay_run *run, assay_arena *a)
{
	const assay_source_table *s = &run->part.t.source;
	char x[ASSAY_FMT], y[ASSAY_FMT], z[ASSAY_FMT];
	for (size_t i = 0; i < s->n; i++) {
		printf("%s\n", assay_fmt_safe(a, assay_text(run, s->path[i])));
		bool pipe = !s->file_bytes[i];
		printf("  format %s, %s, %s%s, %s of text, %s records\n",
		       assay_z(run, s->format[i]), assay_z(run, s->packing[i]),
		       pipe ? "from a pipe" : assay_fmt_bytes(x, s->file_bytes[i]),
		       pipe ? "" : " on disk", assay_fmt_bytes(y, s->text_bytes[i]),
		       assay_fmt_count(z, s->records[i]));
		if (s->rank[i] >= 0)
			printf("  rank %d of %d\n", s->rank[i], s->world[i]);
	}
}

static void print_devices(const assay_run *run, assay_arena *a)
{
	const assay_tables *t = &run->part.t;
	char x[ASSAY_FMT], y[ASSAY_FMT];
	for (size_t i = 0; i < t->device.n; i++) {
		printf("  device %d: %s", t->device.id[i],
		       assay_fmt_safe(a, assay_text(run, t->device.name[i])));
		if (t->device.arch[i])
			printf(", %s", assay_z(run, t->device.arch[i]));
		if (t->device.memory[i] >= 0)
			printf(", %s", assay_fmt_bytes(x, (uint64_t)t->device.memory[i]));
		printf("\n");
	}
	const struct stream_use *use = stream_uses(run, a);
	for (size_t i = 0; i < t->track.n; i++)
		if (use[i].events)
			printf("  stream %" PRId64 " of device %" PRId64 ": %s events, %s\n",
			       t->track.tid[i], t->track.pid[i], assay_fmt_count(x, use[i].events),
			       assay_fmt_time(y, use[i].busy));
}

static void print_text(const assay_run *run)
{
	assay_arena a = {0};
	char x[ASSAY_FMT];
	int64_t first, last;
	print_sources(run, &a);
	if (time_range(run, &first, &last))
		printf("\ntime: %" PRId64 " to %" PRId64 " ns (%s)\n", first, last,
		       assay_fmt_time(x, last - first));
	printf("\ndevices and streams\n");
	print_devices(run, &a);
	printf("\ntables\n");
	for (size_t t = 0; t < ASSAY_T_COUNT; t++)
		if (assay_rows(&run->part.t, &assay_table_infos[t]))
			printf("  %-12s %12s rows  %s\n", assay_table_infos[t].name,
			       assay_fmt_count(x, assay_rows(&run->part.t, &assay_table_infos[t])),
			       assay_table_infos[t].doc);
	printf("\nlosses and oddities\n");
	bool any = false;
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++) {
		if (!run->part.issues[i])
			continue;
		any = true;
		printf("  %-18s %-5s %9s  %s\n", assay_issue_infos[i].id,
		       assay_issue_infos[i].severity, assay_fmt_count(x, run->part.issues[i]),
		       assay_issue_infos[i].text);
	}
	for (size_t i = 0; i < run->part.t.warning.n; i++)
		printf("  %s\n", assay_fmt_safe(&a, assay_text(run, run->part.t.warning.text[i])));
	if (!any && !run->part.t.warning.n)
		printf("  none\n");
	assay_arena_free(&a);
}

static void put_sources(assay_jsonw *w, const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
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
			assay_jsonw_i64(w, "world", s->world[i]);
		}
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_devices(assay_jsonw *w, const assay_run *run)
{
	const assay_device_table *d = &run->part.t.device;
	assay_jsonw_open(w, "devices", '[');
	for (size_t i = 0; i < d->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
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

static void put_streams(assay_jsonw *w, const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_arena a = {0};
	const struct stream_use *use = stream_uses(run, &a);
	assay_jsonw_open(w, "streams", '[');
	for (size_t i = 0; i < t->track.n; i++) {
		if (!use[i].events)
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "device", t->track.pid[i]);
		assay_jsonw_i64(w, "stream", t->track.tid[i]);
		assay_jsonw_u64(w, "events", use[i].events);
		assay_jsonw_i64(w, "busy_ns", use[i].busy);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_arena_free(&a);
}

static void print_json(const assay_run *run)
{
	assay_jsonw w = {0};
	int64_t first, last;
	assay_jsonw_open(&w, NULL, '{');
	put_sources(&w, run);
	if (time_range(run, &first, &last)) {
		assay_jsonw_i64(&w, "first_ns", first);
		assay_jsonw_i64(&w, "last_ns", last);
	}
	put_devices(&w, run);
	put_streams(&w, run);
	assay_jsonw_open(&w, "tables", '{');
	for (size_t t = 0; t < ASSAY_T_COUNT; t++)
		assay_jsonw_u64(&w, assay_table_infos[t].name,
				assay_rows(&run->part.t, &assay_table_infos[t]));
	assay_jsonw_close(&w, '}');
	assay_jsonw_open(&w, "meta", '{');
	const assay_meta_table *m = &run->part.t.meta;
	for (size_t i = 0; i < m->n; i++) {
		assay_jsonw_key(&w, assay_text(run, m->key[i]));
		assay_jsonw_str(&w, NULL, assay_text(run, m->value[i]));
	}
	assay_jsonw_close(&w, '}');
	assay_issues_json(&w, "issues", run);
	assay_jsonw_close(&w, '}');
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
	assay_run *run = assay_cmd_read(operands, n);
	if (!run)
		return ASSAY_EXIT_FAIL;
	if (a->json)
		print_json(run);
	else
		print_text(run);
	assay_run_free(run);
	return ASSAY_EXIT_OK;
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
	.details = "Says which reader took each file, how many records it has, the time range, "
		   "devices, streams, the\n"
		   "rows of every table, and every data problem met while reading.",
	ASSAY_OPTS(info_opts),
	ASSAY_EXAMPLES(info_examples),
	.args_size = sizeof(struct info_args),
	.max_operands = -1,
	.run = info_run,
};

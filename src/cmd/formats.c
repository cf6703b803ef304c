/* assay formats: what is read, what is written, and what commands can say of it. */
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "read/reader.h"
#include "write/writer.h"

const char assay_formats_of_python[] =
	"Parquet and Arrow IPC come from Python: assay.open(RUN).export(FOLDER)";

struct formats_args {
	bool json, markdown;
};

/* report and path take whatever has work. */
static const char *whole(const assay_reader *r)
{
	return r->waits ? "yes" : "beside a trace";
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static const char *end_of(const assay_writer *w)
{
	return w->exts[0];
}

static void print_text(void)
{
	printf("Read, by content, plain or packed (gzip, zstd, zip)\n  %-13s %-15s %-13s %-8s %s\n",
	       "format", "report, path", "waits", "scopes", "what it is");
	for (size_t i = 0; i < assay_reader_count; i++) {
		const assay_reader *r = assay_readers[i];
		printf("  %-13s %-15s %-13s %-8s %s\n", r->name, whole(r), or_empty(r->waits),
		       or_empty(r->scopes), r->about);
	}
	printf("\nWritten by assay convert\n  %-15s %-19s %s\n", "--to", "OUT ends in",
	       "what it is; read back");
	for (size_t i = 0; i < assay_writer_count; i++) {
		const assay_writer *w = assay_writers[i];
		printf("  %-15s %-19s %s; %s\n", w->name, end_of(w), w->about, w->back);
	}
	puts(assay_formats_of_python);
}

/* The tables of docs/formats/README.md. */
static void print_markdown(void)
{
	printf("| input | page | report, path | waits | scopes | notes |\n|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < assay_reader_count; i++) {
		const assay_reader *r = assay_readers[i];
		printf("| %s | [%s](%s.md) | %s | %s | %s | %s |\n", r->about, r->name, r->page,
		       whole(r), or_empty(r->waits), or_empty(r->scopes), or_empty(r->note));
	}
	printf("\n| output | page | `--to` | name | read back |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < assay_writer_count; i++) {
		const assay_writer *w = assay_writers[i];
		printf("| %s | [%s](%s.md) | `%s` | `%s` | %s |\n", w->about, w->page, w->page,
		       w->name, end_of(w), w->back);
	}
}

static void put_readers(assay_jsonw *j)
{
	assay_jsonw_open(j, "read", '[');
	for (size_t i = 0; i < assay_reader_count; i++) {
		const assay_reader *r = assay_readers[i];
		assay_jsonw_open_flat(j, NULL, '{');
		assay_jsonw_z(j, "name", r->name);
		assay_jsonw_z(j, "about", r->about);
		assay_jsonw_bool(j, "trace", r->waits != NULL);
		assay_jsonw_z(j, "waits", r->waits);
		assay_jsonw_z(j, "scopes", r->scopes);
		assay_jsonw_z(j, "note", r->note);
		assay_jsonw_z(j, "page", r->page);
		assay_jsonw_close(j, '}');
	}
	assay_jsonw_close(j, ']');
}

static void put_writers(assay_jsonw *j)
{
	assay_jsonw_open(j, "write", '[');
	for (size_t i = 0; i < assay_writer_count; i++) {
		const assay_writer *w = assay_writers[i];
		assay_jsonw_open_flat(j, NULL, '{');
		assay_jsonw_z(j, "name", w->name);
		assay_jsonw_z(j, "about", w->about);
		assay_jsonw_z(j, "ends", end_of(w));
		assay_jsonw_z(j, "back", w->back);
		assay_jsonw_z(j, "page", w->page);
		assay_jsonw_close(j, '}');
	}
	assay_jsonw_close(j, ']');
}

static void print_json(void)
{
	assay_jsonw j = {0};
	assay_jsonw_open(&j, NULL, '{');
	put_readers(&j);
	put_writers(&j);
	assay_jsonw_close(&j, '}');
	assay_str text = assay_jsonw_text(&j);
	printf("%.*s\n", (int)text.n, text.p);
	assay_jsonw_free(&j);
}

static int formats_run(const void *args, char **operands, int n)
{
	const struct formats_args *a = args;
	(void)operands;
	(void)n;
	(a->json ? print_json : a->markdown ? print_markdown : print_text)();
	return ASSAY_EXIT_OK;
}

static const assay_opt formats_opts[] = {
	{"json", 0, ASSAY_OPT_FLAG, NULL, "Print JSON.", offsetof(struct formats_args, json)},
	{"markdown", 0, ASSAY_OPT_FLAG, NULL, "Print the tables as Markdown.",
	 offsetof(struct formats_args, markdown)},
};

static const assay_example formats_examples[] = {
	{"assay formats", "what is read and written"},
};

const assay_cmd assay_cmd_formats = {
	.name = "formats",
	.args = "",
	.about = "List the formats that are read and written",
	.details =
		"An input is recognized by its content, whatever its name. What waits and scopes can say about a\n"
		"format depends on what its recorder writes, as their columns show. What convert has no place for\n"
		"in an output is named when it writes.",
	ASSAY_OPTS(formats_opts),
	ASSAY_EXAMPLES(formats_examples),
	.args_size = sizeof(struct formats_args),
	.min_operands = 0,
	.max_operands = 0,
	.run = formats_run,
};

/* Prints the rows of an SQL statement over the tables of a trace, values separated by tabs.
 * cc sql.c -lassay && ./a.out trace.json.gz "select name, count(*) from kernels group by name" */
#include <assay/assay.h>
#include <inttypes.h>
#include <stdio.h>

/* Arrow's C data interface, as its specification gives it to be copied. */
struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

/* Results of SQL are whole numbers (l), reals (g), and text with 32-bit (u) or 64-bit offsets (U).
 */
static void print_value(char format, const struct ArrowArray *column, int64_t row)
{
	const uint8_t *known = column->buffers[0];
	if (known && !(known[row / 8] & 1 << row % 8)) {
		printf("NULL");
	} else if (format == 'l') {
		printf("%" PRId64, ((const int64_t *)column->buffers[1])[row]);
	} else if (format == 'g') {
		printf("%g", ((const double *)column->buffers[1])[row]);
	} else if (format == 'u') {
		const int32_t *at = column->buffers[1];
		printf("%.*s", (int)(at[row + 1] - at[row]),
		       (const char *)column->buffers[2] + at[row]);
	} else {
		const int64_t *at = column->buffers[1];
		printf("%.*s", (int)(at[row + 1] - at[row]),
		       (const char *)column->buffers[2] + at[row]);
	}
}

static void print_rows(struct ArrowArrayStream *stream)
{
	struct ArrowSchema schema;
	struct ArrowArray batch;
	if (stream->get_schema(stream, &schema))
		return;
	for (int64_t i = 0; i < schema.n_children; i++)
		printf("%s%c", schema.children[i]->name, i + 1 < schema.n_children ? '\t' : '\n');
	while (!stream->get_next(stream, &batch) && batch.release) {
		for (int64_t row = 0; row < batch.length; row++)
			for (int64_t i = 0; i < batch.n_children; i++) {
				print_value(schema.children[i]->format[0], batch.children[i], row);
				putchar(i + 1 < batch.n_children ? '\t' : '\n');
			}
		batch.release(&batch);
	}
	schema.release(&schema);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s TRACE STATEMENT\n", argv[0]);
		return 2;
	}
	assay_err err = {0};
	struct ArrowArrayStream stream;
	assay_run *run = assay_run_new();
	bool ok = assay_run_read(run, argv[1], &err) && assay_run_analyze(run, NULL, &err) &&
		  assay_run_sql(run, argv[2], &stream, &err);
	assay_run_free(run); /* the stream keeps what it needs */
	if (!ok) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	print_rows(&stream);
	stream.release(&stream);
	return 0;
}

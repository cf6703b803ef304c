/* Prints every table that has rows, and for each column what it holds and how many values are
 * there. cc tables.c -lassay && ./a.out trace.json.gz */
#include <assay/assay.h>
#include <stdio.h>
#include <string.h>

static size_t count_values(const assay_run *run, const char *table, const assay_column_desc *c)
{
	const char *values = assay_table_column(run, table, c->name, NULL);
	size_t rows = assay_table_rows(run, table), n = 0;
	for (size_t i = 0; i < rows; i++) {
		uint64_t bits = 0;
		memcpy(&bits, values + i * c->width, c->width);
		n += !c->can_be_absent || bits != c->absent;
	}
	return n;
}

static void print_table(const assay_run *run, size_t table, const assay_table_desc *t)
{
	assay_column_desc c = {.size = sizeof c};
	printf("%s: %zu rows\n", t->name, assay_table_rows(run, t->name));
	for (size_t i = 0; assay_column_describe(table, i, &c); i++)
		printf("  %-16s %10zu values%s%s%s%s\n", c.name, count_values(run, t->name, &c),
		       *c.unit ? ", in " : "", c.unit, c.refers ? ", rows of " : "",
		       c.refers ? c.refers : "");
}

int main(int argc, char **argv)
{
	assay_err err = {0};
	assay_run *run = assay_run_new();
	bool ok = argc > 1;
	for (int i = 1; ok && i < argc; i++)
		ok = assay_run_read(run, argv[i], &err);
	ok = ok && assay_run_analyze(run, NULL, &err);
	if (!ok)
		fprintf(stderr, "%s\n", argc > 1 ? err.text : "usage: tables TRACE...");
	assay_table_desc t = {.size = sizeof t};
	for (size_t i = 0; ok && assay_table_describe(i, &t); i++)
		if (assay_table_rows(run, t.name))
			print_table(run, i, &t);
	assay_run_free(run);
	return ok ? 0 : 1;
}

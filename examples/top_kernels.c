/* Prints which kernel of a trace took most time, through the public API.
 * cc top_kernels.c -lassay && ./a.out trace.json.gz */
#include <assay/assay.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s TRACE...\n", argv[0]);
		return 2;
	}
	assay_err err = {0};
	assay_run *run = assay_run_new();
	bool ok = true;
	for (int i = 1; ok && i < argc; i++)
		ok = assay_run_read(run, argv[i], &err);
	if (!ok || !assay_run_analyze(run, NULL, &err)) {
		fprintf(stderr, "%s\n", err.text);
		assay_run_free(run);
		return 1;
	}

	const uint32_t *name = assay_table_column(run, "kernel", "name", NULL);
	const uint64_t *count = assay_table_column(run, "kernel", "count", NULL);
	const int64_t *total = assay_table_column(run, "kernel", "total", NULL);
	size_t best = 0, n = assay_table_rows(run, "kernel");
	for (size_t i = 1; i < n; i++)
		if (total[i] > total[best])
			best = i;
	if (n)
		printf("%zu kernels; %.3f ms in %llu launches of %.60s\n", n,
		       (double)total[best] * 1e-6, (unsigned long long)count[best],
		       assay_string(run, name[best]));
	assay_run_free(run);
	return 0;
}

/* Writes a trace in the format that the name of the output says.
 * cc convert.c -lassay && ./a.out trace.json.gz out.pftrace */
#include <assay/assay.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s TRACE OUT\n", argv[0]);
		return 2;
	}
	assay_err err = {0};
	const char *left_out = NULL;
	assay_run *run = assay_run_new();
	bool ok = assay_run_read(run, argv[1], &err) && assay_run_analyze(run, NULL, &err) &&
		  assay_run_convert(run, argv[2], NULL, &left_out, &err);
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	else if (left_out)
		fprintf(stderr, "not written: %s\n", left_out);
	assay_run_free(run);
	return ok ? 0 : 1;
}

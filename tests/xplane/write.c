/* Any input as an XPlane file: write INPUT OUT. What the tests in this folder convert with. */
#include <stdio.h>

#include "read/reader.h"
#include "resolve/resolve.h"
#include "write/writer.h"

int main(int argc, char **argv)
{
	assay_err err = {0};
	if (argc != 3)
		return 2;
	assay_run *run = assay_run_new();
	FILE *out = fopen(argv[2], "wb");
	bool ok = out && assay_read_path(run, argv[1], &err);
	if (ok) {
		assay_link(run);
		assay_find_steps(run, NULL);
		assay_scopes(run, NULL);
		ok = assay_writer_xplane.write(run, out, &err);
	}
	if (out && fclose(out))
		ok = false;
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	assay_run_free(run);
	return !ok;
}

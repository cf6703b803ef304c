/* Any bytes as a file of any kind, through the library: unpacked, recognised, read, analyzed, and
 * what is said of it put into words. */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <assay/assay.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What cannot be done is said in a sentence. */
static void check(bool ok, const assay_err *err)
{
	if (!ok && (!err->code || !err->text[0]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("any", 0);
	assay_err err = {0};
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assay_run *run = assay_run_new();
	bool ok = assay_run_read(run, path, &err);
	check(ok, &err);
	if (ok) {
		ok = assay_run_analyze(run, NULL, &err);
		check(ok, &err);
	}
	if (ok) {
		size_t n;
		check(assay_run_report_json(run, &n) != NULL, &err);
	}
	assay_run_free(run);
	close(fd);
	return 0;
}

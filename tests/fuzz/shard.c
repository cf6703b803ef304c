/* Any bytes as the file of a shard, and what is said of the ranks in it. Files it names are not
 * read. */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "api/job.h"
#include "api/shard_file.h"
#include "model/findings.h"
#include "model/findings_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_processes(assay_run *run, assay_shard_file *f)
{
	assay_shard_process p;
	while (assay_shard_next(f, &p, NULL)) {
		assay_part one = {0};
		if (assay_findings_unpack(&one, p.findings, NULL))
			assay_findings_append(&run->part, &one, NULL);
		assay_part_free(&one);
		for (assay_str path; assay_shard_next_left(&p.left, &path);)
			;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	assay_shard_file f;
	int fd = memfd_create("shard", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (assay_shard_open(&f, path, NULL)) {
		assay_run *run = assay_run_new();
		const assay_report_opts opts = {.size = sizeof opts};
		assay_order order;
		assay_add(&run->part.t, ASSAY_T_source); /* a rank in full, without work */
		run->in_full = 1;
		assay_analyze_sources(run, &opts, &order);
		take_processes(run, &f);
		assay_shard_close(&f);
		assay_kernels_fold(run, 0);
		assay_analyze_job(run, &opts, &order, NULL);
		run->analyzed = true;
		assay_run_report_json(run, NULL);
		assay_order_free(&order);
		assay_run_free(run);
	}
	close(fd);
	return 0;
}

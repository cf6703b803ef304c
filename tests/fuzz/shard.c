/* Any bytes as the file of a shard, with the sums they should have, and what is said of the ranks
 * in it. Files it names are not read. */
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

/* Nothing behind a wrong sum is looked at. */
static void put_sums(assay_protow *out, const uint8_t *data, size_t size)
{
	enum { MESSAGES = 2, SUM = 4 };
	assay_proto c = assay_proto_on((assay_str){(const char *)data, size});
	assay_field f;
	while (assay_proto_next(&c, &f)) {
		if (f.number == SUM)
			continue;
		if (f.wire == ASSAY_WIRE_BYTES && f.number <= MESSAGES)
			assay_protow_varint(out, SUM, assay_hash(f.bytes.p, f.bytes.n, 0));
		assay_protow_raw(out, f.whole);
	}
	assay_protow_raw(out, (assay_str){(const char *)c.p, (size_t)(c.end - c.p)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	assay_shard_file f;
	assay_protow file = {0};
	int fd = memfd_create("shard", 0);
	put_sums(&file, data, size);
	bool made = fd >= 0 && write(fd, file.out.p, file.out.n) == (ssize_t)file.out.n;
	assay_protow_free(&file);
	if (!made)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (assay_shard_open(&f, path, NULL)) {
		assay_run *run = assay_run_new();
		const assay_report_opts opts = {.size = sizeof opts};
		assay_halfway half;
		assay_add(&run->part.t, ASSAY_T_source); /* a rank in full, without work */
		run->in_full = 1;
		assay_analyze_sources(run, &opts, ASSAY_NEEDS_WORK, &half);
		take_processes(run, &f);
		assay_shard_close(&f);
		assay_kernels_fold(run, 0);
		assay_analyze_rest(run, &opts, ASSAY_NEEDS_FINDINGS, &half, NULL);
		run->analyzed = true;
		assay_run_report_json(run, NULL);
		assay_halfway_free(&half);
		assay_run_free(run);
	}
	close(fd);
	return 0;
}

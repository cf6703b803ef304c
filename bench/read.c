/* Reads one input with the library's own readers and prints what it cost.
 * usage: read FILE [THREADS [REPEATS]] ; rows and a checksum of the columns prove that work was
 * done. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "read/reader.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t checksum(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t sum = 0;
	for (size_t i = 0; i < t->host.n; i++)
		sum += (uint64_t)t->host.dur[i] + t->host.name[i] + t->host.track[i];
	for (size_t i = 0; i < t->gpu.n; i++)
		sum += (uint64_t)t->gpu.dur[i] + t->gpu.corr[i] + t->gpu.name[i];
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2)
		setenv("ASSAY_THREADS", argv[2], 1);
	int repeats = argc > 3 ? atoi(argv[3]) : 1;
	double best = 1e9;
	uint64_t text = 0, rows = 0, sum = 0;
	for (int i = 0; i < repeats; i++) {
		assay_err err = {0};
		double t0 = now();
		assay_run *run = assay_run_new();
		if (!assay_read_path(run, argv[1], &err)) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		double t = now() - t0;
		best = t < best ? t : best;
		text = run->part.t.source.text_bytes[0];
		rows = run->part.t.host.n + run->part.t.gpu.n + run->part.t.flow.n;
		sum = checksum(run);
		assay_run_free(run);
	}
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf("assay %s thr  %.3f s  %.2f GB/s  rss %ld MB  rows %llu  sum %016llx\n",
	       argc > 2 ? argv[2] : "all", best, (double)text / best / 1e9, use.ru_maxrss / 1024,
	       (unsigned long long)rows, (unsigned long long)sum);
	return 0;
}

/* Times the rocprof CSV reader alone: rows, seconds, GB/s and peak memory for 1 and 2 threads.
 * usage: csv_read FILE [RUNS]; each figure is the best of RUNS (default 3), one process a run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "read/reader.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct result {
	double seconds, cpu;
	uint64_t rows, names, bytes;
	int64_t sum; /* ns of all kernels */
};

static struct result read_once(const char *path)
{
	struct result r = {0};
	assay_err err = {0};
	double from = now();
	assay_run *run = assay_run_new();
	if (!assay_read_path(run, path, &err)) {
		fprintf(stderr, "csv_read: %s\n", err.text);
		_exit(1);
	}
	r.seconds = now() - from;
	const assay_gpu_table *g = &run->part.t.gpu;
	r.rows = g->n;
	r.names = run->part.strings.str.n;
	r.bytes = run->part.t.source.text_bytes[0];
	for (size_t i = 0; i < g->n; i++)
		r.sum += g->dur[i];
	return r;
}

/* A child of its own, so that peak memory is that of this run. */
static bool measure(const char *path, int threads, struct result *best, long *peak_kib)
{
	int fd[2];
	char text[16];
	snprintf(text, sizeof text, "%d", threads);
	setenv("ASSAY_THREADS", text, 1);
	if (pipe(fd) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		struct result r = read_once(path);
		_exit(write(fd[1], &r, sizeof r) != sizeof r);
	}
	struct result r;
	struct rusage use;
	int status;
	close(fd[1]);
	bool ok = read(fd[0], &r, sizeof r) == sizeof r;
	close(fd[0]);
	ok &= wait4(pid, &status, 0, &use) == pid && status == 0;
	r.cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	if (ok && (!best->rows || r.seconds < best->seconds)) {
		*best = r;
		*peak_kib = use.ru_maxrss;
	}
	return ok;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	int runs = argc > 2 ? atoi(argv[2]) : 3;
	if (argc < 2)
		return fprintf(stderr, "usage: csv_read FILE [RUNS]\n"), 2;
	for (int threads = 1; threads <= 2; threads++) {
		struct result best = {0};
		long peak = 0;
		for (int i = 0; i < runs; i++)
			if (!measure(argv[1], threads, &best, &peak))
				return 1;
		printf("assay, %d thread%s: %" PRIu64 " rows, %" PRId64
		       " ns, %.3f s (cpu %.3f), %.2f GB/s, %ld MiB\n",
		       threads, threads > 1 ? "s" : " ", best.rows, best.sum, best.seconds,
		       best.cpu, (double)best.bytes / best.seconds / 1e9, peak / 1024);
	}
	return 0;
}

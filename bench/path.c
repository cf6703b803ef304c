/* Critical path speed: one input, read and analyzed once; the graph, the path and two replays
 * timed. usage: path INPUT [WHAT-IF...] */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "path/path.h"
#include "read/reader.h"
#include "resolve/resolve.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_path(assay_run *run, int64_t step, char **what_if, int n, assay_path *path)
{
	assay_err err = {0};
	double start = now();
	bool ok = assay_path_find(run,
				  &(assay_path_opts){.step = step,
						     .what_if = (const char *const *)what_if,
						     .what_ifs = (size_t)n},
				  path, &err);
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	return now() - start;
}

int main(int argc, char **argv)
{
	assay_err err = {0};
	assay_run *run = assay_run_new();
	if (argc < 2 || !assay_read_path(run, argv[1], &err) ||
	    !assay_run_analyze(run, NULL, &err)) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: path INPUT [WHAT-IF...]" : err.text);
		return 1;
	}
	assay_scopes(run, NULL);
	size_t events = run->part.t.host.n + run->part.t.gpu.n;
	static const int64_t steps[] = {ASSAY_PATH_ALL, ASSAY_PATH_MEDIAN};
	for (int i = 0; i < 2; i++) {
		assay_path path;
		double best = 1e9;
		for (int round = 0; round < 3; round++) {
			double s = time_path(run, steps[i], argv + 2, argc - 2, &path);
			best = s < best ? s : best;
			assay_path_free(&path);
		}
		printf("%-6s %zu events: %.3f s, %.1f million a second\n", i ? "step" : "all",
		       events, best, (double)events / best * 1e-6);
	}
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf("peak memory %ld MB\n", use.ru_maxrss / 1024);
	assay_run_free(run);
	return 0;
}

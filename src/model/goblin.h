/* What `--like goblin` reads and what it computes: the seven-bucket waste budget by another tool's
 * definition. The definition is in docs/formats/goblin.md. */
#ifndef ASSAY_MODEL_GOBLIN_H
#define ASSAY_MODEL_GOBLIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/pool.h"

typedef struct assay_goblin_number {
	double value;
	bool known;
} assay_goblin_number;

typedef struct assay_goblin_launch {
	assay_sid name;
	int64_t ns; /* > 0 */
} assay_goblin_launch;

typedef struct assay_goblin_input {
	int steps;
	const char *precision;                  /* NULL: not given */
	assay_vec(assay_goblin_launch) kernels; /* file order */
	assay_pool names;                       /* ids in order of first use */
	/* torch_profile.json */
	assay_goblin_number tokens_per_sec, mfu_pct, step_seconds, host_busy;
	const char *pytorch_version; /* NULL: unknown */
	/* amd_smi.csv */
	assay_goblin_number hbm_peak_gb, hbm_avg_gb, gpu_util_pct;
	const char *rocm_version; /* NULL: unknown */
	assay_vec(const char *) warnings;
	assay_arena arena; /* texts above */
} assay_goblin_input;

/* Seconds a step, in the order they are written and added up. */
#define ASSAY_GOBLIN_BUCKETS(X)                                                                    \
	X(useful_gpu)                                                                              \
	X(data_wait)                                                                               \
	X(host_gap)                                                                                \
	X(comm_excess)                                                                             \
	X(memory_headroom)                                                                         \
	X(precision_path)                                                                          \
	X(kernel_shape)

typedef struct assay_goblin_budget {
#define X(name) double name;
	ASSAY_GOBLIN_BUCKETS(X)
#undef X
	double total, recoverable;
} assay_goblin_budget;

enum { ASSAY_GOBLIN_TOP = 5 };

typedef struct assay_goblin {
	const assay_goblin_input *input; /* names, versions and warnings; must outlive this */
	double tokens_per_sec, mfu_pct, hbm_peak_gb, hbm_avg_gb, gpu_util_pct;
	struct {
		assay_str name;
		double pct_time;
	} top[ASSAY_GOBLIN_TOP];
	size_t tops;
	const char *attention; /* flash_rocm, flash, sdpa, eager, unknown */
	assay_goblin_budget budget;
} assay_goblin;

#endif

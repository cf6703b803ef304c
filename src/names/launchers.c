#include "names/launchers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

const assay_launcher assay_launchers[] = {
#define LAUNCHER(name, rank, size, ranks) {name, rank, size, ranks},
#include "names/launchers.def"
#undef LAUNCHER
};
const size_t assay_launcher_count = sizeof assay_launchers / sizeof *assay_launchers;

static int64_t number_of(const char *text)
{
	char *end;
	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	long v = strtol(text, &end, 10);
	return *end || errno || v > INT32_MAX ? -1 : v;
}

/* Arrays may begin at any number: `sbatch --array=1-512`. */
static int64_t rank_of(const assay_launcher *l, assay_variable *get, void *ctx)
{
	int64_t rank = number_of(get(ctx, l->rank));
	if (strcmp(l->rank, "SLURM_ARRAY_TASK_ID"))
		return rank;
	int64_t least = number_of(get(ctx, "SLURM_ARRAY_TASK_MIN"));
	int64_t stride = number_of(get(ctx, "SLURM_ARRAY_TASK_STEP"));
	rank = least >= 0 && rank >= least ? rank - least : rank;
	return stride > 1 && rank >= 0 ? rank / stride : rank;
}

enum worth { NONE, ALONE, UNSIZED, ONE_OF_MANY };

static enum worth place_by(const assay_launcher *l, assay_place *p, assay_variable *get, void *ctx)
{
	*p = (assay_place){l, rank_of(l, get, ctx), number_of(get(ctx, l->size))};
	if (p->rank < 0 || p->size == 0 || (p->size > 0 && p->rank >= p->size))
		return NONE;
	return p->size < 0 ? UNSIZED : p->size == 1 ? ALONE : ONE_OF_MANY;
}

bool assay_place_find(assay_place *place, bool ranks, assay_variable *get, void *ctx)
{
	enum worth best = NONE;
	for (size_t i = 0; i < assay_launcher_count; i++) {
		assay_place p;
		enum worth worth = place_by(&assay_launchers[i], &p, get, ctx);
		if (worth <= best || (ranks && !assay_launchers[i].ranks))
			continue;
		best = worth;
		*place = p;
	}
	return best != NONE;
}

static const char *variable_here(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

bool assay_place_here(assay_place *place, bool ranks)
{
	return assay_place_find(place, ranks, variable_here, NULL);
}

/* "NAME=VALUE" texts, NULL at the end. */
static const char *variable_of(void *ctx, const char *name)
{
	size_t n = strlen(name);
	for (const char *const *v = ctx; *v; v++)
		if (!strncmp(*v, name, n) && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

#define PLACE(...)                                                                                 \
	assay_place_find(&p, ranks, variable_of,                                                   \
			 (void *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

TEST(a_process_finds_its_place_by_every_launcher)
{
	assay_place p;
	bool ranks = false;
	CHECK(!PLACE("PATH=/bin"));
	for (size_t i = 0; i < assay_launcher_count; i++) {
		char rank[64], size[64];
		snprintf(rank, sizeof rank, "%s=3", assay_launchers[i].rank);
		snprintf(size, sizeof size, "%s=8", assay_launchers[i].size);
		CHECK(PLACE(rank, size) && p.rank == 3 && p.size == 8);
		CHECK(PLACE(rank) && p.rank == 3 && p.size == -1);
	}
	CHECK(!PLACE("RANK=8", "WORLD_SIZE=8") && !PLACE("RANK=x", "WORLD_SIZE=8"));
	return 0;
}

TEST(the_innermost_launcher_of_many_says_the_place)
{
	assay_place p;
	bool ranks = false;
	CHECK(PLACE("SLURM_PROCID=1", "SLURM_NTASKS=2", "OMPI_COMM_WORLD_RANK=5",
		    "OMPI_COMM_WORLD_SIZE=16"));
	CHECK(p.rank == 5 && p.size == 16);
	CHECK(PLACE("SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_ARRAY_TASK_ID=7",
		    "SLURM_ARRAY_TASK_COUNT=512", "SLURM_ARRAY_TASK_MIN=1"));
	CHECK(p.rank == 6 && p.size == 512);
	CHECK(PLACE("SLURM_ARRAY_TASK_ID=9", "SLURM_ARRAY_TASK_COUNT=4", "SLURM_ARRAY_TASK_MIN=0",
		    "SLURM_ARRAY_TASK_STEP=3"));
	CHECK(p.rank == 3 && p.size == 4);
	CHECK(PLACE("SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_ARRAY_TASK_ID=5",
		    "SLURM_ARRAY_TASK_COUNT=8"));
	CHECK(p.rank == 5 && p.size == 8);
	CHECK(PLACE("SLURM_PROCID=5", "SLURM_STEP_NUM_TASKS=8", "SLURM_NTASKS=64") && p.size == 8);
	return 0;
}

TEST(tasks_of_an_array_are_no_ranks)
{
	assay_place p;
	bool ranks = true;
	CHECK(!PLACE("SLURM_ARRAY_TASK_ID=7", "SLURM_ARRAY_TASK_COUNT=512"));
	CHECK(PLACE("SLURM_ARRAY_TASK_ID=7", "SLURM_ARRAY_TASK_COUNT=512", "PMI_RANK=1",
		    "PMI_SIZE=2"));
	CHECK(p.rank == 1 && p.size == 2);
	return 0;
}

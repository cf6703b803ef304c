/* assay mpi: every process of an MPI job reads a shard, the first one prints the report. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/report_show.h"
#include "cmd/say.h"
#include "cmd/shard.h"
#include "names/launchers.h"
#include "vendor/mpi.h"

static const char usual_parts[] = "assay-parts";

struct mpi_args {
	report_show show;
	int64_t steps;
	const char *steps_from, *rates, *out, *library;
};

struct group {
	assay_mpi mpi;
	int rank, size;
};

static int fail(const char *library, const char *why)
{
	assay_say(
		"assay mpi: %s%s%s; start each process with assay report --shard auto instead, which needs no MPI",
		library ? library : "", library ? ": " : "", why);
	return ASSAY_EXIT_FAIL;
}

/* A library that is not the launcher's takes every process for a job of one: each would do all of
 * the work. */
static bool join_group(struct group *g, const struct mpi_args *a, int *status)
{
	assay_place p;
	bool placed = assay_place_here(&p, false);
	int open_mpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
	const char *why = assay_mpi_open(&g->mpi, a->library, open_mpi);
	*status = ASSAY_EXIT_OK;
	if (why) {
		*status = fail(a->library, why);
		return false;
	}
	if (g->mpi.init(NULL, NULL) || g->mpi.comm_rank(g->mpi.world, &g->rank) ||
	    g->mpi.comm_size(g->mpi.world, &g->size))
		*status = fail(g->mpi.library, "MPI does not start");
	else if (placed && p.size > 1 && g->size == 1)
		*status = fail(g->mpi.library,
			       "it is not the library of this launcher: name that with --library");
	if (*status)
		g->mpi.finalize();
	return !*status;
}

/* What each process came to, on the first one; NULL when MPI fails. */
static unsigned char *gather(const struct group *g, assay_arena *a, unsigned char own)
{
	unsigned char *all = assay_alloc(a, (size_t)g->size);
	bool ok = !g->mpi.gather(&own, 1, g->mpi.byte, all, 1, g->mpi.byte, 0, g->mpi.world);
	return ok ? all : NULL;
}

/* The files of this very division: others may be there from before. */
static int merge_parts(const struct group *g, const struct mpi_args *a, assay_arena *m)
{
	char **files = assay_alloc(m, ((size_t)g->size + 1) * sizeof *files);
	int n = 0;
	for (int i = 0; i < g->size; i++) {
		const char *path = assay_shard_path(m, a->out ? a->out : usual_parts,
						    (assay_shard){(size_t)i, (size_t)g->size});
		if (!access(path, R_OK))
			files[n++] = assay_dup(m, assay_str_of(path));
	}
	report_show show = a->show;
	show.no_pager = true; /* mpirun's terminals are nobody's */
	setenv("NO_COLOR", "1", 1);
	int status =
		n ? assay_cmd_merge_shards(files, n, a->steps, a->rates, &show) : ASSAY_EXIT_FAIL;
	for (int i = 0; !a->out && !status && i < n; i++)
		unlink(files[i]);
	if (!a->out && !status)
		rmdir(usual_parts); /* unless somebody else has parts there */
	return status;
}

static int finish_group(const struct group *g, const struct mpi_args *a, int own)
{
	assay_arena scratch = {0};
	unsigned char *all = gather(g, &scratch, (unsigned char)own);
	int status = all ? own : fail(g->mpi.library, "the processes cannot reach each other");
	if (all && g->rank == 0) {
		status = merge_parts(g, a, &scratch);
		for (int i = 0; i < g->size; i++)
			status = all[i] > status ? all[i] : status;
	}
	fflush(stdout);
	g->mpi.finalize();
	assay_arena_free(&scratch);
	return status;
}

static int mpi_run(const void *args, char **operands, int n)
{
	const struct mpi_args *a = args;
	const assay_report_opts opts = {.size = sizeof opts, .steps_from = a->steps_from};
	struct group g = {0};
	int status;
	if (!report_show_fits("mpi", &a->show))
		return ASSAY_EXIT_USAGE;
	if (!join_group(&g, a, &status))
		return status;
	status = assay_cmd_write_shard(operands, n, &opts,
				       (assay_shard){(size_t)g.rank, (size_t)g.size},
				       a->out ? a->out : usual_parts, true);
	return finish_group(&g, a, status);
}

static const assay_opt mpi_opts[] = {
	{"out", 'o', ASSAY_OPT_TEXT, "DIR",
	 "Folder for the shards, visible to all processes. Default: assay-parts, removed at the end.",
	 offsetof(struct mpi_args, out)},
	{"steps", 0, ASSAY_OPT_COUNT, "N", "Number of steps, when the input has no step markers.",
	 offsetof(struct mpi_args, steps)},
	{"steps-from", 0, ASSAY_OPT_TEXT, "RANGES", "Which ranges are steps, as for assay report.",
	 offsetof(struct mpi_args, steps_from)},
	{"rates", 0, ASSAY_OPT_TEXT, "FILE",
	 "Peak rates of the device (JSON); they override the built-in table.",
	 offsetof(struct mpi_args, rates)},
	{"library", 0, ASSAY_OPT_TEXT, "FILE",
	 "MPI library to use. Default: the launcher's own, then libmpi.so.40 of Open MPI, libmpi.so.12 or libmpi_abi.so.1 of others.",
	 offsetof(struct mpi_args, library)},
#define AT(field) offsetof(struct mpi_args, show.field)
#include "cmd/report_show.def"
#undef AT
};

const assay_cmd assay_cmd_mpi = {
	.name = "mpi",
	.args = "INPUT...",
	.about = "Report on a job, read by all processes of an mpirun",
	.details =
		"mpirun -n 64 assay mpi DIR (or assay-mpi report DIR): each process reads a shard of the job as\n"
		"assay report --shard does, and the first one prints what assay report would have printed. MPI is\n"
		"used only to find each process's place and to wait for the others; shards go through files, so\n"
		"that what a killed job has read is not read again by the next. Any MPI library with the binary\n"
		"interface of Open MPI, MPICH or MPI 5.0 will do; it is looked for when the program runs.\n\n"
		"Exit status of the first process: that of assay merge, or that of a process that could not read\n"
		"its shard.",
	ASSAY_OPTS(mpi_opts),
	.args_size = sizeof(struct mpi_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = mpi_run,
};

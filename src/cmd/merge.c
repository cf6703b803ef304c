/* assay merge: the report of a job that was read in shards. */
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/shard.h"

struct merge_args {
	report_show show;
	int64_t steps;
	const char *rates;
};

struct merging {
	const assay_report_opts *opts;
	bool lean;
	assay_merged out;
};

static bool merge_shards(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err)
{
	struct merging *m = ctx;
	run->lean = m->lean;
	return assay_shards_merge(run, operands, n, m->opts, &m->out, err);
}

int assay_cmd_merge_shards(char **files, int n, int64_t steps, const char *rates,
			   const report_show *show)
{
	assay_report_opts opts = {.size = sizeof opts,
				  .steps = (int32_t)steps,
				  .top = (uint32_t)show->top,
				  .rates = rates};
	struct merging m = {.opts = &opts, .lean = !show->html};
	assay_err err = {0};
	assay_run *run = assay_cmd_read_by(merge_shards, &m, files, n, &err);
	if (!run)
		return assay_cmd_status(&err);
	if (m.out.repeated)
		assay_say("assay: %zu shard%s given twice; each is taken once", m.out.repeated,
			  m.out.repeated == 1 ? " is" : "s are");
	return report_show_run(show, run, m.out.operands);
}

static int merge_run(const void *args, char **operands, int n)
{
	const struct merge_args *a = args;
	return report_show_fits("merge", &a->show)
		       ? assay_cmd_merge_shards(operands, n, a->steps, a->rates, &a->show)
		       : ASSAY_EXIT_USAGE;
}

static const assay_opt merge_opts[] = {
	{"steps", 0, ASSAY_OPT_COUNT, "N", "Number of steps, when the input has no step markers.",
	 offsetof(struct merge_args, steps)},
	{"rates", 0, ASSAY_OPT_TEXT, "FILE",
	 "Peak rates of the device (JSON); they override the built-in table.",
	 offsetof(struct merge_args, rates)},
#define AT(field) offsetof(struct merge_args, show.field)
#include "cmd/report_show.def"
#undef AT
};

static const assay_example merge_examples[] = {
	{"assay report demo/ddp --shard 0/2 -o parts && assay report demo/ddp --shard 1/2 -o parts && assay merge parts",
	 "a job read in two halves"},
};

const assay_cmd assay_cmd_merge = {
	.name = "merge",
	.args = "SHARD...",
	.about = "Report on a job that was read in shards",
	.details =
		"Joins what assay report --shard wrote and prints, byte for byte, what assay report would have\n"
		"printed of the whole job. A SHARD is a file that it wrote, or a folder of them, in any order;\n"
		"one given twice counts once. Missing shards are named in the report.\n\n"
		"The few ranks that the report shows in full are read again, under the names the shards were\n"
		"given: run assay merge in the same folder, where the traces can be found.\n\n"
		"Exit status: 0 for a report; 1 when a shard is damaged or an input cannot be read; 2 for wrong\n"
		"usage, such as shards of different jobs.",
	ASSAY_OPTS(merge_opts),
	ASSAY_EXAMPLES(merge_examples),
	.args_size = sizeof(struct merge_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = merge_run,
};

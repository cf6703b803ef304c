/* assay waits: every wait, and the work on the other stream it waited for. */
#include "analyze/analyze.h"
#include "api/query.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "render/waits.h"

struct waits_args {
	const char *stream, *thread, *ranks;
	int64_t min, top;
	bool unresolved, json, handles, chains;
};

static bool number_of(const char *option, const char *text, int64_t *out)
{
	if (!text || assay_str_i64(assay_str_of(text), out))
		return true;
	assay_say("assay waits: --%s needs a number, not '%s'", option, text);
	return false;
}

static int waits_run(const void *args, char **operands, int n)
{
	const struct waits_args *a = args;
	int64_t stream = -1, thread = -1;
	if (!number_of("stream", a->stream, &stream) || !number_of("thread", a->thread, &thread))
		return ASSAY_EXIT_USAGE;
	int status;
	assay_run *run = assay_cmd_events(operands, n, a->ranks, ASSAY_NEEDS_STEPS, true, &status);
	if (!run)
		return status;
	assay_waits_query query = {.stream = a->stream ? &stream : NULL,
				   .thread = a->thread ? &thread : NULL,
				   .min_ns = a->min,
				   .top = (size_t)a->top,
				   .unresolved = a->unresolved,
				   .handles = a->handles,
				   .chains = a->chains};
	if (a->json) {
		puts(assay_run_waits_json(run, &query, NULL, NULL));
	} else {
		if (a->handles)
			assay_waits_by_handles(run);
		if (a->chains)
			assay_wait_chains(run);
		assay_cmd_text text;
		assay_waits_text(assay_cmd_text_open(&text), run, &query);
		assay_cmd_text_close(&text);
	}
	assay_run_free(run);
	return ASSAY_EXIT_OK;
}

static const assay_opt waits_opts[] = {
	{"stream", 0, ASSAY_OPT_TEXT, "N", "Only waits by or for this stream.",
	 offsetof(struct waits_args, stream)},
	{"thread", 0, ASSAY_OPT_TEXT, "N", "Only waits in calls of this thread.",
	 offsetof(struct waits_args, thread)},
	{"min", 0, ASSAY_OPT_TIME, "TIME",
	 "Only waits that lost at least this much, such as 100us; a bare number is ms.",
	 offsetof(struct waits_args, min)},
	{"unresolved", 0, ASSAY_OPT_FLAG, NULL, "Only waits whose producer is not known.",
	 offsetof(struct waits_args, unresolved)},
	{"chains", 0, ASSAY_OPT_FLAG, NULL,
	 "Print below each wait where its time was spent: work, the thread that launched it late, a rank.",
	 offsetof(struct waits_args, chains)},
	{"handles", 0, ASSAY_OPT_FLAG, NULL,
	 "Resolve by event handles and the order of calls alone, as a cross-check.",
	 offsetof(struct waits_args, handles)},
	{"top", 'n', ASSAY_OPT_TOP, "N", "Waits to list (default 20, with --json all; 0: all).",
	 offsetof(struct waits_args, top)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Write JSON for programs.",
	 offsetof(struct waits_args, json)},
	ASSAY_OPT_RANKS(offsetof(struct waits_args, ranks)),
};

static const assay_example waits_examples[] = {
	{"assay waits demo/train.json.gz", "what the bundled run waited for"},
	{"assay waits --stream 13 --min 1us demo/train.json.gz", "one stream"},
	{"assay waits --chains --top 3 demo/train.json.gz", "where their time was spent"},
	{"assay waits --unresolved --json demo/train.json.gz", "what is not known, for a program"},
};

const assay_cmd assay_cmd_waits = {
	.name = "waits",
	.args = "INPUT...",
	.about = "Show every wait and what it waited for",
	.details =
		"Lists event, stream and device synchronisation, stream waits and blocking copies, most time lost\n"
		"first: a thread loses the time it spent in the call, a stream the time by which its next work\n"
		"could have started earlier.\n\n"
		"After the arrow stands what was waited for: the event, the stream it was recorded on, and the\n"
		"last work on that stream before the record. The answer is exact unless the line says otherwise:\n"
		"likely or ambiguous, with the reason, or how much of the wait came after the work it is said to\n"
		"have waited for and is unexplained.\n\n"
		"Recordings by `assay record` name every event. A torch.profiler trace does so only when CUPTI\n"
		"reported the names.",
	ASSAY_OPTS(waits_opts),
	ASSAY_EXAMPLES(waits_examples),
	.args_size = sizeof(struct waits_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = waits_run,
};

/* assay env diff: which difference of the environment explains two runs that diverge. */
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "render/env.h"

enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

struct diff_args {
	const char *baseline, *fail_on;
	bool json, unknown, explain, markdown;
};

static bool word_matches(assay_str word, const assay_env_row *row)
{
	if (assay_str_is(word, "absent"))
		return row->kind == ASSAY_ENV_ABSENT || row->kind == ASSAY_ENV_ADDED;
	return row->kind != ASSAY_ENV_UNKNOWN &&
	       (assay_str_is(word, "any") || assay_str_is(word, assay_env_group_word[row->group]));
}

static bool is_word(assay_str word)
{
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		if (assay_str_is(word, assay_env_group_word[g]))
			return true;
	return assay_str_is(word, "unknown") || assay_str_is(word, "absent") ||
	       assay_str_is(word, "any");
}

static bool words_known(const char *list)
{
	assay_str rest = assay_str_of(list);
	for (bool first = true; first || rest.n; first = false) {
		assay_str word = assay_str_cut(&rest, ',');
		if (is_word(word))
			continue;
		assay_say_on("assay env diff: --fail-on does not know '%.*s'; there are",
			     (int)word.n, word.p);
		for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
			assay_say_on(" %s,", assay_env_group_word[g]);
		assay_say(" absent, unknown, any");
		return false;
	}
	return true;
}

/* Of somebody, whether others know it or not. */
static bool something_unknown(const assay_env_result *r)
{
	uint32_t n = r->unknown;
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		n += r->open[g];
	return n != 0;
}

static int verdict(const assay_env_result *r, const char *fail_on)
{
	if (!fail_on)
		return r->different ? EXIT_DIFFERENT : EXIT_SAME;
	assay_str rest = assay_str_of(fail_on);
	while (rest.n) {
		assay_str word = assay_str_cut(&rest, ',');
		if (assay_str_is(word, "unknown") && something_unknown(r))
			return EXIT_DIFFERENT;
		for (size_t i = 0; i < r->rows.n; i++)
			if (word_matches(word, &r->rows.p[i]))
				return EXIT_DIFFERENT;
	}
	return EXIT_SAME;
}

static void print_json(assay_env_set *set, const assay_env_result *r)
{
	assay_jsonw w = {0};
	assay_env_diff_put(&w, set, r);
	assay_cmd_put_json(&w);
}

static int diff_run(const void *args, char **operands, int n)
{
	const struct diff_args *a = args;
	assay_env_telling t = {a->baseline, a->unknown, a->explain};
	assay_env_set set = {0};
	assay_env_result r = {0};
	assay_err err = {0};
	int status = EXIT_TROUBLE;
	if (n + (a->baseline != NULL) < 2) {
		assay_say("assay env diff: two snapshots are needed");
		return EXIT_TROUBLE;
	}
	if (a->fail_on && !words_known(a->fail_on))
		return EXIT_TROUBLE;
	if (!assay_env_diff_read(&set, a->baseline, (const char *const *)operands, (size_t)n, &err))
		goto out;
	assay_env_compare(&set, a->baseline ? 0 : -1, &r);
	if (a->json)
		print_json(&set, &r);
	else if (a->markdown)
		assay_env_diff_markdown(&set, &r, &t);
	else
		assay_env_diff_text(&set, &r, &t);
	status = verdict(&r, a->fail_on);
out:
	if (err.code)
		assay_cmd_error(&err);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return status;
}

#define AT(member) offsetof(struct diff_args, member)
static const assay_opt diff_opts[] = {
	{"baseline", 'b', ASSAY_OPT_TEXT, "FILE",
	 "Compare with this snapshot instead of the majority.", AT(baseline)},
	{"unknown", 'u', ASSAY_OPT_FLAG, NULL, "List what only one side knows, or nobody, too.",
	 AT(unknown)},
	{"explain", 'e', ASSAY_OPT_FLAG, NULL,
	 "Print with each difference the command or setting that would make them equal.",
	 AT(explain)},
	{"fail-on", 0, ASSAY_OPT_TEXT, "LIST",
	 "Exit with 1 only for differences in these groups: driver, runtime, math, framework, kernels, variables, host, other; absent, unknown, any. Default: any.",
	 AT(fail_on)},
	{"markdown", 'm', ASSAY_OPT_FLAG, NULL, "Print a Markdown table.", AT(markdown)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Print the comparison as JSON.", AT(json)},
};
#undef AT

static const assay_example diff_examples[] = {
	{"assay env diff examples/env/a.json examples/env/a.json",
	 "nothing differs: exit status 0"},
	{"assay env diff --explain examples/env/a.json examples/env/b.json || test $? -eq 1",
	 "what differs, most consequential first, and what would change it: exit status 1"},
	{"assay env diff --json examples/env/a.json examples/env/b.json examples/env/a.json || test $? -eq 1",
	 "three snapshots: who is the odd one out"},
	{"assay env diff --fail-on absent,kernels examples/env/a.json examples/env/a.json",
	 "in a job's prologue: only these differences stop it"},
};

const assay_cmd assay_cmd_env_diff = {
	.name = "env diff",
	.args = "SNAPSHOT...",
	.about = "Show what differs between environment snapshots, most consequential first",
	.details =
		"Two snapshots are compared field by field; with more, each is compared with the majority (or\n"
		"--baseline), so that the odd one out of many ranks is named, and hosts that are alike are listed\n"
		"together. The first line names the cause; what follows from a difference is folded under it.\n"
		"Versions are ordered as numbers; a digest that differs while the version does not is shown as\n"
		"another build. GPUs are matched by their UUID on one machine, else by their bus, not by their\n"
		"order. Where FILE.catalog.json lies beside FILE.json, the files of a kernel database that differ\n"
		"are named.\n\n"
		"A fact is present, absent (looked for, and not there) or unknown. Absent against present is a\n"
		"difference, and comes first in its group. What only one side knows is counted apart, and nothing\n"
		"is called identical while something is unknown. When and where a snapshot was taken never\n"
		"counts.\n\n"
		"A SNAPSHOT is a file, or a run directory with an env.json. Schema 1.0, 1.1 and later are read,\n"
		"with or without our own block.\n\n"
		"Exit status: 0 when nothing differs, 1 when something does, 2 for trouble.",
	ASSAY_OPTS(diff_opts),
	ASSAY_EXAMPLES(diff_examples),
	.args_size = sizeof(struct diff_args),
	.min_operands = 1,
	.max_operands = -1,
	.trouble = EXIT_TROUBLE,
	.run = diff_run,
};

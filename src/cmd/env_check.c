/* assay env check: expected facts, for the prologue of a job. */
#include <stdio.h>

#include "base/input.h"
#include "cmd/cmd.h"
#include "cmd/env.h"
#include "render/env.h"

enum { EXIT_HOLDS = 0, EXIT_BROKEN = 1, EXIT_TROUBLE = 2, RULES_MAX = 16 << 20 };

struct check_args {
	bool json;
};

static bool read_rules(assay_env_rules *rules, const char *file, assay_err *err)
{
	assay_input *in = assay_input_open(file, err);
	*rules = (assay_env_rules){0};
	if (!in)
		return false;
	assay_view v = assay_input_view(in, 0, RULES_MAX);
	bool ok = assay_env_rules_parse(rules, file, (assay_str){v.p, v.n}, err);
	assay_input_close(in);
	return ok;
}

/* This machine, as it is now. */
static bool add_here(assay_env_set *set, assay_err *err)
{
	assay_env env;
	bool ok = assay_env_probe(&env, &(assay_env_opts){.size = sizeof(assay_env_opts)}, err) &&
		  assay_env_set_add_text(set, "here", assay_env_padded(&set->arena, &env), err);
	assay_env_free(&env);
	return ok;
}

static int check_run(const void *args, char **operands, int n)
{
	const struct check_args *a = args;
	assay_env_set set = {0};
	assay_env_rules rules;
	assay_env_violations found = {0};
	assay_jsonw w = {0};
	assay_err err = {0};
	int status = EXIT_TROUBLE;
	if (!read_rules(&rules, operands[0], &err) || (n == 1 && !add_here(&set, &err)))
		goto out;
	for (int i = 1; i < n; i++)
		if (!assay_env_set_add(&set, operands[i], &err))
			goto out;
	assay_env_check(&set, &rules, &found);
	if (a->json) {
		assay_env_check_put(&w, &set, &found);
		assay_cmd_put_json(&w);
	} else {
		assay_env_check_text(stdout, &set, operands[0], &found);
	}
	status = found.n ? EXIT_BROKEN : EXIT_HOLDS;
out:
	if (err.code)
		assay_cmd_error(&err);
	assay_vec_free(&found);
	assay_env_rules_free(&rules);
	assay_env_set_free(&set);
	return status;
}

static const assay_opt check_opts[] = {
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Print the violations as JSON.",
	 offsetof(struct check_args, json)},
};

static const assay_example check_examples[] = {
	{"assay env check examples/env/rules.txt examples/env/a.json",
	 "every rule holds: no line, exit status 0"},
	{"assay env check examples/env/rules.txt examples/env/a.json examples/env/b.json || test $? -eq 1",
	 "one line a violation: exit status 1"},
};

static const assay_term check_operators[] = {
	{"= !=", "Compare text."},
	{">= <= > <", "Compare versions and numbers."},
	{"~", "The value matches a pattern with * and ?."},
	{"count", "So many things have the name: assay.gpus.* count 8, or count >= 8."},
	{"present, absent", "The fact is there, or is not; no VALUE."},
	{"equal",
	 "The value is the same on all hosts; those that differ from most are named. No VALUE."},
};

const assay_cmd assay_cmd_env_check = {
	.name = "env check",
	.args = "RULES [SNAPSHOT...]",
	.about = "Check environments against rules, one line for each violation",
	.details =
		"RULES holds one rule a line: PATH OPERATOR VALUE. PATH is a field of the snapshot, and may hold\n"
		"* and ?; every field it names has to satisfy the rule, in every SNAPSHOT (a file, or a run\n"
		"directory). Without a SNAPSHOT this machine is checked. Lines that start with # are comments. A\n"
		"fact that is unknown satisfies no rule.\n\n"
		"Exit status: 0 when every rule holds, 1 when one does not, 2 for trouble.",
	ASSAY_TERMS("operators", check_operators),
	ASSAY_OPTS(check_opts),
	ASSAY_EXAMPLES(check_examples),
	.args_size = sizeof(struct check_args),
	.min_operands = 1,
	.max_operands = -1,
	.trouble = EXIT_TROUBLE,
	.run = check_run,
};

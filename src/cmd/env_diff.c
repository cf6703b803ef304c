/* assay env diff: which difference of the environment explains two runs that diverge. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/envdiff.h"
#include "base/jsonw.h"
#include "cmd/cmd.h"

enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2, LISTED = 8 };

struct diff_args {
	const char *baseline;
	bool json, unknown;
};

static bool deviates(const assay_env_set *set, const assay_env_row *row, size_t doc)
{
	assay_sid v = assay_env_cell(set, doc, row->path_no);
	return v != row->a && !(v && row->a && assay_env_agrees(set, row->a, v));
}

static const char *const kind_words[] = {
	[ASSAY_ENV_DIFFERENT] = "",
	[ASSAY_ENV_NEWER] = " (newer)",
	[ASSAY_ENV_OLDER] = " (older)",
	[ASSAY_ENV_REBUILT] = " (same version, different build)",
	[ASSAY_ENV_UNKNOWN] = " (unknown on one side)",
};

static void pair_row(assay_env_set *set, const assay_env_row *row)
{
	printf("  %-44s %s -> %s", row->path, assay_env_shown(set, row, row->a),
	       assay_env_shown(set, row, row->b));
	printf("%s\n      %s%s%s\n", kind_words[row->kind], row->why,
	       row->cause ? "; follows from " : "", row->cause ? row->cause : "");
}

/* The majority, then everybody who says something else. */
static void many_row(assay_env_set *set, const assay_env_row *row)
{
	size_t listed = 0, others = 0;
	printf("  %-44s %s in %u of %zu\n", row->path, assay_env_shown(set, row, row->a),
	       row->agree, set->docs.n);
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, row->path_no);
		if (!deviates(set, row, i))
			continue;
		if (listed == LISTED) {
			others++;
			continue;
		}
		listed++;
		printf("      %-40s %s%s\n", set->docs.p[i].name, assay_env_shown(set, row, v),
		       v == row->b ? kind_words[row->kind] : "");
	}
	if (others)
		printf("      and %zu more\n", others);
	printf("      %s%s%s\n", row->why, row->cause ? "; follows from " : "",
	       row->cause ? row->cause : "");
}

static void print_groups(assay_env_set *set, const assay_env_result *r, bool pair, bool unknown)
{
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++) {
		bool open = false;
		for (size_t i = 0; i < r->rows.n; i++) {
			const assay_env_row *row = &r->rows.p[i];
			if ((int)row->group != g || (row->kind == ASSAY_ENV_UNKNOWN && !unknown))
				continue;
			if (!open)
				printf("%s\n", assay_env_group_name((assay_env_group)g));
			open = true;
			(pair ? pair_row : many_row)(set, row);
		}
	}
}

static void print_fold(const assay_env_result *r, bool unknown)
{
	uint32_t same = 0, groups = 0;
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++) {
		bool any = false;
		for (size_t i = 0; i < r->rows.n; i++)
			any |= (int)r->rows.p[i].group == g &&
			       r->rows.p[i].kind != ASSAY_ENV_UNKNOWN;
		same += r->same[g];
		groups += !any;
	}
	printf("\n%u different, %u same (%u of %d groups identical)", r->different, same, groups,
	       ASSAY_ENV_GROUPS);
	if (r->unknown)
		printf(", %u unknown on one side%s", r->unknown,
		       unknown ? "" : " (--unknown lists them)");
	printf("\n");
}

static void json_row(assay_jsonw *w, const assay_env_set *set, const assay_env_row *row)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "path", row->path);
	assay_jsonw_z(w, "group", assay_env_group_name(row->group));
	assay_jsonw_z(w, "kind", assay_env_kind_name(row->kind));
	assay_jsonw_z(w, "why", row->why);
	assay_jsonw_z(w, "follows_from", row->cause);
	assay_jsonw_z(w, "value", assay_env_value(set, row->a));
	assay_jsonw_u64(w, "agree", row->agree);
	assay_jsonw_open(w, "deviating", '[');
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_sid v = assay_env_cell(set, i, row->path_no);
		if (!deviates(set, row, i))
			continue;
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "snapshot", set->docs.p[i].name);
		assay_jsonw_z(w, "value", assay_env_value(set, v));
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void print_json(const assay_env_set *set, const assay_env_result *r)
{
	assay_jsonw w = {0};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_open(&w, "snapshots", '[');
	for (size_t i = 0; i < set->docs.n; i++) {
		assay_jsonw_open_flat(&w, NULL, '{');
		assay_jsonw_z(&w, "name", set->docs.p[i].name);
		assay_jsonw_z(&w, "host", set->docs.p[i].host);
		assay_jsonw_z(&w, "schema_version", set->docs.p[i].schema);
		assay_jsonw_close(&w, '}');
	}
	assay_jsonw_close(&w, ']');
	assay_jsonw_u64(&w, "different", r->different);
	assay_jsonw_u64(&w, "unknown", r->unknown);
	assay_jsonw_open(&w, "same", '{');
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		assay_jsonw_u64(&w, assay_env_group_name((assay_env_group)g), r->same[g]);
	assay_jsonw_close(&w, '}');
	assay_jsonw_open(&w, "rows", '[');
	for (size_t i = 0; i < r->rows.n; i++)
		json_row(&w, set, &r->rows.p[i]);
	assay_jsonw_close(&w, ']');
	assay_jsonw_close(&w, '}');
	assay_cmd_put_json(&w);
}

/* How often each snapshot is the odd one out: the machine to look at first. */
static void print_suspects(const assay_env_set *set, const assay_env_result *r)
{
	size_t worst = 0, most = 0;
	for (size_t i = 0; i < set->docs.n; i++) {
		size_t n = 0;
		for (size_t k = 0; k < r->rows.n; k++) {
			const assay_env_row *row = &r->rows.p[k];
			n += row->kind != ASSAY_ENV_UNKNOWN && deviates(set, row, i);
		}
		if (n > most) {
			most = n;
			worst = i;
		}
	}
	if (most)
		printf("deviates most: %s (%zu of %u)\n", set->docs.p[worst].name, most,
		       r->different);
}

static void print_text(assay_env_set *set, const assay_env_result *r, const struct diff_args *a)
{
	bool pair = set->docs.n == 2;
	if (pair)
		printf("%s -> %s\n\n", set->docs.p[0].name, set->docs.p[1].name);
	else
		printf("%zu snapshots against %s\n\n", set->docs.n,
		       a->baseline ? a->baseline : "the majority");
	print_groups(set, r, pair, a->unknown);
	print_fold(r, a->unknown);
	if (!pair && !a->baseline)
		print_suspects(set, r);
}

/* Of a run directory, the snapshot in it. */
static bool add_snapshot(assay_env_set *set, const char *path, assay_err *err)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		path = assay_printf(&set->arena, "%s/env.json", path);
	return assay_env_set_add(set, path, err);
}

static int diff_run(const void *args, char **operands, int n)
{
	const struct diff_args *a = args;
	assay_env_set set = {0};
	assay_env_result r = {0};
	assay_err err = {0};
	int status = EXIT_TROUBLE;
	if (n + (a->baseline != NULL) < 2) {
		fprintf(stderr, "assay env diff: two snapshots are needed\n");
		return EXIT_TROUBLE;
	}
	if (a->baseline && !add_snapshot(&set, a->baseline, &err))
		goto out;
	for (int i = 0; i < n; i++)
		if (!add_snapshot(&set, operands[i], &err))
			goto out;
	assay_env_compare(&set, a->baseline ? 0 : -1, &r);
	if (a->json)
		print_json(&set, &r);
	else
		print_text(&set, &r, a);
	status = r.different ? EXIT_DIFFERENT : EXIT_SAME;
out:
	if (err.code)
		assay_cmd_error(&err);
	assay_env_result_free(&r);
	assay_env_set_free(&set);
	return status;
}

static const assay_opt diff_opts[] = {
	{"baseline", 'b', ASSAY_OPT_TEXT, "FILE",
	 "Compare with this snapshot instead of the majority.",
	 offsetof(struct diff_args, baseline)},
	{"unknown", 'u', ASSAY_OPT_FLAG, NULL, "List fields only one side knows, too.",
	 offsetof(struct diff_args, unknown)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Print the comparison as JSON.",
	 offsetof(struct diff_args, json)},
};

static const assay_example diff_examples[] = {
	{"assay env diff examples/env/a.json examples/env/a.json",
	 "nothing differs: exit status 0"},
	{"assay env diff examples/env/a.json examples/env/b.json || test $? -eq 1",
	 "what differs, most consequential first: exit status 1"},
	{"assay env diff --json examples/env/a.json examples/env/b.json examples/env/a.json || "
	 "test $? -eq 1",
	 "three snapshots: who is the odd one out"},
};

const assay_cmd assay_cmd_env_diff = {
	.name = "env diff",
	.args = "SNAPSHOT...",
	.about = "What differs between environment snapshots, most consequential first",
	.details = "Two snapshots are compared field by field; with more, each against the "
		   "majority (or --baseline), so that "
		   "the odd one out of many ranks is named. Versions are ordered as numbers; a "
		   "digest that differs while the "
		   "version does not is told as another build. When and where a snapshot was taken "
		   "never counts, and what only "
		   "one side knows is counted apart.\n\n"
		   "A SNAPSHOT is a file, or a run directory with an env.json. Reads schema 1.0, "
		   "1.1 and later, with or without our own block.\n\n"
		   "Exit status: 0 nothing differs, 1 something does, 2 trouble.",
	ASSAY_OPTS(diff_opts),
	ASSAY_EXAMPLES(diff_examples),
	.args_size = sizeof(struct diff_args),
	.min_operands = 1,
	.max_operands = -1,
	.trouble = EXIT_TROUBLE,
	.run = diff_run,
};

/* Prints what a command prints with --json, through the public API.
 * cc json.c -lassay && ./a.out waits trace.json.gz */
#include <assay/assay.h>
#include <stdio.h>
#include <string.h>

static const char *report(assay_run *run, assay_err *err)
{
	(void)err;
	return assay_run_report_json(run, NULL);
}

static const char *waits(assay_run *run, assay_err *err)
{
	return assay_run_waits_json(run, NULL, NULL, err);
}

static const char *scopes(assay_run *run, assay_err *err)
{
	return assay_run_scopes_json(run, NULL, NULL, err);
}

static const char *path(assay_run *run, assay_err *err)
{
	return assay_run_path_json(run, NULL, NULL, err);
}

static const char *diff_with_itself(assay_run *run, assay_err *err)
{
	return assay_run_diff_json(run, run, NULL, NULL, NULL, err);
}

static const char *env(assay_run *run, assay_err *err)
{
	assay_env_query query = {.size = sizeof query, .no_hash = true};
	return assay_env_json(run, &query, NULL, err);
}

static const struct {
	const char *name;
	const char *(*text)(assay_run *run, assay_err *err);
	bool analyze;
} commands[] = {
	{"report", report, true}, {"waits", waits, true},           {"scopes", scopes, false},
	{"path", path, true},     {"diff", diff_with_itself, true}, {"env", env, false},
};

int main(int argc, char **argv)
{
	assay_err err = {0};
	assay_run *run = assay_run_new();
	const char *text = NULL;
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
		bool ok = !strcmp(commands[i].name, argv[1]);
		if (!ok)
			continue;
		for (int k = 2; ok && k < argc; k++)
			ok = assay_run_read(run, argv[k], &err);
		if (ok && commands[i].analyze)
			ok = assay_run_analyze(run, NULL, &err);
		text = ok ? commands[i].text(run, &err) : NULL;
	}
	if (text)
		puts(text);
	else
		fprintf(stderr, "%s\n", argc > 2 ? err.text : "usage: json COMMAND TRACE...");
	assay_run_free(run);
	return text ? 0 : 1;
}

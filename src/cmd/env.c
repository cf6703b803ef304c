/* assay env: the snapshot, written as JSON and told to a person. */
#include "cmd/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/folders.h"
#include "base/json.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "envs/catalog.h"
#include "render/env.h"

struct env_args {
	const char *output, *root, *python, *field;
	bool verbose, json, no_hash, health, no_cache, quick;
	int64_t pid, health_limit;
	assay_opt_list sites, vars;
};

static bool make_parents(const char *path, assay_err *err)
{
	return assay_make_parents(path, 0777) ||
	       assay_fail(err, ASSAY_IO, 0, "cannot make the folder of %s: %s", path,
			  strerror(errno));
}

/* All of it is on the disk, but for the name. */
static assay_output *written(assay_arena *a, const char *path, assay_str text, assay_err *err)
{
	const char *home = getenv("HOME");
	const char *to = path[0] == '~' && path[1] == '/' && home
				 ? assay_printf(a, "%s%s", home, path + 1)
				 : path;
	assay_output *o = make_parents(to, err) ? assay_output_open(to, err) : NULL;
	if (o)
		fwrite(text.p, 1, text.n, assay_output_file(o));
	if (!o || assay_output_finish(o, err))
		return o;
	assay_output_drop(o);
	return NULL;
}

/* The member the path starts with; keys hold dots themselves, so the longest one. */
static bool find_member(assay_json *j, assay_str *path, assay_str *value)
{
	assay_str key, v;
	size_t best = 0;
	bool found = false;
	while (assay_json_member(j, &key) && assay_json_skip(j, &v)) {
		bool fits = path->n >= key.n && !memcmp(path->p, key.p, key.n) &&
			    (path->n == key.n || path->p[key.n] == '.');
		if (!fits || (found && key.n < best))
			continue;
		found = true;
		best = key.n;
		*value = v;
	}
	if (found)
		*path = path->n > best ? (assay_str){path->p + best + 1, path->n - best - 1}
				       : (assay_str){"", 0};
	return found;
}

/* The value at a dotted path. On false, *text is where it stopped (an object or a value). */
static bool find_field(assay_str *text, assay_str path)
{
	while (path.n) {
		assay_json j = assay_json_on(text->p, text->n);
		assay_str value;
		bool found = false;
		if (assay_json_peek(&j) == '[') {
			assay_str want = assay_str_cut(&path, '.');
			int64_t index = -1, at = 0;
			if (assay_str_i64(want, &index) && assay_json_enter(&j, '['))
				while (!found && assay_json_element(&j) &&
				       assay_json_skip(&j, &value))
					found = at++ == index;
		} else if (assay_json_peek(&j) == '{' && assay_json_enter(&j, '{')) {
			found = find_member(&j, &path, &value);
		}
		if (!found)
			return false;
		*text = value;
	}
	return true;
}

static int print_field(assay_str json, const char *path)
{
	assay_arena a = {0};
	assay_str at = json, key;
	int status = ASSAY_EXIT_OK;
	if (find_field(&at, assay_str_of(path))) {
		bool text = at.n >= 2 && *at.p == '"';
		assay_str v = text ? assay_json_unescape(&a, (assay_str){at.p + 1, at.n - 2}) : at;
		printf("%.*s\n", (int)v.n, v.p);
	} else {
		status = ASSAY_EXIT_FAIL;
		assay_say_on("assay env: there is no field '%s'; beside it there are:", path);
		assay_json j = assay_json_on(at.p, at.n);
		if (assay_json_peek(&j) == '{' && assay_json_enter(&j, '{'))
			while (assay_json_member(&j, &key) && assay_json_skip(&j, NULL))
				assay_say_on(" %.*s", (int)key.n, key.p);
		fputc('\n', stderr);
	}
	assay_arena_free(&a);
	return status;
}

/* The snapshot, and beside X.json the list of kernel files as X.catalog.json: both or neither. */
static bool save_both(const char *path, const assay_env *e, assay_str json, assay_err *err)
{
	assay_arena a = {0};
	assay_jsonw w = {0};
	assay_output *snapshot = written(&a, path, json, err), *list = NULL;
	bool lists = snapshot && assay_env_write_catalog(e, &w);
	if (lists)
		list = written(&a, assay_env_catalog_path(&a, path), assay_jsonw_text(&w), err);
	bool ok = snapshot && (!lists || (list && assay_output_close(list, err)));
	if (ok)
		ok = assay_output_close(snapshot, err);
	else if (snapshot)
		assay_output_drop(snapshot);
	assay_jsonw_free(&w);
	assay_arena_free(&a);
	return ok;
}

/* With a progress line on a terminal: digests that are not remembered may take long. */
static bool probe(assay_env *env, assay_env_opts *opts, assay_err *err)
{
	assay_cmd_progress progress = assay_cmd_progress_now();
	if (isatty(STDERR_FILENO)) {
		opts->progress = assay_cmd_show_progress;
		opts->progress_ctx = &progress;
	}
	bool ok = assay_env_probe(env, opts, err);
	assay_cmd_end_progress(&progress);
	return ok;
}

static bool save_snapshot(const char *path, const assay_env *env, assay_err *err)
{
	assay_arena text = {0};
	bool ok = save_both(path, env, assay_env_padded(&text, env), err);
	assay_arena_free(&text);
	return ok;
}

/* What goes wrong here goes wrong once more when all is known. */
static void save_early(void *path, const assay_env *env)
{
	assay_err err = {0};
	save_snapshot(path, env, &err);
}

bool assay_env_save(const char *path, assay_env_opts *opts, assay_err *err)
{
	assay_env env;
	opts->early = save_early;
	opts->early_ctx = (void *)(uintptr_t)path;
	bool ok = assay_env_probe(&env, opts, err) && save_snapshot(path, &env, err);
	assay_env_free(&env);
	return ok;
}

static int deliver(const assay_env *e, const struct env_args *a, assay_str json)
{
	assay_err err = {0};
	bool to_stdout = a->output && !strcmp(a->output, "-");
	bool quiet = a->json || a->field || to_stdout;
	if (a->output && !to_stdout && !save_both(a->output, e, json, &err)) {
		assay_cmd_error(&err);
		return ASSAY_EXIT_FAIL;
	}
	if (a->field)
		return print_field(json, a->field);
	if (quiet) {
		printf("%s\n", json.p);
	} else {
		assay_cmd_text text;
		assay_env_text(assay_cmd_text_open(&text), e, a->output,
			       a->verbose ? json.p : NULL);
		assay_cmd_text_close(&text);
	}
	return ASSAY_EXIT_OK;
}

static int env_run(const void *args, char **operands, int n)
{
	(void)operands;
	(void)n;
	const struct env_args *a = args;
	assay_env env;
	assay_err err = {0};
	const char *sites[ASSAY_OPT_LIST_MAX + 1] = {0};
	memcpy(sites, a->sites.item, a->sites.n * sizeof *sites);
	const char *vars[ASSAY_OPT_LIST_MAX + 1] = {0};
	memcpy(vars, a->vars.item, a->vars.n * sizeof *vars);
	for (size_t i = 0; i < a->vars.n; i++)
		if (!strchr(vars[i], '=')) {
			assay_say("assay env: --env takes NAME=VALUE, not '%s'", vars[i]);
			return ASSAY_EXIT_USAGE;
		}
	assay_env_opts opts = {.size = sizeof opts,
			       .root = a->root,
			       .python = a->python,
			       .pid = (pid_t)a->pid,
			       .sites = a->sites.n ? sites : NULL,
			       .vars = a->vars.n ? vars : NULL,
			       .no_hash = a->no_hash,
			       .quick = a->quick,
			       .health = a->health,
			       .no_cache = a->no_cache,
			       .health_ns = a->health_limit};
	assay_arena text = {0};
	int status = ASSAY_EXIT_FAIL;
	if (probe(&env, &opts, &err))
		status = deliver(&env, a, assay_env_padded(&text, &env));
	else
		assay_cmd_error(&err);
	assay_arena_free(&text);
	assay_env_free(&env);
	return status;
}

#define AT(member) offsetof(struct env_args, member)
static const assay_opt env_opts[] = {
	{"output", 'o', ASSAY_OPT_TEXT, "FILE",
	 "File to write the snapshot to; - is standard output. Without it no file is written.",
	 AT(output)},
	{"verbose", 'v', ASSAY_OPT_FLAG, NULL, "Print the whole snapshot after the summary.",
	 AT(verbose)},
	{"json", 'j', ASSAY_OPT_FLAG, NULL, "Print the snapshot and nothing else.", AT(json)},
	{"field", 'f', ASSAY_OPT_TEXT, "PATH",
	 "Print one value, by its dotted path: rocblas.lib_hash.", AT(field)},
	{"root", 0, ASSAY_OPT_TEXT, "DIR",
	 "Probe an unpacked image; nothing outside it is touched.", AT(root)},
	{"python", 0, ASSAY_OPT_TEXT, "PATH",
	 "Python interpreter, or its prefix. Default: VIRTUAL_ENV, CONDA_PREFIX, then python3 on PATH (in an image without a PATH: /opt/venv and /opt/conda first).",
	 AT(python)},
	{"site", 0, ASSAY_OPT_LIST, "DIR",
	 "A site-packages folder to look in first; may be repeated.", AT(sites)},
	{"env", 0, ASSAY_OPT_LIST, "NAME=VALUE",
	 "An environment variable to assume; may be repeated. With --root there are no others: an image has none of its own.",
	 AT(vars)},
	{"pid", 'p', ASSAY_OPT_INT, "N",
	 "Describe a running process: its environment variables, and the libraries it has mapped.",
	 AT(pid)},
	{"no-hash", 0, ASSAY_OPT_FLAG, NULL, "Leave out the SHA-256 of libraries.", AT(no_hash)},
	{"quick", 0, ASSAY_OPT_FLAG, NULL,
	 "For kernel databases over 64 MB, use cached digests only.", AT(quick)},
	{"no-cache", 0, ASSAY_OPT_FLAG, NULL, "Hash every library anew, and cache no digest.",
	 AT(no_cache)},
	{"health", 0, ASSAY_OPT_FLAG, NULL, "Run AMD's health check rdhc and keep its results.",
	 AT(health)},
	{"health-limit", 0, ASSAY_OPT_SPAN, "TIME", "Stop rdhc after this long. Default: 30s.",
	 AT(health_limit)},
};
#undef AT

static const assay_example env_examples[] = {
	{"assay env -o -", "the snapshot on standard output"},
	{"assay env --no-hash --json", "the same in a few milliseconds, without library digests"},
	{"assay env --no-hash --field host.kernel_release", "one value, for a script"},
};

const assay_cmd assay_cmd_env = {
	.name = "env",
	.args = "",
	.about =
		"Take a snapshot of this machine's GPU software: driver, runtimes, math libraries, PyTorch build",
	.details =
		"Makes a snapshot (schema 1.1 plus a block of our own, see docs/formats/env.md) and prints one\n"
		"line for each block. Nothing is run or imported: versions come from files, ELF tables, /proc and\n"
		"/sys, and from NVML where there is one.\n\n"
		"A fact that should be known and is not makes the snapshot [PARTIAL], with the reason; what is\n"
		"normally absent on a machine like this one does not. Only listed environment variables are\n"
		"recorded.\n\n"
		"Digests of libraries and of the files of kernel databases are cached in $XDG_CACHE_HOME/assay by\n"
		"the file's identity and change time: the first snapshot reads all files, later ones only those\n"
		"that changed. With -o FILE.json the list of kernel files goes to FILE.catalog.json, from which\n"
		"`assay env diff` names those that differ.\n\n"
		"Exit status: 0 when a snapshot was made, partial or not; 1 when it could not be written.",
	ASSAY_OPTS(env_opts),
	ASSAY_EXAMPLES(env_examples),
	.args_size = sizeof(struct env_args),
	.run = env_run,
};

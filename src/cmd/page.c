/* Writing the page of a report, with the notes a run directory keeps beside its traces. */
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "analyze/derived.h"
#include "api/query.h"
#include "base/fmt.h"
#include "base/input.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "path/path.h"
#include "render/html.h"
#include "resolve/resolve.h"

enum { NOTE_MAX = 1 << 20 };

typedef assay_vec(assay_html_note) notes;

static void add_note(notes *out, assay_arena *a, const char *dir, const char *name, bool env)
{
	const char *path = assay_printf(a, "%s/%s", dir, name);
	struct stat st;
	assay_err err = {0};
	assay_input *in = !stat(path, &st) ? assay_input_open(path, &err) : NULL;
	if (!in)
		return;
	assay_view v = assay_input_view(in, 0, NOTE_MAX);
	assay_str text = {v.p, v.n < NOTE_MAX ? v.n : NOTE_MAX};
	const char *copy = assay_dup(a, text);
	*assay_push(out) = (assay_html_note){path, env, {copy, text.n}};
	assay_input_close(in);
}

static void find_notes(notes *out, assay_arena *a, const char *operand)
{
	struct stat st;
	if (stat(operand, &st) || !S_ISDIR(st.st_mode))
		return;
	add_note(out, a, operand, "run.json", false);
	add_note(out, a, operand, "env.json", true);
}

static bool write_page(const assay_html_run *runs, size_t n, const assay_diff *diff,
		       const char *path)
{
	assay_err err = {0};
	assay_html_size size;
	if (!assay_html_write(runs, n, diff, path, &size, &err)) {
		assay_cmd_error(&err);
		return false;
	}
	char page[ASSAY_FMT], spans[ASSAY_FMT];
	assay_say("%s: %s, %s events on its timeline", path, assay_fmt_bytes(page, size.page),
		  assay_fmt_count(spans, size.spans));
	return true;
}

/* What the page needs beyond a report: its scopes, derived rows, chains of waits, critical path and
 * what lay beside it. */
struct prepared {
	notes found;
	assay_jsonw scopes;
	assay_path path;
};

static assay_html_run prepare(struct prepared *p, assay_arena *a, assay_run *run, char **operands,
			      size_t n)
{
	for (size_t i = 0; i < n; i++)
		find_notes(&p->found, a, operands[i]);
	assay_scopes(run, NULL);
	assay_derive(run);
	assay_wait_chains(run);
	p->scopes.compact = true;
	assay_scopes_by_path_json(&p->scopes, run);
	const assay_path_opts median = {.step = ASSAY_PATH_MEDIAN};
	bool has_path = assay_path_find(run, &median, &p->path, NULL);
	return (assay_html_run){run, p->found.p, p->found.n, assay_jsonw_text(&p->scopes),
				has_path ? &p->path : NULL};
}

static void prepared_free(struct prepared *p)
{
	assay_vec_free(&p->found);
	assay_jsonw_free(&p->scopes);
	assay_path_free(&p->path);
}

bool assay_cmd_page(assay_run *run, char **operands, const char *path)
{
	assay_arena scratch = {0};
	struct prepared p = {0};
	size_t n = 0;
	if (assay_cmd_is_input(run, "report", path))
		return false;
	while (operands[n])
		n++;
	assay_html_run shown = prepare(&p, &scratch, run, operands, n);
	bool ok = write_page(&shown, 1, NULL, path);
	prepared_free(&p);
	assay_arena_free(&scratch);
	return ok;
}

bool assay_cmd_diff_page(const assay_diff *diff, assay_run *a, assay_run *b, char **operands,
			 const char *path)
{
	assay_arena scratch = {0};
	struct prepared of_a = {0}, of_b = {0};
	if (assay_cmd_is_input(a, "diff", path) || assay_cmd_is_input(b, "diff", path))
		return false;
	const assay_html_run runs[] = {prepare(&of_a, &scratch, a, operands, 1),
				       prepare(&of_b, &scratch, b, operands + 1, 1)};
	bool ok = write_page(runs, 2, diff, path);
	prepared_free(&of_a);
	prepared_free(&of_b);
	assay_arena_free(&scratch);
	return ok;
}

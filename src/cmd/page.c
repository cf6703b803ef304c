/* Writing the page of a report, with the notes a run directory keeps beside its traces. */
#include <sys/stat.h>

#include "base/fmt.h"
#include "base/input.h"
#include "cmd/cmd.h"
#include "render/html.h"

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

bool assay_cmd_page(const assay_run *run, char **operands, const char *path)
{
	assay_arena scratch = {0};
	notes found = {0};
	for (; *operands; operands++) {
		struct stat st;
		if (stat(*operands, &st) || !S_ISDIR(st.st_mode))
			continue;
		add_note(&found, &scratch, *operands, "run.json", false);
		add_note(&found, &scratch, *operands, "env.json", true);
	}
	assay_err err = {0};
	assay_html_size size;
	bool ok = assay_report_html(run, found.p, found.n, path, &size, &err);
	char page[ASSAY_FMT], spans[ASSAY_FMT];
	if (ok)
		fprintf(stderr, "%s: %s, %s events on its timeline\n", path,
			assay_fmt_bytes(page, size.page), assay_fmt_count(spans, size.spans));
	else
		assay_cmd_error(&err);
	assay_vec_free(&found);
	assay_arena_free(&scratch);
	return ok;
}

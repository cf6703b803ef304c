#include "api/captures.h"

#include "read/reader.h"
#include "work/captures.h"

struct taking {
	assay_captures captures;
	assay_run *run;
};

static void take(void *ctx, const assay_run *recording)
{
	struct taking *k = ctx;
	assay_captures_take(&k->captures, k->run, recording);
}

/* One recording at a time: there is one for each size of batch, and they are large. */
static bool read_one(struct taking *k, const char *path, assay_err *err)
{
	assay_run *said = assay_run_new();
	assay_each each = {.ctx = k, .take = take};
	char *paths[] = {assay_dup(&k->run->arena, assay_str_of(path))};
	bool ok = assay_read_each(said, paths, 1, &each, err);
	assay_run_free(said);
	return ok;
}

/* What was met on the way is a help, and its trouble a warning. */
static void read_met(struct taking *k)
{
	const assay_meta_table *m = &k->run->part.t.meta;
	assay_err err = {0};
	for (size_t i = 0; i < m->n; i++)
		if (assay_str_is(assay_text(k->run, m->key[i]), "captures") &&
		    !read_one(k, assay_z(k->run, m->value[i]), &err))
			assay_warn(k->run, "captures", "%s", err.text);
}

void assay_explain_programs(assay_run *run)
{
	assay_captures c = {0};
	if (run->part.t.gpu_captured.n)
		return;
	assay_captures_take_programs(&c, run);
	assay_captures_give(&c, run);
	assay_captures_free(&c);
}

bool assay_explain_graphs(assay_run *run, const char *path, assay_err *err)
{
	struct taking k = {.run = run};
	assay_captures_take(&k.captures, run, run);
	assay_captures_take_programs(&k.captures, run);
	bool ok = !path || read_one(&k, path, err);
	if (!path)
		read_met(&k);
	if (ok)
		assay_captures_give(&k.captures, run);
	assay_captures_free(&k.captures);
	return ok;
}

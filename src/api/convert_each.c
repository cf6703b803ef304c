#include "api/convert_each.h"

#include <errno.h>
#include <string.h>

#include "base/folders.h"
#include "base/test.h"
#include "write/folder.h"

/* ---- names ---- */

/* The path as seen from the operand it was found below. */
static assay_str seen_from(const assay_convert_each *c, assay_str path)
{
	for (size_t i = 0; i < c->operand_n; i++) {
		assay_str base = assay_str_of(c->operands[i]);
		while (base.n && base.p[base.n - 1] == '/')
			base.n--;
		if (base.n && path.n > base.n + 1 && !memcmp(path.p, base.p, base.n) &&
		    path.p[base.n] == '/')
			return (assay_str){path.p + base.n + 1, path.n - base.n - 1};
	}
	size_t folder = assay_str_folder(path).n;
	return (assay_str){path.p + folder, path.n - folder};
}

static const char *file_name(assay_convert_each *c, const assay_run *file)
{
	assay_str path = assay_text(file, file->part.t.source.path[0]);
	char *name =
		assay_dup(&c->arena, assay_without_ends(assay_process_stem(seen_from(c, path))));
	for (char *p = name; *p; p++)
		if (*p == '/' || *p == ' ')
			*p = '-';
	for (size_t n = strlen(name); n && name[n - 1] == '_';)
		name[--n] = '\0';
	const char *unique = name;
	for (unsigned i = 2;
	     *assay_map_at(&c->names, assay_hash(unique, strlen(unique), 0)) != ASSAY_MAP_ABSENT;
	     i++)
		unique = assay_printf(&c->arena, "%s-%u", name, i);
	*assay_map_at(&c->names, assay_hash(unique, strlen(unique), 0)) = 1;
	return unique;
}

/* ---- processes ---- */

static void work(void *ctx, assay_run *file)
{
	const assay_convert_each *c = ctx;
	assay_err err = {0};
	if (!assay_run_prepare(file, c->writer, &err))
		assay_warn(file, "convert", "%s", err.text);
	else
		assay_convert_prepare(file, c->writer, c->query);
}

static void find_folder(assay_convert_each *c, const assay_run *file)
{
	size_t n = strlen(c->folder);
	const char *below = c->writer->place ? c->writer->place(file, &c->arena) : "";
	const char *all = assay_printf(&c->arena, "%s%s%s", c->folder,
				       n && c->folder[n - 1] == '/' ? "" : "/", below);
	assay_vec_reserve(&c->below, strlen(all) + 1);
	memcpy(c->below.p, all, strlen(all) + 1);
	c->below.n = strlen(all);
}

static bool write_one(assay_convert_each *c, const assay_run *file, assay_err *err)
{
	int made;
	bool first = !c->below.n;
	if (first)
		find_folder(c, file);
	if (!assay_make_folders(c->below.p, 0777, &made))
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", c->below.p,
				  strerror(errno));
	if (first && !assay_folder_mark(c->below.p, err))
		return false;
	const char *path = assay_printf(&c->arena, "%s%s%s", c->below.p, file_name(c, file),
					c->writer->exts[0]);
	if (assay_is_input(file, path))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "%s is an input; the output needs another folder", path);
	return assay_convert_write(file, c->writer, path, &c->lacks, err);
}

static const char *why_not(const assay_run *file)
{
	const assay_warning_table *w = &file->part.t.warning;
	for (size_t i = w->n; i-- > 0;)
		if (assay_str_is(assay_text(file, w->id[i]), "convert"))
			return assay_z(file, w->text[i]);
	return "it cannot be analyzed";
}

static void take(void *ctx, const assay_run *file)
{
	assay_convert_each *c = ctx;
	assay_err err = {0};
	bool ok = file->analyzed ||
		  assay_fail(&err, ASSAY_FORMAT, 0, "%s: %s",
			     assay_z(file, file->part.t.source.path[0]), why_not(file));
	if (ok && write_one(c, file, &err))
		c->written++;
	else if (!c->failed++)
		c->err = err;
	assay_arena_reset(&c->arena);
}

static void leave(void *ctx, const char *path)
{
	assay_convert_each *c = ctx;
	(void)path;
	c->left++;
}

assay_each assay_convert_each_of(assay_convert_each *c, size_t more_than)
{
	return (assay_each){
		.ctx = c, .more_than = more_than, .work = work, .take = take, .leave = leave};
}

void assay_convert_each_end(assay_convert_each *c)
{
	assay_err err = {0};
	if (c->below.n && !assay_folder_unmark(c->below.p, &err) && !c->failed++)
		c->err = err;
}

void assay_convert_each_free(assay_convert_each *c)
{
	assay_vec_free(&c->below);
	assay_map_free(&c->names);
	assay_arena_free(&c->arena);
	assay_arena_free(&c->lacks.arena);
}

TEST(files_of_processes_are_named_as_seen_from_the_operand)
{
	char job[] = "/data/job/";
	char *operands[] = {job};
	assay_convert_each c = {.operands = operands, .operand_n = 1};
	static const char *const paths[][2] = {
		{"/data/job/host1/rank 0.pt.trace.json.gz", "host1-rank-0"},
		{"/data/job/host2/rank0.json", "host2-rank0"},
		{"/data/job/host2/rank0.db", "host2-rank0-2"},
		{"/other/x.xplane.pb", "x"},
		{"/other/y.rocpd.db.zst", "y"},
		{"/other/.json", ".json"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(paths); i++) {
		assay_run *run = assay_run_new();
		uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
		run->part.t.source.path[s] = assay_sid_of(run, paths[i][0]);
		CHECK(!strcmp(file_name(&c, run), paths[i][1]));
		assay_run_free(run);
	}
	assay_convert_each_free(&c);
	return 0;
}

/* What xprof and TensorBoard open: FOLDER/plugins/profile/RUN/HOST.xplane.pb, one file a process,
 * which they call a host. */
#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/test.h"
#include "model/append.h"
#include "model/clock.h"
#include "model/machine.h"
#include "write/folder.h"
#include "write/xplane.h"

#define PROFILE_FOLDER "plugins/profile/"
#define PROFILE_END    ".xplane.pb"

typedef struct tree {
	const assay_run *run;
	const assay_tables *t;
	assay_clocks clocks;
	assay_arena arena;
	bool *is_process; /* by source: stands for a process with events */
	bool *skip;       /* by source: not in the file being written */
	assay_split split;
	assay_map names; /* of files, used */
} tree;

/* ------------------------------------------------------------------ which files */

static bool is_shared(const tree *t, uint32_t source)
{
	return assay_has_trait(t->run, source, ASSAY_TRAIT_TELEMETRY) ||
	       assay_has_trait(t->run, source, ASSAY_TRAIT_NOTE);
}

static void find_processes(tree *t)
{
	const assay_track_table *track = &t->t->track;
	for (uint32_t i = 0; i < track->n; i++) {
		uint32_t group = assay_track_group(t->t, i);
		if (group < t->t->source.n && !is_shared(t, group))
			t->is_process[group] = true;
	}
}

static assay_str path_of(const tree *t, uint32_t source)
{
	return assay_text(t->run, t->t->source.path[source]);
}

/* Telemetry of a machine stands in the folder of its processes, or above them. */
static bool stands_above(const tree *t, uint32_t shared, uint32_t process)
{
	assay_str folder = assay_str_folder(path_of(t, shared)), path = path_of(t, process);
	return folder.n <= path.n && !memcmp(folder.p, path.p, folder.n);
}

static bool stands_above_none(const tree *t, uint32_t shared)
{
	for (uint32_t i = 0; i < t->t->source.n; i++)
		if (t->is_process[i] && stands_above(t, shared, i))
			return false;
	return true;
}

static void choose_sources(tree *t, uint32_t process)
{
	for (uint32_t i = 0; i < t->t->source.n; i++) {
		bool goes = is_shared(t, i) ? stands_above(t, i, process) || stands_above_none(t, i)
					    : assay_group_of(t->t, i) == process;
		t->skip[i] = !goes;
	}
}

/* ------------------------------------------------------------------ names */

/* Up to the first point that ends something: "train.json.gz" is "train". */
static assay_str stem_of(assay_str path)
{
	assay_str name = assay_str_file(path);
	ptrdiff_t end = assay_str_find(name, PROFILE_END);
	if (end < 0)
		end = assay_str_find(name, ".");
	return end > 0 ? (assay_str){name.p, (size_t)end} : name;
}

static const char *clean(tree *t, assay_str name)
{
	char *text = assay_dup(&t->arena, name);
	for (char *c = text; *c; c++)
		if (!strchr("-_.", *c) && !assay_is_letter(*c) && !assay_is_digit(*c))
			*c = '_';
	if (*text == '.')
		*text = '_';
	return *text ? text : "host";
}

static const char *unique(tree *t, const char *name)
{
	const char *text = name;
	for (int n = 2;; n++) {
		uint32_t *slot = assay_map_at(&t->names, assay_hash(text, strlen(text), 0));
		bool free = *slot == ASSAY_MAP_ABSENT;
		*slot = 1;
		if (free)
			return text;
		text = assay_printf(&t->arena, "%s-%d", name, n);
	}
}

/* The machine and the rank, which is read back from the name. A profile keeps its own name. */
static const char *file_name(tree *t, uint32_t process)
{
	const assay_source_table *s = &t->t->source;
	assay_str machine = assay_machine_of(t->run, process), path = path_of(t, process);
	bool profile = assay_str_find(assay_str_file(path), PROFILE_END) > 0;
	const char *name = clean(t, machine.n && !profile ? machine : stem_of(path));
	if (s->rank[process] >= 0 && !profile)
		name = machine.n ? assay_printf(&t->arena, "%s-rank%d", name, s->rank[process])
				 : assay_printf(&t->arena, "rank%d", s->rank[process]);
	return assay_printf(&t->arena, "%s" PROFILE_END, unique(t, name));
}

/* "RUN" of ".../plugins/profile/RUN/HOST.xplane.pb", or nothing. */
static assay_str run_in_path(assay_str path)
{
	assay_str folder = assay_str_folder(path);
	ptrdiff_t at = assay_str_find(folder, PROFILE_FOLDER);
	if (at < 0)
		return (assay_str){"", 0};
	size_t from = (size_t)at + strlen(PROFILE_FOLDER);
	assay_str name = {folder.p + from, folder.n - from};
	return assay_str_cut(&name, '/');
}

/* When it was, as xprof names its own; else what the first input is called. */
static const char *run_name(tree *t, uint32_t first)
{
	char text[64];
	struct tm tm;
	time_t seconds = (time_t)(t->clocks.origin / 1000000000);
	assay_str given = run_in_path(path_of(t, first));
	if (given.n)
		return clean(t, given);
	if (!t->clocks.epoch || !gmtime_r(&seconds, &tm))
		return clean(t, stem_of(path_of(t, first)));
	strftime(text, sizeof text, "%Y_%m_%d_%H_%M_%S", &tm);
	return assay_dup(&t->arena, assay_str_of(text));
}

/* ------------------------------------------------------------------ writing */

/* xprof keeps results beside the files, and would show those of the files that were there
 * before. */
static bool is_cache(const char *name)
{
	static const char *const ends[] = {
		".SSTABLE",
		".op_stats.pb",
		".op_stats_v2.pb",
		".flat_op_stats_v2.pb",
		".hlo_proto.pb",
		"cache_version.txt",
		".dcn_collective_stats.pb",
		".smart_suggestion.pb",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ends); i++)
		if (assay_str_ends(assay_str_of(name), ends[i]))
			return true;
	return false;
}

static void remove_caches(const char *folder)
{
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));)
		if (is_cache(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static bool write_process(tree *t, assay_folder *f, uint32_t process, bool grouped,
			  assay_left_out *left, assay_err *err)
{
	FILE *out = assay_folder_file(f, file_name(t, process), err);
	if (!out)
		return false;
	assay_run *own = assay_run_new();
	choose_sources(t, process);
	assay_split_append(&t->split, &own->part, t->skip);
	/* one start for all, so that they lie beside each other in the viewer */
	bool ok = xplane_write_file(own, t->run, out, grouped,
				    t->clocks.epoch ? t->clocks.origin : 0, left, err);
	assay_run_free(own);
	return ok;
}

static bool write_all(tree *t, const char *folder, bool grouped, assay_left_out *left,
		      assay_err *err)
{
	uint32_t first = 0;
	while (first < t->t->source.n && !t->is_process[first])
		first++;
	if (first == t->t->source.n)
		return assay_fail(err, ASSAY_UNKNOWN, 0,
				  "there is nothing to write: no input has events of a process");
	bool slash = assay_str_ends(assay_str_of(folder), "/");
	const char *path = assay_printf(&t->arena, "%s%s" PROFILE_FOLDER "%s", folder,
					slash ? "" : "/", run_name(t, first));
	assay_folder f;
	if (!assay_folder_open(&f, t->run, path, err))
		return false;
	bool ok = true;
	for (uint32_t i = first; ok && i < t->t->source.n; i++)
		if (t->is_process[i])
			ok = write_process(t, &f, i, grouped, left, err);
	ok = assay_folder_close(&f, ok, err);
	if (ok)
		remove_caches(path);
	return ok;
}

bool xplane_write_tree(const assay_run *run, const char *folder, bool grouped, assay_left_out *left,
		       assay_err *err)
{
	tree t = {.run = run, .t = &run->part.t};
	assay_clocks_find(&t.clocks, run, &t.arena);
	t.is_process = assay_alloc(&t.arena, t.t->source.n + 1);
	t.skip = assay_alloc(&t.arena, t.t->source.n + 1);
	find_processes(&t);
	assay_split_make(&t.split, &run->part, NULL, 0);
	bool ok = write_all(&t, folder, grouped, left, err);
	assay_split_free(&t.split);
	assay_map_free(&t.names);
	assay_arena_free(&t.arena);
	return ok;
}

const char *xplane_place(const assay_run *run, assay_arena *arena)
{
	tree t = {.run = run, .t = &run->part.t};
	assay_clocks_find(&t.clocks, run, &t.arena);
	const char *name = assay_printf(arena, PROFILE_FOLDER "%s/", run_name(&t, 0));
	assay_arena_free(&t.arena);
	return name;
}

static const char *test_name(const char *path, int32_t rank, const char *machine)
{
	static char text[128];
	assay_run *run = assay_run_new();
	uint32_t s = assay_add(&run->part.t, ASSAY_T_source);
	run->part.source = run->part.t.source.group[s] = s;
	run->part.t.source.path[s] = assay_sid_of(run, path);
	run->part.t.source.rank[s] = rank;
	if (machine)
		assay_meta_add(&run->part, "host", assay_str_of(machine));
	tree t = {.run = run, .t = &run->part.t};
	snprintf(text, sizeof text, "%s %s", run_name(&t, s), file_name(&t, s));
	assay_map_free(&t.names);
	assay_arena_free(&t.arena);
	assay_run_free(run);
	return text;
}

TEST(files_of_a_tree_are_named_by_machine_and_rank)
{
	CHECK(!strcmp(test_name("a/train.json.gz", -1, NULL), "train train.xplane.pb"));
	CHECK(!strcmp(test_name("a/train.json.gz", 3, NULL), "train rank3.xplane.pb"));
	CHECK(!strcmp(test_name("trace-n1-7.asy", 3, "n1/.."), "trace-n1-7 n1_..-rank3.xplane.pb"));
	CHECK(!strcmp(test_name("l/plugins/profile/r 1/h.a.xplane.pb.gz", 3, "x"),
		      "r_1 h.a.xplane.pb"));
	CHECK(!strcmp(test_name("..", -1, NULL), "_. _..xplane.pb"));
	return 0;
}

TEST(results_that_xprof_keeps_are_known_and_its_profiles_are_not_taken_for_them)
{
	CHECK(is_cache("ALL_HOSTS.op_stats_v2.pb") && is_cache("h.trie.SSTABLE"));
	CHECK(is_cache("cache_version.txt") && !is_cache("h.xplane.pb") && !is_cache("notes.txt"));
	return 0;
}

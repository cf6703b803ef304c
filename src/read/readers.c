/* The reader table, sniffing, and what a directory means. */
#define _GNU_SOURCE /* strverscmp */
#include "read/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/test.h"

enum { HEAD = 64 << 10, DEPTH_MAX = 4 };

const assay_reader *const assay_readers[] = {
	&assay_reader_chrome, &assay_reader_rocprof_json, &assay_reader_rocprof_csv,
	&assay_reader_rocpd,  &assay_reader_smi,          &assay_reader_capture,
	&assay_reader_xplane, &assay_reader_run_json,     &assay_reader_env_json,
};
const size_t assay_reader_count = sizeof assay_readers / sizeof *assay_readers;

const assay_reader *assay_reader_sniff(assay_str head)
{
	const assay_reader *best = NULL;
	int sure = 0;
	for (size_t i = 0; i < assay_reader_count; i++) {
		int n = assay_readers[i]->sniff(head);
		if (n > sure) {
			sure = n;
			best = assay_readers[i];
		}
	}
	return best;
}

/* rocprofv3 writes one file a kind: 1234_kernel_trace.csv, 1234_hip_api_trace.csv, ... The part
 * before the kind names the process. Other formats hold a process in one file. */
static assay_str process_stem(assay_str path, assay_str format)
{
	static const char *const kinds[] = {"_kernel_trace.csv",
					    "_memory_copy_trace.csv",
					    "_memory_allocation_trace.csv",
					    "_scratch_memory_trace.csv",
					    "_marker_api_trace.csv",
					    "_hip_api_trace.csv",
					    "_hip_runtime_trace.csv",
					    "_hip_compile_trace.csv",
					    "_hsa_api_trace.csv",
					    "_hsa_core_api_trace.csv",
					    "_rccl_api_trace.csv",
					    "_rocdecode_api_trace.csv",
					    "_rocjpeg_api_trace.csv",
					    "_counter_collection.csv",
					    "_agent_info.csv"};
	if (!assay_str_is(format, "rocprof_csv"))
		return path;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		ptrdiff_t at = assay_str_find(path, kinds[i]);
		if (at >= 0)
			return (assay_str){path.p, (size_t)at};
	}
	return path;
}

static uint32_t group_of(const assay_run *run, uint32_t source)
{
	const assay_source_table *s = &run->part.t.source;
	assay_str stem =
		process_stem(assay_text(run, s->path[source]), assay_text(run, s->format[source]));
	for (uint32_t i = 0; i < source; i++)
		if (s->format[i] == s->format[source] &&
		    assay_str_eq(stem, process_stem(assay_text(run, s->path[i]),
						    assay_text(run, s->format[i]))) &&
		    s->path[i] != s->path[source])
			return s->group[i];
	return source;
}

static uint32_t add_source(assay_run *run, assay_input *in, const assay_reader *reader)
{
	assay_tables *t = &run->part.t;
	uint32_t r = assay_add(t, ASSAY_T_source);
	t->source.path[r] = assay_sid_of(run, assay_input_path(in));
	t->source.format[r] = assay_sid_of(run, reader->name);
	t->source.packing[r] = assay_sid_of(run, assay_input_packing(in));
	t->source.file_bytes[r] = assay_input_file_bytes(in);
	t->source.group[r] = group_of(run, r);
	return r;
}

bool assay_read_input(assay_run *run, assay_input *in, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, HEAD);
	assay_str head = {v.p, v.n < HEAD ? v.n : HEAD};
	const assay_reader *reader = assay_reader_sniff(head);
	if (!reader) {
		const char *why = !head.n ? "it is empty" : "it is in no format assay knows";
		return assay_fail(err, ASSAY_UNKNOWN, 0, "cannot read %s: %s", assay_input_path(in),
				  assay_input_damage(in) ? assay_input_damage(in) : why);
	}
	uint32_t source = add_source(run, in, reader);
	run->part.source = source;
	bool ok = reader->read(run, in, err);
	run->part.source = ASSAY_NO_ROW;
	run->part.t.source.text_bytes[source] = assay_input_text_bytes(in);
	if (assay_input_damage(in)) {
		assay_count(&run->part, ASSAY_ISSUE_damaged_archive, 1);
		assay_warn(run, "damaged_archive", "%s: %s", assay_input_path(in),
			   assay_input_damage(in));
	}
	return ok;
}

assay_run *assay_read_bytes(const assay_reader *reader, const void *p, size_t n)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(p, n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	bool ok = reader->read(run, in, NULL);
	assay_input_close(in);
	if (ok)
		return run;
	assay_run_free(run);
	return NULL;
}

static bool read_file(assay_run *run, const char *path, assay_err *err)
{
	assay_input *in = assay_input_open(path, err);
	if (!in)
		return false;
	bool ok = assay_read_input(run, in, err);
	assay_input_close(in);
	return ok;
}

/* Order of a directory: digits inside names compare as numbers, so rank2 comes before rank10. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

typedef assay_vec(char *) paths;

/* Of a run directory: what a recorder still writes. */
static bool is_no_trace(const char *name)
{
	return assay_str_ends(assay_str_of(name), ".ring");
}

static void list_files(assay_arena *a, const char *dir, int depth, paths *out)
{
	DIR *d = opendir(dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || is_no_trace(e->d_name))
			continue;
		char *path = assay_printf(a, "%s/%s", dir, e->d_name);
		struct stat st;
		if (stat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			list_files(a, path, depth + 1, out);
		else if (S_ISREG(st.st_mode))
			*assay_push(out) = path;
	}
	closedir(d);
}

static bool read_dir(assay_run *run, const char *dir, assay_err *err)
{
	assay_arena scratch = {0};
	paths files = {0};
	size_t good = 0;
	list_files(&scratch, dir, 0, &files);
	if (files.n)
		qsort(files.p, files.n, sizeof *files.p, by_name);
	for (size_t i = 0; i < files.n; i++) {
		assay_err e = {0};
		if (read_file(run, files.p[i], &e)) {
			good++;
		} else if (e.code == ASSAY_UNKNOWN) {
			assay_count(&run->part, ASSAY_ISSUE_skipped_file, 1);
		} else {
			assay_count(&run->part, ASSAY_ISSUE_broken_file, 1);
			assay_warn(run, "broken_file", "%s (at byte %llu)", e.text,
				   (unsigned long long)e.pos);
		}
	}
	assay_vec_free(&files);
	assay_arena_free(&scratch);
	if (!good)
		return assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no file that assay can read",
				  dir);
	return true;
}

bool assay_read_path(assay_run *run, const char *path, assay_err *err)
{
	struct stat st;
	if (strcmp(path, "-") && stat(path, &st) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot open %s: %s", path, strerror(errno));
	if (strcmp(path, "-") && S_ISDIR(st.st_mode))
		return read_dir(run, path, err);
	return read_file(run, path, err);
}

TEST(unknown_text_has_no_reader)
{
	CHECK(!assay_reader_sniff(ASSAY_S("hello, world\n")));
	CHECK(!assay_reader_sniff((assay_str){"", 0}));
	CHECK(!assay_reader_sniff((assay_str){"\x7f"
					      "ELF\x02\x01\x01\0\0\0",
					      10}));
	return 0;
}

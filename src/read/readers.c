/* The reader table, sniffing, and which files belong together. */
#include "model/sound.h"
#include "read/reader.h"

#include <string.h>

#include "base/fmt.h"
#include "base/output.h"
#include "base/test.h"
#include "read/times.h"

enum { HEAD = 64 << 10 };

const assay_reader *const assay_readers[] = {
	&assay_reader_chrome,       &assay_reader_rocprof_json, &assay_reader_rocprof_csv,
	&assay_reader_rocpd,        &assay_reader_nsys,         &assay_reader_nsys_csv,
	&assay_reader_smi,          &assay_reader_capture,      &assay_reader_xplane,
	&assay_reader_perfetto,     &assay_reader_run_json,     &assay_reader_env_json,
	&assay_reader_smi_document,
};
const size_t assay_reader_count = ASSAY_COUNT_OF(assay_readers);

/* The reader for this text, or NULL. */
static const assay_reader *sniff(assay_str head)
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

/* What files of one process share. */
static assay_str stem_of(const assay_reader *reader, assay_str path)
{
	for (const char *const *part = reader->parts; part && *part; part++) {
		ptrdiff_t at = assay_str_find(path, *part);
		if (at >= 0)
			return (assay_str){path.p, (size_t)at};
	}
	return path;
}

static uint32_t group_of(const assay_run *run, uint32_t source, const assay_reader *reader)
{
	const assay_source_table *s = &run->part.t.source;
	if (!reader->parts)
		return source;
	assay_str stem = stem_of(reader, assay_text(run, s->path[source]));
	for (uint32_t i = 0; i < source; i++)
		if (s->format[i] == s->format[source] && s->path[i] != s->path[source] &&
		    assay_str_eq(stem, stem_of(reader, assay_text(run, s->path[i]))))
			return s->group[i];
	return source;
}

assay_str assay_process_stem(assay_str path)
{
	for (size_t i = 0; i < assay_reader_count; i++) {
		assay_str stem = stem_of(assay_readers[i], path);
		if (stem.n < path.n)
			return stem;
	}
	return path;
}

/* How many bytes at the end of a name say what kind of file it is. */
static size_t end_of(assay_str name)
{
	for (size_t i = 0; i < assay_reader_count; i++)
		for (size_t k = 0; k < 4 && assay_readers[i]->ends[k]; k++)
			if (assay_str_ends(name, assay_readers[i]->ends[k]))
				return strlen(assay_readers[i]->ends[k]);
	return name.n - assay_unpacked_name(name).n;
}

assay_str assay_without_ends(assay_str name)
{
	for (size_t n; (n = end_of(name)) && n < name.n;)
		name.n -= n;
	return name;
}

/* The number behind "rank" in a file's name: rank3, rank-3, rank_03, rank.3; -1 when there is
 * none. */
static int32_t rank_in_name(assay_str path)
{
	for (size_t i = path.n; i-- > 0 && path.p[i] != '/';) {
		assay_str rest = {path.p + i, path.n - i};
		if (!assay_str_starts(rest, "rank") && !assay_str_starts(rest, "Rank"))
			continue;
		size_t at = 4, from;
		if (at < rest.n && strchr("-_.=", rest.p[at]))
			at++;
		for (from = at; at < rest.n && at - from < 9 && assay_is_digit(rest.p[at]);)
			at++;
		int64_t rank;
		if (assay_str_i64((assay_str){rest.p + from, at - from}, &rank))
			return (int32_t)rank;
	}
	return -1;
}

uint32_t assay_add_source(assay_run *run, assay_input *in, const assay_reader *reader)
{
	assay_tables *t = &run->part.t;
	uint32_t r = assay_add(t, ASSAY_T_source);
	t->source.path[r] = assay_sid_of(run, assay_input_path(in));
	t->source.format[r] = assay_sid_of(run, reader->name);
	t->source.traits[r] = reader->traits;
	t->source.packing[r] = assay_sid_of(run, assay_input_packing(in));
	t->source.file_bytes[r] = assay_input_file_bytes(in);
	t->source.group[r] = group_of(run, r, reader);
	return r;
}

/* Bytes of the first line of a table; 0: it is none. */
static size_t head_line(assay_str head)
{
	size_t n = 0, commas = 0;
	for (; n < head.n && head.p[n] != '\n' && head.p[n] != '\r'; n++) {
		if ((unsigned char)head.p[n] < ' ' || head.p[n] == '{' || (!n && head.p[n] == '['))
			return 0;
		commas += head.p[n] == ',';
	}
	return commas < 2 ? 0 : n;
}

/* That line, to see by what column it fails; NULL: there is none. */
static const char *columns_of(assay_arena *a, assay_str head)
{
	enum { SHOWN = 120 };
	size_t n = head_line(head), shown = n < SHOWN ? n : SHOWN;
	return n ? assay_printf(a, "%s%s", assay_fmt_safe(a, (assay_str){head.p, shown}),
				n > shown ? "..." : "")
		 : NULL;
}

/* Files that only their maker's tool reads, and what to do with them. */
static const char *export_hint(const char *path)
{
	static const struct {
		const char *ending, *hint;
	} hints[] = {
		{".nsys-rep",
		 "; export it with `nsys export --type sqlite` and give the .sqlite file"},
		{".qdrep",
		 "; export it with `nsys export --type sqlite` and give the .sqlite file"},
		{".ncu-rep", "; `ncu --import FILE --csv` prints it as a table"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(hints); i++)
		if (assay_str_ends(assay_str_of(path), hints[i].ending))
			return hints[i].hint;
	return NULL;
}

/* Packed or written in ways that are not read. */
static const char *content_hint(assay_str head)
{
	static const struct {
		size_t at;
		const char *magic, *hint;
	} hints[] = {
		{0, "PK\3\4",
		 "; it is a zip archive: those are read that are whole and hold one file, unpack it first"},
		{0,
		 "\xfd"
		 "7zXZ",
		 "; it is packed with xz: unpack it first"},
		{0, "BZh", "; it is packed with bzip2: unpack it first"},
		{0, "\x04\x22\x4d\x18", "; it is packed with lz4: unpack it first"},
		{0, "\x1f\x8b", "; it is packed twice: unpack it once"},
		{0, "\x28\xb5\x2f\xfd", "; it is packed twice: unpack it once"},
		{257, "ustar", "; it is a tar archive: unpack it first"},
		{0, "\xff\xfe", "; it is text in UTF-16: save it as UTF-8"},
		{0, "\xfe\xff", "; it is text in UTF-16: save it as UTF-8"},
		{0, "version https://git-lfs.github.com/",
		 "; it stands for a file that Git LFS keeps: `git lfs pull` brings it"},
		{0, "{\n  \"assay\": \"",
		 "; it is what assay printed of a recording: give the recording itself"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(hints); i++) {
		size_t n = strlen(hints[i].magic);
		if (head.n >= hints[i].at + n && !memcmp(head.p + hints[i].at, hints[i].magic, n))
			return hints[i].hint;
	}
	size_t n = head_line(head);
	return n + 1 < head.n && head.p[n] == '\r' && head.p[n + 1] != '\n'
		       ? "; its lines end with carriage returns: save it with line feeds"
		       : NULL;
}

static void fail_unknown(assay_input *in, assay_str head, assay_err *err)
{
	assay_arena scratch = {0};
	const char *hint = export_hint(assay_input_path(in));
	if (!hint)
		hint = content_hint(head);
	const char *columns = hint ? NULL : columns_of(&scratch, head);
	assay_fail(err, ASSAY_UNKNOWN, 0, "cannot read %s: it is in no format assay knows%s%s",
		   assay_input_path(in),
		   hint      ? hint
		   : columns ? "; as a table it would have the columns "
			     : " ('assay formats' lists them)",
		   columns ? columns : "");
	assay_arena_free(&scratch);
}

const assay_reader *assay_reader_choose(assay_input *in, assay_err *err)
{
	assay_view v = assay_input_view(in, 0, HEAD);
	assay_str head = {v.p, v.n < HEAD ? v.n : HEAD};
	const assay_reader *reader = sniff(head);
	const char *damage = assay_input_damage(in);
	if (!reader && (damage || !head.n)) /* meant to be read, and cannot be */
		assay_fail(err, ASSAY_FORMAT, 0, "cannot read %s: %s", assay_input_path(in),
			   damage ? damage : "it is empty");
	else if (!reader)
		fail_unknown(in, head, err);
	return reader;
}

static bool read_bounded(assay_run *run, assay_input *in, const assay_reader *reader,
			 assay_err *err)
{
	assay_times_mark before = assay_times_now(&run->part.t);
	bool ok = reader->read(run, in, err);
	assay_times_bound(&run->part, &before);
	return ok;
}

bool assay_read_source(assay_run *run, assay_input *in, const assay_reader *reader, uint32_t source,
		       assay_err *err)
{
	assay_source_table *s = &run->part.t.source;
	run->part.source = source;
	bool ok = read_bounded(run, in, reader, err);
	run->part.source = ASSAY_NO_ROW;
	s->text_bytes[source] = assay_input_text_bytes(in);
	bool alone = s->n == source + 1; /* a file of many processes names no rank */
	if (s->rank[source] < 0 && reader->ranked && alone)
		s->rank[source] = rank_in_name(assay_str_of(assay_input_path(in)));
	const char *change = assay_input_change(in);
	if (change) {
		assay_count(&run->part, ASSAY_ISSUE_changed_file, 1);
		assay_warn(run, "changed_file", "%s: %s", assay_input_path(in), change);
	}
	if (assay_input_damage(in)) {
		assay_count(&run->part, ASSAY_ISSUE_damaged_archive, 1);
		assay_warn(run, "damaged_archive", "%s: %s", assay_input_path(in),
			   assay_input_damage(in));
	}
	return ok;
}

bool assay_read_input(assay_run *run, assay_input *in, assay_err *err)
{
	const assay_reader *reader = assay_reader_choose(in, err);
	return reader && assay_read_source(run, in, reader, assay_add_source(run, in, reader), err);
}

assay_run *assay_read_bytes(const assay_reader *reader, const void *p, size_t n)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(p, n);
	run->part.source = assay_add_source(run, in, reader);
	bool ok = read_bounded(run, in, reader, NULL);
	assay_input_close(in);
	assay_assert_sound(run, "reading");
	if (ok)
		return run;
	assay_run_free(run);
	return NULL;
}

TEST(bytes_in_memory_have_the_source_that_a_file_has)
{
	assay_run *run = assay_read_bytes(&assay_reader_xplane, "", 0);
	const assay_source_table *s = &run->part.t.source;
	CHECK(s->n == 1);
	CHECK(s->traits[0] == assay_reader_xplane.traits);
	CHECK(assay_str_is(assay_text(run, s->format[0]), "xplane"));
	CHECK(assay_str_is(assay_text(run, s->packing[0]), "plain"));
	assay_run_free(run);
	return 0;
}

TEST(what_is_packed_in_other_ways_is_told)
{
	CHECK(strstr(content_hint(ASSAY_S("PK\3\4....")), "zip archive"));
	CHECK(strstr(content_hint(ASSAY_S("BZh91AY")), "bzip2"));
	CHECK(strstr(content_hint(ASSAY_S("\x1f\x8b\x08")), "packed twice"));
	CHECK(!content_hint(ASSAY_S("{\"traceEvents\"")) && !content_hint(ASSAY_S("P")));
	CHECK(!content_hint(ASSAY_S("a,b,c\r\n1,2,3\r\n")) && !content_hint(ASSAY_S("a,b,c\r")));
	return 0;
}

TEST(tables_are_read_by_lines_only)
{
	static const char *const heads[] = {
		"Kind,Kernel_Name,Start_Timestamp,End_Timestamp",
		"Start (ns),Duration (ns),Device,Ctx,Strm,Name",
		"timestamp, index, utilization.gpu [%], power.draw [W]",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(heads); i++) {
		char text[600] = "";
		int n = snprintf(text, sizeof text, "%s\r1,2,3,4", heads[i]);
		CHECK(!sniff((assay_str){text, (size_t)n}));
		CHECK(strstr(content_hint((assay_str){text, (size_t)n}), "carriage returns"));
		/* an archive of it: its name, zeros, what it is, the text */
		memset(text, 0, sizeof text);
		memcpy(text, "t.csv", 5);
		memcpy(text + 257, "ustar", 5);
		n = snprintf(text + 512, sizeof text - 512, "%s\n", heads[i]);
		CHECK(!sniff((assay_str){text, 512 + (size_t)n}));
	}
	return 0;
}

TEST(unknown_text_has_no_reader)
{
	CHECK(!sniff(ASSAY_S("hello, world\n")));
	CHECK(!sniff((assay_str){"", 0}));
	CHECK(!sniff((assay_str){"\x7f"
				 "ELF\x02\x01\x01\0\0\0",
				 10}));
	return 0;
}

TEST(names_lose_the_ends_of_every_format_and_nothing_else)
{
	assay_arena a = {0};
	for (size_t i = 0; i < assay_reader_count; i++) {
		CHECK(assay_readers[i]->ends[0] && !assay_readers[i]->ends[3]);
		for (size_t k = 0; assay_readers[i]->ends[k]; k++) {
			const char *name = assay_printf(&a, "v1.2%s.gz", assay_readers[i]->ends[k]);
			CHECK(assay_str_is(assay_without_ends(assay_str_of(name)), "v1.2"));
		}
	}
	CHECK(assay_str_is(assay_without_ends(ASSAY_S("a.pt.trace.json.zst")), "a"));
	CHECK(assay_str_is(assay_without_ends(ASSAY_S(".json")), ".json"));
	CHECK(!assay_without_ends((assay_str){"", 0}).n);
	assay_arena_free(&a);
	return 0;
}

TEST(a_rank_is_found_in_a_file_name)
{
	CHECK_EQ(rank_in_name(ASSAY_S("run/trace_rank-12.json.gz")), 12);
	CHECK_EQ(rank_in_name(ASSAY_S("rank03.json")), 3);
	CHECK_EQ(rank_in_name(ASSAY_S("rank7/trace.json")), -1);
	CHECK_EQ(rank_in_name(ASSAY_S("ranked.json")), -1);
	CHECK_EQ(rank_in_name(ASSAY_S("rank")), -1);
	CHECK_EQ(rank_in_name(ASSAY_S("rank99999999999.json")), 999999999);
	return 0;
}

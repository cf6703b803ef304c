/* A zip archive that holds one file is that file, as gzip is (APPNOTE.TXT 4.3, 4.5): traces are
 * passed on so where only such archives may be. What macOS and folders add does not count. */
#include <string.h>

#include "base/input_inside.h"
#include "base/test.h"

enum {
	END = 22,              /* bytes of the record that ends an archive, without its comment */
	END_FAR = END + 65535, /* its farthest place from the end of the file */
	LISTED = 46,           /* bytes of an entry of the directory, without its texts */
	LOCAL = 30,            /* bytes in front of a file, without its texts */
	STORED = 0,
	DEFLATED = 8,
	DIRECTORY_MAX = 1 << 20, /* bytes; those of archives of one file are some hundred */
	SECRET = 1,              /* flag: the file is encrypted */
};

static uint32_t le(const unsigned char *p, int n)
{
	uint32_t v = 0;
	while (n--)
		v = v << 8 | p[n];
	return v;
}

static bool is_at(const unsigned char *p, char kind, char version)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == (unsigned char)kind &&
	       p[3] == (unsigned char)version;
}

/* Where the directory of the archive is, and how long. */
static bool find_directory(const assay_input *in, assay_arena *scratch, uint32_t *at, uint32_t *n)
{
	uint64_t size = input_packed_size(in);
	size_t look = size < END_FAR ? (size_t)size : END_FAR;
	unsigned char *tail = assay_alloc(scratch, look + 1);
	if (look < END || input_packed_at(in, size - look, tail, look) != look)
		return false;
	for (size_t i = look - END + 1; i-- > 0;)
		if (is_at(tail + i, 5, 6) && le(tail + i + 20, 2) <= look - END - i) {
			*n = le(tail + i + 12, 4);
			*at = le(tail + i + 16, 4);
			return (uint64_t)*at + *n <= size && *n <= DIRECTORY_MAX;
		}
	return false;
}

static bool is_wrapping(assay_str name)
{
	return !name.n || name.p[name.n - 1] == '/' || assay_str_starts(name, "__MACOSX/") ||
	       assay_str_ends(name, ".DS_Store");
}

/* The one entry that is a file; NULL when there is none or more. */
static const unsigned char *only_file(const unsigned char *p, size_t n)
{
	const unsigned char *found = NULL;
	while (n >= LISTED && is_at(p, 1, 2)) {
		size_t name = le(p + 28, 2);
		size_t all = LISTED + name + le(p + 30, 2) + le(p + 32, 2);
		if (all > n)
			return NULL;
		if (!is_wrapping((assay_str){(const char *)p + LISTED, name})) {
			if (found)
				return NULL;
			found = p;
		}
		p += all;
		n -= all;
	}
	return found;
}

bool zip_find(const assay_input *in, struct zip_file *out)
{
	uint32_t at, n;
	unsigned char local[LOCAL];
	assay_arena scratch = {0};
	bool ok = false;
	if (!find_directory(in, &scratch, &at, &n))
		goto out;
	unsigned char *list = assay_alloc(&scratch, n + 1);
	if (input_packed_at(in, at, list, n) != n)
		goto out;
	const unsigned char *e = only_file(list, n);
	unsigned method = e ? le(e + 10, 2) : 0;
	if (!e || le(e + 8, 2) & SECRET || (method != STORED && method != DEFLATED))
		goto out;
	*out = (struct zip_file){.deflated = method == DEFLATED,
				 .sum = le(e + 16, 4),
				 .packed = le(e + 20, 4),
				 .bytes = le(e + 24, 4)};
	uint64_t head = le(e + 42, 4);
	if (input_packed_at(in, head, local, LOCAL) != LOCAL || !is_at(local, 3, 4))
		goto out;
	out->at = head + LOCAL + le(local + 26, 2) + le(local + 28, 2);
	ok = out->at <= input_packed_size(in);
out:
	assay_arena_free(&scratch);
	return ok;
}

/* "assay" and a folder around it, as zip packs them: deflated, with a line of macOS behind. */
static size_t make_zip(unsigned char *to, const char *const *names, int n, unsigned method)
{
	static const unsigned char deflated[] = {0x4b, 0x2c, 0x2e, 0x4e, 0xac, 0x04, 0x00};
	size_t at = 0, heads[4], list;
	for (int i = 0; i < n; i++) {
		size_t name = strlen(names[i]), data = method ? sizeof deflated : 5;
		bool folder = names[i][name - 1] == '/';
		heads[i] = at;
		memset(to + at, 0, LOCAL);
		memcpy(to + at, "PK\3\4", 4);
		to[at + 8] = (unsigned char)method;
		to[at + 26] = (unsigned char)name;
		memcpy(to + at + LOCAL, names[i], name);
		at += LOCAL + name;
		if (!folder)
			memcpy(to + at, method ? (const void *)deflated : "assay", data);
		at += folder ? 0 : data;
	}
	list = at;
	for (int i = 0; i < n; i++) {
		size_t name = strlen(names[i]);
		static const unsigned char sum[] = {0xe5, 0xe3, 0x72, 0x18};
		memset(to + at, 0, LISTED);
		memcpy(to + at, "PK\1\2", 4);
		to[at + 10] = (unsigned char)method;
		memcpy(to + at + 16, sum, 4);
		to[at + 20] = method ? sizeof deflated : 5;
		to[at + 24] = 5;
		to[at + 28] = (unsigned char)name;
		to[at + 42] = (unsigned char)heads[i];
		memcpy(to + at + LISTED, names[i], name);
		at += LISTED + name;
	}
	memset(to + at, 0, END);
	memcpy(to + at, "PK\5\6", 4);
	to[at + 12] = (unsigned char)(at - list);
	to[at + 16] = (unsigned char)list;
	return at + END;
}

static bool reads_as(const unsigned char *p, size_t n, const char *text, bool damaged)
{
	assay_input *in = assay_input_memory(p, n);
	assay_view v = assay_input_view(in, 0, 4096);
	bool same = v.end && v.n == strlen(text) && !memcmp(v.p, text, v.n) &&
		    !assay_input_damage(in) == !damaged && !strcmp(assay_input_packing(in), "zip");
	assay_input_close(in);
	return same;
}

TEST(a_zip_archive_of_one_file_is_that_file)
{
	static const char *const names[] = {"d/", "d/t.json", "__MACOSX/t"};
	unsigned char zip[1024];
	for (unsigned method = STORED; method <= DEFLATED; method += DEFLATED) {
		size_t n = make_zip(zip, names, 3, method);
		CHECK(reads_as(zip, n, "assay", false));
		CHECK(reads_as(zip, make_zip(zip, names + 1, 1, method), "assay", false));
	}
	return 0;
}

TEST(a_zip_archive_of_several_files_is_left_as_it_is)
{
	static const char *const names[] = {"a", "b"};
	unsigned char zip[1024];
	size_t n = make_zip(zip, names, 2, DEFLATED);
	assay_input *in = assay_input_memory(zip, n);
	CHECK(!strcmp(assay_input_packing(in), "plain") && assay_input_view(in, 0, n).n == n);
	assay_input_close(in);
	return 0;
}

TEST(a_damaged_zip_archive_keeps_its_text_and_says_so)
{
	static const char *const names[] = {"a"};
	unsigned char zip[1024];
	size_t n = make_zip(zip, names, 1, DEFLATED), sum = LOCAL + 1 + 7 + 16;
	zip[sum] ^= 1;
	CHECK(reads_as(zip, n, "assay", true));
	for (size_t i = 0; i < n; i++) { /* no place of it may break more than the text */
		n = make_zip(zip, names, 1, DEFLATED);
		zip[i] ^= 0xff;
		assay_input *in = assay_input_memory(zip, n);
		CHECK(assay_input_view(in, 0, 4096).n <= 4096);
		assay_input_close(in);
	}
	return 0;
}

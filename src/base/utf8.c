#include "base/utf8.h"

#include <string.h>

#include "base/test.h"

bool assay_utf8_valid(assay_str s)
{
	size_t i = 0;
	for (size_t n; i < s.n; i += n) {
		uint64_t eight;
		while (i + sizeof eight <= s.n) {
			memcpy(&eight, s.p + i, sizeof eight);
			if (eight & 0x8080808080808080)
				break;
			i += sizeof eight;
		}
		if (i == s.n)
			break;
		if (!(n = assay_utf8_len(s.p + i, s.n - i)))
			return false;
	}
	return true;
}

/* ESC and its relatives command a terminal; marks of direction show text in another order than it
 * has (https://trojansource.codes). */
static bool is_wild(const char *p, size_t len)
{
	const unsigned char *s = (const unsigned char *)p;
	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	if (len == 2)
		return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
	if (len != 3 || s[0] != 0xe2)
		return false;
	bool marks =
		s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae));
	return marks || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

size_t assay_utf8_tame(char *s, size_t n)
{
	size_t to = 0;
	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = assay_utf8_len(s + i, n - i);
		if (!len || is_wild(s + i, len)) {
			s[to++] = '?';
			continue;
		}
		for (size_t k = 0; k < len; k++)
			s[to++] = s[i + k];
	}
	return to;
}

assay_str assay_utf8_repair(assay_arena *a, assay_str s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	if (assay_utf8_valid(s))
		return s;
	char *out = assay_alloc(a, 3 * s.n + 1);
	size_t to = 0;
	for (size_t i = 0; i < s.n;) {
		size_t n = assay_utf8_len(s.p + i, s.n - i);
		memcpy(out + to, n ? s.p + i : replacement, n ? n : 3);
		to += n ? n : 3;
		i += n ? n : 1;
	}
	return (assay_str){out, to};
}

TEST(text_is_repaired_byte_by_byte_and_valid_text_is_left_alone)
{
	assay_arena a = {0};
	assay_str fine = ASSAY_S("0123456789 Gr\xc3\xbc\xc3\x9f"
				 "e"),
		  bad = ASSAY_S("01234567\xff \xc3");
	CHECK(assay_utf8_valid(fine) && assay_utf8_valid((assay_str){0}) && !assay_utf8_valid(bad));
	CHECK(assay_utf8_repair(&a, fine).p == fine.p);
	CHECK(assay_str_is(assay_utf8_repair(&a, bad), "01234567\xef\xbf\xbd \xef\xbf\xbd"));
	assay_arena_free(&a);
	return 0;
}

TEST(tame_text_commands_no_terminal)
{
	static const char *const pairs[][2] = {
		{"plain Gr\xc3\xbc\xc3\x9f", "plain Gr\xc3\xbc\xc3\x9f"},
		{"a\x1b[31m\x07\x7f", "a?[31m??"},
		{"\xc2\x9b"
		 "31m \xff\xc3",
		 "?31m ??"},
		{"x\xe2\x80\xae"
		 "gnp\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8",
		 "x?gnp???"},
		{"\xe2\x80\xa6 \xe2\x86\x92", "\xe2\x80\xa6 \xe2\x86\x92"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++) {
		char s[64];
		strcpy(s, pairs[i][0]);
		s[assay_utf8_tame(s, strlen(s))] = 0;
		CHECK(!strcmp(s, pairs[i][1]));
	}
	return 0;
}

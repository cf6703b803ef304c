#include "base/utf8.h"

#include <string.h>

#include "base/test.h"

/* Characters that are not one column wide, in order: the East Asian Width of Unicode (W, F) with
 * blocks taken whole, and marks of the scripts that names are written in. */
static const struct {
	uint32_t first, last;
	uint8_t columns;
} wide[] = {
	{0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x064b, 0x065f, 0},
	{0x1100, 0x115f, 2},   {0x1160, 0x11ff, 0},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},
	{0x200b, 0x200d, 0},   {0x2060, 0x2060, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
	{0x23e9, 0x23ec, 2},   {0x25fd, 0x25fe, 2},   {0x2614, 0x2615, 2},   {0x2648, 0x2653, 2},
	{0x26a1, 0x26a1, 2},   {0x2705, 0x2705, 2},   {0x274c, 0x274c, 2},   {0x2753, 0x2757, 2},
	{0x2795, 0x2797, 2},   {0x2b50, 0x2b55, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0x3098, 2},
	{0x3099, 0x309a, 0},   {0x309b, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},
	{0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe10, 0xfe19, 2},   {0xfe20, 0xfe2f, 0},
	{0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},   {0xff01, 0xff60, 2},   {0xffe0, 0xffe6, 2},
	{0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f7e0, 0x1f7eb, 2}, {0x1f900, 0x1f9ff, 2},
	{0x1fa70, 0x1faff, 2}, {0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
};

static uint32_t code_point(const char *p, size_t len)
{
	uint32_t c = (unsigned char)p[0] & (0xff >> (len + (len > 1)));
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 63);
	return c;
}

static size_t columns_of(uint32_t c)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(wide) && wide[i].first <= c; i++)
		if (c <= wide[i].last)
			return wide[i].columns;
	return 1;
}

size_t assay_utf8_next(const char *text, size_t n, size_t *columns)
{
	*columns = 1;
	if (*text == '\033') {
		const char *end = memchr(text, 'm', n);
		*columns = 0;
		return end ? (size_t)(end - text) + 1 : n;
	}
	size_t len = assay_utf8_len(text, n);
	if (len)
		*columns = columns_of(code_point(text, len));
	return len ? len : 1;
}

size_t assay_utf8_fitting(assay_str s, size_t columns)
{
	size_t at = 0, used = 0;
	while (at < s.n) {
		size_t takes, len = assay_utf8_next(s.p + at, s.n - at, &takes);
		if (used + takes > columns)
			break;
		used += takes;
		at += len;
	}
	return at;
}

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

bool assay_utf8_is_wild(const char *p, size_t len)
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
		if (!len || assay_utf8_is_wild(s + i, len)) {
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

static size_t columns_at(const char *text)
{
	size_t columns;
	assay_utf8_next(text, strlen(text), &columns);
	return columns;
}

TEST(characters_take_the_columns_that_terminals_give_them)
{
	CHECK_EQ(columns_at("a"), 1);
	CHECK_EQ(columns_at("\xc3\xa4"), 1);         /* a with two dots */
	CHECK_EQ(columns_at("\xcc\x81"), 0);         /* an accent alone */
	CHECK_EQ(columns_at("\xe6\x95\xb0"), 2);     /* Chinese */
	CHECK_EQ(columns_at("\xeb\x8d\xb0"), 2);     /* Korean */
	CHECK_EQ(columns_at("\xf0\x9f\x92\xbb"), 2); /* a picture */
	CHECK_EQ(columns_at("\xe2\x80\xa6"), 1);     /* three dots */
	assay_str two = ASSAY_S("\xe6\x95\xb0\xe6\x95\xb0");
	CHECK_EQ(assay_utf8_fitting(two, 3), 3);
	CHECK_EQ(assay_utf8_fitting(two, 4), 6);
	CHECK_EQ(assay_utf8_fitting(ASSAY_S("\xff\xff"), 1), 1);
	return 0;
}

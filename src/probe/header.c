/* Header macros. Commented-out definitions do not count; conditionals are not evaluated. */
#include "probe/header.h"

#include <stdio.h>

#include "base/test.h"

static bool word_char(char c)
{
	return assay_is_letter(c) || assay_is_digit(c) || c == '_';
}

/* The line without its comments; *block says whether a block comment is open at its end. */
static assay_str strip_comments(assay_str line, char *buf, size_t cap, bool *block)
{
	size_t n = 0;
	char quote = 0;
	for (size_t i = 0; i < line.n && n < cap; i++) {
		char c = line.p[i], d = i + 1 < line.n ? line.p[i + 1] : 0;
		if (*block) {
			if (c == '*' && d == '/') {
				*block = false;
				i++;
			}
			continue;
		}
		if (quote) {
			if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '/' && d == '*') {
			*block = true;
			i++;
			continue;
		} else if (c == '/' && d == '/') {
			break;
		}
		buf[n++] = c;
	}
	return (assay_str){buf, n};
}

static assay_str skip_blank(assay_str s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t'))
		s.p++, s.n--;
	return s;
}

static bool take_word(assay_str *s, const char *word)
{
	size_t n = strlen(word);
	if (!assay_str_starts(*s, word) || (s->n > n && word_char(s->p[n])))
		return false;
	*s = (assay_str){s->p + n, s->n - n};
	return true;
}

static bool define_value(assay_str line, const char *name, assay_str *value)
{
	assay_str s = skip_blank(line);
	if (!s.n || *s.p != '#')
		return false;
	s = skip_blank((assay_str){s.p + 1, s.n - 1});
	if (!take_word(&s, "define"))
		return false;
	s = skip_blank(s);
	if (!take_word(&s, name))
		return false;
	s = assay_str_trim(s);
	if (s.n >= 2 && *s.p == '"' && s.p[s.n - 1] == '"')
		s = (assay_str){s.p + 1, s.n - 2};
	*value = s;
	return s.n != 0;
}

bool assay_header_define(assay_str text, const char *name, bool last, assay_str *value)
{
	enum { LINE_MAX_BYTES = 1024 };
	bool block = false, found = false;
	while (text.n) {
		char buf[LINE_MAX_BYTES];
		const char *raw = text.p;
		assay_str line = assay_str_cut(&text, '\n'), v;
		assay_str clean = strip_comments(line, buf, sizeof buf, &block);
		if (!define_value(clean, name, &v))
			continue;
		/* back from the cleaned copy into the text itself */
		ptrdiff_t at = -1;
		for (size_t i = 0; i + v.n <= line.n && at < 0; i++)
			if (!memcmp(raw + i, v.p, v.n) && (i == 0 || !word_char(raw[i - 1])))
				at = (ptrdiff_t)i;
		if (at < 0)
			continue; /* a comment stands inside the value */
		*value = (assay_str){raw + at, v.n};
		found = true;
		if (!last)
			return true;
	}
	return found;
}

static bool all_digits(assay_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0 && s.n < 10;
}

static bool define_number(assay_str text, const char *prefix, const char *part, assay_str *value)
{
	char name[96];
	snprintf(name, sizeof name, "%s_%s", prefix, part);
	return assay_header_define(text, name, true, value) && all_digits(*value);
}

char *assay_header_version(assay_arena *a, assay_str text, const char *prefix)
{
	assay_str major, minor, patch;
	if (!define_number(text, prefix, "MAJOR", &major) ||
	    !define_number(text, prefix, "MINOR", &minor) ||
	    (!define_number(text, prefix, "PATCH", &patch) &&
	     !define_number(text, prefix, "PATCHLEVEL", &patch))) /* cuDNN's word */
		return NULL;
	return assay_printf(a, "%.*s.%.*s.%.*s", (int)major.n, major.p, (int)minor.n, minor.p,
			    (int)patch.n, patch.p);
}

bool assay_header_names(assay_str text, const char *prefix)
{
	char want[128];
	snprintf(want, sizeof want, "%s_TWEAK", prefix);
	while (text.n) {
		assay_str line = assay_str_trim(assay_str_cut(&text, '\n'));
		ptrdiff_t at = assay_str_starts(line, "#") ? assay_str_find(line, want) : -1;
		if (at >= 0 && assay_str_find(line, "define") >= 0)
			return true;
	}
	return false;
}

char *assay_header_tweak(assay_arena *a, assay_str text, const char *prefix)
{
	char name[96];
	assay_str v;
	snprintf(name, sizeof name, "%s_TWEAK", prefix);
	if (!assay_header_define(text, name, false, &v))
		return NULL;
	for (size_t i = 0; i < v.n; i++)
		if (!word_char(v.p[i]) && v.p[i] != '.' && v.p[i] != '+' && v.p[i] != '-')
			return NULL;
	return assay_dup(a, v);
}

TEST(parse_full_header)
{
	assay_arena a = {0};
	assay_str h = ASSAY_S(
		"// #define X_VERSION_MAJOR 9\n/* #define X_VERSION_MAJOR 8\n*/\n"
		"#define X_VERSION_MAJOR 0\n#  define X_VERSION_MINOR\t12 // minor\n"
		"#define X_VERSION_PATCH 1 /* patch */\n#define X_VERSION_TWEAK \"d97cc0b-dirty\"");
	CHECK(!strcmp(assay_header_version(&a, h, "X_VERSION"), "0.12.1"));
	CHECK(!strcmp(assay_header_tweak(&a, h, "X_VERSION"), "d97cc0b-dirty"));
	assay_arena_free(&a);
	return 0;
}

TEST(header_without_all_three_parts_has_no_version)
{
	assay_arena a = {0};
	assay_str h = ASSAY_S(
		"#define X_MAJOR 1\n#define X_MINOR 2\n#define X_TWEAK a b\n#define X_PATCHES 3");
	CHECK(!assay_header_version(&a, h, "X") && !assay_header_tweak(&a, h, "X"));
	assay_str level =
		ASSAY_S("#define A_MAJOR 9\n#define A_MINOR 19\n#define A_PATCHLEVEL 1\n");
	CHECK(!strcmp(assay_header_version(&a, level, "A"), "9.19.1"));
	level = ASSAY_S("#define A_MAJOR 9\n#define A_PATCH 1\n#define A_PATCHLEVEL 1\n");
	CHECK(!assay_header_version(&a, level, "A"));
	CHECK(!assay_header_version(&a, ASSAY_S(""), "X"));
	assay_arena_free(&a);
	return 0;
}

TEST(last_number_and_first_tweak_win)
{
	assay_str h = ASSAY_S("#define N 1\n#define N 2\n#define N");
	assay_str v;
	CHECK(assay_header_define(h, "N", true, &v) && assay_str_is(v, "2"));
	CHECK(assay_header_define(h, "N", false, &v) && assay_str_is(v, "1"));
	return 0;
}

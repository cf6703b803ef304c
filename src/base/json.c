/* The parts of the JSON reader that are not hot: doubles, escapes, the RFC 8259 checker. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/test.h"
#include "base/utf8.h"

assay_json assay_json_copy(assay_arena *a, assay_str value)
{
	char *text = assay_alloc(a, value.n + ASSAY_PAD);
	if (value.n)
		memcpy(text, value.p, value.n);
	return assay_json_on(text, value.n);
}

assay_json assay_json_members(assay_arena *a, assay_str members)
{
	char *text = assay_alloc(a, members.n + 2 + ASSAY_PAD);
	text[0] = '{';
	if (members.n)
		memcpy(text + 1, members.p, members.n);
	text[members.n + 1] = '}';
	assay_json j = assay_json_on(text, members.n + 2);
	assay_json_enter(&j, '{');
	return j;
}

bool assay_json_f64(assay_json *j, double *out)
{
	assay_str raw;
	if (!json_number_text(j, &raw))
		return false;
	if (assay_str_f64(raw, out)) {
		if (!isfinite(*out))
			j->odd |= ASSAY_JSON_CONSTANT;
		return true;
	}
	j->odd |= ASSAY_JSON_NUMBER;
	return false;
}

static int hex_value(char c)
{
	return assay_hex_digit(assay_fold(c));
}

/* Four hex digits at s[at..], or -1. */
static int32_t hex4(assay_str s, size_t at)
{
	int32_t v = 0;
	if (s.n < 4 || at > s.n - 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		int h = hex_value(s.p[at + i]);
		if (h < 0)
			return -1;
		v = v << 4 | h;
	}
	return v;
}

/* The character of the \u escape whose digits start at s[at]; *used counts what follows the 'u'. */
static uint32_t unicode_escape(assay_str s, size_t at, size_t *used, bool *odd)
{
	int32_t hi = hex4(s, at);
	*used = hi < 0 ? 0 : 4;
	if (hi >= 0xd800 && hi < 0xdc00 && at + 5 < s.n && s.p[at + 4] == '\\' &&
	    s.p[at + 5] == 'u') {
		int32_t lo = hex4(s, at + 6);
		if (lo >= 0xdc00 && lo < 0xe000) {
			*used = 10;
			return 0x10000u + ((uint32_t)(hi - 0xd800) << 10) + (uint32_t)(lo - 0xdc00);
		}
	}
	if (hi < 0 || (hi >= 0xd800 && hi < 0xe000)) {
		*odd = true;
		return 0xfffd;
	}
	return (uint32_t)hi;
}

static const char escapes[][2] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', '\b'},
				  {'f', '\f'}, {'n', '\n'},  {'r', '\r'}, {'t', '\t'}};

static char escaped_char(char c)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(escapes); i++)
		if (escapes[i][0] == c)
			return escapes[i][1];
	return 0;
}

assay_str assay_json_unescape(assay_arena *a, assay_str raw)
{
	if (!raw.n || !memchr(raw.p, '\\', raw.n))
		return raw;
	char *out = assay_alloc(a, raw.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < raw.n; i++) {
		if (raw.p[i] != '\\' || i + 1 == raw.n) {
			out[n++] = raw.p[i];
			continue;
		}
		char c = raw.p[++i];
		if (c == 'u') {
			size_t used;
			bool odd = false;
			n += assay_utf8_put(out + n, unicode_escape(raw, i + 1, &used, &odd));
			i += used;
		} else {
			out[n++] = escaped_char(c) ? escaped_char(c) : c;
		}
	}
	return (assay_str){out, n};
}

static uint32_t check_string(assay_str s)
{
	uint32_t odd = 0;
	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t used = 0, len = 1;
		bool lone = false;
		if (c == '\\') {
			char e = i + 1 < s.n ? s.p[i + 1] : 0;
			if (e == 'u')
				unicode_escape(s, i + 2, &used, &lone);
			else if (!escaped_char(e))
				odd |= ASSAY_JSON_ESCAPE;
			len = 2 + used;
		} else if (c < 0x20) {
			odd |= ASSAY_JSON_CONTROL;
		} else if (!(len = assay_utf8_len(s.p + i, s.n - i))) {
			odd |= ASSAY_JSON_UTF8;
			len = 1;
		}
		odd |= lone ? ASSAY_JSON_ESCAPE : 0;
		i += len;
	}
	return odd;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool is_number(assay_str s)
{
	size_t i = 0, from;
	if (i < s.n && s.p[i] == '-')
		i++;
	from = i;
	i += assay_digits_first((assay_str){s.p + i, s.n - i});
	if (i == from || (s.p[from] == '0' && i > from + 1))
		return false;
	if (i < s.n && s.p[i] == '.') {
		from = ++i;
		i += assay_digits_first((assay_str){s.p + i, s.n - i});
		if (i == from)
			return false;
	}
	if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
		i++;
		if (i < s.n && (s.p[i] == '+' || s.p[i] == '-'))
			i++;
		from = i;
		i += assay_digits_first((assay_str){s.p + i, s.n - i});
		if (i == from)
			return false;
	}
	return i == s.n;
}

bool assay_json_is_word(assay_str s)
{
	static const char *const words[] = {"true", "false", "null"};
	return assay_str_is_any(s, words, ASSAY_COUNT_OF(words));
}

static uint32_t check_scalar(assay_str s)
{
	if (assay_json_is_word(s) || is_number(s))
		return 0;
	double v;
	if (assay_str_f64(s, &v) && !isfinite(v))
		return ASSAY_JSON_CONSTANT;
	return s.p[0] == '-' || assay_is_digit(s.p[0]) ? ASSAY_JSON_NUMBER : ASSAY_JSON_CONSTANT;
}

/* One value's first token: containers are opened, everything else is eaten. */
static bool check_open(assay_json *j, char *opened)
{
	assay_str s;
	char c = assay_json_peek(j);
	*opened = 0;
	if (c == '{' || c == '[') {
		*opened = c;
		return assay_json_enter(j, c);
	}
	if (c == '"') {
		if (!assay_json_text(j, &s))
			return false;
		j->odd |= check_string(s);
		return true;
	}
	const char *from = j->p;
	while (j->p < j->end && json_scalar_char(*j->p))
		j->p++;
	s = (assay_str){from, (size_t)(j->p - from)};
	if (!s.n)
		return json_fail(j);
	j->odd |= check_scalar(s);
	return true;
}

bool assay_json_check(const char *p, size_t n, uint32_t *odd, size_t *bad_at)
{
	assay_json j = assay_json_on(p, n);
	assay_vec(char) open = {0};
	char opened;
	bool ok = check_open(&j, &opened);
	if (ok && opened)
		*assay_push(&open) = opened;
	while (ok && open.n) {
		assay_str key;
		bool object = open.p[open.n - 1] == '{';
		bool more = object ? assay_json_member(&j, &key) : assay_json_element(&j);
		if (!more) {
			ok = assay_json_ok(&j);
			open.n--;
			continue;
		}
		if (object)
			j.odd |= check_string(key);
		ok = check_open(&j, &opened);
		if (ok && opened)
			*assay_push(&open) = opened;
	}
	if (ok && (assay_json_peek(&j) || j.p != j.end))
		ok = false;
	assay_vec_free(&open);
	*odd = j.odd;
	*bad_at = (size_t)(j.p - p);
	return ok;
}

/* One document: 1 valid, 0 taken leniently, -1 refused. */
static int verdict(const char *text, size_t n)
{
	char buf[512] = {0};
	uint32_t odd;
	size_t at;
	memcpy(buf, text, n);
	if (!assay_json_check(buf, n, &odd, &at))
		return -1;
	return odd ? 0 : 1;
}

TEST(valid_documents_are_valid)
{
	static const char *const good[] = {"{}",
					   "[]",
					   "0",
					   "-0",
					   "1",
					   "-1.5e+10",
					   "1E5",
					   "0.1",
					   "true",
					   "false",
					   "null",
					   "\"\"",
					   " [ 1 , 2 ] ",
					   "\t{\r\n\"a\" : [ { } ] }\n",
					   "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
					   "\"\\ud83d\\ude00\"",
					   "\"\xf0\x9f\x98\x80\"",
					   "{\"a\":1,\"a\":2}",
					   "[[[[[[[[[[]]]]]]]]]]",
					   "123456789012345678901234567890",
					   "{\"\":0}",
					   "\"\x7f\"",
					   "[null,true,false,\"x\",1.0]",
					   "\"\\u0000\"",
					   "1e400",
					   "-0.0"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(good); i++)
		if (verdict(good[i], strlen(good[i])) != 1) {
			fprintf(stderr, "refused: %s\n", good[i]);
			return 1;
		}
	return 0;
}

TEST(broken_documents_are_refused)
{
	static const char *const broken[] = {"",
					     " ",
					     "{",
					     "[",
					     "}",
					     "]",
					     "{]",
					     "[}",
					     "\"",
					     "\"a",
					     "\"\\",
					     "{\"a\"}",
					     "{\"a\":}",
					     "{a:1}",
					     "{1:2}",
					     "{\"a\":1",
					     "[1",
					     "[1}",
					     "1 2",
					     "{} {}",
					     "[] x",
					     "'a'",
					     "{\"a\":1]",
					     ",",
					     ":",
					     "[:]",
					     "{\"a\" 1}",
					     "\x01",
					     "#",
					     "[1] // no",
					     "\xef\xbb\xbf{}",
					     "{\"a\":1,\"b\"}",
					     "{,",
					     "[\"a\"",
					     "*"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(broken); i++)
		if (verdict(broken[i], strlen(broken[i])) != -1) {
			fprintf(stderr, "taken: %s\n", broken[i]);
			return 1;
		}
	return 0;
}

TEST(odd_documents_are_taken_and_told)
{
	static const struct {
		const char *text;
		uint32_t odd;
	} cases[] = {
		{"[1,]", ASSAY_JSON_COMMA},
		{"{\"a\":1,}", ASSAY_JSON_COMMA},
		{"[1 2]", ASSAY_JSON_COMMA},
		{"[,1]", ASSAY_JSON_COMMA},
		{"[1,,2]", ASSAY_JSON_COMMA},
		{"{\"a\":1 \"b\":2}", ASSAY_JSON_COMMA},
		{"[NaN]", ASSAY_JSON_CONSTANT},
		{"[Infinity]", ASSAY_JSON_CONSTANT},
		{"[-Infinity]", ASSAY_JSON_CONSTANT},
		{"nul", ASSAY_JSON_CONSTANT},
		{"01", ASSAY_JSON_NUMBER},
		{"1.", ASSAY_JSON_NUMBER},
		{"-", ASSAY_JSON_NUMBER},
		{"1e", ASSAY_JSON_NUMBER},
		{"-01", ASSAY_JSON_NUMBER},
		{"1.e1", ASSAY_JSON_NUMBER},
		{"\"\n\"", ASSAY_JSON_CONTROL},
		{"\"\xff\"", ASSAY_JSON_UTF8},
		{"\"\xc0\x80\"", ASSAY_JSON_UTF8},
		{"\"\xed\xa0\x80\"", ASSAY_JSON_UTF8},
		{"\"\\x\"", ASSAY_JSON_ESCAPE},
		{"\"\\ud800\"", ASSAY_JSON_ESCAPE},
		{"\"\\u12g4\"", ASSAY_JSON_ESCAPE},
		{"\"\\udc00\\ud800\"", ASSAY_JSON_ESCAPE},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		char buf[128] = {0};
		uint32_t odd;
		size_t at;
		strcpy(buf, cases[i].text);
		if (!assay_json_check(buf, strlen(buf), &odd, &at) || odd != cases[i].odd) {
			fprintf(stderr, "%s: odd %u\n", cases[i].text, odd);
			return 1;
		}
	}
	return 0;
}

TEST(nesting_is_bounded_by_memory_only)
{
	enum { DEEP = 200000 };
	assay_arena a = {0};
	char *text = assay_alloc(&a, 2 * DEEP + 64);
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	uint32_t odd;
	size_t at;
	CHECK(assay_json_check(text, 2 * DEEP, &odd, &at) && !odd);
	assay_json j = assay_json_on(text, 2 * DEEP);
	CHECK(assay_json_skip(&j, NULL) && j.p == j.end);
	j = assay_json_on(text, 2 * DEEP - 1);
	CHECK(!assay_json_skip(&j, NULL) && j.cut);
	assay_arena_free(&a);
	return 0;
}

TEST(skipping_respects_strings_and_escapes_at_every_offset)
{
	/* brackets and quotes inside strings, shifted over the 64-byte block borders */
	static const char core[] =
		"{\"a]}\\\"\": [\"\\\\\", {\"}\": \"[[\"}], \"b\": \"\\\\\\\"{\"}";
	for (size_t pad = 0; pad < 140; pad++) {
		char buf[512] = {0};
		size_t n = 0;
		buf[n++] = '[';
		memset(buf + n, ' ', pad);
		n += pad;
		memcpy(buf + n, core, sizeof core - 1);
		n += sizeof core - 1;
		buf[n++] = ']';
		size_t whole = n;
		memcpy(buf + n, ",1]", 3);
		assay_json j = assay_json_on(buf, n + 3);
		CHECK(assay_json_skip(&j, NULL));
		CHECK_EQ(j.p - buf, whole);
		for (size_t cut = 1; cut < whole; cut++) {
			j = assay_json_on(buf, cut);
			CHECK(!assay_json_skip(&j, NULL) && j.cut);
		}
	}
	return 0;
}

TEST(milliseconds_of_microseconds_are_exact)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {{"3743411222894.405,", 3743411222894405},
		     {"1.5,", 1500},
		     {"12345678,", 12345678000},
		     {"-3.25}", -3250},
		     {"1669783687464181,", 1669783687464181000},
		     {"1790857026123456.789,", 1790857026123456789},
		     {"1e3,", 1000000},
		     {"\"7.001\",", 7001},
		     {"0.0004,", 0},
		     {"123456789012345.6789,", 123456789012345678}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		char buf[128] = {0};
		int64_t v = -1;
		strcpy(buf, cases[i].text);
		assay_json j = assay_json_on(buf, strlen(buf));
		CHECK(assay_json_scaled(&j, 3, &v));
		CHECK_EQ(v, cases[i].ns);
	}
	return 0;
}

TEST(numbers_that_do_not_fit_are_skipped_and_noted)
{
	char buf[128] = "[99999999999999999999, 18446744073709551615, 0x1, -5, 7]";
	assay_json j = assay_json_on(buf, strlen(buf));
	uint64_t u;
	int64_t i;
	CHECK(assay_json_enter(&j, '[') && assay_json_element(&j));
	CHECK(!assay_json_u64(&j, &u) && assay_json_ok(&j) && j.odd == ASSAY_JSON_NUMBER);
	CHECK(assay_json_element(&j) && assay_json_u64(&j, &u) && u == UINT64_MAX);
	CHECK(assay_json_element(&j) && assay_json_u64(&j, &u) && u == 1);
	CHECK(assay_json_element(&j) && assay_json_i64(&j, &i) && i == -5);
	CHECK(assay_json_element(&j) && assay_json_i64(&j, &i) && i == 7);
	CHECK(!assay_json_element(&j) && assay_json_ok(&j));
	return 0;
}

TEST(unescaping_gives_utf8)
{
	assay_arena a = {0};
	CHECK(assay_str_is(assay_json_unescape(&a, ASSAY_S("plain")), "plain"));
	CHECK(assay_str_is(assay_json_unescape(&a, ASSAY_S("a\\n\\u00e9\\ud83d\\ude00\\/")),
			   "a\n\xc3\xa9\xf0\x9f\x98\x80/"));
	CHECK(assay_str_is(assay_json_unescape(&a, ASSAY_S("\\ud800x\\")), "\xef\xbf\xbdx\\"));
	assay_arena_free(&a);
	return 0;
}

TEST(text_of_no_bytes_is_copied)
{
	assay_arena a = {0};
	assay_json none = assay_json_copy(&a, (assay_str){0});
	assay_json members = assay_json_members(&a, (assay_str){0});
	assay_str key;
	CHECK(!assay_json_enter(&none, '{') && !assay_json_member(&members, &key) &&
	      assay_json_ok(&members));
	assay_arena_free(&a);
	return 0;
}

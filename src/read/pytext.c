/* See pytext.h. */
#include "read/pytext.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/test.h"

enum { FIELD_LIMIT = 131072 };

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

assay_str py_strip(assay_str s)
{
	while (s.n && is_space(s.p[0]))
		s.p++, s.n--;
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* digits ('_' digits)*: copied without the underscores; the count of digits, -1 when a '_' stands
 * wrong. */
static int take_digits(assay_str s, size_t *at, char *out, size_t *n)
{
	int count = 0;
	for (; *at < s.n; ++*at) {
		if (assay_is_digit(s.p[*at])) {
			out[(*n)++] = s.p[*at];
			count++;
		} else if (s.p[*at] == '_') {
			if (!count || s.p[*at - 1] == '_' || *at + 1 == s.n ||
			    !assay_is_digit(s.p[*at + 1]))
				return -1;
		} else {
			break;
		}
	}
	return count;
}

static bool take_any(assay_str s, size_t *at, const char *chars, char *out, size_t *n)
{
	if (*at == s.n || !s.p[*at] || !strchr(chars, s.p[*at]))
		return false;
	out[(*n)++] = s.p[(*at)++];
	return true;
}

/* A decimal number in the grammar both Python and strtod have. */
static bool decimal_text(assay_str s, char *out)
{
	size_t at = 0, n = 0;
	take_any(s, &at, "+-", out, &n);
	int whole = take_digits(s, &at, out, &n), part = 0;
	if (take_any(s, &at, ".", out, &n))
		part = take_digits(s, &at, out, &n);
	if (whole < 0 || part < 0 || whole + part == 0)
		return false;
	if (take_any(s, &at, "eE", out, &n)) {
		take_any(s, &at, "+-", out, &n);
		if (take_digits(s, &at, out, &n) <= 0)
			return false;
	}
	out[n] = 0;
	return at == s.n;
}

static bool is_special(assay_str s)
{
	if (s.n && (s.p[0] == '+' || s.p[0] == '-'))
		s.p++, s.n--;
	return assay_str_same(s, ASSAY_S("inf")) || assay_str_same(s, ASSAY_S("infinity")) ||
	       assay_str_same(s, ASSAY_S("nan"));
}

bool py_float(assay_str s, double *out)
{
	assay_arena scratch = {0};
	char small[64];
	s = py_strip(s);
	if (is_special(s))
		return assay_str_f64(s, out);
	char *text = s.n < sizeof small ? small : assay_alloc(&scratch, s.n + 1);
	bool ok = s.n && decimal_text(s, text);
	if (ok)
		*out = strtod(text, NULL);
	assay_arena_free(&scratch);
	return ok;
}

/* Bytes of the line end at p, or 0. Beyond \n, \r, \r\n: \v \f \x1c \x1d \x1e U+0085 U+2028
 * U+2029. */
static size_t line_end(const char *p, size_t n)
{
	if (*p == '\r')
		return n > 1 && p[1] == '\n' ? 2 : 1;
	if ((*p >= '\n' && *p <= '\f') || (*p >= 0x1c && *p <= 0x1e))
		return 1;
	if (n > 1 && !memcmp(p, "\xc2\x85", 2))
		return 2;
	if (n > 2 && (!memcmp(p, "\xe2\x80\xa8", 3) || !memcmp(p, "\xe2\x80\xa9", 3)))
		return 3;
	return 0;
}

bool py_line(assay_str *rest, assay_str *line)
{
	size_t i = 0, end = 0;
	if (!rest->n)
		return false;
	while (i < rest->n && !(end = line_end(rest->p + i, rest->n - i)))
		i++;
	*line = (assay_str){rest->p, i};
	rest->p += i + end;
	rest->n -= i + end;
	return true;
}

/* The escape whose letter is at s[at]. */
static bool valid_escape(assay_str s, size_t at)
{
	if (at >= s.n || !s.p[at] || !strchr("\"\\/bfnrtu", s.p[at]))
		return false;
	for (size_t i = 1; s.p[at] == 'u' && i <= 4; i++)
		if (at + i >= s.n || !s.p[at + i] || !strchr("0123456789abcdefABCDEF", s.p[at + i]))
			return false;
	return true;
}

/* In a document whose structure is right: only the bare words and escapes that Python has. */
static bool only_python_oddities(assay_str s)
{
	bool in = false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '"') {
			in = !in;
		} else if (in && c == '\\') {
			if (!valid_escape(s, ++i))
				return false;
		} else if (!in && json_scalar_char(c)) {
			size_t from = i;
			while (i + 1 < s.n && json_scalar_char(s.p[i + 1]))
				i++;
			assay_str word = {s.p + from, i + 1 - from};
			bool known = assay_str_is(word, "NaN") || assay_str_is(word, "Infinity") ||
				     assay_str_is(word, "-Infinity") ||
				     assay_str_is(word, "true") || assay_str_is(word, "false") ||
				     assay_str_is(word, "null");
			if (!known && ((!assay_is_digit(c) && c != '-') ||
				       !assay_is_digit(word.p[word.n - 1])))
				return false;
		}
	}
	return true;
}

bool py_json_valid(assay_str text)
{
	uint32_t odd;
	size_t at;
	if (!assay_json_check(text.p, text.n, &odd, &at))
		return false;
	if (odd & ~(uint32_t)(ASSAY_JSON_CONSTANT | ASSAY_JSON_ESCAPE))
		return false;
	return !odd || only_python_oddities(text);
}

static void add_char(py_csv *c, char ch)
{
	bool continues = ((unsigned char)ch & 0xc0) == 0x80;
	if (!continues && c->chars++ >= FIELD_LIMIT)
		c->too_long = true;
	*assay_push(&c->bytes) = ch;
}

static void end_field(py_csv *c)
{
	*assay_push(&c->ends) = c->bytes.n;
	c->chars = 0;
}

static bool is_line_end(char ch)
{
	return ch == '\n' || ch == '\r';
}

typedef enum { FIELD_START, IN_FIELD, IN_QUOTES, AFTER_QUOTE } csv_state;

static csv_state csv_step(py_csv *c, csv_state state, char ch)
{
	if (state == IN_QUOTES) {
		if (ch == '"')
			return AFTER_QUOTE;
		add_char(c, ch);
		return IN_QUOTES;
	}
	if (ch == ',') {
		end_field(c);
		return FIELD_START;
	}
	if (ch == '"' && state == FIELD_START)
		return IN_QUOTES;
	add_char(c, ch);
	return ch == '"' && state == AFTER_QUOTE ? IN_QUOTES : IN_FIELD;
}

static void fill_cells(py_csv *c)
{
	size_t from = 0;
	c->cells.n = 0;
	for (size_t i = 0; i < c->ends.n; i++) {
		*assay_push(&c->cells) = (assay_str){c->bytes.p + from, c->ends.p[i] - from};
		from = c->ends.p[i];
	}
}

bool py_csv_next(py_csv *c)
{
	csv_state state = FIELD_START;
	const char *from = c->p;
	c->bytes.n = c->ends.n = c->cells.n = 0;
	c->chars = 0;
	if (c->p == c->end || c->too_long)
		return false;
	while (c->p < c->end && !c->too_long && (state == IN_QUOTES || !is_line_end(*c->p)))
		state = csv_step(c, state, *c->p++);
	if (c->too_long)
		return false;
	if (c->p > from)
		end_field(c);
	if (c->p < c->end)
		c->p += *c->p == '\r' && c->p + 1 < c->end && c->p[1] == '\n' ? 2 : 1;
	assay_vec_reserve(&c->bytes, 1); /* cells need a pointer even when empty */
	fill_cells(c);
	return true;
}

void py_csv_free(py_csv *c)
{
	assay_vec_free(&c->bytes);
	assay_vec_free(&c->ends);
	assay_vec_free(&c->cells);
}

TEST(floats_are_those_of_python)
{
	double v;
	CHECK(py_float(ASSAY_S(" 12.5\n"), &v) && v == 12.5);
	CHECK(py_float(ASSAY_S("1_000.5e0_1"), &v) && v == 10005);
	CHECK(py_float(ASSAY_S("5."), &v) && v == 5 && py_float(ASSAY_S("-.5"), &v) && v == -0.5);
	CHECK(py_float(ASSAY_S("1e999"), &v) && v > 1e308 && py_float(ASSAY_S("-INF"), &v) &&
	      v < 0);
	CHECK(py_float(ASSAY_S("NaN"), &v) && v != v);
	static const char *const bad[] = {"",     " ",   "_1",  "1_",  "1__0", "1_.5",
					  "0x10", "1e",  "N/A", "1 2", "e5",   ".",
					  "-",    "5 %", "--1", "1e+", "1.2.3"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++)
		CHECK(!py_float(assay_str_of(bad[i]), &v));
	return 0;
}

TEST(csv_records_are_those_of_python)
{
	static const char text[] = "a,\"b,\"\"c\"\"\r\nd\",e\"f\r\n\r\n\"x\"y,\rlast";
	py_csv c = {.p = text, .end = text + sizeof text - 1};
	CHECK(py_csv_next(&c) && c.cells.n == 3 && assay_str_is(c.cells.p[1], "b,\"c\"\r\nd"));
	CHECK(assay_str_is(c.cells.p[2], "e\"f"));
	CHECK(py_csv_next(&c) && c.cells.n == 0);
	CHECK(py_csv_next(&c) && c.cells.n == 2 && assay_str_is(c.cells.p[0], "xy"));
	CHECK(c.cells.p[1].n == 0);
	CHECK(py_csv_next(&c) && c.cells.n == 1 && assay_str_is(c.cells.p[0], "last"));
	CHECK(!py_csv_next(&c) && !c.too_long);
	py_csv_free(&c);
	return 0;
}

TEST(csv_fields_have_a_limit)
{
	assay_vec(char) text = {0};
	assay_vec_reserve(&text, FIELD_LIMIT + 1);
	memset(text.p, 'x', FIELD_LIMIT + 1);
	for (size_t n = FIELD_LIMIT; n <= FIELD_LIMIT + 1; n++) {
		py_csv c = {.p = text.p, .end = text.p + n};
		CHECK(py_csv_next(&c) == (n == FIELD_LIMIT) && c.too_long == (n != FIELD_LIMIT));
		py_csv_free(&c);
	}
	assay_vec_free(&text);
	return 0;
}

TEST(lines_split_where_python_splits_them)
{
	assay_str rest = ASSAY_S("a\r\nb\rc\vd\xc2\x85"
				 "e\xe2\x80\xa8\n"),
		  line;
	static const char *const want[] = {"a", "b", "c", "d", "e", ""};
	for (int i = 0; i < 6; i++)
		CHECK(py_line(&rest, &line) && assay_str_is(line, want[i]));
	CHECK(!py_line(&rest, &line));
	return 0;
}

static bool json_valid(const char *z)
{
	char text[256] = {0};
	memcpy(text, z, strlen(z));
	return py_json_valid((assay_str){text, strlen(z)});
}

TEST(json_is_taken_as_python_takes_it)
{
	CHECK(json_valid("{\"a\": [NaN, -Infinity, Infinity, 1e5, -0.5], \"b\\ud800\": null}"));
	CHECK(!json_valid("[nan]") && !json_valid("[+1]") && !json_valid("[.5]") &&
	      !json_valid("[1,]"));
	CHECK(!json_valid("[NaN, \"\\x\"]") && !json_valid("[\"\\u12g4\"]") &&
	      !json_valid("[\"\n\"]"));
	CHECK(!json_valid("[NaN, nul]") && !json_valid("[x1]") && !json_valid("[\"\xff\"]") &&
	      !json_valid(""));
	CHECK(json_valid("[\"\\ud800\", \"a\\\\\", 12]") && !json_valid("[-NaN]"));
	return 0;
}

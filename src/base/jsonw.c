/* JSON text with two-space indentation. Invalid UTF-8 becomes U+FFFD, so the output is always
 * valid. */
#include "base/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "base/utf8.h"

enum { MUCH = 64 << 10 };

static void put(assay_jsonw *w, const char *p, size_t n)
{
	assay_vec_reserve(&w->out, w->out.n + n + 1);
	if (n)
		memcpy(w->out.p + w->out.n, p, n);
	w->out.n += n;
}

static inline void put_char(assay_jsonw *w, char c)
{
	assay_vec_reserve(&w->out, w->out.n + 2);
	w->out.p[w->out.n++] = c;
}

static void put_z(assay_jsonw *w, const char *z)
{
	put(w, z, strlen(z));
}

static bool is_flat(const assay_jsonw *w)
{
	return w->compact || (w->flat & (w->depth < 64 ? 1ull << w->depth : 0));
}

/* Where n more bytes can be written; written_to() says how many were. */
static inline char *room(assay_jsonw *w, size_t n)
{
	assay_vec_reserve(&w->out, w->out.n + n + 1);
	return w->out.p + w->out.n;
}

static inline void written_to(assay_jsonw *w, const char *end)
{
	w->out.n = (size_t)(end - w->out.p);
}

static inline size_t break_max(const assay_jsonw *w)
{
	return 2 + 2 * (size_t)w->depth;
}

static inline char *put_line(const assay_jsonw *w, char *to)
{
	*to = '\n';
	memset(to + 1, ' ', 2 * (size_t)w->depth);
	return to + 1 + 2 * (size_t)w->depth;
}

/* What stands before a value: a comma, and a line of its own unless the level is flat. */
static inline char *put_break(const assay_jsonw *w, char *to)
{
	if (w->comma)
		*to++ = ',';
	if (!w->depth)
		return to;
	if (!is_flat(w))
		return put_line(w, to);
	if (w->comma)
		*to++ = ' ';
	return to;
}

/* Do eight bytes stand for themselves? Some that do may be taken for others, never the reverse. */
static inline bool plain_bytes(uint64_t x)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\', del = x ^ ones * 0x7f;
	return !((x | (x - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones)) & high);
}

static inline bool plain_word(const char *p)
{
	uint64_t x;
	memcpy(&x, p, sizeof x);
	return plain_bytes(x);
}

/* The same of a whole text. */
static inline bool is_plain_text(assay_str s)
{
	uint32_t head, tail;
	if (s.n >= 8) {
		for (size_t i = 0; i + 8 < s.n; i += 8)
			if (!plain_word(s.p + i))
				return false;
		return plain_word(s.p + s.n - 8);
	}
	if (s.n >= 4) {
		memcpy(&head, s.p, sizeof head);
		memcpy(&tail, s.p + s.n - 4, sizeof tail);
		return plain_bytes(head | (uint64_t)tail << 32);
	}
	uint64_t x = 0x6161616161616161u;
	for (size_t i = 0; i < s.n; i++)
		x = x << 8 | (unsigned char)s.p[i];
	return !s.n || plain_bytes(x);
}

/* Bytes from i on that stand for themselves. */
static size_t plain_run(assay_str s, size_t i)
{
	size_t from = i;
	while (i + 8 <= s.n && plain_word(s.p + i))
		i += 8;
	while (i < s.n && s.p[i] >= 0x20 && s.p[i] < 0x7f && s.p[i] != '"' && s.p[i] != '\\')
		i++;
	return i - from;
}

/* The number of a character of at most three bytes, as JSON writes it. */
static void put_code(assay_jsonw *w, const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;
	char text[8];
	unsigned code = n == 3   ? (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u)
			: n == 2 ? (s[0] & 31u) << 6 | (s[1] & 63u)
				 : s[0];
	snprintf(text, sizeof text, "\\u%04x", code);
	put_z(w, code == '\n' ? "\\n" : code == '\t' ? "\\t" : code == '\r' ? "\\r" : text);
}

static void put_escaped(assay_jsonw *w, assay_str s)
{
	if (is_plain_text(s)) {
		assay_vec_reserve(&w->out, w->out.n + s.n + 3);
		char *to = w->out.p + w->out.n;
		*to = '"';
		if (s.n)
			memcpy(to + 1, s.p, s.n);
		to[s.n + 1] = '"';
		w->out.n += s.n + 2;
		return;
	}
	put_char(w, '"');
	for (size_t i = 0; i < s.n;) {
		size_t run = plain_run(s, i);
		if (run) {
			put(w, s.p + i, run);
			i += run;
			continue;
		}
		unsigned char c = (unsigned char)s.p[i];
		size_t n = assay_utf8_len(s.p + i, s.n - i);
		if (c == '"' || c == '\\') {
			put(w, (char[2]){'\\', (char)c}, 2);
		} else if (assay_utf8_is_wild(s.p + i, n)) { /* JSON is read on terminals, too */
			put_code(w, s.p + i, n);
		} else if (!n) {
			put_z(w, "\xef\xbf\xbd");
			n = 1;
		} else {
			put(w, s.p + i, n);
		}
		i += n ? n : 1;
	}
	put_char(w, '"');
}

void assay_jsonw_key(assay_jsonw *w, assay_str key)
{
	written_to(w, put_break(w, room(w, break_max(w))));
	if (key.p) {
		put_escaped(w, key);
		put(w, ": ", 2);
	}
	w->comma = false; /* the value that follows belongs to this key */
}

/* The usual key: a word of ours. */
static void put_plain_key(assay_jsonw *w, assay_str key)
{
	char *to = put_break(w, room(w, break_max(w) + key.n + 4));
	*to++ = '"';
	memcpy(to, key.p, key.n);
	memcpy(to + key.n, "\": ", 3);
	written_to(w, to + key.n + 3);
	w->comma = false;
}

static void begin(assay_jsonw *w, const char *key)
{
	assay_str k = assay_str_of(key);
	/* after assay_jsonw_key() the value itself comes with no key and must not start a new
	 * line */
	bool keyed = !key && w->out.n >= 2 && w->out.p[w->out.n - 1] == ' ' &&
		     w->out.p[w->out.n - 2] == ':';
	if (key && is_plain_text(k))
		put_plain_key(w, k);
	else if (!keyed)
		assay_jsonw_key(w, k);
}

void assay_jsonw_open(assay_jsonw *w, const char *key, char bracket)
{
	begin(w, key);
	put_char(w, bracket);
	w->depth++;
	w->comma = false;
	uint64_t bit = w->depth < 64 ? 1ull << w->depth : 0;
	bool inherit = w->depth > 1 && w->depth < 64 && (w->flat & bit >> 1);
	w->flat = inherit ? w->flat | bit : w->flat & ~bit;
}

void assay_jsonw_open_flat(assay_jsonw *w, const char *key, char bracket)
{
	assay_jsonw_open(w, key, bracket);
	if (w->depth < 64)
		w->flat |= 1ull << w->depth;
}

void assay_jsonw_close(assay_jsonw *w, char bracket)
{
	bool any = w->comma, flat = is_flat(w);
	assert(w->depth);
	w->depth--;
	char *to = room(w, break_max(w) + 1);
	if (any && !flat)
		to = put_line(w, to);
	*to++ = bracket;
	written_to(w, to);
	w->comma = true;
	if (w->to && w->out.n >= MUCH)
		assay_jsonw_flush(w);
}

void assay_jsonw_str(assay_jsonw *w, const char *key, assay_str s)
{
	begin(w, key);
	put_escaped(w, s);
	w->comma = true;
}

void assay_jsonw_raw(assay_jsonw *w, const char *key, assay_str json)
{
	begin(w, key);
	put(w, json.p, json.n);
	w->comma = true;
}

void assay_jsonw_z(assay_jsonw *w, const char *key, const char *z)
{
	if (z)
		assay_jsonw_str(w, key, assay_str_of(z));
	else
		assay_jsonw_null(w, key);
}

void assay_jsonw_i64(assay_jsonw *w, const char *key, int64_t v)
{
	begin(w, key);
	written_to(w, assay_put_i64(room(w, ASSAY_DIGITS_MAX), v));
	w->comma = true;
}

void assay_jsonw_i64_if(assay_jsonw *w, const char *key, bool known, int64_t v)
{
	if (known)
		assay_jsonw_i64(w, key, v);
	else
		assay_jsonw_null(w, key);
}

void assay_jsonw_u64(assay_jsonw *w, const char *key, uint64_t v)
{
	begin(w, key);
	written_to(w, assay_put_u64(room(w, ASSAY_DIGITS_MAX), v));
	w->comma = true;
}

/* Most numbers are a few digits with a point: m / 10^k of whole numbers that doubles hold exactly
 * reads back as the rounded quotient, and of at most 15 digits there is one such text. False when v
 * is none. */
static bool put_decimal(char buf[40], double v)
{
	double u = fabs(v), scale = 1;
	if (u != 0 && !(u >= 1e-3 && u < 1e9))
		return false;
	for (int k = 0; k <= 6; k++, scale *= 10) {
		uint64_t m = (uint64_t)(u * scale + 0.5);
		if ((double)m / scale != u)
			continue;
		char *end = buf;
		if (signbit(v))
			*end++ = '-';
		end = assay_put_u64(end, m / (uint64_t)scale);
		*end++ = '.';
		uint64_t fraction = (uint64_t)scale + m % (uint64_t)scale; /* a 1, and the digits */
		char *digits = end - 1;
		char point = *digits;
		end = assay_put_u64(digits, k ? fraction : 10);
		*digits = point;
		*end = 0;
		return true;
	}
	return false;
}

void assay_jsonw_hex(assay_jsonw *w, const char *key, uint64_t v)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, v);
	assay_jsonw_z(w, key, v == UINT64_MAX ? NULL : text);
}

void assay_jsonw_f64(assay_jsonw *w, const char *key, double v)
{
	char buf[40];
	if (!isfinite(v)) {
		assay_jsonw_null(w, key);
		return;
	}
	if (put_decimal(buf, v)) {
		assay_jsonw_raw(w, key, assay_str_of(buf));
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, sizeof buf, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	if (!strpbrk(buf, ".e"))
		strcat(buf, ".0"); /* readers that tell floats from integers keep the type */
	assay_jsonw_raw(w, key, assay_str_of(buf));
}

void assay_jsonw_bool(assay_jsonw *w, const char *key, bool v)
{
	assay_jsonw_raw(w, key, v ? ASSAY_S("true") : ASSAY_S("false"));
}

void assay_jsonw_null(assay_jsonw *w, const char *key)
{
	assay_jsonw_raw(w, key, ASSAY_S("null"));
}

assay_str assay_jsonw_text(assay_jsonw *w)
{
	assay_vec_reserve(&w->out, w->out.n + 1);
	w->out.p[w->out.n] = 0;
	return (assay_str){w->out.p, w->out.n};
}

void assay_jsonw_flush(assay_jsonw *w)
{
	fwrite(w->out.p, 1, w->out.n, w->to);
	w->out.n = 0;
}

void assay_jsonw_free(assay_jsonw *w)
{
	assay_vec_free(&w->out);
}

enum { COPY_DEPTH = 16, INTEGER_MAX = 100 };

/* What most numbers are, told without converting them. */
static bool is_integer(assay_str s)
{
	size_t minus = s.n && s.p[0] == '-';
	return s.n > minus && s.n == minus + assay_digits_last(s) && s.n < INTEGER_MAX;
}

static bool is_plain(assay_str s)
{
	double number;
	return is_integer(s) || assay_json_is_word(s) ||
	       (assay_str_f64(s, &number) && (s.p[0] == '-' || assay_is_digit(s.p[0])));
}

static bool copy_value(assay_jsonw *w, assay_json *j, assay_arena *scratch, int depth)
{
	char c = assay_json_peek(j);
	assay_str s;
	if (c == '"') {
		if (!assay_json_text(j, &s))
			return false;
		assay_jsonw_str(w, NULL, assay_json_unescape(scratch, s));
		return true;
	}
	if (c == '[' || c == '{') {
		if (depth > COPY_DEPTH)
			return false;
		assay_json_enter(j, c);
		assay_jsonw_open(w, NULL, c);
		while (c == '[' ? assay_json_element(j) : assay_json_member(j, &s)) {
			if (c == '{')
				assay_jsonw_key(w, assay_json_unescape(scratch, s));
			if (!copy_value(w, j, scratch, depth + 1))
				return false;
		}
		assay_jsonw_close(w, c == '[' ? ']' : '}');
		return assay_json_ok(j);
	}
	if (!assay_json_skip(j, &s) || !is_plain(s))
		return false;
	assay_jsonw_raw(w, NULL, s);
	return true;
}

bool assay_jsonw_copy(assay_jsonw *w, assay_str json, assay_arena *scratch)
{
	char *text = assay_alloc(scratch, json.n + 1 + ASSAY_PAD);
	if (json.n)
		memcpy(text, json.p, json.n);
	text[json.n] = ' '; /* a number ends where something else stands */
	assay_json j = assay_json_on(text, json.n + 1);
	assay_jsonw before = *w;
	w->compact = true;
	w->to = NULL; /* it may have to be taken back */
	bool ok = copy_value(w, &j, scratch, 0) && !assay_json_peek(&j) && !j.odd;
	w->compact = before.compact;
	w->to = before.to;
	if (ok)
		return true;
	w->out.n = before.out.n;
	w->depth = before.depth;
	w->comma = before.comma;
	w->flat = before.flat;
	return false;
}

enum { FORMS_MAX = 1 << 16, FORM_BYTES_MAX = 1024 };

static assay_str new_form(assay_json_forms *f, assay_str json, assay_arena *scratch)
{
	f->made.out.n = 0;
	f->made.comma = false;
	if (!assay_jsonw_copy(&f->made, json, scratch))
		return (assay_str){0};
	return assay_jsonw_text(&f->made);
}

bool assay_jsonw_copy_known(assay_jsonw *w, assay_str json, assay_arena *scratch,
			    assay_json_forms *f)
{
	assay_sid known = assay_pool_find(&f->raw, json);
	assay_str form = known ? f->form.p[known - 1] : new_form(f, json, scratch);
	if (!known && json.n && json.n <= FORM_BYTES_MAX && f->form.n < FORMS_MAX) {
		assay_intern(&f->raw, json);
		*assay_push(&f->form) =
			(assay_str){form.p ? assay_dup(&f->arena, form) : NULL, form.n};
	}
	bool compact = w->compact;
	w->compact = true;
	if (form.p)
		assay_jsonw_raw(w, NULL, form);
	w->compact = compact;
	return form.p;
}

void assay_json_forms_free(assay_json_forms *f)
{
	assay_pool_free(&f->raw);
	assay_vec_free(&f->form);
	assay_jsonw_free(&f->made);
	assay_arena_free(&f->arena);
}

TEST(writes_nested_values_with_commas)
{
	assay_jsonw w = {.compact = true};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_i64(&w, "a", -1);
	assay_jsonw_open(&w, "b", '[');
	assay_jsonw_z(&w, NULL, "x");
	assay_jsonw_null(&w, NULL);
	assay_jsonw_close(&w, ']');
	assay_jsonw_key(&w, ASSAY_S("k\""));
	assay_jsonw_bool(&w, NULL, true);
	assay_jsonw_close(&w, '}');
	CHECK(!strcmp(assay_jsonw_text(&w).p,
		      "{\"a\": -1, \"b\": [\"x\", null], \"k\\\"\": true}"));
	assay_jsonw_free(&w);
	return 0;
}

TEST(output_is_valid_whatever_goes_in)
{
	assay_jsonw w = {0};
	assay_jsonw_str(&w, NULL, (assay_str){"a\"\\\n\x01\xff\xc3\xa9", 8});
	CHECK(!strcmp(assay_jsonw_text(&w).p, "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\""));
	assay_jsonw_free(&w);
	return 0;
}

TEST(doubles_read_back_exactly)
{
	const double v[] = {0.1, 1e300, 0.0110491071, 5.0, -0.0524508929, 1.0 / 3, 0.3 - 0.2};
	for (size_t i = 0; i < ASSAY_COUNT_OF(v); i++) {
		assay_jsonw w = {0};
		assay_jsonw_f64(&w, NULL, v[i]);
		CHECK(strtod(assay_jsonw_text(&w).p, NULL) == v[i]);
		assay_jsonw_free(&w);
	}
	return 0;
}

TEST(short_decimals_are_written_as_printf_would)
{
	uint64_t x = 1;
	for (int i = 0; i < 20000; i++) {
		char quick[40], slow[40];
		x = x * 6364136223846793005u + 1442695040888963407u;
		double v =
			(double)(int64_t)(x >> 34) / (double[]){1, 10, 1e3, 1e5, 1e6, 1e8}[i % 6];
		v = i % 7 ? v : -v;
		if (!put_decimal(quick, v))
			continue;
		snprintf(slow, sizeof slow, "%.15g", v);
		if (!strpbrk(slow, ".e"))
			strcat(slow, ".0");
		CHECK(!strcmp(quick, slow));
	}
	char zero[40];
	CHECK(put_decimal(zero, -0.0) && !strcmp(zero, "-0.0"));
	return 0;
}

TEST(copied_text_takes_one_form_and_unsound_text_is_refused)
{
	static const char *const unsound[] = {"[1,]", "[1", "[01x]", "[NaN]", "[1] 2", "{\"a\" 1}"};
	assay_arena a = {0};
	assay_jsonw w = {.compact = true}, again = {.compact = true}, number = {.compact = true};
	CHECK(assay_jsonw_copy(&w, ASSAY_S("[ 1,\n {\"a\":\"\\u0041\"}, -2.5,null]"), &a));
	CHECK(assay_str_is(assay_jsonw_text(&w), "[1, {\"a\": \"A\"}, -2.5, null]"));
	CHECK(assay_jsonw_copy(&again, assay_jsonw_text(&w), &a));
	CHECK(assay_str_eq(assay_jsonw_text(&w), assay_jsonw_text(&again)));
	for (size_t i = 0; i < ASSAY_COUNT_OF(unsound); i++)
		CHECK(!assay_jsonw_copy(&w, assay_str_of(unsound[i]), &a));
	CHECK(assay_jsonw_copy(&number, ASSAY_S("12"), &a));
	CHECK(assay_str_is(assay_jsonw_text(&number), "12"));
	assay_jsonw_free(&number);
	CHECK(assay_str_eq(assay_jsonw_text(&w), assay_jsonw_text(&again)));
	assay_jsonw_free(&w);
	assay_jsonw_free(&again);
	assay_arena_free(&a);
	return 0;
}

TEST(known_texts_are_copied_as_others_are)
{
	static const char *const texts[] = {"[ 1,2]", "\"a\"", "[1,]", "7", "[ 1,2]", "[1,]", ""};
	assay_arena a = {0};
	assay_json_forms f = {0};
	assay_jsonw w = {0}, v = {0};
	assay_jsonw_open(&w, NULL, '[');
	assay_jsonw_open(&v, NULL, '[');
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++) {
		bool sound = assay_jsonw_copy(&v, assay_str_of(texts[i]), &a);
		CHECK(assay_jsonw_copy_known(&w, assay_str_of(texts[i]), &a, &f) == sound);
		CHECK(assay_str_eq(assay_jsonw_text(&w), assay_jsonw_text(&v)));
	}
	CHECK_EQ(f.form.n, 4);
	assay_jsonw_free(&w);
	assay_jsonw_free(&v);
	assay_json_forms_free(&f);
	assay_arena_free(&a);
	return 0;
}

TEST(every_byte_is_written_the_same_wherever_it_stands)
{
	enum { LENGTH = 20 };
	char text[LENGTH], letters[LENGTH];
	memset(letters, 'a', LENGTH);
	for (int c = 0; c < 256; c++) {
		assay_jsonw alone = {.compact = true};
		char byte = (char)c;
		put_escaped(&alone, (assay_str){&byte, 1});
		for (size_t at = 0; at < LENGTH; at++) {
			assay_jsonw within = {.compact = true}, parts = {.compact = true};
			memcpy(text, letters, LENGTH);
			text[at] = byte;
			put_escaped(&within, (assay_str){text, LENGTH});
			put_char(&parts, '"');
			put(&parts, letters, at);
			put(&parts, alone.out.p + 1, alone.out.n - 2);
			put(&parts, letters, LENGTH - 1 - at);
			put_char(&parts, '"');
			CHECK(within.out.n == parts.out.n &&
			      !memcmp(within.out.p, parts.out.p, parts.out.n));
			assay_jsonw_free(&within);
			assay_jsonw_free(&parts);
		}
		assay_jsonw_free(&alone);
	}
	return 0;
}

TEST(text_commands_no_terminal_and_is_the_same_when_read)
{
	assay_jsonw w = {.compact = true};
	put_escaped(&w, ASSAY_S("\x1b[m\x7f\xc2\x9b\xe2\x80\xae\xd8\x9c\xc3\xbc\xe2\x80\xa6\n"));
	CHECK(assay_str_is((assay_str){w.out.p, w.out.n},
			   "\"\\u001b[m\\u007f\\u009b\\u202e\\u061c\xc3\xbc\xe2\x80\xa6\\n\""));
	assay_jsonw_free(&w);
	return 0;
}

TEST(text_that_goes_to_a_file_is_the_text_in_memory)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	assay_jsonw kept = {0}, sent = {.to = f}, *both[] = {&kept, &sent};
	assay_arena scratch = {0};
	CHECK(f);
	for (size_t b = 0; b < 2; b++) {
		assay_jsonw_open(both[b], NULL, '[');
		for (int64_t i = 0; i < 5000; i++) {
			assay_jsonw_open_flat(both[b], NULL, '{');
			assay_jsonw_i64(both[b], "number", i);
			assay_jsonw_key(both[b], ASSAY_S("copy"));
			if (!assay_jsonw_copy(both[b], i % 2 ? ASSAY_S("[[1], ") : ASSAY_S("[[1]]"),
					      &scratch))
				assay_jsonw_raw(both[b], NULL, ASSAY_S("null"));
			assay_jsonw_close(both[b], '}');
		}
		assay_jsonw_close(both[b], ']');
	}
	CHECK(sent.out.n < kept.out.n / 2);
	assay_jsonw_flush(&sent);
	fclose(f);
	CHECK(assay_str_eq(assay_jsonw_text(&kept), (assay_str){text, n}));
	assay_arena_free(&scratch);
	assay_jsonw_free(&kept);
	assay_jsonw_free(&sent);
	free(text);
	return 0;
}

/* The one JSON reader: a cursor over text, no tree, no index, no allocation.
 *
 * Lenient where real files are broken, and it says so: what a strict reader would refuse but we
 * take is collected in `odd`. What cannot be read at all sets `bad` (wrong text at p) or `cut` (the
 * text ended first), and every call after that fails, so callers may check once at the end.
 *
 * Text needs ASSAY_PAD readable bytes behind `end`. Functions are inline so that the hot readers
 * are compiled for each instruction set (base/simd.h). */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/simd.h"
#include "base/str.h"

enum {
	ASSAY_JSON_COMMA = 1,    /* missing, leading, doubled or trailing comma */
	ASSAY_JSON_CONSTANT = 2, /* NaN, Infinity and other bare words */
	ASSAY_JSON_NUMBER = 4,   /* number outside the grammar or the 64-bit range */
	ASSAY_JSON_CONTROL = 8,  /* raw control character in a string */
	ASSAY_JSON_UTF8 = 16,    /* invalid UTF-8 */
	ASSAY_JSON_ESCAPE = 32,  /* unknown escape or lone surrogate */
};

typedef struct assay_json {
	const char *p, *end, *base;
	uint32_t odd;
	bool bad, cut;
	bool fresh; /* a container was just opened: no comma may stand before its first value */
} assay_json;

static inline assay_json assay_json_on(const char *p, size_t n)
{
	return (assay_json){.p = p, .end = p + n, .base = p};
}

static inline bool assay_json_ok(const assay_json *j)
{
	return !j->bad && !j->cut;
}

static inline bool json_fail(assay_json *j)
{
	if (j->p >= j->end)
		j->cut = true;
	else
		j->bad = true;
	return false;
}

static inline void json_space(assay_json *j)
{
	const char *p = simd_skip_space(j->p, j->end);
	j->p = p < j->end ? p : j->end;
}

/* Next character that is not white space; 0 at the end of the text or after a failure. */
static inline char assay_json_peek(assay_json *j)
{
	if (!assay_json_ok(j))
		return 0;
	json_space(j);
	return j->p < j->end ? *j->p : 0;
}

/* Position of the closing quote of a string whose text starts at p, or NULL; *escaped is set when a
 * backslash stands before it. */
static inline const char *json_quote(const char *p, const char *end, bool *escaped)
{
	while (p < end) {
		simd64 b = simd_load(p);
		uint64_t quote = simd_eq(b, '"'), slash = simd_eq(b, '\\');
		if (slash & (quote - 1)) { /* a backslash comes first: step over what it escapes */
			p += __builtin_ctzll(slash) + 2;
			*escaped = true;
			continue;
		}
		if (quote) {
			p += __builtin_ctzll(quote);
			return p < end ? p : NULL;
		}
		p += 64;
	}
	return NULL;
}

/* The text between the quotes, escapes as written; *escaped tells whether there are any. */
static inline bool json_text(assay_json *j, assay_str *raw, bool *escaped)
{
	if (assay_json_peek(j) != '"')
		return json_fail(j);
	const char *q = json_quote(j->p + 1, j->end, escaped);
	if (!q) {
		j->cut = true;
		return false;
	}
	*raw = (assay_str){j->p + 1, (size_t)(q - j->p - 1)};
	j->p = q + 1;
	return true;
}

static inline bool assay_json_text(assay_json *j, assay_str *raw)
{
	bool escaped = false;
	return json_text(j, raw, &escaped);
}

/* From an opening bracket to just behind its match, by bracket count outside strings. */
static inline const char *json_match(const char *p, const char *end)
{
	uint64_t depth = 0, in = 0; /* in: all ones while inside a string */
	for (; p < end; p += 64) {
		simd64 b = simd_load(p), f = simd_or20(b);
		uint64_t quote = simd_eq(b, '"');
		if (__builtin_expect(simd_eq(b, '\\') != 0, 0)) {
			int i = 0;
			for (; i < 64 && p + i < end; i++) {
				char c = p[i];
				if (in) {
					if (c == '\\')
						i++;
					else if (c == '"')
						in = 0;
				} else if (c == '"') {
					in = ~0ull;
				} else if ((c | 0x20) == '{') {
					depth++;
				} else if ((c | 0x20) == '}' && --depth == 0) {
					return p + i + 1;
				}
			}
			p += i - 64;
			continue;
		}
		uint64_t inside = simd_prefix_xor(quote) ^ in;
		uint64_t open = simd_eq(f, '{') & ~inside, close = simd_eq(f, '}') & ~inside;
		in = (uint64_t)((int64_t)inside >> 63);
		if ((uint64_t)__builtin_popcountll(close) < depth) {
			depth += (uint64_t)__builtin_popcountll(open);
			depth -= (uint64_t)__builtin_popcountll(close);
			continue;
		}
		for (; close; close &= close - 1) {
			uint64_t before = (close & -close) - 1;
			depth += (uint64_t)__builtin_popcountll(open & before);
			open &= ~before;
			if (--depth == 0) {
				p += __builtin_ctzll(close) + 1;
				return p <= end ? p : NULL;
			}
		}
		depth += (uint64_t)__builtin_popcountll(open);
	}
	return NULL;
}

static inline bool json_scalar_char(char c)
{
	return assay_is_digit(c) || assay_is_letter(c) || c == '-' || c == '+' || c == '.';
}

/* Does a number end before c? What follows one in practice is asked first. */
static inline bool json_ends_scalar(char c)
{
	return c == ',' || c == '}' || !json_scalar_char(c);
}

/* A number, true, false, null, NaN, -Infinity: its text. Fails on anything else. */
static inline bool json_scalar(assay_json *j, assay_str *raw)
{
	const char *p = j->p;
	while (p < j->end && json_scalar_char(*p))
		p++;
	if (p == j->p || p == j->end) { /* at the end the token may go on */
		if (p == j->end)
			j->cut = true;
		else
			j->bad = true;
		return false;
	}
	*raw = (assay_str){j->p, (size_t)(p - j->p)};
	j->p = p;
	return true;
}

/* Step over any value; raw (may be NULL) gets its text, quotes and brackets included. */
static inline bool assay_json_skip(assay_json *j, assay_str *raw)
{
	char c = assay_json_peek(j);
	const char *from = j->p, *to;
	assay_str s;
	if (c == '"') {
		if (!assay_json_text(j, &s))
			return false;
	} else if (c == '{' || c == '[') {
		to = json_match(j->p, j->end);
		if (!to) {
			j->cut = true;
			return false;
		}
		j->p = to;
	} else if (!json_scalar(j, &s)) {
		return false;
	}
	if (raw)
		*raw = (assay_str){from, (size_t)(j->p - from)};
	return true;
}

/* Step into an object ('{') or array ('['). */
static inline bool assay_json_enter(assay_json *j, char bracket)
{
	if (assay_json_peek(j) != bracket)
		return json_fail(j);
	j->p++;
	j->fresh = true;
	return true;
}

/* To the next value of the open container; false when it closed (the bracket is eaten) or failed.
 */
static inline bool json_next(assay_json *j, char close)
{
	bool fresh = j->fresh;
	char c = assay_json_peek(j);
	j->fresh = false;
	if (c == ',' && !fresh) {
		j->p++;
		c = assay_json_peek(j);
		if (c == close || c == ',')
			j->odd |= ASSAY_JSON_COMMA;
	} else if (c != close && !fresh) {
		j->odd |= ASSAY_JSON_COMMA;
	}
	while (c == ',') {
		j->odd |= ASSAY_JSON_COMMA;
		j->p++;
		c = assay_json_peek(j);
	}
	if (c == close) {
		j->p++;
		return false;
	}
	return c ? true : json_fail(j);
}

static inline bool assay_json_element(assay_json *j)
{
	return json_next(j, ']');
}

/* The next member's key (escapes as written), the cursor before its value. */
static inline bool assay_json_member(assay_json *j, assay_str *key)
{
	if (!json_next(j, '}') || !assay_json_text(j, key))
		return false;
	if (assay_json_peek(j) != ':')
		return json_fail(j);
	j->p++;
	json_space(j);
	return true;
}

static const uint64_t json_pow10[9] = {1,      10,      100,      1000,     10000,
				       100000, 1000000, 10000000, 100000000};

/* Decimal text times 10^3 (microseconds to nanoseconds) straight from the digits; false, with the
 * cursor unmoved, for anything but plain digits with at most 3 decimals that fits easily. */
static inline bool json_milli_fast(const char **at, int64_t *out)
{
	const char *p = *at;
	bool neg = *p == '-';
	p += neg;
	uint64_t v = 0, more = 0, frac = 0;
	unsigned n = simd_digits8(p, &v);
	if (!n)
		return false;
	p += n;
	if (n == 8) {
		n = simd_digits8(p, &more);
		v = v * json_pow10[n] + more;
		p += n;
		if (n == 8)
			return false; /* 16 digits or more: the exact path decides what fits */
	}
	v *= 1000;
	if (*p == '.') {
		n = simd_digits8(p + 1, &frac);
		if (n < 1 || n > 3)
			return false;
		v += frac * json_pow10[3 - n];
		p += n + 1;
	}
	if (!json_ends_scalar(*p))
		return false;
	*at = p;
	*out = neg ? -(int64_t)v : (int64_t)v;
	return true;
}

/* What a number is written with, or a string that may hold one. */
static inline bool json_number_text(assay_json *j, assay_str *raw)
{
	if (!assay_json_skip(j, raw))
		return false;
	if (raw->n > 2 && raw->p[0] == '"')
		*raw = (assay_str){raw->p + 1, raw->n - 2};
	return true;
}

/* A number, or a string that holds one, times 10^scale, exact. On false the value was skipped and
 * noted in odd, unless the text itself is broken. */
static inline bool assay_json_scaled(assay_json *j, int scale, int64_t *out)
{
	if (scale == 3 && json_milli_fast(&j->p, out) && j->p < j->end)
		return true;
	assay_str raw;
	if (!json_number_text(j, &raw))
		return false;
	if (assay_str_scaled(raw, scale, out))
		return true;
	j->odd |= ASSAY_JSON_NUMBER;
	return false;
}

/* How many digits stand at p, up to 18, and what they are; 0 for none or more. */
static inline unsigned json_digits(const char *p, uint64_t *out)
{
	uint64_t more = 0;
	unsigned n = simd_digits8(p, out);
	if (n < 8)
		return n;
	unsigned m = simd_digits8(p + 8, &more);
	*out = *out * json_pow10[m] + (m ? more : 0);
	if (m < 8)
		return 8 + m;
	m = simd_digits8(p + 16, &more);
	*out = *out * json_pow10[m] + (m ? more : 0);
	return m < 3 ? 16 + m : 0;
}

/* Unsigned, decimal or "0x..."; negative numbers and overflow as in assay_json_scaled. */
static inline bool assay_json_u64(assay_json *j, uint64_t *out)
{
	uint64_t v = 0;
	unsigned n = json_digits(j->p, &v);
	if (n && json_ends_scalar(j->p[n]) && j->p + n < j->end) {
		j->p += n;
		*out = v;
		return true;
	}
	assay_str raw;
	if (!json_number_text(j, &raw))
		return false;
	if (assay_str_u64(raw, out))
		return true;
	j->odd |= ASSAY_JSON_NUMBER;
	return false;
}

static inline bool assay_json_i64(assay_json *j, int64_t *out)
{
	uint64_t u;
	if (*j->p != '-' && *j->p != '"' && simd_digits8(j->p, &u) && assay_json_u64(j, &u)) {
		*out = (int64_t)u;
		return u <= INT64_MAX;
	}
	return assay_json_scaled(j, 0, out);
}

/* Inside the object that these members make: text without braces and padding, copied to a. */
assay_json assay_json_members(assay_arena *a, assay_str members);
/* A cursor on a copy of a value that has no padding behind it, as interned text has none. */
assay_json assay_json_copy(assay_arena *a, assay_str value);

/* Any number, or a string that holds one, as a double; NaN and Infinity too. */
bool assay_json_f64(assay_json *j, double *out);

/* Is the raw value true, false or null? */
bool assay_json_is_word(assay_str raw);

/* The text of a string with its escapes resolved; UTF-8 as it was, lone surrogates as U+FFFD.
 * Shares raw's memory when there was no escape. */
assay_str assay_json_unescape(assay_arena *a, assay_str raw);

/* Check a whole document by RFC 8259. Fails with the position of the first error; *odd gets what a
 * lenient reader would take. Any nesting depth. */
bool assay_json_check(const char *p, size_t n, uint32_t *odd, size_t *bad_at);

#endif

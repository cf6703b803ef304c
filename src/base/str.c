/* Text helpers that need no allocation. */
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

#include "base/simd.h"
#include "base/test.h"

bool assay_str_starts(assay_str s, const char *prefix)
{
	size_t n = strlen(prefix);
	return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool assay_str_ends(assay_str s, const char *suffix)
{
	size_t n = strlen(suffix);
	return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

assay_str assay_str_folder(assay_str path)
{
	while (path.n && path.p[path.n - 1] != '/')
		path.n--;
	return path;
}

assay_str assay_str_file(assay_str path)
{
	size_t folder = assay_str_folder(path).n;
	return (assay_str){path.p + folder, path.n - folder};
}

bool assay_str_is_hex(assay_str s, size_t least, size_t most)
{
	for (size_t i = 0; i < s.n; i++)
		if (assay_hex_digit(s.p[i]) < 0)
			return false;
	return s.n >= least && s.n <= most;
}

size_t assay_digits_first(assay_str s)
{
	size_t n = 0;
	while (n < s.n && assay_is_digit(s.p[n]))
		n++;
	return n;
}

size_t assay_digits_last(assay_str s)
{
	size_t n = 0;
	while (n < s.n && assay_is_digit(s.p[s.n - 1 - n]))
		n++;
	return n;
}

bool assay_str_same(assay_str a, assay_str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (assay_fold(a.p[i]) != assay_fold(b.p[i]))
			return false;
	return true;
}

enum { BLOCK = 64 }; /* places looked at together */

static inline bool is_at(const char *p, assay_str want, bool fold)
{
	return fold ? assay_str_same((assay_str){p, want.n}, want) : !memcmp(p, want.p, want.n);
}

/* Where the text may stand among the places from p on: its first and last characters do. */
static inline uint64_t places_in(const char *p, assay_str want, bool fold)
{
	simd64 first = simd_load(p), last = simd_load(p + want.n - 1);
	if (!fold)
		return simd_eq(first, want.p[0]) & simd_eq(last, want.p[want.n - 1]);
	return simd_eq(simd_or20(first), want.p[0] | 0x20) &
	       simd_eq(simd_or20(last), want.p[want.n - 1] | 0x20);
}

static ptrdiff_t find_slowly(assay_str s, assay_str want, bool fold)
{
	for (size_t i = 0; i + want.n <= s.n; i++)
		if (is_at(s.p + i, want, fold))
			return (ptrdiff_t)i;
	return -1;
}

static inline ptrdiff_t find_in(assay_str s, assay_str want, bool fold)
{
	char padded[2 * BLOCK] = {0};
	size_t span = BLOCK + want.n - 1; /* that a block of places needs */
	if (want.n > s.n || !want.n)
		return want.n ? -1 : 0;
	if (want.n > BLOCK)
		return find_slowly(s, want, fold);
	if (s.n < span) {
		memcpy(padded, s.p, s.n);
		s = (assay_str){padded, span};
	}
	for (size_t i = 0, last = s.n - span;; i += BLOCK) {
		i = i < last ? i : last;
		for (uint64_t in = places_in(s.p + i, want, fold); in; in &= in - 1) {
			size_t at = i + (size_t)__builtin_ctzll(in);
			if (is_at(s.p + at, want, fold))
				return (ptrdiff_t)at;
		}
		if (i == last)
			return -1;
	}
}

ptrdiff_t assay_str_find(assay_str s, const char *needle)
{
	return find_in(s, assay_str_of(needle), false);
}

ptrdiff_t assay_str_find_nocase(assay_str s, const char *needle)
{
	return find_in(s, assay_str_of(needle), true);
}

bool assay_str_glob(assay_str pattern, assay_str name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;
	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.n && (pattern.p[p] == '?' ||
					     assay_fold(pattern.p[p]) == assay_fold(name.p[n]))) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

assay_str assay_str_trim(assay_str s)
{
	while (s.n && is_space(s.p[0]))
		s.p++, s.n--;
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

assay_str assay_str_cut(assay_str *rest, char sep)
{
	const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
	assay_str head = *rest;
	if (!at) {
		*rest = rest->n ? (assay_str){rest->p + rest->n, 0} : *rest;
		return head;
	}
	head.n = (size_t)(at - rest->p);
	*rest = (assay_str){at + 1, rest->n - head.n - 1};
	return head;
}

static bool parse_digits(const char *p, const char *end, unsigned base, uint64_t *out)
{
	uint64_t v = 0;
	if (p == end)
		return false;
	for (; p < end; p++) {
		char c = assay_fold(*p);
		unsigned d = assay_is_digit(c)      ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
						    : 99;
		if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	*out = v;
	return true;
}

bool assay_str_u64(assay_str s, uint64_t *out)
{
	if (!s.n)
		return false;
	const char *end = s.p + s.n;
	if (s.n > 2 && s.p[0] == '0' && assay_fold(s.p[1]) == 'x')
		return parse_digits(s.p + 2, end, 16, out);
	return parse_digits(s.p, end, 10, out);
}

bool assay_str_i64(assay_str s, int64_t *out)
{
	return assay_str_scaled(s, 0, out) && assay_str_find(s, ".") < 0 &&
	       assay_str_find_nocase(s, "e") < 0;
}

/* All numbers of two digits. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

char *assay_put_u64(char *at, uint64_t v)
{
	char digits[ASSAY_DIGITS_MAX], *first = digits + sizeof digits;
	for (; v >= 100; v /= 100)
		memcpy(first -= 2, &pairs[v % 100 * 2], 2);
	if (v >= 10)
		memcpy(first -= 2, &pairs[v * 2], 2);
	else
		*--first = (char)('0' + v);
	size_t n = (size_t)(digits + sizeof digits - first);
	memcpy(at, first, n);
	return at + n;
}

char *assay_put_i64(char *at, int64_t v)
{
	if (v < 0)
		*at++ = '-';
	return assay_put_u64(at, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

bool assay_str_f64(assay_str s, double *out)
{
	char buf[128];
	s = assay_str_trim(s);
	if (s.n == 0 || s.n >= sizeof buf)
		return false;
	/* strtod also takes hexadecimal floats, which no format here has */
	for (size_t i = 0; i < s.n; i++)
		if (assay_fold(s.p[i]) == 'x' || s.p[i] == '(')
			return false;
	memcpy(buf, s.p, s.n);
	buf[s.n] = 0;
	char *end;
	*out = strtod(buf, &end);
	return end == buf + s.n;
}

/* The digits of a decimal number with the point moved right by scale + exponent. */
static bool scale_digits(const char *p, const char *end, int scale, uint64_t *out)
{
	uint64_t v = 0;
	int after = -1; /* digits seen after the point */
	for (; p < end; p++) {
		if (*p == '.') {
			if (after >= 0)
				return false;
			after = 0;
			continue;
		}
		if (after >= 0 && after >= scale)
			continue; /* finer than the unit: cut */
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
		if (after >= 0)
			after++;
	}
	for (int i = after > 0 ? after : 0; i < scale; i++)
		if (v && __builtin_mul_overflow(v, 10u, &v))
			return false;
	*out = v;
	return true;
}

bool assay_str_scaled(assay_str s, int scale, int64_t *out)
{
	if (!s.n)
		return false;
	const char *p = s.p, *end = s.p + s.n;
	bool neg = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	const char *num = p;
	int digits = 0;
	while (p < end && (assay_is_digit(*p) || *p == '.'))
		digits += assay_is_digit(*p++);
	if (!digits)
		return false;
	const char *num_end = p;
	if (p < end) {
		int64_t exp;
		if (assay_fold(*p) != 'e' ||
		    !assay_str_scaled((assay_str){p + 1, (size_t)(end - p - 1)}, 0, &exp) ||
		    exp < -400 || exp > 400)
			return false;
		scale += (int)exp;
	}
	/* a negative scale drops integer digits: cut them off the text first */
	const char *dot = memchr(num, '.', (size_t)(num_end - num));
	if (scale < 0) {
		const char *int_end = dot ? dot : num_end;
		num_end = int_end - num > -scale ? int_end + scale : num;
		scale = 0;
	}
	uint64_t v;
	if (!scale_digits(num, num_end, scale, &v) || v > INT64_MAX)
		return false;
	*out = neg ? -(int64_t)v : (int64_t)v;
	return true;
}

static uint64_t load64(const char *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)a * b;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Folded 64x64 multiplies over 32 bytes a round; seeded, so hostile input cannot aim collisions. */
uint64_t assay_hash(const void *data, size_t n, uint64_t seed)
{
	const uint64_t k0 = 0x9E3779B97F4A7C15u, k1 = 0xD6E8FEB86659FD93u, k2 = 0xA0761D6478BD642Fu;
	const char *p = data;
	uint64_t a = seed ^ k0, b = n * k1;
	if (n < 8) {
		uint64_t w = 0;
		if (n)
			memcpy(&w, p, n);
		return mix(a ^ w, b ^ k2);
	}
	const char *last = p + n - 8;
	for (; n > 32; p += 32, n -= 32) {
		a = mix(load64(p) ^ k1, load64(p + 8) ^ a);
		b = mix(load64(p + 16) ^ k2, load64(p + 24) ^ b);
	}
	for (; n > 8; p += 8, n -= 8)
		a = mix(load64(p) ^ k1, a ^ k2);
	return mix(a ^ load64(last), b ^ k0);
}

bool assay_str_is_any(assay_str s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (assay_str_is(s, words[i]))
			return true;
	return false;
}

bool assay_str_starts_any(assay_str s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (assay_str_starts(s, words[i]))
			return true;
	return false;
}

bool assay_str_has_any(assay_str s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (assay_str_find(s, words[i]) >= 0)
			return true;
	return false;
}

TEST(numbers_are_put_as_printf_does)
{
	const int64_t v[] = {0, 7, -7, 10, 99, 100, -12345678, INT64_MAX, INT64_MIN};
	char got[32], want[32];
	for (size_t i = 0; i < ASSAY_COUNT_OF(v); i++) {
		*assay_put_i64(got, v[i]) = 0;
		snprintf(want, sizeof want, "%lld", (long long)v[i]);
		CHECK(!strcmp(got, want));
		*assay_put_u64(got, (uint64_t)v[i]) = 0;
		snprintf(want, sizeof want, "%llu", (unsigned long long)v[i]);
		CHECK(!strcmp(got, want));
	}
	return 0;
}

TEST(scaled_numbers_are_exact)
{
	int64_t v;
	CHECK(assay_str_scaled(ASSAY_S("3743411222894.405"), 3, &v) && v == 3743411222894405);
	CHECK(assay_str_scaled(ASSAY_S("1790857026123456.789"), 3, &v) && v == 1790857026123456789);
	CHECK(assay_str_scaled(ASSAY_S("-0.5"), 3, &v) && v == -500);
	CHECK(assay_str_scaled(ASSAY_S("1.5e3"), 3, &v) && v == 1500000);
	CHECK(assay_str_scaled(ASSAY_S("15e-1"), 0, &v) && v == 1);
	CHECK(assay_str_scaled(ASSAY_S("0.0009"), 3, &v) && v == 0);
	CHECK(!assay_str_scaled(ASSAY_S("99999999999999999999"), 0, &v));
	CHECK(!assay_str_scaled(ASSAY_S("1.2.3"), 3, &v));
	CHECK(!assay_str_scaled(ASSAY_S(""), 3, &v) && !assay_str_scaled(ASSAY_S("."), 3, &v));
	CHECK(!assay_str_scaled(ASSAY_S("1e"), 3, &v) &&
	      !assay_str_scaled(ASSAY_S("1e999"), 3, &v));
	return 0;
}

TEST(whole_slice_numbers_refuse_leftovers)
{
	int64_t i;
	uint64_t u;
	double f;
	CHECK(assay_str_i64(ASSAY_S("-9223372036854775807"), &i) && i == -INT64_MAX);
	CHECK(!assay_str_i64(ASSAY_S("12a"), &i) && !assay_str_i64(ASSAY_S("1.0"), &i));
	CHECK(assay_str_u64(ASSAY_S("0xfF"), &u) && u == 255);
	CHECK(assay_str_u64(ASSAY_S("18446744073709551615"), &u) && u == UINT64_MAX);
	CHECK(!assay_str_u64(ASSAY_S("18446744073709551616"), &u));
	CHECK(assay_str_f64(ASSAY_S(" 2.5 "), &f) && f == 2.5);
	CHECK(assay_str_f64(ASSAY_S("NaN"), &f) && isnan(f));
	CHECK(!assay_str_f64(ASSAY_S("0x10"), &f) && !assay_str_f64(ASSAY_S("N/A"), &f));
	return 0;
}

TEST(cutting_walks_a_list)
{
	assay_str rest = ASSAY_S("a,,b");
	CHECK(assay_str_is(assay_str_cut(&rest, ','), "a"));
	CHECK(assay_str_is(assay_str_cut(&rest, ','), ""));
	CHECK(assay_str_is(assay_str_cut(&rest, ','), "b") && rest.n == 0);
	CHECK(assay_str_is(assay_str_trim(ASSAY_S("\r\n x \t")), "x"));
	CHECK(assay_str_find_nocase(ASSAY_S("aBCd"), "bc") == 1);
	return 0;
}

TEST(texts_are_found_wherever_they_stand)
{
	char text[300];
	static const char *const needles[] = {"aB", "[x", "AbCdEfGh"};
	for (size_t k = 0; k < ASSAY_COUNT_OF(needles); k++) {
		assay_str want = assay_str_of(needles[k]);
		for (size_t n = 0; n < sizeof text; n += 7)
			for (size_t at = 0; at < n + 3; at++) {
				memset(text, 'a', sizeof text);
				memset(text + n / 2, '{', n / 4); /* '[' with another bit */
				bool fits = at + want.n <= n;
				if (fits)
					memcpy(text + at, want.p, want.n);
				assay_str s = {text, n};
				ptrdiff_t found = find_slowly(s, want, false);
				CHECK(fits ? found >= 0 && found <= (ptrdiff_t)at : found < 0);
				CHECK_EQ(assay_str_find(s, want.p), found);
				CHECK_EQ(assay_str_find_nocase(s, want.p),
					 find_slowly(s, want, true));
			}
	}
	CHECK(assay_str_find((assay_str){0}, "") == 0 && assay_str_find(ASSAY_S("a"), "") == 0);
	return 0;
}

TEST(hash_depends_on_every_byte_and_the_length)
{
	char buf[100] = {0};
	for (size_t n = 1; n <= sizeof buf; n++) {
		uint64_t h = assay_hash(buf, n, 1);
		CHECK(h != assay_hash(buf, n - 1, 1) && h != assay_hash(buf, n, 2));
		for (size_t i = 0; i < n; i++) {
			buf[i] = 1;
			CHECK(assay_hash(buf, n, 1) != h);
			buf[i] = 0;
		}
	}
	return 0;
}

TEST(a_path_is_its_folder_and_its_file)
{
	assay_str path = ASSAY_S("a/b.c"), bare = ASSAY_S("b.c"), folder = ASSAY_S("a/");
	CHECK(assay_str_is(assay_str_folder(path), "a/") &&
	      assay_str_is(assay_str_file(path), "b.c"));
	CHECK(!assay_str_folder(bare).n && assay_str_is(assay_str_file(bare), "b.c"));
	CHECK(!assay_str_file(folder).n && !strcmp(assay_file_name("/x"), "x"));
	return 0;
}

TEST(digits_at_both_ends_are_counted)
{
	assay_str s = ASSAY_S("12a345"), all = ASSAY_S("07"), none = {"", 0};
	CHECK(assay_digits_first(s) == 2 && assay_digits_last(s) == 3);
	CHECK(assay_digits_first(all) == 2 && assay_digits_last(all) == 2);
	CHECK(!assay_digits_first(none) && !assay_digits_last(none));
	CHECK(assay_str_is_hex(ASSAY_S("0123456789abcdef"), 7, 40));
	CHECK(!assay_str_is_hex(ASSAY_S("ABCDEF0"), 7, 40) &&
	      !assay_str_is_hex(ASSAY_S("abc"), 7, 40));
	return 0;
}

TEST(words_are_looked_for_in_lists)
{
	static const char *const words[] = {"one", "two"};
	CHECK(assay_str_is_any(ASSAY_S("two"), words, 2) &&
	      !assay_str_is_any(ASSAY_S("tw"), words, 2));
	CHECK(!assay_str_is_any(ASSAY_S("two"), words, 1));
	CHECK(assay_str_starts_any(ASSAY_S("two more"), words, 2) &&
	      !assay_str_starts_any(ASSAY_S("the one"), words, 2));
	CHECK(assay_str_has_any(ASSAY_S("the one"), words, 2) &&
	      !assay_str_has_any(ASSAY_S("the"), words, 2));
	return 0;
}

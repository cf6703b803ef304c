/* Slices of text: pointer and length, no terminator promised. */
#ifndef ASSAY_BASE_STR_H
#define ASSAY_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/chars.h"

typedef struct assay_str {
	const char *p;
	size_t n;
} assay_str;

#define ASSAY_COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A string literal as a slice, usable in initializers. */
#define ASSAY_S(lit) ((assay_str){(lit), sizeof(lit) - 1})

static inline assay_str assay_str_of(const char *z)
{
	return (assay_str){z, z ? strlen(z) : 0};
}

/* By bytes; a text comes before what it starts. */
static inline int assay_str_cmp(assay_str a, assay_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;
	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static inline bool assay_str_eq(assay_str a, assay_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool assay_str_is(assay_str a, const char *z)
{
	return assay_str_eq(a, assay_str_of(z));
}

bool assay_str_starts(assay_str s, const char *prefix);
bool assay_str_ends(assay_str s, const char *suffix);
/* Whether it is, begins with or holds one of n words. */
bool assay_str_is_any(assay_str s, const char *const *words, size_t n);
bool assay_str_starts_any(assay_str s, const char *const *words, size_t n);
bool assay_str_has_any(assay_str s, const char *const *words, size_t n);
assay_str assay_str_folder(assay_str path); /* up to the last slash, with it */
assay_str assay_str_file(assay_str path);   /* the rest */
static inline const char *assay_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
/* Is it as many digits of a hash, in small letters? */
bool assay_str_is_hex(assay_str s, size_t least, size_t most);
/* The digits it begins and ends with. */
size_t assay_digits_first(assay_str s);
size_t assay_digits_last(assay_str s);
/* ASCII case folded. */
bool assay_str_same(assay_str a, assay_str b);
/* First position of needle, or -1; _nocase folds ASCII. */
ptrdiff_t assay_str_find(assay_str s, const char *needle);
ptrdiff_t assay_str_find_nocase(assay_str s, const char *needle);
/* Is all of the name like the pattern? '*' stands for any text, '?' for one character; letters of
 * either case. */
bool assay_str_glob(assay_str pattern, assay_str name);
/* prefix is in small letters. */
static inline bool assay_str_starts_nocase(assay_str s, const char *prefix)
{
	size_t i = 0;
	while (prefix[i] && i < s.n && assay_fold(s.p[i]) == prefix[i])
		i++;
	return !prefix[i];
}
assay_str assay_str_trim(assay_str s);              /* spaces, tabs, CR, LF */
assay_str assay_str_cut(assay_str *rest, char sep); /* text before sep; rest moves past it */

/* Whole-slice numbers: false when anything but the number is in it, or it does not fit. */
bool assay_str_i64(assay_str s, int64_t *out);
bool assay_str_u64(assay_str s, uint64_t *out); /* decimal, or hex with 0x */
/* Decimal digits at `at`, which has room for ASSAY_DIGITS_MAX; returns their end. No final zero. */
#define ASSAY_DIGITS_MAX 20
char *assay_put_u64(char *at, uint64_t v);
char *assay_put_i64(char *at, int64_t v);
bool assay_str_f64(assay_str s, double *out); /* also nan, inf, infinity, any case */

/* "12.345" x 10^scale as an exact integer ("1.5" with scale 3 is 1500); more decimals than scale
 * are cut toward zero. Exponents are taken. False when it is no number or does not fit. */
bool assay_str_scaled(assay_str s, int scale, int64_t *out);

uint64_t assay_hash(const void *p, size_t n, uint64_t seed);

#endif

/* UTF-8, as far as we need it: which bytes form a character. */
#ifndef ASSAY_BASE_UTF8_H
#define ASSAY_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Bytes of the character at p: 1..4, or 0 when p does not start a valid one (overlong forms,
 * surrogates and values past U+10FFFF are invalid). n > 0. */
static inline size_t assay_utf8_len(const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;
	if (s[0] < 0x80)
		return 1;
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* Writes the character; returns its length. */
static inline size_t assay_utf8_put(char *out, uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Bytes of the character that text begins with, and the columns of a terminal that it takes: 2 of
 * East Asian scripts and emoji, 0 of marks that are put on the one before and of colours (ESC ...
 * m). Bytes of no character take one each. */
size_t assay_utf8_next(const char *text, size_t n, size_t *columns);
/* Bytes of the front of s that take at most so many columns. */
size_t assay_utf8_fitting(assay_str s, size_t columns);

bool assay_utf8_valid(assay_str s);
/* ESC and its relatives (C0, DEL, C1) command a terminal; marks of direction and ends of lines show
 * text in another order than it has (https://trojansource.codes). Of a character of so many bytes.
 */
bool assay_utf8_is_wild(const char *p, size_t len);
/* Text that can do nothing to a terminal, in place: wild characters and bytes of no character
 * become '?'. Returns its length. */
size_t assay_utf8_tame(char *s, size_t n);
/* The text itself when it is valid, else a copy in which every byte of no character is U+FFFD. */
assay_str assay_utf8_repair(assay_arena *a, assay_str s);

#endif

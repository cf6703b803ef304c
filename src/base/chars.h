/* Letters and digits of ASCII, whatever the locale. */
#ifndef ASSAY_BASE_CHARS_H
#define ASSAY_BASE_CHARS_H

#include <stdbool.h>

static inline bool assay_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool assay_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool assay_is_letter_or_digit(char c)
{
	return assay_is_letter(c) || assay_is_digit(c);
}

static inline char assay_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* 0 to 15, of small letters only; -1 for anything else. */
static inline int assay_hex_digit(char c)
{
	return assay_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif

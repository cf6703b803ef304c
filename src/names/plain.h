/* A name without digits, separators and case: "Train_Step#3" is trainstep. Nothing but the C
 * library. */
#ifndef ASSAY_NAMES_PLAIN_H
#define ASSAY_NAMES_PLAIN_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/chars.h"

enum { ASSAY_PLAIN_MAX = 32 };

/* Its length in buf; 0 when it is too long to be a word. */
static inline size_t assay_plain_name(const char *p, size_t n, char buf[ASSAY_PLAIN_MAX])
{
	size_t out = 0;
	for (size_t i = 0; i < n; i++) {
		char c = p[i];
		if (assay_is_digit(c) || (c && strchr(" _-#:=.*()[]/", c)))
			continue;
		if (out == ASSAY_PLAIN_MAX - 1)
			return 0;
		buf[out++] = (char)tolower((unsigned char)c);
	}
	return out;
}

#endif

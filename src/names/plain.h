/* A name without digits, separators and case, and without what stands in square brackets before it:
 * "Train_Step#3" is trainstep, "[pl][profile]run_training_batch" runtrainingbatch. Nothing but the
 * C library. */
#ifndef ASSAY_NAMES_PLAIN_H
#define ASSAY_NAMES_PLAIN_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/chars.h"

enum { ASSAY_PLAIN_MAX = 32 };

/* Where the name begins behind the brackets in which a framework says that it is its own. */
static inline size_t assay_plain_begin(const char *p, size_t n)
{
	size_t at = 0;
	for (const char *end; at < n && p[at] == '[' && (end = memchr(p + at, ']', n - at));)
		at = (size_t)(end - p) + 1;
	return at < n ? at : 0;
}

/* Its length in buf; 0 when it is too long to be a word. */
static inline size_t assay_plain_name(const char *p, size_t n, char buf[ASSAY_PLAIN_MAX])
{
	size_t out = 0;
	for (size_t i = assay_plain_begin(p, n); i < n; i++) {
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

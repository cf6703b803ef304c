/* Numbers and names as people read them. Buffers are the caller's. */
#ifndef ASSAY_BASE_FMT_H
#define ASSAY_BASE_FMT_H

#include "base/arena.h"
#include "base/str.h"

enum { ASSAY_FMT = 32 };

const char *assay_fmt_time(char buf[ASSAY_FMT], int64_t ns);    /* 12.4 ms */
const char *assay_fmt_ns(char buf[ASSAY_FMT], double ns);       /* the same; NaN: unknown */
const char *assay_fmt_bytes(char buf[ASSAY_FMT], double bytes); /* 373 kB, powers of 1000 */
const char *assay_fmt_count(char buf[ASSAY_FMT], uint64_t n);   /* 1,348 */

static inline double assay_percent(int64_t part, int64_t whole) /* 0 of nothing */
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* A kernel name for a table: no return type, template arguments or parameters, at most width
 * characters, and nothing a terminal would act on. */
const char *assay_fmt_kernel(assay_arena *a, assay_str name, size_t width);
/* Any text made safe for a terminal: control characters and invalid UTF-8 become '?'. */
const char *assay_fmt_safe(assay_arena *a, assay_str text);
/* "train.py:12 step"; without the number where the line is not known: 0 or less. All made safe. */
const char *assay_fmt_place(assay_arena *a, assay_str file, int32_t line, assay_str function);

#endif

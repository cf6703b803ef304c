/* Numbers from files that may be damaged or hostile. */
#ifndef ASSAY_BASE_NUM_H
#define ASSAY_BASE_NUM_H

#include <stdint.h>

/* Wrap instead of overflowing: hostile times and sizes stay harmless. */
static inline int64_t assay_wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t assay_wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Up to four bytes, the highest first. */
static inline uint32_t assay_big_endian(const void *p, int bytes)
{
	const uint8_t *b = p;
	uint32_t v = 0;
	for (int i = 0; i < bytes; i++)
		v = v << 8 | b[i];
	return v;
}

#endif

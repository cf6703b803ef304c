/* 64 bytes at a time: which of them equal a character, as a bit mask.
 *
 * Five twins, chosen by the flags a file is compiled with: AVX-512, AVX2, what every machine of
 * the architecture has (SSE2, NEON), and plain C on 64-bit words where there is no other or with
 * ASSAY_PLAIN. The Makefile compiles the hot readers once for each instruction set and base/cpu.h
 * picks at run time; all other files have what every machine has. */
#ifndef ASSAY_BASE_SIMD_H
#define ASSAY_BASE_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__) && !defined(ASSAY_PLAIN)
#define ASSAY_SSE2
#include <emmintrin.h>
#elif defined(__aarch64__) && !defined(ASSAY_PLAIN)
#define ASSAY_NEON
#include <arm_neon.h>
#endif

#if defined(__AVX512BW__)

typedef struct {
	__m512i v;
} simd64;

static inline simd64 simd_load(const char *p)
{
	return (simd64){_mm512_loadu_si512(p)};
}

static inline uint64_t simd_eq(simd64 b, char c)
{
	return _mm512_cmpeq_epi8_mask(b.v, _mm512_set1_epi8(c));
}

/* Bit i: byte i of a and b are the same. */
static inline uint64_t simd_same(simd64 a, simd64 b)
{
	return _mm512_cmpeq_epi8_mask(a.v, b.v);
}

/* Bit 5 set first: folds [ with {, ] with }. */
static inline simd64 simd_or20(simd64 b)
{
	return (simd64){_mm512_or_si512(b.v, _mm512_set1_epi8(0x20))};
}

#elif defined(__AVX2__)

typedef struct {
	__m256i lo, hi;
} simd64;

static inline simd64 simd_load(const char *p)
{
	return (simd64){_mm256_loadu_si256((const __m256i *)(const void *)p),
			_mm256_loadu_si256((const __m256i *)(const void *)(p + 32))};
}

static inline uint64_t simd_eq(simd64 b, char c)
{
	__m256i k = _mm256_set1_epi8(c);
	uint32_t lo = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b.lo, k));
	uint32_t hi = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b.hi, k));
	return lo | (uint64_t)hi << 32;
}

static inline uint64_t simd_same(simd64 a, simd64 b)
{
	uint32_t lo = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a.lo, b.lo));
	uint32_t hi = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a.hi, b.hi));
	return lo | (uint64_t)hi << 32;
}

static inline simd64 simd_or20(simd64 b)
{
	__m256i k = _mm256_set1_epi8(0x20);
	return (simd64){_mm256_or_si256(b.lo, k), _mm256_or_si256(b.hi, k)};
}

#elif defined(ASSAY_SSE2)

typedef struct {
	__m128i v[4];
} simd64;

static inline simd64 simd_load(const char *p)
{
	const __m128i *v = (const __m128i *)(const void *)p;
	return (simd64){{_mm_loadu_si128(v), _mm_loadu_si128(v + 1), _mm_loadu_si128(v + 2),
			 _mm_loadu_si128(v + 3)}};
}

static inline uint64_t simd_same(simd64 a, simd64 b)
{
	uint64_t mask = 0;
	for (int i = 0; i < 4; i++)
		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a.v[i], b.v[i]))
			<< (16 * i);
	return mask;
}

static inline uint64_t simd_eq(simd64 b, char c)
{
	__m128i k = _mm_set1_epi8(c);
	return simd_same(b, (simd64){{k, k, k, k}});
}

static inline simd64 simd_or20(simd64 b)
{
	for (int i = 0; i < 4; i++)
		b.v[i] = _mm_or_si128(b.v[i], _mm_set1_epi8(0x20));
	return b;
}

#elif defined(ASSAY_NEON)

typedef struct {
	uint8x16_t v[4];
} simd64;

static inline simd64 simd_load(const char *p)
{
	const uint8_t *u = (const uint8_t *)p;
	return (simd64){{vld1q_u8(u), vld1q_u8(u + 16), vld1q_u8(u + 32), vld1q_u8(u + 48)}};
}

/* NEON has no move-mask: one bit of each byte is kept by its place, then pairs are added three
 * times, which leaves eight bits a byte. */
static inline uint64_t simd_mask(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
	const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
	uint8x16_t ab = vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place));
	uint8x16_t cd = vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place));
	uint8x16_t all = vpaddq_u8(ab, cd);
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint64_t simd_eq(simd64 b, char c)
{
	uint8x16_t k = vdupq_n_u8((uint8_t)c);
	return simd_mask(vceqq_u8(b.v[0], k), vceqq_u8(b.v[1], k), vceqq_u8(b.v[2], k),
			 vceqq_u8(b.v[3], k));
}

static inline uint64_t simd_same(simd64 a, simd64 b)
{
	return simd_mask(vceqq_u8(a.v[0], b.v[0]), vceqq_u8(a.v[1], b.v[1]),
			 vceqq_u8(a.v[2], b.v[2]), vceqq_u8(a.v[3], b.v[3]));
}

static inline simd64 simd_or20(simd64 b)
{
	uint8x16_t k = vdupq_n_u8(0x20);
	for (int i = 0; i < 4; i++)
		b.v[i] = vorrq_u8(b.v[i], k);
	return b;
}

#else

typedef struct {
	uint64_t w[8];
} simd64;

static inline simd64 simd_load(const char *p)
{
	simd64 b;
	memcpy(b.w, p, 64);
	return b;
}

static inline uint64_t simd_eq(simd64 b, char c)
{
	const uint64_t low7 = 0x7f7f7f7f7f7f7f7fu, ones = 0x0101010101010101u;
	uint64_t mask = 0;
	for (int i = 0; i < 8; i++) {
		uint64_t x = b.w[i] ^ ones * (unsigned char)c;
		uint64_t zero = ~(((x & low7) + low7) | x | low7); /* high bit of each zero byte */
		mask |= ((zero >> 7) * 0x0102040810204080u >> 56) << (8 * i);
	}
	return mask;
}

static inline uint64_t simd_same(simd64 a, simd64 b)
{
	for (int i = 0; i < 8; i++)
		a.w[i] ^= b.w[i];
	return simd_eq(a, 0);
}

static inline simd64 simd_or20(simd64 b)
{
	for (int i = 0; i < 8; i++)
		b.w[i] |= 0x2020202020202020u;
	return b;
}

#endif

/* Are the n bytes at p and q the same? n is 1 to 32, and 32 bytes are readable at both. */
static inline bool simd_same32(const char *p, const char *q, unsigned n)
{
#if defined(__AVX2__)
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i b = _mm256_loadu_si256((const __m256i *)(const void *)q);
	uint32_t same = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
	return ~same << (32 - n) == 0;
#else
	for (unsigned i = 0; i < n; i += 8) {
		uint64_t a, b;
		memcpy(&a, p + i, 8);
		memcpy(&b, q + i, 8);
		unsigned left = n - i < 8 ? n - i : 8;
		if ((a ^ b) << (64 - 8 * left))
			return false;
	}
	return true;
#endif
}

/* Bit i of the result is the parity of bits 0..i: inside/outside of quotes. */
static inline uint64_t simd_prefix_xor(uint64_t x)
{
#if defined(__PCLMUL__)
	__m128i all = _mm_set1_epi8((char)0xff);
	return (uint64_t)_mm_cvtsi128_si64(
		_mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)x), all, 0));
#else
	for (int s = 1; s < 64; s <<= 1)
		x ^= x << s;
	return x;
#endif
}

static inline int simd_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* First byte at or after p that is no JSON white space; stops at end. */
static inline const char *simd_skip_space(const char *p, const char *end)
{
	if ((unsigned char)*p > ' ')
		return p;
	if ((unsigned char)p[1] > ' ')
		return p + simd_is_space(*p);
	for (; p < end; p += 16) {
#if defined(__AVX2__)
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* white space by its low four bits; a byte never equals the 1 in the places of
		 * others */
		__m128i same =
			_mm_setr_epi8(' ', 0, 1, 1, 1, 1, 1, 1, 1, '\t', '\n', 1, 1, '\r', 1, 1);
		__m128i space = _mm_cmpeq_epi8(v, _mm_shuffle_epi8(same, v));
		unsigned ink = ~(unsigned)_mm_movemask_epi8(space) & 0xffff;
		if (ink)
			return p + __builtin_ctz(ink);
#else
		for (int i = 0; i < 16; i++)
			if (!simd_is_space(p[i]))
				return p + i;
#endif
	}
	return end;
}

/* Eight digit values (0..9, the first in the lowest byte) as a number. */
static inline uint64_t simd_parse8(uint64_t w)
{
	w = w * 10 + (w >> 8);
	return ((w & 0x000000FF000000FFu) * 0x000F424000000064u +
		(w >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u) >>
	       32;
}

/* Leading decimal digits of the 8 bytes at p: their count (0..8) and value. No loop. */
static inline unsigned simd_digits8(const char *p, uint64_t *value)
{
	uint64_t w;
	memcpy(&w, p, 8);
	w ^= 0x3030303030303030u; /* digits become 0..9 */
	uint64_t bad = ((w + 0x7676767676767676u) | w) & 0x8080808080808080u; /* byte > 9 */
	unsigned n = bad ? (unsigned)__builtin_ctzll(bad) >> 3 : 8;
	if (!n)
		return 0;
	*value = simd_parse8(w << (64 - 8 * n)); /* right-aligned, zeros before */
	return n;
}

#endif

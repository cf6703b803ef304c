/* Codes are looked up in two steps: 11 (distances: 8) bits at once, longer ones in a table of their
 * own behind. An entry holds all that follows from a code, so that the loop has few branches. */
#include "base/inflate.h"

#include <string.h>

#include <isa-l/crc.h>

#include "base/arena.h"
#include "base/pack.h"
#include "base/test.h"

enum {
	LENGTHS = 288,
	DISTANCES = 32,
	LENGTH_BITS = 11,
	DISTANCE_BITS = 8,
	CODE_MAX = 15,
	LENGTH_ROOM = 2400, /* 2,342 is the most that 11 bits and codes of 15 need, 402 of 8 */
	DISTANCE_ROOM = 512,
	END_OF_BLOCK = 256,
	MATCH_MAX = 258,
	SLACK = 64, /* symbols that a copy may write beyond its end, and literals in a row */
};

/* Entries: bits of the code in 0-4, extra bits (or those of the second table) in 8-12, the byte,
 * base or place of the second table from 16 on. Lengths have two flags on top of the value,
 * distances need those bits but the first. */
#define LITERAL   (1u << 31)
#define SPECIAL   (1u << 30)
#define D_SPECIAL (1u << 31)
#define ENDS      (1u << 15)
#define INVALID   (1u << 14)

typedef struct codes {
	uint32_t length[LENGTH_ROOM];
	uint32_t distance[DISTANCE_ROOM];
} codes;

typedef struct lens {
	uint8_t of[LENGTHS + DISTANCES];
	unsigned lengths, distances;
} lens;

/* ------------------------------------------------------------------ bits, with care */

typedef struct bits {
	assay_packed in;
	uint64_t at; /* bit */
} bits;

/* The next 57 bits or more; zeros behind the end. */
static uint64_t peek(const bits *b)
{
	uint64_t w;
	size_t byte = (size_t)(b->at >> 3);
	if (byte > b->in.n)
		return 0;
	memcpy(&w, b->in.p + byte, 8); /* little endian: both machines we build for are */
	return w >> (b->at & 7);
}

static unsigned take(bits *b, unsigned n)
{
	unsigned v = (unsigned)(peek(b) & ((1u << n) - 1));
	b->at += n;
	return v;
}

static bool over(const bits *b)
{
	return b->at > (uint64_t)b->in.n * 8;
}

/* ------------------------------------------------------------------ codes */

/* How codes of each length fill the space of codes: 0 exactly, < 0 too many, > 0 some are left. */
static int room_left(const uint8_t *len, unsigned n, unsigned count[CODE_MAX + 1])
{
	int left = 1;
	memset(count, 0, (CODE_MAX + 1) * sizeof *count);
	for (unsigned i = 0; i < n; i++)
		count[len[i]]++;
	for (int l = 1; l <= CODE_MAX; l++) {
		left = left * 2 - (int)count[l];
		if (left < 0)
			return left;
	}
	return left;
}

/* A code set is whole; of distances a single code of one bit, or none, will do (as zlib has it). */
static bool is_code(const uint8_t *len, unsigned n, bool distances, unsigned count[CODE_MAX + 1])
{
	int left = room_left(len, n, count);
	return !left || (left > 0 && distances && n - count[0] == count[1]);
}

static unsigned reversed(unsigned code, unsigned n)
{
	unsigned r = 0;
	for (; n; n--, code >>= 1)
		r = r << 1 | (code & 1);
	return r;
}

struct table {
	uint32_t *entry;
	unsigned bits, used;
	uint32_t special;
};

/* The second table behind an entry, made for the longest code that begins with it. */
static uint32_t *second(struct table *t, unsigned prefix, unsigned longest)
{
	uint32_t *e = &t->entry[prefix];
	unsigned more = longest - t->bits;
	if (*e & INVALID) {
		for (unsigned i = 0; i < 1u << more; i++)
			t->entry[t->used + i] = t->special | INVALID;
		*e = t->special | t->used << 16 | more << 8 | t->bits;
		t->used += 1u << more;
	}
	return &t->entry[*e >> 16 & 0xfff];
}

static void fill(struct table *t, const uint8_t *len, unsigned n, const uint32_t *value,
		 const unsigned count[CODE_MAX + 1])
{
	unsigned next[CODE_MAX + 2] = {0}, code = 0;
	uint8_t longest[1 << LENGTH_BITS] = {0};
	uint16_t of[LENGTHS];
	for (unsigned l = 1; l <= CODE_MAX; l++) {
		next[l] = code = (code + (l > 1 ? count[l - 1] : 0)) << 1;
	}
	for (unsigned i = 0; i < n; i++) {
		if (!len[i])
			continue;
		of[i] = (uint16_t)reversed(next[len[i]]++, len[i]);
		uint8_t *most = &longest[of[i] & ((1u << t->bits) - 1)];
		*most = len[i] > *most ? len[i] : *most;
	}
	t->used = 1u << t->bits;
	for (unsigned i = 0; i < t->used; i++)
		t->entry[i] = t->special | INVALID;
	for (unsigned i = 0; i < n; i++) {
		unsigned l = len[i], prefix = l ? of[i] & ((1u << t->bits) - 1) : 0;
		if (!l)
			continue;
		bool fits = l <= t->bits;
		uint32_t *to = fits ? t->entry : second(t, prefix, longest[prefix]);
		unsigned size = fits ? t->bits : longest[prefix] - t->bits;
		unsigned rest = fits ? of[i] : of[i] >> t->bits, own = fits ? l : l - t->bits;
		for (unsigned k = rest; k < 1u << size; k += 1u << own)
			to[k] = value[i] | own;
	}
}

static const uint16_t length_base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					 15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
					 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[30] = {
	1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
	193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

static void make_codes(codes *c, const lens *l)
{
	uint32_t value[LENGTHS];
	unsigned count[CODE_MAX + 1];
	for (unsigned i = 0; i < LENGTHS; i++)
		value[i] = i < END_OF_BLOCK    ? LITERAL | i << 16
			   : i == END_OF_BLOCK ? SPECIAL | ENDS
			   : i < 286           ? (uint32_t)length_base[i - 257] << 16 |
					       (uint32_t)length_extra[i - 257] << 8
				     : SPECIAL | INVALID;
	room_left(l->of, l->lengths, count);
	fill(&(struct table){c->length, LENGTH_BITS, 0, SPECIAL}, l->of, l->lengths, value, count);
	for (unsigned i = 0; i < DISTANCES; i++)
		value[i] = i < 30 ? (uint32_t)distance_base[i] << 16 | (i < 2 ? 0 : (i / 2 - 1))
									       << 8
				  : D_SPECIAL | INVALID;
	room_left(l->of + l->lengths, l->distances, count);
	fill(&(struct table){c->distance, DISTANCE_BITS, 0, D_SPECIAL}, l->of + l->lengths,
	     l->distances, value, count);
}

/* ------------------------------------------------------------------ headers of blocks */

static const uint8_t code_order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
				       11, 4,  12, 3, 13, 2, 14, 1, 15};

/* Lengths of codes in their own code: 16 repeats the last, 17 and 18 are zeros. */
static bool read_lens(bits *b, const uint8_t code_len[19], lens *l)
{
	uint8_t symbol[1 << 7], size[1 << 7];
	unsigned count[CODE_MAX + 1], next[9] = {0}, code = 0, n = 0;
	uint8_t last = 0;
	if (room_left(code_len, 19, count))
		return false;
	for (unsigned k = 1; k <= 7; k++)
		next[k] = code = (code + (k > 1 ? count[k - 1] : 0)) << 1;
	for (uint8_t i = 0; i < 19; i++)
		for (unsigned k = code_len[i] ? reversed(next[code_len[i]]++, code_len[i]) : 128;
		     k < 128; k += 1u << code_len[i]) {
			symbol[k] = i;
			size[k] = code_len[i];
		}
	while (n < l->lengths + l->distances) {
		unsigned at = (unsigned)(peek(b) & 127), s = symbol[at];
		b->at += size[at];
		if (over(b))
			return false;
		unsigned times = s < 16    ? 1
				 : s == 16 ? 3 + take(b, 2)
				 : s == 17 ? 3 + take(b, 3)
					   : 11 + take(b, 7);
		if ((s == 16 && !n) || n + times > l->lengths + l->distances)
			return false;
		last = s < 16 ? (uint8_t)s : s == 16 ? last : 0;
		memset(l->of + n, last, times);
		n += times;
	}
	return true;
}

/* Behind the three bits that say what the block is. */
static bool read_dynamic(bits *b, lens *l)
{
	uint8_t code_len[19] = {0};
	unsigned count[CODE_MAX + 1];
	l->lengths = 257 + take(b, 5);
	l->distances = 1 + take(b, 5);
	unsigned n = 4 + take(b, 4);
	for (unsigned i = 0; i < n; i++)
		code_len[code_order[i]] = (uint8_t)take(b, 3);
	return l->lengths <= 286 && l->distances <= 30 && read_lens(b, code_len, l) &&
	       l->of[END_OF_BLOCK] && is_code(l->of, l->lengths, false, count) &&
	       is_code(l->of + l->lengths, l->distances, true, count);
}

static void fixed_lens(lens *l)
{
	l->lengths = LENGTHS;
	l->distances = DISTANCES;
	memset(l->of, 8, 144);
	memset(l->of + 144, 9, 112);
	memset(l->of + 256, 7, 24);
	memset(l->of + 280, 8, 8);
	memset(l->of + LENGTHS, 5, DISTANCES);
}

/* ------------------------------------------------------------------ symbols */

static bool reserve(assay_symbols *s, size_t more)
{
	enum { FIRST = 1 << 20 };
	size_t want = s->n + more + SLACK;
	if (s->n + more > s->most)
		return false;
	if (want <= s->cap)
		return true;
	size_t cap = ASSAY_WINDOW + s->cap;
	bool fresh = !s->p;
	uint16_t *base = assay_vec_grow(fresh ? NULL : s->p - ASSAY_WINDOW, &cap,
					ASSAY_WINDOW + (want > FIRST ? want : FIRST), sizeof *s->p);
	for (unsigned i = 0; fresh && i < ASSAY_WINDOW; i++)
		base[i] = (uint16_t)(ASSAY_MARKER | i);
	s->p = base + ASSAY_WINDOW;
	s->cap = cap - ASSAY_WINDOW;
	return true;
}

void assay_symbols_free(assay_symbols *s)
{
	if (s->p)
		assay_vec_release(s->p - ASSAY_WINDOW);
	*s = (assay_symbols){.most = s->most};
}

/* Writes up to 7 symbols too many. */
static inline void copy_match(uint16_t *to, size_t distance, size_t n)
{
	const uint16_t *from = to - distance;
	uint16_t *end = to + n;
	if (distance < 8) {
		while (to < end)
			*to++ = *from++;
		return;
	}
	do {
		memcpy(to, from, 16);
		to += 8;
		from += 8;
	} while (to < end);
}

struct reader {
	const uint8_t *p, *end;
	uint64_t word;
	unsigned n; /* bits in word */
};

static inline void refill(struct reader *r)
{
	uint64_t w;
	memcpy(&w, r->p, 8);
	r->word |= w << r->n;
	r->p += (63 - r->n) >> 3;
	r->n |= 56;
}

static inline void drop(struct reader *r, unsigned n)
{
	r->word >>= n;
	r->n -= n;
}

static inline uint32_t look_up(struct reader *r, const uint32_t *table, unsigned first,
			       uint32_t special)
{
	uint32_t e = table[r->word & ((1u << first) - 1)];
	if (__builtin_expect((e & special) && !(e & (ENDS | INVALID)), 0)) {
		drop(r, first);
		e = table[(e >> 16 & 0xfff) + (r->word & ((1u << (e >> 8 & 15)) - 1))];
	}
	drop(r, e & 31);
	return e;
}

static inline unsigned with_extra(struct reader *r, uint32_t e)
{
	unsigned extra = e >> 8 & 15,
		 v = (e >> 16 & 0x7fff) + (unsigned)(r->word & ((1u << extra) - 1));
	drop(r, extra);
	return v;
}

static inline uint64_t place_of(const struct reader *r, assay_packed in)
{
	return (uint64_t)(r->p - in.p) * 8 - r->n;
}

static assay_inflate_status inflate_codes(assay_symbols *s, const codes *c, assay_packed in,
					  uint64_t *bit)
{
	struct reader r = {in.p + (*bit >> 3), in.p + in.n, 0, 0};
	refill(&r);
	drop(&r, (unsigned)(*bit & 7));
	for (;;) {
		if (s->n + MATCH_MAX + SLACK > s->cap && !reserve(s, MATCH_MAX + SLACK))
			return ASSAY_INFLATE_FULL;
		uint16_t *to = s->p + s->n, *const full = s->p + s->cap - MATCH_MAX - SLACK;
		const uint16_t *lowest = s->known ? s->p + s->first : s->p - ASSAY_WINDOW;
		while (to <= full) {
			if (r.p > r.end && place_of(&r, in) > (uint64_t)in.n * 8)
				return ASSAY_INFLATE_MORE;
			refill(&r);
			uint32_t e = look_up(&r, c->length, LENGTH_BITS, SPECIAL);
			for (int i = 0; e & LITERAL; i++) {
				*to++ = (uint16_t)(e >> 16 & 0xff);
				if (i == 2)
					break;
				if (r.n < 48)
					refill(&r);
				e = look_up(&r, c->length, LENGTH_BITS, SPECIAL);
			}
			if (e & LITERAL)
				continue;
			if (e & SPECIAL) {
				s->n = (size_t)(to - s->p);
				*bit = place_of(&r, in);
				return e & ENDS ? ASSAY_INFLATE_OK : ASSAY_INFLATE_BAD;
			}
			refill(&r);
			size_t n = with_extra(&r, e);
			e = look_up(&r, c->distance, DISTANCE_BITS, D_SPECIAL);
			size_t distance = with_extra(&r, e);
			if (e & D_SPECIAL || distance > (size_t)(to - lowest)) {
				*bit = place_of(&r, in);
				return ASSAY_INFLATE_BAD;
			}
			copy_match(to, distance, n);
			to += n;
		}
		s->n = (size_t)(to - s->p);
	}
}

static assay_inflate_status inflate_stored(assay_symbols *s, bits *b)
{
	b->at = (b->at + 7) & ~7ull;
	unsigned n = take(b, 16), inverse = take(b, 16);
	size_t from = (size_t)(b->at >> 3);
	if (over(b))
		return ASSAY_INFLATE_MORE;
	if (n != (inverse ^ 0xffff))
		return ASSAY_INFLATE_BAD;
	if (from + n > b->in.n)
		return ASSAY_INFLATE_MORE;
	if (!reserve(s, n))
		return ASSAY_INFLATE_FULL;
	for (unsigned i = 0; i < n; i++)
		s->p[s->n++] = b->in.p[from + i];
	b->at += 8ull * n;
	return ASSAY_INFLATE_OK;
}

static assay_inflate_status inflate_kind(assay_symbols *s, bits *b, unsigned kind)
{
	codes c;
	lens l;
	if (kind == 0)
		return inflate_stored(s, b);
	if (kind == 1)
		fixed_lens(&l);
	else if (kind == 3)
		return ASSAY_INFLATE_BAD;
	else if (!read_dynamic(b, &l))
		return over(b) ? ASSAY_INFLATE_MORE : ASSAY_INFLATE_BAD;
	make_codes(&c, &l);
	return inflate_codes(s, &c, b->in, &b->at);
}

assay_inflate_status assay_inflate_block(assay_symbols *out, assay_packed in, uint64_t *bit,
					 bool *last)
{
	bits b = {in, *bit};
	size_t had = out->n;
	bool is_last = take(&b, 1);
	unsigned kind = take(&b, 2);
	assay_inflate_status status = over(&b) ? ASSAY_INFLATE_MORE : inflate_kind(out, &b, kind);
	if (status == ASSAY_INFLATE_OK && !over(&b)) {
		*bit = b.at;
		*last = is_last;
		return status;
	}
	out->n = had;
	return over(&b) ? ASSAY_INFLATE_MORE : status;
}

/* ------------------------------------------------------------------ finding blocks */

bool assay_deflate_begins(assay_packed in, uint64_t bit)
{
	bits b = {in, bit};
	lens l;
	return take(&b, 3) == 4 && read_dynamic(&b, &l) && !over(&b);
}

/* Sums of 2^(7 - length) over three lengths of three bits; a length of 0 is no code. */
static void make_sums(uint8_t sum[512])
{
	for (unsigned i = 0; i < 512; i++)
		sum[i] = (uint8_t)((128u >> (i & 7) & 127) + (128u >> (i >> 3 & 7) & 127) +
				   (128u >> (i >> 6) & 127));
}

/* Of the places in the lowest 48 bits those where a block of dynamic codes that is not the last
 * may begin: 0, then 2 in two bits, at most 286 lengths and 30 distances (5 bits each, not 30 or
 * 31). */
static uint64_t may_begin(uint64_t w)
{
	uint64_t kind = ~w & ~(w >> 1) & w >> 2;
	uint64_t lengths = w >> 4 & w >> 5 & w >> 6 & w >> 7;
	uint64_t distances = w >> 9 & w >> 10 & w >> 11 & w >> 12;
	return kind & ~lengths & ~distances & ((1ull << 48) - 1);
}

/* Whether the lengths of a block's first code fill the space of codes. */
static bool first_code_fills(assay_packed in, uint64_t bit, const uint8_t sum[512])
{
	bits head = {in, bit + 13}, lengths = {in, bit + 17};
	unsigned n = 4 + (peek(&head) & 15), total = 0;
	uint64_t w = peek(&lengths) & ((1ull << (3 * n)) - 1);
	for (; w && total <= 128; w >>= 9)
		total += sum[w & 511];
	return total == 128;
}

size_t assay_gzip_header(assay_packed in, size_t at)
{
	enum { HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, RESERVED = 0xe0 };
	const uint8_t *p = in.p + at;
	size_t left = at < in.n ? in.n - at : 0, n = 10;
	if (left < n || p[0] != 0x1f || p[1] != 0x8b || p[2] != 8 || p[3] & RESERVED)
		return 0;
	if (p[3] & HAS_EXTRA)
		n = left < 12 ? left : n + 2 + (size_t)(p[10] | p[11] << 8);
	for (unsigned text = HAS_NAME; text <= HAS_COMMENT; text *= 2) {
		const uint8_t *end = p[3] & text && n < left ? memchr(p + n, 0, left - n) : NULL;
		if (p[3] & text)
			n = end ? (size_t)(end - p) + 1 : left;
	}
	n += p[3] & HAS_CRC ? 2 : 0;
	return n < left ? n : 0;
}

/* The first byte in [from, to) where a gzip header begins, or `to`. */
static size_t find_header(assay_packed in, size_t from, size_t to)
{
	for (const uint8_t *p; from < to && (p = memchr(in.p + from, 0x1f, to - from)); from++) {
		from = (size_t)(p - in.p);
		if (assay_gzip_header(in, from))
			return from;
	}
	return to;
}

uint64_t assay_deflate_find(assay_packed in, uint64_t from, uint64_t to)
{
	uint8_t sum[512];
	to = to < (uint64_t)in.n * 8 ? to : (uint64_t)in.n * 8;
	uint64_t header =
		8 * (uint64_t)find_header(in, (size_t)((from + 7) >> 3), (size_t)(to >> 3));
	uint64_t end = header < to ? header : to;
	make_sums(sum);
	for (bits b = {in, from}; b.at < end; b.at += 48)
		for (uint64_t m = may_begin(peek(&b)); m; m &= m - 1) {
			uint64_t at = b.at + (unsigned)__builtin_ctzll(m);
			if (at < end && first_code_fills(in, at, sum) &&
			    assay_deflate_begins(in, at))
				return at;
		}
	return header < to ? header : UINT64_MAX;
}

/* ------------------------------------------------------------------ putting together */

void assay_symbols_resolve(const uint16_t *from, size_t n, const uint8_t window[ASSAY_WINDOW],
			   uint8_t *to)
{
	/* the window behind the bytes themselves, so that every symbol is looked up the same way;
	 * what lies between is never asked for */
	uint8_t of[ASSAY_MARKER + ASSAY_WINDOW];
	for (unsigned i = 0; i < 256; i++)
		of[i] = (uint8_t)i;
	memcpy(of + ASSAY_MARKER, window, ASSAY_WINDOW);
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t bytes = 0;
		for (int k = 7; k >= 0; k--)
			bytes = bytes << 8 | of[from[i + k]];
		memcpy(to + i, &bytes, 8);
	}
	for (; i < n; i++)
		to[i] = of[from[i]];
}

/* Polynomials modulo that of CRC-32, the highest power in the lowest bit. */
static uint32_t product(uint32_t a, uint32_t b)
{
	uint32_t p = 0;
	for (uint32_t m = 1u << 31; m; m >>= 1) {
		p ^= a & m ? b : 0;
		b = b >> 1 ^ (b & 1 ? 0xEDB88320u : 0);
	}
	return p;
}

uint32_t assay_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes)
{
	uint32_t shift = 1u << 31, power = 1u << 30; /* 1 and x */
	for (uint64_t n = second_bytes * 8; n; n >>= 1) {
		if (n & 1)
			shift = product(shift, power);
		power = product(power, power);
	}
	return product(shift, first) ^ second;
}

enum { TEST_TEXT = 3 << 20 };

static void make_text(assay_blob *text)
{
	uint64_t x = 88172645463325252u;
	assay_vec_reserve(text, TEST_TEXT + 128);
	while (text->n < TEST_TEXT) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		text->n += (size_t)snprintf(
			(char *)text->p + text->n, 128,
			"{\"ph\": \"X\", \"ts\": %u.%03u, \"name\": \"kernel_%u\"},\n",
			(unsigned)(x >> 40), (unsigned)(x % 1000), (unsigned)(x >> 7 & 63));
	}
}

/* Blocks from one that is found in the middle, with the text before it known afterwards. */
static bool reads_from(assay_packed in, uint64_t bit, const assay_blob *text)
{
	assay_symbols s = {.most = TEST_TEXT * 2};
	assay_blob back = {0};
	bool last = false, ok = true;
	uint64_t at = assay_deflate_find(in, bit, (uint64_t)in.n * 8);
	ok = at != UINT64_MAX && assay_deflate_begins(in, at);
	while (ok && !last)
		ok = assay_inflate_block(&s, in, &at, &last) == ASSAY_INFLATE_OK;
	ok = ok && s.n > ASSAY_WINDOW && s.n <= text->n - ASSAY_WINDOW;
	if (ok) {
		assay_vec_reserve(&back, s.n);
		assay_symbols_resolve(s.p, s.n, text->p + text->n - s.n - ASSAY_WINDOW, back.p);
		ok = !memcmp(back.p, text->p + text->n - s.n, s.n);
	}
	assay_symbols_free(&s);
	assay_vec_free(&back);
	return ok;
}

TEST(blocks_are_found_and_read_from_the_middle)
{
	assay_blob text = {0}, packed = {0};
	make_text(&text);
	assay_deflate(&packed, text.p, text.n);
	size_t n = packed.n;
	assay_vec_reserve(&packed, n + ASSAY_INFLATE_PAD);
	memset(packed.p + n, 0, ASSAY_INFLATE_PAD);
	for (uint64_t at = 1; at < 5; at++)
		CHECK(reads_from((assay_packed){packed.p, n}, n * at, &text));
	assay_vec_free(&text);
	assay_vec_free(&packed);
	return 0;
}

TEST(cut_blocks_ask_for_more_and_leave_nothing)
{
	assay_blob text = {0}, packed = {0};
	make_text(&text);
	assay_deflate(&packed, text.p, 20000);
	size_t whole = packed.n;
	for (size_t n = 0; n < whole; n += 97) {
		assay_symbols s = {.most = TEST_TEXT};
		uint8_t *cut = assay_vec_grow(NULL, &(size_t){0}, n + ASSAY_INFLATE_PAD, 1);
		memcpy(cut, packed.p, n);
		memset(cut + n, 0, ASSAY_INFLATE_PAD);
		uint64_t at = 0;
		bool last = false;
		assay_inflate_status st = ASSAY_INFLATE_OK;
		while (st == ASSAY_INFLATE_OK && !last)
			st = assay_inflate_block(&s, (assay_packed){cut, n}, &at, &last);
		CHECK(st == ASSAY_INFLATE_MORE && at <= 8 * n);
		assay_vec_release(cut);
		assay_symbols_free(&s);
	}
	assay_vec_free(&text);
	assay_vec_free(&packed);
	return 0;
}

TEST(sums_of_two_texts_make_that_of_both)
{
	static const unsigned char text[] = "an assay tells how much of the ore is metal";
	for (size_t n = 0; n < sizeof text; n++) {
		uint32_t a = crc32_gzip_refl(0, text, n);
		uint32_t b = crc32_gzip_refl(0, text + n, sizeof text - n);
		CHECK_EQ(assay_crc_join(a, b, sizeof text - n),
			 crc32_gzip_refl(0, text, sizeof text));
	}
	return 0;
}

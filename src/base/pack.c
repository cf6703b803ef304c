/* Deflate and inflate by ISA-L and zstd, the libraries that unpack our inputs, and base64. */
#include "base/pack.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "base/owner.h"
#include "base/test.h"

enum { LEVEL = 3, CHUNK = 1 << 20 };

void assay_deflate(assay_blob *out, const uint8_t *in, size_t n)
{
	struct isal_zstream z;
	assay_arena scratch = {0};
	isal_deflate_init(&z);
	z.level = LEVEL;
	z.level_buf_size = ISAL_DEF_LVL3_DEFAULT;
	z.level_buf = assay_alloc(&scratch, z.level_buf_size);
	do {
		/* avail_in is 32 bits wide */
		size_t take = n < CHUNK ? n : CHUNK;
		z.next_in = (uint8_t *)(uintptr_t)in; /* read only, by its manual */
		z.avail_in = (uint32_t)take;
		z.end_of_stream = take == n;
		in += take;
		n -= take;
		do {
			assay_vec_reserve(out, out->n + CHUNK);
			z.next_out = out->p + out->n;
			z.avail_out = CHUNK;
			int rc = isal_deflate(&z);
			assert(rc == COMP_OK);
			(void)rc;
			out->n += CHUNK - z.avail_out;
		} while (z.avail_out == 0 || z.avail_in);
	} while (n);
	assay_arena_free(&scratch);
}

void assay_base64(assay_blob *out, const uint8_t *in, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (!n)
		return;
	assay_vec_reserve(out, out->n + (n + 2) / 3 * 4);
	uint8_t *to = out->p + out->n;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)in[i] << 16;
		bits |= i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0;
		bits |= i + 2 < n ? (uint32_t)in[i + 2] : 0;
		*to++ = (uint8_t)digit[bits >> 18];
		*to++ = (uint8_t)digit[bits >> 12 & 63];
		*to++ = i + 1 < n ? (uint8_t)digit[bits >> 6 & 63] : '=';
		*to++ = i + 2 < n ? (uint8_t)digit[bits & 63] : '=';
	}
	out->n = (size_t)(to - out->p);
}

/* Room for more text; 0 when there is as much as there may be. */
static size_t room_in(assay_blob *out, size_t end)
{
	size_t room = end - out->n < CHUNK ? end - out->n : CHUNK;
	assay_vec_reserve(out, out->n + room);
	return room;
}

bool assay_inflate(assay_blob *out, assay_str in, size_t most)
{
	assay_arena scratch = {0};
	struct inflate_state *s = assay_alloc(&scratch, sizeof *s);
	size_t end = out->n + most, fed = 0;
	bool ok = true;
	isal_inflate_init(s);
	s->crc_flag = ISAL_ZLIB;
	while (ok && s->block_state != ISAL_BLOCK_FINISH) {
		size_t room = room_in(out, end), take = in.n - fed < CHUNK ? in.n - fed : CHUNK;
		s->next_in = (uint8_t *)(uintptr_t)(in.p + fed);
		s->avail_in = (uint32_t)take;
		s->next_out = out->p + out->n;
		s->avail_out = (uint32_t)room;
		ok = room && isal_inflate(s) == ISAL_DECOMP_OK;
		fed += take - s->avail_in;
		out->n += room - s->avail_out;
		ok = ok && (take != s->avail_in || room != s->avail_out ||
			    s->block_state == ISAL_BLOCK_FINISH);
	}
	assay_arena_free(&scratch);
	return ok;
}

static void free_stream(void *z)
{
	ZSTD_freeDStream(z);
}

bool assay_unzstd(assay_blob *out, assay_str in, size_t most)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer from = {in.p, in.n, 0};
	size_t end = out->n + most, hint = 1;
	assay_undo undo;
	assay_undo_add(&undo, free_stream, z);
	while (z && hint) {
		size_t room = room_in(out, end), before = from.pos;
		ZSTD_outBuffer to = {out->p + out->n, room, 0};
		hint = room ? ZSTD_decompressStream(z, &to, &from) : 1;
		out->n += to.pos;
		if (!room || ZSTD_isError(hint) || (!to.pos && from.pos == before))
			break;
	}
	assay_undo_drop(&undo);
	ZSTD_freeDStream(z);
	return hint == 0;
}

TEST(base64_pads_to_whole_groups)
{
	static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE="};
	for (size_t n = 0; n < ASSAY_COUNT_OF(want); n++) {
		assay_blob b = {0};
		assay_base64(&b, (const uint8_t *)"fooba", n);
		CHECK(assay_str_is((assay_str){(const char *)b.p, b.n}, want[n]));
		assay_vec_free(&b);
	}
	return 0;
}

TEST(deflated_bytes_inflate_to_themselves)
{
	enum { N = 3 * CHUNK + 12345 };
	assay_blob in = {0}, packed = {0}, back = {0};
	assay_vec_reserve(&in, N);
	for (uint32_t i = 0, x = 1; i < N; i++, x = x * 1664525 + 1013904223)
		in.p[i] = (uint8_t)(i % 7 ? i >> 8 : x >> 24);
	for (size_t n = 0; n <= N; n = n ? n * 37 + 1 : 1) {
		packed.n = 0;
		assay_deflate(&packed, in.p, n);
		assay_vec_reserve(&back, N + 1);
		struct inflate_state s;
		isal_inflate_init(&s);
		s.next_in = packed.p;
		s.avail_in = (uint32_t)packed.n;
		s.next_out = back.p;
		s.avail_out = N + 1;
		CHECK_EQ(isal_inflate(&s), ISAL_DECOMP_OK);
		CHECK_EQ(s.total_out, n);
		CHECK(!n || !memcmp(back.p, in.p, n));
	}
	assay_vec_free(&in);
	assay_vec_free(&packed);
	assay_vec_free(&back);
	return 0;
}

static bool unpacks(bool (*unpack)(assay_blob *, assay_str, size_t), assay_str packed, size_t most,
		    const char *want)
{
	assay_blob out = {0};
	bool ok =
		unpack(&out, packed, most) && out.n == strlen(want) && !memcmp(out.p, want, out.n);
	assay_vec_free(&out);
	return ok;
}

TEST(zlib_and_zstd_text_is_unpacked_up_to_a_limit)
{
	static const char zlib[] = "x\x9c\xcbH\xcd\xc9\xc9\x07\x00\x06,\x02\x15";
	assay_str z = {zlib, sizeof zlib - 1}, s;
	CHECK(unpacks(assay_inflate, z, 5, "hello") && !unpacks(assay_inflate, z, 4, "hello"));
	z.n -= 5;
	CHECK(!unpacks(assay_inflate, z, 100, "hello"));
	char frame[64];
	s = (assay_str){frame, ZSTD_compress(frame, sizeof frame, "hello", 5, 1)};
	CHECK(unpacks(assay_unzstd, s, 5, "hello") && !unpacks(assay_unzstd, s, 4, "hello"));
	s.n--;
	CHECK(!unpacks(assay_unzstd, s, 100, "hello"));
	CHECK(!unpacks(assay_inflate, (assay_str){"", 0}, 9, ""));
	return 0;
}

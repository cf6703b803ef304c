/* Varints, fixed words and length-delimited fields. The length of a message is not known when it
 * starts: it gets four bytes, filled in when it ends (longer than needed, which readers accept). */
#include "base/pbw.h"

#include "base/test.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, LENGTH_BYTES = 4 };

static void put_varint(assay_pbw *w, uint64_t v)
{
	assay_vec_reserve(&w->out, w->out.n + 10);
	for (; v >= 0x80; v >>= 7)
		w->out.p[w->out.n++] = (uint8_t)(v | 0x80);
	w->out.p[w->out.n++] = (uint8_t)v;
}

static void put_tag(assay_pbw *w, uint32_t field, uint32_t type)
{
	put_varint(w, (uint64_t)field << 3 | type);
}

void assay_pbw_u64(assay_pbw *w, uint32_t field, uint64_t v)
{
	put_tag(w, field, VARINT);
	put_varint(w, v);
}

void assay_pbw_i64(assay_pbw *w, uint32_t field, int64_t v)
{
	assay_pbw_u64(w, field, (uint64_t)v);
}

void assay_pbw_fixed64(assay_pbw *w, uint32_t field, uint64_t v)
{
	put_tag(w, field, FIXED64);
	assay_vec_reserve(&w->out, w->out.n + 8);
	for (int i = 0; i < 8; i++)
		w->out.p[w->out.n++] = (uint8_t)(v >> 8 * i);
}

void assay_pbw_f64(assay_pbw *w, uint32_t field, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	assay_pbw_fixed64(w, field, bits);
}

void assay_pbw_str(assay_pbw *w, uint32_t field, assay_str s)
{
	put_tag(w, field, BYTES);
	put_varint(w, s.n);
	assay_vec_reserve(&w->out, w->out.n + s.n);
	if (s.n)
		memcpy(w->out.p + w->out.n, s.p, s.n);
	w->out.n += s.n;
}

size_t assay_pbw_open(assay_pbw *w, uint32_t field)
{
	put_tag(w, field, BYTES);
	assay_vec_reserve(&w->out, w->out.n + LENGTH_BYTES);
	w->out.n += LENGTH_BYTES;
	return w->out.n;
}

void assay_pbw_close(assay_pbw *w, size_t mark)
{
	size_t n = w->out.n - mark;
	for (int i = 0; i < LENGTH_BYTES; i++)
		w->out.p[mark - LENGTH_BYTES + (size_t)i] =
			(uint8_t)((n >> 7 * i & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

void assay_pbw_free(assay_pbw *w)
{
	assay_vec_free(&w->out);
}

TEST(fields_have_their_bytes_on_the_wire)
{
	assay_pbw w = {0};
	assay_pbw_u64(&w, 1, 150);
	assay_pbw_str(&w, 2, ASSAY_S("ab"));
	size_t mark = assay_pbw_open(&w, 3);
	assay_pbw_i64(&w, 1, -1);
	assay_pbw_close(&w, mark);
	assay_pbw_fixed64(&w, 47, 1);
	static const uint8_t want[] = {8,    0x96, 1,    0x12, 2,    'a',  'b',  0x1a, 0x8b,
				       0x80, 0x80, 0,    8,    0xff, 0xff, 0xff, 0xff, 0xff,
				       0xff, 0xff, 0xff, 0xff, 1,    0xf9, 2,    1,    0,
				       0,    0,    0,    0,    0,    0};
	CHECK_EQ(w.out.n, sizeof want);
	CHECK(!memcmp(w.out.p, want, sizeof want));
	assay_pbw_free(&w);
	return 0;
}

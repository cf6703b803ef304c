/* The wire format's five kinds of value. */
#include "base/proto.h"

#include <assert.h>

#include "base/test.h"
#include "base/utf8.h"

assay_proto assay_proto_on(assay_str message)
{
	const uint8_t *p = (const uint8_t *)(message.p ? message.p : "");
	return (assay_proto){.p = p, .end = p + message.n};
}

/* At most ten bytes; more is malformed, fewer than it needs is cut. */
static const uint8_t *long_varint(assay_proto *c, const uint8_t *p, uint64_t *out)
{
	uint64_t v = 0;
	for (int shift = 0; shift < 70; shift += 7) {
		if (p == c->end) {
			c->cut = true;
			return NULL;
		}
		uint8_t byte = *p++;
		v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (byte < 0x80) {
			*out = v;
			return p;
		}
	}
	c->bad = true;
	return NULL;
}

/* Tags, lengths and most numbers are one byte. */
static inline const uint8_t *varint(assay_proto *c, const uint8_t *p, uint64_t *out)
{
	if (p < c->end && *p < 0x80) {
		*out = *p;
		return p + 1;
	}
	return long_varint(c, p, out);
}

static const uint8_t *fixed(assay_proto *c, const uint8_t *p, size_t n, uint64_t *out)
{
	if ((size_t)(c->end - p) < n) {
		c->cut = true;
		return NULL;
	}
	*out = 0;
	for (size_t i = 0; i < n; i++)
		*out |= (uint64_t)p[i] << 8 * i;
	return p + n;
}

static const uint8_t *bytes(assay_proto *c, const uint8_t *p, assay_field *f)
{
	uint64_t n;
	p = varint(c, p, &n);
	if (!p)
		return NULL;
	size_t left = (size_t)(c->end - p);
	f->bytes = (assay_str){(const char *)p, n < left ? (size_t)n : left};
	f->value = n;
	if (n <= left)
		return p + n;
	c->cut = true;
	return NULL;
}

bool assay_proto_next_any(assay_proto *c, assay_field *f)
{
	uint64_t tag;
	*f = (assay_field){0};
	if (c->bad || c->cut || c->p == c->end)
		return false;
	const uint8_t *p = varint(c, c->p, &tag);
	if (!p)
		return false;
	f->number = (uint32_t)(tag >> 3);
	f->wire = (assay_wire)(tag & 7);
	if (!f->number || tag >> 32)
		c->bad = true;
	else if (f->wire == ASSAY_WIRE_VARINT)
		p = varint(c, p, &f->value);
	else if (f->wire == ASSAY_WIRE_FIXED64)
		p = fixed(c, p, 8, &f->value);
	else if (f->wire == ASSAY_WIRE_FIXED32)
		p = fixed(c, p, 4, &f->value);
	else if (f->wire == ASSAY_WIRE_BYTES)
		p = bytes(c, p, f);
	else
		c->bad = true; /* groups: given up long before the formats we read */
	if (c->bad || c->cut)
		return false;
	f->whole = (assay_str){(const char *)c->p, (size_t)(p - c->p)};
	c->p = p;
	return true;
}

size_t assay_proto_need(assay_str text)
{
	assay_proto c = assay_proto_on(
		(assay_str){text.p, text.n < ASSAY_PROTO_HEAD ? text.n : ASSAY_PROTO_HEAD});
	assay_field f;
	assay_proto_next(&c, &f);
	bool sized = f.wire == ASSAY_WIRE_BYTES && f.value < 1ull << 40;
	return ASSAY_PROTO_HEAD + (sized ? (size_t)f.value : 0);
}

bool assay_proto_varint(assay_str *list, uint64_t *out)
{
	assay_proto c = assay_proto_on(*list);
	const uint8_t *p = varint(&c, c.p, out);
	if (!p)
		return false;
	*list = (assay_str){(const char *)p, (size_t)(c.end - p)};
	return true;
}

double assay_field_f64(const assay_field *f)
{
	double v;
	memcpy(&v, &f->value, sizeof v);
	return v;
}

static inline void put_varint(assay_protow *w, uint64_t v)
{
	assay_vec_reserve(&w->out, w->out.n + ASSAY_VARINT_MAX);
	w->out.n = (size_t)(assay_put_varint(w->out.p + w->out.n, v) - w->out.p);
}

static inline void put_tag(assay_protow *w, uint32_t field, assay_wire wire)
{
	put_varint(w, (uint64_t)field << 3 | wire);
}

void assay_protow_nonzero(assay_protow *w, uint32_t field, uint64_t v)
{
	if (v)
		assay_protow_varint(w, field, v);
}

void assay_protow_fixed64(assay_protow *w, uint32_t field, uint64_t v)
{
	put_tag(w, field, ASSAY_WIRE_FIXED64);
	assay_vec_reserve(&w->out, w->out.n + 8);
	for (int i = 0; i < 8; i++)
		w->out.p[w->out.n++] = (char)(v >> 8 * i);
}

void assay_protow_f64(assay_protow *w, uint32_t field, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	assay_protow_fixed64(w, field, bits);
}

void assay_protow_raw(assay_protow *w, assay_str s)
{
	if (!s.n)
		return;
	assay_vec_reserve(&w->out, w->out.n + s.n);
	memcpy(w->out.p + w->out.n, s.p, s.n);
	w->out.n += s.n;
}

void assay_protow_head(assay_protow *w, uint32_t field, size_t n)
{
	put_tag(w, field, ASSAY_WIRE_BYTES);
	put_varint(w, n);
}

void assay_protow_bytes(assay_protow *w, uint32_t field, assay_str s)
{
	assay_protow_head(w, field, s.n);
	assay_protow_raw(w, s);
}

void assay_protow_string(assay_protow *w, uint32_t field, assay_str s)
{
	assay_arena a = {0};
	assay_protow_bytes(w, field, assay_utf8_repair(&a, s));
	assay_arena_free(&a);
}

void assay_protow_text(assay_protow *w, uint32_t field, assay_str s)
{
	if (s.n)
		assay_protow_string(w, field, s);
}

void assay_protow_message(assay_protow *w, uint32_t field, assay_protow *inner)
{
	assay_protow_bytes(w, field, assay_protow_data(inner));
	inner->out.n = 0;
}

/* The length of a message is not known when it starts: it gets a byte, and what is written makes
 * room for more when it ends. */
size_t assay_protow_open(assay_protow *w, uint32_t field)
{
	put_tag(w, field, ASSAY_WIRE_BYTES);
	assay_vec_reserve(&w->out, w->out.n + 1);
	return ++w->out.n;
}

void assay_protow_close(assay_protow *w, size_t mark)
{
	assert(mark && mark <= w->out.n);
	size_t n = w->out.n - mark;
	if (n < 0x80) {
		w->out.p[mark - 1] = (char)n;
		return;
	}
	char length[ASSAY_VARINT_MAX];
	size_t more = (size_t)(assay_put_varint(length, n) - length) - 1;
	assay_vec_reserve(&w->out, w->out.n + more);
	memmove(w->out.p + mark + more, w->out.p + mark, n);
	memcpy(w->out.p + mark - 1, length, more + 1);
	w->out.n += more;
}

assay_str assay_protow_data(const assay_protow *w)
{
	return (assay_str){w->out.p, w->out.n};
}

void assay_protow_free(assay_protow *w)
{
	assay_vec_free(&w->out);
}

TEST(what_is_written_reads_back)
{
	assay_protow w = {0}, in = {0};
	assay_protow_varint(&in, 1, (uint64_t)INT64_MIN);
	assay_protow_f64(&in, 2, 18.75);
	assay_protow_message(&w, 3, &in);
	assay_protow_varint(&w, 400, 300);
	assay_protow_nonzero(&w, 5, 0);
	assay_protow_text(&w, 6, ASSAY_S("name"));
	CHECK(in.out.n == 0);
	assay_proto c = assay_proto_on(assay_protow_data(&w));
	assay_field f;
	CHECK(assay_proto_next(&c, &f) && f.number == 3 && f.bytes.n == 20);
	assay_proto inner = assay_proto_on(f.bytes);
	assay_field g;
	CHECK(assay_proto_next(&inner, &g) && assay_field_i64(&g) == INT64_MIN);
	CHECK(g.whole.n == 11); /* negative numbers take ten bytes and the tag */
	CHECK(assay_proto_next(&inner, &g) && assay_field_f64(&g) == 18.75);
	CHECK(!assay_proto_next(&inner, &g) && !inner.bad && !inner.cut);
	CHECK(assay_proto_next(&c, &f) && f.number == 400 && f.value == 300);
	CHECK(assay_proto_next(&c, &f) && f.number == 6 && assay_str_is(f.bytes, "name"));
	CHECK(!assay_proto_next(&c, &f) && !c.bad && !c.cut);
	assay_protow_free(&w);
	assay_protow_free(&in);
	return 0;
}

TEST(damaged_messages_end_the_walk)
{
	static const struct {
		assay_str bytes;
		bool bad, cut;
	} cases[] = {
		{{"\x08", 1}, false, true},         /* no value */
		{{"\x0a\x05xy", 4}, false, true},   /* short string */
		{{"\x09\x01\x02", 3}, false, true}, /* short fixed64 */
		{{"\x00\x01", 2}, true, false},     /* field 0 */
		{{"\x0b\x0c", 2}, true, false},     /* a group */
		{{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, true, false}, /* long */
		{{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fq", 11}, false, true}, /* huge string */
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_proto c = assay_proto_on(cases[i].bytes);
		assay_field f;
		CHECK(!assay_proto_next(&c, &f) && c.bad == cases[i].bad && c.cut == cases[i].cut);
	}
	assay_proto c = assay_proto_on((assay_str){"\x0a\x05xy", 4});
	assay_field f;
	assay_proto_next(&c, &f);
	CHECK(f.number == 1 && f.bytes.n == 2); /* what is there can still be used */
	return 0;
}

/* Numbers of every length, cut at every byte: the same fields, the same end. */
TEST(padded_messages_read_as_others_do)
{
	assay_protow w = {0};
	char text[64 * 3];
	memset(text, 0x81, sizeof text); /* would go on as a number */
	for (int bits = 0; bits < 64; bits++) {
		assay_protow_varint(&w, 1 + (uint32_t)bits % 20, UINT64_MAX >> bits);
		assay_protow_varint(&w, 2, 1ull << bits);
		assay_protow_bytes(&w, 3, (assay_str){text, (size_t)bits * 3});
		assay_protow_f64(&w, 4, bits);
	}
	assay_str all = assay_protow_data(&w);
	size_t n = all.n;
	assay_vec_reserve(&w.out, n + 64);
	memset(w.out.p + n, 0xff, 64);
	for (size_t end = 0; end <= n; end++) {
		assay_proto a = assay_proto_on((assay_str){w.out.p, end}), b = a;
		assay_field f = {0}, g = {0};
		bool more = true;
		while (more) {
			more = assay_proto_next(&a, &f);
			CHECK(assay_proto_next_padded(&b, &g) == more);
			CHECK(a.p == b.p && a.cut == b.cut && a.bad == b.bad);
			CHECK(!more || (f.number == g.number && f.value == g.value &&
					f.bytes.n == g.bytes.n && f.whole.n == g.whole.n));
		}
	}
	assay_protow_free(&w);
	return 0;
}

TEST(fields_have_their_bytes_on_the_wire)
{
	assay_protow w = {0};
	assay_protow_varint(&w, 1, 150);
	assay_protow_bytes(&w, 2, ASSAY_S("ab"));
	size_t mark = assay_protow_open(&w, 3);
	assay_protow_varint(&w, 1, (uint64_t)-1);
	assay_protow_close(&w, mark);
	assay_protow_fixed64(&w, 47, 1);
	static const uint8_t want[] = {8,    0x96, 1,    0x12, 2,    'a',  'b',  0x1a, 0x0b, 8,
				       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
				       0xf9, 2,    1,    0,    0,    0,    0,    0,    0,    0};
	CHECK_EQ(w.out.n, sizeof want);
	CHECK(!memcmp(w.out.p, want, sizeof want));
	assay_protow_free(&w);
	return 0;
}

/* One around the other, below and above the lengths that need more bytes. */
TEST(messages_in_place_are_those_of_their_bytes)
{
	static char text[40000];
	for (size_t n = 0; n < sizeof text; n = n * 5 / 4 + 1) {
		assay_protow inner = {0}, outer = {0}, by_bytes = {0}, in_place = {0};
		assay_protow_bytes(&inner, 2, (assay_str){text, n});
		assay_protow_message(&outer, 3, &inner);
		assay_protow_varint(&outer, 1, n);
		assay_protow_message(&by_bytes, 4, &outer);
		size_t around = assay_protow_open(&in_place, 4);
		size_t inside = assay_protow_open(&in_place, 3);
		assay_protow_bytes(&in_place, 2, (assay_str){text, n});
		assay_protow_close(&in_place, inside);
		assay_protow_varint(&in_place, 1, n);
		assay_protow_close(&in_place, around);
		CHECK(assay_str_eq(assay_protow_data(&by_bytes), assay_protow_data(&in_place)));
		assay_protow *const all[] = {&inner, &outer, &by_bytes, &in_place};
		for (size_t i = 0; i < ASSAY_COUNT_OF(all); i++)
			assay_protow_free(all[i]);
	}
	return 0;
}

TEST(a_message_of_two_numbers_is_that_of_its_fields)
{
	assay_protow inner = {0}, by_fields = {0}, pair = {0};
	for (uint64_t v = 1; v; v <<= 7) {
		assay_protow_varint(&inner, 1, v);
		assay_protow_varint(&inner, 300, UINT64_MAX - v);
		assay_protow_message(&by_fields, 4, &inner);
		assay_protow_pair(&pair, 4, 1, v, 300, UINT64_MAX - v);
	}
	CHECK(assay_str_eq(assay_protow_data(&by_fields), assay_protow_data(&pair)));
	assay_protow_free(&inner);
	assay_protow_free(&by_fields);
	assay_protow_free(&pair);
	return 0;
}

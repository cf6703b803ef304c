/* Protobuf wire format: a cursor over a message, and a writer. No schema, no allocation on the
 * reading side. https://protobuf.dev/programming-guides/encoding */
#ifndef ASSAY_BASE_PROTO_H
#define ASSAY_BASE_PROTO_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum assay_wire {
	ASSAY_WIRE_VARINT = 0,
	ASSAY_WIRE_FIXED64 = 1,
	ASSAY_WIRE_BYTES = 2,
	ASSAY_WIRE_FIXED32 = 5,
} assay_wire;

typedef struct assay_proto {
	const uint8_t *p, *end;
	bool bad; /* what stands at p is no field */
	bool cut; /* the message ends inside the field at p */
} assay_proto;

typedef struct assay_field {
	uint32_t number;
	assay_wire wire;
	uint64_t value;  /* of numbers, as bits */
	assay_str bytes; /* of strings and messages, else empty; what is there of it when cut */
	assay_str whole; /* the field with its tag */
} assay_field;

assay_proto assay_proto_on(assay_str message);
/* As assay_proto_next(), for fields of any form. */
bool assay_proto_next_any(assay_proto *c, assay_field *f);

/* The next field; false at the end, and when bad or cut. A cut string still fills f. Most fields
 * have a tag of one byte, and a number or length of one: those are read in line. */
static inline bool assay_proto_next(assay_proto *c, assay_field *f)
{
	const uint8_t *p = c->p;
	size_t left = (size_t)(c->end - p);
	if (left < 2 || p[0] < 8 || p[0] >= 0x80 || p[1] >= 0x80)
		return assay_proto_next_any(c, f);
	assay_wire wire = (assay_wire)(p[0] & 7);
	size_t n = wire == ASSAY_WIRE_BYTES ? p[1] : 0;
	if ((wire != ASSAY_WIRE_VARINT && wire != ASSAY_WIRE_BYTES) || n > left - 2)
		return assay_proto_next_any(c, f);
	f->number = p[0] >> 3;
	f->wire = wire;
	f->value = p[1];
	f->bytes = (assay_str){(const char *)p + 2, n};
	f->whole = (assay_str){(const char *)p, 2 + n};
	c->p = p + 2 + n;
	return true;
}
/* Seven bits of each of eight bytes, moved together. */
static inline uint64_t assay_varint_bits(uint64_t x)
{
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

/* A number at p, which is then behind it; false when it has more than ten bytes. As many from p on
 * may be loaded. */
static inline bool assay_varint_padded(const uint8_t **p, uint64_t *out)
{
	uint64_t x;
	if (**p < 0x80) {
		*out = *(*p)++;
		return true;
	}
	memcpy(&x, *p, sizeof x);
	uint64_t stop = ~x & 0x8080808080808080u;
	if (stop) {
		*p += __builtin_ctzll(stop) / 8 + 1;
		*out = assay_varint_bits(x & (stop ^ (stop - 1))); /* up to the last byte */
		return true;
	}
	uint64_t high = (*p)[8] & 0x7f, last = (*p)[8] < 0x80 ? 0 : (*p)[9];
	*p += (*p)[8] < 0x80 ? 9 : 10;
	*out = assay_varint_bits(x) | high << 56 | last << 63;
	return last < 0x80;
}

/* As assay_proto_next(), for messages in an input's view, where ASSAY_PAD bytes behind the end may
 * be loaded: tags of two bytes and numbers of more are read in line, too. */
static inline bool assay_proto_next_padded(assay_proto *c, assay_field *f)
{
	const uint8_t *p = c->p;
	if (p == c->end)
		return false;
	uint32_t tag = *p++;
	if (tag >= 0x80)
		tag = (tag & 0x7f) | (uint32_t)*p++ << 7;
	assay_wire wire = (assay_wire)(tag & 7);
	if (tag < 8 || tag >= 0x80 << 7 ||
	    (wire != ASSAY_WIRE_VARINT && wire != ASSAY_WIRE_BYTES) ||
	    !assay_varint_padded(&p, &f->value) || p > c->end)
		return assay_proto_next_any(c, f);
	size_t n = 0;
	if (wire == ASSAY_WIRE_BYTES) {
		if (f->value > (size_t)(c->end - p))
			return assay_proto_next_any(c, f);
		n = (size_t)f->value;
	}
	f->number = tag >> 3;
	f->wire = wire;
	f->bytes = (assay_str){(const char *)p, n};
	f->whole = (assay_str){(const char *)c->p, (size_t)(p - c->p) + n};
	c->p = p + n;
	return true;
}

/* What a tag and a length take at most. */
enum { ASSAY_PROTO_HEAD = 20 };
/* Bytes that the field at the start of a text takes at most, as far as its head tells. */
size_t assay_proto_need(assay_str text);

/* The next number of a packed list, which is then shorter by it; false at the end and when bad. */
bool assay_proto_varint(assay_str *list, uint64_t *out);
double assay_field_f64(const assay_field *f);
static inline int64_t assay_field_i64(const assay_field *f)
{
	return (int64_t)f->value;
}

/* Seven bits a byte, the lowest first. Returns the end; to has room for ASSAY_VARINT_MAX. */
enum { ASSAY_VARINT_MAX = 10 };
static inline char *assay_put_varint(char *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (char)(v | 0x80);
	*to++ = (char)v;
	return to;
}

typedef struct assay_protow {
	assay_vec(char) out;
} assay_protow;

/* In line: most fields are known where they are written. */
static inline void assay_protow_varint(assay_protow *w, uint32_t field, uint64_t v)
{
	assay_vec_reserve(&w->out, w->out.n + 2 * ASSAY_VARINT_MAX);
	char *to = assay_put_varint(w->out.p + w->out.n, (uint64_t)field << 3 | ASSAY_WIRE_VARINT);
	w->out.n = (size_t)(assay_put_varint(to, v) - w->out.p);
}
/* Written only when not 0, the default of a missing field. */
void assay_protow_nonzero(assay_protow *w, uint32_t field, uint64_t v);
void assay_protow_fixed64(assay_protow *w, uint32_t field, uint64_t v);
void assay_protow_f64(assay_protow *w, uint32_t field, double v);
void assay_protow_bytes(assay_protow *w, uint32_t field, assay_str s);
/* Text: a reader refuses the whole message for one string that is no UTF-8, so that is repaired. */
void assay_protow_string(assay_protow *w, uint32_t field, assay_str s);
void assay_protow_text(assay_protow *w, uint32_t field, assay_str s); /* not when empty */
void assay_protow_raw(assay_protow *w, assay_str fields);
/* Tag and length of a message whose n bytes the caller puts behind. */
void assay_protow_head(assay_protow *w, uint32_t field, size_t n);
/* Everything inner holds as one message field; inner is empty after it. */
void assay_protow_message(assay_protow *w, uint32_t field, assay_protow *inner);
/* A message of two numbers. In line, where the fields are known. */
static inline void assay_protow_pair(assay_protow *w, uint32_t field, uint32_t first, uint64_t a,
				     uint32_t second, uint64_t b)
{
	assay_vec_reserve(&w->out, w->out.n + 6 * ASSAY_VARINT_MAX);
	char *length =
		assay_put_varint(w->out.p + w->out.n, (uint64_t)field << 3 | ASSAY_WIRE_BYTES);
	char *to = assay_put_varint(length + 1, (uint64_t)first << 3 | ASSAY_WIRE_VARINT);
	to = assay_put_varint(assay_put_varint(to, a), (uint64_t)second << 3 | ASSAY_WIRE_VARINT);
	to = assay_put_varint(to, b);
	*length = (char)(to - length - 1); /* at most 30 bytes */
	w->out.n = (size_t)(to - w->out.p);
}
/* The same in place: what is written until the matching close is the message. */
size_t assay_protow_open(assay_protow *w, uint32_t field);
void assay_protow_close(assay_protow *w, size_t mark);
assay_str assay_protow_data(const assay_protow *w);
void assay_protow_free(assay_protow *w);

#endif

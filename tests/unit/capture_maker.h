/* Captures written by hand, for the tests of their reader. */
#ifndef ASSAY_TESTS_CAPTURE_MAKER_H
#define ASSAY_TESTS_CAPTURE_MAKER_H

#include "base/test.h"
#include "read/reader.h"
#include "wire/wire.h"

typedef struct builder {
	char bytes[8192];
	size_t n;
	char payload[2048];
	size_t filled;
	uint32_t seq;
} builder;

static inline void put(builder *b, assay_wire_type type, void *record, size_t bytes,
		       const char *text)
{
	assay_wire_rec *rec = record;
	size_t more = text ? strlen(text) : 0;
	rec->type = (uint16_t)type;
	rec->bytes = (uint16_t)assay_wire_round(bytes + more);
	memset(b->payload + b->filled, 0, rec->bytes);
	memcpy(b->payload + b->filled, record, bytes);
	if (more)
		memcpy(b->payload + b->filled + bytes, text, more);
	b->filled += rec->bytes;
}

static inline void put_string(builder *b, uint32_t id, const char *text)
{
	assay_wire_string s = {.id = id, .length = (uint32_t)strlen(text)};
	put(b, ASSAY_WIRE_STRING, &s, sizeof s, text);
}

static inline size_t put_chunk(builder *b, uint32_t ring, uint64_t pos)
{
	assay_wire_chunk h = {.ring = ring, .tid = 77, .pos = pos, .pid = 5, .seq = b->seq++};
	size_t at = b->n;
	assay_wire_seal(&h, b->payload, b->filled);
	memcpy(b->bytes + b->n, &h, sizeof h);
	memcpy(b->bytes + b->n + sizeof h, b->payload, b->filled);
	b->n += sizeof h + b->filled;
	b->filled = 0;
	return at;
}

static inline assay_run *read_bytes(const char *p, size_t n)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(p, n);
	assay_err err = {0};
	if (!assay_read_input(run, in, &err))
		fprintf(stderr, "%s\n", err.text);
	assay_input_close(in);
	return run;
}

static inline void put_start(builder *b)
{
	put_string(b, 1, "cuda");
	assay_wire_process p = {.pid = 5, .start = 1000, .real = 5000, .recorder = 1};
	put(b, ASSAY_WIRE_PROCESS, &p, sizeof p, NULL);
	assay_wire_context x = {.id = 1, .device = 3, .null_stream = 7};
	put(b, ASSAY_WIRE_CONTEXT, &x, sizeof x, NULL);
	put_chunk(b, 0, 0);
}

#endif

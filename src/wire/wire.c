/* Checksums and headers of the capture format. */
#include "wire/wire.h"

#include <string.h>

uint64_t assay_wire_sum(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)n * 0xff51afd7ed558ccdu;
	for (; n >= 8; n -= 8, s += 8) {
		uint64_t w;
		memcpy(&w, s, 8);
		h = (h ^ w) * 0xd6e8feb86659fd93u;
		h ^= h >> 32;
	}
	uint64_t tail = 0;
	if (n)
		memcpy(&tail, s, n);
	h = (h ^ tail) * 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

void assay_wire_seal(assay_wire_chunk *c, const void *payload, size_t n)
{
	c->magic = ASSAY_WIRE_MAGIC;
	c->major = ASSAY_WIRE_MAJOR;
	c->minor = ASSAY_WIRE_MINOR;
	c->header_bytes = sizeof *c;
	c->bytes = (uint32_t)n;
	c->sum = assay_wire_sum(payload, n);
	c->header_sum = assay_wire_sum(c, offsetof(assay_wire_chunk, header_sum));
}

const char *assay_wire_check(const void *p, size_t n)
{
	assay_wire_chunk c;
	if (n < sizeof c)
		return "the text ends inside a chunk header";
	memcpy(&c, p, sizeof c);
	if (c.magic != ASSAY_WIRE_MAGIC)
		return "no chunk starts here";
	if (c.header_sum != assay_wire_sum(&c, offsetof(assay_wire_chunk, header_sum)))
		return "the chunk header is damaged";
	if (c.major != ASSAY_WIRE_MAJOR)
		return "the capture has another major version";
	if (c.header_bytes < sizeof c || c.header_bytes > 4096 || c.bytes > ASSAY_WIRE_CHUNK_MAX)
		return "the chunk header has impossible sizes";
	return NULL;
}

/* DEFLATE (RFC 1951) from the middle: blocks whose window is not known yet, and where blocks begin.
 *
 * Output is symbols of 16 bits: a byte, or ASSAY_MARKER and a place in the 32 KiB before the first
 * block, which whoever knows them puts in later. ISA-L is faster where all that came before is
 * known; this is for many threads that each begin somewhere in the file. */
#ifndef ASSAY_BASE_INFLATE_H
#define ASSAY_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_WINDOW = 32 << 10, ASSAY_MARKER = 1 << 15, ASSAY_INFLATE_PAD = 32 };

/* Packed bytes with ASSAY_INFLATE_PAD readable ones behind them. Places are bits from p. */
typedef struct assay_packed {
	const uint8_t *p;
	size_t n;
} assay_packed;

typedef struct assay_symbols {
	uint16_t *p; /* ASSAY_WINDOW markers stand before it; owned */
	size_t n, cap, most;
	bool known; /* nothing before `first` may be referred to: a member began there */
	size_t first;
} assay_symbols;

typedef enum assay_inflate_status {
	ASSAY_INFLATE_OK,
	ASSAY_INFLATE_MORE, /* the packed bytes end inside the block */
	ASSAY_INFLATE_BAD,
	ASSAY_INFLATE_FULL, /* more than `most` symbols */
} assay_inflate_status;

void assay_symbols_free(assay_symbols *s);

/* The block at *bit, which moves behind it; on failure nothing changes. */
assay_inflate_status assay_inflate_block(assay_symbols *out, assay_packed in, uint64_t *bit,
					 bool *last);

/* Whether a block that can be told from noise begins here: dynamic codes, not the last of its
 * member. */
bool assay_deflate_begins(assay_packed in, uint64_t bit);
/* Size of the gzip header at a byte (RFC 1952); 0 when there is none or it is not all there. */
size_t assay_gzip_header(assay_packed in, size_t at);
/* The first place in [from, to) where such a block or, at a byte, a gzip header begins; UINT64_MAX
 * when there is none. */
uint64_t assay_deflate_find(assay_packed in, uint64_t from, uint64_t to);

/* Symbols as bytes, with the window that stood before them. */
void assay_symbols_resolve(const uint16_t *from, size_t n, const uint8_t window[ASSAY_WINDOW],
			   uint8_t *to);

/* CRC-32 of two texts in a row from those of each. */
uint32_t assay_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes);

#endif

/* Protocol buffers on the wire, written by hand: fields go to memory in the order of the calls. */
#ifndef ASSAY_BASE_PBW_H
#define ASSAY_BASE_PBW_H

#include "base/arena.h"
#include "base/str.h"

typedef struct assay_pbw {
	assay_vec(uint8_t) out;
} assay_pbw;

void assay_pbw_u64(assay_pbw *w, uint32_t field, uint64_t v); /* varint: u64, u32, enum, bool */
void assay_pbw_i64(assay_pbw *w, uint32_t field, int64_t v);  /* varint, negative ones 10 bytes */
void assay_pbw_fixed64(assay_pbw *w, uint32_t field, uint64_t v);
void assay_pbw_f64(assay_pbw *w, uint32_t field, double v);
void assay_pbw_str(assay_pbw *w, uint32_t field, assay_str s);
/* A message within: everything until the matching close belongs to it. At most 256 MB. */
size_t assay_pbw_open(assay_pbw *w, uint32_t field);
void assay_pbw_close(assay_pbw *w, size_t mark);
void assay_pbw_free(assay_pbw *w);

#endif

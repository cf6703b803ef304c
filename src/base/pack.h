/* Bytes made small and made text: raw deflate and base64, for binary data inside a page. */
#ifndef ASSAY_BASE_PACK_H
#define ASSAY_BASE_PACK_H

#include "base/arena.h"

typedef assay_vec(uint8_t) assay_blob;

/* Raw deflate (RFC 1951, no header) of in, appended to out. */
void assay_deflate(assay_blob *out, const uint8_t *in, size_t n);
/* Base64 (RFC 4648, padded) of in, appended to out. */
void assay_base64(assay_blob *out, const uint8_t *in, size_t n);

#endif

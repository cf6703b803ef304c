/* Bytes made small, made text and unpacked again, all in memory: raw deflate and base64 for binary
 * data inside a page, and packed parts of inputs. */
#ifndef ASSAY_BASE_PACK_H
#define ASSAY_BASE_PACK_H

#include <stdbool.h>

#include "base/arena.h"

typedef assay_vec(uint8_t) assay_blob;

/* Raw deflate (RFC 1951, no header) of in, appended to out. */
void assay_deflate(assay_blob *out, const uint8_t *in, size_t n);
/* Base64 (RFC 4648, padded) of in, appended to out. */
void assay_base64(assay_blob *out, const uint8_t *in, size_t n);

/* The text of a zlib stream (RFC 1950) or of a zstd frame, appended to out. False: it is damaged,
 * cut, or its text is longer than `most`; what came before that is in out. */
bool assay_inflate(assay_blob *out, assay_str in, size_t most);
bool assay_unzstd(assay_blob *out, assay_str in, size_t most);

#endif

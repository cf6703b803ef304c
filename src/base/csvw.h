/* Cells of comma-separated values. */
#ifndef ASSAY_BASE_CSVW_H
#define ASSAY_BASE_CSVW_H

#include "base/arena.h"
#include "base/str.h"

typedef assay_vec(char) assay_csvw;

void assay_csvw_bytes(assay_csvw *out, assay_str s); /* as they are */
void assay_csvw_quoted(assay_csvw *out, assay_str s);
/* Quoted where it must be (RFC 4180). Spreadsheets take text that begins like a formula for one,
 * and run it: such text gets an apostrophe in front. */
void assay_csvw_text(assay_csvw *out, assay_str s);

#endif

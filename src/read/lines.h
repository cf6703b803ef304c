/* Lines of an input, one after the other. */
#ifndef ASSAY_READ_LINES_H
#define ASSAY_READ_LINES_H

#include "base/input.h"
#include "model/run.h"

enum { ASSAY_LINE_MAX = 1 << 20 }; /* bytes */

typedef struct assay_lines {
	assay_input *in;
	assay_part *part; /* counts what is wrong */
	uint64_t pos;
} assay_lines;

/* The next line without its end, valid until the next call. Lines over the limit are counted and
 * passed over. False at the end of the text; what stands there without a line end may be cut and is
 * counted, no line. */
bool assay_next_line(assay_lines *l, assay_str *line);

#endif

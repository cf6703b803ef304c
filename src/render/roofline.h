/* The roofline as a picture and as text. */
#ifndef ASSAY_RENDER_ROOFLINE_H
#define ASSAY_RENDER_ROOFLINE_H

#include <stdio.h>

#include "model/run.h"

/* An SVG: operations a byte against operations a second, both logarithmic, one point a shape, its
 * area the share of time. Needs roof and op_shape. */
void assay_roofline_svg(FILE *out, const assay_run *run);
/* The same SVG in a page of its own. */
void assay_roofline_html(FILE *out, const assay_run *run);
/* One row a shape, most time first, in lines of this width; top 0 is 20. */
void assay_roofline_text(FILE *out, const assay_run *run, uint32_t top, size_t width);

#endif

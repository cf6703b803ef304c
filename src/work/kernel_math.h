/* What a kernel's name says about the numbers it computes with. */
#ifndef ASSAY_WORK_KERNEL_MATH_H
#define ASSAY_WORK_KERNEL_MATH_H

#include "base/str.h"
#include "model/kinds.h"

/* ASSAY_MATH_NONE when the name does not tell. */
assay_math assay_kernel_math(assay_str name);

/* Does a product of matrix units load less than 8 bytes at once? Its rows do not begin where wider
 * loads can. */
bool assay_kernel_is_narrow(assay_str name);

/* Size of an element that a kernel over tensor lists works on; 0 when its name does not tell. */
double assay_kernel_element(assay_str name);

/* Output tile of a matrix product, where the name tells. */
bool assay_kernel_tile(assay_str name, int64_t *rows, int64_t *columns);

#endif

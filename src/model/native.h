/* Libraries that samples show threads in. */
#ifndef ASSAY_MODEL_NATIVE_H
#define ASSAY_MODEL_NATIVE_H

#include "model/run.h"

/* The function of a library that a row of sample shows its thread in, where that says more than its
 * Python stack does: neither the interpreter nor the C library. A row of code; ASSAY_NO_ROW none.
 */
uint32_t assay_native_code(const assay_run *run, uint32_t sample);
/* "libopenblas.so.0" of a row of code. */
const char *assay_native_library(assay_arena *a, const assay_run *run, uint32_t code);
/* "libopenblas.so.0 (dgemm_kernel)". */
const char *assay_native_words(assay_arena *a, const assay_run *run, uint32_t code);

#endif

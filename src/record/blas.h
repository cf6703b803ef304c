/* Matrix products that a program asks the vendors' libraries for: each call's sizes and types, with
 * no framework to tell them. Their entry points are stood in for where loaded objects call them;
 * programs that look them up themselves, and products inside the libraries, are not seen. */
#ifndef ASSAY_RECORD_BLAS_H
#define ASSAY_RECORD_BLAS_H

/* At start and at every tick: stand in for the functions of libraries that were loaded since. */
void assay_blas_install(void);

#endif

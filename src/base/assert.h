/* assert() holds in every build: what a call must be given, a sum, a size. What would be asked for
 * every row, or looks at a whole array, is asserted in builds with sanitizers only. */
#ifndef ASSAY_BASE_ASSERT_H
#define ASSAY_BASE_ASSERT_H

#include <assert.h>

#ifdef ASSAY_CHECKED
#define ASSAY_ASSERT_CHECKED(cond) assert(cond)
#else
#define ASSAY_ASSERT_CHECKED(cond) ((void)(0 && (cond)))
#endif

#endif

/* Macros out of a C header, without a preprocessor. */
#ifndef ASSAY_PROBE_HEADER_H
#define ASSAY_PROBE_HEADER_H

#include "base/arena.h"
#include "base/str.h"

/* Value of "#define NAME value" (also "# define", also quoted), outside comments. */
bool assay_header_define(assay_str text, const char *name, bool last, assay_str *value);
/* "MAJOR.MINOR.PATCH" from PREFIX_MAJOR and the others; NULL unless all three are numbers. */
char *assay_header_version(assay_arena *a, assay_str text, const char *prefix);
/* PREFIX_TWEAK, when it is made of [A-Za-z0-9_.+-]. */
/* Whether PREFIX_TWEAK is defined at all, be it as nothing. */
bool assay_header_names(assay_str text, const char *prefix);
char *assay_header_tweak(assay_arena *a, assay_str text, const char *prefix);

#endif

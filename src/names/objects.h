/* What a loaded object is, by its path. */
#ifndef ASSAY_NAMES_OBJECTS_H
#define ASSAY_NAMES_OBJECTS_H

#include "base/str.h"

/* The C library, the loader and what compilers link everywhere. */
bool assay_is_c_library(assay_str path);
bool assay_is_python_object(assay_str path);

#endif

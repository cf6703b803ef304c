/* C++ symbol names as people write them, by the demangler of the machine's own C++ library. */
#ifndef ASSAY_BASE_DEMANGLE_H
#define ASSAY_BASE_DEMANGLE_H

#include "base/arena.h"

/* Text in the arena, or the symbol itself when it is no mangled name or the library is not there.
 * A trailing ".kd" (AMD kernel descriptors) is dropped. */
assay_str assay_demangle(assay_arena *a, assay_str symbol);

#endif

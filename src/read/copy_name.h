/* Names of copies and memsets as torch.profiler gives them, so that rows of all recorders
 * compare. */
#ifndef ASSAY_READ_COPY_NAME_H
#define ASSAY_READ_COPY_NAME_H

#include "base/pool.h"

/* Numbers are CUPTI's: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind. */
assay_sid assay_copy_name(assay_pool *pool, unsigned kind, unsigned from, unsigned to);
/* Of pages of managed memory, which way is all that recorders tell. */
assay_sid assay_migration_name(assay_pool *pool, unsigned kind);
assay_sid assay_memset_name(assay_pool *pool, unsigned memory);

#endif

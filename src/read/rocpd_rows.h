/* Tables of events of a rocpd process, by family. */
#ifndef ASSAY_READ_ROCPD_ROWS_H
#define ASSAY_READ_ROCPD_ROWS_H

#include "read/rocpd_names.h"

/* After kernels: values belong to them. */
void assay_rocpd_read_counters(assay_rocpd_instance *x);

#endif

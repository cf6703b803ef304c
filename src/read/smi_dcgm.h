/* Lines of `dcgmi dmon`. */
#ifndef ASSAY_READ_SMI_DCGM_H
#define ASSAY_READ_SMI_DCGM_H

#include "read/smi_columns.h"

typedef enum smi_dcgm {
	SMI_DCGM_MESSAGE, /* what the tool says beside its table */
	SMI_DCGM_UNITS,   /* the row below the header */
	SMI_DCGM_OTHER,   /* of an instance, a link, a switch, a processor: no whole GPU */
	SMI_DCGM_GPU,
} smi_dcgm;

/* A header, "#Entity SMACT ...", from its # on; what stands before it is a time that another
 * program put in front of each line, of so many words. False when it is none. */
bool smi_dcgm_header(assay_str *line, size_t *stamp);
/* Take the time off the front of a row. */
assay_str smi_dcgm_stamp(assay_str *line, size_t words);
/* What a row below the header is of; of a GPU, the line starts at its number. */
smi_dcgm smi_dcgm_row(assay_str *line);

#endif

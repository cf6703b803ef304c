/* The writer table. */
#include "write/writer.h"

const assay_writer *const assay_writers[] = {
	&assay_writer_chrome,
	&assay_writer_perfetto,
};
const size_t assay_writer_count = sizeof assay_writers / sizeof *assay_writers;

/* The writer table. */
#include "write/writer.h"

#include "base/test.h"

const assay_writer *const assay_writers[] = {
	&assay_writer_chrome,
	&assay_writer_perfetto,
	&assay_writer_xplane_grouped, /* before the other: its names end like that one's */
	&assay_writer_xplane,
};
const size_t assay_writer_count = ASSAY_COUNT_OF(assay_writers);

/* A writer without a function would drop what it is given in silence. */
TEST(R9_every_writer_writes)
{
	for (size_t i = 0; i < assay_writer_count; i++)
		CHECK(assay_writers[i]->write && assay_writers[i]->name &&
		      assay_writers[i]->exts[0] && assay_writers[i]->about);
	return 0;
}

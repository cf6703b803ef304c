#include "read/reader.h"
static int sniff(assay_str h)
{
	(void)h;
	return 0;
}
static bool rd(assay_run *r, assay_input *i, assay_err *e)
{
	(void)r;
	(void)i;
	(void)e;
	return false;
}
const assay_reader assay_reader_rocprof_csv = {"rocprof_csv", "", sniff, rd};

#include "names/waiters.h"

#include "base/test.h"

const assay_waiter assay_waiters[] = {
#define STAYS                        true
#define GOES                         false
#define WAITER(word, op, stays, fix) {word, op, fix, stays},
#include "names/waiters.def"
#undef WAITER
#undef GOES
#undef STAYS
};
const size_t assay_waiters_n = ASSAY_COUNT_OF(assay_waiters);

size_t assay_waiter_of_kernel(assay_str name)
{
	size_t i = 0;
	while (i < assay_waiters_n && assay_str_find(name, assay_waiters[i].word) < 0)
		i++;
	return i;
}

TEST(kernels_tell_the_operator_that_waits)
{
	size_t repeat = assay_waiter_of_kernel(ASSAY_S("void compute_cuda_kernel<long>(long)")),
	       mask = assay_waiter_of_kernel(
		       ASSAY_S("void cub::detail::select::DeviceSelectSweepKernel<int>"));
	CHECK(!strcmp(assay_waiters[repeat].op, "repeat_interleave"));
	CHECK(!strncmp(assay_waiters[mask].op, "nonzero", 7));
	CHECK_EQ(assay_waiter_of_kernel(ASSAY_S("nvjet_sm90_tst_128x256")), assay_waiters_n);
	return 0;
}

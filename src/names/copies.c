#include "names/copies.h"

#include "base/test.h"

/* In the words of every recorder. */
static const char *const words[ASSAY_COPY_ELSEWHERE][3] = {
	[ASSAY_COPY_TO_DEVICE] = {"HtoD", "H2D", "HOST_TO_DEVICE"},
	[ASSAY_COPY_TO_HOST] = {"DtoH", "D2H", "DEVICE_TO_HOST"},
	[ASSAY_COPY_ON_DEVICE] = {"DtoD", "D2D", "DEVICE_TO_DEVICE"},
	[ASSAY_COPY_BETWEEN] = {"PtoP", "P2P", "PEER"},
};

assay_copy_way assay_copy_way_of(assay_str name)
{
	for (int way = 0; way < ASSAY_COPY_ELSEWHERE; way++)
		for (size_t i = 0; i < ASSAY_COUNT_OF(words[way]); i++)
			if (assay_str_find_nocase(name, words[way][i]) >= 0)
				return (assay_copy_way)way;
	return ASSAY_COPY_ELSEWHERE;
}

TEST(names_of_copies_tell_their_ends)
{
	CHECK_EQ(assay_copy_way_of(ASSAY_S("Memcpy HtoD (Pinned -> Device)")),
		 ASSAY_COPY_TO_DEVICE);
	CHECK_EQ(assay_copy_way_of(ASSAY_S("MEMORY_COPY_DEVICE_TO_HOST")), ASSAY_COPY_TO_HOST);
	CHECK_EQ(assay_copy_way_of(ASSAY_S("CopyDeviceToDevice")), ASSAY_COPY_ELSEWHERE);
	CHECK_EQ(assay_copy_way_of(ASSAY_S("MemcpyD2D")), ASSAY_COPY_ON_DEVICE);
	CHECK_EQ(assay_copy_way_of(ASSAY_S("Memcpy PtoP")), ASSAY_COPY_BETWEEN);
	return 0;
}

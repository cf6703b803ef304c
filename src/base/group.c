#include "base/group.h"

#include <assert.h>
#include <string.h>

#include "base/test.h"

static inline uint32_t key_of(const uint32_t *in, const uint32_t *key, uint32_t row)
{
	return key[in ? in[row] : row];
}

static inline void group(uint32_t *out, size_t *first, const uint32_t *row, size_t n,
			 const uint32_t *in, const uint32_t *key, size_t keys)
{
	memset(first, 0, (keys + 1) * sizeof *first);
	for (size_t i = 0; i < n; i++) {
		uint32_t k = key_of(in, key, row ? row[i] : (uint32_t)i);
		if (k < keys)
			first[k + 1]++;
	}
	for (size_t k = 0; k < keys; k++)
		first[k + 1] += first[k];
	for (size_t i = 0; i < n; i++) {
		uint32_t r = row ? row[i] : (uint32_t)i, k = key_of(in, key, r);
		if (k < keys)
			out[first[k]++] = r;
	}
	assert(!keys || first[keys - 1] == first[keys]); /* keys stayed as they were */
	memmove(first + 1, first, keys * sizeof *first); /* each is at its end now */
	first[0] = 0;
}

void assay_group_rows(uint32_t *out, size_t *first, const uint32_t *row, size_t n,
		      const uint32_t *key, size_t keys)
{
	group(out, first, row, n, NULL, key, keys);
}

void assay_group_rows_in(uint32_t *out, size_t *first, size_t n, const uint32_t *in,
			 const uint32_t *key, size_t keys)
{
	group(out, first, NULL, n, in, key, keys);
}

TEST(rows_are_gathered_by_key_in_their_order)
{
	static const uint32_t key[] = {2, 0, UINT32_MAX, 2, 1, 0}, falling[] = {5, 4, 3, 2, 1, 0};
	uint32_t out[6];
	size_t first[5];
	assay_group_rows(out, first, NULL, 6, key, 4);
	CHECK(first[0] == 0 && first[1] == 2 && first[2] == 3 && first[3] == 5 && first[4] == 5);
	CHECK(out[0] == 1 && out[1] == 5 && out[2] == 4 && out[3] == 0 && out[4] == 3);
	assay_group_rows(out, first, falling, 6, key, 2);
	CHECK(first[1] == 2 && first[2] == 3 && out[0] == 5 && out[1] == 1 && out[2] == 4);
	assay_group_rows_in(out, first, 6, falling, key, 2);
	CHECK(first[1] == 2 && first[2] == 3 && out[0] == 0 && out[1] == 4 && out[2] == 1);
	assay_group_rows(out, first, NULL, 0, NULL, 0);
	CHECK_EQ(first[0], 0);
	return 0;
}

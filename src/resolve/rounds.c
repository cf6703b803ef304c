#include "resolve/rounds.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/median.h"
#include "base/str.h"
#include "base/test.h"

enum { LONGEST = 4, LEAST_ROUNDS = 3 };

static bool alike(int64_t a, int64_t b)
{
	return llabs(a - b) * 8 <= (a > b ? a : b);
}

/* The usual value of every length-th one from first on. */
static int64_t usual(const int64_t *v, size_t n, size_t first, size_t length, int64_t *turn)
{
	size_t turns = 0;
	for (size_t i = first; i < n; i += length)
		turn[turns++] = v[i];
	return assay_median_lower(turn, turns);
}

/* One that is off now and then does not make a round: turns have to differ. */
static bool turns_differ(const int64_t *v, size_t n, size_t length)
{
	assay_arena scratch = {0};
	int64_t *turn = assay_alloc(&scratch, (n / length + 1) * sizeof *turn);
	int64_t first = usual(v, n, 0, length, turn);
	bool differ = false;
	for (size_t i = 1; i < length; i++)
		differ |= !alike(usual(v, n, i, length, turn), first);
	assay_arena_free(&scratch);
	return differ;
}

size_t assay_round_length(const int64_t *v, size_t n)
{
	for (size_t length = 1; length <= LONGEST && length * LEAST_ROUNDS <= n; length++) {
		size_t same = 0;
		for (size_t i = length; i < n; i++)
			same += alike(v[i], v[i - length]);
		if (same * 10 >= (n - length) * 9)
			return length > 1 && turns_differ(v, n, length) ? length : 1;
	}
	return 1;
}

TEST(rounds_are_as_long_as_it_takes_until_values_come_again)
{
	static const int64_t even[] = {100, 104, 98, 100, 101, 99},
			     pairs[] = {200, 120, 201, 118, 199, 121, 200},
			     threes[] = {9, 1, 1, 9, 1, 1, 9, 1, 1},
			     none[] = {5, 9, 14, 3, 8, 1, 20}, few[] = {200, 120, 200, 120},
			     one_off[] = {65, 65, 65, 65, 65, 65, 65, 65,
					  65, 65, 65, 65, 77, 65, 65};
	CHECK_EQ(assay_round_length(even, ASSAY_COUNT_OF(even)), 1);
	CHECK_EQ(assay_round_length(pairs, ASSAY_COUNT_OF(pairs)), 2);
	CHECK_EQ(assay_round_length(threes, ASSAY_COUNT_OF(threes)), 3);
	CHECK_EQ(assay_round_length(none, ASSAY_COUNT_OF(none)), 1);
	CHECK_EQ(assay_round_length(few, ASSAY_COUNT_OF(few)), 1);
	CHECK_EQ(assay_round_length(one_off, ASSAY_COUNT_OF(one_off)), 1);
	return 0;
}

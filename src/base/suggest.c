/* Distance of words by Damerau and Levenshtein, no letter moved twice. */
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "base/test.h"

enum { LONGEST = 48 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to add, drop, replace or swap with their neighbour to make one of the other. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[3][LONGEST + 1];
	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t k = 0; k <= m; k++)
		row[0][k] = k;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
		now[0] = i;
		for (size_t k = 1; k <= m; k++) {
			now[k] = least(least(now[k - 1], last[k]) + 1,
				       last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = least(now[k], before[k - 2] + 1);
		}
	}
	return row[n % 3][m];
}

void assay_suggest(assay_suggestion *s, const char *word)
{
	size_t d = distance(s->meant, word), n = strlen(word);
	bool near = d <= (n + 1) / 3 ||
		    (strlen(s->meant) > 2 && !strncmp(word, s->meant, strlen(s->meant)));
	if (!near || (s->best && d >= s->distance))
		return;
	s->best = word;
	s->distance = d;
}

TEST(a_slip_of_the_finger_is_near_its_word)
{
	CHECK_EQ(distance("report", "report"), 0);
	CHECK_EQ(distance("reprot", "report"), 1);
	CHECK_EQ(distance("wait", "waits"), 1);
	CHECK_EQ(distance("", "env"), 3);
	CHECK_EQ(distance("abcdef", "zabcdf"), 2);
	return 0;
}

TEST(the_nearest_word_is_offered_and_none_that_is_far)
{
	assay_suggestion s = {.meant = "wiats"}, far = {.meant = "zzz"}, part = {.meant = "conv"};
	assay_suggest(&s, "path");
	assay_suggest(&s, "waits");
	CHECK(s.best && !strcmp(s.best, "waits"));
	assay_suggest(&far, "waits");
	CHECK(!far.best);
	assay_suggest(&part, "convert");
	CHECK(part.best);
	return 0;
}

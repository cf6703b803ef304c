/* Version order. */
#include "base/version.h"

#include "base/test.h"

/* The next run of digits or letters; empty at the end. */
static assay_str next_part(assay_str *s)
{
	size_t i = 0;
	while (i < s->n && !assay_is_digit(s->p[i]) && !assay_is_letter(s->p[i]))
		i++;
	size_t from = i;
	bool number = i < s->n && assay_is_digit(s->p[i]);
	while (i < s->n && (number ? assay_is_digit(s->p[i]) : assay_is_letter(s->p[i])))
		i++;
	assay_str part = {s->p + from, i - from};
	*s = (assay_str){s->p + i, s->n - i};
	return part;
}

static bool before_release(assay_str part)
{
	static const char *const words[] = {"rc", "a", "b", "dev", "pre", "alpha", "beta"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_same(part, assay_str_of(words[i])))
			return true;
	return false;
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static int number_cmp(assay_str a, assay_str b)
{
	while (a.n > 1 && *a.p == '0')
		a.p++, a.n--;
	while (b.n > 1 && *b.p == '0')
		b.p++, b.n--;
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return sign(memcmp(a.p, b.p, a.n));
}

static int text_cmp(assay_str a, assay_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;
	return c ? sign(c) : (a.n > b.n) - (a.n < b.n);
}

/* What one more part says about the side that has it. */
static int extra(assay_str part)
{
	return before_release(part) ? -1 : 1;
}

int assay_version_cmp(assay_str a, assay_str b)
{
	for (;;) {
		assay_str x = next_part(&a), y = next_part(&b);
		if (!x.n || !y.n)
			return x.n ? extra(x) : y.n ? -extra(y) : 0;
		bool dx = assay_is_digit(*x.p), dy = assay_is_digit(*y.p);
		if (dx != dy) /* a number against a word: 1.0.1 is newer than 1.0rc1 and 1.0post1 */
			return dx ? 1 : -1;
		int c = dx ? number_cmp(x, y) : text_cmp(x, y);
		if (c)
			return c;
	}
}

bool assay_version_like(assay_str s)
{
	return s.n > 2 && assay_is_digit(*s.p) && s.n < 80 && assay_str_find(s, ".") > 0;
}

TEST(versions_compare_as_numbers)
{
	static const struct {
		const char *older, *newer;
	} cases[] = {{"5.9", "5.10"},
		     {"5.9.0", "5.10"},
		     {"2.11.0", "2.11.0+cu130"},
		     {"3.9rc1", "3.9"},
		     {"3.9.dev1", "3.9"},
		     {"6.4", "6.4.1"},
		     {"6.4.1-9", "6.4.1-12"},
		     {"1.0rc1", "1.0.1"},
		     {"007.1", "7.2"},
		     {"580.65", "580.159.04"},
		     {"99999999999999999998.1", "99999999999999999999.1"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_str a = assay_str_of(cases[i].older), b = assay_str_of(cases[i].newer);
		CHECK_EQ(assay_version_cmp(a, b), -1);
		CHECK_EQ(assay_version_cmp(b, a), 1);
		CHECK_EQ(assay_version_cmp(a, a), 0);
	}
	CHECK_EQ(assay_version_cmp(ASSAY_S("5.10.0"), ASSAY_S("5.10.0")), 0);
	CHECK_EQ(assay_version_cmp(ASSAY_S(""), ASSAY_S("")), 0);
	return 0;
}

TEST(only_dotted_numbers_look_like_versions)
{
	CHECK(assay_version_like(ASSAY_S("6.18.44-fc")) && !assay_version_like(ASSAY_S("v1.2")));
	CHECK(!assay_version_like(ASSAY_S("12")) && !assay_version_like(ASSAY_S("")));
	return 0;
}

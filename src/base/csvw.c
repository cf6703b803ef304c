#include "base/csvw.h"

#include "base/test.h"

void assay_csvw_bytes(assay_csvw *out, assay_str s)
{
	assay_vec_reserve(out, out->n + s.n);
	if (s.n)
		memcpy(out->p + out->n, s.p, s.n);
	out->n += s.n;
}

static void put_doubled(assay_csvw *out, assay_str s)
{
	for (const char *quote; s.n && (quote = memchr(s.p, '"', s.n));) {
		size_t n = (size_t)(quote - s.p) + 1;
		assay_csvw_bytes(out, (assay_str){s.p, n});
		*assay_push(out) = '"';
		s = (assay_str){s.p + n, s.n - n};
	}
	assay_csvw_bytes(out, s);
}

void assay_csvw_quoted(assay_csvw *out, assay_str s)
{
	*assay_push(out) = '"';
	put_doubled(out, s);
	*assay_push(out) = '"';
}

static bool is_formula(assay_str s)
{
	double v;
	return s.n && s.p[0] && strchr("=+-@\t\r", s.p[0]) && !assay_str_f64(s, &v);
}

void assay_csvw_text(assay_csvw *out, assay_str s)
{
	static const bool special[256] = {[','] = true, ['"'] = true, ['\n'] = true, ['\r'] = true};
	bool quote = false, guard = is_formula(s);
	for (size_t i = 0; i < s.n && !quote; i++)
		quote = special[(unsigned char)s.p[i]];
	if (quote)
		*assay_push(out) = '"';
	if (guard)
		*assay_push(out) = '\'';
	put_doubled(out, s);
	if (quote)
		*assay_push(out) = '"';
}

TEST(cells_are_no_formulas)
{
	static const char *const pairs[][2] = {
		{"=1+1", "'=1+1"}, {"@SUM(A1)", "'@SUM(A1)"}, {"-5", "-5"},
		{"-x", "'-x"},     {"+1.5e3", "+1.5e3"},      {"a=b", "a=b"},
		{"", ""},          {"=a,b", "\"'=a,b\""},     {"a\"b", "\"a\"\"b\""},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++) {
		assay_csvw t = {0};
		assay_csvw_text(&t, assay_str_of(pairs[i][0]));
		CHECK(assay_str_is((assay_str){t.p, t.n}, pairs[i][1]));
		assay_vec_free(&t);
	}
	return 0;
}

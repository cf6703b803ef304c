/* Human forms of times, sizes, counts and kernel names. */
#include "base/fmt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/test.h"
#include "base/utf8.h"

/* The largest unit in which the value is at least one, with three significant digits. */
static const char *in_units(char *buf, double v, const char *const *unit, const double *size, int n)
{
	double m = v < 0 ? -v : v;
	int i = n - 1;
	while (i > 0 && m < size[i])
		i--;
	double x = m / size[i];
	int decimals = i == 0 || x >= 100 ? 0 : x >= 10 ? 1 : 2;
	if (x < 1e15)
		snprintf(buf, ASSAY_FMT, "%s%.*f %s", v < 0 ? "-" : "", decimals, x, unit[i]);
	else /* of damaged files */
		snprintf(buf, ASSAY_FMT, "%.2e %s", v / size[n - 1], unit[n - 1]);
	return buf;
}

const char *assay_fmt_ns(char buf[ASSAY_FMT], double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	static const double size[] = {1, 1e3, 1e6, 1e9};
	return isnan(ns) ? "unknown" : in_units(buf, trunc(ns), unit, size, 4);
}

const char *assay_fmt_time(char buf[ASSAY_FMT], int64_t ns)
{
	return assay_fmt_ns(buf, (double)ns);
}

const char *assay_fmt_bytes(char buf[ASSAY_FMT], double bytes)
{
	static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
	static const double size[] = {1, 1e3, 1e6, 1e9, 1e12};
	return in_units(buf, bytes, unit, size, 5);
}

const char *assay_fmt_count(char buf[ASSAY_FMT], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, n), out = 0;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = 0;
	return buf;
}

const char *assay_fmt_safe(assay_arena *a, assay_str text)
{
	char *out = assay_dup(a, text);
	out[assay_utf8_tame(out, text.n)] = 0;
	return out;
}

const char *assay_fmt_place(assay_arena *a, assay_str file, int32_t line, assay_str function)
{
	char number[16] = "";
	if (line > 0)
		snprintf(number, sizeof number, ":%d", line);
	return assay_printf(a, "%s%s %s", assay_fmt_safe(a, file), number,
			    assay_fmt_safe(a, function));
}

/* Drops balanced <...> and (...), which hold what a table has no room for. A name that starts with
 * a bracket ("(anonymous namespace)::f", "<eval>") keeps it. */
static size_t drop_brackets(char *s)
{
	size_t n = 0;
	int depth = 0;
	for (size_t i = 0; s[i]; i++) {
		char c = s[i];
		bool open = c == '<' || c == '(', close = c == '>' || c == ')';
		if (open && (n > 0 || depth))
			depth++;
		else if (close && depth)
			depth--;
		else if (!depth)
			s[n++] = c;
	}
	s[n] = 0;
	return n;
}

const char *assay_fmt_kernel(assay_arena *a, assay_str name, size_t width)
{
	static const char *const anonymous[] = {"(anonymous namespace)::", "<unnamed>::"};
	if (assay_str_starts(name, "void "))
		name = (assay_str){name.p + 5, name.n - 5};
	char *s = assay_dup(a, assay_str_of(assay_fmt_safe(a, name)));
	for (size_t i = 0; i < sizeof anonymous / sizeof *anonymous; i++)
		for (char *at; (at = strstr(s, anonymous[i]));)
			memmove(at, at + strlen(anonymous[i]),
				strlen(at + strlen(anonymous[i])) + 1);
	/* copies say their ends in brackets: "Memcpy HtoD (Pinned -> Device)" */
	size_t n = assay_str_starts(name, "Memcpy ") ? strlen(s) : drop_brackets(s);
	while (n && s[n - 1] == ' ')
		s[--n] = 0;
	if (width > 3 && assay_utf8_fitting((assay_str){s, n}, width) < n)
		return assay_printf(a, "%.*s...",
				    (int)assay_utf8_fitting((assay_str){s, n}, width - 3), s);
	return n ? s : "(no name)";
}

TEST(times_have_three_digits_and_a_unit)
{
	char b[ASSAY_FMT];
	CHECK(!strcmp(assay_fmt_time(b, 999), "999 ns"));
	CHECK(!strcmp(assay_fmt_time(b, 12400000), "12.4 ms"));
	CHECK(!strcmp(assay_fmt_time(b, 1230), "1.23 us"));
	CHECK(!strcmp(assay_fmt_time(b, -3000000000), "-3.00 s"));
	CHECK(!strcmp(assay_fmt_bytes(b, 373294), "373 kB"));
	CHECK(!strcmp(assay_fmt_bytes(b, 4.5036e21), "4503600000 TB"));
	CHECK(!strcmp(assay_fmt_count(b, 1234567), "1,234,567"));
	CHECK(!strcmp(assay_fmt_count(b, 12), "12"));
	return 0;
}

TEST(a_place_has_its_line_when_that_is_known)
{
	assay_arena a = {0};
	CHECK(!strcmp(assay_fmt_place(&a, ASSAY_S("a.py"), 7, ASSAY_S("f")), "a.py:7 f"));
	CHECK(!strcmp(assay_fmt_place(&a, ASSAY_S("a.py"), 0, ASSAY_S("f")), "a.py f"));
	CHECK(!strcmp(assay_fmt_place(&a, ASSAY_S("a.py"), -1, ASSAY_S("f")), "a.py f"));
	assay_arena_free(&a);
	return 0;
}

TEST(kernel_names_lose_what_a_table_cannot_show)
{
	assay_arena a = {0};
	CHECK(!strcmp(assay_fmt_kernel(
			      &a, ASSAY_S("void at::native::reduce_kernel<512, 1, X<a>>(int)"), 60),
		      "at::native::reduce_kernel"));
	CHECK(!strcmp(assay_fmt_kernel(&a, ASSAY_S("Cijk_Alik_Bljk_MT128"), 10), "Cijk_Al..."));
	CHECK(!strcmp(assay_fmt_kernel(&a, ASSAY_S("bad\x1b[31m\xff"), 60), "bad?[31m?"));
	CHECK(!strcmp(assay_fmt_kernel(&a, ASSAY_S("a::(anonymous namespace)::f(int)"), 60),
		      "a::f"));
	CHECK(!strcmp(
		assay_fmt_kernel(&a, ASSAY_S("void a::<unnamed>::f<2, a::<unnamed>::T>(int)"), 60),
		"a::f"));
	CHECK(!strcmp(assay_fmt_kernel(&a, ASSAY_S(""), 60), "(no name)"));
	CHECK(!strcmp(assay_fmt_kernel(&a, ASSAY_S("<eval> x"), 60), "<eval> x"));
	assay_arena_free(&a);
	return 0;
}

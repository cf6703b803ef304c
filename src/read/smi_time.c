/* Calendar text to nanoseconds, without a time zone. */
#include "read/smi_time.h"

#include "base/test.h"

const int64_t smi_second = 1000000000;

/* Days since 1970 of a Gregorian date, years counted from March so that leap days come last. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool take_digits(assay_str *s, size_t n, int64_t *out)
{
	if (s->n < n)
		return false;
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9')
			return false;
		*out = *out * 10 + (s->p[i] - '0');
	}
	s->p += n, s->n -= n;
	return true;
}

static bool take_char(assay_str *s, const char *any)
{
	if (!s->n || !s->p[0] || !strchr(any, s->p[0]))
		return false;
	s->p++, s->n--;
	return true;
}

bool smi_daytime(assay_str s, int64_t *ns)
{
	int64_t h, m, sec, frac = 0;
	if (!take_digits(&s, 2, &h) || !take_char(&s, ":") || !take_digits(&s, 2, &m) ||
	    !take_char(&s, ":") || !take_digits(&s, 2, &sec) || h > 23 || m > 59 || sec > 60)
		return false;
	if (s.n && (s.p[0] != '.' || !assay_str_scaled(s, 9, &frac)))
		return false;
	*ns = (h * 3600 + m * 60 + sec) * smi_second + frac;
	return true;
}

bool smi_date(assay_str *s, const char *sep, int64_t *ns)
{
	int64_t y, m, d;
	if (!take_digits(s, 4, &y) || (sep && !take_char(s, sep)) || !take_digits(s, 2, &m) ||
	    (sep && !take_char(s, sep)) || !take_digits(s, 2, &d))
		return false;
	if (y < 1970 || y > 2200 || m < 1 || m > 12 || d < 1 || d > 31)
		return false;
	*ns = days_of(y, m, d) * 86400 * smi_second;
	return true;
}

bool smi_calendar(assay_str s, int64_t *ns)
{
	int64_t day, time;
	if (!smi_date(&s, "/-", &day) || !take_char(&s, " T") || !smi_daytime(s, &time))
		return false;
	*ns = day + time;
	return true;
}

TEST(calendar_text_is_exact)
{
	int64_t ns;
	CHECK(smi_calendar(ASSAY_S("1970/01/01 00:00:00.000"), &ns) && ns == 0);
	CHECK(smi_calendar(ASSAY_S("2024-02-29T23:59:59.123456789"), &ns));
	CHECK_EQ(ns, 1709251199123456789);
	CHECK(smi_calendar(ASSAY_S("2026/11/15 02:20:04.472"), &ns) && ns == 1794709204472000000);
	static const char *const bad[] = {
		"",           "2026/11/15",          "2026/13/15 02:20:04",
		"02:20:04",   "2026/11/15 24:20:04", "2026/11/15 02:20:04x",
		"1700000000", "2026/11/15 02:20:04."};
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++)
		CHECK(!smi_calendar(assay_str_of(bad[i]), &ns));
	return 0;
}

/* Limits for a comparison that decides something: "step>+3%", "exposed_comm>+1ms". */
#include <math.h>

#include "base/test.h"
#include "diff/diff.h"

/* Short names of figures that people ask for. */
static const struct {
	const char *word, *figure;
} words[] = {
	{"comm", "exposed_comm"}, {"copy", "exposed_copy"}, {"host", "host_gap"},
	{"data", "data_wait"},    {"gpu", "useful_gpu"},
};

static const assay_delta *find_in(const assay_deltas *rows, assay_str name)
{
	for (size_t i = 0; i < rows->n; i++)
		if (assay_str_is(name, rows->p[i].name))
			return &rows->p[i];
	return NULL;
}

static const assay_delta *find_figure(const assay_diff *d, assay_str name)
{
	const assay_deltas *const tables[] = {&d->parts,    &d->budget, &d->causes,  &d->waits,
					      &d->families, &d->ops,    &d->kernels, &d->lines};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_is(name, words[i].word))
			name = assay_str_of(words[i].figure);
	if (assay_str_is(name, "step"))
		return &d->step;
	const assay_delta *found = NULL;
	for (size_t i = 0; !found && i < ASSAY_COUNT_OF(tables); i++)
		found = find_in(tables[i], name);
	return found;
}

static assay_str trim(assay_str s)
{
	while (s.n && *s.p == ' ')
		s = (assay_str){s.p + 1, s.n - 1};
	while (s.n && s.p[s.n - 1] == ' ')
		s.n--;
	return s;
}

/* "+3%" of a value, or "1.5ms" in nanoseconds; false: it is no limit. */
static bool take_limit(assay_str text, const assay_delta *figure, double *limit)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	int64_t millionths;
	if (text.n && *text.p == '+')
		text = (assay_str){text.p + 1, text.n - 1};
	bool percent = assay_str_ends(text, "%");
	double scale = percent ? figure->a / 100 : 0;
	size_t unit = percent;
	for (size_t i = 0; !unit && i < ASSAY_COUNT_OF(units); i++)
		if (assay_str_ends(text, units[i].unit)) {
			unit = strlen(units[i].unit);
			scale = units[i].ns;
		}
	if (!unit || (figure->unit && !percent) ||
	    !assay_str_scaled(trim((assay_str){text.p, text.n - unit}), 6, &millionths) ||
	    millionths < 0)
		return false;
	*limit = (double)millionths * 1e-6 * scale;
	return true;
}

bool assay_diff_gate(assay_diff *d, const char *rule, assay_err *err)
{
	assay_str rest = assay_str_of(rule);
	size_t at = rest.n;
	while (at && rest.p[at - 1] != '>') /* names of kernels hold it, too */
		at--;
	if (!at)
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is not a limit such as step>+3%%",
				  rule);
	assay_str name = trim((assay_str){rest.p, at - 1});
	assay_gate g = {.rule = rule, .figure = find_figure(d, name)};
	if (!g.figure)
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"these runs have no figure '%.*s'; there are step, compute, comm, copy, idle, host, data, and those of --json",
			(int)name.n, name.p);
	if (!take_limit(trim((assay_str){rest.p + at, rest.n - at}), g.figure, &g.limit))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "'%s' needs a limit after > in %%, ns, us, ms or s", rule);
	double growth = assay_delta_change(g.figure);
	g.over = growth > g.limit;
	g.failed = g.over && growth > g.figure->noise;
	*assay_push(&d->gates) = g;
	return true;
}

TEST(limits_fail_beyond_themselves_and_noise)
{
	assay_diff d = {.step = {.name = "step", .a = 1e8, .b = 1.05e8, .noise = 1e6}};
	*assay_push(&d.parts) =
		(assay_delta){.name = "exposed_comm", .a = 0, .b = 2e6, .noise = 3e6};
	*assay_push(&d.kernels) = (assay_delta){.name = "k<a>", .a = 1e3, .b = 3e3, .noise = -1};
	static const struct {
		const char *rule;
		bool over, failed;
	} cases[] = {
		{"step>+3%", true, true},    {"step > 6 %", false, false},
		{"step>+4.9ms", true, true}, {"step>5.1ms", false, false},
		{"comm>+1ms", true, false},  {"exposed_comm>0%", true, false},
		{"k<a>>+1.5us", true, true},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		CHECK(assay_diff_gate(&d, cases[i].rule, NULL));
		CHECK(d.gates.p[i].over == cases[i].over && d.gates.p[i].failed == cases[i].failed);
	}
	static const char *const bad[] = {"",         "step",    "step>",  "step>3",
					  "step>-3%", "nope>1%", "step>x%"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++)
		CHECK(!assay_diff_gate(&d, bad[i], NULL));
	assay_diff_free(&d);
	return 0;
}

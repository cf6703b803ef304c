/* The writer table, and what each format has no place for. */
#include "write/writer.h"

#include "base/fmt.h"
#include "base/test.h"

const assay_writer *const assay_writers[] = {
	&assay_writer_chrome,
	&assay_writer_perfetto,
	&assay_writer_xplane_grouped, /* before the other: its names end like that one's */
	&assay_writer_xplane,
};
const size_t assay_writer_count = ASSAY_COUNT_OF(assay_writers);

/* Launches and waits are written as each format draws them. */
static uint64_t other_arrows(const assay_run *run)
{
	const assay_flow_table *f = &run->part.t.flow;
	uint64_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		n += f->phase[i] == 's' && !assay_str_is(assay_text(run, f->cat[i]), "ac2g");
	return n;
}

static bool is_of(const assay_run *run, uint32_t source, const char *format)
{
	return source < run->part.t.source.n &&
	       assay_str_is(assay_text(run, run->part.t.source.format[source]), format);
}

static uint64_t facts(const assay_run *run)
{
	return run->part.t.meta.n;
}

/* An XPlane file's own facts are stats of planes, and stay that. */
static uint64_t facts_of_others(const assay_run *run)
{
	uint64_t n = 0;
	for (size_t i = 0; i < run->part.t.meta.n; i++)
		n += !is_of(run, run->part.t.meta.source[i], "xplane");
	return n;
}

#define COUNT(table)                                                                               \
	static uint64_t count_##table(const assay_run *run)                                        \
	{                                                                                          \
		return run->part.t.table.n;                                                        \
	}
COUNT(counter)
COUNT(alloc)
COUNT(pmc)
COUNT(stat)
COUNT(stream)
COUNT(given_scope)
COUNT(kept)
#undef COUNT

enum { CHROME = 1, PERFETTO = 2, XPLANE = 4 };

static const struct {
	unsigned formats;
	uint64_t (*count)(const assay_run *run);
	const char *what;
} no_place[] = {
	{XPLANE, count_counter, "samples of counters and telemetry"},
	{PERFETTO, count_alloc, "memory events"},
	{CHROME | PERFETTO | XPLANE, count_pmc, "hardware counter values"},
	{CHROME | PERFETTO | XPLANE, count_stat, "rows of summaries"},
	{PERFETTO | XPLANE, other_arrows, "arrows that are no launches"},
	{PERFETTO | XPLANE, count_stream, "streams' handles and flags"},
	{CHROME | PERFETTO, count_given_scope, "scope ids"},
	{CHROME | PERFETTO, count_kept, "parts of XPlane files that only XPlane has"},
	{PERFETTO, facts, "facts of headers"},
	{XPLANE, facts_of_others, "facts of headers"},
};

const char *assay_writer_leaves_out(const assay_writer *w, const assay_run *run, assay_arena *arena)
{
	unsigned format = w == &assay_writer_chrome     ? CHROME
			  : w == &assay_writer_perfetto ? PERFETTO
							: XPLANE;
	char *text = NULL, number[ASSAY_FMT];
	for (size_t i = 0; i < sizeof no_place / sizeof *no_place; i++) {
		uint64_t n = no_place[i].formats & format ? no_place[i].count(run) : 0;
		if (n)
			text = assay_printf(arena, "%s%s%s %s", text ? text : "", text ? ", " : "",
					    assay_fmt_count(number, n), no_place[i].what);
	}
	return text;
}

/* A writer without a function would drop what it is given in silence. */
TEST(R9_every_writer_writes)
{
	for (size_t i = 0; i < assay_writer_count; i++)
		CHECK(assay_writers[i]->write && assay_writers[i]->name &&
		      assay_writers[i]->exts[0] && assay_writers[i]->about);
	return 0;
}

TEST(what_a_format_cannot_hold_is_named)
{
	assay_run *run = assay_run_new();
	assay_arena a = {0};
	CHECK(!assay_writer_leaves_out(&assay_writer_xplane, run, &a));
	assay_add(&run->part.t, ASSAY_T_counter);
	assay_add(&run->part.t, ASSAY_T_pmc);
	CHECK(!strcmp(assay_writer_leaves_out(&assay_writer_xplane, run, &a),
		      "1 samples of counters and telemetry, 1 hardware counter values"));
	CHECK(!strcmp(assay_writer_leaves_out(&assay_writer_chrome, run, &a),
		      "1 hardware counter values"));
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

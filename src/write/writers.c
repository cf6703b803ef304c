/* The writer table, and what each format has no place for. */
#include "write/writer.h"

#include <sys/stat.h>

#include "base/fmt.h"
#include "base/output.h"
#include "base/test.h"

const assay_writer *const assay_writers[] = {
	&assay_writer_chrome,
	&assay_writer_perfetto,
	&assay_writer_xplane_grouped, /* before the other: its names end like that one's */
	&assay_writer_xplane,
	&assay_writer_rocprof_csv, /* before all folders */
	&assay_writer_csv,
	&assay_writer_rocpd,
	&assay_writer_sqlite, /* both may be .db */
};
const size_t assay_writer_count = ASSAY_COUNT_OF(assay_writers);

const assay_writer *assay_writer_named(const char *name)
{
	for (size_t i = 0; i < assay_writer_count; i++)
		if (!strcmp(assay_writers[i]->name, name))
			return assay_writers[i];
	return NULL;
}

const assay_writer *assay_writer_for(const char *path)
{
	assay_str s = assay_unpacked_name(assay_str_of(path));
	for (size_t i = 0; i < assay_writer_count; i++)
		for (size_t k = 0; k < 4 && assay_writers[i]->exts[k]; k++)
			if (assay_str_ends(s, assay_writers[i]->exts[k]))
				return assay_writers[i];
	return NULL;
}

/* Launches and waits are written as each format draws them. */
static uint64_t other_arrows(const assay_run *run)
{
	const assay_flow_table *f = &run->part.t.flow;
	uint64_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		n += f->phase[i] == 's' && !assay_str_is(assay_text(run, f->cat[i]), "ac2g");
	return n;
}

static uint64_t facts(const assay_run *run)
{
	return run->part.t.meta.n;
}

#define COUNT(table)                                                                               \
	static uint64_t count_##table(const assay_run *run)                                        \
	{                                                                                          \
		return run->part.t.table.n;                                                        \
	}
COUNT(alloc)
COUNT(pmc)
COUNT(stat)
COUNT(stream)
COUNT(given_scope)
COUNT(kept)
COUNT(mark)
COUNT(counter)
COUNT(sample)
COUNT(ledger)
COUNT(event_call)
COUNT(off)
#undef COUNT

static uint64_t reported_waits(const assay_run *run)
{
	const assay_sync_table *s = &run->part.t.sync;
	uint64_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += !s->found[i];
	return n;
}

static uint64_t operator_ids(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t n = t->frame.n;
	for (size_t i = 0; i < t->op.n; i++)
		n += t->op.seq[i] != -1 || t->op.ev_idx[i] != UINT32_MAX;
	for (size_t i = 0; i < t->alloc.n; i++)
		n += t->alloc.ev_idx[i] != UINT32_MAX;
	return n;
}

static uint64_t totals(const assay_run *run)
{
	const assay_alloc_table *a = &run->part.t.alloc;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += a->total[i] != -1 || a->reserved[i] != -1;
	return n;
}

static uint64_t memory_args(const assay_run *run)
{
	const assay_alloc_table *a = &run->part.t.alloc;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += a->args[i] != 0;
	return n;
}

static uint64_t call_stacks(const assay_run *run)
{
	const assay_api_table *a = &run->part.t.api;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += a->stack[i] != ASSAY_NO_ROW && !a->lent[i];
	return n;
}

static uint64_t errors(const assay_run *run)
{
	const assay_api_table *a = &run->part.t.api;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += assay_has_failed(a->status[i]);
	return n;
}

static uint64_t call_numbers(const assay_run *run)
{
	const assay_api_table *a = &run->part.t.api;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += a->cbid[i] != UINT32_MAX;
	return n;
}

static uint64_t unended(const assay_run *run)
{
	return run->part.t.open_call.n + run->part.t.queued.n;
}

static uint64_t records(const assay_run *run)
{
	return run->part.t.event_record.n + run->part.t.barrier.n;
}

static bool is_unnumbered(const assay_run *run, uint32_t track)
{
	const assay_track_table *t = &run->part.t.track;
	return t->tid[track] < 0 || t->pid[track] < 0;
}

static bool is_below_zero(const assay_run *run, uint32_t track)
{
	return run->part.t.track.tid[track] < -1;
}

bool assay_thread_is_hash(const assay_run *run, uint32_t track)
{
	const assay_track_table *t = &run->part.t.track;
	return t->tid[track] < -1 || (t->tid[track] > UINT32_MAX &&
				      assay_has_trait(run, t->source[track], ASSAY_TRAIT_PLANES));
}

/* Threads of this kind with spans or memory events. */
static uint64_t threads(const assay_run *run, bool (*is)(const assay_run *, uint32_t))
{
	const assay_tables *t = &run->part.t;
	const struct {
		const uint32_t *track;
		size_t n;
	} rows[] = {{t->host.track, t->host.n}, {t->alloc.track, t->alloc.n}};
	assay_map seen = {0};
	for (size_t k = 0; k < ASSAY_COUNT_OF(rows); k++)
		for (size_t i = 0; i < rows[k].n; i++) {
			uint32_t track = rows[k].track[i];
			if (track != ASSAY_NO_ROW && t->track.kind[track] == ASSAY_TRACK_THREAD &&
			    is(run, track))
				*assay_map_at(&seen, track) = 1;
		}
	uint64_t n = seen.n;
	assay_map_free(&seen);
	return n;
}

static uint64_t unnumbered(const assay_run *run)
{
	return threads(run, is_unnumbered);
}

static uint64_t below_zero(const assay_run *run)
{
	return threads(run, is_below_zero);
}

static uint64_t hashes(const assay_run *run)
{
	return threads(run, assay_thread_is_hash);
}

/* Tracks with work of which such a number is not known. */
static uint64_t without_number(const assay_run *run, const int64_t *number)
{
	const assay_tables *t = &run->part.t;
	assay_map seen = {0};
	for (size_t i = 0; i < t->gpu.n; i++)
		if (number[t->gpu.track[i]] < 0)
			*assay_map_at(&seen, t->gpu.track[i]) = 1;
	uint64_t n = seen.n;
	assay_map_free(&seen);
	return n;
}

static uint64_t no_device(const assay_run *run)
{
	return without_number(run, run->part.t.track.pid);
}

static uint64_t no_stream(const assay_run *run)
{
	return without_number(run, run->part.t.track.tid);
}

static uint64_t no_name(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t n = 0;
	for (size_t i = 0; i < t->host.n; i++)
		n += !t->host.name[i];
	for (size_t i = 0; i < t->gpu.n; i++)
		n += !t->gpu.name[i];
	for (size_t i = 0; i < t->mark.n; i++)
		n += !t->mark.name[i];
	return n;
}

static uint64_t worlds(const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	uint64_t n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		n += assay_group_of(&run->part.t, i) == i && s->world[i] >= 0;
	return n;
}

static bool says_zero(const assay_tables *t, uint32_t track, unsigned kind)
{
	uint32_t source = t->track.source[track];
	return source < t->source.n && kind < ASSAY_ZEROS && t->source.zeros[source] >> kind & 1;
}

/* Rows whose source says once, of all of them, that they say 0. */
static uint64_t zeros(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t n = 0;
	for (size_t i = 0; i < t->gpu.n; i++)
		n += says_zero(t, t->gpu.track[i], t->gpu.kind[i]);
	for (size_t i = 0; i < t->host.n; i++)
		n += says_zero(t, t->host.track[i], ASSAY_ZEROS_OP + t->host.kind[i]);
	return n;
}

static const struct {
	unsigned lack;
	uint64_t (*count)(const assay_run *run);
	const char *what;
} no_place[] = {
	{ASSAY_LACKS_MEMORY, count_alloc, "memory events"},
	{ASSAY_LACKS_PMC, count_pmc, "hardware counter values"},
	{ASSAY_LACKS_STATS, count_stat, "rows of summaries"},
	{ASSAY_LACKS_ARROWS, other_arrows, "arrows that are no launches"},
	{ASSAY_LACKS_STREAMS, count_stream, "streams' handles and flags"},
	{ASSAY_LACKS_SCOPE_IDS, count_given_scope, "scope ids"},
	{ASSAY_LACKS_PLANES, count_kept, "parts of XPlane files that only XPlane has"},
	{ASSAY_LACKS_FACTS, facts, ASSAY_FACTS},
	{ASSAY_LACKS_WAITS, reported_waits, "waits that the recorder reported"},
	{ASSAY_LACKS_MARKS, count_mark, "ranges on devices that are no work"},
	{ASSAY_LACKS_COUNTERS, count_counter, "counter values over time"},
	{ASSAY_LACKS_OPERATOR_IDS, operator_ids, "numbers of operators and Python frames"},
	{ASSAY_LACKS_TOTALS, totals, "totals of memory allocators"},
	{ASSAY_LACKS_SAMPLES, count_sample, "samples of host threads"},
	{ASSAY_LACKS_STACKS, call_stacks, "Python stacks of calls"},
	{ASSAY_LACKS_HANDLES, count_event_call, "handles of streams and events in calls"},
	{ASSAY_LACKS_ERRORS, errors, "errors that calls returned"},
	{ASSAY_LACKS_CALL_NUMBERS, call_numbers, "numbers of API functions"},
	{ASSAY_LACKS_LEDGER, count_ledger, "counts of the recorder"},
	{ASSAY_LACKS_PAUSES, count_off, "pauses of the recording"},
	{ASSAY_LACKS_UNENDED, unended, "calls and work that never ended"},
	{ASSAY_LACKS_RECORDS, records, "records of events and barriers"},
	{ASSAY_LACKS_UNNUMBERED, unnumbered,
	 "threads without a number of theirs or of their process, which get one"},
	{ASSAY_LACKS_BELOW_ZERO, below_zero, "threads' numbers below zero"},
	{ASSAY_LACKS_ZEROS, zeros,
	 "arguments " ASSAY_ZEROS_GPU_KEY " and " ASSAY_ZEROS_HOST_KEY " of 0"},
	{ASSAY_LACKS_MEMORY_ARGS, memory_args, "arguments of memory events"},
	{ASSAY_LACKS_NO_DEVICE, no_device, "devices without a number, which get one"},
	{ASSAY_LACKS_NO_STREAM, no_stream, "streams without a number, which get one"},
	{ASSAY_LACKS_NO_NAME, no_name, "spans without a name, which get one"},
	{ASSAY_LACKS_WORLD, worlds, "sizes of jobs"},
	{ASSAY_LACKS_HASHES, hashes, "threads' numbers that are hashes, which get others"},
};

struct assay_left_kind {
	const char *what;
	uint64_t n;
	struct assay_left_kind *next;
};

void assay_leave_out(assay_left_out *left, uint64_t n, const char *what)
{
	if (!left || !n)
		return;
	struct assay_left_kind **k = &left->kinds;
	while (*k && strcmp((*k)->what, what))
		k = &(*k)->next;
	if (!*k) {
		*k = assay_alloc(&left->arena, sizeof **k);
		(*k)->what = assay_dup(&left->arena, assay_str_of(what));
	}
	(*k)->n += n;
	left->text = "";
	for (const struct assay_left_kind *i = left->kinds; i; i = i->next) {
		char number[ASSAY_FMT];
		left->text =
			assay_printf(&left->arena, "%s%s%s %s", left->text, *left->text ? ", " : "",
				     assay_fmt_count(number, i->n), i->what);
	}
}

static void leave_out_by_format(const assay_writer *w, const assay_run *run, assay_left_out *left)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(no_place); i++)
		if (no_place[i].lack & w->lacks)
			assay_leave_out(left, no_place[i].count(run), no_place[i].what);
}

bool assay_write_run(const assay_writer *w, const assay_run *run, FILE *out, assay_left_out *left,
		     assay_err *err)
{
	if (left)
		leave_out_by_format(w, run, left);
	return w->write(run, out, left, err);
}

bool assay_writes_folder(const assay_writer *w, const char *path)
{
	struct stat st;
	bool named = assay_str_ends(assay_str_of(path), "/") ||
		     (!stat(path, &st) && S_ISDIR(st.st_mode));
	return w->write_folder && (!w->write || named);
}

bool assay_write_folder(const assay_writer *w, const assay_run *run, const char *folder,
			assay_left_out *left, assay_err *err)
{
	if (left)
		leave_out_by_format(w, run, left);
	return w->write_folder(run, folder, left, err);
}

/* A writer without a function would drop what it is given in silence. */
TEST(every_writer_writes)
{
	for (size_t i = 0; i < assay_writer_count; i++)
		CHECK((assay_writers[i]->write || assay_writers[i]->write_folder) &&
		      assay_writers[i]->name && assay_writers[i]->exts[0] &&
		      assay_writers[i]->about);
	return 0;
}

static bool leaves_out(const assay_writer *w, const assay_run *run, const char *want)
{
	assay_left_out left = {0};
	leave_out_by_format(w, run, &left);
	bool same = want ? left.text && !strcmp(left.text, want) : !left.text;
	assay_arena_free(&left.arena);
	return same;
}

TEST(what_a_format_cannot_hold_is_named)
{
	assay_run *run = assay_run_new();
	CHECK(leaves_out(&assay_writer_xplane, run, NULL));
	assay_add(&run->part.t, ASSAY_T_pmc);
	CHECK(leaves_out(&assay_writer_xplane, run, "1 hardware counter values"));
	CHECK(leaves_out(&assay_writer_chrome, run, "1 hardware counter values"));
	assay_run_free(run);
	return 0;
}

TEST(what_several_files_lack_is_one_number)
{
	assay_left_out left = {0};
	assay_leave_out(&left, 2, "streams");
	assay_leave_out(&left, 1, "facts");
	assay_leave_out(&left, 3, "streams");
	assay_leave_out(&left, 0, "nothing");
	CHECK(!strcmp(left.text, "5 streams, 1 facts"));
	assay_arena_free(&left.arena);
	return 0;
}

TEST(a_folder_is_written_where_the_name_or_the_format_says_so)
{
	CHECK(assay_writes_folder(&assay_writer_csv, "a"));
	CHECK(assay_writes_folder(&assay_writer_xplane, "logs/"));
	CHECK(assay_writes_folder(&assay_writer_xplane, assay_test_path("")));
	CHECK(!assay_writes_folder(&assay_writer_xplane, assay_test_path("none.xplane.pb")));
	CHECK(!assay_writes_folder(&assay_writer_chrome, assay_test_path("")));
	return 0;
}

TEST(the_end_of_the_name_chooses_the_format)
{
	CHECK(assay_writer_for("a/b.json") == &assay_writer_chrome);
	CHECK(assay_writer_for("b.json.gz") == &assay_writer_chrome);
	CHECK(assay_writer_for("b.json.zst") == &assay_writer_chrome);
	CHECK(!assay_writer_for("b.txt") && !assay_writer_for("b.gz") && !assay_writer_for("-"));
	CHECK(assay_writer_named("chrome") && !assay_writer_named("nothing"));
	return 0;
}

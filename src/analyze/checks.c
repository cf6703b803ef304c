/* Is the recording to be believed? Checks that need linked work in order of time. */
#include "analyze/analyze.h"

#include <math.h>

#include "base/test.h"
#include "names/modes.h"
#include "model/by_hand.h"

/* Percentage points between the driver's idea of busy and ours before a warning is due. */
static const double busy_tolerance = 25;
static const double unlinked_tolerance = 5; /* percent of the work */

static bool is_inverted(const assay_tables *t, uint32_t gpu)
{
	uint32_t launch = t->launch.host[gpu];
	return launch != ASSAY_NO_ROW && t->host.ts[launch] > t->gpu.ts[gpu];
}

/* Work on a stream that begins before the work ahead of it ended: dependent launch, or durations
 * that run over. */
void assay_count_disorder(assay_run *run, const assay_order *order)
{
	const assay_tables *t = &run->part.t;
	assay_arena scratch = {0};
	int64_t *end = assay_alloc(&scratch, (t->track.n + 1) * sizeof *end);
	for (size_t i = 0; i < t->track.n; i++)
		end[i] = INT64_MIN;
	uint64_t overlaps = 0, inverted = 0;
	for (size_t i = 0; i < order->rows; i++) {
		uint32_t g = order->row[i];
		int64_t *before = &end[t->gpu.track[g]], stop = assay_gpu_end(&t->gpu, g);
		overlaps += t->gpu.ts[g] < *before;
		inverted += is_inverted(t, g);
		*before = stop > *before ? stop : *before;
	}
	assay_count(&run->part, ASSAY_ISSUE_stream_overlap, overlaps);
	assay_count(&run->part, ASSAY_ISSUE_clock_inversion, inverted);
	assay_arena_free(&scratch);
}

/* Drivers average over up to this long, and tell it as long after. */
enum { DRIVER_LAG = 1000 * 1000 * 1000 };
enum { LEAST_SAMPLES = 10 }; /* fewer say little */

/* While all devices that have work were recorded; false: that is not known. */
static bool all_recorded(const assay_device_time_table *d, int64_t *from, int64_t *to)
{
	*from = INT64_MIN;
	*to = INT64_MAX;
	for (size_t i = 0; i < d->n; i++) {
		int64_t end = d->start[i] + d->span[i];
		if (d->off[i])
			return false;
		*from = d->start[i] > *from ? d->start[i] : *from;
		*to = end < *to ? end : *to;
	}
	return d->n && *to > *from;
}

/* Percent of [from, to) in which the devices had work, on average. */
static double traced_busy(const assay_tables *t, int64_t from, int64_t to)
{
	double idle = 0;
	for (size_t i = 0; i < t->gap.n; i++) {
		int64_t begin = t->gap.ts[i] > from ? t->gap.ts[i] : from;
		int64_t end = t->gap.ts[i] + t->gap.dur[i];
		end = end < to ? end : to;
		idle += end > begin ? (double)(end - begin) : 0;
	}
	return 100 - 100 * idle / ((double)(to - from) * (double)t->device_time.n);
}

/* Of the same time: a program that starts for long before its work, or is over soon, says nothing
 * of telemetry. */
static void compare_telemetry(assay_run *run)
{
	int64_t from, to;
	size_t samples;
	if (!all_recorded(&run->part.t.device_time, &from, &to) || to - from <= DRIVER_LAG)
		return;
	double smi = assay_telemetry_busy(run, from + DRIVER_LAG, to, &samples);
	double trace = traced_busy(&run->part.t, from, to);
	if (samples < LEAST_SAMPLES * run->part.t.device_time.n ||
	    fabs(smi - trace) <= busy_tolerance)
		return;
	assay_warn(
		run, "telemetry_disagrees",
		"telemetry says the GPU was %.0f%% busy, the trace %.0f%% of the same time: another program was at work, or one of them is wrong",
		smi, trace);
}

static void check_links(assay_run *run)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	for (size_t i = 0; i < d->n; i++) {
		double share = 100 - 100 * (double)d->linked[i] / (double)d->events[i];
		if (share > unlinked_tolerance)
			assay_warn(
				run, "unlinked_share",
				"%s: %.1f%% of the work has no recorded launch; what it waited for is not known",
				assay_device_words(run, (uint32_t)i), share);
	}
}

/* Of a job of many, some ranks are here and others are not. One rank alone is no accident, unless
 * another one could not be read. */
static void check_ranks(assay_run *run)
{
	enum { NAMED = 8 };
	const assay_source_table *s = &run->part.t.source;
	assay_map seen = {0};
	assay_arena scratch = {0};
	int32_t world = -1;
	uint32_t here = 0, missing = 0;
	for (size_t i = 0; i < s->n; i++) {
		world = s->world[i] > world ? s->world[i] : world;
		uint32_t *slot = s->rank[i] < 0 ? NULL : assay_map_at(&seen, (uint64_t)s->rank[i]);
		if (slot && *slot == ASSAY_MAP_ABSENT)
			*slot = here++;
	}
	const char *list = "";
	bool many = here > 1 || run->part.issues[ASSAY_ISSUE_broken_file];
	for (int32_t r = 0; many && (uint32_t)r < here + NAMED && r < world; r++)
		if (assay_map_get(&seen, (uint64_t)r) == ASSAY_MAP_ABSENT && missing++ < NAMED)
			list = assay_printf(&scratch, "%s%s%d", list, *list ? ", " : "", r);
	if (missing)
		assay_warn(
			run, "missing_rank",
			"%u of %d ranks are here; missing: %s%s. What is said about ranks is about these",
			here, world, list, (int32_t)here + NAMED < world ? ", ..." : "");
	assay_arena_free(&scratch);
	assay_map_free(&seen);
}

/* Header facts that ranks of one job should share. */
static const char *const shared_facts[] = {
	"cuda_driver_version", "cuda_runtime_version",         "cupti_version",
	"hip_driver_version",  "hip_runtime_version",          "roctracer_version",
	"PyTorch version",     "distributedInfo.nccl_version",
};

struct deviants {
	assay_map count; /* value -> sources that have it */
	assay_sid usual;
	uint32_t most, all;
};

static struct deviants count_values(const assay_run *run, assay_sid key)
{
	const assay_meta_table *m = &run->part.t.meta;
	struct deviants d = {0};
	for (size_t i = 0; i < m->n; i++) {
		if (m->key[i] != key || m->source[i] == ASSAY_NO_ROW)
			continue;
		uint32_t *n = assay_map_at(&d.count, m->value[i]);
		*n = *n == ASSAY_MAP_ABSENT ? 1 : *n + 1;
		d.all++;
		d.usual = *n > d.most ? m->value[i] : d.usual;
		d.most = *n > d.most ? *n : d.most;
	}
	return d;
}

/* Ranks whose headers differ from most others': another driver, another library. */
static void check_fact(assay_run *run, const char *name)
{
	enum { NAMED = 4 };
	const assay_meta_table *m = &run->part.t.meta;
	assay_sid key = assay_pool_find(&run->part.strings, assay_str_of(name));
	struct deviants d = key ? count_values(run, key) : (struct deviants){0};
	assay_arena scratch = {0};
	const char *list = "";
	uint32_t named = 0;
	for (size_t i = 0; d.most < d.all && d.all > 2 && i < m->n; i++) {
		if (m->key[i] != key || m->source[i] == ASSAY_NO_ROW || m->value[i] == d.usual)
			continue;
		int32_t rank = run->part.t.source.rank[m->source[i]];
		if (named++ < NAMED)
			list = assay_printf(&scratch, "%s%srank %d %s", list, *list ? ", " : "",
					    rank, assay_z(run, m->value[i]));
	}
	if (named)
		assay_warn(run, "ranks_differ", "%s is %s on %u of %u ranks, but: %s%s", name,
			   assay_z(run, d.usual), d.most, d.all, list,
			   named > NAMED ? ", ..." : "");
	assay_arena_free(&scratch);
	assay_map_free(&d.count);
}

/* A variable that slows the program down, whatever the trace shows of it. */
static void check_modes(assay_run *run)
{
	const assay_meta_table *m = &run->part.t.meta;
	for (size_t i = 0; i < m->n; i++) {
		assay_str key = assay_text(run, m->key[i]), prefix = assay_str_cut(&key, '.');
		assay_mode mode = assay_str_is(prefix, "env") ? assay_mode_of_variable(key)
							      : ASSAY_MODE_COUNT;
		if (mode < ASSAY_MODE_COUNT)
			assay_warn(run, "debug_mode", "%.*s=%s was set: %s slows the program down",
				   (int)key.n, key.p, assay_z(run, m->value[i]),
				   assay_mode_what(mode));
	}
}

/* What recorders say that they could not see of the host, each once. */
static void check_host(assay_run *run)
{
	static const char *const expected[] = {"no Python", "switched off", "forked child"};
	const assay_meta_table *m = &run->part.t.meta;
	assay_map told = {0};
	for (size_t i = 0, n = m->n; i < n; i++) {
		assay_str key = assay_text(run, m->key[i]), value = assay_text(run, m->value[i]);
		bool stacks = assay_str_is(key, "stacks.none");
		for (size_t k = 0; stacks && k < ASSAY_COUNT_OF(expected); k++)
			stacks = !assay_str_is(value, expected[k]);
		if (!stacks && !assay_str_is(key, "samples.without"))
			continue;
		uint32_t *slot = assay_map_at(&told, m->value[i]);
		if (*slot == ASSAY_MAP_ABSENT)
			assay_warn(run, "host_unseen",
				   stacks ? "Python stacks were not recorded: %.*s"
					  : "samples of the host are without %.*s",
				   (int)value.n, value.p);
		*slot = 0;
	}
	assay_map_free(&told);
}

/* Spans that a profiler draws around its own recording have no category, or this one; those around
 * its counters are known by these. */
static bool is_about_recording(const assay_run *run, assay_str cat)
{
	return !cat.n || assay_str_is(cat, "Trace") ||
	       (run->part.t.pmc.n && assay_str_is(cat, "cuda_profiler_range"));
}

/* Without work on a device: spans of categories that nothing is known of may be it. */
static void check_categories(assay_run *run)
{
	enum { NAMED = 3 };
	const assay_tables *t = &run->part.t;
	assay_map seen = {0};
	assay_arena scratch = {0};
	struct met {
		assay_sid cat;
		uint64_t spans;
	};
	assay_vec(struct met) met = {0};
	for (size_t i = 0; !t->gpu.n && !t->stat.n && i < t->other.n; i++) {
		if (is_about_recording(run, assay_text(run, t->other.cat[i])))
			continue;
		uint32_t *slot = assay_map_at(&seen, t->other.cat[i]);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)met.n;
			*assay_push(&met) = (struct met){.cat = t->other.cat[i]};
		}
		met.p[*slot].spans++;
	}
	const char *list = "";
	for (size_t i = 0; i < met.n && i < NAMED; i++) {
		size_t most = i;
		for (size_t k = i; k < met.n; k++)
			most = met.p[k].spans > met.p[most].spans ? k : most;
		struct met one = met.p[most];
		met.p[most] = met.p[i];
		met.p[i] = one;
		list = assay_printf(&scratch, "%s%s%s (%llu)", list, *list ? ", " : "",
				    assay_z(run, one.cat), (unsigned long long)one.spans);
	}
	if (*list)
		assay_warn(
			run, "unknown_category",
			"no spans are known to be work of a device; categories met that none is known by: %s%s",
			list, met.n > NAMED ? ", ..." : "");
	assay_vec_free(&met);
	assay_arena_free(&scratch);
	assay_map_free(&seen);
}

void assay_checks(assay_run *run)
{
	assay_check_failures(run);
	check_categories(run);
	check_modes(run);
	check_host(run);
	compare_telemetry(run);
	check_links(run);
	check_ranks(run);
	for (size_t i = 0; i < ASSAY_COUNT_OF(shared_facts); i++)
		check_fact(run, shared_facts[i]);
}

/* Warnings about telemetry that says 20 %, once in 100 ms of `ms`, of a device at work for nine
 * tenths of the time from `begin` on. */
static size_t disagreements(int begin, int ms)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const int64_t each = 1000 * 1000;
	uint32_t sensor = assay_add(t, ASSAY_T_track);
	size_t warnings = 0;
	t->track.kind[sensor] = ASSAY_TRACK_TELEMETRY;
	for (int at = begin; at < ms; at += 10)
		assay_hand_gpu(run, "k", at * each, 9 * each, ASSAY_NO_ROW);
	for (int at = 0; at < ms; at += 100) {
		uint32_t c = assay_add(t, ASSAY_T_counter);
		t->counter.ts[c] = at * each;
		t->counter.track[c] = sensor;
		t->counter.name[c] = assay_sid_of(run, "util_pct");
		t->counter.value[c] = 20;
	}
	assay_order order;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_gaps(run, &order);
	assay_checks(run);
	for (size_t i = 0; i < t->warning.n; i++)
		warnings += strstr(assay_z(run, t->warning.text[i]), "telemetry says") != NULL;
	assay_order_free(&order);
	assay_run_free(run);
	return warnings;
}

TEST(telemetry_is_held_against_the_same_time_of_the_trace)
{
	CHECK_EQ(disagreements(0, 3000), 1);
	CHECK_EQ(disagreements(8000, 9500), 0); /* the driver still speaks of the start */
	CHECK_EQ(disagreements(8000, 11000), 1);
	return 0;
}

TEST(a_rank_with_another_driver_is_named)
{
	assay_run *run = assay_run_new();
	for (int i = 0; i < 4; i++) {
		run->part.source = assay_add(&run->part.t, ASSAY_T_source);
		run->part.t.source.rank[i] = i;
		assay_meta_add(&run->part, "cuda_driver_version",
			       i == 2 ? ASSAY_S("12040") : ASSAY_S("12080"));
		assay_meta_add(&run->part, "cupti_version", ASSAY_S("18"));
	}
	assay_checks(run);
	CHECK_EQ(run->part.t.warning.n, 1);
	CHECK(strstr(assay_z(run, run->part.t.warning.text[0]),
		     "12080 on 3 of 4 ranks, but: rank 2 12040"));
	assay_run_free(run);
	return 0;
}

TEST(what_a_recorder_could_not_see_of_the_host_is_told_once)
{
	static const struct {
		const char *key, *value;
	} facts[] = {{"stacks.none", "no Python"},
		     {"stacks.none", "layout-check frame"},
		     {"stacks.none", "layout-check frame"},
		     {"samples.without", "system calls and files: /proc is hidden"}};
	assay_run *run = assay_run_new();
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++)
		assay_meta_add(&run->part, facts[i].key, assay_str_of(facts[i].value));
	assay_checks(run);
	const assay_warning_table *w = &run->part.t.warning;
	CHECK_EQ(w->n, 2);
	CHECK(strstr(assay_z(run, w->text[0]), "not recorded: layout-check frame"));
	CHECK(strstr(assay_z(run, w->text[1]), "without system calls and files"));
	assay_run_free(run);
	return 0;
}

TEST(categories_that_may_be_work_are_named_where_there_is_none)
{
	static const char *const cats[] = {"a", "mtia_ccp_events", "b", "mtia_ccp_events",
					   "c", "Trace",           "",  "Trace"};
	assay_run *run = assay_run_new();
	for (size_t i = 0; i < ASSAY_COUNT_OF(cats); i++) {
		uint32_t row = assay_add(&run->part.t, ASSAY_T_other);
		run->part.t.other.cat[row] = assay_sid_of(run, cats[i]);
	}
	assay_checks(run);
	CHECK_EQ(run->part.t.warning.n, 1);
	CHECK(strstr(assay_z(run, run->part.t.warning.text[0]), "mtia_ccp_events (2), "));
	CHECK(strstr(assay_z(run, run->part.t.warning.text[0]), ", ..."));
	assay_hand_gpu(run, "k", 0, 5, ASSAY_NO_ROW);
	assay_checks(run);
	CHECK_EQ(run->part.t.warning.n, 1);
	assay_run_free(run);
	return 0;
}

TEST(overlaps_are_counted_on_one_stream_only)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	const int64_t work[][3] = {{7, 0, 10}, {7, 5, 10}, {8, 6, 10}, {7, 15, 5}};
	assay_add(t, ASSAY_T_kernel);
	for (size_t i = 0; i < 4; i++) {
		uint32_t g = assay_hand_gpu(run, "", work[i][1], work[i][2], ASSAY_NO_ROW);
		t->gpu.track[g] = assay_stream_track(&run->part, 0, work[i][0]);
	}
	assay_order order;
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_count_disorder(run, &order);
	assay_checks(run);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_stream_overlap], 1);
	CHECK_EQ(run->part.t.warning.n, 1); /* no launches */
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

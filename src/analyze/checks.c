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

static bool known(const assay_run *run, const char *name, double *value)
{
	uint32_t r = assay_metric_known(run, name);
	if (r != ASSAY_NO_ROW)
		*value = run->part.t.metric.value[r];
	return r != ASSAY_NO_ROW;
}

static void compare_telemetry(assay_run *run)
{
	double smi, trace;
	if (!known(run, "smi_util_pct", &smi) || !known(run, "gpu_util_pct", &trace) ||
	    fabs(smi - trace) <= busy_tolerance)
		return;
	assay_warn(
		run, "telemetry_disagrees",
		"telemetry says the GPU was %.0f%% busy, the trace %.0f%%: they cover different times, or one of them is wrong",
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
	compare_telemetry(run);
	check_links(run);
	check_ranks(run);
	for (size_t i = 0; i < ASSAY_COUNT_OF(shared_facts); i++)
		check_fact(run, shared_facts[i]);
}

static void add_test_metric(assay_run *run, const char *name, double value)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_metric);
	run->part.t.metric.name[r] = assay_sid_of(run, name);
	run->part.t.metric.value[r] = value;
	run->part.t.metric.state[r] = ASSAY_STATE_MEASURED;
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
	add_test_metric(run, "smi_util_pct", 20);
	add_test_metric(run, "gpu_util_pct", 90);
	assay_count_disorder(run, &order);
	assay_checks(run);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_stream_overlap], 1);
	CHECK_EQ(run->part.t.warning.n, 2); /* telemetry, and no launches */
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

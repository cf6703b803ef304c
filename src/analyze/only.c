#include "analyze/only.h"

#include "analyze/analyze.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/only.h"

/* ------------------------------------------------------------------ what was asked */

static bool number(const char *text, bool *given, int64_t *out)
{
	*given = text != NULL;
	return !text || assay_str_i64(assay_str_of(text), out);
}

static bool parse_steps(const char *text, assay_only *o)
{
	if (!(o->by_step = text != NULL))
		return true;
	assay_str all = assay_str_of(text), first = all;
	int64_t dash = assay_str_find(all, "-");
	if (dash > 0)
		first.n = (size_t)dash;
	if (!assay_str_i64(first, &o->first))
		return false;
	o->last = o->first;
	return dash <= 0 ||
	       (assay_str_i64((assay_str){all.p + dash + 1, all.n - (size_t)dash - 1}, &o->last) &&
		o->first <= o->last);
}

bool assay_only_parse(assay_only *o, const char *steps, const char *stream, const char *device,
		      const char *rank, assay_err *err)
{
	*o = (assay_only){.by_step = false};
	if (!parse_steps(steps, o))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "'%s' is neither a step nor a range of steps such as 5-7", steps);
	if (!number(stream, &o->by_stream, &o->stream))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is not the number of a stream",
				  stream);
	if (!number(device, &o->by_device, &o->device))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is not the number of a device",
				  device);
	if (!number(rank, &o->by_rank, &o->rank))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is not a rank", rank);
	return true;
}

static const char *and_number(assay_arena *a, const char *list, bool by, const char *what,
			      int64_t n)
{
	return by ? assay_printf(a, "%s%s%s %lld", list, *list ? ", " : "", what, (long long)n)
		  : list;
}

const char *assay_only_words(const assay_only *o, assay_arena *a)
{
	const char *text = and_number(a, "", o->by_step, "step", o->first);
	if (o->by_step && o->last > o->first)
		text = assay_printf(a, "%s to %lld", text, (long long)o->last);
	text = and_number(a, text, o->by_stream, "stream", o->stream);
	text = and_number(a, text, o->by_device, "device", o->device);
	return and_number(a, text, o->by_rank, "rank", o->rank);
}

/* ------------------------------------------------------------------ what there is */

/* "stream 7" or "streams 0-3, 7": rising numbers, the first of many. */
static const char *number_list(assay_arena *a, const char *what, const int64_t *v, size_t n)
{
	enum { SHOWN = 16 };
	const char *text = "";
	size_t ranges = 0;
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && (uint64_t)v[k] - (uint64_t)v[k - 1] <= 1;)
			k++;
		if (ranges++ == SHOWN)
			return assay_printf(a, "%ss %s and %zu more", what, text, n - i);
		text = assay_printf(a, v[k - 1] > v[i] ? "%s%s%lld-%lld" : "%s%s%lld", text,
				    *text ? ", " : "", (long long)v[i], (long long)v[k - 1]);
	}
	return n ? assay_printf(a, "%s%s %s", what, v[n - 1] > v[0] ? "s" : "", text)
		 : assay_printf(a, "no %ss", what);
}

static const char *and_list(assay_arena *a, const char *before, const char *what, int64_t *v,
			    size_t n)
{
	size_t k = 0;
	assay_sort_i64(v, n);
	for (size_t i = 0; i < n; i++)
		if (!i || v[i] != v[i - 1])
			v[k++] = v[i];
	return assay_printf(a, "%s%s%s", before, *before ? ", " : "", number_list(a, what, v, k));
}

static int32_t rank_of(const assay_tables *t, uint32_t track)
{
	uint32_t source = t->track.source[track];
	uint32_t group = source < t->source.n ? assay_group_of(t, source) : source;
	return group < t->source.n ? t->source.rank[group] : -1;
}

/* What there is to choose from, of what was chosen by; before anything is taken out. */
static const char *list_work(const assay_tables *t, const assay_only *o, assay_arena *a)
{
	bool *seen = assay_alloc(a, t->track.n + 1);
	int64_t *stream = assay_alloc(a, (t->track.n + 1) * sizeof *stream),
		*device = assay_alloc(a, (t->track.n + 1) * sizeof *device),
		*rank = assay_alloc(a, (t->track.n + 1) * sizeof *rank);
	size_t n = 0, ranks = 0;
	for (size_t i = 0; i < t->gpu.n; i++) {
		uint32_t track = t->gpu.track[i];
		if (seen[track])
			continue;
		seen[track] = true;
		stream[n] = t->track.tid[track];
		device[n++] = t->track.pid[track];
		if (rank_of(t, track) >= 0)
			rank[ranks++] = rank_of(t, track);
	}
	const char *text = o->by_stream ? and_list(a, "", "stream", stream, n) : "";
	text = o->by_device ? and_list(a, text, "device", device, n) : text;
	return o->by_rank ? and_list(a, text, "rank", rank, ranks) : text;
}

static const char *list_steps(const assay_tables *t, const char *before, assay_arena *a)
{
	int64_t *v = assay_alloc(a, (t->step.n + 1) * sizeof *v);
	for (size_t i = 0; i < t->step.n; i++)
		v[i] = t->step.number[i];
	return and_list(a, before, "step", v, t->step.n);
}

/* ------------------------------------------------------------------ by track and rank */

static bool is_rank(const assay_tables *t, const assay_only *o, uint32_t source)
{
	uint32_t group = source < t->source.n ? assay_group_of(t, source) : source;
	return !o->by_rank || (group < t->source.n && t->source.rank[group] == o->rank);
}

static void keep_work(assay_tables *t, const assay_only *o)
{
	assay_arena a = {0};
	bool *keep = assay_alloc(&a, t->gpu.n + 1);
	for (size_t i = 0; i < t->gpu.n; i++) {
		uint32_t track = t->gpu.track[i];
		keep[i] = (!o->by_stream || t->track.tid[track] == o->stream) &&
			  (!o->by_device || t->track.pid[track] == o->device) &&
			  is_rank(t, o, t->track.source[track]);
	}
	assay_keep_rows(t, ASSAY_T_gpu, keep);
	assay_arena_free(&a);
}

static void keep_rank(assay_tables *t, const assay_only *o)
{
	assay_arena a = {0};
	bool *host = assay_alloc(&a, t->host.n + 1), *step = assay_alloc(&a, t->step.n + 1);
	for (size_t i = 0; i < t->host.n; i++)
		host[i] = is_rank(t, o, t->track.source[t->host.track[i]]);
	for (size_t i = 0; i < t->step.n; i++)
		step[i] = is_rank(t, o, t->step.source[i]);
	assay_keep_rows(t, ASSAY_T_host, host);
	assay_keep_rows(t, ASSAY_T_step, step);
	assay_arena_free(&a);
}

/* ------------------------------------------------------------------ by step */

static bool is_step(const assay_tables *t, const assay_only *o, uint32_t step)
{
	return t->step.number[step] >= o->first && t->step.number[step] <= o->last;
}

/* Of a source: when the chosen steps are on the device, and when its host is at them. */
struct stretch {
	int64_t from, to, host_from, host_to;
};

static void reach(struct stretch *s, int64_t from, int64_t to, int64_t host_from, int64_t host_to)
{
	s->from = from < s->from ? from : s->from;
	s->to = to > s->to ? to : s->to;
	s->host_from = host_from < s->host_from ? host_from : s->host_from;
	s->host_to = host_to > s->host_to ? host_to : s->host_to;
}

/* Windows of all steps, as the whole run has them; what is filled for that is emptied again. */
static struct stretch *find_stretches(assay_run *run, const assay_only *o, assay_arena *a)
{
	assay_tables *t = &run->part.t;
	struct stretch *s = assay_alloc(a, (t->source.n + 1) * sizeof *s);
	assay_order order;
	for (size_t i = 0; i <= t->source.n; i++)
		s[i] = (struct stretch){INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_partition(run, &order);
	assay_repeated_steps(run, &order);
	assay_step_times(run, &order, NULL);
	for (size_t i = 0; i < t->step_time.n; i++) {
		uint32_t step = t->step_time.step[i], source = t->step.source[step];
		int64_t from = t->step_time.start[i], to = from + t->step_time.span[i];
		if (is_step(t, o, step) && source < t->source.n)
			reach(&s[source], from, to, t->step.ts[step],
			      t->step.ts[step] + t->step.dur[step]);
	}
	assay_order_free(&order);
	t->kernel.n = t->device_time.n = t->step_time.n = 0;
	return s;
}

static const struct stretch *stretch_of(const assay_tables *t, const struct stretch *s,
					uint32_t track)
{
	uint32_t source = t->track.source[track];
	return &s[source < t->source.n ? assay_group_of(t, source) : t->source.n];
}

static void keep_steps(assay_run *run, const assay_only *o, const struct stretch *s)
{
	assay_tables *t = &run->part.t;
	assay_arena a = {0};
	bool *gpu = assay_alloc(&a, t->gpu.n + 1), *host = assay_alloc(&a, t->host.n + 1),
	     *step = assay_alloc(&a, t->step.n + 1);
	for (size_t i = 0; i < t->host.n; i++) {
		const struct stretch *x = stretch_of(t, s, t->host.track[i]);
		int64_t from = x->from < x->host_from ? x->from : x->host_from;
		int64_t to = x->to > x->host_to ? x->to : x->host_to;
		host[i] = assay_host_end(&t->host, (uint32_t)i) >= from && t->host.ts[i] < to;
	}
	for (size_t i = 0; i < t->gpu.n; i++) {
		const struct stretch *x = stretch_of(t, s, t->gpu.track[i]);
		gpu[i] = t->gpu.ts[i] >= x->from && t->gpu.ts[i] < x->to;
		if (gpu[i] && t->launch.host[i] != ASSAY_NO_ROW)
			host[t->launch.host[i]] = true;
	}
	for (uint32_t i = 0; i < t->step.n; i++)
		step[i] = is_step(t, o, i);
	assay_keep_rows(t, ASSAY_T_gpu, gpu);
	assay_keep_rows(t, ASSAY_T_host, host);
	assay_keep_rows(t, ASSAY_T_step, step);
	assay_arena_free(&a);
}

const int64_t *assay_only_keep(assay_run *run, const assay_only *o, assay_arena *a,
			       const char **there)
{
	assay_tables *t = &run->part.t;
	*there = list_work(t, o, a);
	int64_t *since = assay_alloc(a, (t->source.n + 1) * sizeof *since);
	for (size_t i = 0; i <= t->source.n; i++)
		since[i] = INT64_MIN;
	if (o->by_rank)
		keep_rank(t, o);
	if (o->by_step) { /* all work of a step says how long it lasts */
		const struct stretch *s = find_stretches(run, o, a);
		*there = list_steps(t, *there, a);
		for (size_t i = 0; i < t->source.n; i++)
			since[i] = s[i].to > s[i].from ? s[i].from : INT64_MIN;
		keep_steps(run, o, s);
	}
	if (o->by_stream || o->by_device || o->by_rank)
		keep_work(t, o);
	*there = assay_dup(&run->arena, assay_str_of(*there));
	return since;
}

TEST(numbers_far_apart_are_no_range)
{
	assay_arena a = {0};
	CHECK(!strcmp(number_list(&a, "stream", (int64_t[]){INT64_MIN, 0, 1, 7}, 4),
		      "streams -9223372036854775808, 0-1, 7"));
	assay_arena_free(&a);
	return 0;
}

TEST(parts_are_asked_for_by_number)
{
	assay_only o;
	assay_err err = {0};
	assay_arena a = {0};
	CHECK(assay_only_parse(&o, "5-7", "3", NULL, "0", &err) && o.first == 5 && o.last == 7);
	CHECK(!strcmp(assay_only_words(&o, &a), "step 5 to 7, stream 3, rank 0"));
	CHECK(assay_only_parse(&o, NULL, NULL, NULL, NULL, &err) && !assay_only_any(&o));
	CHECK(!assay_only_parse(&o, "7-5", NULL, NULL, NULL, &err));
	CHECK(!assay_only_parse(&o, "x", NULL, NULL, NULL, &err));
	CHECK(!assay_only_parse(&o, NULL, NULL, "gpu", NULL, &err));
	assay_arena_free(&a);
	return 0;
}

TEST(numbers_that_are_there_are_listed_as_ranges)
{
	assay_arena a = {0};
	int64_t v[100];
	CHECK(!strcmp(and_list(&a, "", "step", v, 0), "no steps"));
	v[0] = v[1] = 7;
	CHECK(!strcmp(and_list(&a, "", "step", v, 2), "step 7"));
	memcpy(v, (int64_t[]){3, 9, 1, 2, 1}, 5 * sizeof *v);
	CHECK(!strcmp(and_list(&a, "rank 0", "step", v, 5), "rank 0, steps 1-3, 9"));
	for (int i = 0; i < 100; i++)
		v[i] = 2 * i;
	CHECK(strstr(and_list(&a, "", "stream", v, 100), "28, 30 and 84 more"));
	assay_arena_free(&a);
	return 0;
}

TEST(what_is_there_is_told_before_the_rest_is_taken_out)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_arena a = {0};
	assay_only o;
	const char *there;
	assay_hand_gpu(run, "gemm", 1000, 10, ASSAY_NO_ROW);
	uint32_t track = t->gpu.track[0];
	t->track.tid[track] = 7;
	t->track.pid[track] = 2;
	CHECK(assay_only_parse(&o, NULL, "8", "3", NULL, NULL));
	assay_only_keep(run, &o, &a, &there);
	CHECK(!strcmp(there, "stream 7, device 2") && !t->gpu.n);
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

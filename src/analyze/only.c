#include "analyze/only.h"

#include "analyze/analyze.h"
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
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is no step and no steps such as 5-7",
				  steps);
	if (!number(stream, &o->by_stream, &o->stream))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is no number of a stream", stream);
	if (!number(device, &o->by_device, &o->device))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is no number of a device", device);
	if (!number(rank, &o->by_rank, &o->rank))
		return assay_fail(err, ASSAY_USAGE, 0, "'%s' is no rank", rank);
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

const int64_t *assay_only_keep(assay_run *run, const assay_only *o, assay_arena *a)
{
	assay_tables *t = &run->part.t;
	int64_t *since = assay_alloc(a, (t->source.n + 1) * sizeof *since);
	for (size_t i = 0; i <= t->source.n; i++)
		since[i] = INT64_MIN;
	if (o->by_rank)
		keep_rank(t, o);
	if (o->by_step) { /* all work of a step says how long it lasts */
		const struct stretch *s = find_stretches(run, o, a);
		for (size_t i = 0; i < t->source.n; i++)
			since[i] = s[i].to > s[i].from ? s[i].from : INT64_MIN;
		keep_steps(run, o, s);
	}
	if (o->by_stream || o->by_device || o->by_rank)
		keep_work(t, o);
	return since;
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

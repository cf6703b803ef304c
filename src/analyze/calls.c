/* The collectives of each rank, as rows of their own: what ranks.c needs of a rank, so that all
 * else of it can be forgotten. Collectives are GPU kernels; where a rank has none, ranges of a host
 * backend (gloo) stand in. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/compare.h"
#include "base/sort.h"
#include "base/test.h"

/* Steps of all ranks by source and start. */
struct placed_step {
	uint32_t source;
	int64_t ts, end, number;
};

struct collecting {
	assay_run *run;
	assay_vec(struct placed_step) step;
	assay_map next; /* rank, group and step -> calls so far */
};

/* The value of a member in "key": value, ... text, without quotes; empty when absent. Recorders
 * write these values plainly, so no escapes are looked for. */
static assay_str member(assay_str args, const char *quoted_key)
{
	ptrdiff_t at = assay_str_find(args, quoted_key);
	if (at < 0)
		return (assay_str){0};
	size_t skip = (size_t)at + strlen(quoted_key);
	assay_str rest = {args.p + skip, args.n - skip};
	while (rest.n && (*rest.p == ':' || *rest.p == ' '))
		rest = (assay_str){rest.p + 1, rest.n - 1};
	char stop = rest.n && *rest.p == '"' ? '"' : ',';
	if (stop == '"')
		rest = (assay_str){rest.p + 1, rest.n - 1};
	size_t n = 0;
	while (n < rest.n && rest.p[n] != stop && rest.p[n] != '}')
		n++;
	return assay_str_trim((assay_str){rest.p, n});
}

static int64_t member_number(assay_str args, const char *quoted_key)
{
	int64_t v;
	return assay_str_i64(member(args, quoted_key), &v) ? v : -1;
}

/* Bytes of one element; torch's names. 0 when unknown. */
static int64_t type_bytes(assay_str type)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"BFloat16", 2}, {"Half", 2}, {"Float8", 1}, {"Float", 4},
		     {"Double", 8},   {"Long", 8}, {"Int", 4},    {"Short", 2},
		     {"Char", 1},     {"Byte", 1}, {"Bool", 1}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(types); i++)
		if (assay_str_starts(type, types[i].name))
			return types[i].bytes;
	return 0;
}

/* allgather's full message is its output, everyone else's the input. */
static int64_t message_bytes(assay_str args)
{
	assay_str name = member(args, "\"Collective name\"");
	bool gather = assay_str_find_nocase(name, "gather") >= 0;
	int64_t n = member_number(args, gather ? "\"Out msg nelems\"" : "\"In msg nelems\"");
	int64_t bytes = type_bytes(member(args, "\"dtype\""));
	return n >= 0 && bytes && n < INT64_MAX / 8 ? n * bytes : -1;
}

static int by_source_and_start(const void *a, const void *b)
{
	const struct placed_step *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->source, y->source), ASSAY_CMP(x->ts, y->ts));
}

static void place_steps(struct collecting *c)
{
	const assay_step_table *s = &c->run->part.t.step;
	for (size_t i = 0; i < s->n; i++)
		*assay_push(&c->step) = (struct placed_step){s->source[i], s->ts[i],
							     s->ts[i] + s->dur[i], s->number[i]};
	if (c->step.n)
		qsort(c->step.p, c->step.n, sizeof *c->step.p, by_source_and_start);
}

/* Number of the step that holds a time of a source; -1 outside of steps. */
static int64_t step_number(const struct collecting *c, uint32_t source, int64_t time)
{
	size_t low = 0, high = c->step.n;
	while (low < high) { /* the first that begins later */
		size_t mid = (low + high) / 2;
		const struct placed_step *s = &c->step.p[mid];
		bool before = s->source != source ? s->source < source : s->ts <= time;
		low = before ? mid + 1 : low;
		high = before ? high : mid;
	}
	const struct placed_step *s = low ? &c->step.p[low - 1] : NULL;
	return s && s->source == source && time < s->end ? s->number : -1;
}

/* Calls of a group come in the same order on every rank; within a step, so that recordings that
 * begin at different times still match. */
static uint32_t next_place(struct collecting *c, uint32_t row)
{
	const assay_call_table *t = &c->run->part.t.call;
	uint64_t of[4] = {t->source[row], t->group[row], t->members[row], (uint64_t)t->step[row]};
	uint32_t *count = assay_map_at(&c->next, assay_hash(of, sizeof of, 2));
	return *count = *count == ASSAY_MAP_ABSENT ? 0 : *count + 1;
}

struct span {
	int64_t ts, dur, asked; /* asked: when the host launched it */
	uint32_t track, row;
	assay_sid name;
	bool on_host;
};

static assay_sid group_name(struct collecting *c, const struct span *s, assay_str given)
{
	const assay_track_table *t = &c->run->part.t.track;
	char stream[48];
	if (given.n)
		return assay_intern(&c->run->part.strings, given);
	if (t->kind[s->track] != ASSAY_TRACK_STREAM)
		return s->name;
	snprintf(stream, sizeof stream, "stream %lld", (long long)t->tid[s->track]);
	return assay_sid_of(c->run, stream);
}

static void add_call(struct collecting *c, const struct span *s, assay_str args)
{
	assay_tables *t = &c->run->part.t;
	assay_pool *strings = &c->run->part.strings;
	assay_str name = member(args, "\"Collective name\"");
	uint32_t r = assay_add(t, ASSAY_T_call);
	assay_call_table *call = &t->call;
	call->source[r] = assay_track_group(t, s->track);
	call->name[r] = name.n ? assay_intern(strings, name) : s->name;
	call->ts[r] = s->ts;
	call->dur[r] = s->dur > 0 ? s->dur : 0;
	call->row[r] = s->row;
	call->on_host[r] = s->on_host;
	if (name.n) {
		call->bytes[r] = message_bytes(args);
		call->size[r] = (int32_t)member_number(args, "\"Group size\"");
		assay_str ranks = member(args, "\"Process Group Ranks\"");
		call->members[r] = ranks.n ? assay_intern(strings, ranks) : 0;
	}
	call->group[r] = group_name(c, s, member(args, "\"Process Group Name\""));
	call->step[r] = step_number(c, call->source[r], s->asked);
	call->seq[r] = member_number(args, "\"Seq\"");
	call->place[r] = next_place(c, r);
}

/* Operators that describe a collective, by External id within a group of sources. */
static void index_ops(const assay_run *run, assay_map *ops)
{
	const assay_tables *t = &run->part.t;
	assay_sid name = assay_pool_find(&run->part.strings, ASSAY_S("record_param_comms"));
	for (uint32_t h = 0; name && h < t->host.n; h++) {
		if (t->host.name[h] != name || t->host.kind[h] != ASSAY_HOST_OP)
			continue;
		uint32_t source = assay_track_group(t, t->host.track[h]);
		uint32_t external = t->op.external[t->host.detail[h]];
		*assay_map_at(ops, (uint64_t)source << 32 | external) = h;
	}
}

static assay_str call_args(const assay_run *run, const assay_map *ops, uint32_t gpu)
{
	const assay_tables *t = &run->part.t;
	assay_str own = assay_text(run, t->gpu.args[gpu]);
	if (member(own, "\"Collective name\"").n)
		return own;
	uint32_t source = assay_track_group(t, t->gpu.track[gpu]);
	uint32_t op = assay_map_get(ops, (uint64_t)source << 32 | t->gpu.external[gpu]);
	return op == ASSAY_MAP_ABSENT ? own : assay_text(run, t->host.args[op]);
}

static void collect_kernels(struct collecting *c, const assay_order *order)
{
	const assay_tables *t = &c->run->part.t;
	assay_map ops = {0};
	index_ops(c->run, &ops);
	for (size_t i = 0; i < order->rows; i++) {
		uint32_t g = order->row[i], launch = t->launch.host[g];
		if (order->classes[i] != ASSAY_CLASS_COMM)
			continue;
		struct span s = {.ts = t->gpu.ts[g],
				 .dur = t->gpu.dur[g],
				 .asked =
					 launch == ASSAY_NO_ROW ? t->gpu.ts[g] : t->host.ts[launch],
				 .track = t->gpu.track[g],
				 .row = g,
				 .name = t->gpu.name[g]};
		add_call(c, &s, call_args(c->run, &ops, g));
	}
	assay_map_free(&ops);
}

static void collect_ranges(struct collecting *c)
{
	const assay_tables *t = &c->run->part.t;
	assay_vec(uint32_t) found = {0};
	for (uint32_t h = 0; h < t->host.n; h++)
		if (t->host.kind[h] == ASSAY_HOST_ANNOTATION &&
		    assay_str_starts(assay_text(c->run, t->host.name[h]), "gloo:"))
			*assay_push(&found) = h;
	assay_sort_rows(found.p, found.n, t->host.ts);
	for (size_t i = 0; i < found.n; i++) {
		uint32_t h = found.p[i];
		struct span s = {.ts = t->host.ts[h],
				 .dur = t->host.dur[h],
				 .asked = t->host.ts[h],
				 .track = t->host.track[h],
				 .row = h,
				 .name = t->host.name[h],
				 .on_host = true};
		add_call(c, &s, (assay_str){0});
	}
	assay_vec_free(&found);
}

void assay_calls(assay_run *run, const assay_order *order)
{
	struct collecting c = {.run = run};
	place_steps(&c);
	collect_kernels(&c, order);
	if (!run->part.t.call.n)
		collect_ranges(&c);
	assay_vec_free(&c.step);
	assay_map_free(&c.next);
}

TEST(members_are_found_in_argument_text)
{
	assay_str args = ASSAY_S(
		"\"Collective name\": \"allreduce\", \"In msg nelems\": 100, \"dtype\": \"BFloat16\", \"Group size\": 8");
	CHECK(assay_str_is(member(args, "\"Collective name\""), "allreduce"));
	CHECK_EQ(member_number(args, "\"Group size\""), 8);
	CHECK_EQ(member_number(args, "\"Seq\""), -1);
	CHECK_EQ(message_bytes(args), 200);
	return 0;
}

/* Ranks of one job: the same collective is found on all of them, which tells the distance of their
 * clocks, who came last, and how much of a collective's time was transfer. Collectives are GPU
 * kernels; where a job has none, ranges of a host backend (gloo) stand in. */
#include "analyze/analyze.h"

#include <stdlib.h>

#include "base/median.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"

struct call {
	uint64_t id;     /* equal on all ranks of one collective */
	uint32_t rank;   /* index in the list of ranks */
	int64_t ts, end; /* since 1970 where the input says so; later less the rank's offset */
	assay_sid name, group;
	int64_t bytes; /* -1 when unknown */
	int32_t size;
	uint32_t row; /* of gpu, or of host for a host backend */
};

typedef assay_vec(struct call) calls;

struct job {
	assay_run *run;
	assay_map rank_of; /* group of sources -> rank */
	assay_vec(uint32_t) source;
	calls call;
	size_t step;    /* row of step found last */
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

static uint32_t rank_index(struct job *j, uint32_t track)
{
	const assay_tables *t = &j->run->part.t;
	uint32_t source = assay_track_group(t, track);
	uint32_t *slot = assay_map_at(&j->rank_of, source);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)j->source.n;
		*assay_push(&j->source) = source;
	}
	return *slot;
}

/* Number of the step that holds a time of a source; -1 outside of steps. Calls come in order of
 * time, so the search begins where the last one ended. */
static int64_t step_number(const assay_step_table *s, size_t *hint, uint32_t source, int64_t time)
{
	for (size_t k = 0; k < s->n; k++) {
		size_t i = (*hint + k) % s->n;
		if (s->source[i] == source && s->ts[i] <= time && time < s->ts[i] + s->dur[i]) {
			*hint = i;
			return s->number[i];
		}
	}
	return -1;
}

/* Calls of a group come in the same order on every rank; within a step, so that recordings that
 * begin at different times still match. A sequence number says it outright. */
static uint64_t call_id(struct job *j, const struct call *c, assay_str args, int64_t step)
{
	int64_t sequence = member_number(args, "\"Seq\"");
	uint64_t place[3] = {c->group, (uint64_t)step, sequence >= 0};
	uint64_t key = assay_hash(place, sizeof place, 1);
	if (sequence >= 0)
		return assay_hash(&sequence, sizeof sequence, key);
	uint64_t own[2] = {key, c->rank};
	uint32_t *count = assay_map_at(&j->next, assay_hash(own, sizeof own, 2));
	*count = *count == ASSAY_MAP_ABSENT ? 0 : *count + 1;
	uint64_t index = *count;
	return assay_hash(&index, sizeof index, key);
}

struct span {
	int64_t ts, dur, asked; /* asked: when the host launched it */
	uint32_t track, row;
	assay_sid name;
};

static void add_call(struct job *j, const struct span *s, assay_str args)
{
	assay_tables *t = &j->run->part.t;
	struct call c = {.rank = rank_index(j, s->track),
			 .name = s->name,
			 .bytes = -1,
			 .size = -1,
			 .row = s->row};
	uint32_t source = j->source.p[c.rank];
	assay_str name = member(args, "\"Collective name\""),
		  group = member(args, "\"Process Group Name\"");
	char stream[48];
	snprintf(stream, sizeof stream, "stream %lld", (long long)t->track.tid[s->track]);
	if (name.n) {
		c.name = assay_intern(&j->run->part.strings, name);
		c.bytes = message_bytes(args);
		c.size = (int32_t)member_number(args, "\"Group size\"");
	}
	c.group = group.n ? assay_intern(&j->run->part.strings, group)
		  : t->track.kind[s->track] == ASSAY_TRACK_STREAM ? assay_sid_of(j->run, stream)
								  : s->name;
	c.ts = s->ts + t->source.base[source];
	c.end = c.ts + (s->dur > 0 ? s->dur : 0);
	c.id = call_id(j, &c, args, step_number(&t->step, &j->step, source, s->asked));
	*assay_push(&j->call) = c;
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

static void collect_kernels(struct job *j, const assay_order *order)
{
	const assay_tables *t = &j->run->part.t;
	assay_map ops = {0};
	index_ops(j->run, &ops);
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
		add_call(j, &s, call_args(j->run, &ops, g));
	}
	assay_map_free(&ops);
}

static void collect_ranges(struct job *j)
{
	const assay_tables *t = &j->run->part.t;
	assay_vec(uint32_t) found = {0};
	for (uint32_t h = 0; h < t->host.n; h++)
		if (t->host.kind[h] == ASSAY_HOST_ANNOTATION &&
		    assay_str_starts(assay_text(j->run, t->host.name[h]), "gloo:"))
			*assay_push(&found) = h;
	assay_sort_rows(found.p, found.n, t->host.ts);
	for (size_t i = 0; i < found.n; i++) {
		uint32_t h = found.p[i];
		struct span s = {.ts = t->host.ts[h],
				 .dur = t->host.dur[h],
				 .asked = t->host.ts[h],
				 .track = t->host.track[h],
				 .row = h,
				 .name = t->host.name[h]};
		add_call(j, &s, (assay_str){0});
	}
	assay_vec_free(&found);
}

static int by_id(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Calls of one collective: [first, first + n) after sorting by id. */
struct match {
	size_t first, n;
	int64_t ts; /* of the first rank's call, and that rank */
	uint32_t rank;
};
typedef assay_vec(struct match) matches;

/* Collectives in order of time, so that rows do not depend on the numbers strings got. */
static int by_place(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void find_matches(calls *c, matches *out)
{
	if (c->n)
		qsort(c->p, c->n, sizeof *c->p, by_id);
	for (size_t i = 0; i < c->n;) {
		size_t n = 1;
		while (i + n < c->n && c->p[i + n].id == c->p[i].id)
			n++;
		*assay_push(out) = (struct match){i, n, c->p[i].ts, c->p[i].rank};
		i += n;
	}
	if (out->n)
		qsort(out->p, out->n, sizeof *out->p, by_place);
}

/* A rank's clock against the first rank's: all ranks leave a collective at about the same time. An
 * offset smaller than three times its own spread is no offset. */
static void find_offset(struct job *j, const matches *m, uint32_t rank, int64_t *offset,
			int64_t *spread)
{
	assay_vec(int64_t) ends = {0};
	*offset = 0;
	*spread = -1;
	for (size_t i = 0; i < m->n; i++) {
		const struct call *c = &j->call.p[m->p[i].first];
		for (size_t k = 1; k < m->p[i].n && c[0].rank == 0; k++)
			if (c[k].rank == rank)
				*assay_push(&ends) = c[k].end - c[0].end;
	}
	if (ends.n) {
		int64_t middle = assay_median_upper(ends.p, ends.n);
		for (size_t i = 0; i < ends.n; i++)
			ends.p[i] = llabs(ends.p[i] - middle);
		*spread = assay_median_upper(ends.p, ends.n);
		*offset = llabs(middle) > 3 * *spread ? middle : 0;
	}
	assay_vec_free(&ends);
}

static void correct_clocks(struct job *j, const matches *m)
{
	assay_rank_table *r = &j->run->part.t.rank;
	for (uint32_t k = 0; k < j->source.n; k++) {
		uint32_t row = assay_add(&j->run->part.t, ASSAY_T_rank);
		r->source[row] = j->source.p[k];
		r->rank[row] = j->run->part.t.source.rank[j->source.p[k]];
		if (k)
			find_offset(j, m, k, &r->offset[row], &r->spread[row]);
	}
	for (size_t i = 0; i < j->call.n; i++) {
		j->call.p[i].ts -= r->offset[j->call.p[i].rank];
		j->call.p[i].end -= r->offset[j->call.p[i].rank];
	}
}

static int64_t shortest(const struct call *c, size_t n)
{
	int64_t least = INT64_MAX;
	for (size_t i = 0; i < n; i++)
		least = c[i].end - c[i].ts < least ? c[i].end - c[i].ts : least;
	return least;
}

static size_t latest(const struct call *c, size_t n)
{
	size_t last = 0;
	for (size_t i = 1; i < n; i++)
		last = c[i].ts > c[last].ts ? i : last;
	return last;
}

/* Sums of hostile inputs may not fit; they wrap, which is no worse than the input. */
static void add_to(int64_t *sum, int64_t v)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)v);
}

static void add_waits(assay_rank_table *r, const struct call *c, size_t n)
{
	size_t last = latest(c, n);
	int64_t least = shortest(c, n), caused = 0;
	for (size_t i = 0; i < n; i++) {
		r->matched[c[i].rank]++;
		add_to(&r->waited[c[i].rank], c[last].ts - c[i].ts);
		add_to(&r->transfer[c[i].rank], least);
		add_to(&r->skew[c[i].rank], c[i].end - c[i].ts - least);
		add_to(&caused, c[last].ts - c[i].ts);
	}
	r->last[c[last].rank]++;
	add_to(&r->caused[c[last].rank], caused);
}

/* Traffic on the wire over the message, for n ranks. */
static double bus_factor(assay_str name, int32_t n)
{
	if (n < 2)
		return 0;
	if (assay_str_find_nocase(name, "allreduce") >= 0 ||
	    assay_str_find_nocase(name, "all_reduce") >= 0)
		return 2.0 * (n - 1) / n;
	if (assay_str_find_nocase(name, "gather") >= 0 ||
	    assay_str_find_nocase(name, "scatter") >= 0 ||
	    assay_str_find_nocase(name, "all_to_all") >= 0 ||
	    assay_str_find_nocase(name, "alltoall") >= 0)
		return (double)(n - 1) / n;
	return 1;
}

static uint32_t collective_row(assay_run *run, assay_map *rows, const struct call *c)
{
	const int64_t same[4] = {c->name, c->group, c->bytes, c->size};
	assay_collective_table *t = &run->part.t.collective;
	uint32_t *slot = assay_map_at(rows, assay_hash(same, sizeof same, 3));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = assay_add(&run->part.t, ASSAY_T_collective);
		t->name[*slot] = c->name;
		t->group[*slot] = c->group;
		t->bytes[*slot] = c->bytes;
		t->size[*slot] = c->size;
	}
	return *slot;
}

/* latency and skew are sums until finish_collectives(). */
static void add_collective(assay_run *run, assay_map *rows, const struct call *c, size_t n)
{
	uint32_t r = collective_row(run, rows, c);
	assay_collective_table *t = &run->part.t.collective;
	t->count[r]++;
	t->latency[r] += (double)shortest(c, n);
	if (n < 2)
		return;
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < n; i++)
		first = c[i].ts < first ? c[i].ts : first;
	int64_t skew = c[latest(c, n)].ts - first;
	t->matched[r]++;
	t->skew[r] += (double)skew;
	t->max_skew[r] = skew > t->max_skew[r] ? skew : t->max_skew[r];
}

static void finish_collectives(assay_run *run)
{
	assay_collective_table *t = &run->part.t.collective;
	for (size_t i = 0; i < t->n; i++) {
		t->latency[i] /= (double)t->count[i];
		if (t->matched[i])
			t->skew[i] /= (double)t->matched[i];
		if (t->bytes[i] > 0 && t->latency[i] > 0)
			t->algo_bw[i] = (double)t->bytes[i] / (1 << 30) / (t->latency[i] * 1e-9);
		t->bus_bw[i] = t->algo_bw[i] * bus_factor(assay_text(run, t->name[i]), t->size[i]);
	}
}

/* How uncertain the distance of two ranks' clocks is. */
static int64_t clock_doubt(const assay_rank_table *r, uint32_t a, uint32_t b)
{
	int64_t x = r->spread[a] > 0 ? r->spread[a] : 0, y = r->spread[b] > 0 ? r->spread[b] : 0;
	return 3 * (x > y ? x : y);
}

/* Who kept a collective waiting, by its row on the rank that waited. */
struct late {
	uint32_t call, last; /* indexes in job.call */
	int64_t time;
};
typedef assay_vec(struct late) lates;

static void find_late(const struct job *j, const matches *m, assay_map *by_row, lates *out)
{
	const assay_rank_table *r = &j->run->part.t.rank;
	for (size_t i = 0; i < m->n; i++) {
		const struct call *c = &j->call.p[m->p[i].first];
		size_t last = latest(c, m->p[i].n);
		for (size_t k = 0; k < m->p[i].n; k++) {
			int64_t time = c[last].ts - c[k].ts;
			if (time <= clock_doubt(r, c[k].rank, c[last].rank))
				continue;
			*assay_map_at(by_row, c[k].row) = (uint32_t)out->n;
			*assay_push(out) = (struct late){(uint32_t)(m->p[i].first + k),
							 (uint32_t)(m->p[i].first + last), time};
		}
	}
}

/* The part of a gap in which a collective on the host waited for the late rank. */
static int64_t late_inside(const struct job *j, uint32_t gap, const struct late *l)
{
	const assay_tables *t = &j->run->part.t;
	int64_t own = t->host.ts[j->call.p[l->call].row], from = t->gap.ts[gap];
	int64_t to = from + t->gap.dur[gap], until = own + l->time;
	from = own > from ? own : from;
	to = until < to ? until : to;
	return to > from ? to - from : 0;
}

/* Gaps that waited for a collective which another rank came late to: queued ones for a kernel,
 * others for a range of the launching thread. */
static void name_late_ranks(struct job *j, const matches *m, bool on_host)
{
	assay_gap_table *g = &j->run->part.t.gap;
	const assay_rank_table *r = &j->run->part.t.rank;
	assay_map by_row = {0};
	lates found = {0};
	find_late(j, m, &by_row, &found);
	for (uint32_t i = 0; i < g->n && found.n; i++) {
		uint32_t row = on_host ? g->during[i] : g->behind[i];
		uint32_t at = row == ASSAY_NO_ROW ? ASSAY_MAP_ABSENT : assay_map_get(&by_row, row);
		if (at == ASSAY_MAP_ABSENT)
			continue;
		const struct late *l = &found.p[at];
		g->late[i] = on_host ? late_inside(j, i, l) : l->time;
		if (g->late[i])
			g->late_rank[i] = r->rank[j->call.p[l->last].rank];
		if (g->late[i] && !on_host)
			g->queued[i] = ASSAY_QUEUED_OTHER_RANK;
	}
	assay_map_free(&by_row);
	assay_vec_free(&found);
}

void assay_ranks(assay_run *run, const assay_order *order)
{
	struct job j = {.run = run};
	matches m = {0};
	assay_map rows = {0};
	collect_kernels(&j, order);
	bool on_host = !j.call.n;
	if (on_host)
		collect_ranges(&j);
	find_matches(&j.call, &m);
	correct_clocks(&j, &m);
	for (size_t i = 0; i < m.n; i++) {
		const struct call *c = &j.call.p[m.p[i].first];
		if (m.p[i].n > 1)
			add_waits(&run->part.t.rank, c, m.p[i].n);
		add_collective(run, &rows, c, m.p[i].n);
	}
	finish_collectives(run);
	name_late_ranks(&j, &m, on_host);
	assay_map_free(&rows);
	assay_vec_free(&m);
	assay_vec_free(&j.call);
	assay_vec_free(&j.source);
	assay_map_free(&j.rank_of);
	assay_map_free(&j.next);
}

TEST(members_are_found_in_argument_text)
{
	assay_str args = ASSAY_S("\"Collective name\": \"allreduce\", \"In msg nelems\": 100, "
				 "\"dtype\": \"BFloat16\", \"Group size\": 8");
	CHECK(assay_str_is(member(args, "\"Collective name\""), "allreduce"));
	CHECK_EQ(member_number(args, "\"Group size\""), 8);
	CHECK_EQ(member_number(args, "\"Seq\""), -1);
	CHECK_EQ(message_bytes(args), 200);
	CHECK(bus_factor(ASSAY_S("allreduce"), 8) == 1.75);
	CHECK(bus_factor(ASSAY_S("_allgather_base"), 4) == 0.75);
	return 0;
}

/* Rank r runs collectives at the given starts, all ending at the same true time; its clock is
 * `ahead` of the truth. */
static void add_rank(assay_run *run, const int64_t *starts, const int64_t *ends, int n,
		     int64_t ahead)
{
	assay_tables *t = &run->part.t;
	uint32_t source = assay_add(t, ASSAY_T_source);
	run->part.source = source;
	t->source.rank[source] = (int32_t)source;
	for (int i = 0; i < n; i++) {
		uint32_t g = assay_hand_gpu(run, "m", starts[i] + ahead, ends[i] - starts[i],
					    ASSAY_NO_ROW);
		t->gpu.args[g] = assay_sid_of(
			run, "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000, "
			     "\"dtype\": \"Float\", \"Group size\": 2, "
			     "\"Process Group Name\": \"0\"");
	}
}

TEST(clocks_are_set_right_and_the_late_rank_is_found)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000, 3000, 4000};
	add_rank(run, (const int64_t[]){100, 1100, 2100, 3900}, ends, 4, 0);
	add_rank(run, (const int64_t[]){800, 1800, 2800, 3800}, ends, 4, 500000);
	assay_order order;
	assay_kernels(run, assay_hand_family, assay_hand_class);
	assay_order_build(&order, run);
	assay_ranks(run, &order);
	const assay_rank_table *r = &run->part.t.rank;
	CHECK(r->n == 2 && r->offset[1] == 500000 && r->spread[1] == 0);
	CHECK(r->matched[0] == 4 && r->last[0] == 1 && r->last[1] == 3);
	CHECK_EQ(r->waited[0], 2100);
	CHECK_EQ(r->caused[1], 2100);
	CHECK_EQ(r->waited[1], 100);
	CHECK_EQ(r->transfer[0], 200 + 200 + 200 + 100);
	CHECK_EQ(r->skew[0], 700 * 3);
	const assay_collective_table *c = &run->part.t.collective;
	CHECK(c->n == 1 && c->count[0] == 4 && c->matched[0] == 4 && c->bytes[0] == 4000);
	CHECK(c->latency[0] == 175 && c->max_skew[0] == 700 && c->skew[0] == 550);
	CHECK(c->bus_bw[0] == c->algo_bw[0] && c->algo_bw[0] > 0);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

/* A gap behind the collective of rank 0 in row 0, 50 long. */
TEST(a_gap_behind_a_collective_names_the_rank_that_came_late)
{
	assay_run *run = assay_run_new();
	const int64_t ends[] = {1000, 2000, 3000};
	add_rank(run, (const int64_t[]){100, 1100, 2100}, ends, 3, 0);
	add_rank(run, (const int64_t[]){800, 1099, 2100}, ends, 3, 500000);
	assay_order order;
	assay_kernels(run, assay_hand_family, assay_hand_class);
	assay_order_build(&order, run);
	assay_gap_table *g = &run->part.t.gap;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t r = assay_add(&run->part.t, ASSAY_T_gap);
		g->cause[r] = ASSAY_WHY_QUEUED;
		g->queued[r] = ASSAY_QUEUED_STREAM_WAIT;
		g->behind[r] = i;
		g->dur[r] = 50;
	}
	assay_ranks(run, &order);
	CHECK(g->queued[0] == ASSAY_QUEUED_OTHER_RANK && g->late_rank[0] == 1 && g->late[0] == 700);
	CHECK(g->queued[1] == ASSAY_QUEUED_STREAM_WAIT && g->late_rank[1] == -1); /* it was last */
	CHECK(g->queued[2] == ASSAY_QUEUED_STREAM_WAIT && g->late[2] == 0);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

/* Rank 0 enters gloo at 100, rank 1 at 400; both leave at 1000. */
TEST(a_gap_inside_a_host_collective_counts_only_the_wait_for_the_late_rank)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (int r = 0; r < 2; r++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		run->part.source = assay_add(t, ASSAY_T_source);
		t->source.rank[r] = r;
		t->host.kind[h] = ASSAY_HOST_ANNOTATION;
		t->host.name[h] = assay_sid_of(run, "gloo:all_reduce");
		t->host.ts[h] = r ? 400 : 100;
		t->host.dur[h] = 1000 - t->host.ts[h];
		t->host.track[h] = assay_thread_track(&run->part, 1, 1);
	}
	const int64_t from[] = {50, 300, 500}; /* all end at 900 */
	for (int i = 0; i < 3; i++) {
		uint32_t g = assay_add(t, ASSAY_T_gap);
		t->gap.cause[g] = ASSAY_WHY_HOST_UNTRACED;
		t->gap.during[g] = 0;
		t->gap.ts[g] = from[i];
		t->gap.dur[g] = 900 - from[i];
	}
	assay_order order;
	assay_order_build(&order, run);
	assay_ranks(run, &order);
	CHECK_EQ(t->gap.late[0], 300);
	CHECK_EQ(t->gap.late[1], 100);
	CHECK(t->gap.late[2] == 0 && t->gap.late_rank[2] == -1 && t->gap.late_rank[0] == 1);
	assay_order_free(&order);
	assay_run_free(run);
	return 0;
}

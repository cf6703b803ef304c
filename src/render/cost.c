/* What recording took of the recorded programs, as their recorders tell it (meta cost.*). */
#include <inttypes.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/test.h"
#include "render/report.h"

enum { BUCKETS = 32 };

typedef struct cost {
	uint64_t looked_at, sum, max, bucket[BUCKETS]; /* of callbacks, ns */
	uint64_t cpu_ns, page_faults, bytes;           /* of writers */
	bool any;
} cost;

static void add_u64(assay_json *j, uint64_t *to)
{
	uint64_t v = 0;
	if (assay_json_u64(j, &v))
		*to += v;
}

static void add_buckets(assay_json *j, cost *c)
{
	assay_json_enter(j, '[');
	for (size_t i = 0; assay_json_element(j); i++)
		add_u64(j, &c->bucket[i < BUCKETS ? i : BUCKETS - 1]);
}

static void add_fact(cost *c, assay_str text, assay_arena *scratch)
{
	struct {
		const char *key;
		uint64_t *to;
	} sums[] = {{"looked_at", &c->looked_at},
		    {"sum", &c->sum},
		    {"cpu_ns", &c->cpu_ns},
		    {"page_faults", &c->page_faults},
		    {"bytes", &c->bytes}};
	assay_json j = assay_json_copy(scratch, text);
	assay_json_enter(&j, '{');
	for (assay_str key; assay_json_member(&j, &key);) {
		uint64_t max = 0, *to = NULL;
		for (size_t i = 0; i < ASSAY_COUNT_OF(sums); i++)
			to = assay_str_is(key, sums[i].key) ? sums[i].to : to;
		if (to)
			add_u64(&j, to);
		else if (assay_str_is(key, "log2"))
			add_buckets(&j, c);
		else if (assay_str_is(key, "max") && assay_json_u64(&j, &max))
			c->max = max > c->max ? max : c->max;
		else
			assay_json_skip(&j, NULL);
	}
	c->any = true;
}

/* Of all processes together. */
static cost sum_cost(const assay_run *run)
{
	const assay_meta_table *m = &run->part.t.meta;
	assay_arena scratch = {0};
	cost c = {0};
	for (size_t i = 0; i < m->n; i++)
		if (assay_str_starts(assay_text(run, m->key[i]), "cost."))
			add_fact(&c, assay_text(run, m->value[i]), &scratch);
	assay_arena_free(&scratch);
	return c;
}

/* ns that this share of the calls took less than; a power of two, the least that is certain. */
static int64_t below(const cost *c, double share)
{
	uint64_t met = 0;
	for (int i = 0; i < BUCKETS - 1; i++) {
		met += c->bucket[i];
		if ((double)met >= share * (double)c->looked_at)
			return 1ll << i;
	}
	return (int64_t)c->max;
}

void assay_cost_text(FILE *out, const char *indent, const assay_run *run)
{
	const cost c = sum_cost(run);
	char a[ASSAY_FMT], b[ASSAY_FMT], d[ASSAY_FMT], e[ASSAY_FMT];
	if (!c.any)
		return;
	fprintf(out, "\nwhat recording took\n");
	if (c.looked_at)
		fprintf(out,
			"%sin the program's calls: mean %s, half below %s, 99%% below %s, longest %s (%" PRIu64
			" looked at)\n",
			indent, assay_fmt_time(a, (int64_t)(c.sum / c.looked_at)),
			assay_fmt_time(b, below(&c, 0.5)), assay_fmt_time(d, below(&c, 0.99)),
			assay_fmt_time(e, (int64_t)c.max), c.looked_at);
	fprintf(out, "%sbeside it: %s of a processor, %s page faults, %s written\n", indent,
		assay_fmt_time(a, (int64_t)c.cpu_ns), assay_fmt_count(b, c.page_faults),
		assay_fmt_bytes(d, c.bytes));
}

TEST(the_cost_of_several_processes_is_summed)
{
	assay_run *run = assay_run_new();
	assay_meta_add(
		&run->part, "cost.callback_ns",
		ASSAY_S("{\"every\":16,\"looked_at\":3,\"sum\":600,\"max\":400,\"log2\":[0,0,1,2]}"));
	assay_meta_add(&run->part, "cost.callback_ns",
		       ASSAY_S("{\"looked_at\":1,\"sum\":9000,\"max\":9000,\"log2\":[0,0,0,0,1]}"));
	assay_meta_add(&run->part, "cost.writer", ASSAY_S("{\"cpu_ns\":5,\"bytes\":7}"));
	const cost c = sum_cost(run);
	CHECK(c.any && c.looked_at == 4 && c.sum == 9600 && c.max == 9000 && c.bytes == 7);
	CHECK(below(&c, 0.5) == 8 && below(&c, 0.99) == 16);
	assay_run_free(run);
	return 0;
}

TEST(nonsense_in_a_cost_harms_nothing)
{
	assay_run *run = assay_run_new();
	assay_meta_add(&run->part, "cost.callback_ns", ASSAY_S("{\"log2\":[1,2,{\"looked_at\":-3"));
	assay_meta_add(&run->part, "cost.writer", ASSAY_S("[]"));
	CHECK(sum_cost(run).any);
	assay_run_free(run);
	return 0;
}

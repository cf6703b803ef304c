/* Collectives of large messages within one machine, far below what its links give: a link that is
 * down, a topology or a protocol that goes another way, too few channels. */
#include "base/fmt.h"
#include "base/test.h"
#include "find/finding.h"

enum { LARGE_MESSAGE = 64 << 20, MACHINE_MOST = 8 };
static const double reached = 0.7; /* of the links, by large messages when all is well */
static const double slow = 0.4;    /* below this it is not */

/* On one machine: all ranks say so, or they are few enough and say nothing. */
static bool one_machine(const assay_run *run, bool *told)
{
	const assay_rank_table *r = &run->part.t.rank;
	bool same = r->n > 1;
	for (size_t i = 1; i < r->n; i++)
		same &= r->host[i] == r->host[0];
	*told = same && r->host[0];
	return *told || (same && r->n <= MACHINE_MOST);
}

/* The shortest time of any rank is the wire's only where several ranks were seen. */
static bool is_slow(const assay_collective_table *t, size_t i, double links)
{
	return t->matched[i] * 2 > t->count[i] && t->bytes[i] >= LARGE_MESSAGE &&
	       t->bus_bw[i] > 0 && t->bus_bw[i] * (1 << 30) < slow * links;
}

static void find_slow_links(const assay_run *run, const assay_find_ctx *c)
{
	const assay_collective_table *t = &run->part.t.collective;
	const assay_roof_table *roof = &run->part.t.roof;
	double links = roof->n ? roof->links[0] : 0, excess = 0, all = 0, most = 0;
	size_t worst = 0;
	bool told;
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0 || links <= 0 || !one_machine(run, &told))
		return;
	for (size_t i = 0; i < t->n; i++) {
		double time = (double)t->count[i] * t->latency[i],
		       wire = t->bus_bw[i] * (1 << 30) / (reached * links);
		all += time;
		if (!is_slow(t, i, links))
			continue;
		excess += time * (1 - wire);
		if (time * (1 - wire) > most) {
			most = time * (1 - wire);
			worst = i;
		}
	}
	/* no more than what communication costs the step */
	int64_t total = all > 0 ? (int64_t)((double)c->w->comm * excess / all) : 0;
	if ((double)total < assay_worth_saying * (double)c->whole)
		return;
	char bytes[ASSAY_FMT], rate[ASSAY_FMT], gives[ASSAY_FMT];
	assay_found f = {
		.id = "slow_collectives",
		.total = total,
		.confidence = told ? 0.7 : 0.5,
		.follows = "straggler",
		.fix = "look at the links (nvidia-smi nvlink -s, rocm-smi --showtopo) and at what NCCL or RCCL chose (NCCL_DEBUG=INFO: channels, protocol, P2P switched off)"};
	f.text = assay_printf(
		c->scratch,
		"collectives slower than the links between the devices take %s longer than need be",
		assay_share_words(c, total));
	f.fact[0] = assay_printf(c->scratch, "%s of %s moves %s/s, the links give %s/s",
				 assay_z(run, t->name[worst]),
				 assay_fmt_bytes(bytes, (uint64_t)t->bytes[worst]),
				 assay_fmt_bytes(rate, t->bus_bw[worst] * (1 << 30)),
				 assay_fmt_bytes(gives, (uint64_t)links));
	if (!told)
		f.fact[1] = "that all ranks are on one machine is a guess";
	assay_finding_add(c, &f);
}

const assay_finder assay_find_slow_links = {.id = "slow links", .find = find_slow_links};

/* Two ranks, one kind of collective with that bus bandwidth; is it found? */
static bool finds(double gib_per_second, int64_t bytes, const char *second_host)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t gpu = assay_add(t, ASSAY_T_gpu), gap = assay_add(t, ASSAY_T_gap);
	assay_window w = {.to = 1000000, .compute = 500000, .comm = 500000};
	t->gap.gpu[gap] = gpu;
	for (int i = 0; i < 2; i++) {
		uint32_t r = assay_add(t, ASSAY_T_rank);
		t->rank.host[r] = assay_sid_of(run, i ? second_host : "a");
	}
	uint32_t roof = assay_add(t, ASSAY_T_roof);
	t->roof.links[roof] = 450e9;
	uint32_t c = assay_add(t, ASSAY_T_collective);
	t->collective.name[c] = assay_sid_of(run, "allreduce");
	t->collective.count[c] = t->collective.matched[c] = 10;
	t->collective.latency[c] = 50000;
	t->collective.bytes[c] = bytes;
	t->collective.bus_bw[c] = gib_per_second;
	assay_findings(run, &w, NULL, NULL, NULL);
	bool found = false;
	for (uint32_t i = 0; i < t->finding.n; i++)
		found |= !strcmp(assay_z(run, t->finding.id[i]), "slow_collectives");
	assay_run_free(run);
	return found;
}

TEST(large_collectives_on_one_machine_are_held_against_its_links)
{
	CHECK(finds(20, 1 << 28, "a"));
	CHECK(!finds(300, 1 << 28, "a"));
	CHECK(!finds(20, 1 << 20, "a")); /* latency */
	CHECK(!finds(20, 1 << 28, "b")); /* a network between them */
	return 0;
}

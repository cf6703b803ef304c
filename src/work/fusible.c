#include "work/fusible.h"

#include "base/test.h"
#include "work/compute.h"

enum { LEAST_NAMES = 3 };

/* PyTorch does an operation on more than 2 GiB in pieces, for which 32 bits of an index are enough:
 * each moves two thirds of a GiB at least, which no device does sooner. */
enum { LEAST_PIECE = 80 * 1000 };

/* Work that is hardly longer than nothing moves nothing; it goes with the others. */
static bool moves_data(const assay_link *l)
{
	return l->ns > ASSAY_LEAST_KERNEL;
}

struct passes {
	int64_t all, longest, casts; /* ns */
	int64_t again; /* ns that reading the data again takes, at most, behind reductions */
	size_t names, slowest, fastest; /* fastest: of those as long as a quarter of the slowest, */
	size_t first, last;             /* and the first and the last of these */
};

static bool is_first_of_name(const assay_fusible *c, size_t link)
{
	for (size_t i = 0; i < link; i++)
		if (c->link[i].name == c->link[link].name)
			return false;
	return true;
}

static struct passes measure(const assay_fusible *c)
{
	struct passes p = {.names = 0};
	for (size_t i = 0; i < c->n; i++) {
		const assay_link *l = &c->link[i];
		p.all += l->ns;
		p.casts += l->casts ? l->ns : 0;
		p.names += moves_data(l) && is_first_of_name(c, i);
		p.slowest = l->ns > c->link[p.slowest].ns ? i : p.slowest;
	}
	p.first = p.last = p.fastest = p.slowest;
	p.longest = c->n ? c->link[p.slowest].ns : 0;
	int64_t behind = p.all;
	for (size_t i = 0; i < c->n; i++) {
		const assay_link *l = &c->link[i];
		behind -= l->ns;
		if (moves_data(l) && l->reduces)
			p.again += behind < p.longest ? behind : p.longest;
		if (l->ns * 4 < p.longest)
			continue;
		p.first = i < p.first ? i : p.first;
		p.last = i > p.last ? i : p.last;
		p.fastest = l->ns < c->link[p.fastest].ns ? i : p.fastest;
	}
	return p;
}

/* All pieces of an operation. */
static void mark(const assay_fusible *c, size_t link, assay_fused *fused, assay_fused as)
{
	for (uint32_t at = c->at[link] + 1; at; at = as.piece) {
		as.piece = fused[at - 1].piece;
		fused[at - 1] = as;
	}
}

/* One kernel reads what the chain reads and writes what it leaves: about what the longest of them
 * does. At best it is the shortest that moves a whole tensor; at worst every reduction is waited
 * for, and the data that is used behind it read once more. Where a chain makes a large tensor, of
 * small ones perhaps, and leaves the sums of it, one kernel only reads, and at best next to
 * nothing. Where most of a chain is casts, these are the trouble. */
void assay_fusible_end(assay_fusible *c, assay_fused *fused, bool taken)
{
	struct passes p = measure(c);
	bool fusible = p.names >= LEAST_NAMES && p.casts * 2 <= p.all;
	assay_reads reads = c->link[p.first].reads;
	bool inside = fusible && reads != ASSAY_READS_AS_MUCH && c->link[p.last].reduces;
	size_t stays = inside && reads == ASSAY_READS_LESS && !taken ? p.fastest : p.slowest;
	double goes = (double)(p.all - (c->n ? c->link[stays].ns : 0));
	double worst = (double)(p.all - p.longest - p.again),
	       best = (double)(p.all - (inside || !c->n ? 0 : c->link[p.fastest].ns));
	const assay_fused one = {.goes = true,
				 .least = (float)(worst > 0 ? worst / goes : 0),
				 .most = (float)(best / goes)};
	for (size_t i = 0; fusible && i < c->n; i++)
		if (i != stays)
			mark(c, i, fused, one);
	c->n = 0;
}

static bool comes_round(const assay_fusible *c, assay_sid name)
{
	for (size_t i = 1; i < c->n; i++)
		if (c->link[i].name == name && c->link[i - 1].name == c->link[c->n - 1].name)
			return true;
	return false;
}

/* Goes on with the operation that the chain is at. */
static bool is_piece(const assay_fusible *c, const assay_link *link)
{
	const assay_link *last = c->n ? &c->link[c->n - 1] : NULL;
	return last && last->name == link->name && last->ns >= LEAST_PIECE &&
	       link->ns >= LEAST_PIECE;
}

void assay_fusible_add(assay_fusible *c, assay_fused *fused, uint32_t place, assay_link link)
{
	if (is_piece(c, &link)) {
		fused[place].piece = c->at[c->n - 1] + 1;
		c->at[c->n - 1] = place;
		c->link[c->n - 1].ns += link.ns;
		return;
	}
	if (c->n == ASSAY_CHAIN_MOST || (moves_data(&link) && comes_round(c, link.name)))
		assay_fusible_end(c, fused, true);
	c->at[c->n] = place;
	c->link[c->n++] = link;
}

/* A norm: cast, square, mean, a reciprocal of little, scale. */
TEST(a_chain_goes_into_its_longest_kernel)
{
	assay_fusible c = {.n = 0};
	assay_fused fused[5] = {{.goes = false}};
	const assay_link norm[] = {{.name = 1, .ns = 60000},
				   {.name = 2, .ns = 50000},
				   {.name = 3, .ns = 40000, .reduces = true},
				   {.name = 4, .ns = 1000},
				   {.name = 5, .ns = 100000}};
	for (uint32_t i = 0; i < 5; i++)
		assay_fusible_add(&c, fused, i, norm[i]);
	assay_fusible_end(&c, fused, false);
	CHECK(fused[0].goes && fused[1].goes && fused[2].goes && fused[3].goes && !fused[4].goes);
	/* 151 us go; 51 when the reduction is waited for, 211 at best */
	CHECK(fused[0].least > 0.33 && fused[0].least < 0.34);
	CHECK(fused[0].most > 1.39 && fused[0].most < 1.41 && !c.n);
	return 0;
}

TEST(a_loop_over_tensors_is_no_chain)
{
	assay_fusible c = {.n = 0};
	assay_fused fused[6] = {{.goes = false}};
	for (uint32_t i = 0; i < 6; i++)
		assay_fusible_add(&c, fused, i, (assay_link){.name = 1 + i % 2, .ns = 10000});
	assay_fusible_end(&c, fused, false);
	for (uint32_t i = 0; i < 6; i++)
		CHECK(!fused[i].goes);
	return 0;
}

/* Differences of all pairs, squared and summed, in four pieces each; what the sums are for. */
static assay_fusible pairs_in_pieces(assay_fused fused[13], assay_reads reads)
{
	assay_fusible c = {.n = 0};
	static const int64_t ns[] = {1400000, 1000000, 2000000};
	for (uint32_t i = 0; i < 12; i++)
		assay_fusible_add(&c, fused, i,
				  (assay_link){.name = 1 + i / 4,
					       .ns = ns[i / 4],
					       .reduces = i >= 8,
					       .reads = i < 4 ? reads : ASSAY_READS_AS_MUCH});
	assay_fusible_add(&c, fused, 12, (assay_link){.name = 4, .ns = 50000, .reduces = true});
	return c;
}

TEST(an_operation_on_more_than_32_bits_index_is_one_in_pieces)
{
	assay_fused fused[13] = {{.goes = false}};
	assay_fusible c = pairs_in_pieces(fused, ASSAY_READS_AS_MUCH);
	CHECK_EQ(c.n, 4);
	assay_fusible_end(&c, fused, false);
	for (uint32_t i = 0; i < 13; i++)
		CHECK_EQ(fused[i].goes, i < 8 || i == 12);  /* all but the sums: 9.65 ms */
	CHECK(fused[0].least > 0.99 && fused[0].least < 1); /* the smallest is found behind them */
	CHECK(fused[12].most > 1.41 && fused[12].most < 1.42);
	return 0;
}

/* 17.65 ms, of which at best nothing stays, at worst the sums and what is behind them. */
TEST(a_tensor_that_only_its_sums_are_left_of_need_not_be_written)
{
	assay_fused fused[13] = {{.goes = false}}, taken[13] = {{.goes = false}};
	assay_fusible c = pairs_in_pieces(fused, ASSAY_READS_LESS),
		      d = pairs_in_pieces(taken, ASSAY_READS_LESS);
	assay_fusible_end(&c, fused, false);
	CHECK(fused[0].goes && fused[3].goes && !fused[4].goes && !fused[7].goes);
	CHECK(fused[8].goes && fused[12].goes);
	CHECK(fused[8].least > 0.70 && fused[8].least < 0.71);
	CHECK(fused[8].most > 1.29 && fused[8].most < 1.30);
	assay_fusible_end(&d, taken, true); /* a product may read it */
	CHECK(taken[4].goes && !taken[8].goes && !taken[11].goes);
	CHECK(taken[4].most > 1.82 && taken[4].most < 1.83);
	d = pairs_in_pieces(taken, ASSAY_READS_ANY); /* or all of it is read */
	assay_fusible_end(&d, taken, false);
	CHECK(!taken[8].goes && taken[4].most > 1.82 && taken[4].most < 1.83);
	return 0;
}

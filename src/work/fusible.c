#include "work/fusible.h"

#include "base/test.h"
#include "work/compute.h"

enum { LEAST_NAMES = 3 };

/* Work that is hardly longer than nothing moves nothing; it goes with the others. */
static bool moves_data(const assay_link *l)
{
	return l->ns > ASSAY_LEAST_KERNEL;
}

struct passes {
	int64_t all, longest, shortest; /* ns; shortest: that moves as much as a quarter of the
					   longest */
	int64_t casts, reductions;
	size_t names, stays; /* stays: the longest */
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
	struct passes p = {.shortest = INT64_MAX};
	for (size_t i = 0; i < c->n; i++) {
		const assay_link *l = &c->link[i];
		p.all += l->ns;
		p.casts += l->casts ? l->ns : 0;
		p.names += moves_data(l) && is_first_of_name(c, i);
		p.reductions += moves_data(l) && l->reduces;
		if (l->ns > p.longest) {
			p.longest = l->ns;
			p.stays = i;
		}
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->link[i].ns * 4 >= p.longest && c->link[i].ns < p.shortest)
			p.shortest = c->link[i].ns;
	return p;
}

/* One kernel reads what the chain reads and writes what it leaves: about what the longest of them
 * does. At best it is the shortest that moves a whole tensor; at worst every reduction is waited
 * for, and the data read once more behind it. Where most of a chain is casts, these are the
 * trouble. */
void assay_fusible_end(assay_fusible *c, assay_fused *fused)
{
	struct passes p = measure(c);
	double goes = (double)(p.all - p.longest);
	bool fusible = p.names >= LEAST_NAMES && p.casts * 2 <= p.all;
	double worst = (double)(p.all - p.longest * (1 + p.reductions)),
	       best = (double)(p.all - p.shortest);
	for (size_t i = 0; fusible && i < c->n; i++)
		if (i != p.stays)
			fused[c->at[i]] = (assay_fused){true, (float)(worst > 0 ? worst / goes : 0),
							(float)(best / goes)};
	c->n = 0;
}

static bool comes_round(const assay_fusible *c, assay_sid name)
{
	for (size_t i = 1; i < c->n; i++)
		if (c->link[i].name == name && c->link[i - 1].name == c->link[c->n - 1].name)
			return true;
	return false;
}

void assay_fusible_add(assay_fusible *c, assay_fused *fused, uint32_t place, assay_link link)
{
	if (c->n == ASSAY_CHAIN_MOST || (moves_data(&link) && comes_round(c, link.name)))
		assay_fusible_end(c, fused);
	c->at[c->n] = place;
	c->link[c->n++] = link;
}

/* A norm: cast, square, mean, a reciprocal of little, scale. */
TEST(a_chain_goes_into_its_longest_kernel)
{
	assay_fusible c = {.n = 0};
	assay_fused fused[5] = {{false, 0, 0}};
	const assay_link norm[] = {{1, 60000, false, false},
				   {2, 50000, false, false},
				   {3, 40000, true, false},
				   {4, 1000, false, false},
				   {5, 100000, false, false}};
	for (uint32_t i = 0; i < 5; i++)
		assay_fusible_add(&c, fused, i, norm[i]);
	assay_fusible_end(&c, fused);
	CHECK(fused[0].goes && fused[1].goes && fused[2].goes && fused[3].goes && !fused[4].goes);
	/* 151 us go; 51 when the reduction is waited for, 211 at best */
	CHECK(fused[0].least > 0.33 && fused[0].least < 0.34);
	CHECK(fused[0].most > 1.39 && fused[0].most < 1.41 && !c.n);
	return 0;
}

TEST(a_loop_over_tensors_is_no_chain)
{
	assay_fusible c = {.n = 0};
	assay_fused fused[6] = {{false, 0, 0}};
	for (uint32_t i = 0; i < 6; i++)
		assay_fusible_add(&c, fused, i, (assay_link){1 + i % 2, 10000, false, false});
	assay_fusible_end(&c, fused);
	for (uint32_t i = 0; i < 6; i++)
		CHECK(!fused[i].goes);
	return 0;
}

/* rocprofiler-sdk tells neither size nor agent of memory that is given back. */
#include "read/frees.h"

#include "base/map.h"
#include "base/sort.h"
#include "base/test.h"

static bool takes(const assay_alloc_table *t, uint32_t row)
{
	return t->bytes[row] > 0;
}

static void fill(assay_alloc_table *t, uint32_t freed, uint32_t taken)
{
	if (!t->bytes[freed])
		t->bytes[freed] = -t->bytes[taken];
	if (t->device[freed] < 0)
		t->device[freed] = t->device[taken];
}

void assay_pair_frees(assay_alloc_table *t, size_t from)
{
	assay_vec(uint32_t) rows = {0};
	assay_map last = {0}; /* address -> the row it was seen in last */
	bool gaps = false;
	for (size_t r = from; r < t->n; r++) {
		gaps |= t->addr[r] && !takes(t, (uint32_t)r) && (!t->bytes[r] || t->device[r] < 0);
		if (t->addr[r])
			*assay_push(&rows) = (uint32_t)r;
	}
	if (gaps)
		assay_sort_rows(rows.p, rows.n, t->ts);
	for (size_t i = 0; gaps && i < rows.n; i++) {
		uint32_t row = rows.p[i], *slot = assay_map_at(&last, t->addr[row]);
		if (*slot != ASSAY_MAP_ABSENT && takes(t, *slot) && !takes(t, row))
			fill(t, row, *slot);
		*slot = row;
	}
	assay_vec_free(&rows);
	assay_map_free(&last);
}

#ifdef ASSAY_TEST

static void add(assay_run *run, int64_t ts, uint64_t addr, int64_t bytes, int32_t device)
{
	assay_alloc_table *t = &run->part.t.alloc;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_alloc);
	t->ts[r] = ts;
	t->addr[r] = addr;
	t->bytes[r] = bytes;
	t->device[r] = device;
}

TEST(a_free_gets_the_size_and_device_of_the_allocation_before_it)
{
	assay_run *run = assay_run_new();
	add(run, 40, 0x10, 0, -1); /* the second time the address is given back */
	add(run, 10, 0x10, 256, 1);
	add(run, 20, 0x10, 0, -1);
	add(run, 30, 0x10, 512, 0);
	assay_alloc_table *t = &run->part.t.alloc;
	assay_pair_frees(t, 0);
	CHECK(t->bytes[2] == -256 && t->device[2] == 1);
	CHECK(t->bytes[0] == -512 && t->device[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(a_free_of_what_was_taken_before_stays_as_it_is)
{
	assay_run *run = assay_run_new();
	add(run, 10, 0x10, 256, 1); /* of another process */
	add(run, 20, 0x10, 0, -1);
	add(run, 30, 0x20, -64, 2);
	add(run, 40, 0x20, 0, -1); /* twice */
	assay_alloc_table *t = &run->part.t.alloc;
	assay_pair_frees(t, 1);
	CHECK(t->bytes[1] == 0 && t->device[1] == -1);
	CHECK(t->bytes[2] == -64 && t->device[2] == 2);
	CHECK(t->bytes[3] == 0 && t->device[3] == -1);
	assay_run_free(run);
	return 0;
}

#endif

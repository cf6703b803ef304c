#include "resolve/keys.h"

#include <assert.h>

#include "base/sort.h"

static bool is_narrow(uint64_t id)
{
	return id <= UINT32_MAX;
}

/* Keys start one range up, so that a late id from before the first call cannot fall below zero. */
static const uint64_t range = 1ull << 32;

/* A step of more than half the range is a step over the end of it. Every 2^29 keys the place is
 * noted, so that any other id can be unwrapped by its time. */
void assay_keys_add(assay_keys *k, int64_t ts, uint64_t id)
{
	if (!is_narrow(id))
		return;
	uint64_t key = id + range;
	if (k->ts.n)
		key = k->last + (uint64_t)(int32_t)((uint32_t)id - (uint32_t)k->last);
	if (!k->ts.n || key - k->near.p[k->near.n - 1] + (1u << 29) > 1u << 30) {
		*assay_push(&k->ts) = ts;
		*assay_push(&k->near) = key;
	}
	k->wrapped |= key / range != 1;
	k->last = key > k->last ? key : k->last;
}

uint64_t assay_keys_at(const assay_keys *k, int64_t ts, uint64_t id)
{
	if (!k->wrapped || !is_narrow(id))
		return id;
	assert(k->near.n && k->near.n == k->ts.n);
	size_t told = assay_count_until(k->ts.p, sizeof *k->ts.p, k->ts.n, ts);
	uint64_t near = k->near.p[told ? told - 1 : 0];
	return near + (uint64_t)(int32_t)((uint32_t)id - (uint32_t)near);
}

uint64_t assay_keys_id(const assay_keys *k, uint64_t key)
{
	return k->wrapped ? (uint32_t)key : key;
}

void assay_keys_free(assay_keys *k)
{
	assay_vec_free(&k->ts);
	assay_vec_free(&k->near);
}

/* Open addressing, linear probing, half load; keys are mixed, so sequential ids spread. */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/test.h"

static size_t home(uint64_t key, size_t mask)
{
	key ^= key >> 32;
	key *= 0xD6E8FEB86659FD93u;
	key ^= key >> 32;
	return (size_t)key & mask;
}

static size_t probe(const assay_map *m, uint64_t key)
{
	assert(m->n < m->slots); /* a free slot ends the search */
	size_t mask = m->slots - 1, i = home(key, mask);
	while (m->val[i] != ASSAY_MAP_ABSENT && m->key[i] != key)
		i = (i + 1) & mask;
	return i;
}

static void rehash(assay_map *m)
{
	assay_map old = *m;
	size_t cap = 0;
	m->slots = old.slots ? old.slots * 2 : 64;
	m->key = assay_vec_grow(NULL, &cap, m->slots, sizeof *m->key);
	cap = 0;
	m->val = assay_vec_grow(NULL, &cap, m->slots, sizeof *m->val);
	memset(m->val, 0xff, m->slots * sizeof *m->val);
	for (size_t i = 0; i < old.slots; i++) {
		if (old.val[i] == ASSAY_MAP_ABSENT)
			continue;
		size_t at = probe(m, old.key[i]);
		m->key[at] = old.key[i];
		m->val[at] = old.val[i];
	}
	assay_vec_release(old.key);
	assay_vec_release(old.val);
}

uint32_t assay_map_get(const assay_map *m, uint64_t key)
{
	return m->slots ? m->val[probe(m, key)] : ASSAY_MAP_ABSENT;
}

uint32_t *assay_map_at(assay_map *m, uint64_t key)
{
	if (m->n * 2 >= m->slots)
		rehash(m);
	size_t at = probe(m, key);
	if (m->val[at] == ASSAY_MAP_ABSENT) {
		m->key[at] = key;
		m->n++;
	}
	return &m->val[at];
}

void assay_map_free(assay_map *m)
{
	assay_vec_release(m->key);
	assay_vec_release(m->val);
	*m = (assay_map){0};
}

TEST(map_keeps_what_it_is_given)
{
	assay_map m = {0};
	CHECK(assay_map_get(&m, 5) == ASSAY_MAP_ABSENT);
	for (uint64_t k = 0; k < 5000; k++)
		*assay_map_at(&m, k << 32) = (uint32_t)k;
	for (uint64_t k = 0; k < 5000; k++)
		CHECK_EQ(assay_map_get(&m, k << 32), k);
	CHECK(assay_map_get(&m, 1) == ASSAY_MAP_ABSENT && m.n == 5000);
	assay_map_free(&m);
	return 0;
}

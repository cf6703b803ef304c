/* String interning with a seeded hash and linear probing at half load. */
#include "base/pool.h"

#include <sys/random.h>

#include "base/owner.h"
#include "base/test.h"

enum { FIRST_SLOTS = 256 };

static void pool_start(assay_pool *pool)
{
	if (getrandom(&pool->seed, sizeof pool->seed, GRND_NONBLOCK) < 0)
		pool->seed = (uintptr_t)pool;
	*assay_push(&pool->str) = (assay_str){"", 0};
	*assay_push(&pool->hash) = 0;
}

static size_t probe(const assay_pool *pool, assay_str s, uint64_t h)
{
	uint32_t high = (uint32_t)(h >> 32);
	size_t mask = pool->slots - 1;
	for (size_t i = h & mask;; i = (i + 1) & mask) {
		uint32_t id = pool->slot[i];
		if (!id || (pool->hash.p[id] == high && assay_str_eq(pool->str.p[id], s)))
			return i;
	}
}

static void pool_rehash(assay_pool *pool)
{
	size_t n = pool->slots ? pool->slots * 2 : FIRST_SLOTS;
	size_t cap = 0;
	assay_vec_release(pool->slot);
	pool->slot = NULL;
	pool->slots = 0;
	pool->slot = assay_vec_grow(NULL, &cap, n, sizeof *pool->slot);
	memset(pool->slot, 0, n * sizeof *pool->slot);
	pool->slots = n;
	for (uint32_t id = 1; id < pool->str.n; id++) {
		assay_str s = pool->str.p[id];
		pool->slot[probe(pool, s, assay_hash(s.p, s.n, pool->seed))] = id;
	}
}

assay_sid assay_intern(assay_pool *pool, assay_str s)
{
	if (!s.n)
		return 0;
	if (!pool->str.n)
		pool_start(pool);
	if (pool->str.n * 2 >= pool->slots)
		pool_rehash(pool);
	uint64_t h = assay_hash(s.p, s.n, pool->seed);
	size_t at = probe(pool, s, h);
	if (pool->slot[at])
		return pool->slot[at];
	if (pool->str.n >= UINT32_MAX)
		assay_give_up(ASSAY_LIMIT, "there are more than %u different texts", UINT32_MAX);
	uint32_t id = (uint32_t)pool->str.n;
	*assay_push(&pool->str) = (assay_str){assay_dup(&pool->text, s), s.n};
	*assay_push(&pool->hash) = (uint32_t)(h >> 32);
	pool->slot[at] = id;
	return id;
}

assay_sid assay_intern_z(assay_pool *pool, const char *z)
{
	return assay_intern(pool, assay_str_of(z));
}

assay_sid assay_pool_find(const assay_pool *pool, assay_str s)
{
	if (!s.n || !pool->slots)
		return 0;
	return pool->slot[probe(pool, s, assay_hash(s.p, s.n, pool->seed))];
}

assay_str assay_pool_get(const assay_pool *pool, assay_sid id)
{
	return id < pool->str.n ? pool->str.p[id] : (assay_str){"", 0};
}

void assay_pool_free(assay_pool *pool)
{
	assay_vec_free(&pool->str);
	assay_vec_free(&pool->hash);
	assay_vec_release(pool->slot);
	assay_arena_free(&pool->text);
	*pool = (assay_pool){0};
}

TEST(equal_text_gets_equal_ids)
{
	assay_pool pool = {0};
	CHECK(assay_intern_z(&pool, "") == 0);
	assay_sid a = assay_intern_z(&pool, "gemm"), b = assay_intern_z(&pool, "copy");
	CHECK(a && b && a != b && assay_intern_z(&pool, "gemm") == a);
	CHECK(assay_str_is(assay_pool_get(&pool, b), "copy"));
	CHECK(assay_pool_find(&pool, ASSAY_S("gemm")) == a);
	CHECK(assay_pool_find(&pool, ASSAY_S("nothing")) == 0);
	CHECK(assay_pool_get(&pool, 12345).n == 0);
	assay_pool_free(&pool);
	return 0;
}

TEST(ids_survive_growth)
{
	assay_pool pool = {0};
	char buf[32];
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(buf, sizeof buf, "kernel_%d", i);
		CHECK_EQ(assay_intern(&pool, (assay_str){buf, (size_t)n}), i + 1);
	}
	CHECK(assay_str_is(assay_pool_get(&pool, 777), "kernel_776"));
	assay_pool_free(&pool);
	return 0;
}

/* A new page costs a microsecond and more, a huge one a seventh of that for as many bytes, and what
 * was used before costs nothing. So what fills huge pages has its own, and what does not shares
 * them: blocks are cut from chunks, and what is given back joins what is free beside it. */
#define _GNU_SOURCE /* mremap, syscall */
#include "base/blocks.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"

#ifdef __SANITIZE_THREAD__ /* gcc */
#define UNDER_TSAN
#elif defined __SANITIZE_ADDRESS__
#define UNDER_ASAN
#elif defined __has_feature /* clang */
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#elif __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#endif

enum { PAGE = ASSAY_PAGE, HUGE = ASSAY_HUGE_PAGE, CHUNK = 4 * HUGE };

/* At best. */
static int home_of(size_t bytes)
{
#if defined UNDER_TSAN || defined UNDER_ASAN /* which know the bounds of malloc's blocks only */
	return bytes < HUGE ? ASSAY_OF_MALLOC : ASSAY_OF_SYSTEM;
#else
	return bytes < PAGE ? ASSAY_OF_MALLOC : bytes < HUGE ? ASSAY_OF_CHUNK : ASSAY_OF_SYSTEM;
#endif
}

/* ------------------------------------------------------------------ mappings */

static void *map_anywhere(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *map_at(size_t bytes, size_t multiple)
{
	size_t room = assay_whole(bytes, PAGE) + multiple;
	char *p = map_anywhere(room);
	if (p == MAP_FAILED)
		return p;
	size_t before = assay_whole((uintptr_t)p, multiple) - (uintptr_t)p,
	       behind = multiple - before;
	if (before)
		munmap(p, before);
	if (behind)
		munmap(p + room - behind, behind);
	return p + before;
}

/* Of huge pages; failure to get them changes nothing. */
static void *map_huge(size_t bytes, size_t multiple)
{
	void *p = map_at(bytes, multiple);
	if (p != MAP_FAILED)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void *map_pages(size_t bytes)
{
	return bytes < HUGE ? map_anywhere(bytes) : map_huge(bytes, HUGE);
}

void *assay_pages_move_to(void *to, void *from, size_t bytes, size_t new_bytes)
{
	return (void *)syscall(SYS_mremap, from, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       to);
}

/* Page tables are moved, not bytes. The thread sanitizer does not see that mremap gives an address
 * up, and takes the next owner of it for a racing one: there, bytes are moved. */
static assay_owned *move_mapping(assay_owned *old, size_t bytes)
{
#ifdef UNDER_TSAN
	(void)old, (void)bytes;
	return NULL;
#else
	void *to = bytes < HUGE ? NULL : map_at(bytes, HUGE);
	if (to == MAP_FAILED)
		return NULL;
	void *moved = to ? assay_pages_move_to(to, old, old->bytes, bytes)
			 : mremap(old, old->bytes, bytes, MREMAP_MAYMOVE);
	if (to && moved == MAP_FAILED)
		munmap(to, bytes);
	else if (to)
		madvise(moved, bytes, MADV_HUGEPAGE);
	return moved == MAP_FAILED ? NULL : moved;
#endif
}

/* ------------------------------------------------------------------ chunks */

/* A chunk begins at a multiple of its size and is all blocks, one behind the other. Free ones stand
 * in lists by size: four from each power of two to the next. Room that nobody touched costs memory
 * here, and none in a mapping: more chunks than these save little time where there is much. */
enum { CHUNKS_MOST = 4 };
enum { UNIT = 64, CHUNK_UNITS = CHUNK / UNIT, LEAST = PAGE / UNIT, LEAST_LOG = 6, SIZES = 4 * 12 };
static_assert(1 << LEAST_LOG == LEAST && CHUNK_UNITS >> LEAST_LOG == 1 << (SIZES / 4 - 1),
	      "a list for every size");
static_assert(SIZES <= 64, "a bit for every list");

static struct {
	pthread_mutex_t lock;
	unsigned chunks;
	uint64_t some; /* bit: the list has some */
	assay_owned *free[SIZES];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned list_of(uint32_t room)
{
	unsigned log = 31 - (unsigned)__builtin_clz(room);
	return (log - LEAST_LOG) * 4 + ((room >> (log - 2)) & 3);
}

/* The first list in which all have that room. */
static unsigned list_for(uint32_t room)
{
	return list_of(room + (1u << (29 - __builtin_clz(room))) - 1);
}

static void enlist(assay_owned *b)
{
	unsigned list = list_of(b->room);
	b->home = ASSAY_OF_NOBODY;
	b->before = NULL;
	b->behind = pool.free[list];
	if (b->behind)
		b->behind->before = b;
	pool.free[list] = b;
	pool.some |= (uint64_t)1 << list;
}

static void delist(assay_owned *b)
{
	unsigned list = list_of(b->room);
	if (b->behind)
		b->behind->before = b->before;
	if (b->before)
		b->before->behind = b->behind;
	else
		pool.free[list] = b->behind;
	if (!pool.free[list])
		pool.some &= ~((uint64_t)1 << list);
}

/* The end of a chunk may be looked at by nobody. */
static assay_owned *next_in_chunk(const assay_owned *b)
{
	uintptr_t at = (uintptr_t)b + (size_t)b->room * UNIT;
	return at % CHUNK ? (assay_owned *)at : NULL;
}

static void set_room(assay_owned *b, uint32_t room)
{
	b->room = room;
	assay_owned *next = next_in_chunk(b);
	if (next)
		next->room_before = room;
}

/* No two free blocks lie beside each other: else a chunk would not be seen to be free. */
static void join_next(assay_owned *b)
{
	assay_owned *next = next_in_chunk(b);
	if (!next || next->home != ASSAY_OF_NOBODY)
		return;
	delist(next);
	set_room(b, b->room + next->room);
}

/* What it does not need is free again. */
static void trim(assay_owned *b, uint32_t room)
{
	uint32_t rest = b->room - room;
	if (rest < LEAST)
		return;
	set_room(b, room);
	assay_owned *free = next_in_chunk(b);
	set_room(free, rest);
	join_next(free);
	enlist(free);
}

static assay_owned *new_chunk(void)
{
	assay_owned *b = pool.chunks < CHUNKS_MOST ? map_huge(CHUNK, CHUNK) : MAP_FAILED;
	if ((void *)b == MAP_FAILED)
		return NULL;
	pool.chunks++;
	b->room = CHUNK_UNITS;
	enlist(b);
	return b;
}

static uint32_t units_of(size_t bytes)
{
	return (uint32_t)(assay_whole(bytes, UNIT) / UNIT);
}

static assay_owned *cut(size_t bytes)
{
	uint32_t room = units_of(bytes);
	pthread_mutex_lock(&pool.lock);
	uint64_t lists = pool.some & UINT64_MAX << list_for(room);
	assay_owned *b = lists ? pool.free[__builtin_ctzll(lists)] : new_chunk();
	if (b) {
		delist(b);
		trim(b, room);
		b->home = ASSAY_OF_CHUNK;
	}
	pthread_mutex_unlock(&pool.lock);
	return b;
}

/* To so much room, with what is free behind it. */
static bool refit(assay_owned *b, size_t bytes)
{
	uint32_t room = units_of(bytes);
	pthread_mutex_lock(&pool.lock);
	const assay_owned *next = next_in_chunk(b);
	if (b->room < room && next && b->room + next->room >= room)
		join_next(b);
	bool fits = b->room >= room;
	if (fits)
		trim(b, room);
	pthread_mutex_unlock(&pool.lock);
	return fits;
}

static void give_back(assay_owned *b)
{
	pthread_mutex_lock(&pool.lock);
	join_next(b);
	assay_owned *before = (assay_owned *)((uintptr_t)b - (size_t)b->room_before * UNIT);
	if (b->room_before && before->home == ASSAY_OF_NOBODY) {
		delist(before);
		set_room(before, before->room + b->room);
		b = before;
	}
	bool all = b->room == CHUNK_UNITS;
	pool.chunks -= all;
	if (!all)
		enlist(b);
	pthread_mutex_unlock(&pool.lock);
	if (all)
		munmap(b, CHUNK);
}

/* ------------------------------------------------------------------ blocks */

static assay_owned *new_mapping(size_t bytes)
{
	assay_owned *b = map_pages(bytes);
	if ((void *)b == MAP_FAILED)
		return NULL;
	b->home = ASSAY_OF_SYSTEM;
	return b;
}

static assay_owned *new_block(size_t bytes)
{
	int home = home_of(bytes);
	if (home == ASSAY_OF_MALLOC)
		return calloc(1, bytes);
	assay_owned *b = home == ASSAY_OF_CHUNK ? cut(bytes) : NULL;
	if (!b)
		return new_mapping(bytes);
	memset(b + 1, 0, bytes - sizeof *b);
	return b;
}

static assay_owned *moved_block(assay_owned *old, size_t bytes)
{
	size_t both = (old->bytes < bytes ? old->bytes : bytes) - sizeof *old;
	assay_owned *b = new_block(bytes);
	if (!b)
		return NULL;
	memcpy(b + 1, old + 1, both);
	b->owner = old->owner;
	assay_block_free(old);
	return b;
}

/* Where it is, or with its page tables. NULL: it must be another block, or there is no memory. */
static assay_owned *same_block(assay_owned *b, size_t bytes)
{
	int home = home_of(bytes);
	if (b->home == ASSAY_OF_SYSTEM && home != ASSAY_OF_MALLOC)
		return move_mapping(b, bytes);
	if (b->home != ASSAY_OF_CHUNK || home != ASSAY_OF_CHUNK || !refit(b, bytes))
		return NULL;
	if (bytes > b->bytes)
		memset((char *)b + b->bytes, 0, bytes - b->bytes);
	return b;
}

assay_owned *assay_block_grow(assay_owned *old, size_t bytes)
{
	assay_owned *b = old ? same_block(old, bytes) : new_block(bytes);
	if (!b && old)
		b = moved_block(old, bytes);
	if (b)
		b->bytes = bytes;
	return b;
}

void assay_block_free(assay_owned *b)
{
	if (b->home == ASSAY_OF_CHUNK)
		give_back(b);
	else if (b->home == ASSAY_OF_SYSTEM)
		munmap(b, b->bytes);
	else
		free(b);
}

/* A child that forks while another thread cuts must not find the lock taken. */
static void lock_chunks(void)
{
	pthread_mutex_lock(&pool.lock);
}

static void unlock_chunks(void)
{
	pthread_mutex_unlock(&pool.lock);
}

__attribute__((constructor)) static void keep_forks_whole(void)
{
	pthread_atfork(lock_chunks, unlock_chunks, unlock_chunks);
}

TEST(lists_hold_what_fits)
{
	for (uint32_t room = LEAST; room < CHUNK_UNITS / 2; room += 1 + room / 50) {
		unsigned list = list_for(room);
		CHECK(list_of(room) < SIZES && list < SIZES);
		CHECK(list_of(room) <= list && list <= list_of(room) + 1);
		CHECK(list == list_for(room - 1) || list_of(room - 1) < list);
	}
	return 0;
}

TEST(blocks_keep_their_bytes_and_are_zero_behind_them_through_all_homes)
{
	static const size_t sizes[] = {100,     3000,    5000,    5001, 70000, 71000,
				       3 << 20, 9 << 20, 1 << 20, 6000, 200};
	assay_owned *b = NULL;
	for (int round = 0; round < 3; round++) { /* later ones find what others gave back */
		size_t had = sizeof *b;
		for (size_t i = 0; i < ASSAY_COUNT_OF(sizes); i++) {
			b = assay_block_grow(b, sizes[i]);
			CHECK(b && b->bytes == sizes[i]);
			unsigned char *p = (unsigned char *)b;
			for (size_t k = sizeof *b; k < sizes[i]; k++) {
				CHECK_EQ(p[k], k < had ? k % 250 + 1 : 0);
				p[k] = (unsigned char)(k % 250 + 1);
			}
			had = sizes[i];
		}
		assay_block_free(b);
		b = NULL;
	}
	return 0;
}

/* A pattern of its own in each of many blocks that come, grow and go. */
TEST(blocks_do_not_overlap_and_leave_nothing)
{
	enum { BLOCKS = 64, TURNS = 4000 };
	assay_owned *block[BLOCKS] = {NULL};
	uint64_t seed = 7;
	for (int turn = 0; turn < TURNS; turn++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t i = (uint32_t)(seed >> 33) % BLOCKS;
		size_t bytes = 1000 + ((seed >> 40) & 0x3ffff) * (seed >> 62), old = 0;
		if (block[i])
			old = block[i]->bytes;
		const unsigned char *p = (const unsigned char *)block[i];
		for (size_t k = sizeof **block; k < old; k += 997)
			CHECK_EQ(p[k], i + 1);
		if (seed >> 59 & 1) {
			if (block[i])
				assay_block_free(block[i]);
			block[i] = NULL;
			continue;
		}
		CHECK((block[i] = assay_block_grow(block[i], bytes)) != NULL);
		memset(block[i] + 1, (int)i + 1, bytes - sizeof **block);
	}
	for (int i = 0; i < BLOCKS; i++)
		if (block[i])
			assay_block_free(block[i]);
	return 0;
}

TEST(what_is_free_joins_what_is_free_beside_it)
{
	if (home_of(PAGE) == ASSAY_OF_MALLOC)
		return 0;
	assay_owned *b[4];
	for (int i = 0; i < 4; i++)
		CHECK((b[i] = assay_block_grow(NULL, HUGE - 1)) != NULL);
	for (int i = 0; i < 3; i++)
		if (next_in_chunk(b[i]) != b[i + 1])
			return 0; /* others left gaps */
	assay_block_free(b[0]);
	assay_block_free(b[2]);
	CHECK(b[0]->home == ASSAY_OF_NOBODY && b[2]->home == ASSAY_OF_NOBODY);
	assay_block_free(b[1]);
	CHECK_EQ(b[3]->room_before, b[0]->room);
	CHECK(b[0]->room >= 3 * units_of(HUGE - 1));
	assay_block_free(b[3]);
	return 0;
}

TEST(what_a_block_no_longer_needs_joins_what_is_free_behind_it)
{
	enum { LARGE = HUGE - UNIT, SMALL = HUGE / 4 };
	if (home_of(PAGE) == ASSAY_OF_MALLOC)
		return 0;
	assay_owned *b[3];
	for (int i = 0; i < 3; i++)
		CHECK((b[i] = assay_block_grow(NULL, LARGE)) != NULL);
	if (next_in_chunk(b[0]) != b[1] || next_in_chunk(b[1]) != b[2])
		return 0; /* others left gaps */
	assay_block_free(b[1]);
	CHECK(assay_block_grow(b[0], SMALL) == b[0]);
	const assay_owned *free = next_in_chunk(b[0]);
	CHECK(free->home == ASSAY_OF_NOBODY && next_in_chunk(free) == b[2]);
	CHECK_EQ(free->room, 2 * units_of(LARGE) - units_of(SMALL));
	assay_block_free(b[0]);
	CHECK(b[2]->room_before >= 2 * units_of(LARGE));
	assay_block_free(b[2]);
	return 0;
}

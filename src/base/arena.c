/* Memory that dies together, columns and vectors, made of blocks. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "base/arena.h"

#include <assert.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/blocks.h"
#include "base/test.h"

/* Many arenas hold a few bytes: the first block of one is small. */
enum { BLOCK = 64 << 10, FIRST_BLOCK = 4 << 10, ALIGN = 16, HEAD = 64 };
enum { PAGE = ASSAY_PAGE, HUGE = ASSAY_HUGE_PAGE };
enum { AROUND = 64 << 10 }; /* what Linux maps of a file when one of its pages is looked at */

/* A new block of the newest frame's owner, or one of its blocks with so many bytes. */
static assay_owned *owned_block(assay_owned *old, size_t bytes)
{
	if (bytes > PTRDIFF_MAX - 2 * HUGE)
		assay_oom(bytes);
	if (old)
		assay_owned_leave(old);
	assay_owned *b = assay_block_grow(old, bytes);
	if (!b) {
		if (old)
			assay_owned_return(old);
		assay_oom(bytes);
	}
	if (old)
		assay_owned_return(b);
	else
		assay_own(b);
	return b;
}

static void free_block(assay_owned *b)
{
	assay_disown(b);
	assay_block_free(b);
}

/* ------------------------------------------------------------------ arenas */

struct arena_block {
	assay_owned block;
	struct arena_block *next;
	size_t used, size;
	_Alignas(ALIGN) char bytes[];
};

/* What fills half of a huge page gets whole ones; the rest of them is for what comes next. */
static struct arena_block *new_block(size_t bytes, size_t least)
{
	struct arena_block *b;
	size_t size = sizeof *b + (bytes > least ? bytes : least);
	size = size < HUGE / 2 ? size : assay_whole(size, HUGE);
	b = (struct arena_block *)(void *)owned_block(NULL, size);
	b->size = size - sizeof *b;
	return b;
}

void *assay_alloc(assay_arena *a, size_t bytes)
{
	if (bytes > PTRDIFF_MAX - 2 * HUGE)
		assay_oom(bytes);
	bytes = assay_whole(bytes, ALIGN);
	struct arena_block *b = a->head;
	if (!b || b->size - b->used < bytes) {
		b = new_block(bytes, b ? BLOCK : FIRST_BLOCK);
		b->next = a->head;
		a->head = b;
	}
	assert(b->used % ALIGN == 0);
	void *p = b->bytes + b->used;
	b->used += bytes;
	a->used += bytes;
	return p;
}

char *assay_dup(assay_arena *a, assay_str s)
{
	char *p = assay_alloc(a, s.n + 1);
	if (s.n)
		memcpy(p, s.p, s.n);
	return p;
}

char *assay_printf(assay_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = assay_alloc(a, (size_t)(n > 0 ? n : 0) + 1);
	vsnprintf(p, (size_t)(n > 0 ? n : 0) + 1, fmt, again);
	va_end(again);
	return p;
}

void assay_arena_free(assay_arena *a)
{
	for (struct arena_block *b = a->head, *next; b; b = next) {
		next = b->next;
		free_block(&b->block);
	}
	*a = (assay_arena){0};
}

void assay_arena_reset(assay_arena *a)
{
	struct arena_block *b = a->head;
	if (!b || (!b->next && !b->used))
		return;
	while (b->next) { /* the oldest block is the one to keep, unless it proved to be small */
		struct arena_block *next = b->next;
		if (!next->next && next->size < BLOCK - sizeof *b && b->size < 2 * BLOCK) {
			free_block(&next->block);
			b->next = NULL;
			break;
		}
		free_block(&b->block);
		b = next;
	}
	memset(b->bytes, 0, b->used);
	b->used = 0;
	*a = (assay_arena){.head = b};
}

/* ------------------------------------------------------------------ pages */

/* A column and what else may become large. The head is a line of the cache, so that what is mapped
 * begins with one. */
typedef struct pages {
	assay_owned block;
	bool on_disk;
} pages;
static_assert(sizeof(pages) <= HEAD, "room for the head");

static pages *head_of(void *p)
{
	return p ? (pages *)(void *)((char *)p - HEAD) : NULL;
}

static void *grow_on_disk(void *old, size_t bytes);

void *assay_pages_grow(void *old, size_t bytes)
{
	pages *b = head_of(old);
	if (b && b->on_disk)
		return grow_on_disk(old, bytes);
	if (bytes > PTRDIFF_MAX - 2 * HUGE)
		assay_oom(bytes);
	return (char *)owned_block((assay_owned *)b, HEAD + bytes) + HEAD;
}

void assay_pages_free(void *p)
{
	if (p)
		free_block(&head_of(p)->block);
}

/* -1: none can be made. */
static int nameless_file(void)
{
	const char *dir = getenv("TMPDIR");
	dir = dir && *dir ? dir : P_tmpdir;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	assay_arena scratch = {0};
	char *name = assay_printf(&scratch, "%s/assay-XXXXXX", dir);
	if ((fd = mkostemp(name, O_CLOEXEC)) >= 0)
		unlink(name);
	assay_arena_free(&scratch);
	return fd;
}

void *assay_pages_on_disk(size_t bytes)
{
	bytes += HEAD;
	int fd = nameless_file();
	/* a file with holes would be a fault of the processor when the disk is full */
	bool room = fd >= 0 && !posix_fallocate(fd, 0, (off_t)bytes);
	pages *p = room ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return NULL;
	p->block.bytes = bytes;
	p->block.home = ASSAY_OF_SYSTEM;
	p->on_disk = true;
	assay_own(&p->block);
	return (char *)p + HEAD;
}

/* A little at a time, so that neither of the two is in memory as a whole. */
static void copy_resting(char *to, char *from, size_t bytes)
{
	enum { STEP = 1 << 20 };
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < STEP ? bytes - at : STEP;
		memcpy(to + at, from + at, n);
		assay_pages_rest(to, at, at + n);
		assay_pages_rest(from, at, at + n);
	}
}

static void *grow_on_disk(void *old, size_t bytes)
{
	size_t old_bytes = head_of(old)->block.bytes - HEAD;
	if (bytes <= old_bytes)
		return old;
	char *p = assay_pages_on_disk(bytes);
	p = p ? p : assay_pages_grow(NULL, bytes);
	copy_resting(p, old, old_bytes);
	assay_pages_free(old);
	return p;
}

void *assay_pages_to_disk(void *p)
{
	pages *b = head_of(p);
	size_t bytes = b ? b->block.bytes - HEAD : 0;
	char *moved = !b || b->on_disk ? NULL : assay_pages_on_disk(bytes);
	if (!moved)
		return p;
	copy_resting(moved, p, bytes);
	assay_pages_free(p);
	return moved;
}

void assay_pages_rest(void *p, size_t from, size_t to)
{
	if (!p || !head_of(p)->on_disk)
		return;
	assert(to <= head_of(p)->block.bytes - HEAD);
	/* A look at a page brings in those around it, also those that rest already. */
	uintptr_t head = (uintptr_t)head_of(p), first = (head + HEAD + from) / AROUND * AROUND;
	first = first < head ? head : first;
	uintptr_t end = (head + HEAD + to) / PAGE * PAGE;
	if (first < end)
		madvise((char *)p - HEAD + (first - head), end - first, MADV_DONTNEED);
}

void assay_pages_disown(void *p)
{
	assay_disown(&head_of(p)->block);
}

void assay_keep_memory(void)
{
#ifdef M_MMAP_THRESHOLD                     /* glibc; others have ways of their own */
	mallopt(M_MMAP_THRESHOLD, 4 << 20); /* larger ones go back: they would leave holes */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

void *assay_vec_grow(void *p, size_t *cap, size_t want, size_t width)
{
	size_t n = *cap ? *cap * 2 : 16;
	if (n < want)
		n = want;
	if (n > (PTRDIFF_MAX - 2 * HUGE) / width)
		assay_oom(n > SIZE_MAX / width ? SIZE_MAX : n * width);
	assay_owned *old = p ? (assay_owned *)p - 1 : NULL;
	old = owned_block(old, sizeof *old + n * width);
	*cap = n;
	return old + 1;
}

void assay_vec_release(void *p)
{
	if (p)
		free_block((assay_owned *)p - 1);
}

TEST(pages_keep_their_bytes_and_are_zeroed_behind_them_as_they_grow)
{
	size_t n = 0;
	unsigned char *p = NULL;
	for (size_t more = 100; more < 3 << 20; more = more * 3 + 1) { /* small, then mapped */
		p = assay_pages_grow(p, more);
		for (size_t i = 0; i < more; i++)
			CHECK_EQ(p[i], i < n ? (i % 251) + 1 : 0);
		for (size_t i = n; i < more; i++)
			p[i] = (unsigned char)(i % 251 + 1);
		n = more;
	}
	assay_pages_free(p);
	assay_pages_free(NULL);
	return 0;
}

TEST(pages_on_disk_keep_their_bytes_while_they_rest)
{
	const size_t n = 1 << 20;
	unsigned char *p = assay_pages_on_disk(n);
	CHECK(p && !p[0] && !p[n - 1]);
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(i % 251);
	assay_pages_rest(p, 0, n);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(p[i], i % 251);
	assay_pages_rest(p, 5000, 5001); /* less than a page */
	assay_pages_free(p);
	return 0;
}

TEST(pages_that_went_to_disk_keep_their_bytes_and_grow_there)
{
	enum { MANY = 3 << 20 };
	uint32_t *p = assay_pages_grow(NULL, MANY);
	for (uint32_t i = 0; i < MANY / sizeof *p; i++)
		p[i] = i;
	p = assay_pages_to_disk(p);
	CHECK(head_of(p)->on_disk && assay_pages_to_disk(p) == p);
	p = assay_pages_grow(p, 3 * (size_t)MANY);
	CHECK(head_of(p)->on_disk);
	assay_pages_rest(p, 0, 3 * (size_t)MANY);
	for (uint32_t i = 0; i < MANY / sizeof *p; i++)
		CHECK_EQ(p[i], i);
	CHECK(!p[MANY / sizeof *p] && !p[3 * MANY / sizeof *p - 1]);
	assay_pages_free(p);
	CHECK(!assay_pages_to_disk(NULL));
	return 0;
}

TEST(arena_memory_is_zeroed_and_aligned)
{
	assay_arena a = {0};
	for (size_t n = 0; n < 300; n += 7) {
		char *p = assay_alloc(&a, n);
		CHECK(((uintptr_t)p & (ALIGN - 1)) == 0);
		for (size_t i = 0; i < n; i++)
			CHECK(p[i] == 0);
		memset(p, 0xff, n);
	}
	assay_arena_free(&a);
	return 0;
}

TEST(a_reset_arena_is_zeroed_again)
{
	assay_arena a = {0};
	assay_arena_reset(&a);
	for (int round = 0; round < 3; round++) {
		for (size_t n = 1; n < 200000; n *= 3) {
			char *p = assay_alloc(&a, n);
			CHECK(p[0] == 0 && p[n - 1] == 0);
			memset(p, 0xff, n);
		}
		assay_arena_reset(&a);
		CHECK(a.used == 0);
	}
	assay_arena_free(&a);
	return 0;
}

TEST(a_reset_arena_has_room_for_what_it_held)
{
	assay_arena a = {0};
	assay_alloc(&a, 100);
	assay_alloc(&a, 2 * FIRST_BLOCK);
	const struct arena_block *b = a.head;
	for (int round = 0; round < 3; round++) {
		assay_arena_reset(&a);
		CHECK(a.head == b && !b->next);
		char *p = assay_alloc(&a, 2 * FIRST_BLOCK);
		CHECK(a.head == b && !p[0] && !p[2 * FIRST_BLOCK - 1]);
		p[0] = 1;
	}
	assay_arena_free(&a);
	return 0;
}

TEST(pages_keep_their_contents_when_they_grow)
{
	uint32_t *p = assay_pages_grow(NULL, PAGE);
	p[0] = 1;
	p[1023] = 2;
	CHECK(((uintptr_t)p & 63) == 0);
	p = assay_pages_grow(p, (size_t)HUGE * 2);
	CHECK(p[0] == 1 && p[1023] == 2 && p[1024] == 0);
	assay_pages_free(p);
	return 0;
}

TEST(vectors_grow_by_pushing)
{
	assay_vec(int) v = {0};
	for (int i = 0; i < 1000; i++)
		*assay_push(&v) = i;
	CHECK(v.n == 1000 && v.p[999] == 999);
	assay_vec_free(&v);
	return 0;
}

TEST(large_blocks_begin_at_a_huge_page_and_keep_their_contents)
{
	enum { N = 3 * HUGE / (int)sizeof(uint32_t) };
	assay_vec(uint32_t) v = {0};
	assay_arena a = {0};
	for (uint32_t i = 0; i < N; i++)
		*assay_push(&v) = i; /* first of malloc, then mapped and moved */
	for (uint32_t i = 0; i < N; i++)
		CHECK(v.p[i] == i);
	CHECK(((uintptr_t)v.p - sizeof(assay_owned)) % HUGE == 0);
	char *column = assay_pages_grow(assay_pages_grow(NULL, HUGE / 2), 2 * HUGE);
	CHECK(((uintptr_t)column - HEAD) % HUGE == 0);
	char *large = assay_alloc(&a, HUGE), *next = assay_alloc(&a, HUGE / 4);
	CHECK(next == large + HUGE && !large[HUGE - 1] && !next[HUGE / 4 - 1]);
	assay_arena_free(&a);
	assay_pages_free(column);
	assay_vec_free(&v);
	return 0;
}

static void ask_for_all(void *arg)
{
	assay_vec(uint64_t) v = {0};
	assay_vec_reserve(&v, *(const size_t *)arg);
	assay_vec_free(&v);
}

TEST(a_vector_of_more_bytes_than_there_are_is_refused)
{
	static size_t wants[] = {SIZE_MAX / sizeof(uint64_t), SIZE_MAX / sizeof(uint64_t) + 1,
				 PTRDIFF_MAX / sizeof(uint64_t), SIZE_MAX};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wants); i++) {
		assay_err err = {0};
		CHECK(!assay_try(ask_for_all, &wants[i], &err) && err.text[0]);
	}
	return 0;
}

/* The only file that asks the system for memory. */
#define _GNU_SOURCE /* mremap */
#include "base/arena.h"

#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/owner.h"
#include "base/test.h"

#ifdef __SANITIZE_THREAD__ /* gcc */
#define UNDER_TSAN
#elif defined __has_feature /* clang */
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif

enum { BLOCK = 64 << 10, ALIGN = 16, HUGE_FROM = 2 << 20, PAGE = 4096, HEAD = 64 };

struct arena_block {
	assay_owned block;
	struct arena_block *next;
	size_t used, size;
	_Alignas(ALIGN) char bytes[];
};

void *assay_alloc(assay_arena *a, size_t bytes)
{
	if (bytes > SIZE_MAX - BLOCK - 64)
		assay_oom(bytes);
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	struct arena_block *b = a->head;
	if (!b || b->size - b->used < bytes) {
		size_t size = bytes > BLOCK ? bytes : BLOCK;
		b = calloc(1, sizeof *b + size);
		if (!b)
			assay_oom(size);
		assay_own(&b->block);
		b->size = size;
		b->next = a->head;
		a->head = b;
	}
	void *p = b->bytes + b->used;
	b->used += bytes;
	a->used += bytes;
	return p;
}

static void free_block(void *block)
{
	assay_disown(block);
	free(block);
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
		free_block(b);
	}
	*a = (assay_arena){0};
}

void assay_arena_reset(assay_arena *a)
{
	struct arena_block *b = a->head;
	if (!b || (!b->next && !b->used))
		return;
	while (b->next) { /* the oldest block is the one to keep */
		struct arena_block *next = b->next;
		free_block(b);
		b = next;
	}
	memset(b->bytes, 0, b->used);
	b->used = 0;
	*a = (assay_arena){.head = b};
}

static void *map_pages(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* The thread sanitizer does not see that mremap gives an address up, and takes the next owner of it
 * for a racing one: there, bytes are moved by hand. */
static void *move_pages(void *old, size_t old_bytes, size_t new_bytes)
{
#ifdef UNDER_TSAN
	void *p = map_pages(new_bytes);
	if (p != MAP_FAILED) {
		memcpy(p, old, old_bytes < new_bytes ? old_bytes : new_bytes);
		munmap(old, old_bytes);
	}
	return p;
#else
	return mremap(old, old_bytes, new_bytes, MREMAP_MAYMOVE);
#endif
}

/* A column and what else may become large. The head is a line of the cache, so that what is mapped
 * begins with one. */
typedef struct pages {
	assay_owned block;
	size_t bytes; /* with the head */
} pages;
static_assert(sizeof(pages) <= HEAD, "room for the head");

static pages *head_of(void *p)
{
	return p ? (pages *)(void *)((char *)p - HEAD) : NULL;
}

/* Few bytes do not need a mapping, which costs two calls of the system and a fault. */
static pages *small_or_mapped(pages *old, size_t bytes)
{
	pages *p = bytes <= PAGE ? calloc(1, bytes) : map_pages(bytes);
	if (!p || p == MAP_FAILED)
		return NULL;
	if (old)
		memcpy(p, old, old->bytes < bytes ? old->bytes : bytes);
	p->block.mapped = bytes <= PAGE ? 0 : bytes;
	free(old);
	return p;
}

static pages *larger_mapping(pages *old, size_t bytes)
{
	pages *p = move_pages(old, old->bytes, bytes);
	if (p == MAP_FAILED)
		return NULL;
	p->block.mapped = bytes;
	return p;
}

void *assay_pages_grow(void *old, size_t bytes)
{
	pages *b = head_of(old);
	if (bytes > PTRDIFF_MAX - HEAD)
		assay_oom(bytes);
	bytes += HEAD;
	if (b)
		assay_owned_leave(&b->block);
	pages *p = b && b->block.mapped ? larger_mapping(b, bytes) : small_or_mapped(b, bytes);
	if (!p) {
		if (b)
			assay_owned_return(&b->block);
		assay_oom(bytes);
	}
	p->bytes = bytes;
	if (b)
		assay_owned_return(&p->block);
	else
		assay_own(&p->block);
	if (bytes >= HUGE_FROM)
		madvise(p, bytes, MADV_HUGEPAGE); /* a hint: failure changes nothing */
	return (char *)p + HEAD;
}

void assay_pages_free(void *p)
{
	pages *b = head_of(p);
	if (!b)
		return;
	assay_disown(&b->block);
	if (b->block.mapped)
		munmap(b, b->block.mapped);
	else
		free(b);
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
	if (n > SIZE_MAX / width)
		assay_oom(SIZE_MAX);
	if (n * width > PTRDIFF_MAX - sizeof(assay_owned))
		assay_oom(n * width);
	assay_owned *old = p ? (assay_owned *)p - 1 : NULL;
	if (old)
		assay_owned_leave(old);
	assay_owned *b = realloc(old, sizeof *b + n * width);
	if (!b) {
		if (old)
			assay_owned_return(old);
		assay_oom(n * width);
	}
	if (old) {
		assay_owned_return(b);
	} else {
		b->mapped = 0;
		assay_own(b);
	}
	*cap = n;
	return b + 1;
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

TEST(pages_keep_their_contents_when_they_grow)
{
	uint32_t *p = assay_pages_grow(NULL, PAGE);
	p[0] = 1;
	p[1023] = 2;
	CHECK(((uintptr_t)p & 63) == 0);
	p = assay_pages_grow(p, (size_t)HUGE_FROM * 2);
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

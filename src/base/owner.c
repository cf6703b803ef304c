#include "base/owner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/blocks.h"
#include "base/err.h"
#include "base/test.h"

struct assay_owner {
	pthread_mutex_t lock;
	assay_owned *first;
	bool closed; /* nobody uses it but its blocks */
	atomic_bool lost;
};

static _Thread_local assay_frame *newest;

/* ------------------------------------------------------------------ owners */

assay_owner *assay_owner_new(void)
{
	assay_owner *owner = calloc(1, sizeof *owner);
	if (owner)
		pthread_mutex_init(&owner->lock, NULL);
	return owner;
}

static void free_owner(assay_owner *owner)
{
	pthread_mutex_destroy(&owner->lock);
	free(owner);
}

static void free_blocks(assay_owner *owner)
{
	for (assay_owned *b = owner->first, *next; b; b = next) {
		next = b->behind;
		assay_block_free(b);
	}
	owner->first = NULL;
}

void assay_owner_free(assay_owner *owner)
{
	if (!owner)
		return;
	if (owner->lost)
		free_blocks(owner);
	pthread_mutex_lock(&owner->lock);
	owner->closed = true;
	bool empty = !owner->first;
	pthread_mutex_unlock(&owner->lock);
	if (empty)
		free_owner(owner);
}

bool assay_owner_is_lost(const assay_owner *owner)
{
	return owner->lost;
}

void assay_owned_return(assay_owned *b)
{
	assay_owner *owner = b->owner;
	if (!owner)
		return;
	pthread_mutex_lock(&owner->lock);
	b->before = NULL;
	b->behind = owner->first;
	if (owner->first)
		owner->first->before = b;
	owner->first = b;
	pthread_mutex_unlock(&owner->lock);
}

void assay_own(assay_owned *b)
{
	b->owner = newest ? newest->owner : NULL;
	assay_owned_return(b);
}

static bool leave(assay_owned *b)
{
	assay_owner *owner = b->owner;
	pthread_mutex_lock(&owner->lock);
	if (b->before)
		b->before->behind = b->behind;
	else
		owner->first = b->behind;
	if (b->behind)
		b->behind->before = b->before;
	bool last = owner->closed && !owner->first;
	pthread_mutex_unlock(&owner->lock);
	return last;
}

void assay_owned_leave(assay_owned *b)
{
	if (b->owner)
		leave(b);
}

void assay_disown(assay_owned *b)
{
	if (b->owner && leave(b))
		free_owner(b->owner);
	b->owner = NULL;
}

/* ------------------------------------------------------------------ frames */

static void push(assay_frame *f, assay_owner *owner, assay_err *err, bool entry)
{
	f->outer = newest;
	f->newest = NULL;
	f->owner = owner;
	f->err = err;
	f->entry = entry;
	f->inside = false;
	newest = f;
}

bool assay_enter(assay_frame *f, assay_owner *owner, assay_err *err)
{
	if (owner && owner->lost)
		return assay_fail(err, ASSAY_LIMIT, 0,
				  "the run ran out of memory before and is no longer whole");
	if (owner)
		push(f, owner, err, true);
	else
		f->inside = true;
	return true;
}

void assay_enter_program(assay_frame *f, assay_err *err)
{
	push(f, NULL, err, false);
}

void assay_enter_inside(assay_frame *f, assay_err *err)
{
	push(f, newest ? newest->owner : NULL, err, false);
}

void assay_leave(assay_frame *f)
{
	if (f->inside)
		return;
	assert(newest == f); /* frames are left in the order of the stack */
	while (f->newest)    /* what stays open is no longer this call's to undo */
		assay_undo_drop(f->newest);
	newest = f->outer;
}

bool assay_is_inside(void)
{
	return newest != NULL;
}

bool assay_try(void (*work)(void *arg), void *arg, assay_err *err)
{
	assay_frame f;
	assay_enter_inside(&f, err);
	if (setjmp(f.out))
		return false;
	work(arg);
	assay_leave(&f);
	return true;
}

void assay_undo_add(assay_undo *u, void (*undo)(void *arg), void *arg)
{
	*u = (assay_undo){.undo = undo, .arg = arg};
	if (!newest)
		return;
	u->link = &newest->newest;
	u->below = newest->newest;
	if (u->below)
		u->below->link = &u->below;
	newest->newest = u;
}

void assay_undo_drop(assay_undo *u)
{
	if (!u->link)
		return;
	*u->link = u->below;
	if (u->below)
		u->below->link = u->link;
	u->link = NULL;
}

static void close_fd(void *fd)
{
	close((int)(intptr_t)fd);
}

void assay_undo_fd(assay_undo *u, int fd)
{
	assay_undo_add(u, close_fd, (void *)(intptr_t)fd);
}

static void close_dir(void *d)
{
	closedir(d);
}

void assay_undo_dir(assay_undo *u, DIR *d)
{
	assay_undo_add(u, close_dir, d);
}

/* Undoing may give up, too: the rest is undone then, and the frame is the same. */
static _Noreturn void unwind(assay_frame *f)
{
	if (f->entry)
		f->owner->lost = true;
	while (f->newest) {
		assay_undo *u = f->newest;
		assay_undo_drop(u);
		u->undo(u->arg);
	}
	newest = f->outer;
	longjmp(f->out, 1);
}

_Noreturn void assay_give_up(assay_code code, const char *fmt, ...)
{
	char text[sizeof((assay_err *)0)->text];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (newest) {
		assay_fail(newest->err, code, 0, "%s", text);
		unwind(newest);
	}
	fprintf(stderr, "assay: %s\n", text);
	abort();
}

_Noreturn void assay_oom(size_t bytes)
{
	assay_give_up(ASSAY_LIMIT, "out of memory: there are no %zu bytes more", bytes);
}

/* ------------------------------------------------------------------ locks and threads */

static void unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

void assay_hold(assay_held *h, pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	h->lock = lock;
	assay_undo_add(&h->undo, unlock, lock);
}

void assay_unhold(assay_held *h)
{
	assay_undo_drop(&h->undo);
	pthread_mutex_unlock(h->lock);
}

static void *run_thread(void *arg)
{
	assay_thread *t = arg;
	assay_frame f;
	if (!t->in_frame) {
		t->work(t->arg);
		return NULL;
	}
	push(&f, t->owner, &t->err, false);
	if (setjmp(f.out))
		return NULL;
	t->work(t->arg);
	assay_leave(&f);
	return NULL;
}

bool assay_thread_start(assay_thread *t, void (*work)(void *arg), void *arg)
{
	*t = (assay_thread){.work = work,
			    .arg = arg,
			    .in_frame = newest != NULL,
			    .owner = newest ? newest->owner : NULL};
	return pthread_create(&t->id, NULL, run_thread, t) == 0;
}

void assay_thread_join(assay_thread *t)
{
	pthread_join(t->id, NULL);
}

void assay_thread_fail_as(const assay_thread *t)
{
	if (t->err.code != ASSAY_OK)
		assay_give_up(t->err.code, "%s", t->err.text);
}

/* ------------------------------------------------------------------ tests */

struct trail {
	assay_undo a, b;
	char text[8];
};

static void note_a(void *arg)
{
	strcat(((struct trail *)arg)->text, "a");
}

static void note_b(void *arg)
{
	strcat(((struct trail *)arg)->text, "b");
}

static bool fails(assay_owner *owner, struct trail *t, bool drop, assay_err *err)
{
	assay_frame f;
	assay_arena a = {0};
	ASSAY_ENTER(&f, owner, err, true);
	assay_undo_add(&t->a, note_a, t);
	assay_undo_add(&t->b, note_b, t);
	assay_alloc(&a, 100000);
	if (drop)
		assay_undo_drop(&t->a);
	assay_alloc(&a, SIZE_MAX / 2);
	assay_leave(&f);
	return false;
}

TEST(a_call_without_memory_undoes_what_is_open_and_loses_its_owner)
{
	assay_err err = {0};
	for (int drop = 0; drop < 2; drop++) {
		struct trail t = {0};
		assay_owner *owner = assay_owner_new();
		CHECK(fails(owner, &t, drop, &err) && assay_owner_is_lost(owner));
		CHECK(!strcmp(t.text, drop ? "b" : "ba") && err.code == ASSAY_LIMIT);
		CHECK(strstr(err.text, "out of memory") && !assay_is_inside());
		CHECK(fails(owner, &t, drop, &err) && strstr(err.text, "before"));
		assay_owner_free(owner); /* and the 100000 bytes */
	}
	return 0;
}

static void want_much(void *arg)
{
	assay_alloc(arg, SIZE_MAX / 2);
}

TEST(work_that_is_tried_comes_back_when_it_gives_up)
{
	assay_err err = {0};
	assay_arena a = {0};
	struct trail t = {0};
	CHECK(!assay_try(want_much, &a, &err) && strstr(err.text, "out of memory"));
	CHECK(assay_try(note_a, &t, &err) && !strcmp(t.text, "a") && !assay_is_inside());
	assay_arena_free(&a);
	return 0;
}

static bool thread_fails(assay_owner *owner, assay_err *err)
{
	assay_frame f;
	assay_arena a = {0};
	assay_thread t;
	ASSAY_ENTER(&f, owner, err, true);
	bool started = assay_thread_start(&t, want_much, &a);
	if (started)
		assay_thread_join(&t);
	if (started)
		assay_thread_fail_as(&t);
	assay_leave(&f);
	return !started;
}

TEST(a_thread_without_memory_is_told_to_who_joins_it)
{
	assay_err err = {0};
	assay_owner *owner = assay_owner_new();
	CHECK(thread_fails(owner, &err) && strstr(err.text, "out of memory"));
	assay_owner_free(owner);
	return 0;
}

TEST(what_outlives_its_owner_keeps_it)
{
	assay_frame f;
	assay_owner *owner = assay_owner_new();
	assay_vec(int) v = {0};
	CHECK(assay_enter(&f, owner, NULL));
	*assay_push(&v) = 1;
	assay_leave(&f);
	assay_owner_free(owner);
	while (v.n < 1000)
		*assay_push(&v) = 2;
	assay_vec_free(&v);
	return 0;
}

/* Leaving a call that finds no memory, from wherever it is.
 *
 * A frame is the place to return to: an entry of the library, a thread, a callback of SQLite. What
 * is open between a frame and the failure (files, databases, locks, threads) has said how it is
 * undone; memory belongs to the owner of the frame, a run, and goes with it. So nothing in between
 * looks at allocations, and nothing is left behind. Frames and undos are of one thread each. */
#ifndef ASSAY_BASE_OWNER_H
#define ASSAY_BASE_OWNER_H

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>

#include <assay/assay.h>

typedef struct assay_owner assay_owner;

/* How to undo what is open. It lies in what it undoes, or on the stack. */
typedef struct assay_undo {
	struct assay_undo *below, **link; /* link NULL: in no frame */
	void (*undo)(void *arg);
	void *arg;
} assay_undo;

typedef struct assay_frame {
	jmp_buf out;
	struct assay_frame *outer;
	assay_undo *newest;
	assay_owner *owner; /* of new memory; NULL: nobody */
	assay_err *err;     /* or NULL */
	bool entry;         /* its owner is lost when this frame is returned to */
	bool inside;        /* of a frame that has the same owner: that one is returned to */
} assay_frame;

assay_owner *assay_owner_new(void); /* NULL: no memory */
/* Frees all it has when it is lost; else it has nothing, or goes with the last it has. */
void assay_owner_free(assay_owner *owner);
bool assay_owner_is_lost(const assay_owner *owner);

/* An entry of the library. False, with a sentence, when the owner is lost: what it has is not
 * whole. Without an owner the work belongs to the frame around it. */
bool assay_enter(assay_frame *f, assay_owner *owner, assay_err *err);
/* A frame for the program itself, which ends where it fails: memory is nobody's. */
void assay_enter_program(assay_frame *f, assay_err *err);
/* A frame with the owner of the one around it, to return to what is not ours. */
void assay_enter_inside(assay_frame *f, assay_err *err);
void assay_leave(assay_frame *f);
bool assay_is_inside(void); /* of any frame */

/* A macro, for setjmp() must be called by the function that is returned to. */
#define ASSAY_ENTER(f, owner, err, failed)                                                         \
	do {                                                                                       \
		if (!assay_enter(f, owner, err))                                                   \
			return failed;                                                             \
		if (setjmp((f)->out))                                                              \
			return failed;                                                             \
	} while (0)

/* Work in a frame of its own; false, with a sentence, when it gave up. For threads that go on. */
bool assay_try(void (*work)(void *arg), void *arg, assay_err *err);

/* The newest is undone first. Each is dropped by who added it, before it is gone. */
void assay_undo_add(assay_undo *u, void (*undo)(void *arg), void *arg);
void assay_undo_drop(assay_undo *u);
/* Descriptors and folders that are read. */
void assay_undo_fd(assay_undo *u, int fd);
void assay_undo_dir(assay_undo *u, DIR *d);

/* Undo all since the newest frame and return to it. Without a frame: say it, and abort. */
_Noreturn void assay_give_up(assay_code code, const char *fmt, ...) ASSAY_PRINTF(2, 3);
_Noreturn void assay_oom(size_t bytes);

/* A mutex that a failure unlocks. */
typedef struct assay_held {
	assay_undo undo;
	pthread_mutex_t *lock;
} assay_held;
void assay_hold(assay_held *h, pthread_mutex_t *lock);
void assay_unhold(assay_held *h);

/* A thread whose memory has the owner of the frame that starts it. */
typedef struct assay_thread {
	pthread_t id;
	void (*work)(void *arg);
	void *arg;
	bool in_frame;
	assay_owner *owner;
	assay_err err; /* code OK: it came to its end */
} assay_thread;
bool assay_thread_start(assay_thread *t, void (*work)(void *arg), void *arg);
void assay_thread_join(assay_thread *t);
/* Gives up as the thread did that was joined, if it did. */
void assay_thread_fail_as(const assay_thread *t);

typedef struct assay_owned assay_owned; /* a block of memory (base/blocks.h) */

void assay_own(assay_owned *b); /* by the owner of the newest frame */
void assay_disown(assay_owned *b);
/* While a block moves, its owner does not know it. */
void assay_owned_leave(assay_owned *b);
void assay_owned_return(assay_owned *b);

#endif

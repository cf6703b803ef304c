/* Where a thread is outside Python: the functions on its native stack, told apart by the unwind
 * tables that libraries carry (.eh_frame). Nothing is called and nobody stopped: registers come
 * from /proc or from perf events, memory through reads that cannot fault. The sampler's thread
 * only, but for gathering. */
#ifndef ASSAY_RECORD_NATIVE_H
#define ASSAY_RECORD_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_NATIVE_DEPTH = 64, ASSAY_NATIVE_STACK = 16384, ASSAY_NATIVE_BUILD_ID = 20 };

/* A loaded object. */
typedef struct assay_native_object {
	uintptr_t base;          /* what addresses of its file are moved by */
	uintptr_t begin, end;    /* of its code */
	uintptr_t table;         /* .eh_frame_hdr; 0 none */
	const char *path;        /* as the loader knows it; of the program itself by /proc */
	uint32_t serial;         /* another one for every object that was ever seen */
	uint8_t build_id_length; /* 0 none */
	uint8_t build_id[ASSAY_NATIVE_BUILD_ID];
} assay_native_object;

/* native_objects.c, called by a thread that may wait: see what was loaded and unloaded, where the
 * sampler asked for that. */
void assay_native_gather(void);
void assay_native_ask(void);
/* Take up what was gathered, and ask again now and then. */
void assay_native_refresh(void);
/* How often anything had. */
uint32_t assay_native_changes(void);
/* The object whose code holds an address, NULL none; valid until the next refresh. */
assay_native_object *assay_native_object_at(uintptr_t pc);

/* How to get from a function to its caller (x86-64). */
typedef struct assay_native_rule {
	uintptr_t function; /* where it begins; 0: no table knows the address */
	int32_t frame;      /* begin of the caller's frame, counted from `from` */
	int32_t ret, bp;    /* saved there, counted from the frame; bp 0: as it was */
	uint8_t from;       /* ASSAY_NATIVE_... */
	bool bp_at_bp;      /* the caller's bp is where bp points to */
} assay_native_rule;
enum {
	ASSAY_NATIVE_LOST, /* the table says it in a way we do not follow */
	ASSAY_NATIVE_SP,
	ASSAY_NATIVE_BP,
	ASSAY_NATIVE_AT_BP, /* stands in memory there: functions that align their frame */
	ASSAY_NATIVE_LAST,  /* nobody called it */
};

/* native_rules.c: for an address inside a function, from the object's table. */
assay_native_rule assay_native_rule_at(const assay_native_object *o, uintptr_t pc);

/* What is known of a thread. */
typedef struct assay_native_regs {
	uintptr_t pc, sp, bp;
	bool has_bp;
} assay_native_regs;

/* A function on a native stack. */
typedef struct assay_native_call {
	assay_native_object *object;
	uintptr_t function; /* where it begins, or the address itself when no table knows it */
} assay_native_call;

/* native_walk.c: from the innermost call on, up to the first one inside the object that holds
 * `stop` (0 none), which is the last. copy: n bytes of the stack from regs->sp on. */
uint32_t assay_native_walk(const assay_native_regs *regs, const char *copy, size_t n,
			   uintptr_t stop, assay_native_call *out);
/* The same of a thread that is blocked; its stack is read. */
uint32_t assay_native_walk_blocked(uintptr_t pc, uintptr_t sp, uintptr_t stop,
				   assay_native_call *out);

/* native_perf.c: what the system takes down of a thread while it runs. */
typedef struct assay_native_watch {
	int fd; /* 0: none */
	bool asked;
	void *ring;
} assay_native_watch;

/* Begin; nothing where the system forbids it. every: ns of processor time. */
void assay_native_watch_begin(assay_native_watch *w, uint32_t tid, int64_t every);
void assay_native_watch_end(assay_native_watch *w);
/* Have the next moment taken down. The thread is interrupted for it, which is dear in a virtual
 * machine: about 70 us. */
void assay_native_watch_ask(assay_native_watch *w);
/* Calls at the moment since `since` that was asked for; 0 while it has not come. */
uint32_t assay_native_watch_calls(assay_native_watch *w, int64_t since, uintptr_t stop,
				  assay_native_call *out);

#endif

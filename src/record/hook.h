/* Standing in for functions of other libraries, by the addresses that loaded objects call them
 * through. */
#ifndef ASSAY_RECORD_HOOK_H
#define ASSAY_RECORD_HOOK_H

#include <stdbool.h>
#include <stddef.h>

typedef void assay_any_fn(void);

typedef struct assay_hook {
	const char *name;
	assay_any_fn *ours;
	bool marked_only; /* in objects that `of` marks, and not in those it only takes */
} assay_hook;

typedef enum assay_hook_object {
	ASSAY_HOOK_LEAVE,
	ASSAY_HOOK_TAKE,
	ASSAY_HOOK_MARKED
} assay_hook_object;

enum { ASSAY_HOOK_DONE = 1024 };

typedef struct assay_hooks {
	const assay_hook *hook;
	size_t n;
	/* What to do with an object: its file name without folders, and whether it names a library
	 * that starts with `needs`. */
	assay_hook_object (*of)(const char *file, bool names_it);
	const char *needs;
	/* What any other name that starts so becomes in objects that are taken; NULL: it stays. May
	 * be NULL. */
	const char *start;
	assay_any_fn *(*other)(const char *name);
	/* what changes, while the loader is at rest: */
	unsigned long long seen, gone; /* objects loaded and unloaded when last looked */
	const void *done[ASSAY_HOOK_DONE];
	size_t done_n; /* objects that were looked at */
} assay_hooks;

/* Into every object that is loaded; cheap when none was since the last time. Waits for a loading
 * that is under way on another thread. */
void assay_hook_install(assay_hooks *h);

#endif

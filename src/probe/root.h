/* Every file a probe looks at is reached through here, so that an unpacked image is probed exactly
 * as the running host is: paths are absolute inside the root, symbolic links are resolved inside
 * it, and nothing but regular files and directories is ever opened (a FIFO or a device cannot hold
 * us). */
#ifndef ASSAY_PROBE_ROOT_H
#define ASSAY_PROBE_ROOT_H

#include <sys/stat.h>

#include <assay/assay.h>

#include "base/arena.h"
#include "base/owner.h"
#include "base/str.h"

#define ASSAY_CAUSE_LIST(X)                                                                        \
	X(NONE, "fine")                                                                            \
	X(MISSING, "does not exist")                                                               \
	X(DENIED, "permission denied")                                                             \
	X(NOT_FILE, "is not a regular file")                                                       \
	X(NOT_DIR, "is not a directory")                                                           \
	X(TOO_LARGE, "is larger than a file of its kind can be")                                   \
	X(LOOP, "is a loop of symbolic links")                                                     \
	X(NOT_UTF8, "is not UTF-8 text")                                                           \
	X(EMPTY, "is empty")                                                                       \
	X(CHANGED, "changed while it was read")                                                    \
	X(IO, "could not be read")                                                                 \
	X(LEFT, "was not read any more")

typedef enum assay_cause {
#define X(id, text) ASSAY_CAUSE_##id,
	ASSAY_CAUSE_LIST(X)
#undef X
} assay_cause;

const char *assay_cause_text(assay_cause cause);

/* Folders in which something could not be looked at, for another reason than that it is not there;
 * the kernel's own are left out. */
typedef struct assay_shut {
	assay_arena *a;
	assay_vec(const char *) folders;
} assay_shut;

typedef struct assay_root {
	int fd;
	const char *path; /* as given; "/" for the host */
	bool host;        /* the running system itself: the kernel and NVML may be asked too */
	bool no_openat2;  /* old kernel or a seccomp filter: resolve by hand */
	assay_shut *shut; /* NULL: nobody asks */
	assay_undo undo;
} assay_root;

bool assay_root_open(assay_root *root, const char *path, assay_err *err);
void assay_root_close(assay_root *root);

/* Follows links; false when it is not there or cannot be looked at. */
bool assay_root_stat(const assay_root *root, const char *path, struct stat *st);
bool assay_root_is_file(const assay_root *root, const char *path);
bool assay_root_is_dir(const assay_root *root, const char *path);
/* Anything by that name, links not followed. */
bool assay_root_exists(const assay_root *root, const char *path);
/* Path with every link resolved, from the arena; NULL when it leads nowhere. */
char *assay_root_real(const assay_root *root, assay_arena *a, const char *path);
/* Text of the link itself; NULL when it is none. */
char *assay_root_link(const assay_root *root, assay_arena *a, const char *path);

/* A regular file opened for reading, or -1. */
int assay_root_fd(const assay_root *root, const char *path, struct stat *st, assay_cause *cause);
/* The whole file, NUL-terminated and padded for base/json. A file of more than cap bytes is
 * TOO_LARGE, not cut. */
assay_cause assay_root_read(const assay_root *root, assay_arena *a, const char *path, size_t cap,
			    assay_str *out);
/* The same, trimmed, and EMPTY or NOT_UTF8 when it is no text. */
assay_cause assay_root_text(const assay_root *root, assay_arena *a, const char *path, char **out);

typedef struct assay_entry {
	const char *name;
	unsigned char type; /* DT_REG, DT_DIR, DT_LNK, ... from <dirent.h>; never DT_UNKNOWN */
} assay_entry;

typedef struct assay_entries {
	assay_entry *p; /* sorted by bytes */
	size_t n;
} assay_entries;

enum { ASSAY_ENTRIES_MAX = 2000000 };
/* Names in a directory, without "." and "..". TOO_LARGE past ASSAY_ENTRIES_MAX. */
assay_cause assay_root_list(const assay_root *root, assay_arena *a, const char *path,
			    assay_entries *out);

#endif

/* A file's bytes, read in as they are asked for. It looks like a mapping and is none: a library
 * that pip replaces or shortens meanwhile reads as zeros past its new end, where a mapping would
 * end the process with SIGBUS. */
#ifndef ASSAY_PROBE_WINDOW_H
#define ASSAY_PROBE_WINDOW_H

#include "probe/root.h"

typedef struct assay_window {
	unsigned char *p; /* n bytes; only those asked for hold the file's */
	size_t n;
	struct stat st;
	bool shrunk; /* the file ended before its size did */
	int fd;
	unsigned char *loaded; /* one bit a chunk */
	size_t loaded_bytes;
	assay_undo undo;
} assay_window;

/* EMPTY for a file without a byte; nothing to close then, nor after any other failure. */
assay_cause assay_window_open(assay_window *w, const assay_root *root, const char *path);
/* Bring in bytes at..at+n, as far as they are inside. */
void assay_window_need(assay_window *w, uint64_t at, uint64_t n);
/* All of it, as text. */
assay_str assay_window_all(assay_window *w);
void assay_window_close(assay_window *w);

#endif

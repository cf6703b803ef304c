/* A file's bytes, read in as they are asked for. It looks like a mapping and is none: a library
 * that pip replaces or shortens meanwhile reads as zeros past its new end, where a mapping would
 * end the process with SIGBUS. */
#ifndef ASSAY_PROBE_FILE_BYTES_H
#define ASSAY_PROBE_FILE_BYTES_H

#include "probe/root.h"

typedef struct assay_file_bytes {
	unsigned char *p; /* n bytes; only those asked for hold the file's */
	size_t n;
	struct stat st;
	bool shrunk; /* the file ended before its size did */
	int fd;
	unsigned char *loaded; /* one bit a chunk */
	size_t loaded_bytes;
	assay_undo undo;
} assay_file_bytes;

/* EMPTY for a file without a byte; nothing to close then, nor after any other failure. */
assay_cause assay_file_bytes_open(assay_file_bytes *w, const assay_root *root, const char *path);
/* Bring in bytes at..at+n, as far as they are inside. */
void assay_file_bytes_need(assay_file_bytes *w, uint64_t at, uint64_t n);
/* All of it, as text. */
assay_str assay_file_bytes_all(assay_file_bytes *w);
void assay_file_bytes_close(assay_file_bytes *w);

#endif

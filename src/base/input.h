/* Bytes of a file as one growing text, whatever it is packed in (plain, gzip, zstd, zip, a pipe).
 *
 * Text is read or unpacked into a ring that is mapped twice in a row, so every view is contiguous;
 * the thread that needs bytes fetches them itself. Bytes already dropped cost no memory. The file
 * itself is never mapped: one that becomes shorter would end the program, and a library has no
 * business with the signals of its host. A byte order mark (UTF-8) in front is not shown. Views and
 * drops may come from several threads. */
#ifndef ASSAY_BASE_INPUT_H
#define ASSAY_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/assay.h>

typedef struct assay_input assay_input;

/* Bytes past the end of a view that may be loaded (their value is anything). */
enum { ASSAY_PAD = 64 };

typedef struct assay_view {
	const char *p; /* text at the asked position */
	size_t n;      /* bytes there now, at least what was asked for unless end */
	bool end;      /* the text ends at p + n */
} assay_view;

assay_input *assay_input_open(const char *path, assay_err *err); /* "-" is standard input */
/* Text in memory as an input: copied, so it may have any alignment and no padding. */
assay_input *assay_input_memory(const void *p, size_t n);
void assay_input_close(assay_input *in);

/* A view of at least want bytes from pos (fewer at the end of the text). Valid until pos is
 * dropped. */
assay_view assay_input_view(assay_input *in, uint64_t pos, size_t want);
/* Text for one thread, in memory of its own where the input is a plain file: threads then read at
 * the same time, each into the cache of its processor. Zero at first. */
typedef struct assay_piece {
	char *p;
	size_t room, n;
	uint64_t at; /* position of p[0] */
} assay_piece;
/* As assay_input_view(), valid until the thread asks again. */
assay_view assay_input_piece(assay_input *in, assay_piece *piece, uint64_t pos, size_t want);
void assay_piece_free(assay_piece *piece);
/* From here on up to so many threads unpack ahead of the views, where the packing allows it and
 * that is faster; the text and what is said of it are the same. */
void assay_input_spread(assay_input *in, unsigned threads);
/* Nothing before pos will be viewed again. */
void assay_input_drop(assay_input *in, uint64_t pos);

const char *assay_input_path(const assay_input *in);
const char *assay_input_packing(const assay_input *in); /* "plain", "gzip", "zstd", "zip" */
uint64_t assay_input_file_bytes(const assay_input *in); /* packed size; 0 for a pipe */
uint64_t assay_input_file_pos(assay_input *in);         /* packed bytes used so far, for progress */
uint64_t assay_input_text_bytes(assay_input *in);       /* unpacked so far */
/* NULL, or one sentence why the text ends early: a damaged or cut archive, a read error. */
const char *assay_input_damage(assay_input *in);
/* NULL, or one sentence about what others did to the file since it was opened. */
const char *assay_input_change(assay_input *in);

/* Whether bytes may also be had from any place at any time: so of plain files and of memory. */
bool assay_input_is_at_will(const assay_input *in);
/* n bytes from pos of such an input, read afresh, by any number of threads; fewer at its end, and
 * where the file became shorter. */
size_t assay_input_read_at(assay_input *in, uint64_t pos, void *to, size_t n);
/* The same; that the file became shorter is then its damage. */
size_t assay_input_fetch(assay_input *in, uint64_t pos, void *to, size_t n);

#endif

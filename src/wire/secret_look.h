/* What secrets and their names look like. */
#ifndef ASSAY_WIRE_SECRET_LOOK_H
#define ASSAY_WIRE_SECRET_LOOK_H

#include <stdbool.h>
#include <stddef.h>

/* What a name says of the value behind it. */
typedef enum assay_secret_kind {
	ASSAY_SECRET_NONE,
	ASSAY_SECRET_PIN,   /* four digits or more; anything else is where a thread is pinned */
	ASSAY_SECRET_WORD,  /* a key or token; a short number is a count: max_tokens=512 */
	ASSAY_SECRET_NUMBER /* a password, which may be a number */
} assay_secret_kind;

bool assay_is_digit(char c);
bool assay_is_letter(char c);
bool assay_is_one_of(char c, const char *set);
int assay_hex_digit(char c);
/* The last letters are those of `word`, which is in capitals. */
bool assay_ends_with(const char *p, size_t n, const char *word);
bool assay_is_word(const char *p, size_t n, const char *word);
bool assay_is_word_of(const char *p, size_t n, const char *const *words, size_t count);

assay_secret_kind assay_secret_name(const char *name, size_t n);
/* Numbers, switches and nothing at all give nothing away: NCCL_IB_PKEY=0. */
bool assay_is_harmless(const char *p, size_t n, assay_secret_kind kind);
/* A token by its look alone, at the beginning of the text. */
bool assay_looks_secret(const char *p, size_t n);
/* Nothing but a key's or a digest's hex digits; the name before it may say which. */
bool assay_is_bare_hex(const char *p, size_t n);
bool assay_names_digest(const char *name, size_t n);
/* Letters and digits so mixed as only chance does it, of three kinds. */
bool assay_looks_random(const char *p, size_t n);
/* So many letters and digits as a prefix of its maker is followed by, nothing else. */
bool assay_is_run(const char *p, size_t n, const char *others);

#endif

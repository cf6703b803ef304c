/* The one JSON writer: commas, nesting and escaping in one place. Text goes to memory, and from
 * there to a file where one is given. */
#ifndef ASSAY_BASE_JSONW_H
#define ASSAY_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/str.h"

typedef struct assay_jsonw {
	assay_vec(char) out;
	uint32_t depth;
	bool comma;    /* a value precedes on this level */
	bool compact;  /* no line breaks */
	uint64_t flat; /* bit per level: written on one line */
	FILE *to;      /* where the text goes when there is much of it; NULL: it is kept */
} assay_jsonw;

void assay_jsonw_free(assay_jsonw *w);
/* NUL-terminated text so far, all of it where it goes to no file. */
assay_str assay_jsonw_text(assay_jsonw *w);
/* What is left goes to the file. */
void assay_jsonw_flush(assay_jsonw *w);

void assay_jsonw_open(assay_jsonw *w, const char *key, char bracket); /* key NULL inside arrays */
void assay_jsonw_open_flat(assay_jsonw *w, const char *key, char bracket); /* on one line */
void assay_jsonw_close(assay_jsonw *w, char bracket);
void assay_jsonw_str(assay_jsonw *w, const char *key, assay_str s);
void assay_jsonw_z(assay_jsonw *w, const char *key, const char *z); /* NULL writes null */
void assay_jsonw_i64(assay_jsonw *w, const char *key, int64_t v);
void assay_jsonw_i64_if(assay_jsonw *w, const char *key, bool known, int64_t v); /* else null */
void assay_jsonw_u64(assay_jsonw *w, const char *key, uint64_t v);
void assay_jsonw_hex(assay_jsonw *w, const char *key, uint64_t v); /* as text; null: UINT64_MAX */
void assay_jsonw_f64(assay_jsonw *w, const char *key,
		     double v); /* shortest that reads back; NaN is null */
void assay_jsonw_bool(assay_jsonw *w, const char *key, bool v);
void assay_jsonw_null(assay_jsonw *w, const char *key);
/* Text that is JSON already, as it is. */
void assay_jsonw_raw(assay_jsonw *w, const char *key, assay_str json);
/* JSON text from elsewhere, written anew value by value on one line; false, and nothing is written,
 * when it is not sound. The caller empties scratch. */
bool assay_jsonw_copy(assay_jsonw *w, assay_str json, assay_arena *scratch);
/* Texts of JSON and what assay_jsonw_copy() made of them: those of events are the same again and
 * again. Starts as zeros. */
typedef struct assay_json_forms {
	assay_pool raw;
	assay_vec(assay_str) form; /* by id - 1; without a pointer: not sound */
	assay_jsonw made;          /* the newest one */
	assay_arena arena;
} assay_json_forms;
/* As assay_jsonw_copy(). */
bool assay_jsonw_copy_known(assay_jsonw *w, assay_str json, assay_arena *scratch,
			    assay_json_forms *f);
void assay_json_forms_free(assay_json_forms *f);
/* A key that is not a literal (may hold anything). */
void assay_jsonw_key(assay_jsonw *w, assay_str key);

#endif

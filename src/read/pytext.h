/* Text as Python's standard library takes it: numbers, lines, CSV, JSON. `--like goblin` promises
 * another tool's results, and what that tool accepts is decided by these rules. */
#ifndef ASSAY_READ_PYTEXT_H
#define ASSAY_READ_PYTEXT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

assay_str py_strip(assay_str s); /* ASCII white space, \x1c..\x1f too */
/* float(s): spaces around, digits grouped by '_', inf, nan. No Unicode digits. */
bool py_float(assay_str s, double *out);
/* str.splitlines(): the next line without its end. */
bool py_line(assay_str *rest, assay_str *line);
/* json.loads() would take it: RFC 8259 plus NaN, Infinity, -Infinity and lone surrogates. The text
 * needs ASSAY_PAD readable bytes behind it. */
bool py_json_valid(assay_str text);

/* csv.reader with the default dialect. */
typedef struct py_csv {
	const char *p, *end;
	assay_vec(char) bytes;
	assay_vec(size_t) ends; /* of each field in bytes */
	assay_vec(assay_str) cells;
	size_t chars;  /* of the field so far */
	bool too_long; /* a field over 131072 characters: the rest cannot be read */
} py_csv;

/* The next record in cells; an empty line is a record without cells. false at the end or
 * too_long. */
bool py_csv_next(py_csv *c);
void py_csv_free(py_csv *c);

#endif

/* Lines typed on a terminal, with the usual keys and the lines of earlier times. */
#ifndef ASSAY_CMD_PROMPT_H
#define ASSAY_CMD_PROMPT_H

#include "base/arena.h"

typedef struct assay_prompt {
	assay_arena a;
	assay_vec(const char *) past; /* oldest first */
	size_t read;                  /* how many of them came from the file */
	const char *file;             /* NULL: nowhere to keep them */
	assay_vec(char) line;
	size_t at;    /* of the cursor, in bytes of the line */
	size_t shown; /* which line of the past it shows; past.n: a new one */
} assay_prompt;

/* The past is kept as NAME in the user's state folder. */
void assay_prompt_open(assay_prompt *p, const char *name);

/* What was typed, without the line's end, until the next call; NULL at the end of the input. A line
 * that Ctrl-C gave up is NULL with *given_up. */
const char *assay_prompt_read(assay_prompt *p, const char *text, bool *given_up);

void assay_prompt_close(assay_prompt *p);

#endif

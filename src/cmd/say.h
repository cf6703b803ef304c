/* What a command says beside its output. */
#ifndef ASSAY_CMD_SAY_H
#define ASSAY_CMD_SAY_H

#include "base/arena.h"

/* A line to whoever started the command, on standard error: whatever the names in it hold, it does
 * nothing to a terminal and stays one line. */
void assay_say(const char *fmt, ...) ASSAY_PRINTF(1, 2);
/* The beginning of one; assay_say() ends it. */
void assay_say_on(const char *fmt, ...) ASSAY_PRINTF(1, 2);

#endif

/* Calendar text to nanoseconds, without a time zone. */
#ifndef ASSAY_READ_SMI_TIME_H
#define ASSAY_READ_SMI_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

extern const int64_t smi_second; /* in ns */

/* HH:MM:SS[.fraction], all of the text: ns since midnight. */
bool smi_daytime(assay_str s, int64_t *ns);
/* YYYY?MM?DD, with any of the separators, or without when sep is NULL; s moves past it. ns since
 * 1970. */
bool smi_date(assay_str *s, const char *sep, int64_t *ns);
/* Date and time of day, all of the text: ns since 1970 as if the clock showed UTC. */
bool smi_calendar(assay_str s, int64_t *ns);

#endif

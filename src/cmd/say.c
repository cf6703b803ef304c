#include "cmd/say.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { LONGEST = 4 * PATH_MAX };

/* Without memory of the heap: it may be what there is to complain of. */
static void say(const char *fmt, va_list args)
{
	char text[LONGEST];
	int n = vsnprintf(text, sizeof text, fmt, args);
	if (n >= LONGEST)
		memcpy(text + LONGEST - sizeof "...", "...", sizeof "...");
	fwrite(text, 1, assay_utf8_tame(text, strlen(text)), stderr);
}

void assay_say_on(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void assay_say(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Passwords, keys and tokens in command lines and variables, which nothing of ours may keep. */
#ifndef ASSAY_WIRE_SECRET_H
#define ASSAY_WIRE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* In place: the value of every secret becomes "***". Words may be separated by anything a command
 * line, a URL or JSON separates them by; NUL is a separator too. The new length. */
size_t assay_hide_secrets(char *text, size_t n);

#endif

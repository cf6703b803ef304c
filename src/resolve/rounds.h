/* Rounds of unlike steps: generator and discriminator, actor and critic, two optimizers of one
 * model. */
#ifndef ASSAY_RESOLVE_ROUNDS_H
#define ASSAY_RESOLVE_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

/* After how many values they come again, nine of ten within an eighth; 1 when they do not. */
size_t assay_round_length(const int64_t *v, size_t n);

#endif

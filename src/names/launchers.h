/* The place of a process among the ranks of its job, from what its launcher left in the environment
 * (launchers.def). C library only. */
#ifndef ASSAY_NAMES_LAUNCHERS_H
#define ASSAY_NAMES_LAUNCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_launcher {
	const char *name, *rank, *size;
	bool ranks; /* of one program; false: tasks of any kind */
} assay_launcher;
extern const assay_launcher assay_launchers[];
extern const size_t assay_launcher_count;

typedef struct assay_place {
	const assay_launcher *launcher;
	int64_t rank, size; /* size -1: nobody says */
} assay_place;

/* The value of a variable, or NULL. */
typedef const char *assay_variable(void *ctx, const char *name);
/* Launchers that say of how many come first, those of one process last: a step of one process
 * inside an array of many is one of many. ranks: of one program only. */
bool assay_place_find(assay_place *place, bool ranks, assay_variable *get, void *ctx);
bool assay_place_here(assay_place *place, bool ranks); /* of this process */

#endif

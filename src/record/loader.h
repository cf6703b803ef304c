/* Threads of the recorder's in the loader. fork copies the loader's locks as they are, and a child
 * of a moment at which one of our threads held one could never load or unwind anything: fork waits
 * for them, and they stay out while it is under way. */
#ifndef ASSAY_RECORD_LOADER_H
#define ASSAY_RECORD_LOADER_H

#include <stdbool.h>

/* False: a fork is under way; it can be done later. Else leave() follows. */
bool assay_loader_enter(void);
void assay_loader_leave(void);

/* Around fork. */
void assay_loader_before_fork(void);
void assay_loader_in_parent(void);
void assay_loader_in_child(void);

#endif

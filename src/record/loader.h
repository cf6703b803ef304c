/* The loader's list of objects, and threads of the recorder's in the loader. fork copies the
 * loader's locks as they are, and a child of a moment at which one of our threads held one could
 * never load or unwind anything: fork waits for them, and they stay out while it is under way. */
#ifndef ASSAY_RECORD_LOADER_H
#define ASSAY_RECORD_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* False: a fork is under way; it can be done later. Else leave() follows. */
bool assay_loader_enter(void);
void assay_loader_leave(void);

/* dl_iterate_phdr() with the loader at rest, so it may take as long as another thread loads.
 *
 * By itself that call keeps others from the list only, and crashes while another thread loads an
 * object with variables of threads (glibc at least up to 2.39): for each object it asks where they
 * are, by a number that the object has before its place in the list of these numbers is there,
 * which every 62 such objects has to be made longer. The first object alone may be looked at. */
typedef int assay_loader_visit(struct dl_phdr_info *info, size_t size, void *ctx);
int assay_loader_objects(assay_loader_visit *visit, void *ctx);

/* Around fork. */
void assay_loader_before_fork(void);
void assay_loader_in_parent(void);
void assay_loader_in_child(void);

#endif

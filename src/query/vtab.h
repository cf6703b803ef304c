/* The views of a run as virtual tables of an SQLite connection. */
#ifndef ASSAY_QUERY_VTAB_H
#define ASSAY_QUERY_VTAB_H

#include <sqlite3.h>

#include "query/relation.h"

/* One table a view; views must outlive the connection. An SQLite result code. */
int assay_vtabs_add(sqlite3 *db, const assay_relations *views);

#endif

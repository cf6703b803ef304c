/* Relations as SQL text, for databases that live on without the run. */
#ifndef ASSAY_QUERY_SCHEMA_H
#define ASSAY_QUERY_SCHEMA_H

#include "query/relation.h"

/* CREATE TABLE of a table, or CREATE VIEW of a view over such tables, in schema `file`. Lives in
 * the arena. */
const char *assay_relation_create(assay_arena *a, const assay_relations *rels,
				  const assay_relation *rel);
/* Name of the index on a column of a table that questions filter or join by, all of them numbers
 * or texts; NULL: not this one. And its CREATE INDEX. */
const char *assay_relation_index(assay_arena *a, const assay_relation *rel,
				 const assay_relation_col *col);
const char *assay_relation_create_index(assay_arena *a, const assay_relation *rel,
					const assay_relation_col *col);

#endif

/* A job in another format, one process at a time: memory holds as many as there are workers. */
#ifndef ASSAY_API_CONVERT_EACH_H
#define ASSAY_API_CONVERT_EACH_H

#include "api/query.h"
#include "read/reader.h"

typedef struct assay_convert_each {
	const assay_writer *writer;
	const char *folder; /* files go below it, one a process */
	const assay_convert_query *query;
	char *const *operands; /* paths are named as seen from them */
	size_t operand_n;
	size_t written, failed, left; /* left: files of no single process */
	assay_left_out lacks;
	assay_err err;         /* of the first that failed */
	assay_vec(char) below; /* folder of the files, with a slash; empty: not known yet */
	assay_map names;       /* of files, used */
	assay_arena arena;
} assay_convert_each;

/* What assay_read_each() is to do; more_than as there. */
assay_each assay_convert_each_of(assay_convert_each *c, size_t more_than);
/* All are written: the folder is finished. */
void assay_convert_each_end(assay_convert_each *c);
void assay_convert_each_free(assay_convert_each *c);

#endif

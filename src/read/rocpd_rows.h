/* Tables of events of a rocpd process, by family. */
#ifndef ASSAY_READ_ROCPD_ROWS_H
#define ASSAY_READ_ROCPD_ROWS_H

#include "base/beside.h"
#include "read/rocpd_names.h"

/* After kernels: values belong to them. */
void assay_rocpd_read_counters(assay_rocpd_instance *x);

/* After kernels and copies, of which the first of this process is that row of gpu. */
void assay_rocpd_read_graphs(assay_rocpd_instance *x, size_t first);

/* Arguments of an event, until it is known what it became. */
struct assay_rocpd_arg_group {
	int64_t event;
	bool known;    /* else the row does not say which event */
	uint32_t cost; /* bytes of text that were looked at */
	assay_sid text;
};

/* Arguments of calls, read beside the other tables. */
typedef struct assay_rocpd_args {
	assay_db db;
	assay_part part;
	bool none, split; /* there is no such table; db has its rows */
	assay_jsonw json;
	assay_json_forms forms;
	assay_vec(struct assay_rocpd_arg_group) groups;
	assay_beside beside;
} assay_rocpd_args;

/* Before any other table; and when the rows of calls are there. It stays where it is. */
void assay_rocpd_args_begin(assay_rocpd_args *a, assay_rocpd_instance *x);
void assay_rocpd_args_end(assay_rocpd_args *a, assay_rocpd_instance *x);

#endif

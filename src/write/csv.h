/* Tables as comma-separated values, one file each. */
#ifndef ASSAY_WRITE_CSV_H
#define ASSAY_WRITE_CSV_H

#include <stdio.h>

#include "model/run.h"

/* A header of column names, then one line a row. Absent values are empty, strings quoted where they
 * must be (RFC 4180), other tables' rows are numbers from 0. */
void assay_csv_table(const assay_run *run, assay_table_id id, FILE *out);

#endif

/* What the columns of a telemetry table mean: one list of quantities with every spelling, unit and
 * plausible range. */
#ifndef ASSAY_READ_SMI_COLUMNS_H
#define ASSAY_READ_SMI_COLUMNS_H

#include "base/arena.h"
#include "base/str.h"

typedef enum smi_dialect {
	SMI_AMD = 1,   /* amd-smi metric and monitor */
	SMI_ROCM = 2,  /* rocm-smi --csv */
	SMI_NV = 4,    /* nvidia-smi --query-gpu */
	SMI_DMON = 8,  /* nvidia-smi dmon, both forms */
	SMI_OWN = 16,  /* telemetry.csv of a run directory */
	SMI_DCGM = 32, /* dcgmi dmon */
} smi_dialect;

typedef enum smi_kind {
	SMI_PLAIN, /* count, bit mask, flag */
	SMI_PERCENT,
	SMI_BYTES,
	SMI_WATTS,
	SMI_MHZ,
	SMI_CELSIUS,
	SMI_BYTES_PER_S,
	SMI_JOULES,
	SMI_VOLTS,
	SMI_SECONDS,
} smi_kind;

typedef struct smi_unit {
	const char *text;
	smi_kind kind;
	double scale; /* to the kind's own unit */
} smi_unit;

typedef struct smi_spelling {
	unsigned dialects;
	const char *text;
	const char
		*unit; /* of bare numbers when neither header nor cell says; NULL: the kind's own */
	const char *needs; /* "a|b": only when one of these columns is there too */
} smi_spelling;

enum { SMI_SPELLINGS = 11 };
typedef struct smi_quantity {
	const char *name; /* canonical, ends with the unit */
	smi_kind kind;
	double min, max; /* a value outside cannot be in this unit */
	smi_spelling spell[SMI_SPELLINGS];
} smi_quantity;

typedef enum smi_role {
	SMI_VALUE,
	SMI_GPU,     /* device number */
	SMI_XCP,     /* partition of a device */
	SMI_ID,      /* device as text: used when there is no number */
	SMI_TIME,    /* a whole point in time */
	SMI_DATE,    /* YYYYMMDD */
	SMI_DAYTIME, /* HH:MM:SS */
	SMI_LABEL,   /* constant text or number about the device, not a sample */
	SMI_VERSION, /* of ROCm, the same in every row */
	SMI_PROCESS, /* this is a table of processes */
	SMI_REPEAT,  /* the same name stands again further right, and that one wins */
} smi_role;

typedef struct smi_column {
	assay_str name;               /* as in the header, without its unit */
	assay_str text;               /* as in the header */
	const smi_quantity *quantity; /* NULL: kept under its own name */
	const smi_unit *unit;         /* of bare numbers; NULL: as they are */
	smi_role role;
	bool wrong_unit; /* the header's unit cannot hold this quantity */
} smi_column;

typedef assay_vec(smi_column) smi_columns;
typedef assay_vec(assay_str) smi_cells;

/* Understand a header row; returns how many columns have a canonical name. units (may be NULL) is a
 * second header row of dmon. */
size_t smi_columns_plan(const smi_cells *header, const smi_cells *units, smi_dialect dialect,
			smi_columns *out);
bool smi_columns_have(const smi_columns *cols, smi_role role);

typedef enum smi_got {
	SMI_GOT_VALUE,
	SMI_GOT_NOTHING,  /* N/A and words like it */
	SMI_GOT_TEXT,     /* words in a column of our own naming: not a sample */
	SMI_GOT_BAD,      /* no number in a column that must have one */
	SMI_GOT_BAD_UNIT, /* wrong unit, or not a possible value in it */
} smi_got;

/* One number in one cell (or one element of a list cell). */
smi_got smi_cell_value(const smi_column *col, assay_str cell, double *out);
/* A list as Python prints it: the text between the brackets. */
bool smi_cell_list(assay_str cell, assay_str *inside);
/* "card0" and so on, as rocm-smi calls GPUs. */
bool smi_is_card(assay_str text);

#endif

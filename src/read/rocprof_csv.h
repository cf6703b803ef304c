/* What the files of the rocprof CSV reader share: fields, the plan made from a header, a worker.
 *
 * rocprof_csv_plan.c knows headers, rocprof_csv_hot.c reads well-formed rows (once per instruction
 * set), rocprof_csv_row.c reads every other row and puts rows into tables, rocprof_csv.c drives. */
#ifndef ASSAY_READ_ROCPROF_CSV_H
#define ASSAY_READ_ROCPROF_CSV_H

#include "base/cpu.h"
#include "base/pump.h"
#include "model/run.h"

typedef enum csv_type {
	CSV_AS_SKIP,    /* not kept */
	CSV_AS_TEXT,    /* slice of the row, valid until the next one */
	CSV_AS_REAL,    /* the same, holding a number with decimals */
	CSV_AS_NUMBER,  /* unsigned integer; decimals are cut */
	CSV_AS_AGENT,   /* 4 or "Agent 4"; "" is absent */
	CSV_AS_COUNTER, /* hardware counter, named by the header */
	CSV_AS_NAME,    /* interned; the only type that may hold line breaks */
} csv_type;

/* Everything a cell can mean. X(id, type, value when the cell or column is absent) */
#define CSV_FIELDS(X)                                                                              \
	X(NONE, SKIP, 0)                                                                           \
	X(DOMAIN, TEXT, 0)                                                                         \
	X(NAME, NAME, 0)                                                                           \
	X(COUNTER, NAME, 0)                                                                        \
	X(VALUE, REAL, 0)                                                                          \
	X(PROCESS, NUMBER, UINT64_MAX)                                                             \
	X(THREAD, NUMBER, UINT64_MAX)                                                              \
	X(AGENT, AGENT, UINT64_MAX)                                                                \
	X(SOURCE_AGENT, AGENT, UINT64_MAX)                                                         \
	X(TARGET_AGENT, AGENT, UINT64_MAX)                                                         \
	X(QUEUE, NUMBER, UINT32_MAX)                                                               \
	X(STREAM, NUMBER, UINT64_MAX)                                                              \
	X(DISPATCH, NUMBER, UINT32_MAX)                                                            \
	X(KERNEL_ID, NUMBER, 0)                                                                    \
	X(CORR, NUMBER, 0)                                                                         \
	X(START, NUMBER, UINT64_MAX)                                                               \
	X(END, NUMBER, UINT64_MAX)                                                                 \
	X(DURATION, NUMBER, UINT64_MAX)                                                            \
	X(SHARED, NUMBER, UINT32_MAX)                                                              \
	X(SCRATCH, NUMBER, UINT32_MAX)                                                             \
	X(REGS, NUMBER, UINT16_MAX)                                                                \
	X(ACC_REGS, NUMBER, UINT16_MAX)                                                            \
	X(SCALAR_REGS, NUMBER, UINT16_MAX)                                                         \
	X(BLOCK_X, NUMBER, 0)                                                                      \
	X(BLOCK_Y, NUMBER, 0)                                                                      \
	X(BLOCK_Z, NUMBER, 0)                                                                      \
	X(GRID_X, NUMBER, 0)                                                                       \
	X(GRID_Y, NUMBER, 0)                                                                       \
	X(GRID_Z, NUMBER, 0)                                                                       \
	X(SIZE, NUMBER, 0)                                                                         \
	X(ADDRESS, NUMBER, 0)                                                                      \
	X(CALLS, NUMBER, 0)                                                                        \
	X(TOTAL, NUMBER, UINT64_MAX)                                                               \
	X(MIN, NUMBER, UINT64_MAX)                                                                 \
	X(MAX, NUMBER, UINT64_MAX)                                                                 \
	X(AGENT_TYPE, TEXT, 0)                                                                     \
	X(PRODUCT, NAME, 0)                                                                        \
	X(UNITS, NUMBER, UINT32_MAX)                                                               \
	X(WAVE, NUMBER, UINT32_MAX)                                                                \
	X(GFX, NUMBER, 0)                                                                          \
	X(MEMORY, NUMBER, 0)

typedef enum csv_field {
#define X(id, type, absent) CSV_##id,
	CSV_FIELDS(X)
#undef X
		CSV_FIELD_COUNT
} csv_field;

extern const uint64_t assay_csv_absent[CSV_FIELD_COUNT];

enum {
	CSV_COLS_MAX = 4096,  /* rocprof-compute writes 2,043 */
	CSV_NAMES = 4096,     /* slots */
	CSV_TRACKS = 256,     /* slots */
	CSV_SAME_MAX = 64,    /* bytes: one compare */
	CSV_ROW_MAX = 1 << 20 /* bytes; longer rows are bad */
};

typedef struct csv_worker csv_worker;

/* A kind of file: the columns that tell it, and the table its rows go to. */
typedef struct csv_kind {
	const char *name;
	const char *needs[4]; /* folded column names */
	csv_field times[2];   /* a row that lacks one of these cannot be used */
	void (*put)(csv_worker *w);
} csv_kind;

/* What a header says about the rows below it. Shared by all workers, constant while reading. */
typedef struct csv_plan {
	const csv_kind *kind;
	bool kernels_only;  /* rows go to the gpu table and nowhere else */
	bool has_kernel_id; /* in a column before the name */
	bool has_counters;  /* columns that are hardware counters */
	csv_field stream;   /* STREAM, or QUEUE in files without streams */
	size_t cols;
	uint8_t field[CSV_COLS_MAX], type[CSV_COLS_MAX];
	uint16_t numbers[CSV_COLS_MAX]; /* columns from this one on that are numbers, less the last
					 */
	bool has[CSV_FIELD_COUNT];
	assay_str name[CSV_COLS_MAX]; /* of counters: text in the header */
	assay_str header;             /* the header row as written, without its line end */
	const char *about;            /* for stat.domain */
} csv_plan;

/* A name seen before: the slot is picked by Kernel_Id or a few of its bytes, the text is
 * compared. */
typedef struct csv_seen_name {
	const char *text; /* in the worker's pool */
	uint32_t n;
	assay_sid id;
} csv_seen_name;

typedef struct csv_seen_track {
	uint64_t agent, stream;
	uint32_t track; /* ASSAY_NO_ROW: free */
} csv_seen_track;

/* A cell that tends to be the same in every row, with the separator behind it. */
typedef struct csv_same {
	char text[CSV_SAME_MAX];
	uint64_t mask; /* one bit a byte; 0: nothing kept */
	uint32_t n;
} csv_same;

typedef struct csv_cells {
	size_t n;
	assay_str cell[CSV_COLS_MAX];
	bool doubled[CSV_COLS_MAX]; /* holds "" for " */
	const char *next;           /* behind the row's line end */
} csv_cells;

struct csv_worker {
	const csv_plan *plan;
	uint64_t v[CSV_FIELD_COUNT];     /* numbers and names of the row at hand */
	assay_str text[CSV_FIELD_COUNT]; /* texts of it */
	assay_part part;
	assay_moved moved;
	assay_str counter[CSV_COLS_MAX]; /* by column: cells of the row at hand */
	uint64_t rows;                   /* since the last commit */
	bool parsed;                     /* anything since the last commit */
	assay_vec(char) plain;           /* a cell without its doubled quotes */
	csv_seen_name names[CSV_NAMES];
	csv_seen_track tracks[CSV_TRACKS];
	csv_same same[CSV_COLS_MAX];
	csv_cells cells; /* of a row that is read by any rule */
};

typedef enum csv_row_status {
	CSV_ROW,     /* w holds a row */
	CSV_NO_ROW,  /* blank, header or bad: skipped and counted */
	CSV_CUT_ROW, /* the text ends inside it, and may go on */
} csv_row_status;

/* The plan of the header at the start of text; *after is behind its line. False: not our table. */
bool assay_csv_plan(assay_str text, csv_plan *plan, size_t *after);
int assay_csv_sniff(assay_str head);

/* Read the row at p by all rules, whatever it looks like; *next is behind it. */
csv_row_status assay_csv_row(csv_worker *w, const char *p, const char *end, bool text_end,
			     const char **next);
/* Split one line, a header or the row after it; false when it has too many cells. */
bool assay_csv_split_line(assay_str text, csv_cells *out);
/* JSON, whose first line may be as long as the file: to look for columns in that takes longer than
 * to read it. An archive of tables. Lines that end with carriage returns alone: all are one. */
bool assay_csv_is_other(assay_str head);

void assay_csv_put_kernel(csv_worker *w);
void assay_csv_put_counter(csv_worker *w);
void assay_csv_put_copy(csv_worker *w);
void assay_csv_put_call(csv_worker *w);
void assay_csv_put_alloc(csv_worker *w);
void assay_csv_put_stat(csv_worker *w);
void assay_csv_put_length(csv_worker *w);
/* One row a name for the rows from first on. */
void assay_csv_join_stats(assay_stat_table *t, size_t first);
/* GPUs become devices; processors are kept as facts of this name, by their numbers. */
void assay_csv_put_device(csv_worker *w);
#define assay_csv_cpu_agent "cpu_agent"
void assay_csv_put_sample(csv_worker *w);
/* The stream's track when the seen ones do not have it. */
uint32_t assay_csv_new_track(csv_worker *w, uint64_t agent, uint64_t stream);
/* Room for kernels; columns that kernel rows never write are absent in the new rows. */
void assay_csv_grow_kernels(csv_worker *w);
/* Values that do not fit become absent, counted. */
void assay_csv_narrow(csv_worker *w);

#define CSV_ROWS(name)                                                                             \
	assay_pump_status name(csv_worker *w, assay_view text, size_t limit, size_t *used)
#define X(isa) CSV_ROWS(assay_csv_rows_##isa);
ASSAY_ISAS(X)
#undef X

static inline uint32_t csv_stream_track(csv_worker *w, uint64_t agent, uint64_t stream)
{
	csv_seen_track *s = &w->tracks[(agent * 37 + stream) % CSV_TRACKS];
	if (s->agent != agent || s->stream != stream || s->track == ASSAY_NO_ROW)
		*s = (csv_seen_track){agent, stream, assay_csv_new_track(w, agent, stream)};
	return s->track;
}

/* The row's length; ends before starts count and have length 0. */
static inline int64_t csv_length(csv_worker *w)
{
	int64_t ts = (int64_t)w->v[CSV_START], end = (int64_t)w->v[CSV_END];
	if (end >= ts)
		return end - ts;
	assay_count(&w->part, ASSAY_ISSUE_negative_duration, 1);
	return 0;
}

/* Inline: this is the inner loop of kernel traces. */
static inline void csv_put_kernel(csv_worker *w)
{
	const uint64_t *v = w->v;
	assay_gpu_table *g = &w->part.t.gpu;
	if (g->n == g->cap)
		assay_csv_grow_kernels(w);
	uint64_t wide16 = v[CSV_BLOCK_X] | v[CSV_BLOCK_Y] | v[CSV_BLOCK_Z] | v[CSV_REGS] |
			  v[CSV_ACC_REGS] | v[CSV_SCALAR_REGS];
	uint64_t wide32 = v[CSV_GRID_X] | v[CSV_GRID_Y] | v[CSV_GRID_Z] | v[CSV_SHARED] |
			  v[CSV_SCRATCH] | v[CSV_QUEUE] | v[CSV_DISPATCH];
	uint32_t track = csv_stream_track(w, v[CSV_AGENT], v[w->plan->stream]);
	if (wide16 >> 16 | wide32 >> 32)
		assay_csv_narrow(w);
	size_t r = g->n;
	g->n = r + 1;
	w->part.issues[ASSAY_ISSUE_no_name] += !v[CSV_NAME];
	g->ts[r] = (int64_t)v[CSV_START];
	g->dur[r] = csv_length(w);
	g->name[r] = (assay_sid)v[CSV_NAME];
	g->track[r] = track;
	g->corr[r] = v[CSV_CORR];
	g->grid_x[r] = (uint32_t)v[CSV_GRID_X];
	g->grid_y[r] = (uint32_t)v[CSV_GRID_Y];
	g->grid_z[r] = (uint32_t)v[CSV_GRID_Z];
	g->shared[r] = (uint32_t)v[CSV_SHARED];
	g->scratch[r] = (uint32_t)v[CSV_SCRATCH];
	g->queue[r] = (uint32_t)v[CSV_QUEUE];
	g->dispatch[r] = (uint32_t)v[CSV_DISPATCH];
	g->block_x[r] = (uint16_t)v[CSV_BLOCK_X];
	g->block_y[r] = (uint16_t)v[CSV_BLOCK_Y];
	g->block_z[r] = (uint16_t)v[CSV_BLOCK_Z];
	g->regs[r] = (uint16_t)v[CSV_REGS];
	g->acc_regs[r] = (uint16_t)v[CSV_ACC_REGS];
	g->scalar_regs[r] = (uint16_t)v[CSV_SCALAR_REGS];
}

enum { CSV_WINDOW = 1 << 20 };

/* How to read; tests vary it. */
typedef struct csv_how {
	unsigned threads;
	size_t window;
	assay_isa isa;
} csv_how;
bool assay_csv_read_as(assay_run *run, assay_input *in, csv_how how, assay_err *err);

#endif

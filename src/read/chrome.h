/* Private to the Chrome/Kineto reader: one parsed event, and what its files share. */
#ifndef ASSAY_READ_CHROME_H
#define ASSAY_READ_CHROME_H

#include <assert.h>

#include "base/cpu.h"
#include "base/pump.h"
#include "base/json.h"
#include "model/run.h"
#include "model/stacks.h"

/* Arguments with a place in our tables: X(key, id, how). INT is taken when it is a plain integer,
 * ID too, of which the column takes 0 for none, VEC is up to three of them, ZERO means none when 0,
 * which recorders that write it say of every row: source.zeros holds it. DERIVED can be computed
 * from other columns and is dropped, TEXT is listed only because it is common. Whatever is not
 * taken stays in the args column as text. */
#define CHROME_ARGS(X)                                                                             \
	X("correlation", CORR, ID)                                                                 \
	X("External id", EXTERNAL, ID)                                                             \
	X("external id", EXTERNAL_OLD, ID)                                                         \
	X("Ev Idx", EV_IDX, INT)                                                                   \
	X("Sequence number", SEQ, INT)                                                             \
	X("Fwd thread id", FWD_THREAD, INT)                                                        \
	X("Record function id", RECORD_FN, ZERO)                                                   \
	X("Python id", PY_ID, INT)                                                                 \
	X("Python parent id", PY_PARENT, INT)                                                      \
	X("cbid", CBID, INT)                                                                       \
	X("stream", STREAM, INT)                                                                   \
	X("device", DEVICE, INT)                                                                   \
	X("context", CONTEXT, INT)                                                                 \
	X("queued", QUEUED, ZERO)                                                                  \
	X("grid", GRID, VEC)                                                                       \
	X("block", BLOCK, VEC)                                                                     \
	X("registers per thread", REGS, INT)                                                       \
	X("shared memory", SHARED, INT)                                                            \
	X("bytes", BYTES, INT)                                                                     \
	X("memory bandwidth (GB/s)", BANDWIDTH, DERIVED)                                           \
	X("scratch memory", SCRATCH, INT)                                                          \
	X("hsa_queue", QUEUE, INT)                                                                 \
	X("dispatch", DISPATCH, INT)                                                               \
	X("accumulation registers per thread", ACC_REGS, INT)                                      \
	X("scalar registers per thread", SCALAR_REGS, INT)                                         \
	X("status", STATUS, INT)                                                                   \
	X("graph id", GRAPH, ID)                                                                   \
	X("graph node id", GRAPH_NODE, ID)                                                         \
	X("wait_on_stream", WAIT_STREAM, INT)                                                      \
	X("wait_on_cuda_event_record_corr_id", RECORD_CORR, INT)                                   \
	X("wait_on_cuda_event_id", EVENT, INT)                                                     \
	X("on_stream", ON_STREAM, INT)                                                             \
	X("assay_found", FOUND, INT)                                                               \
	X("sync_id", SYNC_ID, ID)                                                                  \
	X("resolve_class", RESOLVE_CLASS, DERIVED)                                                 \
	X("producer_device", PRODUCER_DEVICE, DERIVED)                                             \
	X("producer_correlation", PRODUCER_CORR, DERIVED)                                          \
	X("Addr", ADDR, INT)                                                                       \
	X("Bytes", ALLOC_BYTES, INT)                                                               \
	X("Total Allocated", TOTAL, INT)                                                           \
	X("Total Reserved", RESERVED, INT)                                                         \
	X("Device Id", ALLOC_DEVICE, INT)                                                          \
	X("Concrete Inputs", INPUTS, TEXT)                                                         \
	X("Input type", INPUT_TYPE, TEXT)                                                          \
	X("Input Strides", INPUT_STRIDES, TEXT)                                                    \
	X("Input Dims", INPUT_DIMS, TEXT)                                                          \
	X("Python module id", PY_MODULE, TEXT)                                                     \
	X("kind", KIND, TEXT)                                                                      \
	X("blocks per SM", BLOCKS_PER_SM, TEXT)                                                    \
	X("warps per SM", WARPS_PER_SM, TEXT)                                                      \
	X("est. achieved occupancy %", OCCUPANCY, TEXT)

/* Members of an event object: X(key, id). */
#define CHROME_KEYS(X)                                                                             \
	X("ph", PH)                                                                                \
	X("cat", CAT)                                                                              \
	X("name", NAME)                                                                            \
	X("pid", PID)                                                                              \
	X("tid", TID)                                                                              \
	X("ts", TS)                                                                                \
	X("dur", DUR)                                                                              \
	X("args", ARGS)                                                                            \
	X("id", ID)                                                                                \
	X("id2", ID2)                                                                              \
	X("sf", SF)                                                                                \
	X("bp", BP)

typedef enum chrome_arg {
#define X(key, id, how) CHROME_##id,
	CHROME_ARGS(X)
#undef X
		CHROME_ARG_COUNT
} chrome_arg;

typedef enum chrome_key {
#define X(key, id) CHROME_KEY_##id,
	CHROME_KEYS(X)
#undef X
		CHROME_KEY_COUNT
} chrome_key;

typedef enum chrome_how {
	CHROME_INT,
	CHROME_ID,
	CHROME_VEC,
	CHROME_ZERO,
	CHROME_DERIVED,
	CHROME_TEXT
} chrome_how;
extern const chrome_how chrome_arg_how[CHROME_ARG_COUNT];

static_assert(CHROME_ARG_COUNT <= 64, "one bit per argument in chrome_event.has");

/* A set of words. Writers repeat the same keys in the same order, so the one that followed last
 * time is tried first: the branch predictor then runs ahead of the text, which a search for the
 * closing quote would stop (measured: half of the parse). */
enum { CHROME_WORDS = 256, CHROME_WORD_IDS = 64 };
typedef struct chrome_word {
	uint64_t head, mask; /* first eight bytes, zero-filled; which of them count */
	uint64_t tail;       /* last eight bytes of longer words */
	uint32_t n;          /* 0: free slot */
	int32_t id;
	const char *text;
} chrome_word;

typedef struct chrome_words {
	chrome_word slot[CHROME_WORDS]; /* by hash of head and length */
	chrome_word by_id[CHROME_WORD_IDS];
} chrome_words;

static inline unsigned chrome_word_home(uint64_t head, size_t n)
{
	return (unsigned)(((head ^ n * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u) >> 56);
}

/* Is this word at p? ASSAY_PAD bytes must be readable. */
static inline bool chrome_word_is(const chrome_word *w, const char *p)
{
	uint64_t head, tail;
	memcpy(&head, p, 8);
	if ((head & w->mask) != w->head)
		return false;
	if (w->n <= 8)
		return true;
	memcpy(&tail, p + w->n - 8, 8);
	return tail == w->tail && (w->n <= 16 || !memcmp(w->text + 8, p + 8, w->n - 16));
}

/* Id of the word p[0..n) (ASSAY_PAD bytes readable behind it), or -1. */
static inline int chrome_word_find(const chrome_words *w, const char *p, size_t n)
{
	uint64_t head;
	memcpy(&head, p, 8);
	if (n < 8)
		head &= n ? ~0ull >> (64 - 8 * n) : 0;
	for (unsigned i = chrome_word_home(head, n); w->slot[i].n; i = (i + 1) % CHROME_WORDS)
		if (w->slot[i].n == n && chrome_word_is(&w->slot[i], p))
			return w->slot[i].id;
	return -1;
}

/* A process or thread id: a number, or text with the number at -1. */
typedef struct chrome_ident {
	int64_t num;
	assay_str text;
} chrome_ident;

/* Neighbouring arguments that have no place, met before. Operators say the types and shapes of
 * their inputs in the same bytes each step, and in the same order: a run that is there again, by
 * one comparison, needs no parsing and has its string. */
typedef struct chrome_run {
	const char *text; /* in the worker's pool */
	uint32_t n;       /* 0: free slot */
	int32_t last;     /* argument it ends with */
	assay_sid id;
	uint32_t next; /* slot of the run that came after it */
} chrome_run;
enum { CHROME_RUNS = 1024, CHROME_RUN_MAX = 1 << 16 };

typedef struct chrome_event {
	assay_str name, cat;   /* text between the quotes */
	assay_str id;          /* async or flow id, as written without quotes */
	assay_str args;        /* the args value, brackets included */
	assay_str extra;       /* its members that have no place in a table */
	const chrome_run *run; /* extra, when it was met before */
	int32_t run_last;      /* else the argument it ends with, when it may be met again */
	bool run_new;
	chrome_ident pid, tid;
	int64_t ts, dur;
	uint32_t stack; /* the file's number of a stack; 0 none */
	bool has_ts, has_dur, binds, name_escaped, cat_escaped;
	char ph;
	int cat_id;    /* chrome.cats, -1 when unknown */
	uint64_t has;  /* bit per chrome_arg */
	uint64_t zero; /* of these, ids that are 0 */
	int64_t arg[CHROME_ARG_COUNT];
	uint32_t grid[3], block[3];
} chrome_event;

enum { CHROME_TRACKS = 64, CHROME_CATS = 40, CHROME_SEEN = 512 };

/* A text's first and last eight bytes, all of it and nothing when it is shorter. */
typedef struct chrome_ends {
	uint64_t head, tail;
} chrome_ends;

static inline chrome_ends chrome_ends_of(assay_str s)
{
	chrome_ends e = {0};
	if (s.n < 8) {
		for (size_t i = 0; i < s.n; i++)
			e.head |= (uint64_t)(unsigned char)s.p[i] << 8 * i;
		return e;
	}
	memcpy(&e.head, s.p, 8);
	memcpy(&e.tail, s.p + s.n - 8, 8);
	return e;
}

/* A slot of CHROME_SEEN. */
static inline unsigned chrome_ends_slot(chrome_ends e, size_t n)
{
	return (unsigned)((e.head ^ e.tail * 0x9E3779B97F4A7C15u ^ n) * 0xD6E8FEB86659FD93u >> 55);
}
static_assert(CHROME_SEEN == 1 << 9, "the slot is the top nine bits");

/* A name met before, found by its ends and length: cheaper than hashing all of it. */
typedef struct chrome_seen {
	chrome_ends ends;
	const char *text; /* in the worker's pool */
	uint32_t n;
	assay_sid id;
} chrome_seen;

/* What stood between two values the last time, up to the next value or behind the end of the
 * object: where it stands again the next member is known without looking at its parts. */
enum { CHROME_GAP = 32 };
typedef struct chrome_gap {
	char text[CHROME_GAP];
	uint32_t n;     /* bytes of it; 0: nothing is known */
	int32_t id;     /* of the member */
	uint32_t least; /* a byte that may follow: a value has begun, or anything */
	uint8_t expect; /* key that is tried first where the text is another one */
} chrome_gap;

/* What one worker thread owns. */
typedef struct chrome_worker {
	assay_part part;
	assay_moved moved;
	assay_arena scratch; /* unescaped text of the current event */
	assay_vec(char) extra;
	chrome_seen seen[CHROME_SEEN];
	chrome_run run[CHROME_RUNS];  /* by string */
	uint16_t run_of[CHROME_SEEN]; /* the last one of an event's name */
	uint32_t last_run;
	uint64_t events; /* since the last commit */
	uint32_t odd;    /* assay_json.odd bits met */
	bool closed;
	bool parsed; /* something, since the last commit */
	/* what came after each key the last time, by the low bits of the phase; arguments by
	 * category. The last two slots are unknown keys and the start */
	chrome_gap next_key[8][CHROME_KEY_COUNT + 2];
	chrome_gap next_arg[CHROME_CATS + 1][CHROME_ARG_COUNT + 2];
	/* pid and tid of the last event, by the eight bytes they stood in */
	struct {
		uint64_t word;
		int64_t num;
		unsigned n;
	} last_ident[2];
	uint8_t last_cat;
	uint64_t
		zeros[ASSAY_ZEROS]; /* rows, and 2^32 for each that says 0; since the last commit */
	unsigned ts_digits;         /* 8..15 digits before the point in the last ts */
	struct {
		int64_t pid, tid;
		uint32_t track, kind;
	} cache[CHROME_TRACKS];
} chrome_worker;

typedef struct chrome chrome;

/* Where the last run of events of that name is said to be; others may share the place. */
static inline uint16_t *chrome_run_of(chrome_worker *w, assay_str name)
{
	return &w->run_of[chrome_ends_slot(chrome_ends_of(name), name.n)];
}

/* A run was there: it is expected where the same things come again. */
static inline void chrome_run_met(chrome_worker *w, assay_str name, uint32_t slot)
{
	w->run[w->last_run].next = slot;
	w->last_run = slot;
	*chrome_run_of(w, name) = (uint16_t)slot;
}

/* Parse one event object at j->p into ev. false: j->bad or j->cut. One per instruction set. */
typedef bool chrome_parse_fn(const chrome *c, chrome_worker *w, assay_json *j, chrome_event *ev);
/* Parse the events that start before limit; as assay_pump.parse. */
typedef assay_pump_status chrome_scan_fn(chrome *c, unsigned worker, assay_view text, size_t limit,
					 size_t *used);

struct chrome {
	assay_run *run;
	int64_t last_time; /* of the file's events, once asked for */
	assay_input *in;
	chrome_words keys, args, cats;
	uint64_t windows; /* about as many as the first are to come; 0 when nobody knows */
	char sep[128];    /* text between the first two events, "}" to the second's first quote */
	size_t sep_n;
	chrome_worker *worker;
	unsigned workers;
	chrome_scan_fn *scan;
	chrome_parse_fn *parse;
	assay_gate *gate;
	assay_file_stacks stacks;
	uint64_t zeros[ASSAY_ZEROS], silent[ASSAY_ZEROS]; /* rows that say 0, and others */
	bool closed; /* the list of events ended with its bracket */
	bool listed; /* a list of events was there, or may have been where the text was cut */
};

#define X(isa)                                                                                     \
	chrome_scan_fn chrome_scan_##isa;                                                          \
	chrome_parse_fn chrome_parse_##isa;
ASSAY_ISAS(X)
#undef X

/* Where the next event seems to start at or after text[0]; n when none does. */
size_t chrome_align(void *ctx, const char *text, size_t n);

/* Add the event's rows to the worker's part. */
void chrome_add(chrome_worker *w, chrome_event *ev);
/* Those of a whole span. */
void chrome_add_span(chrome_worker *w, chrome_event *ev);
/* chrome_pairs.c: pair begin/end events, name the tracks. After the last event, on the run's own
 * part. */
void chrome_finish(chrome *c);
void chrome_words_fill(chrome *c);

/* A row of the first rocprof's results.json; -1 where a column is absent. */
enum { CHROME_ROCPROF_KEPT = 8 };
typedef struct chrome_rocprof {
	int64_t begin, end, device, stream, pid, tid; /* times in ns */
	assay_str kept[CHROME_ROCPROF_KEPT];          /* members without a column */
	size_t kept_n;
} chrome_rocprof;
/* Correlation of its work until the arrows are known. */
#define CHROME_ROCPROF_CORR ((uint64_t)INT64_MAX)
/* False: the event is none. */
bool chrome_rocprof_row(const chrome_event *ev, chrome_rocprof *row);
/* Join calls and work among the rows from these on. */
void chrome_link_rocprof(assay_run *run, size_t first_host, size_t first_gpu, size_t first_flow);

/* source.zeros: of the rows from these on. */
void chrome_keep_zeros(chrome *c, size_t first_host, size_t first_gpu);

/* pmc: counters in the profiler ranges among the rows of host from `first` on. */
void chrome_take_counters(assay_run *run, size_t first);

#endif

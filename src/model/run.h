/* A run: everything read and found, owned in one place; and parts, which workers fill on their own.
 */
#ifndef ASSAY_MODEL_RUN_H
#define ASSAY_MODEL_RUN_H

#include <math.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/map.h"
#include "base/owner.h"
#include "model/tables.h"

typedef enum assay_issue {
#define ISSUE(id, severity, text) ASSAY_ISSUE_##id,
#include "model/issue.def"
#undef ISSUE
	ASSAY_ISSUE_COUNT
} assay_issue;

typedef struct assay_issue_info {
	const char *id, *severity, *text;
} assay_issue_info;
extern const assay_issue_info assay_issue_infos[ASSAY_ISSUE_COUNT];

/* Tables with the strings and tracks they refer to. A run's own part is run->part; a worker thread
 * fills a private one and merges it with assay_part_move(). */
typedef struct assay_part {
	assay_tables t;
	assay_pool strings;
	assay_map tracks; /* key folded from the track's columns -> row */
	uint64_t issues[ASSAY_ISSUE_COUNT];
	uint32_t source; /* row of source that new tracks belong to */
} assay_part;

struct assay_run {
	assay_part part;
	assay_arena arena; /* everything handed out that is not in a table */
	bool analyzed;
	bool scoped; /* scopes of all rows are known; nobody asked for others since */
	bool lean;   /* nobody will ask for spare columns, nor for arrows that correlation ids tell,
		      * nor for rank_step: they may stay empty */
	bool calls_apart;    /* nobody will ask for single collectives of ranks without events: they
			      * need not be rows */
	bool for_hta;        /* written for HTA: waits that were found count as work there */
	uint32_t report_top; /* kernels listed in the report */
	uint32_t in_full;    /* sources that have events, the first ones; 0: all of them */
	struct assay_kept_calls *kept_calls; /* of sources without events; NULL: none */
	/* Called now and then while a long input is read; NULL for silence. */
	void (*progress)(void *ctx, const char *path, uint64_t done, uint64_t total);
	void *progress_ctx;
	bool open_ends;    /* captures: read rings that are still in memory, and keep launches whose
			      work did not end */
	unsigned threads;  /* for one input; 0: as many as there are processors */
	atomic_uint holds; /* who needs it beside its owner */
	assay_owner *owner; /* of its memory; NULL: that of the call it was made in */
};

/* So many threads may be used for this run. */
unsigned assay_run_threads(const assay_run *run);
/* For work on so many rows: 1 where a thread would cost more than it saves. */
unsigned assay_run_threads_for(const assay_run *run, size_t rows);

/* Each hold wants an assay_run_free() of its own; the last one frees. Any thread may let go. */
void assay_run_hold(assay_run *run);

/* What the run is now, for another thread to read while strings and rows of other tables than it
 * reads are added to the run. Strings are copied to a; there is no looking for them by text. */
assay_run assay_run_view(const assay_run *run, assay_arena *a);

static inline void assay_count(assay_part *p, assay_issue issue, uint64_t n)
{
	ASSAY_ASSERT_CHECKED(issue < ASSAY_ISSUE_COUNT);
	p->issues[issue] += n;
}

/* The track of a source with this identity, made when new. Textual ids go in process/name with the
 * number at -1. */
uint32_t assay_track(assay_part *p, assay_track_kind kind, int64_t pid, int64_t tid,
		     assay_sid process, assay_sid name);
uint32_t assay_thread_track(assay_part *p, int64_t pid, int64_t tid);
uint32_t assay_stream_track(assay_part *p, int64_t device, int64_t stream);

void assay_part_free(assay_part *p);

/* How a worker's string ids and track rows map to the run's; grows with each move. */
typedef struct assay_moved {
	assay_vec(assay_sid) sid;
	assay_vec(uint32_t) track;
	size_t base[ASSAY_T_COUNT]; /* first row claimed in each table */
	bool fresh[ASSAY_T_COUNT];  /* all is zero there */
	bool whole;                 /* src is a run of its own: its sources come along as rows */
	bool lean;                  /* spare columns stay behind... */
	size_t but; /* ...but the one that is there in its table: its reader needs it; or 0 */
} assay_moved;

/* Append src's rows to dst and empty src's tables; strings and tracks of src stay, so that the next
 * rows of the same worker can go on using their ids. */
void assay_part_move(assay_part *dst, assay_part *src, assay_moved *moved);

/* The same in two halves, for workers that take turns: the claim fixes order and ids (one worker at
 * a time), the fill copies the rows (any number at once, even while others claim). */
typedef struct assay_gate assay_gate; /* keeps columns in place while someone fills */
assay_gate *assay_gate_new(assay_arena *a);
void assay_gate_free(assay_gate *gate);
/* Before the first claim: room for as many rows as a file of so many windows will have if they are
 * like its first one. Columns that never grow are never moved, and begin with huge pages. Room that
 * is not used costs nothing. */
void assay_part_expect(assay_part *dst, const assay_part *first, uint64_t windows);
void assay_part_claim(assay_gate *gate, assay_part *dst, assay_part *src, assay_moved *moved);
void assay_part_fill(assay_gate *gate, assay_part *dst, assay_part *src, assay_moved *moved);

/* Forget src's rows (not its strings and tracks). */
void assay_part_clear(assay_part *src);
/* Forget everything a run holds but keep the memory of its tables for the next input. */
void assay_run_reset(assay_run *run);
void assay_moved_free(assay_moved *moved);

static inline assay_sid assay_sid_of(assay_run *run, const char *z)
{
	return assay_intern_z(&run->part.strings, z);
}

static inline assay_str assay_text(const assay_run *run, assay_sid id)
{
	return assay_pool_get(&run->part.strings, id);
}

/* NUL-terminated. */
static inline const char *assay_z(const assay_run *run, assay_sid id)
{
	return assay_text(run, id).p;
}

/* The same; NULL for none. */
static inline const char *assay_z_if(const assay_run *run, assay_sid id)
{
	return id ? assay_z(run, id) : NULL;
}

/* Of a share: what is left changes little. */
static inline bool assay_is_mostly_known(double share)
{
	return share >= 0.9;
}

/* There is matrix work beyond what the roof's shares of the peak count. */
static inline bool assay_roof_is_partial(const assay_roof_table *r)
{
	return !assay_is_mostly_known(isnan(r->mfu_coverage[0]) ? r->coverage[0]
								: r->mfu_coverage[0]);
}

static inline bool assay_has_trait(const assay_run *run, uint32_t source, unsigned trait)
{
	return source < run->part.t.source.n && run->part.t.source.traits[source] & trait;
}

/* Does any source have it? */
static inline bool assay_any_has_trait(const assay_run *run, unsigned trait)
{
	for (uint32_t i = 0; i < run->part.t.source.n; i++)
		if (assay_has_trait(run, i, trait))
			return true;
	return false;
}

/* The source that stands for all files of the same process. */
static inline uint32_t assay_group_of(const assay_tables *t, uint32_t source)
{
	return source < t->source.n && t->source.group[source] != ASSAY_NO_ROW
		       ? t->source.group[source]
		       : source;
}

static inline uint32_t assay_track_group(const assay_tables *t, uint32_t track)
{
	ASSAY_ASSERT_CHECKED(track < t->track.n);
	return assay_group_of(t, t->track.source[track]);
}

static inline int64_t assay_gpu_end(const assay_gpu_table *g, uint32_t row)
{
	ASSAY_ASSERT_CHECKED(row < g->n);
	return g->ts[row] + (g->dur[row] > 0 ? g->dur[row] : 0);
}

/* Pages of managed memory that moved: work that no call launches. */
bool assay_moves_pages(const assay_run *run, uint32_t gpu);
/* Why a device idled before work without a launch. */
assay_why assay_why_unlaunched(const assay_run *run, uint32_t gpu);

/* One number for each device of each source. */
static inline uint64_t assay_gpu_place(const assay_tables *t, uint32_t row)
{
	ASSAY_ASSERT_CHECKED(row < t->gpu.n);
	uint32_t track = t->gpu.track[row];
	ASSAY_ASSERT_CHECKED(track < t->track.n);
	return (uint64_t)t->track.source[track] << 32 | (uint32_t)t->track.pid[track];
}

/* The innermost call of a stack that is the program's own; the innermost of all when none is. */
static inline uint32_t assay_own_call(const assay_tables *t, uint32_t stack)
{
	ASSAY_ASSERT_CHECKED(stack == ASSAY_NO_ROW || stack < t->stack.n);
	return stack == ASSAY_NO_ROW || t->stack.own[stack] == ASSAY_NO_ROW ? stack
									    : t->stack.own[stack];
}

/* The Python stack of a call; ASSAY_NO_ROW for other rows and where none was recorded. */
static inline uint32_t assay_call_stack(const assay_tables *t, uint32_t host)
{
	ASSAY_ASSERT_CHECKED(host == ASSAY_NO_ROW || host < t->host.n);
	return host != ASSAY_NO_ROW && assay_is_call(t->host.kind[host]) &&
			       t->host.detail[host] != ASSAY_NO_ROW
		       ? t->api.stack[t->host.detail[host]]
		       : ASSAY_NO_ROW;
}

static inline int64_t assay_host_end(const assay_host_table *h, uint32_t row)
{
	ASSAY_ASSERT_CHECKED(row < h->n);
	return h->ts[row] + (h->dur[row] > 0 ? h->dur[row] : 0);
}

/* Correlation id of a row of host; 0 when it is no call, or has none. */
static inline uint64_t assay_call_corr(const assay_tables *t, uint32_t host)
{
	ASSAY_ASSERT_CHECKED(host < t->host.n);
	return assay_is_call(t->host.kind[host]) ? t->api.corr[t->host.detail[host]] : 0;
}

/* Key of a call in a map: correlation ids are unique inside one process's recording only. */
static inline uint64_t assay_corr_key(uint32_t source, uint64_t corr)
{
	return corr ^ (uint64_t)source << 40;
}

/* Add a header fact; key and value are copied. */
void assay_meta_add(assay_part *p, const char *key, assay_str value);
/* The value of the first header fact of that name, or an empty slice. */
assay_str assay_meta_get(const assay_run *run, const char *key);

/* Row of the metric or bucket of that name, or ASSAY_NO_ROW. */
uint32_t assay_metric_find(const assay_run *run, const char *name);
uint32_t assay_metric_known(const assay_run *run, const char *name); /* nor when it is unknown */
uint32_t assay_budget_find(const assay_run *run, const char *name);

void assay_warn(assay_run *run, const char *id, const char *fmt, ...) ASSAY_PRINTF(3, 4);

/* Maker of a GPU, by row of device. */
static inline assay_vendor assay_device_vendor(const assay_run *run, size_t device)
{
	assert(device < run->part.t.device.n);
	return assay_vendor_of(assay_text(run, run->part.t.device.vendor[device]));
}

/* Between the process ids of two inputs that were written into one file. */
enum { ASSAY_PID_STEP = 100000000 };
/* "cat" of counters of a device in Chrome files; their process is its number. */
#define ASSAY_TELEMETRY_CATEGORY "telemetry"

#endif

/* What is worth changing. A finder looks at an analyzed run for one kind of trouble and adds what
 * it finds; findings.c has the table of finders, orders what they found and says what each is
 * worth. */
#ifndef ASSAY_FIND_FINDING_H
#define ASSAY_FIND_FINDING_H

#include "analyze/order.h"
#include "analyze/where.h"
#include "analyze/window.h"
#include "model/cause.h"
#include "names/modes.h"
#include "path/worth.h"

/* What finders go by. Costs are of one steady step where steps is not 0, else of the recording. */
typedef struct assay_find_ctx {
	const assay_window *w;
	const assay_order *order; /* NULL in tests that need none */
	uint64_t steps; /* steady steps; 0 when there are too few to speak of every step */
	int64_t whole;  /* length of the window, ns */
	int64_t now;    /* length of a steady step, or of the window without steps */
	assay_framework framework;
	assay_vendor vendor;
	assay_worth *worth;                    /* NULL: nothing is replayed */
	struct assay_hole_search *holes;       /* NULL: who needs them finds them */
	struct assay_lock_look *lock;          /* NULL: it is looked for each time */
	const struct assay_own_frames *frames; /* NULL: the run has none */
	struct assay_found_list *list;
	struct assay_turns *turns; /* finders are at work at the same time; NULL: one by one */
	uint64_t turn;             /* of this one */
	assay_arena *scratch;
	void *seen; /* what the finder's look() gave */
} assay_find_ctx;

/* Kernel, operator and line of a row of gpu. */
void assay_where_of_work(const assay_run *run, const assay_find_ctx *c, uint32_t gpu,
			 assay_where *where);

/* By row of gpu: ns that findings about operators and kernels report as needless: judged by its
 * name, or as part of its call. */
const int64_t *assay_reported_of_work(const assay_run *run, assay_arena *a);

typedef struct assay_span {
	int64_t from, to;
} assay_span;

enum { ASSAY_FACTS_MAX = 6 };

/* Of least: it depends on the remedy, and nothing in the recording tells. */
enum { ASSAY_WORTH_UNKNOWN = -1 };

typedef struct assay_found {
	const char *id, *cause;
	const char *text, *fix;
	assay_where where;
	/* ns over the whole window; -1 when it is no time. A cost that is no part of every step is
	 * told once. */
	int64_t total;
	bool once;
	/* What the replay leaves out, as `assay path --what-if` takes it ("host_data=0"); without
	 * one, or where it cannot be replayed, all of the cost is taken to be saved. */
	const char *what_if;
	int64_t saved; /* where the finder knows better: ns over the whole window; 0 unknown */
	bool replayed; /* saved is what a replay gave */
	/* Where what is saved is known within bounds only: ns over the whole window, at least and
	 * at best; 0: what is saved. */
	int64_t least, most;
	/* ns that its place in the order goes by, where that is not what it saves: a state that
	 * many programs are in stands behind what is wrong with this one. 0: what it saves. */
	int64_t order_by;
	bool capped; /* no more than the cost goes, whatever a replay gives: nobody works in no time
		      */
	bool dense;  /* calls that block so often that the host cannot get ahead of the device */
	double confidence;
	const char *follows; /* id of the finding it is a consequence of */
	/* When it takes place on the device, in order: waits mostly within are its consequences. */
	const assay_span *during;
	size_t spans;
	bool has_gap;
	uint32_t gap; /* where has_gap */
	const char *fact[ASSAY_FACTS_MAX];
} assay_found;

struct assay_find_warning {
	const char *id, *text;
};

struct assay_found_list {
	assay_vec(assay_found) found;
	assay_vec(struct assay_find_warning) warnings;
};

/* Who adds to what was found so far, or looks at it, waits until all finders that stand before it
 * in the table are done: what comes out is as if they went one by one. */

/* Texts must last as long as the scratch arena. */
void assay_finding_add(const assay_find_ctx *c, const assay_found *f);

/* A warning of the report. */
void assay_find_warn(const assay_find_ctx *c, const char *id, const char *text);

/* Behind the facts it has; NULL, and one too many, are left out. */
void assay_found_add_fact(assay_found *f, const char *text);

/* Findings so far, to make them consequences of another: the next one, the first after NULL; NULL
 * at the end. */
assay_found *assay_found_next(const assay_find_ctx *c, assay_found *f);
/* The first of them with an id; NULL: none. */
assay_found *assay_found_with_id(const assay_find_ctx *c, const char *id);

/* Findings of this id about the same operator say less than what it does, and more of how much
 * would go: they become consequences. */
void assay_found_take(const assay_find_ctx *c, assay_found *f, const char *id);

typedef struct assay_finder {
	const char *id;
	void (*find)(const assay_run *run, const assay_find_ctx *c);
	/* What needs nothing of compute.h, of other findings, and of strings by their text: done
	 * while others are at work. In the scratch arena; NULL when there is nothing to see. */
	void *(*look)(const assay_run *run, const assay_find_ctx *c);
} assay_finder;

extern const assay_finder assay_find_idle;       /* why the device waits */
extern const assay_finder assay_find_modes;      /* modes that help to find errors */
extern const assay_finder assay_find_launches;   /* many short kernels, launched one by one */
extern const assay_finder assay_find_alloc;      /* device memory taken and given back in steps */
extern const assay_finder assay_find_graphs;     /* graphs that are made anew in steps */
extern const assay_finder assay_find_busy;       /* communication and copies that nothing hides */
extern const assay_finder assay_find_sends;      /* copies to the device of little each */
extern const assay_finder assay_find_streams;    /* streams that wait for each other */
extern const assay_finder assay_find_compute;    /* operators far from what the device can do */
extern const assay_finder assay_find_one_hot;    /* look-ups by products */
extern const assay_finder assay_find_optimizer;  /* parameters updated one by one */
extern const assay_finder assay_find_tables;     /* gradients of whole tables for few rows */
extern const assay_finder assay_find_late;       /* what a rank does that others wait for */
extern const assay_finder assay_find_ranks;      /* a rank that the others wait for */
extern const assay_finder assay_find_slow_links; /* collectives far below what the links give */
extern const assay_finder assay_find_shared;     /* a device that others use too */
extern const assay_finder assay_find_heavy;      /* sorting, sums at indices, moving data */
extern const assay_finder assay_find_grids;      /* kernels too small for the device */
extern const assay_finder assay_find_blocks;     /* blocks too small for the device */
extern const assay_finder assay_find_turns;      /* threads that wait for each other at a lock */
extern const assay_finder assay_find_detours;    /* work that only a library wants */
extern const assay_finder assay_find_trials;     /* kernels that are run to see their time */
extern const assay_finder assay_find_missing;    /* what was not recorded */

/* Share of the window, 0 to 1, that a replay without this saves ("host_data=0", as `assay path
 * --what-if` takes it); false: it cannot be replayed, or names nothing in it. */
bool assay_find_without(const assay_find_ctx *c, const char *what_if, double *share);

/* ns that a replay saves with these lengths of GPU work (by row of gpu; negative: as it was), and
 * with no wait of this length between queued work; `otherwise` where it cannot be replayed. */
double assay_find_shorter(const assay_find_ctx *c, const int64_t *dur, int64_t stall,
			  double otherwise, bool *replayed);

/* "1 ms of every 3 ms step", or of the recording; in the scratch arena. */
const char *assay_share_words(const assay_find_ctx *c, int64_t total);

/* Steps that share what is told, and the words behind a number of one of them: " a step"; 1 and ""
 * where it is told of the recording, or once. */
typedef struct assay_per_step {
	int64_t steps;
	const char *words;
} assay_per_step;
assay_per_step assay_per_step_of(const assay_find_ctx *c, bool once);

/* ns of a cause of idle time in which the host takes or gives back device memory. */
int64_t assay_alloc_part(const assay_run *run, const assay_find_ctx *c, assay_why cause);

/* ns of the window in which submitted work does not begin although the device is free. */
int64_t assay_stalled_part(const assay_run *run, const assay_find_ctx *c);

/* Runs all finders, orders what they found and fills verdict, the older view. */
void assay_findings(assay_run *run, const assay_window *w, const assay_order *order,
		    assay_worth *worth, struct assay_hole_search *holes);

/* The same in three parts. The first finders go by what the run is at the start: strings may be
 * added to it meanwhile, and what operators take may be found out. */
typedef struct assay_finding_search assay_finding_search;
assay_finding_search *assay_findings_start(const assay_run *run, const assay_window *w,
					   const assay_order *order, assay_worth *worth,
					   struct assay_hole_search *holes);
void assay_findings_first(assay_finding_search *s);
/* s is gone afterwards; run NULL: nobody wants them. */
void assay_findings_end(assay_finding_search *s, assay_run *run);

extern const char assay_small_copies_fix[];

/* "CUDA_LAUNCH_BLOCKING=1 is set"; NULL: no variable switches the mode on. */
const char *assay_mode_words(const assay_run *run, assay_arena *a, assay_mode mode);

/* ns of a gap in which the host does nothing but launch. */
enum { ASSAY_SHORT_GAP = 100 * 1000 };

/* ns of a call that loads a library or code, or makes a context: no other takes so long. */
enum { ASSAY_FIRST_USE = 50 * 1000 * 1000 };

/* Below this share of the time nothing is said. */
static const double assay_worth_saying = 0.01;
/* The same for calls that block so often that the host cannot get ahead: from there on they are to
 * be mended before launches are. Less than a twentieth: recording operators makes the rest longer.
 */
static const double assay_sync_holds_back = 0.04;

#endif

/* Answers from one graph: lengths are copied, changed by the rule and replayed. */
#include "analyze/worth.h"

#include "analyze/path.h"
#include "analyze/path_graph.h"
#include "analyze/path_window.h"
#include "analyze/window.h"

struct assay_worth {
	assay_arena arena;
	assay_path_graph g;
	assay_path_window window;
	assay_path_marks marks;
	assay_path_times times;
	assay_path_lengths lengths; /* of the question at hand: large, so there is one */
	int64_t step;               /* replayed as it was */
};

static int64_t replayed_step(assay_worth *w, const assay_path_lengths *lengths)
{
	assay_path_replay_with(&w->g, lengths, &w->times);
	assay_path_bounds b =
		assay_path_window_in(&w->g, &w->window, &w->marks, &w->times, lengths->dur);
	return b.to - b.from;
}

/* A replay that is off by more than this is no ground for predictions. */
static bool near_measured(int64_t replayed, int64_t measured)
{
	int64_t off = replayed > measured ? replayed - measured : measured - replayed;
	return measured > 0 && off <= measured / 20;
}

assay_worth *assay_worth_open(assay_run *run)
{
	assay_arena arena = {0};
	assay_err err = {0};
	uint32_t device = assay_main_device(run);
	assay_path_window window;
	if (device == ASSAY_NO_ROW || !run->part.t.host.n)
		return NULL;
	uint32_t group = assay_group_of(&run->part.t, run->part.t.device_time.source[device]);
	if (!assay_path_window_find(run, group, ASSAY_PATH_MEDIAN, &window, &err))
		return NULL;
	assay_worth *w = assay_alloc(&arena, sizeof *w);
	w->arena = arena;
	w->window = window;
	assay_path_graph_build(&w->g, run, group, window.since, window.until);
	if (w->g.nodes) {
		assay_path_window_mark(&w->g, &w->window, &w->marks);
		w->times = assay_path_times_new(&w->g);
		w->lengths = assay_path_lengths_copy(&w->g);
		w->step = replayed_step(w, &w->g.base);
	}
	if (w->g.nodes && near_measured(w->step, window.to - window.from))
		return w;
	assay_worth_close(w);
	return NULL;
}

void assay_worth_close(assay_worth *w)
{
	if (!w)
		return;
	assay_arena arena = w->arena;
	assay_path_graph_free(&w->g);
	assay_arena_free(&arena);
}

/* Time inside launch calls is on the thread and in the delay from the call to its work; a copy of
 * pageable memory holds up the call that makes it. */
static size_t rules_for(assay_worth *w, const char *what_if, const char *text[2])
{
	text[0] = what_if;
	if (!strcmp(what_if, "copy=0")) {
		text[1] = "*Memcpy*=0";
		return 2;
	}
	if (strcmp(what_if, "launch_call=0") != 0)
		return 1;
	text[0] = "*Launch*=0";
	text[1] = assay_printf(&w->arena, "launch_latency=%lldns",
			       (long long)w->g.typical[ASSAY_DEP_LAUNCH][ASSAY_GPU_KERNEL]);
	return 2;
}

/* What n rules save; false: one of them matches nothing, or the step would take longer. */
static bool replay_rules(assay_worth *w, const char *const *text, size_t n, int64_t *saved)
{
	assay_path_what_ifs rules = {0};
	assay_path path = {.from = w->window.from, .to = w->window.to};
	assay_path_lengths *lengths = &w->lengths;
	memcpy(lengths->len, w->g.base.len, w->g.points * sizeof *lengths->len);
	memcpy(lengths->dur, w->g.base.dur, w->g.work * sizeof *lengths->dur);
	memcpy(lengths->lag, w->g.base.lag, w->g.deps * sizeof *lengths->lag);
	bool ok = assay_path_what_ifs_parse(&rules, text, n, NULL) &&
		  assay_path_what_ifs_apply(&w->g, &rules, lengths, &path, NULL);
	if (ok)
		*saved = w->step - replayed_step(w, lengths);
	assay_vec_free(&rules);
	assay_path_free(&path);
	return ok && *saved >= 0;
}

/* Of two rules the second may have nothing to match: traces without calls. */
bool assay_worth_without(assay_worth *w, const char *what_if, int64_t *saved)
{
	const char *text[2];
	size_t n = rules_for(w, what_if, text);
	return replay_rules(w, text, n, saved) || (n > 1 && replay_rules(w, text, 1, saved));
}

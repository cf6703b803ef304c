/* The scope tree: busiest first, children below their parent. */
#include "render/scopes.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/group.h"
#include "base/test.h"
#include "model/scope_tree.h"
#include "render/printout.h"
#include "render/report.h"

enum { NAME_WIDTH = 44, PAIRS_SHOWN = 8 };

/* Lines in the order they are shown, with what was left out below each. */
struct shown {
	uint32_t line;
	uint32_t more; /* children left out by top */
};

typedef struct order {
	const assay_scope_view *v;
	assay_vec(size_t) first; /* by line + 1: start of its children in child; [0] are roots */
	assay_vec(uint32_t) child;
	assay_vec(struct shown) out;
} order;

struct ranked {
	int64_t busy, host;
	uint32_t line;
};

static int by_time(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return assay_then(ASSAY_CMP(y->busy, x->busy),
			  assay_then(ASSAY_CMP(y->host, x->host), ASSAY_CMP(x->line, y->line)));
}

/* Children of every line next to each other, the busiest first. */
static void group_children(order *o)
{
	const assay_scope_view *v = o->v;
	assay_vec(struct ranked) all = {0};
	assay_vec(uint32_t) line = {0}, below = {0};
	for (uint32_t i = 0; i < v->n; i++) {
		const assay_scope_line *l = &v->line[i];
		*assay_push(&below) = l->parent == ASSAY_NO_ROW ? 0 : l->parent + 1;
		*assay_push(&all) = (struct ranked){l->gpu_busy, l->host, i};
	}
	if (all.n)
		qsort(all.p, all.n, sizeof *all.p, by_time);
	for (size_t i = 0; i < all.n; i++)
		*assay_push(&line) = all.p[i].line;
	assay_vec_reserve(&o->child, v->n + 1);
	assay_vec_reserve(&o->first, v->n + 2);
	assay_group_rows(o->child.p, o->first.p, line.p, v->n, below.p, v->n + 1);
	assay_vec_free(&all);
	assay_vec_free(&line);
	assay_vec_free(&below);
}

static bool has_time(const assay_scope_line *l)
{
	return l->count || l->work;
}

static void show_below(order *o, uint32_t slot, uint32_t depth)
{
	const assay_scope_view *v = o->v;
	uint32_t shown = 0;
	if (v->depth && depth >= v->depth)
		return;
	for (size_t i = o->first.p[slot]; i < o->first.p[slot + 1]; i++) {
		uint32_t line = o->child.p[i];
		if (!has_time(&v->line[line]))
			continue;
		if (v->top && shown == v->top) {
			uint32_t more = 0;
			for (; i < o->first.p[slot + 1]; i++)
				more += has_time(&v->line[o->child.p[i]]);
			*assay_push(&o->out) = (struct shown){.line = line, .more = more};
			return;
		}
		shown++;
		*assay_push(&o->out) = (struct shown){.line = line};
		show_below(o, line + 1, depth + 1); /* depth is bounded by the analysis */
	}
}

static void order_lines(order *o)
{
	group_children(o);
	show_below(o, 0, 0);
}

static void order_free(order *o)
{
	assay_vec_free(&o->first);
	assay_vec_free(&o->child);
	assay_vec_free(&o->out);
}

/* The name, without the number of one instance where several are joined. */
static assay_str name_of(const assay_run *run, const assay_scope_line *l)
{
	assay_str s = assay_text(run, l->name);
	if (!s.n)
		return ASSAY_S("(no name)");
	if (l->count > 1)
		s.n = assay_scope_stem(s);
	return s;
}

/* Times of a line, in order. Where lines are narrow, columns that others mostly tell are left
 * out. */
static const struct column {
	const char *title;
	size_t at;
	bool spare;
} columns[] = {
	{"host", offsetof(assay_scope_line, host), false},
	{"GPU busy", offsetof(assay_scope_line, gpu_busy), false},
	{"GPU sum", offsetof(assay_scope_line, gpu_sum), true},
	{"self", offsetof(assay_scope_line, gpu_self), false},
	{"waits", offsetof(assay_scope_line, waits), true},
	{"idle", offsetof(assay_scope_line, idle), false},
};

struct layout {
	size_t name; /* columns */
	bool spare;  /* columns too */
};

static struct layout layout_of(size_t width)
{
	enum { NUMBERS = 79, SPARE = 20, NARROW = 24, NARROWEST = 16 };
	bool spare = width >= NUMBERS + NARROW;
	size_t used = spare ? NUMBERS : NUMBERS - SPARE;
	size_t name = width > used + NARROWEST ? width - used : NARROWEST;
	return (struct layout){name < NAME_WIDTH ? name : NAME_WIDTH, spare};
}

static void print_line(FILE *out, const assay_run *run, const assay_scope_view *v,
		       const struct shown *s, struct layout layout, assay_arena *a)
{
	const assay_scope_line *l = &v->line[s->line];
	char f[ASSAY_FMT], count[ASSAY_FMT];
	size_t most = layout.name * 2 / 3, indent = 2 * l->depth < most ? 2 * l->depth : most;
	size_t width = layout.name - indent;
	if (s->more) {
		fprintf(out, "%*s(%u more)\n", (int)indent + 2, "", s->more);
		return;
	}
	const char *name = assay_fmt_safe(a, name_of(run, l));
	if (l->ts >= 0) /* instances of one name are told apart by when they were */
		name = assay_printf(a, "%s at %s", name, assay_fmt_time(f, l->ts));
	name = assay_cut_middle(a, name, width, width > 8 ? (width - 2) / 2 : 0);
	fprintf(out, "  %*s%-*s %8s", (int)indent, "", assay_padded(name, width), name,
		assay_fmt_count(count, l->count));
	for (size_t i = 0; i < ASSAY_COUNT_OF(columns); i++) {
		int64_t time;
		memcpy(&time, (const char *)l + columns[i].at, sizeof time);
		if (layout.spare || !columns[i].spare)
			fprintf(out, " %9s", time < 0 ? "-" : assay_fmt_time(f, time));
	}
	fprintf(out, " %6.1f%%\n", assay_percent(l->gpu_busy, v->whole));
}

static void print_titles(FILE *out, const assay_scope_view *v, struct layout layout)
{
	fprintf(out, "  %-*s %8s", (int)layout.name, "scope", "count");
	for (size_t i = 0; i < ASSAY_COUNT_OF(columns); i++)
		if (layout.spare || !columns[i].spare)
			fprintf(out, " %9s", columns[i].title);
	fprintf(out, " %7s\n", v->steps ? "of step" : "of span");
}

/* What the numbers above do not show. */
static void print_problems(FILE *out, const assay_run *run)
{
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++) {
		char count[ASSAY_FMT];
		if (run->part.issues[i])
			fprintf(out, "  %s: %s\n", assay_fmt_count(count, run->part.issues[i]),
				assay_issue_infos[i].text);
	}
}

static const char *thread_name(const assay_run *run, uint32_t track, assay_arena *scratch)
{
	const assay_track_table *t = &run->part.t.track;
	if (track == ASSAY_NO_ROW)
		return "a thread";
	return t->name[track] ? assay_fmt_safe(scratch, assay_text(run, t->name[track]))
			      : assay_printf(scratch, "thread %" PRId64, t->tid[track]);
}

/* Work of a thread without ranges, an autograd engine's for one, whose waiter is not known. */
static void print_unscoped_thread(FILE *out, const assay_run *run, const assay_scope_view *v,
				  assay_arena *scratch)
{
	char count[ASSAY_FMT];
	if (!v->n || v->none_thread == ASSAY_NO_ROW || v->none_launched * 2 < v->work_none)
		return;
	fprintf(out, "  of these %s launched by %s, outside any range of that thread\n",
		assay_fmt_count(count, v->none_launched),
		thread_name(run, v->none_thread, scratch));
}

static void print_inferred(FILE *out, const assay_run *run, const assay_scope_view *v,
			   assay_arena *scratch)
{
	char count[ASSAY_FMT], time[ASSAY_FMT];
	for (size_t i = 0; i < v->pairs && i < PAIRS_SHOWN; i++)
		fprintf(out,
			"  %s events, %s of work, are inferred: launched by %s while %s waited in the range\n",
			assay_fmt_count(count, v->inferred[i].work),
			assay_fmt_time(time, v->inferred[i].sum),
			thread_name(run, v->inferred[i].worker, scratch),
			thread_name(run, v->inferred[i].waiter, scratch));
	if (v->pairs > PAIRS_SHOWN)
		fprintf(out, "  (%zu more pairs of threads)\n", v->pairs - PAIRS_SHOWN);
}

void assay_scopes_text(FILE *out, const assay_run *run, const assay_scope_view *v, size_t width)
{
	assay_arena scratch = {0};
	char f[2][ASSAY_FMT], count[3][ASSAY_FMT];
	order o = {.v = v};
	order_lines(&o);
	struct layout layout = layout_of(width);
	print_titles(out, v, layout);
	for (size_t i = 0; i < o.out.n; i++)
		print_line(out, run, v, &o.out.p[i], layout, &scratch);
	if (!v->n)
		fprintf(out, "  no ranges in the input; --ops shows framework operators\n");
	if (v->work_none)
		fprintf(out, "\n  %s of %s GPU events lie in a scope; %s, %s of work, in none\n",
			assay_fmt_count(count[0], v->work - v->work_none),
			assay_fmt_count(count[1], v->work), assay_fmt_count(count[2], v->work_none),
			assay_fmt_time(f[0], v->sum_none));
	else if (!v->work)
		fprintf(out, "\n  no GPU events\n");
	else
		fprintf(out, "\n  all %s GPU events lie in a scope\n",
			assay_fmt_count(count[1], v->work));
	print_unscoped_thread(out, run, v, &scratch);
	print_inferred(out, run, v, &scratch);
	if (v->by_schedule)
		fprintf(out,
			"  scopes inside command buffers are inferred from the program's schedule; --exact leaves them out\n");
	if (v->sum_grad)
		fprintf(out, "  %s of work are gradients, %s\n", assay_fmt_time(f[0], v->sum_grad),
			strcmp(v->by, "forward")
				? "shown where they were launched; --by forward shows them with their forward operator"
				: "shown in the scope of their forward operator");
	if (v->step >= 0)
		fprintf(out, "  100%% is %s: step %" PRId64 "\n", assay_fmt_time(f[1], v->whole),
			v->step);
	else
		fprintf(out, "  100%% is %s: %s\n", assay_fmt_time(f[1], v->whole),
			v->steps ? "all steps" : "the first event to the last");
	print_problems(out, run);
	order_free(&o);
	assay_arena_free(&scratch);
}

/* One frame of a folded stack: ';' and line ends would cut it. */
static void put_frame(FILE *out, assay_str name)
{
	assay_arena a = {0};
	char *text = assay_dup(&a, name);
	for (size_t i = 0; i < name.n; i++)
		text[i] = text[i] == ';' ? ':' : strchr("\t\n\r", text[i]) ? ' ' : text[i];
	fputs(assay_fmt_safe(&a, (assay_str){text, name.n}), out);
	assay_arena_free(&a);
}

void assay_scopes_folded(FILE *out, const assay_run *run, const assay_scope_view *v)
{
	assay_vec(uint32_t) path = {0};
	for (uint32_t i = 0; i < v->n; i++) {
		const assay_scope_line *l = &v->line[i];
		int64_t value = v->work ? l->gpu_self : l->host_self;
		if (value <= 0 || (v->depth && l->depth >= v->depth))
			continue;
		path.n = 0;
		for (uint32_t k = i; k != ASSAY_NO_ROW; k = v->line[k].parent)
			*assay_push(&path) = k;
		while (path.n) {
			put_frame(out, name_of(run, &v->line[path.p[--path.n]]));
			fputc(path.n ? ';' : ' ', out);
		}
		fprintf(out, "%" PRId64 "\n", value);
	}
	if (v->sum_none)
		fprintf(out, "(no scope) %" PRId64 "\n", v->sum_none);
	assay_vec_free(&path);
}

/* The innermost ones of a path that is deeper than any program's: all of all would be the
 * square. */
static void put_path(assay_jsonw *w, const assay_run *run, const assay_scope_view *v, uint32_t line)
{
	enum { DEPTH = 256 };
	uint32_t path[DEPTH];
	size_t n = 0, outer = 0;
	for (; line != ASSAY_NO_ROW; line = v->line[line].parent)
		if (n < DEPTH)
			path[n++] = line;
		else
			outer++;
	assay_jsonw_open_flat(w, "path", '[');
	if (outer) {
		char text[64];
		snprintf(text, sizeof text, "(%zu outer ranges)", outer);
		assay_jsonw_z(w, NULL, text);
	}
	while (n)
		assay_jsonw_str(w, NULL, name_of(run, &v->line[path[--n]]));
	assay_jsonw_close(w, ']');
}

static void put_node(assay_jsonw *w, const assay_run *run, const assay_scope_view *v, uint32_t line)
{
	const assay_scope_line *l = &v->line[line];
	assay_jsonw_open_flat(w, NULL, '{');
	put_path(w, run, v, line);
	if (l->id)
		assay_jsonw_i64(w, "id", l->id);
	if (l->ts >= 0)
		assay_jsonw_i64(w, "start_ns", l->ts);
	assay_jsonw_u64(w, "count", l->count);
	assay_jsonw_i64_if(w, "host_ns", l->host >= 0, l->host);
	assay_jsonw_i64(w, "host_self_ns", l->host_self);
	assay_jsonw_u64(w, "gpu_events", l->work);
	assay_jsonw_i64(w, "gpu_busy_ns", l->gpu_busy);
	assay_jsonw_i64(w, "gpu_sum_ns", l->gpu_sum);
	assay_jsonw_i64(w, "gpu_self_ns", l->gpu_self);
	assay_jsonw_i64(w, "gpu_gradient_ns", l->gpu_grad);
	assay_jsonw_i64(w, "gpu_inferred_ns", l->gpu_inferred);
	assay_jsonw_i64(w, "wait_ns", l->waits);
	assay_jsonw_i64(w, "idle_ns", l->idle);
	assay_jsonw_f64(w, "pct", assay_percent(l->gpu_busy, v->whole));
	if (l->inferred)
		assay_jsonw_bool(w, "inferred", true);
	assay_jsonw_close(w, '}');
}

static void put_thread(assay_jsonw *w, const assay_run *run, const char *key, uint32_t track)
{
	const assay_track_table *t = &run->part.t.track;
	assay_jsonw_open_flat(w, key, '{');
	if (track != ASSAY_NO_ROW) {
		assay_jsonw_i64(w, "pid", t->pid[track]);
		assay_jsonw_i64(w, "tid", t->tid[track]);
		assay_jsonw_str(w, "name", assay_text(run, t->name[track]));
	}
	assay_jsonw_close(w, '}');
}

static void put_inferred(assay_jsonw *w, const assay_run *run, const assay_scope_view *v)
{
	uint64_t work = 0;
	int64_t sum = 0;
	for (size_t i = 0; i < v->pairs; i++) {
		work += v->inferred[i].work;
		sum += v->inferred[i].sum;
	}
	assay_jsonw_u64(w, "gpu_events_inferred", work);
	assay_jsonw_i64(w, "gpu_sum_inferred_ns", sum);
	assay_jsonw_open(w, "inferred", '[');
	for (size_t i = 0; i < v->pairs; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		put_thread(w, run, "launched_by", v->inferred[i].worker);
		put_thread(w, run, "while_waiting", v->inferred[i].waiter);
		assay_jsonw_u64(w, "gpu_events", v->inferred[i].work);
		assay_jsonw_i64(w, "gpu_sum_ns", v->inferred[i].sum);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_scopes_json(assay_jsonw *w, const assay_run *run, const assay_scope_view *v)
{
	order o = {.v = v};
	order_lines(&o);
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "by", v->by);
	assay_jsonw_u64(w, "steps", v->steps);
	assay_jsonw_i64(w, "whole_ns", v->whole);
	assay_jsonw_u64(w, "gpu_events", v->work);
	assay_jsonw_u64(w, "gpu_events_in_no_scope", v->work_none);
	assay_jsonw_i64(w, "gpu_sum_ns", v->sum);
	assay_jsonw_i64(w, "gpu_sum_in_no_scope_ns", v->sum_none);
	assay_jsonw_i64(w, "gpu_sum_of_gradients_ns", v->sum_grad);
	put_inferred(w, run, v);
	assay_jsonw_open(w, "scopes", '[');
	for (size_t i = 0; i < o.out.n; i++)
		if (!o.out.p[i].more)
			put_node(w, run, v, o.out.p[i].line);
	assay_jsonw_close(w, ']');
	assay_issues_json(w, "issues", run);
	assay_jsonw_close(w, '}');
	order_free(&o);
}

/* Earliest start, so that a timeline begins at 0. */
static int64_t timeline_start(const assay_run *run)
{
	const assay_derived_table *d = &run->part.t.derived;
	int64_t start = d->n ? d->ts[0] : 0;
	for (size_t i = 1; i < d->n; i++)
		start = d->ts[i] < start ? d->ts[i] : start;
	return start;
}

/* Events of one row and stream stand together: the analysis goes stream by stream. */
void assay_timeline_text(FILE *out, const assay_run *run, uint32_t top)
{
	const assay_derived_table *d = &run->part.t.derived;
	const assay_track_table *t = &run->part.t.track;
	assay_arena scratch = {0};
	int64_t start = timeline_start(run);
	for (int row = 0; row < ASSAY_DERIVED_ROW_COUNT; row++) {
		uint32_t track = ASSAY_NO_ROW, shown = 0;
		for (size_t i = 0; i < d->n; i++) {
			char at[ASSAY_FMT], dur[ASSAY_FMT];
			if (d->row[i] != row)
				continue;
			if (d->track[i] != track && row == ASSAY_DERIVED_STEPS)
				fprintf(out, "%sSteps of device %" PRId64 "\n",
					track == ASSAY_NO_ROW ? "" : "\n", t->pid[d->track[i]]);
			else if (d->track[i] != track)
				fprintf(out, "\n%s - from #%" PRId64 " of device %" PRId64 "\n",
					assay_derived_row_name[row], t->tid[d->track[i]],
					t->pid[d->track[i]]);
			shown = d->track[i] == track ? shown + 1 : 1;
			track = d->track[i];
			if (top && shown > top)
				continue;
			fprintf(out, "  %10s %10s %7" PRIu64 "  %*s%s\n",
				assay_fmt_time(at, d->ts[i] - start),
				assay_fmt_time(dur, d->dur[i]), d->events[i], 2 * d->level[i], "",
				assay_fmt_safe(&scratch, assay_text(run, d->name[i])));
		}
	}
	if (!d->n)
		fprintf(out, "nothing to derive: no kernel has a scope or a label of XLA\n");
	assay_arena_free(&scratch);
}

void assay_timeline_json(assay_jsonw *w, const assay_run *run)
{
	const assay_derived_table *d = &run->part.t.derived;
	const assay_track_table *t = &run->part.t.track;
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_open(w, "timeline", '[');
	for (size_t i = 0; i < d->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "row", assay_derived_row_name[d->row[i]]);
		assay_jsonw_i64(w, "device", t->pid[d->track[i]]);
		assay_jsonw_i64(w, "stream", t->tid[d->track[i]]);
		assay_jsonw_u64(w, "level", d->level[i]);
		assay_jsonw_i64(w, "ts_ns", d->ts[i]);
		assay_jsonw_i64(w, "dur_ns", d->dur[i]);
		assay_jsonw_str(w, "name", assay_text(run, d->name[i]));
		assay_jsonw_u64(w, "kernels", d->events[i]);
		if (d->scope[i] != ASSAY_NO_ROW)
			assay_jsonw_i64(w, "scope", run->part.t.scope.id[d->scope[i]]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static const char *folded_text(const assay_run *run, const assay_scope_view *v, char *buf, size_t n)
{
	FILE *f = fmemopen(buf, n, "w");
	assay_scopes_folded(f, run, v);
	fclose(f);
	return buf;
}

TEST(folded_stacks_hold_self_time_and_no_separators)
{
	assay_run *run = assay_run_new();
	assay_scope_line line[] = {
		{.parent = ASSAY_NO_ROW, .name = assay_sid_of(run, "a;b"), .gpu_self = 5},
		{.parent = 0, .depth = 1, .name = assay_sid_of(run, "c d"), .gpu_self = 7},
		{.parent = 0, .depth = 1, .name = assay_sid_of(run, "e"), .gpu_self = 0},
	};
	char buf[256] = {0};
	assay_scope_view v = {.line = line, .n = 3, .work = 2, .sum_none = 3};
	CHECK(!strcmp(folded_text(run, &v, buf, sizeof buf), "a:b 5\na:b;c d 7\n(no scope) 3\n"));
	assay_run_free(run);
	return 0;
}

TEST(children_follow_their_parent_busiest_first)
{
	assay_scope_line line[] = {
		{.parent = ASSAY_NO_ROW, .count = 1, .gpu_busy = 1},
		{.parent = ASSAY_NO_ROW, .count = 1, .gpu_busy = 9},
		{.parent = 1, .depth = 1, .count = 1, .gpu_busy = 2},
		{.parent = 1, .depth = 1, .count = 1, .gpu_busy = 7},
		{.parent = 1, .depth = 1, .count = 1, .gpu_busy = 1},
	};
	assay_scope_view v = {.line = line, .n = 5};
	order o = {.v = &v};
	order_lines(&o);
	static const uint32_t want[] = {1, 3, 2, 4, 0};
	CHECK_EQ(o.out.n, 5);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(o.out.p[i].line, want[i]);
	order_free(&o);
	v.top = 1;
	o = (order){.v = &v};
	order_lines(&o);
	CHECK(o.out.n == 4 && o.out.p[2].more == 2 && o.out.p[3].more == 1);
	order_free(&o);
	return 0;
}

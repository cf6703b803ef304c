/* A sentence, shares, the longest stretches, and what a replay says. */
#include "render/path.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "render/report.h"

enum { NAME_WIDTH = 56 };

static int64_t length_of(const assay_path *p)
{
	return p->to - p->from;
}

/* What a stretch shows: the work, or the row of the thread. */
static assay_str name_of(const assay_run *run, const assay_path_seg *s)
{
	const assay_tables *t = &run->part.t;
	bool host = s->class >= ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC;
	if (host && s->host != ASSAY_NO_ROW)
		return assay_text(run, t->host.name[s->host]);
	return !host && s->gpu != ASSAY_NO_ROW ? assay_text(run, t->gpu.name[s->gpu])
					       : (assay_str){NULL, 0};
}

static const char *shown_name(const assay_run *run, const assay_path_seg *s, assay_arena *a)
{
	assay_str name = name_of(run, s);
	if (!name.n)
		return s->class == ASSAY_PATH_HAND_OFF ? "from another thread"
						       : "(nothing recorded)";
	return s->class < ASSAY_PATH_WHY + ASSAY_WHY_HOST_SYNC
		       ? assay_fmt_kernel(a, name, NAME_WIDTH)
		       : assay_fmt_safe(a, name);
}

static const char *place_of(const assay_run *run, const assay_path_seg *s, assay_arena *a)
{
	const assay_track_table *t = &run->part.t.track;
	if (s->track == ASSAY_NO_ROW)
		return "";
	if (t->kind[s->track] == ASSAY_TRACK_STREAM)
		return assay_printf(a, "stream %" PRId64 " of device %" PRId64, t->tid[s->track],
				    t->pid[s->track]);
	return assay_printf(a, "thread %" PRId64, t->tid[s->track]);
}

/* ------------------------------------------------------------------ text */

static void print_row(FILE *out, int64_t time, int64_t whole, const char *name)
{
	char f[ASSAY_FMT];
	fprintf(out, "  %10s %5.1f%%  %s\n", assay_fmt_time(f, time), assay_percent(time, whole),
		name);
}

static void print_classes(FILE *out, const assay_path *p)
{
	int64_t whole = length_of(p), step = p->changed.step;
	char f[2][ASSAY_FMT];
	fprintf(out, "\nThe path by class%s\n",
		p->rules.n ? "                           changed" : "");
	for (int c = 0; c < ASSAY_PATH_CLASSES; c++) {
		if (!p->class[c] && !(p->rules.n && p->changed.class[c]))
			continue;
		fprintf(out, "  %-16s %10s %5.1f%%", assay_path_class_name(c),
			assay_fmt_time(f[0], p->class[c]), assay_percent(p->class[c], whole));
		if (p->rules.n)
			fprintf(out, "  %10s %5.1f%%", assay_fmt_time(f[1], p->changed.class[c]),
				assay_percent(p->changed.class[c], step));
		fputc('\n', out);
	}
}

static int by_length(const void *a, const void *b)
{
	const assay_path_seg *const *x = a, *const *y = b;
	return assay_then(ASSAY_CMP((*y)->dur, (*x)->dur), ASSAY_CMP((*x)->ts, (*y)->ts));
}

static void print_longest(FILE *out, const assay_run *run, const assay_path *p, uint32_t top)
{
	assay_vec(const assay_path_seg *) s = {0};
	char f[2][ASSAY_FMT], count[ASSAY_FMT];
	assay_arena a = {0};
	for (size_t i = 0; i < p->seg.n; i++)
		*assay_push(&s) = &p->seg.p[i];
	if (s.n)
		qsort(s.p, s.n, sizeof *s.p, by_length);
	fprintf(out, "\nLongest of %s stretches\n  %10s %10s  %-15s %s\n",
		assay_fmt_count(count, s.n), "at", "length", "class", "what");
	for (size_t i = 0; i < s.n && (!top || i < top); i++)
		fprintf(out, "  %10s %10s  %-15s %.*s, %s%s\n",
			assay_fmt_time(f[0], s.p[i]->ts - p->from),
			assay_fmt_time(f[1], s.p[i]->dur), assay_path_class_name(s.p[i]->class),
			NAME_WIDTH, shown_name(run, s.p[i], &a), place_of(run, s.p[i], &a),
			s.p[i]->inferred ? " (inferred)" : "");
	assay_vec_free(&s);
	assay_arena_free(&a);
}

static void print_families(FILE *out, const assay_path *p)
{
	bool done[ASSAY_FAMILY_COUNT] = {false};
	for (int n = 0; n < ASSAY_FAMILY_COUNT; n++) {
		int best = -1;
		for (int f = 0; f < ASSAY_FAMILY_COUNT; f++)
			if (!done[f] && p->family[f] &&
			    (best < 0 || p->family[f] > p->family[best]))
				best = f;
		if (best < 0)
			return;
		if (!n)
			fprintf(out, "\nFamilies on the path\n");
		done[best] = true;
		print_row(out, p->family[best], length_of(p), assay_family_name[best]);
	}
}

static void print_sums(FILE *out, const assay_run *run, const assay_path *p, uint32_t top)
{
	assay_arena a = {0};
	if (p->kernels.n)
		fprintf(out, "\nKernels on the path\n");
	for (size_t i = 0; i < p->kernels.n && (!top || i < top); i++) {
		const assay_path_sum *k = &p->kernels.p[i];
		const char *name = assay_kernel_label(&a, assay_text(run, k->name), NAME_WIDTH);
		print_row(out, k->time, length_of(p),
			  assay_printf(&a, "%s (%" PRIu64 ")", name, k->count));
	}
	print_families(out, p);
	if (p->scopes.n)
		fprintf(out, "\nScopes on the path, with what is inside them\n");
	for (size_t i = 0; i < p->scopes.n && (!top || i < top); i++)
		print_row(out, p->scopes.p[i].time, length_of(p),
			  assay_fmt_safe(&a, assay_text(run, p->scopes.p[i].name)));
	assay_arena_free(&a);
}

static const char *add_count(assay_arena *a, const char *text, uint64_t n, const char *one,
			     const char *many)
{
	char f[ASSAY_FMT];
	if (!n)
		return text;
	return assay_printf(a, "%s%s%s %s", text, *text ? ", " : "", assay_fmt_count(f, n),
			    n == 1 ? one : many);
}

static const char *matched_words(const assay_path_rule *r, assay_arena *a)
{
	const char *text = add_count(a, "", r->work, "GPU event", "GPU events");
	text = add_count(a, text, r->spans, "host span", "host spans");
	return add_count(a, text, r->waits, "dependency", "dependencies");
}

static void print_changed(FILE *out, const assay_path *p)
{
	assay_arena a = {0};
	char f[3][ASSAY_FMT];
	int64_t gain = p->same.step - p->changed.step;
	fprintf(out, "\nWhat if\n");
	for (size_t i = 0; i < p->rules.n; i++)
		fprintf(out, "  %s: %s\n", assay_fmt_safe(&a, assay_str_of(p->rules.p[i].text)),
			matched_words(&p->rules.p[i], &a));
	fprintf(out, "  measured %s, predicted %s: %s %s (%.1f %%), %.2fx\n",
		assay_fmt_time(f[0], length_of(p)), assay_fmt_time(f[1], p->changed.step),
		assay_fmt_time(f[2], gain < 0 ? -gain : gain), gain < 0 ? "lost" : "gained",
		assay_percent(gain, p->same.step),
		p->changed.step > 0 ? (double)p->same.step / (double)p->changed.step : 0);
	assay_arena_free(&a);
}

static void print_trust(FILE *out, const assay_run *run, const assay_path *p)
{
	char f[4][ASSAY_FMT], c[3][ASSAY_FMT];
	fprintf(out,
		"\n"
		"How far to trust it\n"
		"  replay error %.2f %%: the graph with nothing changed gives %s for the measured %s\n",
		assay_path_error(p), assay_fmt_time(f[0], p->same.step),
		assay_fmt_time(f[1], length_of(p)));
	fprintf(out,
		"  %s dependencies between %s instants and %s GPU events; %.2f %% contradict the clocks and count as no delay\n",
		assay_fmt_count(c[0], p->deps), assay_fmt_count(c[1], p->points),
		assay_fmt_count(c[2], p->work),
		assay_percent((int64_t)p->violated, (int64_t)p->deps));
	fprintf(out,
		"  typical launch latency %s, gap between queued work %s, return from a wait %s\n",
		assay_fmt_time(f[0], p->launch_latency), assay_fmt_time(f[1], p->stream_gap),
		assay_fmt_time(f[2], p->sync_return));
	if (p->inferred)
		fprintf(out,
			"  %s hand-offs between threads are inferred from threads taking turns\n",
			assay_fmt_count(c[0], p->inferred));
	if (p->guessed)
		fprintf(out,
			"  %s waits of one stream for another are inferred: nothing recorded explains the delay\n",
			assay_fmt_count(c[0], p->guessed));
	if (p->full)
		fprintf(out, "  %s launches waited for room in a full queue\n",
			assay_fmt_count(c[0], p->full));
	if (p->broken)
		fprintf(out, "  %s dependencies point back in time and are left out\n",
			assay_fmt_count(c[0], p->broken));
	if (p->overlaps)
		fprintf(out, "  %s GPU events ran beside the one before them on their stream\n",
			assay_fmt_count(c[0], p->overlaps));
	if (p->sources > 1)
		fprintf(out,
			"  one of %u processes is followed (%s); collectives last as long as they did\n",
			p->sources, assay_z(run, run->part.t.source.path[p->source]));
	if (p->step == ASSAY_NO_ROW && !p->steps)
		fprintf(out, "  the input marks no steps: this is the whole recording\n");
}

void assay_path_text(FILE *out, const assay_run *run, const assay_path *p, uint32_t top)
{
	fprintf(out, "%s\n", p->sentence);
	if (p->chosen > 1)
		fprintf(out,
			"  the step of median length of %" PRIu64
			" after warming up; --step N takes another\n",
			p->chosen);
	if (p->rules.n)
		print_changed(out, p);
	print_classes(out, p);
	print_longest(out, run, p, top);
	print_sums(out, run, p, top);
	print_trust(out, run, p);
}

/* ------------------------------------------------------------------ JSON */

static void put_classes(assay_jsonw *w, const int64_t class[ASSAY_PATH_CLASSES])
{
	assay_jsonw_open(w, "classes_ns", '{');
	for (int c = 0; c < ASSAY_PATH_CLASSES; c++)
		assay_jsonw_i64(w, assay_path_class_name(c), class[c]);
	assay_jsonw_close(w, '}');
}

static void put_place(assay_jsonw *w, const assay_track_table *t, uint32_t track)
{
	if (track == ASSAY_NO_ROW) {
		assay_jsonw_null(w, "thread");
	} else if (t->kind[track] == ASSAY_TRACK_STREAM) {
		assay_jsonw_i64(w, "device", t->pid[track]);
		assay_jsonw_i64(w, "stream", t->tid[track]);
	} else {
		assay_jsonw_i64(w, "process", t->pid[track]);
		assay_jsonw_i64(w, "thread", t->tid[track]);
	}
}

static void put_segments(assay_jsonw *w, const assay_run *run, const assay_path *p)
{
	assay_jsonw_open(w, "segments", '[');
	for (size_t i = 0; i < p->seg.n; i++) {
		const assay_path_seg *s = &p->seg.p[i];
		assay_str name = name_of(run, s);
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "class", assay_path_class_name(s->class));
		if (name.n)
			assay_jsonw_str(w, "name", name);
		else
			assay_jsonw_null(w, "name");
		put_place(w, &run->part.t.track, s->track);
		assay_jsonw_i64(w, "start_ns", s->ts);
		assay_jsonw_i64(w, "dur_ns", s->dur);
		assay_jsonw_bool(w, "inferred", s->inferred);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_sums(assay_jsonw *w, const assay_run *run, const char *key,
		     const assay_path_sum *sum, size_t n, uint32_t top)
{
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < n && (!top || i < top); i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_str(w, "name", assay_text(run, sum[i].name));
		assay_jsonw_u64(w, "count", sum[i].count);
		assay_jsonw_i64(w, "path_ns", sum[i].time);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void put_replay(assay_jsonw *w, const assay_path *p)
{
	assay_jsonw_open(w, "replay", '{');
	assay_jsonw_i64(w, "step_ns", p->same.step);
	assay_jsonw_f64(w, "error_pct", assay_path_error(p));
	assay_jsonw_u64(w, "points", p->points);
	assay_jsonw_u64(w, "gpu_events", p->work);
	assay_jsonw_u64(w, "dependencies", p->deps);
	assay_jsonw_u64(w, "violated", p->violated);
	assay_jsonw_u64(w, "left_out", p->broken);
	assay_jsonw_u64(w, "inferred_hand_offs", p->inferred);
	assay_jsonw_u64(w, "inferred_waits", p->guessed);
	assay_jsonw_u64(w, "full_queue_launches", p->full);
	assay_jsonw_u64(w, "overlapping_on_a_stream", p->overlaps);
	assay_jsonw_i64(w, "launch_latency_ns", p->launch_latency);
	assay_jsonw_i64(w, "stream_gap_ns", p->stream_gap);
	assay_jsonw_i64(w, "sync_return_ns", p->sync_return);
	assay_jsonw_i64(w, "sync_call_ns", p->sync_call);
	assay_jsonw_close(w, '}');
}

static void put_changed(assay_jsonw *w, const assay_path *p)
{
	assay_jsonw_open(w, "what_if", '{');
	assay_jsonw_open(w, "rules", '[');
	for (size_t i = 0; i < p->rules.n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_z(w, "rule", p->rules.p[i].text);
		assay_jsonw_u64(w, "gpu_events", p->rules.p[i].work);
		assay_jsonw_u64(w, "host_spans", p->rules.p[i].spans);
		assay_jsonw_u64(w, "dependencies", p->rules.p[i].waits);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_i64(w, "predicted_ns", p->changed.step);
	assay_jsonw_i64(w, "gain_ns", p->same.step - p->changed.step);
	put_classes(w, p->changed.class);
	assay_jsonw_close(w, '}');
}

static void put_figures(assay_jsonw *w, const assay_run *run, const assay_path *p, uint32_t top)
{
	const assay_step_table *s = &run->part.t.step;
	assay_jsonw_z(w, "summary", p->sentence);
	int64_t step = p->step == ASSAY_NO_ROW ? -1 : s->number[p->step];
	assay_jsonw_i64_if(w, "step", step >= 0, step);
	assay_jsonw_u64(w, "steps", p->steps);
	assay_jsonw_i64(w, "start_ns", p->from);
	assay_jsonw_i64(w, "measured_ns", length_of(p));
	put_classes(w, p->class);
	assay_jsonw_open(w, "families_ns", '{');
	for (int f = 0; f < ASSAY_FAMILY_COUNT; f++)
		assay_jsonw_i64(w, assay_family_name[f], p->family[f]);
	assay_jsonw_close(w, '}');
	put_sums(w, run, "kernels", p->kernels.p, p->kernels.n, top);
	put_sums(w, run, "scopes", p->scopes.p, p->scopes.n, top);
	put_replay(w, p);
	if (p->rules.n)
		put_changed(w, p);
}

void assay_path_json(assay_jsonw *w, const assay_run *run, const assay_path *p, uint32_t top)
{
	assay_jsonw_open(w, NULL, '{');
	put_figures(w, run, p, top);
	put_segments(w, run, p);
	assay_jsonw_close(w, '}');
}

void assay_path_figures_json(assay_jsonw *w, const assay_run *run, const assay_path *p)
{
	assay_jsonw_open(w, NULL, '{');
	put_figures(w, run, p, 0);
	assay_jsonw_close(w, '}');
}

/* Ranges as the device saw them: for streams whose input left no annotations on the device, one
 * band from the first to the last of neighbouring works that were launched in the same range, at
 * each depth. The innermost band ends where work that is known to be in the range and work that is
 * inferred to be there meet; one around it is inferred when all its work is. */
#include "render/html_page.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/xplane.h"

enum { DEPTH = 8, CLIMB = 256, STREAMS_MAX = 4096 };

/* The open bands of a stream, outermost first. */
struct stream {
	uint32_t scope[DEPTH];
	int64_t start[DEPTH], end[DEPTH];
	bool inferred[DEPTH];
	uint32_t depth;
};

/* Ranges around a row of scope, outermost first; returns how many, at most DEPTH. */
static uint32_t path_of(const assay_scope_table *s, uint32_t row, uint32_t path[DEPTH])
{
	uint32_t all[CLIMB], n = 0, kept = 0;
	for (; row < s->n && n < CLIMB; row = s->up[row])
		all[n++] = row;
	while (n && kept < DEPTH)
		path[kept++] = all[--n];
	return kept;
}

/* Outermost first: of bands with the same ends that one is to be the parent. */
static void close_bands(page_bands *out, const assay_scope_table *s, struct stream *st,
			uint32_t track, uint32_t keep)
{
	for (uint32_t d = keep; d < st->depth; d++) {
		*assay_push(&out->ts) = st->start[d];
		*assay_push(&out->dur) = st->end[d] - st->start[d];
		*assay_push(&out->track) = track;
		*assay_push(&out->name) = s->name[st->scope[d]];
		*assay_push(&out->kind) = st->inferred[d] ? PAGE_INFERRED - PAGE_MARK : 0;
	}
	st->depth = keep < st->depth ? keep : st->depth;
}

struct work {
	uint32_t track, scope;
	int64_t start, end;
	bool inferred;
};

static void add_work(page_bands *out, const assay_scope_table *s, struct stream *st, struct work w)
{
	uint32_t path[DEPTH], n = path_of(s, w.scope, path), same = 0;
	while (same < n && same < st->depth && st->scope[same] == path[same])
		same++;
	if (n && same == n && st->inferred[n - 1] != w.inferred)
		same--;
	close_bands(out, s, st, w.track, same);
	for (uint32_t d = 0; d < same; d++) {
		st->end[d] = w.end > st->end[d] ? w.end : st->end[d];
		st->inferred[d] &= w.inferred;
	}
	for (; st->depth < n; st->depth++) {
		st->scope[st->depth] = path[st->depth];
		st->start[st->depth] = w.start;
		st->end[st->depth] = w.end;
		st->inferred[st->depth] = w.inferred;
	}
}

static const bool *labelled(assay_page *p)
{
	const assay_tables *t = &p->run->part.t;
	if (p->labelled)
		return p->labelled;
	p->labelled = assay_alloc(&p->scratch, t->track.n + 1);
	assay_map seen = {0}; /* arguments -> 1: they have labels */
	for (size_t i = 0; i < t->gpu.n; i++) {
		assay_sid args = t->gpu.args[i];
		if (!args || t->gpu.track[i] >= t->track.n || p->labelled[t->gpu.track[i]])
			continue;
		uint32_t *slot = assay_map_at(&seen, args);
		if (*slot == ASSAY_MAP_ABSENT) {
			assay_str s = assay_text(p->run, args);
			*slot = assay_str_find(s, "\"hlo_") >= 0 ||
				assay_str_find(s, "\"tf_op\"") >= 0;
		}
		p->labelled[t->gpu.track[i]] = *slot;
	}
	assay_map_free(&seen);
	return p->labelled;
}

/* Does the input bring derived rows of its own? */
static bool brings_rows(const assay_run *run, uint32_t source)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->mark.n; i++) {
		uint32_t track = t->mark.track[i];
		if (track < t->track.n && t->track.source[track] == source &&
		    xplane_line_is_derived(t->track.tid[track],
					   assay_text(run, t->track.name[track])))
			return true;
	}
	return false;
}

void assay_page_derived(assay_page *p, assay_derived_row row, page_bands *out)
{
	const assay_tables *t = &p->run->part.t;
	const assay_derived_table *d = &t->derived;
	bool *brought = assay_alloc(&p->scratch, t->source.n + 1);
	const bool *xla = labelled(p);
	for (uint32_t i = 0; d->n && i < t->source.n; i++)
		brought[i] = brings_rows(p->run, i);
	for (size_t i = 0; i < d->n; i++) {
		uint32_t track = d->track[i], source = t->track.source[track];
		if (d->row[i] != row || (row != ASSAY_DERIVED_STEPS && !xla[track]) ||
		    (source < t->source.n && brought[source]))
			continue;
		*assay_push(&out->ts) = d->ts[i];
		*assay_push(&out->dur) = d->dur[i];
		*assay_push(&out->track) = track;
		*assay_push(&out->name) = d->name[i];
		*assay_push(&out->kind) = 0;
	}
}

/* Number of each stream that has work and no annotations, or ASSAY_NO_ROW; *n is how many. */
static uint32_t *number_streams(assay_page *p, uint32_t *n)
{
	const assay_tables *t = &p->run->part.t;
	uint32_t *number = assay_alloc(&p->scratch, (t->track.n + 1) * sizeof *number);
	memset(number, 0xff, t->track.n * sizeof *number);
	bool *marked = assay_alloc(&p->scratch, t->track.n + 1);
	for (size_t i = 0; i < t->mark.n; i++)
		if (t->mark.track[i] < t->track.n)
			marked[t->mark.track[i]] = true;
	for (size_t i = 0; i < t->gpu.n && *n < STREAMS_MAX; i++) {
		uint32_t track = t->gpu.track[i];
		if (track < t->track.n && !marked[track] && !labelled(p)[track] &&
		    number[track] == ASSAY_NO_ROW)
			number[track] = (*n)++;
	}
	return number;
}

void assay_page_scope_bands(assay_page *p, page_bands *out)
{
	const assay_tables *t = &p->run->part.t;
	if (!t->scope.n || t->gpu_scope.n != t->gpu.n)
		return;
	uint32_t n = 0, *number = number_streams(p, &n);
	struct stream *streams = assay_alloc(&p->scratch, (n + 1) * sizeof *streams);
	uint32_t *row = assay_alloc(&p->scratch, (t->gpu.n + 1) * sizeof *row);
	for (uint32_t i = 0; i < t->gpu.n; i++)
		row[i] = i;
	assay_sort_rows(row, t->gpu.n, t->gpu.ts);
	for (size_t i = 0; i < t->gpu.n; i++) {
		uint32_t r = row[i], track = t->gpu.track[r];
		int64_t end, dur = t->gpu.dur[r] > 0 ? t->gpu.dur[r] : 0;
		if (track >= t->track.n || number[track] == ASSAY_NO_ROW ||
		    __builtin_add_overflow(t->gpu.ts[r], dur, &end))
			continue;
		add_work(out, &t->scope, &streams[number[track]],
			 (struct work){track, t->gpu_scope.scope[r], t->gpu.ts[r], end,
				       t->gpu_scope.how[r] == ASSAY_SCOPE_HOW_INFERRED});
	}
	for (uint32_t track = 0; track < t->track.n; track++)
		if (number[track] != ASSAY_NO_ROW)
			close_bands(out, &t->scope, &streams[number[track]], track, 0);
}

void assay_page_bands_free(page_bands *b)
{
	assay_vec_free(&b->ts);
	assay_vec_free(&b->dur);
	assay_vec_free(&b->track);
	assay_vec_free(&b->name);
	assay_vec_free(&b->kind);
}

TEST(neighbours_of_one_range_share_a_band)
{
	uint32_t up[] = {ASSAY_NO_ROW, 0, 0};
	assay_sid name[] = {1, 2, 3};
	assay_scope_table s = {.n = 3, .up = up, .name = name};
	struct stream st = {0};
	page_bands out = {0};
	add_work(&out, &s, &st, (struct work){9, 1, 0, 10, false});
	add_work(&out, &s, &st, (struct work){9, 1, 20, 30, false}); /* same: one band 0-30 */
	add_work(&out, &s, &st, (struct work){9, 2, 40, 50, false}); /* its sibling: another */
	close_bands(&out, &s, &st, 9, 0);
	CHECK_EQ(out.ts.n, 3);
	CHECK(out.name.p[0] == 2 && out.ts.p[0] == 0 && out.dur.p[0] == 30);
	CHECK(out.name.p[1] == 1 && out.ts.p[1] == 0 && out.dur.p[1] == 50);
	CHECK(out.name.p[2] == 3 && out.ts.p[2] == 40 && out.dur.p[2] == 10);
	add_work(&out, &s, &st, (struct work){9, ASSAY_NO_ROW, 60, 70, false}); /* no band */
	CHECK_EQ(st.depth, 0);
	assay_page_bands_free(&out);
	return 0;
}

TEST(inferred_work_has_bands_of_its_own)
{
	uint32_t up[] = {ASSAY_NO_ROW, 0};
	assay_sid name[] = {1, 2};
	assay_scope_table s = {.n = 2, .up = up, .name = name};
	struct stream st = {0};
	page_bands out = {0};
	add_work(&out, &s, &st, (struct work){9, 1, 0, 10, true});
	add_work(&out, &s, &st, (struct work){9, 1, 20, 30, true});
	add_work(&out, &s, &st, (struct work){9, 1, 40, 50, false});
	close_bands(&out, &s, &st, 9, 0);
	const uint8_t inferred = PAGE_INFERRED - PAGE_MARK;
	CHECK_EQ(out.ts.n, 3);
	CHECK(out.name.p[0] == 2 && out.dur.p[0] == 30 && out.kind.p[0] == inferred);
	CHECK(out.name.p[1] == 1 && out.dur.p[1] == 50 && out.kind.p[1] == 0);
	CHECK(out.name.p[2] == 2 && out.ts.p[2] == 40 && out.kind.p[2] == 0);
	assay_page_bands_free(&out);
	return 0;
}

/* Who took memory: the line of the program, the operator and the range around it, or the call. */
#include "analyze/idle_where.h"
#include "analyze/memory.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/by_name.h"
#include "names/words.h"

/* What stands around an instant of a thread; rows of host. */
struct around {
	uint32_t op;    /* outermost operator: the innermost is the one that allocates */
	uint32_t range; /* innermost */
	uint32_t frame; /* innermost frame of the program itself */
	uint32_t call;  /* innermost */
};

struct level {
	int64_t end;
	struct around in;
};

struct holders {
	assay_run *run;
	uint32_t memory;
	const uint32_t *block; /* rows of alloc, by thread and time */
	size_t n;
	assay_by_name own; /* is it a frame of the program itself? */
	struct around *found;
	assay_arena scratch;
};

static const struct around nothing = {ASSAY_NO_ROW, ASSAY_NO_ROW, ASSAY_NO_ROW, ASSAY_NO_ROW};

/* What was taken in different steps is of one place. */
static bool is_step(const struct holders *h, uint32_t row)
{
	assay_word word = assay_word_of(assay_text(h->run, h->run->part.t.host.name[row]));
	return word == ASSAY_WORD_STEP || word == ASSAY_WORD_STEP_MARKER;
}

static struct around inside(struct holders *h, struct around in, uint32_t row)
{
	uint8_t kind = h->run->part.t.host.kind[row];
	if (kind == ASSAY_HOST_OP && in.op == ASSAY_NO_ROW)
		in.op = row;
	else if (kind == ASSAY_HOST_ANNOTATION && !is_step(h, row))
		in.range = row;
	else if (kind == ASSAY_HOST_PYTHON &&
		 assay_by_name_ask(&h->own, h->run->part.t.host.name[row]))
		in.frame = row;
	else if (assay_is_call(kind))
		in.call = row;
	return in;
}

/* Spans of threads that took blocks, outer before inner ones, thread by thread. */
static uint32_t *sort_spans(struct holders *h, size_t *n)
{
	const assay_tables *t = &h->run->part.t;
	bool *wanted = assay_alloc(&h->scratch, t->track.n + 1);
	uint32_t *row = assay_alloc(&h->scratch, (t->host.n + 1) * sizeof *row);
	int64_t *track = assay_alloc(&h->scratch, (t->host.n + 1) * sizeof *track);
	for (size_t i = 0; i < h->n; i++)
		if (t->alloc.track[h->block[i]] < t->track.n)
			wanted[t->alloc.track[h->block[i]]] = true;
	for (uint32_t i = 0; i < t->host.n; i++) {
		track[i] = t->host.track[i];
		if (wanted[t->host.track[i]])
			row[(*n)++] = i;
	}
	assay_sort_rows_falling(row, *n, t->host.dur);
	assay_sort_rows(row, *n, t->host.ts);
	assay_sort_rows(row, *n, track);
	return row;
}

/* One walk over the spans with a stack of those that are open. */
static void look_around(struct holders *h)
{
	const assay_tables *t = &h->run->part.t;
	assay_vec(struct level) open = {0};
	size_t spans = 0, next = 0;
	uint32_t *span = sort_spans(h, &spans), last = ASSAY_NO_ROW;
	for (size_t i = 0; i < h->n; i++) {
		uint32_t track = t->alloc.track[h->block[i]];
		int64_t at = t->alloc.ts[h->block[i]];
		open.n = track == last ? open.n : 0;
		last = track;
		for (; next < spans &&
		       (t->host.track[span[next]] < track ||
			(t->host.track[span[next]] == track && t->host.ts[span[next]] <= at));
		     next++) {
			if (t->host.track[span[next]] != track)
				continue;
			while (open.n && open.p[open.n - 1].end <= t->host.ts[span[next]])
				open.n--;
			struct around in = open.n ? open.p[open.n - 1].in : nothing;
			*assay_push(&open) = (struct level){assay_host_end(&t->host, span[next]),
							    inside(h, in, span[next])};
		}
		while (open.n && open.p[open.n - 1].end < at)
			open.n--;
		h->found[i] = open.n && track < t->track.n ? open.p[open.n - 1].in : nothing;
	}
	assay_vec_free(&open);
}

/* The calls that the recorder itself names win: their stacks are exact. */
static void take_calls(struct holders *h)
{
	const assay_tables *t = &h->run->part.t;
	assay_map wanted = {0};
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t a = h->block[i], track = t->alloc.track[a];
		if (t->alloc.corr[a] && track < t->track.n)
			*assay_map_at(&wanted, assay_corr_key(assay_track_group(t, track),
							      t->alloc.corr[a])) = i;
	}
	for (uint32_t r = 0; wanted.n && r < t->host.n; r++) {
		uint64_t corr = assay_call_corr(t, r);
		uint32_t i =
			!corr ? ASSAY_MAP_ABSENT
			      : assay_map_get(&wanted,
					      assay_corr_key(assay_track_group(t, t->host.track[r]),
							     corr));
		if (i != ASSAY_MAP_ABSENT)
			h->found[i].call = r;
	}
	assay_map_free(&wanted);
}

static assay_where place_of(struct holders *h, const struct around *in)
{
	const assay_tables *t = &h->run->part.t;
	assay_where where = {0};
	uint32_t stack = assay_call_stack(t, in->call);
	if (stack != ASSAY_NO_ROW)
		assay_where_in_stack(h->run, assay_own_call(t, stack), &where);
	else if (in->frame != ASSAY_NO_ROW)
		assay_frame_where(&h->scratch, assay_text(h->run, t->host.name[in->frame]), &where);
	return where;
}

static assay_sid name_of(const struct holders *h, uint32_t row)
{
	return row == ASSAY_NO_ROW ? 0 : h->run->part.t.host.name[row];
}

static assay_sid sid_or_none(struct holders *h, const char *text)
{
	return text ? assay_sid_of(h->run, text) : 0;
}

/* Blocks of one place and operator are one row. */
static void add_up(struct holders *h)
{
	assay_tables *t = &h->run->part.t;
	assay_map known = {0};
	for (size_t i = 0; i < h->n; i++) {
		const struct around *in = &h->found[i];
		assay_where where = place_of(h, in);
		assay_sid op = name_of(h, in->op != ASSAY_NO_ROW ? in->op : in->call);
		uint64_t key[] = {op, name_of(h, in->range), sid_or_none(h, where.file),
				  (uint64_t)where.line, sid_or_none(h, where.function)};
		uint32_t *slot = assay_map_at(&known, assay_hash(key, sizeof key, 0)), r = *slot;
		if (r == ASSAY_MAP_ABSENT) {
			r = *slot = assay_add(t, ASSAY_T_memory_holder);
			t->memory_holder.memory[r] = h->memory;
			t->memory_holder.op[r] = op;
			t->memory_holder.range[r] = (assay_sid)key[1];
			t->memory_holder.file[r] = (assay_sid)key[2];
			t->memory_holder.line[r] = where.file ? where.line : -1;
			t->memory_holder.function[r] = (assay_sid)key[4];
		}
		t->memory_holder.bytes[r] += t->alloc.bytes[h->block[i]];
		t->memory_holder.blocks[r]++;
	}
	assay_map_free(&known);
}

static uint32_t *sort_blocks(struct holders *h, const uint32_t *block)
{
	const assay_alloc_table *a = &h->run->part.t.alloc;
	uint32_t *row = assay_alloc(&h->scratch, (h->n + 1) * sizeof *row);
	int64_t *track = assay_alloc(&h->scratch, (a->n + 1) * sizeof *track);
	for (size_t i = 0; i < h->n; i++) {
		row[i] = block[i];
		track[block[i]] = a->track[block[i]];
	}
	assay_sort_rows(row, h->n, a->ts);
	assay_sort_rows(row, h->n, track);
	return row;
}

void assay_memory_holders(assay_run *run, uint32_t memory, const uint32_t *block, size_t n)
{
	struct holders h = {.run = run, .memory = memory, .n = n};
	h.own = assay_by_name_open(run, &h.scratch, assay_is_own_frame);
	h.found = assay_alloc(&h.scratch, (n + 1) * sizeof *h.found);
	h.block = sort_blocks(&h, block);
	look_around(&h);
	take_calls(&h);
	add_up(&h);
	assay_arena_free(&h.scratch);
}

static uint32_t add_block(assay_run *run, int64_t ts, int64_t bytes, uint64_t corr)
{
	assay_alloc_table *a = &run->part.t.alloc;
	uint32_t r = assay_add(&run->part.t, ASSAY_T_alloc);
	a->ts[r] = ts;
	a->bytes[r] = bytes;
	a->corr[r] = corr;
	a->track[r] = assay_thread_track(&run->part, 1, 1);
	return r;
}

static bool holds(const assay_run *run, uint32_t row, const char *op, const char *range,
		  int64_t bytes)
{
	const assay_memory_holder_table *h = &run->part.t.memory_holder;
	return row < h->n && h->bytes[row] == bytes &&
	       assay_str_is(assay_text(run, h->op[row]), op) &&
	       assay_str_is(assay_text(run, h->range[row]), range);
}

TEST(blocks_belong_to_the_outermost_operator_around_them)
{
	assay_run *run = assay_run_new();
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::empty", 20, 5); /* inner before outer */
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#3", 0, 100);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "forward", 5, 40);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::linear", 10, 30);
	assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 60, 10);
	const uint32_t block[] = {add_block(run, 65, 8, 0), add_block(run, 22, 100, 0),
				  add_block(run, 30, 50, 0), add_block(run, 90, 1, 0)};
	assay_memory_holders(run, 0, block, 4);
	CHECK_EQ(run->part.t.memory_holder.n, 3);
	CHECK(holds(run, 0, "aten::linear", "forward", 150));
	CHECK(holds(run, 1, "aten::mm", "", 8) && holds(run, 2, "", "", 1));
	assay_run_free(run);
	return 0;
}

TEST(blocks_belong_to_the_own_frame_and_to_the_call_that_took_them)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "train.py(12): main", 0, 100);
	assay_hand_host(run, ASSAY_HOST_PYTHON, "torch/nn/modules/linear.py(124): forward", 10, 50);
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaMalloc", 200, 10);
	t->api.corr[t->host.detail[call]] = 7;
	const uint32_t block[] = {add_block(run, 20, 64, 0), add_block(run, 300, 32, 7)};
	assay_memory_holders(run, 0, block, 2);
	CHECK(t->memory_holder.n == 2 && t->memory_holder.line[0] == 12);
	CHECK(assay_str_is(assay_text(run, t->memory_holder.file[0]), "train.py"));
	CHECK(holds(run, 1, "cudaMalloc", "", 32) && t->memory_holder.line[1] == -1);
	assay_run_free(run);
	return 0;
}

/* Our own capture (docs/formats/capture.md): chunks in, rows out. */
#include "read/capture.h"

#include <stdio.h>
#include <unistd.h>

#include "read/frees.h"
#include "read/rank_env.h"
#include "read/reader.h"
#include "read/rings.h"

/* False when this very chunk was read before: a death during a write makes it appear twice. */
static bool first_time(capture *c, const assay_wire_chunk *h)
{
	if (!h->ring)
		return true;
	uint64_t key[2] = {h->ring, h->pos};
	uint32_t *slot = assay_map_at(&c->chunks, assay_hash(key, sizeof key, h->pid));
	bool fresh = *slot == ASSAY_MAP_ABSENT;
	*slot = 1;
	return fresh;
}

static void read_chunk(capture *c, const assay_wire_chunk *h, assay_str payload)
{
	if (h->seq > c->next_seq && c->started)
		assay_count(c->part, ASSAY_ISSUE_damaged_chunk, h->seq - c->next_seq);
	if (h->seq >= c->next_seq)
		c->next_seq = h->seq + 1;
	c->tid = h->tid;
	c->ring = h->ring;
	assay_capture_ring(c);
	if (c->pid < 0)
		c->pid = h->pid;
	if (first_time(c, h))
		assay_capture_records(c, payload);
}

/* Where the next chunk may start, after `pos`; the view's end when there is none in it. */
static size_t find_magic(assay_view v, size_t from)
{
	for (size_t i = from; i + 4 <= v.n; i++) {
		const char *hit = memchr(v.p + i, 'A', v.n - 3 - i);
		if (!hit)
			break;
		i = (size_t)(hit - v.p);
		if (!memcmp(hit, "ASYC", 4))
			return i;
	}
	return v.n > 3 + from ? v.n - 3 : v.n;
}

static void finish(capture *c)
{
	c->ring = 0;
	assay_capture_end_ranges(c);
	assay_capture_end_off(c, c->last_time);
	if (!c->ended && !c->whole)
		assay_count(c->part, ASSAY_ISSUE_no_end, 1);
	assay_rank_from_env(c->part);
	assay_capture_settle(c);
	assay_capture_join(c);
	if (c->run->open_ends)
		assay_capture_queue(c);
	assay_pair_frees(&c->part->t.alloc, c->first_alloc);
}

static void free_capture(capture *c)
{
	assay_map *maps[] = {&c->strings, &c->kernels, &c->functions, &c->contexts, &c->chunks,
			     &c->stacks,  &c->spans,   &c->by_sync,   &c->rings,    &c->last_ring,
			     &c->streams, &c->code_of, &c->stack_of,  &c->codes,    &c->symbols};
	for (size_t i = 0; i < ASSAY_COUNT_OF(maps); i++)
		assay_map_free(maps[i]);
	assay_stacks_free(&c->shared);
	assay_vec_free(&c->open);
	assay_vec_free(&c->placed);
	assay_vec_free(&c->launched);
	assay_vec_free(&c->ring_of);
	assay_arena_free(&c->scratch);
}

/* The chunk at pos, or how far to go on; damage is counted once a place. */
static uint64_t take_chunk(capture *c, assay_input *in, uint64_t pos, bool *lost_track)
{
	assay_view v = assay_input_view(in, pos, sizeof(assay_wire_chunk));
	assay_wire_chunk h;
	const char *bad = assay_wire_check(v.p, v.n);
	if (!bad) {
		memcpy(&h, v.p, sizeof h);
		size_t whole = (size_t)h.header_bytes + h.bytes;
		v = assay_input_view(in, pos, whole);
		if (v.n >= whole && assay_wire_sum(v.p + h.header_bytes, h.bytes) == h.sum) {
			read_chunk(c, &h, (assay_str){v.p + h.header_bytes, h.bytes});
			*lost_track = false;
			return pos + whole;
		}
	}
	if (!*lost_track)
		assay_count(c->part,
			    v.end && v.n < sizeof h ? ASSAY_ISSUE_truncated
						    : ASSAY_ISSUE_damaged_chunk,
			    1);
	*lost_track = true;
	return pos + (v.n > 1 ? find_magic(v, 1) : v.n);
}

static void read_chunks(capture *c, assay_input *in)
{
	bool lost_track = false;
	for (uint64_t pos = 0;;) {
		assay_view v = assay_input_view(in, pos, 1);
		if (!v.n)
			break;
		pos = take_chunk(c, in, pos, &lost_track);
		assay_input_drop(in, pos);
		if (c->run->progress)
			c->run->progress(c->run->progress_ctx, assay_input_path(in),
					 assay_input_file_pos(in), assay_input_file_bytes(in));
	}
}

static void read_rings(capture *c, int rings)
{
	char path[64];
	assay_err err = {0};
	snprintf(path, sizeof path, "/proc/self/fd/%d", rings);
	assay_input *in = assay_input_open(path, &err);
	if (in)
		read_chunks(c, in);
	if (in)
		assay_input_close(in);
	close(rings);
}

/* With what is still in memory. What that gives to the file meanwhile is there twice, when the file
 * is read behind it, all of it: its begin was read before, when it was looked at. */
static void read_living(capture *c, assay_input *in)
{
	assay_err err = {0};
	int rings = assay_capture_peek(assay_input_path(in));
	assay_input *now = assay_input_open(assay_input_path(in), &err);
	read_chunks(c, now ? now : in);
	if (now)
		assay_input_close(now);
	if (rings >= 0)
		read_rings(c, rings);
}

static bool capture_read(assay_run *run, assay_input *in, assay_err *err)
{
	capture c = {.run = run,
		     .part = &run->part,
		     .shared.part = &run->part,
		     .pid = -1,
		     .last_context = ASSAY_WIRE_NONE,
		     .off = ASSAY_NO_ROW,
		     .first_stream = (uint32_t)run->part.t.stream.n,
		     .first_gpu = (uint32_t)run->part.t.gpu.n,
		     .first_host = (uint32_t)run->part.t.host.n,
		     .first_open_call = (uint32_t)run->part.t.open_call.n,
		     .first_sync = (uint32_t)run->part.t.sync.n,
		     .first_alloc = (uint32_t)run->part.t.alloc.n};
	if (run->open_ends)
		read_living(&c, in);
	else
		read_chunks(&c, in);
	finish(&c);
	bool ok = c.next_seq > 0;
	free_capture(&c);
	if (!ok)
		return assay_fail(err, ASSAY_FORMAT, 0, "%s holds no whole chunk",
				  assay_input_path(in));
	return true;
}

static int capture_sniff(assay_str head)
{
	return head.n >= 8 && !memcmp(head.p, "ASYC", 4) ? 95 : 0;
}

const assay_reader assay_reader_capture = {
	.name = "capture",
	.ends = {".asy"},
	.about = "assay's own recording (.asy)",
	.waits = "yes",
	.scopes = "yes",
	.note = "with Python lines and samples of host threads",
	.page = "capture",
	.sniff = capture_sniff,
	.read = capture_read,
	.alone = true,
	.beside = "run.json",
	.traits = ASSAY_TRAIT_FOLDER | ASSAY_TRAIT_FROM_START,
};

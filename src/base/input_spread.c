/* Unpacking with many threads: the packed file is cut into parts, each is unpacked where it seems
 * to begin, and what comes of them is put into the ring in order.
 *
 * gzip: nothing says where its blocks begin. Each thread looks for a block in its part and decodes
 * it with references to what stood before left open (base/inflate.h). In order, each part gets its
 * place in the text and the 32 KiB before it, and hands the last 32 KiB on; references are then put
 * in and bytes summed by all threads at the same time. A part that does not begin where the one
 * before ended was guessed wrong and is decoded again. zstd: frames stand alone and say where they
 * end.
 *
 * Only what is in order is done here. Anything else (damage, a cut file, other bytes, more text
 * than so few bytes may hold, a part that unpacks to very much) ends it at the last whole block,
 * and input.c goes on from there alone, so that there is one place that says what is wrong with a
 * file. */
#include <string.h>
#include <unistd.h>

#include <isa-l/crc.h>

#include "base/inflate.h"
#include "base/input_inside.h"
#include "base/limits.h"
#include "base/pack.h"
#include "base/test.h"

enum {
	THREADS = 64,
	FEWEST = 4,         /* one that knows the window is faster alone, by a half */
	PART = 128 << 10,   /* packed bytes */
	MARGIN = 64 << 10,  /* of the block that a part ends in; more is read when it is longer */
	PARTS_MIN = 8,      /* of a file that is worth it */
	LATEST = 16 << 20,  /* text that was unpacked before */
	SYMBOLS = 16 << 20, /* of one part: text that unpacks to more is for one thread */
	FRAME = 64 << 20,   /* of zstd: its text, and its bytes */
	PIECE = 256 << 10,  /* of text, written and summed while it is in the cache */
	ROOM = 2 << 20,     /* of the ring, a thread */
};

/* A gzip member that ends in a part. */
struct member {
	size_t end; /* in the text of the part */
	uint32_t crc, size, found;
};
typedef assay_vec(struct member) members;

struct part {
	uint64_t number;
	uint64_t from, to; /* where it begins and what it covers: bits of gzip, bytes of zstd */
	uint64_t next;     /* where the next one begins */
	bool header;       /* it begins with a member's header */
	bool next_header, trouble;
	/* packed bytes */
	uint8_t *packed;
	size_t packed_n, packed_cap;
	uint64_t base; /* place of packed in the file */
	/* text */
	size_t n;
	assay_symbols symbols;
	assay_vec(uint8_t) bytes; /* of zstd */
	uint8_t window[ASSAY_WINDOW];
	members member;
	uint32_t crc; /* behind the last member's end */
};

/* A part that has its place in the text. */
struct slot {
	uint64_t at;
	size_t n, written;
	size_t open; /* no member ends before: text that is seen before sums are compared */
	bool filled;
	members member; /* when it is filled: with what was found */
	uint32_t crc;
};

struct spread {
	assay_input *in;
	unsigned threads, running; /* started, and which of them took a part of memory */
	assay_thread thread[THREADS];
	struct part *part; /* of each thread */
	struct slot slot[THREADS];
	uint64_t taken, turn, done; /* parts given out, placed, and in the text */
	uint64_t expect;            /* where the next part must begin */
	bool header;
	uint64_t text; /* placed */
	uint64_t skip; /* text that was there before */
	struct {
		uint64_t done;
		size_t n, pos;
		bool end;
	} file;         /* where input.c was */
	uint64_t frame; /* of zstd: where the next one begins */
	uint8_t window[ASSAY_WINDOW];
	uint32_t crc; /* of the open member, and its bytes: as far as `done` */
	uint64_t crc_bytes;
	unsigned writing;
	bool pause; /* the ring is about to change */
	bool stopped, quit;
	unsigned over; /* threads that have ended */
};

static uint64_t bits(uint64_t bytes)
{
	return bytes * 8;
}

/* ------------------------------------------------------------------ packed bytes of a part */

/* Bytes from base on, so many that `n` are there; false at the end of the file. */
static bool have_packed(const assay_input *in, struct part *p, size_t n)
{
	if (n <= p->packed_n)
		return true;
	size_t want = n + MARGIN;
	if (want + ASSAY_INFLATE_PAD > p->packed_cap)
		p->packed = assay_vec_grow(p->packed, &p->packed_cap, want + ASSAY_INFLATE_PAD, 1);
	p->packed_n += input_packed_at(in, p->base + p->packed_n, p->packed + p->packed_n,
				       want - p->packed_n);
	memset(p->packed + p->packed_n, 0, ASSAY_INFLATE_PAD);
	return n <= p->packed_n;
}

static void open_packed(const assay_input *in, struct part *p, uint64_t byte, size_t n)
{
	p->base = byte;
	p->packed_n = 0;
	have_packed(in, p, n);
}

/* ------------------------------------------------------------------ gzip */

static assay_packed packed_of(const struct part *p)
{
	return (assay_packed){p->packed, p->packed_n};
}

/* Over the header of a member at *bit, in bits from base. */
static bool enter_member(struct part *p, uint64_t *bit)
{
	size_t n = assay_gzip_header(packed_of(p), (size_t)(*bit >> 3));
	*bit += bits(n);
	p->symbols.known = true;
	p->symbols.first = p->symbols.n;
	return n > 0;
}

/* The last block of a member is read: its sums, and what follows. */
static bool leave_member(const assay_input *in, struct part *p, uint64_t *bit)
{
	size_t at = (size_t)((*bit + 7) >> 3);
	uint32_t sums[2];
	if (!have_packed(in, p, at + sizeof sums))
		return false;
	memcpy(sums, p->packed + at, sizeof sums);
	*assay_push(&p->member) = (struct member){p->symbols.n, sums[0], sums[1], 0};
	*bit = bits(at + sizeof sums);
	return true;
}

/* From bit `from` of the file until a block begins at or behind p->to that can be found, or
 * trouble. */
static void decode_gzip(const assay_input *in, struct part *p, uint64_t from, bool header)
{
	uint64_t at = from - bits(p->base);
	p->from = from;
	p->header = header;
	p->trouble = false;
	p->symbols.n = p->member.n = 0;
	p->symbols.known = false;
	for (bool last = false;;) {
		uint64_t size = bits(input_packed_size(in) - p->base);
		have_packed(in, p, (size_t)(at >> 3) + MARGIN / 2);
		p->next = bits(p->base) + at;
		p->next_header = header;
		p->n = p->symbols.n;
		bool behind = p->next >= p->to && p->next > p->from;
		if (at >= size || (behind && (header || assay_deflate_begins(packed_of(p), at))))
			return;
		if (header && !enter_member(p, &at))
			break;
		header = false;
		assay_inflate_status st =
			assay_inflate_block(&p->symbols, packed_of(p), &at, &last);
		if (st == ASSAY_INFLATE_MORE && have_packed(in, p, p->packed_n + 1)) {
			/* once more, with more of the file, from the start of the block */
			at = p->next - bits(p->base);
			header = p->next_header;
			p->symbols.n = p->n;
			continue;
		}
		if (st != ASSAY_INFLATE_OK)
			break;
		size_t before = p->member.n;
		if (last && !leave_member(in, p, &at)) {
			p->member.n = before;
			break;
		}
		header = last;
	}
	p->trouble = true;
}

static void guess_gzip(const assay_input *in, struct part *p)
{
	uint64_t byte = p->number * PART;
	open_packed(in, p, byte, PART + MARGIN);
	p->to = bits(byte + PART);
	p->from = p->number ? assay_deflate_find(packed_of(p), 0, bits(PART)) : 0;
	p->n = 0;
	if (p->from == UINT64_MAX)
		return;
	bool header = !(p->from & 7) && assay_gzip_header(packed_of(p), (size_t)(p->from >> 3));
	decode_gzip(in, p, p->from + bits(byte), header);
}

/* Before its turn is over: the window for itself, and the one it leaves. */
static void pass_window(struct spread *s, struct part *p)
{
	uint8_t last[ASSAY_WINDOW];
	size_t n = p->n < ASSAY_WINDOW ? p->n : ASSAY_WINDOW;
	memcpy(p->window, s->window, ASSAY_WINDOW);
	assay_symbols_resolve(p->symbols.p + p->n - n, n, s->window, last);
	memmove(s->window, s->window + n, ASSAY_WINDOW - n);
	memcpy(s->window + ASSAY_WINDOW - n, last, n);
}

/* In its turn, alone among the threads; false: there is nothing of it. */
static bool settle_gzip(struct spread *s, struct part *p)
{
	if (s->expect >= p->to || s->expect >= bits(input_packed_size(s->in))) {
		p->trouble = false; /* of a guess */
		return false;
	}
	if (p->from != s->expect || p->header != s->header) {
		pthread_mutex_unlock(&s->in->lock);
		open_packed(s->in, p, s->expect >> 3, MARGIN);
		decode_gzip(s->in, p, s->expect, s->header);
		pthread_mutex_lock(&s->in->lock);
	}
	return p->next > p->from;
}

static void put_gzip(const struct part *p, size_t at, size_t n, uint8_t *to)
{
	assay_symbols_resolve(p->symbols.p + at, n, p->window, to);
}

/* ------------------------------------------------------------------ zstd */

/* Bytes of the frame at `at`, by its block headers (RFC 8878); 0 when that is not to be seen. */
static uint64_t frame_size(const assay_input *in, uint64_t at)
{
	uint8_t head[18];
	size_t got = input_packed_at(in, at, head, sizeof head);
	uint32_t magic = 0;
	memcpy(&magic, head, got < 4 ? 0 : 4);
	if ((magic & 0xfffffff0u) == 0x184d2a50u && got >= 8) { /* to be skipped */
		uint32_t n;
		memcpy(&n, head + 4, sizeof n);
		return 8 + (uint64_t)n;
	}
	if (magic != 0xfd2fb528u || got < 6)
		return 0;
	static const uint8_t id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
	unsigned flags = head[4];
	bool single = flags & 32;
	unsigned size_n = size_bytes[flags >> 6];
	uint64_t n = 5 + !single + id_bytes[flags & 3] + (single && !size_n ? 1 : size_n);
	for (unsigned block = 0; !(block & 1);) {
		uint8_t b[3];
		if (input_packed_at(in, at + n, b, sizeof b) < sizeof b)
			return 0;
		block = b[0] | (unsigned)b[1] << 8 | (unsigned)b[2] << 16;
		bool run = (block >> 1 & 3) == 1; /* one byte, many times */
		n += sizeof b + (run ? 1 : block >> 3);
	}
	return n + (flags & 4 ? 4 : 0);
}

static void guess_zstd(const assay_input *in, struct part *p)
{
	size_t size = (size_t)(p->to - p->from);
	p->n = 0;
	p->next = p->from;
	p->trouble = true;
	if (p->to == p->from || size > FRAME)
		return;
	open_packed(in, p, p->from, size);
	unsigned long long text = ZSTD_getFrameContentSize(p->packed, size);
	if (p->packed_n < size || text == ZSTD_CONTENTSIZE_ERROR ||
	    text == ZSTD_CONTENTSIZE_UNKNOWN || text > FRAME)
		return;
	assay_vec_reserve(&p->bytes, (size_t)text + 1);
	size_t got = ZSTD_decompress(p->bytes.p, (size_t)text + 1, p->packed, size);
	if (ZSTD_isError(got))
		return;
	p->n = got;
	p->next = p->to;
	p->trouble = false;
}

static bool settle_zstd(struct spread *s, struct part *p)
{
	(void)s;
	return p->next > p->from;
}

static void put_zstd(const struct part *p, size_t at, size_t n, uint8_t *to)
{
	memcpy(to, p->bytes.p + at, n);
}

static const struct {
	void (*guess)(const assay_input *, struct part *);
	bool (*settle)(struct spread *, struct part *);
	void (*put)(const struct part *, size_t at, size_t n, uint8_t *to);
} ways[] = {
	[GZIP] = {guess_gzip, settle_gzip, put_gzip},
	[ZSTD] = {guess_zstd, settle_zstd, put_zstd},
};

/* ------------------------------------------------------------------ in order */

/* The sums of the members that end in a part; false: one does not match, and the text ends
 * there. */
static bool sums_match(struct spread *s, const struct slot *slot)
{
	size_t from = 0;
	for (size_t i = 0; i < slot->member.n; i++) {
		const struct member *m = &slot->member.p[i];
		uint32_t crc = assay_crc_join(s->crc, m->found, m->end - from);
		uint32_t size = (uint32_t)(s->crc_bytes + m->end - from);
		s->crc = 0;
		s->crc_bytes = 0;
		if (crc != m->crc || size != m->size) {
			if (slot->at + m->end > s->skip)
				s->in->have = slot->at + m->end;
			input_damage(s->in, "the gzip checksum does not match");
			return false;
		}
		from = m->end;
	}
	s->crc = assay_crc_join(s->crc, slot->crc, slot->n - from);
	s->crc_bytes += slot->n - from;
	return true;
}

/* Packed bytes before this one are used. */
static void place_packed(assay_input *in, uint64_t byte)
{
	if (in->fd < 0) {
		in->file_pos = (size_t)byte;
		return;
	}
	in->file_done = byte;
	in->file_n = in->file_pos = 0;
	in->file_end = false;
}

/* In the middle of a member: its window, its sums so far, and the bits that are left of a byte. */
static void open_member(struct spread *s)
{
	assay_input *in = s->in;
	struct inflate_state *gz = in->gz;
	uint32_t n = s->crc_bytes < ASSAY_WINDOW ? (uint32_t)s->crc_bytes : ASSAY_WINDOW;
	isal_inflate_reset(gz);
	gz->crc_flag = ISAL_GZIP_NO_HDR_VER;
	gz->crc = s->crc;
	gz->total_out = (uint32_t)s->crc_bytes;
	isal_inflate_set_dict(gz, s->window + ASSAY_WINDOW - n, n);
	uint8_t byte;
	unsigned used = s->expect & 7;
	if (!used || input_packed_at(in, s->expect >> 3, &byte, 1) != 1)
		return;
	gz->read_in = byte >> used;
	gz->read_in_length = (int32_t)(8 - used);
	place_packed(in, (s->expect >> 3) + 1);
}

/* input.c goes on alone: where it was before, or behind the text that came of this. */
static void hand_back(struct spread *s)
{
	assay_input *in = s->in;
	if (s->text <= s->skip) {
		in->file_done = s->file.done;
		in->file_n = s->file.n;
		in->file_pos = s->file.pos;
		in->file_end = s->file.end;
		return;
	}
	place_packed(in, in->packing == GZIP ? s->expect >> 3 : s->expect);
	if (in->packing == ZSTD)
		ZSTD_DCtx_reset(in->zst, ZSTD_reset_session_only);
	in->zst_hint = 0;
	in->gz_between = s->header;
	if (in->packing == GZIP && !s->header)
		open_member(s);
	if (in->fd >= 0)
		lseek(in->fd, (off_t)in->file_done, SEEK_SET);
}

static bool all_read(const struct spread *s)
{
	uint64_t size = input_packed_size(s->in);
	return s->in->packing == GZIP ? s->header && s->expect >= bits(size) : s->expect >= size;
}

/* As far as parts are written without a hole, their text is there. */
static void advance(struct spread *s)
{
	assay_input *in = s->in;
	while (s->done < s->turn && !in->end) {
		struct slot *slot = &s->slot[s->done % THREADS];
		size_t seen = slot->written < slot->open ? slot->written : slot->open;
		if (slot->filled && in->packing == GZIP && !sums_match(s, slot))
			s->stopped = true;
		else if (slot->filled)
			seen = slot->n;
		if (!in->end && slot->at + seen > in->have)
			in->have = slot->at + seen;
		if (!slot->filled)
			break;
		s->done++;
	}
	pthread_cond_broadcast(&in->change);
}

/* The next part, in order of the file; false when there is none. */
static bool take_part(struct spread *s, struct part *p)
{
	uint64_t size = input_packed_size(s->in);
	if (s->quit || s->stopped)
		return false;
	p->number = s->taken;
	if (s->in->packing == GZIP) {
		if (s->taken * PART >= size)
			return false;
	} else {
		p->from = s->frame;
		if (p->from >= size)
			return false;
		p->to = p->from + frame_size(s->in, p->from);
		p->to = p->to <= size ? p->to : p->from;
		s->frame = p->to > p->from ? p->to : size;
	}
	s->taken++;
	return true;
}

/* ------------------------------------------------------------------ threads */

/* With the lock, in its turn. */
static void place(struct spread *s, struct part *p, struct slot *slot)
{
	assay_input *in = s->in;
	bool some = !s->stopped && ways[in->packing].settle(s, p);
	uint64_t packed = in->packing == GZIP ? p->next >> 3 : p->next;
	slot->at = s->text;
	slot->n = slot->open = slot->written = slot->member.n = slot->crc = 0;
	slot->filled = true;
	if (some && !input_text_fits(in, s->text + p->n, packed))
		s->stopped = true;
	else if (!some)
		s->stopped |= p->trouble;
	else {
		if (in->packing == GZIP)
			pass_window(s, p);
		slot->n = p->n;
		slot->open = p->member.n ? p->member.p[0].end : p->n;
		slot->filled = false;
		s->text += p->n;
		s->expect = p->next;
		s->header = p->next_header;
		s->stopped |= p->trouble;
		place_packed(in, packed);
	}
	s->turn++;
	advance(s);
}

/* How much of a part may be written from its `at` on: what was there before costs no room. */
static size_t room_at(const struct spread *s, uint64_t at, size_t n)
{
	const assay_input *in = s->in;
	uint64_t end = in->low + in->ring->size, most = n < PIECE ? n : PIECE;
	if (at < s->skip)
		return s->skip - at < most ? (size_t)(s->skip - at) : (size_t)most;
	return s->pause || at >= end ? 0 : end - at < most ? (size_t)(end - at) : (size_t)most;
}

/* With the lock, which is given up while text is written. */
static void fill(struct spread *s, struct part *p, struct slot *slot)
{
	assay_input *in = s->in;
	size_t pos = 0, m = 0;
	p->crc = 0;
	while (pos < p->n && !s->quit && !in->end) {
		size_t left = (m < p->member.n ? p->member.p[m].end : p->n) - pos;
		size_t n = left ? room_at(s, slot->at + pos, left) : 0;
		if (left && !n) {
			pthread_cond_wait(&in->change, &in->lock);
			continue;
		}
		bool old = slot->at + pos < s->skip;
		uint8_t *ring = (uint8_t *)in->ring->p + (slot->at + pos) % in->ring->size;
		s->writing += !old;
		pthread_mutex_unlock(&in->lock);
		if (old)
			assay_vec_reserve(&p->bytes, PIECE);
		ways[in->packing].put(p, pos, n, old ? p->bytes.p : ring);
		if (in->packing == GZIP)
			p->crc = crc32_gzip_refl(p->crc, old ? p->bytes.p : ring, n);
		pthread_mutex_lock(&in->lock);
		s->writing -= !old;
		slot->written = pos += n;
		for (; m < p->member.n && p->member.p[m].end == pos; m++) {
			p->member.p[m].found = p->crc;
			p->crc = 0;
		}
		advance(s);
	}
	members swap = slot->member;
	slot->member = p->member;
	p->member = swap;
	slot->crc = p->crc;
	slot->filled = true;
	advance(s);
}

/* Memory is asked for without the lock. */
static void fail(void *arg)
{
	struct spread *s = arg;
	pthread_mutex_lock(&s->in->lock);
	s->in->no_memory = s->in->end = true;
	s->quit = true;
	s->over++;
	pthread_cond_broadcast(&s->in->change);
	pthread_mutex_unlock(&s->in->lock);
}

static void unpack_parts(void *arg)
{
	struct spread *s = arg;
	assay_input *in = s->in;
	assay_undo undo;
	assay_undo_add(&undo, fail, s);
	pthread_mutex_lock(&in->lock);
	struct part *p = &s->part[s->running++];
	while (take_part(s, p)) {
		while (!s->quit && !s->stopped && p->number >= s->done + THREADS)
			pthread_cond_wait(&in->change, &in->lock);
		pthread_mutex_unlock(&in->lock);
		ways[in->packing].guess(in, p);
		pthread_mutex_lock(&in->lock);
		while (!s->quit && p->number != s->turn)
			pthread_cond_wait(&in->change, &in->lock);
		if (s->quit)
			break;
		struct slot *slot = &s->slot[p->number % THREADS];
		place(s, p, slot);
		if (!slot->filled)
			fill(s, p, slot);
	}
	s->over++;
	pthread_cond_broadcast(&in->change);
	pthread_mutex_unlock(&in->lock);
	assay_undo_drop(&undo);
}

static void free_part(struct part *p)
{
	assay_symbols_free(&p->symbols);
	assay_vec_release(p->packed);
	assay_vec_free(&p->bytes);
	assay_vec_free(&p->member);
}

/* All threads are over, or were told to end. */
static void release(assay_input *in)
{
	struct spread *s = in->spread;
	for (unsigned i = 0; i < s->threads; i++)
		assay_thread_join(&s->thread[i]);
	for (unsigned i = 0; i < s->threads; i++)
		free_part(&s->part[i]);
	for (unsigned i = 0; i < THREADS; i++)
		assay_vec_free(&s->slot[i].member);
	in->spread = NULL;
}

void spread_close(assay_input *in)
{
	if (!in->spread)
		return;
	pthread_mutex_lock(&in->lock);
	in->spread->quit = true;
	pthread_cond_broadcast(&in->change);
	pthread_mutex_unlock(&in->lock);
	release(in);
}

void spread_dropped(assay_input *in)
{
	pthread_cond_broadcast(&in->change);
}

/* Only while nobody writes does the ring change. */
static void grow_ring(assay_input *in)
{
	struct spread *s = in->spread;
	s->pause = true;
	while (s->writing)
		pthread_cond_wait(&in->change, &in->lock);
	if (in->spread == s) {
		input_make_room(in, in->have);
		s->pause = false;
	}
	pthread_cond_broadcast(&in->change);
}

void spread_wait(assay_input *in)
{
	struct spread *s = in->spread;
	if (s->over == s->threads) {
		bool end = in->end || all_read(s);
		if (!end)
			hand_back(s);
		in->end |= end;
		release(in);
		pthread_cond_broadcast(&in->change);
	} else if (in->have >= in->low + in->ring->size) {
		grow_ring(in);
	} else {
		pthread_cond_wait(&in->change, &in->lock);
	}
}

static bool is_worth_it(const assay_input *in, unsigned threads)
{
	bool whole = in->fd < 0 || in->regular;
	return !in->memory && !in->spread && !in->end && whole && threads >= FEWEST &&
	       (in->packing == GZIP || in->packing == ZSTD) && in->have <= LATEST &&
	       input_packed_size(in) >= PARTS_MIN * PART;
}

void assay_input_spread(assay_input *in, unsigned threads)
{
	assay_held held;
	threads = threads < THREADS ? threads : THREADS;
	assay_hold(&held, &in->lock);
	if (!is_worth_it(in, threads) || in->spread_tried ||
	    !input_ring_grow(in, in->ring->size + (size_t)threads * ROOM)) {
		assay_unhold(&held);
		return;
	}
	struct spread *s = assay_alloc(&in->arena, sizeof *s);
	s->part = assay_alloc(&in->arena, threads * sizeof *s->part);
	s->in = in;
	s->skip = in->have;
	s->file.done = in->file_done;
	s->file.n = in->file_n;
	s->file.pos = in->file_pos;
	s->file.end = in->file_end;
	s->header = true;
	in->spread_tried = true;
	in->spread = s;
	for (unsigned i = 0; i < threads; i++) {
		s->part[i].symbols.most = SYMBOLS;
		if (!assay_thread_start(&s->thread[s->threads], unpack_parts, s))
			break;
		s->threads++;
	}
	if (!s->threads)
		in->spread = NULL;
	assay_unhold(&held);
}

/* A text like a trace as gzip members of so many bytes each. */
static void pack_members(assay_blob *out, const assay_blob *text, size_t each)
{
	static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
	for (size_t at = 0, n; at < text->n; at += n) {
		n = text->n - at < each ? text->n - at : each;
		uint32_t sums[2] = {crc32_gzip_refl(0, text->p + at, n), (uint32_t)n};
		assay_vec_reserve(out, out->n + sizeof header);
		memcpy(out->p + out->n, header, sizeof header);
		out->n += sizeof header;
		assay_deflate(out, text->p + at, n);
		assay_vec_reserve(out, out->n + sizeof sums);
		memcpy(out->p + out->n, sums, sizeof sums);
		out->n += sizeof sums;
	}
}

static void make_text(assay_blob *text, size_t n)
{
	uint64_t x = 88172645463325252u;
	assay_vec_reserve(text, n + 64);
	while (text->n < n) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		text->n += (size_t)snprintf((char *)text->p + text->n, 64, "{\"ts\": %llu},\n",
					    (unsigned long long)x);
	}
}

/* All text, by views of a window that is dropped behind itself, and what was said of it. */
static const char *read_all(const void *p, size_t n, unsigned threads, assay_blob *text)
{
	static char said[160];
	assay_input *in = assay_input_memory(p, n);
	assay_input_view(in, 0, 100000);
	assay_input_spread(in, threads);
	text->n = 0;
	for (assay_view v = {0}; !v.end; assay_input_drop(in, text->n)) {
		v = assay_input_view(in, text->n, 300000);
		assay_vec_reserve(text, text->n + v.n + 1);
		memcpy(text->p + text->n, v.p, v.n);
		text->n += v.n;
	}
	const char *damage = assay_input_damage(in);
	snprintf(said, sizeof said, "%s", damage ? damage : "");
	assay_input_close(in);
	return said;
}

/* Many threads and one say the same. What a damaged member became before that was noticed, up to
 * `noise` bytes at the end, is as long, but may refer to what never was. */
static bool reads_the_same(const void *p, size_t n, size_t noise)
{
	assay_blob one = {0}, many = {0};
	char said[160];
	snprintf(said, sizeof said, "%s", read_all(p, n, 1, &one));
	const char *by_many = read_all(p, n, 7, &many);
	size_t sure = one.n > noise ? one.n - noise : 0;
	bool same = one.n == many.n && !memcmp(one.p, many.p, sure) && !strcmp(said, by_many);
	assay_vec_free(&one);
	assay_vec_free(&many);
	return same;
}

TEST(many_threads_read_gzip_as_one_does)
{
	assay_blob text = {0}, packed = {0};
	make_text(&text, 4 << 20);
	for (size_t each = 40000; each < 100000000; each *= 40) {
		packed.n = 0;
		pack_members(&packed, &text, each);
		CHECK(packed.n > PARTS_MIN * PART);
		CHECK(reads_the_same(packed.p, packed.n, 0));
		for (size_t cut = 1; cut < packed.n; cut = cut * 50 + 1)
			CHECK(reads_the_same(packed.p, packed.n - cut, 0));
		for (size_t at = 20; at < packed.n; at = at * 60 + 3) {
			packed.p[packed.n - at] ^= 16;
			CHECK(reads_the_same(packed.p, packed.n, each));
			packed.p[packed.n - at] ^= 16;
		}
	}
	assay_vec_reserve(&packed, packed.n + 9);
	memcpy(packed.p + packed.n, "some text", 9);
	CHECK(reads_the_same(packed.p, packed.n + 9, 0));
	assay_vec_free(&text);
	assay_vec_free(&packed);
	return 0;
}

TEST(many_threads_read_frames_of_zstd_as_one_does)
{
	assay_blob text = {0}, packed = {0};
	make_text(&text, 4 << 20);
	for (size_t at = 0, n = 300000; at < text.n; at += n) {
		n = text.n - at < n ? text.n - at : n;
		assay_vec_reserve(&packed, packed.n + ZSTD_compressBound(n));
		packed.n += ZSTD_compress(packed.p + packed.n, ZSTD_compressBound(n), text.p + at,
					  n, 1);
	}
	CHECK(packed.n > PARTS_MIN * PART);
	CHECK(reads_the_same(packed.p, packed.n, 0));
	for (size_t cut = 1; cut < packed.n; cut = cut * 50 + 1)
		CHECK(reads_the_same(packed.p, packed.n - cut, 0));
	packed.p[packed.n / 2] ^= 16;
	CHECK(reads_the_same(packed.p, packed.n, 0));
	assay_vec_free(&text);
	assay_vec_free(&packed);
	return 0;
}

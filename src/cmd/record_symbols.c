/* Names for the native functions of a capture, out of the symbol tables of the libraries on this
 * machine: the run may be read on another one. A process could name any file in its capture, so
 * only what everybody or its owner may read is believed, and only a library whose build id is the
 * recorded one is believed. */
#define _GNU_SOURCE /* O_NOFOLLOW */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/map.h"
#include "cmd/record.h"
#include "probe/elf.h"
#include "probe/file_bytes.h"
#include "wire/clock.h"
#include "wire/wire.h"

/* A function without a name. */
typedef struct place {
	assay_str file, name; /* as of its CODE */
	uint64_t offset;
	assay_str build_id; /* hexadecimal; empty: unknown */
	assay_str symbol;
} place;

typedef struct places {
	assay_arena arena;
	assay_vec(place) all;
	assay_map known;  /* hash of file and name -> 0 */
	assay_map others; /* rings that are no sampler's -> 0 */
	assay_wire_chunk last;
	uid_t owner; /* of the capture */
	bool any;    /* there is a chunk */
	bool named;  /* it was done before */
} places;

/* ---- what the capture holds ---- */

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static assay_str keep(places *p, const char *text, size_t n)
{
	return assay_str_of(assay_dup(&p->arena, (assay_str){text, n}));
}

static void add_code(places *p, const assay_wire_code *c, const char *text)
{
	uint64_t hash = assay_hash(text, (size_t)c->file_length + c->name_length, c->file_length);
	if (c->kind != ASSAY_WIRE_CODE_NATIVE || *assay_map_at(&p->known, hash) != ASSAY_MAP_ABSENT)
		return;
	*assay_map_at(&p->known, hash) = 0;
	place x = {.file = keep(p, text, c->file_length),
		   .name = keep(p, text + c->file_length, c->name_length)};
	char *end;
	if (x.file.n != c->file_length || x.name.n != c->name_length || x.name.p[0] != '+')
		return;
	x.offset = strtoull(x.name.p + 1, &end, 16);
	if (*end == ' ')
		x.build_id = assay_str_of(end + 1);
	*assay_push(&p->all) = x;
}

/* A sampler's ring holds code, stacks and samples; from the first other record on it is none. */
static void read_records(places *p, const char *at, size_t n, uint32_t ring)
{
	assay_wire_rec rec;
	for (; n >= sizeof rec; at += rec.bytes, n -= rec.bytes) {
		assay_wire_code c;
		memcpy(&rec, at, sizeof rec);
		if (rec.bytes < sizeof rec || rec.bytes > n)
			return;
		if (rec.type == ASSAY_WIRE_CODE && rec.bytes >= sizeof c) {
			memcpy(&c, at, sizeof c);
			if ((size_t)c.file_length + c.name_length <= rec.bytes - sizeof c)
				add_code(p, &c, at + sizeof c);
		} else if (rec.type == ASSAY_WIRE_API) {
			*assay_map_at(&p->others, ring) = 0;
			return;
		}
	}
}

static bool may_hold_code(places *p, int fd, const assay_wire_chunk *c, uint64_t at)
{
	assay_wire_rec rec = {0};
	if (c->bytes < sizeof rec || !read_at(fd, &rec, sizeof rec, at))
		return false;
	p->named |= rec.type == ASSAY_WIRE_FUNCTION;
	return c->ring && assay_map_get(&p->others, c->ring) == ASSAY_MAP_ABSENT &&
	       rec.type != ASSAY_WIRE_API;
}

static void read_capture(places *p, int fd)
{
	assay_wire_chunk c;
	char *payload = NULL;
	struct stat st;
	uint64_t size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0, whole;
	p->owner = size ? st.st_uid : 0;
	for (uint64_t at = 0; size - at >= sizeof c; at += whole) {
		if (!read_at(fd, &c, sizeof c, at) || assay_wire_check(&c, sizeof c))
			break;
		whole = (uint64_t)c.header_bytes + c.bytes;
		if (whole > size - at)
			break;
		p->last = c;
		p->any = true;
		if (!may_hold_code(p, fd, &c, at + c.header_bytes))
			continue;
		payload = payload ? payload : assay_alloc(&p->arena, ASSAY_WIRE_CHUNK_MAX);
		if (read_at(fd, payload, c.bytes, at + c.header_bytes) &&
		    assay_wire_sum(payload, c.bytes) == c.sum)
			read_records(p, payload, c.bytes, c.ring);
	}
}

/* ---- what libraries say ---- */

static int by_file(const void *a, const void *b)
{
	const place *x = a, *y = b;
	return assay_then(strcmp(x->file.p, y->file.p), ASSAY_CMP(x->offset, y->offset));
}

static bool is_build(assay_str id, assay_str hex)
{
	static const char digits[] = "0123456789abcdef";
	bool same = hex.n && hex.n == 2 * id.n;
	for (size_t i = 0; same && i < id.n; i++) {
		unsigned char byte = (unsigned char)id.p[i];
		same = hex.p[2 * i] == digits[byte >> 4] && hex.p[2 * i + 1] == digits[byte & 15];
	}
	return same;
}

/* n places of one library, by their offsets. */
static void ask_library(places *p, place *x, size_t n)
{
	assay_root root;
	assay_file_bytes w;
	assay_elf elf;
	assay_err err = {0};
	if (x->file.p[0] != '/' || !assay_root_open(&root, "/", &err))
		return;
	if (assay_file_bytes_open(&w, &root, x->file.p) == ASSAY_CAUSE_NONE) {
		uint64_t *at = assay_alloc(&p->arena, n * sizeof *at);
		assay_str *name = assay_alloc(&p->arena, n * sizeof *name);
		for (size_t i = 0; i < n; i++)
			at[i] = x[i].offset;
		bool may = w.st.st_mode & S_IROTH || w.st.st_uid == p->owner;
		if (may && assay_elf_open(&elf, &w, &err) && is_build(elf.build_id, x->build_id)) {
			assay_elf_functions(&elf, at, n, name);
			for (size_t i = 0; i < n; i++)
				x[i].symbol = keep(p, name[i].p, name[i].n);
		}
		assay_file_bytes_close(&w);
	}
	assay_root_close(&root);
}

static void ask_libraries(places *p)
{
	qsort(p->all.p, p->all.n, sizeof *p->all.p, by_file);
	for (size_t i = 0, next; i < p->all.n; i = next) {
		for (next = i + 1;
		     next < p->all.n && !strcmp(p->all.p[next].file.p, p->all.p[i].file.p);)
			next++;
		ask_library(p, &p->all.p[i], next - i);
	}
}

/* ---- what is written of it ---- */

static size_t put_name(char *to, const place *x)
{
	size_t n = sizeof(assay_wire_function) + x->file.n + x->name.n + x->symbol.n;
	size_t whole = assay_wire_round(n);
	assay_wire_function f = {{ASSAY_WIRE_FUNCTION, (uint16_t)whole, 0},
				 (uint16_t)x->file.n,
				 (uint16_t)x->name.n,
				 (uint16_t)x->symbol.n,
				 0};
	memset(to, 0, whole);
	memcpy(to, &f, sizeof f);
	to += sizeof f;
	memcpy(to, x->file.p, x->file.n);
	memcpy(to + x->file.n, x->name.p, x->name.n);
	memcpy(to + x->file.n + x->name.n, x->symbol.p, x->symbol.n);
	return whole;
}

/* One chunk, behind the last one; what does not fit in it is left without a name. One write: who is
 * killed leaves no half of it. */
static void append_names(places *p, int fd)
{
	char *chunk = assay_alloc(&p->arena, sizeof(assay_wire_chunk) + ASSAY_WIRE_CHUNK_MAX);
	char *payload = chunk + sizeof(assay_wire_chunk);
	size_t n = 0;
	for (size_t i = 0; i < p->all.n; i++) {
		const place *x = &p->all.p[i];
		size_t room = sizeof(assay_wire_function) + x->file.n + x->name.n + x->symbol.n;
		if (x->symbol.n && room <= ASSAY_WIRE_RECORD_MAX &&
		    assay_wire_round(room) <= ASSAY_WIRE_CHUNK_MAX - n)
			n += put_name(payload + n, x);
	}
	assay_wire_chunk c = {
		.pid = p->last.pid, .seq = p->last.seq + 1, .time = assay_clock(CLOCK_BOOTTIME)};
	struct stat before;
	if (!n || fstat(fd, &before) < 0)
		return;
	assay_wire_seal(&c, payload, n);
	memcpy(chunk, &c, sizeof c);
	if (write(fd, chunk, sizeof c + n) != (ssize_t)(sizeof c + n))
		(void)!ftruncate(fd, before.st_size);
}

static void name_functions(int capture)
{
	places p = {0};
	read_capture(&p, capture);
	if (p.any && p.all.n && !p.named) {
		ask_libraries(&p);
		append_names(&p, capture);
	}
	assay_vec_free(&p.all);
	assay_map_free(&p.known);
	assay_map_free(&p.others);
	assay_arena_free(&p.arena);
}

/* A plain file with one name: whoever was recorded may have put something else there. */
static int open_capture(int run, const char *name)
{
	struct stat st;
	int fd = openat(run, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Is the process still recording, or something of it left in its ring? */
static bool has_ring(recording *r, const char *capture)
{
	size_t stem = strlen(capture) - strlen(".asy");
	const char *ring = assay_printf(&r->arena, "%s/%.*s.ring", r->rings, (int)stem, capture);
	const char *beside = assay_printf(&r->arena, "%s/%.*s.ring", r->dir, (int)stem, capture);
	return access(ring, F_OK) == 0 || access(beside, F_OK) == 0;
}

void assay_record_symbols(recording *r)
{
	DIR *d = opendir(r->dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!assay_str_ends(assay_str_of(e->d_name), ".asy") || has_ring(r, e->d_name))
			continue;
		int capture = open_capture(dirfd(d), e->d_name);
		if (capture >= 0) {
			name_functions(capture);
			close(capture);
		}
	}
	if (d)
		closedir(d);
}

/* Stacks. The own thread's by plain loads: only it pushes and pops its frames, and while it is
 * in a call of ours nothing of them changes, GIL or not. Other threads' through reads that
 * cannot fault. */
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include "record/py.h"

enum { FOLLOWED = 4 * ASSAY_PY_DEPTH, SHIM = 3 };

static inline uint64_t load64(uintptr_t at)
{
	uint64_t v;
	memcpy(&v, (const void *)at, sizeof v);
	return v;
}

static inline uint32_t load32(uintptr_t at)
{
	uint32_t v;
	memcpy(&v, (const void *)at, sizeof v);
	return v;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static inline uint64_t turned(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

/* Code objects are freed and others made at the same address, often with the same first line. From
 * 3.12 on each has a number, 0 when the interpreter ran out of them; else the name's hash and the
 * begin of the line table tell. Turned so far apart that neighbours in memory cannot make up for
 * each other. */
static inline uint64_t mark_of(const assay_py_layout *at, uintptr_t code)
{
	uint32_t number = at->code_version == ASSAY_PY_NONE ? 0 : load32(code + at->code_version);
	if (number)
		return number;
	uint64_t name = load64(code + at->code_name), lines = load64(code + at->code_lines);
	uint64_t h = load64(code + at->code_file) ^ turned(name, 21) ^ turned(lines, 42);
	uint64_t more = turned(load32(code + at->code_line), 32);
	if (name && lines)
		more ^= load64(name + at->string_hash) ^
			turned(load64(lines + at->bytes_data), 13) ^
			turned(load64(lines + at->object_size), 48);
	h = (h ^ more * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
	return (h & INT64_MAX) | 1ull << 32; /* none of the numbers */
}

/* Bit patterns below this are no frame. */
static inline bool is_pointer(uintptr_t p)
{
	return p > 4096;
}

enum { MAIN = sizeof(uintptr_t) }; /* behind the newest interpreter, in every version */

uintptr_t assay_py_main(const assay_py *py, int pid)
{
	uintptr_t interp = 0;
	assay_py_safely(pid, py->runtime + py->at.runtime_interps + MAIN, &interp, sizeof interp);
	return interp;
}

bool assay_py_ends(const assay_py *py)
{
	return load64(py->runtime + py->at.runtime_finalizing) != 0;
}

/* Before whatever is loaded after it. A macro, for it belongs to the function that it stands in. */
#define LOAD_FIRST(at) __atomic_load_n((const uintptr_t *)(at), __ATOMIC_ACQUIRE)

/* May a thread be walked? Not while another one takes the interpreter down. */
static inline bool stands(const assay_py *py, uintptr_t ts)
{
	uintptr_t ending = load64(py->runtime + py->at.runtime_finalizing);
	return !ending || ending == ts;
}

/* The innermost frame of a thread that may be walked: the interpreter is the only one, and the
 * state is the thread's own, not one that it made for another.
 *
 * The state is freed after the end was announced, perhaps while this thread had no processor. So
 * what is loaded from it is good once the end was not announced behind the load, and is followed
 * only then; and nothing stands between the look before and the loads, for in memory that was given
 * back to the system they would fault. That is what a sanitizer calls use after free. */
__attribute__((no_sanitize("address"))) static uintptr_t own_frame(const assay_py *py, uintptr_t ts)
{
	const assay_py_layout *at = &py->at;
	size_t top_at = at->ts_cframe == ASSAY_PY_NONE ? at->ts_frame : at->ts_cframe;
	if (!ts || !stands(py, ts))
		return 0;
	uintptr_t top = LOAD_FIRST(ts + top_at);
	uintptr_t interp = LOAD_FIRST(ts + at->ts_interp);
	uintptr_t thread = LOAD_FIRST(ts + at->ts_thread);
	if (!stands(py, ts) || thread != (uintptr_t)pthread_self() ||
	    load64(py->runtime + at->runtime_interps) != interp ||
	    load64(py->runtime + at->runtime_interps + MAIN) != interp)
		return 0;
	if (at->ts_cframe == ASSAY_PY_NONE || !top)
		return top;
	uintptr_t frame = LOAD_FIRST(top + at->ts_frame); /* of a cframe */
	return stands(py, ts) ? frame : 0;
}

static inline uintptr_t code_of(const assay_py_layout *at, uintptr_t f)
{
	return load64(f + at->frame_code) & ~(uintptr_t)at->frame_tags;
}

static inline uintptr_t instruction_of(const assay_py_layout *at, uintptr_t f, uintptr_t code)
{
	return at->code_start == ASSAY_PY_NONE
		       ? code + (uintptr_t)(intptr_t)(int32_t)load32(f + at->frame_at)
		       : load64(f + at->frame_at);
}

/* A frame that the interpreter puts where C calls Python. */
static inline bool is_shim(const assay_py_layout *at, uintptr_t f)
{
	return at->frame_owner != ASSAY_PY_NONE &&
	       *(const signed char *)(f + at->frame_owner) >= SHIM;
}

/* The known calls that a stack is compared with, from k - 1 down to `end`. */
typedef struct known_calls {
	const assay_py_frame *k, *end;
} known_calls;

/* Passes over those that are the frame f and its callers, each at the same instruction of the same
 * code. They need not be the same calls: what is told of them is the same. Returns the frame that
 * follows. */
static inline __attribute__((always_inline)) uintptr_t pass_marked(const assay_py_layout *at,
								   known_calls *c, uintptr_t f)
{
	for (; c->k > c->end && is_pointer(f); f = load64(f + at->frame_caller)) {
		if (c->k[-1].frame != f) {
			if (!is_shim(at, f))
				break;
			continue;
		}
		uintptr_t code = code_of(at, f);
		if (code != c->k[-1].code || instruction_of(at, f, code) != c->k[-1].at ||
		    mark_of(at, code) != c->k[-1].mark)
			break;
		c->k--;
	}
	return f;
}

/* Versions whose codes have no numbers, with their layouts known when this is compiled: a third
 * fewer instructions a call. */
#define N ASSAY_PY_NONE
#define PUBLISHED(name, ...)
#define FIELD(name, a, b, c, ...) .name = a,
static const assay_py_layout of_3_9 = {
#include "record/py_layout.def"
};
#undef FIELD
#define FIELD(name, a, b, c, ...) .name = b,
static const assay_py_layout of_3_10 = {
#include "record/py_layout.def"
};
#undef FIELD
#define FIELD(name, a, b, c, ...) .name = c,
static const assay_py_layout of_3_11 = {
#include "record/py_layout.def"
};
#undef FIELD
#undef PUBLISHED
#undef N

static __attribute__((noinline)) uintptr_t pass_3_9(known_calls *c, uintptr_t f)
{
	return pass_marked(&of_3_9, c, f);
}

static __attribute__((noinline)) uintptr_t pass_3_10(known_calls *c, uintptr_t f)
{
	return pass_marked(&of_3_10, c, f);
}

static __attribute__((noinline)) uintptr_t pass_3_11(known_calls *c, uintptr_t f)
{
	return pass_marked(&of_3_11, c, f);
}

/* The same by the number of the code alone, which no other has. A function of its own, whose loop
 * has every register. */
static __attribute__((noinline)) uintptr_t pass_numbered(const assay_py_layout *at, known_calls *c,
							 uintptr_t f)
{
	const size_t code_at = at->frame_code, place = at->frame_at, up = at->frame_caller;
	const uintptr_t tags = ~(uintptr_t)at->frame_tags, number_at = at->code_version;
	const assay_py_frame *k = c->k, *end = c->end;
	for (; k > end; f = load64(f + up)) {
		if (k[-1].frame != f) {
			if (!is_pointer(f) || !is_shim(at, f))
				break;
			continue;
		}
		/* a mark that is no number has more bits, and none is 0 */
		uint32_t number = load32((load64(f + code_at) & tags) + number_at);
		if (number != k[-1].mark || load64(f + place) != k[-1].at)
			break;
		k--;
	}
	c->k = k;
	return f;
}

/* How many of the `left` known calls, innermost first and at most `most`, are on the stack from *f
 * on; *f is then the frame that follows. */
static uint32_t pass_known(const assay_py *py, const assay_py_frame *known, uint32_t left,
			   uint32_t most, uintptr_t *f)
{
	known_calls c = {known + left, left < most ? known : known + (left - most)};
	*f = py->minor > 11    ? pass_numbered(&py->at, &c, *f)
	     : py->minor == 11 ? pass_3_11(&c, *f)
	     : py->minor == 10 ? pass_3_10(&c, *f)
			       : pass_3_9(&c, *f);
	return left - (uint32_t)(c.k - known);
}

/* False: it is no frame of Python code. From 3.13 on frames may run anything. */
static inline bool read_own(const assay_py *py, uintptr_t f, assay_py_frame *out)
{
	const assay_py_layout *at = &py->at;
	if (is_shim(at, f))
		return false;
	uintptr_t code = code_of(at, f);
	if (load64(code + at->object_type) != py->code_type)
		return false;
	out->frame = f;
	out->code = code;
	out->at = instruction_of(at, f, code);
	out->mark = mark_of(at, code);
	return true;
}

/* The known calls `left` to `left + run`, innermost first. */
static uint32_t copy_run(const assay_py_frame *known, uint32_t left, uint32_t run,
			 assay_py_frame *out)
{
	for (uint32_t i = 0; i < run; i++)
		out[i] = known[left + run - 1 - i];
	return run;
}

/* Frames of calls lie one behind the other, those further in at higher addresses (but for those of
 * generators, for which this costs time only): known ones above f are gone. */
static inline uint32_t drop_above(const assay_py_frame *known, uint32_t left, uintptr_t f)
{
	while (left && known[left - 1].frame > f)
		left--;
	return left;
}

uint32_t assay_py_walk(const assay_py *py, const assay_py_frame *known, uint32_t *kept,
		       assay_py_frame *out, bool *cut)
{
	const assay_py_layout *at = &py->at;
	/* known calls that were not met yet, and those before them that stand, without a break */
	uint32_t left = *kept, run = 0, n = 0, follow = FOLLOWED;
	uintptr_t f = own_frame(py, (uintptr_t)py->this_thread());
	*cut = false;
	for (; is_pointer(f) && follow--; f = load64(f + at->frame_caller)) {
		left = run ? left : drop_above(known, left, f);
		if (left) {
			uint32_t more = pass_known(py, known, left, ASSAY_PY_DEPTH - n - run, &f);
			left -= more;
			run += more;
			if (!is_pointer(f))
				break;
		}
		assay_py_frame read;
		if (!read_own(py, f, &read))
			continue;
		if (run)
			n += copy_run(known, left, run, out + n);
		run = 0;
		if (n == ASSAY_PY_DEPTH) {
			*cut = true;
			break;
		}
		left -= left && known[left - 1].frame == f;
		out[n++] = read;
	}
	if (left) {
		n += copy_run(known, left, run, out + n);
		run = 0;
	}
	*kept = run;
	return n;
}

/* ---- other threads ---- */

/* Pages read during one walk: frames lie beside each other. */
enum { PAGES = 16, PAGE = 2048 };
typedef struct window {
	int pid;
	uintptr_t page[PAGES];
	char bytes[PAGES][PAGE];
	unsigned next;
} window;

static bool read_window(window *w, uintptr_t from, void *to, size_t n)
{
	uintptr_t page = from & ~(uintptr_t)(PAGE - 1);
	if (from + n > page + PAGE)
		return assay_py_safely(w->pid, from, to, n);
	unsigned i = 0;
	while (i < PAGES && w->page[i] != page)
		i++;
	if (i == PAGES) {
		i = w->next++ % PAGES;
		w->page[i] = 0;
		if (!assay_py_safely(w->pid, page, w->bytes[i], PAGE))
			return false;
		w->page[i] = page;
	}
	memcpy(to, w->bytes[i] + (from - page), n);
	return true;
}

bool assay_py_top(const assay_py *py, int pid, uintptr_t ts, uintptr_t *frame, uintptr_t *at)
{
	const assay_py_layout *l = &py->at;
	uintptr_t holder = ts;
	*frame = *at = 0;
	if (l->ts_cframe != ASSAY_PY_NONE &&
	    !assay_py_safely(pid, ts + l->ts_cframe, &holder, sizeof holder))
		return false;
	if (!assay_py_safely(pid, holder + l->ts_frame, frame, sizeof *frame))
		return false;
	return !is_pointer(*frame) ||
	       assay_py_safely(pid, *frame + l->frame_at, at,
			       l->code_start == ASSAY_PY_NONE ? 4 : sizeof *at);
}

/* One frame out of a window; false: unreadable. *shim: no Python frame. */
static bool read_frame(const assay_py_layout *at, window *w, uintptr_t f, assay_py_frame *out,
		       uintptr_t *caller, bool *shim)
{
	signed char owner = 0;
	int32_t index = 0;
	if (!read_window(w, f + at->frame_caller, caller, sizeof *caller) ||
	    (at->frame_owner != ASSAY_PY_NONE && !read_window(w, f + at->frame_owner, &owner, 1)))
		return false;
	*shim = owner >= SHIM;
	if (*shim)
		return true;
	if (!read_window(w, f + at->frame_code, &out->code, sizeof out->code))
		return false;
	out->frame = f;
	out->code &= ~(uintptr_t)at->frame_tags;
	if (at->code_start != ASSAY_PY_NONE)
		return read_window(w, f + at->frame_at, &out->at, sizeof out->at);
	bool ok = read_window(w, f + at->frame_at, &index, sizeof index);
	out->at = out->code + (uintptr_t)(intptr_t)index;
	return ok;
}

/* Heads of all code objects with as few system calls as the system allows; true when each is
 * one. */
static bool mark_frames(const assay_py *py, int pid, assay_py_frame *f, uint32_t n)
{
	enum { BATCH = 64, HEAD = 160 };
	static char head[BATCH][HEAD];
	static struct iovec here[BATCH], there[BATCH];
	for (uint32_t done = 0; done < n; done += BATCH) {
		uint32_t k = n - done < BATCH ? n - done : BATCH;
		for (uint32_t i = 0; i < k; i++) {
			here[i] = (struct iovec){head[i], HEAD};
			there[i] = (struct iovec){(void *)f[done + i].code, HEAD};
		}
		bool all = assay_py_gather(pid, there, here, (int)k);
		for (uint32_t i = 0; i < k; i++) {
			const assay_py_layout *at = &py->at;
			uintptr_t own = (uintptr_t)head[i];
			if (!all && !assay_py_safely(pid, f[done + i].code, head[i], HEAD))
				return false;
			if (load64(own + at->object_type) != py->code_type)
				return false;
			uint64_t h =
				mix(load32(own + at->code_line) ^ py->moved,
				    load64(own + at->code_file) ^ load64(own + at->code_name) << 1);
			h = mix(h, at->code_version == ASSAY_PY_NONE
					   ? load64(own + at->code_lines)
					   : load32(own + at->code_version));
			f[done + i].mark = h & INT64_MAX;
		}
	}
	return true;
}

/* What is large is not on the stack: the proof runs on a thread of the program's, whose stack may
 * be small. */
int assay_py_walk_of(const assay_py *py, int pid, uintptr_t ts, assay_py_frame *out, bool *cut)
{
	static window w;
	memset(w.page, 0, sizeof w.page);
	w.pid = pid;
	w.next = 0;
	uintptr_t f, at, caller;
	uint32_t n = 0, left = FOLLOWED;
	*cut = false;
	if (!assay_py_top(py, pid, ts, &f, &at))
		return -1;
	for (; is_pointer(f) && left--; f = caller) {
		bool shim;
		if (n == ASSAY_PY_DEPTH) {
			*cut = true;
			break;
		}
		if (!read_frame(&py->at, &w, f, &out[n], &caller, &shim))
			return -1;
		n += !shim;
	}
	return mark_frames(py, pid, out, n) ? (int)n : -1;
}

/* What a sampled thread did, in one word: the first that fits of what it waits for, what its stack
 * says, the system call it is in, and where it computes. Then, for one that waits, who kept it
 * waiting: the thread or child process that did something meanwhile. */
#include "resolve/resolve.h"

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/words.h"

enum {
	IN_DATA = 1,
	IN_COMPILE = 2,
	IN_IMPORT = 4,
	IN_FILES = 8,
	IN_HAND_OVER = 16,
	IN_COMM = 64,     /* calls a collective */
	IN_BACKWARD = 32, /* waits for the threads that compute gradients */
	IN_CHILD = 128,   /* starts a program, or waits for it */
	IN_VALUE = 256,   /* asks for a value that the device computes */
};
#define LONGEST_SAMPLE 200000000 /* ns: no recorder writes longer ones by much */

typedef struct doings {
	assay_run *run;
	assay_arena scratch;
	uint16_t *of_code; /* by row of code: what a call of it is part of */
	uint16_t *in;      /* by row of stack: what its calls are part of */
	uint32_t *rows;    /* of sample, by time */
	bool *serves;      /* by track: a thread that does nothing but collectives */
} doings;

/* ---- stacks ---- */

static assay_str last_part(assay_str name)
{
	for (size_t i = name.n; i-- > 0;)
		if (name.p[i] == '.')
			return (assay_str){name.p + i + 1, name.n - i - 1};
	return name;
}

static uint16_t meaning_of(const assay_run *run, uint32_t code)
{
	static const uint16_t bit[] = {
		[ASSAY_WORD_DATA] = IN_DATA,           [ASSAY_WORD_COMPILE] = IN_COMPILE,
		[ASSAY_WORD_IMPORT] = IN_IMPORT,       [ASSAY_WORD_FILES] = IN_FILES,
		[ASSAY_WORD_HAND_OVER] = IN_HAND_OVER, [ASSAY_WORD_HOST_COMM] = IN_COMM,
		[ASSAY_WORD_CHILD] = IN_CHILD,         [ASSAY_WORD_DEVICE_VALUE] = IN_VALUE,
		[ASSAY_WORD_EVENT_LOOP] = 0,           [ASSAY_WORD_LIBRARY] = 0};
	const assay_code_table *c = &run->part.t.code;
	assay_str function = last_part(assay_text(run, c->function[code]));
	uint16_t in = bit[assay_word_of_frame(assay_text(run, c->file[code]))] |
		      bit[assay_word_of_frame(function)];
	if (assay_str_is(function, "_engine_run_backward"))
		in |= IN_BACKWARD;
	if (!in && c->own[code] && assay_word_of(function) == ASSAY_WORD_DATA)
		in = IN_DATA;
	return in;
}

static void read_stacks(doings *d)
{
	const assay_tables *t = &d->run->part.t;
	d->of_code = assay_alloc(&d->scratch, (t->code.n + 1) * sizeof *d->of_code);
	d->in = assay_alloc(&d->scratch, (t->stack.n + 1) * sizeof *d->in);
	for (uint32_t i = 0; i < t->code.n; i++)
		d->of_code[i] = meaning_of(d->run, i);
	for (size_t i = 0; i < t->stack.n; i++) {
		uint32_t caller = t->stack.caller[i];
		d->in[i] =
			(uint16_t)(d->of_code[t->stack.code[i]] | (caller < i ? d->in[caller] : 0));
	}
}

/* ---- one sample ---- */

static bool is_pipe(assay_str file)
{
	return assay_str_starts(file, "pipe:");
}

/* A descriptor that leads to another thread or process, not to data at rest. */
static bool leads_to_others(assay_str file)
{
	return is_pipe(file) || assay_str_starts(file, "anon_inode:");
}

static assay_doing by_call(const assay_run *run, size_t i)
{
	const assay_sample_table *s = &run->part.t.sample;
	assay_str file = assay_text(run, s->file[i]);
	switch ((assay_call_kind)s->kind[i]) {
	case ASSAY_CALL_READ:
	case ASSAY_CALL_WRITE:
		return leads_to_others(file) ? ASSAY_DOING_LOCK : ASSAY_DOING_IO;
	case ASSAY_CALL_OPEN:
	case ASSAY_CALL_SOCKET:
		return ASSAY_DOING_IO;
	case ASSAY_CALL_POLL:
		return assay_str_starts(file, "socket:") ? ASSAY_DOING_IO : ASSAY_DOING_LOCK;
	case ASSAY_CALL_LOCK:
		return ASSAY_DOING_LOCK;
	case ASSAY_CALL_CHILD:
		return ASSAY_DOING_CHILD;
	case ASSAY_CALL_SLEEP:
		return ASSAY_DOING_SLEEP;
	case ASSAY_CALL_DEVICE:
		return ASSAY_DOING_DRIVER;
	case ASSAY_CALL_MEMORY:
		return ASSAY_DOING_NATIVE;
	case ASSAY_CALL_NONE:
	case ASSAY_CALL_OTHER:
	case ASSAY_CALL_KIND_COUNT:
		break;
	}
	return ASSAY_DOING_UNKNOWN;
}

static assay_doing by_stack(uint16_t in)
{
	return in & IN_COMPILE  ? ASSAY_DOING_COMPILE
	       : in & IN_IMPORT ? ASSAY_DOING_IMPORT
	       : in & IN_DATA   ? ASSAY_DOING_DATA
	       : in & IN_FILES  ? ASSAY_DOING_IO
	       : in & IN_CHILD  ? ASSAY_DOING_CHILD
				: ASSAY_DOING_UNKNOWN;
}

/* What the sample's calls are part of, those outside Python only where a library does nothing else:
 * cuDNN has the attention of each new length compiled. */
static uint16_t part_of(const doings *d, size_t i)
{
	const assay_sample_table *s = &d->run->part.t.sample;
	uint16_t in = s->stack[i] != ASSAY_NO_ROW ? d->in[s->stack[i]] : 0,
		 outside = s->calls[i] != ASSAY_NO_ROW ? d->in[s->calls[i]] : 0;
	if (s->native[i] != ASSAY_NO_ROW)
		outside |= d->of_code[s->native[i]];
	return (uint16_t)(in | (outside & IN_COMPILE));
}

/* In a call of a collective, or on a thread that does nothing else. */
static bool is_collective(const doings *d, size_t i)
{
	const assay_sample_table *s = &d->run->part.t.sample;
	return s->stack[i] != ASSAY_NO_ROW ? d->in[s->stack[i]] & IN_COMM : d->serves[s->track[i]];
}

static assay_doing doing_of(const doings *d, size_t i)
{
	const assay_sample_table *s = &d->run->part.t.sample;
	bool known = s->stack[i] != ASSAY_NO_ROW;
	assay_doing told = by_stack(part_of(d, i));
	if (s->gil[i] == ASSAY_GIL_WAITS)
		return ASSAY_DOING_GIL;
	if (s->state[i] == ASSAY_THREAD_READY)
		return ASSAY_DOING_CPU_WAIT;
	if (s->flags[i] & ASSAY_SAMPLE_GC)
		return ASSAY_DOING_GC;
	if (told != ASSAY_DOING_UNKNOWN)
		return told;
	if (s->state[i] == ASSAY_THREAD_BLOCKED && is_collective(d, i))
		return ASSAY_DOING_COMM;
	if (s->state[i] == ASSAY_THREAD_BLOCKED && known && d->in[s->stack[i]] & IN_VALUE)
		return ASSAY_DOING_SYNC;
	if (s->state[i] == ASSAY_THREAD_BLOCKED)
		return by_call(d->run, i);
	if (s->state[i] == ASSAY_THREAD_FAULT || s->flags[i] & ASSAY_SAMPLE_IO)
		return ASSAY_DOING_IO;
	if (s->state[i] != ASSAY_THREAD_RUNNING)
		return ASSAY_DOING_UNKNOWN;
	return known && s->gil[i] != ASSAY_GIL_FREE ? ASSAY_DOING_PYTHON : ASSAY_DOING_NATIVE;
}

/* ---- who ---- */

/* Blocked by a disk, and by nobody. */
static bool is_at_files(const assay_run *run, size_t i)
{
	const assay_sample_table *s = &run->part.t.sample;
	return s->kind[i] != ASSAY_CALL_SOCKET && by_call(run, i) == ASSAY_DOING_IO &&
	       !assay_str_starts(assay_text(run, s->file[i]), "socket:");
}

/* Does the thread stand still until another one does something? */
static bool waits(const assay_run *run, size_t i)
{
	const assay_tables *t = &run->part.t;
	return t->seen.doing[i] == ASSAY_DOING_LOCK || t->seen.doing[i] == ASSAY_DOING_GIL ||
	       t->seen.doing[i] == ASSAY_DOING_COMM || t->seen.doing[i] == ASSAY_DOING_CHILD ||
	       (t->seen.doing[i] == ASSAY_DOING_DATA &&
		t->sample.state[i] == ASSAY_THREAD_BLOCKED &&
		t->sample.kind[i] != ASSAY_CALL_SLEEP && !is_at_files(run, i));
}

/* How well what a thread did explains that another one waited: work before rest. */
static int64_t weight(const assay_run *run, uint32_t other)
{
	switch ((assay_doing)run->part.t.seen.doing[other]) {
	case ASSAY_DOING_UNKNOWN:
	case ASSAY_DOING_LOCK:
	case ASSAY_DOING_CHILD:
	case ASSAY_DOING_COMM:
	case ASSAY_DOING_SYNC:
	case ASSAY_DOING_GIL:
	case ASSAY_DOING_COUNT:
		return 0;
	case ASSAY_DOING_DATA:
		return waits(run, other) ? 0 : 4;
	case ASSAY_DOING_SLEEP:
		return 1;
	case ASSAY_DOING_CPU_WAIT:
	case ASSAY_DOING_GC:
	case ASSAY_DOING_COMPILE:
	case ASSAY_DOING_IMPORT:
	case ASSAY_DOING_IO:
	case ASSAY_DOING_DRIVER:
	case ASSAY_DOING_PYTHON:
	case ASSAY_DOING_NATIVE:
		return 4;
	}
	return 0;
}

/* Looks of one tick lie within this of each other; of two ticks, within the longer. */
#define ONE_LOOK 500000
#define ONE_TICK 1500000

/* A line that another thread was seen at. */
typedef struct suspect {
	uint32_t track, code, sample;
	int32_t line;
	int64_t score;
} suspect;

typedef assay_vec(suspect) suspects;

static void suspect_of(const doings *d, suspects *all, uint32_t other, int64_t score)
{
	const assay_tables *t = &d->run->part.t;
	uint32_t call = assay_own_call(t, t->sample.stack[other]);
	suspect at = {t->sample.track[other], t->stack.code[call], other, t->stack.line[call],
		      score};
	for (size_t i = 0; i < all->n; i++) {
		suspect *x = &all->p[i];
		if (x->track == at.track && x->code == at.code && x->line == at.line) {
			x->score += score;
			return;
		}
	}
	*assay_push(all) = at;
}

static bool same_process(const assay_tables *t, uint32_t a, uint32_t b)
{
	return t->track.source[a] == t->track.source[b] && t->track.pid[a] == t->track.pid[b];
}

/* *at: first sample that may still overlap; samples come in order of time. */
static uint32_t culprit_of(const doings *d, uint32_t i, size_t *at)
{
	const assay_tables *t = &d->run->part.t;
	const assay_sample_table *s = &t->sample;
	bool held = t->seen.doing[i] == ASSAY_DOING_GIL && s->holder[i] != ASSAY_NO_ROW;
	bool ranks = t->seen.doing[i] == ASSAY_DOING_COMM; /* what other processes do */
	int64_t from = s->ts[i] - ONE_LOOK, to = s->ts[i] + s->dur[i] + ONE_LOOK;
	suspects all = {0};
	suspect best = {.sample = ASSAY_NO_ROW};
	while (*at < s->n && s->ts[d->rows[*at]] < from - 2 * LONGEST_SAMPLE)
		(*at)++;
	for (size_t k = *at; k < s->n && s->ts[d->rows[k]] <= to; k++) {
		uint32_t other = d->rows[k];
		if (s->track[other] == s->track[i] || s->stack[other] == ASSAY_NO_ROW ||
		    (ranks && same_process(t, s->track[other], s->track[i])) ||
		    s->ts[other] + s->dur[other] < from ||
		    (held && s->track[other] != s->holder[i]))
			continue;
		int64_t score = (int64_t)s->count[other] * weight(d->run, other);
		if (score > 0)
			suspect_of(d, &all, other, score);
	}
	for (size_t k = 0; k < all.n; k++)
		if (all.p[k].score > best.score)
			best = all.p[k];
	assay_vec_free(&all);
	return best.sample;
}

/* ---- stacks of others ---- */

/* Gradients are launched by threads without Python frames while the one that called backward()
 * waits, and collectives of the host copy on threads of their own: the stack of the one that waits
 * is theirs, as far as a sample shows it waiting. */
static void lend_stacks(const doings *d, const uint32_t *waiting, size_t n, bool collectives)
{
	assay_tables *t = &d->run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		uint32_t api = t->host.detail[h];
		if (!assay_is_call(t->host.kind[h]) || api == ASSAY_NO_ROW ||
		    t->api.stack[api] != ASSAY_NO_ROW || d->serves[t->host.track[h]] != collectives)
			continue;
		size_t begun = assay_rows_until(waiting, n, t->sample.ts, t->host.ts[h]);
		for (size_t k = begun ? begun - 1 : 0; k < n && k < begun + 1; k++) {
			uint32_t s = waiting[k];
			bool near = t->host.ts[h] >= t->sample.ts[s] - ONE_TICK &&
				    t->host.ts[h] <= t->sample.ts[s] + t->sample.dur[s] + ONE_TICK;
			if (!near ||
			    t->track.pid[t->sample.track[s]] != t->track.pid[t->host.track[h]])
				continue;
			t->api.stack[api] = t->sample.stack[s];
			t->api.lent[api] = 1;
			break;
		}
	}
}

static void find_lenders(const doings *d, uint16_t in)
{
	const assay_sample_table *s = &d->run->part.t.sample;
	assay_vec(uint32_t) waiting = {0};
	for (size_t k = 0; k < s->n; k++) {
		uint32_t i = d->rows[k];
		if (s->stack[i] != ASSAY_NO_ROW && d->in[s->stack[i]] & in &&
		    s->state[i] == ASSAY_THREAD_BLOCKED)
			*assay_push(&waiting) = i;
	}
	if (waiting.n)
		lend_stacks(d, waiting.p, waiting.n, in == IN_COMM);
	assay_vec_free(&waiting);
}

/* A call that ended by its timeout is told as sleep, but of a long one the recorder told the first
 * parts before it knew. */
static void spread_sleep(doings *d)
{
	const assay_sample_table *s = &d->run->part.t.sample;
	uint8_t *doing = d->run->part.t.seen.doing;
	size_t tracks = d->run->part.t.track.n;
	uint32_t *next = assay_alloc(&d->scratch, (tracks + 1) * sizeof *next);
	memset(next, 0xff, tracks * sizeof *next);
	for (size_t k = s->n; k-- > 0;) {
		uint32_t i = d->rows[k], then = next[s->track[i]];
		next[s->track[i]] = i;
		if (then != ASSAY_NO_ROW && s->kind[i] == ASSAY_CALL_POLL &&
		    doing[then] == ASSAY_DOING_SLEEP && s->call[then] == s->call[i] &&
		    s->stack[then] == s->stack[i] &&
		    s->ts[then] - s->ts[i] - s->dur[i] <= LONGEST_SAMPLE)
			doing[i] = ASSAY_DOING_SLEEP;
	}
}

/* Does the thread wait for what another process sends through a pipe, or takes from it? */
static bool waits_for_process(const assay_run *run, uint32_t i)
{
	const assay_tables *t = &run->part.t;
	uint32_t culprit = t->seen.culprit[i];
	return culprit != ASSAY_NO_ROW && t->seen.doing[i] == ASSAY_DOING_LOCK &&
	       is_pipe(assay_text(run, t->sample.file[i])) &&
	       t->track.pid[t->sample.track[culprit]] != t->track.pid[t->sample.track[i]];
}

void assay_doings(assay_run *run)
{
	assay_tables *t = &run->part.t;
	doings d = {.run = run};
	if (!t->sample.n || t->seen.n)
		return;
	read_stacks(&d);
	d.serves = assay_alloc(&d.scratch, t->track.n + 1);
	for (size_t i = 0; i < t->track.n; i++)
		d.serves[i] =
			assay_word_of(assay_text(run, t->track.name[i])) == ASSAY_WORD_HOST_COMM;
	for (size_t i = 0; i < t->sample.n; i++) {
		uint32_t row = assay_add(t, ASSAY_T_seen);
		t->seen.doing[row] = (uint8_t)doing_of(&d, i);
	}
	d.rows = assay_alloc(&d.scratch, t->sample.n * sizeof *d.rows);
	for (uint32_t i = 0; i < t->sample.n; i++)
		d.rows[i] = i;
	assay_sort_rows(d.rows, t->sample.n, t->sample.ts);
	spread_sleep(&d);
	find_lenders(&d, IN_BACKWARD);
	find_lenders(&d, IN_COMM);
	size_t at = 0;
	for (size_t k = 0; k < t->sample.n; k++)
		if (waits(run, d.rows[k]))
			t->seen.culprit[d.rows[k]] = culprit_of(&d, d.rows[k], &at);
	for (uint32_t i = 0; i < t->sample.n; i++)
		if (waits_for_process(run, i))
			t->seen.doing[i] = ASSAY_DOING_CHILD;
	assay_arena_free(&d.scratch);
}

/* ---- tests ---- */

static uint32_t hand_stack(assay_run *run, const char *file, const char *function, bool own)
{
	assay_tables *t = &run->part.t;
	uint32_t stack = assay_hand_stack(run, ASSAY_NO_ROW, file, function);
	t->code.own[t->stack.code[stack]] = own;
	return stack;
}

static uint32_t hand_sample(assay_run *run, int64_t tid, int64_t ts, uint32_t stack,
			    assay_thread_state state)
{
	assay_tables *t = &run->part.t;
	uint32_t row = assay_add(t, ASSAY_T_sample);
	t->sample.ts[row] = ts;
	t->sample.dur[row] = 1000000;
	t->sample.track[row] = assay_thread_track(&run->part, 1, tid);
	t->sample.stack[row] = stack;
	t->sample.state[row] = (uint8_t)state;
	t->sample.count[row] = 1;
	return row;
}

TEST(what_a_thread_did_is_the_first_word_that_fits)
{
	assay_run *run = assay_run_new();
	assay_sample_table *s = &run->part.t.sample;
	uint32_t own = hand_stack(run, "/home/me/train.py", "main", true);
	uint32_t loader =
		hand_stack(run, "/x/site-packages/torch/utils/data/dataloader.py", "n", 0);
	uint32_t prefetch = hand_stack(run, "/home/me/a.py", "Feeder.next_batch", true);
	uint32_t import = hand_stack(run, "<frozen importlib._bootstrap>", "_find_and_load", false);
	hand_sample(run, 1, 0, own, ASSAY_THREAD_RUNNING);
	s->gil[0] = ASSAY_GIL_HOLDS;
	hand_sample(run, 1, 1, own, ASSAY_THREAD_RUNNING);
	s->gil[1] = ASSAY_GIL_FREE;
	hand_sample(run, 1, 2, loader, ASSAY_THREAD_BLOCKED);
	s->gil[2] = ASSAY_GIL_WAITS;
	hand_sample(run, 1, 3, loader, ASSAY_THREAD_RUNNING);
	hand_sample(run, 1, 4, prefetch, ASSAY_THREAD_RUNNING);
	hand_sample(run, 1, 5, import, ASSAY_THREAD_RUNNING);
	hand_sample(run, 1, 6, own, ASSAY_THREAD_BLOCKED);
	s->kind[6] = ASSAY_CALL_READ;
	s->file[6] = assay_sid_of(run, "pipe:[12]");
	hand_sample(run, 1, 7, own, ASSAY_THREAD_BLOCKED);
	s->kind[7] = ASSAY_CALL_READ;
	s->file[7] = assay_sid_of(run, "/data/x");
	hand_sample(run, 1, 8, own, ASSAY_THREAD_READY);
	uint32_t child = hand_stack(run, "/usr/lib/python3.12/subprocess.py", "Popen.wait", false);
	hand_sample(run, 1, 9, child, ASSAY_THREAD_BLOCKED); /* as vfork() does */
	hand_sample(run, 1, 10, own, ASSAY_THREAD_BLOCKED);
	s->kind[10] = ASSAY_CALL_CHILD;
	uint32_t compiler = hand_stack(run, "/x/nvidia/cu13/lib/libnvrtc.so.13", "", false);
	hand_sample(run, 1, 11, own, ASSAY_THREAD_RUNNING);
	s->native[11] = run->part.t.stack.code[compiler];
	hand_sample(run, 1, 12, own,
		    ASSAY_THREAD_RUNNING); /* called by the compiler, seen elsewhere */
	s->calls[12] = compiler;
	s->native[12] = run->part.t.stack.code[own];
	uint32_t value = hand_stack(run, "/x/jax/_src/array.py", "ArrayImpl._value", false);
	hand_sample(run, 1, 13, value, ASSAY_THREAD_BLOCKED);
	s->kind[13] = ASSAY_CALL_LOCK;
	uint32_t until = hand_stack(run, "/x/jax/_src/api.py", "block_until_ready", false);
	hand_sample(run, 1, 14, until, ASSAY_THREAD_BLOCKED);
	s->kind[14] = ASSAY_CALL_LOCK;
	hand_sample(run, 1, 15, own, ASSAY_THREAD_BLOCKED);
	s->kind[15] = ASSAY_CALL_READ;
	s->file[15] = assay_sid_of(run, "anon_inode:[eventfd]");
	assay_doings(run);
	static const uint8_t want[] = {
		ASSAY_DOING_PYTHON,   ASSAY_DOING_NATIVE, ASSAY_DOING_GIL,   ASSAY_DOING_DATA,
		ASSAY_DOING_DATA,     ASSAY_DOING_IMPORT, ASSAY_DOING_LOCK,  ASSAY_DOING_IO,
		ASSAY_DOING_CPU_WAIT, ASSAY_DOING_CHILD,  ASSAY_DOING_CHILD, ASSAY_DOING_COMPILE,
		ASSAY_DOING_COMPILE,  ASSAY_DOING_SYNC,   ASSAY_DOING_SYNC,  ASSAY_DOING_LOCK};
	for (size_t i = 0; i < ASSAY_COUNT_OF(want); i++)
		CHECK_EQ(run->part.t.seen.doing[i], want[i]);
	assay_run_free(run);
	return 0;
}

TEST(all_of_a_wait_that_only_time_ended_is_sleep)
{
	assay_run *run = assay_run_new();
	assay_sample_table *s = &run->part.t.sample;
	uint32_t own = hand_stack(run, "/home/me/serve.py", "main", true);
	static const assay_call_kind kind[] = {ASSAY_CALL_POLL, ASSAY_CALL_POLL, ASSAY_CALL_SLEEP,
					       ASSAY_CALL_POLL, ASSAY_CALL_NONE, ASSAY_CALL_SLEEP};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(kind); i++) {
		hand_sample(run, 1, i * 2000000, own, ASSAY_THREAD_BLOCKED);
		s->kind[i] = (uint8_t)kind[i];
		s->call[i] = 232;
	}
	assay_doings(run);
	static const uint8_t want[] = {ASSAY_DOING_SLEEP, ASSAY_DOING_SLEEP,   ASSAY_DOING_SLEEP,
				       ASSAY_DOING_LOCK,  ASSAY_DOING_UNKNOWN, ASSAY_DOING_SLEEP};
	for (size_t i = 0; i < ASSAY_COUNT_OF(want); i++)
		CHECK_EQ(run->part.t.seen.doing[i], want[i]);
	assay_run_free(run);
	return 0;
}

TEST(who_waits_for_a_lock_waits_for_the_thread_that_works)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t own = hand_stack(run, "/home/me/train.py", "main", true);
	uint32_t first = hand_sample(run, 1, 5000000, own, ASSAY_THREAD_BLOCKED);
	t->sample.kind[first] = ASSAY_CALL_LOCK;
	uint32_t idle = hand_sample(run, 2, 5000000, own, ASSAY_THREAD_BLOCKED);
	t->sample.kind[idle] = ASSAY_CALL_LOCK;
	uint32_t sleeper = hand_sample(run, 3, 5000000, own, ASSAY_THREAD_BLOCKED);
	t->sample.kind[sleeper] = ASSAY_CALL_SLEEP;
	uint32_t worker = hand_sample(run, 4, 5000000, own, ASSAY_THREAD_RUNNING);
	hand_sample(run, 5, 900000000, own, ASSAY_THREAD_RUNNING); /* long after */
	assay_doings(run);
	CHECK_EQ(t->seen.culprit[first], worker);
	CHECK_EQ(t->seen.culprit[worker], ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

TEST(a_loader_blocked_on_a_file_is_who_is_waited_for)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t loader =
		hand_stack(run, "/x/site-packages/torch/utils/data/dataloader.py", "n", false);
	static const char *const files[] = {"pipe:[1]", "pipe:[2]", "/data/x", "socket:[3]"};
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(files); i++) {
		uint32_t row = hand_sample(run, i + 1, 5000000, loader, ASSAY_THREAD_BLOCKED);
		t->sample.kind[row] = ASSAY_CALL_READ;
		t->sample.file[row] = assay_sid_of(run, files[i]);
	}
	assay_doings(run);
	CHECK(t->seen.culprit[0] == 2 && t->seen.culprit[1] == 2 && t->seen.culprit[3] == 2);
	CHECK_EQ(t->seen.culprit[2], ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

/* A pipe within a process is a queue between its threads. */
TEST(a_pipe_from_another_process_is_waiting_for_a_program)
{
	for (int other = 0; other < 2; other++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		uint32_t own = hand_stack(run, "/home/me/train.py", "main", true);
		uint32_t reads = hand_sample(run, 1, 5000000, own, ASSAY_THREAD_BLOCKED);
		t->sample.kind[reads] = ASSAY_CALL_READ;
		t->sample.file[reads] = assay_sid_of(run, "pipe:[12]");
		uint32_t sends = hand_sample(run, 2, 5000000, own, ASSAY_THREAD_RUNNING);
		if (other)
			t->sample.track[sends] = assay_thread_track(&run->part, 2, 2);
		assay_doings(run);
		CHECK_EQ(t->seen.culprit[reads], sends);
		CHECK_EQ(t->seen.doing[reads], other ? ASSAY_DOING_CHILD : ASSAY_DOING_LOCK);
		assay_run_free(run);
	}
	return 0;
}

TEST(calls_of_gradient_threads_get_the_stack_of_who_waits_in_backward)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t graph = hand_stack(run, "/x/site-packages/torch/autograd/graph.py",
				    "_engine_run_backward", false);
	uint32_t main = hand_sample(run, 1, 5000000, graph, ASSAY_THREAD_BLOCKED);
	t->sample.kind[main] = ASSAY_CALL_LOCK;
	for (int i = 0; i < 2; i++) {
		uint32_t h = assay_add(t, ASSAY_T_host);
		t->host.kind[h] = ASSAY_HOST_RUNTIME;
		t->host.ts[h] = i ? 90000000 : 5500000;
		t->host.track[h] = assay_thread_track(&run->part, 1, 2);
		uint32_t detail = assay_add(t, ASSAY_T_api);
		t->host.detail[h] = detail;
	}
	assay_doings(run);
	CHECK(t->api.stack[0] == graph && t->api.lent[0] == 1);
	CHECK(t->api.stack[1] == ASSAY_NO_ROW && t->api.lent[1] == 0);
	assay_run_free(run);
	return 0;
}

TEST(who_waits_in_a_collective_waits_for_another_process)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t own = hand_stack(run, "/home/me/train.py", "main", true);
	uint32_t reduce = hand_stack(run, "/x/site-packages/torch/distributed/distributed_c10d.py",
				     "all_reduce", false);
	uint32_t waits = hand_sample(run, 1, 5000000, reduce, ASSAY_THREAD_BLOCKED);
	uint32_t serves = hand_sample(run, 2, 5000000, ASSAY_NO_ROW, ASSAY_THREAD_BLOCKED);
	t->sample.kind[waits] = t->sample.kind[serves] = ASSAY_CALL_LOCK;
	t->track.name[t->sample.track[serves]] = assay_sid_of(run, "pt_gloo_runloop");
	hand_sample(run, 3, 5000000, own, ASSAY_THREAD_RUNNING); /* of the same process */
	uint32_t late = hand_sample(run, 4, 5000000, own, ASSAY_THREAD_RUNNING);
	t->sample.track[late] = assay_thread_track(&run->part, 2, 4);
	assay_doings(run);
	CHECK(t->seen.doing[waits] == ASSAY_DOING_COMM &&
	      t->seen.doing[serves] == ASSAY_DOING_COMM);
	CHECK(t->seen.culprit[waits] == late && t->seen.culprit[serves] == late);
	assay_run_free(run);
	return 0;
}

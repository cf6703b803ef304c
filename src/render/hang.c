/* Hanging processes as text and JSON. */
#include "render/hang.h"

#include <inttypes.h>

#include "base/fmt.h"
#include "render/place.h"

enum { NAME_COLUMNS = 60, FRAMES = 6, STREAMS = 16, THREADS = 24 };
#define QUIET_NS 1000000000ll /* without calls: longer than most steps */

/* What is said of a process. Ranks of which the same can be said share a sentence. */
typedef struct sentence {
	const assay_hang_process *p;
	const char *one, *many;     /* between who it is, or they are, and the rest */
	const char *before, *after; /* an age between them */
	int64_t age;                /* ns; -1: none */
} sentence;

typedef assay_vec(sentence) sentences;

static const char *const item_kind[ASSAY_HANG_ITEM_COUNT] = {
#define X(id, name) name,
	ASSAY_HANG_ITEMS(X)
#undef X
};

/* ---- words ---- */

static const char *stream_name(assay_arena *a, const assay_hang_stream *s)
{
	if (s->handle == UINT64_MAX)
		return "a stream that was not recorded";
	if (!s->handle)
		return "the default stream";
	return s->id >= 0 ? assay_printf(a, "stream %" PRId64, s->id)
			  : assay_printf(a, "stream 0x%" PRIx64, s->handle);
}

static int64_t age_of(const assay_hang_process *p, int64_t ts)
{
	return p->now > ts ? p->now - ts : 0;
}

static const char *since(assay_arena *a, const assay_hang_process *p, int64_t ts)
{
	char text[ASSAY_FMT];
	return assay_printf(a, "%s", assay_fmt_time(text, age_of(p, ts)));
}

static void say(sentences *out, const assay_hang_process *p, const char *before, int64_t age,
		const char *after)
{
	*assay_push(out) = (sentence){p, ": ", ": ", before, after, age};
}

static const char *item_name(assay_arena *a, const assay_hang_process *p, const assay_hang_item *i)
{
	if (!i->kernel)
		return assay_fmt_safe(a, assay_text(p->run, i->call));
	return assay_printf(a, "kernel %s",
			    assay_fmt_kernel(a, assay_text(p->run, i->kernel), NAME_COLUMNS));
}

static const char *who(assay_arena *a, const assay_hang_process *p)
{
	return p->rank >= 0 ? assay_printf(a, "rank %d", p->rank)
			    : assay_printf(a, "process %" PRId64, p->pid);
}

static const char *call_name(assay_arena *a, const assay_hang_process *p,
			     const assay_hang_thread *t)
{
	return assay_fmt_safe(a, assay_text(p->run, p->run->part.t.open_call.name[t->open_call]));
}

static const char *call_since(assay_arena *a, const assay_hang_process *p,
			      const assay_hang_thread *t)
{
	return since(a, p, p->run->part.t.open_call.ts[t->open_call]);
}

/* "stream 13 waits since 2 s for event 0x50140, which stream 7 records behind kernel spin" */
static void say_stream(assay_arena *a, const assay_hang_process *p, const assay_hang_stream *s,
		       sentences *out)
{
	const assay_hang_item *head = &p->hang.item.p[s->head];
	const char *name = stream_name(a, s);
	int64_t age = age_of(p, head->ts);
	bool value = head->kind == ASSAY_HANG_WAIT_VALUE;
	if (head->kind != ASSAY_HANG_WAIT && !value) {
		say(out, p, assay_printf(a, "%s is at %s, launched ", name, item_name(a, p, head)),
		    age, " ago and not seen to end");
		return;
	}
	const char *waits = assay_printf(a, "%s waits since ", name);
	const char *what = assay_printf(a, " for %s 0x%" PRIx64 ", which",
					value ? "a value at" : "event", head->event);
	const char *does = value ? "writes" : "records";
	if (s->on == UINT32_MAX) {
		say(out, p, waits, age, assay_printf(a, "%s nothing recorded %s", what, does));
		return;
	}
	const assay_hang_stream *on = &p->hang.stream.p[s->on];
	const assay_hang_item *at = on->head == UINT32_MAX ? NULL : &p->hang.item.p[on->head];
	say(out, p, waits, age,
	    assay_printf(a, "%s %s %s%s%s", what, stream_name(a, on), does, at ? " behind " : "",
			 at ? item_name(a, p, at) : ""));
}

/* ---- the answer ---- */

static void judge_streams(assay_arena *a, const assay_hang_process *p, sentences *out)
{
	const char *cycle = NULL;
	for (size_t i = 0; i < p->hang.stream.n; i++) {
		const char *name = stream_name(a, &p->hang.stream.p[i]);
		if (p->hang.stream.p[i].in_cycle)
			cycle = cycle ? assay_printf(a, "%s, %s", cycle, name) : name;
	}
	if (cycle)
		say(out, p, assay_printf(a, "%s wait for each other", cycle), -1, "");
	for (size_t i = 0; i < p->hang.stream.n; i++)
		if (p->hang.stream.p[i].head != UINT32_MAX)
			say_stream(a, p, &p->hang.stream.p[i], out);
}

static const char *thread_name(assay_arena *a, const assay_hang_process *p,
			       const assay_hang_thread *t)
{
	return t->tid == p->pid ? "the main thread"
				: assay_printf(a, "thread %" PRId64 " (%s)", t->tid, t->name);
}

static void judge_threads(assay_arena *a, const assay_hang_process *p, sentences *out)
{
	for (size_t i = 0; i < p->thread.n; i++) {
		const assay_hang_thread *t = &p->thread.p[i];
		const char *name = thread_name(a, p, t);
		if (t->open_call != ASSAY_NO_ROW)
			say(out, p, assay_printf(a, "%s is in %s since ", name, call_name(a, p, t)),
			    age_of(p, p->run->part.t.open_call.ts[t->open_call]), "");
		if (t->holder)
			say(out, p,
			    assay_printf(a, "%s waits for a lock that thread %" PRId64 " holds",
					 name, t->holder),
			    -1, "");
	}
}

/* What a thread does, and where: "waits for another thread or process at train.py:12 step". */
static const char *doing_sentence(assay_arena *a, const assay_hang_process *p,
				  const assay_hang_thread *t)
{
	static const char *const does[ASSAY_DOING_COUNT] = {
		[ASSAY_DOING_UNKNOWN] = "stands",
		[ASSAY_DOING_GIL] = "waits for Python's lock",
		[ASSAY_DOING_CPU_WAIT] = "waits for a processor",
		[ASSAY_DOING_GC] = "collects garbage",
		[ASSAY_DOING_COMPILE] = "compiles",
		[ASSAY_DOING_IMPORT] = "imports",
		[ASSAY_DOING_DATA] = "prepares data",
		[ASSAY_DOING_IO] = "reads or writes",
		[ASSAY_DOING_SLEEP] = "sleeps",
		[ASSAY_DOING_LOCK] = "waits for another thread or process",
		[ASSAY_DOING_CHILD] = "waits for another process",
		[ASSAY_DOING_COMM] = "waits for other ranks",
		[ASSAY_DOING_SYNC] = "waits for a value of the device",
		[ASSAY_DOING_DRIVER] = "is in the driver",
		[ASSAY_DOING_PYTHON] = "runs Python",
		[ASSAY_DOING_NATIVE] = "computes outside Python",
	};
	const assay_tables *tables = &p->run->part.t;
	bool seen = t->sample != ASSAY_NO_ROW;
	const char *what = does[seen ? tables->seen.doing[t->sample] : ASSAY_DOING_UNKNOWN];
	if (what == does[ASSAY_DOING_LOCK] && tables->sample.kind[t->sample] == ASSAY_CALL_LOCK)
		what = "waits for a lock or another thread";
	if (t->state == 'T' || t->state == 't')
		return "is stopped, by a signal or a debugger";
	const char *place = assay_place_text(a, p->run, assay_own_call(tables, t->stack));
	const char *in = seen ? "" : t->in;
	return assay_printf(a, "%s%s%s%s%s", what, in[0] ? " in " : "", in, place[0] ? " at " : "",
			    place);
}

/* Of a process in which nobody has called the GPU's API for a while, nor is in a call: what those
 * do who did. */
static void judge_rest(assay_arena *a, const assay_hang_process *p, sentences *out)
{
	int64_t last = INT64_MIN;
	for (size_t i = 0; i < p->thread.n; i++) {
		if (p->thread.p[i].open_call != ASSAY_NO_ROW)
			return;
		last = p->thread.p[i].called > last ? p->thread.p[i].called : last;
	}
	for (size_t i = 0; last != INT64_MIN && p->now - last >= QUIET_NS && i < p->thread.n; i++) {
		const assay_hang_thread *t = &p->thread.p[i];
		if (t->called != INT64_MIN)
			say(out, p,
			    assay_printf(a, "%s has made no call for ", thread_name(a, p, t)),
			    age_of(p, t->called),
			    assay_printf(a, ": it %s", doing_sentence(a, p, t)));
	}
}

/* Up to where the collectives of two processes are the same. */
static size_t common(const assay_hang_process *x, const assay_hang_process *y)
{
	size_t n = x->hang.collective.n < y->hang.collective.n ? x->hang.collective.n
							       : y->hang.collective.n;
	for (size_t i = 0; i < n; i++)
		if (!assay_str_eq(assay_text(x->run, x->hang.collective.p[i].kernel),
				  assay_text(y->run, y->hang.collective.p[i].kernel)))
			return i;
	return n;
}

static void judge_rank(assay_arena *a, const assay_hang_process *p, const assay_hang_process *most,
		       sentences *out)
{
	size_t n = p->hang.collective.n, same = common(p, most);
	if (same < n) {
		*assay_push(out) = (sentence){
			.p = p,
			.one = " launches other collectives than ",
			.many = " launch other collectives than ",
			.before = assay_printf(a, "%s, from number %zu on", who(a, most), same + 1),
			.age = -1,
			.after = ""};
	} else if (n < most->hang.collective.n) {
		const assay_hang_item *next = &most->hang.collective.p[n];
		const char *name =
			assay_fmt_kernel(a, assay_text(most->run, next->kernel), NAME_COLUMNS);
		*assay_push(out) = (sentence){
			.p = p,
			.one = " has not entered ",
			.many = " have not entered ",
			.before = assay_printf(a, "collective %zu (%s), which %s entered ", n + 1,
					       name, who(a, most)),
			.age = age_of(most, next->ts),
			.after = " ago"};
	}
}

/* The one that launched most collectives; NULL: none has any. */
static const assay_hang_process *foremost(const assay_hang_processes *all)
{
	const assay_hang_process *most = NULL;
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].hang.collective.n > (most ? most->hang.collective.n : 0))
			most = &all->p[i];
	return most;
}

/* Who is gone while others live. */
static void judge_gone(const assay_hang_processes *all, sentences *out)
{
	int64_t now = 0;
	for (size_t i = 0; i < all->n; i++)
		now = all->p[i].alive && all->p[i].now > now ? all->p[i].now : now;
	for (size_t i = 0; now && i < all->n; i++)
		if (!all->p[i].alive)
			*assay_push(out) = (sentence){
				.p = &all->p[i],
				.one = " is gone, ",
				.many = " are gone, ",
				.before = "last seen ",
				.age = age_of(&(assay_hang_process){.now = now}, all->p[i].now),
				.after = " ago"};
}

/* Who launched fewer collectives than the foremost, as long as they agree in those, and what each
 * does; those who only wait for them come last. */
static void judge(assay_arena *a, const assay_hang_processes *all, sentences *out)
{
	const assay_hang_process *most = foremost(all);
	for (size_t i = 0; most && i < all->n; i++)
		if (all->p[i].run && &all->p[i] != most)
			judge_rank(a, &all->p[i], most, out);
	judge_gone(all, out);
	for (int late = 1; late >= 0; late--)
		for (size_t i = 0; i < all->n; i++) {
			const assay_hang_process *p = &all->p[i];
			bool is_late = most && p->hang.collective.n < most->hang.collective.n;
			if (is_late != late)
				continue;
			judge_streams(a, p, out);
			judge_threads(a, p, out);
			judge_rest(a, p, out);
		}
}

static bool may_share(const sentence *x, const sentence *y)
{
	return x->p->rank >= 0 && y->p->rank >= 0 && (x->age < 0) == (y->age < 0) &&
	       !strcmp(x->one, y->one) && !strcmp(x->before, y->before) &&
	       !strcmp(x->after, y->after);
}

/* "0-49, 51"; each number of the rising list once. */
static const char *rank_list(assay_arena *a, const int *rank, size_t n)
{
	const char *text = "";
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && rank[end] <= rank[end - 1] + 1;)
			end++;
		text = assay_printf(a, "%s%s%d", text, i ? ", " : "", rank[i]);
		if (rank[end - 1] > rank[i])
			text = assay_printf(a, "%s-%d", text, rank[end - 1]);
	}
	return text;
}

/* The sentence and all behind it that say the same, which are taken from the list. */
static const char *tell(assay_arena *a, sentences *said, size_t at)
{
	sentence first = said->p[at];
	int *rank = assay_alloc(a, said->n * sizeof *rank);
	int64_t least = first.age, most = first.age;
	size_t n = 0, kept = at + 1;
	rank[n++] = first.p->rank;
	for (size_t i = at + 1; i < said->n; i++) {
		const sentence *s = &said->p[i];
		if (!may_share(&first, s)) {
			said->p[kept++] = *s;
			continue;
		}
		rank[n++] = s->p->rank;
		least = s->age < least ? s->age : least;
		most = s->age > most ? s->age : most;
	}
	said->n = kept;
	char from[ASSAY_FMT] = "", to[ASSAY_FMT] = "";
	if (first.age >= 0) {
		assay_fmt_time(from, least);
		assay_fmt_time(to, most);
	}
	bool many = rank[n - 1] != rank[0], apart = strcmp(from, to) != 0;
	return assay_printf(a, "%s%s%s%s%s%s%s",
			    many ? assay_printf(a, "ranks %s", rank_list(a, rank, n))
				 : who(a, first.p),
			    many ? first.many : first.one, first.before, from, apart ? " to " : "",
			    apart ? to : "", first.after);
}

/* ---- text ---- */

static void print_stack(FILE *out, assay_arena *a, const assay_run *run, uint32_t stack)
{
	for (int i = 0; i < FRAMES && stack != ASSAY_NO_ROW;
	     i++, stack = run->part.t.stack.caller[stack])
		fprintf(out, "            %s\n", assay_place_text(a, run, stack));
}

static void print_thread(FILE *out, assay_arena *a, const assay_hang_process *p,
			 const assay_hang_thread *t)
{
	fprintf(out, "    thread %" PRId64 " %s", t->tid, t->name);
	if (t->state)
		fprintf(out, ", %c", t->state);
	if (t->in[0])
		fprintf(out, ", in %s", t->in);
	if (t->holder)
		fprintf(out, ", waits for a lock of thread %" PRId64, t->holder);
	if (t->open_call != ASSAY_NO_ROW)
		fprintf(out, ": %s since %s", call_name(a, p, t), call_since(a, p, t));
	fprintf(out, "\n");
	if (p->run)
		print_stack(out, a, p->run, t->stack);
}

static void print_streams(FILE *out, assay_arena *a, const assay_hang_process *p)
{
	size_t shown = 0;
	for (size_t i = 0; i < p->hang.stream.n; i++) {
		const assay_hang_stream *s = &p->hang.stream.p[i];
		if (s->head != UINT32_MAX && shown++ < STREAMS)
			fprintf(out, "    %s: %zu queued, at %s\n", stream_name(a, s), s->queued,
				item_name(a, p, &p->hang.item.p[s->head]));
	}
	if (shown > STREAMS)
		fprintf(out, "    and %zu streams more (--json has them)\n", shown - STREAMS);
}

static void print_process(FILE *out, assay_arena *a, const assay_hang_process *p)
{
	fprintf(out, "\n%s (pid %" PRId64 ", %s%s)\n", who(a, p), p->pid,
		p->alive ? "alive" : "gone", p->run ? "" : ", not recorded");
	for (size_t i = 0; i < p->thread.n && i < THREADS; i++)
		print_thread(out, a, p, &p->thread.p[i]);
	if (p->thread.n > THREADS)
		fprintf(out, "    and %zu threads more (--json has them)\n", p->thread.n - THREADS);
	print_streams(out, a, p);
}

static const char *nothing(const assay_hang_processes *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].run)
			return "nothing stands still: calls are made, none is open, and no stream waits";
	return "not recorded: nothing is known but what the threads are in";
}

void assay_hang_text(FILE *out, const assay_hang_processes *all)
{
	assay_arena a = {0};
	sentences said = {0};
	judge(&a, all, &said);
	for (size_t i = 0; i < said.n; i++)
		fprintf(out, "%zu. %s\n", i + 1, tell(&a, &said, i));
	if (!said.n)
		fprintf(out, "%s\n", nothing(all));
	for (size_t i = 0; i < all->n; i++)
		print_process(out, &a, &all->p[i]);
	assay_vec_free(&said);
	assay_arena_free(&a);
}

/* ---- JSON ---- */

static void json_item(assay_jsonw *w, const char *key, const assay_hang_process *p, uint32_t item)
{
	if (item == UINT32_MAX) {
		assay_jsonw_null(w, key);
		return;
	}
	const assay_hang_item *i = &p->hang.item.p[item];
	bool event = i->kind != ASSAY_HANG_LAUNCH && i->kind != ASSAY_HANG_HOST_FUNC;
	int64_t tid = i->track == ASSAY_NO_ROW ? -1 : p->run->part.t.track.tid[i->track];
	assay_jsonw_open_flat(w, key, '{');
	assay_jsonw_z(w, "kind", item_kind[i->kind]);
	assay_jsonw_str(w, "call", assay_text(p->run, i->call));
	assay_jsonw_z(w, "kernel", assay_z_if(p->run, i->kernel));
	assay_jsonw_hex(w, "stream", i->stream);
	assay_jsonw_hex(w, "event", event ? i->event : UINT64_MAX);
	assay_jsonw_u64(w, "corr", i->corr);
	assay_jsonw_i64_if(w, "thread", tid >= 0, tid);
	assay_jsonw_i64(w, "since_ns", p->now - i->ts);
	assay_jsonw_close(w, '}');
}

static void json_streams(assay_jsonw *w, const assay_hang_process *p)
{
	assay_jsonw_open(w, "streams", '[');
	for (size_t i = 0; i < p->hang.stream.n; i++) {
		const assay_hang_stream *s = &p->hang.stream.p[i];
		if (s->head == UINT32_MAX)
			continue;
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_hex(w, "handle", s->handle);
		assay_jsonw_i64_if(w, "id", s->id >= 0, s->id);
		assay_jsonw_u64(w, "queued", s->queued);
		json_item(w, "at", p, s->head);
		json_item(w, "waits_for", p, s->waits_for);
		assay_jsonw_bool(w, "in_cycle", s->in_cycle);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void json_call(assay_jsonw *w, const assay_hang_process *p, uint32_t row)
{
	if (row == ASSAY_NO_ROW) {
		assay_jsonw_null(w, "call");
		return;
	}
	const assay_open_call_table *o = &p->run->part.t.open_call;
	assay_jsonw_open_flat(w, "call", '{');
	assay_jsonw_str(w, "name", assay_text(p->run, o->name[row]));
	assay_jsonw_i64(w, "since_ns", p->now - o->ts[row]);
	assay_jsonw_hex(w, "stream", o->stream[row]);
	assay_jsonw_hex(w, "event", o->event[row]);
	assay_jsonw_close(w, '}');
}

static void json_thread(assay_jsonw *w, const assay_hang_process *p, const assay_hang_thread *t)
{
	char state[2] = {t->state, 0};
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_i64(w, "tid", t->tid);
	assay_jsonw_z(w, "name", t->name);
	assay_jsonw_z(w, "state", t->state ? state : NULL);
	assay_jsonw_z(w, "in", t->in[0] ? t->in : NULL);
	assay_jsonw_i64_if(w, "lock_holder", t->holder, t->holder);
	json_call(w, p, t->open_call);
	if (p->run)
		assay_stack_json(w, "stack", p->run, t->stack);
	else
		assay_jsonw_null(w, "stack");
	assay_jsonw_close(w, '}');
}

static void json_process(assay_jsonw *w, const assay_hang_process *p)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_i64(w, "pid", p->pid);
	assay_jsonw_i64_if(w, "rank", p->rank >= 0, p->rank);
	assay_jsonw_bool(w, "alive", p->alive);
	assay_jsonw_bool(w, "recorded", p->run != NULL);
	assay_jsonw_z(w, "path", p->path);
	assay_jsonw_u64(w, "collectives", p->hang.collective.n);
	assay_jsonw_open(w, "threads", '[');
	for (size_t i = 0; i < p->thread.n; i++)
		json_thread(w, p, &p->thread.p[i]);
	assay_jsonw_close(w, ']');
	json_streams(w, p);
	assay_jsonw_close(w, '}');
}

void assay_hang_json(assay_jsonw *w, const assay_hang_processes *all)
{
	assay_arena a = {0};
	sentences said = {0};
	judge(&a, all, &said);
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_open(w, "verdicts", '[');
	for (size_t i = 0; i < said.n; i++)
		assay_jsonw_z(w, NULL, tell(&a, &said, i));
	assay_jsonw_close(w, ']');
	assay_jsonw_open(w, "processes", '[');
	for (size_t i = 0; i < all->n; i++)
		json_process(w, &all->p[i]);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
	assay_vec_free(&said);
	assay_arena_free(&a);
}

/* The hot loop of the Chrome/Kineto reader: text to chrome_event. Compiled once per instruction
 * set. */
#include "base/cpu.h"
#include "read/chrome.h"

/* The string at j->p; escaped tells whether it holds a backslash. */
static inline bool take_text(assay_json *j, assay_str *s, bool *escaped)
{
	if (*j->p != '"')
		return assay_json_skip(
			j, s); /* a number or word where text should be: keep as written */
	return json_text(j, s, escaped);
}

enum { NO_MEMBER = -1 };

static __attribute__((noinline)) int other_member(assay_json *j, const chrome_words *words,
						  uint8_t *expect, int unknown)
{
	assay_str key;
	if (!assay_json_member(j, &key))
		return NO_MEMBER;
	int id = chrome_word_find(words, key.p, key.n);
	if (id < 0)
		return unknown;
	*expect = (uint8_t)id;
	return id;
}

/* assay_json_member() for the layout writers use: at most one comma, the expected key, ':' and at
 * most one space. Anything else is left to the general one. Returns the key's id, or unknown, or
 * NO_MEMBER at the end and after a failure; sets what to expect next time. */
static inline int expected_member(assay_json *j, const chrome_words *words, uint8_t *expect,
				  int unknown)
{
	const char *p = simd_skip_space(j->p, j->end);
	const chrome_word *w = &words->by_id[*expect];
	if (*p == '}' && p < j->end) {
		j->p = p + 1;
		j->fresh = false;
		return NO_MEMBER;
	}
	if (j->fresh || *p == ',') {
		p = simd_skip_space(p + !j->fresh, j->end);
		const char *value = p + 1 + w->n;
		if (*p == '"' && chrome_word_is(w, p + 1) && value[0] == '"' && value[1] == ':') {
			value += 2 + (value[2] == ' ');
			if ((unsigned char)*value > ' ' && value < j->end) {
				j->p = value;
				j->fresh = false;
				return *expect;
			}
		}
	}
	return other_member(j, words, expect, unknown);
}

/* The same, and what stood before the member is remembered if all was well with it. */
static __attribute__((noinline)) int learn_member(assay_json *j, const chrome_words *words,
						  chrome_gap *gap, int unknown)
{
	const char *from = j->p;
	uint32_t odd = j->odd;
	j->odd = 0;
	int id = expected_member(j, words, &gap->expect, unknown);
	size_t n = (size_t)(j->p - from);
	bool known = id != unknown && assay_json_ok(j) && !j->odd && n <= CHROME_GAP;
	j->odd |= odd;
	gap->n = known ? (uint32_t)n : 0;
	gap->id = id;
	gap->least = id == NO_MEMBER ? 0 : ' ' + 1;
	memcpy(gap->text, from, CHROME_GAP);
	return id;
}

/* Returns as expected_member(). Nearly all of the text between values is that of the event before:
 * one comparison tells where the value begins and whose it is. A slot is either always behind an
 * opening bracket or never, so that its commas mean the same. */
static inline __attribute__((always_inline)) int
next_member(assay_json *j, const chrome_words *words, chrome_gap *gap, int unknown)
{
	const char *value = j->p + gap->n;
	if (gap->n && simd_same32(j->p, gap->text, gap->n) && (unsigned char)*value >= gap->least &&
	    value < j->end) {
		j->p = value;
		j->fresh = false;
		return gap->id;
	}
	return learn_member(j, words, gap, unknown);
}

static inline bool take_phase(assay_json *j, char *ph)
{
	assay_str s;
	if (j->p[0] == '"' && j->p[1] >= 'A' && j->p[2] == '"' && j->p[1] != '\\') {
		*ph = j->p[1];
		j->p += 3;
		return true;
	}
	if (!assay_json_skip(j, &s))
		return false;
	*ph = s.n == 3 && s.p[0] == '"' ? s.p[1] : 0;
	return true;
}

/* "25738" of the first Kineto is the thread that others of its rows call 25738. */
static chrome_ident ident_of_text(assay_str text)
{
	int64_t num;
	bool number = text.n && text.p[0] >= '0' && text.p[0] <= '9' && assay_str_i64(text, &num);
	return number ? (chrome_ident){.num = num} : (chrome_ident){-1, text};
}

static inline bool take_ident(assay_json *j, chrome_worker *w, int which, chrome_ident *id)
{
	uint64_t v, word;
	memcpy(&word, j->p, 8);
	if (word == w->last_ident[which].word && w->last_ident[which].n) {
		j->p += w->last_ident[which].n;
		id->num = w->last_ident[which].num;
		return true;
	}
	unsigned n = simd_digits8(j->p, &v);
	if (n && n < 8 && json_ends_scalar(j->p[n])) {
		w->last_ident[which].word = word;
		w->last_ident[which].num = (int64_t)v;
		w->last_ident[which].n = n;
		j->p += n;
		id->num = (int64_t)v;
		return true;
	}
	assay_str raw;
	if (!assay_json_skip(j, &raw))
		return false;
	if (raw.p[0] == '"')
		*id = ident_of_text((assay_str){raw.p + 1, raw.n - 2});
	else if (!assay_str_i64(raw, &id->num) || id->num < 0)
		*id = (chrome_ident){-1, raw};
	return true;
}

/* Numbers, and texts that hold one; other ids (of memory dumps) are of no call. */
static bool take_stack(assay_json *j, uint32_t *stack)
{
	uint64_t v;
	if (assay_json_u64(j, &v) && v <= ASSAY_FILE_STACK_MAX)
		*stack = (uint32_t)v;
	return assay_json_ok(j);
}

static inline bool starts_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-';
}

/* [x, y, z], shorter or longer ones too. */
static bool take_vec(assay_json *j, uint32_t v[3])
{
	if (!assay_json_enter(j, '['))
		return false;
	for (int i = 0; assay_json_element(j); i++) {
		uint64_t u = 0;
		if (!assay_json_u64(j, &u) && !assay_json_ok(j))
			return false;
		if (i < 3)
			v[i] = u > UINT32_MAX ? UINT32_MAX : (uint32_t)u;
	}
	return assay_json_ok(j);
}

/* A plain integer argument; false with the cursor unmoved when it is anything else. */
static __attribute__((noinline)) bool take_int(assay_json *j, int64_t *out)
{
	if (!starts_number(*j->p))
		return false;
	assay_json was = *j;
	uint64_t u;
	if (*j->p == '-' ? assay_json_i64(j, out) : assay_json_u64(j, &u)) {
		if (*was.p != '-')
			*out = (int64_t)u;
		return true;
	}
	uint32_t odd = j->odd;
	*j = was;
	j->odd = odd;
	return false;
}

static inline __attribute__((always_inline)) bool take_number(assay_json *j, chrome_event *ev,
							      int id)
{
	uint64_t v;
	unsigned n = simd_digits8(j->p, &v);
	if (n && n < 8 && json_ends_scalar(j->p[n])) {
		j->p += n;
		ev->arg[id] = (int64_t)v;
	} else if (!take_int(j, &ev->arg[id])) {
		if (memcmp(j->p, "null", 4))
			return false;
		j->p += 4;
		return true;
	}
	ev->has |= 1ull << id;
	return true;
}

/* The value of a known argument at j->p. true: it is in ev and needs no text. */
static inline bool take_arg(assay_json *j, chrome_event *ev, int id)
{
	bool taken;
	switch (chrome_arg_how[id]) {
	case CHROME_INT:
		return take_number(j, ev, id);
	case CHROME_ID:
		taken = take_number(j, ev, id);
		ev->zero |= (ev->has >> id & !ev->arg[id]) << id;
		return taken;
	case CHROME_VEC:
		if (*j->p != '[' || !take_vec(j, id == CHROME_GRID ? ev->grid : ev->block))
			return false;
		ev->has |= 1ull << id;
		return true;
	case CHROME_ZERO:
		if (j->p[0] != '0' || json_scalar_char(j->p[1]))
			return false;
		j->p++;
		ev->arg[id] = 0;
		ev->has |= 1ull << id;
		return true;
	case CHROME_DERIVED:
		/* of a length that is rounded to microseconds it cannot be told */
		if (id == CHROME_BANDWIDTH && ev->dur > 0 && ev->dur % 1000 == 0)
			return false;
		return assay_json_skip(j, NULL);
	case CHROME_TEXT:
		return false;
	}
	return false;
}

/* Runs of members without a place, joined. Neighbours stay one slice of the input; only when a
 * known member stood between two runs are they copied together. */
struct leftovers {
	const char *from, *to;
	bool open;
};

static void keep_slice(chrome_worker *w, const char *from, const char *to)
{
	size_t n = (size_t)(to - from);
	if (w->extra.n) {
		*assay_push(&w->extra) = ',';
		*assay_push(&w->extra) = ' ';
	}
	assay_vec_reserve(&w->extra, w->extra.n + n);
	memcpy(w->extra.p + w->extra.n, from, n);
	w->extra.n += n;
}

static inline void leave(chrome_worker *w, struct leftovers *l, const char *from, const char *to)
{
	if (!l->open) {
		if (l->from)
			keep_slice(w, l->from, l->to);
		l->from = from;
		l->open = true;
	}
	l->to = to;
}

/* The next key's quote, behind commas and white space. */
static const char *key_behind(const char *p, const char *end)
{
	do
		p = simd_skip_space(p, end);
	while (*p == ',' && p++ < end);
	return p;
}

static inline bool is_run(const chrome_run *r, const char *p, const char *end)
{
	return r->n && r->n < (size_t)(end - p) && !memcmp(p, r->text, r->n) &&
	       json_ends_scalar(p[r->n]);
}

/* The run that begins with the key at p: the one that came after the last one before, or the last
 * one of an event of this name. NULL: neither. */
static inline const chrome_run *known_run(chrome_worker *w, const chrome_event *ev, const char *p,
					  const char *end)
{
	uint32_t slot = w->run[w->last_run].next;
	if (!is_run(&w->run[slot], p, end)) {
		slot = *chrome_run_of(w, ev->name);
		if (!is_run(&w->run[slot], p, end))
			return NULL;
	}
	chrome_run_met(w, ev->name, slot);
	return &w->run[slot];
}

static inline bool take_args(const chrome *c, chrome_worker *w, assay_json *j, chrome_event *ev)
{
	const char *start = j->p;
	struct leftovers l = {0};
	w->extra.n = 0;
	if (!assay_json_enter(j, '{'))
		return false;
	chrome_gap *after = w->next_arg[ev->cat_id < 0 ? CHROME_CATS : ev->cat_id];
	const char *before = j->p;
	const chrome_run *run = NULL;
	bool always = true; /* what is left has no place whatever the event is */
	for (int id = CHROME_ARG_COUNT + 1;
	     (id = next_member(j, &c->args, &after[id], CHROME_ARG_COUNT)) != NO_MEMBER;
	     before = j->p) {
		if (id != CHROME_ARG_COUNT && take_arg(j, ev, id)) {
			l.open = false;
			continue;
		}
		const char *key = key_behind(before, j->end);
		if (!l.from && (run = known_run(w, ev, key, j->end))) {
			j->p = key + run->n;
			id = run->last;
		} else if (!assay_json_skip(j, NULL)) {
			return false;
		}
		always &= id == CHROME_ARG_COUNT || chrome_arg_how[id] == CHROME_TEXT;
		ev->run_last = id;
		leave(w, &l, key, j->p);
	}
	if (!assay_json_ok(j))
		return false;
	ev->args = (assay_str){start, (size_t)(j->p - start)};
	if (w->extra.n) {
		keep_slice(w, l.from, l.to);
		ev->extra = (assay_str){w->extra.p, w->extra.n};
	} else if (l.from) {
		ev->extra = (assay_str){l.from, (size_t)(l.to - l.from)};
		ev->run = run && run->n == ev->extra.n ? run : NULL;
		ev->run_new = !ev->run && always && !j->odd && ev->extra.n <= CHROME_RUN_MAX;
	}
	return true;
}

static inline bool take_category(const chrome *c, chrome_worker *w, assay_json *j, chrome_event *ev)
{
	const chrome_word *last = &c->cats.by_id[w->last_cat];
	if (*j->p == '"' && chrome_word_is(last, j->p + 1) && j->p[1 + last->n] == '"') {
		ev->cat = (assay_str){j->p + 1, last->n};
		ev->cat_id = last->id;
		j->p += last->n + 2;
		return true;
	}
	if (!take_text(j, &ev->cat, &ev->cat_escaped))
		return false;
	ev->cat_id = chrome_word_find(&c->cats, ev->cat.p, ev->cat.n);
	if (ev->cat_id >= 0)
		w->last_cat = (uint8_t)ev->cat_id;
	return true;
}

static inline bool all_digits(uint64_t w)
{
	return !(((w + 0x7676767676767676u) | w) & 0x8080808080808080u);
}

/* Microseconds with three decimals and as many digits before the point as the last one had: the
 * length is known without looking, so the next member can be read ahead. */
static inline bool take_ts(assay_json *j, chrome_worker *w, int64_t *out)
{
	const char *p = j->p;
	unsigned n = w->ts_digits;
	uint64_t head, tail, frac;
	memcpy(&head, p, 8);
	memcpy(&tail, p + n - 8, 8);
	memcpy(&frac, p + n - 4, 8); /* the last four digits, the point, three decimals */
	if (p[n] == '.' && json_ends_scalar(p[n + 4]) && all_digits(head ^ 0x3030303030303030u) &&
	    all_digits(tail ^ 0x3030303030303030u) &&
	    all_digits((frac ^ 0x3030303030303030u) & 0xffffff00ffffffffu)) {
		uint64_t high = 0, low = 0, milli = 0;
		simd_digits8(p + n - 8, &low);
		simd_digits8(p + n + 1, &milli);
		if (n > 8) {
			head = (head ^ 0x3030303030303030u) << (64 - 8 * (n - 8));
			high = simd_parse8(head);
		}
		*out = (int64_t)((high * 100000000 + low) * 1000 + milli);
		j->p = p + n + 4;
		return true;
	}
	bool ok = assay_json_scaled(j, 3, out);
	const char *dot = memchr(p, '.', (size_t)(j->p - p));
	if (ok && dot && dot - p >= 8 && dot - p < 16 && *p != '-')
		w->ts_digits = (unsigned)(dot - p);
	return ok;
}

static inline bool take_member(const chrome *c, chrome_worker *w, assay_json *j, chrome_event *ev,
			       int key)
{
	bool escaped = false;
	assay_str s = {0};
	switch (key) {
	case CHROME_KEY_PH:
		return take_phase(j, &ev->ph);
	case CHROME_KEY_CAT:
		return take_category(c, w, j, ev);
	case CHROME_KEY_NAME:
		return take_text(j, &ev->name, &ev->name_escaped);
	case CHROME_KEY_PID:
		return take_ident(j, w, 0, &ev->pid);
	case CHROME_KEY_TID:
		return take_ident(j, w, 1, &ev->tid);
	case CHROME_KEY_TS:
		ev->has_ts = take_ts(j, w, &ev->ts);
		return assay_json_ok(j);
	case CHROME_KEY_DUR:
		ev->has_dur = assay_json_scaled(j, 3, &ev->dur);
		return assay_json_ok(j);
	case CHROME_KEY_ARGS:
		return *j->p == '{' ? take_args(c, w, j, ev) : assay_json_skip(j, NULL);
	case CHROME_KEY_ID:
	case CHROME_KEY_ID2:
		if (!assay_json_skip(j, &ev->id))
			return false;
		if (ev->id.n >= 2 && ev->id.p[0] == '"')
			ev->id = (assay_str){ev->id.p + 1, ev->id.n - 2};
		return true;
	case CHROME_KEY_SF:
		return take_stack(j, &ev->stack);
	case CHROME_KEY_BP:
		if (!take_text(j, &s, &escaped))
			return false;
		ev->binds = s.n && s.p[0] == 'e';
		return true;
	default:
		return assay_json_skip(j, NULL);
	}
}

bool ASSAY_ISA_NAME(chrome_parse)(const chrome *c, chrome_worker *w, assay_json *j,
				  chrome_event *ev)
{
	/* everything but arg[], which `has` guards */
	memset(ev, 0, offsetof(chrome_event, arg));
	memset(ev->grid, 0, sizeof ev->grid + sizeof ev->block);
	ev->pid.num = ev->tid.num = ev->cat_id = -1;
	if (!assay_json_enter(j, '{'))
		return false;
	for (int id = CHROME_KEY_COUNT + 1;
	     (id = next_member(j, &c->keys, &w->next_key[ev->ph & 7][id], CHROME_KEY_COUNT)) !=
	     NO_MEMBER;)
		if (!take_member(c, w, j, ev, id))
			return false;
	return assay_json_ok(j);
}

/* Behind a record that cannot be read: to the next place that looks like one. false: none in
 * sight. */
static bool resync(chrome *c, chrome_worker *w, assay_json *j, const char *start)
{
	size_t left = (size_t)(j->end - start - 1);
	size_t at = chrome_align(c, start + 1, left);
	if (at >= left)
		return false;
	assay_count(&w->part, ASSAY_ISSUE_bad_record, 1);
	j->p = start + 1 + at;
	j->bad = j->cut = false;
	return true;
}

/* To the next record, over commas and white space. */
static inline char next_record(assay_json *j)
{
	char ch = assay_json_peek(j);
	while (ch == ',') {
		j->p++;
		ch = assay_json_peek(j);
	}
	return ch;
}

assay_pump_status ASSAY_ISA_NAME(chrome_scan)(chrome *c, unsigned worker, assay_view text,
					      size_t limit, size_t *used)
{
	chrome_worker *w = &c->worker[worker];
	assay_json j = assay_json_on(text.p, text.n);
	chrome_event ev;
	for (;;) {
		char ch = next_record(&j);
		*used = (size_t)(j.p - text.p);
		if (j.p >= j.end)
			return ASSAY_PUMP_MORE;
		if (ch == ']') {
			++*used;
			w->closed = true;
			return ASSAY_PUMP_END;
		}
		if (*used >= limit)
			return ASSAY_PUMP_LIMIT;
		const char *start = j.p;
		j.odd = 0;
		if (ch == '{' && ASSAY_ISA_NAME(chrome_parse)(c, w, &j, &ev)) {
			chrome_add(w, &ev);
			w->odd |= j.odd;
			continue;
		}
		if (ch && ch != '{' && assay_json_skip(&j, NULL)) { /* a value that is no event */
			assay_count(&w->part, ASSAY_ISSUE_bad_record, 1);
			continue;
		}
		/* a record that never ends is the caller's to step over: how far to look for its
		 * end must not depend on how much text is in sight */
		if (j.cut || !resync(c, w, &j, start))
			return ASSAY_PUMP_MORE;
	}
}

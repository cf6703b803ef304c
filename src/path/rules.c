/* What-if expressions: PATTERN=0, PATTERN=0.5x, PATTERN=10us. */
#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/test.h"
#include "path/graph.h"

enum { NO_RULE = 255, NOT_ASKED = 254, RULES_MAX = 200, NAMES_MAX = 4000 };

static const struct {
	const char *unit;
	double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/* ------------------------------------------------------------------ reading */

static int class_of_word(assay_str word)
{
	static const char host[] = "host_"; /* may be left out */
	for (int c = 0; c < ASSAY_PATH_CLASSES; c++) {
		const char *name = assay_path_class_name(c);
		bool of_host = !strncmp(name, host, strlen(host));
		if (assay_str_same(word, assay_str_of(name)) ||
		    (of_host && assay_str_same(word, assay_str_of(name + strlen(host)))))
			return c;
	}
	return -1;
}

static bool parse_value(assay_str s, assay_path_what_if *r)
{
	if (s.n > 1 && (s.p[s.n - 1] == 'x' || s.p[s.n - 1] == 'X'))
		return assay_str_f64(assay_str_trim((assay_str){s.p, s.n - 1}), &r->value);
	for (size_t i = 0; i < ASSAY_COUNT_OF(units); i++) {
		size_t n = strlen(units[i].unit);
		if (s.n <= n || !assay_str_ends(s, units[i].unit))
			continue;
		r->is_time = true;
		if (!assay_str_f64(assay_str_trim((assay_str){s.p, s.n - n}), &r->value))
			continue;
		r->value *= units[i].ns;
		return true;
	}
	return assay_str_f64(s, &r->value) && r->value == 0;
}

static bool parse_rule(const char *text, assay_path_what_if *r, assay_err *err)
{
	const char *eq = strrchr(text, '=');
	*r = (assay_path_what_if){.class = -1};
	if (!eq || eq == text)
		return assay_fail(err, ASSAY_USAGE, 0,
				  "what-if '%s' is not PATTERN=VALUE, such as 'gemm*=0.5x'", text);
	r->pattern = assay_str_trim((assay_str){text, (size_t)(eq - text)});
	bool ok = parse_value(assay_str_trim(assay_str_of(eq + 1)), r);
	if (!ok || !isfinite(r->value) || r->value < 0 || r->value > 1e15 || !r->pattern.n)
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"what-if '%s': '%s' is not a value such as 0, 0.5x (a factor) or 10us (a time)",
			text, eq + 1);
	r->class = class_of_word(r->pattern);
	r->in_path = memchr(r->pattern.p, '/', r->pattern.n) != NULL;
	r->of_line = r->class < 0 && memchr(r->pattern.p, ':', r->pattern.n) != NULL;
	return true;
}

bool assay_path_what_ifs_parse(assay_path_what_ifs *rules, const char *const *text, size_t n,
			       assay_err *err)
{
	if (n > RULES_MAX)
		return assay_fail(err, ASSAY_USAGE, 0, "more than %d what-ifs", RULES_MAX);
	for (size_t i = 0; i < n; i++)
		if (!parse_rule(text[i], assay_push(rules), err))
			return false;
	return true;
}

/* ------------------------------------------------------------------ matching */

struct matcher {
	const assay_path_graph *g;
	const assay_path_what_ifs *rules;
	assay_path_changes *out;
	assay_path *path;
	assay_arena scratch;
	assay_vec(char) text; /* that is matched: names may be long, and their paths longer */
	bool by_name;   /* some rule goes by names: else of_name, of_scope and lent are not there */
	bool work_only; /* all rules are of classes of GPU work: threads and waits stay */
	uint8_t of_class[ASSAY_PATH_CLASSES]; /* first rule for a class, or NO_RULE */
	uint8_t *of_name;                     /* by string id: rule, NO_RULE or NOT_ASKED */
	uint8_t *of_scope;  /* by row of scope, with the ranges around it; same coding */
	uint8_t *of_kernel; /* by row of kernel: rule or NO_RULE; always there */
	uint8_t *of_stack; /* by row of stack: rule of its own line or function; NULL: no such rules
			    */
	/* by point: rule of the range in which another thread waits for this one, or NO_RULE; NULL
	 * when there are no ranges */
	uint8_t *lent;
};

static uint8_t min_rule(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static uint8_t *not_asked(struct matcher *m, size_t n)
{
	return memset(assay_alloc(&m->scratch, n + 1), NOT_ASKED, n);
}

static uint8_t rule_of_text(const struct matcher *m, assay_str text, bool path)
{
	for (size_t i = 0; i < m->rules->n; i++) {
		const assay_path_what_if *r = &m->rules->p[i];
		if (r->class < 0 && (r->in_path || !path) && assay_str_glob(r->pattern, text))
			return (uint8_t)i;
	}
	return NO_RULE;
}

static uint8_t name_rule(struct matcher *m, assay_sid name)
{
	uint8_t *known = &m->of_name[name];
	if (*known == NOT_ASKED)
		*known = rule_of_text(m, assay_text(m->g->run, name), false);
	return *known;
}

static bool has_line_rules(const struct matcher *m)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->rules->p[i].of_line)
			return true;
	return false;
}

static void put_text(struct matcher *m, assay_str text)
{
	assay_vec_reserve(&m->text, m->text.n + text.n);
	if (text.n)
		memcpy(m->text.p + m->text.n, text.p, text.n);
	m->text.n += text.n;
}

static bool is_at(struct matcher *m, assay_str pattern, assay_str file, assay_str where)
{
	m->text.n = 0;
	put_text(m, file);
	put_text(m, ASSAY_S(":"));
	put_text(m, where);
	return assay_str_glob(pattern, (assay_str){m->text.p, m->text.n});
}

/* "train.py:12" or "train.py:function", the file with or without its folders. */
static bool is_line(struct matcher *m, assay_str pattern, uint32_t stack)
{
	const assay_tables *t = &m->g->run->part.t;
	uint32_t code = t->stack.code[stack];
	assay_str file = assay_text(m->g->run, t->code.file[code]), name = assay_str_file(file);
	assay_str function = assay_text(m->g->run, t->code.function[code]);
	char number[16];
	snprintf(number, sizeof number, "%d", t->stack.line[stack]);
	assay_str line = assay_str_of(number);
	return is_at(m, pattern, file, line) || is_at(m, pattern, file, function) ||
	       is_at(m, pattern, name, line) || is_at(m, pattern, name, function);
}

/* The rule of the program's own line that a stack is at. */
static uint8_t line_rule(struct matcher *m, uint32_t stack)
{
	if (stack == ASSAY_NO_ROW || !m->of_stack)
		return NO_RULE;
	uint8_t *known = &m->of_stack[stack];
	uint32_t own = assay_own_call(&m->g->run->part.t, stack);
	if (*known != NOT_ASKED)
		return *known;
	*known = NO_RULE;
	for (size_t i = 0; i < m->rules->n && *known == NO_RULE; i++)
		if (m->rules->p[i].of_line && is_line(m, m->rules->p[i].pattern, own))
			*known = (uint8_t)i;
	return *known;
}

static bool has_path_rules(const struct matcher *m)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->rules->p[i].class < 0 && m->rules->p[i].in_path)
			return true;
	return false;
}

/* "outer/inner", the names of the last ranges at least. */
static assay_str path_of(struct matcher *m, uint32_t scope)
{
	enum { LEVELS = 65 };
	const assay_scope_table *s = &m->g->run->part.t.scope;
	uint32_t level[LEVELS];
	int n = 0;
	for (uint32_t at = scope; at != ASSAY_NO_ROW && n < LEVELS; at = s->up[at])
		level[n++] = at;
	m->text.n = 0;
	while (n-- > 0) {
		put_text(m, assay_text(m->g->run, s->name[level[n]]));
		put_text(m, assay_str_of(n ? "/" : ""));
	}
	return (assay_str){m->text.p, m->text.n};
}

/* The rule of a range by its own name or path. */
static uint8_t own_scope_rule(struct matcher *m, uint32_t scope, bool paths)
{
	uint8_t r = name_rule(m, m->g->run->part.t.scope.name[scope]);
	return paths ? min_rule(r, rule_of_text(m, path_of(m, scope), true)) : r;
}

static uint8_t scope_rule(const struct matcher *m, uint32_t scope)
{
	return scope == ASSAY_NO_ROW || !m->by_name ? NO_RULE : m->of_scope[scope];
}

static uint8_t lent_rule(const struct matcher *m, uint32_t point)
{
	return m->lent ? m->lent[point] : NO_RULE;
}

/* What a range gets from itself and the ranges around it. Given trees may name children first. */
static void match_scopes(struct matcher *m)
{
	const assay_scope_table *s = &m->g->run->part.t.scope;
	bool paths = has_path_rules(m);
	assay_vec(uint32_t) chain = {0};
	m->of_scope = not_asked(m, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t r = i; r != ASSAY_NO_ROW && m->of_scope[r] == NOT_ASKED;
		     r = s->up[r]) {
			*assay_push(&chain) = r;
			m->of_scope[r] = NO_RULE; /* a circle ends here */
		}
		while (chain.n) {
			uint32_t r = chain.p[--chain.n], up = s->up[r];
			m->of_scope[r] = min_rule(own_scope_rule(m, r, paths), scope_rule(m, up));
		}
	}
	assay_vec_free(&chain);
}

static uint8_t kernel_rule(struct matcher *m, uint32_t kernel)
{
	const assay_kernel_table *k = &m->g->run->part.t.kernel;
	if (!m->by_name)
		return m->of_class[k->class[kernel]];
	assay_str name = assay_text(m->g->run, k->name[kernel]);
	const char *short_name = assay_fmt_kernel(&m->scratch, name, 400);
	uint8_t best = name_rule(m, k->name[kernel]);
	best = min_rule(best, rule_of_text(m, assay_str_of(short_name), false));
	best = min_rule(best,
			rule_of_text(m, assay_str_of(assay_family_name[k->family[kernel]]), false));
	best = min_rule(best,
			rule_of_text(m, assay_str_of(assay_class_name[k->class[kernel]]), false));
	return min_rule(best, m->of_class[k->class[kernel]]);
}

/* ------------------------------------------------------------------ changing */

/* Rounded; neither is negative. Without branches, which nothing would predict. */
static inline int64_t scaled(int64_t part, double factor)
{
	double v = (double)part * factor;
	v = v < 1e18 ? v : 1e18;
	int64_t floor = (int64_t)v;
	return floor + (v - (double)floor >= 0.5);
}

static int64_t changed(const assay_path_what_if *r, int64_t part, int64_t whole)
{
	if (r->value == 0 || (r->is_time && whole <= 0))
		return 0;
	return scaled(part, r->is_time ? r->value / (double)whole : r->value);
}

static bool in_window(const struct matcher *m, int64_t from, int64_t to)
{
	return to > m->path->from && from < m->path->to;
}

static uint8_t launch_rule(const struct matcher *m, uint32_t node)
{
	const assay_path_graph *g = m->g;
	const uint32_t *first = &g->first[g->place[node]];
	if (!m->lent)
		return NO_RULE;
	for (uint32_t d = first[0]; d < first[1]; d++)
		if (g->dep[d].kind == ASSAY_DEP_LAUNCH)
			return lent_rule(m, g->dep[d].from);
	return NO_RULE;
}

static void change_work(struct matcher *m)
{
	const assay_path_graph *g = m->g;
	const assay_tables *t = &g->run->part.t;
	m->of_kernel = assay_alloc(&m->scratch, t->kernel.n + 1);
	for (uint32_t k = 0; k < t->kernel.n; k++)
		m->of_kernel[k] = kernel_rule(m, k);
	for (uint32_t i = 0; i < g->work; i++) {
		uint32_t gpu = g->gpu[i];
		uint8_t r = min_rule(m->of_kernel[g->kernel[i]], launch_rule(m, g->points + i));
		r = min_rule(r, scope_rule(m, assay_path_work_scope(t, gpu)));
		if (r == NO_RULE)
			continue;
		int64_t start = g->measured.at[g->points + i];
		*assay_push(&m->out->dur) = (assay_path_change){
			i, changed(&m->rules->p[r], g->base.dur[i], g->base.dur[i])};
		m->path->rules.p[r].work += in_window(m, start, start + g->base.dur[i]);
	}
}

/* How far a rule reaches on the thread at hand: the outermost row it matched. */
struct reach {
	int64_t until, whole;
	bool listed; /* among those of the walker that may still reach */
};

/* A thread on the way through its points. */
struct walker {
	const assay_lane *lane;
	size_t next;         /* the next row that a rule matches */
	int64_t begins;      /* when it does; INT64_MAX: there is none */
	int64_t until;       /* the farthest that a rule reaches */
	struct reach *reach; /* by rule */
	uint8_t reaching[RULES_MAX];
	size_t n_reaching;
	uint32_t last_row; /* counted last for a class */
};

static uint8_t row_rule(struct matcher *m, uint32_t row)
{
	const assay_tables *t = &m->g->run->part.t;
	uint8_t r = name_rule(m, t->host.name[row]);
	if (assay_is_thread_range(t->host.kind[row]) && row < t->host_scope.n)
		r = min_rule(r, scope_rule(m, t->host_scope.scope[row]));
	return r;
}

static void find_next(struct matcher *m, struct walker *w)
{
	while (w->next < w->lane->n && row_rule(m, w->lane->row[w->next]) == NO_RULE)
		w->next++;
	w->begins =
		w->next < w->lane->n ? m->g->run->part.t.host.ts[w->lane->row[w->next]] : INT64_MAX;
}

static void open_rows(struct matcher *m, struct walker *w, int64_t now)
{
	const assay_host_table *h = &m->g->run->part.t.host;
	while (w->begins <= now) {
		uint32_t row = w->lane->row[w->next];
		uint8_t r = row_rule(m, row);
		struct reach *reach = &w->reach[r];
		int64_t dur = h->dur[row] > 0 ? h->dur[row] : 0, end = h->ts[row] + dur;
		m->path->rules.p[r].spans += in_window(m, h->ts[row], end);
		if (!reach->listed)
			w->reaching[w->n_reaching++] = r;
		if (reach->until <= h->ts[row])
			*reach = (struct reach){end, dur, true};
		else if (end > reach->until)
			reach->until = end;
		w->until = reach->until > w->until ? reach->until : w->until;
		w->next++;
		find_next(m, w);
	}
}

static int64_t row_length(const struct matcher *m, uint32_t point)
{
	uint32_t row = m->g->row[point];
	int64_t own = m->g->measured.at[point + 1] - m->g->measured.at[point];
	return row == ASSAY_NO_ROW || m->g->sampled[point] ||
			       m->g->cause[point] == ASSAY_WHY_HOST_UNTRACED
		       ? own
		       : m->g->run->part.t.host.dur[row];
}

static bool is_quiet(const assay_path_graph *g, uint32_t point)
{
	return g->sampled[point] || g->cause[point] == ASSAY_WHY_HOST_PYTHON ||
	       g->cause[point] == ASSAY_WHY_HOST_UNTRACED;
}

/* A range in which a thread waits for another one reaches over to what that one does. */
static void lend_rules(struct matcher *m)
{
	const assay_path_graph *g = m->g;
	m->lent = assay_alloc(&m->scratch, g->points + 1);
	memset(m->lent, NO_RULE, g->points);
	for (uint32_t p = 0; p < g->points; p++) {
		uint32_t knot = g->place[p], n = knot == ASSAY_DEP_NONE ? 0 : g->first[knot + 1];
		for (uint32_t d = n ? g->first[knot] : 0; d < n; d++) {
			uint32_t from = g->dep[d].from;
			if (g->dep[d].kind != ASSAY_DEP_HAND || g->row[from] == ASSAY_NO_ROW)
				continue;
			uint32_t scope = g->row[from] < g->run->part.t.host_scope.n
						 ? g->run->part.t.host_scope.scope[g->row[from]]
						 : ASSAY_NO_ROW;
			uint8_t r = scope_rule(m, scope);
			bool quiet = r == NO_RULE;
			for (uint32_t k = p; !quiet && g->cause[k] != ASSAY_WHY_COUNT; k++) {
				m->lent[k] = r;
				quiet = g->elastic[k + 1] && is_quiet(g, k);
			}
		}
	}
}

/* The first of the rules that reach an instant. */
static uint8_t reaching_rule(struct walker *w, int64_t now)
{
	uint8_t first = NO_RULE;
	for (size_t i = 0; i < w->n_reaching;) {
		uint8_t r = w->reaching[i];
		if (w->reach[r].until > now) {
			first = min_rule(first, r);
			i++;
		} else {
			w->reach[r].listed = false;
			w->reaching[i] = w->reaching[--w->n_reaching];
		}
	}
	return first;
}

static void set_length(struct matcher *m, uint32_t point, uint8_t r, int64_t whole)
{
	const assay_path_graph *g = m->g;
	assay_path_change_segment(g, m->out, point,
				  changed(&m->rules->p[r], g->base.len[point], whole));
}

/* A row counts once, however many segments it has one behind the other. */
static void count_span(struct matcher *m, uint32_t point, uint8_t r, uint32_t *last_row)
{
	const assay_path_graph *g = m->g;
	if (!in_window(m, g->measured.at[point], g->measured.at[point + 1]))
		return;
	m->path->rules.p[r].spans += g->row[point] == ASSAY_NO_ROW || g->row[point] != *last_row;
	*last_row = g->row[point];
}

static void change_segment(struct matcher *m, uint32_t point, struct walker *w)
{
	const assay_path_graph *g = m->g;
	int64_t now = g->measured.at[point];
	uint8_t own = min_rule(m->of_class[ASSAY_PATH_WHY + g->cause[point]],
			       line_rule(m, g->stack[point]));
	uint8_t lent = lent_rule(m, point);
	uint8_t r = min_rule(min_rule(own, lent), reaching_rule(w, now));
	if (r == NO_RULE)
		return;
	int64_t whole = r == own || r == lent ? row_length(m, point) : w->reach[r].whole;
	set_length(m, point, r, whole);
	if (r == own)
		count_span(m, point, r, &w->last_row);
}

/* Most points are none of a rule: the first from p on at which a name begins to matter, or whose
 * class has a rule. */
static uint32_t next_changed(const struct matcher *m, int64_t begins, uint32_t p, uint32_t last)
{
	const int64_t *at = m->g->measured.at;
	const uint8_t *cause = m->g->cause, *of_cause = m->of_class + ASSAY_PATH_WHY;
	while (p < last && at[p] < begins && of_cause[cause[p]] == NO_RULE)
		p++;
	return p;
}

static void change_thread(struct matcher *m, const assay_path_thread *t, struct walker *w)
{
	uint32_t p = t->first, last = t->first + t->n - 1;
	bool anywhere = m->lent || m->of_stack;
	int64_t begins = anywhere ? INT64_MIN : w->begins;
	while ((p = next_changed(m, begins, p, last)) < last) {
		int64_t now = m->g->measured.at[p];
		open_rows(m, w, now);
		change_segment(m, p++, w);
		if (!anywhere)
			begins = w->until > now ? INT64_MIN : w->begins;
	}
}

static void change_threads(struct matcher *m)
{
	const assay_path_graph *g = m->g;
	struct reach *reach = assay_alloc(&m->scratch, (m->rules->n + 1) * sizeof *reach);
	for (size_t i = 0; i < g->thread.n; i++) {
		const assay_path_thread *t = &g->thread.p[i];
		struct walker w = {.lane = g->causes.of_track[t->track],
				   .begins = INT64_MAX,
				   .until = INT64_MIN,
				   .reach = reach,
				   .last_row = ASSAY_NO_ROW};
		for (size_t r = 0; r < m->rules->n; r++)
			reach[r] = (struct reach){INT64_MIN, 0, false};
		find_next(m, &w);
		change_thread(m, t, &w);
	}
}

/* The same where all rules are of classes: most points have one, so that little is asked of
 * each. */
static void change_threads_by_class(struct matcher *m)
{
	const assay_path_graph *g = m->g;
	const uint8_t *of_cause = m->of_class + ASSAY_PATH_WHY;
	uint32_t last_row = ASSAY_NO_ROW;
	uint64_t spans[RULES_MAX] = {0};
	for (uint32_t p = 0; p < g->points; p++) {
		if (g->cause[p] == ASSAY_WHY_COUNT) {
			last_row = ASSAY_NO_ROW;
			continue;
		}
		uint8_t r = of_cause[g->cause[p]];
		if (r == NO_RULE)
			continue;
		const assay_path_what_if *rule = &m->rules->p[r];
		assay_path_change_segment(g, m->out, p,
					  rule->is_time
						  ? changed(rule, g->base.len[p], row_length(m, p))
						  : scaled(g->base.len[p], rule->value));
		if (!in_window(m, g->measured.at[p], g->measured.at[p + 1]))
			continue;
		spans[r] += g->row[p] == ASSAY_NO_ROW || g->row[p] != last_row;
		last_row = g->row[p];
	}
	for (size_t r = 0; r < m->rules->n; r++)
		m->path->rules.p[r].spans += spans[r];
}

/* The class a delay has on the path; synchronisation also goes by the name of the call. */
static uint8_t dep_rule(struct matcher *m, const assay_path_dep *d)
{
	const assay_tables *t = &m->g->run->part.t;
	bool waits = d->kind == ASSAY_DEP_SYNC || d->kind == ASSAY_DEP_WAIT;
	uint8_t by_name = NO_RULE;
	if (m->by_name && waits && d->row != ASSAY_NO_ROW)
		by_name = min_rule(name_rule(m, t->host.name[d->row]),
				   line_rule(m, assay_call_stack(t, d->row)));
	return min_rule(by_name, m->of_class[d->class]);
}

static void change_deps(struct matcher *m)
{
	const assay_path_graph *g = m->g;
	for (uint32_t i = 0; i < g->deps; i++) {
		const assay_path_dep *d = &g->dep[i];
		uint8_t r = dep_rule(m, d);
		bool order = d->kind == ASSAY_DEP_BESIDE || d->kind == ASSAY_DEP_FORWARD;
		int64_t lag = g->base.lag[i], at = g->measured.at[d->to];
		if (r == NO_RULE || order || lag == ASSAY_DEP_DROPPED)
			continue;
		const assay_path_what_if *rule = &m->rules->p[r];
		/* a call that takes no time does not wait, nor does it let a stream wait */
		bool sync =
			d->kind == ASSAY_DEP_SYNC || (d->kind == ASSAY_DEP_WAIT && rule->class < 0);
		bool drop = sync && rule->value == 0;
		*assay_push(&m->out->lag) =
			(assay_path_change){i, drop ? ASSAY_DEP_DROPPED : changed(rule, lag, lag)};
		m->path->rules.p[r].waits += in_window(m, at - 1, at + 1);
	}
}

/* ------------------------------------------------------------------ nothing matched */

/* Letters in a row that both have. */
static size_t common_letters(assay_str a, assay_str b)
{
	size_t best = 0;
	for (size_t i = 0; i < a.n; i++)
		for (size_t k = 0; k < b.n; k++) {
			size_t n = 0;
			while (i + n < a.n && k + n < b.n && a.p[i + n] != '*' &&
			       assay_fold(a.p[i + n]) == assay_fold(b.p[k + n]))
				n++;
			best = n > best ? n : best;
		}
	return best;
}

struct near {
	const char *name[3];
	size_t letters[3];
};

static void offer(struct near *near, assay_str pattern, const char *name)
{
	size_t n = common_letters(pattern, assay_str_of(name));
	for (int i = 0; i < 3; i++)
		if (near->name[i] && !strcmp(near->name[i], name))
			return;
	for (int i = 0; i < 3; i++) {
		if (n < 3 || n <= near->letters[i])
			continue;
		for (int k = 2; k > i; k--) {
			near->name[k] = near->name[k - 1];
			near->letters[k] = near->letters[k - 1];
		}
		near->name[i] = name;
		near->letters[i] = n;
		return;
	}
}

static bool fail_unmatched(struct matcher *m, const assay_path_what_if *rule, const char *text,
			   assay_err *err)
{
	const assay_tables *t = &m->g->run->part.t;
	struct near near = {.letters = {0}};
	assay_map seen = {0};
	if (!err) /* nobody will read it */
		return false;
	for (int f = 0; f < ASSAY_FAMILY_COUNT; f++)
		offer(&near, rule->pattern, assay_family_name[f]);
	for (uint32_t k = 0; k < t->kernel.n && k < NAMES_MAX; k++)
		offer(&near, rule->pattern,
		      assay_fmt_kernel(&m->scratch, assay_text(m->g->run, t->kernel.name[k]), 60));
	for (uint32_t h = 0; h < t->host.n && seen.n < NAMES_MAX; h++) {
		uint32_t *slot = assay_map_at(&seen, t->host.name[h]);
		if (*slot == ASSAY_MAP_ABSENT && assay_text(m->g->run, t->host.name[h]).n < 100)
			offer(&near, rule->pattern, assay_z(m->g->run, t->host.name[h]));
		*slot = h;
	}
	assay_map_free(&seen);
	const char *names = near.name[0] ? near.name[0] : NULL;
	for (int i = 1; i < 3 && near.name[i]; i++)
		names = assay_printf(&m->scratch, "%s, %s", names, near.name[i]);
	return assay_fail(err, ASSAY_USAGE, 0, "what-if '%s' matches nothing in the step%s%s", text,
			  names ? "; similar: " : "", names ? names : "");
}

bool assay_path_what_ifs_apply(const assay_path_graph *g, const assay_path_what_ifs *rules,
			       assay_path_changes *changes, assay_path *out, assay_err *err)
{
	struct matcher m = {.g = g, .rules = rules, .out = changes, .path = out};
	bool ok = true;
	memset(m.of_class, NO_RULE, sizeof m.of_class);
	m.work_only = true;
	for (size_t i = rules->n; i-- > 0;) {
		int class = rules->p[i].class;
		if (class < 0)
			m.by_name = true;
		else
			m.of_class[class] = (uint8_t)i;
		m.work_only = m.work_only && class >= 0 && class < ASSAY_CLASS_COUNT;
	}
	for (size_t i = 0; i < rules->n; i++)
		*assay_push(&out->rules) = (assay_path_rule){.text = rules->p[i].pattern.p};
	if (m.by_name) {
		m.of_name = not_asked(&m, g->run->part.strings.str.n + 1);
		if (g->run->part.t.stack.n && has_line_rules(&m))
			m.of_stack = not_asked(&m, g->run->part.t.stack.n + 1);
		match_scopes(&m);
		if (g->run->part.t.scope.n)
			lend_rules(&m);
	}
	change_work(&m);
	if (!m.work_only) {
		(m.by_name ? change_threads : change_threads_by_class)(&m);
		change_deps(&m);
	}
	for (size_t i = 0; ok && i < rules->n; i++) {
		const assay_path_rule *r = &out->rules.p[i];
		if (!r->spans && !r->work && !r->waits)
			ok = fail_unmatched(&m, &rules->p[i], r->text, err);
	}
	assay_vec_free(&m.text);
	assay_arena_free(&m.scratch);
	return ok;
}

TEST(patterns_match_whole_names_in_any_case)
{
	CHECK(assay_str_glob(ASSAY_S("gemm*"), ASSAY_S("GEMM")));
	CHECK(assay_str_glob(ASSAY_S("*ge?m*"), ASSAY_S("ampere_sgemm_64")));
	CHECK(!assay_str_glob(ASSAY_S("gemm"), ASSAY_S("sgemm")));
	CHECK(!assay_str_glob(ASSAY_S("a*b"), ASSAY_S("abc")));
	CHECK(assay_str_glob(ASSAY_S("**"), ASSAY_S("")));
	return 0;
}

TEST(what_ifs_are_a_pattern_and_a_value)
{
	assay_path_what_if r;
	assay_err err = {0};
	CHECK(parse_rule("gemm*=0.5x", &r, &err) && r.value == 0.5 && !r.is_time && r.class < 0);
	CHECK(parse_rule(" data = 0 ", &r, &err) && r.value == 0 &&
	      r.class == ASSAY_PATH_WHY + ASSAY_WHY_HOST_DATA);
	CHECK(parse_rule("a=b=1.5ms", &r, &err) && r.is_time && r.value == 1.5e6);
	CHECK(parse_rule("k=2s", &r, &err) && r.value == 2e9);
	CHECK(assay_str_is(r.pattern, "k"));
	static const char *const bad[] = {"gemm",  "=0",     "a=",     "a=x",     "a=5",
					  "a=-1x", "a=nanx", "a=infs", "a=1e30s", "a=0.5y"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(bad); i++)
		CHECK(!parse_rule(bad[i], &r, &err));
	return 0;
}

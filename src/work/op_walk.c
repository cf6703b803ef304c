/* Threads that launch are walked once in time order, with a stack of the operators open. Operators
 * nest, and their work must count once: a launch belongs to the outermost operator around it whose
 * work is known (convolution, not the cudnn_convolution it calls), or to the innermost one when
 * none is (the composite ones dissolve). Functions that only wrap operators give way to them. */
#include "work/op_walk.h"

#include <assert.h>

#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "names/serving.h"

enum { NOT_ASKED, NO_RULE, FIRST_RULE };
#define LAUNCHES UINT32_MAX /* in of_call, until the walk gives it a place */

void assay_rule_names_init(assay_rule_names *r, const assay_run *run)
{
	*r = (assay_rule_names){.run = run, .n = run->part.strings.str.n + 1};
	r->known = assay_pages_grow(NULL, r->n * sizeof *r->known);
}

void assay_rule_names_free(assay_rule_names *r)
{
	assay_pages_free(r->known);
	assay_vec_free(&r->rules);
}

const assay_work_rule *assay_rule_of_sid(assay_rule_names *r, assay_sid name)
{
	assert(name < r->n);
	uint16_t *known = &r->known[name];
	if (*known == NOT_ASKED) {
		const assay_work_rule *rule = assay_work_rule_of(assay_text(r->run, name));
		*known = NO_RULE;
		if (rule && r->rules.n < UINT16_MAX - FIRST_RULE) {
			*known = (uint16_t)(FIRST_RULE + r->rules.n);
			*assay_push(&r->rules) = rule;
		}
	}
	return *known < FIRST_RULE ? NULL : r->rules.p[*known - FIRST_RULE];
}

struct open {
	int64_t end;
	assay_op_place place;
	size_t owner;   /* on the stack: the operator of the place */
	uint32_t first; /* of an operator: 1 + its first place, 0 none so far */
};

struct walk {
	const assay_run *run;
	const assay_tables *t;
	assay_rule_names *rules;
	assay_op_places *out;
	const uint32_t *calls; /* may hold ASSAY_NO_ROW */
	size_t calls_n;
	assay_vec(struct open) stack;
	assay_sid engine_name; /* autograd's wrapper, asked for last */
	bool engine;
	assay_map marks; /* name of an annotation -> 1 when a serving engine made it */
};

/* Where the place of a call stands; NULL: it is none. */
static uint32_t *slot_of(const assay_op_places *p, const assay_tables *t, uint32_t h)
{
	uint32_t api = assay_is_call(t->host.kind[h]) ? t->host.detail[h] : ASSAY_NO_ROW;
	return api == ASSAY_NO_ROW ? NULL : &p->of_call[api];
}

/* Rows that the walk looks at. */
static bool is_seen(const struct walk *w, uint32_t h)
{
	uint8_t kind = w->t->host.kind[h];
	const uint32_t *call = slot_of(w->out, w->t, h);
	return kind == ASSAY_HOST_OP || kind == ASSAY_HOST_ANNOTATION ||
	       (call && *call == LAUNCHES);
}

/* Nodes of the backward pass run inside this. */
static bool is_engine(struct walk *w, assay_sid name)
{
	if (name != w->engine_name) {
		w->engine_name = name;
		w->engine = assay_str_starts(assay_text(w->run, name),
					     "autograd::engine::evaluate_function");
	}
	return w->engine;
}

/* Operators record a sequence number where gradients are recorded: inside the backward pass that is
 * a forward operator run again (checkpointing). Those with a forward thread are gradients. */
static bool is_recomputed(const struct walk *w, uint32_t h)
{
	const assay_op_table *op = &w->t->op;
	uint32_t d = w->t->host.detail[h];
	return d < op->n && op->seq[d] >= 0 && op->fwd_thread[d] <= 0;
}

static bool is_serving_mark(struct walk *w, assay_sid name)
{
	assay_serving s;
	uint32_t *known = assay_map_at(&w->marks, name);
	if (*known == ASSAY_MAP_ABSENT)
		*known = assay_serving_parse(assay_text(w->run, name), &s);
	return *known;
}

/* Is it the operator that launches inside belong to? */
static bool open_op(struct walk *w, uint32_t h, assay_op_place *p)
{
	assay_sid name = w->t->host.name[h];
	const assay_work_rule *around =
		p->op == ASSAY_NO_ROW ? NULL : assay_rule_of_sid(w->rules, w->t->host.name[p->op]);
	bool counted =
		around && !(around->flags & WORK_YIELDS && assay_rule_of_sid(w->rules, name));
	p->recomputed = p->recomputed || (p->backward && is_recomputed(w, h));
	p->backward = p->backward || is_engine(w, name);
	if (!counted)
		p->op = h;
	return !counted;
}

static void add_place(struct walk *w, uint32_t h, assay_op_place p, struct open *op)
{
	*assay_push(&w->out->place) = p;
	uint32_t n = *slot_of(w->out, w->t, h) = (uint32_t)w->out->place.n;
	if (op && !op->first)
		op->first = n;
	w->out->place.p[n - 1].first = op ? op->first - 1 : n - 1;
}

static void see_row(struct walk *w, uint32_t h)
{
	const assay_host_table *host = &w->t->host;
	while (w->stack.n && w->stack.p[w->stack.n - 1].end <= host->ts[h])
		w->stack.n--;
	struct open o = {.place = {ASSAY_NO_ROW, ASSAY_NO_ROW, ASSAY_NO_ROW, 0, false, false}};
	if (w->stack.n)
		o = w->stack.p[w->stack.n - 1];
	if (host->kind[h] == ASSAY_HOST_OP) {
		if (open_op(w, h, &o.place))
			o.owner = w->stack.n;
	} else if (host->kind[h] == ASSAY_HOST_ANNOTATION) {
		if (!assay_str_starts(assay_text(w->run, host->name[h]), "ProfilerStep#"))
			o.place.mark = h; /* that it is a step says nothing about where */
		if (o.place.steps == ASSAY_NO_ROW && is_serving_mark(w, host->name[h]))
			o.place.steps = h;
	} else {
		bool inside = o.place.op != ASSAY_NO_ROW;
		add_place(w, h, o.place, inside ? &w->stack.p[o.owner] : NULL);
		return;
	}
	o.end = assay_host_end(host, h);
	o.first = 0;
	*assay_push(&w->stack) = o;
}

/* Of rows that start together the longer one is around the other. */
static void longest_first(const assay_host_table *host, uint32_t *row, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint32_t r = row[i];
		size_t k = i;
		for (; k && host->ts[row[k - 1]] == host->ts[r] &&
		       host->dur[row[k - 1]] < host->dur[r];
		     k--)
			row[k] = row[k - 1];
		row[k] = r;
	}
}

static bool in_order(const assay_host_table *host, const uint32_t *row, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (host->ts[row[i - 1]] > host->ts[row[i]])
			return false;
	return true;
}

static void walk_thread(struct walk *w, uint32_t *row, size_t n)
{
	if (!in_order(&w->t->host, row, n))
		assay_sort_rows(row, n, w->t->host.ts);
	longest_first(&w->t->host, row, n);
	w->stack.n = 0;
	for (size_t i = 0; i < n; i++)
		see_row(w, row[i]);
}

/* Calls that are asked for; their threads get a count of 1. */
static void mark_calls(struct walk *w, size_t *of_track)
{
	for (size_t i = 0; i < w->calls_n; i++) {
		uint32_t h = w->calls[i],
			 *call = h == ASSAY_NO_ROW ? NULL : slot_of(w->out, w->t, h);
		if (!call)
			continue;
		*call = LAUNCHES;
		of_track[w->t->host.track[h]] = 1;
	}
}

static void walk_threads(struct walk *w, assay_arena *scratch)
{
	const assay_host_table *host = &w->t->host;
	size_t tracks = w->t->track.n, total = 0;
	size_t *n = assay_alloc(scratch, (tracks + 1) * sizeof *n);
	size_t *first = assay_alloc(scratch, (tracks + 1) * sizeof *first);
	mark_calls(w, n);
	for (uint32_t h = 0; h < host->n; h++)
		if (n[host->track[h]] && is_seen(w, h))
			n[host->track[h]]++;
	for (size_t i = 0; i < tracks; i++) {
		first[i] = total;
		total += n[i] ? n[i] - 1 : 0;
	}
	uint32_t *row = assay_pages_grow(NULL, (total + 1) * sizeof *row);
	for (uint32_t h = 0; h < host->n; h++)
		if (n[host->track[h]] && is_seen(w, h))
			row[first[host->track[h]]++] = h;
	for (size_t i = 0; i < tracks; i++)
		if (n[i])
			walk_thread(w, row + first[i] - (n[i] - 1), n[i] - 1);
	assay_pages_free(row);
}

void assay_op_places_of(assay_op_places *out, const assay_run *run, assay_rule_names *rules,
			const uint32_t *calls, size_t n)
{
	assay_arena scratch = {0};
	*out = (assay_op_places){.of_call = NULL};
	out->of_call = assay_pages_grow(NULL, (run->part.t.api.n + 1) * sizeof *out->of_call);
	struct walk w = {.run = run,
			 .t = &run->part.t,
			 .rules = rules,
			 .out = out,
			 .calls = calls,
			 .calls_n = n};
	walk_threads(&w, &scratch);
	assay_vec_free(&w.stack);
	assay_map_free(&w.marks);
	assay_arena_free(&scratch);
}

void assay_op_places_find(assay_op_places *out, const assay_run *run, assay_rule_names *rules)
{
	const assay_launch_table *l = &run->part.t.launch;
	assay_op_places_of(out, run, rules, l->host, l->n);
}

const assay_op_place *assay_op_place_of(const assay_op_places *p, const assay_tables *t,
					uint32_t host)
{
	const uint32_t *slot = slot_of(p, t, host);
	return slot && *slot ? &p->place.p[*slot - 1] : NULL;
}

void assay_op_places_free(assay_op_places *p)
{
	assay_pages_free(p->of_call);
	assay_vec_free(&p->place);
	*p = (assay_op_places){0};
}

static uint32_t add_op(assay_run *run, const char *name, int64_t ts, int64_t dur, int64_t seq)
{
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, name, ts, dur);
	uint32_t d = assay_add(&run->part.t, ASSAY_T_op);
	run->part.t.op.seq[d] = seq;
	run->part.t.host.detail[h] = d;
	return h;
}

static uint32_t add_launch(assay_run *run, int64_t ts)
{
	uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", ts, 1);
	assay_hand_gpu(run, "k", ts + 1000, 10, call);
	return call;
}

static const assay_op_place *place_of(const assay_run *run, const assay_op_places *p, uint32_t call)
{
	return assay_op_place_of(p, &run->part.t, call);
}

TEST(a_launch_belongs_to_the_outermost_operator_that_is_counted)
{
	assay_run *run = assay_run_new();
	assay_rule_names rules;
	assay_op_places p;
	add_op(run, "aten::conv2d", 0, 100, 1);
	uint32_t conv = add_op(run, "aten::convolution", 0, 90, 1);
	add_op(run, "aten::cudnn_convolution", 10, 50, 1);
	uint32_t inner = add_launch(run, 20);
	uint32_t linear = add_op(run, "aten::linear", 200, 50, 2);
	uint32_t composite = add_launch(run, 230);
	uint32_t child = add_op(run, "a_child", 232, 4, 2), of_child = add_launch(run, 233);
	uint32_t behind = add_launch(run, 240);
	uint32_t outside = add_launch(run, 300);
	assay_rule_names_init(&rules, run);
	assay_op_places_find(&p, run, &rules);
	CHECK_EQ(place_of(run, &p, inner)->op, conv);
	CHECK_EQ(place_of(run, &p, composite)->op, linear);
	CHECK_EQ(place_of(run, &p, of_child)->op, child);
	CHECK_EQ(place_of(run, &p, behind)->first, place_of(run, &p, composite)->first);
	CHECK(place_of(run, &p, of_child)->first != place_of(run, &p, composite)->first);
	CHECK(!assay_op_place_of(&p, &run->part.t, child));
	CHECK(place_of(run, &p, outside)->op == ASSAY_NO_ROW &&
	      !place_of(run, &p, outside)->backward);
	assay_op_places_free(&p);
	assay_rule_names_free(&rules);
	assay_run_free(run);
	return 0;
}

TEST(forward_operators_inside_the_backward_pass_are_recomputed)
{
	assay_run *run = assay_run_new();
	assay_rule_names rules;
	assay_op_places p;
	add_op(run, "autograd::engine::evaluate_function: CheckpointBackward", 0, 100, 5);
	add_op(run, "aten::mm", 10, 20, 7); /* records gradients: run again */
	uint32_t again = add_launch(run, 15);
	add_op(run, "aten::mm", 40, 20, -1);
	uint32_t gradient = add_launch(run, 45);
	assay_rule_names_init(&rules, run);
	assay_op_places_find(&p, run, &rules);
	CHECK(place_of(run, &p, again)->recomputed && !place_of(run, &p, gradient)->recomputed);
	CHECK(place_of(run, &p, gradient)->backward);
	assay_op_places_free(&p);
	assay_rule_names_free(&rules);
	assay_run_free(run);
	return 0;
}

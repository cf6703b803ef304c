/* Steps from what marks them: ProfilerStep on a host thread, else ranges that are named like steps,
 * else the step line that XLA draws on a device; or the ranges that the user chose. The copies that
 * newer Kineto puts on the GPU are not steps: they span what the device did, often microseconds. */
#include "resolve/resolve.h"

#include <strings.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "model/steps.h"
#include "model/offs.h"
#include "names/serving.h"
#include "names/words.h"

bool assay_step_choice_of(assay_str text, assay_step_choice *out)
{
	static const struct {
		const char *word;
		assay_step_api api;
	} words[] = {{"auto", ASSAY_STEPS_AUTO},
		     {"nvtx", ASSAY_STEPS_NVTX},
		     {"roctx", ASSAY_STEPS_ROCTX}};
	int64_t colon = assay_str_find(text, ":");
	assay_str word = {text.p, colon < 0 ? text.n : (size_t)colon};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++) {
		if (word.n != strlen(words[i].word) ||
		    strncasecmp(word.p, words[i].word, word.n) != 0)
			continue;
		out->api = words[i].api;
		out->name = colon < 0 ? (assay_str){0}
				      : (assay_str){text.p + colon + 1, text.n - word.n - 1};
		return colon < 0 || out->name.n > 0;
	}
	*out = (assay_step_choice){.api = ASSAY_STEPS_AUTO, .name = text};
	return text.n > 0;
}

/* What `assay record --steps-from` was given: in each capture, and in run.json. */
static assay_step_choice recorded_choice(const assay_run *run, assay_arena *scratch)
{
	assay_step_choice choice = {0};
	assay_str text = assay_meta_get(run, "steps_from"), options, value;
	if (!text.n && (options = assay_meta_get(run, "run.options")).n) {
		assay_json j = assay_json_copy(scratch, options);
		assay_json_enter(&j, '{');
		for (assay_str key; assay_json_member(&j, &key);) {
			if (!assay_str_is(key, "steps_from") || assay_json_peek(&j) != '"')
				assay_json_skip(&j, NULL);
			else if (assay_json_text(&j, &value))
				text = assay_json_unescape(scratch, value);
		}
	}
	if (!assay_step_choice_of(text, &choice))
		choice = (assay_step_choice){0};
	return choice;
}

enum { NOT_ASKED, PLAIN, MARKER_NAME, SERVING_NAME, STEP_NAME };

/* "train" chooses "train" and "train #12", not "trainer" or "train forward"; "train*" all of
 * them. */
static bool chosen_name(assay_str name, assay_str chosen)
{
	if (memchr(chosen.p, '*', chosen.n) || memchr(chosen.p, '?', chosen.n))
		return assay_str_glob(chosen, name);
	if (name.n < chosen.n || memcmp(name.p, chosen.p, chosen.n) != 0)
		return false;
	for (size_t i = chosen.n; i < name.n; i++)
		if ((name.p[i] | 32) >= 'a' && (name.p[i] | 32) <= 'z')
			return false;
	return true;
}

static uint8_t name_kind(assay_str name, const assay_step_choice *choice)
{
	if (choice->name.n)
		return chosen_name(name, choice->name) ? STEP_NAME : PLAIN;
	assay_serving serving;
	if (assay_serving_parse(name, &serving))
		return SERVING_NAME;
	assay_word word = assay_word_of(name);
	return word == ASSAY_WORD_STEP_MARKER ? MARKER_NAME
	       : word == ASSAY_WORD_STEP      ? STEP_NAME
					      : PLAIN;
}

/* What the name of each host span is: one look per name, not per row. */
static uint8_t *name_kinds(assay_run *run, const assay_step_choice *choice, assay_arena *scratch)
{
	const assay_host_table *h = &run->part.t.host;
	uint8_t *is = assay_alloc(scratch, run->part.strings.str.n + 1);
	for (size_t i = 0; i < h->n; i++)
		if (is[h->name[i]] == NOT_ASKED)
			is[h->name[i]] = name_kind(assay_text(run, h->name[i]), choice);
	return is;
}

/* Sources whose ranges were made with roctx: rocprofiler's own files, and captures of its tool. */
static bool *roctx_sources(assay_run *run, assay_arena *scratch)
{
	const assay_tables *t = &run->part.t;
	bool *is = assay_alloc(scratch, t->source.n + 1);
	for (size_t i = 0; i < t->source.n; i++)
		is[i] = assay_has_trait(run, (uint32_t)i, ASSAY_TRAIT_ROCTX);
	for (size_t i = 0; i < t->meta.n; i++)
		if (t->meta.source[i] < t->source.n &&
		    assay_str_is(assay_text(run, t->meta.key[i]), "rocprofiler.version"))
			is[t->meta.source[i]] = true;
	return is;
}

static void add_step(assay_run *run, uint32_t source, int64_t ts, int64_t dur, assay_sid name,
		     assay_step_origin origin)
{
	assay_step_add(run, source, ts, ts + dur, assay_number_in(assay_text(run, name)), name,
		       origin);
}

typedef struct looked_for {
	assay_step_choice choice;
	const uint8_t *is; /* by name */
	const bool *roctx; /* by source */
} looked_for;

static bool chosen_api(const assay_run *run, const looked_for *f, uint32_t row)
{
	const assay_tables *t = &run->part.t;
	uint32_t source = t->track.source[t->host.track[row]];
	return f->choice.api == ASSAY_STEPS_AUTO ||
	       (t->host.kind[row] == ASSAY_HOST_MARKER && source < t->source.n &&
		f->roctx[source] == (f->choice.api == ASSAY_STEPS_ROCTX));
}

static bool is_step(const assay_run *run, const looked_for *f, uint32_t row, uint8_t wanted)
{
	const assay_host_table *h = &run->part.t.host;
	return f->is[h->name[row]] == wanted && h->kind[row] != ASSAY_HOST_INSTANT &&
	       (wanted == MARKER_NAME || (assay_is_range(h->kind[row]) && h->dur[row] > 0)) &&
	       chosen_api(run, f, row);
}

/* Of each process in the order of time, whatever order they were written in. */
static void add_host_steps(assay_run *run, const looked_for *f, uint8_t wanted)
{
	const assay_host_table *h = &run->part.t.host;
	assay_step_origin origin = f->choice.name.n         ? ASSAY_STEP_CHOSEN
				   : wanted == STEP_NAME    ? ASSAY_STEP_RANGE
				   : wanted == SERVING_NAME ? ASSAY_STEP_SERVING
							    : ASSAY_STEP_MARKER;
	assay_vec(uint32_t) rows = {0}, order = {0};
	assay_vec(int64_t) ts = {0}, group = {0};
	for (uint32_t i = 0; i < h->n; i++)
		if (is_step(run, f, i, wanted)) {
			*assay_push(&order) = (uint32_t)rows.n;
			*assay_push(&rows) = i;
			*assay_push(&ts) = h->ts[i];
			*assay_push(&group) = assay_track_group(&run->part.t, h->track[i]);
		}
	if (rows.n) {
		assay_sort_rows(order.p, order.n, ts.p);
		assay_sort_rows(order.p, order.n, group.p);
	}
	for (size_t i = 0; i < order.n; i++) {
		uint32_t row = rows.p[order.p[i]];
		add_step(run, (uint32_t)group.p[order.p[i]], h->ts[row], h->dur[row], h->name[row],
			 origin);
	}
	assay_vec_free(&rows);
	assay_vec_free(&order);
	assay_vec_free(&ts);
	assay_vec_free(&group);
}

/* Moments named like steps: each lasts to the next of its process, and the last is only an end. */
static void add_marked_steps(assay_run *run, const looked_for *f)
{
	const assay_tables *t = &run->part.t;
	const assay_host_table *h = &t->host;
	assay_vec(uint32_t) marks = {0};
	for (uint32_t i = 0; i < h->n; i++)
		if (h->kind[i] == ASSAY_HOST_MARKER && h->dur[i] == 0 &&
		    f->is[h->name[i]] == STEP_NAME && chosen_api(run, f, i))
			*assay_push(&marks) = i;
	if (marks.n)
		assay_sort_rows(marks.p, marks.n, h->ts);
	assay_map last = {0}; /* of a process: its mark before */
	for (size_t i = 0; i < marks.n; i++) {
		uint32_t row = marks.p[i], group = assay_track_group(t, h->track[row]);
		uint32_t *slot = assay_map_at(&last, group), before = *slot;
		*slot = row;
		if (before != ASSAY_MAP_ABSENT && h->ts[row] > h->ts[before])
			add_step(run, group, h->ts[before], h->ts[row] - h->ts[before],
				 h->name[before],
				 f->choice.name.n ? ASSAY_STEP_CHOSEN : ASSAY_STEP_RANGE);
	}
	assay_map_free(&last);
	assay_vec_free(&marks);
}

static void keep_step(assay_step_table *s, size_t to, size_t from)
{
	s->source[to] = s->source[from];
	s->ts[to] = s->ts[from];
	s->dur[to] = s->dur[from];
	s->number[to] = s->number[from];
	s->name[to] = s->name[from];
	s->origin[to] = s->origin[from];
}

/* Steps inside others (batches in a step, the mark of a worker in that of its engine) are parts of
 * them: keep the outermost of each source. Rows of a source are in the order of time. */
static void drop_inner_steps(assay_step_table *s)
{
	uint32_t kept = 0;
	assay_map last = {0}; /* of a source: the kept one that ends last */
	for (size_t i = 0; i < s->n; i++) {
		uint32_t *slot = assay_map_at(&last, s->source[i]), k = *slot;
		if (k != ASSAY_MAP_ABSENT && s->ts[k] + s->dur[k] >= s->ts[i] + s->dur[i])
			continue;
		if (k == ASSAY_MAP_ABSENT || s->ts[k] != s->ts[i])
			*slot = kept++;
		keep_step(s, *slot, i);
	}
	s->n = kept;
	assay_map_free(&last);
}

static void add_device_steps(assay_run *run)
{
	const assay_tables *t = &run->part.t;
	assay_sid line = assay_pool_find(&run->part.strings, ASSAY_S("Steps"));
	for (size_t i = 0; line && i < t->mark.n; i++)
		if (t->track.name[t->mark.track[i]] == line)
			add_step(run, assay_track_group(t, t->mark.track[i]), t->mark.ts[i],
				 t->mark.dur[i], t->mark.name[i], ASSAY_STEP_DEVICE);
}

enum { MANY = 4096 }; /* step-like ranges; more than these are something else */

/* Ranges that are only named like steps may be something else: too many of them, or a single one
 * that is the whole run. */
static void doubt_ranges(assay_step_table *s)
{
	bool many = s->n > MANY;
	if (!s->n || s->origin[0] == ASSAY_STEP_MARKER)
		return;
	drop_inner_steps(s);
	if (s->origin[0] == ASSAY_STEP_RANGE && (many || s->n < 2))
		s->n = 0;
}

/* A number in a name is the step's where it grows from step to step of a process. Those of serving
 * marks count tokens, and names that are all alike have none: these are numbered by their place. */
static bool own_number(const assay_step_table *s, size_t i, uint32_t before)
{
	if (s->origin[i] == ASSAY_STEP_SERVING || s->number[i] < 0)
		return false;
	return before == ASSAY_MAP_ABSENT || s->origin[i] == ASSAY_STEP_MARKER ||
	       s->number[i] > s->number[before];
}

static void number_steps(assay_step_table *s)
{
	assay_map last = {0}, next = {0}; /* of a process: its step before; its next place */
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t *before = assay_map_at(&last, s->source[i]);
		if (!own_number(s, i, *before))
			*assay_map_at(&next, s->source[i]) = 0;
		*before = i;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (assay_map_get(&next, s->source[i]) != ASSAY_MAP_ABSENT)
			s->number[i] = (*assay_map_at(&next, s->source[i]))++;
	}
	assay_map_free(&last);
	assay_map_free(&next);
}

/* A step during which recording was off is not known as a whole. */
static void drop_partial_steps(assay_run *run)
{
	assay_step_table *s = &run->part.t.step;
	assay_offs offs;
	size_t kept = 0;
	assay_offs_find(&offs, &run->part.t);
	for (size_t i = 0; i < s->n; i++)
		if (!assay_offs_touch(&offs, s->source[i], s->ts[i], s->ts[i] + s->dur[i]))
			keep_step(s, kept++, i);
	s->n = kept;
	assay_offs_free(&offs);
}

/* Ranges whose names differ in numbers only. */
struct likes {
	assay_str pattern; /* as --steps-from takes it: "batch *" */
	uint64_t count;
	int64_t total; /* ns */
};
typedef assay_vec(struct likes) all_likes;

static assay_str pattern_of(assay_str name, assay_arena *a)
{
	char *text = assay_alloc(a, name.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < name.n; i++)
		if (!assay_is_digit(name.p[i]))
			text[n++] = name.p[i];
		else if (!n || text[n - 1] != '*')
			text[n++] = '*';
	return (assay_str){text, n};
}

static void gather_likes(const assay_run *run, all_likes *out, assay_arena *a)
{
	const assay_host_table *h = &run->part.t.host;
	assay_map of_name = {0}, of_pattern = {0};
	for (uint32_t i = 0; i < h->n; i++) {
		if (!assay_is_range(h->kind[i]) || h->dur[i] <= 0 || !h->name[i])
			continue;
		uint32_t *at = assay_map_at(&of_name, h->name[i]);
		if (*at == ASSAY_MAP_ABSENT) {
			assay_str pattern = pattern_of(assay_text(run, h->name[i]), a);
			uint32_t *like =
				assay_map_at(&of_pattern, assay_hash(pattern.p, pattern.n, 1));
			if (*like == ASSAY_MAP_ABSENT) {
				*like = (uint32_t)out->n;
				*assay_push(out) = (struct likes){.pattern = pattern};
			}
			*at = *like;
		}
		out->p[*at].count++;
		out->p[*at].total += h->dur[i];
	}
	assay_map_free(&of_name);
	assay_map_free(&of_pattern);
}

/* Those that come more than once, with most time first; "" when there are none. */
static const char *list_ranges(const assay_run *run, assay_arena *a)
{
	enum { SHOWN = 5 };
	all_likes likes = {0};
	const char *text = "";
	gather_likes(run, &likes, a);
	for (int shown = 0; shown < SHOWN; shown++) {
		struct likes *best = NULL;
		for (size_t i = 0; i < likes.n; i++)
			if (likes.p[i].count > 1 && (!best || likes.p[i].total > best->total))
				best = &likes.p[i];
		if (!best)
			break;
		text = assay_printf(a, "%s%s'%s' (%llu)", text, *text ? ", " : "; there are ",
				    assay_fmt_safe(a, best->pattern),
				    (unsigned long long)best->count);
		best->count = 0;
	}
	assay_vec_free(&likes);
	return text;
}

void assay_find_steps(assay_run *run, const assay_step_choice *given)
{
	assay_step_table *s = &run->part.t.step;
	assay_arena scratch = {0};
	looked_for f = {.choice = given ? *given : recorded_choice(run, &scratch)};
	f.is = name_kinds(run, &f.choice, &scratch);
	f.roctx = roctx_sources(run, &scratch);
	add_host_steps(run, &f, MARKER_NAME);
	if (!s->n)
		add_host_steps(run, &f, SERVING_NAME);
	if (!s->n)
		add_host_steps(run, &f, STEP_NAME);
	if (!s->n)
		add_marked_steps(run, &f);
	doubt_ranges(s);
	number_steps(s);
	bool asked = f.choice.api != ASSAY_STEPS_AUTO || f.choice.name.n;
	if (!s->n && !asked)
		add_device_steps(run);
	if (!s->n && !asked)
		assay_loop_steps(run);
	if (!s->n && !asked)
		assay_program_steps(run);
	if (!s->n && !asked)
		assay_call_steps(run);
	if (!s->n && asked)
		assay_warn(run, "no_such_steps",
			   "no range%s%.*s%s is there to be a step, as was asked for%s",
			   f.choice.name.n ? " named '" : " of that kind", (int)f.choice.name.n,
			   f.choice.name.n ? f.choice.name.p : "", f.choice.name.n ? "'" : "",
			   list_ranges(run, &scratch));
	drop_partial_steps(run);
	assay_arena_free(&scratch);
}

TEST(steps_come_in_the_order_of_time)
{
	assay_run *run = assay_run_new();
	for (int i = 4; i > 0; i--)
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep", 100 * i, 90);
	assay_find_steps(run, NULL);
	CHECK_EQ(run->part.t.step.n, 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(run->part.t.step.ts[i], 100 * (int)i + 100);
	assay_run_free(run);
	return 0;
}

TEST(markers_win_and_inner_ranges_are_no_steps)
{
	assay_run *run = assay_run_new();
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 1", 0, 100);
	assay_hand_host(run, ASSAY_HOST_MARKER, "batch 0", 10, 20);
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 2", 100, 100);
	assay_hand_host(run, ASSAY_HOST_OP, "step 3", 200, 100); /* an operator is no range */
	assay_find_steps(run, NULL);
	CHECK_EQ(run->part.t.step.n, 2);
	CHECK(run->part.t.step.number[1] == 2 && run->part.t.step.origin[1] == ASSAY_STEP_RANGE);
	run->part.t.step.n = 0;
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#9", 300, 10);
	assay_find_steps(run, NULL);
	CHECK(run->part.t.step.n == 1 && run->part.t.step.origin[0] == ASSAY_STEP_MARKER);
	assay_run_free(run);
	return 0;
}

static void add_source(assay_run *run, const char *format)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_source);
	t->source.format[s] = assay_sid_of(run, format);
	run->part.source = s;
}

static size_t steps_by(assay_run *run, const char *text)
{
	assay_step_choice choice = {0};
	run->part.t.step.n = 0;
	if (!assay_step_choice_of(assay_str_of(text), &choice))
		return SIZE_MAX;
	assay_find_steps(run, &choice);
	return run->part.t.step.n;
}

TEST(the_user_chooses_which_ranges_are_steps)
{
	assay_run *run = assay_run_new();
	add_source(run, "capture");
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "ProfilerStep#1", 0, 1000);
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 1", 0, 100);
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 2", 100, 100);
	assay_hand_host(run, ASSAY_HOST_MARKER, "epoch #7", 0, 900);
	assay_hand_host(run, ASSAY_HOST_MARKER, "epochal", 0, 900);
	assay_hand_host(run, ASSAY_HOST_ANNOTATION, "epoch #8", 900, 100);
	CHECK_EQ(steps_by(run, "auto"), 1);
	CHECK_EQ(steps_by(run, "NVTX"), 2);
	CHECK_EQ(steps_by(run, "roctx"), 0);
	CHECK_EQ(steps_by(run, "nvtx:epoch"), 1);
	CHECK_EQ(run->part.t.step.number[0], 7);
	CHECK_EQ(steps_by(run, "auto:epoch"), 2);
	CHECK_EQ(steps_by(run, "epoch"), 2);
	CHECK_EQ(steps_by(run, "ep?ch*"), 2); /* of two with the same times the first */
	CHECK(steps_by(run, "nvtx:") == SIZE_MAX && steps_by(run, "") == SIZE_MAX);
	assay_meta_add(&run->part, "rocprofiler.version", ASSAY_S("1.0.0"));
	CHECK(steps_by(run, "NVTX") == 0 && steps_by(run, "roctx") == 2);
	assay_run_free(run);
	return 0;
}

TEST(a_mark_inside_the_mark_of_another_engine_is_no_step_of_its_own)
{
	assay_run *run = assay_run_new();
	for (int i = 0; i < 3; i++) {
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "step[EXTEND bs=1 toks=9]", 100 * i,
				20);
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "execute_context_1(9)_generation_0(0)",
				100 * i, 90);
		assay_hand_host(run, ASSAY_HOST_ANNOTATION, "step[EXTEND bs=1 toks=9]",
				100 * i + 50, 40);
	}
	assay_find_steps(run, NULL);
	CHECK_EQ(run->part.t.step.n, 3);
	for (int i = 0; i < 3; i++)
		CHECK(run->part.t.step.ts[i] == 100 * i && run->part.t.step.dur[i] == 90);
	assay_run_free(run);
	return 0;
}

TEST(steps_have_the_number_of_their_name_or_of_their_place)
{
	static const struct {
		const char *name[3];
		int64_t number[3];
	} cases[] = {{{"step 4", "step 5", "step 9"}, {4, 5, 9}},
		     {{"batch", "batch", "batch"}, {0, 1, 2}},
		     {{"ProfilerStep", "ProfilerStep", "ProfilerStep"}, {0, 1, 2}},
		     {{"step 0", "step 1", "step 0"}, {0, 1, 2}},
		     {{"step[DECODE bs=8]", "step[DECODE bs=9]", "step[DECODE bs=10]"}, {0, 1, 2}}};
	for (size_t k = 0; k < ASSAY_COUNT_OF(cases); k++) {
		assay_run *run = assay_run_new();
		for (int i = 0; i < 3; i++)
			assay_hand_host(run, ASSAY_HOST_MARKER, cases[k].name[i], 100 * i, 90);
		assay_find_steps(run, NULL);
		CHECK_EQ(run->part.t.step.n, 3);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(run->part.t.step.number[i], cases[k].number[i]);
		assay_run_free(run);
	}
	return 0;
}

TEST(a_step_lasts_from_one_mark_to_the_next_of_its_process)
{
	assay_run *run = assay_run_new();
	add_source(run, "capture");
	assay_hand_host(run, ASSAY_HOST_MARKER, "batch 2", 300, 0);
	assay_hand_host(run, ASSAY_HOST_MARKER, "batch 1", 100, 0);
	assay_hand_host(run, ASSAY_HOST_MARKER, "batch 3", 350, 0);
	assay_hand_host(run, ASSAY_HOST_MARKER, "other", 320, 0);
	CHECK_EQ(steps_by(run, "auto:batch"), 2);
	const assay_step_table *s = &run->part.t.step;
	CHECK(s->ts[0] == 100 && s->dur[0] == 200 && s->ts[1] == 300 && s->dur[1] == 50);
	assay_hand_host(run, ASSAY_HOST_MARKER, "batch 9", 400, 10);
	CHECK_EQ(steps_by(run, "auto:batch"), 1); /* ranges say more than moments */
	assay_run_free(run);
	return 0;
}

TEST(steps_in_which_recording_was_off_are_left_out)
{
	assay_run *run = assay_run_new();
	add_source(run, "capture");
	for (int i = 0; i < 4; i++)
		assay_hand_host(run, ASSAY_HOST_MARKER, "batch", 100 * i, 100);
	uint32_t off = assay_add(&run->part.t, ASSAY_T_off);
	run->part.t.off.source[off] = run->part.source;
	run->part.t.off.ts[off] = 150;
	run->part.t.off.dur[off] = 50;
	CHECK_EQ(steps_by(run, "auto:batch"), 3);
	CHECK_EQ(run->part.t.step.ts[1], 200);
	assay_run_free(run);
	return 0;
}

TEST(a_recording_says_which_ranges_are_steps)
{
	assay_run *run = assay_run_new();
	add_source(run, "capture");
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 1", 0, 100);
	assay_hand_host(run, ASSAY_HOST_MARKER, "epoch", 0, 900);
	assay_meta_add(&run->part, "run.options", ASSAY_S("{\"steps_from\": \"nvtx:epoch\"}"));
	assay_find_steps(run, NULL);
	CHECK(run->part.t.step.n == 1 && run->part.t.step.dur[0] == 900);
	assay_run_free(run);
	return 0;
}

TEST(ranges_that_could_be_steps_are_listed_as_patterns)
{
	assay_run *run = assay_run_new();
	assay_step_choice choice = {.name = ASSAY_S("zzz")};
	for (int i = 0; i < 12; i++) {
		assay_arena a = {0};
		assay_hand_host(run, ASSAY_HOST_MARKER, assay_printf(&a, "batch %d of 12", i),
				100 * i, 90);
		assay_hand_host(run, ASSAY_HOST_MARKER, "load", 100 * i, 10);
		assay_arena_free(&a);
	}
	assay_hand_host(run, ASSAY_HOST_MARKER, "all", 0, 2000); /* once */
	assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 0, 10);  /* no range */
	assay_hand_host(run, ASSAY_HOST_OP, "aten::mm", 20, 10);
	assay_find_steps(run, &choice);
	CHECK_EQ(run->part.t.warning.n, 1);
	CHECK(strstr(assay_z(run, run->part.t.warning.text[0]),
		     "asked for; there are 'batch * of *' (12), 'load' (12)"));
	CHECK(!strstr(assay_z(run, run->part.t.warning.text[0]), "all'"));
	assay_run_free(run);
	return 0;
}

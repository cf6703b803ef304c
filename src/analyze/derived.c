/* xprof's algorithm on our rows. Each kernel of a stream, in order of start, extends the open event
 * of every row and level it belongs to, or closes it and opens a new one: a new name, another step
 * or another invocation (scope id) is a new event. Streams are not limited to 16 as there. */
#include "analyze/derived.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/group.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/test.h"
#include "model/xplane.h"

enum { LEVELS = 64 };

/* An open event: a row of the derived table, and what the next kernel must have to extend it. */
struct open {
	uint32_t row; /* ASSAY_NO_ROW: none */
	uint64_t key;
	int64_t group, id;
	bool has_id;
};

/* What the arguments of a kernel say, by their string id: most kernels share theirs. */
struct labels {
	assay_str op, module, tf_op, name, program;
};

typedef struct derive {
	assay_run *run;
	assay_tables *t;
	struct open open[ASSAY_DERIVED_ROW_COUNT][LEVELS];
	assay_arena scratch;
	assay_protow name;   /* of the last work that says none itself */
	uint32_t name_of;    /* the scope it was in */
	assay_vec(bool) xla; /* by source: operators of XLA's own */
	int64_t *group;      /* by row of gpu: row of step, -1 for none */
	assay_vec(int64_t)
		scope_step; /* by row of scope: row of step around it, -2 not known yet */
} derive;

/* ------------------------------------------------------------------ which step */

static uint64_t step_key(uint32_t source, int64_t ts, assay_sid name)
{
	uint64_t key[3] = {source, (uint64_t)ts, name};
	return assay_hash(key, sizeof key, 0);
}

/* A scope's step is its own when a step marker opened it, else that of the scope around it. */
static void find_scope_steps(derive *d)
{
	const assay_tables *t = d->t;
	assay_map steps = {0};
	assay_vec(uint32_t) chain = {0};
	for (uint32_t i = 0; i < t->step.n; i++)
		*assay_map_at(&steps, step_key(t->step.source[i], t->step.ts[i], t->step.name[i])) =
			i;
	for (size_t i = 0; i < t->scope.n; i++)
		*assay_push(&d->scope_step) = -2;
	for (uint32_t i = 0; i < t->scope.n; i++) {
		for (uint32_t r = i; r != ASSAY_NO_ROW && d->scope_step.p[r] == -2;
		     r = t->scope.up[r])
			*assay_push(&chain) = r;
		while (chain.n) {
			uint32_t r = chain.p[--chain.n], up = t->scope.up[r];
			uint32_t own =
				assay_map_get(&steps, step_key(t->scope.source[r], t->scope.ts[r],
							       t->scope.name[r]));
			d->scope_step.p[r] = own != ASSAY_MAP_ABSENT ? (int64_t)own
					     : up != ASSAY_NO_ROW    ? d->scope_step.p[up]
								     : -1;
		}
	}
	for (size_t i = 0; i < t->scope.n; i++)
		t->scope.step[i] =
			d->scope_step.p[i] < 0 ? ASSAY_NO_ROW : (uint32_t)d->scope_step.p[i];
	assay_map_free(&steps);
	assay_vec_free(&chain);
}

static uint32_t step_row(int64_t group)
{
	return group < 0 ? ASSAY_NO_ROW : (uint32_t)group;
}

static int64_t launch_group(const derive *d, uint32_t g)
{
	uint32_t call = g < d->t->launch.n ? d->t->launch.host[g] : ASSAY_NO_ROW;
	uint32_t scope = call == ASSAY_NO_ROW ? ASSAY_NO_ROW : d->t->host_scope.scope[call];
	return scope == ASSAY_NO_ROW ? -1 : d->scope_step.p[scope];
}

/* ------------------------------------------------------------------ labels */

static void take_member(derive *d, assay_str key, assay_str v, struct labels *out)
{
	const struct {
		const char *key;
		assay_str *value;
	} wanted[] = {{"hlo_op", &out->op},
		      {"hlo_module", &out->module},
		      {"tf_op", &out->tf_op},
		      {"name", &out->name},
		      {"program_id", &out->program}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wanted); i++)
		if (!wanted[i].value->n && assay_str_is(key, wanted[i].key))
			*wanted[i].value =
				v.p[0] == '"' ? assay_json_unescape(&d->scratch,
								    (assay_str){v.p + 1, v.n - 2})
					      : v;
}

static struct labels labels_of(derive *d, uint32_t g)
{
	assay_str args = assay_text(d->run, d->t->gpu.args[g]);
	if (assay_str_find(args, "\"hlo_") < 0 && assay_str_find(args, "\"tf_op\"") < 0)
		return (struct labels){0};
	const assay_str none = {"", 0};
	struct labels found = {none, none, none, none, none};
	assay_json j = assay_json_members(&d->scratch, args);
	for (assay_str k, v; assay_json_member(&j, &k) && assay_json_skip(&j, &v);)
		take_member(d, k, v, &found);
	return found;
}

/* Of work that a command buffer replays: the instruction it is and its place in the program, as
 * xprof finds both in the program itself. */
static void take_instruction(derive *d, uint32_t g, struct labels *l)
{
	const assay_tables *t = d->t;
	uint32_t op = g < t->gpu_captured.n ? t->gpu_captured.op[g] : ASSAY_NO_ROW;
	if (op == ASSAY_NO_ROW || !t->captured.program[op] || !l->op.n)
		return;
	assay_json j = assay_json_members(&d->scratch, assay_text(d->run, t->captured.args[op]));
	struct labels of = {0};
	for (assay_str k, v; assay_json_member(&j, &k) && assay_json_skip(&j, &v);)
		take_member(d, k, v, &of);
	if (!of.op.n)
		return;
	l->op = of.op;
	l->name = assay_text(d->run, t->captured.name[op]);
}

/* ------------------------------------------------------------------ rows */

/* Nested events of one span would hide each other: each deeper one ends 1 ns earlier, and so does
 * all that is below it, but the innermost keeps 1 ns. What is above `level` stays open. */
static void shorten_from(assay_derived_table *t, const struct open *o, int level)
{
	int top = level;
	while (top < LEVELS && o[top].row != ASSAY_NO_ROW)
		top++;
	int64_t ts = 0, whole = 0, cut = 0, most = top > level ? t->dur[o[top - 1].row] - 1 : 0;
	for (int i = level; i < top; i++) {
		uint32_t r = o[i].row;
		cut += i > level && cut < most && t->ts[r] == ts && t->dur[r] == whole;
		ts = t->ts[r];
		whole = t->dur[r];
		t->dur[r] -= cut;
	}
}

static void close_from(derive *d, assay_derived_row row, int level)
{
	struct open *o = d->open[row];
	shorten_from(&d->t->derived, o, level);
	for (int i = level; i < LEVELS; i++)
		o[i].row = ASSAY_NO_ROW;
}

/* A new module ends what is open below it, a new name scope its operators. */
static void close_dependents(derive *d, assay_derived_row row)
{
	if (row == ASSAY_DERIVED_MODULES) {
		close_from(d, ASSAY_DERIVED_OPS, 0);
		close_from(d, ASSAY_DERIVED_NAME_SCOPE, 0);
		close_from(d, ASSAY_DERIVED_FRAMEWORK_OPS, 0);
	} else if (row == ASSAY_DERIVED_NAME_SCOPE) {
		close_from(d, ASSAY_DERIVED_FRAMEWORK_OPS, 0);
	}
}

struct kernel {
	uint32_t g;
	int64_t group;
};

/* scope: the invocation, ASSAY_NO_ROW when it is not told apart. */
static void extend(derive *d, assay_derived_row row, int level, uint64_t key, assay_str name,
		   uint32_t scope, struct kernel k)
{
	const assay_gpu_table *g = &d->t->gpu;
	assay_derived_table *t = &d->t->derived;
	struct open *o = &d->open[row][level];
	int64_t start = g->ts[k.g], end = assay_gpu_end(g, k.g);
	int64_t id = scope == ASSAY_NO_ROW ? 0 : d->t->scope.id[scope];
	if (o->row != ASSAY_NO_ROW && o->key == key && o->group == k.group &&
	    !(id && o->has_id && o->id != id)) {
		int64_t last = t->ts[o->row] + t->dur[o->row];
		t->dur[o->row] = (end > last ? end : last) - t->ts[o->row];
		t->events[o->row]++;
		return;
	}
	close_from(d, row, level);
	if (level == 0)
		close_dependents(d, row);
	uint32_t r = assay_add(d->t, ASSAY_T_derived);
	t->row[r] = (uint8_t)row;
	t->level[r] = (uint8_t)level;
	t->track[r] = g->track[k.g];
	t->ts[r] = start;
	t->dur[r] = end - start;
	t->name[r] = assay_intern(&d->run->part.strings, name);
	t->scope[r] = scope;
	t->group[r] = step_row(k.group);
	t->events[r] = 1;
	*o = (struct open){r, key, k.group, id, id != 0};
}

static uint64_t text_key(assay_str a, assay_str b)
{
	return assay_hash(b.p, b.n, assay_hash(a.p, a.n, 1));
}

/* Rows of scope from the leaf to the root of the ids the trace carries. */
static size_t id_path(const derive *d, uint32_t scope, uint32_t *path)
{
	size_t n = 0;
	while (scope != ASSAY_NO_ROW && n < LEVELS) {
		path[n++] = scope;
		scope = d->t->scope.parent[scope] ? d->t->scope.up[scope] : ASSAY_NO_ROW;
	}
	return n;
}

static size_t split(assay_str text, const char *separator, assay_str part[LEVELS])
{
	size_t n = 0, width = strlen(separator);
	while (text.n && n < LEVELS) {
		ptrdiff_t at = assay_str_find(text, separator);
		part[n++] = (assay_str){text.p, at < 0 ? text.n : (size_t)at};
		size_t used = at < 0 ? text.n : (size_t)at + width;
		text = (assay_str){text.p + used, text.n - used};
	}
	return n;
}

static void add_ops(derive *d, const struct labels *l, const uint32_t *ids, size_t n_ids,
		    struct kernel k)
{
	assay_str part[LEVELS], prefix = l->program.n ? l->program : l->module;
	size_t n = split(l->op, "::", part);
	for (size_t i = 0; i < n; i++)
		extend(d, ASSAY_DERIVED_OPS, (int)i, text_key(prefix, part[i]), part[i],
		       n_ids == n ? ids[n - 1 - i] : ASSAY_NO_ROW, k);
	if (n < LEVELS)
		close_from(d, ASSAY_DERIVED_OPS, (int)n);
}

/* "scope/scope/op:Type": the scopes level by level, the whole as operator. */
static void add_framework(derive *d, assay_str op, struct kernel k)
{
	assay_str part[LEVELS], type = op, full = assay_str_cut(&type, ':');
	size_t n = split(full, "/", part);
	if (!n)
		return;
	for (size_t i = 0; i + 1 < n; i++)
		extend(d, ASSAY_DERIVED_NAME_SCOPE, (int)i, text_key(part[i], ASSAY_S("")), part[i],
		       ASSAY_NO_ROW, k);
	if (n > 1) /* an operator outside all scopes does not end them */
		close_from(d, ASSAY_DERIVED_NAME_SCOPE, (int)n - 1);
	extend(d, ASSAY_DERIVED_FRAMEWORK_OPS, 0, text_key(full, ASSAY_S("")),
	       type.n ? type : part[n - 1], ASSAY_NO_ROW, k);
}

/* Names of the scope path stand in where a program has no XLA labels. */
static void add_scope_path(derive *d, const uint32_t *ids, size_t n, struct kernel k)
{
	const assay_scope_table *s = &d->t->scope;
	assay_str root = assay_text(d->run, s->name[ids[n - 1]]);
	extend(d, ASSAY_DERIVED_MODULES, 0, text_key(root, ASSAY_S("")), root, ids[n - 1], k);
	for (size_t i = 0; i < n; i++) {
		assay_str name = assay_text(d->run, s->name[ids[n - 1 - i]]);
		extend(d, ASSAY_DERIVED_OPS, (int)i, text_key(root, name), name, ids[n - 1 - i], k);
	}
	if (n < LEVELS)
		close_from(d, ASSAY_DERIVED_OPS, (int)n);
}

/* "jit_step(4643)" */
static assay_str module_name(derive *d, const struct labels *l)
{
	if (!l->program.n)
		return l->module;
	return assay_str_of(assay_printf(&d->scratch, "%.*s(%.*s)", (int)l->module.n, l->module.p,
					 (int)l->program.n, l->program.p));
}

/* One launch of a graph is one event. */
static void add_graph(derive *d, struct kernel k)
{
	const assay_gpu_table *g = &d->t->gpu;
	uint64_t key[2] = {g->graph[k.g], g->corr[k.g]};
	if (key[0])
		extend(d, ASSAY_DERIVED_GRAPHS, 0, assay_hash(key, sizeof key, 4),
		       assay_str_of(assay_printf(&d->scratch, "Command Buffer %u", g->graph[k.g])),
		       ASSAY_NO_ROW, k);
}

/* Work that does not say which operator it is of. */
static void add_scoped(derive *d, const uint32_t *ids, size_t n, struct kernel k)
{
	uint32_t source = assay_track_group(d->t, d->t->gpu.track[k.g]);
	bool xla = d->xla.p[source < d->t->source.n ? source : d->t->source.n];
	if (xla && !n)
		return;
	if (n && !xla)
		add_scope_path(d, ids, n, k);
	uint32_t scope = n ? ids[0] : ASSAY_NO_ROW;
	if (!d->name.out.n || d->name_of != scope) {
		d->name.out.n = 0;
		xplane_add_framework_name(&d->name, d->run, scope);
	}
	d->name_of = scope;
	add_framework(d, assay_protow_data(&d->name), k);
}

static void add_kernel(derive *d, uint32_t g)
{
	struct kernel k = {g, d->group[g]};
	add_graph(d, k);
	struct labels l = labels_of(d, g);
	take_instruction(d, g, &l);
	uint32_t ids[LEVELS];
	size_t n = id_path(d, d->t->gpu_scope.scope[g], ids);
	if (!l.op.n && !l.module.n && !l.tf_op.n) {
		add_scoped(d, ids, n, k);
		return;
	}
	if (l.module.n)
		extend(d, ASSAY_DERIVED_MODULES, 0, text_key(l.module, l.program),
		       module_name(d, &l), n ? ids[n - 1] : ASSAY_NO_ROW, k);
	if (l.op.n) {
		add_ops(d, &l, ids, n, k);
		add_framework(d, l.name, k);
	} else {
		add_framework(d, l.tf_op, k);
	}
}

/* ------------------------------------------------------------------ devices and streams */

static void begin_stream(derive *d)
{
	for (int row = 0; row < ASSAY_DERIVED_ROW_COUNT; row++)
		for (int i = 0; i < LEVELS; i++)
			d->open[row][i].row = ASSAY_NO_ROW;
}

/* "train 4"; names that end in a number have theirs already. */
static assay_sid step_name(derive *d, uint32_t step)
{
	const assay_step_table *s = &d->t->step;
	assay_str name = assay_text(d->run, s->name[step]);
	if (!name.n || s->number[step] < 0 || assay_is_digit(name.p[name.n - 1]))
		return s->name[step];
	return assay_sid_of(d->run, assay_printf(&d->scratch, "%.*s %" PRId64, (int)name.n, name.p,
						 s->number[step]));
}

/* All work of a device by start: what has no step of its own takes the last one seen. */
static void group_device(derive *d, const uint32_t *row, size_t n)
{
	assay_derived_table *t = &d->t->derived;
	const assay_gpu_table *g = &d->t->gpu;
	int64_t last = -1;
	uint32_t step = ASSAY_NO_ROW;
	for (size_t i = 0; i < n; i++) {
		int64_t own = launch_group(d, row[i]);
		last = own >= 0 ? own : last;
		d->group[row[i]] = last;
		if (d->t->gpu_scope.n == g->n)
			d->t->gpu_scope.step[row[i]] = step_row(last);
		if (last < 0)
			continue;
		int64_t end = g->ts[row[i]] + (g->dur[row[i]] > 0 ? g->dur[row[i]] : 0);
		if (step == ASSAY_NO_ROW || t->group[step] != step_row(last)) {
			step = assay_add(d->t, ASSAY_T_derived);
			t->row[step] = ASSAY_DERIVED_STEPS;
			t->track[step] = g->track[row[0]];
			t->ts[step] = g->ts[row[i]];
			t->dur[step] = 0;
			t->name[step] = step_name(d, (uint32_t)last);
			t->group[step] = step_row(last);
		}
		t->dur[step] = end - t->ts[step] > t->dur[step] ? end - t->ts[step] : t->dur[step];
		t->events[step]++;
	}
}

/* By start, then length, both rising. */
static void sort_by_time(const derive *d, uint32_t *rows, size_t n)
{
	const assay_gpu_table *g = &d->t->gpu;
	assay_sort_rows(rows, n, g->ts);
	for (size_t i = 0, many; i < n; i += many) {
		for (many = 1; i + many < n && g->ts[rows[i + many]] == g->ts[rows[i]];)
			many++;
		if (many > 1)
			assay_sort_rows(rows + i, many, g->dur);
	}
}

/* By track: its device, numbered as they come. Gives how many there are. */
static size_t number_devices(derive *d, uint32_t *of_track)
{
	const assay_tables *t = d->t;
	assay_map known = {0};
	memset(of_track, 0xff, t->track.n * sizeof *of_track);
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t *device = &of_track[t->gpu.track[g]];
		if (*device != ASSAY_NO_ROW)
			continue;
		uint32_t *slot = assay_map_at(&known, assay_gpu_place(t, g));
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = (uint32_t)known.n - 1;
		*device = *slot;
	}
	size_t n = known.n;
	assay_map_free(&known);
	return n;
}

static void group_devices(derive *d, uint32_t *rows, assay_arena *a)
{
	const assay_tables *t = d->t;
	uint32_t *of_track = assay_alloc(a, (t->track.n + 1) * sizeof *of_track);
	size_t devices = number_devices(d, of_track),
	       *first = assay_alloc(a, (devices + 1) * sizeof *first);
	d->group = assay_alloc(a, t->gpu.n * sizeof *d->group);
	assay_group_rows_in(rows, first, t->gpu.n, t->gpu.track, of_track, devices);
	for (size_t i = 0; i < devices; i++) {
		sort_by_time(d, rows + first[i], first[i + 1] - first[i]);
		group_device(d, rows + first[i], first[i + 1] - first[i]);
	}
}

static void add_streams(derive *d, uint32_t *rows, assay_arena *a)
{
	const assay_tables *t = d->t;
	size_t *first = assay_alloc(a, (t->track.n + 1) * sizeof *first);
	assay_group_rows(rows, first, NULL, t->gpu.n, t->gpu.track, t->track.n);
	for (size_t k = 0; k < t->track.n; k++) {
		if (first[k] == first[k + 1])
			continue;
		sort_by_time(d, rows + first[k], first[k + 1] - first[k]);
		begin_stream(d);
		for (size_t i = first[k]; i < first[k + 1]; i++) {
			if (t->gpu.kind[rows[i]] == ASSAY_GPU_KERNEL)
				add_kernel(d, rows[i]);
			assay_arena_reset(&d->scratch);
		}
	}
}

void assay_derive(assay_run *run)
{
	assay_arena arena = {0};
	derive *d = assay_alloc(&arena, sizeof *d);
	d->run = run;
	d->t = &run->part.t;
	const assay_tables *t = d->t;
	d->t->derived.n = 0;
	assay_vec_reserve(&d->xla, t->source.n + 1);
	xplane_find_xla(run, d->xla.p);
	find_scope_steps(d);
	uint32_t *rows = assay_alloc(&arena, (t->gpu.n + 1) * sizeof *rows);
	group_devices(d, rows, &arena);
	if (t->gpu_scope.n == t->gpu.n)
		add_streams(d, rows, &arena);
	assay_arena_free(&d->scratch);
	assay_protow_free(&d->name);
	assay_vec_free(&d->xla);
	assay_vec_free(&d->scope_step);
	assay_arena_free(&arena);
}

/* ------------------------------------------------------------------ tests */

static uint32_t add_scope(assay_run *run, int64_t id)
{
	uint32_t r = assay_add(&run->part.t, ASSAY_T_scope);
	run->part.t.scope.id[r] = id;
	return r;
}

static uint32_t add_work(assay_run *run, int64_t stream, int64_t ts, int64_t dur, const char *args,
			 uint32_t scope)
{
	assay_tables *t = &run->part.t;
	uint32_t g = assay_add(t, ASSAY_T_gpu), s = assay_add(t, ASSAY_T_gpu_scope);
	assay_add(t, ASSAY_T_launch);
	t->gpu.ts[g] = ts;
	t->gpu.dur[g] = dur;
	t->gpu.args[g] = assay_sid_of(run, args);
	t->gpu.track[g] = assay_stream_track(&run->part, 0, stream);
	t->gpu_scope.scope[s] = scope;
	return g;
}

static size_t count_row(const assay_run *run, assay_derived_row row)
{
	size_t n = 0;
	for (size_t i = 0; i < run->part.t.derived.n; i++)
		n += run->part.t.derived.row[i] == row;
	return n;
}

static const char module_args[] = "\"hlo_op\": \"op\", \"hlo_module\": \"hlo_module\"";

/* Kernels of one module with the ids 10 and second; how many module events come out. */
static size_t modules_with(int64_t first, int64_t second)
{
	assay_run *run = assay_run_new();
	uint32_t a = first ? add_scope(run, first) : ASSAY_NO_ROW;
	uint32_t b = !second ? ASSAY_NO_ROW : second == first ? a : add_scope(run, second);
	add_work(run, 7, 0, 100, module_args, a);
	add_work(run, 7, 200, 300, module_args, b);
	assay_derive(run);
	size_t n = count_row(run, ASSAY_DERIVED_MODULES);
	assay_run_free(run);
	return n;
}

TEST(invocations_are_told_apart_by_scope_id)
{
	CHECK_EQ(modules_with(0, 0), 1); /* without ids they merge across any gap */
	CHECK_EQ(modules_with(10, 10), 1);
	CHECK_EQ(modules_with(10, 20), 2);
	CHECK_EQ(modules_with(10, 0), 1);
	return 0;
}

TEST(kernels_without_labels_and_scopes_are_in_no_scope)
{
	assay_run *run = assay_run_new();
	add_work(run, 7, 0, 100, "", ASSAY_NO_ROW);
	assay_derive(run);
	CHECK_EQ(run->part.t.derived.n, 1);
	CHECK(run->part.t.derived.row[0] == ASSAY_DERIVED_FRAMEWORK_OPS &&
	      !strcmp(assay_z(run, run->part.t.derived.name[0]), "no scope"));
	add_work(run, 8, 0, 100, module_args, ASSAY_NO_ROW); /* XLA's work outside its operators */
	assay_derive(run);
	CHECK_EQ(count_row(run, ASSAY_DERIVED_FRAMEWORK_OPS), 0);
	assay_run_free(run);
	return 0;
}

TEST(operators_of_one_name_join_and_levels_nest)
{
	assay_run *run = assay_run_new();
	add_work(run, 7, 0, 100, "\"tf_op\": \"scope1/scope2/MatMul:Type\"", ASSAY_NO_ROW);
	add_work(run, 7, 200, 300, "\"tf_op\": \"scope1/scope2/MatMul:Type\"", ASSAY_NO_ROW);
	add_work(run, 7, 600, 50, "\"tf_op\": \"scope1/other:Type2\"", ASSAY_NO_ROW);
	assay_derive(run);
	const assay_derived_table *t = &run->part.t.derived;
	CHECK(count_row(run, ASSAY_DERIVED_NAME_SCOPE) == 2);
	CHECK(count_row(run, ASSAY_DERIVED_FRAMEWORK_OPS) == 2);
	CHECK(t->dur[0] == 650 && t->dur[1] == 500 && t->level[1] == 1);
	assay_run_free(run);
	return 0;
}

TEST(events_with_one_span_are_shortened_level_by_level)
{
	assay_run *run = assay_run_new();
	add_work(run, 7, 0, 50, "\"hlo_op\": \"a::b::c\", \"hlo_module\": \"m\"", ASSAY_NO_ROW);
	add_work(run, 7, 60, 30, "\"hlo_op\": \"d\", \"hlo_module\": \"m\"", ASSAY_NO_ROW);
	assay_derive(run);
	const assay_derived_table *t = &run->part.t.derived;
	CHECK(t->dur[1] == 50 && t->dur[2] == 49 && t->dur[3] == 48 && t->dur[4] == 30);
	assay_run_free(run);
	return 0;
}

TEST(what_is_below_a_shortened_event_is_shortened_too)
{
	assay_run *run = assay_run_new();
	add_work(run, 7, 0, 50, "\"hlo_op\": \"a::b::c\", \"hlo_module\": \"m\"", ASSAY_NO_ROW);
	add_work(run, 7, 60, 30, "\"hlo_op\": \"a::b::d\", \"hlo_module\": \"m\"", ASSAY_NO_ROW);
	add_work(run, 7, 100, 5, "\"hlo_op\": \"e\", \"hlo_module\": \"m\"", ASSAY_NO_ROW);
	assay_derive(run);
	const assay_derived_table *t = &run->part.t.derived;
	CHECK(t->dur[1] == 90 && t->dur[2] == 89 && t->dur[3] == 50 && t->dur[4] == 29);
	assay_run_free(run);
	return 0;
}

TEST(every_stream_has_rows)
{
	assay_run *run = assay_run_new();
	for (int i = 0; i < 40; i++)
		add_work(run, i, 0, 10, module_args, ASSAY_NO_ROW);
	assay_derive(run);
	CHECK_EQ(count_row(run, ASSAY_DERIVED_MODULES), 40);
	assay_run_free(run);
	return 0;
}

TEST(steps_split_modules_and_strays_take_the_last_step)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (int i = 0; i < 2; i++) {
		uint32_t s = assay_add(t, ASSAY_T_step), c = add_scope(run, 100 + i);
		t->step.ts[s] = t->scope.ts[c] = i * 100;
		t->step.dur[s] = 90;
		t->step.name[s] = t->scope.name[c] = assay_sid_of(run, i ? "train 1" : "train 0");
		uint32_t h = assay_add(t, ASSAY_T_host), hs = assay_add(t, ASSAY_T_host_scope);
		t->host_scope.scope[hs] = c;
		uint32_t g = add_work(run, 7, i * 100, 10, module_args, ASSAY_NO_ROW);
		t->launch.host[g] = h;
		add_work(run, 7, i * 100 + 20, 10, module_args, ASSAY_NO_ROW); /* no call */
	}
	assay_derive(run);
	CHECK(count_row(run, ASSAY_DERIVED_STEPS) == 2 &&
	      count_row(run, ASSAY_DERIVED_MODULES) == 2);
	CHECK(t->derived.dur[0] == 30 && t->derived.events[0] == 2 && t->derived.group[1] == 1);
	assay_run_free(run);
	return 0;
}

/* A small HLO module for each kind of root scope. xprof's tables of operators, op profile and
 * overview count only work whose operator they find in a module: so each path of scopes is an
 * instruction, and work of programs without XLA is counted where `assay scopes` counts it.
 *
 * Numbers of instances ("step 7") are left out of paths, for tables would have a row for each.
 * Field numbers: xla/service/hlo.proto and xla/xla_data.proto. */
#include "write/xplane.h"

#include <inttypes.h>

#include "base/group.h"
#include "base/sort.h"
#include "base/utf8.h"

enum { HLO_MODULE = 1 };
enum {
	MODULE_NAME = 1,
	MODULE_ENTRY_NAME,
	MODULE_COMPUTATIONS,
	MODULE_PROGRAM_SHAPE,
	MODULE_ID,
	MODULE_ENTRY_ID
};
enum {
	COMPUTATION_NAME = 1,
	COMPUTATION_INSTRUCTIONS,
	COMPUTATION_PROGRAM_SHAPE = 4,
	COMPUTATION_ID,
	COMPUTATION_ROOT_ID
};
enum {
	INSTRUCTION_NAME = 1,
	INSTRUCTION_OPCODE,
	INSTRUCTION_SHAPE,
	INSTRUCTION_METADATA = 7,
	INSTRUCTION_TARGET = 28,
	INSTRUCTION_ID = 35
};
enum { METADATA_TYPE = 1, METADATA_NAME };
enum { SHAPE_TYPE = 2, SHAPE_LAYOUT = 5, PROGRAM_RESULT = 2, TYPE_F32 = 11 };

/* ------------------------------------------------------------------ operators */

/* XLA changes names that are not of this form, and would not find them again. */
static assay_str instruction_name(xplane_writer *w, assay_str stem)
{
	assay_protow clean = {0};
	xplane_add_clean(&clean, stem, 0);
	for (size_t i = 0; i < clean.out.n; i++) {
		char c = clean.out.p[i];
		bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
		bool inside = (c >= '0' && c <= '9') || c == '.' || c == '-';
		if (!letter && (!i || !inside))
			clean.out.p[i] = '_';
	}
	if (clean.out.n > 1 && clean.out.p[0] == '_' && clean.out.p[1] == '_')
		clean.out.p[0] = 'a';
	/* "f32", "bf16", "pred" are types, and get this ending */
	assay_str s = assay_protow_data(&clean);
	bool type =
		assay_str_is(s, "pred") || assay_str_is(s, "token") || assay_str_is(s, "opaque");
	size_t letters = assay_str_starts(s, "bf") ? 2 : s.n && strchr("sufc", s.p[0]) ? 1 : 0;
	if (type || (letters && s.n > letters && s.p[letters] >= '0' && s.p[letters] <= '9'))
		*assay_push(&clean.out) = '_';
	s = assay_protow_data(&clean);
	s.p = assay_dup(&w->scratch, s);
	assay_protow_free(&clean);
	return s;
}

/* Names are unique in a module: of two paths that end alike the second has a number. */
static assay_str unique_name(xplane_writer *w, uint32_t program, assay_str name)
{
	uint64_t key = assay_hash(name.p, name.n, program);
	uint32_t *slot = assay_map_at(&w->op_names, key);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = 2;
		return name;
	}
	for (uint32_t n = *slot;; n++) {
		assay_str numbered =
			assay_str_of(assay_printf(&w->scratch, "%.*s.%u", (int)name.n, name.p, n));
		slot = assay_map_at(&w->op_names, assay_hash(numbered.p, numbered.n, program));
		if (*slot != ASSAY_MAP_ABSENT)
			continue;
		*slot = 2;
		*assay_map_at(&w->op_names, key) = n + 1;
		return numbered;
	}
}

static uint32_t add_op(xplane_writer *w, uint32_t up, uint32_t scope)
{
	assay_str stem = assay_text(w->run, w->t->scope.name[scope]);
	stem.n = assay_scope_stem(stem);
	stem = assay_utf8_repair(&w->scratch, stem);
	uint64_t key = assay_hash(stem.p, stem.n, up);
	uint32_t *slot = assay_map_at(&w->op_at, key);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	uint32_t i = *slot = (uint32_t)w->ops.n;
	uint32_t program = up == ASSAY_NO_ROW ? w->programs++ : w->ops.p[up].program;
	*assay_push(&w->ops) = (xplane_op){
		.up = up,
		.program = program,
		.depth = up == ASSAY_NO_ROW ? 1 : w->ops.p[up].depth + 1,
		.scope = scope,
		.name = unique_name(w, program, instruction_name(w, stem)),
	};
	return i;
}

uint32_t xplane_op_of(xplane_writer *w, uint32_t scope)
{
	const assay_scope_table *s = &w->t->scope;
	assay_vec(uint32_t) chain = {0};
	while (w->op_of.n < s->n)
		*assay_push(&w->op_of) = ASSAY_NO_ROW;
	if (w->op_of.p[scope] != ASSAY_NO_ROW)
		return w->op_of.p[scope];
	for (uint32_t r = scope; r != ASSAY_NO_ROW && w->op_of.p[r] == ASSAY_NO_ROW;
	     r = xplane_scope_above(s, r))
		*assay_push(&chain) = r;
	while (chain.n) {
		uint32_t r = chain.p[--chain.n], above = xplane_scope_above(s, r);
		uint32_t up = above == ASSAY_NO_ROW ? ASSAY_NO_ROW : w->op_of.p[above];
		bool deep = up != ASSAY_NO_ROW && w->ops.p[up].depth == XPLANE_PATH_MAX;
		w->op_of.p[r] = deep ? up : add_op(w, up, r);
	}
	assay_vec_free(&chain);
	return w->op_of.p[scope];
}

static size_t path_of(const xplane_writer *w, uint32_t op, uint32_t path[XPLANE_PATH_MAX])
{
	size_t n = 0;
	for (; op != ASSAY_NO_ROW; op = w->ops.p[op].up)
		path[n++] = op;
	return n;
}

assay_str xplane_module_name(xplane_writer *w, uint32_t op)
{
	uint32_t path[XPLANE_PATH_MAX];
	size_t n = path_of(w, op, path);
	return w->ops.p[path[n - 1]].name;
}

/* ------------------------------------------------------------------ what they do */

/* Equal for scopes that are one operator, whatever order they are met in. */
static uint64_t path_key(xplane_writer *w, uint32_t scope)
{
	const assay_scope_table *s = &w->t->scope;
	uint32_t path[XPLANE_PATH_MAX];
	size_t n = 0;
	for (uint32_t r = scope; r != ASSAY_NO_ROW; r = xplane_scope_above(s, r))
		path[n++ % XPLANE_PATH_MAX] = r;
	uint64_t key = 0;
	for (size_t deep = n < XPLANE_PATH_MAX ? n : XPLANE_PATH_MAX; deep-- > 0; n--) {
		assay_str stem = assay_text(w->run, s->name[path[(n - 1) % XPLANE_PATH_MAX]]);
		key = assay_hash(stem.p, assay_scope_stem(stem), key);
	}
	return key;
}

static uint32_t cost_of(xplane_writer *w, uint32_t scope)
{
	while (w->cost_of.n < w->t->scope.n)
		*assay_push(&w->cost_of) = ASSAY_NO_ROW;
	uint32_t *known = &w->cost_of.p[scope];
	if (*known != ASSAY_NO_ROW)
		return *known;
	uint32_t *slot = assay_map_at(&w->cost_at, path_key(w, scope));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)w->costs.n;
		*assay_push(&w->costs) = (xplane_cost){0};
	}
	return *known = *slot;
}

static double known(double v)
{
	return v > 0 ? v : 0; /* no number when it is unknown */
}

void xplane_sum_costs(xplane_writer *w)
{
	const assay_tables *t = w->t;
	for (uint32_t g = 0; g < t->gpu_op.n && g < t->gpu_scope.n; g++) {
		uint32_t call = t->gpu_op.call[g];
		if (t->gpu_scope.scope[g] == ASSAY_NO_ROW)
			continue;
		uint32_t i = cost_of(w, t->gpu_scope.scope[g]);
		xplane_cost *c = &w->costs.p[i];
		c->events++;
		if (call == ASSAY_NO_ROW || t->op_call.gpu[call] != g ||
		    t->op_call.shape[call] == ASSAY_NO_ROW)
			continue;
		c->flops += known(t->op_shape.flops[t->op_call.shape[call]]);
		c->bytes += known(t->op_shape.bytes[t->op_call.shape[call]]);
	}
}

/* The same for each event: xprof takes what one of them says times their number. */
static void put_cost(xplane_writer *w, xplane_out *p, uint32_t scope)
{
	if (!w->costs.n)
		return;
	uint32_t i = cost_of(w, scope);
	const xplane_cost *c = &w->costs.p[i];
	double flops = c->flops / (double)c->events, bytes = c->bytes / (double)c->events;
	if (flops >= 1 && flops < 0x1p63)
		xplane_put_u64(p, "flops", (uint64_t)flops);
	if (bytes >= 1 && bytes < 0x1p63)
		xplane_put_u64(p, "bytes_accessed", (uint64_t)bytes);
}

static assay_str path_text(xplane_writer *w, uint32_t op)
{
	uint32_t path[XPLANE_PATH_MAX];
	assay_str *known = &w->ops.p[op].path;
	if (known->n)
		return *known;
	assay_protow text = {0};
	for (size_t i = path_of(w, op, path); i-- > 0;) {
		assay_protow_raw(&text, w->ops.p[path[i]].name);
		assay_protow_raw(&text, i ? ASSAY_S("::") : (assay_str){0});
	}
	*known = assay_protow_data(&text);
	known->p = assay_dup(&w->scratch, *known);
	assay_protow_free(&text);
	return *known;
}

static void put_operator(xplane_writer *w, xplane_out *p, uint32_t scope)
{
	uint32_t op = xplane_op_of(w, scope);
	xplane_put_ref(p, "hlo_op", path_text(w, op));
	xplane_put_ref(p, "hlo_module", xplane_module_name(w, op));
	xplane_put_u64(p, "program_id", w->ops.p[op].program + 1);
	put_cost(w, p, scope);
}

void xplane_put_labels(xplane_writer *w, xplane_out *p, uint32_t source, uint32_t scope)
{
	bool real = w->xla.p[source]; /* XLA's own operators are not mixed with ours */
	if (real && scope == ASSAY_NO_ROW)
		return;
	if (!real && !w->has_hlo && scope != ASSAY_NO_ROW) {
		put_operator(w, p, scope);
		return;
	}
	assay_protow text = {0};
	xplane_add_framework_name(&text, w->run, scope);
	assay_protow_raw(&text, ASSAY_S(":"));
	xplane_put_ref(p, "tf_op", assay_protow_data(&text));
	assay_protow_free(&text);
}

/* ------------------------------------------------------------------ modules */

/* Every instruction gives one number: what they compute is not known. */
static void put_scalar(assay_protow *to, uint32_t field)
{
	assay_protow shape = {0};
	assay_protow_varint(&shape, SHAPE_TYPE, TYPE_F32);
	assay_protow_bytes(&shape, SHAPE_LAYOUT, (assay_str){0});
	assay_protow_message(to, field, &shape);
	assay_protow_free(&shape);
}

static void put_program_shape(assay_protow *to, uint32_t field)
{
	assay_protow shape = {0};
	put_scalar(&shape, PROGRAM_RESULT);
	assay_protow_message(to, field, &shape);
	assay_protow_free(&shape);
}

static void put_instruction(xplane_writer *w, assay_protow *to, uint32_t op)
{
	assay_protow one = {0}, meta = {0}, name = {0};
	assay_protow_text(&one, INSTRUCTION_NAME, w->ops.p[op].name);
	assay_protow_text(&one, INSTRUCTION_OPCODE, ASSAY_S("custom-call"));
	put_scalar(&one, INSTRUCTION_SHAPE);
	xplane_add_framework_name(&name, w->run, w->ops.p[op].scope);
	assay_protow_text(&meta, METADATA_NAME, assay_protow_data(&name));
	assay_protow_message(&one, INSTRUCTION_METADATA, &meta);
	assay_protow_text(&one, INSTRUCTION_TARGET, ASSAY_S("scope"));
	assay_protow_varint(&one, INSTRUCTION_ID, op + 1);
	assay_protow_message(to, COMPUTATION_INSTRUCTIONS, &one);
	assay_protow_free(&one);
	assay_protow_free(&meta);
	assay_protow_free(&name);
}

/* The operators of a program stand in order, its root first. */
static void put_module(xplane_writer *w, assay_protow *to, const uint32_t *ops, size_t n)
{
	assay_str name = w->ops.p[ops[0]].name;
	uint64_t program = w->ops.p[ops[0]].program + 1;
	assay_protow module = {0}, entry = {0};
	assay_protow_text(&entry, COMPUTATION_NAME, name);
	for (size_t i = 0; i < n; i++)
		put_instruction(w, &entry, ops[i]);
	put_program_shape(&entry, COMPUTATION_PROGRAM_SHAPE);
	assay_protow_varint(&entry, COMPUTATION_ID, program);
	assay_protow_varint(&entry, COMPUTATION_ROOT_ID, ops[0] + 1);
	assay_protow_text(&module, MODULE_NAME, name);
	assay_protow_text(&module, MODULE_ENTRY_NAME, name);
	assay_protow_message(&module, MODULE_COMPUTATIONS, &entry);
	put_program_shape(&module, MODULE_PROGRAM_SHAPE);
	assay_protow_varint(&module, MODULE_ID, program);
	assay_protow_varint(&module, MODULE_ENTRY_ID, program);
	assay_protow_message(to, HLO_MODULE, &module);
	assay_protow_free(&module);
	assay_protow_free(&entry);
}

static void put_program(xplane_writer *w, xplane_out *p, const uint32_t *ops, size_t n)
{
	uint64_t program = w->ops.p[ops[0]].program + 1;
	assay_protow hlo = {0};
	put_module(w, &hlo, ops, n);
	assay_protow_varint(&p->meta, XMETA_ID, program);
	assay_protow_text(&p->meta, XMETA_NAME,
			  assay_str_of(assay_printf(&w->scratch, "%.*s(%" PRIu64 ")",
						    (int)w->ops.p[ops[0]].name.n,
						    w->ops.p[ops[0]].name.p, program)));
	assay_protow_varint(&p->stat, XSTAT_META, xplane_stat_id(p, ASSAY_S("Hlo Proto")));
	assay_protow_bytes(&p->stat, XSTAT_BYTES, assay_protow_data(&hlo));
	assay_protow_message(&p->meta, XMETA_STATS, &p->stat);
	assay_protow_varint(&p->entry, XENTRY_KEY, program);
	assay_protow_message(&p->entry, XENTRY_VALUE, &p->meta);
	assay_protow_message(&p->event_meta, XPLANE_EVENT_META, &p->entry);
	assay_protow_free(&hlo);
}

void xplane_write_hlo(xplane_writer *w)
{
	if (!w->ops.n || w->has_hlo)
		return;
	xplane_out p = {0};
	size_t n = w->ops.n;
	uint32_t *ops = assay_alloc(&w->scratch, n * sizeof *ops);
	size_t *first = assay_alloc(&w->scratch, (w->programs + 1) * sizeof *first);
	uint32_t *program = assay_alloc(&w->scratch, n * sizeof *program);
	for (size_t i = 0; i < n; i++)
		program[i] = w->ops.p[i].program;
	assay_group_rows(ops, first, NULL, n, program, w->programs);
	for (size_t i = 0; i < w->programs; i++)
		put_program(w, &p, ops + first[i], first[i + 1] - first[i]);
	xplane_plane_stat(&p, assay_str_of(xplane_stat_name[XPLANE_MADE]), ASSAY_S("1"));
	xplane_name_group(w, &p);
	xplane_end_plane(&p, w->out, 0, ASSAY_S(XPLANE_METADATA), (assay_str){0});
}

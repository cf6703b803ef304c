/* Scopes inside command buffers of XLA: the instructions that a buffer replays have the names of
 * the program's own scopes, jit(step)/layer0/mlp/dot_general. Which instruction a piece of work is
 * was inferred (captures_hlo.c), so these scopes are inferred, too. */
#include "analyze/scopes.h"

#include "base/test.h"
#include "model/by_hand.h"

/* Ids from here on are of this file: beyond those of inputs and of assay_scopes(). */
#define FIRST_ID (INT64_MIN + (1ll << 61))

typedef struct programs {
	assay_run *run;
	assay_tables *t;
	assay_map at; /* scope around and name -> row of scope */
	int64_t next; /* id */
} programs;

/* The parts of a path between slashes that are in no brackets: jit(a/b) is one. */
static assay_str next_part(assay_str *path)
{
	size_t n = 0;
	for (int deep = 0; n < path->n && (deep > 0 || path->p[n] != '/'); n++)
		deep += path->p[n] == '(' ? 1 : path->p[n] == ')' ? -1 : 0;
	assay_str part = {path->p, n};
	n += n < path->n;
	*path = (assay_str){path->p + n, path->n - n};
	return part;
}

static uint32_t scope_below(programs *p, uint32_t up, assay_str name, uint32_t gpu)
{
	assay_scope_table *s = &p->t->scope;
	assay_sid sid = assay_intern(&p->run->part.strings, name);
	uint64_t key[] = {up, sid};
	uint32_t *slot = assay_map_at(&p->at, assay_hash(key, sizeof key, 0));
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	uint32_t r = *slot = assay_add(p->t, ASSAY_T_scope);
	s->id[r] = p->next++;
	s->parent[r] = s->id[up];
	s->up[r] = up;
	s->name[r] = sid;
	s->source[r] = s->source[up];
	s->track[r] = s->track[up];
	s->ts[r] = p->t->gpu.ts[gpu];
	s->kind[r] = ASSAY_SCOPE_KIND_OP;
	return r;
}

/* Of instructions joined from several, "a;b", the first. The first part of the path is the program,
 * and that is a scope already. */
static void place(programs *p, uint32_t gpu, assay_str all)
{
	uint32_t scope = p->t->gpu_scope.scope[gpu];
	assay_str path = assay_str_cut(&all, ';');
	if (assay_str_starts(path, "jit(") || assay_str_starts(path, "pjit("))
		next_part(&path);
	while (path.n) {
		assay_str part = next_part(&path);
		if (part.n)
			scope = scope_below(p, scope, part, gpu);
	}
	p->t->gpu_scope.scope[gpu] = scope;
}

bool assay_scope_is_of_program(const assay_scope_table *s, uint32_t scope)
{
	return scope < s->n && s->id[scope] >= FIRST_ID && s->id[scope] < FIRST_ID + UINT32_MAX &&
	       !(s->flags[scope] & ASSAY_SCOPE_GIVEN);
}

void assay_scopes_of_programs(assay_run *run)
{
	programs p = {.run = run, .t = &run->part.t, .next = FIRST_ID};
	const assay_tables *t = p.t;
	for (uint32_t g = 0; g < t->gpu_captured.n && g < t->gpu_scope.n; g++) {
		uint32_t op = t->gpu_captured.op[g];
		if (op != ASSAY_NO_ROW && t->captured.program[op] &&
		    t->gpu_scope.scope[g] != ASSAY_NO_ROW)
			place(&p, g, assay_text(run, t->captured.name[op]));
	}
	assay_map_free(&p.at);
}

TEST(work_of_a_command_buffer_lies_in_the_scopes_of_its_program)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t buffer = assay_add(t, ASSAY_T_scope);
	t->scope.id[buffer] = 5;
	static const char *const names[] = {"jit(f)/jvp(a/b)/mlp/dot",
					    "jit(f)/jvp(a/b)/mlp/tanh;jit(f)/x", "copy.1"};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t op = assay_add(t, ASSAY_T_captured);
		t->captured.name[op] = assay_sid_of(run, names[i]);
		t->captured.program[op] = 1;
		assay_hand_gpu(run, "k", 10 * i, 5, ASSAY_NO_ROW);
		uint32_t in = assay_add(t, ASSAY_T_gpu_scope);
		uint32_t of = assay_add(t, ASSAY_T_gpu_captured);
		t->gpu_scope.scope[in] = buffer;
		t->gpu_captured.op[of] = op;
	}
	assay_scopes_of_programs(run);
	const uint32_t *scope = t->gpu_scope.scope;
	CHECK(t->scope.n == 6 && t->scope.up[scope[0]] == t->scope.up[scope[1]]);
	CHECK(assay_str_is(assay_text(run, t->scope.name[scope[0]]), "dot"));
	uint32_t mlp = t->scope.up[scope[0]], outer = t->scope.up[mlp];
	CHECK(assay_str_is(assay_text(run, t->scope.name[outer]), "jvp(a/b)"));
	CHECK(t->scope.up[outer] == buffer && t->scope.up[scope[2]] == buffer);
	CHECK(assay_scope_is_of_program(&t->scope, mlp) &&
	      !assay_scope_is_of_program(&t->scope, buffer));
	CHECK(t->scope.parent[outer] == 5 && t->scope.id[outer] != t->scope.id[mlp]);
	assay_run_free(run);
	return 0;
}

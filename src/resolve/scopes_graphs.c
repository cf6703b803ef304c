/* Work of graphs whose making was recorded node by node (nsys): below the range of the launch, the
 * ranges in which its node was made. Each launch that has others around it has scopes of its own
 * for them. */
#include "base/json.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "resolve/scopes.h"

typedef struct made_node {
	uint32_t host;     /* row of its making */
	uint64_t original; /* the node it is a copy of; 0: of none */
} made_node;

typedef struct graphs {
	scopes *s;
	assay_tables *t;
	assay_vec(made_node) node;
	assay_map at;    /* source and number -> node */
	assay_map below; /* scope and name -> row of scope */
	struct thread_ids ids;
} graphs;

static void take_node(graphs *m, uint32_t h, assay_arena *scratch)
{
	uint64_t number = 0, original = 0;
	assay_str key, raw;
	assay_arena_reset(scratch);
	assay_json j = assay_json_members(scratch, assay_text(m->s->run, m->t->host.args[h]));
	while (assay_json_member(&j, &key) && assay_json_skip(&j, &raw)) {
		if (assay_str_is(key, "graphNodeId"))
			assay_str_u64(raw, &number);
		else if (assay_str_is(key, "originalGraphNodeId"))
			assay_str_u64(raw, &original);
	}
	if (!number)
		return;
	uint32_t source = scopes_source(m->s, m->t->host.track[h]);
	*assay_map_at(&m->at, assay_corr_key(source, number)) = (uint32_t)m->node.n;
	*assay_push(&m->node) = (made_node){h, original == number ? 0 : original};
}

/* A graph is copied when it is made ready, and may be part of another. */
static uint32_t made_at(const graphs *m, uint32_t source, uint64_t number)
{
	enum { COPIES_MAX = 16 };
	uint32_t host = ASSAY_NO_ROW;
	for (int i = 0; i < COPIES_MAX && number; i++) {
		uint32_t at = assay_map_get(&m->at, assay_corr_key(source, number));
		if (at == ASSAY_MAP_ABSENT)
			break;
		host = m->node.p[at].host;
		number = m->node.p[at].original;
	}
	return host;
}

static uint32_t scope_below(graphs *m, uint32_t up, uint32_t like, uint32_t gpu)
{
	assay_scope_table *t = &m->t->scope;
	uint64_t key[] = {up, t->name[like]};
	uint32_t *slot = assay_map_at(&m->below, assay_hash(key, sizeof key, 0));
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	uint32_t r = *slot = scopes_new(m->s, scopes_unused_id(m->s, &m->ids), t->source[like]);
	t->parent[r] = up == ASSAY_NO_ROW ? 0 : t->id[up];
	t->up[r] = up;
	t->name[r] = t->name[like];
	t->track[r] = t->track[like];
	t->ts[r] = m->t->gpu.ts[gpu];
	t->kind[r] = t->kind[like];
	return r;
}

static bool is_around(const assay_scope_table *t, uint32_t outer, uint32_t scope)
{
	while (scope != ASSAY_NO_ROW && scope != outer)
		scope = t->up[scope];
	return scope == outer;
}

/* The ranges of its making that are not around the launch anyway. */
static void place(graphs *m, uint32_t gpu, uint32_t made)
{
	enum { DEEP = 64 };
	const assay_scope_table *t = &m->t->scope;
	uint32_t path[DEEP], launch = m->t->gpu_scope.scope[gpu];
	int n = 0;
	for (; made != ASSAY_NO_ROW && n < DEEP; made = t->up[made]) {
		if (launch != ASSAY_NO_ROW && is_around(t, made, launch))
			break;
		path[n++] = made;
	}
	if (!n)
		return;
	while (n-- > 0)
		launch = scope_below(m, launch, path[n], gpu);
	m->t->gpu_scope.scope[gpu] = launch;
	m->t->gpu_scope.how[gpu] = ASSAY_SCOPE_HOW_NODE;
}

void scopes_of_graphs(scopes *s)
{
	graphs m = {.s = s, .t = s->t};
	const assay_tables *t = s->t;
	assay_arena scratch = {0};
	assay_sid making = assay_pool_find(&s->run->part.strings, ASSAY_S("cuda_graph"));
	for (uint32_t h = 0; making && h < t->host.n; h++)
		if (t->host.kind[h] == ASSAY_HOST_OTHER && t->host.detail[h] != ASSAY_NO_ROW &&
		    t->other.cat[t->host.detail[h]] == making)
			take_node(&m, h, &scratch);
	for (uint32_t g = 0; m.node.n && g < t->gpu.n; g++) {
		uint32_t source = scopes_source(s, t->gpu.track[g]);
		uint32_t h = made_at(&m, source, t->gpu.graph_node[g]);
		if (h != ASSAY_NO_ROW && t->host_scope.scope[h] != ASSAY_NO_ROW)
			place(&m, g, t->host_scope.scope[h]);
	}
	assay_arena_free(&scratch);
	assay_vec_free(&m.node);
	assay_map_free(&m.at);
	assay_map_free(&m.below);
}

static void hand_node(assay_run *run, int64_t ts, uint64_t node, uint64_t original)
{
	assay_tables *t = &run->part.t;
	char args[96];
	snprintf(args, sizeof args, "\"graphNodeId\": %llu,\"originalGraphNodeId\": %llu",
		 (unsigned long long)node, (unsigned long long)original);
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OTHER, "Graph Node Creation", ts, 1);
	uint32_t other = assay_add(t, ASSAY_T_other);
	t->other.cat[other] = assay_sid_of(run, "cuda_graph");
	t->host.detail[h] = other;
	t->host.args[h] = assay_sid_of(run, args);
}

static const char *path_of(assay_run *run, uint32_t scope)
{
	const assay_scope_table *t = &run->part.t.scope;
	const char *path = "";
	for (; scope != ASSAY_NO_ROW; scope = t->up[scope])
		path = assay_printf(&run->arena, "/%s%s", assay_z(run, t->name[scope]), path);
	return path;
}

TEST(work_of_a_graph_lies_in_the_ranges_in_which_its_nodes_were_made)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	assay_hand_host(run, ASSAY_HOST_MARKER, "loop", 0, 900);
	assay_hand_host(run, ASSAY_HOST_MARKER, "capture", 10, 100);
	assay_hand_host(run, ASSAY_HOST_MARKER, "layer 0", 20, 50);
	hand_node(run, 30, 1, 0);
	hand_node(run, 130, 11, 1); /* the copy that runs is made anywhere */
	assay_hand_host(run, ASSAY_HOST_MARKER, "step 3", 200, 100);
	uint32_t inside = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaGraphLaunch", 210, 5);
	uint32_t after = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaGraphLaunch", 1000, 5);
	const uint32_t call[] = {inside, after, inside};
	const uint64_t node[] = {11, 11, 12};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t g = assay_hand_gpu(run, "k", 1100 + 10 * i, 5, call[i]);
		t->gpu.graph_node[g] = node[i];
	}
	assay_scopes(run, NULL);
	const uint32_t *scope = t->gpu_scope.scope;
	CHECK(!strcmp(path_of(run, scope[0]), "/loop/step 3/capture/layer 0"));
	CHECK(!strcmp(path_of(run, scope[1]), "/loop/capture/layer 0"));
	CHECK(!strcmp(path_of(run, scope[2]), "/loop/step 3"));
	CHECK(t->gpu_scope.how[0] == ASSAY_SCOPE_HOW_NODE);
	CHECK(t->gpu_scope.how[2] == ASSAY_SCOPE_HOW_LAUNCH);
	CHECK(t->scope.parent[t->scope.up[scope[0]]] != 0);
	assay_run_free(run);
	return 0;
}

/* From a gradient's operator to the forward operator it belongs to, by autograd's sequence
 * numbers. */
#include "resolve/scopes.h"

static uint64_t fold(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t key[3] = {a, b, c};
	return assay_hash(key, sizeof key, 0);
}

/* PyTorch's emit_nvtx puts the number into the text: "aten::mm, seq = 5, op_id = 9". */
static struct marked_op read_marker(assay_str name)
{
	static const char key[] = ", seq = ";
	ptrdiff_t at = assay_str_find(name, key);
	struct marked_op m = {-1, false};
	if (at < 0)
		return m;
	assay_str rest = {name.p + at + sizeof key - 1, name.n - (size_t)at - (sizeof key - 1)};
	int64_t seq;
	if (assay_str_i64(assay_str_cut(&rest, ','), &seq) && seq >= 0)
		m.seq = seq;
	name.n = (size_t)at;
	m.backward = assay_str_find(name, "Backward") >= 0;
	return m;
}

static struct marked_op op_of(scopes *s, uint32_t h)
{
	const assay_tables *t = s->t;
	uint32_t d = t->host.detail[h];
	if (t->host.kind[h] == ASSAY_HOST_OP)
		return (struct marked_op){t->op.seq[d], t->op.fwd_thread[d] > 0};
	if (t->host.kind[h] != ASSAY_HOST_MARKER || !t->host.name[h])
		return (struct marked_op){-1, false};
	uint32_t *slot = assay_map_at(&s->marked, t->host.name[h]);
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)s->marked_ops.n;
		*assay_push(&s->marked_ops) = read_marker(assay_text(s->run, t->host.name[h]));
	}
	return s->marked_ops.p[*slot];
}

bool scopes_is_backward(scopes *s, uint32_t h)
{
	struct marked_op m = op_of(s, h);
	return m.seq >= 0 && m.backward;
}

/* Operators carry the number the next node of the graph will get, so of several with one number the
 * last to start made it. */
static void index_operators(scopes *s)
{
	const assay_tables *t = s->t;
	assay_vec(uint32_t) count = {0};
	for (size_t i = 0; i < t->track.n; i++)
		*assay_push(&count) = 0;
	for (uint32_t h = 0; h < t->host.n; h++) {
		struct marked_op m = op_of(s, h);
		if (m.seq < 0 || m.backward)
			continue;
		uint32_t track = t->host.track[h];
		uint32_t *slot = assay_map_at(&s->forward, fold(track, (uint64_t)m.seq, 0));
		if (*slot == ASSAY_MAP_ABSENT || t->host.ts[*slot] <= t->host.ts[h])
			*slot = h;
		count.p[track]++;
	}
	for (size_t i = 0; i <= t->source.n; i++)
		*assay_push(&s->forward_track) = ASSAY_NO_ROW;
	for (uint32_t k = 0; k < t->track.n; k++) {
		if (!count.p[k])
			continue;
		uint32_t *best = &s->forward_track.p[scopes_source(s, k)];
		if (*best == ASSAY_NO_ROW || count.p[k] > count.p[*best])
			*best = k;
	}
	assay_vec_free(&count);
}

/* The framework numbers threads its own way; arrows from forward to backward tell which is
 * which. */
static void learn_threads(scopes *s)
{
	const assay_tables *t = s->t;
	assay_sid cat = assay_pool_find(&s->run->part.strings, ASSAY_S("fwdbwd"));
	assay_map start = {0}, backward = {0};
	for (uint32_t f = 0; cat && f < t->flow.n; f++)
		if (t->flow.cat[f] == cat && t->flow.phase[f] == 's')
			*assay_map_at(&start, fold(scopes_source(s, t->flow.track[f]),
						   t->flow.id[f], 1)) = t->flow.track[f];
	for (uint32_t h = 0; start.n && h < t->host.n; h++)
		if (t->host.kind[h] == ASSAY_HOST_OP && scopes_is_backward(s, h))
			*assay_map_at(&backward,
				      fold(t->host.track[h], (uint64_t)t->host.ts[h], 2)) = h;
	for (uint32_t f = 0; start.n && f < t->flow.n; f++) {
		if (t->flow.cat[f] != cat || t->flow.phase[f] != 'f')
			continue;
		uint32_t source = scopes_source(s, t->flow.track[f]);
		uint32_t from = assay_map_get(&start, fold(source, t->flow.id[f], 1));
		uint32_t h = assay_map_get(&backward,
					   fold(t->flow.track[f], (uint64_t)t->flow.ts[f], 2));
		if (from != ASSAY_MAP_ABSENT && h != ASSAY_MAP_ABSENT)
			*assay_map_at(&s->forward_thread,
				      fold(source, (uint64_t)t->op.fwd_thread[t->host.detail[h]],
					   3)) = from;
	}
	assay_map_free(&start);
	assay_map_free(&backward);
}

uint32_t scopes_forward_of(scopes *s, uint32_t h)
{
	const assay_tables *t = s->t;
	uint32_t d = t->host.detail[h], source = scopes_source(s, t->host.track[h]);
	uint32_t track = ASSAY_MAP_ABSENT;
	if (t->host.kind[h] == ASSAY_HOST_OP)
		track = assay_map_get(&s->forward_thread,
				      fold(source, (uint64_t)t->op.fwd_thread[d], 3));
	if (track == ASSAY_MAP_ABSENT)
		track = s->forward_track.p[source];
	return assay_map_get(&s->forward, fold(track, (uint64_t)op_of(s, h).seq, 0));
}

void scopes_index_forward(scopes *s)
{
	index_operators(s);
	learn_threads(s);
}

/* Autograd gives an operator and its gradient one sequence number. "XBackward" is of "X". */
#include "work/op_forward.h"

#include <stdlib.h>

#include "base/compare.h"

static int64_t sequence_of(const assay_tables *t, uint32_t host)
{
	uint32_t detail = t->host.detail[host];
	bool is_op = t->host.kind[host] == ASSAY_HOST_OP && detail < t->op.n;
	return is_op ? t->op.seq[detail] : -1;
}

static uint64_t key_of(const assay_tables *t, assay_sid name, uint32_t host, int64_t sequence)
{
	const int64_t key[] = {name, assay_track_group(t, t->host.track[host]), sequence};
	return assay_hash(key, sizeof key, 0);
}

static void read_calls(assay_forwards *f, const assay_run *run, assay_sid name)
{
	const assay_tables *t = &run->part.t;
	for (uint32_t h = 0; h < t->host.n; h++)
		if (t->host.name[h] == name && sequence_of(t, h) >= 0)
			*assay_map_at(&f->calls, key_of(t, name, h, sequence_of(t, h))) = h;
}

/* FBGEMM's tables: the gradient has another name, and the forward call no number. */
static const char lookup[] = "fbgemm::split_embedding_codegen_lookup_",
		  lookup_gradient[] = "torch::autograd::CppNode<SplitLookupFunction";

static bool is_lookup(const assay_run *run, uint32_t host)
{
	return assay_str_starts(assay_text(run, run->part.t.host.name[host]), lookup);
}

struct place {
	uint32_t track, host;
	int64_t ts;
};

static int by_time_on_thread(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return assay_then(ASSAY_CMP(x->track, y->track), ASSAY_CMP(x->ts, y->ts));
}

/* A node takes the number that its thread has come to, and operators say that number before it is
 * taken: a lookup has that of the last one before it. */
static void read_lookups(assay_forwards *f, const assay_run *run, assay_sid as)
{
	const assay_tables *t = &run->part.t;
	assay_vec(struct place) ops = {0};
	int64_t last = -1;
	for (uint32_t h = 0; h < t->host.n; h++)
		if (t->host.kind[h] == ASSAY_HOST_OP &&
		    (sequence_of(t, h) >= 0 || is_lookup(run, h)))
			*assay_push(&ops) = (struct place){t->host.track[h], h, t->host.ts[h]};
	if (ops.n)
		qsort(ops.p, ops.n, sizeof *ops.p, by_time_on_thread);
	for (size_t i = 0; i < ops.n; i++) {
		uint32_t h = ops.p[i].host;
		if (i && ops.p[i - 1].track != ops.p[i].track)
			last = -1;
		if (sequence_of(t, h) >= 0)
			last = sequence_of(t, h);
		if (last >= 0 && is_lookup(run, h))
			*assay_map_at(&f->calls, key_of(t, as, h, last)) = h;
	}
	assay_vec_free(&ops);
}

uint32_t assay_forward_of(assay_forwards *f, assay_run *run, uint32_t gradient)
{
	const assay_tables *t = &run->part.t;
	assay_str name = assay_text(run, t->host.name[gradient]);
	const size_t tail = sizeof "Backward" - 1;
	int64_t sequence = sequence_of(t, gradient);
	if (name.n <= tail || sequence < 0)
		return ASSAY_NO_ROW;
	bool looks_up = assay_str_starts(name, lookup_gradient);
	assay_sid forward =
		looks_up ? assay_sid_of(run, lookup)
			 : assay_intern(&run->part.strings, (assay_str){name.p, name.n - tail});
	uint32_t *was_read = assay_map_at(&f->calls, forward);
	if (*was_read == ASSAY_MAP_ABSENT) {
		*was_read = 1;
		(looks_up ? read_lookups : read_calls)(f, run, forward);
	}
	return assay_map_get(&f->calls, key_of(t, forward, gradient, sequence));
}

void assay_forwards_free(assay_forwards *f)
{
	assay_map_free(&f->calls);
}

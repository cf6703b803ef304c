/* A program without operators of a kind: those, and calls, that wait for the device to read a value
 * back, and what only makes the values; those that send little each; or rounds that would be one.
 */
#include "path/outer.h"

#include "names/copies.h"

/* What does more than find a value is needed for that. */
static bool reads_back(const assay_outer *o)
{
	enum { MUCH = 16 }; /* pieces of work */
	return o->blocks && !o->what.product && !o->what.sends && o->what.count <= MUCH;
}

/* The reduction whose value is read, if the last work before the read is one; else the read. */
static size_t reduction_before(const assay_outers *s, size_t reader)
{
	for (size_t i = reader; i && s->op.p[i - 1].thread == s->op.p[reader].thread; i--) {
		const assay_outer *o = &s->op.p[i - 1];
		if (o->what.count || o->blocks)
			return o->what.reduces && !o->blocks && !o->what.product ? i - 1 : reader;
	}
	return reader;
}

/* Where all that lies between two reads are few operators that end in a reduction, all of them make
 * the value that is read; else the reduction. */
static size_t first_maker(const assay_outers *s, size_t reader)
{
	enum { MAKERS = 3 };
	size_t reduction = reduction_before(s, reader), makers = 0, first = reduction;
	while (reduction < reader && first && s->op.p[first - 1].thread == s->op.p[reader].thread) {
		const assay_outer *o = &s->op.p[first - 1];
		if (o->blocks)
			return o->goes && !o->bare ? first : reduction;
		makers += o->what.count > 0;
		if (o->what.product || o->what.sends || makers >= MAKERS)
			break;
		first--;
	}
	return reduction;
}

/* A value that is made of much, read again and again, serves nothing else; that of a step may be
 * the one that the rest of it is about. */
static void mark_makers(assay_outers *s)
{
	uint64_t made = 0;
	for (size_t i = 0; i < s->op.n; i++)
		made += s->op.p[i].goes && s->op.p[i].blocks && reduction_before(s, i) < i;
	for (size_t i = 0; made * ASSAY_DENSE_WORK >= s->g->work && i < s->op.n; i++) {
		const assay_outer *o = &s->op.p[i];
		if (!o->goes || !o->blocks || o->bare)
			continue;
		for (size_t k = first_maker(s, i); k < i; k++)
			s->op.p[k].goes = true;
	}
}

/* Several of these could be one copy; a large one goes as fast as the bus does. */
static bool sends_a_bit(const assay_outer *o)
{
	return o->what.sends && !o->what.brings && !o->what.kernels && !o->line && !o->bare &&
	       o->what.bytes < o->what.count * (int64_t)ASSAY_SMALL_COPY;
}

static assay_str name_of(const assay_outers *s, size_t i)
{
	return assay_text(s->g->run, s->g->run->part.t.host.name[s->op.p[i].row]);
}

/* Who finds rows by a mask takes them out and puts them back: with all rows, up to the next product
 * or read none of that is needed. */
static void mark_indexing(assay_outers *s, size_t reader)
{
	static const char *const words[] = {"::index", "::gather", "::scatter", "::take"};
	for (size_t i = reader + 1; i < s->op.n; i++) {
		assay_outer *o = &s->op.p[i];
		if (o->thread != s->op.p[reader].thread || o->blocks || o->what.product)
			return;
		for (size_t k = 0; k < ASSAY_COUNT_OF(words); k++)
			o->goes |= !o->line && assay_str_find(name_of(s, i), words[k]) >= 0;
	}
}

/* What is read with more than a value, as a size that work then has, leaves an operator of the
 * usual length behind. */
static void mark_reads(assay_outers *s)
{
	int64_t usual = assay_outers_usual(s);
	for (size_t i = 0; i < s->op.n; i++) {
		assay_outer *o = &s->op.p[i];
		int64_t half = (o->to - o->from) / 2;
		if (!reads_back(o))
			continue;
		o->goes = true;
		if (assay_str_is(name_of(s, i), "aten::nonzero"))
			mark_indexing(s, i);
		else if (o->behind)
			o->keeps = usual < half ? usual : half;
	}
	mark_makers(s);
}

static void mark_operators(assay_outers *s, assay_operators_kind kind)
{
	if (kind == ASSAY_OPERATORS_READ)
		mark_reads(s);
	for (size_t i = 0; kind == ASSAY_OPERATORS_SEND_BIT && i < s->op.n; i++)
		s->op.p[i].goes = sends_a_bit(&s->op.p[i]);
}

static int64_t gone_kernels(const assay_outers *s)
{
	int64_t ns = 0;
	for (size_t i = 0; i < s->op.n; i++)
		ns += s->op.p[i].goes ? s->op.p[i].what.kernels : 0;
	return ns;
}

/* The operator that does it for longest; gradients are a consequence of what others did. */
static assay_gone_operators tell(const assay_outers *s, assay_operators_kind kind, int64_t from,
				 int64_t to)
{
	const assay_host_table *h = &s->g->run->part.t.host;
	assay_gone_operators told = {.name = 0};
	assay_map names = {0};
	assay_vec(int64_t) sum = {0};
	for (size_t i = 0; i < s->op.n; i++) {
		const assay_outer *o = &s->op.p[i];
		bool maker = !o->blocks &&
			     (kind == ASSAY_OPERATORS_READ || kind == ASSAY_OPERATORS_ROUNDS_READ);
		if (!o->goes || maker || o->from < from || o->from >= to)
			continue;
		assay_sid name = h->name[o->row];
		uint32_t *slot = assay_map_at(&names, name);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)sum.n;
			*assay_push(&sum) = 0;
		}
		bool gradient = assay_str_starts(assay_text(s->g->run, name), "autograd::");
		int64_t ns = sum.p[*slot] += gradient ? 1 : o->to - o->from;
		told.name = ns > told.most ? name : told.name;
		told.only_waits = ns > told.most ? o->bare : told.only_waits;
		told.most = ns > told.most ? ns : told.most;
		told.times++;
		told.waits += o->waits;
		told.bytes += o->what.bytes;
	}
	assay_map_free(&names);
	assay_vec_free(&sum);
	return told;
}

assay_gone_operators assay_path_without_operators(const assay_path_graph *g,
						  assay_operators_kind kind, int64_t from,
						  int64_t to, assay_path_changes *out)
{
	assay_gone_operators told = {.name = 0};
	bool rounds = kind == ASSAY_OPERATORS_ROUNDS || kind == ASSAY_OPERATORS_ROUNDS_READ;
	double most = rounds ? 0.8 : 0.5; /* of the kernels' time */
	assay_outers s;
	assay_outers_find(&s, g, NULL);
	if (rounds)
		assay_outers_mark_rounds(&s, kind == ASSAY_OPERATORS_ROUNDS_READ);
	else
		mark_operators(&s, kind);
	if ((double)gone_kernels(&s) <= most * (double)s.kernels)
		told = tell(&s, kind, from, to);
	if (told.times)
		assay_outers_drop(&s, out);
	assay_outers_free(&s);
	return told;
}

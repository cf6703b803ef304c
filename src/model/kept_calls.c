#include "model/kept_calls.h"

#include "base/assert.h"
#include "base/test.h"

uint32_t assay_comm_kind_of(assay_comm_kinds *k, const assay_run *run, uint32_t call)
{
	const assay_call_table *c = &run->part.t.call;
	assay_comm_kind one = {.name = c->name[call],
			       .group = c->group[call],
			       .members = c->members[call],
			       .size = c->size[call],
			       .bytes = c->bytes[call],
			       .on_host = c->on_host[call],
			       .numbered = c->seq[call] >= 0};
	const int64_t same[] = {one.name,  one.group,   one.members, one.size,
				one.bytes, one.on_host, one.numbered};
	uint32_t *slot = assay_map_at(&k->row, assay_hash(same, sizeof same, 3));
	if (*slot == ASSAY_MAP_ABSENT) {
		assay_str group = assay_text(run, one.group),
			  members = assay_text(run, one.members);
		*slot = (uint32_t)k->kind.n;
		one.of_group = assay_hash(members.p, members.n, assay_hash(group.p, group.n, 1));
		*assay_push(&k->kind) = one;
	}
	return *slot;
}

void assay_comm_kinds_free(assay_comm_kinds *k)
{
	assay_vec_free(&k->kind);
	assay_map_free(&k->row);
}

/* A sequence number says outright which calls belong together, the place in its step otherwise. */
static uint64_t call_id(const assay_comm_kind *kind, const assay_call_table *c, uint32_t row)
{
	const uint64_t of[] = {kind->of_group, (uint64_t)c->step[row], kind->numbered,
			       kind->numbered ? (uint64_t)c->seq[row] : c->place[row]};
	return assay_hash(of, sizeof of, 1);
}

assay_kept_call assay_kept_call_of(const assay_comm_kind *kind, const assay_run *run, uint32_t call)
{
	const assay_call_table *c = &run->part.t.call;
	assert(c->source[call] < run->part.t.source.n);
	int64_t ts = c->ts[call] + run->part.t.source.base[c->source[call]];
	return (assay_kept_call){.id = call_id(kind, c, call),
				 .ts = ts,
				 .end = ts + c->dur[call],
				 .step = c->step[call],
				 .source = c->source[call]};
}

static assay_kept_calls *kept_calls(assay_run *run)
{
	if (!run->kept_calls) {
		run->kept_calls = assay_alloc(&run->arena, sizeof *run->kept_calls);
		run->kept_calls->call.width = sizeof(assay_kept_call);
	}
	return run->kept_calls;
}

void assay_calls_keep(assay_run *run)
{
	assay_call_table *c = &run->part.t.call;
	assay_kept_calls *k = kept_calls(run);
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t kind = assay_comm_kind_of(&k->kinds, run, i);
		assay_kept_call one = assay_kept_call_of(&k->kinds.kind.p[kind], run, i);
		one.kind = kind;
		assay_spill_push(&k->call, &one);
	}
	c->n = 0;
}

static void move_text(assay_run *to, const assay_run *from, assay_sid *id)
{
	*id = assay_intern(&to->part.strings, assay_text(from, *id));
}

void assay_kept_calls_move(assay_run *to, assay_run *from, const bool *skip, uint32_t first)
{
	assay_kept_calls *k = kept_calls(to);
	assay_kept_calls *old = kept_calls(from);
	assert(!k->call.n && !k->source.n);
	*k = *old;
	*old = (assay_kept_calls){.call.width = k->call.width};
	for (size_t i = 0; i < k->kinds.kind.n; i++) {
		move_text(to, from, &k->kinds.kind.p[i].name);
		move_text(to, from, &k->kinds.kind.p[i].group);
		move_text(to, from, &k->kinds.kind.p[i].members);
	}
	for (size_t i = 0; i < from->part.t.source.n; i++)
		*assay_push(&k->source) = skip[i] ? ASSAY_NO_ROW : first++;
}

void assay_kept_calls_free(assay_kept_calls *k)
{
	if (!k)
		return;
	assay_spill_free(&k->call);
	assay_comm_kinds_free(&k->kinds);
	assay_vec_free(&k->source);
}

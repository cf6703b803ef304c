/* Scopes of what is no work of a device: waits, memory taken and given back, recorded events. */
#include "base/group.h"
#include "base/sort.h"
#include "resolve/scopes.h"

/* Memory on host threads, by thread and time. */
void scopes_index_allocs(scopes *s)
{
	const assay_alloc_table *a = &s->t->alloc;
	size_t tracks = s->t->track.n;
	assay_reserve(s->t, ASSAY_T_alloc_scope, a->n);
	s->t->alloc_scope.n = a->n;
	uint32_t *by_time = assay_pages_grow(NULL, a->n * sizeof *by_time + 1);
	for (uint32_t i = 0; i < a->n; i++) {
		s->t->alloc_scope.scope[i] = ASSAY_NO_ROW;
		s->t->alloc_scope.how[i] = ASSAY_SCOPE_HOW_NONE;
		by_time[i] = i;
	}
	assay_sort_rows(by_time, a->n, a->ts);
	assay_vec_reserve(&s->alloc_rows, a->n + 1);
	assay_vec_reserve(&s->alloc_first, tracks + 1);
	assay_group_rows(s->alloc_rows.p, s->alloc_first.p, by_time, a->n, a->track, tracks);
	s->alloc_first.n = tracks + 1;
	s->alloc_rows.n = s->alloc_first.p[tracks];
	assay_pages_free(by_time);
}

void scopes_allocs_until(scopes *s, uint32_t track, size_t *next, int64_t ts)
{
	for (; *next < s->alloc_first.p[track + 1]; ++*next) {
		uint32_t a = s->alloc_rows.p[*next];
		if (s->t->alloc.ts[a] >= ts)
			return;
		uint32_t scope = scopes_open_at(s, s->t->alloc.ts[a]);
		s->t->alloc_scope.scope[a] = scope;
		s->t->alloc_scope.how[a] = scopes_how(s, scope);
	}
}

void scopes_allocs_handed(scopes *s, uint32_t track, size_t *next, int64_t from, int64_t to,
			  uint32_t scope)
{
	for (; *next < s->alloc_first.p[track + 1]; ++*next) {
		uint32_t a = s->alloc_rows.p[*next];
		if (s->t->alloc.ts[a] > to)
			return;
		if (s->t->alloc.ts[a] < from || s->t->alloc_scope.scope[a] != ASSAY_NO_ROW)
			continue;
		s->t->alloc_scope.scope[a] = scope;
		s->t->alloc_scope.how[a] = ASSAY_SCOPE_HOW_INFERRED;
	}
}

/* Leaves both alone when the call was in none, or not recorded. */
static void take_of_call(const scopes *s, const assay_index *calls, uint32_t track, uint64_t corr,
			 uint32_t *scope, uint8_t *how)
{
	uint32_t call =
		track < s->t->track.n ? assay_calls_find(s->t, calls, track, corr) : ASSAY_NO_ROW;
	if (call == ASSAY_NO_ROW || s->t->host_scope.scope[call] == ASSAY_NO_ROW)
		return;
	*scope = s->t->host_scope.scope[call];
	*how = s->t->host_scope.how[call];
}

void scopes_of_events(scopes *s)
{
	assay_tables *t = s->t;
	assay_index calls = {.mixed = false};
	if (t->sync.n || t->alloc.n || t->event_record.n)
		assay_calls_index(t, &calls);
	assay_reserve(t, ASSAY_T_sync_scope, t->sync.n);
	assay_reserve(t, ASSAY_T_event_scope, t->event_record.n);
	t->sync_scope.n = t->sync.n;
	t->event_scope.n = t->event_record.n;
	for (size_t i = 0; i < t->sync.n; i++) {
		t->sync_scope.scope[i] = ASSAY_NO_ROW;
		t->sync_scope.how[i] = ASSAY_SCOPE_HOW_NONE;
		take_of_call(s, &calls, t->sync.track[i], t->sync.corr[i], &t->sync_scope.scope[i],
			     &t->sync_scope.how[i]);
	}
	for (size_t i = 0; i < t->event_record.n; i++) {
		t->event_scope.scope[i] = ASSAY_NO_ROW;
		t->event_scope.how[i] = ASSAY_SCOPE_HOW_NONE;
		take_of_call(s, &calls, t->event_record.track[i], t->event_record.corr[i],
			     &t->event_scope.scope[i], &t->event_scope.how[i]);
	}
	for (size_t i = 0; i < t->alloc.n; i++)
		take_of_call(s, &calls, t->alloc.track[i], t->alloc.corr[i],
			     &t->alloc_scope.scope[i], &t->alloc_scope.how[i]);
	assay_index_free(&calls);
}

/* What each wait of a run waited for: tables are indexed, made into records, swept, and the sweep's
 * output becomes the wait and edge tables. */
#include "resolve/waits.h"

#include "base/sort.h"
#include "resolve/resolve.h"
#include "resolve/waits_homes.h"
#include "resolve/waits_barriers.h"
#include "resolve/waits_ends.h"

uint32_t waits_scope_of_thread(waits *w, uint32_t track)
{
	uint32_t source = assay_track_group(w->t, track);
	uint64_t pid = (uint64_t)w->t->track.pid[track];
	uint32_t *slot = assay_map_at(&w->scopes, pid << 24 ^ source);
	if (*slot == ASSAY_MAP_ABSENT)
		*slot = (uint32_t)w->scopes.n;
	return *slot;
}

uint64_t waits_key_at(const waits *w, uint32_t source, int64_t ts, uint64_t corr)
{
	uint64_t key = source < w->sources ? assay_keys_at(&w->keys[source], ts, corr) : corr;
	return key < UINT64_MAX ? key : key - 1; /* marks of a key lie one above it */
}

uint64_t waits_host_key(const waits *w, uint32_t h)
{
	return waits_key_at(w, waits_host_source(w, h), w->t->host.ts[h],
			    w->t->api.corr[w->t->host.detail[h]]);
}

/* ------------------------------------------------------------------ what is known of the run */

static void know_name(waits *w, bool *known, assay_sid name)
{
	if (!known[name])
		w->call[name] = assay_call_of(assay_text(w->run, name));
	known[name] = true;
}

static void note_asker(waits *w, uint32_t source)
{
	if (source < w->sources)
		w->asks[source] = true;
}

/* Where nobody can have waited, work need not be put in order. Default streams order work without a
 * call, but that others wait for them only calls and rows of streams tell. */
static void find_askers(waits *w)
{
	const assay_tables *t = w->t;
	w->asks = assay_alloc(&w->scratch, w->sources + 1);
	for (uint32_t k = 0; t->host.n && k < t->track.n; k++)
		if (t->track.kind[k] != ASSAY_TRACK_STREAM)
			note_asker(w, assay_track_group(t, k));
	for (uint32_t i = 0; i < t->event_call.n; i++)
		note_asker(w, assay_track_group(t, t->event_call.track[i]));
	for (uint32_t i = 0; i < t->event_record.n; i++)
		note_asker(w, assay_track_group(t, t->event_record.track[i]));
	for (uint32_t i = 0; i < t->sync.n; i++)
		note_asker(w, assay_track_group(t, t->sync.track[i]));
	for (uint32_t i = 0; i < t->barrier.n; i++)
		note_asker(w, assay_track_group(t, waits_barrier_stream(w, i)));
	for (uint32_t i = 0; i < t->stream.n; i++)
		note_asker(w, assay_group_of(t, t->stream.source[i]));
}

/* Recorders that look at the attributes of launches say so. */
static bool *find_tellers(waits *w)
{
	bool *tells = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *tells);
	const assay_meta_table *m = &w->t->meta;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->source[i] < w->sources &&
		    assay_str_is(assay_text(w->run, m->key[i]), "launch_events"))
			tells[assay_group_of(w->t, m->source[i])] = true;
	return tells;
}

/* Only of calls: most texts are something else. */
static void index_names(waits *w)
{
	const assay_tables *t = w->t;
	size_t n = w->run->part.strings.str.n + 1;
	bool *known = assay_alloc(&w->scratch, n * sizeof *known);
	w->call = assay_alloc(&w->scratch, n * sizeof *w->call);
	for (size_t i = 0; i < n; i++)
		w->call[i].op = ASSAY_OP_COUNT;
	for (size_t k = 0; k < w->call_rows.n; k++)
		know_name(w, known, t->host.name[w->call_rows.p[k]]);
	for (uint32_t i = 0; i < t->event_call.n; i++)
		know_name(w, known, t->event_call.name[i]);
}

static void index_calls(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (!assay_is_call(t->host.kind[h]))
			continue;
		*assay_push(&w->call_rows) = h;
		if (!t->api.corr[t->host.detail[h]])
			continue;
		uint32_t source = waits_host_source(w, h);
		if (source < w->sources && w->source_scope[source] == ASSAY_NO_ROW) {
			w->source_scope[source] = waits_scope_of_thread(w, t->host.track[h]);
			w->is_hip[source] =
				assay_str_starts(assay_text(w->run, t->host.name[h]), "hip");
		}
	}
}

static void index_gpus(waits *w)
{
	const assay_tables *t = w->t;
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t track = t->gpu.track[g], source = assay_track_group(t, track);
		if (t->gpu.corr[g] && waits_may_ask(w, source))
			assay_index_add(&w->gpus, assay_corr_key(source, t->gpu.corr[g]), g);
		if (source >= w->sources)
			continue;
		int32_t device = (int32_t)t->track.pid[track];
		int32_t *only = &w->only_device[source];
		*only = *only == -2 || *only == device ? device : -1;
	}
	assay_index_close(&w->gpus, NULL, NULL);
	for (size_t i = 0; i < w->sources; i++)
		if (w->only_device[i] == -2)
			w->only_device[i] = -1;
}

/* Ids of 32 bits may have run over: only then are calls looked at in the order of time. */
static void index_keys(waits *w)
{
	const assay_tables *t = w->t;
	assay_vec(uint32_t) rows = {0};
	uint64_t *high = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *high);
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		uint64_t corr = assay_call_corr(t, h);
		uint32_t source = waits_host_source(w, h);
		if (corr && source < w->sources && corr > high[source])
			high[source] = corr;
	}
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		uint32_t source = waits_host_source(w, h);
		if (source < w->sources && high[source] >> 31 == 1)
			*assay_push(&rows) = h;
	}
	if (rows.n)
		assay_sort_rows(rows.p, rows.n, t->host.ts);
	for (size_t i = 0; i < rows.n; i++) {
		uint32_t h = rows.p[i];
		if (t->api.corr[t->host.detail[h]])
			assay_keys_add(&w->keys[waits_host_source(w, h)], t->host.ts[h],
				       t->api.corr[t->host.detail[h]]);
	}
	assay_vec_free(&rows);
}

/* Work that was launched before the first call that is recorded: who knows what else was. */
static void index_starts(waits *w)
{
	const assay_tables *t = w->t;
	uint64_t *first = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *first);
	w->from_start = assay_alloc(&w->scratch, (w->sources + 1) * sizeof *w->from_start);
	for (uint32_t i = 0; i < w->sources; i++)
		w->from_start[i] = true;
	for (size_t k = 0; k < w->call_rows.n; k++) {
		uint32_t h = w->call_rows.p[k];
		uint32_t source = waits_host_source(w, h);
		uint64_t key = assay_call_corr(t, h) ? waits_host_key(w, h) : 0;
		if (key && source < w->sources && (!first[source] || key < first[source]))
			first[source] = key;
	}
	for (uint32_t g = 0; g < t->gpu.n; g++) {
		uint32_t source = assay_track_group(t, t->gpu.track[g]);
		if (source < w->sources && t->gpu.corr[g] &&
		    waits_key_at(w, source, t->gpu.ts[g], t->gpu.corr[g]) < first[source] &&
		    !assay_has_trait(w->run, source, ASSAY_TRAIT_FROM_START))
			w->from_start[source] = false;
	}
}

/* ------------------------------------------------------------------ output */

static uint64_t corr_of(const waits *w, uint32_t host, uint32_t source, uint64_t key)
{
	if (host != ASSAY_NO_ROW)
		return w->t->api.corr[w->t->host.detail[host]];
	return source < w->sources ? assay_keys_id(&w->keys[source], key) : key;
}

static uint32_t source_of_wait(const waits *w, const assay_sweep_rec *r)
{
	uint32_t track = r->thread != ASSAY_NO_ROW ? r->thread : r->track;
	return track != ASSAY_NO_ROW ? assay_track_group(w->t, track) : ASSAY_NO_ROW;
}

static uint8_t kind_of_blind(const assay_sweep_wait *v)
{
	return v->rec.arg == ASSAY_OP_WAIT         ? ASSAY_WAIT_STREAM_WAIT
	       : v->rec.arg == ASSAY_OP_EVENT_SYNC ? ASSAY_WAIT_EVENT_SYNC
						   : ASSAY_WAIT_UNKNOWN;
}

/* A wait for a stream or device names the stream of the work; one for an event, that of its
 * record. */
static void name_stream_of_work(waits *w, uint32_t i)
{
	assay_wait_table *t = &w->t->wait;
	if (t->producer_gpu[i] == ASSAY_NO_ROW ||
	    (t->kind[i] != ASSAY_WAIT_STREAM_SYNC && t->kind[i] != ASSAY_WAIT_DEVICE_SYNC))
		return;
	uint32_t track = waits_home_of(w, t->producer_gpu[i]);
	if (track == t->producer[i])
		return;
	t->producer[i] = track;
	t->producer_handle[i] = ASSAY_NO_HANDLE;
	t->producer_device[i] = (int32_t)w->t->track.pid[track];
}

static uint32_t take_wait(void *ctx, const assay_sweep_wait *v)
{
	waits *w = ctx;
	uint32_t i = assay_add(&w->run->part.t, ASSAY_T_wait);
	assay_wait_table *t = &w->t->wait;
	uint32_t source = source_of_wait(w, &v->rec);
	bool blind = v->rec.op == ASSAY_OP_UNKNOWN_SYNC;
	t->ts[i] = v->rec.enter;
	t->dur[i] = v->rec.exit - v->rec.enter;
	t->thread[i] = v->rec.thread;
	t->consumer[i] = v->consumer.track;
	t->producer[i] = v->producer.track;
	t->consumer_handle[i] = v->consumer.handle;
	t->producer_handle[i] = v->producer.handle;
	if (v->kind == ASSAY_WAIT_STREAM_WAIT || v->kind == ASSAY_WAIT_EVENT_SYNC ||
	    v->kind == ASSAY_WAIT_VALUE)
		t->event[i] = v->rec.event - (v->rec.flags & ASSAY_REC_NUMBERED ? 1 : 0);
	t->corr[i] = corr_of(w, v->rec.row, source, v->rec.key);
	if (v->record_key)
		t->record_corr[i] = corr_of(w, v->record_row, source, v->record_key);
	if (v->other_key)
		t->other_corr[i] = corr_of(w, ASSAY_NO_ROW, source, v->other_key);
	t->host[i] = v->rec.row;
	t->record_host[i] = v->record_row;
	t->producer_gpu[i] = v->producer_row;
	t->kind[i] = blind ? kind_of_blind(v) : v->kind;
	if (t->kind[i] != ASSAY_WAIT_STREAM_WAIT && t->kind[i] != ASSAY_WAIT_VALUE)
		t->blocked[i] = t->dur[i];
	if (v->kind == ASSAY_WAIT_DRAIN) /* the rest of the call was its own work */
		t->blocked[i] = v->delayed;
	t->delayed[i] = v->delayed;
	t->slack[i] = v->slack;
	t->producer_device[i] = v->producer.device;
	t->class[i] = v->class;
	t->doubt[i] = v->why;
	t->satisfied[i] = v->satisfied;
	t->flags[i] = v->flags;
	*assay_push(&w->said) = v->rec.said;
	*assay_push(&w->called_on) = v->rec.device;
	name_stream_of_work(w, i);
	return i;
}

static void take_news(void *ctx, uint32_t i, const assay_sweep_news *n)
{
	waits *w = ctx;
	assay_wait_table *t = &w->t->wait;
	switch (n->what) {
	case ASSAY_NEWS_LANDED:
		t->consumer_gpu[i] = n->consumer_row;
		if (n->delayed >= 0) {
			t->delayed[i] = n->delayed;
			t->slack[i] = n->slack;
			t->unexplained[i] = n->late; /* waits_weigh() takes the usual off */
		}
		t->flags[i] |= n->times ? ASSAY_WAIT_TIMES : 0;
		break;
	case ASSAY_NEWS_AMBIGUOUS:
		t->class[i] = ASSAY_WAIT_IS_AMBIGUOUS;
		t->doubt[i] = ASSAY_WAIT_BY_SEVERAL;
		t->other_corr[i] = n->record_key;
		break;
	case ASSAY_NEWS_FOUND:
		t->class[i] = ASSAY_WAIT_IS_LIKELY;
		t->doubt[i] =
			t->kind[i] == ASSAY_WAIT_VALUE ? ASSAY_WAIT_BY_WORD : ASSAY_WAIT_BY_PROCESS;
		t->record_host[i] = n->record_row;
		t->record_corr[i] = corr_of(w, n->record_row, ASSAY_NO_ROW, n->record_key);
		t->producer_gpu[i] = n->producer_row;
		t->producer[i] = n->producer.track;
		t->producer_handle[i] = n->producer.handle;
		t->producer_device[i] = n->producer.device;
		break;
	}
}

static void take_edge(void *ctx, const assay_sweep_edge *e)
{
	waits *w = ctx;
	uint32_t i = assay_add(&w->run->part.t, ASSAY_T_edge);
	w->t->edge.kind[i] = (uint8_t)e->kind;
	w->t->edge.from_gpu[i] = e->from_row;
	w->t->edge.to_gpu[i] = e->to_row;
	w->t->edge.to_host[i] = e->host_row;
	w->t->edge.wait[i] = e->wait;
}

static void sweep_all(waits *w)
{
	size_t n = w->recs.n;
	assay_vec(uint32_t) rows = {0};
	assay_vec_reserve(&rows, n);
	for (uint32_t i = 0; i < n; i++)
		rows.p[i] = i;
	if (n)
		assay_sweep_sort(w->recs.p, rows.p, n);
	assay_sweep *s =
		assay_sweep_new(&(assay_sweep_sink){w, take_wait, take_news, take_edge, w->masks.p},
				(assay_sweep_clocks){WAITS_CLOCKS, w->clocks.behind});
	for (size_t i = 0; i < n; i++)
		assay_sweep_push(s, &w->recs.p[rows.p[i]]);
	assay_sweep_end(s);
	assay_count(&w->run->part, ASSAY_ISSUE_event_rerecord, assay_sweep_rerecords(s));
	assay_sweep_free(s);
	assay_vec_free(&rows);
	if (w->t->wait.n)
		waits_weigh(w);
	const assay_wait_table *t = &w->t->wait;
	for (size_t i = 0; i < t->n; i++) {
		assay_count(&w->run->part, ASSAY_ISSUE_wait_unexplained, t->unexplained[i] > 0);
		assay_count(&w->run->part, ASSAY_ISSUE_wait_times,
			    !!(t->flags[i] & ASSAY_WAIT_TIMES));
		assay_count(&w->run->part, ASSAY_ISSUE_wait_conflict,
			    !!(t->flags[i] & ASSAY_WAIT_CONFLICT));
	}
}

void assay_waits_with(assay_run *run, const assay_waits_opts *opts)
{
	waits w = {.run = run,
		   .t = &run->part.t,
		   .handles_only = opts->handles_only,
		   .sources = run->part.t.source.n};
	size_t n = w.sources + 1;
	w.keys = assay_alloc(&w.scratch, n * sizeof *w.keys);
	w.source_scope = assay_alloc(&w.scratch, n * sizeof *w.source_scope);
	w.only_device = assay_alloc(&w.scratch, n * sizeof *w.only_device);
	for (size_t i = 0; i < n; i++) {
		w.source_scope[i] = ASSAY_NO_ROW;
		w.only_device[i] = -2;
	}
	w.tells_device = assay_alloc(&w.scratch, n * sizeof *w.tells_device);
	w.tells_launch = find_tellers(&w);
	w.is_hip = assay_alloc(&w.scratch, n * sizeof *w.is_hip);
	w.has_calls = assay_alloc(&w.scratch, n);
	w.has_records = assay_alloc(&w.scratch, n);
	for (uint32_t i = 0; i < w.t->event_call.n; i++) {
		uint32_t source = assay_track_group(w.t, w.t->event_call.track[i]);
		if (source < w.sources)
			w.has_calls[source] = true;
	}
	find_askers(&w);
	if (opts->calls)
		w.calls = *opts->calls;
	else
		assay_calls_index(w.t, &w.calls);
	index_calls(&w);
	index_names(&w);
	index_gpus(&w);
	index_keys(&w);
	index_starts(&w);
	waits_find_whole(&w);
	waits_add_records(&w);
	sweep_all(&w);
	for (size_t i = 0; i < w.sources; i++)
		assay_keys_free(&w.keys[i]);
	assay_map *maps[] = {&w.scopes,   &w.told,     &w.handles,  &w.legacy,
			     &w.recorded, &w.barriers, &w.ordinals, &w.perhaps,
			     &w.invented, &w.homes,    &w.made_on};
	for (size_t i = 0; i < ASSAY_COUNT_OF(maps); i++)
		assay_map_free(maps[i]);
	if (!opts->calls)
		assay_index_free(&w.calls);
	assay_index_free(&w.gpus);
	assay_marks *marks[] = {&w.chosen,   &w.launched, &w.moments, &w.dark, &w.work,
				&w.numbered, &w.bound,    &w.barred,  &w.made, &w.holes};
	for (size_t i = 0; i < ASSAY_COUNT_OF(marks); i++)
		assay_vec_free(&marks[i]->v);
	assay_vec_free(&w.devices);
	assay_vec_free(&w.call_rows);
	assay_vec_free(&w.recs);
	assay_vec_free(&w.said);
	assay_vec_free(&w.called_on);
	assay_vec_free(&w.masks);
	waits_known_args_free(&w.args);
	assay_arena_free(&w.parsed);
	assay_arena_free(&w.scratch);
}

void assay_waits(assay_run *run)
{
	assay_waits_with(run, &(assay_waits_opts){0});
}

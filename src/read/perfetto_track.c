/* Tracks of Perfetto traces: what they are, whose, and, when every packet is read, the ends of
 * their slices and the tracks and sources of rows. */
#include "read/perfetto.h"

#include "base/sort.h"
#include "base/test.h"
#include "read/rocprof.h"

enum { PARENTS_MAX = 32 };

uint32_t perfetto_track_at(perfetto *x, uint64_t uuid, uint32_t sequence)
{
	if (x->tracks.n && x->tracks.p[x->recent].uuid == uuid)
		return x->recent;
	uint32_t *i = assay_map_at(&x->track_of, uuid);
	if (*i != ASSAY_MAP_ABSENT)
		return x->recent = *i;
	*i = x->recent = (uint32_t)x->tracks.n;
	*assay_push(&x->tracks) = (perfetto_track){.uuid = uuid,
						   .sequence = sequence,
						   .pid = -1,
						   .tid = -1,
						   .device = -1,
						   .stream = -1,
						   .last = INT64_MIN,
						   .unit = 1,
						   .ours = ASSAY_NO_ROW,
						   .open = ASSAY_NO_ROW};
	return *i;
}

void perfetto_see_process(perfetto *x, uint32_t sequence, int64_t pid)
{
	perfetto_sequence *s = &x->sequences.p[sequence];
	s->many |= s->pid >= 0 && pid != s->pid;
	s->pid = pid;
}

static void name_process(perfetto *x, int64_t pid, assay_sid name)
{
	if (name)
		*assay_map_at(&x->named_process, (uint64_t)pid) = name;
}

static uint64_t thread_key(int64_t pid, int64_t tid)
{
	int64_t key[2] = {pid, tid};
	return assay_hash(key, sizeof key, 0);
}

static void name_thread(perfetto *x, int64_t pid, int64_t tid, assay_sid name)
{
	if (name)
		*assay_map_at(&x->named_thread, thread_key(pid, tid)) = name;
}

static void describe_process(perfetto *x, perfetto_track *t, assay_str message)
{
	assay_str command = {"", 0}, name = {"", 0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_PROCESS_PID && f.wire == ASSAY_WIRE_VARINT)
			t->pid = (uint32_t)f.value;
		else if (f.number == PF_PROCESS_NAME && f.wire == ASSAY_WIRE_BYTES)
			name = f.bytes;
		else if (f.number == PF_PROCESS_CMDLINE && f.wire == ASSAY_WIRE_BYTES && !command.n)
			command = f.bytes;
	}
	t->process = assay_intern(&x->part->strings, name.n ? name : command);
	name_process(x, t->pid, t->process);
}

static void describe_thread(perfetto *x, perfetto_track *t, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_THREAD_PID && f.wire == ASSAY_WIRE_VARINT)
			t->pid = (uint32_t)f.value;
		else if (f.number == PF_THREAD_TID && f.wire == ASSAY_WIRE_VARINT)
			t->tid = assay_field_i64(&f);
		else if (f.number == PF_THREAD_NAME && f.wire == ASSAY_WIRE_BYTES)
			t->thread = assay_intern(&x->part->strings, f.bytes);
	}
	name_thread(x, t->pid, t->tid, t->thread);
}

static void describe_counter(perfetto_track *t, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	t->counter = true;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_COUNTER_MULTIPLIER && f.value)
			t->unit = (double)assay_field_i64(&f);
		else if (f.number == PF_COUNTER_INCREMENTAL)
			t->incremental = f.value;
	}
}

static uint64_t uuid_of(assay_str message)
{
	assay_proto c = assay_proto_on(message);
	uint64_t uuid = 0;
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == PF_TRACK_UUID)
			uuid = f.value;
	return uuid;
}

void perfetto_describe_track(perfetto *x, uint32_t sequence, assay_str message)
{
	uint32_t i = perfetto_track_at(x, uuid_of(message), sequence);
	perfetto_track *t = &x->tracks.p[i];
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_TRACK_PARENT)
			t->parent = f.value;
		else if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		else if (f.number == PF_TRACK_NAME || f.number == PF_TRACK_STATIC_NAME)
			t->name = assay_intern(&x->part->strings, f.bytes);
		else if (f.number == PF_TRACK_PROCESS)
			describe_process(x, t, f.bytes);
		else if (f.number == PF_TRACK_THREAD)
			describe_thread(x, t, f.bytes);
		else if (f.number == PF_TRACK_COUNTER)
			describe_counter(t, f.bytes);
	}
	if (t->pid >= 0)
		perfetto_see_process(x, sequence, t->pid);
}

static void listed_process(perfetto *x, assay_str message)
{
	int64_t pid = -1;
	assay_sid name = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_TREE_PID && f.wire == ASSAY_WIRE_VARINT)
			pid = (uint32_t)f.value;
		else if (f.number == PF_TREE_CMDLINE && f.wire == ASSAY_WIRE_BYTES && !name)
			name = assay_intern(&x->part->strings, f.bytes);
	}
	if (assay_map_get(&x->named_process, (uint64_t)pid) == ASSAY_MAP_ABSENT)
		name_process(x, pid, name);
}

static void listed_thread(perfetto *x, assay_str message)
{
	int64_t pid = -1, tid = -1;
	assay_sid name = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_TREE_TID && f.wire == ASSAY_WIRE_VARINT)
			tid = (uint32_t)f.value;
		else if (f.number == PF_TREE_TGID && f.wire == ASSAY_WIRE_VARINT)
			pid = (uint32_t)f.value;
		else if (f.number == PF_TREE_NAME && f.wire == ASSAY_WIRE_BYTES)
			name = assay_intern(&x->part->strings, f.bytes);
	}
	if (assay_map_get(&x->named_thread, thread_key(pid, tid)) == ASSAY_MAP_ABSENT)
		name_thread(x, pid, tid, name);
}

/* Names of processes and threads as the system lists them. */
void perfetto_describe_tree(perfetto *x, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_TREE_PROCESS && f.wire == ASSAY_WIRE_BYTES)
			listed_process(x, f.bytes);
		else if (f.number == PF_TREE_THREAD && f.wire == ASSAY_WIRE_BYTES)
			listed_thread(x, f.bytes);
	}
}

/* ------------------------------------------------------------------ begins and ends */

/* The row that a begin made, as far as its end needs it. */
typedef struct begun {
	int64_t *dur;
	assay_sid *args;
} begun;

static begun row_of(perfetto *x, uint32_t begin)
{
	assay_tables *t = &x->part->t;
	uint32_t r = x->ends.row.p[begin];
	switch (x->ends.table.p[begin]) {
	case ASSAY_T_host:
		return (begun){&t->host.dur[r], &t->host.args[r]};
	case ASSAY_T_gpu:
		return (begun){&t->gpu.dur[r], &t->gpu.args[r]};
	case ASSAY_T_sync:
		return (begun){&t->sync.dur[r], &t->sync.args[r]};
	case ASSAY_T_mark:
		return (begun){&t->mark.dur[r], &t->mark.args[r]};
	case ASSAY_T_sample:
		return (begun){&x->looks.p[r].dur, &x->looks.p[r].members};
	default:
		return (begun){0};
	}
}

static void close_slice(perfetto *x, uint32_t begin, int64_t ts, assay_sid args)
{
	begun b = row_of(x, begin);
	if (!b.dur)
		return;
	*b.dur = ts - x->ends.ts.p[begin];
	*b.args = perfetto_join_args(x, *b.args, args);
}

/* An end closes the newest begin of its track. While they are walked in order of time, `args` of a
 * begin is the begin below it. */
static void pair_ends(perfetto *x)
{
	size_t n = x->ends.ts.n;
	assay_vec(uint32_t) order = {0};
	if (x->ends.unordered) {
		assay_vec_reserve(&order, n);
		for (uint32_t i = 0; i < n; i++)
			*assay_push(&order) = i;
		assay_sort_rows(order.p, n, x->ends.ts.p);
	}
	for (size_t k = 0; k < n; k++) {
		uint32_t i = x->ends.unordered ? order.p[k] : (uint32_t)k;
		perfetto_track *t = &x->tracks.p[x->ends.track.p[i]];
		if (x->ends.table.p[i] != PF_END_OF_SLICE) {
			x->ends.args.p[i] = t->open;
			t->open = i;
		} else if (t->open == ASSAY_NO_ROW) {
			assay_count(x->part, ASSAY_ISSUE_unmatched_end, 1);
		} else {
			close_slice(x, t->open, x->ends.ts.p[i], x->ends.args.p[i]);
			t->open = x->ends.args.p[t->open];
		}
	}
	assay_vec_free(&order);
}

/* What never ended lasts to the end of the recording. */
static void close_open(perfetto *x)
{
	assay_sid open_end = assay_intern_z(&x->part->strings, "\"" ASSAY_OPEN_END "\": true");
	for (size_t i = 0; i < x->tracks.n; i++)
		for (uint32_t b = x->tracks.p[i].open; b != ASSAY_NO_ROW; b = x->ends.args.p[b]) {
			close_slice(x, b, x->last, open_end);
			assay_count(x->part, ASSAY_ISSUE_unmatched_begin, 1);
		}
}

/* ------------------------------------------------------------------ whose tracks */

static const perfetto_track *parent_of(const perfetto *x, const perfetto_track *t)
{
	uint32_t i = t->parent ? assay_map_get(&x->track_of, t->parent) : ASSAY_MAP_ABSENT;
	return i == ASSAY_MAP_ABSENT ? NULL : &x->tracks.p[i];
}

/* Its own, the one above it, the only one its sequence tells of, or the one that wrote it: in a
 * container the writer's number is not the one its threads have. */
static int64_t process_of(const perfetto *x, const perfetto_track *t)
{
	const perfetto_sequence *s = &x->sequences.p[t->sequence];
	const perfetto_track *up = t;
	for (int i = 0; up && i < PARENTS_MAX; i++, up = parent_of(x, up))
		if (up->pid >= 0)
			return up->pid;
	return s->pid >= 0 && !s->many ? s->pid : s->writer;
}

/* The number behind the last time a word stands in a name; false when there is none. */
static bool number_behind(assay_str name, const char *word, int64_t *out)
{
	bool found = false;
	for (ptrdiff_t at; (at = assay_str_find_nocase(name, word)) >= 0;) {
		size_t k = (size_t)at + strlen(word);
		while (k < name.n && !assay_is_digit(name.p[k]))
			k++;
		assay_str number = {name.p + k, name.n - k};
		number.n = assay_digits_first(number);
		found |= assay_str_i64(number, out);
		size_t used = (size_t)at + strlen(word);
		name = (assay_str){name.p + used, name.n - used};
	}
	return found;
}

/* In the name of a track or of those above it: "COMPUTE Agent [2] QUEUE [1]", "HIP Activity Device
 * 0, Queue 3", "GPU 0" over "stream 7". -1 when there is none. */
static int64_t number_in_names(const perfetto *x, const perfetto_track *t, const char *const *words)
{
	int64_t v;
	for (int i = 0; t && i < PARENTS_MAX; i++, t = parent_of(x, t))
		for (const char *const *w = words; *w; w++)
			if (number_behind(assay_pool_get(&x->part->strings, t->name), *w, &v))
				return v;
	return -1;
}

static int64_t device_in_names(const perfetto *x, const perfetto_track *t)
{
	static const char *const words[] = {"agent", "device", "gpu", NULL};
	return number_in_names(x, t, words);
}

static int64_t stream_in_names(const perfetto *x, const perfetto_track *t)
{
	static const char *const words[] = {"stream", "queue", NULL};
	return number_in_names(x, t, words);
}

/* Takes "rank 3 " off "rank 3 python", as our writer calls processes; -1: it says none. */
static int32_t take_rank(assay_str *process)
{
	int64_t rank;
	if (!assay_str_starts(*process, "rank "))
		return -1;
	assay_str rest = {process->p + 5, process->n - 5};
	if (!assay_str_i64(assay_str_cut(&rest, ' '), &rank) || rank < 0 || rank > INT32_MAX)
		return -1;
	*process = rest;
	return (int32_t)rank;
}

static assay_str full_process_name(const perfetto *x, int64_t pid)
{
	uint32_t name = assay_map_get(&x->named_process, (uint64_t)pid);
	return assay_pool_get(&x->part->strings, name == ASSAY_MAP_ABSENT ? 0 : name);
}

static assay_sid process_name(perfetto *x, int64_t pid)
{
	assay_str name = full_process_name(x, pid);
	take_rank(&name);
	return assay_intern(&x->part->strings, name);
}

typedef struct sources {
	assay_map of; /* process -> row of source */
	uint32_t first;
	bool unknown; /* GPU work whose process nothing tells */
} sources;

/* A source for the process of a track. */
static void take_source(perfetto *x, sources *s, uint32_t track)
{
	int64_t pid = process_of(x, &x->tracks.p[track]);
	s->unknown |= pid < 0;
	if (pid < 0 || assay_map_get(&s->of, (uint64_t)pid) != ASSAY_MAP_ABSENT)
		return;
	if (s->of.n)
		assay_rocprof_next_source(x->part, s->first);
	*assay_map_at(&s->of, (uint64_t)pid) = x->part->source;
	assay_str name = full_process_name(x, pid);
	x->part->t.source.rank[x->part->source] = take_rank(&name);
}

static bool says_rank(const perfetto *x, uint32_t track)
{
	int64_t pid = process_of(x, &x->tracks.p[track]);
	assay_str name = pid < 0 ? (assay_str){0} : full_process_name(x, pid);
	return take_rank(&name) >= 0;
}

/* Of a process, or of the one that tells of it. */
static uint32_t source_at(const sources *s, int64_t pid, int64_t writer)
{
	uint32_t known = assay_map_get(&s->of, (uint64_t)pid);
	if (known == ASSAY_MAP_ABSENT)
		known = assay_map_get(&s->of, (uint64_t)writer);
	return known == ASSAY_MAP_ABSENT ? s->first : known;
}

/* Correlation ids and streams are a process's own, so each one with GPU work or calls is a source,
 * and each one that was looked at.
 * The first takes the file's row, with all processes that have neither. */
static void make_sources(perfetto *x)
{
	const assay_host_table *h = &x->part->t.host;
	sources s = {.first = x->part->source};
	for (size_t i = 0; i < x->gpu.n; i++)
		take_source(x, &s, x->gpu.p[i].track);
	for (size_t i = x->first[ASSAY_T_host]; !s.unknown && i < h->n; i++)
		if (assay_is_call(h->kind[i]))
			take_source(x, &s, h->track[i]);
	for (size_t i = 0; !s.unknown && i < x->looks.n; i++)
		take_source(x, &s, x->looks.p[i].track);
	bool hosts_only = !s.unknown && !s.of.n;
	for (size_t i = x->first[ASSAY_T_host]; hosts_only && i < h->n; i++)
		if (says_rank(x, h->track[i]))
			take_source(x, &s, h->track[i]);
	for (size_t i = 0; i < x->tracks.n; i++) {
		perfetto_track *t = &x->tracks.p[i];
		t->source = source_at(&s, process_of(x, t), x->sequences.p[t->sequence].writer);
	}
	assay_device_table *d = &x->part->t.device;
	for (size_t i = 0; i < x->device_sequence.n; i++) {
		const perfetto_sequence *q = &x->sequences.p[x->device_sequence.p[i]];
		d->source[x->first[ASSAY_T_device] + i] =
			source_at(&s, q->writer, q->many ? -1 : q->pid);
	}
	for (size_t i = 0; i < x->stream_tracks.n; i++)
		x->part->t.stream.source[x->first[ASSAY_T_stream] + i] =
			x->tracks.p[x->stream_tracks.p[i]].source;
	x->part->source = s.first;
	assay_map_free(&s.of);
}

/* ------------------------------------------------------------------ rows get their tracks */

/* rocprofv3 has plain tracks "THREAD 2 (4711)" for all threads but the first. */
static int64_t thread_in_name(assay_str name)
{
	int64_t tid;
	ptrdiff_t open = assay_str_find(name, "(");
	if (!assay_str_starts(name, "THREAD ") || open < 0)
		return -1;
	name = (assay_str){name.p + open + 1, name.n - (size_t)open - 1};
	return assay_str_i64(assay_str_cut(&name, ')'), &tid) ? tid : -1;
}

/* A plain track has its name for an id; when another one of the process has it too, a number
 * more. */
static uint32_t plain_track(perfetto *x, perfetto_track *t, int64_t pid)
{
	assay_pool *strings = &x->part->strings;
	assay_sid name = t->name ? t->name : t->process ? t->process : process_name(x, pid);
	if (!name)
		name = assay_intern_z(strings, "track");
	size_t before = x->part->t.track.n;
	uint32_t ours = assay_track(x->part, ASSAY_TRACK_THREAD, pid, -1, 0, name);
	if (x->part->t.track.n > before)
		return ours;
	assay_arena_reset(&x->scratch);
	return assay_track(x->part, ASSAY_TRACK_THREAD, pid, -1, 0,
			   assay_intern_z(strings, assay_printf(&x->scratch, "%s #%zu",
								assay_pool_get(strings, name).p,
								(size_t)(t - x->tracks.p))));
}

static uint32_t host_track(perfetto *x, uint32_t i)
{
	perfetto_track *t = &x->tracks.p[i];
	if (t->ours != ASSAY_NO_ROW)
		return t->ours;
	assay_str name = assay_pool_get(&x->part->strings, t->name);
	const perfetto_track *up = parent_of(x, t);
	int64_t pid = process_of(x, t), tid = t->tid >= 0 ? t->tid : thread_in_name(name);
	x->part->source = t->source;
	if (tid < 0 && up && up->tid >= 0 && assay_str_starts(name, "overlapping "))
		tid = up->tid; /* our writer's lanes of a thread */
	if (tid < 0) {
		t->ours = plain_track(x, t, pid);
	} else {
		t->ours = assay_thread_track(x->part, pid, tid);
		uint32_t known = assay_map_get(&x->named_thread, thread_key(pid, tid));
		assay_sid called = t->thread                   ? t->thread
				   : known != ASSAY_MAP_ABSENT ? known
							       : t->name;
		if (t->tid >= 0 && called)
			x->part->t.track.name[t->ours] = called;
	}
	assay_sid process = process_name(x, pid);
	if (process)
		x->part->t.track.process[t->ours] = process;
	return t->ours;
}

uint32_t perfetto_thread_of(perfetto *x, uint32_t track)
{
	const perfetto_track *t = &x->tracks.p[track], *up = t;
	for (int i = 0; up && up->tid < 0 && i < PARENTS_MAX; i++)
		up = parent_of(x, up);
	uint32_t row = host_track(x, up && up->tid >= 0 ? (uint32_t)(up - x->tracks.p) : track);
	x->part->source = x->tracks.p[track].source;
	return row;
}

/* Counters of a device, or of a thread or process. */
static uint32_t counter_track(perfetto *x, uint32_t i)
{
	perfetto_track *t = &x->tracks.p[i];
	if (t->ours != ASSAY_NO_ROW)
		return t->ours;
	int64_t device = t->device >= 0 ? t->device : device_in_names(x, t);
	x->part->source = t->source;
	if (device >= 0)
		t->ours = assay_track(x->part, ASSAY_TRACK_TELEMETRY, device, -1, 0, 0);
	else
		t->ours = assay_thread_track(x->part, process_of(x, t), t->tid);
	return t->ours;
}

static uint32_t stream_track(perfetto *x, const perfetto_place *p, int64_t queue)
{
	perfetto_track *t = &x->tracks.p[p->track];
	if (t->device < 0)
		t->device = device_in_names(x, t);
	if (t->stream < 0)
		t->stream = stream_in_names(x, t);
	int64_t device = p->device >= 0 ? p->device : t->device >= 0 ? t->device : 0;
	int64_t stream = p->stream >= 0 ? p->stream : t->stream >= 0 ? t->stream : queue;
	x->part->source = t->source;
	return assay_stream_track(x->part, device, stream);
}

static void place_rows(perfetto *x)
{
	assay_tables *t = &x->part->t;
	uint32_t first = x->part->source;
	for (size_t r = x->first[ASSAY_T_host]; r < t->host.n; r++)
		t->host.track[r] = host_track(x, t->host.track[r]);
	for (size_t i = 0; i < x->gpu.n; i++) {
		size_t r = x->first[ASSAY_T_gpu] + i;
		int64_t queue = t->gpu.queue[r] == UINT32_MAX ? -1 : (int64_t)t->gpu.queue[r];
		t->gpu.track[r] = stream_track(x, &x->gpu.p[i], queue);
	}
	for (size_t i = 0; i < x->sync.n; i++)
		t->sync.track[x->first[ASSAY_T_sync] + i] = stream_track(x, &x->sync.p[i], -1);
	for (size_t i = 0; i < x->mark.n; i++)
		t->mark.track[x->first[ASSAY_T_mark] + i] = stream_track(x, &x->mark.p[i], -1);
	assay_sid unnamed = assay_intern_z(&x->part->strings, "counter");
	for (size_t r = x->first[ASSAY_T_counter]; r < t->counter.n; r++) {
		assay_sid name = x->tracks.p[t->counter.track[r]].name;
		t->counter.name[r] = name ? name : unnamed;
		t->counter.track[r] = counter_track(x, t->counter.track[r]);
	}
	x->part->source = first;
}

void perfetto_finish(perfetto *x)
{
	pair_ends(x);
	close_open(x);
	make_sources(x);
	place_rows(x);
	perfetto_place_samples(x);
}

TEST(a_rank_is_taken_off_the_name_of_its_process)
{
	assay_str both = ASSAY_S("rank 3 python"), bare = ASSAY_S("rank 0 "),
		  none = ASSAY_S("ranks 3");
	CHECK(take_rank(&both) == 3 && assay_str_is(both, "python"));
	CHECK(take_rank(&bare) == 0 && !bare.n);
	CHECK(take_rank(&none) == -1 && assay_str_is(none, "ranks 3"));
	return 0;
}

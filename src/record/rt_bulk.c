/* Records that are not made on the program's hot path: under a lock, into the recorder's own ring,
 * where they survive the process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/rt_state.h"

enum { ROOM_WAITS = 1000 }; /* of 1 ms each, for the writer to make room */

/* Where records go for which there is no room; under the lock. */
static _Alignas(8) char spill[ASSAY_WIRE_RECORD_MAX];

void assay_rt_publish(void)
{
	atomic_store_explicit(&rt.file->bulk.head, rt.bulk_head, memory_order_release);
}

static size_t bulk_used(void)
{
	return (size_t)(rt.bulk_head -
			atomic_load_explicit(&rt.file->bulk.tail, memory_order_acquire));
}

/* The writer takes no lock to empty this ring, so waiting for it with the lock is safe. */
static bool room_for(size_t need)
{
	const struct timespec pause = {0, 1000000};
	if (bulk_used() + need <= ASSAY_RING_BULK)
		return true;
	assay_rt_publish();
	if (assay_rt_is_writer())
		assay_rt_drain_bulk();
	for (int i = 0; !assay_rt_is_writer() && !rt.bulk_stuck && i < ROOM_WAITS; i++) {
		if (bulk_used() + need <= ASSAY_RING_BULK)
			break;
		assay_rt_wake_writer();
		nanosleep(&pause, NULL);
	}
	rt.bulk_stuck = bulk_used() + need > ASSAY_RING_BULK;
	return !rt.bulk_stuck;
}

static void drop(assay_wire_type type)
{
	rt.bulk_lost++;
	atomic_fetch_add(&rt.file->dropped[ASSAY_WIRE_LOST_STALLED][type], 1);
}

void *assay_rt_bulk(assay_wire_type type, size_t bytes)
{
	assay_wire_rec *rec = (assay_wire_rec *)(void *)spill;
	bytes = assay_wire_round(bytes);
	if (room_for(assay_ring_need(ASSAY_RING_BULK, rt.bulk_head, bytes)))
		rec = assay_ring_place(rt.bulk, ASSAY_RING_BULK, &rt.bulk_head, (uint16_t)type,
				       bytes);
	else
		drop(type);
	memset(rec + 1, 0, bytes - sizeof *rec);
	return rec;
}

uint32_t assay_rt_string_of(const char *p, size_t n)
{
	enum { LONGEST = ASSAY_WIRE_RECORD_MAX - sizeof(assay_wire_string) };
	if (n > LONGEST)
		n = LONGEST;
	bool fresh = false;
	uint32_t id = n ? assay_strings_id(&rt.strings, p, n, &fresh) : 0;
	if (fresh) {
		assay_wire_string *s = assay_rt_bulk(ASSAY_WIRE_STRING, sizeof *s + n);
		s->id = id;
		s->length = (uint32_t)n;
		memcpy(s + 1, p, n);
	}
	return id;
}

uint32_t assay_rt_string(const char *z)
{
	return z ? assay_rt_string_of(z, strlen(z)) : 0;
}

void assay_rt_meta(const char *key, const char *value)
{
	uint32_t k = assay_rt_string(key), v = assay_rt_string(value);
	assay_wire_meta *m = assay_rt_bulk(ASSAY_WIRE_META, sizeof *m);
	m->key = k;
	m->value = v;
}

/* ---- names of calls ---- */

/* Entries are never moved and counted when they are whole: a fork may come at any time. */
typedef struct call_names {
	struct call_names *next; /* older ones */
	_Atomic uint32_t n;
	struct {
		uint32_t function;
		uint16_t domain;
		char *name;
	} call[255];
} call_names;

static call_names *_Atomic named;

static void remember_name(uint16_t domain, uint32_t function, const char *name)
{
	call_names *at = atomic_load(&named);
	uint32_t n = at ? atomic_load(&at->n) : 0;
	if (!at || n == sizeof at->call / sizeof *at->call) {
		call_names *fresh = calloc(1, sizeof *fresh);
		if (!fresh)
			return;
		fresh->next = at;
		atomic_store(&named, at = fresh);
		n = 0;
	}
	at->call[n].function = function;
	at->call[n].domain = domain;
	at->call[n].name = strdup(name);
	atomic_store(&at->n, n + 1);
}

static void put_call_name(uint16_t domain, uint32_t function, const char *name)
{
	uint32_t sid = assay_rt_string(name);
	assay_wire_api_name *w = assay_rt_bulk(ASSAY_WIRE_API_NAME, sizeof *w);
	w->function = function;
	w->domain = domain;
	w->name = sid;
}

void assay_rt_name_call(uint16_t domain, uint32_t function, const char *name)
{
	remember_name(domain, function, name);
	put_call_name(domain, function, name);
}

void assay_rt_tell_calls(void)
{
	for (const call_names *at = atomic_load(&named); at; at = at->next)
		for (uint32_t i = 0; i < atomic_load(&at->n); i++)
			put_call_name(at->call[i].domain, at->call[i].function, at->call[i].name);
}

static void tell_variable(const char *name)
{
	char key[48];
	snprintf(key, sizeof key, "env.%s", name);
	if (getenv(name))
		assay_rt_meta(key, getenv(name));
}

void assay_rt_tell_variables(const char *const *of_vendor)
{
	static const char *const of_launchers[] = {
#define OF_RANKS_true(rank, size) rank, size,
#define OF_RANKS_false(rank, size)
#define LAUNCHER(name, rank, size, ranks) OF_RANKS_##ranks(rank, size)
#include "names/launchers.def"
#undef LAUNCHER
		"LOCAL_RANK",
	};
	for (size_t i = 0; i < sizeof of_launchers / sizeof *of_launchers; i++)
		tell_variable(of_launchers[i]);
	for (; *of_vendor; of_vendor++)
		tell_variable(*of_vendor);
}

/* The writer asks for the name: here a descriptor could meet one of the program's. */
void assay_rt_name_thread(uint32_t tid)
{
	uint32_t i = tid * 2654435761u % RT_THREADS;
	for (int probes = 0; tid && probes < 64; probes++, i = (i + 1) % RT_THREADS) {
		if (rt.threads[i] == tid)
			return;
		if (!rt.threads[i]) {
			rt.threads[i] = tid;
			rt.unnamed[rt.unnamed_n++] = tid;
			return;
		}
	}
}

bool assay_rt_bulk_open(void)
{
	if (!atomic_load(&rt.on))
		return false;
	assay_rt_after_fork();
	pthread_mutex_lock(&rt.lock);
	if (assay_rt_begin_locked())
		return true;
	pthread_mutex_unlock(&rt.lock);
	return false;
}

void assay_rt_put_mark(const char *name, int64_t time)
{
	uint32_t text = assay_rt_string(name), domain = assay_rt_string("assay");
	assay_wire_range *g = assay_rt_bulk(ASSAY_WIRE_RANGE, sizeof *g);
	g->rec.thread = (uint32_t)getpid();
	g->time = time;
	g->name = text;
	g->domain = domain;
	g->op = ASSAY_WIRE_RANGE_MARK;
}

void assay_rt_put_lost(uint32_t why, uint64_t count, int64_t first, int64_t last, const char *text)
{
	uint32_t sid = assay_rt_string(text);
	assay_wire_lost *l = assay_rt_bulk(ASSAY_WIRE_LOST, sizeof *l);
	l->why = why;
	l->count = count;
	l->first = first;
	l->last = last;
	l->text = sid;
}

void assay_rt_bulk_close(void)
{
	int saved = errno;
	uint64_t lost = rt.bulk_lost;
	if (lost && room_for(sizeof(assay_wire_lost) * 2)) {
		rt.bulk_lost = 0;
		assay_rt_put_lost(ASSAY_WIRE_LOST_STALLED, lost, 0, 0, NULL);
	}
	assay_rt_publish();
	if (bulk_used() > ASSAY_RING_BULK / 2)
		assay_rt_wake_writer();
	pthread_mutex_unlock(&rt.lock);
	errno = saved;
}

void assay_rt_lost(uint32_t why, uint64_t count, const char *text)
{
	if (!assay_rt_bulk_open())
		return;
	int64_t now = assay_rt_now();
	assay_rt_put_lost(why, count, now, now, text);
	assay_rt_bulk_close();
}

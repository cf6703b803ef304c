/* Streams and executable graphs live at addresses that the runtime uses again. Each gets a number
 * of its own for as long as it lives; the SDK's own stream numbers came late, and were given twice
 * in some versions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "record/rocm.h"

enum { CACHE = 16, LEAST_SLOTS = 256, LOSS = 1 << 20 };
#define NOBODY UINT32_MAX

/* Address -> number of who lives there now. Addresses are never taken out. */
typedef struct place {
	uint64_t handle; /* 0 unused */
	uint32_t id;
} place;

typedef struct places {
	place *slot; /* open addressing */
	size_t slots, n;
	uint32_t last; /* number given last */
} places;

typedef struct stream {
	uint64_t handle, corr;
	int64_t created, destroyed;
	uint32_t device; /* NONE until work was seen */
	uint32_t flags;
	int32_t priority;
	bool told;
	uint64_t devices; /* a thread's own: those it is told of, by bit */
} stream;

enum { OWN = 4 }; /* in flags */

static struct {
	pthread_mutex_t lock; /* inside the runtime's, never around it */
	places streams, graphs;
	stream *list; /* by number */
	size_t list_size;
	_Atomic uint32_t era;   /* changes when a stream comes or goes: caches are void */
	_Atomic uint64_t nulls; /* devices whose default stream is told, by bit */
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
	uint64_t handle[CACHE];
	uint32_t id[CACHE];
	uint32_t era, own, own_life;
} mine;

static void lock_handles(void)
{
	assay_rt_after_fork();
	pthread_mutex_lock(&handles.lock);
}

/* Not freed: they may be half changed. */
void assay_rocm_handles_forked(void)
{
	pthread_mutex_init(&handles.lock, NULL);
	handles.streams = handles.graphs = (places){0};
	handles.list = NULL;
	handles.list_size = 0;
	atomic_store(&handles.nulls, 0);
	atomic_fetch_add(&handles.era, 1);
}

static size_t hash(uint64_t handle)
{
	return (size_t)(handle * 0x9e3779b97f4a7c15u >> 32);
}

static bool grow(places *p)
{
	size_t slots = p->slots ? p->slots * 2 : LEAST_SLOTS;
	place *slot = calloc(slots, sizeof *slot);
	if (!slot)
		return p->n + 1 < p->slots;
	for (size_t i = 0; i < p->slots; i++) {
		size_t k = hash(p->slot[i].handle) & (slots - 1);
		while (p->slot[i].handle && slot[k].handle)
			k = (k + 1) & (slots - 1);
		if (p->slot[i].handle)
			slot[k] = p->slot[i];
	}
	free(p->slot);
	p->slot = slot;
	p->slots = slots;
	return true;
}

/* NULL when there is no memory. */
static place *place_of(places *p, uint64_t handle)
{
	if (p->n * 2 >= p->slots && !grow(p))
		return NULL;
	size_t k = hash(handle) & (p->slots - 1);
	while (p->slot[k].handle && p->slot[k].handle != handle)
		k = (k + 1) & (p->slots - 1);
	if (!p->slot[k].handle) {
		p->slot[k] = (place){handle, NOBODY};
		p->n++;
	}
	return &p->slot[k];
}

static stream *new_stream(uint64_t handle, uint32_t *id)
{
	uint32_t next = handles.streams.last + 1;
	if (next > LOSS)
		return NULL;
	if (next >= handles.list_size) {
		size_t size = handles.list_size ? handles.list_size * 2 : LEAST_SLOTS;
		stream *list = realloc(handles.list, size * sizeof *list);
		if (!list)
			return NULL;
		handles.list = list;
		handles.list_size = size;
	}
	*id = handles.streams.last = next;
	handles.list[next] = (stream){.handle = handle, .device = ASSAY_WIRE_NONE};
	return &handles.list[next];
}

static uint32_t look_up(uint64_t handle)
{
	lock_handles();
	place *p = place_of(&handles.streams, handle);
	uint32_t id = p ? p->id : NOBODY;
	if (p && id == NOBODY && new_stream(handle, &id))
		p->id = id;
	pthread_mutex_unlock(&handles.lock);
	return id;
}

uint32_t assay_rocm_stream(uint64_t handle)
{
	if (handle <= ROCPROF_STREAM_LEGACY)
		return 0;
	if (handle == ROCPROF_STREAM_PER_THREAD)
		return assay_rocm_own_stream();
	uint32_t era = atomic_load_explicit(&handles.era, memory_order_acquire);
	size_t k = hash(handle) % CACHE;
	if (mine.era != era) {
		for (size_t i = 0; i < CACHE; i++)
			mine.handle[i] = 0;
		mine.era = era;
	}
	if (mine.handle[k] != handle) {
		mine.id[k] = look_up(handle);
		mine.handle[k] = handle;
	}
	return mine.id[k];
}

uint32_t assay_rocm_own_stream(void)
{
	uint32_t life = assay_rt_life();
	if (mine.own && mine.own_life == life)
		return mine.own;
	lock_handles();
	uint32_t id = NOBODY;
	stream *s = new_stream(ROCPROF_STREAM_PER_THREAD, &id);
	if (s)
		s->flags = OWN;
	pthread_mutex_unlock(&handles.lock);
	if (!s)
		return NOBODY;
	mine.own = id;
	mine.own_life = life;
	return id;
}

void assay_rocm_stream_made(uint64_t handle, uint32_t flags, int32_t priority, uint64_t corr,
			    int64_t time)
{
	uint32_t id;
	lock_handles();
	place *p = place_of(&handles.streams, handle);
	stream *s = p ? new_stream(handle, &id) : NULL;
	if (s) {
		p->id = id;
		s->flags = flags & 1 ? 2 : 0; /* hipStreamNonBlocking */
		s->priority = priority;
		s->corr = corr;
		s->created = time;
	}
	pthread_mutex_unlock(&handles.lock);
	atomic_fetch_add_explicit(&handles.era, 1, memory_order_release);
}

static void put_stream(uint32_t id, const stream *s)
{
	assay_wire_stream *w = assay_rt_bulk(ASSAY_WIRE_STREAM, sizeof *w);
	w->handle = s->handle;
	w->id = id;
	w->context = ASSAY_WIRE_NONE;
	w->device = s->device;
	w->flags = s->flags;
	w->priority = s->priority;
	w->corr = (uint32_t)s->corr;
	w->created = s->created;
	w->destroyed = s->destroyed;
}

/* The runtime's lock comes first: conversion holds it when it asks for streams. */
void assay_rocm_stream_gone(uint64_t handle, int64_t time)
{
	bool open = assay_rt_bulk_open();
	lock_handles();
	place *p = place_of(&handles.streams, handle);
	if (p && p->id != NOBODY && p->id < handles.list_size) {
		stream *s = &handles.list[p->id];
		s->destroyed = time;
		if (open && s->told)
			put_stream(p->id, s);
		p->id = NOBODY;
	}
	pthread_mutex_unlock(&handles.lock);
	if (open)
		assay_rt_bulk_close();
	atomic_fetch_add_explicit(&handles.era, 1, memory_order_release);
}

uint32_t assay_rocm_graph(uint64_t handle)
{
	lock_handles();
	place *p = handle ? place_of(&handles.graphs, handle) : NULL;
	if (p && p->id == NOBODY)
		p->id = ++handles.graphs.last;
	uint32_t id = p ? p->id : 0;
	pthread_mutex_unlock(&handles.lock);
	return id;
}

void assay_rocm_graph_gone(uint64_t handle)
{
	lock_handles();
	place *p = handle ? place_of(&handles.graphs, handle) : NULL;
	if (p)
		p->id = NOBODY;
	pthread_mutex_unlock(&handles.lock);
}

/* The default stream has the number 0 on every device. */
static void tell_null(uint32_t device)
{
	uint64_t bit = device < 64 ? 1ull << device : 0;
	if (bit && !(atomic_fetch_or(&handles.nulls, bit) & bit))
		put_stream(0, &(stream){.device = device, .flags = 1});
}

/* A thread's own stream is another one on each device, under one number. */
static void tell_own(uint32_t id, stream *s, uint32_t device)
{
	uint64_t bit = device < 64 ? 1ull << device : 0;
	if (bit ? s->devices & bit : s->told)
		return;
	s->devices |= bit;
	s->device = device;
	s->told = true;
	put_stream(id, s);
}

uint32_t assay_rocm_stream_on(uint32_t id, uint32_t device, bool own)
{
	if (id == 0)
		tell_null(device);
	if (id == 0 || id == ASSAY_WIRE_NONE || device == ASSAY_WIRE_NONE)
		return device;
	lock_handles();
	if (id <= handles.streams.last && id < handles.list_size) {
		stream *s = &handles.list[id];
		if (s->flags & OWN) {
			tell_own(id, s, device);
		} else {
			if (s->device == ASSAY_WIRE_NONE && own)
				s->device = device;
			if (!s->told && own)
				put_stream(id, s);
			s->told |= own;
			device = s->device == ASSAY_WIRE_NONE ? device : s->device;
		}
	}
	pthread_mutex_unlock(&handles.lock);
	return device;
}

void assay_rocm_streams_left(void)
{
	lock_handles();
	for (uint32_t id = 1; id <= handles.streams.last && id < handles.list_size; id++) {
		if (!handles.list[id].told)
			put_stream(id, &handles.list[id]);
		handles.list[id].told = true;
	}
	pthread_mutex_unlock(&handles.lock);
}

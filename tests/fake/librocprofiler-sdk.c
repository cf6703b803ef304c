/* rocprofiler-sdk without a GPU: the life cycle, services, names and record layouts of the version
 * that FAKE_ROCPROF names (400, 500, 600, 10000, 10100, 10300), built from our own declarations.
 *   FAKE_ROCPROF_SHIFT=N   numbers of kinds and operations are N higher: they must be found by name
 *   FAKE_ROCPROF_LATE=1    records come only at the end, newest first
 *   FAKE_ROCPROF_GROW=N    the union of arguments is N bytes longer
 *   FAKE_ROCPROF_DROP=N    so many records are dropped
 *   FAKE_ROCPROF_REFUSE=K  the service of kind K is refused
 *   FAKE_ROCPROF_CLOCK=NS  its clock is so much ahead
 *   FAKE_ROCPROF_NAMES=X   none: the render node may not be opened, agents have no names; else
 *                          libdrm has no list of products, which are "unknown" then
 *   FAKE_ROCPROF_STUCK=1   work that never ends is under way
 *   FAKE_ROCPROF_SLOW=MS   a flush takes at least so long, who asked for it longer
 *
 * As unkind as the real one: a DISCARD buffer has one half but flush turns to the other, where 0.x
 * throws and 1.0 loses the record without counting it; a full LOSSLESS buffer makes the thread that
 * fills it wait; the first buffer brings a second exit handler; a flush that runs while the SDK
 * ends meets freed memory; without a driver 0.x throws when asked for agents; the last name of a
 * list of tools counts only when it is the only one or ends in a colon; a free tells neither size
 * nor agent; the end of a range, where ranges are told as one, takes whatever the calling thread
 * began last and writes of it to stderr. What would throw aborts here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "rocprof.h"
#include "rocprof_names.h"
#include "vendor/rocprof.h"

enum {
	LOCKED = 16,
	BUSY = 14,
	FINALIZED = 24,
	NOT_ZERO = 30,
	KINDS = 64,
	CLIENTS = 8,
	BUFFERS = 4, /* of a client */
	RECORD = 192,
};

typedef struct record {
	struct record *next;
	uint32_t kind;
	uint64_t origin[CLIENTS]; /* external correlation id, as each client gave it */
	uint64_t bytes[RECORD / 8];
} record;

typedef struct half {
	record *first, *last;
	size_t used, size; /* size 0: never allocated */
} half;

typedef struct buffer {
	rocprof_buffer_fn *fn;
	void *data;
	half halves[2];
	unsigned turn; /* the half that is filled, by its last bit */
	size_t watermark;
	int policy, flushing;
	uint64_t dropped, id;
} buffer;

typedef struct client {
	union {
		rocprof_client_0 zero;
		rocprof_client_1 one;
	} id;
	rocprof_configure_result *result;
	void (*callback[KINDS])(void);
	void *arg[KINDS];
	uint8_t *ops[KINDS]; /* bits: NULL means all */
	uint64_t ops_set[KINDS][16];
	uint8_t buffered[KINDS];
	rocprof_request_fn *request;
	uint8_t requested[KINDS];
	buffer buffers[BUFFERS];
	int n_buffers, started, contexts;
} client;

static struct {
	uint32_t grow;
	int state, late;  /* state as rocprofiler_is_initialized has it */
	_Atomic int done; /* read by the recorder's thread */
	client clients[CLIENTS];
	uint32_t n;
	uint64_t last_corr, last_dispatch, ahead;
	record *pending; /* not finished, newest first */
	pthread_mutex_t lock;
	pthread_cond_t flushed;
	client *configuring;
	int threads_made, in_flush;
	uint32_t slow_ms;
	uint64_t die_in; /* HIP call of this number, when its work is under way */
} sdk = {.lock = PTHREAD_MUTEX_INITIALIZER, .flushed = PTHREAD_COND_INITIALIZER};

/* Threads of the parent may have been in the middle of a flush. */
static void in_child(void)
{
	pthread_mutex_init(&sdk.lock, NULL);
	pthread_cond_init(&sdk.flushed, NULL);
	sdk.in_flush = 0;
	sdk.pending = NULL;
	for (uint32_t i = 0; i < sdk.n; i++) {
		client *c = &sdk.clients[i];
		memset(c->buffered, 0, sizeof c->buffered);
		for (int k = 0; k < BUFFERS; k++) {
			c->buffers[k].flushing = 0;
			memset(c->buffers[k].halves, 0, sizeof c->buffers[k].halves);
		}
	}
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + sdk.ahead;
}

static uint64_t thread_id(void)
{
	static __thread uint64_t tid;
	if (!tid)
		tid = (uint64_t)syscall(SYS_gettid);
	return tid;
}

static void fatal(const char *why)
{
	fprintf(stderr, "fake rocprofiler-sdk: %s\n", why);
	abort();
}

static int one(void)
{
	return numbers.version >= ROCPROF_ABI_1;
}

/* ---- contexts, buffers, services: a client's first context has its number + 1, its buffers that
 * times 16 and the number of the buffer. Further contexts stand behind the clients, as clients
 * that no tool made ---- */

static int refused(const char *kind)
{
	const char *name = getenv("FAKE_ROCPROF_REFUSE");
	return name && kind && !strcmp(name, kind);
}

static client *client_of(uint64_t id)
{
	return id && id <= sdk.n ? &sdk.clients[id - 1] : NULL;
}

API int rocprofiler_create_context(uint64_t *id)
{
	if (numbers.version >= 500 && *id)
		return NOT_ZERO;
	if (sdk.state != -1)
		return LOCKED;
	if (sdk.configuring->contexts++) {
		if (sdk.n == CLIENTS)
			return NOT_FOUND;
		*id = ++sdk.n;
		return 0;
	}
	*id = (uint64_t)(sdk.configuring - sdk.clients) + 1;
	return 0;
}
API int rocprofiler_start_context(uint64_t id)
{
	client_of(id)->started = 1;
	return 0;
}
API int rocprofiler_stop_context(uint64_t id)
{
	client_of(id)->started = 0;
	return 0;
}
API int rocprofiler_context_is_valid(uint64_t id, int *valid)
{
	*valid = client_of(id) != NULL;
	return 0;
}
static void finalize_all(void);

static void make_threads(void)
{
	if (!sdk.threads_made)
		atexit(finalize_all);
	sdk.threads_made = 1;
}

API int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
				  rocprof_buffer_fn *fn, void *data, uint64_t *id)
{
	client *c = client_of(context);
	if (sdk.state != -1)
		return LOCKED;
	if (!c || c->n_buffers == BUFFERS || *id || watermark > size ||
	    (policy != 1 && policy != 2))
		return NOT_ZERO;
	make_threads();
	*id = context * 16 + (uint64_t)c->n_buffers;
	c->buffers[c->n_buffers++] = (buffer){
		.fn = fn,
		.data = data,
		.halves = {{.size = size}, {.size = policy == ROCPROF_LOSSLESS ? size : 0}},
		.watermark = watermark,
		.policy = policy,
		.id = *id};
	return 0;
}
API int rocprofiler_create_callback_thread(uint64_t *id)
{
	make_threads();
	*id = 1;
	return sdk.state == -1 ? 0 : LOCKED;
}
API int rocprofiler_assign_callback_thread(uint64_t id, uint64_t thread)
{
	return client_of(id / 16) && thread == 1 ? 0 : NOT_FOUND;
}
API int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
						       const int32_t *ops, size_t n,
						       void (*fn)(void), void *arg)
{
	client *c = client_of(context);
	if (sdk.state != -1)
		return LOCKED;
	if (!c || !name_in(callback_kinds, kind) || c->callback[kind] ||
	    refused(name_in(callback_kinds, kind)))
		return NOT_FOUND;
	c->callback[kind] = fn;
	c->arg[kind] = arg;
	c->ops[kind] = n ? (uint8_t *)c->ops_set[kind] : NULL;
	for (size_t i = 0; i < n; i++)
		c->ops_set[kind][ops[i] / 64] |= 1ull << ops[i] % 64;
	return 0;
}
API int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind, const int32_t *ops,
						     size_t n, uint64_t id)
{
	(void)ops, (void)n;
	client *c = client_of(context);
	if (sdk.state != -1)
		return LOCKED;
	if (!c || !name_in(buffer_kinds, kind) || id / 16 != context ||
	    refused(name_in(buffer_kinds, kind)))
		return NOT_FOUND;
	c->buffered[kind] = (uint8_t)(id % 16 + 1);
	return 0;
}
API int rocprofiler_configure_external_correlation_id_request_service(uint64_t context,
								      const int *kinds, size_t n,
								      rocprof_request_fn *fn,
								      void *arg)
{
	(void)arg;
	client *c = client_of(context);
	if (sdk.state != -1 || !c)
		return LOCKED;
	c->request = fn;
	for (size_t i = 0; i < n; i++)
		c->requested[kinds[i]] = 1;
	return 0;
}
API int rocprofiler_get_timestamp(uint64_t *t)
{
	*t = now();
	return 0;
}
API int rocprofiler_query_available_agents(int version, rocprof_agents_fn *fn, size_t size,
					   void *data)
{
	static union {
		rocprof_agent a;
		uint8_t bytes[312];
	} agents[3];
	const void *list[3];
	const char *names = getenv("FAKE_ROCPROF_NAMES");
	bool nameless = names && !strcmp(names, "none"), no_list = names && !nameless;
	size_t own = one() ? 312 : numbers.version >= 600 ? 304 : 296;
	if (version != 1 || size > own)
		return NOT_FOUND;
	if (access(ROCPROF_TOPOLOGY, F_OK)) {
		if (!one())
			fatal("sysfs nodes path does not exist");
		return fn(version, list, 0, data);
	}
	for (int i = 0; i < 3; i++) {
		rocprof_agent *a = &agents[i].a;
		memset(&agents[i], 0, sizeof agents[i]);
		a->size = own;
		a->id = i == 0 ? FAKE_CPU : i == 1 ? FAKE_GPU0 : FAKE_GPU1;
		a->type = i ? 2 : 1;
		a->cus = i ? 304 : 0;
		a->wavefront = i ? 64 : 0;
		a->local_memory = i ? 192ull << 30 : 0;
		a->gfx_target = i ? 90402 : 0;
		a->name = i ? "gfx942" : "some processor";
		a->product_name = i ? "AMD Instinct MI300X" : "some processor";
		if (i && nameless)
			a->name = a->product_name = "";
		else if (i && no_list)
			a->product_name = "unknown";
		a->vendor_name = a->model_name = "";
		a->node = (uint32_t)i;
		a->logical_of_type = i ? i - 1 : 0;
		if (own > 296)
			agents[i].bytes[296] = (uint8_t)(0xa0 + i);
		list[i] = a;
	}
	return fn(version, list, 3, data);
}

/* ---- delivery ---- */

typedef struct delivery {
	buffer *b;
	record *first;
} delivery;

static void deliver(buffer *b, record *first)
{
	size_t n = 0, i = 0;
	for (record *r = first; r; r = r->next)
		n++;
	rocprof_header *h = calloc(n + 1, sizeof *h), **list = calloc(n + 1, sizeof *list);
	for (record *r = first; r; r = r->next, i++) {
		h[i] = (rocprof_header){ROCPROF_TRACING, r->kind, r->bytes};
		list[i] = &h[i];
	}
	if (n)
		b->fn(b->id / 16, b->id, list, n, b->data, b->dropped);
	for (record *r = first, *next; r; r = next) {
		next = r->next;
		memset(r, 0xee, sizeof *r); /* who keeps a pointer finds out */
		free(r);
	}
	free(h);
	free(list);
}

static void *deliver_on_thread(void *data)
{
	delivery d = *(delivery *)data;
	free(data);
	deliver(d.b, d.first);
	usleep(sdk.slow_ms * 1000);
	take(&sdk.lock);
	d.b->flushing = 0;
	pthread_cond_broadcast(&sdk.flushed);
	pthread_mutex_unlock(&sdk.lock);
	return NULL;
}

/* The lock is held, and held again at the end. */
static void await_flush(const buffer *b)
{
	while (b->flushing)
		pthread_cond_wait(&sdk.flushed, &sdk.lock);
}

static int flush_locked(buffer *b, int wait)
{
	pthread_t t;
	if (b->flushing && !wait)
		return BUSY;
	await_flush(b);
	half *h = &b->halves[b->turn++ & 1];
	delivery *d = malloc(sizeof *d);
	*d = (delivery){b, h->first};
	h->first = h->last = NULL;
	h->used = 0;
	b->flushing = 1;
	if (pthread_create(&t, NULL, deliver_on_thread, d))
		abort();
	pthread_detach(t);
	if (wait)
		await_flush(b);
	return 0;
}

/* The real one waits for its threads in a place that is gone once it has ended. */
API int rocprofiler_flush_buffer(uint64_t id)
{
	enum { LATER = 4 };
	client *c = client_of(id / 16);
	int ends = sdk.done;
	if (ends > 0) {
		fprintf(stderr, "ERROR: a flush after the end is ignored\n");
		return FINALIZED;
	}
	if (!c || id % 16 >= BUFFERS || !c->buffers[id % 16].fn)
		return NOT_FOUND;
	take(&sdk.lock);
	sdk.in_flush++;
	int rc = flush_locked(&c->buffers[id % 16], 1);
	if (!ends && sdk.slow_ms) {
		pthread_mutex_unlock(&sdk.lock);
		usleep(LATER * sdk.slow_ms * 1000);
		take(&sdk.lock);
	}
	sdk.in_flush--;
	pthread_mutex_unlock(&sdk.lock);
	return rc;
}

static size_t bytes_of(const record *r)
{
	return ((const rocprof_record *)(const void *)r->bytes)->size;
}

/* Room for so many bytes, or NULL: the record is lost. */
static half *room_in(buffer *b, size_t bytes)
{
	for (;;) {
		half *h = &b->halves[b->turn & 1];
		if (h->used + bytes <= h->size)
			return h;
		if (h->size < bytes && !one())
			fatal("buffer too small to hold an object");
		if (h->size < bytes) {
			fprintf(stderr, "fake rocprofiler-sdk: error: buffer too small\n");
			return NULL;
		}
		if (b->policy != ROCPROF_LOSSLESS) {
			b->dropped++;
			return NULL;
		}
		flush_locked(b, 1);
	}
}

/* With the lock held; it is let go while a full buffer is flushed. */
static void put(buffer *b, const record *r)
{
	size_t bytes = bytes_of(r);
	half *h = room_in(b, bytes);
	if (!h)
		return;
	record *copy = malloc(sizeof *copy);
	*copy = *r;
	copy->next = NULL;
	*(h->first ? &h->last->next : &h->first) = copy;
	h->last = copy;
	h->used += bytes;
	if (h->used >= b->watermark)
		flush_locked(b, 0);
}

static int drops_left = -1;

static void put_for_all(record *r)
{
	static const char *const with_origin[] = {"KERNEL_DISPATCH", "MEMORY_COPY", "HIP_EVENT"};
	const char *kind = name_in(buffer_kinds, (int)r->kind);
	int asked = 0;
	for (size_t i = 0; i < sizeof with_origin / sizeof *with_origin; i++)
		asked |= kind && !strcmp(kind, with_origin[i]);
	if (drops_left < 0)
		drops_left = getenv("FAKE_ROCPROF_DROP") ? atoi(getenv("FAKE_ROCPROF_DROP")) : 0;
	for (uint32_t i = 0; i < sdk.n; i++) {
		client *c = &sdk.clients[i];
		if (!c->started || r->kind >= KINDS || !c->buffered[r->kind])
			continue;
		buffer *b = &c->buffers[c->buffered[r->kind] - 1];
		if (drops_left > 0) {
			drops_left--;
			b->dropped++;
			continue;
		}
		if (asked) /* size, kind and operation, internal, external */
			r->bytes[3] = r->origin[i];
		put(b, r);
	}
	free(r);
}

/* Work that was pending is done: its records go to every client's buffer, in turn or turned
 * round. */
static void complete(void)
{
	take(&sdk.lock);
	record *list = sdk.pending, *turned = NULL;
	sdk.pending = NULL;
	for (record *next; !sdk.late && list; list = next) {
		next = list->next;
		list->next = turned;
		turned = list;
	}
	list = sdk.late ? list : turned;
	for (record *next; list; list = next) {
		next = list->next;
		put_for_all(list);
	}
	pthread_mutex_unlock(&sdk.lock);
}

API void fake_deliver(void)
{
	if (!sdk.late)
		complete();
}

API int fake_holds(void)
{
	int holds = 0;
	take(&sdk.lock);
	for (uint32_t i = 0; i < sdk.n; i++)
		for (int k = 0; k < BUFFERS; k++) {
			const buffer *b = &sdk.clients[i].buffers[k];
			holds |= b->flushing || b->halves[0].first || b->halves[1].first;
		}
	pthread_mutex_unlock(&sdk.lock);
	return holds;
}

/* ---- life ---- */

static void finalize_all(void)
{
	if (sdk.done)
		return;
	sdk.done = -1;
	while (getenv("FAKE_ROCPROF_STUCK")) /* it waits for the work of every queue */
		pause();
	complete();
	for (uint32_t i = 0; i < sdk.n; i++)
		sdk.clients[i].started = 0;
	for (uint32_t i = 0; i < sdk.n; i++)
		if (sdk.clients[i].result && sdk.clients[i].result->finalize)
			sdk.clients[i].result->finalize(sdk.clients[i].result->tool_data);
	take(&sdk.lock);
	if (sdk.in_flush)
		fatal("a flush uses threads that are gone");
	sdk.done = 1;
	pthread_mutex_unlock(&sdk.lock);
	usleep(sdk.slow_ms * 1000); /* its threads end */
}

/* With one client the whole SDK, with several that client alone. */
static void finalize_client(uint32_t handle)
{
	uint32_t tools = 0;
	for (uint32_t i = 0; i < sdk.n; i++)
		tools += sdk.clients[i].result != NULL;
	if (tools == 1) {
		finalize_all();
		return;
	}
	complete();
	for (uint32_t i = 0; i < sdk.n; i++) {
		client *c = &sdk.clients[i];
		if (i != handle || !c->result)
			continue;
		c->started = 0;
		rocprof_configure_result *r = c->result;
		c->result = NULL;
		r->finalize(r->tool_data);
	}
}
static void finalize_0(rocprof_client_0 c)
{
	finalize_client(c.handle);
}
static void finalize_1(rocprof_client_1 c)
{
	if (c.size != sizeof c)
		abort();
	finalize_client(c.handle);
}

typedef rocprof_configure_result *configure_fn(uint32_t, const char *, uint32_t, void *);

static void add_tool(void *symbol)
{
	configure_fn *fn;
	static void *seen[CLIENTS];
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (symbol == seen[i])
			return;
	seen[sdk.n] = symbol;
	client *c = &sdk.clients[sdk.n];
	if (one())
		c->id.one = (rocprof_client_1){sizeof c->id.one, NULL, sdk.n};
	else
		c->id.zero = (rocprof_client_0){NULL, sdk.n};
	memcpy(&fn, &symbol, sizeof fn);
	c->result = fn(numbers.version, "fake", sdk.n, &c->id);
	if (c->result)
		sdk.n++;
}

static void load_tools(void)
{
	char list[4096];
	const char *env = getenv("ROCP_TOOL_LIBRARIES");
	snprintf(list, sizeof list, "%s", env ? env : "");
	char *last = strrchr(list, ':');
	if (last)
		last[1] = 0;
	for (char *p = strtok(list, ":"); p; p = strtok(NULL, ":")) {
		void *lib = dlopen(p, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
		lib = lib ? lib : dlopen(p, RTLD_LAZY | RTLD_LOCAL);
		if (!lib) {
			fprintf(stderr, "fake rocprofiler-sdk: %s\n", dlerror());
			abort(); /* as the real one does */
		}
		if (dlsym(lib, "rocprofiler_configure"))
			add_tool(dlsym(lib, "rocprofiler_configure"));
	}
	if (dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
		add_tool(dlsym(RTLD_DEFAULT, "rocprofiler_configure"));
}

static uint32_t setting(const char *name, uint32_t usual)
{
	return getenv(name) ? (uint32_t)strtoul(getenv(name), NULL, 10) : usual;
}

static void tell(client *c, int kind, int operation, int phase, uint64_t corr, rocprof_user *user,
		 void *payload)
{
	kind += (int)numbers.shift;
	operation += (int)numbers.shift;
	uint64_t tid = thread_id();
	if (!c->started || operation < 0 || !c->callback[kind])
		return;
	if (c->ops[kind] && !(c->ops_set[kind][operation / 64] >> operation % 64 & 1))
		return;
	if (one())
		((rocprof_callback_fn_1 *)c->callback[kind])(
			(rocprof_callback_1){1, tid, {corr, 0, 0}, kind, operation, phase, payload},
			user, c->arg[kind]);
	else
		((rocprof_callback_fn_0 *)c->callback[kind])(
			(rocprof_callback_0){1, tid, {corr, 0}, kind, operation, phase, payload},
			user, c->arg[kind]);
}

static void tell_all(int kind, int operation, int phase, uint64_t corr, rocprof_user *users,
		     void *payload)
{
	for (uint32_t i = 0; i < sdk.n; i++)
		tell(&sdk.clients[i], kind, operation, phase, corr, &users[i], payload);
}

static void register_kernels(void)
{
	static const char *const names[] = {"_Z3addPfS_i.kd", "_Z6matmulPKfS0_Pfi.kd",
					    "Cijk_Ailk_Bljk_BBS_MT128x128.kd"};
	rocprof_code_object o = {
		.size = sizeof o, .id = 1, .uri = "file:///lib/kernels.co#offset=0"};
	tell_all(CODE, 1, ROCPROF_ENTER, 0, (rocprof_user[CLIENTS]){{0}}, &o);
	for (uint64_t i = 0; i < 3; i++) {
		char text[64];
		rocprof_user users[CLIENTS] = {{0}};
		rocprof_kernel_symbol s = {
			.size = numbers.version >= 600 ? sizeof s : ROCPROF_KERNEL_SYMBOL_SHORT,
			.kernel = i + 1,
			.code_object = 1,
			.name = text,
			.sgprs = 48,
			.vgprs = 64 + (uint32_t)i,
			.accum_vgprs = 4};
		snprintf(text, sizeof text, "%s", names[i]);
		tell_all(CODE, 2, ROCPROF_ENTER, 0, users, &s);
		memset(text, '#', sizeof text - 1); /* the name is only lent */
	}
}

API void fake_start(void)
{
	numbers.version = setting("FAKE_ROCPROF", 10000);
	numbers.shift = setting("FAKE_ROCPROF_SHIFT", 0);
	sdk.grow = setting("FAKE_ROCPROF_GROW", 0);
	sdk.ahead = setting("FAKE_ROCPROF_CLOCK", 0);
	sdk.late = (int)setting("FAKE_ROCPROF_LATE", 0);
	sdk.slow_ms = setting("FAKE_ROCPROF_SLOW", 0);
	sdk.die_in = setting("FAKE_ROCPROF_DIE", 0);
	atexit(finalize_all);
	sdk.state = -1;
	load_tools();
	for (uint32_t i = 0, tools = sdk.n; i < tools; i++) {
		sdk.configuring = &sdk.clients[i];
		void (*fn)(void) = one() ? (void (*)(void))finalize_1 : (void (*)(void))finalize_0;
		sdk.clients[i].result->initialize(fn, sdk.clients[i].result->tool_data);
	}
	sdk.state = 1;
	register_kernels();
}

/* What rocprofiler-register calls for each runtime: so the fake serves behind the real one, too. */
API int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
				  void **tables, uint64_t n);
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t n)
{
	(void)name, (void)version, (void)instance, (void)tables, (void)n;
	if (!sdk.state)
		fake_start();
	return 0;
}

/* ---- calls ---- */

/* Each client for what a piece of work shall carry; again when the work is done, as the answer of
 * then is not kept. */
static void ask(record *r, int request, int operation, int again, uint64_t corr)
{
	for (uint32_t i = 0; i < sdk.n; i++) {
		client *c = &sdk.clients[i];
		rocprof_user out = {0}, later = {0};
		if (!c->started || !c->request || !c->requested[request])
			continue;
		c->request(thread_id(), 1, request, operation + (int)numbers.shift, corr, &out,
			   NULL);
		if (again != operation)
			c->request(thread_id(), 1, request, again + (int)numbers.shift, corr,
				   &later, NULL);
		r->origin[i] = out.value;
	}
}

static record *new_record(const char *kind, size_t bytes, int operation, rocprof_record *head)
{
	record *r = calloc(1, sizeof *r);
	r->kind = (uint32_t)number_in(buffer_kinds, kind);
	*head = (rocprof_record){bytes, (int32_t)r->kind, operation + (int)numbers.shift};
	return r;
}

static record *make_kernel(const fake_work *w, uint64_t corr, uint64_t t)
{
	rocprof_kernel_record k = {
		.corr = {corr, 0}, .thread = thread_id(), .start = t + 1000, .end = t + 3000};
	record *r = new_record("KERNEL_DISPATCH", sizeof k + (numbers.version >= 10300 ? 8 : 0), 2,
			       &k.rec);
	k.dispatch = (rocprof_dispatch){.size = 72,
					.agent = w->agent,
					.queue = 3,
					.kernel = w->kernel,
					.private_size = 16,
					.group_size = 4096,
					.workgroup = {256, 1, 1},
					.grid = {1024, 2, 1}};
	k.dispatch.dispatch = __atomic_add_fetch(&sdk.last_dispatch, 1, __ATOMIC_RELAXED);
	memcpy(r->bytes, &k, sizeof k);
	ask(r, ROCPROF_REQUEST_KERNEL, ENQUEUE, COMPLETE, corr);
	return r;
}

static record *make_copy(const fake_work *w, uint64_t corr, uint64_t t)
{
	rocprof_copy_record c = {.corr = {corr, 0},
				 .start = t + 1000,
				 .end = t + 2000,
				 .to_agent = w->agent,
				 .from_agent = w->from_agent,
				 .bytes = w->bytes};
	record *r = new_record("MEMORY_COPY", one() ? sizeof c : ROCPROF_COPY_SHORT, w->operation,
			       &c.rec);
	memcpy(r->bytes, &c, sizeof c);
	ask(r, ROCPROF_REQUEST_COPY, w->operation, w->operation, corr);
	return r;
}

static record *make_memory(const fake_work *w, uint64_t corr, uint64_t t)
{
	uint64_t tid = thread_id();
	int frees = w->operation > 2;
	uint64_t agent = frees ? 0 : w->agent, bytes = frees ? 0 : w->bytes;
	rocprof_memory_record_1 m = {.corr = {corr, 0, 0},
				     .thread = tid,
				     .start = t,
				     .end = t + 500,
				     .agent = agent,
				     .address = w->address,
				     .bytes = bytes};
	rocprof_memory_record_0 m0 = {.corr = {corr, 0},
				      .thread = tid,
				      .start = t,
				      .end = t + 500,
				      .agent = agent,
				      .address = w->address,
				      .bytes = bytes};
	record *r = new_record("MEMORY_ALLOCATION", one() ? sizeof m : sizeof m0, w->operation,
			       one() ? &m.rec : &m0.rec);
	memcpy(r->bytes, one() ? (void *)&m : (void *)&m0, one() ? sizeof m : sizeof m0);
	return r;
}

static record *make_scratch(const fake_work *w, uint64_t corr, uint64_t t)
{
	uint64_t tid = thread_id();
	rocprof_record head;
	size_t size = numbers.version > 10000 ? 96 : one() ? 88 : 80;
	record *r = new_record("SCRATCH_MEMORY", size, w->operation, &head);
	rocprof_scratch_record_04 s4 = {head, w->agent, 3, tid, t, t + 700, {corr, 0}, 5};
	rocprof_scratch_record_06 s6 = {head, {corr, 0}, w->agent, 3, tid, t, t + 700, 5};
	rocprof_scratch_record_1 s1 = {head, {corr, 0, 0}, w->agent, 3,       tid,
				       t,    t + 700,      5,        w->bytes};
	const void *s = one() ? (void *)&s1 : numbers.version >= 600 ? (void *)&s6 : (void *)&s4;
	memcpy(r->bytes, s, size);
	return r;
}

static record *make_event(const fake_work *w, uint64_t corr, uint64_t t)
{
	rocprof_event_record e = {.corr = {corr, 0},
				  .start = t + 100,
				  .end = t + 200,
				  .agent = w->agent,
				  .queue = 3,
				  .event = w->event,
				  .source_queue = 4};
	record *r = new_record("HIP_EVENT", sizeof e, w->operation, &e.rec);
	memcpy(r->bytes, &e, sizeof e);
	ask(r, REQUEST_EVENT, w->operation, w->operation, corr);
	return r;
}

static void enqueue(const fake_work *w, uint64_t corr)
{
	uint64_t t = now();
	record *r = w->kind == FAKE_KERNEL    ? make_kernel(w, corr, t)
		    : w->kind == FAKE_COPY    ? make_copy(w, corr, t)
		    : w->kind == FAKE_MEMORY  ? make_memory(w, corr, t)
		    : w->kind == FAKE_SCRATCH ? make_scratch(w, corr, t)
					      : make_event(w, corr, t);
	take(&sdk.lock);
	if (w->kind == FAKE_MEMORY) { /* done at once, on the program's own thread */
		put_for_all(r);
	} else {
		r->next = sdk.pending;
		sdk.pending = r;
	}
	pthread_mutex_unlock(&sdk.lock);
}

static void set_stream(const fake_call *c, int phase)
{
	rocprof_user users[CLIENTS] = {{0}};
	if (!c->stream || !one())
		return;
	rocprof_hip_stream s = {sizeof s, 77, *c->stream};
	if (numbers.version < 10100 && *c->stream == 2)
		for (uint32_t i = 0; i < sdk.n; i++)
			if (sdk.clients[i].callback[STREAM + numbers.shift])
				abort(); /* std::out_of_range in the real one */
	tell_all(STREAM, 3, phase, 0, users, &s);
}

static void set_graph(const fake_call *c, int phase)
{
	rocprof_user users[CLIENTS] = {{0}};
	rocprof_hip_graph g = {sizeof g, 41, c->graph ? *c->graph : 0};
	if (c->graph && numbers.version >= 10300)
		tell_all(GRAPH, 3, phase, 0, users, &g);
}

/* Which runtime has a function of that name. */
static const struct {
	const char *prefix;
	int kind;
	const named *ops;
	size_t args, result;
} runtimes[] = {
	{"_", COMPILER, compiler_ops, ROCPROF_HIP_ARGS_MIN, ROCPROF_HIP_RESULT},
	{"nccl", RCCL, rccl_ops, 168, ROCPROF_RCCL_RESULT},
	{"", RUNTIME, runtime_ops, ROCPROF_HIP_ARGS_MIN, ROCPROF_HIP_RESULT},
};

API void fake_hip(const fake_call *c)
{
	unsigned char data[512] = {0};
	rocprof_hip_call *h = (rocprof_hip_call *)(void *)data;
	rocprof_user users[CLIENTS] = {{0}};
	size_t of = 0;
	while (strncmp(c->function, runtimes[of].prefix, strlen(runtimes[of].prefix)))
		of++;
	int kind = runtimes[of].kind;
	int op = number_in(runtimes[of].ops, c->function) - (int)numbers.shift;
	uint64_t corr = __atomic_add_fetch(&sdk.last_corr, 1, __ATOMIC_RELAXED);
	h->size = sizeof *h + runtimes[of].args + sdk.grow + runtimes[of].result;
	memcpy(h->args, c->args ? c->args : "", c->args ? c->bytes : 0);
	set_stream(c, ROCPROF_ENTER);
	tell_all(kind, op, ROCPROF_ENTER, corr, users, h);
	set_graph(c, ROCPROF_ENTER);
	for (size_t i = 0; i < c->works; i++)
		if (sdk.n)
			enqueue(&c->work[i], corr);
	if (sdk.die_in == corr)
		kill(getpid(), SIGKILL);
	set_graph(c, ROCPROF_EXIT);
	memcpy(data + h->size - runtimes[of].result, &c->status, sizeof c->status);
	tell_all(kind, op, ROCPROF_EXIT, corr, users, h);
	set_stream(c, ROCPROF_EXIT);
}

/* ---- markers ---- */

enum { OPEN_MAX = 64 };
static __thread uint64_t open_ranges[OPEN_MAX];
static __thread int depth;

static void mark(int kind, int op, int phase, uint64_t corr, const char *text, uint64_t id,
		 uint64_t result, rocprof_user *users)
{
	rocprof_marker_call m = {.size = sizeof m, .result = result};
	if (text)
		m.args.message = text;
	else
		m.args.id = id;
	tell_all(kind, op, phase, corr, users, &m);
}

static bool anybody_asks_for(int kind)
{
	bool asked = false;
	for (uint32_t i = 0; i < sdk.n; i++)
		asked |= sdk.clients[i].callback[kind] != NULL;
	return asked;
}

/* The end of a range takes the last one off the calling thread's list, whichever that is. */
static void end_range(uint64_t corr)
{
	uint64_t last = depth ? open_ranges[--depth] : 0;
	if (last != corr && anybody_asks_for(RANGE))
		fprintf(stderr, "ERROR: pop_latest_correlation_id is happening out of order\n");
}

/* Both kinds are told; a tool that asks for both sees every range twice. */
API uint64_t fake_range(int op, const char *text, uint64_t id)
{
	rocprof_user users[CLIENTS] = {{0}};
	static const int call[] = {-1, 1, 2, 3, 4, 0, 0};
	uint64_t corr = __atomic_add_fetch(&sdk.last_corr, 1, __ATOMIC_RELAXED);
	uint64_t range = op == FAKE_START ? corr + 5000 : id;
	int kind = op == FAKE_NAME_THREAD ? NAMING : MARKER;
	mark(kind, call[op], ROCPROF_ENTER, corr, text, id, 0, users);
	mark(kind, call[op], ROCPROF_EXIT, corr, text, id, range, users);
	if (op == FAKE_NAME_THREAD || !one())
		return range;
	rocprof_user ranges[CLIENTS] = {{0}};
	int which = op == FAKE_PUSH || op == FAKE_POP ? 1 : op == FAKE_MARK ? 0 : 2;
	bool ends = op == FAKE_POP || op == FAKE_STOP;
	if (!ends) {
		open_ranges[depth++] = corr;
		mark(RANGE, which, ROCPROF_ENTER, corr, text, 0, 0, ranges);
	}
	if (ends || op == FAKE_MARK) {
		uint64_t began = op == FAKE_STOP ? id - 5000 : depth ? open_ranges[depth - 1] : 0;
		mark(RANGE, which, ROCPROF_EXIT, began, "", 0, 0, ranges);
		end_range(began);
	}
	return range;
}

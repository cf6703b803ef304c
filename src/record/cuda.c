/* libassay_cuda.so: the driver loads it at cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection. GPU work and allocations come through CUPTI's activity records, which CUPTI
 * fills by itself; calls come through its callbacks (cuda_callback.c), ranges through NVTX. */
#include "record/cuda_share.h"
#include "record/cuda_subscription.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/blas.h"
#include "record/host.h"
#include "vendor/dl.h"

enum {
	POOL = 64,   /* buffers kept for reuse */
	HEADER = 64, /* before a buffer of ours: the mark of cuda_share.h */
	/* flush intervals without our own call or any buffer coming back: somebody else gets the
	 * records */
	UNHEARD_MAX = 20,
};

static struct {
	cupti_lib cupti;
	void *lib; /* that it was bound from */
	int (*driver_version)(int *version);
	_Atomic(uint8_t *) pool[POOL]; /* zeroed buffers */
	_Atomic uint64_t sent,
		heard;            /* cuDriverGetVersion calls since heard of us; ever met again */
	_Atomic uint64_t buffers; /* that came back with records */
	_Atomic uint32_t sentinel_thread; /* the recorder's thread, which makes them */
	_Atomic int ready, taken;
	_Atomic uint64_t devices; /* with contexts, one bit each */
	_Atomic int peers;        /* their copies to each other are recorded */
	/* Switching is the ticker's business, but for the first time; under the lock: */
	pthread_mutex_t switching;
	bool bound, chosen;
	bool asked, wanted;   /* wanted: as the runtime asked last */
	_Atomic int prepared; /* CUPTI has our buffers */
	_Atomic int on;       /* kinds and callbacks are enabled, or are about to be */
} cuda = {.switching = PTHREAD_MUTEX_INITIALIZER};

#define SYM(field, must, name) {{name}, offsetof(cupti_lib, field), must},
static const assay_sym symbols[] = {CUPTI_SYMBOLS(SYM)};
#undef SYM

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint8_t *p = NULL;
	if (assay_share_request(buffer, size, max_records)) {
		assay_share_held(1);
		return;
	}
	for (size_t i = 0; i < POOL && !p; i++)
		if (atomic_load_explicit(&cuda.pool[i], memory_order_relaxed))
			p = atomic_exchange(&cuda.pool[i], NULL);
	*size = assay_rt_conf()->buffer_bytes;
	*max_records = 0;
	*buffer = NULL;
	if (!p && (p = calloc(1, HEADER + *size)))
		p += HEADER;
	if (!p)
		return;
	uint64_t mark = assay_share_mark();
	memcpy(p - HEADER, &mark, sizeof mark);
	*buffer = p;
	assay_share_held(1);
}

static void give_back(uint8_t *buffer, size_t used)
{
	memset(buffer, 0, used); /* here, on CUPTI's thread, and not by CUPTI on the program's */
	for (size_t i = 0; i < POOL; i++) {
		uint8_t *none = NULL;
		if (atomic_compare_exchange_strong(&cuda.pool[i], &none, buffer))
			return;
	}
	free(buffer - HEADER);
}

static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	size_t dropped = 0;
	if (!buffer)
		return;
	assay_share_held(-1);
	if (valid && assay_rt_bulk_open()) {
		atomic_fetch_add(&cuda.heard,
				 assay_cuda_convert(&cuda.cupti, buffer, valid,
						    atomic_load(&cuda.sentinel_thread)));
		assay_rt_bulk_close();
		atomic_fetch_add(&cuda.buffers, 1);
	}
	if (cuda.cupti.dropped(context, stream, &dropped) == CUPTI_OK && dropped)
		assay_rt_lost(ASSAY_WIRE_LOST_VENDOR, dropped, NULL);
	if (assay_share_complete(context, stream, buffer, size, valid))
		return;
	uint64_t mark;
	memcpy(&mark, buffer - HEADER, sizeof mark);
	assay_share_copy(context, stream, buffer, valid, mark);
	give_back(buffer, valid < size ? valid : size);
}

/* What we record; the first three are an inventory, whose past counts, too; the last two only while
 * cuda_callback.c does not see the calls behind them, since they are the most costly of all. */
static const int own_kinds[] = {
	CUPTI_DEVICE,   CUPTI_CONTEXT,         CUPTI_STREAM,     CUPTI_CONCURRENT_KERNEL,
	CUPTI_MEMCPY,   CUPTI_MEMCPY2,         CUPTI_MEMSET,     CUPTI_MEMORY2,
	CUPTI_OVERHEAD, CUPTI_SYNCHRONIZATION, CUPTI_CUDA_EVENT,
};
enum { INVENTORY = 3, KINDS = sizeof own_kinds / sizeof *own_kinds, WITHOUT_ORDER = KINDS - 2 };

/* Is the kind in "36.38"? */
static bool skipped(const char *list, int kind)
{
	while (*list) {
		char *end;
		if (strtol(list, &end, 10) == kind && end != list)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

bool assay_cuda_on(void)
{
	return atomic_load(&cuda.on);
}

bool assay_cuda_owns(int kind)
{
	const assay_rt_config *conf = assay_rt_conf();
	if (kind == CUPTI_GRAPH_TRACE && assay_graphs_traced())
		return true;
	if (!assay_cuda_on() || (kind == CUPTI_MEMCPY2 && !atomic_load(&cuda.peers)))
		return false;
	int n = assay_callback_on() && !conf->exact_waits ? WITHOUT_ORDER : KINDS;
	for (int i = 0; i < n; i++)
		if (own_kinds[i] == kind)
			return !skipped(conf->skip, kind);
	return false;
}

void assay_cuda_take_calls(void)
{
	const cupti_lib *c = &cuda.cupti;
	if (!assay_cuda_on())
		return;
	if (!assay_callback_on()) {
		/* first, since CUPTI takes a call's callback away with its record */
		assay_cuda_switch_records(c, false);
		bool seen = assay_callback_start(c);
		assay_graphs_seen(seen);
		if (!seen)
			assay_host_unseen("another tool has CUPTI's callbacks");
	}
	for (int i = WITHOUT_ORDER; i < KINDS; i++)
		if (!assay_cuda_owns(own_kinds[i]) && !assay_share_wants(own_kinds[i]))
			c->disable(own_kinds[i]);
	assay_cuda_enable_calls(c);
}

/* Before CUPTI asks for the first buffer, for whoever it is; as often as one likes. */
bool assay_cuda_prepare(void)
{
	const cupti_lib *c = &cuda.cupti;
	uint8_t zeroed = 1, per_thread = 1;
	size_t size = sizeof zeroed;
	if (atomic_load(&cuda.prepared))
		return true;
	if (c->set_attribute) {
		c->set_attribute(CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &zeroed);
		c->set_attribute(CUPTI_ATTR_PER_THREAD_BUFFER, &size, &per_thread);
	}
	if (c->set_thread_id_type)
		c->set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
	bool ok = c->register_callbacks(buffer_requested, buffer_completed) == CUPTI_OK;
	atomic_store(&cuda.prepared, ok);
	return ok;
}

static void choose_calls(const cupti_lib *c)
{
	if (cuda.chosen || !assay_rt_bulk_open())
		return;
	assay_cuda_choose_calls(c, assay_rt_conf());
	assay_rt_bulk_close();
	cuda.chosen = true;
}

static void enable_all(const cupti_lib *c)
{
	const assay_rt_config *conf = assay_rt_conf();
	if (c->enable_all_sync)
		c->enable_all_sync(conf->all_api); /* or each poll of a busy event is a record */
	assay_cuda_take_calls();
	for (int i = 0; i < KINDS; i++) {
		bool dump = i < INVENTORY && c->enable_and_dump;
		if (assay_cuda_owns(own_kinds[i]))
			(dump ? c->enable_and_dump : c->enable)(own_kinds[i]);
	}
}

void assay_cuda_met_context(uint32_t device)
{
	atomic_fetch_or(&cuda.devices, 1ull << device % 64);
}

/* CUPTI 13.0 lets command buffers of XLA's fail (error 719) while copies between devices are traced
 * beside others: asked for where there can be any. */
static void look_for_peers(void)
{
	uint64_t devices = atomic_load(&cuda.devices);
	if (atomic_load(&cuda.peers) || !(devices & (devices - 1)))
		return;
	atomic_store(&cuda.peers, 1);
	if (assay_cuda_owns(CUPTI_MEMCPY2))
		cuda.cupti.enable(CUPTI_MEMCPY2);
}

static bool switch_on(const cupti_lib *c)
{
	if (atomic_load(&cuda.on))
		return true;
	if (!assay_cuda_prepare())
		return false;
	choose_calls(c);
	assay_blas_install();
	atomic_store(&cuda.sent, 0);
	atomic_store(&cuda.on, 1);
	enable_all(c);
	return true;
}

/* Work that still runs has a little time to end; what comes later, later flushes take. */
static void switch_off(const cupti_lib *c)
{
	if (!atomic_load(&cuda.on))
		return;
	assay_graphs_seen(false);
	assay_callback_stop();
	assay_cuda_disable_calls(c);
	assay_share_settle();
	atomic_store(&cuda.on, 0);
	for (int i = 0; i < KINDS; i++)
		if (!assay_share_wants(own_kinds[i]))
			c->disable(own_kinds[i]);
	c->flush_all(0);
}

/* What nobody else enables is off while another profiler gets the records: it does not expect
 * them. */
static const int ours_alone[] = {CUPTI_MEMORY2, CUPTI_STREAM, CUPTI_CONTEXT, CUPTI_DEVICE};

static void step_aside(void)
{
	atomic_store(&cuda.taken, 1);
	for (size_t i = 0; i < sizeof ours_alone / sizeof *ours_alone; i++)
		cuda.cupti.disable(ours_alone[i]);
	assay_rt_lost(
		ASSAY_WIRE_LOST_TAKEN, 1,
		"another profiler in the program (torch.profiler, jax.profiler, ...) took CUPTI over: GPU work after that is in its trace, not in this one");
}

static void step_back(void)
{
	atomic_store(&cuda.sent, 0);
	atomic_store(&cuda.taken, 0);
	for (size_t i = 0; i < sizeof ours_alone / sizeof *ours_alone; i++)
		cuda.cupti.enable(ours_alone[i]);
}

static uint64_t unheard_max(void)
{
	const assay_rt_config *conf = assay_rt_conf();
	return (uint64_t)UNHEARD_MAX * conf->flush_ms / conf->tick_ms;
}

/* CUPTI has one client for buffers, and the last to register wins without a word. So our thread
 * makes a call that is recorded and looks whether the record, or anything else, comes back. */
static void flush_and_listen(void)
{
	int version;
	uint64_t heard = atomic_load(&cuda.heard), buffers = atomic_load(&cuda.buffers);
	atomic_store(&cuda.sentinel_thread, assay_rt_tid());
	assay_callback_mute();
	if (cuda.driver_version && cuda.cupti.enable_driver_api) {
		cuda.driver_version(&version);
		atomic_fetch_add(&cuda.sent, 1);
	}
	cuda.cupti.flush_all(0);
	if (atomic_load(&cuda.buffers) > buffers)
		atomic_store(&cuda.sent, 0);
	else if (heard && atomic_load(&cuda.sent) >= unheard_max())
		step_aside();
}

static void tick(void)
{
	static uint64_t buffers_when_taken;
	assay_host_tick();
	if (!atomic_load(&cuda.ready))
		return;
	if (assay_cuda_on())
		assay_blas_install();
	if (atomic_load(&cuda.taken)) { /* no flush: the buffers are not ours to hurry */
		if (atomic_load(&cuda.buffers) > buffers_when_taken)
			step_back();
		return;
	}
	assay_share_install(&cuda.cupti, cuda.lib);
	if (!assay_cuda_on()) {
		if (assay_share_holds() && !assay_share_active())
			cuda.cupti.flush_all(0);
		return;
	}
	look_for_peers();
	assay_graphs_tick();
	if (assay_share_active()) /* it has few buffers: hurrying them would use them up */
		atomic_store(&cuda.sent, 0);
	else
		flush_and_listen();
	buffers_when_taken = atomic_load(&cuda.buffers);
}

static bool holds_anything(void)
{
	return atomic_load(&cuda.ready) && !atomic_load(&cuda.taken) &&
	       (assay_cuda_on() || assay_share_holds());
}

static void finish(void)
{
	assay_host_stop();
	if (holds_anything())
		assay_share_flush(CUPTI_FLUSH_FORCED);
}

static bool leave(void)
{
	if (holds_anything())
		assay_share_flush(CUPTI_FLUSH_FORCED);
	return !assay_share_holds();
}

static void loaded(void)
{
	if (atomic_load(&cuda.ready))
		assay_share_install(&cuda.cupti, cuda.lib);
}

/* CUDA does not live on in a forked child; nothing of CUPTI may be touched there. */
static void forked(void)
{
	assay_host_forked();
	assay_graphs_forked();
	assay_subscription_forked();
	atomic_store(&cuda.ready, 0);
	atomic_store(&cuda.on, 0);
	atomic_store(&cuda.devices, 0);
	atomic_store(&cuda.peers, 0);
	pthread_mutex_init(&cuda.switching, NULL);
	cuda.bound = cuda.asked = false;
}

/* Under the lock. */
static void obey(void)
{
	if (!cuda.wanted)
		switch_off(&cuda.cupti);
	else if (switch_on(&cuda.cupti))
		assay_host_start();
	else
		assay_rt_lost(ASSAY_WIRE_LOST_TAKEN, 1, "CUPTI refused: GPU work is not recorded");
}

static void record(bool on)
{
	pthread_mutex_lock(&cuda.switching);
	cuda.asked = true;
	cuda.wanted = on;
	if (cuda.bound)
		obey();
	pthread_mutex_unlock(&cuda.switching);
}

/* CUPTI is there: from now on it can be switched. One that is not to record is not touched, but for
 * graphs. */
static void begin(void)
{
	pthread_mutex_lock(&cuda.switching);
	if (!cuda.asked)
		cuda.wanted = assay_rt_recording();
	cuda.bound = true;
	assay_share_install(&cuda.cupti, cuda.lib);
	atomic_store(&cuda.ready, 1);
	assay_graphs_begin(&cuda.cupti);
	obey();
	assay_graphs_begun();
	pthread_mutex_unlock(&cuda.switching);
}

const assay_rt_hooks assay_cuda_hooks = {
	.name = "cuda",
	.tick_ms = 5,
	.tick = tick,
	.finish = finish,
	.forked = forked,
	.leave = leave,
	.record = record,
	.rest = assay_host_rest,
	.loaded = loaded,
};

static int driver_major(void)
{
	void *p = dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
	void *lib = p ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int version = 0;
	if (!p && lib)
		p = dlsym(lib, "cuDriverGetVersion");
	memcpy(&cuda.driver_version, &p, sizeof p);
	if (cuda.driver_version)
		cuda.driver_version(&version);
	return version / 1000;
}

static void tell_setting(const char *path, int major)
{
	static const char *const variables[] = {
		"CUDA_VISIBLE_DEVICES",
		NULL,
	};
	char text[32];
	uint32_t version = 0;
	cuda.cupti.get_version(&version);
	if (!assay_rt_bulk_open())
		return;
	snprintf(text, sizeof text, "%u", version);
	assay_rt_meta("cupti.version", text);
	assay_rt_meta("cupti.path", path);
	snprintf(text, sizeof text, "%d", major);
	assay_rt_meta("cuda.driver_major", text);
	assay_rt_meta("launch_events", "told"); /* cuda_callback.c */
	assay_rt_tell_variables(variables);
	assay_rt_bulk_close();
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* The driver goes on whatever we return; 1 says that we are in. */
int InitializeInjection(void)
{
	char path[512] = "";
	static _Atomic int called;
	if (atomic_exchange(&called, 1) || !assay_rt_start(&assay_cuda_hooks))
		return 1;
	int major = driver_major();
	void *lib = assay_cuda_find_cupti(major, path, sizeof path);
	const char *missing =
		lib ? assay_dl_bind(lib, &cuda.cupti, symbols, sizeof symbols / sizeof *symbols)
		    : NULL;
	if (!lib || missing) {
		char text[160];
		snprintf(text, sizeof text,
			 lib ? "CUPTI lacks %s: GPU work is not recorded"
			     : "no CUPTI was found%s: GPU work is not recorded",
			 missing ? missing : "");
		assay_rt_lost(ASSAY_WIRE_LOST_TAKEN, 1, text);
		return 1;
	}
	cuda.lib = lib;
	tell_setting(path, major);
	begin();
	return 1;
}

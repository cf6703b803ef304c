/* libassay_rocm.so: a tool of rocprofiler-sdk. The SDK, brought in by the HIP runtime, finds
 * rocprofiler_configure (ROCP_TOOL_LIBRARIES) and calls it; nothing of ROCm is linked. Calls and
 * markers come as callbacks on the program's threads and go into its rings, GPU work comes in
 * buffers on a thread of the SDK. */
#define _GNU_SOURCE /* dladdr, link.h */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/blas.h"
#include "record/host.h"
#include "record/loader.h"
#include "record/rocm.h"
#include "vendor/dl.h"

enum { COPIES_BYTES = 2048, LEAVE_NS = 100000000 };

typedef struct buffer {
	uint64_t id;
	uint64_t dropped; /* as the SDK counted last */
} buffer;

/* Records of GPU work are made on threads of the SDK, those of allocations on the program's own,
 * where they do not wait behind work. Both buffers are lossless: a thread that finds one full waits
 * until it is flushed. A discarding one cannot be used: it has no second half, but a flush turns to
 * it, where 0.x throws into the program and 1.0 loses records without counting them. */
enum { WORK, MEMORY, BUFFERS };

static struct {
	rocprof_lib lib;
	uint32_t version;
	uint64_t context; /* calls and GPU work: as long as recording is on */
	uint64_t always;  /* code, and calls that make or destroy handles */
	buffer buffers[BUFFERS];
	void (*finalize)(void); /* of the SDK; takes the client by value */
	rocprof_client_0 client_0;
	rocprof_client_1 client_1;
	_Atomic int ready, finalized; /* ready: buffers may be flushed */
	_Atomic uint32_t flushes;     /* by the tick so far */
	pthread_mutex_t
		flushing; /* around every flush; taken before the runtime's lock, never inside */
	/* Switching is the ticker's business, but for the first time; under the lock: */
	pthread_mutex_t switching;
	bool begun, asked, wanted, on;
} rocm = {.flushing = PTHREAD_MUTEX_INITIALIZER, .switching = PTHREAD_MUTEX_INITIALIZER};

#define SYM(field, must, name, type) {{name}, offsetof(rocprof_lib, field), must},
static const assay_sym symbols[] = {ROCPROF_SYMBOLS(SYM)};
#undef SYM

/* ---- what the SDK calls ---- */

typedef struct service {
	rocm_kind kind;
	void (*on)(const rocm_call *c, rocprof_user *user);
	bool always; /* also while recording is off: what comes once, or must pair */
} service;

static const service services[] = {
	{ROCM_RUNTIME, assay_rocm_on_runtime, false},
	{ROCM_COMPILER, assay_rocm_on_compiler, false},
	{ROCM_RCCL, assay_rocm_on_rccl, false},
	{ROCM_MARKER, assay_rocm_on_marker, true},
	{ROCM_NAMING, assay_rocm_on_naming, true},
	{ROCM_CODE, assay_rocm_on_code, true},
	{ROCM_STREAM, assay_rocm_on_stream, false},
	{ROCM_GRAPH, assay_rocm_on_graph, false},
};

static void hand_on(const service *s, rocprof_user *user, rocm_call call)
{
	int saved = errno;
	s->on(&call, user);
	errno = saved;
}

static void callback_0(rocprof_callback_0 r, rocprof_user *user, void *arg)
{
	hand_on(arg, user,
		(rocm_call){r.corr.internal, (uint32_t)r.thread, r.operation, r.phase, r.payload});
}

static void callback_1(rocprof_callback_1 r, rocprof_user *user, void *arg)
{
	hand_on(arg, user,
		(rocm_call){r.corr.internal, (uint32_t)r.thread, r.operation, r.phase, r.payload});
}

/* Drops are counted from the start of the process. */
static void on_buffer(uint64_t context, uint64_t id, rocprof_header **headers, size_t n, void *data,
		      uint64_t dropped)
{
	(void)context, (void)id;
	buffer *b = data;
	uint64_t more = dropped > b->dropped ? dropped - b->dropped : 0;
	b->dropped = dropped;
	if (n && assay_rt_bulk_open()) {
		assay_rocm_convert(rocm.version, headers, n);
		assay_rt_bulk_close();
	}
	if (more)
		assay_rt_lost(ASSAY_WIRE_LOST_VENDOR, more, NULL);
}

/* ---- setting up ---- */

static bool wants(rocm_kind kind)
{
	if (assay_rocm_names.kind[kind] < 0)
		return false;
	return kind != ROCM_STREAM || rocm.version >= ROCPROF_STREAMS_SAFE;
}

static void refuse(const char *why)
{
	char text[160];
	snprintf(text, sizeof text, "rocprofiler-sdk %s: GPU work is not recorded", why);
	assay_rt_lost(ASSAY_WIRE_LOST_TAKEN, 1, text);
}

/* Without calls and kernels there is nothing to tell; any other refusal is told and borne. */
static bool bearable(rocm_kind kind, int rc)
{
	char text[160];
	if (rc == ROCPROF_OK)
		return true;
	if (kind == ROCM_RUNTIME || kind == ROCM_KERNEL)
		return false;
	snprintf(text, sizeof text, "rocprofiler-sdk refused %s (status %d): not recorded",
		 assay_rocm_kind_name(kind), rc);
	assay_rt_lost(ASSAY_WIRE_LOST_TAKEN, 1, text);
	return true;
}

static int subscribe(const service *s, bool always, const int32_t *ops, size_t n)
{
	void (*fn)(void) = rocm.version < ROCPROF_ABI_1 ? (void (*)(void))callback_0
							: (void (*)(void))callback_1;
	union { /* the SDK takes a plain pointer and gives it back */
		const service *in;
		void *out;
	} arg = {s};
	return rocm.lib.configure_callback(always ? rocm.always : rocm.context,
					   assay_rocm_names.kind[s->kind], ops, n, fn, arg.out);
}

/* Calls that make or destroy what others name by its address go into the context that is always on;
 * they stand first. Returns how many. */
static size_t handles_first(rocm_kind kind, int32_t *ops, size_t n)
{
	size_t first = 0;
	for (size_t i = 0; i < n; i++) {
		int32_t op = ops[i];
		if (!assay_rocm_keeps_handles(kind, op))
			continue;
		ops[i] = ops[first];
		ops[first++] = op;
	}
	return first;
}

static bool subscribe_calls(const service *s)
{
	int32_t ops[ROCM_CALLS_MAX];
	if (!assay_rt_bulk_open())
		return false;
	size_t n = assay_rocm_choose(&rocm.lib, s->kind, ops);
	assay_rt_bulk_close();
	size_t first = handles_first(s->kind, ops, n);
	return (!first || bearable(s->kind, subscribe(s, true, ops, first))) &&
	       (n == first || bearable(s->kind, subscribe(s, false, ops + first, n - first)));
}

static bool subscribe_callbacks(void)
{
	bool ok = true;
	for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
		const service *s = &services[i];
		if (!wants(s->kind))
			continue;
		if (s->kind <= ROCM_RCCL) {
			ok &= subscribe_calls(s);
			continue;
		}
		if (s->kind == ROCM_MARKER || s->kind == ROCM_NAMING)
			assay_rocm_choose_marks(&rocm.lib, s->kind);
		ok &= bearable(s->kind, subscribe(s, s->always, NULL, 0));
	}
	return ok;
}

static bool make_buffer(int which, uint64_t thread)
{
	size_t size = assay_rt_conf()->buffer_bytes;
	buffer *b = &rocm.buffers[which];
	if (rocm.lib.create_buffer(rocm.context, size, size / 8 * 7, ROCPROF_LOSSLESS, on_buffer, b,
				   &b->id) != ROCPROF_OK)
		return false;
	if (thread)
		rocm.lib.assign_thread(b->id, thread);
	return true;
}

static bool subscribe_buffers(void)
{
	uint64_t thread = 0;
	if (rocm.lib.create_thread && rocm.lib.assign_thread &&
	    rocm.lib.create_thread(&thread) != ROCPROF_OK)
		thread = 0;
	if (!make_buffer(WORK, thread) || !make_buffer(MEMORY, thread))
		return false;
	for (rocm_kind k = ROCM_CALLBACKS; k < ROCM_KINDS; k++) {
		uint64_t id = rocm.buffers[k == ROCM_MEMORY ? MEMORY : WORK].id;
		if (assay_rocm_names.kind[k] >= 0 &&
		    !bearable(k, rocm.lib.configure_buffer(rocm.context, assay_rocm_names.kind[k],
							   NULL, 0, id)))
			return false;
	}
	return assay_rocm_names.kind[ROCM_KERNEL] >= 0;
}

/* Kernels and copies have had the same numbers from the start; barriers came later. */
static void request_origins(void)
{
	enum { REQUESTS_MAX = 64 };
	int kinds[3] = {ROCPROF_REQUEST_COPY, ROCPROF_REQUEST_KERNEL};
	size_t n = 2;
	for (int i = ROCPROF_REQUEST_SCRATCH; rocm.lib.request_name && i < REQUESTS_MAX; i++) {
		const char *name = NULL;
		uint64_t length = 0;
		if (n == 2 && rocm.lib.request_name(i, &name, &length) == ROCPROF_OK && name &&
		    !strcmp(name, assay_rocm_kind_name(ROCM_EVENT)))
			kinds[n++] = i;
	}
	if (rocm.lib.configure_request)
		rocm.lib.configure_request(rocm.context, kinds, n, assay_rocm_request, NULL);
}

/* Under the lock. */
static bool obey(void)
{
	bool ok = true;
	if (rocm.wanted == rocm.on)
		return true;
	if (rocm.wanted)
		ok = rocm.lib.start_context(rocm.context) == ROCPROF_OK;
	else if (rocm.lib.stop_context)
		rocm.lib.stop_context(rocm.context);
	if (ok && rocm.wanted)
		assay_host_start();
	rocm.on = ok && rocm.wanted;
	return ok;
}

/* What was launched before is flushed by the ticks that follow. */
static void record(bool on)
{
	pthread_mutex_lock(&rocm.switching);
	rocm.asked = true;
	rocm.wanted = on;
	if (rocm.begun && !atomic_load(&rocm.finalized) && !obey())
		refuse("did not start");
	pthread_mutex_unlock(&rocm.switching);
}

static bool begin(void)
{
	pthread_mutex_lock(&rocm.switching);
	if (!rocm.asked)
		rocm.wanted = assay_rt_recording();
	rocm.begun = rocm.lib.start_context(rocm.always) == ROCPROF_OK && obey();
	atomic_store(&rocm.ready, rocm.begun);
	pthread_mutex_unlock(&rocm.switching);
	return rocm.begun;
}

static int initialize(void (*finalize)(void), void *tool_data)
{
	(void)tool_data;
	int valid = 1, saved = errno;
	rocm.finalize = finalize;
	assay_rocm_resolve(&rocm.lib);
	if (assay_rt_bulk_open()) {
		assay_rocm_agents(&rocm.lib);
		assay_rocm_clock(&rocm.lib);
		assay_rt_bulk_close();
	}
	if (rocm.lib.create_context(&rocm.context) != ROCPROF_OK ||
	    rocm.lib.create_context(&rocm.always) != ROCPROF_OK) {
		refuse("gives no context");
		return 0;
	}
	bool ok = subscribe_callbacks() && subscribe_buffers();
	request_origins();
	if (rocm.lib.context_is_valid)
		rocm.lib.context_is_valid(rocm.context, &valid);
	if (!ok || !valid || !begin())
		refuse("refused a service");
	assay_blas_install();
	errno = saved;
	return 0;
}

static void flush_locked(void)
{
	for (int i = 0; i < BUFFERS && atomic_load(&rocm.ready); i++)
		rocm.lib.flush_buffer(rocm.buffers[i].id);
}

static void flush(void)
{
	pthread_mutex_lock(&rocm.flushing);
	flush_locked();
	pthread_mutex_unlock(&rocm.flushing);
}

/* The SDK has stopped and synchronised everything by now; what is left is in the buffers. It ends
 * its threads when this returns: a flush that the tick began must be over, and none may follow. */
static void finalized(void *tool_data)
{
	(void)tool_data;
	pthread_mutex_lock(&rocm.flushing);
	flush_locked();
	atomic_store(&rocm.finalized, 1);
	atomic_store(&rocm.ready, 0);
	pthread_mutex_unlock(&rocm.flushing);
}

/* ---- the runtime's hooks ---- */

/* The SDK's first exit handler was registered before ours, its second with its first buffer, after
 * it: that one has ended its work by now. In an SDK without it, its work ends here, as long as
 * there is a file to write to. */
static void finish(void)
{
	assay_host_stop();
	if (atomic_load(&rocm.ready) && !atomic_load(&rocm.finalized) && rocm.finalize) {
		flush();
		if (rocm.version < ROCPROF_ABI_1)
			((rocprof_finalize_0 *)rocm.finalize)(rocm.client_0);
		else
			((rocprof_finalize_1 *)rocm.finalize)(rocm.client_1);
	}
	if (assay_rt_bulk_open()) {
		assay_rocm_streams_left();
		assay_rt_bulk_close();
	}
}

/* HIP does not live on in a forked child; nothing of the SDK may be touched there. The parent's
 * flush, if there was one, does not go on here. */
static void forked(void)
{
	assay_host_forked();
	assay_rocm_handles_forked();
	atomic_store(&rocm.ready, 0);
	pthread_mutex_init(&rocm.flushing, NULL);
	pthread_mutex_init(&rocm.switching, NULL);
	rocm.begun = rocm.asked = rocm.on = false;
}

static void tick(void)
{
	assay_host_tick();
	if (atomic_load(&rocm.ready) && assay_rt_recording())
		assay_blas_install();
	flush();
	atomic_fetch_add(&rocm.flushes, 1);
	assay_rt_wake(&rocm.flushes);
}

/* Nothing of the SDK is called on the program's thread, which may have been stopped inside of it:
 * the tick flushes, and the second time what was there at the first. Whether work still runs, or
 * was not told of, nobody says. */
static bool leave(void)
{
	for (int i = 0; i < 2 && atomic_load(&rocm.ready); i++)
		assay_rt_wait_while(&rocm.flushes, atomic_load(&rocm.flushes), LEAVE_NS);
	return !atomic_load(&rocm.ready);
}

static const assay_rt_hooks hooks = {
	.name = "rocm",
	.tick_ms = 10,
	.tick = tick,
	.finish = finish,
	.leave = leave,
	.forked = forked,
	.record = record,
	.rest = assay_host_rest,
};

/* ---- the entry ---- */

static int count_copies(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	char *paths = data;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *base = slash ? slash + 1 : info->dlpi_name;
	size_t used = strlen(paths);
	if (base && !strncmp(base, "librocprofiler-sdk.so", 21))
		snprintf(paths + used, COPIES_BYTES - used, "%s%s", used ? ":" : "",
			 info->dlpi_name);
	return 0;
}

/* Bulk must be open. */
static void tell_copies(void)
{
	char text[COPIES_BYTES] = "";
	assay_loader_objects(count_copies, text);
	if (strchr(text, ':'))
		assay_rt_meta("rocprofiler.copies", text);
}

static void refuse_second(void)
{
	if (assay_rt_bulk_open()) {
		tell_copies();
		assay_rt_bulk_close();
	}
	assay_rt_lost(
		ASSAY_WIRE_LOST_TAKEN, 1,
		"a second copy of rocprofiler-sdk is in the process: what it sees is not recorded");
}

static void tell_setting(uint32_t version, const char *runtime, uint32_t priority, const char *path)
{
	static const char *const variables[] = {
		"HIP_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES",
		"CUDA_VISIBLE_DEVICES",
		NULL,
	};
	char text[32];
	if (!assay_rt_bulk_open())
		return;
	snprintf(text, sizeof text, "%u.%u.%u", version / 10000, version / 100 % 100,
		 version % 100);
	assay_rt_meta("rocprofiler.version", text);
	assay_rt_meta("rocprofiler.runtime_version", runtime);
	assay_rt_meta("rocprofiler.path", path);
	snprintf(text, sizeof text, "%u", priority);
	assay_rt_meta("rocprofiler.tools_before", text);
	tell_copies();
	assay_rt_tell_variables(variables);
	assay_rt_bulk_close();
}

/* The SDK that called us, when it exports its functions; of two copies in a process that is the one
 * that knows us. Else whatever is loaded, else by name. */
static const char *bind(const void *caller, char *path, size_t size)
{
	static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
					    "librocprofiler-sdk.so"};
	enum { N = sizeof symbols / sizeof *symbols };
	Dl_info info = {0};
	const char *missing = "a library";
	void *lib = dladdr(caller, &info) && info.dli_fname
			    ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			    : NULL;
	snprintf(path, size, "%s", info.dli_fname ? info.dli_fname : "");
	if (lib && !assay_dl_bind(lib, &rocm.lib, symbols, N))
		return NULL;
	if (!assay_dl_bind(RTLD_DEFAULT, &rocm.lib, symbols, N))
		return NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		lib = dlopen(names[i], RTLD_LAZY);
		missing = lib ? assay_dl_bind(lib, &rocm.lib, symbols, N) : missing;
		if (lib && !missing)
			return NULL;
	}
	return missing;
}

__attribute__((visibility("default"))) rocprof_configure_result *
rocprofiler_configure(uint32_t version, const char *runtime_version, uint32_t priority,
		      void *client);

/* NULL declines, as where there is no driver: the variables came from another machine. */
rocprof_configure_result *rocprofiler_configure(uint32_t version, const char *runtime_version,
						uint32_t priority, void *client)
{
	static rocprof_configure_result result = {sizeof result, initialize, finalized, NULL};
	static _Atomic int called;
	char path[1024];
	if (access(ROCPROF_TOPOLOGY, F_OK) || !assay_rt_start(&hooks))
		return NULL;
	if (atomic_exchange(&called, 1)) {
		refuse_second();
		return NULL;
	}
	const char *missing = bind(__builtin_return_address(0), path, sizeof path);
	tell_setting(version, runtime_version, priority, path);
	if (missing) {
		refuse("lacks functions that are needed");
		return NULL;
	}
	rocm.version = version;
	if (version < ROCPROF_ABI_1) {
		((rocprof_client_0 *)client)->name = "assay";
		rocm.client_0 = *(rocprof_client_0 *)client;
	} else {
		((rocprof_client_1 *)client)->name = "assay";
		rocm.client_1 = *(rocprof_client_1 *)client;
	}
	return &result;
}

/* Standing in for a dozen functions of CUPTI, by the addresses that loaded libraries call them
 * through. */
#include "record/cuda_share.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/cuda_subscription.h"
#include "record/hook.h"

enum { KINDS = 128, LENT = 256 };

static struct {
	const cupti_lib *cupti;
	void *lib; /* the copy it was bound from */
	_Atomic(cupti_request_fn *) request;
	_Atomic(cupti_complete_fn *) complete;
	_Atomic(cupti_time_fn *) clock;
	_Atomic int64_t clock_boot, clock_theirs; /* our time and its when it was registered */
	_Atomic uint8_t on[KINDS];                /* kinds the other has on now */
	_Atomic uint8_t told[KINDS];              /* kinds it had on in its last session */
	_Atomic int kinds_on;
	_Atomic uint64_t sessions; /* started so far */
	_Atomic(uint8_t *) spare;  /* a buffer of its own, asked for when its session started */
	_Atomic size_t spare_size;
	_Atomic(uint8_t *) lent[LENT]; /* its buffers that CUPTI holds */
	_Atomic int held;              /* buffers that CUPTI holds, ours too */
} share;

bool assay_share_active(void)
{
	return atomic_load(&share.kinds_on) > 0 && atomic_load(&share.request);
}

bool assay_share_wants(int kind)
{
	return kind < KINDS && atomic_load(&share.on[kind]);
}

cupti_time_fn *assay_share_clock(int64_t *boot, int64_t *theirs)
{
	cupti_time_fn *clock = atomic_load(&share.clock);
	*boot = atomic_load(&share.clock_boot);
	*theirs = atomic_load(&share.clock_theirs);
	return clock;
}

/* ---- buffers ---- */

void assay_share_held(int step)
{
	atomic_fetch_add(&share.held, step);
}

bool assay_share_holds(void)
{
	return atomic_load(&share.held) > 0;
}

static bool lend(uint8_t *buffer)
{
	for (size_t i = 0; i < LENT; i++) {
		uint8_t *none = NULL;
		if (atomic_compare_exchange_strong(&share.lent[i], &none, buffer))
			return true;
	}
	return false;
}

static bool take_back(uint8_t *buffer)
{
	for (size_t i = 0; i < LENT; i++) {
		uint8_t *it = buffer;
		if (atomic_compare_exchange_strong(&share.lent[i], &it, NULL))
			return true;
	}
	return false;
}

/* A buffer of the other's, zeroed as we told CUPTI that buffers come. */
static uint8_t *ask_for_buffer(size_t *size, size_t *max_records)
{
	uint8_t *buffer = atomic_exchange(&share.spare, NULL);
	*size = atomic_load(&share.spare_size);
	*max_records = 0;
	if (!buffer)
		atomic_load (&share.request)(&buffer, size, max_records);
	if (buffer)
		memset(buffer, 0, *size);
	return buffer;
}

bool assay_share_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	if (!assay_share_active())
		return false;
	*buffer = ask_for_buffer(size, max_records);
	if (!*buffer)
		return false;
	if (lend(*buffer))
		return true;
	atomic_load (&share.complete)(NULL, 0, *buffer, *size, 0); /* back as it came */
	return false;
}

uint64_t assay_share_mark(void)
{
	return atomic_load(&share.sessions) << 1 | assay_share_active();
}

/* The records of kinds the other asked for, moved together at `to`; returns their bytes. */
static size_t pick(uint8_t *to, size_t room, uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	size_t n = 0;
	bool more = share.cupti->next_record(buffer, valid, &record) == CUPTI_OK;
	while (more) {
		uint8_t *at = record;
		uint32_t kind;
		memcpy(&kind, at, sizeof kind);
		/* the next one is found before this one moves: in place, moving may write over its
		 * head */
		more = share.cupti->next_record(buffer, valid, &record) == CUPTI_OK;
		size_t bytes = (size_t)((more ? (uint8_t *)record : buffer + valid) - at);
		if (kind < KINDS && atomic_load(&share.told[kind]) && n + bytes <= room) {
			memmove(to + n, at, bytes);
			n += bytes;
		}
	}
	return n;
}

void assay_share_copy(void *context, uint32_t stream, uint8_t *buffer, size_t valid, uint64_t mark)
{
	size_t size, max_records;
	bool was_active = mark & 1, another = mark >> 1 != atomic_load(&share.sessions);
	if (!valid || !(was_active || another) || !atomic_load(&share.request))
		return;
	uint8_t *copy = ask_for_buffer(&size, &max_records);
	if (!copy)
		return;
	size_t n = pick(copy, size, buffer, valid);
	atomic_load (&share.complete)(context, stream, copy, size, n);
}

bool assay_share_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid)
{
	if (!take_back(buffer))
		return false;
	size_t n = pick(buffer, size, buffer, valid);
	atomic_load (&share.complete)(context, stream, buffer, size, n);
	return true;
}

/* Running work has a little time to end. */
static cupti_result flush_whole(void)
{
	enum { TRIES = 50 };
	const struct timespec pause = {0, 1000000};
	int saved = errno;
	cupti_result rc = share.cupti->flush_all(0);
	for (int i = 0; atomic_load(&share.held) && i < TRIES; i++) {
		nanosleep(&pause, NULL);
		rc = share.cupti->flush_all(0);
	}
	errno = saved;
	return rc;
}

cupti_result assay_share_flush(uint32_t flag)
{
	cupti_result rc = flag ? flush_whole() : share.cupti->flush_all(0);
	return flag && atomic_load(&share.held) ? share.cupti->flush_all(flag) : rc;
}

void assay_share_settle(void)
{
	flush_whole();
}

/* ---- what the other profiler calls instead of CUPTI ---- */

static cupti_result register_callbacks(cupti_request_fn *request, cupti_complete_fn *complete)
{
	atomic_store(&share.complete, complete);
	atomic_store(&share.request, request);
	return assay_cuda_prepare() ? CUPTI_OK : share.cupti->register_callbacks(request, complete);
}

/* Before a session our buffers are emptied, so that few of its records land in them; and the other
 * is asked for a buffer at once, since it takes having none for having recorded nothing. */
static void start_session(void)
{
	uint8_t *buffer = NULL;
	size_t size = 0, max_records;
	share.cupti->flush_all(0);
	for (int i = 0; i < KINDS; i++)
		atomic_store(&share.told[i], 0);
	atomic_fetch_add(&share.sessions, 1);
	if (!atomic_load(&share.request) || atomic_load(&share.spare))
		return;
	atomic_load (&share.request)(&buffer, &size, &max_records);
	atomic_store(&share.spare_size, size);
	atomic_store(&share.spare, buffer);
}

static cupti_result enable(int kind)
{
	bool ours_to_count = kind >= 0 && kind < KINDS;
	if (ours_to_count && atomic_load(&share.kinds_on) == 0)
		start_session();
	cupti_result rc = share.cupti->enable(kind);
	if (rc == CUPTI_OK && ours_to_count) {
		atomic_store(&share.told[kind], 1);
		if (!atomic_exchange(&share.on[kind], 1))
			atomic_fetch_add(&share.kinds_on, 1);
	}
	return rc;
}

static cupti_result disable(int kind)
{
	if (kind < 0 || kind >= KINDS)
		return share.cupti->disable(kind);
	if (atomic_exchange(&share.on[kind], 0))
		atomic_fetch_sub(&share.kinds_on, 1);
	if (assay_cuda_owns(kind))
		return CUPTI_OK;
	cupti_result rc = share.cupti->disable(kind);
	if (kind == CUPTI_RUNTIME ||
	    kind == CUPTI_DRIVER) /* that switched off our chosen calls, too */
		assay_cuda_enable_calls(share.cupti);
	return rc;
}

/* What CUPTI holds when its clock changes never gets its times. */
static cupti_result register_time(cupti_time_fn *fn)
{
	flush_whole();
	cupti_result rc = share.cupti->register_time ? share.cupti->register_time(fn) : 1;
	if (rc != CUPTI_OK || fn == atomic_load(&share.clock))
		return rc;
	int64_t boot = 0, theirs = 0;
	assay_rt_pair(fn, &boot, &theirs);
	atomic_store(&share.clock_boot, boot);
	atomic_store(&share.clock_theirs, theirs);
	atomic_store(&share.clock, fn);
	return rc;
}

/* That of one who subscribed before it could share may now be ours. */
static cupti_result unsubscribe(void *subscriber)
{
	cupti_result rc = assay_subscription_unsubscribe(subscriber);
	assay_cuda_take_calls();
	return rc;
}

/* Detaching CUPTI would end our recording, and crash a flush under way. What the caller can see of
 * it is that its kinds are off and that it may subscribe again. */
static cupti_result finalize(void)
{
	for (int i = 0; i < KINDS; i++)
		if (atomic_load(&share.on[i]))
			disable(i);
	assay_subscription_end_other();
	assay_cuda_take_calls();
	return CUPTI_OK;
}

static void *stand_in_dlsym(void *handle, const char *name);

/* Starts of names of libraries that look CUPTI up at run time: XLA, Triton's Proton, TensorFlow. */
static const char *const lookers[] = {"xla_cuda", "libproton", "libtensorflow",
				      "_pywrap_tensorflow"};

static bool looks_up(const char *file)
{
	for (size_t i = 0; i < sizeof lookers / sizeof *lookers; i++)
		if (!strncmp(file, lookers[i], strlen(lookers[i])))
			return true;
	return false;
}

static const assay_hook stand_ins[] = {
	{"cuptiActivityRegisterCallbacks", (assay_any_fn *)register_callbacks, false},
	{"cuptiActivityEnable", (assay_any_fn *)enable, false},
	{"cuptiActivityDisable", (assay_any_fn *)disable, false},
	{"cuptiActivityFlushAll", (assay_any_fn *)assay_share_flush, false},
	{"cuptiActivityRegisterTimestampCallback", (assay_any_fn *)register_time, false},
	{"cuptiSubscribe", (assay_any_fn *)assay_subscription_subscribe, false},
	{"cuptiUnsubscribe", (assay_any_fn *)unsubscribe, false},
	{"cuptiEnableCallback", (assay_any_fn *)assay_subscription_switch, false},
	{"cuptiEnableDomain", (assay_any_fn *)assay_subscription_switch_domain, false},
	{"cuptiEnableAllDomains", (assay_any_fn *)assay_subscription_switch_all, false},
	{"cuptiGetCallbackState", (assay_any_fn *)assay_subscription_state, false},
	{"cuptiFinalize", (assay_any_fn *)finalize, false},
	{"dlsym", (assay_any_fn *)stand_in_dlsym, true},
};
enum { STAND_INS = sizeof stand_ins / sizeof *stand_ins };

static void *stand_in_for(const char *name)
{
	void *p = NULL;
	for (size_t i = 0; i < STAND_INS - 1; i++)
		if (!strcmp(name, stand_ins[i].name))
			memcpy(&p, &stand_ins[i].ours, sizeof p);
	return p;
}

/* A profiler may bring a CUPTI of its own. The driver takes one copy's subscription in a
 * process, and what one copy made is nothing to the other: whatever it asks for comes from the
 * copy in use. */
static void *stand_in_dlsym(void *handle, const char *name)
{
	void *p = strncmp(name, "cupti", 5) ? NULL : stand_in_for(name);
	if (!p && !strncmp(name, "cupti", 5))
		p = dlsym(share.lib, name);
	return p ? p : dlsym(handle, name);
}

/* ---- putting them in place ---- */

/* Only a library that names CUPTI, or one known to look it up, is worth the reading. */
static assay_hook_object what_to_do(const char *file, bool names_cupti)
{
	if (!strncmp(file, "libcupti", 8))
		return ASSAY_HOOK_LEAVE;
	return looks_up(file) ? ASSAY_HOOK_MARKED
	       : names_cupti  ? ASSAY_HOOK_TAKE
			      : ASSAY_HOOK_LEAVE;
}

/* The same for a library that is linked with the other copy. */
static assay_any_fn *from_the_copy_in_use(const char *name)
{
	assay_any_fn *fn = NULL;
	void *p = dlsym(share.lib, name);
	memcpy(&fn, &p, sizeof p);
	return fn;
}

void assay_share_install(const cupti_lib *c, void *lib)
{
	static assay_hooks hooks = {.hook = stand_ins,
				    .n = STAND_INS,
				    .of = what_to_do,
				    .needs = "libcupti",
				    .start = "cupti",
				    .other = from_the_copy_in_use};
	if (!share.cupti) { /* before anybody can call us */
		share.cupti = c;
		assay_subscription_of(c);
		share.lib = lib;
	}
	assay_hook_install(&hooks);
}

/* A driver without a GPU: loads the injection library at cuInit as the real one does, and tells the
 * fake CUPTI of every call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "fake.h"

#define API __attribute__((visibility("default")))

static void (*cupti_call)(int, uint32_t, uint32_t, const fake_work *);

static void find_cupti(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *p = lib ? dlsym(lib, "fake_cupti_call") : NULL;
	memcpy(&cupti_call, &p, sizeof p);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of names */

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Names of kernels are the driver's own, as a real one's are: callers may free theirs. */
static const char *own_name(const char *name)
{
	enum { NAMES_MAX = 1 << 16 };
	static const char *known[NAMES_MAX];
	static size_t n;
	take(&lock);
	size_t i = 0;
	while (i < n && strcmp(known[i], name))
		i++;
	if (i == n && n < NAMES_MAX)
		known[n++] = strdup(name);
	pthread_mutex_unlock(&lock);
	return i < n ? known[i] : "a name too many";
}

static bool ready; /* set by cuInit, before any thread is there */

static void tell(int domain, uint32_t cbid, const fake_work *w)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		return;
	pthread_once(&once, find_cupti);
	if (cupti_call)
		cupti_call(domain, cbid, (uint32_t)syscall(SYS_gettid), w);
}

/* As the real one opens its device and keeps it: in the folder it lies in, where there is one. */
static void open_device(void)
{
	Dl_info self;
	char path[4096] = "";
	if (dladdr(&ready, &self))
		snprintf(path, sizeof path, "%s", self.dli_fname);
	char *slash = strrchr(path, '/');
	size_t room = slash ? sizeof path - (size_t)(slash - path) : 0;
	if (slash && snprintf(slash, room, "/dev/nvidia-uvm") < (int)room)
		open(path, O_RDWR | O_CLOEXEC);
}

API int cuInit(unsigned flags)
{
	static int once;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	(void)flags;
	if (once++)
		return 0;
	open_device();
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *p = lib ? dlsym(lib, "InitializeInjection") : NULL;
	int (*init)(void);
	memcpy(&init, &p, sizeof p);
	if (init)
		init();
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	return 0;
}
/* One subscriber in a process: true when it is this one, or was nobody. */
API int fake_driver_subscribe(void *who, int on)
{
	static void *holder;
	void *none = on ? NULL : who;
	return __atomic_compare_exchange_n(&holder, &none, on ? who : NULL, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST) ||
	       none == who;
}
API int cuDriverGetVersion(int *version)
{
	*version = 13000;
	tell(1, FAKE_cuDriverGetVersion, NULL);
	return 0;
}
API int fake_launch(uint32_t stream, const char *name)
{
	tell(2, FAKE_cudaLaunchKernel,
	     &(fake_work){.kind = FAKE_KERNEL, .stream = stream, .name = own_name(name)});
	return 0;
}
API int fake_launch_driver(uint32_t stream, const char *name)
{
	tell(1, FAKE_cuLaunchKernel,
	     &(fake_work){.kind = FAKE_KERNEL, .stream = stream, .name = own_name(name)});
	return 0;
}
API int fake_launch_first(uint32_t stream, const char *name)
{
	tell(1, FAKE_cuLaunchKernel,
	     &(fake_work){
		     .kind = FAKE_KERNEL, .stream = stream, .name = own_name(name), .loads = true});
	return 0;
}
API int fake_launch_forever(uint32_t stream, const char *name)
{
	tell(2, FAKE_cudaLaunchKernel,
	     &(fake_work){
		     .kind = FAKE_KERNEL, .stream = stream, .name = own_name(name), .hangs = true});
	return 0;
}
API int fake_launch_slow(uint32_t stream, const char *name, unsigned ms)
{
	tell(2, FAKE_cudaLaunchKernel,
	     &(fake_work){.kind = FAKE_KERNEL, .stream = stream, .name = own_name(name), .ms = ms});
	return 0;
}
API int fake_launch_late(uint32_t stream, const char *name, unsigned ms)
{
	tell(2, FAKE_cudaLaunchKernel,
	     &(fake_work){
		     .kind = FAKE_KERNEL, .stream = stream, .name = own_name(name), .late_ms = ms});
	return 0;
}
API int fake_copy(uint32_t stream, uint64_t bytes)
{
	tell(2, FAKE_cudaMemcpyAsync,
	     &(fake_work){.kind = FAKE_COPY, .stream = stream, .bytes = bytes});
	return 0;
}
API int fake_copy_to_peer(uint32_t stream, uint64_t bytes)
{
	tell(2, FAKE_cudaMemcpyAsync,
	     &(fake_work){.kind = FAKE_PEER, .stream = stream, .bytes = bytes});
	return 0;
}
API int fake_record(uint32_t event, uint32_t stream)
{
	tell(2, FAKE_cudaEventRecord,
	     &(fake_work){.kind = FAKE_RECORD, .stream = stream, .event = event});
	return 0;
}
API int fake_call(int domain, uint32_t cbid, const void *arguments)
{
	tell(domain, cbid, &(fake_work){.arguments = arguments});
	return 0;
}
API int fake_wait(uint32_t stream, uint32_t event)
{
	tell(2, FAKE_cudaStreamWaitEvent,
	     &(fake_work){.kind = FAKE_WAIT, .stream = stream, .event = event});
	return 0;
}
API int fake_stream_sync_forever(uint32_t stream)
{
	tell(2, FAKE_cudaStreamSynchronize,
	     &(fake_work){.kind = FAKE_SYNC, .stream = stream, .stays = true});
	return 0;
}
API int fake_stream_sync_for(uint32_t stream, uint32_t us)
{
	tell(2, FAKE_cudaStreamSynchronize,
	     &(fake_work){.kind = FAKE_SYNC, .stream = stream, .takes_us = us});
	return 0;
}
API int fake_value(uint32_t stream, uint64_t address, int write)
{
	tell(1, write ? FAKE_cuStreamWriteValue64 : FAKE_cuStreamWaitValue32,
	     &(fake_work){.kind = FAKE_VALUE, .stream = stream, .address = address});
	return 0;
}
API int fake_sync(void)
{
	tell(2, FAKE_cudaDeviceSynchronize, NULL);
	return 0;
}
API int fake_get_device(void)
{
	tell(2, FAKE_cudaGetDevice, NULL);
	return 0;
}

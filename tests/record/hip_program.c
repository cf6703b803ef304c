/* A HIP program without HIP: loads the fake rocprofiler-sdk as rocprofiler-register does and plays
 * calls with the argument layouts of the real headers. usage: hip_program SCRIPT [END] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocprof.h"

static fake_call_fn *hip;
static fake_range_fn *range;
static fake_deliver_fn *deliver;
static fake_holds_fn *records_wait;

enum { S1 = 0x7f0000001000, S2 = 0x7f0000002000, E1 = 0x7f0000011000, G1 = 0x7f0000021000 };
enum { ADD = 1, MATMUL, GEMM };
#define WORDS(...) ((uint64_t[]){__VA_ARGS__})

static void call(const char *name, const void *args, size_t bytes, int status)
{
	hip(&(fake_call){.function = name, .args = args, .bytes = bytes, .status = status});
}

static void create_stream(uint64_t handle, uint32_t flags, int priority)
{
	uint64_t out = handle;
	struct {
		uint64_t *stream;
		uint32_t flags;
		int32_t priority;
	} a = {&out, flags, priority};
	call("hipStreamCreateWithPriority", &a, sizeof a, 0);
}

static void with_stream(const char *name, const void *args, size_t bytes, uint64_t stream,
			const fake_work *work)
{
	hip(&(fake_call){.function = name,
			 .args = args,
			 .bytes = bytes,
			 .stream = &stream,
			 .work = work,
			 .works = work ? 1 : 0});
}

static void launch_as(const char *name, uint64_t stream, uint64_t kernel)
{
	struct {
		void *function;
		uint32_t blocks[3], threads[3];
		void *args;
		size_t shared;
		uint64_t stream;
	} a = {.stream = stream};
	fake_work w = {.kind = FAKE_KERNEL, .kernel = kernel, .agent = FAKE_GPU0};
	with_stream(name, &a, sizeof a, stream, &w);
}

static void launch(uint64_t stream, uint64_t kernel)
{
	launch_as("hipLaunchKernel", stream, kernel);
}

static void copy(uint64_t stream, int operation, uint64_t bytes)
{
	struct {
		void *to, *from;
		size_t bytes;
		uint32_t kind;
		uint64_t stream;
	} a = {.bytes = bytes, .kind = operation == 2 ? 1 : 2, .stream = stream};
	fake_work w = {.kind = FAKE_COPY,
		       .operation = operation,
		       .agent = operation == 2 ? FAKE_GPU0 : FAKE_CPU,
		       .from_agent = operation == 2 ? FAKE_CPU : FAKE_GPU0,
		       .bytes = bytes};
	with_stream("hipMemcpyAsync", &a, sizeof a, stream, &w);
}

static void event_create(uint64_t event)
{
	uint64_t out = event, *p = &out;
	call("hipEventCreate", &p, sizeof p, 0);
}
static void event_record(uint64_t event, uint64_t stream)
{
	with_stream("hipEventRecord", WORDS(event, stream), 16, stream, NULL);
}
static void stream_wait(uint64_t stream, uint64_t event)
{
	with_stream("hipStreamWaitEvent", WORDS(stream, event, 0), 20, stream, NULL);
}
static void stream_sync(uint64_t stream)
{
	with_stream("hipStreamSynchronize", WORDS(stream), 8, stream, NULL);
}
static void stream_destroy(uint64_t stream)
{
	call("hipStreamDestroy", WORDS(stream), 8, 0);
}

/* ---- scripts ---- */

/* Three streams, an event between two of them; an address that becomes another stream. */
static void streams(void)
{
	create_stream(S1, 1, -1);
	create_stream(S2, 0, 0);
	event_create(E1);
	launch(S1, ADD);
	event_record(E1, S1);
	stream_wait(S2, E1);
	launch(S2, MATMUL);
	copy(S2, 3, 4096);
	launch(0, GEMM);
	stream_sync(S2);
	stream_destroy(S1);
	create_stream(S1, 0, 0);
	launch(S1, ADD);
	call("hipEventDestroy", WORDS(E1), 8, 0);
	call("hipDeviceSynchronize", NULL, 0, 0);
	struct {
		void *to, *from;
		size_t bytes;
		uint32_t kind;
	} a = {.bytes = 64, .kind = 1};
	fake_work w = {FAKE_COPY, 2, 0, FAKE_GPU0, FAKE_CPU, 64, 0, 0};
	hip(&(fake_call){
		.function = "hipMemcpy", .args = &a, .bytes = sizeof a, .work = &w, .works = 1});
	copy(S2, 2, 128);
}

/* One event used for every step. */
static void reuse(void)
{
	create_stream(S1, 0, 0);
	create_stream(S2, 0, 0);
	event_create(E1);
	for (int i = 0; i < 50; i++) {
		launch(S1, ADD);
		event_record(E1, S1);
		stream_wait(S2, E1);
		launch(S2, MATMUL);
	}
	call("hipEventSynchronize", WORDS(E1), 8, 0);
}

static void graph_launch(uint64_t exec, uint64_t stream)
{
	fake_work w[3] = {{.kind = FAKE_KERNEL, .kernel = ADD, .agent = FAKE_GPU0},
			  {.kind = FAKE_KERNEL, .kernel = MATMUL, .agent = FAKE_GPU0},
			  {.kind = FAKE_KERNEL, .kernel = GEMM, .agent = FAKE_GPU0}};
	hip(&(fake_call){.function = "hipGraphLaunch",
			 .args = WORDS(exec, stream),
			 .bytes = 16,
			 .stream = &stream,
			 .graph = &exec,
			 .work = w,
			 .works = 3});
}

static void instantiate(uint64_t exec)
{
	uint64_t out = exec;
	struct {
		uint64_t *exec, graph;
	} a = {&out, 0x55};
	call("hipGraphInstantiate", &a, sizeof a, 0);
}

/* A graph launched twice, and another that is made at its address. */
static void graphs(void)
{
	uint64_t graph = 0x55;
	struct {
		uint64_t stream, *graph;
	} end = {S1, &graph};
	create_stream(S1, 0, 0);
	with_stream("hipStreamBeginCapture", WORDS(S1, 1), 12, S1, NULL);
	with_stream("hipStreamEndCapture", &end, sizeof end, S1, NULL);
	instantiate(G1);
	graph_launch(G1, S1);
	graph_launch(G1, S1);
	instantiate(G1);
	graph_launch(G1, 0);
	launch(S1, ADD);
}

static void *one_thread(void *data)
{
	(void)data;
	for (int i = 0; i < 100; i++) {
		launch(2, ADD);
		launch_as("hipLaunchKernel_spt", 0, MATMUL);
		launch(S1, GEMM);
	}
	return NULL;
}

/* Each thread on its own default stream, by both ways to say so, and on one that all share. */
static void threads(void)
{
	pthread_t t[4];
	create_stream(S1, 0, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, one_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void many(void)
{
	create_stream(S1, 0, 0);
	create_stream(S2, 0, 0);
	for (int i = 0; i < 2000; i++)
		launch(i % 2 ? S1 : S2, i % 2 ? ADD : MATMUL);
}

static void *stop_elsewhere(void *data)
{
	range(FAKE_STOP, NULL, *(uint64_t *)data);
	return NULL;
}

static void markers(void)
{
	pthread_t t;
	char text[32] = "outer";
	range(FAKE_NAME_THREAD, "trainer", 0);
	range(FAKE_PUSH, text, 0);
	memset(text, '#', sizeof text - 1);
	range(FAKE_PUSH, "in \"quotes\"", 0);
	launch(0, ADD);
	range(FAKE_POP, NULL, 0);
	range(FAKE_MARK, "a mark", 0);
	range(FAKE_POP, NULL, 0);
	uint64_t id = range(FAKE_START, "across threads", 0);
	pthread_create(&t, NULL, stop_elsewhere, &id);
	pthread_join(t, NULL);
	launch(0, MATMUL);
}

static void allocate(uint64_t agent, uint64_t address, uint64_t bytes)
{
	uint64_t out = address;
	struct {
		uint64_t *out;
		size_t bytes;
	} a = {&out, bytes};
	fake_work w = {FAKE_MEMORY, 1, 0, agent, 0, bytes, address, 0};
	hip(&(fake_call){"hipMalloc", &a, sizeof a, NULL, NULL, 0, &w, 1});
}

static void release(uint64_t address)
{
	fake_work w = {FAKE_MEMORY, 3, 0, 0, 0, 0, address, 0};
	hip(&(fake_call){"hipFree", WORDS(address), 8, NULL, NULL, 0, &w, 1});
}

static void memory(void)
{
	fake_work scratch = {FAKE_SCRATCH, 1, 0, FAKE_GPU1, 0, 8192, 0, 0};
	allocate(FAKE_GPU0, 0xd000, 1 << 20);
	hip(&(fake_call){"hipSetDevice", (uint32_t[]){1}, 4, NULL, NULL, 0, &scratch, 1});
	release(0xd000);
	call("__hipRegisterFatBinary", WORDS(1), 8, 0);
	call("__hipPushCallConfiguration", NULL, 0, 0);
	call("hipGetLastError", NULL, 0, 0);
}

/* Memory of two devices, longer than several flushes take. */
static void pauses(void)
{
	for (uint64_t i = 0; i < 20; i++) {
		allocate(i % 2 ? FAKE_GPU1 : FAKE_GPU0, 0x10000 * (i + 1), 4096 * (i + 1));
		usleep(30000);
	}
	for (uint64_t i = 0; i < 20; i += 2)
		release(0x10000 * (i + 1));
}

/* More records than a buffer holds. */
static void flood(void)
{
	for (uint64_t i = 0; i < 20000; i++)
		allocate(FAKE_GPU0, 0x1000 * (i + 1), 4096);
}

/* Calls that fail, are not ready, carry events of their own, hide the stream, or are unknown. */
static void odd(void)
{
	uint64_t none = 0, *out = &none;
	struct {
		uint64_t *stream;
		uint32_t flags;
		int32_t priority;
	} made = {out, 0, 0};
	call("hipStreamCreateWithPriority", &made, sizeof made, 2);
	create_stream(S1, 0, 0);
	call("hipEventQuery", WORDS(E1), 8, 600);
	struct {
		void *function;
		uint32_t blocks[3], threads[3];
		void *args;
		size_t shared;
		uint64_t stream, start, stop;
		int flags;
	} ext = {.stream = S1, .start = E1, .stop = E1 + 8};
	fake_work w = {.kind = FAKE_KERNEL, .kernel = ADD, .agent = FAKE_GPU0};
	with_stream("hipExtLaunchKernel", &ext, sizeof ext, S1, &w);
	uint64_t config[6] = {0, 0, 0, 0, S1, 0};
	uint64_t *config_args[3] = {config, NULL, NULL};
	hip(&(fake_call){.function = "hipLaunchKernelExC",
			 .args = config_args,
			 .bytes = sizeof config_args,
			 .work = &w,
			 .works = 1});
	fake_work peer = {FAKE_COPY, 4, 0, FAKE_GPU1, FAKE_GPU0, 256, 0, 0};
	with_stream("hipMemcpyAnew3DAsync", NULL, 0, S1, &peer);
	fake_work unknown = {.kind = FAKE_KERNEL, .kernel = 999, .agent = FAKE_GPU0};
	with_stream("hipLaunchKernel", (uint64_t[8]){0}, 56, 0, &unknown);
}

/* Two streams that hand on through a word of memory, by calls that do several things at once. */
static void batches(void)
{
	typedef struct {
		uint32_t kind;
		uint64_t address, value;
		uint32_t flags;
		uint64_t rest[2];
	} word;
	struct {
		uint64_t stream;
		uint32_t count;
		const word *words;
		uint32_t flags;
	} writes = {S1, 2, (word[]){{5, 0xa000, 1ull << 40, 0, {0}}, {2, 0xb000, 7, 0, {0}}}, 0},
	  waits = {S2, 2, (word[]){{1, 0xb000, 7, 0, {0}}, {3, 0, 0, 0, {0}}}, 0};
	create_stream(S1, 0, 0);
	create_stream(S2, 0, 0);
	launch(S1, ADD);
	with_stream("hipStreamBatchMemOp", &writes, sizeof writes, S1, NULL);
	with_stream("hipStreamBatchMemOp", &waits, sizeof waits, S2, NULL);
	struct {
		uint64_t stream, address;
		uint32_t value, flags, mask;
	} low = {S2, 0xb000, 3, 1, 0xfb};
	struct {
		uint64_t stream, address, value;
		uint32_t flags;
		uint64_t mask;
	} high = {S2, 0xa000, 1ull << 40, 2, 1ull << 40};
	with_stream("hipStreamWaitValue32", &low, sizeof low, S2, NULL);
	with_stream("hipStreamWaitValue64", &high, sizeof high, S2, NULL);
	launch(S2, MATMUL);
	uint64_t many[9] = {[3] = 5, [8] = S2};
	fake_work w = {FAKE_COPY, 2, 0, FAKE_GPU0, FAKE_CPU, 128, 0, 0};
	with_stream("hipMemcpyBatchAsync", many, sizeof many, S2, &w);
}

static void collectives(void)
{
	uint64_t reduce[6] = {0, 0, 1 << 20, 7, 0xc0, S1};
	create_stream(S1, 0, 0);
	call("ncclGroupStart", NULL, 0, 0);
	call("ncclAllReduce", reduce, sizeof reduce, 0);
	call("ncclGroupEnd", NULL, 0, 3);
	call("ncclGetVersion", NULL, 0, 0);
}

/* Both devices, by turns. */
static void devices(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t stream = i ? S2 : S1, agent = i ? FAKE_GPU1 : FAKE_GPU0;
		fake_work w = {.kind = FAKE_KERNEL, .kernel = ADD, .agent = agent};
		fake_work in = {FAKE_COPY, 2, 0, agent, FAKE_CPU, 64, 0, 0};
		call("hipSetDevice", &i, sizeof i, 0);
		create_stream(stream, 0, 0);
		with_stream("hipLaunchKernel", (uint64_t[]){0, 0, 0, 0, 0, 0, stream}, 56, stream,
			    &w);
		with_stream("hipLaunchKernel", (uint64_t[7]){0}, 56, 0, &w);
		with_stream("hipLaunchKernel", (uint64_t[]){0, 0, 0, 0, 0, 0, 2}, 56, 2, &w);
		with_stream("hipMemcpyAsync", (uint64_t[]){0, 0, 64, 1, stream}, 40, stream, &in);
	}
}

static void events(void)
{
	create_stream(S1, 0, 0);
	fake_work rec = {.kind = FAKE_EVENT, .operation = 1, .agent = FAKE_GPU0, .event = E1};
	fake_work wait = {.kind = FAKE_EVENT, .operation = 2, .agent = FAKE_GPU0, .event = E1};
	with_stream("hipEventRecord", WORDS(E1, S1), 16, S1, &rec);
	with_stream("hipStreamWaitEvent", WORDS(0, E1, 0), 20, 0, &wait);
}

/* A line of standard input is something to do; the answer says that it is done. */
static void obey(void)
{
	char line[64];
	setvbuf(stdin, NULL, _IONBF, 0); /* the next request is the next self's */
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "make"))
			create_stream(S1, 0, 0);
		else if (!strcmp(line, "destroy"))
			stream_destroy(S1);
		else if (!strcmp(line, "launch"))
			launch(S1, ADD), deliver();
		else if (!strncmp(line, "push ", 5))
			range(FAKE_PUSH, line + 5, 0);
		else if (!strcmp(line, "pop"))
			range(FAKE_POP, NULL, 0);
		puts("done");
		fflush(stdout);
	}
}

static const struct {
	const char *name;
	void (*play)(void);
} scripts[] = {
	{"streams", streams},         {"reuse", reuse},     {"graphs", graphs},
	{"threads", threads},         {"many", many},       {"markers", markers},
	{"memory", memory},           {"odd", odd},         {"events", events},
	{"pauses", pauses},           {"flood", flood},     {"batches", batches},
	{"collectives", collectives}, {"devices", devices}, {"obey", obey},
};

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_LAZY | RTLD_GLOBAL), *p;
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	p = dlsym(lib, "fake_hip");
	memcpy(&hip, &p, sizeof p);
	p = dlsym(lib, "fake_range");
	memcpy(&range, &p, sizeof p);
	p = dlsym(lib, "fake_deliver");
	memcpy(&deliver, &p, sizeof p);
	p = dlsym(lib, "fake_holds");
	memcpy(&records_wait, &p, sizeof p);
	p = dlsym(lib, "fake_start");
	fake_start_fn *start;
	memcpy(&start, &p, sizeof p);
	start();
	return lib;
}

static void play(const char *name)
{
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		if (!strcmp(scripts[i].name, name))
			scripts[i].play();
}

int main(int argc, char **argv)
{
	const char *end = argc > 2 ? argv[2] : "return";
	const char *second = getenv("FAKE_ROCPROF_SECOND"), *before = getenv("FAKE_ROCPROF_BEFORE");
	char list[4096];
	snprintf(list, sizeof list, "%s", before ? before : "");
	for (char *p = strtok(list, ":"); p; p = strtok(NULL, ":"))
		dlopen(p, RTLD_LAZY); /* may fail, when there is no room left */
	load(getenv("FAKE_ROCPROF_LINKED") ? NULL : "librocprofiler-sdk.so");
	play(argc > 1 ? argv[1] : "");
	if (second)
		load(second);
	deliver();
	if (strstr(end, "later"))
		usleep(250000);
	if (!strncmp(end, "fork", 4)) {
		pid_t pid = fork();
		if (pid == 0) {
			play(strstr(end, "again") ? argv[1] : "");
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (!strcmp(end, "_exit") || !strcmp(end, "kill"))
		for (int tries = 0; records_wait() && tries < 300000; tries++)
			usleep(1000);
	if (!strcmp(end, "kill"))
		kill(getpid(), 9);
	if (!strcmp(end, "_exit"))
		_exit(5);
	if (!strcmp(end, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
	if (!strcmp(end, "quick_exit"))
		quick_exit(5);
	if (!strcmp(end, "pthread_exit")) /* without a recorder the process ends here */
		pthread_exit(NULL);
	return 4;
}

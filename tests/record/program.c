/* A GPU program of many endings, for the fake driver. usage: program HOW [N] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vendor/cupti.h"
#include "vendor/nvtx.h"

#include "../fake/fake.h"

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);
int fake_launch_driver(unsigned stream, const char *name);
int fake_launch_forever(unsigned stream, const char *name);
int fake_launch_first(unsigned stream, const char *name);
int fake_launch_late(unsigned stream, const char *name, unsigned ms);
int fake_copy(unsigned stream, unsigned long bytes);
int fake_copy_to_peer(unsigned stream, unsigned long bytes);
int fake_record(unsigned event, unsigned stream);
int fake_wait(unsigned stream, unsigned event);
int fake_call(int domain, uint32_t cbid, const void *arguments);
int fake_sync(void);
int fake_stream_sync_forever(unsigned stream);
int fake_get_device(void);

/* ---- NVTX as its headers do it: a table of pointers that an injection library fills ---- */

static nvtx_fn *core_fn[16], *core2_fn[16];
static nvtx_fn **core_at[16], **core2_at[16];

static int get_module(int module, nvtx_fn ****table, unsigned *n)
{
	*table = module == NVTX_MODULE_CORE    ? core_at
		 : module == NVTX_MODULE_CORE2 ? core2_at
					       : NULL;
	*n = 16;
	return *table != NULL;
}
static const nvtx_callbacks callbacks = {sizeof callbacks, get_module};
static const void *get_table(uint32_t id)
{
	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void nvtx_start(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	for (int i = 0; i < 16; i++) {
		core_at[i] = &core_fn[i];
		core2_at[i] = &core2_fn[i];
	}
	void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
	void *p = lib ? dlsym(lib, "InitializeInjectionNvtx2") : NULL;
	int (*init)(nvtx_export_fn *);
	memcpy(&init, &p, sizeof p);
	if (init)
		init(get_table);
}
static void push(const char *text)
{
	if (core_fn[9])
		((int (*)(const char *))core_fn[9])(text);
}
static void pop(void)
{
	if (core_fn[11])
		((int (*)(void))core_fn[11])();
}
static void domain_push(void *domain, const char *text)
{
	nvtx_attributes a = {.version = 3,
			     .size = sizeof a,
			     .messageType = NVTX_TEXT_ASCII,
			     .message.ascii = text};
	if (core2_fn[4])
		((int (*)(void *, const nvtx_attributes *))core2_fn[4])(domain, &a);
}
static void domain_pop(void *domain)
{
	if (core2_fn[5])
		((int (*)(void *))core2_fn[5])(domain);
}

/* ---- work ---- */

static void step(int i)
{
	push("step");
	fake_get_device();
	fake_copy(13, 4096);
	fake_record(5, 13);
	fake_wait(7, 5);
	push(i % 2 ? "odd" : "even");
	fake_launch(7, "_Z3addPfS_i");
	pop();
	fake_launch_driver(13, "triton_kernel");
	pop();
}

static void *worker(void *arg)
{
	for (int i = 0; i < 50; i++)
		step(i + (int)(intptr_t)arg);
	return NULL;
}

static void run_threads(int n)
{
	pthread_t t[16];
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, worker, (void *)(intptr_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* The fake CUPTI's answer; 0 when it is not there. */
static int ask_cupti(const char *question, int about)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *p = lib ? dlsym(lib, question) : NULL;
	int (*answer)(int);
	memcpy(&answer, &p, sizeof p);
	return answer ? answer(about) : 0;
}

static int records_wait(void)
{
	return ask_cupti("fake_cupti_holds", 0);
}

/* Of the kinds that the recorder switches off when it finds that another has CUPTI. */
static int recorder_listens(void)
{
	return ask_cupti("fake_cupti_traces", CUPTI_MEMORY2);
}

static int graphs_are_whole(void)
{
	return ask_cupti("fake_cupti_traces", CUPTI_GRAPH_TRACE);
}

static int peers_are_untold(void)
{
	return !ask_cupti("fake_cupti_traces", CUPTI_MEMCPY2);
}

/* However busy the machine is, but not for ever. */
static void wait_while(int (*so)(void))
{
	for (int tries = 0; so() && tries < 300000; tries++)
		usleep(1000);
}

/* What torch.profiler does to CUPTI. */
static uint64_t stolen;
static void steal_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 16;
	*max = 0;
	static uint8_t *all[64];
	static size_t n;
	*buffer = all[n++ % 64] = malloc(*size);
}
static void steal_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			   size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)buffer; /* another tool's buffer may come first: not ours to free */
	stolen += valid;
}
static void take_over(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *p = lib ? dlsym(lib, "cuptiActivityRegisterCallbacks") : NULL;
	cupti_result (*reg)(cupti_request_fn *, cupti_complete_fn *);
	memcpy(&reg, &p, sizeof p);
	wait_while(records_wait);
	if (reg)
		reg(steal_request, steal_complete);
	for (int i = 0; i < 20; i++)
		step(i);
	wait_while(recorder_listens);
	printf("stolen %s\n", stolen ? "some" : "none");
}

static void fork_and_go_on(void)
{
	pid_t child = fork();
	if (child == 0) { /* as a data loader: no GPU, but ranges */
		for (int i = 0; i < 10; i++) {
			push("child");
			pop();
		}
		exit(0);
	}
	waitpid(child, NULL, 0);
	step(0);
}

static void with_domains(void)
{
	void *(*create)(const char *) = (void *(*)(const char *))core2_fn[12];
	void *a = create ? create("A") : NULL, *b = create ? create("B") : NULL;
	domain_push(a, "in A");
	domain_push(b, "in B");
	domain_pop(a); /* stacks are apart */
	domain_pop(b);
}

/* Steps without an end; how many are done stands in a file that survives every death. */
static void tell_and_go_on(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	volatile unsigned *done =
		ftruncate(fd, 4096) == 0
			? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	if (done == MAP_FAILED)
		abort();
	for (int i = 0;; i++) {
		step(i);
		++*done;
		if (i % 8 == 7)
			usleep(1000);
	}
}

static void make_graph(unsigned i)
{
	uint64_t made = 0x700 + i, instantiate[] = {(uint64_t)(uintptr_t)&made, 0x600, 0};
	fake_call(2, FAKE_cudaGraphInstantiate, instantiate);
}

static void launch_graph(unsigned i)
{
	fake_call(2, FAKE_cudaGraphLaunch, (uint64_t[]){0x700 + i, 0x100d});
}

/* Calls that do several things at once, or through structures. */
static void order_in_other_ways(void)
{
	struct word {
		uint32_t kind;
		uint64_t address, value;
		uint32_t flags;
		uint64_t rest[2];
	} words[] = {{5, 0x9000, 3, 0, {0}}, {1, 0x9008, 7, 2, {0}}, {3, 0, 0, 0, {0}}};
	struct {
		uint64_t stream;
		uint32_t count;
		const void *words;
		uint32_t flags;
	} batch = {0x100d, 3, words, 0};
	fake_call(1, FAKE_cuStreamBatchMemOp, &batch);
	uint64_t semaphores[] = {0xA000, 0xA008}, fences[2][18] = {{11}, {12}};
	struct {
		const void *semaphores, *fences;
		uint32_t n;
		uint64_t stream;
	} signal = {semaphores, fences, 2, 0x100d};
	fake_call(2, FAKE_cudaSignalExternalSemaphores, &signal);
	uint64_t add[] = {0, 0x600, 0, 0, 0x50140};
	fake_call(2, FAKE_cudaGraphAddEventRecordNode, add);
	fake_call(2, FAKE_cudaGraphAddChildGraphNode, (uint64_t[]){0, 0x610, 0, 0, 0x600});
	make_graph(0);
	fake_call(2, FAKE_cudaGraphExecEventRecordNodeSetEvent,
		  (uint64_t[]){0x700, 0x800, 0x50180});
	launch_graph(0);
	uint64_t block = 0;
	fake_call(2, FAKE_cudaMalloc, (uint64_t[]){(uintptr_t)&block, 64});
	fake_call(2, FAKE_cudaMallocAsync, (uint64_t[]){(uintptr_t)&block, 64, 0x100d});
	fake_call(2, FAKE_cudaFreeAsync, (uint64_t[]){0xB000, 0x100d});
	struct attribute {
		uint32_t id;
		uint64_t event, rest[7];
	} attributes[] = {{2, 0xBAD, {0}}, {12, 0x50180, {0}}};
	struct {
		uint32_t sizes[8];
		uint64_t stream;
		const void *attributes;
		uint32_t n;
	} with = {{0}, 0x100d, attributes, 2}, without = {{0}, 0x100d, attributes, 1};
	const void *arguments[][3] = {{&with, NULL, NULL}, {&without, NULL, NULL}};
	fake_call(2, FAKE_cudaLaunchKernelExC, arguments[0]);
	fake_call(2, FAKE_cudaLaunchKernelExC, arguments[1]);
}

/* In a moment in which nodes of graphs are traced, or after a while. */
static void make_graph_among_nodes(unsigned i)
{
	for (int tries = 0; graphs_are_whole() && tries < 3000; tries++)
		usleep(1000);
	make_graph(i);
}

static void *stay(void *unused)
{
	(void)unused;
	fake_stream_sync_forever(13);
	return NULL;
}

/* A line of standard input is something to do; the answer says that it is done. */
static void obey(char **argv)
{
	char line[256];
	setvbuf(stdin, NULL, _IONBF, 0); /* the next request is the next self's */
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "step"))
			step(0);
		else if (!strncmp(line, "push ", 5))
			push(line + 5);
		else if (!strcmp(line, "pop"))
			pop();
		else if (!strncmp(line, "make graph among", 16)) /* and its number */
			make_graph_among_nodes((unsigned)atoi(line + 16));
		else if (!strncmp(line, "make graph", 10))
			make_graph((unsigned)atoi(line + 10));
		else if (!strncmp(line, "launch graph", 12))
			launch_graph((unsigned)atoi(line + 12));
		else if (!strcmp(line, "stay")) /* a thread, in a call */
			pthread_create(&(pthread_t){0}, NULL, stay, NULL);
		else if (!strcmp(line, "late"))
			fake_launch_late(7, "late", 30);
		else if (!strcmp(line, "fork"))
			fork_and_go_on();
		else if (!strcmp(line, "exec"))
			execl("/proc/self/exe", argv[0], "obey", "0", (char *)NULL);
		printf("%s\n", ask_cupti("fake_cupti_on", 0) ? "on" : "off");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int n = argc > 2 ? atoi(argv[2]) : 10;
	if (!strcmp(how, "nothing"))
		return 7;
	nvtx_start();
	cuInit(0);
	for (int i = 0; i < n; i++)
		step(i);
	if (!strcmp(how, "threads"))
		run_threads(8);
	if (!strcmp(how, "late")) {
		push("odd");
		fake_launch_late(7, "late", 100);
		pop();
	}
	if (!strcmp(how, "first"))
		fake_launch_first(7, "first");
	if (!strcmp(how, "pause"))
		usleep(100000);
	if (!strcmp(how, "kill")) {
		wait_while(records_wait);
		push("last words");
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(how, "a-while"))
		for (int i = 0; i < 1500; i++) {
			step(i);
			usleep(1000);
			if (i == 300 && getenv("STEP_FILE")) /* tests/fake/step.c */
				close(open(getenv("STEP_FILE"), O_CREAT | O_WRONLY, 0600));
		}
	if (!strcmp(how, "kill-now")) {
		push("last words");
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(how, "exit-call")) {
		push("last words");
		syscall(SYS_exit_group, 5);
	}
	if (!strcmp(how, "burst"))
		for (int i = n; i < 10000; i++)
			step(i);
	if (!strcmp(how, "execs") && argc > 3 && atoi(argv[3]) > 0) {
		char left[16];
		snprintf(left, sizeof left, "%d", atoi(argv[3]) - 1);
		execl("/proc/self/exe", argv[0], how, argv[2], left, (char *)NULL);
	}
	if (!strcmp(how, "exec-fails")) {
		execl("/no/such/program", "program", (char *)NULL);
		step(1);
	}
	if (!strcmp(how, "_exit")) {
		push("last words");
		_exit(5);
	}
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "return", "3", (char *)NULL);
	if (!strcmp(how, "fork"))
		fork_and_go_on();
	if (!strcmp(how, "dlclose")) {
		void *lib = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
		dlclose(lib);
		dlclose(lib);
		dlclose(lib);
		step(1);
	}
	if (!strcmp(how, "taken"))
		take_over();
	if (!strcmp(how, "close")) { /* as a daemon does; then its own files get those numbers */
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		for (int i = 0; i < 20; i++)
			if (!tmpfile())
				return 1;
		FILE *mine = fopen(argv[3], "w");
		step(1);
		usleep(300000);
		return !mine || fclose(mine) != 0;
	}
	if (!strcmp(how, "looker")) {
		void *lib = dlopen("libproton_test.so", RTLD_NOW);
		void *p = lib ? dlsym(lib, "looker_subscribe") : NULL;
		int (*subscribe)(void);
		memcpy(&subscribe, &p, sizeof p);
		int rc = -1; /* a library that is loaded by name is found at the next tick */
		for (int tries = 0; subscribe && (rc = subscribe()) && tries < 300000; tries++)
			usleep(1000);
		printf("subscribed %d\n", rc);
		step(1);
	}
	if (!strcmp(how, "proton")) { /* its own copy of CUPTI is the third argument */
		void *lib = dlopen(argv[4], RTLD_NOW);
		void *start = lib ? dlsym(lib, "looker_start") : NULL;
		void *stop = lib ? dlsym(lib, "looker_stop") : NULL;
		int (*begin)(const char *);
		void (*end)(void);
		memcpy(&begin, &start, sizeof start);
		memcpy(&end, &stop, sizeof stop);
		printf("started %d\n", begin ? begin(argv[3]) : -1);
		for (int i = 0; i < n; i++)
			step(i);
		if (end)
			end();
		step(1);
	}
	if (!strcmp(how, "peers")) {
		wait_while(peers_are_untold);
		for (int i = 0; i < 5; i++)
			fake_copy_to_peer(13, 4096);
	}
	if (!strcmp(how, "obey"))
		obey(argv);
	if (!strcmp(how, "sync"))
		fake_sync();
	if (!strcmp(how, "orders"))
		order_in_other_ways();
	if (!strcmp(how, "domains"))
		with_domains();
	if (!strcmp(how, "hang"))
		fake_launch_forever(7, "endless");
	if (!strcmp(how, "tell"))
		tell_and_go_on(argv[3]);
	if (!strcmp(how, "sleep")) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	return 0;
}

/* Objects while the loader is at work on them. Four parts of one file:
 * SLOW     a library whose indirect function takes a while to be resolved, so that whoever needs it
 *          stays half relocated
 * LAZY     a library that needs it, and calls functions by slots that are bound at their first call
 * LOCAL    a library that needs it, with a variable of each thread
 * neither  the program: load LAZY while the recorder looks for new objects, call it; then name
 * every object with a page that the loader sealed and that can be written to. Or many LOCAL */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined SLOW
long slow_ns = 200000000;

static int yes(void)
{
	return 1;
}

static int (*resolve(void))(void)
{
	struct timespec pause = {0, slow_ns};
	nanosleep(&pause, NULL);
	return yes;
}

__attribute__((ifunc("resolve"))) int slow(void);

#elif defined LOCAL
int slow(void);

static __thread int mine;
int (*volatile by_address)(void) = slow;

int touch(void);

int touch(void)
{
	return ++mine;
}

#elif defined LAZY
int slow(void);
int call(void);

int (*volatile by_address)(void) = slow;

/* Each is one that a recorder may stand in for. */
int call(void)
{
	char *const none[] = {NULL};
	int failed =
		execve("/nowhere/at all", none, none) == -1 && execv("/nowhere/at all", none) == -1;
	return failed && !dlopen("/nowhere/at all", RTLD_LAZY) && by_address();
}

#else
int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);

static int writable(uintptr_t from, uintptr_t to)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], mode[8];
	unsigned long start, end;
	int n = 0;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[1] == 'w')
			n += start < to && end > from;
	if (f)
		fclose(f);
	return n;
}

static int check(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t whole = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	(void)size, (void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + p->p_vaddr) & whole;
		uintptr_t end = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & whole;
		if (p->p_type == PT_GNU_RELRO && start < end && writable(start, end))
			printf("unsealed: %s\n", info->dlpi_name);
	}
	return 0;
}

/* So many objects with variables of threads that the loader's table of them has to grow while some
 * are loaded and others look. */
static int load_all(char **path, int n)
{
	enum { BEFORE = 56 }; /* there, when threads of the recorder's begin */
	long *slow_ns = NULL;
	int loaded = 0;
	for (int i = 0; i < n; i++) {
		if (i == BEFORE) {
			cuInit(0);
			fake_launch(7, "k");
		}
		if (slow_ns)
			*slow_ns = i < BEFORE ? 0 : 60000000;
		void *lib = dlopen(path[i], RTLD_NOW), *p = lib ? dlsym(lib, "slow_ns") : NULL;
		memcpy(&slow_ns, &p, sizeof p);
		loaded += lib != NULL;
	}
	printf("%d loaded\n", loaded);
	return 0;
}

int main(int argc, char **argv)
{
	int (*call)(void) = NULL;
	if (argc > 2)
		return load_all(argv + 1, argc - 1);
	cuInit(0);
	void *lib = dlopen(argv[argc - 1], RTLD_LAZY);
	void *p = lib ? dlsym(lib, "call") : NULL;
	memcpy(&call, &p, sizeof p);
	puts(call && call() ? "called" : "not called");
	dl_iterate_phdr(check, NULL);
	return 0;
}
#endif

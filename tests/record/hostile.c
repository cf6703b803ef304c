/* A program that does to the recorder what daemons, sandboxes and attackers do. usage: hostile HOW
 * [PATH]. Prints what it found changed that it did not change itself; nothing when all is well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);

enum { FILES = 64, NOBODY = 65534 };
static const char text[] = "the user's bytes";
static int mine[FILES];

static void *launch_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		fake_launch(7, "kernel");
	return NULL;
}

static void launch_on_threads(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, launch_some, NULL) == 0)
			pthread_join(t, NULL);
	}
}

/* As a daemon: close everything, then open files of its own, which get the numbers. */
static void open_own_files(const char *dir)
{
	for (int fd = 3; fd < 3 + FILES; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/file%d", dir, i);
		mine[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (write(mine[i], text, sizeof text) != (ssize_t)sizeof text)
			printf("cannot write %s\n", path);
	}
}

static void check_own_files(const char *who)
{
	for (int i = 0; i < FILES; i++) {
		char got[sizeof text + 1];
		struct stat st;
		if (fstat(mine[i], &st) < 0)
			printf("%s: file %d was closed\n", who, i);
		else if (st.st_size != (off_t)sizeof text ||
			 pread(mine[i], got, sizeof got, 0) != (ssize_t)sizeof text ||
			 memcmp(got, text, sizeof text))
			printf("%s: file %d has %lld bytes\n", who, i, (long long)st.st_size);
	}
	fflush(stdout);
}

static void close_all(const char *dir)
{
	open_own_files(dir);
	launch_on_threads(8);
	usleep(300000);
	check_own_files("parent");
}

static void fork_child(const char *dir, pid_t (*make)(void))
{
	open_own_files(dir);
	pid_t child = make();
	if (child == 0) {
		check_own_files("child");
		launch_some(NULL);
		check_own_files("child");
		exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	if (status)
		printf("the child ended with %d\n", status);
	check_own_files("parent");
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_fork);
}

static void limit_files(void)
{
	struct rlimit small = {4096, 4096};
	setrlimit(RLIMIT_FSIZE, &small);
	launch_on_threads(16);
	usleep(300000);
}

/* Every place in the rings that names a file now names another. */
static void rename_in_memory(const char *victim)
{
	char line[1024], dir[512] = "";
	FILE *f = fopen("/proc/self/maps", "r");
	const char *conf = getenv("ASSAY_RECORD"), *at = conf ? strstr(conf, "dir=") : NULL;
	sscanf(at ? at : "dir=?", "dir=%511[^;]", dir);
	while (f && fgets(line, sizeof line, f)) {
		char *from, *to;
		if (!strstr(line, ".ring") ||
		    sscanf(line, "%p-%p", (void **)&from, (void **)&to) != 2)
			continue;
		for (char *p = from; p + 512 < to; p++)
			if (!strncmp(p, dir, strlen(dir)))
				strcpy(p, victim);
	}
	if (f)
		fclose(f);
}

static void become_nobody(void)
{
	if (getuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		printf("cannot become nobody: %s\n", strerror(errno));
}

/* The capture gives way to a link to another file. */
static void put_link(const char *victim, int (*make)(const char *, const char *))
{
	char line[1024], capture[1200] = "";
	const char *conf = getenv("ASSAY_RECORD"), *at = conf ? strstr(conf, "dir=") : NULL;
	sscanf(at ? at : "dir=?", "dir=%1023[^;]", line);
	char list[1200];
	snprintf(list, sizeof list, "ls %s/*.asy", line);
	FILE *f = popen(list, "r");
	if (f && fgets(capture, sizeof capture, f))
		capture[strcspn(capture, "\n")] = 0;
	if (f)
		pclose(f);
	unlink(capture);
	if (make(victim, capture))
		printf("cannot link %s: %s\n", capture, strerror(errno));
}

static int stop_at_first(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info, (void)size, (void)unused;
	return 1;
}

/* Children that use the loader, as an import in a worker process does. The recorder has many
 * objects to look at, and each time one more. */
static void load_in_children(const char *dir)
{
	enum { LIBRARIES = 100, CHILDREN = 200, SECONDS = 300 };
	int status = 0;
	for (int i = 0; i < LIBRARIES; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/lib%d.so", dir, i);
		if (!dlopen(path, RTLD_NOW))
			printf("cannot load %s\n", path);
	}
	for (int i = 0; i < CHILDREN && !status; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		if (lib)
			dlclose(lib);
		usleep((unsigned)(i % 16) * 100);
		pid_t child = fork();
		if (child == 0) {
			alarm(SECONDS);
			dl_iterate_phdr(stop_at_first, NULL);
			_exit(dlopen("libm.so.6", RTLD_NOW) ? 0 : 1);
		}
		waitpid(child, &status, 0);
		if (status)
			printf("child %d ended with %#x\n", i, (unsigned)status);
	}
}

static void *stay(void *stays)
{
	launch_some(NULL);
	*(_Atomic int *)stays = 1;
	for (;;)
		pause();
	return NULL;
}

/* A thread that records and is still there when the process ends. */
static void keep_a_thread(void)
{
	static _Atomic int stays;
	pthread_t t;
	if (pthread_create(&t, NULL, stay, &stays) == 0)
		while (!stays)
			usleep(1000);
}

/* Until somebody writes one; so many children besides, which end with it. */
static void wait_for_line(int children)
{
	int fd[2];
	if (pipe(fd) < 0)
		return;
	for (int i = 0; i < children; i++)
		if (fork() == 0) {
			close(fd[1]);
			_exit(read(fd[0], &i, 1) > 0);
		}
	puts("ready");
	fflush(stdout);
	getchar();
	close(fd[1]);
	while (wait(NULL) > 0)
		;
}

/* Until it was, and for a GPU no longer as often as at first. */
static void be_looked_at(void)
{
	puts("started");
	fflush(stdout);
	getchar();
}

/* A grandchild goes on, when it was surely looked at and what started it has ended. */
static void become_orphan(void)
{
	int fd[2];
	if (pipe(fd) < 0)
		return;
	if (fork()) {
		close(fd[1]);
		_exit(read(fd[0], fd, 1) > 0); /* until it ends */
	}
	pid_t parent = getpid();
	if (fork()) {
		be_looked_at();
		_exit(0);
	}
	while (getppid() == parent)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argc > 2 ? argv[2] : "";
	if (!strcmp(how, "daemon"))
		become_orphan();
	if (!strcmp(how, "clear-fork"))
		be_looked_at();
	if (!strncmp(how, "clear", 5) || !strcmp(how, "daemon"))
		clearenv();
	cuInit(0);
	launch_some(NULL);
	if (!strcmp(how, "stay"))
		keep_a_thread();
	if (!strcmp(how, "wait") || !strcmp(how, "stay") || !strncmp(how, "clear", 5) ||
	    !strcmp(how, "daemon"))
		wait_for_line(!strcmp(how, "clear-fork") ? 2 : 0);
	if (!strcmp(how, "close"))
		close_all(path);
	else if (!strcmp(how, "fork"))
		fork_child(path, fork);
	else if (!strcmp(how, "raw-fork"))
		fork_child(path, raw_fork);
	else if (!strcmp(how, "fork-load"))
		load_in_children(path);
	else if (!strcmp(how, "limit"))
		limit_files();
	else if (!strcmp(how, "path"))
		become_nobody(), rename_in_memory(path);
	else if (!strcmp(how, "link"))
		put_link(path, symlink);
	else if (!strcmp(how, "hard-link"))
		put_link(path, link);
	launch_some(NULL);
	fflush(stdout);
	if (!strcmp(how, "path") || !strcmp(how, "link") || !strcmp(how, "hard-link"))
		kill(getpid(), SIGKILL);
	return 0;
}

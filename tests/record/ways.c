/* What programs do to themselves, one thing a run: with a recorder in them and without, they print
 * and end the same. usage: ways HOW */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);

static volatile sig_atomic_t rang;

static void work(int n)
{
	for (int i = 0; i < n; i++)
		fake_launch(7, "kernel");
}

static void *work_and_leave(void *unused)
{
	(void)unused;
	work(10);
	pthread_exit(NULL);
}

static void *work_and_exit(void *unused)
{
	(void)unused;
	work(10);
	usleep(20000);
	exit(6);
}

static void *work_and_quit(void *unused)
{
	(void)unused;
	work(10);
	_exit(5);
}

static void on_alarm(int sig)
{
	(void)sig;
	rang++; /* in the middle of a launch, too */
}

static void on_user(int sig)
{
	(void)sig;
	_exit(9);
}

static void told(const char *what, pid_t child)
{
	int status = 0;
	pid_t got = waitpid(child, &status, 0);
	printf("%s: waited %d, status %d\n", what, got == child, status);
}

static void limit(int what, rlim_t to)
{
	struct rlimit l = {to, to};
	if (setrlimit(what, &l) < 0)
		puts("no such limit");
}

/* So many MiB more than it has now. */
static void limit_memory(int more)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld", &pages) != 1)
		puts("no /proc");
	if (f)
		fclose(f);
	limit(RLIMIT_AS, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)more << 20));
}

/* ---- before there is a GPU ---- */

static void lose_rights(void)
{
	const char *run = getenv("ASSAY_RUN");
	if (run)
		chmod(run, 0555);
	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		puts("root stays");
}

static void lose_folder(void)
{
	const char *run = getenv("ASSAY_RUN");
	char away[4096];
	snprintf(away, sizeof away, "%s.away", run ? run : "");
	if (run && rename(run, away) < 0)
		puts("it stays");
}

static void before(const char *how)
{
	if (!strcmp(how, "few-files"))
		limit(RLIMIT_NOFILE, 3);
	else if (!strcmp(how, "no-threads"))
		limit(RLIMIT_NPROC, 1); /* which root may exceed */
	else if (!strcmp(how, "no-files"))
		limit(RLIMIT_FSIZE, 0);
	else if (!strncmp(how, "memory-", 7))
		limit_memory(atoi(how + 7));
	else if (!strcmp(how, "read-only"))
		lose_rights();
	else if (!strcmp(how, "moved"))
		lose_folder();
	else if (!strcmp(how, "no-core"))
		limit(RLIMIT_CORE, 0);
	else if (!strcmp(how, "no-clock-at-all"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

/* ---- with one ---- */

static void handlers(void)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 500}, {0, 500}};
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (rang < 50)
		work(10);
	signal(SIGALRM, SIG_IGN);
}

static void fork_child(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		work(20);
		puts("child");
		exit(3);
	}
	told("fork", child);
}

static void vfork_child(bool execs)
{
	char *const args[] = {"true", NULL};
	pid_t child = vfork();
	if (child == 0) {
		if (execs)
			execv("/bin/true", args);
		_exit(4);
	}
	told("vfork", child);
}

static void many_threads(void)
{
	pthread_t t[64];
	for (int i = 0; i < 64; i++)
		pthread_create(&t[i], NULL, work_and_leave, NULL);
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
}

static void close_recorder(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	for (int i = 0; lib && i < 4; i++)
		dlclose(lib);
}

static void leave_by(void *(*end)(void *))
{
	pthread_t t;
	pthread_create(&t, NULL, end, NULL);
	if (end == work_and_exit)
		pthread_exit(NULL);
	for (;;)
		pause();
}

static void say_last(void)
{
	sigset_t blocked;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	printf("at exit: SIGTERM blocked %d", sigismember(&blocked, SIGTERM));
}

static void *work_a_while(void *unused)
{
	work(100);
	usleep(300000);
	return unused;
}

/* The process ends with its last thread. */
static void first_leaves(bool another)
{
	pthread_t t;
	atexit(say_last);
	if (another && (pthread_create(&t, NULL, work_a_while, NULL) || pthread_detach(t)))
		puts("no thread");
	pthread_exit(NULL);
}

/* Without a word to the C library. */
static void first_exits(void)
{
	syscall(SYS_exit, 5);
}

static void first_is_killed(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getpid);
}

static void *write_much(void *unused)
{
	static char text[1 << 18]; /* more than a pipe holds */
	memset(text, '.', sizeof text);
	for (size_t n = 0; n < sizeof text;) {
		ssize_t wrote = write(STDOUT_FILENO, text + n, sizeof text - n);
		n += wrote > 0 ? (size_t)wrote : 0;
	}
	return unused;
}

/* A thread waits for whoever reads its output, the others work. */
static void write_beside(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, write_much, NULL))
		return;
	work(1000);
	pthread_join(t, NULL);
}

/* What only a process of one thread may do. */
static void sandbox(int flags)
{
	printf("unshare: %d\n", unshare(flags));
}

static void enter_own_mounts(void)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	printf("setns: %d\n", setns(fd, CLONE_NEWNS));
	close(fd);
}

/* As a browser's or a fork server's first process: its children are the first of their world. */
static void sandbox_of_children(void)
{
	sandbox(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
	fork_child();
	fork_child();
}

static void during(const char *how)
{
	if (!strcmp(how, "handlers"))
		handlers();
	else if (!strcmp(how, "fork"))
		fork_child();
	else if (!strcmp(how, "sandbox"))
		sandbox(CLONE_NEWUSER);
	else if (!strcmp(how, "sandboxes")) {
		for (int i = 0; i < 3; i++)
			sandbox(CLONE_NEWUSER), work(10);
	} else if (!strcmp(how, "sandbox-children"))
		sandbox_of_children();
	else if (!strcmp(how, "sandbox-refused"))
		sandbox(CLONE_NEWUSER | 1);
	else if (!strcmp(how, "no-clock"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	else if (!strcmp(how, "mounts"))
		enter_own_mounts();
	else if (!strcmp(how, "vfork-exec"))
		vfork_child(true);
	else if (!strcmp(how, "vfork-exit"))
		vfork_child(false);
	else if (!strcmp(how, "threads"))
		many_threads();
	else if (!strcmp(how, "dlclose"))
		close_recorder();
	else if (!strcmp(how, "writes"))
		write_beside();
	else if (!strcmp(how, "first-leaves"))
		first_leaves(true);
	else if (!strcmp(how, "only-leaves"))
		first_leaves(false);
	else if (!strcmp(how, "first-exits"))
		first_exits();
	else if (!strcmp(how, "first-is-killed"))
		first_is_killed();
	else if (!strcmp(how, "thread-exits"))
		leave_by(work_and_exit);
	else if (!strcmp(how, "thread-quits"))
		leave_by(work_and_quit);
	else if (!strcmp(how, "handler-quits")) {
		signal(SIGUSR1, on_user);
		raise(SIGUSR1);
	} else if (!strcmp(how, "crash") || !strcmp(how, "no-core"))
		raise(SIGSEGV);
	else if (!strcmp(how, "abort"))
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	before(how);
	printf("started: %d\n", cuInit(0));
	work(100);
	during(how);
	work(100);
	puts("went on");
	return 7;
}

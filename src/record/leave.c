/* Functions of the C library that we stand in for. Ways out of a process that run no exit handlers
 * (exec and _exit; quick_exit, which has handlers of its own): what the vendor's library still
 * holds is handed over first. What only a process of one thread may do (unshare and setns, as a
 * sandbox begins): our threads end, and start again behind it. */
#define _GNU_SOURCE /* execvpe, execveat, RTLD_DEFAULT */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/hook.h"
#include "record/rt_state.h"

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	void (*exit_now)(int);
	void *(*dlopen)(const char *, int);
	int (*unshare)(int);
	int (*setns)(int, int);
	int (*prctl)(int, ...);
} real;

extern char **environ;

/* A child of vfork lives in our memory, but is not the process that records. */
static bool records_here(void)
{
	return atomic_load(&rt.on) && atomic_load(&rt.writing) == RT_WRITER_RUNS &&
	       assay_rt_life() && (pid_t)syscall(SYS_getpid) == (pid_t)rt.file->pid;
}

static bool before_exec(void)
{
	if (!records_here())
		return false;
	int saved = errno;
	bool whole = !rt.hooks->leave || rt.hooks->leave();
	assay_rt_flush();
	atomic_store(&rt.file->whole, whole);
	atomic_store(&rt.file->left, ASSAY_WIRE_LEFT_EXEC);
	errno = saved;
	return true;
}

static int back_from_exec(bool told, int rc)
{
	if (told) {
		atomic_store(&rt.file->left, 0);
		atomic_store(&rt.file->whole, 0);
	}
	return rc;
}

static int our_execve(const char *path, char *const args[], char *const env[])
{
	bool told = before_exec();
	return back_from_exec(told, real.execve(path, args, env));
}

static int our_execv(const char *path, char *const args[])
{
	bool told = before_exec();
	return back_from_exec(told, real.execv(path, args));
}

static int our_execvp(const char *file, char *const args[])
{
	bool told = before_exec();
	return back_from_exec(told, real.execvp(file, args));
}

static int our_execvpe(const char *file, char *const args[], char *const env[])
{
	bool told = before_exec();
	return back_from_exec(told, real.execvpe(file, args, env));
}

static int our_fexecve(int fd, char *const args[], char *const env[])
{
	bool told = before_exec();
	return back_from_exec(told, real.fexecve(fd, args, env));
}

static int our_execveat(int dir, const char *path, char *const args[], char *const env[], int flags)
{
	bool told = before_exec();
	return back_from_exec(told, real.execveat(dir, path, args, env, flags));
}

/* Arguments up to NULL in pages of their own, and the environment behind them where the function
 * takes one. Never given back: the process is about to end, and if not, it was refused. */
static char **gather(const char *first, va_list more, char ***env)
{
	va_list count;
	size_t n = 1;
	va_copy(count, more);
	for (const char *p = first; p; n++)
		p = va_arg(count, char *);
	va_end(count);
	void *pages = mmap(NULL, n * sizeof(char *), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **args = pages;
	if (pages == MAP_FAILED)
		return NULL;
	args[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; args[i - 1]; i++)
		args[i] = va_arg(more, char *);
	if (env)
		*env = va_arg(more, char **);
	return args;
}

static int our_execl(const char *path, const char *first, ...)
{
	va_list more;
	va_start(more, first);
	char **args = gather(first, more, NULL);
	va_end(more);
	return args ? our_execve(path, args, environ) : -1;
}

static int our_execlp(const char *file, const char *first, ...)
{
	va_list more;
	va_start(more, first);
	char **args = gather(first, more, NULL);
	va_end(more);
	return args ? our_execvp(file, args) : -1;
}

static int our_execle(const char *path, const char *first, ...)
{
	char **env = NULL;
	va_list more;
	va_start(more, first);
	char **args = gather(first, more, &env);
	va_end(more);
	return args ? our_execve(path, args, env) : -1;
}

/* It may be called in a signal handler: only what is safe there, and for a limited time. */
void assay_rt_leave_at_once(void)
{
	if (records_here())
		assay_rt_leave();
}

static _Noreturn void our_exit(int status)
{
	assay_rt_leave_at_once();
	real.exit_now(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* ---- what only a process of one thread may do ---- */

/* Was a call refused that our threads may be in the way of? They are not any more, then. */
static bool is_alone_now(int rc)
{
	int saved = errno;
	bool alone = rc < 0 && saved == EINVAL && records_here() && assay_rt_rest();
	errno = saved;
	return alone;
}

static int back_in_company(int rc)
{
	int saved = errno;
	assay_rt_rouse();
	errno = saved;
	return rc;
}

static int our_unshare(int flags)
{
	int rc = real.unshare(flags);
	return back_in_company(is_alone_now(rc) ? real.unshare(flags) : rc);
}

static int our_setns(int fd, int type)
{
	int rc = real.setns(fd, type);
	return back_in_company(is_alone_now(rc) ? real.setns(fd, type) : rc);
}

/* ---- a thread that may not read the processor's clock ---- */

static int our_prctl(int option, ...)
{
	va_list more;
	va_start(more, option);
	unsigned long a[4];
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(more, unsigned long);
	va_end(more);
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
		assay_rt_without_clock();
	return real.prctl(option, a[0], a[1], a[2], a[3]);
}

/* ---- libraries that come ---- */

/* A library that is loaded by its path is looked at before anybody calls it. Any other name is
 * found by the caller's own search path, so the call must seem to come from there: it is the last
 * thing done, and the compiler makes it a jump. */
static void *our_dlopen(const char *path, int flags)
{
	if (!path || !strchr(path, '/') || strchr(path, '$'))
		return real.dlopen(path, flags);
	void *lib = real.dlopen(path, flags);
	if (lib && records_here()) {
		assay_rt_stand_in();
		if (rt.hooks->loaded)
			rt.hooks->loaded();
	}
	return lib;
}

static const assay_hook stand_ins[] = {
	{"dlopen", (assay_any_fn *)our_dlopen, false},
	{"execve", (assay_any_fn *)our_execve, false},
	{"execv", (assay_any_fn *)our_execv, false},
	{"execvp", (assay_any_fn *)our_execvp, false},
	{"execvpe", (assay_any_fn *)our_execvpe, false},
	{"fexecve", (assay_any_fn *)our_fexecve, false},
	{"execveat", (assay_any_fn *)our_execveat, false},
	{"execl", (assay_any_fn *)our_execl, false},
	{"execlp", (assay_any_fn *)our_execlp, false},
	{"execle", (assay_any_fn *)our_execle, false},
	{"_exit", (assay_any_fn *)our_exit, false},
	{"_Exit", (assay_any_fn *)our_exit, false},
	{"unshare", (assay_any_fn *)our_unshare, false},
	{"setns", (assay_any_fn *)our_setns, false},
	{"prctl", (assay_any_fn *)our_prctl, false},
};

static assay_hook_object every_object(const char *file, bool unused)
{
	(void)unused;
	return strncmp(file, "libc.so", 7) && strncmp(file, "ld-linux", 8) ? ASSAY_HOOK_TAKE
									   : ASSAY_HOOK_LEAVE;
}

static bool find(const char *name, void *fn)
{
	void *p = dlsym(RTLD_DEFAULT, name);
	memcpy(fn, &p, sizeof p);
	return p != NULL;
}

/* Once; the last one found says so. */
static bool find_all(void)
{
	find("execveat", &real.execveat); /* nobody can call it where it is not (glibc 2.33) */
	return find("execve", &real.execve) && find("execv", &real.execv) &&
	       find("execvp", &real.execvp) && find("execvpe", &real.execvpe) &&
	       find("fexecve", &real.fexecve) && find("dlopen", &real.dlopen) &&
	       find("unshare", &real.unshare) && find("setns", &real.setns) &&
	       find("prctl", &real.prctl) && find("_exit", &real.exit_now);
}

void assay_rt_stand_in(void)
{
	static assay_hooks hooks = {
		.hook = stand_ins, .n = sizeof stand_ins / sizeof *stand_ins, .of = every_object};
	if (real.exit_now || find_all())
		assay_hook_install(&hooks);
}

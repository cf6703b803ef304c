/* Starting the recorded command, and staying out of its way: signals of the terminal reach it
 * directly, signals sent to us are passed on, its status is ours. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "cmd/record.h"

extern char **environ;

/* The command's process, and where a flight recorder is told of a signal; for the signal handler
 * alone. */
static volatile sig_atomic_t child_pid, bell = -1;

/* The terminal sends Ctrl-C to the whole group, so the command has it already; kill(1) sends it to
 * us alone. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	(void)context;
	int saved = errno;
	if (bell >= 0 && write(bell, "", 1) < 0)
		errno = saved; /* it is full: told already */
	if (child_pid > 0 && info->si_code <= 0)
		kill((pid_t)child_pid, sig);
}

/* SIGXFSZ comes from the kernel alone: caught, a limit on files is an error of the write. */
static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXFSZ};
enum { PASSED = ASSAY_COUNT_OF(passed) };

/* As the command is to find them. */
static struct sigaction of_pipes, of_children;

/* Whoever started us may ignore the ends of children: then nobody could be waited for. */
void assay_record_own_signals(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
	sigaction(SIGPIPE, &ignore, &of_pipes);
	sigaction(SIGCHLD, &usual, &of_children);
}

static void catch_signals(struct sigaction *old)
{
	struct sigaction sa = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
	for (int i = 0; i < PASSED; i++)
		sigaction(passed[i], &sa, &old[i]);
}

static void release_signals(const struct sigaction *old)
{
	for (int i = 0; i < PASSED; i++)
		sigaction(passed[i], &old[i], NULL);
}

/* Only async-signal-safe calls between fork and exec. */
/* execvp() also says "permission denied" when only a folder of PATH may not be searched. */
static bool is_in_path(const char *name)
{
	char file[4096];
	size_t n;
	for (const char *p = getenv("PATH"); p; p = p[n] ? p + n + 1 : NULL) {
		n = strcspn(p, ":");
		snprintf(file, sizeof file, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
		if (access(file, F_OK) == 0)
			return true;
	}
	return false;
}

static _Noreturn void become_command(char **command, char **env, const struct sigaction *old,
				     const sigset_t *mask, int told)
{
	release_signals(old);
	sigaction(SIGPIPE, &of_pipes, NULL);
	sigaction(SIGCHLD, &of_children, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	environ = env;
	execvp(command[0], command);
	int why = errno;
	if (why == EACCES && !strchr(command[0], '/') && !is_in_path(command[0]))
		why = ENOENT;
	ssize_t n = write(told, &why, sizeof why);
	_exit(n == (ssize_t)sizeof why ? 127 : 126);
}

static void wait_for(recording *r, pid_t pid)
{
	int status = 0;
	siginfo_t ended;
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	child_pid = 0; /* before another process can have its number */
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		r->end.signal = WTERMSIG(status);
	r->status = r->end.signal ? 128 + r->end.signal : WEXITSTATUS(status);
}

bool assay_record_command(recording *r, char **env, assay_err *err)
{
	struct sigaction old[PASSED];
	int pipe_fd[2], why = 0;
	if (pipe(pipe_fd) < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot make a pipe: %s", strerror(errno));
	fcntl(pipe_fd[0], F_SETFD, FD_CLOEXEC);
	fcntl(pipe_fd[1], F_SETFD, FD_CLOEXEC);
	catch_signals(old);
	sigset_t all, mask;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all,
		    &mask); /* a signal now would find no process to pass it to */
	pid_t pid = fork();
	if (pid == 0)
		become_command(r->command, env, old, &mask, pipe_fd[1]);
	child_pid = pid;
	bell = r->keep.bytes ? assay_record_control_bell(r->control) : -1;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(pipe_fd[1]);
	bool told = pid > 0 && read(pipe_fd[0], &why, sizeof why) == (ssize_t)sizeof why;
	close(pipe_fd[0]);
	record_children *watched =
		pid > 0 && !told && r->watch ? assay_children_start(&r->arena, pid) : NULL;
	if (pid > 0)
		wait_for(r, pid);
	assay_record_find(r);
	if (watched)
		r->end.unrecorded_n = assay_children_stop(watched, r->dir, &r->end.unrecorded);
	bell = -1;
	assay_record_control_end(r->control);
	if (pid > 0 && !told) /* a second Ctrl-C must not come between records and their file */
		assay_record_salvage(r);
	release_signals(old);
	if (pid < 0 || told)
		r->status = why == ENOENT ? 127 : 126;
	if (pid < 0)
		return assay_fail(err, ASSAY_IO, 0, "cannot start a process: %s", strerror(errno));
	if (told)
		return assay_fail(err, ASSAY_IO, 0, "cannot run %s: %s", r->command[0],
				  strerror(why));
	return true;
}

TEST(a_command_is_looked_for_in_every_folder_of_the_path)
{
	setenv("PATH", "/nonexistent::/usr/bin:/bin", 1);
	CHECK(is_in_path("sh") && is_in_path("README.md") && !is_in_path("no such command"));
	setenv("PATH", "", 1);
	CHECK(is_in_path("README.md") && !is_in_path("sh"));
	unsetenv("PATH");
	CHECK(!is_in_path("sh"));
	return 0;
}

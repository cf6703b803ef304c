/* Where `assay record` takes the machine's identity: in a process of its own, which the command
 * does not wait for. What changes by itself is taken in the command's first moments, digests of
 * libraries that are not remembered beside it at lowest priority; what is left when it has ended is
 * waited for. Should `assay record` be killed, that process ends its work all the same. */
#define _GNU_SOURCE /* pipe2, syscall */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/env.h"
#include "cmd/record.h"
#include "cmd/say.h"

/* Shared by both processes. */
struct record_env {
	assay_env_pace pace;
	_Atomic uint64_t done, total; /* bytes read for digests */
	_Atomic int saved;
	int ended;     /* reads its end once the one that probes is gone; not shared */
	assay_err err; /* why nothing was saved */
};

static void note_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	record_env *e = ctx;
	(void)what;
	atomic_store(&e->total, total);
	atomic_store(&e->done, done);
}

/* Nothing that the user's other programs wait for is held open, and Ctrl-C is the command's. */
static void leave_terminal(const recording *r, int alive)
{
	enum { KEPT = 3 };
	setpgid(0, 0);
	prctl(PR_SET_NAME, "assay-env");
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < KEPT; fd++)
		dup2(null, fd);
	close(r->lock);
	dup2(alive, KEPT);
	syscall(SYS_close_range, KEPT + 1, ~0u, 0);
}

static _Noreturn void probe(const recording *r, record_env *e, int alive)
{
	char path[4096];
	/* wherever the folder is moved; and when it is removed, it stays so */
	bool there = r->lock >= 0 && fchdir(r->lock) == 0;
	assay_env_opts opts = {.size = sizeof opts,
			       .quick = true,
			       .pace = &e->pace,
			       .progress = note_progress,
			       .progress_ctx = e};
	leave_terminal(r, alive);
	snprintf(path, sizeof path, "%s%senv.json", there ? "" : r->dir, there ? "" : "/");
	atomic_store(&e->saved, assay_env_save(path, &opts, &e->err));
	_exit(0);
}

/* No child of ours: the command is the only one, and nothing waits to be reaped while it runs. */
static bool start_orphan(const recording *r, record_env *e, int alive)
{
	int status = 1;
	pid_t pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			probe(r, e, alive);
		_exit(pid < 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

record_env *assay_record_env_start(const recording *r)
{
	int alive[2] = {-1, -1};
	record_env *e =
		mmap(NULL, sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (e == MAP_FAILED)
		return NULL;
	atomic_store(&e->pace.beside, 1);
	bool ok = pipe2(alive, O_CLOEXEC) == 0 && start_orphan(r, e, alive[1]);
	e->ended = alive[0];
	close(alive[1]);
	if (ok)
		return e;
	assay_say("assay: no environment snapshot: no process can be started for it");
	close(alive[0]);
	munmap(e, sizeof *e);
	return NULL;
}

/* The probe that is waited for; for the signal handler alone. */
static record_env *volatile awaited;

static void stop_waiting(int sig)
{
	(void)sig;
	atomic_store(&awaited->pace.stop, 1);
}

/* Once: the second time it does what it always does. */
static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPPING = ASSAY_COUNT_OF(stopping) };

static void catch_signals(struct sigaction *old)
{
	struct sigaction sa = {.sa_handler = stop_waiting, .sa_flags = (int)SA_RESETHAND};
	for (int i = 0; i < STOPPING; i++) {
		sigaction(stopping[i], NULL, &old[i]);
		if (old[i].sa_handler != SIG_IGN)
			sigaction(stopping[i], &sa, NULL);
	}
}

static void wait_for(const record_env *e, bool show)
{
	enum { SHOWN_MS = 100 };
	assay_cmd_progress progress = assay_cmd_progress_now();
	struct pollfd end = {.fd = e->ended};
	while (poll(&end, 1, show ? SHOWN_MS : -1) <= 0)
		if (show)
			assay_cmd_show_progress(&progress, "libraries and kernels",
						atomic_load(&e->done), atomic_load(&e->total));
	assay_cmd_end_progress(&progress);
}

static void forget(record_env *e)
{
	close(e->ended);
	munmap(e, sizeof *e);
}

void assay_record_env_end(record_env *e, bool show)
{
	struct sigaction old[STOPPING];
	if (!e)
		return;
	awaited = e;
	catch_signals(old);
	atomic_store(&e->pace.beside, 0);
	wait_for(e, show && isatty(STDERR_FILENO));
	for (int i = 0; i < STOPPING; i++)
		sigaction(stopping[i], &old[i], NULL);
	if (!atomic_load(&e->saved)) /* the run is worth recording all the same */
		assay_say("assay: no whole environment snapshot: %s",
			  *e->err.text ? e->err.text : "the process that takes it was killed");
	forget(e);
}

void assay_record_env_drop(record_env *e)
{
	if (!e)
		return;
	atomic_store(&e->pace.stop, 1);
	wait_for(e, false);
	forget(e);
}

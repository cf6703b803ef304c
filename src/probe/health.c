/* rdhc, AMD's health check: the one program we run, and only when asked to. Never through sudo:
 * what it may see is what the user may see. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/owner.h"
#include "probe/probe.h"
#include "wire/clock.h"

enum { STDERR_KEEP = 4096, JSON_MAX = 64 << 20, DEFAULT_LIMIT_S = 30 };

static char *find_tool(assay_ctx *c)
{
	static const char *const names[] = {"rdhc.py", "rdhc"};
	const char *path = getenv("PATH");
	for (size_t i = 0; path && i < ASSAY_COUNT_OF(names); i++) {
		assay_str rest = assay_str_of(path);
		while (rest.n) {
			assay_str dir = assay_str_cut(&rest, ':');
			char *at = assay_printf(c->a, "%.*s/%s", (int)dir.n, dir.p, names[i]);
			if (dir.n && access(at, X_OK) == 0)
				return at;
		}
	}
	return NULL;
}

/* Its stderr until it closes it or the time is over; then it is killed with all it started. */
static bool watch(pid_t pid, int fd, int64_t until, char *err, int *status)
{
	size_t n = 0;
	bool in_time = true;
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left = until - assay_clock(CLOCK_MONOTONIC);
		int ready = left > 0 ? poll(&p, 1, (int)(left / 1000000 + 1)) : 0;
		if (ready == 0) {
			in_time = false;
			break;
		}
		char buf[512];
		ssize_t got = ready < 0 ? -1 : read(fd, buf, sizeof buf);
		if (got == 0 || (got < 0 && errno != EINTR))
			break;
		for (ssize_t i = 0; i < got; i++) {
			if (n == STDERR_KEEP - 1) { /* the end is what matters */
				memmove(err, err + STDERR_KEEP / 2, STDERR_KEEP / 2);
				n = STDERR_KEEP / 2 - 1;
			}
			err[n++] = buf[i];
		}
	}
	err[n] = 0;
	while (in_time && waitpid(pid, status, WNOHANG) == 0) {
		if (assay_clock(CLOCK_MONOTONIC) > until)
			in_time = false;
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	if (in_time)
		return true;
	kill(-pid, SIGKILL);
	waitpid(pid, status, 0);
	return false;
}

/* The last line that says something, cut to 200 characters. */
static assay_str last_line(const char *text)
{
	assay_str s = assay_str_trim(assay_str_of(text)), line = s;
	while (s.n)
		line = assay_str_cut(&s, '\n');
	line.n = line.n > 200 ? 200 : line.n;
	return line;
}

static bool run_tool(assay_ctx *c, char *tool, char *out)
{
	char *argv[] = {tool, (char[]){"--quick"}, (char[]){"--json"}, out, NULL},
	     err[STDERR_KEEP] = "";
	int64_t limit =
		c->opts->health_ns ? c->opts->health_ns : (int64_t)DEFAULT_LIMIT_S * 1000000000;
	int fds[2], status = 0;
	pid_t pid;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, fds[1], 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	extern char **environ;
	int error = posix_spawn(&pid, tool, &fa, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	close(fds[1]);
	bool ok = false, ended = !error && watch(pid, fds[0], assay_clock(CLOCK_MONOTONIC) + limit,
						 err, &status);
	close(fds[0]);
	if (error) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: cannot run %s: %s", tool,
				 strerror(error));
	} else if (!ended) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: rdhc timed out after %.3g s",
				 (double)limit / 1e9);
	} else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		assay_str line = last_line(err);
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: rdhc exited with %d: %.*s%s",
				 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
				 (int)line.n, line.p,
				 geteuid() ? " (some of its checks need root)" : "");
	} else {
		ok = true;
	}
	return ok;
}

static void take_json(assay_ctx *c, const char *path)
{
	assay_str text;
	uint32_t odd;
	size_t at;
	assay_cause cause = assay_root_read(&c->root, c->a, path, JSON_MAX, &text);
	assay_str body = assay_str_trim(text);
	if (cause != ASSAY_CAUSE_NONE)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: what rdhc wrote %s",
				 assay_cause_text(cause));
	else if (!body.n || *body.p != '{' || !assay_json_check(body.p, body.n, &odd, &at) || odd)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: rdhc wrote malformed JSON");
	else
		c->env->system_health = assay_dup(c->a, body);
}

/* Where rdhc writes; gone with what is in it, also when the snapshot is given up. */
struct place {
	char folder[32];
	char *out;
};

static void remove_place(void *arg)
{
	const struct place *p = arg;
	if (p->out)
		unlink(p->out);
	rmdir(p->folder);
}

static void run(assay_ctx *c)
{
	if (!c->opts->health)
		return;
	if (!c->root.host) {
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "system_health: rdhc can only look at the running host");
		return;
	}
	struct place place = {.folder = "/tmp/assay-rdhc-XXXXXX"};
	char *tool = find_tool(c);
	if (!tool) {
		assay_ctx_reason(
			c, ASSAY_LEVEL_MISSING,
			"system_health: rdhc is not on PATH (see the ROCm Device Health Check, rocm.docs.amd.com)");
		return;
	}
	if (!mkdtemp(place.folder)) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "system_health: no temporary folder: %s",
				 strerror(errno));
		return;
	}
	assay_undo undo;
	assay_undo_add(&undo, remove_place, &place);
	place.out = assay_printf(c->a, "%s/rdhc.json", place.folder);
	if (run_tool(c, tool, place.out))
		take_json(c, place.out);
	assay_undo_drop(&undo);
	remove_place(&place);
}

const assay_probe assay_probe_health = {.name = "system_health", .run = run};

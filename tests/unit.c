/* Runs every TEST of the build, each in a process of its own, and prints one line a test.
 * usage: run [PART-OF-FILE-OR-NAME] */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

extern const assay_test __start_assay_tests[], __stop_assay_tests[];

enum { LIMIT_SECONDS = 120, SKIPPED = 77 };

static int run_one(const assay_test *t)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(LIMIT_SECONDS);
		int rc = t->run();
		fflush(stderr);
		_exit(rc);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	int failed = 0;
	for (const assay_test *t = __start_assay_tests; t < __stop_assay_tests; t++) {
		const char *file = strncmp(t->file, "src/", 4) ? t->file : t->file + 4;
		if (only && !strstr(file, only) && !strstr(t->name, only))
			continue;
		int rc = run_one(t);
		printf("%s - %s: %s\n",
		       rc == 0         ? "ok"
		       : rc == SKIPPED ? "skip"
				       : "not ok",
		       file, t->name);
		failed += rc != 0 && rc != SKIPPED;
	}
	return failed != 0;
}

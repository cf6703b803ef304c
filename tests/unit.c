/* Runs every TEST of the build, each in a process of its own, and prints one line a test.
 * usage: run [PART-OF-FILE-OR-NAME...] */
#define _GNU_SOURCE /* nftw */
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

/* Tests ask for more memory than there is and want to be refused, not stopped by a sanitizer. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

extern const assay_test __start_assay_tests[], __stop_assay_tests[];

#ifdef ASSAY_COVERAGE
extern void __gcov_dump(void);
#endif

enum { LIMIT_SECONDS = 600, SKIPPED = 77 };

static char folder[256]; /* of the test that runs */

static bool make_folder(void)
{
	const char *temp = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/assay-unit-XXXXXX", temp && *temp ? temp : "/tmp");
	return mkdtemp(folder) && setenv(ASSAY_TEST_FOLDER, folder, 1) == 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type;
	if (at->level)
		remove(path);
	return 0;
}

static void empty_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int run_one(const assay_test *t)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(LIMIT_SECONDS);
		int rc = t->run();
		fflush(stderr);
#ifdef ASSAY_COVERAGE /* _exit() leaves it out */
		__gcov_dump();
#endif
		_exit(rc);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool is_wanted(const char *file, const char *name, char **part, int n)
{
	for (int i = 0; i < n; i++)
		if (strstr(file, part[i]) || strstr(name, part[i]))
			return true;
	return !n;
}

int main(int argc, char **argv)
{
	int failed = 0;
	if (!make_folder()) {
		perror(folder);
		return 1;
	}
	for (const assay_test *t = __start_assay_tests; t < __stop_assay_tests; t++) {
		const char *file = strncmp(t->file, "src/", 4) ? t->file : t->file + 4;
		if (!is_wanted(file, t->name, argv + 1, argc - 1))
			continue;
		int rc = run_one(t);
		empty_folder();
		printf("%s - %s: %s\n",
		       rc == 0         ? "ok"
		       : rc == SKIPPED ? "skip"
				       : "not ok",
		       file, t->name);
		failed += rc != 0 && rc != SKIPPED;
	}
	rmdir(folder);
	return failed != 0;
}

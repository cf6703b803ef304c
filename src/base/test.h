/* Unit tests live at the end of the file they test; long ones, and those of several files, in
 * tests/unit. A TEST is a row in the linker section
 * "assay_tests" (a C identifier, so the linker supplies the start and stop symbols); the runner in
 * tests/unit.c walks it and forks for each. Without ASSAY_TEST the bodies are compiled and dropped.
 */
#ifndef ASSAY_BASE_TEST_H
#define ASSAY_BASE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct assay_test {
	const char *file, *name;
	int (*run)(void);
} assay_test;

#define ASSAY_TEST_FOLDER                                                                          \
	"ASSAY_TEST_FOLDER" /* the runner's word to the test, in the environment */

/* A path in a folder that nobody else uses, whatever runs beside this test; the folder is emptied
 * after it. The text is good for eight calls. */
static inline const char *assay_test_path(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	const char *folder = getenv(ASSAY_TEST_FOLDER);
	char *path = paths[next++ % 8];
	snprintf(path, sizeof *paths, "%s/%s", folder ? folder : "/nowhere", name);
	return path;
}

/* clang's address sanitizer would put red zones between the rows */
#if defined(__clang__)
#define ASSAY_TEST_ROW                                                                             \
	__attribute__((used, section("assay_tests"), aligned(8), no_sanitize("address")))
#else
#define ASSAY_TEST_ROW __attribute__((used, section("assay_tests"), aligned(8)))
#endif

#ifdef ASSAY_TEST
#define TEST(fn)                                                                                   \
	static int test_##fn(void);                                                                \
	ASSAY_TEST_ROW static const assay_test test_row_##fn = {__FILE__, #fn, test_##fn};         \
	static int test_##fn(void)
#else
#define TEST(fn) __attribute__((unused)) static int test_##fn(void)
#endif

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);       \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* Equality of integers, showing both values. */
#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long check_got = (long long)(got), check_want = (long long)(want);            \
		if (check_got != check_want) {                                                     \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, \
				check_got, check_want);                                            \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

#endif

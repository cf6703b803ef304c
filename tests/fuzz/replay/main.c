/* A fuzz target without a fuzzer: each file named is given to it once, and named before, so that
 * the last name is that of the input that failed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 1 << 20 };

/* In a block of its own length, so that tools see a read behind its end. */
static void give(FILE *f)
{
	uint8_t *room = malloc(LONGEST);
	size_t n = room ? fread(room, 1, LONGEST, f) : 0;
	if (!room || ferror(f) || !feof(f))
		abort();
	uint8_t *exact = realloc(room, n ? n : 1);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		printf("%s\n", argv[i]);
		fflush(stdout);
		FILE *f = fopen(argv[i], "rb");
		if (!f)
			return 1;
		give(f);
		fclose(f);
	}
	return 0;
}

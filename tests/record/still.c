/* A program without a loader that waits for a line. */
#include <stdio.h>

int main(void)
{
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}

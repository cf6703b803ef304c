/* Any bytes as one of the three files of a --like goblin run. */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "like/goblin.h"
#include "read/goblin.h"
#include "render/goblin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("goblin", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assay_goblin_input in;
	assay_jsonw w = {0};
	if (assay_goblin_read(path, NULL, 0, &in, NULL)) {
		assay_goblin g = assay_goblin_compute(&in);
		assay_goblin_json(&w, &g);
	}
	assay_jsonw_free(&w);
	assay_goblin_input_free(&in);
	close(fd);
	return 0;
}

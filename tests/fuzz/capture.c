/* Any bytes as a capture: as they are, or (first byte odd) as the payload of chunks whose sums
 * hold, so that the records are reached, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "read/reader.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_it(const void *p, size_t n)
{
	assay_reader_capture.sniff((assay_str){p, n});
	assay_run_free(assay_read_bytes(&assay_reader_capture, p, n));
}

static size_t put_chunk(uint8_t *to, const uint8_t *payload, size_t n, uint32_t ring)
{
	assay_wire_chunk c = {.ring = ring, .tid = 7, .pos = n, .pid = 5, .seq = ring};
	assay_wire_seal(&c, payload, n);
	memcpy(to, &c, sizeof c);
	memcpy(to + sizeof c, payload, n);
	return sizeof c + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || !(data[0] & 1)) {
		read_it(data, size);
		return 0;
	}
	size_t n = size - 2, cut = n * data[1] / 255 & ~(size_t)7;
	uint8_t *whole = malloc(n + 2 * sizeof(assay_wire_chunk));
	size_t used = put_chunk(whole, data + 2, cut, 0);
	used += put_chunk(whole + used, data + 2 + cut, n - cut, data[0] & 2);
	read_it(whole, used);
	free(whole);
	return 0;
}

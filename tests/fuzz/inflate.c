/* Any bytes as DEFLATE blocks from wherever one seems to begin, beside ISA-L from the start: text
 * that both read is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

#include "base/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 };

static void compare(assay_packed in, const assay_symbols *s)
{
	static const uint8_t window[ASSAY_WINDOW];
	uint8_t *want = malloc(s->n + 1), *got = malloc(s->n + 1);
	struct inflate_state gz;
	isal_inflate_init(&gz);
	gz.next_in = (uint8_t *)(uintptr_t)in.p;
	gz.avail_in = (uint32_t)in.n;
	gz.next_out = want;
	gz.avail_out = (uint32_t)s->n;
	int rc = isal_inflate(&gz);
	assay_symbols_resolve(s->p, s->n, window, got);
	if (rc < 0 || gz.avail_out || memcmp(want, got, s->n) != 0)
		abort();
	free(want);
	free(got);
}

static uint64_t blocks_from(assay_packed in, uint64_t at, bool start)
{
	assay_symbols s = {.most = MOST, .known = start};
	bool last = false;
	while (!last && assay_inflate_block(&s, in, &at, &last) == ASSAY_INFLATE_OK)
		;
	if (start && last && s.n)
		compare(in, &s);
	assay_symbols_free(&s);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p = calloc(1, size + ASSAY_INFLATE_PAD);
	if (size)
		memcpy(p, data, size);
	assay_packed in = {p, size};
	blocks_from(in, 0, true);
	uint64_t at = assay_deflate_find(in, 1, (uint64_t)size * 8);
	if (at != UINT64_MAX)
		blocks_from(in, at, false);
	free(p);
	return 0;
}

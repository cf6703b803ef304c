/* The JSON checker, the skipper and the rewriter on any bytes: what the checker takes, the skipper
 * must step over exactly, and what we write must be valid. */
#include <stdint.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/json.h"
#include "base/jsonw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assay_arena a = {0};
	char *text = assay_alloc(&a, size + 1 + ASSAY_PAD);
	if (size)
		memcpy(text, data, size);
	text[size] = ' ';
	uint32_t odd;
	size_t at;
	bool ok = assay_json_check(text, size, &odd, &at);
	assay_json j = assay_json_on(text, size + 1);
	bool skipped = assay_json_skip(&j, NULL);
	if (ok && !odd && (!skipped || assay_json_peek(&j) != 0))
		abort();
	assay_jsonw w = {0};
	assay_jsonw_str(&w, NULL, (assay_str){text, size});
	assay_str out = assay_jsonw_text(&w);
	char *again = assay_alloc(&a, out.n + ASSAY_PAD);
	memcpy(again, out.p, out.n);
	if (!assay_json_check(again, out.n, &odd, &at) || odd)
		abort();
	assay_jsonw_free(&w);
	assay_arena_free(&a);
	return 0;
}

/* Shows the JSON reader to tests in other languages. Reads documents from standard input, each a
 * 4-byte little-endian length and its bytes; for each prints "valid", "odd MASK" or "bad POSITION",
 * a tab, and for readable documents the same value written again by our writer. */
#include <stdio.h>

#include "base/json.h"
#include "base/jsonw.h"

enum { PAD = 64 };

static void copy_value(assay_json *j, assay_jsonw *w, assay_arena *a)
{
	char c = assay_json_peek(j);
	assay_str s;
	if (c == '{') {
		assay_json_enter(j, '{');
		assay_jsonw_open(w, NULL, '{');
		while (assay_json_member(j, &s)) {
			assay_str key = assay_json_unescape(a, s);
			assay_jsonw_key(w, key.p ? key : ASSAY_S(""));
			copy_value(j, w, a);
		}
		assay_jsonw_close(w, '}');
	} else if (c == '[') {
		assay_json_enter(j, '[');
		assay_jsonw_open(w, NULL, '[');
		while (assay_json_element(j))
			copy_value(j, w, a);
		assay_jsonw_close(w, ']');
	} else if (c == '"') {
		assay_json_text(j, &s);
		assay_jsonw_str(w, NULL, assay_json_unescape(a, s));
	} else if (assay_json_skip(j, &s)) {
		assay_jsonw_raw(w, NULL, s);
	}
}

int main(void)
{
	unsigned char len[4];
	while (fread(len, 1, 4, stdin) == 4) {
		assay_arena a = {0};
		size_t n = (size_t)len[0] | (size_t)len[1] << 8 | (size_t)len[2] << 16 |
			   (size_t)len[3] << 24;
		char *text = assay_alloc(&a, n + PAD);
		if (fread(text, 1, n, stdin) != n)
			return 1;
		uint32_t odd;
		size_t at;
		bool ok = assay_json_check(text, n, &odd, &at);
		if (!ok) {
			printf("bad %zu\t\n", at);
		} else {
			assay_jsonw w = {.compact = true};
			text[n] = ' '; /* a bare number at the end needs something behind it */
			assay_json j = assay_json_on(text, n + 1);
			copy_value(&j, &w, &a);
			printf(odd ? "odd %u\t%s\n" : "valid%.0u\t%s\n", odd,
			       assay_jsonw_text(&w).p);
			assay_jsonw_free(&w);
		}
		assay_arena_free(&a);
	}
	return 0;
}

#include "base/utf8.h"

#include <string.h>

#include "base/test.h"

bool assay_utf8_valid(assay_str s)
{
	size_t i = 0;
	for (size_t n; i < s.n; i += n) {
		uint64_t eight;
		while (i + sizeof eight <= s.n) {
			memcpy(&eight, s.p + i, sizeof eight);
			if (eight & 0x8080808080808080)
				break;
			i += sizeof eight;
		}
		if (i == s.n)
			break;
		if (!(n = assay_utf8_len(s.p + i, s.n - i)))
			return false;
	}
	return true;
}

assay_str assay_utf8_repair(assay_arena *a, assay_str s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	if (assay_utf8_valid(s))
		return s;
	char *out = assay_alloc(a, 3 * s.n + 1);
	size_t to = 0;
	for (size_t i = 0; i < s.n;) {
		size_t n = assay_utf8_len(s.p + i, s.n - i);
		memcpy(out + to, n ? s.p + i : replacement, n ? n : 3);
		to += n ? n : 3;
		i += n ? n : 1;
	}
	return (assay_str){out, to};
}

TEST(text_is_repaired_byte_by_byte_and_valid_text_is_left_alone)
{
	assay_arena a = {0};
	assay_str fine = ASSAY_S("0123456789 Gr\xc3\xbc\xc3\x9f"
				 "e"),
		  bad = ASSAY_S("01234567\xff \xc3");
	CHECK(assay_utf8_valid(fine) && assay_utf8_valid((assay_str){0}) && !assay_utf8_valid(bad));
	CHECK(assay_utf8_repair(&a, fine).p == fine.p);
	CHECK(assay_str_is(assay_utf8_repair(&a, bad), "01234567\xef\xbf\xbd \xef\xbf\xbd"));
	assay_arena_free(&a);
	return 0;
}

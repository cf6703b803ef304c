#include "read/lines.h"

#include <string.h>

#include "base/test.h"

bool assay_next_line(assay_lines *l, assay_str *line)
{
	for (;;) {
		size_t want = 64 << 10;
		assay_input_drop(l->in, l->pos);
		assay_view v = assay_input_view(l->in, l->pos, want);
		const char *nl = memchr(v.p, '\n', v.n);
		while (!nl && !v.end && v.n < ASSAY_LINE_MAX) {
			v = assay_input_view(l->in, l->pos, want *= 2);
			nl = memchr(v.p, '\n', v.n);
		}
		if (nl && nl - v.p <= ASSAY_LINE_MAX) {
			*line = assay_str_trim((assay_str){v.p, (size_t)(nl - v.p)});
			l->pos += (uint64_t)(nl - v.p) + 1;
			return true;
		}
		if (!nl && v.end) {
			assay_count(l->part, ASSAY_ISSUE_truncated, v.n != 0);
			return false;
		}
		assay_count(l->part, ASSAY_ISSUE_bad_record, nl != NULL);
		l->pos += nl ? (uint64_t)(nl - v.p) + 1 : v.n;
	}
}

TEST(lines_come_without_their_ends_and_a_cut_one_is_counted)
{
	assay_part part = {0};
	assay_input *in = assay_input_memory("a\r\n\nlast", 9);
	assay_lines l = {in, &part, 0};
	assay_str line;
	CHECK(assay_next_line(&l, &line) && assay_str_is(line, "a"));
	CHECK(assay_next_line(&l, &line) && !line.n);
	CHECK(!assay_next_line(&l, &line) && part.issues[ASSAY_ISSUE_truncated] == 1);
	assay_input_close(in);
	return 0;
}

/* `dcgmi dmon`: a table of words, with a header every 14 rows.
 *
 *     #Entity   GRACT        DRAMA
 *     ID
 *     GPU 0     0.912        0.421
 *
 * A row is of an entity: a GPU, a part of one (GPU-I, GPU-CI), a link (GPU 0 LINK 3), a switch or a
 * processor. It has no time; people put one in front of each line with ts(1). Names and entities:
 * dcgmi/DeviceMonitor.cpp and dcgm_fields.cpp of DCGM 4.6. */
#include "read/smi_dcgm.h"

#include "base/test.h"

static assay_str next_word(assay_str *rest)
{
	*rest = assay_str_trim(*rest);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
		n++;
	assay_str word = {rest->p, n};
	*rest = assay_str_trim((assay_str){rest->p + n, rest->n - n});
	return word;
}

bool smi_dcgm_header(assay_str *line, size_t *stamp)
{
	const char *hash = line->n ? memchr(line->p, '#', line->n) : NULL;
	if (!hash)
		return false;
	assay_str before = {line->p, (size_t)(hash - line->p)};
	assay_str head = {hash, line->n - before.n}, rest = {hash + 1, head.n - 1};
	if (!assay_str_same(next_word(&rest), ASSAY_S("Entity")) || !rest.n)
		return false;
	for (*stamp = 0; before.n; *stamp += next_word(&before).n > 0)
		before = assay_str_trim(before);
	*line = head;
	return true;
}

assay_str smi_dcgm_stamp(assay_str *line, size_t words)
{
	const char *from = line->p;
	size_t n = 0;
	while (words-- && line->n) {
		assay_str word = next_word(line);
		n = (size_t)(word.p + word.n - from);
	}
	assay_str stamp = {from, n};
	if (stamp.n > 2 && stamp.p[0] == '[' && stamp.p[stamp.n - 1] == ']')
		stamp = (assay_str){stamp.p + 1, stamp.n - 2};
	return stamp;
}

smi_dcgm smi_dcgm_row(assay_str *line)
{
	int64_t number;
	assay_str rest = *line, word = next_word(&rest), behind = rest;
	if (assay_str_same(word, ASSAY_S("ID")))
		return SMI_DCGM_UNITS;
	bool gpu = assay_str_is(word, "GPU");
	if (!assay_str_i64(next_word(&behind), &number))
		return SMI_DCGM_MESSAGE;
	if (!gpu || assay_str_starts(behind, "LINK"))
		return SMI_DCGM_OTHER;
	*line = rest;
	return SMI_DCGM_GPU;
}

TEST(rows_of_dcgm_are_told_by_their_entity)
{
	assay_str row = ASSAY_S("GPU 12    0.5  1");
	CHECK(smi_dcgm_row(&row) == SMI_DCGM_GPU && assay_str_is(row, "12    0.5  1"));
	row = ASSAY_S("GPU-I 3   0.5");
	CHECK(smi_dcgm_row(&row) == SMI_DCGM_OTHER);
	row = ASSAY_S("GPU 0 LINK 4  0.5");
	CHECK(smi_dcgm_row(&row) == SMI_DCGM_OTHER);
	row = ASSAY_S("ID            C");
	CHECK(smi_dcgm_row(&row) == SMI_DCGM_UNITS);
	row = ASSAY_S("dmon was stopped due to receiving a signal");
	CHECK(smi_dcgm_row(&row) == SMI_DCGM_MESSAGE);
	return 0;
}

TEST(a_time_in_front_of_dcgm_is_taken_off)
{
	size_t words;
	assay_str head = ASSAY_S("[2026-11-16 10:41:26.5] #Entity   SMACT");
	CHECK(smi_dcgm_header(&head, &words) && words == 2 && head.p[0] == '#');
	assay_str row = ASSAY_S("[2026-11-16 10:41:27.5]   GPU 0  1");
	CHECK(assay_str_is(smi_dcgm_stamp(&row, words), "2026-11-16 10:41:27.5"));
	CHECK(assay_str_is(row, "GPU 0  1"));
	head = ASSAY_S("# Entity  SMACT");
	CHECK(smi_dcgm_header(&head, &words) && !words);
	assay_str other = ASSAY_S("# gpu   pwr");
	CHECK(!smi_dcgm_header(&other, &words));
	assay_str alone = ASSAY_S("#Entity");
	CHECK(!smi_dcgm_header(&alone, &words));
	return 0;
}

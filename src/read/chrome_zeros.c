/* Arguments that say 0 for none. Recorders that write them do so on every row of a kind: one bit of
 * the file keeps them all, and rows cost nothing. */
#include <assert.h>

#include "base/test.h"
#include "read/chrome.h"
#include "read/reader.h"

static_assert((int)ASSAY_GPU_KIND_COUNT == (int)ASSAY_ZEROS_OP && ASSAY_HOST_OP == 0 &&
		      ASSAY_HOST_ANNOTATION == 1,
	      "bits are kinds");

typedef struct rows {
	const assay_sid *args;
	const uint8_t *kind;
	size_t first, n;
} rows;

/* Of a kind, those that say another number. */
static uint64_t count_mentions(const assay_run *run, const rows *r, uint8_t kind, const char *key)
{
	uint64_t n = 0;
	for (size_t i = r->first; i < r->n; i++)
		n += r->kind[i] == kind && assay_str_find(assay_text(run, r->args[i]), key) >= 0;
	return n;
}

void chrome_keep_zeros(chrome *c, size_t first_host, size_t first_gpu)
{
	assay_run *run = c->run;
	const assay_tables *t = &run->part.t;
	const rows host = {t->host.args, t->host.kind, first_host, t->host.n};
	const rows gpu = {t->gpu.args, t->gpu.kind, first_gpu, t->gpu.n};
	for (int i = 0; i < ASSAY_ZEROS; i++) {
		const rows *r = i < ASSAY_ZEROS_OP ? &gpu : &host;
		uint8_t kind = (uint8_t)(i < ASSAY_ZEROS_OP ? i : i - ASSAY_ZEROS_OP);
		if (!c->zeros[i])
			continue;
		uint64_t silent = c->silent[i];
		if (silent)
			silent -= count_mentions(run, r, kind,
						 i < ASSAY_ZEROS_OP ? ASSAY_ZEROS_GPU_KEY
								    : ASSAY_ZEROS_HOST_KEY);
		if (silent)
			assay_count(&run->part, ASSAY_ISSUE_lost_zero, c->zeros[i]);
		else
			run->part.t.source.zeros[run->part.source] |= (uint8_t)(1 << i);
	}
}

#define KERNEL(name, args)                                                                         \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name                                        \
	"\",\"ts\":1,\"dur\":1,\"pid\":0,\"tid\":7,\"args\":{" args "}}"
#define OP(cat, args)                                                                              \
	"{\"ph\":\"X\",\"cat\":\"" cat                                                             \
	"\",\"name\":\"n\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1,\"args\":{" args "}}"

TEST(zeros_that_every_row_of_a_kind_says_are_kept_once)
{
	static const char text[] =
		"[" KERNEL("a", "\"queued\": 0") "," KERNEL("b", "\"queued\": 17") "," OP(
			"cpu_op", "\"Record function id\": 0") "," OP("user_annotation",
								      "\"x\": 0") "]";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	const assay_tables *t = &run->part.t;
	CHECK_EQ(t->source.zeros[0], 1 << ASSAY_GPU_KERNEL | 1 << ASSAY_ZEROS_OP);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_lost_zero], 0);
	CHECK(!t->gpu.args[0] && assay_str_is(assay_text(run, t->gpu.args[1]), "\"queued\": 17"));
	assay_run_free(run);
	return 0;
}

TEST(zeros_that_some_rows_of_a_kind_say_are_counted)
{
	static const char text[] = "[" KERNEL("a", "\"queued\": 0") "," KERNEL("b", "") "]";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	CHECK_EQ(run->part.t.source.zeros[0], 0);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_lost_zero], 1);
	assay_run_free(run);
	return 0;
}

TEST(zero_is_not_none_where_a_column_says_so)
{
	static const char text[] =
		"[" KERNEL("a", "\"device\": 0, \"correlation\": 0, \"graph id\": 0, \"graph node id\": 3, \"bytes\": 0") "," OP(
			"python_function",
			"\"queued\": 0, \"Ev Idx\": 0") "," OP("cpu_op", "\"External id\": 0") "]";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	const assay_tables *t = &run->part.t;
	CHECK(assay_str_is(assay_text(run, t->gpu.args[0]), "\"correlation\": 0, \"graph id\": 0"));
	CHECK(t->gpu.bytes[0] == 0 && t->gpu.graph_node[0] == 3);
	CHECK(assay_str_is(assay_text(run, t->host.args[0]), "\"queued\": 0"));
	CHECK(t->frame.ev_idx[0] == 0);
	CHECK(assay_str_is(assay_text(run, t->host.args[1]), "\"External id\": 0"));
	assay_run_free(run);
	return 0;
}

TEST(memory_keeps_what_has_no_column)
{
	static const char text[] =
		"[{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"ts\":1,\"pid\":1,\"tid\":1,"
		"\"args\":{\"Addr\": 16, \"Bytes\": 8, \"Device Id\": -1, \"Device Type\": 0, \"Ev Idx\": 5}}]";
	assay_run *run = assay_read_bytes(&assay_reader_chrome, text, strlen(text));
	const assay_alloc_table *a = &run->part.t.alloc;
	CHECK(a->n == 1 && a->device[0] == -1 && a->ev_idx[0] == 5);
	CHECK(assay_str_is(assay_text(run, a->args[0]), "\"Device Type\": 0"));
	assay_run_free(run);
	return 0;
}
